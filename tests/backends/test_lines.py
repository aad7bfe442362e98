"""Lines, events and chunks are the same however the network cuts them."""

from __future__ import annotations

import io
from http.client import HTTPException, IncompleteRead

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.backends._chunks import ArrivedBody, ChunkDecoder
from reactext.backends._lines import Decoder, EventDecoder, LineDecoder


def fed(decoder: Decoder, pieces: list[bytes]) -> list[bytes]:
    return [each for piece in pieces for each in decoder.feed(piece)] + decoder.close()


@st.composite
def cuts(draw: st.DrawFn, whole: bytes) -> list[bytes]:
    places = sorted(draw(st.lists(st.integers(0, len(whole)))))
    return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]


LINE = st.binary(max_size=8).map(lambda data: data.replace(b"\r", b"r").replace(b"\n", b"n"))
ENDING = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINE, ENDING)), LINE, st.data())
def test_lines_are_the_same_however_they_arrive(
    parts: list[tuple[bytes, bytes]], rest: bytes, data: st.DataObject
) -> None:
    joined = b"".join(line + ending for line, ending in parts) + rest
    told = joined.removeprefix(b"\xef\xbb\xbf")
    # a lone CR before a line that begins with LF would be one line end
    expected = told.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    expected = expected[:-1] if not expected[-1] else expected
    assert fed(LineDecoder(), data.draw(cuts(joined))) == expected


@pytest.mark.parametrize(
    "inside", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "北京", "😀"]
)
def test_only_line_ends_end_lines(inside: str) -> None:
    line = f'{{"response":"a{inside}b"}}'.encode()
    for place in range(len(line)):
        assert fed(LineDecoder(), [line[:place], line[place:] + b"\n"]) == [line]


EVENTS = [
    # (title, bytes, data of the events)
    ("one event", b"data: a\n\n", [b"a"]),
    ("no space after the colon", b"data:a\n\n", [b"a"]),
    ("only one space is dropped", b"data:  a\n\n", [b" a"]),
    ("a byte order mark", b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"]),
    ("CRLF", b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    ("CR", b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    ("several lines of data", b"data: a\ndata: b\n\n", [b"a\nb"]),
    ("comments keep the connection alive", b":\n\n: ping\n\ndata: a\n\n:\n\n", [b"a"]),
    ("a comment inside an event", b"data: a\n: x\ndata: b\n\n", [b"a\nb"]),
    ("other fields", b"event: x\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
    ("the error field of old servers", b'error: {"code":500}\n\n', [b'{"error": {"code":500}}']),
    ("the last event without its blank line", b"data: a\n\ndata: b", [b"a", b"b"]),
    ("many blank lines", b"\n\n\ndata: a\n\n\n\n", [b"a"]),
    ("a plain object", b'{\n  "a": 1\n}\n', [b'{\n  "a": 1\n}']),
    ("a page", b"<html>\n\n<body>", [b"<html>\n\n<body>"]),
    ("nothing", b"", []),
    ("only comments", b":\n\n:\n\n", []),
]


@pytest.mark.parametrize(
    ("whole", "expected"), [row[1:] for row in EVENTS], ids=[r[0] for r in EVENTS]
)
def test_events_at_every_cut(whole: bytes, expected: list[bytes]) -> None:
    assert fed(EventDecoder(), [whole]) == expected
    assert fed(EventDecoder(), [whole[i : i + 1] for i in range(len(whole))]) == expected
    for place in range(len(whole)):
        assert fed(EventDecoder(), [whole[:place], whole[place:]]) == expected


@given(st.lists(st.binary(min_size=1, max_size=40)), st.data())
def test_chunks_are_the_same_however_they_arrive(parts: list[bytes], data: st.DataObject) -> None:
    ending = data.draw(st.sampled_from([b"\r\n", b"\n"]))
    extension = data.draw(st.sampled_from([b"", b";a=b", b" ;x"]))
    trailers = data.draw(st.sampled_from([b"", b"X-Took: 1" + ending]))
    frames = [b"%X" % len(part) + extension + ending + part + ending for part in parts]
    framed = b"".join(frames) + b"0" + ending + trailers + ending
    decoder = ChunkDecoder()
    came = [decoder.feed(piece) for piece in data.draw(cuts(framed))]
    assert b"".join(came) == b"".join(parts)
    assert decoder.ended


@pytest.mark.parametrize(
    "framed",
    [
        b"x\r\na\r\n",
        b"\r\n",
        b"-1\r\n",
        b"0x1\r\na",
        b"1_0\r\n",
        b"1\r\nab\r\n",
        b"9" * 20 + b"\r\n",
        b"1" * 70000,
    ],
)
def test_what_is_no_chunk_is_refused(framed: bytes) -> None:
    with pytest.raises(HTTPException):
        ChunkDecoder().feed(framed)


@given(st.lists(st.binary(min_size=1, max_size=9)), st.integers(1, 12))
def test_a_body_is_read_whole_in_any_measure(parts: list[bytes], size: int) -> None:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    whole = b"".join(parts)
    for measured in (
        lambda body: body.read(),
        lambda body: b"".join(iter(lambda: body.read(size), b"")),
        lambda body: b"".join(iter(lambda: body.read1(size), b"")),
    ):
        body = ArrivedBody(io.BufferedReader(io.BytesIO(framed)))
        assert measured(body) == whole
        assert body.ended


def test_a_body_that_is_cut_is_an_error_after_what_came() -> None:
    body = ArrivedBody(io.BufferedReader(io.BytesIO(b"3\r\nab")))
    assert body.read1() == b"ab"
    with pytest.raises(IncompleteRead):
        body.read1()
    assert not body.ended
