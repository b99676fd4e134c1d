"""The changes of coordinates that leave an optimiser unchanged.

This theory is about the whole path of training after a change of the weights' coordinates, or of the unit of the loss.
An optimiser commutes with a group of maps if each map takes the optimiser's path to the optimiser's path on the mapped
loss. The theory assumes eps = 0. It does not explain which group suits a network.
"""

import abc
from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.optimisers import shampoo
from lemmata.subjects.optimisers._training_matrices import MatrixTraining, MatrixTrainings

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "training"}

_WHOLE = -1
_RATE = 0.02
Map = tuple[Callable, Callable]
"""A map of weight matrices, and the inverse of the map."""


def _trained(problem: MatrixTraining, method: optax.GradientTransformation, loss: Callable, start: Array) -> Array:
    def one(_, carry):
        weights, state = carry
        update, state = method.update(jax.grad(loss)(weights), state, weights)
        return weights + update, state

    return jax.lax.fori_loop(0, problem.steps, one, (start, method.init(start)))[0]


def _through(problem: MatrixTraining, method: optax.GradientTransformation, maps: Map, scale: Array | float) -> Array:
    """Train in mapped coordinates on the loss times `scale`; return the weights in these coordinates."""
    forth, back = maps
    return _trained(problem, method, lambda weights: scale * problem.loss(back(weights)), forth(problem.start))


def rotation(problem: MatrixTraining) -> Map:
    """Return an orthogonal map of all entries together."""
    turn = lambda matrix: lambda w: (matrix @ w.ravel()).reshape(w.shape)
    return turn(problem.whole), turn(problem.whole.T)


def side_rotations(problem: MatrixTraining) -> Map:
    """Return the map W -> U W V."""
    return lambda w: problem.left @ w @ problem.right, lambda w: problem.left.T @ w @ problem.right.T


def signed_permutation(problem: MatrixTraining) -> Map:
    """Return the map that permutes all entries and changes some signs."""
    forth = lambda w: problem.signs * w.ravel()[problem.order].reshape(w.shape)
    back = lambda w: (problem.signs * w).ravel()[jnp.argsort(problem.order)].reshape(w.shape)
    return forth, back


def side_permutations(problem: MatrixTraining) -> Map:
    """Return the map that permutes rows and columns and changes signs of single entries."""
    forth = lambda w: problem.signs * w[problem.rows][:, problem.columns]
    back = lambda w: (problem.signs * w)[jnp.argsort(problem.rows)][:, jnp.argsort(problem.columns)]
    return forth, back


def stretching(problem: MatrixTraining) -> Map:
    """Return the map that multiplies the first row of W by 3/2."""
    factor = jnp.ones_like(problem.start).at[0].set(1.5)
    return lambda w: factor * w, lambda w: w / factor


class AbstractCommutes(Claim[MatrixTraining]):
    """The statement that an optimiser commutes with a group of maps, and not with the next larger group."""

    population = MatrixTrainings()
    relation = Equal(block=_WHOLE)
    control = Control("the optimiser commutes with the next larger group", lambda value, problem: value)
    controls = "the weights after training in other coordinates"
    unexplained = "which symmetry improves training"
    scales = True
    """Whether the path of the weights also does not depend on the unit of the loss."""

    @abc.abstractmethod
    def method(self) -> optax.GradientTransformation:
        """Return the optimiser whose symmetry the claim states."""

    @abc.abstractmethod
    def maps(self, problem: MatrixTraining) -> Map:
        """Return a map of the group, and its inverse."""

    def predict(self, problem: MatrixTraining) -> Array:
        """Train in the original coordinates, and map the final weights."""
        return self.maps(problem)[0](_trained(problem, self.method(), problem.loss, problem.start))

    def measure(self, problem: MatrixTraining, key: Key[Array, ""]) -> Array:
        """Map the start and the loss, and train in the mapped coordinates."""
        return _through(problem, self.method(), self.maps(problem), problem.scale if self.scales else 1.0)

    def condition(self, problem: MatrixTraining) -> Array:
        """Bound the errors: steps divide by gradients, and the smallest entry has the largest entry's rounding error.

        Five Newton-Schulz steps, or an inverse fourth root, magnify a small singular value by at most the squared ratio
        of the largest to the least singular value. The loss is a mean over 24 points, and the rounding of a step
        changes the next gradient.
        """
        slope = jnp.abs(jax.grad(problem.loss)(problem.start))
        values = jnp.linalg.svd(slope, compute_uv=False)
        return 10.0 * problem.steps * (slope.max() / slope.min() + (values[0] / values[-1]) ** 2)


def _beyond(method: Callable[[], optax.GradientTransformation], inner: Callable, outer: Callable) -> Callable:
    """Map the start by `outer` and train. Map the final matrix back by `outer`, and then by `inner`."""

    def other(value: Array, problem: MatrixTraining) -> Array:
        back = outer(problem)[1]
        return inner(problem)[0](back(_through(problem, method(), outer(problem), 1.0)))

    return other


def _sgd() -> optax.GradientTransformation:
    return optax.sgd(_RATE, momentum=0.9)


def _adam() -> optax.GradientTransformation:
    return optax.adamw(_RATE, eps=0.0, weight_decay=0.1)


def _adagrad() -> optax.GradientTransformation:
    return optax.adagrad(_RATE, initial_accumulator_value=0.0, eps=0.0)


def _lion() -> optax.GradientTransformation:
    return optax.lion(_RATE, weight_decay=0.1)


def _muon() -> optax.GradientTransformation:
    return optax.chain(optax.contrib.scale_by_muon(eps=0.0), optax.scale_by_learning_rate(_RATE))


def _shampoo() -> optax.GradientTransformation:
    return shampoo(_RATE, eps=1e-14)


