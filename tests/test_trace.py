"""A trace reads wherever it was cut, and is shown so that nothing in it can do harm."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.cancellation import Cancellation
from reactext.completion import ModelCard, Piece
from reactext.context import ExecutionContext
from reactext.errors import SetupError
from reactext.hooks import Moment
from reactext.models import Action, Correction, Observation, Step, Turn, Usage
from reactext.tools import Toolbox
from reactext.trace import (
    Asked,
    Called,
    TracedRun,
    TracedStep,
    account,
    page,
    read_trace,
    step_table,
)
from reactext.trace.figures import Figures, figures, total
from reactext.trace.timeline import tick_of
from reactext.tracing import Trace
from reactext.visible import one_line, visible

WEATHER = Action(id="c1.1", tool="weather", kwargs={"city": "上海"}, text='weather(city="上海")')
FLIGHTS = Action(id="c1.2", tool="flights", kwargs={"to": "Oslo"})
RAIN = Observation(action_id="c1.1", tool="weather", text="多云\n有小雨", seconds=0.4)
LATE = Observation(
    action_id="c1.2",
    tool="flights",
    text="flights took more than 0.7 s",
    status="timeout",
    seconds=0.7,
    attempts=2,
    detail="Traceback\n  \x1b[31mred\x1b[0m",
)
RUN = TracedRun(
    run_id="r1",
    task="What to pack?",
    started="2025-03-10T12:00:00.000+00:00",
    version="0.1.0",
    tools=("weather", "flights"),
    status="finished",
    answer="An umbrella.",
    seconds=2.0,
    steps=(
        TracedStep(
            number=1,
            begun=0.0,
            ended=1.4,
            asked=(
                Asked(
                    model="m",
                    sha256="0" * 64,
                    characters=77,
                    begun=0.0,
                    first=0.3,
                    last=0.7,
                    text=" I look.\nAction: …",
                    usage=Usage(prompt_tokens=612, completion_tokens=43, prompt_seconds=0.25),
                ),
            ),
            turn=Turn(thought="I look.", actions=(WEATHER, FLIGHTS), repairs=("a label in bold",)),
            calls=(
                Called(action=WEATHER, observation=RAIN, begun=0.7, ended=1.1),
                Called(action=FLIGHTS, observation=LATE, begun=0.7, ended=1.4),
            ),
        ),
        TracedStep(
            number=2,
            begun=1.4,
            ended=2.0,
            asked=(
                Asked(model="m", begun=1.4, first=1.5, last=1.6, text="hm"),
                Asked(
                    model="m",
                    begun=1.6,
                    first=1.7,
                    last=2.0,
                    usage=Usage(prompt_tokens=760, cached_tokens=655, completion_tokens=31),
                ),
            ),
            corrections=(Correction(text="hm", problem="No action.", remedy="Write one."),),
            turn=Turn(thought="Enough.", answer="An umbrella."),
        ),
    ),
)

ACCOUNT = """\
run r1
2025-03-10T12:00:00.000+00:00 · 2 steps · 2.00 s · finished
task: What to pack?

step 1 · 0.00–1.40 s
  thought: I look.
  tolerated: a label in bold
  → c1.1: weather(city="上海")
  ← ok in 0.40 s: 多云 ⏎ 有小雨
  → c1.2: flights(to="Oslo")
  ← timeout in 0.70 s, 2 attempts: flights took more than 0.7 s
    detail: Traceback ⏎   \\x1b[31mred\\x1b[0m

step 2 · 1.40–2.00 s
  wrote: hm
  ✗ corrected: No action. Write one.
  thought: Enough.
  answer: An umbrella.

→ finished
"""

TABLE = """\
step  queue  prompt  generation  tools  tokens in  out  cached
   1   0.05    0.25        0.40   0.70        612   43       -
   2      -    0.20        0.40      -        760   31     86%
 all   0.05    0.45        0.80   0.70       1372   74     48%"""


def test_the_account() -> None:
    assert account(RUN) == ACCOUNT


def test_the_table() -> None:
    assert step_table(RUN) == TABLE


def test_each_thing_is_cut_where_a_reader_sees_a_character_end() -> None:
    task = "👩‍👩‍👧‍👦" * 8 + "🇩🇪" * 8
    shown = account(RUN.model_copy(update={"task": task}), width=12)
    assert "task: " + "👩‍👩‍👧‍👦" * 8 + "🇩🇪" * 3 + "…\n" in shown


def test_nothing_is_cut_where_it_is_asked_for_whole() -> None:
    text = "first\n" + "long " * 100 + "\nlast"
    observation = RAIN.model_copy(update={"text": "cut", "full": text, "truncated": True})
    call = Called(action=WEATHER, observation=observation)
    run = TracedRun(run_id="r", steps=(TracedStep(number=1, begun=0, calls=(call,)),))
    assert "first\n    long long" in account(run, width=None)
    assert account(run, width=None).count("long") == 100


def test_no_text_steers_the_terminal() -> None:
    hostile = "a\x1b[2J\x07\x9b\r\u202eb\ud83d \ud83d\ude00"
    run = RUN.model_copy(update={"task": hostile, "run_id": hostile, "stop_reason": hostile})
    for width in (100, None):
        shown = account(run, width=width)
        assert not set(shown) & {"\x1b", "\x07", "\x9b", "\r", "\u202e", "\ud83d"}
        assert "a\\x1b[2J\\x07\\u009b\\x0d\\u202eb� 😀" in shown
        shown.encode()


@given(st.text())
def test_any_text_can_be_shown(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    assert "\n" not in one_line(text, 20)
    assert len(one_line(text, 20)) <= 20 * 64


class Elements(HTMLParser):
    """Gathers the elements and attributes of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def elements_of(html: str) -> Elements:
    elements = Elements()
    elements.feed(html)
    elements.close()
    assert not elements.open
    return elements


PAGE_ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "section", "details", "summary"),
    *("ol", "li", "a", "span", "h1", "h2", "p", "pre", "div", "i", "table", "tr", "th", "td"),
}
"""All that a page is made of: nothing that loads or runs anything."""

