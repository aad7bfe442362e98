"""A long result is shown by its head and tail, says so, and can be read on from the right place."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.models import Observation
from reactext.showing import cut, shares, shown


def result(text: str, full: str | None = None) -> Observation:
    return Observation(action_id="c1.1", tool="f", text=text, full=full, truncated=full is not None)


@pytest.mark.parametrize("limit", [200, 201, None])
def test_what_fits_is_shown_as_it_is(limit: int | None) -> None:
    whole = result("a" * 200)
    assert shown(whole, limit, reads_on=True) == whole


def test_head_and_tail_stand_around_a_word_of_what_is_left_out() -> None:
    text = "".join(f"{number}\n" for number in range(1000))
    told = cut(text, 300)
    assert len(told) <= 300
    found = re.fullmatch(
        r"(.*)\n\[… (\d+) of (\d+) characters are left out here …\]\n(.*)", told, re.DOTALL
    )
    assert found is not None
    head, left_out, whole, tail = found.groups()
    assert text.startswith(head) and text.endswith(tail)
    assert int(whole) == len(text) == len(head) + int(left_out) + len(tail)


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (60, "01234567890123456789012345678901234567890123456 [… 53 more]"),
        (20, "0123456 [… 93 more]"),
        (5, " [… 100 more]"),
        (-3, " [… 100 more]"),
    ],
)
def test_in_little_room_little_is_said(limit: int, told: str) -> None:
    assert cut("0123456789" * 10, limit) == told


def test_where_little_is_shown_it_can_be_read_on() -> None:
    seen = shown(result("0123456789" * 10), 80, reads_on=True)
    expected = '012345678901234567890123456789012 [… 67 more: read_more(id="c1.1", offset=33)]'
    assert seen.text == expected and len(expected) <= 80


def test_a_cut_that_saves_nothing_is_not_made() -> None:
    whole = result("0123456789")
    assert shown(whole, 3, reads_on=True) == whole


@given(st.text(alphabet="ae\u0301\u200d\ufe0f👩🚀🏽\n", min_size=200, max_size=400))
def test_no_mark_is_torn_from_its_letter(text: str) -> None:
    told = cut(text, 170)
    head = told.partition("\n[… ")[0]
    tail = told.rpartition("here …]\n")[2]
    assert text.startswith(head) and text.endswith(tail)
    assert len(head) + len(tail) <= 170 + 32


@pytest.mark.parametrize("cluster", ["e\u0301", "👩\u200d🚀", "👍🏽", "✈\ufe0f"])
def test_clusters_stay_whole(cluster: str) -> None:
    for shift in range(4):
        told = cut("a" * shift + cluster * 300, 200)
        head, tail = told.partition("\n[… ")[0], told.rpartition("here …]\n")[2]
        assert head[shift:] == cluster * head.count(cluster[0])
        assert tail == cluster * tail.count(cluster[0])


@given(st.integers(0, 3000), st.integers(0, 500), st.booleans())
def test_a_cut_result_keeps_all_and_says_where_to_go_on(size: int, limit: int, on: bool) -> None:
    text = "".join(chr(0x4E00 + place) for place in range(size))
    seen = shown(result(text), limit, reads_on=on)
    if not seen.truncated:
        assert seen.text == text and seen.full is None
        return
    assert seen.full == text and len(seen.text) < len(text)
    assert len(seen.text) <= max(limit, 16)
    found = re.search(r'read_more\(id="c1.1", offset=(\d+)\)', seen.text)
    assert on or found is None
    if found is not None:
        assert seen.text.startswith(text[: int(found[1])])
        assert not seen.text.startswith(text[: int(found[1]) + 1])


def test_a_text_that_a_hook_cut_keeps_its_whole_and_no_place_in_it_is_named() -> None:
    seen = shown(result("summary " * 100, full="the whole"), 300, reads_on=True)
    assert seen.full == "the whole"
    assert "read_more" not in seen.text


@pytest.mark.parametrize(
    ("costs", "allowance", "expected"),
    [
        ([], 10, []),
        ([3, 4], 10, [3, 4]),
        ([3, 100, 100], 23, [3, 10, 10]),
        ([100, 3, 50], 53, [25, 3, 25]),
        ([5, 5], 1, [0, 1]),
        ([5, 5], -7, [0, 0]),
    ],
)
def test_shares(costs: list[int], allowance: int, expected: list[int]) -> None:
    assert shares(costs, allowance) == expected
