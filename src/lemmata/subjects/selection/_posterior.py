"""The posterior covariance of a kernel given labelled points, and the tangent kernel of a proxy network."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float, Int, Key

from lemmata.architectures import Dense, Serial, silu, tangent_gram
from lemmata.core import check_gram, check_numbers, check_whole, known, require_float64
from lemmata.errors import SettingError, ShapeError

_BIAS = 0.1


def posterior_gram(
    gram: Float[Array, "n columns"], labelled: Int[Array, " m"], noise: float | Float[Array, ""]
) -> Float[Array, "n n"]:
    """Return K - K_L (K_LL + noise I)^-1 K_L', the covariance at all points given noisy values at labelled points.

    Here L is the set of labelled points, and the prior is the Gaussian process with covariance K. The result is the
    Schur complement of K_LL + noise I. If K is positive semidefinite, so is the result. Points near labelled points
    have a small posterior variance. So a choice of points with large variance prefers points that are far from labelled
    points.

    Args:
        gram: the Gram matrix K of all points, including the labelled points.
        labelled: the row numbers of the labelled points. If there are none, K is not changed.
        noise: the noise variance of the labels, above 0.

    Raises:
        ShapeError: if K is not square and symmetric.
        SettingError: for a noise that is not positive, or rows that do not exist.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.selection import posterior_gram
        >>> posterior_gram(jnp.eye(2), jnp.array([0]), 1.0).round(9).tolist()
        [[0.5, 0.0], [0.0, 1.0]]
    """
    check_gram("the Gram matrix", gram)
    labelled = jnp.asarray(labelled, int)
    level, rows = known(jnp.asarray(noise)), known(labelled)
    if level is not None and not float(level) > 0:
        raise SettingError("noise", found=float(level), rule="a number above 0")
    if rows is not None and not bool(jnp.all((rows >= 0) & (rows < len(gram)))):
        raise SettingError("labelled rows", found=rows.tolist(), rule=f"row numbers from 0 to {len(gram) - 1}")
    if not labelled.size:
        return gram
    cross = gram[:, labelled]
    own = cross[labelled] + noise * jnp.eye(labelled.size)
    return gram - cross @ cho_solve((jnp.linalg.cholesky(own), True), cross.T)


def proxy_tangent_gram(
    features: Float[Array, "n d"],
    outputs: Float[Array, "rows k"],
    key: Key[Array, ""],
    *,
    widths: Sequence[int] = (64, 32),
    steps: int = 10,
    rate: float = 0.02,
) -> Float[Array, "n n"]:
    """Return the tangent kernel of a proxy, a small network that is trained to predict a model's outputs from its
    features.

    The proxy is a dense network with SiLU between its layers. The proxy is trained by a few full-batch steps of Adam on
    the squared error to the outputs. The kernel is a mean over the proxy's outputs of a sum over layers. Each layer
    adds the entrywise product of two Gram matrices: of the layer's inputs, and of the derivatives with respect to the
    layer's outputs. So Jacobians are never formed.

    Args:
        features: the standardised features of a model. The model itself is not differentiated, so it may be large.
        outputs: the outputs of this model, one row for each point.
        key: the random key of the initial weights.
        widths: the widths of the hidden layers.
        steps: the number of steps of Adam.
        rate: the step length of Adam.

    Raises:
        ShapeError: if features or outputs are not tables, or have different numbers of rows.
        DataError: for entries that are not finite.
        PrecisionError: if float64 is off.
    """
    require_float64("tangent kernel of a proxy")
    check_numbers("features", features)
    check_numbers("outputs", outputs)
    if jnp.ndim(features) != 2 or jnp.ndim(outputs) != 2 or len(features) != len(outputs):
        found = f"features {jnp.shape(features)}, outputs {jnp.shape(outputs)}"
        raise ShapeError("proxy", found=found, rule="shapes (n, d) and (n, k), one row for each point")
    check_whole("steps", steps, 0)
    hidden = [layer for width in widths for layer in (Dense(width, 1.0, _BIAS, "standard"), silu())]
    network = Serial([*hidden, Dense(outputs.shape[1], 1.0, _BIAS, "standard")])
    params, _ = network.init(key, features.shape[1])
    return tangent_gram(network, _imitate(network, params, features, outputs, rate, steps), features, trace=True)


@eqx.filter_jit
def _imitate(network, params, features: Array, outputs: Array, rate: float, steps: int):
    rule = optax.adam(rate)
    loss = lambda own: jnp.mean((jax.vmap(lambda x: network.apply(own, x))(features) - outputs) ** 2)

    def step(state: tuple, _: None) -> tuple:
        params, memory = state
        update, memory = rule.update(jax.grad(loss)(params), memory, params)
        return (optax.apply_updates(params, update), memory), None

    return jax.lax.scan(step, (params, rule.init(params)), None, steps)[0][0]
