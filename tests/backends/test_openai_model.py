"""The OpenAI style: what is asked of each kind of server, and how lenient the reading is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from apis import DONE, OPENAI, SOON, heard, openai_end, openai_event, openai_usage, text
from wire_server import Act, Asked, as_json, chunk, chunked, head, serving, sized

from reactext.backends import NEVER, OpenAICompletionModel
from reactext.completion import ModelCard
from reactext.errors import ModelMissing, ServerFault, SetupError, StreamCut

SSE = "text/event-stream"


class Server:
    """The script of a server that lists these models and gives this reply."""

    def __init__(self, models: Any = None, reply: Any = None) -> None:
        self.models = models
        self.reply = reply or OPENAI.reply([" a"])

    def __call__(self, asked: Asked) -> Iterable[Any]:
        if asked.path == "/v1/completions":
            return self.reply
        if asked.path == "/v1/models" and self.models is not None:
            return [as_json({"object": "list", "data": self.models})]
        return [as_json({"detail": "Not Found"}, 404)]


def model_at(url: str, name: str | None = None, **options: Any) -> OpenAICompletionModel:
    return OpenAICompletionModel(url, name, **{"timeouts": SOON, "retry": NEVER, **options})


COMMON = {
    "model": "m",
    "prompt": "p",
    "max_tokens": 77,
    "temperature": 0.0,
    "stop": ["\nObservation"],
    "stream": True,
    "stream_options": {"include_usage": True},
}
USAGE = {"include_usage": True, "continuous_usage_stats": True}

KINDS = [
    # (entry of the list of models, what the request holds beside the common, the dialect)
    ({"owned_by": "me"}, {}, None),
    (
        {"owned_by": "vllm", "max_model_len": 4096},
        {
            "repetition_penalty": 1.0,
            "stream_options": USAGE,
            "structured_outputs": {"grammar": "G"},
        },
        "ebnf",
    ),
    ({"owned_by": "sglang"}, {"repetition_penalty": 1.0, "ebnf": "G"}, "ebnf"),
    (
        {"owned_by": "llamacpp", "meta": {"n_ctx": 512}},
        {"repeat_penalty": 1.0, "grammar": "G", "timings_per_token": True},
        "gbnf",
    ),
]


@pytest.mark.parametrize(("entry", "more", "dialect"), KINDS)
def test_the_request_to_each_kind_of_server(
    entry: dict[str, Any], more: dict[str, Any], dialect: str | None
) -> None:
    with serving(Server([{"id": "m", **entry}])) as server:
        model = model_at(server.url)
        heard(model, "p", max_tokens=77, grammar="G")
        assert server.asked[-1].body == {**COMMON, **more}
        assert model.card().grammar == dialect
        heard(model, "p")
        assert server.paths() == ["/v1/models", "/v1/completions", "/v1/completions"]


def test_a_kind_that_the_server_does_not_tell_can_be_named() -> None:
    with serving(Server()) as server:
        model = model_at(server.url, "m", kind="localai")
        heard(model, "p", max_tokens=77, grammar="G")
        assert server.asked[-1].body == {**COMMON, "repeat_penalty": 1.0, "grammar": "G"}
        assert model.card() == ModelCard(name="m", grammar="gbnf")


def test_the_card() -> None:
    entry = {"id": "Qwen/Qwen2.5-7B-Instruct", "owned_by": "vllm", "max_model_len": 4096}
    with serving(Server([entry, {"id": "other"}])) as server:
        assert model_at(server.url).card() == ModelCard(
            name="Qwen/Qwen2.5-7B-Instruct", frame="chatml", window=4096, grammar="ebnf"
        )
        assert model_at(server.url, frame="plain", window=100).card().window == 100
        assert model_at(server.url, "other").card() == ModelCard(name="other")


def test_no_more_stop_texts_than_the_api_takes() -> None:
    stops = [f"\n{letter}" for letter in "abcdef"]
    with serving(Server(reply=OPENAI.reply([" x\nf y"]))) as server:
        assert text(heard(model_at(server.url, "m"), stop=stops)) == " x"
        assert server.asked[-1].body["stop"] == stops[:4]
        heard(model_at(server.url, "m"), stop=())
        assert "stop" not in server.asked[-1].body


ENDS = [
    # (title, parts of the reply, text, finish)
    ("a finish reason and DONE", [openai_event(" a"), openai_end(), DONE], " a", "stop"),
    ("a finish reason alone", [openai_event(" a"), openai_end()], " a", "stop"),
    ("DONE alone", [openai_event(" a"), DONE], " a", "stop"),
    ("DONE with a tail", [openai_event(" a"), b"data: [DONE] bye\n\n"], " a", "stop"),
    ("no space before DONE", [openai_event(" a"), b"data:[DONE]\n\n"], " a", "stop"),
    ("too long", [openai_event(" a"), openai_end("length"), DONE], " a", "length"),
    ("vLLM: a stop text", [openai_end(stop_reason="\nObservation"), DONE], "", "stop"),
    ("vLLM: the model's own end", [openai_end(stop_reason=None), DONE], "", "eos"),
    ("vLLM: an end token", [openai_end(stop_reason=151645), DONE], "", "eos"),
    ("an error after the end", [openai_end(), b'data: {"error":"late"}\n\n'], "", "stop"),
    ("rubbish after the end", [openai_end(), b"data: {\n\n"], "", "stop"),
    (
        "the last text with the finish reason",
        [b'data: {"choices":[{"text":" a","finish_reason":"stop"}]}\n\n'],
        " a",
        "stop",
    ),
    (
        "one plain object",
        [b'{"choices": [{"text": " a",\n "finish_reason": "stop"}]}'],
        " a",
        "stop",
    ),
]


@pytest.mark.parametrize(
    ("parts", "said", "finish"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS]
)
def test_how_a_text_may_end(parts: list[bytes], said: str, finish: str) -> None:
    for reply in (chunked(parts, SSE), chunked([b"".join(parts)], SSE)):
        with serving(Server(reply=reply)) as server:
            pieces = heard(model_at(server.url, "m"))
        assert text(pieces) == said
        assert pieces[-1].finish == finish


BAD_ENDS = [
    ("no end", [openai_event(" a")], StreamCut),
    (
        "an error instead, then DONE",
        [openai_event(" a"), b'data: {"error":{"message":"boom"}}\n\n', DONE],
        ServerFault,
    ),
    ("an error that is a text", [openai_event(" a"), b'data: "boom"\n\n', DONE], ServerFault),
    (
        "a flat error",
        [openai_event(" a"), b'data: {"object":"error","message":"boom"}\n\n'],
        ServerFault,
    ),
    ("aborted", [openai_event(" a"), openai_end("abort"), DONE], StreamCut),
    ("filtered", [openai_event(" a"), openai_end("content_filter"), DONE], ServerFault),
]


@pytest.mark.parametrize(
    ("parts", "kind"), [row[1:] for row in BAD_ENDS], ids=[r[0] for r in BAD_ENDS]
)
def test_how_a_text_may_not_end(parts: list[bytes], kind: type[Exception]) -> None:
    with serving(Server(reply=chunked(parts, SSE))) as server, pytest.raises(kind) as raised:
        heard(model_at(server.url, "m"))
    assert getattr(raised.value, "text", None) == " a"


def test_a_server_that_says_nothing_after_the_end_is_not_waited_for() -> None:
    reply = [head(200, SSE, Transfer_Encoding="chunked"), chunk(openai_event(" a") + openai_end())]
    with serving(Server(reply=[*reply, Act.HOLD])) as server:
        pieces = heard(model_at(server.url, "m"))
    assert text(pieces) == " a"


def test_counts_come_with_the_last_event_or_from_here() -> None:
    zero = b'data: {"choices":[{"text":" b"}],"usage":{"prompt_tokens":0}}\n\n'
    with serving(Server(reply=chunked([openai_event(" a"), zero, openai_end()], SSE))) as server:
        usage = heard(model_at(server.url, "m"))[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (None, 2)
    with serving(
        Server(reply=chunked([openai_event(" a"), openai_end(), openai_usage()], SSE))
    ) as server:
        usage = heard(model_at(server.url, "m"))[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (11, 7, 3)


def test_a_model_that_only_embeds_is_not_the_first() -> None:
    with serving(Server([{"id": "text-embedding-nomic"}, {"id": "qwen2.5-7b-instruct"}])) as server:
        assert model_at(server.url).card().name == "qwen2.5-7b-instruct"


def test_ollama_is_refused_since_it_wraps_the_prompt() -> None:
    with (
        serving(Server([{"id": "qwen2.5:7b", "owned_by": "library"}])) as server,
        pytest.raises(SetupError, match='use "ollama:qwen'),
    ):
        heard(model_at(server.url))


def test_a_missing_model_names_those_that_are_there() -> None:
    with (
        serving(Server([{"id": "a"}, {"id": "b"}])) as server,
        pytest.raises(ModelMissing, match="has no model 'm'; use one of a, b"),
    ):
        heard(model_at(server.url, "m"))


@pytest.mark.parametrize("models", [None, [], [3, {}]])
def test_a_name_is_needed_where_none_is_listed(models: Any) -> None:
    with serving(Server(models)) as server:
        with pytest.raises(SetupError, match="give the model's name"):
            heard(model_at(server.url))
        assert text(heard(model_at(server.url, "m"))) == " a"


def test_a_page_instead_of_the_list() -> None:
    with (
        serving(lambda _: [sized(b"<html>", content_type="text/html")]) as server,
        pytest.raises(ServerFault, match="sent '<html>' instead"),
    ):
        heard(model_at(server.url, "m"))


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("", "/v1/completions"),
        ("/", "/v1/completions"),
        ("/v1/", "/v1/completions"),
        ("/x/v1", "/x/v1/completions"),
    ],
)
def test_where_the_address_points(given: str, path: str) -> None:
    with serving(lambda _: OPENAI.reply([" a"])) as server:
        heard(model_at(server.url + given, "m"))
        assert server.paths()[-1] == path


def test_only_the_first_of_several_texts_is_read() -> None:
    other = (
        openai_event("other")
        .replace(b'"index":0', b'"index":1')
        .replace(b'"index": 0', b'"index": 1')
    )
    body = [other, openai_event(" a"), other, openai_end()]
    with serving(lambda _: chunked(body, OPENAI.content_type)) as server:
        assert text(heard(model_at(server.url, "m"))) == " a"


def test_the_key_of_the_environment_is_sent_and_never_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sesame\n")
    with serving(
        lambda _: [as_json({"error": {"message": "Invalid API Key: sesame"}}, 401)]
    ) as server:
        model = model_at(server.url, "m")
        with pytest.raises(ServerFault) as raised:
            heard(model)
        assert server.asked[-1].headers["authorization"] == "Bearer sesame"
    assert "sesame" not in f"{raised.value} {model!r}"
    assert "api_key=" in raised.value.remedy
