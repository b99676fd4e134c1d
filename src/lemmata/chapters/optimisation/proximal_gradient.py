"""Proximal gradient on the Lasso over universal features: descent, contraction, and the rate 1/T.

This theory controls the objective along proximal gradient by the number of steps and the length of the coefficients to
compare with; it assumes n + 1 features bounded by 1. It leaves unexplained the linear convergence in the end.

The verdict on the step: the source takes 1/(2n) for n + 1 features, but their curvature 2 lambda_max(Phi^T Phi / N) is
bounded by 2(n + 1) and not by 2n. The objective still falls (97a), by (n - 1) |step|² at least instead of n |step|²;
(97b) fails with the constant n where all features are 1, which happens in about one of 3^n draws. With the step
1/(2(n + 1)) and the constant n + 1 all of it holds, and that is what the other claims of this chapter use.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Rate, Source, Space, Status
from lemmata.functions import representing_coefficients
from lemmata.problems._prompts import FAMILY, Prompt, sampled_prompt
from lemmata.problems._proximal_runs import Step as Step
from lemmata.problems._proximal_runs import bounded, sampled_step
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, proximal_gradient, soft_threshold

_STEPS = (32.0, 64.0, 128.0, 256.0)


class Point(eqx.Module):
    """A vector and a level of thresholding."""

    z: Float[Array, " p"]
    level: Float[Array, ""]


class SoftThresholdIsProximal(Claim[Point]):
    """The minimiser of |z - rho|²/2 + level |rho|_1 is sign(z) max(|z| - level, 0), entry by entry."""

    title = "Soft thresholding is the proximal operator of the l_1 norm"
    source = Source("li2025incontext", "(39a)", "(39b)")
    relation = Equal()
    label = "identity"
    controls = "one step of proximal gradient on the Lasso"
    unexplained = "other penalties"
    problem = Point
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """The size of the vector."""
        return Space(p=Integer(16, 1, 1000, "entries"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Point:
        """Standard normal entries and a level of half a normal number."""
        normal = jax.random.normal(key, (setting["p"] + 1,))
        return Point(normal[1:], jnp.abs(normal[0]) / 2)

    def hypotheses(self, problem: Point) -> list[Hypothesis]:
        """A level that is not negative."""
        return [Hypothesis("the level is not negative", problem.level, ">=", 0.0, "the objective is convex")]

    def predict(self, problem: Point) -> Array:
        """The formula."""
        return soft_threshold(problem.z, problem.level)

    def measure(self, problem: Point, key: Key[Array, ""]) -> Array:
        """The zero of the subgradient rho - z + level sign(rho), which increases, by 64 bisections."""

        def halve(_: int | Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            middle = (ends[0] + ends[1]) / 2
            above = middle - problem.z + problem.level * jnp.sign(middle) > 0
            return jnp.where(above, ends[0], middle), jnp.where(above, middle, ends[1])

        size = jnp.abs(problem.z) + 1
        ends = jax.lax.fori_loop(0, 64, halve, (-size, size))
        return (ends[0] + ends[1]) / 2

    def control(self) -> Control:
        """Hard thresholding."""

        def hard(found: Array, problem: Point) -> Array:
            return jnp.where(jnp.abs(problem.z) > problem.level, problem.z, 0.0)

        return Control("it is hard thresholding", hard)


class AbstractStepClaim(Claim[Step]):
    """Statements about one step from a point near rho*, on features that are all 1, the worst case."""

    relation = AtMost()
    controls = "how far one step of proximal gradient lowers the objective"
    unexplained = "the larger decrease on features of less curvature"
    problem = Step
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes and the class."""
        return Space(n=Integer(8, 2, 64, "features"), N=Integer(16, 4, 128, "examples"), family=FAMILY)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Step:
        """Features with all thresholds below the ball."""
        return sampled_step(key, family=setting["family"], n=setting["n"], examples=setting["N"])

    def hypotheses(self, problem: Step) -> list[Hypothesis]:
        """Bounded features."""
        return [bounded(problem.features)]


