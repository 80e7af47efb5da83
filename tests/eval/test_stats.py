"""Intervals and tests against published or hand-made figures."""

import pytest

from eval.stats import mcnemar, wilson


def test_wilson_matches_a_published_example() -> None:
    # Newcombe (1998), Statistics in Medicine 17, table I: 81 of 263, 15 of 148, 0 of 20.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_wilson_of_nothing_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (-1, 2)])
def test_wilson_refuses_impossible_counts(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} successes in {n} trials"):
        wilson(successes, n)


def test_mcnemar_is_the_binomial_test_of_the_pairs_that_differ() -> None:
    before = [False] * 9 + [True] + [True] * 50
    after = [True] * 9 + [False] + [True] * 50
    assert mcnemar(before, after) == pytest.approx(2 * (1 + 10) / 2**10)
    assert mcnemar(after, before) == pytest.approx(mcnemar(before, after))


def test_mcnemar_without_a_difference_is_1() -> None:
    assert mcnemar([True, False], [True, False]) == 1.0
    assert mcnemar([], []) == 1.0


def test_mcnemar_needs_pairs() -> None:
    with pytest.raises(ValueError, match="equally many, got 1 and 2"):
        mcnemar([True], [True, False])
