"""reactext: any model that can continue a text becomes an agent."""

from __future__ import annotations

from reactext.errors import ReactextError, SetupError, TurnError

__version__ = "0.1.0"

__all__ = ["ReactextError", "SetupError", "TurnError", "__version__"]
