"""The one place that speaks HTTP: where a server is, how long we wait, what is left open.

Nothing is sent again here (`_retry` does that), and no reply is understood here beyond its status
(`_faults` does that).
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from email.utils import parsedate_to_datetime
from typing import Any

import requests

from reactext.backends._address import checked_header, checked_url, surroundings
from reactext.backends._faults import fault
from reactext.backends._json import shown
from reactext.backends._reply import Reply, Timeouts
from reactext.backends._trouble import CONNECTION_FAULTS, Limit, unreached
from reactext.backends._wire import WatchedAdapter, Wire, watching
from reactext.cancellation import Cancellation
from reactext.errors import CompletionError
from reactext.forking import renewed_in_child

_LONGEST_REFUSAL = 1024 * 1024
_REFUSAL = 5.0
"""Seconds to wait for the words of a refusal, whose status is known already."""

_SECRET = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
"""In the name of a header: its value is shown to nobody."""

_LONGEST_WAIT = 24 * 3600.0

_CONNECTIONS = 512
"""So many wait for another request at most; more may be open, at the cost of a line in the log."""


class Origin:
    """A server, as seen from here; shared by threads.

    ``kind`` says which server should be there, ``remedy`` what to do when nothing answers.
    """

    def __init__(
        self,
        url: str,
        *,
        timeouts: Timeouts,
        headers: Mapping[str, str] | None = None,
        keep_alive: bool = True,
        kind: str = "the right server",
        remedy: str = "",
    ) -> None:
        self.url = checked_url(url)
        self.timeouts = timeouts
        self._keep_alive = keep_alive
        self._kind = kind
        self._remedy = remedy
        self._headers = {
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "reactext",
            **({} if keep_alive else {"Connection": "close"}),
            **{name: checked_header(name, value) for name, value in (headers or {}).items()},
        }
        self._surroundings = surroundings(self.url)
        self._wires: set[Wire] = set()
        self._prepared: dict[tuple[str, str], requests.PreparedRequest] = {}
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Begin without connections; those of a parent process are its own."""
        wires, self._wires = self._wires, set()
        for wire in wires:
            wire.abandon()
        self._adapter = WatchedAdapter(pool_maxsize=_CONNECTIONS)

    def close(self) -> None:
        """End what is being read, from whichever thread, and close the waiting connections."""
        for wire in tuple(self._wires):
            wire.cut()
        self._adapter.close()

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Return the JSON object that the server answers with; raises `CompletionError`."""
        with self._asking(method, path, body) as reply:
            answer = reply.whole()
            if not isinstance(answer, dict):
                raise reply.unexpected(shown(json.dumps(answer).encode()))
        return answer

    def ask_any(self, method: str, path: str) -> Any:
        """Return the JSON, of whatever kind, that the server answers with."""
        with self._asking(method, path, None) as reply:
            return reply.whole()

    def _asking(self, method: str, path: str, body: object) -> AbstractContextManager[Reply]:
        limit = Limit("ask", self.timeouts.ask)
        return self._exchange(method, path, body, limit, limit, None)

    def stream(
        self, path: str, body: object, cancellation: Cancellation | None
    ) -> AbstractContextManager[Reply]:
        """Post the body and give the reply to be read; it is closed at the end of the block.

        A cancellation cuts the connection, from whichever thread it comes and whatever is
        waited for.
        """
        first = Limit("first", self.timeouts.first)
        return self._exchange(
            "POST", path, body, first, Limit("gap", self.timeouts.gap), cancellation
        )

    @contextlib.contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        body: object,
        first: Limit,
        gap: Limit,
        cancellation: Cancellation | None,
    ) -> Iterator[Reply]:
        wire = Wire()
        self._wires.add(wire)
        forget = cancellation.on_cancel(wire.cut) if cancellation else None
        try:
            response = self._send(wire, self._request(method, path, body), first)
            reply = Reply(
                response,
                wire,
                url=self.url + path,
                kind=self._kind,
                first=first,
                gap=gap,
                reuse=self._keep_alive,
            )
            with contextlib.closing(reply):
                if response.status_code != 200:
                    raise _refusal(response, reply)
                yield reply
        finally:
            wire.release()
            self._wires.discard(wire)
            if forget is not None:
                forget()

    def _send(
        self, wire: Wire, request: requests.PreparedRequest, first: Limit
    ) -> requests.Response:
        connect = Limit("connect", self.timeouts.connect)
        try:
            with watching(wire):
                return self._adapter.send(
                    request,
                    stream=True,
                    timeout=(connect.seconds, first.seconds),
                    **self._surroundings,
                )
        except CONNECTION_FAULTS as error:
            raise unreached(
                self.url, error, connect=connect, first=first, remedy=self._remedy
            ) from error

    def _request(self, method: str, path: str, body: object) -> requests.PreparedRequest:
        key = (method, path)
        if key not in self._prepared:
            made = requests.Request(method, self.url + path, headers=self._headers)
            self._prepared[key] = made.prepare()
        request = self._prepared[key].copy()
        if body is not None:
            request.body = json.dumps(body).encode("ascii")
            request.headers["Content-Length"] = str(len(request.body))
        return request


def _refusal(response: requests.Response, reply: Reply) -> CompletionError:
    """The error that an answer without success means."""
    content, until = b"", time.monotonic() + _REFUSAL
    reply.wait_at_most(_REFUSAL)
    with contextlib.suppress(CompletionError):
        for chunk in reply.chunks():
            content += chunk
            if len(content) > _LONGEST_REFUSAL or time.monotonic() > until:
                break
    for secret in _secrets(response.request.headers):  # some servers repeat a wrong key
        content = content.replace(secret, "…".encode())
    place = response.headers.get("Location") if response.is_redirect else None
    error = fault(response.status_code, content, url=reply.url, place=place)
    error.retry_after = _seconds(response.headers.get("Retry-After"))
    return error


def _secrets(headers: Mapping[str, str]) -> list[bytes]:
    """The keys that a request was sent with, whatever header they are in."""
    values = [value for name, value in headers.items() if _SECRET.search(name)]
    return [value.split()[-1].encode("utf-8", "replace") for value in values if value.split()]


def _seconds(text: str | None) -> float | None:
    """The value of Retry-After, a number or a date; None for one that nobody would wait for."""
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < _LONGEST_WAIT else None
