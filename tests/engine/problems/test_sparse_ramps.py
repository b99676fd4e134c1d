"""Examples of sparse sums of ramps: targets, the first examples, and the draws of coefficients and noise."""

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.engine.problems.sparse_ramps import SparseExamples, SparseTargets

SETTING = {"d": 3, "n": 5, "N": 400, "s": 2, "tau": 4.0, "sigma": 0.5}


def test_targets_are_the_features_times_the_coefficients_and_noise():
    problem = SparseExamples(
        jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), jnp.array([1.0, -1.0]), jnp.array([0.5, 0.25, 0.0]),
        jnp.asarray(0.1), 2,
    )  # fmt: skip
    assert problem.y.tolist() == [-0.5, -0.75, -1.0]
    first = problem.first(2)
    assert first.features.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert first.y.tolist() == [-0.5, -0.75]
    assert (first.reference.tolist(), float(first.sigma), first.size) == ([1.0, -1.0], float(problem.sigma), 2)


def test_the_first_coefficients_are_signs_and_the_others_zero(key):
    seen, sample = set(), jax.jit(lambda own: SparseTargets().sample(SETTING, own))
    problem = sample(key)
    for own in jax.random.split(key, 20):
        problem = sample(own)
        assert problem.features.shape == (400, 6)
        assert set(np.abs(problem.reference[:2]).tolist()) == {1.0}
        assert not np.asarray(problem.reference)[2:].any()
        seen.add(tuple(problem.reference[:2].tolist()))
        assert problem.size == 2
    assert len(seen) == 4
    assert float(problem.sigma) == 0.5
    assert abs(float(jnp.std(problem.noise)) / 0.5 - 1) < 5 / np.sqrt(800)
    assert bool(SparseTargets().hypotheses(problem)[0].holds)


def test_the_model_with_all_ramps_has_a_constant_too(key):
    setting = {**SETTING, "n": 2, "s": 2, "sigma": 0.0}
    problem = jax.jit(lambda own: SparseTargets().sample(setting, own))(key)
    assert problem.features.shape == (400, 3)
    np.testing.assert_allclose(problem.features[:, -1], np.ones(400))
    np.testing.assert_array_equal(problem.y, problem.features @ problem.reference)
    values = np.asarray(problem.features)
    assert values.min() >= 0
    assert values.max() <= 1


def test_settings_are_those_of_the_population():
    space = SparseTargets(d=4, n=6, N=32, s=3, tau=1.0, sigma=0.25).settings()
    assert space.default == {"d": 4, "n": 6, "N": 32, "s": 3, "tau": 1.0, "sigma": 0.25}
    (holds,) = space.rules.values()
    assert [holds({"s": s, "n": 2}) for s in (1, 2, 3)] == [True, True, False]
