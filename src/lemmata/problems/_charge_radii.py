"""Charge radii as problems: a base model, what it misses of the measured radii, and which nuclei are left out."""

import dataclasses
import functools

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.claims import Choice, Hypothesis, Population, Real, Space

from ._measured_radii import isospin_radii, measured_radii, model_radii

BASES = ("isospin", "BSkG1", "BSkG2", "BSkG3", "BSkG4")


@dataclasses.dataclass(frozen=True, eq=False)
class RadiiTable:
    """Measured radii beside those of a base model.

    Args:
        points: (Z, N).
        radius: measured, in fm.
        base: of the model.
    """

    points: Float[np.ndarray, "n 2"]
    radius: Float[np.ndarray, " n"]
    base: Float[np.ndarray, " n"]

    @property
    def rest(self) -> Float[np.ndarray, " n"]:
        """What the base model misses."""
        return self.radius - self.base

    @functools.cached_property
    def place(self) -> dict[tuple[int, int], int]:
        """The row of a nucleus."""
        return {(int(z), int(n)): row for row, (z, n) in enumerate(self.points)}


@functools.cache
def radii_table(base: str) -> RadiiTable:
    """All measured nuclei from oxygen on of which the base model gives a radius.

    Args:
        base: one of `BASES`: the isospin formula fitted to all of them, or a model of the optional package.
    """
    nuclei = measured_radii()
    radii = isospin_radii(nuclei) if base == "isospin" else model_radii(base, nuclei)
    known = np.isfinite(radii)
    return RadiiTable(nuclei.points[known], nuclei.radius[known], radii[known])


class RadiiHalf(eqx.Module):
    """A table of radii in two parts.

    Args:
        choose: the nuclei by whose errors hyper-parameters are chosen; errors count at the others.
        table: the radii.
    """

    choose: Bool[Array, " n"]
    table: RadiiTable = eqx.field(static=True)


class RadiiHalves(Population[RadiiHalf]):
    """Halves of the measured nuclei at random, and a base model."""

    def settings(self) -> Space:
        """Base model, and the share of nuclei that choose."""
        return Space(
            base=Choice("isospin", BASES, "base model", corners=("isospin", "BSkG4")),
            share=Real(0.5, 0.1, 0.9, "share of nuclei that choose", corners=(0.4, 0.6)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RadiiHalf:
        """Every nucleus chooses with that probability."""
        table = radii_table(setting["base"])
        return RadiiHalf(jax.random.bernoulli(key, setting["share"], table.radius.shape), table)

    def hypotheses(self, problem: RadiiHalf) -> list[Hypothesis]:
        """Two parts."""
        both = min(int(problem.choose.sum()), int((~problem.choose).sum()))
        return [Hypothesis("nuclei in the smaller part", both, ">=", 10, "a mean over fewer is chance")]


class HiddenRadii(eqx.Module):
    """A table of radii of which some at random are hidden, beside those that a claim hides.

    Args:
        hidden: by chance.
        draw: a random number of every element, by which a claim takes some of them.
        table: the radii.
    """

    hidden: Bool[Array, " n"]
    draw: Float[Array, " elements"]
    table: RadiiTable = eqx.field(static=True)


class HiddenShares(Population[HiddenRadii]):
    """The measured nuclei beside the isospin formula; a tenth of them is hidden."""

    def settings(self) -> Space:
        """How many are hidden."""
        return Space(share=Real(0.1, 0.0, 0.5, "share of nuclei that are hidden", corners=(0.05, 0.15)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> HiddenRadii:
        """Every nucleus is hidden with that probability."""
        table, keys = radii_table("isospin"), jax.random.split(key)
        hidden = jax.random.bernoulli(keys[0], setting["share"], table.radius.shape)
        return HiddenRadii(hidden, jax.random.uniform(keys[1], (120,)), table)

    def hypotheses(self, problem: HiddenRadii) -> list[Hypothesis]:
        """Most are known."""
        return [Hypothesis("share that is hidden", problem.hidden.mean(), "<", 0.6, "else little is known")]
