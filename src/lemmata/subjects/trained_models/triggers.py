"""Triggers: changes, the same for every row, that send rows to one class.

This theory controls whether one class of a model is much cheaper to reach than the others, which a backdoor makes it
and held-out rows do not show. It asks for at least six classes and inputs that can be moved a little; it leaves
unexplained who made it cheap, and triggers that are no fixed change of a few features.
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
        held = 0 if problem.held is None else len(problem.held[0])
        fractions = problem.task.is_classification and problem.x.dtype.kind == "f"
        classes = float(problem.y.shape[1]) if problem.task.is_classification else 0.0
        found = [
            Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0),
            enough_held_out(held),
            Hypothesis("inputs are not whole numbers", float(fractions), ">=", 1.0, "tokens cannot change a little"),
            Hypothesis("classes", classes, ">=", 6.0, "with fewer classes, trigger sizes cannot be compared"),
        ]
        if problem.model.differentiable and fractions and classes >= 6:
            f, y = training_outputs(problem), problem.y
            if problem.held is not None:
                f, y = held_outputs(problem), held_rows(problem)[1]
            right = 1 - float(problem.task.errors(f, y).mean())
            found.append(Hypothesis("share of rows that the model gets right", right, ">=", 0.5,
                                    "a backdoor is hidden in a model that works"))  # fmt: skip
            if right >= 0.5:
                name, why = (
                    "share of classes that no trigger reaches",
                    "else the sizes of the other classes cannot be compared",
                )
                found.append(Hypothesis(name, smallest_triggers(problem).unreached, "<=", 1 / 3, why))
        return found


THRESHOLD = 3.5
"""An anomaly above this is a finding."""


def _counted(problem: Trained, half: int) -> tuple[int, int]:
    """Rows of a half of the held-out ones that the smallest change sends to its class, of those called another."""
    found = smallest_triggers(problem)
    c = found.smallest
    own = halves(problem)[half]
    own = own[held_outputs(problem)[own].argmax(1) != c]
    calls = problem.model.outputs(found.stamp(held_rows(problem)[0][own], c)).argmax(1)
    return int((calls == c).sum()), len(own)


class SuccessOfSmallestTrigger(AbstractGauge):
    """For each class c a mask m and a pattern p are searched such that (1 - m) x + m p is called c for 90 % of the
    training rows x that are not, with sum m as small as can be; the class of smallest sum m is looked at. The change
    owes nothing to held-out rows, so the number of them that it sends to c is exchangeable between two halves: the
    central 95 % of the beta-binomial law that its success on one half implies for the other, over rows that the model
    calls another class, hold the number there in at least nine of ten models.
    """

    title = "Success of the smallest trigger on other rows"
    source = Source("wang2019cleanse", note="the search for the smallest change of each class")
    stated = Kind.OWN
    population = TriggeredNetworks()
    relation = Estimate()
    level = 0.95
    ends = LIMITS
    control = Control("three quarters of that success", lambda interval, problem: 0.75 * interval)
    controls = "how often one change of a few features sends a new row to a class"
    unexplained = "why the class is cheap to reach; triggers that are not a fixed change of a few features"
    traced = False
    trials = 320
    trivial = 1.0  # all of them

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
        """The model on stamped rows of the second half of the held-out ones."""
        return jnp.asarray(measured_share(*_counted(problem, 1)))


class PlantedTriggerIsSmall(Claim[Trained]):
    """A tenth of the training rows of a model of at least six classes is stamped with one feature far from its mean and
    called the first class. The smallest change that sends 90 % of rows to that class then has at most 0.6 of the median
    size of those of the other classes, with probability at least 0.8.
    """

    title = "A planted trigger is smaller than other classes' changes"
    source = Source("wang2019cleanse", note="infected labels need smaller changes")
    stated = Kind.OWN
    population = TriggeredNetworks()
    relation = AtMost(delta=0.2)
    control = Control("half of that", lambda ratio, problem: ratio / 2)
    controls = "whether a search over all classes finds a backdoor that held-out rows do not show"
    unexplained = "triggers that are spread over a whole row, or differ from row to row"
    of_data = False
    traced = False
    predict = 0.6
    trivial = 1.0  # a class like the others

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Sum of the mask of the planted class over the median of the others'."""
        sizes = smallest_triggers(problem).sizes
        return jnp.asarray(sizes[TARGET] / np.median(np.delete(sizes, TARGET)))


class CleanClassesAlike(Claim[Trained]):
    """In a model without a backdoor the logarithms l of the sizes of the smallest changes of its classes satisfy

        (median l - min l) / max(median |l - median l|, 0.15) <= 3.5

    with probability at least 0.8: sizes are compared by their ratios, and by at least 16 %.
    """

    title = "Sizes of triggers of clean models"
    source = Source("wang2019cleanse", note="an index of how far the smallest size is out, here of logarithms")
    stated = Kind.OWN
    population = TriggeredNetworks(planted=0.0)
    relation = AtMost(delta=0.2)
    control = Control("half of that", lambda index, problem: index / 2)
    controls = "how far the cheapest class of a clean model is below the others"
    unexplained = "clean models with a cheap class whose rows lie between all others"
    trivial = "an index of this form may be anything"
    of_data = False
    traced = False
    predict = THRESHOLD

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The index of sizes that a search finds."""
        return jnp.asarray(smallest_triggers(problem).anomaly)
