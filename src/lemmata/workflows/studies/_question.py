"""The question about a table, and its losses in the user's unit."""

import dataclasses

from lemmata.intervals import Interval
from lemmata.workflows.records import spell, spell_asked

from ._metrics import Metric

GAIN = 0.9
"""Without a request, the question is how many rows a tenth less error takes, in the unit in which it is shown."""


@dataclasses.dataclass(frozen=True)
class Question:
    """The question about a table.

    Args:
        unit: the metric.
        loss: the requested loss; None requests a tenth less than the best model has with all rows.
        total: rows N that the user has.
        spread: variance of the target.
        guessing: the loss of a guess that uses no inputs.
        cost: price of a row, if it is known.
        used: rows that the study used, if these are fewer.
        rare: classes of fewer than 8 rows, in words.
        more: the kind of rows that the user could add: "rows", or "rows of new groups".
        drifts: whether older rows no longer help, so that numbers of rows have no meaning.
        constant: the prediction of guessing, in words; empty means the words of the unit.
        in_time: whether rows have an order, and stretches of them are foretold.
    """

    unit: Metric
    loss: float | None
    total: int
    spread: float
    guessing: float
    cost: float | None = None
    used: int | None = None
    rare: str = ""
    more: str = "rows"
    drifts: bool = False
    constant: str = ""
    in_time: bool = False

    def told(self, interval: Interval) -> Interval:
        """An interval of losses in the unit of the metric, its lower end first."""
        value, *ends = (self._told(loss) for loss in (interval.value, interval.lower, interval.upper))
        return Interval(value, min(ends), max(ends))

    def _told(self, loss: float) -> float:
        """A loss in the unit of the metric; a share cannot exceed 1."""
        return self.unit.told(min(loss, self.unit.most), self.spread)

    def say(self, loss: float) -> str:
        """A loss in words: "accuracy 95.0 %"."""
        return f"{self.unit.title} {spell(self._told(loss), self.unit.percent)}"

    def say_asked(self) -> str:
        """The requested loss in words, with all of its digits: "accuracy 99.999 %"."""
        assert self.loss is not None
        return f"{self.unit.title} {spell_asked(self.unit.told(self.loss, self.spread), self.unit.percent)}"

    def say_interval(self, interval: Interval, like: str = "") -> str:
        """A loss and its interval in words: "accuracy 95.0 % (94.1 % to 95.8 %)".

        Args:
            interval: of losses.
            like: the requested number; if it has more decimals than are shown, all three numbers get the same number of
                decimals.
        """
        ends = sorted((interval.lower, interval.upper), reverse=self.unit.rises)
        values = [self._told(loss) for loss in (interval.value, *ends)]
        value, low, high = (spell(value, self.unit.percent, like) for value in values)
        return f"{self.unit.title} {value} ({low} to {high})"

    def improved(self, loss: float) -> float:
        """The loss at which the shown error is lower by a tenth.

        For the RMSE, this is a tenth of the RMSE, not of its square.
        """
        if self.unit.rises or self.unit.told(0.0, self.spread) != 0:
            return GAIN * loss
        return self.unit.understood(GAIN * self.unit.told(loss, self.spread), self.spread)
