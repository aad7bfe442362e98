"""One turn of the model: prompt, completion and reading, again where no step could be read."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from reactext.budget import check_whole, failed_within, prompt_within, room_for_reply, shrink
from reactext.completion import Completion, Piece, completed
from reactext.errors import CompletionError, ContextOverflow, TurnError
from reactext.hooks import (
    AnswerNow,
    Event,
    handed,
    piece_watchers,
    prompt_through,
    show_piece,
    turn_through,
)
from reactext.models import Action, Correction, TextDelta, Turn, Usage
from reactext.quoting import whole_characters
from reactext.reader import TurnReader
from reactext.state import Cancelled, RunState
from reactext.underway import Underway
from reactext.worked_example import is_copied

_RETRY_TEMPERATURE = 0.7
"""Used once the model has written the same unreadable bytes again."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a turn is asked for: what follows the transcript, and where the reading begins.

    ``prefill`` is written for the model, as the beginning of its turn; ``detour`` is a failed
    text and its correction, which the prompt holds and the transcript never does.
    """

    prefill: str = ""
    detour: str = ""
    temperature: float = 0.0
    cue: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of one completion: the turn, or why there is none."""

    text: str
    turn: Turn | None = None
    error: TurnError | None = None
    usage: Usage = field(default_factory=Usage)


def take_turn(state: RunState) -> Generator[Event, None, Turn]:
    """Let the model take its turn, and correct it while nothing can be read.

    Raises `AnswerNow` after ``max_corrections`` corrections in a row, and where a window is too
    small for another step.
    """
    options = state.setup.options
    cue = state.setup.protocol.label("thought")
    attempt = Attempt(cue=cue, temperature=options.temperature)
    unreadable: list[str] = []
    while True:
        try:
            reading = yield from _completed(state, attempt)
        except ContextOverflow as error:
            if type(error) is ContextOverflow and (state.context.steps or attempt.detour):
                raise AnswerNow("window") from error
            raise
        if reading.turn is not None:
            turn = turn_through(state.setup.hooks, state.moment(), reading.turn)
            state.underway.turn = turn if turn is reading.turn else _in_whole_characters(turn)
            return state.underway.turn
        correction = _correction(reading)
        state.corrections.append(correction)
        yield correction
        if len(unreadable) >= options.max_corrections:
            raise AnswerNow("unreadable")
        again = reading.text in unreadable
        unreadable.append(reading.text)
        warmer = max(_RETRY_TEMPERATURE, options.temperature)
        attempt = replace(
            attempt,
            detour=_detour(state, correction),
            temperature=warmer if again else attempt.temperature,
        )


def _in_whole_characters(turn: Turn) -> Turn:
    texts = {"thought": turn.thought, "text": turn.text, "thinking": turn.thinking}
    if turn.answer is not None:
        texts["answer"] = turn.answer
    return turn.model_copy(update={name: whole_characters(each) for name, each in texts.items()})


def _correction(reading: Reading) -> Correction:
    assert reading.error is not None
    error = reading.error
    return Correction(
        text=reading.text, problem=error.problem, remedy=error.remedy, usage=reading.usage
    )


def force_answer(state: RunState) -> Generator[Event, None, Reading]:
    """Ask for the answer from what is known: no tools, and the answer's label already written."""
    protocol = state.setup.protocol
    thought = state.setup.prompts.force(state.language)
    prefill = f"{thought}\n{protocol.label('answer')}"
    attempt = Attempt(
        prefill=prefill,
        cue=protocol.label("thought") + prefill,
        temperature=state.setup.options.temperature,
    )
    reading = yield from _completed(state, attempt)
    if reading.turn is None:
        return reading
    turn = reading.turn
    whole = turn.model_copy(update={"thought": thought.strip(), "text": prefill + turn.text})
    return replace(reading, turn=whole)


def _detour(state: RunState, correction: Correction) -> str:
    protocol = state.setup.protocol
    told = state.setup.prompts.correction(correction.problem, correction.remedy, state.language)
    failed = failed_within(state, correction.text)
    gap = "" if failed.endswith("\n") else "\n"
    observation, cue = protocol.label("observation"), protocol.label("thought")
    return f"{failed}{gap}{observation} {told}\n{cue}"


def _completed(state: RunState, attempt: Attempt) -> Generator[Event, None, Reading]:
    """Complete and read once; try again, or go on to the next model, after a server's fault.

    Which of the two is decided by the class of the fault alone.
    """
    retries = 0
    while True:
        try:
            if not state.head:
                state.meet_model()
            return (yield from _read(state, attempt))
        except CompletionError as error:
            state.raise_if_cancelled()
            tail = attempt.detour + attempt.prefill
            if type(error) is ContextOverflow and shrink(state, error, tail):
                continue
            more_models = state.model_number + 1 < len(state.setup.models)
            retry = error.retryable and retries < state.setup.options.max_retries
            if not retry and not more_models:
                raise
            then = "it is asked again" if retry else "the next model takes over"
            fault = Correction(text=error.text, problem=str(error), remedy=then)
            state.corrections.append(fault)
            yield fault
            if retry:
                retries += 1
                if state.cancellation.wait(0.5 * 2**retries):
                    raise Cancelled from error
            else:
                state.model_number += 1
                state.head = ""
                retries = 0


