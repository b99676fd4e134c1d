"""Statistical queries ask for averages. Samples answer these queries, but the answers hardly reveal a parity of bits.

A statistical query asks for the expectation of a function of an example, up to a tolerance. This theory counts how many
examples answer many queries, and how many parities one query can exclude (blum1994). It assumes inputs that are uniform
on the cube {-1, 1}^d. It does not explain algorithms that look at single examples, such as elimination.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Kind, Population, Source, Space
from lemmata.engine.problems.variables import dimension, rows
from lemmata.functions import cube, walsh_hadamard

ABOUT = {
    "tool": "Fourier analysis",
    "architecture": "any",
    "object": "estimator",
    "SampledQueries": {"tool": "concentration"},
}

DELTA = 0.05


class Query(eqx.Module):
    """A correlational statistical query h on {-1, 1}^d, and the tolerance of its answers.

    Args:
        values: the values of h at the points of `cube(d)`, in [-1, 1].
        tau: the tolerance, the largest allowed error of an answer.
    """

    values: Float[Array, " points"]
    tau: Float[Array, ""]


class Queries(Population[Query]):
    """Half of the queries are bent functions of k coordinates with tau = 2^(-k/2). The others have uniform values."""

    settings = Space(d=dimension(8, 3, 11, corners=(6, 9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Query:
        d = setting["d"]
        pair_key, shift_key, kind_key, value_key, rate_key = jax.random.split(key, 5)
        pairs = jax.random.randint(pair_key, (), 1, (d - 1) // 2 + 1)
        bits = cube(d) < 0
        products = bits[:, 0 : 2 * ((d - 1) // 2) : 2] & bits[:, 1 : 2 * ((d - 1) // 2) : 2]
        inner = jnp.sum(products & (jnp.arange((d - 1) // 2) < pairs), axis=1)
        shift = jnp.sum(bits & jax.random.bernoulli(shift_key, 0.5, (d,)), axis=1)
        bent = 1.0 - 2.0 * ((inner + shift) % 2)
        spread = jax.random.uniform(value_key, (2**d,), minval=-1.0)
        is_bent = jax.random.bernoulli(kind_key)
        tau = 2.0 ** -(d / 2) * jax.random.uniform(rate_key, minval=1.1, maxval=2.0)
        return Query(jnp.where(is_bent, bent, spread), jnp.where(is_bent, jnp.ldexp(1.0, -pairs), tau))

    def hypotheses(self, problem: Query) -> list[Hypothesis]:
        return [Hypothesis("the largest |h|", jnp.abs(problem.values).max(), "<=", 1.0, "answers are in [-1, 1]")]


class QueriesEliminateFew(Claim[Query]):
    """Let h be a function on {-1, 1}^d with |h| <= 1. Let chi_T be the product of the coordinates in a set T, and let E
    be the mean over uniform inputs. The number of sets T with |E h chi_T| >= tau is at most

        1/tau^2.

    If the answer to a statistical query about h with tolerance tau is 0, this answer excludes only the parities chi_T
    of these sets T. So at least (2^d - 1) tau^2 such queries are needed to find a parity. Bent functions attain the
    bound 1/tau^2.
    """

    title = "A statistical query of tolerance tau excludes at most 1/tau^2 parities"
    source = Source("emergence2026", "Figure 10.18", note="with the number of parities of Blum et al. (1994)")
    stated = Kind.THEOREM
    population = Queries()
    relation = AtMost()
    control = Control("half of the bound is enough", lambda number, problem: number / 2)
    controls = "how many queries of a given tolerance a parity needs"
    unexplained = "algorithms that use single examples, such as elimination"

    def predict(self, problem: Query) -> Array:
        return problem.tau**-2

    def measure(self, problem: Query, key: Key[Array, ""]) -> Array:
        return jnp.sum(jnp.abs(walsh_hadamard(problem.values)) >= problem.tau).astype(float)

    def trivial(self, problem: Query) -> Array:
        """Return the number 2^d of all sets."""
        return jnp.asarray(float(len(problem.values)))


class LabelledCube(eqx.Module):
    """Labels -1 or 1 at the points of `cube(d)`, and a number of examples.

    Args:
        labels: the labels of all points.
        rows: the number m of examples.
    """

    labels: Float[Array, " points"]
    rows: int = eqx.field(static=True)


class LabelledCubes(Population[LabelledCube]):
    """Cubes with independent labels. The queries are the correlations with all 2^d products of coordinates."""

    settings = Space(d=dimension(6, 2, 9, corners=(4, 7)), rows=rows(400, 50, 10_000, corners=(200, 800)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledCube:
        return LabelledCube(jax.random.rademacher(key, (2 ** setting["d"],), float), setting["rows"])

    def hypotheses(self, problem: LabelledCube) -> list[Hypothesis]:
        gap = jnp.abs(jnp.abs(problem.labels) - 1).max()
        return [Hypothesis("the largest distance of a label from -1 or 1", gap, "==", 0.0, "queries are in [-1, 1]")]


class SampledQueries(Claim[LabelledCube]):
    """Let q_1, ..., q_k be functions of an example with values in [-1, 1], fixed before m independent examples are
    drawn. With probability at least 1 - delta, the averages over the examples differ from the expectations of all k
    functions by at most

        tau = sqrt( 2 log(2 k/delta) / m ),   delta = 1/20.

    So 2 log(2 k/delta)/tau^2 examples answer k statistical queries with tolerance tau. In the test, the queries are the
    correlations of the label with all 2^d products of coordinates.
    """

    title = "Averages over 2 log(2k/delta)/tau^2 examples answer k statistical queries"
    source = Source("emergence2026", "Figure 10.17", note="with the number of examples")
    stated = Kind.THEOREM
    population = LabelledCubes()
    relation = AtMost(DELTA)
    control = Control("0.7 times the tolerance is reached", lambda tau, problem: 0.7 * tau)
    controls = "the answers to many statistical queries from one sample"
    unexplained = "queries that are chosen after earlier answers on the same sample"
    trivial = 1.0  # the answer 0 is off by at most 1
    trials = 400

    def predict(self, problem: LabelledCube) -> Array:
        return jnp.sqrt(2 * jnp.log(2 * len(problem.labels) / DELTA) / problem.rows)

    def measure(self, problem: LabelledCube, key: Key[Array, ""]) -> Array:
        drawn = jax.random.randint(key, (problem.rows,), 0, len(problem.labels))
        counts = jnp.zeros(len(problem.labels)).at[drawn].add(1.0)
        surplus = (counts / problem.rows - 1 / len(problem.labels)) * problem.labels
        numbers = jnp.arange(len(problem.labels))
        products = 1 - 2.0 * (jnp.bitwise_count(numbers[:, None] & numbers) % 2)
        return jnp.abs(products @ surplus).max()
