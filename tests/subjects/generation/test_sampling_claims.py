"""Errors, guidance, memory and information against integrals, differential equations of SciPy, and cases by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from lemmata.subjects.generation import field_errors, guidance, information, memory, score_errors


def test_the_area_of_two_points_is_a_bit():
    """The best denoiser of x = -1 or 1 is tanh, with the error 1 - E tanh(snr + sqrt(snr) Z)."""

    def error(snr):
        density = lambda z: math.exp(-z * z / 2) * math.tanh(snr + math.sqrt(snr) * z)
        return 1 - integrate.quad(density, -12, 12, limit=200)[0] / math.sqrt(2 * math.pi)

    area = integrate.quad(error, 0, 60, limit=200)[0] / 2
    assert area == pytest.approx(np.log(2), rel=1e-6)
    points = information.WeightedPoints(jnp.asarray([[-1.0], [1.0]]), jnp.full(2, 0.5), jnp.asarray([0.9, 0.1]))
    found = np.mean(
        [information.CodeLengthFromDenoising().measure(points, k) for k in jax.random.split(jax.random.key(1), 8)],
        axis=0,
    )
    np.testing.assert_allclose(found, [np.log(2), 0.5 * np.log(0.25 / 0.09)], rtol=0.02)


@pytest.mark.parametrize("r", [0.3, 1.0, 4.0])
def test_collapse_from_the_determinant(r):
    c = 0.22
    information_of = lambda snr: (np.log1p(snr) + np.log1p(r * snr)) / 4 - c
    snr = optimize.brentq(information_of, 1e-6, 1e3)
    assert float(memory._collapse(jnp.asarray(r), c)) == pytest.approx(np.log1p(1 / snr) / 2)
    if r == 1.0:
        assert float(memory._collapse(jnp.asarray(r), c)) == pytest.approx(-0.5 * np.log1p(-np.exp(-2 * c)))
        assert float(memory._own_time(jnp.asarray(1.0), c)) == pytest.approx(-0.5 * np.log1p(-np.exp(-2 * c)))


def test_half_time_of_two_rows_by_weights():
    """At the time found, the weights by their definition have the mean 1/2, for the same noise."""
    rows = np.random.default_rng(0).normal(size=(40, 6))
    t = memory.half_time(rows, 40, np.random.default_rng(5))
    noise = np.random.default_rng(5).normal(size=rows.shape)
    a, b = np.exp(-t), np.sqrt(1 - np.exp(-2 * t))
    x = a * rows + b * noise
    logs = -((x[:, None] - a * rows) ** 2).sum(-1) / (2 * b**2)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    assert np.mean(np.diag(weights) / weights.sum(axis=1)) == pytest.approx(0.5, abs=1e-5)


def test_the_share_at_speciation():
    """tanh² and tanh have one mean, and the number of the docstring is 0.27."""
    for power in (1, 2):
        density = lambda z, power=power: stats.norm.pdf(z) * np.tanh(1 + z) ** power
        assert integrate.quad(density, -12, 12)[0] / 2 == pytest.approx(0.2752002, abs=1e-6)
    problem = memory.TwoClasses(jnp.asarray([8.0]))
    assert float(memory.SpeciationTime().predict(problem)[0]) == pytest.approx(0.2752002, abs=1e-6)


def _wrong(excess=0.0):
    return score_errors.WrongScore(
        jnp.asarray([[0.4], [-0.3]]), jnp.asarray([[0.7], [1.3]]), jnp.asarray(excess), jnp.asarray(2.0)
    )


def test_for_true_scores_the_bound_is_the_divergence_of_the_data(key):
    exact = 0.5 * (0.49 / 1.69 - 1 - np.log(0.49 / 1.69) + 0.49 / 1.69)
    assert float(_wrong().divergence_of_paths()) == pytest.approx(exact, rel=1e-9)
    assert float(score_errors.SampleDivergence().measure(_wrong(), key)) == pytest.approx(exact, rel=1e-8)


def test_the_bound_by_scipy():
    def error(t):
        a = np.exp(-t)
        v, w = 1 + a**2 * (0.49 - 1), 1 + a**2 * (1.69 - 1)
        gap = lambda x: (-(x - 0.4 * a) / v + 1.2 * (x + 0.3 * a) / w) ** 2 * stats.norm.pdf(x, 0.4 * a, np.sqrt(v))
        return integrate.quad(gap, -9, 9)[0]

    a = np.exp(-2.0)
    v, w = 1 + a**2 * (0.49 - 1), 1 + a**2 * (1.69 - 1)
    start = 0.5 * (v / w - 1 - np.log(v / w) + (0.7 * a) ** 2 / w)
    assert float(_wrong(0.2).divergence_of_paths()) == pytest.approx(start + integrate.quad(error, 0, 2)[0], rel=1e-8)


def test_solver_errors_by_numpy():
    for s in (0.2, 1.0, 2.5):
        slope = lambda t, s=s: (t * s**2 - (1 - t)) / ((1 - t) ** 2 + t**2 * s**2)
        n, ends = 2000, [1.0, 1.0]
        for k in range(n):
            ends[0] *= 1 + slope(k / n) / n
            middle = 1 + slope(k / n) / n
            ends[1] *= 1 + (slope(k / n) + slope((k + 1) / n) * middle) / (2 * n)
        problem = field_errors.NormalTarget(jnp.asarray(s))
        assert n * (1 - ends[0] / s) == pytest.approx(
            float(field_errors.EulerErrorConstant().predict(problem)), rel=5e-3
        )
        heun = float(field_errors.HeunErrorConstant().predict(problem))
        assert n**2 * (1 - ends[1] / s) == pytest.approx(heun, rel=5e-3, abs=1e-3)


def test_a_wrong_field_by_scipy(key):
    problem = field_errors.WrongFields().sample({"d": 3, "most": 2.0}, key)
    field = lambda f: lambda t, x: np.asarray(f(jnp.asarray(x)))
    ends = [
        integrate.solve_ivp(field(f), (0, 1), problem.start, rtol=1e-8, atol=1e-8).y[:, -1]
        for f in (problem.true, problem.model)
    ]
    moved = np.linalg.norm(ends[1] - ends[0])
    assert float(field_errors.FlowStability().measure(problem, key)) == pytest.approx(moved, rel=1e-5)
    assert moved <= float(field_errors.FlowStability().predict(problem)) * (1 + 1e-6)


def test_the_wall_by_hand(key):
    """Paths stop at c, the true ones end at 1 plus the start: the mean distance is 5/4 - c."""
    ratio = field_errors.WallStopsSamples().measure_at(field_errors.Wall(jnp.asarray(0.6)), key, 64.0)
    assert float(ratio) == pytest.approx(0.65 * 8, rel=0.02)


@pytest.mark.parametrize(("ratio", "w"), [(0.3, 0.5), (0.6, 1.0), (0.9, 3.0)])
def test_guided_moments_by_scipy(ratio, w):
    problem = guidance.Guided(jnp.asarray(ratio), jnp.asarray(1.4), jnp.asarray(0.8), jnp.asarray(w))
    narrow, wide = (1.4 * ratio) ** 2, 1.96

    def back(s, moments, noise):
        a = np.exp(-(18 - s))
        v, u = 1 + a**2 * (narrow - 1), 1 + a**2 * (wide - 1)
        k, shift = (1 + w) / v - w / u, (1 + w) * a * 0.8 / v
        rate = 1 - (1 + noise) * k
        return [2 * rate * moments[0] + 2 * noise, rate * moments[1] + (1 + noise) * shift]

    ends = np.stack([
        integrate.solve_ivp(back, (0, 18), [1.0, 0.0], args=(noise,), rtol=1e-10, atol=1e-13).y[:, -1]
        for noise in (0.0, 1.0)
    ])  # fmt: skip
    spread, mean = guidance.GuidedSpread().predict(problem), guidance.GuidedMean().predict(problem)
    np.testing.assert_allclose(spread, ends[:, 0], rtol=1e-6)
    np.testing.assert_allclose(mean, ends[:, 1], rtol=1e-6)
    variance, centre = problem.tilted
    assert spread[0] < spread[1] < variance
    assert centre < min(mean)
    density = lambda x: stats.norm.pdf(x, 0.8, narrow**0.5) ** (1 + w) * stats.norm.pdf(x, 0, wide**0.5) ** -w
    mass = [integrate.quad(lambda x, p=p: x**p * density(x), -6, 10)[0] for p in range(3)]
    assert float(centre) == pytest.approx(mass[1] / mass[0], rel=1e-6)
    assert float(variance) == pytest.approx(mass[2] / mass[0] - (mass[1] / mass[0]) ** 2, rel=1e-6)
