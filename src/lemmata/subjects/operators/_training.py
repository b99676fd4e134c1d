"""Training of the super-resolution operator on patches of images at random scales."""

import functools
from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from lemmata.core import check_whole, whole
from lemmata.errors import SettingError, ShapeError

from ._interpolation import check_colours, check_image, cubic_weights, weighted
from ._operator import SuperResolutionOperator


def train_super_resolution(
    model: SuperResolutionOperator,
    images: Sequence[Float[np.ndarray, "_ _ channels"]] | Float[np.ndarray, "n _ _ channels"],
    *,
    steps: int,
    side: int = 24,
    batch: int = 4,
    points: int = 256,
    scales: tuple[float | int, float | int] = (1.0, 4.0),
    learning_rate: float = 2e-3,
    seed: int = 0,
) -> tuple[SuperResolutionOperator, Float[np.ndarray, " steps"]]:
    """Train the operator by Adam on the mean absolute error of colours, with a cosine decay of the learning rate.

    For each patch, a scale s is drawn uniformly. A square of round(s side) pixels per side is cut from an image, turned
    by one of the eight symmetries of the square, and resized to side x side. The targets are `points` pixels of the
    square before resizing, drawn at random with repetition.

    Args:
        model: the operator at the start.
        images: images with values in [0, 1]. If all images have the same size, one array may hold all of them.
        steps: the number of steps of Adam.
        side: the side of the patches that the operator takes as input, in pixels.
        batch: the number of patches in each step.
        points: the number of positions in each patch.
        scales: the smallest and the largest scale.
        learning_rate: the learning rate at the start.
        seed: the seed of the random draws.

    Returns:
        The trained operator, and the mean absolute error of each step's patches before the step.

    Raises:
        SettingError: for scales that are not 1 <= low <= high, counts below 1, a rate that is not above 0, or a seed
            that is not a whole number of at least 0.
        ShapeError: without images, or for images smaller than the largest square, round(s side) at the largest scale s.
        DataError: for entries that are not finite, for whole numbers, and for values outside [-1, 2].
    """
    for name, count in (("steps", steps), ("side", side), ("batch", batch), ("points", points)):
        check_whole(name, count, 1, name)
    if np.shape(scales) != (2,) or not 1 <= scales[0] <= scales[1] < np.inf:
        raise SettingError(
            "scales", found=scales, rule="(low, high) with 1 <= low <= high, because the operator adds pixels"
        )
    if not 0 < learning_rate < np.inf:
        raise SettingError("learning_rate", found=learning_rate, rule="a finite number above 0")
    if whole("seed", seed) < 0:
        raise SettingError("seed", found=seed, rule="a whole number that is not negative")
    images = _checked(images, side, scales[1])
    optimiser = optax.adam(optax.cosine_decay_schedule(learning_rate, steps))
    params, static = eqx.partition(model, eqx.is_array)
    dtype, memory, losses = model.lift.bias.dtype, optimiser.init(params), []

    def loss(params, patches: Array, places: Array, cells: Array, colours: Array) -> Array:
        found = jax.vmap(eqx.combine(params, static))(patches, places, cells)
        return jnp.mean(jnp.abs(found - colours))

    @jax.jit
    def step(params, memory, *drawn: Array):
        value, slope = jax.value_and_grad(loss)(params, *drawn)
        update, memory = optimiser.update(slope, memory, params)
        return optax.apply_updates(params, update), memory, value

    draws = _draws(images, np.random.default_rng(seed), side, points, scales)
    for _ in range(steps):
        columns = zip(*(next(draws) for _ in range(batch)), strict=True)
        params, memory, value = step(params, memory, *(jnp.asarray(np.stack(column), dtype) for column in columns))
        losses.append(value)
    return eqx.combine(params, static), np.asarray(losses, float)


def _checked(
    images: Sequence[np.ndarray] | Float[np.ndarray, "..."], side: int, scale: float | int
) -> Sequence[np.ndarray]:
    if len(images) == 0:
        raise ShapeError("images", found="no image", rule="at least one image")
    if getattr(images, "ndim", 4) == 3:
        raise ShapeError(
            "images",
            found="a single array with three axes",
            rule="a sequence of images",
            remedy="put the image into a list, [image]",
        )
    needed = round(side * scale)
    for image in images:
        check_image("image", image)
        check_colours("image", image)
        if min(np.shape(image)[:2]) < needed:
            found = " x ".join(map(str, np.shape(image)[:2]))
            rule = f"at least {needed} pixels on each side, which is {side} times the largest scale {scale:g}"
            raise ShapeError("image", found=f"{found} pixels", rule=rule, remedy="use a smaller side or scale")
    return list(images)


def _draws(
    images: Sequence[np.ndarray],
    rng: np.random.Generator,
    side: int,
    points: int,
    scales: tuple[float | int, float | int],
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Draw a small patch, positions in it, the size of an output pixel, and the colours at the positions."""
    weights = functools.cache(lambda size: cubic_weights(size, side))  # cached, because few sizes are drawn
    while True:
        image = images[int(rng.integers(len(images)))]
        size = round(side * rng.uniform(*scales))
        top, left = (rng.integers(length - size + 1) for length in image.shape[:2])
        patch = np.rot90(image[top : top + size, left : left + size], int(rng.integers(4)))
        patch = patch[:, ::-1] if rng.random() < 0.5 else patch
        chosen = rng.integers(size**2, size=points)
        row, column = np.divmod(chosen, size)
        places = np.stack([(row + 0.5) / size, (column + 0.5) / size], axis=-1)
        small = weighted(weights(size), weights(size), patch).astype(image.dtype)
        yield small, places, np.full(2, side / size), patch[row, column]
