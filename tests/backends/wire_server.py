"""A local server that says exactly the bytes a test wants, when it wants, and sees who leaves."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

PATIENCE = 20.0
"""Seconds after which a test that waits has failed."""


class Act(Enum):
    """What a script may do beside sending bytes."""

    HOLD = "wait until the client leaves"
    CLOSE = "close the connection"
    RESET = "end the connection as a machine does that has lost it"


@dataclass(frozen=True)
class Asked:
    """One request, as it came."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes
    connection: int

    @property
    def body(self) -> Any:
        return json.loads(self.content)


Script = Callable[[Asked], Iterable["bytes | Act | threading.Event"]]


class WireServer:
    """Answers each request with what the script yields for it.

    ``holding`` is set while a script holds; ``left`` once the client has gone.
    """

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.holding = threading.Event()
        self.left = threading.Event()
        self._script = script
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.add(connection)
            number += 1
            thread = threading.Thread(target=self._serve, args=(connection, number), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        if self._tls is not None:
            try:
                connection = self._tls.wrap_socket(connection, server_side=True)
            except OSError:
                return
        with connection, connection.makefile("rb") as source:
            with contextlib.suppress(OSError):
                while asked := _read(source, number):
                    self.asked.append(asked)
                    if not self._answer(connection, asked):
                        break
            with self._lock:
                self._open.discard(connection)

    def _answer(self, connection: socket.socket, asked: Asked) -> bool:
        for part in self._script(asked):
            if isinstance(part, bytes):
                try:
                    connection.sendall(part)
                except OSError:  # the client may go before the script holds it
                    self.left.set()
                    return False
            elif isinstance(part, threading.Event):
                part.wait(PATIENCE)
            elif part is Act.CLOSE:
                return False
            elif part is Act.RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            else:
                self.holding.set()
                with contextlib.suppress(OSError):
                    connection.recv(1)
                self.left.set()
                return False
        return asked.headers.get("connection") != "close"


def _read(source: Any, number: int) -> Asked | None:
    line = source.readline()
    if not line:
        return None
    method, path, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := source.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    content = source.read(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, content, number)


@contextlib.contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[WireServer]:
    """Run a server for the length of a block."""
    server = WireServer(script, tls)
    try:
        yield server
    finally:
        server.close()


def head(status: int = 200, content_type: str = "application/json", **headers: str) -> bytes:
    """The status line and headers of an answer; ``_`` in a header's name stands for ``-``."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {content_type}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def sized(body: bytes, status: int = 200, content_type: str = "application/json") -> bytes:
    """A whole answer with its length."""
    return head(status, content_type, Content_Length=str(len(body))) + body


def as_json(value: Any, status: int = 200) -> bytes:
    """A whole answer of JSON."""
    return sized(json.dumps(value).encode(), status)


def chunked(parts: Iterable[bytes], content_type: str) -> list[bytes]:
    """An answer whose parts are chunks: its head, each chunk, its end."""
    return [
        head(200, content_type, Transfer_Encoding="chunked"),
        *(chunk(part) for part in parts),
        b"0\r\n\r\n",
    ]


def chunk(part: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%s\r\n" % (len(part), part)


def until_close(parts: Iterable[bytes], content_type: str) -> list[bytes | Act]:
    """An answer that ends with its connection, as proxies of old send it."""
    return [
        b"HTTP/1.0 200 OK\r\nContent-Type: " + content_type.encode() + b"\r\n\r\n",
        *parts,
        Act.CLOSE,
    ]
