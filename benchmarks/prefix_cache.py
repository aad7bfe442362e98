"""What a step evaluates of its prompt: python benchmarks/prefix_cache.py [--model NAME] [--json]

The engine runs tasks on the embedded model, whose texts are prescribed by a grammar, so that every
kind of turn occurs: single calls, groups of calls, a turn that has to be corrected, an answer that
is forced. For each completion after the first of a run:

- ``prompt``   tokens of the prompt, of which ``cached`` were not evaluated again and ``new`` were
- ``added``    tokens of what the prompt holds beyond the last prompt and the text that followed it
- ``seam``     new - added: what was evaluated although it was there before
- ``ratio``    cached / prompt; ``best`` is what it would be without a seam, 1 - added / prompt
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from reactext import Engine, tool
from reactext.backends import EmbeddedModel
from reactext.completion import Completion, ModelCard, Piece
from reactext.models import Usage

PLACES = ("Oslo", "Lima", "Kyoto", "Quito", "Bern", "Riga", "Doha", "Accra")


@tool
def weather(place: str) -> str:
    """Tell the weather at a place."""
    return f"In {place} it is {len(place) * 3} degrees, wind from the west, no rain expected."


@tool
def report(place: str) -> str:
    """Give a long report about a place."""
    return f"The city of {place} lies by the water and has a harbour. " * 12


def script(number: int, place: str) -> list[str]:
    """The texts of one task, whose kind of turn is told by its number."""
    call = f' I need the weather.\nAction: weather(place="{place}")'
    group = (
        f' Both at once.\nAction: weather(place="{place}") || weather(place="Rome")'
        f' || report(place="{place}")'
    )
    again = f' And the report.\nAction: report(place="{place}")'
    unreadable = ' I need it.\nAction: weather place is "here"'
    answer = " I know it now.\nFinal Answer: it is mild"
    kinds = [
        [call, again, call.replace("need", "check"), answer],
        [group, call, answer],
        [call, unreadable, again, answer],
        [call, again, group, " It is enough.\nFinal Answer: mild"],
    ]
    return kinds[number % len(kinds)]


@dataclass(frozen=True, slots=True)
class Line:
    """What one completion took."""

    task: int
    completion: int
    prompt: int
    cached: int
    new: int
    added: int

    @property
    def seam(self) -> int:
        return self.new - self.added

    @property
    def ratio(self) -> float:
        return self.cached / self.prompt

    @property
    def best(self) -> float:
        return 1 - self.added / self.prompt


class Prescribed:
    """The embedded model, made to write these texts; remembers what each prompt took."""

    def __init__(self, model: EmbeddedModel, task: int, texts: Sequence[str]) -> None:
        self._model = model
        self._task = task
        self._texts = list(texts)
        self._last = ""
        self.lines: list[Line] = []

    def card(self) -> ModelCard:
        """Return the model's own card."""
        return self._model.card()

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        """Yield the next text, as the model writes it under a grammar that allows nothing else."""
        number = min(len(self.lines), len(self._texts) - 1)
        text = self._texts[number]
        if prompt.endswith("Final Answer:"):
            text = " mild"
        grammar = f"root ::= {json.dumps(text, ensure_ascii=False)}"
        usage = Usage()
        written = ""
        try:
            asked = replace(options, grammar=grammar, max_tokens=400)
            for piece in self._model.complete(prompt, stop=stop, options=asked):
                written += piece
                if isinstance(piece, Piece):
                    usage = piece.usage or usage
                yield piece
        finally:
            self._note(prompt, usage)
            self._last = prompt + written

    def _note(self, prompt: str, usage: Usage) -> None:
        whole, cached = usage.prompt_tokens or 1, usage.cached_tokens or 0
        known = common(prompt, self._last)
        added = self._model.count_tokens(prompt[known:]) if prompt[known:] else 0
        line = Line(self._task, len(self.lines) + 1, whole, cached, whole - cached, added)
        self.lines.append(line)


def common(left: str, right: str) -> int:
    """How many characters two texts share at their beginning."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(left), len(right)))


def measured(name: str) -> list[Line]:
    """Run all tasks one after the other, and return what their completions took."""
    lines: list[Line] = []
    with EmbeddedModel(name, window=4096) as model:
        for number, place in enumerate(PLACES):
            prescribed = Prescribed(model, number + 1, script(number, place))
            forced = number % 4 == 3
            engine = Engine(
                model=prescribed,
                tools=[weather, report],
                max_steps=3 if forced else 8,
                max_corrections=2,
            )
            engine.run(f"What is the weather in {place}, and what should I know about it?")
            lines += prescribed.lines
    return lines


def main() -> None:
    """Print a line for each completion, and what they come to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    lines = measured(options.model)
    if options.json:
        rows: list[dict[str, Any]] = [
            {**asdict(line), "seam": line.seam, "ratio": line.ratio, "best": line.best}
            for line in lines
        ]
        print(json.dumps(rows))
        return
    print("task  completion  prompt  cached   new  added  seam  ratio   best")
    for line in lines:
        print(
            f"{line.task:4}  {line.completion:10}  {line.prompt:6}  {line.cached:6}  "
            f"{line.new:4}  {line.added:5}  {line.seam:4}  {line.ratio:5.3f}  {line.best:5.3f}"
        )
    later = [line for line in lines if line.completion > 1]
    print(f"\nseam: median {statistics.median(line.seam for line in later)}, ", end="")
    print(f"at most {max(line.seam for line in later)} tokens")
    print(f"ratio from the second step on: median {statistics.median(x.ratio for x in later):.3f}")
    lost = max(line.best - line.ratio for line in later)
    print(f"below the best possible by at most {lost:.3f}")


if __name__ == "__main__":
    main()
