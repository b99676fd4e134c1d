"""Generative networks: densities by change of variables, and what a discriminator can tell.

Scores and diffusions have a chapter of their own (`diffusion.denoisers`, `diffusion.reverse_sampling`). The theory
controls densities of maps that can be undone, and the value of the best discriminator; it leaves open what training
finds.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.textbook._finite_chains import PairsOfLaws, TwoLaws
from lemmata.subjects.textbook._small_maps import CouplingFlow, CouplingFlows

ABOUT = {"tool": "information theory", "architecture": "dense network", "object": "construction"}

_SOURCE = Source("younes2024introduction", "Abstract, deep generative models")
_STEP, _NEWTON = 1e-30, 30


def _log_normal(z: np.ndarray) -> float:
    return float(-(z @ z + len(z) * np.log(2 * np.pi)) / 2)


class DensityOfCouplings(Claim[CouplingFlow]):
    """A normal law that is mapped by layers in which one half of the coordinates, u, sends the other half v to
    v exp(s(u)) + t(u) has at y the log density

        log N(z; 0, I) - sum of all s,

    z the point that is mapped to y: no determinant is computed.
    """

    title = "The density of coupling layers"
    source = _SOURCE
    population = CouplingFlows()
    relation = Equal()
    control = Control(
        "half of the log scales is forgotten",
        lambda value, problem: value + problem.undo(problem.point)[1] / 2,
    )
    controls = "the likelihood of a normalising flow"
    unexplained = "which laws such layers reach"
    traced = False

    def predict(self, problem: CouplingFlow) -> Array:
        z, scales = problem.undo(problem.point)
        return jnp.asarray(_log_normal(z) - scales)

    def measure(self, problem: CouplingFlow, key: Key[Array, ""]) -> Array:
        """With the determinant of the inverse map's whole derivative, by complex steps."""
        d = len(problem.point)
        derivative = [np.imag(problem.undo(problem.point + 1j * _STEP * row)[0]) / _STEP for row in np.eye(d)]
        return jnp.asarray(_log_normal(problem.undo(problem.point)[0]) + np.linalg.slogdet(np.array(derivative))[1])

    def condition(self, problem: CouplingFlow) -> Array:
        """A sum that may nearly cancel, and a determinant."""
        z, scales = problem.undo(problem.point)
        derivative = [np.imag(problem.undo(problem.point + 1j * _STEP * row)[0]) / _STEP for row in np.eye(len(z))]
        size = z @ z + len(z) + abs(scales) + np.linalg.cond(np.array(derivative)) * len(z)
        return jnp.asarray(size / max(abs(_log_normal(z) - scales), 1e-300))


class BestDiscriminator(Claim[TwoLaws]):
    """Over all functions D with values in (0, 1) the largest value of E_p log D + E_q log(1 - D), p the data and q what
    a generator makes, is

        2 JS(p, q) - log 4,

    JS the Jensen-Shannon divergence (Goodfellow and others).
    """

    title = "What the best discriminator tells"
    source = _SOURCE
    population = PairsOfLaws()
    relation = Equal()
    control = Control("JS - log 4", lambda value, problem: (value - jnp.log(4.0)) / 2)
    controls = "the objective that a generator meets"
    unexplained = "discriminators that are networks; laws of disjoint supports, for which it stands still"
    traced = False

    def predict(self, problem: TwoLaws) -> Array:
        p, q = problem.p, problem.q
        middle = (p + q) / 2
        return jnp.asarray(np.sum(p * np.log(p / middle)) + np.sum(q * np.log(q / middle)) - np.log(4))

    def measure(self, problem: TwoLaws, key: Key[Array, ""]) -> Array:
        """By Newton's method for the logits, from 0."""
        p, q, logits = problem.p, problem.q, np.zeros(len(problem.p))
        for _ in range(_NEWTON):
            share = 1 / (1 + np.exp(-logits))
            logits = logits + (p - (p + q) * share) / ((p + q) * share * (1 - share))
        return jnp.asarray(-np.sum(p * np.logaddexp(0, -logits)) - np.sum(q * np.logaddexp(0, logits)))

    def condition(self, problem: TwoLaws) -> Array:
        """A sum of logarithms."""
        return jnp.asarray(float(len(problem.p)) * 10)
