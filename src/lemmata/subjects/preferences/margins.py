"""The margin that minimises a preference loss: a logit for the logistic loss, and always finite for the squared loss.

This theory is about one pair of answers and its margin h = log(pi(y_1)/ref(y_1)) - log(pi(y_2)/ref(y_2)). The first
answer is preferred with probability q. Under the logistic loss and labels without noise, the margin grows without
limit. The theory assumes that the margin can be any number. It leaves unexplained what happens if many pairs share the
weights that set their margins.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.preferences._preference_pairs import LabelledPair, LabelledPairs

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}

_STEPS = 300


def _newton(loss, steps: int) -> Array:
    step = lambda _, margin: margin - jax.grad(loss)(margin) / jax.grad(jax.grad(loss))(margin)
    return jax.lax.fori_loop(0, steps, step, jnp.zeros(()))


class DpoMargin(Claim[LabelledPair]):
    """Let the first of two answers be preferred with probability q. Let h be the margin of a policy: the log odds of
    the first answer against the second under the policy, minus the same log odds under the reference. Let beta > 0, and
    let sigma be the logistic function. The expected loss -q log sigma(beta h) - (1 - q) log sigma(-beta h) is smallest
    at the margin

        h = log(q/(1 - q)) / beta.

    So at the smallest loss, beta h is the logit of the probability q.
    """

    title = "The logistic preference loss is smallest at the margin logit(q)/beta, where q is the label's probability"
    source = Source("emergence2026", "Figure 20.10", note="at the minimum of the expected loss")
    population = LabelledPairs()
    relation = Equal()
    control = Control(
        "the margin is 2 (2q - 1)/beta, the first order in q - 1/2", lambda margin, problem: _linear(problem)
    )
    controls = "the margin at the minimum of the logistic loss"
    unexplained = "pairs whose margins depend on shared weights"

    def predict(self, problem: LabelledPair) -> Array:
        return jnp.log(problem.probability / (1 - problem.probability)) / problem.beta

    def measure(self, problem: LabelledPair, key: Key[Array, ""]) -> Array:
        """Return the margin of least loss, by Newton's method with automatic derivatives, started at 0."""
        q, beta = problem.probability, problem.beta
        return _newton(lambda h: -q * jax.nn.log_sigmoid(beta * h) - (1 - q) * jax.nn.log_sigmoid(-beta * h), 20)

    def condition(self, problem: LabelledPair) -> Array:
        """Return the condition number of the logit as a function of q."""
        q = problem.probability
        return 16 / (q * (1 - q) * jnp.log(q / (1 - q)))


def _linear(problem: LabelledPair) -> Array:
    return 2 * (2 * problem.probability - 1) / problem.beta


class IpoMargin(Claim[LabelledPair]):
    """Let the first of two answers be preferred with probability q, and let beta > 0. Let h be the margin of a policy
    in favour of the first answer. If the first answer is preferred, the squared loss is (h - 1/(2 beta))². If the
    second answer is preferred, the squared loss is (-h - 1/(2 beta))². The expected loss is smallest at

        h = (2q - 1) / (2 beta),

    which is finite for every q, even for labels without noise.
    """

    title = "The margin at which the squared preference loss (IPO) is smallest is finite for every label probability"
    source = Source("azar2024", note="main result, the loss of one pair")
    population = LabelledPairs()
    relation = Equal()
    control = Control("the margin is (2q - 1)/beta", lambda margin, problem: 2 * margin)
    controls = "the margin at the minimum of the squared loss"
    unexplained = "pairs whose margins depend on shared weights"

    def predict(self, problem: LabelledPair) -> Array:
        return (2 * problem.probability - 1) / (2 * problem.beta)

    def measure(self, problem: LabelledPair, key: Key[Array, ""]) -> Array:
        q, target = problem.probability, 1 / (2 * problem.beta)
        return _newton(lambda h: q * (h - target) ** 2 + (1 - q) * (-h - target) ** 2, 2)

    def condition(self, problem: LabelledPair) -> Array:
        """Bound the rounding errors. The gradients for the two labels cancel."""
        return 8 / (2 * problem.probability - 1)


class MarginWithoutEnd(Claim[LabelledPair]):
    """Let the first of two answers always be preferred, let h be the margin of a policy in favour of this answer, and
    let beta > 0. The loss of direct preference optimisation (DPO) is -log sigma(beta h), where sigma is the logistic
    function. Follow its gradient flow in h from h = 0. After time t, the scaled margin z = beta h solves

        e^z + z = 1 + beta² t.

    So the margin never stops growing, and z grows like log(beta² t).
    """

    title = "Without label noise, the margin of DPO grows like the logarithm of time"
    source = Source("emergence2026", "Figure 20.11", note="with the margin as a function of time")
    population = LabelledPairs()
    relation = Equal()
    control = Control(
        "the scaled margin solves e^z = 1 + beta² t",
        lambda margin, problem: jnp.log1p(problem.beta**2 * problem.time) / problem.beta,
    )
    controls = "the margin over time if the labels have no noise"
    unexplained = "several pairs; the effect of large margins on other answers"
    condition = 100000.0  # the truncation error of steps of 9/300 in the logarithm of time is below 1e-9

    def predict(self, problem: LabelledPair) -> Array:
        end = 1 + problem.beta**2 * problem.time
        step = lambda _, z: z - (jnp.exp(z) + z - end) / (jnp.exp(z) + 1)
        return jax.lax.fori_loop(0, 40, step, jnp.log(end)) / problem.beta

    def measure(self, problem: LabelledPair, key: Key[Array, ""]) -> Array:
        """Integrate the flow by Runge-Kutta steps in s = log(1 + beta² t), with automatic gradients of the loss."""
        beta = problem.beta
        length = jnp.log1p(beta**2 * problem.time) / _STEPS
        slope = lambda s, h: -jax.grad(lambda x: -jax.nn.log_sigmoid(beta * x))(h) * jnp.exp(s) / beta**2

        def step(number, h):
            s = number * length
            one = slope(s, h)
            two = slope(s + length / 2, h + length / 2 * one)
            three = slope(s + length / 2, h + length / 2 * two)
            four = slope(s + length, h + length * three)
            return h + length / 6 * (one + 2 * two + 2 * three + four)

        return jax.lax.fori_loop(0, _STEPS, step, jnp.zeros(()))
