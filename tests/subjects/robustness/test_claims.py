"""What the claims on adversaries are judged by, against other routes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

from lemmata.subjects.robustness._planar_rules import PlanarRule
from lemmata.subjects.robustness._poisoned_rows import Parts
from lemmata.subjects.robustness.contamination import _filtered_mean
from lemmata.subjects.robustness.influence import _fit
from lemmata.subjects.robustness.spheres import CapsAreFarthest, SphereErrors, _distance_to_cap


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def rule(kind, size, sigma=0.5, normal=(0.6, 0.8)):
    given = (jnp.asarray(value) for value in (size, np.zeros(2), np.array(normal), sigma))
    return PlanarRule(jnp.asarray(kind), *given)


POINTS = np.array([[0.0, 0.0], [0.3, -0.2], [1.1, 0.4], [-2.0, 1.5]])


@pytest.mark.parametrize("ratio", [1.6, 4.0])
def test_discs_are_those_of_the_noncentral_law(ratio):
    found = rule(1, ratio * 0.5).probability(jnp.asarray(POINTS))
    expected = stats.ncx2.cdf(ratio**2, 2, np.maximum((POINTS**2).sum(axis=1), 1e-12) / 0.25)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("ratio", [2.5, 6.0])
def test_checkerboards_are_sums_of_squares(ratio):
    size, sigma = ratio * 0.5, 0.5
    ends = size * np.arange(-40, 41)
    share = np.diff(stats.norm.cdf((ends - POINTS[..., None]) / sigma), axis=-1)
    even = (share * (np.arange(-40, 40) % 2 == 0)).sum(axis=-1)
    expected = even[:, 0] * even[:, 1] + (1 - even[:, 0]) * (1 - even[:, 1])
    np.testing.assert_allclose(rule(2, size).probability(jnp.asarray(POINTS)), expected, atol=1e-9)


def test_half_planes():
    draws = np.random.default_rng(0).normal(size=(200_000, 2)) * 0.5
    expected = [np.mean((point + draws) @ [0.6, 0.8] <= 0.7) for point in POINTS]
    np.testing.assert_allclose(rule(0, 0.7).probability(jnp.asarray(POINTS)), expected, atol=0.006)


@pytest.mark.parametrize(("n", "measure"), [(3, 0.2), (100, 0.01)])
def test_the_distance_to_a_cap(n, measure):
    problem = SphereErrors(jnp.asarray(measure), jnp.asarray(0), n)
    drawn = np.mean([CapsAreFarthest().measure(problem, jax.random.key(seed)) for seed in range(20)])
    assert _distance_to_cap(n, measure) == pytest.approx(drawn, rel=0.03)
    if n == 3:  # the height of a cap of the sphere in space is twice its share of the sphere
        edge = np.arccos(1 - 2 * measure)
        angles = np.linspace(edge, np.pi, 20_001)
        exact = np.trapezoid(np.sin((angles - edge) / 2) * np.sin(angles), angles)
        assert _distance_to_cap(3, measure) == pytest.approx(exact, rel=1e-6)


def test_opposite_caps_are_nearer():
    """Two caps by the nearest point of each, without the angle to a subspace."""
    n, share = 20, 0.1
    problem = SphereErrors(jnp.asarray(share), jnp.asarray(1), n)
    points = np.random.default_rng(1).normal(size=(40_000, n))
    first = points[:, 0] / np.linalg.norm(points, axis=1)
    edge = np.arccos(np.quantile(np.abs(first), 1 - share))
    apart = [2 * np.sin(np.maximum(np.arccos(sign * first) - edge, 0) / 2) for sign in (1, -1)]
    found = np.mean([CapsAreFarthest().measure(problem, jax.random.key(seed)) for seed in range(10)])
    assert found == pytest.approx(np.minimum(*apart).mean(), rel=0.04)
    assert found < CapsAreFarthest().predict(problem)


def test_fits_are_minimisers():
    draw = np.random.default_rng(0)
    rows, signs = draw.normal(size=(60, 3)), draw.choice([-1.0, 1.0], 60)
    weights, hessian = _fit(rows, signs, 0.7, np.zeros(3))
    loss = lambda w: np.logaddexp(0, -signs * (rows @ w)).sum() + 0.35 * w @ w
    np.testing.assert_allclose(weights, optimize.minimize(loss, np.zeros(3), tol=1e-12).x, atol=1e-5)
    curvature = jax.hessian(lambda w: jnp.logaddexp(0, -signs * (rows @ w)).sum() + 0.35 * w @ w)(jnp.asarray(weights))
    np.testing.assert_allclose(hessian, curvature, rtol=1e-8)


def test_the_filter_takes_what_is_far_and_leaves_what_is_clean():
    rows = np.random.default_rng(0).normal(size=(4000, 40))
    np.testing.assert_array_equal(_filtered_mean(rows, 0.1), rows.mean(axis=0))
    rows[:400, 0] += 8.0
    assert np.linalg.norm(_filtered_mean(rows, 0.1) - rows[400:].mean(axis=0)) < 0.06
    assert np.linalg.norm(rows.mean(axis=0) - rows[400:].mean(axis=0)) > 0.7


@pytest.mark.parametrize("eps", [0.1, 0.3])
def test_parts_on_two_points_reach_beyond_the_middle(eps):
    parts = Parts(eps, jnp.asarray(1.5), jnp.asarray(True), 1000, 2)
    q = parts.stray
    far, near = 1.5 * np.array([((1 - q) / q) ** 0.5, -((q / (1 - q)) ** 0.5)])
    assert q * far + (1 - q) * near == pytest.approx(0.0, abs=1e-12)
    assert q * far**2 + (1 - q) * near**2 == pytest.approx(1.5**2)
    assert far > parts.distance / 2
    assert parts.distance**2 == pytest.approx(6 * 1.5**2 / eps)
    assert q > eps / 2
