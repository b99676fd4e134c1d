"""Networks of both forms of Flax; tests that need them are skipped where it is not installed."""

import flax.linen as linen
import jax
import jax.numpy as jnp
from flax import nnx


class Linen(linen.Module):
    """One hidden layer, in float64."""

    hidden: int
    outputs: int

    @linen.compact
    def __call__(self, x):
        hidden = jnp.tanh(linen.Dense(self.hidden, param_dtype=jnp.float64)(x))
        return linen.Dense(self.outputs, param_dtype=jnp.float64)(hidden)


class Nnx(nnx.Module):
    """The same in the other form."""

    def __init__(self, columns, hidden, outputs):
        self.first = nnx.Linear(columns, hidden, rngs=nnx.Rngs(0), param_dtype=jnp.float64)
        self.second = nnx.Linear(hidden, outputs, rngs=nnx.Rngs(1), param_dtype=jnp.float64)

    def __call__(self, x):
        return self.second(jnp.tanh(self.first(x)))


class Normalised(linen.Module):
    """Running statistics between two layers."""

    @linen.compact
    def __call__(self, x):
        return linen.Dense(3)(linen.BatchNorm(use_running_average=True)(linen.Dense(6)(x)))


class NormalisedNnx(nnx.Module):
    """The same in the other form, with a dropout that is off."""

    def __init__(self, seed):
        rngs = nnx.Rngs(seed)
        self.first = nnx.Linear(4, 6, rngs=rngs)
        self.norm = nnx.BatchNorm(6, use_running_average=True, rngs=rngs)
        self.norm.mean[...] = jnp.full(6, 0.1 * seed)
        self.dropped = nnx.Dropout(0.5, deterministic=True, rngs=rngs)
        self.second = nnx.Linear(6, 3, rngs=rngs)

    def __call__(self, x):
        return self.second(self.dropped(self.norm(self.first(x))))


def normalised_pair(seed, x):
    """A module with running statistics, and variables that differ between seeds."""
    variables = Normalised().init(jax.random.key(seed), x)
    return Normalised(), jax.tree.map(lambda leaf: leaf + 0.1 * seed, variables)
