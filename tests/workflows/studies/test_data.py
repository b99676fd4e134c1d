"""What a user's table becomes; how bad tables are refused is tested through the command line."""

import datetime
import zipfile

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lemmata.bundled import SETS
from lemmata.errors import DataError, MemoryPlanError, SettingError
from lemmata.workflows.studies import _data, load_dataset
from lemmata.workflows.studies._calendar import WEEKDAYS
from lemmata.workflows.studies._named_columns import one_name
from lemmata.workflows.studies._overview import describe

RNG = np.random.default_rng(0)
N = 60
EPS = np.finfo(float).eps


def frame(**columns):
    return pl.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": RNG.normal(size=N), **columns})


def save(table, path):
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)
    return str(path)


@pytest.mark.parametrize("name", SETS.sets)
def test_every_bundled_set_is_standardised_and_centred(name):
    data = load_dataset(name)
    n = len(data.x)
    np.testing.assert_allclose(data.x.mean(0), 0, rtol=0, atol=n * EPS)
    np.testing.assert_allclose(data.x.var(0), 1, rtol=0, atol=n * EPS)
    np.testing.assert_allclose(data.y.mean(0), 0, rtol=0, atol=n * EPS)
    assert len(data.features) == data.x.shape[1]
    assert (data.classes is None) == (data.task == "regression")


