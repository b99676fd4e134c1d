"""Spectra and noise on the cube against sums over subsets and points, cases by hand, and draws."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.functions import cube
from lemmata.subjects.boolean import _cube_functions as functions
from lemmata.subjects.boolean import low_degree, noise, spectra


def _coefficients(values: np.ndarray) -> dict[tuple[int, ...], float]:
    """By the definition, one subset after another."""
    points = np.asarray(cube(len(values).bit_length() - 1))
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(points.shape[1]), k) for k in range(points.shape[1] + 1)
    )
    return {s: float(np.mean(values * np.prod(points[:, list(s)], axis=1))) for s in subsets}


@pytest.mark.parametrize("eta", [1e-6, 0.03, 0.3, 0.5])
def test_three_routes_to_noise_sensitivity(key, eta):
    values = functions.random_halfspace(key, 5)
    spectrum = _coefficients(np.asarray(values))
    expected = 0.5 - 0.5 * sum((1 - 2 * eta) ** len(s) * c**2 for s, c in spectrum.items())
    rate = jnp.asarray(eta)
    assert float(functions.changed_by_flips(values, rate)) == pytest.approx(expected, rel=1e-8, abs=1e-15)
    assert float(noise._changed_by_spectrum(values, rate)) == pytest.approx(expected, rel=1e-8, abs=1e-15)


def test_little_noise_is_not_lost_to_rounding():
    """A dictator changes with probability eta exactly."""
    values = cube(6)[:, 2]
    for eta in (1e-14, 1e-5, 0.25):
        assert float(functions.changed_by_flips(values, jnp.asarray(eta))) == pytest.approx(eta, rel=1e-12)
        assert float(noise._changed_by_spectrum(values, jnp.asarray(eta))) == pytest.approx(eta, rel=1e-10)


def test_parities_nearly_attain_the_constant():
    ratios = []
    for size in (8, 12):
        values = functions.parity_of_size(12, jnp.asarray(size))
        bound = 2 / (1 - math.exp(-2)) * float(functions.changed_by_flips(values, jnp.asarray(1 / size)))
        assert bound == pytest.approx((1 - (1 - 2 / size) ** size) / (1 - math.exp(-2)))
        ratios.append(bound)
    assert 1 < ratios[1] < ratios[0] < 1.045


def test_intersections_of_gaussian_halfspaces_by_draws():
    """Four halfspaces, at noise that draws can see; one halfspace has the closed form."""
    for eta in (0.01, 0.2):
        assert float(noise._intersection_noise(jnp.asarray(eta), 1.0)) == pytest.approx(np.arccos(1 - 2 * eta) / np.pi)
    rng, eta, k = np.random.default_rng(1), 0.1, 4
    t = stats.norm.ppf(0.5 ** (1 / k))
    x, z = rng.normal(size=(2, 400_000, k))
    y = (1 - 2 * eta) * x + 2 * np.sqrt(eta * (1 - eta)) * z
    changed = np.mean(np.all(x <= t, axis=1) != np.all(y <= t, axis=1))
    assert float(noise._intersection_noise(jnp.asarray(eta), float(k))) == pytest.approx(changed, abs=0.003)


def test_and_of_two_has_known_influences():
    values = jnp.where(jnp.all(cube(2) < 0, axis=1), -1.0, 1.0)
    assert functions.flip_rates(values).tolist() == [0.5, 0.5]
    assert _coefficients(np.asarray(values)) == {(): 0.5, (0,): 0.5, (1,): 0.5, (0, 1): -0.5}


@pytest.mark.parametrize("d", [2, 3, 6, 9])
def test_largest_influence_of_monotone_functions(d):
    """E |x_1 + ... + x_d| from the binomial law."""
    chances = stats.binom.pmf(np.arange(d + 1), d, 0.5)
    mean = np.sum(chances * np.abs(d - 2 * np.arange(d + 1)))
    problem = functions.NoisyFunction(jnp.ones(2**d), jnp.asarray(0.1))
    assert float(spectra.MajorityHasLargestInfluence().predict(problem)) == pytest.approx(mean)


def test_all_monotone_functions_of_three_bits():
    """Of the 20 monotone functions none exceeds the majority, and the sampler's hypothesis recognises them."""
    population = spectra.MonotoneFunctions()

    def one(values):
        rise = population.hypotheses(functions.NoisyFunction(values, jnp.asarray(0.1)))[0].value
        return rise, jnp.sum(functions.flip_rates(values))

    rises, influences = jax.vmap(one)(jnp.asarray(list(itertools.product([-1.0, 1.0], repeat=8))))
    assert int(jnp.sum(rises <= 0)) == 20
    assert float(influences[rises <= 0].max()) == 1.5


def test_critical_noise_of_a_small_perturbation():
    """1 + e x: the second-order expansion of both norms gives rho^2 (q - 1) = p - 1."""
    claim = spectra.Hypercontractive()
    problem = spectra.TwoNorms(1 + 1e-3 * cube(1)[:, 0], jnp.asarray(1.5), jnp.asarray(3.0))
    found = float(claim.measure(problem, jax.random.key(0)))
    assert found == pytest.approx(math.sqrt(0.5 / 2.0), rel=1e-5)


def test_low_degree_error_over_all_samples():
    """Two coordinates and two examples: the mean over all 16 samples."""
    values = np.array([1.0, 1.0, -1.0, 1.0])
    points = np.asarray(cube(2))
    basis = np.stack([np.ones(4), points[:, 0], points[:, 1]])
    errors = []
    for rows in itertools.product(range(4), repeat=2):
        estimates = np.mean([values[r] * basis[:, r] for r in rows], axis=0)
        errors.append(np.mean((estimates @ basis - values) ** 2))
    problem = low_degree.LowDegreeTask(jnp.asarray(values), 2, 2)
    assert float(low_degree._expected_error(problem)) == pytest.approx(np.mean(errors))


def test_trees_have_degree_three(key):
    values = functions.random_tree(key, 6)
    assert all(c == 0 for s, c in _coefficients(np.asarray(values)).items() if len(s) > 3)
