"""What claims say of the transformer in context: its updates, errors, temperatures, precision and momentum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.problems.prompts import sampled_prompt
from lemmata.networks import temperature_asked
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, proximal_gradient, soft_threshold
from lemmata.subjects.in_context import _errors as errors
from lemmata.subjects.in_context import _passes as passes
from lemmata.subjects.in_context import accelerated_transformer as acceleration
from lemmata.subjects.in_context import finite_precision as precision

EPS = float(np.finfo(float).eps)


@pytest.fixture
def case(key):
    """d = 2, n = 4, N = 7, T = 3, tau = 50."""
    return sampled_prompt(key, n=4, examples=7, layers=7, temperature=50.0, penalty=0.02)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def test_updates_by_the_printed_sums(case):
    """(118) token by token, and (108)."""
    model, tau, eta = case.model, 50.0, float(case.model.step)
    phi = np.asarray(model.features(jnp.concatenate([case.x, case.queries[:1]])))
    y, w = [*np.asarray(case.y), 0.0], [1.0] * 7 + [0.0]
    rho, prediction = np.linspace(-0.3, 0.4, 5), 0.7
    g = lambda x: 4 * tau * (logistic(x / tau) - 0.5)
    inexact, exact = rho.copy(), rho.copy()
    for i in range(8):
        terms = g(eta * y[i]) - g(eta * phi[i] @ rho) + g(eta * (1 - w[i]) * prediction)
        inexact += 2 / 7 * terms * phi[i]
        if i < 7:
            exact += 2 * eta / 7 * (y[i] - phi[i] @ rho) * phi[i]
    ours = passes.inexact_update(case, jnp.asarray(rho)[None], jnp.asarray([prediction]))[0]
    assert np.abs(np.asarray(ours) - inexact).max() <= 1e-12
    assert np.abs(np.asarray(passes.exact_update(case, jnp.asarray(rho)[None])[0]) - exact).max() <= 16 * EPS


def test_step_errors_by_hand(case):
    rho, _ = passes.path_of(case)
    found = errors.step_errors(case)
    assert found.shape == (3, 5)
    moved = soft_threshold(passes.exact_update(case, rho[1:2])[0], case.model.step * case.model.penalty)
    assert np.abs(np.asarray(rho[2] - moved - found[1])).max() <= 4 * EPS
    assert float(jnp.abs(found).max()) > 0


def test_sufficient_temperature_is_the_least(key):
    prompt = sampled_prompt(key, n=4, examples=16, layers=21, penalty=0.01)
    ladder = jnp.asarray([2.0**k for k in range(-8, 9)])
    found = float(jax.jit(errors.sufficient_temperature)(prompt, ladder))
    held_at = jax.jit(errors.found_at)
    allowed = np.asarray([errors.error_allowed(prompt), errors.norm_allowed(prompt), errors.gap_allowed(prompt)])
    assert (np.asarray(held_at(prompt, jnp.asarray(found))) <= allowed).all()
    assert not (np.asarray(held_at(prompt, jnp.asarray(found / 2))) <= allowed).all()
    assert np.isinf(float(jax.jit(errors.sufficient_temperature)(prompt, jnp.full_like(ladder, 2.0**-20))))


def test_best_temperature_is_a_minimum():
    for dtype in precision.PRECISIONS:
        eps, tau = float(jnp.finfo(dtype).eps), float(precision.best_temperature(0.7, dtype))
        error = lambda t, eps=eps: 0.7**3 / (12 * t**2) + eps * t
        assert error(tau) < min(error(0.99 * tau), error(1.01 * tau))
        assert error(tau) == pytest.approx(float(precision.least_error(0.7, dtype)), rel=1e-12)


def test_rounded_product_is_stored_in_its_type():
    x = jnp.linspace(-1.0, 1.0, 33)
    for dtype in precision.PRECISIONS:
        found = np.asarray(precision.rounded_product(x, jnp.asarray(3.0), dtype))
        assert (found == np.asarray(jnp.asarray(found).astype(dtype).astype(float))).all()
        assert np.abs(found - 6 * np.tanh(np.asarray(x) / 6)).max() <= 8 * float(jnp.finfo(dtype).eps) * 3


@pytest.mark.parametrize(("dtype", "number", "layers"), [(jnp.float32, 8, 41), (jnp.float64, 16, 33)])
def test_reach(dtype, number, layers):
    """At the largest N the logistic function of the largest target is above 1/2, at four times as many it is 1/2."""
    count = precision.reachable(dtype, number, layers)
    for examples, left in ((count, True), (4 * count, False)):
        z = 1 / (2 * (number + 1)) / float(temperature_asked(number, layers, examples, 1.0))
        assert (z > float(jnp.finfo(dtype).eps) / 2) is left
    mass = jax.nn.sigmoid(jnp.asarray([-0.5, 0.5], dtype) * float(jnp.finfo(dtype).eps))
    assert (mass == 0.5).all()


def test_worth_of_steps():
    """Powers of I - h A for small h: FISTA on a quadratic of curvature h."""
    found = np.asarray(acceleration.worth_of_steps(64))
    assert found[np.asarray(acceleration.DEPTHS, int) - 1] == pytest.approx(acceleration.WORTH, rel=1e-9)
    # |y - rho|² with step h/2 in place of 1/2: a step takes away the share h.
    small = 1e-9
    path = np.asarray(accelerated_proximal_gradient(jnp.ones((1, 1)), jnp.ones(1), 0.0, small / 2, 64))[1:, 0]
    assert path / small == pytest.approx(found, rel=1e-5)


def test_layers_saved_at_equal_objective(key):
    prompt = sampled_prompt(key, n=16, examples=64)
    arguments = prompt.prompt, prompt.y, 0.01, prompt.model.step
    saved = float(jax.jit(acceleration.layers_saved, static_argnums=(4, 5))(*arguments, 20, 256))
    assert 2 * 20 < saved < 2 * 100
    fast = float(lasso_objective(*arguments[:3], accelerated_proximal_gradient(*arguments, 20)[-1]))
    plain = np.asarray(lasso_objective(*arguments[:3], proximal_gradient(*arguments, 200)))
    assert plain[int(20 + saved / 2)] >= fast >= plain[int(20 + saved / 2) + 1]


def test_accelerated_predictions_are_better(key):
    prompt = sampled_prompt(key, n=16, examples=64, layers=61, penalty=0.001)
    fast = sampled_prompt(key, n=16, examples=64, layers=61, penalty=0.001, accelerated=True)
    ends = jnp.stack([passes.path_of(each)[0][-1] for each in (prompt, fast)])
    objective = lasso_objective(prompt.prompt, prompt.y, 0.001, ends)
    assert float(objective[1]) < float(objective[0])
