"""The exact number of values that optimisers store.

This theory counts the values that an optimiser keeps for a matrix of weights. It does not explain how few values would
be enough.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.optimisers import adam_mini, shampoo, soap
from lemmata.subjects.optimisers._noisy_steps import StoredMatrices, StoredMatrix

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "memory"}

_RATE = 0.1
_METHODS: tuple[Callable[[], optax.GradientTransformation], ...] = (
    lambda: optax.adam(_RATE),
    lambda: optax.lion(_RATE),
    lambda: optax.contrib.ademamix(_RATE),
    lambda: adam_mini(_RATE),
    lambda: optax.adafactor(_RATE, min_dim_size_to_factor=2),
    lambda: shampoo(_RATE),
    lambda: soap(_RATE),
)


class StoredNumbers(Claim[StoredMatrix]):
    """For a matrix of m rows and n columns, the optimisers store these numbers of values, without step counters: Adam 2
    m n, Lion m n, AdEMAMix 3 m n, Adam-mini m n + m, Adafactor m + n, Shampoo m² + n², SOAP 2 m n + 2 m² + 2 n².
    Adafactor has no momentum here and factors the second moments of every matrix.
    """

    title = "Formulas for the number of values that Adam, Lion, Adafactor, Shampoo and other optimisers store"
    source = Source("emergence2026", "Figure 5.17", "Figure 5.18", "Figure 5.19", note="counted")
    population = StoredMatrices()
    relation = Equal()
    control = Control(
        "one more moment is stored for every weight", lambda counts, problem: counts + problem.rows * problem.columns
    )
    controls = "the memory of training beyond weights and gradients"
    unexplained = "copies in other precisions, and communication buffers"
    traced = False

    def predict(self, problem: StoredMatrix) -> Array:
        m, n = problem.rows, problem.columns
        sides = m * m + n * n
        return jnp.asarray([2 * m * n, m * n, 3 * m * n, m * n + m, m + n, sides, 2 * m * n + 2 * sides], float)

    def measure(self, problem: StoredMatrix, key: Key[Array, ""]) -> Array:
        """Count the numbers in the leaves of the state that have more than one number."""
        weights = jax.ShapeDtypeStruct((problem.rows, problem.columns), np.float64)
        states = [jax.tree.leaves(jax.eval_shape(make().init, weights)) for make in _METHODS]
        return jnp.asarray([sum(leaf.size for leaf in state if leaf.size > 1) for state in states], float)
