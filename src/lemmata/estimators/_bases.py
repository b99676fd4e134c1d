"""Bases of estimators. One name instead of three of scikit-learn keeps the first line of `help` short."""

import dataclasses
from typing import Any

from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)

from lemmata.errors import SettingError
from lemmata.kernels import AbstractKernel


class AbstractRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A regressor of scikit-learn for one target or several."""


class AbstractClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of scikit-learn."""


class KernelParametersMixin:
    """Lets an estimator with a `kernel` get and set the parameters of its kernel under scikit-learn's names.

    `kernel__lengthscale` is the lengthscale of the kernel, and `kernel__left__factor` is the factor of the first part
    of a sum or a product. Kernels cannot be changed, so `set_params` replaces the kernel by a kernel with the new
    value.

    >>> from lemmata.estimators import KernelRegressor
    >>> from lemmata.kernels import RBF
    >>> model = KernelRegressor(RBF(1.0)).set_params(kernel__lengthscale=2.0)
    >>> float(model.kernel.lengthscale), "kernel__lengthscale" in model.get_params()
    (2.0, True)
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the estimator by name; with `deep`, also the parameters of its kernel."""
        found = super().get_params(deep=deep)  # pyright: ignore[reportAttributeAccessIssue]
        if deep and isinstance(found.get("kernel"), AbstractKernel):
            found |= _inner("kernel", found["kernel"])
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, also parameters of the kernel.

        Raises:
            SettingError: for a parameter of the kernel that the kernel does not have, or if the kernel is None.
        """
        inner = {name: value for name, value in params.items() if name.startswith("kernel__")}
        super().set_params(  # pyright: ignore[reportAttributeAccessIssue]
            **{name: value for name, value in params.items() if name not in inner}
        )
        for name, value in inner.items():
            kernel: Any = self.kernel  # pyright: ignore[reportAttributeAccessIssue]
            self.kernel = _with(kernel, name.split("__")[1:], value, name)
        return self


def _fields(kernel: object) -> list[str]:
    """The names of the parameters of a kernel."""
    if not isinstance(kernel, AbstractKernel):
        return []
    return [field.name for field in dataclasses.fields(kernel) if field.init]


class AbstractKernelTransformer(
    KernelParametersMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """A transformer of scikit-learn with a kernel."""


def _inner(prefix: str, kernel: AbstractKernel) -> dict[str, Any]:
    """The parameters of a kernel and of its parts, by their full names."""
    found = {}
    for name in _fields(kernel):
        value = getattr(kernel, name)
        found[f"{prefix}__{name}"] = value
        if isinstance(value, AbstractKernel):
            found |= _inner(f"{prefix}__{name}", value)
    return found


def _with(kernel: Any, path: list[str], value: Any, name: str) -> Any:
    """The kernel with another value of one parameter."""
    first, *rest = path
    known = _fields(kernel)
    if first not in known:
        rule = f"one of {', '.join(known)}" if known else "a parameter of the kernel, but this kernel has none"
        remedy = "give the estimator a kernel first, as in KernelRegressor(RBF(1.0))" if kernel is None else None
        raise SettingError(name, found=f"a kernel of type {type(kernel).__name__}", rule=rule, remedy=remedy)
    new = _with(getattr(kernel, first), rest, value, name) if rest else value
    return dataclasses.replace(kernel, **{first: new})
