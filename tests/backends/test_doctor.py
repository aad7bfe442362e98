"""The doctor finds what each kind of server does, and says what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from apis import OLLAMA
from wire_server import as_json, serving

from reactext.backends import NEVER, EmbeddedModel, OllamaModel
from reactext.completion import (
    Completion,
    GrammarDialect,
    ModelCard,
    Piece,
    ScriptedModel,
    until_stop,
)
from reactext.doctor import Verdict, examine, worst
from reactext.errors import ContextOverflow, ModelMissing, ServerUnreachable
from reactext.models import Usage

WORDS = " five six seven eight nine ten"


@dataclass
class Server:
    """A model behind a server with these habits."""

    window: int | None = 100
    granted: int = 100
    cuts: bool = False
    stops: bool = True
    text: str = WORDS
    thinking: str = ""
    dialect: GrammarDialect | None = "gbnf"
    keeps_grammar: bool = True
    caches: bool = True
    seconds: float | None = 1.0
    counts: bool = True
    last: str = ""

    def server(self) -> str:
        return "a server"

    def card(self) -> ModelCard:
        return ModelCard(name="m", frame="chatml", window=self.window, grammar=self.dialect)

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        tokens = len(prompt.split())
        if tokens > self.granted:
            if not self.cuts:
                raise ContextOverflow("too long", prompt_tokens=tokens, window=self.granted)
            tokens = self.granted // 2
        cached = len(self.last.split()) if self.caches and prompt.startswith(self.last) else 0
        self.last = prompt
        text = "<12>" if options.grammar and self.keeps_grammar else self.text
        ended = Usage(
            prompt_tokens=tokens,
            cached_tokens=cached,
            completion_tokens=6,
            prompt_seconds=None,
            completion_seconds=self.seconds,
        )

        def pieces() -> Iterator[Piece]:
            if self.thinking:
                yield Piece(self.thinking, channel="thinking")
            yield Piece(text, usage=Usage(completion_tokens=6))
            yield Piece(usage=ended if self.counts else None, finish="stop")

        whole = list(pieces())
        if self.stops and (found := [text.find(each) for each in stop if each in text]):
            whole[-2] = Piece(text[: min(found)])
        yield from until_stop(whole, stop)


def found(model: Server) -> dict[str, Verdict]:
    return {verdict.name: verdict for verdict in examine(model)}


def test_a_sound_one() -> None:
    verdicts = found(Server())
    assert list(verdicts) == [
        "server",
        "model",
        "completion",
        "window",
        "stop texts",
        "thinking",
        "grammar",
        "prefix cache",
        "speed",
    ]
    assert {verdict.grade for verdict in verdicts.values()} == {"ok"}
    assert not any(verdict.remedy for verdict in verdicts.values())


SIGNS = [
    # (title, habits, what is looked at, grade, part of the finding)
    (
        "less window than told",
        {"granted": 50},
        "window",
        "warning",
        "100 tokens are told, 50 granted",
    ),
    ("no window told", {"window": None}, "window", "unknown", "does not tell its window"),
    ("silent cuts", {"cuts": True}, "window", "failed", "cut to 50 tokens without a word"),
    ("more window than told", {"granted": 1000}, "window", "warning", "a longer prompt is taken"),
    ("stop texts ignored", {"stops": False}, "stop texts", "warning", "writes on past a stop text"),
    ("nothing to stop at", {"text": " 1 2 3"}, "stop texts", "unknown", "no word to stop at"),
    ("thinking apart", {"thinking": "Hm"}, "thinking", "ok", "apart from the text"),
    ("thinking in tags", {"text": "<think>Hm</think>"}, "thinking", "ok", "between tags"),
    ("no grammar", {"dialect": None}, "grammar", "warning", "takes no grammar"),
    ("grammar ignored", {"keeps_grammar": False}, "grammar", "failed", "not kept to"),
    ("no cache", {"caches": False}, "prefix cache", "warning", "0% of a prompt"),
    ("nothing told", {"counts": False}, "prefix cache", "unknown", "neither cached tokens nor"),
    ("slow", {"seconds": 6.0}, "speed", "warning", "1.0 tokens a second: a step takes about 60 s"),
    ("nothing written", {"text": " "}, "completion", "failed", "it wrote nothing"),
]


@pytest.mark.parametrize(
    ("habits", "name", "grade", "part"), [row[1:] for row in SIGNS], ids=[row[0] for row in SIGNS]
)
def test_a_sign_and_its_verdict(
    habits: dict[str, object], name: str, grade: str, part: str
) -> None:
    verdict = found(Server(**habits))[name]  # type: ignore[arg-type]
    assert verdict.grade == grade
    assert part in verdict.finding
    assert bool(verdict.remedy) == (grade in ("warning", "failed")) or grade == "unknown"


def test_no_server_is_the_last_finding() -> None:
    with serving(lambda _: []) as server:
        url = server.url
    verdicts = list(examine(OllamaModel("m", url, retry=NEVER)))
    assert [verdict.grade for verdict in verdicts] == ["failed"]
    assert verdicts[0].finding == f"{url} cannot be reached: connection refused"
    assert verdicts[0].remedy.startswith("start it with: ollama serve")


def test_a_missing_model_is_the_last_finding() -> None:
    answers = {
        "/api/version": as_json({"version": "0.33.0"}),
        "/api/show": as_json({"error": "model 'm' not found"}, 404),
        "/api/tags": as_json({"models": [{"name": "qwen2.5:7b"}]}),
    }
    with serving(lambda asked: [answers[asked.path]]) as server:
        verdicts = list(examine(OllamaModel("m", server.url, retry=NEVER)))
    assert [(verdict.name, verdict.grade) for verdict in verdicts] == [
        ("server", "ok"),
        ("model", "failed"),
    ]
    assert verdicts[0].finding == f"Ollama 0.33.0 at {server.url}"
    assert "ollama pull m" in verdicts[1].remedy


def test_an_ollama_server_is_examined_over_its_api() -> None:
    answers = {
        "/api/version": as_json({"version": "0.33.0"}),
        "/api/show": as_json({"model_info": {"a.context_length": 50}}),
        "/api/ps": as_json({"models": []}),
    }
    inner = '{"error":{"type":"exceed_context_size_error","n_prompt_tokens":114,"n_ctx":50}}'

    def script(asked: object) -> list[bytes]:
        path = asked.path  # type: ignore[attr-defined]
        if path != "/api/generate":
            return [answers[path]]
        if len(asked.body["prompt"].split()) > 110:  # type: ignore[attr-defined]
            return [as_json({"error": inner}, 400)]
        return OLLAMA.reply([" five", " six", " seven"])

    with serving(script) as server:
        model = OllamaModel("m", server.url, retry=NEVER)
        verdicts = {verdict.name: verdict for verdict in examine(model)}
        model.close()
    assert verdicts["window"].finding == "50 tokens; a longer prompt is refused, not cut"
    assert verdicts["speed"].finding == "12 tokens a second"
    assert verdicts["grammar"].grade == "warning"


def test_a_model_that_is_behind_no_server() -> None:
    verdicts = list(examine(ScriptedModel([WORDS] * 9)))
    assert verdicts[0].grade == "unknown"
    assert verdicts[2].grade == "ok"


def test_the_gravest_counts() -> None:
    def graded(*grades: str) -> list[Verdict]:
        return [Verdict.model_validate({"name": "", "grade": g, "finding": ""}) for g in grades]

    assert worst(graded("ok", "warning", "unknown")) == "warning"
    assert worst(graded("ok", "failed", "warning")) == "failed"
    assert worst(graded("ok", "unknown")) == "unknown"
    assert worst(graded("ok")) == "ok"
    assert worst([]) == "unknown"


@pytest.mark.parametrize("error", [ModelMissing("gone"), ServerUnreachable("gone")])
def test_a_fault_in_the_middle_is_a_finding(error: Exception) -> None:
    verdicts = list(examine(ScriptedModel([error])))
    assert verdicts[-1] == Verdict(name="completion", grade="failed", finding="gone")


@pytest.mark.real_model
def test_the_embedded_model_is_sound() -> None:
    with EmbeddedModel("smollm2-135m", window=1024, threads=1) as model:
        verdicts = list(examine(model))
    assert worst(verdicts) == "ok", verdicts
