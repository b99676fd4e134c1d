"""Set and check the flags that XLA, JAX's compiler, reads before its first computation."""

import importlib.metadata
import os
import re

from lemmata.errors import SettingError, words_of

_KNOWN = re.compile(
    r"--xla_(cpu_(scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED|(use_fusion_emitters|multi_thread_eigen)=(true|false))"
    r"|backend_optimization_level=[0-3]|force_host_platform_device_count=\d{1,3})"
)
"""A pattern of common flags that XLA accepts."""


def solve_in_turn() -> None:
    """Before JAX starts, make jaxlib 0.10 solve batches of linear systems in turn, unless XLA_FLAGS sets a scheduler.

    When jaxlib solves two batches at once, each can wait for threads of the pool that the other holds. On two cores, a
    program with two batches hung in the first or the second of two hundred runs.
    """
    flags, name = os.environ.get("XLA_FLAGS", ""), "--xla_cpu_scheduler_type"
    a_file = bool(flags.strip()) and not flags.strip().startswith("--")  # XLA reads its flags there
    if importlib.metadata.version("jaxlib").startswith("0.10.") and name not in flags and not a_file:
        os.environ["XLA_FLAGS"] = f"{flags} {name}=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED".strip()


def odd_flags() -> str:
    """The flags in XLA_FLAGS that XLA may not know; such a flag would end the program. Empty if there are none."""
    return " ".join(flag for flag in os.environ.get("XLA_FLAGS", "").split() if not _KNOWN.fullmatch(flag))


def no_start() -> SettingError | None:
    """The error, with the JAX_ variables that are set, if JAX does not start; None if JAX starts or none is set."""
    names = [name for name in sorted(os.environ) if name.startswith("JAX_")]
    if not names:
        return None
    try:
        import jax

        jax.devices()
    except Exception as error:  # errors of many kinds, for example an AssertionError without words
        said = words_of(error, 160)
        return SettingError(
            "JAX does not start",
            found=", ".join(f"{name}={os.environ[name][:60]!r}" for name in names) + (f" ({said})" if said else ""),
            rule="environment variables that begin with JAX_ must have values that JAX accepts on this machine",
            remedy=f"remove them from the environment: unset {' '.join(names)}",
        )
    return None


def told_to_end() -> SettingError:
    """The error to raise after XLA has ended the program because of a flag."""
    return SettingError(
        "XLA ended the command",
        found=f"XLA_FLAGS={odd_flags()[:200]!r}",
        rule="flags and values that XLA knows; otherwise XLA ends the program",
        remedy="correct XLA_FLAGS, or remove it from the environment: unset XLA_FLAGS",
    )
