"""Tables, arrays, tokens one a line: what becomes of them, and what is refused, with the remedy."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import lemmata.workflows.comparisons._load as loading
from lemmata.errors import DataError, MemoryPlanError, SettingError, UnknownNameError
from lemmata.options import ComparisonOptions
from lemmata.workflows.comparisons import load_sequences
from lemmata.workflows.comparisons._sequences import standard_tokens
from tests.workflows.studies.test_memory import Frame


def table(rows=50, columns=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns)) * 10 + 3
    return pl.DataFrame({f"c{j}": x[:, j] for j in range(columns)} | {"y": x[:, 0] + rng.standard_normal(rows)})


def asked(**options):
    return ComparisonOptions(**({"target": "y", "sequence_length": 3} | options))


def lines(rows=45, seed=1):
    """One line a token: rows of 2 to 6 tokens, and their target."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(rows):
        length = int(rng.integers(2, 7))
        found += [(f"r{i:02d}", t, float(rng.standard_normal()), 0.5 * i) for t in range(length)]
    return pl.DataFrame(found, schema=["who", "when", "u", "y"], orient="row")


def test_columns_in_order_become_tokens():
    frame = table()
    found = load_sequences(frame, asked())
    assert found.x.shape == (50, 3, 2)
    raw = frame.drop("y").to_numpy().reshape(50, 3, 2)
    assert np.allclose(found.x, (raw - raw.mean(axis=(0, 1))) / raw.std(axis=(0, 1)))
    assert found.mask.all()
    assert found.y.mean() == pytest.approx(0)


def test_pandas_polars_and_arrays_are_the_same():
    frame = table()
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    other = load_sequences(Frame(columns), asked())
    x, y = frame.drop("y").to_numpy(), frame["y"].to_numpy()
    pair = load_sequences((x, y), ComparisonOptions(sequence_length=3))
    deep = load_sequences((x.reshape(50, 3, 2), y), ComparisonOptions())
    whole = load_sequences(frame, asked())
    for found in (other, pair, deep):
        assert np.allclose(found.x, whole.x)
        assert np.allclose(found.y, whole.y)


def test_an_archive_with_a_mask(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 5, 2)), rng.standard_normal(60)
    mask = np.arange(5) >= rng.integers(0, 3, 60)[:, None]
    np.savez(tmp_path / "rows.npz", x=x, y=y, mask=mask)
    found = load_sequences(str(tmp_path / "rows.npz"))
    assert np.array_equal(found.mask, mask)
    assert not found.x[~mask].any()
    assert found.x[mask].mean(axis=0) == pytest.approx(0, abs=1e-12)


def test_lines_become_rows_aligned_on_the_right(tmp_path):
    frame = lines()
    frame.sample(fraction=1.0, shuffle=True, seed=3).write_csv(tmp_path / "lines.csv")
    options = ComparisonOptions(id="who", time="when", target="y")
    found = load_sequences(str(tmp_path / "lines.csv"), options)
    lengths = frame.group_by("who", maintain_order=True).len()["len"].to_numpy()
    assert np.array_equal(found.mask.sum(axis=1), lengths)
    assert found.mask[:, -1].all()
    last = frame.group_by("who", maintain_order=True).last()["u"].to_numpy()
    assert np.corrcoef(found.x[:, -1, 0], last)[0, 1] == pytest.approx(1)
    first = frame.group_by("who", maintain_order=True).first()["u"].to_numpy()
    assert np.corrcoef(found.x[np.arange(45), found.mask.argmax(axis=1), 0], first)[0, 1] == pytest.approx(1)


def test_longer_rows_keep_their_last_tokens():
    options = ComparisonOptions(id="who", time="when", target="y", sequence_length=3)
    found = load_sequences(lines(), options)
    assert found.length == 3
    assert any("last 3 tokens" in note for note in found.notes)


def test_rows_are_drawn_where_there_are_too_many():
    found = load_sequences(table(rows=200), asked(max_rows=60))
    assert len(found.x) == 60
    assert any("used 60 of 200 rows" in note for note in found.notes)


def test_digits_are_rows_of_pixels():
    found = load_sequences("digits", ComparisonOptions(max_rows=800))
    assert (found.length, found.channels) == (8, 8)
    assert found.classes is not None
    assert found.shares.sum() == pytest.approx(1)


def with_cell(value):
    return table().with_columns(pl.when(pl.int_range(pl.len()) == 7).then(value).otherwise(pl.col("c1")).alias("c1"))


