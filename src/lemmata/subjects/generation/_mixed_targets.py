"""Interpolations from N(0, I) to mixtures of normal distributions: densities, velocities and posterior variances."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis


class MixedTarget(eqx.Module):
    """Independent X_1 from sum_k w_k N(m_k, s_k² I) and X_0 from N(0, I), and X_t = a X_0 + b X_1.

    Args:
        weights: the weights w_k, which sum to 1.
        means: the means m_k, one row for each component.
        spreads: the standard deviations s_k.
    """

    weights: Float[Array, " k"]
    means: Float[Array, "k d"]
    spreads: Float[Array, " k"]

    def variances(self, a: Float[Array, ""], b: Float[Array, ""]) -> Float[Array, " k"]:
        """Return the variance a² + b² s_k² of each component of X_t."""
        return a**2 + b**2 * self.spreads**2

    def _log_terms(self, a: Array, b: Array, x: Float[Array, " d"]) -> Float[Array, " k"]:
        v = self.variances(a, b)
        return jnp.log(self.weights) - jnp.sum((x - b * self.means) ** 2, axis=1) / (2 * v) - len(x) / 2 * jnp.log(v)

    def log_density(self, a: Array, b: Array, x: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the log density of X_t, up to a constant."""
        return logsumexp(self._log_terms(a, b, x))

    def posterior(self, a: Array, b: Array, x: Float[Array, " d"]) -> tuple[Array, Array, Array]:
        """Return the probability of each component given X_t = x, and, for each component, the means of X_0 and of X_1
        given X_t = x.
        """
        shares, v = jax.nn.softmax(self._log_terms(a, b, x)), self.variances(a, b)[:, None]
        gaps = x - b * self.means
        return shares, a / v * gaps, self.means + b * self.spreads[:, None] ** 2 / v * gaps

    def velocity(self, t: Array, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return E[X_1 - X_0 | X_t = x] for a = 1 - t and b = t."""
        shares, zero, one = self.posterior(1 - t, t, x)
        return shares @ (one - zero)

    def floor(self, t: Array, x: Float[Array, " d"]) -> Float[Array, ""]:
        """Return tr Cov(X_1 - X_0 | X_t = x) for a = 1 - t and b = t."""
        shares, zero, one = self.posterior(1 - t, t, x)
        steps = one - zero
        within = len(x) * self.spreads**2 / self.variances(1 - t, t)
        return shares @ (within + jnp.sum((steps - shares @ steps) ** 2, axis=1))

    def draw(self, key: Key[Array, ""], n: int) -> Float[Array, "n d"]:
        """Draw n values of X_1, one in each row."""
        choice_key, noise_key = jax.random.split(key)
        choice = jax.random.choice(choice_key, len(self.weights), (n,), p=self.weights)
        return self.means[choice] + self.spreads[choice, None] * jax.random.normal(noise_key, self.means[choice].shape)


def sampled_mixed_target(key: Key[Array, ""], components: int, d: int) -> MixedTarget:
    """Draw a target with normal means of standard deviation 2 and spreads from 0.2 to 1.

    The weights are proportional to numbers from 1 to 4.
    """
    mean_key, weight_key, spread_key = jax.random.split(key, 3)
    weights = jax.random.uniform(weight_key, (components,), minval=1.0, maxval=4.0)
    spreads = jax.random.uniform(spread_key, (components,), minval=0.2, maxval=1.0)
    return MixedTarget(weights / weights.sum(), 2 * jax.random.normal(mean_key, (components, d)), spreads)


def spread_out(problem: MixedTarget) -> Hypothesis:
    return Hypothesis(
        "components have a density",
        problem.spreads.min(),
        ">",
        0.0,
        "otherwise the distribution may have no density at time 1",
    )
