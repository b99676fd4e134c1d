"""Steps of softmax networks: changes without cancellation against extended precision and against plain loops."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import draws
from lemmata.engine.problems.softmax_parameters import step_size
from lemmata.kernels import SoftmaxTangent
from lemmata.networks import SoftmaxNetwork
from lemmata.subjects.softmax_training import _softmax_training as steps
from lemmata.subjects.softmax_training.gradient_bounds import StepBound
from lemmata.subjects.softmax_training.loss_decomposition import exp_remainder, quadratic_form, terms
from lemmata.subjects.softmax_training.loss_remainders import ChangeTerm, CurvatureTerm


@pytest.fixture
def training(key):
    drawn, inputs, outputs = draws(key, (3 + 2, 5), (4, 3), (4, 2))
    first = steps.initialise(drawn, steps.sphere_points(inputs), steps.sphere_points(outputs), 0.5)
    return first.after(steps.coarse_step(first), 5)


def extended(training, weight):
    """F in the widest floating point type there is, by plain loops."""
    weight, sign, x = (np.asarray(a, np.longdouble) for a in (weight, training.sign, training.x))
    mass = np.exp(x @ weight)
    return len(weight[0]) * (mass @ sign.T) / mass.sum(axis=1, keepdims=True)


def test_the_start_is_symmetric_and_has_no_outputs(key):
    drawn = jax.random.normal(key, (5, 6))
    first = steps.initialise(drawn, jnp.eye(3), jnp.ones((3, 2)), 0.7)
    np.testing.assert_array_equal(first.start[:, 0::2], first.start[:, 1::2])
    np.testing.assert_array_equal(first.sign[:, 0::2], -first.sign[:, 1::2])
    assert set(np.unique(np.asarray(first.sign))) == {-1.0, 1.0}
    np.testing.assert_array_equal(first.outputs, 0.0)
    np.testing.assert_allclose(first.start[:, 0::2], 0.7 * drawn[:3])


def test_draws_are_one_draw(key):
    first, second, third = draws(key, (2, 3), (), (4,))
    assert (first.shape, second.shape, third.shape) == ((2, 3), (), (4,))
    together = jnp.concatenate([first.reshape(-1), second.reshape(-1), third])
    np.testing.assert_array_equal(together, jax.random.normal(key, (11,)))


def test_outputs_and_gradient_are_the_networks(training):
    network, params = SoftmaxNetwork(10, 2), {"weight": training.weight, "sign": training.sign}
    np.testing.assert_allclose(training.outputs, network.predict(params, training.x), atol=1e-13)
    gradient = network.gradient(params, training.x, training.y)
    np.testing.assert_allclose(training.gradient, gradient, atol=1e-12)
    np.testing.assert_allclose(training.outputs, extended(training, training.weight).astype(float), atol=1e-13)


def test_one_step_is_descent(training):
    after = training.after(jnp.asarray(1e-3))
    np.testing.assert_allclose(after.weight, training.weight - 1e-3 * training.gradient, atol=1e-15)
    twice = training.after(jnp.asarray(1e-3), 2)
    np.testing.assert_allclose(twice.moved, after.after(jnp.asarray(1e-3)).moved, atol=1e-15)


def test_the_relative_decrease_is_that_of_the_losses(training):
    after = training.after(jnp.asarray(2e-3))
    before, now = (
        np.sum((extended(training, sum(np.asarray(a, np.longdouble) for a in parts)) - np.asarray(training.y)) ** 2)
        for parts in ((training.start, training.moved), (training.start, after.moved))
    )
    assert float(steps.loss_decrease(training, jnp.asarray(2e-3))) == pytest.approx(float(1 - now / before), rel=1e-12)


def test_tiny_steps_decrease_the_loss_in_proportion(training):
    decreases = [float(steps.loss_decrease(training, jnp.asarray(eta))) / eta for eta in (1e-9, 1e-13)]
    assert decreases[0] == pytest.approx(decreases[1], rel=1e-6)


@pytest.mark.parametrize("u", [1e-12, -1e-9, 3e-3, -0.01, 0.0999, 0.1001, -0.5, 2.0])
def test_the_remainder_of_the_exponential_against_exact_arithmetic(u):
    exact, power = Fraction(0), Fraction(1)
    for j in range(1, 40):
        power = power * Fraction(u) / j
        exact += power if j > 1 else 0
    assert float(exp_remainder(jnp.asarray(u))) == pytest.approx(float(exact), rel=1e-13)


def test_theta_is_between_its_bounds_for_short_steps():
    u = jnp.linspace(-0.01, 0.01, 2001)
    u = u[u != 0]
    theta = exp_remainder(u) / u**2
    assert 0.498 < float(theta.min()) < 0.4984
    assert 0.5016 < float(theta.max()) < 0.502


def test_the_parts_of_a_step_by_plain_loops(training):
    eta = 1e-3
    found = terms(training, jnp.asarray(eta))
    weight, after = np.asarray(training.weight), np.asarray(training.weight - eta * training.gradient)
    sign, x, m = np.asarray(training.sign), np.asarray(training.x), 10
    for i in range(4):
        alpha, alpha_after = (sum(np.exp(w[:, r] @ x[i]) for r in range(m)) for w in (weight, after))
        for label in range(2):
            normaliser = linear = rest = 0.0
            for r in range(m):
                u = -eta * np.asarray(training.gradient)[:, r] @ x[i]
                normaliser += m * sign[label, r] * (1 / alpha_after - 1 / alpha) * np.exp(after[:, r] @ x[i])
                linear += m * sign[label, r] / alpha * np.exp(weight[:, r] @ x[i]) * u
                rest += m * sign[label, r] / alpha * np.exp(weight[:, r] @ x[i]) * (np.expm1(u) - u)
            assert float(found.normaliser[i, label]) == pytest.approx(normaliser, abs=1e-12)
            assert float(found.linear[i, label]) == pytest.approx(linear, abs=1e-12)
            assert float(found.remainder[i, label]) == pytest.approx(rest, abs=1e-12)


def test_terms_over_powers_of_the_step_survive_tiny_steps(training, key):
    eta, m = float(training.step), training.width
    change = terms(training, training.step).change
    assert float(CurvatureTerm().measure(training, key)) == pytest.approx(float(change[2]) / eta**2, rel=1e-9)
    assert float(ChangeTerm().measure(training, key)) == pytest.approx(float(change[3]) / (m * eta) ** 2, rel=1e-9)
    steep = steps.Training(training.start, training.moved, training.sign, training.x, training.y, 1.0, 1e-3)
    assert float(steep.step) ** 2 == 0.0
    shallow = float(ChangeTerm().measure(training, key))
    assert float(ChangeTerm().measure(steep, key)) == pytest.approx(shallow, rel=1e-3)


def test_a_step_bound_asks_for_a_positive_eigenvalue(key):
    drawn, inputs, outputs = draws(key, (3 + 1, 8), (4, 3), (4, 1))
    x = steps.sphere_points(inputs)
    claim = StepBound()
    asked = lambda problem: [*claim.hypotheses(problem), *claim.population.hypotheses(problem)]
    holding = lambda x: [bool(h.holds) for h in asked(steps.initialise(drawn, x, outputs / 9, 0.3))]
    assert holding(x) == [True] * 4
    assert holding(x.at[1].set(x[0])) == [False, True, True, True]


def test_the_quadratic_form_is_the_squared_gradient_over_m(training):
    assert float(quadratic_form(training)) == pytest.approx(float(jnp.sum(training.gradient**2)) / 10, rel=1e-10)


def test_the_step_is_that_of_the_theory(training):
    smallest = jnp.linalg.eigvalsh(training.first_tangent)[0]
    expected = step_size(max(float(smallest), 0.0), 10, 4, 2, training.bound)
    assert float(training.step) == pytest.approx(expected)


def regression(x):
    rows = np.asarray(x)
    y = jnp.asarray(np.random.default_rng(1).normal(size=(len(rows), 1)))
    ridge = jnp.asarray(0.1)
    return Regression(jnp.asarray(rows), y, jnp.asarray(rows[:1]), y[:1], SoftmaxTangent(), ridge, ridge)


def test_a_table_is_scaled_into_the_unit_ball():
    table = regression(50 * np.random.default_rng(0).normal(size=(40, 3)))
    posed = steps.pose_training(table)
    assert posed is not None
    assert posed.x.shape == (16, 3)
    assert posed.width == 256
    assert float(jnp.linalg.norm(posed.x, axis=1).max()) == pytest.approx(1.0)
    assert float(jnp.abs(posed.y).max()) == pytest.approx(1.0)
    assert steps.pose_training("a table") is None
    assert steps.pose_training(posed) is posed


def test_the_cause_of_a_vanishing_eigenvalue_is_named():
    rows = np.random.default_rng(0).normal(size=(6, 4))
    posed = steps.pose_training(regression(rows), sigma=1.0)
    assert posed is not None
    assert steps.small_eigenvalue_cause(posed) is None
    twice = rows.copy()
    twice[4] = twice[1]
    posed = steps.pose_training(regression(twice), sigma=1.0)
    assert posed is not None
    assert "rows 1 and 4" in str(steps.small_eigenvalue_cause(posed))
    rows[2] = 0
    posed = steps.pose_training(regression(rows), sigma=1.0)
    assert posed is not None
    assert "row 2" in str(steps.small_eigenvalue_cause(posed))
