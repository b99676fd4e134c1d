"""Packages of polyharmonic splines: many splines on one constellation of points, computed by matrix products.

A random function whose distribution has no preferred place, direction or scale has the generalised covariance k(r) = r²
(ln r - b) + c of the distance r. Given values Y at the points t_1, ..., t_N (the constellation), its mean is F(z) =
M(z) K^-1 Y. Here K is the matrix of k on these points, and M(z) holds k between z and these points. Splines on the same
points share M and K. On the centre and the vertices of a hyperoctahedron, k takes four values, so K has an inverse in
closed form.

This theory describes values, derivatives and operations. It does not say what a package should be used for. For high
dimensions p, it only gives the number of curvatures that can be determined from N points of R^p.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Rate, Source
from lemmata.subjects.regression._spline_packages import (
    GenericPoints,
    IdentityStack,
    IdentityStacks,
    ScatteredPoints,
    SplinePackages,
    SplineValues,
)
from lemmata.subjects.splines import Hyperoctahedron, Package, Scattered, SplineCovariance

ABOUT = {
    "tool": "reproducing kernels",
    "architecture": "kernel method",
    "object": "construction",
    "ClosedInverseCost": {"object": "cost"},
}

_KEY = "bakhvalov2025polyharmonic"
_SIZES = (16.0, 64.0, 256.0)


def spline_at(problem: SplineValues, z: Float[Array, " p"]) -> Float[Array, " m"]:
    """Return F(z), from differences of points and a general linear solve. At distance 0, the logarithm is replaced so
    that derivatives stay finite.
    """
    squared = jnp.sum((z - problem.points) ** 2, axis=1)
    k = jnp.where(squared > 0, squared, 1.0)
    k = jnp.where(squared > 0, k * (jnp.log(k) / 2 - problem.slope), 0.0) + 16 * problem.slope**2
    return k @ jnp.linalg.solve(problem.gram, problem.values)


def gram_condition(problem: SplineValues) -> Float[Array, ""]:
    """Return the condition number of K, the matrix of the covariance on the points."""
    least, largest = problem.extremes
    return largest / least


@functools.cache
def counted_operations(p: int, n: int, m: int) -> float:
    """Return the compiler's count of floating-point operations for m splines and their gradients at n places."""

    def both(z, values, cotangent):
        package = Package(Hyperoctahedron(p), SplineCovariance(), values)
        return package(z), package.pull_back(z, cotangent)

    arrays = [jax.ShapeDtypeStruct(shape, jnp.float64) for shape in ((n, p), (2 * p + 1, m), (n, m))]
    return float((jax.jit(both).lower(*arrays).cost_analysis() or {})["flops"])


class PackageByProducts(Claim[SplineValues]):
    """Consider m splines through the values Y at N scattered points t of R^p, with the covariance k(r) = r² (ln r -
    b) + c of the distance r. Let K be the matrix of k on the points t. Let M be the matrix of k between n places z and
    the points t. At the places z, the splines have the values F = M C, where C = K^-1 Y. For a cotangent G, the
    gradients are

        d<G, F(z)>/dz = z * rowsum(W) - W t,   W = (ln r² - 2b + 1) * (G C'),

    where r² = |z|² + |t|² - 2 z't and * is the entrywise product. Two matrix products give the values, and two more
    give the gradients. Neither computation needs an array of n N p numbers.
    """

    title = "Two matrix products give the values of a layer (package) of splines, and two more give the gradients"
    source = Source(_KEY, "Abstract, forward", "Abstract, differentiation")
    stated = Kind.RULE
    population = SplinePackages()
    relation = Equal(block=-1)
    control = Control(
        "the gradient has ln r² - 2b in place of ln r² - 2b + 1", lambda found, problem: _without_one(problem)
    )
    controls = "values and gradients of splines on one constellation"
    unexplained = "places so close to a point that the difference of squares rounds their distance away"
    reading = "the formulas are those of the public code; the abstract says that there are efficient formulas"

    def predict(self, problem: SplineValues) -> Array:
        package = Package(Scattered(problem.points), problem.covariance, problem.values)
        return jnp.concatenate([package(problem.z), package.pull_back(problem.z, problem.cotangent)], axis=1)

    def measure(self, problem: SplineValues, key: Key[Array, ""]) -> Array:
        """Compute the values place by place from differences, and differentiate them automatically."""

        def along(z, cotangent):
            value, pull = jax.vjp(lambda own: spline_at(problem, own), z)
            return jnp.concatenate([value, pull(cotangent)[0]])

        return jax.vmap(along)(problem.z, problem.cotangent)

    def condition(self, problem: SplineValues) -> Array:
        """Return the condition number of K, times a factor for the cancellation in |z|² + |t|² - 2 z't."""
        squared = jnp.sum((problem.z[:, None] - problem.points) ** 2, axis=-1)
        return gram_condition(problem) * (1 + 1 / jnp.min(squared))


