"""False statements about subgradients and conjugate gradients."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Hypothesis, Integer, Population, Real, Space, Status

from ._textbook import HALVED, AbstractTextbook, Case, book


class Subgradient(eqx.Module):
    """A point and a step."""

    x: Float[Array, " d"]
    step: Float[Array, ""]


class SubgradientSteps(Population[Subgradient]):
    """Normal points, steps of at most 1."""

    free: ClassVar[tuple[str, ...]] = ("x",)

    def settings(self) -> Space:
        return Space(d=Integer(5, 1, 20), step=Real(0.2, 0.01, 1.0))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Subgradient:
        return Subgradient(jax.random.normal(key, (setting["d"],)), jnp.asarray(setting["step"]))

    def hypotheses(self, problem: Subgradient) -> list[Hypothesis]:
        size = jnp.abs(problem.x).max()
        return [
            Hypothesis("the point is not the minimum", size, ">=", 1e-3),
            Hypothesis("the point is moderate", size, "<=", 1e3),
            Hypothesis("the step is at most 1", problem.step, "<=", 1.0),
        ]


class AbstractSubgradient(AbstractTextbook[Subgradient]):
    """The distance from the minimum of |x|_1 before the step."""

    population = SubgradientSteps()
    relation = AtMost()
    control = HALVED

    def predict(self, problem: Subgradient) -> Array:
        return jnp.linalg.norm(problem.x)

    def condition(self, problem: Subgradient) -> Array:
        return jnp.asarray(100.0)


class ContractionWithoutSmoothness(AbstractSubgradient):
    """A step of size at most 1 along the (sub)gradient of a convex function that is Lipschitz with the constant 1 in
    each coordinate, here |x|_1, does not lead away from its minimum.
    """

    title = "Steps along subgradients do not lead away from the minimum"
    source = book("nesterov2004", "contraction of gradient descent, with smoothness dropped")
    expected = Status.REFUTED

    def measure(self, problem: Subgradient, key: Key[Array, ""]) -> Array:
        return jnp.linalg.norm(problem.x - problem.step * jnp.sign(problem.x))


class ContractionByPolyaksStep(AbstractSubgradient):
    """A step of size (f(x) - f*) / |g|² along a subgradient g of a convex function f, here |x|_1, does not lead away
    from its minimum.
    """

    title = "Polyak's steps do not lead away from the minimum"
    source = book("nesterov2004", "subgradients with Polyak's step")

    def measure(self, problem: Subgradient, key: Key[Array, ""]) -> Array:
        signs = jnp.sign(problem.x)
        moved = problem.x - signs * jnp.abs(problem.x).sum() / jnp.maximum(jnp.sum(signs**2), 1.0)
        return jnp.sqrt(jnp.maximum(moved @ moved, 1e-300))


class DiagonalSystem(eqx.Module):
    """A diagonal system with eigenvalues 1 + (kappa - 1) sigmoid(places), and the error at the start."""

    places: Float[Array, " d"]
    error: Float[Array, " d"]
    kappa: Float[Array, ""]
    steps: int = eqx.field(static=True)

    @property
    def eigenvalues(self) -> Float[Array, " d"]:
        """Between 1 and kappa."""
        return 1 + (self.kappa - 1) * jax.nn.sigmoid(self.places)

    def energy(self, error: Float[Array, " d"]) -> Float[Array, ""]:
        """The norm of an error that conjugate gradients make small."""
        return jnp.sqrt(jnp.maximum(self.eigenvalues @ error**2, 1e-300))


class DiagonalSystems(Population[DiagonalSystem]):
    """Normal places and errors."""

    free: ClassVar[tuple[str, ...]] = ("places", "error")

    def settings(self) -> Space:
        space = Space(d=Integer(10, 2, 20), n=Integer(3, 1, 6, "steps"), kappa=Real(20.0, 2.0, 100.0))
        return space.where("there are fewer steps than unknowns", lambda s: s["n"] < s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> DiagonalSystem:
        places, error = jax.random.normal(key, (2, setting["d"]))
        return DiagonalSystem(2 * places, error, jnp.asarray(setting["kappa"]), setting["n"])

    def hypotheses(self, problem: DiagonalSystem) -> list[Hypothesis]:
        size = jnp.abs(problem.error).max()
        return [
            Hypothesis("the start is not the solution", size, ">=", 1e-3),
            Hypothesis("the start is moderate", size, "<=", 1e3),
            Hypothesis("places are finite", jnp.abs(problem.places).max(), "<=", 1e3),
            Hypothesis("kappa is above 1", problem.kappa, ">=", 2.0),
        ]


def _divided(above: Array, below: Array) -> Array:
    """0 where conjugate gradients have arrived and both are 0."""
    return jnp.where(below > 1e-200, above / jnp.where(below > 1e-200, below, 1.0), 0.0)


class AbstractConjugateGradients(AbstractTextbook[DiagonalSystem]):
    """The energy norm of the error after some steps, by running them."""

    population = DiagonalSystems()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: DiagonalSystem, key: Key[Array, ""]) -> Array:
        values, error = problem.eigenvalues, problem.error
        residual = direction = values * error
        for _ in range(problem.steps):
            length = _divided(residual @ residual, direction @ (values * direction))
            error, left = error - length * direction, residual - length * values * direction
            direction = left + _divided(left @ left, residual @ residual) * direction
            residual = left
        return problem.energy(error)

    def condition(self, problem: DiagonalSystem) -> Array:
        return 1e4 * problem.kappa


def _rate(problem: DiagonalSystem) -> Array:
    root = jnp.sqrt(problem.kappa)
    return ((root - 1) / (root + 1)) ** problem.steps


class ConjugateGradientsWithoutTwo(AbstractConjugateGradients):
    """n steps of conjugate gradients on a system with eigenvalues between 1 and kappa leave at most r^n of the error,
    r = (sqrt(kappa) - 1) / (sqrt(kappa) + 1), in the energy norm.
    """

    title = "The rate of conjugate gradients without the factor 2"
    source = book("golub2013", "the rate of conjugate gradients, with a factor dropped")
    expected = Status.REFUTED

    def predict(self, problem: DiagonalSystem) -> Array:
        return _rate(problem) * problem.energy(problem.error)


class ConjugateGradientsChebyshev(AbstractConjugateGradients):
    """n steps of conjugate gradients on a system with eigenvalues between 1 and kappa leave at most 2 / (r^n + r^-n) of
    the error, r = (sqrt(kappa) - 1) / (sqrt(kappa) + 1), in the energy norm, which is attained.
    """

    title = "The rate of conjugate gradients by Chebyshev's polynomials"
    source = book("golub2013", "the rate of conjugate gradients, before it is simplified")

    def predict(self, problem: DiagonalSystem) -> Array:
        return 2 / (_rate(problem) + 1 / _rate(problem)) * problem.energy(problem.error)


def _slow_start() -> DiagonalSystem:
    """One step from the error along which steepest descent is slowest."""
    return DiagonalSystem(jnp.array([-60.0, 60.0]), jnp.array([1.0, 1 / 9]), jnp.asarray(9.0), 1)


CASES = (
    Case(
        ContractionWithoutSmoothness(),
        ContractionByPolyaksStep(),
        "only near the minimum, |x|_1 < d step / 2, where normal points hardly are; off by any factor",
        {"d": 1, "step": 1.0},
        3.0,
        lambda: Subgradient(jnp.array([0.25]), jnp.asarray(1.0)),
    ),
    Case(
        ConjugateGradientsWithoutTwo(),
        ConjugateGradientsChebyshev(),
        "only for starts near the slowest; off by up to 2 / (1 + r^(2 n))",
        {"d": 2, "n": 1, "kappa": 9.0},
        1.6,
        _slow_start,
    ),
)
