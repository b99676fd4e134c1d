"""The effect of a poisoned set on kernel regression: the conflict loss, the projection loss, and optimised triggers."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers, check_whole, require_float64
from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel

from ._distil import RIDGE
from ._triggers import Poisoned, Trigger, check_class, check_images, check_labels


def conflict_loss(
    gram: Float[Array, "n columns"], y: Float[Array, "rows C"], ridge: float | Float[Array, ""]
) -> Float[Array, ""]:
    """Return the mean squared training error of kernel ridge regression: the mean over rows i of |(K alpha - y)_i|².

    This loss measures how much the labels of similar points differ.

    Let alpha = (K + ridge I)^-1 y. Then K alpha - y = -ridge alpha. For n points, the loss is sum_j (ridge / (ridge +
    a_j))² |u_j' y|² / n over the eigenpairs (a_j, u_j) of K. If K is invertible, the loss falls like ridge² as ridge ->
    0. If k of the n points are equal, the loss is at least k/n times the variance of their labels.

    Args:
        gram: the Gram matrix K of the whole set, clean and triggered.
        y: labels, one row for each point.
        ridge: the ridge on the diagonal, above 0.

    Raises:
        ShapeError: if K is not square and symmetric, or y is not a matrix with one row for each point.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.adversaries import conflict_loss
        >>> round(float(conflict_loss(jnp.eye(2), jnp.eye(2), 1.0)), 9)
        0.25
    """
    check_gram("the Gram matrix of the poisoned set", gram)
    _check_rows(gram, y)
    return jnp.mean(jnp.sum((ridge * _coefficients(gram, y, ridge)) ** 2, axis=1))


def projection_loss(
    gram: Float[Array, "n columns"],
    cross: Float[Array, "rows m"],
    own: Float[Array, "k others"],
    y: Float[Array, "labels C"],
    ridge: float | Float[Array, ""],
    *,
    floor: float = RIDGE,
) -> Float[Array, ""]:
    """Return the mean over rows i of |(R alpha)_i|², the part of a fit that support points cannot represent.

    In this formula, alpha = (K + ridge I)^-1 y. The matrix R = K - K_S (K_SS + floor tr(K_SS)/m I)^-1 K_S' is the Schur
    complement for m support points S. Consider the fit minus the orthogonal projection of the fit onto the span of k(s,
    .), s in S. As floor -> 0, R alpha holds the values of this difference at the rows.

    Args:
        gram: the Gram matrix K of the poisoned set.
        cross: the kernel K_S between the rows of the poisoned set and the m support points.
        own: the Gram matrix K_SS of the support points.
        y: labels, one row for each point.
        ridge: the ridge of the fit to the poisoned set.
        floor: the number added to the diagonal of K_SS, as a fraction of the mean of this diagonal.

    Raises:
        ShapeError: if the matrices do not fit each other.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.adversaries import projection_loss
        >>> round(float(projection_loss(jnp.eye(2), jnp.zeros((2, 1)), jnp.eye(1), jnp.eye(2), 1.0)), 9)
        0.25
    """
    check_gram("the Gram matrix of the poisoned set", gram)
    check_gram("the Gram matrix of the support points", own)
    _check_rows(gram, y)
    if cross.shape != (len(gram), len(own)):
        raise ShapeError("cross matrix", found=f"shape {cross.shape}", rule=f"shape ({len(gram)}, {len(own)})")
    rest = gram - cross @ _inverted(own, cross.T, floor)
    return jnp.mean(jnp.sum((rest @ _coefficients(gram, y, ridge)) ** 2, axis=1))


def _check_rows(gram: Array, y: Array) -> None:
    if jnp.ndim(y) != 2 or len(y) != len(gram):
        raise ShapeError(
            "labels", found=f"shape {jnp.shape(y)}", rule=f"shape ({len(gram)}, C), one row for each point"
        )


def _coefficients(gram: Array, y: Array, ridge: float | Array) -> Array:
    return cho_solve((jnp.linalg.cholesky(gram + ridge * jnp.eye(len(gram))), True), y)


def _inverted(own: Array, right: Array, floor: float) -> Array:
    jitter = floor * jnp.trace(own) / len(own)
    return cho_solve((jnp.linalg.cholesky(own + jitter * jnp.eye(len(own))), True), right)


class OptimisedTrigger(eqx.Module):
    """An optimised trigger, and the losses along the optimisation.

    Args:
        trigger: the trigger with the pattern after the last step.
        losses: the values of weight * conflict + projection before each step, and after the last step.
    """

    trigger: Trigger
    losses: Float[Array, " steps"]


def optimise_trigger(
    kernel: AbstractKernel,
    clean: Poisoned,
    points: Float[Array, "m *support"],
    trigger: Trigger,
    target: int,
    *,
    weight: float = 1.0,
    ridge: float = 1e-3,
    steps: int = 100,
    rate: float = 0.01,
) -> OptimisedTrigger:
    """Optimise the pattern of a trigger so that weight * conflict + projection is small. Mask and opacity stay fixed.

    Conflict and projection are `conflict_loss` and `projection_loss` of a poisoned set. In this set, the rows that
    `clean.triggered` marks have the trigger and the label of the target. The support points are fixed. The optimiser is
    Adam. After each step, the pattern p is clipped to [0, 1]. Let m be the mask. If the norm |m p| exceeds its initial
    value, p is scaled down until |m p| equals the initial value.

    Args:
        kernel: the kernel, differentiable in its inputs.
        clean: the points in [0, 1] and labels without the trigger, and the mark of each row that gets the trigger.
        points: support points in [0, 1], for example points of the clean set.
        trigger: the trigger to start from.
        target: the class that the trigger should cause.
        weight: the weight of the conflict. At a small ridge, the conflict is about ridge² times as large as the
            projection. Therefore the conflict only has an effect if the weight is about 1/ridge².
        ridge: the ridge of both losses, as a share of the mean diagonal entry of the Gram matrix K of the poisoned set.
        steps: the number of Adam steps.
        rate: the learning rate of Adam.

    Raises:
        ShapeError: if labels, trigger or support points do not fit the points.
        DataError: for points that are not finite or outside [0, 1], or labels that are not finite.
        SettingError: for a target that is not a class, a ridge that is not positive, or no steps.
        PrecisionError: if float64 is off.
    """
    require_float64("optimising a trigger")
    check_labels(clean.x, clean.y, "labels")
    check_class(target, clean.y.shape[1])
    check_whole("steps", steps, 1)
    if clean.x.shape[1:] != points.shape[1:]:
        rule = f"points of shape {clean.x.shape[1:]}, like the rows of x"
        raise ShapeError("support points", found=f"points of shape {points.shape[1:]}", rule=rule)
    for name, images in (("points of the set", clean.x), ("support points", points)):
        check_images(name, images)
    check_numbers("labels", clean.y)
    if not ridge > 0:
        raise SettingError("ridge", found=ridge, rule="a number above 0")
    loss = BackdoorLoss(kernel, clean, points, target, weight, ridge)
    pattern, losses = _improve(loss, trigger, rate, steps)
    return OptimisedTrigger(Trigger(trigger.mask, pattern, trigger.opacity), losses)


class BackdoorLoss(eqx.Module):
    """The loss weight * conflict + projection of a set with a trigger in some rows, as a function of the trigger.

    Args:
        kernel: the kernel of the regression.
        clean: points and labels without the trigger, and the mark of each row that gets the trigger.
        points: the support points, which are fixed.
        target: the class that the trigger should cause.
        weight: the weight of the conflict.
        ridge: the ridge, as a share of the mean diagonal entry of the Gram matrix K of the set.
    """

    kernel: AbstractKernel
    clean: Poisoned
    points: Float[Array, "m *point"]
    target: int = eqx.field(static=True)
    weight: float | Float[Array, ""] = 1.0
    ridge: float | Float[Array, ""] = 1e-3

    def __call__(self, trigger: Trigger) -> Float[Array, ""]:
        """The loss of a trigger."""
        conflict, projection = self.parts(trigger)
        return self.weight * conflict + projection

    def parts(self, trigger: Trigger) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the conflict loss and the projection loss of a trigger."""
        x, y = self.set_with(trigger)
        gram = self.kernel.cross(x, x)
        level = self.ridge * jnp.trace(gram) / len(gram)
        cross, own = self.kernel.cross(x, self.points), self.kernel.cross(self.points, self.points)
        return conflict_loss(gram, y, level), projection_loss(gram, cross, own, y, level)

    def set_with(self, trigger: Trigger) -> tuple[Float[Array, "n *point"], Float[Array, "n C"]]:
        """The points and labels of the set with the trigger."""
        triggered = self.clean.triggered
        along = triggered.reshape(-1, *(1,) * (self.clean.x.ndim - 1))
        label = self.clean.y[jnp.argmax(self.clean.y[:, self.target])]
        return jnp.where(along, trigger(self.clean.x), self.clean.x), jnp.where(triggered[:, None], label, self.clean.y)


@partial(eqx.filter_jit)
def _improve(loss: Any, trigger: Trigger, rate: float, steps: int) -> tuple[Array, Array]:
    rule, most = optax.adam(rate), trigger.norm
    at = lambda pattern: Trigger(trigger.mask, pattern, trigger.opacity)

    def step(state: tuple, _: None) -> tuple:
        pattern, memory = state
        value, slope = jax.value_and_grad(lambda own: loss(at(own)))(pattern)
        update, memory = rule.update(slope, memory, pattern)
        moved = jnp.clip(pattern + update, 0.0, 1.0)
        length = at(moved).norm
        return (moved * jnp.minimum(1.0, most / jnp.where(length > 0, length, 1.0)), memory), value

    (pattern, _), losses = jax.lax.scan(step, (trigger.pattern, rule.init(trigger.pattern)), None, steps)
    return pattern, jnp.append(losses, loss(at(pattern)))
