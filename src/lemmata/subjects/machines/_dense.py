"""The dense machine: Gram matrices of layers that balance the likelihood of labels and divergences from a prior."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float, Key
from scipy.optimize import minimize, root

from lemmata.core import check_gram, check_numbers, check_whole, require_float64
from lemmata.errors import NotPositiveDefiniteError, SettingError, ShapeError, SolverError

from ._checks import check_array, check_number, check_variances
from ._layers import GramMap, Grams, check_kernel, factor_divergence, learned, mapped, triangular

_SHRINK = {"linear": "shrink without end", "relu": "may shrink without end"}
_FEW = 400  # largest number of unknowns for which a Jacobian by differences is cheap
_KRYLOV = {"maxiter": 50, "fatol": 1e-9}
_SAME = 1e-9  # the relative difference of values that rounding explains
_GRADIENT = 1e-4  # the largest gradient at the end, relative to the weights of the terms


class DenseMachine(NamedTuple):
    """A deep kernel machine at the optimum of its objective (see `deep_kernel_machine`).

    Attributes:
        grams: the Gram matrices G_1, ..., G_L of the layers' features at the rows, (layers, n, n).
        objective: the value of the objective at the optimum, in nats.
        likelihood: the log likelihood log p(Y | G_L) of the labels Y, in nats.
        divergences: the divergence D(G_l | K(G_{l-1})) of each layer, (layers,), in nats.
        factors: lower triangular matrices A_l, with G_l = L A_l A_l' L' for K(G_{l-1}) = L L'.
        gram_0: the Gram matrix of the inputs.
        y: the labels.
        noise: the variance of the labels' noise.
        kernel: the map K of Gram matrices, "relu" or "linear".
    """

    grams: Float[Array, "layers n n"]
    objective: float
    likelihood: float
    divergences: Float[Array, " layers"]
    factors: Float[Array, "layers n n"]
    gram_0: Float[Array, "n n"]
    y: Float[Array, "n C"]
    noise: float
    kernel: GramMap

    def predict(self, cross: Float[Array, "n m"], own: Float[Array, " m"]) -> Float[Array, "m C"]:
        """Return the mean outputs at m other rows.

        Args:
            cross: the entries of G_0 between the n rows and the other rows.
            own: the entry of G_0 for each other row with itself.

        Raises:
            ShapeError: if the arrays do not fit each other or the machine.
            DataError: for values that are not arrays, entries that are not finite, and negative entries of `own`.
        """
        n = len(self.gram_0)
        check_array("cross", cross)
        check_array("own", own)
        if cross.ndim != 2 or len(cross) != n:
            raise ShapeError(
                "cross", found=f"shape {cross.shape}", rule=f"shape ({n}, m), from the rows of the machine to m others"
            )
        if own.shape != cross.shape[1:]:
            raise ShapeError(
                "own", found=f"shape {own.shape}", rule=f"shape {cross.shape[1:]}, one number for each column of cross"
            )
        if len(own):
            check_numbers("cross", cross)
            check_numbers("own", own)
            check_variances("own", own, self.gram_0)
        return _outputs(self.factors, Grams(self.gram_0, cross, own), self.y, self.noise, self.kernel)


def deep_kernel_machine(
    gram_0: Float[Array, "n columns"],
    y: Float[Array, "rows C"],
    *,
    layers: int = 1,
    nu: float | Float[Array, " layers"] = 1.0,
    noise: float = 0.1,
    kernel: GramMap = "relu",
    start: Key[Array, ""] | None = None,
) -> DenseMachine:
    """Return the Gram matrices G_1, ..., G_L of features that fit labels and stay near a prior.

    For n rows and C columns y_c of labels, these matrices maximise

        sum_c log N(y_c; 0, K(G_L) + s I) - sum_l nu_l D(G_l | K(G_{l-1})),

    where D is the Gaussian divergence (`gaussian_divergence`), s the noise and K a map of Gram matrices: `rectify`, or
    the identity. Consider a deep Gaussian process whose layers have N nu_l features and whose labels are seen N times.
    As N grows, the posterior of this process tends to these matrices (Yang et al., 2023). A larger nu keeps the layer
    closer to its prior. At nu = infinity, G_l = K(G_{l-1}): these are the Gram matrices of an infinitely wide network.
    The search uses L-BFGS over triangular factors, from the prior or from a random start. Each layer and step takes
    time n³ and memory n². The objective of a linear machine has one maximum. The objective of a machine of ReLUs may
    have several maxima, and the function finds one of these.

    Args:
        gram_0: G_0 of the inputs, such that K(G_0) is positive definite.
        y: labels, one column for each output. The function does not centre the labels, so pass centred labels if you
            need this.
        layers: the number of layers L, at least 1.
        nu: the weight of each layer's divergence, above 0; one number for all layers, or one for each layer. The
            likelihood is a sum over C columns, so compare nu with C.
        noise: the variance s, above 0; 0 is allowed only if the objective has a maximum (see `SettingError` below).
        kernel: "relu" or "linear".
        start: a key for a random start of the search; None starts from the prior.

    Raises:
        SettingError: for a setting out of its range. The error is also raised for noise 0 if the labels have a rank
            below n and some nu is not above C. Then the objective has no maximum in a linear machine, and may have none
            in a machine of ReLUs.
        ShapeError: if G_0 is not square and symmetric, or does not have as many rows as the labels.
        NotPositiveDefiniteError: if K(G_0) is not positive definite, for example because rows are equal.
        SolverError: if the search did not converge.
        DataError, PrecisionError: DataError for entries that are not finite, and PrecisionError if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import deep_kernel_machine
        >>> found = deep_kernel_machine(jnp.eye(1), 4 * jnp.ones((1, 1)), nu=1.0, noise=0.0, kernel="linear")
        >>> round(float(found.grams[0, 0, 0]), 4)  # half-way from 1 to the labels' 16, geometrically
        4.0
    """
    require_float64("a deep kernel machine")
    weights = _checked(gram_0, y, layers, nu, noise, kernel)
    n = len(y)
    shape = (layers, n, n)
    given = (jnp.asarray(gram_0), jnp.asarray(y), jnp.asarray(weights), float(noise))

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        found, slope = _loss(flat.reshape(shape), *given, kernel)
        return (float(found), np.asarray(slope).ravel()) if np.isfinite(found) else (np.inf, np.zeros(flat.size))

    first = np.zeros(shape) if start is None else np.asarray(0.5 * jax.random.normal(start, shape))
    if not np.isfinite(value(np.zeros(shape).ravel())[0]):
        raise NotPositiveDefiniteError(
            "Gram matrix K(G_0) of the prior",
            found="that it has no Cholesky factor",
            rule="a matrix with all eigenvalues above 0",
            remedy="remove duplicate rows, or add a small multiple of the identity to G_0",
        )
    found = _settled(value, first.ravel(), float(y.shape[1] + weights.max()))
    raw = jnp.asarray(found.reshape(shape))
    grams, divergences, likelihood = _terms(raw, given[0], given[1], given[3], kernel)
    factors = jnp.tril(raw, -1) + jnp.exp(jnp.eye(n) * raw) * jnp.eye(n)
    return DenseMachine(
        grams, -float(value(found)[0]), float(likelihood), divergences, factors, given[0], given[1], given[3], kernel
    )


def _settled(value: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, scale: float) -> np.ndarray:
    """Return a minimiser of a function: a point at which the gradient is small relative to `scale`.

    The search begins with descent. If rounding errors of the function stop the descent too early, the search continues
    with a root of the gradient.

    Values of the function f are exact only to eps |f|, where eps is the machine epsilon. So they do not show gradients
    below sqrt(eps |f| h) along a direction of curvature h. If G_l is nearly singular along a direction, h is 1e6. The
    gradient has a smaller error, so root finding uses the gradient. If the value at this root differs from the value at
    which descent ended, the root is discarded.
    """
    options = {"maxiter": 5000, "maxfun": 20000, "maxcor": 30, "ftol": 0.0, "gtol": 1e-10}
    found = minimize(value, start, jac=True, method="L-BFGS-B", options=options)
    x, left = found.x, float(np.abs(found.jac).max()) / scale
    if not left <= _GRADIENT:
        method = "hybr" if x.size <= _FEW else "krylov"
        try:
            there = root(lambda other: value(other)[1], x, method=method, options={} if method == "hybr" else _KRYLOV)
            near = abs(value(there.x)[0] - found.fun) <= _SAME * (1 + abs(found.fun))
            x = there.x if near else x
        except (ValueError, np.linalg.LinAlgError):  # a step led to a point where the gradient is not finite
            pass
        left = float(np.abs(value(x)[1]).max()) / scale
    if not left <= _GRADIENT:
        raise SolverError(
            "search for Gram matrices",
            found=f"a gradient of {left:.2g} after {found.nit} steps",
            rule=f"a gradient of at most {_GRADIENT:g} times the weights of the objective",
            remedy="use more noise, or a larger nu",
        )
    return x


def _checked(gram_0: Array, y: Array, layers: int, nu: float | Array, noise: float, kernel: str) -> np.ndarray:
    check_kernel(kernel)
    check_gram("the inputs' Gram matrix", gram_0)
    check_array("labels", y)
    check_numbers("labels", y)
    if y.ndim != 2 or len(y) != len(gram_0):
        rule = f"shape ({len(gram_0)}, C), one row for each row of the Gram matrix"
        raise ShapeError("labels", found=f"shape {y.shape}", rule=rule)
    check_whole("layers", layers, 1, "layers")
    if np.asarray(nu).dtype.kind not in "iuf" or np.shape(nu) not in ((), (1,), (layers,)):
        raise SettingError("nu", found=repr(nu), rule=f"one number, or {layers} numbers, one for each layer")
    weights = np.broadcast_to(np.asarray(nu, float), (layers,))
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise SettingError(
            "nu",
            found=nu,
            rule="finite numbers above 0",
            remedy="use a large nu to approach K(G), which is the limit of infinite nu",
        )
    check_number("noise", noise)
    if noise == 0 and weights.min() <= y.shape[1] and np.linalg.matrix_rank(y) < len(y):
        raise SettingError(
            "noise",
            found=f"noise 0 with nu {weights.min():g} and labels of {y.shape[1]} columns, whose rank is below {len(y)}",
            rule=f"noise above 0 in this case, because directions without labels {_SHRINK[kernel]}",
            remedy="set a noise above 0, or every nu above the number of columns",
        )
    return weights


@partial(jax.jit, static_argnums=4)
def _outputs(factors: Array, grams: Grams, y: Array, noise: float | Array, kernel: GramMap) -> Array:
    for factor in factors:
        grams = learned(mapped(grams, kernel), factor)
    last = mapped(grams, kernel)
    root = jnp.linalg.cholesky(last.inducing + noise * jnp.eye(len(y)))
    return last.cross.T @ cho_solve((root, True), y)


@partial(jax.jit, static_argnums=4)
def _terms(raw: Array, gram_0: Array, y: Array, noise: Array | float, kernel: GramMap) -> tuple[Array, Array, Array]:
    """Return the Gram matrices and divergences of all layers, and the log likelihood of the labels."""
    none = Grams(gram_0, jnp.zeros((len(y), 0)), jnp.zeros(0))
    grams = []
    for factor in raw:
        none = learned(mapped(none, kernel), triangular(factor))
        grams.append(none.inducing)
    root = jnp.linalg.cholesky(mapped(none, kernel).inducing + noise * jnp.eye(len(y)))
    z = solve_triangular(root, y, lower=True)
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(root)))
    likelihood = -0.5 * (jnp.sum(z**2) + y.shape[1] * (log_det + len(y) * jnp.log(2 * jnp.pi)))
    return jnp.stack(grams), jnp.stack([factor_divergence(own) for own in raw]), likelihood


@partial(jax.jit, static_argnums=5)
def _loss(raw: Array, gram_0: Array, y: Array, nu: Array, noise: float | Array, kernel: GramMap) -> tuple[Array, Array]:
    def loss(raw: Array) -> Array:
        _, divergences, likelihood = _terms(raw, gram_0, y, noise, kernel)
        return nu @ divergences - likelihood

    return jax.value_and_grad(loss)(raw)
