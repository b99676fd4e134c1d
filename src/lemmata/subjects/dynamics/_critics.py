"""Discriminators that are trained by gradient flow in a kernel's space for a given time, like very wide networks."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from lemmata.core import check_numbers, known, require_float64
from lemmata.errors import SettingError, ShapeError, SolverError
from lemmata.kernels import AbstractKernel, gram

LOSSES = ("ipm", "lsgan", "vanilla")
Loss = Literal["ipm", "lsgan", "vanilla"]
MOST_STEPS = 20_000
_TOLERANCE = 1e-9


class Critic(eqx.Module):
    """The function f(z) = sum_i c_i K(z, z_i) of a trained discriminator.

    Args:
        kernel: the kernel K.
        points: the points z_i, first the real points and then the generated ones.
        coefficients: the coefficients c_i.
    """

    kernel: AbstractKernel
    points: Float[Array, "N d"]
    coefficients: Float[Array, " N"]

    def __call__(self, z: Float[Array, "p d"]) -> Float[Array, " p"]:
        """Return the values at points."""
        return self.kernel.cross(z, self.points) @ self.coefficients

    def slopes(self, z: Float[Array, "p d"]) -> Float[Array, "p d"]:
        """Return the gradients at points. Kernels of ReLU networks have kinks at z_i. A kink contributes 0 to the
        gradient.
        """
        return jax.grad(lambda own: jnp.sum(self(own)))(z)

    @property
    def squared_norm(self) -> Float[Array, ""]:
        """The squared norm |f|² = c'Kc in the kernel's space."""
        return self.coefficients @ self(self.points)


def discriminator_loss(values: Float[Array, " N"], real: int, loss: Loss) -> Float[Array, ""]:
    """Return the loss of a discriminator f. Its values are given at the real points, then at the generated points.

    The loss "ipm" is E_fake f - E_real f. The loss "lsgan" is E_real (f - 1)² + E_fake (f + 1)². The loss "vanilla" is
    E_real ln(1 + e^-f) + E_fake ln(1 + e^f). Here E_real and E_fake are means over the real and the generated points.

    Args:
        values: the values of f at all points.
        real: the number of real points.
        loss: the name of the loss.
    """
    true, fake = values[:real], values[real:]
    if loss == "ipm":
        return fake.mean() - true.mean()
    if loss == "lsgan":
        return jnp.mean((true - 1) ** 2) + jnp.mean((fake + 1) ** 2)
    return jnp.mean(jax.nn.softplus(-true)) + jnp.mean(jax.nn.softplus(fake))


def critic(
    kernel: AbstractKernel,
    real: Float[Array, "n d"],
    fake: Float[Array, "m d"],
    time: float | Float[ArrayLike, ""],
    loss: Loss = "ipm",
) -> Critic:
    """Return the discriminator after gradient flow for a given time from f = 0, with fixed real and generated points.

    The flow is the gradient flow of `discriminator_loss` in the space of the kernel, df(z)/dt = -sum_i K(z, z_i)
    dL/df(z_i). A network of infinite width with tangent kernel K also follows this flow. Let w_i be 1/n at real and 1/m
    at generated points, and let the label r_i be 1 at real and -1 at generated points. Then f = sum_i c_i K(., z_i),
    with

    * ipm: c = time * w r, so f is time times the witness of the maximum mean discrepancy;
    * lsgan: c = w^(1/2) (1 - exp(-2 time S))/S w^(1/2) r with S = w^(1/2) K w^(1/2). This formula needs no inverse of
      K, and gives 2 time w r if K is 0;
    * vanilla: the flow is integrated numerically (Tsitouras 5/4, local error 1e-9).

    Args:
        kernel: the kernel K.
        real: the points of the data.
        fake: the points of the generator.
        time: the training time of the discriminator.
        loss: "ipm", "lsgan" or "vanilla".

    Raises:
        SettingError: for a time that is negative or infinite, or an unknown loss.
        ShapeError: if points have different dimensions.
        DataError: for entries that are not finite.
        SolverError: if the vanilla flow needs more than 20,000 steps.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import critic
        >>> from lemmata.kernels import RBF
        >>> jax.config.update("jax_enable_x64", True)
        >>> f = critic(RBF(1.0), jnp.array([[1.0], [2.0]]), jnp.array([[-1.0]]), 3.0, "lsgan")
        >>> f(jnp.array([[1.5], [-1.0]])).round(3).tolist()
        [1.127, -0.993]
    """
    require_float64("the training of a critic")
    _check(kernel, real, fake, time, loss)
    points, n = jnp.concatenate([real, fake]), len(real)
    weights = jnp.where(jnp.arange(len(points)) < n, 1 / n, 1 / len(fake))
    labels = jnp.where(jnp.arange(len(points)) < n, 1.0, -1.0)
    time = jnp.asarray(time, float)
    if loss == "ipm":
        return Critic(kernel, points, time * weights * labels)
    matrix = gram(kernel, points)
    if loss == "lsgan":
        return Critic(kernel, points, _least_squares(matrix, weights, labels, time))
    coefficients, ended = _integrated(matrix, n, time)
    if known(ended) is not None and not ended:
        raise SolverError(
            "training of the vanilla critic",
            found=f"more than {MOST_STEPS} steps",
            rule=f"at most {MOST_STEPS} steps up to the given time",
            remedy="use a shorter time, or loss='lsgan', which is exact at any time",
        )
    return Critic(kernel, points, coefficients)


def _check(kernel: object, real: Array, fake: Array, time: object, loss: object) -> None:
    if not isinstance(kernel, AbstractKernel):
        raise SettingError(
            "kernel", found=repr(kernel), rule="a kernel of lemmata", remedy="pass TangentKernel(network), for example"
        )
    if loss not in LOSSES:
        raise SettingError("loss", found=repr(loss), rule=f"one of {', '.join(LOSSES)}")
    seen = known(jnp.asarray(time, float))
    if seen is not None and not (seen.ndim == 0 and 0 <= seen < float("inf")):
        raise SettingError("time", found=time, rule="a finite number that is not negative")
    if real.ndim != 2 or fake.ndim != 2 or real.shape[1] != fake.shape[1]:
        raise ShapeError(
            "real and generated points", found=f"shapes {real.shape} and {fake.shape}", rule="shapes (n, d) and (m, d)"
        )
    check_numbers("real points", real)
    check_numbers("generated points", fake)


def _least_squares(matrix: Array, weights: Array, labels: Array, time: Array) -> Array:
    root = jnp.sqrt(weights)
    values, vectors = jnp.linalg.eigh(root[:, None] * matrix * root)
    values = jnp.maximum(values, 0.0)
    small = values * time < 1e-8
    filtered = jnp.where(small, 2 * time, -jnp.expm1(-2 * time * values) / jnp.where(small, 1.0, values))
    return root * (vectors @ (filtered * (vectors.T @ (root * labels))))


@eqx.filter_jit
def _integrated(matrix: Array, real: int, time: Array) -> tuple[Array, Array]:
    """Return the coefficients of the vanilla flow, dc/dt = -dL/df at f = Kc, and whether the time was reached."""
    import diffrax  # slow to import

    force = jax.grad(lambda values: -discriminator_loss(values, real, "vanilla"))
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda _, own, args: force(args @ own)), diffrax.Tsit5(), 0.0, jnp.maximum(time, 1e-300), None,
        jnp.zeros(len(matrix)), matrix,
        max_steps=MOST_STEPS,
        throw=False,
        adjoint=diffrax.ForwardMode(),
        stepsize_controller=diffrax.PIDController(rtol=_TOLERANCE, atol=_TOLERANCE),
    )  # fmt: skip
    return jnp.asarray(found.ys)[0], found.result == diffrax.RESULTS.successful
