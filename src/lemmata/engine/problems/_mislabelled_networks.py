"""Small classifiers some of whose training labels are wrong, and somebody knows which."""

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import Objective, Trained, polish, read_model, read_task

from ._trained_networks import CLASSES, initial, network, stationary

_HELD = 300


def other_class(rng: np.random.Generator, labels: np.ndarray, share: float) -> np.ndarray:
    """Labels of which the share is replaced by another class at random."""
    hit = rng.permutation(len(labels)) < round(share * len(labels))
    return np.where(hit, (labels + rng.integers(1, CLASSES, len(labels))) % CLASSES, labels)


def wrong_labels(problem: Trained) -> Bool[np.ndarray, " n"]:
    """Which training rows have another label than the corrected one."""
    assert problem.corrected is not None
    return problem.y.argmax(1) != problem.corrected.argmax(1)


class MislabelledNetworks(Population[Trained]):
    """Three normal classes apart, and a linear model or a layer of hyperbolic tangents trained on partly wrong labels.

    Held-out labels are wrong as often.
    """

    def settings(self) -> Space:
        """Rows, width, decay and the share of wrong labels."""
        return Space(
            n=Integer(120, 40, 2000, "training rows", corners=(100, 200)),
            d=Integer(4, 2, 50, "features", corners=(3, 6)),
            hidden=Integer(0, 0, 100, "hidden units; 0 is a linear model", corners=(0, 6)),
            decay=Real(0.03, 1e-3, 1.0, "decay of the weights"),
            wrong=Real(0.15, 0.0, 0.45, "share of wrong labels", corners=(0.1, 0.25)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Centres a simplex in a random position, rows, wrong labels, and a model trained on them."""
        rng, d = np.random.default_rng(np.asarray(jax.random.key_data(key))), setting["d"]
        centres = _centres(rng, d)
        right, new = rng.integers(0, CLASSES, setting["n"]), rng.integers(0, CLASSES, _HELD)
        x, held = (centres[own] + rng.normal(size=(len(own), d)) for own in (right, new))
        y, seen = (other_class(rng, own, setting["wrong"]) for own in (right, new))
        start = read_model((network, initial(rng, d, setting["hidden"])))
        task = read_task(start, x, y)
        objective = Objective(start, x, task.encode(y), task, setting["decay"])
        model = polish(objective, steps=2000).model
        known = {"decay": setting["decay"], "corrected": task.encode(right)}
        return Trained(model, task, x, task.encode(y), (held, task.encode(seen)), **known)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """What wrong labels ask for: classes, labels that somebody has corrected, and rows that can be left out."""
        known = problem.corrected is not None and problem.task.is_classification
        found = [
            Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0),
            Hypothesis("corrected labels are given", float(known), ">=", 1.0, "corrected="),
        ]
        if not (known and problem.model.differentiable):
            return found
        return [*found, *stationary(problem)]


def _centres(rng: np.random.Generator, d: int) -> Float[np.ndarray, "C d"]:
    """Three points at distance 3.5 of each other."""
    plane = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    angles = 2 * np.pi * np.arange(CLASSES) / CLASSES
    return 3.5 / np.sqrt(3) * np.column_stack([np.cos(angles), np.sin(angles)]) @ plane
