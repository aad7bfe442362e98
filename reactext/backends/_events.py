"""One event of a stream, as JSON; what is none, or says that something failed, is an error."""

from __future__ import annotations

import json
from typing import Any

from reactext.backends._faults import error_of
from reactext.errors import ServerFault, StreamCut

_LOG = "look into the server's log: it may have crashed, or stopped a repetition without saying so"


def event_of(data: bytes, url: str) -> dict[str, Any]:
    """Return the object that these bytes are; raises the `CompletionError` they tell of."""
    try:
        event = json.loads(data)
    except ValueError as error:
        if data.lstrip().startswith(b"{"):
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


def text_of(event: dict[str, Any], key: str) -> str:
    """Return the text under this key; some servers leave it out or send null."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def unfinished(url: str, marker: str) -> StreamCut:
    """Return the error of a stream that ended without saying that it is complete."""
    return StreamCut(f"the stream of {url} ended without {marker}", remedy=_LOG)
