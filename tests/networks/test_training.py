"""Gradient descent against the closed form that the tangent kernel predicts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import Dense, TangentKernel, erf_network, tangent_gram
from lemmata.errors import SettingError, SolverError
from lemmata.kernels import gram
from lemmata.networks import SoftmaxNetwork, stable_learning_rate, train

EPS = np.finfo(np.float64).eps
RECORDS = (0, 1, 7, 40)


def problem(n=5, d=3, k=2):
    rng = np.random.default_rng(7)
    return jnp.asarray(rng.normal(size=(n, d))), jnp.asarray(rng.normal(size=(n, k)))


def descent(theta, y, rate, steps, theta_test=None):
    """Outputs of linear gradient descent from 0, and with theta_test those on test points."""
    values, vectors = np.linalg.eigh(np.asarray(theta))
    done = 1 - (1 - rate * values) ** steps
    on = np.asarray(theta) if theta_test is None else np.asarray(theta_test)
    return on @ (vectors @ ((done / values)[:, None] * (vectors.T @ np.asarray(y))))


@pytest.mark.parametrize("centred", [False, True])
def test_a_linear_network_follows_its_kernel_exactly(centred):
    x, y = problem(n=3)
    network, params = Dense(2), {"weight": jnp.zeros((2, 3))}
    if centred:
        params = {"weight": jax.random.normal(jax.random.key(0), (2, 3))}
    theta = tangent_gram(network, params, x, output=0)
    rate = stable_learning_rate(theta)
    x_test = x + 1.0
    run = train(network, params, x, y, learning_rate=rate, steps=50, record_at=RECORDS, x_test=x_test, centred=centred)
    np.testing.assert_allclose(run.times, float(rate) * np.array(RECORDS), rtol=EPS)
    cross = tangent_gram(network, params, x_test, x, output=0)
    tolerance = 1000 * EPS * float(jnp.linalg.cond(theta)) * float(jnp.max(jnp.abs(y)))
    for position, steps in enumerate(RECORDS):
        np.testing.assert_allclose(run.train[position], descent(theta, y, float(rate), steps), atol=tolerance)
        np.testing.assert_allclose(run.test[position], descent(theta, y, float(rate), steps, cross), atol=tolerance)
    last = jax.vmap(lambda p: network.apply(run.params, p) - centred * network.apply(params, p))(x)
    np.testing.assert_allclose(last, descent(theta, y, float(rate), 50), atol=tolerance)


def deviations(build, limit, widths, keys, centred):
    """Distance at every width and key between the outputs after training and those of the limit's kernel."""
    x, y = problem(k=1)
    result = []
    for width in widths:
        network = build(width)
        scale = width if isinstance(network, SoftmaxNetwork) else 1
        theta = scale * limit(x)
        rate = float(stable_learning_rate(theta)) / 2
        expected = descent(theta, y, rate, 40)
        row = []
        for key in jax.random.split(jax.random.key(width), keys):
            params, _ = network.init(key, 3)
            run = train(network, params, x, y, learning_rate=rate, steps=40, record_at=[40], centred=centred)
            row.append(float(jnp.sum((run.train[0] - expected) ** 2)))
        result.append(row)
    return np.array(result)


@pytest.mark.parametrize(
    ("build", "limit", "centred"),
    [
        (lambda m: erf_network(1, m), lambda x: gram(TangentKernel(erf_network(1)), x), True),
        (lambda m: SoftmaxNetwork(m, sigma=0.5), lambda x: (x @ x.T) * jnp.exp(0.25 * (x @ x.T)), False),
    ],
    ids=["erf", "softmax"],
)
def test_a_wide_network_follows_the_infinite_one(build, limit, centred):
    widths, keys = (256, 1024, 4096), 24
    squares = deviations(build, limit, widths, keys, centred)
    mean = squares.mean(axis=1)
    error = squares.std(axis=1, ddof=1) / np.sqrt(keys) / (2 * mean)
    t = np.log(widths) - np.mean(np.log(widths))
    slope, interval = t @ np.log(mean) / 2 / (t @ t), 4 * np.sqrt(t**2 @ error**2) / (t @ t)
    assert interval < 0.4
    # Beside the fluctuation at width^(-1/2) the movement of the kernel adds a term in 1/width: steeper, never flatter.
    assert -0.5 - interval - 0.1 <= slope <= -0.5 + interval, (slope, interval)
    assert np.sqrt(mean[-1]) < 0.1 * float(jnp.linalg.norm(problem(k=1)[1]))


def test_float32_stays_float32():
    x, y = (a.astype(jnp.float32) for a in problem())
    network = erf_network(1, 8, outputs=2)
    params, _ = network.init(jax.random.key(0), 3, dtype=jnp.float32)
    run = train(network, params, x, y, learning_rate=0.1, steps=3, record_at=[3], x_test=x)
    assert {leaf.dtype for leaf in jax.tree.leaves(run)} == {jnp.dtype("float32")}


@pytest.mark.parametrize("record_at", [[], [3, 2], [0, 11], [-1], [2, 2]])
def test_records_must_be_increasing_step_counts(record_at):
    x, y = problem()
    with pytest.raises(SettingError, match="record_at"):
        train(Dense(2), {"weight": jnp.zeros((2, 3))}, x, y, learning_rate=0.1, steps=10, record_at=record_at)


def test_an_unstable_rate_is_an_error_and_twice_the_inverse_is_the_edge():
    x, y = problem(n=3)
    network, params = Dense(2), {"weight": jnp.zeros((2, 3))}
    rate = float(stable_learning_rate(tangent_gram(network, params, x, output=0)))
    run = train(network, params, x, y, learning_rate=1.99 * rate, steps=3000, record_at=[3000])
    assert np.isfinite(run.train).all()
    with pytest.raises(SolverError, match="choose a learning_rate"):
        train(network, params, x, y, learning_rate=3 * rate, steps=3000, record_at=[3000])
    with pytest.raises(SettingError):
        stable_learning_rate(jnp.zeros((2, 2)))
