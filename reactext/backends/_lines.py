"""Bytes as they come from a socket, made into lines and server-sent events.

Lines end in LF, CRLF or CR and nothing else: a string in JSON may hold U+2028 or U+0085, at which
`str.splitlines` would cut it. Nothing is decoded here, so that a character cut in two by the
network is whole again before anybody reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reactext.errors import ServerFault

LONGEST_LINE = 64 * 1024 * 1024
"""No reply holds a longer line; a server that never ends one must not fill the memory."""


class LineDecoder:
    """Cuts bytes into lines, however they arrive; the line ends are dropped."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._carriage_return = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete."""
        if self._carriage_return and data:
            # the CR that ended the last piece has ended its line; this LF is its other half
            self._carriage_return = False
            if data.startswith(b"\n"):
                data = data[1:]
        lines = data.splitlines()
        if not lines:
            return []
        self._carriage_return = data.endswith(b"\r")
        complete = data.endswith((b"\n", b"\r"))
        if self._rest and (complete or len(lines) > 1):
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest, self._size = [], 0
        if not complete:
            self._keep(lines.pop())
        return lines

    def _keep(self, part: bytes) -> None:
        self._rest.append(part)
        self._size += len(part)
        if self._size > LONGEST_LINE:
            raise ServerFault(f"the server sent a line of more than {LONGEST_LINE} bytes")

    def close(self) -> list[bytes]:
        """Return the last line, if it was not ended."""
        rest = b"".join(self._rest)
        self._rest, self._size = [], 0
        return [rest] if rest else []


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a whole reply; the last may be cut."""
    decoder = LineDecoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.close()


def server_sent_data(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each server-sent event; comments and other fields are passed over.

    The field ``error``, in which older llama.cpp servers tell of a fault, counts as data. A line
    that opens a JSON object or array is taken as data too: some servers answer a request for a
    stream with one plain object. An event that the end of the reply cuts is yielded as it is.
    """
    data: list[bytes] = []
    bare: list[bytes] = []
    for line in lines(chunks):
        if bare:
            bare.append(line)
        elif not line:
            if data:
                yield b"\n".join(data)
                data = []
        elif line.startswith((b"data:", b"error:")):
            value = line[line.index(b":") + 1 :]
            data.append(value[1:] if value.startswith(b" ") else value)
        elif line.startswith((b"{", b"[", b"<")):
            bare.append(line)
    if data or bare:
        yield b"\n".join(data or bare)
