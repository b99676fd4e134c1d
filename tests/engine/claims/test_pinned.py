"""Verdicts on claims of known truth, their wrong neighbours and their words, as they were, down to the figures."""

import dataclasses
import json

import numpy as np
import pytest

from lemmata.engine.claims import Sample, advice_on, mutate, mutation_record, plain_json, verify, words_of
from lemmata.engine.claims._judge import p_value
from lemmata.engine.claims._verdict import Verdict
from tests import pinned
from tests.engine.claims import synthetic
from tests.workflows.studies.test_pinned import plain

NEAR = 1e-3
CLASSES = [synthetic.TightBound, synthetic.SureBound, synthetic.SureFloor, synthetic.SkewedMean, synthetic.Identity,
           synthetic.PowerLaw, synthetic.UpperPowerLaw, synthetic.Convergent, synthetic.Falling, synthetic.Existence,
           synthetic.Plain]  # fmt: skip
CLAIMS = {cls.__name__: cls for cls in CLASSES}


def text(value):
    return json.dumps(plain(plain_json(value)), indent=1, sort_keys=True)


@pytest.mark.parametrize("name", CLAIMS)
def test_verdicts_are_as_they_were(name, monkeypatch):
    """Of the statement, of a false one, of one with too few trials, and of one without a single problem."""
    cls, found = CLAIMS[name], []
    asked = ((cls(), {}), (cls(shift=0.5), {"seed": 3}), (cls(), {"budget": 12, "corners": 2}), (cls(), {}))
    for place, (claim, options) in enumerate(asked):
        if place == 3:
            monkeypatch.setattr(cls, "population", synthetic.Numbers(least=9.0))
        verdict = verify(claim, progress=False, **{"budget": 60, "corners": 0, **options})
        assert isinstance(verdict, Verdict)
        found += [text(dataclasses.asdict(verdict)), advice_on(verdict)]
    pinned.check(__file__, f"verdict-{name}", "\n".join(found), NEAR)


@pytest.mark.parametrize("name", CLAIMS)
def test_wrong_neighbours_are_judged_as_they_were(name):
    claim = CLAIMS[name]()
    found = mutate(claim, budget=60)
    record = mutation_record(claim, found)
    record.pop("fingerprint", None)
    outcomes = [[str(part) for part in own] for own in found.outcomes]
    pinned.check(__file__, f"neighbours-{name}", text({"record": record, "outcomes": outcomes}), NEAR)


@pytest.mark.parametrize("name", CLAIMS)
def test_words_are_as_they_were(name):
    words = {key: value for key, value in words_of(CLAIMS[name]()).items() if key != "fingerprint"}
    pinned.check(__file__, f"words-{name}", text(words))


@pytest.mark.parametrize("name", CLAIMS)
def test_judgements_of_made_samples_are_as_they_were(name):
    """Of samples that no run draws: one trial, equal numbers, a heavy tail, numbers that are far beyond."""
    claim, rng, found = CLAIMS[name](), np.random.default_rng(0), {}
    ladder, replicates = len(synthetic.RUNGS), getattr(claim.relation, "replicates", 1)
    shape = (ladder,) if hasattr(claim.relation, "rungs") else (3,) if name == "Identity" else ()
    shape = (replicates, *shape) if replicates > 1 else shape
    for what, size in (("one", 1), ("few", 5), ("many", 40)):
        predicted = np.full((size, *(shape if name == "Identity" else ())), 1.5 if shape != (ladder,) else -0.5)
        noise = rng.exponential(size=(size, *shape))
        for kind, measured in (("equal", np.ones_like(noise)), ("tailed", noise**3), ("far", 1e3 + noise)):
            sample = Sample(predicted, measured, np.ones(size))
            judged = claim.relation.judge(sample, 1e-2)
            found[f"{what} {kind}"] = {
                **dataclasses.asdict(judged), "p": p_value(claim, sample), "shown": claim.relation.shown(sample),
            }  # fmt: skip
    found["said"] = str(claim.relation)
    pinned.check(__file__, f"judged-{name}", text(found), NEAR)
