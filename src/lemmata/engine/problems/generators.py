"""NumPy's random numbers from a key."""

import jax
import numpy as np
from jaxtyping import Array, Key


def generator_of(key: Key[Array, ""]) -> np.random.Generator:
    """NumPy's random numbers from a key, for problems that are not traced."""
    return np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
