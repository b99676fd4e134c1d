"""Compositions of packages of splines: tangent kernels in the values of all packages, and steps in function space."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.core import require_float64
from lemmata.errors import SettingError, ShapeError

from ._constellations import Hyperoctahedron
from ._covariance import SplineCovariance
from ._package import Package


class Cascade(eqx.Module):
    """A composition of packages of splines, R^p0 -> R^p1 -> ... -> R, with derivatives with respect to all values.

    The parameters are the values Y_l of every package l at the points of its constellation (the points at which its
    splines have given values). Let H_l = M_l K_l^-1 be the influence at the inputs of package l (`Package.influence`).
    Let G_l be the gradient of the cascade's output with respect to the outputs of package l. For row a of the inputs,
    the derivative of the cascade's output with respect to Y_l[t, j] is H_l[a, t] G_l[a, j]. Therefore the tangent
    kernel of the cascade in these parameters is

        T = sum_l (H_l H_l') * (G_l G_l')    (* entry by entry).

    Leading axes of the values stand for several cascades, which are computed together. Each cascade has one output.

    Args:
        packages: the packages in order. Each package takes the output of the previous package. The last package has one
            output.

    Raises:
        ShapeError: if there is no package, or if the outputs of a package do not fit the inputs of the next package.

    >>> import jax
    >>> with jax.enable_x64(True):
    ...     f = initial_cascade(jax.random.key(0), (4, 3, 3))
    ...     [package.values.shape for package in f.packages], f(jax.numpy.ones((2, 4))).tolist()
    ([(9, 3), (7, 3), (7, 1)], [0.0, 0.0])
    """

    packages: tuple[Package, ...]

    def __check_init__(self):
        if not self.packages:
            raise ShapeError("packages", found="no package", rule="at least one package")
        written = [package.values.shape[-1] for package in self.packages]
        read = [*(package.constellation.dimension for package in self.packages[1:]), 1]
        for number, (width, wanted) in enumerate(zip(written, read, strict=True)):
            if width != wanted:
                raise ShapeError(
                    f"package {number}",
                    found=f"{width} splines",
                    rule=f"exactly {wanted} splines, because the next package takes {wanted} inputs",
                    remedy=f"give package {number} exactly {wanted} splines",
                )

    def __call__(self, z: Float[Array, "... n p"]) -> Float[Array, "... n"]:
        """Return the output of the last package at the points z."""
        for package in self.packages:
            z = _values_at(package, z)
        return z[..., 0]

    def states(self, z: Float[Array, "... n p"]) -> list[Float[Array, "... n _"]]:
        """Return the inputs of every package, followed by the output (..., n, 1)."""
        found = [z]
        for package in self.packages:
            found.append(_values_at(package, found[-1]))
        return found

    def cotangents(self, states: Sequence[Float[Array, "... n _"]]) -> list[Float[Array, "... n _"]]:
        """Return the gradients of the output with respect to the inputs of every package, computed from `states`.

        The last entry is the derivative of the output with respect to the output, which is 1.
        """
        found = [jnp.ones_like(states[-1])]
        for package, z in zip(reversed(self.packages), reversed(states[:-1]), strict=True):
            found.append(_pulled_back(package, z, found[-1]))
        return found[::-1]

    def gradient(self, z: Float[Array, "... n p"]) -> Float[Array, "... n p"]:
        """Return the gradient of the output with respect to the points z."""
        return self.cotangents(self.states(z))[0]

    def tangent_gram(self, z: Float[Array, "... n p"]) -> Float[Array, "... n n"]:
        """Return the tangent kernel T at points z, with respect to the values of all packages."""
        return self.passes(jnp.asarray(z))[3]

    def step(self, z: Float[Array, "n p"], y: Float[Array, "... targets"], damping: float) -> "Cascade":
        """Return the cascade after one step in function space.

        Solve (T + damping I) q = y - f(z) for the outputs f(z) at the inputs, and add H_l' (q * G_l) to every Y_l. The
        result is the damped Gauss-Newton step in the values of all packages together. With the Jacobian J, the step dY
        minimises |f + J dY - y|² + damping |dY|². The linear system has one unknown per row, not one per parameter.

        Args:
            z: the inputs, (n, p), one input in each row.
            y: the targets (..., n), one row of targets for each cascade.
            damping: the number that is added to the diagonal of T, above 0.

        Raises:
            SettingError: if the damping is not a number above 0.
            ShapeError: if there is not one target for each row.
        """
        if not damping > 0:
            raise SettingError("damping", found=repr(damping), rule="a number above 0")
        z, y = jnp.asarray(z), jnp.asarray(y)
        if y.shape[-1:] != z.shape[:1]:
            raise ShapeError("targets", found=f"shape {y.shape}", rule=f"one target for each of the {len(z)} rows")
        states, influences, cotangents, tangent = self.passes(z)
        force = _solved(tangent, y - states[-1][..., 0], damping)
        parts = zip(self.packages, influences, cotangents[1:], strict=True)
        return Cascade(tuple(_moved(package, influence, force, upstream) for package, influence, upstream in parts))

    def passes(self, z: Array) -> tuple[list[Array], list[Array], list[Array], Array]:
        """Return the states of the packages, the influences, the cotangents, and the tangent kernel."""
        states, influences = [z], []
        for package in self.packages:
            influence, z = _influence_and_values(package, z)
            influences.append(influence)
            states.append(z)
        cotangents, tangent = [jnp.ones_like(z)], jnp.zeros((z.shape[-2], z.shape[-2]))
        for package, z, influence in zip(self.packages[::-1], states[-2::-1], influences[::-1], strict=True):
            tangent = _with_part(tangent, influence, cotangents[-1])
            cotangents.append(_pulled_back(package, z, cotangents[-1]))
        return states, influences, cotangents[::-1], tangent


# The functions below are compiled for one package. All packages of one shape share the compiled program.
@eqx.filter_jit
def _values_at(package: Package, z: Array) -> Array:
    return package(z)


@eqx.filter_jit
def _influence_and_values(package: Package, z: Array) -> tuple[Array, Array]:
    influence = package.influence(z)
    return influence, influence @ package.values


@eqx.filter_jit
def _pulled_back(package: Package, z: Array, cotangent: Array) -> Array:
    return package.pull_back(z, cotangent)


@eqx.filter_jit
def _with_part(tangent: Array, influence: Array, upstream: Array) -> Array:
    part = (influence @ jnp.swapaxes(influence, -1, -2)) * (upstream @ jnp.swapaxes(upstream, -1, -2))
    return tangent + part


@eqx.filter_jit
def _solved(tangent: Array, residual: Array, damping: float) -> Array:
    """Return (T + damping I)^-1 residual, by a Cholesky factor."""
    factor = jnp.linalg.cholesky(tangent + damping * jnp.eye(tangent.shape[-1]))
    half = jax.scipy.linalg.solve_triangular(factor, residual[..., None], lower=True)
    return jax.scipy.linalg.solve_triangular(factor, half, lower=True, trans="T")[..., 0]


@eqx.filter_jit
def _moved(package: Package, influence: Array, force: Array, upstream: Array) -> Package:
    change = jnp.swapaxes(influence, -1, -2) @ (force[..., None] * upstream)
    return eqx.tree_at(lambda p: p.values, package, package.values + change)


def initial_cascade(
    key: Key[Array, ""],
    widths: Sequence[int],
    covariance: SplineCovariance | None = None,
    outputs: int | None = None,
) -> Cascade:
    """Return an untrained cascade on hyperoctahedra. Its output is 0, because the values of the last package are 0.

    A package consists of splines that take given values at the same points. These points are called its constellation.
    Here the constellation consists of 0 and the points e_i and -e_i on the axes. If a package maps R^p to R^p, its
    value at each point of the constellation is this point itself. Splines that leave these points unchanged are nearly
    the identity. Otherwise, the values are uniform on (-1, 1), divided by the square root of the number of splines.
    These values lie in the unit ball, as do the points of the next constellation.

    Args:
        key: the random key of the uniform values.
        widths: the dimensions p_0, ..., p_L, at least one. The last package maps R^p_L to R.
        covariance: the covariance k of the splines. None means `SplineCovariance()`, with slope b = 5 and level c =
            400.
        outputs: the number of cascades that are computed together and share the distances of the first package. None
            means one cascade without this axis.

    Raises:
        SettingError: if widths is empty or a width is not a whole number of at least 1.
        NotPositiveDefiniteError: if b or c is too small.
        PrecisionError: if JAX computes in float32.

    Source: the public code that accompanies Bakhvalov (2025).
    """
    require_float64("a package of polyharmonic splines")
    if not widths:
        raise SettingError("widths", found=repr(widths), rule="at least one width, the number of inputs")
    covariance = SplineCovariance() if covariance is None else covariance
    lead = () if outputs is None else (outputs,)
    shapes = [(*lead, 2 * read + 1, written) for read, written in zip(widths, [*widths[1:], 1], strict=True)]
    drawn = iter(_uniform(key, [shape for shape in shapes[:-1] if shape[-2] != 2 * shape[-1] + 1]))
    packages = []
    for number, (read, shape) in enumerate(zip(widths, shapes, strict=True)):
        h = Hyperoctahedron(read)
        h.require_positive_definite(covariance)
        if number == len(widths) - 1:
            values = jnp.zeros(shape)
        elif read == shape[-1]:
            values = jnp.broadcast_to(h.points, shape)
        else:
            values = next(drawn) / shape[-1] ** 0.5
        packages.append(Package(h, covariance, values))
    return Cascade(tuple(packages))


def _uniform(key: Array, shapes: list[tuple[int, ...]]) -> list[Array]:
    """Return arrays of uniform numbers in (-1, 1). All arrays are parts of one draw, so that JAX compiles once."""
    if not shapes:
        return []
    sizes = [math.prod(shape) for shape in shapes]
    drawn = np.asarray(jax.random.uniform(key, (sum(sizes),), minval=-1.0, maxval=1.0))
    parts = np.split(drawn, np.cumsum(sizes)[:-1])
    return [jnp.asarray(part.reshape(shape)) for part, shape in zip(parts, shapes, strict=True)]
