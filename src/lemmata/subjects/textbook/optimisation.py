"""Optimisation: a trace inequality, averaged stochastic gradient steps, and the method of multipliers.

Other sections treat steps along exact gradients and proximal maps (`optimisation.proximal_gradient`,
`in_context.accelerated_transformer`). The theory here bounds distances to a solution of convex problems. It does not
treat objectives that are not convex.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    Hypothesis,
    Integer,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, normal, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension

ABOUT = {
    "tool": "convex optimisation",
    "architecture": "any",
    "object": "training",
    "TraceBySingularValues": {"tool": "linear algebra", "object": "inequality"},
}


class MatrixPair(eqx.Module):
    """Two matrices A and B of the same shape."""

    a: Float[np.ndarray, "n m"]
    b: Float[np.ndarray, "n m"]


class MatrixPairs(Population[MatrixPair]):
    """Pairs of matrices. The singular vectors of the second matrix are those of the first matrix, rotated by a small or
    a large angle.
    """

    settings = Space(n=Integer(5, 2, 30, "rows"), m=Integer(4, 2, 30, "columns"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> MatrixPair:
        """Draw two matrices. The singular vectors are turned by the orthogonal factor of I + e N, with N normal and e
        from 0 to 1/2.
        """
        rng, n, m = generator_of(key), setting["n"], setting["m"]
        turn = lambda d: np.linalg.qr(np.eye(d) + rng.uniform(0, 0.5) * rng.standard_normal((d, d)))
        left, right = (factor * np.sign(np.diagonal(r)) for factor, r in (turn(n), turn(m)))
        u, _, vt = np.linalg.svd(rng.standard_normal((n, m)), full_matrices=False)
        sizes = np.sort(rng.uniform(size=(2, min(n, m))))[:, ::-1]
        return MatrixPair((u * sizes[0]) @ vt, left @ (u * sizes[1]) @ vt @ right)

    def hypotheses(self, problem: MatrixPair) -> list[Hypothesis]:
        size = np.linalg.norm(problem.a) * np.linalg.norm(problem.b)
        return [Hypothesis("product of the two norms", size, ">", 0.0, "both matrices are nonzero")]


class NoisyQuadratic(eqx.Module):
    """The objective x'Hx/2 in the eigenbasis of H, a start, and gradients with normal noise of variance 1."""

    curvatures: Float[np.ndarray, " d"] = eqx.field(converter=np.asarray)
    start: Float[np.ndarray, " d"] = eqx.field(converter=np.asarray)


