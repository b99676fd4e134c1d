"""Mixed kernels of the chapter: interpolants, the order of scores, attacks that stay fixed, depth, by other routes."""

import jax.numpy as jnp
import numpy as np

from lemmata.subjects.adversaries import mixtures_of_kernels as chapter
from lemmata.subjects.adversaries.mixtures_of_kernels import LabelledSpheres, MixedRowsOfTwoClasses

SETTING = {"n": 6, "d": 3, "width": 24, "beta": 0.5, "shift": 0.3}


def test_the_interpolant_gives_labels_to_the_mixture_and_has_the_norm_of_the_energy(key):
    problem = MixedRowsOfTwoClasses(n=6).sample(SETTING, key)
    weights = chapter._interpolant(problem)
    x, attacked, _ = chapter.rows_of(problem)
    mixed = 0.5 * problem.features(x) + 0.5 * problem.features(attacked)
    assert np.allclose(mixed @ weights, problem.y, atol=1e-9)
    K = chapter.MixedKernel().predict(problem)[0]
    assert np.allclose(weights @ weights, problem.y @ jnp.linalg.solve(K, problem.y), rtol=1e-8)
    assert np.linalg.eigvalsh(np.asarray(chapter.MixedKernel().predict(problem)))[:, 0].min() > 0


def test_an_attack_moves_every_input_by_the_same_and_lowers_margins(key):
    problem = MixedRowsOfTwoClasses(n=6).sample(SETTING | {"shift": 1e-3}, key)
    attacked = problem.attacked(problem.x, problem.y)
    assert np.allclose(jnp.abs(attacked - problem.x), 1e-3)
    zero = lambda z: problem.mixture(problem.params, (z, z)) * problem.y
    assert np.all(np.asarray(zero(attacked)) < np.asarray(zero(problem.x)))


def test_without_attack_both_scores_are_one(key):
    problem = MixedRowsOfTwoClasses(n=6).sample(SETTING | {"shift": 0.0}, key)
    claim = chapter.MixingCosts()
    assert np.allclose(claim.predict(problem), claim.measure(problem, key), rtol=1e-7)


def test_attacks_on_spheres_stay_there_and_do_not_cross(key):
    problem = LabelledSpheres().sample({"n": 40, "d": 5, "shift": 0.2}, key)
    twice = problem.attacked(40, 2)
    assert np.allclose(jnp.linalg.norm(twice, axis=1), 5**0.5)
    assert np.all(np.asarray(problem.y * (twice @ problem.direction)) > 0)
