"""Docstrings in the forms that people write."""

from __future__ import annotations

import pytest

from reactext.signatures.docstrings import read_docstring

CASES = [
    ("", "", {}),
    ("One line.", "One line.", {}),
    ("Two\n    lines.\n\n    More.", "Two\nlines.\n\nMore.", {}),
    (
        "Google.\n\n    Args:\n        city: the city\n            it is about\n"
        "        days (int, optional): how many\n\n    Returns:\n        text: of weather\n",
        "Google.",
        {"city": "the city it is about", "days": "how many"},
    ),
    (
        "NumPy.\n\n    Parameters\n    ----------\n    city : str\n        the city\n"
        "    days\n        how many\n\n    Returns\n    -------\n    str\n        the weather\n",
        "NumPy.",
        {"city": "the city", "days": "how many"},
    ),
    (
        "Sphinx.\n\n    :param city: the city\n        it is about\n    :param int days: how many\n"
        "    :returns: the weather\n        of it\n",
        "Sphinx.",
        {"city": "the city it is about", "days": "how many"},
    ),
    (
        "Goes on.\n\n    Args:\n        city: the city\n\n    Only in the north.",
        "Goes on.\n\nOnly in the north.",
        {"city": "the city"},
    ),
    ("Note: a colon is no section.", "Note: a colon is no section.", {}),
]


@pytest.mark.parametrize(("docstring", "description", "remarks"), CASES)
def test_docstring(docstring: str, description: str, remarks: dict[str, str]) -> None:
    assert read_docstring(docstring) == (description, remarks)
