"""What every kernel must obey. Each law says how many numbers it compared.

Tolerances: a kernel that is evaluated stably is the exact kernel of inputs that are perturbed in their last digit, so
two routes may differ by a small multiple of eps * condition, with condition(x, y) = |K| + |x||dK/dx| + |y||dK/dy| +
sum over parameters of |p dK/dp|, computed by differentiation. (Points far from the origin are moved to their mean
first where the kernel depends on differences alone, but their condition is taken at the origin: that of the input.)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.kernels import RBF, AbstractKernel, Linear, Matern, gram
from tests.laws.kernels_cases import ATOMS, CASES, DEPTH, EXPRESSIONS, Case, pointwise, remembered

EPS = float(np.finfo(np.float64).eps)
# A sum of d terms errs by at most d eps; this many for the operations around it. (The worst case uses an eighth.)
OPERATIONS = 4


def inputs(case: Case) -> jnp.ndarray:
    return jnp.asarray(case.points(np.random.default_rng(7)))


@remembered
def sensitivity(kernel: AbstractKernel, x: jnp.ndarray):
    """For every pair: the condition of K, its derivative in the first point, and the condition of that."""

    def entry(a, b):
        value, (by_kernel, by_a, by_b) = jax.value_and_grad(lambda k, a, b: k(a, b), argnums=(0, 1, 2))(kernel, a, b)
        parameters = zip(jax.tree.leaves(kernel), jax.tree.leaves(by_kernel), strict=True)
        size = jnp.linalg.norm(a) * jnp.linalg.norm(by_a) + jnp.linalg.norm(b) * jnp.linalg.norm(by_b)
        condition = jnp.abs(value) + size + sum((jnp.abs(p * g).sum() for p, g in parameters), jnp.zeros(()))
        bends = jax.jacfwd(jax.grad(kernel), argnums=(0, 1))(a, b)
        bend = sum(jnp.linalg.norm(p) * jnp.linalg.norm(h) for p, h in zip((a, b), bends, strict=True))
        return condition, by_a, jnp.linalg.norm(by_a) + bend

    return jax.tree.map(np.asarray, jax.jit(jax.vmap(jax.vmap(entry, (None, 0)), (0, None)))(x, x))


def tolerance(kernel: AbstractKernel, x: jnp.ndarray) -> np.ndarray:
    """The rounding floor of every entry of the Gram matrix."""
    condition = sensitivity(kernel, x)[0]
    # At a kink the subgradient hides the slope; the neighbours in the row bound it.
    condition = np.maximum(condition, np.max(condition, axis=1, keepdims=True))
    return OPERATIONS * x.shape[1] * EPS * condition


def close(a, b, allowed) -> int:
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape}"
    assert np.all(np.isfinite(a)), "a number is not finite"
    excess = np.abs(a - b) / np.broadcast_to(allowed, a.shape)
    assert np.max(excess) <= 1, f"differs by {np.max(np.abs(a - b)):.3g}, {np.max(excess):.3g} times the floor"
    return a.size


PARTNERS = (Linear(scale=2.0), Matern(1.5, lengthscale=0.9))
PARTNER = PARTNERS[0] + PARTNERS[1]


def symmetry(kernel, x, case):
    """K(x, y) = K(y, x), and the Gram matrix is exactly symmetric."""
    matrix = gram(kernel, x)
    assert np.array_equal(matrix, matrix.T), "gram is not exactly symmetric"
    cross = kernel.cross(x, x[:4])
    return close(cross, kernel.cross(x[:4], x).T, tolerance(kernel, x)[:, :4])


def positive_semidefinite(kernel, x, case):
    """The smallest eigenvalue is above minus the rounding floor, eps times trace times a computed condition."""
    matrix = np.asarray(gram(kernel, x))
    floor = len(x) * EPS * np.trace(matrix) + np.linalg.norm(tolerance(kernel, x))
    smallest = np.linalg.eigvalsh(matrix)[0]
    assert smallest >= -floor, f"eigenvalue {smallest:.3g} below the floor {-floor:.3g}"
    assert floor < 1e-6 * np.trace(matrix), "the floor hides negative eigenvalues"
    return len(x)


def cross_is_pointwise(kernel, x, case):
    """`cross` agrees with two loops over single points."""
    return close(kernel.cross(x, x), pointwise(kernel, np.asarray(x)), tolerance(kernel, x))


def diagonal_is_pointwise(kernel, x, case):
    """`diagonal` agrees with single points, and with the diagonal of `cross`."""
    single = np.array([float(kernel(a, a)) for a in x])
    allowed = np.diagonal(tolerance(kernel, x))
    return close(kernel.diagonal(x), single, allowed) + close(np.diagonal(kernel.cross(x, x)), single, allowed)


def algebra(kernel, x, case):
    """An expression is what NumPy makes of the matrices of its atoms; with partners it distributes."""
    values, sums = np.abs(pointwise(kernel, np.asarray(x))), np.abs(pointwise(PARTNER, np.asarray(x)))
    allowed = values * tolerance(PARTNER, x) + sums * tolerance(kernel, x)
    right = gram(kernel * PARTNERS[0] + kernel * PARTNERS[1], x)
    compared = close(gram(kernel * PARTNER, x), right, allowed) + close(gram(PARTNER * kernel, x), right, allowed)
    if case.reference is not None:
        compared += close(kernel.cross(x, x), case.reference(np.asarray(x)), tolerance(kernel, x))
    return compared


def blocked_is_dense(kernel, x, case):
    """Blocks that do and do not divide the number of points give the dense matrix."""
    allowed = tolerance(kernel, x)
    compared = close(gram(kernel, x, block=3), gram(kernel, x), allowed)
    return compared + close(gram(kernel, x, x[:5], block=3), gram(kernel, x, x[:5]), allowed[:, :5])


def transformations(kernel, x, case):
    """jit with the kernel as an argument, vmap over stacked kernels, and a trip through flatten change nothing."""
    allowed, eager = tolerance(kernel, x), kernel.cross(x, x)
    leaves, structure = jax.tree.flatten(kernel)
    rebuilt = jax.tree.unflatten(structure, leaves)
    assert type(rebuilt) is type(kernel)
    assert eqx.tree_equal(rebuilt, kernel)
    compared = close(rebuilt.cross(x, x), eager, EPS)
    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), kernel)
    points = jnp.stack([x, x[::-1]])
    both = jax.jit(jax.vmap(lambda k, p: k.cross(p, p)))(stacked if leaves else kernel, points)
    compared += close(both[0], eager, allowed) + close(both[1][::-1, ::-1], eager, allowed)
    return compared + close(jax.jit(lambda k, p: k.cross(p, p))(kernel, x), eager, allowed)


def differentiable(kernel, x, case):
    """Derivatives in x are finite on the diagonal, and `cross` has the derivatives of the single points."""
    _, pairs, condition = sensitivity(kernel, x)
    assert np.all(np.isfinite(pairs)), "a derivative is not finite (the pairs contain x = y)"
    fast = jax.jit(jax.grad(lambda p: jnp.sum(kernel.cross(p, x))))(x)
    allowed = OPERATIONS * x.shape[1] * EPS * condition.sum(axis=1, keepdims=True)
    return close(fast, pairs.sum(axis=1), allowed)


LAWS = [
    symmetry,
    positive_semidefinite,
    cross_is_pointwise,
    diagonal_is_pointwise,
    algebra,
    blocked_is_dense,
    transformations,
    differentiable,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_law_holds(case):
    for law in LAWS:
        assert law(case.kernel, inputs(case), case) > 0, f"{law.__name__} compared nothing"


def test_registry_holds_every_public_kernel_and_mixed_expressions():
    import lemmata.kernels as room

    public = {value for value in vars(room).values() if isinstance(value, type) and issubclass(value, AbstractKernel)}
    used = {type(node) for case in CASES for node in nodes(case.kernel)}
    assert public - {AbstractKernel} == used
    assert sum(case.reference is not None for case in CASES) >= EXPRESSIONS
    assert max(case.name.count("(") for case in CASES) >= DEPTH
    assert len({case.name for case in CASES}) == len(CASES) == len(ATOMS) + EXPRESSIONS + 6


def nodes(kernel):
    yield kernel
    for value in vars(kernel).values():
        if isinstance(value, AbstractKernel):
            yield from nodes(value)


class Broken(AbstractKernel):
    """A kernel with one fault, to see the laws fail."""

    fault: str = eqx.field(static=True)

    def __call__(self, x, y):
        if self.fault == "asymmetric":
            return jnp.exp(-jnp.sum((x - 1.01 * y) ** 2))
        if self.fault == "indefinite":
            return jnp.sum((x - y) ** 2)
        if self.fault == "kink":
            return jnp.exp(-jnp.linalg.norm(x - y))
        return RBF()(x, y)

    def cross(self, x, y):
        if self.fault == "cross":
            return RBF(lengthscale=1.0 + 1e-9).cross(x, y)
        if self.fault == "position":
            return AbstractKernel.cross(self, x, y) * (1 + 1e-9 * jnp.arange(len(x)))[:, None]
        return AbstractKernel.cross(self, x, y)

    def diagonal(self, x):
        return AbstractKernel.diagonal(self, x) + (1e-9 if self.fault == "diagonal" else 0.0)


@pytest.mark.parametrize(
    ("law", "fault"),
    [
        (symmetry, "asymmetric"),
        (positive_semidefinite, "indefinite"),
        (cross_is_pointwise, "cross"),
        (diagonal_is_pointwise, "diagonal"),
        (blocked_is_dense, "position"),
        (transformations, "position"),
        (differentiable, "kink"),
    ],
)
def test_law_rejects_a_broken_kernel(law, fault):
    case = Case(fault, Broken(fault), ATOMS[5].points)
    # `gram` itself refuses an asymmetric kernel.
    with pytest.raises(SettingError if fault == "asymmetric" else AssertionError):
        law(case.kernel, inputs(case), case)


def test_algebra_law_rejects_a_flattened_expression():
    case = next(case for case in CASES if case.name == "(k1*k2)+k3")
    flattened = RBF(lengthscale=1.1) + Linear(scale=2.0) + Matern(1.5, lengthscale=0.9)
    with pytest.raises(AssertionError, match="times the floor"):
        algebra(flattened, inputs(case), case)
