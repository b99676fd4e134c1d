"""The spaces and kernels that a state-space model induces on its responses and on its input sequences.

This theory says which responses and sequences a linear model with a random or trained readout can distinguish. A
Gramian gives the energy of its impulse responses. A Toeplitz matrix of autocorrelations gives the inner products of the
outputs on two sequences. If the readout uses only the final state, the dimension of the state limits the rank of the
kernel on sequences. The theory assumes a linear model in which only the readout changes. It does not say which states
are worth keeping.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.sampled import draws
from lemmata.kernels import RBF, gram
from lemmata.subjects.state_space import (
    AbstractStateMatrix,
    ContinuousSystem,
    DiagonalMatrix,
    DiscreteSystem,
    StateSpaceKernel,
    energy,
)
from lemmata.subjects.state_space._pole_sums import PoleSum, PoleSums
from lemmata.subjects.state_space._state_space_systems import DrivenSystem, DrivenSystems

ABOUT = {"tool": "reproducing kernels", "architecture": "state-space model", "object": "kernel"}


class StateSequences(eqx.Module):
    """Sequences u, and the complex recurrence h_{k+1} = diag(a) h_k + b u_k with poles a and input vector b."""

    poles: Complex[Array, " n"]
    input: Complex[Array, " n"]
    u: Float[Array, "rows t 1"]

    @property
    def system(self) -> DiscreteSystem:
        """The recurrence as a system whose output is the sum of its states."""
        return DiscreteSystem(DiagonalMatrix(self.poles), self.input[:, None], jnp.ones((1, len(self.poles))))


class NoiseSequences(Population[StateSequences]):
    """White noise as the input of damped modes, whose poles are spread around the unit circle."""

    settings = Space(
        modes=Integer(4, 1, 16, "modes", corners=(3, 5)),
        rows=Integer(20, 2, 200, "sequences", corners=(16, 24)),
        length=Integer(30, 4, 400, "steps", corners=(30, 40)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StateSequences:
        """Draw poles with moduli around 0.9 and angles between 0 and pi, and a normal input vector."""
        n, rows, length = setting["modes"], setting["rows"], setting["length"]
        place, b, u = draws(key, (2, n), (2, n), (rows, length, 1))
        angle = jnp.pi * (jnp.arange(n) + 0.5 + 0.2 * jnp.tanh(place[1])) / n
        poles = (0.9 + 0.03 * jnp.tanh(place[0])) * jnp.exp(1j * angle)
        return StateSequences(poles, jax.lax.complex(*b), u)

    def hypotheses(self, problem: StateSequences) -> list[Hypothesis]:
        poles, heard = problem.poles, jnp.abs(problem.input).min()
        apart = jnp.abs(poles[:, None] - poles[None]) + 2 * jnp.eye(len(poles))
        return [
            Hypothesis("least distance of two poles", apart.min(), ">", 0.05, "modes with equal poles count as one"),
            Hypothesis("the smallest |B_n|", heard, ">", 0.003, "a state without input stays 0"),
        ]


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_PANEL, _PANELS = 0.5, 160
_LONG = 1024
_PLACE = "Section 3.4, space of the pair"


def _energy(problem: DrivenSystem, matrix: AbstractStateMatrix, b: Array) -> Array:
    """Return C P C', where P is the Gramian of the given matrix and input vector, and C the problem's output vector."""
    return energy(ContinuousSystem(matrix, b, problem.system.output))[0, 0]


class ImpulseEnergy(Claim[DrivenSystem]):
    """Fix a stable N x N matrix A and an input vector B. For an output vector C, the model with the state equation
    dx/dt = A x + B u and the output C x has the impulse response h(t) = C e^{At} B. For all C together, these functions
    form a Hilbert space of at most N dimensions, with the squared norm

        ∫_0^∞ h(t)² dt = C P C',   A P + P A' + B B' = 0,

    where P is the Gramian of A and B, and A' is the transpose of A.
    """

    title = "The squared norm of an impulse response is C P C', with output vector C and Gramian P"
    source = Source("foundation2025", _PLACE, note="what the space of (A, B) is")
    stated = Kind.OWN
    population = DrivenSystems()
    relation = Equal()
    control = Control(
        "the Gramian of A' and C' replaces that of A and B",
        lambda value, problem: _energy(problem, problem.system.matrix.transpose(), problem.system.output.T),
    )
    controls = "the squared H2 norm of a state-space model"
    unexplained = "which responses training finds"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU
    condition = 10000.0  # a Lyapunov equation of modest condition

    def predict(self, problem: DrivenSystem) -> Array:
        return _energy(problem, problem.system.matrix, problem.system.input)

    def measure(self, problem: DrivenSystem, key: Key[Array, ""]) -> Array:
        """The integral up to time 80 by Gauss's rule on panels of half a time unit."""
        from scipy.linalg import expm

        a, b, c = (np.asarray(x) for x in (problem.system.matrix.dense(), problem.system.input, problem.system.output))
        inside = np.stack([expm(_PANEL * (1 + node) / 2 * a) @ b for node in _NODES])[:, :, 0].T
        row, step, rows = c[0], expm(_PANEL * a), []
        for _ in range(_PANELS):
            rows.append(row)
            row = row @ step
        return jnp.asarray(np.sum((np.stack(rows) @ inside) ** 2 * _WEIGHTS) * _PANEL / 2)


