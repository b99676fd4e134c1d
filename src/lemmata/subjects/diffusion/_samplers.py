"""Samplers for an exact or a learned score, and the distance between their samples and the data."""

from collections.abc import Callable

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.problems.schedules import Schedule, score_from_denoiser
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork
from lemmata.subjects.diffusion._diffusion import FIRST, HORIZON

Score = Callable[[Float[Array, ""], Float[Array, " d"]], Float[Array, " d"]]
_STEPS = 128


def energy_distance(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, ""]:
    """Return an unbiased estimate of the energy distance 2 E|X - Y| - E|X - X'| - E|Y - Y'| of two distributions.

    X and X' are independent draws of the distribution of x, and Y and Y' of the distribution of y. Pairs of a point
    with itself are left out. The expectation of the estimate is 0 if the distributions are equal, and otherwise
    positive. A single estimate may be negative.

    Args:
        x: a sample.
        y: another sample.
    """
    distance = lambda a, b: jnp.sqrt(jnp.maximum(_squares(a, b), 0.0))
    own = lambda a: distance(a, a).sum() / (len(a) * (len(a) - 1))
    return 2 * distance(x, y).mean() - own(x) - own(y)


def energy_interval(
    x: Float[Array, "n d"], y: Float[Array, "n d"], blocks: int = 10, width: float = 3.0
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """Return the energy distance, and the two ends of an interval of `width` jackknife standard errors on either side.

    Args:
        x: a sample.
        y: another sample with the same number of points.
        blocks: the number of blocks into which the samples are divided; the jackknife leaves out each block in turn.
        width: half the width of the interval in standard errors.
    """
    left = lambda a, b: jnp.concatenate([a[: b * len(a) // blocks], a[(b + 1) * len(a) // blocks :]])
    values = jnp.stack([energy_distance(left(x, b), left(y, b)) for b in range(blocks)])
    error = jnp.sqrt((blocks - 1) * jnp.mean((values - values.mean()) ** 2))
    distance = energy_distance(x, y)
    return distance, distance - width * error, distance + width * error


def _squares(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    return jnp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)


def reverse_grid(first: float, horizon: float, steps: int) -> Float[Array, " s"]:
    """Return times from `first` to `horizon`, the squares of an even grid.

    These times are denser near `first`, where scores are steep.
    """
    return jnp.linspace(first**0.5, horizon**0.5, steps + 1) ** 2


def simulate_forward(
    key: Key[Array, ""], schedule: Schedule, clean: Float[Array, "n d"], horizon: float, steps: int
) -> Float[Array, "n d"]:
    """Compute x(T) from x(0) by Euler-Maruyama steps of the forward equation dx = -g x/2 dt + sqrt(g) dB.

    The forward equation is equation (3) of the source. Its explicit solution is not used.

    Args:
        key: the random key.
        schedule: the noise schedule g.
        clean: the draws x(0), one in each row.
        horizon: the last time T.
        steps: the number of steps.
    """
    drift = lambda t, x: -schedule.rate(t) * x / 2
    return _simulate(key, drift, lambda t: jnp.sqrt(schedule.rate(t)), jnp.linspace(0.0, horizon, steps + 1), clean)


def sample_reverse(
    key: Key[Array, ""],
    score: Score,
    schedule: Schedule,
    start: Float[Array, "n d"],
    *,
    first: float = FIRST,
    horizon: float = HORIZON,
    steps: int = _STEPS,
) -> Float[Array, "n d"]:
    """Draw x(first) from draws of x(horizon) by Euler-Maruyama steps of the reverse equation (4) of the source.

    The equation is dy = (g y/2 + g score) ds + sqrt(g) dB, with g and the score at the time t = horizon - s.

    Args:
        key: the random key.
        score: the score as a function of (t, x).
        schedule: the noise schedule g.
        start: the starting points, which are draws of p_T, the distribution of x(T), or of N(0, I).
        first: the time at which to stop; the score of data without a density is infinite at time 0.
        horizon: the last time T.
        steps: the number of steps.
    """
    rate = lambda s: schedule.rate(horizon - s)
    drift = lambda s, y: rate(s) * (y / 2 + score(horizon - s, y))
    grid = (horizon - reverse_grid(first, horizon, steps))[::-1]
    return _simulate(key, drift, lambda s: jnp.sqrt(rate(s)), grid, start)


def probability_flow(
    score: Score,
    schedule: Schedule,
    start: Float[Array, "n d"],
    *,
    first: float = FIRST,
    horizon: float = HORIZON,
    steps: int = _STEPS,
) -> Float[Array, "n d"]:
    """Compute x(first) from x(horizon) along dx/dt = -g (x + score) / 2 by Heun's method.

    Args:
        score: the score as a function of (t, x).
        schedule: the noise schedule g.
        start: the starting points, which are draws of p_T, the distribution of x(T), or of N(0, I).
        first: the time at which to stop.
        horizon: the last time T.
        steps: the number of steps.
    """
    grid = reverse_grid(first, horizon, steps)[::-1]
    slope = lambda t, x: -schedule.rate(t) * (x + score(t, x)) / 2

    def one(point):
        path = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, x, args: slope(t, x)), diffrax.Heun(), grid[0], grid[-1], None, point,
            stepsize_controller=diffrax.StepTo(grid), max_steps=steps + 1, adjoint=diffrax.ForwardMode(),
        )  # fmt: skip
        return _end(path)

    return jax.vmap(one)(start)


def _simulate(key: Key[Array, ""], drift: Callable, amplitude: Callable, grid: Array, start: Array) -> Array:
    def one(point, key):
        noise = diffrax.UnsafeBrownianPath(shape=point.shape, key=key)
        spread = lambda t, x, args: amplitude(t) * jnp.eye(len(point))
        terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, x, args: drift(t, x)), diffrax.ControlTerm(spread, noise))
        path = diffrax.diffeqsolve(
            terms, diffrax.Euler(), grid[0], grid[-1], None, point, stepsize_controller=diffrax.StepTo(grid),
            max_steps=len(grid), adjoint=diffrax.DirectAdjoint(),
        )  # fmt: skip
        return _end(path)

    return jax.vmap(one)(start, jax.random.split(key, len(start)))


