"""Which frame a model's prompts belong in, told from its chat template or, failing that, its name.

The template may be Go's (Ollama) or Jinja's (GGUF files, llama.cpp): either way the words that
open and close a turn stand in it literally.
"""

from __future__ import annotations

import re

_MARKS = (
    # (frame, patterns that are all found in the template); the first that fits
    ("deepseek", ("<｜Assistant｜>",)),
    ("llama3", (r"<\|start_header_id\|>", r"<\|eot_id\|>")),
    ("gemma", ("<start_of_turn>", "<end_of_turn>")),
    ("qwen3", (r"<\|im_start\|>", "<think>")),
    ("chatml", (r"<\|im_start\|>", r"<\|im_end\|>")),
    # Jinja templates of this family put the role's name together with its bars
    ("phi", (r"<\|end\|>", r"<\|user\|>|<\|['\"] *\+ *message")),
    ("mistral", (r"\[INST\]", r"\[/INST\]")),
)

_FAMILIES = (
    # (frame, what a name of its models looks like); the first that fits
    ("deepseek", r"deepseek[-_]?(r1|v?[23]|llm)"),
    ("llama3", r"llama[-_.]?3"),
    ("gemma", r"gemma(?!4)"),
    ("qwen3", r"qwen[-_]?3(?!.*(instruct|coder))|qwq|smollm3"),
    ("chatml", r"qwen|smollm|hermes|yi[-_.]?\d|internlm|phi[-_]?4(?![-_]mini)"),
    ("phi", r"phi[-_]?[34]"),
    ("mistral", r"mi[sx]tral|ministral|codestral|devstral|nemo"),
)

_CONVERSES = re.compile(r"instruct|chat|[-_]it\b|hermes|qwen[-_]?3|qwq|smollm3|-r1|phi", re.I)
_BASE = re.compile(r"[-_.:](base|pt|text)\b", re.I)


def frame_of_template(template: str) -> str:
    """Return the name of the frame that speaks as this template does; "plain" if none does."""
    for frame, patterns in _MARKS:
        if all(re.search(pattern, template) for pattern in patterns):
            return frame
    return "plain"


def frame_of_name(name: str) -> str:
    """Guess the frame from a model's name where the server shows no template.

    A name that does not say that the model was taught to converse is that of a base model.
    """
    short = name.rsplit("/", 1)[-1]
    if _BASE.search(short) or not _CONVERSES.search(short):
        return "plain"
    return frame_of_family(short)


def frame_of_family(name: str) -> str:
    """Return the frame that conversing models of this family use; "plain" for an unknown one."""
    for frame, pattern in _FAMILIES:
        if re.search(pattern, name, re.IGNORECASE):
            return frame
    return "plain"


def thinks(template: str) -> bool:
    """Say whether the template knows of reasoning between tags."""
    return "<think>" in template or "</think>" in template
