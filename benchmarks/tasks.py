"""How many of thirty tasks a model gets right, and what each cost.

    python benchmarks/tasks.py [MODEL] [--constrain auto|off] [--only N,N] [--prompts DIR]
                               [--frame NAME] [--verbose]

Twenty tasks, fourteen in English and six in Chinese: arithmetic, weather, orders, flights, hotels,
trips. Then ten that no tool helps with: greetings, facts, small translations, and sums where there
is no calculator. An answer is right when it holds what its task names and nothing of the worked
example in the prompt. The sample is small: a difference of two or three tasks says nothing.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from pathlib import Path

import reactext
from reactext import Engine, ExecutionContext, Tool, tool

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

from orders import get_order, track_order
from travel import get_weather, search_flights, search_hotels

from reactext.builtin_tools import calculator


@tool
def today() -> str:
    """The date of today."""
    return "2025-03-10"


TOOLS = [calculator, get_weather, search_flights, search_hotels, get_order, track_order, today]

TASKS: list[tuple[str, list[str]]] = [
    ("What is 17 * 23?", ["391"]),
    ("What is (125 + 375) / 4?", ["125"]),
    ("A box holds 24 eggs. How many eggs are in 17 boxes?", ["408"]),
    ("What is 2 to the power of 20?", ["1048576|1,048,576"]),
    ("What is the weather in Shanghai?", ["14"]),
    ("How is the weather in Beijing and in Guangzhou?", ["12", "24"]),
    ("What is the state of order A1002?", ["not shipped|not been shipped|paid|hasn't"]),
    ("Where is my order A1001 now, and when does it arrive?", ["Hangzhou", "14"]),
    ("Has order A1003 been delivered?", ["[Dd]elivered|[Yy]es"]),
    ("Find a flight from Beijing to Shanghai on 03-12 under 900 yuan.", ["MU5102"]),
    ("Which hotel in Hangzhou is the cheapest?", ["279|汉庭"]),
    ("What is the date today?", ["2025-03-10|March 10|10 March|10th"]),
    ("Say hello in French.", ["[Bb]onjour|[Ss]alut"]),
    ("Is the weather in Chengdu and Hangzhou the same? Give both.", ["17", "15"]),
    ("上海天气怎么样？", ["14"]),
    ("北京和广州的天气怎么样？", ["12", "24"]),
    ("计算 128 * 7 等于多少", ["896"]),
    ("订单A1003现在是什么状态？", ["shipped|发货|送达|delivered|已"]),
    ("查一下3月12日北京到上海的航班，预算1000元以内", ["MU5102|CA1515"]),
    ("在上海住两晚，最便宜的酒店一共多少钱？", ["658"]),
]

PLAIN: list[tuple[str, list[str]]] = [
    ("Hello!", ["[Hh]ello|[Hh]i\\b|help"]),
    ("Thank you!", ["welcome|glad|[Nn]o problem"]),
    ("Translate 'good morning' into Spanish.", ["[Bb]uenos d"]),
    ("What is the capital of France?", ["Paris"]),
    ("Which month comes after March?", ["April"]),
    ("What is the opposite of hot?", ["[Cc]old"]),
    ("你好", ["你好|您好|帮"]),
    ("把“谢谢”翻译成英语。", ["[Tt]hank"]),
    ("What is 2+2?", ["\\b4\\b|[Ff]our"]),
    ("What is 10 - 3?", ["\\b7\\b|[Ss]even"]),
]
"""The sums are asked of an engine without the calculator."""

COPIED = r"Turku|Cusco|206035|428450|图尔库|库斯科"
"""What stands in the worked example."""


def right(context: ExecutionContext, wanted: list[str]) -> bool:
    """Whether the answer holds each thing that its task names, and nothing of the example."""
    answer = context.answer or ""
    return all(re.search(each, answer) for each in wanted) and not re.search(COPIED, answer)


def account(context: ExecutionContext) -> str:
    """Return the steps of a run, a line each."""
    lines = []
    for step in context.steps:
        calls = " || ".join(action.text.strip() for action in step.turn.actions)
        seen = " || ".join(observation.text for observation in step.observations)
        lines.append(f"    {step.turn.thought.strip()[:90]} | {calls} -> {seen[:120]}")
        lines += [f"      corrected: {each.problem[:100]}" for each in step.corrections]
    return "\n".join(lines)


def main() -> None:
    """Run the tasks and print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("model", nargs="?")
    options.add_argument("--constrain", choices=["auto", "off"], default="auto")
    options.add_argument("--only", default="")
    options.add_argument("--verbose", action="store_true")
    options.add_argument("--frame")
    options.add_argument("--prompts")
    given = options.parse_args()
    chosen = {int(each) for each in given.only.split(",") if each}
    model = reactext.model(given.model)

    def engine_with(tools: list[Tool]) -> Engine:
        return Engine(
            model,
            tools=tools,
            max_steps=8,
            step_tokens=200,
            frame=given.frame,
            prompts=given.prompts,
            constrain="auto" if given.constrain == "auto" else False,
        )

    usual, without = engine_with(TOOLS), engine_with(TOOLS[1:])
    passed, plain, called, copied = 0, 0, 0, 0
    seconds, steps, parallel, corrections = [], 0, 0, 0
    for number, (task, wanted) in enumerate(TASKS + PLAIN, 1):
        if chosen and number not in chosen:
            continue
        engine = without if number > len(TASKS) + len(PLAIN) - 2 else usual
        began = time.perf_counter()
        context = engine.run(task)
        took = time.perf_counter() - began
        good = right(context, wanted)
        if number > len(TASKS):
            plain += good
            called += any(step.turn.actions for step in context.steps)
        else:
            passed += good
        copied += bool(re.search(COPIED, context.answer or ""))
        seconds.append(took)
        steps += len(context.steps)
        parallel += any(len(step.turn.actions) > 1 for step in context.steps)
        corrections += sum(len(step.corrections) for step in context.steps)
        answer = (context.answer or "").replace("\n", " ")[:110]
        mark = "right" if good else "WRONG"
        print(
            f"{number:3} {mark} {context.status:9} {len(context.steps)} steps {took:5.1f} s  "
            f"{answer}"
        )
        if given.verbose:
            print(account(context))
    count = len(seconds)
    print(
        f"{passed}/{len(TASKS)} right with tools and {plain}/{len(PLAIN)} without, {called} of "
        f"these called a tool, {copied} answers copied the example, {steps / count:.1f} steps a "
        f"task, {parallel} tasks with parallel calls, {corrections} corrections, median "
        f"{statistics.median(seconds):.1f} s a task"
    )


if __name__ == "__main__":
    main()
