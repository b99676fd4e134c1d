"""Bounds of networks against sampling, enumeration of activation patterns, and each other."""

import dataclasses
import itertools

import jax
import numpy as np
import pytest
from scipy import optimize

from lemmata.answers import Condition
from lemmata.architectures import Dense, Erf, Relu, Serial
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.robustness import (
    METHODS,
    Ball,
    ReluNetwork,
    adaptive_slopes,
    attack,
    certify,
    crown,
    exact,
    interval,
    interval_bounds,
    largest_radius,
    optimised,
    pre_activation_bounds,
    read_network,
    triangle,
)
from lemmata.subjects.robustness._whole_space import least_anywhere

SIZES = [(3, 5, 2), (4, 6, 6, 3), (6, 8, 8, 8, 4)]


def network(seed, sizes):
    draw = np.random.default_rng(seed)
    weights = tuple(draw.normal(size=(b, a)) * np.sqrt(2 / a) for a, b in itertools.pairwise(sizes))
    return ReluNetwork(weights, tuple(0.3 * draw.normal(size=len(weight)) for weight in weights))


def case(seed, sizes, radius=0.2, norm="linf"):
    draw = np.random.default_rng(seed + 1000)
    net, ball = network(seed, sizes), Ball(draw.normal(size=sizes[0]), radius, norm)
    return net, ball, np.concatenate([np.eye(sizes[-1]), draw.normal(size=(2, sizes[-1]))])


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_at_random_inputs(seed, sizes, norm):
    net, ball, rows = case(seed, sizes, norm=norm)
    draw = np.random.default_rng(seed)
    far = ball.project(ball.center + 2 * ball.radius * draw.normal(size=(4000, sizes[0])))
    bounds = pre_activation_bounds(net, ball)
    for (low, high), (wide_low, wide_high), z in zip(bounds, interval_bounds(net, ball), net.trace(far), strict=False):
        assert (low >= wide_low - 1e-12).all()
        assert (high <= wide_high + 1e-12).all()
        assert (z >= low - 1e-9).all()
        assert (z <= high + 1e-9).all()
    least = (net(far) @ rows.T).min(axis=0)
    for bound in (interval, crown, lambda *args: optimised(*args)[0]):
        assert (bound(net, ball, bounds, rows) <= least + 1e-9).all()
    slopes = [draw.uniform(size=slope.shape) for slope in adaptive_slopes(bounds)]
    assert (crown(net, ball, bounds, rows, slopes) <= least + 1e-9).all()


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_nested(seed, sizes):
    net, ball, rows = case(seed, sizes)
    bounds = pre_activation_bounds(net, ball)
    found, points = exact(net, ball, bounds, rows)
    alpha, linear = optimised(net, ball, bounds, rows)[0], triangle(net, ball, bounds, rows)
    reached, where = attack(net, ball, rows, points)
    assert (crown(net, ball, bounds, rows) <= alpha + 1e-9).all()
    assert (alpha <= linear + 1e-7).all()
    assert (interval(net, ball, bounds, rows) <= linear + 1e-7).all()
    assert (linear <= found + 1e-6).all()
    assert (found <= reached + 1e-6).all()
    np.testing.assert_allclose((net(points) * rows).sum(axis=1), found, atol=1e-5)
    assert (np.abs(where - ball.center) <= ball.radius + 1e-12).all()


def by_patterns(net, ball, row):
    """The exact minimum for one hidden layer: a linear programme for each of the activation patterns."""
    (first, second), (bias, last) = net.weights, net.biases
    best = np.inf
    for pattern in itertools.product([0, 1], repeat=len(bias)):
        on = np.array(pattern)
        sign = np.where(on, -1.0, 1.0)
        box = np.stack([ball.center - ball.radius, ball.center + ball.radius], axis=1)
        cost = (row @ second * on) @ first
        solved = optimize.linprog(cost, sign[:, None] * first, -sign * bias, bounds=box)
        if solved.status == 0:
            best = min(best, solved.fun + (row @ second * on) @ bias + row @ last)
    return best


