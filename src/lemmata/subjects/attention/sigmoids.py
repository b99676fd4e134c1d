"""Sigmoid attention at the start of training and in tiles: row sums, sizes of outputs, and the limit of softmax.

This theory describes a head with normal queries, keys and values. Without a bias, the row sums of the sigmoid weights
are n/2 on average. With the bias -log n they do not depend on n, and the head equals a softmax head up to one constant
factor. Computation in tiles gives the same numbers. The theory does not explain how training changes the logits, while
the bias stays the same.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import expit, softmax

from lemmata.engine.claims import (
    Choice,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, uniform
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.attention import tiled_attention

ABOUT = {
    "tool": "statistics",
    "architecture": "attention",
    "object": "construction",
    "MemoryIsLinear": {"object": "cost"},
}

_QUERIES = 32


class StartedHead(eqx.Module):
    """The distribution of a head at the start of training, whose logits have the same standard deviation for any query.

    Args:
        spread: the standard deviation of q'k / sqrt(d) over normal keys k, for queries q of length spread sqrt(d).
        n: the number of tokens.
        d: the width of queries, keys and values.
    """

    spread: float = eqx.field(static=True, converter=float)
    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""], n: int) -> tuple[Float[np.ndarray, "m n"], Float[np.ndarray, "n d"]]:
        """Return the logits that 32 queries of length spread sqrt(d) have with normal keys, and normal values.

        Args:
            key: the random key.
            n: the number of tokens.
        """
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        q, k, v = (rng.normal(size=(rows, self.d)) for rows in (_QUERIES, n, n))
        return self.spread * (q / np.linalg.norm(q, axis=1, keepdims=True)) @ k.T, v


def _few_surprises(problem: StartedHead) -> Hypothesis:
    why = "for wider logits, the mean of the exponentials comes mostly from a few logits"
    return Hypothesis("the standard deviation of the logits", problem.spread, "<=", 1.2, why)


_STARTED = Drawn(
    StartedHead,
    _few_surprises,
    n=Integer(64, 8, 1024, "tokens", corners=(32, 96)),
    d=Integer(8, 2, 64, "width of queries, keys and values", corners=(4, 12)),
    spread=uniform(0.5, 1.0, times=Real(1.0, 0.1, 1.2, "largest standard deviation of the logits", corners=(0.6, 1.0))),
)


class CutHead(eqx.Module):
    """Queries, keys and values, and how they are cut into tiles.

    Args:
        q: queries, one in each row.
        k: keys, one in each row.
        v: values, one in each row.
        weight: the weight of each output in the weighted sum of outputs that is differentiated.
        block: the number of queries in a tile.
        causal: whether a token does not attend to later tokens.
    """

    q: Float[Array, "n d"]
    k: Float[Array, "n d"]
    v: Float[Array, "n d"]
    weight: Float[Array, "n d"]
    block: int = eqx.field(static=True)
    causal: bool = eqx.field(static=True)


class CutHeads(Population[CutHead]):
    """Normal queries, keys, values and weights."""

    # Sizes. A length need not be a multiple of a block.
    settings = Space(
        n=Integer(10, 1, 256, "tokens", corners=(6, 14)),
        d=Integer(3, 1, 64, "width", corners=(2, 4)),
        block=Integer(4, 1, 300, "queries in a tile", corners=(3, 20)),
        causal=Choice("no", ("no", "yes"), "whether attention is causal"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CutHead:
        q, k, v, weight = draws(key, *[(setting["n"], setting["d"])] * 4)
        return CutHead(q, k, v, weight, setting["block"], setting["causal"] == "yes")

    def hypotheses(self, problem: CutHead) -> list[Hypothesis]:
        return [
            Hypothesis("largest product of a query and a key", jnp.abs(problem.q @ problem.k.T).max(), "<", jnp.inf)
        ]


_KEY = "ramapuram2025sigmoid"
_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(60)
_UNEXPLAINED = "how training changes the logits"


class RowSumsAtStart(Claim[StartedHead]):
    """Let n keys have logits that are N(0, s²), and let z ~ N(0, 1). The mean sum of a row of weights of sigmoid
    attention is

        n/2  with no bias,      n E sigmoid(s z - log n)  with the bias -log n.

    As n grows, the mean sum with the bias -log n tends to exp(s²/2).
    """

    title = "Mean row sums of sigmoid attention at the start of training are n/2, but bounded with the bias -log n"
    source = Source(_KEY, "Abstract, attention norms", note="for normal logits")
    population = _STARTED
    relation = EqualInMean(resolution=0.02)
    control = Control("1.05 times both sums", lambda sums, problem: 1.05 * sums)
    controls, unexplained = "the sum of a row of weights", _UNEXPLAINED
    traced = False
    trials = 64

    def predict(self, problem: StartedHead) -> np.ndarray:
        """Compute both values, the second by Gauss-Hermite quadrature."""
        weights = expit(problem.spread * _NODES - np.log(problem.n))
        return problem.n * np.array([0.5, weights @ _MASSES / _MASSES.sum()])

    def measure(self, problem: StartedHead, key: Key[Array, ""]) -> np.ndarray:
        """Return the mean row sums over queries, without and with the bias."""
        logits, _ = problem.draw(key, problem.n)
        return np.stack([expit(logits + bias).sum(axis=1).mean() for bias in (0.0, -np.log(problem.n))])


class OutputsGrowWithoutBias(Claim[StartedHead]):
    """Let queries, keys and values be normal, with logits of a fixed standard deviation. Without a bias, the outputs of
    sigmoid attention grow with the number of tokens n like n^(1/2).
    """

    title = "Without a bias, the outputs of sigmoid attention to n tokens at the start of training grow like n^(1/2)"
    source = Source(_KEY, "Abstract, attention norms", note="which says that the outputs are large")
    population = _STARTED
    relation = Rate("n", (16.0, 128.0, 1024.0))
    control = Control("the outputs do not grow", lambda exponent, problem: exponent - 0.5)
    controls, unexplained = "the root mean square output of a head at the start", _UNEXPLAINED
    traced = False
    trials = 64
    predict = 0.5

    def measure_at(self, problem: StartedHead, key: Key[Array, ""], n: float) -> float:
        logits, values = problem.draw(key, int(n))
        return _size(expit(logits) @ values)


class OutputsShrinkWithBias(Claim[StartedHead]):
    """Let queries, keys and values be normal, with logits of a fixed standard deviation. With the bias -log n, the
    outputs of sigmoid attention fall with the number of tokens n like n^(-1/2). The outputs of softmax attention and
    plain means over the tokens fall at the same rate.
    """

    title = "With bias -log n, sigmoid attention outputs for n tokens at the start of training fall like n^(-1/2)"
    source = Source(_KEY, "Abstract, attention norms", note="which says that a bias stabilises the outputs")
    population = _STARTED
    relation = Rate("n", (256.0, 1024.0, 4096.0))
    control = Control("the outputs do not fall", lambda exponent, problem: exponent + 0.5)
    controls, unexplained = "the root mean square output of a head at the start", _UNEXPLAINED
    traced = False
    trials = 64
    predict = -0.5

    def measure_at(self, problem: StartedHead, key: Key[Array, ""], n: float) -> float:
        logits, values = problem.draw(key, int(n))
        return _size(expit(logits - np.log(n)) @ values)


class DropInForSoftmax(Claim[StartedHead]):
    """Let queries have length s sqrt(d), where d is the width, and let n keys and values be normal. As n grows, sigmoid
    attention with the bias -log n tends to exp(s²/2) times softmax attention of the same head. The distance from this
    limit, as a share of the softmax output, falls like n^(-1/2). With the bias -log n - s²/2, the limit is softmax
    attention itself.
    """

    title = "At the start of training, sigmoid attention with bias -log n tends to a constant times softmax attention"
    source = Source(_KEY, "Abstract, drop-in replacement", note="at the start, for normal keys")
    population = _STARTED
    relation = Rate("n", (256.0, 1024.0, 4096.0))
    control = Control("the difference falls like n^-1", lambda exponent, problem: exponent - 0.5)
    controls, unexplained = "the outputs of both heads at the start", _UNEXPLAINED
    traced = False
    trials = 64
    predict = -0.5

    def measure_at(self, problem: StartedHead, key: Key[Array, ""], n: float) -> float:
        logits, values = problem.draw(key, int(n))
        shares, sigmoid = softmax(logits, axis=1) @ values, expit(logits - np.log(n)) @ values
        return _size(sigmoid / np.exp(problem.spread**2 / 2) - shares) / _size(shares)


def _size(outputs: Float[np.ndarray, "m d"]) -> float:
    return float(np.sqrt(np.mean(outputs**2)))


class TilesAreExact(Claim[CutHead]):
    """Compute sigmoid attention to n tokens, with the bias -log n, for one block of queries at a time, and compute the
    weights again for the derivative. The outputs, and their derivatives with respect to queries, keys and values, are
    equal to the outputs and derivatives that the whole matrix of weights gives. This holds for any block size, for
    lengths that are not a multiple of the block size, and for causal and non-causal heads.
    """

    title = "Sigmoid attention in tiles computes exact outputs and derivatives"
    source = Source(_KEY, "Abstract, memory", note="which says that nothing is approximated")
    population = CutHeads()
    relation = Equal(block=1)
    control = Control("the bias is -log(n + 1)", lambda found, problem: _whole(problem, len(problem.q) + 1))
    controls, unexplained = "the outputs and derivatives of a head", "time on an accelerator"

    def predict(self, problem: CutHead) -> Array:
        """Return outputs and derivatives of the computation in tiles.

        One row is for the head that attends to all tokens, and one for the causal head.
        """
        heads = [functools.partial(tiled_attention, block=problem.block, causal=causal) for causal in (False, True)]
        return jnp.stack([_outputs_and_derivatives(head, problem) for head in heads])

    def measure(self, problem: CutHead, key: Key[Array, ""]) -> Array:
        """Return outputs and derivatives from the whole matrix of weights, by automatic differentiation."""
        return _whole(problem, len(problem.q))

    def condition(self, problem: CutHead) -> Array:
        return jnp.asarray(10.0 * problem.q.size)


def _whole(problem: CutHead, m: int) -> Array:
    """Compute outputs and derivatives of both heads with the bias -log m and the whole matrix of weights."""
    n, d = problem.q.shape
    weights = lambda q, k: 1 / (1 + m * jnp.exp(-q @ k.T / d**0.5))
    heads = [lambda q, k, v, seen=seen: (seen * weights(q, k)) @ v for seen in (jnp.ones((n, n)), jnp.tri(n))]
    return jnp.stack([_outputs_and_derivatives(head, problem) for head in heads])


def _outputs_and_derivatives(head, problem: CutHead) -> Array:
    outputs, back = jax.vjp(head, problem.q, problem.k, problem.v)
    return jnp.concatenate([array.ravel() for array in (outputs, *back(problem.weight))])


@functools.cache
def _held(n: int, d: int, block: int, causal: bool) -> float:
    """Return the bytes of temporaries and results in the compiled program for the derivatives of tiled attention."""
    like = jax.ShapeDtypeStruct((n, d), float)
    attend = functools.partial(tiled_attention, block=block, causal=causal)
    loss = lambda q, k, v: jnp.sum(attend(q, k, v) ** 2)
    found = jax.jit(jax.grad(loss, argnums=(0, 1, 2))).lower(like, like, like).compile().memory_analysis()
    return np.nan if found is None else float(found.temp_size_in_bytes + found.output_size_in_bytes)


class MemoryIsLinear(Claim[CutHead]):
    """Compile the derivative of sigmoid attention in tiles, for a fixed block of queries. The memory of the compiled
    program, for temporaries and results, grows in proportion to the number of tokens n. By contrast, the whole matrix
    of weights contains n² numbers.
    """

    title = "The memory of sigmoid attention in tiles grows in proportion to the number of tokens"
    source = Source(_KEY, "Abstract, memory", note="measured by what the compiler reports")
    population = CutHeads()
    relation = Rate("n", (256.0, 512.0, 1024.0))
    control = Control("memory like n^1.5", lambda exponent, problem: exponent + 0.5)
    controls, unexplained = "the memory of a program that is compiled for a CPU", "caches, and other compilers"
    traced = False
    trials = 8
    predict = 1.0

    def measure_at(self, problem: CutHead, key: Key[Array, ""], n: float) -> float:
        return _held(int(n), problem.q.shape[1], problem.block, problem.causal)
