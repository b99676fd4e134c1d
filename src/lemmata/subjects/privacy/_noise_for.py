"""The least noise with which training steps stay within a privacy budget eps at a given delta."""

import dataclasses
import math
from collections.abc import Callable

from scipy import optimize

from lemmata.answers import Condition, positive
from lemmata.errors import SettingError, SolverError
from lemmata.printable import preformatted

from ._accountants import FINE, accountants, by_divergences, by_losses, eps_of, sampled_steps
from ._gaussian import ratio_for
from ._spent import CLAIMS, PrivacySpent, checked, privacy_spent

_TOLERANCE, _LARGEST = 1e-3, 1e5
_SEARCH = 4.0  # a search uses a grid whose steps are this many times larger


@dataclasses.dataclass(frozen=True)
class NoiseFor:
    """The noise with which training steps stay within a privacy budget eps.

    Args:
        noise: the standard deviation of the noise in units of the clipping norm. With this noise, `spent` is within the
            budget.
        eps: the budget: the eps of (eps, delta)-privacy that the steps may spend.
        too_little: a smaller noise with which the steps exceed the budget. At a rate below 1, it was found with a
            coarser grid of privacy losses.
        spent: the result of `privacy_spent` for `noise`.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    noise: float
    eps: float
    too_little: float
    spent: PrivacySpent
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = CLAIMS

    def __str__(self) -> str:
        return f"noise {self.noise:.5g} for eps <= {self.eps:g} ({self.too_little:.5g} is too little): {self.spent}"

    def _repr_html_(self) -> str:
        return preformatted(self)


def noise_for(eps: float, rate: float, steps: int, delta: float) -> NoiseFor:
    """Return the least noise, rounded up by at most a thousandth, for which DP-SGD steps stay within a budget.

    At rate 1, the noise is sqrt(steps)/mu, where mu comes from the exact Gaussian curve. At a rate below 1, the noise
    is found by a search with a coarser grid of privacy losses than that of `privacy_spent`. The noise is then raised
    until `privacy_spent` returns at most the budget.

    Args:
        eps: the budget, the eps of (eps, delta)-privacy that the steps may spend, above 0.
        rate: the probability with which a row takes part in a step, in (0, 1].
        steps: the number of steps, at least 1.
        delta: the delta of (eps, delta)-privacy, inside (0, 1).

    Raises:
        SettingError: for settings outside their range, and for a rate below 1 without the optional dependency
            `privacy`.
        SolverError: if no noise is found.

    Example:
        >>> print(noise_for(1.0, 1.0, 100, 1e-5).noise > 37.3)
        True
        >>> round(noise_for(2.0, 0.01, 1000, 1e-5).noise, 2)
        0.96
    """
    eps, (_, rate, steps, delta) = positive("eps", eps), checked(1.0, rate, steps, delta)
    if eps > _LARGEST:
        raise SettingError(
            "eps",
            found=f"{eps:g}",
            rule=f"at most {_LARGEST:g}",
            remedy="do not add noise, because such a budget gives no privacy",
        )
    if rate == 1:
        noise = math.sqrt(steps) / ratio_for(eps, delta)
        spent = privacy_spent(noise, rate, steps, delta)
        return NoiseFor(noise, eps, noise * (1 - 1e-9), spent, spent.conditions)
    package = accountants(needed=True)
    event = lambda log_noise: sampled_steps(math.exp(log_noise), rate, steps, package)
    renyi = lambda log_noise: by_divergences(event(log_noise), delta, package)

    def enough(log_noise: float) -> float:
        rdp = renyi(log_noise)
        # a coarser grid rounds the losses up further
        return eps - min(rdp, eps_of(by_losses(event(log_noise), package, _SEARCH * max(rdp, FINE)), delta))

    # a noise that is enough for the cheaper Rényi accountant is enough; the least noise is a little smaller
    start = math.log(_central_noise(eps, rate, steps, delta))
    high = _climb(lambda log_noise: eps - renyi(log_noise), start, 0.05)
    low, high = _least(enough, _climb(lambda log_noise: renyi(log_noise) - eps, high, -0.02), high)
    while (spent := privacy_spent(math.exp(high), rate, steps, delta)).eps > eps:
        high += _TOLERANCE / 4
    return NoiseFor(math.exp(high), eps, math.exp(low), spent, spent.conditions)


def _climb(wanted: Callable[[float], float], start: float, step: float) -> float:
    """Return the first of start, start + step, start + 3 step, ... (the step doubles) with `wanted` at least 0."""
    place = start
    while wanted(place) < 0:
        place, step = place + step, 2 * step
        if abs(place - start) > 60:
            raise SolverError(
                "noise",
                found="no noise in the searched range that meets this budget",
                rule="a budget eps that some noise can meet, and that needs noise",
                remedy="choose another eps",
            )
    return place


def _least(enough: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return two close values of log noise. The noise is too small at the first value, and enough at the second."""
    step = 0.02
    while enough(low) >= 0:
        low, high, step = low - step, low, 2 * step
    root = float(optimize.brentq(enough, low, high, xtol=_TOLERANCE / 4))  # pyright: ignore[reportArgumentType]
    above, below = root, root
    while enough(above) < 0:
        below, above = above, above + _TOLERANCE / 4
    while enough(below) >= 0:
        below, above = below - _TOLERANCE / 4, below
    return below, above


def _central_noise(eps: float, rate: float, steps: int, delta: float) -> float:
    return 1 / math.sqrt(math.log1p((ratio_for(eps, delta) / rate) ** 2 / steps))
