"""Small networks trained by L-BFGS on classes that are far apart, with the function that trained them."""

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import Objective, Trained, polish, read_model, read_task
from lemmata.subjects.trained_models._descended_networks import draw_classes
from lemmata.subjects.trained_models._trained_networks import CLASSES, begin, network

_STEPS = 150


@dataclasses.dataclass(frozen=True)
class _Trainer:
    """Training by L-BFGS on mean log loss + (decay/2) |theta|², as a user's own function of rows, targets and seed."""

    decay: float
    hidden: int

    def __call__(self, x: np.ndarray, y: np.ndarray, seed: int) -> Any:
        start = begin(seed, x.shape[1], self.hidden)
        task = read_task(start, x, y)
        found = polish(Objective(start, x, task.encode(y), task, self.decay), steps=_STEPS).model
        return network, found.split(found.theta)


class SeparatedNetworks(Population[Trained]):
    """Networks with a tanh layer on three normal classes, whose centres are at right angles.

    Args:
        rows: the default number of training rows.
        hidden: the default number of hidden units.
        decay: delta in mean loss + (delta/2) |theta|².
        apart: the length of the centres, in standard deviations of the rows around a centre.
    """

    rows: int = 50
    hidden: int = 12
    decay: float = 0.002
    apart: float = 2.5

    def settings(self) -> Space:
        return Space(
            n=Integer(self.rows, 20, 1000, "training rows", corners=(40, 60)),
            d=Integer(5, 3, 50, "features", corners=(4, 8)),
            hidden=Integer(self.hidden, 4, 200, "hidden units", corners=(8, 16)),
            decay=Real(self.decay, 1e-4, 1.0, "decay of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw rows around the centres, and train a network on them."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        d, hidden = setting["d"], setting["hidden"]
        centres = self.apart * np.linalg.qr(rng.normal(size=(d, CLASSES)))[0].T
        x, y = draw_classes(rng, setting["n"], centres, 1.0, 0.0)
        trainer, seed = _Trainer(setting["decay"], hidden), int(rng.integers(2**31))
        model = read_model(trainer(x, y, seed))
        task = read_task(model, x, y)
        return Trained(
            model, task, x, task.encode(y), decay=setting["decay"], start=begin(seed, d, hidden), fit=trainer, targets=y
        )

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return [Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0)]
