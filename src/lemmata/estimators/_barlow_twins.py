"""A scikit-learn transformer: the embedding to which self-supervised learning of a kernel model converges."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from lemmata.answers import positive
from lemmata.core import numbers_of, refuse_text, refusing_in_one_line
from lemmata.errors import DataError, SettingError
from lemmata.kernels import RBF, AbstractKernel, gram
from lemmata.subjects.dynamics import StepwisePrediction, terminal_embedding

from ._bases import AbstractKernelTransformer
from ._leaves import jax_leaves
from ._rows import float64_leaves, points_of


class KernelBarlowTwins(AbstractKernelTransformer):
    """Embed rows by functions of a kernel so that the cross-correlation of two views of every row is the identity.

    A view is a changed copy of a row, such as a shifted image. The embedding is the limit of gradient flow on |C - I|²
    from a small start, where C is the cross-correlation of the embeddings of the two views. An infinitely wide network
    with this tangent kernel learns the embedding by Barlow Twins' loss without normalisation (Simon et al., 2023). The
    components of the embedding are the leading eigenvectors (modes) of what the two views share. The mode that is
    learned fastest comes first. Without views, each row is its own view, and the embedding is whitened kernel PCA
    without centring.

    Args:
        kernel: a kernel of lemmata; None means an RBF kernel whose squared lengthscale is half the number of columns.
        n_components: the number of dimensions of the embedding.

    Attributes:
        kernel_: the kernel that is used.
        eigenvalues_: the eigenvalues of the modes, in descending order.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import KernelBarlowTwins
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(40, 2))
        >>> model = KernelBarlowTwins(n_components=3).fit(x, views=x + 0.1 * rng.normal(size=(40, 2)))
        >>> model.transform(x[:5]).shape, bool(np.all(np.diff(model.step_times(1e-3)) > 0))
        ((5, 3), True)
    """

    def __init__(self, kernel=None, n_components=2):
        self.kernel = kernel
        self.n_components = n_components

    def fit(self, X, y=None, *, views=None):
        """Find the embedding.

        Args:
            X: points (n, d).
            y: ignored.
            views: other views of the points (n, d), in the same order of rows; None means the points themselves.

        Raises:
            DataError: for views of another shape, or views that are not finite.
            SettingError: for a kernel of another type, a number of components that is not a whole number above 0, or
                more components than positive modes.
        """
        with refusing_in_one_line():
            refuse_text(X)
            points = np.array(validate_data(self, X, dtype=np.float64), float)
        others = points if views is None else _checked_views(views, points.shape)
        if not (self.kernel is None or isinstance(self.kernel, AbstractKernel)):
            raise SettingError("kernel", found=repr(self.kernel), rule="a kernel of lemmata, or None")
        with jax.enable_x64(True):
            chosen = RBF((points.shape[1] / 2) ** 0.5) if self.kernel is None else self.kernel
            self.kernel_ = float64_leaves(chosen)
            try:
                found = terminal_embedding(
                    jax_leaves(self.kernel_), jnp.asarray(points), jnp.asarray(others), self.n_components
                )
            except SettingError as error:
                if error.what != "dimension" or "positive eigenvalues" not in str(error.rule):
                    raise
                count, width = points.shape
                wrong = f"{self.n_components}, with n_samples = {count} and n_features = {width}"
                raise SettingError("n_components", found=wrong, rule=error.rule, remedy=error.remedy) from error
        self._points, self._coefficients = np.asarray(found.points), np.asarray(found.coefficients)
        self.eigenvalues_ = np.asarray(found.eigenvalues)
        self._n_features_out = len(self.eigenvalues_)
        return self

    def transform(self, X):
        """The embeddings (m, n_components) of points (m, d)."""
        check_is_fitted(self)
        points = points_of(self, X)
        with jax.enable_x64(True):
            cross = gram(jax_leaves(self.kernel_), jnp.asarray(points), jnp.asarray(self._points))
            return np.asarray(cross @ jnp.asarray(self._coefficients))

    def step_times(self, start: Any) -> np.ndarray:
        """The times at which gradient flow learns each component, if every mode has size `start` at time 0.

        Args:
            start: a small positive number.

        Raises:
            SettingError: if the start is not a positive number, or is above the size at which a mode is half learned.
        """
        check_is_fitted(self)
        size = positive("start", start)
        if not 0 < size**2 * self.eigenvalues_[0] <= 0.5:
            raise SettingError(
                "start",
                found=start,
                rule=f"a number above 0 such that start² times the largest eigenvalue, {self.eigenvalues_[0]:.3g}, "
                "is at most 1/2",
            )
        with jax.enable_x64(True):
            values = jnp.asarray(self.eigenvalues_)
            return np.asarray(StepwisePrediction(values, jnp.full(len(values), size)).times)


def _checked_views(views: Any, shape: tuple[int, ...]) -> np.ndarray:
    others = np.array(numbers_of("views", views), float)
    if others.shape != shape or not np.isfinite(others).all():
        found = f"shape {others.shape}" if others.shape != shape else "numbers that are not finite"
        raise DataError(
            "views",
            found=found,
            rule=f"finite numbers of shape {shape}, with the second view of each row of X in the same row",
        )
    return others
