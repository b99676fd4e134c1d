"""Units with random weights: the bound of their logits, their hypotheses at the edges, and how far the weights move."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import Integer
from lemmata.engine.problems.random_units import RandomLayers, RandomUnits, moves, unit_rows
from lemmata.engine.problems.regression import Regression
from lemmata.kernels import RBF


def units(x=((1.0, 0.0), (0.0, 1.0)), outputs=3, width=64, radius=0.005):
    return RandomUnits(jnp.asarray(x), outputs, width, 0.5, radius)


def test_the_bound_of_logits_counts_rows_and_outputs():
    assert units().bound == pytest.approx(5 * math.sqrt(math.log(2 * 3 / 0.1)), rel=1e-14)


def test_rows_are_unit_vectors_on_all_sides(key):
    x = np.asarray(unit_rows(key, 500, 3))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), np.ones(500), rtol=1e-14)
    assert np.all(np.abs(x.mean(axis=0)) < 5 * np.sqrt(1 / 3 / 500))
    assert np.all(np.abs((x**2).mean(axis=0) - 1 / 3) < 5 * np.sqrt(4 / 45 / 500))


def test_hypotheses_hold_up_to_their_edges():
    told = lambda problem: [bool(own.holds) for own in RandomLayers().hypotheses(problem)]
    assert told(units()) == [True, True, True, True]
    assert told(units(x=((1.0 + 1e-9, 0.0), (0.0, 1.0)))) == [False, True, True, True]
    assert told(units(radius=0.01)) == [True, False, True, True]
    assert told(units(radius=0.01 * (1 - 1e-9))) == [True, True, True, True]
    assert told(units(radius=0.0)) == [True, True, False, True]
    most = 10**49 // 2  # log(2 n m) <= 49 log(n k/delta), with n = k = 1
    assert told(units(x=((1.0, 0.0),), outputs=1, width=most - most // 10**6)) == [True, True, True, True]
    assert told(units(x=((1.0, 0.0),), outputs=1, width=most + most // 10**6)) == [True, True, True, False]


def test_settings_have_the_defaults_of_the_population(key):
    population = RandomLayers(radius=0.002, outputs=2, sigma=0.3)
    space = population.settings()
    outputs = space.variables["k"]
    assert isinstance(outputs, Integer)
    assert (space.default["R"], space.default["sigma"], outputs.low) == (0.002, 0.3, 2)
    drawn = population.sample(space.resolve({"n": 5, "d": 3, "k": 4, "m": 8}), key)
    assert (drawn.x.shape, drawn.outputs, drawn.width, drawn.sigma, drawn.radius) == ((5, 3), 4, 8, 0.3, 0.002)


def test_a_regression_gives_its_first_rows_in_the_unit_ball():
    x = jnp.concatenate([jnp.array([[3.0, 4.0]]), jnp.ones((39, 2))])
    problem = Regression(x, jnp.ones((40, 3)), x[:1], jnp.ones((1, 3)), RBF(1.0), jnp.asarray(0.1), jnp.asarray(0.0))
    own = RandomLayers(radius=0.004).pose(problem)
    assert own is not None
    np.testing.assert_allclose(own.x[:2], [[0.6, 0.8], [0.2, 0.2]], rtol=1e-15)
    assert (len(own.x), own.outputs, own.width, own.sigma, own.radius) == (32, 3, 64, 0.05, 0.004)
    zeros = RandomLayers().pose(Regression(0 * x, x, x, x, RBF(1.0), jnp.asarray(0.1), jnp.asarray(0.0)))
    assert zeros is not None
    assert not np.asarray(zeros.x).any()
    assert RandomLayers().pose("a text") is None


def test_six_moves_of_the_weights_by_the_whole_radius(key):
    x = jnp.array([[2.0, 0.0], [0.0, 0.5], [-1.0, -1.0]])
    weight = jnp.array([[1.0, -0.5, 0.1, 0.2], [0.0, 3.0, -0.2, 0.1]])
    drawn = jax.random.normal(key, (2, 4))
    made = jax.jit(moves)
    found = np.asarray(made(x, weight, 0.25, drawn))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.full((6, 4), 0.25), rtol=1e-12)
    unit = np.array([[1.0, 0.0], [0.0, 1.0], [-np.sqrt(0.5), -np.sqrt(0.5)]])
    logits = np.asarray(x) @ np.asarray(weight)
    sums = np.exp(logits).sum(axis=1)
    assert sums.argmax() == 0
    assert sums.argmin() == 2
    shares = np.exp(logits) / sums[:, None]
    row, column = np.unravel_index(shares.argmax(), shares.shape)
    assert (row, column) == (0, 0)
    np.testing.assert_allclose(found[0], 0.25 * np.asarray(drawn) / np.linalg.norm(drawn, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found[1], 0.25 * np.tile(unit[0][:, None], 4), rtol=1e-12)
    np.testing.assert_allclose(found[2], -0.25 * np.tile(unit[2][:, None], 4), rtol=1e-12)
    own = np.abs(logits).argmax(axis=0)
    wanted = np.stack([unit[i] * np.sign(logits[i, r]) for r, i in enumerate(own)], axis=1)
    np.testing.assert_allclose(found[3], 0.25 * wanted, rtol=1e-12)
    np.testing.assert_allclose(found[4], 0.25 * unit[0][:, None] * np.array([1, -1, -1, -1]), rtol=1e-12)
    np.testing.assert_allclose(found[5], 0.25 * unit[0][:, None] * np.array([1, -1, 1, -1]), rtol=1e-12)
    still = np.asarray(made(jnp.zeros((1, 2)), weight, 0.25, drawn))
    np.testing.assert_allclose(still[1:], np.zeros((5, 2, 4)), err_msg="zero inputs have no direction")
