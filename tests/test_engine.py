"""The loop, with scripted models: what is sent, what comes back, and that no step is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from reactext import (
    Action,
    AnswerNow,
    Cancellation,
    Correction,
    Engine,
    ExecutionContext,
    Finished,
    FinishRun,
    Hook,
    LimitReached,
    Moment,
    Observation,
    Piece,
    ScriptedModel,
    ServerUnreachable,
    SetupError,
    Step,
    StreamCut,
    TextDelta,
    Usage,
    tool,
)


@tool
def look_up(city: str) -> str:
    """The number of people in a city."""
    return {"Oslo": "709000", "Lima": "10092000"}.get(city, "unknown")


@tool
def broken() -> str:
    """Always fails."""
    raise RuntimeError("no line to the archive")


OSLO = ' I look it up.\nAction: look_up(city="Oslo")'
BOTH = ' Both.\nAction: look_up(city="Oslo") || look_up(city="Lima")'
DONE = " I know the answer.\nFinal Answer: 709000"


def run(*replies: object, **options: object) -> tuple[ExecutionContext, ScriptedModel]:
    model = ScriptedModel(replies)
    engine = Engine(model, [look_up, broken], **options)  # type: ignore[arg-type]
    return engine.run("How many people live in Oslo?"), model


def test_a_run_from_question_to_answer() -> None:
    context, model = run(OSLO, DONE)
    assert (context.status, context.answer) == ("finished", "709000")
    assert [step.turn.thought for step in context.steps] == ["I look it up.", "I know the answer."]
    [observation] = context.steps[0].observations
    assert (observation.text, observation.status) == ("709000", "ok")
    assert model.prompts[1] == model.prompts[0] + OSLO + "\nObservation: 709000\nThought:"


def test_every_prompt_begins_with_the_one_before_and_ends_in_the_cue() -> None:
    context, model = run(OSLO, BOTH, ' Once more.\nAction: look_up(city="Rome")\n', DONE)
    assert context.status == "finished"
    for before, after in zip(model.prompts, model.prompts[1:], strict=False):
        assert after.startswith(before)
    assert all(prompt.endswith("Thought:") for prompt in model.prompts)


def test_render_is_the_first_prompt() -> None:
    model = ScriptedModel([DONE])
    engine = Engine(model, [look_up])
    rendered = engine.render("How many?")
    engine.run("How many?")
    assert model.prompts == [rendered]


def test_two_calls_are_observed_in_their_order() -> None:
    context, model = run(BOTH, DONE)
    assert [each.text for each in context.steps[0].observations] == ["709000", "10092000"]
    assert [each.action_id for each in context.steps[0].observations] == ["c1.1", "c1.2"]
    assert "\nObservation: 709000 || 10092000\nThought:" in model.prompts[1]


def test_the_stream_tells_everything_in_order() -> None:
    engine = Engine(ScriptedModel([list(OSLO), list(DONE)]), [look_up])
    events = list(engine.stream("How many?"))
    kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
    assert kinds == [Action, Observation, Step, Step, Finished]
    told = "".join(e.text for e in events if isinstance(e, TextDelta) and e.kind == "answer")
    assert told == "709000"
    thoughts = [e.text for e in events if isinstance(e, TextDelta) and e.kind == "thought"]
    assert "".join(thoughts) == "I look it up.I know the answer."


def test_nothing_is_asked_before_the_first_event() -> None:
    model = ScriptedModel([DONE])
    stream = Engine(model, [look_up]).stream("How many?")
    assert model.prompts == []
    stream.close()
    assert model.prompts == []
    assert stream.context.status == "running" or stream.context.status == "cancelled"


class TestUnreadableTurns:
    def test_the_model_is_told_what_was_missing_with_a_right_line(self) -> None:
        context, model = run(" I wonder.", DONE)
        assert context.answer == "709000"
        told = model.prompts[1].removeprefix(model.prompts[0])
        assert told.startswith(" I wonder.\nObservation: Error: ")
        assert "look_up(city=" in told
        [correction] = context.steps[0].corrections
        assert correction.text == " I wonder."

    def test_they_do_not_stay_in_the_transcript(self) -> None:
        context, model = run(" I wonder.", OSLO, DONE)
        assert model.prompts[2] == model.prompts[0] + OSLO + "\nObservation: 709000\nThought:"
        assert "wonder" not in context.transcript()

    def test_the_same_bytes_again_change_the_temperature(self) -> None:
        _, model = run(" I wonder.", " I wonder.", DONE)
        assert [options.temperature for options in model.options] == [0.0, 0.0, 0.7]

    def test_after_too_many_the_answer_is_asked_for(self) -> None:
        context, model = run("", " a", " b", " 709000")
        assert (context.status, context.stop_reason) == ("forced", "unreadable")
        assert context.answer == "709000"
        assert len(context.steps[-1].corrections) == 3
        assert model.prompts[-1].endswith("\nFinal Answer:")

    def test_the_count_begins_anew_with_each_step(self) -> None:
        context, _ = run("", "", OSLO, "", "", DONE)
        assert context.status == "finished"

    def test_they_are_events(self) -> None:
        engine = Engine(ScriptedModel(["", DONE]), [look_up])
        assert any(isinstance(event, Correction) for event in engine.stream("How many?"))


class TestTheLimitOfSteps:
    def test_one_more_call_asks_for_the_answer(self) -> None:
        context, model = run(OSLO, OSLO, " 709000 people", max_steps=2)
        assert (context.status, context.stop_reason) == ("forced", "max_steps")
        assert context.answer == "709000 people"
        assert model.prompts[2].endswith("\nFinal Answer:")
        assert "How many people live in Oslo?" in model.prompts[2]
        assert model.prompts[2].startswith(model.prompts[1])

    def test_an_answer_in_the_last_step_is_an_answer(self) -> None:
        context, _ = run(OSLO, DONE, max_steps=2)
        assert (context.status, context.stop_reason) == ("finished", "")

    @pytest.mark.parametrize("last", ["", ServerUnreachable("nobody is there")])
    def test_without_an_answer_the_observations_are_returned(self, last: object) -> None:
        context, _ = run(OSLO, last, max_steps=1, max_retries=0)
        assert context.status == "forced"
        assert context.stop_reason.startswith("max_steps; ")
        assert 'look_up(city="Oslo"): 709000' in (context.answer or "")

    def test_or_an_error_is_raised_that_holds_the_steps(self) -> None:
        with pytest.raises(LimitReached, match="max_steps") as caught:
            run(OSLO, DONE, max_steps=1, on_limit="error")
        assert isinstance(caught.value.context, ExecutionContext)
        assert len(caught.value.context.steps) == 1


class TestTheServersFaults:
    def test_steps_done_are_kept(self) -> None:
        with pytest.raises(ServerUnreachable) as caught:
            run(OSLO, ServerUnreachable("gone"), max_retries=0)
        context = caught.value.context
        assert isinstance(context, ExecutionContext)
        assert (context.status, len(context.steps)) == ("failed", 1)
        assert "gone" in context.stop_reason

    def test_a_fault_that_may_pass_is_tried_again(self) -> None:
        context, _ = run([" I loo", StreamCut("cut", text=" I loo")], OSLO, DONE)
        assert context.status == "finished"
        [fault] = context.steps[0].corrections
        assert (fault.text, fault.problem) == (" I loo", "cut")

    def test_the_next_model_takes_over(self) -> None:
        first = ScriptedModel([ServerUnreachable("gone")])
        second = ScriptedModel([OSLO, DONE])
        context = Engine([first, second], [look_up], max_retries=0).run("How many?")
        assert context.answer == "709000"
        assert len(second.prompts) == 2


class TestTools:
    def test_a_raising_tool_is_an_observation(self) -> None:
        context, model = run(" Try.\nAction: broken()", DONE)
        [observation] = context.steps[0].observations
        assert observation.status == "error"
        assert "no line to the archive" in model.prompts[1]

    def test_an_unknown_tool_is_told_the_names(self) -> None:
        context, model = run(" Try.\nAction: lookup_city(x=1)", DONE)
        [observation] = context.steps[0].observations
        assert observation.status == "error"
        assert "look_up" in model.prompts[1]

    def test_wrong_arguments_are_told_with_the_right_line(self) -> None:
        _, model = run(" Try.\nAction: look_up(town=3)", DONE)
        assert "look_up(city=" in model.prompts[1]

    def test_a_megabyte_is_bounded_and_kept(self) -> None:
        @tool
        def flood() -> str:
            """Much."""
            return "x" * 1_000_000

        model = ScriptedModel([" Try.\nAction: flood()", DONE])
        context = Engine(model, [flood]).run("How much?")
        assert len(model.prompts[1]) < len(model.prompts[0]) + 6000
        [observation] = context.steps[0].observations
        assert observation.truncated
        assert observation.full == "x" * 1_000_000


class TestTheExampleOfThePrompt:
    """Small models give its answer where they do not know one."""

    def test_its_answer_is_corrected(self) -> None:
        context, model = run(" I know.\nFinal Answer: Turku 206035, Cusco 428450.", DONE)
        assert (context.status, context.answer) == ("finished", "709000")
        assert "answer the question itself" in model.prompts[1]
        assert len(context.steps[0].corrections) == 1

    def test_a_forced_answer_of_it_is_no_answer(self) -> None:
        copied = " I know.\nFinal Answer: Turku 206035."
        context, _ = run(copied, copied, copied, copied)
        assert context.status == "forced"
        assert "206035" not in (context.answer or "")

    @pytest.mark.parametrize("task", ["Is 206035 much?", "How many is 428450 - 1?"])
    def test_its_figures_may_be_asked_for(self, task: str) -> None:
        model = ScriptedModel([" I know.\nFinal Answer: 206035 or 428450 is much."])
        assert Engine(model, []).run(task).status == "finished"

    def test_its_figures_may_come_from_a_tool(self) -> None:
        @tool
        def population(city: str) -> int:
            """How many people live there."""
            return 206035

        model = ScriptedModel(
            [' I look.\nAction: population(city="Turku")', " I know.\nFinal Answer: Turku 206035."]
        )
        assert Engine(model, [population]).run("How many live in Turku?").answer == "Turku 206035."


class TestRepeats:
    @pytest.fixture
    def calls(self) -> list[str]:
        return []

    def test_an_idempotent_call_is_answered_from_memory(self, calls: list[str]) -> None:
        @tool(idempotent=True)
        def count(what: str) -> str:
            """Count."""
            calls.append(what)
            return "3"

        reply = ' Count.\nAction: count(what="a")'
        context = Engine(ScriptedModel([reply, reply, DONE]), [count]).run("How many?")
        assert calls == ["a"]
        assert [step.observations[0].status for step in context.steps[:2]] == ["ok", "repeated"]

    def test_the_fifth_time_the_answer_is_asked_for(self) -> None:
        context, _ = run(*[OSLO] * 5, " 709000")
        assert (context.status, context.stop_reason) == ("forced", "repeating")

    def test_twice_in_one_turn_is_two_calls(self, calls: list[str]) -> None:
        @tool(idempotent=True)
        def count(what: str) -> str:
            """Count."""
            calls.append(what)
            return "3"

        reply = ' Count.\nAction: count(what="a") || count(what="a")'
        Engine(ScriptedModel([reply, DONE]), [count]).run("How many?")
        assert calls == ["a", "a"]

    def test_a_tool_that_keeps_failing_is_set_aside(self) -> None:
        replies = [f" Try {number}.\nAction: broken()" for number in range(4)]
        context, model = run(*replies, DONE)
        assert context.steps[3].observations[0].status == "skipped"
        assert "set aside" in model.prompts[4]


class TestHooks:
    def test_around_an_action(self) -> None:
        class Shout(Hook):
            def around_action(self, moment, action, proceed):  # type: ignore[no-untyped-def]
                seen = proceed(action)
                return seen.model_copy(update={"text": seen.text + "!"})

        context, model = run(OSLO, DONE, hooks=[Shout()])
        assert context.steps[0].observations[0].text == "709000!"
        assert "Observation: 709000!" in model.prompts[1]

    def test_the_run_can_be_finished(self) -> None:
        class Enough(Hook):
            def before_step(self, moment: Moment) -> None:
                if moment.context.steps:
                    raise FinishRun("enough", "seen")

        context, _ = run(OSLO, hooks=[Enough()])
        assert (context.status, context.answer) == ("finished", "enough")
        assert context.stop_reason == "seen"

    def test_the_answer_can_be_asked_for(self) -> None:
        class Now(Hook):
            def before_step(self, moment: Moment) -> None:
                raise AnswerNow("impatient")

        context, _ = run(" 3", hooks=[Now()])
        assert (context.status, context.stop_reason) == ("forced", "impatient")

    def test_all_moments_are_called(self) -> None:
        seen: list[str] = []

        class Watch(Hook):
            def before_step(self, moment):  # type: ignore[no-untyped-def]
                seen.append("step")

            def before_prompt(self, moment, prompt):  # type: ignore[no-untyped-def]
                seen.append("prompt")
                return prompt

            def after_turn(self, moment, turn):  # type: ignore[no-untyped-def]
                seen.append("turn")
                return turn

            def on_event(self, moment, event):  # type: ignore[no-untyped-def]
                seen.append(type(event).__name__)

            def at_end(self, moment):  # type: ignore[no-untyped-def]
                seen.append(moment.context.status)

        run(DONE, hooks=[Watch()])
        assert [each for each in seen if each != "TextDelta"] == [
            "step",
            "prompt",
            "turn",
            "Step",
            "finished",
        ]

    def test_what_a_hook_raises_reaches_the_caller(self) -> None:
        class Bad(Hook):
            def after_turn(self, moment, turn):  # type: ignore[no-untyped-def]
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            run(DONE, hooks=[Bad()])


class TestCancelling:
    def test_from_another_thread_while_a_tool_runs(self) -> None:
        began = threading.Event()

        @tool
        def wait_long() -> str:
            """Wait."""
            began.set()
            threading.Event().wait(30)
            return "late"

        model = ScriptedModel([OSLO, " Wait.\nAction: wait_long()", DONE])
        cancellation = Cancellation()

        def cancel() -> None:
            began.wait(10)
            cancellation.cancel("enough")

        helper = threading.Thread(target=cancel)
        helper.start()
        context = Engine(model, [look_up, wait_long]).run("How?", cancellation=cancellation)
        helper.join()
        assert (context.status, context.stop_reason) == ("cancelled", "enough")
        assert len(context.steps) == 2
        assert context.steps[1].observations[0].status == "error"
        assert "cancelled" in context.steps[1].observations[0].text

    def test_while_the_model_writes(self) -> None:
        cancellation = Cancellation()

        def endless(prompt: str) -> Iterator[str]:
            yield " I think"
            cancellation.cancel("enough")
            while True:
                yield " and think"

        context = Engine(endless, [look_up]).run("How?", cancellation=cancellation)
        assert (context.status, context.steps) == ("cancelled", ())

    def test_ctrl_c_gives_the_context_back(self) -> None:
        context, _ = run(OSLO, [" I", KeyboardInterrupt()])
        assert (context.status, context.stop_reason) == ("cancelled", "interrupted")
        assert len(context.steps) == 1

    def test_a_deadline(self) -> None:
        @tool
        def wait_long() -> str:
            """Wait."""
            threading.Event().wait(30)
            return "late"

        model = ScriptedModel([" Wait.\nAction: wait_long()"])
        context = Engine(model, [wait_long]).run("How?", deadline=0.05)
        assert (context.status, context.stop_reason) == ("cancelled", "deadline")

    def test_leaving_the_stream_closes_the_model(self) -> None:
        closed: list[bool] = []

        def talk(prompt: str) -> Iterator[str]:
            try:
                yield " I think"
                yield " and think"
            finally:
                closed.append(True)

        with Engine(talk, [look_up]).stream("How?") as stream:
            next(stream)
        assert closed == [True]
        assert stream.context.status == "cancelled"


class TestStoppingAtOnce:
    def test_an_invented_observation_ends_the_completion(self) -> None:
        given: list[str] = []

        def ramble(prompt: str) -> Iterator[str]:
            if "Observation: 709000" in prompt.rpartition("Question:")[2]:
                yield DONE
                return
            for piece in [OSLO, "\nObser", "vation", ": 5", "\nThought:", " never"]:
                given.append(piece)
                yield piece

        class Ignorant:
            def complete(self, prompt: str, **_: object) -> Iterator[str]:
                return ramble(prompt)

        context = Engine(Ignorant(), [look_up]).run("How many people live in Oslo?")
        assert context.answer == "709000"
        assert context.steps[0].turn.text == OSLO + "\n"
        assert "\nThought:" not in given


def test_reasoning_sent_apart_is_kept_apart() -> None:
    thinking = [Piece("I muse", channel="thinking"), OSLO, Piece(usage=Usage(prompt_tokens=9))]
    engine = Engine(ScriptedModel([thinking, DONE]), [look_up])
    events = list(engine.stream("How many?"))
    assert TextDelta(kind="thinking", text="I muse") in events
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.context.steps[0].turn.thinking == "I muse"
    assert finished.context.usage.prompt_tokens == 9


def test_a_hundred_threads_share_an_engine() -> None:
    def reply(prompt: str) -> str:
        task = prompt.rpartition("Question: ")[2]
        number = task.split()[1]
        if f"Observation: got {number}" in task:
            return f" Done.\nFinal Answer: {number}"
        return f" Ask.\nAction: echo(number={number})"

    @tool
    def echo(number: int) -> str:
        """Say it back."""
        return f"got {number}"

    engine = Engine(reply, [echo])
    answers: dict[int, str | None] = {}

    def work(number: int) -> None:
        answers[number] = engine.run(f"Number {number} please").answer

    threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: str(number) for number in range(100)}


class TestAsync:
    def test_arun(self) -> None:
        engine = Engine(ScriptedModel([OSLO, DONE]), [look_up])
        assert asyncio.run(engine.arun("How many?")).answer == "709000"

    def test_astream_tells_what_stream_tells(self) -> None:
        async def events() -> list[object]:
            engine = Engine(ScriptedModel([OSLO, DONE]), [look_up])
            return [event async for event in engine.astream("How many?", run_id="r")]

        engine = Engine(ScriptedModel([OSLO, DONE]), [look_up])
        told = [event for event in asyncio.run(events()) if isinstance(event, TextDelta | Action)]
        assert told == [
            event
            for event in engine.stream("How many?", run_id="r")
            if isinstance(event, TextDelta | Action)
        ]

    def test_errors_come_through(self) -> None:
        engine = Engine(ScriptedModel([ServerUnreachable("gone")]), [look_up], max_retries=0)
        with pytest.raises(ServerUnreachable):
            asyncio.run(engine.arun("How many?"))

    def test_leaving_cancels(self) -> None:
        stopped = threading.Event()

        def endless(prompt: str) -> Iterator[str]:
            try:
                while True:
                    yield " and think"
            finally:
                stopped.set()

        async def leave() -> None:
            stream = Engine(endless, [look_up]).astream("How?")
            async for _ in stream:
                break
            await stream.aclose()

        asyncio.run(leave())
        assert stopped.wait(10)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_steps": 0}, "max_steps=0"),
        ({"max_steps": 2.5}, "max_steps=2.5"),
        ({"max_steps": True}, "max_steps=True"),
        ({"max_seconds": -1}, "max_seconds=-1"),
        ({"on_limit": "shrug"}, "on_limit='shrug'"),
        ({"step_tokens": 1}, "step_tokens=1"),
        ({"max_corrections": -1}, "max_corrections=-1"),
        ({"constrain": "maybe"}, "constrain='maybe'"),
        ({"temperature": 9}, "temperature=9"),
        ({"tool_timeout": 0}, "tool_timeout=0"),
        ({"max_parallel": 0}, "max_parallel=0"),
        ({"prompts": "nowhere"}, "prompts='nowhere'"),
        ({"approve": 3}, "approve=3"),
        ({"tools": [look_up, look_up]}, "'look_up'"),
        ({"tools": look_up}, "list of tools"),
        ({"model": 3}, "3 is not a model"),
        ({"model": []}, "no model"),
    ],
)
def test_a_wrong_option_is_told_at_once(options: dict[str, object], says: str) -> None:
    given = {"model": ScriptedModel([]), "tools": [look_up]} | options
    with pytest.raises(SetupError) as caught:
        Engine(**given)  # type: ignore[arg-type]
    assert says in str(caught.value)


@pytest.mark.parametrize("task", ["", "  \n", None, 3])
def test_an_empty_task_is_told(task: object) -> None:
    with pytest.raises(SetupError, match="task"):
        Engine(ScriptedModel([]), [look_up]).run(task)  # type: ignore[arg-type]


def test_half_a_character_from_the_model_can_still_be_sent_and_stored() -> None:
    context, model = run(' Odd \ud83d.\nAction: look_up(city="\udc00")', DONE)
    model.prompts[1].encode("utf-8")
    assert ExecutionContext.model_validate_json(context.model_dump_json()) == context


def test_an_answer_that_the_server_cut_says_so() -> None:
    cut = [" I know.\nFinal Answer: 7090", Piece(finish="length")]
    context, _ = run(cut)
    assert (context.status, context.answer) == ("finished", "7090")
    assert context.stop_reason == "cut at the length limit"


class TestNothingIsLost:
    def test_what_a_group_had_observed_when_it_is_left(self) -> None:
        # the second call's result is on its way when its tool is done: a machine may take long
        left = (self.observed_when_left(pause) for pause in (0.05, 0.5, 5))
        assert ["got 1", "got 2"] in left

    def observed_when_left(self, pause: float) -> list[str]:
        both_done = threading.Event()

        @tool
        def quick(number: int) -> str:
            """Quick."""
            if number == 2:
                both_done.set()
            return f"got {number}"

        reply = " Go.\nAction: quick(number=1) || quick(number=2)"
        with Engine(ScriptedModel([reply]), [quick]).stream("Go") as stream:
            for event in stream:
                if isinstance(event, Observation):
                    assert both_done.wait(30)
                    threading.Event().wait(pause)
                    break
        return [each.text for each in stream.context.steps[0].observations]

    def test_the_context_when_a_hook_raises(self) -> None:
        class Bad(Hook):
            def before_step(self, moment: Moment) -> None:
                if moment.context.steps:
                    raise KeyError("mine")

        with pytest.raises(KeyError) as caught:
            run(OSLO, hooks=[Bad()])
        assert len(caught.value.context.steps) == 1  # type: ignore[attr-defined]

    def test_a_direct_result_in_the_last_step(self) -> None:
        @tool(return_direct=True)
        def direct() -> str:
            """Direct."""
            return "here"

        context = Engine(ScriptedModel([" x\nAction: direct()"]), [direct], max_steps=1).run("Go")
        assert (context.status, context.answer) == ("finished", "here")

    def test_what_a_failed_step_cost(self) -> None:
        counted = [Piece("", usage=Usage(prompt_tokens=7)), StreamCut("cut")]
        with pytest.raises(StreamCut) as caught:
            run(counted, max_retries=0)
        context = caught.value.context
        assert isinstance(context, ExecutionContext)
        assert context.usage.prompt_tokens == 7


@pytest.mark.parametrize("deadline", ["5", 0, -1, True])
def test_a_wrong_deadline_is_told(deadline: object) -> None:
    with pytest.raises(SetupError, match="deadline"):
        Engine(ScriptedModel([]), [look_up]).run("x", deadline=deadline)  # type: ignore[arg-type]
