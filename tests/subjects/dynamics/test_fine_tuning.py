"""Kernels of fine-tuning, training and its verdict, each against a naive twin."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

from lemmata.errors import SettingError, ShapeError, SolverError
from lemmata.networks import EmpiricalKernel
from lemmata.subjects.dynamics import fine_tune, fine_tuning_kernels, kernel_behaviour


def network(params, x):
    return jnp.tanh(x @ params["w"]) @ params["a"]


def drawn(key, outputs=3):
    keys = jax.random.split(key, 4)
    params = {"w": jax.random.normal(keys[0], (4, 6)), "a": jax.random.normal(keys[1], (6, outputs)), "count": 3}
    return params, jax.random.normal(keys[2], (5, 4)), jax.random.normal(keys[3], (3, 4))


def jacobian(params, x):
    """By forward mode, one flat row an output of a point."""
    free = {name: params[name] for name in ("a", "w")}
    flat, restore = ravel_pytree(free)
    return jax.jacfwd(lambda own: jax.vmap(lambda p: network(restore(own), p))(x))(flat).reshape(-1, flat.size)


@pytest.mark.parametrize("working_set", [1, 2**28])
def test_kernels_are_products_of_explicit_jacobians_whatever_the_blocks(key, working_set):
    params, x, y = drawn(key)
    left, right = jacobian(params, x), jacobian(params, y)
    found = fine_tuning_kernels(network, params, x, y, working_set=working_set)
    np.testing.assert_allclose(found.sgd, left @ right.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.sign, jnp.sign(left) @ jnp.sign(right).T)
    np.testing.assert_allclose(found.asymmetric, left @ jnp.sign(right).T, rtol=1e-12, atol=1e-12)


def test_the_kernel_of_descent_is_the_tangent_kernel(key):
    params, x, _ = drawn(key)
    free = {name: params[name] for name in ("a", "w")}
    known = EmpiricalKernel(network, free).gram(x).transpose(0, 2, 1, 3).reshape(15, 15)
    np.testing.assert_allclose(fine_tuning_kernels(network, params, x).sgd, known, rtol=1e-10, atol=1e-12)


def test_two_kernels_are_semidefinite_and_the_third_is_not_symmetric(key):
    params, x, _ = drawn(key)
    found = fine_tuning_kernels(network, params, x)
    for kernel in (found.sgd, found.sign):
        assert jnp.linalg.eigvalsh(kernel)[0] > -1e-10 * jnp.trace(kernel)
    assert jnp.abs(found.asymmetric - found.asymmetric.T).max() > 0.1
    norms = jnp.abs(jacobian(params, x)).sum(axis=1)
    np.testing.assert_allclose(jnp.diag(found.asymmetric), norms, rtol=1e-12)
    assert (jnp.abs(found.asymmetric) <= norms[:, None] * (1 + 1e-12)).all()


def test_fine_tuning_is_descent_written_out(key):
    params, x, _ = drawn(key)
    f = lambda p, point: network(p, point)[0]
    y = jnp.array([1.0, -1.0, 1.0, 1.0, -1.0])
    path = fine_tune(f, params, x, y, optax.sgd(0.1), steps=[2, 3])
    free = {name: params[name] for name in ("a", "w")}
    for step in range(1, 4):
        slopes = jax.grad(lambda p: jnp.mean(jnp.log1p(jnp.exp(-y * jax.vmap(lambda r: f(p, r))(x)))))(free)
        free = jax.tree.map(lambda own, slope: own - 0.1 * slope, free, slopes)
        if step > 1:
            np.testing.assert_allclose(path[step - 1]["w"], free["w"], rtol=1e-10)
    assert path[-1]["count"] == 3
    assert len(path) == 3


def test_training_stops_where_the_loss_is_reached():
    x, y = jnp.eye(2), jnp.array([1.0, -1.0])
    loss = lambda w: float(jnp.mean(jnp.log1p(jnp.exp(-y * (x @ w)))))
    f = lambda w, point: w @ point
    ends = [fine_tune(f, jnp.zeros(2), x, y, optax.sgd(0.5), steps=[400], until=until)[1] for until in (0.0, 0.3)]
    assert loss(ends[0]) < 0.05
    assert 0.28 < loss(ends[1]) <= 0.3


def test_behaviour_of_a_linear_function_holds_and_of_a_product_does_not():
    steps = [jnp.ones(2), jnp.array([3.0, 0.5])]
    linear = kernel_behaviour(lambda w, x: w @ x, steps, jnp.eye(2))
    assert linear.holds
    assert linear.linearisation == linear.change == (0.0,)
    product = kernel_behaviour(lambda w, x: w[0] * w[1] * x, steps, jnp.ones(1))
    # f: 1 to 1.5, linear 1 + 2 - 0.5; the kernel is |w|², 2 to 9.25
    assert product.linearisation[0] == pytest.approx(1.0 / 0.5)
    assert product.change[0] == pytest.approx(7.25 / 2)
    assert product.direction[0] == pytest.approx(0.0, abs=1e-12)
    assert not product.holds
    assert product.broke == ("linearisation", "fixed features")
    assert "no, linearisation and fixed features broke" in str(product)


def test_parameters_that_did_not_move_have_no_error(key):
    params, x, _ = drawn(key)
    still = kernel_behaviour(jax.jit(network), [params, params], x)
    assert still.linearisation == still.change == (0.0,)
    assert still.holds


def test_only_the_condition_that_broke_is_named():
    path = [jnp.array([1.0, 1.0]), jnp.array([1.05, 0.95])]
    found = kernel_behaviour(lambda w, x: jnp.stack([w[0] * x, w[1] ** 3 * x]), path, jnp.ones(1), tolerance=0.1)
    assert found.broke == ("fixed features",)


def test_bad_input_is_named():
    f = lambda w, x: w @ x
    with pytest.raises(ShapeError, match="x; found shape"):
        fine_tuning_kernels(f, jnp.ones(2), jnp.ones((0, 2)))
    with pytest.raises(SettingError, match="derivatives with respect to it"):
        fine_tuning_kernels(f, {"n": 3}, jnp.ones((1, 2)))
    with pytest.raises(ShapeError, match="vector of outputs"):
        fine_tuning_kernels(lambda w, x: jnp.outer(w, x), jnp.ones(2), jnp.ones((1, 2)))
    with pytest.raises(SolverError, match="not finite"):
        fine_tuning_kernels(lambda w, x: jnp.sqrt(w @ x), jnp.zeros(2), jnp.ones((1, 2)))
    with pytest.raises(SettingError, match="-1 and 1"):
        fine_tune(f, jnp.ones(2), jnp.eye(2), jnp.array([0.0, 1.0]), optax.sgd(1.0), steps=[1])
    with pytest.raises(ShapeError, match="one class for each point"):
        fine_tune(f, jnp.ones(2), jnp.eye(2), jnp.ones(3), optax.sgd(1.0), steps=[1])
    with pytest.raises(SettingError, match="increasing"):
        fine_tune(f, jnp.ones(2), jnp.eye(2), jnp.array([-1.0, 1.0]), optax.sgd(1.0), steps=[3, 3])
    with pytest.raises(ShapeError, match="at least two sets"):
        kernel_behaviour(f, [jnp.ones(2)], jnp.eye(2))
    with pytest.raises(ShapeError, match="the same tree"):
        kernel_behaviour(f, [jnp.ones(2), {"w": jnp.ones(2)}], jnp.eye(2))
    with pytest.raises(SettingError, match="tolerance"):
        kernel_behaviour(f, [jnp.ones(2), jnp.ones(2)], jnp.eye(2), tolerance=0.0)
