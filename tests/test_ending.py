"""However a run is ended, and from wherever: nothing is lost, and nothing is left running."""

from __future__ import annotations

import asyncio
import math
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

import pytest

from reactext import (
    Cancellation,
    Completion,
    CompletionError,
    Engine,
    ExecutionContext,
    Finished,
    Hook,
    ModelCard,
    Moment,
    Observation,
    RunContext,
    ScriptedModel,
    SetupError,
    Step,
    StreamCut,
    TextDelta,
    tool,
)

LONG = 20.0
DONE = " I know.\nFinal Answer: 4"
WAIT = " Wait.\nAction: wait()"


class Waiting:
    """A tool that waits until it is told that nobody waits for it."""

    def __init__(self) -> None:
        self.began, self.told = threading.Event(), threading.Event()

        @tool
        def wait(run: RunContext) -> str:
            """Wait."""
            self.began.set()
            if run.cancellation.wait(LONG):
                self.told.set()
            return "late"

        self.tool = wait


@tool
def quick() -> str:
    """Quick."""
    return "4"


QUICK = " Go.\nAction: quick()"


class TestClosing:
    def test_from_another_thread_ends_the_run(self) -> None:
        waiting = Waiting()
        run = Engine(ScriptedModel([QUICK, WAIT]), [quick, waiting.tool]).stream("Go")

        def close() -> None:
            waiting.began.wait(LONG)
            run.close()

        helper = threading.Thread(target=close)
        helper.start()
        *_, last = run
        helper.join()
        assert isinstance(last, Finished)
        assert (last.context.status, last.context.stop_reason) == ("cancelled", "closed")
        assert len(last.context.steps) == 2
        assert waiting.told.wait(LONG)

    def test_from_a_hook_or_a_tool_of_the_run_ends_it(self) -> None:
        class Closes(Hook):
            def on_event(self, moment: Moment, event: object) -> None:
                run.close()

        run = Engine(ScriptedModel([QUICK, DONE]), [quick], hooks=[Closes()]).stream("Go")
        assert run.finish().status == "cancelled"

        @tool
        def stop() -> str:
            """Stop."""
            run.close()
            return "stopped"

        run = Engine(ScriptedModel([" x\nAction: stop()", DONE]), [stop]).stream("Go")
        assert run.finish().status == "cancelled"

    def test_while_it_is_iterated_elsewhere_the_run_is_not_iterated_again(self) -> None:
        class Nests(Hook):
            def on_event(self, moment: Moment, event: object) -> None:
                next(run)

        run = Engine(ScriptedModel([DONE]), [quick], hooks=[Nests()]).stream("Go")
        with pytest.raises(SetupError, match="iterated already"):
            run.finish()

    def test_after_the_end_marks_nobodys_token(self) -> None:
        cancellation = Cancellation()
        engine = Engine(ScriptedModel([QUICK, DONE, DONE]), [quick])
        with engine.stream("Go", cancellation=cancellation) as run:
            for _ in run:
                pass
        assert not cancellation.cancelled
        assert engine.run("Go on", cancellation=cancellation).status == "finished"
        assert not cancellation.cancelled

    @pytest.mark.parametrize(
        ("replies", "options", "status", "answer"),
        [([QUICK, DONE], {}, "finished", "4"), ([QUICK, " 5"], {"max_steps": 1}, "forced", "5")],
    )
    def test_at_the_last_step_the_answer_stands(
        self, replies: list[object], options: dict[str, int], status: str, answer: str
    ) -> None:
        engine = Engine(ScriptedModel(replies), [quick], **options)  # type: ignore[arg-type]
        with engine.stream("Go") as run:
            for event in run:
                if isinstance(event, Step) and event.turn.answer:
                    break
        assert (run.context.status, run.context.answer) == (status, answer)

    def test_twice_and_before_the_first_event(self) -> None:
        run = Engine(ScriptedModel([]), [quick]).stream("Go")
        run.close()
        run.close()
        assert list(run) == []
        assert (run.context.status, run.context.stop_reason) == ("cancelled", "closed")


