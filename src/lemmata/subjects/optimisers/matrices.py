"""Methods that treat weights as matrices: their steps, and the sense in which a factored second moment is optimal.

This theory is about single steps of Shampoo, SOAP and Muon, and about the rank-one table with which Adafactor
approximates the second moments. It does not explain why such steps can train networks faster than Adam.
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
    """Let G be the first gradient, with singular value decomposition U S V'. Whatever the singular values, the first
    step of Shampoo is the polar factor of G:

        (G G')^(-1/4) G (G'G)^(-1/4) = U V',   G = U S V'.

    This is the direction of steepest descent if the size of a step is measured by the largest singular value of the
    step.
    """

    title = "The first step of Shampoo is the polar factor of the gradient"
    source = Source("bernstein2024", note="Shampoo without accumulation")
    population = GradientSequences()
    relation = Equal(block=_WHOLE)
    control = Control("the exponents are -1/2: U S^-1 V'", lambda value, problem: _weighted(problem.gradients[0]))
    controls = "the first step of Shampoo"
    unexplained = "later steps, which depend on earlier gradients"

    def predict(self, problem: GradientMatrices) -> Array:
        left, _, right = _factors(problem.gradients[0])
        return left @ right

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        method = scale_by_shampoo(eps=_FLOOR)
        return updates_of(method, problem.gradients[:1])[0]

    def condition(self, problem: GradientMatrices) -> Array:
        """Bound the errors: eigenvalues of G G' are rounded relative to the largest eigenvalue.

        Directions without a gradient are magnified by eps^-1/4, where eps is the floor for eigenvalues in Shampoo.
        """
        return len(problem.gradients[0]) * (_squared_condition(problem) + _FLOOR**-0.25)


def _weighted(matrix: Float[Array, "m n"]) -> Array:
    left, values, right = _factors(matrix)
    return left / values @ right


def _square(problem: GradientMatrices) -> Float[Array, "t k k"]:
    """Return the leading square blocks, because eigenvectors of several zero eigenvalues are not unique."""
    size = min(problem.gradients.shape[1:])
    return problem.gradients[:, :size, :size]


class SoapIsRotatedAdam(Claim[GradientMatrices]):
    """Let G_t be the gradients of a square weight matrix. SOAP makes its two bases from one gradient: let Q_L be its
    left singular vectors, and let Q_R be its right singular vectors. As long as the bases do not change, SOAP is Adam
    in the eigenbasis of Shampoo. Its steps are Q_L a_t Q_R', where a_t are Adam's steps on the rotated gradients Q_L'
    G_t Q_R. Gradients must be square, because otherwise one of the bases is not unique.
    """

    title = "Between two updates of SOAP's bases, SOAP is Adam in rotated coordinates"
    source = Source("vyas2024", note="main result")
    population = GradientSequences()
    relation = Equal(block=_WHOLE)
    control = Control(
        "SOAP takes the steps of Adam in the original coordinates",
        lambda value, problem: _adam_steps(_square(problem)[1:]),
    )
    controls = "the steps of SOAP between two renewals of its bases"
    unexplained = "how often the bases should be renewed"

    def predict(self, problem: GradientMatrices) -> Array:
        gradients = _square(problem)
        left, _, right = jnp.linalg.svd(gradients[0])
        return left @ _adam_steps(left.T @ gradients[1:] @ right.T) @ right

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        gradients = _square(problem)
        method = scale_by_soap(b1=0.95, b2=0.95, eps=0.0, every=len(gradients) + 1)
        return updates_of(method, gradients)[1:]

    def condition(self, problem: GradientMatrices) -> Array:
        """Bound the errors: rounding turns singular vectors by an angle of eps over the smallest gap, and Adam divides
        by small entries.
        """
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
    """Let G = U S V' be the gradient. Let s = S/|G|_F be the singular values divided by the Frobenius norm, and let
    p(s) = 3.4445 s - 4.7750 s³ + 2.0315 s⁵. The first step of Muon is U p(p(p(p(p(s))))) V': it has the same singular
    vectors as G. So the step is not the polar factor of G.
    """

    title = "The first step of Muon applies a polynomial to each singular value of the gradient"
    source = Source("emergence2026", "Figure 5.24", note="the matrix preconditioner without a root")
    population = GradientSequences()
    relation = Equal(block=_WHOLE)
    control = Control("the step is the polar factor", lambda value, problem: _polar(problem.gradients[0]))
    controls = "the first step of Muon"
    unexplained = "why an exact polar factor is not necessary"

    def predict(self, problem: GradientMatrices) -> Array:
        left, values, right = _factors(problem.gradients[0])
        return left * _scalar_steps(values / jnp.linalg.norm(values)) @ right

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        return _muon_step(problem.gradients[0])

    def condition(self, problem: GradientMatrices) -> Array:
        """Return the bound 3.4445^5 on how much five steps magnify a small singular value."""
        return len(problem.gradients[0]) * jnp.asarray(_QUINTIC[0] ** 5)


def _polar(matrix: Float[Array, "m n"]) -> Array:
    left, _, right = _factors(matrix)
    return left @ right


class MuonMissesOrthogonality(Claim[GradientMatrices]):
    """Let p(s) = 3.4445 s - 4.7750 s³ + 2.0315 s⁵. Muon divides the gradient by its Frobenius norm, and applies this
    polynomial five times to the singular values. Let the singular values of the gradient be at least a hundredth of its
    Frobenius norm. Then the singular values of Muon's first step differ from 1 by at most

        max over 0.01 <= s <= 1 of |p(p(p(p(p(s))))) - 1|,   about 0.32.

    The value 1 is not a fixed point of p, so more than five applications do not bring the singular values closer to 1.
    """

    title = "Muon's step is only roughly orthogonal: its singular values differ from 1 by at most about 0.32"
    source = Source("emergence2026", "Figure 5.24", note="the matrix preconditioner without a root")
    population = GradientSequences()
    relation = AtMost()
    control = Control("half of the bound is enough", lambda bound, problem: bound / 2)
    controls = "the singular values of Muon's first step"
    unexplained = "why an exact polar factor is not necessary"
    trivial = "an iteration that does not converge has no bound that is known in advance"

    def predict(self, problem: GradientMatrices) -> Array:
        """Compute the maximum of the scalar map on a fine grid; it is infinite if a relative singular value is below
        the grid.
        """
        grid = np.linspace(_LEAST, 1.0, 200_001)
        values = jnp.linalg.svd(problem.gradients[0], compute_uv=False)
        # a grid misses an inner maximum by at most its curvature times the square of a spacing of 5e-6
        most = np.abs(_scalar_steps(grid) - 1).max()
        return jnp.where(values[-1] / jnp.linalg.norm(values) >= _LEAST, most, jnp.inf)

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        values = jnp.linalg.svd(_muon_step(problem.gradients[0]), compute_uv=False)
        return jnp.abs(values - 1).max()


class AdafactorIsDivergenceOptimal(Claim[PositiveTable]):
    """Let V be the table of second moments of the entries of a weight matrix. Adafactor approximates V by a table of
    rank one: the row sums of V times the column sums of V, divided by the total. Among all non-negative tables R of
    rank one, this table is nearest to V in the divergence

        sum V log(V/R) - V + R.

    The trials minimise the divergence by multiplicative updates. These updates never increase the divergence, and they
    end at Adafactor's table from any positive start.
    """

    title = "Adafactor stores the rank-one table that is nearest to the second moments in divergence"
    source = Source("shazeer2018", note="main result")
    population = PositiveTables()
    relation = Equal()
    control = Control(
        "the table is the nearest table in squared error", lambda value, problem: _nearest(problem.values)
    )
    controls = "the second moments that Adafactor uses"
    unexplained = "whether the second moments of networks are nearly of rank one"

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
