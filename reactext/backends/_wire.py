"""The socket of one request, held so that another thread can cut it at any moment.

A thread that waits in ``recv`` is not woken by closing the response, which waits for that very
thread; shutting the socket down wakes it, and the server sees the end of the connection at once.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any, cast

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from reactext.backends._chunks import ArrivedBody

_thread = threading.local()
_MOST_ANNOUNCEMENTS = 20


class Wire:
    """The connection that one request goes over, from the time it is sent to its last byte."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cut = False
        self.answer: http.client.HTTPResponse | None = None

    def attach(self, connected: socket.socket) -> None:
        """Take this socket as the request's; it is shut at once if `cut` was called before."""
        with self._lock:
            self._socket = connected
            if self._cut:
                _shut(connected)

    def cut(self) -> None:
        """End the connection, from any thread; whoever reads it gets an error."""
        with self._lock:
            self._cut = True
            if self._socket is not None:
                _shut(self._socket)

    def abandon(self) -> None:
        """Leave the connection to the parent of this process: close our end, end nothing."""
        self._lock = threading.Lock()
        self._cut = True
        if self._socket is not None:
            os.close(self._socket.detach())
            self._socket = None

    def release(self) -> None:
        """Forget the socket."""
        with self._lock:
            self._socket = None

    def read(self, size: int) -> bytes:
        """Return what has arrived of the answer, waiting when that is nothing; none at its end."""
        return self.answer.read1(size) if self.answer is not None else b""

    @property
    def has_all_arrived(self) -> bool:
        """Whether no byte of the answer is left on its way."""
        if self.answer is None or self.answer.fp is None or self.answer.length == 0:
            return True
        return isinstance(self.answer.fp, ArrivedBody) and self.answer.fp.ended

    def let_go(self) -> bool:
        """Say whether the connection may serve another request, and if so have nothing more of it.

        From then on `cut` cannot hurt that other request.
        """
        with self._lock:
            if self._cut or not self.has_all_arrived:
                return False
            self._socket = None
        if self.answer is not None:
            # only then does its connection take another request
            self.answer.close()
        return True

    def wait_at_most(self, seconds: float) -> None:
        """Let the next read fail after so many seconds without a byte."""
        with self._lock:
            if self._socket is not None:
                # a socket that is closed already has no more reads to fail
                with contextlib.suppress(OSError):
                    self._socket.settimeout(seconds)


def _shut(connected: socket.socket) -> None:
    # the method of the plain class: that of a TLS socket would drop the reader's state under it
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


@contextlib.contextmanager
def watching(wire: Wire) -> Iterator[None]:
    """Attach whatever connection this thread sends a request over to the wire."""
    _thread.wire = wire
    try:
        yield
    finally:
        _thread.wire = None


def _wire() -> Wire | None:
    return getattr(_thread, "wire", None)


class _Response(http.client.HTTPResponse):
    """An answer whose chunks, if it has any, are taken off before anybody sees them."""

    def _read_status(self) -> tuple[str, int, str]:
        """Return the status of the answer itself, after what only announces it."""
        for _ in range(_MOST_ANNOUNCEMENTS):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 100 <= status < 200:
                return version, status, reason
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException("the answer is announced and never comes")

    def begin(self) -> None:
        if (wire := _wire()) is not None:
            wire.answer = self
        super().begin()
        if self.chunked:
            self.chunked = False
            del self.headers["Transfer-Encoding"]
            # typed as the file of a socket, of which it has what is used
            self.fp = cast(Any, ArrivedBody(self.fp))


def _attach(connection: HTTPConnection) -> None:
    if (wire := _wire()) is not None and connection.sock is not None:
        wire.attach(connection.sock)


class _Connection(HTTPConnection):
    response_class = _Response

    def getresponse(self) -> Any:
        _attach(self)
        return super().getresponse()


class _SecureConnection(HTTPSConnection):
    response_class = _Response

    def getresponse(self) -> Any:
        _attach(self)
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class WatchedAdapter(HTTPAdapter):
    """The adapter of requests over connections that a wire can be attached to."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pool of connections, with ours in it."""
        super().init_poolmanager(*args, **options)
        self._watch(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pool for this proxy, with our connections in it."""
        manager = super().proxy_manager_for(proxy, **options)
        self._watch(manager)
        return manager

    def _watch(self, manager: Any) -> None:
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
