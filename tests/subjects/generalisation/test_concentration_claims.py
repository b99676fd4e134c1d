"""Hoeffding's radius by hand, and the held-out losses of a user's problem."""

import jax.numpy as jnp
import numpy as np
from sklearn.kernel_ridge import KernelRidge

from lemmata.engine.claims import examine
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.subjects.generalisation.concentration import HeldOutLosses, HoeffdingHeldOut, hoeffding_radius


def test_radius_by_hand():
    # 2 sqrt(log(40) / 200)
    np.testing.assert_allclose(hoeffding_radius(100, 2.0, 0.05), 2 * 0.13581015, rtol=1e-7)


def test_posed_losses_are_those_of_sklearn_clipped(key):
    problem = sampled_regression(key, n=30, t=20, d=3, ridge=0.1)
    posed = HoeffdingHeldOut.population.pose(problem)
    model = KernelRidge(alpha=0.1, kernel="precomputed").fit(np.asarray(problem.gram), np.asarray(problem.y))
    y, y_test = np.asarray(problem.y), np.asarray(problem.y_test)
    wanted = (np.clip(model.predict(np.asarray(problem.cross)), y.min(), y.max()) - y_test)[:, 0] ** 2
    tolerance = 64 * np.finfo(float).eps * np.linalg.cond(np.asarray(problem.gram) + 0.1 * np.eye(30)) * np.abs(y).sum()
    assert np.abs(posed.population - wanted).max() <= tolerance
    assert posed.size == 20, "as many as the held-out error itself rests on"
    constant = np.mean((y_test - y.mean()) ** 2)
    np.testing.assert_allclose(HoeffdingHeldOut().trivial(posed), constant, rtol=1e-12)
    found = examine(HoeffdingHeldOut(), problem, key)
    assert found.applies
    assert [finding.holds for finding in found.hypotheses] == [True, True, None]


def test_losses_beyond_the_bound_fail(key):
    problem = HeldOutLosses(jnp.array([0.5, 1.5, -0.1]), 2, jnp.asarray(1.0), 0.05)
    assert [bool(hypothesis.holds) for hypothesis in HoeffdingHeldOut.population.hypotheses(problem)] == [
        False,
        False,
        True,
    ]


def test_a_radius_beyond_the_error_of_a_constant_is_vacuous(key):
    problem = sampled_regression(key, n=30, t=40, d=3, ridge=0.1)
    found = examine(HoeffdingHeldOut(), problem, key)
    bound = float(HoeffdingHeldOut.population.pose(problem).bound)
    assert found.trivial < found.predicted < bound
    assert found.vacuous == 1.0
    sampled = HeldOutLosses(jnp.array([0.0, 1.0]), 100, jnp.asarray(1.0), 0.05)
    assert HoeffdingHeldOut().trivial(sampled) == 1.0
