"""Errors of a classifier on a sphere, as sets of known measure."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class SphereErrors(eqx.Module):
    """A set of errors on the unit sphere of n coordinates.

    Args:
        measure: its share of the sphere.
        coordinates: 0 for a cap, k for the quadric on which the first k coordinates are long, |(x_1, ..., x_k)| >= r.
        n: the dimension of the space.
    """

    measure: Float[Array, ""]
    coordinates: Int[Array, ""]
    n: int = eqx.field(static=True)


class SphereErrorSets(Population[SphereErrors]):
    """Half of the sets are caps, the others quadrics, pairs of opposite caps among them."""

    def settings(self) -> Space:
        """The dimension, the largest measure."""
        measure = Real(0.05, 0.001, 0.3, "largest measure of the errors")
        return Space(n=Integer(100, 10, 500, "coordinates"), measure=measure)

    def sample(self, setting: dict, key: Key[Array, ""]) -> SphereErrors:
        """A measure down to a twentieth of the largest, a set."""
        kind_key, size_key, measure_key = jax.random.split(key, 3)
        log = jax.random.uniform(
            measure_key, minval=jnp.log(setting["measure"] / 20), maxval=jnp.log(setting["measure"])
        )
        coordinates = jax.random.randint(size_key, (), 1, setting["n"])
        coordinates = jnp.where(jax.random.bernoulli(kind_key), 0, coordinates)
        return SphereErrors(jnp.exp(log), coordinates, setting["n"])

    def hypotheses(self, problem: SphereErrors) -> list[Hypothesis]:
        """A sphere; less than half of it."""
        why = "a cap of a larger measure is more than a half-sphere"
        return [
            Hypothesis("coordinates", problem.n, ">=", 3, "the sphere is connected"),
            Hypothesis("measure of the errors", problem.measure, "<", 0.5, why),
        ]


class CapOffset(eqx.Module):
    """A cap of measure 1 - Phi(c)."""

    offset: Float[Array, ""]


class CapOffsets(Population[CapOffset]):
    """Offsets c between bounds."""

    def settings(self) -> Space:
        """The largest offset."""
        return Space(offset=Real(1.8, 1.0, 1.9, "largest offset of the cap"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> CapOffset:
        """Uniform; near 2.2 the correction of order 1/n changes its sign."""
        return CapOffset(jax.random.uniform(key, minval=0.5, maxval=setting["offset"]))

    def hypotheses(self, problem: CapOffset) -> list[Hypothesis]:
        """Less than half of the sphere."""
        return [Hypothesis("c", problem.offset, ">", 0.0, "the cap is less than a half-sphere")]
