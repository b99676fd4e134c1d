"""Operators of which a random vector sees little, losses that are sums over coordinates, units that are rescaled."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class IsolatedEigenvalue(eqx.Module):
    """A diagonal operator, and how many products with it are taken."""

    values: Float[Array, " n"]
    products: int = eqx.field(static=True)


class IsolatedEigenvalues(Population[IsolatedEigenvalue]):
    """One eigenvalue 1, the others between 0 and 1 - gap, dense at both ends: the hardest for Krylov spaces.

    Gaps are between 0.4 and 1 times what the bound allows to miss with probability 1/10.
    """

    def settings(self) -> Space:
        """Dimension, products."""
        return Space(
            n=Integer(200, 40, 5000, "dimensions", corners=(100, 400)), products=Integer(12, 6, 30, "products")
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> IsolatedEigenvalue:
        """A gap; Chebyshev's points below it."""
        n, k = setting["n"], setting["products"]
        share = 0.4 + 0.6 * jax.random.uniform(key)
        gap = share * (math.log(16.48 * math.sqrt(n)) / (2 * k - 1)) ** 2
        points = (1 - jnp.cos(jnp.pi * jnp.arange(n - 1) / (n - 2))) / 2
        return IsolatedEigenvalue(jnp.append((1 - jnp.minimum(gap, 0.9)) * points, 1.0), k)

    def hypotheses(self, problem: IsolatedEigenvalue) -> list[Hypothesis]:
        """Fewer products than dimensions."""
        n = len(problem.values)
        return [Hypothesis("there are fewer products than dimensions", problem.products, "<", n, "else all is exact")]


class SeparableLoss(eqx.Module):
    """sum_i curvature_i x_i²/2 - slope_i x_i."""

    curvature: Float[Array, " d"]
    slope: Float[Array, " d"]

    def __call__(self, at: Float[Array, " d"]) -> Float[Array, ""]:
        """The loss."""
        return jnp.sum(self.curvature * at**2 / 2 - self.slope * at)


class SeparableLosses(Population[SeparableLoss]):
    """Curvatures over three orders of magnitude, a third of them negative."""

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=Integer(12, 3, 200, "coordinates", corners=(6, 24)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SeparableLoss:
        """Curvatures and slopes."""
        one, two, three = jax.random.split(key, 3)
        shape = (setting["d"],)
        sizes = 10 ** jax.random.uniform(one, shape, minval=-1.0, maxval=2.0)
        signs = jnp.where(jax.random.uniform(two, shape) < 1 / 3, -1.0, 1.0)
        return SeparableLoss(sizes * signs, jax.random.normal(three, shape))

    def hypotheses(self, problem: SeparableLoss) -> list[Hypothesis]:
        """Slopes that are not 0."""
        least = jnp.abs(problem.slope).min()
        return [Hypothesis("no slope is 0", least, ">", 0.0, "the sign of a step is that of the slope")]


class RescaledUnits(eqx.Module):
    """A network sum_i a_i max(w_i'x, 0) in the parameters (c a, W/c), which compute the same for every c.

    Args:
        x, y: rows and targets of the mean of (f - y)²/2.
        out, weights: a and W.
        scale: c.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    out: Float[Array, " m"]
    weights: Float[Array, "m d"]
    scale: Float[Array, ""]

    def loss(self, params: tuple[Float[Array, " m"], Float[Array, "m d"]]) -> Float[Array, ""]:
        """Of any parameters."""
        out, weights = params
        return jnp.mean((jnp.maximum(self.x @ weights.T, 0.0) @ out - self.y) ** 2) / 2

    @property
    def rescaled(self) -> tuple[Float[Array, " m"], Float[Array, "m d"]]:
        """(c a, W/c)."""
        return self.scale * self.out, self.weights / self.scale


class RescaledNetworks(Population[RescaledUnits]):
    """Normal rows, targets and weights; c between 1/4 and 4."""

    def settings(self) -> Space:
        """Units."""
        return Space(
            m=Integer(5, 2, 50, "units", corners=(3, 8)),
            d=Integer(3, 1, 50, "inputs", corners=(2, 5)),
            n=Integer(16, 4, 500, "rows", corners=(10, 30)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RescaledUnits:
        """Rows, targets, weights, a scale."""
        keys = jax.random.split(key, 5)
        n, m, d = setting["n"], setting["m"], setting["d"]
        return RescaledUnits(
            jax.random.normal(keys[0], (n, d)),
            jax.random.normal(keys[1], (n,)),
            jax.random.normal(keys[2], (m,)),
            jax.random.normal(keys[3], (m, d)),
            4 ** jax.random.uniform(keys[4], minval=-1.0, maxval=1.0),
        )

    def hypotheses(self, problem: RescaledUnits) -> list[Hypothesis]:
        """No row on a kink."""
        least = jnp.abs(problem.x @ problem.weights.T).min()
        return [Hypothesis("no row is on a kink", least, ">", 0.0, "there the loss has no Hessian")]
