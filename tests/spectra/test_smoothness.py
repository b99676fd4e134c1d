"""The smoothness of labels: on power laws, against SciPy's line, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import linregress

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.spectra import Spectrum, smoothness, spectrum

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


def at_points(kernel, n, seed):
    """The spectrum at n random points of the interval, and the points."""
    x = np.random.default_rng(seed).uniform(size=n)
    return spectrum(jnp.asarray(kernel(x[:, None], x))), x


KERNELS = {
    "smaller": (lambda x, z: np.minimum(x, z), 2.0, 0.06),
    "bridge": (lambda x, z: np.minimum(x, z) - x * z, 2.0, 0.06),
    "laplace": (lambda x, z: np.exp(-np.abs(x - z)), 2.0, 0.06),
    "short laplace": (lambda x, z: np.exp(-np.abs(x - z) / 0.2), 2.0, 0.06),
    # two derivatives more: eigenvalues of K/n at random points fall faster than the kernel's, by less where n is large
    "matern": (lambda x, z: (1 + np.abs(x - z)) * np.exp(-np.abs(x - z)), 4.0, 0.3),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_decay_of_kernels_on_an_interval_is_found_at_random_points(name):
    kernel, decay, margin = KERNELS[name]
    y = powers(2.2, 0.0)
    for seed in (31, 32):
        system_, _ = at_points(kernel, N, seed)
        labels = system_.eigenvectors @ y
        assert abs(smoothness(system_, labels, remove_floor=False, truncation=40).decay - decay) < margin


def test_the_default_is_as_right_in_the_mean_as_the_known_decay():
    """Labels of a target of smoothness 1/2 at random points, as a user has them; the first modes fall like i^-2.5."""
    index, found = np.arange(1, 800), []
    for seed in range(12):
        system_, x = at_points(KERNELS["smaller"][0], N, 50 + seed)
        rng = np.random.default_rng(seed)
        f = np.sqrt(2) * np.sin(np.outer(x, (index - 0.5) * np.pi)) @ (rng.choice([-1, 1], len(index)) / index)
        y = jnp.asarray(np.where(rng.uniform(size=N) < (1 + 0.95 * f / np.abs(f).max()) / 2, 1.0, -1.0))
        found.append([smoothness(system_, y).estimate, smoothness(system_, y, decay=2.0).estimate])
    default, known = np.mean(found, axis=0)
    assert abs(default / known - 1) < 0.03
    assert abs(default - 0.5) < 0.05 + 4 * np.std(found, axis=0)[0] / 12**0.5


def test_eigenvalues_at_rounding_tell_no_decay():
    values = jnp.where(jnp.arange(N) < 3, 1.0, 0.0)
    with pytest.raises(
        DataError, match=r"3 eigenvalues above rounding errors; rule: at least 4 .* slope.*; remedy: pass decay="
    ):
        smoothness(Spectrum(values, jnp.eye(N), jnp.asarray(1e-12), values[-1]), powers(2.0, 0.0))
    assert smoothness(Spectrum(values, jnp.eye(N), jnp.asarray(1e-12), values[-1]), powers(2.0, 0.0), decay=2.0)


def test_the_plain_line_is_scipys():
    y = powers(2.0, 1.0)
    found = smoothness(system(), y, remove_floor=False, truncation=40)
    line = linregress(np.log(np.arange(1, 41)), np.log(np.asarray(y)[:40] ** 2 / N))
    np.testing.assert_allclose([found.slope, 2 * found.error], [line.slope, line.stderr], rtol=1e-10)
    np.testing.assert_allclose(found.amplitude, np.exp(line.intercept), rtol=1e-10)
    assert found.indices == (1, 40)


def test_bad_input_is_refused():
    y = powers(2.0, 1.0)
    with pytest.raises(ShapeError, match="one label for each of the 600 rows"):
        smoothness(system(), y[:20])
    with pytest.raises(SettingError, match="truncation"):
        smoothness(system(), y, truncation=2)
    with pytest.raises(SettingError, match="decay"):
        smoothness(system(), y, decay=-1.0)
    with pytest.raises(DataError, match="0 in every mode"):
        smoothness(system(), jnp.zeros(N))
    with pytest.raises(DataError, match="noise level"):
        smoothness(system(), jnp.asarray(np.random.default_rng(0).normal(size=N)))
