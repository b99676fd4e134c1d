"""Gradient descent on smooth functions: the gain of one step, and the rate for strongly convex functions.

This theory bounds the decrease of one gradient step, and the distance from the minimiser after n steps. It assumes that
the smoothness is known and that gradients are exact. It does not explain descent with noisy gradients, or networks,
whose loss is not convex.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, signs, uniform
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}


class SmoothLoss(eqx.Module):
    """A loss of weights w on rows x with targets y; it is quadratic if `square` is 1, and logistic otherwise."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    w: Float[Array, " d"]
    square: Float[Array, ""]

    @property
    def smoothness(self) -> Float[Array, ""]:
        """The smoothness B = |x|²/4 of both losses, in the operator norm."""
        return jnp.linalg.norm(self.x, 2) ** 2 / 4

    def loss(self, w: Float[Array, " d"]) -> Float[Array, ""]:
        """Return |x w - y|²/8, or the sum of log(1 + exp(-y x'w))."""
        at = self.x @ w
        return jnp.where(self.square > 0, jnp.sum((at - self.y) ** 2) / 8, jnp.sum(jnp.logaddexp(0.0, -self.y * at)))


class SmoothLosses(Population[SmoothLoss]):
    """Losses, of which half are quadratic. For quadratic losses, w differs from the minimiser along the direction of
    largest curvature.
    """

    settings = Space(n=rows(20, 4, 400), d=dimension(5)).where("n is above d", lambda s: s["n"] > s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmoothLoss:
        keys = jax.random.split(key, 4)
        x = jax.random.normal(keys[0], (setting["n"], setting["d"]))
        w = jax.random.normal(keys[1], (setting["d"],))
        square = jax.random.bernoulli(keys[2]).astype(float)
        top = x @ jnp.linalg.eigh(x.T @ x)[1][:, -1]
        labels = jax.random.rademacher(keys[3], (setting["n"],), float)
        return SmoothLoss(x, jnp.where(square > 0, x @ w + top, labels), w, square)

    def hypotheses(self, problem: SmoothLoss) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the smoothness is positive", problem.smoothness, ">", 0.0, "the step is the inverse of the smoothness"
            )
        ]


class DescentLemma(Claim[SmoothLoss]):
    """Let f be B-smooth: |grad f(x) - grad f(y)| <= B |x - y| for all x and y. A gradient step of size 1/B decreases f
    by at least |grad f(x)|²/(2B):

        f(x) - f(x - grad f(x)/B) >= |grad f(x)|²/(2B).

    So the iterates move through nested sublevel sets. The function f need not be convex. Quadratics attain the bound if
    x differs from the minimiser along the direction of largest curvature.
    """

    title = "A gradient step of size 1/B decreases a B-smooth function"
    source = Source("emergence2026", "Figure 3.15", note="with the decrease of one step")
    population = SmoothLosses()
    relation = AtLeast()
    control = Control("the decrease is at least |grad f|²/(1.9 B)", lambda gain, problem: gain * 2 / 1.9)
    controls = "the decrease of a smooth loss in one step"
    unexplained = "gradients that fall along the step, which allow a longer step"
    trivial = 0.0

    def predict(self, problem: SmoothLoss) -> Array:
        return jnp.sum(jax.grad(problem.loss)(problem.w) ** 2) / (2 * problem.smoothness)

    def measure(self, problem: SmoothLoss, key: Key[Array, ""]) -> Array:
        after = problem.w - jax.grad(problem.loss)(problem.w) / problem.smoothness
        return problem.loss(problem.w) - problem.loss(after)

    def condition(self, problem: SmoothLoss) -> Array:
        """Bound the rounding errors. Two losses are subtracted, each with rounding errors in its margins."""
        margins = 1 + jnp.abs(problem.x @ problem.w).max()
        return 8 * margins * (1 + problem.loss(problem.w)) / self.predict(problem)


