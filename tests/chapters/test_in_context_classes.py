"""Barron parameters, spectra, features and covers against routes that share no code with them."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from lemmata.chapters.in_context import barron, covering, steps, uniform_features
from lemmata.chapters.in_context._quadrature import pieces
from lemmata.chapters.in_context.integrals import CosineRamps
from lemmata.errors import SettingError, ShapeError
from lemmata.functions import (
    Cosines,
    CosineSum,
    GaussianBumps,
    LogisticNetworks,
    LogisticSum,
    barron_parameter,
    draw_frequencies,
    draw_function,
    representing_coefficients,
    sample_features,
)

RNG = np.random.default_rng(0)


def gaussian(omega):
    return jnp.prod(jnp.exp(-(omega**2) / 2) / math.sqrt(2 * math.pi), axis=1)


def gaussian_original(x):
    return jnp.exp(-jnp.sum(x**2, axis=1) / 2)


def cauchy(omega):
    return (1 + jnp.sum(omega**2, axis=1)) ** -2


@pytest.mark.parametrize("d", [1, 2, 5])
def test_moment_of_a_gaussian_transform(key, d):
    found = barron.spectral_moment(gaussian, d, key)
    assert abs(found.value - barron.gaussian_moment(d)) <= 5 * found.standard_error + found.truncation + 1e-4
    lengths = np.linalg.norm(RNG.standard_normal((200_000, d + 1)), axis=1)
    assert found.median == pytest.approx(np.median(lengths), rel=0.02), "|omega| times the density is chi with d + 1"


def test_moment_with_a_polynomial_tail(key):
    # the integral of |w| / (1 + w²)² is 1
    found = barron.spectral_moment(cauchy, 1, key)
    assert abs(found.value - 1) <= 5 * found.standard_error + found.truncation + 1e-6
    slow = barron.spectral_moment(lambda w: (1 + jnp.sum(w**2, axis=1)) ** -1.25, 1, key)
    assert abs(slow.value + slow.truncation - 4) < 0.01
    assert slow.truncation > 1e-4, "the tail falls like the root of the frequency"


def test_the_standard_error_is_that_of_repetitions():
    anisotropic = lambda omega: jnp.exp(-(omega[:, 0] ** 2) / 2 - 50 * jnp.sum(omega[:, 1:] ** 2, axis=1))
    found = [barron.spectral_moment(anisotropic, 3, jax.random.key(k), number=4096) for k in range(40)]
    spread = np.std([f.value for f in found], ddof=1)
    assert 0.6 < np.mean([f.standard_error for f in found]) / spread < 1.7


@pytest.mark.parametrize(
    "transform",
    [lambda w: jnp.sin(w[:, 0]) / (jnp.pi * w[:, 0]), lambda w: (jnp.sin(w[:, 0] / 2) / w[:, 0]) ** 2],
    ids=["a jump", "a kink"],
)
def test_an_infinite_moment_is_an_error(key, transform):
    with pytest.raises(SettingError, match=r"Barron parameter.*finite"):
        barron.spectral_moment(transform, 1, key)


def test_a_transform_that_is_not_finite_is_an_error(key):
    with pytest.raises(SettingError, match="not finite"):
        barron.spectral_moment(lambda w: w[:, 0] * jnp.inf, 1, key)


def grid(function, side, m, d):
    axis = -side + 2 * side / m * np.arange(m)
    return function(np.stack(np.meshgrid(*d * [axis], indexing="ij"), axis=-1))


def bump(scale):
    return lambda x: np.exp(-(scale**2) * np.sum(x**2, axis=-1) / 2)


@pytest.mark.parametrize("d", [1, 2])
def test_moment_from_a_grid(d):
    errors = []
    for side, m in ((2.0, 128), (4.0, 256)):
        found = barron.moment_from_grid(grid(bump(6.0), side, m, d), side)
        errors.append(abs(found.value / barron.gaussian_moment(d, 6.0) - 1))
        assert found.truncation < 1e-3 * found.value
    assert errors[1] < errors[0] / 3 < 0.01, "sums over frequencies pi/side apart near the integral"


def test_a_coarse_grid_says_so():
    exact = barron.moment_from_grid(grid(bump(16.0), 2.0, 1024, 1), 2.0).value
    coarse = barron.moment_from_grid(grid(bump(16.0), 2.0, 64, 1), 2.0)
    assert coarse.truncation > 0.01 * exact
    assert abs(coarse.value - exact) <= coarse.truncation
    with pytest.raises(SettingError, match="last shells of the grid"):
        barron.moment_from_grid(grid(bump(32.0), 2.0, 64, 1), 2.0)


@pytest.mark.parametrize("d", [1, 2])
def test_an_indicator_on_a_grid_is_an_error(d):
    with pytest.raises(SettingError, match="Barron parameter"):
        barron.moment_from_grid(grid(lambda x: (x[..., 0] > 0.3).astype(float), 2.0, 256, d), 2.0)


@pytest.mark.parametrize("shape", [(16, 32), (17,), (8,)])
def test_grids_of_other_shapes(shape):
    with pytest.raises(ShapeError, match="values"):
        barron.moment_from_grid(np.zeros(shape), 2.0)


def test_a_grid_needs_a_margin():
    with pytest.raises(SettingError, match="side"):
        barron.moment_from_grid(np.zeros((16, 16)), 1.0)


def test_moment_from_samples(key):
    x = RNG.uniform(-2.5, 2.5, (200, 1))
    found = barron.moment_from_samples(x, bump(2.0)(x), key, width=0.4, ridge=1e-8)
    error = abs(found.value - barron.gaussian_moment(1, 2.0))
    assert error <= 5 * found.standard_error + found.truncation + 0.03 * found.value
    with pytest.raises(ShapeError, match="x and y"):
        barron.moment_from_samples(x, x, key)
    with pytest.raises(SettingError, match="width"):
        barron.moment_from_samples(x, x[:, 0], key, width=0.0)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_radial_moment(d):
    density = lambda r: np.exp(-(r**2) / 2) / (2 * np.pi) ** (d / 2)
    assert barron.radial_moment(density, d) == pytest.approx(barron.gaussian_moment(d), rel=1e-9)
    with pytest.raises(SettingError, match="finite"):
        barron.radial_moment(lambda r: r ** -(d + 1.0) / (1 + 1 / r) ** (d + 1), d)


def test_ridge_and_logistic_moments():
    direction = jnp.array([3.0, 4.0])
    slope = lambda x, w: math.exp(-x) / (1 + math.exp(-x)) ** 2 * math.cos(w * x) / (2 * math.pi)
    spectrum = lambda w: integrate.quad(slope, -40, 40, args=(w,), limit=200)[0]
    profile = 2 * integrate.quad(lambda w: abs(spectrum(w)), 0, 6, limit=50)[0]
    assert barron.logistic_moment(direction) == pytest.approx(barron.ridge_moment(direction, profile), rel=1e-6)


def test_combinations_and_products():
    first, second = np.array([0.3, -0.2, 0.5]), np.array([1.0, 0.4, 0.0, -0.1])
    moment = lambda c: float(np.sum(np.abs(np.arange(len(c)) * c)))
    parts = [(float(np.abs(c).sum()), moment(c)) for c in (first, second)]
    assert moment(np.convolve(first, second)) <= barron.product_moment(*parts) + 1e-12
    first, second = np.abs(first), np.abs(second)
    parts = [(float(c.sum()), moment(c)) for c in (first, second)]
    assert moment(np.convolve(first, second)) == pytest.approx(barron.product_moment(*parts))
    assert barron.combination_moment(jnp.array([2.0, -3.0]), jnp.array([1.0, 0.5])) == 3.5


def test_polynomials_are_sums_of_ridge_polynomials():
    square = jnp.array([0.0, 0.0, 0.25])
    product = barron.polynomial_bound([square, -square], jnp.array([[1.0, 1.0], [1.0, -1.0]]))
    half = barron.ridge_polynomial_bound(jnp.array([0.0, 0.0, 0.5]))
    assert product == pytest.approx(2 * half), "x y = ((x + y)² - (x - y)²)/4, and |(1, 1)|² = 2"
    # g'' by finite differences of the extension itself
    series = jnp.array([0.2, 1.0, -0.7, 0.4])
    cubic = np.asarray(barron.polynomial_extension(series, 3.0))
    t = np.linspace(-1, 2, 30001)
    g = np.where(t <= 1, np.polyval(np.asarray(series)[::-1], t), np.polyval(cubic[::-1], t - 1))
    assert g[0] == pytest.approx(g[-1])
    assert g[1] - g[0] == pytest.approx(g[-1] - g[-2], rel=1e-2)
    second = np.diff(g, 2) / (t[1] - t[0]) ** 2
    bound = 3 / math.sqrt(12) * math.sqrt(np.mean(second**2))
    assert barron.ridge_polynomial_bound(series, 3.0) == pytest.approx(bound, rel=1e-3)
    with pytest.raises(ShapeError, match="polynomials"):
        barron.polynomial_bound([square], jnp.ones((2, 2)))
    with pytest.raises(SettingError, match="period"):
        barron.polynomial_bound([square], jnp.ones((1, 2)), 2.0)


@pytest.mark.parametrize("d", [1, 3])
def test_walks_draw_what_an_exact_sampler_draws(key, d):
    walked = barron.bounded_spectrum(gaussian, gaussian_original, d, key=key)
    exact = GaussianBumps(d, 1.0)
    assert float(walked.moment()) == pytest.approx(float(exact.moment()), rel=1e-3)
    assert float(walked.offset()) == pytest.approx(1.0)
    first, second = jax.random.split(key)
    ours, theirs = draw_frequencies(first, walked, 4000), draw_frequencies(second, exact, 4000)
    for project in (lambda w: np.linalg.norm(w, axis=1), lambda w: np.asarray(w[:, 0])):
        _, chance = stats.ks_2samp(project(ours), project(theirs))
        assert chance > 1e-3  # pyright: ignore[reportOperatorIssue]
    second_moment = np.mean(np.sum(np.asarray(ours) ** 2, axis=1))
    assert second_moment == pytest.approx(d + 1, abs=5 * math.sqrt(2 * (d + 1) / 4000))


def test_one_step_of_a_walk_is_not_enough(key):
    walked = barron.bounded_spectrum(gaussian, gaussian_original, 1, key=key, steps=1)
    lengths = np.linalg.norm(draw_frequencies(key, walked, 4000), axis=1)
    _, chance = stats.kstest(lengths, stats.chi(2).cdf)
    assert chance < 1e-6


def test_functions_of_a_bounded_spectrum(key):
    original = lambda x: jnp.pi / 2 * (1 + jnp.abs(x[:, 0])) * jnp.exp(-jnp.abs(x[:, 0]))
    functions = barron.bounded_spectrum(cauchy, original, 1, key=key)
    function = draw_function(key, functions)
    x, origin = jnp.linspace(-1, 1, 5)[:, None], jnp.zeros((1, 1))
    omega = draw_frequencies(key, functions, 40_000)
    ratio = function.ratio(omega)
    assert float(jnp.abs(ratio).max()) <= 1 + 1e-12
    phase = jnp.angle(ratio)[:, None]
    waves = jnp.cos(omega @ x.T + phase) - jnp.cos(phase)
    terms = functions.moment() * jnp.abs(ratio)[:, None] * waves / jnp.linalg.norm(omega, axis=1, keepdims=True)
    error = np.abs(terms.mean(axis=0) - (function(x) - function(origin)))
    assert (error <= 5 * np.asarray(terms.std(axis=0)) / 200 + 1e-3).all()


def test_bounded_spectra_that_are_wrong(key):
    laplace = lambda x: jnp.pi * jnp.exp(-jnp.abs(x[:, 0]))
    with pytest.raises(SettingError, match="Barron parameter"):
        barron.bounded_spectrum(lambda w: 1 / (1 + w[:, 0] ** 2), laplace, 1, key=key)
    with pytest.raises(SettingError, match="original"):
        barron.bounded_spectrum(gaussian, lambda x: 2 * gaussian_original(x), 1, key=key)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_linear_functions_are_represented(key, d):
    functions = barron.LinearFunctions(d, 2.0, 0.5)
    function = draw_function(key, functions)
    features = sample_features(key, functions, 40_000, 64.0)
    x = jnp.eye(d)[:1] * 0.8
    terms = features(x)[0, :-1] * representing_coefficients(functions, features, function)[:-1]
    error = 5 * float(jnp.std(terms)) * math.sqrt(40_000)
    assert float(terms.sum()) == pytest.approx(float((function(x) - function(0 * x))[0]), abs=error)
    assert float(barron_parameter(functions)) == pytest.approx(0.5 + 2 / barron.mean_projection(d))


def test_the_parameter_of_linear_functions_is_the_least():
    """A linear program over measures on 16 directions and their use by 16 slopes."""
    ways = np.stack([np.cos(2 * np.pi * np.arange(16) / 16), np.sin(2 * np.pi * np.arange(16) / 16)], axis=1)
    count = len(ways)
    identity, nothing = np.eye(count), np.zeros((count, count * count))
    rows, equal = [], np.zeros((2 * count, count + count**2))
    for j in range(count):
        use = nothing.copy()
        use[:, j * count : (j + 1) * count] = identity
        rows += [np.hstack([-identity, use]), np.hstack([-identity, -use])]
        equal[2 * j : 2 * j + 2, count + j * count : count + (j + 1) * count] = ways.T
    found = optimize.linprog(
        np.append(np.ones(count), np.zeros(count**2)), A_ub=np.vstack(rows), b_ub=np.zeros(2 * count**2),
        A_eq=equal, b_eq=ways.reshape(-1), bounds=[(0, None)] * count + [(None, None)] * count**2,
    )  # fmt: skip
    # sixteen directions instead of all: the mean of |cos| over them is that of all but for a factor near 1
    discrete = 1 / np.mean(np.abs(ways[:, 0]))
    assert found.fun == pytest.approx(discrete, rel=1e-6)
    assert discrete == pytest.approx(1 / barron.mean_projection(2), rel=0.02)


def test_pieces_are_exact_for_polynomials():
    nodes, weights = pieces(jnp.array([2.0, -1.0, 0.3]), 2)
    for power in range(10):
        exact = (2 ** (power + 1) - (-1) ** (power + 1)) / (power + 1)
        assert float(weights @ nodes**power) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("tau", [32.0, 256.0])
def test_the_printed_sign_has_no_weights(tau):
    """A linear program over weights on a fine grid of t: for g = 1 the least distance is at least 1/6."""
    z = -1 + np.concatenate([np.arange(0, 3.01, 0.125) / tau, np.linspace(0.1, 2, 12)])
    t = 1 - np.concatenate([np.arange(0, 3.01, 0.125) / tau, np.linspace(0.1, 3, 24)])
    ramps = np.clip(tau * (z[:, None] + t) + 0.5, 0, 1)
    both = np.hstack([ramps, -ramps])
    rows = np.vstack([np.hstack([both, -np.ones((len(z), 1))]), np.hstack([-both, -np.ones((len(z), 1))])])
    weight = np.append(np.ones(2 * len(t)), 0.0)
    found = optimize.linprog(
        np.append(np.zeros(2 * len(t)), 1.0), A_ub=np.vstack([rows, weight]),
        b_ub=np.concatenate([np.ones(len(z)), -np.ones(len(z)), [3.0]]),
    )  # fmt: skip
    assert 1 / 6 - 1e-9 <= found.fun < 0.25
    line = steps.Line(jnp.asarray(1.0), jnp.zeros(4), jnp.asarray(tau))
    claimed = steps.LineByRampsAsPrinted().measure(line, jax.random.key(0))
    assert float(claimed) == pytest.approx(1 / 6)
    assert float(claimed) <= found.fun + 1e-9


def test_step_distance_by_a_grid():
    for tau in (2.5, 10.0):
        e = np.linspace(1e-6, 0.5, 5001)
        outside = np.maximum(0.5 - tau * e, 0)
        assert float(steps.step_distance(tau)) == pytest.approx((2 * e + outside).min(), rel=2e-3)


def test_many_features_are_the_integral(key):
    functions = Cosines(jnp.array([[2.0, 1.0], [-1.0, 3.0]]), jnp.array([1.0, 0.5]))
    function = CosineSum(functions.atoms, functions.sizes, jnp.array([0.8, -0.5]), jnp.array([0.3, 1.1]))
    x = jnp.array([[0.3, 0.2], [-0.9, 0.1], [0.0, 0.99]])
    features = sample_features(key, functions, 20_000, 6.0)
    terms = features(x)[:, :-1] * representing_coefficients(functions, features, function)[:-1]
    error = 5 * np.asarray(terms.std(axis=1)) * math.sqrt(20_000)
    problem = CosineRamps(functions, function, jnp.asarray(6.0), x)
    integral = jax.jit(lambda problem: problem.integral(6.0))(problem)
    assert (np.abs(terms.sum(axis=1) - integral) <= error).all()
    assert (np.asarray(integral - (function(x) - function(jnp.zeros((1, 2)))) != 0)).any()


def test_greedy_covers_cover():
    x = jnp.asarray(RNG.uniform(-1, 1, (60, 1)))
    close = covering.close_pairs(x, jnp.zeros(60), 0.2)
    kept = int(covering.greedy_cover(close))
    assert 5 <= kept <= math.exp(covering.log_ball_cover(1, 0.2))
    assert covering.greedy_cover(jnp.ones((4, 4), bool)) == 1
    assert covering.greedy_cover(jnp.eye(4, dtype=bool)) == 4


def test_covers_of_classes_cover(key):
    """Parameters rounded to grids that have no more points than the bound says, at random functions."""
    x, epsilon = jnp.linspace(-1, 1, 41)[:, None], 0.2
    atoms, sizes = jnp.array([[2.0], [5.0]]), jnp.array([1.0, 0.5])
    networks = LogisticNetworks(atoms, sizes)
    cells = math.ceil(1 / epsilon)
    assert 2 * math.log(cells) <= covering.log_class_cover(networks, epsilon) + 1e-12
    for k in range(20):
        function = draw_function(jax.random.fold_in(key, k), networks)
        assert isinstance(function, LogisticSum)
        index = jnp.clip(jnp.floor((function.coefficients / sizes + 1) * cells / 2), 0, cells - 1)
        near = ((index + 0.5) * 2 / cells - 1) * sizes
        apart = (jax.nn.sigmoid(x @ atoms.T) - 0.5) @ (function.coefficients - near)
        assert float(jnp.abs(apart).max()) <= float(barron_parameter(networks)) * epsilon


def test_centres_of_bumps_may_move():
    d, epsilon, functions = 2, 0.3, GaussianBumps(2, 3.0)
    centres, x = RNG.uniform(-0.7, 0.7, (200, d)), RNG.uniform(-0.7, 0.7, (200, d))
    moved = centres + epsilon / 4 * (lambda v: v / np.linalg.norm(v, axis=1, keepdims=True))(RNG.normal(size=(200, d)))
    value = lambda at, c: np.exp(-9 * np.sum((at - c) ** 2, axis=1) / 2)
    apart = (value(x, centres) - value(0 * x, centres)) - (value(x, moved) - value(0 * x, moved))
    assert np.abs(apart).max() <= float(functions.moment()) * epsilon / 2
    expected = 3 * (math.log1p(4 / epsilon) + d * math.log1p(8 / epsilon))
    assert covering.log_class_cover(functions, epsilon) == pytest.approx(expected)


def test_required_features():
    cosines = Cosines(jnp.ones((3, 2)), jnp.ones(3))
    assert covering.required_features(cosines, 0.1, 2) == pytest.approx(8 * math.log(21))
    linear = barron.LinearFunctions(4)
    assert covering.required_features(linear, 0.1, 4) == pytest.approx(8 * math.log(21))
    assert covering.required_features(linear, 0.01, 4) > covering.required_features(linear, 0.1, 4)
    assert covering.log_pair_cover(2, 0.1) == pytest.approx(2 * math.log(41) + math.log(21))
    with pytest.raises(SettingError, match="epsilon"):
        covering.required_features(linear, 0.0, 4)
    with pytest.raises(SettingError, match="class of functions"):
        covering.log_class_cover(
            barron.BoundedSpectrum(gaussian, gaussian_original, 1, jnp.ones(()), jnp.ones(())), 0.1
        )


def test_the_ladder_covers_but_does_not_follow():
    claim = uniform_features.OneFunctionForAllPoints()
    problem = claim.sample({}, jax.random.key(3))
    x = np.linspace(-1, 1, 2001)
    wave = np.asarray(problem.wave(jnp.asarray(x)))
    nearest = np.abs(wave[:, None] - np.sin(x)[:, None] * np.asarray(problem.amplitudes)).min(axis=1)
    assert nearest.max() <= problem.epsilon, "every value is met"
    best = min(np.abs(wave - a * np.sin(x)).max() for a in np.linspace(-6 / 11, 6 / 11, 401))
    assert best > 0.1, "no multiple follows"
    assert float(jax.jit(claim.measure)(problem, jax.random.key(0))) == pytest.approx(best, abs=0.01)
