"""The catapult by hand, the curvature of minima, and sharpness by automatic differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.tangent import large_steps as section


def test_a_step_by_hand(key):
    problem = section.LinearUnits(jnp.asarray([1.0]), jnp.asarray([2.0]), jnp.asarray(2.5))
    # f = 2, lambda = 5, eta = 1/2: u = 1 - 2, v = 2 - 1
    np.testing.assert_allclose(section.CatapultRecursion().predict(problem), [-1.0, 2.0], rtol=1e-14)
    np.testing.assert_allclose(section.CatapultRecursion().measure(problem, key), [-1.0, 2.0], rtol=1e-14)


@pytest.mark.parametrize(("ratio", "phase"), [(1.0, 1.0), (3.0, 2.0), (4.5, 3.0)])
def test_phases_by_the_recursion_alone(ratio, phase, key):
    u, v = jax.random.normal(key, (2, 900))
    problem = section.LinearUnits(u, v, jnp.asarray(ratio))
    assert float(section.CatapultPhases().measure(problem, key)) == phase
    f, kernel, step = float(u @ v) / 30, float(section.kernel_of(u, v)), float(problem.step)
    for _ in range(400):
        f, kernel = (
            f * (1 - step * kernel + step**2 * f**2 / 900),
            kernel + step * f**2 * (step * kernel - 4) / 900,
        )
        if abs(f) > 1e6:
            break
    assert (abs(f) > 1e6) == (phase == 3.0)
    assert (step * kernel < 2) == (phase < 3.0)


def test_curvature_of_a_minimum_is_the_sum_of_squares():
    loss = lambda both: (both[0] * both[1] - 1) ** 2 / 2
    values = jnp.linalg.eigvalsh(jax.hessian(loss)(jnp.asarray([4.0, 0.25])))
    np.testing.assert_allclose(values, [0.0, 16 + 1 / 16], atol=1e-12)


def test_small_steps_end_at_any_minimum(key):
    problem = section.Product(jnp.asarray(0.02), jnp.asarray(1.8), jnp.asarray(0.02))
    found = section.StableMinima().measure(problem, key)
    assert 0.5 * 2 / 0.02 < float(found) <= 2 / 0.02


def test_sharpness_by_automatic_differentiation():
    rng = np.random.default_rng(0)
    x, y, hidden, out = rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=(3, 4)), rng.normal(size=4)

    def loss(flat):
        return jnp.mean((jnp.tanh(x @ flat[:12].reshape(3, 4)) @ flat[12:] - y) ** 2) / 2

    at = jnp.concatenate([hidden.ravel(), out])
    values = jnp.linalg.eigvalsh(jax.hessian(loss)(at))
    largest = values[jnp.argmax(jnp.abs(values))]
    assert section.edge(x, y, hidden, out, 0.0, 1)[0] == pytest.approx(float(largest), rel=1e-3)
    for _ in range(20):
        at = at - 0.1 * jax.grad(loss)(at)
    found = section.edge(x, y, hidden, out, 0.1, 21)
    assert found[1] == pytest.approx(float(jnp.linalg.eigvalsh(jax.hessian(loss)(at))[-1]), rel=0.02)
