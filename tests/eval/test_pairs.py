"""Two runs side by side: the counts by hand, what swapping them does, and what is refused."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.pairs import Comparison, compare_runs, sentence
from eval.report import comparison_table
from eval.rows import Row
from supersession.cli import UsageError
from tests.eval.test_report import row, text


def result(episode: int, question: int, correct: bool | None, kind: str = "current") -> Row:
    return row(
        episode,
        question_id=f"q{question}",
        kind=kind,
        correct=correct,
        verdict=None,
        error="refused" if correct is None else None,
    )


def run(outcomes: list[bool | None], kind: str = "current") -> list[Row]:
    return [result(i, 0, correct, kind) for i, correct in enumerate(outcomes)]


def whole(first: list[Row], second: list[Row]) -> Comparison:
    return compare_runs({"A": first, "B": second})[0][0]


def test_the_counts_of_a_comparison() -> None:
    first = run([True] * 10 + [False] * 20 + [None, False])
    second = run([True] * 9 + [False] + [True] * 9 + [False] * 11 + [True, None])
    line = whole(first, second)
    assert (line.n, line.episodes, line.only_first, line.only_second) == (30, 30, 1, 1)
    assert (line.correct_first, line.correct_second, line.gained, line.lost) == (10, 18, 9, 1)
    assert line.difference == pytest.approx(8 / 30)
    assert line.p == line.p_holm == pytest.approx(2 * (1 + 10) / 2**10)
    assert line.interval_first == pytest.approx((0.192, 0.512), abs=1e-3)
    assert line.conclusive


def test_kinds_follow_the_whole_the_most_frequent_first() -> None:
    first = run([False] * 8) + [result(20 + i, 0, False, "previous") for i in range(3)]
    second = run([True] * 8) + [result(20 + i, 0, i == 0, "previous") for i in range(3)]
    lines = compare_runs({"A": first, "B": second})[0]
    assert [(line.kind, line.n, line.gained) for line in lines] == [("all", 11, 9), ("current", 8, 8), ("previous", 3, 1)]
    assert [line.p_holm for line in lines] == pytest.approx([2 / 2**9, 2 * 2 / 2**8, 1.0])


def test_holm_corrects_for_the_number_of_runs() -> None:
    base, better = run([False] * 10), run([True] * 7 + [False] * 3)
    (one, *_), (two, *_) = compare_runs({"base": base, "one": better, "two": better})
    assert (one.first, two.first, one.second, two.second) == ("base", "base", "one", "two")
    assert one.p == two.p == pytest.approx(2 / 2**7)
    assert one.p_holm == two.p_holm == pytest.approx(4 / 2**7)
    assert "p = 0.016, 0.031 after Holm's correction" in sentence(one)


def test_questions_of_one_episode_widen_the_interval() -> None:
    apart = [(i, 0, i % 4 != 0) for i in range(40)]
    together = [(i // 10, i % 10, i // 10 != 0) for i in range(40)]
    lines = [whole([result(e, q, False) for e, q, _ in run], [result(e, q, c) for e, q, c in run]) for run in (apart, together)]
    widths = [line.difference_interval[1] - line.difference_interval[0] for line in lines]
    assert lines[0].difference == lines[1].difference == 0.75
    assert widths[1] > 2 * widths[0]


def test_one_episode_alone_proves_nothing() -> None:
    line = whole([result(0, q, False) for q in range(20)], [result(0, q, True) for q in range(20)])
    assert (line.p < 0.001, line.difference_interval, line.conclusive) == (True, (-1.0, 1.0), False)


OUTCOMES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.booleans(), st.booleans()), min_size=1, unique_by=lambda o: o[:2])


@settings(max_examples=25, deadline=None)
@given(OUTCOMES)
def test_swapping_two_runs_changes_signs_alone(outcomes: list[tuple[int, int, bool, bool]]) -> None:
    first, second = [result(e, q, a) for e, q, a, _ in outcomes], [result(e, q, b) for e, q, _, b in outcomes]
    there, back = whole(first, second), whole(second, first)
    low, high = there.difference_interval
    assert back.difference_interval == pytest.approx((-high, -low))
    assert back == dataclasses.replace(
        there,
        correct_first=there.correct_second,
        correct_second=there.correct_first,
        interval_first=there.interval_second,
        interval_second=there.interval_first,
        gained=there.lost,
        lost=there.gained,
        difference=-there.difference,
        difference_interval=back.difference_interval,
    )
    assert low - 1e-9 <= there.difference <= high + 1e-9
    assert there == whole(first[::-1], second)
    assert math.isfinite(there.p)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (run([True] * 16 + [False] * 4), ["B is right on 12 more of 20 questions than A; p = 4.9e-04", "support that B is better"]),
        (
            run([False] * 20),
            ["B is right on 4 fewer of 20 questions than A; p = 0.125", "by chance in 12% of", "do not show which is better"],
        ),
        (run([True] * 4 + [False] * 16), ["B is right on as many of 20 questions as A; p = 1.000", "do not show which is better"]),
        (run([False] * 3), ["B is right on 3 fewer of 3 questions", "so few questions cannot show which is better"]),
    ],
)
def test_the_sentence_claims_what_the_data_support(second: list[Row], words: list[str]) -> None:
    said = sentence(whole(run([True] * 4 + [False] * 16), second))
    assert all(part in said for part in words), said


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (run([None] * 3), "all rows of B have failed; run its evaluation again"),
        ([result(50, 0, True)], "A and B share no scored question; compare runs on the same episodes"),
        ([result(0, 0, True).model_copy(update={"gold": "Peak Gym"})], "A and B differ in question 'q0'"),
        (run([True], kind="previous"), "A and B differ in question 'q0'"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(second: list[Row], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        whole(run([True] * 3), second)


def test_the_table_says_what_was_left_out() -> None:
    shown = text(comparison_table(compare_runs({"A": run([False] * 9 + [True]), "B": run([True] * 9 + [None])})[0]))
    assert "B (second) against A (first)" in shown
    assert "9 shared questions of 9 episodes; left out: 1 that only the first has scored, 0 that only the second has" in shown
    assert "+100.0 [+100.0, +100.0]" in shown
    assert "9, 0" in shown
