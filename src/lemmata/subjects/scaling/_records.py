"""The answer to a question about scaling: the number, its interval, its conditions, and the claim behind it."""

import dataclasses
import math

from lemmata.answers import Condition
from lemmata.printable import preformatted


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractFinding:
    """The answer to a question about scaling.

    Args:
        value: the number that answers the question.
        interval: the interval that contains the true number with probability `level`; both ends are the value if the
            value is certain.
        level: the confidence of the interval.
        claim: the name of the claim (a statement that lemmata tests) behind the answer; `lemmata show` prints it.
        hypotheses: the conditions of the answer, with their values.
        notes: remarks to read before using the number.
    """

    value: float
    interval: tuple[float, float]
    level: float
    claim: str
    hypotheses: tuple[Condition, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([stated(self.value, self.interval, self.level), *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return preformatted(self)


def stated(value: float, interval: tuple[float, float], level: float) -> str:
    """Return a number with its interval, in words.

    >>> stated(0.5, (0.25, math.inf), 0.9)
    '0.5, 90 % interval 0.25 to infinity'
    """
    low, high = (("infinity" if end > 0 else "minus infinity") if math.isinf(end) else f"{end:.4g}" for end in interval)
    said = "infinity" if math.isinf(value) else f"{value:.4g}"
    return f"{said}, {100 * level:g} % interval {low} to {high}" if interval[0] != interval[1] else f"{said}, exactly"
