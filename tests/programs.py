"""Programs of the documentation, as the process of whoever copies them runs them: it starts in single precision."""

import contextlib
import importlib.util
import io

import jax
import pytest


def skip_without_nuclei() -> None:
    """Skips where the table of nuclei is absent. The package is not imported: that leaves None in `sys.path`."""
    if importlib.util.find_spec("nucleardatapy") is None:
        pytest.skip("the extra `nuclei` is not installed")


@contextlib.contextmanager
def started_in_float32():
    """A process's start: float64 is off until a program switches it on. Afterwards it is as it was before."""
    before = jax.config.read("jax_enable_x64")
    # Not the context of jax.enable_x64: within it what a program says to jax.config would have no effect.
    jax.config.update("jax_enable_x64", False)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def printed(program: str, names: dict) -> str:
    """What a program prints, which may use names and leaves its own there."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, names)
    return out.getvalue().strip()
