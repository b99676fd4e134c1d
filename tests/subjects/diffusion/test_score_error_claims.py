"""Gaps, bounds and training beside a kernel, and early stopping, against naive routes."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from lemmata.engine.claims._relations import Sample
from lemmata.engine.problems.schedules import Schedule, loss_weight, score_from_denoiser
from lemmata.engine.problems.targets import Cube
from lemmata.errors import SettingError
from lemmata.networks import SoftmaxNetwork
from lemmata.subjects.diffusion._diffusion import training_set
from lemmata.subjects.diffusion._learned_scores import TrainedScores, flat, rows, sampled_learned, train_beside_kernel
from lemmata.subjects.diffusion.early_stopping import gap_along_flow
from lemmata.subjects.diffusion.score_error import LabelMismatch, ScoreError, approximation_bound, gaps, mismatch_bound


def test_rows_and_columns():
    table = jnp.arange(6.0).reshape(3, 2)
    assert flat(table).tolist() == [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
    assert (rows(flat(table), 2) == table).all()


@pytest.mark.parametrize(("law", "d"), [("cube", 2), ("mixture", 1), ("mixture", 8), ("sphere", 3)])
def test_gaps_of_a_trained_network(key, law, d):
    learned = jax.jit(lambda key: sampled_learned(key, 8, 32, 20.0, law, d))(key)
    score = jax.vmap(lambda t, x: learned.target.score(learned.schedule, t, x))(learned.times, learned.places)
    tweedie = jax.vmap(lambda t, x, f: score_from_denoiser(learned.schedule, t, x, f))
    assert np.allclose(tweedie(learned.times, learned.places, learned.f_truth), score, rtol=1e-6, atol=1e-6)
    path = [learned.f_network, learned.f_kernel, learned.f_pseudo, learned.f_member, learned.f_truth]
    for k, gap in enumerate(gaps(learned)):
        naive = np.mean([sum((a - b) ** 2) for a, b in zip(np.asarray(path[k]), np.asarray(path[k + 1]), strict=True)])
        assert float(gap) == pytest.approx(naive)
    assert float(jnp.linalg.norm(learned.inputs, axis=1).max()) == pytest.approx(1.0)


def test_training_beside_a_kernel(key):
    network = SoftmaxNetwork(width=16, outputs=1, sigma=0.5)
    params, _ = network.init(key, 2)
    x, y = jnp.asarray([[0.5, 0.1], [-0.2, 0.8], [0.3, 0.3]]), jnp.asarray([[1.0], [-1.0], [0.5]])
    matrix = network.tangent(params, x).reshape(3, 3)
    trained, gamma = train_beside_kernel(network, params, x, y, y, matrix, jnp.asarray(0.1), 3)
    loss = lambda weight: 0.5 * jnp.sum((network.predict({**params, "weight": weight}, x) - y) ** 2)
    weight, coefficients = params["weight"], np.zeros((3, 1))
    for _ in range(3):
        weight = weight - 0.1 / 16 * jax.grad(loss)(weight)
        coefficients = coefficients - 0.1 * (np.asarray(matrix) @ coefficients - np.asarray(y))
    assert np.allclose(trained["weight"], weight, atol=1e-12)
    assert np.allclose(gamma, coefficients, atol=1e-12)


def test_the_formulas_of_the_bound():
    # rho = e: A = sqrt(2) e^(-1) at d = 2.
    bound = approximation_bound(jnp.asarray(2 * math.e**2), 2)
    assert float(bound) == pytest.approx(math.sqrt(2) / math.e)
    ratio = float(bound) / 0.5
    first = 8 * ratio * math.log(math.e * 32**1.5 * ratio) ** 1.5 + 1 / 4
    expected = first**2 + (2 * ratio) ** 2 * (math.log(10) + math.log(math.log(16)))
    assert float(mismatch_bound(jnp.asarray(0.5), bound, 16, 2, 0.1)) == pytest.approx(expected)


def test_the_bound_is_undefined_for_large_balls_and_negative_for_small_ones():
    assert float(approximation_bound(jnp.asarray(1.0), 2)) < 0
    bound = approximation_bound(jnp.asarray(1e12), 2)
    assert math.isnan(float(mismatch_bound(jnp.asarray(1.0), bound, 16, 2, 0.1)))


def test_the_denoiser_and_its_score_have_the_weighted_loss_of_each_other():
    schedule, t, x = Schedule(1.0, 0.5), jnp.asarray(0.3), jnp.asarray([0.2, -0.4])
    one, two = jnp.asarray([0.1, 0.2]), jnp.asarray([-0.3, 0.5])
    gap = score_from_denoiser(schedule, t, x, one) - score_from_denoiser(schedule, t, x, two)
    assert float(loss_weight(schedule, t) * gap @ gap) == pytest.approx(float((one - two) @ (one - two)))


def test_training_sets(key):
    times, places, clean = training_set(key, Cube(3), Schedule(), 1000, horizon=2.0, first=0.5)
    assert times.shape == (1000,)
    assert places.shape == clean.shape == (1000, 3)
    assert 0.5 <= float(times.min()) <= float(times.max()) <= 2.0
    assert float(times.mean()) == pytest.approx(1.25, abs=0.05)


def test_the_bounds_do_not_apply_where_the_denoiser_is_not_lipschitz(key):
    claim = LabelMismatch()
    every = lambda problem: [*claim.population.hypotheses(problem), *claim.hypotheses(problem)]
    failing = lambda law: {h.name for h in every(sampled_learned(key, 16, 32, 20.0, law)) if not h.holds}
    assert failing("cube") == set()
    assert "F* is Lipschitz in x at all times" in failing("sphere")
    assert "labels lie in the unit ball" in failing("mixture")


def test_the_label_mismatch_is_that_of_the_regressions_themselves(key):
    learned = sampled_learned(key, 16, 32, 20.0)
    far = eqx.tree_at(lambda p: p.f_kernel, learned, 50 + learned.f_kernel)
    assert float(gaps(far)[1]) > 1000


@pytest.mark.parametrize("claim", [LabelMismatch(), ScoreError()])
def test_a_bound_that_says_something_is_noticed(key, claim):
    learned = sampled_learned(key, 16, 32, 20.0)
    assert claim.relation.compare(
        Sample(*(np.asarray([own]) for own in (claim.predict(learned), claim.measure(learned, key), 1.0)))
    )
    sure = eqx.tree_at(
        lambda p: p.values, learned, jnp.ones_like(learned.values)
    )  # a kernel as far from singular as any
    digits = float(claim.measure(sure, key))
    assert np.isfinite(digits)
    assert digits < float(claim.predict(sure))


def test_the_root_mean_squares_of_two_regressions_bound_their_difference(key):
    claim, learned = LabelMismatch(), sampled_learned(key, 16, 32, 20.0)
    assert float(gaps(learned)[1]) <= float(claim._known(learned))


@pytest.mark.parametrize(("name", "value"), [("width", 33), ("d", 4)])
def test_settings_that_no_network_or_sphere_has_are_refused(name, value):
    space = TrainedScores(law="sphere").settings()
    assert space.resolve({"width": 34, "d": 3})["width"] == 34
    with pytest.raises(SettingError):
        space.resolve({name: value})


def test_the_gap_along_the_flow(key):
    points = np.asarray(jax.random.normal(key, (7, 3)))
    kernel = np.exp(points @ points.T / 4)
    matrix, cross = kernel[:4, :4], kernel[4:, :4]
    labels, truth = points[:4, :2], points[4:, :2]
    found = gap_along_flow(matrix, cross, labels, truth, np.asarray([0.0, 0.7, 1e9]))
    assert found[0] == pytest.approx(np.mean(np.sum(truth**2, axis=1)))
    for value, filtered in ((found[1], np.eye(4) - expm(-0.7 * matrix)), (found[2], np.eye(4))):
        prediction = cross @ np.linalg.solve(matrix, filtered @ labels)
        assert value == pytest.approx(np.mean(np.sum((prediction - truth) ** 2, axis=1)), rel=1e-6)
