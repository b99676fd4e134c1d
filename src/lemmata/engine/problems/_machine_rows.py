"""Rows of a machine of ReLU layers, with numbers of its factors."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.machines import SparseMachine


class MachineRows(eqx.Module):
    """Rows, labels, and a place in the space of Gram matrices.

    Args:
        x: rows, of which G_0 = X X'/d + 1.
        y: labels.
        raw: free numbers of the layers' factors.
        nu: the weight of the divergences.
        level: the variance of the labels' noise.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n C"]
    raw: Float[Array, "layers n n"]
    nu: Float[Array, ""]
    level: float = eqx.field(static=True)

    @property
    def gram_0(self) -> Float[Array, "n n"]:
        """X X'/d + 1."""
        return self.x @ self.x.T / self.x.shape[1] + 1

    @property
    def layers(self) -> int:
        """Learned layers."""
        return len(self.raw)

    @eqx.filter_jit
    def sparse(self, points: Float[Array, "p d"], raw: Float[Array, "layers p p"]) -> Float[Array, ""]:
        """The objective of the sparse machine with these inducing points and numbers, nothing added to diagonals."""
        machine = SparseMachine(points, raw, jnp.log(jnp.asarray(self.level)), "relu", 0.0)
        return machine.objective(self.x, self.y, self.nu)


class MachineRowsPopulation(Population[MachineRows]):
    """Normal rows, normal labels of scale 2, normal numbers of scale 0.3, nu between 1/3 and 3."""

    def settings(self) -> Space:
        """Sizes and noise."""
        return Space(
            rows=Integer(4, 2, 20, "rows", corners=(4, 4)),
            layers=Integer(2, 1, 6, "learned layers", corners=(1, 2)),
            noise=Real(0.3, 0.05, 2.0, "variance of the labels' noise", corners=(0.3, 0.3)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MachineRows:
        """Rows of twice as many dimensions, half as many columns of labels."""
        n = setting["rows"]
        keys = jax.random.split(key, 4)
        x = jax.random.normal(keys[0], (n, 2 * n))
        y = 2.0 * jax.random.normal(keys[1], (n, max(n // 2, 1)))
        raw = 0.3 * jax.random.normal(keys[2], (setting["layers"], n, n))
        return MachineRows(x, y, raw, 3 ** jax.random.uniform(keys[3], (), minval=-1, maxval=1), setting["noise"])

    def hypotheses(self, problem: MachineRows) -> list[Hypothesis]:
        """Rows apart, noise."""
        own = jnp.diagonal(problem.gram_0)
        cosines = problem.gram_0 / jnp.sqrt(own[:, None] * own) - 2 * jnp.eye(len(own))
        return [
            Hypothesis("the largest cosine of two rows", jnp.max(cosines), "<", 0.999, "priors are definite"),
            Hypothesis("the noise", problem.level, ">", 0.0, "the likelihood is bounded"),
        ]
