"""The loss of a shallow network under Gaussian inputs is a sum of distances of tensors, and has spurious minima.

This theory writes the squared loss of a student network as one distance of symmetric tensors for each degree. A
designed objective keeps only the terms of chosen degrees. It assumes Gaussian inputs and a teacher network. It does not
explain which designed objectives have no spurious minima.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import minimize
from scipy.special import gammaln

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Order, Source
from lemmata.engine.problems.drawn import Drawn, normal

ABOUT = {
    "tool": "approximation theory",
    "architecture": "dense network",
    "object": "training",
    "SpuriousMinimaWithWidth": {"tool": "dynamical systems"},
}

_DEGREES = 800


class StudentAndTeacher(eqx.Module):
    """Two networks of m ReLU units: weight vectors, which are scaled to length 1, and output weights."""

    student: Float[Array, "m d"]
    teacher: Float[Array, "m d"]
    output: Float[Array, " m"]
    target: Float[Array, " m"]

    def correlations(self) -> Float[Array, "all all"]:
        """Inner products of all weight vectors, scaled to length 1. The student's weights come first."""
        rows = jnp.concatenate([self.student, self.teacher])
        rows = rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
        return rows @ rows.T

    def differences(self) -> Float[Array, " all"]:
        """The output weights of the student, followed by the negated output weights of the teacher."""
        return jnp.concatenate([self.output, -self.target])


def _apart(problem: StudentAndTeacher) -> Hypothesis:
    largest = jnp.abs(problem.correlations() - jnp.eye(2 * len(problem.output))).max()
    return Hypothesis("the largest correlation of two units", largest, "<", 0.97, "the series is cut off at degree 800")


def relu_weights(degrees: int) -> Float[np.ndarray, " k"]:
    """c_k² for k < degrees: the squared coefficients of the ReLU in normalised Hermite polynomials."""
    k = np.arange(2, degrees, 2)
    logs = 2 * gammaln(k - 1) - 2 * (k - 2) / 2 * np.log(2) - 2 * gammaln(k / 2) - gammaln(k + 1)
    found = np.zeros(degrees)
    found[0], found[1] = 1 / (2 * np.pi), 0.25
    found[2::2] = np.exp(logs) / (2 * np.pi)
    return found


class LandscapeIsASumOfTensors(Claim[StudentAndTeacher]):
    """Let x be Gaussian. Let f(x) = sum_i a_i sigma(<w_i, x>) be a network, let y(x) = sum_i b_i sigma(<v_i, x>) be its
    target, and let |w_i| = |v_i| = 1. Let c_k be the coefficients of sigma in the Hermite polynomials h_k, normalised
    to E h_k² = 1. Let w^(k) be the k-th tensor power of a vector w. Then

        E (f - y)² = sum over k of c_k² |sum_i a_i w_i^(k) - sum_i b_i v_i^(k)|².

    If only some degrees of sigma are kept, only the terms of these degrees remain in the sum over k. A sum of such
    chosen terms is called a designed objective. The trials use the ReLU for sigma.
    """

    title = "The loss of a shallow network is a sum of squared distances of tensors"
    source = Source("emergence2026", "Figure 11.15", note="which terms a choice of degrees keeps")
    population = Drawn(
        StudentAndTeacher, _apart, d=Integer(10, 8, 24, "dimension of the inputs", corners=(9, 16)),
        m=Integer(3, 1, 4, "units of each network"), student=normal("m", "d"), teacher=normal("m", "d"),
        output=normal("m"), target=normal("m"),
    )  # fmt: skip
    relation = Equal()
    control = Control("the sum omits the terms of degree 4", lambda value, problem: value - _term(problem, 4))
    controls = "what the loss of a network compares"
    unexplained = "which minima the loss has"

    def predict(self, problem: StudentAndTeacher) -> Array:
        """Sum up to degree 800. At higher degrees, the tensors of different units are orthogonal up to rounding."""
        weights = relu_weights(_DEGREES)
        u, correlations = problem.differences(), problem.correlations()
        entries = jnp.vectorize(lambda c: jnp.polyval(jnp.asarray(weights[::-1]), c))(correlations)
        rest = (0.5 - weights.sum()) * jnp.sum(u**2)
        return u @ jnp.where(jnp.eye(len(u), dtype=bool), weights.sum(), entries) @ u + rest

    def measure(self, problem: StudentAndTeacher, key: Key[Array, ""]) -> Array:
        """Compute E (f - y)² in closed form, from the angles between the weight vectors."""
        return _closed(problem)

    def condition(self, problem: StudentAndTeacher) -> Array:
        """Bound the rounding errors. Terms of both signs cancel in part."""
        u = jnp.abs(problem.differences())
        return 4 * jnp.sum(u) ** 2 / _closed(problem)


