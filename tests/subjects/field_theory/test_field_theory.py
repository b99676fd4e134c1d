"""Moments by other quadratures, critical points by published values, flows by loops, growth by limits."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from lemmata.architectures import (
    ABRelu,
    Dense,
    Elementwise,
    Erf,
    Gelu,
    LeakyRelu,
    Relu,
    Serial,
    Sin,
    TangentKernel,
    silu,
    softplus,
    tanh,
)
from lemmata.errors import PrecisionError, SettingError, ShapeError
from lemmata.kernels import gram
from lemmata.subjects.field_theory import (
    Universality,
    critical_initialisation,
    gaussian_moments,
    optimal_aspect_ratio,
    representation_flow,
    shared_information,
    slopes_of,
    susceptibilities,
    vertex_growth,
)


def mean(fn, kernel: float) -> float:
    """E[fn(z)], z ~ N(0, K)."""
    root = math.sqrt(kernel)
    density = lambda u: fn(root * u) * stats.norm.pdf(u)
    return integrate.quad(density, -12, 0, limit=200)[0] + integrate.quad(density, 0, 12, limit=200)[0]


@pytest.mark.parametrize("kernel", [0.3, 2.0])
def test_moments_of_a_sine_have_closed_forms(kernel):
    found = gaussian_moments(Sin(), kernel)
    second = (1 - np.exp(-2 * kernel)) / 2
    exact = (second, 3 / 8 - np.exp(-2 * kernel) / 2 + np.exp(-8 * kernel) / 8, 1 - second, -second)
    assert np.allclose(found, exact, rtol=1e-13)


def test_moments_by_adaptive_quadrature():
    found = gaussian_moments(tanh(), jnp.array([0.5, 4.0]))
    for place, kernel in enumerate((0.5, 4.0)):
        assert float(found.second[place]) == pytest.approx(mean(lambda u: np.tanh(u) ** 2, kernel), rel=1e-9)
        assert float(found.fourth[place]) == pytest.approx(mean(lambda u: np.tanh(u) ** 4, kernel), rel=1e-9)
        slope = mean(lambda u: np.cosh(u) ** -4.0, kernel)
        assert float(found.slope[place]) == pytest.approx(slope, rel=1e-9)
        bend = mean(lambda u: -2 * np.tanh(u) ** 2 * np.cosh(u) ** -2.0, kernel)
        assert float(found.bend[place]) == pytest.approx(bend, rel=1e-9)


@pytest.mark.parametrize(
    ("layer", "below", "above"), [(Relu(), 0.0, 1.0), (LeakyRelu(0.3), 0.3, 1.0), (ABRelu(-0.5, 2.0), -0.5, 2.0)]
)
def test_moments_at_a_kink_are_exact(layer, below, above):
    assert slopes_of(layer) == (below, above)
    found = gaussian_moments(layer, 1.7)
    line = lambda u: np.where(u > 0, above * u, below * u)
    assert float(found.second) == pytest.approx(mean(lambda u: line(u) ** 2, 1.7), rel=1e-9)
    assert float(found.fourth) == pytest.approx(mean(lambda u: line(u) ** 4, 1.7), rel=1e-9)
    assert float(found.slope) == pytest.approx((below**2 + above**2) / 2)
    assert float(found.bend) == 0.0


def test_an_unannounced_kink_is_not_answered():
    clipped = Elementwise(lambda u: jnp.clip(u, -1.0, 1.0))
    assert np.isnan(gaussian_moments(clipped, 1.0).second)
    with pytest.raises(SettingError, match="no Gaussian moments at the kernel"):
        critical_initialisation(clipped)


def test_the_parallel_susceptibility_is_the_derivative_of_the_kernel():
    kernels = lambda k: 0.1 + 1.3 * gaussian_moments(Gelu(), k).second
    found = susceptibilities(Gelu(), 0.8, 1.3)
    assert float(found.parallel) == pytest.approx(float(kernels(0.801) - kernels(0.799)) / 0.002, rel=1e-5)
    assert float(found.perpendicular) == pytest.approx(1.3 * float(gaussian_moments(Gelu(), 0.8).slope))


@pytest.mark.parametrize(
    ("layer", "published"),
    [
        (Gelu(), (0.17292239, 1.98305826, (3 + math.sqrt(17)) / 2)),
        (silu(), (0.55514317, 1.98800468, 14.32017362)),
    ],
)
def test_half_stable_critical_points_are_those_of_the_book(layer, published):
    point = critical_initialisation(layer)
    assert np.allclose(point[:3], published, rtol=3e-8)
    assert point.universality is Universality.HALF_STABLE
    chi = susceptibilities(layer, point.kernel, point.weight_variance)
    assert np.allclose(chi, 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("layer", "weights", "universality", "growth"),
    [
        (Relu(), 2.0, Universality.SCALE_INVARIANT, 5.0),
        (LeakyRelu(1.0), 1.0, Universality.SCALE_INVARIANT, 2.0),
        (Elementwise(lambda u: 3.0 * u), 1 / 9, Universality.SCALE_INVARIANT, 2.0),
        (tanh(), 1.0, Universality.ZERO, 2 / 3),
        (Erf(), math.pi / 4, Universality.ZERO, 2 / 3),
    ],
)
def test_classes(layer, weights, universality, growth):
    point = critical_initialisation(layer)
    assert point.weight_variance == pytest.approx(weights)
    assert point.bias_variance == 0.0
    assert point.universality is universality
    assert vertex_growth(layer) == pytest.approx(growth)


def test_a_smooth_rectifier_has_no_critical_point():
    point = critical_initialisation(softplus())
    assert point.universality is Universality.NONE
    assert np.isnan(point[:3]).all()
    with pytest.raises(SettingError, match="critical point"):
        vertex_growth(softplus())


def test_the_flow_is_its_recursion():
    flow = representation_flow(tanh(), 0.7, 5, weight_variance=1.4, bias_variance=0.2, weight_rate=0.5, bias_rate=0.25)
    k, vertex, tangent = 0.7, 0.0, 0.25 + 0.5 * 0.5 / 1.4
    for layer in range(5):
        assert np.allclose((flow.kernel[layer], flow.vertex[layer], flow.tangent[layer]), (k, vertex, tangent))
        squares = mean(lambda u: np.tanh(u) ** 2, k)
        chi = 1.4 / (2 * k**2) * mean(lambda u, k=k: np.tanh(u) ** 2 * (u**2 - k), k)
        vertex = 1.96 * (mean(lambda u: np.tanh(u) ** 4, k) - squares**2) + chi**2 * vertex
        tangent = 0.25 + 0.5 * squares + 1.4 * mean(lambda u: np.cosh(u) ** -4.0, k) * tangent
        k = 0.2 + 1.4 * squares


def test_the_tangent_kernel_is_that_of_the_architecture():
    dense = Dense(8, 1.2, 0.4)
    x = jnp.array([[0.3, -0.8, 1.1]])
    limit = gram(TangentKernel(Serial([dense, Gelu(), dense, Gelu(), dense])), x)
    kernel = 0.16 + 1.44 * float(jnp.mean(x**2))
    flow = representation_flow(
        Gelu(), kernel, 3, weight_variance=1.44, bias_variance=0.16, weight_rate=1.44, bias_rate=0.16
    )
    assert float(flow.tangent[-1]) == pytest.approx(float(limit[0, 0]), rel=1e-10)


def test_the_kernel_of_tanh_falls_with_its_logarithm_and_its_vertex_has_two_thirds():
    flow = representation_flow(tanh(), 1.0, 1000, weight_variance=1.0)
    inverse, layer = 1 / np.asarray(flow.kernel), np.arange(1, 1001)
    # 1/K = 2 l + c log l + const with c = (a² - b)/|a| of E[tanh²] = K + a K² + b K³ + ..., a = -2 and b = 17/3
    gap = (inverse - 2 * layer)[[499, 999]]
    assert (gap[1] - gap[0]) / math.log(2) == pytest.approx(-5 / 6, abs=3e-3)
    assert float(flow.vertex[-1] / flow.kernel[-1] ** 2) / 1000 == pytest.approx(2 / 3, abs=4e-3)


def test_growth_with_a_skip():
    for skip in (0.0, 0.5, 0.9):
        assert vertex_growth(LeakyRelu(1.0), skip) == pytest.approx(2 * (1 - skip**4))
    assert vertex_growth(Relu(), 0.999) < 0.05
    assert vertex_growth(Relu(), 0.3) > 5.0 > vertex_growth(Relu(), 0.75)
    for wrong in (-0.1, 1.0):
        with pytest.raises(SettingError, match="skip"):
            vertex_growth(Relu(), wrong)
    with pytest.raises(SettingError, match="two lines"):
        vertex_growth(tanh(), 0.5)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3)])
def test_the_information_has_the_cubic_of_the_estimated_optimum(first, second):
    """In the relative variance v = e^s - 1 of the scale: k1 k2/8 (v² - (20 + 3 k) v³/6)."""
    rest = []
    for s in (0.004, 0.002):
        v = math.expm1(s)
        rest.append((shared_information(s, first, second) / (first * second * v**2 / 8) - 1) / v)
    outputs = first + second
    assert 2 * rest[1] - rest[0] == pytest.approx(-(20 + 3 * outputs) / 6, rel=2e-3)
    v = optimal_aspect_ratio(5.0, outputs) * 5.0
    cubic = lambda v: v**2 - (20 + 3 * outputs) * v**3 / 6
    assert cubic(v) > max(cubic(0.99 * v), cubic(1.01 * v))


def test_what_is_refused():
    for wrong in ({"depth": 0}, {"kernel": 0.0}, {"weight_variance": -1.0}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            representation_flow(Relu(), **{"kernel": 1.0, "depth": 3, "weight_variance": 2.0, **wrong})
    for wrong in ((0.0, 1, 1), (30.0, 1, 1), (1.0, 0, 1)):
        with pytest.raises(SettingError):
            shared_information(*wrong)
    with pytest.raises(SettingError, match="growth"):
        optimal_aspect_ratio(0.0, 2)
    with pytest.raises(SettingError, match="outputs"):
        optimal_aspect_ratio(1.0, 1)
    with jax.enable_x64(False), pytest.raises(PrecisionError):
        gaussian_moments(Relu(), 1.0)


def flow(**wrong):
    return representation_flow(Relu(), **{"kernel": 1.0, "depth": 3, "weight_variance": 2.0, **wrong})


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: gaussian_moments(Relu(), -1.0), "kernel; found -1"),
        (lambda: gaussian_moments(tanh(), math.nan), "kernel; found nan"),
        (lambda: gaussian_moments(tanh(), jnp.array([1.0, math.inf])), "kernel; found inf"),
        (lambda: susceptibilities(Relu(), 1.0, -1.0), "weight_variance; found -1"),
        (lambda: susceptibilities(Relu(), 0.0, 1.0), "kernel; found 0"),
        (lambda: flow(bias_variance=5.0), "bias_variance; found 5.*at most 1, the kernel"),
        (lambda: flow(bias_variance=-9.0), "bias_variance; found -9"),
        (lambda: flow(bias_variance=math.nan), "bias_variance; found nan"),
        (lambda: flow(weight_rate=-1.0), "weight_rate; found -1"),
        (lambda: flow(bias_rate=math.inf), "bias_rate; found inf"),
        (lambda: vertex_growth(Relu(), math.nan), "skip; found nan"),
        (lambda: optimal_aspect_ratio(math.inf, 2), "growth; found inf"),
    ],
)
def test_numbers_out_of_range_are_refused(call, named):
    with pytest.raises(SettingError, match=named):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian_moments(Relu(), jnp.zeros(0)),
        lambda: gaussian_moments(tanh(), jnp.zeros((2, 0))),
        lambda: flow(kernel=jnp.ones(2)),
        lambda: vertex_growth("relu"),
        lambda: critical_initialisation(Relu),
        lambda: gaussian_moments("tanh", 1.0),
        lambda: representation_flow("relu", 1.0, 3, weight_variance=2.0),
        lambda: vertex_growth(Relu(), "a"),
        lambda: optimal_aspect_ratio("a", 2),
        lambda: shared_information("a", 1, 1),
        lambda: flow(weight_rate="a"),
    ],
)
def test_shapes_and_types_that_are_refused(call):
    """By the library, or before it by the checker of types."""
    with pytest.raises((SettingError, ShapeError, TypeError)):
        call()


def test_traced_numbers_pass():
    last = lambda k, b: representation_flow(tanh(), k, 3, weight_variance=1.4, bias_variance=b).kernel[-1]
    slopes = jax.grad(last, argnums=(0, 1))(0.7, 0.2)
    steps = (last(0.701, 0.2) - last(0.699, 0.2)) / 0.002, (last(0.7, 0.201) - last(0.7, 0.199)) / 0.002
    assert np.allclose(slopes, steps, rtol=1e-5)
    found = jax.vmap(lambda k: susceptibilities(tanh(), k, 1.0).perpendicular)(jnp.array([0.5, 1.0]))
    assert np.allclose(found[1], susceptibilities(tanh(), 1.0, 1.0).perpendicular, rtol=1e-12)