PAGE_ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name"),
    *("class", "id", "style", "title", "href", "open"),
}


def test_a_page_needs_nothing_from_outside() -> None:
    html = page([RUN, RUN])
    elements = elements_of(html)
    assert elements.names == PAGE_ELEMENTS
    assert {name for name, _ in elements.attributes} <= PAGE_ATTRIBUTES
    assert {value for name, value in elements.attributes if name == "href"} == {"#run-1", "#run-2"}
    assert "default-src 'none'" in html
    assert not re.search(r"https?:|//|url\(|@import|<script", html)


HOSTILE = "</pre></style><script>alert(1)</script><img src=x onerror=\"alert('1')\">&amp;\x00\ud83d"


def hostile_run() -> TracedRun:
    action = Action(id=HOSTILE, tool=HOSTILE, text=HOSTILE)
    observation = Observation(
        action_id=HOSTILE, tool=HOSTILE, text=HOSTILE, full=HOSTILE, detail=HOSTILE, truncated=True
    )
    step = TracedStep(
        number=1,
        begun=0,
        asked=(Asked(model=HOSTILE, sha256=HOSTILE, prompt=HOSTILE, text=HOSTILE, finish=HOSTILE),),
        corrections=(Correction(text=HOSTILE, problem=HOSTILE, remedy=HOSTILE),),
        turn=Turn(
            thought=HOSTILE, thinking=HOSTILE, answer=HOSTILE, actions=(action,), repairs=(HOSTILE,)
        ),
        calls=(Called(action=action, observation=observation, begun=0, ended=1),),
    )
    return TracedRun(
        run_id=HOSTILE,
        task=HOSTILE,
        started=HOSTILE,
        steps=(step, TracedStep(number=2, begun=1, asked=(Asked(text=HOSTILE),))),
        status="failed",
        stop_reason=HOSTILE,
        answer=HOSTILE,
    )


def test_no_text_becomes_markup() -> None:
    html = page([hostile_run(), hostile_run()])
    elements = elements_of(html)
    assert elements.names <= PAGE_ELEMENTS
    assert {name for name, _ in elements.attributes} <= PAGE_ATTRIBUTES
    assert elements.text.count("<script>alert(1)</script>") >= 2 * 20
    html.encode()


def test_an_empty_page_and_an_empty_run_can_be_shown() -> None:
    elements_of(page([]))
    empty = TracedRun(run_id="r")
    assert elements_of(page([empty])).text.count("unfinished") == 1
    assert "the run goes on, or its process was killed" in account(empty)
    assert step_table(empty).endswith(
        "\n all      -       -           -      -          -    -       -"
    )


@pytest.mark.parametrize(
    ("whole", "tick"),
    [
        (2.0, 0.5),
        (1.0, 0.2),
        (0.9, 0.2),
        (12.0, 5.0),
        (60.0, 20.0),
        (0.0042, 0.001),
        (500.0, 100.0),
    ],
)
def test_ticks_are_round(whole: float, tick: float) -> None:
    assert tick_of(whole) == pytest.approx(tick)


