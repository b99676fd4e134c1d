"""A model with the rows it was trained on: what every gauge is posed."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from ._contract import AbstractModel
from ._task import Task


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, the rows it has seen, rows it has not, and what else is known of its training.

    What is asked of it stands beside the mathematics that answers: functions of a `Trained`, whose answers are kept
    with it (`once`).

    Args:
        model: at the parameters that were found.
        task: how its outputs are read.
        x: training rows.
        y: their targets, encoded: one-hot rows of classes, columns of values, or tokens of documents that count.
        held: rows and encoded targets that the training has not seen; None where there are none.
        decay: delta in mean loss + (delta/2) |theta|², as the user states it; None where nobody does.
        start: the model at the parameters that training began with.
        fit: trains afresh: fit(x, y, seed) with targets as the user has them.
        targets: of the training rows, as the user has them, for `fit`.
        rate: the step of the gradient descent on all rows that trained the model; None where nobody says.
        deployed: rows that the model meets in use, without targets; None where there are none.
        checkpoints: the model at earlier times of its training, in their order, itself left out.
        claimed: (epsilon, delta) of the differential privacy that the training is said to have.
        noised: (rate, noise, steps) that the training is said to have had: the probability with which a row took part
            in a step, the noise in units of the norm that gradients were clipped to, and how many steps there were.
        corrected: right targets of the training rows, encoded, where somebody has looked at them.
        seed: of all that is chosen at random.
        scale: the largest size of an input, where somebody says that all inputs have one unit.
        sizes: models of other sizes, trained alike on the same rows.
    """

    model: AbstractModel
    task: Task
    x: np.ndarray
    y: Float[np.ndarray, "n C"]
    held: tuple[np.ndarray, Float[np.ndarray, "m C"]] | None = None
    decay: float | None = None
    start: AbstractModel | None = None
    fit: Callable[..., Any] | None = None
    targets: Any = None
    rate: float | None = None
    deployed: np.ndarray | None = None
    checkpoints: tuple[AbstractModel, ...] = ()
    claimed: tuple[float, float] | None = None
    noised: tuple[float, float, int] | None = None
    corrected: Float[np.ndarray, "n C"] | None = None
    seed: int = 0
    scale: float | None = None
    sizes: tuple[AbstractModel, ...] = ()
