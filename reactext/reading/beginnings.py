"""What is returned while a text that comes in pieces allows no decision yet."""

from __future__ import annotations

from enum import Enum


class Undecided(Enum):
    """Only the text that comes next can tell."""

    MORE = "more"


MORE = Undecided.MORE
