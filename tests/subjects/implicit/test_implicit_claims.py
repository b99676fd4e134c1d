"""The limits, paths and margins of the claims on implicit regularisation, computed in other ways."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brute, minimize
from sklearn.svm import SVC

from lemmata.subjects.implicit import _separable, deep_linear, diagonal_networks, early_stopping, square_flow
from lemmata.subjects.implicit._flows import flow, lowest
from lemmata.subjects.implicit.label_noise import LabelNoiseFlattens, Product
from lemmata.subjects.implicit.margins_by_norm import adam, steepest
from lemmata.subjects.implicit.margins_of_flows import in_log_time


@pytest.fixture
def system(key):
    return square_flow.SYSTEMS.sample({"n": 2, "p": 8}, key)


def test_flow_of_a_known_equation():
    found = flow(lambda y: -(y**2), jnp.ones(1), jnp.array([1.0, 3.0]))
    np.testing.assert_allclose(found[:, 0], [0.5, 0.25], rtol=1e-11)


def test_lowest_point_of_a_convex_function():
    np.testing.assert_allclose(lowest(lambda v: jnp.exp(v[0]) - 2 * v[0], jnp.zeros(1)), [np.log(2)], rtol=1e-14)


def test_entropy_projection_against_scipy(system):
    start, a = np.asarray(system.start), np.asarray(system.a)
    found = minimize(
        lambda x: float(np.sum(x * np.log(x / start) - x + start)), np.asarray(system.truth), method="SLSQP",
        jac=lambda x: np.log(x / start), bounds=[(1e-9, None)] * len(start), options={"ftol": 1e-14, "maxiter": 500},
        constraints={"type": "eq", "fun": lambda x: a @ x - np.asarray(system.b), "jac": lambda x: a},
    )  # fmt: skip
    np.testing.assert_allclose(square_flow.projection(system), found.x, atol=1e-6)


def test_square_flow_against_scipy(system):
    a, b = np.asarray(system.a), np.asarray(system.b)
    ends = solve_ivp(
        lambda t, y: -2 * y * (a.T @ (a @ y**2 - b)), (0, 0.3), np.sqrt(system.start), rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(square_flow.square_flow(system, jnp.array([0.3]))[0], ends.y[:, -1] ** 2, rtol=1e-7)


def test_toy_segment_by_hand():
    """From (1, 1): e = (3 - 1)/4 = 1/2, so x = (1/2, 1/4), which lies on x_1 + 2 x_2 = 1."""
    problem = square_flow.Start(jnp.asarray(1.0))
    np.testing.assert_allclose(square_flow.ToySegment().predict(problem), [[0.5, 0.25], [0.2, 0.4]], rtol=1e-14)


def test_diagonal_networks_at_both_ends(key):
    """A large start gives the least l_2 norm; a small start the sparse solution."""
    problem = diagonal_networks.SparseSystems().sample({"n": 3, "spare": 4, "eta": 0.6}, key)
    least = np.linalg.pinv(problem.a) @ problem.b
    np.testing.assert_allclose(diagonal_networks._limit(problem, jnp.asarray(1e4)), least, atol=1e-6)
    np.testing.assert_allclose(diagonal_networks._limit(problem, jnp.asarray(1e-8)), problem.truth, atol=1e-3)


def test_risks_of_early_stopping_by_simulation(key):
    problem = early_stopping.StoppedRegressions().sample({"n": 20, "d": 3, "family": "generic"}, key)
    x, n = np.asarray(problem.x), 20
    values, basis = np.linalg.eigh(x.T @ x / n)
    noise = np.random.default_rng(0).normal(size=(20000, n)) * float(problem.noise)
    filtered = (basis * ((1 - np.exp(-float(problem.time) * values)) / values)) @ basis.T @ x.T / n
    off = (x @ np.asarray(problem.beta) + noise) @ filtered.T - np.asarray(problem.beta)
    found = [np.mean(np.sum((off @ x.T) ** 2, axis=1)) / n, np.mean(np.sum(off**2, axis=1))]
    np.testing.assert_allclose(early_stopping.EarlyStoppingIsRidge().measure(problem, key), found, rtol=0.05)


def test_the_factor_of_early_stopping():
    s = np.linspace(1.5, 2.1, 100_001)
    largest = (((1 - np.exp(-s)) * (1 + s) / s) ** 2).max()
    assert 1.6859 < largest < early_stopping._FACTOR


@pytest.mark.parametrize("order", [1.0, 2.0, np.inf])
def test_largest_margins_by_brute_force(order):
    z = np.array([[1.0, 0.3], [0.2, 1.5], [2.0, -0.4]])
    ray = lambda angle: np.array([np.cos(angle[0]), np.sin(angle[0])])
    best = brute(lambda angle: -_separable.margin(z, ray(angle), order), [(0, 2 * np.pi)], Ns=4001, finish=None)
    found = _separable.largest_margin(z, order)
    assert found == pytest.approx(_separable.margin(z, ray([best]), order), rel=2e-3)
    assert found >= _separable.margin(z, ray([best]), order) - 1e-12


def test_hard_margin_against_libsvm(key):
    problem = _separable.SeparableProblems().sample({"n": 10, "d": 4, "gap": 0.5}, key)
    z = np.asarray(problem.z)
    machine = SVC(kernel="linear", C=1e9, tol=1e-10).fit(np.concatenate([z, -z]), np.repeat([1, -1], 10))
    np.testing.assert_allclose(_separable.separator(z, 2), machine.coef_[0], rtol=1e-4, atol=1e-5)


def test_log_time_flow_is_the_flow():
    """One row in one dimension: w' = e^-w from 0 at t = 1 gives w = log t, at every t."""
    found = in_log_time(jnp.ones((1, 1)), jnp.zeros(1))
    np.testing.assert_allclose(found[:, 0], [100.0, 200.0, 400.0, 800.0], rtol=1e-6)


