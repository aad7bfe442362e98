"""``python -m reactext`` is the command line."""

from __future__ import annotations

from reactext.cli import main

main()
