"""The softmax tangent kernel to order 1/m: its bias, its fluctuations and the shift of its smallest eigenvalue.

This theory describes the tangent kernel H of a softmax network of width m before training, in closed form and to first
order in 1/m. H_ll(x, y) is the entry for output l at points x and y, and H_ll' an entry between two outputs. Let sigma
be the standard deviation of the weights, e(u, v) = exp(sigma² <u, v>), and K(x, y) = <x, y> e(x, y) the limit of H_ll
for m -> infinity. Suppose that units are initialised in pairs, with equal weights and opposite signs. Then the bias of
H (`infinite_width.width_correction`) is a product:

    m (E H_ll(x, y) / K(x, y) - 1) -> -2 (e(x, y) - 1) (e(x, x) + e(y, y) - 1).

So, relative to its limit, the mean of H is too small at acute angles of x and y, too large in size at obtuse angles,
and unbiased at right angles. The theory assumes Gaussian units. It does not explain the terms of order 1/m², which are
large for long inputs.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Kind, Source
from lemmata.engine.problems.sampled import draws
from lemmata.engine.problems.softmax_kernels import KernelPoints, PlanarTriples
from lemmata.networks import SoftmaxNetwork

ABOUT = {
    "tool": "statistics",
    "architecture": "dense network",
    "object": "kernel",
    "SmallestEigenvalueShift": {"object": "spectrum"},
}

_CONTROLS = "the tangent kernel of a softmax network before training"
_SOURCE = Source("gu2024softmax", "Definition 3.6", "Definition 3.7", note="order 1/m (not in the source)")
_FREE, _FLUCTUATING, _EIGENVALUES = PlanarTriples(width=64), PlanarTriples(width=512), PlanarTriples(width=128)
_OUTPUTS, _BLOCKS = 2, 8
_FREE_NETWORKS, _FLUCTUATING_NETWORKS, _EIGENVALUE_NETWORKS = 512, 64, 64


def normal_exponentials(problem: KernelPoints) -> Float[Array, "n n"]:
    """Return e(x_i, x_j) = exp(sigma² <x_i, x_j>) = E exp <w, x_i + x_j> / (E exp <w, x_i> E exp <w, x_j>).

    Args:
        problem: the points x_i and sigma.
    """
    return jnp.exp(problem.sigma**2 * (problem.x @ problem.x.T))


def paired_bias(problem: KernelPoints) -> Float[Array, "n n"]:
    """Return -2 (e(x, y) - 1) (e(x, x) + e(y, y) - 1), the relative bias of H_ll(x, y) times m, for units in pairs.

    Args:
        problem: the points and sigma.
    """
    e = normal_exponentials(problem)
    own = jnp.diagonal(e)
    return -2 * (e - 1) * (own[:, None] + own[None, :] - 1)


def covariances(problem: KernelPoints) -> tuple[Float[Array, "n n n n"], Float[Array, "n n n n"]]:
    """Return the limits of m Cov(H_ll,ij; H_ll,pq) and m Cov(H_ll',ij; H_ll',pq), l != l', for units in pairs.

    H_ll',ij is the entry of the tangent kernel between output l at x_i and output l' at x_j.

    Args:
        problem: the points and sigma.
    """
    e = normal_exponentials(problem)
    pair = jnp.einsum("ip,iq,jp,jq->ijpq", e, e, e, e)  # e(x_i + x_j, x_p + x_q)
    left, right = jnp.einsum("ip,jp->ijp", e, e), jnp.einsum("ip,iq->ipq", e, e)
    crossed = left[:, :, :, None] + left[:, :, None, :] + right[:, None] + right[None]
    single = e[:, None, :, None] + e[:, None, None, :] + e[None, :, :, None] + e[None, :, None, :]
    size = 2 * jnp.einsum("ij,pq->ijpq", problem.limit, problem.limit)
    return size * (pair - crossed + single - 1), size * pair


def kernels_in_pairs(
    problem: KernelPoints, outputs: int, width: int, networks: int, key: Key[Array, ""]
) -> Float[Array, "s kn kn"]:
    """Return the tangent kernels H of several networks, each initialised with units in pairs.

    Args:
        problem: the points and sigma.
        outputs: the number k of outputs.
        width: the number m of hidden units.
        networks: the number of independent networks.
        key: the key that draws the weights and signs.
    """
    d, pairs = problem.x.shape[1], width // 2
    weight, sign = draws(key, (networks, d, pairs), (networks, outputs, 1, pairs))
    # Since <a, S> = 0, an entry is <x_i, x_j> m sum_r a_lr a_l'r S_ir S_jr. Both units of a pair have half of its
    # share.
    shares = jax.nn.softmax(problem.sigma * jnp.einsum("nd,sdr->snr", problem.x, weight), axis=2)
    signed = (jnp.sign(sign) * shares[:, None]).reshape(networks, -1, pairs)
    return width / 2 * (signed @ jnp.swapaxes(signed, 1, 2)) * jnp.tile(problem.x @ problem.x.T, (outputs, outputs))


def _pairs(matrix: Float[Array, "n n"]) -> Array:
    return matrix[jnp.triu_indices(len(matrix))]


class BiasWithoutPairs(Claim[KernelPoints]):
    """Let the m units w_r ~ N(0, sigma² I) and the signs of a softmax network be independent, without pairs. Let H be
    its tangent kernel, let x and y be points, and let e(x, y) = exp(sigma² <x, y>). For an output l, the mean of H is

        E H_ll(x, y) = <x, y> e(x, y) (1 - (2 e(x, y) - 1) (e(x, x) + e(y, y) - 1) / m) + O(1/m²).

    For the proof, let S_x = softmax(W' x) be the shares at x. The mean of H_ll / <x, y> over the signs is m <S_x, S_y>
    - m sum_r S_xr S_yr (S_xr + S_yr) + m <S_x, S_y>². The first term m <S_x, S_y> is a ratio of means over units. The
    bias of this ratio is half of the bias of H_ll / <x, y> in a network of m/2 pairs. To order 1/m, the other terms
    follow from moments of lognormal variables. The claim is tested at m = 64.
    """

    title = "Without pairs of units at the start, the mean softmax tangent kernel has another term in 1/width"
    source = _SOURCE
    stated = Kind.OWN
    population = _FREE
    # The remainder, of order 1/m², is 0.002 on the diagonal at sigma = 1/2.
    relation = EqualInMean(margin=0.003, resolution=0.004)
    control = Control(
        "the bias is that of units in pairs",
        lambda v, problem: _pairs(problem.limit * (1 + paired_bias(problem) / _FREE.width)),
    )
    controls = _CONTROLS
    unexplained = "the terms of order 1/m²"
    trials = 128

    def predict(self, problem: KernelPoints) -> Array:
        e = normal_exponentials(problem)
        own = jnp.diagonal(e)
        bias = -(2 * e - 1) * (own[:, None] + own[None, :] - 1)
        return _pairs(problem.limit * (1 + bias / _FREE.width))

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """The mean over networks of the kernel of Definition 3.6."""
        d, m = problem.x.shape[1], _FREE.width
        (drawn,) = draws(key, (_FREE_NETWORKS, d + 1, m))

        def tangent(rows: Array) -> Array:
            params = {"weight": problem.sigma * rows[:d], "sign": jnp.sign(rows[d:])}
            return SoftmaxNetwork(m).tangent(params, problem.x)[0, :, 0]

        return _pairs(jax.vmap(tangent)(drawn).mean(axis=0))


class FluctuationConstant(Claim[KernelPoints]):
    """Let a softmax network of width m with k outputs be initialised in pairs, with weights N(0, sigma² I). Let H be
    its tangent kernel at n points x_i. Let e(u, v) = exp(sigma² <u, v>), let K_ij = <x_i, x_j> e(x_i, x_j), and let

        C_ij = e(x_i + x_j, x_i + x_j) - 2 e(x_i + x_j, x_i) - 2 e(x_i + x_j, x_j) + e(x_i, x_i) + e(x_j, x_j)
               + 2 e(x_i, x_j) - 1.

    As m grows,

        m E |H - lim H|_F² -> 2 sum_ij K_ij² (k C_ij + k (k-1) e(x_i + x_j, x_i + x_j)).

    For the proof, let a_l be the signs of output l and w the weights of a unit. H_ll' / <x_i, x_j> is a mean of a_l
    a_l' exp <w, x_i + x_j> over m/2 units, divided by the means of exp <w, x_i> and exp <w, x_j>. To first order, the
    relative error of this quotient is a sum of means of lognormal variables. Scaled to mean 1, these variables have the
    covariances e - 1. The claim is tested at m = 512 and k = 2.
    """

    title = "For large width m, the mean squared fluctuation of the softmax tangent kernel is a known constant over m"
    source = _SOURCE
    stated = Kind.OWN
    population = _FLUCTUATING
    # Terms of order 1/m are about 5 % at m = 256.
    relation = EqualInMean(margin=0.03, resolution=0.04)
    control = Control("the fluctuation is half of the formula, as for units without pairs", lambda v, problem: v / 2)
    controls = _CONTROLS
    unexplained = "the terms of order 1/m²"
    trials = 128

    def predict(self, problem: KernelPoints) -> Array:
        own, other = (jnp.einsum("ijij->", c) for c in covariances(problem))
        return (_OUTPUTS * own + _OUTPUTS * (_OUTPUTS - 1) * other) / _FLUCTUATING.width

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """The mean of |H - lim H|_F² over networks."""
        found = kernels_in_pairs(problem, _OUTPUTS, _FLUCTUATING.width, _FLUCTUATING_NETWORKS, key)
        limit = jnp.kron(jnp.eye(_OUTPUTS), problem.limit)
        return jnp.mean(jnp.sum((found - limit) ** 2, axis=(1, 2)))


class SmallestEigenvalueShift(Claim[KernelPoints]):
    """Let K_ij = <x_i, x_j> exp(sigma² <x_i, x_j>) be the n x n limit of the tangent kernel, with eigenvalues lambda_1
    < lambda_2 <= ... and eigenvectors u, v_2, ... Let H be the tangent kernel of a softmax network of width m with k
    outputs that is initialised in pairs. Let e_ij = exp(sigma² <x_i, x_j>), and let c_ij be the bias -2 (e_ij - 1)(e_ii
    + e_jj - 1). Let V_q and V'_q be the limits of m Var(u'H_ll v_q) and m Var(u'H_ll' v_q), where l != l' are two
    outputs. Let o be the entrywise product, and let `mean` be the mean of the k smallest eigenvalues of H. As m grows,

        m (E[mean] - lambda_1) -> u'(K o c)u - sum_(q >= 2) (V_q + (k-1) V'_q) / (lambda_q - lambda_1).

    The test has three points at 0, 60 and 120 degrees on a great circle and k = 2. Let f(m) be m (E[mean] - lambda_1),
    where E is the average over networks. The test measures 2 f(256) - f(128), a combination that removes the term of
    the next order in 1/m.
    """

    title = "At width m, the smallest eigenvalues of the softmax kernel shift by a known term in 1/m"
    source = Source("gu2024softmax", "Theorem 4.2", note="lambda to order 1/m (not in the source)")
    stated = Kind.OWN
    population = _EIGENVALUES
    relation = EqualInMean(margin=0.05, resolution=0.1)
    control = Control("outputs do not interact", lambda v, problem: _shift(problem, 1))
    controls = "the smallest eigenvalues of the tangent kernel, compared with the eigenvalues of the limit"
    unexplained = "eigenvalues of K that are nearly equal, and the terms of order 1/m²"
    trials = 64

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        values = jnp.linalg.eigvalsh(problem.limit)
        name = "the gap between lambda_1 and lambda_2 is larger than the fluctuations"
        noise = values[-1] / _EIGENVALUES.width**0.5
        return [Hypothesis(name, values[1] - values[0], ">=", noise, "eigenvalues close to lambda_1 mix with lambda_1")]

    def predict(self, problem: KernelPoints) -> Array:
        return _shift(problem, _OUTPUTS)

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        least = jnp.linalg.eigvalsh(problem.limit)[0]

        def shift(width: int, key: Key[Array, ""]) -> Array:
            def block(one: Key[Array, ""]) -> Array:
                found = kernels_in_pairs(problem, _OUTPUTS, width, _EIGENVALUE_NETWORKS, one)
                return jnp.linalg.eigvalsh(found)[:, :_OUTPUTS].mean()

            return width * (jax.lax.map(block, jax.random.split(key, _BLOCKS)).mean() - least)

        first, second = jax.random.split(key)
        return 2 * shift(2 * _EIGENVALUES.width, first) - shift(_EIGENVALUES.width, second)


def _shift(problem: KernelPoints, outputs: int) -> Array:
    values, vectors = jnp.linalg.eigh(problem.limit)
    least, others = vectors[:, 0], vectors[:, 1:]
    along = lambda c: jnp.einsum("i,jq,p,tq,ijpt->q", least, others, least, others, c)
    own, other = (along(c) for c in covariances(problem))
    first = least @ (problem.limit * paired_bias(problem)) @ least
    return first - jnp.sum((own + (outputs - 1) * other) / (values[1:] - values[0]))
