"""Kernel inducing points: a few points that replace a whole training set in kernel regression."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float, Key

from lemmata.core import check_numbers, check_whole, require_float64
from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel

from ._triggers import check_images, check_labels

RIDGE = 1e-6
"""The ridge of regressions on support points, as a fraction of the mean diagonal entry of these points' Gram matrix."""


class Distilled(eqx.Module):
    """Support points with labels, and kernel ridge regression on them.

    Args:
        kernel: the kernel k of the regression.
        points: the m support points S.
        labels: the labels y_S, which are not changed.
        ridge: the ridge, as a fraction of the mean of the diagonal of the Gram matrix K_SS of the points.
        losses: the mean over the batch of |f_S(x_i) - y_i|² before each step, where f_S is the regression on the
            support points; empty if there was no optimisation.
    """

    kernel: AbstractKernel
    points: Float[Array, "m *point"]
    labels: Float[Array, "m C"]
    ridge: Float[Array, ""]
    losses: Float[Array, " steps"]

    def __call__(self, x: Float[Array, "n *point"]) -> Float[Array, "n C"]:
        """Return f_S(x) = k(x, S) (K_SS + ridge tr(K_SS)/m I)^-1 y_S."""
        return inducing_outputs(self.kernel, self.points, self.labels, self.ridge, x)


def inducing_outputs(
    kernel: AbstractKernel,
    points: Float[Array, "m *point"],
    labels: Float[Array, "m C"],
    ridge: float | Float[Array, ""],
    x: Float[Array, "n *point"],
) -> Float[Array, "n C"]:
    """Return k(x, S) (K_SS + ridge tr(K_SS)/m I)^-1 y_S, which is differentiable in the m points S and in x.

    Args:
        kernel: the kernel k of the regression.
        points: the support points S.
        labels: the labels y_S.
        ridge: the ridge, as a share of the mean of the diagonal of K_SS.
        x: the points at which the regression is evaluated.
    """
    own = kernel.cross(points, points)
    own = own + ridge * jnp.trace(own) / len(points) * jnp.eye(len(points))
    return kernel.cross(x, points) @ cho_solve((jnp.linalg.cholesky(own), True), labels)


def distil(
    kernel: AbstractKernel,
    x: Float[Array, "n *point"],
    y: Float[Array, "rows *C"],
    points: Float[Array, "m *support"],
    labels: Float[Array, "k *classes"],
    *,
    steps: int = 200,
    rate: float = 0.02,
    ridge: float = RIDGE,
    batch: int | None = None,
    key: Key[Array, ""] | None = None,
) -> Distilled:
    """Find kernel inducing points: Adam moves support points so that kernel regression on these points fits a set.

    Adam reduces the mean over rows of |f_S(x_i) - y_i|², with f_S as in `Distilled`. After each step of Adam,
    the points S are clipped to [0, 1]. Their labels do not change. The kernel is differentiated with respect to both
    arguments, also on the diagonal of the Gram matrix K_SS of the support points.

    Args:
        kernel: a kernel that is differentiable in its inputs, such as `TangentKernel(network)`.
        x: points of the training set, in [0, 1].
        y: labels of the training set, one column per class.
        points: support points to start from, in [0, 1].
        labels: labels of the support points, with as many classes as y.
        steps: the number of Adam steps.
        rate: the learning rate of Adam.
        ridge: the ridge, as a share of the mean of the diagonal of K_SS.
        batch: the number of rows in the batch of a step. A new batch is drawn for each step. By default, the batch is
            all rows.
        key: the random key of the batches; required if `batch` is given.

    Raises:
        ShapeError: if labels do not fit their points, the numbers of classes differ, or the support points have another
            shape.
        DataError: for points that are not finite or outside [0, 1], or labels that are not finite.
        SettingError: for a ridge that is not positive, a batch that is empty or larger than the data, or a missing key.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.adversaries import distil
        >>> from lemmata.architectures import TangentKernel, relu_network
        >>> x = jax.random.uniform(jax.random.key(0), (40, 3))
        >>> y = jnp.stack([x[:, 0], 1 - x[:, 0]], axis=1)
        >>> found = distil(TangentKernel(relu_network(1)), x, y, x[:4], y[:4], steps=20)
        >>> bool(found.losses[-1] < found.losses[0])
        True
    """
    require_float64("distillation")
    check_labels(x, y, "labels of the training set")
    check_labels(points, labels, "labels of the support points")
    if y.shape[1] != labels.shape[1]:
        found = f"{y.shape[1]} classes in the training set, {labels.shape[1]} in the support"
        raise ShapeError("labels", found=found, rule="the same number of classes in both")
    if x.shape[1:] != points.shape[1:]:
        raise ShapeError(
            "support points",
            found=f"points of shape {points.shape[1:]}",
            rule=f"points of shape {x.shape[1:]}, like the rows of x",
        )
    for name, images in (("training set", x), ("support points", points)):
        check_images(name, images)
    for name, told in (("labels of the training set", y), ("labels of the support points", labels)):
        check_numbers(name, told)
    if not ridge > 0:
        raise SettingError(
            "ridge",
            found=ridge,
            rule="a number above 0, because support points can coincide during the optimisation",
            remedy="pass a positive ridge",
        )
    check_whole("steps", steps, 0)
    if batch is not None and not 1 <= batch <= len(x):
        raise SettingError("batch", found=batch, rule=f"a whole number from 1 to {len(x)}, the number of rows")
    if batch is not None and key is None:
        raise SettingError(
            "key", found="no key", rule="a random key, because batches are drawn", remedy="pass key=jax.random.key(0)"
        )
    keys = jax.random.split(jax.random.key(0) if key is None else key, steps)
    moved, losses = _descend(kernel, jnp.asarray(x), y, jnp.asarray(points), labels, keys, (rate, ridge), batch)
    return Distilled(kernel, moved, labels, jnp.asarray(ridge), losses)


@partial(eqx.filter_jit)
def _descend(kernel: Any, x: Array, y: Array, points: Array, labels: Array, keys: Array, how: tuple, batch: int | None):
    rate, ridge = how
    rule = optax.adam(rate)

    def loss(points: Array, x: Array, y: Array) -> Array:
        return jnp.mean(jnp.sum((inducing_outputs(kernel, points, labels, ridge, x) - y) ** 2, axis=1))

    def step(state: tuple, key: Array) -> tuple:
        points, memory = state
        rows = jnp.arange(len(x)) if batch is None else jax.random.permutation(key, len(x))[:batch]
        value, slope = jax.value_and_grad(loss)(points, x[rows], y[rows])
        update, memory = rule.update(slope, memory, points)
        return (jnp.clip(points + update, 0.0, 1.0), memory), value

    (points, _), losses = jax.lax.scan(step, (points, rule.init(points)), keys)
    return points, losses
