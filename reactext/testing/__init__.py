"""Tests of how texts are read, from case files that people write by hand.

A case is a title, the text of a model and the turn that it stands for:

    A name in backticks
    .
    Thought: I look at the sky.
    Action: `get_weather`(city="Oslo")
    .
    Action: get_weather(city="Oslo")
    .

`each_case` parametrises a pytest test with all cases of a file or folder, `check` reads one and
shows the difference. pytest is imported by `each_case` only.
"""

from reactext.testing.case_files import Case, read_cases
from reactext.testing.checking import check, each_case
from reactext.testing.outcomes import Call, Outcome, outcome_of, outcome_text
from reactext.testing.signature_lines import toolbox_of
from reactext.testing.writing import case_text

__all__ = [
    "Call",
    "Case",
    "Outcome",
    "case_text",
    "check",
    "each_case",
    "outcome_of",
    "outcome_text",
    "read_cases",
    "toolbox_of",
]