class ConvexAlongAxes(eqx.Module):
    """A sum f(x) of functions of single coordinates of x in a rotated basis, with curvatures from mu to B.

    The coordinate function is (mu + (B - mu) s) t²/2 if `curved` is -1, and mu t²/2 + (B - mu) sqrt(1 + t²) otherwise.
    Here s is 0 or 1. The minimiser is 0.
    """

    basis: Float[Array, "d d"]
    steep: Float[Array, " d"]
    curved: Float[Array, ""]
    start: Float[Array, " d"]
    smoothness: Float[Array, ""]
    kappa: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def value(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The value f(x)."""
        at, convexity = jnp.linalg.qr(self.basis)[0].T @ x, self.smoothness / self.kappa
        extra = jnp.where(self.curved > 0, jnp.sqrt(1 + at**2), (1 + self.steep) * at**2 / 4)
        return jnp.sum(convexity * at**2 / 2 + (self.smoothness - convexity) * extra)


class StronglyConvexRate(Claim[ConvexAlongAxes]):
    """Let f be mu-strongly convex and B-smooth, with the minimiser x*, and let kappa = B/mu. After n gradient steps of
    size 2/(mu + B),

        |x_n - x*| <= ((kappa - 1)/(kappa + 1))^n |x_0 - x*|.

    Quadratics whose curvatures are all mu or B attain the bound from every start.
    """

    title = "With condition number kappa, gradient descent contracts by (kappa - 1)/(kappa + 1) in each step"
    source = Source("nesterov2004", "Theorem 2.1.15")
    population = Drawn(
        ConvexAlongAxes,
        positive("smoothness", "the step is at most 2/B"),
        lambda problem: Hypothesis("kappa", problem.kappa, ">", 1.0, "B is above mu"),
        free=("start",),
        d=dimension(4, 2),
        basis=normal("d", "d"),
        steep=signs("d"),
        curved=signs(),
        start=normal("d"),
        smoothness=log_uniform(0.1, 10.0),
        kappa=log_uniform(4.0, 50.0),
        steps=Integer(5, 1, 200, "steps"),
    )
    relation = AtMost()
    control = Control(
        "the factor (1 - 2/kappa)^n is enough",
        lambda bound, problem: (
            bound * ((1 - 2 / problem.kappa) * (problem.kappa + 1) / (problem.kappa - 1)) ** problem.steps
        ),
    )
    controls = "the distance from the minimiser after n steps"
    unexplained = "functions whose curvature is rarely mu or B, for which descent is faster"

    def predict(self, problem: ConvexAlongAxes) -> Array:
        factor = (problem.kappa - 1) / (problem.kappa + 1)
        return factor**problem.steps * jnp.linalg.norm(problem.start)

    def measure(self, problem: ConvexAlongAxes, key: Key[Array, ""]) -> Array:
        step = 2 / (problem.smoothness / problem.kappa + problem.smoothness)
        move = lambda _, at: at - step * jax.grad(problem.value)(at)
        return jnp.linalg.norm(jax.lax.fori_loop(0, problem.steps, move, problem.start))

    def condition(self, problem: ConvexAlongAxes) -> Array:
        """Bound the rounding errors. Each step adds a rounding error that is a multiple of eps |x|, and rounds the
        factor of x.
        """
        return 8.0 * len(problem.start) * problem.steps * jnp.ones(())

    def trivial(self, problem: ConvexAlongAxes) -> Array:
        """Return the bound that follows because the iterates do not move away from the minimiser."""
        return jnp.linalg.norm(problem.start)


class IndefiniteQuadratic(eqx.Module):
    """The function F(x) = x'Hx/2, where the eigenvalues of H are from -lowest to ratio * lowest."""

    basis: Float[Array, "d d"]
    between: Float[Array, " d"]
    lowest: Float[Array, ""]
    ratio: Float[Array, ""]

    @property
    def hessian(self) -> Float[Array, "d d"]:
        """The Hessian H of F."""
        inside = -self.lowest * (1 - (1 + self.ratio) * self.between)
        spectrum = inside.at[0].set(-self.lowest).at[1].set(self.ratio * self.lowest)
        basis = jnp.linalg.qr(self.basis)[0]
        return (basis * spectrum) @ basis.T

    def value(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The value F(x)."""
        return x @ self.hessian @ x / 2


class SmoothnessIsTwoSided(Claim[IndefiniteQuadratic]):
    """Let F be a function with a constant Hessian H. The function F is B-smooth if |grad F(x) - grad F(y)| <= B |x - y|
    for all x and y. The smallest such B is the largest absolute value of the eigenvalues of H. So F is B-smooth if and
    only if -B I <= H <= B I. If F is convex, the upper bound H <= B I alone is equivalent to B-smoothness.
    """

    title = "B-smoothness bounds the Hessian from both sides"
    source = Source("emergence2026", "Definition 3.12", note="for functions that need not be convex")
    population = Drawn(
        IndefiniteQuadratic,
        positive("lowest"),
        positive("ratio"),
        d=dimension(5, 2),
        basis=normal("d", "d"),
        between=uniform(0.0, 1.0, "d"),
        lowest=log_uniform(0.1, 10.0),
        ratio=log_uniform(0.4, 2.5),
    )
    relation = Equal()
    control = Control(
        "the constant is the largest eigenvalue, with its sign",
        lambda least, problem: jnp.linalg.eigvalsh(problem.hessian)[-1],
    )
    controls = "the least Lipschitz constant of a gradient"
    unexplained = "functions whose Hessian varies, for which the constant is a supremum over points"

    def predict(self, problem: IndefiniteQuadratic) -> Array:
        return jnp.abs(jnp.linalg.eigvalsh(problem.hessian)).max()

    def measure(self, problem: IndefiniteQuadratic, key: Key[Array, ""]) -> Array:
        """Return the largest ratio over all x - y: the operator norm of the matrix of the gradient's differences along
        the axes.
        """
        gradient, at = jax.grad(problem.value), jax.random.normal(key, problem.between.shape)
        differences = jax.vmap(lambda axis: gradient(at + axis) - gradient(at))(jnp.eye(len(at)))
        return jnp.linalg.norm(differences, 2)

    def condition(self, problem: IndefiniteQuadratic) -> Array:
        """Bound the rounding errors. Gradients are subtracted at a point of length up to about sqrt(d) + 4."""
        return jnp.asarray(8.0 * len(problem.between) ** 1.5)
