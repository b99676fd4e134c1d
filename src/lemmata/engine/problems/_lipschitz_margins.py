"""Classifiers with known margins and Lipschitz constants."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class Logits(eqx.Module):
    """Linear logits, one row a class, at one input."""

    weight: Float[Array, "classes d"]
    x: Float[Array, " d"]

    @property
    def margins(self) -> Float[Array, " classes"]:
        """The largest logit less each of the others; 0 for the largest itself."""
        logits = self.weight @ self.x
        return logits.max() - logits


class LinearLogits(Population[Logits]):
    """Half of the time rows that are orthogonal and of one length, else independent normal rows."""

    free = ("weight", "x")

    def settings(self) -> Space:
        """Sizes."""
        sizes = Space(d=Integer(20, 2, 500, "inputs"), classes=Integer(5, 2, 100, "classes"))
        return sizes.where("d is at least the number of classes", lambda s: s["d"] >= s["classes"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> Logits:
        """Rows, an input."""
        kind_key, weight_key, x_key = jax.random.split(key, 3)
        d, classes = setting["d"], setting["classes"]
        drawn = jax.random.normal(weight_key, (classes, d))
        orthogonal = jnp.linalg.qr(drawn.T)[0].T * jnp.sqrt(1.0 * d)
        weight = jnp.where(jax.random.bernoulli(kind_key), orthogonal, drawn)
        return Logits(weight, jax.random.normal(x_key, (d,)))

    def hypotheses(self, problem: Logits) -> list[Hypothesis]:
        """Two classes."""
        return [Hypothesis("classes", len(problem.weight), ">=", 2, "one class has no rival")]


class SteepNetwork(eqx.Module):
    """A margin v'max(W x + b, 0) at x = 0, and inputs at the distance `radius`."""

    weight: Float[Array, "m d"]
    bias: Float[Array, " m"]
    readout: Float[Array, " m"]
    radius: Float[Array, ""]


class SteepNetworks(Population[SteepNetwork]):
    """Half of the time W has orthogonal rows and b keeps every unit active, else both are normal."""

    free = ("weight", "bias", "readout")

    def settings(self) -> Space:
        """Sizes."""
        sizes = Space(
            d=Integer(20, 2, 200, "inputs"),
            width=Integer(10, 2, 200, "hidden units"),
            radius=Real(0.5, 0.01, 5.0, "length of the perturbation"),
        )
        return sizes.where("d is at least the width", lambda s: s["d"] >= s["width"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> SteepNetwork:
        """Weights."""
        kind_key, weight_key, bias_key, readout_key = jax.random.split(key, 4)
        d, width, radius = setting["d"], setting["width"], setting["radius"]
        drawn = jax.random.normal(weight_key, (width, d)) / jnp.sqrt(d)
        active = jax.random.bernoulli(kind_key)
        weight = jnp.where(active, jnp.linalg.qr(drawn.T)[0].T, drawn)
        bias = jnp.where(active, 2.0 * radius, jax.random.normal(bias_key, (width,)))
        return SteepNetwork(weight, bias, jax.random.normal(readout_key, (width,)), jnp.asarray(radius))

    def hypotheses(self, problem: SteepNetwork) -> list[Hypothesis]:
        """A perturbation."""
        return [Hypothesis("the radius", problem.radius, ">", 0.0, "nothing moves without one")]
