"""The directions on which a target depends, found from the covariance of inputs that a filter of the label selects.

This theory finds the span of the hidden weights of a shallow network from the matrix E[psi(y)(xx' - I)], where psi is a
filter of the label. It assumes Gaussian inputs, and labels without noise that depend only on the projection to the
span. It does not explain how many samples are needed.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, EqualInMean, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal

ABOUT = {
    "tool": "spectral theory",
    "architecture": "dense network",
    "object": "estimator",
}

_SAMPLES = 2**14


class Ridges(eqx.Module):
    """The network sum_i output_i relu(<weights_i, x>) of m units in d dimensions, and a direction outside the span."""

    weights: Float[Array, "m d"]
    output: Float[Array, " m"]
    away: Float[Array, " d"]

    def __call__(self, x: Float[Array, "... d"]) -> Float[Array, "..."]:
        """Return the network's output, which is the label, at each input."""
        return jax.nn.relu(x @ self.weights.T) @ self.output

    @property
    def basis(self) -> Float[Array, "d m"]:
        """Orthonormal columns that span the same space as the weights."""
        return jnp.linalg.qr(self.weights.T)[0]


def smoothed_hessian(problem: Ridges) -> Float[Array, "d d"]:
    """Return the second derivatives of E y(x + h) at h = 0 for normal x, by automatic differentiation."""

    def mean(h: Float[Array, " d"]) -> Float[Array, ""]:
        lengths = jnp.linalg.norm(problem.weights, axis=1)
        shift = problem.weights @ h / lengths
        return problem.output @ (lengths * (shift * norm.cdf(shift) + norm.pdf(shift)))

    return jax.hessian(mean)(jnp.zeros(problem.weights.shape[1]))


_D = Integer(6, 4, 12, "dimension of the inputs", corners=(5, 8))
_M = Integer(2, 1, 3, "hidden units", corners=(1, 3))


class SecondMomentOfANetwork(Claim[Ridges]):
    """Let y = sum_i a_i relu(<w_i, x>) with x ~ N(0, I). Then

        E[y (xx' - I)] = sum_i a_i/(|w_i| sqrt(2 pi)) w_i w_i',

    because the second derivative of the ReLU is a point mass at its kink. If all a_i are positive, the range of this
    matrix is the span of the w_i. If the a_i have both signs, the terms of the sum can cancel. For example, let the w_i
    be all sign vectors on r > 2 coordinates, and let a_i be the product of the entries of w_i. Then the matrix is zero
    (`queries.parity_networks`).
    """

    title = "For a ReLU network y, E[y (xx' - I)] is a weighted sum of the matrices ww' over the hidden weights w"
    source = Source("emergence2026", "Figure 11.15", "Lemma 11.18", note="the matrix whose range is the span")
    population = Drawn(
        Ridges, d=_D, m=_M, weights=normal("m", "d"), output=log_uniform(0.3, 3.0, "m"), away=normal("d")
    )
    relation = Equal(block=-1)
    control = Control("all directions have the same weight", lambda value, problem: _with_equal_weights(problem))
    controls = "what correlations with quadratic functions show about the hidden directions"
    unexplained = "labels for which this matrix is zero"

    def predict(self, problem: Ridges) -> Array:
        """Return the weighted sum of the w_i w_i', and the projection to the span of the w_i."""
        lengths = jnp.linalg.norm(problem.weights, axis=1)
        scaled = problem.weights.T * (problem.output / (lengths * jnp.sqrt(2 * jnp.pi)))
        return jnp.concatenate([(scaled @ problem.weights), problem.basis @ problem.basis.T])

    def measure(self, problem: Ridges, key: Key[Array, ""]) -> Array:
        """Return the smoothed network's second derivatives, and the projection to their m leading eigenvectors."""
        matrix = smoothed_hessian(problem)
        leading = jnp.linalg.eigh(matrix)[1][:, -len(problem.weights) :]
        return jnp.concatenate([matrix, leading @ leading.T])

    def condition(self, problem: Ridges) -> Array:
        """Bound the rounding errors. The rounding error of an eigenspace is the error of the matrix divided by the gap
        between the eigenvalues.
        """
        values = jnp.linalg.eigvalsh(self.predict(problem)[: problem.weights.shape[1]])
        singular = jnp.linalg.svd(problem.weights, compute_uv=False)
        gap = values[-1] / values[-len(problem.weights)]
        return 10.0 * (gap + singular[0] / singular[-1])


