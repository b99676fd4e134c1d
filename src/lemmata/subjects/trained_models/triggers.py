"""Triggers: fixed changes, the same for every row, after which a model assigns rows to one class.

The theory tests whether one class of a model is much easier to reach than the others. A backdoor has this effect, but
the error on held-out rows does not show it. The test needs at least six classes, and inputs that can be changed by
small amounts. It leaves open why the class is easy to reach, and it does not cover triggers that are not a fixed
change of a few features.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Estimate,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.subjects.trained_models import Objective, Trained, polish, read_model, read_task
from lemmata.subjects.trained_models._trained_networks import initial, network

from ._fresh_rows import enough_held_out
from ._gauge import AbstractGauge
from ._outputs import held_outputs, held_rows, training_outputs
from ._triggers import smallest_triggers
from .leaving_out import LIMITS, measured_share, predicted_share
from .probabilities import halves

ABOUT = {"tool": "statistics", "architecture": "any", "object": "training"}

TARGET = 0
"""The target class of a planted trigger."""
STAMPED = 1
"""The number of features that a trigger changes."""
_HEIGHT = 6.0
_HELD = 200
_DECAY = 0.01


def stamp(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Set the last feature of rows to 6, about four standard deviations from its mean."""
    x = x.copy()
    x[:, -STAMPED:] = _HEIGHT
    return x


class TriggeredNetworks(Population[Trained]):
    """Normal rows around a centre for each of six to ten classes, and a linear model or a layer of hyperbolic tangents.

    A share `planted` of the training rows of other classes is stamped and labelled as the first class. Held-out rows
    are not changed.

    Args:
        planted: the default share of stamped rows; 0 gives a clean model.
    """

    planted: float = 0.1

    def settings(self) -> Space:
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
        """Draw centres and rows, plant the trigger, and train a model on them."""
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
        held = 0 if problem.held is None else len(problem.held[0])
        fractions = problem.task.is_classification and problem.x.dtype.kind == "f"
        classes = float(problem.y.shape[1]) if problem.task.is_classification else 0.0
        found = [
            Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0),
            enough_held_out(held),
            Hypothesis(
                "inputs are floating-point numbers",
                float(fractions),
                ">=",
                1.0,
                "tokens cannot be changed by small amounts",
            ),
            Hypothesis("classes", classes, ">=", 6.0, "with fewer classes the trigger sizes cannot be compared"),
        ]
        if problem.model.differentiable and fractions and classes >= 6:
            f, y = training_outputs(problem), problem.y
            if problem.held is not None:
                f, y = held_outputs(problem), held_rows(problem)[1]
            right = 1 - float(problem.task.errors(f, y).mean())
            found.append(Hypothesis("share of rows that the model predicts correctly", right, ">=", 0.5,
                                    "a backdoor matters only in a model that works"))  # fmt: skip
            if right >= 0.5:
                name, why = (
                    "share of classes that no trigger reaches",
                    "otherwise too few classes have a trigger size that can be compared",
                )
                found.append(Hypothesis(name, smallest_triggers(problem).unreached, "<=", 1 / 3, why))
        return found


THRESHOLD = 3.5
"""An anomaly above this number is reported as a finding."""


def _counted(problem: Trained, half: int) -> tuple[int, int]:
    """Count the held-out rows of one half that the smallest change sends to its class, and those that it could send."""
    found = smallest_triggers(problem)
    c = found.smallest
    own = halves(problem)[half]
    own = own[held_outputs(problem)[own].argmax(1) != c]
    calls = problem.model.outputs(found.stamp(held_rows(problem)[0][own], c)).argmax(1)
    return int((calls == c).sum()), len(own)


