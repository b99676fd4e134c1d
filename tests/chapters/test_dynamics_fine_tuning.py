"""Few-shot tasks, and what the claims about fine-tuning measure on one of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.chapters.dynamics import fine_tuning
from lemmata.claims._relations import Sample
from lemmata.problems._few_shot_tasks import UNRELATED, UNTIL, FewShotTasks, UnsolvedTasks, loss_before, pre_trained
from lemmata.problems._gradient_rows import TunedNetworks


def test_a_relative_change_of_the_kernel_halves_with_the_derivative():
    claim, population = fine_tuning.KernelMovesWithTheLoss(), TunedNetworks()
    own = population.sample(population.settings().default, jax.random.key(0))
    one, other = (float(claim.measure_at(own, jax.random.key(0), size)) for size in (1e-4, 5e-5))
    assert one / other == pytest.approx(2.0, rel=1e-2)


@pytest.mark.exhaustive
def test_a_task_is_fine_tuned_to_its_loss_in_every_way():
    population = FewShotTasks()
    task = population.sample(population.settings().default, jax.random.key(1))
    assert jnp.sum(task.y) == 0
    assert pre_trained(0) is pre_trained(0)
    assert sum(leaf.size for leaf in jax.tree.leaves(task.params)) > 6000
    for way in (task.prompt(), task.prompt(UNRELATED), task.fresh_head()):
        loss = lambda params, way=way: jnp.mean(jnp.log1p(jnp.exp(-way.y * way.outputs(params, way.texts))))
        before, after = loss(way.path[0]), loss(way.path[1])
        assert after <= max(UNTIL, before) + 1e-9
        np.testing.assert_allclose(way.kernels.sgd, way.kernels.sgd.T, rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def films():
    population = UnsolvedTasks("film")
    setting = population.settings().default
    return [population.sample(setting, jax.random.fold_in(jax.random.key(31), number)) for number in range(48)]


def judged(claim, predicted, measured):
    return claim.relation.judge(Sample(np.asarray(predicted), np.asarray(measured), np.ones(len(measured))), 0.01).holds


@pytest.mark.exhaustive
def test_unsolved_tasks_leave_something_to_do(films):
    assert all(loss_before(task) > UNTIL for task in films)
    assert all(hypothesis.holds for hypothesis in UnsolvedTasks().hypotheses(films[0]))
    assert UnsolvedTasks().settings().default["topic"] == "dish"


@pytest.mark.exhaustive
def test_the_kernel_foretells_accuracy_and_the_model_before_training_does_not(films):
    claim, key = fine_tuning.KernelPredictsAccuracy(), jax.random.key(0)
    tuned = [claim.measure(task, key) for task in films]
    ways = [task.prompt() for task in films]
    before = [task.accuracy(way.outputs(way.params, way.unseen)) for task, way in zip(films, ways, strict=True)]
    assert judged(claim, [claim.predict(task) for task in films], tuned) is True
    assert judged(claim, before, tuned) is False


@pytest.mark.exhaustive
def test_the_kernel_foretells_outputs_and_nulls_do_not(films):
    claim = fine_tuning.KernelPredictsOutputs()
    found = np.stack([claim.measure(task, jax.random.key(0)) for task in films])
    signs = np.full(len(films), float(claim.predict(films[0])))
    assert (found[:, 0] <= 1 + 1e-9).all()  # a f + b with a = 1 and b = 0 leaves all of the way
    assert judged(claim, signs, found) is True
    assert judged(claim, signs, np.stack([found[:, 0], np.ones(len(films))], axis=1)) is False


@pytest.mark.exhaustive
def test_descent_with_word_counts_ends_at_the_same_loss(films):
    way = films[0].prompt()
    kernel, cross = fine_tuning._word_counts(way)
    texts = np.asarray(way.texts)
    counts = np.stack([np.bincount(text, minlength=kernel.shape[0] + 64) for text in texts])
    np.testing.assert_array_equal(kernel, counts @ counts.T)
    assert cross.shape == (len(way.unseen), len(texts))
    on_training = fine_tuning._by_descent(eqx.tree_at(lambda own: own.unseen, way, way.texts), kernel, kernel)
    assert np.mean(np.log1p(np.exp(-np.asarray(way.y) * np.asarray(on_training)))) <= UNTIL
