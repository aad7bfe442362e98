"""Reads the text of a case and compares what came of it with what is wanted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from reactext.errors import SetupError, TurnError
from reactext.models import Turn
from reactext.protocol import Protocol
from reactext.reader import Tools, TurnReader
from reactext.testing.case_files import Case, read_cases
from reactext.testing.escapes import escaped, is_visible
from reactext.testing.outcomes import Outcome, outcome_of, outcome_text

if TYPE_CHECKING:
    import pytest


def each_case(path: str | Path, *, tools: Tools = None) -> pytest.MarkDecorator:
    """Run the decorated test once for each case, as its argument ``case``.

    ``path`` is a file, or a folder of ``*.case`` files. The test's ids are the titles, behind the
    name of the file where there are several.
    """
    import pytest

    cases = read_cases(path, tools=tools)
    several = len({case.path for case in cases}) > 1
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=f"{case.path.stem}: {case.title}" if several else case.title)
            for case in cases
        ],
    )


def check(
    case: Case, *, protocol: Protocol | None = None, pieces: Iterable[str] | None = None
) -> None:
    """Read the text of the case; raise AssertionError, with the difference, if it went wrong.

    ``pieces`` are what the reader is fed with, instead of the whole text at once: cut it as you
    like, the turn has to be the same.
    """
    __tracebackhide__ = True
    reading = _read(case, protocol, pieces)
    if not any(_same(reading, wanted) for wanted in case.outcomes):
        raise AssertionError(_report(case, reading))


def _read(case: Case, protocol: Protocol | None, pieces: Iterable[str] | None) -> Turn | TurnError:
    given = [case.text] if pieces is None else list(pieces)
    if "".join(given) != case.text:
        raise SetupError(f"{case}: the pieces are not the text of the case")
    reader = TurnReader(case.tools, cue=case.cue, protocol=protocol)
    for piece in given:
        reader.feed(piece)
    try:
        return reader.close(cut=case.cut)
    except TurnError as error:
        return error


def _same(reading: Turn | TurnError, wanted: Outcome) -> bool:
    read = _looked_at(outcome_of(reading), wanted)
    return outcome_text(_sorted(read)) == outcome_text(_sorted(wanted))


def _looked_at(read: Outcome, wanted: Outcome) -> Outcome:
    """Leave out of what was read what the case does not look at."""
    problem = read.problem
    if problem is not None and wanted.problem is not None and wanted.problem in problem:
        problem = wanted.problem
    return read.model_copy(
        update={
            "thinking": None if wanted.thinking is None else read.thinking or "",
            "thought": None if wanted.thought is None else read.thought or "",
            "problem": problem,
        }
    )


def _sorted(outcome: Outcome) -> Outcome:
    """Put named arguments in one order: theirs does not count."""
    calls = (
        each.model_copy(update={"kwargs": dict(sorted(each.kwargs.items()))})
        for each in outcome.calls
    )
    return outcome.model_copy(update={"calls": tuple(calls)})


def _report(case: Case, reading: Turn | TurnError) -> str:
    differences = [_difference(reading, wanted) for wanted in case.outcomes]
    nearest = min(differences, key=lambda lines: sum(each[0] in "-+" for each in lines))
    parts = [str(case), "wanted (-) and read (+)", *_indented(nearest)]
    if len(differences) > 1:
        parts.append(f"(the nearest of the {len(differences)} readings that would do)")
    if isinstance(reading, TurnError):
        parts += ["since", *_indented(str(reading).split("\n"))]
    elif reading.repairs:
        parts.append(f"repairs: {', '.join(reading.repairs)}")
    if case.cue:
        parts.append(f"after the cue {case.cue!r}")
    parts += ["of the text", *_indented(map(_visible, case.text.split("\n")), "  | ")]
    return "\n".join(parts)


def _difference(reading: Turn | TurnError, wanted: Outcome) -> list[str]:
    read = _looked_at(outcome_of(reading), wanted)
    return list(difflib.ndiff(_shown(wanted), _shown(read)))


def _shown(outcome: Outcome) -> list[str]:
    return [_visible(line) for line in outcome_text(_sorted(outcome)).split("\n")]


def _visible(line: str) -> str:
    return line if is_visible(line) else escaped(line)


def _indented(lines: Iterable[str], margin: str = "  ") -> list[str]:
    return [margin + each.rstrip("\n") for each in lines]
