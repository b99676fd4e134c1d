"""Fits to two modes: by SciPy, with integrals instead of quadrature nodes; where the best reverse fit jumps."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from lemmata.subjects.generation import mode_seeking
from lemmata.subjects.generation.mode_seeking import MeanOfTheModes, OneModeIsDropped, TwoModes


def two_modes(share=0.5, apart=3.0, centre=0.0, scale=1.0):
    return TwoModes(*map(jnp.asarray, (centre, scale, share, apart)))


def divergence(share, apart, mean, scale):
    """KL(q | p) by adaptive integration."""
    q = stats.norm(mean, scale)

    def term(x):
        p = np.logaddexp(np.log(share) + stats.norm.logpdf(x, -apart), np.log(1 - share) + stats.norm.logpdf(x, apart))
        return q.pdf(x) * (q.logpdf(x) - p)

    return integrate.quad(term, mean - 12 * scale, mean + 12 * scale, limit=400, points=[mean])[0]


@pytest.mark.parametrize("share", [0.5, 0.7])
def test_the_reverse_fit_is_that_of_scipy(share, key):
    """A search with sums over a dense grid, and one adaptive integral at its end."""
    x = np.linspace(-25, 25, 20001)
    p = np.logaddexp(np.log(share) + stats.norm.logpdf(x, -2.5), np.log(1 - share) + stats.norm.logpdf(x, 2.5))

    def loss(q):
        logs = stats.norm.logpdf(x, q[0], np.exp(q[1]))
        return np.exp(logs) @ (logs - p) * (x[1] - x[0])

    tries = [optimize.minimize(loss, start, method="BFGS") for start in ([-2.5, 0.0], [0.0, 1.0])]
    found = min(tries, key=lambda own: own.fun)
    assert float(OneModeIsDropped().measure_at(two_modes(share), key, 2.5)) == pytest.approx(found.fun, abs=1e-6)
    assert divergence(share, 2.5, found.x[0], np.exp(found.x[1])) == pytest.approx(found.fun, abs=1e-7)


def test_one_mode_costs_nothing(key):
    """Without a distance of the modes, both directions fit exactly."""
    assert float(OneModeIsDropped().measure_at(two_modes(0.6, 0.0), key, 0.0)) == pytest.approx(0.0, abs=1e-12)
    assert np.allclose(MeanOfTheModes().measure(two_modes(0.6, 0.0), key), [0.0, 1.0], atol=1e-12)


def test_the_fit_of_maximum_likelihood_is_the_mean_and_variance_of_draws():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=10**6) + np.where(rng.uniform(size=10**6) < 0.7, -2.0, 2.0)
    assert np.allclose(MeanOfTheModes().predict(two_modes(0.7, 2.0)), [draws.mean(), draws.var()], atol=0.02)


def test_the_best_reverse_fit_jumps_from_the_middle_to_a_mode():
    """Equal modes: below some distance the best mean is 0, above it near a mode, and between them both are minima."""

    def best(apart, start):
        problem = two_modes(0.5, apart)
        q = mode_seeking._descended(lambda q: mode_seeking._reverse(problem, q), jnp.asarray(start), problem.scale)
        return float(mode_seeking._reverse(problem, q)), abs(float(q[0]))

    near, far = best(1.2, [1.2, 0.0]), best(3.0, [3.0, 0.0])
    assert near[1] < 0.1
    assert far[1] == pytest.approx(3.0, rel=0.02)
    assert far[0] < best(3.0, [0.0, 1.0])[0]
