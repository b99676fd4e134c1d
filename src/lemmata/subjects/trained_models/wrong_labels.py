"""Wrong labels: which and how many training labels the other rows contradict, tested on corrected labels.

The theory predicts which labels are wrong and how many, if wrong labels are like random labels. It needs a stationary
point, and rows that can be left out. It does not cover labels that are wrong in the same way everywhere.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.engine.claims import (
    AtMost,
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
from lemmata.facts import FACTS
from lemmata.subjects.trained_models import Objective, Trained, label_doubts, polish, read_model, read_task
from lemmata.subjects.trained_models._trained_networks import CLASSES, initial, network, stationary

from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, leaving_out_passes, rows_left_out
from ._polish import polished_copy

ABOUT = {"tool": "statistics", "architecture": "any", "object": "score"}

_HELD = 300


def other_class(rng: np.random.Generator, labels: np.ndarray, share: float) -> np.ndarray:
    """Replace a share of the labels by another class at random."""
    hit = rng.permutation(len(labels)) < round(share * len(labels))
    return np.where(hit, (labels + rng.integers(1, CLASSES, len(labels))) % CLASSES, labels)


def wrong_labels(problem: Trained) -> Bool[np.ndarray, " n"]:
    """Mark the training rows whose label differs from the corrected label."""
    assert problem.corrected is not None
    return problem.y.argmax(1) != problem.corrected.argmax(1)


class MislabelledNetworks(Population[Trained]):
    """Three separate normal classes, and a linear or tanh model trained on partly wrong labels.

    The same share of held-out labels is wrong.
    """

    settings = Space(
        n=Integer(120, 40, 2000, "training rows", corners=(100, 200)),
        d=Integer(4, 2, 50, "features", corners=(3, 6)),
        hidden=Integer(0, 0, 100, "hidden units; 0 is a linear model", corners=(0, 6)),
        decay=Real(0.03, 1e-3, 1.0, "decay of the weights"),
        wrong=Real(0.15, 0.0, 0.45, "share of wrong labels", corners=(0.1, 0.25)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw centres on a randomly placed simplex, rows and wrong labels, and train a model on them."""
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
        known = problem.corrected is not None and problem.task.is_classification
        found = [
            Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0),
            Hypothesis(FACTS["corrected"].given, float(known), ">=", 1.0, "corrected="),
        ]
        if not (known and problem.model.differentiable):
            return found
        return [*found, *stationary(problem)]


def _centres(rng: np.random.Generator, d: int) -> Float[np.ndarray, "C d"]:
    """Return three points at a distance of 3.5 from each other."""
    plane = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    angles = 2 * np.pi * np.arange(CLASSES) / CLASSES
    return 3.5 / np.sqrt(3) * np.column_stack([np.cos(angles), np.sin(angles)]) @ plane


_WORST, _CLEAR = 0.1, 0.2
_QUANTILE = 1.96


def _some(problem: Trained) -> list[Hypothesis]:
    """The hypothesis that some labels are wrong, but not all."""
    share = float(wrong_labels(problem).mean())
    return [
        Hypothesis("share of wrong labels", share, ">", 0.0, "otherwise no label is wrong"),
        Hypothesis("share of wrong labels", share, "<", 0.5, "with a larger share, wrong labels are the majority"),
    ]


class WrongLabelsComeFirst(AbstractGauge):
    """Leave each training row of a model out by one Newton step. Rank the rows by how improbable their labels are for
    the model without the row, the least probable label first. Suppose that, for at least 80 % of rows, the model
    without the row predicts the corrected class. Take a random pair of a mislabelled row and a row whose label is
    right. In at least nine of ten models, the mislabelled row comes first with probability at least 0.9.
    """

    title = "By leaving rows out, rows with wrong labels rank before rows with right labels"
    source = Source("rad2020alo", note="leaving one row out; here used to rank labels")
    stated = Kind.OWN
    population = MislabelledNetworks()
    relation = AtMost(delta=0.1)
    control = Control("with probability at least 0.975", lambda share, problem: share / 4)
    controls = "how many rows must be inspected to find the wrong labels"
    unexplained = "rows between two classes, where the right label is as improbable as a wrong label"
    traced = False
    shared = (polished_copy, rows_left_out)
    predict = _WORST
    trivial = 0.5  # an order by chance

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        assert problem.corrected is not None
        off = float(np.mean(rows_left_out(problem).outputs.argmax(1) != problem.corrected.argmax(1)))
        clear = Hypothesis("share of left-out rows whose predicted class is not the corrected label", off, "<=", _CLEAR)
        return [clear, *_some(problem)]

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The share of pairs of a row with a wrong label and one with a right label that are in the wrong order."""
        doubts = label_doubts(rows_left_out(problem).outputs, problem.y)
        return jnp.asarray(1 - doubts.area(wrong_labels(problem)))


class ShareOfWrongLabels(AbstractGauge):
    """Leave each training row out by one Newton step, and divide the resulting logits at the row by a temperature T.
    Let q_ik be the probability that these logits give to class k at row i. Suppose that a share e of the labels was
    replaced at random by another of the C classes. Then the label of row i is k with probability (1 - e) q_ik + e (1 -
    q_ik)/(C - 1). Collect the shares e that a likelihood-ratio test at 5 % does not reject, where T is fitted anew for
    each e. In at least nine of ten models, the interval of these shares contains the true share of mislabelled rows.
    """

    title = "The share of wrong labels, estimated from training rows alone"
    source = Source("rad2020alo", note="leaving one row out; here with a mixture of right and wrong labels")
    stated = Kind.OWN
    population = MislabelledNetworks()
    relation = Estimate()
    control = Control("a third of this share", lambda interval, problem: interval / 3)
    controls = "how many training labels are wrong"
    unexplained = "labels that are wrong in the same way everywhere, so that no row contradicts them"
    traced = False
    trials = 280
    shared = (polished_copy, rows_left_out)
    trivial = 1.0  # a share is at most 1

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return _some(problem)

    def predict(self, problem: Trained) -> Array:
        doubts = label_doubts(rows_left_out(problem).outputs, problem.y)
        return jnp.asarray([doubts.low, doubts.share, doubts.high])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The share of labels that differ from the corrected labels."""
        return jnp.full(3, wrong_labels(problem).mean())
