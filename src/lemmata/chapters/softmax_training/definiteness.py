"""When the softmax tangent kernel is positive definite: lambda > 0 and its causes.

The convergence theorems of softmax networks assume lambda = lambda_min(H) > 0. This theory controls the smallest
eigenvalue of the limit K(x, y) = <x, y> exp(sigma² <x, y>): it is positive exactly where no input is 0 and no input
stands twice, and it is bounded below by the distances between inputs and their norms. So the hypothesis has a cause
that can be checked and named. It leaves unexplained the true size of lambda, which falls fast with the number of inputs
in few dimensions.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtLeast, Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.problems import duplicate_rows
from lemmata.problems._sampled import points_in_ball

from .infinite_width import KernelPoints, posed

_ROWS = 32


def separation_bound(x: Float[Array, "n d"], sigma: Float[Array, ""]) -> Float[Array, ""]:
    """A lower bound on lambda_min of K on the rows of x, positive where rows are distinct and not 0.

    The polynomial p_i(z) = <z, x_i> / |x_i|² prod_(j != i) <z - x_j, x_i - x_j> / |x_i - x_j|² is 0 at the origin and
    at every x_j, and 1 at x_i. Since K = sum_q sigma^(2(q-1)) / (q-1)! <x, y>^q, a polynomial whose part of degree q is
    a tensor T_q has squared norm at most sum_q |T_q|² (q-1)! / sigma^(2(q-1)) in the space of K; and
    lambda_min >= 1 / tr K^-1 >= 1 / sum_i |p_i|², as K^-1 gives the smallest norms of interpolants.

    Args:
        x: points.
        sigma: standard deviation of the hidden weights.
    """
    n = len(x)
    difference = x[:, None] - x[None, :]
    apart = jnp.linalg.norm(difference, axis=2) + jnp.eye(n)
    slope = jnp.where(jnp.eye(n, dtype=bool), 0.0, 1 / apart)
    level = jnp.where(jnp.eye(n, dtype=bool), 1.0, jnp.abs(jnp.einsum("jd,ijd->ij", x, difference)) / apart**2)

    def times_factor(sizes: Array, factor: tuple[Array, Array]) -> tuple[Array, None]:
        # Coefficients of the product with |u| t + |b|: bounds on the tensors of the product of linear forms.
        return factor[1] * sizes + factor[0] * jnp.concatenate([jnp.zeros(1), sizes[:-1]]), None

    def squared_norm(i: Array) -> Array:
        start = jnp.zeros(n).at[0].set(1 / jnp.linalg.norm(x[i]))  # index q - 1
        sizes, _ = jax.lax.scan(times_factor, start, (slope[i], level[i]))
        degrees = jnp.arange(n)
        return jnp.sum(sizes**2 * jnp.exp(jax.scipy.special.gammaln(degrees + 1.0)) / sigma ** (2 * degrees))

    return 1 / jnp.sum(jax.vmap(squared_norm)(jnp.arange(n)))


def smallest_separation(x: Float[Array, "n d"]) -> Float[Array, ""]:
    """The smallest distance between two rows; infinite for one row."""
    apart = jnp.linalg.norm(x[:, None] - x[None, :], axis=2)
    return jnp.min(jnp.where(jnp.eye(len(x), dtype=bool), jnp.inf, apart))


def singular_rows(x: Float[Array, "n d"]) -> str | None:
    """The rows, counted from 0, that make the kernel singular: zero inputs, and inputs that stand twice."""
    zero = [int(i) for i in jnp.flatnonzero(jnp.linalg.norm(x, axis=1) == 0)]
    pairs = duplicate_rows(x)
    causes = []
    if zero:
        causes.append(f"zero inputs: rows {zero[:5]}" + (f" and {len(zero) - 5} more" if len(zero) > 5 else ""))
    if pairs:
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        causes.append(f"repeated inputs: pairs of rows {pairs[:5]}{more}")
    return "; ".join(causes) or None


class AbstractDefinitenessClaim(Claim[KernelPoints]):
    """What the claims of this section share."""

    source = Source("gu2024softmax", "Theorem 4.2", note="the condition lambda > 0 (its cause is not in the source)")
    controls = "the smallest eigenvalue of the softmax tangent kernel at infinite width"
    problem = KernelPoints
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Points, dimension and the standard deviation of the weights."""
        return Space(
            n=Integer(3, 2, 8, "points"),
            d=Integer(3, 1, 64, "dimension"),
            sigma=Real(0.8, 0.1, 2.0, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        """Points in the unit ball."""
        drawn = jax.random.normal(key, (setting["n"], setting["d"] + 1))
        return KernelPoints(points_in_ball(drawn), jnp.asarray(setting["sigma"], float))

    def pose(self, problem: object) -> KernelPoints | None:
        """The first 32 inputs of a regression."""
        return posed(problem, _ROWS)

    def condition(self, problem: KernelPoints) -> Array:
        """Eigenvalues are computed to n eps of the largest."""
        values = jnp.linalg.eigvalsh(gram(SoftmaxTangent(sigma=problem.sigma), problem.x))
        return len(problem.x) * jnp.abs(values[-1] / values[0])


class PositiveDefinite(AbstractDefinitenessClaim):
    """Where the inputs x_1, ..., x_n are distinct and none is 0, the smallest eigenvalue of K is positive: at least

        1 / sum_i sum_q e_iq² (q-1)! / sigma^(2(q-1))

    with sum_q e_iq t^q = (t / |x_i|) prod_(j != i) (t + |<x_j, x_i - x_j>| / |x_i - x_j|) / |x_i - x_j|.
    """

    title = "The softmax tangent kernel is strictly positive definite"
    relation = AtLeast()
    label = "lower"
    unexplained = "the size of lambda: the bound falls faster with n than lambda does"

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        """The two causes of singularity."""
        shortest = jnp.linalg.norm(problem.x, axis=1).min()
        apart = smallest_separation(problem.x)
        return [
            Hypothesis("no input is 0", shortest, ">", 0.0, "K(0, y) = 0 for every y: a row of zeros"),
            Hypothesis("no input stands twice", apart, ">", 0.0, "equal inputs have equal rows of K"),
        ]

    def culprit(self, problem: KernelPoints) -> str | None:
        """The rows."""
        return singular_rows(problem.x)

    def predict(self, problem: KernelPoints) -> Array:
        """The bound by interpolating polynomials."""
        return separation_bound(problem.x, problem.sigma)

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """The smallest eigenvalue."""
        return jnp.linalg.eigvalsh(gram(SoftmaxTangent(sigma=problem.sigma), problem.x))[0]

    def trivial(self, problem: KernelPoints) -> Array:
        """0: K is positive semidefinite."""
        return jnp.zeros(())

    def control(self) -> Control:
        """What orthogonal inputs would have."""

        def smallest_diagonal(bound: Array, problem: KernelPoints) -> Array:
            square = jnp.sum(problem.x**2, axis=1)
            return jnp.min(square * jnp.exp(problem.sigma**2 * square))

        return Control("it is at least the smallest diagonal entry, however near the inputs are", smallest_diagonal)


class SingularWhereRepeated(AbstractDefinitenessClaim):
    """Where one input is 0, or one stands twice, the smallest eigenvalue of K is 0: judged as
    1 + lambda_min / lambda_max = 1 to rounding. Half of the sampled problems have a zero input, half a repeated one.
    """

    title = "The softmax tangent kernel is singular where an input is 0 or stands twice"
    relation = Equal()
    label = "identity"
    unexplained = "inputs that are nearly equal, whose eigenvalue is nearly 0"

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        """Points of which the last is 0 or the first again."""
        coin, points = jax.random.split(key)
        problem = super().sample(setting, points)
        last = jnp.where(jax.random.bernoulli(coin), problem.x[0], jnp.zeros(setting["d"]))
        return KernelPoints(problem.x.at[-1].set(last), problem.sigma)

    def pose(self, problem: object) -> KernelPoints | None:
        """Its converse speaks about a user's data."""
        return problem if isinstance(problem, KernelPoints) else None

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        """A cause of singularity, and a kernel that is not 0."""
        norms = jnp.linalg.norm(problem.x, axis=1)
        cause = jnp.minimum(norms.min(), smallest_separation(problem.x))
        return [
            Hypothesis("an input is 0 or stands twice", cause, "<=", 0.0, "the smaller of |x_i| and |x_i - x_j|"),
            Hypothesis("some input is not 0", norms.max(), ">", 0.0),
        ]

    def predict(self, problem: KernelPoints) -> Array:
        """1."""
        return jnp.ones(())

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """1 + lambda_min / lambda_max."""
        values = jnp.linalg.eigvalsh(gram(SoftmaxTangent(sigma=problem.sigma), problem.x))
        return 1 + values[0] / values[-1]

    def condition(self, problem: KernelPoints) -> Array:
        """Eigenvalues are computed to n eps of the largest."""
        return jnp.asarray(1.0 * len(problem.x))

    def control(self) -> Control:
        """What a solver's jitter makes of it."""
        return Control("the matrix with a jitter of 1e-10 of lambda_max", lambda one, problem: one + 1e-10)
