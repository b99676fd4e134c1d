"""A network on a ball by its open units: the same network, the same bounds, and tighter ones of hidden units."""

import numpy as np
import pytest

from lemmata.subjects.robustness import _open_units, certify
from lemmata.subjects.robustness._network import ReluNetwork
from lemmata.subjects.robustness._open_units import open_network, tightened_bounds
from lemmata.subjects.robustness._relaxation import Ball, optimised, pre_activation_bounds

RNG = np.random.default_rng(0)
ROWS = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0]])


def network(*widths):
    shapes = list(zip(widths[1:], widths, strict=False))
    weights = tuple(RNG.normal(size=shape) * (2 / shape[1]) ** 0.5 for shape in shapes)
    return ReluNetwork(weights, tuple(0.3 * RNG.normal(size=shape[0]) for shape in shapes))


CASES = [
    (network(4, 3), 0.3, "linf"),
    (network(5, 12, 3), 0.2, "l2"),
    (network(6, 20, 15, 3), 0.1, "linf"),
    (network(6, 20, 15, 10, 8, 3), np.array([0.0, 0.2, 0.1, 0.3, 0.05, 0.4]), "linf"),
    (network(4, 9, 9, 3), 1e-9, "linf"),
    (network(4, 9, 9, 3), 30.0, "linf"),
]


def drawn(network, radius, norm):
    ball = Ball(RNG.normal(size=network.inputs), radius, norm)
    points = ball.project(ball.center + np.max(radius) * RNG.uniform(-1, 1, size=(500, network.inputs)))
    return ball, pre_activation_bounds(network, ball), points


@pytest.mark.parametrize(("net", "radius", "norm"), CASES)
def test_it_is_the_network_and_its_relaxation(net, radius, norm):
    ball, bounds, points = drawn(net, radius, norm)
    found = open_network(net, bounds)
    assert found is not None
    size = 1 + np.abs(net(points)).max()
    np.testing.assert_allclose(found(points), net(points), rtol=0, atol=1e-12 * size)
    every = np.tile(ROWS, (250, 1))
    # Units on their kink have another gradient after rounding; random points are on none.
    np.testing.assert_allclose(found.gradient(points, every), net.gradient(points, every), rtol=0, atol=1e-12 * size)
    own, where = found.optimised(ball, ROWS @ found.last, 20)
    expected, _ = optimised(net, ball, bounds, ROWS, steps=20)
    np.testing.assert_allclose(own, expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))
    np.testing.assert_allclose(ball.project(where), where, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("net", "radius", "norm"), CASES)
def test_tighter_bounds_hold_on_the_ball(net, radius, norm):
    ball, bounds, points = drawn(net, radius, norm)
    tight = tightened_bounds(net, ball, bounds)
    for (low, high), (before, after), z in zip(tight, bounds, net.trace(points)[:-1], strict=True):
        assert (before <= low).all()
        assert (high <= after).all()
        rounding = 1e-12 * (1 + np.abs(z).max())
        assert (low - rounding <= z).all()
        assert (z <= high + rounding).all()


def test_hidden_bounds_make_margins_tighter_and_programmes_stay_above():
    net, gained = network(6, 20, 15, 3), []
    layers = list(zip(net.weights, net.biases, strict=True))
    for _ in range(5):
        point = RNG.normal(size=6)
        ball = Ball(point, 0.15)
        found = {method: certify(layers, point, 0.15, method=method) for method in ("crown", "alpha", "lp", "exact")}
        rows = np.eye(3)[found["alpha"].label] - np.delete(np.eye(3), found["alpha"].label, axis=0)
        before, _ = optimised(net, ball, pre_activation_bounds(net, ball), rows, steps=200)
        gained.append(np.max(found["alpha"].margins - before))
        for looser, tighter in (("crown", "alpha"), ("alpha", "lp"), ("lp", "exact")):
            assert (found[looser].margins <= found[tighter].margins + 1e-5).all()
        assert (found["exact"].margins <= found["alpha"].attack).all()
    assert max(gained) > 1e-3


def test_where_the_matrices_would_be_large_the_network_itself_serves(monkeypatch):
    net = network(6, 20, 15, 3)
    layers = list(zip(net.weights, net.biases, strict=True))
    point = RNG.normal(size=6)
    by_units = certify(layers, point, 0.15)
    monkeypatch.setattr(_open_units, "_LARGEST", -(2**30))
    ball = Ball(point, 0.15)
    bounds = pre_activation_bounds(net, ball)
    assert open_network(net, bounds) is None
    assert all(a is b for a, b in zip(tightened_bounds(net, ball, bounds), bounds, strict=True))
    plain = certify(layers, point, 0.15)
    assert plain.label == by_units.label
    assert (plain.margins <= by_units.margins + 1e-6).all()
