"""Measure how far training moves the tangent kernel of one network.

The loss is compared with the loss of the linearised network, which is linear in its parameters and agrees with the
network to first order at the start.
"""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from lemmata.answers import Condition, positive, whole
from lemmata.core import numbers_of
from lemmata.errors import DataError
from lemmata.pictures import lines, styled
from lemmata.printable import preformatted

from ._training_paths import Outputs, outputs_of

_CLAIMS = ("tangent.kernel_movement.linearisation_gap", "tangent.kernel_movement.smooth_kernel_movement")
_PLACES = 16
_LARGEST = 1e150  # its square is finite
_LOWERED = 0.99  # a share of the first loss that three digits show to be smaller


@dataclasses.dataclass(frozen=True, eq=False)
class KernelDrift:
    """A network's tangent kernel and loss along its training. Each array has one value for each of `steps`.

    Args:
        steps: the numbers of steps of descent after which values are given.
        drift: |K_t - K_0|_F / |K_0|_F, where K_t is the tangent kernel at the rows after t steps.
        alignment: the alignment of the kernel with the targets y, y' K_t y / (|K_t|_F |y|²). The alignment is 1 for the
            kernel y y'.
        loss: |f_t - y|²/(2 n), where f_t are the outputs after t steps, and y are the n targets.
        linear: the loss of the network that is linearised at the start and trained with the same steps.
        rate: the step size for the loss |f - y|²/2.
        conditions: the conditions under which the results hold.
        claims: the names of the claims that state the results.
    """

    steps: Int[np.ndarray, " k"]
    drift: Float[np.ndarray, " k"]
    alignment: Float[np.ndarray, " k"]
    loss: Float[np.ndarray, " k"]
    linear: Float[np.ndarray, " k"]
    rate: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        lines = [
            f"after {self.steps[-1]} steps of {self.rate:.3g} the kernel has moved by {100 * self.drift[-1]:.3g} %",
            f"alignment with y y': {self.alignment[0]:.3g} at the start, {self.alignment[-1]:.3g} at the end",
            f"loss {self.loss[0]:.3g} -> {self.loss[-1]:.3g}; of the network linearised at the start, "
            f"{self.linear[-1]:.3g}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the loss of the network and of its linearisation, on a logarithmic axis."""
        series = {"network": (self.steps, self.loss), "linearised": (self.steps, self.linear)}
        return styled(lines(series, ("steps of descent", "loss"), logarithmic="y"))


def kernel_drift(
    network: Any, params: Any, x: Any, y: Any, *, steps: int = 200, rate: float | None = None
) -> KernelDrift:
    """Train a network by descent on all rows, and compare its kernel and loss with those of the linearised network.

    Let K_0 be the tangent kernel and r_0 the residual at the start. After t steps, the linearised network has the
    residual (I - rate K_0)^t r_0. If its loss is close to the loss of the network, training is kernel regression with
    K_0. If the kernel moves and aligns with the targets, the network learns features.

    Args:
        network: a function f(params, row) with one output, or an object whose method `apply` is such a function.
        params: the parameters at which training starts, an array or a tree of floating-point arrays.
        x: the rows of inputs.
        y: the targets, (n,).
        steps: the number of steps of descent.
        rate: the step size for the loss |f - y|²/2; the inverse of the largest eigenvalue of K_0 by default.

    Raises:
        SettingError: if the network is not a function, there is no step, or the rate is not positive.
        DataError, ShapeError: for rows, targets, parameters or outputs that do not fit each other, or training that
            diverges.
        MemoryPlanError: if the Jacobian has more than 2e8 entries.

    Example:
        >>> import jax, numpy as np
        >>> from lemmata.architectures import relu_network
        >>> x = np.random.default_rng(0).normal(size=(8, 3))
        >>> network = relu_network(depth=1, width=4000)
        >>> params, _ = network.init(jax.random.key(0), 3)
        >>> found = kernel_drift(network, params, x, x[:, 0])
        >>> bool(found.drift[-1] < 0.1)
        True
    """
    model, steps = outputs_of(network, params, x, y), whole("steps", steps, 1)
    given = None if rate is None else positive("rate", rate)
    kernel = lambda at: (lambda slopes: slopes @ slopes.T)(model.jacobian(at))
    first = kernel(model.start)
    values, vectors = np.linalg.eigh(first)
    if values[-1] <= 0:
        raise DataError(
            "network",
            found="a tangent kernel of 0",
            rule="outputs that depend on the parameters",
            remedy="start at other parameters, or scale the rows",
        )
    step = given if given is not None else 1 / float(values[-1])
    targets, residual = np.asarray(model.y), np.asarray(model.of(model.start) - model.y)
    largest = max(float(np.abs(targets).max()), float(np.abs(residual).max()))
    if largest > _LARGEST:
        raise DataError("y", found=f"targets or residuals of {largest:.3g}", rule=f"at most {_LARGEST:.0e}",
                        remedy="scale the targets")  # fmt: skip
    kept = sorted({0, *np.unique(np.geomspace(1, steps, _PLACES).round().astype(int)).tolist()})
    path = model.path(jnp.zeros_like(model.y), step, steps, kept)
    if not np.isfinite(np.asarray(path[-1])).all():
        raise DataError(
            "training",
            found=f"parameters that diverge with rate {step:.3g}",
            rule="a smaller rate",
            remedy="pass a smaller rate",
        )
    kernels = np.stack([kernel(at) for at in path])
    sizes = np.linalg.norm(kernels, axis=(1, 2))
    with np.errstate(over="ignore", invalid="ignore"):  # the linearised loss may be infinite
        left = [(1 - step * values) ** after * (vectors.T @ residual) for after in kept]
        linear = np.array([float(own @ own) / (2 * len(targets)) for own in left])
    length, along = float(targets @ targets), np.einsum("i,kij,j->k", targets, kernels, targets)
    drift = np.linalg.norm(kernels - first, axis=(1, 2)) / sizes[0]
    loss = np.array([float(jnp.mean((model.of(at) - model.y) ** 2)) / 2 for at in path])
    return KernelDrift(
        steps=np.array(kept),
        drift=drift,
        alignment=np.divide(along, sizes * length, out=np.zeros(len(sizes)), where=sizes * length > 0),
        loss=loss,
        linear=linear,
        rate=step,
        conditions=(
            Condition("rate times the largest eigenvalue of K_0 is below 2", step * float(values[-1]),
                      step * float(values[-1]) < 2, "otherwise the linearised network diverges"),
            Condition("some target is not 0", math.sqrt(length), length > 0, "otherwise the alignment is not defined"),
            *_content(model, np.unique(numbers_of("x", x), axis=0), loss, drift),
        ),
    )  # fmt: skip


def _content(model: Outputs, rows: np.ndarray, loss: np.ndarray, drift: np.ndarray) -> tuple[Condition, ...]:
    """Return the conditions without which the measured drift of the kernel means nothing.

    There must be something to train, training must lower the loss, the kernel must change, and rows must differ.
    """
    misfit, left = model.misfit(), float(loss[-1] / loss[0]) if loss[0] > 0 else 1.0
    return (
        Condition("targets differ from the outputs at the start (relative difference)", misfit, misfit > 0,
                  "otherwise there is nothing to train"),
        Condition("training lowers the loss (last loss divided by first loss)", left, left <= _LOWERED,
                  "otherwise the kernel was not moved by training; take more steps or another rate"),
        Condition("the kernel changes (largest movement)", float(drift.max()), bool(drift.max() > 0),
                  "otherwise the network is linear in its parameters, or was not trained"),
        Condition("number of different rows", float(len(rows)), len(rows) > 1,
                  "with one row, the alignment is the same for every kernel"),
    )  # fmt: skip
