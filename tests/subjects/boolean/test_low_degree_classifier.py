"""Low-degree learning: scikit-learn's contract, coefficients by another route, the formula of the error on average."""

import itertools

import numpy as np
import pandas
import pytest
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.engine.claims import registry
from lemmata.errors import DataError, SettingError
from lemmata.subjects.boolean import LowDegreeClassifier


@parametrize_with_checks([LowDegreeClassifier(), LowDegreeClassifier(degree=1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_coefficients_are_means_of_products():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (120, 5))
    y = rng.integers(0, 2, 120)
    model = LowDegreeClassifier(degree=3).fit(x, y)
    features = PolynomialFeatures(3, interaction_only=True).fit_transform(2 * x - 1)
    np.testing.assert_allclose(model.coefficients_[:, 0], features.T @ (2 * y - 1) / 120, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(x), features @ model.coefficients_[:, 0], atol=1e-12)
    np.testing.assert_array_equal(model.predict(x), (model.decision_function(x) > 0).astype(int))


def test_the_estimated_error_is_right_on_average():
    points = np.array(list(itertools.product((0, 1), repeat=5)))
    features = PolynomialFeatures(3, interaction_only=True).fit_transform(2 * points - 1)
    f = lambda x: ((x[:, 0] & x[:, 1]) | x[:, 2]) ^ (x[:, 3] & x[:, 4])
    rng, found, truth = np.random.default_rng(0), [], []
    for _ in range(400):
        x = rng.integers(0, 2, (60, 5))
        wrong = rng.random(60) < 0.1
        model = LowDegreeClassifier(degree=3).fit(x, f(x) ^ wrong)
        found.append(model.fit_.errors)
        row, y = [], 2 * f(points) - 1
        for products in (1, 6, 16, 26):
            g = features[:, :products] @ model.coefficients_[:products, 0]
            # labels of new rows are wrong with probability 0.1, too
            row.append(np.mean(0.9 * (g - y) ** 2 + 0.1 * (g + y) ** 2))
        truth.append(row)
    difference = np.mean(found, axis=0) - np.mean(truth, axis=0)
    error = np.std(np.array(found) - truth, axis=0) / 20
    assert np.all(np.abs(difference) < 4 * error + 1e-12)
    assert error.max() < 0.03


def test_the_degree_of_a_parity_is_found_and_one_that_needs_too_many_rows_is_not():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (400, 10))
    model = LowDegreeClassifier().fit(x, x[:, 1] ^ x[:, 7] ^ x[:, 8])
    assert model.degree_ == 3
    assert model.score(x, x[:, 1] ^ x[:, 7] ^ x[:, 8]) > 0.99
    assert model.fit_.sets[0] == ("x1", "x7", "x8")
    assert "vacuous" in str(LowDegreeClassifier().fit(x[:40], x[:40, 1] ^ x[:40, 7] ^ x[:40, 8]).fit_)


def test_thresholds_names_and_classes():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 3))
    y = np.where((x[:, 0] > 0) ^ (x[:, 2] > 0), "odd", "even")
    model = LowDegreeClassifier().fit(pandas.DataFrame(x, columns=["a", "b", "c"]), y)
    assert model.fit_.sets[0] == ("a", "c")
    assert model.score(pandas.DataFrame(x, columns=["a", "b", "c"]), y) > 0.9
    three = (x[:, :2] > 0) @ [1, 2] % 3
    many = LowDegreeClassifier().fit(x, three)
    assert many.decision_function(x).shape == (500, 3)
    assert many.score(x, three) > 0.8
    assert many.fit_.sets == ()


def test_conditions_say_that_columns_are_dependent():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (300, 4))
    assert "fails" not in str(LowDegreeClassifier().fit(x, x[:, 0]).fit_)
    x[:, 1] = x[:, 0]
    x[0, 1] = 1 - x[0, 0]
    assert "balanced and independent" in str(LowDegreeClassifier().fit(x, x[:, 0]).fit_)
    assert "<svg" in LowDegreeClassifier().fit(x, x[:, 0]).fit_._repr_html_()


