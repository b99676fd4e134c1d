"""Methods that treat weights as matrices: what their steps are, and what a factored second moment is best for.

This theory controls single steps of Shampoo, SOAP and Muon, and Adafactor's table. It leaves unexplained why such steps
train networks faster.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.subjects.optimisers import scale_by_shampoo, scale_by_soap, updates_of
from lemmata.subjects.optimisers._gradient_matrices import (
    GradientMatrices,
    GradientSequences,
    PositiveTable,
    PositiveTables,
)

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "construction"}

_WHOLE = -1
_QUINTIC = (3.4445, -4.7750, 2.0315)
_FLOOR = 1e-12
_LEAST = 0.01


def _factors(matrix: Float[Array, "m n"]) -> tuple[Array, Array, Array]:
    left, values, right = jnp.linalg.svd(matrix, full_matrices=False)
    return left, values, right


def _squared_condition(problem: GradientMatrices) -> Array:
    values = jnp.linalg.svd(problem.gradients[0], compute_uv=False)
    return (values[0] / values[-1]) ** 2


class ShampooStepIsPolar(Claim[GradientMatrices]):
    """The first step of Shampoo is the polar factor of the gradient, whatever its singular values:

        (G G')^(-1/4) G (G'G)^(-1/4) = U V',   G = U S V',

    the direction of steepest descent where the size of a step is its largest singular value.
    """

    title = "The first step of Shampoo is the polar factor"
    source = Source("bernstein2024", note="Shampoo without accumulation")
    population = GradientSequences()
    relation = Equal(block=_WHOLE)
    control = Control("with exponents -1/2: U S^-1 V'", lambda value, problem: _weighted(problem.gradients[0]))
    controls = "the first step of Shampoo"
    unexplained = "later steps, which remember"

    def predict(self, problem: GradientMatrices) -> Array:
        left, _, right = _factors(problem.gradients[0])
        return left @ right

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        method = scale_by_shampoo(eps=_FLOOR)
        return updates_of(method, problem.gradients[:1])[0]

    def condition(self, problem: GradientMatrices) -> Array:
        """Eigenvalues of G G' are rounded like its largest; directions without a gradient are magnified by
        floor^-1/4.
        """
        return len(problem.gradients[0]) * (_squared_condition(problem) + _FLOOR**-0.25)


def _weighted(matrix: Float[Array, "m n"]) -> Array:
    left, values, right = _factors(matrix)
    return left / values @ right


def _square(problem: GradientMatrices) -> Float[Array, "t k k"]:
    """The leading square blocks: a rectangle leaves the vectors of several zero eigenvalues free."""
    size = min(problem.gradients.shape[1:])
    return problem.gradients[:, :size, :size]


class SoapIsRotatedAdam(Claim[GradientMatrices]):
    """As long as its bases stand still, SOAP is Adam in the eigenbasis of Shampoo: with Q_L, Q_R the singular vectors
    of the gradient that made the bases, its steps are Q_L a_t Q_R', a_t Adam's steps on Q_L' G_t Q_R. For square
    gradients: else one basis is not unique.
    """

    title = "SOAP is Adam in rotated coordinates"
    source = Source("vyas2024", note="main result")
    population = GradientSequences()
    relation = Equal(block=_WHOLE)
    control = Control("in the original coordinates", lambda value, problem: _adam_steps(_square(problem)[1:]))
    controls = "the steps of SOAP between two bases"
    unexplained = "how often a basis has to be renewed"

    def predict(self, problem: GradientMatrices) -> Array:
        gradients = _square(problem)
        left, _, right = jnp.linalg.svd(gradients[0])
        return left @ _adam_steps(left.T @ gradients[1:] @ right.T) @ right

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        gradients = _square(problem)
        method = scale_by_soap(b1=0.95, b2=0.95, eps=0.0, every=len(gradients) + 1)
        return updates_of(method, gradients)[1:]

    def condition(self, problem: GradientMatrices) -> Array:
        """Singular vectors turn by the rounding over the smallest gap of the squares; small entries are divided by."""
        gradients = _square(problem)
        left, values, right = jnp.linalg.svd(gradients[0])
        gap = jnp.abs(jnp.diff(values**2)).min(initial=values[-1] ** 2)
        turned = jnp.abs(left.T @ gradients[1:] @ right.T)
        return len(gradients) * values[0] ** 2 / gap * turned.max() / turned.min()


def _adam_steps(gradients: Float[Array, "t m n"]) -> Float[Array, "t m n"]:
    method = optax.scale_by_adam(b1=0.95, b2=0.95, eps=0.0)
    return updates_of(method, gradients)


def _scalar_steps(values: Array | np.ndarray) -> Array | np.ndarray:
    a, b, c = _QUINTIC
    for _ in range(5):
        values = a * values + b * values**3 + c * values**5
    return values


def _muon_step(matrix: Float[Array, "m n"]) -> Float[Array, "m n"]:
    method = optax.contrib.scale_by_muon(ns_coeffs=_QUINTIC, ns_steps=5, eps=0.0)
    return updates_of(method, matrix[None])[0]


class MuonStepBySingularValues(Claim[GradientMatrices]):
    """The first step of Muon has the singular vectors of the gradient G = U S V', and singular values p(p(p(p(p(s)))))
    where s = S/|G|_F and p(s) = 3.4445 s - 4.7750 s³ + 2.0315 s⁵: a function of the gradient that is not its polar
    factor.
    """

    title = "Muon's step, one singular value at a time"
    source = Source("emergence2026", "Figure 5.24", note="the matrix preconditioner without a root")
    population = GradientSequences()
    relation = Equal(block=_WHOLE)
    control = Control("it is the polar factor", lambda value, problem: _polar(problem.gradients[0]))
    controls = "the first step of Muon"
    unexplained = "why an exact polar factor is not needed"

    def predict(self, problem: GradientMatrices) -> Array:
        left, values, right = _factors(problem.gradients[0])
        return left * _scalar_steps(values / jnp.linalg.norm(values)) @ right

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        return _muon_step(problem.gradients[0])

    def condition(self, problem: GradientMatrices) -> Array:
        """Five steps magnify a small singular value by at most 3.4445^5."""
        return len(problem.gradients[0]) * jnp.asarray(_QUINTIC[0] ** 5)


def _polar(matrix: Float[Array, "m n"]) -> Array:
    left, _, right = _factors(matrix)
    return left @ right


class MuonMissesOrthogonality(Claim[GradientMatrices]):
    """The singular values of Muon's step, five steps of p(s) = 3.4445 s - 4.7750 s³ + 2.0315 s⁵, are away from 1 by at
    most

        max over 0.01 <= s <= 1 of |p(p(p(p(p(s))))) - 1|,   about 0.32,

    where those of the gradient are at least a hundredth of its Frobenius norm; p does not leave 1 fixed, and more steps
    do not bring them nearer.
    """

    title = "How far Muon's step is from orthogonal"
    source = Source("emergence2026", "Figure 5.24", note="the matrix preconditioner without a root")
    population = GradientSequences()
    relation = AtMost()
    control = Control("half as far", lambda bound, problem: bound / 2)
    controls = "the singular values of Muon's first step"
    unexplained = "why an exact polar factor is not needed"
    trivial = "an iteration that does not converge has no bound that is known beforehand"

    def predict(self, problem: GradientMatrices) -> Array:
        """By the scalar map on a fine grid; infinite where a singular value is smaller."""
        grid = np.linspace(_LEAST, 1.0, 200_001)
        values = jnp.linalg.svd(problem.gradients[0], compute_uv=False)
        # an inner maximum is missed by no more than its curvature times the square of a spacing of 5e-6
        most = np.abs(_scalar_steps(grid) - 1).max()
        return jnp.where(values[-1] / jnp.linalg.norm(values) >= _LEAST, most, jnp.inf)

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        values = jnp.linalg.svd(_muon_step(problem.gradients[0]), compute_uv=False)
        return jnp.abs(values - 1).max()


class AdafactorIsDivergenceOptimal(Claim[PositiveTable]):
    """The table that Adafactor stores, row sums times column sums over the total, is of all non-negative tables R of
    rank one the nearest to the second moments V in the divergence

        sum V log(V/R) - V + R.

    Multiplicative updates, which never increase it, end there from any positive start.
    """

    title = "Adafactor's table is the nearest one in divergence"
    source = Source("shazeer2018", note="main result")
    population = PositiveTables()
    relation = Equal()
    control = Control("it is the nearest in squares", lambda value, problem: _nearest(problem.values))
    controls = "the second moments that Adafactor works with"
    unexplained = "whether second moments of networks are near rank one"

    def predict(self, problem: PositiveTable) -> Array:
        values = problem.values
        return values.sum(axis=1)[:, None] * values.sum(axis=0)[None, :] / values.sum()

    def measure(self, problem: PositiveTable, key: Key[Array, ""]) -> Array:
        def one(_, factors):
            row, column = factors
            row = row * ((problem.values / jnp.outer(row, column)) @ column) / column.sum()
            column = column * ((problem.values / jnp.outer(row, column)).T @ row) / row.sum()
            return row, column

        return jnp.outer(*jax.lax.fori_loop(0, 10, one, (problem.row, problem.column)))


def _nearest(values: Float[Array, "m n"]) -> Array:
    left, sizes, right = jnp.linalg.svd(values, full_matrices=False)
    return jnp.abs(sizes[0] * jnp.outer(left[:, 0], right[0]))
