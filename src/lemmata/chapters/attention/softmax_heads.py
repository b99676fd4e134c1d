"""Attention as a softmax network: the reformulations that carry statements about one to the other.

This theory controls one head of softmax attention, with no scaling of the logits: a token's output is that of a softmax
network whose hidden weights are the keys and whose readouts are the values. All statements here are identities, for any
matrices; they leave unexplained what training all three weight matrices at once does.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space
from lemmata.networks import SoftmaxNetwork
from lemmata.problems._sampled import draws


class AttentionHead(eqx.Module):
    """One head of attention over a sequence, with a target for its outputs.

    Args:
        tokens: X, a column a token.
        query: W^Q.
        key: W^K.
        value: W^V.
        target: what the outputs should be, a column a token.
    """

    tokens: Float[Array, "d t"]
    query: Float[Array, "d d"]
    key: Float[Array, "d d"]
    value: Float[Array, "d d"]
    target: Float[Array, "d t"]


def attention(head: AttentionHead) -> Float[Array, "d t"]:
    """Column j is sum_i S_ji W^V x_i with S_j the softmax over i of <W^K x_i, W^Q x_j>.

    Args:
        head: tokens and weights.
    """
    logits = (head.query @ head.tokens).T @ (head.key @ head.tokens)
    return (jax.nn.softmax(logits, axis=1) @ (head.value @ head.tokens).T).T


class AbstractAttentionClaim(Claim[AttentionHead]):
    """What the claims of this section share: random heads on random tokens."""

    controls = "one head of softmax attention"
    unexplained = "training of queries, keys and values together"
    label = "identity"
    relation = Equal()
    problem = AttentionHead
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Tokens and dimension."""
        return Space(
            tokens=Integer(5, 1, 64, "tokens"),
            d=Integer(3, 1, 32, "dimension"),
            scale=Real(1.0, 0.01, 3.0, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionHead:
        """Normal tokens, weights and targets."""
        d, length, size = setting["d"], setting["tokens"], setting["scale"] / setting["d"] ** 0.5
        tokens, target, *weights = draws(key, (d, length), (d, length), (d, d), (d, d), (d, d))
        query, key_weight, value = (size * weight for weight in weights)
        return AttentionHead(tokens, query, key_weight, value, target)

    def hypotheses(self, problem: AttentionHead) -> list[Hypothesis]:
        """Finite tokens are all that is needed."""
        return [Hypothesis("the tokens are finite", jnp.abs(problem.tokens).max(), "<", jnp.inf)]

    def condition(self, problem: AttentionHead) -> Array:
        """A logit l is a sum of d² products and carries an error of eps times the sum of their sizes."""
        sizes = [jnp.abs(side) @ jnp.abs(problem.tokens) for side in (problem.query, problem.key, problem.value)]
        out = jnp.abs(attention(problem)).max()
        return (1 + (sizes[0].T @ sizes[1]).max()) * jnp.maximum(1.0, sizes[2].max() / out)


class AttentionIsSoftmaxNetwork(AbstractAttentionClaim):
    """With the keys W^K X as hidden weights (one unit a token, m tokens), the query W^Q x_j as input and the rows of
    the values W^V X as readouts, the softmax network F gives m times the output of attention at token j.
    """

    title = "Attention is a softmax network"
    source = Source("gu2024softmax", "(7)")

    def predict(self, problem: AttentionHead) -> Array:
        """m times attention."""
        return problem.tokens.shape[1] * attention(problem)

    def measure(self, problem: AttentionHead, key: Key[Array, ""]) -> Array:
        """Equation (1) with exponentials, token by token."""
        hidden, readout = problem.key @ problem.tokens, problem.value @ problem.tokens

        def network(x: Float[Array, " d"]) -> Float[Array, " d"]:
            mass = jnp.exp(hidden.T @ x)
            return hidden.shape[1] * (readout @ mass) / jnp.sum(mass)

        return jax.vmap(network, in_axes=1, out_axes=1)(problem.query @ problem.tokens)

    def control(self) -> Control:
        """A forgotten factor."""
        return Control("F is the output of attention", lambda predicted, problem: predicted / problem.tokens.shape[1])


class TensorTrick(AbstractAttentionClaim):
    """All logits are one matrix times the vector of one matrix M = W^Q' W^K:

        vec(X' M X) = (X' kron X') vec(M)

    with vec by rows. So attention's shares are softmaxes, over blocks of one row of queries, of a linear map of vec(M).
    """

    title = "The tensor trick: attention's logits are linear in vec(W^Q' W^K)"
    source = Source("gu2024softmax", "Section 7, tensor trick")

    def predict(self, problem: AttentionHead) -> Array:
        """Softmax of blocks of the Kronecker product's rows."""
        return self._shares(jnp.kron(problem.tokens.T, problem.tokens.T), problem)

    def measure(self, problem: AttentionHead, key: Key[Array, ""]) -> Array:
        """The shares of attention, by queries and keys."""
        logits = (problem.query @ problem.tokens).T @ (problem.key @ problem.tokens)
        return jax.nn.softmax(logits, axis=1)

    def control(self) -> Control:
        """The order of vec by columns."""
        return Control(
            "M may be transposed: queries and keys have the same role",
            lambda shares, problem: self._shares(
                jnp.kron(problem.tokens.T, problem.tokens.T),
                eqx.tree_at(lambda head: (head.query, head.key), problem, (problem.key, problem.query)),
            ),
        )

    @staticmethod
    def _shares(kronecker: Float[Array, "tt dd"], problem: AttentionHead) -> Float[Array, "t t"]:
        length = problem.tokens.shape[1]
        logits = kronecker @ (problem.query.T @ problem.key).reshape(-1)
        return jax.nn.softmax(logits.reshape(length, length), axis=1)


class SvmTrick(AbstractAttentionClaim):
    """Entry (l, j) of attention's output separates into the softmax and the value: it is <f_j, h_l> with

        f_j = exp(u_j) / <exp(u_j), 1>,   u_j = X' M' x_j,   h_l = X' v_l,   v_l the l-th row of W^V,

    so that each entry is a linear form of one softmax, as a margin is a linear form of features.
    """

    title = "The support-vector trick: an entry of attention is an inner product with one softmax"
    source = Source("gu2024softmax", "Section 7, SVM trick")

    def predict(self, problem: AttentionHead) -> Array:
        """Inner products, entry by entry."""

        def entry(x: Float[Array, " d"], v: Float[Array, " d"]) -> Array:
            mass = jnp.exp(problem.tokens.T @ (problem.key.T @ (problem.query @ x)))
            return jnp.vdot(mass / jnp.sum(mass), problem.tokens.T @ v)

        return jax.vmap(lambda v: jax.vmap(lambda x: entry(x, v))(problem.tokens.T))(problem.value)

    def measure(self, problem: AttentionHead, key: Key[Array, ""]) -> Array:
        """Attention by matrices."""
        return attention(problem)

    def control(self) -> Control:
        """What small weights would give."""

        def uniform(entries: Array, problem: AttentionHead) -> Array:
            return jnp.broadcast_to((problem.value @ problem.tokens).mean(axis=1)[:, None], entries.shape)

        return Control("all shares are equal", uniform)


class AttentionGradient(AbstractAttentionClaim):
    """The gradient of 1/2 |attention - Y|_F² in M = W^Q' W^K is that of Claim 3.4, with keys for units:

        sum_jl (A_lj - y_lj) sum_i <h_li 1 - h_l, S_j> S_ji x_j x_i'

    with h_li = <v_l, x_i>.
    """

    title = "The gradient of attention, from that of a softmax network"
    source = Source("gu2024softmax", "Claim 3.4", note="with keys for units, as section 7 proposes")

    def predict(self, problem: AttentionHead) -> Array:
        """Each query is an input of a softmax network with tokens as units and values as readouts."""
        tokens, values = problem.tokens, problem.value @ problem.tokens
        network = SoftmaxNetwork(2, len(values))  # its closed form takes the width from the weights

        def one(query: Float[Array, " d"], x: Float[Array, " d"], y: Float[Array, " d"]) -> Array:
            params = {"weight": problem.key @ tokens, "sign": values / tokens.shape[1]}
            by_keys = network.gradient(params, query[None], y[None])  # query times the gradient by each unit's logit
            by_logits = query @ by_keys / (query @ query)
            return jnp.outer(x, tokens @ by_logits)

        return jax.vmap(one, in_axes=(1, 1, 1))(problem.query @ tokens, tokens, problem.target).sum(axis=0)

    def measure(self, problem: AttentionHead, key: Key[Array, ""]) -> Array:
        """Automatic differentiation by M."""

        def loss(product: Float[Array, "d d"]) -> Array:
            shares = jax.nn.softmax(problem.tokens.T @ product @ problem.tokens, axis=1)
            return 0.5 * jnp.sum(((problem.value @ problem.tokens) @ shares.T - problem.target) ** 2)

        return jax.grad(loss)(problem.query.T @ problem.key)

    def condition(self, problem: AttentionHead) -> Array:
        """Terms cancel: their size against the sum's."""
        tokens, values = problem.tokens, problem.value @ problem.tokens
        residual = jnp.abs(attention(problem) - problem.target).sum()
        size = 2 * jnp.abs(values).max() * residual * jnp.sum(tokens**2)
        return super().condition(problem) * jnp.maximum(1.0, size / jnp.abs(self.predict(problem)).max())

    def control(self) -> Control:
        """A transposed gradient."""
        return Control("rows belong to keys and columns to queries", lambda gradient, problem: gradient.T)
