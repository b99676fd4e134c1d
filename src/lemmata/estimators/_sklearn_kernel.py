"""Use any lemmata kernel as a kernel of scikit-learn, with its hyper-parameters and their gradients."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from lemmata.errors import SettingError
from lemmata.kernels import AbstractKernel, gram

from ._leaves import jax_leaves
from ._rows import float64_leaves

_SHOWN = 20


class SklearnKernel(Kernel):
    """Use a lemmata kernel in scikit-learn's `GaussianProcessRegressor`, or as the function of `SVC` or `KernelRidge`.

    The hyper-parameters are positive numbers inside the kernel, named by their paths of attributes. Examples are
    `"lengthscale"` of an RBF kernel, `"left.lengthscale"` in a sum, and `"network.layers.0.weight_std"` in the kernel
    of a network. An array of positive numbers, such as a lengthscale for each column, gives a hyper-parameter for each
    number. For scikit-learn, theta is the vector of the logarithms of all hyper-parameters. scikit-learn optimises
    theta between the bounds, with gradients from JAX. Matrices are computed in float64, whether JAX's x64 mode is on or
    not. Sums and products with scikit-learn's own kernels work.

    Args:
        kernel: the kernel K.
        learn: the paths of the hyper-parameters that scikit-learn optimises; by default, there are none. Join numbers
            that must stay equal into one hyper-parameter, as in `"network.layers.0.weight_std =
            network.layers.2.weight_std"`. Arrays that are joined must have the same shape.
        value_bounds: the least and the largest value, one pair for all k hyper-parameters or one for each, of shape
            (2,) or (k, 2).
        values: the hyper-parameters, in the order of `learn`. With None, the values of the kernel do not change.
            scikit-learn sets this argument.

    Raises:
        SettingError: at any use, if the kernel is not a kernel of lemmata, or a path does not lead to a positive
            number or an array of positive numbers. Matern's nu has no derivative and cannot be learnt.

    Example:
        >>> import numpy as np
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> from sklearn.svm import SVC
        >>> from lemmata.architectures import NNGPKernel, relu_network
        >>> from lemmata.estimators import SklearnKernel
        >>> from lemmata.kernels import RBF
        >>> x = np.linspace(-1, 1, 20)[:, None]
        >>> kernel = SklearnKernel(RBF(1.0), learn=["lengthscale"])
        >>> fitted = GaussianProcessRegressor(kernel, alpha=1e-2).fit(x, np.sin(3 * x[:, 0]))
        >>> bool(0.3 < fitted.kernel_.values[0] < 0.9)
        True
        >>> machine = SVC(kernel=SklearnKernel(NNGPKernel(relu_network(depth=2))))
        >>> machine.fit(x, x[:, 0] > 0).score(x, x[:, 0] > 0)
        1.0
    """

    def __init__(self, kernel, learn=(), value_bounds=(1e-5, 1e5), values=None):
        self.kernel = kernel
        self.learn = learn
        self.value_bounds = value_bounds
        self.values = values

    def __call__(self, X, Y=None, eval_gradient=False) -> Any:
        """The matrix K(X, Y) or K(X, X), (n, m). With `eval_gradient`, also the derivatives in theta, (n, n, k).

        Args:
            X: points (n, d).
            Y: other points; None means X itself.
            eval_gradient: whether to compute derivatives, only for K(X, X).

        Raises:
            SettingError: for a gradient with other points Y.
        """
        if eval_gradient and Y is not None:
            raise SettingError(
                "eval_gradient",
                found="eval_gradient=True with other points Y",
                rule="eval_gradient=True only without Y, for K(X, X)",
                remedy="leave Y out, or set eval_gradient=False",
            )
        with jax.enable_x64(True):
            x = jnp.asarray(np.asarray(X, float))
            y = None if Y is None else jnp.asarray(np.asarray(Y, float))
            matrix = np.array(gram(self._current(), x, y))
            if not eval_gradient:
                return matrix
            if not self._paths():
                return matrix, np.empty((*matrix.shape, 0))
            return matrix, np.array(_slopes(self._whole(), self._paths(), jnp.asarray(self.theta), x))

    def diag(self, X) -> Any:
        """The diagonal K(x_i, x_i), (n,)."""
        with jax.enable_x64(True):
            return np.array(self._current().diagonal(jnp.asarray(np.asarray(X, float))))

    def is_stationary(self) -> Any:
        """Return False, because it is not known whether the kernel is stationary."""
        return False

    @property
    def hyperparameter_values(self):
        """scikit-learn's description of `values`."""
        count = len(self.theta)
        if count == 0:
            return Hyperparameter("values", "numeric", "fixed", 0)
        bounds = np.broadcast_to(np.asarray(self.value_bounds, float), (count, 2))
        return Hyperparameter("values", "numeric", bounds, count)

    @property
    def theta(self):
        """The logarithms of the hyper-parameters (k,)."""
        found = self.values
        if found is None:
            with jax.enable_x64(True):
                found = np.concatenate([np.zeros(0), *(_values(self._whole(), paths) for paths in self._paths())])
        return np.log(np.asarray(found, float))

    @theta.setter
    def theta(self, theta):
        self.values = np.exp(np.asarray(theta, float))

    def __repr__(self):
        """The kernel with its current parameters, and the parameters that are learnt."""
        try:
            with jax.enable_x64(True):
                shown = jax.tree.map(_rounded, self._current())
        except SettingError:  # the message of this error prints the kernel
            shown = self.kernel
        learnt = f", learn={self.learn!r}" if self.learn else ""
        return f"{type(self).__name__}({eqx.tree_pformat(shown, width=10**6)}{learnt})"

    def _paths(self) -> tuple[tuple[str, ...], ...]:
        given = [self.learn] if isinstance(self.learn, str) else self.learn
        return tuple(tuple(path.strip() for path in str(paths).split("=")) for paths in given)

    def _whole(self) -> AbstractKernel:
        if not isinstance(self.kernel, AbstractKernel):
            raise SettingError("kernel", found=repr(self.kernel), rule="a kernel of lemmata (an AbstractKernel)")
        return jax_leaves(float64_leaves(self.kernel))

    def _current(self) -> AbstractKernel:
        paths = self._paths()
        return _placed(self._whole(), paths, jnp.exp(jnp.asarray(self.theta))) if paths else self._whole()


