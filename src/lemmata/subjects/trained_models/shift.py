"""Shift: whether deployment rows are like the rows on which a model was tested, and what follows for its error.

The theory tests whether two samples of rows come from one distribution. If the test does not reject this, it estimates
the error in deployment. It needs deployment rows that were drawn independently of the held-out rows. It does not give
the error under a shift, which inputs alone do not determine.
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
    """Fit a classifier that tells deployment rows from held-out rows by the inputs, their squares and the model's
    outputs. Score each row by a classifier that is fitted to other rows. Suppose that both kinds of rows are drawn from
    one distribution. Then the area under the ROC curve of these scores has the same distribution if all rows are first
    divided at random into the two kinds. So with probability at least 19/20, the area is at most the 10th largest of
    199 areas after such random divisions. If there are fewer than 100 held-out rows, training rows take their place,
    and the outputs are not used.
    """

    title = "An upper limit on the ROC area of a classifier that tells deployment rows from held-out rows"
    source = Source("lopezpaz2017twosample", note="classifier two-sample tests; here with permutations")
    stated = Kind.OWN
    population = DeployedRows(hidden=0)
    # The rate is 1/20. Many more trials would be needed to show that it is below a smaller delta, such as 1/10.
    relation = AtMost(delta=0.15)
    control = Control("a limit that is a quarter as far above 1/2", lambda limit, problem: 0.5 + (limit - 0.5) / 4)
    controls = "whether deployment rows look like the rows on which the model was tested"
    unexplained = "shifts of classes that inputs do not show; the effect of a shift on the error"
    traced = False
    trials = 200
    trivial = 1.0  # an area is at most 1

    def passes(self, problem: Trained) -> float:
        return 0.0 if problem.deployed is None else 1.0

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(shift_in_use(problem).limit)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Fit ridge regression on five folds; each row is scored by a fit to the other folds."""
        return jnp.asarray(shift_in_use(problem).area)


class MovedRowsAreSeen(Claim[Trained]):
    """Suppose that there are at least 200 held-out rows, and at least as many deployment rows as held-out rows. Let
    both kinds of rows be normal with unit covariance around three centres in two to eight dimensions. Move the
    deployment rows by 0.8 along a random direction. Take the area under the ROC curve of a classifier that tells the
    two kinds of rows apart. Compute 199 more such areas after all rows are divided at random into the two kinds. With
    probability at least 0.8, the first area is above the 10th largest of the 199 areas. The p-value is then at most
    1/20.
    """

    title = "A classifier of deployment and held-out rows detects a shift of 0.8 standard deviations"
    source = RowsInUseAreAlike.source
    stated = Kind.OWN
    population = DeployedRows(moved=_MOVED, hidden=0)
    relation = AtLeast(delta=0.2)
    control = Control("a limit that is three times as far above 1/2", lambda limit, problem: 0.5 + 3 * (limit - 0.5))
    controls = "how large a shift must be to be detected"
    unexplained = "shifts of a few rows, or of a few of many features"
    of_data = False
    traced = False
    trivial = 0.5  # the area of guessing

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(shift_in_use(problem).limit)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Fit ridge regression on five folds; each row is scored by a fit to the other folds."""
        return jnp.asarray(shift_in_use(problem).area)


class InputsOfTrainingRowsAsReference(Claim[Trained]):
    """Let deployment rows have the distribution of the training rows. Let a classifier tell deployment rows from
    training rows by the inputs and their squares, without any output of the model. Compute 199 more areas under the
    classifier's ROC curve after all rows are divided at random into the two kinds. With probability at least 19/20, the
    area for the true division is at most the 10th largest of these 199 areas. This holds whatever the model has learned
    from the training rows.
    """

    title = "Without a model's outputs, training rows can be the reference of a test for distribution shift"
    source = RowsInUseAreAlike.source
    stated = Kind.OWN
    population = DeployedRows(rows=100, features=50, hidden=0, decay=0.01)
    relation = AtMost(delta=0.15)
    control = RowsInUseAreAlike.control
    controls = "whether deployment rows look like the rows on which the model was trained"
    unexplained = "shifts that outputs show better than inputs"
    of_data = False
    traced = False
    trials = 200
    trivial = 1.0  # an area is at most 1

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(find_shift(problem, training=True).limit)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Fit ridge regression on five folds; each row is scored by a fit to the other folds."""
        return jnp.asarray(find_shift(problem, training=True).area)


def _confidence(problem: Trained) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " m"]]:
    """Return errors and largest probabilities of held-out rows, and largest probabilities of deployment rows."""
    assert problem.deployed is not None
    new = fresh_rows(problem)
    f, y = held_outputs(problem)[new], held_rows(problem)[1][new]
    used = problem.task.means(problem.model.outputs(problem.deployed)).max(1)
    return problem.task.errors(f, y), problem.task.means(f).max(1), used


