"""Networks that are drawn by the lengths of their layers, against drawn weights, loops and derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import Elementwise, LeakyRelu
from lemmata.subjects.field_theory import representation_flow, shared_information, vertex_growth
from lemmata.subjects.field_theory._smooth_units import GatedUnit, OddUnit, SmoothNetwork
from lemmata.subjects.field_theory.aspect_ratios import radial_information
from lemmata.subjects.field_theory.criticality import critical_point
from lemmata.subjects.field_theory.moving_kernels import UNITS, SteppedNetwork
from lemmata.subjects.field_theory.vertices import TwoLineNetwork, vertex_with_skip

NETWORKS = 4000


def near(found: np.ndarray, exact: float) -> bool:
    """Within five standard errors."""
    return abs(found.mean() - exact) < 5 * found.std() / np.sqrt(len(found))


@pytest.mark.parametrize("slope", [0.0, 0.4])
def test_scales_of_two_lines_are_those_of_drawn_weights(slope):
    rng, width = np.random.default_rng(0), 8
    problem = TwoLineNetwork(slope, 0.0, 0.1, width, 3)
    z = rng.standard_normal((NETWORKS, width))
    for _ in range(2):
        s = np.where(z > 0, z, slope * z)
        scale = np.mean(s**2, axis=1) / problem.second
        weights = rng.standard_normal((NETWORKS, width, width)) / np.sqrt(width * problem.second)
        z = np.einsum("mij,mj->mi", weights, s)
    found = problem.scales(width, 2, NETWORKS, rng)
    exact = (1 + problem.unit_growth / width) ** 2
    for drawn in (scale, found):
        assert near(drawn, 1.0)
        assert near(drawn**2, exact)


def test_preactivations_with_a_skip_keep_their_variance_and_are_those_of_drawn_weights():
    rng, width, skip = np.random.default_rng(1), 6, 0.6
    problem = TwoLineNetwork(0.0, skip, 0.1, width, 2)
    z = rng.standard_normal((NETWORKS, width))
    weights = rng.standard_normal((NETWORKS, width, width)) * np.sqrt(2 * (1 - skip**2) / width)
    after = skip * z + np.einsum("mij,mj->mi", weights, np.maximum(z, 0))
    found = problem.preactivations(NETWORKS, rng)
    for moment in (lambda z: (z**2).mean(axis=1), lambda z: (z**4).mean(axis=1), lambda z: z[:, 0] * z[:, 1] ** 2):
        one, other = moment(after), moment(found)
        error = np.sqrt((one.var() + other.var()) / NETWORKS)
        assert abs(one.mean() - other.mean()) < 5 * error
    assert near((found**2).mean(axis=1), 1.0)


def test_the_vertex_with_a_skip_grows_as_the_library_says():
    for slope, skip in ((0.0, 0.6), (0.3, 0.3), (1.0, 0.8)):
        deep, deeper = (sum(vertex_with_skip(TwoLineNetwork(slope, skip, 0.1, 100, depth))) for depth in (200, 201))
        assert deeper - deep == pytest.approx(vertex_growth(LeakyRelu(slope), skip), rel=1e-8)
    plain = TwoLineNetwork(0.0, 0.0, 0.1, 100, 5)
    assert sum(vertex_with_skip(plain)) == pytest.approx(20.0)


def test_odd_units_are_followed_as_the_library_does():
    unit = OddUnit(0.4, 0.9, 1.1, 0.6)
    layer = Elementwise(lambda u: 0.4 * jnp.sin(0.9 * u) / 0.9 + 0.6 * jnp.tanh(1.1 * u) / 1.1)
    flow, found = representation_flow(layer, 0.6, 6, weight_variance=1.0), unit.followed(6)
    assert np.allclose(found.kernels, flow.kernel)
    assert np.allclose(found.vertices, flow.vertex)
    assert np.allclose(found.perpendicular, flow.perpendicular)


@pytest.mark.parametrize("gate", ["normal", "logistic"])
def test_gated_units_have_their_derivative_and_scale(gate):
    unit, u = GatedUnit(1.7, gate), np.linspace(-3, 3, 7)
    value = jax.vmap(jax.value_and_grad(lambda v: unit.layer.apply((), v[None])[0] / 1.7))(jnp.asarray(1.7 * u))
    assert np.allclose(unit.parts(u), (value[0], 1.7 * value[1]), atol=1e-12)
    assert np.allclose(critical_point(unit) * [1.7**2, 1, 1.7**2], critical_point(GatedUnit(1.0, gate)), rtol=1e-10)


def test_smooth_networks_are_those_of_drawn_weights():
    rng, width = np.random.default_rng(2), 6
    problem = SmoothNetwork(0.8, 1.5, 0.0, "tanh", width, 3)
    z, along = np.sqrt(0.8) * rng.standard_normal((NETWORKS, width)), rng.standard_normal((NETWORKS, width))
    for _ in range(2):
        weights = rng.standard_normal((NETWORKS, width, width)) * np.sqrt(1.5 / width)
        s, moved = np.tanh(z), (1 - np.tanh(z) ** 2) * along
        variance, size = 1.5 * np.mean(s**2, axis=1), 1.5 * np.mean(moved**2, axis=1)
        z, along = np.einsum("mij,mj->mi", weights, s), np.einsum("mij,mj->mi", weights, moved)
    found = problem.drawn(NETWORKS, rng)
    for one, other in zip((variance, size), found, strict=True):
        for power in (1, 2):
            gap = (one**power).mean() - (other**power).mean()
            assert abs(gap) < 5 * np.sqrt(((one**power).var() + (other**power).var()) / NETWORKS)


@pytest.mark.parametrize("unit", UNITS)
def test_the_change_of_the_tangent_kernel_is_that_of_derivatives(unit):
    """A step on parameters of unit variance, by autodiff, from the weights that the generator draws."""
    problem = SteppedNetwork(np.array([1.0, -0.5, 0.7]), 2.0, unit, 4)
    found = problem.change(4, 2, 0.3, 3, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    drawn = [rng.standard_normal((3, m, n)) for m, n in ((4, 3), (4, 4), (1, 4))]
    fn = {"relu": jax.nn.relu, "tanh": jnp.tanh, "identity": lambda u: u}[unit]
    critical = UNITS[unit][0]

    def output(weights):
        h = jnp.asarray(problem.x)
        for w in weights:
            z = jnp.sqrt(critical / w.shape[1]) * w @ h
            h = fn(z)
        return z[0]

    tangent = lambda gradient: sum(float(jnp.sum(leaf**2)) for leaf in gradient)
    for network in range(3):
        weights = [jnp.asarray(w[network]) for w in drawn]
        value, gradient = jax.value_and_grad(output)(weights)
        before = tangent(gradient)
        moved = [w - 0.3 / before * (value - 2.0) * leaf for w, leaf in zip(weights, gradient, strict=True)]
        assert found[network] == pytest.approx(abs(tangent(jax.grad(output)(moved)) / before - 1), rel=1e-8)


@pytest.mark.parametrize(("log_variance", "first", "second"), [(0.05, 1, 1), (0.3, 6, 2), (1.0, 1, 4), (12.0, 1, 2)])
def test_the_information_by_two_quadratures(log_variance, first, second):
    exact = shared_information(log_variance, first, second)
    assert radial_information(log_variance, first, second) == pytest.approx(exact, rel=1e-5)
