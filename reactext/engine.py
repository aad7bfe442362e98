"""The loop: the model takes a turn, its actions are run, and so on until it answers."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Sequence
from typing import Annotated, Any

from reactext.approval import Approval, Approve
from reactext.asynchronous import AsyncRun
from reactext.backends import model as named
from reactext.budget import result_within, results_within
from reactext.cancellation import Cancellation
from reactext.completion import Temperature, as_models
from reactext.context import ExecutionContext
from reactext.errors import CompletionError
from reactext.generation import force_answer, take_turn
from reactext.given import (
    Characters,
    Count,
    Limit,
    Natural,
    Such,
    Text,
    checked,
)
from reactext.guards import Limits, OnLimit, RepeatGuard, ReturnDirect, SetAside
from reactext.hooks import AnswerNow, Event, FinishRun, Hook, check_hooks
from reactext.logs import RunLog
from reactext.models import Correction, Observation, Turn
from reactext.prompts import Prompts, Source
from reactext.protocol import Protocol
from reactext.quoting import plain
from reactext.read_more import ReadMore
from reactext.reader import check_protocol
from reactext.reading.settling import CUT
from reactext.run import Run
from reactext.runner import ActionRunner
from reactext.settings import Constrain, Options, Setup, StepTokens
from reactext.state import Cancelled, RunState
from reactext.tools import Toolbox, Tools


def loop(state: RunState) -> Generator[Event, None, None]:
    """Take turns and act on them until there is an answer: this is all there is to a run."""
    try:
        try:
            while state.context.status == "running":
                state.raise_if_cancelled()
                for hook in state.setup.hooks:
                    hook.before_step(state.moment())
                turn, observations = yield from take_step(state)
                step = state.add(turn, observations)
                if turn.answer is not None:
                    cut = CUT if CUT in turn.repairs else ""
                    state.end("finished", answer=turn.answer, reason=cut)
                yield step
        except AnswerNow as stop:
            yield from answer_now(state, stop.reason)
    except FinishRun as stop:
        state.end("finished", answer=stop.answer, reason=stop.reason)


def take_step(
    state: RunState,
) -> Generator[Event, None, tuple[Turn, tuple[Observation, ...]]]:
    """Let the model take a turn, and run its actions side by side: one observation for each.

    When this is interrupted, the step is kept with what had been observed by then.
    """
    try:
        turn = yield from take_turn(state)
        for observation in state.run_actions(turn.actions):
            state.underway.told.append(observation)
            yield result_within(state, observation)
        return turn, results_within(state, turn, state.underway.told)
    except BaseException as stop:
        keep_step(state, stop)
        raise


def keep_step(state: RunState, stop: BaseException) -> None:
    """Add the step that was interrupted, as far as it had come."""
    kept = state.underway.kept()
    if kept is None:
        written = "".join(state.underway.texts)
        if written and isinstance(stop, Cancelled | KeyboardInterrupt | GeneratorExit):
            problem = "the run was stopped while this was written"
            state.corrections.append(Correction(text=written, problem=problem))
        return
    turn, whole = kept
    if isinstance(stop, AnswerNow):  # a prompt follows, and it must fit
        state.add(turn, results_within(state, turn, whole))
    else:
        state.add(turn, tuple(result_within(state, each) for each in whole))


def answer_now(state: RunState, reason: str) -> Generator[Event, None, None]:
    """End the run with the best answer to be had: the model's, or what the tools have said."""
    if state.context.status != "running":  # there is an answer already
        return
    try:
        turn = (yield from force_answer(state)).turn
        problem = "the model gave none"
    except (CompletionError, AnswerNow) as error:
        turn, problem = None, str(error)
    if turn is not None and turn.answer:
        step = state.add(turn)
        state.end("forced", answer=turn.answer, reason=reason)
        yield step
        return
    digest = state.setup.prompts.digest(state.context, state.language)
    state.end("forced", answer=digest, reason=f"{reason}; no answer from the model: {problem}")


Task = Annotated[str, Such("the question, as a text", lambda task: bool(task.strip()))]