@pytest.mark.parametrize("seed", range(3))
def test_exact_by_enumeration(seed):
    net, ball, rows = case(seed, (3, 5, 2), radius=0.6)
    expected = [by_patterns(net, ball, row) for row in rows]
    np.testing.assert_allclose(exact(net, ball, pre_activation_bounds(net, ball), rows)[0], expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_ascent_reaches_the_triangle_for_one_hidden_layer(seed):
    net, ball, rows = case(seed, (6, 12, 3), radius=0.5)
    bounds = pre_activation_bounds(net, ball)
    found, optimum = optimised(net, ball, bounds, rows, steps=400)[0], triangle(net, ball, bounds, rows)
    assert (optimum - found <= 0.01 * (1 + np.abs(optimum))).all()


def test_gradient_is_that_of_autodiff():
    net = network(0, (4, 6, 6, 3))
    x, rows = np.random.default_rng(0).normal(size=(5, 4)), np.random.default_rng(1).normal(size=(5, 3))

    def value(x, row):
        for position, (weight, bias) in enumerate(zip(net.weights, net.biases, strict=True)):
            x = weight @ (jax.nn.relu(x) if position else x) + bias
        return row @ x

    np.testing.assert_allclose(net.gradient(x, rows), jax.vmap(jax.grad(value))(x, rows), atol=1e-12)


@pytest.mark.parametrize("parameterization", ["ntk", "standard"])
def test_serial_networks_are_read(parameterization):
    own = lambda width: Dense(width, 1.3, 0.4, parameterization)
    serial = Serial([own(7), own(6), Relu(), Serial([own(5), Relu()]), own(3), Relu()])
    params, _ = serial.init(jax.random.key(0), 4)
    x = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_allclose(
        read_network(serial, params)(x) @ np.eye(3), jax.vmap(serial.apply, (None, 0))(params, x)
    )
    first = Serial([Relu(), own(3)])
    params, _ = first.init(jax.random.key(0), 4)
    np.testing.assert_allclose(read_network(first, params, (4,))(x), jax.vmap(first.apply, (None, 0))(params, x))


@pytest.mark.parametrize("seed", range(3))
def test_certificates(seed):
    net, ball, _ = case(seed, (4, 6, 6, 3), radius=0.1)
    found = [certify(net, ball.center, ball.radius, method=method) for method in METHODS]
    bounds = [one.bound for one in found]
    assert bounds == sorted(bounds)
    assert found[-1].gap <= 1e-6
    assert found[-1].verdict in ("robust", "attacked")
    label = found[0].label
    assert label == net(ball.center[None])[0].argmax()
    assert label not in found[0].rivals
    for one in found:
        outputs = net(one.adversary[None])[0]
        assert min(outputs[label] - outputs[rival] for rival in one.rivals) == pytest.approx(one.attack.min())
        assert (one.verdict == "robust") == (one.bound > 0)


def test_one_output_and_a_given_label():
    net = [(np.array([[2.0, 0.0]]), np.array([-1.0]))]
    above = certify(net, [1.0, 0.0], 0.25)
    assert (above.label, above.verdict) == (1, "robust")
    assert above.bound == pytest.approx(0.5)
    assert certify(net, [0.0, 0.0], 0.25, label=1).verdict == "attacked"
    assert certify(net, [0.0, 0.0], 0.25).bound == pytest.approx(0.5)


@pytest.mark.parametrize("method", METHODS)
def test_largest_radius(method):
    net, ball, _ = case(1, (3, 5, 2))
    radius = largest_radius(net, ball.center, method=method)
    assert certify(net, ball.center, radius, method=method).verdict == "robust"
    assert certify(net, ball.center, 1.003 * radius, method=method).verdict != "robust"
    assert largest_radius(net, ball.center, label=1 - int(net(ball.center[None])[0].argmax())) == 0.0


@pytest.mark.parametrize("method", ["interval", "alpha", "lp"])
@pytest.mark.parametrize(
    ("layers", "x", "scales", "truth"),
    [
        ([(np.eye(2), [1.0, 0.0])], [1e-7, 0.0], 1.0, 0.5),
        ([(np.array([[1e-7, 0.0], [-1e-7, 0.0]]), [1.0, 0.0])], [0.0, 0.0], 1.0, 5e6),
        ([(np.eye(2), [1.0, 0.0])], [0.0, 0.0], [1e-9, 0.0], 1e9),
        ([(1e-100 * np.eye(2), [1.0, 0.0]), (np.eye(2), [0.0, 0.0])], [0.0, 0.0], 1.0, 5e99),
        ([(np.eye(2), [0.0, 0.0])], [1e-290, 0.0], 1.0, 5e-291),
        ([(np.zeros((2, 2)), [1.0, 0.0])], [1.0, 0.0], 1.0, np.inf),
        ([(np.diag([1.0, 0.0]), [1.0, 0.0])], [0.0, 0.0], [0.0, 1.0], np.inf),
        ([(np.eye(2), [0.0, 0.0]), (np.array([[1.0, 2.0], [-1.0, 0.0]]), [1.0, 0.0])], [1.0, 0.0], 1.0, np.inf),
        ([(np.zeros((2, 2)), [1.0, 1.0])], [1.0, 0.0], 1.0, np.inf),
        ([(np.eye(2), [0.0, 0.0])], [1.0, 1.0], 1.0, 0.0),
    ],
)
def test_largest_radii_of_every_size(layers, x, scales, truth, method):
    assert largest_radius(layers, x, method=method, scales=scales) == pytest.approx(truth, rel=2e-3, abs=0)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_a_coordinate_that_is_not_read_does_not_hide_a_small_radius(norm):
    layers = [(np.array([[0.0, 1.0], [0.0, -1.0]]), [0.0, 0.0])]
    assert largest_radius(layers, [1e20, 1.0], norm, "crown") == pytest.approx(1.0, rel=2e-3)


def test_a_bound_over_all_inputs_is_below_the_network():
    net, _, rows = case(3, (3, 5, 2))
    assert np.isneginf(least_anywhere(net, np.zeros(3), np.ones(3, bool), rows)).all()
    draw = np.random.default_rng(0)
    kept, moves = draw.normal(size=3), np.array([True, False, False])
    net = ReluNetwork((net.weights[0] * [-1.0, 1.0, 1.0], -np.abs(net.weights[1])), net.biases)
    inputs = np.where(moves, 10.0 ** draw.uniform(-3, 6, (200, 1)) * draw.choice([-1, 1], (200, 1)), kept)
    for row in (-np.eye(2), np.array([[1.0, -1.0]])):
        assert (net(inputs) @ row.T >= least_anywhere(net, kept, moves, row)).all()
    assert np.isfinite(least_anywhere(net, kept, moves, -np.eye(2))).all()


def test_a_linear_network_in_two_norms():
    weight = np.array([[3.0, 4.0], [0.0, 0.0]])
    x = np.array([1.0, 1.0])
    assert certify([(weight, np.zeros(2))], x, 0.5).bound == pytest.approx(7 - 0.5 * 7)
    assert certify([(weight, np.zeros(2))], x, 0.5, "l2").bound == pytest.approx(7 - 0.5 * 5)


def test_time_limit_gives_a_lower_bound():
    net, ball, rows = case(0, (8, 24, 24, 3), radius=0.5)
    bounds = pre_activation_bounds(net, ball)
    found = exact(net, ball, bounds, rows, seconds=0.05)[0]
    assert (found <= attack(net, ball, rows)[0] + 1e-6).all()


GOOD = [(np.eye(2), np.zeros(2))]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((GOOD, [1.0, 0.0], 0.0), SettingError, "radius"),
        ((GOOD, [1.0, 0.0], -1.0), SettingError, "above 0"),
        ((GOOD, [1.0, 0.0], float("nan")), SettingError, "radius"),
        ((GOOD, [1.0, 0.0], 1.0, "l7"), SettingError, "norm"),
        ((GOOD, [1.0, 0.0], 1.0, "linf", "magic"), SettingError, "interval, crown"),
        ((GOOD, [1.0, 0.0], 1.0, "l2", "lp"), SettingError, "box"),
        ((GOOD, [1.0, 0.0, 0.0], 1.0), ShapeError, "2 coordinates, the input of the network"),
        ((GOOD, [[1.0, 0.0]], 1.0), ShapeError, "one input"),
        ((GOOD, [1.0, float("nan")], 1.0), DataError, "x"),
        (("net", [1.0, 0.0], 1.0), SettingError, "network"),
        (([], [1.0, 0.0], 1.0), SettingError, "network"),
        (([(np.eye(2), np.zeros(3))], [1.0, 0.0], 1.0), ShapeError, "layer 0"),
        (([*GOOD, (np.eye(3), np.zeros(3))], [1.0, 0.0], 1.0), ShapeError, "layer 1"),
    ],
)
def test_refusals(arguments, error, words):
    with pytest.raises(error, match=words) as found:
        certify(*arguments)
    assert "\n" not in str(found.value)


