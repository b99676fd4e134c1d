"""What is expected of a model: within the range of its metric, above the noise that was seen, open where it is open."""

import numpy as np
import pytest

from lemmata.workflows.studies import _outlook
from lemmata.workflows.studies._answers import HORIZON, answers
from lemmata.workflows.studies._outlook import _stretched, grounded
from tests.workflows.studies.candidates import FAST, SEEN, SLOW, candidate, question

TOTAL = 320


def test_a_worse_model_is_not_expected_below_the_noise_of_the_best():
    """A line has stood at 0.25 for all sizes; a forest that falls is expected to end there, but may still go below."""
    line, forest = candidate("line", lambda n: 0.25, se=0.004), candidate("forest", lambda n: 3 * n**-0.4)
    kept, held = grounded([line, forest])
    far = HORIZON * TOTAL
    assert forest.expected(far).value < 0.2, "by itself the forest would go on"
    assert held.expected(far).value == pytest.approx(line.limit().value)
    assert held.expected(far).lower == forest.expected(far).lower
    assert kept is line


@pytest.mark.parametrize("unit", ["accuracy", "wrong", "auc"])
def test_the_interval_of_a_share_is_within_its_range(unit):
    bad = candidate("bad", lambda n: 0.97, unit=unit, se=0.2)
    for n in np.geomspace(8, 1e5, 20):
        found = bad.expected(float(n))
        assert 0.0 <= found.lower <= found.value <= found.upper <= 1.0
    assert candidate("bad", lambda n: 0.97, se=0.2).expected(64.0).upper > 1.0, "a number has no such end"


@pytest.mark.parametrize(("total", "factor"), [(60, 1.3), (40, 1.3), (120, 1.0), (121, 1.0), (320, 1.0)])
@pytest.mark.parametrize("unit", ["rmse", "accuracy"])
def test_intervals_of_few_rows_are_wider_by_a_factor_in_logarithms(unit, total, factor, monkeypatch):
    """20 of 28 intervals of real tables of 60 rows held without it."""
    ends = lambda: candidate("fast", lambda n: 0.6 * n**-0.3, unit=unit, total=total).curves[1][100:200]
    wide = ends()
    monkeypatch.setattr(_outlook, "STRETCH", 1.0)
    plain = ends()
    assert np.allclose(wide[:, 1], plain[:, 1])
    assert np.allclose(np.log(wide / wide[:, 1:2]), factor * np.log(plain / plain[:, 1:2]), rtol=1e-4)
    assert (np.diff(wide, axis=1) > 0).all()


def test_not_expected_is_said_only_where_the_whole_interval_is_above():
    model = candidate("fast", FAST, se=0.05)
    ahead = model.expected(HORIZON * TOTAL)
    between, below = (ahead.lower + ahead.value) / 2, 0.9 * ahead.lower
    assert ": with 2,560 rows" in answers(SEEN, [model], question(f"unexplained {between}")).sentences[1]
    assert (
        "None of these models is expected to reach"
        in answers(SEEN, [model], question(f"unexplained {below}")).sentences[1]
    )


@pytest.mark.parametrize(("se", "sure"), [(0.005, True), (0.2, False)])
def test_more_rows_are_expected_to_change_a_value_only_where_the_whole_interval_says_so(se, sure):
    model = candidate("slow", SLOW, se=se)
    now, twice = model.expected(TOTAL), model.expected(2 * TOTAL)
    assert twice.value < now.value
    assert (twice.upper < now.value) == sure
    text = " ".join(answers(SEEN, [model], question()).sentences)
    assert (" is expected to become " in text) == sure
    assert ("It is open whether 320 more rows (twice the data) would change the rmse" in text) != sure


def test_a_model_that_surely_has_the_value_is_named_where_the_best_may_not():
    """Neighbours were best by a hair, with a wide interval; the table beside "open" said 830 rows of another."""
    wide, sure = candidate("wide", lambda n: 0.99 * FAST(n), se=0.15), candidate("sure", FAST, se=0.005)
    level = 1.1 * sure.expected(TOTAL).value
    found = answers(SEEN, [wide, sure], question(f"unexplained {level}"))
    assert found.best == "wide"
    assert found.first == "sure"
    assert "takes about" in found.sentences[1]


def test_a_steep_curve_is_not_expected_to_end_at_nothing():
    """Of twelve groups the squared error fell from 1.9 to 0.0086 in five sizes; with twice the rows 1e-300 was told."""
    steep = candidate("steep", lambda n: 30 * n**-2.4, se=0.3)
    last = float(steep.losses.sizes[-1])
    now, twice, far = (steep.expected(factor * last) for factor in (1, 2, 8))
    assert twice.value >= 0.99 * now.value / 4
    assert far.value >= 0.99 * now.value / 64
    assert far.upper >= far.value > 0


def test_an_interval_of_a_small_table_is_wider_in_logarithms_and_never_infinite():
    curves = np.array([[0.1, 0.2, 0.4], [0.0, 0.2, 0.4], [0.0, 0.0, 0.02], [0.0, 1e-9, 0.02]])
    found = _stretched(curves, 1.3)
    np.testing.assert_allclose(found[0], [0.2 * 0.5**1.3, 0.2, 0.2 * 2**1.3], rtol=1e-12)
    np.testing.assert_allclose(found[1], [0.0, 0.2, 0.2 * 2**1.3], rtol=1e-12)
    np.testing.assert_allclose(found[2:, 2], 0.02 * 1000**0.3, rtol=1e-12)
    assert found[2:, :2].tolist() == [[0.0, 0.0], [0.0, 1e-9]]
    assert _stretched(curves, 1.0) is curves
