"""A convolutional deep kernel machine of several layers, and its training."""

import math
from collections.abc import Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from lemmata.core import check_numbers, known, require_float64
from lemmata.errors import SettingError, ShapeError

from ._checks import check_number, count, counts
from ._conv_grams import ConvolutionalGrams, patch_grams
from ._conv_layers import convolve_grams, normalise_grams, rectify_grams, replace_gram, root, site_weights
from ._conv_top import InducedPosterior, PooledGrams, induced_posterior, pool_grams

_BIAS, _JITTER, _WINDOW = 0.1, 1e-5, 3


class ConvolutionalMachine(eqx.Module):
    """A machine of patches, then blocks (ReLU, convolution, Gram matrix and normalisation), then a ReLU and pooling.

    The learned Gram matrix of a block is G = L V V' L', where L L' = K_ii is its prior, the Gram matrix of the inducing
    points after the convolution. So the divergence of G from the prior is the divergence of V V' from the identity,
    which is 0 if V = I. All entries of the lower triangle of V are free; the sign of an entry of its diagonal does not
    change the divergence.

    Attributes:
        patches: the inducing points of the images.
        mixings: the weights C of each block's convolution.
        roots: the lower triangular matrix V of each block.
        log_noise: the logarithm of the variance of the labels' noise.
        log_scale: the logarithm of the factor that multiplies the covariances of the outputs.
        strides: the stride of each block's convolution.
    """

    patches: Float[Array, "p k k c"]
    mixings: tuple[Float[Array, "k k _ _"], ...]
    roots: tuple[Float[Array, "_ _"], ...]
    log_noise: Float[Array, ""]
    log_scale: Float[Array, ""]
    strides: tuple[int, ...] = eqx.field(static=True)

    @eqx.filter_jit
    def top(self, images: Float[Array, "n h w c"]) -> PooledGrams:
        """Return the covariances of the outputs at images.

        Args:
            images: the n images.
        """
        grams = _first(images, self.patches)
        for mixing, factor, stride in zip(self.mixings, self.roots, self.strides, strict=True):
            grams = convolve_grams(rectify_grams(grams), mixing, stride=stride)
            half = root(grams.inducing, _JITTER) @ jnp.tril(factor)
            grams = normalise_grams(replace_gram(grams, half @ half.T, jitter=_JITTER))
        found = pool_grams(rectify_grams(grams), jitter=_JITTER)
        return PooledGrams(*(jnp.exp(self.log_scale) * part for part in found))

    def divergence(self) -> Float[Array, ""]:
        """Return the Kullback-Leibler divergences of N(0, G) from N(0, K_ii), summed over blocks."""
        parts = [
            0.5 * (jnp.sum(jnp.tril(v) ** 2) - len(v)) - jnp.sum(jnp.log(jnp.abs(jnp.diagonal(v)))) for v in self.roots
        ]
        return sum(parts, start=jnp.zeros(()))

    def posterior(self, images: Float[Array, "n h w c"], targets: Float[Array, "n k"]) -> InducedPosterior:
        """Return the posterior for given labels of images.

        Args:
            images: the n images.
            targets: the labels, one column per output.
        """
        return induced_posterior(self.top(images), targets, jnp.exp(self.log_noise), jitter=_JITTER)

    def outputs(self, images: Float[Array, "m h w c"], weights: Float[Array, "p k"]) -> Float[Array, "m k"]:
        """Return the posterior mean at images.

        Args:
            images: the m images.
            weights: the weights that `posterior` returned.
        """
        return self.top(images).cross @ weights


@jax.jit
def _first(images: Float[Array, "n h w c"], patches: Float[Array, "p k k c"]) -> ConvolutionalGrams:
    return normalise_grams(patch_grams(images, patches, bias=_BIAS))


