"""Progress of a network on modular addition: the power of the embedding at each frequency, and the frequencies that the
outputs use.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, whole
from lemmata.core import numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._pictures import power_chart

_CLAIMS = ("grokking.fourier.any_frequencies_add", "grokking.fourier.quadratic_units_add")
_DRAWS, _QUANTILE = 400, 0.95


@dataclasses.dataclass(frozen=True, eq=False)
class FourierProgress:
    """Powers of an embedding of the residues modulo p, and the parts of the outputs.

    Args:
        p: the modulus, which is the number of residues.
        power: the share of each frequency 1, 2, ..., p // 2 in the power. The frequencies k and p - k count together,
            and the mean is left out.
        gini: the Gini coefficient of the power. The coefficient is 0 if all frequencies have equal power, and near 1 if
            one frequency has all the power.
        top: the frequencies of largest power, the largest first.
        share: the share of these frequencies in the power.
        random_share: in 95 % of normal embeddings of this shape, the share of the top frequencies is below this number.
        restricted: the part of the outputs that consists of waves of a + b at the top frequencies, (p, p, p), or None
            without logits.
        excluded: the other part of the outputs. The two parts add up to the outputs minus their mean over the classes.
        restricted_share: the share of the restricted part in the sum of squares.
        restricted_accuracy: the accuracy of the restricted part alone. This part depends on a + b alone, so it has p
            different rows. Ties count as wrong.
        excluded_accuracy: the accuracy of the excluded part.
        accuracy: the accuracy of the outputs.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    p: int
    power: Float[np.ndarray, " k"]
    gini: float
    top: tuple[int, ...]
    share: float
    random_share: float
    restricted: Float[np.ndarray, "p p p"] | None = dataclasses.field(repr=False)
    excluded: Float[np.ndarray, "p p p"] | None = dataclasses.field(repr=False)
    restricted_share: float | None
    restricted_accuracy: float | None
    excluded_accuracy: float | None
    accuracy: float | None
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        names = ", ".join(map(str, self.top))
        said = f"have {self.share:.1%} of the power (95 % of random embeddings: below {self.random_share:.1%})"
        if len(self.top) == len(self.power):
            said = "are all frequencies there are: pass a smaller top"
        lines = [f"frequencies {names} of {len(self.power)} {said}", f"Gini coefficient {self.gini:.3f}"]
        if self.restricted is not None:
            lines += [
                f"their waves of a + b have {self.restricted_share:.1%} of the squared outputs",
                (
                    f"accuracy: {self.accuracy:.1%}; of only these waves {self.restricted_accuracy:.1%}, "
                    f"without them {self.excluded_accuracy:.1%}; chance {1 / self.p:.1%}"
                ),
            ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the share of each frequency as an Altair chart."""
        return power_chart(self.power, self.top)


def fourier_progress(embedding: Any, logits: Any = None, *, top: Any = None) -> FourierProgress:
    """Measure to what extent a network for addition modulo p computes with waves.

    The embedding is expanded in the waves e^(2 pi i k x/p) of the residue x, column by column. Any few frequencies are
    enough to add modulo a prime. The outputs of the network on all pairs are divided into two orthogonal parts. The
    first part consists of the waves cos(2 pi k (a + b)/p) and sin(2 pi k (a + b)/p) of the top frequencies k. The
    second part is the rest.

    Args:
        embedding: one row for each residue 0, ..., p-1, for example the first weights of the network, (p, d).
        logits: the outputs for all pairs. The shape is (p, p, p) with the axes a, b and class, or (p², p) with the pair
            (a, b) in row p a + b.
        top: the number of top frequencies. None means 5, or all frequencies if there are fewer than 5.

    Raises:
        ShapeError, DataError, SettingError: if the input cannot be used.

    Example:
        >>> import numpy as np
        >>> angle = 2 * np.pi * 3 * np.arange(11) / 11
        >>> print(fourier_progress(np.stack([np.cos(angle), np.sin(angle)], axis=1), top=1))
        frequencies 3 of 5 have 100.0% of the power (95 % of random embeddings: below 54.8%)
        Gini coefficient 0.800
    """
    table = numbers_of("embedding", embedding).astype(float)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or 0 in table.shape:
        raise ShapeError("embedding", found=f"shape {table.shape}", rule="(p, d), one row for each residue modulo p")
    p, d = table.shape
    if p < 3:
        raise ShapeError("embedding", found=f"{p} rows", rule="at least 3 residues")
    modes = p // 2
    top = min(5, modes) if top is None else whole("top", top, 1)
    if top > modes:
        raise SettingError("top", found=f"{top}", rule=f"at most {modes} frequencies for {p} residues")
    table, _ = _centred("embedding", table, 0, "rows that differ, because equal rows contain no waves")
    power = np.sum(np.abs(np.fft.fft(table, axis=0)) ** 2, axis=1)[1 : modes + 1]
    single = np.where(2 * np.arange(1, modes + 1) == p, 1.0, 2.0)
    power = power * single
    power = power / power.sum()
    order = np.argsort(-np.round(power, 12), kind="stable")[:top]  # of equal powers, the lowest frequency comes first
    random = np.random.default_rng(0).gamma(d * single / 2, size=(_DRAWS, modes))
    shares = np.sort(random / random.sum(axis=1, keepdims=True), axis=1)[:, -top:].sum(axis=1)
    ranks = 2 * np.arange(1, modes + 1) - modes - 1
    prime = all(p % factor for factor in range(2, int(p**0.5) + 1))
    share, usual = float(power[order].sum()), float(np.quantile(shares, _QUANTILE))
    conditions = (
        Condition("the modulus is a prime", float(p), prime, "otherwise a wave has the same value at several residues"),
        Condition("row x of the embedding belongs to the residue x"),
        Condition("these frequencies have more power than in random embeddings", share,
                  None if top == modes else share > usual, "otherwise the embedding shows no waves"),
    )  # fmt: skip
    restricted, excluded, part, own, without, every = _parts(logits, p, order + 1)
    return FourierProgress(
        p, power, float(ranks @ np.sort(power)) / modes, tuple((order + 1).tolist()), share, usual,
        restricted, excluded, part, own, without, every, conditions,
    )  # fmt: skip


def _centred(name: str, values: np.ndarray, axis: int, rule: str) -> tuple[np.ndarray, float]:
    """Subtract the mean along an axis and divide by the largest absolute value. Squares then neither overflow nor
    underflow.
    """
    largest = np.abs(values).max()
    if largest == 0:
        raise DataError(name, found="only zeros", rule=rule)
    values = values / largest
    values = values - values.mean(axis=axis, keepdims=True)
    size = np.abs(values).max()
    if size <= 64 * np.finfo(float).eps:
        raise DataError(name, found="no difference beyond rounding", rule=rule)
    return values / size, float(largest * size)


def _parts(logits: Any, p: int, chosen: np.ndarray) -> tuple[Any, ...]:
    """Return the restricted and the excluded outputs, the share of the restricted outputs, and the three
    accuracies.
    """
    if logits is None:
        return None, None, None, None, None, None
    given = numbers_of("logits", logits).astype(float)
    if given.shape not in ((p, p, p), (p * p, p)):
        raise ShapeError("logits", found=f"shape {given.shape}", rule=f"({p}, {p}, {p}) or ({p * p}, {p})")
    values, largest = _centred("logits", given.reshape(p, p, p), 2, "outputs that differ between the classes")
    total = np.sum(values**2)
    residues = np.arange(p)
    by_sum = values[residues[:, None], (residues - residues[:, None]) % p].mean(axis=0)  # mean for each a + b
    waves = np.fft.fft(by_sum, axis=0)
    waves[~np.isin(np.minimum(residues, p - residues), chosen)] = 0
    place = (residues[:, None] + residues) % p
    restricted = np.fft.ifft(waves, axis=0).real[place]
    excluded = values - restricted
    right = place[:, :, None] == residues

    def accuracy(outputs: np.ndarray) -> float:
        own, best = np.where(right, outputs, -np.inf).max(axis=2), np.where(right, -np.inf, outputs).max(axis=2)
        return float(np.mean(own > best + 1e-12))

    share = float(np.sum(restricted**2) / total)
    accuracies = accuracy(restricted), accuracy(excluded), accuracy(values)
    return restricted * largest, excluded * largest, share, *accuracies
