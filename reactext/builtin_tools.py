"""Two tools for whoever has not written any yet: a calculator and a clock."""

from __future__ import annotations

import difflib
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, available_timezones

from reactext.arithmetic import evaluate
from reactext.tools import Tool, tool


@tool(
    example='calculator(expression="12 * 7 + 5")',
    example_result="89",
    idempotent=True,
)
def calculator(expression: str) -> str:
    """Calculates an arithmetic expression."""
    return evaluate(expression)


@tool(example='clock(zone="Asia/Shanghai")', repeatable=True)
def clock(zone: str = "") -> str:
    """Tells today's date, the weekday and the time, here or in another time zone."""
    now = datetime.now(_zone(zone)) if zone.strip() else datetime.now().astimezone()
    return f"{now:%A, %Y-%m-%d %H:%M (UTC%z)}"


BUILTIN_TOOLS: tuple[Tool, ...] = (calculator, clock)


def _zone(name: str) -> tzinfo:
    """Find a zone by its name, its city or its distance from UTC."""
    offset = re.fullmatch(
        r"(?:UTC|GMT)([+-])(\d{1,2})(?::?([0-5]\d))?", name.strip(), re.IGNORECASE
    )
    if offset and int(offset[2]) < 24:
        distance = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(-distance if offset[1] == "-" else distance)
    wanted = name.strip().replace(" ", "_").lower()
    zones = {zone.lower(): zone for zone in sorted(available_timezones())}
    cities = {zone.rpartition("/")[2]: zone for zone in zones}
    if found := zones.get(wanted) or zones.get(cities.get(wanted, "")):
        return ZoneInfo(found)
    if wanted in ("utc", "z"):  # a machine without a table of zones knows this one
        return UTC
    near = difflib.get_close_matches(wanted, [*zones, *cities], n=1)
    guess = zones.get(near[0]) or zones[cities[near[0]]] if near else "Asia/Shanghai or UTC+8"
    raise ValueError(f"there is no time zone {name!r}; write one like {guess}")
