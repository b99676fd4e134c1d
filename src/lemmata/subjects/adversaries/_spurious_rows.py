"""Rows in which one large input usually has the sign of the label, and each of many small inputs predicts little.

The example is from Tsipras, Santurkar, Engstrom, Turner and Madry (2019). In this module, the large input is larger
than the radius of the attack.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


def spurious_rows(
    key: Key[Array, ""], n: int, d: int, right: float, large: float, mean: float
) -> tuple[Float[Array, "n columns"], Float[Array, " n"]]:
    """Draw labels y = +-1 and rows with one input +-large and d inputs with the distribution N(mean y, 1).

    Args:
        key: the random key.
        n: the number of rows.
        d: the number of small inputs.
        right: the probability that the large input has the sign of the label.
        large: the size of the large input.
        mean: the mean of the small inputs for y = 1.
    """
    keys = jax.random.split(key, 3)
    y = jax.random.rademacher(keys[0], (n,), jnp.float64)
    told = jnp.where(jax.random.uniform(keys[1], (n,)) < right, y, -y)
    small = mean * y[:, None] + jax.random.normal(keys[2], (n, d))
    return jnp.concatenate([large * told[:, None], small], axis=1), y


class AttackedRows(eqx.Module):
    """Training rows, held-out rows, and an adversary who may change every input by at most a radius.

    Args:
        x, y: training rows and labels.
        x_new, y_new: held-out rows and labels.
        radius: the radius within which the adversary may change each input.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    x_new: Float[Array, "m d"]
    y_new: Float[Array, " m"]
    radius: Float[Array, ""]

    @property
    def unit(self) -> Float[Array, ""]:
        """The learning time of the leading eigenvector: 1 / (the largest eigenvalue of x x').

        In this time, gradient flow of a linear model fits the labels along this eigenvector.
        """
        return 1 / jnp.linalg.norm(self.x, 2) ** 2

    def linear_margins(self, weights: Float[Array, " d"]) -> Float[Array, " m"]:
        """Return the smallest y w'(x + shift) over allowed shifts of each held-out row: y w'x - radius |w|_1."""
        return self.y_new * (self.x_new @ weights) - self.radius * jnp.abs(weights).sum()


class SpuriousRows(Population[AttackedRows]):
    """Rows of d + 1 inputs, of which an attack within the radius can change the sign of all except the large input.

    Args:
        n, d: the numbers of training rows and of small inputs.
        new: the number of held-out rows.
    """

    n: int = eqx.field(default=100, static=True)
    d: int = eqx.field(default=60, static=True)
    new: int = eqx.field(default=1000, static=True)

    def settings(self) -> Space:
        n, d = self.n, self.d
        return Space(
            n=Integer(n, 10, 500, "training rows", corners=(4 * n // 5, 5 * n // 4)),
            d=Integer(d, 5, 500, "small inputs", corners=(4 * d // 5, 5 * d // 4)),
            right=Real(0.95, 0.8, 1.0, "probability that the large input agrees with the label", corners=(0.94, 0.96)),
            mean=Real(0.1, 0.0, 0.5, "mean of a small input, towards the label", corners=(0.05, 0.1)),
            radius=Real(0.3, 0.0, 1.0, "of the adversary", corners=(0.25, 0.35)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttackedRows:
        keys = jax.random.split(key)
        law = (setting["d"], setting["right"], 2.0, setting["mean"])
        x, y = spurious_rows(keys[0], setting["n"], *law)
        x_new, y_new = spurious_rows(keys[1], self.new, *law)
        return AttackedRows(x, y, x_new, y_new, jnp.asarray(setting["radius"]))

    def hypotheses(self, problem: AttackedRows) -> list[Hypothesis]:
        return [
            Hypothesis(
                "both labels occur",
                jnp.abs(jnp.mean(problem.y)),
                "<",
                1.0,
                "with one label only, there is nothing to learn",
            )
        ]
