"""Proximal gradient for the Lasso over universal features: descent, contraction, and the rate 1/T.

This theory bounds the objective along proximal gradient by the number of steps and the norm of reference coefficients.
It assumes n + 1 features bounded by 1. It does not explain the linear convergence at the end.

The source takes the step 1/(2n) for n + 1 features. For this step, the proof is right if lambda_max(Phi^T Phi / N) is
at most n, which holds for nearly all draws of 16 features or more. For every draw, lambda_max(Phi^T Phi / N) is at most
n + 1. This bound is attained if all features are 1, which happens in about one draw in 3^n. In this case, the objective
still falls, as equation (97a) of the source says. But the lower bound on the decrease of the objective is then (n - 1)
|step|² instead of n |step|². With the step 1/(2(n + 1)) and the constant n + 1, all statements hold for all draws of
features. The other claims here use this step.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Rate, Source, Status
from lemmata.engine.problems.prompts import Prompt, Prompts
from lemmata.functions import representing_coefficients
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, proximal_gradient, soft_threshold
from lemmata.subjects.optimisation._proximal_runs import NormalPoints, Point, SaturatedSteps, Step

ABOUT = {"tool": "convex optimisation", "architecture": "linear model", "object": "training"}

_STEPS = (32.0, 64.0, 128.0, 256.0)


class SoftThresholdIsProximal(Claim[Point]):
    """Let z be a vector and level >= 0 a number. The minimiser of |z - rho|_2²/2 + level |rho|_1 over vectors rho is
    sign(z) max(|z| - level, 0), entry by entry.
    """

    title = "Soft thresholding is the proximal operator of the l_1 norm"
    source = Source("li2025incontext", "(39a)", "(39b)")
    population = NormalPoints()
    relation = Equal()
    control = Control(
        "the minimiser is hard thresholding", lambda found, problem: jnp.where(found != 0, problem.z, 0.0)
    )
    controls = "one step of proximal gradient on the Lasso"
    unexplained = "other penalties"

    def predict(self, problem: Point) -> Array:
        return soft_threshold(problem.z, problem.level)

    def measure(self, problem: Point, key: Key[Array, ""]) -> Array:
        """Return the zero of the increasing subgradient rho - z + level sign(rho), by 64 bisections.

        The zero is in the remaining interval. If 0 is in this interval, the result is 0; otherwise the result is the
        middle of the interval.
        """

        def halve(_: int | Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            middle = (ends[0] + ends[1]) / 2
            above = middle - problem.z + problem.level * jnp.sign(middle) > 0
            return jnp.where(above, ends[0], middle), jnp.where(above, middle, ends[1])

        size = jnp.abs(problem.z) + 1
        low, high = jax.lax.fori_loop(0, 64, halve, (-size, size))
        return jnp.where((low <= 0) & (high >= 0), 0.0, (low + high) / 2)

    def condition(self, problem: Point) -> Array:
        """Bound the cancellation, because small entries are differences of |z| and the level."""
        found = jnp.abs(self.predict(problem))
        return jnp.where(found > 0, 1 + 2 * problem.level / found, 1.0)


class AbstractStepClaim(Claim[Step]):
    """Statements about one step from a point near rho*, on features that are all 1, which is the worst case."""

    population = SaturatedSteps()
    relation = AtMost()
    controls = "how far one step of proximal gradient lowers the objective"
    unexplained = "the larger decrease on features of less curvature"


class Descent(AbstractStepClaim):
    """Let l(rho) = mean (y - Phi rho)² + lambda |rho|_1 be the Lasso objective. The n + 1 columns of Phi are the
    features, and they are bounded by 1. Take a proximal gradient step with eta = 1/(2n) from any rho_t to rho*_{t+1}.
    The step lowers the objective by

        l(rho_t) - l(rho*_{t+1}) >= (n - 1) |rho*_{t+1} - rho_t|².

    The source's proof has n in place of n - 1. The bound with n requires lambda_max(Phi^T Phi / N) <= n, where N is the
    number of examples.
    """

    title = "For n + 1 features, a proximal gradient step by d at rate 1/(2n) lowers the Lasso by at least (n - 1) |d|²"
    source = Source("li2025incontext", "(97a)", note="proof of Lemma 3, with its decrease")
    control = Control(
        "the step lowers the objective by n |step|²",
        lambda bound, problem: bound * problem.number / (problem.number - 1),
    )
    trivial = 0.0  # a step does not raise the objective

    def predict(self, problem: Step) -> Array:
        moved = problem.exact(1 / (2 * problem.number)) - problem.start
        return -(problem.number - 1) * jnp.sum(moved**2)

    def measure(self, problem: Step, key: Key[Array, ""]) -> Array:
        objective = lambda rho: lasso_objective(problem.features, problem.y, problem.penalty, rho)
        return objective(problem.exact(1 / (2 * problem.number))) - objective(problem.start)


class Contraction(AbstractStepClaim):
    """Let l(rho) = mean (y - Phi rho)² + lambda |rho|_1 be the Lasso objective. The n + 1 columns of Phi are the
    features, and they are bounded by 1. Take a proximal gradient step with eta = 1/(2(n+1)) from any rho_t to
    rho*_{t+1}. For every vector rho*,

        l(rho*_{t+1}) - l(rho*) <= (n+1) (|rho_t - rho*|² - |rho*_{t+1} - rho*|²).

    Suppose that the objective is lower at rho* than at the end rho*_{t+1} of the step. Then the end of the step is
    nearer to rho* than its start rho_t is. If all features are 1 and rho* is near rho_t, the two sides are nearly
    equal. The source has n in place of n + 1. The bound with n requires lambda_max(Phi^T Phi / N) <= n, where N is the
    number of examples. This condition holds for nearly all draws of 16 features or more.
    """

    title = "A proximal step of 1/(2(n+1)) moves nearer to each vector with a lower Lasso objective than the step's end"
    source = Source("li2025incontext", "(97b)", note="proof of Lemma 3, with the number of all features")
    stated = Kind.REPAIR
    # A larger constant if the distance grows is a stronger statement.
    control = Control(
        "the constant is n + 2 for the same step",
        lambda bound, problem: bound * (problem.number + 2) / (problem.number + 1),
    )

    def predict(self, problem: Step) -> Array:
        return nearer(problem, problem.number + 1)

    def measure(self, problem: Step, key: Key[Array, ""]) -> Array:
        return above(problem, problem.number + 1)

    def trivial(self, problem: Step) -> Array:
        return _known(problem)


def nearer(problem: Step, number: int) -> Array:
    """Return `number` times (|rho_t - rho*|² - |rho*_{t+1} - rho*|²) for a step of 1/(2 number), without cancellation.

    Args:
        problem: the features, rho_t and rho*.
        number: the number of features, or a number that replaces it.
    """
    moved = problem.exact(1 / (2 * number)) - problem.start
    return -number * jnp.sum(moved * (moved + 2 * (problem.start - problem.reference)))


def above(problem: Step, number: int) -> Array:
    """Return l(rho*_{t+1}) - l(rho*) for a step of 1/(2 number).

    Args:
        problem: the features, rho_t and rho*.
        number: the number of features, or a number that replaces it.
    """
    objective = lambda rho: lasso_objective(problem.features, problem.y, problem.penalty, rho)
    return objective(problem.exact(1 / (2 * number))) - objective(problem.reference)


def _known(problem: Step) -> Array:
    """Return l(rho_t) - l(rho*), because the step does not raise the objective."""
    objective = lambda rho: lasso_objective(problem.features, problem.y, problem.penalty, rho)
    return objective(problem.start) - objective(problem.reference)


class ExactConvergence(Claim[Prompt]):
    """Let l(rho) = mean (y - Phi rho)² + lambda |rho|_1 be the Lasso objective. The n + 1 columns of Phi are the
    features, and they are bounded by 1. Take T proximal gradient steps of 1/(2(n+1)) from 0 to rho_T. For every vector
    rho (such as coefficients that represent the target function),

        l(rho_T) <= l(rho) + (n+1) |rho|_2²/T.

    The test uses T = 1, ..., 8. For these T, the worst rho is near 2 rho_T if the features have little curvature. As
    long as T is smaller than the order of n, the start 0 satisfies the bound too.
    """

    title = "Proximal gradient on the Lasso converges like 1/T"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="exact steps with the constant of (99)")
    population = Prompts()
    relation = AtMost()
    control = Control(
        "a quarter of the bound is enough",
        lambda bound, problem: bound / 4,
        loose="only one prompt in ten has features of such low curvature that it comes near the bound",
    )
    controls = "the objective after T exact steps"
    unexplained = "linear convergence at the end, once the support of the coefficients is found"
    expected = Status.VACUOUS

    def predict(self, problem: Prompt) -> Array:
        """Return (n+1) |rho|_2²/T at rho = rho* and at rho = 2 rho_T, for each T."""
        rho, size = self._references(problem)[1], problem.prompt.shape[1]
        return size * jnp.sum(rho**2, axis=2) / jnp.arange(1, 9)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return l(rho_T) - l(rho) at rho = rho* and at rho = 2 rho_T, for each T."""
        path, rho = self._references(problem)
        return self._objective(problem, path) - self._objective(problem, rho)

    def trivial(self, problem: Prompt) -> Array:
        """Return l(0) - l(rho), because no step raises the objective."""
        start = jnp.zeros(problem.prompt.shape[1])
        return self._objective(problem, start) - self._objective(problem, self._references(problem)[1])

    def _objective(self, problem: Prompt, rho: Array) -> Array:
        return lasso_objective(problem.prompt, problem.y, problem.model.penalty, rho)

    def _references(self, problem: Prompt) -> tuple[Array, Array]:
        """Return rho_1, ..., rho_8, and for each iterate two points rho for comparison."""
        step = 1 / (2 * problem.prompt.shape[1])
        path = proximal_gradient(problem.prompt, problem.y, problem.model.penalty, step, 8)[1:]
        found = representing_coefficients(problem.functions, problem.model.features, problem.function)
        return path, jnp.stack([jnp.broadcast_to(found, path.shape), 2 * path])


