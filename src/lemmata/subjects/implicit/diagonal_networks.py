"""Diagonal linear networks: solutions between the solution of least l_2 norm and the solution of least l_1 norm.

This theory gives the limit of gradient flow on w = u² - v² for every size of the start. It also says how fast the limit
becomes sparse as the start shrinks. It assumes a least-squares loss and u = v at the start. It does not explain
networks whose units are shared by several coordinates.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Rate, Real, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive
from lemmata.engine.problems.variables import dimension, rows
from lemmata.subjects.implicit._flows import TOLERANCE, flow, lowest

ABOUT = {"tool": "dynamical systems", "architecture": "linear model", "object": "training"}

_WHOLE = -1
_LONG = 60.0
_STARTS = (1e-3, 1e-4, 1e-5, 1e-6)


class DiagonalNetwork(eqx.Module):
    """A system A w = b for w = u² - v², and the start u = v = alpha.

    Args:
        a: the matrix A, of full rank.
        truth: a solution, so that b = A truth.
        alpha: the start of all weights.
    """

    a: Float[Array, "n p"]
    truth: Float[Array, " p"]
    alpha: Float[Array, ""]

    @property
    def b(self) -> Float[Array, " n"]:
        """The right side b = A truth."""
        return self.a @ self.truth

    @property
    def rates(self) -> Float[Array, " n"]:
        """The eigenvalues of 8 alpha² A A'; the smallest is a lower bound on the rate of the flow."""
        return 8 * self.alpha**2 * jnp.linalg.eigvalsh(self.a @ self.a.T)


def _resolved(problem: DiagonalNetwork) -> Hypothesis:
    values = jnp.linalg.eigvalsh(problem.a @ problem.a.T)
    ratio = values[-1] / jnp.maximum(values[0], 1e-300)
    return Hypothesis(
        "the largest eigenvalue of A A' is below 1000 times the smallest", ratio, "<", 1000.0, "the limit is reached"
    )


