"""Attention without skip connections: how fast attention makes tokens equal, and how little one token matters.

The spread of tokens or values is the largest distance between two of them. This theory bounds the spread of the outputs
of an attention layer by the spread of its inputs. It assumes no skip connection. It also bounds the effect of one input
token on the other positions if logits are small. It does not explain how training avoids equal tokens.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Kind, Population, Rate, Source, Space
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {
    "tool": "dynamical systems",
    "architecture": "attention",
    "object": "function class",
    "OneTokenMattersLittle": {"architecture": "transformer in context"},
}

_DRAWS = 12


class AttentionLogits(eqx.Module):
    """Logits of queries (rows) and keys (columns), and a value of each key."""

    logits: Float[Array, "q n"]
    values: Float[Array, " n"]


def mixed_difference(logits: Float[Array, "q n"]) -> Float[Array, ""]:
    """Return the largest (L_ij - L_ik) - (L_lj - L_lk) over rows i, l and columns j, k.

    Args:
        logits: the matrix L of logits.
    """
    across = logits[:, None] - logits[None, :]  # of two rows, at each column
    return jnp.max(jnp.max(across, axis=-1) - jnp.min(across, axis=-1))


class AllAttentionLogits(Population[AttentionLogits]):
    """In half of the problems, logits are normal; in the others, two groups of queries prefer two groups of keys."""

    settings = Space(q=rows(6, 2, 64, corners=(3, 12)), n=dimension(8, 2, 64, corners=(4, 16)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionLogits:
        q, n = setting["q"], setting["n"]
        own, scale_key, kind_key, value_key = jax.random.split(key, 4)
        scale = 0.2 * 15 ** jax.random.uniform(scale_key)
        sides = jnp.where(jnp.arange(q)[:, None] % 2 == jnp.arange(n) % 2, 0.5, -0.5)
        even = 1.0 * jnp.log((n + 1) // 2 / (n // 2)) * (jnp.arange(n) % 2)  # equal mass of the two groups
        grouped, values = scale * sides + even, jnp.where(jnp.arange(n) % 2, 1.0, -1.0)
        tight = jax.random.bernoulli(kind_key)
        logits = jnp.where(tight, grouped, scale * jax.random.normal(own, (q, n)))
        return AttentionLogits(logits, jnp.where(tight, values, jax.random.normal(value_key, (n,))))

    def hypotheses(self, problem: AttentionLogits) -> list[Hypothesis]:
        return [Hypothesis("the values differ", jnp.ptp(problem.values), ">", 0.0)]


class AttentionContracts(Claim[AttentionLogits]):
    """Let attention average values v_j with the weights softmax(L_ij) over the keys j, where L_ij is the logit of query
    i and key j. Let M be the largest mixed second difference (L_ij - L_ik) - (L_lj - L_lk) over all queries i, l and
    keys j, k. The largest difference between two outputs is at most

        tanh(M/4) (max_j v_j - min_j v_j).

    The bound is attained if two groups of queries prefer two groups of keys that have equal total weight. Parts of the
    logits that depend on the query alone or on the key alone do not change M. If the logits are L_ij = <W x_i, x_j> and
    all tokens x_i are within s of each other, M is of the order s². So a layer without a skip connection maps tokens
    with the spread s to tokens with a spread of the order s³.

    Derivation: let p_j and q_j be the weights of two outputs. The outputs differ by at most the total variation
    distance of p and q, times the range of the values. The largest ratio p_j/q_j is at most e^M times the smallest
    ratio. So for a set A of keys, the log odds of p(A) exceed the log odds of q(A) by at most M. The difference p(A) -
    q(A) is largest if the log odds of p(A) and q(A) are M/2 and -M/2. Then p(A) - q(A) is tanh(M/4).
    """

    title = "If mixed second differences of logits are at most M, attention scales value ranges by at most tanh(M/4)"
    source = Source("birkhoff1957", "Main result", note="for softmax matrices, in total variation")
    stated = Kind.OWN
    population = AllAttentionLogits()
    relation = AtMost()
    control = Control("tanh(M/5)", lambda spread, problem: _largest_spread(problem, 5.0))
    controls = "how much attention without skip connections mixes tokens"
    unexplained = "skip connections and feed-forward maps, which undo the contraction"

    def predict(self, problem: AttentionLogits) -> Array:
        return _largest_spread(problem, 4.0)

    def measure(self, problem: AttentionLogits, key: Key[Array, ""]) -> Array:
        return jnp.ptp(jax.nn.softmax(problem.logits, axis=1) @ problem.values)

    def condition(self, problem: AttentionLogits) -> Array:
        """The condition number: two outputs of the size of the values may nearly agree, so their difference cancels."""
        size = jnp.max(jnp.abs(problem.values)) / jnp.maximum(_largest_spread(problem, 4.0), 1e-300)
        return (len(problem.values) + jnp.max(jnp.abs(problem.logits))) * (1 + size)

    def trivial(self, problem: AttentionLogits) -> Array:
        """The outputs are averages, so they differ by at most the range of the values."""
        return jnp.ptp(problem.values)


def _largest_spread(problem: AttentionLogits, four: float) -> Array:
    return jnp.tanh(mixed_difference(problem.logits) / four) * jnp.ptp(problem.values)


class TokensNearTheirMean(eqx.Module):
    """A mean token m, the deviations e_i of the tokens from it, and the matrices of an attention layer."""

    mean: Float[Array, " d"]
    residual: Float[Array, "n d"]
    product: Float[Array, "d d"]
    value: Float[Array, "d d"]


class RankCollapseIsCubic(Claim[TokensNearTheirMean]):
    """Let the tokens be x_i = m + s e_i, where the vectors m and e_i are fixed and the e_i have mean 0. Apply a layer
    of softmax attention without a skip connection and without a feed-forward map. As s falls, the distance of the new
    tokens from their mean is of the order s³.

    So in a stack of such layers, the spread of nearly equal tokens falls doubly exponentially with the depth. The
    trials measure the Frobenius norm of the tokens minus their mean.

    Derivation: let the logits be L_ij = <W x_i, x_j> with a matrix W. The mixed second differences of these logits are
    (L_ij - L_ik) - (L_lj - L_lk) = s² <W (e_i - e_l), e_j - e_k>, so the largest of them, M, is of the order s². By the
    claim `AttentionContracts`, attention multiplies the spread of the values by at most tanh(M/4), which is of the
    order s².
    """

    title = "One attention layer without skip connections cubes the spread of nearly equal tokens"
    source = Source("dong2021", "Main result", note="its bound has the cubic rate; the rate is attained")
    stated = Kind.OWN
    population = Drawn(
        TokensNearTheirMean,
        mean=normal("d"),
        residual=normal("n", "d"),
        product=normal("d", "d", times=0.35),
        value=normal("d", "d", times=0.35),
        n=rows(16, 4, 64, corners=(8, 32)),
        d=dimension(8, 2, 32, corners=(4, 16)),
    )
    relation = Rate("s", (0.0125, 0.025, 0.05, 0.1), margin=0.1, resolution=0.1)
    control = Control("like s^2.5", lambda exponent, problem: exponent - 0.5)
    controls = "the loss of rank with the depth"
    unexplained = "the constant, and layers with a skip connection, for which the spread stays of the order s"
    trials = 64
    predict = 3.0

    def measure_at(self, problem: TokensNearTheirMean, key: Key[Array, ""], rung: float) -> Array:
        spread = problem.residual - problem.residual.mean(axis=0)
        tokens = problem.mean + rung * spread
        logits = tokens @ problem.product @ tokens.T / jnp.sqrt(len(problem.mean))
        moved = jax.nn.softmax(logits, axis=1) @ tokens @ problem.value
        return jnp.linalg.norm(moved - moved.mean(axis=0))


class TwoLayers(eqx.Module):
    """The matrices of a transformer of two layers: query-key product, values and feed-forward map of each layer."""

    product: Float[Array, "2 d d"]
    value: Float[Array, "2 d d"]
    inner: Float[Array, "2 d d"]
    outer: Float[Array, "2 d d"]


def two_layers(net: TwoLayers, tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Return the outputs of two layers of unmasked attention and a feed-forward map, with skip connections."""
    d = tokens.shape[1]
    for product, value, inner, outer in zip(net.product, net.value, net.inner, net.outer, strict=True):
        logits = tokens @ product @ tokens.T / jnp.sqrt(d)
        tokens = tokens + jax.nn.softmax(logits, axis=1) @ tokens @ value
        tokens = tokens + jnp.tanh(tokens @ inner) @ outer
    return tokens


