"""Kernels on the sphere in high dimension: the least eigenvalue, and which polynomials are learned from n rows.

This theory splits a kernel on the sphere into its parts of each polynomial degree. Polynomials of a degree are learned
if there are far fewer of them than rows. The part of a degree with far more polynomials than rows acts like a ridge. It
assumes points that are uniform on a sphere. It does not cover numbers of rows near the number of polynomials of some
degree, or data that lie near a space of low dimension.
"""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.architectures import NNGPKernel, relu_network
from lemmata.engine.claims import Claim, Control, EqualInMean, Integer, Kind, Limit, Real, Source
from lemmata.engine.problems.drawn import Drawn, normal, positive
from lemmata.engine.problems.generators import generator_of
from lemmata.kernels import gram

ABOUT = {
    "tool": "random matrices",
    "architecture": "kernel method",
    "object": "spectrum",
    "PolynomialStaircase": {"object": "generalisation"},
}

_SIZES = (40.0, 80.0, 160.0)
_TESTS = 2000


def sphere(generator: np.random.Generator, n: int, d: int, radius: float) -> Float[np.ndarray, "n d"]:
    """Draw independent points, uniform on a sphere."""
    drawn = generator.normal(size=(n, d))
    return radius * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


class RowsPerDimension(eqx.Module):
    """The ratio n/d of rows to dimensions, and the radius of a sphere."""

    share: Float[Array, ""]
    radius: Float[Array, ""]


class LeastEigenvalue(Claim[RowsPerDimension]):
    """Let n points be uniform on the sphere of radius R in d dimensions, with d < n << d². Consider the kernel of the
    readout of a wide ReLU network with one hidden layer, R² E max(z, 0) max(z', 0). Here z and z' are standard normal
    numbers, and their correlation is the cosine of the angle between two points. Let N = (d + 2)(d - 1)/2 be the number
    of quadratic polynomials (spherical harmonics of degree 2). Let m_2 = 1/(4 pi) be the weight of these polynomials in
    the kernel, and let m = 1/4 - 3/(4 pi) be the weight of all higher degrees. The smallest eigenvalue of the Gram
    matrix of this kernel is close to

        R² (m_2 (1 - sqrt((n - d)/N))² + m).

    In this formula, n - d stands in place of n because the linear part takes d of the n dimensions. For d -> infinity,
    the eigenvalue tends slowly to R² (1/4 - 1/(2 pi)). At d = 200 and n = 800, it is a quarter below this limit. The
    test checks that the formula errs by at most 2 % at d = 160.
    """

    title = "In high dimension, a formula gives the least eigenvalue of a ReLU kernel on n points within 2 %"
    source = Source("nguyen2021", note="the limit for points on a sphere, with the correction by the quadratic part")
    stated = Kind.OWN
    population = Drawn(
        RowsPerDimension,
        positive("radius", "the kernel of the zero input is 0"),
        share=Real(4.0, 3.0, 5.0, "rows per dimension"),
        radius=Real(1.0, 0.1, 10.0, "radius of the sphere"),
    )
    relation = Limit(along="d", rungs=_SIZES, margin=0.02, resolution=0.01)
    control = Control("a tenth more", lambda least, problem: 1.1 * least)
    controls = "the least eigenvalue of a kernel, and so the slowest direction of training"
    unexplained = "points that are not uniform; n of the order d² and above"
    traced = False
    trials = 8

    def predict(self, problem: RowsPerDimension) -> Array:
        d = jnp.asarray(_SIZES)
        left = (jnp.round(problem.share * d) - d) / ((d + 2) * (d - 1) / 2)
        quadratic = (1 - jnp.sqrt(left)) ** 2 / (4 * jnp.pi)
        return problem.radius**2 * (quadratic + 1 / 4 - 3 / (4 * jnp.pi))

    def measure_at(self, problem: RowsPerDimension, key: Key[Array, ""], d: float) -> Array:
        n = round(float(problem.share) * d)
        x = sphere(generator_of(key), n, int(d), float(problem.radius)) * math.sqrt(d / 2)
        return jnp.asarray(np.linalg.eigvalsh(np.asarray(gram(NNGPKernel(relu_network(depth=1)), jnp.asarray(x))))[0])


class Cubic(eqx.Module):
    """A target z + (z³ - 3 d/(d + 2) z)/sqrt(12) with z = <b, x>, |b| = 1, on n = d^1.5 points of a sphere.

    Args:
        direction: the vector b, before it is scaled to length 1.
        d: the dimension.
    """

    direction: Float[Array, " d"]
    d: int = eqx.field(static=True)


class PolynomialStaircase(Claim[Cubic]):
    """Let n = d^(3/2) points x be uniform on the sphere of radius sqrt(d) in d dimensions, and let |b| = 1. Let z = <b,
    x>, let h_1 = z, and let h_3 = z³ - 3 d/(d + 2) z, which is orthogonal to z on the sphere. Interpolate the target
    h_1 + h_3/sqrt(12) by the kernel exp(<x, x'>/d). The interpolant learns only the linear part h_1. The reason is that
    there are about d³/6 cubic polynomials, far more than points. Three numbers measure this on new points. The first
    two are the coefficients of the interpolant's projection on h_1 and h_3/sqrt(12). The third number is the mean
    square error if h_1 alone is interpolated. The three numbers are close to

        s,   0,   (1 - s)²,   where s = 1/(1 + (e - 2) d/n) tends to 1.

    The kernel has the weight e - 2 on degrees above 1, which acts like a ridge. The test uses d from 48 to 80 and
    allows deviations of 0.03.
    """

    title = "From d^1.5 rows in d dimensions, kernel regression learns the linear part and nothing of the cubic part"
    source = Source("ghorbani2021", note="kernel methods learn the polynomials of degrees below log n / log d")
    stated = Kind.STEP
    population = Drawn(Cubic, d=Integer(64, 48, 80, "dimension"), direction=normal("d"))
    relation = EqualInMean(margin=0.03, resolution=0.05, relative=False)
    control = Control(
        "1/5 of the cubic part is learned, and 1/5 less of the linear part",
        lambda found, problem: found + jnp.asarray([-0.2, 0.2, 0.2]),
    )
    controls = "what a kernel method can learn from a given number of rows"
    unexplained = (
        "quadratic parts, of which a share of the order 2 d^(-1/2) is learned; networks that learn the direction; "
        "the error, which at these sizes is still 1.1 to 1.3 times the size of the cubic part"
    )
    traced = False
    trials = 40

    def predict(self, problem: Cubic) -> Array:
        share = 1 / (1 + (math.e - 2) * problem.d / round(problem.d**1.5))
        return jnp.asarray([share, 0.0, (1 - share) ** 2])

    def measure(self, problem: Cubic, key: Key[Array, ""]) -> Array:
        d, generator = problem.d, generator_of(key)
        b = np.asarray(problem.direction) / np.linalg.norm(problem.direction)
        x, new = (sphere(generator, count, d, math.sqrt(d)) for count in (round(d**1.5), _TESTS))
        first, last = x @ b, new @ b
        cubic = lambda z: (z**3 - 3 * d / (d + 2) * z) / math.sqrt(12.0)
        targets = np.stack([first + cubic(first), first], axis=1)
        found = np.exp(new @ x.T / d) @ np.linalg.solve(np.exp(x @ x.T / d), targets)
        shares = np.linalg.lstsq(np.stack([last, cubic(last)], axis=1), found[:, 0], rcond=None)[0]
        return jnp.asarray([*shares, np.mean((found[:, 1] - last) ** 2)])
