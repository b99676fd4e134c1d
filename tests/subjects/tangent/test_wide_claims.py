"""Wide networks: formulas of the chapter against other routes to the same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from lemmata.architectures import (
    MAXIMAL_UPDATE,
    AbstractLayer,
    Conv,
    Dense,
    Erf,
    LayerNorm,
    LocallyConnected,
    Masked,
    Parallel,
    Serial,
    StateSpace,
    fully_connected,
    relu_network,
)
from lemmata.engine.problems.rows import Rows
from lemmata.networks import train
from lemmata.solvers import kernel_ridge, posterior
from lemmata.subjects.tangent import bayesian_readout as bayesian
from lemmata.subjects.tangent import ensembles, parameterisations
from lemmata.subjects.tangent import layers_at_finite_width as width
from lemmata.subjects.tangent._drawn_networks import drawn_parameters
from lemmata.subjects.tangent._training_sets import Fit, TrainingSet
from lemmata.subjects.tangent.bayesian_readout import NoisyValues

EPS = float(np.finfo(float).eps)


def definite(n, key):
    a = jax.random.normal(key, (n, 2 * n))
    return a @ a.T / (2 * n)


class Doubled(AbstractLayer):
    """A container that nothing in lemmata knows."""

    layer: AbstractLayer

    def init(self, key, fan_in, *, dtype=float):
        return self.layer.init(key, fan_in, dtype=dtype)

    def apply(self, params, x):
        return 2.0 * self.layer.apply(params, x)

    def push(self, state):
        raise NotImplementedError


def standard(width, std=1.5):
    return Dense(width, std, 0.3, "standard")


def branches():
    return Parallel([standard(40), Serial([standard(30), Erf(), standard(40, 0.7)])])


NETWORKS = {
    "ntk": (3, lambda: Serial([Dense(40, 1.1, 0.3), Erf(), LayerNorm(), Dense(40)])),
    "exponents": (
        3,
        lambda: fully_connected(Erf(), 2, 40, weight_std=1.5, bias_std=0.3, parameterization="maximal-update"),
    ),
    "parallel": (3, lambda: Serial([branches()])),
    "nested": (3, lambda: Serial([Parallel([branches(), standard(40)]), Erf(), standard(30)])),
    "masked": ((5, 3), lambda: Masked(Serial([Conv(20, 2, 1.5, 0.3, parameterization="standard"), branches()]))),
    "local": ((5, 3), lambda: LocallyConnected(20, 2, 1.5, 0.3, parameterization="standard")),
    "poles": ((5, 3), lambda: Serial([standard(20), StateSpace(2, train_poles=True), standard(20)])),
    "unknown": (3, lambda: Serial([Doubled(standard(40)), Erf(), Doubled(branches())])),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_drawn_parameters_have_the_structure_and_the_law_of_init(name, key):
    fan_in, make = NETWORKS[name]
    network = make()
    for drawn in drawn_parameters([network, network], fan_in, key, 60):
        expected = jax.vmap(lambda own: network.init(own, fan_in)[0])(jax.random.split(key, 60))
        assert jax.tree.structure(drawn) == jax.tree.structure(expected)
        for one, other in zip(jax.tree.leaves(drawn), jax.tree.leaves(expected), strict=True):
            assert one.shape == other.shape
            # two mean squares of N normal numbers: a ratio of standard deviation 2/sqrt(N), and 4.5 of them
            assert abs(jnp.mean(one**2) / jnp.mean(other**2) - 1) < 9 / one.size**0.5


def test_networks_drawn_at_once_are_independent_and_may_have_no_batch(key):
    for make in (branches, lambda: Doubled(standard(40))):
        one, other = drawn_parameters([make(), make()], 3, key)
        assert jax.tree.map(jnp.shape, one) == jax.tree.map(jnp.shape, make().init(key, 3)[0])
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            assert abs(jnp.sum(a * b)) < 4.5 * jnp.linalg.norm(a) * jnp.linalg.norm(b) / a.size**0.5


def test_flow_operator_is_the_matrix_exponential(key):
    theta, n, times = definite(7, key), 4, (0.5, 3.0)
    own, scale = np.asarray(theta[:n, :n]), float(jnp.trace(theta[:n, :n]))
    found = ensembles.flow_operator(theta, n, times)
    for operator, time in zip(found, times, strict=True):
        fitted = np.eye(n) - scipy.linalg.expm(-own * time / scale)
        expected = np.asarray(theta[n:, :n]) @ np.linalg.solve(own, fitted)
        assert np.max(np.abs(operator - expected)) <= 100 * np.linalg.cond(own) * EPS * np.max(np.abs(expected))


def test_covariance_is_that_of_the_linear_map_of_the_start(key):
    first, second = jax.random.split(key)
    theta, nngp, n, times = definite(7, first), definite(7, second), 4, (2.0,)
    operator = ensembles.flow_operator(theta, n, times)[0]
    # f_t - A y = (-A, I) f_0 on all points
    linear = jnp.concatenate([-operator, jnp.eye(3)], axis=1)
    found = ensembles.ensemble_covariance(theta, nngp, n, times)[0]
    np.testing.assert_allclose(found, linear @ nngp @ linear.T, atol=1e3 * EPS)
    y = jnp.arange(1.0, 5.0)
    np.testing.assert_allclose(ensembles.ensemble_mean(theta, y, times)[0], operator @ y, atol=1e3 * EPS)


def test_networks_trained_at_once_are_those_trained_one_by_one(key):
    x, y, network = jax.random.normal(key, (4, 3)), jnp.ones((4, 1)), relu_network(1, 8)
    (params,) = drawn_parameters([network], 3, key, 2)
    settings = {"learning_rate": 0.01, "steps": 5, "record_at": [5]}
    both = jax.vmap(lambda own: train(network, own, x, y, **settings).train)(params)
    for position in range(2):
        own = jax.tree.map(lambda leaf, row=position: leaf[row], params)
        alone = train(network, own, x, y, **settings).train
        np.testing.assert_allclose(both[position], alone, rtol=1e3 * EPS, atol=1e3 * EPS)


def test_twins_cancel_the_outputs_at_the_start(key):
    x = jax.random.normal(key, (3, 3))
    problem = Fit(x, jnp.zeros(3), x + 1.0)
    outputs = ensembles.trained_outputs(problem, 8, 2, key, antithetic=True)
    # towards targets 0, a network and its twin are opposite at all times
    np.testing.assert_allclose(outputs[:2], -outputs[2:], atol=1e4 * EPS)
    assert jnp.max(jnp.abs(outputs)) > 1e-2


def test_posteriors_in_both_spaces_against_plain_inverses(key):
    known, asked, y, noise = *jnp.split(jax.random.normal(key, (8, 5)), [5]), jnp.arange(5.0), jnp.asarray(0.3)
    matrix = jnp.concatenate([known, asked]) @ jnp.concatenate([known, asked]).T
    covariance = np.linalg.inv(np.eye(5) + known.T @ known / noise)
    weights = bayesian.readout_posterior(known, asked, y, noise)
    np.testing.assert_allclose(weights.mean, asked @ covariance @ known.T @ y / noise, rtol=1e-11)
    np.testing.assert_allclose(weights.covariance, asked @ covariance @ asked.T, rtol=1e-11, atol=1e-13)
    process = bayesian.process_posterior(matrix, y, noise)
    solved = posterior(kernel_ridge(matrix[:5, :5], y, noise), matrix[5:, :5], matrix[5:, 5:])
    np.testing.assert_allclose(process.mean, solved.mean, rtol=1e-12)
    np.testing.assert_allclose(process.covariance, solved.covariance, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(process.mean, weights.mean, rtol=1e-10)


def test_change_of_one_step_in_closed_form(key):
    # one point: preactivations h = s W x move by -rate (f - y) (df/dh) s² |x|², with s² = m / d
    m = 6
    layers = [Dense(m, parameterization=MAXIMAL_UPDATE.first), Erf(), Dense(1, parameterization=MAXIMAL_UPDATE.readout)]
    network, x, y = Serial(layers), jnp.array([[1.0, -2.0, 0.5]]), jnp.array([[0.7]])
    params, _ = network.init(key, 3)
    hidden = (m / 3) ** 0.5 * params[0]["weight"] @ x[0]
    readout = params[2]["weight"][0] / m**0.5
    slope = readout * 2 / jnp.pi**0.5 * jnp.exp(-(hidden**2))
    residual = readout @ jax.scipy.special.erf(hidden) - y[0, 0]
    square = jnp.sum(x**2)
    expected = 3 / (2 * square) * residual * slope * (m / 3) * square
    found = parameterisations.hidden_change(network, params, x, y)
    np.testing.assert_allclose(found, jnp.sqrt(jnp.mean(expected**2)), rtol=1e-11)


def test_hypotheses_that_fail(key):
    x = jax.random.normal(key, (3, 3))
    assert bool(width.RMSNormWidth.population.hypotheses(Rows(x))[0].holds)
    assert not bool(width.RMSNormWidth.population.hypotheses(Rows(x.at[0, 0].set(jnp.nan)))[0].holds)
    fit = Fit(x.at[0].set(0.0), x[0], x)
    assert not bool(ensembles.EnsembleMean.population.hypotheses(fit)[0].holds)
    targets = TrainingSet(x, jnp.zeros(3))
    assert [bool(h.holds) for h in parameterisations.LazyStep.population.hypotheses(targets)] == [True, False]
    values = NoisyValues(x, x[0], x, jnp.asarray(0.0))
    assert not bool(bayesian.ReadoutTendsToNNGP.population.hypotheses(values)[0].holds)
