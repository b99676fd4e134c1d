"""Reduced bases by their definition, shortest vectors in a box, neurons and correlations by other routes."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from lemmata.subjects.hardness import lattices
from lemmata.subjects.hardness._lattices import reduced, shortest


def _gram_schmidt(basis):
    stars, mu = [], [[Fraction(0)] * len(basis) for _ in basis]
    for i, row in enumerate(basis):
        star = [Fraction(value) for value in row]
        for j, other in enumerate(stars):
            mu[i][j] = sum(a * b for a, b in zip(row, other, strict=True)) / sum(b * b for b in other)
            star = [a - mu[i][j] * b for a, b in zip(star, other, strict=True)]
        stars.append(star)
    return [sum(a * a for a in star) for star in stars], mu


@pytest.mark.parametrize("d", [2, 3, 5, 8])
@pytest.mark.parametrize("largest", [9, 10**15])
def test_reduced_bases_satisfy_the_definition(d, largest):
    rng = np.random.default_rng(d)
    basis = [[int(value) for value in row] for row in rng.integers(-largest, largest + 1, (d, d))]
    found = reduced(basis)
    sizes, mu = _gram_schmidt(found)
    assert all(2 * abs(mu[i][j]) <= 1 for i in range(d) for j in range(i))
    assert all(sizes[i] >= (Fraction(3, 4) - mu[i][i - 1] ** 2) * sizes[i - 1] for i in range(1, d))
    assert math.prod(sizes) == math.prod(_gram_schmidt(basis)[0])
    if largest == 9:
        change = np.asarray(found, float) @ np.linalg.inv(np.asarray(basis, float))
        assert np.allclose(change, np.rint(change), atol=1e-6)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_shortest_vectors_are_those_of_a_box(d):
    rng = np.random.default_rng(d)
    for _ in range(5):
        basis = rng.integers(-5, 6, (d, d))
        if np.linalg.matrix_rank(basis) < d:
            continue
        multiples = np.asarray([own for own in itertools.product(range(-9, 10), repeat=d) if any(own)])
        box = (np.asarray(reduced(basis.tolist())).T @ multiples.T) ** 2
        assert shortest(basis.tolist()) == box.sum(axis=0).min()


def test_planted_bases_are_left_alone_and_nearly_attain_the_factor():
    seen = 0
    for number in range(12):
        basis = np.asarray(lattices.Lattices().sample({"d": 7}, jax.random.key(number)).basis)
        if np.abs(basis).max() > 1000:
            seen += 1
            assert np.array_equal(np.abs(reduced(basis.tolist())[0]), np.abs(basis[0]))
            ratio = np.linalg.norm(basis[0]) / (2**3.5 * (shortest(basis.tolist()) / 3) ** 0.5)
            assert 0.96 < ratio <= 1
    assert 2 < seen < 11


def test_the_checkerboard_has_the_shortest_vectors_and_the_volume_of_its_packing():
    bases = [np.asarray(lattices.Lattices().sample({"d": 5}, jax.random.key(own)).basis) for own in range(20)]
    boards = [own for own in bases if np.count_nonzero(own) == 10 and np.unique(np.abs(own[own != 0])).size == 1]
    assert boards
    for own in boards:
        scale = int(np.abs(own).max())
        assert shortest(own.tolist()) == 2 * scale**2
        assert abs(np.linalg.det(own)) == pytest.approx(2 * scale**5)


@pytest.mark.parametrize("d", [2, 3])
def test_a_neuron_is_recovered_and_its_values_follow(d):
    rng = np.random.default_rng(d)
    direction = rng.normal(size=d)
    direction /= np.linalg.norm(direction)
    points = rng.normal(size=(d + 1, d))
    found = lattices.recovered(points, np.cos(6 * np.pi * (points @ direction)), 3.0)
    fresh = rng.normal(size=(100, d))
    assert np.allclose(np.cos(6 * np.pi * (fresh @ found)), np.cos(6 * np.pi * (fresh @ direction)), atol=1e-8)


def test_the_correlation_is_that_of_an_integral():
    cosine, frequency = 0.6, 0.25
    density = lambda s, t: math.exp(-(s * s + t * t) / 2) / (2 * math.pi)
    turn = 2 * math.pi * frequency
    value, _ = integrate.dblquad(
        lambda s, t: density(s, t) * math.cos(turn * s) * math.cos(turn * (cosine * s + 0.8 * t)), -9, 9, -9, 9
    )
    problem = lattices.TwoCosines(jnp.asarray(cosine), jnp.asarray(frequency))
    assert float(lattices.CosinesAreUncorrelated().predict(problem)) == pytest.approx(value, rel=1e-9)
