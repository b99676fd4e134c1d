"""Two samples whose laws differ by a shift, a kernel, and a fit on the first."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Space
from lemmata.kernels import AbstractKernel, gram

from ._sampled import sampled_kernel


class ShiftedSamples(eqx.Module):
    """Points of training and of use, and the error e = sum_i w_i k(u_i, .) of a kernel ridge fit on the former.

    Args:
        x: training inputs.
        z: inputs in use.
        kernel: a kernel with k(x, x) = 1.
        ridge: of the fit, over the number of rows.
        centre: the target is k(centre, .).
    """

    x: Float[Array, "n d"]
    z: Float[Array, "n d"]
    kernel: AbstractKernel
    ridge: Float[Array, ""]
    centre: Float[Array, "1 d"]

    def error(self) -> tuple[Float[Array, "m d"], Float[Array, " m"]]:
        """Points u and weights w."""
        matrix = gram(self.kernel, self.x) + len(self.x) * self.ridge * jnp.eye(len(self.x))
        fitted = jnp.linalg.solve(matrix, gram(self.kernel, self.x, self.centre)[:, 0])
        return jnp.concatenate([self.x, self.centre]), jnp.concatenate([fitted, -jnp.ones(1)])


class Shifts(Population[ShiftedSamples]):
    """Normal inputs, shifted by one to two along the first axis; targets centred where inputs in use are."""

    free = ("x", "z", "centre")

    def settings(self) -> Space:
        """Points, dimension, kernel."""
        return Space(
            n=Integer(24, 4, 200, "points of either sample", corners=(12, 12)),
            d=Integer(2, 1, 20, "dimension", corners=(3, 3)),
            kernel=Choice("rbf", ("rbf", "laplace"), "kernel", corners=("laplace",)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ShiftedSamples:
        """Ridges between 1e-3 and 10."""
        normal_key, draw_key = jax.random.split(key)
        n, d = setting["n"], setting["d"]
        normal = jax.random.normal(normal_key, (2 * n + 1, d))
        far, ridge = jax.random.uniform(draw_key, (2,))
        shift = jnp.zeros(d).at[0].set(1 + far)
        kernel = sampled_kernel(setting["kernel"], d)
        centre = shift + 0.3 * normal[-1:]
        return ShiftedSamples(normal[:n], normal[n : 2 * n] + shift, kernel, 10.0 ** (4 * ridge - 3), centre)

    def hypotheses(self, problem: ShiftedSamples) -> list[Hypothesis]:
        """A normalised kernel."""
        largest = jnp.abs(problem.kernel.diagonal(problem.x) - 1).max()
        return [Hypothesis("k(x, x) is 1", largest, "<=", 1e-12, "values are bounded by the norm")]
