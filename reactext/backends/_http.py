"""The one place that speaks HTTP: where a server is, how long we wait, what is left open.

Nothing is sent again here (`_retry` does that), and no reply is understood here beyond its status
(`_faults` does that).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import requests

from reactext.backends._address import checked_header, checked_url, surroundings
from reactext.backends._faults import fault
from reactext.backends._reply import Reply, Timeouts
from reactext.backends._trouble import CONNECTION_FAULTS, unreached
from reactext.backends._wire import WatchedAdapter, Wire, watching
from reactext.cancellation import Cancellation
from reactext.errors import CompletionError, ServerFault
from reactext.forking import renew_in_children

_LONGEST_REFUSAL = 1024 * 1024
_REFUSAL = 5.0
"""Seconds to wait for the words of a refusal, whose status is known already."""

_CONNECTIONS = 512
"""So many wait for another request at most; more may be open, at the cost of a line in the log."""


class Origin:
    """A server, as seen from here; shared by threads.

    ``remedy`` is what to do when nothing answers there.
    """

    def __init__(
        self,
        url: str,
        *,
        timeouts: Timeouts,
        headers: Mapping[str, str] | None = None,
        keep_alive: bool = True,
        remedy: str = "",
    ) -> None:
        self.url = checked_url(url)
        self.timeouts = timeouts
        self._keep_alive = keep_alive
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
        renew_in_children(self)

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

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the JSON that the server answers with; raises `CompletionError`."""
        limits = replace(self.timeouts, first=self.timeouts.ask, gap=self.timeouts.ask)
        with self._exchange(method, path, body, limits, None) as reply:
            content = b"".join(reply.chunks())
        try:
            return json.loads(content)
        except ValueError as error:
            raise ServerFault(
                f"{self.url}{path} answered with something that is not JSON: {content[:80]!r}",
                remedy="is this the address of the right server?",
                status=200,
            ) from error

    def stream(
        self, path: str, body: object, cancellation: Cancellation | None
    ) -> AbstractContextManager[Reply]:
        """Post the body and give the reply to be read; it is closed at the end of the block.

        A cancellation cuts the connection, from whichever thread it comes and whatever is
        waited for.
        """
        return self._exchange("POST", path, body, self.timeouts, cancellation)

    @contextlib.contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        body: object,
        timeouts: Timeouts,
        cancellation: Cancellation | None,
    ) -> Iterator[Reply]:
        wire = Wire()
        self._wires.add(wire)
        forget = cancellation.on_cancel(wire.cut) if cancellation else None
        try:
            response = self._send(wire, method, path, body, timeouts)
            reply = Reply(response, wire, url=self.url, timeouts=timeouts, reuse=self._keep_alive)
            with contextlib.closing(reply):
                if response.status_code != 200:
                    raise _refusal(response, reply, self.url + path)
                yield reply
        finally:
            wire.release()
            self._wires.discard(wire)
            if forget is not None:
                forget()

    def _send(
        self, wire: Wire, method: str, path: str, body: object, timeouts: Timeouts
    ) -> requests.Response:
        request = self._request(method, path, body)
        try:
            with watching(wire):
                return self._adapter.send(
                    request,
                    stream=True,
                    timeout=(timeouts.connect, timeouts.first),
                    **self._surroundings,
                )
        except CONNECTION_FAULTS as error:
            raise unreached(self.url, error, waited=timeouts.first, remedy=self._remedy) from error

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


def _refusal(response: requests.Response, reply: Reply, url: str) -> CompletionError:
    """The error that an answer without success means."""
    content = b""
    reply.wait_at_most(_REFUSAL)
    with contextlib.suppress(CompletionError):
        for chunk in reply.chunks():
            content += chunk
            if len(content) > _LONGEST_REFUSAL:
                break
    error = fault(response.status_code, content, url=url)
    error.retry_after = _seconds(response.headers.get("Retry-After"))
    return error


def _seconds(text: str | None) -> float | None:
    """The value of Retry-After, where it is a number; a date is not worth the reading."""
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
