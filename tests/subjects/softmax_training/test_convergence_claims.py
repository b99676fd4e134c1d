"""Widths and steps: kernels against samples, descent against finer descent and plain loops, the table on small data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.problems.sampled import draws
from lemmata.engine.problems.softmax_parameters import logit_bound, radius, required_steps, required_width, step_size
from lemmata.subjects.softmax_training import _activations as widths
from lemmata.subjects.softmax_training._softmax_training import initialise, sphere_points
from lemmata.subjects.softmax_training._trained_widths import horizon, spread_points
from lemmata.subjects.softmax_training.activations_compared import table_steps, table_width, width_table
from lemmata.subjects.softmax_training.induction import log_loss_ratio


def problem(key, pairs=8, n=4, d=3, k=2, sigma=0.5):
    drawn, inputs, outputs = draws(key, (d + k, pairs), (n, d), (n, k))
    return initialise(drawn, spread_points(inputs), sphere_points(outputs), sigma)


def outputs(activation, weight, sign, x):
    """F of a network, by its definition."""
    m, logits = weight.shape[1], x @ weight
    if activation == "softmax":
        return m * jax.nn.softmax(logits) @ sign.T
    return (jnp.exp(logits) if activation == "exp" else jax.nn.relu(logits)) @ sign.T / jnp.sqrt(m)


def tangent(activation, network):
    """H by automatic differentiation; the softmax network's kernel over W is m H."""
    jacobian = jax.jacobian(lambda weight: outputs(activation, weight, network.sign, network.x))(network.start)
    rows = jacobian.reshape(network.size, -1)
    return rows @ rows.T / (network.width if activation == "softmax" else 1)


@pytest.mark.parametrize("activation", widths.ACTIVATIONS)
def test_the_limit_is_the_mean_over_units(key, activation):
    network = problem(key, pairs=100_000, k=1)
    error = tangent(activation, network) - widths.limit_gram(activation, network.x, 0.5)
    assert float(jnp.abs(error).max()) < 0.03  # five standard errors of a mean over 10^5 units


def test_the_limits_of_special_pairs():
    x = jnp.array([[1.0, 0.0], [0.0, 0.5], [-1.0, 0.0], [0.0, 0.0]])
    relu = widths.limit_gram("relu", x, 1.0)
    assert float(relu[0, 0]) == pytest.approx(0.5)
    assert float(relu[0, 2]) == pytest.approx(0.0, abs=1e-7)
    assert float(widths.limit_gram("exp", x, 1.0)[0, 0]) == pytest.approx(np.exp(2.0))
    for activation in widths.ACTIVATIONS:
        matrix = widths.limit_gram(activation, x, 1.0)
        np.testing.assert_allclose(matrix[0, 1], 0.0, atol=1e-15)
        np.testing.assert_allclose(matrix[3], 0.0, atol=1e-15)


@pytest.mark.parametrize("activation", widths.ACTIVATIONS)
def test_outputs_and_largest_eigenvalue_against_the_definition(key, activation):
    network = problem(key)
    moved = network.start + 0.1 * jax.random.normal(key, network.start.shape)
    for units in (6, 16):
        found, _, _ = widths.slopes(activation, moved, network.sign, network.x, jnp.asarray(1.0 * units))
        expected = outputs(activation, moved[:, :units], network.sign[:, :units], network.x)
        np.testing.assert_allclose(found, expected, atol=1e-13)
    top = widths.largest_eigenvalue(activation, network.start, network.sign, network.x, jnp.asarray(16.0), rounds=400)
    assert float(top) == pytest.approx(float(jnp.linalg.eigvalsh(tangent(activation, network))[-1]), rel=1e-6)


@pytest.mark.parametrize("activation", widths.ACTIVATIONS)
def test_the_time_to_fit_is_that_of_fine_descent(key, activation):
    network, error = problem(key, pairs=32), 0.1
    time, loss = widths.time_to_fit(
        activation, network.start, network.sign, network.x, network.y, jnp.asarray(64.0), jnp.asarray(error),
        jnp.asarray(1e3),
    )  # fmt: skip
    assert float(loss) <= error
    objective = lambda w: 0.5 * jnp.sum((outputs(activation, w, network.sign, network.x) - network.y) ** 2)
    top = float(jnp.linalg.eigvalsh(tangent(activation, network))[-1])
    rate, slope = 0.02 / top, jax.jit(jax.value_and_grad(objective))
    weight, steps = network.start, 0
    while True:
        value, gradient = slope(weight)
        if 2 * float(value) <= error:
            break
        weight = weight - rate / (64 if activation == "softmax" else 1) * gradient
        steps += 1
    # Descent at half of 1 / lambda_max is faster than the flow by at most log(4) / 1 along the top, less elsewhere, and
    # stops at a whole step.
    assert float(time) == pytest.approx(steps * rate, rel=0.15, abs=1 / top)


