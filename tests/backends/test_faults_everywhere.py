"""Each kind of fault, at each place of a reply: a clear error with the text so far, or the text."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from apis import APIS, NOT_FOUND, Api, heard, text
from wire_server import Act, Asked, as_json, chunked, head, serving, sized, until_close

from reactext.backends import Retry, Timeouts
from reactext.errors import (
    CompletionError,
    ModelMissing,
    ServerBusy,
    ServerFault,
    ServerUnreachable,
    StreamCut,
)

each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)

TEXTS = [" a", "é"]
WHOLE = "".join(TEXTS)
SHORT = Timeouts(connect=5, first=0.02, gap=0.02, ask=5)


def whole_reply(api: Api, framing: Any) -> bytes:
    parts = framing(api.parts(TEXTS), api.content_type)
    return b"".join(part for part in parts if isinstance(part, bytes))


def compressed(parts: Iterable[bytes], content_type: str, pack: Callable[[bytes], bytes]) -> bytes:
    coding = "gzip" if pack is gzip.compress else "deflate"
    body = pack(b"".join(parts))
    return head(200, content_type, Content_Encoding=coding, Content_Length=str(len(body))) + body


FAULTS: dict[str, tuple[int, Callable[[bytes, int], list[Any]]]] = {
    # how many places are left out after each, what is sent instead of the reply
    "reset": (1, lambda reply, place: [reply[:place], Act.RESET]),
    "cut": (1, lambda reply, place: [reply[:place], Act.CLOSE]),
    "silence": (37, lambda reply, place: [reply[:place], Act.HOLD]),
    "garbage": (1, lambda reply, place: [reply[:place] + b"\xff\x00{<" + reply[place:], Act.CLOSE]),
    "lost": (1, lambda reply, place: [reply[:place] + reply[place + 3 :], Act.CLOSE]),
    "twice": (1, lambda reply, place: [reply[:place] + reply[max(0, place - 9) :], Act.CLOSE]),
}


@each_api
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_each_place(api: Api, fault: str) -> None:
    reply = whole_reply(api, chunked)
    step, broken = FAULTS[fault]
    places: Iterator[int] = iter(range(0, len(reply), step))

    def script(asked: Asked) -> Iterable[Any]:
        return broken(reply, next(places)) if api.asks_for_text(asked) else [NOT_FOUND]

    threads = threading.active_count()
    with serving(script) as server:
        model = api.model(server.url, **({"timeouts": SHORT} if fault == "silence" else {}))
        for place in range(0, len(reply), step):
            said, error = outcome(model)
            if fault in ("garbage", "lost", "twice"):
                continue  # it may have changed a letter; all that counts is whose error it is
            assert (error is None) == (said == WHOLE), place
            if error is not None:
                assert isinstance(error, StreamCut | ServerUnreachable), place
                assert WHOLE.startswith(error.text), place
                assert error.retryable == (fault != "silence"), place
        model.close()  # type: ignore[attr-defined]
    assert threading.active_count() == threads


def outcome(model: Any) -> tuple[str, CompletionError | None]:
    try:
        return text(heard(model)), None
    except CompletionError as error:
        return "", error


@each_api
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_compressed_reply_cut_at_each_place(api: Api, pack: Callable[[bytes], bytes]) -> None:
    reply = compressed(api.parts(TEXTS), api.content_type, pack)
    places = iter(range(len(reply) + 1))

    def script(asked: Asked) -> Iterable[Any]:
        return [reply[: next(places)], Act.CLOSE] if api.asks_for_text(asked) else [NOT_FOUND]

    with serving(script) as server:
        model = api.model(server.url)
        for place in range(len(reply)):
            said, error = outcome(model)
            assert error is not None or said == WHOLE, place
            assert error is None or WHOLE.startswith(error.text), place
        assert outcome(model) == (WHOLE, None)


@each_api
def test_an_error_in_place_of_each_event(api: Api) -> None:
    fault = b'{"error":{"code":500,"message":"boom","type":"server_error"}}'
    line = fault + b"\n" if api.name == "ollama" else b"data: " + fault + b"\n\n"
    parts = api.parts(TEXTS)
    for place in range(len(parts)):
        reply = chunked([*parts[:place], line], api.content_type)
        with (
            serving(lambda _, reply=reply: reply) as server,  # type: ignore[misc]
            pytest.raises(ServerFault, match="boom") as raised,
        ):
            heard(api.model(server.url))
        assert raised.value.text == "".join(TEXTS[:place])


BODIES = {
    "extensions of chunks": lambda api: [
        chunked([], api.content_type)[0],
        *(b"%x;a=b;c\r\n%s\r\n" % (len(part), part) for part in api.parts(TEXTS)),
        b"000;last\r\nTrailer: x\r\n\r\n",
    ],
    "sizes in capitals and zeros": lambda api: [
        chunked([], api.content_type)[0],
        *(b"000%X \r\n%s\r\n" % (len(part), part) for part in api.parts(TEXTS)),
        b"0\r\n\r\n",
    ],
    "HTTP/1.0": lambda api: until_close(api.parts(TEXTS), api.content_type),
    "a wrong type": lambda api: chunked(api.parts(TEXTS), "text/plain; charset=latin-1"),
    "a byte order mark": lambda api: chunked([b"\xef\xbb", b"\xbf", *api.parts(TEXTS)], "x/y"),
    "CRLF": lambda api: chunked(
        [part.replace(b"\n", b"\r\n") for part in api.parts(TEXTS)], api.content_type
    ),
    "blank lines": lambda api: chunked(
        [b"\n\n" + part + b"\n\n\n" for part in api.parts(TEXTS)], api.content_type
    ),
    "a length": lambda api: [sized(b"".join(api.parts(TEXTS)), content_type=api.content_type)],
}


@each_api
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_each_way_to_send_a_text(api: Api, body: Callable[[Api], list[Any]]) -> None:
    with serving(lambda _: body(api)) as server:
        assert text(heard(api.model(server.url))) == WHOLE


STATUSES: list[tuple[int, type[CompletionError], int]] = [
    # (status, the error, how often it is asked for)
    *((status, ServerFault, 1) for status in (204, 301, 400, 401, 403, 405, 413, 422, 451, 501)),
    *((status, ServerFault, 3) for status in (409, 500, 502, 504, 599)),
    (404, ModelMissing, 1),
    *((status, ServerBusy, 4) for status in (408, 425, 429, 503)),
]


@each_api
@pytest.mark.parametrize(("status", "kind", "asked"), STATUSES)
def test_each_status(api: Api, status: int, kind: type[CompletionError], asked: int) -> None:
    """A server that is busy is asked again for a time, here until the fourth answer."""
    last = head(status, Retry_After="1000", Content_Length="0")
    answers = [as_json({"error": "sorry"}, status)] * 3 + [last]

    def script(request: Asked) -> Iterable[Any]:
        if not api.asks_for_text(request):
            return [NOT_FOUND]
        return [answers.pop(0)]

    retry = Retry(attempts=3, wait=0, longest_wait=0, busy_seconds=900)
    with serving(script) as server:
        with pytest.raises(kind) as raised:
            heard(api.model(server.url, retry=retry))
        assert sum(map(api.asks_for_text, server.asked)) == asked
    assert f"answered {status}" in str(raised.value) or kind is ModelMissing
