"""Shift: whether rows in use are like those that a model was judged on, and what can be said of its error there.

This theory controls whether two samples of rows are of one law, and the error in use while nothing speaks against it.
It asks for rows in use that were drawn beside the held-out ones; it leaves unexplained the error under a shift, which
inputs alone do not determine.
"""

import abc

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import stats

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained, find_shift, labels_needed, shift_in_use
from lemmata.subjects.trained_models._deployed_rows import Deployed, DeployedRows
from lemmata.subjects.trained_models._shift import LEVEL

from ._fresh_rows import enough_held_out, fresh_rows
from ._gauge import CLASSES_IN_USE, AbstractGauge
from ._outputs import held_outputs, held_rows
from .leaving_out import measured_share

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}
WITHIN = 0.05
_CONFIDENCE = 0.95
_MOVED = 0.8
_FAR = 3.0


class RowsInUseAreAlike(AbstractGauge):
    """A classifier is fitted to tell rows in use from held-out rows by inputs, their squares and the model's outputs;
    each row is scored by a fit to other rows. Where both are draws from one law, dealing the rows anew at random leaves
    the law of the area under its curve as it is, so that with probability at least 19/20 the area is at most the 10th
    largest of 199 such areas. Where there are fewer than 100 held-out rows, training rows take their place and outputs
    are left out.
    """

    title = "Area of a classifier of rows in use"
    source = Source("lopezpaz2017twosample", note="classifier two-sample tests; here with permutations")
    stated = Kind.OWN
    population = DeployedRows(hidden=0)
    relation = AtMost(delta=0.15)  # trials that show 1/20 to be below 1/10 would be many
    control = Control("a quarter as far above 1/2", lambda limit, problem: 0.5 + (limit - 0.5) / 4)
    controls = "whether rows in use look like those that the model was tested on"
    unexplained = "shifts of classes that inputs do not show; the effect of a shift on the error"
    traced = False
    trials = 200
    trivial = 1.0  # an area is at most 1

    def passes(self, problem: Trained) -> float:
        return 0.0 if problem.deployed is None else 1.0

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(shift_in_use(problem).limit)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Ridge regression on five folds, each row scored by a fit to the others."""
        return jnp.asarray(shift_in_use(problem).area)


class MovedRowsAreSeen(Claim[Trained]):
    """Held-out rows and at least as many in use, 200 or more, are normal with unit covariance around three centres in
    two to eight dimensions, and rows in use are moved by 0.8 along a random direction. The area of the classifier that
    tells them apart is above the 10th largest of 199 areas of rows dealt anew, so that the p-value is at most 1/20,
    with probability at least 0.8.
    """

    title = "A shift of rows in use is seen"
    source = RowsInUseAreAlike.source
    stated = Kind.OWN
    population = DeployedRows(moved=_MOVED, hidden=0)
    relation = AtLeast(delta=0.2)
    control = Control("three times as far above 1/2", lambda limit, problem: 0.5 + 3 * (limit - 0.5))
    controls = "how large a shift must be to be detected"
    unexplained = "shifts of few rows, or of few among many features"
    of_data = False
    traced = False
    trivial = 0.5  # the area of guessing

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(shift_in_use(problem).limit)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Ridge regression on five folds, each row scored by a fit to the others."""
        return jnp.asarray(shift_in_use(problem).area)


