"""Whatever a caller gives: it works, or a SetupError says what was wrong, and nothing else comes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reactext
from reactext import (
    Action,
    Engine,
    ExecutionContext,
    Hook,
    Labels,
    Observation,
    Protocol,
    ScriptedModel,
    SetupError,
    Tool,
    Toolbox,
    Trace,
    Usage,
    tool,
)
from reactext.backends import Retry, Timeouts
from reactext.given import Count, Seconds, checked
from reactext.protocol import CallSyntax


class Silly:
    """An object that is nothing that anybody takes; not even its repr works."""

    def __repr__(self) -> str:
        raise ValueError("no repr")


SILLY: list[Any] = [
    None, True, 0, -1, 3, 10**400, 1.5, math.nan, math.inf, -math.inf, "", "5", " ", "x\ny", b"x",
    [], [None], ["x"], (), {}, {"x": 1}, {1: 2}, {"react": None}, object, Silly(), Silly, print,
    Hook, Hook(), Labels, Protocol(), Usage(), Path("nowhere/at/all"), lambda: None,
]  # fmt: skip

REPLY = " I know.\nFinal Answer: x"


@tool
def look(city: str) -> str:
    """Look."""
    return city


def plain(city: str) -> str:
    """Look."""
    return city


def recorded(tmp_path: Path) -> str:
    path = tmp_path / "recorded.jsonl"
    model = reactext.RecordingModel(ScriptedModel([REPLY]), path)
    Engine(model).run("x")
    return str(path)


RIGHT: dict[str, dict[str, Any]] = {
    "Action": {"id": "c1.1", "tool": "look"},
    "AnswerNow": {"reason": "enough"},
    "Answered": {"text": "x"},
    "Correction": {"text": "x", "problem": "y"},
    "Edited": {"kwargs": {}},
    "Engine": {"model": lambda: ScriptedModel([REPLY])},
    "ExecutionContext": {"run_id": "r", "task": "t"},
    "FinishRun": {"answer": "x", "reason": "y"},
    "Finished": {"context": ExecutionContext(run_id="r", task="t")},
    "Observation": {"action_id": "c1.1", "tool": "look", "text": "x"},
    "OllamaModel": {"name": "m"},
    "OpenAICompletionModel": {"url": "http://127.0.0.1:1/v1"},
    "RecordingModel": {"model": lambda: ScriptedModel([]), "path": "trace.jsonl"},
    "ReplayModel": {"path": "recorded.jsonl"},
    "ScriptedModel": {"replies": [REPLY]},
    "Step": {"turn": reactext.Turn()},
    "TextDelta": {"kind": "thought", "text": "x"},
    "Tool": {"name": "t", "description": "", "parameters": (), "function": plain},
    "Trace": {"path": "trace.jsonl"},
    "parse": {"text": REPLY},
    "tool": {"function": plain},
}
"""The least that each name of the package takes."""

MORE = {"tool": list(reactext.tools.ToolOptions.__annotations__)}
"""Parameters that stand in no signature."""

NOT_MADE = {"AsyncRun", "Moment", "Run", "CompletionModel", "Hook", "__version__"}
"""The engine makes these, or there is nothing to make."""

EXCEPTIONS = {
    name
    for name in reactext.__all__
    if isinstance(getattr(reactext, name), type) and issubclass(getattr(reactext, name), Exception)
} - {"AnswerNow", "FinishRun"}


def parameters() -> list[tuple[str, str]]:
    return [
        (name, each)
        for name in reactext.__all__
        if name not in NOT_MADE | EXCEPTIONS
        for each in [*inspect.signature(getattr(reactext, name)).parameters, *MORE.get(name, [])]
        if each not in ("options", "given", "data", "witness")
    ]


def call(made: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Call with arguments by name, those that have no name by place."""
    signature = inspect.signature(made).parameters
    places = [
        given.pop(name)
        for name, each in signature.items()
        if each.kind is each.POSITIONAL_ONLY and name in given
    ]
    return made(*places, **given)


