"""Logging says how runs go, by facts; what is said in a run only to who debugs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from reactext.completion import ScriptedModel
from reactext.engine import Engine
from reactext.errors import ServerFault
from reactext.tools import tool


@tool
def lookup(word: str) -> str:
    """Look a word up."""
    return f"the secret of {word} is PLUGH"


REPLIES = [
    ' I look MUSING.\nAction: lookup(word="XYZZY") || TELLTALE(x=1)',
    "UNREADABLE",
    " Done.\nFinal Answer: FINALLY",
]
SAID = ("TASKWORD", "MUSING", "XYZZY", "PLUGH", "TELLTALE", "UNREADABLE", "FINALLY")


def records(caplog: pytest.LogCaptureFixture, level: int) -> list[logging.LogRecord]:
    caplog.set_level(level, logger="reactext")
    Engine(ScriptedModel(REPLIES), [lookup]).run("TASKWORD?", deps="DEPENDENCY", run_id="r7")
    return [record for record in caplog.records if record.name == "reactext"]


def facts(record: logging.LogRecord) -> dict[str, Any]:
    usual = vars(logging.makeLogRecord({})).keys()
    return {key: value for key, value in vars(record).items() if key not in {*usual, "message"}}


def test_info_tells_how_a_run_goes(caplog: pytest.LogCaptureFixture) -> None:
    told = [facts(record) for record in records(caplog, logging.INFO)]
    assert all(each["run_id"] == "r7" for each in told)
    assert [each["event"] for each in told] == [
        "run_started",
        "step_done",
        "turn_corrected",
        "step_done",
        "run_ended",
    ]
    assert told[0] | {"task_characters": 9, "tools": 1} == told[0]
    assert told[1] | {"step": 1, "calls": "lookup:ok,unknown:error", "answered": False} == told[1]
    assert told[4] | {"status": "finished", "steps": 2} == told[4]
    assert told[4]["seconds"] >= 0


def test_info_says_nothing_of_what_is_said_in_a_run(caplog: pytest.LogCaptureFixture) -> None:
    text = "".join(f"{record.getMessage()} {facts(record)}" for record in records(caplog, 20))
    assert [word for word in (*SAID, "DEPENDENCY") if word in text] == []


def test_debug_says_what_was_written_and_seen_but_no_prompt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    text = "".join(record.getMessage() for record in records(caplog, logging.DEBUG))
    assert [word for word in SAID if word not in text] == ["TASKWORD"]
    assert "DEPENDENCY" not in text


def test_a_record_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    for record in records(caplog, logging.DEBUG):
        assert record.getMessage().isprintable()


def test_a_fault_is_told_by_its_kind(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="reactext")
    model = ScriptedModel([ServerFault("the server says TASKWORD", status=400)])
    with pytest.raises(ServerFault):
        Engine(model).run("TASKWORD?")
    ended = caplog.records[-1]
    assert facts(ended)["reason"] == "ServerFault"
    assert "TASKWORD" not in caplog.text


def test_who_listens_to_nothing_hears_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert records(caplog, logging.WARNING) == []