def _adafactor() -> optax.GradientTransformation:
    return optax.adafactor(_RATE, min_dim_size_to_factor=2, eps=0.0)


class SgdCommutesWithRotations(AbstractCommutes):
    """Let M be any orthogonal map of the weights, and let f be the loss. Descent with momentum commutes with M: if
    training on f from theta_0 ends at theta_T, then training on f(M^-1 theta) from M theta_0 ends at M theta_T. Descent
    with momentum does not commute with a map that stretches one row.
    """

    title = "Gradient descent with momentum commutes with every rotation of the weights"
    source = Source("emergence2026", "Figure 5.15", note="the group of an optimiser")
    scales = False
    control = Control("descent also commutes with stretching a row", _beyond(_sgd, rotation, stretching))

    def method(self) -> optax.GradientTransformation:
        return _sgd()

    def maps(self, problem: MatrixTraining) -> Map:
        return rotation(problem)


class AdamCommutesWithSignedPermutations(AbstractCommutes):
    """Let M be any signed permutation of the coordinates, let f be the loss, and let c > 0. AdamW without eps commutes
    with M and ignores the factor c: if training on f from theta_0 ends at theta_T, then training on c f(M^-1 theta)
    from M theta_0 ends at M theta_T. AdamW does not commute with rotations.
    """

    title = "AdamW commutes with signed permutations and ignores the scale of the loss"
    source = Source("emergence2026", "Figure 5.15", note="the group of an optimiser")
    control = Control("AdamW commutes with rotations as well", _beyond(_adam, signed_permutation, rotation))

    def method(self) -> optax.GradientTransformation:
        return _adam()

    def maps(self, problem: MatrixTraining) -> Map:
        return signed_permutation(problem)


class AdagradCommutesWithSignedPermutations(AbstractCommutes):
    """Let M be any signed permutation of the coordinates, let f be the loss, and let c > 0. Diagonal AdaGrad without
    eps commutes with M and ignores the factor c: if training on f from theta_0 ends at theta_T, then training on c
    f(M^-1 theta) from M theta_0 ends at M theta_T. AdaGrad does not commute with rotations.
    """

    title = "AdaGrad commutes with signed permutations and ignores the scale of the loss"
    source = Source("emergence2026", "Figure 5.15", note="the group of an optimiser")
    control = Control("AdaGrad commutes with rotations as well", _beyond(_adagrad, signed_permutation, rotation))

    def method(self) -> optax.GradientTransformation:
        return _adagrad()

    def maps(self, problem: MatrixTraining) -> Map:
        return signed_permutation(problem)


class LionCommutesWithSignedPermutations(AbstractCommutes):
    """Let M be any signed permutation of the coordinates, let f be the loss, and let c > 0. Lion with decoupled decay
    commutes with M and ignores the factor c: if training on f from theta_0 ends at theta_T, then training on c f(M^-1
    theta) from M theta_0 ends at M theta_T. Lion does not commute with rotations.
    """

    title = "Lion commutes with signed permutations and ignores the scale of the loss"
    source = Source("emergence2026", "Figure 5.22", note="the group of an optimiser")
    control = Control("Lion commutes with rotations as well", _beyond(_lion, signed_permutation, rotation))

    def method(self) -> optax.GradientTransformation:
        return _lion()

    def maps(self, problem: MatrixTraining) -> Map:
        return signed_permutation(problem)


class MuonCommutesWithSideRotations(AbstractCommutes):
    """Let W -> U W V be a rotation of both sides of a weight matrix, where U and V are orthogonal. Muon without eps
    commutes with this rotation, and its steps do not change if the loss is multiplied by a positive factor. Muon does
    not commute with rotations that mix all entries.
    """

    title = "Muon commutes with rotations of the rows and of the columns of a weight matrix"
    source = Source("emergence2026", "Figure 5.24", note="the group of an optimiser")
    control = Control("Muon commutes with rotations of all entries as well", _beyond(_muon, side_rotations, rotation))

    def method(self) -> optax.GradientTransformation:
        return _muon()

    def maps(self, problem: MatrixTraining) -> Map:
        return side_rotations(problem)


class ShampooCommutesWithSideRotations(AbstractCommutes):
    """Let W -> U W V be a rotation of both sides of a weight matrix, where U and V are orthogonal. Shampoo commutes
    with this rotation, and its steps do not change if the loss is multiplied by a positive factor. Shampoo does not
    commute with rotations that mix all entries.
    """

    title = "Shampoo commutes with rotations of the rows and of the columns of a weight matrix"
    source = Source("gupta2018", note="the group of the method")
    control = Control(
        "Shampoo commutes with rotations of all entries as well", _beyond(_shampoo, side_rotations, rotation)
    )

    def method(self) -> optax.GradientTransformation:
        return _shampoo()

    def maps(self, problem: MatrixTraining) -> Map:
        return side_rotations(problem)


class AdafactorCommutesWithSidePermutations(AbstractCommutes):
    """Adafactor with eps = 0 commutes with permutations of the rows and of the columns of a weight matrix, and with
    sign changes of single entries. Its steps do not change if the loss is multiplied by a positive factor. Unlike Adam,
    it does not commute with permutations of all entries.
    """

    title = "Adafactor commutes with permutations of the rows and columns of a weight matrix, but not of single entries"
    source = Source("emergence2026", "Figure 5.19", note="the group of an optimiser")
    control = Control(
        "Adafactor commutes with permutations of all entries as well",
        _beyond(_adafactor, side_permutations, signed_permutation),
    )

    def method(self) -> optax.GradientTransformation:
        return _adafactor()

    def maps(self, problem: MatrixTraining) -> Map:
        return side_permutations(problem)
