"""Check whether a smooth loss explains a jump of accuracies with scale, and predict where other benchmarks would show
the jump.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, inside, positive
from lemmata.core import numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._smooth_law import accuracy_of, error_of_slope, fits_with_top, steepest_with_floor

_CLAIMS = ("emergence.metrics.exact_match_width", "emergence.metrics.resolution_of_benchmark")
_DRAWS, _FEWEST = 300, 4
_GAIN = 3.84  # gain in deviance (one degree of freedom) from which a floor is significant at the level 0.05
# Intervals between quantiles of drawn tables are too narrow: at level 0.9, 0.87 to 0.89 of the intervals contained the
# simulated law. If the omitted tails are multiplied by this factor, 0.90 to 0.91 of the intervals contain the law.
_NARROWER = 0.7
_STEEPEST = 1.0  # measured exponents of losses in parameters, data or compute are 0.05 to 0.5
_TENFOLD = math.log(math.log(10) / math.log(10 / 9))


@dataclasses.dataclass(frozen=True, eq=False)
class EmergenceReport:
    """A smooth law that is fitted to accuracies by scale: accuracy = chance + (top - chance) exp(-L c N^-alpha). Here c
    N^-alpha is the loss of a token above its floor.

    Args:
        scale: the sizes N of the models, ascending.
        accuracy: the accuracy at each size.
        items: number of items at each size.
        alpha: the exponent with which the loss of a token falls.
        alpha_interval: the interval of `alpha`, of level `level`.
        half: the scale at which half of the rise from `chance` to `top` is reached.
        half_interval: the interval of `half`, of level `level`.
        onset: the scale from which a benchmark with the largest given number of items is expected to show more than
            chance: one solved item if `chance` is 0, or else an accuracy beyond the one-sided 5 % level of guessing.
        width: the factor by which the scale grows between 10 % and 90 % of the rise.
        p_value: the probability that accuracies from the smooth law would favour a law with one jump at least as
            strongly as these accuracies do.
        jump_after: the size after which the jump fits best.
        jump: the factor by which the loss of a token falls after this size, in the best fit with a jump.
        misfit: the p-value of the smooth law, tested against arbitrary accuracies.
        misfit_with_jump: the p-value of the law with the best jump, also tested against arbitrary accuracies.
        length: L, the number of tokens of an answer.
        chance: accuracy of guessing.
        top: the fitted accuracy of an infinite model. This accuracy is 1 unless the loss of a token stays above a
            positive floor.
        level: the confidence level of the intervals.
        steepest: if no floor was fitted, the largest exponent of the laws with a floor that are compatible with the
            accuracies. The intervals need not contain this exponent. If a floor was fitted, `steepest` equals `alpha`.
        conditions: the conditions for the results, and whether they hold.
        claims: names of the claims that state the results.
    """

    scale: Float[np.ndarray, " sizes"]
    accuracy: Float[np.ndarray, " sizes"]
    items: Float[np.ndarray, " sizes"]
    alpha: float
    alpha_interval: tuple[float, float]
    half: float
    half_interval: tuple[float, float]
    onset: float
    width: float
    p_value: float
    jump_after: float
    jump: float
    misfit: float
    misfit_with_jump: float
    length: float
    chance: float
    top: float
    level: float
    steepest: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS
    _draws: Float[np.ndarray, "draws 2"] = dataclasses.field(repr=False, default_factory=lambda: np.empty((0, 2)))

    @property
    def sharper(self) -> bool:
        """Whether the jump is significantly sharper than under a smooth loss, at the level 0.05.

        The value is False if the law with a jump does not fit either: the accuracies then vary more than binomial
        counts.
        """
        return self.p_value < 0.05 <= self.misfit_with_jump

    def half_at(self, length: float | int) -> tuple[float, tuple[float, float]]:
        """Return the scale at which half of the rise is reached for answers of `length` tokens, and its interval.

        This scale is `half`, the scale for answers of L tokens, times (length/L)^(1/alpha).
        """
        factor = math.log(positive("length", length) / self.length)
        logs = self._draws[:, 0] + factor / self._draws[:, 1]
        with np.errstate(divide="ignore"):
            half = np.log(self.half) + factor / self.alpha
        return float(_exp(half)), _ends(_exp(logs), self.level)

    def predicted(self, scale: Any) -> Float[np.ndarray, " points"]:
        """Return the accuracy that the smooth law predicts at given scales. The scales must be positive."""
        asked = numbers_of("scale", scale).astype(float)
        if not (asked > 0).all():
            raise DataError("scale", found=f"{asked.min():g}", rule="positive numbers")
        eta = math.log(math.log(2)) - self.alpha * (np.log(asked) - math.log(self.half))
        return accuracy_of(eta, self.chance, self.top)

    def __str__(self) -> str:
        ends, slopes = (f"{a:.3g} to {b:.3g}" for a, b in (self.half_interval, self.alpha_interval))
        percent = f"{100 * self.level:g} %"
        lines = [
            f"half of the rise to {self.top:.3g} is reached at scale {self.half:.3g}, {percent} interval {ends}",
            f"the loss of a token above its floor falls like scale^-{self.alpha:.3g}, {percent} interval {slopes}",
            f"so the rise from 10 % to 90 % takes a factor {self.width:.3g} in scale",
            f"{self.items.max():.0f} items show more than chance from scale {self.onset:.3g} on",
        ]
        if self.steepest > self.alpha_interval[1]:
            lines.append(
                "this assumes that the loss can fall to 0: with a floor, the exponent could be "
                f"{self.steepest:.3g},\nand half of the lower rise would be reached earlier"
            )
        if self.sharper:
            lines.append(
                f"the jump after {self.jump_after:.3g} is sharper than a smooth loss makes it (p "
                f"{self.p_value:.2g})\nthe loss of a token falls by a factor {self.jump:.3g} there"
            )
        elif self.p_value < 0.05:
            lines.append(
                f"neither a smooth loss of a token (p {self.misfit:.2g}) nor one with a jump (p "
                f"{self.misfit_with_jump:.2g}) explains the accuracies:\nthe accuracies scatter more than counts of "
                "independent items do"
            )
        else:
            lines.append(f"a smooth loss of a token explains the jump (p = {self.p_value:.2g})")
        if self.alpha_interval[0] > _STEEPEST:
            lines.append(
                "but no known loss of language models falls that fast: check whether the losses of tokens jump"
            )
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the accuracies with the smooth law, and the loss of a token, as an Altair chart. The loss is a straight
        line if the law holds.
        """
        import altair as alt

        grid = np.geomspace(self.scale[0] / 1.5, self.scale[-1] * 1.5, 120)
        x = alt.X("scale:Q", scale=alt.Scale(type="log"), title="scale")
        both = []
        for title, shown in (("accuracy", lambda a: a), ("loss of a token", self._token_loss)):
            points = [
                {"scale": float(n), "value": float(v)}
                for n, v in zip(self.scale, shown(self.accuracy), strict=True)
                if math.isfinite(v)
            ]
            law = [
                {"scale": float(n), "value": float(v)} for n, v in zip(grid, shown(self.predicted(grid)), strict=True)
            ]
            kind = "linear" if title == "accuracy" else "log"
            y = alt.Y("value:Q", title=title, scale=alt.Scale(type=kind))
            line = alt.Chart(alt.Data(values=law)).mark_line().encode(x, y)
            both.append(
                (line + alt.Chart(alt.Data(values=points)).mark_point(filled=True).encode(x, y)).properties(width=260)
            )
        return alt.hconcat(*both)

    def _token_loss(self, accuracy: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        above = (np.asarray(accuracy) - self.chance) / (1 - self.chance)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = -np.log(above) / self.length
        return np.where((above > 0) & (loss > 0), loss, np.nan)


def emergence_report(
    scale: Any,
    accuracy: Any,
    items: Any,
    *,
    length: float | int = 1,
    chance: float | int = 0,
    level: float | int = 0.9,
) -> EmergenceReport:
    """Fit a smooth law to accuracies by scale, and test whether the jump is sharper than the law predicts.

    Let the loss of a token be c N^-alpha above a floor, and let an answer count only if all L tokens are right. The
    accuracy is then chance + (top - chance) exp(-L c N^-alpha). As a function of log N, this accuracy has a jump of
    width 3.08/alpha for every L.

    The fit is by maximum likelihood for binomial counts. The test compares the smooth law with a law in which the loss
    of a token also jumps down after one of the sizes. The p-value of the test and the intervals come from 300 tables
    that are drawn from the fit.

    Args:
        scale: a positive number for each model: parameters, tokens or compute.
        accuracy: the share of solved items, in [0, 1].
        items: number of items of the benchmark: one number, or one for each model.
        length: number of tokens L of an answer.
        chance: accuracy of guessing, below 1.
        level: the confidence level of the intervals.

    Raises:
        SettingError: if the length, chance or level is outside its range.
        DataError, ShapeError: for columns that do not fit each other, accuracies outside [0, 1], fewer than four
            different sizes, or accuracies that do not rise above chance or do not determine the exponent.

    Example:
        >>> import numpy as np
        >>> scale = 10.0 ** np.arange(7, 13)
        >>> found = emergence_report(scale, [0.0, 0.0, 0.02, 0.22, 0.53, 0.78], 500, length=10)
        >>> found.sharper, round(found.alpha, 2)
        (False, 0.4)
    """
    level, length = inside("level", level, 0.0, 1.0), positive("length", length)
    guess = numbers_of("chance", chance).astype(float)
    if guess.shape or not 0 <= guess < 1:
        raise SettingError("chance", found=repr(chance)[:40], rule="one number, at least 0 and below 1")
    guess = float(guess)
    n, share, asked = _columns(scale, accuracy, items)
    successes = share * asked
    _rises(n, successes, asked, guess)
    centre, unit = float(np.mean(np.log(n))), float(np.std(np.log(n)))
    design = np.stack([np.ones(len(n)), (centre - np.log(n)) / unit], axis=-1)  # scaled so that steps are near 1
    fitted, _, tops = fits_with_top(design, successes[None], asked, guess, _GAIN)
    theta, top = fitted[0], float(tops[0])
    if theta[1] <= 0:
        raise DataError(
            "accuracy", found="values that do not rise with the scale", rule="accuracies that rise with the scale"
        )
    _fixes(float(theta[1]), error_of_slope(design, theta, asked, guess, top), share, n)
    drawn = (
        np.random.default_rng(0)
        .binomial(asked.astype(int), accuracy_of(design @ theta, guess, top), size=(_DRAWS, len(n)))
        .astype(float)
    )
    again, _, _ = fits_with_top(design, drawn, asked, guess, _GAIN)
    rising = again[:, 1] > 0
    again[:, 1] = np.maximum(again[:, 1], 1e-12)  # a table that does not rise never reaches a half
    tables = np.concatenate([successes[None], drawn])
    losses = fits_with_top(design, tables, asked, guess)[1]
    gains, places, steps = _jumps(design, tables, asked, guess, losses)
    halves = lambda fit: centre + unit * (fit[..., 0] - math.log(math.log(2))) / fit[..., 1]
    draws = np.stack([np.where(rising, halves(again), np.inf), again[:, 1] / unit], axis=-1)
    most = float(asked.max())
    seen = (
        math.log(most * top)
        if guess == 0
        else -math.log(min(1.0, 1.645 * math.sqrt(guess * (1 - guess) / most) / (top - guess)))
    )
    alpha, half = float(theta[1]) / unit, float(_exp(halves(theta)))
    onset = math.inf if seen <= 0 else float(_exp(halves(theta) + math.log(math.log(2) / seen) / alpha))
    misfit, remains = _p_value(losses[0], losses[1:]), losses - gains
    steepest = alpha if top < 1 else steepest_with_floor(design, successes, asked, guess, _GAIN) / unit
    return EmergenceReport(
        n, share, asked, alpha, _ends(draws[:, 1], level), half, _ends(_exp(draws[:, 0]), level), onset,
        float(_exp(_TENFOLD / alpha)), _p_value(gains[0], gains[1:]), float(n[places[0]]), float(np.exp(steps[0])),
        misfit, _p_value(remains[0], remains[1:]), length, guess, top, level, steepest,
        _conditions(misfit, rising.mean(), half, n), _CLAIMS, draws,
    )  # fmt: skip


def _columns(scale: Any, accuracy: Any, items: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sizes in ascending order, accuracies and numbers of items; rows of the same size are pooled."""
    n, share = (numbers_of(*own).astype(float) for own in (("scale", scale), ("accuracy", accuracy)))
    if n.ndim != 1 or share.shape != n.shape:
        raise ShapeError("accuracy", found=f"shape {share.shape}", rule=f"one number for each scale, shape {n.shape}")
    asked = numbers_of("items", items).astype(float)
    if asked.shape not in ((), n.shape):
        raise ShapeError("items", found=f"shape {asked.shape}", rule=f"one number, or one for each scale, {n.shape}")
    asked = np.broadcast_to(asked, n.shape)
    for name, column, wrong, rule, remedy in (
        ("scale", n, n <= 0, "a positive number", "remove models without a size"),
        ("accuracy", share, (share < 0) | (share > 1), "between 0 and 1", "divide percents by 100"),
        (
            "items",
            asked,
            (asked < 1) | (asked != np.round(asked)) | (asked > 1e9),
            "a whole number from 1 to 1e9",
            None,
        ),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            what = f"{name} in row {row}, counted from 0"
            raise DataError(what, found=f"{column[row]:g}", rule=rule, remedy=remedy)
    sizes, place = np.unique(n, return_inverse=True)
    if len(sizes) < _FEWEST:
        raise DataError("scale", found=f"{len(sizes)} different sizes", rule=f"at least {_FEWEST}", remedy="add models")
    total = np.bincount(place, asked)
    return sizes, np.clip(np.bincount(place, share * asked) / total, 0.0, 1.0), total


def _rises(n: np.ndarray, successes: np.ndarray, items: np.ndarray, chance: float) -> None:
    """Raise DataError if no size is above chance, every item is solved, or all sizes have the same accuracy."""
    share, spread = successes / items, np.sqrt(items * chance * (1 - chance))
    above = successes > items * chance + np.maximum(2.5 * spread, 0.5)
    if not above.any():
        most, rule = f"at most {np.max(share):.3g}", f"an accuracy clearly above chance ({chance:g}) for some size"
        remedy = (
            "add larger models, or score tokens instead of whole answers, because the jump cannot be "
            "placed without a rise"
        )
        raise DataError("accuracy", found=most, rule=rule, remedy=remedy)
    if np.all(successes >= items - 0.5):
        remedy = "add smaller models, or harder items"
        raise DataError("accuracy", found="every item solved at every size", rule="a rise", remedy=remedy)
    if not np.ptp(share) > 0:
        found, remedy = f"{share[0]:.3g} at every size", "add smaller or larger models"
        raise DataError("accuracy", found=found, rule="a rise with the scale", remedy=remedy)


def _fixes(alpha: float, error: float, share: np.ndarray, n: np.ndarray) -> None:
    """Raise DataError if the table does not determine the exponent. One example is a jump between two sizes, which any
    steep law explains. Another example is a flat table.
    """
    if error < alpha:
        return
    place = int(np.argmax(np.diff(share)))
    low, high = share[place], share[place + 1]
    found = f"at most one size inside the rise: {low:.3g} at {n[place]:.4g} and {high:.3g} at {n[place + 1]:.4g}"
    remedy = f"add models with sizes between {n[place]:.4g} and {n[place + 1]:.4g}"
    if high - low < 0.3:
        found, remedy = f"a rise from {share[0]:.3g} to {share[-1]:.3g} that fits many exponents", "add sizes, or items"
    rule = "accuracies that determine an exponent, which takes at least two sizes inside a clear rise"
    raise DataError("accuracy", found=found, rule=rule, remedy=remedy)


def _jumps(
    design: np.ndarray, tables: np.ndarray, items: np.ndarray, chance: float, losses: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three numbers for each table of counts: the decrease of the deviance by the best jump, the index of the
    size before this jump, and the logarithm of the factor by which the loss falls.
    """
    m = len(items)
    gains, steps = [], []
    for place in range(m - 1):
        jump = -(np.arange(m) > place).astype(float)
        theta, loss, _ = fits_with_top(np.concatenate([design, jump[:, None]], axis=-1), tables, items, chance)
        gains.append(np.where((theta[:, 2] > 0) & (theta[:, 1] >= 0), losses - loss, 0.0))
        steps.append(theta[:, 2])
    best = np.argmax(gains, axis=0)
    return np.max(gains, axis=0), best, np.take_along_axis(np.array(steps), best[None], axis=0)[0]


def _p_value(found: float, drawn: np.ndarray) -> float:
    return float((1 + np.sum(drawn >= found - 1e-9)) / (1 + len(drawn)))


def _ends(draws: np.ndarray, level: float) -> tuple[float, float]:
    outside = _NARROWER * (1 - level) / 2
    low, high = np.quantile(draws, [outside, 1 - outside], method="nearest")
    return float(low), float(high)


def _exp(value: Any) -> Any:
    """Return exp(value), or infinity if it is beyond double precision."""
    with np.errstate(over="ignore"):
        return np.exp(value)


def _conditions(misfit: float, rising: float, half: float, n: np.ndarray) -> tuple[Condition, ...]:
    inside_range = bool(n[0] <= half <= n[-1])
    return (
        Condition(
            "the smooth law fits the accuracies", misfit, misfit >= 0.05, "the numbers are valid only under this law"
        ),
        Condition(
            "the jump lies between the sizes", half, inside_range, "otherwise the place of the jump is an extrapolation"
        ),
        Condition(
            "accuracies drawn from the fit rise with the scale",
            float(rising),
            bool(rising > 0.99),
            "otherwise the interval is unbounded",
        ),
        Condition("items are answered independently", None, None, "the intervals assume binomial counts"),
    )
