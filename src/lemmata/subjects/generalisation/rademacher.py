"""Rademacher complexity: how well a class of functions could fit pure noise, and which bound follows for new data.

This theory bounds the difference between training and true error for every function of a kernel ball at once. It
assumes independent rows, a bounded Lipschitz loss and a radius fixed beforehand. It does not explain predictors that
interpolate and still predict well, for which the bound exceeds the largest possible loss.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Hypothesis,
    Integer,
    Passage,
    Population,
    Reading,
    Real,
    Source,
    Space,
    Status,
)
from lemmata.engine.problems.conditions import semidefinite
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import DEFINITE_KERNEL, KERNEL, sampled_kernel
from lemmata.kernels import AbstractKernel, gram

ABOUT = {"tool": "empirical processes", "architecture": "kernel method", "object": "generalisation"}


class KernelBall(eqx.Module):
    """The functions of norm at most B (the radius) in a kernel's Hilbert space, given by the Gram matrix of n
    points.
    """

    matrix: Float[Array, "n n"]
    radius: Float[Array, ""]


class BallLearning(eqx.Module):
    """A learner in a kernel ball. Its n rows are drawn with replacement from a population, which defines the true
    error.

    Args:
        x: the points of the population.
        y: the targets of the points.
        kernel: the kernel whose Hilbert space contains the ball.
        ridge: the ridge of the fit. A fit outside the ball is scaled back to the boundary of the ball.
        radius: B, fixed before the rows are drawn.
        bound: b, where the loss is min(|f(x) - y|, b).
        size: n, the number of rows.
        delta: the probability with which the bound may fail.
    """

    x: Float[Array, "p d"]
    y: Float[Array, " p"]
    kernel: AbstractKernel
    ridge: Float[Array, ""]
    radius: Float[Array, ""]
    bound: Float[Array, ""]
    size: int = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=0.05)


def ball_coefficients(
    matrix: Float[Array, "n n"], y: Float[Array, " n"], ridge: Float[Array, ""], radius: Float[Array, ""]
) -> Float[Array, " n"]:
    """Return the coefficients (K + ridge I)^-1 y of kernel ridge regression, scaled back to a norm of at most B."""
    coefficients = jnp.linalg.solve(matrix + ridge * jnp.eye(len(y)), y)
    norm = jnp.sqrt(jnp.maximum(coefficients @ matrix @ coefficients, 0.0))
    return coefficients * jnp.minimum(1.0, radius / jnp.where(norm > 0, norm, 1.0))


class KernelBalls(Population[KernelBall]):
    """Balls for normal points in five dimensions, with an exponentially distributed radius."""

    settings = Space(n=Integer(30, 2, 400, "points"), kernel=KERNEL)

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelBall:
        points_key, radius_key = jax.random.split(key)
        points = jax.random.normal(points_key, (setting["n"], 5))
        return KernelBall(gram(sampled_kernel(setting["kernel"], 5), points), jax.random.exponential(radius_key))

    def pose(self, problem: object) -> KernelBall | None:
        """Return the smallest ball that contains the kernel ridge fit to the first output of the user's regression."""
        if not isinstance(problem, Regression):
            return None
        matrix = problem.gram
        fit = ball_coefficients(matrix, problem.y[:, 0], problem.ridge, jnp.asarray(jnp.inf))
        return KernelBall(matrix, jnp.sqrt(jnp.maximum(fit @ matrix @ fit, 0.0)))

    def hypotheses(self, problem: KernelBall) -> list[Hypothesis]:
        return [semidefinite(problem.matrix, "a Hilbert space")]