class TestDeadlines:
    @pytest.mark.parametrize("deadline", [math.inf, 1e12, threading.TIMEOUT_MAX])
    def test_far_ones_are_none(self, deadline: float) -> None:
        context = Engine(ScriptedModel([QUICK, DONE]), [quick]).run("Go", deadline=deadline)
        assert context.status == "finished"

    @pytest.mark.parametrize("deadline", [math.nan, -math.inf, "5", 0, -1, True])
    def test_wrong_ones_are_told(self, deadline: object) -> None:
        with pytest.raises(SetupError, match="deadline"):
            Engine(ScriptedModel([]), [quick]).run("x", deadline=deadline)  # type: ignore[arg-type]

    def test_a_tool_may_have_all_the_time(self) -> None:
        patient = tool(quick.function, timeout=1e12, name="patient")
        model = ScriptedModel([" Go.\nAction: patient()", DONE])
        context = Engine(model, [patient], tool_timeout=1e300).run("Go")
        assert context.steps[0].observations[0].text == "4"


class TestAModelThatIsSilentAboutItself:
    def test_is_not_waited_for_when_the_run_is_cancelled(self) -> None:
        asked, told = threading.Event(), threading.Event()

        class Silent:
            def card(self) -> ModelCard:
                asked.set()
                told.wait(LONG)
                return ModelCard()

            def complete(
                self, prompt: str, *, stop: Sequence[str], options: Completion
            ) -> Iterator[str]:
                yield DONE

        run = Engine(Silent(), [quick]).stream("Go")

        def cancel() -> None:
            asked.wait(LONG)
            run.cancel()

        helper = threading.Thread(target=cancel)
        helper.start()
        [last] = run
        assert isinstance(last, Finished)
        assert last.context.status == "cancelled"
        helper.join()
        told.set()

    def test_what_it_raises_is_raised(self) -> None:
        class Broken:
            def card(self) -> ModelCard:
                raise SetupError("no such model")

            def complete(
                self, prompt: str, *, stop: Sequence[str], options: Completion
            ) -> Iterator[str]:
                yield DONE

        with pytest.raises(SetupError, match="no such model"):
            Engine(Broken(), [quick]).run("Go")


class TestTextThatIsStopped:
    def test_what_was_written_of_an_answer_is_kept(self) -> None:
        def reply(prompt: str) -> Iterator[str]:
            yield " I know.\nFinal Answer: It is "
            yield "four"
            run.cancel()
            yield " in"

        run = Engine(reply, [quick]).stream("Go")
        *_, last = run
        assert isinstance(last, Finished)
        assert last.context.status == "cancelled"
        [kept] = last.context.corrections
        assert kept.text == " I know.\nFinal Answer: It is four"
        assert "stopped" in kept.problem

    def test_a_run_that_is_left_keeps_it_too(self) -> None:
        run = Engine(ScriptedModel([QUICK, " I wonder\nwhat"]), [quick]).stream("Go")
        with run:
            for event in run:
                if isinstance(event, TextDelta) and "wonder" in event.text:
                    break
        assert len(run.context.steps) == 1
        assert [each.text for each in run.context.corrections] == [" I wonder\nwhat"]


class TestCorrectionsAfterTheLastStep:
    def test_are_kept_when_the_run_ends_in_what_the_tools_said(self) -> None:
        replies = [QUICK, "", "a", "b", ""]
        context = Engine(ScriptedModel(replies), [quick]).run("Go")
        assert context.status == "forced"
        assert [each.text for each in context.corrections] == ["", "a", "b"]
        assert ExecutionContext.model_validate_json(context.model_dump_json()) == context

    def test_are_kept_when_it_fails(self) -> None:
        replies = [QUICK, "a", StreamCut("cut")]
        with pytest.raises(CompletionError) as caught:
            Engine(ScriptedModel(replies), [quick], max_retries=0).run("Go")
        assert isinstance(caught.value.context, ExecutionContext)
        assert [each.text for each in caught.value.context.corrections] == ["a"]


