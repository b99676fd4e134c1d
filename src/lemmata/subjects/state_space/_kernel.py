"""The kernel that a state-space model induces on sequences."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from lemmata.errors import ShapeError
from lemmata.kernels import AbstractKernel

from ._evaluation import final_states
from ._systems import DiscreteSystem


class StateSpaceKernel(AbstractKernel):
    """K(u, v) = Re <h_T(u), h_T(v)>, the inner product of the states after two sequences of equal length.

    Here h_T(u) is the state after the T steps of u. K is the covariance of the output y_T = Re(c h_T) over random
    readouts c, whose entries have independent real and imaginary parts of variance 1. The rank of K on any set of
    sequences is at most N for a real and 2N for a complex system with N states. The rank is also at most T times the
    number of channels. The output matrix and the direct path of the system are not used. For n sequences, the states
    cost n T N operations in each channel, and their inner products cost n² N operations. No T x T matrix is formed.

    Args:
        system: the recurrence.

    Raises:
        ShapeError: if a point is not a sequence (length, channels) of at least one step.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import gram
        >>> from lemmata.subjects.state_space import ContinuousSystem, StateSpaceKernel, discretise, oscillators
        >>> modes = ContinuousSystem(oscillators(8), jnp.ones((8, 1)), jnp.ones((1, 8)))
        >>> kernel = StateSpaceKernel(discretise(modes, 1 / 64))
        >>> gram(kernel, jnp.ones((3, 64, 1))).shape
        (3, 3)
    """

    system: DiscreteSystem

    def states(self, u: Float[Array, "rows *point"]) -> Inexact[Array, "rows n"]:
        """Return the states after the last step of each sequence."""
        channels = self.system.input.shape[1]
        if u.ndim != 3 or u.shape[2] != channels or u.shape[1] == 0:
            rule = f"sequences of shape (length, channels) with at least one step and {channels} channels"
            raise ShapeError("points of StateSpaceKernel", found=f"shape {u.shape[1:]}", rule=rule)
        return final_states(self.system, u)

    def __call__(self, x: Float[Array, "*point"], y: Float[Array, "*point"]) -> Float[Array, ""]:
        """Return Re <h_T(x), h_T(y)>."""
        return self.cross(x[None], y[None])[0, 0]

    def cross(self, x: Float[Array, "n *point"], y: Float[Array, "m *point"]) -> Float[Array, "n m"]:
        """Return the kernel matrix from the states of all sequences."""
        left, right = (_coordinates(self.states(points)) for points in (x, y))
        return left @ right.T

    def diagonal(self, x: Float[Array, "n *point"]) -> Float[Array, " n"]:
        """Return |h_T(x)|² for each sequence x."""
        return jnp.sum(_coordinates(self.states(x)) ** 2, axis=1)


def _coordinates(states: Any) -> Any:
    """Return the real parts of the states, followed by the imaginary parts."""
    if np.dtype(states.dtype).kind != "c":
        return states
    return jnp.concatenate([states.real, states.imag], axis=1)
