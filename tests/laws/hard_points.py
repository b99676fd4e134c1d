"""Points at which formulas cancel, overflow or vanish, and the kernels there by their definitions in 60 to 750 digits.

With so many digits the printed formula of a moment is its own best form: what a product of four numbers of 1e150 loses
is still there.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

from lemmata.architectures import (
    Cos,
    Dense,
    Elementwise,
    Erf,
    Exp,
    Gaussian,
    Gelu,
    Hermite,
    Identity,
    LayerNorm,
    LeakyRelu,
    Monomial,
    Rbf,
    Relu,
    Sin,
)
from lemmata.kernels import (
    RBF,
    Compose,
    ExponentialDotProduct,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    SoftmaxTangent,
    TorusSobolev,
)

SCALES = {
    "float32": (1e-18, 1e-10, 1e-3, 1.0, 1e3, 1e5, 1e10, 1e18),
    "float64": (1e-150, 1e-80, 1e-5, 1.0, 1e5, 1e7, 1e80, 1e150),
}
OFFSETS = {"float32": (1e3, 1e4), "float64": (1e7,)}
D = 12


def spread(dtype: str, scale: float) -> np.ndarray:
    """Eight points: one twice, one opposite, two at angles of 1e-3 and 1e-6, one three times as long, and zero."""
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, D))
    rows = [a, a, -a, b, b + 1e-3 * c, 3 * b + 3e-6 * a, c, 0 * a]
    return (scale * np.array(rows)).astype(dtype)


def offset(dtype: str, size: float) -> np.ndarray:
    """Five points within a unit of each other, far from the origin; two of them equal."""
    rows = size + np.random.default_rng(4).normal(size=(5, D))
    rows[3] = rows[1]
    return rows.astype(dtype)


def digits(x: np.ndarray) -> int:
    """Enough for the differences of products of four coordinates."""
    sizes = np.abs(np.log10(np.abs(x[x != 0]).astype(float)))
    return 60 + math.ceil(4.5 * float(sizes.max()))


def exact(x: np.ndarray) -> list[list[Any]]:
    return [[mp.mpf(float(value)) for value in row] for row in x]


def moved(rows: list[list[Any]], limits: np.finfo, rng: np.random.Generator) -> list[list[Any]]:
    """The points, each coordinate off by up to one rounding, and each product of two by the smallest number."""

    def off(value: Any, length: Any) -> Any:
        own, least = value * float(limits.eps) * float(rng.uniform(-1, 1)), mp.mpf(float(limits.tiny))
        return value + own + (least / length * float(rng.uniform(-1, 1)) if length else 0)

    return [[off(value, mp.sqrt(sum(v * v for v in row))) for value in row] for row in rows]


def moments(layer: Any, k: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """E[phi phi] and E[phi' phi'] by the formulas of the layers' docstrings."""
    match layer:
        case Relu():
            return bent(0.0, k, a, b)
        case LeakyRelu():
            return bent(layer.slope, k, a, b)
        case Erf():
            root = mp.sqrt((1 + 2 * a) * (1 + 2 * b))
            return 2 / mp.pi * mp.asin(2 * k / root), 4 / mp.pi / mp.sqrt((1 + 2 * a) * (1 + 2 * b) - 4 * k * k)
        case Gelu():
            both, root = (1 + a) * (1 + b), mp.sqrt((1 + a) * (1 + b) - k * k)
            mix, mean = 1 / (1 + a) + 1 / (1 + b), mp.mpf(0.25) + mp.asin(k / mp.sqrt(both)) / (2 * mp.pi)
            value = k * mean + (a * b + k * k * (mix - 1)) / (2 * mp.pi * root)
            return value, mean + k * (mix + 1 / root**2) / (2 * mp.pi * root)
        case Sin() | Cos():
            square, phase = mp.mpf(layer.frequency) ** 2, math.pi / 2 if isinstance(layer, Cos) else layer.phase
            turned = -1 if isinstance(layer, Cos) else mp.cos(2 * mp.mpf(phase))
            near, far = (mp.exp(-square * (a + b + sign * 2 * k) / 2) for sign in (-1, 1))
            return (near - turned * far) / 2, square * (near + turned * far) / 2
        case Exp():
            value = mp.exp(mp.mpf(layer.scale) ** 2 * ((a + b) / 2 + k))
            return value, mp.mpf(layer.scale) ** 2 * value
        case Gaussian():
            twice = 2 * mp.mpf(layer.scale)
            square = (1 + twice * a) * (1 + twice * b) - (twice * k) ** 2
            return 1 / mp.sqrt(square), twice**2 * k / square ** mp.mpf(1.5)
        case Rbf():
            value = mp.exp(-mp.mpf(layer.gamma) * (a + b - 2 * k))
            return value, 2 * mp.mpf(layer.gamma) * value
        case Monomial():
            n = layer.degree
            return math.factorial(n) * pairings(n, k, a * b), n**2 * math.factorial(n - 1) * pairings(n - 1, k, a * b)
        case Hermite():
            n, rest = layer.degree, (a - 1) * (b - 1)
            return pairings(n, k, rest), n * pairings(n - 1, k, rest)
        case Elementwise():  # the cube of the registry, divided by three
            return tuple(value / 9 for value in moments(Monomial(3), k, a, b))
    raise NotImplementedError(type(layer))


