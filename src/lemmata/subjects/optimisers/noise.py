"""Noise in optimisers and in comparisons: probes, memories, the spread at a minimum, and the luck of more trials.

This theory is about variances and weights of linear recursions, and about the ranking of identical competitors. It
assumes noise that is independent from step to step. It does not explain the noise of data.
"""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Hypothesis, Integer, Source
from lemmata.engine.problems.drawn import Drawn, uniform
from lemmata.subjects.optimisers import updates_of
from lemmata.subjects.optimisers._noisy_steps import (
    MixedMemories,
    MixedMemory,
    NoisyMinima,
    NoisyMinimum,
    ProbedHessian,
    ProbedHessians,
    UnequalTuning,
)

ABOUT = {"tool": "statistics", "architecture": "any", "object": "training"}

_PROBES = 256
_ROUNDS = 512
_CHAINS = 64
_BURNT, _KEPT = 150, 50
_LINEAR = 1e30


def _off_diagonal(problem: ProbedHessian) -> Array:
    return jnp.sum(problem.hessian**2, axis=1) - jnp.diag(problem.hessian) ** 2


class HutchinsonVariance(Claim[ProbedHessian]):
    """Let H be a Hessian, and let u be a vector of independent random signs. Let o be the product entry by entry. The
    estimate u o (H u) of the diagonal of H is unbiased, and its i-th entry has the mean square error

        sum_(j != i) H_ij².

    If u were standard normal instead of signs, the error would be larger by 2 H_ii².
    """

    title = "Hutchinson's estimate of the diagonal of a Hessian H has the mean square errors sum_(j != i) H_ij²"
    source = Source("emergence2026", "Figure 5.21", note="the cheap estimate of curvature")
    population = ProbedHessians()
    relation = EqualInMean(resolution=0.05)
    control = Control(
        "the error is as large as with normal probes", lambda value, problem: value + 2 * jnp.diag(problem.hessian) ** 2
    )
    controls = "the error of an estimated curvature"
    unexplained = "how outdated an estimate of the curvature may become"
    trials = 64

    def predict(self, problem: ProbedHessian) -> Array:
        return _off_diagonal(problem)

    def measure(self, problem: ProbedHessian, key: Key[Array, ""]) -> Array:
        method = optax.contrib.hutchinson_estimator_diag_hessian(key)
        loss = lambda x: x @ problem.hessian @ x / 2
        at = jnp.zeros(len(problem.hessian))

        def one(state: Any, _: None) -> tuple[Any, Any]:
            found, state = method.update(at, state, at, obj_fn=loss)
            return state, found

        found = jax.lax.scan(one, method.init(at), None, length=_PROBES)[1]
        return jnp.mean((found - jnp.diag(problem.hessian)) ** 2, axis=0)


class TwoMemories(Claim[MixedMemory]):
    """The optimiser AdEMAMix keeps two exponential averages of the gradients, a fast memory and a slow memory. Let b1
    be the rate of the fast memory, let b3 be the rate of the slow memory, and let alpha be the weight of the slow
    memory. When the first gradient is k steps old, the weight of this gradient in the numerator of the step is

        (1 - b1) b1^k / (1 - b1^(k+1)) + alpha (1 - b3) b3^k.

    So AdEMAMix corrects the initial bias of the fast memory, but not the initial bias of the slow memory. Long after
    the start, the weights of the gradients of all ages add up to 1 + alpha.
    """

    title = "AdEMAMix corrects the initial bias of its fast memory of old gradients, but not of its slow memory"
    source = Source("pagliardini2024", note="the method")
    population = MixedMemories()
    relation = Equal()
    control = Control(
        "the bias of the start is corrected in both memories",
        lambda value, problem: (
            value
            + problem.alpha
            * (1 - problem.slow)
            * problem.slow ** jnp.arange(problem.steps)
            * (1 / (1 - problem.slow ** jnp.arange(1, problem.steps + 1)) - 1)
        ),
    )
    controls = "the weight of an old gradient in a step"
    unexplained = "why such old gradients are still useful"

    def predict(self, problem: MixedMemory) -> Array:
        age = jnp.arange(problem.steps)
        fast = (1 - problem.fast) * problem.fast**age / (1 - problem.fast ** (age + 1))
        return fast + problem.alpha * (1 - problem.slow) * problem.slow**age

    def measure(self, problem: MixedMemory, key: Key[Array, ""]) -> Array:
        """Measure the response to an impulse; a huge eps makes the step linear in the gradients."""
        method = optax.contrib.scale_by_ademamix(
            b1=problem.fast, b2=0.999, b3=problem.slow, alpha=problem.alpha, eps=_LINEAR
        )
        impulse = jnp.zeros(problem.steps).at[0].set(1.0)
        return _LINEAR * updates_of(method, impulse)

    def condition(self, problem: MixedMemory) -> Array:
        """Bound the errors: powers are rounded in each step, and 1 - b loses digits of b."""
        return problem.steps / (1 - problem.fast) + 1 / (1 - problem.slow)


