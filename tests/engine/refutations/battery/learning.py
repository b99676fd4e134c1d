"""False statements about learning: smoothness of networks, complexity of classes, mistakes of the perceptron."""

import itertools
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Hypothesis, Integer, Population, Real, Space, Status

from ._linear_algebra import spectral_norm
from ._textbook import DOUBLED, HALVED, AbstractTextbook, Case, book


def _lengths(vectors: Float[Array, "*n d"]) -> Float[Array, "*n"]:
    """Euclidean norms, with the derivative 0 at 0."""
    squared = jnp.sum(vectors**2, axis=-1)
    return jnp.where(squared > 0, jnp.sqrt(jnp.where(squared > 0, squared, 1.0)), 0.0)


class Scores(eqx.Module):
    """Two vectors of scores."""

    x: Float[Array, " m"]
    y: Float[Array, " m"]


class RandomScores(Population[Scores]):
    """Normal scores."""

    free: ClassVar[tuple[str, ...]] = ("x", "y")

    def settings(self) -> Space:
        return Space(m=Integer(12, 2, 50, "classes"), scale=Real(1.0, 0.1, 3.0))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Scores:
        return Scores(*(setting["scale"] * jax.random.normal(key, (2, setting["m"]))))

    def hypotheses(self, problem: Scores) -> list[Hypothesis]:
        size = jnp.maximum(jnp.abs(problem.x).max(), jnp.abs(problem.y).max())
        return [
            Hypothesis("the scores differ", jnp.abs(problem.x - problem.y).max(), ">=", 1e-2),
            Hypothesis("the scores are moderate", size, "<=", 50.0),
        ]


class AbstractSoftmaxMoves(AbstractTextbook[Scores]):
    """The distance of two softmax outputs."""

    population = RandomScores()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Scores, key: Key[Array, ""]) -> Array:
        return _lengths(jax.nn.softmax(problem.x) - jax.nn.softmax(problem.y))

    def condition(self, problem: Scores) -> Array:
        size = jnp.maximum(jnp.abs(problem.x).max(), jnp.abs(problem.y).max())
        return 100 * (1 + size) / _lengths(problem.x - problem.y)


class SoftmaxIsAQuarterLipschitz(AbstractSoftmaxMoves):
    """Softmax is Lipschitz with the constant 1/4 in the Euclidean norm, as the logistic function is."""

    title = "Softmax is 1/4-Lipschitz"
    source = book("shalev2014", "the Lipschitz constant of softmax, confused with the logistic function's")
    expected = Status.REFUTED

    def predict(self, problem: Scores) -> Array:
        return _lengths(problem.x - problem.y) / 4


class SoftmaxIsHalfLipschitz(AbstractSoftmaxMoves):
    """Softmax is Lipschitz with the constant 1/2 in the Euclidean norm, which cannot be improved."""

    title = "Softmax is 1/2-Lipschitz"
    source = book("shalev2014", "the Lipschitz constant of softmax")

    def predict(self, problem: Scores) -> Array:
        return _lengths(problem.x - problem.y) / 2


class NetworkAtTwoPoints(eqx.Module):
    """A ReLU network without biases, W_L relu(... relu(W_1 x)), at two inputs."""

    weights: Float[Array, "depth width width"]
    x: Float[Array, " width"]
    y: Float[Array, " width"]

    def apply(self, x: Float[Array, " width"]) -> Float[Array, " width"]:
        """The output."""
        for weights in self.weights[:-1]:
            x = jax.nn.relu(weights @ x)
        return self.weights[-1] @ x


