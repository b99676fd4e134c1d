"""Two heads that copy a continuation, and what a causal mask shows about positions.

The continuation is the token that followed an earlier occurrence of the last token. This theory bounds the attention
weight with which two heads find it: a previous-token head, and a head that compares contents. It assumes one-hot tokens
and positions. It does not explain how training finds such heads.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Hypothesis, Kind, Population, Real, Source, Space
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {"tool": "linear algebra", "architecture": "transformer in context", "object": "construction"}


class RepeatedToken(eqx.Module):
    """A sequence of a beginning token at position 0 and T tokens, of which the last also occurs once before.

    Args:
        first: the position at which the last token occurs first; all other tokens are different.
        sharpness: the inverse temperature beta of both heads, which is the logit of a match.
        length: the number T of tokens.
    """

    first: Int[Array, ""]
    sharpness: Float[Array, ""]
    length: int = eqx.field(static=True)

    @property
    def tokens(self) -> Int[Array, " positions"]:
        """The tokens of the sequence; the beginning token is 0."""
        return jnp.arange(self.length + 1).at[self.length].set(self.first)


class RepeatedTokens(Population[RepeatedToken]):
    """Sequences; in half of them, the last token first occurs two positions before the end, else anywhere before."""

    settings = Space(length=rows(48, 4, 256, corners=(24, 96)), most=Real(0.3, 0.02, 0.6, "T exp(-beta), at most"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> RepeatedToken:
        length = setting["length"]
        late_key, place_key, far_key = jax.random.split(key, 3)
        late = jax.random.bernoulli(late_key)
        first = jnp.where(late, length - 2, jax.random.randint(place_key, (), 1, length - 1))
        far = setting["most"] * 0.5 ** jax.random.uniform(far_key, maxval=2.0)
        return RepeatedToken(first, jnp.log(length / far), length)

    def hypotheses(self, problem: RepeatedToken) -> list[Hypothesis]:
        return [
            Hypothesis("the first occurrence", problem.first, ">", 0),
            Hypothesis(
                "position of the first occurrence, counted from the end", problem.length - problem.first, ">", 1
            ),
        ]


def induction_heads(tokens: Int[Array, " n"], sharpness: Float[Array, ""]) -> Float[Array, " n"]:
    """Return the weights that the last position gives to all positions in the second of two heads.

    The first head attends to the previous position and copies its token. The second head compares the last token with
    the copied contents.

    Args:
        tokens: the tokens, in order.
        sharpness: the inverse temperature beta of both heads, which is the logit of a match.
    """
    n = len(tokens)
    content, position = jax.nn.one_hot(tokens, n), jnp.eye(n)
    shift = jnp.eye(n, k=-1)  # from the position i of a query to i - 1, because the first position has no previous one
    causal = jnp.where(jnp.tri(n, dtype=bool), 0.0, -jnp.inf)
    before = jax.nn.softmax(sharpness * position @ shift @ position.T + causal, axis=1) @ content
    return jax.nn.softmax(sharpness * content[-1] @ before.T)


class TwoHeadsCopy(Claim[RepeatedToken]):
    """Let a sequence have a beginning token at position 0 and then T tokens. Let the last token occur once before, at
    position p < T - 1, and let all other tokens be different. The continuation is the token at position p + 1.

    Head 1 has a causal mask. From each position, Head 1 attends to the previous position with the logit beta and to all
    other positions with the logit 0. Head 1 copies the tokens to which it attends. Head 2 attends from the last
    position to each position. The logit of Head 2 is beta times the inner product of the last token and the content
    that Head 1 copied to the position. Let w = 1/(1 + T e^(-beta)). Head 2 gives the position p + 1 of the continuation
    a weight of at least

        1/(1 + T e^(-beta (w - 2 e^(-beta)))).

    If there is no beginning token and the repeated token stands first, this weight is at most 1/2. The reason is that
    the first position can only attend to itself and copies the repeated token, so Head 2 finds a match there too. The
    test compares two numbers with their bounds: the weight if there is a beginning token, and 1 minus the weight if
    there is none.

    Derivation: Head 1 gives the previous position at least the weight w, and any other position at most e^(-beta). So
    the content at p + 1 has an inner product of at least w with the last token. At any other position, this inner
    product is at most 2 e^(-beta), because the repeated token stands at two places. So the logit of Head 2 at p + 1
    exceeds its T other logits by at least beta (w - 2 e^(-beta)).
    """

    title = "A previous-token head and a content head copy the token that followed the earlier copy of a repeated token"
    source = Source("emergence2026", "Figure 15.8", note="with a bound on the probability")
    stated = Kind.OWN
    population = RepeatedTokens()
    relation = AtLeast()
    control = Control(
        "the previous-token head is perfect (w = 1), and the second number is at least 0.55",
        lambda bound, problem: jnp.stack([1 / (1 + problem.length * jnp.exp(-problem.sharpness)), 1.1 * bound[1]]),
    )
    controls = "the probability of copying the right continuation"
    unexplained = "tokens that occur several times, and heads that match longer patterns"

    def predict(self, problem: RepeatedToken) -> Array:
        far = jnp.exp(-problem.sharpness)
        gap = problem.sharpness * (1 / (1 + problem.length * far) - 2 * far)
        return jnp.stack([1 / (1 + problem.length * jnp.exp(-gap)), jnp.asarray(0.5)])

    def measure(self, problem: RepeatedToken, key: Key[Array, ""]) -> Array:
        found = induction_heads(problem.tokens, problem.sharpness)[problem.first + 1]
        alone = induction_heads(problem.tokens.at[-1].set(1)[1:], problem.sharpness)[1]
        return jnp.stack([found, 1 - alone])

    def condition(self, problem: RepeatedToken) -> Array:
        return problem.length + problem.sharpness

    def trivial(self, problem: RepeatedToken) -> Array:
        """Return the weight if all positions have equal weights, and 0, which bounds every weight from below."""
        return jnp.asarray([1 / (problem.length + 1), 0.0])


class PlacedToken(eqx.Module):
    """Tokens of a vocabulary, the weights of two attention layers, and a position.

    Args:
        tokens: the tokens, in order.
        embedding: the embedding of each token of the vocabulary.
        products: query-key products of the two layers.
        place: the position t whose state is computed, counted from 1.
    """

    tokens: Int[Array, " n"]
    embedding: Float[Array, "v d"]
    products: Float[Array, "2 d d"]
    place: Int[Array, ""]


class PlacedTokens(Population[PlacedToken]):
    """Random tokens and weights, with a position between a quarter and half of the length of the sequence."""

    settings = Space(n=rows(24, 8, 256, corners=(12, 48)), d=dimension(4, 2, 16), v=rows(5, 2, 32, corners=(3, 10)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PlacedToken:
        n, d, v = setting["n"], setting["d"], setting["v"]
        token_key, embed_key, product_key, place_key = jax.random.split(key, 4)
        return PlacedToken(
            jax.random.randint(token_key, (n,), 0, v).at[n - 1].set(0).at[n - 2].set(0),
            jax.random.uniform(embed_key, (v, d), minval=0.2, maxval=2.0),
            jax.random.normal(product_key, (2, d, d)) / d,
            jax.random.randint(place_key, (), n // 4, n // 2 + 1),
        )

    def hypotheses(self, problem: PlacedToken) -> list[Hypothesis]:
        n = len(problem.tokens)
        return [Hypothesis("the position", problem.place, "<=", n, "a position of the sequence")]


class PositionFromTheMask(Claim[PlacedToken]):
    """Consider attention without positional encodings. (a) In one causal head, let all logits be 0. Let the value be 1
    at the beginning token and 0 at all other tokens. At position t, the output of this head is 1/t, so the mask alone
    shows the position. (b) Without a mask, the state of a token after any number of layers depends only on two things:
    the token itself, and the number of times that each token of the vocabulary occurs. So the order is lost. Let token
    v occur n_v times, let h_v be its state, and let W be the query-key matrix of a layer. The layer maps the state h_u
    of the token u to sum_v n_v e^(<h_u, W h_v>) h_v / sum_v n_v e^(<h_u, W h_v>). For (b), the test computes the first
    coordinate of the last token's state after two such layers.

    Derivation: the output in (a) is a mean of t values, of which one is 1 and all others are 0. For (b), suppose that
    equal tokens have equal states after some layers. Then the sums in the next layer depend on the states and the
    counts n_v alone, so equal tokens have equal states after this layer, too.
    """

    title = "A causal mask reveals positions, but without a mask attention sees only counts of tokens"
    source = Source("emergence2026", "Figure 15.5", note="the information that the mask adds")
    stated = Kind.OWN
    population = PlacedTokens()
    relation = Equal()
    control = Control(
        "(a) the value is 1/n, as without the mask; (b) each token of the vocabulary counts once",
        lambda known, problem: jnp.stack([jnp.asarray(1 / len(problem.tokens)), _from_counts(problem, jnp.sign)]),
    )
    controls = "what a transformer knows about positions"
    unexplained = "how training uses the mask"

    def predict(self, problem: PlacedToken) -> Array:
        return jnp.stack([1 / problem.place, _from_counts(problem, lambda count: count)])

    def measure(self, problem: PlacedToken, key: Key[Array, ""]) -> Array:
        n = len(problem.tokens)
        causal = jax.nn.softmax(jnp.where(jnp.tri(n, dtype=bool), 0.0, -jnp.inf), axis=1)
        states = problem.embedding[problem.tokens]
        for product in problem.products:
            states = jax.nn.softmax(states @ product @ states.T, axis=1) @ states
        return jnp.stack([(causal @ jnp.eye(n)[0])[problem.place - 1], states[-1, 0]])

    def condition(self, problem: PlacedToken) -> Array:
        """The condition number: logits are rounded sums of up to d² products, and layer 2 uses layer 1's states."""
        size = jnp.max(jnp.abs(problem.products)) * jnp.max(problem.embedding) ** 2 * problem.embedding.shape[1] ** 2
        return len(problem.tokens) + (1 + size) ** 2


def _from_counts(problem: PlacedToken, weigh: Callable[[Array], Array]) -> Array:
    counts = weigh(jnp.sum(problem.tokens[:, None] == jnp.arange(len(problem.embedding)), axis=0) * 1.0)
    states = problem.embedding
    for product in problem.products:
        weights = counts * jnp.exp(states @ product @ states.T)
        states = weights @ states / jnp.sum(weights, axis=1, keepdims=True)
    return states[problem.tokens[-1], 0]
