"""The effective dimension of tokens through layers of attention. Depth lowers this dimension.

Let C be the second moment matrix of the tokens, scaled to trace 1. This theory describes the effective dimension
d_eff(r) = tr C (C + r)^-1 at r = 1/100, before and after layers of attention with random weights. It does not explain
trained weights. It also does not explain layers between attention layers that act on each token alone, which can raise
the dimension again.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Kind, Order, Population, Source, Space
from lemmata.engine.problems.sampled import draws

from .effective_dimension import degrees_of_freedom

ABOUT = {"tool": "random matrices", "architecture": "attention", "object": "spectrum"}


class AttentionStack(eqx.Module):
    """Layers X <- s X + softmax(Y W_q' W_k Y' / sqrt(p)) Y W_v', where Y is X with its rows scaled to length sqrt(p).

    Args:
        tokens: X before the first layer, one token in each row.
        query: W_q of each layer.
        key: W_k of each layer.
        value: W_v of each layer.
        skip: the factor s of the skip connection.
    """

    tokens: Float[Array, "T p"]
    query: Float[Array, "L p p"]
    key: Float[Array, "L p p"]
    value: Float[Array, "L p p"]
    skip: float = eqx.field(static=True)

    @property
    def layers(self) -> Float[Array, "M T p"]:
        """The tokens before the first layer and after each layer, scaled to length sqrt(p)."""

        def layer(x: Array, weights: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            query, key, value = weights
            y = _at_length(x)
            logits = (y @ query.T) @ (y @ key.T).T / x.shape[1] ** 0.5
            x = self.skip * x + jax.nn.softmax(logits, axis=1) @ y @ value.T
            return x, _at_length(x)

        after = jax.lax.scan(layer, self.tokens, (self.query, self.key, self.value))[1]
        return jnp.concatenate([_at_length(self.tokens)[None], after])

    @property
    def values_alone(self) -> Float[Array, "M T p"]:
        """The tokens of the same stack if every token attends only to itself, X <- s X + Y W_v'."""

        def layer(x: Array, value: Array) -> tuple[Array, Array]:
            x = self.skip * x + _at_length(x) @ value.T
            return x, _at_length(x)

        after = jax.lax.scan(layer, self.tokens, self.value)[1]
        return jnp.concatenate([_at_length(self.tokens)[None], after])


def _at_length(x: Float[Array, "T p"]) -> Float[Array, "T p"]:
    return x / jnp.sqrt(jnp.mean(x**2, axis=1, keepdims=True))


class NormalStacks(Population[AttentionStack]):
    """Normal tokens, and normal weights of variance 1/p, where p is the dimension of the tokens.

    Args:
        skip: the factor s of the skip connection, which adds s times a layer's input to its output.
    """

    skip: float = 0.0
    settings = Space(
        tokens=Integer(64, 16, 512, "tokens", corners=(48, 96)), p=Integer(32, 8, 256, "width", corners=(24, 48))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionStack:
        p = setting["p"]
        tokens, query, key_weight, value = draws(key, (setting["tokens"], p), (4, p, p), (4, p, p), (4, p, p))
        return AttentionStack(tokens, query / p**0.5, key_weight / p**0.5, value / p**0.5, self.skip)

    def hypotheses(self, problem: AttentionStack) -> list[Hypothesis]:
        return [Hypothesis("the tokens are finite", jnp.abs(problem.tokens).max(), "<", jnp.inf)]


_DEPTHS = (0.0, 1.0, 2.0, 3.0)
_CONTROLS = "the effective dimension of tokens after layers of attention"


def token_dimensions(layers: Float[Array, "M T p"], ridge: float = 0.01) -> Float[Array, " M"]:
    """Return the effective dimension of each layer's tokens, from their second moments X' X scaled to trace 1.

    Args:
        layers: the tokens of each layer, one in each row.
        ridge: the ridge r of the effective dimension.
    """
    moments = jnp.einsum("mtp,mtq->mpq", layers, layers)
    return jax.vmap(lambda matrix: degrees_of_freedom(matrix / jnp.trace(matrix), ridge))(moments)


def beside_values(problem: AttentionStack) -> Float[Array, " M"]:
    """Return the logarithm of the ratio of effective dimensions with and without attention to other tokens, by depth.

    The depths are 0 and the first layers that the claims compare.

    Args:
        problem: the stack of layers.
    """
    count = len(_DEPTHS)
    return jnp.log(token_dimensions(problem.layers[:count]) / token_dimensions(problem.values_alone[:count]))


class DepthLowersDimension(Claim[AttentionStack]):
    """Consider layers of softmax attention without skip connections, with normal weights, on normal tokens of p
    coordinates scaled to length sqrt(p). Let C be the second moment matrix of the tokens, scaled to trace 1. The
    effective dimension of the tokens is d_eff(r) = tr C (C + r)^-1 at r = 1/100. For comparison, take the same layers,
    but let every token attend only to itself. Divide the effective dimension with attention by the effective dimension
    in this comparison. The mean logarithm of this ratio falls with each of the first three layers, so attention to
    other tokens lowers the effective dimension faster. The reason is that each layer averages tokens, so the tokens
    become alike.
    """

    title = "Attention lowers the effective dimension of tokens more than layers where tokens attend only to themselves"
    source = Source("foundation2025", "Section 3.2, effective dimension", note="for the tokens of deeper layers")
    stated = Kind.OWN
    population = NormalStacks()
    relation = Order("depth", _DEPTHS)
    control = Control("the ratio rises with depth", lambda sign, problem: -sign)
    controls, unexplained = _CONTROLS, "trained weights, and maps of single tokens between the layers"
    reading = (
        "the comparison with layers without attention was added after a first look: products of random value "
        "matrices lower the dimension, too"
    )
    trials = 64
    predict = -1.0

    def measure(self, problem: AttentionStack, key: Key[Array, ""]) -> Array:
        return beside_values(problem)


class SkipsSlowTheLossOfDimension(Claim[AttentionStack]):
    """Consider layers of attention with skip connections, X <- X + attention, with normal weights and normal tokens.
    Let C be the second moment matrix of the tokens, scaled to trace 1. The effective dimension of the tokens is
    d_eff(r) = tr C (C + r)^-1 at r = 1/100. For comparison, take the same layers, but let every token attend only to
    itself. Over the first three layers, the effective dimension falls more slowly with attention to other tokens than
    in this comparison. That is, divide the effective dimension with attention by the effective dimension in the
    comparison. The logarithm of this ratio, averaged over random weights and tokens, rises with each layer. The reason
    is that attention adds nearly the same small vector to every token.
    """

    title = "With skip connections, attention to other tokens slows the loss of effective dimension over layers"
    source = Source(
        "foundation2025", "Section 3.2, effective dimension", note="for deeper layers, with skip connections"
    )
    stated = Kind.OWN
    population = NormalStacks(skip=1.0)
    relation = Order("depth", _DEPTHS)
    control = Control("the ratio falls with depth", lambda sign, problem: -sign)
    controls, unexplained = _CONTROLS, "how far the dimension falls: three layers remove less than a tenth of it here"
    reading = (
        "the first version tested only that the dimension falls, but without attention it falls, too, and faster; "
        "a comparison with layers without attention was therefore added"
    )
    trials = 64
    predict = 1.0

    def measure(self, problem: AttentionStack, key: Key[Array, ""]) -> Array:
        return beside_values(problem)
