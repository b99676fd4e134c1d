"""Claimed privacy of one model: what an attack on it may refute, and what it must not."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

from lemmata.errors import LemmataError
from lemmata.subjects.privacy import gaussian_eps, privacy_spent
from lemmata.subjects.trained_models import held_outputs, read_trained, training_outputs
from lemmata.subjects.trained_models.claimed_privacy import (
    ALPHA,
    ClaimCoversItsSteps,
    ClaimedPrivacyBoundsTheAttack,
    NoisedTrainings,
    ReleasedMemberships,
    loss_attack,
    margins,
)  # fmt: skip
from lemmata.subjects.trained_models.membership import allowed, found_members
from lemmata.workflows.examinations._findings import findings
from lemmata.workflows.examinations._gauges import gauge

ATTACK, STEPS = ClaimedPrivacyBoundsTheAttack(), ClaimCoversItsSteps()
HALVES = {"n": 200, "eps": 2.0}


def released(seed=0, **setting):
    return ReleasedMemberships().sample(HALVES | setting, jax.random.key(seed))


def status(trained, claim=ATTACK):
    """What the gauge says, and the findings that follow."""
    own = gauge(claim, trained, 0)
    return own, findings(trained, [own], None)


def noisy_descent(seed, n, noise, steps, delta=1e-5):
    """Descent on all rows with clipped gradients of the margin and normal noise; its exact eps."""
    rng = np.random.default_rng(seed)
    x, y = np.eye(2 * n), rng.permutation(np.arange(2 * n) % 2)
    w = np.zeros(2 * n)
    for _ in range(steps):
        slope = x[:n] * (1 / (1 + np.exp(-x[:n] @ w)) - y[:n])[:, None]
        slope /= np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1.0)
        w = w - (slope.sum(0) + noise * rng.normal(size=len(w)))
    eps = float(gaussian_eps(delta, steps**0.5, noise))
    return read_trained((margins, {"w": w}), x[:n], y[:n], held=(x[n:], y[n:]), claimed=(eps, delta))


@pytest.mark.parametrize("eps", [1.0, 2.0])
def test_a_true_claim_is_refuted_no_more_often_than_stated(eps):
    shown = np.array([loss_attack(released(seed, eps=eps)).eps for seed in range(50)])
    assert stats.binomtest(int((shown > eps).sum()), 50, ALPHA, alternative="greater").pvalue > 0.01
    assert np.median(shown) > 0.2 * eps, "else it could refute nothing"


def test_noisy_descent_is_not_refuted_at_its_own_eps():
    """Two steps of normal noise 0.5: the exact eps at 1e-5 is 15.5, of which one threshold sees a small part."""
    trainings = [noisy_descent(seed, 150, 0.5, 2) for seed in range(12)]
    shown = [loss_attack(trained).eps for trained in trainings]
    assert max(shown) < trainings[0].claimed[0]
    assert np.median(shown) > 0.3


def test_noise_that_was_left_out_is_seen():
    trained = dataclasses.replace(noisy_descent(0, 300, 0.05, 2), claimed=(1.0, 1e-5))
    own, found = status(trained)
    assert own.status == "disagrees"
    assert own.measured.value > 3
    (told,) = [finding for finding in found if own.name in finding.rests_on]
    assert told.text.startswith("The claimed privacy is refuted. The claim is epsilon 1 at delta 1e-05")


def test_rows_in_the_order_of_their_losses_are_mixed():
    """A threshold from half of the rows says nothing of the other half where files are sorted."""
    trained = dataclasses.replace(released(), claimed=(4.0, 1e-6))
    by_loss = lambda f, y: np.argsort(trained.task.losses(f, y))
    own, new = by_loss(training_outputs(trained), trained.y), by_loss(held_outputs(trained), trained.held[1])
    held = tuple(part[new] for part in trained.held)
    there = dataclasses.replace(trained, x=trained.x[own], y=trained.y[own], held=held)
    assert abs(loss_attack(there).eps - loss_attack(trained).eps) < 0.8
    assert loss_attack(there).eps > 0.4


def test_rows_that_are_there_twice_are_left_out():
    trained = released()
    twice = dataclasses.replace(trained, x=np.concatenate([trained.x, trained.x[:50]]),
                                y=np.concatenate([trained.y, trained.y[:50]]))  # fmt: skip
    found = loss_attack(twice)
    assert (found.trials, found.false_trials) in {(75, 100), (100, 75)}
    seen = dataclasses.replace(trained, held=tuple(np.concatenate([a, b[:60]]) for a, b in zip(
        trained.held, (trained.x, trained.y), strict=True)))  # fmt: skip
    assert loss_attack(seen).eps == loss_attack(trained).eps


def test_what_the_page_says_where_something_is_missing():
    trained = released()
    for change, said in (
        ({"claimed": None}, "not true here: a differential privacy of the training is claimed"),
        ({"claimed": (50.0, 1e-6)}, "claimed eps, relative to the largest"),
        ({"claimed": (1.0, 0.9)}, "claimed eps, relative to the largest"),
    ):
        own, _ = status(dataclasses.replace(trained, **change))
        assert own.status == "inapplicable", change
        assert own.reason.startswith(said), own.reason
    own, _ = status(dataclasses.replace(trained, held=None))
    assert (own.status, own.reason) == ("unscored", "nothing was measured, because there are no held-out rows")
    assert own.predicted.value == 2.0
    own, found = status(dataclasses.replace(trained, claimed=(2.0, 0.0)))
    assert own.status == "agrees"
    unchecked = [one for one in own.hypotheses if one.holds is None]
    assert [one.name for one in unchecked] == ["training rows and held-out rows were separated by chance alone"]
    assert not any("privacy" in finding.text for finding in found)


def test_the_steps_are_counted_by_an_accountant():
    setting = {"noise": 4.0, "steps": 20, "delta": 1e-5}
    trained = NoisedTrainings().sample(setting, jax.random.key(0))
    _, noise, steps = trained.noised
    own, _ = status(trained, STEPS)
    assert own.status == "agrees"
    assert own.measured.value == pytest.approx(float(gaussian_eps(1e-5, steps**0.5, noise)), rel=1e-6)
    assert own.predicted.value / own.measured.value < 1.6
    less = dataclasses.replace(trained, claimed=(own.measured.value / 2, 1e-5))
    own, found = status(less, STEPS)
    assert own.status == "disagrees"
    assert "do not give the claimed privacy" in " ".join(finding.text for finding in found)
    for change, said in (({"noised": None}, "not true here: the program states its noisy steps"),
                         ({"claimed": (1.0, 0.0)}, "claimed delta = 0, required > 0")):  # fmt: skip
        own, _ = status(dataclasses.replace(trained, **change), STEPS)
        assert (own.status, own.reason) == ("inapplicable", said)


def test_sampled_rows_ask_for_the_accountants_package(monkeypatch):
    trained = NoisedTrainings().sample({"noise": 4.0, "steps": 20, "delta": 1e-5}, jax.random.key(0))
    sampled = dataclasses.replace(trained, noised=(0.1, 1.0, 50))
    monkeypatch.setattr("lemmata.subjects.trained_models.claimed_privacy.importlib.util.find_spec", lambda name: None)
    own, _ = status(sampled, STEPS)
    assert own.status == "inapplicable"
    assert own.reason == "not true here: dp-accounting is installed (pip install 'lemmata[privacy]')"
    monkeypatch.undo()
    pytest.importorskip("dp_accounting")
    own, _ = status(sampled, STEPS)
    assert own.measured.value == pytest.approx(privacy_spent(1.0, 0.1, 50, 1e-5).eps)


@pytest.mark.parametrize(("rest", "said"), [
    ({"claimed": (0.0, 1e-5)}, "epsilon; found 0; rule: a finite number above 0"),
    ({"claimed": (1.0, 1.0)}, "delta; found 1; rule"),
    ({"noised": {"sampling": 0.1, "noise": 1.0}}, "found ['noise', 'sampling']; rule: a mapping with the keys"),
    ({"noised": 3}, "found int; rule: a mapping"),
    ({"noised": {"sampling": 1.5, "noise": 1.0, "steps": 3}}, "found 1.5; rule: a probability in (0, 1]"),
    ({"noised": {"sampling": 0.5, "noise": -1.0, "steps": 3}}, "noise of a private training; found -1"),
    ({"noised": {"sampling": 0.5, "noise": 1.0, "steps": 2.5}}, "found 2.5; rule: a whole number of at least 1"),
    ({"noised": {"sampling": "q", "noise": 1.0, "steps": 2}}, "found 'q'; rule: a number"),
    ({"corrected": np.zeros(3)}, "corrected targets; found shape (3,); rule: one entry for each of 4 rows"),
    ({"corrected": np.array([0, 1, 2, 7])}, "corrected row 2"),
])  # fmt: skip
def test_bad_input_is_refused_in_a_line(rest, said):
    x, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(LemmataError) as error:
        read_trained((margins, {"w": np.ones(4)}), x, y, **rest)
    assert said in str(error.value).replace("\n", " "), str(error.value)
    assert "\n" not in str(error.value)


def test_members_found_beside_a_simulation_of_exchangeable_losses():
    """The interval holds the share in at least as many draws as stated where both kinds of loss have one law."""
    rng, hit = np.random.default_rng(0), 0
    for _ in range(400):
        left_out, new, seen = rng.gamma(0.5, size=150), rng.gamma(0.5, size=500), 0.5 * rng.gamma(0.5, size=150)
        low, value, high = found_members(seen, left_out, 500)
        share = np.mean(seen <= np.sort(new)[allowed(500) - 1])
        hit += low <= share <= high
        assert low <= value <= high
    assert hit / 400 > 0.955
    assert [allowed(m) for m in (100, 199, 200, 1000)] == [1, 1, 2, 10]
    low, _, high = found_members(seen, left_out, 500)
    assert high < 0.15, "an interval that says something"
