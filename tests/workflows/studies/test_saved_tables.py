"""A saved model takes the table as its user has it, and its program reads the same file."""

import datetime
import json
from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest
import scipy.sparse
import skops.io

from lemmata.errors import DataError
from lemmata.estimators import PlainTable
from tests.workflows.studies.test_saved_model import ROWS, made, run, table

pd = pytest.importorskip("pandas")


def test_dates_take_the_estimators_of_lemmata_and_the_program_does_not(tmp_path):
    days = pd.date_range("2021-01-01", periods=ROWS * 3, freq="D")
    y = (days.day_of_week >= 5) * 3.0 + np.sin(2 * np.pi * days.day_of_year / 365) + 0.001 * np.arange(len(days))
    for form in ("%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%Y %I:%M %p", "%b %d, %Y", "%d-%b-%y"):
        path = tmp_path / "days.csv"
        pd.DataFrame({"sold": days.strftime(form), "y": y}).to_csv(path, index=False)
        final = made(str(path), "linear")
        assert list(final.why) == ["sold"]
        frame = pd.read_csv(path)
        said = final.model.predict(frame)
        assert np.corrcoef(said, y)[0, 1] > 0.95
        np.testing.assert_array_equal(final.model.predict(pl.read_csv(path)), said)
        np.testing.assert_allclose(final.model.predict(frame.assign(sold=days)), said)
        again = run(final.code)
        np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)
        assert "lemmata" not in final.code
        loaded = skops.io.loads(skops.io.dumps(final.model), trusted=skops.io.get_untrusted_types(
            data=skops.io.dumps(final.model)))  # fmt: skip
        np.testing.assert_array_equal(loaded.predict(frame), said)


@pytest.mark.parametrize("offsets", ["+02:00", "-03:30", "+01:00 +02:00"])
@pytest.mark.parametrize("kind", ["texts", "frame"])
def test_a_saved_model_and_its_program_read_local_times(offsets, kind):
    ends = offsets.split()
    times = pd.date_range("2024-06-01", periods=ROWS, freq="7h")
    texts = pd.Series([f"{own.isoformat()}{ends[j % len(ends)]}" for j, own in enumerate(times)])
    cells = (
        texts if kind == "texts" else pd.Series([datetime.datetime.fromisoformat(own) for own in texts], dtype=object)
    )
    if kind == "frame" and len(ends) == 1:
        cells = pd.Series(pd.DatetimeIndex(cells))
    table = pd.DataFrame({"t": cells, "y": 3 * np.sin(2 * np.pi * times.hour / 24)})
    final = made(table, "linear")
    said = final.model.predict(table)
    assert np.corrcoef(said, table.y)[0, 1] > 0.95
    again = run(final.code, table=table)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, atol=1e-9)
    np.testing.assert_allclose(final.model.predict(pd.DataFrame({"t": texts})), said, atol=1e-9)


@pytest.mark.parametrize("form", ["%Y-%m", "%b %Y", "%m/%Y", "quarter", "Q%q-%Y", "%G-W%V", "UTC"])
def test_months_quarters_and_weeks_are_read_again(form, tmp_path):
    kind = {"quarter": "Q", "Q%q-%Y": "Q", "%G-W%V": "W"}.get(form, "M")
    days = pd.period_range("1990-01", periods=120, freq=kind).to_timestamp().to_series().reset_index(drop=True)
    if form == "UTC":
        texts = days.dt.strftime("%Y-%m-%d 00:00:00") + np.where(days.index % 2, " UTC", ".000 UTC")
    elif kind == "Q":
        texts = days.dt.to_period("Q").dt.strftime(form if "%" in form else "%YQ%q")
    else:
        texts = days.dt.strftime(form)
    y = np.sin(2 * np.pi * days.dt.day_of_year / 365) + 0.001 * np.arange(120)
    pd.DataFrame({"sold": texts, "y": y}).to_csv(tmp_path / "months.csv", index=False)
    frame = pd.read_csv(tmp_path / "months.csv")
    final = made(str(tmp_path / "months.csv"), "linear")
    said = final.model.predict(frame)
    assert np.corrcoef(said, y)[0, 1] > 0.95
    np.testing.assert_allclose(final.model.predict(frame[50:]), said[50:])
    zone = "'sold' have no time zone. They are read as times of UTC"
    with pytest.warns(UserWarning, match=zone) if form == "UTC" else nullcontext():
        np.testing.assert_allclose(final.model.predict(frame.assign(sold=days)), said, atol=1e-3)
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)


