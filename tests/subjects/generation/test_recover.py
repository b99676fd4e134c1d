"""Recovery from measurements: least squares, coverage, the inverse Wishart mean, networks, refusals."""

import jax.numpy as jnp
import numpy as np
import pandas
import pytest

from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError
from lemmata.subjects.generation import recover

RNG = np.random.default_rng
W = np.linalg.qr(RNG(0).normal(size=(60, 4)))[0]
A = RNG(1).normal(size=(15, 60))
B = A @ (W @ np.arange(1.0, 5.0)) + 0.1 * RNG(2).normal(size=15)
LINEAR = lambda z: W @ z


def test_a_linear_generator_is_least_squares():
    found = recover(LINEAR, A, B, 4, restarts=3)
    z, residual = np.linalg.lstsq(A @ W, B, rcond=None)[:2]
    np.testing.assert_allclose(found.latent, z, atol=1e-5)
    assert found.residual**2 == pytest.approx(residual[0], rel=1e-6)
    covariance = np.linalg.inv(W.T @ A.T @ A @ W)
    noise = residual[0] / 11
    assert found.error**2 == pytest.approx(noise * np.trace(covariance), rel=1e-6)
    np.testing.assert_allclose(found.deviations**2, noise * np.diag(W @ covariance @ W.T), rtol=1e-5)
    assert found.agreeing == 1
    assert all(c.holds is not False for c in found.conditions)
    assert found.plot().to_dict()
    assert "residual" in found._repr_html_()


def test_the_factor_of_normal_measurements():
    rng, factors, measured = RNG(3), [], []
    for _ in range(16):
        a = rng.normal(size=(14, 60))
        outside = rng.normal(size=60)
        outside -= W @ (W.T @ outside)
        found = recover(LINEAR, a, a @ outside, 4, restarts=1)
        factors.append(found.factor)
        measured.append(np.sum((found.signal - outside) ** 2) / np.sum(outside**2))
    assert found.predicted == 1 + 4 / 9
    assert np.mean(factors) == pytest.approx(found.predicted, rel=0.1)
    assert np.mean(measured) == pytest.approx(np.mean(factors), rel=0.15)


def test_the_interval_holds():
    rng, held = RNG(4), 0
    for _ in range(24):
        z = rng.normal(size=4)
        b = A @ W @ z + 0.3 * rng.normal(size=15)
        found = recover(LINEAR, A, b, 4, restarts=1, level=0.9)
        held += found.interval[0] <= np.linalg.norm(found.signal - W @ z) <= found.interval[1]
    assert held >= 17  # fewer have probability 0.002


def test_a_network_is_inverted():
    rng = RNG(5)
    first, second = rng.normal(size=(40, 3)), rng.normal(size=(80, 40)) / 6
    network = lambda z: second @ jnp.maximum(first @ z, 0.0)
    true = np.asarray(network(jnp.array([1.0, -0.5, 2.0])))
    a = rng.normal(size=(30, 80))
    found = recover(network, a, a @ true, 3)
    np.testing.assert_allclose(found.signal, true, atol=1e-3)
    assert (np.diff(found.residuals) >= 0).all()


def test_too_few_measurements_fail_a_condition():
    few = recover(LINEAR, A[:3], B[:3], 4)
    assert (few.error, few.factor, few.predicted) == (np.inf, np.inf, np.inf)
    assert [c.holds for c in few.conditions].count(False) >= 2
    flat = recover(lambda z: 0 * z.sum() + jnp.ones(60), A, B, 4, restarts=2)
    assert flat.factor == np.inf
    same = recover(lambda z: jnp.asarray(W[:, 0]) * (z[0] + z[1]), A, B, 2, restarts=2)
    assert False in [c.holds for c in same.conditions]


@pytest.mark.parametrize("m", [1, 3, 4])
def test_no_measurement_beyond_the_latent_variables_bounds_no_error(m):
    found = recover(LINEAR, A[:m], A[:m] @ LINEAR(np.ones(4)), 4, restarts=2)
    assert found.error == np.inf
    assert found.noise == np.inf
    assert found.interval == (0.0, np.inf)
    assert not np.isnan(found.deviations).any()
    assert "no bound on the expected error is known" in str(found)
    assert "nan" not in str(found)


def test_tables_and_units():
    found = recover(LINEAR, A, B, 4, restarts=1)
    fixed = A.copy()
    fixed.flags.writeable = False
    for a, b in ((A.tolist(), B.tolist()), (pandas.DataFrame(A), pandas.Series(B, index=range(3, 18))),
                 (np.asfortranarray(A), B), (fixed, B)):  # fmt: skip
        assert recover(LINEAR, a, b, 4, restarts=1).residual == pytest.approx(found.residual)
    small = recover(LINEAR, A * 1e-50, B * 1e-50, 4, restarts=1)
    np.testing.assert_allclose(small.signal, found.signal, rtol=1e-4)
    zero = recover(LINEAR, A, np.zeros(15), 4, restarts=1)
    np.testing.assert_allclose(zero.signal, 0, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "settings", "words", "kind"),
    [
        ((3, A, B, 4), {}, "generator; found a int", SettingError),
        ((lambda z: np.sin(z), A, B, 4), {}, "generator; found TracerArrayConversionError", SettingError),
        ((lambda z: z, A, B, 4), {}, r"values of generator; found shape \(4,\); rule: shape \(60,\)", ShapeError),
        ((lambda z: jnp.log(-jnp.ones(60) - z[0] ** 2), A, B, 4), {}, "not finite from every starting", DataError),
        ((LINEAR, A[0], B, 4), {}, r"a; found shape \(60,\)", ShapeError),
        ((LINEAR, A, B[:5], 4), {}, r"b; found shape \(5,\); rule: shape \(15,\)", ShapeError),
        ((LINEAR, A * np.nan, B, 4), {}, "a; found 900 entries that are not finite", DataError),
        ((LINEAR, A, np.full(15, np.inf), 4), {}, "b; found 15 entries", DataError),
        ((LINEAR, A * 0, B, 4), {}, "a; found only zeros", DataError),
        ((LINEAR, A, B * 1e200, 4), {}, "a and b; found numbers as large as", DataError),
        ((LINEAR, A.astype(np.float16), B, 4), {}, "float16", PrecisionError),
        ((LINEAR, A, B, 0), {}, "latent; found 0", SettingError),
        ((LINEAR, A, B, 5), {}, "generator; found TypeError", SettingError),
        ((LINEAR, A, B, 4), {"restarts": 0}, "restarts; found 0", SettingError),
        ((LINEAR, A, B, 4), {"level": 1}, "level; found 1", SettingError),
    ],
)
def test_refusals(arguments, settings, words, kind):
    with pytest.raises(kind, match=words) as caught:
        recover(*arguments, **settings)
    assert "\n" not in str(caught.value)
