"""False statements of optimisation: steps of gradient descent, power iteration, conjugate gradients."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Hypothesis, Integer, Population, Real, Space, Status

from ._textbook import DOUBLED, HALVED, AbstractTextbook, Case, book


def _length(x: Float[Array, " d"]) -> Float[Array, ""]:
    """|x|, with the derivative 0 at 0."""
    squared = x @ x
    return jnp.where(squared > 0, jnp.sqrt(jnp.where(squared > 0, squared, 1.0)), 0.0)


def _moderate(name: str, x: Float[Array, " d"]) -> list[Hypothesis]:
    """Not 0, where both sides are, and within the range of numbers."""
    size = jnp.abs(x).max()
    return [Hypothesis(f"{name} is not 0", size, ">", 1e-6), Hypothesis(f"{name} is moderate", size, "<", 1e6)]


class HuberDescent(eqx.Module):
    """steps of gradient descent of size 1/L from start on L times Huber's function of |x|."""

    start: Float[Array, " d"]
    threshold: Float[Array, ""]
    smoothness: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def value(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """L |x|²/2 within the threshold t, L (t |x| - t²/2) beyond it; the minimum is 0."""
        within = jnp.minimum(_length(x), self.threshold)
        return self.smoothness * (within * _length(x) - within**2 / 2)

    def gradient(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """L x, shortened to the length L t."""
        return self.smoothness * x * self.threshold / jnp.maximum(_length(x), self.threshold)


class HuberDescents(Population[HuberDescent]):
    """Starting points of any size, several thresholds."""

    free: ClassVar[tuple[str, ...]] = ("start",)

    def settings(self) -> Space:
        return Space(
            n=Integer(20, 1, 50, "steps"),
            d=Integer(3, 1, 10),
            threshold=Real(1.0, 0.001, 10.0, "where the quadratic ends"),
            smoothness=Real(1.0, 0.1, 10.0, "L"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> HuberDescent:
        start, threshold = jax.random.normal(key, (setting["d"],)), jnp.asarray(setting["threshold"])
        return HuberDescent(start, threshold, jnp.asarray(setting["smoothness"]), setting["n"])

    def hypotheses(self, problem: HuberDescent) -> list[Hypothesis]:
        return _moderate("the start", problem.start)


class AbstractWorstCase(AbstractTextbook[HuberDescent]):
    """The value after the last step."""

    population = HuberDescents()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: HuberDescent, key: Key[Array, ""]) -> Array:
        move = lambda _, x: x - problem.gradient(x) / problem.smoothness
        return problem.value(jax.lax.fori_loop(0, problem.steps, move, problem.start))

    def condition(self, problem: HuberDescent) -> Array:
        """Every step rounds a point of the size of the start."""
        return 10.0 * (1 + problem.steps) ** 2


class DescentWorstCaseTooGood(AbstractWorstCase):
    """n steps of gradient descent of size 1/L from x0 on a convex function with an L-Lipschitz gradient and the minimum
    0 at 0 reach a value of at most L |x0|² / (4 n + 4).
    """

    title = "Gradient descent's worst case with 4 n + 4"
    source = book("drori2014", "the worst case of gradient descent, with a wrong constant")
    expected = Status.REFUTED

    def predict(self, problem: HuberDescent) -> Array:
        return problem.smoothness * jnp.sum(problem.start**2) / (4 * problem.steps + 4)


class DescentWorstCase(AbstractWorstCase):
    """n steps of gradient descent of size 1/L from x0 on a convex function with an L-Lipschitz gradient and the minimum
    0 at 0 reach a value of at most L |x0|² / (4 n + 2), which is attained by a function of Huber's.
    """

    title = "Gradient descent's worst case"
    source = book("drori2014", "the worst case of gradient descent")

    def predict(self, problem: HuberDescent) -> Array:
        return problem.smoothness * jnp.sum(problem.start**2) / (4 * problem.steps + 2)


class QuadraticDescent(eqx.Module):
    """steps of gradient descent from start on 1/2 sum_i h_i x_i², h_i = exp(logits_i) over the largest of them."""

    logits: Float[Array, " d"]
    start: Float[Array, " d"]
    steps: int = eqx.field(static=True)

    @property
    def curvatures(self) -> Float[Array, " d"]:
        """The eigenvalues h of the Hessian; the largest is L = 1."""
        return jnp.exp(self.logits - self.logits.max())

    @property
    def conditioning(self) -> Float[Array, ""]:
        """L over the smallest curvature."""
        return jnp.exp(self.logits.max() - self.logits.min())

    def descend(self, step: Float[Array, ""] | float) -> Float[Array, " d"]:
        """Where the steps end."""
        move = lambda _, x: x - step * self.curvatures * x
        return jax.lax.fori_loop(0, self.steps, move, self.start)


class QuadraticDescents(Population[QuadraticDescent]):
    """Random curvatures and random starting points."""

    free: ClassVar[tuple[str, ...]] = ("logits", "start")

    def settings(self) -> Space:
        return Space(d=Integer(10, 2, 30), n=Integer(1, 1, 20, "steps"), spread=Real(1.0, 0.1, 3.0))

    def sample(self, setting: dict, key: Key[Array, ""]) -> QuadraticDescent:
        logits, start = jax.random.normal(key, (2, setting["d"]))
        return QuadraticDescent(setting["spread"] * logits, start, setting["n"])

    def hypotheses(self, problem: QuadraticDescent) -> list[Hypothesis]:
        conditioned = Hypothesis("the condition number is moderate", problem.conditioning, "<=", 1e6)
        curved = Hypothesis("curvatures differ", problem.conditioning, ">=", 1.01, "else one step ends at 0")
        return [conditioned, curved, *_moderate("the start", problem.start)]


class AbstractQuadraticDescent(AbstractTextbook[QuadraticDescent]):
    """Statements on quadratics."""

    population = QuadraticDescents()
    relation = AtMost()
    control = HALVED

    def condition(self, problem: QuadraticDescent) -> Array:
        """A step rounds a point of which it may leave a small share, down to (kappa - 1)/(kappa + 1)."""
        kappa = problem.conditioning
        return 100.0 * problem.steps * (kappa + 1 / (kappa - 1))


class StepBeyondTwoOverL(AbstractQuadraticDescent):
    """Steps of gradient descent of size 2.1/L on a convex quadratic with curvatures of at most L and the minimum at 0
    end no farther from it than they began.
    """

    title = "Steps of 2.1/L do not lead away from the minimum"
    source = book("nesterov2004", "contraction of gradient descent, with too long a step")
    expected = Status.REFUTED

    def predict(self, problem: QuadraticDescent) -> Array:
        return _length(problem.start)

    def measure(self, problem: QuadraticDescent, key: Key[Array, ""]) -> Array:
        return _length(problem.descend(2.1))


class StepOfTwoOverL(AbstractQuadraticDescent):
    """Steps of gradient descent of size 2/L on a convex quadratic with curvatures of at most L and the minimum at 0
    end no farther from it than they began. With a start along the largest curvature the two sides are equal.
    """

    title = "Steps of 2/L do not lead away from the minimum"
    source = book("nesterov2004", "contraction of gradient descent")

    def predict(self, problem: QuadraticDescent) -> Array:
        return _length(problem.start)

    def measure(self, problem: QuadraticDescent, key: Key[Array, ""]) -> Array:
        return _length(problem.descend(2.0))


class ContractionWithTheWrongStep(AbstractQuadraticDescent):
    """n steps of gradient descent of size 1/L on a quadratic with curvatures between mu and L = kappa mu leave at most

        ((kappa - 1) / (kappa + 1))^n

    of the distance to the minimum.
    """

    title = "Contraction by (kappa - 1)/(kappa + 1) with the step 1/L"
    source = book("nesterov2004", "contraction under strong convexity, with the rate of another step")
    expected = Status.REFUTED

    def predict(self, problem: QuadraticDescent) -> Array:
        kappa = problem.conditioning
        return ((kappa - 1) / (kappa + 1)) ** problem.steps * _length(problem.start)

    def measure(self, problem: QuadraticDescent, key: Key[Array, ""]) -> Array:
        return _length(problem.descend(1.0))


class ContractionWithTheBestStep(AbstractQuadraticDescent):
    """n steps of gradient descent of size 2/(L + mu) on a quadratic with curvatures between mu and L = kappa mu leave
    at most

        ((kappa - 1) / (kappa + 1))^n

    of the distance to the minimum. With a start along an extreme curvature the two sides are equal.
    """

    title = "Contraction by (kappa - 1)/(kappa + 1)"
    source = book("nesterov2004", "contraction under strong convexity")

    def predict(self, problem: QuadraticDescent) -> Array:
        kappa = problem.conditioning
        return ((kappa - 1) / (kappa + 1)) ** problem.steps * _length(problem.start)

    def measure(self, problem: QuadraticDescent, key: Key[Array, ""]) -> Array:
        return _length(problem.descend(2 / (1 + problem.curvatures.min())))


class AbstractDecrease(AbstractQuadraticDescent):
    """By how much the first step lowers the value, as f(x) - f(x+) = <g, x - x+> - (x - x+)' H (x - x+) / 2."""

    relation = AtLeast()
    control = DOUBLED

    def predict(self, problem: QuadraticDescent) -> Array:
        return jnp.sum((problem.curvatures * problem.start) ** 2) / 2


class DescentLemmaWithALongStep(AbstractDecrease):
    """A step of size 3/(2 L) along the gradient g of a convex quadratic with curvatures of at most L lowers its value
    by at least |g|² / (2 L).
    """

    title = "The descent lemma with the step 3/(2 L)"
    source = book("nesterov2004", "the descent lemma, with too long a step")
    expected = Status.REFUTED

    def measure(self, problem: QuadraticDescent, key: Key[Array, ""]) -> Array:
        moved = 1.5 * problem.curvatures * problem.start
        return problem.curvatures @ (problem.start * moved - moved**2 / 2)


class DescentLemmaOfQuadratics(AbstractDecrease):
    """A step of size 1/L along the gradient g of a convex quadratic with curvatures of at most L lowers its value by at
    least |g|² / (2 L). With a start along the largest curvature the two sides are equal.
    """

    title = "The descent lemma"
    source = book("nesterov2004", "the descent lemma")

    def measure(self, problem: QuadraticDescent, key: Key[Array, ""]) -> Array:
        moved = problem.curvatures * problem.start
        return problem.curvatures @ (problem.start * moved - moved**2 / 2)


class AbstractPowerIteration(AbstractQuadraticDescent):
    """The tangent of the angle to the leading eigenvector after steps of power iteration, by running them."""

    def hypotheses(self, problem: QuadraticDescent) -> list[Hypothesis]:
        gap = -jnp.sort(-problem.curvatures)[1]
        lead = jnp.abs(problem.start[jnp.argmax(problem.logits)]) / _length(problem.start)
        return [
            Hypothesis("there is a gap (second over first eigenvalue)", gap, "<=", 0.999),
            Hypothesis("the start has a part along the leading eigenvector", lead, ">=", 1e-4),
            Hypothesis("and another part", lead, "<=", 1 - 1e-6),
        ]

    def measure(self, problem: QuadraticDescent, key: Key[Array, ""]) -> Array:
        x = jax.lax.fori_loop(0, problem.steps, lambda _, x: problem.curvatures * x, problem.start)
        first = jnp.arange(len(x)) == jnp.argmax(problem.logits)
        return _length(jnp.where(first, 0.0, x)) / _length(jnp.where(first, x, 0.0))


def _tangent(problem: QuadraticDescent) -> Array:
    first = jnp.arange(len(problem.start)) == jnp.argmax(problem.logits)
    return _length(jnp.where(first, 0.0, problem.start)) / jnp.abs(problem.start @ first)


class PowerIterationOneStepAhead(AbstractPowerIteration):
    """After n steps of power iteration on a positive definite matrix with eigenvalues lambda_1 > lambda_2 >= ... the
    tangent of the angle to the leading eigenvector is at most (lambda_2 / lambda_1)^(n + 1) times the first one.
    """

    title = "Power iteration, a step ahead of itself"
    source = book("golub2013", "the rate of power iteration, off by one")
    expected = Status.REFUTED

    def predict(self, problem: QuadraticDescent) -> Array:
        return (-jnp.sort(-problem.curvatures)[1]) ** (problem.steps + 1) * _tangent(problem)


class PowerIterationRate(AbstractPowerIteration):
    """After n steps of power iteration on a positive definite matrix with eigenvalues lambda_1 > lambda_2 >= ... the
    tangent of the angle to the leading eigenvector is at most (lambda_2 / lambda_1)^n times the first one, with
    equality where the start lies in the span of the first two eigenvectors.
    """

    title = "The rate of power iteration"
    source = book("golub2013", "the rate of power iteration")

    def predict(self, problem: QuadraticDescent) -> Array:
        return (-jnp.sort(-problem.curvatures)[1]) ** problem.steps * _tangent(problem)


def _huber() -> HuberDescent:
    """One step, and the threshold |x0| / (2 n + 1)."""
    return HuberDescent(jnp.array([3.0, 0.0, 0.0]), jnp.asarray(1.0), jnp.asarray(1.0), 1)


def _quadratic(start: list[float], curvatures: list[float], steps: int = 1):
    return lambda: QuadraticDescent(jnp.log(jnp.array(curvatures)), jnp.array(start), steps)


CASES = (
    Case(
        DescentWorstCaseTooGood(),
        DescentWorstCase(),
        "only for thresholds near |x0|/(2 n + 1); off by (4 n + 4)/(4 n + 2): 1.33 for one step, 1.0099 for fifty",
        {"n": 1, "d": 3, "threshold": 1.0},
        8 / 6,
        _huber,
    ),
    Case(
        StepBeyondTwoOverL(),
        StepOfTwoOverL(),
        "only for starts along curvatures above 0.952 L; off by up to 1.1^n",
        {"d": 2},
        1.1,
        _quadratic([1.0, 0.0], [1.0, 0.5]),
    ),
    Case(
        ContractionWithTheWrongStep(),
        ContractionWithTheBestStep(),
        "only for starts along small curvatures; off by up to (1 + 1/kappa)^n",
        {"d": 2},
        1.5,
        _quadratic([0.0, 1.0], [1.0, 0.5]),
    ),
    Case(
        DescentLemmaWithALongStep(),
        DescentLemmaOfQuadratics(),
        "only for gradients along curvatures above 8/9 L; off by up to 4/3",
        {"d": 2},
        4 / 3,
        _quadratic([1.0, 0.0], [1.0, 0.5]),
    ),
    Case(
        PowerIterationOneStepAhead(),
        PowerIterationRate(),
        "for starts near the span of the first two eigenvectors; off by up to lambda_1/lambda_2",
        {"d": 2, "n": 4},
        2.0,
        _quadratic([1.0, 1.0], [1.0, 0.5], 4),
    ),
)
