"""Solutions of linear differential equations by steps of a Runge-Kutta method, and by the series of the exponential."""

from collections.abc import Callable

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.subjects.state_space import ContinuousSystem

_TOLERANCE = 1e-12
_HALVINGS, _TERMS = 8, 12  # a matrix of norm 20 is scaled to norm 0.08, for which the omitted terms are below 1e-21


def exponential(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return e^A for |A| up to about 20, from the series at A / 256 and repeated squaring.

    Padé approximants would need several matrix decompositions. In one compiled batch on a CPU, these can block each
    other.
    """
    scaled = matrix / 2**_HALVINGS
    term = power = jnp.eye(len(matrix))
    for k in range(1, _TERMS + 1):
        term = term @ scaled / k
        power = power + term
    for _ in range(_HALVINGS):
        power = power @ power
    return power


def integrated(
    system: ContinuousSystem,
    u: Callable[[Array, Array], Array],
    start: Float[Array, " n"],
    ends: Float[Array, " k"],
) -> Float[Array, "k n"]:
    """Return the states at the given times, from the start at time 0, by Dormand and Prince's method of order 8.

    The solver restarts at each of the given times, because the input may jump or bend there.

    Args:
        system: a system with one input.
        u: the input as a function of the time and of the index of the interval between two of the given times.
        start: the state at 0.
        ends: the times, ascending.
    """

    def through(state: Array, interval: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        before, after, number = interval
        slope = lambda time, h, _: system.matrix.times(h) + system.input[:, 0] * u(time, number)
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(slope),
            diffrax.Dopri8(),
            before,
            after,
            (after - before) / 8,
            state,
            stepsize_controller=diffrax.PIDController(rtol=_TOLERANCE, atol=_TOLERANCE),
            adjoint=diffrax.ForwardMode(),
            throw=False,
        )
        state = jnp.asarray(found.ys)[0]
        return state, state

    befores = jnp.concatenate([jnp.zeros(1), ends[:-1]])
    return jax.lax.scan(through, start, (befores, ends, jnp.arange(len(ends))))[1]
