"""Stability: minimisers, runs, decompositions and fits of the chapter against other routes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.ndimage import median_filter
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from lemmata.engine.claims import examine
from lemmata.subjects.stability import capacity, decomposition, descent, gaps, minimisers
from lemmata.subjects.stability._replaced_rows import FiniteLaws, OpposedRows, huber
from lemmata.subjects.stability.capacity import NoisySpheres, RowLadders
from lemmata.subjects.stability.decomposition import SignedNoise, SignedNoises
from lemmata.subjects.stability.descent import ConvexRuns, KickedPaths, StronglyConvexRuns
from lemmata.subjects.stability.gaps import GaussianSample, SampledLaws


def opposed(key, n=6):
    """A problem of the tight half."""
    drawn = (OpposedRows().sample({"n": n, "d": 3}, own) for own in jax.random.split(key, 20))
    return next(problem for problem in drawn if np.allclose(problem.x[0], problem.other_x[0]))


@pytest.mark.parametrize("law", ["sparse", "dense"])
def test_the_minimiser_is_that_of_another_solver(law, key):
    problem = FiniteLaws().sample({"n": 20, "d": 6, "law": law}, key)
    x, y, decay = problem.x[:20], problem.y[:20], jnp.asarray(0.2)
    found = minimisers.penalised_minimiser(x, y, problem.zone, decay)
    value = lambda w: float(jnp.mean(huber(x @ w - y, problem.zone)) + decay * w @ w / 2)
    slope = jax.grad(lambda w: jnp.mean(huber(x @ w - y, problem.zone)) + decay * w @ w / 2)
    other = minimize(value, np.zeros(6), jac=lambda w: np.asarray(slope(w)), tol=1e-12)
    assert np.abs(slope(found)).max() < 1e-12
    assert value(found) <= other.fun + 1e-12
    assert np.allclose(found, other.x, atol=1e-4)


def test_opposed_rows_attain_the_bound_of_the_minimiser(key):
    problem = opposed(key)
    apart = 2 * problem.lipschitz / (problem.decay * 6)
    weights = -(jnp.sign(-problem.y)[:, None] * problem.x).mean(axis=0) / problem.decay
    found = minimisers.penalised_minimiser(problem.x, problem.y, problem.zone, problem.decay)
    assert np.allclose(found, weights, rtol=1e-12, atol=1e-12)
    claim = minimisers.StableMinimiser()
    assert np.allclose(claim.measure(problem, key), [apart, problem.lipschitz * apart], rtol=1e-10)


def test_rows_that_agree_move_the_minimiser_less(key):
    problem = opposed(key)
    same = dataclasses.replace(problem, other_y=problem.y)
    assert np.allclose(minimisers.StableMinimiser().measure(same, key), 0.0, atol=1e-12)


def loop(problem, replaced):
    """Stochastic gradient descent in plain NumPy."""
    rows = problem.rows
    x, y = np.array(rows.x), np.array(rows.y)
    if replaced >= 0:
        x[replaced], y[replaced] = rows.other_x[replaced], rows.other_y[replaced]
    at = np.zeros(x.shape[1])
    for index, step in zip(np.asarray(problem.path), np.asarray(problem.steps), strict=True):
        residual = x[index] @ at - y[index]
        at = at - step * (np.clip(residual / float(rows.zone), -1, 1) * x[index] + float(rows.decay) * at)
        size = np.linalg.norm(at)
        at = at * min(1.0, float(problem.radius) / size) if size > 0 else at
    return at


@pytest.mark.parametrize(("population", "t"), [(ConvexRuns(), 30), (StronglyConvexRuns(), 80)])
def test_runs_are_those_of_a_loop(population, t, key):
    for own in jax.random.split(key, 4):
        problem = population.sample({"n": 8, "d": 3, "t": t}, own)
        for replaced in (-1, 0, 5):
            assert np.allclose(descent._last(problem, replaced), loop(problem, replaced), atol=1e-12)


def test_the_window_in_which_shared_steps_drift():
    """From about 9 steps on the drift exceeds the bound of smooth losses; after a step it does not."""
    ratios = []
    for t in (1, 16, 144):
        problem = KickedPaths().sample({"n": 48, "t": t}, jax.random.key(t))
        ratios.append(float(descent._apart(problem) / (2 * problem.slope**2 * problem.step * t / 48)))
    assert ratios[0] <= 1 < ratios[1] < ratios[2]
    # the second term of the bound alone is not enough, and the first alone is not needed to this size
    problem = KickedPaths().sample({"n": 48, "t": 144}, jax.random.key(3))
    drift = float(descent._apart(problem) / (problem.slope**2 * problem.step))
    assert 4 * 144 / 48 / 2 < drift < 144**0.5


def test_a_kick_moves_coordinate_after_coordinate():
    problem = KickedPaths().sample({"n": 32, "t": 40}, jax.random.key(1))
    first = dataclasses.replace(problem, path=jnp.arange(32))
    # row i is hit once, at step i; 31 - i steps follow, each of which moves a coordinate of its own by the step L eta
    kicked = float(problem.step * problem.slope)
    tilt = float(problem.tilt) * kicked / problem.d**0.5
    moved = np.arange(32)[::-1]
    along = moved * (tilt - kicked) ** 2 + (problem.d - moved) * tilt**2
    expected = np.mean(np.sqrt(along + (1 - float(problem.tilt) ** 2) * kicked**2)) * float(problem.slope)
    assert float(descent._apart(first)) == pytest.approx(expected, rel=1e-10)


def test_the_weighing_of_penalties(key):
    problem = FiniteLaws().sample({"n": 24, "d": 17, "law": "sparse"}, key)
    bound = np.asarray(minimisers.WeightDecayTradeoff().predict(problem))
    least = 2 * float(problem.lipschitz * jnp.linalg.norm(problem.comparator)) / 24**0.5
    assert bound[1] == pytest.approx(least)
    assert bound[0] == pytest.approx(least * 5 / 3)
    assert bound[2] == pytest.approx(least * 5 / 3)
    assert float(problem.risk(problem.comparator)) == 0.0


def test_estimators_are_those_of_other_libraries(key):
    y = np.asarray(jax.random.normal(key, (50, 9)))
    assert np.allclose(decomposition._median(jnp.asarray(y)), [median_filter(row, 3, mode="nearest") for row in y])
    at = np.arange(9.0)[:, None]
    trees = [DecisionTreeRegressor(max_depth=1).fit(at, row).predict(at) for row in y]
    assert np.allclose(decomposition._two_means(jnp.asarray(y)), trees)


def test_bias_and_variance_by_a_plain_loop():
    problem = SignedNoise(jnp.array([0.5, -0.2, 1.0]), jnp.asarray(0.7))
    bias, variance = decomposition._parts(problem)
    fits = []
    for number in range(8):
        signs = np.array([1 if number >> bit & 1 else -1 for bit in range(3)])
        y = np.asarray(problem.values) + 0.7 * signs
        largest = np.abs(y).max()
        fits.append([np.sign(value) * max(abs(value) - largest / 4, 0) for value in y])
    fits = np.array(fits)
    assert float(bias[2]) == pytest.approx(np.mean((fits.mean(axis=0) - np.asarray(problem.values)) ** 2))
    assert float(variance[2]) == pytest.approx(np.mean(fits.var(axis=0)))
    assert SignedNoises().sample({"n": 6}, jax.random.key(0)).every.shape == (64, 6)


def test_the_best_ridge_is_best(key):
    """A ridge three times as large or as small has a larger risk on average."""
    risks = []
    for own in jax.random.split(key, 40):
        problem = RowLadders(2.4).sample({"p": 20, "noise": 0.5}, own)
        x, y, beta = (np.asarray(part) for part in (problem.x[:24], problem.y[:24], problem.coefficients))
        fit = lambda ridge, x=x, y=y: np.linalg.solve(x.T @ x + ridge * np.eye(20), x.T @ y)
        risks.append([np.sum((fit(factor * 20 * 0.25) - beta) ** 2) for factor in (1 / 3, 1, 3)])
        measured = capacity.OptimalRidgeIsMonotone().measure(problem, own)
    small, best, large = np.mean(risks, axis=0)
    assert best < min(small, large)
    assert measured.shape == (7,)
    ridge = Ridge(20 * 0.25, fit_intercept=False).fit(problem.x[:28], problem.y[:28])
    assert float(measured[5]) == pytest.approx(np.sum((ridge.coef_ - np.asarray(problem.coefficients)) ** 2))
    assert float(measured[-1]) < float(measured[0])


def test_the_peak_of_random_features_is_at_n_and_not_at_d(key):
    claim, found = capacity.RandomFeaturesPeak(), []
    for own in jax.random.split(key, 12):
        problem = NoisySpheres().sample({"n": 50, "d": 10, "noise": 0.5}, own)
        found.append(claim.measure(problem, own))
        assert examine(claim, problem, own).applies
    steps = np.diff(np.mean(found, axis=0))
    assert steps[0] < 0
    assert np.all(steps[1:] < -0.3)


def test_exact_gaps_at_a_size_by_hand(key):
    problem = GaussianSample(jnp.asarray(2.0), 30, 8)
    assert float(gaps.LeastSquaresGap().predict(problem)) == pytest.approx(4 * (8 / 21 + 8 / 30))
    assert float(gaps.MeanGap().predict(problem)) == pytest.approx(8 / 30)
    measured = [float(gaps.LeastSquaresGap().measure(problem, own)) for own in jax.random.split(key, 12)]
    assert np.mean(measured) == pytest.approx(4 * (8 / 21 + 8 / 30), rel=0.1)


def test_the_gap_of_the_nearest_neighbour_is_its_loss_at_new_rows(key):
    """It reproduces its rows, so that nothing is taken off."""
    problem = SampledLaws().sample({"n": 12, "d": 2, "noise": 0.5}, key)
    unit = 2.9 * 0.25
    x, y = (np.asarray(part) for part in problem.draw(key, 200))
    predicted = gaps._neighbour(np.asarray(problem.x), np.asarray(problem.y))(x)
    assert float(gaps.GapIsInstability().measure(problem, key)[2]) == pytest.approx(
        np.mean((predicted - y) ** 2) / unit
    )
