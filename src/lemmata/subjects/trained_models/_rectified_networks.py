"""Linear models and ReLU networks on classes at a given distance, to test bounds."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import AbstractModel, Objective, Trained, polish, read_model, read_task
from lemmata.subjects.trained_models._trained_networks import CLASSES, draw_rows, initial

from ._fresh_rows import enough_held_out, fresh_rows

_RATE = 0.2


def rectified(params: dict, x: Any) -> Array:
    """Return the outputs of a ReLU layer and a readout, or of a linear model if there are no hidden units."""
    hidden = jnp.maximum(x @ params["w1"], 0) if "w1" in params else x
    return hidden @ params["w2"] + params["b2"]


def begin(seed: int, d: int, hidden: int) -> AbstractModel:
    """Return the network at the start of its training."""
    return read_model((rectified, initial(np.random.default_rng(seed), d, hidden)))


@dataclasses.dataclass(frozen=True)
class RectifiedTrainer:
    """Training on mean log loss + (decay/2) |theta|² to a stationary point, or by `steps` descent steps without decay.

    The trainer is called like a user's own function of rows, targets and seed.
    """

    decay: float
    hidden: int
    steps: int = 0

    def __call__(self, x: np.ndarray, y: np.ndarray, seed: int, start: Any = None) -> Any:
        """Train from initial weights that are drawn with the seed. Return the network and its parameters."""
        own = begin(seed, x.shape[1], self.hidden)
        task = read_task(own, x, y)
        objective = Objective(own, x, task.encode(y), task, 0.0 if self.steps else self.decay)
        if not self.steps:
            return rectified, own.split(polish(objective, steps=1000).model.theta)
        theta = own.theta
        for _ in range(self.steps):
            theta = theta - _RATE * objective.value(theta)[1]
        return rectified, own.split(theta)


def equidistant(rng: np.random.Generator, d: int, distance: float) -> Float[np.ndarray, "classes d"]:
    """Draw centres of the classes on random orthogonal axes, with equal distances between them."""
    axes, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return distance / np.sqrt(2) * axes[:CLASSES]


class RectifiedNetworks(Population[Trained]):
    """Networks on three normal classes of unit variance, whose centres have a given distance from each other.

    Args:
        rows: the default number of training rows.
        held: the number of held-out rows.
        hidden: the default number of hidden units; 0 means a linear model.
        widths: the range from which a verification draws other numbers of hidden units.
        decay: delta in mean loss + (delta/2) |theta|².
        distance: the distance between the centres of any two classes.
        noise: the share of random classes, in training and held-out rows.
        steps: the number of descent steps on the loss; with 0, training ends at a stationary point.
        differentiable: whether the claims that are tested on these networks need derivatives.
        unseen: whether these claims are measured on held-out rows.
    """

    rows: int = 300
    held: int = 500
    hidden: int = 6
    widths: tuple[int, int] = (0, 12)
    decay: float = 0.02
    distance: float = 3.0
    noise: float = 0.1
    steps: int = 0
    differentiable: bool = True
    unseen: bool = True

    def settings(self) -> Space:
        return Space(
            n=Integer(self.rows, 20, 5000, "training rows"),
            d=Integer(4, CLASSES, 50, "features"),
            hidden=Integer(self.hidden, 0, 100, "hidden units; 0 means a linear model", corners=self.widths),
            decay=Real(self.decay, 1e-4, 1.0, "decay of the weights"),
            distance=Real(self.distance, 0.0, 100.0, "distance of the centres"),
            noise=Real(self.noise, 0.0, 1.0, "share of classes drawn at random"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw centres and rows, and train a network on the rows."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        centres = equidistant(rng, setting["d"], setting["distance"])
        x, y = draw_rows(rng, setting["n"], centres, setting["noise"])
        held = draw_rows(rng, self.held, centres, setting["noise"])
        trainer = RectifiedTrainer(setting["decay"], setting["hidden"], self.steps)
        seed = int(rng.integers(2**31))
        model = read_model(trainer(x, y, seed))
        task = read_task(model, x, y)
        start = begin(seed, setting["d"], setting["hidden"])
        rest: dict[str, Any] = {"decay": setting["decay"], "start": start, "fit": trainer, "targets": y}
        return Trained(model, task, x, task.encode(y), (held[0], task.encode(held[1])), **rest)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        held = 0 if problem.held is None else int(fresh_rows(problem).sum())  # duplicates of training rows do not count
        smooth = Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0)
        unseen = enough_held_out(held)
        return [*([smooth] if self.differentiable else []), *([unseen] if self.unseen else [])]
