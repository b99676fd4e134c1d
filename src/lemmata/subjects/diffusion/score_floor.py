"""The least value of score matching: every model of a score has at least this value, as noise destroys information.

This theory gives the smallest value of the objective of score matching, (3) in the source, at one level of noise. At
noise variance v, this value is the mean posterior variance of the clean data, divided by v². It is also the Fisher
information of the noise minus the Fisher information of the noised data. The theory assumes that the model can
represent every score. It does not explain how far the objective of a learned score exceeds the least value.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Kind, Source
from lemmata.subjects.diffusion._heated_mixtures import HeatedLaw, HeatedLaws, fisher_information

ABOUT = {"tool": "information theory", "architecture": "diffusion model", "object": "score"}

_DRAWS = 1024


class ScoreMatchingFloor(Claim[HeatedLaw]):
    """Let z be data x0 in d dimensions with added normal noise of variance v, and let p_v be the density of z. The
    objective of denoising score matching for a function s is

        E |grad log p(z | x0) - s(z)|²,   z = x0 + sqrt(v) xi,

    where xi is standard normal in d dimensions.

    The smallest value over all functions s is attained at s = grad log p_v. This value is not 0 but

        d/v - J(p_v) = E tr Cov(x0 | z) / v²,

    where J(p_v) = E |grad log p_v(z)|² is the Fisher information.

    The source prints the objective without the mean over z, but intends this mean. The test measures two numbers: the
    objective at the exact score, and the mean trace of the posterior covariance divided by v².
    """

    title = "The least value of the denoising score matching objective is d/v minus the Fisher information"
    source = Source("foundation2025", "(3)", note="completed by its least value")
    stated = Kind.OWN
    population = HeatedLaws(d=2)
    relation = EqualInMean(margin=0.0, resolution=0.02)
    control = Control(
        "the least value is d/v, as if the score were 0",
        lambda floor, problem: jnp.stack([problem.mixture.means.shape[1] / problem.variances] * 2),
    )
    controls = "the limit of the training objective of a diffusion model"
    unexplained = "how far a learned score stays above the least value"
    trials = 64

    def predict(self, problem: HeatedLaw) -> Array:
        """Compute the least value by quadrature of the Fisher information."""
        information = jax.vmap(lambda v: fisher_information(problem.mixture, v))(problem.variances)
        return jnp.stack([problem.mixture.means.shape[1] / problem.variances - information] * 2)

    def measure(self, problem: HeatedLaw, key: Key[Array, ""]) -> Array:
        """Estimate the objective at the true score, and the mean posterior variance divided by v², from draws."""

        def both(v, key):
            clean, noised = problem.mixture.draw(key, v, _DRAWS)
            misfit = (clean - noised) / v - jax.vmap(lambda z: problem.mixture.score(v, z))(noised)
            left = jax.vmap(lambda z: problem.mixture.posterior_variance(v, z))(noised)
            return jnp.stack([jnp.mean(jnp.sum(misfit**2, axis=1)), left.mean() / v**2])

        return jax.vmap(both, out_axes=1)(problem.variances, jax.random.split(key, 2))
