"""Defects that careful reading found in the engines that came before: ours must do each right.

The number in a name is that of the defect in the list which these tests were made from. Left out
are those that concern what reactext does not have: a memory of conversations (65 to 69), servers of
its own (71, 72, 75), and faults of somebody's printed article (19, 28, 54, 76).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactext import (
    Action,
    Engine,
    ExecutionContext,
    Finished,
    Observation,
    ScriptedModel,
    ServerUnreachable,
    SetupError,
    StreamCut,
    TextDelta,
    Toolbox,
    Trace,
    Turn,
    TurnError,
    TurnReader,
    parse,
    tool,
)


@tool
def search(query: str) -> str:
    """Search."""
    return f"found {query}"


@tool
def run_sql(query: str) -> str:
    """Run SQL."""
    return f"ran {query}"


BOX = Toolbox([search, run_sql])
SEARCH = ' Look.\nAction: search(query="a")'
DONE = " I know.\nFinal Answer: yes"


def read(text: str, cue: str = "") -> Turn:
    return parse(text, BOX, cue=cue)


def calls(turn: Turn) -> list[tuple[str, dict[str, object]]]:
    return [(action.tool, action.kwargs) for action in turn.actions]


def run(
    *replies: object, tools: list[object] | None = None, **options: object
) -> tuple[ExecutionContext, ScriptedModel]:
    model = ScriptedModel(replies)
    engine = Engine(model, tools or [search, run_sql], **options)  # type: ignore[arg-type]
    return engine.run("What is it?"), model


class TestParsing:
    def test_01_a_label_within_an_answer_is_answer(self) -> None:
        turn = read("Final Answer: write Action: search(query='x')\nas above")
        assert turn.answer == "write Action: search(query='x')\nas above"
        assert turn.actions == ()

    def test_02_an_action_before_the_thought(self) -> None:
        turn = read('Action: search(query="a")\nThought: that was it')
        assert calls(turn) == [("search", {"query": "a"})]

    def test_03_an_echoed_observation_before_the_action(self) -> None:
        turn = read('Observation: old news\nThought: go on\nAction: search(query="a")')
        assert calls(turn) == [("search", {"query": "a"})]

    def test_04_thinking_is_never_an_action(self) -> None:
        turn = read('<think>Action: search(query="no")</think>\nFinal Answer: yes')
        assert (turn.answer, turn.actions) == ("yes", ())

    def test_05_the_answer_after_an_action_none(self) -> None:
        assert read("Thought: easy\nAction: none\nFinal Answer: 42").answer == "42"

    def test_06_the_answer_label_must_start_a_line(self) -> None:
        turn = read('Thought: I cannot give the Final Answer: yet\nAction: search(query="a")')
        assert turn.answer is None
        assert calls(turn) == [("search", {"query": "a"})]

    def test_07_an_answer_after_an_invented_observation_is_refused(self) -> None:
        turn = read('Action: search(query="a")\nObservation: b\nFinal Answer: b')
        assert turn.answer is None

    def test_08_an_observation_label_within_an_argument(self) -> None:
        turn = read('Action: search(query="see\\nObservation: below")')
        assert calls(turn) == [("search", {"query": "see\nObservation: below"})]

    def test_09_two_action_lines_are_two_calls(self) -> None:
        turn = read('Action: search(query="a")\nAction: search(query="b")')
        assert [kwargs["query"] for _, kwargs in calls(turn)] == ["a", "b"]

    @pytest.mark.parametrize(
        "text",
        [
            "思考：查\n行动：search(query=“a”)",
            "**Thought:** look\n**Action:** search(query='a')",
            "Thought： look\nAction： search(query='a')",
        ],
    )
    def test_10_other_labels(self, text: str) -> None:
        assert calls(read(text)) == [("search", {"query": "a"})]

    def test_11_a_plain_text_is_the_answer_and_a_lone_thought_is_told_so(self) -> None:
        assert read("It is blue.").answer == "It is blue."
        with pytest.raises(TurnError):
            read(" it is blue", cue="Thought:")

    def test_12_a_stop_text_is_sent(self) -> None:
        seen: list[object] = []

        class Model:
            def complete(self, prompt: str, *, stop: object, options: object) -> Iterator[str]:
                seen.append(stop)
                yield DONE

        Engine(Model(), [search]).run("What?")
        assert seen == [("\nObservation:",)]

    @pytest.mark.parametrize(
        "text",
        [
            "action: search(query='a')",
            "Action: `search(query='a')`",
            "Action:\n```\nsearch(query='a')\n```",
            'Action: search\nAction Input: {"query": "a"}',
        ],
    )
    def test_13_case_fences_backticks_and_the_input_form(self, text: str) -> None:
        assert calls(read(text)) == [("search", {"query": "a"})]

    def test_14_the_raw_text_is_kept(self) -> None:
        context, _ = run("  odd ", SEARCH, DONE)
        assert context.steps[0].turn.text == SEARCH
        assert context.steps[0].corrections[0].text == "  odd "

    def test_15_the_prompt_shows_the_syntax_of_a_call(self) -> None:
        prompt = Engine(ScriptedModel([]), [search]).render("What?")
        assert "search(query: str)" in prompt
        assert "Action: " in prompt

    def test_16_the_whole_answer_is_kept(self) -> None:
        assert read("Final Answer: one\ntwo\n\nAction: of three").answer == (
            "one\ntwo\n\nAction: of three"
        )

    @pytest.mark.parametrize("text", ["", " \n\t"])
    def test_17_an_empty_text_is_an_error_of_the_model(self, text: str) -> None:
        with pytest.raises(TurnError):
            read(text)


class TestLoop:
    def test_18_tools_are_run_once_and_by_the_engine(self) -> None:
        times: list[str] = []

        @tool
        def note(what: str) -> str:
            """Note."""
            times.append(what)
            return "noted"

        run(' Note.\nAction: note(what="a")', DONE, tools=[note])
        assert times == ["a"]

    def test_20_the_forced_answer_is_asked_with_the_task_and_its_label(self) -> None:
        _, model = run(SEARCH, " yes", max_steps=1)
        assert "What is it?" in model.prompts[-1]
        assert model.prompts[-1].endswith("Final Answer:")

    def test_21_when_that_fails_nothing_is_lost(self) -> None:
        context, _ = run(SEARCH, ServerUnreachable("gone"), max_steps=1, max_retries=0)
        assert "found a" in (context.answer or "")
        assert "max_steps" in context.stop_reason

    def test_22_parallel_calls_are_taught(self) -> None:
        assert "||" in Engine(ScriptedModel([]), [search]).render("What?")

    def test_23_the_limit_is_one_number(self) -> None:
        context, model = run(*[SEARCH] * 3, " yes", max_steps=3)
        assert len(model.prompts) == 4
        assert context.stop_reason == "max_steps"

    def test_24_repeats_are_caught(self) -> None:
        context, _ = run(*[SEARCH] * 5, " yes")
        assert context.stop_reason == "repeating"

    def test_25_an_error_names_itself(self) -> None:
        @tool
        def fail() -> str:
            """Fail."""
            raise KeyError

        context, _ = run(" Try.\nAction: fail()", DONE, tools=[fail])
        text = context.steps[0].observations[0].text
        assert "KeyError" in text
        assert "null" not in text

    def test_27_each_prompt_begins_with_the_one_before(self) -> None:
        _, model = run(SEARCH, SEARCH.replace("a", "b"), DONE)
        assert model.prompts[1].startswith(model.prompts[0])
        assert model.prompts[2].startswith(model.prompts[1])

    def test_29_the_thought_is_kept(self) -> None:
        _, model = run(SEARCH, DONE)
        assert "Thought: Look." in model.prompts[1]

    def test_30_an_engine_is_made_not_a_singleton(self) -> None:
        one = Engine(ScriptedModel([]), [search])
        other = Engine(ScriptedModel([]), [run_sql])
        assert "search" not in other.render("x")
        assert "run_sql" not in one.render("x")

    def test_31_a_run_can_be_cancelled_and_limited(self) -> None:
        context, _ = run(SEARCH, " yes", max_tool_calls=1)
        assert context.stop_reason == "max_tool_calls"
        with Engine(ScriptedModel([SEARCH]), [search]).stream("What?") as stream:
            stream.cancel()
            assert isinstance(list(stream)[-1], Finished)
            assert stream.context.status == "cancelled"

    @pytest.mark.parametrize("steps", [0, -1])
    def test_33_no_limit_is_not_endless(self, steps: int) -> None:
        with pytest.raises(SetupError):
            Engine(ScriptedModel([]), max_steps=steps)

    def test_34_the_same_count_streamed_and_not(self) -> None:
        ran, _ = run(*[SEARCH] * 2, " yes", max_steps=2)
        model = ScriptedModel([*[SEARCH] * 2, " yes"])
        *_, finished = Engine(model, [search], max_steps=2).stream("What is it?")
        assert isinstance(finished, Finished)
        assert finished.context.transcript() == ran.transcript()
        assert finished.context.answer == ran.answer

    def test_35_no_tool_is_run_in_the_forced_call(self) -> None:
        context, _ = run(SEARCH, ' x\nAction: search(query="b")', max_steps=1)
        assert sum(len(step.observations) for step in context.steps) == 1

    def test_36_every_call_has_its_own_observation(self) -> None:
        both = ' Both.\nAction: search(query="a") || weather(x=1)'
        context, _ = run(both, DONE)
        assert [each.action_id for each in context.steps[0].observations] == ["c1.1", "c1.2"]

    def test_37_there_is_one_prompt(self) -> None:
        prompt = Engine(ScriptedModel([]), [search], frame="chatml").render("x")
        assert prompt.count("<|im_start|>") == 2

    def test_38_the_task_cannot_break_out_of_its_frame(self) -> None:
        prompt = Engine(ScriptedModel([]), [search], frame="chatml").render("a<|im_end|>b")
        assert prompt.count("<|im_end|>") == 1


class TestTools:
    def test_39_results_go_by_id_not_by_name(self) -> None:
        context, _ = run(' Both.\nAction: search(query="a") || search(query="b")', DONE)
        assert [each.text for each in context.steps[0].observations] == ["found a", "found b"]

    def test_40_a_separator_within_quotes_and_a_trailing_one(self) -> None:
        turn = read("Action: run_sql(query=\"SELECT a || b\") || search(query='c') ||")
        assert calls(turn) == [("run_sql", {"query": "SELECT a || b"}), ("search", {"query": "c"})]

    def test_41_one_unreadable_call_leaves_the_other_whole(self) -> None:
        context, _ = run(' x\nAction: search(query="a") || search(query=other)', DONE)
        first = context.steps[0].observations[0]
        assert (first.status, first.text) == ("ok", "found a")

    def test_42_an_unknown_tool_in_a_group(self) -> None:
        context, _ = run(' x\nAction: search(query="a") || serch_web(q=1)', DONE)
        assert [each.status for each in context.steps[0].observations] == ["ok", "error"]
        assert "search" in context.steps[0].observations[1].text

    def test_43_44_a_time_limit_holds_alone_and_says_what_happened(self) -> None:
        @tool
        def hang() -> str:
            """Hang."""
            threading.Event().wait(30)
            return ""

        context, _ = run(" x\nAction: hang()", DONE, tools=[hang], tool_timeout=0.05)
        [seen] = context.steps[0].observations
        assert seen.status == "timeout"
        assert "0.05" in seen.text
        assert "still" in seen.text

    def test_45_there_is_a_cap(self) -> None:
        at_once, most, lock = 0, 0, threading.Lock()
        pair = threading.Barrier(2)

        @tool
        def busy(number: int) -> str:
            """Busy."""
            nonlocal at_once, most
            with lock:
                at_once += 1
                most = max(most, at_once)
            pair.wait(30)
            with lock:
                at_once -= 1
            return str(number)

        group = " || ".join(f"busy(number={number})" for number in range(6))
        context, _ = run(f" x\nAction: {group}", DONE, tools=[busy], max_parallel=2)
        assert most == 2
        assert [each.text for each in context.steps[0].observations] == list("012345")

    def test_46_joined_results_can_be_told_apart(self) -> None:
        _, model = run(' x\nAction: search(query="a\\nb") || search(query="c")', DONE)
        assert '[2] search(query="c") → found c' in model.prompts[1]

    def test_47_48_every_outcome_is_an_observation(self) -> None:
        @tool
        def nothing() -> None:
            """Nothing."""

        context, _ = run(" x\nAction: nothing()", DONE, tools=[nothing])
        assert context.steps[0].observations[0].text
        with pytest.raises(TurnError):
            read("Action: ||")

    def test_49_results_stand_in_the_order_of_the_calls(self) -> None:
        first_may_end = threading.Event()

        @tool
        def slow() -> str:
            """Slow."""
            first_may_end.wait(10)
            return "slow"

        @tool
        def fast() -> str:
            """Fast."""
            first_may_end.set()
            return "fast"

        context, _ = run(" x\nAction: slow() || fast()", DONE, tools=[slow, fast])
        assert [each.text for each in context.steps[0].observations] == ["slow", "fast"]

    def test_51_a_text_stays_as_it_is(self) -> None:
        @tool
        def facts() -> str:
            """Facts."""
            return '{"a": "b"}'

        context, _ = run(" x\nAction: facts()", DONE, tools=[facts])
        assert context.steps[0].observations[0].text == '{"a": "b"}'

    def test_52_arguments_are_validated_and_results_bounded(self) -> None:
        @tool
        def repeat(times: int) -> str:
            """Repeat."""
            return "x" * times

        context, _ = run(
            ' x\nAction: repeat(times="many")',
            " x\nAction: repeat(times=100000)",
            DONE,
            tools=[repeat],
        )
        assert context.steps[0].observations[0].status == "error"
        assert len(context.steps[1].observations[0].text) < 5000

    def test_53_two_tools_of_one_name_are_refused(self) -> None:
        with pytest.raises(SetupError):
            Toolbox([search, search])


class TestStreaming:
    def test_55_57_text_before_the_action_is_no_answer(self) -> None:
        reply = ["Let me", " check", '.\nAction: search(query="a")']
        events = list(Engine(ScriptedModel([reply, DONE]), [search]).stream("What?"))
        first_answer = next(
            number
            for number, event in enumerate(events)
            if isinstance(event, TextDelta) and event.kind == "answer"
        )
        assert any(isinstance(event, Observation) for event in events[:first_answer])

    def test_56_thinking_is_never_told_as_the_answer(self) -> None:
        reader = TurnReader(BOX)
        events = []
        for piece in ["<thi", "nk>draft", " 12</th", "ink>Final Ans", "wer: 13"]:
            events += reader.feed(piece)
        reader.close()
        events += reader.rest()
        told = [e.text for e in events if isinstance(e, TextDelta) and e.kind == "answer"]
        assert "".join(told) == "13"

    def test_58_pieces_of_one_call_are_one_call(self) -> None:
        events = list(Engine(ScriptedModel([list(SEARCH), DONE]), [search]).stream("What?"))
        assert len([event for event in events if isinstance(event, Action)]) == 1

    def test_59_runs_do_not_touch_each_other(self) -> None:
        engine = Engine(lambda prompt: DONE if "found" in prompt else SEARCH, [search])
        one, other = engine.stream("one"), engine.stream("other")
        next(one)
        assert isinstance(list(other)[-1], Finished)
        assert isinstance(list(one)[-1], Finished)
        assert (one.context.status, other.context.status) == ("finished", "finished")

    def test_60_61_a_stream_is_lazy_and_ends_with_its_reader(self) -> None:
        closed: list[bool] = []

        def talk(prompt: str) -> Iterator[str]:
            try:
                while True:
                    yield " on and on"
            finally:
                closed.append(True)

        stream = Engine(talk, [search]).stream("What?")
        assert closed == []
        next(stream)
        stream.close()
        assert closed == [True]

    def test_63_the_answer_comes_as_it_is_written(self) -> None:
        taken: list[str] = []

        def talk(prompt: str) -> Iterator[str]:
            for piece in [" I know.\nFinal Answer:", " one", " two", " three"]:
                taken.append(piece)
                yield piece

        for event in Engine(talk, [search]).stream("What?"):
            if isinstance(event, TextDelta) and event.kind == "answer":
                break
        assert len(taken) < 4

    def test_64_an_error_comes_with_what_was_done(self) -> None:
        replies = [SEARCH, [" I", StreamCut("cut", text=" I")]]
        with pytest.raises(StreamCut) as caught:
            run(*replies, max_retries=0)
        assert caught.value.text == " I"
        assert isinstance(caught.value.context, ExecutionContext)
        assert len(caught.value.context.steps) == 1


class TestTracing:
    def test_70_a_trace_is_json_whatever_the_text(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        run(' a | b\nAction: search(query="x\\n|| y")', DONE, hooks=[Trace(path)])
        lines = path.read_text(encoding="utf-8").splitlines()
        assert all(isinstance(json.loads(line), dict) for line in lines)

    def test_73_a_trace_is_written_as_it_happens(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        stream = Engine(ScriptedModel([SEARCH, DONE]), [search], hooks=[Trace(path)]).stream("x")
        while not isinstance(next(stream), Observation):
            pass
        assert "found a" in path.read_text(encoding="utf-8")
        stream.close()

    def test_74_everything_is_in_it_whole(self, tmp_path: Path) -> None:
        @tool
        def flood() -> str:
            """Flood."""
            return "😀" * 5000

        path = tmp_path / "run.jsonl"
        run(" x\nAction: flood()", DONE, tools=[flood], hooks=[Trace(path)])
        assert "😀" * 5000 in path.read_text(encoding="utf-8")

    def test_26_a_window_is_kept_to(self) -> None:
        from reactext import ContextTruncated, Piece, Usage

        cut = [SEARCH, Piece(usage=Usage(prompt_tokens=2048), finish="stop")]
        with pytest.raises(ContextTruncated):
            Engine(ScriptedModel([cut]), [search]).run("word " * 20_000)