def _parts(values: Complex[Array, " n"]) -> Array:
    return jnp.stack([values.real, values.imag])


def _autocorrelation(problem: PoleSum, barred: bool) -> Complex[Array, " t"]:
    """Return sum_{i,j} c_i conj(c_j) a_i^t / (1 - a_i conj(a_j)) at the lags t = 0, ..., T-1.

    If `barred` is false, the conjugates are left out, for a control.
    """
    a, c = problem.poles, problem.weights
    other, weights = (a.conj(), c.conj()) if barred else (a, c)
    pairs = (c[:, None] * weights[None]) / (1 - a[:, None] * other[None])
    return jnp.sum(pairs, axis=1) @ a[:, None] ** jnp.arange(problem.u.shape[1])


def _response(problem: PoleSum, length: int) -> Complex[Array, " k"]:
    """Return the first terms of the response h_k = sum_i c_i a_i^k, by multiplying with the poles step by step."""
    run = jax.lax.scan(lambda state, _: (problem.poles * state, jnp.sum(state)), problem.weights, None, length)
    return run[1]


class AutocorrelationOfModes(Claim[PoleSum]):
    """Let h_k = sum_i c_i a_i^k be the response of a diagonal model with N poles a_i, |a_i| < 1, and weights c_i. The
    autocorrelation of h is

        sum_k h_{k+t} conj(h_k) = sum_{i,j} c_i conj(c_j) a_i^t / (1 - a_i conj(a_j)),    t >= 0.

    The right side is a bilinear form with the Cauchy matrix between the poles and their conjugates. Computing it
    takes N² operations, although the sum over k on the left side is infinite.
    """

    title = "The autocorrelation of a diagonal linear recurrence is a Cauchy form of its poles"
    source = Source("foundation2025", "Section 3.4, linear filters", note="the kernel of long sequences")
    stated = Kind.OWN
    population = PoleSums()
    relation = Equal(block=2)
    control = Control(
        "the conjugates are left out: a_j replaces conj(a_j)",
        lambda values, problem: _parts(_autocorrelation(problem, barred=False)),
    )
    controls = "how outputs of a state-space model are correlated if its inputs are white noise"
    unexplained = "systems that are not diagonal"

    def predict(self, problem: PoleSum) -> Array:
        return _parts(_autocorrelation(problem, barred=True))

    def measure(self, problem: PoleSum, key: Key[Array, ""]) -> Array:
        lags = problem.u.shape[1]
        response = _response(problem, _LONG + lags)
        shifted = lambda lag: jax.lax.dynamic_slice(response, (lag,), (_LONG,)) @ response[:_LONG].conj()
        return _parts(jax.lax.map(shifted, jnp.arange(lags)))

    def condition(self, problem: PoleSum) -> Array:
        """The condition number of sums of oscillating terms that cancel."""
        return 1e3 / (1 - jnp.abs(problem.poles).max())


