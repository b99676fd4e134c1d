"""Texts with many categories: their mean targets are learned in every split, and cost what they tell."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import OneHotEncoder

from lemmata import study
from lemmata.errors import DataError
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._encoder import target_means
from lemmata.workflows.studies._measure import measure
from lemmata.workflows.studies._models import models
from lemmata.workflows.studies._signal import signal


def coded(rows=1500, codes=300, seed=0, effect=1.0, noise=0.5):
    """A code that decides most of the target, and a number."""
    rng = np.random.default_rng(seed)
    code, x = rng.integers(0, codes, rows), rng.normal(size=rows)
    y = effect * rng.normal(size=codes)[code] + 0.5 * x + noise * rng.normal(size=rows)
    return pl.DataFrame({"code": [f"c{own}" for own in code], "x": x, "y": y})


def test_three_hundred_codes_are_learned_as_one_hot_and_ridge_learn_them():
    table = coded()
    found = study(table, "y", models=["linear", "lasso"], quick=True).record
    n = int(found.models[0].points[-1].n)
    x = np.c_[OneHotEncoder(sparse_output=False).fit_transform(table[["code"]].to_numpy()), table["x"].to_numpy()]
    y, errors = table["y"].to_numpy(), []
    for train, test in ShuffleSplit(8, train_size=n, random_state=0).split(x):
        peer = RidgeCV(np.logspace(-2, 2, 9)).fit(x[train], y[train])
        errors.append(np.sqrt(((peer.predict(x[test]) - y[test]) ** 2).mean()))
    assert found.signal.found
    for model in found.models:  # of 19 codes and the rest it was 1.7 times that error
        assert 0.95 < model.points[-1].value / np.mean(errors) < 1.15


@pytest.mark.parametrize("seed", range(4))
def test_codes_that_say_nothing_cost_next_to_nothing(seed):
    """A code's mean over its own rows would tell each row its own noise: the error fell to nothing in training."""
    table = coded(400, 100, seed, effect=0.0)
    with_code, without = (load_dataset(part, "y") for part in (table, table.drop("code")))
    errors = []
    for data in (with_code, without):
        (model,) = models(["linear"], data.x, data.task)
        errors.append(measure(model, data, 0).losses["rmse"].mean[-2])
    assert errors[0] < 1.02 * errors[1]


def test_a_training_row_is_not_told_its_own_target():
    """Whatever a row's own target is, its mean stays, but for the scale that all rows share."""
    rng = np.random.default_rng(0)
    codes, y = np.repeat(np.arange(100.0), 2)[:, None], rng.normal(size=(200, 1))
    moved = y.copy()
    moved[17] += 50.0
    before, after = (target_means(codes, codes[:0], part)[:, 0] for part in (y, moved))
    parts = next(part for _, part in KFold(5, shuffle=True, random_state=0).split(codes) if 17 in part)
    others = parts[parts != 17]
    slope, start = np.polyfit(before[others], after[others], 1)
    np.testing.assert_allclose(after[17], slope * before[17] + start, atol=1e-9)
    assert abs(np.corrcoef(before, y[:, 0])[0, 1]) < 0.2


@pytest.mark.parametrize("kind", ["two classes", "three classes", "two targets", "missing", "groups", "times"])
def test_every_kind_of_target_and_split(kind):
    table = coded(300, 60, 1)
    options = {"target": "y"}
    if "classes" in kind:
        cuts = [0.0] if kind == "two classes" else [-0.5, 0.5]
        label = np.array(["low", "middle", "high"])[np.digitize(table["y"].to_numpy(), cuts)]
        table = table.with_columns(y=pl.Series(label))
    elif kind == "two targets":
        table = table.rename({"y": "y[0]"}).with_columns(pl.Series("y[1]", np.arange(300.0) % 7))
    elif kind == "missing":
        table = table.with_columns(pl.when(pl.col("x") > 1).then(None).otherwise(pl.col("code")).alias("code"))
    elif kind == "groups":
        table, options = table.with_columns(site=pl.Series(np.arange(300) % 12)), {"target": "y", "group": "site"}
    elif kind == "times":
        table, options = table.with_columns(day=pl.Series(np.arange(300.0))), {"target": "y", "time": "day"}
    data = load_dataset(table, **options)
    means = [name for name in data.features if name.startswith("code: mean target")]
    assert len(means) == {"three classes": 3, "two targets": 2}.get(kind, 1)
    assert data.x.shape == (300, len(data.features))
    assert np.isfinite(data.x).all()
    found = study(table, models=["linear", "boosting", "rbf"], quick=True, **options).record
    assert {model.name for model in found.models} >= {"linear", "rbf", "boosting"}
    assert found.models[0].points


