"""Privacy accountants for noisy steps on sampled rows, from the distribution of the privacy loss or by approximation.

This theory is about the (eps, delta)-privacy of many steps that add normal noise to clipped sums over sampled rows. It
does not say what an attacker who sees only the last step can learn, which may be far less.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, logsumexp
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, EqualInMean, Kind, Source
from lemmata.subjects.stability._gaussian_releases import SampledGaussians, SampledSteps

from .privacy import gaussian_delta

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "inequality"}

_CELLS = 2**13
_ORDERS = np.arange(2, 65)
_ROUNDS = 60
_DRAWS = 1500


def loss_masses(problem: SampledSteps, steps: Array | float) -> tuple[Float[Array, " cells"], Float[Array, "2 cells"]]:
    """Return a grid of losses, and the distribution on it of the loss of all steps, for both orders of the data sets.

    Let s be the noise of a step, and q the rate at which rows are sampled. One step releases N(0, s²) without a row and
    the mixture (1 - q) N(0, s²) + q N(1, s²) with it. The loss at x is log(1 - q + q e^((2x - 1)/(2 s²))) if x is from
    the mixture, and minus this value if x is from N(0, s²). Each loss is rounded to the nearest point of the grid. The
    distribution of a sum of independent losses comes from a power of the Fourier transform.
    """
    noise, rate = problem.noise, problem.rate
    single = jnp.log1p(rate * jnp.expm1((2 * (1 + 9 * noise) - 1) / (2 * noise**2)))
    ratio = central_ratio(problem, steps)
    reach = ratio**2 + 10 * ratio + 1.5 * single
    width = 2 * reach / _CELLS
    cells = jnp.arange(_CELLS) - _CELLS // 2
    edges = (jnp.arange(_CELLS + 1) - _CELLS // 2 - 0.5) * width

    def place(loss):
        """Return the released value that has this loss, in units of the noise; no value has a loss below log(1 - q)."""
        odds = (jnp.expm1(loss) + rate) / rate
        known = jnp.where(odds > 0, odds, 1.0)
        return jnp.where(odds > 0, noise * jnp.log(known) + 1 / (2 * noise), -jnp.inf)

    with_row = (1 - rate) * norm.cdf(place(edges)) + rate * norm.cdf(place(edges) - 1 / noise)
    without = norm.sf(place(-edges))
    below = jnp.stack([with_row, without])
    masses = jnp.diff(below.at[:, 0].set(0.0).at[:, -1].set(1.0), axis=1)
    powers = jnp.fft.rfft(jnp.fft.ifftshift(masses, axes=1), axis=1) ** steps
    return width * cells, jnp.fft.fftshift(jnp.fft.irfft(powers, _CELLS, axis=1), axes=1)


def loss_delta(
    losses: Float[Array, " cells"], masses: Float[Array, " cells"], eps: Float[Array, ""]
) -> Float[Array, ""]:
    """Return the mean of max(1 - e^(eps - L), 0) over losses L with these probabilities, which is delta(eps)."""
    return jnp.sum(masses * jnp.maximum(-jnp.expm1(eps - losses), 0.0))


def loss_budget(problem: SampledSteps, steps: Array | float) -> Float[Array, ""]:
    """Return the least eps that, at the problem's delta, holds for both orders of the data sets, from `loss_masses`."""
    losses, masses = loss_masses(problem, steps)
    half = _CELLS // 2
    grid, kept = losses[half:], jnp.maximum(masses[:, half:], 0.0)
    # delta(eps) = sum of masses - e^eps sum of masses e^-loss, both over losses above eps
    above = jnp.cumsum(kept[:, ::-1], axis=1)[:, ::-1]
    tilted = jnp.cumsum((kept * jnp.exp(-grid))[:, ::-1], axis=1)[:, ::-1]
    at_grid = jnp.pad(above[:, 1:] - jnp.exp(grid[:-1]) * tilted[:, 1:], ((0, 0), (0, 1)))
    cell = jnp.sum(at_grid > problem.delta, axis=1)
    take = lambda table: jnp.take_along_axis(table, cell[:, None], axis=1)[:, 0]
    found = jnp.log(jnp.maximum(take(above) - problem.delta, 1e-300) / jnp.maximum(take(tilted), 1e-300))
    return jnp.max(jnp.where(cell > 0, found, 0.0))


