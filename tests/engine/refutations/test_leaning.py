"""A trial and its hypotheses: what their rounding slack explains is no contradiction, and all of them are recorded."""

import numpy as np
import pytest

from lemmata.engine.claims import Hypothesis
from lemmata.engine.refutations._confirm import _leans
from lemmata.engine.refutations._found import told
from lemmata.engine.refutations._problem import Facts
from tests.engine.refutations import untested as own


def leaning(name, rounding):
    """A hypothesis that holds only by its slack."""
    return Hypothesis(name, 1.0 + rounding / 2, "<=", 1.0, rounding=rounding)


HOLDS, UNCHECKED = Hypothesis("below 1", 0.5, "<=", 1.0, rounding=1e-2), Hypothesis.unchecked("smooth", "no value")


@pytest.mark.parametrize(
    ("hypotheses", "apart", "leans"),
    [
        ([leaning("near", 1e-8)], 0.99e-4, True),
        ([leaning("near", 1e-8)], 1.01e-4, False),
        ([leaning("near", 1e-8), leaning("nearer", 1e-6)], 0.9e-3, True),
        ([leaning("near", 1e-8), HOLDS, UNCHECKED], 0.9e-3, False),
        ([HOLDS, UNCHECKED], 1e-9, False),
        ([leaning("without", 1e-2), leaning("near", 1e-8)], 1e-3, False),
        ([leaning("without", 1e-2)], 1e-9, False),
    ],
)
@pytest.mark.parametrize("scale", [5.0, -1e-3])
@pytest.mark.parametrize("above", [True, False])
def test_a_contradiction_is_at_most_the_root_of_the_slack(hypotheses, apart, leans, scale, above):
    pair = np.array([scale, 0.0, scale]), np.array([scale, 0.0, scale * (1 - apart)])
    predicted, measured = pair if above else pair[::-1]
    assert _leans(Facts(hypotheses, predicted, measured, np.array(1.0)), "without") == leans


def test_what_is_not_a_number_says_nothing():
    values = np.array([1.0, np.nan, 1.0]), np.array([1.0, 1.0, 1.0 - 1e-5])
    assert _leans(Facts([leaning("near", 1e-8)], *values, np.array(1.0)), None)


def test_the_record_of_a_trial_has_its_nearest_component_and_every_hypothesis_with_a_value():
    below = Hypothesis("all below 1", np.array([0.5, 0.75]), "<=", 1.0)
    given = [HOLDS, UNCHECKED, below, Hypothesis("above 4", 3.0, ">=", 4.0)]
    record = told(own.Holds(), Facts(given, np.array([1.0, 2.0]), np.array([0.5, 1.8]), np.array(1.0)))
    assert (record["predicted"], record["measured"], record["ratio"]) == (2.0, 1.8, pytest.approx(0.9))
    margins = dict(record["hypotheses"])
    assert margins == {each.name: float(each.margin.min()) for each in given if each is not UNCHECKED}
    assert margins["all below 1"] == pytest.approx(0.25)
    assert margins["above 4"] < 0
