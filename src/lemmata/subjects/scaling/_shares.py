"""Read probabilities that a user passes as known numbers, or as counts of successes among trials."""

import dataclasses

import numpy as np

from lemmata.answers import inside, probability, share_interval
from lemmata.errors import DataError, SettingError, ShapeError

from ._columns import floats_of

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
    value = probability(name, given)
    return Known(value, value, value)


def counts(name: str, successes: object, n: object) -> tuple[np.ndarray, np.ndarray]:
    """Return the successes and trials of each problem as whole numbers. DataError names the first invalid number."""
    rule = "one whole number for each problem, and a single n or one for each problem"
    right, made = floats_of(name, successes, rule), floats_of("n", n, rule)
    try:
        found, trials = np.broadcast_arrays(np.atleast_1d(right), made)
    except ValueError as error:
        shapes = f"shapes {right.shape} and {made.shape}"
        raise ShapeError(f"{name} and n", found=shapes, rule=rule, remedy="pass lists of one length") from error
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