class SparseSystems(Population[DiagonalNetwork]):
    """Systems whose solution of least l_1 norm is sparse and unique, with a known dual certificate.

    The matrix has n columns S, on which the solution is not 0 (its support), and further columns. The columns S are
    near the identity. Let nu be the dual solution, for which A_S'nu is the sign of the solution. The further columns
    are scaled so that |a'nu| is `eta` for one of them and at most 0.3 eta for the others.
    """

    settings = Space(
        n=Integer(3, 1, 8, "rows, and nonzeros of the solution", corners=(2, 4)),
        spare=Integer(4, 1, 20, "columns outside the support", corners=(2, 6)),
        eta=Real(0.6, 0.5, 0.75, "largest |a'nu| outside the support", corners=(0.5, 0.75)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> DiagonalNetwork:
        keys = jax.random.split(key, 5)
        n, spare = setting["n"], setting["spare"]
        used = jnp.eye(n) + 0.4 / n * jax.random.normal(keys[0], (n, n))
        sign = jax.random.rademacher(keys[1], (n,), float)
        size = jax.random.uniform(keys[2], (n,), minval=0.5, maxval=2.0)
        others = jax.random.normal(keys[3], (n, spare))
        reach = jnp.abs(others.T @ jnp.linalg.solve(used.T, sign))
        share = 0.3 * jax.random.uniform(keys[4], (spare,)).at[0].set(1 / 0.3)
        a = jnp.concatenate([used, others * setting["eta"] * share / reach], axis=1)
        return DiagonalNetwork(a, jnp.concatenate([sign * size, jnp.zeros(spare)]), jnp.ones(()))

    def hypotheses(self, problem: DiagonalNetwork) -> list[Hypothesis]:
        n = len(problem.b)
        values = jnp.linalg.svd(problem.a[:, :n], compute_uv=False)
        reach = _outside(problem)
        return [
            Hypothesis("the used columns are independent", values[-1], ">", 0.2, "then the support is identified"),
            Hypothesis("largest |a'nu| outside the support", reach, "<", 0.9, "then the sparse solution is unique"),
            Hypothesis(
                "longest column outside", jnp.abs(problem.a[:, n:]).max(), "<", 20.0, "otherwise the flow is stiff"
            ),
        ]


def _outside(problem: DiagonalNetwork) -> Array:
    """Return the largest |a'nu| over the columns a outside the support."""
    n = len(problem.b)
    return jnp.abs(problem.a[:, n:].T @ jnp.linalg.solve(problem.a[:, :n].T, jnp.sign(problem.truth[:n]))).max()


def trained(problem: DiagonalNetwork, alpha: Array | float, time: Array) -> Float[Array, " p"]:
    """Return w = u² - v² at a time, by gradient flow of |A (u² - v²) - b|²/2 in (u, v)."""

    def loss(state: tuple) -> Array:
        u, v = state
        return jnp.sum((problem.a @ (u**2 - v**2) - problem.b) ** 2) / 2

    start = jnp.full(problem.truth.shape, alpha)
    u, v = flow(lambda state: jax.tree.map(jnp.negative, jax.grad(loss)(state)), (start, start), time[None])
    return (u**2 - v**2)[0]


class DiagonalNetworkLimit(Claim[DiagonalNetwork]):
    """Let A w = b be linear equations with fewer rows than unknowns, where A has full rank. A diagonal network writes
    the weights as w = u² - v², coordinate by coordinate. If u = v = alpha in all coordinates at the start, gradient
    flow of |A (u² - v²) - b|²/2 in u and v converges. Of all solutions of A w = b, the limit of w = u² - v² has the
    smallest value of

        sum_i w_i asinh(w_i / (2 alpha²)) - sqrt(w_i² + 4 alpha⁴).

    For large alpha this limit is the solution of least l_2 norm, and for alpha -> 0 the limit tends to a solution of
    least l_1 norm.
    """

    title = "The size of the initial weights chooses the norm that gradient flow of a diagonal network minimises"
    source = Source("woodworth2020", note="main result for depth 2")
    population = Drawn(
        DiagonalNetwork,
        positive("alpha", "at weights of 0 the gradient is 0"),
        _resolved,
        n=rows(2, 1, 4, corners=(1, 3)),
        p=dimension(8, 8, 20, corners=(8, 10)),
        a=normal("n", "p"),
        truth=normal("p"),
        alpha=log_uniform(0.1, 2.0),
    )
    relation = Equal(block=_WHOLE)
    control = Control("alpha takes the place of alpha²", lambda limit, problem: _limit(problem, problem.alpha))
    controls = "which of many solutions is reached, for every size of the start"
    unexplained = "starts with u different from v"

    def predict(self, problem: DiagonalNetwork) -> Array:
        return _limit(problem, problem.alpha**2)

    def measure(self, problem: DiagonalNetwork, key: Key[Array, ""]) -> Array:
        return trained(problem, problem.alpha, _LONG / problem.rates[0])

    def condition(self, problem: DiagonalNetwork) -> Array:
        """Return the tolerance times the number of steps, which depends on the largest rate at the end of the flow.

        Rates are proportional to u² + v² = sqrt(w² + 4 alpha⁴), and u² + v² is 2 alpha² at the start.
        """
        growth = jnp.sqrt(1 + (jnp.abs(self.predict(problem)).max() / (2 * problem.alpha**2)) ** 2)
        return TOLERANCE / jnp.finfo(float).eps * problem.rates[-1] / problem.rates[0] * growth


def _limit(problem: DiagonalNetwork, scale: Array) -> Float[Array, " p"]:
    """Return 2 scale sinh(A'nu), where nu solves the convex dual problem. With scale = alpha², this is the limit of
    gradient flow.
    """
    dual = lambda nu: 2 * scale * jnp.sum(jnp.cosh(problem.a.T @ nu)) - problem.b @ nu
    return 2 * scale * jnp.sinh(problem.a.T @ lowest(dual, jnp.zeros(len(problem.b))))


class SlowToSparse(Claim[DiagonalNetwork]):
    """Let w* be the unique solution of A w = b of least l_1 norm, and let S be its support. Let A_S be the columns of A
    in S, and let this matrix be square and invertible. Let nu solve A_S'nu = sign(w*_S). Let eta < 1 be the largest
    |a'nu| over the columns a of A outside S. A diagonal network writes w = u² - v². Let w be the limit of gradient flow
    of |A (u² - v²) - b|²/2 in u and v, from u = v = alpha. As alpha -> 0,

        |w|_1 - |w*|_1 ~ C alpha^(2 (1 - eta)).

    The constant C does not depend on alpha. So if eta is near 1, sparsity needs a very small start. The test divides
    the excess |w|_1 - |w*|_1 by the same excess of the solution of least l_2 norm. Gradient flow in w itself, from 0,
    reaches this solution.
    """

    title = "As its start alpha shrinks, a diagonal network's l_1 norm nears the least l_1 norm like a power of alpha"
    source = Source("woodworth2020", note="how small the start must be, here with the exponent")
    population = SparseSystems()
    relation = Rate("alpha", _STARTS)
    control = Control(
        "the excess of the l_1 norm falls like alpha^(2 (1 - eta²))",
        lambda exponent, problem: 2 * (1 - _outside(problem) ** 2),
    )
    controls = "how far the l_1 norm of the limit is above the least l_1 norm"
    unexplained = "the constant, and columns with |a'nu| = 1"
    trials = 64

    def predict(self, problem: DiagonalNetwork) -> Array:
        return 2 * (1 - _outside(problem))

    def measure(self, problem: DiagonalNetwork, key: Key[Array, ""]) -> Array:
        least = jnp.abs(problem.truth).sum()
        direct = problem.a.T @ jnp.linalg.solve(problem.a @ problem.a.T, problem.b)
        excess = lambda w: jnp.abs(w).sum() - least
        ends = jax.vmap(lambda alpha: trained(problem, alpha, jnp.asarray(_LONG)))(jnp.asarray(_STARTS))
        return jax.vmap(excess)(ends) / excess(direct)
