"""A forked child has connections, locks and a loaded model of its own, and ends when it should."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from apis import APIS, NOT_FOUND, Api, heard, text
from wire_server import PATIENCE, Act, Asked, chunk, head, serving

from reactext.completion import Completion

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    # newer versions of Python warn of every fork beside a thread: that is what is tried here
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)


def in_a_child(work: Callable[[], str]) -> str:
    """What a forked child comes to, or why it comes to nothing."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=lambda: there.send(work()))
    child.start()
    there.close()
    try:
        if not here.poll(PATIENCE):
            return "it hangs"
        return str(here.recv())
    except EOFError:
        return "it failed"
    finally:
        child.kill()
        child.join()


def echoing(api: Api) -> Callable[[Asked], Iterable[Any]]:
    def script(asked: Asked) -> Iterable[Any]:
        if not api.asks_for_text(asked):
            return [NOT_FOUND]
        return api.reply([" ", asked.body["prompt"]])

    return script


@each_api
def test_a_child_has_a_connection_of_its_own(api: Api) -> None:
    with serving(echoing(api)) as server:
        model = api.model(server.url)
        assert text(heard(model, "one")) == " one"
        assert in_a_child(lambda: text(heard(model, "two"))) == " two"
        assert text(heard(model, "three")) == " three"
        numbers = [asked.connection for asked in server.asked if api.asks_for_text(asked)]
        assert numbers[1] not in (numbers[0], numbers[2])
        model.close()  # type: ignore[attr-defined]


@each_api
def test_a_child_does_not_keep_open_what_the_parent_closes(api: Api) -> None:
    begun = [head(200, api.content_type, Transfer_Encoding="chunked"), chunk(api.event(" a"))]

    def script(asked: Asked) -> Iterable[Any]:
        return [*begun, Act.HOLD] if api.asks_for_text(asked) else [NOT_FOUND]

    with serving(script) as server:
        pieces = api.model(server.url).complete("p", stop=(), options=Completion())
        assert next(pieces) == " a"

        def close_and_see() -> str:
            there.close()
            return str(here.poll(PATIENCE))

        context = multiprocessing.get_context("fork")
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=close_and_see)
        child.start()
        pieces.close()  # type: ignore[attr-defined]
        assert server.left.wait(PATIENCE)
        there.close()
        child.join()
        here.close()


@each_api
def test_a_child_goes_no_further_with_a_text_of_its_parent(api: Api) -> None:
    begun = [head(200, api.content_type, Transfer_Encoding="chunked"), chunk(api.event(" a"))]
    go_on = threading.Event()

    def script(asked: Asked) -> Iterable[Any]:
        if not api.asks_for_text(asked):
            return [NOT_FOUND]
        return [*begun, go_on, chunk(api.event(" b")), chunk(api.end()), b"0\r\n\r\n"]

    with serving(script) as server:
        pieces = api.model(server.url).complete("p", stop=(), options=Completion())
        assert next(pieces) == " a"
        assert "StreamCut" in in_a_child(lambda: error_of(pieces))
        go_on.set()
        assert "".join(pieces) == " b"


def error_of(pieces: Any) -> str:
    try:
        return "".join(pieces)
    except Exception as error:
        return repr(error)


def test_a_lock_that_was_held_in_the_parent_is_free_in_the_child() -> None:
    """Another thread waits for the first answer about the model while this one forks."""
    asking, answered = threading.Event(), threading.Event()
    for api in APIS:
        asking.clear()

        def script(asked: Asked, api: Api = api) -> Iterable[Any]:
            if api.asks_for_text(asked):
                return api.reply([" yes"])
            first = not asking.is_set()
            asking.set()
            return [answered, NOT_FOUND] if first else [NOT_FOUND]

        with serving(script) as server:
            model: Any = api.model(server.url)
            waiting = threading.Thread(target=model.card)
            waiting.start()
            assert asking.wait(PATIENCE)
            assert in_a_child(lambda model=model: said_of(model)) == " yes"  # type: ignore[misc]
            answered.set()
            waiting.join(PATIENCE)
        answered.clear()


def said_of(model: Any) -> str:
    model.card()
    return text(heard(model))


@each_api
def test_a_model_is_made_where_it_is_used(api: Api) -> None:
    with pytest.raises(TypeError, match="make it there"):
        pickle.dumps(api.model("http://127.0.0.1:1"))


PROGRAM = """
import os, sys
from reactext.backends import EmbeddedModel
from reactext.completion import Completion

def say(model):
    options = Completion(max_tokens=4, grammar='root ::= " yes"')
    return "".join(model.complete("Is it?", stop=(), options=options))

model = EmbeddedModel("smollm2-135m", window=256, threads=1)
assert say(model) == " yes"
child = os.fork()
if not child:
    if sys.argv[1] == "use":
        assert say(model) == " yes"
    if sys.argv[1] == "close":
        model.close()
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert say(model) == " yes"
"""


@pytest.mark.real_model
@pytest.mark.parametrize("what", ["nothing", "use", "close"])
def test_a_child_of_a_process_with_a_loaded_model(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, what],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.stderr, done.returncode) == ("", 0)
