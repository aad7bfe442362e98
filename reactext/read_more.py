"""Lets a model read on in a result that was cut, by a tool that is there only when one was."""

from __future__ import annotations

from reactext.arguments import ArgumentError, validate
from reactext.hooks import Hook, Moment, Proceed
from reactext.models import Action, Observation
from reactext.showing import WORTH_READING
from reactext.tools import Toolbox, tool

PAGE = 2000
"""Characters that are read at a time, and no more than were shown at first."""

_NOTE = 55
"""About as many characters has what stands below a page."""


@tool
def read_more(id: str, offset: int) -> str:  # noqa: A002 (the model writes it)
    """Read on in a result that was cut: its id, and the character to begin at."""
    raise NotImplementedError("answered by the hook below, which knows the run")


def with_read_more(toolbox: Toolbox) -> Toolbox:
    """Return the toolbox with the tool, unless the caller has one of that name."""
    return toolbox if read_more.name in toolbox else Toolbox([*toolbox, read_more])


class ReadMore(Hook):
    """Answers when the model reads on; a result that was cut says below how to do that."""

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Answer a call of `read_more` that is ours; run every other."""
        if action.tool == read_more.name and read_more.name not in moment.toolbox:
            status, text = _page(moment, action)
            return Observation.model_validate(
                {"action_id": action.id, "tool": action.tool, "text": text, "status": status}
            )
        return proceed(action)


def _page(moment: Moment, action: Action) -> tuple[str, str]:
    """Return how it went, and the part asked for or what is wrong with the asking."""
    try:
        asked = validate(read_more, action.kwargs, action.args)
    except ArgumentError as error:
        return "error", str(error)
    cut = {
        seen.action_id: seen
        for step in moment.context.steps
        for seen in step.observations
        if seen.full is not None
    }
    if asked["id"] not in cut:
        return "error", f"no result with the id {asked['id']!r} was cut; there are {list(cut)}"
    seen, begin = cut[asked["id"]], asked["offset"]
    whole = seen.full or ""
    if not 0 <= begin < len(whole):
        return "error", f"offset={begin} is outside of that result, of {len(whole)} characters"
    end = begin + max(
        WORTH_READING, min(PAGE, len(seen.text) - _NOTE)
    )  # what was shown of it had room
    if end >= len(whole):
        return "ok", f"{whole[begin:]}\n[end]"
    left = len(whole) - end
    return "ok", f'{whole[begin:end]}\n[{left} more: read_more(id="{asked["id"]}", offset={end})]'
