"""Estimates: predictions with an interval that should contain the measurement as often as stated."""

import dataclasses
from typing import ClassVar

import numpy as np

from ._bounds import AbstractBound
from ._relations import WHOLE, Sample, columns

LOW, VALUE, HIGH = range(3)


@dataclasses.dataclass(frozen=True)
class Estimate(AbstractBound):
    """The predicted interval contains the measured value with probability at least 1 - delta.

    Prediction and measurement are three numbers, (low, value, high). The predicted interval is declared before the
    measurement. The interval of the measurement is not used in the judgement. An infinite interval gives no
    information. An interval that is at least as wide as the trivial value is vacuous.
    """

    delta: float = 0.1
    label: ClassVar[str] = "estimate"

    @property
    def unit(self) -> int:
        """The three numbers of an interval count as one component."""
        return WHOLE

    def excess(self, predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """The distance of the measured value from the predicted interval; negative or 0 if the value lies inside."""
        value = measured[:, VALUE]
        return np.maximum(predicted[:, LOW] - value, value - predicted[:, HIGH])[:, None]

    def empty(self, predicted: np.ndarray) -> np.ndarray:
        """Which predicted intervals have an infinite end."""
        return np.isinf(predicted).any(axis=1)[:, None]  # pyright: ignore

    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """Which predicted intervals are at least as wide as the trivial value."""
        ends = columns(predicted)
        width = ends[:, HIGH] - ends[:, LOW]
        return width[:, None] >= columns(trivial)[:, :1]

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The predicted and the measured value."""
        return float(columns(sample.predicted)[0, VALUE]), float(columns(sample.measured)[0, VALUE])

    def __str__(self) -> str:
        return f"the predicted interval contains the measured value with probability >= {1 - self.delta:g}"
