"""Mixtures of normal distributions with any covariances and with added noise. Densities and scores are given at every
noise level.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.errors import SettingError

_SIDES = {1: 801, 2: 91}  # points of the quadrature along a coordinate, by dimension
_REACH = 8.5  # standard deviations beyond the outermost mean; a normal density there is below 1e-15 of its maximum
_VARIANCES = (0.3, 2.0)


class HeatedMixture(eqx.Module):
    """The distribution of x0 + sqrt(v) xi at any v >= 0. x0 is drawn from sum_k w_k N(mu_k, S_k), and xi is standard
    normal.

    The density p of this distribution solves the heat equation d p/dv = (1/2) div grad p, with v/2 as the time.

    Args:
        weights: the weights w_k, which sum to 1.
        means: the means mu_k, one row per component.
        covariances: the covariances S_k.

    >>> import jax.numpy as jnp
    >>> normal = HeatedMixture(jnp.ones(1), jnp.zeros((1, 2)), jnp.eye(2)[None])
    >>> normal.score(jnp.asarray(3.0), jnp.asarray([4.0, -8.0])).tolist()  # -z / (1 + v)
    [-1.0, 2.0]
    """

    weights: Float[Array, " k"]
    means: Float[Array, "k d"]
    covariances: Float[Array, "k d d"]

    def widened(self, v: Float[Array, ""]) -> Float[Array, "k d d"]:
        """Return S_k + v I."""
        return self.covariances + v * jnp.eye(self.means.shape[1])

    def log_density(self, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the logarithm of the density sum_k w_k N(z; mu_k, S_k + v I), computed with Cholesky factors."""
        factors = jnp.linalg.cholesky(self.widened(v))
        # inverses, so that many places use one factorisation under vmap
        inverses = jax.scipy.linalg.solve_triangular(
            factors, jnp.broadcast_to(jnp.eye(len(z)), factors.shape), lower=True
        )
        whitened = jnp.einsum("kij,kj->ki", inverses, z - self.means)
        roots = jnp.sum(jnp.log(jnp.diagonal(factors, axis1=1, axis2=2)), axis=1)
        return logsumexp(-jnp.sum(whitened**2, axis=1) / 2 - roots, b=self.weights) - len(z) / 2 * jnp.log(2 * jnp.pi)

    def pulls(self, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, "k d"]:
        """Return (S_k + v I)^-1 (z - mu_k), one row per component."""
        return jnp.einsum("kij,kj->ki", jnp.linalg.inv(self.widened(v)), z - self.means)

    def responsibilities(self, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, " k"]:
        """Return r_k(z), the probability of component k given z at noise level v."""
        determinants = jnp.linalg.slogdet(self.widened(v))[1]
        squares = jnp.sum((z - self.means) * self.pulls(v, z), axis=1)
        return jax.nn.softmax(jnp.log(self.weights) - (determinants + squares) / 2)

    def score(self, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return the score, the gradient of log p_v at z, which is -sum_k r_k(z) (S_k + v I)^-1 (z - mu_k)."""
        return -self.responsibilities(v, z) @ self.pulls(v, z)

    def posterior_variance(self, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the trace of Cov(x0 | z).

        Components are weighted by their probability given z. The trace is the mean over components of the trace of v
        S_k (S_k + v I)^-1, plus the trace of the covariance of the components' posterior means.
        """
        shares, gains = self.responsibilities(v, z), jnp.linalg.inv(self.widened(v)) @ self.covariances
        inside = self.means + jnp.einsum("kij,ki->kj", gains, z - self.means)
        within = v * jnp.trace(gains, axis1=1, axis2=2)
        return shares @ (within + jnp.sum((inside - shares @ inside) ** 2, axis=1))

    def draw(self, key: Key[Array, ""], v: Float[Array, ""], n: int) -> tuple[Float[Array, "n d"], Float[Array, "n d"]]:
        """Draw n clean rows x0. Return these rows, and the same rows with noise of variance v."""
        choice_key, clean_key, noise_key = jax.random.split(key, 3)
        choice = jax.random.choice(choice_key, len(self.weights), (n,), p=self.weights)
        normal = jax.random.normal(clean_key, (n, self.means.shape[1]))
        clean = self.means[choice] + jnp.einsum("nij,nj->ni", jnp.linalg.cholesky(self.covariances)[choice], normal)
        return clean, clean + jnp.sqrt(v) * jax.random.normal(noise_key, clean.shape)

    def grid(self, v: Float[Array, ""]) -> tuple[Float[Array, "q d"], Float[Array, ""]]:
        """Return points of an even grid, outside of which p_v has a mass of about 1e-15, and the volume of a cell.

        The trapezoidal rule on this grid converges geometrically for analytic integrands. If there are more than two
        dimensions, the method raises a SettingError.
        """
        d = self.means.shape[1]
        if d not in _SIDES:
            raise SettingError(
                "dimension of the mixture", found=d, rule="1 or 2, because the quadrature uses an even grid",
                remedy="average over draws instead",
            )  # fmt: skip
        widest = jnp.linalg.eigvalsh(self.widened(v)).max()
        half = jnp.abs(self.means).max() + _REACH * jnp.sqrt(widest)
        axis = half * jnp.linspace(-1.0, 1.0, _SIDES[d])
        points = jnp.stack(jnp.meshgrid(*(axis,) * d, indexing="ij"), axis=-1).reshape(-1, d)
        return points, (axis[1] - axis[0]) ** d


def fisher_information(mixture: HeatedMixture, v: Float[Array, ""]) -> Float[Array, ""]:
    """Compute J(p_v) = integral of |grad log p_v|² p_v by quadrature in one or two dimensions.

    Here p_v is the density of the mixture with noise of variance v.
    """
    points, cell = mixture.grid(v)
    density = jnp.exp(jax.vmap(lambda z: mixture.log_density(v, z))(points))
    return cell * jnp.sum(density * jnp.sum(jax.vmap(lambda z: mixture.score(v, z))(points) ** 2, axis=1))


def sampled_heated_mixture(
    key: Key[Array, ""], components: int, d: int, least: float = 0.1, far: float = 1.0
) -> HeatedMixture:
    """Draw normal means, probabilities with ratios of at most 4, and covariances with eigenvalues of at least `least`.

    Args:
        key: the random key.
        components: the number of components.
        d: the dimension.
        least: the multiple of I that is added to every covariance.
        far: the standard deviation of the means.
    """
    mean_key, weight_key, factor_key = jax.random.split(key, 3)
    weights = jax.random.uniform(weight_key, (components,), minval=1.0, maxval=4.0)
    factors = jax.random.normal(factor_key, (components, d, d)) * (0.5 / d) ** 0.5
    covariances = factors @ jnp.swapaxes(factors, 1, 2) + least * jnp.eye(d)
    return HeatedMixture(weights / weights.sum(), far * jax.random.normal(mean_key, (components, d)), covariances)


def _positive(variances: Float[Array, " n"]) -> list[Hypothesis]:
    return [
        Hypothesis(
            "noise is added (least variance)", variances.min(), ">", 0.0, "otherwise the density may not have a score"
        )
    ]


def _definite(mixture: HeatedMixture) -> list[Hypothesis]:
    least = jnp.linalg.eigvalsh(mixture.covariances).min()
    return [
        Hypothesis(
            "components have densities (least eigenvalue of a covariance)",
            least,
            ">",
            0.0,
            "the components are normal distributions",
        )
    ]


class HeatedPlaces(eqx.Module):
    """A mixture under noise, evaluated at a few places z_i, each with its own noise variance v_i."""

    mixture: HeatedMixture
    variances: Float[Array, " n"]
    places: Float[Array, "n d"]


class HeatedMixtures(Population[HeatedPlaces]):
    """Random mixtures at eight log-uniform noise levels. There is one place per level, drawn from the noised
    distribution.
    """

    def settings(self) -> Space:
        components = Integer(3, 1, 16, "components of the mixture", corners=(2, 4))
        return Space(components=components, d=Integer(2, 1, 16, "dimension", corners=(1, 4)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeatedPlaces:
        mixture_key, level_key, draw_key = jax.random.split(key, 3)
        mixture = sampled_heated_mixture(mixture_key, setting["components"], setting["d"])
        variances = 0.05 * 40 ** jax.random.uniform(level_key, (8,))
        draw = lambda key, v: mixture.draw(key, v, 1)[1][0]
        return HeatedPlaces(mixture, variances, jax.vmap(draw)(jax.random.split(draw_key, 8), variances))

    def hypotheses(self, problem: HeatedPlaces) -> list[Hypothesis]:
        return [*_definite(problem.mixture), *_positive(problem.variances)]


class HeatedLaw(eqx.Module):
    """A mixture in one or two dimensions, without noise, and the variances u < v of two noise levels."""

    mixture: HeatedMixture
    variances: Float[Array, " 2"]


class HeatedLaws(Population[HeatedLaw]):
    """Random mixtures on the line or in the plane at two noise levels between 0.3 and 2.

    Args:
        d: the default dimension.
        most: the largest dimension.
        components: the default number of components; a single component is a normal distribution.
        far: standard deviation of the means; small values give nearly normal mixtures.
    """

    free = ("variances",)
    d: int = 1
    most: int = 2
    components: int = 3
    far: float = 1.0

    def settings(self) -> Space:
        components = Integer(self.components, 1, 8, "components of the mixture", corners=(2, 4))
        return Space(components=components, d=Integer(self.d, 1, self.most, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeatedLaw:
        """Draw covariances with eigenvalues above 0.3, and a log-uniform noise level in each half of the interval."""
        mixture_key, level_key = jax.random.split(key)
        mixture = sampled_heated_mixture(mixture_key, setting["components"], setting["d"], 0.3, self.far)
        low, high = _VARIANCES
        shares = (jax.random.uniform(level_key, (2,)) + jnp.arange(2)) / 2
        return HeatedLaw(mixture, low * (high / low) ** shares)

    def hypotheses(self, problem: HeatedLaw) -> list[Hypothesis]:
        u, v = problem.variances
        more = Hypothesis("the second level has more noise", v, ">", u, "v > u")
        return [*_definite(problem.mixture), *_positive(problem.variances), more]
