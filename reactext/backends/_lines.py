"""Bytes as they come from a socket, made into lines and server-sent events.

Lines end in LF, CRLF or CR and nothing else: a string in JSON may hold U+2028 or U+0085, at which
`str.splitlines` would cut it. Nothing is decoded here, so that a character cut in two by the
network is whole again before anybody reads it.
"""

from __future__ import annotations

from typing import Protocol

_BOM = b"\xef\xbb\xbf"


class Decoder(Protocol):
    """Makes bytes into units, however they arrive."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the units that these bytes complete."""
        ...

    def close(self) -> list[bytes]:
        """Return what was begun and is not complete."""
        ...


class LineDecoder:
    """Cuts bytes into lines, however they arrive; the line ends are dropped."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._carriage_return = False
        self._is_first = True

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
            self._rest = []
        if not complete:
            self._rest.append(lines.pop())
        if self._is_first and lines:
            self._is_first = False
            lines[0] = lines[0].removeprefix(_BOM)
        return lines

    def close(self) -> list[bytes]:
        """Return the last line, if it was not ended."""
        rest = b"".join(self._rest)
        self._rest = []
        if self._is_first:
            rest = rest.removeprefix(_BOM)
        return [rest] if rest else []


class EventDecoder:
    """Makes bytes into the data of server-sent events; comments and other fields are dropped.

    The field ``error``, in which older llama.cpp servers tell of a fault, counts as data that
    holds it. Lines from one that opens a JSON value or a page are one event: some servers answer a
    request for a stream with one plain object, and some proxies with a page.
    """

    def __init__(self) -> None:
        self._lines = LineDecoder()
        self._data: list[bytes] = []
        self._is_bare = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the data of the events that these bytes complete."""
        return self._events(self._lines.feed(data))

    def close(self) -> list[bytes]:
        """Return the data of the event that the end of the reply cuts, if there is one."""
        events = self._events(self._lines.close())
        if self._data:
            events.append(b"\n".join(self._data))
            self._data = []
        return events

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        for line in lines:
            if self._is_bare:
                self._data.append(line)
            elif not line:
                if self._data:
                    events.append(b"\n".join(self._data))
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line.startswith(b"error:"):
                self._data.append(b'{"error":%s}' % line[6:])
            elif line.startswith((b"{", b"[", b"<")) and not self._data:
                self._is_bare = True
                self._data.append(line)
        return events