def test_numbers_with_decimal_commas_and_words(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200) * 1000
    cells = [f"{own:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".") for own in x]
    cells[5], cells[9] = "n.d.", "n.d."
    target = [f"{own:.3f}".replace(".", ",") for own in 2 * x]
    path = tmp_path / "comma.csv"
    pd.DataFrame({"x": cells, "z": rng.integers(0, 9, 200), "y": target}).to_csv(path, sep=";", index=False)
    final = made(str(path), "linear")
    said = final.model.predict(pd.read_csv(path, sep=";"))
    assert np.abs(said[50:] - 2 * x[50:]).max() < 200
    np.testing.assert_array_equal(final.model.predict(pl.read_csv(path, separator=";")), said)
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)


@pytest.mark.parametrize("target", ["conc", "price"])
@pytest.mark.parametrize("marks", [",.", ".,"])
def test_columns_with_two_decimal_marks_are_predicted_as_they_were_studied(tmp_path, marks, target):
    rng = np.random.default_rng(0)
    price = rng.uniform(1, 12, 200).round(2)
    values = {"price": price, "conc": (0.1 * price + 0.3 + 0.01 * rng.normal(size=200)).round(3)}
    cells = {
        name: [f"{value:.{3 if name == 'conc' else 2}f}".replace(".", mark) for value in own]
        for mark, (name, own) in zip(marks, values.items(), strict=True)
    }
    path = tmp_path / "marks.csv"
    pd.DataFrame(cells).to_csv(path, sep=";", index=False)
    final = made(str(path), "linear", target)
    said = final.model.predict(pd.read_csv(path, sep=";"))
    assert np.abs(said - values[target]).max() < 0.05 * np.ptp(values[target])
    np.testing.assert_array_equal(final.model.predict(pd.read_csv(path, sep=";", dtype=str)), said)
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)


def test_a_new_cell_with_the_other_decimal_mark_is_no_thousand():
    table = pl.DataFrame({"a": ["0,890", "6,00", "1,234"]})
    with pytest.warns(UserWarning, match="2 cells of 'a', such as '0,890', cannot be numbers.*2 count as missing"):
        assert PlainTable(["a"], numbers=["a"]).fit_transform(table)["a"].to_list() == [None, None, 1234.0]
    table = pl.DataFrame({"a": ["0.890", "6.00", "1.234"]})
    with pytest.warns(UserWarning, match="2 of these cells are read with a decimal point"):
        plain = PlainTable(["a"], numbers=["a"], decimal=",").fit_transform(table)
    assert plain["a"].to_list() == [0.89, 6.0, 1234.0]


@pytest.mark.parametrize("unit", ["", "$", " €"])
def test_negative_numbers_in_brackets(unit, tmp_path):
    """As accountants write them; (1,250.00) was a label that never repeats."""
    x = np.random.default_rng(0).normal(size=200) * 1000
    inside = [f"${abs(own):,.2f}" if unit == "$" else f"{abs(own):,.2f}{unit}" for own in x]
    cells = [f"({text})" if own < 0 else text for own, text in zip(x, inside, strict=True)]
    path = tmp_path / "books.csv"
    pd.DataFrame({"x": cells, "z": np.arange(200) % 7, "y": 2 * x}).to_csv(path, index=False)
    final = made(str(path), "linear")
    said = final.model.predict(pd.read_csv(path))
    assert np.abs(said - 2 * x).max() < 200
    np.testing.assert_array_equal(final.model.predict(pl.read_csv(path)), said)
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)


def test_numbers_with_units(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 4000, size=200)
    cells = [f"{own:,.2f}".replace(",", " ").replace(".", ",") + " €" for own in x]
    path = tmp_path / "units.csv"
    frame = pd.DataFrame({"x": cells, "w": [f"{own} kg" for own in rng.integers(0, 9, 200)]})
    frame.assign(y=[f"{own:.3f} €".replace(".", ",") for own in 2 * x]).to_csv(path, sep=";", index=False)
    final = made(str(path), "linear")
    said = final.model.predict(pd.read_csv(path, sep=";"))
    assert np.abs(said - 2 * x).max() < 200
    np.testing.assert_array_equal(final.model.predict(pl.read_csv(path, separator=";")), said)
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)


@pytest.mark.parametrize("orient", ["records", "columns", "index", "split", "lines", "nested"])
def test_the_program_reads_every_json(orient, tmp_path):
    frame, path = table().dropna().reset_index(drop=True), tmp_path / "table.json"
    if orient == "nested":
        path.write_text(json.dumps({"made": 1, "data": json.loads(frame.to_json(orient="records"))}))
    else:
        frame.to_json(path, orient="records" if orient == "lines" else orient, lines=orient == "lines")
    final = made(str(path))
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), final.model.predict(frame), rtol=1e-6)


