"""Rules by deletion: against deletion clause by clause, fits without a row, formulas as they are read, refusals."""

import itertools

import numpy as np
import pandas
import polars
import pytest
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.engine.claims import registry
from lemmata.errors import DataError, SettingError
from lemmata.subjects.hardness import RuleLearner

POINTS = np.array(list(itertools.product((0, 1), repeat=5)))


def literals(n):
    return [(column, value) for column in range(n) for value in (0, 1)]


def by_hand(x, y, new, k, form):
    """Deletion as the book says: one part after the other."""
    true = lambda rows, part, any_or_all: any_or_all([rows[:, c] == v for c, v in part], axis=0)
    combine = np.any if form == "cnf" else np.all
    wanted = form == "cnf"
    parts = [
        part
        for size in range(1, k + 1)
        for part in itertools.combinations(literals(x.shape[1]), size)
        if len({column for column, _ in part}) == size
    ]
    kept = [part for part in parts if (true(x[y == wanted], part, combine) == wanted).all()]
    values = [true(new, part, combine) for part in kept]
    if form == "cnf":
        return np.all(values, axis=0) if kept else np.ones(len(new), bool)
    return np.any(values, axis=0) if kept else np.zeros(len(new), bool)


def read(rule, rows):
    """The values of the printed formula."""
    literal = lambda word: rows[:, int(word.split("x")[1])] == (0 if word.startswith("not ") else 1)
    inner, outer, empty = (np.any, np.all, True) if rule.form == "cnf" else (np.all, np.any, False)
    values = [inner([literal(word) for word in part], axis=0) for part in rule.parts]
    return outer(values, axis=0) if values else np.full(len(rows), empty)


@parametrize_with_checks([RuleLearner(), RuleLearner(k=1, form="cnf"), RuleLearner(k=2, form="dnf")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", ["cnf", "dnf"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [3, 25, 200])
def test_deletion_clause_by_clause(form, k, m):
    rng = np.random.default_rng(10 * k + m)
    x, y = rng.integers(0, 2, (m, 5)), rng.integers(0, 2, m)
    if m == 25:
        y = (x[:, 0] & x[:, 1]) | (1 - x[:, 3])
    if len(set(y.tolist())) < 2:
        y[0] = 1 - y[0]
    model = RuleLearner(k=k, form=form).fit(x, y)
    np.testing.assert_array_equal(model.predict(POINTS) == 1, by_hand(x, y, POINTS, k, form))
    np.testing.assert_array_equal(model.predict(POINTS) == 1, read(model.rule_, POINTS))
    assert model.rule_.unfitted == np.sum(model.predict(x) != y)


@pytest.mark.parametrize("form", ["cnf", "dnf"])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_leave_one_out_error_is_that_of_fits_without_the_row(form, noise):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, (90, 7))
    y = ((x[:, 0] & x[:, 2]) | (x[:, 5] & x[:, 6])) ^ (rng.random(90) < noise)
    model = RuleLearner(k=2, form=form)
    again = cross_val_predict(model, x, y, cv=LeaveOneOut())
    rule = model.fit(x, y).rule_
    assert rule.leave_one_out == pytest.approx(np.mean(again != y))
    assert rule.bound == pytest.approx((4 * 21 + 14) / 91)


def test_errors_are_on_one_side_and_what_leaving_out_says():
    rng = np.random.default_rng(0)
    target = lambda x: (x[:, 0] & x[:, 1] & x[:, 2]) | (x[:, 3] & (1 - x[:, 4])) | x[:, 7]
    new = rng.integers(0, 2, (20_000, 8))
    errors = {"cnf": [], "dnf": []}
    estimates = {"cnf": [], "dnf": []}
    for _ in range(30):
        x = rng.integers(0, 2, (40, 8))
        for form in errors:
            model = RuleLearner(form=form).fit(x, target(x))
            predicted, truth = model.predict(new), target(new)
            assert not np.any(predicted > truth if form == "cnf" else predicted < truth)
            errors[form].append(np.mean(predicted != truth))
            estimates[form].append(model.rule_.leave_one_out)
    for form in errors:
        difference = np.array(estimates[form]) - errors[form]
        assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(30) + 0.02


def test_the_shorter_formula_is_printed_and_holds_for_a_clear_target():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (3000, 10))
    y = (x[:, 0] & x[:, 1] & x[:, 2]) | (x[:, 3] & (1 - x[:, 4]) & x[:, 5])
    rule = RuleLearner().fit(x, y).rule_
    assert rule.form == "dnf"
    assert set(rule.parts) == {("x0", "x1", "x2"), ("x3", "not x4", "x5")}
    assert rule.leave_one_out == 0
    assert "only the answer 1 can be wrong" in str(rule)
    assert rule._repr_html_().startswith("<pre")


def test_noise_is_named_as_no_such_formula():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (400, 4))
    rule = RuleLearner(k=2).fit(x, x[:, 0] ^ x[:, 1] ^ x[:, 2]).rule_
    assert rule.unfitted > 0
    assert "fails" in str(rule)


def test_frames_names_and_medians():
    rng = np.random.default_rng(4)
    x = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=300), rng.integers(1, 3, 300)])
    y = np.where((x[:, 0] == 1) & (x[:, 1] > np.median(x[:, 1])), "good", "bad")
    for frame in (pandas.DataFrame(x, columns=["member", "age", "kind"]),
                  polars.DataFrame(x, schema=["member", "age", "kind"])):  # fmt: skip
        model = RuleLearner().fit(frame, y)
        assert model.rule_.label == "good"
        assert set(model.rule_.parts) in ({("member",), (f"age > {np.median(x[:, 1]):.4g}",)},
                                          {("member", f"age > {np.median(x[:, 1]):.4g}")})  # fmt: skip
        assert model.score(frame, y) == 1


