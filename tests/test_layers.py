"""A module imports only from rooms below it, and each outside library has one door."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import reactext

PACKAGE = Path(reactext.__file__).parent

ROOMS = [
    "errors",
    "cancellation",
    "models",
    "canonical",
    "protocol",
    "quoting",
    "_resources",
    "docstrings",
    "schema",
    "samples",
    "parameters",
    "tools",
    "coercion",
    "arguments",
    "observing",
    "completion",
    "READING",
    "shapes",
    "json_shapes",
    "turn_shapes",
    "dialects",
    "constrain",
    "context",
    "worked_example",
    "prompts",
    "window",
    "weights",
    "backends",
    "RUNNING",
    "runner",
    "hooks",
    "guards",
    "approval",
    "settings",
    "generation",
    "run",
    "asynchronous",
    "engine",
]
"""The rooms from the ground floor up."""
