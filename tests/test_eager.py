"""Calls started while the model writes: each stands in a turn, none is run twice, none is lost."""

from __future__ import annotations

import threading

import pytest

from reactext import (
    Action,
    Cancellation,
    CompletionError,
    Correction,
    Engine,
    ExecutionContext,
    Finished,
    Hook,
    Moment,
    Observation,
    ScriptedModel,
    SetupError,
    Step,
    StreamCut,
    TextDelta,
    Tool,
    Turn,
    tool,
)
from reactext.hooks import Event
from reactext.tracing import Trace

DONE = " I know.\nFinal Answer: done"
FIRST = ' a.\nAction: look(q="first")'
LONG = 20.0


def looker() -> tuple[Tool, list[str]]:
    calls: list[str] = []

    @tool(idempotent=True)
    def look(q: str) -> str:
        """Look."""
        calls.append(q)
        return f"seen {q}"

    return look, calls


def results(context: ExecutionContext) -> list[list[tuple[object, str]]]:
    return [
        [
            (action.kwargs.get("q"), seen.status)
            for action, seen in zip(step.turn.actions, step.observations, strict=True)
        ]
        for step in context.steps
    ]


class TestABrokenText:
    def test_ends_its_turn_where_a_call_of_it_was_started(self) -> None:
        look, calls = looker()
        replies = [[FIRST, ' || look(q="sec', StreamCut("cut")], ' b.\nAction: look(q="b")', DONE]
        model = ScriptedModel(replies)
        context = Engine(model, [look], eager=True).run("Look")
        assert calls == ["first", "b"]
        assert results(context) == [
            [("first", "ok"), (None, "error")],
            [("b", "ok")],
            [],
        ]
        assert "the text broke off: cut" in context.steps[0].turn.repairs
        assert model.prompts[1].startswith(model.prompts[0] + FIRST)

    def test_that_cannot_be_had_again_keeps_its_step(self) -> None:
        look, calls = looker()
        model = ScriptedModel([[FIRST, " || ", StreamCut("cut")], StreamCut("gone")])
        with pytest.raises(StreamCut) as caught:
            Engine(model, [look], eager=True, max_retries=0).run("Look")
        assert isinstance(caught.value.context, ExecutionContext)
        assert results(caught.value.context) == [[("first", "ok")]]
        assert calls == ["first"]

    def test_is_gone_on_with_by_the_next_model(self) -> None:
        look, calls = looker()
        first = ScriptedModel([[FIRST, " || ", StreamCut("cut")], CompletionError("gone")])
        engine = Engine([first, ScriptedModel([DONE])], [look], eager=True)
        context = engine.run("Look")
        assert (context.answer, calls) == ("done", ["first"])

    def test_before_any_call_is_asked_for_again(self) -> None:
        look, calls = looker()
        model = ScriptedModel([[" a.\nAction: look(q=", StreamCut("cut")], FIRST, DONE])
        context = Engine([model, model], [look], eager=True, max_retries=0).run("Look")
        assert calls == ["first"]
        assert [each.problem for each in context.steps[0].corrections] == ["cut"]


def test_what_bars_a_failed_attempt_does_not_bar_the_next() -> None:
    look, _ = looker()
    began = threading.Event()

    @tool(sequential=True)
    def alone() -> str:
        """Alone."""
        return "alone"

    @tool(idempotent=True)
    def early() -> str:
        """Early."""
        began.set()
        return "early"

    class Waits:
        number = 0

        def complete(self, prompt: str, **_: object):  # type: ignore[no-untyped-def]
            self.number += 1
            if self.number == 1:
                yield " a.\nAction: alone() || "
                raise StreamCut("cut")
            if self.number == 2:
                yield " b.\nAction: early() || "
                assert began.wait(LONG)
                yield 'look(q="c")'
                return
            yield DONE

    model = Waits()
    engine = Engine([model, model], [look, alone, early], eager=True, max_retries=0)
    context = engine.run("Look")
    assert [each.text for each in context.steps[0].observations] == ["early", "seen c"]


class Drops(Hook):
    def after_turn(self, moment: Moment, turn: Turn) -> Turn:
        return turn.model_copy(update={"actions": turn.actions[1:]})


def test_no_call_is_started_early_that_a_hook_may_take_out() -> None:
    look, calls = looker()
    reply = [FIRST, " || ", 'look(q="second")']
    Engine(ScriptedModel([reply, DONE]), [look], eager=True, hooks=[Drops()]).run("Look")
    assert calls == ["second"]


