"""The regret of diagonal AdaGrad with a projection, and the length of AdaGrad's steps for a rare feature.

This theory is about a player's loss minus the loss of the best fixed point of a box. The theory bounds this
difference, round by round. It assumes convex losses (linear losses are the worst case) and a projection. It does not
explain the meaning of regret for a network.
"""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Limit, Source
from lemmata.subjects.optimisers import updates_of
from lemmata.subjects.optimisers._gradient_games import GradientGame, GradientGames
from lemmata.subjects.optimisers._noisy_steps import RareFeatures, TwoFeatures

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}


def _adagrad(side: Float[Array, ""]) -> optax.GradientTransformation:
    """Return AdaGrad with the step D / sqrt(2) and without eps, which would only shorten the step."""
    return optax.adagrad(side / jnp.sqrt(2.0), initial_accumulator_value=0.0, eps=0.0)


def played(problem: GradientGame) -> tuple[Float[Array, "t d"], Float[Array, "t d"]]:
    """Return the points of diagonal AdaGrad, projected on the box, and the gradients at these points."""
    method = _adagrad(problem.side)

    def one(carry, drawn):
        at, state = carry
        slope = problem.gradient(at, drawn)
        update, state = method.update(slope, state)
        return (jnp.clip(at + update, -problem.side / 2, problem.side / 2), state), (at, slope)

    return jax.lax.scan(one, (problem.start, method.init(problem.start)), problem.drawn)[1]


class AdagradRegret(Claim[GradientGame]):
    """Let diagonal AdaGrad with step eta = D / sqrt(2) be projected on a box of side D after every step. Let l_t be
    convex losses over T rounds, with subgradients g_t at the points theta_t. For every fixed point u of the box, the
    regret against u satisfies

        sum_t l_t(theta_t) - l_t(u) <= sqrt(2) D sum_j ( sum_t g_(t,j)² )^(1/2).

    The bound is the sum over coordinates j of (D² / (2 eta) + eta) |g_j|_2, where |g_j|_2² = sum_t g_(t,j)². Of all
    convex losses with the same subgradients, linear losses have the largest regret, so the trials use linear losses.
    """

    title = (
        "AdaGrad's regret on a box of side D is at most sqrt(2) D times the sum of the gradient norms of all "
        "coordinates"
    )
    source = Source("duchi2011", "Theorem 5", note="with the constant of a box")
    population = GradientGames()
    relation = AtMost()
    control = Control("two fifths of the bound are enough", lambda bound, problem: 0.4 * bound)
    controls = "the regret against the best point of the box"
    unexplained = "which geometry suits unknown losses; losses that are not convex"

    def predict(self, problem: GradientGame) -> Array:
        """Compute the bound from the sizes of the gradients, which do not depend on the player's points."""
        return jnp.sqrt(2.0) * problem.side * jnp.linalg.norm(problem.drawn, axis=0).sum()

    def measure(self, problem: GradientGame, key: Key[Array, ""]) -> Array:
        return problem.regret(*played(problem))

    def trivial(self, problem: GradientGame) -> Array:
        """Return the regret if the whole side of the box is lost in every round."""
        return problem.side * jnp.abs(problem.drawn).sum()


class RareFeaturesKeepLongSteps(Claim[TwoFeatures]):
    """Let the gradients of two features be nonzero with probabilities p_1 and p_2, and let q_1 and q_2 be the second
    moments of the nonzero gradients. Under AdaGrad, the effective learning rates rate_1 and rate_2 of the features are
    eta / sqrt(sum of g²), where g runs over the past gradients of the feature. After many steps

        rate_1 / rate_2 -> (p_1 q_1 / (p_2 q_2))^(-1/2).
    """

    title = "AdaGrad's step for a feature falls with the square root of the feature's frequency"
    source = Source("emergence2026", "Example 5.5", "Figure 5.6", note="made exact")
    population = RareFeatures()
    relation = Limit("T", (100.0, 1000.0, 10000.0), margin=0.02, resolution=0.03)
    control = Control(
        "the ratio is p_1 q_1 / (p_2 q_2) to the power -1, without a root", lambda ratio, problem: ratio**2
    )
    controls = "how much longer the steps of a rare feature are"
    unexplained = "whether longer steps are good for the rare feature"
    trials = 64

    def predict(self, problem: TwoFeatures) -> Array:
        mass = problem.often * problem.moment
        return (mass[0] / mass[1]) ** -0.5

    def measure_at(self, problem: TwoFeatures, key: Key[Array, ""], rung: float) -> Array:
        """Return the ratio of the updates of the two features after T random gradients.

        The update is computed for one more gradient, which is too small to change the sums.
        """
        one, two = jax.random.split(key)
        size = (int(rung), 2)
        slopes = (
            jnp.sqrt(problem.moment) * jax.random.normal(one, size) * jax.random.bernoulli(two, problem.often, size)
        )
        method = optax.scale_by_rss(initial_accumulator_value=0.0, eps=0.0)
        rates = updates_of(method, jnp.concatenate([slopes, 1e-6 * jnp.ones((1, 2))]))[-1]
        return rates[0] / rates[1]