def test_digits_agrees_with_scikit_learn():
    from sklearn.datasets import load_digits

    data, bunch = load_dataset("digits"), load_digits()
    keep = np.ptp(bunch.data, axis=0) > 0
    np.testing.assert_allclose(data.x, StandardScaler().fit_transform(bunch.data[:, keep]), rtol=0, atol=1e4 * EPS)
    one_hot = np.asarray(OneHotEncoder(sparse_output=False).fit_transform(bunch.target[:, None]))
    np.testing.assert_allclose(data.y, one_hot - one_hot.mean(0), rtol=0, atol=4 * EPS)
    shares = one_hot.mean(0)
    assert data.baseline_error == pytest.approx(1 - (shares**2).sum(), rel=N * EPS)
    assert data.findings[0].columns == ("pixel_0_0", "pixel_4_0", "pixel_4_7")
    np.testing.assert_array_equal(data.inputs, bunch.data[:, keep])
    np.testing.assert_array_equal(data.targets, one_hot)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_keeps_the_values_of_a_regression_target(tmp_path, suffix):
    table = frame()
    data = load_dataset(save(table, tmp_path / f"t{suffix}"), "y")
    assert (data.task, data.features, data.target, data.rows, data.columns) == ("regression", ("a", "b"), "y", N, 2)
    np.testing.assert_allclose((data.y * data.y_scale + data.y_mean)[:, 0], table["y"].to_numpy(), rtol=0, atol=N * EPS)
    assert data.baseline_error == pytest.approx(1, abs=N * EPS)


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        (["yes", "no"] * (N // 2), "classification", ("no", "yes")),
        ([True, False] * (N // 2), "classification", ("0", "1")),
        ([0, 1, 2] * (N // 3), "classification", ("0", "1", "2")),
        ([0.0, 1.0] * (N // 2), "classification", ("0", "1")),
        (["0", "1"] * (N // 2), "classification", ("0", "1")),
        ([0.5, 1.0] * (N // 2), "regression", None),
        (list(range(N)), "regression", None),
        (list(range(20)) * 3, "regression", None),
    ],
)
def test_what_counts_as_classes(tmp_path, values, task, classes):
    data = load_dataset(save(frame(y=values), tmp_path / "t.parquet"), "y")
    assert (data.task, data.classes) == (task, classes)


def test_the_task_can_be_given(tmp_path):
    path = save(frame(y=[0, 1, 2] * (N // 3)), tmp_path / "t.csv")
    assert load_dataset(path, "y", task="regression").y.shape == (N, 1)
    path = save(frame(y=[0.5, 1.5] * (N // 2)), tmp_path / "u.csv")
    assert load_dataset(path, "y", task="classification").classes == ("0.5", "1.5")


def test_each_kind_of_column(tmp_path):
    table = frame(
        colour=["red", "green", "blue"] * (N // 3),
        flag=[True, False] * (N // 2),
        stored_as_text=[f" {value * value} " for value in range(N)],
        same=[7] * N,
        day=[datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(N)],
        clock=[datetime.time(i % 24, 30) for i in range(N)],
        length=[datetime.timedelta(hours=i * i) for i in range(N)],
    )
    data = load_dataset(save(table, tmp_path / "t.parquet"), "y")
    numbers = ("a", "b", "flag", "stored_as_text", "day", "clock", "length")
    weekdays = tuple(f"day: {name}" for name in WEEKDAYS)
    assert data.features == (*numbers, "colour = blue", "colour = green", "colour = red", *weekdays)
    raw = dict(zip(data.raw_features, data.inputs.T, strict=True))
    np.testing.assert_array_equal(raw["stored_as_text"], np.arange(N) ** 2)
    np.testing.assert_array_equal(raw["day"], np.arange(N))
    np.testing.assert_allclose(raw["clock"], (np.arange(N) % 24 + 0.5) / 24, rtol=4 * EPS)
    np.testing.assert_allclose(raw["length"], np.arange(N) ** 2 / 24, rtol=4 * EPS)
    assert "one-hot encoded text column 'colour' (3 categories)" in data.notes


@pytest.mark.parametrize(
    "pattern", ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S"]
)
def test_dates_written_as_text_are_read_where_their_order_shows(pattern):
    days = [datetime.datetime(2020, 1, 9) + datetime.timedelta(days=5 * i) for i in range(N)]
    data = load_dataset(frame(day=["", *[day.strftime(pattern) for day in days[1:]]]), "y")
    np.testing.assert_array_equal(data.inputs[:, 2], [np.nan, *(5.0 * np.arange(N - 1))])


def test_dates_whose_order_does_not_show_are_not_guessed():
    days = [f"{i % 12 + 1:02}/01/{1990 + i // 12}" for i in range(N)]
    with pytest.raises(DataError, match="write dates as YYYY-MM-DD"):
        load_dataset(frame(day=days), "y")


def test_missing_cells_are_imputed_with_a_notice(tmp_path):
    a = RNG.normal(size=N)
    a[3], a[5] = np.nan, np.inf
    path = save(frame(a=a, c=[None, *["u", "v"] * (N // 2 - 1), "u"], e=[None] * N), tmp_path / "t.parquet")
    data = load_dataset(path, "y")
    assert len(data.x) == N
    assert np.flatnonzero(np.isnan(data.inputs[:, 0])).tolist() == [3, 5]
    assert data.raw_features == ("a", "b", "c")
    text = " | ".join(data.notes)
    assert "the median of the training rows and marked in an indicator column ('a': 2)" in text
    assert "are a category of their own ('c': 1); --drop-missing drops the 3 rows with such cells instead" in text
    assert len(load_dataset(path, "y", drop_missing=True).x) == N - 3


def test_rows_without_target_are_dropped_with_a_notice(tmp_path):
    y = RNG.normal(size=N)
    y[[2, 7]] = np.nan, np.inf
    data = load_dataset(save(frame(y=y), tmp_path / "t.parquet"), "y")
    assert data.index.tolist() == [i for i in range(N) if i not in (2, 7)]
    assert f"dropped 2 rows of {N}, because their target is missing, NaN or infinite" in data.notes


def test_blank_text_is_missing():
    data = load_dataset(frame(c=["u", "v", " "] * (N // 3), n=["1", "", "7"] * (N // 3)), "y")
    assert data.categories == (None, None, ("u", "v"), None)
    assert np.isnan(data.inputs[:, 2:]).sum(axis=0).tolist() == [N // 3, N // 3]


def test_a_column_that_only_tells_where_it_is_missing(tmp_path):
    data = load_dataset(frame(c=[2.5, None] * (N // 2)), "y")
    assert data.features[2:] == ("c = 2.5", "c is missing")


def test_missing_rows_are_dropped_on_request_and_counted(tmp_path):
    a = RNG.normal(size=N)
    a[3], a[5] = np.nan, np.inf
    data = load_dataset(
        save(frame(a=a, c=[None, *["u", "v"] * (N // 2 - 1), "u"]), tmp_path / "t.parquet"), "y", drop_missing=True
    )
    assert len(data.x) == N - 3
    assert data.index.tolist() == [i for i in range(N) if i not in (0, 3, 5)]
    assert any(note.startswith(f"dropped 3 of {N} rows") and "'a': 2, 'c': 1" in note for note in data.notes)


def test_duplicates_are_counted_with_examples(tmp_path):
    table = pl.concat([frame(), frame()[:0]])
    table = pl.concat([table, table[[4, 4, 9]]])
    data = load_dataset(save(table, tmp_path / "t.csv"), "y")
    assert data.duplicates.rows == 3
    assert data.duplicates.examples == ((4, N), (4, N + 1), (9, N + 2))


def test_huge_and_tiny_entries_stay_finite(tmp_path):
    table = frame(huge=RNG.normal(size=N) * 1e300, tiny=RNG.normal(size=N) * 1e-300)
    data = load_dataset(save(table, tmp_path / "t.parquet"), "y")
    np.testing.assert_allclose(data.x.var(0), 1, rtol=0, atol=N * EPS)


def test_a_class_of_one_row_is_noted(tmp_path):
    data = load_dataset(save(frame(y=["u", "v"] * (N // 2 - 1) + ["u", "w"]), tmp_path / "t.csv"), "y")
    assert "1 class with a single row cannot be learned: w" in data.notes


def test_rows_are_capped_as_asked_or_by_the_cells(tmp_path, monkeypatch):
    path = save(frame(), tmp_path / "t.csv")
    capped = load_dataset(path, "y", max_rows=30)
    assert len(capped.x) == 30
    assert capped.rows == capped.available == N
    assert any("used 30 of 60 rows, drawn at random, as --max-rows asks" in note for note in capped.notes)
    monkeypatch.setattr(_data, "MOST_CELLS", 40 * 2)
    planned = load_dataset(path, "y")
    assert len(planned.x) == 40
    assert any("because all 60 rows would have more than 80 encoded cells" in note for note in planned.notes)
    assert load_dataset(path, "y", max_rows=30, seed=1).index.tolist() != capped.index.tolist()


def test_an_array_is_not_the_name_of_a_column():
    with pytest.raises(SettingError, match="--group is not the name of a column; found type list"):
        one_name("group", ["a"])
    assert one_name("target", 4) == "4"


@pytest.mark.parametrize("free", [2**33, 2**22])
def test_the_rows_that_are_used_do_not_depend_on_the_memory_that_is_free(monkeypatch, free):
    """25,000 rows were cut to 7,092 on a machine with less memory; now all are used, or the study is refused."""
    monkeypatch.setattr(_data, "available_bytes", lambda: free)
    table = pl.DataFrame({"a": RNG.normal(size=25_000), "b": RNG.normal(size=25_000), "y": RNG.normal(size=25_000)})
    if free == 2**33:
        data = load_dataset(table, "y")
        assert len(data.targets) == data.available == 25_000
        return
    monkeypatch.setattr(_data, "available_bytes", lambda: 2**20)
    with pytest.raises(MemoryPlanError, match=r"25,000 rows of 2 encoded columns .*use fewer rows: --max-rows \d+"):
        load_dataset(table, "y")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_too_large_to_read_is_sampled(tmp_path, suffix):
    rows = 20_000
    table = pl.DataFrame({"a": RNG.normal(size=rows), "b": RNG.normal(size=rows), "y": RNG.normal(size=rows)})
    data = load_dataset(save(table, tmp_path / f"t{suffix}"), "y", limit_bytes=200_000)
    assert data.rows == data.available == rows
    assert 20 <= len(data.x) < rows / 2
    assert any("too large to read whole" in note and "bytes" in note for note in data.notes)


def test_npz_with_a_matrix_and_a_target_array(tmp_path):
    x, y = RNG.normal(size=(N, 4, 2)), RNG.normal(size=(N, 3))
    np.savez(tmp_path / "t.npz", X=x, y=y)
    data = load_dataset(str(tmp_path / "t.npz"))
    assert data.x.shape == (N, 8)
    assert data.y.shape == (N, 3)
    assert data.baseline_error == pytest.approx(3, rel=N * EPS)
    np.savez(tmp_path / "u.npz", a=x[:, 0, 0], b=x[:, 1, 0], kind=np.array(["u", "v"] * (N // 2)))
    assert load_dataset(str(tmp_path / "u.npz"), "kind").features == ("a", "b")


def test_npz_too_large_is_refused_with_the_bytes(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.zeros((1000, 100)), y=np.zeros(1000))
    with pytest.raises(MemoryPlanError, match=r"80\d+ bytes"):
        load_dataset(str(tmp_path / "t.npz"), limit_bytes=1000)


def test_other_separators_and_a_column_that_counts_the_rows(tmp_path):
    table = pl.DataFrame({"": np.arange(N)}).hstack(frame())
    table.write_csv(tmp_path / "t.csv", separator=";")
    data = load_dataset(str(tmp_path / "t.csv"), "y")
    assert data.features == ("a", "b")
    assert any("only numbers the rows" in note for note in data.notes)


def test_columns_can_be_left_out(tmp_path):
    path = save(frame(name=[f"row {i}" for i in range(N)]), tmp_path / "t.csv")
    data = load_dataset(path, "y", drop_columns=["name"])
    assert data.features == ("a", "b")


def test_names_with_markup_and_control_characters_are_kept_as_they_are(tmp_path):
    name = "<script>alert(1)</script>\x07\n"
    data = load_dataset(save(frame(**{name: RNG.normal(size=N)}), tmp_path / "t.parquet"), "y")
    assert name in data.features


@pytest.mark.parametrize("blank", ["\n", "\r\n  \r\n\r\n", "\ufeff\n \t\n"])
def test_blank_lines_above_the_header_are_skipped(tmp_path, blank):
    (tmp_path / "t.csv").write_text(blank + frame().write_csv(), encoding="utf-8", newline="")
    data = load_dataset(str(tmp_path / "t.csv"), "y")
    assert (len(data.x), data.features) == (N, ("a", "b"))


def test_a_name_may_begin_with_a_hash(tmp_path):
    frame().rename({"a": "#a"}).write_csv(tmp_path / "t.csv")
    assert load_dataset(str(tmp_path / "t.csv"), "y").features == ("#a", "b")


def test_members_that_are_no_columns_are_noted(tmp_path):
    np.savez(tmp_path / "t.npz", X=RNG.normal(size=(N, 2)), y=RNG.normal(size=N), scale=3.0)
    with zipfile.ZipFile(tmp_path / "t.npz", "a") as archive:
        archive.writestr("readme.txt", "hello")
    data = load_dataset(str(tmp_path / "t.npz"))
    assert data.features == ("X[0]", "X[1]")
    assert "ignored entries that are not arrays: readme.txt" in data.notes
    assert "ignored arrays that hold a single value: scale" in data.notes


def test_types_that_only_arrays_have(tmp_path):
    x = RNG.normal(size=(N, 3))
    np.savez(
        tmp_path / "t.npz",
        X=x.astype(np.longdouble),
        half=x[:, 0].astype(np.float16),
        big=np.arange(N, dtype=">i4") * 2 % (N + 1),
        day=np.datetime64("2020-01-01") + np.arange(N) * np.timedelta64(2, "D"),
        y=np.array([b"no", b"yes"] * (N // 2)),
    )
    data = load_dataset(str(tmp_path / "t.npz"))
    assert data.classes == ("no", "yes")
    assert data.features[:6] == ("X[0]", "X[1]", "X[2]", "half", "big", "day")
    assert data.features[6:] == tuple(f"day: {name}" for name in WEEKDAYS)
    np.testing.assert_allclose(data.x[:, :3], StandardScaler().fit_transform(x), rtol=0, atol=N * EPS)
    np.testing.assert_array_equal(data.inputs[:, 4], np.arange(N) * 2 % (N + 1))
    np.testing.assert_array_equal(data.inputs[:, 5], np.arange(N) * 2)


def test_few_categories_that_may_be_numbers_are_noted(tmp_path):
    data = load_dataset(save(frame(c=["1,500", "2,500"] * (N // 2)), tmp_path / "t.csv"), "y")
    assert any("'c' (2 categories); if they are numbers, add --decimal , if a comma" in note for note in data.notes)
    data = load_dataset(save(frame(c=["red", "green"] * (N // 2)), tmp_path / "u.csv"), "y")
    assert any(note.endswith("'c' (2 categories)") for note in data.notes)


@pytest.mark.parametrize("options", [{"drop_missing": True}, {"drop_missing": True, "max_rows": 40}])
def test_duplicates_are_told_by_their_rows_in_the_file(tmp_path, options):
    a = RNG.normal(size=N)
    a[:3], a[20:] = np.nan, 7.0
    table = frame(a=a, b=np.where(np.arange(N) < 20, RNG.normal(size=N), 7.0))
    data = load_dataset(save(table, tmp_path / "t.parquet"), "y", **options)
    examples = [[int(data.index[i]) for i in pair] for pair in data.duplicates.examples]
    first = int(data.index[data.index >= 20][0])
    assert examples
    assert [pair[0] for pair in examples] == [first] * len(examples)
    assert [pair[1] for pair in examples] == data.index[data.index > first][:5].tolist()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rows_of_a_sampled_table_are_those_of_the_file(tmp_path, suffix):
    rows = 20_000
    table = pl.DataFrame({"a": RNG.normal(size=rows), "y": np.arange(rows) + 0.5})
    data = load_dataset(save(table, tmp_path / f"t{suffix}"), "y", limit_bytes=200_000)
    np.testing.assert_allclose(data.y[:, 0] * data.y_scale + data.y_mean, data.index + 0.5, rtol=rows * EPS)


def test_the_record_tells_mean_and_deviation_of_the_target(tmp_path):
    table = frame()
    found = describe(load_dataset(save(table, tmp_path / "t.parquet"), "y"))
    y = table["y"].to_numpy()
    np.testing.assert_allclose([found.target_mean, found.target_sd], [y.mean(), np.std(y)], rtol=N * EPS, atol=N * EPS)
    assert [column.name for column in found.columns] == [name for name in table.columns if name != "y"]


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_npz_files_are_never_unpickled(tmp_path):
    trap = str(tmp_path / "trap")
    np.savez(tmp_path / "t.npz", X=np.array([Bomb(trap)] * N, dtype=object), y=np.arange(N))
    with pytest.raises(DataError, match="never unpickles"):
        load_dataset(str(tmp_path / "t.npz"))
    assert not (tmp_path / "trap").exists()


def test_a_group_is_a_number_for_each_value_and_rows_keep_it_when_drawn(tmp_path):
    table = frame(person=np.repeat(np.arange(N // 4), 4) * 10)
    data = load_dataset(save(table, tmp_path / "t.csv"), "y", group="person", max_rows=30)
    _, expected = np.unique(data.index // 4, return_inverse=True)
    assert data.groups.tolist() == expected.tolist()
    assert any("'person'" in note and "no group is split" in note for note in data.notes)


@pytest.mark.parametrize("given", [{}, {"group": "g"}, {"time": "t"}, {"group": "g", "time": "t"}])
def test_without_input_columns_only_those_that_decide_the_splits_are_offered(given):
    columns = {"y": [float(i) for i in range(20)], **{name: list(range(20)) for name in given.values()}}
    with pytest.raises(DataError, match="no input columns besides the target") as caught:
        load_dataset(pl.DataFrame(columns), "y", **given)
    offered = "".join(f"; --keep '{name}' makes it an input, too" for name in given.values())
    assert caught.value.remedy == f"check the separator of the file, or leave fewer columns out{offered}"


@pytest.mark.parametrize("na", [(), ("",)])
def test_a_target_of_ticks_and_empty_cells_is_refused_with_what_to_write(tmp_path, na):
    file = tmp_path / "ticks.csv"
    file.write_text("a,y\n" + "".join(f"{i * i % 37},{'x' * (i % 2)}\n" for i in range(60)))
    with pytest.raises(DataError, match=r"leaves out 30 rows without 'y'.*such as 'no'"):
        load_dataset(file, "y", na=na)
    file.write_text(file.read_text().replace(",\n", ",no\n"))
    assert load_dataset(file, "y", na=na).classes == ("no", "x")
