"""Occam's razor: a bound on the error of a classifier (a rule) that has a short description and fits many rows."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lemmata.answers import Condition, inside
from lemmata.errors import SettingError, ShapeError
from lemmata.printable import preformatted

from ._divergences import kl_upper
from ._labelled import as_labelled

_CLAIMS = ("generalisation.finite_classes.description_length",)


@dataclasses.dataclass(frozen=True)
class OccamBound:
    """A bound on the error of a rule from the length of its description.

    Args:
        bound: the bound on the error on new rows, which holds with probability 1 - delta over the rows.
        trivial: the error 1 - 1/classes of guessing a class uniformly at random.
        vacuous: the reason why the bound is not below `trivial`, in words; empty if the bound is below `trivial`.
        error: the share of training rows that the rule classifies wrongly.
        bits: the length of the rule's description in bits.
        rows: the number of training rows.
        delta: the requested probability that the bound fails.
        conditions: the conditions for the bound.
        claims: the names of the claims (statements that lemmata tests) that state the bound.
    """

    bound: float
    trivial: float
    vacuous: str
    error: float
    bits: float
    rows: int
    delta: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        word = "vacuous: " if self.vacuous else ""
        found = f"{word}error at most {self.bound:.3f} with probability {1 - self.delta:g}: "
        found += f"the rule errs on {self.error:.3f} of {self.rows} rows and takes {self.bits:.4g} bits"
        return found + (f"\n- {self.vacuous}" if self.vacuous else "")

    def _repr_html_(self) -> str:
        return preformatted(self)


def occam_bound(
    model: Any, x: ArrayLike, y: ArrayLike, bits: float | int | bytes, *, delta: float = 0.05
) -> OccamBound:
    """Bound the error of a rule that has a short description, from the rows to which the rule was fitted.

    The description of a rule is a word of a code that does not depend on the rows. No word of the code is the beginning
    of another word. Let b be the number of bits of a rule's description and n the number of rows. With probability 1 -
    delta, all rules of the code simultaneously satisfy

        kl(training error || error) <= (b ln 2 + ln(1/delta)) / n, if the error is above the training error.

    Therefore the error is at most the training error + sqrt((b ln 2 + ln(1/delta)) / (2n)).

    Args:
        model: a fitted estimator with `predict`, or a function of rows. The estimator or function must return classes
            as in y.
        x: the training rows.
        y: the class of each row.
        bits: the length of the model's description in bits, or the description itself as bytes. A file can be the
            beginning of another file. Therefore, for bytes, the function adds the bits that encode the number of bytes
            (Elias's gamma code of the number + 1).
        delta: the largest probability that the bound fails.

    Raises:
        SettingError: for bits that are not above 0, a delta outside (0, 1), or a model that cannot be called.
        ShapeError, DataError: for rows and classes that do not fit each other.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(500, 2))
        >>> print(occam_bound(lambda rows: rows[:, 0] > 0, x, x[:, 0] > 0.1, bits=12))
        error at most 0.075 with probability 0.95: the rule errs on 0.026 of 500 rows and takes 12 bits
    """
    delta, length = inside("delta", delta, 0.0, 1.0), _length(bits)
    rows, labels, classes = as_labelled(x, y)
    error = float(np.mean(_predicted(model, rows) != classes[labels]))
    budget = (length * math.log(2) + math.log(1 / delta)) / len(rows)
    bound, trivial = float(kl_upper(error, budget)), 1 - 1 / len(classes)
    vacuous = ""
    if bound >= trivial:
        vacuous = f"{length:.4g} bits are too many for {len(rows)} rows"
        if error >= trivial or float(kl_upper(error, math.log(1 / delta) / len(rows))) >= trivial:
            vacuous = f"the rule errs on {error:.3f} of the rows: no description is short enough"
    why = "the bound does not hold for a code that is made to fit the rows"
    conditions = (
        Condition("rows are independent draws of one distribution, and new rows come from the same distribution"),
        Condition(
            "the code was chosen before the rows were seen, and no code word is the beginning of another", why=why
        ),
    )
    return OccamBound(bound, trivial, vacuous, error, length, len(rows), delta, conditions)


def _length(bits: float | int | bytes) -> float:
    if isinstance(bits, bytes | bytearray):
        return 8.0 * len(bits) + 2 * math.floor(math.log2(len(bits) + 1)) + 1
    if isinstance(bits, bool | str) or np.ndim(bits) != 0 or not (math.isfinite(bits) and bits > 0):
        remedy = "pass len(zlib.compress(weights.tobytes())) * 8, for example, or the bytes themselves"
        raise SettingError("bits", found=repr(bits), rule="a finite number above 0, or bytes", remedy=remedy)
    return float(bits)


def _predicted(model: Any | Callable, rows: np.ndarray) -> np.ndarray:
    predict = getattr(model, "predict", model)
    if not callable(predict):
        raise SettingError("model", found=type(model).__name__, rule="a fitted estimator or a function of rows")
    found = np.asarray(predict(rows))
    if found.shape != (len(rows),):
        raise ShapeError(
            "predictions", found=f"shape {found.shape}", rule=f"one class for each of the {len(rows)} rows"
        )
    return found
