"""Chunked bodies, given as they arrive: all that is there at once, not one chunk at a time.

A server that is ahead of us sends each token as a chunk of its own; taking them one by one costs
more than all else that is done with them.
"""

from __future__ import annotations

import io
import re
from http.client import HTTPException, IncompleteRead

_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")
_LONGEST_LINE = 65536


class ChunkDecoder:
    """Takes the chunk framing off bytes, however they are cut.

    ``ended`` is set by the last chunk and the line after its trailers.
    """

    def __init__(self) -> None:
        self.ended = False
        self._held = b""
        self._left = 0
        self._after_data = False
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes:
        """Return the content in these bytes; raises HTTPException where they are no chunks."""
        buffer = self._held + data if self._held else data
        parts: list[bytes] = []
        at = 0
        while not self.ended:
            if self._left:
                part = buffer[at : at + self._left]
                if not part:
                    break
                parts.append(part)
                at += len(part)
                self._left -= len(part)
                continue
            end = buffer.find(b"\n", at)
            if end < 0:
                break
            self._line(buffer[at:end].strip())
            at = end + 1
        self._held = buffer[at:]
        if not self.ended and len(self._held) > _LONGEST_LINE:
            raise HTTPException("a line of the chunk framing is too long")
        return b"".join(parts)

    def _line(self, line: bytes) -> None:
        if self._after_data:
            if line:
                raise HTTPException(f"a chunk goes on after its end: {line[:20]!r}")
            self._after_data = False
        elif self._in_trailers:
            self.ended = not line
        else:
            size = line.partition(b";")[0].strip()
            if not _SIZE.fullmatch(size):
                raise HTTPException(f"{line[:20]!r} is no size of a chunk")
            self._left = int(size, 16)
            self._after_data = self._left > 0
            self._in_trailers = self._left == 0


class ArrivedBody(io.BufferedIOBase):
    """A chunked body, read through its framing from the file of a socket.

    ``read1`` returns whatever has arrived and waits only when that is nothing.
    """

    def __init__(self, source: io.BufferedReader) -> None:
        self._source = source
        self._decoder = ChunkDecoder()
        self._content = b""

    @property
    def ended(self) -> bool:
        """Whether all of the body has arrived and been read."""
        return self._decoder.ended and not self._content

    def readable(self) -> bool:
        """Say that this is for reading."""
        return True

    def read1(self, size: int = -1, /) -> bytes:
        """Return at most so many bytes of the content; none at its end."""
        while not self._content and not self._decoder.ended:
            data = self._source.read1(65536)
            if not data:
                raise IncompleteRead(b"")
            self._content = self._decoder.feed(data)
        if size < 0:
            size = len(self._content)
        part, self._content = self._content[:size], self._content[size:]
        return part

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes, fewer only at the end; all that follow when it is negative."""
        parts: list[bytes] = []
        left = -1 if size is None else size
        while left and (part := self.read1(left)):
            parts.append(part)
            left = left - len(part) if left > 0 else left
        return b"".join(parts)

    def close(self) -> None:
        """Close the file of the socket."""
        self._source.close()
        super().close()
