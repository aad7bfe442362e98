"""What every backend promises, on servers that speak each API byte for byte."""

from __future__ import annotations

import gc
import gzip
import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from apis import APIS, AT_ONCE, NOT_FOUND, Api, heard, text
from wire_server import (
    PATIENCE,
    Act,
    Asked,
    as_json,
    chunk,
    chunked,
    head,
    serving,
    sized,
    until_close,
)

from reactext.backends import Retry, Timeouts
from reactext.cancellation import Cancellation
from reactext.completion import Completion, CompletionModel
from reactext.errors import (
    CompletionError,
    ServerBusy,
    ServerFault,
    ServerUnreachable,
    SetupError,
    StreamCut,
)

TEXTS = [" I look", " it", " up.\nAction: f(x=1)"]

each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)


def answering(api: Api, *replies: Iterable[Any]) -> Any:
    """A script that gives these replies to requests for text, one each, the last for ever."""
    left = list(replies)

    def script(asked: Asked) -> Iterable[Any]:
        if not api.asks_for_text(asked):
            return [NOT_FOUND]
        return left.pop(0) if len(left) > 1 else left[0]

    return script


@each_api
def test_a_text_comes_whole_with_its_counts(api: Api) -> None:
    with serving(answering(api, api.reply(TEXTS))) as server:
        pieces = heard(api.model(server.url))
    assert text(pieces) == "".join(TEXTS)
    assert pieces[-1].finish in ("stop", "eos")
    usage = pieces[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (11, 3)
    assert usage.cached_tokens == (None if api.name == "ollama" else 7)


@each_api
def test_how_it_is_cut_does_not_matter(api: Api) -> None:
    """Every body that a server or proxy may make of the same events."""
    parts = api.parts([" 北京", " 😀 \u2028", ' "q" \\ '])
    body = b"".join(parts)
    lf_only = body
    crlf = body.replace(b"\n", b"\r\n")
    one_byte = [body[i : i + 1] for i in range(len(body))]
    replies: list[Iterable[Any]] = [
        chunked([lf_only], api.content_type),
        chunked(one_byte, api.content_type),
        chunked([crlf[i : i + 7] for i in range(0, len(crlf), 7)], api.content_type),
        chunked([part.replace(b"\n", b"\r\n") for part in parts], "text/html"),
        until_close(one_byte, api.content_type),
        until_close([lf_only], api.content_type),
        [sized(lf_only, content_type=api.content_type)],
        # without the line end after the last event
        [sized(lf_only.rstrip(b"\n"), content_type="application/octet-stream")],
    ]
    for reply in replies:
        with serving(answering(api, reply)) as server:
            assert text(heard(api.model(server.url))) == ' 北京 😀 \u2028 "q" \\ '


@each_api
def test_halves_of_a_character_are_joined_and_lone_ones_replaced(api: Api) -> None:
    parts = [
        api.event("\ud83d"),
        api.event("\ude00"),
        api.event("a\ud83d"),
        api.event("b"),
        api.end(),
    ]
    with serving(answering(api, chunked(parts, api.content_type))) as server:
        said = text(heard(api.model(server.url)))
    assert said == "😀a\ufffdb"
    assert said.encode()


@each_api
def test_a_server_that_ignores_stop_texts_is_stopped_here(api: Api) -> None:
    texts = [" a\nObs", "ervation", ": made up", " and more"]
    endless = [head(200, api.content_type, Transfer_Encoding="chunked")]
    endless += [chunk(api.event(each)) for each in texts]
    with serving(answering(api, [*endless, Act.HOLD])) as server:
        pieces = heard(api.model(server.url))
        assert server.left.wait(PATIENCE)
    assert text(pieces) == " a"
    assert pieces[-1].finish == "stop"
    assert pieces[-1].usage is not None


@each_api
def test_what_may_begin_a_stop_text_is_given_at_the_end(api: Api) -> None:
    with serving(answering(api, api.reply([" a\nObs", "erv"]))) as server:
        assert text(heard(api.model(server.url))) == " a\nObserv"


@each_api
def test_empty_stop_texts_are_not_sent(api: Api) -> None:
    with serving(answering(api, api.reply(TEXTS))) as server:
        heard(api.model(server.url), stop=["", "\nObservation", ""])
        sent = server.asked[-1].body
    stop = sent["options"]["stop"] if api.name == "ollama" else sent["stop"]
    assert stop == ["\nObservation"]


@each_api
@pytest.mark.parametrize("framing", [chunked, until_close])
def test_a_cut_at_every_byte_is_an_error_with_the_text_so_far(api: Api, framing: Any) -> None:
    """Whatever part of a reply comes, the outcome is the whole text or a clear error."""
    parts = framing(api.parts([" a", "é"]), api.content_type)
    reply = b"".join(part for part in parts if isinstance(part, bytes))
    places = iter(range(len(reply) + 1))

    def script(asked: Asked) -> Iterable[Any]:
        if api.asks_for_text(asked):
            return [reply[: next(places)], Act.CLOSE]
        return [NOT_FOUND]

    with serving(script) as server:
        model = api.model(server.url)
        for place in range(len(reply)):
            said, error = outcome(model)
            if error is None:
                assert place > reply.index(api.end()[:30])
                assert said == " aé"
            else:
                assert isinstance(error, StreamCut | ServerUnreachable), place
                assert error.retryable, place
                assert " aé".startswith(error.text), place
        assert outcome(model) == (" aé", None)


def outcome(model: CompletionModel) -> tuple[str, CompletionError | None]:
    """The text of a completion, or else the error that it ended in."""
    try:
        return text(heard(model)), None
    except CompletionError as error:
        return "", error


@each_api
def test_an_error_in_the_middle_comes_after_the_text_before_it(api: Api) -> None:
    fault = b'{"error":{"code":500,"message":"boom","type":"server_error"}}'
    event = fault + b"\n" if api.name == "ollama" else b"data: " + fault + b"\n\n"
    for parts in ([api.event(" a"), event], [api.event(" a") + event]):
        with serving(answering(api, chunked(parts, api.content_type))) as server:
            pieces = api.model(server.url).complete("p", stop=(), options=Completion())
            assert next(pieces) == " a"
            with pytest.raises(ServerFault, match="boom") as raised:
                list(pieces)
    assert raised.value.text == " a"


@each_api
def test_a_page_instead_of_a_text_is_no_completion(api: Api) -> None:
    page = b"<html>\n<body>Welcome!\n</body></html>"
    with (
        serving(answering(api, [sized(page, content_type="text/html")])) as server,
        pytest.raises(CompletionError) as raised,
    ):
        heard(api.model(server.url))
    assert isinstance(raised.value, ServerFault)
    assert not raised.value.retryable


@each_api
@pytest.mark.parametrize("body", [b"", b"\n\n", b"null\n", b"[]\n", b"3\n", b'"no"\n', b"{}\n"])
def test_a_reply_of_nothing_is_an_error(api: Api, body: bytes) -> None:
    framed = body if api.name == "ollama" or not body.strip() else b"data: " + body + b"\n"
    with (
        serving(answering(api, chunked([framed] if framed else [], api.content_type))) as server,
        pytest.raises(CompletionError),
    ):
        heard(api.model(server.url))


@each_api
def test_odd_fields_do_no_harm(api: Api) -> None:
    odd = {
        "ollama": b'{"response":null,"thinking":3,"done":false,"logprobs":[]}\n{"done":false}\n',
        "llamacpp": b'data: {"content":null,"timings":null}\n\ndata: {"content":7,"timings":3}\n\n',
        "openai": b'data: {"choices":[]}\n\ndata: {"choices":[{"text":null}],"usage":null}\n\n'
        b'data: {"choices":null}\n\ndata: {"choices":[3]}\n\ndata: {"usage":{}}\n\n',
    }[api.name]
    parts = [api.event(" a"), odd, api.event(" b"), api.end()]
    with serving(answering(api, chunked(parts, api.content_type))) as server:
        assert text(heard(api.model(server.url))) == " a b"


@each_api
def test_a_compressed_reply_is_read(api: Api) -> None:
    body = gzip.compress(b"".join(api.parts(TEXTS)))
    reply = chunked([body[i : i + 5] for i in range(0, len(body), 5)], api.content_type)
    reply[0] = head(200, api.content_type, Transfer_Encoding="chunked", Content_Encoding="gzip")
    with serving(answering(api, reply)) as server:
        assert text(heard(api.model(server.url))) == "".join(TEXTS)


@each_api
def test_a_busy_server_is_waited_for(api: Api) -> None:
    busy = [as_json({"error": {"message": "Loading model", "type": "unavailable_error"}}, 503)]
    replies: list[Iterable[Any]] = [*[busy] * 7, api.reply(TEXTS)]
    with serving(answering(api, *replies)) as server:
        assert text(heard(api.model(server.url, retry=AT_ONCE))) == "".join(TEXTS)
        assert sum(map(api.asks_for_text, server.asked)) == 8


@each_api
def test_a_server_that_stays_busy_is_reported(api: Api) -> None:
    with (
        serving(answering(api, [as_json({"error": "server busy"}, 503)])) as server,
        pytest.raises(ServerBusy, match="server busy"),
    ):
        heard(api.model(server.url))


@each_api
def test_a_fault_before_any_text_is_tried_again(api: Api) -> None:
    cut = [head(200, api.content_type, Transfer_Encoding="chunked"), Act.CLOSE]
    replies: list[Iterable[Any]] = [[Act.CLOSE], cut, api.reply(TEXTS)]
    with serving(answering(api, *replies)) as server:
        assert text(heard(api.model(server.url, retry=AT_ONCE))) == "".join(TEXTS)
        assert sum(map(api.asks_for_text, server.asked)) == 3


@each_api
def test_so_many_attempts_and_no_more(api: Api) -> None:
    with serving(answering(api, [Act.CLOSE])) as server:
        with pytest.raises(ServerUnreachable):
            heard(api.model(server.url, retry=AT_ONCE))
        assert sum(map(api.asks_for_text, server.asked)) == 3


@each_api
def test_no_text_is_asked_for_twice_once_some_has_come(api: Api) -> None:
    cut = chunked([api.event(" a")], api.content_type)[:-1]
    with serving(answering(api, [*cut, Act.CLOSE])) as server:
        with pytest.raises(StreamCut) as raised:
            heard(api.model(server.url, retry=AT_ONCE))
        assert sum(map(api.asks_for_text, server.asked)) == 1
    assert raised.value.text == " a"


@each_api
def test_what_cannot_pass_is_not_tried_again(api: Api) -> None:
    refusal = [as_json({"error": {"message": "bad", "code": 400}}, 400)]
    with serving(answering(api, refusal)) as server:
        with pytest.raises(ServerFault, match="bad"):
            heard(api.model(server.url, retry=AT_ONCE))
        assert sum(map(api.asks_for_text, server.asked)) == 1


@each_api
def test_nothing_is_asked_before_the_first_piece_is(api: Api) -> None:
    with serving(answering(api, api.reply(TEXTS))) as server:
        api.model(server.url).complete("p", stop=(), options=Completion())
        assert server.asked == []


@each_api
def test_no_server_there(api: Api) -> None:
    with serving(answering(api)) as server:
        url = server.url
    with pytest.raises(ServerUnreachable, match="cannot be reached: connection refused; "):
        heard(api.model(url))


@each_api
def test_a_slow_first_byte_is_waited_for_and_no_longer(api: Api) -> None:
    release = threading.Event()
    slow = [release, *api.reply(TEXTS)]
    with serving(answering(api, slow)) as server:
        model = api.model(server.url, timeouts=Timeouts(first=0.05, gap=5), retry=AT_ONCE)
        with pytest.raises(ServerUnreachable, match=r"sent nothing for 0\.05 s") as raised:
            heard(model)
        assert not raised.value.retryable
        release.set()
        assert text(heard(model)) == "".join(TEXTS)


@each_api
def test_a_gap_is_waited_for_and_no_longer(api: Api) -> None:
    begun = [head(200, api.content_type, Transfer_Encoding="chunked"), chunk(api.event(" a"))]
    with serving(answering(api, [*begun, Act.HOLD])) as server:
        model = api.model(server.url, timeouts=Timeouts(first=5, gap=0.05))
        with pytest.raises(ServerUnreachable, match=r"sent nothing for 0\.05 s") as raised:
            heard(model)
        assert server.left.wait(PATIENCE)
    assert raised.value.text == " a"


@pytest.mark.parametrize("api", APIS[1:], ids=lambda api: api.name)
def test_pings_keep_a_connection_alive_but_are_no_text(api: Api) -> None:
    ping = chunk(b":\n\n")
    opened = head(200, api.content_type, Transfer_Encoding="chunked")
    whole = [opened, ping, ping, *map(chunk, api.parts(TEXTS)), ping, chunk(b""), b"0\r\n\r\n"]

    def for_ever(asked: Asked) -> Iterable[Any]:
        if not api.asks_for_text(asked):
            yield NOT_FOUND
            return
        yield opened
        pause = threading.Event()
        while True:
            yield chunk(b":")
            yield chunk(b"\n\n")
            pause.wait(0.01)

    with serving(answering(api, [part for part in whole if part != chunk(b"")])) as server:
        assert text(heard(api.model(server.url))) == "".join(TEXTS)
    with serving(for_ever) as server:
        model = api.model(server.url, timeouts=Timeouts(first=0.1, gap=0.1))
        with pytest.raises(ServerUnreachable, match=r"sent nothing for 0\.1 s"):
            heard(model)


@each_api
def test_closing_the_iterator_ends_the_work_on_the_server(api: Api) -> None:
    begun = [head(200, api.content_type, Transfer_Encoding="chunked"), chunk(api.event(" a"))]
    with serving(answering(api, [*begun, Act.HOLD])) as server:
        pieces = api.model(server.url).complete("p", stop=(), options=Completion())
        assert next(pieces) == " a"
        pieces.close()  # type: ignore[attr-defined]
        assert server.left.wait(PATIENCE)


@each_api
@pytest.mark.parametrize("moment", ["before the headers", "before the text", "in the text"])
def test_another_thread_cancels_and_the_server_is_free_at_once(api: Api, moment: str) -> None:
    begun: list[Any] = {
        "before the headers": [],
        "before the text": [head(200, api.content_type, Transfer_Encoding="chunked")],
        "in the text": [
            head(200, api.content_type, Transfer_Encoding="chunked"),
            chunk(api.event(" a")),
        ],
    }[moment]
    cancellation = Cancellation()
    with serving(answering(api, [*begun, Act.HOLD])) as server:
        model = api.model(server.url, retry=AT_ONCE)
        heard_there: list[str] = []

        def read() -> None:
            heard_there.append(text(heard(model, cancellation=cancellation)))

        reader = threading.Thread(target=read)
        reader.start()
        assert server.holding.wait(PATIENCE)
        cancellation.cancel()
        assert server.left.wait(PATIENCE)
        reader.join(PATIENCE)
        assert not reader.is_alive()
        assert sum(map(api.asks_for_text, server.asked)) == 1
    assert heard_there == [" a" if moment == "in the text" else ""]


@each_api
def test_a_cancellation_frees_the_server_though_nobody_reads(api: Api) -> None:
    """The reader may be busy with something else when the run is cancelled."""
    begun = [head(200, api.content_type, Transfer_Encoding="chunked"), chunk(api.event(" a"))]
    cancellation = Cancellation()
    with serving(answering(api, [*begun, Act.HOLD])) as server:
        options = Completion(cancellation=cancellation)
        pieces = api.model(server.url).complete("p", stop=(), options=options)
        assert next(pieces) == " a"
        cancellation.cancel()
        assert server.left.wait(PATIENCE)
        assert list(pieces) == []


@each_api
def test_what_was_cancelled_before_is_not_begun(api: Api) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with serving(answering(api, [Act.HOLD])) as server:
        assert heard(api.model(server.url), cancellation=cancellation) == []


@each_api
def test_waiting_for_a_busy_server_ends_when_cancelled(api: Api) -> None:
    cancellation = Cancellation()
    busy = head(503, "application/json", Content_Length="2", Retry_After="1000") + b"{}"

    def script(asked: Asked) -> Iterable[Any]:
        if api.asks_for_text(asked):
            yield busy
            cancellation.cancel()
        else:
            yield NOT_FOUND

    with serving(script) as server:
        model = api.model(server.url, retry=Retry(busy_seconds=2000))
        assert heard(model, cancellation=cancellation) == []


@each_api
def test_a_cancellation_after_the_end_hurts_nobody_else(api: Api) -> None:
    """The connection may serve another request by then."""
    first, second = Cancellation(), Cancellation()
    with serving(answering(api, api.reply(TEXTS))) as server:
        model = api.model(server.url)
        heard(model, cancellation=first)
        options = Completion(cancellation=second)
        pieces = model.complete("p", stop=(), options=options)
        said = next(pieces)
        first.cancel()
        assert said + "".join(pieces) == "".join(TEXTS)


@each_api
def test_many_threads_share_one_model(api: Api) -> None:
    def script(asked: Asked) -> Iterable[Any]:
        if not api.asks_for_text(asked):
            return [NOT_FOUND]
        return api.reply([" ", asked.body["prompt"]])

    said: dict[int, str] = {}
    with serving(script) as server:
        model = api.model(server.url)

        def ask(number: int) -> None:
            said[number] = "".join(text(heard(model, f"n{number}.{i};")) for i in range(5))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        model.close()  # type: ignore[attr-defined]
    assert said == {n: "".join(f" n{n}.{i};" for i in range(5)) for n in range(16)}


@each_api
def test_no_key_is_in_any_error(api: Api) -> None:
    sent = {"X-Key": "sesame"}
    with serving(answering(api, [as_json({"error": "no, sesame"}, 401)])) as server:
        model = api.model(server.url, headers=sent)
        with pytest.raises(ServerFault) as raised:
            heard(model)
        assert server.asked[-1].headers["x-key"] == "sesame"
    assert "sesame" not in f"{raised.value!r} {raised.value} {model!r}"
    with pytest.raises(SetupError) as refused:
        api.model("http://127.0.0.1:1", headers={"X-Key": "sesame\n"})
    assert "sesame" not in str(refused.value)


@each_api
def test_no_socket_and_no_thread_is_left(api: Api) -> None:
    """After every kind of end, with nothing but the model closed."""
    cut = chunked([api.event(" a")], api.content_type)[:-1]
    ends: list[Iterable[Any]] = [
        api.reply(TEXTS),
        [*cut, Act.CLOSE],
        [Act.CLOSE],
        [as_json({"error": "no"}, 400)],
        [as_json({"error": "busy"}, 503)],
        [sized(b"<html>")],
        chunked([b"{"], api.content_type),
        [head(200, api.content_type, Transfer_Encoding="chunked") + b"zz\r\n", Act.CLOSE],
    ]
    threads = set(threading.enumerate())
    gc.collect()
    sockets = _open_sockets()
    for end in ends:
        with serving(answering(api, end)) as server:
            model = api.model(server.url)
            outcome(model)
            model.close()  # type: ignore[attr-defined]
    assert set(threading.enumerate()) <= threads  # those of other tests may end meanwhile
    assert _open_sockets() == sockets


def _open_sockets() -> int:
    directory = Path("/proc/self/fd")
    if not directory.is_dir():
        return 0
    return sum(1 for entry in directory.iterdir() if _is_socket(entry))


def _is_socket(entry: Path) -> bool:
    try:
        return str(entry.readlink()).startswith("socket:")
    except OSError:
        return False


def test_the_prompt_is_sent_as_it_is() -> None:
    for api in APIS:
        prompt = 'Frage: 北京 😀 \u2028\x00"\\\n\tThought:'
        with serving(answering(api, api.reply(TEXTS))) as server:
            heard(api.model(server.url), prompt)
            assert server.asked[-1].body["prompt"] == prompt
            assert json.loads(server.asked[-1].content)
