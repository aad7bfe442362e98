"""What calls are read by: the tools there are, and how calls are written."""

from __future__ import annotations

from dataclasses import dataclass, field

from reactext.protocol import CallSyntax
from reactext.reading.names import resolve_exactly
from reactext.tools import Tool, Toolbox


@dataclass(frozen=True, slots=True)
class Known:
    """The tools, the syntax of calls, and the labels that a call of the answer may carry."""

    tools: Toolbox | None = None
    syntax: CallSyntax = field(default_factory=CallSyntax)
    answer_labels: tuple[str, ...] = ()

    def tool(self, name: str) -> Tool | None:
        """Return the tool of this name, or the only one whose name is like it; else None."""
        return None if self.tools is None else resolve_exactly(name, self.tools)
