"""Steps, integrals of ramps and covers of pairs against routes that share no code with them."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from lemmata.engine.problems.gauss_legendre import pieces
from lemmata.functions import (
    Cosines,
    CosineSum,
    log_ball_cover,
    representing_coefficients,
    sample_features,
)
from lemmata.subjects.approximation import covering_numbers as covering
from lemmata.subjects.approximation import features_without_covers, uniform_features
from lemmata.subjects.approximation import ramps as steps
from lemmata.subjects.approximation._cosine_ramps import CosineRamps
from lemmata.subjects.approximation._hardest_functions import hardest
from lemmata.subjects.approximation.ramps import Line

RNG = np.random.default_rng(0)


def test_pieces_are_exact_for_polynomials():
    nodes, weights = pieces(jnp.array([2.0, -1.0, 0.3]), 2)
    for power in range(10):
        exact = (2 ** (power + 1) - (-1) ** (power + 1)) / (power + 1)
        assert float(weights @ nodes**power) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("tau", [32.0, 256.0])
def test_the_printed_sign_has_no_weights(tau):
    """A linear program over weights on a fine grid of t: for g = 1 the least distance is at least 1/6."""
    z = -1 + np.concatenate([np.arange(0, 3.01, 0.125) / tau, np.linspace(0.1, 2, 12)])
    t = 1 - np.concatenate([np.arange(0, 3.01, 0.125) / tau, np.linspace(0.1, 3, 24)])
    ramps = np.clip(tau * (z[:, None] + t) + 0.5, 0, 1)
    both = np.hstack([ramps, -ramps])
    rows = np.vstack([np.hstack([both, -np.ones((len(z), 1))]), np.hstack([-both, -np.ones((len(z), 1))])])
    weight = np.append(np.ones(2 * len(t)), 0.0)
    found = optimize.linprog(
        np.append(np.zeros(2 * len(t)), 1.0), A_ub=np.vstack([rows, weight]),
        b_ub=np.concatenate([np.ones(len(z)), -np.ones(len(z)), [3.0]]),
    )  # fmt: skip
    assert 1 / 6 - 1e-9 <= found.fun < 0.25
    line = Line(jnp.asarray(1.0), jnp.zeros(4), jnp.asarray(tau))
    claimed = steps.LineByRampsAsPrinted().measure(line, jax.random.key(0))
    assert float(claimed) == pytest.approx(1 / 6)
    assert float(claimed) <= found.fun + 1e-9


def test_step_distance_by_a_grid():
    for tau in (2.5, 10.0):
        e = np.linspace(1e-6, 0.5, 5001)
        outside = np.maximum(0.5 - tau * e, 0)
        assert float(steps.step_distance(tau)) == pytest.approx((2 * e + outside).min(), rel=2e-3)


def test_many_features_are_the_integral(key):
    functions = Cosines(jnp.array([[2.0, 1.0], [-1.0, 3.0]]), jnp.array([1.0, 0.5]))
    function = CosineSum(functions.atoms, functions.sizes, jnp.array([0.8, -0.5]), jnp.array([0.3, 1.1]))
    x = jnp.array([[0.3, 0.2], [-0.9, 0.1], [0.0, 0.99]])
    features = sample_features(key, functions, 20_000, 6.0)
    terms = features(x)[:, :-1] * representing_coefficients(functions, features, function)[:-1]
    error = 5 * np.asarray(terms.std(axis=1)) * math.sqrt(20_000)
    problem = CosineRamps(functions, function, jnp.asarray(6.0), x)
    integral = jax.jit(lambda problem: problem.integral(6.0))(problem)
    assert (np.abs(terms.sum(axis=1) - integral) <= error).all()
    assert (np.asarray(integral - (function(x) - function(jnp.zeros((1, 2)))) != 0)).any()


def test_greedy_covers_cover():
    x = jnp.asarray(RNG.uniform(-1, 1, (60, 1)))
    close = covering.close_pairs(x, jnp.zeros(60), 0.2)
    kept = int(covering.greedy_cover(close))
    assert 5 <= kept <= math.exp(log_ball_cover(1, 0.2))
    assert covering.greedy_cover(jnp.ones((4, 4), bool)) == 1
    assert covering.greedy_cover(jnp.eye(4, dtype=bool)) == 4


def test_the_ladder_covers_but_does_not_follow():
    claim = uniform_features.OneFunctionForAllPoints()
    problem = claim.population.sample({}, jax.random.key(3))
    x = np.linspace(-1, 1, 2001)
    wave = np.asarray(problem.wave(jnp.asarray(x)))
    nearest = np.abs(wave[:, None] - np.sin(x)[:, None] * np.asarray(problem.amplitudes)).min(axis=1)
    assert nearest.max() <= problem.epsilon, "every value is met"
    best = min(np.abs(wave - a * np.sin(x)).max() for a in np.linspace(-6 / 11, 6 / 11, 401))
    assert best > 0.1, "no multiple follows"
    assert float(jax.jit(claim.measure)(problem, jax.random.key(0))) == pytest.approx(best, abs=0.01)


def test_dual_measures_are_distances_by_a_linear_program():
    """E|phi_mu| - P_n|phi_mu| is at most the distance of E sign(phi_mu) phi from the span, and near it at a good mu."""
    rng = np.random.default_rng(5)
    x, t = rng.uniform(-1, 1, (10, 1)), rng.uniform(-2, 1, 300)
    pool = np.clip(8 * (x * rng.choice([-1.0, 1.0], 300) - t) + 0.5, 0, 1)
    drawn = pool[:, rng.integers(0, 300, 40)]
    mu, value = jax.jit(hardest)(jnp.asarray(pool), jnp.asarray(drawn))
    assert abs(float(mu.sum())) < 1e-12
    assert float(jnp.abs(mu).sum()) <= 1 + 1e-12
    f = (np.sign(np.asarray(mu) @ pool) * pool).mean(axis=1)
    span, one = np.hstack([drawn, np.ones((10, 1))]), np.ones((10, 1))
    found = optimize.linprog(
        np.append(np.zeros(41), 1.0),
        A_ub=np.block([[-span, -one], [span, -one]]),
        b_ub=np.append(-f, f),
        bounds=[(-1 / 40, 1 / 40)] * 40 + [(None, None), (0, None)],
    )
    assert float(value) <= found.fun + 1e-9
    assert float(value) == pytest.approx(found.fun, abs=2e-3)


def test_cells_of_hyperplanes_on_a_line():
    """Five points cut a line into six intervals, and five lines in general position a plane into sixteen parts."""
    assert features_without_covers.log_cells(5, 1) == pytest.approx(math.log(6))
    assert features_without_covers.log_cells(5, 2) == pytest.approx(math.log(16))


def test_the_duality_gap_of_the_fit_is_small(key):
    """Other coefficients are no better than the gap allows, and the noise is below its penalty."""
    claim = features_without_covers.RiskWithoutCover()
    problem = claim.population.sample({"n": 40, "N": 60, "sigma": 0.05, "tau": 16.0}, key)
    rho, gap = jax.jit(features_without_covers.lasso_and_gap)(problem)
    prompt, y = np.asarray(problem.features(problem.x)), np.asarray(problem.function(problem.x) + problem.noise)
    penalty = float(features_without_covers.penalty_of_noise(problem))
    objective = lambda c: np.mean((y - prompt @ c) ** 2) + penalty * np.abs(c).sum()
    split = lambda c: c[:41] - c[41:]

    def both(c):
        slope = -2 * (y - prompt @ split(c)) @ prompt / len(y)
        return np.mean((y - prompt @ split(c)) ** 2) + penalty * c.sum(), np.append(slope, -slope) + penalty

    options = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-14, "gtol": 1e-10}
    found = optimize.minimize(both, np.full(82, 0.1), jac=True, bounds=[(0, None)] * 82, options=options)
    least = objective(split(found.x))
    assert -1e-7 <= objective(np.asarray(rho)) - least <= float(gap)
    assert float(gap) < 0.02
    assert np.abs(2 * prompt.T @ np.asarray(problem.noise) / 60).max() <= penalty
