"""The privacy budget eps that noisy gradient steps spend at a given delta, computed by several accountants."""

import dataclasses
import math

from lemmata.answers import Condition, inside, positive, whole
from lemmata.errors import SettingError
from lemmata.printable import preformatted

from ._accountants import accountable, accountants, by_divergences, by_losses, central_ratio, eps_of, sampled_steps
from ._gaussian import budget

CLAIMS = (
    "stability.privacy.gaussian_curve",
    "stability.privacy.approximate_privacy_is_stability",
    "stability.accountants.renyi_budget",
    "stability.accountants.central_limit_is_too_little",
)


@dataclasses.dataclass(frozen=True)
class PrivacySpent:
    """The eps that steps with clipped, sampled and noisy gradients spend at a given delta.

    Args:
        eps: an upper bound that is certain up to rounding: `exact` if `exact` is not None, and otherwise the smaller of
            `pld` and `rdp`.
        delta, noise, rate, steps: the arguments of `privacy_spent`.
        exact: the eps of the exact Gaussian curve; None if rows are sampled.
        pld: the eps from the privacy loss distribution, rounded up. None at rate 1 if dp-accounting is not installed or
            cannot compute with this noise.
        rdp: the eps from Rényi divergences. None in the same cases as `pld`.
        central_limit: the eps if the total privacy loss of all steps is taken to be normal. This eps is not a bound and
            is usually too small. At rate 1, this eps is exact.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    eps: float
    delta: float
    noise: float
    rate: float
    steps: int
    exact: float | None
    pld: float | None
    rdp: float | None
    central_limit: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = CLAIMS

    @property
    def advantage(self) -> float:
        """The most by which one row can change the mean of any result in [0, 1]: 1 - 2 (1 - delta)/(1 + e^eps).

        This value is 1 if eps is infinite or delta is 1.
        """
        return 1 - 2 * (1 - self.delta) * math.exp(-self.eps) / (1 + math.exp(-self.eps))

    def __str__(self) -> str:
        found = (
            ("exact", self.exact),
            ("PLD", self.pld),
            ("RDP", self.rdp),
            ("central limit, no bound", self.central_limit),
        )
        beside = ", ".join(f"{name} {value:.4g}" for name, value in found if value is not None)
        vacuous = " (vacuous)" if self.advantage > 0.99 else ""
        return (
            f"eps = {self.eps:.4g} at delta = {self.delta:g} after {self.steps} steps of noise {self.noise:.4g} "
            f"at rate {self.rate:g} ({beside}); one row moves the mean of a number in [0, 1] by at most "
            f"{self.advantage:.4g}{vacuous}"
        )

    def _repr_html_(self) -> str:
        return preformatted(self)


def privacy_spent(noise: float, rate: float, steps: int, delta: float) -> PrivacySpent:
    """Compute the eps of DP-SGD steps, which add normal noise to sums of clipped gradients of sampled rows.

    Neighbouring data sets differ by one added or removed row. In each step, every row takes part independently with
    probability `rate`. The gradient of each row is clipped to a norm C. Normal noise of standard deviation noise C is
    added to the sum of gradients. At rate 1, the steps are equivalent to one Gaussian release with mu =
    sqrt(steps)/noise. The exact curve of this release is used, and no optional package is needed. Below rate 1, the
    accountants of dp-accounting are used.

    Args:
        noise: the standard deviation of the noise in units of the clipping norm.
        rate: the probability with which a row takes part in a step, in (0, 1].
        steps: the number of steps, at least 1.
        delta: the delta of (eps, delta)-privacy, inside (0, 1). Choose delta below one over the number of rows, because
            otherwise publishing a random row counts as private.

    Raises:
        SettingError: for settings outside their range, and for a rate below 1 without the optional dependency
            `privacy`, or with a noise outside 1e-150 to 1e150.

    Example:
        >>> print(privacy_spent(1.0, 0.01, 1000, 1e-5))  # doctest: +NORMALIZE_WHITESPACE
        eps = 1.828 at delta = 1e-05 after 1000 steps of noise 1 at rate 0.01 (PLD 1.828, RDP 2.101,
        central limit, no bound 1.618); one row moves the mean of a number in [0, 1] by at most 0.7231
        >>> round(privacy_spent(4.0, 1.0, 10, 1e-5).eps, 3)
        3.341
    """
    noise, rate, steps, delta = checked(noise, rate, steps, delta)
    package = accountants(needed=rate < 1)
    pld, rdp = None, None
    if package is not None and (rate < 1 or accountable(noise)):
        event = sampled_steps(noise, rate, steps, package)
        rdp = by_divergences(event, delta, package)
        pld = eps_of(by_losses(event, package, rdp), delta)
    exact = budget(delta, math.sqrt(steps) / noise) if rate == 1 else None
    eps = exact if exact is not None else min(float(bound) for bound in (pld, rdp) if bound is not None)
    normal = budget(delta, central_ratio(noise, rate, steps)) if rate < 1 else eps
    return PrivacySpent(eps, delta, noise, rate, steps, exact, pld, rdp, normal, _conditions(rate))


def checked(noise: float, rate: float, steps: int, delta: float) -> tuple[float, float, int, float]:
    """Return the four settings as numbers, or raise SettingError.

    Args:
        noise: the standard deviation of the noise in units of the clipping norm, a finite number above 0.
        rate: the probability that a row takes part in a step, in (0, 1].
        steps: the number of steps, at least 1.
        delta: the delta of (eps, delta)-privacy, inside (0, 1).
    """
    noise, rate, steps = positive("noise", noise), positive("rate", rate), whole("steps", steps, 1)
    if rate > 1:
        raise SettingError(
            "rate",
            found=f"{rate:g}",
            rule="a probability above 0 and at most 1",
            remedy="pass the batch size divided by the number of rows",
        )
    return noise, rate, steps, inside("delta", delta, 0.0, 1.0)


def _conditions(rate: float) -> tuple[Condition, ...]:
    sampled = "batches of a fixed size and shuffled batches spend other budgets"
    return (
        Condition(
            "each row's gradient is clipped, and noise is in units of that norm",
            why="otherwise the budget is not valid",
        ),
        Condition("in each step, every row takes part independently", None, True if rate == 1 else None, sampled),
        Condition(
            "neighbours differ by one added or removed row",
            why="if neighbours differ by one replaced row, eps is up to twice as large",
        ),
    )
