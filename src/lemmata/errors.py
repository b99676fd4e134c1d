"""Errors that give the reason, the value, the rule, and the remedy.

`LemmataError` is the base class of all errors. Each class is also the builtin error that NumPy or scikit-learn would
raise in this case:

| error | also a |
| --- | --- |
| `DataError`, `ShapeError`, `UnknownNameError`, `ClaimError` | `ValueError` |
| `SettingError` | `ValueError` and `TypeError`, as scikit-learn's `InvalidParameterError` |
| `FileError` | `DataError` and `OSError` |
| `MissingFileError` | `FileError`, `UnknownNameError` and `FileNotFoundError` |
| `MissingDataError` | `DataError` and `ImportError` |
| `PrecisionError` | `TypeError`, as `numpy.linalg` raises for a dtype that it refuses |
| `NotPositiveDefiniteError` | `ValueError`, like NumPy's `LinAlgError` |
| `MemoryPlanError` | `MemoryError` |
| `SolverError` | `RuntimeError`, as SciPy raises if a method does not converge |

An `except` clause for one of these builtin errors also catches errors of lemmata. To handle errors of lemmata
separately, put `except LemmataError` before this clause.
"""

from __future__ import annotations

import re


class LemmataError(Exception):
    """The base class of every error that lemmata raises on purpose.

    The command line prints such an error without a traceback.

    Args:
        what: the input that is wrong, in the caller's words ("column 'age'", "setting n").
        found: the value that was found.
        rule: the rule that the value breaks.
        remedy: the advice to the caller.
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


class DataError(LemmataError, ValueError):
    """A file, table or array from the user cannot be used."""


class MissingDataError(DataError, ImportError):
    """Data that come with an optional package are not installed."""


class FileError(DataError, OSError):
    """A file or folder cannot be read or written. The attributes of `OSError`, such as `errno`, are None."""

    __new__ = OSError.__new__  # without this line, Dask's pickles would find `ValueError.__new__`


class ShapeError(LemmataError, ValueError):
    """An array does not have the required shape.

    Without a remedy, the advice follows from the found shape and the rule.

    >>> print(ShapeError("x", found="shape (5,)", rule="shape (n, d), one row for each point"))
    x; found shape (5,); rule: shape (n, d), one row for each point; remedy: pass x[:, None] if it is one column, \
x[None] if it is one row
    """

    def __init__(self, what: str, *, found: object = None, rule: str | None = None, remedy: str | None = None):
        advice = remedy or (_reshaped(what, str(found or ""), rule) if rule else None)
        super().__init__(what, found=found, rule=rule, remedy=advice)


class SettingError(LemmataError, ValueError, TypeError):
    """A named setting or option is unknown, of the wrong type, or out of bounds."""


class UnknownNameError(LemmataError, ValueError):
    """No claim, data set, kernel or column has the given name."""


class MissingFileError(FileError, UnknownNameError, FileNotFoundError):
    """A file that the user named does not exist."""


class PrecisionError(LemmataError, TypeError):
    """The computation needs float64, but float64 is switched off."""


class NotPositiveDefiniteError(LemmataError, ValueError):
    """A matrix that must be positive (semi)definite is not. Rounding errors are taken into account."""


class MemoryPlanError(LemmataError, MemoryError):
    """A computation was refused because its memory plan needs more memory than the machine has free."""

    __new__ = Exception.__new__  # for the same reason as in `FileError`


class SolverError(LemmataError, RuntimeError):
    """A numerical method did not reach its tolerance."""


class EntryPointWarning(UserWarning):
    """Another package offers claims that cannot be loaded. These claims are left out; everything else works."""


class ForeignResultWarning(UserWarning):
    """A killed run of another user left a complete result. Its files were kept, but not moved to their places."""


class ContradictionWarning(UserWarning):
    """Equal inputs have different targets in a fit that should interpolate. The fit uses the mean of these targets."""


class InterpolationWarning(UserWarning):
    """A fit that should interpolate misses its own targets, because its Gram matrix is singular up to rounding."""


class CalibrationWarning(UserWarning):
    """Each class has only one row, so a classifier's probabilities cannot be calibrated and are those of chance."""


