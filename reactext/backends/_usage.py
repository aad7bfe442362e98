"""What servers count, read leniently: a figure that is missing or odd is None."""

from __future__ import annotations

from typing import Any

from reactext.models import Usage


def of_timings(timings: dict[str, Any]) -> Usage:
    """Read the ``timings`` of llama.cpp: how much was taken from the cache, how long it took."""
    cached, evaluated = count(timings.get("cache_n")), count(timings.get("prompt_n"))
    return Usage(
        prompt_tokens=None if cached is None or evaluated is None else cached + evaluated,
        cached_tokens=cached,
        completion_tokens=count(timings.get("predicted_n")),
        prompt_seconds=seconds(timings.get("prompt_ms"), 1e3),
        completion_seconds=seconds(timings.get("predicted_ms"), 1e3),
    )


def of_openai(usage: dict[str, Any]) -> Usage | None:
    """Read the ``usage`` of the OpenAI style; None for one that only holds zeros."""
    prompt = count(usage.get("prompt_tokens"))
    if not prompt:
        return None
    details = usage.get("prompt_tokens_details")
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        completion_tokens=count(usage.get("completion_tokens")),
    )


def of_ollama(done: dict[str, Any]) -> Usage:
    """Read the last line of Ollama, whose times are in nanoseconds."""
    return Usage(
        prompt_tokens=count(done.get("prompt_eval_count")),
        completion_tokens=count(done.get("eval_count")),
        prompt_seconds=seconds(done.get("prompt_eval_duration"), 1e9),
        completion_seconds=seconds(done.get("eval_duration"), 1e9),
    )


_MOST = 2**53
"""More is no count of anything, and no float."""


def count(value: Any) -> int | None:
    """Return a number of tokens, or None."""
    return value if type(value) is int and 0 <= value < _MOST else None


def seconds(value: Any, per_second: float) -> float | None:
    """Return a time in seconds, or None."""
    return value / per_second if type(value) in (int, float) and 0 <= value < _MOST else None
