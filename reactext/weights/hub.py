"""Weights from the Hugging Face hub, where their publishers put them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import requests

from reactext.errors import WeightsUnavailable
from reactext.weights.catalogue import Weights

_TIMEOUT = (5.0, 30.0)  # seconds to connect, seconds without a byte
_ATTEMPTS = 5
_CHUNK = 1 << 16  # bytes; what is lost at most of a connection that breaks


def address(weights: Weights) -> str | None:
    """Return the file's URL at ``HF_ENDPOINT`` (by default the hub itself), if it has one."""
    if weights.repository is None:
        return None
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    return f"{endpoint.rstrip('/')}/{weights.repository}/resolve/main/{weights.file}"


def fetch(weights: Weights, url: str, partial: Path, progress: Callable[[int, int], None]) -> None:
    """Append what is missing to ``partial``, asking again where a connection broke.

    Raises `WeightsUnavailable` when the hub does not answer, or has something else there.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        before = partial.stat().st_size
        try:
            _continue(weights, url, partial, progress)
        except requests.RequestException as error:
            reason = _reason(error)
        else:
            reason = "the connection was closed early"
        size = partial.stat().st_size
        if size == weights.size:
            return
        if size == before or attempt == _ATTEMPTS:
            raise WeightsUnavailable(f"{url} gave {size} of {weights.size} bytes: {reason}")


def _continue(
    weights: Weights, url: str, partial: Path, progress: Callable[[int, int], None]
) -> None:
    start = partial.stat().st_size
    # identity: a compressed body would make nonsense of the range
    asked = {"Accept-Encoding": "identity", **({"Range": f"bytes={start}-"} if start else {})}
    with (
        requests.get(url, headers=asked, stream=True, timeout=_TIMEOUT) as response,
        partial.open("ab") as file,
    ):
        skip = start - _first_byte(response, url, weights)
        if skip < 0:
            raise WeightsUnavailable(f"{url} leaves out bytes: asked from {start}")
        for chunk in _without_first(skip, response.iter_content(_CHUNK)):
            if file.tell() + len(chunk) > weights.size:
                raise WeightsUnavailable(f"{url} sends more than the {weights.size} bytes expected")
            file.write(chunk)
            progress(file.tell(), weights.size)


def _first_byte(response: requests.Response, url: str, weights: Weights) -> int:
    """Return where in the file the body begins, once it is sure to be that file's."""
    headers = response.headers
    if response.status_code == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", ""))
        if found is None:
            raise WeightsUnavailable(f"{url} sends a part and does not say which")
        first, size = int(found[1]), found[2]
    elif response.status_code == 200:
        first, size = 0, headers.get("Content-Length", "*")
    else:
        raise WeightsUnavailable(f"{url} answers {response.status_code} {response.reason}")
    if size not in ("*", str(weights.size)):
        raise WeightsUnavailable(f"{url} holds {size} bytes, not the {weights.size} expected")
    return first


def _without_first(skip: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Leave out what is here already: a server need not honour a range."""
    for chunk in chunks:
        if len(chunk) > skip:
            yield chunk[skip:]
        skip = max(0, skip - len(chunk))


def _reason(error: requests.RequestException) -> str:
    """Say what failed, without the layers of pools and retries that it is wrapped in."""
    cause: object = error
    while isinstance(cause, Exception):
        cause = getattr(cause, "reason", None) or (cause.args or [type(cause).__name__])[0]
    return str(cause).rpartition("): ")[2]
