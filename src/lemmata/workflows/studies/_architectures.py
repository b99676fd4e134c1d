"""The kernels and architectures that a study compares, by name, with scales that suit standardised inputs."""

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Sequence

import equinox as eqx
import numpy as np
from jaxtyping import Float

from lemmata.architectures import Gelu, TangentKernel, erf_network, fully_connected, relu_network
from lemmata.errors import SettingError, UnknownNameError, shortened
from lemmata.kernels import RBF, AbstractKernel, Compose, Laplace, Linear, Matern, Polynomial, SoftmaxTangent

FIXED = ("linear", "rbf", "laplace", "matern-3/2", "matern-5/2", "softmax")
DEFAULT = ("linear", "rbf", "relu-1", "relu-3", "erf-2", "softmax")
DEEPEST = 20
SOFTMAX_SIGMA = 1.5


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A kernel with the name by which the user selects it.

    Args:
        name: the short name ("relu-3").
        title: the name in words ("ReLU network, depth 3").
        formula: a formula or description of the kernel.
        kernel: the kernel, with its scales set for the table.
    """

    name: str
    title: str
    formula: str
    kernel: AbstractKernel


def _fixed(x: np.ndarray) -> dict[str, Callable[[], tuple[str, str, AbstractKernel]]]:
    """Return the kernels without a depth or degree. A typical |x|² is d, so the lengthscale of most is √d."""
    d = float(x.shape[1])
    radius = float(np.sqrt((x**2).sum(axis=1).max())) or 1.0
    scaled = math.sqrt(d)
    return {
        "linear": lambda: ("linear model", "<x, y>/d", Linear(d)),
        "rbf": lambda: ("RBF kernel", "exp(-|x - y|²/(2d))", RBF(scaled)),
        "laplace": lambda: ("Laplace kernel", "exp(-|x - y|/√d)", Laplace(scaled)),
        "matern-3/2": lambda: ("Matérn kernel, ν = 3/2", "Matérn 3/2, lengthscale √d", Matern(1.5, scaled)),
        "matern-5/2": lambda: ("Matérn kernel, ν = 5/2", "Matérn 5/2, lengthscale √d", Matern(2.5, scaled)),
        "softmax": lambda: (
            "softmax network",
            f"<x, y> exp(σ²<x, y>), σ = {SOFTMAX_SIGMA:g}, |x| ≤ 1",
            Compose(SoftmaxTangent(SOFTMAX_SIGMA), Divide(radius)),
        ),
    }


class Divide(eqx.Module):
    """Divide inputs by a radius, so that they lie in the unit ball.

    The scaling is for the softmax kernel <x, y> exp(sigma² <x, y>). Without the division, the kernel would grow
    exponentially in |x|². The theory of this kernel also needs |x| <= 1.
    """

    radius: float

    def __call__(self, point):
        return point / self.radius


_DEEP = {
    "relu": ("ReLU", lambda depth: relu_network(depth)),
    "erf": ("erf", lambda depth: erf_network(depth)),
    "gelu": ("GELU", lambda depth: fully_connected(Gelu(), depth, weight_std=math.sqrt(2.0))),
}


def check_names(names: Sequence[str], also: Sequence[str] = ()) -> None:
    """Check the names of models before there are inputs.

    Args:
        names: the names of kernels or of the other models.
        also: the names of the other models that are allowed.

    Raises:
        UnknownNameError: if no model has one of these names; the message gives the nearest name and lists all names.
        SettingError: if no name is given.
    """
    known = ", ".join([*FIXED, *(f"{kind}-DEPTH" for kind in _DEEP), "polynomial-DEGREE", *also])
    rule = f"one of {known}, with depths and degrees from 1 to {DEEPEST}"
    if not names:
        raise SettingError("--models is empty", rule=rule, remedy="leave --models out for the default")
    for name in names:
        kind, size = _sized(name)
        if name in (*FIXED, *also) or (kind in (*_DEEP, "polynomial") and 1 <= size <= DEEPEST):
            continue
        depth = size if 1 <= size <= DEEPEST else 1
        candidates = [*FIXED, *DEFAULT, *also, *(f"{kind}-{depth}" for kind in (*_DEEP, "polynomial"))]
        near = difflib.get_close_matches(name[:100].lower(), candidates, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UnknownNameError(
            f"there is no model '{shortened(name)}'",
            rule=rule,
            remedy=f"{hint}choose names from this list, and separate them with commas",
        )


def _sized(name: str) -> tuple[str, int]:
    """Split a name into the kind before the hyphen, and the depth or degree after it (0 if that is invalid)."""
    kind, _, number = name.partition("-")
    return kind, int(number) if re.fullmatch(r"[1-9]\d?", number, re.ASCII) else 0


def architectures(names: Sequence[str] | None, x: Float[np.ndarray, "N d"]) -> list[Architecture]:
    """Return the architectures with these names for these inputs, in the given order, without repetitions.

    Names are linear, rbf, laplace, matern-3/2, matern-5/2, softmax, polynomial-DEGREE, and relu-DEPTH, erf-DEPTH,
    gelu-DEPTH for the tangent kernels of fully connected networks of up to 20 hidden layers.

    Args:
        names: the names, or None for the default six.
        x: the standardised inputs, which determine the scales.

    Raises:
        UnknownNameError: if no kernel has one of these names; the message gives the nearest name and lists all names.
    """
    check_names(names or DEFAULT)
    return [_architecture(name, x) for name in dict.fromkeys(names or DEFAULT)]


def _architecture(name: str, x: np.ndarray) -> Architecture:
    fixed = _fixed(x)
    if name in fixed:
        return Architecture(name, *fixed[name]())
    kind, size = _sized(name)
    if kind in _DEEP:
        title, build = _DEEP[kind]
        formula = f"tangent kernel, {size} hidden layer{'s' if size > 1 else ''}"
        return Architecture(name, f"{title} network, depth {size}", formula, TangentKernel(build(size)))
    kernel = Polynomial(size, 1.0, float(x.shape[1]))
    return Architecture(name, f"polynomial kernel, degree {size}", f"(1 + <x, y>/d)^{size}", kernel)
