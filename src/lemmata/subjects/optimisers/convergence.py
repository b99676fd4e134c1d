"""Where Adam fails: it can converge to the worst point, and its steps can be many learning rates long.

This theory gives the limit of Adam on one convex game, and the largest length of a step for any gradients. It does not
explain why these failures are rarely seen in training.
"""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Limit, Source
from lemmata.subjects.optimisers import updates_of
from lemmata.subjects.optimisers._gradient_games import PERIODIC_GAMES, PeriodicGame
from lemmata.subjects.optimisers._moment_rates import GradientHistories, GradientHistory

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}

_ROUNDS = (300.0, 3000.0, 30000.0)


def _mean_regrets(problem: PeriodicGame, method: optax.GradientTransformation) -> Float[Array, " rungs"]:
    """Return the regret per round of the steps x <- clip(x - rate/sqrt(t) u_t) against the fixed point x = -1, for
    several numbers of rounds. Here u_t is the method's update.
    """
    number = jnp.arange(1, int(_ROUNDS[-1]) + 1)

    def one(carry, row):
        at, state = carry
        slope, t = row
        found: tuple[Any, Any] = method.update(slope, state)
        step, state = found
        return (jnp.clip(at - problem.rate / jnp.sqrt(t) * step, -1.0, 1.0), state), slope * (at + 1)

    rows = (problem.gradient(number), number.astype(problem.start.dtype))
    losses = jax.lax.scan(one, (problem.start, method.init(problem.start)), rows)[1]
    ends = jnp.asarray([int(rounds) for rounds in _ROUNDS])
    return jnp.cumsum(losses)[ends - 1] / ends


class AdamConvergesToTheWorstPoint(Claim[PeriodicGame]):
    """Let the loss on [-1, 1] be C x in every third round and -x in the other rounds, where C > 2. Let Adam have the
    moment rates beta_1 = 0 and beta_2 = 1/(1 + C²), and the step size eta/sqrt(t) in round t. It converges to x = 1,
    the worst point. Its regret per round, against the best point x = -1, tends to

        (2C - 4)/3.
    """

    title = "In an online convex problem, Adam converges to the worst point"
    source = Source("reddi2018", "Theorem 1", note="the example of the proof")
    population = PERIODIC_GAMES
    relation = Limit("T", _ROUNDS, margin=0.03, resolution=0.03)
    control = Control("the limit is half as large, the regret of x = 0", lambda regret, problem: regret / 2)
    controls = "the regret per round of Adam on losses of period three"
    unexplained = "how often training meets such gradients"
    trials = 64

    def predict(self, problem: PeriodicGame) -> Array:
        return problem.worst

    def measure(self, problem: PeriodicGame, key: Key[Array, ""]) -> Array:
        rate = 1 / (1 + problem.large**2)
        return _mean_regrets(problem, optax.scale_by_adam(b1=0.0, b2=rate, eps=0.0))


class AmsgradFindsTheBestPoint(Claim[PeriodicGame]):
    """Let the loss on [-1, 1] be C x in every third round and -x in the other rounds, where C > 2. AMSGrad is Adam with
    the largest second moment so far in place of the current second moment. Let the moment rates be beta_1 = 0 and
    beta_2 = 1/(1 + C²), and let the step size in round t be eta/sqrt(t). The regret of AMSGrad per round tends to 0.
    The test measures this regret in units of (2C - 4)/3, to which Adam's regret per round tends.
    """

    title = "AMSGrad, whose second moment never falls, has vanishing regret where Adam fails"
    source = Source("reddi2018", "Theorem 4", note="the average regret vanishes")
    population = PERIODIC_GAMES
    relation = Limit("T", _ROUNDS, margin=0.03, resolution=0.03, relative=False)
    control = Control("a tenth of Adam's regret remains", lambda regret, problem: regret + 0.1)
    controls = "the regret per round of AMSGrad on losses of period three"
    unexplained = "whether steps that never grow again are desirable"
    trials = 64
    predict = 0.0

    def measure(self, problem: PeriodicGame, key: Key[Array, ""]) -> Array:
        rate = 1 / (1 + problem.large**2)
        return _mean_regrets(problem, optax.scale_by_amsgrad(b1=0.0, b2=rate, eps=0.0)) / problem.worst


