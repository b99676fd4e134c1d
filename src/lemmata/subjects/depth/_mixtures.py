"""Mixtures of atoms: a point X of the convex hull of atoms, and the approximation of X by few atoms."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.variables import dimension, rows


class Mixture(eqx.Module):
    """Atoms v_1, ..., v_n, the weights of a point X = sum_i weights_i v_i, and the number of atoms to keep."""

    atoms: Float[Array, "n d"]
    weights: Float[Array, " n"]
    keep: int = eqx.field(static=True)

    @property
    def target(self) -> Float[Array, " d"]:
        """The point X = sum_i weights_i v_i."""
        return self.weights @ self.atoms

    @property
    def mean_square(self) -> Float[Array, ""]:
        """The mean of |V|² for a random atom V, which is v_i with probability weights_i."""
        return self.weights @ jnp.sum(self.atoms**2, axis=1)

    @property
    def largest(self) -> Float[Array, ""]:
        """The square R² of the largest norm of an atom."""
        return jnp.sum(self.atoms**2, axis=1).max()

    @property
    def farthest(self) -> Float[Array, ""]:
        """The bound (R + |X|)² on squared distances of X from means of atoms, with the largest norm R of an atom."""
        return (jnp.sqrt(self.largest) + jnp.linalg.norm(self.target)) ** 2


def greedy_errors(atoms: Float[Array, "n d"], target: Float[Array, " d"], keep: int) -> Float[Array, " keep"]:
    """Return |g_i - X|² for the target X and i = 1, ..., keep, where g_i = (i-1)/i g_(i-1) + v/i with the best atom v.

    The best atom makes |g_i - X|² smallest.
    """

    def step(at: Array, i: Array) -> tuple[Array, Array]:
        new = ((i - 1) * at + atoms) / i
        errors = jnp.sum((new - target) ** 2, axis=1)
        best = jnp.argmin(errors)
        return new[best], errors[best]

    return jax.lax.scan(step, jnp.zeros_like(target), jnp.arange(1.0, keep + 1))[1]


def _weights(key: Key[Array, ""], n: int) -> Float[Array, " n"]:
    """Draw weights that are uniform on the simplex."""
    drawn = jax.random.exponential(key, (n,))
    return drawn / drawn.sum()


class Mixtures(Population[Mixture]):
    """In half of the problems, X is the centre of a simplex. In the other half, X is the output of a wide ReLU network.

    In a network, an atom is the output of a random unit on d rows, with Euclidean norm at most 1. The weights are
    positive.
    """

    settings = Space(
        n=Integer(200, 40, 2000, "atoms"), d=rows(30, 5, 200), keep=Integer(10, 1, 100, "number of atoms that are kept")
    ).where("at most a twentieth of the atoms is kept", lambda s: 20 * s["keep"] <= s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> Mixture:
        n, keys = setting["n"], jax.random.split(key, 5)
        simplex = jax.random.bernoulli(keys[0])
        points = jax.random.normal(keys[1], (setting["d"], 5))
        outputs = jax.nn.relu(jax.random.normal(keys[2], (n, 5)) @ points.T + jax.random.normal(keys[3], (n, 1)))
        outputs = outputs / jnp.maximum(jnp.linalg.norm(outputs, axis=1).max(), 1e-9)
        unit = jnp.pad(outputs, ((0, 0), (0, n)))[:, : n + setting["d"]]
        vertex = jnp.pad(jnp.eye(n), ((0, 0), (0, setting["d"])))
        weights = _weights(keys[4], n)
        return Mixture(
            jnp.where(simplex, vertex, unit), jnp.where(simplex, jnp.full(n, 1 / n), weights), setting["keep"]
        )

    def hypotheses(self, problem: Mixture) -> list[Hypothesis]:
        return [
            Hypothesis("the weights are not negative", problem.weights.min(), ">=", 0.0, "X is in the convex hull"),
            Hypothesis("distance of the weights' sum from 1", jnp.abs(problem.weights.sum() - 1), "<=", 1e-9),
        ]


class ShiftedMixtures(Population[Mixture]):
    """Normal atoms, shifted so that |X|² is a large part of the mean of |V|². Weights are uniform on the simplex."""

    settings = Space(
        n=Integer(50, 2, 1000, "atoms"), d=dimension(8, 2), keep=Integer(6, 1, 50, "number of atoms that are kept")
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Mixture:
        keys, shape = jax.random.split(key, 3), (setting["n"], setting["d"])
        shift = jax.random.normal(keys[0], shape[1:])
        shift = shift / jnp.linalg.norm(shift) * jnp.sqrt(shape[1])
        weights = _weights(keys[1], shape[0])
        atoms = jax.random.normal(keys[2], shape)
        return Mixture(atoms - weights @ atoms + shift, weights, setting["keep"])

    def hypotheses(self, problem: Mixture) -> list[Hypothesis]:
        return [Hypothesis("distance of the weights' sum from 1", jnp.abs(problem.weights.sum() - 1), "<=", 1e-9)]