@checked
class Engine:
    """A model, tools and prompts: everything but the task. Immutable, shared freely by threads.

    Every run's state is its own. All options are checked here, and a `SetupError` says which is
    wrong. The model is not asked for anything before the first run.

    - ``model``: what has a ``complete`` method, a function from text to text, a name such as
      "ollama:qwen2.5:7b", or a list of such: the next one is used when one's server fails
    - ``tools``: a `Toolbox`, or a list of tools and plain functions
    - ``max_steps``, ``max_seconds``, ``max_tokens``, ``max_tool_calls``: the limits of a run,
      looked at before each step; then the model is asked for its answer (``on_limit="answer"``),
      or `LimitReached` is raised ("error"). A text that is being written is let finish, within
      ``step_tokens``; `run` has a ``deadline``. ``max_tokens`` counts what the server tells, and
      limits nothing where it tells no counts
    - ``language``: that of the prompt; "auto" is Chinese for a Chinese task, else English
    - ``prompts``: a directory of templates, a mapping of names to texts, or the prompt's text
    - ``frame``: the chat format around the prompt; None is what the model says of itself
    - ``constrain``: "auto" lets the model write nothing but valid turns where its server can do
      that; True wants it, False never does it
    - ``step_tokens``: what one step may take to write
    - ``max_corrections``: so often in a row a text that cannot be read is corrected
    - ``max_retries``: so often a faulty server is asked again in the middle of a step
    - ``tool_timeout``: seconds for one call, or None; ``max_parallel``: calls at once in a run
    - ``max_observation_chars``: what the model sees of a result; the rest it can ask for with
      `read_more`, a tool that is there only when something was cut
    - ``eager``: start idempotent calls while the model still writes the next one; not where
      `approve` decides on calls, or an `after_turn` of the hooks may change them
    - ``hooks``: `Hook` objects, the first outermost; ours stand inside of them
    """

    def __init__(
        self,
        model: Any,
        tools: Toolbox | Tools = (),
        *,
        max_steps: Count = 10,
        max_seconds: Limit | None = None,
        max_tokens: Count | None = None,
        max_tool_calls: Count | None = None,
        on_limit: OnLimit = "answer",
        language: Text = "auto",
        prompts: Source = None,
        protocol: Protocol | None = None,
        frame: Text | None = None,
        constrain: Constrain = "auto",
        step_tokens: StepTokens = 1024,
        temperature: Temperature = 0.0,
        seed: int | None = None,
        max_corrections: Natural = 2,
        max_retries: Natural = 1,
        tool_timeout: Limit | None = 30.0,
        max_parallel: Count = 8,
        max_observation_chars: Characters | None = 4000,
        eager: bool = False,
        approve: Approve | None = None,
        debug: bool = False,
        hooks: Sequence[Hook] = (),
    ) -> None:
        toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        protocol = protocol or Protocol()
        check_protocol(protocol)
        check_hooks(hooks)
        own_prompts = Prompts(prompts, protocol=protocol)
        own_prompts.try_out(toolbox, language=language, frame=frame)
        self._setup = Setup(
            models=as_models(model, by_name=named),
            toolbox=toolbox,
            runner=ActionRunner(
                toolbox,
                tool_timeout=tool_timeout,
                max_parallel=max_parallel,
                debug=debug,
            ),
            prompts=own_prompts,
            protocol=protocol,
            hooks=(
                RunLog(),
                *hooks,
                ReturnDirect(),
                Limits(max_steps, max_seconds, max_tokens, max_tool_calls, on_limit),
                RepeatGuard(),
                SetAside(),
                ReadMore(),
                *([Approval(approve, toolbox)] if approve is not None else []),
            ),
            options=Options(
                language=language,
                frame=frame,
                constrain=constrain,
                eager=eager and approve is None and all(map(_keeps_turns, hooks)),
                max_parallel=max_parallel,
                max_corrections=max_corrections,
                max_retries=max_retries,
                step_tokens=step_tokens,
                max_observation_chars=max_observation_chars,
                temperature=temperature,
                seed=seed,
            ),
        )

    @property
    def toolbox(self) -> Toolbox:
        """The tools, in the order of the prompt."""
        return self._setup.toolbox

    def run(
        self,
        task: Task,
        *,
        deps: Any = None,
        run_id: str | None = None,
        deadline: Limit | None = None,
        cancellation: Cancellation | None = None,
    ) -> ExecutionContext:
        """Work on a task to its end and return what was done.

        ``deps`` is what tools find in their `RunContext`. After ``deadline`` seconds, on Ctrl-C,
        or when ``cancellation`` is set from another thread, the run ends with the status
        "cancelled"; a second Ctrl-C within two seconds is raised. A server's fault is raised as
        a `CompletionError`. Whatever is raised holds the steps done in its ``context``.
        """
        return self.stream(
            task, deps=deps, run_id=run_id, deadline=deadline, cancellation=cancellation
        ).finish()

    @checked
    def stream(
        self,
        task: Task,
        *,
        deps: Any = None,
        run_id: str | None = None,
        deadline: Limit | None = None,
        cancellation: Cancellation | None = None,
    ) -> Run:
        """Return the run of a task, to be iterated for its events; see `run` for the options."""
        context = ExecutionContext(run_id=run_id or uuid.uuid4().hex, task=plain(task))
        state = RunState(self._setup, context, cancellation or Cancellation(), deps)
        return Run(state, loop(state), deadline)

    async def arun(self, task: Task, **options: Any) -> ExecutionContext:
        """Do as `run`, without blocking the event loop.

        When its task is cancelled the run ends, and the CancelledError has its ``context``.
        """
        async with self.astream(task, **options) as run:
            async for _ in run:
                pass
            return run.context

    def astream(self, task: Task, **options: Any) -> AsyncRun:
        """Return the run of a task, to be iterated with ``async for``; see `run`."""
        return AsyncRun(self.stream(task, **options))

    @checked
    def render(self, task: Task) -> str:
        """Return the exact text that the first step of this task would send to the model."""
        state = RunState(self._setup, ExecutionContext(run_id="", task=plain(task)), Cancellation())
        state.meet_model()
        return state.head + state.transcript


def _keeps_turns(hook: Hook) -> bool:
    return hook.only_watches or type(hook).after_turn is Hook.after_turn
