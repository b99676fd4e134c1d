"""Points at which formulas cancel, overflow or vanish, and the kernels there by their definitions in 60 to 750 digits.

With so many digits the printed formula of a moment is its own best form: what a product of four numbers of 1e150 loses
is still there.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

from lemmata.architectures import (
    ABRelu,
    Cos,
    Dense,
    Elementwise,
    Erf,
    Exp,
    ExpNormalized,
    Gabor,
    Gaussian,
    Gelu,
    Hermite,
    Identity,
    LayerNorm,
    LeakyRelu,
    Monomial,
    Rbf,
    RectifiedMonomial,
    Relu,
    Sign,
    Sin,
)
from lemmata.architectures import Polynomial as PolynomialLayer
from lemmata.kernels import (
    RBF,
    Compose,
    ExponentialDotProduct,
    Laplace,
    Linear,
    Matern,
    OddEvenKernel,
    Periodic,
    PolyharmonicCovariance,
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
    """Eight points within a unit of each other, far from the origin; two of them equal."""
    rows = size + np.random.default_rng(4).normal(size=(8, D))  # as many as of `spread`: one compilation for both
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
            return bent(0.0, 1.0, k, a, b)
        case LeakyRelu():
            return bent(layer.slope, 1.0, k, a, b)
        case ABRelu():
            return bent(layer.below, layer.above, k, a, b)
        case Sign():
            return (2 / mp.pi * mp.asin(cosine(k, a, b)) if a and b else mp.mpf(0)), mp.mpf(0)
        case RectifiedMonomial():
            n = layer.degree
            return rectified(n, k, a, b), (n**2 * rectified(n - 1, k, a, b) if n else mp.mpf(0))
        case ExpNormalized():
            gamma, shift = mp.mpf(layer.gamma), mp.mpf(layer.shift)
            value = mp.exp(gamma * (cosine(k, a, b) + shift))
            return mp.sqrt(a * b) * value, gamma * value
        case Gabor():
            size, turned = (1 + 2 * a) * (1 + 2 * b) - 4 * k * k, (1 + 2 * a) * (1 + 2 * b) + 4 * k * k
            q, both = k / size, (2 + 2 * a + 2 * b) / size
            even = mp.exp(both / 4 - mp.mpf(0.5)) / mp.sqrt(size)
            return even * mp.sinh(q), even * (q * (4 + 2 * both) * mp.sinh(q) + turned / size**2 * mp.cosh(q))
        case PolynomialLayer():
            own = [mp.mpf(value) for value in layer.coefficients]
            slope = [j * value for j, value in enumerate(own)][1:]
            return polynomial(own, k, a, b), polynomial(slope, k, a, b)
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


def bent(below: float, above: float, k: Any, a: Any, b: Any) -> tuple[Any, Any]:
    size, below, above = mp.sqrt(a * b), mp.mpf(below), mp.mpf(above)
    c = cosine(k, a, b)
    theta, bend, line = mp.acos(c), (above - below) ** 2, 2 * above * below
    kappa0 = (mp.pi - theta) / mp.pi
    kappa1 = mp.sqrt(1 - c * c) / mp.pi + kappa0 * c
    return size * (bend * kappa1 + line * c) / 2, (bend * kappa0 + line) / 2


def cosine(k: Any, a: Any, b: Any) -> Any:
    """The correlation, 0 where a variance is."""
    return max(mp.mpf(-1), min(mp.mpf(1), k / mp.sqrt(a * b))) if a and b else mp.mpf(0)


def rectified(n: int, k: Any, a: Any, b: Any) -> Any:
    """E[max(u, 0)^n max(v, 0)^n] by the derivatives of Cho and Saul, (-1/sin d/dtheta)^n of (pi - theta) / sin.

    The n-th is p(c) (pi - theta) / sin^(2n+1) + q(c) / sin^(2n) with the polynomials below.
    """
    c = cosine(k, a, b)
    if abs(c) == 1 or not (a and b):
        return mp.fac2(2 * n - 1) / 2 * mp.sqrt(a * b) ** n if c > 0 else mp.mpf(0)
    p, q = numerators(n)
    at = lambda values: sum((value * c**power for power, value in enumerate(values)), mp.mpf(0))
    sine = mp.sqrt((1 - c) * (1 + c))
    return mp.sqrt(a * b) ** n * (at(p) * (mp.pi - mp.acos(c)) + sine * at(q)) / (2 * mp.pi)


@functools.cache
def numerators(n: int) -> tuple[list[int], list[int]]:
    """The polynomials p and q of `rectified`, in ascending order."""
    # By c: pi - theta has the derivative 1 / sin, sin^-m has m c sin^-(m+2), and sin² = 1 - c² clears denominators.
    if n == 0:
        return [1], [0]
    (p, q), m = numerators(n - 1), n - 1
    slope = lambda values: added(derived(values), [0, 0, *(-value for value in derived(values))])
    times = lambda factor, values: [0, *(factor * value for value in values)]
    return added(slope(p), times(2 * m + 1, p)), added(added(slope(q), times(2 * m, q)), p)


def derived(values: list[int]) -> list[int]:
    return [power * value for power, value in enumerate(values)][1:] or [0]


def added(one: list[int], other: list[int]) -> list[int]:
    return [x + y for x, y in itertools.zip_longest(one, other, fillvalue=0)]


def polynomial(values: list[Any], k: Any, a: Any, b: Any) -> Any:
    """E[p(u) p(v)] by the moments E[u^i v^j] of Isserlis' theorem: m pairs across, the rest inside each factor."""
    inside = lambda i, m: mp.mpf(math.factorial(i)) / (math.factorial((i - m) // 2) * 2 ** ((i - m) // 2))
    across = lambda i, j: [
        inside(i, m) * inside(j, m) / math.factorial(m) * k**m * a ** ((i - m) // 2) * b ** ((j - m) // 2)
        for m in range(i % 2, min(i, j) + 1, 2)
    ]
    terms = ((i, j) for i in range(len(values)) for j in range(len(values)) if (i + j) % 2 == 0)
    return sum((values[i] * values[j] * sum(across(i, j)) for i, j in terms), mp.mpf(0))


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
    """Both kernels of Dense layers in the NTK parameterisation and activations, on and above the diagonal."""
    product = lambda u, v: sum(p * q for p, q in zip(u, v, strict=True)) / len(u)
    found = {face: np.zeros((len(x), len(y)), object) for face in ("nngp", "ntk")}
    remembered = functools.cache(moments)  # in these digits; the variances of a point come again in every pair
    for i, u in enumerate(x):
        for j, v in enumerate(y[i:], i):
            state = product(u, v), product(u, u), product(v, v)
            found["nngp"][i, j], found["ntk"][i, j] = recursion(layers, *state, remembered)
    return found


def recursion(layers: tuple[Any, ...], k: Any, a: Any, b: Any, moments: Callable[..., Any]) -> tuple[Any, Any]:
    t = mp.mpf(0)
    for layer in layers:
        if isinstance(layer, Dense):
            w, c = mp.mpf(layer.weight_std) ** 2, mp.mpf(layer.bias_std) ** 2
            k, a, b = w * k + c, w * a + c, w * b + c
            t = k + w * t
        elif not isinstance(layer, Identity):
            (k, dot), a, b = moments(layer, k, a, b), moments(layer, a, a, a)[0], moments(layer, b, b, b)[0]
            t = dot * t
    return k, t


def kernel_value(kernel: Any) -> Callable[[list[Any], list[Any]], Any]:
    """K(x, y) by the definitions of the kernels' docstrings."""
    number = lambda name: mp.mpf(float(getattr(kernel, name)))
    inner = lambda u, v: sum(p * q for p, q in zip(u, v, strict=True))
    each = lambda name: [mp.mpf(float(own)) for own in np.broadcast_to(getattr(kernel, name), (D,))]
    square = lambda u, v, name: sum(((p - q) / own) ** 2 for p, q, own in zip(u, v, each(name), strict=True))
    far = lambda u, v: mp.sqrt(square(u, v, "lengthscale"))
    sines = lambda u, v: sum(
        (mp.sin(mp.pi * (p - q) / turn) / own) ** 2
        for p, q, turn, own in zip(u, v, each("period"), each("lengthscale"), strict=True)
    )
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
        case OddEvenKernel():
            counted = lambda row: row if kernel.parities is None else [row[place] for place in kernel.parities]
            odd = lambda row: [int(mp.nint(value)) % 2 for value in counted(row)]
            term = lambda u, v, name: mp.exp(-square(u, v, name) / 2)
            second = lambda u, v: number("weight") * term(u, v, "odd_even_lengthscale") if odd(u) == odd(v) else 0
            return lambda u, v: term(u, v, "lengthscale") + second(u, v)
        case Periodic():
            return lambda u, v: mp.exp(-2 * sines(u, v))
        case TorusSobolev():
            return lambda u, v: mp.fprod(sobolev(kernel.order, p - q) for p, q in zip(u, v, strict=True))
        case PolyharmonicCovariance():
            return lambda u, v: polyharmonic(sum((p - q) ** 2 for p, q in zip(u, v, strict=True)), kernel)
        case Compose():
            image = lambda row: [mp.sin(2 * value) for value in row]  # of the registry
            return lambda u, v: kernel_value(kernel.kernel)(image(u), image(v))
    raise NotImplementedError(type(kernel))


def matern(nu: float, s: Any) -> Any:
    factors = {0.5: 1, 1.5: 1 + s, 2.5: 1 + s + s * s / 3, 3.5: 1 + s + 2 * s * s / 5 + s**3 / 15}
    return factors[nu] * mp.exp(-s)


def polyharmonic(square: Any, kernel: PolyharmonicCovariance) -> Any:
    own = square * mp.log(square) / 2 if square else mp.mpf(0)
    return own - mp.mpf(float(kernel.slope)) * square + mp.mpf(float(kernel.level))


def sobolev(order: int, t: Any) -> Any:
    even = mp.bernpoly(2 * order, t - mp.floor(t))
    return 1 + (-1) ** (order + 1) * (2 * mp.pi) ** (2 * order) / math.factorial(2 * order) * even
