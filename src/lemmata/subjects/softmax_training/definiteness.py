"""When the softmax tangent kernel is positive definite: lambda > 0 and its causes.

The convergence theorems of softmax networks assume lambda = lambda_min(H) > 0, where H is the tangent kernel at the
training inputs. This theory is about the smallest eigenvalue of the limit of H at infinite width. The limit has the
entries K(x, y) = <x, y> exp(sigma² <x, y>), where sigma is the standard deviation of the hidden weights. The eigenvalue
is positive exactly if no input is 0 and no input occurs twice. The distances between inputs and the norms of inputs
bound the eigenvalue from below. If the hypothesis lambda > 0 fails, its cause can therefore be checked and named. The
theory does not explain the true size of lambda, which in few dimensions falls fast with the number of inputs.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Kind, Source
from lemmata.engine.problems.softmax_kernels import DistinctPoints, KernelPoints, SingularPoints

ABOUT = {"tool": "reproducing kernels", "architecture": "dense network", "object": "spectrum"}

_CONTROLS = "the smallest eigenvalue of the softmax tangent kernel at infinite width"
_NOTE = "the condition lambda > 0 (its cause is not in the source)"


def separation_bound(x: Float[Array, "n d"], sigma: Float[Array, ""]) -> Float[Array, ""]:
    """Return a lower bound on lambda_min of K on the rows of x; it is positive if rows are distinct and not 0.

    The polynomial p_i(z) = <z, x_i> / |x_i|² prod_(j != i) <z - x_j, x_i - x_j> / |x_i - x_j|² is 0 at the origin and
    at every other x_j, and 1 at x_i. The kernel is the series K = sum_q sigma^(2(q-1)) / (q-1)! <x, y>^q. Let T_q be
    the coefficient tensor of a polynomial's part of degree q. In the reproducing kernel Hilbert space of K, the squared
    norm of the polynomial is at most sum_q |T_q|² (q-1)! / sigma^(2(q-1)).
    The diagonal of K^-1 holds the smallest squared norms of functions that are 1 at one x_i and 0 at the others.
    Therefore lambda_min >= 1 / tr K^-1 >= 1 / sum_i |p_i|², where |p_i| is the norm in this space.

    Args:
        x: the points, one in each row.
        sigma: the standard deviation of the hidden weights.
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


class PositiveDefinite(Claim[KernelPoints]):
    """Let x_1, ..., x_n be distinct inputs, none of which is 0. Let sigma be the standard deviation of the hidden
    weights of a softmax network of infinite width. Its tangent kernel at these inputs is the matrix with the entries
    <x_i, x_j> exp(sigma² <x_i, x_j>). For i, q = 1, ..., n, let e_iq be the coefficients of the polynomials

        sum_q e_iq t^q = (t / |x_i|) prod_(j != i) (t + |<x_j, x_i - x_j>| / |x_i - x_j|) / |x_i - x_j|.

    The smallest eigenvalue of the matrix is positive: it is at least

        1 / sum_i sum_q e_iq² (q-1)! / sigma^(2(q-1)).
    """

    title = "The softmax tangent kernel is positive definite at distinct, nonzero inputs"
    source = Source("gu2024softmax", "Theorem 4.2", note=_NOTE)
    stated = Kind.OWN
    population = DistinctPoints()
    relation = AtLeast()
    control = Control("the smallest eigenvalue is at least four times the bound", lambda bound, problem: 4 * bound)
    controls = _CONTROLS
    unexplained = "the size of lambda, because the bound falls faster with n than lambda does"
    trivial = 0.0  # k is positive semidefinite

    def predict(self, problem: KernelPoints) -> Array:
        return separation_bound(problem.x, problem.sigma)

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        return jnp.linalg.eigvalsh(problem.limit)[0]

    def condition(self, problem: KernelPoints) -> Array:
        """Eigenvalues are computed with an error of n eps times the largest eigenvalue."""
        values = jnp.linalg.eigvalsh(problem.limit)
        return len(problem.x) * jnp.abs(values[-1] / values[0])


class SingularWhereRepeated(Claim[KernelPoints]):
    """Let x_1, ..., x_n be inputs. Suppose that one of these inputs is 0, or that two of them are equal. Consider the
    matrix with the entries <x_i, x_j> exp(sigma² <x_i, x_j>). It is the tangent kernel of a softmax network of infinite
    width with weights of standard deviation sigma. The smallest eigenvalue of this matrix is 0.

    The claim is tested as 1 + lambda_min / lambda_max = 1, up to rounding. Half of the sampled problems have a zero
    input, and the other half a repeated input.
    """

    title = "The softmax tangent kernel is singular if an input is 0 or occurs twice"
    source = Source("gu2024softmax", "Theorem 4.2", note=_NOTE)
    stated = Kind.OWN
    population = SingularPoints()
    relation = Equal()
    control = Control(
        "the matrix has a solver's jitter of 1e-10 lambda_max on its diagonal", lambda one, problem: one + 1e-10
    )
    controls = _CONTROLS
    unexplained = "inputs that are nearly equal, whose smallest eigenvalue is nearly 0"
    predict = 1.0

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        values = jnp.linalg.eigvalsh(problem.limit)
        return 1 + values[0] / values[-1]

    def condition(self, problem: KernelPoints) -> Array:
        """Eigenvalues are computed with an error of n eps times the largest eigenvalue."""
        return jnp.asarray(1.0 * len(problem.x))
