"""Train all cells (small architectures) of a space adversarially in one program, and score them before training."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from lemmata.core import check_numbers, check_whole, require_float64
from lemmata.errors import DataError, SettingError, ShapeError

from ._cells import ACTIVATIONS, WEIGHT_STD, Cell
from ._mixed_kernels import label_energy, mixed_kernels
from ._projected_gradient import projected_gradient
from ._triggers import check_classes

SCORED = ("clean", "robust", "clean_mixed", "robust_mixed")
"""The kernels for which scores are computed."""


class Wiring(eqx.Module):
    """The numbers that describe cells (small architectures), one row per cell, so that one program can run all cells.

    Args:
        depth, width: the depth and the width of each cell.
        activation: the index of each cell's activation in `ACTIVATIONS`.
        skip: 1 for a cell with skip connections, otherwise 0.
    """

    depth: Int[Array, "..."]
    width: Int[Array, "..."]
    activation: Int[Array, "..."]
    skip: Float[Array, "..."]


class CellTable(eqx.Module):
    """The results of the cells, one row for each cell.

    Args:
        clean_accuracy, robust_accuracy: after training, the accuracies on held-out rows without and under attack.
        energy: the value sqrt(y' K^-1 y / n) before training for each kernel K in `SCORED`, with the labels y of n
            rows. The energy is infinite if K is singular, for example because every unit is zero at some rows.
        smallest: the smallest eigenvalue of each of these kernels.
        parameters: the number of trained parameters of each cell.
    """

    clean_accuracy: Float[Array, " cells"]
    robust_accuracy: Float[Array, " cells"]
    energy: dict[str, Float[Array, " cells"]]
    smallest: dict[str, Float[Array, " cells"]]
    parameters: Int[Array, " cells"]


def wiring(cells: Sequence[Any]) -> Wiring:
    """Convert cells to the numbers of a `Wiring`.

    Args:
        cells: a list of at least one `Cell`.

    Raises:
        SettingError: for an empty list, or an entry that is not a cell.
    """
    wrong = [repr(cell) for cell in cells if not isinstance(cell, Cell)]
    if not cells or wrong:
        raise SettingError(
            "cells",
            found=wrong[:1] or "none",
            rule="a list of cells, and at least one cell",
            remedy="make the cells with cell_grid()",
        )
    number = lambda part: jnp.asarray([part(cell) for cell in cells])
    names = list(ACTIVATIONS)
    return Wiring(
        number(lambda c: c.depth), number(lambda c: c.width), number(lambda c: names.index(c.activation)),
        number(lambda c: float(c.skip)),
    )  # fmt: skip


def cell_parameters(key: Key[Array, ""], inputs: int, outputs: int, deepest: int, widest: int) -> dict[str, Array]:
    """Draw standard normal weights for the largest cell. Smaller cells use a part of these weights.

    Args:
        key: the random key.
        inputs: the number of input columns.
        outputs: the number of outputs.
        deepest: the largest depth of the cells.
        widest: the largest width of the cells.
    """
    keys = jax.random.split(key, 3)
    return {
        "first": jax.random.normal(keys[0], (widest, inputs)),
        "hidden": jax.random.normal(keys[1], (deepest - 1, widest, widest)),
        "readout": jax.random.normal(keys[2], (outputs, widest)),
    }


def cell_outputs(cell: Wiring, params: dict[str, Array], x: Float[Array, "n d"]) -> Float[Array, "n outputs"]:
    """Return the outputs of one cell, which equal the outputs of `Cell.network` with the same weights.

    Args:
        cell: the numbers that describe the cell.
        params: the weights of the largest cell, from `cell_parameters`.
        x: the inputs, one in each row.
    """
    widest, inputs = params["first"].shape
    used = jnp.arange(widest) < cell.width
    branches = [lambda u, layer=layer: layer.apply((), u) for layer in ACTIVATIONS.values()]
    activated = lambda u: jax.lax.switch(cell.activation, branches, u) * used
    root = jnp.sqrt(cell.width)
    u = WEIGHT_STD * (x @ params["first"].T) / inputs**0.5 * used
    for layer, weights in enumerate(params["hidden"]):
        ahead = cell.skip * u + WEIGHT_STD * (activated(u) @ weights.T) / root * used
        u = jnp.where(layer < cell.depth - 1, ahead, u)
    return activated(u) @ params["readout"].T / root


def run_cells(
    cells: Sequence[Any],
    x: Float[Array, "n d"],
    labels: Int[Array, " rows"],
    x_new: Float[Array, "m columns"],
    labels_new: Int[Array, " others"],
    key: Key[Array, ""],
    *,
    radius: float,
    beta: float = 0.5,
    steps: int = 60,
    rate: float = 0.03,
    attack_steps: int = 5,
    scored: int = 64,
) -> CellTable:
    """Score each cell before training, train the cell on clean and attacked rows, and attack the trained cell.

    Training takes `steps` full-batch steps of Adam. The loss is (1 - beta) times the cross entropy at clean rows plus
    beta times the cross entropy at attacked rows. `projected_gradient` with the norm "linf" attacks the rows in each
    step. Accuracies are on held-out rows, without attack and after an attack of ten steps. Scores are computed from
    `mixed_kernels` of the first `scored` rows. The kernels of these scores are tangent kernels of the first output at
    initialisation. The attacks ascend the loss of the network at initialisation. The labels of the scores are centred
    class indicators. All cells share one draw of weights. Smaller cells use a part of this draw.

    Args:
        cells: the cells of the space.
        x: training rows.
        labels: the classes 0, 1, ... of the training rows; each class must occur.
        x_new: held-out rows, with as many columns as x.
        labels_new: the classes of the held-out rows, each of which must occur in training.
        key: the random key of the weights.
        radius: the radius of the attacks: each coordinate may change by at most this number.
        beta: the weight of attacked rows in the loss, from 0 to 1.
        steps: the number of Adam steps.
        rate: the learning rate of Adam.
        attack_steps: the number of steps of an attack during training.
        scored: the number of rows for which kernels are computed.

    Raises:
        SettingError: without cells, for a beta outside [0, 1], a negative radius, or invalid counts.
        ShapeError: if there is not one label for each row, or the held-out rows have another number of columns.
        DataError: for numbers that are not finite, for labels of a single class, for classes that are not numbered 0,
            1, ..., and for held-out classes that no training row has.
        PrecisionError: if float64 is off.
    """
    require_float64("scores of cells")
    wires = wiring(cells)
    classes = _classes(x, labels, x_new, labels_new)
    for name, count, least in (("steps", steps, 0), ("attack_steps", attack_steps, 1), ("scored", scored, 1)):
        check_whole(name, count, least, name)
    if not 0 <= radius < np.inf:
        raise SettingError("radius", found=radius, rule="a finite number that is not negative")
    if not 0 <= beta <= 1:
        raise SettingError("beta", found=beta, rule="a share from 0 to 1")
    params = cell_parameters(key, x.shape[1], classes, max(c.depth for c in cells), max(c.width for c in cells))
    run = partial(_run, attack_steps=attack_steps, steps=steps, scored=min(scored, len(x)))
    rows = (x, jnp.eye(classes)[labels], x_new, labels_new)
    clean, robust, energy, smallest = run(wires, params, rows, *map(jnp.asarray, (radius, beta, rate)))
    counts = jnp.asarray([cell.parameters(x.shape[1], classes) for cell in cells])
    return CellTable(clean, robust, energy, smallest, counts)


def _classes(x: Array, labels: Array, x_new: Array, labels_new: Array) -> int:
    """Return the number of classes, and raise an error if rows and classes do not fit each other."""
    for name, rows, told in (("training", x, labels), ("held-out", x_new, labels_new)):
        check_numbers(f"{name} rows", rows)
        if jnp.ndim(rows) != 2 or rows.shape[1] != x.shape[1]:
            found = f"shape {jnp.shape(rows)}"
            raise ShapeError(
                f"{name} rows", found=found, rule=f"shape (rows, {x.shape[-1]}), with the same columns for all rows"
            )
        check_classes(f"labels of {name} rows", told, len(rows))
    own, new = (sorted(set(np.asarray(told).tolist())) for told in (labels, labels_new))
    if len(own) < 2:
        raise DataError("labels", found="a single class", rule="at least two classes, numbered 0, 1, ...")
    if own != list(range(len(own))):
        missing = next(number for number, name in enumerate(own) if number != name)
        raise DataError(
            "labels of training rows",
            found=f"no row of class {missing}",
            rule="classes numbered 0, 1, ... without gaps",
            remedy="renumber the classes, for example with numpy.unique(labels, return_inverse=True)[1]",
        )
    if unseen := sorted(set(new) - set(own)):
        found = f"class {unseen[0]}, which no training row has"
        raise DataError(
            "labels of held-out rows",
            found=found,
            rule=f"classes from 0 to {len(own) - 1}, the classes of the training rows",
        )
    return len(own)


@eqx.filter_jit
def _run(wires: Wiring, params, rows, radius, beta, rate, *, attack_steps: int, steps: int, scored: int):
    x, y = rows[:2]
    one = lambda cell: (
        *_trained(cell, params, rows, (radius, beta, rate), attack_steps, steps),
        *_scores(cell, params, x[:scored], y[:scored], radius, beta, attack_steps),
    )
    return jax.lax.map(one, wires)


def _cross_entropies(cell: Wiring, params: Any, x: Array, y: Array) -> Array:
    return optax.losses.softmax_cross_entropy(cell_outputs(cell, params, x), y)


def _trained(cell: Wiring, params: Any, rows: Any, numbers: Any, attack_steps: int, steps: int) -> tuple[Array, Array]:
    x, y, x_new, labels_new = rows
    radius, beta, rate = numbers
    rule = optax.adam(rate)

    def loss(own, attacked):
        return jnp.mean(
            (1 - beta) * _cross_entropies(cell, own, x, y) + beta * _cross_entropies(cell, own, attacked, y)
        )

    def step(_, carry):
        own, state = carry
        attacked = projected_gradient(lambda z: _cross_entropies(cell, own, z, y), x, radius, attack_steps)
        updates, state = rule.update(jax.grad(loss)(own, attacked), state)
        return optax.apply_updates(own, updates), state

    own, _ = jax.lax.fori_loop(0, steps, step, (params, rule.init(params)))
    y_new = jnp.eye(y.shape[1])[labels_new]
    attacked = projected_gradient(lambda z: _cross_entropies(cell, own, z, y_new), x_new, radius, 10)
    right = lambda z: jnp.mean(jnp.argmax(cell_outputs(cell, own, z), axis=1) == labels_new)
    return right(x_new), right(attacked)


def _scores(cell: Wiring, params: Any, x: Array, y: Array, radius: Any, beta: Any, attack_steps: int) -> tuple:
    attack = lambda z: projected_gradient(lambda q: _cross_entropies(cell, params, q, y), z, radius, attack_steps)
    attacked = attack(x)

    def gram_of(z: Array) -> Array:
        slopes = jax.vmap(lambda q: jax.grad(lambda p: cell_outputs(cell, p, q[None])[0, 0])(params))(z)
        flat = jnp.concatenate([leaf.reshape(len(z), -1) for leaf in jax.tree.leaves(slopes)], axis=1)
        return flat @ flat.T

    found = mixed_kernels(gram_of, x, attacked, attack(attacked), beta)
    matrices = {name: getattr(found, name) for name in SCORED}
    energy = {name: label_energy(K, y - y.mean(axis=0)) for name, K in matrices.items()}
    return energy, {name: jnp.linalg.eigvalsh(K)[0] for name, K in matrices.items()}
