"""Each false statement of the battery fails at its witness, by the factor found by hand; its true neighbour holds."""

import jax
import numpy as np
import pytest
from scipy.stats import binomtest

from lemmata.engine.catalogue import entries
from lemmata.engine.claims import AtLeast, check_writing, examine, verify
from tests.engine.refutations.battery import CASES, PAIRS, witness

IDS = [type(case.false).__name__ for case in CASES]
CERTAIN = [case for case in CASES if not case.false.relation.delta]
CHANCE = [case for case in CASES if case.false.relation.delta]
DRAWS = 8000
LEVEL = 1e-6


def _violations(claim, problem):
    """In how many of many measurements of one problem the claim is violated."""
    keys = jax.random.split(jax.random.key(1), DRAWS)
    measured = np.asarray(jax.lax.map(lambda key: claim.measure(problem, key), keys, batch_size=500))
    predicted = np.asarray(claim.predict(problem))
    below = isinstance(claim.relation, AtLeast)
    return int((measured < predicted if below else measured > predicted).reshape(DRAWS, -1).any(axis=1).sum())


def test_the_battery_is_large_and_its_names_are_its_own():
    claims = [claim for pair in PAIRS for claim in pair]
    names = [type(claim).__name__ for claim in claims]
    assert len(PAIRS) >= 30
    assert len(set(names)) == len(names)
    assert not set(names) & {name for entry in entries().values() if (name := entry.get("class"))}


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_claims_obey_the_grammar(case):
    for claim in (case.false, case.true):
        check_writing(claim)
        name = type(claim).__name__
        assert not claim.statement.startswith(f"{name}("), "a class without a docstring shows its signature"
        assert claim.source.text
    assert case.false.expected == "refuted"
    assert case.true.expected == "supported"
    assert case.false.relation == case.true.relation
    fields = {name for claim in (case.false, case.true) for name in getattr(claim.population, "free", ())}
    assert fields <= set(vars(witness(case.false)[1]))


@pytest.mark.parametrize("case", CERTAIN, ids=lambda case: type(case.false).__name__)
def test_the_false_one_fails_at_its_witness_by_the_factor_found_by_hand(case):
    _, problem = witness(case.false)
    found = examine(case.false, problem, jax.random.key(0))
    assert found.applies, found.culprit
    assert found.agrees is False
    factor = found.ratio if isinstance(case.false.relation, AtLeast) else 1 / found.ratio
    assert factor == pytest.approx(case.factor, rel=1e-4)
    assert factor - 1 == pytest.approx(case.factor - 1, rel=1e-2)


@pytest.mark.parametrize("case", CHANCE, ids=lambda case: type(case.false).__name__)
def test_the_false_one_fails_with_the_probability_found_by_hand(case):
    _, problem = witness(case.false)
    failures = _violations(case.false, problem)
    assert case.factor > case.false.relation.delta
    assert binomtest(failures, DRAWS, case.factor).pvalue > LEVEL
    assert binomtest(failures, DRAWS, case.false.relation.delta, "greater").pvalue < LEVEL


@pytest.mark.parametrize("case", CERTAIN, ids=lambda case: type(case.false).__name__)
def test_the_true_one_holds_there_or_excludes_it(case):
    found = examine(case.true, witness(case.false)[1], jax.random.key(0))
    assert found.agrees or found.applies is False


@pytest.mark.parametrize("case", CHANCE, ids=lambda case: type(case.false).__name__)
def test_the_true_one_is_not_violated_too_often_there(case):
    failures = _violations(case.true, witness(case.false)[1])
    assert binomtest(failures, DRAWS, case.true.relation.delta, "greater").pvalue > LEVEL


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_true_one_is_not_refuted_on_random_problems(case):
    verdict = verify(case.true, budget=64, corners=0, progress=False)  # the search goes to other settings
    assert verdict.status not in ("refuted", "failed"), verdict.reason
