"""Which of two models is better, if they were measured at other sizes or on few splits."""

import dataclasses
import types

import numpy as np
import pytest

from lemmata.subjects.forecasts import forecast
from lemmata.workflows.studies import _answers
from lemmata.workflows.studies._answers import answers
from lemmata.workflows.studies._losses import Losses
from lemmata.workflows.studies._measure import Measured
from lemmata.workflows.studies._metrics import metric
from lemmata.workflows.studies._outlook import Candidate
from lemmata.workflows.studies._standing import near_best
from tests.workflows.studies.candidates import FAST, SEEN, SIZES, candidate, question


def test_models_are_compared_where_all_were_measured():
    """One measured to 32 rows is better there; the other is named, and the sentence says how far each was."""
    short, long = candidate("short", lambda n: 1.5 * n**-0.5), candidate("long", lambda n: 2.0 * n**-0.5)
    losses = {name: Losses(own.sizes[:3], own.mean[:3], own.se[:3], own.splits[:3])
              for name, own in short.measured.losses.items()}  # fmt: skip
    cut = Candidate(Measured(short.measured.model, losses, True),
                    forecast(SIZES[:3], losses["rmse"].mean, losses["rmse"].se, baseline=1.0),
                    metric("rmse", "regression"), 320)  # fmt: skip
    found = answers(SEEN, [cut, long], question())
    assert found.best == "long"
    assert any("The short model was measured on at most 32 training rows. At this size it has rmse 1.03" in sentence
               for sentence in found.sentences)  # fmt: skip


def test_a_model_of_few_splits_is_not_as_good_where_it_loses_on_all_of_them():
    """An interval from 0 to 3.09 made a forest "as good" as a model with a hundredth of its error on these splits."""

    def measured(name, losses, rows, wide=0.6):
        sizes = np.array([100.0, 200.0, 400.0])
        pairs = tuple(np.array(losses) for _ in sizes)
        mean = np.full(3, np.mean(losses))
        own = Losses(sizes, mean, wide * mean, (len(losses),) * 3, paired=pairs, rows=rows)
        own = dataclasses.replace(candidate(name, FAST).measured, losses={"rmse": own})
        return Candidate(own, forecast(sizes, mean, wide * mean, baseline=1.0), metric("rmse", "regression"), 500)

    best = measured("best", [1e-4, 2e-4, 1.5e-4, 1e-4], 500.0)
    for losses, near in (([0.02, 0.03, 0.01], False), ([0.9e-4, 2.5e-4, 1e-4], True), ([1.2e-4, 2e-4], True)):
        other = measured("other", losses, 150.0, wide=20.0)
        assert other.expected(400).lower < best.expected(400).value < other.expected(400).upper
        assert bool(near_best(best, question(total=500), [best, other])) == near


def on_splits(**tables):
    """A model with the losses of each split of some sizes."""
    sizes = np.array([float(name[1:]) for name in tables])
    return types.SimpleNamespace(
        losses=types.SimpleNamespace(sizes=sizes, paired=[np.array(t) for t in tables.values()])
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("first", "second", "better"),
    [
        ({"n10": [1.0, 1.0], "n20": [0.5, 0.5]}, {"n10": [0.5, 0.5], "n20": [1.0, 1.0]}, True),  # the largest decides
        ({"n10": [0.5, 0.7], "n20": [9.0]}, {"n10": [1.0, 1.0], "n20": [1.0, 1.0]}, True),  # which both have two of
        ({"n10": [0.5, 0.7], "n40": [9.0, 9.0]}, {"n10": [1.0, 1.0], "n20": [1.0, 1.0]}, True),
        ({"n10": [1.5, 1.7], "n40": [0.1, 0.1]}, {"n10": [1.0, 1.0], "n20": [1.0, 1.0]}, False),
        ({"n10": [0.5, 0.5, 99.0]}, {"n10": [1.0, 1.0]}, True),  # the splits that both have
        ({"n10": [1.0, 1.0]}, {"n10": [1.0, 1.0]}, False),
        ({"n10": [0.1]}, {"n10": [1.0]}, False),
        ({"n10": [0.1, 0.1]}, {"n20": [1.0, 1.0]}, False),
    ],
)  # fmt: skip
def test_models_are_compared_on_the_splits_of_the_largest_size_that_both_have(first, second, better):
    assert _answers._beats_on_common_splits(on_splits(**first), on_splits(**second)) == better