def test_refusals():
    x = np.random.default_rng(0).normal(size=(30, 40))
    y = x[:, 0] > 0
    for settings, words, kind in [
        ({"degree": "best"}, '"auto" or a whole number', SettingError),
        ({"degree": 9}, r"degree; found 9, which has .* products of 40 columns; rule: at most terms", SettingError),
        ({"columns": "binary"}, "column x0; found 30 different values", DataError),
        ({"columns": "mean"}, '"median" or "binary"', SettingError),
        ({"terms": 0}, "at least 1", SettingError),
    ]:
        with pytest.raises(kind, match=words):
            LowDegreeClassifier(**settings).fit(x, y)
    with pytest.raises(DataError, match="one class"):
        LowDegreeClassifier().fit(x, np.ones(30))
    assert LowDegreeClassifier(terms=1).fit(x, y).degree_ == 0


def test_the_claims_exist():
    x = np.random.default_rng(0).integers(0, 2, (50, 4))
    assert set(LowDegreeClassifier().fit(x, x[:, 0]).fit_.claims) <= set(registry("boolean"))


def test_names_that_are_numbers_and_settings_in_one_line():
    x = np.random.default_rng(0).integers(0, 2, (200, 3))
    fit = LowDegreeClassifier().fit(pandas.DataFrame(x), x[:, 0] ^ x[:, 2]).fit_
    assert fit.sets[0] == ("x0", "x2")
    pairs = pandas.MultiIndex.from_product([["a"], [0, 1, 2]])
    assert LowDegreeClassifier().fit(pandas.DataFrame(x, columns=pairs), x[:, 0] ^ x[:, 2]).fit_.sets[0] == (
        "a.0",
        "a.2",
    )
    for settings in ({"columns": np.array(["a", "b"])}, {"degree": np.ones((9, 9))}):
        with pytest.raises(SettingError) as caught:
            LowDegreeClassifier(**settings).fit(x, x[:, 0])
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="found one class, 0;"):
        LowDegreeClassifier().fit(x, np.zeros(200, int))


def test_a_degree_that_was_set_is_not_said_to_be_the_best():
    x = np.random.default_rng(0).integers(0, 2, (200, 3))
    shown = str(LowDegreeClassifier(degree=0).fit(x, x[:, 0]).fit_)
    assert "vacuous: every row gets the more frequent class" in shown
    assert "expected to help" not in shown


def test_texts_and_missing_entries_are_refused_in_one_line():
    x = np.random.default_rng(0).integers(0, 2, (60, 3))
    texts = pandas.DataFrame({"a": pandas.Categorical(np.where(x[:, 0], "u", "v")), "b": x[:, 1]})
    missing = pandas.DataFrame({"a": pandas.array([1, None] * 30, "Int64"), "b": x[:, 1]})
    model = LowDegreeClassifier().fit(x, x[:, 0])
    for given, words in [(np.where(x, "u", "v"), "found a string.*remedy: .*OneHotEncoder"),
                         (texts, "found a string.*remedy: .*OneHotEncoder"),
                         (missing, "contains NaN; rule: finite numbers; remedy: drop"),
                         (np.where(x, np.nan, 0), "contains NaN; rule: finite numbers; remedy: drop")]:  # fmt: skip
        with pytest.raises(DataError, match=words) as caught:
            LowDegreeClassifier().fit(given, x[:, 0])
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="contains NaN; rule: finite numbers"):
        model.predict(np.where(x, np.nan, 0))


def test_copies_and_constants_change_nothing():
    """The expected errors of columns that repeat others or never vary are those without them, and not below 0."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, size=(300, 6))
    y = x[:, 0] ^ x[:, 2]
    more = np.column_stack([x, x[:, 2], 1 - x[:, 0], np.ones(300), x])
    plain, copied = LowDegreeClassifier().fit(x, y), LowDegreeClassifier().fit(more, y)
    np.testing.assert_allclose(copied.fit_.errors, plain.fit_.errors)
    assert copied.degree_ == plain.degree_ == 2
    assert copied.fit_.errors.min() > -0.1
    np.testing.assert_array_equal(copied.predict(more), plain.predict(x))
    left = [condition for condition in copied.fit_.conditions if "left out" in condition.name]
    assert left[0].value == 9
