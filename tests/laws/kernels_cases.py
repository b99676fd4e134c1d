"""The registry of kernels that every law in `test_kernels.py` runs over: a new kernel is one line here."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.kernels import (
    RBF,
    AbstractKernel,
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


class Case(NamedTuple):
    """A kernel, a sampler of points, and, for an expression, its value from the matrices of its atoms."""

    name: str
    kernel: AbstractKernel
    points: Callable[[np.random.Generator], np.ndarray]
    reference: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def judged(self) -> str:
        """The kernel's class, whatever its settings and points."""
        return type(self.kernel).__name__


def few_coordinates(rng):
    """Eight points in R^3, two of them equal, two of them close to each other."""
    x = rng.normal(size=(8, 3))
    x[4], x[7] = x[2], x[6] + 1e-7
    return x


def many_coordinates(rng):
    """Eight points in R^12, where distances go through a matrix product; a close cluster and a pair of equal ones."""
    x = 0.4 * rng.normal(size=(8, 12))
    x[2], x[5:8] = x[1], x[4] + 1e-6 * rng.normal(size=(3, 12))
    return x


def far_from_origin(rng):
    """Eight points of R^12 within a unit of each other, a thousand away from the origin."""
    return 1000.0 + 0.3 * rng.normal(size=(8, 12))


def on_torus(rng):
    """Eight points of [0, 1)^2, two of them equal, one pair across the seam."""
    x = rng.uniform(size=(8, 2))
    x[4] = x[2]
    x[6], x[7] = (0.0, 0.5), (1.0 - 1e-9, 0.5)
    return x


def nuclei(rng):
    """Eight points of whole numbers, (Z, N), two of them equal; all four classes of parities."""
    x = np.array([[20, 20], [20, 21], [21, 20], [21, 23], [20, 22], [22, 24], [20, 20], [23, 21]])
    return (x + 2 * rng.integers(3)).astype(float)


ATOMS = [
    Case("linear", Linear(), few_coordinates),
    Case("linear-scaled", Linear(scale=12.0), many_coordinates),
    Case("polynomial-1", Polynomial(degree=1, offset=0.5), few_coordinates),
    Case("polynomial-3", Polynomial(degree=3, offset=0.7, scale=2.0), many_coordinates),
    Case("exponential", ExponentialDotProduct(scale=3.0), many_coordinates),
    Case("rbf", RBF(lengthscale=1.3), few_coordinates),
    Case("rbf-many", RBF(lengthscale=1.3), many_coordinates),
    Case("rbf-far", RBF(lengthscale=1.3), far_from_origin),
    Case("laplace", Laplace(lengthscale=0.8), few_coordinates),
    Case("laplace-many", Laplace(lengthscale=0.8), many_coordinates),
    Case("laplace-far", Laplace(lengthscale=0.8), far_from_origin),
    Case("matern-1/2", Matern(0.5, lengthscale=1.1), many_coordinates),
    Case("matern-3/2", Matern(1.5, lengthscale=1.1), few_coordinates),
    Case("matern-3/2-many", Matern(1.5, lengthscale=1.1), many_coordinates),
    Case("matern-5/2", Matern(2.5, lengthscale=1.1), few_coordinates),
    Case("matern-5/2-far", Matern(2.5, lengthscale=1.1), far_from_origin),
    Case("sobolev-1", TorusSobolev(order=1), on_torus),
    Case("sobolev-3", TorusSobolev(order=3), on_torus),
    Case("periodic", Periodic(period=1.0, lengthscale=0.9), on_torus),
    Case("periodic-normal", Periodic(period=2.5, lengthscale=1.5), few_coordinates),
    Case("polyharmonic", PolyharmonicCovariance(), few_coordinates),
    Case("polyharmonic-many", PolyharmonicCovariance(3.0, 100.0), many_coordinates),
    Case("polyharmonic-far", PolyharmonicCovariance(3.0, 100.0), far_from_origin),
    Case("softmax", SoftmaxTangent(sigma=0.8), few_coordinates),
    Case("softmax-many", SoftmaxTangent(sigma=0.8), many_coordinates),
    Case("compose", Compose(RBF(lengthscale=0.7), lambda point: jnp.sin(2 * point)), few_coordinates),
    Case("odd-even", OddEvenKernel(2.3, 3.1, weight=0.3), nuclei),
    Case("odd-even-protons", OddEvenKernel(0.8, 1.7, weight=2.0, parities=(0,)), few_coordinates),
    Case("odd-even-many", OddEvenKernel(1.3, 0.9), many_coordinates),
    Case("rbf-columns", RBF(jnp.array([0.8, 1.3, 40.0])), few_coordinates),
    Case("rbf-columns-far", RBF(jnp.geomspace(0.3, 30.0, 12)), far_from_origin),
    Case("matern-0.3", Matern(0.3, lengthscale=1.1), few_coordinates),
    Case("matern-1", Matern(1, lengthscale=1.1), few_coordinates),
    Case("matern-1.2-columns", Matern(1.2, jnp.geomspace(0.3, 30.0, 12)), many_coordinates),
    Case("matern-7/2-far", Matern(3.5, lengthscale=1.1), far_from_origin),
    Case("matern-40", Matern(40.0, lengthscale=1.1), few_coordinates),
    Case("periodic-columns", Periodic(jnp.array([2.5, 4.0, 3.0]), jnp.array([0.9, 1.5, 30.0])), few_coordinates),
    Case("odd-even-columns", OddEvenKernel(jnp.array([1.3, 5.0]), 0.9), nuclei),
]

