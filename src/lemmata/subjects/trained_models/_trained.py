"""A model with its training rows, which is the input of every check."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from ._contract import AbstractModel
from ._task import Task


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, its training rows, held-out rows, and other facts about its training.

    Functions of a `Trained` are defined in the files of the methods that they use. Their results are stored with the
    object (see `once`).

    Args:
        model: the model at its trained parameters.
        task: the meaning of the model's outputs and of the targets.
        x: the training rows.
        y: the encoded targets: one-hot rows of classes, columns of values, or the number of tokens that count in each
            document.
        targets: the targets of the training rows as the user has them, for the user's training function `fit`.

    The other fields are the facts of `lemmata.facts.Facts`, by their keywords. Models are stored as `AbstractModel`,
    targets are encoded, and `noised` is (sampling, noise, steps). `lemmata.facts.FACTS` describes each fact.
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