class StationaryVariance(Claim[NoisyMinimum]):
    """Let descent with step size a and momentum beta run on the loss h x²/2, where h is the curvature. Let the
    gradients have independent noise of variance C. The stationary variance of x is

        a (1 + beta) C / ( (1 - beta) h (2 (1 + beta) - a h) ).

    Without momentum this variance is a C/(h (2 - a h)). At the largest stable step size, the variance is infinite. The
    approximation for small steps, a C/(2 (1 - beta) h), is still finite there.
    """

    title = "On a noisy quadratic, descent with momentum has a stationary variance above the small-step approximation"
    source = Source("emergence2026", "Figure 5.4", note="geometry and noise")
    population = NoisyMinima()
    relation = EqualInMean(resolution=0.05)
    control = Control(
        "the variance has its value for small steps",
        lambda value, problem: problem.step * problem.variance / (2 * (1 - problem.momentum) * problem.curvature),
    )
    controls = "the spread of the weights about a minimum"
    unexplained = "noise whose variance depends on the weights"
    trials = 64

    def predict(self, problem: NoisyMinimum) -> Array:
        a, beta, h = problem.step, problem.momentum, problem.curvature
        return a * (1 + beta) * problem.variance / ((1 - beta) * h * (2 * (1 + beta) - a * h))

    def measure(self, problem: NoisyMinimum, key: Key[Array, ""]) -> Array:
        method = optax.sgd(problem.step, momentum=problem.momentum)
        noise = jnp.sqrt(problem.variance) * jax.random.normal(key, (_BURNT + _KEPT, _CHAINS))

        def one(carry, drawn):
            at, state = carry
            update, state = method.update(problem.curvature * at + drawn, state)
            return (at + update, state), at**2

        start = jnp.zeros(_CHAINS)
        return jax.lax.scan(one, (start, method.init(start)), noise)[1][_BURNT:].mean()


class MoreTuningWins(Claim[UnequalTuning]):
    """Tune two identical optimisers by random search. The first optimiser gets k_A independent trials, and the second
    optimiser gets k_B. The best of all runs belongs to the first optimiser with probability

        k_A / (k_A + k_B),

    for every distribution of the losses without ties.
    """

    title = "Between identical optimisers, the one with more tuning trials tends to win"
    source = Source("emergence2026", "Figure 5.26", note="what a comparison with unequal numbers of trials measures")
    population = Drawn(
        UnequalTuning,
        lambda own: Hypothesis(
            "the first optimiser has more trials", own.more, ">", own.fewer, "otherwise the comparison is fair"
        ),
        tail=uniform(0.1, 2.0),
        more=Integer(24, 12, 1000, "trials of the first optimiser", corners=(20, 40)),
        fewer=Integer(8, 1, 1000, "trials of the second optimiser", corners=(4, 10)),
    )
    relation = EqualInMean(resolution=0.05)
    control = Control("each optimiser wins half of the comparisons", lambda value, problem: 0.5 * jnp.ones(()))
    controls = "the winner of a comparison between identical methods"
    unexplained = "real differences"
    trials = 64

    def predict(self, problem: UnequalTuning) -> Array:
        return jnp.asarray(problem.more / (problem.more + problem.fewer))

    def measure(self, problem: UnequalTuning, key: Key[Array, ""]) -> Array:
        losses = jnp.exp(problem.tail * jax.random.normal(key, (_ROUNDS, problem.more + problem.fewer)))
        return jnp.mean(losses[:, : problem.more].min(axis=1) < losses[:, problem.more :].min(axis=1))