class ApproximationWarning(UserWarning):
    """A fit of many rows is approximate: it uses some rows as centres, because no exact fit was requested."""


def file_error(cause: Exception) -> type[DataError]:
    """The error class for a file that is missing, not accessible, or of the wrong kind.

    Args:
        cause: the error of the operating system or of the file's reader.

    >>> [file_error(cause).__name__ for cause in (FileNotFoundError(), PermissionError(), ValueError())]
    ['MissingFileError', 'FileError', 'DataError']
    """
    if isinstance(cause, FileNotFoundError):
        return MissingFileError
    return FileError if isinstance(cause, OSError) else DataError


class ClaimError(LemmataError, ValueError):
    """A claim breaks the rules for claims. For example, it has no source, or its trials do not refute its control."""


_COUNTED = r"\bone (class|entry|label|number|query|score|target|value|weight)\b.* (for each|in each|a)\b"


def _reshaped(what: str, found: str, rule: str) -> str:
    """The advice for an array that does not have the required shape."""
    name = what if what.isidentifier() else "values"
    given = re.findall(r"\(([\w, ]*)\)", found)
    if "no axis of length 0" in rule or any("0" in re.split(", ?", shape) for shape in given):
        return "pass at least one row, and at least one number in each row"
    if found == "one number" or found.endswith("shape ()"):
        return "pass an array or a list; put a single number in square brackets"
    if re.match(r"at least \d", rule):
        return "pass more entries"
    if len(given) != 1 or not found.endswith(")"):
        return "compare the lengths of all arguments, and pass only entries that belong together"
    wanted, axes = _axes(rule), len(re.findall(r"\w+", given[0]))
    if wanted is None or wanted == axes:
        exchanged = f"that rows and columns of {name} are not exchanged, and " if axes > 1 else ""
        return f"check {exchanged}that no {'row' if axes > 1 else 'entry'} of {name} is missing or repeated"
    if wanted == 2 and axes == 1:
        return f"pass {name}[:, None] if it is one column, {name}[None] if it is one row"
    if wanted < axes:
        merged = f"{name}.reshape(-1)" if wanted == 1 else f"{name}.reshape(len({name}), -1)"
        return f"select one position along an axis, for example {name}[0], or merge axes with {merged}"
    return f"add the missing axis, for example an axis of length 1 in front with {name}[None]"


def _axes(rule: str) -> int | None:
    """The number of axes that a rule requires; None if the rule does not state it."""
    if shape := re.search(r"^(?:shape |.*of shape )?\(([^()]*)\)", rule):
        parts = [part for part in shape[1].split(",") if part.strip()]
        return None if any(part.strip("*. ") != part.strip() for part in parts) else len(parts)
    if count := re.search(r"with (\d) ax", rule):
        return int(count[1])
    if re.search("square|table|matrix", rule):
        return 2
    return 1 if re.search(_COUNTED, rule) else None


def shortened(text: str, most: int = 120) -> str:
    """The text, or its beginning and its length if the text is too long for a message."""
    return text if len(text) <= most else f"{text[: most // 2]}… ({len(text)} characters)"


def words_of(error: BaseException, most: int = 300) -> str:
    """The text of an error on one line. The result is empty if the error has no text, or if its `__str__` fails.

    Args:
        error: an error from any code, which may be a user's code.
        most: the largest number of characters.
    """
    try:
        return " ".join(str(error).split())[:most]
    except (Exception, SystemExit):
        return ""


def line_of(error: BaseException, most: int = 300) -> str:
    r"""The class of an error and the text of the error, on one line.

    Args:
        error: an error from any code, which may be a user's code.
        most: the largest number of characters of the text.

    >>> line_of(ValueError("one\n two")), line_of(ValueError())
    ('ValueError: one two', 'ValueError')
    """
    said = words_of(error, most)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
