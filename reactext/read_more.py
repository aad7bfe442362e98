"""Lets a model read on in a result that was cut, by a tool that is there only when one was."""

from __future__ import annotations

from os.path import commonprefix

from reactext.arguments import ArgumentError, validate
from reactext.hooks import Hook, Moment, Proceed
from reactext.models import Action, Observation
from reactext.tools import Toolbox, tool

PAGE = 2000
"""Characters that are read at a time."""


@tool
def read_more(id: str, offset: int) -> str:  # noqa: A002 (the model writes it)
    """Read on in a result that was cut: its id, and the character to begin at."""
    raise NotImplementedError("answered by the hook below, which knows the run")


def with_read_more(toolbox: Toolbox) -> Toolbox:
    """Return the toolbox with the tool, unless the caller has one of that name."""
    return toolbox if read_more.name in toolbox else Toolbox([*toolbox, read_more])


class ReadMore(Hook):
    """Says below a result that was cut how to read on, and answers when the model does."""

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Answer a call of `read_more`, and announce it where a result was cut."""
        if action.tool == read_more.name and read_more.name not in moment.toolbox:
            status, text = _page(moment, action)
            return Observation.model_validate(
                {"action_id": action.id, "tool": action.tool, "text": text, "status": status}
            )
        seen = proceed(action)
        if seen.full is None or not seen.truncated:
            return seen
        offset = len(commonprefix([seen.text, seen.full]))  # noqa: RUF071 (of texts, not paths)
        note = f'\n[read_more(id="{action.id}", offset={offset}) reads on]'
        return seen.model_copy(update={"text": seen.text + note})


def _page(moment: Moment, action: Action) -> tuple[str, str]:
    """Return how it went, and the part asked for or what is wrong with the asking."""
    try:
        asked = validate(read_more, action.kwargs, action.args)
    except ArgumentError as error:
        return "error", str(error)
    cut = {
        seen.action_id: seen.full
        for step in moment.context.steps
        for seen in step.observations
        if seen.full is not None
    }
    if asked["id"] not in cut:
        return "error", f"no result with the id {asked['id']!r} was cut; there are {list(cut)}"
    whole, begin = cut[asked["id"]], asked["offset"]
    if not 0 <= begin < len(whole):
        return "error", f"offset={begin} is outside of that result, of {len(whole)} characters"
    shown = moment.context.shown_chars
    end = begin + (PAGE if shown is None else max(50, min(PAGE, shown - 90)))
    if end >= len(whole):
        return "ok", f"{whole[begin:]}\n[end]"
    left = len(whole) - end
    return "ok", f'{whole[begin:end]}\n[{left} more: read_more(id="{asked["id"]}", offset={end})]'
