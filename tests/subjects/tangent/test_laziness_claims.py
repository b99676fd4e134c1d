"""The bound on the path by SciPy's integrator; scaled models against small targets."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from lemmata.subjects.tangent import laziness as section


def scaled(key, activation="tanh"):
    one, two, three, four = jax.random.split(key, 4)
    return section.ScaledNetwork(
        jax.random.normal(one, (4, 3)),
        jax.random.normal(two, (4,)),
        jax.random.normal(three, (20, 3)),
        jax.random.normal(four, (20,)),
        activation,
    )


def test_a_large_scale_is_a_small_target(key):
    problem = scaled(key)
    small = section.ScaledNetwork(problem.x, problem.y / 4, problem.weights, problem.readout, problem.activation)
    np.testing.assert_allclose(problem.movements(0.0, False)[1:], small.movements(0.0, False)[:-1], rtol=1e-6)


def test_scaled_targets_undo_the_scale(key):
    movements = scaled(key, "gelu").movements(1.0, paired=False)
    np.testing.assert_allclose(movements, movements[0], rtol=1e-9)


def test_twins_start_at_zero_and_move_less(key):
    problem = scaled(key, "softplus")
    paired, single = problem.movements(0.0, paired=True), problem.movements(0.0, paired=False)
    np.testing.assert_allclose(paired[:-1] / paired[1:], 16, rtol=0.01)
    assert np.all(paired < single)


def test_bootstrap_by_another_integrator(key):
    claim = section.LazyBootstrap()
    problem = claim.population.sample({"n": 3, "d": 8, "m": 20}, key)
    jacobian = jax.jacobian(problem.outputs)(problem.weights).reshape(3, -1)
    least = np.linalg.svd(np.asarray(jacobian))[1][-1]
    targets = problem.outputs(problem.weights) + problem.away
    loss = lambda weights: jnp.sum((problem.outputs(jnp.reshape(weights, (20, 8))) - targets) ** 2) / 2
    slope = jax.jit(jax.grad(loss))
    times = np.array([float(problem.time), 6.0]) / least**2
    start = np.asarray(problem.weights).ravel()
    path = solve_ivp(lambda _, w: -np.asarray(slope(w)), (0, times[1]), start, t_eval=times, rtol=1e-9, atol=1e-11).y
    by_hand = [np.sqrt(2 * loss(jnp.asarray(path[:, 0]))), np.linalg.norm(path[:, 1] - start)]
    np.testing.assert_allclose(claim.measure(problem, key), by_hand, rtol=1e-5)
    assert np.all(np.asarray(by_hand) <= claim.predict(problem))


def test_the_lipschitz_constant_bounds_differences(key):
    claim = section.LazyBootstrap()
    problem = claim.population.sample({"n": 3, "d": 8, "m": 20}, key)
    jacobian = lambda weights: jax.jacobian(problem.outputs)(weights).reshape(3, -1)
    moved = problem.weights + 0.1 * jax.random.normal(key, problem.weights.shape)
    change = jnp.linalg.norm(jacobian(moved) - jacobian(problem.weights), 2)
    assert change <= section._lipschitz(problem) * jnp.linalg.norm(moved - problem.weights)
    np.testing.assert_allclose(section._jacobian(problem), jacobian(problem.weights), rtol=1e-12)
