"""Algorithms for one sequence model: recurrence, associative scan, convolution and generating function.

For T inputs, the algorithms compute the same outputs, except for rounding errors, at different costs. The recurrence
takes T steps and stores one state. The scan takes log T rounds and stores all states. The convolution takes T log T
operations on a known impulse response. The generating function gives this response from sums over poles. The theory
assumes time-invariant systems. If a step depends on its input, there is no fixed response to convolve with, so only the
recurrence and the scan apply. The theory does not say which algorithm is faster on which machine.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Source
from lemmata.subjects.state_space import convolve, impulse_response, resolvent_response, run, scan
from lemmata.subjects.state_space._state_space_systems import (
    FilteredNoise,
    FilteredSequence,
    LowRankSystems,
    StructuredSystem,
)

ABOUT = {"tool": "linear algebra", "architecture": "state-space model", "object": "cost"}


def _wrapped(outputs: Array, problem: FilteredSequence) -> Array:
    length = len(problem.u)
    kernel = jnp.fft.rfft(impulse_response(problem.system, length)[:, 0, 0])
    return jnp.broadcast_to(jnp.fft.irfft(kernel * jnp.fft.rfft(problem.u[:, 0]), length), outputs.shape)


class ThreeEvaluations(Claim[FilteredSequence]):
    """Let h_{k+1} = A h_k + B u_k, y_k = Re(C h_k) + D u_k be a linear state-space model with h_0 = 0 and T inputs u_k.
    Three algorithms give the same T outputs. The first algorithm is the recurrence. The second algorithm writes each
    step as a pair (A, B u_k). It combines the pairs by an associative scan with the product (A_2, b_2)(A_1, b_1) = (A_2
    A_1, A_2 b_1 + b_2). The third algorithm convolves u with the response D, Re(C B), Re(C A B), ... by fast Fourier
    transforms that are padded to twice the length T.
    """

    title = "Recurrence, associative scan and padded convolution give the same outputs"
    source = Source("foundation2025", "Section 2.3, discretisation", note="unrolled as in Section 3.4")
    stated = Kind.EQUATION
    population = FilteredNoise()
    # a transform spreads the rounding error of the largest output over all outputs
    relation = Equal(block=1)
    control = Control("transforms of length T, without padding, give the same outputs", _wrapped)
    controls = "the outputs of a linear state-space model on a sequence"
    unexplained = "which algorithm is faster on which machine"

    def predict(self, problem: FilteredSequence) -> Array:
        outputs = run(problem.system, problem.u)[:, 0]
        return jnp.stack([outputs, outputs])

    def measure(self, problem: FilteredSequence, key: Key[Array, ""]) -> Array:
        kernel = impulse_response(problem.system, len(problem.u))
        return jnp.stack([scan(problem.system, problem.u)[:, 0], convolve(kernel, problem.u)[:, 0]])

    def condition(self, problem: FilteredSequence) -> float:
        """The condition number T, because each of the T steps rounds."""
        return float(len(problem.u))


def _truncated(problem: StructuredSystem) -> Array:
    """Return C_T = C (I - A'^T), where A' is the step matrix of the bilinear rule and T the number of steps."""
    step = problem.matrix.cayley(2 / problem.step).dense()
    return problem.output @ (jnp.eye(len(step)) - jnp.linalg.matrix_power(step, problem.length))


def _generated(problem: StructuredSystem, truncated: Array) -> Array:
    found = resolvent_response(problem.matrix, truncated, problem.input, problem.step, problem.length)
    return jnp.stack([found.real, found.imag])


class ResolventResponse(Claim[StructuredSystem]):
    """Let A = diag(l) - P Q* be a diagonal plus low-rank matrix, where Q* is the conjugate transpose of Q. Let B be an
    input vector, and let C be an output vector. The bilinear rule with step D gives A' = (1 - D A/2)^-1 (1 + D A/2) and
    B' = (1 - D A/2)^-1 D B. Take the first T terms K_s = C A'^s B' of the impulse response. These terms are the inverse
    discrete Fourier transform of the following function of z at the T-th roots of unity:

        2/(1+z) [C_T R B - C_T R P (I + Q* R P)^-1 Q* R B],
        R = (g - diag(l))^-1,   g = (2/D)(1 - z)/(1 + z),   C_T = C (I - A'^T),

    where the limit replaces this function at z = -1. Given C_T, the formula needs sums over the poles l, but no powers
    of A'. The test takes P = Q.
    """

    title = "The response of a diagonal plus low-rank system follows from its resolvent"
    source = Source("gu2022s4", "Section 3", note="the generating function, truncated at T")
    population = LowRankSystems()
    relation = Equal(block=2)
    control = Control(
        "C replaces C (I - A'^T), so the response is not cut off",
        lambda kernel, problem: _generated(problem, problem.output),
    )
    controls = "the response of a structured state-space model to an impulse"
    unexplained = "the cost of finding C (I - A'^T), which trained models avoid by learning this product"
    condition = 100000.0  # powers of A' near the unit circle, cut off at T, leave 1 - A'^T ill conditioned

    def predict(self, problem: StructuredSystem) -> Array:
        return _generated(problem, _truncated(problem))

    def measure(self, problem: StructuredSystem, key: Key[Array, ""]) -> Array:
        """The response, computed step by step with dense matrices."""
        a, step = problem.matrix.dense(), problem.step
        inside = jnp.eye(len(a)) - step / 2 * a
        moved = jnp.linalg.solve(inside, jnp.hstack([jnp.eye(len(a)) + step / 2 * a, step * problem.input]))
        power, start = moved[:, :-1], moved[:, -1:]
        read = lambda state, _: (power @ state, (problem.output @ state)[0, 0])
        kernel = jax.lax.scan(read, start, None, problem.length)[1]
        return jnp.stack([kernel.real, kernel.imag])
