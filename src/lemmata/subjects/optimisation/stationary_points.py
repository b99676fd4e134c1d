"""Gradient descent without convexity: the least gradient norm falls like t^(-1/2).

This theory bounds the least gradient norm along gradient descent on a smooth function, convex or not. It assumes a
known bound on the curvature. The theory does not bound the loss, which may stay high.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Source, Space

ABOUT = {"tool": "convex optimisation", "architecture": "dense network", "object": "training"}


class TanhDescent(eqx.Module):
    """Descent on the squared loss of a network with fixed signs as readout, or on Huber's function.

    The network is f(x) = m^(-1/2) sum_j a_j tanh(<w_j, x>) with a_j = +-1, and its loss is the mean of (f - y)²/2.
    Huber's function of a number u, the ramp, is u²/2 up to |u| = 1 and |u| - 1/2 beyond.

    Args:
        weights: the initial weights w, flattened; the first entry is the start of descent on the ramp.
        signs: the signs a_j.
        x: the inputs of the network, one row each.
        y: the targets of the network's outputs.
        ramp: whether the function is the ramp of the first entry of the weights.
        steps: the number of steps of descent, each of size 1/smoothness.
    """

    weights: Float[Array, " p"]
    signs: Float[Array, " m"]
    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    ramp: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def loss(self, weights: Float[Array, " p"]) -> Float[Array, ""]:
        """Return the value of the function, whose infimum is at least 0."""
        hidden = jnp.tanh(self.x @ weights.reshape(len(self.signs), -1).T)
        residual = hidden @ self.signs / jnp.sqrt(len(self.signs)) - self.y
        size = jnp.abs(weights[0])
        bent = jnp.where(size <= 1, size**2 / 2, size - 0.5)
        return jnp.where(self.ramp > 0, bent, jnp.mean(residual**2) / 2)

    @property
    def smoothness(self) -> Float[Array, ""]:
        """A bound on the curvature at all points whose loss is at most the loss of the start; for the ramp, 1.

        The gradient of f has norm at most |x|. Its second derivative is at most 0.77 |x|²/sqrt(m), because |tanh''| <=
        0.77. A residual is at most sqrt(2 n loss).
        """
        n, square = len(self.y), jnp.sum(self.x**2, axis=1).max()
        residual = jnp.sqrt(2 * n * self.loss(self.weights))
        bound = square * (1 + 0.77 * residual / jnp.sqrt(len(self.signs)))
        return jnp.where(self.ramp > 0, 1.0, bound)


class TanhDescents(Population[TanhDescent]):
    """Networks with normal weights, inputs and targets. In half of the problems, the function is a ramp instead,
    started at the distance steps + 1 from its minimum.
    """

    free = ("weights", "x", "y")
    settings = Space(
        units=Integer(6, 1, 64, "hidden units", corners=(3, 6)),
        n=Integer(10, 1, 200, "training rows", corners=(10, 20)),
        steps=Integer(40, 2, 2000, "steps of descent", corners=(40, 80)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TanhDescent:
        keys = jax.random.split(key, 5)
        units, n, steps = setting["units"], setting["n"], setting["steps"]
        ramp = jax.random.bernoulli(keys[0]).astype(float)
        weights = jax.random.normal(keys[1], (2 * units,))
        weights = weights.at[0].set(jnp.where(ramp > 0, steps + 1.0, weights[0]))
        signs = jax.random.rademacher(keys[2], (units,), float)
        x, y = jax.random.normal(keys[3], (n, 2)), jax.random.normal(keys[4], (n,))
        return TanhDescent(weights, signs, x, y, ramp, steps)

    def hypotheses(self, problem: TanhDescent) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the first loss is positive",
                problem.loss(problem.weights),
                ">",
                0.0,
                "otherwise the start is already a minimum",
            )
        ]


class LeastGradient(Claim[TanhDescent]):
    """Let f be a function with L-Lipschitz gradient, convex or not, and with infimum f*. Let f_0 be its value at the
    start. Gradient descent with the step 1/L reaches, within t steps, a point with

        |grad f|² <= 2 L (f_0 - f*)/(t + 1).

    So the smallest gradient norm falls at least like t^(-1/2). The source prints the rate t^(-1/3) for functions
    without convexity, and this rate is loose.

    For the proof, sum the decreases of f over the steps. Each step lowers f by at least |grad f|²/(2 L), with the
    gradient at the start of the step.

    Huber's function of one number attains the fraction (t + 1)/(2t + 1) of the bound. The test uses this function and
    networks. For networks, it uses f* = 0, and in place of L a bound on the curvature of f on the set where f is at
    most f_0.
    """

    title = "The smallest gradient norm along gradient descent falls at least like t^(-1/2)"
    source = Source("foundation2025", "Section 5.3, non-convex", note="sharper")
    population = TanhDescents()
    relation = AtMost()
    control = Control("9/20 of the bound is enough", lambda bound, problem: 0.45 * bound)
    controls = "the least squared gradient norm along gradient descent"
    unexplained = "whether the loss at the stationary point is low"

    def trivial(self, problem: TanhDescent) -> Array:
        """Return the bound that the first step alone gives."""
        return 2 * problem.smoothness * problem.loss(problem.weights)

    def predict(self, problem: TanhDescent) -> Array:
        return 2 * problem.smoothness * problem.loss(problem.weights) / (problem.steps + 1)

    def measure(self, problem: TanhDescent, key: Key[Array, ""]) -> Array:
        gradient, step = jax.grad(problem.loss), 1 / problem.smoothness

        def one(at, _):
            slope = gradient(at)
            return at - step * slope, jnp.sum(slope**2)

        return jax.lax.scan(one, problem.weights, None, length=problem.steps + 1)[1].min()
