"""Averages in optimisers: schedule-free descent, its momentum, and the memory of two second moments.

Schedule-free descent takes steps z <- z - gamma g. The gradients g are taken at (1 - beta) z + beta x, where x is the
average of all z so far. This theory gives averages of iterates and of squared gradients exactly, for any gradients. It
does not explain which of these averages suits training.
"""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.optimisers import updates_of
from lemmata.subjects.optimisers._moment_rates import GradientHistories, GradientHistory
from lemmata.subjects.optimisers._training_matrices import MatrixTraining, MatrixTrainings

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "training"}

_WHOLE = -1
_RATE = 0.1


def _decayed(problem: GradientHistory, share: float) -> Float[Array, " t"]:
    """For each T, return the end of T descent steps whose sizes fall linearly, in all by `share` of the first size."""
    number = jnp.arange(1, len(problem.gradients) + 1)
    weights = jnp.tril(1 - share * (number[None, :] - 1) / number[:, None])
    return -_RATE * weights @ problem.gradients


class ScheduleFreeIsLinearDecay(Claim[GradientHistory]):
    """Schedule-free descent starts at z_0 = x_0, takes steps z_t = z_(t-1) - gamma g_t, and returns the average x_t of
    z_1, ..., z_t. The gradient g_t is taken at (1 - beta) z_(t-1) + beta x_(t-1). For any step size gamma, any
    interpolation beta and any sequence of gradients g_t, the average after T steps is

        x_T = x_0 - gamma sum_(s <= T) (1 - (s - 1)/T) g_s.

    The right side is the end point of another descent along the same gradients, with steps that decay linearly to 0 at
    the horizon T. The identity holds for every T at once. So the average acts as a schedule.
    """

    title = "The average of schedule-free descent equals the end of a descent whose steps decay linearly to 0"
    source = Source("emergence2026", "Figure 5.23", note="the schedule inside, made exact")
    population = GradientHistories()
    relation = Equal(block=_WHOLE)
    control = Control("the steps decay only to half", lambda value, problem: _decayed(problem, 0.5))
    controls = "the average of the iterates of a descent with constant steps"
    unexplained = "how the gradients of the two methods differ, because they are taken at different points"

    def predict(self, problem: GradientHistory) -> Array:
        return _decayed(problem, 1.0)

    def measure(self, problem: GradientHistory, key: Key[Array, ""]) -> Array:
        method = optax.contrib.schedule_free(optax.sgd(_RATE), _RATE, b1=problem.b1)

        def one(carry, slope):
            at, state = carry
            step, state = method.update(slope, state, at)
            return (at + step, state), optax.contrib.schedule_free_eval_params(state, at + step)

        start = jnp.zeros(())
        return jax.lax.scan(one, (start, method.init(start)), problem.gradients)[1]

    def condition(self, problem: GradientHistory) -> Array:
        """Bound the rounding errors: each step computes the average as a difference divided by b1, and sums may
        cancel.
        """
        sums = jnp.abs(self.predict(problem)).max()
        return len(problem.gradients) * _RATE * jnp.abs(problem.gradients).sum() / (problem.b1 * sums)


def _primal_average(problem: MatrixTraining) -> Array:
    method = optax.contrib.schedule_free(optax.sgd(_RATE), _RATE, b1=1.0)

    def one(_, carry):
        at, state = carry
        step, state = method.update(jax.grad(problem.loss)(at), state, at)
        return at + step, state

    return jax.lax.fori_loop(0, problem.steps, one, (problem.start, method.init(problem.start)))[0]


def _heavy_ball(problem: MatrixTraining, momentum: float) -> Array:
    """Run descent with steps gamma/t and momentum (t - 2)/t times a factor, t = 1, 2, ..."""

    def one(number, carry):
        at, before = carry
        t = number + 1.0
        return at - _RATE / t * jax.grad(problem.loss)(at) + momentum * (t - 2) / t * (at - before), at

    return jax.lax.fori_loop(0, problem.steps, one, (problem.start, problem.start))[0]


