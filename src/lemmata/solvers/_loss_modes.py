"""Integrate the gradient flow of a loss along the kernel's eigenvectors at two tolerances, and find its limit."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from lemmata.errors import SolverError

from ._integration import MOST_STEPS, integrate
from ._loss_limit import OutputLoss, largest_curvature, least_loss


class OutputModes(eqx.Module):
    """Coordinates B along eigenvectors of K, with f = f(0) - left B, f_* = f_*(0) - right B, dB/dt = gather grad loss.

    Here, f are the outputs at training points, and f_* are the outputs at other points. The matrices left, right and
    gather follow from the eigenvectors and eigenvalues of K, and grad loss is the gradient with respect to f.

    The coordinates are scaled: if a coordinate changes by 1, no output changes by more than 1, at training points or at
    other points. So the tolerance of the integrator applies to outputs. Along null vectors of K, the coordinates B grow
    without limit, but this growth does not loosen the tolerance.

    Args:
        vectors: the eigenvectors of K.
        values: the eigenvalues; those at or below the rounding error are set to zero.
        floor: the rounding error of the eigenvalues.
        parts: the product of K_cross and the eigenvectors, with K_cross = K(other points, training points).
    """

    vectors: Float[Array, "n n"]
    values: Float[Array, " n"]
    floor: Float[Array, ""]
    parts: Float[Array, "t n"]

    @property
    def unit(self) -> Float[Array, " n"]:
        """The scale of a coordinate: its eigenvalue, or if larger, its largest |entry| of `parts`; 1 if both are 0."""
        unit = jnp.maximum(self.values, jnp.max(jnp.abs(self.parts), axis=0, initial=0.0))
        return jnp.where(unit > 0, unit, 1.0)

    @property
    def left(self) -> Float[Array, "n n"]:
        """The matrix `left`, which maps coordinates B to the change -left B of the outputs at training points."""
        return self.vectors * (self.values / self.unit)

    @property
    def gather(self) -> Float[Array, "n n"]:
        """The matrix `gather`, which maps the gradient of the loss to the velocity dB/dt of the coordinates."""
        moves = (self.values > 0) | jnp.any(self.parts != 0, axis=0)
        return jnp.where(moves, self.unit, 0.0)[:, None] * self.vectors.T

    def outputs(self, moved: Float[Array, "s n c"]) -> tuple[Float[Array, "s n c"], Float[Array, "s t c"]]:
        """Return left B and right B at every time, for the coordinates B in `moved`."""
        return jnp.einsum("im,smc->sic", self.left, moved), jnp.einsum("im,smc->sic", self.parts / self.unit, moved)

    def counted(self, times: np.ndarray, damping: float | None) -> Bool[Array, "s n 1"]:
        """Return whether each eigenvector is included in the outputs at each time.

        An eigenvector whose eigenvalue is at most the rounding error is included until it may have converged.
        """
        elapsed = jnp.asarray(times if damping is None else times / damping)
        return ((self.values > 0) | (elapsed[:, None] * self.floor <= 1))[:, :, None]


def trained(
    modes: OutputModes,
    loss: OutputLoss,
    first: Float[Array, "n c"],
    y: Array,
    times: np.ndarray,
    tolerance: float,
    damping: float | None,
) -> tuple[Float[Array, "s n c"], Float[Array, " s"], int]:
    """Return the coordinates B at every time, the estimated error of the outputs, and the number of steps.

    Args:
        modes: the modes of the kernel.
        loss: the loss with its gradient.
        first: the outputs at t = 0.
        y: the targets.
        times: the times, at least 0, in any order.
        tolerance: the tolerance of a step.
        damping: the damping of the flow with momentum.
    """
    ended = np.isinf(times)
    moved, error, steps = jnp.zeros((len(times), *first.shape)), jnp.zeros(len(times)), 0
    if not ended.all():
        finite, back = np.unique(times[~ended], return_inverse=True)
        rate = float(modes.values[0] * largest_curvature(loss, first, y))
        rate = rate if damping is None else rate**0.5 + damping
        ways = (True,) if finite[-1] * rate / 3 > MOST_STEPS else (False, True)  # explicit steps are at most 3 / rate
        fine, stiff, steps = _integrated(modes, loss, first, y, finite, tolerance, damping, ways)
        rough, _, _ = _integrated(modes, loss, first, y, finite, min(10 * tolerance, 0.5), damping, (stiff,))
        kept = modes.counted(finite, damping)
        gaps = [jnp.abs(part) for part in modes.outputs(jnp.where(kept, fine - rough, 0.0))]
        moved = moved.at[~ended].set(jnp.where(kept, fine, 0.0)[back])
        error = error.at[~ended].set(jnp.maximum(*(jnp.max(gap, axis=(1, 2), initial=0.0) for gap in gaps))[back])
    if ended.any():
        rank = int(jnp.sum(modes.values > 0))  # the largest eigenvalues come first
        along, last, count = least_loss(loss, modes.vectors[:, :rank], first, y)
        limit = jnp.zeros_like(first).at[:rank].set(-along * (modes.unit / modes.values)[:rank, None])
        moved, error, steps = moved.at[ended].set(limit), error.at[ended].set(last), steps + count
    return moved, error, steps


def _integrated(
    modes: OutputModes, loss: OutputLoss, first: Array, y: Array, times: np.ndarray, tolerance: float,
    damping: float | None, ways: tuple[bool, ...],
) -> tuple[Float[Array, "s n c"], bool, int]:  # fmt: skip
    """Return the coordinates at increasing times, whether implicit steps were taken, and the number of all steps.

    `ways` lists the methods to try in turn: False for explicit steps, True for implicit steps.
    """
    steps, drag = 0, None if damping is None else jnp.asarray(damping, float)
    known, wanted = jnp.asarray(times), jnp.asarray(tolerance, float)
    for stiff in ways:
        found, count, finished = integrate(modes.left, modes.gather, loss, first, y, known, wanted, drag, stiff=stiff)
        steps += int(count)
        if bool(finished):
            return found, stiff, steps
    raise SolverError(
        "flow under the loss",
        found=f"a flow that did not reach time {times[-1]:g} in {steps} steps",
        rule=f"an error of at most {tolerance:g} in each step",
        remedy="use a larger tolerance, a shorter time, or a loss that is smooth and bounded below",
    )
