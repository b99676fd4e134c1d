"""The separable law E + A n^-alpha + B d^-beta in logarithms, with its derivatives and constants."""

import dataclasses

import numpy as np
from jaxtyping import Float

_WIDEST = 60.0  # parameters are logarithms; beyond this a term has vanished from every loss
_NOUGHT = 1e-7  # a floor that is a smaller share of every loss counts as 0
_STEEPEST = 3.0  # log of the largest exponent that is considered, 20


@dataclasses.dataclass(frozen=True)
class Design:
    """The measured sizes, with a centre.

    A term's amplitude is its value at the centre, where the data determine the amplitude best.

    Args:
        sizes: log n, and log d if d was varied; one row for each run.
        floor: whether the law has the constant term E.
        centre: the point at which amplitudes are the values of the terms, usually the mean logarithm of each size.
        unit: the logarithm of the unit of losses in which parameters are expressed, usually the median log loss.
    """

    sizes: Float[np.ndarray, "m terms"]
    floor: bool
    centre: Float[np.ndarray, "terms"]
    unit: float = 0.0

    @classmethod
    def of(cls, sizes: Float[np.ndarray, "m terms"], floor: bool, log_loss: Float[np.ndarray, "m"]) -> "Design":
        """Make a design that is centred at the mean of the sizes, with the median loss as the unit."""
        return cls(sizes, floor, sizes.mean(axis=0), float(np.median(log_loss)))

    @property
    def terms(self) -> int:
        """The number of power-law terms."""
        return self.sizes.shape[1]

    @property
    def parameters(self) -> int:
        """The number of parameters: the floor, and an amplitude and an exponent for each term."""
        return int(self.floor) + 2 * self.terms

    def log_loss(
        self, theta: Float[np.ndarray, "p"], sizes: Float[np.ndarray, "k terms"]
    ) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k p"]]:
        """Return the logarithm of the law, and its derivatives with respect to the parameters.

        Args:
            theta: log E if there is a floor, then for each term the logarithms of its value at the centre and of its
                exponent. E and the values are in multiples of the unit.
            sizes: log n and log d at which the law is evaluated.
        """
        away = sizes - self.centre
        first = int(self.floor)
        amplitude = np.clip(theta[first::2], -_WIDEST, _WIDEST)
        exponent = np.exp(np.clip(theta[first + 1 :: 2], -4 * _STEEPEST, _STEEPEST))
        parts = amplitude - exponent * away
        if self.floor:
            parts = np.column_stack([np.full(len(parts), np.clip(theta[0], -_WIDEST, _WIDEST)), parts])
        top = parts.max(axis=1, keepdims=True)
        shares = np.exp(parts - top)
        total = shares.sum(axis=1, keepdims=True)
        shares = shares / total
        slopes = np.empty((len(parts), self.parameters))
        if self.floor:
            slopes[:, 0] = shares[:, 0]
        slopes[:, first::2] = shares[:, first:]
        slopes[:, first + 1 :: 2] = -shares[:, first:] * exponent * away
        return (top + np.log(total))[:, 0] + self.unit, slopes

    def constants(self, theta: Float[np.ndarray, "p"]) -> dict[str, float]:
        """Return E, A and alpha, and B and beta if the law has d, in the units of the data."""
        shares = self.log_loss(theta, self.sizes)[1]
        seen = self.floor and shares[:, 0].max() > _NOUGHT
        found = {"floor": float(np.exp(theta[0] + self.unit)) if seen else 0.0}
        for j, (amplitude, exponent) in enumerate((("A", "alpha"), ("B", "beta"))[: self.terms]):
            at = int(self.floor) + 2 * j
            found[exponent] = float(np.exp(theta[at + 1]))
            found[amplitude] = float(np.exp(theta[at] + self.unit + found[exponent] * self.centre[j]))
        return found
