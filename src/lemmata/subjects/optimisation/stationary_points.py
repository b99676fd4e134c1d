"""Gradient descent without convexity: the least gradient falls like t^(-1/2).

This theory controls the least norm of a gradient that descent has met on a smooth function, convex or not. It assumes a
known bound of the curvature; it says nothing about the loss, which may stay high.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.engine.problems._descents import TanhDescent, TanhDescents


class LeastGradient(Claim[TanhDescent]):
    """Gradient descent with the step 1/L on a function with L-Lipschitz gradient, convex or not, with infimum f*, meets
    within t steps a point with

        |grad f|² <= 2 L (f_0 - f*)/(t + 1),

    a gradient norm of the order t^(-1/2): the rate t^(-1/3) that is printed for functions without convexity is loose.
    The sum of the squared gradients telescopes. A ramp attains the fraction (t + 1)/(2t + 1) of the bound. For networks
    f* is taken as 0 and L as a bound of the curvature on the first sublevel set.
    """

    title = "The least gradient that descent meets falls like t^(-1/2)"
    source = Source("foundation2025", "Section 5.3, non-convex", note="sharper")
    population = TanhDescents()
    relation = AtMost()
    control = Control("9/20 of the bound", lambda bound, problem: 0.45 * bound)
    controls = "the least squared gradient on the way of descent"
    unexplained = "whether the stationary point is good"

    def trivial(self, problem: TanhDescent) -> Array:
        """What the first step alone shows."""
        return 2 * problem.smoothness * problem.loss(problem.weights)

    def predict(self, problem: TanhDescent) -> Array:
        return 2 * problem.smoothness * problem.loss(problem.weights) / (problem.steps + 1)

    def measure(self, problem: TanhDescent, key: Key[Array, ""]) -> Array:
        gradient, step = jax.grad(problem.loss), 1 / problem.smoothness

        def one(at, _):
            slope = gradient(at)
            return at - step * slope, jnp.sum(slope**2)

        return jax.lax.scan(one, problem.weights, None, length=problem.steps + 1)[1].min()
