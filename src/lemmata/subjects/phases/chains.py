"""Markov chains of a unit's weights in the field of the other units, started on both sides of the transition.

These chains are Metropolis-corrected Langevin dynamics of a whole weight vector. They do not use two steps of the
theory: taking the least action, and separating the overlap with the teacher's direction from the other weights. At 40
to 75 dimensions, the chains show the meaning of a first-order transition: the same field has two states, and a chain
stays in its state for a long time. The theory says which state is more likely. It leaves open how long a chain takes to
find this state; the time is exponential in d times the barrier.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Order, Population, Real, Source, Space
from lemmata.subjects.phases import CubicTeacher, transition
from lemmata.subjects.samplers import mala

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "sampler"}


class FieldedUnit(eqx.Module):
    """The field on a unit, and the point at which the action of a unit with the teacher's direction is least.

    Args:
        interaction: the interaction u.
        linear: b, the unlearned part of the linear component.
        cubic: c, the unlearned part of the cubic component.
        weight_variance: g, where g/d is the prior variance of the weights.
        overlap: the overlap q at the least action.
        beside: the value of |w|² - q² at the least action.
        dimension: the dimension d.
    """

    interaction: Float[Array, ""]
    linear: Float[Array, ""]
    cubic: Float[Array, ""]
    weight_variance: Float[Array, ""]
    overlap: Float[Array, ""]
    beside: Float[Array, ""]
    dimension: int = eqx.field(static=True)

    def action(self, w: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the action divided by d, |w|²/(2g) - (2u/pi) y (b - 2cy)², with q = w_1 and y = q²/(1 + 2|w|²)."""
        size = jnp.sum(w**2)
        y = w[0] ** 2 / (1 + 2 * size)
        field = 2 * self.interaction / jnp.pi * y * (self.linear - 2 * self.cubic * y) ** 2
        return size / (2 * self.weight_variance) - field


class FieldedUnits(Population[FieldedUnit]):
    """Fields at the transition of a model, with an interaction within 2 % of its value at the transition."""

    settings = Space(
        d=Integer(60, 20, 200, "dimension", corners=(40, 75)),
        epsilon=Real(0.8, 0.3, 2.0, "size of the negative cubic component", corners=(0.7, 1.2)),
        weight_variance=Real(0.5, 0.3, 1.0, "variance of weights times d", corners=(0.4, 0.7)),
        ratio=Real(1.0, 0.5, 4.0, "d/(N s), where s/N is the variance of readouts", corners=(0.7, 1.5)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FieldedUnit:
        """Compute the transition of the setting, and draw an interaction near it."""
        teacher = CubicTeacher(-setting["epsilon"], setting["weight_variance"], setting["ratio"])
        at = transition(teacher)
        u = at.interaction * (1 + 0.02 * jax.random.uniform(key, minval=-1.0))
        fixed = (at.linear, teacher.epsilon, teacher.weight_variance, at.overlap, at.beside)
        return FieldedUnit(u, *(jnp.asarray(number) for number in fixed), dimension=setting["d"])

    def hypotheses(self, problem: FieldedUnit) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the overlap of the second state", problem.overlap, ">", 0.0, "otherwise there is only one state"
            )
        ]


_KEY = "rubin2024grokking"
_STEPS = 200
_CHAINS = 4


class ChainsRememberTheirStart(Claim[FieldedUnit]):
    """Consider one unit erf(w'x) of a network that learns a teacher of the direction v, a linear plus a cubic Hermite
    polynomial of v'x. The unit has weights w in 60 dimensions (in the extra settings, in 40 and 75 dimensions). Let the
    other units act on this unit through their mean field, at an interaction strength within 2 % of the value at which
    units turn to the direction v. Let q = w'v be the overlap, and let y = q²/(1 + 2|w|²) be the share of the unit. Run
    200 steps of Metropolis-corrected Langevin dynamics from two starts in the same field. Some chains start at weights
    with a large overlap, and others start at weights without overlap. Over the last half of the steps, the chains that
    started with a large overlap have the larger mean share. So both states persist, as at a first-order transition.
    """

    title = "Near a unit's learning transition, Markov chains of its weights remember on which side they started"
    source = Source(_KEY, "Abstract, sharply distinct", note="tested as hysteresis of Markov chains")
    population = FieldedUnits()
    relation = Order("start", (0.0, 1.0))
    control = Control(
        "chains that start without the direction have the larger share",
        lambda sign, problem: -sign,
        loose="a sign has no nearby false value",
    )
    controls = "whether both states persist"
    unexplained = (
        "how long both states persist: the barrier divided by d is small, and chains finally forget their start"
    )
    trials = 24
    predict = 1.0

    def measure(self, problem: FieldedUnit, key: Key[Array, ""]) -> Array:
        """Return the mean shares over the last half of the steps, for chains started without and with the direction."""
        return shares(problem, key)[_STEPS // 20 :].reshape(-1, 2, _CHAINS).mean(axis=(0, 2))


def shares(problem: FieldedUnit, key: Key[Array, ""]) -> Float[Array, "kept chains"]:
    """Return the shares y along chains. Half of the chains start at the least action of units without the teacher's
    direction, and half at the least action of units with it.
    """
    keys, d = jax.random.split(key), problem.dimension
    beside = jnp.repeat(jnp.stack([problem.weight_variance, problem.beside]), _CHAINS)
    overlap = jnp.repeat(jnp.stack([jnp.zeros(()), problem.overlap]), _CHAINS)
    start = jax.random.normal(keys[0], (2 * _CHAINS, d)) * jnp.sqrt(beside / d)[:, None]
    start = start.at[:, 0].set(overlap)
    log_density = lambda w: -d * problem.action(w)
    chains = mala(log_density, start, 0.15 * problem.weight_variance / d, _STEPS, keys[1], every=10)
    return chains.points[..., 0] ** 2 / (1 + 2 * jnp.sum(chains.points**2, axis=-1))
