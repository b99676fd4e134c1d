"""Random stable linear systems (dense, diagonal, or diagonal plus low rank) and their inputs."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.state_space import (
    AbstractStateMatrix,
    ContinuousSystem,
    DenseMatrix,
    DiagonalMatrix,
    DiagonalPlusLowRank,
    DiscreteSystem,
    discretise,
)

DAMPING = 0.5
STRUCTURES = ("diagonal", "dense", "low rank")
_WAVES = 3


class FilteredSequence(eqx.Module):
    """A recurrence with one input and one output channel, and a sequence u of inputs."""

    system: DiscreteSystem
    u: Float[Array, "t 1"]


class SampledSystem(eqx.Module):
    """A system in continuous time with one input and one output, a time step D, and the inputs u at the times k D."""

    system: ContinuousSystem
    step: Float[Array, ""]
    u: Float[Array, "t 1"]


class StructuredSystem(eqx.Module):
    """A complex system dh/dt = A h + b u, y = c h with A = diag(l) - P Q*, a time step and a number of steps.

    Args:
        matrix: the state matrix A.
        input: the input vector b.
        output: the output vector c.
        step: the time step.
        length: the number T of steps.
    """

    matrix: DiagonalPlusLowRank
    input: Complex[Array, "n 1"]
    output: Complex[Array, "1 n"]
    step: Float[Array, ""]
    length: int = eqx.field(static=True)


class DrivenSystem(eqx.Module):
    """A system in continuous time with input u(t) = sum_j a_j cos(w_j t + p_j), a start, and times of observation.

    Args:
        system: a system with one input and one output.
        start: the state at time 0.
        waves: three rows: the amplitudes a, the frequencies w and the phases p of the input.
        times: the times at which the output is observed, ascending.
    """

    system: ContinuousSystem
    start: Float[Array, " n"]
    waves: Float[Array, "3 waves"]
    times: Float[Array, " k"]

    def u(self, time: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Return the input at these times."""
        size, frequency, phase = self.waves
        return jnp.sum(size * jnp.cos(frequency * time[..., None] + phase), axis=-1)


def forgetting(step: Inexact[Array, "n n"], doublings: int = 12) -> Hypothesis:
    """Require that the step matrix to the power 2^doublings has a Frobenius norm below 1, so that states die out."""
    for _ in range(doublings):
        step = step @ step
    return Hypothesis(
        f"the Frobenius norm of A^{2**doublings}",
        jnp.linalg.norm(step),
        "<",
        1.0,
        "then states die out, and rounding errors with them",
    )


def stable(matrix: AbstractStateMatrix) -> Hypothesis:
    """Require that the powers of exp(A / 64) die out, so that the system dh/dt = A h is stable.

    Eight terms of the exponential series are enough for |A| up to about 10.
    """
    dense = matrix.dense() / 64
    term = power = jnp.eye(len(dense), dtype=dense.dtype)
    for k in range(1, 9):
        term = term @ dense / k
        power = power + term
    return forgetting(power)


def stable_dense(normal: Float[Array, "n n"]) -> DenseMatrix:
    """Return -I/2 + (G - G^T)/2 - G G^T/(4n) for an n x n Gaussian G. This matrix is stable, but not normal."""
    return DenseMatrix(
        -DAMPING * jnp.eye(len(normal)) + (normal - normal.T) / 2 - normal @ normal.T / (4 * len(normal))
    )


def stable_diagonal(normal: Float[Array, "2 n"]) -> DiagonalMatrix:
    """Return a diagonal of poles with log-normal decays around 1/2, and frequencies around 0, pi, 2 pi and so on."""
    n = normal.shape[1]
    return DiagonalMatrix(-DAMPING * jnp.exp(0.5 * normal[0]) + 1j * (jnp.pi * jnp.arange(n) + normal[1]))


def stable_low_rank(normal: Float[Array, "4 n"]) -> DiagonalPlusLowRank:
    """Return diag(l) - P P*, with the poles l of `stable_diagonal`."""
    low = (normal[2] + 1j * normal[3])[:, None] / 2
    return DiagonalPlusLowRank(stable_diagonal(normal[:2]).poles, low, low)


