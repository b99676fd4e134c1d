"""The nearest interpolant against constrained optimality, and where interpolation is impossible."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.engine.claims import examine
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.subjects.optimisation._least_squares import LeastSquares
from lemmata.subjects.optimisation.implicit_bias import MinimumNormInterpolant, nearest_interpolant


def test_it_interpolates_and_differs_from_the_start_only_in_the_row_space(key):
    phi, y, start = (
        np.asarray(jax.random.normal(k, s))
        for k, s in zip(jax.random.split(key, 3), [(4, 9), (4, 2), (9, 2)], strict=True)
    )
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
    assert examine(MinimumNormInterpolant(), hasty, key).culprit.startswith(
        "there are enough steps (t eta lambda_min): 1.5,"
    )


def test_equal_rows_are_named_before_the_steps_that_they_ask_for(key):
    problem = sampled_regression(key, n=15, t=10, d=5, kernel="laplace")
    x = problem.x.at[jnp.array([7, 12])].set(problem.x[jnp.array([2, 2])])
    found = examine(MinimumNormInterpolant(), dataclasses.replace(problem, x=x), key)
    wanted = (
        "2 pairs of equal rows (training rows 2 and 7, 2 and 12, counted from 0) make the smallest eigenvalue of the "
        "kernel matrix zero"
    )
    assert found.culprit == wanted
    failing = [finding.name for finding in found.hypotheses if finding.holds is False]
    assert failing[0] == "interpolation is possible (smallest eigenvalue)"


def test_an_infinite_condition_number_hides_no_disagreement(key):
    problem = sampled_regression(key, n=15, t=10, d=5, kernel="laplace")
    problem = dataclasses.replace(problem, x=problem.x.at[7].set(problem.x[2]))
    posed = MinimumNormInterpolant.population.pose(problem)
    assert jnp.isfinite(MinimumNormInterpolant().condition(posed)).all()
    # ten steps do not reach the limit, whatever rounding makes of the smallest eigenvalue
    assert examine(MinimumNormInterpolant(), dataclasses.replace(posed, steps=10), key).agrees is False
    zero = LeastSquares(jnp.zeros((2, 3)), jnp.ones((2, 1)), jnp.zeros((3, 1)), jnp.asarray(0.1), 3)
    assert not examine(MinimumNormInterpolant(), zero, key).applies
