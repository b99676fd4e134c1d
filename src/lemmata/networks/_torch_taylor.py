"""The Taylor expansion of a PyTorch module in its parameters, through torch.func."""

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx

from lemmata.errors import SettingError, ShapeError

from ._torch_call import torch_call


def torch_function(module: Any) -> tuple[Any, dict[str, Any]]:
    """Return (f, params) for a PyTorch module, where f(params, x) = module(x). The module determines the shape of x.

    Args:
        module: a `torch.nn.Module`. Its parameters with `requires_grad` become params; other parameters and buffers
            are part of f.

    Returns:
        The function, and copies of the parameters that need gradients, by name. `torch.optim.SGD(params.values(), 0.1)`
        trains these copies and does not change the module.

    Raises:
        SettingError: if the argument is not a module, or if no parameter requires a gradient.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(module, torch.nn.Module):
        raise SettingError("module", found=type(module).__name__, rule="a torch.nn.Module")
    own = {name: leaf for name, leaf in module.named_parameters() if leaf.requires_grad}
    if not own:
        raise SettingError("parameters", found="no tensor that requires a gradient", rule="at least one parameter")
    params = {name: leaf.detach().clone().requires_grad_() for name, leaf in own.items()}
    return lambda params, *x, **settings: torch_call(module, params, x, settings), params


class TorchExpansion(eqx.Module):
    """The Taylor polynomial, in the parameters, of a function f(params, x) of tensors. See `taylor_expand`.

    Args:
        f: the function. Its output is one tensor or a tuple of tensors.
        params: the centre, as tensors by name.
        order: the order of the polynomial, at least 1.
    """

    f: Any
    params: dict[str, Any]
    order: int = eqx.field(static=True)

    def __init__(self, f: Any, params: Mapping[str, Any], order: int):
        if not any(leaf.is_floating_point() for leaf in params.values()):
            raise SettingError(
                "params", found="no floating-point number", rule="at least one tensor of floating-point numbers"
            )
        self.f, self.order = f, order
        self.params = {name: leaf.detach().clone() for name, leaf in params.items()}

    def __call__(self, params: Mapping[str, Any], *x: Any, **settings: Any) -> Any:
        """The value of the polynomial at other parameters. PyTorch's autograd can differentiate this value.

        Raises:
            ShapeError: for parameters whose names or shapes differ from those of the centre.
            SettingError: if an output of f is not a floating-point number.
        """
        shapes = lambda tensors: {name: tuple(leaf.shape) for name, leaf in tensors.items()}
        if (found := shapes(params)) != (own := shapes(self.params)):
            raise ShapeError("params", found=f"tensors {found}", rule=f"the tensors of the centre, {own}")
        centre = {name: leaf for name, leaf in self.params.items() if leaf.is_floating_point()}
        moved = {name: (params[name] - leaf).to(leaf.dtype) for name, leaf in centre.items()}
        terms = lambda own: (_outputs(self.f({**self.params, **own}, *x, **settings)),)
        for _ in range(self.order):
            terms = _with_next(terms, moved)
        columns = zip(*terms(centre), strict=True)
        sums = [sum(part / math.factorial(j) for j, part in enumerate(parts)) for parts in columns]
        return sums[0] if len(sums) == 1 else tuple(sums)


def are_tensors(params: Any) -> bool:
    """Whether `params` is a mapping from names to tensors."""
    torch = sys.modules.get("torch")  # if PyTorch was never imported, there is no tensor
    return (
        torch is not None
        and isinstance(params, Mapping)
        and len(params) > 0
        and all(isinstance(leaf, torch.Tensor) for leaf in params.values())
    )


def _outputs(found: Any) -> tuple[Any, ...]:
    """Return the outputs as a tuple, and refuse outputs without derivatives."""
    outputs = found if isinstance(found, tuple) else (found,)
    for part in outputs:
        if not part.is_floating_point():
            raise SettingError(
                "f", found=f"outputs of type {part.dtype}", rule="floating-point numbers, which have derivatives"
            )
    return outputs


Terms = Callable[[dict[str, Any]], tuple[Any, ...]]


def _with_next(terms: Terms, moved: dict[str, Any]) -> Terms:
    """Extend a function that returns (f, f'[moved], ...) to a function that returns one more derivative."""

    def longer(own: dict[str, Any]) -> tuple[Any, ...]:
        values, slopes = sys.modules["torch"].func.jvp(terms, (own,), (moved,))
        return (*values, slopes[-1])

    return longer
