"""Whether a label means anything where it stands; an everyday word does only where it is due."""

from __future__ import annotations

from reactext.reading.action_body import ActionBody
from reactext.reading.bodies import AfterCalls, Body
from reactext.reading.input_body import InputBody
from reactext.reading.labels import Label
from reactext.reading.native_body import NativeBody


def counts(label: Label, body: Body, *, is_first: bool) -> bool:
    """Whether a label at the start of a line counts, where this text is open.

    ``is_first`` says that nothing stands before it.
    """
    is_calling = isinstance(body, ActionBody | InputBody | NativeBody | AfterCalls)
    if label.kind == "question":
        return is_calling or (is_first and not label.is_weak)
    if not label.is_weak:
        return True
    if not label.has_colon:
        return False
    if label.kind == "observation":
        return is_calling
    if label.kind == "action_input":
        return isinstance(body, ActionBody)
    return True


def counts_after_label(label: Label, body: Body, *, is_first: bool) -> bool:
    """Whether a label counts that stands right after another one, whose text this is."""
    if isinstance(body, ActionBody):
        is_due = label.has_colon and label.kind in ("answer", "action")
    else:
        is_due = label.has_colon
    return is_due and counts(label, body, is_first=is_first)
