"""The programs that JAX compiles during a call."""

from collections.abc import Callable

import jax

_OPEN: list[list[str]] = []


def _heard(event: str, seconds: float, fun_name: str = "", **_: object) -> None:
    if event.endswith("backend_compile_duration"):
        for found in _OPEN:
            found.append(fun_name)


jax.monitoring.register_event_duration_secs_listener(_heard)  # for good: JAX 0.8 cannot take one listener back


def compiled(run: Callable[[], object]) -> list[str]:
    """The names of the programs that a call compiles, in order."""
    _OPEN.append([])
    try:
        run()
    finally:
        found = _OPEN.pop()
    return found