def _with_equal_weights(problem: Ridges) -> Array:
    other = eqx.tree_at(lambda own: own.output, problem, jnp.linalg.norm(problem.weights, axis=1))
    return SecondMomentOfANetwork().predict(other)


class FiltersVanishOffTheSpan(Claim[Ridges]):
    """Let x ~ N(0, I), let the label y depend only on the projection of x to a subspace V, and let psi be any function.
    The matrix M = E[psi(y)(xx' - I)] satisfies u'M = 0 for every u orthogonal to V. So every eigenvector of M with an
    eigenvalue other than 0 is in V. The trials use ReLU networks with output weights of both signs; V is the span of
    their hidden weights. Their filter psi(y) is 1 if y is in the upper half of the labels, and 0 otherwise. They divide
    M by E psi(y).
    """

    title = "For every filter psi of the label y, E[psi(y)(xx' - I)] is zero outside the span of the hidden weights"
    source = Source("emergence2026", "Figure 11.16")
    population = Drawn(Ridges, d=_D, m=_M, weights=normal("m", "d"), output=normal("m"), away=normal("d"))
    relation = EqualInMean(relative=False)
    control = Control("an entry of 0.1 remains outside the span", lambda value, problem: value + 0.1)
    controls = "in which directions a filtered second moment can point"
    unexplained = "whether the matrix has an eigenvalue other than zero"
    trials = 64
    predict = (0.0, 0.0)

    def measure(self, problem: Ridges, key: Key[Array, ""]) -> Array:
        """Estimate u'Mu and u'Mv from a sample, for a direction u outside the span and a direction v in the span."""
        x = jax.random.normal(key, (_SAMPLES, len(problem.away)))
        y = problem(x)
        chosen = y >= jnp.median(y)
        basis = problem.basis
        away = problem.away - basis @ (basis.T @ problem.away)
        outside, inside = x @ (away / jnp.linalg.norm(away)), x @ basis[:, 0]
        entries = jnp.stack([outside**2 - 1, outside * inside], axis=1)
        return chosen @ entries / jnp.sum(chosen)