@pytest.mark.parametrize(("name", "parameter"), parameters())
def test_silly_values(
    name: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    recorded(tmp_path)
    for value in SILLY:
        given = {
            key: right() if key == "model" else right for key, right in RIGHT.get(name, {}).items()
        }
        given[parameter] = value
        try:
            call(getattr(reactext, name), given)
        except SetupError as error:
            told = str(error)
            assert "\n" not in told
            assert len(told) < 600
            assert told == told.rstrip(".")
        except reactext.TurnError:
            assert name == "parse"


RUN_OPTIONS = ["task", "deps", "run_id", "deadline", "cancellation"]


@pytest.mark.parametrize("option", RUN_OPTIONS)
def test_silly_values_of_a_run(option: str) -> None:
    for value in SILLY:
        engine = Engine(ScriptedModel([REPLY]))
        given = {"task": "x", option: value}
        try:
            assert engine.run(**given).answer == "x"
        except SetupError as error:
            told = str(error)
            assert option in told


def of_engine(**options: Any) -> Callable[[], Any]:
    return lambda: Engine(ScriptedModel([REPLY]), **options)


TOLD: list[tuple[Callable[[], Any], str]] = [
    (of_engine(max_steps="3"), "max_steps='3' must be a whole number of at least 1"),
    (of_engine(max_steps=True), "max_steps=True must be a whole number of at least 1"),
    (of_engine(max_seconds="5"), "max_seconds='5' must be a number above 0 (math.inf is no limit) or None"),
    (of_engine(max_seconds=math.nan), "max_seconds=nan must be a number above 0 (math.inf is no"),
    (of_engine(temperature="x"), "temperature='x' must be a number from 0 to 5"),
    (of_engine(temperature=-1), "temperature=-1 must be a number from 0 to 5"),
    (of_engine(hooks=None), "hooks=None must be a list"),
    (of_engine(hooks=Hook()), "must be a list"),
    (of_engine(hooks=[5]), "hooks[0]=5 must be a Hook"),
    (of_engine(hooks=[Hook]), "hooks[0]=<class 'reactext.hooks.Hook'> must be a Hook"),
    (of_engine(prompts=5), "prompts=5 must be a text, a Path, a mapping or None"),
    (of_engine(protocol="x"), "protocol='x' must be a Protocol or None"),
    (of_engine(tools=None), "tools=None must be a Toolbox or a list of tools, such as"),
    (of_engine(tools=look), "must be a Toolbox or a list of tools, such as [get_weather]"),
    (of_engine(tools="look"), "tools='look' must be a Toolbox or a list of tools"),
    (of_engine(tools={"look": look}), "must be a Toolbox or a list of tools, such as"),
    (lambda: tool("look"), "not of 'look'; a name is given as name='look'"),  # type: ignore[call-overload]
    (lambda: reactext.EmbeddedModel("llama3"), "no weights are named 'llama3'; there are"),
    (lambda: Engine("qwen2.5:7b"), "did you mean 'ollama:qwen2.5:7b'?"),
    (lambda: Engine("olama:qwen2.5:7b"), "did you mean 'ollama:qwen2.5:7b'?"),
    (lambda: Engine("embeded"), "did you mean 'embedded'?"),
    (lambda: Engine("http://gpu:8080"), "write llamacpp:http://gpu:8080, openai:http://gpu:8080 or"),
    (of_engine(tools=[look, 5]), "tools[1]=5 must be a Tool or a function"),
    (of_engine(constrain="yes"), "constrain='yes' must be \"auto\", True or False"),
    (of_engine(on_limit="stop"), "on_limit='stop' must be \"answer\" or \"error\""),
    (of_engine(approve=5), "approve=5 must be a function of an action and a moment, or a mapping"),
    (of_engine(approve={"x": "yes"}), "approve['x']='yes' must be True, False or a function"),
    (of_engine(max_iterations=5), "Engine has no option 'max_iterations'; "),
    (of_engine(max_step=5), "Engine has no option 'max_step'; did you mean max_steps"),
    (of_engine(frame="chatlm"), "prompts has no frame 'chatlm'; did you mean chatml?"),
    (of_engine(language="fr"), "there is no template 'react.fr.jinja'"),
    (of_engine(prompts={"reactt": "x\n"}), "prompts has no template 'reactt'; did you mean react"),
    (of_engine(prompts="{{ tools"), "the template 'react' is not valid at line 1: "),
    (of_engine(prompts="{{ tolls }}"), "the template 'react' cannot be rendered: 'tolls' is unde"),
    (of_engine(prompts={"force": "{{ x }}"}), "the template 'force' cannot be rendered"),
    (of_engine(prompts={"react": 5}), "prompts['react']=5 must be a text"),
    (of_engine(prompts={"frames/mine": "{{ x }}"}), "'frames/mine' cannot be rendered"),
    (of_engine(protocol=Protocol(calls=CallSyntax(grammar="!!"))), "calls.grammar"),
    (lambda: Engine(5), "5 is not a model; give an object with a complete() method"),
    (lambda: Engine(ScriptedModel), "ScriptedModel is a class; give a model made of it"),
    (lambda: Engine("olama:x"), "'olama:x' names no model; write"),
    (lambda: Engine(ScriptedModel([])).run(5), "task=5 must be the question, as a text"),  # type: ignore[arg-type]
    (lambda: Engine(ScriptedModel([])).run("x", run_id=5), "run_id=5 must be a text or None"),  # type: ignore[arg-type]
    (lambda: ScriptedModel([None]), "replies[0]=None must be a text, a BaseException or a list"),
    (lambda: ScriptedModel("abc"), "replies='abc' must be a list"),
    (lambda: Labels(thought="X"), "Labels: thought='X' must be a list"),  # type: ignore[arg-type]
    (lambda: Labels(thoughts=("X",)), "Labels has no field 'thoughts'; did you mean thought?"),  # type: ignore[call-arg]
    (lambda: Action(tool="x"), "Action needs id"),  # type: ignore[call-arg]
    (lambda: Observation(action_id="", tool="", text="", status="bad"), 'must be "ok", "error"'),  # type: ignore[arg-type]
    (lambda: tool(plain, timeout="5"), "timeout='5' must be a number above 0 (math.inf is no limit) or None"),  # type: ignore[call-overload]
    (lambda: tool(plain, timeouts=5), "tool 'plain' has no option 'timeouts'; did you mean time"),  # type: ignore[call-overload]
    (lambda: Toolbox(look), "must be a list of tools, such as [get_weather]"),  # type: ignore[arg-type]
    (lambda: Timeouts(first=0), "first=0 must be a number above 0"),
    (lambda: Retry(attempts=0), "attempts=0 must be a whole number of at least 1"),
    (lambda: CallSyntax(call="{tool}({arguments}") and Protocol(calls={"call": "{tool}{arguments}{"}), "which str.format cannot fill"),
    (lambda: Trace(5), "path=5 must be a text or a path"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("make", "told"), TOLD)
def test_what_is_told(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(SetupError) as caught:
        make()
    assert told in str(caught.value)


def test_a_model_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine("ollama:qwen2.5:7b", [look])
    assert [each.name for each in engine.toolbox] == ["look"]


def test_a_template_that_only_another_includes_is_used() -> None:
    prompts = {"react": "{% include 'mine' %}\n", "mine": "My own.", "react.de": "Deutsch.\n"}
    assert "My own." in Engine(ScriptedModel([]), prompts=prompts).render("x")


def test_values_are_passed_on_as_they_are() -> None:
    @checked
    def wait(seconds: Seconds, *, attempts: Count = 1) -> tuple[object, object]:
        return seconds, attempts

    assert wait(3, attempts=2) == (3, 2)
    with pytest.raises(SetupError, match="seconds='5' must be a number above 0$"):
        wait("5")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required"):
        wait()  # type: ignore[call-arg]


def test_json_of_a_value_is_read_as_ever() -> None:
    context = ExecutionContext(run_id="r", task="t")
    assert ExecutionContext.model_validate_json(context.model_dump_json()) == context
    assert isinstance(look, Tool)