class Descent(AbstractStepClaim):
    """With eta = 1/(2n) and n + 1 features bounded by 1, a step from any rho_t lowers the objective by

        l(rho_t) - l(rho*_{t+1}) >= (n - 1) |rho*_{t+1} - rho_t|².

    The source writes n in place of n - 1: its bound 2n of the curvature should be 2(n+1).
    """

    title = "A step of 1/(2n) lowers the objective"
    source = Source("li2025incontext", "(97a)", note="proof of Lemma 3, with its decrease")

    def predict(self, problem: Step) -> Array:
        """-(n-1) |step|²."""
        moved = problem.exact(1 / (2 * problem.number)) - problem.start
        return -(problem.number - 1) * jnp.sum(moved**2)

    def measure(self, problem: Step, key: Key[Array, ""]) -> Array:
        """The difference of the objective."""
        objective = lambda rho: lasso_objective(problem.features, problem.y, problem.penalty, rho)
        return objective(problem.exact(1 / (2 * problem.number))) - objective(problem.start)

    def control(self) -> Control:
        """What the proof in the source says."""

        def printed(decrease: Array, problem: Step) -> Array:
            return decrease * problem.number / (problem.number - 1)

        return Control("it lowers it by n |step|²", printed)


class ContractionAsPrinted(AbstractStepClaim):
    """As printed: with eta = 1/(2n), for every rho_t and rho*,

        l(rho*_{t+1}) - l(rho*) <= n (|rho_t - rho*|² - |rho*_{t+1} - rho*|²).

    On features that are all 1, with mean residuals a at rho_t and beta a at rho*, this says (1 - beta)² >= 1/n + 1/n²
    where the penalty is negligible, so that it fails where rho* is near rho_t.
    """

    title = "A step of 1/(2n) nears the coefficients, as printed"
    source = Source("li2025incontext", "(97b)", note="proof of Lemma 3")
    expected = Status.REFUTED

    def predict(self, problem: Step) -> Array:
        """n times the decrease of the squared distance."""
        return _nearer(problem, problem.number)

    def measure(self, problem: Step, key: Key[Array, ""]) -> Array:
        """The objective after the step, minus that at rho*."""
        return _above(problem, problem.number)

    def control(self) -> Control:
        """Half as much."""
        return Control("the difference is half as large", lambda bound, problem: bound - jnp.abs(bound) / 2)


class Contraction(AbstractStepClaim):
    """With eta = 1/(2(n+1)) and n + 1 features bounded by 1, for every rho_t and rho*,

        l(rho*_{t+1}) - l(rho*) <= (n+1) (|rho_t - rho*|² - |rho*_{t+1} - rho*|²).

    Where all features are 1 and rho* is near rho_t the two sides are nearly equal.
    """

    title = "A step of 1/(2(n+1)) nears the coefficients"
    source = Source("li2025incontext", "(97b)", note="proof of Lemma 3, corrected")
    corrects = "optimisation.proximal_gradient.contraction_as_printed"

    def predict(self, problem: Step) -> Array:
        """n + 1 times the decrease of the squared distance."""
        return _nearer(problem, problem.number + 1)

    def measure(self, problem: Step, key: Key[Array, ""]) -> Array:
        """The objective after the step, minus that at rho*."""
        return _above(problem, problem.number + 1)

    def control(self) -> Control:
        """A larger constant where the distance grows is a stronger statement."""

        def more(bound: Array, problem: Step) -> Array:
            return bound * (problem.number + 2) / (problem.number + 1)

        return Control("the constant is n + 2 for the same step", more)


def _nearer(problem: Step, number: int) -> Array:
    """number (|rho_t - rho*|² - |rho*_{t+1} - rho*|²) for a step of 1/(2 number), without cancellation."""
    moved = problem.exact(1 / (2 * number)) - problem.start
    return -number * jnp.sum(moved * (moved + 2 * (problem.start - problem.reference)))


