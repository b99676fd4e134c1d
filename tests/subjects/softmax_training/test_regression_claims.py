"""Regression with the softmax tangent kernel, and a network's flow beside it, by independent routes."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from lemmata.engine.claims import examine
from lemmata.engine.problems.regression import Regression
from lemmata.kernels import RBF
from lemmata.subjects.softmax_training import coupling, prediction_coupling
from lemmata.subjects.softmax_training import kernel_regression as regression
from lemmata.subjects.softmax_training import prediction_speed as speeds
from lemmata.subjects.softmax_training._initialised_networks import initialised, stack, tangent_matrix
from lemmata.subjects.softmax_training._softmax_flows import RECORDS, trained

EPS = float(np.finfo(float).eps)


def start(key, n=3, k=2, width=32, d=4, tests=2):
    return initialised(jax.random.normal(key, (width // 2 + n + tests, d + k)), n, k, width, 0.7)


def table(key, n=40, d=5, k=3):
    x = jax.random.normal(key, (n, d))
    y = jnp.sin(x[:, :k])
    return Regression(x, y, x[:7], y[:7], RBF(), jnp.asarray(0.1), jnp.asarray(jnp.nan))


def test_the_table_of_draws_gives_a_symmetric_initialisation(key):
    problem = start(key)
    np.testing.assert_array_equal(problem.weight[:, 0::2], problem.weight[:, 1::2])
    np.testing.assert_array_equal(problem.sign[:, 0::2], -problem.sign[:, 1::2])
    assert set(np.unique(problem.sign)) == {-1.0, 1.0}
    np.testing.assert_allclose(jnp.linalg.norm(problem.x, axis=1), 1.0, rtol=4 * EPS)
    np.testing.assert_allclose(jnp.linalg.norm(problem.y, axis=1), 1.0, rtol=4 * EPS)
    assert (problem.x.shape, problem.y.shape, problem.x_test.shape) == ((3, 4), (3, 2), (2, 4))
    np.testing.assert_array_equal(problem.network.predict(problem.params(), problem.x), 0.0)


def test_features_by_loops_and_their_sums_vanish(key):
    problem = start(key, n=2, width=8)
    weight, sign, x = (np.asarray(a) for a in (problem.weight, problem.sign, problem.x))
    ours = np.asarray(regression.features(problem, problem.x)).reshape(2, 2, 4, 8)
    for i in range(2):
        shares = np.exp(x[i] @ weight) / np.exp(x[i] @ weight).sum()
        for output in range(2):
            for r in range(8):
                v = sign[output, r] * np.ones(8) - sign[output]
                block = 8**-0.5 * x[i] * (v @ shares) * 8 * shares[r]
                np.testing.assert_allclose(ours[output, i, :, r], block, atol=32 * EPS)
    assert jnp.abs(regression.summed_features(problem, problem.x)).max() < 64 * EPS


def test_speeds_against_a_short_step_of_training(key):
    setting = {"n": 3, "k": 2, "sigma": 0.7}
    problem = speeds.NetworkDerivative.population.sample(setting, key)
    begin, m = problem.start, problem.start.network.width
    assert float(jnp.abs(problem.weight - begin.weight).max()) > 1e-4
    short = 1e-6 / m
    slope = begin.network.gradient(begin.params(problem.weight), begin.x, begin.y)
    outputs = lambda sign: begin.network.predict(begin.params(problem.weight - sign * short * slope), begin.x_test)
    rise = stack(outputs(1) - outputs(-1)) / (2 * short * m)
    np.testing.assert_allclose(speeds.NetworkDerivative().predict(problem), rise, rtol=1e-6, atol=1e-9)
    short = 1e-6
    after = problem.gamma - short * (begin.tangent @ problem.gamma - stack(begin.y))
    rise = begin.cross @ (after - problem.gamma) / short
    np.testing.assert_allclose(speeds.RegressionDerivative().predict(problem), rise, rtol=1e-6, atol=1e-9)


def test_flow_and_descent_against_matrix_functions(key):
    problem = start(key)
    tangent, cross, y = (np.asarray(a) for a in (problem.tangent, problem.cross, stack(problem.y)))
    times, condition = [0.0, 0.3, 5.0], np.linalg.cond(tangent)
    on_train, on_test = regression.ntk_flow(problem.tangent, problem.cross, stack(problem.y), times)
    for position, time in enumerate(times):
        fitted = y - scipy.linalg.expm(-time * tangent) @ y
        np.testing.assert_allclose(on_train[position], fitted, atol=64 * EPS * condition)
        np.testing.assert_allclose(
            on_test[position], cross @ np.linalg.solve(tangent, fitted), atol=64 * EPS * condition
        )
    rate = jnp.asarray(0.2)
    on_train, _ = regression.ntk_descent(problem.tangent, problem.cross, stack(problem.y), rate, 9)
    outputs = np.zeros_like(y)
    for _ in range(9):
        outputs = outputs - 0.2 * tangent @ (outputs - y)
    np.testing.assert_allclose(on_train[0], outputs, atol=64 * EPS * condition)


def test_the_limit_kernel_takes_all_outputs_at_once(key):
    x, y = jax.random.normal(key, (5, 3)), jax.random.normal(key, (5, 2))
    kernel = x @ x.T + jnp.eye(5)
    on_train, on_test = regression.ntk_flow(kernel, kernel[:2], y, [1.0])
    assert on_train.shape == (1, 5, 2)
    np.testing.assert_allclose(on_test[0], on_train[0, :2], atol=1e4 * EPS)


def test_the_path_is_the_gradient_flow(key):
    problem = start(key, n=2)
    ours = trained(problem)
    network, params = problem.network, problem.params()

    def loss(weight):
        outputs = jax.vmap(lambda point: network.apply({**params, "weight": weight}, point))(problem.x)
        return 0.5 * jnp.sum((outputs - problem.y) ** 2)

    field = lambda _, weight, __: -jax.grad(loss)(weight) / network.width
    times = float(ours.unit) * RECORDS
    theirs = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Dopri8(),
        0.0,
        times[-1],
        0.1 * float(ours.unit),
        problem.weight,
        saveat=diffrax.SaveAt(ts=jnp.asarray(times)),
        max_steps=10_000,
        stepsize_controller=diffrax.PIDController(rtol=1e-11, atol=1e-13),
    )
    moved = float(jnp.abs(ours.path[-1] - problem.weight).max())
    # One part in a million of the outputs, as the integrator's comment says.
    assert jnp.abs(ours.path - theirs.ys).max() < 1e-6 * moved


def test_perturbations_by_their_definition(key):
    problem = start(key, n=2)
    ours = trained(problem)
    network, found, found_test = problem.network, [], []
    for weight in ours.path:
        train = tangent_matrix(network, problem.params(weight), problem.x) - problem.tangent
        found.append(np.linalg.norm(train))
        test = tangent_matrix(network, problem.params(weight), problem.x_test, problem.x) - problem.cross
        found_test.append(np.linalg.norm(test, axis=1))
    assert float(ours.moved) == pytest.approx(max(found), rel=1e-9)
    np.testing.assert_allclose(ours.moved_test, np.max(found_test, axis=0), rtol=1e-9)


def test_where_its_logarithm_is_0_the_second_term_is_needed(key):
    """The movement of the kernel at the test point alone is below the difference, and further at smaller angles."""
    read = prediction_coupling.PredictionPerturbationWithFloor()
    problem = read.population.sample(read.population.settings().resolve(None), key)
    assert all(bool(hypothesis.holds) for hypothesis in read.population.hypotheses(problem))
    moved = 2**0.5 * problem.moved_test / problem.smallest
    ratio = np.asarray(read.measure(problem, key) / moved)
    assert ratio[0] > 1
    assert (np.diff(np.log(ratio)) / np.diff(np.log(read.population.inverse_angles)) > 1).all()
    assert (read.measure(problem, key) <= 1.5e-4 * read.predict(problem)).all(), "with log² at least 1 it has room"
    corrected = coupling.PredictionPerturbation()
    for network in problem.networks:
        assert (corrected.measure(network, key) <= corrected.predict(network)).all()


@pytest.mark.parametrize("claim", [coupling.TrainingPerturbation(), coupling.PredictionPerturbation()])
def test_a_regression_is_posed_and_equal_or_zero_rows_are_named(key, claim):
    data = table(key)
    posed = claim.population.pose(data)
    first = getattr(posed, "start", posed)
    assert first.x.shape == (12, 5)
    assert first.y.shape == (12, 2)
    assert float(jnp.linalg.norm(first.x, axis=1).max()) <= 1 + 4 * EPS
    assert float(jnp.linalg.norm(first.y, axis=1).max()) <= 1 + 4 * EPS
    examine(claim, data, key)
    assert claim.population.pose("nothing") is None
    for rows, words in ((data.x.at[4].set(data.x[1]), "1 and 4"), (data.x.at[2].set(0.0), "rows 2")):
        broken = claim.population.pose(
            Regression(rows, data.y, data.x_test, data.y_test, data.kernel, data.ridge, data.noise)
        )
        assert not bool(claim.population.hypotheses(broken)[0].holds)
        assert words in claim.population.culprit(broken)
