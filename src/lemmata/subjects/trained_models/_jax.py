"""Models that JAX differentiates: functions, Equinox and Flax modules, and estimators rebuilt from coefficients."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.errors import PrecisionError, SettingError

from ._contract import SMALLEST, AbstractModel, Layer, batch_of_one, row_by_row
from ._jax_matrices import matrix_factors
from ._losses import Loss
from ._readout_chunks import factored_gauss_newton, factored_losses, is_factored, logits_shape


@dataclasses.dataclass(frozen=True)
class JaxModel(AbstractModel):
    """A function of a pytree of parameters and a batch of rows. See `AbstractModel`.

    Args:
        f: a function f(params, x) with x of shape (n, *row) and outputs (n, C) or (n,).
        tree: the structure of the pytree of parameters.
    """

    f: Callable[[Any, Any], Any] = dataclasses.field(repr=False)
    tree: Any = dataclasses.field(repr=False)

    def in_double(self) -> "JaxModel":
        """Return the same function at the same parameters, computed in float64.

        Raises:
            PrecisionError: if JAX would compute in float32.
        """
        _ask_for_float64()
        return dataclasses.replace(self, theta=self.theta.astype(np.float64))

    def _own_call(self, theta: jax.Array, x: jax.Array) -> Any:
        """Return the result of the user's own function."""
        # Split only once, because the derivative of a split is one concatenation. The derivative of a slice would be a
        # vector of P numbers for each layer.
        return self._of_arrays(self._arrays(theta), x)

    def _of_arrays(self, arrays: list[jax.Array], x: jax.Array) -> Any:
        """Return the result of the user's own function, given the layers as arrays.

        A function with a state in float32, such as a loop in Flax, does not accept float64 parameters, so it gets
        float32.
        """
        try:
            return self.f(jax.tree.unflatten(self.tree, arrays), x)
        except TypeError:
            if all(own.dtype != jnp.float64 for own in arrays):
                raise
            *arrays, x = (own.astype(jnp.float32) if own.dtype == jnp.float64 else own for own in (*arrays, x))
            return self.f(jax.tree.unflatten(self.tree, arrays), x)

    def _arrays(self, theta: jax.Array) -> list[jax.Array]:
        parts = jax.lax.split(theta, [layer.size for layer in self.layers])
        return [part.reshape(layer.shape) for layer, part in zip(self.layers, parts, strict=True)]

    def _call(self, theta: jax.Array, x: jax.Array) -> jax.Array:
        if self.link == "documents":
            return document_losses(self._own_call(theta, jnp.where(x < 0, -1 - x, x)), x)
        found = self._read(batch_of_one(lambda rows: self._own_call(theta, rows), x, jnp.concatenate))
        return found.astype(theta.dtype)  # the user's function may compute in a fixed lower precision

    def _read(self, found: Any) -> jax.Array:
        found = row_by_row(found)
        if self.link == "identity":
            return found
        if self.link == "log":
            return jnp.log(jnp.maximum(found, SMALLEST))
        logit = found
        if self.link == "one probability":
            logit = jnp.log(jnp.maximum(found, SMALLEST)) - jnp.log(jnp.maximum(1 - found, SMALLEST))
        return jnp.concatenate([-logit, logit], axis=1) / 2

    def _saved_bytes(self, x: np.ndarray) -> int:
        back = jax.eval_shape(lambda theta, rows: jax.vjp(lambda own: self._call(own, rows), theta)[1], self.theta, x)
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(back))

    def _vocabulary(self, x: np.ndarray) -> tuple[int, ...]:
        arrays = jax.tree.unflatten(self.tree, list(self.split(self.theta).values()))
        found = jax.eval_shape(self.f, arrays, np.where(x < 0, -1 - x, x))
        return logits_shape(found) if is_factored(found) else found.shape

    def _outputs(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(_outputs(self, self.theta, x))

    def _jacobian(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(_jacobian(self, self.theta, x))

    def _matrix_factors(self, x: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        found = _matrix_factors(self, self.theta, x)
        return {self.layers[leaf].name: (np.asarray(taken), np.asarray(own)) for leaf, (taken, own) in found.items()}

    def _jvp(self, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(_jvp(self, self.theta, v, x))

    def _vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(_vjp(self, self.theta, u, x))

    def _hvp(self, v: np.ndarray, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> np.ndarray:
        return np.asarray(_hvp(self, self.theta, v, x, y, loss))

    def _documents_gauss_newton(self, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(_documents_gauss_newton(self, self.theta, v, x))

    def _loss_slope(self, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> tuple[float, np.ndarray]:
        value, slope = _loss_slope(self, self.theta, x, y, loss)
        return float(value), np.asarray(slope)

    def _input_vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(_input_vjp(self, self.theta, u, x))

    @property
    def _what(self) -> tuple[Any, ...]:
        return self.f, self.tree, self.layers, self.link

    def __hash__(self) -> int:
        return hash((id(self.f), *self._what[1:]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JaxModel) and self._what == other._what


def _ask_for_float64() -> None:
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        remedy = 'jax.config.update("jax_enable_x64", True)'
        raise PrecisionError("parameters", found="float64", rule="JAX computes in float32", remedy=remedy)


def document_losses(logits: Any, x: jax.Array) -> jax.Array:
    """Return (n, 1) sums of log sum exp f - f_token over tokens that count. The logits f at t are for token t + 1."""
    if is_factored(logits):
        return factored_losses(logits, x)
    if logits.ndim != 3 or logits.shape[:2] != x.shape:
        raise ValueError(f"logits of a language model are (documents, tokens, vocabulary), not {logits.shape}")
    ahead, tokens = logits[:, :-1], x[:, 1:]
    own = jnp.take_along_axis(ahead, jnp.maximum(tokens, 0)[..., None], axis=2)[..., 0]
    return jnp.sum(jnp.where(tokens < 0, 0.0, jax.nn.logsumexp(ahead, axis=2) - own), axis=1, keepdims=True)


def loss_of(name: str | Loss, f: jax.Array, y: jax.Array) -> jax.Array:
    """Return the summed loss of a batch: log sum exp f - <y, f> for "softmax", |f - y|²/2 for "squared", else f."""
    if isinstance(name, Loss):
        return jnp.sum(name.of_rows(f, y))
    if name == "documents":
        return jnp.sum(f)
    if name == "softmax":
        return jnp.sum(jax.nn.logsumexp(f, axis=1) - jnp.sum(y * f, axis=1))
    return jnp.sum((f - y) ** 2) / 2


# A model is a static argument of the compiled functions. Two models are equal if their functions and trees are equal,
# for any parameters. So a copy at other parameters is not compiled again.
@eqx.filter_jit
def _outputs(model: JaxModel, theta: Any, x: Any) -> jax.Array:
    return model._call(theta, x)


@eqx.filter_jit
def _jacobian(model: JaxModel, theta: Any, x: Any) -> jax.Array:
    each = lambda row: jax.jacrev(lambda own: model._call(own, row[None])[0])(theta)
    return jax.lax.map(each, x, batch_size=8)


@eqx.filter_jit
def _matrix_factors(model: JaxModel, theta: Any, x: Any) -> dict[int, tuple[jax.Array, jax.Array]]:
    call = lambda own, rows: model._read(model._of_arrays(own, rows))
    return matrix_factors(call, model._arrays(theta), x)


@eqx.filter_jit
def _jvp(model: JaxModel, theta: Any, v: Any, x: Any) -> jax.Array:
    return jax.jvp(lambda own: model._call(own, x), (theta,), (v,))[1]


@eqx.filter_jit
def _vjp(model: JaxModel, theta: Any, u: Any, x: Any) -> jax.Array:
    return jax.vjp(lambda own: model._call(own, x), theta)[1](u)[0]


@eqx.filter_jit
def _hvp(model: JaxModel, theta: Any, v: Any, x: Any, y: Any, loss: str | Loss) -> jax.Array:
    slope = jax.grad(lambda own: loss_of(loss, model._call(own, x), y))
    return jax.jvp(slope, (theta,), (v,))[1]


@eqx.filter_jit
def _documents_gauss_newton(model: JaxModel, theta: Any, v: Any, x: Any) -> jax.Array:
    call = lambda own: model._own_call(own, jnp.where(x < 0, -1 - x, x))
    if is_factored(jax.eval_shape(call, theta)):
        return factored_gauss_newton(call, theta, v, x)
    logits = lambda own: call(own)[:, :-1]
    f, pushed = jax.jvp(logits, (theta,), (v,))
    p = jax.nn.softmax(f) * (x[:, 1:] >= 0)[..., None]
    return jax.vjp(logits, theta)[1](p * (pushed - jnp.sum(p * pushed, axis=2, keepdims=True)))[0]


@eqx.filter_jit
def _loss_slope(model: JaxModel, theta: Any, x: Any, y: Any, loss: str | Loss) -> tuple[jax.Array, jax.Array]:
    return jax.value_and_grad(lambda own: loss_of(loss, model._call(own, x), y))(theta)


@eqx.filter_jit
def _input_vjp(model: JaxModel, theta: Any, u: Any, x: Any) -> jax.Array:
    return jax.vjp(lambda rows: model._call(theta, rows), x)[1](u)[0]


def jax_model(f: Callable[[Any, Any], Any], params: Any, kind: str = "JAX", decayed: Any = None) -> JaxModel:
    """Return a model of a JAX function.

    Args:
        f: a function f(params, x), where x is a batch of rows.
        params: the trained parameters, a pytree of floating-point arrays.
        kind: the library that the function comes from.
        decayed: a pytree like `params` with True for decayed parameters, or None for all.

    Raises:
        SettingError: if there is no floating-point parameter.
        PrecisionError: for parameters in float64 if JAX would compute in float32, and for half precision.
    """
    leaves, tree = jax.tree_util.tree_flatten_with_path(params)
    for path, leaf in leaves:
        if not hasattr(leaf, "dtype"):
            remedy = (
                "if the array is trained, convert it with jnp.asarray(...); otherwise move it out of the parameters "
                "and into f"
            )
            found = f"a {type(leaf).__name__} at {jax.tree_util.keystr(path)}"
            raise SettingError("parameters", found=found, rule="arrays", remedy=remedy)
    if not leaves or not all(jnp.issubdtype(leaf.dtype, jnp.floating) for _, leaf in leaves):
        raise SettingError("parameters", found="no array of floating-point numbers", rule="at least one such array")
    kinds = {np.dtype(leaf.dtype) for _, leaf in leaves}
    if len(kinds) > 1 or not kinds <= {np.dtype(np.float32), np.dtype(np.float64)}:
        found = ", ".join(sorted(str(kind) for kind in kinds))
        raise PrecisionError(
            "parameters", found=found, rule="all in float32, or all in float64", remedy="convert them to one type"
        )
    if np.dtype(np.float64) in kinds:
        _ask_for_float64()
    flat = np.concatenate([np.ravel(leaf) for _, leaf in leaves])
    name = lambda path: jax.tree_util.keystr(path, simple=True, separator=".")
    layers = tuple(Layer(name(path), tuple(leaf.shape)) for path, leaf in leaves)
    mask = None
    if decayed is not None:
        full = jax.tree.map(lambda leaf, own: np.full(leaf.shape, own), params, decayed)
        mask = np.concatenate([part.ravel() for part in jax.tree.leaves(full)])
    return JaxModel(kind, flat, layers, decayed=mask, f=f, tree=tree)
