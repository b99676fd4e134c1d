"""Discrete-time recurrences of continuous-time systems, by a rule for the input between two samples."""

import math

import jax.numpy as jnp
import jax.scipy.linalg
from jax.typing import ArrayLike
from jaxtyping import Array, Inexact

from lemmata.errors import UnknownNameError

from ._checks import check_step
from ._matrices import AbstractStateMatrix, DenseMatrix, DiagonalMatrix
from ._systems import ContinuousSystem, DiscreteSystem

METHODS = ("zero_order_hold", "bilinear", "first_order_hold", "euler")
_TERMS = 24  # number of terms of the series of (e^z - 1 - z) / z² for |z| < 1; the next term is below 1e-25


def discretise(system: ContinuousSystem, step: ArrayLike, method: str = "zero_order_hold") -> DiscreteSystem:
    """Return the recurrence that computes the samples y(k D) of the output from the samples u(k D) of the input.

    Let z = D A, f_1(z) = (e^z - 1) / z and f_2(z) = (e^z - 1 - z) / z². The recurrence has the matrices A', B', C' and
    the direct path D'. In the formulas for D', the first D is the direct path of the system; every other D is the time
    step:

    * "zero_order_hold", exact for inputs that are constant on [k D, (k + 1) D): A' = e^z, B' = D f_1(z) B;
    * "first_order_hold", exact for inputs that are linear between samples. Its states are those of the system minus
      D f_2(z) B u_k. So A' = e^z, B' = D (f_1 - f_2 + e^z f_2)(z) B = D f_1(z)² B and D' = D + C D f_2(z) B;
    * "bilinear", the trapezoidal rule: A' = (1 - z/2)^-1 (1 + z/2), B' = (1 - z/2)^-1 D B, C' = C (1 - z/2)^-1,
      D' = D + C B' / 2. This rule keeps the structure of A, including a low-rank part;
    * "euler": A' = 1 + z, B' = D B.

    If C' or D' is not given, it is C or D. If A is diagonal, A' is diagonal for all of these rules. For other matrices,
    e^z is dense.

    From state 0, "first_order_hold" and "bilinear" assume that the input rises from 0 to its first sample within one
    step. If u_0 != 0, this causes an error of order 1 in D, although both rules are otherwise of order 2.

    Args:
        system: the system in continuous time.
        step: the time step D.
        method: the name of a rule: "zero_order_hold", "first_order_hold", "bilinear" or "euler".

    Raises:
        SettingError: if the step is not positive and finite.
        UnknownNameError: if the method is unknown.
    """
    check_step(step)
    step = jnp.asarray(step)
    a, b, c = system.matrix, system.input, system.output
    if method == "zero_order_hold":
        power, first, _ = _exponentials(a, step)
        return DiscreteSystem(power, step * first.times(b), c, system.direct)
    if method == "first_order_hold":
        power, first, second = _exponentials(a, step)
        after = step * second.times(b)
        # f_1 - f_2 + e^z f_2 = f_1 + z f_1 f_2 = f_1², without cancellation
        moved = step * first.times(first.times(b))
        return DiscreteSystem(power, moved, c, system.passed + (c @ after).real)
    if method == "bilinear":
        power, moved, read = _bilinear(a, b, c, 2 / step)
        return DiscreteSystem(power, moved, read, system.passed + (c @ moved).real / 2)
    if method == "euler":
        return DiscreteSystem(_euler(a, step), step * b, c, system.direct)
    raise UnknownNameError(f"method '{method}'", rule=f"one of {', '.join(METHODS)}")


def _bilinear(
    matrix: AbstractStateMatrix, b: Inexact[Array, "n m"], c: Inexact[Array, "p n"], point: Array
) -> tuple[AbstractStateMatrix, Inexact[Array, "n m"], Inexact[Array, "p n"]]:
    """Return A', B' and C' of the bilinear rule, where `point` is 2 / D. A dense matrix is inverted only once."""
    if isinstance(matrix, DenseMatrix):
        one = jnp.eye(matrix.size)
        inverse = matrix.resolvent(point, one)
        return DenseMatrix(2 * point * inverse - one), 2 * inverse @ b, point * c @ inverse
    return matrix.cayley(point), 2 * matrix.resolvent(point, b), point * matrix.transpose().resolvent(point, c.T).T


def _euler(matrix: AbstractStateMatrix, step: Array) -> AbstractStateMatrix:
    if isinstance(matrix, DiagonalMatrix):
        return DiagonalMatrix(1 + step * matrix.poles)
    return DenseMatrix(jnp.eye(matrix.size) + step * matrix.dense())


def _exponentials(
    matrix: AbstractStateMatrix, step: Array
) -> tuple[AbstractStateMatrix, AbstractStateMatrix, AbstractStateMatrix]:
    """Return e^z, f_1(z) = (e^z - 1) / z and f_2(z) = (e^z - 1 - z) / z² at z = D A."""
    if isinstance(matrix, DiagonalMatrix):
        z = step * matrix.poles
        first, second = _first_and_second(z)
        return DiagonalMatrix(jnp.exp(z)), DiagonalMatrix(first), DiagonalMatrix(second)
    # the exponential of [[z, 1, 0], [0, 0, 1], [0, 0, 0]] has the rows (e^z, f_1, f_2), (0, 1, 1), (0, 0, 1)
    n = matrix.size
    z, one, zero = step * matrix.dense(), jnp.eye(n), jnp.zeros((n, n))
    whole = jax.scipy.linalg.expm(jnp.block([[z, one, zero], [zero, zero, one], [zero, zero, zero]]))
    power, first, second = (DenseMatrix(whole[:n, k * n : (k + 1) * n]) for k in range(3))
    return power, first, second


def _first_and_second(z: Inexact[Array, " n"]) -> tuple[Inexact[Array, " n"], Inexact[Array, " n"]]:
    """Return f_1 = (e^z - 1) / z and f_2 = (f_1 - 1) / z. For |z| < 1, a series avoids cancellation."""
    small = jnp.abs(z) < 1
    series, inside = jnp.zeros_like(z), jnp.where(small, z, 0)
    for k in reversed(range(_TERMS)):
        series = series * inside + 1 / math.factorial(k + 2)
    outside = jnp.where(small, 1, z)
    first = jnp.expm1(outside) / outside
    return jnp.where(small, 1 + inside * series, first), jnp.where(small, series, (first - 1) / outside)
