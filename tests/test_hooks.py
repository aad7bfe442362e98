"""What hooks raise and return: steering is honoured, mistakes are named, no step is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reactext import (
    Action,
    AnswerNow,
    Engine,
    ExecutionContext,
    FinishRun,
    Hook,
    Moment,
    Observation,
    ScriptedModel,
    SetupError,
    Step,
    StreamCut,
    Turn,
    tool,
)
from reactext.hooks import Event, Proceed


@tool
def look_up(city: str) -> str:
    """The number of people in a city."""
    return "709000"


OSLO = ' I look it up.\nAction: look_up(city="Oslo")'
DONE = " I know the answer.\nFinal Answer: 709000"
MOMENTS = ["before_step", "before_prompt", "on_piece", "after_turn", "around_action", "on_event"]


def hook_that(method: str, does: Any, *, name: str = "Mine") -> Hook:
    """Return a hook with one method, which returns, raises or calls what is given."""

    def act(self: Hook, moment: Moment, *rest: Any) -> Any:
        if isinstance(does, BaseException):
            raise does
        return does(moment, *rest) if callable(does) else does

    made: Hook = type(name, (Hook,), {method: act})()
    return made


def run(*hooks: Hook, replies: tuple[object, ...] = (OSLO, DONE)) -> ExecutionContext:
    return Engine(ScriptedModel(replies), [look_up], hooks=hooks).run("How many?")


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_run_can_be_finished_from_everywhere(moment: str) -> None:
    context = run(hook_that(moment, FinishRun("enough", "seen")))
    assert (context.status, context.answer, context.stop_reason) == ("finished", "enough", "seen")
    assert len(context.steps) == (1 if moment == "around_action" else 0)


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_answer_can_be_asked_for_from_everywhere(moment: str) -> None:
    def once(_: Moment, *given: Any) -> Any:
        if not raised:
            raised.append(True)
            raise AnswerNow("impatient")
        return given[-1](given[0]) if moment == "around_action" else given[0] if given else None

    raised: list[bool] = []
    context = run(hook_that(moment, once), replies=(*[OSLO] * (moment not in MOMENTS[:2]), " 7"))
    assert (context.status, context.stop_reason, context.answer) == ("forced", "impatient", "7")


@pytest.mark.parametrize("moment", ["before_prompt", "on_piece", "on_event"])
def test_an_answer_that_cannot_be_asked_for_is_what_the_tools_said(moment: str) -> None:
    def later(at: Moment, *given: Any) -> Any:
        if at.context.steps:
            raise AnswerNow("impatient")
        return given[0]

    context = run(hook_that(moment, later), replies=(OSLO, " 5", " 6"))
    assert context.status == "forced"
    assert context.answer is not None and "709000" in context.answer


def test_a_step_that_ends_the_run_can_be_replaced_by_another_answer() -> None:
    def replace(_: Moment, event: object) -> None:
        if isinstance(event, Step) and event.turn.answer:
            raise FinishRun("better", "corrected")

    assert run(hook_that("on_event", replace)).answer == "better"


WEIRD = Observation(action_id="c1.1", tool="t", text="x").model_copy(update={"status": "weird"})
WRONG = [
    ("before_prompt", None, "Mine.before_prompt returned None; return the prompt"),
    ("before_prompt", b"x", "Mine.before_prompt returned a value of type bytes"),
    ("after_turn", None, "Mine.after_turn returned None; return the turn"),
    ("after_turn", "x", "Mine.after_turn returned a value of type str"),
    ("around_action", None, "Mine.around_action returned None; return an Observation"),
    ("around_action", "x", "Mine.around_action returned a value of type str"),
    (
        "around_action",
        WEIRD,
        "Mine.around_action returned a wrong Observation: status='weird' must",
    ),
    (
        "around_action",
        WEIRD.model_copy(update={"status": "ok", "text": 5}),
        "Mine.around_action returned a wrong Observation: text=5 must be a text; return an Obs",
    ),
    (
        "after_turn",
        Turn().model_copy(update={"thought": None}),
        "Mine.after_turn returned a wrong Turn: thought=None must be a text; return the turn",
    ),
    (
        "after_turn",
        Turn().model_copy(
            update={"actions": (Action(id="a", tool="t").model_copy(update={"tool": 5}),)}
        ),
        "Mine.after_turn returned a wrong Action: tool=5 must be a text; return the turn",
    ),
    (
        "around_action",
        lambda _m, _a, proceed: proceed(None),
        "Mine.around_action called proceed with None",
    ),
]


@pytest.mark.parametrize(("moment", "does", "says"), WRONG)
def test_what_a_hook_returns_wrongly_is_named(moment: str, does: Any, says: str) -> None:
    with pytest.raises(SetupError) as caught:
        run(hook_that(moment, does))
    assert str(caught.value).startswith(says)
    assert isinstance(caught.value.context, ExecutionContext)


@pytest.mark.parametrize("moment", [*MOMENTS, "at_end"])
def test_a_method_that_nobody_would_wait_for_is_told(moment: str) -> None:
    async def act(self: Hook, *given: Any) -> None: ...

    hook: Hook = type("Mine", (Hook,), {moment: act})()
    with pytest.raises(SetupError, match=f"Mine.{moment} is async; .* write it without async"):
        run(hook)


def test_a_list_of_actions_is_as_good_as_a_tuple() -> None:
    def turned(_: Moment, turn: Turn) -> Turn:
        return turn.model_copy(update={"actions": list(turn.actions)})

    context = run(hook_that("after_turn", turned))
    assert context.status == "finished"
    assert isinstance(context.steps[0].turn.actions, tuple)


class Odd(BaseException):
    """No Exception, and it cannot be shown."""

    def __str__(self) -> str:
        raise ValueError


RAISED = [KeyError("mine"), SystemExit(3), StopIteration("x"), Odd()]


@pytest.mark.parametrize("moment", [*MOMENTS, "at_end"])
@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_a_hook_raises_comes_with_the_steps(moment: str, error: BaseException) -> None:
    def late(at: Moment, *given: Any) -> Any:
        if at.context.steps:
            raise error
        return given[-1](given[0]) if moment == "around_action" else given[0] if given else None

    seen: list[str] = []
    last = hook_that("at_end", lambda at: seen.append(at.context.status), name="Last")
    with pytest.raises((type(error), RuntimeError)) as caught:
        run(hook_that(moment, late), last, replies=(OSLO, OSLO, DONE))
    context = caught.value.context  # type: ignore[attr-defined]
    assert len(context.steps) >= 1
    assert seen == [context.status]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("max_steps", [1, 10])
def test_a_hooks_own_error_of_a_server_is_not_the_models(moment: str, max_steps: int) -> None:
    """Not tried again, nor with another model, nor answered from what the tools have said."""
    error = StreamCut("mine")
    calls: list[int] = []

    def late(at: Moment, *given: Any) -> Any:
        if at.context.steps:
            calls.append(1)
            raise error
        return given[-1](given[0]) if moment == "around_action" else given[0] if given else None

    models = [ScriptedModel([OSLO, OSLO, DONE]), ScriptedModel([])]
    engine = Engine(models, [look_up], hooks=[hook_that(moment, late)], max_steps=max_steps)
    if max_steps == 1 and moment in ("after_turn", "around_action"):
        assert engine.run("How many?").status == "forced"
        return
    with pytest.raises(StreamCut) as caught:
        engine.run("How many?")
    assert caught.value is error
    assert len(calls) == 1
    context = error.context
    assert isinstance(context, ExecutionContext)
    assert (context.status, context.stop_reason) == ("failed", "StreamCut: mine")


def test_all_hooks_see_the_end_though_some_raise() -> None:
    seen: list[str] = []
    hooks = [
        hook_that("at_end", KeyError("first"), name="First"),
        hook_that("at_end", ValueError("second"), name="Second"),
        hook_that("at_end", lambda at: seen.append(at.context.answer), name="Third"),
    ]
    with pytest.raises(KeyError) as caught:
        run(*hooks)
    assert seen == ["709000"]
    assert caught.value.context.answer == "709000"  # type: ignore[attr-defined]
    assert "Second.at_end raised, too: ValueError" in caught.value.__notes__


@pytest.mark.parametrize("error", [AnswerNow("late"), FinishRun("late", "late")])
def test_steering_at_the_end_is_too_late(error: Exception) -> None:
    with pytest.raises(SetupError, match=r"Mine\.at_end raised \w+, but the run has ended"):
        run(hook_that("at_end", error))


def test_what_hooks_remember_is_of_one_run_whatever_its_id() -> None:
    def count(moment: Moment) -> None:
        moment.memory["steps"] = moment.memory.get("steps", 0) + 1
        counts.append(moment.memory["steps"])

    counts: list[int] = []
    engine = Engine(
        ScriptedModel([OSLO, DONE, OSLO, DONE]), [look_up], hooks=[hook_that("before_step", count)]
    )
    for _ in range(2):
        engine.run("How many?", run_id="same")
    assert counts == [1, 2, 1, 2]


HALF = "half \ud83d of \udc00"


@pytest.mark.parametrize(
    ("moment", "does"),
    [
        ("before_prompt", lambda _, prompt: prompt + HALF),
        ("after_turn", lambda _, turn: turn.model_copy(update={"text": HALF, "thought": HALF})),
        ("around_action", lambda _, a, p: p(a).model_copy(update={"text": HALF, "detail": HALF})),
        ("before_step", FinishRun(HALF, HALF)),
        ("before_step", AnswerNow(HALF)),
    ],
)
def test_half_characters_of_a_hook_can_be_sent_and_stored(moment: str, does: Any) -> None:
    model = ScriptedModel([OSLO, DONE])
    context = Engine(model, [look_up], hooks=[hook_that(moment, does)]).run("How many?")
    assert ExecutionContext.model_validate_json(context.model_dump_json()) == context
    for prompt in model.prompts:
        prompt.encode()


def test_an_observation_is_of_its_action_whatever_a_hook_says() -> None:
    def rename(_: Moment, action: Any, proceed: Any) -> Any:
        return proceed(action).model_copy(update={"action_id": "zzz"})

    context = run(hook_that("around_action", rename))
    assert [each.action_id for each in context.steps[0].observations] == ["c1.1"]


def test_who_changes_the_arguments_in_place_changes_nobody_elses() -> None:
    """Neither what is run, nor what others see, nor what the context says was called."""
    seen: list[Any] = []

    @tool(idempotent=True)
    def count(names: list[Any]) -> str:
        """Count."""
        return f"{len(names)}"

    class Spoils(Hook):
        def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
            spoil(action)
            return proceed(action.model_copy(update={"kwargs": {"names": [1]}}))

        def on_event(self, moment: Moment, event: Event) -> None:
            if isinstance(event, Action):
                spoil(event)

    def spoil(action: Action) -> None:
        seen.append(json.dumps(action.kwargs))
        action.kwargs["names"].clear()

    def approve(action: Action, moment: Moment) -> bool:
        spoil(action)
        return True

    call = " Go.\nAction: count(names=[1])"
    ways: list[dict[str, Any]] = [{"approve": approve}, {"eager": True}]
    for options in ways:
        model = ScriptedModel([call, DONE])
        with Engine(model, [count], hooks=[Spoils()], **options).stream("Go") as run:
            for _ in run:
                pass
        [step, _] = run.context.steps
        assert step.observations[0].text == "1"
        assert step.turn.actions[0].kwargs == {"names": [1]}
        assert set(seen) == {'{"names": [1]}'}
