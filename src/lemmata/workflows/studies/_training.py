"""Train finite networks on a table, and compare them with the kernel of the infinitely wide network."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.architectures import TangentKernel, relu_network, tangent_gram
from lemmata.core import key_from
from lemmata.errors import SolverError
from lemmata.kernels import AbstractKernel, SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork, train
from lemmata.solvers import Trajectory, gradient_descent
from lemmata.spectra import spectrum

from ._architectures import SOFTMAX_SIGMA

WIDTHS = (64, 256, 1024)
MOST_STEPS = 384
FEWEST_STEPS = 32
OPERATIONS = 1e11
"""The allowed floating-point operations at the largest width. With many columns, fewer steps are taken."""
RATE = 0.5
"""The learning rate in units of 1 / lambda_max, where lambda_max is the largest eigenvalue of the kernel. The rate is
well below the stability limit 2, because the lambda_max of a narrow network may be larger."""
PRECISIONS = {"relu": jnp.float32, "softmax": jnp.float64}
"""ReLU networks are trained in single precision, because its rounding error is far below the effect of a finite width.
A softmax network is trained in double precision. Its outputs are small differences between paired units, multiplied by
the width, and the width multiplies the rounding errors as well.
"""
MOVEMENT_ROWS = 32

Progress = Callable[[str, float, float], None]


def train_networks(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "n k"],
    x_test: Float[np.ndarray, "t d"],
    y_test: Float[np.ndarray, "t k"],
    seed: int,
    deadline: float = math.inf,
    progress: Progress = lambda stage, done, total: None,
) -> Iterator[dict]:
    """Train a ReLU network of depth 1 and a softmax network at three widths, and compare them with their kernels.

    Training is full-batch gradient descent on 1/2 sum |F(x_i) - F_0(x_i) - y_i|², where F is the network and F_0 the
    untrained network. The kernel's prediction is gradient descent with the same step on the infinite-width tangent
    kernel, in closed form. So network and kernel take the same discrete steps, and their difference is due to the
    finite width alone. Inputs of the softmax network are divided by the largest norm of an input, as for its kernel.
    The training time of the softmax network is measured for its tangent kernel divided by the width.

    `gap` is the largest root mean square of (network - kernel) over the test rows at any recorded time, divided by the
    root mean square of the test targets. `kernel_movement` is |H_end - H_start| / |H_start| in Frobenius norm, where H
    is the tangent kernel of the first output of the finite network on up to 32 training rows.

    Args:
        x: the training inputs, with standardised columns.
        y: the centred training targets.
        x_test: the held-out inputs.
        y_test: the held-out targets.
        seed: the seed of the initial weights.
        deadline: `time.monotonic()` after which no further network is started.
        progress: a function that is called with the stage, the number of trained networks and the number of all
            networks.

    Yields:
        The entries of the `training` section of study.json as they finish, with the errors at the recorded times.
        Networks for which no time was left are missing, and the entry's sentence says so.
    """
    outputs, radius = y.shape[1], float(np.sqrt((x**2).sum(axis=1).max())) or 1.0
    steps = int(np.clip(OPERATIONS / (6 * len(x) * max(WIDTHS) * (x.shape[1] + outputs)), FEWEST_STEPS, MOST_STEPS))
    cases: list[tuple[str, str, Callable[[int], Any], AbstractKernel, float, Callable[[int], float]]] = [
        (
            "relu",
            "ReLU network, depth 1",
            lambda width: relu_network(1, width, outputs=outputs),
            TangentKernel(relu_network(1)),
            1.0,
            lambda width: 1.0,
        ),
        (
            "softmax",
            "softmax network",
            lambda width: SoftmaxNetwork(width, outputs, SOFTMAX_SIGMA),
            SoftmaxTangent(SOFTMAX_SIGMA),
            1 / radius,
            lambda width: 1.0 / width,
        ),
    ]
    data = tuple(jnp.asarray(part) for part in (x, y, x_test, y_test))
    for position, (name, title, build, kernel, scale, pace) in enumerate(cases):
        scaled = (data[0] * scale, data[1], data[2] * scale, data[3])
        rate, prediction = _kernel_path(kernel, scaled, steps)
        widths, left_out = [], []
        for done, width in enumerate(WIDTHS):
            progress("Training networks", position * len(WIDTHS) + done, len(cases) * len(WIDTHS))
            if time.monotonic() > deadline:
                left_out.append(width)
                continue
            key = key_from(seed, "training", name, width)
            network, precision = build(width), PRECISIONS[name]
            widths.append(_train_one(network, width, precision, key, scaled, rate, pace(width), steps, prediction))
        yield {"name": name, "title": title, "widths": widths, "sentence": _sentence(widths, left_out)}
    progress("Training networks", 1, 1)


def _records(steps: int) -> np.ndarray:
    """Return the numbers of steps at which errors are recorded: 0, and a geometric progression up to the last step."""
    return np.unique(np.append(0, np.geomspace(1, steps, 16).round().astype(int)))


def _kernel_path(kernel: AbstractKernel, data: tuple[Array, ...], steps: int) -> tuple[float, Trajectory]:
    """Return the learning rate, and the predictions of gradient descent on the tangent kernel at the recorded steps."""
    x, y, x_test, _ = data
    modes = spectrum(gram(kernel, x))
    rate = RATE / float(modes.eigenvalues[0])
    return rate, gradient_descent(modes, y, rate, _records(steps), gram(kernel, x_test, x))


def _train_one(network, width, precision, key, data, rate, pace, steps, prediction: Trajectory) -> dict:
    """Train one network, and return the results as an entry of `widths`. It has no points if training diverged."""
    x, y, x_test, y_test = (part.astype(precision) for part in data)
    params, _ = network.init(key, x.shape[1], dtype=precision)
    entry = {"width": width, "points": [], "gap": None, "kernel_movement": None}
    try:
        path = train(
            network,
            params,
            x,
            y,
            learning_rate=rate * pace,
            steps=steps,
            record_at=_records(steps),
            x_test=x_test,
            centred=True,
        )
    except SolverError:
        return entry
    network_test = path.test if path.test is not None else path.train
    kernel_test = prediction.test if prediction.test is not None else prediction.train
    error = lambda outputs, targets: np.asarray(jnp.sum((outputs - targets) ** 2, axis=2).mean(axis=1)).tolist()
    columns = {
        "time": (rate * _records(steps)).tolist(),
        "network_train": error(path.train, y),
        "network_test": error(network_test, y_test),
        "kernel_train": error(prediction.train, y),
        "kernel_test": error(kernel_test, y_test),
    }
    entry["points"] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    apart = jnp.sqrt(jnp.mean((network_test - kernel_test) ** 2, axis=(1, 2)))
    entry["gap"] = float(jnp.max(apart) / jnp.sqrt(jnp.mean(y_test**2)))
    few, wide = data[0][:MOVEMENT_ROWS], lambda at: jax.tree.map(lambda part: part.astype(few.dtype), at)
    start, end = (tangent_gram(network, wide(at), few, output=0) for at in (params, path.params))
    entry["kernel_movement"] = float(jnp.linalg.norm(end - start) / jnp.linalg.norm(start))
    return entry


def _sentence(widths: list[dict], left_out: list[int]) -> str:
    trained = [entry for entry in widths if entry["gap"] is not None]
    text = "No network was trained."
    if len(trained) == 1:
        text = (
            f"At width {trained[0]['width']}, the test predictions of the network and of its tangent kernel differ by "
            f"at most {trained[0]['gap']:.2g} times the root mean square of the targets."
        )
    elif trained:
        first, last = trained[0], trained[-1]
        slope = math.log(last["gap"] / first["gap"]) / math.log(last["width"] / first["width"])
        verb = "shrinks" if slope < 0 else "grows"
        text = (
            f"The largest gap between the predictions of the network and of its tangent kernel {verb} with the width. "
            f"This gap is {first['gap']:.2g} times the root mean square of the targets at width {first['width']}, and "
            f"{last['gap']:.2g} times at width {last['width']}. The gap changes as the width to the power {slope:.2f}; "
            "the theory predicts the power -1/2. Training changes the tangent kernel by "
            f"{100 * first['kernel_movement']:.2g} % at the smallest width and by "
            f"{100 * last['kernel_movement']:.2g} % at the largest."
        )
    diverged = [str(entry["width"]) for entry in widths if entry["gap"] is None]
    if diverged:
        text += f" Training diverged at width {', '.join(diverged)}."
    if left_out:
        text += f" The time limit was reached before width {', '.join(map(str, left_out))}."
    return text