def bent(slope: float, k: Any, a: Any, b: Any) -> tuple[Any, Any]:
    size, slope = mp.sqrt(a * b), mp.mpf(slope)
    c = max(mp.mpf(-1), min(mp.mpf(1), k / size)) if size else mp.mpf(0)
    theta, bend, line = mp.acos(c), (1 - slope) ** 2, 2 * slope
    kappa0 = (mp.pi - theta) / mp.pi
    kappa1 = mp.sqrt(1 - c * c) / mp.pi + kappa0 * c
    return size * (bend * kappa1 + line * c) / 2, (bend * kappa0 + line) / 2


def pairings(n: int, k: Any, r: Any) -> Any:
    weight = lambda i: mp.mpf(math.factorial(n)) / (math.factorial(n - 2 * i) * math.factorial(i) ** 2 * 4**i)
    return sum((weight(i) * k ** (n - 2 * i) * r**i for i in range(n // 2 + 1)), mp.mpf(0))


def normalised(layer: Any, row: list[Any]) -> list[Any]:
    """A normalisation at the inputs, as its `apply`."""
    mean = sum(row) / len(row) if isinstance(layer, LayerNorm) else mp.mpf(0)
    rest = [value - mean for value in row]
    size = mp.sqrt(sum(value * value for value in rest) / len(row) + mp.mpf(layer.epsilon))
    return [value / size if size else mp.mpf(0) for value in rest]


def network_kernels(layers: tuple[Any, ...], x: list[list[Any]], y: list[list[Any]]) -> dict[str, np.ndarray]:
    """Both kernels of Dense layers in the NTK parameterisation and activations, of all pairs."""
    product = lambda u, v: sum(p * q for p, q in zip(u, v, strict=True)) / len(u)
    found = {face: np.zeros((len(x), len(y)), object) for face in ("nngp", "ntk")}
    for i, u in enumerate(x):
        for j, v in enumerate(y):
            found["nngp"][i, j], found["ntk"][i, j] = recursion(layers, product(u, v), product(u, u), product(v, v))
    return found


def recursion(layers: tuple[Any, ...], k: Any, a: Any, b: Any) -> tuple[Any, Any]:
    t = mp.mpf(0)
    for layer in layers:
        if isinstance(layer, Dense):
            w, c = mp.mpf(layer.weight_std) ** 2, mp.mpf(layer.bias_std) ** 2
            k, a, b = w * k + c, w * a + c, w * b + c
            t = k + w * t
        elif not isinstance(layer, Identity):
            (k, dot), own = moments(layer, k, a, b), functools.partial(moments, layer)
            a, b = own(a, a, a)[0], own(b, b, b)[0]
            t = dot * t
    return k, t


def kernel_value(kernel: Any) -> Callable[[list[Any], list[Any]], Any]:
    """K(x, y) by the definitions of the kernels' docstrings."""
    number = lambda name: mp.mpf(float(getattr(kernel, name)))
    inner = lambda u, v: sum(p * q for p, q in zip(u, v, strict=True))
    far = lambda u, v: mp.sqrt(sum((p - q) ** 2 for p, q in zip(u, v, strict=True))) / number("lengthscale")
    sines = lambda u, v: sum(mp.sin(mp.pi * (p - q) / number("period")) ** 2 for p, q in zip(u, v, strict=True))
    match kernel:
        case Linear():
            return lambda u, v: inner(u, v) / number("scale")
        case Polynomial():
            return lambda u, v: (inner(u, v) / number("scale") + number("offset")) ** kernel.degree
        case ExponentialDotProduct():
            return lambda u, v: mp.exp(inner(u, v) / number("scale"))
        case SoftmaxTangent():
            return lambda u, v: inner(u, v) * mp.exp(number("sigma") ** 2 * inner(u, v))
        case RBF():
            return lambda u, v: mp.exp(-(far(u, v) ** 2) / 2)
        case Laplace():
            return lambda u, v: mp.exp(-far(u, v))
        case Matern():
            return lambda u, v: matern(kernel.nu, mp.sqrt(mp.mpf(2 * kernel.nu)) * far(u, v))
        case Periodic():
            return lambda u, v: mp.exp(-2 * sines(u, v) / number("lengthscale") ** 2)
        case TorusSobolev():
            return lambda u, v: mp.fprod(sobolev(kernel.order, p - q) for p, q in zip(u, v, strict=True))
        case Compose():
            image = lambda row: [mp.sin(2 * value) for value in row]  # of the registry
            return lambda u, v: kernel_value(kernel.kernel)(image(u), image(v))
    raise NotImplementedError(type(kernel))


def matern(nu: float, s: Any) -> Any:
    return {0.5: 1, 1.5: 1 + s, 2.5: 1 + s + s * s / 3}[nu] * mp.exp(-s)


def sobolev(order: int, t: Any) -> Any:
    even = mp.bernpoly(2 * order, t - mp.floor(t))
    return 1 + (-1) ** (order + 1) * (2 * mp.pi) ** (2 * order) / math.factorial(2 * order) * even
