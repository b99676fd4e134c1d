"""Background of optimisation: a trace inequality, averaged stochastic steps, and multipliers that come nearer.

Steps along exact gradients and proximal maps have sections of their own (`optimisation.proximal_gradient`,
`in_context.accelerated_transformer`). The theory controls distances to a solution of convex problems; it leaves open
objectives that are not convex.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Rate, Source
from lemmata.engine.problems._margin_rows import generator_of
from lemmata.engine.problems._textbook_descents import (
    MatrixPair,
    MatrixPairs,
    NoisyQuadratic,
    NoisyQuadratics,
    SplitLasso,
    SplitLassos,
)

_KEY = "younes2024introduction"
_RUNS = 16


class TraceBySingularValues(Claim[MatrixPair]):
    """For two matrices of one shape with singular values a_i and b_i in falling order

    tr A'B <= sum of a_i b_i   (von Neumann).
    """

    title = "Von Neumann's trace inequality"
    source = Source(_KEY, "Abstract, matrix analysis")
    population = MatrixPairs()
    relation = AtMost()
    control = Control("nine tenths of it", lambda bound, problem: 0.9 * bound)
    controls = "the inner product of two matrices"
    unexplained = "how far singular vectors are turned"
    traced = False

    def predict(self, problem: MatrixPair) -> Array:
        values = (np.linalg.svd(matrix, compute_uv=False) for matrix in (problem.a, problem.b))
        return jnp.asarray(next(values) @ next(values))

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        """Entry by entry."""
        return jnp.asarray(np.sum(problem.a * problem.b))

    def trivial(self, problem: MatrixPair) -> Array:
        """The product of the lengths."""
        return jnp.asarray(np.linalg.norm(problem.a) * np.linalg.norm(problem.b))


class AveragedStepsForgetNoise(Claim[NoisyQuadratic]):
    """Stochastic gradient steps x_k = x_(k-1) - k^(-1/2) (H x_(k-1) + noise) on a strongly convex quadratic x'Hx/2 with
    H < I have an average over t steps whose expected objective falls like

        1/t   (Ruppert; Polyak and Juditsky),

    while the last iterate's falls like t^(-1/2) only.
    """

    title = "Averaged stochastic steps reach the rate 1/t"
    source = Source(_KEY, "Abstract, stochastic gradient descent")
    population = NoisyQuadratics()
    relation = Rate("t", (128.0, 512.0, 2048.0))
    control = Control("the rate of the last iterate", lambda exponent, problem: exponent / 2)
    controls = "the objective at the average of noisy steps"
    unexplained = "the first steps, which forget the start"
    traced = False
    trials = 48

    def predict(self, problem: NoisyQuadratic) -> Array:
        return jnp.asarray(-1.0)

    def measure_at(self, problem: NoisyQuadratic, key: Key[Array, ""], t: float) -> Array:
        """The mean over sixteen runs, each written as a sum of its noise."""
        steps, h = np.arange(1, int(t) + 1) ** -0.5, problem.curvatures
        logs = np.cumsum(np.log1p(-steps[:, None] * h), axis=0)
        drawn = generator_of(key).standard_normal((_RUNS, len(steps), len(h)))
        # What step j adds to the average: its length times the sum over later k of exp(logs_k - logs_j).
        later = np.empty_like(logs)
        held = np.zeros(len(h))
        for j in range(len(steps) - 1, -1, -1):
            held = 1 + (held * (1 - steps[j + 1] * h) if j + 1 < len(steps) else 0.0)
            later[j] = held
        mean = (np.exp(logs).sum(0) * problem.start - np.einsum("rtd,td->rd", drawn, steps[:, None] * later)) / t
        return jnp.asarray(np.mean(mean**2 @ h) / 2)


class MultipliersComeNearer(Claim[SplitLasso]):
    """The alternating direction method of multipliers for |Ax - b|²/2 + penalty |z|_1 subject to x = z, with any weight
    rho and scaled multiplier u, comes nearer to a solution z*, u* in every step but the first by at least

        |x' - z'|² + |z' - z|² <= (|z - z*|² + |u - u*|²) - (|z' - z*|² + |u' - u*|²),

    primes for what a step makes of x, z and u.
    """

    title = "The method of multipliers comes nearer in every step"
    source = Source(_KEY, "Abstract, proximal methods")
    population = SplitLassos()
    relation = AtLeast()
    control = Control("three times as much", lambda gain, problem: 3 * gain)
    controls = "the distance to a solution"
    unexplained = "which weight is best"
    traced = False

    def predict(self, problem: SplitLasso) -> Array:
        x, z, _ = problem.step()
        return jnp.asarray(np.sum((x - z) ** 2) + np.sum((z - problem.split) ** 2))

    def measure(self, problem: SplitLasso, key: Key[Array, ""]) -> Array:
        """The difference of squared distances."""
        _, z, u = problem.step()
        return jnp.asarray(_distance(problem, problem.split, problem.multiplier) - _distance(problem, z, u))

    def trivial(self, problem: SplitLasso) -> Array:
        """It does not go away."""
        return jnp.zeros(())

    def condition(self, problem: SplitLasso) -> Array:
        """A difference of distances to a solution that is known to the conditioning of the system."""
        _, z, u = problem.step()
        before = _distance(problem, problem.split, problem.multiplier)
        gain = max(before - _distance(problem, z, u), 1e-290)
        return jnp.asarray(np.linalg.cond(problem.design) ** 2 * (1 + 1 / problem.weight) ** 2 * (1 + before) / gain)


def _distance(problem: SplitLasso, z: np.ndarray, u: np.ndarray) -> float:
    return float(np.sum((z - problem.solution) ** 2) + np.sum((u - problem.best_multiplier) ** 2))
