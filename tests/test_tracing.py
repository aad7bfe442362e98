"""A trace holds what happened, as it happens, and nothing that it must not hold."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import reactext
from reactext.cancellation import Cancellation
from reactext.completion import Completion, ModelCard, Piece, ScriptedModel
from reactext.context import ExecutionContext
from reactext.engine import Engine
from reactext.errors import ServerFault, SetupError
from reactext.hooks import Hook, Moment
from reactext.models import Action, Observation, Turn, Usage
from reactext.tools import RunContext, Toolbox, tool
from reactext.trace import TracedRun, account, read_trace
from reactext.tracing import Trace


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def broken() -> str:
    """Fail."""
    raise ValueError("no such thing")


@tool
def login(context: RunContext) -> str:
    """Use what only the program knows."""
    return f"logged in as {context.deps['user']}"


CALL = " I add.\nAction: add(a=1, b=2)"
ANSWER = " I know.\nFinal Answer: 3"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def traced(path: Path, replies: list[Any], **options: Any) -> tuple[Engine, ScriptedModel]:
    model = ScriptedModel(replies, card=ModelCard(name="scripted"))
    trace = Trace(path, **options)
    return Engine(model, [add, broken, login], hooks=[trace]), model


def test_each_line_tells_one_thing_and_when(tmp_path: Path) -> None:
    engine, _ = traced(tmp_path / "t.jsonl", [CALL, ANSWER])
    context = engine.run("What is 1 + 2?")
    lines = lines_of(tmp_path / "t.jsonl")
    events = [line["event"] for line in lines if line["event"] != "text"]
    first_step = ["prompt", "turn", "action", "observation", "step"]
    assert events == ["start", *first_step, "prompt", "turn", "step", "end"]
    assert {line["run"] for line in lines} == {context.run_id}
    assert all(line["time"].endswith("+00:00") for line in lines)
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)


def test_the_run_can_be_built_again_from_it(tmp_path: Path) -> None:
    usage = Usage(prompt_tokens=200, completion_tokens=4, prompt_seconds=0.5)
    reply = [" I add 上海.\nAction: add(a=1, b=2) || broken()", Piece(usage=usage, finish="stop")]
    engine, _ = traced(tmp_path / "t.jsonl", [reply, "neither", ANSWER])
    context = engine.run("What is 1 + 2?")
    (run,) = read_trace(tmp_path / "t.jsonl")
    assert (run.task, run.run_id) == (context.task, context.run_id)
    assert (run.status, run.answer, run.usage) == ("finished", "3", context.usage)
    assert run.tools == ("add", "broken", "login")
    for told, step in zip(run.steps, context.steps, strict=True):
        assert told.turn == step.turn
        assert tuple(call.observation for call in told.calls) == step.observations
        assert tuple(call.action for call in told.calls) == step.turn.actions
        assert told.corrections == step.corrections
    assert run.steps[0].asked[0].usage == usage
    assert [asked.text for asked in run.steps[1].asked] == ["neither", ANSWER]
    assert {asked.model for step in run.steps for asked in step.asked} == {"scripted"}


def test_prompts_are_told_by_length_and_hash(tmp_path: Path) -> None:
    engine, model = traced(tmp_path / "t.jsonl", [ANSWER])
    engine.run("What is 1 + 2?")
    (prompt,) = (line for line in lines_of(tmp_path / "t.jsonl") if line["event"] == "prompt")
    sent = model.prompts[0]
    assert prompt["sha256"] == hashlib.sha256(sent.encode()).hexdigest()
    assert prompt["characters"] == len(sent)
    assert "text" not in prompt


def test_prompts_are_told_whole_where_asked_for(tmp_path: Path) -> None:
    engine, model = traced(tmp_path / "t.jsonl", [CALL, ANSWER], prompts=True)
    engine.run("What is 1 + 2?")
    (run,) = read_trace(tmp_path / "t.jsonl")
    assert [asked.prompt for step in run.steps for asked in step.asked] == model.prompts


def test_a_traceback_is_in_the_trace_and_not_in_the_prompt(tmp_path: Path) -> None:
    engine, model = traced(tmp_path / "t.jsonl", [" Try.\nAction: broken()", ANSWER])
    engine.run("Try it")
    (run,) = read_trace(tmp_path / "t.jsonl")
    observation = run.steps[0].calls[0].observation
    assert observation is not None
    assert "Traceback" in (observation.detail or "")
    assert "Traceback" not in model.prompts[1]
    assert "detail: Traceback" in account(run)


class Keyed(ScriptedModel):
    """A model that is set up with a secret."""

    api_key = "sk-secret"


def test_no_secret_of_a_model_and_no_deps_are_written(tmp_path: Path) -> None:
    model = Keyed([" I log in.\nAction: login()", ANSWER])
    engine = Engine(model, [login], hooks=[Trace(tmp_path / "t.jsonl", prompts=True)])
    engine.run("Log in", deps={"user": "ann", "password": "hunter2"})
    content = (tmp_path / "t.jsonl").read_text(encoding="utf-8")
    assert "logged in as ann" in content
    assert "hunter2" not in content
    assert "sk-secret" not in content


def test_a_directory_gets_a_file_for_each_run(tmp_path: Path) -> None:
    engine, _ = traced(tmp_path / "runs", [ANSWER, ANSWER])
    ids = [engine.run("One").run_id, engine.run("Two").run_id]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == sorted(
        f"{run_id}.jsonl" for run_id in ids
    )
    assert [run.task for run in read_trace(tmp_path / "runs")] == ["One", "Two"]


@pytest.mark.parametrize(
    "run_id", ["../../outside", "/etc/outside", "a/b\\c:d", "..", "", "长" * 300, "\ud800", "a\nb"]
)
def test_no_run_id_leads_out_of_the_directory(tmp_path: Path, run_id: str) -> None:
    engine, _ = traced(tmp_path / "runs", [ANSWER])
    engine.run("One", run_id=run_id)
    assert [path.parent.name for path in tmp_path.rglob("*.jsonl")] == ["runs"]


@pytest.mark.parametrize(
    ("given", "is_directory"),
    [("runs", True), ("runs/", True), ("runs.d/", True), ("run.jsonl", False), ("a/r.log", False)],
)
def test_a_new_path_is_a_file_if_its_name_has_an_ending(
    tmp_path: Path, given: str, is_directory: bool
) -> None:
    trace = Trace(f"{tmp_path}/{given}")
    Engine(ScriptedModel([ANSWER]), hooks=[trace]).run("One")
    assert (tmp_path / given).is_dir() is is_directory
    assert len(read_trace(tmp_path / given)) == 1


def test_a_place_that_cannot_be_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SetupError, match="traces cannot be written to"):
        Trace(tmp_path / "file" / "runs")


def echo(prompt: str) -> Iterator[str]:
    """A model that says what it was asked, in pieces."""
    task = prompt.rpartition("Question:")[2].split("\n")[0].strip()
    if "Observation: 7" in prompt.rpartition("Question:")[2]:
        yield from (" I know.", "\nFinal", " Answer: ", task)
    else:
        yield from (" I add.", "\nAction: ", "add(a=3, b=4)")


def test_fifty_threads_write_to_one_file(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    engine = Engine(echo, [add], hooks=[trace])
    tasks = [f"task {number} 上海" for number in range(50)]
    threads = [threading.Thread(target=engine.run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = read_trace(tmp_path / "t.jsonl")
    assert sorted(run.task for run in runs) == sorted(tasks)
    for run in runs:
        assert (run.unreadable, run.status, run.answer) == (0, "finished", run.task)
        assert [len(step.calls) for step in run.steps] == [1, 0]
    assert not trace._runs, "nothing is remembered of a run that has ended"


def test_a_correction_holds_what_the_model_wrote(tmp_path: Path) -> None:
    engine, _ = traced(tmp_path / "t.jsonl", [["nei", "ther"], ANSWER])
    engine.run("One")
    (run,) = read_trace(tmp_path / "t.jsonl")
    assert run.steps[0].corrections[0].text == "neither"
    assert "wrote: neither" in account(run)


def test_a_run_that_is_stopped_among_its_calls_is_told_to_its_end(tmp_path: Path) -> None:
    engine, _ = traced(tmp_path / "t.jsonl", [" I.\nAction: add(a=1, b=1) || add(a=2, b=2)"])
    with engine.stream("One") as run:
        for event in run:
            if isinstance(event, Observation):
                break
    (told,) = read_trace(tmp_path / "t.jsonl")
    assert (told.status, told.stop_reason) == ("cancelled", "closed")
    first, second = (call.observation for call in told.steps[0].calls)
    assert first is not None
    assert first.status == "ok"
    # the second may just have ended in its own thread, and then its result is told
    assert second is not None
    assert second.status in ("ok", "skipped")
    assert told.steps[0].ended is not None


def test_a_run_that_fails_is_told_to_its_end(tmp_path: Path) -> None:
    engine, _ = traced(tmp_path / "t.jsonl", [[" I ad", ServerFault("it broke", status=400)]])
    with pytest.raises(ServerFault):
        engine.run("One")
    (run,) = read_trace(tmp_path / "t.jsonl")
    assert (run.status, run.stop_reason) == ("failed", "ServerFault: it broke")
    assert run.steps[0].asked[0].text == " I ad"


def test_a_turn_that_another_hook_changed_is_told_too(tmp_path: Path) -> None:
    class Calm(Hook):
        def after_turn(self, moment: Moment, turn: Turn) -> Turn:
            return turn.model_copy(update={"answer": "calm"})

    trace = Trace(tmp_path / "t.jsonl")
    Engine(ScriptedModel([ANSWER]), hooks=[trace, Calm()]).run("One")
    answers = [line["turn"]["answer"] for line in lines_of(tmp_path / "t.jsonl") if "turn" in line]
    assert answers == ["3", "calm"]


KILLED = """
import os, signal, sys
from reactext.engine import Engine
from reactext.tools import tool
from reactext.tracing import Trace

@tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

def model(prompt):
    if "Observation: 3" in prompt.rpartition("Question:")[2]:
        yield " Now I"
        yield " am wri"
        os.kill(os.getpid(), signal.SIGKILL)
    yield " I add.\\nAction: add(a=1, b=2)"

Engine(model, [add], hooks=[Trace(sys.argv[1])]).run("What is 1 + 2?")
"""


KILLED_AMONG_CALLS = """
import os, pathlib, signal, sys
from reactext.completion import ScriptedModel
from reactext.engine import Engine
from reactext.tools import tool
from reactext.tracing import Trace

path = pathlib.Path(sys.argv[1])

@tool
def fast() -> str:
    "Return at once."
    return "done at once"

@tool
def slow() -> str:
    "Kill the process, once the fast one has ended."
    while "done at once" not in path.read_text(encoding="utf-8"):
        pass
    os.kill(os.getpid(), signal.SIGKILL)

model = ScriptedModel([" Both.\\nAction: slow() || fast()"])
Engine(model, [fast, slow], hooks=[Trace(path)]).run("Do both")
"""


def trace_of_a_killed_process(program: str, path: Path) -> TracedRun:
    root = str(Path(reactext.__file__).parent.parent)
    killed = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, "PYTHONPATH": root},
        check=False,
    )
    assert killed.returncode == -9
    (run,) = read_trace(path)
    return run


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
def test_a_process_that_is_killed_among_its_calls_leaves_what_had_ended(tmp_path: Path) -> None:
    run = trace_of_a_killed_process(KILLED_AMONG_CALLS, tmp_path / "t.jsonl")
    slow, fast = run.steps[0].calls
    assert (slow.action.tool, slow.observation, slow.ended) == ("slow", None, None)
    assert slow.begun is not None
    assert fast.observation is not None
    assert fast.observation.text == "done at once"
    assert "← was running when the trace ended" in account(run)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
def test_a_process_that_is_killed_leaves_all_up_to_that_moment(tmp_path: Path) -> None:
    run = trace_of_a_killed_process(KILLED, tmp_path / "t.jsonl")
    assert (run.status, run.unreadable, len(run.steps)) == ("running", 0, 2)
    observation = run.steps[0].calls[0].observation
    assert observation is not None
    assert observation.text == "3"
    assert run.steps[1].asked[0].text == " Now I am wri"
    assert "was writing: Now I am wri" in account(run)


def test_a_trace_that_cannot_be_written_ends_with_one_warning_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def clean() -> str:
        """Throw the traces away."""
        shutil.rmtree(tmp_path / "runs")
        return "done"

    replies = [" I.\nAction: clean()", ANSWER, ANSWER]
    engine = Engine(ScriptedModel(replies), [clean], hooks=[Trace(tmp_path / "runs")])
    assert engine.run("One").answer == "3"
    assert engine.run("Two").answer == "3"
    (warning,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert warning.name == "reactext"
    assert "cannot be written" in warning.getMessage()
    assert not (tmp_path / "runs").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_a_full_disk_does_not_end_a_run(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(ScriptedModel([CALL, ANSWER]), [add], hooks=[Trace("/dev/full")])
    assert engine.run("One").answer == "3"
    assert sum(record.levelno >= logging.WARNING for record in caplog.records) == 1


def test_a_line_that_was_cut_stays_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"event": "start", "run": "killed', encoding="utf-8")
    engine, _ = traced(path, [ANSWER])
    engine.run("One")
    (run,) = read_trace(path)
    assert (run.task, run.status, run.unreadable) == ("One", "finished", 1)


def test_what_comes_after_the_end_of_a_run_is_no_new_run(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    context = ExecutionContext(run_id="r", task="One")
    moment = Moment(context, Toolbox([add]), Cancellation(), started=monotonic())
    trace.before_step(moment)
    trace.at_end(moment)
    action = Action(id="c1.1", tool="add")
    late = Observation(action_id="c1.1", tool="add", text="3")
    assert trace.around_action(moment, action, lambda _: late) == late
    trace.on_piece(moment, "late")
    assert [line["event"] for line in lines_of(tmp_path / "t.jsonl")] == ["start", "end"]
    assert not trace._runs


def test_half_a_surrogate_pair_and_odd_line_breaks_are_kept(tmp_path: Path) -> None:
    odd = " I \ud83d see\u2028that\x85it \x00 is\x1c so.\nFinal Answer: ok"
    engine, _ = traced(tmp_path / "t.jsonl", [[odd]])
    engine.run("One")
    (run,) = read_trace(tmp_path / "t.jsonl")
    assert run.unreadable == 0
    assert run.steps[0].asked[0].text == odd


def test_the_hook_asks_nothing_of_what_a_model_yields(tmp_path: Path) -> None:
    class Bare:
        def complete(self, prompt: str, *, stop: Any, options: Completion) -> Iterator[str]:
            yield Piece("hm", channel="thinking")
            yield ""
            yield ANSWER

    Engine(Bare(), hooks=[Trace(tmp_path / "t.jsonl")]).run("One")
    (run,) = read_trace(tmp_path / "t.jsonl")
    assert (run.steps[0].asked[0].thinking, run.steps[0].asked[0].text) == ("hm", ANSWER)
