"""Build one network for each family of sequence mixers, to compute its kernel at infinite width or to train it."""

import numpy as np
from jaxtyping import Float

from lemmata.architectures import (
    AbstractLayer,
    Attention,
    Conv,
    Dense,
    Flatten,
    GlobalAveragePool,
    Index,
    Masked,
    Relu,
    Serial,
    StateSpace,
)

from ._mixers import BY_NAME, WINDOW
from ._sequences import Sequences

WEIGHT, BIAS = 2**0.5, 0.1
POLES = 8
DEPTHS = (1.0, 2.0, 3.0)
SETTINGS = {
    "mlp": ("hidden layers", DEPTHS), "conv": ("convolutions", DEPTHS),
    "recurrent": (BY_NAME["recurrent"].setting, BY_NAME["recurrent"].values),
    "attention": (BY_NAME["attention"].setting, BY_NAME["attention"].values),
}  # fmt: skip


def network(
    family: str, setting: float, data: Sequences, *, mean: bool, width: int = 64, wide: bool = True, outputs: int = 1
) -> AbstractLayer:
    """Build a network of the family, with ReLU layers.

    mlp: hidden layers on all tokens side by side. conv: convolutions with windows of 3 tokens, then a mean over
    positions. recurrent: a dense layer, a diagonal state-space layer, and a hidden layer on the output at the last
    position. attention: causal softmax attention, and a hidden layer on the output at the last position. With `mean`,
    recurrent and attention average over positions instead.

    Args:
        family: the name of the family.
        setting: one of the family's values in `SETTINGS`.
        data: the sequences, which determine the length and whether there is a mask.
        mean: whether recurrence and attention are read as means over positions.
        width: the width of the layers, for a network of finite width.
        wide: whether the network is meant for the limit of infinite width. If so, attention divides its logits by the
            width, so that the limit is exact, and the poles of the recurrence (its decay factors) are fixed. Otherwise,
            as in usual networks, logits are divided by the root of the width and poles are trained.
        outputs: the number of outputs of the last layer.
    """
    hidden = [Dense(width, WEIGHT, BIAS), Relu()]
    read = GlobalAveragePool() if mean else Index(data.length - 1)
    if family == "mlp":
        layers = [Flatten(), *int(setting) * hidden]
    elif family == "conv":
        # Use fewer convolutions if the positions that an output depends on would exceed the row.
        reach = max(1, min(int(setting), (data.length - 1) // (WINDOW - 1)))
        layers = [*reach * [Conv(width, WINDOW, WEIGHT, BIAS, padding="SAME"), Relu()], GlobalAveragePool()]
    elif family == "recurrent":
        layers = [Dense(width), StateSpace(POLES, setting / data.length, train_poles=not wide), read, *hidden]
    else:
        mixing = Attention(
            width, 4, "softmax", scaling="1/d" if wide else "1/sqrt(d)", query_std=setting if wide else 1.0, causal=True
        )
        layers = [mixing, read, *hidden]
    whole = Serial([*layers, Dense(outputs)])
    return whole if data.mask.all() else Masked(whole)


def points(data: Sequences) -> Float[np.ndarray, "n T e"]:
    """Return the rows as inputs of a network. If some tokens are absent, the mask is added as the last channel."""
    if data.mask.all():
        return data.x
    return np.concatenate([data.x, data.mask[:, :, None].astype(float)], axis=2)
