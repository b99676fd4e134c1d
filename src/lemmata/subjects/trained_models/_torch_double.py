"""Special cases of PyTorch modules: precisions that are fixed inside a module, and wrappers around a module."""

import sys
from typing import Any


def in_float64() -> Any:
    """Return a context in which a module computes in float64, even if it requests another precision.

    If the parameters are in float64, `x.float()`, `x.to(torch.float32)` and `torch.zeros(n, k)` in a module would mix
    precisions. In this context, each of these calls returns float64. Whole numbers and Booleans keep their type.
    """
    torch = sys.modules["torch"]
    floats = {torch.float32, torch.float16, torch.bfloat16}
    casts = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}
    makers = {
        getattr(torch, name) for name in ("zeros", "ones", "empty", "rand", "randn", "eye", "linspace", "logspace")
    }

    class InFloat64(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            wide = lambda value: torch.float64 if isinstance(value, torch.dtype) and value in floats else value
            kwargs = {name: wide(value) for name, value in (kwargs or {}).items()}
            if func in casts:
                return args[0].double()
            if func in makers and kwargs.get("dtype") is None:
                kwargs["dtype"] = torch.float64
            found = func(*map(wide, args), **kwargs)
            loose = func in (torch.tensor, torch.full, torch.arange) and kwargs.get("dtype") is None
            return found.double() if loose and found.dtype in floats else found

    return InFloat64()


def unwrapped(module: Any) -> Any:
    """Return the module inside `nn.DataParallel`, `DistributedDataParallel` or `torch.compile`.

    The inner module computes the same function. Any other module is returned unchanged.
    """
    torch = sys.modules["torch"]
    around = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    while isinstance(module, around) or hasattr(module, "_orig_mod"):
        module = module.module if isinstance(module, around) else module._orig_mod
    return module
