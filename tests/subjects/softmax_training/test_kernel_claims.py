"""The softmax tangent kernel at infinite width: its bias, its definiteness and the rows that break it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import examine
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.softmax_kernels import singular_rows
from lemmata.kernels import RBF, Compose, SoftmaxTangent, gram
from lemmata.subjects.softmax_training import definiteness, infinite_width
from lemmata.subjects.softmax_training import kernel_drift as drift

EPS = float(np.finfo(float).eps)


def regression(kernel, x, y=None):
    y = x[:, :1] if y is None else y
    return Regression(x, y, x, y, kernel, jnp.asarray(0.0), jnp.asarray(jnp.nan))


def test_points_are_scaled_or_taken_as_the_kernel_sees_them(key):
    x = 5 * jax.random.normal(key, (30, 3))
    claim = infinite_width.TangentWidth()
    plain = claim.population.pose(regression(RBF(), x))
    assert float(jnp.linalg.norm(plain.x, axis=1).max()) <= 1 + 4 * EPS
    halved = claim.population.pose(regression(Compose(SoftmaxTangent(sigma=0.3), lambda point: point / 2), x))
    assert float(halved.sigma) == np.float64(0.3)
    assert jnp.array_equal(halved.x, x[:16] / 2)
    found = examine(claim, regression(SoftmaxTangent(sigma=1.0), x), key)
    names = {finding.name for finding in found.hypotheses if finding.holds is False}
    assert names == {"inputs lie in the unit ball", "the smallest width is large enough to average its lognormal terms"}
    assert examine(claim, regression(RBF(), x), key).applies


def test_width_correction_by_the_delta_method_in_numpy():
    # Means, variances and covariances of exp(<w, x>) for normal w, spelled out for one pair of points.
    x, y, sigma, m = np.array([0.6, -0.2]), np.array([0.5, 0.6]), 0.7, 40  # orthogonal points have no bias
    mean = lambda u: np.exp(sigma**2 * u @ u / 2)
    covariance = lambda u, v: mean(u + v) / (mean(u) * mean(v)) - 1  # relative
    expected = covariance(x, x) + covariance(y, y) + covariance(x, y) - covariance(x, x + y) - covariance(y, x + y)
    ours = infinite_width.width_correction(jnp.stack([jnp.asarray(x), jnp.asarray(y)]), jnp.asarray(sigma), m)
    assert abs(2 / m * expected) > 1e-3
    assert float(ours[0, 1]) == pytest.approx(2 / m * expected, rel=1e-12)


def test_one_point_has_the_bound_of_its_norm():
    x = jnp.array([[0.6, 0.0]])
    assert float(definiteness.separation_bound(x, jnp.asarray(1.0))) == pytest.approx(0.36, rel=1e-12)


def test_two_points_by_expanding_the_polynomials():
    # p_0(z) = <z, x0>/|x0|² <z - x1, x0 - x1>/|x0 - x1|²: parts of degree 1 and 2, bounded by norms of factors.
    x, sigma = np.array([[0.5, 0.1], [-0.2, 0.7]]), 0.8
    total = 0.0
    for here, there in (x, x[::-1]):
        apart = np.linalg.norm(here - there)
        first = abs(there @ (here - there)) / apart**2 / np.linalg.norm(here)
        second = 1 / apart / np.linalg.norm(here)
        total += first**2 + second**2 / sigma**2
    assert float(definiteness.separation_bound(jnp.asarray(x), jnp.asarray(sigma))) == pytest.approx(1 / total)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_bound_holds_on_a_line_and_near_collisions(n):
    # One dimension is the hardest: all points on a line, two of them close.
    x = jnp.linspace(0.2, 1.0, n)[:, None].at[0].set(0.99)
    bound = definiteness.separation_bound(x, jnp.asarray(1.0))
    assert 0 < bound <= jnp.abs(jnp.linalg.eigvalsh(gram(SoftmaxTangent(), x))[0]) + 1e-14


def test_the_rows_that_break_positive_definiteness_are_named(key):
    x = jax.random.normal(key, (20, 3)).at[7].set(0.0)
    x = x.at[11].set(x[2])
    found = examine(definiteness.PositiveDefinite(), regression(RBF(), x), key)
    assert not found.applies
    assert "zero inputs: rows [7]" in found.culprit
    assert "(2, 11)" in found.culprit
    assert examine(definiteness.PositiveDefinite(), regression(RBF(), x[12:]), key).culprit is None


@pytest.mark.parametrize(("row", "named"), [(1, "training rows 1 and 5"), (None, "rows 5 (counted from 0) are zero")])
def test_a_singular_limit_has_no_smallest_eigenvalue_to_measure(key, row, named):
    x = jax.random.normal(key, (20, 3))
    claim = infinite_width.SmallestEigenvalueWidth()
    assert examine(claim, regression(RBF(), x), key).applies
    found = examine(claim, regression(RBF(), x.at[5].set(0.0 if row is None else x[row])), key)
    assert [h.name for h in found.hypotheses if h.holds is False] == [
        "the smallest eigenvalue of the limit is above its rounding error"
    ]
    assert named in found.culprit


def test_many_culprits_are_counted_not_listed():
    text = singular_rows(jnp.zeros((40, 2)))
    assert "and 35 more" in text
    assert len(text) < 250


def test_drift_scales_a_users_data_and_names_what_is_zero(key):
    x = 9 * jax.random.normal(key, (40, 3))
    claim = drift.KernelDriftWidth()
    posed = claim.population.pose(regression(RBF(), x, 3 * x[:, :2]))
    assert posed.x.shape == (16, 3)
    assert float(jnp.linalg.norm(posed.y, axis=1).max()) == pytest.approx(1.0)
    silent = examine(claim, regression(RBF(), x, jnp.zeros((40, 1))), key)
    assert [h.name for h in silent.hypotheses if h.holds is False] == ["some target is not 0"]
