"""The examples run: with scripted models, and their tools as a person would call them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from reactext import Engine, ScriptedModel

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "examples").glob("*.py"))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / f"examples/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_example_says_what_it_is_and_how_it_is_run(path: Path) -> None:
    module = load(path.stem)
    assert f"python examples/{path.name}" in (module.__doc__ or "")
    assert module.TOOLS


def test_a_trip_is_planned_flights_first_then_hotel_beside_weather() -> None:
    travel = load("travel")
    model = ScriptedModel(
        [
            ' 先查机票。\nAction: search_flights(origin="北京", destination="上海", date="03-12", '
            "max_price=1000)",
            ' 再查。\nAction: search_hotels(city="上海", nights=2) || get_weather(city="上海")',
            ' 写行程。\nAction: make_itinerary(city="上海", days=3, flight="MU5102", '
            'hotel="如家外滩店")',
            " 我知道答案了。\nFinal Answer: 乘MU5102，住如家外滩店，带伞。",
        ]
    )
    context = Engine(model, travel.TOOLS).run(travel.TASK)
    seen = [[each.text for each in step.observations] for step in context.steps]
    assert context.answer == "乘MU5102，住如家外滩店，带伞。"
    assert seen[0] == ["MU5102 08:00 780元; CA1515 10:30 960元"]
    assert [len(each) for each in seen] == [1, 2, 1, 0]
    assert seen[1][1] == "小雨，9至14°C"
    assert "第3天：返程" in seen[2][0]


def test_an_order_is_answered_by_two_calls_side_by_side() -> None:
    orders = load("orders")
    model = ScriptedModel(
        [
            ' Look it up.\nAction: get_order(order_id="A1001") || track_order(order_id="A1001")',
            " I know the answer.\nFinal Answer: In Hangzhou; it arrives on 14 March.",
        ]
    )
    context = Engine(model, orders.TOOLS).run(orders.TASK)
    assert [each.text for each in context.steps[0].observations] == [
        "keyboard, 320 yuan, shipped",
        "in Hangzhou, arrives on 14 March",
    ]