def test_time_is_infinite_where_the_horizon_comes_first(key):
    network = problem(key)
    arguments = (network.start, network.sign, network.x, network.y, jnp.asarray(16.0), jnp.asarray(1e-6))
    assert float(widths.time_to_fit("softmax", *arguments, jnp.asarray(0.0))[0]) == np.inf
    assert float(widths.time_to_fit("softmax", *arguments, jnp.asarray(1e9), steps=3)[0]) == np.inf


def test_the_width_from_which_on_training_is_in_time():
    ladder, one = (2.0, 4.0, 8.0, 16.0), jnp.asarray(1.0)
    cases = {(0, 0, 0, 0): 2, (2, 0, 0, 0): 4, (0, 2, 0, 0): 8, (2, 2, np.inf, 0): 16, (0, 0, 0, np.inf): 32}
    for times, expected in cases.items():
        assert float(widths.sufficient_width(jnp.asarray(times, float), ladder, one)) == expected


def test_the_horizon_is_where_the_contraction_reaches_the_error():
    smallest, m, size, error, eta = 0.3, 50, 8, 0.05, 1e-5
    steps = float(horizon(smallest, size, error)) / (m * eta)
    assert size * (1 - m * eta * smallest / 2) ** steps == pytest.approx(error, rel=1e-3)


def test_the_logarithm_of_losses_is_a_sum_over_steps(key):
    network = problem(key, pairs=64, sigma=0.05)
    after = network.after(network.step, 5)
    ratio = float(log_loss_ratio(network, 5))
    change = 2 * float(jnp.sum((after.outputs) * -network.y)) + float(jnp.sum(after.outputs**2))
    assert ratio == pytest.approx(np.log1p(change / float(jnp.sum(network.y**2))), rel=1e-6)


def test_points_are_spread(key):
    x = sphere_points(jax.random.normal(key, (5, 3)))
    products = [jnp.max(a @ a.T - 2 * jnp.eye(5)) for a in (x, spread_points(x))]
    assert float(products[1]) < float(products[0])
    np.testing.assert_allclose(jnp.linalg.norm(spread_points(x), axis=1), 1.0)


def test_the_formulas_of_the_table():
    assert float(table_width("relu", 0.5, 10)) == pytest.approx(400 * np.log(10))
    assert float(table_width("exp", 0.5, 10)) == pytest.approx(400 * np.log(10) ** 2)
    assert float(table_steps(0.5, 10, 0.1)) == pytest.approx(400 * np.log(100))


def test_the_table_of_widths(key):
    network = problem(key, pairs=2)
    rows = width_table(network.x, network.y, key=key, widths=(2, 8, 64))
    assert [row.statement for row in rows] == ["relu", "exp", "softmax", "softmax, Theorem 4.2"]
    for row in rows:
        assert row.sufficient_width <= 64 < row.required_width
        assert 0 < row.sufficient_steps < row.required_steps
    # The two readings share time and lambda: the ratio of steps differs by the 2 of the proof alone.
    ratios = [row.required_steps / row.sufficient_steps for row in rows[2:]]
    assert ratios[1] == pytest.approx(2 * ratios[0])


def test_widths_beyond_double_precision_are_infinite(key):
    bound = logit_bound(100, 10, 2.0, 0.1)
    assert required_width(0.1, 100, 10, bound, 0.1) == required_steps(0.1, 100, 10, bound, 0.1) == np.inf
    assert step_size(0.1, 64, 100, 10, bound) == 0 == radius(0.1, 100, 10, 2 * bound)
    network = problem(key, pairs=2)
    row = width_table(network.x, network.y, sigma=2.0, key=key, widths=(2, 8), steps=64)[-1]
    assert row.required_width == np.inf


def test_rows_that_repeat_need_infinitely_many_units(key):
    x = jnp.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rows = width_table(x, jnp.array([[1.0], [-1.0], [0.0]]), key=key, widths=(2, 4), steps=64)
    assert all(row.required_width > 1e15 and row.sufficient_width == 8 for row in rows)
