"""The outputs of a recurrence step by step, by associative scan or convolution, and final states of many sequences."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from ._checks import check_fits, check_length, check_sequence
from ._matrices import DiagonalMatrix
from ._systems import DiscreteSystem


def run(system: DiscreteSystem, u: Float[Array, "..."]) -> Float[Array, "t p"]:
    """Return the outputs from state 0 by the recurrence, step by step, with memory for one state.

    Args:
        system: the recurrence, a system in discrete time.
        u: the inputs (T, m), one row per step.

    Raises:
        ShapeError: if the number of channels is wrong or the length is 0.
        DataError: if a number is not finite.
    """
    check_sequence(u, system.input.shape[1])
    return _run(system, u)


@jax.jit
def _run(system: DiscreteSystem, u: Float[Array, "t m"]) -> Float[Array, "t p"]:
    def advance(state: Array, now: Array) -> tuple[Array, Array]:
        return system.matrix.times(state) + system.input @ now, (system.output @ state).real

    kind = jnp.result_type(u, *jax.tree.leaves(system.matrix), system.input)
    _, outputs = jax.lax.scan(advance, jnp.zeros(system.matrix.size, kind), u)
    return outputs + u @ system.passed.T


def scan(system: DiscreteSystem, u: Float[Array, "..."]) -> Float[Array, "t p"]:
    """Return the outputs from state 0 by an associative scan: log T parallel rounds, with memory for all states.

    A pair (A, b) stands for the map h -> A h + b. Pairs compose as (A_2, b_2) after (A_1, b_1) = (A_2 A_1, A_2 b_1 +
    b_2). Composing two pairs costs N operations for a diagonal A and N³ for other matrices.

    Args:
        system: the recurrence, a system in discrete time.
        u: the inputs (T, m), one row per step.

    Raises:
        ShapeError: if the number of channels is wrong or the length is 0.
        DataError: if a number is not finite.
    """
    check_sequence(u, system.input.shape[1])
    return _scan(system, u)


@jax.jit
def _scan(system: DiscreteSystem, u: Float[Array, "t m"]) -> Float[Array, "t p"]:
    moved = u @ system.input.T
    if isinstance(system.matrix, DiagonalMatrix):
        matrices = jnp.broadcast_to(system.matrix.poles, moved.shape)
        after = lambda a, b: (b[0] * a[0], b[0] * a[1] + b[1])
    else:
        dense = system.matrix.dense()
        matrices = jnp.broadcast_to(dense, (len(u), *dense.shape))
        after = lambda a, b: (b[0] @ a[0], jnp.einsum("tij,tj->ti", b[0], a[1]) + b[1])
    kind = jnp.result_type(matrices, moved)
    _, states = jax.lax.associative_scan(after, (matrices.astype(kind), moved.astype(kind)))
    before = jnp.concatenate([jnp.zeros_like(states[:1]), states[:-1]])
    return (before @ system.output.T).real + u @ system.passed.T


def impulse_response(system: DiscreteSystem, length: int) -> Float[Array, "t p m"]:
    """Return the first `length` terms D, Re(C B), Re(C A B), ... of the impulse response.

    Args:
        system: the recurrence, a system in discrete time.
        length: the number T of terms.

    Raises:
        SettingError: if the length is below 1.
    """
    check_length(length)
    return _impulse_response(system, length)


@partial(jax.jit, static_argnums=1)
def _impulse_response(system: DiscreteSystem, length: int) -> Float[Array, "t p m"]:
    if length == 1:
        return system.passed[None]
    powers = system.matrix.powers(system.input, length - 1)
    later = jnp.einsum("pn,tnm->tpm", system.output, powers).real
    return jnp.concatenate([system.passed[None].astype(later.dtype), later])


def convolve(kernel: Float[Array, "s p m"], u: Float[Array, "..."]) -> Float[Array, "t p"]:
    """Return y_t = sum_{s <= t} kernel_s u_{t-s} for all t, by fast Fourier transforms with padding.

    The error of every entry of y is of order eps max|y|, even for small entries, where eps is the machine epsilon.

    Args:
        kernel: the impulse response (T, p, m), as `impulse_response` returns it.
        u: the inputs (T, m), with as many rows as the kernel.

    Raises:
        ShapeError: if the number of channels or rows is wrong, or the length is 0.
        DataError: if a number is not finite.
    """
    check_sequence(u, kernel.shape[2])
    check_fits("response", kernel, (len(u), *kernel.shape[1:]), "as long as the sequence")
    size = 2 * len(u)
    transformed = jnp.einsum("tpm,tm->tp", jnp.fft.rfft(kernel, size, axis=0), jnp.fft.rfft(u, size, axis=0))
    return jnp.fft.irfft(transformed, size, axis=0)[: len(u)]


def reach(system: DiscreteSystem, length: int) -> Inexact[Array, "t n m"]:
    """Return A^(T-1) B, ..., A B, B, the matrices by which the inputs at steps 1 to T enter the final state.

    Args:
        system: the recurrence, a system in discrete time.
        length: the number T of steps.

    Raises:
        SettingError: if the length is below 1.
    """
    check_length(length)
    return _reach(system, length)


@partial(jax.jit, static_argnums=1)
def _reach(system: DiscreteSystem, length: int) -> Inexact[Array, "t n m"]:
    return system.matrix.powers(system.input, length)[::-1]


def final_states(system: DiscreteSystem, u: Float[Array, "rows t m"]) -> Inexact[Array, "rows n"]:
    """Return the states h_T after each of many sequences, from state 0.

    All states together are one matrix product, which costs T N operations for each sequence and channel.

    Args:
        system: the recurrence, a system in discrete time.
        u: the sequences, all of the same length T.

    Raises:
        SettingError: if the length is 0.
    """
    return jnp.einsum("btm,tnm->bn", u, reach(system, u.shape[1]))
