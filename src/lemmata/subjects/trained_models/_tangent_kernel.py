"""The tangent kernel of a model, and ridge regression with this kernel, with exact leave-one-out outputs."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.errors import MemoryPlanError, SettingError
from lemmata.solvers import ridge_path
from lemmata.spectra import spectrum

from ._contract import AbstractModel
from ._factors import factors, mean_gram
from ._once import once
from ._trained import Trained

MOST_ROWS = 2000
_BYTES = 2**28  # largest number of bytes of the Jacobian of a block of rows
_RIDGES = np.geomspace(1e-4, 1e3, 29)  # in units of the mean eigenvalue


@dataclasses.dataclass(frozen=True)
class KernelMachine:
    """Ridge regression with a kernel of rows. The ridge is chosen by leave-one-out.

    Args:
        ridge: the ridge, among 29 candidates, with the least squared leave-one-out error.
        left_out: the outputs at each training row of a regression without this row.
        outputs: the outputs of the regression on all training rows at other rows.
    """

    ridge: float
    left_out: Float[np.ndarray, "n C"]
    outputs: Float[np.ndarray, "m C"]


def tangent_kernel(model: AbstractModel, x: np.ndarray, others: np.ndarray | None = None) -> Float[np.ndarray, "n m"]:
    """Return the tangent kernel (1/C) sum_c <df_c(x)/dtheta, df_c(z)/dtheta>, a mean over the C outputs.

    The Jacobians of at most two blocks of rows are stored at a time. Each takes at most 0.25 GiB.

    Args:
        model: the model at its parameters.
        x: the rows.
        others: the rows z; None means x itself.

    Raises:
        MemoryPlanError: if the Jacobian of one row does not fit in a block.
    """
    step, width = block_rows(model, x), model.outputs(x[:1]).shape[1]
    other = x if others is None else others
    known = factors(model, x)
    far = known if others is None or known is None else factors(model, others)
    if known is not None and far is not None:
        return mean_gram(known, far)
    found = np.empty((len(x), len(other)))
    for i in range(0, len(x), step):
        left = _flat(model, x[i : i + step])
        for j in range(i if others is None else 0, len(other), step):
            right = left if others is None and i == j else _flat(model, other[j : j + step])
            found[i : i + step, j : j + step] = left @ right.T / width
            if others is None:
                found[j : j + step, i : i + step] = found[i : i + step, j : j + step].T
    return found


def block_rows(model: AbstractModel, x: np.ndarray) -> int:
    """Return the number of rows in a block, whose Jacobian takes at most 0.25 GiB.

    Raises:
        MemoryPlanError: if the Jacobian of one row does not fit.
    """
    one = 8 * model.outputs(x[:1]).shape[1] * len(model.theta)
    if one > _BYTES:
        found = f"{one / 2**30:.2g} GiB for the Jacobian of one row"
        raise MemoryPlanError("tangent kernel", found=found, rule="at most 0.25 GiB", remedy="use a smaller model")
    return max(_BYTES // max(one, 1), 1)


def kernel_passes(model: AbstractModel, x: np.ndarray, others: int, factored: bool = False) -> float:
    """Return the cost of the kernel of x with itself and with `others` more rows, in gradients of all rows x.

    Each output of a row needs one gradient. A gradient takes about 6 P operations for each row, with P parameters. A
    product of two Jacobians takes 2 C P operations for each pair of rows, with C outputs. The Jacobian of a dense
    network has factors, so a product needs at most 2 C (a + b) operations for each matrix of shape (a, b), in place of
    2 C a b.
    """
    n, width = len(x), model.outputs(x[:1]).shape[1]
    step = max(_BYTES // max(8 * width * len(model.theta), 1), 1)  # also defined if one row does not fit
    if factored:
        sides = sum(sum(layer.shape) for layer in model.layers if len(layer.shape) == 2)
        return width * ((n + others) / n + (n / 2 + others) * sides / (3 * len(model.theta)))
    blocks = -(-n // step)
    far = others + n * -(-others // step)  # rows whose Jacobian is computed for the cross kernel
    return width * ((n * (blocks + 1) / 2 + far) / n + (n / 2 + others) / 3)


def kernel_bytes(model: AbstractModel, x: np.ndarray, others: int) -> int:
    """Return the bytes that `kernel_machine` needs for kernels, eigenvectors, two blocks of Jacobians and copies.

    Raises:
        MemoryPlanError: if the Jacobian of one row does not fit in a block.
    """
    n, width = len(x), model.outputs(x[:1]).shape[1]
    block = 8 * min(block_rows(model, x), max(n, others)) * width * len(model.theta)
    return 6 * block + 8 * n * (6 * n + others + 2 * len(_RIDGES) * width)


def kernel_machine(
    kernel: Float[np.ndarray, "n n"], y: Float[np.ndarray, "n C"], cross: Float[np.ndarray, "m n"] | None = None
) -> KernelMachine:
    """Fit kernel ridge regression with a constant added to the kernel, and choose the ridge by leave-one-out.

    Leaving row i out is exact: the residual is alpha_i / [(K + ridge)^-1]_ii with alpha = (K + ridge)^-1 y. Here K is
    the kernel plus a constant, the mean of the kernel's diagonal. With this constant, the mean of the targets is
    learned, too.

    Args:
        kernel: the kernel of the training rows.
        y: the targets of the rows.
        cross: the kernel between other rows and these rows. None if there are no other rows.

    Example:
        >>> import jax, numpy as np
        >>> jax.config.update("jax_enable_x64", True)
        >>> from lemmata.subjects.trained_models import kernel_machine
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> machine = kernel_machine(x @ x.T, np.sign(x), np.array([[3.0]]) @ x.T)
        >>> np.sign(machine.left_out).ravel().tolist(), bool(machine.outputs[0, 0] > 0)
        ([-1.0, -1.0, 1.0, 1.0], True)
    """
    constant = float(np.trace(kernel)) / len(kernel)
    path = ridge_path(spectrum(jnp.asarray(kernel + constant)), jnp.asarray(y), constant * _RIDGES)
    residuals = np.asarray(path.leave_one_out)
    best = int((residuals**2).sum((1, 2)).argmin())
    alpha = np.asarray(path.coefficients[best])
    outputs = np.empty((0, y.shape[1])) if cross is None else (cross + constant) @ alpha
    return KernelMachine(float(path.ridges[best]), y - residuals[best], outputs)


def _flat(model: AbstractModel, x: np.ndarray) -> Float[np.ndarray, "n CP"]:
    return model.jacobian(x).reshape(len(x), -1)


@once
def end_kernel(trained: Trained) -> KernelMachine:
    """Fit ridge regression with the tangent kernel at the trained weights. Predict at training and held-out rows."""
    return _machine_at(trained, trained.model.in_double())


@once
def start_kernel(trained: Trained) -> KernelMachine:
    """Fit ridge regression with the tangent kernel at the initial parameters of training. Predict like `end_kernel`.

    Raises:
        SettingError: if these parameters are not known.
    """
    if trained.start is None:
        raise SettingError("start", found="none", rule="the initial parameters", remedy="pass --start or start=")
    return _machine_at(trained, trained.model.in_double().at(trained.start.theta))


def _machine_at(trained: Trained, model: AbstractModel) -> KernelMachine:
    cross = None if trained.held is None else tangent_kernel(model, trained.held[0], trained.x)
    return kernel_machine(tangent_kernel(model, trained.x), trained.y, cross)
