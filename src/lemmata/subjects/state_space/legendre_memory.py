"""HiPPO-LegS: states that are the Legendre coefficients of the whole past.

This theory says what each state of a system with the LegS matrices A and B means, for every input signal u. With the
factor 1/t in the differential equation, dh/dt = (A h + B u)/t, the states hold the projection of the past on
polynomials. Layers of networks omit this factor; their states are a memory that is warped exponentially in time. The
theory assumes exact arithmetic and the matrices at initialisation. It does not say how training changes the matrices. A
is a normal matrix minus a matrix of rank one. The lower frequencies of the normal part are not multiples of pi, unlike
those of the diagonal model that replaces it.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Kind, Limit, Population, Source, Space
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.state_space import ContinuousSystem, DenseMatrix, legs

from ._integration import integrated

ABOUT = {"tool": "approximation theory", "architecture": "state-space model", "object": "memory"}


class LegendreMemory(eqx.Module):
    """The signal u(x) = sum_j a_j cos(w_j x + p_j) on [0, t], and a vector with one entry for each state.

    Args:
        waves: three rows: the amplitudes a, the frequencies w and the phases p of the signal.
        time: the time t up to which the signal is observed.
        probe: any vector.
    """

    waves: Float[Array, "3 waves"]
    time: Float[Array, ""]
    probe: Float[Array, " n"]

    @property
    def states(self) -> int:
        """The number N of states."""
        return len(self.probe)

    def u(self, time: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return the signal at these times."""
        size, frequency, phase = self.waves
        return jnp.sum(size * jnp.cos(frequency * time[:, None] + phase), axis=1)


