"""Scores of mixtures under noise: their formula, their evolution, and their relation to entropy and information.

This theory gives the score of x0 + sqrt(v) xi in closed form at every noise level v. Here xi is standard normal, and x0
comes from a mixture of normal distributions with any covariances. The theory assumes that the mixture is known. It does
not explain how a score is learned from draws.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Kind, Source
from lemmata.subjects.diffusion._heated_mixtures import (
    HeatedLaw,
    HeatedLaws,
    HeatedMixture,
    HeatedMixtures,
    HeatedPlaces,
    fisher_information,
)

ABOUT = {"tool": "information theory", "architecture": "diffusion model", "object": "score"}


def _at_places(problem: HeatedPlaces, function) -> Array:
    return jax.vmap(function)(problem.variances, problem.places)


def _without_determinants(score: Array, problem: HeatedPlaces) -> Array:
    """Return a false score, whose probabilities r_k omit the determinants of S_k + v I."""
    mixture = problem.mixture

    def one(v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, " d"]:
        pulls = mixture.pulls(v, z)
        return -jax.nn.softmax(jnp.log(mixture.weights) - jnp.sum((z - mixture.means) * pulls, axis=1) / 2) @ pulls

    return _at_places(problem, one)


def _amplification(mixture: HeatedMixture, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, ""]:
    """Return the rounding error of the score, a weighted sum of the pulls (S_k + v I)^-1 (z - mu_k). The error is
    relative to the score and in units of the machine epsilon.
    """
    values, pulls = jnp.linalg.eigvalsh(mixture.widened(v)), mixture.pulls(v, z)
    quadratic = jnp.sum((z - mixture.means) * pulls, axis=1)
    sizes = mixture.responsibilities(v, z) * (1 + quadratic) * jnp.linalg.norm(pulls, axis=1)
    return jnp.max(values[:, -1] / values[:, 0]) * sizes.sum() / jnp.abs(mixture.score(v, z)).max()


class MixtureScore(Claim[HeatedPlaces]):
    """Let x0 come from the mixture sum_k w_k N(mu_k, S_k), and let xi be standard normal. The density p_v of z = x0 +
    sqrt(v) xi has the score

        grad log p_v(z) = -sum_k r_k(z) (S_k + v I)^-1 (z - mu_k),

    where r_k(z) is the probability, given z, that component k was drawn. This probability is proportional to w_k N(z;
    mu_k, S_k + v I).
    """

    title = "The score of a mixture of normals under noise has a closed form"
    source = Source("foundation2025", "(3)", note="the function that score matching aims at")
    stated = Kind.OWN
    population = HeatedMixtures()
    # the coordinates of a score are parts of one vector, and a rotation can make any of them 0
    relation = Equal(block=1)
    control = Control("the components are weighted without their determinants", _without_determinants)
    controls = "the score of a mixture at every noise level"
    unexplained = "the score of data with an unknown distribution"

    def predict(self, problem: HeatedPlaces) -> Array:
        return _at_places(problem, problem.mixture.score)

    def measure(self, problem: HeatedPlaces, key: Key[Array, ""]) -> Array:
        """Differentiate the log density, computed from Cholesky factors, by automatic differentiation."""
        return _at_places(problem, jax.grad(problem.mixture.log_density, argnums=1))

    def condition(self, problem: HeatedPlaces) -> Array:
        return _at_places(problem, lambda v, z: _amplification(problem.mixture, v, z))


def _divergence_gradient(mixture: HeatedMixture, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, " d"]:
    """Return half of grad div s for the score s. The heat equation for each coordinate of s would have this as its
    right side.
    """
    return jax.grad(lambda x: jnp.trace(jax.jacfwd(lambda y: mixture.score(v, y))(x)) / 2)(z)


def _square_gradient(mixture: HeatedMixture, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, " d"]:
    """Return half of grad |s|² for the score s."""
    return jax.grad(lambda x: jnp.sum(mixture.score(v, x) ** 2) / 2)(z)


class ScoreEvolution(Claim[HeatedPlaces]):
    """Let p_v be the density of data under noise of variance v, and let s_v = grad log p_v be its score. With v in the
    role of time, the score satisfies

        d s_v / dv = (1/2) grad( div s_v + |s_v|² ).

    This equation is Burgers' equation with viscosity. It follows from the heat equation d p_v / dv = (1/2) div grad p_v
    for the density. The coordinates of the score themselves do not obey the heat equation. The test uses mixtures of
    normals.
    """

    title = "The score of data under noise obeys Burgers' equation in the noise level"
    source = Source("foundation2025", "Section 3.3, Sobolev scores", note="how the score moves with the noise level")
    stated = Kind.OWN
    population = HeatedMixtures()
    relation = Equal(block=1)
    control = Control(
        "the coordinates obey the heat equation, without the term |s|²",
        lambda rate, problem: _at_places(problem, lambda v, z: _divergence_gradient(problem.mixture, v, z)),
    )
    controls = "how a score changes with the level of noise"
    unexplained = "how to solve the equation backwards, to less noise"

    def predict(self, problem: HeatedPlaces) -> Array:
        """Differentiate the closed form with respect to z."""
        both = lambda v, z: _divergence_gradient(problem.mixture, v, z) + _square_gradient(problem.mixture, v, z)
        return _at_places(problem, both)

    def measure(self, problem: HeatedPlaces, key: Key[Array, ""]) -> Array:
        """Return the derivative of the gradient of the log density with respect to v."""
        return _at_places(problem, jax.jacfwd(jax.grad(problem.mixture.log_density, argnums=1), argnums=0))

    def condition(self, problem: HeatedPlaces) -> Array:
        """Return the relative rounding error of the score, squared for two more derivatives.

        This error is multiplied by the loss of digits in the sum of the two terms.
        """

        def one(v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, ""]:
            first, second = _divergence_gradient(problem.mixture, v, z), _square_gradient(problem.mixture, v, z)
            lost = (jnp.abs(first).max() + jnp.abs(second).max()) / jnp.abs(first + second).max()
            return lost * _amplification(problem.mixture, v, z) ** 2

        return _at_places(problem, one)


class EntropyUnderNoise(Claim[HeatedLaw]):
    """Let p_v be the density of data under noise of variance v, and let H(p_v) = -integral of p_v log p_v be its
    entropy. The derivative of the entropy in v is half of the Fisher information:

        d H(p_v) / dv = (1/2) J(p_v),   J(p) = integral of |grad log p|² p   (de Bruijn's identity).

    So the mean squared score, which score matching has to learn, is twice the rate at which the entropy rises.
    """

    title = "The mean squared score of noised data is twice the rate at which noise raises the entropy"
    source = Source("stam1959", "de Bruijn's identity")
    stated = Kind.LEMMA
    population = HeatedLaws(most=1)
    relation = Equal()
    control = Control("the rate is the Fisher information", lambda rate, problem: 2 * rate)
    controls = "the mean squared length of a score"
    unexplained = "how large the two quantities are for data with an unknown distribution"

    def predict(self, problem: HeatedLaw) -> Array:
        return jax.vmap(lambda v: fisher_information(problem.mixture, v))(problem.variances) / 2

    def measure(self, problem: HeatedLaw, key: Key[Array, ""]) -> Array:
        """Return the derivative of the entropy with respect to v, on a fixed grid."""

        def entropy(v: Float[Array, ""], points: Float[Array, "q d"], cell: Float[Array, ""]) -> Float[Array, ""]:
            logs = jax.vmap(lambda z: problem.mixture.log_density(v, z))(points)
            return -cell * jnp.sum(jnp.exp(logs) * logs)

        return jax.vmap(lambda v: jax.jacfwd(entropy)(v, *problem.mixture.grid(v)))(problem.variances)

    def condition(self, problem: HeatedLaw) -> Array:
        """Allow for the error of the entropy from the mass 1e-15 beyond the grid.

        This mass is multiplied by the logarithms and squared z-scores there, 50 to 100.
        """
        return jnp.full(2, 1e4)


class FisherInformationUnderNoise(Claim[HeatedLaw]):
    """Let p_v be the density of data in d dimensions under noise of variance v, and let J(p) = integral of |grad log
    p|² p be the Fisher information. For two noise variances u < v,

        d / J(p_v) >= d / J(p_u) + (v - u),

    with equality if p_u is normal with a covariance that is a multiple of I. So noise lowers the Fisher information at
    least as fast as it does for a normal distribution. The test uses mixtures that are nearly normal.
    """

    title = (
        "The inverse of the Fisher information per dimension of noised data grows at least as fast as the noise "
        "variance"
    )
    source = Source("stam1959", "Main result", note="the inequality for convolutions with a normal distribution")
    stated = Kind.THEOREM
    population = HeatedLaws(components=2, far=0.3)
    relation = AtLeast()
    control = Control(
        "the inverse grows by 5 % more",
        lambda bound, problem: bound + 0.05 * (problem.variances[1] - problem.variances[0]),
    )
    controls = "the mean squared length of a score at another level of noise"
    unexplained = "how fast the Fisher information falls for distributions that are far from normal"
    condition = 10000.0  # for the same reason as for the entropy: tails beyond the grid

    def predict(self, problem: HeatedLaw) -> Array:
        u, v = problem.variances
        return problem.mixture.means.shape[1] / fisher_information(problem.mixture, u) + v - u

    def measure(self, problem: HeatedLaw, key: Key[Array, ""]) -> Array:
        """Return d divided by J(p_v), which is computed as -E tr of the second derivative of log p_v."""
        v = problem.variances[1]
        points, cell = problem.mixture.grid(v)
        bend = jax.vmap(lambda z: jnp.trace(jax.hessian(lambda x: problem.mixture.log_density(v, x))(z)))(points)
        density = jnp.exp(jax.vmap(lambda z: problem.mixture.log_density(v, z))(points))
        return -problem.mixture.means.shape[1] / (cell * jnp.sum(density * bend))

    def trivial(self, problem: HeatedLaw) -> Array:
        """Use J(p_v) <= d / v, which holds for any data."""
        return problem.variances[1]