def _above(problem: Step, number: int) -> Array:
    """l(rho*_{t+1}) - l(rho*) for a step of 1/(2 number)."""
    objective = lambda rho: lasso_objective(problem.features, problem.y, problem.penalty, rho)
    return objective(problem.exact(1 / (2 * number))) - objective(problem.reference)


class AbstractPathClaim(Claim[Prompt]):
    """Statements about proximal gradient from 0 on the features and targets of a prompt."""

    controls = "the objective after T exact steps"
    unexplained = "linear convergence in the end, once the support of the coefficients is found"
    problem = Prompt

    def settings(self) -> Space:
        """Sizes, the class and the penalty."""
        n, examples = Integer(16, 2, 64, "features"), Integer(32, 4, 128, "examples")
        return Space(n=n, N=examples, family=FAMILY)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A prompt with little noise."""
        return sampled_prompt(key, family=setting["family"], n=setting["n"], examples=setting["N"], penalty=0.01)

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """Bounded features."""
        return [bounded(problem.prompt)]


class ExactConvergence(AbstractPathClaim):
    """After T exact steps of 1/(2(n+1)) from 0, for every rho (such as rho* of the function),

        l(rho_T) <= l(rho) + (n+1) |rho|_2²/T.

    The worst rho for T = 1, ..., 8 is near 2 rho_T where features have little curvature.
    """

    title = "Proximal gradient converges like 1/T"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="exact steps with the constant of (99)")
    relation = AtMost()
    trials = 128
    batch = 128

    def predict(self, problem: Prompt) -> Array:
        """The bound at rho* and 2 rho_T for each T."""
        rho, size = self._references(problem)[1], problem.prompt.shape[1]
        return size * jnp.sum(rho**2, axis=2) / jnp.arange(1, 9)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """l(rho_T) - l(rho)."""
        path, rho = self._references(problem)
        objective = lambda rho: lasso_objective(problem.prompt, problem.y, problem.model.penalty, rho)
        return objective(path) - objective(rho)

    def _references(self, problem: Prompt) -> tuple[Array, Array]:
        """rho_1, ..., rho_8, and two points to compare each with."""
        step = 1 / (2 * problem.prompt.shape[1])
        path = proximal_gradient(problem.prompt, problem.y, problem.model.penalty, step, 8)[1:]
        found = representing_coefficients(problem.functions, problem.model.features, problem.function)
        return path, jnp.stack([jnp.broadcast_to(found, path.shape), 2 * path])

    def control(self) -> Control:
        """A stronger bound; half of it is needed where the objective is nearly linear."""
        return Control("a quarter of the bound is enough", lambda bound, problem: bound / 4)


class ConvergenceRate(AbstractPathClaim):
    """Proximal gradient nears the minimum of the Lasso at least like 1/T: l(rho_T) - min l = O(1/T).

    Before T reaches n or so the bound (n+1) |rho|²/T is larger than the objective itself; the ladder starts later.
    """

    title = "The rate of proximal gradient"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="the order in L")
    relation = Rate("T", _STEPS, upper=True)
    label = "rate"
    trials = 96
    batch = 96

    def predict(self, problem: Prompt) -> Array:
        """The exponent."""
        return jnp.asarray(-1.0)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The distance to the minimum, which 4000 accelerated steps find."""
        step, penalty = 1 / (2 * problem.prompt.shape[1]), problem.model.penalty
        path = proximal_gradient(problem.prompt, problem.y, penalty, step, int(_STEPS[-1]))
        best = accelerated_proximal_gradient(problem.prompt, problem.y, penalty, step, 4000)[-1]
        least = lasso_objective(problem.prompt, problem.y, penalty, best)
        found = path[jnp.asarray(_STEPS).astype(int)]
        return lasso_objective(problem.prompt, problem.y, penalty, found) - least

    def control(self) -> Control:
        """Far faster; single prompts converge linearly early."""
        return Control("like 1/T³", lambda exponent, problem: exponent - 2)