class NetworksAtTwoPoints(Population[NetworkAtTwoPoints]):
    """Normal weights and inputs."""

    free: ClassVar[tuple[str, ...]] = ("weights", "x", "y")

    def settings(self) -> Space:
        return Space(width=Integer(6, 2, 10), depth=Integer(3, 1, 4, "layers"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NetworkAtTwoPoints:
        width, depth = setting["width"], setting["depth"]
        normal = jax.random.normal(key, (depth * width + 2, width))
        return NetworkAtTwoPoints(normal[2:].reshape(depth, width, width) / width**0.5, normal[0], normal[1])

    def hypotheses(self, problem: NetworkAtTwoPoints) -> list[Hypothesis]:
        sizes = jnp.abs(problem.weights).max(axis=(1, 2))
        inputs = jnp.maximum(jnp.abs(problem.x).max(), jnp.abs(problem.y).max())
        return [
            Hypothesis("the inputs differ", jnp.abs(problem.x - problem.y).max(), ">=", 0.01),
            Hypothesis("the inputs are moderate", inputs, "<=", 100.0),
            Hypothesis("no layer vanishes", sizes.min(), ">=", 0.01),
            Hypothesis("weights are moderate", sizes.max(), "<=", 10.0),
        ]


class AbstractNetworkMoves(AbstractTextbook[NetworkAtTwoPoints]):
    """The distance of two outputs."""

    population = NetworksAtTwoPoints()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: NetworkAtTwoPoints, key: Key[Array, ""]) -> Array:
        return _lengths(problem.apply(problem.x) - problem.apply(problem.y))

    def condition(self, problem: NetworkAtTwoPoints) -> Array:
        size = _lengths(problem.x) + _lengths(problem.y)
        return 1e3 * size / _lengths(problem.x - problem.y)


def _stretched(problem: NetworkAtTwoPoints) -> Array:
    return jnp.prod(jax.vmap(spectral_norm)(problem.weights)) * _lengths(problem.x - problem.y)


class ReluHalvesTheProduct(AbstractNetworkMoves):
    """Since ReLU passes half of all inputs, a ReLU network is Lipschitz with half of the product of the spectral norms
    of its layers.
    """

    title = "A ReLU network is Lipschitz with half of the product of norms"
    source = book("shalev2014", "the product of norms of a network, with a heuristic factor")
    expected = Status.REFUTED

    def predict(self, problem: NetworkAtTwoPoints) -> Array:
        return _stretched(problem) / 2


class ReluKeepsTheProduct(AbstractNetworkMoves):
    """A ReLU network is Lipschitz with the product of the spectral norms of its layers."""

    title = "A ReLU network is Lipschitz with the product of norms"
    source = book("shalev2014", "the product of norms of a network")

    def predict(self, problem: NetworkAtTwoPoints) -> Array:
        return _stretched(problem)


class Rows(eqx.Module):
    """n rows of d numbers."""

    x: Float[Array, "n d"]

    def mean_length(self) -> Float[Array, ""]:
        """The mean of |sum_i e_i x_i| over all signs e, of which the first is 1 without loss."""
        signs = np.array([(1.0, *rest) for rest in itertools.product((1.0, -1.0), repeat=len(self.x) - 1)])
        return _lengths(jnp.asarray(signs) @ self.x).mean()


class RandomRows(Population[Rows]):
    """Normal rows."""

    free: ClassVar[tuple[str, ...]] = ("x",)
    least: int = 2

    def settings(self) -> Space:
        return Space(n=Integer(5, self.least, 8, "rows"), d=Integer(4, 1, 60, "inputs"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Rows:
        return Rows(jax.random.normal(key, (setting["n"], setting["d"])))

    def hypotheses(self, problem: Rows) -> list[Hypothesis]:
        sizes = jnp.abs(problem.x).max(axis=1)
        return [
            Hypothesis("the rows are moderate", sizes.max(), "<=", 100.0),
            Hypothesis("no row is 0", sizes.min(), ">=", 0.1),
        ]


class AbstractRademacherLinear(AbstractTextbook[Rows]):
    """n times the Rademacher complexity, over all signs."""

    population = RandomRows(least=3)
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Rows, key: Key[Array, ""]) -> Array:
        return problem.mean_length()

    def condition(self, problem: Rows) -> Array:
        return jnp.asarray(100.0)


class RademacherTwoPercentTooGood(AbstractRademacherLinear):
    """The linear functions with coefficients in the unit ball have on rows x_1 to x_n a Rademacher complexity of at
    most 0.98 sqrt(sum_i |x_i|²) / n.
    """

    title = "The Rademacher complexity of linear functions with 0.98"
    source = book("shalev2014", "the Rademacher complexity of linear classes, with a wrong constant")
    expected = Status.REFUTED

    def predict(self, problem: Rows) -> Array:
        return 0.98 * jnp.linalg.norm(problem.x)


class RademacherLinear(AbstractRademacherLinear):
    """The linear functions with coefficients in the unit ball have on rows x_1 to x_n a Rademacher complexity of at
    most sqrt(sum_i |x_i|²) / n, with equality for orthogonal rows.
    """

    title = "The Rademacher complexity of linear functions"
    source = book("shalev2014", "the Rademacher complexity of linear classes")

    def predict(self, problem: Rows) -> Array:
        return jnp.linalg.norm(problem.x)


class AbstractKhintchine(AbstractTextbook[Rows]):
    """The mean of |sum_i e_i x_i| over all signs."""

    population = RandomRows()
    relation = AtLeast()
    control = DOUBLED

    def measure(self, problem: Rows, key: Key[Array, ""]) -> Array:
        return problem.mean_length()

    def condition(self, problem: Rows) -> Array:
        return jnp.asarray(100.0)


class KhintchineLikeNormal(AbstractKhintchine):
    """The mean of |sum_i e_i x_i| over random signs is at least sqrt(2/pi) sqrt(sum_i |x_i|²), as with normal numbers
    in their place.
    """

    title = "Khintchine's inequality with the normal law's constant"
    source = book("boucheron2013", "Khintchine's inequality, with the constant of the normal law")
    expected = Status.REFUTED

    def predict(self, problem: Rows) -> Array:
        return jnp.sqrt(2 / jnp.pi) * jnp.linalg.norm(problem.x)


class KhintchineSzarek(AbstractKhintchine):
    """The mean of |sum_i e_i x_i| over random signs is at least sqrt(1/2) sqrt(sum_i |x_i|²), with equality for two
    equal rows.
    """

    title = "Khintchine's inequality"
    source = book("boucheron2013", "Khintchine's inequality, with Szarek's constant")

    def predict(self, problem: Rows) -> Array:
        return jnp.sqrt(0.5) * jnp.linalg.norm(problem.x)


class Separable(eqx.Module):
    """Rows, each times its label, and a direction that separates them."""

    rows: Float[Array, "n d"]
    direction: Float[Array, " d"]

    @property
    def margin(self) -> Float[Array, ""]:
        """The least distance of a row from the wrong side."""
        return (self.rows @ self.direction).min() / _lengths(self.direction)


class SeparableRows(Population[Separable]):
    """Normal rows, turned to the right side of a normal direction."""

    free: ClassVar[tuple[str, ...]] = ("rows", "direction")

    def settings(self) -> Space:
        return Space(n=Integer(6, 1, 10, "rows"), d=Integer(6, 1, 20, "inputs"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Separable:
        normal = jax.random.normal(key, (setting["n"] + 1, setting["d"]))
        sides = normal[1:] @ normal[0]
        return Separable(normal[1:] * jnp.sign(sides)[:, None], normal[0])

    def hypotheses(self, problem: Separable) -> list[Hypothesis]:
        size = jnp.abs(problem.rows).max()
        return [
            Hypothesis("the direction separates the rows", problem.margin, ">", 0.0),
            Hypothesis("the rows are moderate", size, "<=", 100.0),
            Hypothesis("the rows are not all tiny", size, ">=", 0.1),
        ]


class AbstractMistakes(AbstractTextbook[Separable]):
    """Mistakes of the perceptron in twenty rounds, from zero; what lies on the boundary is one."""

    population = SeparableRows()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Separable, key: Key[Array, ""]) -> Array:
        def see(number, state):
            weights, mistakes = state
            row = problem.rows[number % len(problem.rows)]
            wrong = weights @ row <= 0
            return weights + jnp.where(wrong, row, 0.0), mistakes + wrong

        start = (jnp.zeros_like(problem.direction), jnp.zeros(()))
        return jax.lax.fori_loop(0, 20 * len(problem.rows), see, start)[1]

    def condition(self, problem: Separable) -> Array:
        return jnp.asarray(1e3)


class MistakesLinearInTheMargin(AbstractMistakes):
    """The perceptron makes at most R / gamma mistakes on rows of norm at most R with margin gamma."""

    title = "The perceptron makes R/gamma mistakes"
    source = book("shalev2014", "the perceptron's mistakes, with a wrong power")
    expected = Status.REFUTED

    def predict(self, problem: Separable) -> Array:
        return _lengths(problem.rows).max() / problem.margin


class MistakesQuadraticInTheMargin(AbstractMistakes):
    """The perceptron makes at most (R / gamma)² mistakes on rows of norm at most R with margin gamma, with equality for
    orthonormal rows.
    """

    title = "The perceptron makes (R/gamma)² mistakes"
    source = book("shalev2014", "the perceptron's mistakes")

    def predict(self, problem: Separable) -> Array:
        return (_lengths(problem.rows).max() / problem.margin) ** 2


def _at_two_points() -> NetworkAtTwoPoints:
    return NetworkAtTwoPoints(jnp.stack([jnp.eye(2)] * 2), jnp.array([1.0, 1.0]), jnp.array([2.0, 1.0]))


CASES = (
    Case(
        SoftmaxIsAQuarterLipschitz(),
        SoftmaxIsHalfLipschitz(),
        "for two classes of nearly equal scores above all others (m = 2: nearly everywhere); off by up to 2",
        {"m": 2},
        4 * np.tanh(0.5),
        lambda: Scores(jnp.array([0.5, -0.5]), jnp.array([-0.5, 0.5])),
    ),
    Case(
        ReluHalvesTheProduct(),
        ReluKeepsTheProduct(),
        "only where inputs differ along leading singular vectors that no ReLU cuts; off by up to 2",
        {"width": 2, "depth": 2},
        2.0,
        _at_two_points,
    ),
    Case(
        RademacherTwoPercentTooGood(),
        RademacherLinear(),
        "only for nearly orthogonal rows: d >= n, or many inputs (normal rows: d above some 12); off by at most 1.02",
        {"n": 3, "d": 3},
        1 / 0.98,
        lambda: Rows(jnp.eye(3)),
    ),
    Case(
        KhintchineLikeNormal(),
        KhintchineSzarek(),
        "only near rows on a line of which two (or four, six, ...) are as large and the rest small; off by up to 1.128",
        {"n": 2, "d": 1},
        2 / np.pi**0.5,
        lambda: Rows(jnp.ones((2, 1))),
    ),
    Case(
        MistakesLinearInTheMargin(),
        MistakesQuadraticInTheMargin(),
        "only near orthogonal rows with the direction in their middle, d >= n >= 2; off by up to sqrt(n)",
        {"n": 4, "d": 4},
        2.0,
        lambda: Separable(jnp.eye(4), jnp.ones(4)),
    ),
)
