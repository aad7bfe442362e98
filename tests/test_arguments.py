"""Safe coercions are made, lossy ones never, and what is wrong is said in one sentence."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, HttpUrl

from reactext.arguments import ArgumentError, call_arguments, validate
from reactext.coercion import coerced, fits
from reactext.reader import parse
from reactext.signatures.samples import sample
from reactext.tools import Parameter, RunContext, Tool, example_call, tool


class Unit(Enum):
    CELSIUS = "Celsius"
    FAHRENHEIT = "Fahrenheit"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Place:
    city: str
    zone: int = 0


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Point(NamedTuple):
    x: int
    y: int = 0


MANY: Any = Literal[tuple(f"city {number}" for number in range(300))]


def refuse_odd(number: int) -> int:
    if number % 2:
        raise ValueError("odd numbers are not allowed here")
    return number


def break_down(_: Any) -> Any:
    raise RuntimeError("the validator is broken")


def taking(annotation: Any) -> Tool:
    """Make a tool with one parameter of this type."""

    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    return tool(function)


COERCED: list[tuple[Any, Any, Any]] = [
    (int, 3, 3),
    (int, "3", 3),
    (int, " -3 ", -3),
    (int, 3.0, 3),
    (int, "3.0", 3),
    (float, 1, 1.0),
    (float, "1.5", 1.5),
    (float, "1e3", 1000.0),
    (str, 3, "3"),
    (str, 1.5, "1.5"),
    (str, True, "true"),
    (str, "007", "007"),
    (bool, "true", True),
    (bool, "False", False),
    (bool, 1, True),
    (Decimal, "1.10", Decimal("1.10")),
    (date, "2025-03-12", date(2025, 3, 12)),
    (datetime, "2025-03-12T09:30:00", datetime(2025, 3, 12, 9, 30)),
    (Unit, "Celsius", Unit.CELSIUS),
    (Unit, "celsius ", Unit.CELSIUS),
    (Level, "2", Level.HIGH),
    (Literal["c", "f"], "C", "c"),
    (Literal[1, 2], "2", 2),
    (int | None, "3", 3),
    (int | None, "null", None),
    (int | None, "None", None),
    (int | None, None, None),
    (str | None, "null", "null"),
    (int | str, "3", "3"),
    (int | str, 3, 3),
    (list[str], "a", ["a"]),
    (list[str], ["a", 1], ["a", "1"]),
    (list[str], '["a", "b"]', ["a", "b"]),
    (list[str], "['a', 'b']", ["a", "b"]),
    (list[int], 3, [3]),
    (list[int], ["1", 2.0], [1, 2]),
    (list[float], [1, 3], [1.0, 3.0]),
    (list[Place], {"city": "Oslo"}, [Place("Oslo")]),
    (tuple[int, str], ["1", 2], (1, "2")),
    (set[int], [1, "2"], {1, 2}),
    (dict[str, int], '{"a": "1"}', {"a": 1}),
    (dict[str, int], "{'a': 1}", {"a": 1}),
    (Place, {"city": 3, "zone": "2"}, Place("3", 2)),
    (Place, '{"city": "Oslo"}', Place("Oslo")),
    (Node, {"value": "1", "children": {"value": 2}}, Node(value=1, children=[Node(value=2)])),
    (Point, [1, 2], Point(1, 2)),
    (Any, {"any": ["thing"]}, {"any": ["thing"]}),
    (object, "text", "text"),
    (list, "a", ["a"]),
    (dict, '{"a": [1]}', {"a": [1]}),
]


def titled(
    title: str,
    version: str = "2",
    number: int = 1,
    unit: str | None = "c",
    other: str | None = None,
) -> None: ...


WRITTEN: list[tuple[str, dict[str, Any] | str]] = [
    ("titled(title=None)", "title must be str, got null"),
    ("titled(None)", "title must be str, got null"),
    ('titled(title="None")', {"title": "None"}),
    ("titled(title=1.10)", {"title": "1.10"}),
    ('titled: {"title": 1.10, "number": 2.0}', {"title": "1.10", "number": 2}),
    ("titled(title=True, number=3)", {"title": "True", "number": 3}),
    ('titled(title="a", version=None, number=null)', {"title": "a"}),
    ('titled(title="a", unit=None)', {"title": "a", "unit": None}),
    ('titled(title="a", other=null)', {"title": "a", "other": None}),
    ('titled(title="a", number=True)', "number must be int, got true"),
]


@pytest.mark.parametrize(("written", "expected"), WRITTEN)
def test_what_is_written_reaches_the_tool_unchanged(
    written: str, expected: dict[str, Any] | str
) -> None:
    made = tool(titled)
    [action] = parse(f" Go.\nAction: {written}", [made], cue="Thought:").actions
    if isinstance(expected, str):
        with pytest.raises(ArgumentError, match=expected):
            validate(made, action.kwargs, action.args)
    else:
        assert validate(made, action.kwargs, action.args) == expected


@pytest.mark.parametrize(("annotation", "given_value", "expected"), COERCED)
def test_safe_coercions(annotation: Any, given_value: Any, expected: Any) -> None:
    value = validate(taking(annotation), {"value": given_value})["value"]
    assert value == expected
    assert type(value) is type(expected)


MISFITS: list[tuple[Any, Any, str]] = [
    (int, 3.7, "value must be int, got 3.7"),
    (int, "3.7", 'value must be int, got "3.7"'),
    (int, "soon", 'value must be int, got "soon"'),
    (int, None, "value must be int, got null"),
    (int, True, "value must be int, got true"),
    (float, False, "value must be float, got false"),
    (int | None, True, "value must be int|null, got true"),
    (int, "", 'value must be int, got ""'),
    (str, None, "value must be str, got null"),
    (str, ["Oslo", "Lima"], 'value must be str, got ["Oslo", "Lima"]'),
    (str, {"a": 1}, 'value must be str, got {"a": 1}'),
    (bool, "maybe", 'value must be bool, got "maybe"'),
    (Unit, "kelvin", 'value must be "Celsius" or "Fahrenheit", got "kelvin"'),
    (Literal["c", "f"], 3, 'value must be "c" or "f", got 3'),
    (int | None, "soon", 'value must be int|null, got "soon"'),
    (int | float, "soon", 'value must be int|float, got "soon"'),
    (MANY, "citi 4", 'value must be one of 300 values, like "city 4", "city '),
    (
        MANY,
        5,
        'value must be one of 300 values, like "city 0", "city 1", "city 2", "city 3", "city 4",',
    ),
    (date, "tomorrow", 'value must be date "YYYY-MM-DD", got "tomorrow"'),
    (
        list[int],
        ["a"],
        "value[0] must be a valid integer, unable to parse string as an integer, got",
    ),
    (list[int], {"a": 1}, 'value must be list[int], got {"a": 1}'),
    (Place, {"zone": 1}, "value.city is missing"),
    (Place, {"city": "Oslo", "zone": "x"}, "value.zone must be a valid integer"),
    (Node, {"value": 1, "children": [{"value": "x"}]}, "value.children[0].value must be"),
    (dict[str, int], "no object", 'value must be dict[str, int], got "no object"'),
    (Annotated[int, Field(ge=1, le=14)], 20, "value must be less than or equal to 14, got 20"),
    (Annotated[str, Field(min_length=2)], "a", "value must have at least 2 characters, got"),
    (
        Annotated[int, AfterValidator(refuse_odd)],
        3,
        "value odd numbers are not allowed here, got 3",
    ),
    (Annotated[int, AfterValidator(break_down)], 3, "value is refused: RuntimeError"),
    (str, ["x" * 100], "…"),
]


@pytest.mark.parametrize(("annotation", "given_value", "problem"), MISFITS)
def test_misfits_say_what_was_expected_and_what_came(
    annotation: Any, given_value: Any, problem: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        validate(taking(annotation), {"value": given_value})
    assert problem in caught.value.problem
    assert "\n" not in str(caught.value)


@tool
def book(city: str, when: date, nights: int = 1, *, room: Literal["single", "double"] = "single"):  # type: ignore[no-untyped-def]
    """Book a hotel."""


SENTENCES: list[tuple[list[Any], dict[str, Any], str]] = [
    (
        [],
        {},
        "book was not run: missing arguments city, when. Write it like this: "
        'book(city="Oslo", when="2025-03-12")',
    ),
    (
        [],
        {"city": "Lima"},
        "book was not run: missing argument when. Write it like this: "
        'book(city="Lima", when="2025-03-12")',
    ),
    (
        [],
        {"city": "Lima", "when": "2025-04-01", "nights": "two"},
        'book was not run: nights must be int, got "two". Write it like this: '
        'book(city="Lima", when="2025-04-01", nights=1)',
    ),
    (
        [],
        {"city": "Lima", "when": "2025-04-01", "night": 2},
        "book was not run: there is no parameter night, did you mean nights? (its parameters: "
        'city, when, nights, room). Write it like this: book(city="Lima", when="2025-04-01")',
    ),
    (
        [],
        {"city": "Lima", "when": "soon", "nights": 2.5, "room": "suite"},
        'book was not run: when must be date "YYYY-MM-DD", got "soon"; nights must be int, '
        'got 2.5; room must be "single" or "double", got "suite". Write it like this: '
        'book(city="Lima", when="2025-03-12", nights=1, room="single")',
    ),
    (
        ["Lima", "2025-04-01", 2, "double", "breakfast"],
        {},
        "book was not run: book takes 4 arguments, got 5. Write it like this: "
        'book(city="Lima", when="2025-04-01", nights=2, room="double")',
    ),
    (
        ["Lima", "2025-04-01"],
        {"city": "Oslo"},
        "book was not run: city is given twice. Write it like this: "
        'book(city="Lima", when="2025-04-01")',
    ),
]


@pytest.mark.parametrize(("args", "kwargs", "sentence"), SENTENCES)
def test_everything_wrong_stands_in_one_sentence(
    args: list[Any], kwargs: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        validate(book, kwargs, args)
    assert str(caught.value) == sentence


def test_left_out_parameters_stay_out() -> None:
    assert validate(book, {"city": "Lima", "when": "2025-04-01"}).keys() == {"city", "when"}


@pytest.mark.parametrize("name", ["City", "CITY", "ci_ty", "ci-ty"])
def test_names_are_known_by_their_letters(name: str) -> None:
    assert validate(book, {name: "Lima", "when": "2025-04-01"})["city"] == "Lima"


def test_name_of_the_context_is_no_parameter() -> None:
    def search(query: str, context: RunContext) -> None: ...

    with pytest.raises(ArgumentError, match="no parameter context"):
        validate(tool(search), {"query": "a", "context": {"deps": 1}})


def test_none_is_right_where_it_is_the_default() -> None:
    def search(query: str, limit: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013 (people do)

    assert validate(tool(search), {"query": "a", "limit": None}) == {"query": "a", "limit": None}


def test_default_in_a_field_is_passed_each_time_anew() -> None:
    def search(
        days: int = Field(3, ge=1),
        tags: list[str] = Field(default_factory=list),  # noqa: B008 (as pydantic's users write)
    ) -> None: ...

    made = tool(search)
    first, second = validate(made, {}), validate(made, {})
    assert first == {"days": 3, "tags": []}
    assert first["tags"] is not second["tags"]


def test_positional_only_parameters_and_the_context_are_passed() -> None:
    def search(a: int, b: int = 2, /, *, c: int = 3, context: RunContext) -> Any:
        return a, b, c, context

    made, context = tool(search), RunContext("run")
    args, kwargs = call_arguments(made, validate(made, {"a": 1, "c": 9}), context)
    assert made(*args, **kwargs) == (1, 2, 9, context)

    def last(a: int = 1, b: int = 2, /) -> Any:
        return a, b

    args, kwargs = call_arguments(tool(last), {"b": 7}, context)
    assert last(*args, **kwargs) == (1, 7)


def test_parameters_made_by_hand_are_validated_by_their_schema() -> None:
    made = Tool(
        "remote",
        "A tool of another program.",
        (
            Parameter("count", {"type": "integer"}, type_text="int"),
            Parameter("tags", {"type": "array", "items": {"type": "string"}}, required=False),
        ),
        lambda **_: None,
    )
    assert validate(made, {"count": "3", "tags": "a"}) == {"count": 3, "tags": ["a"]}
    with pytest.raises(ArgumentError, match=r"count must be int, got 3\.5"):
        validate(made, {"count": 3.5})


SAMPLED: list[Any] = [
    *(int, float, str, bool, None, Any, object, date, datetime, Decimal, Unit, Level, Place, Node),
    *(
        Point,
        HttpUrl,
        list[int],
        dict[str, Place],
        tuple[int, ...],
        tuple[int, str],
        set[str],
        bytes,
    ),
    *(Node | None, int | str, Literal["x", 1, None], list[Literal["a"]]),
    Annotated[int, Field(ge=10, le=20)],
    Annotated[int, Field(gt=10)],
    Annotated[int, Field(lt=-3)],
    Annotated[int, Field(ge=1)],
    Annotated[int, Field(multiple_of=7)],
    Annotated[float, Field(gt=5, lt=6)],
    Annotated[list[int], Field(min_length=3)],
    Annotated[str, Field(min_length=30)],
    Annotated[str, Field(max_length=3)],
    Annotated[str, Field(pattern=r"^\d{4}$")],
    Annotated[str, Field(examples=["from the caller"])],
]


@pytest.mark.parametrize("annotation", SAMPLED, ids=str)
def test_the_example_is_a_right_call(annotation: Any) -> None:
    made = taking(annotation)
    validate(made, {"value": sample(made.parameters[0].schema, "value")})
    assert example_call(made).startswith("function(value=")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
TOOLS = [taking(annotation) for annotation, _, _ in COERCED]


@given(st.sampled_from(TOOLS), JSON)
def test_any_value_is_taken_or_refused_in_a_sentence(made: Tool, value: Any) -> None:
    with contextlib.suppress(ArgumentError):
        validate(made, {"value": value})


@given(st.sampled_from(TOOLS), JSON)
def test_coercing_again_changes_nothing(made: Tool, value: Any) -> None:
    schema = made.parameters[0].schema
    once = coerced(value, schema)
    assert repr(coerced(once, schema)) == repr(once)
    if fits(value, schema):
        assert once is value


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_lose_nothing(number: float) -> None:
    for schema in ({"type": "integer"}, {"type": "number"}, {"type": "string"}):
        assert float(coerced(number, schema)) == float(number)
