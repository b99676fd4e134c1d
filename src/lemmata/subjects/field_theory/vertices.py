"""Four-point vertices: the deviation of wide networks' outputs from Gaussian, by depth and width.

Given a layer, the preactivations of the next layer are independent and Gaussian with the same variance G. This
variance varies from network to network. So outputs are Gaussian with a random scale, and their excess kurtosis is 3
Var G/(E G)². To first order in 1/n, where n is the width, Var G = V/n with the four-point vertex V. This theory gives
the variance of G at random weights. It does not cover training, or outputs for several inputs.
"""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Limit,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.subjects.field_theory import representation_flow
from lemmata.subjects.field_theory._smooth_units import SmoothNetwork, SmoothNetworks
from lemmata.subjects.field_theory.criticality import generator

ABOUT = {"tool": "Gaussian processes", "architecture": "dense network", "object": "kernel"}


class TwoLineNetwork(eqx.Module):
    """Layers z' = skip z + W s(z) of n units, with the activation s(u) = u for u > 0 and s(u) = slope u for u < 0.

    The kernel is 1 in all layers at any width.

    Args:
        slope: the slope below 0; 0 gives ReLU and 1 the identity.
        skip: the factor of residual connections, or 0 if there are none.
        ratio: the ratio of depth to width, for claims that choose the width.
        width: n, the number of units in each layer.
        depth: the number of layers of preactivations. The first layer is exactly normal.
    """

    slope: float
    skip: float
    ratio: float
    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    @property
    def second(self) -> float:
        """The mean square E[s(u)²] of the activation for a standard normal u."""
        return (1.0 + self.slope**2) / 2.0

    @property
    def unit_growth(self) -> float:
        """The relative variance E[s⁴]/E[s²]² - 1 of s(u)² for a standard normal u."""
        return 6.0 * (1.0 + self.slope**4) / (1.0 + self.slope**2) ** 2 - 1.0

    def scales(self, width: int, layers: int, networks: int, rng: np.random.Generator) -> Float[np.ndarray, " m"]:
        """Draw the variance that the preactivations after `layers` layers have, given the layer before them. There are
        no residual connections.

        Given a layer's variance G, its preactivations are independent. So the next variance is G times 2/(1 + slope²)
        times a mean of n squares. The sums of squares are chi-squared variables whose degrees of freedom are the
        numbers of units on each side of 0. So drawing these variables is exact and needs no weights.
        """
        above = rng.binomial(width, 0.5, (networks, layers))
        squares = 2.0 * rng.standard_gamma(above / 2) + self.slope**2 * 2.0 * rng.standard_gamma((width - above) / 2)
        return np.prod(squares / (self.second * width), axis=1)

    def preactivations(self, networks: int, rng: np.random.Generator) -> Float[np.ndarray, "m n"]:
        """Draw the last layer of networks with residual connections. Given a layer, the entries of the term with W are
        independent and normal.
        """
        z = rng.standard_normal((networks, self.width))
        for _ in range(self.depth - 1):
            squares = np.where(z > 0, 1.0, self.slope**2) * z**2
            variance = (1.0 - self.skip**2) / self.second * squares.mean(axis=1, keepdims=True)
            z = self.skip * z + np.sqrt(variance) * rng.standard_normal(z.shape)
        return z


