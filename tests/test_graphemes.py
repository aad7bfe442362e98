"""What a reader sees as one character is never torn."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.graphemes import cut, graphemes

ONE = [
    "a",
    "中",
    "e\u0301",  # a letter with its accent
    "\u0438\u0306",
    "각",
    "\u1112\u1161\u11ab",  # the same syllable in parts
    "👍🏽",  # a skin tone
    "👩‍👩‍👧‍👦",  # a family, joined
    "🏳️‍🌈",
    "🇩🇪",  # a flag, of two halves
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # a flag, of tags
    "1\ufe0f\u20e3",  # a keycap
    "❤️",
    "நி",
    "क्षि",  # a conjunct
    "\r\n",
    "\ud83d\ude00",  # a surrogate pair that was never joined
    "\u0600\u0661",  # a sign that stands before its number
]


@pytest.mark.parametrize("character", ONE, ids=ascii)
def test_one_character_is_kept_together(character: str) -> None:
    assert list(graphemes(character)) == [character]
    assert list(graphemes(f"x{character}y")) == ["x", character, "y"]
    assert cut(f"x{character}yz", 3) == f"x{character}…"
    assert cut(f"x{character}yz", 2) == "x…"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("🇩🇪🇫🇷🇮", ["🇩🇪", "🇫🇷", "🇮"]),
        ("\n\u0301", ["\n", "\u0301"]),  # a line break takes no accent
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("한국", ["한", "국"]),
        ("", []),
    ],
    ids=ascii,
)
def test_neighbours_are_kept_apart(text: str, parts: list[str]) -> None:
    assert list(graphemes(text)) == parts


PIECES = st.one_of(st.sampled_from(ONE), st.characters())


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(0, 20))
def test_a_cut_text_is_whole_characters_and_no_longer_than_asked(text: str, width: int) -> None:
    whole, shown = list(graphemes(text)), cut(text, width)
    assert "".join(whole) == text
    if shown != text:
        assert shown == "".join(whole[: max(0, width - 1)]) + "…"
        assert len(whole) > width


def test_a_text_that_is_not_too_long_stays() -> None:
    assert cut("neunzehn", 8) == "neunzehn"
    assert cut("neunzehn", None) == "neunzehn"
    assert cut("neunzehn", 7) == "neunze…"


def test_a_character_of_a_thousand_marks_is_left_out_rather_than_shown_or_torn() -> None:
    assert cut("a" + "b\u0301" + "c" + "\u0301" * 1000 + "d", 100) == "ab\u0301…"


@given(st.lists(st.characters(), min_size=1, max_size=20).map("".join))
def test_no_mark_begins_a_character_but_after_what_takes_none(text: str) -> None:
    for before, after in zip(list(graphemes(text)), list(graphemes(text))[1:], strict=False):
        if unicodedata.category(after[0]) in ("Mn", "Me", "Mc"):
            assert unicodedata.category(before[-1]) in ("Cc", "Cf", "Cs", "Zl", "Zp")
