"""Steps, pieces, kinks, depth, activations and lookups against routes that share no code with them."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, spatial, special, stats

from lemmata.subjects.approximation import (
    deep_squares,
    kinks_of_networks,
    lifted_perceptron,
    lookups,
    narrow_networks,
    polynomial_units,
    steps_and_knots,
)
from lemmata.subjects.approximation._bends import Layer, bends
from lemmata.subjects.approximation._fewest_pieces import least_error, line_error, pieces_needed

RNG = np.random.default_rng(0)


def random_layers(*sizes, below=0.0):
    return [Layer(RNG.normal(size=(n, m)), RNG.normal(size=n), below) for m, n in itertools.pairwise(sizes)]


@pytest.mark.parametrize("below", [0.0, 0.3])
def test_bends_are_the_changes_of_sign_on_a_fine_grid(below):
    layers, start, way = random_layers(3, 6, 5, 4, below=below), RNG.normal(size=3), RNG.normal(size=3)
    found = bends(layers, start, way, -2.0, 2.0)
    t = np.linspace(-2, 2, 400_001)
    x = start + t[:, None] * way
    for number, layer in enumerate(layers):
        before = x @ layer.weights.T + layer.biases
        changes = np.nonzero(before[1:] * before[:-1] < 0)
        mine = found.layers == number
        assert np.allclose(np.sort(found.places[mine]), t[changes[0]], atol=1e-5)
        assert sorted(found.units[mine]) == sorted(changes[1])
        x = np.where(before > 0, before, below * before)
    piece = np.clip(np.searchsorted(found.ends, t) - 1, 0, len(found.ends) - 2)
    assert np.allclose(found.values[piece] + t[:, None] * found.slopes[piece], x)


def test_the_speed_of_normalised_outputs_is_one_on_average(key):
    """E chi_(k-1) E 1/chi_k = 1; and the claim's number at width 2, where a quarter of the length survives."""
    for k in (2, 3, 7, 30):
        up = math.sqrt(2) * math.exp(special.gammaln(k / 2) - special.gammaln((k - 1) / 2))
        down = math.exp(special.gammaln((k - 1) / 2) - special.gammaln(k / 2)) / math.sqrt(2)
        assert up * down == pytest.approx(1.0)
    claim = kinks_of_networks.KinksOnACircle()
    problem = kinks_of_networks.CircleOfInputs(np.eye(2), 2)
    found = np.mean([claim.measure(problem, own)[0] for own in jax.random.split(key, 60)])
    assert found == pytest.approx(0.5, abs=0.1)
    assert np.allclose(claim.predict(problem), [0.5, 0.125, 0.03125])


def test_a_random_hinge_is_at_a_cauchy_number(key):
    problem = kinks_of_networks.SegmentOfInputs(
        jnp.array([3.0, -1.0]), jnp.array([3.0, 2.0]), jnp.asarray(2.0), jnp.asarray(0.5)
    )
    law = stats.cauchy(scale=math.sqrt(2 * 0.25 / 4 + 9.0))
    claim = kinks_of_networks.KinksOnASegment()
    assert float(claim.predict(problem)) == pytest.approx(law.cdf(2.0) - law.cdf(-1.0))
    assert float(claim.measure(problem, key)) == pytest.approx(law.cdf(2.0) - law.cdf(-1.0), abs=0.03)


def test_regions_by_linear_programs(key):
    problem = kinks_of_networks.Arrangements().sample({"d": 2, "units": 6}, key)
    count = 0
    for signs in itertools.product((-1, 1), repeat=len(problem.biases)):
        rows = -np.array(signs)[:, None] * np.column_stack([problem.weights, problem.biases])
        table = np.column_stack([rows[:, :2], np.ones(len(rows))])
        found = optimize.linprog([0, 0, -1], A_ub=table, b_ub=-rows[:, 2], bounds=[(None, None)] * 2 + [(None, 1)])
        count += found.x[2] > 1e-9
    assert count == float(kinks_of_networks.ArrangementRegions().measure(problem, key))


def test_steps_by_all_cuts_and_by_a_loop(key):
    line = steps_and_knots.LineToStep(jnp.asarray(3.0), jnp.asarray(1.0), 3)
    cuts = np.linspace(0, 1, 91)
    best = min(max(a, b - a, 1 - b) * 1.5 for a in cuts for b in cuts if a <= b)
    assert float(steps_and_knots.StepsForALine().measure(line, key)) == pytest.approx(best) == pytest.approx(0.5)
    curve = steps_and_knots.LipschitzCurves().sample({"steps": 7}, key)
    x = jnp.linspace(0, 1, 70_001)
    apart = float(jnp.abs(curve.at(x) - curve.at(jnp.minimum(jnp.floor(x * 7), 6) / 7)).max())
    assert float(steps_and_knots.StepUnits().measure(curve, key)) == pytest.approx(apart, rel=1e-3)


