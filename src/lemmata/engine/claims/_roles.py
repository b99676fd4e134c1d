"""Predictions for problems in which two fields of the same type are exchanged, for example n and d.

Such predictions are false statements near a claim, which its trials should refute (see `mutate`).
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._claim import Claim
from ._trials import COMPILER, root_key

PAIRS = 4
"""The number of pairs of fields that are tried, in the order of the fields in the class of the problem."""
_BATCH = 32


def swapped_predictions(claim: Claim, setting: dict, numbers: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """The predictions of a claim for problems in which two fields of the same type and shape are exchanged.

    The result is empty if the claim is not written in JAX, because its problems are expensive to draw again. A pair of
    fields is left out if `predict` does not accept the changed problem.

    Args:
        claim: the claim.
        setting: the setting of the problems.
        numbers: the numbers of the trials.
        seed: the seed of all randomness.

    Returns:
        The predictions by the names of the two exchanged fields, with one row for each trial.
    """
    if not claim.traced or not len(numbers):
        return {}
    root = root_key(claim, seed)

    def one(number: jax.Array) -> dict[str, jax.Array]:
        sample_key, _ = jax.random.split(jax.random.fold_in(root, number))
        problem = claim.population.sample(setting, sample_key)
        own, found = jnp.shape(claim.predict(problem)), {}
        for names in itertools.islice(_pairs(problem), PAIRS):
            value = _predicted(claim, problem, *names)
            if value is not None and value.shape == own:
                found[" and ".join(names)] = value
        return found

    run = jax.jit(jax.vmap(one), compiler_options=COMPILER)
    size = min(_BATCH, len(numbers))
    filled = np.resize(numbers, -(-len(numbers) // size) * size)  # the last call repeats the first trials
    rows = [run(filled[start : start + size]) for start in range(0, len(filled), size)]
    return {name: np.concatenate([row[name] for row in rows])[: len(numbers)] for name in rows[0]}


def _pairs(problem: Any) -> Iterator[tuple[str, str]]:
    """Pairs of fields of a problem that have the same type: two numbers, or two arrays of equal shape."""
    if not dataclasses.is_dataclass(problem):
        return
    kinds = {field.name: _kind(getattr(problem, field.name)) for field in dataclasses.fields(problem)}
    for one, other in itertools.combinations(kinds, 2):
        if kinds[one] is not None and kinds[one] == kinds[other]:
            yield one, other


def _kind(value: Any) -> Any:
    if eqx.is_array(value):
        return None if jnp.issubdtype(value.dtype, jax.dtypes.prng_key) else (value.shape, value.dtype)
    return type(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _predicted(claim: Claim, problem: Any, one: str, other: str) -> jax.Array | None:
    """The prediction if two fields of the problem are exchanged; None if the problem or the formula refuses this."""
    try:
        changed = dataclasses.replace(problem, **{one: getattr(problem, other), other: getattr(problem, one)})
        return jnp.asarray(claim.predict(changed), float)
    except Exception:  # a claim's own code may raise any error for shapes or signs that it does not expect
        return None
