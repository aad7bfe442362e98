"""Time the reader on hostile texts of n, 2n and 4n characters, whole and in pieces.

usage: python benchmarks/reading.py [SIZE] [--pieces LENGTH] [--only WORD]

A family passes when doubling its text at most doubles its time, a little noise aside.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import statistics
import time
from collections.abc import Callable

from reactext.errors import TurnError
from reactext.reader import TurnReader
from reactext.tools import Toolbox


def get_weather(city: str, days: int = 1) -> str:
    """Weather forecast for a city."""
    return f"{city} {days}"


def search(query: str) -> str:
    """Search the web."""
    return query


TOOLS = Toolbox([get_weather, search])


def repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return what makes a text of a length out of one unit."""
    return lambda size: before + unit * (size // len(unit)) + after


FAMILIES: dict[str, Callable[[int], str]] = {
    "plain prose": repeated("the quick brown fox ", "Thought: "),
    "spaces after a label": repeated(" ", "Action:"),
    "blank lines": repeated("\n", "Action:"),
    "labels alone": repeated("Action:\n"),
    "thoughts": repeated("Thought: x\n"),
    "labels in one line": repeated("Action: "),
    "mid-line actions": repeated("so Action: search ", "Thought: "),
    "mid-line calls": repeated("so Action: search(x) ", "Thought: "),
    "observations": repeated("Observation: x\n"),
    "pairs": repeated('Action: search\nAction Input: {"query": "x"}\n'),
    "inputs": repeated("Action Input: x\n", "Action: search\n"),
    "open brackets": repeated("[", "Action: search("),
    "open braces in an input": repeated('{"a":', "Action: search\nAction Input: "),
    "bracket pairs": repeated("()", "Action: search("),
    "closing brackets": repeated(")", "Action: search("),
    "double quotes": repeated('"', "Action: search("),
    "quotes and blanks": repeated('" ', "Action: search("),
    "quoted commas": repeated('"a",', "Action: search("),
    "apostrophes": repeated("'a ", "Action: search('"),
    "triple quotes": repeated('"""', "Action: search("),
    "curly quotes": repeated("“a”", "Action: search("),
    "backslashes": repeated("\\", 'Action: search("'),
    "escaped quotes": repeated('\\"', 'Action: search("', '")'),
    "one long string": repeated("a", 'Action: search(query="', '")'),
    "many numbers": repeated("1,", "Action: search(["),
    "many pairs": repeated('"a": 1, ', 'Action: search\nAction Input: {"x": [{', "}]}"),
    "keys without quotes": repeated("a: 1, ", "Action: search\nAction Input: {", "}"),
    "key: value lines": repeated("query: a\n", "Action: search\nAction Input: query: x\n"),
    "bare words": repeated("word ", "Action: search(", ")"),
    "separators": repeated("||", "Action: "),
    "calls": repeated('search(query="x") || ', "Action: "),
    "call lines": repeated('search(query="x")\n', "Action:\n"),
    "names": repeated("search\n", "Action:\n"),
    "a long name": repeated("a ", "Action: "),
    "bullets": repeated("- ", "Action: "),
    "numbers": repeated("1. ", ""),
    "fences": repeated("```\n"),
    "backticks": repeated("`"),
    "open fence": repeated("x\n", "Thought: a\n```\n"),
    "fences in an answer": repeated("```\nx\n```\n", "Final Answer: "),
    "answers": repeated("Final Answer: x\n", "Final Answer: y\n```"),
    "questions in an answer": repeated("Question: x\n", "Final Answer: y\n"),
    "actions in an answer": repeated("Action: x\n", "Final Answer: y\n"),
    "answer lines": repeated("one line of it\n", "Final Answer: "),
    "trailing blanks": repeated(" \n", "Final Answer: x"),
    "angles": repeated("<"),
    "open tags": repeated("<a"),
    "think tags": repeated("<think>"),
    "think ends": repeated("</think>"),
    "think pairs": repeated("<think>x</think>"),
    "reasoning": repeated("Action: search(x)\n", "<think>", "</think>"),
    "end tokens": repeated("<|im_end|>"),
    "end tokens in an answer": repeated("<|im_end|> x ", "Final Answer: "),
    "roles": repeated("<|im_start|>user\n"),
    "native calls": repeated('<tool_call>{"name": "search"}</tool_call>'),
    "native marks": repeated("<tool_call>"),
    "tool calls": repeated("[TOOL_CALLS]"),
    "harmony": repeated("<|channel|>analysis<|message|>"),
    "comments": repeated("# ", "Action: search(x) "),
    "open comments": repeated("/* ", "Action: search("),
    "json in prose": repeated("{\n"),
    "json lists in prose": repeated("[{\n", "x\n"),
    "stars": repeated("*"),
    "colons": repeated(":"),
    "chinese": repeated("行动：搜索\n"),
    "emoji": repeated("🔧 "),
    "carriage returns": repeated("\r"),
    "assignments": repeated("x = ", "Action: "),
    "single bars": repeated("| ", "Action: "),
    "bars before brackets": repeated("|| b(", "Action: a("),
    "mixed quotes": repeated("\"'“”`", "Action: search("),
    "nested fences": repeated("````\n```\n", "Action: "),
    "key lines after a name": repeated("city: a\n", "Action: get_weather\n"),
    "lists after a name": repeated("- a: b\n", "Action: "),
    "tables": repeated("| a | b |\n", "Action: "),
    "function tags": repeated("<function=search>"),
    "parameter tags": repeated("<parameter=query>", "<function=search>"),
    "half labels": repeated("Observ\n", "Action: search(x)\n"),
    "paths": repeated('"C:\\aa', "Action: search("),
    "signs of comments": repeated("#", "Action: search("),
    "comments in a call": repeated("# a\n", "Action: search("),
    "slashes": repeated("/*/", "Action: search("),
    "names with namespaces": repeated("a_b.c/d::", "Action: "),
    "lone calls": repeated('search("a")\nso\n'),
    "lone open calls": repeated("search(\n"),
    "choices": repeated('search("a") or ', "Action: "),
    "sums": repeated('get_time() + "a" + ', "Action: search["),
    "quoted names": repeated('"search"', "Action: "),
    "bare labels in an answer": repeated("Action:\n", "Final Answer: "),
    "mid-line actions in fences": repeated("```\nso Action: search(x)\n"),
}


def seconds(text: str, length: int) -> float:
    """Return how long the processor takes for the text in pieces of this length."""
    pieces = [text[at : at + length] for at in range(0, len(text), length)]
    reader = TurnReader(TOOLS)
    start = time.process_time()
    for each in pieces:
        reader.feed(each)
    with contextlib.suppress(TurnError):
        reader.close()
    return time.process_time() - start


def median_step(length: int) -> float:
    """Return the milliseconds of a step of two calls."""
    text = (
        "Thought: I need the weather in both cities to compare them.\n"
        'Action: get_weather(city="Oslo", days=3) || get_weather(city="Bergen", days=2)\n'
    )
    return 1000 * statistics.median(seconds(text, length) for _ in range(300))


def main() -> None:
    """Print a line a family."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("size", nargs="?", type=int, default=100_000)
    options.add_argument("--pieces", type=int, default=0, help="0: whole")
    options.add_argument("--only", default="")
    options.add_argument("--slow", action="store_true", help="only what is slow")
    given = options.parse_args()
    for name, made in FAMILIES.items():
        if given.only not in name:
            continue
        times = []
        for size in (given.size, 2 * given.size, 4 * given.size):
            text = made(size)
            times.append(seconds(text, given.pieces or len(text)))
        ratios = [after / before for before, after in itertools.pairwise(times)]
        if given.slow and max(times) < 0.7 and max(ratios) < 2.3:
            continue
        shown = "  ".join(f"{1000 * each:8.1f} ms" for each in times)
        print(f"{name:26} {shown}   x{ratios[0]:.2f} x{ratios[1]:.2f}", flush=True)
    for length in (10_000, 64, 4, 1):
        print(f"a step of two calls in pieces of {length}: {median_step(length):.3f} ms")


if __name__ == "__main__":
    main()