def _rounded(leaf: Any) -> Any:
    """Round a JAX array with at most a few numbers to six digits. Other leaves are not changed."""
    if not (isinstance(leaf, jax.Array) and leaf.ndim <= 1 and leaf.size <= _SHOWN):
        return leaf
    rounded = [float(f"{float(number):.6g}") for number in jnp.atleast_1d(leaf)]
    return rounded if leaf.ndim else rounded[0]


def _at(tree: Any, path: str) -> Any:
    for step in path.split("."):
        tree = tree[int(step)] if step.isdigit() else getattr(tree, step)
    return tree


def _values(kernel: AbstractKernel, paths: tuple[str, ...]) -> np.ndarray:
    """The hyper-parameters at the first path, after a check that all paths lead to equally many positive numbers."""
    found = [_positive(kernel, path) for path in paths]
    for path, values in zip(paths, found, strict=True):
        if values.shape != found[0].shape:
            raise SettingError(
                f"hyper-parameter {path!r}",
                rule=f"the shape {found[0].shape}, as for {paths[0]!r}",
                found=f"shape {values.shape}",
            )
    return found[0].ravel()


def _positive(kernel: AbstractKernel, path: str) -> np.ndarray:
    """The positive numbers at a path."""
    found = np.full((), math.nan)
    try:
        value = _at(kernel, path)
        if isinstance(value, int | float | jax.Array) and not isinstance(value, bool):
            eqx.tree_at(lambda tree: _at(tree, path), kernel, jnp.ones(np.shape(value)))
            found = np.asarray(value, float)
    except (AttributeError, IndexError, TypeError, ValueError):
        pass
    if found.ndim > 1 or not found.size or not np.all((found > 0) & (found < math.inf)):
        raise SettingError(
            f"hyper-parameter {path!r}",
            rule=(
                "the path of a number or an array in the kernel, such as 'lengthscale'. The numbers must be "
                "positive, and the kernel must have a derivative with respect to them"
            ),
            found=f"no such number in {kernel!r}"[:300],
        )
    return found


def _placed(kernel: AbstractKernel, paths: tuple[tuple[str, ...], ...], values: Float[Array, " k"]) -> AbstractKernel:
    where = lambda tree: [_at(tree, path) for tied in paths for path in tied]
    placed, start = [], 0
    for tied in paths:
        shape = np.shape(_at(kernel, tied[0]))
        end = start + math.prod(shape)
        placed += [values[start:end].reshape(shape)] * len(tied)
        start = end
    return eqx.tree_at(where, kernel, placed)


@eqx.filter_jit
def _slopes(
    kernel: AbstractKernel, paths: tuple[tuple[str, ...], ...], theta: Float[Array, " k"], x: Array
) -> Float[Array, "n n k"]:
    def matrix(logarithms: Array) -> Array:
        return gram(_placed(kernel, paths, jnp.exp(logarithms)), x)

    return jax.jacfwd(matrix)(theta)
