"""Greedy choices: how close choosing one row at a time comes to the best set of rows, and kernels for this choice.

This theory is about the coding rate of rows that are chosen one by one. It also treats two kernels for the coding rate:
the posterior kernel given labelled rows, and the tangent kernel of a small network that replaces a large network. It
leaves open how much the labels of the chosen rows improve a model.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space
from lemmata.subjects.selection import greedy_log_determinant, posterior_gram
from lemmata.subjects.selection._coded_features import CodedFeatures, FeatureClouds

ABOUT = {
    "tool": "linear algebra",
    "architecture": "kernel method",
    "object": "estimator",
    "LayersGiveTheTangentKernel": {"architecture": "dense network"},
}


class ProxyNetwork(eqx.Module):
    """Points x and a network f(x) = W_3 s(W_2 s(W_1 x + b_1) + b_2) + b_3, where s(u) = u / (1 + e^-u)."""

    x: Float[Array, "n d"]
    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]

    def __call__(self, weights: tuple, biases: tuple, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """Return the outputs with other parameters of the same shapes."""
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            x = jax.nn.silu(w @ x + b)
        return weights[-1] @ x + biases[-1]


class ProxyNetworks(Population[ProxyNetwork]):
    """Networks with weights of variance 1/fan-in and biases of variance 1/100, and normal points."""

    free = ("x",)
    settings = Space(
        n=Integer(5, 2, 30, "points", corners=(4, 6)),
        d=Integer(4, 1, 20, "dimension", corners=(3, 5)),
        width=Integer(6, 2, 40, "units of each hidden layer", corners=(5, 8)),
        outputs=Integer(3, 1, 10, "outputs", corners=(2, 4)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ProxyNetwork:
        sizes = (setting["d"], setting["width"], setting["width"], setting["outputs"])
        keys = jax.random.split(key, 7)
        pairs = list(zip(sizes[1:], sizes, strict=False))
        weights = tuple(jax.random.normal(keys[i], pair) / pair[1] ** 0.5 for i, pair in enumerate(pairs))
        biases = tuple(0.1 * jax.random.normal(keys[3 + i], pair[:1]) for i, pair in enumerate(pairs))
        return ProxyNetwork(jax.random.normal(keys[6], (setting["n"], setting["d"])), weights, biases)

    def hypotheses(self, problem: ProxyNetwork) -> list[Hypothesis]:
        return [Hypothesis("the network's layers", len(problem.weights), ">=", 2, "the formula is a sum over layers")]


_KEY = "luo2023kecor"


def best_of_subsets(gram: Float[Array, "n n"], noise: Float[Array, ""], count: int) -> Float[Array, ""]:
    """Return the largest 1/2 log det(I + K_S / noise) over all sets S of `count` rows."""
    sets = jnp.asarray(np.array(list(itertools.combinations(range(len(gram)), count))))
    parts = gram[sets[:, :, None], sets[:, None, :]] / noise + jnp.eye(count)
    return 0.5 * jnp.max(jnp.linalg.slogdet(parts)[1])


class GreedyIsNearBest(Claim[CodedFeatures]):
    """Let K be a kernel matrix of rows. Choose rows one by one. In each step, add the row that most increases the
    coding rate 1/2 log det(I + K_S / noise). Here S is the set of chosen rows, and K_S is the block of K at S. The
    coding rate of the chosen rows is at least 1 - 1/e times the largest coding rate of any set with the same number of
    rows. The reason is that the coding rate is a monotone submodular function of the set.
    """

    title = "Rows chosen greedily reach at least 1 - 1/e of the best coding rate"
    source = Source(_KEY, "Abstract, greedy", note="with the factor of monotone submodular functions")
    population = FeatureClouds(trap=True)
    relation = AtLeast()
    control = Control(
        "the greedy choice reaches the best coding rate", lambda reached, problem: reached / (1 - np.exp(-1))
    )
    controls = "the coding rate of rows that are chosen one by one"
    unexplained = "why the greedy choice usually comes much closer to the best rate"

    def predict(self, problem: CodedFeatures) -> Array:
        return (1 - np.exp(-1)) * best_of_subsets(problem.gram, problem.noise, problem.count)

    def measure(self, problem: CodedFeatures, key: Key[Array, ""]) -> Array:
        """Compute the coding rate of the greedy choice from its pivots."""
        return _reached(problem)

    def trivial(self, problem: CodedFeatures) -> Array:
        """Return the coding rate of the first row alone."""
        return 0.5 * jnp.log1p(jnp.max(jnp.diagonal(problem.gram)) / problem.noise)

    def condition(self, problem: CodedFeatures) -> Array:
        return problem.spread


def _reached(problem: CodedFeatures) -> Array:
    pivots = greedy_log_determinant(problem.gram, problem.count, problem.noise)[1]
    return 0.5 * jnp.sum(jnp.log(pivots / problem.noise))


class GreedyByPivots(Claim[CodedFeatures]):
    """Let K be a kernel matrix of rows, and D a diagonal matrix of noise. Choose rows one by one. In each step, add the
    row that most increases log det(K_S + D_S). Here S is the set of chosen rows, and K_S and D_S are the blocks of K
    and D at S. A Cholesky factorisation of K + D that always takes the largest pivot next chooses the same rows in the
    same order. Each chosen row increases log det(K_S + D_S) by the logarithm of its pivot. For row i, this increase is

        log(k_ii + d_i - K_iS (K_SS + D_S)^-1 K_Si),   where S are the rows chosen before row i.
    """

    title = "Greedy choice of rows by a log-determinant takes the pivots of a Cholesky factorisation in order"
    source = Source(_KEY, "Abstract, greedy", note="as its code computes it")
    population = FeatureClouds()
    relation = Equal(block=-1)
    control = Control("rows do not have information in common", lambda gains, problem: _largest(problem, len(gains)))
    controls = "what each chosen row adds"
    unexplained = "how much a row improves a model"

    def predict(self, problem: CodedFeatures) -> Array:
        return jnp.log(greedy_log_determinant(problem.gram, problem.count, problem.unsure)[1])

    def measure(self, problem: CodedFeatures, key: Key[Array, ""]) -> Array:
        """In each step, choose by the determinants of all sets that have one more row."""
        noise, taken, gains, before = problem.unsure, jnp.zeros(len(problem.gram), bool), [], 0.0

        def with_row(row: Array, taken: Array) -> Array:
            inside = taken.at[row].set(True)
            own = jnp.diag(jnp.where(inside, noise, 1.0))
            return jnp.linalg.slogdet(jnp.where(inside[:, None] & inside, problem.gram, 0.0) + own)[1]

        for _ in range(problem.count):
            each = jax.vmap(with_row, in_axes=(0, None))(jnp.arange(len(problem.gram)), taken)
            row = jnp.argmax(jnp.where(taken, -jnp.inf, each))
            gains.append(each[row] - before)
            taken, before = taken.at[row].set(True), each[row]
        return jnp.stack(gains)

    def condition(self, problem: CodedFeatures) -> Array:
        return problem.spread


def _largest(problem: CodedFeatures, count: int) -> Array:
    return jnp.log(jnp.sort(jnp.diagonal(problem.gram) + problem.unsure)[::-1][:count])


class PosteriorKernel(Claim[CodedFeatures]):
    """Let K = Z Z' be the kernel matrix of features Z. Let the rows L have labels with noise of variance s. Let K_L be
    the columns of K at the rows L, and K_LL the block of K at these rows. Further rows are chosen with the kernel

        K - K_L (K_LL + s I)^-1 K_L'.

    Let the labels come from the function z -> z'w with w ~ N(0, I). Given the labels, this kernel is the covariance
    matrix of the values of this function at all rows z of Z. In terms of the features, the kernel is Z (I + Z_L' Z_L /
    s)^-1 Z', where Z_L are the rows of Z at L.
    """

    title = "The posterior kernel for choosing rows is a conditional covariance given the labelled rows"
    source = Source(_KEY, "Abstract, uniqueness", note="as its code computes it")
    population = FeatureClouds()
    relation = Equal(block=-1)
    control = Control("the kernel has twice the noise variance", lambda found, problem: _posterior(problem, 2.0))
    controls = "what labelled rows leave unknown"
    unexplained = "labels that are classes"
    reading = "'uniqueness' is read as the information that labelled rows do not give already"

    def predict(self, problem: CodedFeatures) -> Array:
        return _posterior(problem, 1.0)

    def measure(self, problem: CodedFeatures, key: Key[Array, ""]) -> Array:
        """Return the conditional covariance of z'w at all rows, from the posterior of the weights w."""
        z, known = problem.features, problem.features[: problem.labelled]
        return z @ jnp.linalg.solve(jnp.eye(z.shape[1]) + known.T @ known / problem.noise, z.T)

    def condition(self, problem: CodedFeatures) -> Array:
        return problem.spread


