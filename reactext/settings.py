"""The options of an engine, validated at once, and all that its runs share and none changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from reactext.cancellation import Interrupts
from reactext.completion import CompletionModel, Temperature
from reactext.constrain import check, turn_grammar
from reactext.given import Characters, Count, Natural, Text, Within, checked
from reactext.hooks import Hook
from reactext.prompts import Prompts
from reactext.protocol import Protocol
from reactext.read_more import with_read_more
from reactext.runner import ActionRunner
from reactext.tools import Toolbox

Constrain = Literal["auto"] | bool
StepTokens = Annotated[int, Within(least=16)]


@checked
@dataclass(frozen=True, slots=True)
class Options:
    """How an engine works; every count is a number of what its name says, seconds are seconds."""

    language: Text = "auto"
    frame: Text | None = None
    constrain: Constrain = "auto"
    parallel: bool = True
    eager: bool = False
    max_parallel: Count = 8
    max_corrections: Natural = 2
    max_retries: Natural = 1
    max_calls: Count = 4
    step_tokens: StepTokens = 1024
    max_observation_chars: Characters | None = 4000
    temperature: Temperature = 0.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """What all runs of an engine share."""

    models: Sequence[CompletionModel]
    toolbox: Toolbox
    runner: ActionRunner
    prompts: Prompts
    protocol: Protocol
    hooks: Sequence[Hook]
    options: Options
    interrupts: Interrupts = field(default_factory=Interrupts)
    toolbox_reading_on: Toolbox = field(init=False)
    _grammars: dict[tuple[int, str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "toolbox_reading_on", with_read_more(self.toolbox))

    def grammar(self, toolbox: Toolbox, dialect: str, cue: str) -> str:
        """Return the grammar that continues the cue, made and checked once for each
        dialect and cue.

        ``toolbox`` is that of the engine, or the one for reading on.
        """
        key = (len(toolbox), dialect, cue)
        if key not in self._grammars:
            grammar = turn_grammar(
                toolbox,
                dialect=dialect,  # type: ignore[arg-type]
                protocol=self.protocol,
                cue=cue,
                max_calls=self.options.max_calls,
                parallel=self.options.parallel,
            )
            # a server that does not take it may leave the model unconstrained without a word
            check(grammar, dialect)  # type: ignore[arg-type]
            self._grammars[key] = grammar
        return self._grammars[key]
