"""Distances between clouds of points, and generated points that move up the gradient of a critic. The critic is trained
anew at every step.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import linear_sum_assignment

from lemmata.core import check_numbers, check_whole, known, require_float64
from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel

from ._critics import Critic, Loss, critic


class ParticlePath(eqx.Module):
    """The generated points during training, if the points move freely instead of being outputs of a network.

    Args:
        points: the generated points at the start and after every `every` steps.
        discrepancies: the squared maximum mean discrepancy between generated and real points at the same steps.
        steps: the numbers of steps after which `points` and `discrepancies` are given.
    """

    points: Float[Array, "s m d"]
    discrepancies: Float[Array, " s"]
    steps: Float[Array, " s"]


def squared_discrepancy(kernel: AbstractKernel, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, ""]:
    """Return MMD² = mean K(x, x') + mean K(y, y') - 2 mean K(x, y). The means include pairs of a point with itself.

    Args:
        kernel: K.
        x: points of one cloud.
        y: points of the other cloud.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import squared_discrepancy
        >>> from lemmata.kernels import Linear
        >>> float(squared_discrepancy(Linear(), jnp.array([[0.0], [2.0]]), jnp.array([[4.0]])))
        9.0
    """
    inner = lambda a, b: jnp.mean(kernel.cross(a, b))
    return inner(x, x) + inner(y, y) - 2 * inner(x, y)


def generator_slopes(found: Critic, fake: Float[Array, "m d"], loss: Loss) -> Float[Array, "m d"]:
    """Return the direction of each generated point: minus the gradient of the generator's loss at this point.

    The generator's loss is -f for "ipm", so points move towards larger values of the critic f. The loss is f² for
    "lsgan" (with the labels -1, 1 and 0 of Mao et al., 2017), and ln(1 + e^-f) for "vanilla".

    Args:
        found: the critic f, which is held fixed.
        fake: generated points.
        loss: the losses of generator and critic: "ipm", "lsgan" or "vanilla".
    """
    slopes = found.slopes(fake)
    if loss == "ipm":
        return slopes
    values = found(fake)
    pull = -2 * values if loss == "lsgan" else jax.nn.sigmoid(-values)
    return pull[:, None] * slopes


def particle_flow(
    kernel: AbstractKernel,
    real: Float[Array, "n d"],
    fake: Float[Array, "m d"],
    *,
    steps: int,
    rate: float,
    time: float = 1.0,
    loss: Loss = "ipm",
    every: int = 1,
) -> ParticlePath:
    """Move generated points by alternating training. At each step, a critic is trained from f = 0 for a given time, and
    then every point takes a step.

    Each step is x <- x + rate * `generator_slopes`, with the critic of the present points. With "ipm", the flow is
    gradient descent on MMD². For m generated points, the step is -(m/2) * rate * time times the gradient of MMD². With
    an RBF kernel, MMD² cannot rise while rate * time < 2/3 lengthscale² (`lemmata.subjects.dynamics.particle_flows`).

    Args:
        kernel: K, the tangent kernel of the discriminator.
        real: the data points.
        fake: the generated points at the start.
        steps: the number of steps that the points take.
        rate: the step size of the points.
        time: how long the critic is trained at each step.
        loss: "ipm", "lsgan" or "vanilla".
        every: the number of steps between two entries of the path.

    Raises:
        SettingError: for a rate that is not positive and finite; for fewer than 1 step; for a number of steps that is
            not a multiple of `every`; and for the same reasons as `critic`.
        ShapeError: if points have different dimensions.
        DataError: if an entry is not finite.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import particle_flow
        >>> from lemmata.kernels import RBF
        >>> jax.config.update("jax_enable_x64", True)
        >>> real = jnp.array([[1.0, 0.0], [0.0, 1.0]])
        >>> path = particle_flow(RBF(1.0), real, jnp.zeros((2, 2)) - 0.1 * real, steps=200, rate=0.5, every=100)
        >>> bool(jnp.abs(path.points[-1] - real[::-1]).max() < 0.01)
        True
    """
    require_float64("the flow of particles")
    check_whole("steps", steps, 1, "steps")
    check_whole("every", every, 1, "steps")
    if steps % every:
        raise SettingError("steps", found=steps, rule=f"a multiple of {every}, the value of every")
    seen = known(jnp.asarray(rate, float))
    if seen is not None and not 0 < seen < float("inf"):
        raise SettingError("rate", found=rate, rule="a positive number")
    critic(kernel, real[:1], fake[:1], time, loss)  # raises errors for invalid arguments before anything is compiled
    check_numbers("real points", real)
    check_numbers("generated points", fake)
    points, discrepancies = _flow(kernel, real, fake, steps // every, every, rate, time, loss)
    return ParticlePath(points, discrepancies, jnp.arange(steps // every + 1) * float(every))


@eqx.filter_jit
def _flow(kernel, real, fake, records: int, every: int, rate, time, loss: Loss):
    def one(_, points: Array) -> Array:
        return points + rate * generator_slopes(critic(kernel, real, points, time, loss), points, loss)

    def segment(points: Array, _) -> tuple[Array, tuple[Array, Array]]:
        moved = jax.lax.fori_loop(0, every, one, points)
        return moved, (moved, squared_discrepancy(kernel, moved, real))

    _, (path, distances) = jax.lax.scan(segment, fake, length=records)
    first = squared_discrepancy(kernel, fake, real)
    return jnp.concatenate([fake[None], path]), jnp.concatenate([first[None], distances])


def wasserstein2(x: Float[Array, "n d"] | np.ndarray, y: Float[Array, "n d"] | np.ndarray) -> float:
    """Return the Wasserstein distance of order 2 between two clouds of equally many points, by optimal assignment.

    The squared distance is the minimum over permutations p of mean_i |x_i - y_p(i)|². For n points, the computation
    takes of the order of n³ operations.

    Args:
        x: one cloud of points.
        y: the other cloud.

    Raises:
        ShapeError: if the arrays have different shapes.
        DataError: if an entry is not finite.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.dynamics import wasserstein2
        >>> wasserstein2(np.array([[0.0], [1.0]]), np.array([[2.0], [1.0]]))
        1.0
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.ndim != 2 or x.shape != y.shape:
        raise ShapeError("two clouds of points", found=f"shapes {x.shape} and {y.shape}", rule="shape (n, d) for both")
    check_numbers("x", x)
    check_numbers("y", y)
    costs = np.sum((x[:, None] - y[None]) ** 2, axis=2)
    return float(np.sqrt(costs[linear_sum_assignment(costs)].mean()))