def test_optimisers_take_their_own_first_step():
    """From 0 the slope is (-2, -1): coordinate descent moves one coordinate, sign descent and Adam both."""
    z, start = jnp.array([[2.0, 1.0]]), jnp.zeros(2)
    np.testing.assert_allclose(steepest(z, start, "l_1", 1), [2.0, 0.0])
    np.testing.assert_allclose(steepest(z, start, "l_inf", 1), [2.0, 2.0])
    np.testing.assert_allclose(steepest(z, start, "l_2", 1), 2 * np.array([2.0, 1.0]) / 5**0.5)
    np.testing.assert_allclose(adam(z, start, 1), [1.0, 1.0])


def test_balanced_rates_by_differences(key):
    """A small step changes the two matrices alike, up to the square of the step."""
    problem = deep_linear.NETWORKS.sample({"n": 12, "d": 4, "h": 3, "k": 2}, key)
    moved = jax.tree.map(lambda w, v: w + 1e-5 * v, problem.layers, problem.descent(problem.layers))
    for part, stated in ((deep_linear.outer, "predict"), (deep_linear.inner, "measure")):
        slopes = (part(moved) - part(problem.layers)) / 1e-5
        claim = deep_linear.LayersStayBalanced()
        found = claim.predict(problem) if stated == "predict" else claim.measure(problem, key)
        np.testing.assert_allclose(slopes, found, atol=1e-3)


def test_completion_stays_on_two_layers():
    """The path of M'M is that of two separate layers from W_1 = M and W_2 = M'."""
    problem = deep_linear.Completion(jnp.array([0.1, 0.3]), jnp.asarray(0.7))
    first, second = np.asarray(problem.root), np.asarray(problem.root.T)
    step = 1e-4
    for _ in range(20000):
        w = second @ first
        slope = np.array([[0.0, w[0, 1] - 1], [w[1, 0] - 1, w[1, 1]]])
        first, second = first - step * second.T @ slope, second - step * slope @ first.T
    np.testing.assert_allclose(problem.path(jnp.array([2.0]), 0.0)[0][0], second @ first, atol=2e-4)


def test_one_noisy_step_multiplies_the_imbalance():
    """(u - s r v)² - (v - s r u)² = (u² - v²)(1 - s² r²), here with 1/s² = 100 steps of noise 1."""
    claim, problem = LabelNoiseFlattens(), Product(jnp.asarray(1.2), jnp.asarray(0.8), jnp.asarray(1.0))
    key, inverse = jax.random.key(3), 10.0
    draws, left = np.asarray(jax.random.normal(key, (400,))), {1.0: 1.0, 0.0: 1.0}
    for on in left:
        u, v = 1.2, 0.8
        for draw in draws[:100]:
            r = u * v - 1 - on * draw
            u, v, left[on] = u - r * v / inverse, v - r * u / inverse, left[on] * (1 - r**2 / inverse**2)
    assert float(claim.measure_at(problem, key, inverse)) == pytest.approx(left[1.0] / left[0.0], rel=1e-10)
