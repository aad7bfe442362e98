"""The pieces that grammars are built of, by the whole set of the texts that they allow."""

from __future__ import annotations

from itertools import chain as joined
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.shapes import (
    DEEP,
    NOTHING,
    Chain,
    Character,
    Choice,
    Repeat,
    Rule,
    Shape,
    Text,
    by_beginning,
    chain,
    choice,
    in_order,
    in_places,
    none_of,
    one_of,
    optional,
    repeat,
)


def texts(shape: Shape) -> list[str]:
    """Return every text of a finite shape, as often as there are ways to it."""
    match shape:
        case Text(text):
            return [text]
        case Character(ranges, excluded=False):
            return [chr(each) for a, b in ranges for each in range(ord(a), ord(b) + 1)]
        case Chain(parts):
            return ["".join(each) for each in product(*map(texts, parts))]
        case Choice(options):
            return list(joined.from_iterable(map(texts, options)))
        case Rule(body=body):
            return texts(body)
        case Repeat(item, least, int(most)):
            inner = texts(item)
            counts = range(least, most + 1)
            return ["".join(each) for count in counts for each in product(inner, repeat=count)]
        case _:
            raise AssertionError(f"{shape} is not finite")


def lengths(shape: Shape) -> set[int]:
    """Return how many characters the texts of a shape of one character may have."""
    match shape:
        case Text(text):
            return {len(text)}
        case Rule(body=body):
            return lengths(body)
        case Choice(options):
            return set().union(*map(lengths, options))
        case Chain(parts):
            sums = {0}
            for each in parts:
                sums = {left + right for left in sums for right in lengths(each)}
            return sums
        case Repeat(item, least, int(most)):
            (length,) = lengths(item)
            return {length * count for count in range(least, most + 1)}
        case _:
            raise AssertionError(f"{shape} has no length")


def names(shape: Shape) -> int:
    """Count the nodes of a shape, shared ones once."""
    seen: set[int] = set()

    def visit(each: Shape) -> None:
        if id(each) in seen:
            return
        seen.add(id(each))
        match each:
            case Chain(parts) | Choice(parts):
                for part in parts:
                    visit(part)
            case Repeat(item=inner) | Rule(body=inner):
                visit(inner)

    visit(shape)
    return len(seen)


def test_chains_are_flat_and_their_texts_joined() -> None:
    assert chain("a", chain("b", one_of("x")), "", "c") == Chain(
        (Text("ab"), one_of("x"), Text("c"))
    )
    assert chain("a", "b") == Text("ab")
    assert chain() == chain("", NOTHING) == NOTHING


def test_choices_offer_each_option_once_and_nothing_as_leaving_out() -> None:
    assert choice(["a", "b", "a"]) == Choice((Text("a"), Text("b")))
    assert choice(["a"]) == Text("a")
    assert choice(["a", NOTHING]) == optional("a")
    assert choice([NOTHING]) == NOTHING


def test_classes_are_written_as_ranges_and_single_characters() -> None:
    assert one_of("a-z_-") == Character((("a", "z"), ("_", "_"), ("-", "-")))
    assert none_of("\x00-\x1f", "^-") == Character(
        (("\x00", "\x1f"), ("^", "^"), ("-", "-")), excluded=True
    )


flags = st.lists(st.booleans(), max_size=6)


@given(flags)
def test_in_order_any_optional_part_may_be_left_out(required: list[bool]) -> None:
    parts: list[tuple[Shape, bool]] = [(Text(f"p{n}"), each) for n, each in enumerate(required)]
    wanted = {
        ",".join(f"p{n}" for n in kept)
        for size in range(len(parts) + 1)
        for kept in combinations(range(len(parts)), size)
        if all(n in kept for n, each in enumerate(required) if each)
    }
    found = texts(in_order(parts, ","))
    assert set(found) == wanted
    assert len(found) == len(wanted)


@given(flags)
def test_in_places_only_the_end_may_be_left_out(required: list[bool]) -> None:
    parts: list[tuple[Shape, bool]] = [(Text(f"p{n}"), each) for n, each in enumerate(required)]
    needed = max((n + 1 for n, each in enumerate(required) if each), default=0)
    wanted = {",".join(f"p{n}" for n in range(size)) for size in range(needed, len(parts) + 1)}
    found = texts(in_places(parts, ","))
    assert set(found) == wanted
    assert len(found) == len(wanted)


@pytest.mark.parametrize("required", [lambda n: False, lambda n: n % 2 == 1, lambda n: n == 0])
def test_in_order_grows_linearly(required: object) -> None:
    assert callable(required)
    sizes = [
        names(in_order([(Text(f"p{n}"), required(n)) for n in range(count)], ", "))
        for count in (20, 40, 80)
    ]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


@given(st.sets(st.text("ab-]^\\é", max_size=6), min_size=1, max_size=40))
def test_sorting_by_beginnings_keeps_the_texts(wanted: set[str]) -> None:
    found = texts(by_beginning(dict.fromkeys(sorted(wanted), NOTHING)))
    assert sorted(found) == sorted(wanted)


def test_sorting_by_beginnings_is_bounded_in_depth() -> None:
    wanted = ["x" * length for length in range(1, 10 * DEEP)]
    assert sorted(texts(by_beginning(dict.fromkeys(wanted, NOTHING)))) == wanted


@pytest.mark.parametrize(
    ("least", "most"),
    [
        (0, 0),
        (0, 1),
        (3, 3),
        (0, 999),
        (0, 1000),
        (1, 1001),
        (999, 1999),
        (1300, 5500),
        (2000, 2000),
    ],
)
def test_counts_are_exact_however_they_are_split(least: int, most: int) -> None:
    assert lengths(repeat(Text("x"), least, most)) == set(range(least, most + 1))


def test_a_count_that_nobody_reaches_is_none() -> None:
    assert repeat(Text("x"), 0, 10**6) == Repeat(Text("x"))
