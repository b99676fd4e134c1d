"""Values that a problem must not contain: random keys, and the measured value itself."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._claim import Claim
from ._trials import trial_key

_ENTRIES = 100_000  # entries of a problem that are compared with the measurement


def keys_in(problem: Any) -> list[str]:
    """The places in a problem at which there are random keys or generators.

    Keys and generators are not allowed, because both prediction and measurement could draw numbers from them.
    """
    leaves = jax.tree_util.tree_leaves_with_path(_opened(problem))
    return [jax.tree_util.keystr(path) or "the problem itself" for path, leaf in leaves if _is_key(leaf)]


def _is_key(leaf: Any) -> bool:
    if isinstance(leaf, np.random.Generator | np.random.BitGenerator | np.random.RandomState):
        return True
    kind = getattr(leaf, "dtype", None)
    if kind is None:
        return False
    raw = kind == jnp.uint32 and getattr(leaf, "shape", ())[-1:] == (2,)
    return raw or jnp.issubdtype(kind, jax.dtypes.prng_key)


def _opened(problem: Any) -> Any:
    """The problem as a tree whose leaves include fields of ordinary dataclasses and static fields of modules."""
    if dataclasses.is_dataclass(problem) and not isinstance(problem, type):
        return {own.name: _opened(getattr(problem, own.name, None)) for own in dataclasses.fields(problem)}
    if isinstance(problem, tuple | list):
        return tuple(_opened(part) for part in problem)
    return problem


def stored_measurement(claim: Claim, setting: dict, seed: int, measured: list[np.ndarray]) -> str | None:
    """The place in a problem that contains the measured value, up to rounding, in each of a few trials.

    The result is None if there is no such place. Measured values that are equal in two trials are ignored, because the
    setting may determine them. Whole numbers are ignored, too, because whole numbers can agree by chance.

    Args:
        claim: the claim.
        setting: the setting of the claim's population.
        seed: the seed of the trials.
        measured: the measurements of the trials 0, 1, 2, ...
    """
    values = np.stack([np.ravel(value) for value in measured])
    telling = [k for k, column in enumerate(values.T) if len(set(column)) == len(column) and (column % 1 != 0).all()]
    if len(values) < 2 or not telling:
        return None
    sample = lambda number: claim.population.sample(setting, jax.random.split(trial_key(claim, seed, number))[0])
    places = [jax.tree_util.tree_leaves_with_path(_opened(sample(number))) for number in range(len(values))]
    for leaves in zip(*places, strict=False):
        rows = [np.ravel(leaf) for _, leaf in leaves if _is_real(leaf)]
        if len(rows) == len(values) and len({row.shape for row in rows}) == 1 and rows[0].size <= _ENTRIES:
            entries = np.stack(rows)
            if any(np.isclose(entries, values[:, k : k + 1], 1e-12, 0).all(axis=0).any() for k in telling):
                return jax.tree_util.keystr(leaves[0][0]) or "the problem itself"
    return None


def _is_real(leaf: Any) -> bool:
    return isinstance(leaf, float | np.floating) or (
        isinstance(leaf, jax.Array | np.ndarray) and jnp.issubdtype(leaf.dtype, jnp.floating)
    )
