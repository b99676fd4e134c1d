"""Training linear recurrences: the loss is convex in the readout, but has saddles and bad minima in the dynamics.

This theory is about gradient descent on the parameters of small linear recurrences. Their losses are convex in the
outputs, but not in the parameters. The explicit formulas assume a single mode. The theory does not explain training of
many modes at once, some of which are near the target by chance.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, EqualInMean, Kind, Source
from lemmata.subjects.optimisation._recurrent_fits import (
    IMPULSE_FITS,
    FrequencyFit,
    FrequencyFits,
    ImpulseFit,
    ReadoutFit,
    ReadoutFits,
)

ABOUT = {"tool": "dynamical systems", "architecture": "state-space model", "object": "training"}

_STARTS, _STEPS = 256, 300


def _descend(loss, start: Float[Array, " p"], step: Array, steps: int) -> Float[Array, " p"]:
    return jax.lax.fori_loop(0, steps, lambda _, at: at - step * jax.grad(loss)(at), start)


class SaddleOfRecurrence(Claim[ImpulseFit]):
    """Let the loss 1/2 sum_(k<n) (c a^k b - beta alpha^k)² compare a linear recurrence with the impulse response beta
    alpha^k over n lags. Here a is the pole of the recurrence, and b and c are the weights of its input and output. At
    every a, the point with b = c = 0 is stationary, with a positive loss. At these points, the smallest eigenvalue of
    the Hessian is

        -|beta (1 - (a alpha)^n) / (1 - a alpha)|.

    Hence these points are saddles. A convex function has no saddles, so the loss is not convex.
    """

    title = "A linear recurrence with zero input and output weights is at a saddle of its loss"
    source = Source("foundation2025", "Theorem 3", note="a saddle")
    stated = Kind.OWN
    population = IMPULSE_FITS
    relation = Equal(block=1)
    control = Control(
        "the last lag is left out",
        lambda value, problem: value.at[-1].add(
            problem.gain * jnp.abs((problem.start * problem.pole) ** (problem.lags - 1))
        ),
    )
    controls = "the gradient and the curvature of the loss of a linear recurrence"
    unexplained = "how long gradient descent stays near saddles"
    condition = 32.0

    def predict(self, problem: ImpulseFit) -> Array:
        """Return the norm of the gradient, and then the least curvature."""
        product = problem.start * problem.pole
        least = -jnp.abs(problem.gain * (1 - product**problem.lags) / (1 - product))
        return jnp.stack([jnp.zeros(()), least])

    def measure(self, problem: ImpulseFit, key: Key[Array, ""]) -> Array:
        curvature = jnp.linalg.eigvalsh(jax.hessian(problem.loss)(problem.first))[0]
        return jnp.stack([jnp.linalg.norm(jax.grad(problem.loss)(problem.first)), curvature])


class ConcaveAtZero(Claim[ImpulseFit]):
    """Fix the input and output weights of a linear recurrence at b = c = 1. Let alpha be the target pole. Even then,
    the loss L(a) = sum_(k<n) (a^k - alpha^k)² is not convex in the pole a. For n >= 3 lags,

        L''(0) = 2 - 4 alpha²,

    which is negative for alpha > 1/sqrt(2). Lags after the third contribute nothing to this value.
    """

    title = "The loss of a linear recurrence with one pole is concave at zero if the target pole exceeds 1/sqrt(2)"
    source = Source("foundation2025", "Theorem 3", note="with B and C fixed")
    stated = Kind.OWN
    population = IMPULSE_FITS
    relation = Equal()
    control = Control("the curvature is 2 - 2 alpha²", lambda value, problem: value + 2 * problem.pole**2)
    controls = "the curvature of the loss of a linear recurrence"
    unexplained = "whether gradient descent comes near this point"

    def predict(self, problem: ImpulseFit) -> Array:
        return 2 - 4 * problem.pole**2

    def measure(self, problem: ImpulseFit, key: Key[Array, ""]) -> Array:
        """Differentiate the loss of the recurrence twice; the problem's loss has a factor 1/2 and a gain."""
        target = problem.pole ** jnp.arange(problem.lags)
        loss = lambda a: jnp.sum((problem.response(jnp.stack([a, 1.0 + 0 * a, 1.0 + 0 * a])) - target) ** 2)
        return jax.grad(jax.grad(loss))(0.0 * problem.pole)

    def condition(self, problem: ImpulseFit) -> Array:
        """Bound the cancellation of 2 and 4 alpha² near alpha = 1/sqrt(2)."""
        return 8 / jnp.abs(2 - 4 * problem.pole**2)


