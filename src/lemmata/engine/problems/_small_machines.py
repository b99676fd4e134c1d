"""A few rows with labels, between which a deep kernel machine learns Gram matrices."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

_LEAST = 1e-3  # the smallest eigenvalue of G_0 beside its mean


class FewRows(eqx.Module):
    """Rows by their Gram matrix, their labels, and a machine's settings.

    Args:
        gram_0: G_0 = X X'/d.
        y: labels, a column an output.
        nu: the weight of each layer's divergence.
        noise: the variance of the labels' noise.
        layers: learned layers.
    """

    gram_0: Float[Array, "n n"]
    y: Float[Array, "n C"]
    nu: Float[Array, ""]
    noise: Float[Array, ""]
    layers: int = eqx.field(static=True)

    @property
    def labels_gram(self) -> Float[Array, "n n"]:
        """S = Y Y'/C."""
        return self.y @ self.y.T / self.y.shape[1]

    @property
    def spread(self) -> Float[Array, ""]:
        """The condition numbers of G_0 and of S, multiplied."""
        return jnp.asarray(np.linalg.cond(np.asarray(self.gram_0)) * np.linalg.cond(np.asarray(self.labels_gram)))


class FewRowsPopulation(Population[FewRows]):
    """Normal rows of a dimension twice their number, normal labels of a scale between 1/2 and 2.

    Args:
        columns: of the labels, so many more than rows (negative: fewer).
        noisy: whether labels have noise, from 1/100 to 1 on a logarithmic scale.
        even: whether nu is the number of columns, and not a random number from a third to three times it.
    """

    columns: int = eqx.field(default=1, static=True)
    noisy: bool = eqx.field(default=False, static=True)
    even: bool = eqx.field(default=False, static=True)

    def settings(self) -> Space:
        """Rows and layers."""
        return Space(
            rows=Integer(3, 2, 20, "rows", corners=(3, 3)),
            layers=Integer(2, 1, 8, "learned layers", corners=(1, 2)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FewRows:
        """Rows, labels, nu and noise."""
        n = setting["rows"]
        keys = jax.random.split(key, 3)
        x = jax.random.normal(keys[0], (n, 2 * n))
        columns = max(n + self.columns, 1)
        uniform = jax.random.uniform(keys[2], (3,))
        y = 2 ** (2 * uniform[0] - 1) * jax.random.normal(keys[1], (n, columns))
        nu = columns * (jnp.ones(()) if self.even else 3 ** (2 * uniform[1] - 1))
        noise = 10 ** (-2 * uniform[2]) * (1.0 if self.noisy else 0.0)
        return FewRows(x @ x.T / (2 * n), y, nu, noise, setting["layers"])

    def hypotheses(self, problem: FewRows) -> list[Hypothesis]:
        """A definite Gram matrix; without noise, labels that leave no direction out."""
        n = len(problem.gram_0)
        least = jnp.linalg.eigvalsh(problem.gram_0)[0] * n / jnp.trace(problem.gram_0)
        rank = jnp.linalg.matrix_rank(problem.y) + jnp.where(problem.noise > 0, n, 0)
        return [
            Hypothesis("the smallest eigenvalue of G_0 beside the mean", least, ">", _LEAST, "rows are independent"),
            Hypothesis("the rank of the labels, or noise", rank, ">=", n, "else there is no maximum at small nu"),
        ]