class InputsOfTrainingRowsAsReference(Claim[Trained]):
    """Where rows in use are of the law of the training rows, the area of a classifier that sees inputs and their
    squares, and no output of the model, is at most the 10th largest of 199 areas after the rows are dealt anew, with
    probability at least 19/20, whatever the model has learned from the training rows.
    """

    title = "Inputs of training rows as the reference of a shift"
    source = RowsInUseAreAlike.source
    stated = Kind.OWN
    population = DeployedRows(rows=100, features=50, hidden=0, decay=0.01)
    relation = AtMost(delta=0.15)
    control = RowsInUseAreAlike.control
    controls = "whether rows in use look like those that the model was trained on"
    unexplained = "shifts that outputs show better than inputs"
    of_data = False
    traced = False
    trials = 200
    trivial = 1.0  # an area is at most 1

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(find_shift(problem, training=True).limit)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Ridge regression on five folds, each row scored by a fit to the others."""
        return jnp.asarray(find_shift(problem, training=True).area)


def _confidence(problem: Trained) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " m"]]:
    """Errors and largest probabilities of held-out rows that are no copies, and largest probabilities in use."""
    assert problem.deployed is not None
    new = fresh_rows(problem)
    f, y = held_outputs(problem)[new], held_rows(problem)[1][new]
    used = problem.task.means(problem.model.outputs(problem.deployed)).max(1)
    return problem.task.errors(f, y), problem.task.means(f).max(1), used


def _limits(value: float, residuals: Float[np.ndarray, " n"], used: int) -> Float[np.ndarray, "3"]:
    """Normal limits of an error in use that differs from an estimate by a mean of residuals over `used` new rows.

    The variance counts one more wrong row: where none of n is, the next may be.
    """
    n = len(residuals)
    spread = np.sqrt((residuals.var() + 1 / n) * (1 / n + 1 / used))
    reach = stats.norm.ppf((1 + _CONFIDENCE) / 2) * spread
    return np.clip([value - reach, value, value + reach], 0.0, 1.0)


def by_confidence(problem: Trained) -> Float[np.ndarray, "3"]:
    """The held-out error plus the fall of the mean confidence from held-out rows to those in use, with limits."""
    wrong, held, used = _confidence(problem)
    return _limits(float((wrong + held).mean() - used.mean()), wrong + held, len(used))


def by_threshold(problem: Trained) -> Float[np.ndarray, "3"]:
    """The share of rows in use of less confidence than the threshold below which the share of held-out rows is their
    error, with limits.
    """
    wrong, held, used = _confidence(problem)
    ordered = np.append(np.sort(held), np.inf)
    threshold = ordered[int(wrong.sum())]
    return _limits(float((used < threshold).mean()), wrong - (held < threshold), len(used))


def error_in_use(problem: Trained) -> Float[np.ndarray, "3"]:
    """The error on rows in use whose classes are known, with exact limits."""
    assert isinstance(problem, Deployed)
    assert problem.deployed is not None
    assert problem.answers is not None
    wrong = problem.task.errors(problem.model.outputs(problem.deployed), problem.answers)
    return measured_share(int(wrong.sum()), len(wrong))


def unshifted(problem: Trained) -> list[Hypothesis]:
    """That the model is of classes, there are held-out rows, no shift is seen, and classes in use are known."""
    held = 0 if problem.held is None else int(fresh_rows(problem).sum())
    known = isinstance(problem, Deployed) and problem.answers is not None
    return [
        Hypothesis("the model is a classifier", float(problem.task.is_classification), ">=", 1.0),
        enough_held_out(held),
        Hypothesis("p-value of no shift", shift_in_use(problem).p_value, ">", LEVEL,
                   f"a shift is seen: {labels_needed(WITHIN)} labelled rows in use give the error to {WITHIN:g}"),
        Hypothesis(CLASSES_IN_USE, float(known), ">=", 1.0,
                   "without them, the error in use is predicted but not measured"),
    ]  # fmt: skip


class AbstractErrorInUse(AbstractGauge):
    """An estimate of the error on rows in use, judged on rows whose classes the population knows."""

    stated = Kind.OWN
    relation = Estimate()
    control = Control("half of that error", lambda interval, problem: interval / 2)
    controls = "the error on rows in use, whose classes are unknown"
    traced = False

    def passes(self, problem: Trained) -> float:
        return 0.0 if problem.deployed is None else 1.0

    @abc.abstractmethod
    def estimate(self, problem: Trained) -> Float[np.ndarray, "3"]:
        """Low end, value and high end."""

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(self.estimate(problem))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The model on rows in use, by the classes that the population knows."""
        return jnp.asarray(error_in_use(problem))

    def trivial(self, problem: Trained) -> Array:
        """The share that always guessing the most frequent class gets wrong."""
        return jnp.asarray(1 - problem.y.mean(0).max())


