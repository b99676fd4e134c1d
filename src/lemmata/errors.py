"""Errors that say what was wrong, what was found, which rule it broke, and what to do."""

from __future__ import annotations


class LemmataError(Exception):
    """Base of every error that lemmata raises on purpose; the command line prints it without a traceback.

    Args:
        what: the input that is wrong, in the caller's words ("column 'age'", "setting n").
        found: the value that was found.
        rule: the rule that the value breaks.
        remedy: what the caller can do about it.
    """

    def __init__(self, what: str, *, found: object = None, rule: str | None = None, remedy: str | None = None):
        self.what, self.found, self.rule, self.remedy = what, found, rule, remedy
        parts = [what]
        if found is not None:
            parts.append(f"found {found}")
        if rule:
            parts.append(f"rule: {rule}")
        if remedy:
            parts.append(f"remedy: {remedy}")
        super().__init__("; ".join(parts))


class DataError(LemmataError):
    """A file, table or array from the user cannot be used."""


class MissingDataError(DataError):
    """Data that come with an optional package are not installed."""


class ShapeError(LemmataError):
    """Two shapes do not fit each other."""


class SettingError(LemmataError):
    """A named setting or option is unknown, of the wrong type, or out of bounds."""


class UnknownNameError(LemmataError):
    """A claim, data set, kernel or column of that name does not exist."""


class PrecisionError(LemmataError):
    """The computation needs float64 and it is switched off."""


class NotPositiveDefiniteError(LemmataError):
    """A matrix that must be positive (semi)definite has an eigenvalue below its rounding floor."""


class MemoryPlanError(LemmataError):
    """A computation was refused because its memory plan exceeds the machine."""


class SolverError(LemmataError):
    """A numerical method did not reach its tolerance."""


class EntryPointWarning(UserWarning):
    """Another package offers claims that cannot be loaded; they are left out, and the rest works."""


class ContradictionWarning(UserWarning):
    """Equal inputs with different targets in a fit that is asked to interpolate: it fits a mean of them."""


class CalibrationWarning(UserWarning):
    """Too few rows for the probabilities of a classifier to be anything but those of chance."""


class ClaimError(LemmataError):
    """A claim breaks the grammar: it names no source, has the wrong shapes, or does not refute its control."""
