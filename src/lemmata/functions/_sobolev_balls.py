"""Sobolev classes on the torus, with exact norms and Kolmogorov widths from Fourier coefficients."""

import functools
import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError


@functools.cache
def lattice_norms(dimension: int, count: int) -> np.ndarray:
    """The `count` smallest values of |k|² over integer vectors k of this dimension, sorted and with repetitions.

    Raises:
        SettingError: for a dimension or a count below 1.

    Example:
        >>> lattice_norms(2, 6).tolist()
        [0, 1, 1, 1, 1, 2]
    """
    for name, value in (("dimension", dimension), ("count", count)):
        if value < 1:
            raise SettingError(f"{name} of a lattice", found=value, rule="at least 1")
    radius = 1
    while True:
        # every vector of length up to the radius is in the box, so no value up to radius² is missing
        squares = np.arange(-radius, radius + 1) ** 2
        norms = functools.reduce(np.add.outer, itertools.repeat(squares, dimension)).ravel()
        inside = np.sort(norms[norms <= radius**2])
        if len(inside) >= count:
            return inside[:count]
        radius = int(1.25 * radius) + 1


class SobolevBall(eqx.Module):
    """Functions on the torus of period 1 whose Fourier coefficients have sum_k (1 + |k|²)^s |c_k|² <= 1.

    Args:
        smoothness: the order s.
        dimension: d, the number of variables.

    Example:
        >>> import jax.numpy as jnp
        >>> ball = SobolevBall(jnp.asarray(1.0), 1)
        >>> [float(ball.width(n)) for n in (0, 1, 2, 3)]
        [1.0, 0.5, 0.5, 0.2]
    """

    smoothness: Float[Array, ""]
    dimension: int = eqx.field(static=True)

    def eigenvalues(self, count: int) -> Float[Array, " count"]:
        """The largest values of (1 + |k|²)^(-s), descending. These are the squared semi-axes of the ball in L2."""
        return (1.0 + jnp.asarray(lattice_norms(self.dimension, count))) ** -self.smoothness

    def width(self, n: int) -> Float[Array, ""]:
        """The squared Kolmogorov n-width in L2, which is the (n+1)-th of the eigenvalues (Kolmogorov, 1936).

        The squared width is the largest squared error over the ball for approximation from a linear space of n
        dimensions, minimised over these spaces. The span of the n smallest frequencies attains it.
        """
        return (1.0 + float(lattice_norms(self.dimension, n + 1)[-1])) ** -self.smoothness


class PeriodicSeries(eqx.Module):
    """Series f(x) = sum_k a_k cos(2 pi k x) + b_k sin(2 pi k x) over k = 1, 2, ..., of mean zero and period 1.

    Args:
        cosines: a_1, a_2, ...
        sines: b_1, b_2, ...

    Example:
        >>> import jax.numpy as jnp
        >>> f = PeriodicSeries(jnp.array([0.0, 2.0]), jnp.zeros(2))
        >>> float(f.squared_norm(0.0)), float(f.squared_norm(1.0)), float(f(jnp.array([0.5]))[0])
        (2.0, 10.0, 2.0)
    """

    cosines: Float[Array, " m"]
    sines: Float[Array, " m"]

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """The value of the function at each point of x."""
        angles = 2 * jnp.pi * x[:, None] * jnp.arange(1, len(self.cosines) + 1)
        return jnp.cos(angles) @ self.cosines + jnp.sin(angles) @ self.sines

    def squared_norm(self, smoothness: Float[Array, ""] | float) -> Float[Array, ""]:
        """The squared norm in H^s, sum_k (1 + k²)^s (a_k² + b_k²)/2. For s = 0, H^s is L2."""
        k = jnp.arange(1, len(self.cosines) + 1)
        return jnp.sum((1.0 + k**2) ** smoothness * (self.cosines**2 + self.sines**2)) / 2
