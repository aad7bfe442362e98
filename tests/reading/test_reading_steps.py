"""The small steps that a reading is made of, each by a table."""

from __future__ import annotations

from typing import Any

import pytest
from texts import TOOLS

from reactext import TurnError, parse
from reactext.grammar import GrammarError, read_value
from reactext.protocol import Protocol
from reactext.reading.beginnings import MORE
from reactext.reading.labels import Label, LabelFinder
from reactext.reading.marks import find_mark
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.names import is_none, resolve
from reactext.reading.strings import decoded, ends_string
from reactext.reading.tracking import Tracker, construct_end
from reactext.reading.values import plain, strict_json

FINDER = LabelFinder(Protocol())


@pytest.mark.parametrize(
    ("line", "kind", "rest"),
    [
        ("Action: x", "action", " x"),
        ("action：x", "action", "x"),
        ("ACTION : x", "action", " x"),
        ("**Action:** x", "action", " x"),
        ("**Action**: x", "action", " x"),
        ("`Action:` x", "action", " x"),
        ("__Action:__ x", "action", " x"),
        ("<b>Action:</b> x", "action", " x"),
        ("### Action\nx", "action", "\nx"),
        ("> - 🔧 Action 2: x", "action", " x"),
        ("2. Action: x", "action", " x"),
        ("Step 2: Action: x", "action", " x"),
        ("Assistant: Action: x", "action", " x"),
        ("[Action] x", "action", " x"),
        ("【行动】x", "action", "x"),
        ("Action_Input: x", "action_input", " x"),
        ("ActionInput: x", "action_input", " x"),
        ("Action 3 Input: x", "action_input", " x"),
        ("最终答案：x", "answer", "x"),
        ("Observation[x]", "observation", "[x]"),
        ("Observation", "observation", ""),
        ("Action: **x**", "action", " **x**"),
        ("Answer:**x**", "answer", "**x**"),
        ("Actionable: x", None, ""),
        ("Action plan: x", None, ""),
        ("My Action: x", None, ""),
        ('"Action: x"', None, ""),
        ("Action[x]", None, ""),
        ("Action and more", None, ""),
        ("- a\nAction: x", None, ""),
    ],
)
def test_labels(line: str, kind: str | None, rest: str) -> None:
    found = FINDER.find(line, 0, final=True)
    if kind is None:
        assert found is None
        return
    assert isinstance(found, Label) and (found.kind, line[found.end :]) == (kind, rest)
    decided = [FINDER.find(line[:end], 0, final=False) for end in range(len(line) + 1)]
    assert [each for each in decided if each not in (MORE, found)] == []


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("<think>", "think", "think"),
        ("</Thinking>", "think_end", "/thinking"),
        ("[THINK]", "think", "think"),
        ("◁/think▷", "think_end", "/think"),
        ("<|im_end|>", "end", "im_end"),
        ("</s>", "end", "/s"),
        ("<｜end▁of▁sentence｜>", "end", "end_of_sentence"),
        ("<|im_start|>user\n", "role", "user"),
        ("<|start_header_id|>assistant<|end_header_id|>", "start", "assistant"),
        ("<tool_call>", "native", "tool_call"),
        ("[TOOL_CALLS]", "native", "tool_calls"),
        ("<function=f>", "native", "function="),
        ("</tool_call>", "tag_end", "/tool_call"),
        ("<tool_call|>", "tag_end", "tool_call"),
        ("<|channel|>final<|message|>", "channel", "final"),
        ("<action>", "tag", "action"),
        ("< b", None, ""),
        ("<|im_en", None, ""),
        ("[link]", None, ""),
    ],
)
def test_marks(text: str, kind: str | None, name: str) -> None:
    found = find_mark(text, 0, final=True)
    if kind is None:
        assert found is None
        return
    assert found is not None and found is not MORE
    assert (found.kind, found.name) == (kind, name)
    earlier = [find_mark(text[:end], 0, final=False) for end in range(1, len(text))]
    assert set(earlier) <= {MORE, found}