@pytest.mark.parametrize("kind", ["tsv", "parquet", "feather", "jsonl", "csv.gz", "utf16", "blanks", "polars", "inf"])
def test_the_program_reads_the_users_file(kind, tmp_path):
    frame = table().assign(day=pd.date_range("2021-01-01", periods=ROWS).astype(str)).dropna()
    path, data, extra = tmp_path / f"table.{kind}", None, {}
    cells = pl.DataFrame(frame.to_dict("list"))
    if kind in ("tsv", "utf16", "blanks", "csv.gz"):
        path = tmp_path / {"utf16": "table.csv", "blanks": "table.dat"}.get(kind, f"table.{kind}")
        separator = {"tsv": "\t", "blanks": " "}.get(kind, ",")
        frame.to_csv(path, index=False, sep=separator, encoding="utf-16" if kind == "utf16" else None)
    elif kind == "polars":
        data = extra["table"] = cells
    elif kind == "inf":
        frame.loc[frame.index[3], "wide"] = np.inf
        data = extra["table"] = frame
    else:
        {"parquet": cells.write_parquet, "feather": cells.write_ipc, "jsonl": cells.write_ndjson}[kind](path)
    final = made(str(path) if data is None else data)
    again = run(final.code, **extra)
    said = final.model.predict(frame)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)
    assert "day" in final.why


def test_numbers_that_stand_for_missing_cells(tmp_path):
    path = tmp_path / "na.csv"
    frame = table().assign(long=lambda own: own.long.round(3))
    frame.loc[::5, "long"] = 999
    frame.to_csv(path, index=False)
    final = made(str(path), "linear", na=("999", "NA"))
    said = final.model.predict(pd.read_csv(path))
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)
    assert np.abs(said).max() < 100


def test_names_of_columns_that_are_no_texts():
    frame = table()
    numbered = frame.set_axis(range(5), axis=1)
    expected = made(frame).model.predict(frame)
    np.testing.assert_allclose(made(numbered, target="4").model.predict(numbered), expected)
    two = frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1)
    np.testing.assert_allclose(made(two, target="('a', 'y')").model.predict(two), expected)


@pytest.mark.parametrize(("cells", "thousands"), [("30,5", False), ("1.230,5", True)])
def test_points_in_dates_are_not_taken_for_thousands(cells, thousands, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2020;{i % 9},5;{cells if i % 3 else '7,25'}" for i in range(60)]
    rows = rows if not thousands else [row.partition(";")[2] for row in rows]
    head = "day;x;y" if not thousands else "x;y"
    (tmp_path / "t.csv").write_text("\n".join([head, *rng.permutation(rows)]))
    assert ("thousands" in made(str(tmp_path / "t.csv")).code) == thousands


def test_a_category_is_a_column_as_in_the_study():
    """Of 40 categories none has a row in twenty but the first, which has half of the rows."""
    rng = np.random.default_rng(0)
    code = np.where(rng.random(400) < 0.5, 0, rng.integers(1, 41, 400))
    frame = pd.DataFrame({"code": [f"c{own}" for own in code], "y": rng.normal(size=400) + (code == 0)})
    columns = dict(made(frame).model.steps)["columns"]
    hot = columns.named_transformers_["many"].named_steps["onehotencoder"]
    assert hot.get_feature_names_out().tolist() == ["code_c0", "code_infrequent_sklearn"]


@pytest.mark.parametrize("kind", ["whole", "texts", "decimals", "gaps", "categorical", "enum"])
def test_declared_categories_that_are_numbers_stay_categories(kind):
    rng = np.random.default_rng(5)
    k, y = np.arange(160) % 8, rng.normal(size=160)
    y += np.array([3.0, -2, 5, -4, 1, -5, 4, -2])[k]
    cells = {"texts": k.astype(str), "decimals": k * 1.0, "gaps": np.where(np.arange(160) < 9, np.nan, k)}.get(kind, k)
    frame = pd.DataFrame({"k": pd.Categorical(cells), "u": rng.normal(size=160), "y": y})
    if kind in ("categorical", "enum"):
        own = pl.Categorical if kind == "categorical" else pl.Enum([str(j) for j in range(8)])
        frame = pl.DataFrame({name: frame[name].to_numpy() for name in frame}).cast({"k": pl.String}).cast({"k": own})
    final = made(frame)
    said = final.model.predict(frame)
    new = pd.DataFrame({"k": k, "u": np.asarray(frame["u"])})
    whole = final.model.predict(new)
    np.testing.assert_allclose(said[9:], whole[9:])
    assert np.corrcoef(whole, y)[0, 1] > 0.9
    for other in (k * 1.0, k.astype(str), k.astype(object), pd.Categorical(k), pd.Categorical(k.astype(str))):
        np.testing.assert_allclose(final.model.predict(new.assign(k=other)), whole)
    again = run(final.code, table=frame)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)