class TestCtrlC:
    def test_the_first_gives_the_context_back_the_second_is_raised(self) -> None:
        interrupted = [QUICK, [" I", KeyboardInterrupt()]]
        engine = Engine(ScriptedModel(interrupted * 2), [quick])
        first = engine.run("Go")
        assert (first.status, first.stop_reason) == ("cancelled", "interrupted")
        with pytest.raises(KeyboardInterrupt) as caught:
            engine.run("Go")
        context = caught.value.context  # type: ignore[attr-defined]
        assert (context.status, len(context.steps)) == ("cancelled", 1)

    def test_a_loop_over_tasks_ends_by_two(self) -> None:
        program = """
import threading
from reactext import Engine

def write(prompt):
    print("writing", flush=True)
    threading.Event().wait()
    yield "never"

engine = Engine(write)
try:
    for number in range(1000):
        print(engine.run(f"Task {number}").stop_reason, flush=True)
except KeyboardInterrupt as stop:
    print("raised", stop.context.status, flush=True)
"""
        with subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            for expected in ["writing", "interrupted", "writing"]:
                if expected == "writing":
                    assert child.stdout.readline().strip() == expected
                    child.send_signal(signal.SIGINT)
                else:
                    assert child.stdout.readline().strip() == expected
            assert child.stdout.readline().strip() == "raised cancelled"
            assert child.wait(LONG) == 0


def endless(stopped: threading.Event) -> object:
    def write(prompt: str) -> Iterator[str]:
        try:
            while True:
                yield " and think"
        finally:
            stopped.set()

    return write