EXPRESSIONS = 20
DEPTH = 3


def remembered(function):
    """Keep the answers for a kernel and its points: several laws ask for the same matrix."""
    answers = {}

    def ask(kernel, x):
        key = (id(kernel), np.asarray(x).tobytes())
        if key not in answers:
            answers[key] = (kernel, function(kernel, x))  # holds the kernel too, so that its id stays its own
        return answers[key][1]

    return ask


_single = jax.jit(lambda kernel, a, b: kernel(a, b))


@remembered
def pointwise(kernel: AbstractKernel, x: np.ndarray) -> np.ndarray:
    """The Gram matrix by two Python loops over single points."""
    return np.array([[float(_single(kernel, jnp.asarray(a), jnp.asarray(b))) for b in x] for a in x])


def _expression(rng, depth) -> tuple[str, AbstractKernel, Callable[[np.ndarray], np.ndarray]]:
    """A random expression, built beside its meaning: NumPy operations on the matrices of its atoms."""
    if depth == 0:
        atom = [case for case in ATOMS if case.points is few_coordinates][rng.integers(9)]
        return atom.name, atom.kernel, lambda x: pointwise(atom.kernel, x)
    depths = [depth - 1, int(rng.integers(depth))]
    rng.shuffle(depths)
    operation = rng.choice(["+", "+", "*", "*", "scale", "power"])
    a, left, left_value = _expression(rng, depths[0] if operation in "+*" else depth - 1)
    if operation == "scale":
        factor = round(float(rng.uniform(0.3, 3.0)), 2)
        return f"{factor}*({a})", factor * left, lambda x: factor * left_value(x)
    if operation == "power":
        return f"({a})**2", left**2, lambda x: left_value(x) ** 2
    b, right, right_value = _expression(rng, depths[1])
    if operation == "+":
        return f"({a})+({b})", left + right, lambda x: left_value(x) + right_value(x)
    return f"({a})*({b})", left * right, lambda x: left_value(x) * right_value(x)


def _mixed() -> list[Case]:
    """The expressions that a flattening or reordering algebra gets wrong, then random ones."""
    k1, k2, k3 = RBF(lengthscale=1.1), Linear(scale=2.0), Matern(1.5, lengthscale=0.9)
    m1, m2, m3 = (lambda x, k=k: pointwise(k, x) for k in (k1, k2, k3))
    named = [
        ("(k1*k2)+k3", (k1 * k2) + k3, lambda x: m1(x) * m2(x) + m3(x)),
        ("k1*(k2+k3)", k1 * (k2 + k3), lambda x: m1(x) * (m2(x) + m3(x))),
        ("(k1+k2)*k3**2", (k1 + k2) * k3**2, lambda x: (m1(x) + m2(x)) * m3(x) ** 2),
        ("2*(k1+k2*k3)", 2 * (k1 + k2 * k3), lambda x: 2 * (m1(x) + m2(x) * m3(x))),
        ("(2*k1)*k2+k3", (2 * k1) * k2 + k3, lambda x: 2 * m1(x) * m2(x) + m3(x)),
        ("(k1+k2)**2", (k1 + k2) ** 2, lambda x: (m1(x) + m2(x)) ** 2),
    ]
    rng = np.random.default_rng(2024)
    drawn = [_expression(rng, 1 + i % DEPTH) for i in range(EXPRESSIONS)]
    numbered = [(f"{i}: {name}", kernel, value) for i, (name, kernel, value) in enumerate(drawn)]
    return [Case(name, kernel, few_coordinates, value) for name, kernel, value in named + numbered]


CASES = ATOMS + _mixed()
