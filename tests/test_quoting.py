"""Text of users and tools cannot end the model's turn, nor pass for one of its lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.protocol import Protocol
from reactext.quoting import inert, plain, quoted

SPECIAL = [
    "<|im_end|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|endoftext|>",
    "<|end|>",
    "<|turn>",
    "<turn|>",
    "<｜User｜>",
    "<｜end▁of▁sentence｜>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "[INST]",
    "[/INST]",
    "[TOOL_CALLS]",
    "<<SYS>>",
    "<repo_name>",
    "<file_sep>",
    "<jupyter_script>",
]


@pytest.mark.parametrize("token", SPECIAL)
def test_a_special_token_is_broken(token: str) -> None:
    told = inert(f"before {token} after")
    assert token not in told
    assert told.replace(" ", "") == f"before{token}after"


@pytest.mark.parametrize(
    "text",
    ["a < b and c > d", "x <- y | z", "if (a<b||c>d) {}", "<div class='s'>", "[see INST]", "a[1]"],
)
def test_other_text_stays(text: str) -> None:
    assert inert(text) == text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("nul\x00", "nul\ufffd"),
        ("half \ud83d", "half \ufffd"),
        ("both \ud83d\ude00", "both 😀"),
        ("tab\tstays\n", "tab\tstays\n"),
    ],
)
def test_what_no_server_takes_is_replaced(text: str, wanted: str) -> None:
    assert plain(text) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "Thought: x",
        "action: f(1)",
        "  Action Input: {}",
        "**Final Answer:** 3",
        "- Observation: y",
        "## Action: f()",
        "Observation 2: y",
        "Final Answer： z",
    ],
)
def test_a_line_that_begins_like_a_label_is_marked(line: str) -> None:
    assert quoted(f"first\n{line}\nlast", Protocol()) == f"first\n> {line}\nlast"


def test_a_label_within_a_line_stays() -> None:
    assert quoted("see Action: below", Protocol()) == "see Action: below"


@given(st.text())
def test_twice_is_once_for_special_tokens(text: str) -> None:
    assert inert(inert(text)) == inert(text)


@given(st.text(max_size=20).map(lambda text: text * 2000))
def test_any_text_can_be_encoded(text: str) -> None:
    quoted(text, Protocol()).encode("utf-8")
