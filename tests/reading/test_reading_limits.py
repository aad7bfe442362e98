"""Work and memory are in proportion to the text; what is bounded says so."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import sys
import tracemalloc
from pathlib import Path

import pytest
from texts import TOOLS

from reactext import TurnError, TurnReader, parse
from reactext.reading.course import MAX_LABELS
from reactext.reading.json_calls import MAX_CALLS
from reactext.reading.mending import MAX_VALUES
from reactext.reading.tracking import MAX_DEPTH, MAX_EVENTS

_FILE = Path(__file__).parent.parent.parent / "benchmarks" / "reading.py"
pytestmark = pytest.mark.skipif(not _FILE.is_file(), reason="wants the sources beside the tests")


def _benchmark() -> object:
    specification = importlib.util.spec_from_file_location("benchmark_of_reading", _FILE)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


FAMILIES = _benchmark().FAMILIES if _FILE.is_file() else {}  # type: ignore[attr-defined]


def steps(text: str, length: int) -> int:
    """How many calls of Python functions the reading of a text takes."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    reader = TurnReader(TOOLS)
    gc.collect()  # what other tests have left is not counted here
    gc.disable()
    sys.setprofile(counted)
    try:
        for at in range(0, len(text), length):
            reader.feed(text[at : at + length])
        reader.close()
    except TurnError:
        pass
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("length", [7])
def test_twice_the_text_takes_at_most_twice_the_steps(name: str, length: int) -> None:
    once, twice = (steps(FAMILIES[name](size), length) for size in (600, 1200))
    assert twice <= 2.3 * once + 1500


@pytest.mark.parametrize("name", FAMILIES)
def test_memory_is_in_proportion(name: str) -> None:
    parse_quietly(FAMILIES[name](100))
    peaks = []
    for size in (900, 1800):
        text = FAMILIES[name](size)
        tracemalloc.start()
        parse_quietly(text)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 2.5 * peaks[0] + 200_000


def parse_quietly(text: str) -> None:
    with contextlib.suppress(TurnError):
        parse(text, TOOLS)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Action: search(" + "[" * (MAX_DEPTH + 1), f"more than {MAX_DEPTH} brackets are open"),
        ("Action: search(" + "()" * MAX_EVENTS, f"more than {MAX_EVENTS} brackets and quotes"),
        ("Action: search([" + "1," * (MAX_VALUES + 2), f"more than {MAX_VALUES} values"),
        ("Action: " + "get_time() || " * (MAX_CALLS + 1), f"more than {MAX_CALLS} calls"),
        ("Thought: x\n" * (MAX_LABELS + 1), f"more than {MAX_LABELS} labels"),
        ("Action: " + "get_time(), " * (MAX_CALLS + 2), f"more than {MAX_CALLS} calls"),
        (
            "Action: search\nAction Input: " + '{"a":' * (MAX_DEPTH + 1),
            f"more than {MAX_DEPTH} brackets are open",
        ),
    ],
)
def test_what_is_bounded_says_so(text: str, problem: str) -> None:
    for pieces in ([text], [text[at : at + 97] for at in range(0, len(text), 97)]):
        reader = TurnReader(TOOLS)
        for piece in pieces:
            reader.feed(piece)
        with pytest.raises(TurnError) as failure:
            reader.close()
        assert problem in failure.value.problem


def test_a_large_argument_is_no_trouble() -> None:
    code = "print('x', [1, 2])  # " + "\n" * 50 + 'say("hi")\n'
    text = f"Action: run_python(code={code * 2000!r})"
    assert len(parse(text, TOOLS).actions) == 1
