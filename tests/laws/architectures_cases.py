"""The registry of layers that every law in `test_architectures.py` runs over: a new layer is one line here."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from lemmata.architectures import (
    MAXIMAL_UPDATE,
    ABRelu,
    AbstractLayer,
    Aggregate,
    Attention,
    AveragePool,
    Concatenate,
    Contract,
    Conv,
    ConvTranspose,
    Cos,
    Dense,
    Dropout,
    Elementwise,
    Embedding,
    Erf,
    Exp,
    ExpNormalized,
    Flatten,
    Gabor,
    Gaussian,
    Gelu,
    GlobalAveragePool,
    GlobalSumPool,
    Hermite,
    Identity,
    ImageResize,
    Index,
    LayerNorm,
    LeakyRelu,
    LocalDense,
    LocallyConnected,
    Masked,
    Monomial,
    Multiply,
    OnGraphs,
    Parallel,
    Patches,
    Polynomial,
    PositionalEmbedding,
    Rbf,
    RectifiedMonomial,
    Relu,
    RMSNorm,
    Serial,
    Sign,
    Sin,
    Softmax,
    StateSpace,
    SumPool,
    Window,
    absolute,
    fully_connected,
    residual,
)


class Activation(NamedTuple):
    """A layer without parameters, its function, and whether that is analytic (None: no closed form)."""

    name: str
    layer: AbstractLayer
    fn: Callable
    analytic: bool | None = True
    parameterizations: tuple[str, ...] = ("ntk", "standard")


ACTIVATIONS = [
    Activation("relu", Relu(), lambda u: jnp.maximum(u, 0.0), analytic=False),
    Activation("leaky", LeakyRelu(0.2), lambda u: jnp.where(u > 0, u, 0.2 * u), analytic=False),
    Activation("absolute", absolute(), jnp.abs, analytic=False),
    Activation("erf", Erf(), jax.scipy.special.erf),
    Activation("gelu", Gelu(), lambda u: u * jax.scipy.stats.norm.cdf(u)),
    Activation("sin", Sin(1.2, 0.4), lambda u: jnp.sin(1.2 * u + 0.4)),
    Activation("cos", Cos(1.2), lambda u: jnp.cos(1.2 * u)),
    Activation("cube", Elementwise(lambda u: u**3 / 3, degree=8), lambda u: u**3 / 3),
    Activation("tanh", Elementwise(jnp.tanh, degree=24), jnp.tanh, analytic=None),
    Activation("exp", Exp(0.5), lambda u: jnp.exp(0.5 * u), parameterizations=("ntk",)),
    Activation("gaussian", Gaussian(0.6), lambda u: jnp.exp(-0.6 * u * u), parameterizations=("ntk",)),
    Activation("rbf", Rbf(0.7), lambda u: 2**0.5 * jnp.sin(1.4**0.5 * u + jnp.pi / 4), parameterizations=("ntk",)),
    Activation("square", Monomial(2), lambda u: u**2, parameterizations=("ntk",)),
    Activation("hermite", Hermite(2), lambda u: (u**2 - 1) / 2**0.5, parameterizations=("ntk",)),
    Activation(
        "polynomial", Polynomial([0.3, -0.5, 0.2, 0.1]), lambda u: 0.3 - u / 2 + u**2 / 5 + u**3 / 10, True, ("ntk",)
    ),
    Activation("gabor", Gabor(), lambda u: jnp.exp(-(u**2)) * jnp.sin(u), parameterizations=("ntk",)),
    Activation("slopes", ABRelu(-0.4, 1.3), lambda u: jnp.where(u > 0, 1.3 * u, -0.4 * u), False, ("ntk",)),
    Activation("power", RectifiedMonomial(2), lambda u: jnp.where(u > 0, u**2, 0.0), False, ("ntk",)),
    Activation("step", RectifiedMonomial(0), lambda u: jnp.where(u > 0, 1.0, 0.0), False, ("ntk",)),
    Activation("sign", Sign(), jnp.sign, False, ("ntk",)),
]
DEPTHS = {"relu": (1, 2), "erf": (1, 2)}


class Case(NamedTuple):
    """A network by its width, and its number of hidden layers.

    `passes` marks random passes, of which each point has its own.
    """

    name: str
    depth: int
    network: Callable[[int], Serial]
    kinked: bool
    passes: bool = False

    @property
    def judged(self) -> str:
        """The activation or the structure, whatever its depth and parameterisation."""
        return self.name.split("-")[0]


def build(activation: Activation, depth: int, parameterization: str) -> Callable[[int], Serial]:
    return lambda width: fully_connected(
        activation.layer, depth, width, weight_std=1.1, bias_std=0.3, parameterization=parameterization
    )


CONNECTED = [
    Case(
        f"{activation.name}-{depth}-{parameterization}",
        depth,
        build(activation, depth, parameterization),
        activation.analytic is False,
    )
    for activation in ACTIVATIONS
    for parameterization in activation.parameterizations
    for depth in DEPTHS.get(activation.name, (1,))
]


def hidden(width: int, parameterization: str = "ntk") -> Dense:
    return Dense(width, 1.1, 0.3, parameterization)


def residual_network(n: int) -> Serial:
    return Serial([hidden(n), residual(Serial([Relu(), hidden(n)])), Relu(), hidden(1)])


def branched_network(n: int) -> Serial:
    # the branches: Gaussian of two depths, then an activation beside two odd maps of Dense layers
    deep = Serial([hidden(n, "standard"), Erf(), hidden(n, "standard")])
    odd = Serial([hidden(n, "standard"), Sin(0.7)])
    both = Parallel([hidden(n, "standard"), deep])
    return Serial([both, Parallel([Gelu(), odd]), hidden(1, "standard")])


def nested_network(n: int) -> Serial:
    # the inner skip passes what the outer branch has drawn, so the outer sum has one branch with a mean
    inner = Serial([hidden(n), residual(Serial([Erf(), hidden(n)]))])
    return Serial([hidden(n), Parallel([Relu(), inner]), hidden(1)])


def normalised_network(n: int) -> Serial:
    return Serial([hidden(n), Erf(), LayerNorm(0.1), hidden(n), LayerNorm(), Gelu(), hidden(1)])


def centred_network(n: int) -> Serial:
    # LayerNorm at the inputs, and after activations whose outputs have a mean that it subtracts
    branch = Serial([LayerNorm(), hidden(n)])
    return Serial([LayerNorm(0.1), hidden(n), Relu(), residual(branch), LayerNorm(0.1), hidden(1)])


def rms_network(n: int) -> Serial:
    return Serial([RMSNorm(0.5), hidden(n), Relu(), RMSNorm(0.01), hidden(n), Erf(), hidden(1)])


def dropout_network(n: int) -> Serial:
    return Serial([hidden(n), Relu(), Dropout(0.6), hidden(n), Erf(), Dropout(0.8), hidden(1)])


def softmax_network(n: int) -> Serial:
    return Serial([hidden(n, "standard"), Softmax(0.4), hidden(n), Softmax(0.5), hidden(1)])


def mixed_network(n: int) -> Serial:
    block = residual(Serial([ABRelu(-0.4, 1.3), hidden(n)]))
    return Serial([hidden(n), block, LayerNorm(0.1), ExpNormalized(0.6, -0.8), hidden(1)])


def updated_network(n: int) -> Serial:
    powers = MAXIMAL_UPDATE
    layers = [Dense(n, 1.1, 0.3, powers.first), Erf(), Dense(n, 1.1, 0.3, powers.hidden), Relu()]
    return Serial([*layers, Dense(1, 1.1, parameterization=powers.readout)])


def gated_network(n: int) -> Serial:
    wide = hidden(n, "standard")
    return Serial([Multiply([wide, Serial([wide, Gelu()])]), hidden(1, "standard")])


def concatenated_network(n: int) -> Serial:
    # the widths of branches weigh their moments, and the means that LayerNorm subtracts
    wide = lambda width: hidden(width, "standard")
    product = Multiply([wide(n), Serial([wide(n), Erf()]), Serial([wide(n), Sin(0.7)])])
    return Serial([Concatenate([product, Serial([wide(n // 4), Gelu()])]), LayerNorm(0.1), wide(1)])


STRUCTURES = [
    Case("residual-2-ntk", 2, residual_network, kinked=True),
    Case("branched-2-standard", 2, branched_network, kinked=False),
    Case("nested-2-ntk", 2, nested_network, kinked=True),
    Case("layernorm-2-ntk", 2, normalised_network, kinked=False),
    Case("centred-2-ntk", 2, centred_network, kinked=True),
    Case("rmsnorm-2-ntk", 2, rms_network, kinked=True),
    Case("softmax-2-ntk", 2, softmax_network, kinked=False),
    Case("gated-1-standard", 1, gated_network, kinked=False),
    Case("concatenated-2-standard", 2, concatenated_network, kinked=False),
    Case("dropout-2-ntk", 2, dropout_network, kinked=False, passes=True),
    Case("mixed-2-ntk", 2, mixed_network, kinked=True),
    Case("maximal-update-2", 2, updated_network, kinked=True),
]
NETWORKS = [*CONNECTED, *STRUCTURES]
# A push differs between parameterisations only in Dense: laws about its forms take one activation in the standard one.
FORMS = [case for case in NETWORKS if case.name.endswith("ntk") or case.name.startswith(("relu", "branched"))]
OTHERS = [
    Dense(1), Serial([]), Identity(), Parallel([Identity()]), Concatenate([Identity()]), Multiply([Identity()]),
    LayerNorm(), RMSNorm(), Dropout(0.5), Softmax(), ExpNormalized(),
]  # fmt: skip
# Their laws are in test_fields.py, test_fields_attention.py and test_graphs.py.
ON_FIELDS = [
    Conv(1, 2), ConvTranspose(1, 2), ImageResize(3, "linear"), Index(0),
    LocallyConnected(1, 2), LocalDense(1), Patches(Window(2)), Flatten(), AveragePool(2), SumPool(2),
    GlobalAveragePool(), GlobalSumPool(), StateSpace(), Embedding(2, 1),
    Attention(1, 1), PositionalEmbedding(), Masked(Identity()), Contract(1.0, ",h->"),
    Aggregate(), OnGraphs(Identity()),
]  # fmt: skip
LAYERS = [*OTHERS, *ON_FIELDS, *(activation.layer for activation in ACTIVATIONS)]