def test_a_layer_that_cannot_be_bounded_is_named():
    serial = Serial([Dense(3), Serial([Erf()]), Dense(2)])
    params, _ = serial.init(jax.random.key(0), 4)
    with pytest.raises(SettingError, match=r"Serial.layers\[1\].layers\[0\]: Erf"):
        certify(serial, np.ones(4), 0.1, params=params)
    with pytest.raises(SettingError, match="params"):
        certify(serial, np.ones(4), 0.1)
    with pytest.raises(SettingError, match="label"):
        certify(GOOD, [1.0, 0.0], 0.1, label=2)


def boxes(seed, sizes):
    """A network, an input and a radius for each coordinate, some of them 0."""
    net, ball, rows = case(seed, sizes)
    draw = np.random.default_rng(seed + 50)
    radius = np.where(draw.uniform(size=sizes[0]) < 0.4, 0.0, draw.uniform(0.05, 0.6, sizes[0]))
    radius[draw.integers(sizes[0])] = 0.4
    return net, Ball(ball.center, radius), rows


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [(3, 5, 2), (4, 6, 6, 3)])
def test_a_radius_for_each_coordinate_by_brute_force(seed, sizes):
    net, ball, _ = boxes(seed, sizes)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 9)] * sizes[0]), axis=-1).reshape(-1, sizes[0])
    outputs = net(ball.center + ball.radius * grid)
    bounds = []
    for method in METHODS:
        found = certify(net, ball.center, ball.radius, method=method)
        least = np.array([(outputs[:, found.label] - outputs[:, rival]).min() for rival in found.rivals])
        assert (found.margins <= least).all()
        assert (np.abs(found.adversary - ball.center) <= ball.radius + 1e-15).all()
        bounds.append(found.bound)
        if found.verdict == "robust":
            assert (outputs.argmax(axis=1) == found.label).all()
    assert bounds == sorted(bounds)
    assert found.gap <= 1e-5
    # the brute force is near the exact minimum: at most a Lipschitz constant times half a step away
    reach = np.prod([np.abs(weight).sum(axis=1).max() for weight in net.weights]) * 2 * ball.radius.max() / 8
    assert (least - found.margins <= reach).all()


