"""Few-shot tasks, and what the claims about fine-tuning measure on one of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims._relations import Sample
from lemmata.subjects.dynamics import fine_tuning
from lemmata.subjects.dynamics._few_shot_tasks import (
    UNRELATED,
    UNTIL,
    FewShotTask,
    FewShotTasks,
    UnsolvedTasks,
    Way,
    loss_before,
    pre_trained,
)
from lemmata.subjects.dynamics._gradient_rows import TunedNetworks


def test_a_relative_change_of_the_kernel_halves_with_the_derivative():
    claim, population = fine_tuning.KernelMovesWithTheLoss(), TunedNetworks()
    own = population.sample(population.settings().default, jax.random.key(0))
    one, other = (float(claim.measure_at(own, jax.random.key(0), size)) for size in (1e-4, 5e-5))
    assert one / other == pytest.approx(2.0, rel=1e-2)


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
    """Unsolved tasks, each of which is fine-tuned with its prompt, and has its kernels, once for all tests."""
    population = UnsolvedTasks("film")
    setting = population.settings().default
    tasks = [population.sample(setting, jax.random.fold_in(jax.random.key(31), number)) for number in range(48)]
    plain, ways = FewShotTask.prompt, {id(task): task.prompt() for task in tasks}
    of_way, kernels = fine_tuning._kernels, {}

    def prompt(task, *words):
        return plain(task, *words) if words else ways.get(id(task)) or plain(task)

    def kernels_once(way):
        if id(way) not in kernels:
            kernels[id(way)] = of_way(way)
        return kernels[id(way)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FewShotTask, "prompt", prompt)
        patch.setattr(fine_tuning, "_kernels", kernels_once)
        yield tasks


def judged(claim, predicted, measured):
    return claim.relation.judge(Sample(np.asarray(predicted), np.asarray(measured), np.ones(len(measured))), 0.01).holds


def test_unsolved_tasks_leave_something_to_do(films):
    assert all(loss_before(task) > UNTIL for task in films)
    assert all(hypothesis.holds for hypothesis in UnsolvedTasks().hypotheses(films[0]))
    assert UnsolvedTasks().settings().default["topic"] == "dish"


def test_the_kernel_foretells_accuracy_and_the_model_before_training_does_not(films):
    claim, key = fine_tuning.KernelPredictsAccuracy(), jax.random.key(0)
    tuned = [claim.measure(task, key) for task in films]
    ways = [task.prompt() for task in films]
    before = [task.accuracy(way.outputs(way.params, way.unseen)) for task, way in zip(films, ways, strict=True)]
    assert judged(claim, [claim.predict(task) for task in films], tuned) is True
    assert judged(claim, before, tuned) is False


def test_the_kernel_foretells_outputs_and_nulls_do_not(films):
    claim = fine_tuning.KernelPredictsOutputs()
    found = np.stack([claim.measure(task, jax.random.key(0)) for task in films])
    signs = np.full(len(films), float(claim.predict(films[0])))
    assert (found[:, 0] <= 1 + 1e-9).all()  # a f + b with a = 1 and b = 0 leaves all of the way
    assert judged(claim, signs, found) is True
    assert judged(claim, signs, np.stack([found[:, 0], np.ones(len(films))], axis=1)) is False
    by_words = np.array([left_by_word_counts(task) for task in films])
    assert judged(claim, signs, np.stack([found[:, 0], by_words], axis=1)) is not True


def test_a_kernel_of_word_counts_is_no_more_accurate_than_itself(films, monkeypatch):
    claim, key = fine_tuning.FewRowsDoNotOverfit(), jax.random.key(0)
    signs = np.full(8, claim.predict(films[0]))
    assert any(np.diff(claim.measure(task, key))[1] != 0 for task in films[:8])
    monkeypatch.setattr(fine_tuning, "_kernels", fine_tuning._word_counts)
    assert judged(claim, signs, np.stack([claim.measure(task, key) for task in films[:8]])) is not True


@pytest.mark.parametrize("step", [0.01, 0.02])
def test_errors_of_linearisation_are_compared_at_equal_movement(step):
    square = lambda params, text: params["w"] ** 2 * text[0]
    start, end = ({"w": jnp.asarray(own)} for own in (1.0, 1.0 + step))
    texts = jnp.array([[1], [-1]])
    way = Way(square, start, texts, texts, jnp.ones(2))
    vars(way)["path"] = [start, end]
    moved = 2 * step + step**2
    assert fine_tuning._moved(way)[0] == pytest.approx(step**2 / moved)
    error = float(jnp.exp(fine_tuning._curved(way)[0]))
    assert error == pytest.approx(step**2 / moved**2)
    assert error == pytest.approx(0.25, rel=0.03)  # however far outputs moved


def left_by_word_counts(task):
    """Which part of the way to the fine-tuned outputs descent with that kernel leaves."""
    way = task.prompt()
    start, tuned = (way.outputs(params, way.unseen) for params in (way.path[0], way.path[-1]))
    found = fine_tuning._by_descent(way, *fine_tuning._word_counts(way))
    return float(jnp.linalg.norm(found - tuned) / jnp.linalg.norm(start - tuned))


def test_descent_with_another_kernel_ends_at_the_same_loss(films):
    way = films[0].prompt()
    kernel, _ = fine_tuning._word_counts(way)
    on_training = fine_tuning._by_descent(eqx.tree_at(lambda own: own.unseen, way, way.texts), kernel, kernel)
    assert np.mean(np.log1p(np.exp(-np.asarray(way.y) * np.asarray(on_training)))) <= UNTIL
