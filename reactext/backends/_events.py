"""The events of a stream, as JSON; what is none, or says that something failed, is an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reactext.backends._faults import error_of
from reactext.backends._json import parsed, shown
from reactext.backends._lines import Decoder
from reactext.backends._reply import Reply
from reactext.errors import CompletionError, StreamCut

Event = dict[str, Any]

LONGEST_EVENT = 16 * 1024 * 1024
"""Bytes; an old llama.cpp server repeats the whole prompt in one."""

END: Event = {}
"""Stands for the ``[DONE]`` of the OpenAI style, which is no JSON."""

_LOG = "look into the server's log: it may have crashed, or stopped a repetition without saying so"


def bursts(reply: Reply, decoder: Decoder) -> Iterator[Sequence[Event]]:
    """Yield the events of a reply, those together that have arrived together.

    An event that tells of a fault is raised, after those before it were yielded. What never
    becomes an event is not waited for longer than the memory is safe.
    """
    idle = 0
    for chunk in reply.chunks():
        idle += len(chunk)
        if units := decoder.feed(chunk):
            for events in _burst(units, reply):
                idle = 0
                yield events
        if idle > LONGEST_EVENT:
            raise reply.unexpected(f"more than {LONGEST_EVENT} bytes without an end")
    if units := decoder.close():
        yield from _burst(units, reply)


def _burst(units: list[bytes], reply: Reply) -> Iterator[Sequence[Event]]:
    events: list[Event] = []
    for unit in units:
        if not unit or unit.isspace():
            continue
        try:
            events.append(_event(unit, reply))
        except CompletionError:
            if events:
                yield events
            raise
    if events:
        yield events


def _event(data: bytes, reply: Reply) -> Event:
    """Return the object that these bytes are; raises the `CompletionError` they tell of."""
    if data.startswith(b"[DONE]"):
        return END
    try:
        event = parsed(data)
    except ValueError as error:
        if data.lstrip().startswith((b"{", b"[", b'"')):
            raise StreamCut(
                f"the stream of {reply.url} ended inside an event", remedy=_LOG
            ) from error
        raise reply.unexpected(shown(data)) from error
    if event and isinstance(event, str):
        # so do some servers tell of a fault
        raise error_of(None, event, url=reply.url)
    if not isinstance(event, dict):
        raise reply.unexpected(shown(data))
    if event.get("error") or event.get("object") == "error":
        raise error_of(None, event, url=reply.url)
    return event


def text_of(event: Event, key: str) -> str:
    """Return the text under this key; some servers leave it out or send null."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def objects_of(event: Event, key: str) -> list[dict[str, Any]]:
    """Return the objects in the list under this key."""
    value = event.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def unfinished(url: str, marker: str) -> StreamCut:
    """Return the error of a stream that ended without saying that it is complete."""
    return StreamCut(f"the stream of {url} ended without {marker}", remedy=_LOG)
