"""What is measured in an executor is what is measured here: learning curves, families of sequences, searches."""

import dataclasses

import numpy as np
import pytest

from lemmata.engine.refutations import Counterexample, Survived, refute, searches
from lemmata.engine.refutations._spread import seed_of, widely
from lemmata.errors import SolverError
from lemmata.interfaces.python import load
from lemmata.options import ComparisonOptions, StudyOptions
from lemmata.workers import Lost
from lemmata.workflows.comparisons import load_sequences, run_comparison
from lemmata.workflows.studies._measure import measure
from lemmata.workflows.studies._models import Model, models
from lemmata.workflows.studies._own import own_model
from tests.engine.claims.synthetic import Identity, SureBound

from . import tasks

MODEL = "from sklearn.linear_model import Ridge\n\n\ndef ridge():\n    return Ridge(1.0)\n"


def broken(x, y, task, groups):
    raise ValueError("no fit")


@pytest.fixture(scope="module")
def diabetes():
    return load("diabetes", StudyOptions(quick=True))


@pytest.mark.parametrize("name", ["linear", "relu-1", "forest", "own"])
def test_a_learning_curve_is_the_same(processes, diabetes, name, tmp_path):
    path = tmp_path / "own.py"
    path.write_text(MODEL)
    own = name == "own"
    model = own_model(f"{path}:ridge", diabetes)[0] if own else models([name], diabetes.x, diabetes.task)[0]
    here = measure(model, diabetes, 0, True)
    apart = measure(model, diabetes, 0, True, executor=processes)
    assert here.losses.keys() == apart.losses.keys()
    for unit, losses in here.losses.items():
        for field in dataclasses.fields(losses):
            told = [getattr(part, field.name) for part in (losses, apart.losses[unit])]
            parts = told if field.name == "paired" else [[own] for own in told]  # a table for each size
            assert len(parts[0]) == len(parts[1]), (unit, field)
            for one, other in zip(*parts, strict=True):
                assert np.array_equal(one, other), (unit, field)
    assert here.learns == apart.learns


def test_a_split_that_is_lost_is_named(processes, diabetes):
    model = Model("broken", "a broken model", "", False, broken)
    with pytest.raises(SolverError, match="ValueError: no fit"):
        measure(model, diabetes, 0, True, executor=processes)


def test_no_split_is_begun_after_the_deadline_beyond_three_sizes(processes, diabetes):
    (model,) = models(["linear"], diabetes.x, diabetes.task)
    late = measure(model, diabetes, 0, True, deadline=0.0, executor=processes)
    assert all(losses.splits == (1, 1, 1) for losses in late.losses.values())


def test_a_comparison_is_the_same(processes):
    options = ComparisonOptions(families="mlp,conv,recurrent", repeats=2, max_rows=120, lengths="none")
    here, apart = (
        run_comparison(load_sequences("motif", options), options, executor=executor) for executor in (None, processes)
    )
    timeless = lambda record: dataclasses.replace(
        record, created="", seconds=0.0, peak_gib=0.0,
        families=[dataclasses.replace(own, seconds=0.0) for own in record.families],
    ).to_json()  # fmt: skip
    assert timeless(here) == timeless(apart)


def test_searches_beside_each_other_are_those_of_their_seeds(processes):
    claim = Fixed()
    found = dict(searches(processes, stopped, [claim], 60.0, each=2, seed=3))[claim.name]
    alone = [stopped(claim, 60.0, seed=seed_of(3, number)) for number in range(2)]
    assert isinstance(found, Survived)
    assert found.settings == sum(own.settings for own in alone)
    assert found.trials == sum(own.trials for own in alone)
    assert found.ratio == max(own.ratio for own in alone)


class Fixed(SureBound):
    """A bound that is true."""


def stopped(claim, budget, *, seed=0):
    """A search of as much as its seed says, without a clock."""
    return Survived(claim.name, seed % 7, 10 * (seed % 7), 0, 0.1 * (seed % 7), None, 0, 0.0)


def test_what_is_false_is_refuted_by_workers(processes):
    found = refute(Identity(shift=0.5), 20.0, executor=processes)
    assert isinstance(found, Counterexample)


def test_a_search_that_is_lost_does_not_end_the_others(processes):
    claims = [tasks.Deadly(), Fixed()]
    found = dict(searches(processes, deadly_or_stopped, claims, 60.0))
    assert isinstance(found[claims[0].name], Lost)
    assert isinstance(found[claims[1].name], Survived)
    with pytest.raises(SolverError, match="deadly"), pytest.warns(RuntimeWarning, match="search [01] of 2 failed"):
        widely(processes, deadly_or_stopped, claims[0], 60.0)


def deadly_or_stopped(claim, budget, *, seed=0):
    if isinstance(claim, tasks.Deadly):
        raise MemoryError("too large")
    return stopped(claim, budget, seed=seed)
