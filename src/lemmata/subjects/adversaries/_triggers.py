"""Triggers: change images in one way, poison a labelled set with this change, and measure the success of the attack."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.core import check_numbers, known, whole
from lemmata.errors import DataError, SettingError, ShapeError


class Trigger(eqx.Module):
    """A change x -> (1 - opacity m) x + opacity m p of points x such as images, pixel by pixel.

    Args:
        mask: the mask m with numbers in [0, 1], in the shape of a point.
        pattern: the pattern p with numbers in [0, 1], in the same shape.
        opacity: the opacity of the pattern, in (0, 1]; 1 hides the point where the mask is 1.

    Raises:
        ShapeError: if mask and pattern differ in shape.
        DataError: if either has a number outside [0, 1].
        SettingError: for an opacity outside (0, 1].

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.adversaries import Trigger
        >>> Trigger(jnp.array([1.0, 0.0]), jnp.ones(2), 0.3)(jnp.zeros((1, 2))).tolist()
        [[0.3, 0.0]]
    """

    mask: Float[Array, "*point"]
    pattern: Float[Array, "*shape"]
    opacity: Float[Array, ""] = eqx.field(default=1.0, converter=jnp.asarray)

    def __check_init__(self):
        if jnp.shape(self.mask) != jnp.shape(self.pattern):
            found = f"mask {jnp.shape(self.mask)}, pattern {jnp.shape(self.pattern)}"
            raise ShapeError("trigger", found=found, rule="a mask and a pattern, both with the shape of a point")
        _check_fractions("mask of the trigger", self.mask)
        _check_fractions("pattern of the trigger", self.pattern)
        opacity = known(self.opacity)
        if opacity is not None and not 0 < float(opacity) <= 1:
            raise SettingError("opacity", found=float(opacity), rule="a number above 0 and at most 1")

    def __call__(self, x: Float[Array, "n *point"]) -> Float[Array, "n *point"]:
        """Apply the trigger to points. If the mask is an image, points may be flat rows of the same number of pixels.

        Raises:
            ShapeError: if the points have another shape.
        """
        shape = jnp.shape(self.mask)
        if x.shape[1:] not in (shape, (self.mask.size,)):
            found = f"points of shape {x.shape[1:]}"
            raise ShapeError(
                "trigger",
                found=found,
                rule=f"points of shape {shape}, or flattened points of that size",
                remedy="use a mask of the shape of the points",
            )
        seen = (self.opacity * self.mask).reshape(x.shape[1:])
        return (1 - seen) * x + seen * self.pattern.reshape(x.shape[1:])

    @property
    def norm(self) -> Float[Array, ""]:
        """The Euclidean length |m p| of the visible part of the pattern at opacity 1."""
        return jnp.linalg.norm((self.mask * self.pattern).ravel())


def square_trigger(
    shape: Any,
    side: Any,
    *,
    corner: Any = None,
    value: float = 1.0,
    opacity: float = 1.0,
) -> Trigger:
    """Make a trigger that is a square of one value on an image.

    Args:
        shape: height and width of the images, a pair of whole numbers.
        side: the side of the square in pixels, a whole number.
        corner: the row and the column of the square's upper left pixel, a pair of whole numbers. By default, the square
            covers the lower right corner of the image.
        value: the value of the pattern; 1 is white.
        opacity: the opacity of the trigger.

    Raises:
        SettingError: if the square is not inside the image, has no pixel, or is not made of whole pixels.

    Example:
        >>> from lemmata.subjects.adversaries import square_trigger
        >>> int(square_trigger((8, 8), 3).mask.sum())
        9
    """
    height, width = _pair("shape of the images", shape)
    side = whole("side of the square", side)
    top, left = (height - side, width - side) if corner is None else _pair("corner of the square", corner)
    if side < 1 or top < 0 or left < 0 or top + side > height or left + side > width:
        found = f"rows {top} to {top + side - 1}, columns {left} to {left + side - 1}"
        rule = f"at least one pixel, and all pixels within rows 0 to {height - 1} and columns 0 to {width - 1}"
        raise SettingError(
            "square of the trigger", found=found, rule=rule, remedy="choose a smaller side or another corner"
        )
    mask = np.zeros((height, width))
    mask[top : top + side, left : left + side] = 1.0
    return Trigger(jnp.asarray(mask), jnp.full(mask.shape, value) * mask, opacity)


def _pair(name: str, value: Any) -> tuple[int, int]:
    numbers = tuple(value) if isinstance(value, tuple | list | np.ndarray) else ()
    if len(numbers) != 2:
        raise SettingError(name, found=repr(value), rule="two whole numbers, for rows and for columns")
    return whole(name, numbers[0]), whole(name, numbers[1])


class Poisoned(eqx.Module):
    """Points with labels. Some points carry a trigger and the label of the target class.

    Args:
        x, y: all points and labels, one row for each point.
        triggered: the mark of each row that was changed.
    """

    x: Float[Array, "n *point"]
    y: Float[Array, "n C"]
    triggered: Bool[Array, " n"]


def poison(
    x: Float[Array, "n *point"],
    y: Float[Array, "rows *classes"],
    trigger: Trigger,
    target: int,
    fraction: float,
    key: Key[Array, ""],
) -> Poisoned:
    """Give a random share of the points the trigger and the row of labels of the target class.

    Args:
        x: points.
        y: labels, one row for each point and one column for each class. Changed points get the row of y with the
            largest entry in the column of the target.
        trigger: a trigger in the shape of a point.
        target: the class that changed points are given.
        fraction: the share of the points that are changed, in (0, 1); at least one point is changed.
        key: the random key of the choice.

    Raises:
        ShapeError: if labels and points differ in number, or the trigger does not fit the points.
        SettingError: for a target that is not a class, or a fraction outside (0, 1).
    """
    if not 0 < fraction < 1:
        raise SettingError("fraction", found=fraction, rule="a share above 0 and below 1")
    count = max(1, round(fraction * len(x)))
    triggered = jnp.zeros(len(x), bool).at[jax.random.permutation(key, len(x))[:count]].set(True)
    return poison_rows(x, y, trigger, target, triggered)


def poison_rows(
    x: Float[Array, "n *point"],
    y: Float[Array, "rows *classes"],
    trigger: Trigger,
    target: int,
    triggered: Bool[Array, " n"],
) -> Poisoned:
    """Give the marked rows the trigger and the row of labels of the target class.

    Args:
        x: points.
        y: labels, one row for each point and one column for each class. Changed points get the row of y with the
            largest entry in the column of the target.
        trigger: a trigger in the shape of a point.
        target: the class that changed points are given.
        triggered: the mark of each point that gets the trigger.

    Raises:
        ShapeError: if labels and points differ in number, or the trigger does not fit the points.
        SettingError: for a target that is not a class.
    """
    check_labels(x, y, "labels")
    check_class(target, y.shape[1])
    along = triggered.reshape(-1, *(1,) * (x.ndim - 1))
    label = y[jnp.argmax(y[:, target])]
    return Poisoned(jnp.where(along, trigger(x), x), jnp.where(triggered[:, None], label, y), triggered)


def attack_success(outputs: Float[Array, "n C"], classes: Int[Array, " n"], target: int) -> Float[Array, ""]:
    """Return the share of triggered points of other classes that are classified as the target.

    The function ignores points of the target class, because for such a point the prediction of this class is correct.
    If no other points are left, the function raises an error. If JAX traces the function, the result is NaN instead.

    Args:
        outputs: the outputs at triggered points.
        classes: the true classes of these points.
        target: the class that the trigger should cause.

    Raises:
        SettingError: for a target that is not a class.
        ShapeError: if classes and outputs differ in number.
        DataError: if all points have the target class, a class is not valid, or outputs are not finite.
    """
    check_class(target, outputs.shape[1])
    check_numbers("outputs", outputs)
    check_classes("classes", classes, len(outputs))
    others = jnp.asarray(classes) != target
    told = known(others)
    if told is not None and not told.any():
        found = f"all {len(told)} points in the target class {target}"
        raise DataError(
            "classes",
            found=found,
            rule="some points of other classes, because a share of them is relabelled as the target",
        )
    return jnp.sum((jnp.argmax(outputs, axis=1) == target) & others) / jnp.sum(others)


def check_classes(name: str, classes: Any, rows: int) -> None:
    """Raise an error unless the classes are whole numbers, at least 0, one for each row.

    For a traced array, only shape and type are checked.

    Args:
        name: the name of the numbers, for the error message.
        classes: the class numbers.
        rows: the required number of class numbers.

    Raises:
        ShapeError: for a wrong shape.
        DataError: for numbers that are not whole, or negative.
    """
    if jnp.shape(classes) != (rows,):
        raise ShapeError(name, found=f"shape {jnp.shape(classes)}", rule=f"shape ({rows},), one class for each row")
    if not jnp.issubdtype(jnp.asarray(classes).dtype, jnp.integer):
        raise DataError(
            name, found=f"numbers of type {jnp.asarray(classes).dtype}", rule="whole numbers that start at 0"
        )
    told = known(classes)
    if told is not None and told.min() < 0:
        raise DataError(name, found=f"the class {told.min()}", rule="classes numbered 0, 1, ...")


def check_class(target: int, classes: int) -> None:
    """Raise an error if the target is not a class.

    Args:
        target: the number of a class.
        classes: the number of classes.
    """
    if not 0 <= target < classes:
        raise SettingError("target", found=target, rule=f"a class from 0 to {classes - 1}")


def check_labels(x: Array, y: Array, name: str) -> None:
    """Raise an error unless the labels have one row for each point and one column for each of at least two classes.

    Args:
        x: points.
        y: labels of the points.
        name: the name of the labels, for the message.
    """
    if jnp.ndim(y) != 2 or len(y) != len(x) or y.shape[1] < 2:
        rule = f"shape ({len(x)}, C): one row for each point, one column for each of C >= 2 classes"
        raise ShapeError(name, found=f"shape {jnp.shape(y)}", rule=rule, remedy="pass indicators of the classes")


def check_images(name: str, points: Array) -> None:
    """Raise an error if points are not finite numbers from 0 to 1. For a traced array, only the shape is checked.

    Args:
        name: the name of the points, for the message.
        points: the points.

    Raises:
        DataError: for entries that are not finite, or outside [0, 1].
        ShapeError: for an empty array.
    """
    check_numbers(name, points)
    _check_fractions(name, points)


def _check_fractions(name: str, values: Array) -> None:
    told = known(values)
    if told is not None and not ((told >= 0) & (told <= 1)).all():
        found = f"numbers from {told.min():.4g} to {told.max():.4g}"
        raise DataError(name, found=found, rule="numbers from 0 to 1", remedy="scale the images to [0, 1]")