@pytest.mark.parametrize(
    ("after", "ends"),
    [
        (")", True), ("}", True), (' : "x"', True), (", x=1", True), (', "x"', True), (" || f()", True),
        ("", True), (" # why", True), (', "b", c', True), ('\n "x": 1', True), (" x: 1", True),
        (' "x"]', True), (' + "x"', True), (".strip()", True), ("s late", False), (" to me", False),
        (", he said", False), ("x", False), (". So", False), ('" x', False), (" or not", False),
    ],
)  # fmt: skip
def test_where_a_string_ends(after: str, ends: bool) -> None:
    assert ends_string(f'"a"{after}', 3, final=True) is ends
    for length in range(len(after) + 1):
        assert ends_string(f'"a"{after[:length]}', 3, final=False) in (MORE, ends)


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        (r"a\nb", "a\nb"), (r"a\tb", "a\tb"), (r"say \"hi\"", 'say "hi"'), (r"it\'s", "it's"),
        (r"\u6d77\u5357", "海南"), (r"\ud83c\udf89", "🎉"), (r"\ud83c", "\ufffd"), (r"\d+ \$5", r"\d+ \$5"),
        (r"C:\temp\new", r"C:\temp\new"), (r"C:\\temp\\new", r"C:\temp\new"),
        (r"\\server\share\x", r"\\server\share\x"), (r"a\\b", r"a\b"), (r"\x41", "A"), ("a\\", "a\\"),
    ],
)  # fmt: skip
def test_escapes_are_read_as_they_were_meant(body: str, meant: str) -> None:
    assert decoded(body) == meant


@pytest.mark.parametrize(
    ("damaged", "value"),
    [
        ("{'a': 1}", {"a": 1}),
        ("{a: b, c: 1.5}", {"a": "b", "c": 1.5}),
        ('{"a": True, "b": None}', {"a": True, "b": None}),
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}),
        ('{"a": "x" "b": "y"}', {"a": "x", "b": "y"}),
        ('{"a": ["x" "y"]}', {"a": ["x", "y"]}),
        ('{"a": "x"\n "b": 1}', {"a": "x", "b": 1}),
        ('{"a": {"b": [1', {"a": {"b": [1]}}),
        ('{"a": [1}', {"a": [1]}),
        ('{{"a": 1}}', {"a": 1}),
        ("{“a”：“b”，“c”：2}", {"a": "b", "c": 2}),
        ('{"a": 1 /* why */, "b": 2 // so\n}', {"a": 1, "b": 2}),
        ('{"a": 1, # why\n "b": 2}', {"a": 1, "b": 2}),
        ('{"a": "he said "hi" to me"}', {"a": 'he said "hi" to me'}),
        ("{'a': 'it's late'}", {"a": "it's late"}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ("{'a': '''x\n'y' '''}", {"a": "x\n'y' "}),
        ('{"a" => 1, "b" = 2}', {"a": 1, "b": 2}),
        ('{"a": (1, 2), "b": {3, 4}}', {"a": [1, 2], "b": [3, 4]}),
        ('{"a": r"\\d", "b": f"x"}', {"a": "\\d", "b": "x"}),
        ('{"a": https://x.org/y, "b": 12:30}', {"a": "https://x.org/y", "b": "12:30"}),
        ('{"a": 007, "b": 1_000, "c": -.5}', {"a": "007", "b": 1000, "c": -0.5}),
        ('{"u": "C:\\temp\\"}', {"u": "C:\\temp\\"}),
    ],
)
def test_damaged_values_are_mended(damaged: str, value: Any) -> None:
    assert plain(read_value(mend(damaged).text)) == value


@pytest.mark.parametrize("text", ["{a}b", "{,}", "{1, a: 2}", "x[1]y"])
def test_what_is_no_value_stays_none(text: str) -> None:
    with pytest.raises(GrammarError):
        read_value(mend(text).text)


def test_what_is_cut_within_a_string_is_told() -> None:
    assert mend('{"a": "half').cut_in_string
    assert not mend('{"a": "whole"').cut_in_string
    with pytest.raises(UnmendableError, match="f-string"):
        mend('{"a": f"{name}"}')


@pytest.mark.parametrize("text", ["NaN", '{"a": Infinity}', '"C:\\temp"', "[" * 2000, "{'a': 1}"])
def test_what_strict_json_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        strict_json(text)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('f(a="x)") || g()', 9), ("{'a': 'it's'} b", 13), ("(a [b) c", 6), ("f(", None), ("f", None),
        ("（a）b", 3), ('f("""a)\n""")', 12), ("f(# a)\n)", 8), ("f(a // b)", 9), ('{"a": "}"}', 10),
        ("f(what's on)", 12), ("f(x) y", 4), ("f())", 3),
    ],
)  # fmt: skip
def test_where_a_bracket_closes(text: str, end: int | None) -> None:
    assert construct_end(text) == end