def test_wide_tables_and_formulas_that_are_cut_short():
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, (14, 30))
    model = RuleLearner(k=2, form="cnf").fit(x, x[:, 0] | x[:, 1])
    np.testing.assert_array_equal(model.predict(x), x[:, 0] | x[:, 1])
    np.testing.assert_array_equal(model.predict(x) == 1, read(model.rule_, x))
    assert f"and {len(model.rule_.parts) - 12} more clauses" in str(model.rule_)
    assert "vacuous" in str(model.rule_)


def test_refusals():
    x = np.random.default_rng(0).normal(size=(30, 300))
    y = x[:, 0] > 0
    for settings, words, kind in [
        ({"k": 0}, "at least 1", SettingError),
        ({"form": "tree"}, '"auto", "cnf" or "dnf"', SettingError),
        ({"columns": "binary"}, "column x0; found 30 different values", DataError),
        ({"columns": "mean"}, '"median" or "binary"', SettingError),
        ({"k": 3}, r"k; found 3, which gives .* clauses over 300 columns; rule: at most", SettingError),
    ]:
        with pytest.raises(kind, match=words):
            RuleLearner(**settings).fit(x, y)
    with pytest.raises(DataError, match=r"found 3 classes.*remedy: learn one rule for each class"):
        RuleLearner().fit(x[:, :3], np.arange(30) % 3)


def test_the_claims_exist():
    assert set(RuleLearner().fit(POINTS, POINTS[:, 0]).rule_.claims) <= set(registry("hardness"))


def test_the_printed_thresholds_are_those_of_the_predictions():
    rng = np.random.default_rng(0)
    neighbours = np.where(rng.integers(0, 2, (300, 1)), np.nextafter(2.0, 3), 2.0)
    normal, whole = rng.normal(size=(300, 1)), rng.integers(0, 40, (300, 1))
    for x in (1000 + normal, 1_234_567 + whole, neighbours, normal):
        y = x[:, 0] > np.median(np.unique(x)) if len(np.unique(x)) == 2 else x[:, 0] > np.median(x)
        if not y.any():
            y = x[:, 0] > 2
        model = RuleLearner(k=1, form="cnf").fit(x, y)
        word = model.rule_.parts[0][0]
        assert word.startswith("x0 > ")
        np.testing.assert_array_equal(x[:, 0] > float(word.removeprefix("x0 > ")), model.predict(x))
        new = np.quantile(x, rng.random(500))[:, None]
        np.testing.assert_array_equal(new[:, 0] > float(word.removeprefix("x0 > ")), model.predict(new))


def test_names_that_are_numbers_or_tuples():
    x = np.random.default_rng(0).integers(0, 2, (200, 4))
    y = x[:, 1] & x[:, 2]
    assert RuleLearner(k=1).fit(pandas.DataFrame(x), y).rule_.formula in ("x1 and x2", "x2 and x1")
    pairs = pandas.MultiIndex.from_product([["a", "b"], [0, 1]])
    assert RuleLearner(k=1).fit(pandas.DataFrame(x, columns=pairs), y).rule_.formula == "a.1 and b.0"


def test_one_answer_for_every_row_is_said_in_words():
    x = np.random.default_rng(0).integers(0, 2, (300, 4))
    assert str(RuleLearner().fit(x, np.full(300, 3)).rule_) == "3 for every row\nvacuous: all 300 rows have this label"
    y = np.random.default_rng(1).integers(0, 2, 300)
    assert str(RuleLearner(k=1, form="dnf").fit(x, y).rule_).startswith("0 for every row\n")
    assert str(RuleLearner(k=1, form="cnf").fit(x, y).rule_).startswith("1 for every row\n")


def test_a_bound_that_guessing_keeps_is_vacuous():
    x = np.random.default_rng(0).integers(0, 2, (300, 6))
    rule = RuleLearner().fit(x, x[:, 0] & x[:, 1]).rule_
    assert rule.guess < rule.bound < 1
    assert "vacuous" in str(rule)
    assert "vacuous" not in str(RuleLearner(k=1).fit(x, x[:, 0] & x[:, 1]).rule_)


def test_settings_of_no_use():
    x = np.random.default_rng(0).integers(0, 2, (50, 3))
    assert RuleLearner(k=10**9).fit(x, x[:, 0]).rule_.bound == 26 / 51
    for settings in ({"form": np.array(["cnf", "dnf"])}, {"columns": np.array(["a", "b"])}, {"k": np.ones((9, 9))}):
        with pytest.raises(SettingError) as caught:
            RuleLearner(**settings).fit(x, x[:, 0])
        assert "\n" not in str(caught.value)


def test_texts_and_missing_entries_are_refused_in_one_line():
    x = np.random.default_rng(0).integers(0, 2, (60, 3))
    texts = pandas.DataFrame({"a": pandas.Categorical(np.where(x[:, 0], "u", "v")), "b": x[:, 1]})
    missing = pandas.DataFrame({"a": pandas.array([1, None] * 30, "Int64"), "b": x[:, 1]})
    model = RuleLearner().fit(x, x[:, 0])
    for given, words in [(np.where(x, "u", "v"), "found a string.*remedy: .*OneHotEncoder"),
                         (texts, "found a string.*remedy: .*OneHotEncoder"),
                         (missing, "contains NaN; rule: finite numbers; remedy: drop"),
                         (np.where(x, np.nan, 0), "contains NaN; rule: finite numbers; remedy: drop")]:  # fmt: skip
        with pytest.raises(DataError, match=words) as caught:
            RuleLearner().fit(given, x[:, 0])
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="contains NaN; rule: finite numbers"):
        model.predict(np.where(x, np.nan, 0))
