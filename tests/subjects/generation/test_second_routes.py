"""Tools on generators beside routes of their own: simulated paths, SciPy's solvers of equations, quadrature."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from lemmata.subjects.generation import bits, recover, speciation, straightness

RNG = np.random.default_rng


def paths(x, start, noise, rng, steps=60):
    """Where reverse diffusions from noisy rows end: the nearest row, by small steps with the mean of the posterior."""
    ladder = np.geomspace(noise, 0.01, steps) ** 2
    for now, then in itertools.pairwise(ladder):
        squares = np.sum((start[:, None] - x) ** 2, axis=2)
        mean = special.softmax(-squares / (2 * now), axis=1) @ x
        drawn = np.sqrt(then * (now - then) / now) * rng.normal(size=start.shape)
        start = start + (1 - then / now) * (mean - start) + drawn
    return np.sum((start[:, None] - x) ** 2, axis=2).argmin(axis=1)


@pytest.mark.parametrize("place", [6, 12, 18])
def test_two_simulated_paths_end_in_one_class_as_often_as_the_posterior_says(place):
    rng = RNG(0)
    sides = np.repeat([0, 1], [60, 40])
    x = rng.normal(size=(100, 2)) + 3.0 * sides[:, None] * [1.0, 0.5]
    found = speciation(x, sides, probes=100)
    unit = np.sqrt(x.var(axis=0).mean())
    scaled = (x - x.mean(axis=0)) / unit
    noise = np.sqrt(np.expm1(2 * found.times[place]))  # x_t = e^-t x + sqrt(1 - e^-2t) z, over e^-t
    noisy = np.repeat(scaled, 12, axis=0)
    noisy = noisy + noise * rng.normal(size=noisy.shape)
    one, two = (sides[paths(scaled, noisy, noise, rng)] for _ in range(2))
    same = float(np.mean(one == two))
    error = (
        np.sqrt(0.25 / 100) / 2 + (found.limits[place, 1] - found.limits[place, 0]) / 4
    )  # rows, noise, and the tool's
    assert abs(same - found.agreement[place]) < 2 * error
    assert abs(same - found.agreement[place - 6]) + abs(same - found.agreement[place + 6]) > 0.03  # it is told apart


def test_the_agreement_of_rows_on_a_line_is_an_integral():
    """The mean over x_t of the sum of squared probabilities of the classes, on a fine grid of x_t."""
    sides = np.repeat([0, 1], [240, 160])
    x = RNG(5).normal(size=400) + 4.0 * sides
    found = speciation(x[:, None], sides, probes=400)
    scaled, exact = (x - x.mean()) / x.std(), []
    for time in found.times:
        noise = np.sqrt(np.expm1(2 * time))
        grid = np.linspace(scaled.min() - 6 * noise, scaled.max() + 6 * noise, 1000)
        density = stats.norm.pdf(grid[:, None], scaled, noise) / 400
        parts = np.stack([density[:, sides == side].sum(axis=1) for side in (0, 1)])
        exact.append(integrate.simpson((parts**2).sum(axis=0) / np.maximum(parts.sum(axis=0), 1e-300), x=grid))
    inside = (found.limits[:, 0] <= exact) & (exact <= found.limits[:, 1])
    assert inside.sum() >= 22
    np.testing.assert_allclose(found.agreement, exact, atol=0.015)


def test_the_energy_of_a_curved_flow_is_that_of_scipy():
    rng = RNG(1)
    x = rng.normal(size=(250, 2))
    field = lambda x, t: np.stack([np.sin(2 * x[..., 1]) + t, x[..., 0] * np.cos(3 * t)], axis=-1)
    found = straightness(field, x, error=0.02)

    def slopes(t, state):
        own = field(state[:500].reshape(250, 2), t)
        return np.concatenate([own.ravel(), np.sum(own**2, axis=1)])

    end = integrate.solve_ivp(slopes, (0, 1), np.concatenate([x.ravel(), np.zeros(250)]), "DOP853", rtol=1e-10).y[:, -1]
    ends = end[:500].reshape(250, 2)
    np.testing.assert_allclose(found.ends, ends, atol=1e-6)
    assert found.energy == pytest.approx(end[500:].mean(), rel=1e-6)
    squares = np.sum((x[:, None] - ends) ** 2, axis=2)
    best = squares[optimize.linear_sum_assignment(squares)].mean()
    assert found.transport == pytest.approx(best, rel=1e-6)
    assert found.bent == pytest.approx(1 - np.trace(squares) / 250 / found.energy, rel=1e-5)
    step, own = x, 0
    for own in range(found.steps):
        step = step + field(step, own / found.steps) / found.steps
    assert np.sqrt(np.mean(np.sum((step - ends) ** 2, axis=1))) == pytest.approx(found.reached, rel=1e-4)
    half = stats.t.ppf(0.975, 249) * end[500:].std(ddof=1) / np.sqrt(250)
    assert np.subtract(*found.energy_interval[::-1]) == pytest.approx(2 * half, rel=1e-5)


@pytest.mark.parametrize("noise", [0.2, 0.5, 1.5])
def test_the_code_length_of_two_values_with_noise_is_an_integral_of_the_density(noise):
    """The differential entropy of x + noise z for x = -1 or 1, by quadrature of -p log p."""
    density = lambda v: (stats.norm.pdf(v, -1, noise) + stats.norm.pdf(v, 1, noise)) / 2
    entropy = integrate.quad(lambda v: special.entr(density(v)), -1 - 9 * noise, 1 + 9 * noise, limit=200)[0] / np.log(
        2
    )
    x = RNG(2).choice([-1.0, 1.0], size=(1200, 1))
    found = bits(lambda noisy, sigma: np.tanh(noisy / sigma**2), x, noise=noise)
    assert found.interval[0] - 0.01 < entropy < found.interval[1] + 0.01
    assert np.subtract(*found.interval[::-1]) < 0.1
    normal = 0.5 * np.log2(2 * np.pi * np.e * (x.var() + noise**2))  # the best linear code is that of a normal density
    assert found.linear == pytest.approx(normal, abs=0.01)


def test_a_curved_generator_is_recovered_as_by_scipy():
    """Levenberg and Marquardt's method with SciPy's differences, and the covariance of its last step."""
    rng = RNG(3)
    first, second, a = rng.normal(size=(8, 3)), rng.normal(size=(30, 8)), rng.normal(size=(12, 30))
    plain = lambda z: second @ np.tanh(first @ z)
    true = np.array([0.3, -0.2, 0.4])
    b = a @ plain(true) + 0.5 * rng.normal(size=12)
    found = recover(lambda z: jnp.asarray(second) @ jnp.tanh(jnp.asarray(first) @ z), a, b, 3)
    starts = [optimize.least_squares(lambda z: a @ plain(z) - b, rng.normal(size=3), method="lm") for _ in range(10)]
    best = min(starts, key=lambda own: own.cost)
    assert found.residual == pytest.approx(np.sqrt(2 * best.cost), rel=1e-5)
    np.testing.assert_allclose(found.signal, plain(best.x), atol=1e-3)
    slopes = np.stack([(plain(best.x + 1e-5 * e) - plain(best.x - 1e-5 * e)) / 2e-5 for e in np.eye(3)], axis=1)
    covariance = 2 * best.cost / (12 - 3) * slopes @ np.linalg.inv(best.jac.T @ best.jac) @ slopes.T
    assert found.error == pytest.approx(np.sqrt(np.trace(covariance)), rel=1e-3)
    np.testing.assert_allclose(found.deviations, np.sqrt(np.diag(covariance)), rtol=1e-2)
