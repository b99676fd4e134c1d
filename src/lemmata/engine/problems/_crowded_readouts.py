"""Small networks with more classes than hidden units: their readout directions cannot be orthogonal."""

import jax
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import Objective, Trained, polish, read_model, read_task

from ._trained_networks import initial, network


class CrowdedReadouts(Population[Trained]):
    """Classes around random centres, two more than hidden units or still more, at a stationary point with decay."""

    def settings(self) -> Space:
        """Classes, units, features and rows."""
        return Space(
            classes=Integer(10, 4, 100, "classes", corners=(8, 12)),
            hidden=Integer(4, 1, 98, "hidden units", corners=(4, 5)),
            d=Integer(12, 1, 500, "features", corners=(8, 16)),
            n=Integer(200, 20, 5000, "training rows", corners=(160, 240)),
            decay=Real(2e-3, 1e-5, 1.0, "decay of the weights", corners=(1e-3, 3e-3)),
        ).where("two classes more than hidden units", lambda own: own["classes"] > own["hidden"] + 1)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Centres, rows, and a network trained on them."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        classes, d, n = setting["classes"], setting["d"], setting["n"]
        centres = 4 * rng.normal(size=(classes, d)) / np.sqrt(d) * np.sqrt(2)
        labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
        x = centres[labels] + rng.normal(size=(n, d))
        start = read_model((network, initial(rng, d, setting["hidden"], classes)))
        task = read_task(start, x, labels)
        model = polish(Objective(start, x, task.encode(labels), task, setting["decay"]), steps=400).model
        return Trained(model, task, x, task.encode(labels), decay=setting["decay"])

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """Classes, and a readout with more directions than dimensions."""
        smooth, classes = problem.model.differentiable, problem.task.is_classification
        found = [
            Hypothesis("the model has derivatives", float(smooth), ">=", 1.0),
            Hypothesis("the outputs are of classes", float(classes), ">=", 1.0),
        ]
        if not (smooth and classes):
            return found
        own = problem.readout
        known = Hypothesis("a last matrix gives each output a direction of its own", float(own is not None), ">=", 1.0)
        if own is None:
            return [*found, known]
        more = float(len(own) - own.shape[1])
        return [*found, known, Hypothesis("directions beyond dimensions", more, ">=", 2.0,
                                          "fewer can be at right angles or wider")]  # fmt: skip
