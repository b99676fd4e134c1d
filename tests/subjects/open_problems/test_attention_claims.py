import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.open_problems._attention_teachers import PromptLaw, RankOneTeachers
from lemmata.subjects.open_problems.descent_in_context import trained_layer
from lemmata.subjects.open_problems.low_rank_attention import SmallFactorsFindLowerRank

KEY = jax.random.key(0)


def test_a_taught_head_answers_by_softmax_and_its_teacher_has_no_loss():
    population = RankOneTeachers()
    problem = population.sample(population.settings().resolve(None), KEY)
    form = jax.random.normal(KEY, (8, 8))
    for features, values, found in zip(problem.features, problem.values, problem.outputs(form), strict=True):
        mass = np.exp([np.sum(np.asarray(pair.reshape(8, 8)) * np.asarray(form)) for pair in features])
        assert float(found) == pytest.approx(float(mass @ values / mass.sum()), rel=1e-10)
    assert float(problem.loss(problem.teacher)) == 0
    assert np.linalg.matrix_rank(problem.teacher) == 1


def test_descent_on_small_factors_of_one_problem_finds_a_lower_rank():
    population = RankOneTeachers()
    problem = population.sample(population.settings().resolve(None), KEY)
    whole, factored = SmallFactorsFindLowerRank().measure(problem, KEY)
    assert 1 <= float(factored) < float(whole) <= 8**0.5


def test_moments_of_a_prompt_are_those_of_its_law():
    law = PromptLaw(jnp.asarray(0.5), 3, 6)
    moments, query, answers = law.draw(KEY, 40_000)
    second = np.asarray(jnp.einsum("bi,bj->ij", moments, moments)) / 40_000
    np.testing.assert_allclose(second, (1 + (3 + 1 + 0.5) / 6) * np.eye(3), atol=0.06)
    cross = np.asarray(jnp.einsum("bi,bj,b->ij", query, moments, answers)) / 40_000
    np.testing.assert_allclose(cross, np.eye(3), atol=0.06)


def test_the_trained_layer_is_near_a_multiple_of_the_identity():
    law = PromptLaw(jnp.asarray(0.25), 3, 30)
    found = jax.vmap(lambda key: trained_layer(law, key))(jax.random.split(KEY, 16)).mean(axis=0)
    np.testing.assert_allclose(found, np.eye(3) / (1 + 4.25 / 30), atol=0.05)
