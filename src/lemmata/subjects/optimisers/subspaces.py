"""Optimiser states in a subspace of the gradients: what such a method computes, ignores, and stores.

GaLore projects gradients on a basis, and runs Adam on the projections. This theory is about GaLore with a given basis.
If the basis is complete, GaLore is Adam in rotated coordinates. Otherwise GaLore ignores the part of the gradient
outside the basis. The theory does not explain how much of the gradients of networks a basis contains.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Source
from lemmata.subjects.optimisers import updates_of
from lemmata.subjects.optimisers._gradient_matrices import GradientMatrices, GradientSequences
from lemmata.subjects.optimisers._noisy_steps import StoredMatrices, StoredMatrix

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "memory"}

_WHOLE = -1
_SLACK = 8.0  # by which the largest rounding of singular vectors is below a condition number
_EVERY, _STEPS = 2, 4
_STORED_RANK = 2
# a number of the size of gradients that Adam adds to its denominators; without it, errors at zeros are unbounded
_LEAST = 1.0
_SINGLE = 2.0**29
"""The rounding error of GaLore's bases, in units of 2^-52. They are computed in single precision, with error 2^-23."""


def _square(problem: GradientMatrices) -> Float[np.ndarray, "t k k"]:
    """Return the leading square blocks, because a rectangle's basis spans only the first gradient's columns."""
    size = min(problem.gradients.shape[1:])
    return np.asarray(problem.gradients[:, :size, :size])


@functools.partial(jax.jit, static_argnums=1)
def _galore_steps(gradients: Float[Array, "t k k"], rank: int) -> Float[Array, "t k k"]:
    inner = optax.scale_by_adam(b1=0.9, b2=0.95, eps=_LEAST)
    return updates_of(optax.contrib.scale_by_galore(rank, len(gradients) + 1, base_optimizer=inner), gradients)


@jax.jit
def _adam_steps(gradients: Float[Array, "t k k"]) -> Float[Array, "t k k"]:
    return updates_of(optax.scale_by_adam(b1=0.9, b2=0.95, eps=_LEAST), gradients)


class GaloreOfFullRankIsRotatedAdam(Claim[GradientMatrices]):
    """GaLore runs Adam on gradients that are projected on a basis. Let the weights be a square matrix with gradients
    G_t, and let GaLore use as many dimensions as the matrix has rows. Let U be the left singular vectors of the
    gradient from which the basis was made. As long as the basis does not change, the steps are U a_t, where a_t are
    Adam's steps on the rotated gradients U'G_t. The test sets Adam's eps to 1, so the denominators are the roots of the
    second moments, plus 1.
    """

    title = "GaLore of full rank is Adam in a rotated basis"
    source = Source("emergence2026", "Figure 5.20", note="at full rank")
    population = GradientSequences()
    relation = Equal(block=_WHOLE)
    control = Control(
        "GaLore takes the steps of Adam in the original coordinates",
        lambda value, problem: _adam_steps(_square(problem)),
    )
    controls = "the steps of GaLore between two renewals of its basis"
    unexplained = "how few dimensions are enough"
    traced = False

    def predict(self, problem: GradientMatrices) -> Array:
        gradients = _square(problem)
        left = np.linalg.svd(gradients[0])[0]
        return jnp.asarray(left @ np.asarray(_adam_steps(left.T @ gradients)))

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        gradients = jnp.asarray(_square(problem))
        return _galore_steps(gradients, len(gradients[0]))

    def condition(self, problem: GradientMatrices) -> Array:
        """Bound the errors: singular vectors, and so the steps, turn by an angle of 2^-23 (single precision) over the
        smallest gap.
        """
        gradients = _square(problem)
        left, values, _ = np.linalg.svd(gradients[0])
        gap = np.abs(np.diff(values)).min(initial=values[-1])
        return jnp.asarray(_SINGLE * values[0] / gap * np.abs(left.T @ gradients).max() / _LEAST / _SLACK)


