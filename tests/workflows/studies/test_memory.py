"""Data frames, arrays and bunches in memory are read as a file of the same cells is."""

import numpy as np
import polars as pl
import pytest

from lemmata.errors import DataError
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._memory import table_in_memory

RNG = np.random.default_rng(0)
N = 60


class Frame:
    """What is asked of a pandas data frame, without pandas: names, and columns with their cells and where they lack."""

    def __init__(self, columns):
        self.columns, self._columns, self.iloc = list(columns), list(columns.values()), self

    def __getitem__(self, key):
        return Series(self._columns[key[1]])


class Series:
    def __init__(self, values, name=None):
        self.values, self.name = np.asarray(values), name

    def to_numpy(self):
        return self.values

    def __arrow_c_stream__(self, *_):
        raise ImportError("no pyarrow")

    def isna(self):
        return Series([cell is None or cell != cell for cell in self.values.tolist()])


TEXTS = np.array([*["u", "v", None] * (N // 3)], dtype=object)


@pytest.mark.parametrize("kind", ["polars", "pandas", "lazy", "pair", "bunch"])
def test_tables_in_memory(kind):
    columns = {"a": RNG.normal(size=N), "c": TEXTS, "day": np.datetime64("2020-01-01", "D") + np.arange(N)}
    y = RNG.normal(size=N)
    table = Frame({**columns, "y": y})
    polars = pl.DataFrame({name: values.tolist() for name, values in columns.items()} | {"y": y})
    inputs = Frame(columns)
    data = {
        "polars": polars,
        "pandas": table,
        "lazy": polars.lazy(),
        "pair": (inputs, Series(y, "y")),
        "bunch": {"data": inputs, "target": Series(y, "y"), "frame": None},
    }[kind]
    read = load_dataset(data, "y")
    assert read.raw_features == ("a", "c", "day")
    assert read.categories == (None, ("u", "v"), None)
    np.testing.assert_array_equal(read.inputs[:, 0], columns["a"])
    np.testing.assert_array_equal(read.inputs[:3, 1], [0, 1, np.nan])
    np.testing.assert_array_equal(read.inputs[:, 2], np.arange(N))
    np.testing.assert_array_equal(read.targets[:, 0], y)
    assert read.target == "y"


def test_a_pair_of_arrays():
    x, y = RNG.normal(size=(N, 3)), np.array(["u", "v"] * (N // 2))
    data = load_dataset((x, y))
    assert (data.target, data.classes, data.features) == ("y", ("u", "v"), ("x[0]", "x[1]", "x[2]"))
    np.testing.assert_array_equal(data.inputs, x)
    mixed = np.array([[1.5 * i, "uv"[i % 2]] for i in range(N)], dtype=object)
    assert load_dataset((mixed, RNG.normal(size=(N, 2)))).categories == (None, ("u", "v"))


def test_a_bunch_is_read_as_the_bundled_set():
    from sklearn.datasets import load_wine

    data, bundled = load_dataset(load_wine()), load_dataset("wine")
    assert (data.features, data.classes) == (bundled.features, bundled.classes)
    np.testing.assert_array_equal(data.x, bundled.x)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "type NoneType"),
        ({"a": [1.0]}, "type dict"),
        (np.zeros((N, 3)), "type ndarray"),
        ((np.zeros((N, 3)), np.zeros(N + 1)), r"x \(60, 3\), y \(61, 1\)"),
        ((np.zeros((N, 3)) * 1j, np.zeros(N)), "is complex"),
        (Frame({"a": np.zeros(N), 1: np.zeros(N), "1": np.zeros(N)}), "columns of the same name; found '1'"),
        (Frame({"b": np.array([{"c": 1}] * N), "a": np.zeros(N)}), "column 'b' is nested"),
    ],
)
def test_what_is_no_table_is_refused(data, words):
    with pytest.raises(DataError, match=words):
        load_dataset(data, "a")


def test_rows_are_given_back_in_the_library_they_came_in():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["u", "v", "w"]})
    own = table_in_memory(frame)
    assert own.of_polars
    assert own.as_given(["b", "a"], np.array([2, 0])).equals(pl.DataFrame({"b": ["w", "u"], "a": [3.0, 1.0]}))
    pair = table_in_memory((frame.select("a"), np.arange(3.0)))
    assert isinstance(pair.as_given(["a"], np.array([1])), pl.DataFrame)
    assert not table_in_memory((np.ones((3, 1)), np.arange(3.0))).of_polars
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: only its rows are given back by it")
    other = table_in_memory(pandas.DataFrame({"a": [1.0, 2.0, 3.0]}))
    assert not other.of_polars
    assert isinstance(other.as_given(["a"], np.array([1])), pandas.DataFrame)


@pytest.mark.parametrize(
    "data", [np.zeros(30, [("a", float), ("y", float)]), np.rec.array([(1.0, 2.0)] * 30), {"y": [1]}, [{"y": 1}]]
)
def test_data_with_named_columns_of_another_kind_are_sent_to_a_data_frame(data):
    with pytest.raises(DataError, match=r"remedy: give pandas.DataFrame\(data\)$"):
        load_dataset(data, "y")
