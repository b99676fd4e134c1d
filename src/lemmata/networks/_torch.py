"""The empirical kernel of a PyTorch module, through torch.func."""

import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Inexact

from lemmata.errors import PrecisionError, SettingError, ShapeError, SolverError

from ._empirical import Outputs, options


class TorchEmpiricalKernel(eqx.Module):
    """The tangent kernel of a PyTorch module at its parameters, the faces of `EmpiricalKernel` that need no JAX.

    The module is called with a batch of one point, so that it sees the shapes it was written for; set `module.eval()`
    first where it has dropout or batch normalisation. Its parameters with `requires_grad` count. Points are tensors,
    one a row; results are NumPy arrays in the precision of the module. Gradients are formed in blocks of rows.

    Args:
        module: a `torch.nn.Module` with floating-point parameters in single or double precision.
        working_set: bytes of gradients that are held at once; at least those of two points.

    Raises:
        SettingError: where PyTorch is not installed, for what is no module or has no parameters that need gradients.
        PrecisionError: for parameters in half precision.

    The methods raise ShapeError for points that are empty, of different shapes, or that the module refuses, and
    SolverError for results that are not finite.
    """

    module: Any
    working_set: int = 2**28

    def __check_init__(self):
        torch = _torch()
        if not isinstance(self.module, torch.nn.Module):
            raise SettingError("module", found=type(self.module).__name__, rule="a torch.nn.Module")
        params = self._params()
        if not params:
            raise SettingError("parameters", found="none that requires a gradient", rule="at least one parameter")
        for name, leaf in params.items():
            if leaf.dtype not in (torch.float32, torch.float64):
                raise PrecisionError(
                    f"parameter {name}", found=f"{leaf.dtype}", rule="a tangent kernel needs float32 or float64",
                    remedy="module.float() or module.double()",
                )

    def gram(self, x: Any, y: Any = None, *, outputs: Outputs = "all") -> Inexact[np.ndarray, "n m *outputs"]:
        """The matrix Theta(x_i, y_j), y = x by default, with `outputs` as in `EmpiricalKernel`."""
        chosen, others = options(outputs), x if y is None else y
        k = math.prod(self._output(x, others))
        output = chosen.get("output")
        if output is not None and not 0 <= output < k:
            raise SettingError("output", found=output, rule=f"between 0 and {k - 1}")
        product = "iap,jbp->ijab" if outputs == "all" else "iap,jap->ija" if outputs == "each" else "iap,jap->ij"
        entries = k * sum(leaf.numel() * leaf.element_size() for leaf in self._params().values())
        rows = max(1, self.working_set // (2 * entries))
        shape = {4: (k, k), 3: (k,)}.get(len(product.split("->")[1]), ())
        kept = slice(None) if output is None else slice(output, output + 1)
        found = np.empty((len(x), len(others), *shape), self._numpy_type())
        for i in range(0, len(x), rows):
            left = self._jacobian(x[i : i + rows], kept)
            for j in range(0 if y is not None else i, len(others), rows):
                own = y is None and i == j
                right = left if own else self._jacobian(others[j : j + rows], kept)
                terms = [_torch().einsum(product, *pair).numpy() for pair in zip(left, right, strict=True)]
                tile = np.sum(terms, axis=0) / (k if outputs == "mean" else 1)
                found[i : i + rows, j : j + rows] = tile
                if y is None and i < j:
                    order = (1, 0, 3, 2) if tile.ndim == 4 else (1, 0, *range(2, tile.ndim))
                    found[j : j + rows, i : i + rows] = np.transpose(tile, order)
        return _finite("tangent kernel", found)

    def product(self, x: Any, v: Any, y: Any = None, *, batch: int = 256) -> Inexact[np.ndarray, "n *out"]:
        """(Theta v)_ia = sum_jb Theta(x_i, y_j)_ab v_jb without Theta, `batch` points at a time."""
        func, others, params = _torch().func, x if y is None else y, self._params()
        out = self._output(x, others)
        if tuple(v.shape) != (len(others), *out):
            raise ShapeError("vector v", found=f"shape {tuple(v.shape)}", rule=f"{(len(others), *out)}")
        direction = {name: _torch().zeros_like(leaf) for name, leaf in params.items()}
        values = lambda points: lambda own: func.vmap(lambda point: self._apply(own, point))(points)
        for start in range(0, len(others), batch):
            _, pullback = func.vjp(values(others[start : start + batch]), params)
            (gradient,) = pullback(v[start : start + batch])
            direction = {name: direction[name] + gradient[name] for name in params}
        parts = [
            func.jvp(values(x[start : start + batch]), (params,), (direction,))[1]
            for start in range(0, len(x), batch)
        ]
        return _finite("product with the tangent kernel", _torch().cat(parts).numpy())

    def nngp(self, x: Any, y: Any = None) -> Inexact[np.ndarray, "n m"]:
        """The mean over outputs of f_a(x_i) f_a(y_j)."""
        self._output(x, x if y is None else y)
        values = _torch().func.vmap(lambda point: self._apply(self._params(), point))
        left, right = (values(points).flatten(1) for points in (x, x if y is None else y))
        return _finite("kernel of the outputs", (left @ right.T).numpy() / left.shape[1])

    def _params(self) -> dict[str, Any]:
        return {name: leaf.detach() for name, leaf in self.module.named_parameters() if leaf.requires_grad}

    def _apply(self, params: dict[str, Any], point: Any) -> Any:
        return _torch().func.functional_call(self.module, params, (point[None],))[0]

    def _jacobian(self, points: Any, kept: slice) -> list[Any]:
        """For every parameter the gradients (n, k, entries) of the outputs that are kept."""
        func = _torch().func
        flat = lambda own, point: self._apply(own, point).reshape(-1)[kept]
        by_params = func.vmap(func.jacrev(flat), in_dims=(None, 0))(self._params(), points)
        return [leaf.detach().reshape(*leaf.shape[:2], -1) for leaf in by_params.values()]

    def _output(self, x: Any, y: Any) -> tuple[int, ...]:
        if not len(x) or not len(y) or x.shape[1:] != y.shape[1:]:
            found = f"shapes {tuple(x.shape)} and {tuple(y.shape)}"
            raise ShapeError("points x and y", found=found, rule="at least one point each, of one shape")
        try:
            return tuple(self._apply(self._params(), x[0]).shape)
        except (RuntimeError, TypeError, ValueError) as error:
            raise ShapeError(
                "points x", found=f"points of shape {tuple(x.shape[1:])}, {x.dtype}", rule="module(x[:1]) is defined",
                remedy=f"it says: {error}",
            ) from error

    def _numpy_type(self) -> np.dtype:
        return next(iter(self._params().values())).new_zeros(0).numpy().dtype


def _torch() -> Any:
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise SettingError(
            "PyTorch", found="not installed", rule="kernels of its modules need it",
            remedy="pip install 'lemmata[torch]'",
        ) from error
    return torch


def _finite(what: str, found: np.ndarray) -> np.ndarray:
    if not np.isfinite(found).all():
        raise SolverError(what, found="entries that are not finite", rule="the module and its gradient are finite")
    return found
