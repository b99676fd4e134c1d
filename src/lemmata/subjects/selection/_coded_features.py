"""Test problems for coding rates 1/2 log det(I + d/(n eps²) Z'Z): random feature vectors, the rows of Z. Some have
equal second moments in all directions.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class CodedFeatures(eqx.Module):
    """A set of n feature vectors with a distortion, the entropy of the classes at each vector, and the labelled
    vectors.

    Args:
        features: the matrix Z, one row for each vector.
        eps: the distortion: vectors are described up to a squared error of about eps².
        entropies: the entropy of the classes at each row, between 0 and 1.
        labelled: the number m of labelled rows; these are the first m rows.
        count: the number of rows to choose.
    """

    features: Float[Array, "n d"]
    eps: Float[Array, ""]
    entropies: Float[Array, " n"]
    labelled: int = eqx.field(static=True)
    count: int = eqx.field(static=True)

    @property
    def gram(self) -> Float[Array, "n n"]:
        """The Gram matrix Z Z'."""
        return self.features @ self.features.T

    @property
    def noise(self) -> Float[Array, ""]:
        """The noise n eps² / d, for which the coding rate is 1/2 log det(I + Z Z' / noise)."""
        n, d = self.features.shape
        return n * self.eps**2 / d

    @property
    def unsure(self) -> Float[Array, " n"]:
        """The noise of each row, which increases with the entropy of the row."""
        return self.noise * (1 + self.entropies)

    @property
    def spread(self) -> Float[Array, ""]:
        """A bound n (n + tr K / noise) on the amplification of rounding errors, where K is the Gram matrix.

        Rounding errors of I + K/noise are at most n |I + K/noise| times the machine epsilon, and the inverse has a norm
        of at most 1.
        """
        n = len(self.features)
        return n * (n + jnp.trace(self.gram) / self.noise)

    def rate(self, noise: Float[Array, ""]) -> Float[Array, ""]:
        """Return the coding rate 1/2 log det(I + Z Z' / noise)."""
        return 0.5 * jnp.linalg.slogdet(self.gram / noise + jnp.eye(len(self.features)))[1]


class FeatureClouds(Population[CodedFeatures]):
    """Normal vectors with unequal spreads. In half of the problems, they are transformed to equal second moments.

    Args:
        trap: whether the half of the problems with equal second moments is replaced. The replacements contain as many
            unit vectors along axes as chosen rows, and a longer vector along their sum. If the distortion is small, the
            best set does not contain this longer vector.
        even: whether second moments are equal in all problems.
    """

    trap: bool = eqx.field(default=False, static=True)
    even: bool = eqx.field(default=False, static=True)
    free = ("features",)
    settings = Space(
        n=Integer(9, 6, 40, "vectors", corners=(8, 10)),
        d=Integer(3, 2, 12, "dimension", corners=(3, 4)),
        labelled=Integer(3, 1, 10, "vectors with labels", corners=(2, 3)),
        count=Integer(3, 2, 10, "vectors to choose", corners=(2, 3)),
    ).where(
        "there are vectors to choose",
        lambda s: max(s["labelled"], s["d"]) + s["count"] <= s["n"] and s["count"] <= s["d"],
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CodedFeatures:
        """Draw spreads from 1/4 to 1, and a distortion from 0.1 to 1, or from 0.01 to 0.1 with `trap`."""
        keys = jax.random.split(key, 4)
        n, d = setting["n"], setting["d"]
        drawn = jax.random.normal(keys[0], (n, d))
        uniform = jax.random.uniform(keys[1], (d + 2,))
        values, vectors = jnp.linalg.eigh(drawn.T @ drawn / n)
        even = drawn @ (vectors / jnp.sqrt(values)) @ vectors.T
        special = self._trapped(drawn, setting["count"]) if self.trap else even
        features = jnp.where((uniform[d] < 0.5) | self.even, special, drawn * 4 ** -uniform[:d])
        entropies = jax.random.uniform(keys[2], (n,))
        eps = 10 ** -(uniform[d + 1] + self.trap)
        return CodedFeatures(features, eps, entropies, setting["labelled"], setting["count"])

    def _trapped(self, drawn: Float[Array, "n d"], count: int) -> Float[Array, "n d"]:
        axes = jnp.eye(drawn.shape[1])[:count]
        return jnp.concatenate([0.75 * axes.sum(axis=0, keepdims=True), axes, drawn[count + 1 :] / 4])

    def hypotheses(self, problem: CodedFeatures) -> list[Hypothesis]:
        coded = [
            Hypothesis("the distortion eps", problem.eps, ">", 0.0, "at distortion 0, no number of nats is enough"),
            Hypothesis(
                "the vectors' squared lengths",
                jnp.sum(problem.features**2),
                ">",
                0.0,
                "otherwise there is nothing to code",
            ),
        ]
        if not self.even:
            return coded
        moments = problem.features.T @ problem.features / len(problem.features)
        least, *_, most = jnp.linalg.eigvalsh(moments)
        equal = Hypothesis(
            "how unequal the second moments are", most / least - 1, "<", 1e-9, "the claim requires equal second moments"
        )
        return [*coded, equal]