def _limits(value: float, residuals: Float[np.ndarray, " n"], used: int) -> Float[np.ndarray, "3"]:
    """Normal limits of an error in deployment, which differs from an estimate by a mean of residuals over new rows.

    The variance counts one more wrong row: even if none of n rows is wrong, the next row may be.
    """
    n = len(residuals)
    spread = np.sqrt((residuals.var() + 1 / n) * (1 / n + 1 / used))
    reach = stats.norm.ppf((1 + _CONFIDENCE) / 2) * spread
    return np.clip([value - reach, value, value + reach], 0.0, 1.0)


def by_confidence(problem: Trained) -> Float[np.ndarray, "3"]:
    """Return the held-out error plus the fall of the mean confidence from held-out to deployment rows, with limits."""
    wrong, held, used = _confidence(problem)
    return _limits(float((wrong + held).mean() - used.mean()), wrong + held, len(used))


def by_threshold(problem: Trained) -> Float[np.ndarray, "3"]:
    """Return, with limits, the share of deployment rows with confidence below a threshold.

    The share of held-out rows below this threshold equals the held-out error.
    """
    wrong, held, used = _confidence(problem)
    ordered = np.append(np.sort(held), np.inf)
    threshold = ordered[int(wrong.sum())]
    return _limits(float((used < threshold).mean()), wrong - (held < threshold), len(used))


def error_in_use(problem: Trained) -> Float[np.ndarray, "3"]:
    """Return the error on deployment rows whose classes are known, with exact limits."""
    assert isinstance(problem, Deployed)
    assert problem.deployed is not None
    assert problem.answers is not None
    wrong = problem.task.errors(problem.model.outputs(problem.deployed), problem.answers)
    return measured_share(int(wrong.sum()), len(wrong))


def unshifted(problem: Trained) -> list[Hypothesis]:
    """The conditions that the model predicts classes, that no shift is seen, and that there are rows to test on."""
    held = 0 if problem.held is None else int(fresh_rows(problem).sum())
    known = isinstance(problem, Deployed) and problem.answers is not None
    return [
        Hypothesis("the model predicts classes", float(problem.task.is_classification), ">=", 1.0),
        enough_held_out(held),
        Hypothesis("p-value of no shift", shift_in_use(problem).p_value, ">", LEVEL,
                   f"a shift is detected; the classes of {labels_needed(WITHIN)} deployment rows would give the "
                   f"error to within {WITHIN:g}"),
        Hypothesis(CLASSES_IN_USE, float(known), ">=", 1.0,
                   "without these rows the error in deployment is predicted but not measured"),
    ]  # fmt: skip


class AbstractErrorInUse(AbstractGauge):
    """An estimate of the error on deployment rows, tested on generated rows, whose classes are known."""

    stated = Kind.OWN
    relation = Estimate()
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the error on deployment rows, whose classes are unknown"
    traced = False

    def passes(self, problem: Trained) -> float:
        return 0.0 if problem.deployed is None else 1.0

    @abc.abstractmethod
    def estimate(self, problem: Trained) -> Float[np.ndarray, "3"]:
        """Return the low end, the value and the high end of the estimate."""

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(self.estimate(problem))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the model on deployment rows, whose classes the generated problem contains."""
        return jnp.asarray(error_in_use(problem))

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class."""
        return jnp.asarray(1 - problem.y.mean(0).max())


