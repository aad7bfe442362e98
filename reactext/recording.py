"""Records what a model wrote, and gives it again without the model: for tests of prompts.

A recording is a file of JSON objects, one a line. Whoever replays it must ask what was asked when
it was made; anything else is an error that shows the difference. What a model is set up with
(addresses, keys, headers) is never written.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reactext.completion import (
    Completion,
    CompletionModel,
    CountsTokens,
    ModelCard,
    as_model,
    card_of,
    completed,
)
from reactext.differing import difference, nearest
from reactext.errors import CompletionError, ReplayMismatch, SetupError
from reactext.forking import ForkLock
from reactext.given import checked
from reactext.jsonl import append, line_of, read_objects
from reactext.models import Value
from reactext.recorded import (
    FORMAT,
    Counted,
    Fault,
    Opening,
    Recorded,
    RecordedPiece,
    digest,
    error_again,
    fault_of,
    options_of,
    piece_again,
    recorded_piece,
)


@checked
class RecordingModel:
    """Answers as the model it is given, and writes down what that answered.

    A file that is there already is replaced as soon as there is something to write; with
    ``append=True`` it is continued. It may hold several runs, one after the other or side by
    side. The faults of a server are recorded like its texts, and of a completion that is not
    read to its end what had come.
    """

    count_tokens: Callable[[str], int]
    """Only there if the model has it."""

    def __init__(self, model: Any, path: str | os.PathLike[str], *, append: bool = False) -> None:
        self._model: CompletionModel = as_model(model)
        self._path = Path(path)
        self._append = append
        self._begun = False
        self._lock = ForkLock()
        if isinstance(self._model, CountsTokens):
            self.count_tokens = self._count_tokens

    def card(self) -> ModelCard:
        """Return the model's own card."""
        return card_of(self._model)

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        """Yield what the model does, and write it down at the end, however it ends."""
        pieces: list[str | RecordedPiece] = []
        fault: Fault | None = None
        closed = True
        completion = completed(self._model, prompt, stop=stop, options=options)
        try:
            for piece in completion:
                pieces.append(recorded_piece(piece))
                yield piece
            closed = False
        except (CompletionError, SetupError) as error:
            fault, closed = fault_of(error), False
            raise
        finally:
            completion.close()
            self._write(
                Recorded(
                    prompt=prompt,
                    stop=tuple(stop),
                    options=options_of(options),
                    pieces=tuple(pieces),
                    fault=fault,
                    closed=closed,
                )
            )

    def _count_tokens(self, text: str) -> int:
        assert isinstance(self._model, CountsTokens)
        tokens = self._model.count_tokens(text)
        self._write(Counted(counted=digest(text), tokens=tokens))
        return tokens

    def _write(self, value: Value) -> None:
        with self._lock:
            try:
                if not self._begun:
                    self._begin()
                append(self._path, line_of(value.model_dump(exclude_defaults=True)))
            except OSError as error:
                raise SetupError(
                    f"the recording {str(self._path)!r} cannot be written: {error}"
                ) from error

    def _begin(self) -> None:
        opening = Opening(card=self.card()).model_dump()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not self._append:
            self._path.write_bytes(b"")
        append(self._path, line_of(opening))
        self._begun = True


@checked
class ReplayModel:
    """Answers what was recorded, piece by piece; needs no server and no model.

    The same prompt gets the same pieces; one that was recorded several times gets them in the
    order of the recording. Any other prompt, other stop texts, or a prompt asked more often than
    it was recorded, raises `ReplayMismatch`. A line that was cut is passed over, and the error
    says so where it is missed. Make a new one for each replay. Shared by threads.
    """

    count_tokens: Callable[[str], int]
    """Only there if tokens were counted when it was recorded."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = str(path)
        self._card = ModelCard(name="replay")
        self._counts: dict[str, int] = {}
        self._recorded: dict[str, deque[Recorded]] = {}
        self._asked = 0
        self._unread = 0
        self._lock = ForkLock()
        self._load()
        self._all = sum(map(len, self._recorded.values()))
        if self._counts:
            self.count_tokens = self._count_tokens

    def card(self) -> ModelCard:
        """Return the card of the model that was recorded."""
        return self._card

    def complete(
        self,
        prompt: str,
        *,
        stop: Sequence[str],
        options: Completion,  # noqa: ARG002 (they are those of the recording)
    ) -> Iterator[str]:
        """Yield the pieces that were recorded for this prompt, and raise the fault if one was."""
        recorded = self._take(prompt)
        if recorded.stop != tuple(stop):
            raise ReplayMismatch(
                f"the prompt was recorded with the stop texts {list(recorded.stop)!r} and is "
                f"asked with {list(stop)!r}; {self._remedy}"
            )
        yield from map(piece_again, recorded.pieces)
        if recorded.fault is not None:
            raise error_again(recorded.fault)
        if recorded.closed:
            raise ReplayMismatch(
                f"more is read of a completion than was when {self._path!r} was recorded: the "
                f"reader or its options have changed, or that run was interrupted; {self._remedy}"
            )

    @property
    def _remedy(self) -> str:
        return f"if that is right, record it anew with RecordingModel(model, {self._path!r})"

    def _take(self, prompt: str) -> Recorded:
        """Return the next recording of a prompt, and use it up."""
        with self._lock:
            self._asked += 1
            left = self._recorded.get(prompt)
            if left:
                return left.popleft()
            if left is not None:
                problem = "this prompt is asked more often than it was recorded"
            elif not any(self._recorded.values()):
                problem = f"all {self._all} recorded completions are used up"
            else:
                near = nearest(prompt, [text for text, rest in self._recorded.items() if rest])
                problem = f"it differs from what was recorded:\n{difference(near, prompt)}"
            raise ReplayMismatch(
                f"prompt {self._asked} of the replay of {self._path!r}: {problem}\n"
                f"{self._losses()}{self._remedy}"
            )

    def _losses(self) -> str:
        if not self._unread:
            return ""
        return (
            f"{self._unread} of its lines {'is' if self._unread == 1 else 'are'} cut or no JSON, "
            "and this prompt may be there: the process that wrote it may have been killed\n"
        )

    def _count_tokens(self, text: str) -> int:
        # a text that was not counted is no prompt that was recorded: `complete` will say so
        return self._counts.get(digest(text), len(text) // 4)

    def _load(self) -> None:
        try:
            for number, line in enumerate(read_objects(Path(self._path)), 1):
                self._load_line(number, line)
        except OSError as error:
            raise SetupError(
                f"there is no recording to replay at {self._path!r}: {error}; make it with "
                f"RecordingModel(model, {self._path!r})"
            ) from error

    def _load_line(self, number: int, line: dict[str, Any] | None) -> None:
        if line is None and number > 1:  # a writer that was killed has cut one
            self._unread += 1
            return
        try:
            if line is None:
                raise ValueError("it is no JSON object")
            if "recording" in line:
                opening = Opening(**line)
                if opening.recording > FORMAT:
                    raise ValueError(f"it has format {opening.recording}, of a newer version")
                self._card = opening.card
            elif "counted" in line:
                counted = Counted(**line)
                self._counts[counted.counted] = counted.tokens
            else:
                recorded = Recorded(**line)
                self._recorded.setdefault(recorded.prompt, deque()).append(recorded)
        except (ValueError, TypeError, ValidationError) as error:
            raise SetupError(
                f"line {number} of the recording {self._path!r} cannot be read: {error}; "
                f"{self._remedy}"
            ) from error
