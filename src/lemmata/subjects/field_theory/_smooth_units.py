"""Smooth activations as plain functions (odd and gated activations), and networks with such activations, layer by
layer.
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import erf, expit

from lemmata.architectures import AbstractLayer, Elementwise, Gelu, State, silu, tanh
from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.subjects.field_theory import Criticality, critical_initialisation

_NODES = 200


@functools.lru_cache(maxsize=1)
def _half_rule() -> tuple[np.ndarray, np.ndarray]:
    """Return the positive nodes and weights of the Gauss-Hermite rule of 200 nodes, for even functions."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    positive = nodes > 0
    return nodes[positive], 2.0 * weights[positive] / weights.sum()


class FollowedUnit(NamedTuple):
    """The kernel, the vertex V and chi_perpendicular of each layer at infinite width, starting with layer 1."""

    kernels: np.ndarray
    vertices: np.ndarray
    perpendicular: np.ndarray


class OddLayer(AbstractLayer):
    """The layer s(u) = share sin(a u)/a + (1 - share) tanh(b u)/b. JAX may trace its numbers share, a and b.

    Args:
        share: the share of the sine.
        sine: the frequency a of the sine.
        tangent: the scale b inside tanh.
    """

    share: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    sine: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    tangent: Float[Array, ""] = eqx.field(converter=jnp.asarray)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Apply s to every coordinate."""
        bent, bounded = jnp.sin(self.sine * x) / self.sine, jnp.tanh(self.tangent * x) / self.tangent
        return self.share * bent + (1.0 - self.share) * bounded

    def push(self, state: State) -> State:
        """Push the state through the layer by the quadrature of `Elementwise`."""
        return Elementwise(lambda u: self.apply((), u)).push(state)


class OddUnit(eqx.Module):
    """The activation s(u) = share sin(a u)/a + (1 - share) tanh(b u)/b, which has slope 1 at 0.

    Args:
        share: the share of the sine.
        sine: the frequency a of the sine.
        tangent: the scale b inside tanh.
        kernel: the variance of the first preactivations.
    """

    share: float = eqx.field(converter=float)
    sine: float = eqx.field(converter=float)
    tangent: float = eqx.field(converter=float)
    kernel: float = eqx.field(converter=float)

    @property
    def layer(self) -> OddLayer:
        """The activation as a layer of `lemmata.architectures`."""
        return OddLayer(self.share, self.sine, self.tangent)

    def followed(self, depth: int) -> FollowedUnit:
        """Compute the statistics of `depth` layers of this unit at C_b = 0 and C_W = 1, by a Gauss-Hermite rule."""
        z, weights = _half_rule()
        k, vertex, found = self.kernel, 0.0, np.empty((depth, 3))
        for layer in range(depth):
            u = np.sqrt(k) * z
            bent, bounded = np.sin(self.sine * u) / self.sine, np.tanh(self.tangent * u)
            squares = (self.share * bent + (1.0 - self.share) * bounded / self.tangent) ** 2
            slopes = self.share * np.cos(self.sine * u) + (1.0 - self.share) * (1.0 - bounded**2)
            second = weights @ squares
            parallel = weights @ (squares * (z**2 - 1.0)) / (2.0 * k)
            found[layer] = k, vertex, weights @ slopes**2
            vertex = weights @ squares**2 - second**2 + parallel**2 * vertex
            k = second
        return FollowedUnit(*found.T)


def _bent(problem: OddUnit) -> Hypothesis:
    third = -problem.share * problem.sine**2 - 2.0 * (1.0 - problem.share) * problem.tangent**2
    return Hypothesis(
        "third derivative at 0, divided by the first derivative at 0",
        third,
        "<",
        0.0,
        "otherwise kernels grow with depth",
    )


ODD_UNITS = Drawn(
    OddUnit,
    _bent,
    share=uniform(0.0, 1.0, times=Real(0.8, 0.0, 1.0, "largest share of the sine", corners=(0.2, 1.0))),
    sine=uniform(0.7, 1.2),
    tangent=uniform(0.7, 1.2),
    kernel=Real(0.5, 0.05, 1.5, "kernel of the first layer", corners=(0.3, 1.0)),
)


GATES = {"normal": lambda u: 0.5 * (1.0 + erf(u / np.sqrt(2.0))), "logistic": expit}
"""GELU and SWISH multiply their input u by these gates."""

LAYERS = {"normal": Gelu, "logistic": silu, "tanh": tanh}
"""The layers of lemmata with these gates, and the hyperbolic tangent."""


@functools.cache
def critical_point_of(name: str) -> Criticality:
    """Return the critical point of a layer of `LAYERS`."""
    return critical_initialisation(LAYERS[name]())


class GatedUnit(eqx.Module):
    """The activation s(u) = u gate(beta u), such as GELU and SWISH."""

    beta: float = eqx.field(converter=float)
    gate: str = eqx.field(static=True)

    @property
    def layer(self) -> AbstractLayer:
        """The activation at beta = 1, as a layer."""
        return LAYERS[self.gate]()

    def parts(self, u: Float[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        """Return the activation and its derivative at u."""
        v = self.beta * u
        gate = GATES[self.gate](v)
        density = np.exp(-0.5 * v**2) / np.sqrt(2.0 * np.pi) if self.gate == "normal" else gate * (1.0 - gate)
        return u * gate, gate + v * density


GATED_UNITS = Drawn(
    GatedUnit,
    positive("beta", "otherwise the unit is linear"),
    beta=log_uniform(0.5, 2.0),
    gate=Choice("logistic", tuple(GATES), "normal is GELU, logistic SWISH"),
)


UNITS = {"tanh": np.tanh, "normal": lambda u: u * GATES["normal"](u)}
"""Activations of networks: the hyperbolic tangent and GELU."""


class SmoothNetwork(eqx.Module):
    """A network with n tanh or GELU units in each layer.

    Args:
        kernel: the kernel of the first layer.
        weights: C_W, the variance of weights times the fan-in.
        biases: C_b, the variance of biases.
        unit: the name of the activation, a key of `UNITS`.
        width: n, the number of units in each layer.
        depth: the number of layers of preactivations.
    """

    kernel: float
    weights: float
    biases: float
    unit: str = eqx.field(static=True)
    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    @property
    def layer(self) -> AbstractLayer:
        """The activation as a layer of `lemmata.architectures`."""
        return LAYERS[self.unit]()

    def drawn(self, networks: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw networks. For each network, return the variance of the last preactivations given the layer before. Also
        return the expected squared derivative, given the layer before, of a last preactivation along a random direction
        of the first preactivations.

        Given a layer, consider each next preactivation and its derivative along a direction of the first
        preactivations. These pairs of normal variables are independent between units. So drawing these pairs is exact
        and needs no weights. The derivative is computed only for tanh. For other units, the derivative is NaN.
        """
        fn = UNITS[self.unit]
        z = np.sqrt(self.kernel) * rng.standard_normal((networks, self.width))
        along = rng.standard_normal(z.shape)
        mean = lambda values: self.weights * values.mean(axis=1, keepdims=True)
        variance, size = np.full((networks, 1), self.kernel), np.ones((networks, 1))
        for _ in range(self.depth - 1):
            s = fn(z)
            moved = (1.0 - s**2) * along if self.unit == "tanh" else np.full_like(s, np.nan)
            variance, both, size = self.biases + mean(s * s), mean(s * moved), mean(moved * moved)
            own = rng.standard_normal(z.shape)
            z = np.sqrt(variance) * own
            if self.unit == "tanh":
                rest = np.sqrt(np.maximum(size - both**2 / variance, 0.0))
                along = both / np.sqrt(variance) * own + rest * rng.standard_normal(z.shape)
        return variance[:, 0], size[:, 0]


