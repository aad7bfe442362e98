"""What continues a text: the one protocol between the engine and whatever serves a model."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from reactext.cancellation import Cancellation
from reactext.errors import CompletionError, ReactextError, ServerUnreachable, SetupError
from reactext.given import Within, checked, fault, shown
from reactext.models import Usage, Value

GrammarDialect = Literal["gbnf", "llguidance", "lark", "ebnf"]
Finish = Literal["stop", "eos", "length"]
Temperature = Annotated[float, Within(least=0, most=5)]


@checked
@dataclass(frozen=True, slots=True)
class Completion:
    """How one text is to be continued.

    ``max_tokens`` is always sent. ``grammar`` is source text in the dialect that the model's card
    names. ``cancellation`` ends the completion from another thread: the model then frees its
    server at once and the iterator ends or raises.
    """

    max_tokens: int = 1024
    temperature: Temperature = 0.0
    top_p: float | None = None
    seed: int | None = None
    repeat_penalty: float = 1.0
    grammar: str | None = None
    cancellation: Cancellation | None = None


class Piece(str):
    """A piece of text together with what the server said along with it.

    A model may yield plain strings; it yields pieces where it knows more. ``channel`` is
    "thinking" for reasoning that the server sends apart from the text. ``usage`` is what has been
    counted so far, ``finish`` why the text ended: "stop" at a stop text, "eos" by the model's own
    end, "length" cut by the token limit or the window. The text may be empty.
    """

    channel: Literal["text", "thinking"]
    usage: Usage | None
    finish: Finish | None

    def __new__(
        cls,
        text: str = "",
        *,
        channel: Literal["text", "thinking"] = "text",
        usage: Usage | None = None,
        finish: Finish | None = None,
    ) -> Piece:
        if not isinstance(text, str):
            raise SetupError(f"text={shown(text)} must be a text")
        piece = super().__new__(cls, text)
        piece.channel = channel
        piece.usage = usage
        piece.finish = finish
        return piece


class CompletionModel(Protocol):
    """Whatever can continue a text; no class needs to inherit from it."""

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        """Yield the continuation piece by piece, ending before any of the stop texts.

        Nothing is asked of the server before the first piece is. Closing the iterator ends the
        work on the server. A fault is raised as a `CompletionError`.
        """
        ...


class ModelCard(Value):
    """What is known of a model beside that it continues texts.

    ``frame`` names the chat format that its prompts are wrapped in, ``window`` is its context in
    tokens, ``grammar`` the dialect in which it takes constraints. ``thinks`` says that it writes
    reasoning between tags.
    """

    name: str = ""
    frame: str = "plain"
    window: int | None = None
    grammar: GrammarDialect | None = None
    thinks: bool = False


@runtime_checkable
class HasCard(Protocol):
    """A model that can say what it is."""

    def card(self) -> ModelCard:
        """Ask the server, once; raises `CompletionError` when it cannot be asked."""
        ...


@runtime_checkable
class CountsTokens(Protocol):
    """A model that can say how many tokens a text is."""

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text as part of a prompt."""
        ...


def card_of(model: CompletionModel) -> ModelCard:
    """Return the model's own card, or the empty one of a model that has none."""
    if not isinstance(model, HasCard):
        return ModelCard(name=type(model).__name__)
    with _faults_of(model):
        return model.card()


def completed(
    model: CompletionModel, prompt: str, *, stop: Sequence[str], options: Completion
) -> Generator[str, None, None]:
    """Yield a model's pieces, and hold it to the protocol, whoever wrote it.

    Whatever it raises is one of our errors, and a text surely longer than its limit is ended.
    """
    came: list[str] = []
    with _faults_of(model, came):
        pieces = _as_pieces(model.complete(prompt, stop=stop, options=options), model)
        try:
            for piece in within(pieces, options.max_tokens, _named(model)):
                if not isinstance(piece, Piece) or piece.channel == "text":
                    came.append(piece)
                yield piece
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()


def _as_pieces(given: Any, model: CompletionModel) -> Iterable[Any]:
    """Return what a model gave if it can be texts one after the other, else raise SetupError."""
    if isinstance(given, Iterable) and not isinstance(given, bytes | bytearray | Mapping):
        return given
    raise SetupError(
        f"{_named(model)} gave {shown(given)}; it must give texts, as a generator or a list"
    )


@contextmanager
def _faults_of(model: CompletionModel, came: Sequence[str] = ()) -> Iterator[None]:
    """Make what a model raises ours: so the steps are kept, and another model may take over."""
    try:
        yield
    except ReactextError:
        raise
    except Exception as error:
        kind = ServerUnreachable if isinstance(error, OSError) else CompletionError
        told = f"{_named(model)} raised {type(error).__name__}: {error} ({_place(error)})"
        raise kind(told, text="".join(came)) from error


