"""The format of case files: what is read, what is refused, what a failure shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactext import SetupError, parse, tool
from reactext.testing import (
    Call,
    Case,
    Outcome,
    case_text,
    check,
    each_case,
    outcome_of,
    outcome_text,
    read_cases,
    toolbox_of,
)

CASES = Path(__file__).parent / "cases"
WEATHER = "tool: get_weather(city, days?)\n"
CALL = 'Action: get_weather(city="Oslo")'


def cases_of(folder: Path, content: str) -> list[Case]:
    path = folder / "some.case"
    path.write_bytes(content.encode())
    return read_cases(path)


def refusal(folder: Path, content: str) -> str:
    with pytest.raises(SetupError) as error:
        cases_of(folder, content)
    return str(error.value).removeprefix(str(folder / "some.case"))


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("Final Answer: one", "Final Answer: one"),
        ("one\n\ntwo\n", "one\n\ntwo\n"),
        ("  blanks stay  ", "  blanks stay  "),
        ("a\\nb C:\\temp", "a\\nb C:\\temp"),
        ("# no remark\ntool: no setting", "# no remark\ntool: no setting"),
        ("a\r\nb", "a\nb"),
        ("a\u2028b\x85", "a\u2028b\x85"),
        (". a dot and more\n..\n...", ". a dot and more\n..\n..."),
    ],
)
def test_a_text_is_verbatim(tmp_path: Path, lines: str, text: str) -> None:
    (case,) = cases_of(tmp_path, f"Title\n.\n{lines}\n.\nerror\n.\n")
    assert case.text == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Title\n.\n.\nerror\n.", ""),
        ("Title\n..\n.\n..\nerror\n..\n", "."),
        (
            "Title\nescaped: yes\n.\n\\r\\n\\t\\\\\\x20\\u3000\\U0001f600\n.\nerror\n.",
            "\r\n\t\\ \u3000😀",
        ),
        ("\ufeff# remark\n\n  \nTitle\r\n.\r\na\r\nb\r\n.\r\nerror\r\n.\r\n", "a\nb"),
    ],
)
def test_what_else_a_text_may_be(tmp_path: Path, content: str, text: str) -> None:
    (case,) = cases_of(tmp_path, content)
    assert (case.title, case.text) == ("Title", text)


@pytest.mark.parametrize(
    ("wanted", "outcomes"),
    [
        ("error", [Outcome(problem="")]),
        ("error: no tool is named", [Outcome(problem="no tool is named")]),
        ("Final Answer: a\n\nor\nb", [Outcome(answer="a\n\nor\nb")]),
        ("Final Answer:\na", [Outcome(answer="\na")]),
        ("Final Answer: a\nor\nerror", [Outcome(answer="a"), Outcome(problem="")]),
        (CALL, [Outcome(calls=(Call(tool="get_weather", kwargs={"city": "Oslo"}),))]),
        ("Action: look around()", [Outcome(calls=(Call(tool="look around"),))]),
        ("Action: f(?)", [Outcome(calls=(Call(tool="f", is_readable=False),))]),
        (
            'Thinking: so\nThought: a\nb\nAction: f("(", [1, {"x": null}])\nAction: 查(城市=-1.5)',
            [
                Outcome(
                    thinking="so",
                    thought="a\nb",
                    calls=(
                        Call(tool="f", args=("(", [1, {"x": None}])),
                        Call(tool="查", kwargs={"城市": -1.5}),
                    ),
                )
            ],
        ),
    ],
)
def test_what_is_wanted(tmp_path: Path, wanted: str, outcomes: list[Outcome]) -> None:
    (case,) = cases_of(tmp_path, f"Title\n.\ntext\n.\n{wanted}\n.\n")
    assert list(case.outcomes) == outcomes


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", ":1: there is no case in this file"),
        ("# only a remark\n", ":2: there is no case in this file"),
        ("Title", ":1: the file ends within a case"),
        ("Title\n.\ntext\n.\nerror\n", ":6: the file ends within a case"),
        ("Title\n.\ntext\n..\nerror\n..\n", ":7: the file ends within a case"),
        ("Title\n\n.\ntext\n.\nerror\n.", ":2: settings such as 'cue: Thought:' and a row"),
        ("Title\ncut: maybe\n.\n\n.\nerror\n.", ":2: cut is yes or no, not 'maybe'"),
        ("tool: f(a\n\nTitle\n.\n.\nerror\n.", ":1: 'f(a' is no signature"),
        ("tool: f(a b)\n", ":1: 'f(a b)' is no signature"),
        ("tool: f()\ntool: f()\n", ":2: two tools are named 'f'"),
        ("Title\ntools: no.tools\n.\n.\nerror\n.", ":2: "),
        ("A\n.\n.\nerror\n.\nA\n.\n.\nerror\n.", ":6: 'A' is the title of the case in line 1 too"),
        (".\ntext\n.\nerror\n.\n", ":1: '.' is no title"),
        ("A\n.\n.\nerror\n.\n\nThought: x\n.\n.\n", ":7: 'Thought: x' is no title"),
        ("Title\n.\na\rb\n.\nerror\n.", r":3: '\r' in the text; write it so, under 'escaped: yes'"),
        ("Title\nescaped: yes\n.\nC:\\Logs\n.\nerror\n.", r":4: '\\L' is no escape"),
        ("Title\n.\ntext\n.\n.", ":5: say what is wanted"),
        ("Title\n.\ntext\n.\nThought: a\n.", ":5: say what is wanted"),
        ("Title\n.\ntext\n.\nerror\nor\n.", ":6: 'or' begins with none of"),
        ("Title\n.\ntext\n.\n\nerror\n.", ":5: '' begins with none of"),
        (f"Title\n.\ntext\n.\n{CALL}\nFinal Answer: a\n.", ":5: say what is wanted"),
        (f"Title\n.\ntext\n.\n{CALL}\nThought: a\n.", ":6: 'Thought' stands before the actions"),
        ("Title\n.\ntext\n.\nAction: f\n.", ":5: 'f' is no call such as"),
        ("Title\n.\ntext\n.\nAction: f(a=b)\n.", ":5: no JSON value at 'b'"),
        (
            "Title\n.\ntext\n.\nAction: f(a=1,b=2)\n.",
            ":5: a comma and a space, or the end, is missing",
        ),
        ("Title\n.\ntext\n.\nAction: f(a=1, a=2)\n.", ":5: 'a' is given twice"),
        ("Title\n.\ntext\n.\nerror\nAction: f()\nor\nerror: x\nerror: y\n.", ":5: say what"),
    ],
)
def test_what_is_not_whole_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    assert refusal(tmp_path, content).startswith(problem)


@pytest.mark.parametrize("path", sorted(CASES.glob("*.case")), ids=lambda path: path.stem)
def test_no_row_of_dots_can_go_missing_unseen(path: Path, tmp_path: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    copy = tmp_path / "some.case"
    for signatures in CASES.glob("*.tools"):
        (tmp_path / signatures.name).write_bytes(signatures.read_bytes())
    rows = [number for number, line in enumerate(lines) if line == "."]
    for number in rows[:: max(1, len(rows) // 30)]:
        copy.write_text("\n".join(lines[:number] + lines[number + 1 :]), encoding="utf-8")
        with pytest.raises(SetupError, match=r"some\.case:\d+: "):
            read_cases(copy)


def test_what_cannot_be_read_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        read_cases(tmp_path / "none.case")
    with pytest.raises(SetupError, match=r"no file \*\.case in this folder"):
        read_cases(tmp_path)
    (tmp_path / "bytes.case").write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="cannot be read"):
        read_cases(tmp_path)


def test_settings_of_a_case_stand_before_those_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "other.tools").write_text("# more\nlook around(where?)\nsearch(query)\n")
    first, second, third = cases_of(
        tmp_path,
        f"{WEATHER}cue: Thought:\n\nA\n.\n.\nerror\n.\n\n"
        "B\ntools: other.tools\ntool: g()\ncut: yes\n.\n.\nerror\n.\n"
        "C\ntools: none\ncue:\n.\n.\nerror\n.\n",
    )
    assert first.tools is not None
    assert (first.tools.names, first.cue, first.cut) == (("get_weather",), "Thought:", False)
    assert second.tools is not None
    assert second.tools.names == ("look around", "search", "g")
    assert second.cut
    assert (third.tools, third.cue, third.cut) == (None, "", False)


def test_tools_of_a_program_are_those_of_files_that_name_none(tmp_path: Path) -> None:
    @tool
    def add(left: int, right: int) -> int:
        """Add two numbers."""
        return left + right

    (tmp_path / "a.case").write_text(
        "A\n.\nAction: add(1, 2)\n.\nAction: add(left=1, right=2)\n.\n"
    )
    (tmp_path / "b.case").write_text(f"{WEATHER}\nB\n.\n{CALL}\n.\n{CALL}\n.\n")
    for case in read_cases(tmp_path, tools=[add]):
        check(case)


words = st.text(st.sampled_from("ab .:\\\n\r\t\u3000\u200b😀查\x00") | st.characters(codec="utf-8"))
lines_of_notation = st.lists(
    st.sampled_from(["or", "error", ".", "..", "Action: f()", "Thought: x", "", "a\\n "]) | words
).map("\n".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner) | st.dictionaries(words, inner),
    max_leaves=4,
)
calls = st.builds(
    Call,
    tool=st.sampled_from(["f", "look around", "查询", "maps.search"]),
    args=st.lists(values, max_size=2).map(tuple),
    kwargs=st.dictionaries(st.sampled_from(["a", "b_2", "城市"]), values),
)
reasons = st.none() | lines_of_notation
outcomes = st.one_of(
    st.builds(Outcome, problem=st.text("ab ").map(str.strip)),
    st.builds(Outcome, thinking=reasons, thought=reasons, answer=lines_of_notation),
    st.builds(Outcome, thought=reasons, calls=st.lists(calls, min_size=1, max_size=2).map(tuple)),
)


@settings(max_examples=200)
@given(lines_of_notation, st.lists(outcomes, min_size=1, max_size=3), words, st.booleans())
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    wanted: list[Outcome],
    cue: str,
    cut: bool,
) -> None:
    content = case_text("Title", text, *wanted, cue=cue, cut=cut)
    (case,) = cases_of(tmp_path_factory.getbasetemp(), content)
    assert case.text == text
    assert [outcome_text(each) for each in case.outcomes] == [outcome_text(each) for each in wanted]
    assert (case.cue, case.cut) == (cue, cut)


def test_a_written_case_can_be_seen(tmp_path: Path) -> None:
    text = "Thought: a \r\nFinal Answer: b\t"
    assert case_text("Title", text, outcome_of(parse(text))) == (
        "Title\nescaped: yes\n.\nThought: a \\r\nFinal Answer: b\\t\n.\n"
        "Thought: a\nFinal Answer: b\n.\n"
    )


def failure(folder: Path, content: str) -> str:
    (case,) = cases_of(folder, content)
    with pytest.raises(AssertionError) as error:
        check(case)
    return str(error.value).replace(str(folder), "")


def test_a_failure_shows_the_place_and_the_difference(tmp_path: Path) -> None:
    content = (
        f"{WEATHER}\nWrong days\n.\nAction: get_weather('Oslo', 2)\n.\n"
        f'Action: get_weather(days=3, city="Oslo")\nor\nerror\n.\n'
    )
    assert failure(tmp_path, content) == (
        "/some.case:3: Wrong days\n"
        "wanted (-) and read (+)\n"
        '  - Action: get_weather(city="Oslo", days=3)\n'
        "  ?                                       ^\n"
        '  + Action: get_weather(city="Oslo", days=2)\n'
        "  ?                                       ^\n"
        "(the nearest of the 2 readings that would do)\n"
        "repairs: quotes\n"
        "of the text\n"
        "  | Action: get_weather('Oslo', 2)"
    )


def test_a_failure_shows_why_nothing_was_read(tmp_path: Path) -> None:
    shown = failure(tmp_path, "Only a thought\ncue: Thought:\n.\nhm\n.\nFinal Answer: hm\n.\n")
    assert "+ error: there is a thought, but no action and no final answer" in shown
    assert "    hm\n" in shown
    assert "after the cue 'Thought:'" in shown


@pytest.mark.parametrize(
    ("text", "wanted", "is_right"),
    [
        ("Thought: a\nFinal Answer: b", "Final Answer: b", True),
        ("Thought: a\nFinal Answer: b", "Thought: a\nFinal Answer: b", True),
        ("Thought: a\nFinal Answer: b", "Thought: c\nFinal Answer: b", False),
        ("Final Answer: b", "Thought:\nFinal Answer: b", True),
        ("<think>a</think>\nFinal Answer: b", "Thinking: a\nFinal Answer: b", True),
        ("Action: f(x=1)", "Action: f(x=1.0)", False),
        ("Action: f(x=true)", "Action: f(x=1)", False),
        ("Action: f(x=1, y=2)", "Action: f(y=2, x=1)", True),
        ("Action: f(1)", "Action: f(x=1)", False),
        ("Thought: a", "error: no action and no final answer", True),
        ("Thought: a", "error: the moon", False),
    ],
)
def test_what_is_compared(tmp_path: Path, text: str, wanted: str, is_right: bool) -> None:
    (case,) = cases_of(tmp_path, f"Title\n.\n{text}\n.\n{wanted}\n.\n")
    if is_right:
        check(case)
        check(case, pieces=text)
    else:
        with pytest.raises(AssertionError):
            check(case)


def test_pieces_are_those_of_the_text(tmp_path: Path) -> None:
    (case,) = cases_of(tmp_path, "Title\n.\nabc\n.\nFinal Answer: abc\n.\n")
    with pytest.raises(SetupError, match="the pieces are not the text of the case"):
        check(case, pieces=["ab"])


def test_ids_are_titles_behind_the_file_if_there_are_several(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.case").write_text("One\n.\nx\n.\nerror\n.\n")
    assert [each.id for each in each_case(tmp_path).args[1]] == ["a: One", "b: One"]
    assert [each.id for each in each_case(tmp_path / "a.case").args[1]] == ["One"]


def test_a_toolbox_of_signatures_binds_positions() -> None:
    box = toolbox_of(["book(restaurant, people, time?)"])
    (action,) = parse('Action: book("Lido", 2)', box).actions
    assert action.kwargs == {"restaurant": "Lido", "people": 2}
