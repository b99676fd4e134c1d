"""Read probabilities that a user passes as known numbers, or as counts of successes among trials."""

import dataclasses

import numpy as np

from lemmata.answers import inside, share_interval
from lemmata.errors import DataError, SettingError

Share = float | int | tuple[int, int]
"""A probability, or (successes, trials)."""


@dataclasses.dataclass(frozen=True)
class Known:
    """A probability with its limits; both limits are the value if the probability was given as a number."""

    value: float
    low: float
    high: float


def read_share(name: str, given: Share, level: float) -> Known:
    """Return a probability with its exact Clopper-Pearson limits; raise SettingError or DataError for anything else.

    >>> read_share("p", (8, 10), 0.9).value
    0.8
    """
    if isinstance(given, tuple | list):
        if len(given) != 2:
            raise SettingError(name, found=repr(given), rule="a probability, or (successes, trials)")
        successes, trials = counts(name, given[0], given[1])
        low, high = share_interval(float(successes[0]), float(trials[0] - successes[0]), level)
        return Known(float(successes[0] / trials[0]), low, high)
    try:
        value = float(given)
    except (TypeError, ValueError) as error:
        raise SettingError(name, found=repr(given), rule="a probability, or (successes, trials)") from error
    if not 0 <= value <= 1:  # NaN fails this, too
        raise SettingError(name, found=f"{value:g}", rule="a probability between 0 and 1, or (successes, trials)")
    return Known(value, value, value)


def counts(name: str, successes: object, n: object) -> tuple[np.ndarray, np.ndarray]:
    """Return the successes and trials of each problem as whole numbers. DataError names the first invalid number."""
    try:
        found, trials = np.broadcast_arrays(np.atleast_1d(np.asarray(successes, float)), np.asarray(n, float))
    except (TypeError, ValueError) as error:
        raise DataError(
            name,
            rule="one whole number for each problem, and a single n or one for each problem",
            found="values that are not numbers",
            remedy="pass a list of numbers",
        ) from error
    if found.ndim != 1 or len(found) == 0:
        raise DataError(
            name,
            found=f"shape {found.shape}",
            rule="one number for each problem, and at least one problem",
            remedy=f"pass one list of numbers, for example {name}.reshape(-1)",
        )
    for what, values, least in (("n", trials, 1), (name, found, 0)):
        wrong = ~(np.isfinite(values) & (values == np.floor(values)) & (values >= least))
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"{what} of problem {row + 1}",
                found=f"{values[row]:g}",
                rule=f"a whole number that is at least {least}",
                remedy="pass counts, not shares",
            )
    if (found > trials).any():
        row = int((found > trials).argmax())
        rule = f"at most the {trials[row]:g} attempts"
        raise DataError(f"{name} of problem {row + 1}", found=f"{found[row]:g}", rule=rule,
                        remedy="correct the count, or n")  # fmt: skip
    return found, trials


def joint(level: float | int, given: tuple[Share, ...]) -> float:
    """Return the level that each interval needs if all intervals are to hold together at `level` (Bonferroni)."""
    unsure = sum(isinstance(share, tuple | list) for share in given)
    return 1 - (1 - inside("level", level, 0.0, 1.0)) / max(unsure, 1)
