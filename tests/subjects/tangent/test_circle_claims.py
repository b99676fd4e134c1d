"""Eigenvalues on the circle by quadrature and by sums of aliases; a third layer learns odd frequencies."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from lemmata.architectures import relu_network
from lemmata.subjects.tangent import circle as section


@pytest.mark.parametrize("part", [0, 1])
def test_limits_of_the_eigenvalues_by_quadrature(part):
    kernels = (
        lambda t: (np.sin(t) + (np.pi - t) * np.cos(t)) / (2 * np.pi),
        lambda t: (np.pi - t) * np.cos(t) / (2 * np.pi),
    )
    problem = section.Polygon(jnp.asarray(1.0), jnp.asarray(0.0), 20_000)
    found = np.asarray(section.CircleSpectrum().predict(problem))[part] / problem.n
    for k in range(9):
        exact = quad(lambda t, k=k: kernels[part](t) * np.cos(k * t), 0, np.pi)[0] / np.pi
        assert found[k] == pytest.approx(exact, abs=1e-7)


def test_sums_of_aliases():
    count, k = 8, 2
    j = k + count * np.arange(-200_000, 200_001)
    problem = section.Polygon(jnp.asarray(1.5), jnp.asarray(0.4), count)
    found = section.CircleSpectrum().predict(problem)[:, k] / (count * 1.5**2)
    sums = [np.sum(2 / (np.pi * (j**2 - 1.0)) ** 2), np.sum((j**2 + 1) / (np.pi * (j**2 - 1.0)) ** 2)]
    np.testing.assert_allclose(found, sums, rtol=1e-5)


def test_odd_parts_of_two_and_three_layers(key):
    odd = {}
    for depth in (1, 2):
        network = relu_network(depth=depth, width=30)
        params, _ = network.init(key, 2)
        outputs = [network.apply(params, point)[0] for point in section.circle(16)]
        waves = np.sin(3 * 2 * np.pi * np.arange(16) / 16)
        odd[depth] = abs(float(np.asarray(outputs) @ waves))
    assert odd[1] < 1e-12
    assert odd[2] > 1e-3


def test_even_frequencies_are_learned_and_odd_ones_stay(key):
    claim = section.OddFrequenciesStay()
    even = section.Waves(jnp.zeros(1), jnp.ones(1), 200)
    assert claim.measure(even, key) < 0.05
    odd = section.Waves(jnp.ones(1), jnp.zeros(1), 200)
    assert claim.predict(odd) == pytest.approx(0.5)
    assert 0.5 - 1e-12 <= claim.measure(odd, key) < 0.55


def test_time_to_halve_is_the_inverse_eigenvalue(key):
    bias = 1.0
    angles = 2 * np.pi * np.arange(section._POINTS) / section._POINTS
    cosine = (np.cos(angles) + bias**2) / (1 + bias**2)
    turn = np.arccos(np.clip(cosine, -1, 1))
    kernel = np.sin(turn) + 2 * (np.pi - turn) * cosine
    values = np.real(np.fft.fft(kernel))[list(map(int, section._FREQUENCIES))]
    found = section.FrequencyTime().measure(section.Bias(jnp.asarray(bias)), key)
    np.testing.assert_allclose(found[1:] / found[0], values[0] / values[1:], rtol=5e-3)