class TestAsync:
    def test_a_cancelled_task_has_the_context(self) -> None:
        waiting = Waiting()

        async def main() -> ExecutionContext:
            engine = Engine(ScriptedModel([QUICK, WAIT]), [quick, waiting.tool])
            task = asyncio.create_task(engine.arun("Go"))
            await asyncio.to_thread(waiting.began.wait, LONG)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            return caught.value.context  # type: ignore[attr-defined,no-any-return]

        context = asyncio.run(main())
        assert (context.status, context.stop_reason) == ("cancelled", "cancelled")
        assert len(context.steps) == 2
        assert waiting.told.wait(LONG)

    def test_a_timeout_around_it_leaves_the_context(self) -> None:
        waiting = Waiting()

        async def main() -> ExecutionContext:
            engine = Engine(ScriptedModel([QUICK, WAIT]), [quick, waiting.tool])
            run = engine.astream("Go")

            async def read() -> None:
                async with asyncio.timeout(None) as limit, run:
                    began = asyncio.to_thread(waiting.began.wait, LONG)
                    hurry = asyncio.ensure_future(began)
                    hurry.add_done_callback(lambda _: limit.reschedule(0))
                    async for _ in run:
                        pass

            with pytest.raises(TimeoutError):
                await read()
            return run.context

        assert asyncio.run(main()).status == "cancelled"
        assert waiting.told.wait(LONG)

    @pytest.mark.parametrize("how", ["aclose", "with", "forget", "cancel"])
    def test_leaving_stops_the_model(self, how: str) -> None:
        stopped = threading.Event()

        async def main() -> str:
            run = Engine(endless(stopped)).astream("Go")
            if how == "with":
                async with run:
                    async for _ in run:
                        break
                return run.context.status
            if how == "cancel":
                async for event in run:
                    run.cancel("enough")
                    last = event
                assert isinstance(last, Finished)
                return run.context.status
            async for _ in run:
                break
            if how == "aclose":
                await run.aclose()
                return run.context.status
            return "cancelled"

        assert asyncio.run(main()) == "cancelled"
        assert stopped.wait(LONG)

    def test_cancelling_the_reading_task_ends_a_run_that_is_kept(self) -> None:
        waiting, sent = Waiting(), threading.Event()

        @tool
        def send() -> str:
            """Send."""
            sent.set()
            return "sent"

        async def main() -> None:
            model = ScriptedModel([QUICK, WAIT, " x\nAction: send()", DONE])
            run = Engine(model, [quick, waiting.tool, send]).astream("Go")

            async def read() -> None:
                async for _ in run:
                    pass

            task = asyncio.create_task(read())
            await asyncio.to_thread(waiting.began.wait, LONG)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            context = caught.value.context  # type: ignore[attr-defined]
            assert context == run.context
            assert (context.status, context.stop_reason) == ("cancelled", "cancelled")
            assert len(context.steps) == 2

        asyncio.run(main())
        assert waiting.told.wait(LONG)
        assert not sent.is_set()

    @pytest.mark.parametrize("how", ["break", "raise", "cancel", "return"])
    def test_leaving_the_loop_ends_a_run_that_is_kept(self, how: str) -> None:
        stopped = threading.Event()

        async def main() -> None:
            run = Engine(endless(stopped)).astream("Go")

            async def read() -> None:
                async for _ in run:
                    if how == "break":
                        break
                    if how == "return":
                        return
                    if how == "raise":
                        raise ValueError(how)
                    reading.cancel()
                    await asyncio.sleep(LONG)

            reading = asyncio.create_task(read())
            await asyncio.wait([reading])
            assert (
                reading.exception() if how == "raise" else reading.cancelled() == (how == "cancel")
            )
            assert await asyncio.to_thread(stopped.wait, LONG)
            await run.aclose()
            assert run.context.status == "cancelled"

        asyncio.run(main())

    def test_a_run_that_nobody_reads_is_cancelled_all_the_same(self) -> None:
        stopped, ended = threading.Event(), threading.Event()

        class Ends(Hook):
            def at_end(self, moment: Moment) -> None:
                assert moment.context.status == "cancelled"
                ended.set()

        async def main() -> None:
            cancellation = Cancellation()
            engine = Engine(endless(stopped), hooks=[Ends()])
            run = engine.astream("Go", cancellation=cancellation)
            await anext(run)  # it reads ahead until there is no room
            cancellation.cancel("from elsewhere")
            assert await asyncio.to_thread(ended.wait, LONG)
            assert run.context.stop_reason == "from elsewhere"
            *_, last = [event async for event in run]
            assert isinstance(last, Finished)

        asyncio.run(main())
        assert stopped.wait(LONG)

    def test_closing_from_another_task_ends_the_iteration(self) -> None:
        waiting = Waiting()

        async def main() -> list[object]:
            run = Engine(ScriptedModel([WAIT]), [waiting.tool]).astream("Go")

            async def read() -> list[object]:
                return [event async for event in run]

            task = asyncio.create_task(read())
            await asyncio.to_thread(waiting.began.wait, LONG)
            await run.aclose()
            assert run.context.status == "cancelled"
            assert len(run.context.steps) == 1
            return await task

        assert not any(isinstance(event, Observation) for event in asyncio.run(main()))

    def test_no_thread_is_left(self) -> None:
        async def main() -> None:
            for _ in range(3):
                async with Engine(endless(threading.Event())).astream("Go") as run:
                    await anext(run)

        before = set(threading.enumerate())
        asyncio.run(main())
        left = set(threading.enumerate()) - before
        assert not [each for each in left if each.name == "reactext-run"]

    def test_before_the_first_event_nothing_is_asked(self) -> None:
        model = ScriptedModel([DONE])

        async def main() -> None:
            async with Engine(model).astream("Go") as run:
                assert run.context.status == "running"
            assert run.context.stop_reason == "closed"
            assert [event async for event in run] == []

        asyncio.run(main())
        assert model.prompts == []
