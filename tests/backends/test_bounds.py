"""Nothing that a server does takes for ever: each wait and each length has its bound."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from apis import APIS, LLAMACPP, NOT_FOUND, OLLAMA, SOON, Api, heard, text
from wire_server import PATIENCE, Act, Asked, chunk, head, serving

from reactext.backends import Timeouts
from reactext.backends._events import LONGEST_EVENT
from reactext.completion import Completion, Piece, as_model, completed
from reactext.errors import CompletionError, ServerFault, ServerUnreachable

each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)


def begun(api: Api) -> bytes:
    return head(200, api.content_type, Transfer_Encoding="chunked")


def for_ever(api: Api, *parts: bytes) -> Any:
    """A script whose texts are these parts again and again, each a chunk."""

    def script(asked: Asked) -> Iterable[Any]:
        if not api.asks_for_text(asked):
            return [NOT_FOUND]
        return itertools.chain([begun(api)], itertools.cycle(map(chunk, parts)))

    return script


@each_api
@pytest.mark.parametrize("piece", [" word", "", "\n", "word " * 1000])
def test_a_text_without_end_is_ended_here(api: Api, piece: str) -> None:
    with serving(for_ever(api, api.event(piece) * 50)) as server:
        pieces = heard(api.model(server.url), max_tokens=20)
        assert server.left.wait(PATIENCE)
    assert pieces[-1].finish == "length"
    assert len(text(pieces)) < 600_000


@pytest.mark.parametrize("pieces", [["word "], [""], [Piece("hm", channel="thinking")]])
def test_a_function_without_end_is_ended(pieces: list[str]) -> None:
    model = as_model(lambda _: itertools.cycle(pieces))
    said = list(completed(model, "p", stop=(), options=Completion(max_tokens=20)))
    assert isinstance(said[-1], Piece)
    assert said[-1].finish == "length"


ENDLESS = {
    "a line": b"x" * 65536,
    "a line of an event": b"data: " + b"x" * 65536,
    "data": b"data: x\n" * 4096,
    "an object": b"{\n" + b"x\n" * 4096,
    "empty events": b"data:\n\n" * 4096,
    "other fields": b"id: 1\n" * 4096,
    "an error": b'error: {"message":"' + b"x" * 65536,
}


@each_api
@pytest.mark.parametrize("part", ENDLESS.values(), ids=ENDLESS)
def test_what_never_becomes_a_text_is_given_up(api: Api, part: bytes) -> None:
    with serving(for_ever(api, part)) as server:
        with pytest.raises(CompletionError) as raised:
            heard(api.model(server.url))
        assert server.left.wait(PATIENCE)
    assert len(str(raised.value)) < 1000
    assert LONGEST_EVENT < 2**26


@each_api
def test_a_refusal_without_end(api: Api) -> None:
    endless = itertools.chain(
        [head(500, "text/html", Transfer_Encoding="chunked")],
        itertools.repeat(chunk(b"<p>sorry</p>" * 5000)),
    )
    with serving(lambda _: endless) as server:
        with pytest.raises(ServerFault, match="answered 500: <p>sorry"):
            heard(api.model(server.url))
        assert server.left.wait(PATIENCE)


@pytest.mark.parametrize(
    "endless",
    [
        itertools.chain([b"HTTP/1.1 200 OK\r\nX: "], itertools.repeat(b"x" * 65536)),
        itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"X: x\r\n" * 1000)),
        itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000),
        itertools.repeat(b"x" * 65536),
    ],
    ids=["a header", "headers", "to be continued", "hints", "a status"],
)
def test_a_head_without_end(endless: Iterable[bytes]) -> None:
    with serving(lambda _: endless) as server:
        with pytest.raises(CompletionError):
            heard(OLLAMA.model(server.url))
        assert server.left.wait(PATIENCE)


def test_an_answer_about_the_model_without_end() -> None:
    endless = itertools.chain([begun(OLLAMA)], itertools.repeat(chunk(b"[" * 65536)))
    with serving(lambda _: endless) as server:
        model: Any = OLLAMA.model(server.url)
        with pytest.raises(ServerFault, match="an answer without end instead"):
            model.server()
        assert server.left.wait(PATIENCE)


def test_an_answer_that_drips() -> None:
    """Each byte comes in time, and all of them never would."""

    def script(_: Asked) -> Iterable[Any]:
        yield begun(OLLAMA)
        while True:
            yield chunk(b" ")

    with serving(script) as server:
        model: Any = OLLAMA.model(server.url, timeouts=Timeouts(ask=0.1))
        with pytest.raises(ServerUnreachable, match=r"Timeouts\(ask=…\), now 0\.1$"):
            model.server()


@each_api
@pytest.mark.parametrize("announced", [b"100 Continue", b"102 Processing", b"103 Early Hints"])
def test_an_announced_answer(api: Api, announced: bytes) -> None:
    before = b"HTTP/1.1 " + announced + b"\r\nLink: <x>\r\n\r\n"
    with serving(lambda _: [before * 2, *api.reply([" a"])]) as server:
        model: Any = api.model(server.url)
        assert text(heard(model)) == " a"


SILENCES = [
    # (setting, what the server sends before it falls silent)
    ("first", []),
    ("first", [begun(LLAMACPP)]),
    ("gap", [begun(LLAMACPP), chunk(LLAMACPP.event(" a"))]),
    ("gap", [begun(LLAMACPP), chunk(LLAMACPP.event(" a")[:9])]),
]


@pytest.mark.parametrize(("setting", "parts"), SILENCES)
def test_a_silence_names_the_setting_that_ended_it(setting: str, parts: list[Any]) -> None:
    limits = {"first": 30.0, "gap": 30.0, "ask": 30.0, setting: 0.05}
    with serving(lambda _: [*parts, Act.HOLD]) as server:
        model = LLAMACPP.model(server.url, timeouts=Timeouts(**limits))
        with pytest.raises(ServerUnreachable) as raised:
            heard(model)
    told = (
        f"sent nothing for 0.05 s; give it more time with timeouts=Timeouts({setting}=…), now 0.05"
    )
    assert str(raised.value).endswith(told)


@each_api
def test_a_silence_about_the_model_names_its_own_setting(api: Api) -> None:
    for parts in ([], [begun(api)], [begun(api), chunk(b"{")]):
        with serving(lambda _, parts=parts: [*parts, Act.HOLD]) as server:  # type: ignore[misc]
            options = {"num_ctx": None} if api is OLLAMA else {}
            model: Any = api.model(server.url, timeouts=Timeouts(ask=0.05), **options)
            with pytest.raises(ServerUnreachable, match=r"Timeouts\(ask=…\), now 0\.05$"):
                model.card()


def test_a_silent_place_names_the_setting_for_connections() -> None:
    """An address of a test network: nobody takes the connection, and nobody refuses it."""
    model = OLLAMA.model("http://192.0.2.1:9", timeouts=Timeouts(connect=0.05))
    with pytest.raises(ServerUnreachable) as raised:
        heard(model)
    if "within" in str(raised.value):
        assert "within 0.05 s; start it with" in str(raised.value)
        assert str(raised.value).endswith("timeouts=Timeouts(connect=…), now 0.05")


REDIRECTS = [301, 302, 303, 307, 308]


@each_api
@pytest.mark.parametrize("status", REDIRECTS)
def test_a_key_is_not_taken_to_where_a_server_points(api: Api, status: int) -> None:
    with serving(lambda _: api.reply([" a"])) as other:
        moved = head(status, "text/html", Location=f"{other.url}/v1", Content_Length="0")
        with serving(lambda _: [moved]) as server:
            model = api.model(server.url, headers={"Authorization": "Bearer sesame"})
            with pytest.raises(ServerFault) as raised:
                heard(model)
            assert f"it points to {other.url}/v1; give that address" in str(raised.value)
            assert "sesame" not in str(raised.value)
            assert len([asked for asked in server.asked if api.asks_for_text(asked)]) <= 1
        assert other.asked == []


WAITS = [
    # (Retry-After, seconds that are waited, or None where the server does not say)
    ("3", 3.0),
    ("0", 0.0),
    ("1.5", 1.5),
    ("-5", 0.0),
    ("", None),
    ("soon", None),
    ("nan", None),
    ("inf", None),
    ("1e300", None),
    ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
    ("Fri, 31 Dec 9999 23:59:59 GMT", None),
    ("Fri, 99 Dec 1999", None),
]


@pytest.mark.parametrize(("told", "seconds"), WAITS)
def test_how_long_a_busy_server_asks_to_wait(told: str, seconds: float | None) -> None:
    busy = head(429, "application/json", Retry_After=told, Content_Length="2") + b"{}"
    with serving(lambda _: [busy]) as server, pytest.raises(CompletionError) as raised:
        heard(OLLAMA.model(server.url, timeouts=SOON))
    assert raised.value.retry_after == seconds