def test_a_trace_leaves_the_early_start_on(tmp_path: object) -> None:
    began = threading.Event()

    @tool(idempotent=True)
    def look(q: str) -> str:
        """Look."""
        began.set()
        return q

    def reply(prompt: str):  # type: ignore[no-untyped-def]
        if "Observation: a" in prompt.rpartition("Question:")[2]:
            yield DONE
            return
        yield ' a.\nAction: look(q="a") || '
        assert began.wait(LONG)
        yield 'look(q="a")'

    hooks = [Trace(f"{tmp_path}/runs.jsonl")]
    assert Engine(reply, [look], eager=True, hooks=hooks).run("Look").answer == "done"


class InterruptError(Exception):
    pass


class Breaks(Hook):
    def on_piece(self, moment: Moment, piece: str) -> None:
        if piece == "!":
            raise InterruptError


@pytest.mark.parametrize("how", ["cancel", "interrupt", "leave", "hook"])
def test_an_early_call_that_ended_is_kept_however_the_run_ends(how: str) -> None:
    # when its tool is done, the hooks around it have yet to return: a machine may take long
    ended = (ended_early(how, pause) for pause in (0.05, 0.5, 5))
    assert ("seen first", "failed" if how == "hook" else "cancelled") in ended


def ended_early(how: str, pause: float) -> tuple[str, str]:
    observed, cancellation = threading.Event(), Cancellation()

    class Notes(Hook):
        only_watches = True

        def around_action(self, moment, action, proceed):  # type: ignore[no-untyped-def]
            seen = proceed(action)
            observed.set()
            return seen

    @tool(idempotent=True)
    def look(q: str) -> str:
        """Look."""
        return f"seen {q}"

    def reply(prompt: str):  # type: ignore[no-untyped-def]
        yield FIRST + " || "
        assert observed.wait(LONG)
        threading.Event().wait(pause)
        if how == "cancel":
            cancellation.cancel("enough")
        if how == "interrupt":
            raise KeyboardInterrupt
        yield "!" if how == "hook" else "look"

    hooks = [Notes(), Breaks()]
    run = Engine(reply, [look], eager=True, hooks=hooks).stream("Look", cancellation=cancellation)
    if how == "hook":
        with pytest.raises(InterruptError):
            run.finish()
    elif how == "leave":
        with run:
            for event in run:
                if isinstance(event, Action):
                    assert observed.wait(LONG)
                    threading.Event().wait(pause)
                    break
    else:
        run.finish()
    [step] = run.context.steps
    return step.observations[0].text, run.context.status


REPLIES = [
    [[FIRST, " || ", 'look(q="b")'], DONE],
    [[" a thou", StreamCut("cut")], FIRST, DONE],
    [[" The ans", "wer.\nFinal Answer: the ans", StreamCut("cut")], [" x.\nFinal", " Answer: ok"]],
    [[*FIRST, " || look(", StreamCut("cut")], FIRST, DONE],
    ["nothing", " and more", "", " at last"],
    [[" a", "b"], FIRST, [" c", StreamCut("cut")], DONE],
]


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("replies", REPLIES)
def test_what_stands_after_a_correction_is_the_whole_step(
    replies: list[object], eager: bool
) -> None:
    """The deltas, actions and observations since the last correction are those of the step."""
    look, _ = looker()
    told: list[Event] = []
    model = ScriptedModel(replies)  # once more as the next one, so that nobody waits for it
    engine = Engine([model, model], [look], eager=eager, max_retries=0)
    for event in engine.stream("Look"):
        match event:
            case Correction():
                told = []
            case Step():
                turn = event.turn
                assert [each for each in told if isinstance(each, Action)] == list(turn.actions)
                seen = [each for each in told if isinstance(each, Observation)]
                assert seen == list(event.observations)
                answer = [e.text for e in told if isinstance(e, TextDelta) and e.kind == "answer"]
                assert "".join(answer) == (turn.answer or "")
                told = []
            case Finished():
                assert not [each for each in told if isinstance(each, Action)]
            case _:
                told.append(event)


def test_a_hook_that_only_watches_and_takes_a_call_away_is_told_so() -> None:
    class Lies(Hook):
        only_watches = True

        def after_turn(self, moment: Moment, turn: Turn) -> Turn:
            return turn.model_copy(update={"actions": turn.actions[1:]})

    look, calls = looker()
    model = ScriptedModel([FIRST + ' || look(q="second")', DONE])
    with pytest.raises(SetupError, match=r"Lies.after_turn .* says only_watches = True") as caught:
        Engine(model, [look], eager=True, hooks=[Lies()]).run("Look")
    context = caught.value.context
    assert isinstance(context, ExecutionContext)
    assert set(calls) <= {str(each.kwargs["q"]) for each in context.steps[0].turn.actions}
