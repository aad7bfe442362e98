"""What is oldest is cleared first, in one large step, and never the latest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.context import ExecutionContext
from reactext.models import Action, Observation, Step, Turn
from reactext.protocol import Protocol
from reactext.window import KEPT_STEPS, TokenMeter, fit


def run_of(sizes: list[int]) -> ExecutionContext:
    context = ExecutionContext(run_id="r", task="t")
    for number, size in enumerate(sizes):
        action = Action(id=f"c{number}.1", tool="f")
        seen = Observation(action_id=action.id, tool="f", text="x" * size)
        turn = Turn(text=f" step {number}", actions=(action,))
        context = context.with_step(Step(turn=turn, observations=(seen,)))
    return context


def tokens(context: ExecutionContext, meter: TokenMeter) -> int:
    return meter.estimate(context.transcript())


def test_observations_go_before_steps() -> None:
    meter = TokenMeter()
    fitted = fit(run_of([400] * 8), "", meter, 1000, Protocol())
    assert fitted.cleared > 0
    assert fitted.dropped == 0
    assert tokens(fitted, meter) <= 500


def test_whole_steps_go_when_that_is_not_enough() -> None:
    meter = TokenMeter()
    fitted = fit(run_of([10] * 60), "", meter, 400, Protocol())
    assert fitted.dropped > 0
    assert tokens(fitted, meter) <= 220


@given(st.lists(st.integers(0, 3000), max_size=30), st.integers(50, 4000))
def test_the_latest_steps_are_kept_and_nothing_comes_back(sizes: list[int], budget: int) -> None:
    meter, context = TokenMeter(), run_of(sizes)
    once = fit(context, "head", meter, budget, Protocol())
    again = fit(once, "head", meter, budget, Protocol())
    assert once.steps == context.steps
    assert once.cleared <= max(0, len(sizes) - KEPT_STEPS)
    assert again.cleared >= once.cleared
    assert again.dropped >= once.dropped


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 10, 70, 150),
        ("我想知道明天上海的天气怎么样，需要带伞吗？" * 10, 110, 230),
    ],
)
def test_the_first_estimate_is_near_the_truth(text: str, least: int, most: int) -> None:
    assert least <= TokenMeter().estimate(text) <= most


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("23, 7919, 15838, 99991.5\n" * 20, 480),
        ("1af4c09b77e2" * 40, 440),
        ('{"name": "lamp", "price": 12.5}, ' * 20, 300),
        ("🦊🪿" * 50, 225),
    ],
)
def test_no_kind_of_text_is_thought_much_shorter_than_it_is(text: str, real: int) -> None:
    assert real * 0.75 <= TokenMeter().estimate(text) <= real * 2


def test_a_prompt_that_goes_on_is_measured_by_what_was_counted_and_what_is_new() -> None:
    meter = TokenMeter()
    prompt = "The quick brown fox. " * 30
    meter.learn(prompt, 200)
    assert meter.estimate_prompt(prompt) == pytest.approx(200, abs=2)
    assert meter.estimate_prompt(prompt + "1234567890 " * 10) == pytest.approx(
        200 + 110 * 200 / 150, abs=30
    )


def test_a_count_that_no_tokenizer_gives_teaches_nothing() -> None:
    meter = TokenMeter()
    prompt = "The quick brown fox. " * 30
    before = meter.estimate_prompt(prompt)
    for counted in (3, 100_000, None):
        meter.learn(prompt, counted)
        assert meter.estimate_prompt(prompt) == before


def test_what_surely_fits_is_not_counted() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    meter = TokenMeter(count)
    assert meter.fits("a" * 100, 100) and not asked
    assert not meter.fits("a" * 101, 100) and len(asked) == 1
    meter.learn("a" * 101, 40)
    assert meter.fits("a" * 101 + "é" * 30, 100) and len(asked) == 1
    assert not meter.fits("a" * 101 + "é" * 31, 100) and len(asked) == 2


def test_the_meter_learns_from_the_server() -> None:
    meter = TokenMeter()
    meter.learn("a" * 1000, 500)
    assert meter.estimate("a" * 2000) == pytest.approx(1000, abs=2)


@pytest.mark.parametrize(
    ("counted", "cut"),
    [
        (None, False),
        (2000, False),
        (1100, False),
        (700, True),
        (512, True),
        (60, False),
        (1, False),
    ],
)
def test_a_count_far_below_what_was_sent_is_seen(counted: int | None, cut: bool) -> None:
    assert TokenMeter().seems_cut("word " * 2000, counted) == cut


def test_a_count_below_that_of_the_prompt_before_is_seen() -> None:
    meter = TokenMeter()
    prompt = "word " * 2000
    meter.learn(prompt, 2000)
    assert not meter.seems_cut(prompt + "word " * 50, 2050)
    assert meter.seems_cut(prompt + "word " * 50, 1024)


def test_a_server_that_counts_only_what_it_evaluated_cuts_nothing() -> None:
    meter = TokenMeter()
    prompt = "word " * 2000
    meter.learn(prompt, 2000)
    assert not meter.seems_cut(prompt + "word " * 600, 601)


def test_a_counter_of_the_server_is_believed_more_than_the_estimate() -> None:
    prompt = "🦊🪿" * 600
    assert TokenMeter().seems_cut(prompt, 1300)
    assert not TokenMeter(lambda text: 1300).seems_cut(prompt, 1300)
