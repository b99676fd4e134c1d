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
