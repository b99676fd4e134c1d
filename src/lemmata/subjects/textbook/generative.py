"""Generative networks: densities by change of variables, and the value of the best discriminator.

The chapters `diffusion.denoisers` and `diffusion.reverse_sampling` treat scores and diffusions. The theory here gives
the densities of invertible maps and the value of the best discriminator. It does not say what training finds.
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
    """Let a standard normal vector pass through coupling layers. Each layer keeps one half u of the coordinates and
    maps the other half v to v exp(s(u)) + t(u), where s and t are functions of u. The log density of the result at a
    point y is

        log N(z; 0, I) - sum of all s,

    where z is the point that the layers map to y. The sum is over all entries of s(u) in all layers. So no determinant
    is needed.
    """

    title = "The log density of a coupling flow needs no determinant"
    source = _SOURCE
    population = CouplingFlows()
    relation = Equal()
    control = Control(
        "half of the log scales are left out",
        lambda value, problem: value + problem.undo(problem.point)[1] / 2,
    )
    controls = "the likelihood of a normalising flow"
    unexplained = "which distributions such layers can reach"
    traced = False

    def predict(self, problem: CouplingFlow) -> Array:
        z, scales = problem.undo(problem.point)
        return jnp.asarray(_log_normal(z) - scales)

    def measure(self, problem: CouplingFlow, key: Key[Array, ""]) -> Array:
        """The log density from the determinant of the inverse map's Jacobian, computed by complex steps."""
        d = len(problem.point)
        derivative = [np.imag(problem.undo(problem.point + 1j * _STEP * row)[0]) / _STEP for row in np.eye(d)]
        return jnp.asarray(_log_normal(problem.undo(problem.point)[0]) + np.linalg.slogdet(np.array(derivative))[1])

    def condition(self, problem: CouplingFlow) -> Array:
        """Return the condition number of a sum that may nearly cancel, and of a determinant."""
        z, scales = problem.undo(problem.point)
        derivative = [np.imag(problem.undo(problem.point + 1j * _STEP * row)[0]) / _STEP for row in np.eye(len(z))]
        size = z @ z + len(z) + abs(scales) + np.linalg.cond(np.array(derivative)) * len(z)
        return jnp.asarray(size / max(abs(_log_normal(z) - scales), 1e-300))


class BestDiscriminator(Claim[TwoLaws]):
    """Let p be the distribution of the data and q the distribution of a generator's samples. Over all discriminators D,
    which are functions with values in (0, 1), the largest value of E_p log D + E_q log(1 - D) is

        2 JS(p, q) - log 4,

    where JS is the Jensen-Shannon divergence (Goodfellow and others).
    """

    title = "The best discriminator of a generative adversarial network attains the value 2 JS(p, q) - log 4"
    source = _SOURCE
    population = PairsOfLaws()
    relation = Equal()
    control = Control("the value is JS - log 4", lambda value, problem: (value - jnp.log(4.0)) / 2)
    controls = "the objective of a generator that faces the best discriminator"
    unexplained = (
        "discriminators that are networks; distributions with disjoint supports, for which the objective is constant"
    )
    traced = False

    def predict(self, problem: TwoLaws) -> Array:
        p, q = problem.p, problem.q
        middle = (p + q) / 2
        return jnp.asarray(np.sum(p * np.log(p / middle)) + np.sum(q * np.log(q / middle)) - np.log(4))

    def measure(self, problem: TwoLaws, key: Key[Array, ""]) -> Array:
        """The largest value of the objective over D, by Newton's method for the logits of D, which starts from 0."""
        p, q, logits = problem.p, problem.q, np.zeros(len(problem.p))
        for _ in range(_NEWTON):
            share = 1 / (1 + np.exp(-logits))
            logits = logits + (p - (p + q) * share) / ((p + q) * share * (1 - share))
        return jnp.asarray(-np.sum(p * np.logaddexp(0, -logits)) - np.sum(q * np.logaddexp(0, logits)))

    def condition(self, problem: TwoLaws) -> Array:
        """Return the condition number of a sum of logarithms."""
        return jnp.asarray(float(len(problem.p)) * 10)
