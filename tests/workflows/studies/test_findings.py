"""What is found in a table is there, and what is not there is not found."""

import datetime

import numpy as np
import polars as pl
import pytest
from sklearn import datasets

from lemmata.errors import DataError
from lemmata.workflows.records.studies import Finding
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._data import _about
from lemmata.workflows.studies._roles import Roles

RNG = np.random.default_rng(0)
N = 120


def frame(**columns):
    return pl.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": RNG.normal(size=N), **columns})


def found(table, target="y", **options):
    """The columns of each kind of finding."""
    data = load_dataset(table, target, **options)
    return {finding.kind: finding.columns for finding in data.findings}, data


def test_a_plain_table_has_no_findings():
    assert found(frame(flag=[True, False] * (N // 2), kind=RNG.choice(["u", "v"], N)))[0] == {}


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "diabetes"])
def test_sets_without_defects_have_no_findings(name):
    assert load_dataset(name).findings == ()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n", np.arange(N)),
        ("steps", np.arange(N) * 10),
        ("PassengerId", RNG.permutation(10 * N)[:N]),
        ("label", [f"P{i}" for i in range(N)]),
        ("state", [f"North {i} Dakota" for i in range(N)]),
    ],
)
def test_identifiers_are_left_out_and_named(name, values):
    kinds, data = found(frame(**{name: values}))
    assert kinds == {"identifier": (name,)}
    assert data.raw_features == ("a", "b")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pick", RNG.permutation(N) + 1),
        ("population", RNG.permutation(10 * N)[:N]),
        ("length", RNG.normal(size=N)),
        ("n", np.r_[0, np.arange(N - 1) * 2.5]),
    ],
)
def test_numbers_that_never_repeat_are_no_identifiers(name, values):
    kinds, data = found(frame(**{name: values}))
    assert kinds == {}
    assert name in data.raw_features


def test_an_identifier_can_be_kept_and_is_kept_where_it_is_the_only_input():
    kinds, data = found(frame(n=np.arange(N)), keep_columns=["n"])
    assert kinds == {}
    assert data.raw_features == ("a", "b", "n")
    kinds, data = found(frame(n=np.arange(N)).select("n", "y"))
    assert kinds == {"identifier": ("n",)}
    assert data.raw_features == ("n",)


Y = RNG.normal(size=N)
LEVELS = RNG.integers(0, 30, N)
CLASSES = np.array(["u", "v", "w"])[RNG.integers(0, 3, N)]
COMMON = max("uvw", key=CLASSES.tolist().count)
GAVE = np.arange(N) % 5 < 2


@pytest.mark.parametrize(
    ("y", "column", "words"),
    [
        (Y, Y, "equals 'y'"),
        (Y, 1.8 * Y + 32, "multiple of 'y'"),
        (Y, np.round(-5 * Y, 2), "multiple of 'y'"),
        (Y, np.exp(3 * Y), "monotone function of 'y'"),
        (Y, np.argsort(np.argsort(Y)) + 1, "monotone function of 'y'"),
        (Y * 1e200, np.exp(-3 * Y) * 1e-200, "monotone function of 'y'"),
        (LEVELS * 1.5, np.sin(1.0 + LEVELS), "determines 'y'"),
        (LEVELS % 7 + 0.5, [f"code {level % 14}" for level in LEVELS], "determines 'y'"),
        (CLASSES, np.char.add("is ", CLASSES), "determines 'y'"),
        (CLASSES, np.where(CLASSES == "v", 5.0, np.where(CLASSES == "u", 9.0, 0.0)) + RNG.random(N), "by thresholds"),
        (CLASSES, np.where(CLASSES == "v", None, RNG.random(N)), "is missing exactly in the rows in which 'y'"),
        (CLASSES, np.where(CLASSES == COMMON, "no", "yes"), f"shows in every row whether 'y' is '{COMMON}'"),
        (np.where(GAVE, np.exp(Y), 0.0), GAVE.astype(float), "shows in every row whether 'y' is 0"),
    ],
)
def test_a_column_that_gives_the_target_away(y, column, words):
    column = [None if cell is None else cell for cell in column]
    table = frame(y=y, leak=pl.Series(column, strict=False))
    kinds, data = found(table)
    assert kinds["leakage"] == ("leak",)
    text = next(finding.text for finding in data.findings if finding.kind == "leakage")
    assert words in text
    assert "--drop-column 'leak'" in text


def test_a_strong_column_is_no_leak():
    assert "leakage" not in found(frame(y=Y, strong=Y + 0.1 * RNG.normal(size=N)))[0]
    assert "leakage" not in found(frame(y=CLASSES, n=RNG.integers(0, 3, N)))[0]
    assert "leakage" not in {finding.kind for finding in load_dataset(datasets.load_iris()).findings}
    nearly = np.where(np.arange(N) == 7, ~GAVE, GAVE).astype(float)
    assert "leakage" not in found(frame(y=np.where(GAVE, np.exp(Y), 0.0), nearly=nearly))[0]