class LongSequenceKernel(Claim[PoleSum]):
    """Let h be the response of a diagonal model, and let u and v be two sequences of T steps. Let y(u) be the whole
    output for the input u, including the outputs after the last input: the convolution of h and u. The outputs of u and
    v have the inner product

        sum_t y_t(u) conj(y_t(v)) = sum_{s,r} u_s v_r R(r - s),   R(t) = sum_k h_{k+t} conj(h_k), R(-t) = conj(R(t)).

    The right side is a Toeplitz form. Once R is known, Fourier transforms compute this form in T log T operations. For
    a response with N poles, the computation of R takes N² + N T operations.
    """

    title = "The inner products of whole outputs of a diagonal linear recurrence are a Toeplitz kernel on sequences"
    source = Source("foundation2025", "Section 3.4, linear filters", note="the kernel of long sequences")
    stated = Kind.OWN
    population = PoleSums()
    relation = Equal(block=1)
    control = Control(
        "the kernel uses R(|t|), without the conjugate", lambda value, problem: _form(problem, conjugate=False)
    )
    controls = "the similarity of sequences under all outputs of a model"
    unexplained = "readouts that use only the last output"

    def predict(self, problem: PoleSum) -> Array:
        return _form(problem, conjugate=True)

    def measure(self, problem: PoleSum, key: Key[Array, ""]) -> Array:
        """The inner product of the outputs of the recurrence on both sequences, with zeros after the sequences."""
        u = jnp.pad(problem.u, ((0, 0), (0, _LONG)))

        def advance(states: Array, now: Array) -> tuple[Array, Array]:
            states = problem.poles * states + now[:, None]
            return states, states @ problem.weights

        start = jnp.zeros((2, len(problem.poles)), problem.poles.dtype)
        outputs = jax.lax.scan(advance, start, u.T)[1]
        value = outputs[:, 0] @ outputs[:, 1].conj()
        return jnp.stack([value.real, value.imag])

    def condition(self, problem: PoleSum) -> Array:
        """The condition number of inner products whose terms cancel."""
        return 1e5 / (1 - jnp.abs(problem.poles).max())


def _form(problem: PoleSum, conjugate: bool) -> Array:
    """Return sum_{s,r} u_s v_r R(r - s), from the autocorrelation R of the response and sums of u v at each lag.

    If `conjugate` is false, R(-t) = R(t) is used in place of R(-t) = conj(R(t)), for a control.
    """
    u, v = problem.u
    lags = len(u)
    values = _autocorrelation(problem, barred=True)
    ahead = jnp.stack([jnp.sum(u[: lags - t] * v[t:]) for t in range(lags)])
    behind = jnp.stack([jnp.sum(u[t:] * v[: lags - t]) for t in range(1, lags)])
    value = ahead @ values + behind @ (values[1:].conj() if conjugate else values[1:])
    return jnp.stack([value.real, value.imag])


def _readouts(problem: StateSequences, key: Key[Array, ""], count: int) -> Array:
    """Return the last outputs Re(c h_T) of all sequences for random readouts c, from the models' impulse responses."""
    poles, b = problem.poles, problem.input
    length = problem.u.shape[1]
    parts = jax.random.normal(key, (2, count, len(poles)))
    powers = poles[:, None] ** jnp.arange(length)
    responses = (jax.lax.complex(*parts) @ (b[:, None] * powers)).real
    return problem.u[:, ::-1, 0] @ responses.T


