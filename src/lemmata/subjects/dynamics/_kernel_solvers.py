"""Learn with the kernels of fine-tuning: by least squares from an offset, by logistic descent, or with an asymmetric
kernel.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers, known
from lemmata.errors import SettingError, ShapeError


def offset_regression(
    kernel: Float[Array, "n n"],
    y: Float[Array, " targets"],
    cross: Float[Array, "m n"],
    *,
    ridge: float,
    start: Float[Array, " n"] | float = 0.0,
    start_at: Float[Array, " m"] | float = 0.0,
) -> Float[Array, " m"]:
    r"""Return f_0(x) + k(x)^T (K + r |K| I)^{-1} (y - f_0) at new rows x, where |K| is the largest eigenvalue of K.

    The first term is the output before fine-tuning. The second term is kernel ridge regression on the residuals y - f_0
    of the training rows.

    Args:
        kernel: K, the symmetric kernel between training rows.
        y: the targets of the training rows.
        cross: k(x), the kernel between new rows (first axis) and training rows.
        ridge: r above 0, a share of the largest eigenvalue. So r has the same meaning for kernels of any scale.
        start: f_0 on the training rows, the outputs before fine-tuning. Use 0 to leave these outputs out.
        start_at: f_0 on the new rows.

    Raises:
        ShapeError: if the sizes do not fit each other.
        SettingError: if the ridge is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import offset_regression
        >>> offset_regression(jnp.eye(2), jnp.array([1.0, -1.0]), jnp.array([[1.0, 0.0]]), ridge=1.0).tolist()
        [0.5]
    """
    check_gram("kernel", kernel)
    _check_rows(kernel, y, cross)
    if known(ridge) is not None and not ridge > 0:
        raise SettingError("ridge", found=ridge, rule="a number above 0")
    scale = ridge * jnp.linalg.eigvalsh(kernel)[-1]
    weights = jnp.linalg.solve(kernel + scale * jnp.eye(len(y)), y - start)
    return start_at + cross @ weights


def logistic_descent(
    kernel: Float[Array, "n n"],
    y: Float[Array, " n"],
    cross: Float[Array, "m n"],
    *,
    rate: float | Float[Array, ""],
    steps: int,
    until: float = 0.0,
    start: Float[Array, " n"] | float = 0.0,
    start_at: Float[Array, " m"] | float = 0.0,
) -> Float[Array, " m"]:
    """Return the outputs at new rows that `fine_tune` by gradient descent would reach if the function were linear in
    its parameters.

    Let u = start + K c be the outputs at the n training rows with the classes y. Each step is c <- c + (rate/n) y / (1
    + exp(y u)), from c = 0. Descent stops when the mean of log(1 + exp(-y u)) is at most `until`.

    Args:
        kernel: K, the kernel between training rows.
        y: classes, -1 and 1.
        cross: the kernel between new rows (first axis) and training rows.
        rate: the learning rate for the mean loss.
        steps: the largest number of steps.
        until: descent stops when the mean loss is at most this number.
        start: outputs on the training rows before fine-tuning.
        start_at: outputs on the new rows before fine-tuning.

    Raises:
        ShapeError: if the sizes do not fit each other.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import logistic_descent
        >>> y = jnp.array([1.0, -1.0])
        >>> logistic_descent(jnp.eye(2), y, jnp.eye(2), rate=4.0, steps=1).tolist()
        [1.0, -1.0]
    """
    _check_rows(kernel, y, cross)
    return start_at + cross @ _descended(kernel, y, start, rate, steps, until)


@jax.jit
def _descended(
    kernel: Array, y: Array, start: ArrayLike, rate: ArrayLike, steps: ArrayLike, until: ArrayLike
) -> Float[Array, " n"]:
    """Return the coefficients c at which logistic descent ends (see `logistic_descent`)."""
    loss = lambda weights: jnp.mean(jax.nn.softplus(-y * (start + kernel @ weights)))

    def step(carry: tuple) -> tuple:
        weights = carry[0]
        outputs = start + kernel @ weights
        weights = weights + rate / len(y) * y * jax.nn.sigmoid(-y * outputs)
        return weights, carry[1] + 1, loss(weights)

    zero = jnp.zeros(len(y), kernel.dtype)
    more = lambda carry: (carry[1] < steps) & (carry[2] > until)
    return jax.lax.while_loop(more, step, (zero, 0, loss(zero)))[0]


class AsymmetricFit(eqx.Module):
    """Coefficients of two functions that are fitted to the same rows with a kernel K(x, x') = <phi(x), psi(x')>.

    Attributes:
        alpha: coefficients of f_2(x) = sum_i alpha_i y_i K(x_i, x), which depends on x through the features psi.
        beta: coefficients of f_1(x) = sum_j beta_j y_j K(x, x_j), which depends on x through the features phi.
        y: classes of the training rows.
    """

    alpha: Float[Array, " n"]
    beta: Float[Array, " n"]
    y: Float[Array, " n"]

    def predict(
        self, cross: Float[Array, "m n"], turned: Float[Array, "n m"], mixture: float = 0.5
    ) -> Float[Array, " m"]:
        """Return mixture * f_2 + (1 - mixture) * f_1 at new rows.

        Args:
            cross: K(x, x_j), with new rows on the first axis.
            turned: K(x_i, x), with training rows on the first axis.
            mixture: the share of f_2.
        """
        return mixture * (self.alpha * self.y) @ turned + (1 - mixture) * cross @ (self.beta * self.y)


def asymmetric_fit(kernel: Float[Array, "n n"], y: Float[Array, " n"], gamma: float) -> AsymmetricFit:
    r"""Solve [[I/gamma, H], [H^T, I/gamma]] [alpha; beta] = 1 for alpha and beta, with H_ij = y_i K(x_i, x_j) y_j.

    If K(x, x') = <phi(x), psi(x')>, the solution is the stationary point of

        <w, v> + gamma/2 sum_i (1 - y_i <w, phi(x_i)>)² + gamma/2 sum_i (1 - y_i <v, psi(x_i)>)²

    in w = sum_j beta_j y_j psi(x_j) and v = sum_i alpha_i y_i phi(x_i). The point is a saddle and not a minimum,
    because <w, v> may have either sign. For a symmetric K, the solution is the least-squares support vector machine
    without a constant, with alpha = beta.

    Args:
        kernel: K, a square matrix that need not be symmetric.
        y: classes, -1 and 1.
        gamma: the weight of errors, above 0. The system has a unique solution unless 1/gamma is a singular value of H.

    Raises:
        ShapeError: if the sizes do not fit each other.
        SettingError: for a gamma that is not above 0, and for classes other than -1 and 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import asymmetric_fit
        >>> fit = asymmetric_fit(2 * jnp.eye(2), jnp.array([1.0, -1.0]), gamma=1.0)
        >>> [round(float(value), 3) for value in fit.alpha]
        [0.333, 0.333]
    """
    _check_rows(kernel, y, kernel)
    if known(gamma) is not None and not gamma > 0:
        raise SettingError("gamma", found=gamma, rule="a number above 0")
    classes = known(y)
    if classes is not None and not ((classes == 1) | (classes == -1)).all():
        raise SettingError("y", found=sorted(set(classes.tolist()))[:5], rule="the classes -1 and 1",
                           remedy="pass 2 * y - 1 for classes 0 and 1")  # fmt: skip
    n, signed = len(y), y[:, None] * kernel * y
    eye = jnp.eye(n) / gamma
    both = jnp.linalg.solve(jnp.block([[eye, signed], [signed.T, eye]]), jnp.ones(2 * n))
    return AsymmetricFit(both[:n], both[n:], y)


def _check_rows(kernel: Array, y: Array, cross: Array) -> None:
    check_numbers("kernel", kernel)
    check_numbers("cross", cross)
    n = len(y)
    if kernel.shape != (n, n) or cross.ndim != 2 or cross.shape[1] != n:
        found = f"kernel {kernel.shape}, cross {cross.shape}, y {jnp.shape(y)}"
        raise ShapeError("matrices of the kernel regression", found=found, rule="shapes (n, n), (m, n) and (n,)")