def test_pieces_by_a_linear_program_and_by_hand():
    f = lambda x: jnp.exp(2 * x) + jnp.cos(9 * x)
    x = np.linspace(0.2, 0.9, 33)
    y = np.asarray(f(x))
    table = np.block([[x[:, None], np.ones((33, 1)), -np.ones((33, 1))], [-x[:, None], -np.ones((33, 2))]])
    program = optimize.linprog([0, 0, 1], A_ub=table, b_ub=np.append(y, -y), bounds=[(None, None)] * 3)
    assert float(line_error(f, jnp.asarray(0.2), jnp.asarray(0.9))) == pytest.approx(program.fun, rel=1e-4)
    for n in (1, 5, 12):
        assert float(least_error(lambda x: x**2, n)) == pytest.approx(1 / (8 * n**2), rel=1e-3)
    assert float(pieces_needed(lambda x: x**2, jnp.asarray(1 / 200.0 * 1.001), 1.0, 50)) == 5


def test_deep_squares_interpolate_and_products_are_below():
    x = np.linspace(0, 1, 1001)
    nodes = np.arange(17) / 16
    assert np.allclose(deep_squares.deep_square(jnp.asarray(x), 4), np.interp(x, nodes, nodes**2), atol=1e-14)
    a, b = RNG.uniform(-3, 3, (2, 4000))
    square = lambda t: np.interp(np.abs(t) / 6, nodes, nodes**2)
    error = a * b - 18 * (square(a + b) - square(a) - square(b))
    assert error.min() > -1e-12
    assert error.max() <= 9 / 4**4


def test_powers_lie_in_the_span_of_monomials(key):
    table = polynomial_units.FeatureTables().sample({"d": 2, "degree": 3}, key)
    powers = [p for p in itertools.product(range(4), repeat=table.x.shape[1]) if sum(p) <= table.degree]
    monomials = np.stack([np.prod(table.x ** np.array(p), axis=1) for p in powers], axis=1)
    features = table.units**table.degree
    rest = features - monomials @ np.linalg.lstsq(monomials, features)[0]
    assert np.abs(rest).max() < 1e-9 * np.abs(features).max()
    assert len(powers) == int(polynomial_units.PolynomialActivationsFail().predict(table)[0])


def test_three_cubes_do_not_make_a_product_of_three():
    """Coefficients of sum c (a'x)³ against those of xyz, from many starts: 4 terms reach them, 3 do not."""
    powers = [p for p in itertools.product(range(4), repeat=3) if sum(p) == 3]
    counts = np.array([math.factorial(3) / math.prod(map(math.factorial, p)) for p in powers])
    target = np.array([float(p == (1, 1, 1)) for p in powers])

    def gap(free):
        a = free.reshape(-1, 3)
        return counts * np.stack([np.prod(a ** np.array(p), axis=1).sum() for p in powers]) - target

    least = {k: min(optimize.least_squares(gap, RNG.normal(size=3 * k)).cost for _ in range(8)) for k in (3, 4)}
    assert least[4] < 1e-12
    assert least[3] > 1e-3


@pytest.mark.parametrize("d", [2, 5])
def test_distances_on_the_torus_by_a_tree(d, key):
    torus = lookups.Torus(jnp.zeros(d), 300)
    stored_key, query_key = jax.random.split(key)
    tree = spatial.cKDTree(np.asarray(jax.random.uniform(stored_key, (300, d))), boxsize=1.0)
    near, _ = tree.query(np.asarray(jax.random.uniform(query_key, (50, d))), k=2)
    assert np.allclose(torus.nearest(key, 50), near)
    grid = np.linspace(0, 0.5, 20_001)
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    exact = np.trapezoid(np.maximum(1 - ball * grid**d, 0) ** 300, grid)
    assert float(lookups.TorusLookup().predict(torus)) == pytest.approx(exact, rel=1e-4)


def test_three_units_make_a_bounded_level_set(key):
    angles = 2 * np.pi * np.arange(3) / 3
    wide = narrow_networks.NarrowNetwork(
        (Layer(np.stack([np.cos(angles), np.sin(angles)], axis=1), np.zeros(3)),), -np.ones(3), -np.ones(2), np.ones(2)
    )
    assert narrow_networks._inside(wide) > 1.3 * narrow_networks._boundary(wide)
    bump = narrow_networks.BumpToBuild(jnp.array([1.0, 2.0]), jnp.asarray(2.0), jnp.array([0.5, -0.25]))
    assert np.allclose(narrow_networks.BumpOfOneMoreUnit().measure(bump, key), [2.0, 1.75, 1.0])


def test_margin_by_a_quadratic_program_and_no_line_for_an_ellipse():
    for own in jax.random.split(jax.random.key(1), 4):
        signed = lifted_perceptron.SignedRows().sample({"n": 24}, own).features
        rule = [{"type": "ineq", "fun": lambda w, rows=signed: rows @ w - 1, "jac": lambda w, rows=signed: rows}]
        start = np.linalg.lstsq(signed, np.ones(len(signed)))[0] * 3
        options = {"maxiter": 500, "ftol": 1e-12}
        found = optimize.minimize(lambda w: w @ w / 2, start, jac=lambda w: w, constraints=rule, options=options)
        assert lifted_perceptron.largest_margin(signed) == pytest.approx(1 / np.linalg.norm(found.x), rel=1e-3)
        if signed.shape[1] == 6:
            line = optimize.linprog(np.zeros(3), A_ub=-signed[:, :3], b_ub=-np.ones(24), bounds=[(None, None)] * 3)
            assert line.status == 2
