"""The options of an engine, validated at once, and all that its runs share and none changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from reactext.cancellation import Interrupts
from reactext.completion import CompletionModel
from reactext.constrain import turn_grammar
from reactext.errors import SetupError
from reactext.hooks import Hook
from reactext.prompts import Prompts
from reactext.protocol import Protocol
from reactext.read_more import with_read_more
from reactext.runner import ActionRunner
from reactext.tools import Toolbox

Constrain = Literal["auto"] | bool


@dataclass(frozen=True, slots=True)
class Options:
    """How an engine works; every count is a number of what its name says, seconds are seconds."""

    language: str = "auto"
    frame: str | None = None
    constrain: Constrain = "auto"
    parallel: bool = True
    eager: bool = False
    max_parallel: int = 8
    max_corrections: int = 2
    max_retries: int = 1
    max_calls: int = 4
    step_tokens: int = 1024
    max_observation_chars: int | None = 4000
    temperature: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        _at_least(1, max_calls=self.max_calls)
        _at_least(16, step_tokens=self.step_tokens)
        if self.max_observation_chars is not None:
            _at_least(100, max_observation_chars=self.max_observation_chars)
        _at_least(0, max_corrections=self.max_corrections, max_retries=self.max_retries)
        if not 0 <= self.temperature <= 5:
            raise SetupError(f"temperature={self.temperature!r} must lie between 0 and 5")
        if self.constrain not in ("auto", True, False):
            raise SetupError(f'constrain={self.constrain!r} must be "auto", True or False')
        if not self.language:
            raise SetupError('language="" is no language; use "auto", "en" or "zh"')


def _at_least(least: int, **given: int) -> None:
    for name, value in given.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise SetupError(f"{name}={value!r} must be a whole number of at least {least}")


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
        """Return the grammar that continues the cue, made once for each dialect and cue.

        ``toolbox`` is that of the engine, or the one for reading on.
        """
        key = (len(toolbox), dialect, cue)
        if key not in self._grammars:
            self._grammars[key] = turn_grammar(
                toolbox,
                dialect=dialect,  # type: ignore[arg-type]
                protocol=self.protocol,
                cue=cue,
                max_calls=self.options.max_calls,
                parallel=self.options.parallel,
            )
        return self._grammars[key]
