"""Problems of optimisation that know their solution: pairs of matrices, noisy quadratics, penalised least squares."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._margin_rows import generator_of


class MatrixPair(eqx.Module):
    """Two matrices of one shape."""

    a: Float[np.ndarray, "n m"]
    b: Float[np.ndarray, "n m"]


class MatrixPairs(Population[MatrixPair]):
    """Singular vectors that are those of the other matrix, turned a little or much."""

    def settings(self) -> Space:
        """Rows and columns."""
        return Space(n=Integer(5, 2, 30, "rows"), m=Integer(4, 2, 30, "columns"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> MatrixPair:
        """Turned by an orthogonal factor of I + e N, N normal, e of 0 to 1/2."""
        rng, n, m = generator_of(key), setting["n"], setting["m"]
        turn = lambda d: np.linalg.qr(np.eye(d) + rng.uniform(0, 0.5) * rng.standard_normal((d, d)))
        left, right = (factor * np.sign(np.diagonal(r)) for factor, r in (turn(n), turn(m)))
        u, _, vt = np.linalg.svd(rng.standard_normal((n, m)), full_matrices=False)
        sizes = np.sort(rng.uniform(size=(2, min(n, m))))[:, ::-1]
        return MatrixPair((u * sizes[0]) @ vt, left @ (u * sizes[1]) @ vt @ right)

    def hypotheses(self, problem: MatrixPair) -> list[Hypothesis]:
        """Not 0."""
        size = np.linalg.norm(problem.a) * np.linalg.norm(problem.b)
        return [Hypothesis("product of the two norms", size, ">", 0.0, "there is something to bound")]


class NoisyQuadratic(eqx.Module):
    """x'Hx/2 with its gradient seen with normal noise of variance 1, in the eigenvectors of H.

    Args:
        curvatures: the eigenvalues.
        start: x at first.
    """

    curvatures: Float[np.ndarray, " d"]
    start: Float[np.ndarray, " d"]


class NoisyQuadratics(Population[NoisyQuadratic]):
    """Curvatures of 1/2 to 1."""

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=Integer(4, 1, 30, "dimension", corners=(2, 6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyQuadratic:
        """Starts of variance 1."""
        rng, d = generator_of(key), setting["d"]
        return NoisyQuadratic(rng.uniform(0.5, 1.0, d), rng.standard_normal(d))

    def hypotheses(self, problem: NoisyQuadratic) -> list[Hypothesis]:
        """Strong convexity, and steps that do not diverge."""
        return [
            Hypothesis("least curvature", problem.curvatures.min(), ">", 0.0, "the objective is strongly convex"),
            Hypothesis("largest curvature", problem.curvatures.max(), "<", 1.0, "the first step is not too long"),
        ]


class SplitLasso(eqx.Module):
    """|Ax - b|²/2 + penalty |x|_1 with its solution, and where the method of multipliers stands.

    Args:
        design, target, penalty: of the objective.
        solution: its minimiser.
        split: z, the copy of x that the penalty sees.
        multiplier: u, in units of the weight.
        weight: rho, of |x - z + u|²/2.
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
        """A'(b - Ax)/rho at the solution."""
        return self.design.T @ (self.target - self.design @ self.solution) / self.weight

    def step(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """The next x, z and u."""
        system = self.design.T @ self.design + self.weight * np.eye(len(self.split))
        x = np.linalg.solve(system, self.design.T @ self.target + self.weight * (self.split - self.multiplier))
        seen = x + self.multiplier
        z = np.sign(seen) * np.maximum(np.abs(seen) - self.penalty / self.weight, 0.0)
        return x, z, seen - z


class SplitLassos(Population[SplitLasso]):
    """Targets made so that a drawn sparse x is the solution, weights of 1/30 to 30, 1 to 10 steps done."""

    def settings(self) -> Space:
        """Rows and columns."""
        return Space(
            n=Integer(8, 2, 60, "rows", corners=(7, 12)),
            d=Integer(4, 2, 30, "columns", corners=(3, 6)),
            weight=Real(30.0, 1.0, 1e3, "largest weight"),
        ).where("there are more rows than columns", lambda s: s["n"] > s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> SplitLasso:
        """With b = Ax + A (A'A)^-1 penalty g, g a subgradient of |x|_1."""
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
        """The solution is one."""
        slope = problem.weight * problem.best_multiplier / problem.penalty
        own = np.where(problem.solution == 0, np.clip(slope, -1, 1), np.sign(problem.solution))
        gap = np.abs(slope - own).max()
        return [Hypothesis("the solution's subgradient is one, up to", gap, "<=", 1e-8, "distances are to a minimiser")]
