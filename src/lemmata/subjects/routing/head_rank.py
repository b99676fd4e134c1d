"""The rank of an attention head, and which attention matrices a narrow head can have.

This theory says which tables of probabilities are softmax matrices of queries and keys of a given width. It assumes
that queries and keys can be any vectors of this width. It does not say which tables a task needs.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import minimize

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Kind, Population, Source, Space
from lemmata.engine.problems.variables import dimension

ABOUT = {"tool": "linear algebra", "architecture": "attention", "object": "function class"}

_STARTS = 3
_REACHED = 1e-7  # one divergence for each row; rank r - 1 leaves more than the share of its least singular value
_LEAST = 0.5


class StochasticTable(eqx.Module):
    """A matrix of positive probabilities whose rows add up to 1."""

    table: Float[Array, "q n"]

    @property
    def singular_values(self) -> Float[Array, " k"]:
        """The singular values of the logarithm of the table, after the mean of each row is subtracted."""
        logs = jnp.log(self.table)
        return jnp.linalg.svd(logs - logs.mean(axis=1, keepdims=True), compute_uv=False)


class StochasticTables(Population[StochasticTable]):
    """Tables of n columns whose logarithm, minus the mean of each row, has a random rank between 1 and n - 2."""

    settings = Space(n=dimension(5, 4, 7, corners=(4, 6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> StochasticTable:
        n = setting["n"]
        left_key, right_key, rank_key, size_key = jax.random.split(key, 4)
        rank = jax.random.randint(rank_key, (), 1, n - 1)
        left = jnp.linalg.qr(jax.random.normal(left_key, (n, n)))[0]
        right = jax.random.normal(right_key, (n, n))
        right = jnp.linalg.qr(right - right.mean(axis=0))[0]  # all but the last column are orthogonal to 1
        sizes = jax.random.uniform(size_key, (n,), minval=1.0, maxval=2.5) * (jnp.arange(n) < rank)
        return StochasticTable(jax.nn.softmax(left * sizes @ right.T, axis=1))

    def hypotheses(self, problem: StochasticTable) -> list[Hypothesis]:
        values = problem.singular_values
        least = jnp.min(jnp.where(values > 1e-9 * values[0], values, jnp.inf))
        return [
            Hypothesis("the least probability", jnp.min(problem.table), ">", 0.0),
            Hypothesis(
                "least singular value that counts for the rank",
                least,
                ">",
                _LEAST,
                "otherwise the numerical rank depends on the tolerance",
            ),
        ]


def left_by_width(table: np.ndarray, width: int, rng: np.random.Generator) -> float:
    """Fit softmax(Q K') to a table from random starts; return the least mean divergence of a row from its fit.

    Args:
        table: the table of probabilities, whose rows add up to 1.
        width: the width of queries and keys.
        rng: the generator that draws the starts.
    """
    (q, n), size = table.shape, table.shape[0] * width
    entropy = float(np.sum(table * np.log(table)))

    def divergence(flat: np.ndarray) -> tuple[float, np.ndarray]:
        queries, keys = flat[:size].reshape(q, width), flat[size:].reshape(n, width)
        logits = queries @ keys.T
        logits = logits - logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        slope = np.exp(logs) - table
        return entropy - float(np.sum(table * logs)), np.concatenate(
            [(slope @ keys).ravel(), (slope.T @ queries).ravel()]
        )

    least = np.inf
    for _ in range(_STARTS):
        start = rng.normal(size=size + n * width)
        options = {"maxiter": 600, "maxfun": 1200, "ftol": 1e-13, "gtol": 1e-10}
        found = minimize(divergence, start, jac=True, method="L-BFGS-B", options=options)
        least = min(least, float(found.fun) / q)
        if least < _REACHED:
            break
    return least


class WidthIsTheCentredRank(Claim[StochasticTable]):
    """Take the logarithm of a table of positive probabilities, and subtract the mean of each row. The table is the
    attention matrix softmax(Q K') of some queries Q and keys K of width w if and only if w is at least the rank of this
    centred logarithm. The same holds for a language model of width w and the table of its next-token probabilities in
    all contexts. The trials fit Q and K of increasing width, from random starts, by descent on the Kullback-Leibler
    divergence of the table from softmax(Q K'). The trials report the smallest width that reaches a divergence of 0.

    Derivation: softmax(Q K') has the logarithm Q K' + c 1', where c is a column and 1' is the row of ones. To subtract
    the means of the rows, multiply from the right by a projection. This projection removes c 1' and does not raise the
    rank. So w is at least the rank of the centred logarithm. Conversely, the centred logarithm is itself a product Q K'
    whose width is this rank.
    """

    title = "The least width of a head with a given attention matrix is the rank of its row-centred logarithm"
    source = Source("yang2018", "Main result", note="with the rank after the best shift of each row")
    stated = Kind.OWN
    population = StochasticTables()
    relation = Equal()
    control = Control(
        "the least width is the rank of the logarithm without a shift of rows",
        lambda rank, problem: jnp.linalg.matrix_rank(jnp.log(problem.table), 1e-9).astype(float),
    )
    controls = "which attention matrices a narrow head can have"
    unexplained = "tables that need to be matched only approximately"
    traced = False

    def predict(self, problem: StochasticTable) -> Array:
        values = problem.singular_values
        return jnp.sum(values > 1e-9 * values[0]).astype(float)

    def measure(self, problem: StochasticTable, key: Key[Array, ""]) -> Array:
        table = np.asarray(problem.table)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).astype(np.uint32))
        widths = (width for width in range(1, len(table) + 1) if left_by_width(table, width, rng) < _REACHED)
        return jnp.asarray(float(next(widths, len(table))))
