"""Conversations that take turns keep their slots."""

from __future__ import annotations

import pytest
from apis import heard

from reactext.backends import EmbeddedModel
from reactext.backends._slots import Slots

HEAD = "the same instructions for everybody. " * 4


def work(slots: Slots, prompt: str) -> int | None:
    with slots.taken(prompt) as number:
        return number


def test_a_conversation_goes_on_where_it_was() -> None:
    slots = Slots(2)
    first, second = HEAD + "A?", HEAD + "B?"
    assert work(slots, first) == 0
    assert work(slots, second) == 1
    for _ in range(3):
        first += " a and more"
        second += " b and more"
        assert work(slots, first) == 0
        assert work(slots, second) == 1


def test_a_correction_that_is_dropped_again_changes_nothing() -> None:
    slots = Slots(2)
    assert work(slots, HEAD + "A?") == 0
    assert work(slots, HEAD + "A? what was that") == 0
    assert work(slots, HEAD + "B?") == 1
    assert work(slots, HEAD + "A? an action") == 0


def test_a_new_conversation_takes_the_slot_that_was_left_longest() -> None:
    slots = Slots(2)
    assert work(slots, HEAD + "A" * 99) == 0
    assert work(slots, HEAD + "B" * 99) == 1
    assert work(slots, HEAD + "A" * 99 + "more") == 0
    assert work(slots, HEAD + "C" * 99) == 1


def test_a_busy_slot_is_not_given() -> None:
    slots = Slots(2)
    with slots.taken("A") as first, slots.taken("A") as second, slots.taken("A") as third:
        assert {first, second} == {0, 1}
        assert third is None
    assert work(slots, "A") in (0, 1)


def test_a_server_that_others_use_too_chooses_itself() -> None:
    assert work(Slots(0), "A") is None


@pytest.mark.real_model
def test_conversations_that_take_turns_keep_what_was_evaluated() -> None:
    grammar = 'root ::= " I look."'
    with EmbeddedModel("smollm2-135m", window=1024, parallel=2, threads=1) as model:
        prompts = [HEAD + f"Question: {letter * 20}?\nThought:" for letter in "AB"]
        for step in range(4):
            for number, prompt in enumerate(prompts):
                usage = heard(model, prompt, grammar=grammar)[-1].usage
                assert usage is not None
                assert usage.prompt_tokens is not None
                assert usage.cached_tokens is not None
                if step:
                    assert usage.prompt_tokens - usage.cached_tokens <= 20
                prompts[number] += f" I look.\nObservation: nothing {step}\nThought:"
