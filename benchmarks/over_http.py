"""What a turn costs beside the model, over HTTP.

    python benchmarks/over_http.py [--steps 5,20,50] [--rounds 5] [--runs 64] [--json]

Three ways drive the same scripted server: ``floor``, a hand-written streaming loop of requests
and a regular expression; ``model``, the same loop over `OllamaModel`; and ``engine``. A round
runs each once, and the figures are medians over the rounds; a ratio is to the floor of its round.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from reactext import Engine, OllamaModel, tool
from reactext.completion import Completion

HEAD = (
    "Answer the question; use the tools.\n\n- lookup(key: str): Look an item up.\n\n"
    "Write these lines, then stop:\nThought: what to do next\nAction: the call\n"
    "The result then appears as Observation: the result\n\nQuestion: {task}\nThought:"
)
CALL = re.compile(r'Action: *lookup\(key="([^"]*)"\)')
STOP = ["\nObservation"]


def look(key: str) -> str:
    """Look an item up."""
    return f"the value of {key} is 4711"


def by_hand(text_of: Callable[[str], str], task: str) -> str:
    """Answer a task with whatever continues a prompt."""
    prompt = HEAD.format(task=task)
    while True:
        text = text_of(prompt)
        if "Final Answer:" in text:
            return text.split("Final Answer:", 1)[1].strip()
        call = CALL.search(text)
        prompt += f"{text}Observation: {look(call[1]) if call else 'no call'}\nThought:"


class Floor:
    """What somebody would write by hand, with a session for each thread."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/api/generate"
        self._local = threading.local()

    def __call__(self, task: str) -> str:
        return by_hand(self._text, task)

    def _text(self, prompt: str) -> str:
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
            self._local.session.trust_env = False
        body = {"model": "fake", "prompt": prompt, "raw": True, "options": {"stop": STOP}}
        response = self._local.session.post(self._url, json=body, stream=True)
        lines = response.iter_lines(chunk_size=None)
        return "".join(json.loads(line)["response"] for line in lines)


def over_model(url: str) -> Callable[[str], str]:
    """The same loop, over our model."""
    model = OllamaModel("fake", url, num_ctx=1_000_000)
    options = Completion(max_tokens=512)

    def text_of(prompt: str) -> str:
        return "".join(model.complete(prompt, stop=STOP, options=options))

    return lambda task: by_hand(text_of, task)


def over_engine(url: str) -> Callable[[str], str]:
    """The engine, with the one tool."""
    lookup = tool(look, name="lookup")
    model = OllamaModel("fake", url, num_ctx=1_000_000)
    engine = Engine(model, tools=[lookup], max_steps=1000)
    return lambda task: engine.run(task).answer or ""


WAYS: dict[str, Callable[[str], Callable[[str], str]]] = {
    "floor": Floor,
    "model": over_model,
    "engine": over_engine,
}


def seconds(answer: Callable[[str], str], steps: int, wait: int, runs: int = 1) -> float:
    """How long so many runs at once take."""
    task = f"[[steps={steps} wait={wait}]]"
    answers: list[str] = []

    def run() -> None:
        answers.append(answer(task))

    threads = [threading.Thread(target=run) for _ in range(runs)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    if answers != ["all items were looked up"] * runs:
        raise SystemExit(f"wrong answers: {set(answers)}")
    return took


@contextmanager
def scripted_server() -> Iterator[str]:
    """Run the server beside this process."""
    program = Path(__file__).with_name("scripted_ollama.py")
    with subprocess.Popen(
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.communicate()


def measured(url: str, steps: list[int], rounds: int, runs: int) -> list[dict[str, object]]:
    """Return a row of figures for each way and number of steps, and for many runs at once."""
    ways = {name: make(url) for name, make in WAYS.items()}
    rows: list[dict[str, object]] = []
    for name in ways:
        seconds(ways[name], 2, 0)
    for count in steps:
        taken = [
            {name: seconds(way, count, 0) for name, way in ways.items()} for _ in range(rounds)
        ]
        rows += [
            _row(name, f"{count} steps", taken, 1000 / (count + 1), "ms a turn") for name in ways
        ]
    taken = [{name: seconds(way, 5, 50, runs) for name, way in ways.items()} for _ in range(rounds)]
    rows += [_row(name, f"{runs} runs of 5 steps at 50 ms", taken, 1, "s in all") for name in ways]
    return rows


def _row(
    name: str, what: str, taken: list[dict[str, float]], scale: float, unit: str
) -> dict[str, object]:
    figure = statistics.median(each[name] for each in taken) * scale
    ratio = statistics.median(each[name] / each["floor"] for each in taken)
    return {
        "what": what,
        "way": name,
        "figure": round(figure, 3),
        "unit": unit,
        "ratio": round(ratio, 2),
    }


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--steps", default="5,20,50")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with scripted_server() as url:
        rows = measured(url, [int(n) for n in asked.steps.split(",")], asked.rounds, asked.runs)
    if asked.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(
            f"{row['what']:28} {row['way']:8} {row['figure']:9} {row['unit']:10} × {row['ratio']}"
        )


if __name__ == "__main__":
    main()
