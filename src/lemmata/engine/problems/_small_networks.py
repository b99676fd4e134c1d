"""Small tanh networks on a line with as many parameters as training rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class SmallNetwork(eqx.Module):
    """f(x) = sum_j a_j tanh(w_j x + b_j) on training rows.

    Args:
        parameters: a, then w, then b.
        x: inputs.
        y: targets.
    """

    parameters: Float[Array, " p"]
    x: Float[Array, " n"]
    y: Float[Array, " n"]

    def outputs(self, parameters: Float[Array, " p"]) -> Float[Array, " n"]:
        """F on the training inputs."""
        readout, slope, shift = parameters.reshape(3, -1)
        return jnp.tanh(self.x[:, None] * slope + shift) @ readout

    def loss(self, parameters: Float[Array, " p"]) -> Float[Array, ""]:
        """1/2 sum_i (f(x_i) - y_i)²."""
        return jnp.sum((self.outputs(parameters) - self.y) ** 2) / 2

    def speed(self) -> Float[Array, " n"]:
        """The derivative of the outputs along minus the gradient of the loss."""
        way = -jax.grad(self.loss)(self.parameters)
        return jax.jvp(self.outputs, (self.parameters,), (way,))[1]


class SmallNetworks(Population[SmallNetwork]):
    """Normal parameters, inputs and targets, three parameters a unit and as many rows as parameters."""

    def settings(self) -> Space:
        """Units."""
        return Space(units=Integer(4, 1, 64, "hidden units", corners=(8, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmallNetwork:
        """Independent normal numbers."""
        return SmallNetwork(*jax.random.normal(key, (3, 3 * setting["units"])))

    def hypotheses(self, problem: SmallNetwork) -> list[Hypothesis]:
        """As many rows as parameters."""
        return [Hypothesis("rows", len(problem.x), "==", len(problem.parameters), "both sides have as many entries")]
