"""Energies of stable systems: Gramians, and the squared norm of the impulse response."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from ._matrices import DiagonalMatrix
from ._systems import ContinuousSystem, check_stable

_DOUBLINGS = 60  # 2^60 steps: for poles as near to the border as rounding can distinguish
_NEGLIGIBLE = 1e-18  # its square is beyond rounding


def gramian(system: ContinuousSystem) -> Inexact[Array, "n n"]:
    """Return P = ∫_0^∞ e^{At} B B* e^{A* t} dt, the solution of A P + P A* + B B* = 0.

    For a diagonal A with entries l_i, the entries of P are B_i conj(B_j) / -(l_i + conj(l_j)). Otherwise, P is
    computed by Smith's doubling. With the Cayley transform F = (s - A)^-1 (s + A) and G = sqrt(2s) (s - A)^-1 B, the
    equation is P = F P F* + G G*. The update P <- P + F P F*, F <- F² doubles the number of terms of its solution P =
    sum_k F^k G G* (F*)^k.

    Args:
        system: a stable system.

    Raises:
        SettingError: if the system is not stable.
    """
    check_stable(system)
    a, b = system.matrix, system.input
    if isinstance(a, DiagonalMatrix):
        return (b @ b.conj().T) / -(a.poles[:, None] + a.poles[None, :].conj())
    return _smith(a.dense(), b)


@jax.jit
def _smith(entries: Inexact[Array, "n n"], b: Inexact[Array, "n m"]) -> Inexact[Array, "n n"]:
    n, point = len(entries), jnp.linalg.norm(entries) / jnp.sqrt(len(entries))
    solved = jnp.linalg.solve(point * jnp.eye(n) - entries, jnp.hstack([jnp.eye(n), b]))
    power, start = 2 * point * solved[:, :n] - jnp.eye(n), jnp.sqrt(2 * point) * solved[:, n:]

    def unfinished(state: tuple[Array, Array, Array]) -> Array:
        power, _, count = state
        return (jnp.linalg.norm(power) > _NEGLIGIBLE) & (count < _DOUBLINGS)

    def double(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        power, total, count = state
        return power @ power, total + power @ total @ power.conj().T, count + 1

    return jax.lax.while_loop(unfinished, double, (power, start @ start.conj().T, jnp.zeros((), int)))[1]


def energy(system: ContinuousSystem) -> Float[Array, "p p"]:
    """Return the real part of ∫_0^∞ h(t) h(t)* dt = C P C* for the impulse response h(t) = C e^{At} B.

    P is the Gramian. For a real system, the trace is the squared H2 norm. For a complex system, it is the squared norm
    of the complex response.

    Args:
        system: a stable system without a direct path.

    Raises:
        SettingError: if the system is not stable.
    """
    return (system.output @ gramian(system) @ system.output.conj().T).real


def transposed(system: ContinuousSystem) -> ContinuousSystem:
    """Return the system (A^T, C^T, B^T); for a real system, its Gramian is the observability Gramian.

    Args:
        system: any system.
    """
    direct = None if system.direct is None else system.direct.T
    return ContinuousSystem(system.matrix.transpose(), system.output.T, system.input.T, direct)
