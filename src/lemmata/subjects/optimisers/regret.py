"""The regret of diagonal AdaGrad: with a projection it is bounded, without one it is not.

This theory controls the loss of a player above that of the best fixed point of a box, round by round. It assumes convex
losses (linear ones are the worst) and a projection; it leaves unexplained what regret says about a network.
"""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Limit, Rate, Source, Status
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive
from lemmata.engine.problems.variables import dimension
from lemmata.subjects.optimisers import updates_of
from lemmata.subjects.optimisers._gradient_games import GradientGame, GradientGames, TurningGame
from lemmata.subjects.optimisers._noisy_steps import RareFeatures, TwoFeatures

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}


def _adagrad(side: Float[Array, ""]) -> optax.GradientTransformation:
    """The step that the theorem asks for; without eps, which would only shorten it."""
    return optax.adagrad(side / jnp.sqrt(2.0), initial_accumulator_value=0.0, eps=0.0)


def played(problem: GradientGame) -> tuple[Float[Array, "t d"], Float[Array, "t d"]]:
    """The points of diagonal AdaGrad, projected on the box, and the gradients that it met."""
    method = _adagrad(problem.side)

    def one(carry, drawn):
        at, state = carry
        slope = problem.gradient(at, drawn)
        update, state = method.update(slope, state)
        return (jnp.clip(at + update, -problem.side / 2, problem.side / 2), state), (at, slope)

    return jax.lax.scan(one, (problem.start, method.init(problem.start)), problem.drawn)[1]


class AdagradRegretUnprojected(Claim[TurningGame]):
    """As printed: on a domain of diameter D diagonal AdaGrad, theta <- theta - eta g / sqrt(s) with s the running sum
    of g², has a regret of at most a constant times D sum_j |g_(1:T), j|_2, which grows like T^(1/2) for bounded
    gradients.

    The iteration as defined has no projection, and nothing keeps it in the domain: with gradients +a in the first half
    of the rounds and -a in the second it walks a distance of order sqrt(T) away, and its regret against the domain
    grows like T^(3/2).
    """

    title = "AdaGrad without a projection has the regret of a bounded domain, as printed"
    source = Source("emergence2026", "Definition 5.2", "Theorem 5.3", note="as printed")
    population = Drawn(
        TurningGame,
        positive("scale", "its regret would be 0"),
        d=dimension(4),
        scale=log_uniform(0.1, 10.0, "d"),
        side=log_uniform(0.5, 4.0),
    )
    relation = Rate("T", (64.0, 256.0, 1024.0), upper=True)
    control = Control("the regret stays bounded", lambda exponent, problem: exponent - 0.5)
    controls = "the regret of the unprojected iteration"
    unexplained = "which iteration the theorem is about"
    reading = "the domain is the box of side D about the start, eta = D / sqrt(2)"
    expected = Status.REFUTED
    trials = 64
    predict = 0.5

    def measure_at(self, problem: TurningGame, key: Key[Array, ""], rung: float) -> Array:
        half = int(rung) // 2
        slopes = jnp.concatenate([jnp.ones(half), -jnp.ones(half)])[:, None] * problem.scale
        method, start = _adagrad(problem.side), jnp.zeros_like(problem.scale)

        def one(carry, slope):
            at, state = carry
            update, state = method.update(slope, state)
            return (at + update, state), at

        points = jax.lax.scan(one, (start, method.init(start)), slopes)[1]
        # the gradients add up to 0, so that every fixed point has the same loss
        return jnp.sum(points * slopes)


class AdagradRegret(Claim[GradientGame]):
    """Diagonal AdaGrad that is projected on a box of side D after every step, with the step eta = D / sqrt(2), has
    against every point u of the box, over T rounds of convex losses with subgradients g_t,

        sum_t l_t(theta_t) - l_t(u) <= sqrt(2) D sum_j ( sum_t g_(t,j)² )^(1/2).

    From (D² / (2 eta) + eta) |g_j|_2 in each coordinate j. Of all convex losses with the same subgradients linear ones
    have the largest regret, so these are played.
    """

    title = "The regret of projected diagonal AdaGrad"
    source = Source("duchi2011", "Theorem 5", note="with the constant of a box")
    population = GradientGames()
    relation = AtMost()
    control = Control("two fifths of the bound are enough", lambda bound, problem: 0.4 * bound)
    controls = "the regret of the projected iteration against the best point of the box"
    unexplained = "which geometry suits losses that are not known; anything about non-convex losses"
    corrects = AdagradRegretUnprojected

    def predict(self, problem: GradientGame) -> Array:
        """From the sizes of the gradients alone, which no adversary here changes."""
        return jnp.sqrt(2.0) * problem.side * jnp.linalg.norm(problem.drawn, axis=0).sum()

    def measure(self, problem: GradientGame, key: Key[Array, ""]) -> Array:
        return problem.regret(*played(problem))

    def trivial(self, problem: GradientGame) -> Array:
        """The whole side is lost in every round."""
        return problem.side * jnp.abs(problem.drawn).sum()


class RareFeaturesKeepLongSteps(Claim[TwoFeatures]):
    """Two features that have a gradient with probabilities p_1, p_2, of second moments q_1, q_2 where they have one,
    end with effective learning rates of AdaGrad, eta / sqrt(sum of g²), in the ratio

        rate_1 / rate_2 -> (p_1 q_1 / (p_2 q_2))^(-1/2).
    """

    title = "A rare feature keeps long steps, by a root"
    source = Source("emergence2026", "Example 5.5", "Figure 5.6", note="made exact")
    population = RareFeatures()
    relation = Limit("T", (100.0, 1000.0, 10000.0), margin=0.02, resolution=0.03)
    control = Control("in the ratio of frequencies and moments, without a root", lambda ratio, problem: ratio**2)
    controls = "how much longer the steps of a rare feature are"
    unexplained = "whether the rare feature is worth them"
    trials = 64

    def predict(self, problem: TwoFeatures) -> Array:
        mass = problem.often * problem.moment
        return (mass[0] / mass[1]) ** -0.5

    def measure_at(self, problem: TwoFeatures, key: Key[Array, ""], rung: float) -> Array:
        """The update on a gradient that is too small to count, after T random ones."""
        one, two = jax.random.split(key)
        size = (int(rung), 2)
        slopes = (
            jnp.sqrt(problem.moment) * jax.random.normal(one, size) * jax.random.bernoulli(two, problem.often, size)
        )
        method = optax.scale_by_rss(initial_accumulator_value=0.0, eps=0.0)
        rates = updates_of(method, jnp.concatenate([slopes, 1e-6 * jnp.ones((1, 2))]))[-1]
        return rates[0] / rates[1]
