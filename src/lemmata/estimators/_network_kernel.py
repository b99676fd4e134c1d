"""The kernels of infinitely wide networks, given by their names, as kernels of scikit-learn."""

import math
import re
from typing import Any

import jax
import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from lemmata.architectures import Gelu, TangentKernel, erf_network, fully_connected, relu_network
from lemmata.core import numbers_of
from lemmata.errors import SettingError
from lemmata.kernels import AbstractKernel, SoftmaxTangent, gram

_DEEP = {
    "relu": relu_network,
    "erf": erf_network,
    "gelu": lambda depth: fully_connected(Gelu(), depth, weight_std=math.sqrt(2.0)),
}
_NAME = re.compile(r"(relu|erf|gelu)-([1-9]\d?)|softmax")


class NetworkKernel(Kernel):
    """The tangent kernel of an infinitely wide network, which is chosen by name, for estimators of scikit-learn.

    This kernel has no parameters to learn, and its settings are texts and numbers. So an estimator that contains this
    kernel can be stored in any format. For any other kernel of lemmata, use `SklearnKernel`.

    Args:
        network: "relu-DEPTH", "erf-DEPTH" or "gelu-DEPTH" for fully connected networks with DEPTH hidden layers, or
            "softmax".
        radius: points are first divided by this number. For "softmax", the radius is the largest norm of a row.
        sigma: the standard deviation of the weights of "softmax".

    Raises:
        SettingError: at the first use, if the name is unknown.

    Example:
        >>> import numpy as np
        >>> from sklearn.kernel_approximation import Nystroem
        >>> from lemmata.estimators import NetworkKernel
        >>> x = np.random.default_rng(0).normal(size=(20, 3))
        >>> kernel = NetworkKernel("relu-2")
        >>> features = Nystroem(kernel=kernel, n_components=20).fit_transform(x)
        >>> bool(np.allclose(features @ features.T, kernel(x)))
        True
    """

    __module__ = "lemmata.estimators"  # so stored files do not depend on the module that defines the class

    def __init__(self, network="relu-1", radius=1.0, sigma=1.5):
        self.network = network
        self.radius = radius
        self.sigma = sigma

    def __call__(self, X, Y=None, eval_gradient=False) -> Any:
        """The matrix K(X, Y) or K(X, X), of shape (n, m).

        With `eval_gradient`, also return the derivatives by the kernel's parameters. There are no parameters, so this
        array is empty, of shape (n, n, 0).
        """
        x = numbers_of("X", X) / self.radius
        with jax.enable_x64(True):
            y = None if Y is None else jax.numpy.asarray(numbers_of("Y", Y) / self.radius)
            matrix = np.array(gram(self._kernel(), jax.numpy.asarray(x), y))
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix

    def diag(self, X) -> Any:
        """The diagonal K(x_i, x_i), (n,)."""
        with jax.enable_x64(True):
            return np.array(self._kernel().diagonal(jax.numpy.asarray(numbers_of("X", X) / self.radius)))

    def is_stationary(self) -> Any:
        """Return False, because the kernel depends on the norms of the points."""
        return False

    def _kernel(self) -> AbstractKernel:
        found = _NAME.fullmatch(str(self.network))
        if found is None:
            raise SettingError(
                "network",
                found=repr(self.network),
                rule="relu-DEPTH, erf-DEPTH, gelu-DEPTH or softmax, where DEPTH is a whole number",
                remedy="write 'relu-3', for example",
            )
        kind, depth = found.groups()
        return SoftmaxTangent(self.sigma) if kind is None else TangentKernel(_DEEP[kind](int(depth)))