def _rank(problem: GradientMatrices) -> int:
    return max(min(problem.gradients.shape[1:]) // 3, 1)


@functools.partial(jax.jit, static_argnums=1)
def _losses(target: Float[Array, "m n"], rank: int) -> Float[Array, " t"]:
    method = optax.contrib.scale_by_galore(rank, _EVERY, base_optimizer=optax.identity())

    def one(carry, _):
        at, state = carry
        step, state = method.update(at - target, state)
        return (at - step, state), jnp.sum((at - step - target) ** 2) / 2

    start = jnp.zeros_like(target)
    return jax.lax.scan(one, (start, method.init(start)), None, length=_STEPS)[1]


class GaloreLeavesTheTail(Claim[GradientMatrices]):
    """Let the loss of a matrix W be |W - A|²/2, where the matrix A has the singular values s_i in falling order.
    Descend from 0 with steps of size 1, and project each gradient on a basis. The basis consists of the r leading left
    singular vectors of a gradient, and it is renewed in every second step. This method is GaLore without Adam. After t
    steps the loss is

        1/2 sum_(i > r ceil(t/2)) s_i².

    So a basis lowers the loss only in its first step, and only the next basis lowers the loss further. No matrix W of
    rank r ceil(t/2) has a smaller loss than the matrix after t steps.
    """

    title = "Gradient descent in a GaLore basis lowers the loss only in the first step with this basis"
    source = Source("zhao2024", note="projection by singular vectors, on the simplest loss")
    population = GradientSequences()
    relation = Equal()
    control = Control("further steps in a basis halve the remaining loss", lambda loss, problem: loss / 2)
    controls = "the loss that remains after training in a subspace"
    unexplained = "gradients of networks, whose leading directions change during training"
    traced = False

    def hypotheses(self, problem: GradientMatrices) -> list[Hypothesis]:
        least = min(problem.gradients.shape[1:])
        return [
            Hypothesis(
                "the smaller side is above twice the rank",
                least,
                ">",
                2 * _rank(problem),
                "then two bases do not remove the whole loss",
            )
        ]

    def predict(self, problem: GradientMatrices) -> Array:
        bases = [-(-number // _EVERY) for number in range(1, _STEPS + 1)]
        return jnp.asarray([_tail(problem, count) for count in bases])

    def measure(self, problem: GradientMatrices, key: Key[Array, ""]) -> Array:
        return _losses(problem.gradients[0], _rank(problem))

    def condition(self, problem: GradientMatrices) -> Array:
        """Bound the errors: the error of a basis is 2^-23 (single precision) over a gap. The error of a loss is the
        square of the error of a basis, relative to the loss that remains (the tail).
        """
        values = np.linalg.svd(np.asarray(problem.gradients[0]), compute_uv=False)
        gap = np.abs(np.diff(values)).min(initial=values[-1])
        turned = (_SINGLE * 2.0**-26 * values[0] / gap) ** 2  # 2^-23 over the gap, squared, in units of 2^-52
        return jnp.asarray(64 * turned * np.sum(values**2) / (2 * _tail(problem, 2)))


def _tail(problem: GradientMatrices, bases: int) -> float:
    values = np.linalg.svd(np.asarray(problem.gradients[0]), compute_uv=False)
    return float(np.sum(values[bases * _rank(problem) :] ** 2) / 2)


class GaloreStoredNumbers(Claim[StoredMatrix]):
    """Consider a matrix of m rows and n columns. Without step counters, GaLore of rank r with Adam inside stores

        r (max(m, n) + 2 min(m, n))

    values if it projects the longer side, as optax does. The stored values are a basis and two moments. If GaLore
    projects the shorter side, it stores r (min(m, n) + 2 max(m, n)) values. Adam alone stores 2 m n.
    """

    title = "GaLore of rank r stores r (max(m, n) + 2 min(m, n)) values for an m x n matrix"
    source = Source("zhao2024", note="the table of memory, here for the longer side")
    population = StoredMatrices()
    relation = Equal()
    control = Control(
        "two values per row and column are stored for each rank",
        lambda count, problem: 2.0 * _STORED_RANK * (problem.rows + problem.columns) * jnp.ones(()),
    )
    controls = "the memory of training in a subspace"
    unexplained = "how large the rank should be"
    traced = False

    def predict(self, problem: StoredMatrix) -> Array:
        sides = (problem.rows, problem.columns)
        return jnp.asarray(_STORED_RANK * (max(sides) + 2 * min(sides)), float)

    def measure(self, problem: StoredMatrix, key: Key[Array, ""]) -> Array:
        """Count the numbers in the leaves of the state that have more than one number."""
        weights = jax.ShapeDtypeStruct((problem.rows, problem.columns), np.float64)
        state = jax.tree.leaves(jax.eval_shape(optax.contrib.scale_by_galore(_STORED_RANK).init, weights))
        return jnp.asarray(sum(leaf.size for leaf in state if leaf.size > 1), float)
