"""A model of grouped rows is fitted to all of them as its number says: other groups tell, and not a row's own."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from lemmata import study
from lemmata.workflows.studies import _final, load_dataset


def persons(groups=30, each=20, seed=0):
    """Each person has a level of its own, a text that names it in another way, and a slope that all share."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(groups), each)
    x = rng.normal(size=groups)[person] + 0.02 * rng.normal(size=groups * each)
    z = rng.normal(size=groups * each)
    y = rng.normal(size=groups)[person] + z + 0.1 * rng.normal(size=len(z))
    names = [f"n{own}" for own in person]
    return pl.DataFrame({"person": person, "alias": names, "x": x, "z": z, "y": y})


def _frame(table, names):
    """The columns in a data frame of pandas."""
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: table[name].to_numpy() for name in names})


def by_groups(model, table, inputs):
    """The error on groups that did not train, with the settings of the saved model."""
    x, y, groups = _frame(table, inputs), table["y"].to_numpy(), table["person"].to_numpy()
    lost = []
    for a, b in GroupKFold(5).split(x, groups=groups):
        lost.append((clone(model).fit(x.iloc[a], y[a]).predict(x.iloc[b]) - y[b]) ** 2)
    return float(np.sqrt(np.concatenate(lost).mean()))


@pytest.mark.filterwarnings("ignore:n_components")  # fewer rows than the whole table has
def test_the_width_and_the_ridge_of_a_kernel_are_chosen_on_other_groups():
    """A narrow kernel knows a person by its x, and says nothing of another: 1.4 and more where the levels leave 1.1."""
    table = persons().drop("alias")
    found = study(table, "y", group="person", models=["rbf", "linear"], quick=True)
    assert by_groups(found.best("rbf"), table, ["x", "z"]) < 1.3


def test_a_text_that_names_the_group_does_not_leak():
    """With a text that names the person a row would read its person's level, which a new person does not have."""
    table = persons()
    found = study(table, "y", group="person", models=["boosting"], quick=True)
    model, new = found.best("boosting"), persons(seed=1).with_columns(alias=pl.lit("new"))
    error = float(np.sqrt(((model.predict(_frame(new, new.columns)) - new["y"].to_numpy()) ** 2).mean()))
    page = found.record.models[0].now
    assert error < page.upper * 1.3
    assert "GroupKFold" in found.given.fitted(found.record, "boosting").code


@pytest.mark.parametrize(("typo", "words"), [(5555.0, "1 row holds"), (None, " rows hold ")])
def test_the_fewest_rows_that_hold_the_variance_are_counted(typo, words):
    rng = np.random.default_rng(0)
    y = rng.normal(40, 5, size=900) if typo else np.exp(2.5 * rng.normal(size=900))
    if typo:
        y[17] = typo
    (text,) = [item.text for item in load_dataset((rng.normal(size=(900, 3)), y)).findings if item.kind == "tail"]
    assert words in text
    assert ("5555" in text) == bool(typo)


def test_blanks_are_told_once(tmp_path):
    lines = ["a b y", *(f"{i % 7} {i % 5} {i % 11}.5" for i in range(60))]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    notes = [note for note in load_dataset(tmp_path / "t.txt", "y").notes if "separated" in note]
    assert notes == ["fields are separated by spaces"]


def test_target_means_are_learned_in_folds_that_split_no_group(monkeypatch):
    table, seen = persons(), []
    found = study(table, "y", group="person", models=["boosting"], quick=True)
    before = _final.set_folds
    monkeypatch.setattr(_final, "set_folds", lambda columns, folds: (seen.append(folds), before(columns, folds)))
    found.best("boosting")
    person, folds = table["person"].to_numpy(), [own for own in seen if own is not None]
    assert len(folds) == 2  # where settings are chosen on mixed rows, and where all rows are fitted in theirs
    for a, b in folds[-1]:
        assert not set(person[a]) & set(person[b])
    assert seen[-1] is None
