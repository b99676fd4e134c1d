"""Measure a mixer family's errors on all splits and sizes, with setting and ridge chosen by leave-one-out."""

import dataclasses
import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from ._head import fits, head_kernel, standardised
from ._mixers import BY_NAME, mixed, mixer
from ._sequences import Sequences
from ._splits import Splits


@runtime_checkable
class Candidate(Protocol):
    """A family of kernels with one setting.

    The values of the setting are in `values`. The method `kernel` takes the index of one of these values.
    """

    setting: str
    values: tuple[float, ...]

    def kernel(self, setting: int, training: Int[np.ndarray, " n"]) -> Float[np.ndarray, "N n"]:
        """The kernel between all rows and the training rows, for the value of the setting at this index."""
        ...


class FixedMixer:
    """A mixer without learned parameters, followed by the head that all families share.

    Args:
        family: the name of the family.
        data: the sequences.
        mean: whether recurrence and attention are averaged over all positions instead of read at the last position.
        seed: the seed of the random features.
    """

    def __init__(self, family: str, data: Sequences, mean: bool, seed: int):
        self.setting, self.values = BY_NAME[family].setting, BY_NAME[family].values
        self._flat = family == "mlp"
        settings = self.values[:1] if self._flat else self.values
        self._vectors = [
            mixed(mixer(family, value, data.length, data.channels, mean=mean, seed=seed), data.x, data.mask)
            for value in settings
        ]

    def vectors(self, setting: int) -> Float[np.ndarray, "N q"]:
        """Return the mixer's vector of each row. The vectors of the flattened family do not depend on the setting."""
        return self._vectors[0 if self._flat else setting]

    def kernel(self, setting: int, training: Int[np.ndarray, " n"]) -> Float[np.ndarray, "N n"]:
        """The kernel for one value of the setting, given by its index.

        The vectors of the mixer are standardised by their means and standard deviations over the training rows.
        """
        z = standardised(self.vectors(setting), training)
        return head_kernel(z, z[training], self.values[setting] if self._flat else 1.0)


@dataclasses.dataclass(frozen=True)
class Choice:
    """The indices of the setting and the ridge with the smallest leave-one-out error on training rows of a split.

    Args:
        left_out: the leave-one-out error at this setting and ridge.
        uncertainty: the standard error of `left_out` over the rows, divided by `left_out`.
    """

    setting: int
    ridge: int
    left_out: float = math.nan
    uncertainty: float = math.nan


@dataclasses.dataclass(frozen=True)
class Measured:
    """The measured errors of a family on all splits.

    Args:
        losses: the squared error of each held-out row after a fit to all training rows, one line per split.
        wrong: for classes, whether each held-out row is predicted wrongly, in the order of `losses`; otherwise None.
        permuted: the losses with shuffled targets.
        errors: the mean squared error on held-out rows at each size, one line per split.
        chosen: the chosen settings and ridges, by size and split.
    """

    losses: Float[np.ndarray, "r m"]
    wrong: Bool[np.ndarray, "r m"] | None
    permuted: Float[np.ndarray, "r m"]
    errors: Float[np.ndarray, "r s"]
    chosen: tuple[tuple[Choice, ...], ...]


def measure(
    candidate: Candidate,
    data: Sequences,
    of: Splits,
    told: Callable[[float], None] = lambda share: None,
) -> Measured:
    """Fit the family at every size of every split. With all training rows, also fit shuffled targets."""
    repeats, sizes, y = len(of.orders), of.sizes, data.y
    losses, permuted = np.empty(of.tests.shape), np.empty(of.tests.shape)
    wrong = np.zeros(of.tests.shape, bool) if data.classes else None
    errors, chosen = np.empty((repeats, len(sizes))), [[Choice(0, 0)] * repeats for _ in sizes]
    for r in range(repeats):
        test, shuffled = of.tests[r], y[of.permuted[r]]
        for s, n in enumerate(sizes):
            training, whole = of.orders[r][:n], s == len(sizes) - 1
            targets, found = [y[training]] + [shuffled[training]] * whole, []
            for setting in range(len(candidate.values)):
                kernel = candidate.kernel(setting, training)
                found.append(fits(kernel[training], kernel[test], targets))
            best = int(np.argmin([own[0].left_out for own in found]))
            fit, own = found[best][0], ((y[test] - found[best][0].outputs) ** 2).sum(axis=1)
            choice = Choice(best, fit.ridge, fit.left_out, fit.uncertainty)
            chosen[s][r], errors[r, s] = choice, own.mean()
            if whole:
                losses[r] = own
                mixed_up = min((own[1] for own in found), key=lambda fit: fit.left_out)
                permuted[r] = ((shuffled[test] - mixed_up.outputs) ** 2).sum(axis=1)
            if whole and wrong is not None:
                wrong[r] = (fit.outputs + data.shares).argmax(axis=1) != (y[test] + data.shares).argmax(axis=1)
            told((r * len(sizes) + s + 1) / (repeats * len(sizes)))
    return Measured(losses, wrong, permuted, errors, tuple(tuple(own) for own in chosen))


def guessing(
    y: Float[np.ndarray, "N k"], of: Splits, shuffled: bool = False, size: int | None = None
) -> Float[np.ndarray, "r m"]:
    """Return the squared error of each held-out row if the mean of the training rows is predicted."""
    found = []
    for order, test, permuted in zip(of.orders, of.tests, of.permuted, strict=True):
        values = y[permuted] if shuffled else y
        found.append(((values[test] - values[order[:size]].mean(axis=0)) ** 2).sum(axis=1))
    return np.stack(found)