class LegendreMemories(Population[LegendreMemory]):
    """Signals of three waves with a few periods, observed for a time around 1."""

    settings = Space(states=Integer(12, 1, 24, "states", corners=(6, 12)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LegendreMemory:
        """Draw normal amplitudes, frequencies below 6 and a normal vector `probe`."""
        waves, rest, probe = draws(key, (3, 3), (), (setting["states"],))
        spread = jnp.stack([waves[0], 3 + 3 * jnp.tanh(waves[1]), jnp.pi * jnp.tanh(waves[2])])
        return LegendreMemory(spread, jnp.exp(0.3 * rest), probe)

    def hypotheses(self, problem: LegendreMemory) -> list[Hypothesis]:
        return [Hypothesis("the time", problem.time, ">", 0.0, "at time 0 there is no past")]


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_HIPPO = Source("gu2020hippo", "Section 3", note="the matrices of scaled Legendre memory")


def legendre(states: int, points: Float[Array, " k"]) -> Float[Array, "n k"]:
    """Return sqrt(2n+1) P_n at the points, n = 0 ... N - 1, where P_n is the Legendre polynomial of degree n."""
    rows = [jnp.ones_like(points), points]
    for n in range(1, states):
        rows.append(((2 * n + 1) * points * rows[n] - n * rows[n - 1]) / (n + 1))
    return jnp.sqrt(2 * jnp.arange(states) + 1.0)[:, None] * jnp.stack(rows[:states])


def _coefficients(problem: LegendreMemory, time: Array) -> Array:
    """Return the Legendre coefficients h_n(t) of the signal on [0, t], by Gauss's quadrature rule."""
    values = problem.u(time * (1 + _NODES) / 2)
    return legendre(problem.states, jnp.asarray(_NODES)) @ (_WEIGHTS * values) / 2


def _slope(problem: LegendreMemory, diagonal: float) -> Array:
    """Return (A h + B u)/t with A + diagonal I in place of A; `diagonal` is 0 except in a control."""
    a, b = legs(problem.states)
    h = _coefficients(problem, problem.time)
    return (a @ h + diagonal * h + b[:, 0] * problem.u(problem.time[None])) / problem.time


class LegendreCoefficients(Claim[LegendreMemory]):
    """Let u be a signal, and let P_n be the Legendre polynomials. The LegS matrix A of N states has the entries A_nk =
    -sqrt((2n+1)(2k+1)) for n > k, -(n+1) for n = k, and 0 for n < k. The input vector is B_n = sqrt(2n+1). The Legendre
    coefficients of the past of u,

        h_n(t) = (1/t) ∫_0^t u(x) sqrt(2n+1) P_n(2x/t - 1) dx,

    for n = 0 ... N-1, satisfy t dh/dt = A h + B u exactly, for every N. So the equation for the N kept coefficients
    needs no coefficient of higher order.
    """

    title = "LegS (HiPPO) states are the Legendre coefficients of the past input"
    source = _HIPPO
    stated = Kind.THEOREM
    population = LegendreMemories()
    relation = Equal(block=1)
    control = Control("the diagonal is -n", lambda slope, problem: _slope(problem, 1.0))
    controls = "what the states of a LegS memory hold"
    unexplained = "how discretisation changes the states"

    def predict(self, problem: LegendreMemory) -> Array:
        return _slope(problem, 0.0)

    def measure(self, problem: LegendreMemory, key: Key[Array, ""]) -> Array:
        """The derivative with respect to t of the integral that defines h_n(t)."""
        return jax.jvp(lambda time: _coefficients(problem, time), (problem.time,), (jnp.ones(()),))[1]

    def condition(self, problem: LegendreMemory) -> float:
        """The condition number: entries of A are up to 2N, sums of N terms cancel, and integrands change sign."""
        return 300.0 * problem.states**2


class WarpedMemory(Claim[LegendreMemory]):
    """Let A and B be the LegS matrix and input vector of N states, and let P_n be the Legendre polynomials. Run the
    memory without the factor 1/t, as dh/dt = A h + B u. The states weight the input of s time units ago by

        e^{As} B = sqrt(2n+1) P_n(2 e^{-s} - 1) e^{-s},    n = 0 ... N-1.

    So the states are Legendre coefficients of the past in the variable e^{-s}. This memory is not uniform in time, but
    exponentially warped.
    """

    title = "Without the factor 1/t, the memory of LegS is exponentially warped in time"
    source = Source("gu2023hippo", "Section 3", note="LegS without the factor 1/t")
    stated = Kind.THEOREM
    population = LegendreMemories()
    relation = Equal(block=1)
    control = Control(
        "the past counts uniformly: sqrt(2n+1) P_n(2 e^{-s} - 1)",
        lambda weights, problem: weights * jnp.exp(problem.time),
    )
    controls = "how the states of a LegS layer weigh the past"
    unexplained = "why training keeps such a memory"
    condition = 1000000.0  # the solver's tolerance, in states that grow by N before they fall

    def predict(self, problem: LegendreMemory) -> Array:
        falling = jnp.exp(-problem.time)
        return legendre(problem.states, 2 * falling[None] - 1)[:, 0] * falling

    def measure(self, problem: LegendreMemory, key: Key[Array, ""]) -> Array:
        """The states after an impulse, by solving the differential equation."""
        a, b = legs(problem.states)
        system = ContinuousSystem(DenseMatrix(a), b, jnp.zeros((1, problem.states)))
        return integrated(system, lambda *_: jnp.zeros(()), b[:, 0], problem.time[None])[0]


class LegsDissipation(Claim[LegendreMemory]):
    """The LegS matrix of HiPPO is A = -I/2 + S - P P', where S is skew-symmetric and P is the vector with the entries
    P_n = sqrt(n + 1/2). So A is a normal matrix up to a matrix of rank one. For every vector x,

        x' A x = -|x|²/2 - (P' x)².
    """

    title = "The LegS matrix is a normal matrix minus a matrix of rank one"
    source = Source("gu2022s4", "Section 3", note="the normal part of LegS")
    stated = Kind.THEOREM
    population = LegendreMemories()
    relation = Equal()
    control = Control("the normal part is S alone", lambda power, problem: power + jnp.sum(problem.probe**2) / 2)
    controls = "the energy that a LegS memory loses"
    unexplained = "the eigenvalues of A itself"

    def predict(self, problem: LegendreMemory) -> Array:
        low = jnp.sqrt(jnp.arange(problem.states) + 0.5)
        return -jnp.sum(problem.probe**2) / 2 - (low @ problem.probe) ** 2

    def measure(self, problem: LegendreMemory, key: Key[Array, ""]) -> Array:
        return problem.probe @ legs(problem.states)[0] @ problem.probe

    def condition(self, problem: LegendreMemory) -> Array:
        """The condition number of sums of N² terms of both signs."""
        size = jnp.abs(problem.probe)
        terms = size @ jnp.abs(legs(problem.states)[0]) @ size
        return terms / (jnp.sum(size**2) / 2)


class LegsLargestFrequency(Claim[LegendreMemory]):
    """Let -I/2 + S be the normal part of the N x N LegS matrix. Here S_nk = -sqrt((2n+1)(2k+1))/2 for n > k, with the
    sign + instead of - for n < k, and S_nn = 0. The largest frequency of the normal part is the largest modulus of an
    eigenvalue of S. This frequency is N²/pi + c + o(1) with

        c = -pi/6 = -0.5236,

    not c = -1/2. The limit rests on numerical evidence, not on a proof.
    """

    title = "The largest frequency of the normal part of the N x N LegS matrix (HiPPO) is N²/pi - pi/6 for large N"
    source = Source(
        "gu2022s4d", "Section 4", note="conjectured there with a constant of 0.5236; here with its sign and value"
    )
    stated = Kind.OWN
    population = LegendreMemories()
    relation = Limit("N", (16.0, 32.0, 64.0), margin=0.002, resolution=0.005)
    control = Control("the constant is -1/2", lambda constant, problem: jnp.full_like(constant, -0.5))
    controls = "the fastest oscillation of a LegS layer"
    unexplained = "a proof; the lower frequencies"
    trials = 8
    predict = -jnp.pi / 6

    def measure_at(self, problem: LegendreMemory, key: Key[Array, ""], rung: float) -> Array:
        frequencies = np.linalg.eigvalsh(1j * np.asarray(_skew(int(rung))))
        return jnp.asarray(frequencies[-1] - rung**2 / np.pi)


def _skew(states: int) -> np.ndarray:
    roots = np.sqrt(2 * np.arange(states) + 1.0)
    half = np.tril(np.outer(roots, roots), -1) / 2
    return half.T - half


def _log_condition(states: int) -> float:
    """Return log2(|V| |V^-1|) for the unit eigenvectors V of LegS, by substitution down each column.

    V alternates in sign like (-1)^(n+k) and its inverse does not. So neither sum cancels, and both norms are accurate
    even if |V| |V^-1| is far above 1/eps.
    """
    roots = np.sqrt(2 * np.arange(states) + 1.0)
    vectors = np.eye(states)
    for n in range(1, states):
        before = np.arange(n)
        vectors[n, :n] = -(roots[n] * roots[:n]) @ vectors[:n, :n] / (n - before)
    vectors /= np.linalg.norm(vectors, axis=0)
    inverse = np.eye(states) / np.diag(vectors)
    for n in range(1, states):
        inverse[n, :n] = -(vectors[n, :n] @ inverse[:n, :n]) / vectors[n, n]
    return float(np.log2(np.linalg.norm(vectors, 2) * np.linalg.norm(inverse, 2)))


class LegsEigenvectors(Claim[LegendreMemory]):
    """The LegS matrix of N states has the eigenvalues -1, ..., -N. Let V be the matrix whose columns are its
    eigenvectors with unit length. For large N, each further state multiplies the condition number of V by 3 + 2
    sqrt(2) = 5.83. This factor corresponds to log2(3 + 2 sqrt(2)) = 2.54 bits. Beyond about 22 states, no bit of a
    double-precision result is correct. So in practice one diagonalises only the normal part of the LegS matrix, never
    the whole matrix.
    """

    title = "The eigenvectors of the LegS matrix lose 2.54 bits of precision per state"
    source = Source("gu2022s4", "Section 3", note="exponential growth; the limit of the rate is numerical")
    stated = Kind.OWN
    population = LegendreMemories()
    relation = Limit("N", (16.0, 24.0, 32.0, 48.0), margin=0.01, resolution=0.02)
    control = Control("the loss is 2.4 bits per state", lambda bits, problem: jnp.full_like(bits, 2.4))
    controls = "the error of diagonalising a LegS layer"
    unexplained = "a proof of the rate"
    trials = 8

    def predict(self, problem: LegendreMemory) -> Array:
        return jnp.log2(3 + 2 * jnp.sqrt(2.0))

    def measure_at(self, problem: LegendreMemory, key: Key[Array, ""], rung: float) -> Array:
        """The growth of log2 of the condition number per state, averaged over the last eight states."""
        return jnp.asarray((_log_condition(int(rung)) - _log_condition(int(rung) - 8)) / 8)
