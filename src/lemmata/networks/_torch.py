"""The empirical kernel of a PyTorch module, through torch.func."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Inexact

from lemmata.core import ResultPlan, check_whole
from lemmata.errors import PrecisionError, SettingError, ShapeError, SolverError

from ._empirical import WORKING_SET, Outputs, options
from ._torch_call import torch_call

# The number of points whose outputs are computed at once.
_BATCH = 256
_PRODUCTS = {"all": "iap,jbp->ijab", "each": "iap,jap->ija"}
_MEAN = "iap,jap->ij"


class TorchEmpiricalKernel(eqx.Module):
    """The tangent kernel of a PyTorch module at its parameters, with the methods of `EmpiricalKernel`.

    The module is called with a batch of one point, so its input has the usual axes. Only the gradients with respect to
    parameters with `requires_grad` enter the kernel. The parameters are read at every call, so training the module in
    place changes the kernel. Points are tensors or NumPy arrays, one in each row; results are NumPy arrays in the
    precision of the module. Gradients are formed in blocks of rows.

    Args:
        module: a `torch.nn.Module` with floating-point parameters in single or double precision.
        working_set: bytes of gradients and products that may be in memory at once, besides the result. At least the
            memory for two points is used.

    Raises:
        SettingError: if PyTorch is not installed, or if the argument is not a module or has no parameters that need
            gradients.
        PrecisionError: for parameters in half precision.

    The methods raise these errors. ShapeError: points are empty, have different shapes, or are refused by the module.
    SettingError: the module has dropout or batch normalisation in training mode. MemoryPlanError: the result does not
    fit into free memory. SolverError: results are not finite.
    """

    module: Any
    working_set: int = WORKING_SET

    def __check_init__(self):
        torch = _torch()
        check_whole("working_set", self.working_set, 1)
        if not isinstance(self.module, torch.nn.Module):
            raise SettingError("module", found=type(self.module).__name__, rule="a torch.nn.Module")
        params = self._params()
        if not params:
            raise SettingError("parameters", found="no tensor that requires a gradient", rule="at least one parameter")
        for name, leaf in params.items():
            if leaf.dtype not in (torch.float32, torch.float64):
                raise PrecisionError(
                    f"parameter {name}",
                    found=f"{leaf.dtype}",
                    rule="float32 or float64, which a tangent kernel needs",
                    remedy="call module.float() or module.double()",
                )

    def gram(self, x: Any, y: Any = None, *, outputs: Outputs = "all") -> Inexact[np.ndarray, "n m *outputs"]:
        """The matrix Theta(x_i, y_j), y = x by default, with `outputs` as in `EmpiricalKernel`."""
        return self._matrix("tangent kernel", x, y, outputs, self._jacobian, lambda rows: rows)

    def diagonal(self, x: Any, *, outputs: Outputs = "all") -> Inexact[np.ndarray, "n *outputs"]:
        """Theta(x_i, x_i) for each point, of shape (n, k, k), (n, k) or (n,), depending on `outputs`."""
        x = self._points("x", x)
        k, kept, last = self._kept(x, x, outputs)
        self._plan("diagonal of the tangent kernel", (len(x), *last))
        product = {"all": "iap,ibp->iab", "each": "iap,iap->ia"}.get(str(outputs), "iap,iap->i")
        rows, found = self._rows(k), np.empty((len(x), *last), self._numpy_type())
        for i in range(0, len(x), rows):
            terms = (_torch().einsum(product, leaf, leaf) for leaf in self._jacobian(x[i : i + rows], kept))
            found[i : i + rows] = _numpy(sum(terms)) / (k if outputs == "mean" else 1)
        return _finite("tangent kernel", found)

    def product(self, x: Any, v: Any, y: Any = None, *, batch: int = _BATCH) -> Inexact[np.ndarray, "n *out"]:
        """Return (Theta v)_ia = sum_jb Theta(x_i, y_j)_ab v_jb without forming Theta, `batch` points at a time."""
        check_whole("batch", batch, 1, "points")
        x = self._points("x", x)
        others = x if y is None else self._points("y", y)
        out = self._output(x, others)
        direction = self._pulled(self._outputs_at("vector v", v, others, out), others, batch)
        push = lambda points: _torch().func.jvp(self._at(points), (self._params(),), (direction,))[1]
        return _finite("product with the tangent kernel", _by_batches(push, x, batch))

    def values(self, x: Any) -> Inexact[np.ndarray, "n *out"]:
        """The outputs of the module at every point, in batches."""
        x = self._points("x", x)
        self._output(x, x)
        return _by_batches(lambda points: self._at(points)(self._params()), x, _BATCH)

    def nngp(self, x: Any, y: Any = None) -> Inexact[np.ndarray, "n m"]:
        """The mean over outputs of f_a(x_i) f_a(y_j)."""
        x = self._points("x", x)
        others = x if y is None else self._points("y", y)
        self._output(x, others)
        self._plan("kernel of the outputs", (len(x), len(others)), copies=2)
        left = self.values(x).reshape(len(x), -1)
        right = left if y is None else self.values(others).reshape(len(others), -1)
        return _finite("kernel of the outputs", left @ right.T / left.shape[1])

    def velocity(
        self, train: Any, targets: Any, x: Any = None, y: Any = None, *, outputs: Outputs = "all"
    ) -> Inexact[np.ndarray, "n m *outputs"]:
        """dTheta(x_i, y_j)/dt along the gradient flow of squared loss at `train`, as in `EmpiricalKernel`."""
        train = self._points("train", train)
        out = self._output(train, train)
        values = _torch().as_tensor(self.values(train), device=train.device)
        motion = self._pulled(self._outputs_at("targets", targets, train, out) - values, train, _BATCH)

        def moving(points: Any, kept: slice) -> list[Any]:
            """The gradients J and their derivatives dJ along the direction of the flow."""
            both = _torch().func.jvp(lambda own: self._by_params(own, points, kept), (self._params(),), (motion,))
            return [leaf.detach() for part in both for leaf in part]

        # d(J J'^T) = J dJ'^T + dJ J'^T
        swapped = lambda both: both[len(both) // 2 :] + both[: len(both) // 2]
        half = TorchEmpiricalKernel(self.module, max(1, self.working_set // 2))
        return half._matrix("velocity of the tangent kernel", train if x is None else x, y, outputs, moving, swapped)

    def relative_change(
        self, module: Any, x: Any, y: Any = None, *, outputs: Outputs = "all"
    ) -> Inexact[np.ndarray, ""]:
        """The relative change ||Theta' - Theta||_F / ||Theta||_F, where Theta' is the kernel of another module.

        The other module, for example a trained copy, must give outputs of the same shape.
        """
        other = TorchEmpiricalKernel(module, self.working_set)
        x = self._points("x", x)
        before, after = (kernel._output(x, x) for kernel in (self, other))
        if before != after:
            raise ShapeError(
                "module",
                found=f"outputs of shape {after}",
                rule=f"shape {before}, the shape of the outputs at the kernel's own parameters",
            )
        start, end = (kernel.gram(x, y, outputs=outputs) for kernel in (self, other))
        return np.asarray(np.linalg.norm((end - start).ravel()) / np.linalg.norm(start.ravel()))

    def _matrix(
        self, what: str, x: Any, y: Any, outputs: Outputs, side: Callable[..., Any], turned: Callable[..., Any]
    ) -> np.ndarray:
        """The products of side(x) and turned(side(y)) in blocks. If y is None, lower blocks are transposed copies."""
        x = self._points("x", x)
        others = x if y is None else self._points("y", y)
        k, kept, last = self._kept(x, others, outputs)
        self._plan(what, (len(x), len(others), *last))
        rows, found = self._rows(k), np.empty((len(x), len(others), *last), self._numpy_type())
        for i in range(0, len(x), rows):
            left = side(x[i : i + rows], kept)
            for j in range(0 if y is not None else i, len(others), rows):
                right = turned(left if y is None and i == j else side(others[j : j + rows], kept))
                product = _PRODUCTS.get(str(outputs), _MEAN)
                terms = (_torch().einsum(product, *pair) for pair in zip(left, right, strict=True))
                tile = _numpy(sum(terms)) / (k if outputs == "mean" else 1)
                found[i : i + rows, j : j + rows] = tile
                if y is None and i < j:
                    order = (1, 0, 3, 2) if tile.ndim == 4 else (1, 0, *range(2, tile.ndim))
                    found[j : j + rows, i : i + rows] = np.transpose(tile, order)
        return _finite(what, found)

    def _kept(self, x: Any, y: Any, outputs: Outputs) -> tuple[int, slice, tuple[int, ...]]:
        """The number of outputs, the outputs whose gradients are needed, and the shape of the result for every pair."""
        output = options(outputs).get("output")
        k = math.prod(self._output(x, y))
        if output is not None and not 0 <= output < k:
            raise SettingError("output", found=output, rule=f"between 0 and {k - 1}")
        kept = slice(None) if output is None else slice(output, output + 1)
        return k, kept, {"all": (k, k), "each": (k,)}.get(str(outputs), ())

    def _rows(self, k: int) -> int:
        """The rows of a block. Gradients of both sides fill half of the working set, and three tiles the other half."""
        size, entries = self._numpy_type().itemsize, sum(leaf.numel() for leaf in self._params().values())
        half = self.working_set // (2 * size)
        return max(1, min(half // (2 * k * entries), math.isqrt(half // (3 * k * k))))

    def _plan(self, what: str, shape: tuple[int, ...], copies: int = 1) -> None:
        plan = ResultPlan(what, shape, self._numpy_type().itemsize, copies, self.working_set)
        plan.require(
            remedy="use product(x, v), which needs no kernel; or outputs='mean', fewer points or module.float()"
        )

    def _params(self) -> dict[str, Any]:
        return {name: leaf.detach() for name, leaf in self.module.named_parameters() if leaf.requires_grad}

    def _apply(self, params: dict[str, Any], point: Any) -> Any:
        out = torch_call(self.module, params, (point[None],))
        if not isinstance(out, _torch().Tensor) or tuple(out.shape[:1]) != (1,):
            found = tuple(out.shape) if isinstance(out, _torch().Tensor) else type(out).__name__
            raise ShapeError(
                "output of the module", found=found, rule="one tensor of shape (1, ...) for a batch with one point"
            )
        return out[0]

    def _at(self, points: Any) -> Callable[[dict[str, Any]], Any]:
        return lambda own: _torch().func.vmap(lambda point: self._apply(own, point))(points)

    def _pulled(self, v: Any, points: Any, batch: int) -> dict[str, Any]:
        """The gradient of sum_ia v_ia f_a(x_i) with respect to the parameters."""
        params = self._params()
        total = {name: _torch().zeros_like(leaf) for name, leaf in params.items()}
        for start in range(0, len(points), batch):
            _, pullback = _torch().func.vjp(self._at(points[start : start + batch]), params)
            (gradient,) = pullback(v[start : start + batch])
            total = {name: total[name] + gradient[name].detach() for name in params}
        return total

    def _by_params(self, params: dict[str, Any], points: Any, kept: slice) -> tuple[Any, ...]:
        func = _torch().func
        flat = lambda own, point: self._apply(own, point).reshape(-1)[kept]
        by_params = func.vmap(func.jacrev(flat), in_dims=(None, 0))(params, points)
        return tuple(leaf.reshape(*leaf.shape[:2], -1) for leaf in by_params.values())

    def _jacobian(self, points: Any, kept: slice) -> list[Any]:
        """The gradients (n, k, entries) of the selected outputs with respect to every parameter."""
        return [leaf.detach() for leaf in self._by_params(self._params(), points, kept)]

    def _points(self, name: str, points: Any) -> Any:
        if not hasattr(points, "shape"):
            rule, remedy = "a tensor or an array with one point in each row", f"pass torch.tensor({name})"
            raise ShapeError(f"points {name}", found=type(points).__name__, rule=rule, remedy=remedy)
        return self._tensor(points)

    def _tensor(self, values: Any) -> Any:
        device = next(iter(self._params().values())).device
        tensor = values if isinstance(values, _torch().Tensor) else _torch().tensor(np.asarray(values))
        return tensor.detach().to(device)

    def _outputs_at(self, name: str, values: Any, points: Any, out: tuple[int, ...]) -> Any:
        """Convert a vector to the shape of the outputs at points and to the precision of the module."""
        if tuple(np.shape(values)) != (len(points), *out):
            raise ShapeError(name, found=f"shape {tuple(np.shape(values))}", rule=f"{(len(points), *out)}")
        return self._tensor(values).to(next(iter(self._params().values())).dtype)

    def _output(self, x: Any, y: Any) -> tuple[int, ...]:
        """The shape of an output; refuse a module or points for which the tangent kernel is not defined."""
        if not x.ndim or not y.ndim or not len(x) or not len(y) or x.shape[1:] != y.shape[1:]:
            found = f"shapes {tuple(x.shape)} and {tuple(y.shape)}"
            raise ShapeError("points x and y", found=found, rule="at least one point each, all of the same shape")
        modules = _torch().nn.modules
        for name, part in self.module.named_modules():
            kinds = (modules.dropout._DropoutNd, modules.batchnorm._BatchNorm)
            if part.training and isinstance(part, kinds) and getattr(part, "p", 1.0) > 0:
                rule = "the output at a point must depend only on this point"
                found = f"{part} in training mode"
                raise SettingError(f"module {name}".strip(), found=found, rule=rule, remedy="call module.eval()")
        try:
            return tuple(self._at(x[:1])(self._params()).shape[1:])
        except (SettingError, ShapeError):
            raise
        except Exception as error:  # any error of a user's module
            raise ShapeError(
                "points x",
                found=f"points of shape {tuple(x.shape[1:])}, {x.dtype}",
                rule=f"points on which module(x[:1]) runs, but this call raised: {error}",
            ) from error

    def _numpy_type(self) -> np.dtype:
        return _numpy(next(iter(self._params().values())).new_zeros(0)).dtype


def _torch() -> Any:
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise SettingError(
            "PyTorch",
            found="not installed",
            rule="kernels of PyTorch modules need PyTorch",
            remedy="pip install 'lemmata[torch]'",
        ) from error
    return torch


def _by_batches(of: Callable[[Any], Any], points: Any, batch: int) -> np.ndarray:
    return np.concatenate([_numpy(of(points[i : i + batch])) for i in range(0, len(points), batch)])


def _numpy(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def _finite(what: str, found: np.ndarray) -> np.ndarray:
    if not all(np.isfinite(found[i : i + _BATCH]).all() for i in range(0, len(found), _BATCH)):
        raise SolverError(what, found="entries that are not finite", rule="the module and its gradient must be finite")
    return found
