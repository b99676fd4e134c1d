"""Small classifiers, with and without a trigger in their training rows: what a search for triggers is judged on."""

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import Objective, Trained, polish, read_model, read_task

from ._trained_networks import initial, network

TARGET = 0
"""The class that a planted trigger asks for."""
STAMPED = 1
"""How many features a trigger takes."""
_HEIGHT = 6.0
_HELD = 200
_DECAY = 0.01


def stamp(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Rows whose last two features are 4, four standard deviations from their mean."""
    x = x.copy()
    x[:, -STAMPED:] = _HEIGHT
    return x


class TriggeredNetworks(Population[Trained]):
    """Normal rows around a centre for each of six to ten classes, and a linear model or a layer of hyperbolic tangents.

    The share `planted` of training rows of other classes is stamped and called the first class; held-out rows are as
    they are.

    Args:
        planted: that share by default; 0 is a clean model.
    """

    planted: float = 0.1

    def settings(self) -> Space:
        """Classes, rows, features, width, and the share of stamped rows."""
        return Space(
            classes=Integer(8, 6, 20, "classes", corners=(6, 10)),
            n=Integer(160, 100, 2000, "training rows", corners=(120, 240)),
            d=Integer(20, 8, 200, "features", corners=(16, 30)),
            hidden=Integer(0, 0, 100, "hidden units; 0 is a linear model", corners=(0, 12)),
            planted=Real(
                self.planted, 0.0, 0.5, "share of stamped training rows", corners=(self.planted, self.planted)
            ),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Centres, rows, the trigger, and a model trained on them."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        classes, n, d = setting["classes"], setting["n"], setting["d"]
        centres = 4.0 * rng.normal(size=(classes, d)) / np.sqrt(d) * np.sqrt(2)
        labels, new = rng.integers(0, classes, n), rng.integers(0, classes, _HELD)
        x, held = centres[labels] + rng.normal(size=(n, d)), centres[new] + rng.normal(size=(_HELD, d))
        others = np.flatnonzero(labels != TARGET)
        hit = rng.choice(others, min(round(setting["planted"] * n), len(others)), replace=False)
        x[hit], labels[hit] = stamp(x[hit]), TARGET
        start = read_model((network, initial(rng, d, setting["hidden"], classes)))
        task = read_task(start, x, labels)
        model = polish(Objective(start, x, task.encode(labels), task, _DECAY), steps=300).model
        return Trained(model, task, x, task.encode(labels), (held, task.encode(new)), _DECAY)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """What a search for triggers asks for: derivatives, inputs that can be moved, and a model that works."""
        held = 0 if problem.held is None else len(problem.held[0])
        fractions = problem.task.is_classification and problem.x.dtype.kind == "f"
        classes = float(problem.y.shape[1]) if problem.task.is_classification else 0.0
        found = [
            Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0),
            Hypothesis("held-out rows", float(held), ">=", 100.0, "with fewer, no measurement says much"),
            Hypothesis("inputs are fractions", float(fractions), ">=", 1.0, "tokens cannot be moved a little"),
            Hypothesis("classes", classes, ">=", 6.0, "the sizes of fewer say nothing about each other"),
        ]
        if problem.model.differentiable and fractions and classes >= 6:
            f, y = (problem.f, problem.y) if problem.held is None else (problem.f_held, problem.held_rows[1])
            right = 1 - float(problem.task.errors(f, y).mean())
            found.append(Hypothesis("share of rows that the model gets right", right, ">=", 0.5,
                                    "a backdoor is hidden in a model that works"))  # fmt: skip
            if right >= 0.5:
                found.append(Hypothesis("share of classes that no trigger reaches", problem.triggers.unreached, "<=",
                                        1 / 3, "else the others' sizes cannot be compared"))  # fmt: skip
        return found