def renyi_budget(problem: SampledSteps) -> Float[Array, ""]:
    """Return the least eps that follows from a Rényi divergence of whole order from 2 to 64."""
    orders = jnp.asarray(_ORDERS, float)[:, None]
    terms = jnp.arange(_ORDERS[-1] + 1.0)
    valid = terms <= orders
    rest = jnp.where(valid, orders - terms, 0.0)
    logs = gammaln(orders + 1) - gammaln(terms + 1) - gammaln(rest + 1)
    logs = logs + terms * jnp.log(problem.rate) + rest * jnp.log1p(-problem.rate)
    logs = logs + terms * (terms - 1) / (2 * problem.noise**2)
    orders, spent = orders[:, 0], logsumexp(jnp.where(valid, logs, -jnp.inf), axis=1) / (orders[:, 0] - 1)
    turned = jnp.log1p(-1 / orders) - (jnp.log(problem.delta) + jnp.log(orders)) / (orders - 1)
    return jnp.min(problem.steps * spent + turned)


def central_ratio(problem: SampledSteps, steps: Array | float) -> Float[Array, ""]:
    """Return q sqrt(T (e^(1/s²) - 1)) for T steps with noise s at rate q.

    This is the ratio of sensitivity to noise of the normal release to which the steps tend.
    """
    return problem.rate * jnp.sqrt(steps * jnp.expm1(1 / problem.noise**2))


def normal_budget(delta: Float[Array, ""], ratio: Float[Array, ""]) -> Float[Array, ""]:
    """Return the eps of the Gaussian privacy curve at this delta, by bisection; 0 if delta is enough for eps = 0."""

    def half(_, ends):
        middle = (ends[0] + ends[1]) / 2
        kept = gaussian_delta(middle, ratio) <= delta
        return jnp.where(kept, ends[0], middle), jnp.where(kept, middle, ends[1])

    most = jnp.maximum(ratio**2 / 2 - ratio * norm.ppf(delta), 0.0)
    return jax.lax.fori_loop(0, _ROUNDS, half, (jnp.zeros(()), most))[1]


class DeltaOfLosses(Claim[SampledSteps]):
    """In each of T steps, release a sum with normal noise of standard deviation s. A given row takes part in each step
    with probability q, and then changes the sum by a vector of norm 1. The privacy loss is the log ratio of two
    densities of the releases: with this row in the data, and without this row. Write (z)+ for max(z, 0). The privacy
    loss of all steps is a sum of T independent losses

        L_t = log(1 - q + q e^((2 x_t - 1)/(2 s²))),   x_t ~ (1 - q) N(0, s²) + q N(1, s²),

    and the privacy curve is delta(eps) = E (1 - e^(eps - sum L_t))+. To compute this mean, put the distribution of one
    loss on a grid and raise its Fourier transform to the power T.
    """

    title = "Fourier transforms compute the differential privacy curve of many noisy subsampled steps"
    source = Source("koskela2020", note="main result, for sampled rows, comparing the data with and without the row")
    population = SampledGaussians(steps=12)
    relation = EqualInMean(margin=0.01, resolution=0.04)
    control = Control(
        "delta(eps) is the value of the stated formula at 1.3 eps", lambda delta, problem: _delta_at(problem, 1.3)
    )
    controls = "the least delta at an eps"
    unexplained = "the error from rounding losses to the nearest point of the grid"
    trials = 64

    def predict(self, problem: SampledSteps) -> Array:
        return _delta_at(problem, 1.0)

    def measure(self, problem: SampledSteps, key: Key[Array, ""]) -> Array:
        """The mean for delta(eps), estimated from losses that are drawn step by step."""
        noise_key, row_key = jax.random.split(key)
        shape, noise = (_DRAWS, problem.steps), problem.noise
        present = jax.random.bernoulli(row_key, problem.rate, shape)
        drawn = noise * jax.random.normal(noise_key, shape) + present
        loss = jnp.log1p(problem.rate * jnp.expm1((2 * drawn - 1) / (2 * noise**2))).sum(axis=1)
        return jnp.mean(jnp.maximum(-jnp.expm1(_some_eps(problem) - loss), 0.0))


