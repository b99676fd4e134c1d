"""Deep Gaussian processes with one hidden layer on two rows, small enough for their posterior to be exact."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.machines import rectify


class TwoRows(eqx.Module):
    """Two rows with labels, a direction of them, and what a process is made of.

    Args:
        gram_0: G_0.
        y: labels.
        along: a direction, in which one feature is looked at.
        nu: features a copy of the labels.
        noise: the variance of the labels' noise.
    """

    gram_0: Float[Array, "2 2"]
    y: Float[Array, "2 C"]
    along: Float[Array, "2"]
    nu: Float[Array, ""]
    noise: Float[Array, ""]

    @property
    def prior(self) -> Float[Array, "2 2"]:
        """K(G_0)."""
        own = jnp.diagonal(self.gram_0)
        return rectify(self.gram_0, own[:, None], own[None, :])


class TwoRowProcesses(Population[TwoRows]):
    """Normal rows of 3 dimensions, normal labels of scale 2."""

    def settings(self) -> Space:
        """Columns of labels and noise."""
        return Space(
            columns=Integer(3, 2, 10, "columns of labels", corners=(2, 4)),
            nu=Real(2.0, 1.0, 4.0, "features a copy of the labels"),
            noise=Real(0.3, 0.1, 2.0, "variance of the noise"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoRows:
        """Rows, labels, a direction."""
        keys = jax.random.split(key, 3)
        x = jax.random.normal(keys[0], (2, 3))
        gram = x @ x.T / 3 + 0.2 * jnp.eye(2)
        y = 2.0 * jax.random.normal(keys[1], (2, setting["columns"]))
        along = jax.random.normal(keys[2], (2,))
        return TwoRows(gram, y, along, jnp.asarray(setting["nu"]), jnp.asarray(setting["noise"]))

    def hypotheses(self, problem: TwoRows) -> list[Hypothesis]:
        """Two rows, noise."""
        least = jnp.linalg.eigvalsh(problem.gram_0)[0]
        return [
            Hypothesis("the smallest eigenvalue of G_0", least, ">", 0.0, "the rows differ"),
            Hypothesis("the noise", problem.noise, ">", 0.0, "the likelihood is bounded"),
        ]
