"""A function becomes a tool: what the model is shown, what is refused and with which remedy."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from reactext.errors import SetupError
from reactext.tools import (
    Parameter,
    RunContext,
    Tool,
    Toolbox,
    example_call,
    signature_text,
    tool,
    unknown_tool_text,
)


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclass
class Place:
    city: str
    zone: int = 0


class Node(BaseModel):
    title: str
    children: list[Node] = []


def plain(city: str, days: int = 1) -> str:
    """Weather forecast for a city."""
    return f"{city} {days}"


async def asynchronous(city: str) -> str:
    """Weather, in time."""
    return city


def untyped(text, count=2):  # type: ignore[no-untyped-def]
    return text * count


def typed(
    unit: Unit,
    kind: Literal["a", "b"],
    place: Place,
    node: Node,
    when: date | None = None,
    tags: list[str] | None = None,
    scores: dict[str, float] | None = None,
) -> None:
    pass


def with_context(query: str, context: RunContext, deep: bool = False) -> None:
    """Search."""


def with_optional_context(query: str, *, context: RunContext | None = None) -> None:
    """Search."""


def with_fields(
    city: Annotated[str, Field(description="the city")],
    zone: Annotated[str, "the time zone"],
    days: int = Field(3, ge=1, description="how many days"),
    limit: Annotated[int, Field(default=5)] = 5,
) -> None:
    pass


def positional(a: int, b: int = 2, /, *, c: int = 3) -> tuple[int, int, int]:
    return a, b, c


def chinese(城市: str, 天数: int = 1) -> str:  # noqa: N803 (no case in them)
    """查询天气。"""
    return 城市


SIGNATURES: list[tuple[Callable[..., Any], str, str]] = [
    (plain, "plain(city: str, days: int = 1)", 'plain(city="Oslo")'),
    (asynchronous, "asynchronous(city: str)", 'asynchronous(city="Oslo")'),
    (untyped, "untyped(text, count=2)", 'untyped(text="good morning")'),
    (
        typed,
        'typed(unit: "c"|"f", kind: "a"|"b", place: {city: str, zone: int = 0}, '
        "node: {title: str, children: list[dict] = []}, "
        'when: date "YYYY-MM-DD" = null, tags: list[str] = null, '
        "scores: dict[str, float] = null)",
        'typed(unit="c", kind="a", place={"city": "Oslo"}, node={"title": "Lunch"})',
    ),
    (with_context, "with_context(query: str, deep: bool = false)", ""),
    (with_optional_context, "with_optional_context(query: str)", ""),
    (with_fields, "with_fields(city: str, zone: str, days: int = 3, limit: int = 5)", ""),
    (positional, "positional(a: int, b: int = 2, c: int = 3)", "positional(a=1)"),
    (chinese, "chinese(城市: str, 天数: int = 1)", 'chinese(城市="上海")'),
]


@pytest.mark.parametrize(
    ("function", "signature", "example"), SIGNATURES, ids=lambda each: getattr(each, "__name__", "")
)
def test_signature_and_example(function: Callable[..., Any], signature: str, example: str) -> None:
    made = tool(function)
    assert signature_text(made) == signature
    if example:
        assert example_call(made) == example


def test_decorated_function_is_still_called_like_one() -> None:
    @tool
    def double(number: int) -> int:
        """Double a number."""
        return number * 2

    @tool(name="twice", timeout=5, idempotent=True)
    def other(number: int) -> int:
        return number * 2

    assert isinstance(double, Tool) and double(4) == 8
    assert (other.name, other.timeout, other.idempotent, other(number=2)) == ("twice", 5, True, 4)


def test_descriptions_come_from_fields_remarks_and_docstring() -> None:
    def find(
        city: Annotated[str, Field(description="the city")], zone: Annotated[str, "z"], n: int
    ) -> None:
        """Find things
        in a city.

        Slowly.

        Args:
            city: not this
            n: how many
        """

    made = tool(find)
    assert made.summary == "Find things in a city."
    assert made.description == "Find things\nin a city.\n\nSlowly."
    assert [each.description for each in made.parameters] == ["the city", "z", "how many"]


def test_description_and_name_can_be_given() -> None:
    made = tool(plain, name="查询 天气", description="天气")
    assert (made.name, made.description) == ("查询 天气", "天气")
    assert example_call(made) == '查询 天气(city="Oslo")'


def test_parameters_made_by_hand_are_shown_by_their_schema() -> None:
    made = Tool("read", "", (Parameter("count", {"type": "integer"}), Parameter("x", {})), plain)
    assert signature_text(made) == "read(count: int, x)"


def test_own_example_is_used() -> None:
    made = tool(plain, example='plain(city="Rome", days=2)')
    assert example_call(made) == 'plain(city="Rome", days=2)'


def test_signature_written_over_a_function_counts() -> None:
    def function(**_: Any) -> str:
        return ""

    signature = plain.__wrapped__ if hasattr(plain, "__wrapped__") else plain
    function.__signature__ = __import__("inspect").signature(signature)  # type: ignore[attr-defined]
    function.__doc__ = "search."
    function.__name__ = function.__qualname__ = "tool"
    made = tool(function, name="search")
    assert signature_text(made) == "search(city: str, days: int = 1)"
    assert made.description == "search."


def test_wrapped_partial_bound_and_callable() -> None:
    class Service:
        def find(self, query: str) -> str:
            """Find."""
            return query

        def __call__(self, query: str) -> str:
            """Call."""
            return query

    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> str:
        return plain(*args, **kwargs)

    partial = tool(functools.partial(plain, days=3), name="partial")
    assert signature_text(tool(wrapper)) == "plain(city: str, days: int = 1)"
    assert signature_text(tool(Service().find)) == "find(query: str)"
    assert signature_text(partial) == "partial(city: str, days: int = 3)"
    assert partial.description == "Weather forecast for a city."
    assert tool(Service(), name="service").description == "Call."


def test_class_of_a_running_function_is_found_by_its_name() -> None:
    class Local(Enum):
        ONE = "one"

    def pick(which: Local) -> None:
        pass

    assert signature_text(tool(pick)) == 'pick(which: "one")'


def test_recursive_schema_is_bounded_and_without_references() -> None:
    schema = tool(typed).parameters[3].schema
    assert "$ref" not in str(schema)
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["properties"]["children"]["items"] == {"type": "object"}


def star(*numbers: int) -> None: ...


def keywords(**options: Any) -> None: ...


def callback(function: Callable[[int], int]) -> None: ...


def unresolved(which: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


class Thing:
    def method(self, query: str) -> None: ...


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (star, {}, "make it one parameter: numbers: list"),
    (keywords, {}, "make it one: options: dict"),
    (callback, {}, "which no model can write"),
    (unresolved, {}, "'Missing', which is not known"),
    (Thing.method, {}, "tool(thing.method)"),
    (Thing(), {}, "not of"),
    (lambda x: x, {}, "use tool(…, name=…)"),
    (tool(plain), {}, "already is a tool"),
    (3, {}, "not of 3"),
    (plain, {"name": "a(b)"}, "cannot be named 'a(b)'"),
    (plain, {"name": "two\nlines"}, "cannot be named"),
    (plain, {"name": "a || b"}, "cannot be named"),
    (plain, {"name": " plain"}, "cannot be named"),
    (plain, {"timeout": 0}, "math.inf is no limit"),
    (plain, {"timeout": "5"}, "math.inf is no limit"),
    (plain, {"retries": -1}, "of at least 0"),
    (plain, {"max_concurrency": 0}, "of at least 1"),
    (plain, {"max_observation_chars": 10}, "of at least 100"),
    (plain, {"isolation": "vm"}, '"thread" or "process"'),
    (lambda x: x, {"name": "f", "isolation": "process"}, "at the top level of a module"),
    (plain, {"example": "weather()"}, "like plain("),
    (plain, {"retry": 3}, "no option 'retry'"),
]


@pytest.mark.parametrize(("function", "options", "remedy"), REFUSED)
def test_what_cannot_be_a_tool_is_refused(
    function: Any, options: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(SetupError) as caught:
        tool(function, **options)
    assert remedy in str(caught.value)


def test_no_limit_is_infinity() -> None:
    assert tool(plain, timeout=math.inf).timeout == math.inf


def test_toolbox_keeps_order_and_refuses_duplicates() -> None:
    toolbox = Toolbox([untyped, plain, chinese])
    assert toolbox.names == ("untyped", "plain", "chinese")
    assert [each.name for each in toolbox] == ["untyped", "plain", "chinese"]
    assert "plain" in toolbox and toolbox.get("Plain") is None
    with pytest.raises(SetupError, match="two tools are named 'plain'"):
        Toolbox([plain, tool(untyped, name="plain")])
    with pytest.raises(SetupError, match="list of tools"):
        Toolbox(plain)  # type: ignore[arg-type]


NEAREST = [
    ("get_wether", ("get_weather",)),
    ("Get-Weather", ("get_weather",)),
    ("getWeather", ("get_weather",)),
    ("book_hotel", ("book_hotel",)),
    ("查天气", ("查询天气",)),
    ("zzz", ()),
]


@pytest.mark.parametrize(("name", "expected"), NEAREST)
def test_nearest_names(name: str, expected: tuple[str, ...]) -> None:
    names = ["get_weather", "book_hotel", "查询天气"]
    toolbox = Toolbox([tool(plain, name=each) for each in names])
    assert toolbox.nearest(name, 1) == expected


def test_unknown_tool_is_told_with_the_nearest_and_the_list() -> None:
    toolbox = Toolbox([tool(plain, name="get_weather"), untyped])
    assert unknown_tool_text("get_wether", toolbox) == (
        "there is no tool 'get_wether'; did you mean get_weather? "
        "The tools are: get_weather, untyped"
    )
    assert unknown_tool_text("zzz", toolbox).startswith("there is no tool 'zzz'. The tools are")
    assert "no tools at all" in unknown_tool_text("zzz", Toolbox())
