"""Pieces of broken lines and networks by direct evaluation; best few pieces by linear programs; gains of lines."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from lemmata.subjects.depth._best_pieces import _cost_of_piece, best_errors
from lemmata.subjects.depth._broken_lines import BrokenLine, combined, network_output, tent_network
from lemmata.subjects.depth._zigzags import BrokenLinePairs, DeepLines
from lemmata.subjects.depth.sawtooths import NetworkPieces
from lemmata.subjects.depth.separation import ShallowNetworks


def tent(x):
    return np.maximum(0.0, np.minimum(2 * x, 2 - 2 * x))


def evaluated(weights, biases, x):
    for depth, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        x = np.asarray(weight) @ x + np.asarray(bias)[:, None]
        x = np.maximum(x, 0.0) if depth + 1 < len(weights) else x
    return x[0]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_iterates_of_the_tent_map(k):
    line = network_output(*tent_network(k))
    x = np.arange(-3, 2 ** (k + 2) + 3) / 2 ** (k + 2)
    values = x
    for _ in range(k):
        values = tent(values)
    assert [float(line(Fraction(point))) for point in x] == list(values)
    assert (values[1:-1] > np.maximum(values[:-2], values[2:])).sum() == 2 ** (k - 1)
    assert line.pieces == 2**k + 2


@pytest.mark.parametrize("number", range(4))
def test_pieces_of_networks_against_second_differences(key, number):
    network = DeepLines().sample({"width": 3, "layers": 2}, jax.random.fold_in(key, number))
    line = network.line()
    points = np.random.default_rng(number).normal(size=50)
    direct = evaluated(network.weights, network.biases, points[None])
    np.testing.assert_allclose([float(line(Fraction(float(x)))) for x in points], direct, rtol=1e-9, atol=1e-9)
    assert line.pieces <= NetworkPieces().predict(network)
    knots = np.asarray([float(x) for x in line.knots])
    between = np.concatenate([[knots[0] - 1], (knots[1:] + knots[:-1]) / 2, [knots[-1] + 1]])
    slopes = [(line(Fraction(x) + Fraction(1, 10**9)) - line(Fraction(x))) * 10**9 for x in between]
    assert len({float(x) for x in knots}) == line.pieces - 1
    assert all(one != two for one, two in itertools.pairwise(slopes))


def test_sums_and_compositions_against_values(key):
    f, g = BrokenLinePairs().sample({"p": 4, "q": 5}, key).lines()
    for number in np.random.default_rng(0).normal(size=30):
        x = Fraction(float(number))
        assert f.after(g)(x) == f(g(x))
        assert combined([f, g], [Fraction(2), Fraction(-1)], Fraction(1))(x) == 2 * f(x) - g(x) + 1


def test_false_knots_are_no_pieces():
    assert BrokenLine([Fraction(0), Fraction(1)], [Fraction(0), Fraction(1)], Fraction(1), Fraction(1)).pieces == 1


@pytest.mark.parametrize(("phase", "length"), [(0, 8), (1, 7), (2, 14), (0, 9)])
def test_the_best_line_by_a_linear_program(phase, length):
    cells = (np.arange(40 * length) + 0.5) / 40
    at = (phase + cells) % 8
    wave = np.where(at <= 4, at / 4, 2 - at / 4)
    n, columns = len(cells), np.stack([np.ones(len(cells)), cells], axis=1)
    sides = np.block([[columns, -np.eye(n)], [-columns, -np.eye(n)]])
    cost = np.concatenate([np.zeros(2), np.full(n, 1 / 160)])
    best = linprog(cost, sides, np.concatenate([wave, -wave]), bounds=[(None, None)] * 2 + [(0, None)] * n).fun
    assert _cost_of_piece(phase, length) == pytest.approx(best, rel=2e-3)


def test_few_pieces_by_hand():
    errors = best_errors(3)
    assert errors[0] == pytest.approx(1 / 4)
    assert errors[7] == pytest.approx(0.0, abs=1e-12)
    assert all(before > after for before, after in itertools.pairwise(errors))


def test_no_line_gains_more_than_nine_thirty_seconds():
    x = (np.arange(8 * 64) + 0.5) / 64
    wave = np.where(x % 2 < 1, x % 2, 2 - x % 2)
    best = 0.0
    for slope in np.linspace(0.0, 2.0, 41):
        lines = np.linspace(-1.0, 2.0, 61)[:, None] + slope * (x - 4.5)
        gained = np.cumsum(np.pad((0.25 - np.abs(wave - lines)) / 64, ((0, 0), (1, 0))), axis=1)
        best = max(best, (gained - np.minimum.accumulate(gained, axis=1)).max())
    assert best == pytest.approx(9 / 32, abs=1e-4)
    assert best <= 9 / 32 + 1e-12


def test_the_bound_is_below_the_best_function_for_every_number_of_pieces():
    for pieces, error in enumerate(best_errors(4), start=1):
        assert 1 / 4 - 9 / 32 * pieces / 16 <= error or pieces == 16


def test_the_target_of_shallow_networks_is_the_tent_map(key):
    problem = ShallowNetworks().sample({"k": 4, "width": 2, "starts": 1}, key)
    x = np.linspace(0.0, 1.0, 65)
    line = network_output(*tent_network(4))
    np.testing.assert_allclose(problem.target(jnp.asarray(x)), [float(line(Fraction(point))) for point in x])