def _place(error: BaseException) -> str:
    """Where an error was raised, for who wrote what raised it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{place.filename}, line {place.lineno}"


def _named(model: CompletionModel) -> str:
    function = getattr(model, "function", None)
    name = getattr(function, "__qualname__", None)
    return f"the model function {name}" if name else f"the model {type(model).__name__}"


_LONGEST_TOKEN = 64
"""Characters; a few are longer, but no text is made of those."""
_SLACK = 1024


def within(pieces: Iterable[Any], max_tokens: int, source: str = "the model") -> Iterator[str]:
    """Pass pieces on until they are surely more than so many tokens; then the last tells so.

    A server may ignore the limit that it was sent, and a function knows none. What comes from
    the ``source`` and is no text raises `SetupError`.
    """
    left = max_tokens * _LONGEST_TOKEN + _SLACK
    usage = None
    for piece in pieces:
        if not isinstance(piece, str):
            raise SetupError(f"{source} gave {shown(piece)} as a piece of text; it must give str")
        # a piece without text is a token at most: there may be no end of them
        left -= len(piece) or _LONGEST_TOKEN
        if isinstance(piece, Piece):
            usage = piece.usage or usage
            counted = piece.usage.completion_tokens if piece.usage else None
            if counted and piece.finish is None and counted > 2 * max_tokens + _LONGEST_TOKEN:
                left = 0
        yield piece
        if left <= 0 and not (isinstance(piece, Piece) and piece.finish):
            yield Piece(usage=usage, finish="length")
            return


Callback = Callable[[str], "str | Iterable[str]"]


class CallableModel:
    """A plain function ``str -> str`` or ``str -> Iterator[str]`` as a model.

    Its text is cut before the first stop text here, since the function knows none.
    """

    def __init__(self, function: Callback) -> None:
        self.function = function

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        """Yield what the function returns, up to a stop text."""
        reply = self.function(prompt)
        pieces = [reply] if isinstance(reply, str) else _as_pieces(reply, self)
        yield from until_stop(within(pieces, options.max_tokens, _named(self)), stop)


Reply = str | BaseException | Iterable[str | BaseException]


@checked
class ScriptedModel:
    """A test double that gives the replies it was made with, one a call.

    Each reply is a text, a list of pieces, or an exception to raise; a list may hold an exception
    among its pieces. ``prompts`` records what it saw and ``options`` how it was asked. It may be
    shared by threads when all replies are alike.
    """

    def __init__(self, replies: Iterable[Any], *, card: ModelCard | None = None) -> None:
        self._replies = list(replies)
        for number, reply in enumerate(self._replies):
            if problem := fault(f"replies[{number}]", reply, Reply):
                raise SetupError(problem)
        self._card = card or ModelCard(name="scripted")
        self.prompts: list[str] = []
        self.options: list[Completion] = []

    def card(self) -> ModelCard:
        """Return the card it was made with."""
        return self._card

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        """Yield the next reply, up to a stop text."""
        number = len(self.prompts)
        self.prompts.append(prompt)
        self.options.append(options)
        if number >= len(self._replies):
            raise SetupError(
                f"ScriptedModel has {len(self._replies)} replies and was asked for number "
                f"{number + 1}; give it one more, or fewer steps to the run"
            )
        reply = self._replies[number]
        yield from until_stop([reply] if isinstance(reply, str | BaseException) else reply, stop)


def until_stop(pieces: Iterable[Any], stop: Sequence[str]) -> Iterator[str]:
    """Pass pieces on until a stop text appears, also when it is cut into several pieces.

    What may be the beginning of a stop text is held back until it is decided. An exception among
    the pieces is raised in its place. The last piece of a text cut here tells the last usage that
    was told before.
    """
    stops = [text for text in stop if text]
    held = ""
    usage = None
    for piece in pieces:
        if isinstance(piece, BaseException):
            if held:
                yield held
            raise piece
        if isinstance(piece, Piece):
            usage = piece.usage or usage
            if piece.channel != "text" or not piece:
                if held and piece.finish is not None:
                    yield held
                    held = ""
                yield piece
                continue
        text = held + piece
        cut = _first(text, stops)
        if cut >= 0:
            if cut:
                yield text[:cut]
            yield Piece(usage=usage, finish="stop")
            return
        ended = isinstance(piece, Piece) and piece.finish is not None
        keep = 0 if ended else max((_overlap(text, each) for each in stops), default=0)
        passed, held = text[: len(text) - keep], text[len(text) - keep :]
        if passed:
            yield piece if passed == piece else _like(piece, passed)
    if held:
        yield held


def _like(piece: str, text: str) -> str:
    if isinstance(piece, Piece):
        return Piece(text, usage=piece.usage, finish=piece.finish)
    return text


def _first(text: str, stops: Sequence[str]) -> int:
    """Where the first of the stop texts begins; -1 if there is none."""
    first = -1
    for stop in stops:
        at = text.find(stop)
        if at >= 0 and (first < 0 or at < first):
            first = at
    return first


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of the text that a stop text begins with."""
    at = text.find(stop[0], max(0, len(text) - len(stop) + 1))
    while at >= 0:
        if stop.startswith(text[at:]):
            return len(text) - at
        at = text.find(stop[0], at + 1)
    return 0


ByName = Callable[[str], CompletionModel]


def as_model(model: Any, *, by_name: ByName | None = None) -> CompletionModel:
    """Return what can complete: the model itself, a function wrapped, or the one of this name.

    Raises SetupError for anything else.
    """
    if isinstance(model, str) and model.strip() and by_name is not None:
        return by_name(model)
    if isinstance(model, type):
        raise SetupError(f"{model.__name__} is a class; give a model made of it")
    if callable(getattr(model, "complete", None)):
        return model  # type: ignore[no-any-return]
    if callable(model):
        return CallableModel(model)
    raise SetupError(
        f"{shown(model)} is not a model; give an object with a complete() method, or a function "
        'from text to text; reactext.model("ollama:qwen2.5:7b") returns one by its name'
    )


def as_models(model: Any, *, by_name: ByName) -> tuple[CompletionModel, ...]:
    """Return the models to be used in turn: one, or a list of them; else `SetupError`."""
    given = model if isinstance(model, list | tuple) else [model]
    if not given:
        raise SetupError("model=[] is no model; give at least one")
    return tuple(as_model(each, by_name=by_name) for each in given)
