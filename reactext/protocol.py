"""The labels of the text protocol: what we write, and what we read besides."""

from __future__ import annotations

from reactext.models import Value


class Labels(Value):
    """The labels, each with its synonyms: the first is written, all are read.

    They are given without their colon.
    """

    question: tuple[str, ...] = ("Question",)
    thought: tuple[str, ...] = ("Thought",)
    action: tuple[str, ...] = ("Action",)
    action_input: tuple[str, ...] = ("Action Input",)
    observation: tuple[str, ...] = ("Observation",)
    answer: tuple[str, ...] = ("Final Answer",)


class Protocol(Value):
    """Both directions of the text protocol: how it is asked for, and how it is read."""

    labels: Labels = Labels()
    colon: str = ":"

    def label(self, name: str) -> str:
        """The label as it is written: ``label("thought")`` is ``"Thought:"``."""
        written: str = getattr(self.labels, name)[0]
        return written + self.colon
