"""Classes by chance: limits by hand, why errors of two rows are not independent, and when nothing is said."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

from lemmata.subjects.trained_models import by_chance, polished_copy, rows_left_out
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks
from lemmata.subjects.trained_models.chance import ClassesByChanceAreGuessed, MembershipOfClassesByChance
from lemmata.workflows.examinations._gauges import gauge, price

CLAIMS = (ClassesByChanceAreGuessed(), MembershipOfClassesByChance())


@pytest.fixture(scope="module")
def problem():
    population = TrainedNetworks(decay=0.05)
    return population.sample(population.settings().resolve(None), jax.random.key(1))


def test_the_limits_by_hand(problem):
    y = np.eye(3)[np.repeat([0, 1, 2], [30, 20, 10])]
    found = np.asarray(ClassesByChanceAreGuessed().predict(dataclasses.replace(problem, y=y)))
    assert found[1] == pytest.approx(1 - (9 + 4 + 1) / 36)
    low, high = round(30 * found[0]), round(30 * found[2])
    law = lambda p: np.cumsum([stats.binom.pmf(k, 30, p) for k in range(31)])
    assert law(1 / 2)[low - 1] < 0.025 <= law(1 / 2)[low]
    assert law(5 / 6)[high - 1] < 0.975 <= law(5 / 6)[high]


def test_a_sum_over_ordered_pairs_has_twice_the_variance_of_independent_rows():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(20, 30))
    kernel = a @ a.T / 30
    np.fill_diagonal(kernel, 0)
    signs = rng.choice([-1.0, 1.0], size=(40_000, 20))
    rows = signs * (signs @ kernel)
    assert rows.sum(1).var() == pytest.approx(2 * rows.var(0).sum(), rel=0.05)


def test_it_measures_a_model_that_was_trained_on_classes_by_chance(problem):
    seen = []

    def noted(x, y, seed):
        seen.append(y)
        return problem.fit(x, y, seed)

    other = dataclasses.replace(problem, fit=noted)
    found = [gauge(claim, other, 0) for claim in CLAIMS]
    assert [own.status for own in found] == ["agrees", "agrees"]
    assert len(seen) == 1  # both gauges and both measurements share it
    assert np.mean(seen[0] == problem.targets) < 0.6
    left = rows_left_out(by_chance(other)).outputs.argmax(1)
    assert found[0].measured.value == pytest.approx(np.mean(left != seen[0]))
    own = problem.task.errors(rows_left_out(problem).outputs, problem.y).mean()
    assert own < found[0].predicted.lower  # the model itself beats its null


def test_the_attack_on_classes_by_chance_counts_pairs_of_rows(problem, key):
    other = by_chance(problem)
    area, x = float(CLAIMS[1].predict(problem)[1]), other.held[0]
    losses = lambda rows, y: other.task.losses(polished_copy(other).model.outputs(rows), y)
    seen, left, new = (
        losses(other.x, other.y),
        other.task.losses(rows_left_out(other).outputs, other.y),
        losses(x, other.held[1]),
    )
    beats = lambda ours, theirs: np.mean(ours[:, None] < theirs) + np.mean(ours[:, None] == theirs) / 2
    assert area == pytest.approx(beats(seen, left))
    assert float(CLAIMS[1].measure(problem, key)[1]) == pytest.approx(beats(seen, new))
    place = lambda ours, theirs: np.mean(ours[:, None] < theirs, axis=0)
    ours, theirs = 1 - place(left, seen), place(seen, left)
    variance = 2 * ours.var(ddof=1) / 60 + theirs.var(ddof=1) * (2 / 60 + 1 / 200)
    low, _, high = np.asarray(CLAIMS[1].predict(problem))
    assert high - area == pytest.approx(1.96 * np.sqrt(variance), rel=1e-3)
    assert area - low == pytest.approx(high - area)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_when_nothing_is_said(claim, problem):
    missing = gauge(claim, dataclasses.replace(problem, fit=None), 0)
    assert missing.status == "inapplicable"
    assert "a function that trains the model again" in missing.reason
    assert gauge(claim, dataclasses.replace(problem, held=None), 0).status == "unscored"
    broken = gauge(claim, dataclasses.replace(problem, fit=lambda x, y, seed: None), 0)
    assert broken.status == "failed"
    assert "fit(x, y, seed)" in broken.reason
    free = gauge(claim, dataclasses.replace(problem, decay=0.0), 0)
    assert free.status == "inapplicable"
    assert "decay" in free.reason
    assert price(claim, dataclasses.replace(problem), 1e-3) == pytest.approx(0.7)
