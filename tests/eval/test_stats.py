"""Intervals and tests against published or hand-made figures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from eval.stats import cluster_bootstrap, holm, mcnemar, mcnemar_power, minimum_detectable_difference, wilson


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


def test_holm_steps_down() -> None:
    # The largest, 0.04, takes over the 2 * 0.03 of the one before it.
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1)))
def test_holm_never_falls_below_the_raw_p_nor_changes_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(raw <= now <= 1 for raw, now in zip(p_values, adjusted, strict=True))
    assert all(adjusted[i] <= adjusted[j] for i, p in enumerate(p_values) for j, q in enumerate(p_values) if p < q)


def test_the_bootstrap_of_single_questions_has_the_width_of_the_normal_interval() -> None:
    values = [1.0] * 60 + [0.0] * 110 + [-1.0] * 30
    low, high = cluster_bootstrap([[value] for value in values])
    width = 2 * 1.96 * math.sqrt((90 / 200 - (30 / 200) ** 2) / 200)
    assert (low + high) / 2 == pytest.approx(0.15, abs=0.01)
    assert high - low == pytest.approx(width, rel=0.05)


def test_the_bootstrap_takes_whole_clusters() -> None:
    apart = cluster_bootstrap([[float(i % 2)] for i in range(60)])
    together = cluster_bootstrap([[float(i % 2)] * 10 for i in range(6)])
    assert together[1] - together[0] > 2 * (apart[1] - apart[0])


def test_the_bootstrap_is_bounded_in_memory_and_blind_to_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = [[float(i % 3 == 0), 0.0] for i in range(30)]
    whole = cluster_bootstrap(clusters, seed=4)
    monkeypatch.setattr("eval.stats.BATCH_CELLS", 3000)
    assert cluster_bootstrap(clusters, seed=4) == pytest.approx(whole)


def test_one_cluster_says_nothing_and_equal_clusters_have_no_width() -> None:
    assert cluster_bootstrap([[1.0, 1.0]]) == (-1.0, 1.0)
    assert cluster_bootstrap([[0.0, 1.0], [1.0, 0.0]]) == (0.5, 0.5)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=8), min_size=2, max_size=40))
def test_the_bootstrap_interval_contains_the_difference(clusters: list[list[float]]) -> None:
    low, high = cluster_bootstrap(clusters)
    values = [value for cluster in clusters for value in cluster]
    assert low - 1e-9 <= sum(values) / len(values) <= high + 1e-9


@pytest.mark.parametrize(("n", "discordant", "difference"), [(12, 0.9, 0.7), (78, 0.3, 0.15), (200, 0.1, 0.1)])
def test_the_power_is_the_share_of_simulated_tests_that_reject(n: int, discordant: float, difference: float) -> None:
    rng = np.random.default_rng(0)
    gained, lost = (discordant + difference) / 2, (discordant - difference) / 2
    counts, times = np.unique(rng.multinomial(n, [gained, lost, 1 - discordant], size=20_000), axis=0, return_counts=True)
    rejected = sum(
        t for (g, x, _), t in zip(counts, times, strict=True) if mcnemar([False] * g + [True] * x, [True] * g + [False] * x) < 0.05
    )
    assert mcnemar_power(difference, discordant, n) == pytest.approx(rejected / 20_000, abs=0.012)


def test_the_power_without_a_difference_is_at_most_the_level() -> None:
    assert 0 < mcnemar_power(0.0, 0.3, 100) <= 0.05
    assert mcnemar_power(0.0, 0.0, 100) == 0.0
    with pytest.raises(ValueError, match=r"difference 0\.4 must lie between 0 and the discordant share 0\.3"):
        mcnemar_power(0.4, 0.3, 100)


@pytest.mark.parametrize("n", [500, 5000])
@pytest.mark.parametrize("discordant", [0.2, 0.5])
def test_the_detectable_difference_nears_the_formula_for_many_pairs(n: int, discordant: float) -> None:
    # Connor (1987), Biometrics 43, 207-211, solved for the difference; 1.96 and 0.8416 are the normal quantiles of 5% and of 80% power.
    a, b = 1.959964, 0.841621
    asymptotic = math.sqrt(discordant) * (a * math.sqrt(n) + b * math.sqrt(n + b**2 - a**2)) / (n + b**2)
    found = minimum_detectable_difference(n, discordant)
    assert found is not None
    assert asymptotic <= found <= 1.08 * asymptotic
    assert mcnemar_power(found, discordant, n) == pytest.approx(0.8)


def test_the_detectable_difference_of_few_or_equal_pairs() -> None:
    assert minimum_detectable_difference(5, 0.5) is None
    six, none = minimum_detectable_difference(6, 1.0), minimum_detectable_difference(78, 0.0)
    assert six is not None
    assert none is not None
    assert 0.8 < six < 1
    # Without lost pairs, six gained ones are needed, and come with a share that makes six likely.
    assert mcnemar_power(none, none, 78) == pytest.approx(binom.sf(5, 78, none)) == pytest.approx(0.8)
