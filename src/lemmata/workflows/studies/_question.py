"""The question of a study about a table, and losses in the unit of the user's metric."""

import dataclasses

from lemmata.intervals import Interval
from lemmata.workflows.records import spell, spell_asked

from ._metrics import Metric

GAIN = 0.9
"""If no value is requested, the error to reach is this factor times the error that is shown: a tenth less."""


@dataclasses.dataclass(frozen=True)
class Question:
    """The question of a study about a table.

    Args:
        unit: the metric.
        loss: the requested loss; None requests an error that is a tenth lower than that of the best model with all
            rows.
        total: N, the number of the user's rows.
        spread: the variance of the target.
        guessing: the loss of a guess that uses no inputs.
        cost: the price of a row, if it is known.
        used: the number of rows that the study used, if this number is smaller than `total`; otherwise None.
        rare: the classes with fewer than 8 rows, in words.
        more: the kind of rows that the user could add: "rows", or "rows of new groups".
        drifts: whether older rows no longer help, so that the number of needed rows has no meaning.
        constant: the prediction of guessing, in words; empty means the default words for the metric.
        in_time: whether rows have an order, so that later rows are forecast from earlier rows.
        ahead: the number of rows that are forecast at once, if rows have an order.
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
    ahead: int = 1

    def told(self, interval: Interval) -> Interval:
        """Return an interval of losses in the unit of the metric, with its lower end first."""
        value, *ends = (self._told(loss) for loss in (interval.value, interval.lower, interval.upper))
        return Interval(value, min(ends), max(ends))

    def _told(self, loss: float) -> float:
        """Return a loss in the unit of the metric. A larger loss than the metric allows counts as its largest loss."""
        return self.unit.told(min(loss, self.unit.most), self.spread)

    def say(self, loss: float) -> str:
        """Return a loss in words, such as "accuracy 95.0 %"."""
        return f"{self.unit.title} {spell(self._told(loss), self.unit.percent)}"

    def say_asked(self) -> str:
        """Return the requested loss in words, with all of its digits, such as "accuracy 99.999 %"."""
        assert self.loss is not None
        return f"{self.unit.title} {spell_asked(self.unit.told(self.loss, self.spread), self.unit.percent)}"

    def say_interval(self, interval: Interval, like: str = "") -> str:
        """Return a loss and its interval in words, such as "accuracy 95.0 % (94.1 % to 95.8 %)".

        Args:
            interval: the loss and its interval.
            like: the requested number, as text. If it has more decimals than are usually shown, all three numbers get
                as many decimals.
        """
        ends = sorted((interval.lower, interval.upper), reverse=self.unit.rises)
        values = [self._told(loss) for loss in (interval.value, *ends)]
        value, low, high = (spell(value, self.unit.percent, like) for value in values)
        return f"{self.unit.title} {value} ({low} to {high})"

    def improved(self, loss: float) -> float:
        """Return the loss at which the shown error is lower by a tenth.

        For the RMSE, this is a tenth of the RMSE, not of its square.
        """
        if self.unit.rises or self.unit.told(0.0, self.spread) != 0:
            return GAIN * loss
        return self.unit.understood(GAIN * self.unit.told(loss, self.spread), self.spread)
