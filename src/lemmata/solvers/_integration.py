"""The flow of outputs in a kernel under any smooth loss, by an ordinary differential equation."""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

MOST_STEPS = 10_000

Gradient = Callable[[Float[Array, "n k"], Any], Float[Array, "n k"]]
"""The gradient of a loss by the outputs, at targets of any kind."""


@eqx.filter_jit
def integrate(
    K: Float[Array, "n m"],
    gradient: Gradient,
    targets: Any,
    first: Float[Array, "n k"],
    times: Float[Array, " s"],
    tolerance: Float[Array, ""],
    *,
    stiff: bool,
    most: int,
    gather: Float[Array, "m n"] | None = None,
    damping: Float[Array, ""] | None = None,
) -> tuple[Float[Array, "s m k"], Int[Array, ""], Bool[Array, ""]]:
    """B at every time with f = f(0) - K B, the number of steps, and whether the last time was reached.

    dB/dt = gradient(f), or with damping d²B/dt² + damping dB/dt = gradient(f), from B = dB/dt = 0. So f obeys df/dt =
    -K gradient(f), and what is elsewhere, f(0) - K_cross B, needs no inverse of K and no equation of its own. Where the
    Gram matrix is a product K gather, B of its m rows obeys dB/dt = gather gradient(f).

    Args:
        K: the Gram matrix, or its left factor.
        gradient: of the loss.
        targets: its second argument.
        first: f(0).
        times: increasing.
        tolerance: of each step: relative, of B; absolute, of f, or with a right factor of B, which is in units of f.
        stiff: Kvaerno 5/4 with its systems of all outputs, in place of Tsitouras 5/4 with explicit steps.
        most: steps, rejected ones included.
        gather: the right factor of the Gram matrix; None is the identity.
        damping: of the flow with momentum.
    """
    size = 1.0 if gather is not None else jnp.max(jnp.sum(jnp.abs(K), axis=1))

    def velocity(t, state, args):
        matrix, initial, goal, right = args
        moved = state if damping is None else state[0]
        force = gradient(initial - matrix @ moved, goal)
        force = force if right is None else right @ force
        return force if damping is None else (state[1], force - damping * state[1])

    still = jnp.zeros((K.shape[1], first.shape[1]), first.dtype)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(velocity),
        diffrax.Kvaerno5() if stiff else diffrax.Tsit5(),
        0.0,
        jnp.maximum(times[-1], 1e-300),
        None,
        still if damping is None else (still, still),
        (K, first, targets, gather),
        saveat=diffrax.SaveAt(ts=times),
        max_steps=most,
        throw=False,
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance / jnp.where(size > 0, size, 1.0)),
    )
    states: Any = solution.ys
    finished = solution.result == diffrax.RESULTS.successful
    return states if damping is None else states[0], solution.stats["num_steps"], finished
