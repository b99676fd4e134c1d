"""Gradient flow of a linear self-supervised model from any start, by integration."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_numbers, known, require_float64
from lemmata.errors import SettingError, ShapeError, SolverError

MOST_STEPS = 100_000


def correlation_loss(matrix: Float[Array, "m m"], weights: Float[Array, "d m"]) -> Float[Array, ""]:
    """Return |W Gamma W' - I|², the sum of squared entries.

    The sum is the Barlow Twins loss with weight 1 on every entry and without normalisation.

    Args:
        matrix: the contrastive matrix Gamma of the data.
        weights: the weights W of the linear model.
    """
    return jnp.sum((weights @ matrix @ weights.T - jnp.eye(len(weights))) ** 2)


def embedding_flow(
    matrix: Float[Array, "m m"],
    start: Float[Array, "d m"],
    times: Float[Array, " t"],
    *,
    tolerance: float = 1e-9,
) -> Float[Array, "t d m"]:
    """Return the weights W of the flow dW/dt = -4 (W Gamma W' - I) W Gamma at given times.

    The flow is the gradient flow of the loss |W Gamma W' - I|².

    The flow is integrated with explicit steps (Tsitouras 5/4). The local error that a step may have in W_ij is the
    tolerance times the sum of |W_ij| and the root mean square of the start.

    Args:
        matrix: the contrastive matrix Gamma of the data, which is symmetric.
        start: the weights W(0) at the start.
        times: the times at which W is returned, ascending and above 0.
        tolerance: the relative local error that a step may have.

    Raises:
        ShapeError: if the shapes of matrix and start do not fit each other.
        SettingError: if the times are not increasing and above 0.
        DataError: if an entry is not finite.
        SolverError: if 100,000 steps do not reach the last time.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import embedding_flow
        >>> jax.config.update("jax_enable_x64", True)
        >>> path = embedding_flow(jnp.diag(jnp.array([2.0, 1.0])), 1e-3 * jnp.eye(2), jnp.array([1.0, 5.0]))
        >>> (path[1] ** 2).round(6).tolist()
        [[0.5, 0.0], [0.0, 1.0]]
    """
    require_float64("a flow from a small start")
    if matrix.shape != (start.shape[1],) * 2:
        raise ShapeError(
            "Gamma and W(0)", found=f"shapes {matrix.shape}, {start.shape}", rule="shapes (m, m) and (d, m)"
        )
    check_numbers("Gamma", matrix)
    check_numbers("W(0)", start)
    seen = known(times)
    if seen is not None and not (seen.ndim == 1 and seen.size and seen[0] > 0 and (seen[1:] > seen[:-1]).all()):
        raise SettingError(
            "times", found=seen.tolist(), rule="increasing times above 0", remedy="pass one list of them"
        )

    path, ended = _integrated(matrix, start, times, tolerance)
    if known(ended) is not None and not ended:
        raise SolverError(
            "gradient flow of the embedding",
            found=f"more than {MOST_STEPS} steps",
            rule=f"at most {MOST_STEPS} steps up to the last time",
            remedy="use earlier times, because each step has a length near 1 / (8 gamma_1)",
        )
    return path


@eqx.filter_jit
def _integrated(matrix: Array, start: Array, times: Array, tolerance: float) -> tuple[Array, Array]:
    """Return the weights at the times, and whether the last time was reached."""
    import diffrax  # slow to import

    def slope(_, weights: Array, own: Array) -> Array:
        moved = weights @ own
        return -4 * (moved @ weights.T - jnp.eye(len(weights))) @ moved

    found = diffrax.diffeqsolve(
        diffrax.ODETerm(slope), diffrax.Tsit5(), 0.0, times[-1], None, start, matrix,
        saveat=diffrax.SaveAt(ts=times),
        max_steps=MOST_STEPS,
        throw=False,
        adjoint=diffrax.ForwardMode(),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance * jnp.sqrt(jnp.mean(start**2))),
    )  # fmt: skip
    return jnp.asarray(found.ys), found.result == diffrax.RESULTS.successful
