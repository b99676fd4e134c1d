"""Numbers of the claims on statistical queries by other routes: enumeration, SciPy, cases by hand."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from lemmata.subjects.queries import filters, gradients, hermite_flow, hidden_sets, landscapes, noisy_descent, stein
from lemmata.subjects.queries._parity_units import parity_network
from lemmata.subjects.queries.parity_networks import FlippedPoint, NormOfParityNetworks


@pytest.mark.parametrize(("d", "degree"), [(3, 1), (5, 3), (7, 2), (7, 5), (9, 7)])
def test_coefficients_of_the_majority_by_enumeration(d, degree):
    points = np.array(list(itertools.product([1, -1], repeat=d)))
    mean = np.mean(np.sign(points.sum(axis=1)) * points[:, :degree].prod(axis=1))
    assert gradients.majority_coefficient(d, degree) == pytest.approx(mean, abs=1e-15)


def test_a_gradient_by_differences(key):
    problem = gradients.GradientsAreQueries().population.sample({"d": 4}, key)
    step = 1e-6
    moved = [problem.bias.at[2].add(sign * step) for sign in (1, -1)]
    losses = [problem.loss((problem.weights, bias, problem.output), problem.target) for bias in moved]
    place = problem.weights.size + 2
    slope = float(losses[0] - losses[1]) / (2 * step)
    assert float(gradients.GradientsAreQueries().predict(problem)[place]) == pytest.approx(slope, rel=1e-5)


def test_variance_over_targets_of_a_network_by_hand(key):
    """In two dimensions, the features of one unit correlate with four parities."""
    problem = noisy_descent.FrozenFeatures(
        jnp.array([[1.0, 2.0]]), jnp.array([0.5]), jnp.array(1.0), jnp.array(1.0), 9.0, 2
    )
    values = [math.tanh(a + 2 * b + 0.5) for a, b in itertools.product([1, -1], repeat=2)]
    parities = [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]
    correlations = [np.dot(row, values) / 4 for row in parities]
    assert noisy_descent.StepsToFindATarget().predict(problem) == pytest.approx(1.5 * np.std(correlations))
    apart = 2 * stats.norm.cdf(1.5 * np.abs(correlations - np.mean(correlations))) - 1
    assert noisy_descent.StepsToFindATarget().measure(problem, key) == pytest.approx(apart.mean())


def test_a_parity_network_by_hand():
    """With two coordinates, the ReLU network is |x + y| - |x - y| over the root of 2."""
    x = jnp.array([0.7, -1.9])
    assert parity_network(x, jax.nn.relu) == pytest.approx((abs(0.7 - 1.9) - abs(0.7 + 1.9)) / math.sqrt(2))


def test_the_norm_of_a_parity_network_by_quadrature(key):
    problem = FlippedPoint(jnp.ones(2), jnp.ones(2), jnp.array(1.3), jnp.ones(256))
    relu, sigmoid = NormOfParityNetworks().predict(problem)
    density = lambda x: math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    square = lambda y, x: (1.3**2 * (abs(x + y) - abs(x - y)) ** 2 / 2) * density(x) * density(y)
    assert relu == pytest.approx(4 * integrate.dblquad(square, 0, 8, 0, 8)[0], rel=1e-4)
    single = lambda x: math.tanh(1.3 * x / 2) ** 2 * density(x)  # sigmoid(u) - sigmoid(-u) = tanh(u/2)
    assert sigmoid == pytest.approx(integrate.quad(single, -10, 10)[0], rel=1e-8)


def test_the_queries_of_a_family_cannot_be_told_by_more(key):
    setting = {"d": 5, "r": 2, "query": "networks"}
    problem = hidden_sets.QueriesOfSets().sample(setting, key)
    assert len(problem.sets) == math.comb(5, 2)
    values = np.asarray(problem.networks())
    gram = values @ values.T / values.shape[1]
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-14
    assert hidden_sets.FewTargetsPerQuery().measure(problem, key) == problem.planted


def test_the_signal_of_one_unit_is_that_of_a_truncated_normal(key):
    """E[z² - 1 | z >= sqrt(2)] = sqrt(2) phi(sqrt(2)) / P(z >= sqrt(2)) = 2.639."""
    problem = filters.Ridges(jnp.array([[2.0, 0.0]]), jnp.array([1.5]), jnp.array([0.0, 1.0]))
    found = filters.LargeLabelsGiveASignal().measure(problem, key)
    exact = math.sqrt(2) * stats.norm.pdf(math.sqrt(2)) / stats.norm.sf(math.sqrt(2))
    assert exact == pytest.approx(2.639, abs=1e-3)
    assert found == pytest.approx(exact, rel=0.05)


def test_no_quadratic_function_sees_the_third_polynomial():
    weight = lambda z: (z**3 - 3 * z) * (z**2 - 1) * stats.norm.pdf(z)
    assert integrate.quad(weight, -12, 12)[0] == pytest.approx(0.0, abs=1e-12)


def test_a_kink_counts_with_the_normal_density(key):
    one = stein.Units(*(jnp.array([value]) for value in (1.0, 1.0, 0.0, 1.0)))
    assert stein.SteinCountsKinks().measure(one, key) == pytest.approx(stats.norm.pdf(0.0))


def test_coefficients_of_the_relu_by_quadrature():
    found = landscapes.relu_weights(9)
    for k in range(9):
        polynomial = np.polynomial.hermite_e.HermiteE.basis(k)
        value = integrate.quad(lambda z, p=polynomial: z * p(z) * stats.norm.pdf(z), 0, 12)[0]
        assert found[k] == pytest.approx(value**2 / math.factorial(k), abs=1e-10)


@pytest.mark.parametrize("loss", [landscapes.relu_loss, landscapes.designed_loss])
def test_gradients_of_the_losses_by_differences(loss):
    start = np.random.default_rng(0).normal(size=9)
    assert optimize.check_grad(lambda w: loss(w, 3)[0], lambda w: loss(w, 3)[1], start) < 1e-5
    assert loss(np.eye(3).ravel()[::-1], 3)[0] == pytest.approx(0.0, abs=1e-14)


def test_the_relu_loss_by_sampling():
    rng = np.random.default_rng(1)
    w, x = rng.normal(size=(3, 3)), rng.normal(size=(400_000, 3))
    values = (np.maximum(x @ w.T, 0).sum(axis=1) - np.maximum(x, 0).sum(axis=1)) ** 2 / 2
    assert landscapes.relu_loss(w.ravel(), 3)[0] == pytest.approx(values.mean(), rel=0.02)


@pytest.mark.seconds(3)
def test_a_spurious_minimum_is_a_minimum():
    """From some start with 8 units, descent ends above 0.02 where the curvature is nowhere negative."""
    rng, n = np.random.default_rng(0), 8
    for _ in range(60):
        end = optimize.minimize(
            landscapes.relu_loss, rng.normal(size=n * n) / math.sqrt(n), args=(n,), jac=True, method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 10000, "ftol": 0.0, "gtol": 1e-9},
        )  # fmt: skip
        if end.fun > 1e-3:
            break
    assert end.fun == pytest.approx(0.0215080, abs=1e-6)
    steps = 1e-5 * np.eye(n * n)
    slopes = [landscapes.relu_loss(end.x + step, n)[1] - landscapes.relu_loss(end.x - step, n)[1] for step in steps]
    curvature = np.linalg.eigvalsh((np.array(slopes) + np.array(slopes).T) / 4e-5)
    assert curvature[0] > 1e-4


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_times_of_the_flow_by_an_integrator(k):
    start = hermite_flow.RandomStart(jnp.array(0.8), jnp.array(1.5), 3)
    reached = lambda t, m: m[0] - 0.5
    reached.terminal = True
    speed = lambda t, m: k * 0.64 * m ** (k - 1) * (1 - m**2)
    found = integrate.solve_ivp(speed, (0, 1e6), [0.15], events=reached, rtol=1e-10, atol=1e-12)
    assert start.time(k, 100.0) == pytest.approx(found.t_events[0][0], rel=1e-6)