@pytest.mark.parametrize("name", ["linear", "rbf", "boosting"])
def test_a_model_of_a_sparse_matrix_takes_sparse_and_filled_ones(name):
    rng = np.random.default_rng(0)
    x = scipy.sparse.random(120, 6, density=0.4, format="csr", random_state=0)
    y = x.toarray() @ rng.normal(size=6) + 0.01 * rng.normal(size=120)
    final = made((x, y), name)
    said = final.model.predict(x)
    assert np.corrcoef(said, y)[0, 1] > 0.5
    for other in (x.toarray(), x.tocoo(), scipy.sparse.csc_array(x)):
        np.testing.assert_allclose(final.model.predict(other), said)
    again = run(final.code, x=x, y=y)
    np.testing.assert_allclose(again["model"].predict(x.toarray()), said, rtol=1e-9)
    stored = skops.io.dumps(final.model)
    loaded = skops.io.loads(stored, trusted=skops.io.get_untrusted_types(data=stored))
    np.testing.assert_array_equal(loaded.predict(x), said)


def test_the_same_instants_in_another_zone_or_file_get_the_same_prediction(tmp_path):
    times = pd.Series(pd.date_range("2024-06-01", periods=ROWS, freq="h", tz="America/New_York"))
    y = 3 * np.sin(2 * np.pi * times.dt.hour / 24)
    final = made(pd.DataFrame({"t": times, "y": y}), "linear")
    said = final.model.predict(pd.DataFrame({"t": times}))
    assert np.corrcoef(said, y)[0, 1] > 0.95
    times.to_frame("t").to_csv(tmp_path / "times.csv", index=False)
    for same in (times.dt.tz_convert("UTC").to_frame("t"), pd.read_csv(tmp_path / "times.csv")):
        np.testing.assert_allclose(final.model.predict(same), said, atol=1e-9)
    again = run(final.code, table=pd.DataFrame({"t": times, "y": y}))
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, atol=1e-9)


def test_a_saved_model_reads_numbers_as_the_study_does(tmp_path):
    """A point among decimal commas was a mark of thousands for the saved model alone, so 2.5 became 25."""
    x = np.arange(ROWS) / 7
    texts = [f"{own:.2f}" if j == 3 else f"{own:.2f}".replace(".", ",") for j, own in enumerate(x)]
    pd.DataFrame({"x": texts, "y": 2 * x}).to_csv(tmp_path / "mixed.csv", index=False, sep=";", decimal=",")
    final = made(str(tmp_path / "mixed.csv"), "linear")
    with pytest.warns(UserWarning, match="1 cell of 'x', such as '0.43', cannot be numbers in the format"):
        said = final.model.predict(pd.DataFrame({"x": texts}))
    np.testing.assert_allclose(said, 2 * x, atol=0.01)


def test_points_between_thousands_are_read_as_the_study_reads_them(tmp_path):
    rng = np.random.default_rng(3)
    x, z = rng.integers(1000, 9999, 200), rng.normal(size=200).round(2)
    y = x / 1000 + z
    cells = {"x": [f"{own:,}".replace(",", ".") for own in x], "z": [f"{own}".replace(".", ",") for own in z], "y": y}
    path = tmp_path / "grouped.csv"
    pd.DataFrame(cells).to_csv(path, sep=";", index=False, decimal=",")
    final = made(str(path), "linear")
    said = final.model.predict(pd.read_csv(path, sep=";", dtype=str))
    assert np.abs(said - y).max() < 0.2
    for how in ({"decimal": ","}, {"decimal": ",", "thousands": "."}):
        np.testing.assert_allclose(final.model.predict(pd.read_csv(path, sep=";", **how)), said)
    for lost in (pd.read_csv(path, sep=";"), pl.read_csv(path, separator=";")):
        with pytest.raises(DataError, match=r"'x' was read in another way.*thousands='\.'"):
            final.model.predict(lost)
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-9)
