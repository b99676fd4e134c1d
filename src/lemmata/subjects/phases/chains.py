"""Chains of one unit in the field of the others, from both sides of the transition.

Langevin dynamics of a whole weight vector, corrected by Metropolis, knows nothing of least actions or of the decoupling
of the overlap. It shows at 40 to 75 dimensions what first order means at all: the same field, and two states, each of
which lasts. The theory controls which of them is the likelier; how long a chain takes to find it is exponential in d
times the barrier, and left open.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Order, Source
from lemmata.engine.problems._fielded_units import FieldedUnit, FieldedUnits
from lemmata.subjects.samplers import mala

_KEY = "rubin2024grokking"
_STEPS = 200
_CHAINS = 4


class ChainsRememberTheirStart(Claim[FieldedUnit]):
    """At the transition, chains of a unit that start with the teacher's direction have after 200 steps of corrected
    Langevin dynamics in 60 dimensions (40 to 75 in the corners) a larger mean share y = q²/(1 + 2|w|²) than chains in
    the same field that start without it: both states last, as at a transition of first order.
    """

    title = "Chains remember the side of the transition that they come from"
    source = Source(_KEY, "Abstract, sharply distinct", note="as hysteresis of chains")
    population = FieldedUnits()
    relation = Order("start", (0.0, 1.0))
    control = Control("the others have the larger share", lambda sign, problem: -sign, loose="a sign has no neighbour")
    controls = "that both states last"
    unexplained = "for how long: the barrier over d is small, and chains forget in the end"
    trials = 24

    def predict(self, problem: FieldedUnit) -> Array:
        return jnp.asarray(1.0)

    def measure(self, problem: FieldedUnit, key: Key[Array, ""]) -> Array:
        """Means over chains and the last half of the steps, for chains that start without and with the direction."""
        return shares(problem, key)[_STEPS // 20 :].reshape(-1, 2, _CHAINS).mean(axis=(0, 2))


def shares(problem: FieldedUnit, key: Key[Array, ""]) -> Float[Array, "kept chains"]:
    """Shares y along chains, of which half start where the action is least without, half with the direction."""
    keys, d = jax.random.split(key), problem.dimension
    beside = jnp.repeat(jnp.stack([problem.weight_variance, problem.beside]), _CHAINS)
    overlap = jnp.repeat(jnp.stack([jnp.zeros(()), problem.overlap]), _CHAINS)
    start = jax.random.normal(keys[0], (2 * _CHAINS, d)) * jnp.sqrt(beside / d)[:, None]
    start = start.at[:, 0].set(overlap)
    log_density = lambda w: -d * problem.action(w)
    chains = mala(log_density, start, 0.15 * problem.weight_variance / d, _STEPS, keys[1], every=10)
    return chains.points[..., 0] ** 2 / (1 + 2 * jnp.sum(chains.points**2, axis=-1))