def _without_one(problem: SplineValues) -> Array:
    package = Package(Scattered(problem.points), problem.covariance, problem.values)
    shared = jnp.sum(problem.cotangent @ package.coefficients().T, axis=1, keepdims=True) * problem.z
    less = shared - problem.cotangent @ package.coefficients().T @ problem.points
    gradient = package.pull_back(problem.z, problem.cotangent) - less
    return jnp.concatenate([package(problem.z), gradient], axis=1)


class HyperoctahedronInverse(Claim[SplineValues]):
    """Let K be the matrix of the covariance r² (ln r - b) + c on the points {0, e_1, ..., e_p, -e_1, ..., -e_p}, where
    r is the distance. Decompose values at these points into three parts. The first part is odd under t -> -t. On this
    part, the inverse of K is a division by 4 (b - ln 2). The second part consists of even values at the vertices with
    sum 0. On this part, the inverse of K is a division by 2 ln 2. The third part is a pair: the value at the centre,
    and the mean of the values at the vertices. On this pair, the inverse of K is the inverse of

        [ c       2p (c - b)                  ]
        [ c - b   2 ln 2 + 2p (c + ln 2 - 2b) ]
    """

    title = "The inverse of a spline covariance on a hyperoctahedron has a closed form"
    source = Source(_KEY, "Abstract, forward", note="the constellation of the public code")
    stated = Kind.RULE
    population = SplinePackages(octahedron=True)
    relation = Equal(block=-1)
    control = Control("the inverse divides even values by 4 ln 2", lambda found, problem: _softer(found))
    controls = "coefficients of splines with given values"
    unexplained = "constellations with less symmetry"
    reading = "the points and the covariance are those of the public code"

    def predict(self, problem: SplineValues) -> Array:
        return Hyperoctahedron(problem.points.shape[1]).solve(problem.covariance, problem.values)

    def measure(self, problem: SplineValues, key: Key[Array, ""]) -> Array:
        """Solve the linear system by elimination."""
        return jnp.linalg.solve(problem.gram, problem.values)

    def condition(self, problem: SplineValues) -> Array:
        return gram_condition(problem)


def _softer(found: Array) -> Array:
    """Return coefficients in which the even part with sum 0 is halved."""
    p = (len(found) - 1) // 2
    even = (found[1 : p + 1] + found[p + 1 :]) / 2
    less = (even - even.mean(axis=0)) / 2
    return found - jnp.concatenate([jnp.zeros_like(found[:1]), less, less])