def test_copies_of_rows_make_no_column_a_leak():
    rows = pl.DataFrame({"a": RNG.normal(size=40), "b": RNG.normal(size=40), "y": RNG.normal(size=40)})
    kinds, data = found(pl.concat([rows] * 3))
    assert set(kinds) == {"repeats"}
    leaking = pl.concat([rows.with_columns(leak=2 * pl.col("y"), other=3 - pl.col("y"))] * 3)
    kinds, data = found(leaking)
    assert kinds["leakage"] == ("leak", "other")
    text = next(finding.text for finding in data.findings if finding.kind == "leakage")
    assert text.startswith("Each of 'leak', 'other' is a multiple of 'y'")
    assert "--drop-column 'leak' --drop-column 'other'" in text


def test_counts_that_become_classes_are_told_with_the_remedy():
    kinds, data = found(frame(y=RNG.poisson(2.0, N).clip(0, 5)))
    assert data.task == "classification"
    assert kinds == {"numbers": ("y",)}
    assert "--task regression" in data.findings[-1].text
    assert found(frame(y=RNG.poisson(2.0, N).clip(0, 5)), task="regression")[0] == {}
    assert found(frame(y=RNG.integers(0, 3, N)))[0] == {}
    assert found(frame(y=RNG.choice(["a1", "b2", "c", "d", "e", "f"], N)))[0] == {}


def test_constant_columns():
    kinds, data = found(frame(same=7, empty=pl.Series([None] * N, dtype=pl.Float64)))
    assert kinds == {"constant": ("same", "empty")}
    assert "dropped 2 constant or empty columns: same, empty" in data.findings[0].text
    assert data.raw_features == ("a", "b")


def test_repeated_rows():
    table = frame()
    kinds, data = found(pl.concat([table, table[:9]]))
    assert "repeats" in kinds
    assert "contradiction" not in kinds
    assert "9 rows repeat" in next(f.text for f in data.findings if f.kind == "repeats")


