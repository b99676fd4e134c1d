"""Counts of labellings against programmes, lattices and exact arithmetic, and what the counts say at their ends."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from lemmata.engine.problems.set_systems import BinomialSum, SetSystem, SetSystems, SignArchitecture
from lemmata.subjects.generalisation import growth, separable_labellings, sine_labels
from lemmata.subjects.generalisation._labelled_points import GeneralPoints, PointsOnLine, SineNodes
from lemmata.subjects.generalisation._labellings import cover_count, halfspace_labellings, shattered_points


def _by_programme(points: np.ndarray) -> set[int]:
    """Labellings for which a linear programme finds w with y_i <w, x_i> >= 1."""
    found = set()
    for code in range(2 ** len(points)):
        signs = np.array([1.0 if code >> i & 1 else -1.0 for i in range(len(points))])
        answer = linprog(
            np.zeros(points.shape[1]), -signs[:, None] * points, -np.ones(len(points)), bounds=(None, None)
        )
        if answer.status == 0:
            found.add(code)
    return found


@pytest.mark.parametrize(("n", "d"), [(3, 3), (5, 2), (6, 3), (6, 4)])
def test_rays_find_the_labellings_that_programmes_find(n, d):
    points = np.random.default_rng(n + 10 * d).normal(size=(n, d)) + 0.5
    found = halfspace_labellings(points)
    assert set(found.tolist()) == _by_programme(points)
    assert len(found) == cover_count(n, d)


def test_points_in_special_position_have_fewer_labellings():
    points = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    assert len(_by_programme(points)) == 6 < cover_count(4, 2) == 8


def test_separability_by_convex_combinations_is_that_of_programmes():
    rng = np.random.default_rng(3)
    seen = []
    for _ in range(40):
        signed = rng.normal(size=(8, 4))
        answer = linprog(np.zeros(4), -signed, -np.ones(8), bounds=(None, None))
        seen.append(answer.status == 0)
        assert separable_labellings.separable(signed) == seen[-1]
    assert 5 < sum(seen) < 35


@pytest.mark.parametrize("d", range(1, 30))
def test_capacity_is_twice_the_dimension(d):
    assert Fraction(cover_count(2 * d, d), 2 ** (2 * d)) == Fraction(1, 2)
    assert cover_count(d, d) == 2**d
    assert cover_count(d + 1, d) == 2 ** (d + 1) - 2


@pytest.mark.parametrize("n", [1, 4, 7])
def test_the_dimension_of_known_families(n):
    masks = np.arange(2**n)
    size = np.bitwise_count(masks)
    thresholds = 2 ** np.arange(n + 1) - 1
    intervals = np.unique([(1 << j) - (1 << i) for i in range(n + 1) for j in range(i, n + 1)])
    assert shattered_points(masks, n) == n
    assert shattered_points(thresholds, n) == 1
    assert shattered_points(intervals, n) == min(2, n)
    assert shattered_points(np.array([5 % 2**n]), n) == 0
    assert shattered_points(np.arange(2 ** min(n, 2)), n) == min(n, 2)
    for k in range(n + 1):
        assert shattered_points(masks[size <= k], n) == k
        assert np.sum(size <= k) == growth._sauer(n, k)


def test_parity_shatters_nearly_all_points():
    """Labellings of an even size: all but one of the points are free."""
    masks = np.arange(2**6)
    assert shattered_points(masks[np.bitwise_count(masks) % 2 == 0], 6) == 5


def test_families_are_tight_in_about_half_of_the_draws(key):
    space, balls = SetSystems(), 0
    for own in jax.random.split(key, 40):
        problem = space.sample({"points": 7, "radius": 3}, own)
        balls += int(problem.member.sum()) == 64
        assert growth.SauerShelah().measure(problem, key) <= growth.SauerShelah().predict(problem)
    assert 8 < balls < 32


def test_a_full_family_is_vacuous_and_a_ball_of_radius_zero_shatters_nothing(key):
    full = SetSystem(jnp.ones(16, bool))
    assert growth.SauerShelah().predict(full) == growth.SauerShelah().trivial(full) == 16
    assert growth.SauerShelah().predict(SetSystem(jnp.arange(16) == 3)) == 1


@pytest.mark.parametrize(("n", "k"), [(1, 1), (7, 3), (40, 5), (65, 5)])
def test_binomial_sums_term_by_term_are_exact(n, k, key):
    problem = BinomialSum(jnp.asarray(float(k)), jnp.asarray(float(n)))
    exact = sum(math.comb(n, i) for i in range(k + 1))
    assert float(growth.SauerPolynomial().measure(problem, key)) == pytest.approx(exact, rel=1e-13)
    assert exact <= float(growth.SauerPolynomial().predict(problem))


def test_the_polynomial_form_fails_below_the_dimension():
    """It is stated for N >= k; at N < k/e it would exclude labellings that occur."""
    assert (math.e * 2 / 8) ** 8 < 2**2


def test_networks_with_drawn_weights_stay_inside_the_count_and_reach_most_of_it():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(6, 2))
    known = set(growth.majority_labellings(points).tolist())
    found = set()
    for _ in range(20):
        units = np.sign(rng.normal(size=(4000, 3, 2)) @ points.T)
        labels = np.einsum("nk,nkp->np", rng.normal(size=(4000, 3)), units) > 0
        found |= set((labels @ (1 << np.arange(6))).tolist())
    print("labellings found by", 80_000, "networks:", len(found), "of", len(known))
    assert found <= known
    assert len(known) == 2 * (6 + math.comb(6, 3))
    assert len(found) > 0.9 * len(known)


def test_the_product_of_units_is_of_a_higher_order():
    count = lambda n: 2 * (n + math.comb(n, 3))
    product = lambda n: cover_count(n, 2) ** 3 * cover_count(n, 3)
    orders = [math.log2(f(4096) / f(2048)) for f in (count, product)]
    print("orders in N of the count and of the product:", np.round(orders, 3))
    assert orders == pytest.approx([3, 5], abs=0.01)


def test_a_bound_by_counting_needs_more_rows_than_weights(key):
    """The usual bound sqrt(8 ln(4 G(2N)/delta)/N) on the error, with the count for G: vacuous up to N = 5.5 W."""
    widths = (5, 4, 1)
    for n in (5, 24, 60, 130):
        problem = SignArchitecture(widths, 2 * n)
        bits = float(growth.CountBelowParameters().measure(problem, key))
        radius = math.sqrt(8 * (bits * math.log(2) + math.log(4 / 0.05)) / n)
        assert bits >= float(growth.CountBelowParameters().predict(problem)) == min(2 * n, 24)
        assert radius > 1
    for d in (2, 9, 17):
        unit = SignArchitecture((d, 1), d)
        assert float(growth.CountBelowParameters().measure(unit, key)) == d == unit.weights


@pytest.mark.parametrize("n", [2, 5, 9])
def test_sines_shatter_in_exact_arithmetic(n):
    """a x_i/pi is rational: the label is 1 where it lies in (0, 1) modulo 2."""
    least = Fraction(1)
    for labels in itertools.product((0, 1), repeat=n):
        frequency = 1 + sum((1 - y) * 2 ** (i + 1) for i, y in enumerate(labels))
        for i, y in enumerate(labels):
            place = Fraction(frequency, 2 ** (i + 1)) % 2
            assert (0 < place < 1) == bool(y)
            least = min(least, place % 1, 1 - place % 1)
    assert least == Fraction(1, 2**n)


@pytest.mark.parametrize("n", [3, 6, 9])
def test_sines_of_a_quarter_of_the_frequency_do_not_shatter(n, key):
    """Up to |a| <= 2^(N-2) pi; with both signs of a the labellings at most double."""
    problem = PointsOnLine(0.5 ** jnp.arange(1.0, n + 1), jnp.asarray(2.0 ** (n - 2) * jnp.pi))
    found = float(sine_labels.SinesOfBoundedFrequency().measure(problem, key))
    assert 2 * found < 2**n
    whole = PointsOnLine(problem.points, jnp.asarray(2.0 ** (n + 1) * jnp.pi))
    assert float(sine_labels.SinesOfBoundedFrequency().measure(whole, key)) == 2**n


@pytest.mark.parametrize(("most", "labellings"), [(0.5, 1), (1.5, 2), (2.5, 2)])
def test_labellings_of_one_point_come_back(most, labellings, key):
    problem = PointsOnLine(jnp.array([1.0]), jnp.asarray(most * jnp.pi))
    assert float(sine_labels.SinesOfBoundedFrequency().measure(problem, key)) == labellings
    assert float(sine_labels.SinesOfBoundedFrequency().predict(problem)) == 1 + int(most)


def test_the_margin_of_sines_does_not_depend_on_the_scale(key):
    margins = [float(sine_labels.SinesShatter().measure(SineNodes(jnp.asarray(c), 6), key)) for c in (0.01, 1.0, 50.0)]
    assert margins == pytest.approx([math.sin(math.pi / 64)] * 3, rel=1e-9)


def test_three_points_of_the_plane_and_no_four(key):
    points = jnp.asarray(np.random.default_rng(5).normal(size=(7, 2)))
    found = separable_labellings.DimensionOfHalfspaces().measure(GeneralPoints(points), key)
    assert found.tolist() == [3, 14]
