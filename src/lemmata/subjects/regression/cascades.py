"""Cascades of polyharmonic splines: composed packages, their tangent kernel, steps in function space, and depth.

A package is a set of splines with the covariance r² (ln r - b) + c on one set of points, its constellation. The
parameters of a cascade f = F_L(...F_1(z)) are the values Y_l of its packages at their constellations. In these
coordinates, the tangent kernel is a sum over packages of products of two small matrices. A step that solves for the
function on the rows is a damped Gauss-Newton step on all values Y_l.

A package from R^p to R^p whose values equal the points of its constellation, a hyperoctahedron, is nearly the identity.
If such packages follow each other, the sphere of radius sqrt(4/e - 1) is attracting. On this sphere, the packages are
the identity to leading order in 1/p, for every b and c. So the gradients of a deep cascade do not vanish. This theory
describes cascades before training. It does not say how training changes the behaviour at the sphere.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Kind, Limit, Population, Source, Space
from lemmata.subjects.regression._spline_packages import IdentityStack, IdentityStacks, level_for, some_slope
from lemmata.subjects.splines import Cascade, Hyperoctahedron, Package, SplineCovariance

ABOUT = {
    "tool": "reproducing kernels",
    "architecture": "any",
    "object": "training",
    "DeepCascadeGradient": {"tool": "dynamical systems"},
    "ScaleThreshold": {"tool": "dynamical systems"},
}


class CascadeRows(eqx.Module):
    """A cascade of packages on hyperoctahedra, rows and targets.

    Args:
        cascade: the cascade f, which has one output.
        z: the rows.
        y: the targets.
        damping: the damping alpha of a training step.
    """

    cascade: Cascade
    z: Float[Array, "n p"]
    y: Float[Array, " n"]
    damping: Float[Array, ""]


class NormalCascades(Population[CascadeRows]):
    """Cascades of two packages, R^p to R^width to R, with normal values. The norm of a package's values at one point is
    of the order of 1/2.
    """

    settings = Space(
        p=Integer(4, 1, 50, "inputs", corners=(3, 6)),
        width=Integer(3, 1, 50, "splines of a package", corners=(2, 4)),
        rows=Integer(6, 1, 200, "rows", corners=(4, 10)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CascadeRows:
        """Draw normal values with standard deviation 1/2 over the root of the width, and damping from 0.1 to 10."""
        p, width, rows = setting["p"], setting["width"], setting["rows"]
        shapes = [(2 * p + 1, width), (2 * width + 1, 1)]
        sizes = [n * m for n, m in shapes]
        key, damping, slope_key = jax.random.split(key, 3)
        slope = some_slope(slope_key)
        covariance = SplineCovariance(slope, level_for(slope))
        drawn = jax.random.normal(key, (sum(sizes) + rows * (p + 1),))
        packages, first = [], 0
        for (nodes, m), size in zip(shapes, sizes, strict=True):
            values = drawn[first : first + size].reshape(nodes, m) / (2 * m**0.5)
            packages.append(Package(Hyperoctahedron((nodes - 1) // 2), covariance, values))
            first += size
        z = drawn[first : first + rows * p].reshape(rows, p) / (2 * p**0.5)
        alpha = 10 ** jax.random.uniform(damping, (), minval=-1.0, maxval=1.0)
        return CascadeRows(Cascade(tuple(packages)), z, drawn[first + rows * p :], alpha)

    def hypotheses(self, problem: CascadeRows) -> list[Hypothesis]:
        return [Hypothesis("damping alpha", problem.damping, ">", 0.0, "otherwise T may be singular")]


_KEY = "bakhvalov2025polyharmonic"
_WIDTHS = (16.0, 64.0, 192.0)
_DEPTHS = (50.0, 100.0, 200.0)
_LAYERS = 100


def unrolled(problem: CascadeRows, values: tuple[Array, ...]) -> Float[Array, " n"]:
    """Return f at the rows if the packages have the given values.

    The values of f are computed from differences of points and by general linear solves.
    """
    z = problem.z
    for package, own in zip(problem.cascade.packages, values, strict=True):
        points, k = package.constellation.points, package.covariance
        squares = lambda a, b=points: jnp.sum((a[:, None] - b) ** 2, axis=-1)
        z = k(squares(z)) @ jnp.linalg.solve(k(squares(points)), own)
    return z[:, 0]


def flat_jacobian(problem: CascadeRows) -> Float[Array, "n v"]:
    """Return the automatic derivatives of the outputs with respect to all values."""
    values = tuple(package.values for package in problem.cascade.packages)
    blocks = jax.jacobian(lambda own: unrolled(problem, own))(values)
    return jnp.concatenate([block.reshape(len(problem.z), -1) for block in blocks], axis=1)


def cascade_condition(problem: CascadeRows) -> Float[Array, ""]:
    """The sum over packages of the condition number of the covariance matrix.

    It is computed from the eigenvalues of this matrix on the hyperoctahedron.
    """
    total = jnp.zeros(())
    for package in problem.cascade.packages:
        h = package.constellation
        assert isinstance(h, Hyperoctahedron)
        found = h.eigenvalues(package.covariance)
        total += found.max() / found.min()
    return total


class CascadeTangentKernel(Claim[CascadeRows]):
    """A cascade is a chain of packages, which are layers of splines. The parameters of a package are its values at a
    set of points. Consider the outputs of a cascade at n rows. Let J be the derivatives of these outputs with respect
    to all values of all packages. For package l, let K_l be the matrix of the covariance on its points, and let M_l
    hold the covariances between the inputs of the package and these points. Let H_l = M_l K_l^-1. Let G_l hold the
    gradients of the cascade's outputs with respect to the outputs of package l, and let * be the entrywise product. The
    empirical tangent kernel of the cascade is

        J J' = sum_l (H_l H_l') * (G_l G_l').

    Each training step solves a linear system with this kernel.
    """

    title = "The tangent kernel of a spline cascade is a sum of products over its packages (layers of splines)"
    source = Source(_KEY, "Abstract, differentiation", note="the matrix of the public code")
    stated = Kind.RULE
    population = NormalCascades()
    relation = Equal(block=-1)
    control = Control("the kernel is only the term of the last package", lambda found, problem: _last_part(problem))
    controls = "how outputs depend on all values of a cascade"
    unexplained = "how the kernel changes in training"
    reading = "the matrix is that of the public code; that it is the tangent kernel is derived here"

    def predict(self, problem: CascadeRows) -> Array:
        return problem.cascade.tangent_gram(problem.z)

    def measure(self, problem: CascadeRows, key: Key[Array, ""]) -> Array:
        jacobian = flat_jacobian(problem)
        return jacobian @ jacobian.T

    def condition(self, problem: CascadeRows) -> Array:
        return cascade_condition(problem)


def _last_part(problem: CascadeRows) -> Array:
    states = problem.cascade.states(problem.z)
    influence = problem.cascade.packages[-1].influence(states[-2])
    return influence @ influence.T


class CascadeStep(Claim[CascadeRows]):
    """A cascade f is a chain of packages, which are layers of splines. The parameters of a package are its values at a
    set of points. Let J be the derivatives of the outputs f(z) at the training rows z with respect to the values of all
    packages. Let T = J J' be the tangent kernel, let y be the targets, and let alpha be the damping. For package l, let
    H_l be the derivatives of its outputs with respect to its values, and let G_l hold the gradients of the cascade's
    outputs with respect to the outputs of package l. A training step solves (T + alpha I) q = y - f(z) and adds H_l'
    (q * G_l) to the values of every package l, where * is the entrywise product. This training step is the damped
    Gauss-Newton step on all values. Its change dY of all values minimises

        |f(z) + J dY - y|² + alpha |dY|².
    """

    title = "A training step of a spline cascade is a damped Gauss-Newton step"
    source = Source(_KEY, "Abstract, differentiation", note="the training of the public code")
    stated = Kind.RULE
    population = NormalCascades()
    relation = Equal(block=-1)
    control = Control("twice the damping", lambda found, problem: _change(problem, 2 * problem.damping))
    controls = "the change of all values by one training step"
    unexplained = "whether steps converge"
    reading = "the step is that of the public code; what it minimises is derived here"

    def predict(self, problem: CascadeRows) -> Array:
        return _change(problem, problem.damping)

    def measure(self, problem: CascadeRows, key: Key[Array, ""]) -> Array:
        """Solve the least squares problem for the step dY, by a QR factorisation of J stacked on sqrt(alpha) I."""
        jacobian = flat_jacobian(problem)
        size = jacobian.shape[1]
        stacked = jnp.concatenate([jacobian, jnp.sqrt(problem.damping) * jnp.eye(size)])
        values = tuple(package.values for package in problem.cascade.packages)
        residual = jnp.concatenate([problem.y - unrolled(problem, values), jnp.zeros(size)])
        q, r = jnp.linalg.qr(stacked)
        return jax.scipy.linalg.solve_triangular(r, q.T @ residual)

    def condition(self, problem: CascadeRows) -> Array:
        """Return a bound on the condition number of T + alpha I, times `cascade_condition`."""
        return cascade_condition(problem) * (1 + jnp.trace(problem.cascade.tangent_gram(problem.z)) / problem.damping)


def _change(problem: CascadeRows, damping: Array) -> Array:
    # Cascade.step needs a damping that is known to be positive, but in a trial it is traced
    states, influences, cotangents, tangent = problem.cascade.passes(problem.z)
    force = jnp.linalg.solve(tangent + damping * jnp.eye(len(tangent)), problem.y - states[-1][:, 0])
    parts = zip(influences, cotangents[1:], strict=True)
    return jnp.concatenate([(h.T @ (force[:, None] * g)).ravel() for h, g in parts])


def through(problem: IdentityStack, start: Array, layers: int) -> tuple[Array, Array]:
    """Return the output z of a chain of packages, and the gradient of <readout, z> with respect to the start."""
    h = Hyperoctahedron(len(start))
    package = Package(h, problem.covariance, problem.scale * h.points)
    coefficients = package.coefficients()

    def forward(z):
        layer = lambda z, _: (problem.covariance(h.squared_distances(z[None])) @ coefficients, None)
        return jax.lax.scan(lambda z, x: (layer(z, x)[0][0], None), z, None, length=layers)[0]

    end, pull = jax.vjp(forward, start)
    return end, pull(problem.readout[: len(start)])[0]


class DeepCascadeGradient(Claim[IdentityStack]):
    """Consider a cascade f of 100 packages (layers of splines) from R^p to R^p, without skip connections. The splines
    have the covariance r² (ln r - b) + c of the distance r. Each package has the values t at the points t of the
    hyperoctahedron {0, e_1, ..., e_p, -e_1, ..., -e_p}. Start at a point z_0 in a random direction, and let u be a
    standard normal vector. Let u_0 be the part of u that is orthogonal to the end point f(z_0). As p grows, the norm of
    f(z_0) tends to sqrt(4/e - 1) = 0.687 for every b and c, and

        |gradient of <u, f(z_0)>| / |u_0| -> sqrt(4/e - 1) / |z_0|,

    where the second limit holds for any number of packages. To leading order in 1/p, a package multiplies its input z
    by g = (4b - 2 - 2 ln(1 + |z|²)) / (4b - 4 ln 2). This factor is 1 on the sphere |z| = sqrt(4/e - 1), larger inside
    the sphere and smaller outside. Distances along the sphere do not change. In the direction across the sphere, each
    layer multiplies distances by 1 - (1 - e/4)/(b - ln 2).
    """

    title = "Gradients of a cascade of a hundred packages (layers of splines) neither explode nor vanish"
    source = Source(
        _KEY, "Abstract, differentiation", note="from output to input, at the values from which training starts"
    )
    stated = Kind.OWN
    population = IdentityStacks(most=int(_WIDTHS[-1]))
    relation = Limit("p", _WIDTHS, margin=0.02, resolution=0.05, slowest=0.5)
    control = Control(
        "the attracting sphere is the unit sphere, which contains the constellation",
        lambda found, problem: found / math.sqrt(4 / math.e - 1),
    )
    controls = "gradients through many packages before training"
    unexplained = "small p, for which points drift to the axes within 100 layers, and what training changes"
    reading = "the start of training is that of the public code"
    trials = 48

    def predict(self, problem: IdentityStack) -> Array:
        return math.sqrt(4 / math.e - 1) / jnp.linalg.norm(problem.start)

    def measure_at(self, problem: IdentityStack, key: Key[Array, ""], p: float) -> Array:
        start = problem.start[: int(p)]
        start = start * jnp.linalg.norm(problem.start) / jnp.linalg.norm(start)
        end, gradient = through(problem, start, _LAYERS)
        readout = problem.readout[: int(p)]
        along = jnp.dot(readout, end) / jnp.dot(end, end) * end
        return jnp.linalg.norm(gradient) / jnp.linalg.norm(readout - along)


class ScaleThreshold(Claim[IdentityStack]):
    """Consider a deep cascade f of packages (layers of splines), each from R^p to R^p. The splines have the covariance
    r² (ln r - b) + c of the distance r. Every package has the values gamma t at the points t of the hyperoctahedron {0,
    e_1, ..., e_p, -e_1, ..., -e_p}, where gamma is the scale. Let u be a normal vector, and take the gradient of <u,
    f(z)> at an input z. In the limit of many layers, the logarithm of the norm of this gradient changes per layer by

        min(0, ln gamma + ln((b - 1/2)/(b - ln 2))).

    The threshold of gamma is (b - ln 2)/(b - 1/2), which is 0.957 at b = 5. Above the threshold, there is an attracting
    sphere, whose radius grows with gamma. Gradients along the sphere keep their size. So gradients do not explode at
    any gamma. Below the threshold, points converge to the centre and gradients vanish exponentially.
    """

    title = "Gradients of a deep spline cascade vanish if the scale of its layers is below a threshold"
    source = Source(_KEY, "Abstract, differentiation", note="around the values from which training starts")
    stated = Kind.OWN
    population = IdentityStacks(most=64, low=0.3, high=2.0)
    relation = Limit("layers", _DEPTHS, margin=0.01, resolution=0.02, relative=False)
    control = Control(
        "the exponent is larger by 0.05 per layer, a factor of 150 in 100 layers", lambda found, problem: found + 0.05
    )
    controls = "the exponent of gradients in depth"
    unexplained = "scales near the threshold, for which the limit is approached slowly, and depths of the order of "
    unexplained += "p b, at which points have drifted to the axes"
    trials = 192

    def predict(self, problem: IdentityStack) -> Array:
        gain = jnp.log(problem.scale * (problem.slope - 0.5) / (problem.slope - math.log(2)))
        return jnp.minimum(gain, 0.0)

    def measure_at(self, problem: IdentityStack, key: Key[Array, ""], layers: float) -> Array:
        _, gradient = through(problem, problem.start, int(layers))
        return jnp.log(jnp.linalg.norm(gradient) / jnp.linalg.norm(problem.readout)) / layers
