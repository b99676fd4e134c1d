"""Random labels. No learner can predict them, and how well a class fits them measures its complexity.

This theory is about errors on random labels. No learner predicts labels that it has not seen. The best fit to random
labels gives the Rademacher complexity. A network with twice as many weights as rows fits any labels. The theory does
not explain why networks that can memorise generalise from meaningful labels.
"""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, EqualInMean, Kind, Source
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.rows import Rows, finite
from lemmata.engine.problems.variables import dimension, rows
from lemmata.subjects.generalisation._labelled_points import Memorised, gap_of_projections
from lemmata.subjects.generalisation._random_labels import Learners, Lunch, SignClass, SignClasses

ABOUT = {"tool": "empirical processes", "architecture": "dense network", "object": "generalisation"}

_WIDTH, _STEPS, _FRESH = 32, 200, 128


def _signs(n: int) -> Float[np.ndarray, "labellings n"]:
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n)))


def _expected_error(problem: Lunch) -> Array:
    """Average the error over all labellings of the 2 m points and all samples of m points with replacement."""
    points = len(problem.bias)
    m = points // 2
    kinds = list(itertools.combinations_with_replacement(range(points), m))
    counts = np.array([np.bincount(kind, minlength=points) for kind in kinds], float)
    orders = np.array([math.factorial(m) / math.prod(math.factorial(int(c)) for c in count) for count in counts])
    labels = _signs(points)
    votes = jnp.einsum("si,li,ji->slj", counts, labels, problem.votes) + problem.bias
    return jnp.sum(orders[:, None, None] * ((votes > 0) != (labels > 0))) / (points**m * len(labels) * points)


