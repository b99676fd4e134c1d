"""Privacy accountants for training steps on sampled rows: the package dp-accounting, and a normal approximation."""

import contextlib
import logging
import math
from collections.abc import Iterator, Sequence
from typing import Any

from lemmata.errors import SettingError

from ._gaussian import budget

FINE = 3.0  # the largest eps with the finest grid of losses; for larger eps, the grid is coarser in proportion
_GRID, _COARSEST = 1e-4, 50.0  # above 50, e^(grid step) could overflow
_SMALL_ORDERS = (*(1 + tenth / 10 for tenth in range(1, 100)), *range(11, 64))
_LARGE_ORDERS = tuple(2**power for power in range(6, 14))


def budgets(noise: float, rate: float, steps: int, deltas: Sequence[float]) -> list[float]:
    """Return, for each delta, the eps of (eps, delta)-privacy that `privacy_spent` reports.

    Args:
        noise: the standard deviation of the noise in units of the clipping norm.
        rate: the probability with which a row takes part in a step.
        steps: the number of steps.
        deltas: the values of delta in (eps, delta)-privacy.
    """
    if rate == 1:
        return [budget(delta, math.sqrt(steps) / noise) for delta in deltas]
    package = accountants(needed=True)
    event = sampled_steps(noise, rate, steps, package)
    renyi = [by_divergences(event, delta, package) for delta in deltas]
    losses = by_losses(event, package, max(renyi))
    return [min(rdp, eps_of(losses, delta)) for delta, rdp in zip(deltas, renyi, strict=True)]


def central_ratio(noise: float, rate: float, steps: int) -> float:
    """Return mu = rate sqrt(steps (e^(1/noise²) - 1)), the parameter of the normal limit of the total privacy loss.

    Args:
        noise: the standard deviation of the noise in units of the clipping norm.
        rate: the probability with which a row takes part in a step.
        steps: the number of steps.
    """
    exponent = 1 / noise / noise
    return rate * math.sqrt(steps * math.expm1(exponent)) if exponent < 700 else math.inf


def accountable(noise: float) -> bool:
    """Return whether dp-accounting can compute with this noise. The square of the noise must not over- or underflow.

    Args:
        noise: the standard deviation of the noise in units of the clipping norm.
    """
    return 1e-150 <= noise <= 1e150


def sampled_steps(noise: float, rate: float, steps: int, package: Any) -> Any:
    """Return the steps as a `DpEvent` of dp-accounting.

    Args:
        noise: the standard deviation of the noise in units of the clipping norm.
        rate: the probability with which a row takes part in a step.
        steps: the number of steps.
        package: the module dp_accounting.

    Raises:
        SettingError: for a noise whose square overflows or underflows in double precision.
    """
    if not accountable(noise):
        raise SettingError(
            "noise",
            found=f"{noise:g}",
            rule="from 1e-150 to 1e150 for sampled rows, because dp-accounting squares it",
            remedy="pass a noise in this range",
        )
    return package.SelfComposedDpEvent(package.PoissonSampledDpEvent(rate, package.GaussianDpEvent(noise)), steps)


def by_divergences(event: Any, delta: float, package: Any) -> float:
    """Return the least eps that Rényi divergences give, among the tried orders from 1.1 to 8192.

    Args:
        event: the steps, from `sampled_steps`.
        delta: the delta of (eps, delta)-privacy.
        package: the module dp_accounting.
    """
    spent = lambda orders: package.rdp.RdpAccountant(orders).compose(event).get_epsilon_and_optimal_order(delta)
    with _quiet():
        found, best = spent([*_SMALL_ORDERS, *_LARGE_ORDERS])
        low, high = best / 2, min(2 * best, _LARGE_ORDERS[-1])
        while best > _SMALL_ORDERS[-1] and high - low > max(2, best / 64):
            # every order gives a bound; search for the least eps near the best order so far
            orders = sorted({round(low + (high - low) * part / 6) for part in range(7)} | {best})
            eps, best = spent(orders)
            found, place = min(found, eps), orders.index(best)
            low, high = orders[max(place - 1, 0)], orders[min(place + 1, len(orders) - 1)]
        return float(found)


def by_losses(event: Any, package: Any, scale: float) -> Any:
    """Return the distribution of the privacy loss of all steps on a grid, with losses rounded up, or None.

    The grid is coarser for a larger `scale`. The result is None if the grid would be too coarse.

    Args:
        event: the steps, from `sampled_steps`.
        package: the module dp_accounting.
        scale: a rough value of eps, from `by_divergences`.
    """
    grid = _GRID * max(1.0, scale / FINE)
    return None if grid > _COARSEST else package.pld.PLDAccountant(value_discretization_interval=grid).compose(event)


def eps_of(losses: Any, delta: float) -> float:
    """Return the eps of a distribution of the privacy loss at `delta`, or infinity if `losses` is None.

    Args:
        losses: the result of `by_losses`.
        delta: the delta of (eps, delta)-privacy.
    """
    return math.inf if losses is None else float(losses.get_epsilon(delta))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Return a context without warnings about Rényi orders whose series do not converge.

    dp-accounting leaves these orders out. The other orders give the bound.
    """
    log = logging.getLogger("absl")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def accountants(needed: bool) -> Any:
    """Return the package dp_accounting, or None if the package is not installed and not needed.

    Args:
        needed: whether to raise SettingError if the package is not installed.

    Raises:
        SettingError: if the package is needed and not installed.
    """
    try:
        import dp_accounting  # pyright: ignore[reportMissingImports]
        from dp_accounting import pld, rdp  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        if not needed:
            return None
        raise SettingError(
            "privacy of sampled rows",
            found="that the package dp-accounting is not installed",
            rule="the optional dependency `privacy`, except for rate 1",
            remedy="install it with pip install 'lemmata[privacy]'",
        ) from error
    return dp_accounting
