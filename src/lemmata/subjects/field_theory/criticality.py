"""Criticality, where signals and gradients neither explode nor vanish, and how both then change from layer to layer.

Consider a network with weights of variance C_W / fan-in and biases of variance C_b. Let K be the kernel of one input in
a layer. K is the variance of the layer's preactivations at infinite width. The next layer has the kernel C_b + C_W
E[s(z)²], z ~ N(0, K), where s is the activation. A layer multiplies small changes of K by chi_parallel = C_W E[s² (z² -
K)]/(2 K²), and squared gradients by chi_perpendicular = C_W E[s'²]. This theory gives both factors at random weights,
layer by layer. It does not say how training changes these factors, or how fast networks learn if their gradients have
the same size in all layers.
"""

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key
from scipy.optimize import brentq

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Limit, Rate, Source
from lemmata.subjects.field_theory import gaussian_moments, representation_flow
from lemmata.subjects.field_theory._smooth_units import (
    GATED_UNITS,
    ODD_UNITS,
    GatedUnit,
    OddUnit,
    SmoothNetwork,
    SmoothNetworks,
    critical_point_of,
)

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "kernel"}

_KEY = "roberts2022principles"
_NETWORKS = 100
_LOOKED_AT = (1e-3, 1e5)  # beta² K


def generator(key: Key[Array, ""]) -> np.random.Generator:
    """Return a NumPy generator that is seeded by a key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)))


def _panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for N(0, 1), from a Gauss-Legendre rule in each panel."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2.0
    z = (edges[:-1, None] + half * (nodes + 1.0)).reshape(-1)
    return z, (half * weights).reshape(-1) * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)


def _moments(problem: GatedUnit, kernel: float, rule: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any, Any]:
    """Return E[s²], E[s'²] and E[s² (z² - K)]/(2 K²) over z ~ N(0, K)."""
    z, weights = rule
    value, slope = problem.parts(np.sqrt(kernel) * z)
    return weights @ value**2, weights @ slope**2, weights @ (value**2 * (z**2 - 1.0)) / (2.0 * kernel)


def critical_point(problem: GatedUnit) -> np.ndarray:
    """Return C_b, C_W and K* at which chi_parallel = chi_perpendicular, by quadrature on panels of equal width."""
    rule = _panels(np.linspace(-12.0, 12.0, 97))

    def gap(log_kernel: float) -> float:
        _, slope, parallel = _moments(problem, np.exp(log_kernel), rule)
        return parallel / slope - 1.0

    low = np.log(1.0 / problem.beta**2)
    kernel = float(np.exp(float(brentq(gap, low, low + 3.5, xtol=1e-14))))  # pyright: ignore
    second, slope, _ = _moments(problem, kernel, rule)
    return np.array([kernel - second / slope, 1.0 / slope, kernel])


def critical_points_seen(problem: GatedUnit) -> int:
    """Count the sign changes of chi_parallel - chi_perpendicular on a grid of kernels K, twenty per power of ten.

    The quadrature panels are narrow near 0, because the unit bends there if K is large.
    """
    half = np.geomspace(1e-4, 12.0, 48)
    rule = _panels(np.concatenate([-half[::-1], [0.0], half]))
    kernels = np.geomspace(*_LOOKED_AT, 161) / problem.beta**2
    gaps = [parallel / slope - 1.0 for _, slope, parallel in (_moments(problem, k, rule) for k in kernels)]
    return int(np.sum(np.diff(np.sign(gaps)) != 0))


def _scaled(problem: GatedUnit, share: float) -> np.ndarray:
    """Return C_b, C_W and K, where K is `share` times K* and is preserved, and chi_perpendicular is 1."""
    kernel = share * critical_point_of(problem.gate).kernel
    found = gaussian_moments(problem.layer, kernel)
    second, slope = float(found.second), float(found.slope)
    return np.array([(kernel - second / slope) / problem.beta**2, 1.0 / slope, kernel / problem.beta**2])


class CriticalPointOfGates(Claim[GatedUnit]):
    """Let an activation be s(u) = u gate(beta u), as for GELU and SWISH. Let a network have weights of variance C_W /
    fan-in and biases of variance C_b. The activation has a critical point with a kernel K* > 0. This point satisfies

        C_b = K* - E[s²]/E[s'²],    C_W = 1/E[s'²],    E[s² (z² - K*)]/(2 K*²) = E[s'²],    where z ~ N(0, K*).

    At this point, the kernel K* is the same in every layer, and both susceptibilities are 1: a layer preserves small
    changes of the kernel and the size of gradients. The values of K* and C_b scale like 1/beta², and C_W does not
    depend on beta. At beta = 1, the values of C_b, C_W and K* are (0.1729, 1.9831, 3.5616) for GELU and (0.5551,
    1.9880, 14.3202) for SWISH. There is no other critical point among the kernels from 0.001/beta² to 100,000/beta².
    The test covers this range by a grid with twenty kernels per power of ten. On this grid, the difference between the
    two sides of the third equation changes sign once.
    """

    title = "GELU and SWISH networks have one critical initialisation (critical point) with a positive kernel"
    source = Source(_KEY, "Abstract, criticality")
    population = GATED_UNITS
    relation = Equal()
    traced = False
    control = Control(
        "the kernel is 9/10 of K*, and there are two critical points",
        lambda found, problem: np.append(_scaled(problem, 0.9), 2.0),
    )
    controls = "the variances of weights and biases at which signals neither explode nor vanish"
    unexplained = "whether networks with these variances can be trained best"
    # An error in the difference of the two sides moves the root by 60 times as much. C_b is a difference of size K*/26.
    condition = (300.0, 100.0, 100.0, 1.0)

    def predict(self, problem: GatedUnit) -> np.ndarray:
        point = critical_point_of(problem.gate)
        scale = problem.beta**-2
        return np.array([point.bias_variance * scale, point.weight_variance, point.kernel * scale, 1.0])

    def measure(self, problem: GatedUnit, key: Key[Array, ""]) -> np.ndarray:
        return np.append(critical_point(problem), float(critical_points_seen(problem)))


class GradientsOffCriticality(Claim[SmoothNetwork]):
    """Let a tanh network have n units in each layer, biases of variance C_b = 0, and weights of variance C_W / fan-in,
    where C_W is arbitrary. Let K_l be the kernel of layer l at infinite width, with K_(l+1) = C_W E[tanh(z)²], where z
    ~ N(0, K_l). Let chi_perpendicular(K_l) be C_W times the mean squared derivative of tanh at z. Differentiate a
    preactivation of layer L along a direction in the space of the preactivations of layer 1. The expected square of
    this derivative is

        product over l = 1 to L - 1 of chi_perpendicular(K_l),

    up to relative corrections of order L/n.
    """

    title = "The expected squared gradient of a wide tanh network is a product of its layers' susceptibilities"
    source = Source(_KEY, "Abstract, RG flow")
    population = SmoothNetworks(critical=False)
    relation = EqualInMean(margin=0.1, resolution=0.1)
    traced = False
    trials = 48
    control = Control("the expected square is a quarter larger", lambda product, problem: 1.25 * product)
    controls = "how signals and gradients propagate from layer to layer"
    unexplained = "the fluctuations between networks, which grow with L/n"

    def predict(self, problem: SmoothNetwork) -> np.ndarray:
        flow = representation_flow(
            problem.layer, problem.kernel, problem.depth, weight_variance=problem.weights, bias_variance=problem.biases
        )
        return np.asarray(np.prod(np.asarray(flow.perpendicular)[:-1]))

    def measure(self, problem: SmoothNetwork, key: Key[Array, ""]) -> np.ndarray:
        return np.asarray(problem.drawn(_NETWORKS, generator(key))[1].mean())


class CriticalGradientsFallSlowly(Claim[OddUnit]):
    """Let an activation be odd and smooth, with slope 1 and a negative third derivative at 0. Its critical point is C_b
    = 0 and C_W = 1, where C_b is the variance of the biases and C_W / fan-in the variance of the weights. Let
    chi_perpendicular of a layer be C_W times the mean squared slope of the activation. At the critical point, the
    squared gradient over l layers is the product of chi_perpendicular over these layers. For all such activations, this
    product falls like 1/l.
    """

    title = "Squared gradients of odd activations at criticality fall like 1/depth"
    source = Source(_KEY, "Abstract, criticality", note="with the remaining power of the depth")
    population = ODD_UNITS
    relation = Rate("l", (64.0, 256.0, 1024.0))
    traced = False
    trials = 16
    control = Control("the product falls like l^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = "squared gradients at criticality"
    unexplained = "the constant in front of the power"
    predict = -1.0

    def measure(self, problem: OddUnit, key: Key[Array, ""]) -> np.ndarray:
        return _products(problem, self.relation.rungs)


def _products(problem: OddUnit, rungs: tuple[float, ...]) -> np.ndarray:
    found = np.cumprod(problem.followed(int(rungs[-1])).perpendicular)
    return found[[int(rung) - 1 for rung in rungs]]


class VertexOfOddUnits(Claim[OddUnit]):
    """Let an activation s be odd and smooth, with slope 1 and a negative third derivative at 0. Consider the critical
    point C_b = 0 and C_W = 1 of this activation. Let K be the kernel of layer l, and V the four-point vertex of this
    layer: at a large width n, the kernel has the variance V/n over random networks. The next layer has the vertex V' =
    C_W² (E[s⁴] - E[s²]²) + chi_parallel² V, where chi_parallel is the factor by which a layer multiplies small changes
    of the kernel. As l grows,

        V/(l K²) -> 2/3

    for every such activation, although K ~ 1/(|s'''(0)| l) depends on the activation.
    """

    title = "The four-point vertex of odd activations at criticality grows with depth at the universal rate 2/3"
    source = Source(_KEY, "Abstract, universality classes")
    population = ODD_UNITS
    relation = Limit("l", (64.0, 256.0, 1024.0), margin=0.02, resolution=0.01)
    traced = False
    trials = 16
    control = Control("the limit is 7/10", lambda limit, problem: 0.7 * np.ones_like(limit))
    controls = "the excess kurtosis 3 V/(n K²) of outputs at width n, for a class of activations"
    unexplained = "scale-invariant activations, whose limit is from 2 to 5 instead of 2/3"

    def predict(self, problem: OddUnit) -> np.ndarray:
        return np.full(len(self.relation.rungs), 2.0 / 3.0)

    def measure(self, problem: OddUnit, key: Key[Array, ""]) -> np.ndarray:
        rungs = np.array(self.relation.rungs)
        flow = representation_flow(problem.layer, problem.kernel, int(rungs[-1]), weight_variance=1.0)
        vertex, kernel = (np.asarray(values)[rungs.astype(int) - 1] for values in (flow.vertex, flow.kernel))
        return vertex / kernel**2 / rungs