class TwoLineNetworks(Population[TwoLineNetwork]):
    """Networks whose activations have slopes from 0 to 1/2 below 0, so that slope 0 is ReLU.

    Args:
        skips: whether there are residual connections, with factors from 1/2 to 4/5. Slopes are then at most 1/4.
    """

    skips: bool = eqx.field(default=False, static=True)

    def settings(self) -> Space:
        width = Integer(256, 2, 4096, "width", corners=(224, 320))
        return Space(
            n=width if self.skips else Integer(128, 2, 4096, "width", corners=(96, 160)),
            depth=Integer(5, 2, 1000, "layers", corners=(4, 6)),
            ratio=Real(0.0625, 0.01, 0.2, "layers over width", corners=(0.05, 0.08)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoLineNetwork:
        slope, skip = (float(value) for value in jax.random.uniform(key, (2,)))
        drawn = (slope / 4, 0.5 + 0.3 * skip) if self.skips else (slope / 2, 0.0)
        return TwoLineNetwork(*drawn, setting["ratio"], setting["n"], setting["depth"])

    def hypotheses(self, problem: TwoLineNetwork) -> list[Hypothesis]:
        """Check that there are few layers compared with the width."""
        return [
            Hypothesis(
                "the factor of residual connections", abs(problem.skip), "<", 1.0, "at 1 the critical weights are 0"
            ),
            Hypothesis(
                "layers over width",
                problem.depth / problem.width,
                "<=",
                0.25,
                "otherwise means of heavy-tailed numbers are unreliable",
            ),
        ]


_KEY = "roberts2022principles"
_WIDTHS = (32.0, 64.0, 128.0)


class VertexOfTwoLines(Claim[TwoLineNetwork]):
    """Let a network have n units in each layer, and activations of slope a below 0 and 1 above 0. Let the biases have
    the variance C_b = 0, and the weights the variance C_W / fan-in with C_W = 2/(1 + a²). Let G be the variance of the
    preactivations of layer l, given the previous layer. Let v = 6 (1 + a⁴)/(1 + a²)² - 1. At every width and in every
    layer, the four-point vertex is

        n Var G/(E G)² = n ((1 + v/n)^(l-1) - 1).

    To first order in l/n, this vertex is v (l - 1): it grows by 5 per layer for ReLU, and by 2 per layer for the
    identity. The excess kurtosis of the outputs is 3/n times the vertex.
    """

    title = "The four-point vertex of networks with piecewise linear activations has an exact formula"
    source = Source(_KEY, "Abstract, nearly Gaussian", note="to all orders in 1/width")
    population = TwoLineNetworks()
    relation = EqualInMean(resolution=0.06)
    traced = False
    trials = 64
    control = Control("the square of the mean is not subtracted", lambda found, problem: _grown(problem, 1.0))
    controls = "the excess kurtosis of outputs of a network with random weights"
    unexplained = "the mean of outputs after training, and several inputs"

    def predict(self, problem: TwoLineNetwork) -> np.ndarray:
        return _grown(problem, 0.0)

    def measure(self, problem: TwoLineNetwork, key: Key[Array, ""]) -> np.ndarray:
        """Return n Var G/(E G)² over networks that are drawn through the squared lengths of their layers."""
        scales = problem.scales(problem.width, problem.depth - 1, 2000, generator(key))
        return np.asarray(problem.width * np.mean((scales - 1.0) ** 2))


def _grown(problem: TwoLineNetwork, more: float) -> np.ndarray:
    n = problem.width
    return np.asarray(n * ((1.0 + (problem.unit_growth + more) / n) ** (problem.depth - 1) - 1.0))


class VertexOfSmoothUnits(Claim[SmoothNetwork]):
    """Let a critical network have n units in each layer, with tanh or GELU as the activation s. Let G be the variance
    of the preactivations of layer L, given the previous layer. Let C_W / fan-in be the variance of the weights, and let
    chi_parallel be the factor by which a layer multiplies small changes of the kernel. Let V be the four-point vertex
    of a layer, and V' the vertex of the next layer. To first order in L/n,

        n Var G = V,    V' = C_W² (E[s⁴] - E[s²]²) + chi_parallel² V,    V = 0 in layer 1.

    Here E is the mean over s = s(z), where z is a preactivation of the layer at infinite width.
    """

    title = "The four-point vertex of tanh and GELU networks follows a recursion over layers"
    source = Source(_KEY, "Abstract, iteration")
    population = SmoothNetworks()
    relation = EqualInMean(margin=0.03, resolution=0.04)
    traced = False
    trials = 64
    control = Control("the vertex is a tenth larger", lambda vertex, problem: 1.1 * vertex)
    controls = "the outputs of a network with random weights, to first order in 1/width"
    unexplained = "trained networks; orders beyond the first"

    def predict(self, problem: SmoothNetwork) -> np.ndarray:
        flow = representation_flow(
            problem.layer, problem.kernel, problem.depth, weight_variance=problem.weights, bias_variance=problem.biases
        )
        return np.asarray(flow.vertex[-1])

    def measure(self, problem: SmoothNetwork, key: Key[Array, ""]) -> np.ndarray:
        return np.asarray(problem.width * np.var(problem.drawn(1000, generator(key))[0], ddof=1))


def _kurtosis(problem: TwoLineNetwork, width: float, key: Key[Array, ""]) -> np.ndarray:
    """Return the excess kurtosis of outputs z from their variances G: E[z⁴] = 3 E[G²] and E[G] = 1."""
    layers = round(problem.ratio * width)
    return np.asarray(3.0 * np.mean((problem.scales(int(width), layers, 1500, generator(key)) - 1.0) ** 2))


def _limits(problem: TwoLineNetwork, growth: float) -> np.ndarray:
    layers = np.array([round(problem.ratio * width) / width for width in _WIDTHS])
    return 3.0 * np.expm1(growth * layers)


class RatioTimesGrowth(Claim[TwoLineNetwork]):
    """Let critical networks have activations of slope a below 0 and 1 above 0, and let r be the ratio of depth to
    width. At large width n and depth r n, the outputs have the excess kurtosis

        3 (e^(v r) - 1),    where v = 6 (1 + a⁴)/(1 + a²)² - 1.

    The excess kurtosis is a function of v r, and v depends only on the activation. At a fixed ratio r, the excess
    kurtosis does not vanish as the width grows.
    """

    title = "The excess kurtosis of network outputs depends on the aspect ratio times a constant of the activation"
    source = Source(_KEY, "Abstract, aspect ratio", note="with the number v for each activation")
    population = TwoLineNetworks()
    relation = Limit("n", _WIDTHS, margin=0.05, resolution=0.08)
    traced = False
    trials = 100
    control = Control("the excess kurtosis is a quarter larger", lambda limits, problem: 1.25 * limits)
    controls = "the excess kurtosis of outputs at a fixed ratio of depth to width"
    unexplained = "activations that are not scale invariant, whose kernels change with depth"

    def predict(self, problem: TwoLineNetwork) -> np.ndarray:
        return _limits(problem, problem.unit_growth)

    def measure_at(self, problem: TwoLineNetwork, key: Key[Array, ""], n: float) -> np.ndarray:
        return _kurtosis(problem, n, key)


def vertex_with_skip(problem: TwoLineNetwork) -> tuple[float, float]:
    """Return two parts of V in the last layer of a residual network of kernel 1: the part that grows by the same
    amount in every layer, and the part due to E[z_i z_j²].

    Let a be the slope below 0 and c = C_W E[s²] = 1 - skip². Let o = (1 - a²) sqrt(2/pi), which is both E[z s²] and
    the derivative of E[s²] with respect to the mean of z. With T = n E[z_i z_j²], the next layer has T' = skip T +
    skip C_W o and V' = V + c (v c + 4 skip²) + 2 C_W o T.
    """
    skip, keep = problem.skip, 1.0 - problem.skip**2
    weights, tilt = keep / problem.second, (1.0 - problem.slope**2) * np.sqrt(2.0 / np.pi)
    even, handed_on, third = 0.0, 0.0, 0.0
    for _ in range(problem.depth - 1):
        even += keep * (problem.unit_growth * keep + 4.0 * skip**2)
        handed_on += 2.0 * weights * tilt * third
        third = skip * (third + weights * tilt)
    return even, handed_on


def _vertex_drawn(problem: TwoLineNetwork, networks: int, key: Key[Array, ""]) -> np.ndarray:
    """Estimate V from the mean of n squared preactivations, whose variance is (V + 2)/n."""
    lengths = np.mean(problem.preactivations(networks, generator(key)) ** 2, axis=1)
    return np.asarray(problem.width * np.var(lengths, ddof=1) - 2.0)


class VertexWithSkips(Claim[TwoLineNetwork]):
    """Consider residual networks z' = skip z + W s(z) with n units in each layer. The activation s has slope a below 0
    and slope 1 above 0. Let c = 1 - skip², and let the weights have the variance C_W / fan-in with C_W = 2 (1 -
    skip²)/(1 + a²), so that the kernel is 1 in every layer. Let v = 6 (1 + a⁴)/(1 + a²)² - 1 and o = (1 - a²)
    sqrt(2/pi). Let V be the four-point vertex of a layer, which is n times the variance of the kernel. Let T = n E[z_i
    z_j²] for two units i and j. To first order in 1/n, V and T of the next layer are

        V' = V + c (v c + 4 skip²) + 2 C_W o T,    T' = skip (T + C_W o),

    with V = T = 0 in layer 1. The growth of V per layer goes to 0 as the skip goes to 1. For ReLU, V grows by 5 per
    layer without a skip, and by more than 5 per layer with a skip of up to 0.74.
    """

    title = "The four-point vertex of residual networks follows a recursion over layers"
    source = Source(_KEY, "Abstract, residual connections", note="with the correlation E[z_i z_j²] between units")
    population = TwoLineNetworks(skips=True)
    relation = EqualInMean(margin=0.1, resolution=0.08)
    traced = False
    trials = 60
    control = Control("the recursion holds without T", lambda vertex, problem: np.asarray(vertex_with_skip(problem)[0]))
    controls = "the growth of the vertex with depth"
    unexplained = "the depth at which such a network is best"

    def predict(self, problem: TwoLineNetwork) -> np.ndarray:
        return np.asarray(sum(vertex_with_skip(problem)))

    def measure(self, problem: TwoLineNetwork, key: Key[Array, ""]) -> np.ndarray:
        return _vertex_drawn(problem, 150, key)
