"""What the claims about rates, costs and open problems rest on, against plain computations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from lemmata.engine.problems.impulse_responses import ImpulseResponses, RandomReadouts, modal_states
from lemmata.subjects.approximation._sobolev_balls import SectionsOnCircle
from lemmata.subjects.approximation.costs import (
    attention,
    blocked_attention,
    convolution,
    operations,
    recurrence,
    transformer_layer,
)
from lemmata.subjects.approximation.filter_rates import squared_error_of_modes, squared_error_of_readout
from lemmata.subjects.approximation.sobolev_widths import KernelSectionsWorstError
from lemmata.subjects.open_problems.aligned_views import ViewsInPairs, descend_by_blocks, spectral_loss
from lemmata.subjects.open_problems.composition import TENT_COMPOSITIONS
from lemmata.subjects.open_problems.linear_recurrences import readable_directions
from lemmata.subjects.open_problems.score_roughness import TwoPointScores
from lemmata.subjects.optimisation._recurrent_fits import IMPULSE_FITS, FrequencyFits, ReadoutFits
from lemmata.subjects.optimisation.conditioning import bessel
from lemmata.subjects.optimisation.recurrent_training import FrequencyBasin


def drawn(population, key, **setting):
    return population.sample(population.settings().resolve(setting), key)


def test_programs_whose_cost_is_counted_compute_what_they_say(key):
    x = jax.random.normal(key, (128, 8))
    np.testing.assert_allclose(blocked_attention(x), attention(x), rtol=1e-12, atol=1e-13)
    by_loop, state = [], np.zeros(8)
    for row in np.asarray(x):
        state = 0.9 * state + row
        by_loop.append(state)
    np.testing.assert_allclose(recurrence(x), by_loop, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(convolution(x), by_loop, rtol=1e-11, atol=1e-12)
    assert operations(attention, 128, 8) > 4 * 128**2 * 8


def test_a_transformer_layer_has_twelve_squares_of_parameters(key):
    p = 8
    shapes = {"query": (p, p), "key": (p, p), "value": (p, p), "out": (p, p), "up": (p, 4 * p), "down": (4 * p, p)}
    parameters = {name: jax.random.normal(key, shape) for name, shape in shapes.items()}
    assert sum(leaf.size for leaf in parameters.values()) == 12 * p**2
    assert transformer_layer(parameters, jnp.ones((3, p))).shape == (3, p)


def test_bessel_functions_are_scipys():
    orders = jnp.arange(13.0)
    for x in (0.3, 1.0, 4.0, 8.0):
        np.testing.assert_allclose(bessel(orders, jnp.asarray(x)), scipy.special.iv(orders, x), rtol=1e-12)


def test_states_of_a_recurrence_are_powers():
    poles = jnp.array([0.9 + 0.1j, -0.5j])
    np.testing.assert_allclose(modal_states(poles, 6), np.asarray(poles) ** np.arange(6)[:, None], rtol=1e-13)


def test_a_response_by_transform_is_its_series(key):
    problem = drawn(ImpulseResponses(), key, steps=512)
    np.testing.assert_allclose(problem.values, problem.response(jnp.arange(512) / 512), atol=1e-12)


def test_undamped_modes_leave_the_tail_of_the_series(key):
    problem = drawn(ImpulseResponses(), key, steps=512)
    tail = jnp.sum(problem.response.cosines[16:] ** 2 + problem.response.sines[16:] ** 2) / 2
    np.testing.assert_allclose(squared_error_of_modes(problem, 16), tail, rtol=1e-9)


def test_readouts_explain_what_is_linear(key):
    problem = drawn(RandomReadouts(), key)
    x = np.asarray(jax.random.uniform(key, (20_000, problem.steps)))
    states = x @ np.asarray(problem.final_state(8)).T
    target = np.cos(2 * np.pi * float(problem.frequency) * x[:, int(problem.position)])
    columns = np.concatenate([np.ones((len(x), 1)), states], axis=1)
    residual = target - columns @ np.linalg.lstsq(columns, target)[0]
    # 8 states explain 8 of 20,000 rows by chance
    np.testing.assert_allclose(squared_error_of_readout(problem, 8), np.mean(residual**2), atol=0.02)


def test_sections_have_the_coefficients_of_their_values(key):
    problem = drawn(SectionsOnCircle(), key, m=2)
    x = np.arange(128) / 128
    j = np.arange(len(problem.amplitudes))
    values = np.cos(2 * np.pi * (x[:, None, None] - np.asarray(problem.centres)[:, None]) * j + problem.phases)
    values = values @ np.asarray(problem.amplitudes)
    waves = 2 * np.pi * x[:, None] * j
    basis = np.concatenate([np.cos(waves), np.sin(waves[:, 1:]), 0 * waves[:, :1]], axis=1) * np.sqrt(2)
    basis[:, 0] = 1.0
    np.testing.assert_allclose(basis @ np.asarray(problem.sections), values, atol=1e-12)


def test_all_frequencies_leave_no_error_below_the_width(key):
    """A space that contains the first frequencies attains the width; a kernel of few sections cannot go below."""
    claim = KernelSectionsWorstError()
    problem = drawn(SectionsOnCircle(), key, m=1)
    assert float(claim.measure(problem, key)) >= float(claim.predict(problem))


def test_the_basin_of_a_frequency_tends_to_the_root_of_tan():
    claim, population = FrequencyBasin(), FrequencyFits()
    shares = [float(claim.predict(drawn(population, jax.random.key(0), lags=n))) * np.pi * n for n in (8, 32, 128)]
    np.testing.assert_allclose(shares[-1], 4.4934095, rtol=0.02)
    assert np.all(np.diff(np.abs(np.array(shares) - 4.4934095)) < 0)


def test_the_solution_of_an_impulse_fit_has_no_loss(key):
    problem = drawn(IMPULSE_FITS, key)
    solution = jnp.stack([problem.pole, jnp.sqrt(problem.gain), jnp.sqrt(problem.gain)])
    assert float(problem.loss(solution)) < 1e-28
    assert float(problem.loss(problem.first)) > 0.1  # descent that stays there has failed


def test_a_quadratic_readout_loss_is_a_sum_of_squares():
    for seed in range(8):
        problem = drawn(ReadoutFits(), jax.random.key(seed))
        if float(problem.seen.sum()) > 1:
            residual = np.asarray(problem.states @ (problem.start - problem.best))
            np.testing.assert_allclose(problem.loss(problem.start), np.sum(residual**2) / 2, rtol=1e-12)
            return
    pytest.fail("no quadratic problem in eight draws")


def test_a_fitted_score_has_nearly_the_seminorm_of_the_score(key):
    problem = drawn(TwoPointScores(), key)
    sigma = 0.6 * problem.m
    exact = 4 / 3 * (problem.m / sigma**2) ** 3
    np.testing.assert_allclose(problem.fitted_seminorm(sigma), exact, rtol=0.02)


def test_interpolation_of_tents_by_numpy(key):
    problem = drawn(TENT_COMPOSITIONS, key)
    at, test = (np.arange(20) + float(problem.offset)) / 20, (np.arange(1024) + 0.5) / 1024
    kernel = lambda x: np.exp(-np.abs(x[:, None] - at) / float(problem.lengthscale))
    folded = lambda x: 1 - np.abs(2 * (1 - np.abs(2 * x - 1)) - 1)
    fitted = kernel(test) @ np.linalg.solve(kernel(at), folded(at))
    expected = 12 * np.mean((fitted - folded(test)) ** 2)
    np.testing.assert_allclose(problem.squared_error(jnp.asarray(2), jnp.asarray(20)), expected, rtol=1e-9)


def test_readable_directions_are_orthonormal():
    for kind in ("undamped", "damped", "real"):
        basis = readable_directions(kind, 8, 128)
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)


def test_descent_by_blocks_lowers_the_spectral_loss(key):
    problem = drawn(ViewsInPairs(), key)
    found = spectral_loss(problem, *descend_by_blocks(problem))
    assert float(found) < float(spectral_loss(problem, problem.left, problem.right))
    assert float(found) >= -float(jnp.sum(problem.correlations**2))