class SplitLasso(eqx.Module):
    """The objective |Ax - b|²/2 + penalty |x|_1, its solution, and the current point of the method of multipliers.

    Args:
        design, target, penalty: A, b and the penalty of the objective.
        solution: the minimiser of the objective.
        split: z, the copy of x that enters the penalty.
        multiplier: u, the multiplier divided by the weight.
        weight: rho, the weight of |x - z + u|²/2.
    """

    design: Float[np.ndarray, "n d"]
    target: Float[np.ndarray, " n"]
    penalty: float = eqx.field(static=True)
    solution: Float[np.ndarray, " d"]
    split: Float[np.ndarray, " d"]
    multiplier: Float[np.ndarray, " d"]
    weight: float = eqx.field(static=True)

    @property
    def best_multiplier(self) -> Float[np.ndarray, " d"]:
        """The multiplier A'(b - Ax)/rho at the solution x."""
        return self.design.T @ (self.target - self.design @ self.solution) / self.weight

    def step(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """Return x, z and u after one step of the method of multipliers."""
        system = self.design.T @ self.design + self.weight * np.eye(len(self.split))
        x = np.linalg.solve(system, self.design.T @ self.target + self.weight * (self.split - self.multiplier))
        seen = x + self.multiplier
        z = np.sign(seen) * np.maximum(np.abs(seen) - self.penalty / self.weight, 0.0)
        return x, z, seen - z


class SplitLassos(Population[SplitLasso]):
    """Lasso problems whose solution is a drawn sparse x, with weights of 1/30 to 30, after 1 to 10 steps."""

    settings = Space(
        n=Integer(8, 2, 60, "rows", corners=(7, 12)),
        d=Integer(4, 2, 30, "columns", corners=(3, 6)),
        weight=Real(30.0, 1.0, 1e3, "largest weight"),
    ).where("there are more rows than columns", lambda s: s["n"] > s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> SplitLasso:
        """Draw a sparse x and set b = Ax + A (A'A)^-1 penalty g, where g is a subgradient of |x|_1."""
        rng, d = generator_of(key), setting["d"]
        design = rng.standard_normal((setting["n"], d)) / np.sqrt(setting["n"])
        solution = rng.standard_normal(d) * (rng.uniform(size=d) < 0.6)
        slope = np.where(solution == 0, rng.uniform(-0.9, 0.9, d), np.sign(solution))
        penalty, weight = float(rng.uniform(0.1, 1.0)), float(setting["weight"] ** rng.uniform(-1, 1))
        target = design @ (solution + np.linalg.solve(design.T @ design, penalty * slope))
        start = (rng.standard_normal(d), rng.standard_normal(d))
        for _ in range(rng.integers(1, 11)):
            start = SplitLasso(design, target, penalty, solution, *start, weight).step()[1:]
        return SplitLasso(design, target, penalty, solution, *start, weight)

    def hypotheses(self, problem: SplitLasso) -> list[Hypothesis]:
        slope = problem.weight * problem.best_multiplier / problem.penalty
        own = np.where(problem.solution == 0, np.clip(slope, -1, 1), np.sign(problem.solution))
        gap = np.abs(slope - own).max()
        return [
            Hypothesis(
                "distance of the slope at the solution from a subgradient",
                gap,
                "<=",
                1e-8,
                "distances are measured to a minimiser",
            )
        ]


_KEY = "younes2024introduction"
_RUNS = 16


class TraceBySingularValues(Claim[MatrixPair]):
    """Let A and B be two real matrices of the same shape. Let a_i be the singular values of A and b_i the singular
    values of B, both in decreasing order. Then

        tr A'B <= sum of a_i b_i   (von Neumann).
    """

    title = "Von Neumann's bound on the trace of a product of two matrices"
    source = Source(_KEY, "Abstract, matrix analysis")
    population = MatrixPairs()
    relation = AtMost()
    control = Control("the trace is at most 9/10 of the bound", lambda bound, problem: 0.9 * bound)
    controls = "the inner product of two matrices"
    unexplained = "the angles between the singular vectors"
    traced = False

    def predict(self, problem: MatrixPair) -> Array:
        values = (np.linalg.svd(matrix, compute_uv=False) for matrix in (problem.a, problem.b))
        return jnp.asarray(next(values) @ next(values))

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        """The trace of A'B, computed entry by entry."""
        return jnp.asarray(np.sum(problem.a * problem.b))

    def trivial(self, problem: MatrixPair) -> Array:
        """Return the product of the Frobenius norms of A and B, which bounds the trace by Cauchy's inequality."""
        return jnp.asarray(np.linalg.norm(problem.a) * np.linalg.norm(problem.b))


class AveragedStepsForgetNoise(Claim[NoisyQuadratic]):
    """Consider stochastic gradient steps x_k = x_(k-1) - k^(-1/2) (H x_(k-1) + noise) on a strongly convex quadratic
    x'Hx/2 with H < I, where the noise of each step is an independent normal vector. The expected objective at the
    average of the first t iterates decreases like

        1/t   (Ruppert; Polyak and Juditsky).

    The expected objective at the last iterate decreases only like t^(-1/2).
    """

    title = "The average of the iterates of stochastic gradient descent reaches the rate 1/t"
    source = Source(_KEY, "Abstract, stochastic gradient descent")
    population = Drawn(
        NoisyQuadratic,
        positive("curvatures", "the objective is strongly convex"),
        lambda own: Hypothesis("largest curvature", own.curvatures.max(), "<", 1.0, "the first step is not too long"),
        d=dimension(4, corners=(2, 6)),
        curvatures=uniform(0.5, 1.0, "d"),
        start=normal("d"),
    )
    relation = Rate("t", (128.0, 512.0, 2048.0))
    control = Control("the average has the rate of the last iterate", lambda exponent, problem: exponent / 2)
    controls = "the objective at the average of noisy gradient steps"
    unexplained = "the first steps, in which the start still matters"
    traced = False
    trials = 48
    predict = -1.0

    def measure_at(self, problem: NoisyQuadratic, key: Key[Array, ""], t: float) -> Array:
        """The mean objective at the average iterate over sixteen runs, each computed as a sum over its noise."""
        steps, h = np.arange(1, int(t) + 1) ** -0.5, problem.curvatures
        logs = np.cumsum(np.log1p(-steps[:, None] * h), axis=0)
        drawn = generator_of(key).standard_normal((_RUNS, len(steps), len(h)))
        # The contribution of step j to the average. It is its length times the sum over later k of exp(logs_k -
        # logs_j).
        later = np.empty_like(logs)
        held = np.zeros(len(h))
        for j in range(len(steps) - 1, -1, -1):
            held = 1 + (held * (1 - steps[j + 1] * h) if j + 1 < len(steps) else 0.0)
            later[j] = held
        mean = (np.exp(logs).sum(0) * problem.start - np.einsum("rtd,td->rd", drawn, steps[:, None] * later)) / t
        return jnp.asarray(np.mean(mean**2 @ h) / 2)


class MultipliersComeNearer(Claim[SplitLasso]):
    """Apply the alternating direction method of multipliers (ADMM) to the minimisation of |Ax - b|²/2 + penalty |z|_1
    subject to x = z. Let rho > 0 be the weight of the constraint in ADMM, and u the scaled multiplier. Let z* and u* be
    the values of z and u at a solution. Let x', z' and u' be the result of a step from z and u. For every step except
    the first,

        |x' - z'|² + |z' - z|² <= (|z - z*|² + |u - u*|²) - (|z' - z*|² + |u' - u*|²).
    """

    title = "Every ADMM step after the first comes nearer to a solution of the Lasso"
    source = Source(_KEY, "Abstract, proximal methods")
    population = SplitLassos()
    relation = AtLeast()
    control = Control("the squared distance falls by at least three times the bound", lambda gain, problem: 3 * gain)
    controls = "the distance to a solution"
    unexplained = "which weight rho is best"
    traced = False
    trivial = 0.0  # without the theorem, the distance need not fall

    def predict(self, problem: SplitLasso) -> Array:
        x, z, _ = problem.step()
        return jnp.asarray(np.sum((x - z) ** 2) + np.sum((z - problem.split) ** 2))

    def measure(self, problem: SplitLasso, key: Key[Array, ""]) -> Array:
        """The decrease of the squared distance |z - z*|² + |u - u*|² in the step, the right side of the inequality."""
        _, z, u = problem.step()
        return jnp.asarray(_distance(problem, problem.split, problem.multiplier) - _distance(problem, z, u))

    def condition(self, problem: SplitLasso) -> Array:
        """Return a bound on the rounding errors. Distances to a solution are subtracted, and a linear system limits
        their accuracy.
        """
        _, z, u = problem.step()
        before = _distance(problem, problem.split, problem.multiplier)
        gain = max(before - _distance(problem, z, u), 1e-290)
        return jnp.asarray(np.linalg.cond(problem.design) ** 2 * (1 + 1 / problem.weight) ** 2 * (1 + before) / gain)


def _distance(problem: SplitLasso, z: np.ndarray, u: np.ndarray) -> float:
    return float(np.sum((z - problem.solution) ** 2) + np.sum((u - problem.best_multiplier) ** 2))
