"""Compute the gradient flow of a linearised network on any smooth loss, by integrating a differential equation."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

MOST_STEPS = 10_000

Gradient = Callable[[Float[Array, "n c"], Any], Float[Array, "n c"]]
"""A function (outputs, targets) that returns the gradient of a loss in the outputs. Targets may have any type."""


@eqx.filter_jit
def integrate(
    left: Float[Array, "n m"],
    gather: Float[Array, "m n"],
    gradient: Gradient,
    first: Float[Array, "n c"],
    targets: Any,
    times: Float[Array, " s"],
    tolerance: Float[Array, ""],
    damping: Float[Array, ""] | None,
    *,
    stiff: bool,
) -> tuple[Float[Array, "s m c"], Int[Array, ""], Bool[Array, ""]]:
    """Return coordinates B of the outputs at every time, the number of steps, and whether all times were reached.

    The outputs are f = f(0) - left B. The equation is dB/dt = gather gradient(f), or with damping d²B/dt² + damping
    dB/dt = gather gradient(f). The solution starts at B = 0 and, with damping, at dB/dt = 0. The integrator ends a step
    at each requested time, because values interpolated between steps would be less accurate.

    Args:
        left: the left factor of the Gram matrix left gather.
        gather: the right factor of this Gram matrix.
        gradient: the gradient of the loss.
        first: the outputs f(0).
        targets: the second argument of the gradient.
        times: the times, increasing.
        tolerance: the relative and absolute tolerance of each step.
        damping: the damping of the flow with momentum; None for the flow without momentum.
        stiff: whether to use Kvaerno 5/4 instead of Tsitouras 5/4. The steps of Kvaerno 5/4 are implicit and solve
            systems of equations for all outputs; the steps of Tsitouras 5/4 are explicit.
    """
    import diffrax  # slow to import

    def velocity(t, state, args):
        push, pull, initial, goal = args
        moved = state if damping is None else state[0]
        force = pull @ gradient(initial - push @ moved, goal)
        return force if damping is None else (state[1], force - damping * state[1])

    def segment(state, ends):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(velocity),
            diffrax.Kvaerno5() if stiff else diffrax.Tsit5(),
            ends[0],
            jnp.maximum(ends[1], 1e-300),
            None,
            state,
            (left, gather, first, targets),
            saveat=diffrax.SaveAt(t1=True),
            max_steps=MOST_STEPS,
            throw=False,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        )
        end: Any = jax.tree.map(lambda part: part[0], solution.ys)
        finished = solution.result == diffrax.RESULTS.successful
        return end, (end if damping is None else end[0], solution.stats["num_steps"], finished)

    still = jnp.zeros((left.shape[1], first.shape[1]), first.dtype)
    ends = jnp.stack([jnp.concatenate([jnp.zeros(1), times[:-1]]), times], axis=1)
    _, (found, steps, finished) = jax.lax.scan(segment, still if damping is None else (still, still), ends)
    return found, jnp.sum(steps), jnp.all(finished)