class FrequencyBasin(Claim[FrequencyFit]):
    """Fit the frequency of an undamped mode over the lags 1, ..., n by gradient descent on the squared error. Draw the
    start uniformly on the circle of frequencies. Gradient descent finds the target frequency with probability

        z_n / (pi n),

    where z_n is the first positive root of sum_k k sin(k z/n). As n grows, z_n tends to 4.4934..., the root of tan z =
    z. From all other starts, gradient descent ends in bad minima.
    """

    title = "In fitting an undamped mode, the basin of the right frequency shrinks with the number of lags"
    source = Source("foundation2025", "Theorem 3", note="if a frequency is trained")
    stated = Kind.OWN
    population = FrequencyFits()
    # starts that have barely left the edge of the basin after the last step
    relation = EqualInMean(margin=0.005, resolution=0.05)
    control = Control("2/n", lambda share, problem: jnp.asarray(2.0 / problem.lags))
    controls = "the probability that gradient descent on a frequency succeeds"
    unexplained = "damped modes; several modes"
    trials = 64

    def predict(self, problem: FrequencyFit) -> Array:
        """Find z_n/n by bisection between pi/n, where the sum is positive, and 2 pi/n, where it is negative."""
        k = jnp.arange(1, problem.lags + 1)

        def halve(_, ends):
            middle = ends.mean()
            inside = jnp.sum(k * jnp.sin(k * middle)) > 0
            return jnp.where(inside, jnp.stack([middle, ends[1]]), jnp.stack([ends[0], middle]))

        ends = jnp.array([jnp.pi, 2 * jnp.pi]) / problem.lags
        return jax.lax.fori_loop(0, 60, halve, ends).mean() / jnp.pi

    def measure(self, problem: FrequencyFit, key: Key[Array, ""]) -> Array:
        """Return the share of starts, one in each cell of a grid, from which the loss falls to a thousandth of n."""
        n = problem.lags
        starts = 2 * jnp.pi * (jnp.arange(_STARTS) + jax.random.uniform(key, (_STARTS,))) / _STARTS
        largest = n * (n + 1) * (2 * n + 1) / 6
        found = _descend(lambda at: problem.loss(at).sum(), starts, jnp.asarray(1 / largest), _STEPS)
        return jnp.mean(problem.loss(found) < 1e-3 * n)


class DampedFrequencyHasOneMinimum(Claim[FrequencyFit]):
    """Let w be the frequency of a mode, and let w* be the target frequency. Let rho be the decay per lag, and let r =
    rho² < 1. Give lag k = 0, 1, ... the weight r^k. The squared error

        sum_k r^k |e^(i k w) - e^(i k w*)|²/2 = 1/(1 - r) - (1 - r cos(w - w*))/(1 - 2 r cos(w - w*) + r²),

    has one minimum on the circle. So gradient descent on the frequency can fail only if the horizon is finite and the
    damping is small.
    """

    title = "As a function of its frequency, the squared error of a damped mode over all lags has one minimum"
    source = Source("foundation2025", "Theorem 3", note="with damping")
    stated = Kind.OWN
    population = FrequencyFits()
    relation = Equal()
    control = Control("there is a second minimum", lambda count, problem: count + 1)
    controls = "the number of minima of the loss in the frequency"
    unexplained = "how long gradient descent takes if the loss is nearly flat"
    predict = 1.0

    def measure(self, problem: FrequencyFit, key: Key[Array, ""]) -> Array:
        """Count local minima on 1024 frequencies of the sum over 1024 lags, by a Fourier transform of the weights."""
        lags = jnp.arange(1024)
        weights = problem.decay ** (2 * lags) * jnp.exp(-1j * lags * problem.frequency)
        loss = -jnp.fft.fft(weights.conj()).real
        return jnp.sum((loss < jnp.roll(loss, 1)) & (loss <= jnp.roll(loss, -1))).astype(float)


class ReadoutTraining(Claim[ReadoutFit]):
    """Keep the dynamics of a linear recurrence (its matrices A and B) fixed. Take any convex loss of the outputs that
    is L-smooth in the readout C, and let C* be a minimiser. Train C from C_0 by gradient descent with the step 1/L.
    Then

        loss after t steps - minimum <= L |C_0 - C*|²/(4t + 2).

    The bound cannot be improved: Huber's loss on one output attains it.
    """

    title = "Gradient descent on the readout of a linear recurrence converges at the rate 1/t"
    source = Source("foundation2025", "Theorem 3", note="for the readout, with the constant of Drori and Teboulle")
    population = ReadoutFits()
    relation = AtMost()
    control = Control("half of the bound is enough", lambda bound, problem: bound / 2)
    controls = "the training loss of the readout"
    unexplained = "training of the dynamics"

    def trivial(self, problem: ReadoutFit) -> Array:
        """Return the loss at the start."""
        return problem.loss(problem.start)

    def predict(self, problem: ReadoutFit) -> Array:
        return problem.smoothness * jnp.sum((problem.start - problem.best) ** 2) / (4 * problem.steps + 2)

    def measure(self, problem: ReadoutFit, key: Key[Array, ""]) -> Array:
        return problem.loss(_descend(problem.loss, problem.start, 1 / problem.smoothness, problem.steps))

    def condition(self, problem: ReadoutFit) -> Array:
        return jnp.asarray(10.0 * problem.steps)