def initial_machine(
    key: Key[Array, ""], images: Float[Array, "n h w c"], inducing: Sequence[int], strides: Sequence[int]
) -> ConvolutionalMachine:
    """Return a machine with the Gram matrices of the prior, and patches of images as inducing points of all layers.

    A patch of layer l is expressed in the inducing points of layer l - 1. At each place in the window of this patch,
    the weights are K_ti K_ii^-1 for the site t at this place. So the new inducing point is the part of the patch that
    the old inducing points explain.

    Args:
        key: the source of randomness for the choice of patches.
        images: the images from which patches are taken.
        inducing: the number of inducing points of the patches and of each block. A number above the number of sites is
            replaced by the number of sites.
        strides: the stride of each block. `inducing` has one number more, the number for the patches.

    Raises:
        ShapeError: for images of another shape.
        SettingError: if counts and strides do not fit, or are not positive.
        DataError: for entries that are not finite.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.machines import initial_machine
        >>> images = jax.random.normal(jax.random.key(0), (6, 4, 4, 1))
        >>> machine = initial_machine(jax.random.key(1), images, (5, 4), (2,))
        >>> machine.top(images).cross.shape, float(machine.divergence())
        ((6, 4), 0.0)
    """
    require_float64("a deep kernel machine")
    if images.ndim != 4:
        raise ShapeError("images", found=f"shape {images.shape}", rule="shape (images, height, width, channels)")
    check_numbers("images", images)
    inducing, strides = counts("inducing", inducing), counts("strides", strides)
    if len(inducing) != len(strides) + 1 or len(strides) < 1:
        found = f"{len(inducing)} counts and {len(strides)} strides"
        raise SettingError("inducing", found=found, rule="one count more than strides, and at least two counts")
    random = np.random.default_rng(np.asarray(jax.random.bits(key, (4,))))
    patches = _gathered(images, random, inducing[0])
    grams, mixings = _first(images, patches), []
    for many, stride in zip(inducing[1:], strides, strict=True):
        grams, weights = _weighted(grams)
        mixings.append(jnp.moveaxis(_gathered(weights, random, many), 0, 2))
        grams = _next(grams, mixings[-1], stride)
    roots = tuple(jnp.eye(mixing.shape[2]) for mixing in mixings)
    start = jnp.log(jnp.asarray([0.02, 0.3]))
    return ConvolutionalMachine(patches, tuple(mixings), roots, start[0], start[1], strides)


@jax.jit
def _weighted(grams: ConvolutionalGrams) -> tuple[ConvolutionalGrams, Array]:
    active = rectify_grams(grams)
    return active, site_weights(active, _JITTER)


@partial(jax.jit, static_argnames="stride")
def _next(grams: ConvolutionalGrams, mixing: Array, stride: int) -> ConvolutionalGrams:
    return normalise_grams(convolve_grams(grams, mixing, stride=stride))


def _gathered(values: Float[Array, "n h w c"], random: np.random.Generator, count: int) -> Float[Array, "p k k c"]:
    """Return the windows of values around `count` random sites."""
    shape, around = values.shape, _WINDOW // 2
    there = math.prod(shape[:3])
    image, row, column = np.unravel_index(random.choice(there, min(count, there), replace=False), shape[:3])
    padded = np.pad(np.asarray(values), [(0, 0), (around, around), (around, around), (0, 0)])
    place = np.arange(_WINDOW)
    rows, columns = row[:, None] + place, column[:, None] + place
    return jnp.asarray(padded[image[:, None, None], rows[:, :, None], columns[:, None, :]])


def machine_objective(
    machine: ConvolutionalMachine,
    images: Float[Array, "n h w c"],
    targets: Float[Array, "n k"],
    stiffness: float,
) -> Float[Array, ""]:
    """Return the training objective of n images, in nats per image.

    The objective is a lower bound on the log density of the targets, minus nu times the sum of the blocks' divergences,
    all divided by n.

    Args:
        machine: the machine with its current parameters.
        images: the training images.
        targets: one column per output.
        stiffness: the weight nu, at least 0. If nu is infinite, the divergence must be 0 and is left out.

    Raises:
        ShapeError: if images do not fit the machine, or targets do not fit the images.
        DataError: for entries that are not finite.
        SettingError: for a stiffness out of its range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.machines import initial_machine, machine_objective
        >>> images = jax.random.normal(jax.random.key(0), (6, 4, 4, 1))
        >>> machine = initial_machine(jax.random.key(1), images, (5, 4), (2,))
        >>> targets = jnp.ones((6, 1))
        >>> bool(machine_objective(machine, images, targets, 1.0) == machine_objective(machine, images, targets, 9.0))
        True
    """
    _check_rows(machine, images, targets)
    check_number("stiffness", stiffness, infinite=True)
    nu = known(stiffness)
    if nu is not None and np.isinf(nu):
        return machine.posterior(images, targets).bound / len(images)
    return _objective(machine, images, targets, jnp.asarray(stiffness, float))


