"""Energies of stable systems: Gramians, and the squared norm of the impulse response."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from lemmata.core import known
from lemmata.errors import SolverError

from ._matrices import DiagonalMatrix
from ._systems import ContinuousSystem, check_stable

_SHIFTS = 16  # if poles differ by a ratio of 1e18, the nearest shift differs from each by a factor of at most 4
_DOUBLINGS = 60  # 2^60 steps are enough even for poles that rounding barely distinguishes from unstable ones
_REFINEMENTS = 3
_NEGLIGIBLE = 1e-18  # the square of this norm is below rounding errors


def gramian(system: ContinuousSystem) -> Inexact[Array, "n n"]:
    """Return P = ∫_0^∞ e^{At} B B* e^{A* t} dt, the solution of A P + P A* + B B* = 0.

    For a diagonal A with entries l_i, the entries of P are B_i conj(B_j) / -(l_i + conj(l_j)). Otherwise, P is computed
    by Smith's doubling with several shifts. For a shift s > 0, let F = (s - A)^-1 (s + A) be the Cayley transform, and
    let G = sqrt(2s) (s - A)^-1 B. Then the equation is P = F P F* + G G*. The shifts are spaced evenly in log(s) from
    1/|A^-1| to |A|, so the modulus of each pole is near a shift. One sweep over the shifts gives P = H P H* + S, where
    H is the product of all F. The update S <- S + H S H*, H <- H² doubles the number of terms of the solution P = sum_k
    H^k S (H*)^k.

    To estimate the error, the same equation is solved with the residual A P + P A* + B B* in place of B B*. If the
    estimate is above sqrt(eps) |P| in the Frobenius norm, the estimate is added to P as a correction. Here eps is the
    machine epsilon. There is no estimate if JAX traces the system.

    Args:
        system: a stable system.

    Raises:
        SettingError: if the system is not stable.
        SolverError: if the estimated error is above eps^(1/3) |P| after the corrections.
    """
    check_stable(system)
    a, b = system.matrix, system.input
    if isinstance(a, DiagonalMatrix):
        return (b @ b.conj().T) / -(a.poles[:, None] + a.poles[None, :].conj())
    entries, square = a.dense(), b @ b.conj().T
    found = _lyapunov(entries, square)
    return found if known(found) is None else _refined(entries, square, found)


def _refined(
    entries: Inexact[Array, "n n"], square: Inexact[Array, "n n"], found: Inexact[Array, "n n"]
) -> Inexact[Array, "n n"]:
    """Return the solution P, corrected until its estimated error is small, or raise SolverError."""
    eps = float(jnp.finfo(found.dtype).eps)
    missed, error = _missed(entries, square, found)
    for _ in range(_REFINEMENTS):
        if error <= eps**0.5:
            break
        corrected = found + missed
        missed, now = _missed(entries, square, corrected)
        if not now < error:
            break
        found, error = corrected, now
    largest = eps ** (1 / 3)
    if not error <= largest:
        raise SolverError(
            "Gramian",
            found=f"an estimated relative error of {error:.2g}",
            rule=f"at most {largest:.2g}",
            remedy="use float64, or write the system with a DiagonalMatrix of its poles",
        )
    return found


def _missed(
    entries: Inexact[Array, "n n"], square: Inexact[Array, "n n"], found: Inexact[Array, "n n"]
) -> tuple[Inexact[Array, "n n"], float]:
    """Return an estimate of the error of a solution, and the size of this estimate relative to the solution.

    The estimate is the solution of the same equation with the residual in place of B B*.
    """
    image = entries @ found
    missed = _lyapunov(entries, image + image.conj().T + square)
    unit = float(jnp.max(jnp.abs(found))) or 1.0
    sizes = [float(jnp.linalg.norm(matrix / unit)) for matrix in (missed, found)]
    return missed, sizes[0] / (sizes[1] or 1.0)


@jax.jit
def _lyapunov(entries: Inexact[Array, "n n"], square: Inexact[Array, "n n"]) -> Inexact[Array, "n n"]:
    """Return the solution of A P + P A* + Q = 0."""
    n, exponent = len(entries), jnp.frexp(jax.lax.stop_gradient(jnp.max(jnp.abs(entries))))[1]
    unit = jnp.ldexp(jnp.ones((), entries.real.dtype), -exponent)
    entries, one = entries * unit, jnp.eye(n, dtype=entries.dtype)
    least, most = 1 / jnp.linalg.norm(jnp.linalg.inv(entries)), jnp.linalg.norm(entries)
    ratio = (least / most) ** (1 / (_SHIFTS - 1))

    def sweep(state: tuple[Array, Array], position: Array) -> tuple[tuple[Array, Array], None]:
        power, total = state
        point = jax.lax.stop_gradient(most * ratio**position)
        inverse = jnp.linalg.solve(point * one - entries, one)
        turn = 2 * point * inverse - one
        added = 2 * point * (inverse @ square @ inverse.conj().T)
        return (turn @ power, turn @ total @ turn.conj().T + added), None

    def unfinished(state: tuple[Array, Array, Array]) -> Array:
        power, _, count = state
        return (jnp.linalg.norm(power) > _NEGLIGIBLE) & (count < _DOUBLINGS)

    def double(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        power, total, count = state
        return power @ power, total + power @ total @ power.conj().T, count + 1

    kind = jnp.result_type(entries, square)
    start = one.astype(kind), jnp.zeros((n, n), kind)
    swept, _ = jax.lax.scan(sweep, start, jnp.arange(_SHIFTS, dtype=entries.real.dtype))
    return unit * jax.lax.while_loop(unfinished, double, (*swept, jnp.zeros((), int)))[1]


def energy(system: ContinuousSystem) -> Float[Array, "p p"]:
    """Return the real part of ∫_0^∞ h(t) h(t)* dt = C P C* for the impulse response h(t) = C e^{At} B.

    Here P is the Gramian of the system. For a real system, the trace of the result is the squared H2 norm, that is,
    ∫ |h(t)|² dt. For a complex system, the trace is the squared norm of the complex response.

    Args:
        system: a stable system without a direct path.

    Raises:
        SettingError: if the system is not stable.
        SolverError: if the Gramian is not accurate.
    """
    return (system.output @ gramian(system) @ system.output.conj().T).real


def transposed(system: ContinuousSystem) -> ContinuousSystem:
    """Return the system (A^T, C^T, B^T). For a real system, the Gramian of the result is the observability Gramian.

    Args:
        system: any system.
    """
    direct = None if system.direct is None else system.direct.T
    return ContinuousSystem(system.matrix.transpose(), system.output.T, system.input.T, direct)
