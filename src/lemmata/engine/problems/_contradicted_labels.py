"""Rows with labels that a kernel sees by finite features, support rows that represent a part of them, and a ridge."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class ContradictedLabels(eqx.Module):
    """Features of rows and of support rows, whose inner products are the kernel, labels, and the ridge of a fit.

    Args:
        features: of the rows of the poisoned set.
        support: of the support rows.
        y: labels.
        groups: rows of one group have the same features where the population says so.
        ridge: on the diagonal.
    """

    features: Float[Array, "n p"]
    support: Float[Array, "m p"]
    y: Float[Array, "n C"]
    groups: Float[Array, " n"]
    ridge: Float[Array, ""]

    @property
    def gram(self) -> Float[Array, "n n"]:
        """K of the rows."""
        return self.features @ self.features.T

    @property
    def coefficients(self) -> Float[Array, "n C"]:
        """The fit (K + ridge I)^-1 y."""
        return jnp.linalg.solve(self.gram + self.ridge * jnp.eye(len(self.y)), self.y)

    @property
    def spread(self) -> Float[Array, ""]:
        """Condition numbers of K + ridge I and of K_SS, times n."""
        values, own = jnp.linalg.eigvalsh(self.gram), jnp.linalg.eigvalsh(self.support @ self.support.T)
        return len(self.y) * ((values[-1] + self.ridge) / self.ridge + own[-1] / own[0])


class LabelledFeatures(Population[ContradictedLabels]):
    """Normal features, the support near some; in three of ten problems rows that are all orthogonal, the support too.

    Args:
        repeated: every row stands twice, with labels of its own.
    """

    repeated: bool = eqx.field(default=False, static=True)
    free = ("features",)

    def settings(self) -> Space:
        """Rows, support rows, classes."""
        return Space(
            n=Integer(8, 4, 40, "rows", step=2, corners=(6, 10)),
            support=Integer(4, 1, 10, "support rows", corners=(3, 4)),
            classes=Integer(2, 2, 10, "classes", corners=(2, 3)),
        ).where("support rows are near rows", lambda s: s["support"] <= s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> ContradictedLabels:
        """Ridges from 1/1000 to 1 of the mean of the kernel's diagonal."""
        keys = jax.random.split(key, 4)
        n, m = setting["n"], setting["support"]
        p = n + m
        drawn = jax.random.normal(keys[0], (n + m, p)) / p**0.5
        uniform = jax.random.uniform(keys[1], (2,))
        near = drawn.at[n:].set(drawn[:m] + drawn[n:] / 3)
        apart = jnp.where(uniform[0] < 0.3, jnp.eye(n + m), near)
        features = apart[:n]
        if self.repeated:
            features = features.at[1::2].set(features[::2])
        y = jax.nn.one_hot(jax.random.randint(keys[2], (n,), 0, setting["classes"]), setting["classes"]) - 0.5
        groups = jnp.arange(n) // 2 if self.repeated else jnp.arange(n)
        return ContradictedLabels(features, apart[n:], y, groups * 1.0, 10 ** (-3 * uniform[1]))

    def hypotheses(self, problem: ContradictedLabels) -> list[Hypothesis]:
        """A ridge; support rows that are not copies."""
        smallest = jnp.linalg.eigvalsh(problem.support @ problem.support.T)[0]
        return [
            Hypothesis("the ridge", problem.ridge, ">", 0.0, "an inverse is taken"),
            Hypothesis("the smallest eigenvalue of K_SS", smallest, ">", 1e-6, "else K_SS has no inverse"),
        ]