class FinalStateKernel(Claim[StateSequences]):
    """Let h_{k+1} = A h_k + B u_k be a complex recurrence, and let h_T(u) be its final state on a sequence u of T
    steps. Let y(u) = Re(c h_T(u)) be its last output with the readout c. Let the real and imaginary parts of the
    entries of c be independent and standard normal. The last outputs of two sequences u and v have the covariance

        E y(u) y(v) = Re <h_T(u), h_T(v)>.

    The test checks this through the variances of y(u), y(v) and y(u + v).
    """

    title = (
        "With random readouts, the covariance of a state-space model's outputs is the inner product of its final states"
    )
    source = Source("foundation2025", _PLACE, note="the kernel that (A, B) gives sequences")
    stated = Kind.OWN
    population = NoiseSequences()
    relation = EqualInMean(margin=0.0, resolution=0.02)
    control = Control(
        "the variances are half as large, as for entries of variance 1", lambda variance, problem: variance / 2
    )
    controls = "the prior of a state-space model with a random readout"
    unexplained = "trained states"
    trials = 256

    def predict(self, problem: StateSequences) -> Array:
        u, v = problem.u[:2]
        return StateSpaceKernel(problem.system).diagonal(jnp.stack([u, v, u + v]))

    def measure(self, problem: StateSequences, key: Key[Array, ""]) -> Array:
        first, second = _readouts(problem, key, 1000)[:2]
        return jnp.stack([jnp.mean(first**2), jnp.mean(second**2), jnp.mean((first + second) ** 2)])


def _rank(matrix: Array) -> Array:
    """Return the number of singular values above 10^-9 times the largest."""
    values = jnp.linalg.svd(matrix, compute_uv=False)
    return jnp.sum(values > 1e-9 * values[0])


class FinalStateRank(Claim[StateSequences]):
    """Let a complex recurrence have N distinct modes, each with an input different from 0. Take n sequences of T steps
    in general position. Over all readouts, the vectors of the n last outputs span

        min(n, 2N, T)

    dimensions. So the kernel Re <h_T(u), h_T(v)> of the final states of two sequences u and v is positive definite on n
    sequences only if n <= 2N.
    """

    title = "The kernel of final states of N complex modes has rank min(n, 2N, T) on n sequences of length T"
    source = Source("foundation2025", _PLACE, note="how large the space is")
    stated = Kind.OWN
    population = NoiseSequences()
    relation = Equal()
    control = Control("the rank is that of the sequences themselves, min(n, T)", lambda rank, problem: _most(problem))
    controls = "how many sequences a linear readout can distinguish"
    unexplained = "readouts that are not linear, for which this limit does not hold"
    traced = False  # a decomposition of many small matrices, on the host

    def predict(self, problem: StateSequences) -> Array:
        return jnp.minimum(_most(problem), 2 * len(problem.poles))

    def measure(self, problem: StateSequences, key: Key[Array, ""]) -> Array:
        return _rank(_readouts(problem, key, 4 * len(problem.poles) + 4))


def _most(problem: StateSequences) -> Array:
    return jnp.asarray(min(problem.u.shape[:2]))


class NonlinearHeadRank(Claim[StateSequences]):
    """Let a complex recurrence with distinct modes read n sequences in general position. Replace the inner product of
    final states by a Gaussian kernel of the final states. The Gram matrix of this kernel on the n sequences has rank n,
    so the kernel is positive definite on them. This holds even if there are fewer states than sequences.
    """

    title = "A Gaussian kernel of a linear recurrence's final states has full rank with any number of modes"
    source = Source("foundation2025", _PLACE, note="how large the space is with a nonlinear readout")
    stated = Kind.OWN
    population = NoiseSequences()
    relation = Equal()
    control = Control("the rank is at most twice the number of modes", lambda rank, problem: _capped(problem))
    controls = "how many sequences a nonlinear readout can distinguish"
    unexplained = "how well the readout generalises"
    traced = False  # a decomposition of many small matrices, on the host

    def predict(self, problem: StateSequences) -> Array:
        return jnp.asarray(len(problem.u))

    def measure(self, problem: StateSequences, key: Key[Array, ""]) -> Array:
        states = StateSpaceKernel(problem.system).states(problem.u)
        features = jnp.concatenate([states.real, states.imag], axis=1)
        features = features / jnp.std(features, axis=0)
        return _rank(gram(RBF(1.0), features))


def _capped(problem: StateSequences) -> Array:
    return jnp.asarray(min(len(problem.u), 2 * len(problem.poles)))