class LargeLabelsGiveASignal(Claim[Ridges]):
    """Let V be a subspace of dimension m, and let P be the projection to V. Let x ~ N(0, I_d), and let the label y
    depend on Px alone. Suppose that |y| >= tau has a positive probability and implies |Px|² >= 2 m. Then the matrix
    E[xx' - I | |y| >= tau] has a trace of at least m on V. So its largest eigenvalue is at least 1, and the
    eigenvectors of its positive eigenvalues are in V. If |y| <= L |Px| for all x, the implication holds for tau = L
    sqrt(2 m). The trials use this tau with the smallest such L. Their labels y are ReLU networks, and V is the span of
    the hidden weights.
    """

    title = "Over inputs with large labels, E[xx' - I] has an eigenvalue of at least 1, in the span of hidden weights"
    source = Source("emergence2026", "Proposition 11.17", "Figure 11.17", note="if the event has positive probability")
    population = Drawn(
        Ridges, d=Integer(6, 4, 12, "dimension of the inputs", corners=(5, 8)),
        m=Integer(1, 1, 2, "hidden units"), weights=normal("m", "d"), output=log_uniform(0.3, 3.0, "m"),
        away=normal("d"),
    )  # fmt: skip
    relation = AtLeast()
    control = Control("three times this", lambda value, problem: 3 * value)
    controls = "how strong the signal of a filter is"
    unexplained = "how likely large labels are, which decides how many samples are needed"
    trivial = (0.0, 0.0)

    def predict(self, problem: Ridges) -> Array:
        return jnp.asarray([float(len(problem.weights)), 1.0])

    def measure(self, problem: Ridges, key: Key[Array, ""]) -> Array:
        """Return the trace and the largest eigenvalue on V.

        The lengths of the points are uniform up to 6, and the weight of a point is the density of its length.
        """
        basis, m = problem.basis, len(problem.weights)
        way_key, length_key = jax.random.split(key)
        ways = jax.random.normal(way_key, (_SAMPLES, m))
        lengths = 6 * jax.random.uniform(length_key, (_SAMPLES, 1))
        ways = ways / jnp.linalg.norm(ways, axis=1, keepdims=True)
        inside, least = lengths * ways, jnp.abs(problem(ways @ basis.T)).max()
        density = lengths[:, 0] ** (m - 1) * norm.pdf(lengths[:, 0])
        chosen = jnp.abs(problem(inside @ basis.T)) >= least * jnp.sqrt(2.0 * m)
        weight = jnp.where(chosen, density, 0.0)
        matrix = (inside.T * weight) @ inside / jnp.sum(weight) - jnp.eye(m)
        return jnp.stack([jnp.trace(matrix), jnp.linalg.eigvalsh(matrix)[-1]])


class CubicRidge(eqx.Module):
    """A direction w. The label of x is the third Hermite polynomial of <w, x>."""

    way: Float[Array, " d"]


class FilterSeesWhatCorrelationCannot(Claim[CubicRidge]):
    """Let x ~ N(0, I_d), and let w be a vector of length 1. Let y = He_3(<w, x>), where He_3(z) = z³ - 3 z. The
    correlation of y with every quadratic function is zero: E[y (xx' - I)] = 0. Let q be the 90 % quantile of |y|, and
    let psi(y) be 1 if |y| >= q, and 0 otherwise. This filter gives E[psi(y)(xx' - I)] = c ww' with c > 0. Estimate this
    matrix from 500 d samples. Let v be the eigenvector of the estimate whose eigenvalue is largest in absolute value.
    Then 1 - <v, w>² is at most 0.05. If the labels are permuted, then <v, w>² is at most 0.9.
    """

    title = "A filter of the label finds a direction that correlations with quadratic functions do not show"
    source = Source("damian2024computational", "Abstract", note="for the third Hermite polynomial and one filter")
    stated = Kind.OWN
    population = Drawn(CubicRidge, d=Integer(8, 8, 16, "dimension of the inputs", corners=(8, 12)), way=normal("d"))
    relation = AtMost()
    control = Control("a quarter of each bound is enough", lambda bound, problem: bound / 4)
    controls = "what a filter of the label can find beyond correlations"
    unexplained = "labels for which no filter has a second moment other than zero"
    trivial = (1.0, 1.0)
    predict = (0.05, 0.9)

    def measure(self, problem: CubicRidge, key: Key[Array, ""]) -> Array:
        d = len(problem.way)
        sample_key, order_key = jax.random.split(key)
        x = jax.random.normal(sample_key, (500 * d, d))
        way = problem.way / jnp.linalg.norm(problem.way)
        z = x @ way
        size = jnp.abs(z**3 - 3 * z)
        chosen = (size >= jnp.quantile(size, 0.9)).astype(float)

        def squared_cosine(weight: Array) -> Array:
            values, vectors = jnp.linalg.eigh((x.T * weight) @ x / len(x) - jnp.mean(weight) * jnp.eye(d))
            return (vectors[:, jnp.argmax(jnp.abs(values))] @ way) ** 2

        permuted = jax.random.permutation(order_key, chosen)
        return jnp.stack([1 - squared_cosine(chosen), squared_cosine(permuted)])