def _last_step(problem: GradientHistory, gradients: Float[Array, " t"]) -> Float[Array, ""]:
    """Return the length of the last step of Adam, in units of its learning rate."""
    method = optax.scale_by_adam(b1=problem.b1, b2=problem.b2, eps=0.0)
    return jnp.abs(updates_of(method, gradients)[-1])


def _supremum(problem: GradientHistory) -> Float[Array, ""]:
    """Return the supremum of a step by Cauchy-Schwarz on sum b1^k g and sum b2^k g², with both bias corrections."""
    b1, b2, t = problem.b1, problem.b2, len(problem.gradients)
    ratios = jnp.sum((b1**2 / b2) ** jnp.arange(t))
    return (1 - b1) / (1 - b1**t) * jnp.sqrt((1 - b2**t) / (1 - b2) * ratios)


def _unlimited(problem: GradientHistory) -> Float[Array, ""]:
    return (1 - problem.b1) / jnp.sqrt(1 - problem.b2) * jnp.ones(())


class AdamStepBound(Claim[GradientHistory]):
    """Let eta be the learning rate of Adam, and let b1 and b2 be the rates of its moments. Use bias correction and no
    eps. For any gradients, the length of the T-th step in every coordinate is at most

        eta (1 - b1)/(1 - b1^T) sqrt( (1 - b2^T)/(1 - b2) sum_(k < T) (b1²/b2)^k ).

    For b1² < b2 and T -> infinity the bound tends to eta (1 - b1) / sqrt((1 - b2)(1 - b1²/b2)), which is 7.3 eta at b1
    = 0.9 and b2 = 0.999.
    """

    title = "A step of Adam is at most about 7.3 learning rates long at the moment rates b1 = 0.9 and b2 = 0.999"
    source = Source("kingma2015", "Section 2.1", note="the method; its exact supremum is derived here")
    stated = Kind.OWN
    population = GradientHistories()
    relation = AtMost()
    control = Control("0.98 of the bound is enough", lambda bound, problem: 0.98 * bound)
    controls = "the length of a step of Adam"
    unexplained = "how long steps are on gradients that occur in training"
    trivial = "without this bound, the length of a step has no known bound"

    def predict(self, problem: GradientHistory) -> Array:
        return _supremum(problem)

    def measure(self, problem: GradientHistory, key: Key[Array, ""]) -> Array:
        return _last_step(problem, problem.gradients)

    def condition(self, problem: GradientHistory) -> Array:
        """Bound the errors: each of T updates of two moments rounds, and 1 - b2^T cancels if b2 is near 1."""
        return len(problem.gradients) + 1 / (1 - problem.b2)


class AdamStepIsAttained(Claim[GradientHistory]):
    """Let eta be the learning rate of Adam, and let b1 and b2 be the rates of its moments. Use bias correction and no
    eps. The T-th step is longest if the gradients of steps i = 1..T are proportional to (b1/b2)^(T - i). Its length is
    then exactly

        eta (1 - b1)/(1 - b1^T) sqrt( (1 - b2^T)/(1 - b2) sum_(k < T) (b1²/b2)^k ).
    """

    title = "A step of Adam is longest if gradients grow by the factor b2/b1 per step, the ratio of the moment rates"
    source = Source("emergence2026", "Figure 5.10", note="the effective learning rate, made exact")
    population = GradientHistories()
    relation = Equal()
    control = Control("the length is 0.98 of this value", lambda bound, problem: 0.98 * bound)
    controls = "the length of the longest step of Adam"
    unexplained = "how long steps are on gradients that occur in training"

    def predict(self, problem: GradientHistory) -> Array:
        return _supremum(problem)

    def measure(self, problem: GradientHistory, key: Key[Array, ""]) -> Array:
        return _last_step(problem, problem.longest)

    def condition(self, problem: GradientHistory) -> Array:
        """Bound the errors: each of T updates of two moments rounds, and 1 - b2^T cancels if b2 is near 1."""
        return len(problem.gradients) + 1 / (1 - problem.b2)
