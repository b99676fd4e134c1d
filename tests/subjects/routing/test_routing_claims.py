"""Claims of the subject by other routes: brute force, NumPy's float16, SciPy, cases by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

from lemmata.subjects.routing import collapse, families, head_rank, induction, lookup, precision, solvers


def test_the_temperature_on_a_circle_by_a_theta_function():
    """Sums of exp(-c j²) over all integers, for weights up to 0.55."""
    for p in (0.36, 0.5, 0.55):
        c = optimize.brentq(lambda c, p=p: np.exp(-c * np.arange(-200, 201) ** 2.0).sum() - 1 / p, 1e-3, 5.0)
        assert 1 < c / (np.pi * p**2) < 1 + 5 * np.exp(-np.pi / p**2)
        problem = lookup.Wanted(jnp.asarray(p), jnp.asarray(1.0))
        exact = float(lookup.KeysOnACircle().measure_at(problem, jax.random.key(0), 200.0))
        assert exact == pytest.approx(c / (2 * np.pi**2), rel=1e-3)


def test_bisection_finds_the_weight():
    behind = np.random.default_rng(0).uniform(0.1, 2.0, 30)
    found = float(lookup.sharpness_for(jnp.asarray(0.4), jnp.asarray(behind), 1000.0))
    assert 1 / (1 + np.exp(-found * behind).sum()) == pytest.approx(0.4, rel=1e-12)


def test_a_simplex_of_three_by_hand():
    """Inner products are -1/2."""
    angles = 2 * np.pi * np.arange(3) / 3
    problem = lookup.UnitKeys(jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1), jnp.asarray(1.0))
    expected = 1 / (1 + 2 * np.exp(-1.5))
    assert float(lookup.SimplexKeysAreBest().predict(problem)) == pytest.approx(expected)
    assert float(lookup.SimplexKeysAreBest().measure(problem, jax.random.key(0))) == pytest.approx(expected)


def test_rounding_is_that_of_float16_and_bfloat16():
    values = np.random.default_rng(0).normal(size=4000) * 50
    ties = np.array([2049.0, 2051.0, 4098.0, 4102.0])  # halfway between two numbers of float16
    for given in (values, ties):
        assert np.array_equal(precision.rounded(jnp.asarray(given), 11), given.astype(np.float16).astype(float))
        brain = np.asarray(jnp.asarray(given.astype(np.float32)).astype(jnp.bfloat16).astype(jnp.float32))
        single = given.astype(np.float32).astype(float)
        assert np.array_equal(precision.rounded(jnp.asarray(single), 8), brain)


@pytest.mark.parametrize(("bits", "keys"), [(11, 142), (8, 50)])
def test_the_number_of_keys_on_a_circle_that_a_format_resolves(bits, keys):
    """pi/sqrt(u), against the lead over all inverse temperatures of an octave at which rounding can change."""
    unit = 2.0**-bits
    tied = {}
    for n in (round(0.95 * keys), round(1.08 * keys)):
        cosine = np.cos(2 * np.pi / n)
        grid = 2.0**bits * np.linspace(1, 2, 2**bits * 8, endpoint=False) * (1 + 3e-10)
        rounded = lambda v: np.asarray(precision.rounded(jnp.asarray(v), bits))
        tied[n] = bool((rounded(grid) <= rounded(grid * cosine)).any())
        assert ((1 - cosine) > 2 * unit / (1 + unit)) is not tied[n]
    assert list(tied.values()) == [False, True]


def test_contraction_of_two_by_two_by_hand():
    """Weights 0.9 and 0.2 of the first of two values."""
    logits = jnp.log(jnp.asarray([[0.9, 0.1], [0.2, 0.8]]))
    problem = collapse.AttentionLogits(logits, jnp.asarray([1.0, 0.0]))
    mixed = np.log(9) + np.log(4)
    assert float(collapse.mixed_difference(logits)) == pytest.approx(mixed)
    assert float(collapse.AttentionContracts().measure(problem, jax.random.key(0))) == pytest.approx(0.7)
    assert np.tanh(mixed / 4) > 0.7


def test_mixed_difference_against_four_loops():
    logits = np.random.default_rng(1).normal(size=(3, 4))
    brute = max(logits[i, j] - logits[i, k] - logits[m, j] + logits[m, k]
                for i in range(3) for m in range(3) for j in range(4) for k in range(4))  # fmt: skip
    assert float(collapse.mixed_difference(jnp.asarray(logits))) == pytest.approx(brute)


def test_induction_heads_with_loops():
    tokens, beta = [0, 1, 2, 3, 4, 2], 3.0
    before = np.zeros((6, 6))
    for i in range(6):
        weights = np.array([np.exp(beta * (j == i - 1)) for j in range(i + 1)])
        for j, weight in enumerate(weights / weights.sum()):
            before[i, tokens[j]] += weight
    logits = beta * before[:, 2]
    expected = np.exp(logits) / np.exp(logits).sum()
    assert np.allclose(induction.induction_heads(jnp.asarray(tokens), jnp.asarray(beta)), expected)
    assert int(np.argmax(expected)) == 3


def test_without_repetition_there_is_nothing_to_copy():
    """The null of the two heads: beta = 0 reads all positions alike."""
    found = induction.induction_heads(jnp.asarray([0, 1, 2, 3, 1]), jnp.asarray(0.0))
    assert np.allclose(found, 1 / 5)


def test_evidence_is_the_density_of_a_normal_vector(key):
    x, y = jax.random.normal(key, (7, 3)), jnp.arange(7.0) / 3
    for noise, scale in ((0.3, 1.0), (1.2, 0.4)):
        cov = noise**2 * np.eye(7) + scale**2 * np.asarray(x) @ np.asarray(x).T
        expected = stats.multivariate_normal(np.zeros(7), cov).logpdf(np.asarray(y)) + 3.5 * np.log(2 * np.pi)
        assert float(families.log_evidence(x, y, jnp.asarray(noise), jnp.asarray(scale))) == pytest.approx(expected)


def test_equal_families_have_odds_0(key):
    task = families.ScaledTask(jnp.ones(3), jnp.asarray(1.0), jnp.asarray(0.5))
    claim = families.OverlappingFamiliesStayMixed()
    assert float(claim.predict(task)) == 0
    assert float(claim.measure_at(task, key, 40.0)) == 0


def test_the_best_polynomial_of_degree_two_by_hand():
    """On [1, 3] the best of degree 1 is 1 - x/2, which leaves 1/2; of degree 2 it is 1/T_2(2) = 1/7."""
    assert solvers.best_residual(1.0, 3.0, 1) == pytest.approx(1 / 2, rel=1e-8)
    assert solvers.best_residual(1.0, 3.0, 2) == pytest.approx(1 / 7, rel=1e-8)


def test_newton_of_a_number():
    """S = 1 and alpha = 1/2: the residual is 2^-(2^k)."""
    problem = solvers.InverseStart(jnp.eye(1), jnp.ones(1), jnp.asarray(0.5))
    found = solvers.NewtonLayersSquare().measure(problem, jax.random.key(0))
    assert np.allclose(found, 0.5 ** np.array([4, 8, 16]))


def test_a_table_of_rank_one_is_fitted_by_width_one():
    rng = np.random.default_rng(0)
    logits = np.outer(rng.normal(size=4), rng.normal(size=4)) + rng.normal(size=(4, 1))
    table = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert head_rank.left_by_width(table, 1, rng) < 1e-7
    problem = head_rank.StochasticTable(jnp.asarray(table))
    assert float(head_rank.WidthIsTheCentredRank().predict(problem)) == 1
    assert np.linalg.matrix_rank(np.log(table)) == 2


def test_a_narrow_head_leaves_the_second_singular_value():
    rng = np.random.default_rng(1)
    left, right = np.linalg.qr(rng.normal(size=(5, 5)))[0], np.linalg.qr(rng.normal(size=(5, 5)))[0]
    logits = left[:, :2] * [2.0, 1.0] @ right[:, :2].T
    table = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert head_rank.left_by_width(table, 1, rng) > 1e-3


def test_with_the_effect_switched_off_the_claims_fail(key):
    """A skip connection keeps the order s, and logits times log n exceed the bound on bounded logits."""
    problem = collapse.RankCollapseIsCubic().population.sample({"n": 16, "d": 8}, key)
    found = []
    for spread in (0.0125, 0.1):
        tokens = np.asarray(problem.mean + spread * (problem.residual - problem.residual.mean(axis=0)))
        logits = tokens @ np.asarray(problem.product) @ tokens.T / np.sqrt(8)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        moved = tokens + weights / weights.sum(axis=1, keepdims=True) @ tokens @ np.asarray(problem.value)
        found.append(np.linalg.norm(moved - moved.mean(axis=0)))
    assert np.log(found[1] / found[0]) / np.log(8) == pytest.approx(1, abs=0.1)
    for n in (100, 10_000):
        logits = jnp.zeros(n).at[0].set(1.0) * np.log(n)  # within 1/2 of 1/2, times log n
        problem = lookup.BoundedLogits(logits, jnp.asarray(0.5))
        claim = lookup.BoundedLogitsDisperse()
        assert float(claim.measure(problem, key)) > 10 * float(claim.predict(problem))
