"""Regressions that are drawn, the parts that they are drawn from, quadrature, and conditions at their edges."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.engine.claims import Integer, Real
from lemmata.engine.problems import impulse_responses
from lemmata.engine.problems.conditions import in_unit_ball, rounding_floor, semidefinite
from lemmata.engine.problems.gauss_legendre import pieces
from lemmata.engine.problems.kernel_regressions import KernelRegressions
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.rows import Rows, finite
from lemmata.engine.problems.sampled import draws, paired_signs, points_in_ball, sampled_kernel, sampled_regression
from lemmata.engine.problems.singular import singular_cause
from lemmata.engine.problems.variables import dimension, rows
from lemmata.kernels import RBF, Laplace, Linear

TWO = jnp.array([[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])


def test_kernels_have_unit_variance_and_lengthscales_of_the_root_of_the_dimension():
    ones = jnp.ones(4)
    assert float(sampled_kernel("linear", 4)(ones, ones)) == pytest.approx(1.0)
    for name, kind, wanted in (("rbf", RBF, np.exp(-0.125)), ("laplace", Laplace, np.exp(-0.5))):
        kernel = sampled_kernel(name, 4)
        assert isinstance(kernel, kind)
        assert float(kernel(TWO[0], TWO[1])) == pytest.approx(wanted, rel=1e-12)
    assert isinstance(sampled_kernel("linear", 4), Linear)


def test_draws_are_the_parts_of_one_draw(key):
    first, second, third = draws(key, (2, 3), (), (4,))
    whole = np.asarray(jax.random.normal(key, (11,)))
    np.testing.assert_array_equal(first, whole[:6].reshape(2, 3))
    np.testing.assert_array_equal(second, whole[6])
    np.testing.assert_array_equal(third, whole[7:])


@pytest.mark.parametrize("d", [1, 2, 5])
def test_points_are_uniform_in_the_ball(d, key):
    x = np.asarray(points_in_ball(jax.random.normal(key, (3000, d + 1))))
    lengths = np.linalg.norm(x, axis=1)
    assert stats.kstest(lengths**d, "uniform").pvalue > 1e-3
    assert np.all(np.abs(x.mean(axis=0)) < 5 * np.sqrt(1 / (d + 2) / 3000))


def test_signs_come_in_opposite_pairs():
    assert paired_signs(jnp.array([[0.3, -2.0], [-0.1, 5.0]])).tolist() == [[1, -1, -1, 1], [-1, 1, 1, -1]]


def test_a_drawn_regression_has_a_target_of_unit_size_and_noise_of_its_own(key):
    @jax.jit
    def sample(own):
        noisy = sampled_regression(own, n=30, t=20, d=3, kernel="laplace", noise=2.0)
        quiet = sampled_regression(own, n=30, t=20, d=3, kernel="laplace", noise=0.0, ridge=0.25)
        return quiet, noisy, noisy.gram, noisy.cross, sampled_regression(own, n=2, t=1, d=3)

    quiet, noisy, inner, across, plain = sample(key)
    assert [a.shape for a in (quiet.x, quiet.y, quiet.x_test, quiet.y_test)] == [(30, 3), (30, 1), (20, 3), (20, 1)]
    target = np.concatenate([quiet.y, quiet.y_test])
    assert float((target**2).mean()) == pytest.approx(1.0, rel=1e-12)
    assert (float(quiet.ridge), float(quiet.noise)) == (0.25, 0.0)
    assert isinstance(quiet.kernel, Laplace)
    error = np.concatenate([noisy.y, noisy.y_test]) - target
    assert abs(error.std() / 2.0 - 1) < 5 / np.sqrt(100)
    assert (float(noisy.ridge), float(noisy.noise)) == (0.1, 2.0)
    assert (float(plain.noise), type(plain.kernel)) == (0.5, RBF)
    x, x_test = np.asarray(noisy.x), np.asarray(noisy.x_test)
    for found, rows_ in ((inner, x), (across, x_test)):
        apart = np.linalg.norm(rows_[:, None] - x, axis=2)
        np.testing.assert_allclose(found, np.exp(-apart / 3**0.5), rtol=1e-9)


@pytest.mark.parametrize(("held_out", "count"), [(0, 1), (1, 6), (3, 18)])
def test_a_population_of_regressions_has_held_out_rows_for_each_row(held_out, count, key):
    population = KernelRegressions(Integer(6, 2, 9, "rows"), held_out, Real(0.5, 0.1, 1.0, "ridge"))
    problem = jax.jit(lambda own: population.sample(population.settings().default, own))(key)
    assert (problem.x.shape, problem.x_test.shape) == ((6, 5), (count, 5))
    assert (float(problem.ridge), float(problem.noise)) == (0.5, 0.5)
    assert population.hypotheses(problem) == []
    assert population.culprit(problem) is None


def test_the_culprit_of_a_regression_with_too_small_a_ridge_is_its_equal_rows():
    x = jnp.concatenate([TWO, TWO[:1]])
    small, large = (
        Regression(x, x[:, :1], x, x[:, :1], RBF(1.0), jnp.asarray(ridge), jnp.asarray(0.0)) for ridge in (1e-17, 0.1)
    )
    population = KernelRegressions(Integer(6, 2, 9, "rows"))
    assert "1 pair of equal rows (training rows 0 and 2" in (population.culprit(small) or "")
    assert population.culprit(large) is None


def test_quadrature_integrates_polynomials_of_degree_nine_on_each_piece():
    for panels in (1, 3):
        nodes, weights = map(np.asarray, pieces(jnp.array([2.0, -1.0, 0.5]), panels))
        assert nodes.shape == weights.shape == (2 * panels * 5,)
        for degree in range(10):
            wanted = (2.0 ** (degree + 1) - (-1.0) ** (degree + 1)) / (degree + 1)
            assert float(weights @ nodes**degree) == pytest.approx(wanted, rel=1e-12)
    nodes, weights = pieces(jnp.array([2.0, -1.0, 0.5]))
    assert float(weights @ jnp.abs(nodes - 0.5)) == pytest.approx(1.125 + 1.125, rel=1e-14)


def test_an_eigenvalue_is_zero_up_to_rounding():
    values = jnp.array([-1.0, 2.0, 4.0])
    floor = 16 * 3 * 2.0**-52 * 4
    assert float(rounding_floor(values)) == floor
    for least, wanted in ((-0.9 * floor, True), (-1.1 * floor, False), (0.0, True)):
        assert bool(semidefinite(jnp.diag(jnp.array([2.0, least, 4.0]))).holds) is wanted
    assert [bool(in_unit_ball(jnp.array([[0.0, 1.0], [0.6, size]])).holds) for size in (0.8, 0.81)] == [True, False]
    assert in_unit_ball(jnp.eye(2), "outputs", "why").name == "outputs lie in the unit ball"
    assert in_unit_ball(jnp.eye(2)).name == "inputs lie in the unit ball"


@pytest.mark.parametrize(("value", "bad"), [(0.0, 0), (np.inf, 1), (-np.inf, 1), (np.nan, 1)])
def test_rows_are_finite_or_not(value, bad):
    own = finite(Rows(jnp.array([[1.0, value], [value, 2.0]])))
    assert int(own.value) == 2 * bad
    assert bool(own.holds) is not bool(bad)


def test_shared_variables_have_their_ranges():
    assert (rows(5).low, rows(5).high, rows(5, 2, 7, (3, 4)).corners) == (1, 10_000, (3, 4))
    assert (dimension(5).low, dimension(5).high, dimension(5, 2, 7, (3, 4)).corners) == (1, 64, (3, 4))


def test_a_singular_matrix_is_told_by_its_pairs_and_what_they_leave_unexplained():
    x = jnp.zeros((5, 2)).at[4].set(1.0)
    told = singular_cause(x @ x.T, x)
    assert told is not None
    assert told.startswith("3 pairs of equal rows (training rows 0 and 1, 0 and 2, 0 and 3, counted from 0) make the")
    assert told.endswith("zero, and the kernel matrix of the 5 rows has rank 1")
    shifted = x + 1
    told = singular_cause(shifted @ shifted.T + jnp.diag(jnp.array([0.0, 0, 0, 0, 1])), shifted)
    assert told is not None
    assert told.endswith("the smallest eigenvalue of the kernel matrix zero")
    told = singular_cause(jnp.zeros((6, 6)), jnp.zeros((6, 1)))
    assert told is not None
    assert told.startswith("5 pairs of equal rows (training rows 0 and 1, 0 and 2, 0 and 3, ..., counted from 0) make")


def test_the_last_state_is_a_sum_of_powers_of_the_transition(key):
    population = impulse_responses.RandomReadouts()
    problem = jax.jit(lambda own: population.sample({"steps": 6, "states": 32}, own))(key)
    np.testing.assert_allclose(problem.transition @ problem.transition.T, 0.95**2 * np.eye(32), atol=1e-12)
    transition, entry = np.asarray(problem.transition)[:3, :3], np.asarray(problem.entry)[:3]
    wanted = np.stack([np.linalg.matrix_power(transition, 5 - t) @ entry for t in range(6)], axis=1)
    np.testing.assert_allclose(problem.final_state(3), wanted, rtol=1e-10, atol=1e-14)
    assert all(bool(own.holds) for own in population.hypotheses(problem))
    sample = jax.jit(lambda own: population.sample({"steps": 4, "states": 32}, own))
    drawn = [sample(own) for own in jax.random.split(key, 60)]
    assert {float(own.position) for own in drawn} == {0.0, 1.0, 2.0, 3.0}
    assert {float(own.frequency) for own in drawn} == {1.0, 2.0, 3.0, 4.0}
    poles = jnp.array([0.5 + 0.5j, -1.0])
    states = impulse_responses.modal_states(poles, 4)
    np.testing.assert_allclose(states, np.asarray(poles) ** np.arange(4)[:, None], rtol=1e-14)