def _closed(problem: StudentAndTeacher) -> Array:
    """Compute the loss in closed form from E relu(<w, x>) relu(<v, x>) at the angle of each pair of units."""
    u, c = problem.differences(), problem.correlations()
    angle = jnp.where(jnp.eye(len(u), dtype=bool), 0.0, jnp.arccos(jnp.clip(c, -1.0, 1.0)))
    return u @ ((jnp.sin(angle) + (jnp.pi - angle) * jnp.cos(angle)) / (2 * jnp.pi)) @ u


def _term(problem: StudentAndTeacher, k: int) -> Array:
    u = problem.differences()
    return relu_weights(k + 1)[k] * (u @ problem.correlations() ** k @ u)


class Start(eqx.Module):
    """Standard normal numbers; the first n² of them, divided by sqrt(n), are the start of a student of width n."""

    numbers: Float[Array, " all"]


def relu_loss(w: Float[np.ndarray, " nn"], n: int) -> tuple[float, Float[np.ndarray, " nn"]]:
    """Return E (sum_i relu(<w_i, x>) - sum_i relu(x_i))²/2 over normal x in n dimensions, and its gradient."""
    rows, sums, slopes = w.reshape(n, n), [], []
    for others in (rows, np.eye(n)):
        lengths, far = np.linalg.norm(rows, axis=1), np.linalg.norm(others, axis=1)
        cosine = np.clip(rows @ others.T / np.outer(lengths, far), -1, 1)
        angle, sine = np.arccos(cosine), np.sqrt(1 - cosine**2)
        sums.append(np.sum(np.outer(lengths, far) * (sine + (np.pi - angle) * cosine)) / (2 * np.pi))
        slopes.append(((sine @ far / lengths)[:, None] * rows + (np.pi - angle) @ others) / (2 * np.pi))
    own = n / 2 + n * (n - 1) / (2 * np.pi)
    return float((sums[0] - 2 * sums[1] + own) / 2), (slopes[0] - slopes[1]).ravel()


def designed_loss(w: Float[np.ndarray, " nn"], n: int) -> tuple[float, Float[np.ndarray, " nn"]]:
    """|sum_i w_i^(k) - sum_i e_i^(k)|² for unit rows w_i, summed over the degrees k = 2 and 4, and its gradient. The
    e_i are the basis vectors.
    """
    free = w.reshape(n, n)
    lengths = np.linalg.norm(free, axis=1, keepdims=True)
    rows = free / lengths
    gram = rows @ rows.T
    value = np.sum(gram**2) - n + np.sum(gram**4) - 2 * np.sum(rows**4) + n
    slope = 4 * gram @ rows + 8 * gram**3 @ rows - 8 * rows**3
    return float(value), ((slope - np.sum(slope * rows, axis=1, keepdims=True) * rows) / lengths).ravel()


class SpuriousMinimaWithWidth(Claim[Start]):
    """Let a teacher be the sum of n ReLU units whose weights are the basis vectors e_i, and let the inputs be Gaussian
    in n dimensions. Let a student of the same form start at independent normal weights w_i of variance 1/n. Run descent
    on the population loss until the gradient is below 1e-6. This descent ends at a loss above 1e-3 more often for n =
    14 than for n = 4. So some runs stop at points at which the gradient is nearly 0 and the teacher is not recovered.

    The designed objective is the sum of |sum_i w_i^(k) - sum_i e_i^(k)|² over k = 2 and 4. Here the w_i have length 1,
    and w^(k) is the k-th tensor power of w. The trials also run descent on this objective, from the same starts. They
    take the share of runs on the ReLU loss that end above 1e-3, minus this share for the designed objective. This
    difference is larger for n = 14 than for n = 4.
    """

    title = "With more units, descent gets stuck more often on the ReLU network loss, but not on a designed objective"
    source = Source("emergence2026", "Figure 11.14", note="for a ReLU teacher, compared with a designed objective")
    population = Drawn(Start, numbers=normal(196))
    relation = Order("n", (4.0, 14.0), over="problems")
    control = Control("descent stops at spurious minima less often for larger n", lambda sign, problem: -sign)
    controls = "how often descent misses the teacher"
    unexplained = "why the runs find no spurious minimum of the designed objective"
    trials = 40
    traced = False
    predict = 1.0

    def measure_at(self, problem: Start, key: Key[Array, ""], n: float) -> Array:
        """Return 1 if descent on the ReLU loss ends above 1e-3, else 0, minus this indicator for the designed loss."""
        size = int(n)
        start = np.asarray(problem.numbers)[: size**2] / np.sqrt(size)
        options = {"maxiter": 5000, "maxfun": 10000, "ftol": 0.0, "gtol": 1e-7}
        found = []
        for loss in (relu_loss, designed_loss):
            end = minimize(loss, start, args=(size,), jac=True, method="L-BFGS-B", options=options)
            found.append(float(end.fun > 1e-3) if np.abs(end.jac).max() < 1e-6 else np.nan)
        return jnp.asarray(found[0] - found[1])
