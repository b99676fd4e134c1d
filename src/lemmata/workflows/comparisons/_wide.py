"""The exact tangent kernels of infinitely wide networks, one network for each family."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from lemmata.architectures import TangentKernel
from lemmata.kernels import gram

from ._networks import POLES, SETTINGS, network, points
from ._sequences import Sequences

OPERATIONS = 1.5e9
"""The most work that is allowed for a kernel. This much work takes 20 to 40 s.

The work is the product of three numbers: the pairs of rows, the pairs of positions, and the poles of a recurrence.
"""
FEWEST = 100


class WideNetwork:
    """The tangent kernels of a family at the three values of its setting.

    Args:
        family: the name of the family.
        data: the sequences.
        mean: whether recurrence and attention are averaged over all positions instead of read at the last position.
    """

    def __init__(self, family: str, data: Sequences, mean: bool):
        self.setting, self.values = SETTINGS[family]
        x = jnp.asarray(points(data))
        self._matrices = []
        for value in self.values:
            matrix = np.asarray(gram(TangentKernel(network(family, value, data, mean=mean)), x))
            self._matrices.append(matrix / np.trace(matrix) * len(matrix))

    def kernel(self, setting: int, training: Int[np.ndarray, " n"]) -> Float[np.ndarray, "N n"]:
        """The kernel between all rows and the training rows, for the value of the setting with this index."""
        return self._matrices[setting][:, training]


def affordable(data: Sequences, names: list[str], seed: int) -> Sequences:
    """Return random rows, as many as the slowest kernel can process in some tens of seconds, but at least 100."""
    each = data.length**2 * (POLES if "recurrent" in names else 1)
    rows = max(FEWEST, int((OPERATIONS / each) ** 0.5))
    if rows >= len(data.x):
        return data
    kept = np.sort(np.random.default_rng([seed, 5]).permutation(len(data.x))[:rows])
    note = (
        f"used {rows} of {len(data.x)} rows, because the kernel of a wide network needs {data.length}² pairs of "
        "positions for each pair of rows"
    )
    parts = {"x": data.x[kept], "mask": data.mask[kept], "y": data.y[kept] - data.y[kept].mean(axis=0)}
    shares = data.shares + data.y[kept].mean(axis=0) if data.classes else data.shares
    return dataclasses.replace(data, **parts, shares=shares, notes=(*data.notes, note))
