"""Sampled regression problems, for claims that are not run on a user's problem."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Real
from lemmata.engine.problems.regression import Regression
from lemmata.kernels import RBF, AbstractKernel, Laplace, Linear, gram

KERNEL = Choice("rbf", ("linear", "rbf", "laplace"), "kernel; lengthscales are the square root of the dimension")
DEFINITE_KERNEL = Choice("rbf", ("rbf", "laplace"), "kernel, positive definite on distinct points")
NOISE = Real(0.5, 0.01, 100.0, "standard deviation of the noise in the targets")


def sampled_kernel(name: str, dimension: int) -> AbstractKernel:
    """The kernel with this name, of unit variance for standardised inputs of the given dimension."""
    if name == "linear":
        return Linear(float(dimension))
    return {"rbf": RBF, "laplace": Laplace}[name](float(dimension) ** 0.5)


def draws(key: Key[Array, ""], *shapes: tuple[int, ...]) -> list[Array]:
    """Independent standard normal arrays, all from one draw, because each draw takes half a second to compile.

    Args:
        key: the random key.
        shapes: the shapes of the arrays.
    """
    sizes = [math.prod(shape) for shape in shapes]
    parts = jnp.split(jax.random.normal(key, (sum(sizes),)), [sum(sizes[:j]) for j in range(1, len(sizes))])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def points_in_ball(drawn: Float[Array, "n e"]) -> Float[Array, "n d"]:
    """Uniform points in the unit ball of d = e - 1 dimensions: a normal direction, and the distance u^(1/d) from 0.

    Here u is uniform on [0, 1]. `jax.random.ball` is not used, because it draws gamma variables by rejection loops,
    which take seconds to compile.

    Args:
        drawn: independent standard normal numbers, e for each point.
    """
    radius = jax.scipy.stats.norm.cdf(drawn[:, :1]) ** (1 / (drawn.shape[1] - 1))
    return radius * drawn[:, 1:] / jnp.linalg.norm(drawn[:, 1:], axis=1, keepdims=True)


def paired_signs(drawn: Float[Array, "k pairs"]) -> Float[Array, "k m"]:
    """Compute the signs a of a symmetric initialisation, with a_{2r} = -a_{2r-1}, from normal numbers.

    Args:
        drawn: independent standard normal numbers.
    """
    return jnp.stack([jnp.sign(drawn), -jnp.sign(drawn)], axis=2).reshape(len(drawn), -1)


def sampled_regression(
    key: Key[Array, ""],
    *,
    n: int,
    t: int,
    d: int,
    kernel: str = "rbf",
    noise: float = 0.5,
    ridge: float = 0.1,
) -> Regression:
    """Draw standard normal inputs, a random target of unit mean square in the kernel's Hilbert space, and normal noise.

    Args:
        key: the random key.
        n: the number of training rows.
        t: the number of held-out rows.
        d: dimension of the inputs.
        kernel: one of the options of `KERNEL`.
        noise: standard deviation of the noise.
        ridge: the ridge on the diagonal of the Gram matrix.
    """
    centre_key, weight_key, input_key, noise_key = jax.random.split(key, 4)
    chosen = sampled_kernel(kernel, d)
    centres = jax.random.normal(centre_key, (16, d))
    weights = jax.random.normal(weight_key, (16, 1))
    inputs = jax.random.normal(input_key, (n + t, d))
    target = gram(chosen, inputs, centres) @ weights
    target = target / jnp.sqrt(jnp.mean(target**2))
    y = target + noise * jax.random.normal(noise_key, target.shape)
    return Regression(
        inputs[:n], y[:n], inputs[n:], y[n:], chosen, jnp.asarray(ridge, float), jnp.asarray(noise, float)
    )