def _logits_small(problem: TwoLayers) -> Hypothesis:
    """Return the condition that a typical first-layer logit is below half of log n, at the smallest tested n.

    Tokens have the entries +-1.
    """
    size = jnp.sqrt(jnp.mean(problem.product[0] ** 2) * problem.product.shape[-1])
    return Hypothesis("typical logit", size, "<", jnp.log(32.0) / 2, "otherwise few tokens have most of the weight")


class OneTokenMattersLittle(Claim[TwoLayers]):
    """Let a transformer have bounded tokens, two layers of unmasked attention with small logits, skip connections and
    feed-forward maps with tanh. Replace one of its n input tokens. Divide the change of the output at another position
    by the change of the output at the position of the replaced token. This ratio falls like

        1/n

    in the length n, if the weights are fixed and each change is a root mean square over random tokens. So for functions
    whose value may change with one token, such as parities, the margin of the transformer falls with the length.

    Derivation: all attention weights are of the order 1/n, because the logits are bounded. So the first layer changes
    every other position by the order 1/n. In the second layer, each attention weight is again of the order 1/n. An
    output sums, with these weights, the change of the replaced token and n changes of the order 1/n. This sum is of the
    order 1/n.
    """

    title = "Replacing one of n tokens changes the other outputs of a transformer by the order 1/n"
    source = Source("hahn2020", "Main result", note="the order for typical tokens, by simulation")
    stated = Kind.OWN
    population = Drawn(
        TwoLayers,
        _logits_small,
        product=normal(2, "d", "d", times=0.1),
        value=normal(2, "d", "d", times=0.35),
        inner=normal(2, "d", "d", times=0.35),
        outer=normal(2, "d", "d", times=0.35),
        d=dimension(8, 4, 16, corners=(6, 12)),
    )
    relation = Rate("n", (32.0, 64.0, 128.0, 256.0), margin=0.1, resolution=0.1)
    control = Control("like n^-1/2", lambda exponent, problem: exponent + 0.5)
    controls = "how much one token can change what others read"
    unexplained = "logits that grow with the length, with which attention reads single tokens"
    trials = 24
    predict = -1.0

    def measure_at(self, problem: TwoLayers, key: Key[Array, ""], rung: float) -> Array:
        def squares(own: Key[Array, ""]) -> Array:
            signs = jax.random.rademacher(own, (int(rung) + 1, problem.product.shape[-1]), float)
            tokens, other = signs[1:], signs[1:].at[0].set(signs[0])
            return jnp.sum((two_layers(problem, tokens) - two_layers(problem, other)) ** 2, axis=1)[:2]

        own, read = jnp.mean(jax.lax.map(squares, jax.random.split(key, _DRAWS)), axis=0)
        return jnp.sqrt(read / own)