def _objective(machine: ConvolutionalMachine, images: Array, targets: Array, stiffness: Array) -> Array:
    return (machine.posterior(images, targets).bound - stiffness * machine.divergence()) / len(images)


def train_machine(
    machine: ConvolutionalMachine,
    images: Float[Array, "n h w c"],
    targets: Float[Array, "n k"],
    *,
    stiffness: float = 1.0,
    steps: int = 100,
    rate: float = 0.01,
) -> tuple[ConvolutionalMachine, Float[Array, " steps"]]:
    """Train a machine by steps of Adam on the objective of all images; the result is deterministic.

    Args:
        machine: the machine at the start.
        images: the training images.
        targets: one column per output.
        stiffness: the weight nu, at least 0. If nu is infinite, the Gram matrices remain those of the prior, and only
            the other parameters are trained.
        steps: the number of steps of Adam, 0 or more.
        rate: the learning rate of Adam, above 0.

    Returns:
        The machine, and the objective before each step.

    Raises:
        ShapeError: if images do not fit the machine, or targets do not fit the images.
        DataError: for entries that are not finite.
        SettingError: for a stiffness, steps or a rate out of range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.machines import initial_machine, train_machine
        >>> images = jax.random.normal(jax.random.key(0), (6, 4, 4, 1))
        >>> machine = initial_machine(jax.random.key(1), images, (5, 4), (2,))
        >>> _, objective = train_machine(machine, images, images.mean((1, 2)), steps=3)
        >>> bool(objective[2] > objective[0])
        True
    """
    require_float64("training a deep kernel machine")
    _check_rows(machine, images, targets)
    check_number("stiffness", stiffness, infinite=True)
    check_number("rate", rate, zero=False)
    steps = count("steps", steps, 0)
    moves = jax.tree.map(lambda _: True, machine)
    if np.isinf(stiffness):
        moves = eqx.tree_at(lambda tree: tree.roots, moves, tuple(False for _ in machine.roots))
    free, fixed = eqx.partition(machine, moves)
    state, values = optax.adam(rate).init(free), []
    # If the Gram matrices are fixed, they are those of the prior, whose divergence is 0.
    pull = jnp.asarray(0.0 if np.isinf(stiffness) else stiffness)
    for _ in range(steps):
        free, state, value = _step(free, fixed, state, images, targets, pull, rate)
        values.append(value)
    return eqx.combine(free, fixed), jnp.asarray(values, float)


def _check_rows(machine: ConvolutionalMachine, images: Array, targets: Array) -> None:
    channels = machine.patches.shape[3]
    if images.ndim != 4 or images.shape[3] != channels:
        rule = f"shape (images, height, width, channels) with {channels} channels"
        raise ShapeError("images", found=f"shape {images.shape}", rule=rule)
    if targets.ndim != 2 or len(targets) != len(images):
        raise ShapeError(
            "targets", found=f"shape {targets.shape}", rule=f"{len(images)} rows, with one column for each output"
        )
    check_numbers("images", images)
    check_numbers("targets", targets)


@eqx.filter_jit
def _step(
    free: ConvolutionalMachine,
    fixed: ConvolutionalMachine,
    state: optax.OptState,
    images: Array,
    targets: Array,
    stiffness: Array,
    rate: float,
) -> tuple[ConvolutionalMachine, optax.OptState, Array]:
    def value(free: ConvolutionalMachine) -> Array:
        return _objective(eqx.combine(free, fixed), images, targets, stiffness)

    found, slope = eqx.filter_value_and_grad(value)(free)
    change, state = optax.adam(rate).update(jax.tree.map(jnp.negative, slope), state)
    return eqx.apply_updates(free, change), state, found