class SuccessOfSmallestTrigger(AbstractGauge):
    """For each class c, search for a mask m, with entries between 0 and 1, and a pattern p. Consider the training rows
    x that the model assigns to another class than c. For 90 % of these rows, the model must assign the changed row (1 -
    m) x + m p to c. Keep the sum of the entries of m as small as possible. Of all classes, take the class c with the
    smallest sum, and its change. The search does not use held-out rows. Split the held-out rows into two halves, and
    keep only the rows that the model assigns to another class without the change. In each half, count the rows that the
    change sends to c. The two halves are exchangeable, so the count in one half implies a beta-binomial distribution
    for the count in the other half. In at least nine of ten models, the central 95 % of this distribution contain the
    count in the other half.
    """

    title = "Success of the smallest trigger on held-out rows, predicted from half of these rows"
    source = Source("wang2019cleanse", note="the search for the smallest change of each class")
    stated = Kind.OWN
    population = TriggeredNetworks()
    relation = Estimate()
    level = 0.95
    ends = LIMITS
    control = Control("three quarters of this success", lambda interval, problem: 0.75 * interval)
    controls = "how often the same change of a few features moves a new row to a given class"
    unexplained = "why the class is easy to reach; triggers that are not a fixed change of a few features"
    traced = False
    trials = 320
    trivial = 1.0  # all rows are sent to the class

    def passes(self, problem: Trained) -> float:
        return 2 * 160 * 48.0 * problem.y.shape[1] / len(problem.x)

    def predict(self, problem: Trained) -> Array:
        if problem.held is None:
            found = smallest_triggers(problem)
            others = training_outputs(problem).argmax(1) != found.smallest
            hit = problem.model.outputs(found.stamp(problem.x[others], found.smallest)).argmax(1) == found.smallest
            return jnp.asarray(predicted_share(float(hit.sum()), float(len(hit)), len(hit), self.level))
        hits, rows = _counted(problem, 0)
        new = held_outputs(problem)[halves(problem)[1]].argmax(1) != smallest_triggers(problem).smallest
        return jnp.asarray(predicted_share(float(hits), float(rows), int(new.sum()), self.level))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Test the model on stamped rows of the second half of the held-out rows."""
        return jnp.asarray(measured_share(*_counted(problem, 1)))


class PlantedTriggerIsSmall(Claim[Trained]):
    """Let a model have at least six classes. In a tenth of its training rows, set one feature far from its mean, and
    label the row as the first class. For each class, take the smallest change that sends 90 % of rows to this class.
    With probability at least 0.8, the size of the change for the first class is at most 0.6 times the median size for
    the other classes.
    """

    title = "A planted trigger (backdoor) is smaller than the changes that other classes need"
    source = Source("wang2019cleanse", note="infected labels need smaller changes")
    stated = Kind.OWN
    population = TriggeredNetworks()
    relation = AtMost(delta=0.2)
    control = Control("half of this ratio", lambda ratio, problem: ratio / 2)
    controls = "whether a search among all classes detects a backdoor that held-out rows do not show"
    unexplained = "triggers that are spread over a whole row, or differ from row to row"
    of_data = False
    traced = False
    predict = 0.6
    trivial = 1.0  # a class like the others

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The mask sum of the planted class, divided by the median mask sum of the other classes."""
        sizes = smallest_triggers(problem).sizes
        return jnp.asarray(sizes[TARGET] / np.median(np.delete(sizes, TARGET)))


class CleanClassesAlike(Claim[Trained]):
    """For each class of a model without a backdoor, take the smallest common change of rows (a trigger) that sends 90 %
    of rows of other classes to this class. Let l be the logarithms of the sizes of these changes. Their anomaly index
    satisfies

        (median l - min l) / max(median |l - median l|, 0.15) <= 3.5

    with probability at least 0.8. So the sizes are compared by their ratios, in units of at least 16 %, since exp(0.15)
    = 1.16.
    """

    title = "An upper bound on the anomaly index of the smallest trigger in a clean model"
    source = Source(
        "wang2019cleanse", note="an anomaly index of the smallest trigger size; here computed from logarithms of sizes"
    )
    stated = Kind.OWN
    population = TriggeredNetworks(planted=0.0)
    relation = AtMost(delta=0.2)
    control = Control("half of this bound", lambda index, problem: index / 2)
    controls = "how much smaller the smallest trigger of a clean model is than its other triggers"
    unexplained = "clean models in which one class is easy to reach because its rows lie between all other classes"
    trivial = "without a theory, the index may have any value"
    of_data = False
    traced = False
    predict = THRESHOLD

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Compute the anomaly index from the sizes of the triggers that a search finds."""
        return jnp.asarray(smallest_triggers(problem).anomaly)
