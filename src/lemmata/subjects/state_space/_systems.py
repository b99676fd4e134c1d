"""Linear systems in continuous and in discrete time."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from lemmata.errors import SettingError

from ._checks import check_entries, check_fits, extent, one_point
from ._matrices import AbstractStateMatrix, DiagonalMatrix, Point, known_eigenvalues


class AbstractSystem(eqx.Module):
    """A linear system with N states h, m inputs u and p outputs. The outputs are real: Re(C h) + D u.

    Attributes:
        matrix: the state matrix A.
        input: the input matrix B.
        output: the output matrix C.
        direct: the direct path D; None means 0.
    """

    matrix: eqx.AbstractVar[AbstractStateMatrix]
    input: eqx.AbstractVar[Inexact[Array, "..."]]
    output: eqx.AbstractVar[Inexact[Array, "..."]]
    direct: eqx.AbstractVar[Float[Array, "..."] | None]

    @property
    def passed(self) -> Float[Array, "p m"]:
        """The direct path D, or zeros if `direct` is None."""
        if self.direct is not None:
            return self.direct
        return jnp.zeros((len(self.output), self.input.shape[1]), self.output.real.dtype)

    def response(self, point: Point) -> Inexact[Array, "p m"]:
        """Return the transfer function C (z I - A)^-1 B + D at one real or complex number z."""
        point = one_point(point, self.input)
        return self.output @ self.matrix.resolvent(point, self.input.astype(point.dtype)) + self.passed


class ContinuousSystem(AbstractSystem):
    """The system dh/dt = A h + B u, y = Re(C h) + D u in continuous time.

    Args:
        matrix: the state matrix A.
        input: the input matrix B, (N, m).
        output: the output matrix C, (p, N).
        direct: the direct path D, (p, m); None means 0.

    Raises:
        ShapeError: if the shapes do not fit.
        DataError: if an entry is not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.state_space import ContinuousSystem, DiagonalMatrix, discretise, run
        >>> leak = ContinuousSystem(DiagonalMatrix(jnp.array([-1.0])), jnp.ones((1, 1)), jnp.ones((1, 1)))
        >>> run(discretise(leak, 0.1), jnp.ones((200, 1)))[-1].round(6).tolist()
        [1.0]
    """

    matrix: AbstractStateMatrix
    input: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)
    output: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)
    direct: Float[Array, "..."] | None = None

    def __check_init__(self):
        _check_system(self)


class DiscreteSystem(AbstractSystem):
    """The system h_{k+1} = A h_k + B u_k, y_k = Re(C h_k) + D u_k in discrete time.

    The response to an impulse is D, Re(C B), Re(C A B), Re(C A² B), ... In the layers of deep networks, the state often
    contains the current input: h_k = A h_{k-1} + B u_k with the output Re(C h_k) + D u_k. As a `DiscreteSystem`, a
    layer of this kind has the output matrix C A and the direct path D + Re(C B).

    Args:
        matrix: the state matrix A.
        input: the input matrix B, (N, m).
        output: the output matrix C, (p, N).
        direct: the direct path D, (p, m); None means 0.

    Raises:
        ShapeError: if the shapes do not fit.
        DataError: if an entry is not finite.
    """

    matrix: AbstractStateMatrix
    input: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)
    output: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)
    direct: Float[Array, "..."] | None = None

    def __check_init__(self):
        _check_system(self)


def oscillators(states: int) -> DiagonalMatrix:
    """Return the damped modes of diagonal state-space models: the poles l_n = -1/2 + i pi n, n = 0, ..., N - 1.

    These modes are the initialisation of gu2022s4d.

    Raises:
        SettingError: if N is not a whole number above 0.

    >>> oscillators(2).poles.round(2).tolist()
    [(-0.5+0j), (-0.5+3.14j)]
    """
    if isinstance(states, bool) or not isinstance(states, int) or states < 1:
        raise SettingError("states", found=repr(states), rule="a whole number that is at least 1")
    return DiagonalMatrix(-0.5 + 1j * jnp.pi * jnp.arange(states))


def check_stable(system: AbstractSystem) -> None:
    """Raise SettingError if the states do not die out without input. Systems that JAX traces are not checked.

    Args:
        system: a continuous system, whose eigenvalues need real parts below 0, or a discrete system, whose eigenvalues
            need moduli below 1.

    Raises:
        SettingError: if an eigenvalue is at or beyond the border of stability.
    """
    values = known_eigenvalues(system.matrix)
    if values is None:
        return
    if isinstance(system, DiscreteSystem):
        largest, border, found, rule = np.abs(values).max(), 1.0, "|a|", "|a| < 1 for every eigenvalue a of A"
    else:
        largest, border, found, rule = np.real(values).max(), 0.0, "Re l", "Re l < 0 for every eigenvalue l of A"
    if largest >= border:
        remedy = "move the poles, or discretise with a method and a step that keep the system stable"
        raise SettingError("unstable system", found=f"{found} = {largest:.6g}", rule=rule, remedy=remedy)


def _check_system(system: AbstractSystem) -> None:
    parts = (("input matrix B", system.input), ("output matrix C", system.output), ("direct path D", system.direct))
    for name, part in parts:
        if part is not None:
            check_entries(name, part)
    states, inputs, outputs = system.matrix.size, extent(system.input, 1), extent(system.output, 0)
    check_fits("input matrix B", system.input, (states, inputs), "one row per state, (N, m)")
    check_fits("output matrix C", system.output, (outputs, states), "one column per state, (p, N)")
    if system.direct is not None:
        check_fits(
            "direct path D", system.direct, (outputs, inputs), "one row per output, one column per input, (p, m)"
        )
