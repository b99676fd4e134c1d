"""How good the predicted curves and the numbers of samples are on real data: the promises that a study makes."""

import numpy as np
import pytest

from lemmata.study import load_dataset
from lemmata.study._answers import TARGETS, coverage, measured_crossing, samples
from lemmata.study._architectures import DEFAULT, architectures
from lemmata.study._curves import study_architecture

pytestmark = pytest.mark.exhaustive
# Digits by 720 of its 1797 rows, drawn at random, to keep the time; the other sets whole.
SETS = {"digits": 720, "breast_cancer": None, "wine": None, "diabetes": None}


@pytest.fixture(scope="module")
def curves():
    found = {}
    for name, rows in SETS.items():
        dataset = load_dataset(name, max_rows=rows)
        for architecture in architectures(None, dataset.x):
            found[name, architecture.name] = study_architecture(architecture, dataset, seed=0)
    return found


def test_predicted_errors_are_near_measured_ones(curves):
    assert len(curves) == len(SETS) * len(DEFAULT)
    gaps = []
    for curve in curves.values():
        assert curve.sizes[-1] == curve.total // 2
        gaps.append(np.abs(np.log(curve.predicted / curve.measured)))
    gaps = np.concatenate(gaps)
    print(f"median |ln ratio| {np.median(gaps):.3f}, within 0.4: {np.mean(gaps <= 0.4):.1%} of {len(gaps)}")
    assert np.median(gaps) <= 0.12
    assert np.mean(gaps <= 0.4) >= 0.95


def test_intervals_for_measured_errors_hold_what_they_say(curves):
    inside = np.concatenate([(c.lower <= c.measured) & (c.measured <= c.upper) for c in curves.values()])
    print(f"interval of the error covers {inside.mean():.1%} of {len(inside)}")
    assert inside.mean() >= 0.9


def test_intervals_for_numbers_of_samples_cover_the_measured_ones(curves):
    # No constant of the interval was fitted to these sets; both halves of the pairs are held to the promise.
    pairs = list(curves)
    halves = pairs[::2], pairs[1::2]
    for half in halves:
        covered, asked, _ = coverage([curves[pair] for pair in half])
        print(f"interval of the number of samples covers {covered} of {asked}")
        assert asked >= 2 * len(half)
        assert covered >= 0.8 * asked


def test_those_intervals_say_something(curves):
    # narrower, in the median, than half of the range of sizes that was measured, on a logarithmic scale
    widths, ranges = [], []
    for curve in curves.values():
        error = float(np.exp(np.mean(np.log(curve.measured[[0, -1]]))))
        theory = samples(curve, error)["theory"]
        widths.append(np.log((theory["upper"] or np.inf) / theory["lower"]))
        ranges.append(np.log(curve.sizes[-1] / curve.sizes[0]))
    assert np.median(widths) < np.median(ranges) / 2


def test_the_two_routes_agree_on_most_curves(curves):
    agree = []
    for curve in curves.values():
        high, low = np.log(curve.measured.max()), np.log(curve.measured.min())
        for share in TARGETS:
            error = float(np.exp(high + share * (low - high)))
            if measured_crossing(curve, error) is not None:
                agree.append(samples(curve, error)["agree"])
    assert sum(verdict is True for verdict in agree) >= 0.8 * len(agree)