class PrimalAveragingIsHeavyBall(Claim[MatrixTraining]):
    """Schedule-free descent takes steps z_t = z_(t-1) - gamma g_t along gradients g_t, with a step size gamma, and
    returns the average x_t of z_1, ..., z_t. Primal averaging takes each gradient at the average itself: g_t = grad
    f(x_(t-1)) for a loss f. This method is descent with momentum, where the step size gamma/t falls and the momentum
    (t - 2)/t grows. For t = 1, 2, ...

        x_t = x_(t-1) - (gamma/t) grad f(x_(t-1)) + ((t - 2)/t) (x_(t-1) - x_(t-2)),   x_(-1) = x_0.
    """

    title = "Primal averaging of the iterates is descent with growing momentum"
    source = Source("defazio2024", note="the case beta = 1, primal averaging")
    population = MatrixTrainings()
    relation = Equal(block=_WHOLE)
    control = Control("there is no momentum", lambda value, problem: _heavy_ball(problem, 0.0))
    controls = "the weights after training by primal averaging"
    unexplained = "interpolations between the iterates and their average"

    def predict(self, problem: MatrixTraining) -> Array:
        return _heavy_ball(problem, 1.0)

    def measure(self, problem: MatrixTraining, key: Key[Array, ""]) -> Array:
        return _primal_average(problem)

    def condition(self, problem: MatrixTraining) -> Array:
        """Bound the errors: rounded weights change the next gradient by the error times a curvature of order one."""
        return jnp.asarray(24.0 * problem.steps)


def _remembered(problem: GradientHistory, adam: float, adagrad: float) -> Float[Array, " 2"]:
    """Return Adam's mean and AdaGrad's sum of squares, with powers of b2^age as weights."""
    t, squares = len(problem.gradients), problem.gradients**2
    old = problem.b2 ** jnp.arange(t)[::-1]
    return jnp.stack([jnp.sum(old**adam * squares) * (1 - problem.b2) / (1 - problem.b2**t), old**adagrad @ squares])


class AdamForgetsAdagradSums(Claim[GradientHistory]):
    """Let g_s be the gradient of step s, and let b2 be the decay rate of Adam's second moment. Both Adam and AdaGrad
    divide a step by the square root of a second moment. After T steps, this second moment is, for Adam with bias
    correction and for AdaGrad respectively,

        (1 - b2)/(1 - b2^T) sum_(s <= T) b2^(T - s) g_s²   and   sum_(s <= T) g_s².

    So in Adam, a gradient that is k steps old has b2^k times the weight of a new gradient. AdaGrad gives old and new
    gradients the same weight.
    """

    title = "Adam's second moment forgets old gradients, but AdaGrad's second moment does not"
    source = Source("emergence2026", "Figure 5.9", note="the two memories, made exact")
    population = GradientHistories()
    relation = Equal()
    control = Control(
        "both second moments forget like b2^(age/2)", lambda value, problem: _remembered(problem, 0.5, 0.5)
    )
    controls = "the scale of a step after any gradients"
    unexplained = "how long a memory should be"

    def predict(self, problem: GradientHistory) -> Array:
        return _remembered(problem, 1.0, 0.0)

    def measure(self, problem: GradientHistory, key: Key[Array, ""]) -> Array:
        """Compute the second moments from the last step of each method, without momentum."""
        methods = (
            optax.scale_by_adam(b1=0.0, b2=problem.b2, eps=0.0),
            optax.scale_by_rss(initial_accumulator_value=0.0, eps=0.0),
        )
        last = jnp.stack([updates_of(method, problem.gradients)[-1] for method in methods])
        return (problem.gradients[-1] / last) ** 2

    def condition(self, problem: GradientHistory) -> Array:
        """Bound the errors: each of T updates rounds, and 1 - b2^T cancels if b2 is near 1."""
        return len(problem.gradients) + 1 / (1 - problem.b2)
