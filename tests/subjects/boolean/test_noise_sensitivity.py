"""Changed answers: against the exact transform, cases by hand, how often intervals hold, frames, refusals."""

import numpy as np
import pandas
import polars
import pytest

from lemmata.engine.claims import registry
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.boolean import boolean_fourier, noise_sensitivity


def test_flips_agree_with_the_transform():
    f = lambda x: x @ [5, 4, 3, 2, 1, 1] > 7
    exact = boolean_fourier(f, 6, codes=(0, 1))
    x = np.random.default_rng(0).integers(0, 2, (20_000, 6))
    rates = [0.02, 0.1, 0.3]
    found = noise_sensitivity(f, x, rates, draws=20_000)
    for rate, (low, high) in zip(rates, found.intervals, strict=True):
        assert low <= exact.noise(rate) <= high
    replaced = noise_sensitivity(f, x, [0.2], columns="replace", draws=20_000)
    assert replaced.intervals[0, 0] <= exact.noise(0.1) <= replaced.intervals[0, 1]
    assert (found.flipped, replaced.replaced) == (6, 6)


def test_replaced_values_by_hand():
    x = np.random.default_rng(1).normal(size=(4000, 2))
    found = noise_sensitivity(lambda x: x[:, 0] > 1, x, [0.0, 0.4, 1.0])
    q = np.mean(x[:, 0] > 1)
    assert found.value[0] == 0
    for rate, (low, high) in zip([0.4, 1.0], found.intervals[1:], strict=True):
        assert low <= 2 * rate * q * (1 - q) <= high
    assert found.apart == pytest.approx(2 * q * (1 - q), rel=1e-2)


def test_intervals_hold_for_few_rows_that_are_drawn_often():
    f = lambda x: x[:, :3].sum(axis=1) > 1
    truth, held = boolean_fourier(f, 5, codes=(0, 1)).noise(0.1), 0
    for seed in range(200):
        x = np.random.default_rng(seed).integers(0, 2, (40, 5))
        low, high = noise_sensitivity(f, x, 0.1, draws=400, level=0.9, seed=seed).intervals[0]
        held += low <= truth <= high
    assert held >= 170


def test_frames_come_back_as_frames():
    x = np.random.default_rng(2).normal(size=(50, 2))
    for frame, column in ((pandas.DataFrame(x, columns=["a", "b"]), lambda f: f["b"].to_numpy()),
                          (polars.DataFrame(x, schema=["a", "b"]), lambda f: f["b"].to_numpy())):  # fmt: skip
        found = noise_sensitivity(lambda f, column=column: np.where(column(f) > 0, "yes", "no"), frame, [0.1, 0.5])
        assert found.draws == 2000
        assert "<svg" in found._repr_html_()
    assert "the answers at two different rows differ" in str(found)


def test_refusals():
    x = np.random.default_rng(0).normal(size=(100, 3))
    for arguments, settings, words, kind in [
        ((lambda x: x[:, 0], x, 0.1), {}, "100 different numbers; rule: labels", DataError),
        ((lambda x: x, x, 0.1), {}, r"shape \(100, 3\)", ShapeError),
        ((lambda x: x[:, 0] > 0, x, 1.5), {}, "a probability between 0 and 1", SettingError),
        ((lambda x: x[:, 0] > 0, x, 0.1), {"columns": "flip"}, "column x0; found 100 different values", DataError),
        ((lambda x: x[:, 0] > 0, x, 0.1), {"columns": "swap"}, '"auto", "flip" or "replace"', SettingError),
        ((lambda x: x[:, 0] > 0, x[:5], 0.1), {}, "at least 20 rows", DataError),
        ((3, x, 0.1), {}, "a function of rows", SettingError),
    ]:
        with pytest.raises(kind, match=words):
            noise_sensitivity(*arguments, **settings)


@pytest.mark.parametrize("values", [(0.1, 0.3), (1e-20, 1.0), (False, True), (np.uint8(100), np.uint8(200))])
def test_a_flip_takes_the_other_value_exactly(values):
    low, high = values
    x = np.where(np.random.default_rng(0).integers(0, 2, (300, 3)) > 0, high, low)
    seen = []
    found = noise_sensitivity(lambda x: seen.append(np.unique(x)) or x[:, 0] == high, x, 1.0)
    assert found.value[0] == 1
    assert all(np.array_equal(values, np.unique(x)) for values in seen)


def test_frames_keep_the_types_of_their_columns():
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, 2, 60) > 0, "b": rng.integers(0, 9, 60), "c": rng.normal(size=60)}
    for frame, types in ((pandas.DataFrame(columns), lambda f: list(f.dtypes)),
                         (polars.DataFrame(columns), lambda f: list(f.dtypes))):  # fmt: skip

        def model(given, types=types, frame=frame):
            assert types(given) == types(frame)
            return given["a"] & (given["b"] > 4)

        found = noise_sensitivity(model, frame, 0.2)
        assert (found.flipped, found.replaced) == (1, 2)
    assert "1 column is flipped between two values, 2 columns are replaced by values of other rows" in str(found)


def test_a_model_that_changes_its_input_changes_nothing():
    x = np.random.default_rng(0).integers(0, 2, (100, 3))
    kept = x.copy()

    def model(given):
        answer = given[:, 1] > 0
        given[:] = 0
        return answer

    changing = noise_sensitivity(model, x, 0.3)
    np.testing.assert_array_equal(x, kept)
    assert changing.value == noise_sensitivity(lambda x: x[:, 1] > 0, x, 0.3).value


def test_refusals_of_answers_and_of_what_cannot_be_changed():
    x = np.random.default_rng(0).integers(0, 2, (100, 3))
    answers = lambda values: lambda x: np.array([values[v] for v in x[:, 0]], object)
    for arguments, settings, words, kind in [
        ((lambda x: np.where(x[:, 0] > 0, np.nan, 1.0), x, 0.1), {}, "that are NaN; rule: labels", DataError),
        ((answers(["a", None]), x, 0.1), {}, "labels of several types", DataError),
        ((answers(["a", 1]), x, 0.1), {}, "labels of several types", DataError),
        ((lambda x: x[:, 0], np.ones((30, 2)), 0.1), {}, "one value in each column", DataError),
        ((lambda x: x[:, 0], np.where(x, "u", "v"), 0.1), {}, "x; found the entry '[uv]'.*remedy: encode", DataError),
        ((lambda x: x[:, 0], x, []), {}, "eta; found no probability", SettingError),
        ((lambda x: x[:, 0], x, [[0.1], [0.1, 0.2]]), {}, "eta; found a list that is not an array", DataError),
        ((lambda x: x[:, 0], x, 0.1), {"seed": -1}, "seed; found -1", SettingError),
        ((lambda d: d["q"], pandas.DataFrame({"q": np.arange(30)}), 0.1), {"columns": "flip"}, "column q; found 30",
         DataError),
    ]:  # fmt: skip
        with pytest.raises(kind, match=words) as caught:
            noise_sensitivity(*arguments, **settings)
        assert "\n" not in str(caught.value)


def test_one_draw_is_no_warning():
    x = np.random.default_rng(0).integers(0, 2, (100, 3))
    low, high = noise_sensitivity(lambda x: x[:, 0], x, 1.0, draws=1).intervals[0]
    assert (round(low, 3), high) == (0.025, 1)


def test_the_claims_exist():
    x = np.random.default_rng(0).integers(0, 2, (50, 4))
    assert set(noise_sensitivity(lambda x: x[:, 0], x, 0.1).claims) <= set(registry("boolean"))
