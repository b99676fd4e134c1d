"""Full-batch gradient descent on squared loss. Each record has its time in the corresponding gradient flow."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError, ShapeError, SolverError

from ._modules import function_of


class Trajectory(eqx.Module):
    """The outputs along gradient descent, and the last parameters.

    Attributes:
        times: learning_rate times the number of steps before each record. This product is the time t of df/dt = -Theta
            (f - y), where Theta is the tangent kernel.
        train: the outputs on the training points at those times.
        test: the outputs on the test points at those times, if there are any.
        params: the parameters after the last step.
    """

    times: Float[Array, " r"]
    train: Float[Array, "r n k"]
    test: Float[Array, "r p k"] | None
    params: Any


def stable_learning_rate(theta: Float[Array, "n n"]) -> Float[Array, ""]:
    """Return 1 / lambda_max of the tangent kernel on the training points, half of the stability bound 2 / lambda_max.

    With k outputs that share the kernel, `theta` is the kernel of one output. In the eigenbasis of `theta`, a step with
    this rate multiplies each residual by 1 - lambda / lambda_max, so no residual changes its sign.

    Raises:
        SettingError: if the kernel has no positive eigenvalue.
    """
    largest = jnp.linalg.eigvalsh(theta)[-1]
    if not largest > 0:
        raise SettingError("tangent kernel", found=f"largest eigenvalue {float(largest)}", rule="positive")
    return 1.0 / largest


def train(
    network: Any,
    params: Any,
    x: Float[Array, "n d"],
    y: Float[Array, "n k"],
    *,
    learning_rate: float | Float[Array, ""],
    steps: int,
    record_at: Sequence[int] | np.ndarray,
    x_test: Float[Array, "p d"] | None = None,
    centred: bool = False,
) -> Trajectory:
    """Train by gradient descent on L = 1/2 sum_ia (F_a(x_i) - y_ia)², with all points in every step.

    As the learning rate goes to 0 at fixed time = learning_rate * steps, training tends to gradient flow. The outputs
    of gradient flow satisfy df/dt = -Theta (f - y) with the tangent kernel Theta at the current parameters. The
    computation runs in the type of `params` and `x`.

    Args:
        network: a function f(params, x) of one point, or an object with a method `apply(params, x)`. If the object also
            has a method `step(params, x, y, rate)`, a descent step in closed form, this method replaces automatic
            differentiation.
        params: the parameters at the start.
        x: training points.
        y: targets of the training points.
        learning_rate: the step size for the sum of squares (not for its mean); see `stable_learning_rate`.
        steps: the number of steps.
        record_at: increasing step counts in [0, steps] after which the outputs are recorded.
        x_test: test points, at which the outputs are also recorded.
        centred: whether to train F(params) - F(initial params), whose outputs start at 0, in place of F.

    Raises:
        ShapeError: if x and y have different numbers of rows, or the outputs and y different numbers of columns.
        SettingError: if `record_at` does not hold increasing step counts in [0, steps].
        SolverError: if the outputs became infinite or undefined. Inside a transformation of JAX, such as `jax.vmap`
            over the parameters of many networks, this error cannot be raised.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.networks import SoftmaxNetwork, train
        >>> network = SoftmaxNetwork(width=64)
        >>> params, _ = network.init(jax.random.key(0), 2)
        >>> x, y = jnp.eye(2), jnp.array([[1.0], [-1.0]])
        >>> run = train(network, params, x, y, learning_rate=1e-3, steps=200, record_at=[0, 200])
        >>> bool(jnp.sum((run.train[1] - y) ** 2) < 0.1 * jnp.sum((run.train[0] - y) ** 2))
        True
    """
    records = np.asarray(record_at, dtype=np.int64)
    if records.ndim != 1 or not len(records) or records[0] < 0 or records[-1] > steps or (np.diff(records) <= 0).any():
        raise SettingError("record_at", found=records.tolist(), rule=f"increasing step counts in [0, {steps}]")
    outputs = jax.eval_shape(function_of(network), params, x[0]).shape
    if len(x) != len(y) or outputs != y.shape[1:]:
        raise ShapeError(
            "targets y", found=f"shape {y.shape}", rule=f"one row for each of {len(x)} points and {outputs[0]} columns"
        )
    lengths = jnp.asarray(np.diff(np.append(records, steps), prepend=0), jnp.int32)
    rate = jnp.asarray(learning_rate, x.dtype)
    final, on_train, on_test = _descend(network, centred, params, x, y, rate, lengths, x_test)
    if not _finite_or_traced(on_train):
        raise SolverError(
            "gradient descent",
            found="outputs that are not finite",
            rule=f"a learning rate at which training is stable, unlike {float(rate):.3g}",
            remedy="choose a learning_rate of at most 1 / largest eigenvalue of the tangent kernel",
        )
    times = rate * jnp.asarray(records, x.dtype)
    return Trajectory(times, on_train, on_test, final)


def _finite_or_traced(values: Array) -> bool:
    try:
        return bool(jnp.all(jnp.isfinite(values)))
    except jax.errors.TracerBoolConversionError:
        return True


@eqx.filter_jit
def _descend(
    network: Any, centred: bool, start: Any, x: Array, y: Array, rate: Array, lengths: Array, x_test: Array | None
) -> tuple[Any, Array, Array | None]:
    """Run lengths[0] steps, record, run lengths[1] steps, record, and so on. Do not record after the last steps."""
    batched = jax.vmap(function_of(network), in_axes=(None, 0))
    zero = lambda points: batched(start, points) if centred else 0.0
    shift = zero(x)
    loss = lambda p: 0.5 * jnp.sum((batched(p, x) - shift - y) ** 2)
    if hasattr(network, "step"):
        step = lambda _, p: network.step(p, x, y + shift, rate)
    else:
        step = lambda _, p: jax.tree.map(lambda value, slope: value - rate * slope, p, jax.grad(loss)(p))

    def segment(p: Any, length: Array) -> tuple[Any, tuple[Array, Array | None]]:
        p = jax.lax.fori_loop(0, length, step, p)
        return p, (batched(p, x) - shift, None if x_test is None else batched(p, x_test) - zero(x_test))

    p, (on_train, on_test) = jax.lax.scan(segment, start, lengths[:-1])
    return jax.lax.fori_loop(0, lengths[-1], step, p), on_train, on_test