def test_a_category_that_no_training_row_has_gets_the_mean():
    codes, y = np.repeat([0.0, 1.0], 50)[:, None], np.repeat([1.0, 3.0], 50)[:, None]
    found = target_means(codes, np.array([[0.0], [1.0], [2.0], [np.nan]]), y)[100:, 0]
    np.testing.assert_allclose(found, [-1, 1, 0, 0], atol=0.05)


def test_what_is_known_of_rare_codes_is_said():
    found = study(coded(), "y", models="linear", quick=True).record
    (text,) = [text for text in found.notes if "categories of 'code'" in text]
    assert "have fewer than 5 rows" in text
    (note,) = [note for note in found.data.notes if "'code'" in note]
    assert "mean target" in note


def test_text_of_which_nearly_every_row_has_its_own_is_still_refused():
    with pytest.raises(DataError, match="free text or an identifier"):
        load_dataset(coded(120, 100), "y")


def test_a_signal_in_a_code_alone_is_found():
    """The test looked at the 19 most frequent codes alone."""
    table = coded(700, 150, 3, noise=1.0).drop("x").with_columns(z=pl.Series(np.random.default_rng(9).normal(size=700)))
    assert signal(load_dataset(table, "y")).found


def test_the_level_holds_for_codes_without_signal():
    """p <= 0.05 in at most 9 of 60 tables: more has a probability of 1 in 1,000 at that level."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 5])
        code = [f"c{own}" for own in rng.integers(0, 60, 200)]
        data = load_dataset(pl.DataFrame({"code": code, "z": rng.normal(size=200), "y": rng.normal(size=200)}), "y")
        wrong += signal(data).p_value <= 0.05
    assert wrong <= 9


@pytest.mark.parametrize("pandas", [True, False])
def test_versions_in_a_data_frame_stay_texts(pandas):
    """3.10 was read as 3.1 without a word."""
    cells = {"python": ["3.1", "3.9", "3.10", "3.11"] * 10, "y": np.random.default_rng(0).normal(size=40)}
    frame = pytest.importorskip("pandas").DataFrame(cells) if pandas else pl.DataFrame(cells)
    found = load_dataset(frame, "y")
    assert found.categories == (("3.1", "3.10", "3.11", "3.9"),)
    assert "looks like versions: '3.1' and '3.10' both occur" in found.findings[0].text


@pytest.mark.parametrize("file", [True, False])
@pytest.mark.parametrize("cells", [["01", "1", "2", "3"], ["2.5", "2.50", "2.75", "3"], ["07", "007", "2", "3"]])
@pytest.mark.parametrize("target", [True, False])
def test_different_texts_that_were_read_as_one_number_are_told(cells, target, file, tmp_path):
    frame = pl.DataFrame({"a": cells * 10, "y": np.random.default_rng(0).normal(size=40).round(3)})
    frame.write_csv(tmp_path / "table.csv")
    found = load_dataset(tmp_path / "table.csv" if file else frame, "a" if target else "y", task=None)
    told = [own for own in found.findings if "were read as one number" in own.text]
    assert [own.columns for own in told] == [("a",)]
    assert all(repr(text) in told[0].text for text in cells[:2])
    assert ("write a letter" if file else "convert the column to categories") in told[0].text


@pytest.mark.parametrize("cells", [["1", "1.0", "10", "2"], ["2.50", "1.25", "3.75", "3"]])
def test_two_styles_of_a_number_are_not_told(cells):
    frame = pl.DataFrame({"a": cells * 10, "y": np.random.default_rng(0).normal(size=40)})
    assert not any("one number" in own.text for own in load_dataset(frame, "y").findings)


def test_a_code_in_a_data_frame_is_advised_to_be_a_category():
    frame = pl.DataFrame({"zip": ["01000", "02000", "75001"] * 14, "y": np.random.default_rng(0).normal(size=42)})
    told = [own.text for own in load_dataset(frame, "y").findings if own.columns == ("zip",)]
    assert len(told) == 1
    assert "astype('category')" in told[0]