def _unseen(problem: Lunch) -> Array:
    points = len(problem.bias)
    return jnp.asarray((1 - 1 / points) ** (points // 2) / 2)


class NoFreeLunch(Claim[Lunch]):
    """Draw uniformly random labels for 2 m points, and draw m of the points with replacement for training. Consider a
    learner that repeats the labels that it has seen. Its expected error over the 2 m points is

        (1/2) (1 - 1/(2 m))^m

    whatever the learner predicts at the other points. As m grows, this error rises from 1/4 to the limit e^(-1/2)/2 =
    0.303. For some labelling, the error of the learner is at least as large, because the expected error is the mean
    over all labellings.
    """

    title = "Every consistent learner has the expected error (1 - 1/(2m))^m/2 on random labels of 2m points"
    source = Source("emergence2026", "Figure 7.11", note="the exact mean over labellings of a shattered set")
    stated = Kind.OWN
    population = Learners(consistent=1.0)
    relation = Equal()
    control = Control("the error is (1/2)(1 - 1/(2 m))^(2 m), as after 2 m draws", lambda error, problem: 2 * error**2)
    controls = "the error of consistent learners if every labelling is possible"
    unexplained = "labellings that are not equally likely"

    def predict(self, problem: Lunch) -> Array:
        return _unseen(problem)

    def measure(self, problem: Lunch, key: Key[Array, ""]) -> Array:
        return _expected_error(problem)


class NoFreeLunchForAnyLearner(Claim[Lunch]):
    """Draw uniformly random labels for 2 m points, and draw m of the points with replacement for training. Every
    learner has an expected error over the 2 m points of at least

        (1/2) (1 - 1/(2 m))^m >= 1/4

    because an unseen label is a coin toss. Learners that repeat the labels that they have seen attain the bound.
    """

    title = "A lower bound of 1/4 on the expected error of any learner on random labels"
    source = Source("emergence2026", "Figure 7.11", note="the mean over labellings of a shattered set, for any learner")
    stated = Kind.OWN
    population = Learners()
    relation = AtLeast()
    control = Control("the error is at least a twentieth larger", lambda error, problem: 1.05 * error)
    controls = "the error of any learner if every labelling is possible"
    unexplained = "labellings that are not equally likely"
    trivial = 0.0  # an error is not negative

    def predict(self, problem: Lunch) -> Array:
        return _unseen(problem)

    def measure(self, problem: Lunch, key: Key[Array, ""]) -> Array:
        return _expected_error(problem)


class RandomLabelIdentity(Claim[SignClass]):
    """Let the classifiers h of some class have answers -1 and 1 on N rows x_i, and let the labels s_i be independent
    fair coins. Let err(h, s) be the share of rows where h disagrees with s. The empirical Rademacher complexity of the
    class is the mean of its largest correlation with these labels, the left side of the formula. This Rademacher
    complexity follows from the least training error on random labels:

        E max_h (1/N) sum_i s_i h(x_i) = 1 - 2 E min_h err(h, s).
    """

    title = "Rademacher complexity from the least training error on random labels"
    source = Source("emergence2026", "Figure 7.12", note="written with the training error")
    population = SignClasses()
    relation = Equal()
    control = Control("the complexity is 1 - E min err, without the factor 2", lambda value, problem: (1 + value) / 2)
    controls = "the Rademacher complexity of a class of classifiers"
    unexplained = "training that does not find the least error, and so gives only a lower bound on the complexity"

    def predict(self, problem: SignClass) -> Array:
        labels = _signs(problem.answers.shape[1])
        wrong = jnp.sum((labels[:, None] > 0) != (problem.answers > 0), axis=2)
        return 1 - 2 * jnp.mean(wrong.min(axis=1)) / labels.shape[1]

    def measure(self, problem: SignClass, key: Key[Array, ""]) -> Array:
        signs = _signs(problem.answers.shape[1])
        return jnp.mean(jnp.max(signs @ problem.answers.T, axis=1)) / signs.shape[1]

    def condition(self, problem: SignClass) -> Array:
        """Allow for cancellation: the complexity of few classifiers is a small difference of 1 and twice an error near
        1/2.
        """
        return 1 / jnp.maximum(self.predict(problem), 1e-15)


def _memorising(projections: Array, y: Array) -> tuple[Array, Array]:
    """Return thresholds b and weights w with y_i = sum_j w_j max(p_i - b_j, 0) at sorted projections p_i.

    With b_1 < p_1 < b_2 < p_2 < ... the matrix max(p_i - b_j, 0) is lower triangular with a positive diagonal.
    """
    first = projections[:1] - (projections[-1] - projections[0]) / len(projections)
    thresholds = jnp.concatenate([first, (projections[1:] + projections[:-1]) / 2])
    matrix = jnp.maximum(projections[:, None] - thresholds, 0.0)
    return thresholds, jax.scipy.linalg.solve_triangular(matrix, y, lower=True)


def _fitted(problem: Memorised, every: int = 1) -> tuple[Array, Array]:
    """Return the network that memorises every `every`-th row, in the order of the projections."""
    projections = problem.x @ problem.direction
    order = jnp.argsort(projections)[::every]
    return _memorising(projections[order], problem.y[order])


def _answers(problem: Memorised, network: tuple[Array, Array]) -> Array:
    thresholds, weights = network
    return jnp.maximum((problem.x @ problem.direction)[:, None] - thresholds, 0.0) @ weights


class MemorisingNetwork(Claim[Memorised]):
    """Let N rows x_i in d dimensions have different projections <a, x_i> on a direction a, and let y_i be any targets.
    There are thresholds b_j and weights w_j, j = 1, ..., N, with

        sum_j w_j max(<a, x_i> - b_j, 0) = y_i   for all i.

    So a ReLU network with one hidden layer and 2 N + d weights memorises any targets. The weights w_j grow in inverse
    proportion to the gaps between the projections.
    """

    title = "A ReLU network with two weights per row memorises any targets"
    source = Source("zhang2017", "Theorem 1", note="by the construction of the proof")
    population = Drawn(
        Memorised,
        gap_of_projections,
        n=rows(20, corners=(10, 30)),
        d=dimension(5),
        x=normal("n", "d"),
        y=normal("n"),
        direction=normal("d"),
    )
    relation = Equal(block=1)
    control = Control(
        "half as many units, built from every second row, fit all targets",
        lambda targets, problem: _answers(problem, _fitted(problem, 2)),
    )
    controls = "whether a network can fit random targets"
    unexplained = "whether training finds the network, and what the network predicts on other rows"

    def predict(self, problem: Memorised) -> Float[Array, " n"]:
        return problem.y

    def measure(self, problem: Memorised, key: Key[Array, ""]) -> Float[Array, " n"]:
        return _answers(problem, _fitted(problem))

    def condition(self, problem: Memorised) -> Array:
        """Allow for rounding of N terms of the size |w_j| max |<a, x>|, in the solution and in each answer."""
        thresholds, weights = _fitted(problem)
        size = jnp.abs(problem.x @ problem.direction).max() + jnp.abs(thresholds).max()
        return jnp.abs(weights).sum() * size / jnp.abs(problem.y).max()


class ChanceOnRandomLabels(Claim[Rows]):
    """Label rows by fair coins, and train a ReLU network with one wide hidden layer on these rows for many steps. The
    network fits these labels. Its error on new rows, whose labels are fair coins too, is the error of chance. So the
    test error minus the training error is

        1/2.

    Any network has the error of chance on new rows, because the labels of these rows are coins.
    """

    title = "Networks fit random labels and have the error of chance on new rows"
    source = Source("emergence2026", "Figure 7.13", note="for a wide hidden layer and gradient descent with Adam")
    population = Drawn(Rows, finite, n=rows(10, corners=(8, 12)), d=dimension(5, corners=(5, 10)), x=normal("n", "d"))
    relation = EqualInMean(margin=0.01, resolution=0.09)
    control = Control("the gap is a quarter, as if memory helped half of the time", lambda gap, problem: gap / 2)
    controls = "the gap between training and test error of networks that memorise"
    unexplained = "why the same network generalises if the labels depend on the rows"
    trials = 64
    predict = 0.5

    def measure(self, problem: Rows, key: Key[Array, ""]) -> Array:
        """Return the test error minus the training error, after training on all rows at once."""
        n, d = problem.x.shape
        label_key, first_key, last_key, fresh_key = jax.random.split(key, 4)
        labels = jax.random.rademacher(label_key, (n + _FRESH,), float)
        first = jax.random.normal(first_key, (d + 1, _WIDTH)) / jnp.sqrt(d + 1)
        params = (first, jax.random.normal(last_key, (_WIDTH,)) / jnp.sqrt(_WIDTH))
        answer = lambda params, x: jnp.maximum(x @ params[0][:-1] + params[0][-1], 0.0) @ params[1]
        loss = lambda params: jnp.mean(jax.nn.softplus(-labels[:n] * answer(params, problem.x)))
        method = optax.adam(0.05)

        def step(state, _):
            params, memory = state
            updates, memory = method.update(jax.grad(loss)(params), memory)
            return (optax.apply_updates(params, updates), memory), None

        (params, _), _ = jax.lax.scan(step, (params, method.init(params)), length=_STEPS)
        fresh = jax.random.normal(fresh_key, (_FRESH, d))
        wrong = jnp.concatenate([answer(params, problem.x), answer(params, fresh)]) * labels < 0
        return wrong[n:].mean() - wrong[:n].mean()
