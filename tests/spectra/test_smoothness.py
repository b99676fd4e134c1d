"""The smoothness of labels: on power laws, against SciPy's line, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import linregress

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.spectra import Spectrum, smoothness

N = 600


def system(n=N, decay=2.0):
    """Eigenvalues i^-decay and the axes as eigenvectors, so that y is its own coefficients."""
    values = jnp.arange(1.0, n + 1) ** -decay
    return Spectrum(values, jnp.eye(n), jnp.zeros(()), values[-1])


def powers(exponent, noise, seed=0):
    rng = np.random.default_rng(seed)
    signal = rng.choice([-1.0, 1.0], size=N) * np.arange(1, N + 1) ** (-exponent / 2)
    return jnp.asarray(np.sqrt(N) * signal + noise * rng.normal(size=N))


def test_without_noise_a_power_law_is_its_exponent():
    for decay, s in ((2.0, 0.5), (1.5, 1.2)):
        y = powers(s * decay + 1, 0.0)
        for options in ({}, {"remove_floor": False}, {"decay": decay}):
            found = smoothness(system(decay=decay), y, **options)
            # a floor of 1e-6 of the mean over the second half is kept, and the last index of the fit is above that mean
            assert abs(found.estimate - s) < (1e-10 if "remove_floor" in options else 1e-6)
            assert abs(found.decay - decay) < 1e-9


def test_under_noise_the_plain_line_is_low_and_the_floor_repairs_it():
    estimate = lambda seed, floor: smoothness(system(), powers(2.2, 1.0, seed), decay=2.0, remove_floor=floor)
    runs = [(estimate(seed, True), estimate(seed, False)) for seed in range(30)]
    repaired, plain = (np.array([run[k].estimate for run in runs]) for k in (0, 1))
    assert plain.mean() < 0.35
    assert abs(repaired.mean() - 0.6) < 4 * repaired.std() / np.sqrt(30) + 0.02
    assert abs(np.mean([run[0].floor for run in runs]) * N - 1) < 0.05
    assert 0.5 < np.mean([run[0].error for run in runs]) / repaired.std() < 2


def test_the_plain_line_is_scipys():
    y = powers(2.0, 1.0)
    found = smoothness(system(), y, remove_floor=False, truncation=40)
    line = linregress(np.log(np.arange(1, 41)), np.log(np.asarray(y)[:40] ** 2 / N))
    np.testing.assert_allclose([found.slope, 2 * found.error], [line.slope, line.stderr], rtol=1e-10)
    np.testing.assert_allclose(found.amplitude, np.exp(line.intercept), rtol=1e-10)
    assert found.indices == (1, 40)


def test_bad_input_is_refused():
    y = powers(2.0, 1.0)
    with pytest.raises(ShapeError, match="one for each of the 600 rows"):
        smoothness(system(), y[:20])
    with pytest.raises(SettingError, match="truncation"):
        smoothness(system(), y, truncation=2)
    with pytest.raises(SettingError, match="decay"):
        smoothness(system(), y, decay=-1.0)
    with pytest.raises(DataError, match="0 in every mode"):
        smoothness(system(), jnp.zeros(N))
    with pytest.raises(DataError, match="noise floor"):
        smoothness(system(), jnp.asarray(np.random.default_rng(0).normal(size=N)))