class SmoothNetworks(Population[SmoothNetwork]):
    """Critical networks with tanh or GELU units, or networks with tanh units that are not critical.

    Args:
        critical: whether weights and biases are those of the critical point.
    """

    critical: bool = eqx.field(default=True, static=True)

    def settings(self) -> Space:
        wide, deep = ((224, 320), (4, 6)) if self.critical else ((112, 160), (6, 9))
        width = Integer(256 if self.critical else 128, 8, 4096, "width", corners=wide)
        depth = Integer(5 if self.critical else 8, 2, 100, "layers", corners=deep)
        return Space(
            unit=Choice("tanh", tuple(UNITS) if self.critical else ("tanh",), "activation; normal is GELU"),
            n=width,
            depth=depth,
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmoothNetwork:
        """Draw a first kernel from 1/2 to 3/2 and, away from criticality, C_W from 3/5 to 9/5."""
        kernel, weights = (float(value) for value in jax.random.uniform(key, (2,)))
        shape = setting["unit"], setting["n"], setting["depth"]
        if not self.critical:
            return SmoothNetwork(0.5 + kernel, 0.6 + 1.2 * weights, 0.0, *shape)
        point = critical_point_of(setting["unit"])
        return SmoothNetwork(0.5 + kernel, point.weight_variance, point.bias_variance, *shape)

    def hypotheses(self, problem: SmoothNetwork) -> list[Hypothesis]:
        return [
            Hypothesis(
                "layers over width", problem.depth / problem.width, "<=", 0.15, "the statement is to first order in 1/n"
            )
        ]
