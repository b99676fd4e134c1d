"""Call a PyTorch module with other parameters, even if its layers share parameters."""

from collections.abc import Mapping
from typing import Any


def torch_call(module: Any, params: Mapping[str, Any], args: tuple[Any, ...], settings: Any = None) -> Any:
    """Return module(*args, **settings) with the given tensors in place of the parameters and buffers of the same names.

    `torch.func.functional_call` is not used, because it finds a tensor under all names that lead to the tensor. If one
    module occurs in two places, `functional_call` replaces and restores the same tensor twice, and leaves the wrong
    tensor in the user's module. In contrast, `torch_call` visits every module once. It replaces a tensor that several
    modules share in all of these modules.

    Args:
        module: a `torch.nn.Module`.
        params: tensors by the names that `named_parameters` and `named_buffers` give.
        args: positional arguments of the call.
        settings: keyword arguments of the call.
    """
    import torch  # installed, because the caller has a module  # pyright: ignore[reportMissingImports]

    first = {id(leaf): name for name, leaf in (*module.named_parameters(), *module.named_buffers())}
    own = {}
    for prefix, part in module.named_modules():
        every = {"recurse": False, "remove_duplicate": False}
        for name, leaf in (*part.named_parameters(**every), *part.named_buffers(**every)):
            if first[id(leaf)] in params:
                own[f"{prefix}.{name}" if prefix else name] = params[first[id(leaf)]]
    return torch.func.functional_call(module, own, args, settings, tie_weights=False)
