"""Attention as a softmax network: identities that transfer results from softmax networks to attention.

This theory describes one head of softmax attention whose logits are not divided by sqrt(d). A softmax network is the
function F(x) = m A softmax(W' x), with m hidden units, hidden weights W and output weights A. The output of attention
at a token is, up to a factor, the output of the softmax network whose hidden weights are the keys and whose output
weights are the values. All statements here are identities, for any matrices. They do not explain how training changes
the weights of queries, keys and values together.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.sampled import draws
from lemmata.networks import SoftmaxNetwork

ABOUT = {
    "tool": "linear algebra",
    "architecture": "attention",
    "object": "construction",
    "AttentionGradient": {"object": "training"},
}


class AttentionHead(eqx.Module):
    """One head of attention over a sequence, with a target for its outputs.

    Args:
        tokens: the tokens X, one column per token.
        query: the matrix W^Q, which maps tokens to queries.
        key: the matrix W^K, which maps tokens to keys.
        value: the matrix W^V, which maps tokens to values.
        target: the wanted outputs, one column for each token.
    """

    tokens: Float[Array, "d t"]
    query: Float[Array, "d d"]
    key: Float[Array, "d d"]
    value: Float[Array, "d d"]
    target: Float[Array, "d t"]

    @property
    def keys(self) -> Float[Array, "d t"]:
        """The keys W^K X, one column per token."""
        return self.key @ self.tokens

    @property
    def queries(self) -> Float[Array, "d t"]:
        """The queries W^Q X, one column per token."""
        return self.query @ self.tokens

    @property
    def values(self) -> Float[Array, "d t"]:
        """The values W^V X, one column per token."""
        return self.value @ self.tokens

    @property
    def shares(self) -> Float[Array, "t t"]:
        """The attention weights S; row j is the softmax over i of <W^K x_i, W^Q x_j>."""
        return jax.nn.softmax(self.queries.T @ self.keys, axis=1)

    @property
    def outputs(self) -> Float[Array, "d t"]:
        """The output of attention; column j is sum_i S_ji W^V x_i."""
        return (self.shares @ self.values.T).T

    @property
    def rounding(self) -> Float[Array, ""]:
        """The relative error of an attention weight in units of eps: 1 plus the largest error of a logit.

        The error of a logit is a sum of the sizes of products of queries and keys.
        """
        sizes = [jnp.abs(side) @ jnp.abs(self.tokens) for side in (self.query, self.key)]
        return 1 + (sizes[0].T @ sizes[1]).max()


class AttentionHeads(Population[AttentionHead]):
    """Random heads on random tokens."""

    settings = Space(
        tokens=Integer(5, 1, 64, "tokens"),
        d=Integer(3, 1, 32, "dimension"),
        scale=Real(1.0, 0.01, 3.0, "standard deviation of the weights"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionHead:
        d, length, size = setting["d"], setting["tokens"], setting["scale"] / setting["d"] ** 0.5
        tokens, target, *weights = draws(key, (d, length), (d, length), (d, d), (d, d), (d, d))
        query, key_weight, value = (size * weight for weight in weights)
        return AttentionHead(tokens, query, key_weight, value, target)

    def hypotheses(self, problem: AttentionHead) -> list[Hypothesis]:
        return [Hypothesis("the tokens are finite", jnp.abs(problem.tokens).max(), "<", jnp.inf)]


_CONTROLS = "one head of softmax attention"
_UNEXPLAINED = "training of queries, keys and values together"


def _condition_of_outputs(problem: AttentionHead) -> Array:
    """Return the error from rounding attention weights and sums of values, relative to each output."""
    sizes = jnp.abs(problem.value) @ jnp.abs(problem.tokens)
    return problem.rounding * jnp.maximum(1.0, sizes.max() / jnp.abs(problem.outputs))


class AttentionIsSoftmaxNetwork(Claim[AttentionHead]):
    """Let tokens x_1, ..., x_t be the columns of X, and let W^Q, W^K, W^V be weights of shape (d, d). Attention at
    token j is sum_i S_ji W^V x_i, where S_ji is the softmax over i of <W^K x_i, W^Q x_j>. Consider the softmax network
    F(x) = t A softmax(W' x). The hidden weights of F are the keys W = W^K X, one unit for each token, and the readouts
    are the values A = W^V X. At the query x = W^Q x_j, the output of F is t times the output of attention at token j.
    """

    title = "Attention is a softmax network with keys as hidden weights and values as readouts"
    source = Source("gu2024softmax", "(7)")
    population = AttentionHeads()
    relation = Equal()
    control = Control("F is the output of attention", lambda predicted, problem: predicted / problem.tokens.shape[1])
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: AttentionHead) -> Array:
        return problem.tokens.shape[1] * problem.outputs

    def measure(self, problem: AttentionHead, key: Key[Array, ""]) -> Array:
        """Compute F(W^Q x_j) = t A exp(W' W^Q x_j) / <exp(W' W^Q x_j), 1>, token by token."""
        hidden, readout = problem.keys, problem.values

        def network(x: Float[Array, " d"]) -> Float[Array, " d"]:
            mass = jnp.exp(hidden.T @ x)
            return hidden.shape[1] * (readout @ mass) / jnp.sum(mass)

        return jax.vmap(network, in_axes=1, out_axes=1)(problem.queries)

    def condition(self, problem: AttentionHead) -> Array:
        return _condition_of_outputs(problem)


def _shares_by_kronecker(problem: AttentionHead) -> Float[Array, "t t"]:
    length = problem.tokens.shape[1]
    kronecker = jnp.kron(problem.tokens.T, problem.tokens.T)
    logits = kronecker @ (problem.query.T @ problem.key).reshape(-1)
    return jax.nn.softmax(logits.reshape(length, length), axis=1)


def _transposed(shares: Array, problem: AttentionHead) -> Array:
    return _shares_by_kronecker(eqx.tree_at(lambda head: (head.query, head.key), problem, (problem.key, problem.query)))


class TensorTrick(Claim[AttentionHead]):
    """Let tokens x_1, ..., x_t be the columns of X, and let W^Q and W^K be weights of shape (d, d). The vector of all
    logits of attention is a matrix times the vector of the entries of M = W^Q' W^K:

        vec(X' M X) = (X' kron X') vec(M).

    Here vec stacks a matrix row by row. So the attention weights are softmaxes of a linear map of vec(M), where each
    softmax is over the block of logits of one query.
    """

    title = "The tensor trick: attention's logits are linear in vec(W^Q' W^K)"
    source = Source("gu2024softmax", "Section 7, tensor trick")
    population = AttentionHeads()
    relation = Equal()
    control = Control("M may be transposed, so that queries and keys exchange roles", _transposed)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: AttentionHead) -> Array:
        """Multiply the Kronecker product by vec(M), and take the softmax of each block of rows."""
        return _shares_by_kronecker(problem)

    def measure(self, problem: AttentionHead, key: Key[Array, ""]) -> Array:
        """Compute the attention weights from queries and keys."""
        return problem.shares

    def condition(self, problem: AttentionHead) -> Array:
        return problem.rounding


def _equal_shares(entries: Array, problem: AttentionHead) -> Array:
    return jnp.broadcast_to(problem.values.mean(axis=1)[:, None], entries.shape)


class SvmTrick(Claim[AttentionHead]):
    """Let tokens x_1, ..., x_t be the columns of X, and let W^Q, W^K, W^V be weights of shape (d, d). Entry (l, j) of
    the output of attention separates into a part from the softmax and a part from the values. Let M = W^Q' W^K, let u_j
    = X' M' x_j be the logits of token j, and let v_l be the l-th row of W^V. The entry is the scalar product <f_j, h_l>
    with

        f_j = exp(u_j) / <exp(u_j), 1>,   h_l = X' v_l.

    So each entry is a linear function of one softmax f_j, as the margin of a support vector machine is a linear
    function of features.
    """

    title = "The support-vector trick: an entry of the output of attention is a linear form of one softmax"
    source = Source("gu2024softmax", "Section 7, SVM trick")
    population = AttentionHeads()
    relation = Equal()
    control = Control("all attention weights are equal", _equal_shares)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: AttentionHead) -> Array:
        """Compute the scalar products, entry by entry."""

        def entry(x: Float[Array, " d"], v: Float[Array, " d"]) -> Array:
            mass = jnp.exp(problem.tokens.T @ (problem.key.T @ (problem.query @ x)))
            return jnp.vdot(mass / jnp.sum(mass), problem.tokens.T @ v)

        return jax.vmap(lambda v: jax.vmap(lambda x: entry(x, v))(problem.tokens.T))(problem.value)

    def measure(self, problem: AttentionHead, key: Key[Array, ""]) -> Array:
        """Compute attention by products of matrices."""
        return problem.outputs

    def condition(self, problem: AttentionHead) -> Array:
        return _condition_of_outputs(problem)


def _without_normalisation(gradient: Array, problem: AttentionHead) -> Array:
    weights = problem.shares * ((problem.outputs - problem.target).T @ problem.values)
    return problem.tokens @ weights @ problem.tokens.T


class AttentionGradient(Claim[AttentionHead]):
    """Let tokens x_1, ..., x_t be the columns of X, and let W^Q, W^K, W^V be weights of shape (d, d). Let A be the
    output of attention, of shape (d, t), and let Y be the target of A, with the entries y_lj. Let S_j be the attention
    weights of token j, and let v_l be the l-th row of W^V. Let h_l be the vector of the numbers h_li = <v_l, x_i>. Let
    1 be the vector of ones, and let M = W^Q' W^K. As in Claim 3.4 of the source, the gradient of 1/2 |A - Y|_F² with
    respect to M has the form of the gradient of a softmax network, with keys as hidden units:

        sum_jl (A_lj - y_lj) sum_i <h_li 1 - h_l, S_j> S_ji x_j x_i'.
    """

    title = "The gradient of attention follows from the gradient of a softmax network"
    source = Source("gu2024softmax", "Claim 3.4", note="with keys as units, as section 7 proposes")
    population = AttentionHeads()
    relation = Equal(block=-1)  # sums over tokens and outputs, whose terms cancel in every entry
    control = Control("h_li stands in place of <h_li 1 - h_l, S_j>", _without_normalisation)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: AttentionHead) -> Array:
        """Use a softmax network: queries are its inputs, keys its hidden weights, and values its output weights."""
        tokens, values = problem.tokens, problem.values
        network = SoftmaxNetwork(2, len(values))  # its closed form takes the width from the weights

        def one(query: Float[Array, " d"], x: Float[Array, " d"], y: Float[Array, " d"]) -> Array:
            params = {"weight": problem.keys, "sign": values / tokens.shape[1]}
            by_keys = network.gradient(params, query[None], y[None])  # query times the gradient by each unit's logit
            by_logits = query @ by_keys / (query @ query)
            return jnp.outer(x, tokens @ by_logits)

        return jax.vmap(one, in_axes=(1, 1, 1))(problem.queries, tokens, problem.target).sum(axis=0)

    def measure(self, problem: AttentionHead, key: Key[Array, ""]) -> Array:
        """Differentiate automatically with respect to M."""

        def loss(product: Float[Array, "d d"]) -> Array:
            shares = jax.nn.softmax(problem.tokens.T @ product @ problem.tokens, axis=1)
            return 0.5 * jnp.sum((problem.values @ shares.T - problem.target) ** 2)

        return jax.grad(loss)(problem.query.T @ problem.key)

    def condition(self, problem: AttentionHead) -> Array:
        """The condition number: the size of the terms of the gradient, which cancel, over the size of their sum."""
        residual = jnp.abs(problem.outputs - problem.target).sum()
        size = 2 * jnp.abs(problem.values).max() * residual * jnp.sum(problem.tokens**2)
        rounding = _condition_of_outputs(problem).min()
        return rounding * jnp.maximum(1.0, size / jnp.abs(self.predict(problem)).max())
