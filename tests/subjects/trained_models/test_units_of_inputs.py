"""One unit for all inputs: stated, seen in their spreads, or inferred from a range that many of them share."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lemmata.errors import SettingError
from lemmata.subjects.trained_models import read_trained
from lemmata.subjects.trained_models._smoothed import shared_range
from lemmata.subjects.trained_models.smoothing import one_unit


def posed(x, scale=None):
    model = (lambda own, x: x @ own["w"], {"w": np.zeros((x.shape[1], 2))})
    return read_trained(model, x, np.arange(len(x)) % 2, scale=scale)


def pixels(top=255.0):
    return load_digits().data[:300] / 16 * top


def test_pixels_of_any_range_have_one_unit_and_columns_of_a_table_do_not():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 6)) * 10.0 ** np.arange(-2, 4)
    found = one_unit(posed(pixels()))
    assert bool(found.holds)
    assert "inferred" in found.name
    assert shared_range(pixels()) == shared_range(pixels(16.0)) > 0.25
    assert not bool(one_unit(posed(table)).holds)
    assert shared_range(table) < 0.25
    assert "spreads" in one_unit(posed(pixels(1.0))).name, "in [-1, 1] nothing is inferred"


@pytest.mark.parametrize(("scale", "holds"), [(255.0, True), (16.0, False)])
def test_a_stated_scale_is_held_against_the_rows(scale, holds):
    found = one_unit(posed(pixels(), scale))
    assert found.name == "largest input, divided by the stated scale"
    assert bool(found.holds) is holds


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan])
def test_a_scale_is_a_number_above_0(scale):
    with pytest.raises(SettingError, match="scale"):
        posed(pixels(), scale)


def test_rows_that_do_not_vary_share_no_range():
    assert shared_range(np.ones((5, 3))) == 0.0
    assert not bool(one_unit(posed(np.full((5, 3), 7.0))).holds)
