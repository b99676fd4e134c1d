"""Choose whether Pallas kernels are compiled or interpreted."""

import jax

from lemmata.errors import SettingError


def interpreted(interpret: bool | None) -> bool:
    """Return whether a kernel is interpreted.

    Args:
        interpret: the requested value. With None, kernels are interpreted if JAX has no accelerator.

    Raises:
        SettingError: for a kernel that would have to be compiled for a CPU.
    """
    processor = jax.default_backend() == "cpu"
    if processor and interpret is not None and not interpret:
        rule = "True if JAX has no accelerator, because Pallas compiles kernels for GPUs and TPUs only"
        raise SettingError("interpret", found=interpret, rule=rule)
    return processor if interpret is None else bool(interpret)