@pytest.mark.parametrize("seed", range(3))
def test_boxes_by_enumeration_of_activation_patterns(seed):
    net, ball, rows = boxes(seed, (3, 5, 2))
    expected = [by_patterns(net, ball, row) for row in rows]
    np.testing.assert_allclose(exact(net, ball, pre_activation_bounds(net, ball), rows)[0], expected, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_equal_radii_are_one_radius(method):
    net, ball, _ = case(2, (4, 6, 6, 3))
    one = certify(net, ball.center, 0.15, method=method)
    each = certify(net, ball.center, [0.15] * 4, method=method)
    assert each.verdict == one.verdict
    np.testing.assert_allclose(each.margins, one.margins, rtol=1e-9, atol=1e-12)
    assert str(each) == str(one)


def test_radii_of_0_hold_coordinates_and_shapes_are_those_of_the_input():
    net = [(np.array([[1.0, 100.0]]), np.array([-1.0]))]
    found = certify(net, [2.0, 0.0], [0.5, 0.0])
    assert (found.verdict, found.adversary[1]) == ("robust", 0.0)
    assert found.bound == pytest.approx(0.5)
    assert certify(net, [2.0, 0.0], [0.0, 0.5]).verdict == "attacked"
    assert str(found).startswith("robust within 0 to 0.5 in linf")
    late = Condition("searches that ended in time", 0.0, False)
    said = str(dataclasses.replace(found, conditions=(*found.conditions, late)))
    assert said == f"{found}\n- searches that ended in time: fails (0)"
    assert largest_radius(net, [2.0, 0.0], scales=[1.0, 0.0]) == pytest.approx(1.0, rel=2e-3)
    assert largest_radius(net, [2.0, 0.0], scales=[1.0, 0.01]) == pytest.approx(0.5, rel=2e-3)
    # inputs between 0 and 1: the box of what is left of 0.9 +- 0.3 is 0.8 +- 0.2
    weights = [(np.eye(2), np.zeros(2)), (np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 0.0]))]
    assert certify(weights, [0.8, 0.3], [0.2, 0.2], label=0, method="exact").bound == pytest.approx(0.1, abs=1e-5)


def test_images_take_images_of_radii():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 3))
    image = np.random.default_rng(0).normal(size=(1, 6, 6))
    patch = np.zeros((1, 6, 6))
    patch[0, 2:4, 2:4] = 0.1
    within, whole = certify(net, image, patch), certify(net, image, 0.1)
    assert within.radius.shape == (1, 6, 6)
    assert within.bound > whole.bound
    moved = np.abs(within.adversary - image.ravel()).reshape(image.shape)
    assert moved[patch == 0].max() == 0
    as_tensor = certify(net, image, torch.tensor(patch))
    assert as_tensor.bound == within.bound


@pytest.mark.parametrize(
    ("radius", "norm", "error", "words"),
    [
        ([0.1, -0.1], "linf", SettingError, "radius; found the entry -0.1"),
        ([0.1, float("nan")], "linf", SettingError, "the entry nan"),
        ([0.0, 0.0], "linf", SettingError, "0 for every coordinate.*at least one above 0"),
        ([0.1, 0.1, 0.1], "linf", ShapeError, r"shape \(3,\).*one for each coordinate"),
        ([[0.1, 0.1]], "linf", ShapeError, r"shape \(1, 2\)"),
        ([0.1, 0.2], "l2", SettingError, "needs the norm 'linf'"),
        (["a", "b"], "linf", SettingError, "real numbers"),
        ([0.1, [0.2]], "linf", DataError, "radius"),
        ("wide", "linf", SettingError, "radius"),
    ],
)
def test_radii_that_are_refused(radius, norm, error, words):
    with pytest.raises(error, match=words):
        certify(GOOD, [1.0, 0.0], radius, norm)
    if radius != "wide":
        with pytest.raises(error, match="scales"):
            largest_radius(GOOD, [1.0, 0.0], norm, scales=radius)
