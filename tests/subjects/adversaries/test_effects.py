"""Claims about attacks, triggers and distilling are not supported where these do nothing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.adversaries import (
    _attacked_networks,
    _backdoor_bound,
    _mixed_kernels,
    _poisoned_digits,
    adversarial_flow,
    conflict_loss,
    mixtures_of_kernels,
    projection_loss,
    robust_overfitting,
    triggers,
)
from lemmata.subjects.adversaries._attacked_networks import AttackedNetwork
from lemmata.subjects.adversaries._poisoned_digits import KERNEL, DigitsToPoison
from lemmata.subjects.adversaries._row_times import RowTimes
from tests.subjects.effects import supported


@pytest.mark.seconds(30)
def test_without_attack_wide_training_says_nothing(monkeypatch):
    claim, trained = adversarial_flow.WideAdversarialTraining(), AttackedNetwork.trained
    assert supported(claim, 32)

    def plain(self, params, linear):
        return trained(eqx.tree_at(lambda own: own.strength, self, jnp.zeros(())), params, linear)

    monkeypatch.setattr(_attacked_networks.AttackedNetwork, "trained", plain)
    assert not supported(claim, 32)


def test_kernels_that_are_not_mixed_cost_nothing(monkeypatch):
    claim, mixed = mixtures_of_kernels.EnergyFallsWithRows(), mixtures_of_kernels.mixed_kernels
    assert supported(claim, 24)

    def plain(*arguments):
        found = mixed(*arguments)
        return _mixed_kernels.MixedKernels(found.clean, found.robust, found.clean, found.robust)

    monkeypatch.setattr(mixtures_of_kernels, "mixed_kernels", plain)
    assert not supported(claim, 24)


@pytest.mark.parametrize("claim", [triggers.DistillingWeakensTriggers(), triggers.CleanAccuracyKept()])
@pytest.mark.seconds(50)
def test_distilling_that_moves_nothing_supports_nothing(monkeypatch, claim):
    """Support points stay where they are."""
    assert supported(claim, claim.trials)
    distil = _poisoned_digits.distil
    monkeypatch.setattr(_poisoned_digits, "distil", lambda *own, **options: distil(*own, **options | {"rate": 0.0}))
    assert not supported(claim, claim.trials)


@pytest.mark.seconds(50)
def test_an_invisible_trigger_keeps_no_accuracy(monkeypatch):
    claim = triggers.CleanAccuracyKept()
    assert supported(claim, claim.trials)
    monkeypatch.setattr(triggers, "_OPACITY", 1e-6)
    assert not supported(claim, claim.trials)


def test_conflict_and_projection_are_those_of_the_library(key):
    problem = DigitsToPoison().sample({"n": 60, "poisoned": 10}, key)
    trigger, points = triggers.random_pattern(problem), problem.x[problem.start]
    found = problem.poisoned(trigger)
    gram, cross, own = (KERNEL.cross(*pair) for pair in ((found.x, found.x), (found.x, points), (points, points)))
    level = 1e-3 * jnp.trace(gram) / len(gram)
    parts = [conflict_loss(gram, found.y, level), projection_loss(gram, cross, own, found.y, level)]
    assert np.allclose(triggers.by_definition(found.x, found.y, points), parts, rtol=1e-6)


def parts_in_order(key):
    """Whether a small split has the parts that an optimised trigger leaves in the order of the claim, well apart."""
    problem = DigitsToPoison().sample({"n": 60, "poisoned": 10}, key)
    jax.clear_caches()
    return bool((np.diff(triggers.OptimisedTriggerLowersLoss().measure(problem, key)) > 1e-9).all())


@pytest.mark.parametrize("part", ["conflict", "projection"])
@pytest.mark.seconds(30)
def test_both_parts_of_what_a_trigger_is_optimised_on_are_heard(monkeypatch, key, part):
    assert parts_in_order(key)
    if part == "conflict":
        monkeypatch.setattr(_backdoor_bound, "conflict_loss", lambda gram, y, ridge: 0.0 * ridge)
    else:
        monkeypatch.setattr(_backdoor_bound, "projection_loss", lambda gram, *others: jnp.trace(gram))
    assert not parts_in_order(key)


@pytest.mark.seconds(40)
def test_early_stopping_is_not_as_robust_as_times_of_rows(monkeypatch):
    claim, search = robust_overfitting.LearnedTimesAreRobust(), robust_overfitting.learn_row_times
    assert supported(claim, 48)

    def early(*own, **options) -> RowTimes:
        return search(*own, **options | {"steps": 0})

    monkeypatch.setattr(robust_overfitting, "learn_row_times", early)
    assert not supported(claim, 48)