REFUSED = [
    ("no length", table, asked(sequence_length=None), SettingError, "one of [2, 3, 6]"),
    ("length 0", table, asked(sequence_length=0), DataError, "lemmata study"),
    ("length 1", table, asked(sequence_length=1), DataError, "lemmata study"),
    ("no divisor", table, asked(sequence_length=4), SettingError, "set --sequence-length to 3 or 6"),
    ("few rows", lambda: table(rows=39), asked(), DataError, "at least 40"),
    ("NaN", lambda: with_cell(float("nan")), asked(), DataError, "'c1': 1"),
    ("infinite", lambda: with_cell(float("inf")), asked(), DataError, "'c1': 1"),
    ("constant channel", lambda: table().with_columns(c0=pl.lit(1.0), c2=pl.lit(1.0), c4=pl.lit(1.0)), asked(),
     DataError, "channel 0"),
    ("text", lambda: table().with_columns(c3=pl.Series(["a", "b"] * 25)), asked(), DataError, "c3"),
    ("constant target", lambda: table().with_columns(y=pl.lit(2.0)), asked(), DataError, "constant"),
    ("no target", table, asked(target="z"), UnknownNameError, "'z'"),
    ("a name", lambda: "lokup", ComparisonOptions(), UnknownNameError, "did you mean lookup?"),
    ("no file", lambda: "nofile.csv", ComparisonOptions(), DataError,
     "bundled task or set; remedy: check the path; the bundled tasks are lookup, filter, motif, smooth, noise, hold, "
     "the bundled sets are digits, "),
    ("nothing", lambda: " ", ComparisonOptions(), DataError, "give one of lookup, filter,"),
    ("a directory", lambda: "/", ComparisonOptions(), DataError, "a bundled task or set"),
    ("a task's length", lambda: "motif", ComparisonOptions(sequence_length=8), SettingError, "64 tokens"),
    ("a task's length 1", lambda: "motif", ComparisonOptions(sequence_length=1), DataError, "lemmata study"),
    ("an unknown id", lines, ComparisonOptions(id="whom", target="y"), UnknownNameError, "'whom'"),
    ("a target that changes", lambda: lines().with_columns(y=pl.col("u")), ComparisonOptions(id="who", target="y"),
     DataError, "changes within"),
    ("equal times", lambda: lines().with_columns(when=pl.lit(1)),
     ComparisonOptions(id="who", time="when", target="y"), DataError, "equal times"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "options", "kind", "words"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_what_is_refused(make, options, kind, words):
    with pytest.raises(kind) as caught:
        load_sequences(make(), options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def arrays(**changed):
    rng = np.random.default_rng(0)
    parts = {"x": rng.standard_normal((50, 4, 2)), "y": rng.standard_normal(50), "mask": np.ones((50, 4), bool)}
    return tuple((parts | changed).values())


def test_masks_that_no_mixer_could_honour():
    left = np.tile([True, True, False, False], (50, 1))
    empty = np.ones((50, 4), bool)
    empty[3] = False
    short = np.ones((50, 3), bool)
    for mask, words in ((left, "right-aligned"), (empty, "without a token"), (short, "do not have matching shapes")):
        with pytest.raises(DataError, match=words):
            load_sequences(arrays(mask=mask))
    x = arrays()[0].copy()
    x[2, 1, 0] = np.nan
    with pytest.raises(DataError, match="row 2, position 1"):
        load_sequences(arrays(x=x))


def test_what_is_absent_may_be_anything():
    x, y, mask = arrays()
    mask[:, 0] = False
    x[:, 0] = np.nan
    assert np.isfinite(load_sequences((x, y, mask)).x).all()


def test_channels_of_any_size():
    """Near the largest and smallest numbers there are."""
    x = arrays()[0]
    found = standard_tokens("rows", x, np.ones((50, 4), bool))
    for factor in (1e300, 1e-300):
        assert np.allclose(standard_tokens("rows", factor * x, np.ones((50, 4), bool)), found)


def test_more_rows_than_fit_are_refused_with_the_number_that_does(monkeypatch):
    monkeypatch.setattr(loading, "available_bytes", lambda: 2 * 8 * (6 * 100**2 + 4 * 100 * 300))
    with pytest.raises(MemoryPlanError, match="--max-rows 100"):
        load_sequences("noise", ComparisonOptions()) if False else load_sequences(table(rows=400), asked(max_rows=400))
    found = load_sequences(table(rows=400), asked())
    assert len(found.x) == 100, "without --max-rows, as many as fit are drawn"


def test_options_that_are_refused():
    for options, words in (
        ({"families": "mlp,rnn"}, "families"), ({"families": ""}, "families"), ({"lengths": "64,x"}, "lengths"),
        ({"lengths": "1"}, "lengths"), ({"test": 1.0}, "test"), ({"repeats": 0}, "repeats"),
        ({"read": "first"}, "read"), ({"kernels": "deep"}, "kernels"), ({"time": "t"}, "--id"),
        ({"max_rows": 10}, "max-rows"), ({"seed": -1}, "seed"), ({"time_limit": 1.0}, "time-limit"),
    ):  # fmt: skip
        with pytest.raises(SettingError, match=words):
            ComparisonOptions(**options)
    assert ComparisonOptions(lengths="none").ladder == ()
    assert ComparisonOptions(lengths="256, 64").ladder == (64, 256)
    assert dataclasses.replace(ComparisonOptions(), families="conv,conv").family_names == ("conv",)