class ClosedInverseCost(Claim[SplineValues]):
    """Let a package have m splines on a hyperoctahedron with p axes, which has N = 2p + 1 points (the vertices and the
    centre). The package computes its coefficients in O(p) operations per spline. The values and gradients at n places
    together take O(n N m) operations. For fixed n and m, the number of operations is therefore proportional to p. For
    comparison, a Cholesky factor of the N x N covariance matrix takes N³/3 operations.
    """

    title = "The operations of a spline package (layer) on a hyperoctahedron grow in proportion to its number p of axes"
    source = Source(_KEY, "Abstract, scalability", note="as the dimension of a package grows")
    stated = Kind.RULE
    population = SplinePackages(octahedron=True)
    relation = Rate("p", _SIZES, margin=0.02, resolution=0.1)
    control = Control("like p^(3/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the operations for the values and gradients of a package"
    unexplained = "running time, which for small packages is dominated by memory access and program starts"
    trials = 8
    traced = False  # operations are counted by the compiler
    predict = 1.0

    def measure_at(self, problem: SplineValues, key: Key[Array, ""], p: float) -> Array:
        """Return the compiler's count of floating-point operations for packages with p axes."""
        return jnp.asarray(counted_operations(int(p), *problem.cotangent.shape))


def _derivative_at_centre(problem: IdentityStack) -> Array:
    """Return the derivative of the package's first output along the first axis, at the centre."""
    h = Hyperoctahedron(len(problem.start))
    package = Package(h, problem.covariance, h.points)
    along = lambda x: package(jnp.zeros((1, h.size)).at[0, 0].set(x))[0, 0]
    return jax.grad(along)(0.0)


class IdentityPackageGain(Claim[IdentityStack]):
    """Let a package (a layer of splines) have the covariance r² (ln r - b) + c of the distance r, and the values t at
    the points t of a hyperoctahedron. The derivative of the package at the centre is

        (b - 1/2) / (b - ln 2)

    times the identity, in every dimension and for every c. At b = 5 this factor is 1.045. It is 1 only in the limit b
    to infinity. In this limit, the package is a polyharmonic spline with an affine drift.
    """

    title = "An identity spline package for r² (ln r - b) + c has the derivative (b - 1/2) / (b - ln 2) at its centre"
    source = Source(_KEY, "Abstract, derived kernel", note="for finite b")
    population = IdentityStacks(most=8)
    relation = Equal()
    control = Control(
        "the factor is b / (b - ln 2)", lambda found, problem: problem.slope / (problem.slope - math.log(2))
    )
    controls = "the derivative of a package at the centre"
    unexplained = "the derivative elsewhere"

    def predict(self, problem: IdentityStack) -> Array:
        return (problem.slope - 0.5) / (problem.slope - math.log(2))

    def measure(self, problem: IdentityStack, key: Key[Array, ""]) -> Array:
        return _derivative_at_centre(problem)

    def condition(self, problem: IdentityStack) -> Array:
        """Allow for cancellation: the size of the coefficients relative to the derivative, times c."""
        return jnp.asarray(problem.covariance.level / (problem.slope - math.log(2)))


class CurvedDirections(Claim[ScatteredPoints]):
    """Consider the polyharmonic spline r² ln r with an affine drift through N points of R^p in general position. The
    vectors of values at the N points form an N-dimensional space. The values of affine functions form a subspace of
    dimension min(N, p + 1), and for these values the spline is affine. So the curved part of the spline depends on only
    max(0, N - p - 1) linear combinations of the values. With N <= p + 1 points, the spline is affine for all values,
    and the covariance has no effect.
    """

    title = "A spline through at most p + 1 points of R^p is affine"
    source = Source(_KEY, "Abstract, dimension")
    population = GenericPoints()
    relation = Equal()
    control = Control("the number of dimensions is max(0, N - p)", lambda found, problem: found + 1)
    controls = "the number of dimensions of values in which a spline is curved"
    unexplained = "how much the spline bends if N is not much larger than p"
    reading = "the breakdown of assumptions in high dimension is read as follows: the posterior contains nothing but "
    reading += "the improper affine part of the random function"

    def predict(self, problem: ScatteredPoints) -> Array:
        n, p = problem.points.shape
        return jnp.asarray(max(0.0, n - p - 1.0))

    def measure(self, problem: ScatteredPoints, key: Key[Array, ""]) -> Array:
        """Return the rank of second differences of N splines, each of which is 1 at one point and 0 at the others."""
        n, p = problem.points.shape
        bends = lambda a, b: _thin_plate(jnp.sum((a[:, None] - b) ** 2, axis=-1))
        affine = lambda a: jnp.concatenate([jnp.ones((len(a), 1)), a], axis=1)
        system = jnp.block(
            [[bends(problem.points, problem.points), affine(problem.points)],
             [affine(problem.points).T, jnp.zeros((p + 1, p + 1))]]
        )  # fmt: skip
        solved = jnp.linalg.pinv(system)[:, :n]
        values = lambda z: jnp.concatenate([bends(z, problem.points), affine(z)], axis=1) @ solved
        z, h = problem.z, problem.steps
        second = values(z + h) - 2 * values(z) + values(z - h)
        sizes = jnp.linalg.svd(second, compute_uv=False)
        # Second differences of affine functions are only rounding; those of splines are of order 1
        return jnp.sum(sizes > jnp.sqrt(jnp.finfo(float).eps)).astype(float)


def _thin_plate(squared: Array) -> Array:
    """Return r² ln r."""
    return 0.5 * squared * jnp.log(jnp.where(squared > 0, squared, 1.0))
