"""Measures what a constraint costs: python benchmarks/constrain.py [--model NAME] [--quick]

First, what it takes to write a grammar and to check it, by toolbox and dialect. Then, on a real
model, the processor's time for a token without a constraint and with one. Each toolbox is met with
a prompt that asks for the format, and with one that knows nothing of it, in which the constraint
refuses almost every token and has to look at the whole vocabulary.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, TypeAdapter

from reactext.backends.embedded import EmbeddedModel
from reactext.completion import Completion, GrammarDialect, Piece
from reactext.constrain import check, turn_grammar
from reactext.signatures.schema import json_schema
from reactext.tools import Parameter, Tool, Toolbox

DIALECTS: list[GrammarDialect] = ["gbnf", "llguidance"]

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}

ASKED = """Answer the question. Tools:
- get_weather(city: str, days: int = 1): weather forecast

Write:
Thought: what you need to know next
Action: tool(name="value")
When you know the answer:
Thought: I know the answer.
Final Answer: the answer

Question: What is the weather in Oslo and in Lima?
Thought:"""
UNASKED = "It was a dark and stormy night; the rain fell in torrents. At the edge of the wood"


class Item(BaseModel):
    sku: str
    count: int = 1


class Parcel(BaseModel):
    items: list[Item]
    weights: dict[str, float] = {}
    note: str | None = None


def made(name: str, *parameters: Parameter) -> Tool:
    return Tool(name, "", parameters, lambda: None)


WEATHER = made(
    "get_weather", Parameter("city", TEXT), Parameter("days", {"type": "integer"}, required=False)
)
PARCELS = json_schema(TypeAdapter(list[Parcel]))
SEND = made("send", Parameter("parcels", PARCELS), Parameter("extra", {}, required=False))


def many(count: int) -> Toolbox:
    kinds = [TEXT, NUMBER, {"type": "array", "items": TEXT}]
    parameters = [Parameter(f"p{n}", kinds[n], required=n < 2) for n in range(3)]
    return Toolbox(made(f"tool_{n}", *parameters) for n in range(count))


def optional(count: int) -> Toolbox:
    kinds = [TEXT, NUMBER]
    return Toolbox(
        [made("f", *(Parameter(f"option_{n}", kinds[n % 2], required=False) for n in range(count)))]
    )


def listed(count: int) -> Toolbox:
    names = [f"{chr(97 + n * 7 % 26)}{n * 7919 % 1000}-city" for n in range(count)]
    return Toolbox([made("f", Parameter("city", {"enum": names}))])


TOOLBOXES: dict[str, Toolbox] = {
    "1 tool": Toolbox([WEATHER]),
    "5 tools": many(5),
    "20 tools": many(20),
    "50 tools": many(50),
    "30 optional parameters": optional(30),
    "500 strings to choose from": listed(500),
    "nested models": Toolbox([SEND]),
}


def milliseconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best * 1e3


def writing() -> None:
    print(f"{'':28} {'dialect':>10} {'bytes':>7} {'write ms':>9} {'check ms':>9}")
    for name, toolbox in TOOLBOXES.items():
        for dialect in DIALECTS:
            source = turn_grammar(toolbox, dialect=dialect)
            written = milliseconds(lambda: turn_grammar(toolbox, dialect=dialect))  # noqa: B023
            checked = milliseconds(lambda: check(source, dialect))  # noqa: B023
            print(f"{name:28} {dialect:>10} {len(source):7} {written:9.2f} {checked:9.2f}")


def cost(model: EmbeddedModel, prompt: str, grammar: str | None, tokens: int) -> float:
    """Return the processor's milliseconds for a token; it is not fooled by other programs."""
    written, spent = 0, 0.0
    for seed in range(3):
        options = Completion(max_tokens=tokens, temperature=1.0, seed=seed, grammar=grammar)
        for piece in model.complete(prompt, stop=(), options=Completion(max_tokens=1)):
            assert piece is not None  # the prompt is evaluated now
        began = time.process_time()
        pieces = list(model.complete(prompt, stop=("\nObservation",), options=options))
        spent += time.process_time() - began
        usage = [each.usage for each in pieces if isinstance(each, Piece) and each.usage]
        written += (usage[-1].completion_tokens if usage else None) or len(pieces)
    return spent / written * 1e3


def masking(name: str, tokens: int) -> None:
    with EmbeddedModel(name, window=2048, threads=1) as model:
        print(f"\n{name}: milliseconds of one core for a token")
        free = {prompt: cost(model, prompt, None, tokens) for prompt in (ASKED, UNASKED)}
        print(f"{'':28} {'':>10} {'asked for':>10} {'unasked':>10}")
        print(f"{'no constraint':28} {'':>10} {free[ASKED]:10.1f} {free[UNASKED]:10.1f}")
        for dialect in DIALECTS:
            first(model, dialect)
            for title, toolbox in TOOLBOXES.items():
                turn = cost(model, ASKED, turn_grammar(toolbox, dialect=dialect), tokens)
                grammar = turn_grammar(toolbox, dialect=dialect, cue="Action:")
                call = cost(model, UNASKED, grammar, tokens)
                print(f"{title:28} {dialect:>10} {turn:10.1f} {call:10.1f}")


def first(model: EmbeddedModel, dialect: GrammarDialect) -> None:
    """Tell what the first use of a dialect takes beside the tokens."""
    grammar = turn_grammar(Toolbox([WEATHER]), dialect=dialect)
    options = Completion(max_tokens=1, grammar=grammar)
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        list(model.complete(ASKED, stop=(), options=options))
        seconds.append(time.perf_counter() - began)
    print(f"{'first use':28} {dialect:>10} {(seconds[0] - seconds[1]) * 1e3:10.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", default="smollm2-135m", help="a name of the catalogue or a path")
    parser.add_argument("--tokens", type=int, default=60, help="tokens for each measurement")
    parser.add_argument("--quick", action="store_true", help="without the model")
    options = parser.parse_args()
    writing()
    if not options.quick:
        masking(options.model, options.tokens)


if __name__ == "__main__":
    main()