def test_rows_of_equal_inputs_and_different_targets():
    table = frame().with_columns(a=pl.Series(np.repeat(RNG.normal(size=N // 2), 2)), b=pl.lit(1.0))
    y = table["y"].to_numpy().reshape(-1, 2)
    kinds, data = found(table)
    assert "contradiction" in kinds
    share = y.var(axis=1).mean() / y.var()
    text = next(f.text for f in data.findings if f.kind == "contradiction")
    assert f"{N} rows" in text
    assert f"{100 * share:.1f} %" in text


def panel(rng, people=30, each=4):
    """A table of people with several rows each, in which the income belongs to the person."""
    n = people * each
    return {
        "individual": np.repeat(np.arange(people) + 1, each),
        "income": np.repeat(rng.integers(10, 60, people), each),
        "cost": rng.normal(size=n),
        "y": rng.normal(size=n),
    }


def test_groups_of_equal_size_are_found_and_suggested():
    kinds, data = found(pl.DataFrame(panel(RNG)))
    assert kinds == {"group": ("individual",)}
    text = data.findings[0].text
    for part in ("30 values with 4 rows each", "agree in 'income'", "--group 'individual'"):
        assert part in text
    kinds, data = found(pl.DataFrame(panel(RNG)), group="individual")
    assert kinds == {}
    assert data.raw_features == ("income", "cost")
    assert data.groups.tolist() == np.repeat(np.arange(30), 4).tolist()


def test_times_become_days_and_are_suggested():
    days = [datetime.date(2020, 1, 31) + datetime.timedelta(days=3 * i) for i in range(N)]
    kinds, data = found(frame(day=days))
    assert kinds == {"time": ("day",)}
    np.testing.assert_array_equal(data.inputs[:, 2], 3.0 * np.arange(N))
    kinds, data = found(frame(day=days[::-1]), time="day")
    assert kinds == {}
    assert data.raw_features == ("a", "b")
    np.testing.assert_array_equal(data.order, 3.0 * np.arange(N)[::-1])
    assert found(frame(day=days), time="day", keep_columns=["day"])[1].raw_features == ("a", "b", "day")


@pytest.mark.parametrize(("name", "values", "code"), [
    ("CAtBat", np.arange(N), False),
    ("catalogue", np.arange(N) % 9, False),
    ("cat", np.arange(N), False),
    ("cat", np.arange(N) % 9, True),
    ("cat", np.arange(N) % (N // 2), True),
    ("cat", np.arange(N) % (N // 2 + 1), False),
    ("cat", np.arange(N) % 3, True),
    ("cat", np.arange(N) % 2, False),
    ("code", np.arange(N) % (N // 2 + 1), True),
    ("SICCode", np.arange(N) % 9, True),
    ("PlotType", np.arange(N) % 5, True),
])  # fmt: skip
def test_quantities_are_no_codes(name, values, code):
    """Career at bats, 128 values in 130 rows, "looked like a code": C At Bat was read as "cat"."""
    kinds, _ = found(frame(**{name: RNG.permutation(values)}))
    assert ("code" in kinds) == code


def test_codes_are_named():
    kinds, data = found(frame(zip_code=RNG.choice([10115, 20095, 80331, 50667], N)))
    assert kinds == {"code": ("zip_code",)}
    assert data.categories == (None, None, None)


def test_heavy_tails():
    assert found(frame(y=np.exp(2 * RNG.normal(size=N))))[0] == {"tail": ("y",)}
    assert found(frame(y=RNG.uniform(size=N)))[0] == {}


def test_false_alarms_on_tables_of_noise_are_rare():
    kinds = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 200))
        table = {f"x{j}": rng.normal(size=n) for j in range(5)}
        table |= {f"i{j}": rng.integers(0, rng.integers(2, 40), n) for j in range(5)}
        table |= {f"t{j}": rng.choice(list("abcdefgh")[: rng.integers(2, 8)], n) for j in range(3)}
        y = rng.normal(size=n) if seed % 2 else rng.integers(0, 3, n)
        kinds += [finding.kind for finding in load_dataset(pl.DataFrame({**table, "y": y}), "y").findings]
    assert kinds == []


def test_texts_of_many_values_keep_the_frequent_ones():
    names = [f"city {i}" for i in range(40) for _ in range(3 + 20 * (i < 5))]
    table = pl.DataFrame({"city": names, "x": RNG.normal(size=len(names)), "y": RNG.normal(size=len(names))})
    data = load_dataset(table, "y")
    assert data.categories[0] == (*(f"city {i}" for i in range(5)), "other")
    assert (data.inputs[:, 0] == 5).sum() == 35 * 3
    assert any("the 5 most frequent categories also have columns" in note for note in data.notes)
    assert data.texts == ("city",)
    assert len(np.unique(data.pooled[:, 0])) == 40


def test_texts_that_cannot_be_used_are_refused_together():
    table = frame(c=[f"word {i % 90}" for i in range(N)], d=[f"it was day {i} of the trial" for i in range(N)])
    with pytest.raises(DataError, match="'c', 'd' have too many") as refusal:
        load_dataset(table, "y")
    assert "--drop-column 'c' --drop-column 'd'" in refusal.value.remedy


def test_few_repeats_that_agree_by_chance_determine_nothing():
    values = np.r_[np.arange(N - 3) * 1.5, [0.0, 1.5, 3.0]]
    y = CLASSES.copy()
    y[-3:] = y[:3]
    assert "leakage" not in found(frame(y=y, x=values))[0]
    assert "leakage" in found(frame(y=np.tile(y[:40], 3), x=np.tile(values[:40], 3)))[0]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("level", RNG.permutation(np.repeat(np.arange(12), N // 12))),
        ("step", np.sort(RNG.integers(0, 30, N))),
        ("group", RNG.integers(0, 30, N)),
    ],
)
def test_one_sign_of_groups_is_not_enough(name, values):
    assert found(frame(**{name: values}))[0] == {}


@pytest.mark.parametrize("group", [["u", "v", "w"] * (N // 3), np.repeat([3, 1, 2], N // 3)])
def test_groups_are_numbered_whatever_their_names(group):
    data = load_dataset(frame(site=group), "y", group="site")
    codes = np.unique(group, return_inverse=True)[1]
    assert data.groups.tolist() == codes.tolist()


def leak(column, y=Y):
    data = load_dataset(frame(y=y, leak=column), "y")
    return next((finding.text for finding in data.findings if finding.kind == "leakage"), "")


def test_noise_is_not_told_as_rounding():
    near = leak(Y + 0.01 * RNG.normal(size=N))
    assert "'leak' alone explains more than 99.9 % of the variance of 'y' by a straight line. Check whether" in near
    assert "multiple" not in near
    assert "has nearly the same order as 'y'" in leak(np.exp(3 * (Y + 0.003 * RNG.normal(size=N))))
    for y, column in ((np.round(Y, 1), 3 * Y), (np.round(Y, 2), np.round(3 * Y, 1)), (Y, (7 * Y).astype(np.float32))):
        assert "multiple of 'y', up to a constant and rounding" in leak(column, y)


def test_a_row_of_sums_makes_no_column_a_leak_and_is_named():
    """The relation rested on one row: without it, the column explains 17 % of the variance."""
    rng = np.random.default_rng(2)
    a, z = rng.uniform(1, 9, 200), rng.uniform(1, 9, 200)
    table = pl.DataFrame({"a": a, "z": z, "y": 0.5 * a + z + rng.normal(size=200)})
    findings = load_dataset(pl.concat([table, table.sum()]), "y").findings
    assert "leakage" not in {finding.kind for finding in findings}
    (text,) = [finding.text for finding in findings if finding.kind == "total"]
    assert "looks like a total row: its cells are the sums of the rows above in 'a', 'z', 'y'" in text
    assert "total" not in found(table)[0]


@pytest.mark.parametrize(
    ("columns", "kept"),
    [((), True), (("x",), True), (("y",), True), (("person",), True), (("left out", "day"), True),
     (("left out",), False), (("left out", "none"), False)],
)  # fmt: skip
def test_a_finding_of_a_table_stays_if_it_is_about_all_of_it_or_about_a_column_in_use(columns, kept):
    roles = Roles("y", ["y"], ["x"], "person", "day", ())
    own = Finding("missing", columns, "a text")
    assert _about([own], roles) == [own] * kept