class ConvergenceRate(Claim[Prompt]):
    """Let l be the Lasso objective over n + 1 features bounded by 1. Take T proximal gradient steps of 1/(2(n+1)) from
    0 to rho_T. The objective converges to its minimum at least like 1/T in the number T of steps:

        l(rho_T) - min l = O(1/T).

    The left side is at most (n+1) |rho|²/T, where rho is the minimiser. Until T is about n, this bound is larger than
    the objective itself. The test starts at T = 32.
    """

    title = "Proximal gradient nears the minimum of the Lasso at least like 1/T in the number T of steps"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="the order in L")
    population = Prompts()
    relation = Rate("T", _STEPS, upper=True)
    control = Control(
        "the excess falls like 1/T³",
        lambda exponent, problem: exponent - 2,
        loose="some prompts converge linearly early",
    )
    controls = "the objective after T exact steps"
    unexplained = "linear convergence at the end, once the support of the coefficients is found"
    trials = 96
    predict = -1.0

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return the excess over the minimum.

        Once the path has arrived at the minimum, the excess is the rounding error.
        """
        return _above_minimum(problem)

    def condition(self, problem: Prompt) -> Array:
        """Bound the cancellation: the excess is a difference of objectives of the size of the mean square of y."""
        return jnp.mean(problem.y**2) / _above_minimum(problem)[0]


def _above_minimum(problem: Prompt) -> Float[Array, " s"]:
    """Return l(rho_T) - min l (at least eps) for each T; 4000 accelerated steps find the minimum."""
    step, penalty = 1 / (2 * problem.prompt.shape[1]), problem.model.penalty
    path = proximal_gradient(problem.prompt, problem.y, penalty, step, int(_STEPS[-1]))
    best = accelerated_proximal_gradient(problem.prompt, problem.y, penalty, step, 4000)[-1]
    objectives = lasso_objective(problem.prompt, problem.y, penalty, path[jnp.asarray(_STEPS).astype(int)])
    above = objectives - lasso_objective(problem.prompt, problem.y, penalty, best)
    return jnp.maximum(above, jnp.finfo(float).eps * jnp.mean(problem.y**2))
