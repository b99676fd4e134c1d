"""One erf unit in the field that a cubic teacher leaves at its transition."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.phases import CubicTeacher, transition


class FieldedUnit(eqx.Module):
    """A field, and where the action of a unit with the teacher's direction is least.

    Args:
        interaction: u.
        linear: b.
        cubic: c.
        weight_variance: g of the prior g/d.
        overlap: q of the least action.
        beside: |w|² - q² of the least action.
        dimension: d.
    """

    interaction: Float[Array, ""]
    linear: Float[Array, ""]
    cubic: Float[Array, ""]
    weight_variance: Float[Array, ""]
    overlap: Float[Array, ""]
    beside: Float[Array, ""]
    dimension: int = eqx.field(static=True)

    def action(self, w: Float[Array, " d"]) -> Float[Array, ""]:
        """The action over d, |w|²/(2g) - (2u/pi) y (b - 2cy)², y = q²/(1 + 2|w|²), q the first coordinate."""
        size = jnp.sum(w**2)
        y = w[0] ** 2 / (1 + 2 * size)
        field = 2 * self.interaction / jnp.pi * y * (self.linear - 2 * self.cubic * y) ** 2
        return size / (2 * self.weight_variance) - field


class FieldedUnits(Population[FieldedUnit]):
    """Models around a setting at their transitions, the interaction within a fiftieth."""

    def settings(self) -> Space:
        """The model, and the dimension."""
        return Space(
            d=Integer(60, 20, 200, "dimension", corners=(40, 75)),
            epsilon=Real(0.8, 0.3, 2.0, "size of the negative cubic component", corners=(0.7, 1.2)),
            weight_variance=Real(0.5, 0.3, 1.0, "variance of weights times d", corners=(0.4, 0.7)),
            ratio=Real(1.0, 0.5, 4.0, "d/(N s), s/N the variance of readouts", corners=(0.7, 1.5)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FieldedUnit:
        """The setting's transition, and an interaction near it."""
        teacher = CubicTeacher(-setting["epsilon"], setting["weight_variance"], setting["ratio"])
        at = transition(teacher)
        u = at.interaction * (1 + 0.02 * jax.random.uniform(key, minval=-1.0))
        fixed = (at.linear, teacher.epsilon, teacher.weight_variance, at.overlap, at.beside)
        return FieldedUnit(u, *(jnp.asarray(number) for number in fixed), dimension=setting["d"])

    def hypotheses(self, problem: FieldedUnit) -> list[Hypothesis]:
        """Two states."""
        return [Hypothesis("the overlap of the second state", problem.overlap, ">", 0.0, "else there is one state")]