class NoisySigns(Population[BallLearning]):
    """Noisy signs at 1024 points in 8 dimensions, and a lengthscale that is so short that the ball fits noise."""

    settings = Space(
        n=Integer(100, 50, 400, "training rows"),
        radius=Real(0.5, 0.4, 5.0, "radius of the ball, divided by sqrt(n)"),
        kernel=DEFINITE_KERNEL,
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> BallLearning:
        """Draw points, and label them by the sign of the first coordinate plus normal noise."""
        x_key, noise_key = jax.random.split(key)
        x = jax.random.normal(x_key, (1024, 8))
        y = jnp.sign(x[:, 0] + jax.random.normal(noise_key, (1024,)))
        radius = jnp.asarray(setting["radius"] * setting["n"] ** 0.5)
        kernel = sampled_kernel(setting["kernel"], 1)
        return BallLearning(x, y, kernel, jnp.asarray(1e-3), radius, jnp.asarray(2.0), setting["n"])

    def pose(self, problem: object) -> BallLearning | None:
        """Use all rows of the user's regression as the population, and draw as many rows as there are training rows.

        Only the first output is used.

        The radius is half of the norm of the kernel ridge fit to the training rows. The largest loss is the range of
        the targets.
        """
        if not isinstance(problem, Regression):
            return None
        x, y = jnp.concatenate([problem.x, problem.x_test]), jnp.concatenate([problem.y, problem.y_test])[:, 0]
        matrix = problem.gram
        fit = ball_coefficients(matrix, problem.y[:, 0], problem.ridge, jnp.asarray(jnp.inf))
        radius = jnp.sqrt(jnp.maximum(fit @ matrix @ fit, 0.0)) / 2
        return BallLearning(x, y, problem.kernel, problem.ridge, radius, y.max() - y.min(), len(problem.x))

    def hypotheses(self, problem: BallLearning) -> list[Hypothesis]:
        return [
            Hypothesis("the largest loss b is positive", problem.bound, ">", 0.0, "the loss is min(|f(x) - y|, b)"),
            Hypothesis(
                "the radius is positive", problem.radius, ">", 0.0, "the functions lie in a ball of this radius"
            ),
            Hypothesis(
                "rows are drawn from a larger population",
                problem.size,
                "<",
                len(problem.x),
                "the population defines the true error",
            ),
            Hypothesis.unchecked(
                "radius and loss were fixed before the rows were drawn",
                "the numbers do not show how radius and loss were chosen",
            ),
        ]


DRAWS = 1024


def rademacher_bound(trace: Float[Array, ""], radius: Float[Array, ""] | float, size: int) -> Float[Array, ""]:
    """Return B sqrt(tr K) / n, a bound on the Rademacher complexity of {f: |f|_H <= B} on n points."""
    return radius * jnp.sqrt(trace) / size


def signed_suprema(problem: KernelBall, signs: Float[Array, "m n"]) -> Float[Array, " m"]:
    """Return sup_f (1/n) sum_i s_i f(x_i) = (B/n) sqrt(s' K s) over the ball, for each row s of signs."""
    quadratic = jnp.sum((signs @ problem.matrix) * signs, axis=1)
    return problem.radius / len(problem.matrix) * jnp.sqrt(jnp.maximum(quadratic, 0.0))


def generalisation_gap(problem: BallLearning, key: Key[Array, ""]) -> Float[Array, ""]:
    """Train the learner on rows drawn with replacement, and return its true error minus its training error."""
    rows = jax.random.choice(key, len(problem.x), (problem.size,))
    cross = gram(problem.kernel, problem.x, problem.x[rows])
    coefficients = ball_coefficients(cross[rows], problem.y[rows], problem.ridge, problem.radius)
    losses = jnp.minimum(jnp.abs(cross @ coefficients - problem.y), problem.bound)
    return losses.mean() - losses[rows].mean()


class KernelBallRademacher(Claim[KernelBall]):
    """Let {f: |f|_H <= B} be the ball of radius B in the Hilbert space H of a kernel, and let K be the n x n Gram
    matrix of points x_1, ..., x_n. The empirical Rademacher complexity of the ball on these points is at most

        E sup_f (1/n) sum_i s_i f(x_i) = (B/n) E sqrt(s' K s)  <=  B sqrt(tr K) / n

    where the s_i are independent random signs.
    """

    title = "The Rademacher complexity of a kernel ball of radius B is at most B sqrt(tr K) / n"
    source = Source("bartlett2002rademacher", "Lemma 22", note="without their factor 2")
    population = KernelBalls()
    relation = AtMost()
    # Khintchine's inequality with Szarek's constant, E sqrt(s' K s) >= sqrt(tr K / 2), makes this false
    control = Control("half of the trace is enough, B sqrt(tr K / 2) / n", lambda bound, problem: bound / jnp.sqrt(2.0))
    controls = "how well the ball correlates with random signs on the given points"
    unexplained = "how large the norm of a learned function is"

    def predict(self, problem: KernelBall) -> Array:
        return rademacher_bound(jnp.trace(problem.matrix), problem.radius, len(problem.matrix))

    def measure(self, problem: KernelBall, key: Key[Array, ""]) -> Array:
        """Return the mean over random signs, minus four standard errors, so that sampling noise does not count against
        the bound.
        """
        signs = jax.random.rademacher(key, (DRAWS, len(problem.matrix)), float)
        suprema = signed_suprema(problem, signs)
        return suprema.mean() - 4 * suprema.std(ddof=1) / jnp.sqrt(DRAWS)

    def trivial(self, problem: KernelBall) -> Array:
        """Return the mean of B sqrt(K(x, x)) over the points, because |f(x)| is at most this number at x."""
        return problem.radius * jnp.sqrt(jnp.diagonal(problem.matrix)).mean()


def _chance(problem: BallLearning) -> Array:
    return problem.bound * jnp.sqrt(jnp.log(1 / problem.delta) / (2 * problem.size))


def _complexity(problem: BallLearning) -> Array:
    trace = problem.size * problem.kernel.diagonal(problem.x).mean()
    return rademacher_bound(trace, problem.radius, problem.size)


class PrintedGeneralisationInequality(Claim[BallLearning]):
    """The source prints P[test loss > train loss + eps] <= exp(-n eps² / (2 R²)) for n training rows and eps > 0, where
    R is the Rademacher complexity of the class of predictors. So, with probability at least 1 - delta,

        test loss - train loss <= R sqrt(2 log(1/delta) / n).

    R is itself of the order 1/sqrt(n), so the right side is of the order 1/n, which is too small. In a correct
    inequality, the complexity is subtracted from eps, and the range of the loss stands in the denominator.

    The test uses the losses min(|f(x) - y|, b). The predictor f is the kernel ridge fit to the n rows, scaled back to
    the ball |f|_H <= B in the space H of a kernel K. The test replaces R by its upper bound B sqrt(E K(x, x) / n),
    which favours the printed statement.
    """

    title = (
        "As printed, a tail bound on the generalisation gap has the squared Rademacher complexity in its denominator"
    )
    source = Source("foundation2025", "(15)", note="as printed")
    population = NoisySigns()
    relation = AtMost(delta=0.05)
    control = Control("the probability is at most exp(-n eps² / R²)", lambda bound, problem: bound / jnp.sqrt(2.0))
    controls = "the probability that the true error exceeds the training error by eps"
    unexplained = "which loss is meant, and which predictor"
    reading = (
        "R is replaced by its upper bound B sqrt(E K(x, x) / n); the loss is bounded and Lipschitz; the predictor "
        "lies in a ball"
    )
    passage = Passage(
        "000_643c1008a95be5dc.txt",
        15205,
        15463,
        "972d0f81a2f06bb4",
        says="the Rademacher complexity R of the hypothesis class bounds the generalisation gap: the test loss exceeds "
        "the training loss by epsilon with probability at most exp(-n epsilon²/(2 R²))",
        right_if="R entered as a shift and the range b of the loss as the scale, exp(-2 n (epsilon - 2 R)²/b²) for "
        "epsilon above 2 R; or R were a sum over rows without the factor 1/n, which (16) and (17), of the order "
        "1/sqrt(n), exclude",
        formula="exp(-n eps²/(2 R²))",
    )
    readings = (
        Reading("R is the mean over n rows, for the functions", "refuted"),
        Reading("R is the complexity of the losses, which is at most that of the functions by contraction", "refuted"),
        Reading("R is twice the mean over n rows", "refuted"),
    )
    expected = Status.REFUTED

    def predict(self, problem: BallLearning) -> Array:
        """Return the eps at which the printed probability is delta."""
        mean = problem.kernel.diagonal(problem.x).mean()
        return problem.radius * jnp.sqrt(mean) / problem.size * jnp.sqrt(2 * jnp.log(1 / problem.delta))

    def measure(self, problem: BallLearning, key: Key[Array, ""]) -> Array:
        return generalisation_gap(problem, key)

    def trivial(self, problem: BallLearning) -> Array:
        """Return the largest loss b, which bounds the gap between the two errors."""
        return problem.bound


class RademacherGeneralisation(Claim[BallLearning]):
    """Let f range over the functions with |f|_H <= B in the Hilbert space H of a kernel K. Let the loss be min(|f(x) -
    y|, b), which is 1-Lipschitz in f(x). With probability at least 1 - delta over n independent rows (x, y), every such
    f satisfies

        true error <= training error + 2 B sqrt(E K(x, x) / n) + b sqrt(log(1/delta) / (2n)).

    The test uses the kernel ridge fit, scaled back to the ball, and delta = 0.05.
    """

    title = "Rademacher complexity bounds the true error of all functions in a kernel ball at once"
    source = Source("mohri2018", "Theorem 3.3", "Lemma 5.7", "Theorem 6.12")
    population = NoisySigns()
    relation = AtMost(delta=0.05)
    control = Control(
        "an eighth of the complexity is enough, B sqrt(E K / n) / 4",
        lambda bound, problem: _complexity(problem) / 4 + _chance(problem),
    )
    controls = "true error minus training error of every function in the ball"
    unexplained = "interpolating predictors, whose norm makes the bound vacuous"
    corrects = PrintedGeneralisationInequality

    def predict(self, problem: BallLearning) -> Array:
        return 2 * _complexity(problem) + _chance(problem)

    def measure(self, problem: BallLearning, key: Key[Array, ""]) -> Array:
        """Return the true error minus the training error of the learner."""
        return generalisation_gap(problem, key)

    def trivial(self, problem: BallLearning) -> Array:
        """Return the largest loss b, which bounds the gap between the two errors."""
        return problem.bound
