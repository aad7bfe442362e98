"""A reply as it is being streamed, and how long we wait for it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import requests

from reactext.backends._json import parsed, shown
from reactext.backends._trouble import CONNECTION_FAULTS, Limit, broken, silent
from reactext.backends._wire import Wire
from reactext.errors import ServerFault
from reactext.given import Seconds, checked

_AT_ONCE = 65536
_LONGEST_ANSWER = 16 * 1024 * 1024

_SEND_OFF = 0.05
"""Seconds to wait for the last bytes of a complete reply, for the connection's sake alone."""


@checked
@dataclass(frozen=True, slots=True)
class Timeouts:
    """How many seconds to wait.

    ``connect`` until the server takes the connection; ``first`` until the first sign of the
    text, which includes queueing, loading the model and evaluating the prompt; ``gap`` between
    two pieces of the text; ``ask`` for an answer about the model.
    """

    connect: Seconds = 5.0
    first: Seconds = 600.0
    gap: Seconds = 120.0
    ask: Seconds = 15.0


class Reply:
    """A reply that is being streamed; made by `Origin.stream`.

    ``kind`` says which server should have sent it. Its first byte is waited for as long as
    ``first``, any other as long as ``gap``.
    """

    def __init__(
        self,
        response: requests.Response,
        wire: Wire,
        *,
        url: str,
        kind: str,
        first: Limit,
        gap: Limit,
        reuse: bool,
    ) -> None:
        self.url = url
        self._kind = kind
        self._reuse = reuse
        self._response = response
        self._wire = wire
        self._first = first
        self._gap = gap
        # a proxy may compress what was asked for as it is
        compressed = "Content-Encoding" in response.headers
        self._decoded = response.iter_content(chunk_size=1) if compressed else None

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes as they come; raises `CompletionError` when they stop coming.

        Comments between events keep a connection alive but are no sign of the text.
        """
        limit, since = self._first, time.monotonic()
        while chunk := self._next(limit):
            now = time.monotonic()
            if _is_a_sign(chunk):
                since = now
                if limit is not self._gap:
                    limit = self._gap
                    self._wire.wait_at_most(limit.seconds)
            elif now - since > limit.seconds:
                raise silent(self.url, limit)
            yield chunk

    def whole(self) -> object:
        """Return the JSON that this reply is, all of which comes within the first limit."""
        content, until = bytearray(), time.monotonic() + self._first.seconds
        for chunk in self.chunks():
            content += chunk
            if time.monotonic() > until:
                raise silent(self.url, self._first)
            if len(content) > _LONGEST_ANSWER:
                raise self.unexpected("an answer without end")
        try:
            return parsed(bytes(content))
        except ValueError as error:
            raise self.unexpected(f"{shown(content)}, which is no JSON,") from error

    def unexpected(self, what: str) -> ServerFault:
        """Return the error of a server that sends something else than it should."""
        remedy = f"is this the address of {self._kind}?"
        return ServerFault(
            f"{self.url} sent {what} instead of an answer", remedy=remedy, status=200
        )

    def _next(self, limit: Limit) -> bytes:
        try:
            if self._decoded is not None:
                return next(self._decoded, b"")
            return self._wire.read(_AT_ONCE)
        except CONNECTION_FAULTS as error:
            raise broken(self.url, error, waited=limit) from error

    def wait_at_most(self, seconds: float) -> None:
        """Let the next chunk fail after so many seconds without a byte."""
        self._wire.wait_at_most(seconds)

    def send_off(self) -> None:
        """Take the last bytes of a reply that is complete, so that its connection serves again."""
        if not self._wire.has_all_arrived:
            self._wire.wait_at_most(_SEND_OFF)
            with contextlib.suppress(*CONNECTION_FAULTS):
                self._wire.read(1)

    def close(self) -> None:
        """Leave the connection to the next request if it may serve it; else end it."""
        if self._reuse and self._wire.let_go():
            self._response.raw.release_conn()
        self._response.close()


def _is_a_sign(chunk: bytes) -> bool:
    """Whether there is anything but comments and blank lines in it."""
    if chunk[:1] not in (b":", b"\r", b"\n"):
        return True
    return any(line and not line.startswith(b":") for line in chunk.splitlines())