def test_a_tracker_does_not_care_about_pieces() -> None:
    text = 'a("x || y", \'it\'s\') || {"b": [1, "]"]} # c || d\n- e[f] | g(“h”)'

    def parts(pieces: list[str]) -> list[tuple[str, str]]:
        tracker = Tracker()
        found = [part for piece in pieces for part in tracker.feed(piece)]
        merged: list[tuple[str, str]] = []
        for part in found + tracker.feed("", final=True):
            if merged and merged[-1][0] == part.kind != "closed":
                merged[-1] = (part.kind, merged[-1][1] + part.text)
            else:
                merged.append((part.kind, part.text))
        return merged

    whole = parts([text])
    assert parts(list(text)) == whole
    assert [part for part in whole if part[0] == "separator"] == [
        ("separator", "||"),
        ("separator", "|"),
    ]
    assert ("comment", "# c || d") in whole


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("get_weather", "get_weather"), ("`get_weather`", "get_weather"), ("Get Weather", "get_weather"),
        ("get-weather.", "get_weather"), ("functions.get_weather:0", "get_weather"),
        ("the get_weather tool", "get_weather"), ("get_weather (now)", "get_weather"),
        ("tools/search", "search"), ("I will search", "search"), ("ask_person", "ask_person"),
        ("sëarch", "sëarch"), ("search or get_time", None), ("search/get_time", None),
        ("use the library to post it", None), ("<name of a tool>", None), ("", None),
    ],
)  # fmt: skip
def test_names(written: str, name: str | None) -> None:
    named = resolve(written, TOOLS)
    assert named.problem if name is None else (named.name, named.problem) == (name, "")


@pytest.mark.parametrize(
    "text", ["None", "none.", "N/A", "无", "no tool needed", "Nothing (I know it)", "-"]
)
def test_no_tool(text: str) -> None:
    assert is_none(text)


@pytest.mark.parametrize(
    "text", ["nonesuch", "get_time", "no_op", "notify", "nothing_tool", "null_check"]
)
def test_a_tool_whose_name_begins_like_none(text: str) -> None:
    assert not is_none(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('Thought: a\nAction:  get_weather(city=search("x"))', 'search("x")'),
        ("Action: get_weather(city=user_city)", "user_city"),
        ('Action: get_weather(city="Oslo", city="Bergen")', 'city="Oslo"'),
        ('Action: get_weather(city="Oslo, unit=5', '"Oslo, unit'),
        ("Action: get_weather\nAction Input: city: get_time()", "get_time()"),
        ("Action:\n\n  get_weather('x', 1, 2)", "get_weather("),
        ("Action: ", ""),
    ],
)
def test_a_fault_is_shown_where_it_stands(text: str, place: str) -> None:
    with pytest.raises(TurnError) as failure:
        parse(text, TOOLS)
    assert text[failure.value.position :].startswith(place)
    assert text[failure.value.position :].strip() or not place


@pytest.mark.parametrize(
    ("text", "repair"),
    [
        ("Action: f(x=1,,y=2)", "doubled comma"),
        ("Action: get_time()\nObservation: 12", "invented observation"),
        ("Action: get_time()\nThought: and now\nAction: get_time()", "text after the action"),
        ("Action: get_time()\nObserv", "cut stop word"),
        ("Action: get_time()<|im_end|>", "template token"),
        ("Action: get_time() ||", "separator without a call"),
        ("Action: search(query=None)", "literal of Python"),
        ("Action: search(two words)", "text without quotes"),
        ('Action: "search"("a")', "decoration"),
        ("- Action: `search('a')`", "decoration"),
        ("Action: None\nFinal Answer: x", "action without a tool"),
        ("Observation: 1\nAction: get_time()", "echo of the prompt"),
        ('Action: search(query="C:\\Users")', "single backslashes"),
        ('Action: create_event\nAction Input: {title: "x"}', "key without quotes"),
    ],
)
def test_what_is_tolerated_is_named(text: str, repair: str) -> None:
    for tools in (TOOLS, None):
        assert repair in parse(text, tools).repairs
