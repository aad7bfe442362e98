"""The events of a stream, as JSON; what is none, or says that something failed, is an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from reactext.backends._faults import error_of
from reactext.backends._lines import Decoder
from reactext.backends._reply import Reply
from reactext.errors import CompletionError, ServerFault, StreamCut

Event = dict[str, Any]

END: Event = {}
"""Stands for the ``[DONE]`` of the OpenAI style, which is no JSON."""

_LOG = "look into the server's log: it may have crashed, or stopped a repetition without saying so"


def bursts(reply: Reply, decoder: Decoder) -> Iterator[Sequence[Event]]:
    """Yield the events of a reply, those together that have arrived together.

    An event that tells of a fault is raised, after those before it were yielded.
    """
    for chunk in reply.chunks():
        if units := decoder.feed(chunk):
            yield from _burst(units, reply.url)
    if units := decoder.close():
        yield from _burst(units, reply.url)


def _burst(units: list[bytes], url: str) -> Iterator[Sequence[Event]]:
    events: list[Event] = []
    for unit in units:
        if not unit or unit.isspace():
            continue
        try:
            events.append(event_of(unit, url))
        except CompletionError:
            if events:
                yield events
            raise
    if events:
        yield events


def event_of(data: bytes, url: str) -> Event:
    """Return the object that these bytes are; raises the `CompletionError` they tell of."""
    if data.startswith(b"[DONE]"):
        return END
    try:
        event = json.loads(data.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        if data.lstrip().startswith((b"{", b"[", b'"')):
            raise StreamCut(f"the stream of {url} ended inside an event", remedy=_LOG) from error
        raise ServerFault(
            f"{url} sent something that is not a completion: {data[:80]!r}",
            remedy="is this the address of the right server?",
            status=200,
        ) from error
    if not isinstance(event, dict):
        raise error_of(None, event if isinstance(event, str) else {}, url=url)
    if event.get("error") or event.get("object") == "error":
        raise error_of(None, event, url=url)
    return event


def text_of(event: Event, key: str) -> str:
    """Return the text under this key; some servers leave it out or send null."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def unfinished(url: str, marker: str) -> StreamCut:
    """Return the error of a stream that ended without saying that it is complete."""
    return StreamCut(f"the stream of {url} ended without {marker}", remedy=_LOG)
