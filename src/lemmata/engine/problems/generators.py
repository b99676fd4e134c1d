"""NumPy's random generators, seeded by keys."""

import jax
import numpy as np
from jaxtyping import Array, Key


def generator_of(key: Key[Array, ""]) -> np.random.Generator:
    """A random generator of NumPy that is seeded by the key, for problems that are not traced."""
    return np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
