"""Cubic teachers of erf networks, with a unit's field that is near its transition."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space
from lemmata.subjects.phases import CubicTeacher, Transition, transition

_transition = functools.lru_cache(maxsize=256)(transition)


class TaughtUnit(eqx.Module):
    """A model, and what is left of its linear component.

    Args:
        teacher: epsilon, weight variance g, and ratio d/(N s).
        linear: b.
        share: a value of y = q²/(1 + 2|w|²), between 0 and 1/2.
    """

    teacher: CubicTeacher
    linear: float = eqx.field(static=True)
    share: float = eqx.field(static=True)

    @property
    def critical(self) -> Transition:
        """The model's transition, whose b is its own."""
        return _transition(self.teacher)

    def law(
        self, d: int | float, interaction: float, linear: float, cubic: float, count: int = 100
    ) -> tuple[Float[np.ndarray, "q r"], Float[np.ndarray, "q 1"], Float[np.ndarray, "1 r"]]:
        """The exact law of q = w'v >= 0 and r = |w|² - q² of one unit in d dimensions on a grid, with sum 1."""
        g, window = self.teacher.weight_variance, np.sqrt(2 / d)
        most = 1.6 * max(1.0, np.sqrt(g) * 2)
        q = ((np.arange(2 * count) + 0.5) * most / (2 * count))[:, None]
        r = np.linspace(max(0.15 - 3 * window, 0.01), 1.0 + 8 * window, count)[None, :] * g
        seen = 2 * q / np.sqrt(np.pi * (1 + 2 * (q**2 + r))) * (linear - 2 * cubic * q**2 / (1 + 2 * (q**2 + r)))
        power = -d * (q**2 + r) / (2 * g) + d * interaction / 2 * seen**2 + (d - 3) / 2 * np.log(r)
        weight = np.exp(power - power.max())
        return weight / weight.sum(), q, r


class CubicTeachers(Population[TaughtUnit]):
    """Models around a setting, within a fifth in each of their numbers."""

    def settings(self) -> Space:
        """The size of epsilon, the weight variance and the ratio."""
        return Space(
            epsilon=Real(0.5, 0.2, 2.0, "size of the negative cubic component", corners=(0.4, 0.7)),
            weight_variance=Real(0.5, 0.2, 1.0, "variance of weights times d", corners=(0.4, 0.7)),
            ratio=Real(4.0, 0.5, 30.0, "d/(N s), s/N the variance of readouts", corners=(3.0, 8.0)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TaughtUnit:
        """Factors between 0.8 and 1.25, b between 0.2 and 0.8 of -2 epsilon, shares between 0.12 and 0.3."""
        drawn = np.asarray(jax.random.uniform(key, (5,)))
        epsilon, g, ratio = (
            float(setting[name] * 1.25 ** (2 * own - 1))
            for name, own in zip(("epsilon", "weight_variance", "ratio"), drawn, strict=False)
        )
        teacher = CubicTeacher(-epsilon, g, ratio)
        return TaughtUnit(teacher, float(2 * epsilon * (0.2 + 0.6 * drawn[3])), float(0.12 + 0.18 * drawn[4]))

    def hypotheses(self, problem: TaughtUnit) -> list[Hypothesis]:
        """A teacher whose transition jumps; what the model takes for granted."""
        most = -2 * problem.teacher.epsilon
        return [
            Hypothesis("b", jnp.asarray(problem.linear), "<", most, "else the minimum at 0 turns continuously"),
            Hypothesis.unchecked("sums over data are expectations", "the statement is about the model that results"),
        ]
