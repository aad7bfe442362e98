"""Looks at a model as a physician would: what is there, what it does, what to do about it.

Each finding comes from trying, not from what a server says that it can. All of it together takes
some dozens of tokens.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from reactext.cancellation import Cancellation
from reactext.completion import (
    CallableModel,
    Callback,
    Completion,
    CompletionModel,
    GrammarDialect,
    ModelCard,
    Piece,
    card_of,
    completed,
)
from reactext.errors import ContextOverflow, ReactextError
from reactext.models import Usage, Value

Grade = Literal["ok", "warning", "failed", "unknown"]


class Verdict(Value):
    """What one look has found, how grave that is, and what to do about it, if anything."""

    name: str
    grade: Grade
    finding: str
    remedy: str = ""


@runtime_checkable
class HasServer(Protocol):
    """A model that can say which server it is behind."""

    def server(self) -> str:
        """Say which server this is; raises `CompletionError` when it cannot be asked."""
        ...


def examine(model: CompletionModel | Callback) -> Iterator[Verdict]:
    """Yield what is found, one thing after another; a failure of the first ones is the last."""
    patient = _Patient(model if hasattr(model, "complete") else CallableModel(model))
    for name, look in _LOOKS.items():
        try:
            verdict = look(patient)
        except ReactextError as error:
            message, remedy = str(error), getattr(error, "remedy", "")
            verdict = _failed(message.removesuffix(f"; {remedy}"), remedy)
        verdict = verdict.model_copy(update={"name": name})
        yield verdict
        if verdict.grade == "failed" and name in _VITAL:
            return


def worst(verdicts: list[Verdict]) -> Grade:
    """Return the gravest grade among them."""
    grades = [verdict.grade for verdict in verdicts]
    return next((grade for grade in _GRAVEST_FIRST if grade in grades), "unknown")


_GRAVEST_FIRST: tuple[Grade, ...] = ("failed", "warning", "unknown", "ok")

_COUNTING = "Count in words. one two three four five six seven eight nine ten one two three four"
_TOKENS = 24
_PATIENCE = 20.0
"""Seconds after which a prompt that is too long has been taken instead of refused."""


@dataclass(slots=True)
class _Heard:
    text: str
    thinking: str
    usage: Usage
    seconds: float
    first: float


@dataclass(slots=True)
class _Patient:
    model: CompletionModel
    card: ModelCard = field(default_factory=ModelCard)
    sample: _Heard | None = None

    def hear(
        self,
        prompt: str,
        *,
        tokens: int = _TOKENS,
        stop: tuple[str, ...] = (),
        grammar: str | None = None,
    ) -> _Heard:
        """Complete a prompt, and keep all that is told along with it."""
        options = Completion(max_tokens=tokens, grammar=grammar)
        return _heard(self.model, prompt, stop, options)


def _heard(
    model: CompletionModel, prompt: str, stop: tuple[str, ...], options: Completion
) -> _Heard:
    began = time.monotonic()
    heard = _Heard("", "", Usage(), 0.0, 0.0)
    for piece in completed(model, prompt, stop=stop, options=options):
        heard.first = heard.first or time.monotonic() - began
        if isinstance(piece, Piece):
            heard.usage = piece.usage or heard.usage
            if piece.channel == "thinking":
                heard.thinking += piece
                continue
        heard.text += piece
    heard.seconds = time.monotonic() - began
    return heard


def _server(patient: _Patient) -> Verdict:
    if not isinstance(patient.model, HasServer):
        return _unknown(f"{type(patient.model).__name__} is behind no server that we know")
    return _ok(patient.model.server())


def _model(patient: _Patient) -> Verdict:
    patient.card = card_of(patient.model)
    return _ok(
        f"{patient.card.name or 'a model without a name'}, spoken to as {patient.card.frame}"
    )


def _completion(patient: _Patient) -> Verdict:
    patient.sample = heard = patient.hear(_COUNTING)
    if not heard.text.strip():
        remedy = "is this a model that completes texts?"
        return _failed(f"it wrote nothing within {_TOKENS} tokens", remedy)
    return _ok(f"it goes on with {heard.text.strip()[:40]!r}, first after {heard.first:.2f} s")


def _window(patient: _Patient) -> Verdict:
    """Send more than fits: an honest server refuses it and tells its window."""
    claimed = patient.card.window
    if claimed is None:
        remedy = "name it: window= for this model, so that transcripts are kept within it"
        return _unknown("the server does not tell its window", remedy)
    cancellation = Cancellation()
    timer = threading.Timer(_PATIENCE, cancellation.cancel)
    timer.start()
    try:
        options = Completion(max_tokens=1, cancellation=cancellation)
        heard = _heard(patient.model, "word " * (claimed + 64), (), options)
    except ContextOverflow as overflow:
        granted = overflow.window or claimed
        if granted < claimed:
            return _warn(
                f"{claimed} tokens are told, {granted} granted",
                f"ask for no more than {granted} (num_ctx), or give the server more memory",
            )
        return _ok(f"{granted} tokens; a longer prompt is refused, not cut")
    finally:
        timer.cancel()
    counted = heard.usage.prompt_tokens
    if counted is not None and counted <= claimed:
        remedy = "update the server; until then a long transcript loses its beginning"
        return _failed(f"a longer prompt is cut to {counted} tokens without a word", remedy)
    return _warn(
        f"{claimed} tokens are told, and a longer prompt is taken",
        "the window may be larger, or the server cuts prompts silently; look into its log",
    )


def _stop(patient: _Patient) -> Verdict:
    """Stop at a word that the sample holds: the server does, or we have to."""
    words = re.findall(r" [a-z]{3,}", patient.sample.text if patient.sample else "")
    if len(words) < 2:
        return _unknown("the sample holds no word to stop at")
    heard = patient.hear(_COUNTING, stop=(words[1],))
    if words[1] in heard.text:
        return _failed(f"{words[1]!r} stands in a text that had to stop there")
    told = patient.sample is not None and patient.sample.usage.prompt_tokens is not None
    if told and heard.usage.prompt_tokens is None:
        remedy = "nothing to do: the text is stopped on this side, at the cost of a token or two"
        return _warn("the server writes on past a stop text", remedy)
    return _ok("the text ends at a stop text")


def _thinking(patient: _Patient) -> Verdict:
    heard = patient.hear("Question: what is 2 + 2?\nThought:", stop=("\nObservation",))
    if heard.thinking:
        return _ok("reasoning comes apart from the text")
    if "<think>" in heard.text or "</think>" in heard.text:
        return _ok("reasoning comes between tags in the text, and is told apart from it")
    if patient.card.thinks:
        return _ok("a model that reasons between tags; it does not here")
    return _ok("no reasoning beside the text")


_GRAMMARS: dict[GrammarDialect, str] = {
    "gbnf": 'root ::= "<" [0-9] [0-9] ">"',
    "ebnf": 'root ::= "<" [0-9] [0-9] ">"',
    "llguidance": "%llguidance {}\nstart: /<[0-9][0-9]>/",
    "lark": "start: /<[0-9][0-9]>/",
}


def _grammar(patient: _Patient) -> Verdict:
    dialect = patient.card.grammar
    if dialect is None:
        return _warn(
            "the server takes no grammar: a step may come out unreadable and be asked for again",
            "small models gain most from one; llama.cpp, vLLM and the embedded model take it",
        )
    heard = patient.hear("Say hello:", grammar=_GRAMMARS[dialect])
    if not re.fullmatch(r"<\d\d>", heard.text):
        remedy = "run with constrain=False, or name the right kind= of server"
        return _failed(f"a grammar is taken and not kept to: {heard.text[:40]!r} came", remedy)
    return _ok(f"it writes nothing but what a grammar allows ({dialect})")


def _prefix(patient: _Patient) -> Verdict:
    """Send a prompt, then the same with something more: only that should be evaluated."""
    prompt = "".join(f"Fact {number}: the value of k{number} is {number}. " for number in range(12))
    first = patient.hear(prompt + "Question: why?\nThought:", tokens=1).usage
    second = patient.hear(prompt + "Question: why?\nThought: so", tokens=1).usage
    if second.cached_tokens is not None and second.prompt_tokens:
        share = second.cached_tokens / second.prompt_tokens
        told = f"{share:.0%} of a prompt that begins as the last one are taken from the cache"
        if share >= 0.5:
            return _ok(told)
        return _warn(told, "let it cache prompts; every step is evaluated whole otherwise")
    if first.prompt_seconds and second.prompt_seconds:
        told = f"a prompt took {first.prompt_seconds:.2f} s, then {second.prompt_seconds:.2f} s"
        return _ok(told) if second.prompt_seconds < 0.6 * first.prompt_seconds else _unknown(told)
    return _unknown("the server tells neither cached tokens nor times")


def _speed(patient: _Patient) -> Verdict:
    heard = patient.sample
    usage = heard.usage if heard else Usage()
    count = usage.completion_tokens
    took = usage.completion_seconds or (heard.seconds - heard.first if heard else 0.0)
    if not count or not took:
        return _unknown("too little was written to tell")
    speed = count / took
    if speed < _SLOW:
        return _warn(
            f"{speed:.1f} tokens a second: a step takes about {60 / speed:.0f} s",
            "use a smaller model, or free processor cores; two models at once starve each other",
        )
    return _ok(f"{speed:.0f} tokens a second")


_SLOW = 5.0

_LOOKS: dict[str, Callable[[_Patient], Verdict]] = {
    "server": _server,
    "model": _model,
    "completion": _completion,
    "window": _window,
    "stop texts": _stop,
    "thinking": _thinking,
    "grammar": _grammar,
    "prefix cache": _prefix,
    "speed": _speed,
}
_VITAL = ("server", "model", "completion")


def _ok(finding: str) -> Verdict:
    return Verdict(name="", grade="ok", finding=finding)


def _warn(finding: str, remedy: str) -> Verdict:
    return Verdict(name="", grade="warning", finding=finding, remedy=remedy)


def _failed(finding: str, remedy: str = "") -> Verdict:
    return Verdict(name="", grade="failed", finding=finding, remedy=remedy)


def _unknown(finding: str, remedy: str = "") -> Verdict:
    return Verdict(name="", grade="unknown", finding=finding, remedy=remedy)
