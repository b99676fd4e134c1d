"""Distributions of data for which the noised density and the denoiser are known in closed form.

A diffusion turns data x(0) into x(t) = alpha x(0) + sqrt(1 - alpha²) z with standard normal z, where alpha = alpha(t)
is given by a `Schedule`. The noised density is the density p_t of x(t). The denoiser is E[x(0) | x(t) = x]. Assumption
numbers are those of gu2024softmax.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import i0e, i1e, log_ndtr, logsumexp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Integer, Real
from lemmata.engine.problems.schedules import Schedule
from lemmata.errors import SettingError

STD = Real(0.3, 0.05, 1.0, "standard deviation of a component")
DIMENSION = Integer(2, 1, 8, "dimension of the data")
TARGET = Choice("cube", ("cube", "mixture", "sphere"), "distribution of the data; a sphere has dimension 1, 2 or 3")


class AbstractTarget(eqx.Module):
    """A distribution p_0 of data for which the noised density and the denoiser are known."""

    @abc.abstractmethod
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n d"]:
        """Draws of x(0), one draw in each row."""

    @abc.abstractmethod
    def log_density(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, ""]:
        """The logarithm of p_t(x), where p_t is the density of x(t)."""

    @abc.abstractmethod
    def denoiser(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """The denoiser F*(t, x) = E[x(0) | x(t) = x], from the posterior of x(0)."""

    @property
    @abc.abstractmethod
    def lipschitz(self) -> Float[Array, ""]:
        """A Lipschitz constant of F* in x, for all times and schedules (Assumption 6.4); infinite if none exists."""

    def score(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """The gradient of log p_t at x, computed by differentiating `log_density`."""
        return jax.grad(self.log_density, argnums=2)(schedule, t, x)


class GaussianMixture(AbstractTarget):
    """Normal components N(means_c, std² I) with probabilities weights_c.

    Args:
        means: one row per component.
        weights: the probabilities of the components.
        std: common standard deviation, positive.
    """

    means: Float[Array, "c d"]
    weights: Float[Array, " c"]
    std: Float[Array, ""] = eqx.field(converter=jnp.asarray)

    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n d"]:
        """Draw a component for each row, then a normal number for each coordinate."""
        choice_key, noise_key = jax.random.split(key)
        choice = jax.random.choice(choice_key, len(self.weights), (n,), p=self.weights)
        return self.means[choice] + self.std * jax.random.normal(noise_key, (n, self.means.shape[1]))

    def log_density(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, ""]:
        """Log of sum_c weights_c N(x; alpha means_c, (alpha² std² + 1 - alpha²) I)."""
        alpha, spread = self._noised(schedule, t)
        gaps = jnp.sum((x - alpha * self.means) ** 2, axis=1)
        return logsumexp(-gaps / (2 * spread), b=self.weights) - len(x) / 2 * jnp.log(2 * jnp.pi * spread)

    def denoiser(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """sum_c P(c | x) [means_c + alpha std² / (alpha² std² + 1 - alpha²) (x - alpha means_c)]."""
        posterior, inside = self._posterior(schedule, t, x)
        return posterior @ inside

    @property
    def lipschitz(self) -> Float[Array, ""]:
        """max(1, std) + max_c |means_c - mean of the means|² / min(1, std²).

        The Jacobian of F* is alpha std² / s I + alpha v / s² Cov(means | x), where v = 1 - alpha² and s = alpha² std² +
        v. The first term is at most max(1, std). In the second term, v <= s and s >= min(1, std²).
        """
        away = jnp.sum((self.means - self.means.mean(axis=0)) ** 2, axis=1).max()
        return jnp.maximum(1.0, self.std) + away / jnp.minimum(1.0, self.std**2)

    def covariance(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, "d d"]:
        """Cov(x(0) | x(t) = x), the covariance within components plus the covariance of the components' means."""
        posterior, inside = self._posterior(schedule, t, x)
        spread = self._noised(schedule, t)[1]
        centred = inside - posterior @ inside
        within = self.std**2 * schedule.variance(t) / spread
        return within * jnp.eye(len(x)) + centred.T @ (posterior[:, None] * centred)

    def _noised(self, schedule: Schedule, t: Float[Array, ""]) -> tuple[Array, Array]:
        alpha = schedule.scale(t)
        return alpha, alpha**2 * self.std**2 + schedule.variance(t)

    def _posterior(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> tuple[Array, Array]:
        """P(c | x), and E[x(0) | x, c]. The means have one row for each component c."""
        alpha, spread = self._noised(schedule, t)
        gaps = x - alpha * self.means
        posterior = jax.nn.softmax(jnp.log(self.weights) - jnp.sum(gaps**2, axis=1) / (2 * spread))
        return posterior, self.means + alpha * self.std**2 / spread * gaps


class Sphere(AbstractTarget):
    """The uniform distribution on the unit sphere of the line (two points), of the plane or of space.

    Given x(t) = x, x(0) has the von Mises-Fisher distribution with direction x/|x| and concentration kappa = alpha |x|
    / (1 - alpha²).

    Args:
        dimension: 1, 2 or 3.
    """

    dimension: int = eqx.field(static=True)

    def __check_init__(self):
        if self.dimension not in (1, 2, 3):
            raise SettingError(
                "dimension of the sphere",
                found=self.dimension,
                rule="1, 2 or 3, because the denoiser is known only for these",
                remedy="choose one of these, or another distribution of the data",
            )

    @property
    def lipschitz(self) -> Float[Array, ""]:
        """Infinite, because the slope of F* at x = 0 is alpha / (d (1 - alpha²)), unbounded as t tends to 0."""
        return jnp.asarray(jnp.inf)

    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n d"]:
        """Normal draws, normalised."""
        draws = jax.random.normal(key, (n, self.dimension))
        return draws / jnp.linalg.norm(draws, axis=1, keepdims=True)

    def log_density(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, ""]:
        """-(|x|² + alpha²) / (2v) + log E exp(kappa <u, x/|x|>) - d/2 log(2 pi v), v = 1 - alpha².

        The mean E is over u uniform on the sphere, and kappa is the concentration alpha |x| / v.
        """
        alpha, v = schedule.scale(t), schedule.variance(t)
        kappa = alpha * _length(x) / v
        if self.dimension == 1:
            mean = kappa + jnp.log1p(jnp.exp(-2 * kappa)) - jnp.log(2.0)
        elif self.dimension == 2:
            mean = kappa + jnp.log(i0e(kappa))
        else:
            mean = kappa + jnp.log(-jnp.expm1(-2 * kappa) / (2 * kappa))
        return -(x @ x + alpha**2) / (2 * v) + mean - self.dimension / 2 * jnp.log(2 * jnp.pi * v)

    def denoiser(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """A(kappa) x/|x| with A = tanh, I_1/I_0 and coth(kappa) - 1/kappa in dimensions 1, 2 and 3."""
        length = _length(x)
        kappa = schedule.scale(t) * length / schedule.variance(t)
        if self.dimension == 1:
            size = jnp.tanh(kappa)
        elif self.dimension == 2:
            size = i1e(kappa) / i0e(kappa)
        else:
            # coth - 1/kappa cancels near 0, where kappa/3 - kappa³/45 + 2 kappa^5/945 is exact to rounding.
            small = kappa / 3 - kappa**3 / 45 + 2 * kappa**5 / 945
            large = 1 / jnp.tanh(jnp.maximum(kappa, 1e-2)) - 1 / jnp.maximum(kappa, 1e-2)
            size = jnp.where(kappa < 1e-2, small, large)
        return size * x / length


class Cube(AbstractTarget):
    """The uniform distribution on the cube [-1/sqrt(d), 1/sqrt(d)]^d, which lies in the unit ball.

    Among the distributions of this module, only the cube has both bounded data (Assumption 6.1 of gu2024softmax) and a
    denoiser that is Lipschitz uniformly in t (Assumption 6.4). Normal components are unbounded. The sphere's denoiser
    at t = 0 jumps at x = 0.

    Args:
        dimension: the dimension d.
    """

    dimension: int = eqx.field(static=True)

    @property
    def half(self) -> float:
        """Half of the cube's side."""
        return self.dimension**-0.5

    @property
    def lipschitz(self) -> Float[Array, ""]:
        """sqrt(1 + half²), at most sqrt(2), by the claim `diffusion.denoisers.cube_lipschitz`."""
        return jnp.asarray((1 + self.half**2) ** 0.5)

    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n d"]:
        """Independent uniform coordinates."""
        return jax.random.uniform(key, (n, self.dimension), minval=-self.half, maxval=self.half)

    def log_density(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, ""]:
        """The sum over coordinates of the logarithm of (Phi(upper) - Phi(lower)) / (2 half alpha)."""
        _, lower, upper, _ = self._truncation(schedule, t, x)
        return jnp.sum(_log_mass(lower, upper) - jnp.log(2 * self.half * schedule.scale(t)))

    def denoiser(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """In each coordinate, the mean of N(x/alpha, (1 - alpha²)/alpha²) truncated to the cube."""
        spread, lower, upper, sign = self._truncation(schedule, t, x)
        log_mass = _log_mass(lower, upper)
        edge = lambda z: jnp.exp(-(z**2) / 2 - log_mass) / jnp.sqrt(2 * jnp.pi)
        return sign * (jnp.abs(x) / schedule.scale(t) + spread * (edge(lower) - edge(upper)))

    def _truncation(self, schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"]) -> tuple[Array, ...]:
        """The standard deviation before truncation; the cube's ends minus |x|/alpha in this unit; and the sign of x."""
        alpha = schedule.scale(t)
        spread = jnp.sqrt(schedule.variance(t)) / alpha
        centre = jnp.abs(x) / alpha
        return spread, (-self.half - centre) / spread, (self.half - centre) / spread, jnp.where(x < 0, -1.0, 1.0)


def _log_mass(lower: Float[Array, "*s"], upper: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Log of Phi(upper) - Phi(lower) if lower <= -|upper|, without cancellation."""
    log_upper = log_ndtr(upper)
    return log_upper + jnp.log1p(-jnp.exp(log_ndtr(lower) - log_upper))


def _length(x: Float[Array, " d"]) -> Float[Array, ""]:
    """|x|, at least 1e-150 so that its gradient is defined at 0."""
    return jnp.sqrt(x @ x + 1e-300)


def sampled_mixture(key: Key[Array, ""], d: int, std: float, components: int = 4) -> GaussianMixture:
    """A random mixture: means uniform in the cube inside the unit ball, and weights U(1, 4) that are normalised."""
    mean_key, weight_key = jax.random.split(key)
    weights = jax.random.uniform(weight_key, (components,), minval=1.0, maxval=4.0)
    means = jax.random.uniform(mean_key, (components, d), minval=-1.0, maxval=1.0) / d**0.5
    return GaussianMixture(means, weights / weights.sum(), jnp.asarray(std, float))


def sampled_target(key: Key[Array, ""], law: str, d: int) -> AbstractTarget:
    """The named distribution: cube, sphere or a random mixture of four normals with standard deviation 0.3.

    Args:
        key: the random key.
        law: one of the options of `TARGET`.
        d: the dimension of the data.
    """
    if law == "mixture":
        return sampled_mixture(key, d, STD.default)
    return {"cube": Cube, "sphere": Sphere}[law](d)