@given(st.floats(1e-6, 1e9))
def test_there_are_at_most_five_ticks(whole: float) -> None:
    assert 1 <= whole / tick_of(whole) <= 5.0001


def test_tools_side_by_side_count_once() -> None:
    spans = [(0.0, 2.0), (1.0, 3.0), (1.5, 2.5), (5.0, 6.0)]
    calls = tuple(Called(action=WEATHER, begun=begun, ended=ended) for begun, ended in spans)
    assert figures(TracedStep(number=1, begun=0, calls=calls)).tools == pytest.approx(4.0)


def test_what_nobody_told_stays_untold() -> None:
    assert total([Figures(), Figures()]) == Figures()
    assert total([Figures(queue=1.0), Figures()]) == Figures(queue=1.0)


def written(path: Path) -> bytes:
    """Write a trace of two runs, one inside of the other, and return it."""
    trace = Trace(path, prompts=True)
    contexts = [ExecutionContext(run_id=name, task="打包什么?") for name in ("one", "two")]
    started = monotonic()

    def moment(number: int) -> Moment:
        card = ModelCard(name="m")
        toolbox = Toolbox()
        return Moment(contexts[number], toolbox, Cancellation(), None, started - number, card)

    for number in (0, 1):
        trace.before_step(moment(number))
        trace.before_prompt(moment(number), "Thought:")
        trace.on_piece(moment(number), " I look.")
    usage = Usage(prompt_tokens=3)
    for number in (1, 0):
        trace.on_piece(moment(number), Piece("\n", usage=usage, finish="stop"))
        trace.on_event(moment(number), Correction(text="hm", problem="no"))
        turn = trace.after_turn(moment(number), Turn(thought="I look.", actions=(WEATHER,)))
        trace.around_action(moment(number), WEATHER, lambda _: RAIN)
        step = Step(turn=turn, observations=(RAIN,), usage=usage)
        contexts[number] = contexts[number].with_step(step)
        trace.on_event(moment(number), step)
        contexts[number] = contexts[number].model_copy(update={"status": "finished"})
        trace.at_end(moment(number))
    return path.read_bytes()


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("trace") / "t.jsonl")


def read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> tuple[TracedRun, ...]:
    path = tmp_path_factory.mktemp("trace") / "t.jsonl"
    path.write_bytes(content)
    return read_trace(path)


def test_runs_that_are_interleaved_are_told_apart(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    runs = read(tmp_path_factory, content)
    assert [run.run_id for run in runs] == ["one", "two"]
    assert [run.steps[0].asked[0].text for run in runs] == [" I look.\n"] * 2
    assert [run.unreadable for run in runs] == [0, 0]


@given(st.data())
def test_a_trace_reads_wherever_it_was_cut(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    cut = content[: data.draw(st.integers(0, len(content)))]
    runs = read(tmp_path_factory, cut)
    whole_lines, _, rest = cut.rpartition(b"\n")
    lines = [json.loads(line) for line in whole_lines.splitlines()]
    assert {run.run_id for run in runs} >= {line["run"] for line in lines}
    try:
        json.loads(rest or "{}")
    except ValueError:
        assert all(run.unreadable == 1 for run in runs)
    for run in runs:
        account(run)
    page(runs)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.data())
def test_a_trace_with_anything_in_it_reads(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    lines = content.splitlines(keepends=True)
    number = data.draw(st.integers(0, len(lines) - 1))
    line = json.loads(lines[number])
    where = data.draw(st.sampled_from(sorted(line)))
    if where != "format":
        line[where] = data.draw(JUNK)
    lines[number] = json.dumps(line).encode() + b"\n"
    for run in read(tmp_path_factory, b"".join(lines)):
        account(run)
        page([run])


@given(st.binary())
def test_what_is_no_trace_at_all_reads_as_no_run(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    assert read(tmp_path_factory, content) == ()


def test_a_run_id_that_begins_again_is_another_run(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    runs = read(tmp_path_factory, content + content)
    assert sorted(run.run_id for run in runs) == ["one", "one", "two", "two"]
    assert [len(run.steps) for run in runs] == [1, 1, 1, 1]


def test_a_trace_of_a_later_format_says_so(tmp_path: Path) -> None:
    line = {"event": "start", "run": "r", "at": 0, "format": 99, "reactext": "9.0"}
    (tmp_path / "t.jsonl").write_text(json.dumps(line), encoding="utf-8")
    with pytest.raises(SetupError, match=r"has format 99 and was written by reactext 9\.0"):
        read_trace(tmp_path / "t.jsonl")


def test_no_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is no trace to read at"):
        read_trace(tmp_path / "none.jsonl")
