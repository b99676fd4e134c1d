"""The classes and functions that a file may name: those of the library, and those that a program has registered."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import lemmata.answers
import lemmata.architectures
import lemmata.functions
import lemmata.kernels
import lemmata.networks
import lemmata.solvers
import lemmata.spectra
import lemmata.subjects.boolean
import lemmata.subjects.hardness
import lemmata.subjects.splines
import lemmata.subjects.state_space
from lemmata.errors import SettingError

_ROOMS = (
    lemmata.answers,
    lemmata.kernels,
    lemmata.architectures,
    lemmata.functions,
    lemmata.networks,
    lemmata.spectra,
    lemmata.solvers,
    lemmata.subjects.boolean,
    lemmata.subjects.hardness,
    lemmata.subjects.splines,
    lemmata.subjects.state_space,
)

# The functions of the named activations, and other common functions.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"jax.numpy.{name}": getattr(jnp, name) for name in ("tanh", "sin", "cos", "exp", "abs", "square")},
    **{f"jax.nn.{name}": getattr(jax.nn, name) for name in (
        "sigmoid", "silu", "softplus", "relu", "gelu", "elu", "celu", "selu", "relu6", "mish", "soft_sign",
        "log_sigmoid", "hard_tanh", "hard_sigmoid", "hard_silu",
    )},
}  # fmt: skip

CLASSES: dict[str, type] = {
    f"{room.__name__}.{name}": member
    for room in _ROOMS
    for name, member in vars(room).items()
    if isinstance(member, type)
    and (dataclasses.is_dataclass(member) or hasattr(member, "get_params"))
    and not name.startswith("Abstract")
}


def storable(kind: type) -> type:
    """Register a class, so that `save` and `load` find the class by its name. Use this function as a decorator.

    The registered name consists of the module's name, without private parts, and the name of the class.

    Args:
        kind: an `equinox.Module` whose fields are arrays, numbers, text, tuples or other storable objects; or a
            scikit-learn estimator or kernel.

    Raises:
        SettingError: if another class already has this name.

    Example:
        >>> import equinox as eqx
        >>> from lemmata.storage import storable
        >>> @storable
        ... class Doubled(eqx.Module):
        ...     factor: float = 2.0
    """
    public = [part for part in kind.__module__.split(".") if part.startswith("__") or not part.startswith("_")]
    name = ".".join([*public, kind.__qualname__])
    if CLASSES.setdefault(name, kind) is not kind:
        raise SettingError(
            "storable class",
            found=f"a second class with the name {name}",
            rule="one class for each name",
            remedy="rename one of the classes",
        )
    return kind


def settings_of(kind: type) -> set[str] | None:
    """The names of the settings of a scikit-learn estimator or kernel class; None for any other class.

    Args:
        kind: any class.
    """
    return set(inspect.signature(kind).parameters) if hasattr(kind, "get_params") else None


def name_of(registry: dict[str, Any], member: Any) -> str | None:
    """The name under which a class or function is registered; None if it is not registered.

    Args:
        registry: `CLASSES` or `FUNCTIONS`, the registered classes or functions by name.
        member: the class or function itself.
    """
    return next((name for name, known in registry.items() if known is member), None)