def _some_eps(problem: SampledSteps) -> Array:
    """Return an eps that the privacy loss of all steps often exceeds."""
    return central_ratio(problem, float(problem.steps)) / 2


def _delta_at(problem: SampledSteps, factor: float) -> Array:
    losses, masses = loss_masses(problem, float(problem.steps))
    return loss_delta(losses, masses[0], factor * _some_eps(problem))


class CentralLimitIsTooLittle(Claim[SampledSteps]):
    """In each of T steps, release a sum of row vectors of norm at most 1, with normal noise of standard deviation s.
    Each row takes part in each step with probability q. If T -> infinity and q sqrt(T) -> constant, the privacy curve
    of all steps tends to the privacy curve of one normal release. The sensitivity of this release, divided by the
    standard deviation of its noise, is

        mu = q sqrt(T (e^(1/s²) - 1)).

    At a finite T, compare the eps of the steps with the eps of this normal release, at the same delta. For at least
    nine of ten random choices of s and delta, the eps of the steps is at least the eps of the normal release. The
    reason is that the sum of the privacy losses has a heavier upper tail than the normal distribution. So the limit is
    not an upper bound.
    """

    title = "Noisy steps on sampled rows mostly spend more differential privacy than the central limit theorem predicts"
    source = Source("bu2020", note="main result, which is a limit, compared with a finite number of steps")
    stated = Kind.OWN
    population = SampledGaussians()
    relation = AtLeast(delta=0.1)
    control = Control("the eps of the steps is at least 10 % larger", lambda eps, problem: 1.1 * eps)
    controls = "the eps that steps have spent"
    unexplained = "how fast the limit becomes accurate"
    trivial = 0.0  # an eps is not negative

    def predict(self, problem: SampledSteps) -> Array:
        return normal_budget(problem.delta, central_ratio(problem, float(problem.steps)))

    def measure(self, problem: SampledSteps, key: Key[Array, ""]) -> Array:
        """The eps from the distribution of the privacy loss."""
        return loss_budget(problem, float(problem.steps))


class RenyiBudget(Claim[SampledSteps]):
    """In each of T steps, release a sum of row vectors of norm at most 1, with normal noise of standard deviation s.
    Each row takes part in each step with probability q. For a = 2, 3, ..., 64, let r(a) be the Rényi divergence of
    order a of one step:

        r(a) = log(sum_k C(a, k) (1 - q)^(a - k) q^k e^(k (k - 1)/(2 s²))) / (a - 1),   k = 0, ..., a,

    where C(a, k) is the binomial coefficient. At a given delta, the eps of all steps is at most

        min over a of  T r(a) + log(1 - 1/a) - (log delta + log a)/(a - 1).
    """

    title = "Rényi divergences bound the differential privacy budget of noisy subsampled steps"
    source = Source("mironov2019", note="main result for whole orders, with a sharper conversion to eps and delta")
    population = SampledGaussians()
    relation = AtMost()
    control = Control("the budget is that of the central limit theorem", lambda eps, problem: _central(problem))
    controls = "the eps that steps have spent"
    unexplained = "why the bound is too large by 10 % or more, which the exact distribution of the loss avoids"

    def predict(self, problem: SampledSteps) -> Array:
        return renyi_budget(problem)

    def measure(self, problem: SampledSteps, key: Key[Array, ""]) -> Array:
        """The eps from the distribution of the privacy loss."""
        return loss_budget(problem, float(problem.steps))

    def trivial(self, problem: SampledSteps) -> Array:
        """The bound if every row took part in every step."""
        return normal_budget(problem.delta, jnp.sqrt(problem.steps) / problem.noise)


def _central(problem: SampledSteps) -> Array:
    return normal_budget(problem.delta, central_ratio(problem, float(problem.steps)))
