"""The nearest interpolant against constrained optimality, and where interpolation is impossible."""

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.chapters._sampled import sampled_regression
from lemmata.chapters.optimisation.implicit_bias import MinimumNormInterpolant, nearest_interpolant
from lemmata.chapters.optimisation.least_squares import LeastSquares
from lemmata.claims import examine


def test_it_interpolates_and_differs_from_the_start_only_in_the_row_space(key):
    phi, y, start = (np.asarray(jax.random.normal(k, s)) for k, s in zip(
        jax.random.split(key, 3), [(4, 9), (4, 2), (9, 2)], strict=True
    ))
    found = np.asarray(nearest_interpolant(*map(jnp.asarray, (phi, y, start))))
    # Karush-Kuhn-Tucker system of min |w - start|² subject to phi w = y
    system = np.block([[np.eye(9), phi.T], [phi, np.zeros((4, 4))]])
    wanted = np.linalg.solve(system, np.vstack([start, y]))[:9]
    tolerance = 32 * np.finfo(float).eps * np.linalg.cond(system) * np.abs(wanted).max()
    assert np.abs(found - wanted).max() <= tolerance


def test_a_user_problem(key):
    problem = sampled_regression(key, n=15, t=10, d=5, kernel="laplace")
    found = examine(MinimumNormInterpolant(), problem, key)
    assert found.applies
    assert found.agrees is True


def test_it_fails_where_rows_outnumber_features_or_repeat(key):
    square = LeastSquares(jnp.eye(3), jnp.ones((3, 1)), jnp.zeros((3, 1)), jnp.asarray(0.5), 100)
    assert examine(MinimumNormInterpolant(), square, key).culprit.startswith("features outnumber rows")
    repeated = LeastSquares(jnp.ones((2, 3)), jnp.ones((2, 1)), jnp.zeros((3, 1)), jnp.asarray(0.1), 1000)
    findings = examine(MinimumNormInterpolant(), repeated, key).hypotheses
    names = [finding.name for finding in findings if not finding.holds]
    assert "interpolation is possible (smallest eigenvalue)" in names
    hasty = LeastSquares(jnp.eye(2, 3), jnp.ones((2, 1)), jnp.zeros((3, 1)), jnp.asarray(0.5), 3)
    assert examine(MinimumNormInterpolant(), hasty, key).culprit.startswith("steps are enough")