class ConfidenceFallsLessThanAccuracy(Claim[Trained]):
    """Where rows in use are moved by three standard deviations, two estimates of the error there are at most the error
    itself, in at least three of four models: the held-out error plus the fall of the mean confidence, and the share of
    rows whose confidence is below the threshold below which the share of held-out rows is their error.
    """

    title = "Confidence falls less than accuracy under a large shift"
    source = Source("guillory2021confidences", note="the difference of confidences, far from where it was fitted")
    stated = Kind.OWN
    population = DeployedRows(moved=_FAR, hidden=0)
    relation = AtMost(delta=0.25)
    control = Control("half of that error", lambda wrong, problem: wrong / 2)
    controls = "what confidence says about the error under a detected shift"
    unexplained = "why confidence does not fall as accuracy does; shifts of other kinds"
    of_data = False
    traced = False
    trials = 200
    trivial = (1.0, 1.0)  # a share is at most 1

    def predict(self, problem: Trained) -> Array:
        """From the classes in use, which the population knows."""
        return jnp.full(2, error_in_use(problem)[1])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Both estimates, from inputs alone."""
        return jnp.asarray([by_confidence(problem)[1], by_threshold(problem)[1]])


class ErrorInUseByConfidence(AbstractErrorInUse):
    """Where no classifier tells rows in use from held-out rows (a p-value above 1/20), the error in use is the held-out
    error plus the fall of the mean confidence from held-out rows to those in use. With e the error and c the confidence
    of a row it misses by a difference of means of e + c over both samples, and normal limits of 95 % hold the error in
    at least nine of ten models.
    """

    title = "Error in use from confidence"
    source = Source("guillory2021confidences", note="the difference of confidences, where no shift is seen")
    population = DeployedRows(hidden=0)
    unexplained = "the error under a shift, or under one that is too small to be detected"
    trials = 320

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return unshifted(problem)

    def estimate(self, problem: Trained) -> Float[np.ndarray, "3"]:
        return by_confidence(problem)


class ErrorInUseByThreshold(AbstractErrorInUse):
    """Where no classifier tells rows in use from held-out rows (a p-value above 1/20), the error in use is the share of
    them whose confidence is below the threshold below which the share of held-out rows is their error. Normal limits of
    95 %, with the variance over held-out rows of the error less the indicator of being below, hold the error in at
    least nine of ten models.
    """

    title = "Error in use from a threshold of confidence"
    source = Source("garg2022unlabeled", note="average thresholded confidence, where no shift is seen")
    population = DeployedRows(hidden=0)
    unexplained = "the error under a shift, or under one that is too small to be detected"
    trials = 320

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return unshifted(problem)

    def estimate(self, problem: Trained) -> Float[np.ndarray, "3"]:
        return by_threshold(problem)


class SameInputsTwoErrors(Claim[Trained]):
    """Rows in use have their classes y by one law and the next class y + 1 by another, on the same inputs. An estimate
    of the error that sees the model, its training and held-out rows with their classes and the inputs in use is the
    same number g under both, so

        max(|g - e|, |g - e'|) >= |e - e'|/2

    with the errors e and e' under the two laws: judged for the estimates from confidence and from its threshold, and
    for the guess 1/2. No error in use is known without classes.
    """

    title = "Inputs alone do not tell the error"
    source = Source("garg2022unlabeled", note="the impossibility in general, by two laws of classes on the same inputs")
    stated = Kind.OWN
    population = DeployedRows(hidden=0)
    relation = AtLeast(resolution=0.2)
    control = Control("the whole difference", lambda bound, problem: 2 * bound)
    controls = "how far any estimate of an error without classes may be off"
    unexplained = "which distributions of classes occur"
    of_data = False
    traced = False
    trivial = (0.0, 0.0, 0.0)  # a miss is at least 0

    def predict(self, problem: Trained) -> Array:
        first, second = _two_errors(problem)
        return jnp.full(3, abs(first - second) / 2)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The larger miss of each estimate under the two laws."""
        estimates = np.array([by_confidence(problem)[1], by_threshold(problem)[1], 0.5])
        return jnp.asarray(np.abs(estimates[:, None] - np.array(_two_errors(problem))).max(1))


def _two_errors(problem: Trained) -> tuple[float, float]:
    """The error on rows in use by their classes, and by the next ones."""
    assert isinstance(problem, Deployed)
    assert problem.deployed is not None
    assert problem.answers is not None
    f = problem.model.outputs(problem.deployed)
    laws = (problem.answers, np.roll(problem.answers, 1, axis=1))
    return float(problem.task.errors(f, laws[0]).mean()), float(problem.task.errors(f, laws[1]).mean())


class LabelledRowsTellTheError(Claim[Trained]):
    """Whatever the shift, 404 rows in use drawn at random and labelled tell the error there: with so many rows no exact
    limit of 95 % is farther than 0.05 from the share of wrong ones, which is then within 0.05 of the error in use with
    probability at least 17/20: 19/20, less the chance of the 5000 further rows that stand for the law.
    """

    title = "Labels that an error under shift takes"
    source = Source("clopper1934", note="the smallest number of rows by their exact limits")
    stated = Kind.OWN
    population = DeployedRows(moved=_FAR, relabelled=0.2, hidden=0, used=labels_needed(WITHIN))
    relation = AtMost(delta=0.15)
    control = Control("half of that distance", lambda distance, problem: distance / 2)
    controls = "how many labels give what inputs do not show"
    unexplained = "which rows to label first"
    of_data = False
    traced = False
    trials = 200
    predict = WITHIN
    trivial = 0.5  # the guess 1/2 is within 1/2

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The share of wrong ones among the first 404 rows in use, against 5000 others."""
        assert isinstance(problem, Deployed)
        assert problem.deployed is not None
        assert problem.answers is not None
        few = slice(labels_needed(WITHIN))
        wrong = problem.task.errors(problem.model.outputs(problem.deployed[few]), problem.answers[few])
        return jnp.asarray(abs(float(wrong.mean()) - problem.wrong))