class ConfidenceFallsLessThanAccuracy(Claim[Trained]):
    """Let the confidence of a row be the largest probability that the model gives to a class. Move deployment rows by
    three standard deviations, and take two estimates of the error on them. The first is the held-out error plus the
    fall of the mean confidence from held-out rows to deployment rows. For the second, choose a threshold so that the
    share of held-out rows with confidence below the threshold equals the held-out error. The second estimate is the
    share of deployment rows with confidence below this threshold. In at least three of four models, both estimates are
    at most the true error on the deployment rows.
    """

    title = "Confidence falls less than accuracy under a large shift of the inputs"
    source = Source("guillory2021confidences", note="the difference of confidences, under a large shift")
    stated = Kind.OWN
    population = DeployedRows(moved=_FAR, hidden=0)
    relation = AtMost(delta=0.25)
    control = Control("half of this error", lambda wrong, problem: wrong / 2)
    controls = "what confidence shows about the error under a shift that is detected"
    unexplained = "why confidence falls less than accuracy; shifts of other kinds"
    of_data = False
    traced = False
    trials = 200
    trivial = (1.0, 1.0)  # a share is at most 1

    def predict(self, problem: Trained) -> Array:
        """Compute the true error from the classes of deployment rows, which the generated problem contains."""
        return jnp.full(2, error_in_use(problem)[1])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Compute both estimates from inputs alone."""
        return jnp.asarray([by_confidence(problem)[1], by_threshold(problem)[1]])


class ErrorInUseByConfidence(AbstractErrorInUse):
    """Suppose that a classifier cannot tell deployment rows from held-out rows: the p-value of its test is above 1/20.
    The error in deployment is estimated by the held-out error plus the fall of the mean confidence from held-out rows
    to deployment rows. The confidence c of a row is the largest probability that the model gives to a class. Let e be 1
    if the model is wrong on the row, and 0 otherwise. The estimate differs from the true error by the difference
    between two means of e + c: the mean over held-out rows and the mean over deployment rows. In at least nine of ten
    models, normal limits of 95 % around the estimate contain the error on the deployment rows.
    """

    title = "Error in deployment, estimated from the fall of the mean confidence"
    source = Source("guillory2021confidences", note="the difference of confidences, if no shift is detected")
    population = DeployedRows(hidden=0)
    unexplained = "the error under a shift, even a shift that is too small to be detected"
    trials = 320

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return unshifted(problem)

    def estimate(self, problem: Trained) -> Float[np.ndarray, "3"]:
        return by_confidence(problem)


class ErrorInUseByThreshold(AbstractErrorInUse):
    """Suppose that a classifier cannot tell deployment rows from held-out rows: the p-value of its test is above 1/20.
    Let the confidence of a row be the largest probability that the model gives to a class. Choose a threshold so that
    the share of held-out rows with confidence below the threshold equals the held-out error. Then the share of
    deployment rows with confidence below this threshold estimates the error in deployment. In at least nine of ten
    models, normal limits of 95 % around the estimate contain the error on the deployment rows. These limits use a
    variance over held-out rows: that of the difference between the error of a row (0 or 1) and the indicator of a
    confidence below the threshold.
    """

    title = "Error in deployment, estimated from a threshold of the confidence"
    source = Source("garg2022unlabeled", note="average thresholded confidence, if no shift is detected")
    population = DeployedRows(hidden=0)
    unexplained = "the error under a shift, even a shift that is too small to be detected"
    trials = 320

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return unshifted(problem)

    def estimate(self, problem: Trained) -> Float[np.ndarray, "3"]:
        return by_threshold(problem)


class SameInputsTwoErrors(Claim[Trained]):
    """Let deployment rows have their classes y under one distribution, and the next class y + 1 under another
    distribution on the same inputs. Let e and e' be the errors of a model under the two distributions. An estimate of
    the error may see the model, its training and held-out rows with their classes, and the inputs in deployment. The
    estimate is then the same number g under both distributions, so that

        max(|g - e|, |g - e'|) >= |e - e'|/2

    for every such estimate. So the error in deployment is not known without classes. The test uses an estimate from the
    mean confidence, an estimate from a threshold of the confidence, and the guess 1/2.
    """

    title = "Inputs alone do not determine the error of a model in deployment"
    source = Source(
        "garg2022unlabeled", note="the impossibility in general, by two distributions of classes on the same inputs"
    )
    stated = Kind.OWN
    population = DeployedRows(hidden=0)
    relation = AtLeast(resolution=0.2)
    control = Control("at least the whole difference", lambda bound, problem: 2 * bound)
    controls = "how far an estimate of the error without classes can be off"
    unexplained = "which distributions of classes occur"
    of_data = False
    traced = False
    trivial = (0.0, 0.0, 0.0)  # a miss is at least 0

    def predict(self, problem: Trained) -> Array:
        first, second = _two_errors(problem)
        return jnp.full(3, abs(first - second) / 2)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """For each estimate, the larger of its distances from the two errors."""
        estimates = np.array([by_confidence(problem)[1], by_threshold(problem)[1], 0.5])
        return jnp.asarray(np.abs(estimates[:, None] - np.array(_two_errors(problem))).max(1))


def _two_errors(problem: Trained) -> tuple[float, float]:
    """The error on deployment rows with their own classes, and with each class replaced by the next."""
    assert isinstance(problem, Deployed)
    assert problem.deployed is not None
    assert problem.answers is not None
    f = problem.model.outputs(problem.deployed)
    laws = (problem.answers, np.roll(problem.answers, 1, axis=1))
    return float(problem.task.errors(f, laws[0]).mean()), float(problem.task.errors(f, laws[1]).mean())


class LabelledRowsTellTheError(Claim[Trained]):
    """Draw 404 deployment rows at random, and label them. With so many rows, no exact limit of 95 % is farther than
    0.05 from the share of wrong rows. Whatever the shift, this share is then within 0.05 of the error in deployment
    with probability at least 19/20. The test takes the error on 5000 further rows for the error in deployment. Because
    this error also varies by chance, the test only requires a probability of 17/20.
    """

    title = "404 labelled deployment rows give a model's error to within 0.05 under any shift"
    source = Source("clopper1934", note="the smallest number of rows, from their exact limits")
    stated = Kind.OWN
    population = DeployedRows(moved=_FAR, relabelled=0.2, hidden=0, used=labels_needed(WITHIN))
    relation = AtMost(delta=0.15)
    control = Control("half of this distance", lambda distance, problem: distance / 2)
    controls = "how many labelled rows show the error, which inputs alone do not show"
    unexplained = "which rows to label first"
    of_data = False
    traced = False
    trials = 200
    predict = WITHIN
    trivial = 0.5  # the guess 1/2 is within 1/2

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The distance between the shares of wrong rows among the first 404 deployment rows and among 5000 others."""
        assert isinstance(problem, Deployed)
        assert problem.deployed is not None
        assert problem.answers is not None
        few = slice(labels_needed(WITHIN))
        wrong = problem.task.errors(problem.model.outputs(problem.deployed[few]), problem.answers[few])
        return jnp.asarray(abs(float(wrong.mean()) - problem.wrong))