def _read(state: RunState, attempt: Attempt) -> Generator[Event, None, Reading]:
    """Send one prompt, and read its completion as it comes, no further than the turn goes.

    When the text breaks off after a call of it was started, its turn ends there: nothing may run
    that stands in no turn.
    """
    prompt, options = _request(state, attempt)
    reader = TurnReader(
        state.toolbox,
        cue=attempt.cue,
        protocol=state.setup.protocol,
        step=len(state.context.steps) + 1,
        thinking_open=state.head.rstrip().endswith("<think>") and not attempt.prefill,
    )
    heard = _Heard()
    state.underway = Underway(reader, heard.texts)
    try:
        pieces = completed(state.model, prompt, stop=_stops(state), options=options)
        yield from _listen(state, reader, heard, pieces)
        check_whole(state, prompt, heard.usage.prompt_tokens)
        turn = reader.close(cut=heard.finish == "length")
        _refuse_copy(state, turn)
    except TurnError as error:
        yield from reader.rest()
        return Reading("".join(heard.texts), None, error, heard.usage)
    except CompletionError as error:
        state.raise_if_cancelled()
        begun = state.underway.written()
        if begun is None:
            raise
        turn = begun.model_copy(
            update={"repairs": (*begun.repairs, f"the text broke off: {error}")}
        )
    yield from _eagerly(state, reader.rest())
    thinking = "".join(heard.thinking)
    if thinking:
        turn = turn.model_copy(update={"thinking": thinking + turn.thinking})
    return Reading("".join(heard.texts), turn, None, heard.usage)


def _refuse_copy(state: RunState, turn: Turn) -> None:
    """Raise TurnError for an answer that was copied from the example of the prompt."""
    context = state.context
    seen = (each for step in context.steps for each in step.observations)
    known = chain([context.task], (each.full or each.text for each in seen))
    if turn.answer is not None and is_copied(turn.answer, known):
        raise TurnError(
            "this is the answer of the example; answer the question itself, or say that you do "
            "not know",
            text=turn.text,
        )


def _listen(
    state: RunState, reader: TurnReader, heard: _Heard, pieces: Generator[str, None, None]
) -> Generator[Event, None, None]:
    """Give the pieces of a text to the reader until its turn is over."""
    watchers = piece_watchers(state.setup.hooks)
    try:
        for piece in pieces:
            state.raise_if_cancelled()
            if watchers:
                show_piece(watchers, state.moment(), piece)
            if heard.is_thinking(piece):
                yield TextDelta(kind="thinking", text=heard.thinking[-1])
                continue
            yield from _eagerly(state, reader.feed(heard.hear(piece)))
            if reader.done:
                break
            state.raise_if_cancelled()
    finally:
        pieces.close()
        state.spent += heard.usage
    state.raise_if_cancelled()


@dataclass(slots=True)
class _Heard:
    """What came from the server: texts by channel, and what it said along with them."""

    texts: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    finish: str | None = None

    def is_thinking(self, piece: str) -> bool:
        if not isinstance(piece, Piece):
            return False
        self.usage = piece.usage or self.usage
        self.finish = piece.finish or self.finish
        if piece.channel == "thinking" and piece:
            self.thinking.append(whole_characters(str(piece)))
            return True
        return False

    def hear(self, piece: str) -> str:
        text = whole_characters(str(piece))
        self.texts.append(text)
        return text


def _request(state: RunState, attempt: Attempt) -> tuple[str, Completion]:
    """Return the prompt and the options of one completion, the prompt within the window."""
    prompt = prompt_within(state, attempt.detour + attempt.prefill)
    prompt = whole_characters(prompt_through(state.setup.hooks, state.moment(), prompt))
    options = state.setup.options
    constrained = options.constrain is not False and state.card.grammar is not None
    return prompt, Completion(
        max_tokens=room_for_reply(state, prompt),
        temperature=attempt.temperature,
        seed=options.seed,
        grammar=(
            state.setup.grammar(state.toolbox, state.card.grammar or "", attempt.cue)
            if constrained
            else None
        ),
        cancellation=state.cancellation,
    )


def _stops(state: RunState) -> tuple[str, ...]:
    protocol = state.setup.protocol
    return (f"\n{protocol.label('observation')}",)


def _eagerly(state: RunState, events: list[TextDelta | Action]) -> Iterator[Event]:
    """Pass events on; start a call whose tool may be started while the model still writes."""
    for event in events:
        if isinstance(event, Action):
            if state.setup.options.eager:
                state.start_early(event)
            event = handed(event)
        yield event
