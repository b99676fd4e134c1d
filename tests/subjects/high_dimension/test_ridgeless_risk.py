"""Ridgeless risk of a user's columns: closed forms, direct fits, another part of the library, rows and refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas
import polars
import pytest

from lemmata.engine.claims import registry
from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.spectra import omniscient_curve
from lemmata.subjects.high_dimension import ridgeless_risk


def known(eigenvalues, coefficients, noise, sizes, **more):
    return ridgeless_risk(
        None, None, sizes, covariance=np.diag(eigenvalues), coefficients=coefficients, noise=noise, **more
    )


def test_the_isotropic_formulas():
    p, sizes, b = 50, np.array([10, 25, 40, 100]), np.full(50, 0.3)
    found = known(np.full(p, 2.0), b, 0.7, sizes)
    signal = 2 * 0.09 * p
    wide = sizes < p
    np.testing.assert_allclose(found.bias[wide], signal * (1 - sizes[wide] / p))
    np.testing.assert_allclose(found.variance[wide], 0.7 * sizes[wide] / (p - sizes[wide]))
    assert found.bias[3] == 0
    assert found.variance[3] == pytest.approx(0.7)
    assert found.signal == pytest.approx(signal)
    root = np.sqrt(signal / 0.7)
    assert found.isotropic_ratio == pytest.approx(root / (root - 1))
    g = np.linspace(1.05, 8, 4000)
    assert found.isotropic_ratio == pytest.approx(g[np.argmin(signal * (1 - 1 / g) + 0.7 / (g - 1))], abs=0.01)
    assert known(np.ones(p), 0.01 * b, 0.7, sizes).isotropic_ratio is None


def test_the_curve_of_the_spectra():
    rng = np.random.default_rng(0)
    values, b, sizes = rng.gamma(1.0, size=40), rng.normal(size=40), [5, 20, 38, 60]
    found = known(values, b, 0.4, sizes)
    with jax.enable_x64(True):
        other = omniscient_curve(jnp.asarray(values), jnp.asarray(b * np.sqrt(values)), 0.4, sizes, 0.0)
    np.testing.assert_allclose(found.error, other.error, rtol=1e-9)
    np.testing.assert_allclose(found.kappa, other.kappa, rtol=1e-9)
    np.testing.assert_allclose(found.price, other.overfitting, rtol=1e-9)


def test_direct_fits_of_a_known_covariance():
    rng = np.random.default_rng(1)
    values, b, sizes = 1 / np.arange(1, 121.0), rng.normal(size=120), [30, 60, 90]
    found, root = known(values, b, 1.0, sizes), np.sqrt(values)
    for place, n in enumerate(sizes):
        errors = []
        for _ in range(60):
            x = rng.normal(size=(n, 120)) * root
            fit = np.linalg.pinv(x) @ (x @ b + rng.normal(size=n))
            errors.append(np.sum(values * (fit - b) ** 2) + 1)
        assert np.mean(errors) == pytest.approx(found.error[place], rel=0.05)


@pytest.mark.parametrize("rows", [130, 300])
def test_rows_tell_what_the_covariance_tells(rows):
    rng = np.random.default_rng(2)
    values, b, sizes = 1 / np.arange(1, 101.0), np.linspace(1, 0.2, 100), [20, 50, 80]
    truth, found = known(values, b, 1.0, sizes), []
    for _ in range(12):
        x = rng.normal(size=(rows, 100)) * np.sqrt(values)
        y = x @ b + rng.normal(size=rows)
        found.append(ridgeless_risk(x, y, sizes, fits=0, columns=[100]))
    np.testing.assert_allclose(np.mean([one.price for one in found], axis=0), truth.price, rtol=0.02)
    np.testing.assert_allclose(np.mean([one.error for one in found], axis=0), truth.error, rtol=0.12)


def test_direct_fits_to_the_rows_agree_and_a_broken_law_is_seen():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 60)) / np.sqrt(np.arange(1, 61))
    y = x[:, :5].sum(axis=1) + 0.5 * rng.normal(size=400)
    found = ridgeless_risk(polars.DataFrame(x), polars.Series(y), [20, 40, 150])
    assert next(c for c in found.conditions if "direct fits" in c.name).holds
    np.testing.assert_allclose(found.measured, found.error, rtol=0.15)
    assert "<svg" in found._repr_html_()
    assert "best columns" in str(found)
    scaled = x * np.exp(2 * rng.normal(size=(400, 1)))
    broken = ridgeless_risk(scaled, scaled[:, 0] + rng.normal(size=400), [20, 40, 150])
    assert not next(c for c in broken.conditions if "direct fits" in c.name).holds


def test_fewer_columns_count_what_they_leave_out_as_noise():
    matrix = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, 0.3], [0.1, 0.3, 0.5]])
    b = np.array([1.0, -2.0, 0.5])
    found = ridgeless_risk(None, None, [30], covariance=matrix, coefficients=b, noise=0.2, columns=[1, 2, 3])
    rest = matrix[2, 2] - matrix[2, :2] @ np.linalg.solve(matrix[:2, :2], matrix[:2, 2])
    np.testing.assert_allclose(found.errors[0, 1], (0.2 + 0.25 * rest) * 30 / 28)
    np.testing.assert_allclose(found.errors[0, 2], 0.2 * 30 / 27)
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal(np.zeros(3), matrix, 100_000)
    rows = ridgeless_risk(x, x @ b + np.sqrt(0.2) * rng.normal(size=100_000), [30], columns=[1, 2, 3], fits=0)
    np.testing.assert_allclose(rows.errors, found.errors, rtol=0.03)
    assert rows.best_columns[0] == 3


def test_at_the_number_of_columns_the_error_is_infinite():
    found = known(np.ones(10), np.ones(10), 1.0, [10])
    assert np.isinf(found.error[0])
    assert np.isinf(found.price[0])
    assert "within 5 rows" in str(found)


def test_refusals():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 20)), rng.normal(size=60)
    twice = np.column_stack([x, x[:, 0]])
    for arguments, settings, words, kind in [
        ((x[:25], y[:25], [5]), {}, r"25 rows of 20 columns; rule: at least p \+ 10 = 30 rows", DataError),
        ((twice, y, [5]), {}, "columns that are combinations of others", DataError),
        ((x, y[1:], [5]), {}, "one target for each of the 60 rows", ShapeError),
        ((x, y, [0]), {}, "at least 1", SettingError),
        ((x, y, []), {}, "sizes", SettingError),
        ((x, y, [5]), {"columns": [21]}, "at most 20, the number of columns", SettingError),
        ((x, y, [5]), {"noise": -1.0}, "not negative", SettingError),
        ((x, y, [5]), {"covariance": np.eye(20)}, "both must be None", SettingError),
        ((None, None, [5]), {"covariance": np.eye(3)}, "all three together", SettingError),
        ((None, None, [5]), {"covariance": -np.eye(3), "coefficients": np.ones(3), "noise": 1.0},
         "the eigenvalue -1", NotPositiveDefiniteError),
        ((None, None, [5]), {"covariance": np.triu(np.ones((3, 3))), "coefficients": np.ones(3), "noise": 1.0},
         "not symmetric", DataError),
    ]:  # fmt: skip
        with pytest.raises(kind, match=words) as caught:
            ridgeless_risk(*arguments, **settings)
        assert "\n" not in str(caught.value)


def test_the_claims_exist():
    assert set(known(np.ones(4), np.ones(4), 1.0, [2]).claims) <= set(registry("high_dimension"))


def test_columns_of_different_units_are_not_combinations_of_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)) * np.array([1e6, 1, 1, 1, 1, 1e-3])
    y = 1e-6 * x[:, 0] + x[:, 1] + 1e3 * x[:, 5] + rng.normal(size=300)
    found = ridgeless_risk(x, y, [20, 100])
    np.testing.assert_allclose(found.error, found.noise * np.array([20 / 14, 100 / 94]))
    assert found.noise == pytest.approx(1, abs=0.3)
    assert next(c for c in found.conditions if "direct fits" in c.name).holds
    scales = np.r_[3e5, np.ones(29)]
    x = rng.normal(size=(400, 30)) * scales
    wide = ridgeless_risk(x, x[:, 0] / 3e5 + rng.normal(size=400), [10, 20], fits=200)
    truth = known(scales**2, np.r_[1 / 3e5, np.zeros(29)], 1.0, [10, 20])
    np.testing.assert_allclose(wide.price, truth.price, rtol=0.1)
    np.testing.assert_allclose(wide.measured, truth.error, rtol=0.2)


def test_types_of_rows_and_of_noise():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 4)), rng.normal(size=120)
    x[:, 3] = x[:, 3] > 0
    expected = ridgeless_risk(x, y, [20]).error
    frame = pandas.DataFrame({"a": x[:, 0], "b": pandas.array(x[:, 1], "Float64"), "c": x[:, 2], "d": x[:, 3] > 0})
    np.testing.assert_array_equal(ridgeless_risk(frame, pandas.Series(y), [20]).error, expected)
    assert ridgeless_risk(x, y, [20], noise=np.float32(0.5)).noise == 0.5


def test_noise_that_rows_contradict_fails_a_condition():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 20)), rng.normal(size=200)
    for noise, fails in [(0, True), (100, True), (1.0, False)]:
        assert ("given noise agrees with the rows" in str(ridgeless_risk(x, y, [50], noise=noise, fits=0))) == fails


def test_one_fit_is_a_fit_and_a_target_of_zeros_has_no_error():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 20))
    assert np.isfinite(ridgeless_risk(x, x[:, 0], [50], fits=1).measured).all()
    found = ridgeless_risk(x, np.zeros(200), [10, 50])
    assert found.error.tolist() == [0, 0]
    failed = [condition.name for condition in found.conditions if condition.holds is False]
    assert [name.split(" (")[0] for name in failed] == [
        "some size has a smaller error than the prediction 0", "the target depends on the columns",
    ]  # fmt: skip
    assert "<svg" in found._repr_html_()


def test_refusals_of_what_would_be_ignored_or_overflow():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 20)), rng.normal(size=60)
    near = np.diag([1.0, 1e-14])
    for arguments, settings, words, kind in [
        ((x, y, [5]), {"coefficients": np.ones(20)}, "coefficients; found no covariance", SettingError),
        ((None, None, [5]), {}, "x and y; found None; rule: either rows and targets, or covariance", SettingError),
        ((x, y, [[1, 2], [3]]), {}, "sizes; found a list that is not an array", DataError),
        ((1e200 * x, y, [5]), {}, r"x; found .*e\+200 as the largest absolute value", DataError),
        ((x, 1e200 * y, [5]), {}, r"y; found .*e\+200 as the largest absolute value", DataError),
        ((x, y, [5]), {"seed": -1}, "seed; found -1", SettingError),
        ((x, y, [5]), {"noise": np.ones((9, 9))}, "noise; found", SettingError),
        ((x, y, [5]), {"noise": "1"}, "noise; found", SettingError),
        ((np.full((60, 2), "u"), y, [5]), {}, "x; found the entry 'u'.*remedy: encode", DataError),
        ((x[:1], y[:1], [5]), {}, "found 1 row of 20 columns", DataError),
        ((None, None, [1]), {"covariance": near, "coefficients": np.ones(2), "noise": 1.0},
         "the eigenvalue 1e-14; rule: eigenvalues above 0, by more than rounding", NotPositiveDefiniteError),
    ]:  # fmt: skip
        with pytest.raises(kind, match=words) as caught:
            ridgeless_risk(*arguments, **settings)
        assert "\n" not in str(caught.value)
