"""Scores of mixtures under noise: their formula, the equation they obey, and the entropy and information they measure.

This theory controls the score of x0 + sqrt(v) xi, xi standard normal, for x0 from a mixture of normal laws with any
covariances: in closed form, at every noise level v. It assumes that the mixture is known; it leaves unexplained how
a score is learned from draws.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtLeast, Claim, Control, Equal, Kind, Source
from lemmata.problems._heated_mixtures import (
    HeatedLaw,
    HeatedLaws,
    HeatedMixture,
    HeatedMixtures,
    HeatedPlaces,
    fisher_information,
)


def _at_places(problem: HeatedPlaces, function) -> Array:
    return jax.vmap(function)(problem.variances, problem.places)


def _without_determinants(score: Array, problem: HeatedPlaces) -> Array:
    """The formula with the components weighed by w_k exp(-|z - mu_k|²/2) in the metric of S_k + v I alone."""
    mixture = problem.mixture

    def one(v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, " d"]:
        gaps = z - mixture.means
        pulls = jnp.linalg.solve(mixture.widened(v), gaps[..., None])[..., 0]
        return -jax.nn.softmax(jnp.log(mixture.weights) - jnp.sum(gaps * pulls, axis=1) / 2) @ pulls

    return _at_places(problem, one)


def _amplification(mixture: HeatedMixture, v: Float[Array, ""], z: Float[Array, " d"]) -> Float[Array, ""]:
    """How many eps the sum of pulls is off: exponents and solutions of systems, over the length of the score."""
    spread, gaps = mixture.widened(v), z - mixture.means
    values = jnp.linalg.eigvalsh(spread)
    pulls = jnp.linalg.solve(spread, gaps[..., None])[..., 0]
    quadratic = jnp.sum(gaps * pulls, axis=1)
    sizes = mixture.responsibilities(v, z) * (1 + quadratic) * jnp.linalg.norm(pulls, axis=1)
    return jnp.max(values[:, -1] / values[:, 0]) * sizes.sum() / jnp.abs(mixture.score(v, z)).max()


class MixtureScore(Claim[HeatedPlaces]):
    """For x0 from the mixture sum_k w_k N(mu_k, S_k) and xi standard normal, the score of z = x0 + sqrt(v) xi is

        grad log p_v(z) = -sum_k r_k(z) (S_k + v I)^-1 (z - mu_k),

    r_k(z) the probability that component k was drawn, given z, in proportion to w_k N(z; mu_k, S_k + v I).
    """

    title = "The score of a mixture under noise"
    source = Source("foundation2025", "(3)", note="the function that it aims at")
    stated = Kind.OWN
    population = HeatedMixtures()
    relation = Equal(block=1)  # the coordinates of a score are parts of one vector: a rotation makes any of them 0
    control = Control("the components are weighed without their determinants", _without_determinants)
    controls = "the score of a mixture at every noise level"
    unexplained = "the score of data of unknown law"

    def predict(self, problem: HeatedPlaces) -> Array:
        return _at_places(problem, problem.mixture.score)

    def measure(self, problem: HeatedPlaces, key: Key[Array, ""]) -> Array:
        """The gradient of the logarithm of the density, from Cholesky factors, by automatic differentiation."""
        return _at_places(problem, jax.grad(problem.mixture.log_density, argnums=1))

    def condition(self, problem: HeatedPlaces) -> Array:
        return _at_places(problem, lambda v, z: _amplification(problem.mixture, v, z))
