"""Small networks trained to a stationary point on overlapping classes, to test checks of trained models."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import AbstractModel, Objective, Trained, polish, read_model, read_task

from ._fixed_weights import rows_fix_weights
from ._fresh_rows import copies_of, enough_held_out, fresh_rows
from ._leave_one_out import rows_left_out
from ._polish import changed_by_polishing, objective_of

CLASSES = 3
_HELD = 200
_RATE = 0.2
_FEWEST = 20
_UNFIXED = "without decay, nothing determines the weights, unless the model is linear and has more rows than weights"
# Networks on digits, also with permuted classes, had at most 0.12. Networks whose layers cancel the size of their
# weights have no stationary point, and had 0.35.
_BENT = 0.2


def network(params: dict, x: Any) -> Array:
    """Return the outputs of a tanh layer and a readout, or of a linear model if there are no hidden units."""
    hidden = jnp.tanh(x @ params["w1"]) if "w1" in params else x
    return hidden @ params["w2"] + params["b2"]


def initial(
    rng: np.random.Generator, d: int, hidden: int, classes: int = CLASSES
) -> dict[str, Float[np.ndarray, "..."]]:
    """Draw independent normal weights of variance 1/fan-in, and biases of 0."""
    width = hidden or d
    first = {"w1": rng.normal(size=(d, hidden)) / np.sqrt(d)} if hidden else {}
    return {**first, "w2": rng.normal(size=(width, classes)) / np.sqrt(width), "b2": np.zeros(classes)}


def draw_rows(rng: np.random.Generator, n: int, centres: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal rows around the centres. A share `noise` of the rows gets a random class."""
    labels = rng.integers(0, CLASSES, n)
    x = centres[labels] + rng.normal(size=(n, centres.shape[1]))
    return x, np.where(rng.random(n) < noise, rng.integers(0, CLASSES, n), labels)


def begin(seed: int, d: int, hidden: int) -> AbstractModel:
    """Return the network at the start of its training."""
    return read_model((network, initial(np.random.default_rng(seed), d, hidden)))


def train(x: np.ndarray, y: np.ndarray, seed: int, *, decay: float, hidden: int, steps: int = 0) -> Any:
    """Train to a stationary point of mean log loss + (decay/2) |theta|², from weights drawn with the seed.

    If `steps` is above 0, train instead by this number of gradient descent steps on the loss without decay.
    """
    start = begin(seed, x.shape[1], hidden)
    task = read_task(start, x, y)
    objective = Objective(start, x, task.encode(y), task, 0.0 if steps else decay)
    if not steps:
        found = polish(objective, steps=2000).model
        return network, found.split(found.theta)
    theta = start.theta
    for _ in range(steps):
        theta = theta - _RATE * objective.value(theta)[1]
    return network, start.split(theta)


@dataclasses.dataclass(frozen=True)
class _Trainer:
    """`train` at given settings, as a user's own function of rows, targets and seed."""

    decay: float
    hidden: int
    steps: int = 0

    def __call__(self, x: np.ndarray, y: np.ndarray, seed: int, start: Any = None) -> Any:
        return train(x, y, seed, decay=self.decay, hidden=self.hidden, steps=self.steps)


class TrainedNetworks(Population[Trained]):
    """Linear models, or networks with a tanh layer, on three normal classes in d dimensions.

    Args:
        rows: the default number of training rows.
        noise: the share of random classes, in training and held-out rows.
        decay: delta in mean loss + (delta/2) |theta|².
        hidden: the default number of hidden units; 0 means a linear model.
        widths: the range from which a verification draws other numbers of hidden units.
        steps: the number of descent steps on the loss; with 0, training ends at a stationary point.
        differentiable: whether the claims that are tested on these networks need derivatives.
        unseen: whether these claims are measured on held-out rows.
        held: the number of held-out rows.
    """

    rows: int = 60
    noise: float = 0.1
    decay: float = 0.02
    hidden: int = 6
    widths: tuple[int, int] = (0, 12)
    steps: int = 0
    differentiable: bool = True
    unseen: bool = True
    held: int = _HELD

    def settings(self) -> Space:
        return Space(
            n=Integer(self.rows, 20, 2000, "training rows"),
            d=Integer(4, 1, 50, "features"),
            hidden=Integer(self.hidden, 0, 100, "hidden units; 0 means a linear model", corners=self.widths),
            decay=Real(self.decay, 1e-4, 1.0, "decay of the weights"),
            noise=Real(self.noise, 0.0, 1.0, "share of classes drawn at random"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw centres and rows, and train a network on the rows."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        centres = 1.5 * rng.normal(size=(CLASSES, setting["d"])) / np.sqrt(setting["d"]) * np.sqrt(2)
        x, y = draw_rows(rng, setting["n"], centres, setting["noise"])
        held = draw_rows(rng, self.held, centres, setting["noise"])
        trainer, seed = _Trainer(setting["decay"], setting["hidden"], self.steps), int(rng.integers(2**31))
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


def stationary(problem: Trained, movement: float = 0.4) -> list[Hypothesis]:
    """Return the conditions under which one Newton step from the current parameters approximates leaving a row out.

    Args:
        problem: the model with its rows.
        movement: the largest allowed change of the outputs by one more Newton step, relative to their size. Up to 0.4,
            predicted classes do not change. A comparison of losses needs 0.1.
    """
    decay = objective_of(problem).decay
    if not decay > 0 and not rows_fix_weights(problem):
        return [Hypothesis("the decay of the weights", decay, ">", 0.0, _UNFIXED)]
    if len(problem.x) < _FEWEST:
        return [Hypothesis("training rows", float(len(problem.x)), ">=", float(_FEWEST), "fewer rows show too little")]
    left_out = rows_left_out(problem)
    return [
        Hypothesis("relative change of the outputs by one more Newton step", left_out.movement, "<=", movement,
                   "a Newton step approximates leaving a row out only at a stationary point"),
        Hypothesis("deviation of Newton steps without a row from their linearisation", left_out.bend, "<=", _BENT,
                   "the Newton steps are too long; for example, a layer that normalises its weights has no "
                   "stationary point"),
        Hypothesis("share of predictions that differ in the converged copy", changed_by_polishing(problem), "<=", 0.1,
                   "otherwise the converged copy is a different model"),
        Hypothesis("share of training rows with a duplicate", copies_of(problem).share, "<=", 0.01,
                   "if only one of two duplicates is left out, the other duplicate still shows its target"),
        Hypothesis("largest leverage", float(left_out.leverage.max()), "<", 0.999,
                   "an output that only its own row determines cannot be predicted without the row"),
    ]  # fmt: skip