class FilteredNoise(Population[FilteredSequence]):
    """Recurrences from random stable systems by the bilinear rule, with white noise as input.

    A setting chooses the structure of the systems: dense, diagonal, or diagonal plus low rank.
    """

    settings = Space(
        states=Integer(16, 1, 64, "states", corners=(6, 16)),
        length=Integer(1024, 2, 4096, "steps", corners=(120, 1024)),
        structure=Choice("diagonal", STRUCTURES, "structure of the state matrix", corners=("dense", "low rank")),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FilteredSequence:
        """Draw a time step between 1/100 and 1/10, normal B and C, and a direct path."""
        n, length = setting["states"], setting["length"]
        parts, square, b, c, rest, u = draws(key, (4, n), (n, n), (n, 1), (1, n), (2,), (length, 1))
        matrix = {"diagonal": stable_diagonal(parts[:2]), "dense": stable_dense(square)}.get(
            setting["structure"], stable_low_rank(parts)
        )
        step = 0.01 * 10 ** (0.5 + 0.5 * jnp.tanh(rest[0]))
        system = ContinuousSystem(matrix, b, c, rest[1:, None])
        return FilteredSequence(discretise(system, step, "bilinear"), u)

    def hypotheses(self, problem: FilteredSequence) -> list[Hypothesis]:
        return [forgetting(problem.system.matrix.dense())]


class DrivenSystems(Population[DrivenSystem]):
    """Dense stable systems that start from a random state, with sums of three waves as input."""

    settings = Space(
        states=Integer(5, 1, 20, "states", corners=(5, 8)), horizon=Real(2.0, 0.1, 10.0, "time", corners=(2.0, 3.0))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> DrivenSystem:
        """Draw normal B, C, D and start, frequencies below 5, and four times."""
        n = setting["states"]
        square, b, c, d, start, waves = draws(key, (n, n), (n, 1), (1, n), (1, 1), (n,), (3, _WAVES))
        spread = jnp.stack([waves[0], 2.5 + 2.5 * jnp.tanh(waves[1]), jnp.pi * jnp.tanh(waves[2])])
        times = setting["horizon"] * jnp.arange(1, 5) / 4
        return DrivenSystem(ContinuousSystem(stable_dense(square), b, c, d), start, spread, times)

    def hypotheses(self, problem: DrivenSystem) -> list[Hypothesis]:
        return [stable(problem.system.matrix)]


class SampledSystems(Population[SampledSystem]):
    """Dense stable systems in continuous time, with a new independent normal input at each time step."""

    settings = Space(
        states=Integer(5, 1, 20, "states", corners=(5, 8)),
        length=Integer(8, 2, 64, "steps", corners=(8, 12)),
        step=Real(0.3, 0.01, 1.0, "time step", corners=(0.3, 0.7)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SampledSystem:
        n, length = setting["states"], setting["length"]
        square, b, c, d, u = draws(key, (n, n), (n, 1), (1, n), (1, 1), (length, 1))
        return SampledSystem(ContinuousSystem(stable_dense(square), b, c, d), jnp.asarray(setting["step"], float), u)

    def hypotheses(self, problem: SampledSystem) -> list[Hypothesis]:
        return [stable(problem.system.matrix)]


class LowRankSystems(Population[StructuredSystem]):
    """Diagonal plus low-rank systems with complex B and C."""

    settings = Space(
        states=Integer(12, 1, 64, "states", corners=(12, 20)),
        length=Integer(64, 2, 1024, "steps", corners=(45, 64)),
        step=Real(0.05, 1e-3, 1.0, "time step", corners=(0.05, 0.2)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StructuredSystem:
        n, length = setting["states"], setting["length"]
        parts, b, c = draws(key, (4, n), (2, n, 1), (2, 1, n))
        b, c = b[0] + 1j * b[1], c[0] + 1j * c[1]
        return StructuredSystem(stable_low_rank(parts), b, c, jnp.asarray(setting["step"], float), length)

    def hypotheses(self, problem: StructuredSystem) -> list[Hypothesis]:
        matrix = problem.matrix
        apart = jnp.abs(matrix.left - matrix.right).max()
        return [
            Hypothesis("the largest real part of the diagonal", matrix.poles.real.max(), "<", 0.0, "modes decay"),
            Hypothesis("P = Q (largest difference)", apart, "<=", 0.0, "-P P* is negative semidefinite"),
        ]
