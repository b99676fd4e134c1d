"""Finite width on sequences and images: the distance of the tangent kernel from its limit is of order width^(-1/2).

This theory is about networks whose inputs are vectors at the positions of a grid, such as sequences and images. Their
tangent kernel consists of averages over m channels at every pair of positions. As m grows, the kernel approaches its
limit at the rate m^(-1/2). The function `push` of each layer computes this limit. The theory assumes the NTK
parameterisation and few positions compared with the width. It does not explain the constant, which grows with the
number of positions that share their weights.
"""

from lemmata.architectures import (
    Attention,
    AveragePool,
    Conv,
    Dense,
    Erf,
    Flatten,
    GlobalAveragePool,
    LocallyConnected,
    Relu,
    Serial,
    Softmax,
    StateSpace,
)
from lemmata.engine.claims import Integer, Rate
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.rows import Rows, finite
from lemmata.engine.problems.variables import rows

from .layers_at_finite_width import AbstractTangentWidth

ABOUT = {
    "tool": "concentration",
    "architecture": "convolution",
    "object": "kernel",
    "AttentionWidth": {"architecture": "attention"},
    "SoftmaxUnitsWidth": {"architecture": "dense network"},
    "StateSpaceWidth": {"architecture": "state-space model"},
}

_SEQUENCES = Drawn(
    Rows,
    finite,
    n=rows(3, 2, 8, corners=(2, 4)),
    length=Integer(4, 2, 8, "positions", corners=(3, 5)),
    d=Integer(2, 1, 8, "channels of inputs"),
    x=normal("n", "length", "d"),
)
# The mean square error is C/m (1 + c/m), as for vectors. From m = 16 to 256, the slope changes by log(1 + c/16)/(2 log
# 16), below 0.05 for c up to 5.
_RATE = Rate(along="m", rungs=(16.0, 64.0, 256.0), margin=0.05, resolution=0.12, replicates=2)


class ConvolutionWidth(AbstractTangentWidth):
    """Consider a convolutional network with two convolutions of m channels. Between the convolutions, the network
    averages over neighbouring positions. After the second convolution, it averages over all positions. Compare the
    tangent kernel at a random draw of the weights with its limit for m -> infinity. The root mean square difference
    over pairs of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of convolutions and pools with m channels approaches its limit like m^(-1/2)"
    population = _SEQUENCES
    relation = _RATE
    trials = 96

    def network(self, width: int) -> Serial:
        conv = Conv(width, 2, 1.1, 0.3)
        return Serial([conv, Relu(), AveragePool(2, 1), conv, Erf(), GlobalAveragePool(), Dense(1, 1.1, 0.3)])


class StateSpaceWidth(AbstractTangentWidth):
    """Consider a network with a diagonal state-space layer on m channels, followed by a dense layer that mixes the
    channels. Compare the tangent kernel at a random draw of the weights with its limit for m -> infinity. The root mean
    square difference over pairs of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of linear state-space layers of width m approaches its limit like m^(-1/2)"
    population = _SEQUENCES
    relation = _RATE
    trials = 96

    def network(self, width: int) -> Serial:
        first, mixed = Dense(width, 1.1, 0.3), Dense(width, 1.1, 0.3)
        return Serial([first, Erf(), StateSpace(2, 0.2), mixed, Relu(), GlobalAveragePool(), Dense(1, 1.1, 0.3)])


class SoftmaxUnitsWidth(AbstractTangentWidth):
    """Consider a network that applies a convolution with m channels and then, at every position, the softmax over the
    channels, multiplied by m. Compare the tangent kernel at a random draw of the weights with its limit for m ->
    infinity. The root mean square difference over pairs of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of a softmax over a hidden layer of width m approaches its limit like m^(-1/2)"
    population = _SEQUENCES
    relation = _RATE
    trials = 192

    def network(self, width: int) -> Serial:
        conv = Conv(width, 2, 0.8, 0.3)
        return Serial([conv, Softmax(0.7), Dense(width, 0.8, 0.3), Erf(), GlobalAveragePool(), Dense(1, 1.1, 0.3)])


class AttentionWidth(AbstractTangentWidth):
    """Consider a network with softmax attention of m heads on m channels, where queries and keys use the same matrix.
    The inner products of queries and keys are divided by the dimension m of the keys. Compare the tangent kernel at a
    random draw of the weights with its limit for m -> infinity. The root mean square difference over pairs of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of softmax attention with m heads approaches its limit like m^(-1/2)"
    population = _SEQUENCES
    # A head has m³ weights, so the sizes begin small. A constant c up to 4 changes the slope by log(1 + c/8)/(2 log 9),
    # which is below 0.1.
    relation = Rate(along="m", rungs=(8.0, 24.0, 72.0), margin=0.1, resolution=0.15)

    def network(self, width: int) -> Serial:
        conv, attention = Conv(width, 2, 1.1, 0.3), Attention(width, width, scaling="1/d", bias_std=0.3)
        return Serial([conv, Erf(), attention, Erf(), GlobalAveragePool(), Dense(1, 1.1, 0.3)])


class LocalWidth(AbstractTangentWidth):
    """Consider a network with a locally connected layer of m channels, whose weights are not shared between positions,
    followed by a convolution. Compare the tangent kernel at a random draw of the weights with its limit for m ->
    infinity. The root mean square difference over pairs of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of locally connected layers of width m approaches its limit like m^(-1/2)"
    population = _SEQUENCES
    relation = _RATE
    trials = 96

    def network(self, width: int) -> Serial:
        local, conv = LocallyConnected(width, 2, 1.1, 0.3), Conv(width, 2, 1.1, 0.3, padding="CIRCULAR")
        return Serial([local, Relu(), conv, Erf(), Flatten(), Dense(1, 1.1, 0.3)])
