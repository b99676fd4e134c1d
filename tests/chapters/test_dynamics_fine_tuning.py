"""Few-shot tasks, and what the claims about fine-tuning measure on one of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.chapters.dynamics import fine_tuning
from lemmata.problems._few_shot_tasks import UNRELATED, UNTIL, FewShotTasks, pre_trained
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