def _end(path: diffrax.Solution) -> Float[Array, " d"]:
    assert path.ys is not None  # by default, diffrax saves the last state
    return path.ys[0]


class LearnedScore(eqx.Module):
    """The score that is computed from a learned denoiser (a kernel regression or a network).

    The model receives (1, t, x) divided by `length`, the length of the longest training input. The softmax kernel is 0
    at the input 0. Without the constant 1, the denoiser of every model would therefore be 0 at t = 0, x = 0. Inputs
    outside the unit ball are replaced by the nearest point in the ball. The theory does not cover inputs outside the
    ball, and the model grows exponentially there.

    Args:
        predict: the model, which maps rows of inputs to rows of estimates F of x(0).
        schedule: the noise schedule g.
        length: the length of the longest training input.
    """

    predict: Callable[[Float[Array, "n e"]], Float[Array, "n d"]]
    schedule: Schedule
    length: Float[Array, ""]

    def denoiser(self, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return F(t, x), the estimate of x(0) given x(t) = x."""
        scaled = _inputs(t[None], x[None, :]) / self.length
        return self.predict(scaled / jnp.maximum(1.0, jnp.linalg.norm(scaled)))[0]

    def __call__(self, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return the score (alpha F - x) / (1 - alpha²), where alpha(t) is the factor of x(0) in x(t)."""
        return score_from_denoiser(self.schedule, t, x, self.denoiser(t, x))


class _KernelModel(eqx.Module):
    kernel: SoftmaxTangent
    centres: Float[Array, "n e"]
    coefficients: Float[Array, "n d"]

    def __call__(self, inputs: Float[Array, "m e"]) -> Float[Array, "m d"]:
        return gram(self.kernel, inputs, self.centres) @ self.coefficients


class _NetworkModel(eqx.Module):
    network: SoftmaxNetwork = eqx.field(static=True)
    params: dict[str, Array]

    def __call__(self, inputs: Float[Array, "m e"]) -> Float[Array, "m d"]:
        return self.network.predict(self.params, inputs)


def _inputs(times: Float[Array, " n"], places: Float[Array, "n d"]) -> Float[Array, "n e"]:
    return jnp.concatenate([jnp.ones((len(times), 1)), times[:, None], places], axis=1)


def learn_score(
    schedule: Schedule,
    times: Float[Array, " n"],
    places: Float[Array, "n d"],
    clean: Float[Array, "n d"],
    *,
    sigma: float = 2.0,
    ridge: float = 0.3,
) -> LearnedScore:
    """Learn a score by kernel ridge regression of x(0) on (1, t, x(t)) with the softmax kernel.

    Args:
        schedule: the noise schedule g.
        times: the times t_i.
        places: the noised data x(t_i)_i.
        clean: the clean data x(0)_i.
        sigma: the parameter sigma of the kernel.
        ridge: the number that is added to the diagonal of the kernel matrix.
    """
    raw = _inputs(times, places)
    length = jnp.linalg.norm(raw, axis=1).max()
    kernel = SoftmaxTangent(jnp.asarray(sigma, float))
    matrix = gram(kernel, raw / length) + ridge * jnp.eye(len(raw))
    factor = jax.scipy.linalg.cho_factor(matrix, lower=True)
    coefficients = jax.scipy.linalg.cho_solve(factor, clean)
    return LearnedScore(_KernelModel(kernel, raw / length, coefficients), schedule, length)


def train_score(
    key: Key[Array, ""],
    schedule: Schedule,
    times: Float[Array, " n"],
    places: Float[Array, "n d"],
    clean: Float[Array, "n d"],
    *,
    width: int = 512,
    sigma: float = 2.0,
    steps: int = 300,
) -> LearnedScore:
    """Learn a score by training a softmax network to map (1, t, x(t)) to x(0), with `steps` steps of gradient descent.

    The learning rate is 1 divided by an estimate of the trace of the network's tangent kernel matrix. The estimate is
    `width` times the trace of the softmax kernel matrix.

    Args:
        key: the random key for the initial weights.
        schedule: the noise schedule g.
        times: the times t_i.
        places: the noised data x(t_i)_i.
        clean: the clean data x(0)_i.
        width: the number of hidden units.
        sigma: the standard deviation of the initial weights.
        steps: the number of steps.
    """
    raw = _inputs(times, places)
    length = jnp.linalg.norm(raw, axis=1).max()
    x, network = raw / length, SoftmaxNetwork(width=width, outputs=clean.shape[1], sigma=sigma)
    params, _ = network.init(key, x.shape[1])
    rate = 1 / (width * SoftmaxTangent(jnp.asarray(sigma, float)).diagonal(x).sum())
    step = lambda _, weight: weight - rate * network.gradient({**params, "weight": weight}, x, clean)
    weight = jax.lax.fori_loop(0, steps, step, params["weight"])
    return LearnedScore(_NetworkModel(network, {**params, "weight": weight}), schedule, length)
