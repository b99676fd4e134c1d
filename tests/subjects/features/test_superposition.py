"""The phases of the toy model: known cases, the exact loss by draws, and bad input."""

import numpy as np
import pandas as pd
import pytest

from lemmata.errors import LemmataError
from lemmata.subjects.features import superposition


def _loss_by_draws(found, p, importance, draws=400_000):
    rng = np.random.default_rng(1)
    x = rng.random((draws, len(found.biases))) * (rng.random((draws, len(found.biases))) < p)
    out = np.maximum(x @ found.weights.T @ found.weights + found.biases, 0)
    return np.mean((x - out) ** 2 @ np.asarray(importance))


@pytest.mark.parametrize(("p", "phase"), [(0.2, "superposition"), (0.44, "superposition"), (0.6, "dedicated")])
def test_two_features_in_one_dimension(p, phase):
    found = superposition(2, 1, p, 0.5)
    assert found.phase == phase
    assert found.exact
    assert found.loss == pytest.approx(_loss_by_draws(found, p, [1.0, 0.5]), rel=0.03)
    assert found.sufficient == pytest.approx(4 * 0.5 / (2 + 2.5))
    assert found.sufficient < found.boundary[0] < found.boundary[1] < 0.52
    assert (found.loss < found.loss_without - 1e-6) == (phase == "superposition")


def test_the_order_and_unit_of_importances_do_not_matter():
    first, second = superposition(2, 1, 0.3, [1.0, 0.4]), superposition(2, 1, 0.3, pd.Series([4.0, 10.0]))
    assert second.loss == pytest.approx(10 * first.loss)
    assert second.loss_without == pytest.approx(10 * first.loss_without)
    np.testing.assert_allclose(first.sizes, second.sizes[::-1], atol=1e-5)


def test_five_sparse_features_in_a_plane_form_a_pentagon():
    found = superposition(5, 2, 0.05)
    assert found.phase == "superposition"
    assert len(found.stored) == 5
    angles = np.sort(np.arctan2(found.weights[1], found.weights[0]))
    np.testing.assert_allclose(np.degrees(np.diff(angles)), 72, atol=2)
    assert found.loss == pytest.approx(_loss_by_draws(found, 0.05, np.ones(5)), rel=0.05)
    assert found.loss < found.loss_without / 3
    assert found.plot().to_dict()


def test_dense_features_have_their_own_dimensions():
    found = superposition(4, 2, 1.0, [1.0, 0.5, 2.0, 0.3])
    assert found.phase == "dedicated"
    assert found.stored == (0, 2)
    assert found.edges == ()
    assert found.loss == pytest.approx(found.loss_without, rel=0.05)
    assert "<pre" in found._repr_html_()


@pytest.mark.parametrize(
    "given",
    [(1, 1, 0.1), (2, 2, 0.1), (2, 0, 0.1), (65, 2, 0.1), (2.5, 1, 0.1), (3, 1, 0.0), (3, 1, 1.5), (3, 1, np.nan),
     (3, 1, 0.1, 0.0), (3, 1, 0.1, -1.0), (3, 1, 0.1, [1.0, 2.0]), (3, 1, 0.1, [1.0, np.nan, 1.0]),
     (3, 1, 0.1, 1e300), (3, 1, 0.1, "high"), (3, 1, 0.1, np.ones((3, 1))), (3, 1, 0.1, [1, 1, 1e12]),
     (3, 1, 0.1, [1, 1, 1j]), (True, 1, 0.1), (3, 1, None)],
)  # fmt: skip
def test_bad_input_is_refused_in_one_line(given):
    with pytest.raises(LemmataError) as caught:
        superposition(*given)
    assert "\n" not in str(caught.value)


def test_the_loss_holds_for_other_rows():
    """Not only for the rows that the weights were fitted to."""
    found, rng = superposition(6, 3, 0.3, 0.9), np.random.default_rng(9)
    x = rng.random((200_000, 6)) * (rng.random((200_000, 6)) < 0.3)
    y = np.maximum(x @ found.weights.T @ found.weights + found.biases, 0)
    assert found.loss == pytest.approx(np.mean((x - y) ** 2 @ 0.9 ** np.arange(6)), rel=0.02)