def _posterior(problem: CodedFeatures, factor: float) -> Array:
    return posterior_gram(problem.gram, jnp.arange(problem.labelled), factor * problem.noise)


class LayersGiveTheTangentKernel(Claim[ProxyNetwork]):
    """Let a dense network have k outputs f_a. The tangent kernel of this network is the mean, over the outputs, of
    <df_a(x)/dparams, df_a(x')/dparams>. This kernel is the sum over all layers of

        (<u, u'> + 1) * sum over a of <g_a, g_a'> / k.

    Here u and u' are the inputs of the layer for x and x', and the summand 1 comes from the bias of the layer. The
    vectors g_a and g_a' are the derivatives of output a at x and at x' with respect to the layer's preactivations. So
    the tangent kernel can be computed without the Jacobian.
    """

    title = "The tangent kernel of a dense network is a sum over layers that needs no Jacobian"
    source = Source(_KEY, "Abstract, Jacobians")
    population = ProxyNetworks()
    relation = Equal(block=-1)
    control = Control("the sum is without the first layer", lambda found, problem: _by_layers(problem, first=1))
    controls = "the tangent kernel of a finite network"
    unexplained = "how similar this kernel is to the kernel of the large model"

    def predict(self, problem: ProxyNetwork) -> Array:
        return _by_layers(problem)

    def measure(self, problem: ProxyNetwork, key: Key[Array, ""]) -> Array:
        """Compute the kernel from the whole Jacobians."""
        found = jax.vmap(jax.jacrev(problem, argnums=(0, 1)), in_axes=(None, None, 0))(
            problem.weights, problem.biases, problem.x
        )
        n, k = len(problem.x), len(problem.biases[-1])
        flat = jnp.concatenate([leaf.reshape(n, k, -1) for leaf in jax.tree.leaves(found)], axis=2)
        return jnp.einsum("iap,jap->ij", flat, flat) / k

    def condition(self, problem: ProxyNetwork) -> Array:
        return jnp.asarray(10.0 * sum(w.size for w in problem.weights) ** 0.5)


def _by_layers(problem: ProxyNetwork, first: int = 0) -> Array:
    """Compute the kernel from the inputs of each layer and the derivatives with respect to its outputs."""
    inputs, slopes, u = [], [], problem.x
    for w, b in zip(problem.weights, problem.biases, strict=True):
        inputs.append(u)
        before = u @ w.T + b
        gate = jax.nn.sigmoid(before)
        slopes.append(gate * (1 + before * (1 - gate)))
        u = before * gate
    k = len(problem.biases[-1])
    g, total = jnp.broadcast_to(jnp.eye(k), (len(u), k, k)), jnp.zeros((len(u), len(u)))
    for layer in reversed(range(len(inputs))):
        if layer >= first:
            total = total + (inputs[layer] @ inputs[layer].T + 1) * jnp.einsum("iab,jab->ij", g, g) / k
        if layer:
            g = (g @ problem.weights[layer]) * slopes[layer - 1][:, None, :]
    return total
