"""Random keys, which are derived from a seed and names. Randomness comes only from explicit keys."""

import zlib

import jax
from jaxtyping import Array, Key


def key_from(seed: int, *names: str | int) -> Key[Array, ""]:
    """Return the random key for a seed and a list of names. Equal arguments give equal keys on every machine.

    Args:
        seed: the user's seed.
        names: the purpose of the randomness, for example ("resample", 3). Each string is replaced by its CRC-32.
    """
    key = jax.random.key(seed)
    for name in names:
        key = jax.random.fold_in(key, zlib.crc32(name.encode()) if isinstance(name, str) else name)
    return key
