"""Labellings, classes and networks that are drawn at random are those that their populations say."""

import math

import jax
import numpy as np
import pytest

from lemmata.engine.problems.set_systems import (
    BinomialSums,
    ClassPairs,
    SetSystem,
    SetSystems,
    SignArchitecture,
    SignArchitectures,
)


def test_a_pair_of_classes_has_functions_with_two_and_with_three_values(key):
    population = ClassPairs()
    for functions, rows in ((2, 1), (30, 6)):
        pair = population.sample({"functions": functions, "rows": rows}, key)
        assert pair.first.shape == pair.second.shape == (functions, 6)
        assert pair.rows == rows
    assert set(np.unique(pair.first)) == {0, 1}
    assert set(np.unique(pair.second)) == {0, 1, 2}
    for rows, holds in ((6, True), (7, False)):
        (own,) = population.hypotheses(population.sample({"functions": 2, "rows": rows}, key))
        assert bool(own.holds) is holds, "points of the domain, of which there are six"


def test_a_family_is_a_ball_or_has_more_members_than_a_smaller_ball(key):
    masks, balls, points, radius = np.arange(2**6), 0, 6, 2
    spheres = {tuple(np.bitwise_count(masks ^ centre) <= radius) for centre in masks}
    least = sum(math.comb(points, size) for size in range(radius))
    sizes = set()
    for own in jax.random.split(key, 60):
        problem = SetSystems().sample({"points": points, "radius": radius}, own)
        assert (problem.points, problem.member.shape) == (points, (2**points,))
        ball, size = tuple(np.asarray(problem.member).tolist()) in spheres, int(problem.member.sum())
        balls += ball
        assert ball or least < size <= 2**points
        sizes |= set() if ball else {size}
    assert 15 < balls < 45
    assert len(sizes) > 10
    for member, holds in ((np.zeros(4, bool), False), (np.arange(4) == 2, True)):
        (hypothesis,) = SetSystems().hypotheses(SetSystem(jax.numpy.asarray(member)))
        assert bool(hypothesis.holds) is holds


def test_sums_of_binomial_coefficients_are_drawn_from_all_numbers_in_their_ranges(key):
    draw = jax.vmap(lambda own: BinomialSums().sample({"most": 3}, own))
    found = draw(jax.random.split(key, 3000))
    assert set(np.asarray(found.chosen).tolist()) == {1, 2, 3}
    assert set(np.asarray(found.points - found.chosen).tolist()) == set(range(61))


@pytest.mark.parametrize(("widths", "weights"), [((7, 1), 7), ((3, 4, 1), 16), ((2, 8, 5, 1), 61)])
def test_the_weights_of_a_network_are_the_products_of_neighbouring_widths(widths, weights):
    assert SignArchitecture(widths, 3).weights == weights


def test_half_of_the_networks_are_units_with_few_rows_and_the_others_have_two_or_three_layers(key):
    found = [SignArchitectures().sample({"rows": 12}, own) for own in jax.random.split(key, 300)]
    units = [own for own in found if len(own.widths) == 2]
    deep = [own for own in found if len(own.widths) > 2]
    assert 110 < len(units) < 190
    assert {own.widths for own in units} == {(d, 1) for d in range(2, 6)}
    assert {(own.widths[0], own.rows) for own in units} == {(d, n) for d in range(2, 6) for n in range(2, d + 1)}
    assert {len(own.widths) for own in deep} == {3, 4}
    assert {width for own in deep for width in own.widths[:-1]} == set(range(2, 9))
    assert {own.widths[-1] for own in deep} == {1}
    assert {own.rows for own in deep} == set(range(2, 13))
