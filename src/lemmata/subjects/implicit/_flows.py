"""Gradient flows, integrated to a stated tolerance, and a minimiser for dual problems that give the flows' limits."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

TOLERANCE = 1e-12
"""The relative and absolute tolerance of each step of a flow."""

_MOST_STEPS = 100_000
_HALVINGS = 2.0 ** -jnp.arange(24)
_NEWTON = 60


def flow(velocity: Callable, start: Any, times: Float[Array, " s"], tolerance: float = TOLERANCE) -> Any:
    """Return the states of y' = velocity(y) at increasing times, by a Runge-Kutta method of order 8.

    States are NaN from the time on at which the integration fails.

    Args:
        velocity: the time derivative, a function of the state.
        start: the state at time 0, an array or a tree of arrays.
        times: the times, increasing and positive.
        tolerance: the tolerance of each step.
    """
    import diffrax  # slow to import

    def segment(state, ends):
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: velocity(y)), diffrax.Dopri8(), ends[0], ends[1], None, state,
            saveat=diffrax.SaveAt(t1=True), max_steps=_MOST_STEPS, adjoint=diffrax.ForwardMode(), throw=False,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        )  # fmt: skip
        finished = found.result == diffrax.RESULTS.successful
        end = jax.tree.map(lambda part: jnp.where(finished, part[0], jnp.nan), found.ys)
        return end, end

    ends = jnp.stack([jnp.concatenate([jnp.zeros(1), times[:-1]]), times], axis=1)
    return jax.lax.scan(segment, start, ends)[1]


def lowest(objective: Callable[[Array], Array], start: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return the minimiser of a smooth, strictly convex function of few variables, by Newton's method.

    Each iteration tries steps that are halved repeatedly, and takes the step with the lowest value.

    Args:
        objective: the function of one vector that is minimised.
        start: the vector at which Newton's method begins.
    """

    def one(_, at):
        step = jnp.linalg.solve(jax.hessian(objective)(at), jax.grad(objective)(at))
        values = jax.vmap(lambda share: objective(at - share * step))(_HALVINGS)
        best = _HALVINGS[jnp.nanargmin(values)]
        # if rounding hides the decrease, the whole step is the best one
        close = jnp.abs(values[0] - objective(at)) <= 1e-9 * (1 + jnp.abs(objective(at)))
        return at - jnp.where(close, 1.0, best) * step

    return jax.lax.fori_loop(0, _NEWTON, one, start)
