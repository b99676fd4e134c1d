"""How much a reward over-estimates a policy far from its data, and what divergence estimators measure and optimise.

This theory uses the ratio policy/reference to bound how much a learned reward over-estimates. It also treats estimators
of KL(policy | reference) from draws of the policy. It assumes that the reward was fitted on answers of the reference.
It leaves unexplained how large the error of the reward is on these answers.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, EqualInMean, Kind, Rate, Source
from lemmata.subjects.preferences import chi_squared, divergence
from lemmata.subjects.preferences._tabular_policies import ProxyErrors, TabularPolicies, TabularPolicy

ABOUT = {"tool": "information theory", "architecture": "any", "object": "estimator"}

_DRAWS = 4096
_NEARBY = (0.2, 0.1, 0.05, 0.025)
_WHOLE = -1


def _spread(problem: TabularPolicy) -> Array:
    """The standard deviation of the error under the reference."""
    ref = jnp.exp(problem.log_ref)
    return jnp.sqrt(jnp.sum(ref * (problem.rewards - jnp.sum(ref * problem.rewards)) ** 2))


class OverestimationByChiSquared(Claim[TabularPolicy]):
    """Let a policy pi and a reference ref be distributions on a list of answers y. Let r be the true reward, r^ a
    learned reward, and e(y) = r^(y) - r(y) its error. Let sd_ref(e) be the standard deviation of the error under the
    reference. The mean error under the policy exceeds the mean error under the reference by at most

        E_pi e - E_ref e <= sqrt(chi²(pi | ref)) sd_ref(e),    chi² = sum_y pi(y)²/ref(y) - 1.

    Equality holds if the error is a linear function of the ratio pi/ref with a positive slope. Training a policy on r^
    moves the policy towards this case, because training raises the probability of answers with large errors.
    """

    title = "The over-estimation of a policy's reward is at most a multiple of the root of its chi-squared divergence"
    source = Source(
        "emergence2026", "Figure 20.13", "Figure 20.15", note="reward hacking as a distribution shift; here as a bound"
    )
    population = ProxyErrors()
    relation = AtMost()
    control = Control(
        "the root of twice the KL divergence replaces the root of chi²",
        lambda bound, problem: jnp.sqrt(2 * divergence(problem.log_policy, problem.log_ref)) * _spread(problem),
    )
    controls = "how much a learned reward overestimates a policy"
    unexplained = "the error of the reward on the reference; comparisons in place of rewards"

    def predict(self, problem: TabularPolicy) -> Array:
        return jnp.sqrt(chi_squared(problem.log_policy, problem.log_ref)) * _spread(problem)

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        return jnp.sum((jnp.exp(problem.log_policy) - jnp.exp(problem.log_ref)) * problem.rewards)

    def condition(self, problem: TabularPolicy) -> float:
        return 4.0 * len(problem.rewards)

    def trivial(self, problem: TabularPolicy) -> Array:
        """Return the largest minus the smallest error e(y), which bounds every difference of mean errors."""
        return problem.rewards.max() - problem.rewards.min()


class DivergenceEstimators(Claim[TabularPolicy]):
    """Let pi be a policy, ref a reference, and rho = ref/pi their ratio on draws from pi. The two estimators

        -log rho   and   rho - 1 - log rho

    both have the mean KL(pi | ref). The estimator rho - 1 - log rho is never negative. The mean of the estimator 1/2
    log² rho is not KL(pi | ref).
    """

    title = "Two estimators of KL(pi | ref) from draws of the policy pi are unbiased"
    source = Source("schulman2020", note="main result")
    population = TabularPolicies(distance=1.0, skewed=True)
    relation = EqualInMean(resolution=0.02)
    control = Control(
        "the estimator 1/2 log² rho has the mean KL(pi | ref), too",
        lambda value, problem: value * _mean_square(problem) / divergence(problem.log_policy, problem.log_ref),
    )
    controls = "the value of a divergence that is estimated in training"
    unexplained = "the gradient of the estimators, which other claims state"

    def predict(self, problem: TabularPolicy) -> Array:
        return jnp.full(2, divergence(problem.log_policy, problem.log_ref))

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        drawn = jax.random.choice(key, len(problem.rewards), (_DRAWS,), p=jnp.exp(problem.log_policy))
        logs = (problem.log_ref - problem.log_policy)[drawn]
        return jnp.stack([jnp.mean(-logs), jnp.mean(jnp.expm1(logs) - logs)])


def _mean_square(problem: TabularPolicy) -> Array:
    return 0.5 * jnp.sum(jnp.exp(problem.log_policy) * (problem.log_policy - problem.log_ref) ** 2)


class NonNegativeEstimateIsQuieter(Claim[TabularPolicy]):
    """Let pi be a policy, ref a reference, and rho = ref/pi their ratio on draws from pi. Let log pi = log ref +
    epsilon v + a constant, where v is any vector, so that the policy approaches the reference as epsilon tends to 0.
    Both estimators -log rho and rho - 1 - log rho have the mean KL(pi | ref), which is of the order epsilon². Divide
    the standard deviation of rho - 1 - log rho by the standard deviation of -log rho. This ratio is of the order
    epsilon.
    """

    title = "Near the reference policy, the non-negative estimator of KL has much less noise than the log ratio"
    source = Source("schulman2020", note="main result on the variance; here as a rate")
    population = TabularPolicies()
    relation = Rate("epsilon", _NEARBY, margin=0.1, resolution=0.1)
    control = Control(
        "the standard deviation is of the order sqrt(epsilon) times that of -log rho", lambda rate, problem: rate / 2
    )
    controls = "the noise of two estimators of a divergence"
    unexplained = "policies far from the reference, for which the non-negative estimator has the larger noise"
    trials = 128
    predict = 1.0

    def measure_at(self, problem: TabularPolicy, key: Key[Array, ""], rung: float) -> Array:
        """Return the ratio of the two standard deviations, computed by sums over the answers."""
        direction = problem.log_policy - problem.log_ref
        policy = jax.nn.softmax(problem.log_ref + rung * direction)
        logs = problem.log_ref - jnp.log(policy)
        spread = lambda values: jnp.sqrt(jnp.sum(policy * (values - jnp.sum(policy * values)) ** 2))
        return spread(jnp.expm1(logs) - logs) / spread(logs)


def _mean_gradient(problem: TabularPolicy, estimate) -> Array:
    """Return an estimator's gradient with respect to the logits of pi at fixed draws, averaged over draws from pi."""
    jacobian = jax.jacobian(lambda logits: estimate(problem.log_ref - jax.nn.log_softmax(logits)))(problem.log_policy)
    return jnp.exp(problem.log_policy) @ jacobian


def _gradient_of(problem: TabularPolicy, reverse: bool) -> Array:
    """Return the gradient of KL(pi | ref), or of KL(ref | pi), with respect to the logits of pi."""

    def value(logits):
        logs = jax.nn.log_softmax(logits)
        return divergence(problem.log_ref, logs) if reverse else divergence(logs, problem.log_ref)

    return jax.grad(value)(problem.log_policy)


def _rounded_sums(problem: TabularPolicy) -> Array:
    """The size of the summed terms (the ratio and its logarithm), relative to the result."""
    logs = problem.log_ref - problem.log_policy
    size = (1 + jnp.abs(problem.log_policy).max() + jnp.abs(problem.log_ref).max()) * (1 + jnp.exp(logs).max())
    least = jnp.minimum(*(jnp.abs(_gradient_of(problem, reverse)).max() for reverse in (False, True)))
    return 8 * size / least


class SquaredLogRatioGradient(Claim[TabularPolicy]):
    """Let pi be a tabular policy, ref a reference, and rho = ref/pi. Differentiate the estimator 1/2 log² rho through
    log pi, with the draws from pi held fixed. The mean of this gradient is exactly

        grad KL(pi | ref),

    although the mean of the estimator is not KL(pi | ref). So an estimator with a biased value has the right mean
    gradient.
    """

    title = "The gradient of half the squared log ratio is an unbiased estimate of grad KL(pi | ref)"
    source = Source("schulman2020", note="the source states the estimators; the gradient is derived here")
    stated = Kind.OWN
    population = TabularPolicies()
    relation = Equal(block=_WHOLE)
    control = Control(
        "the mean gradient is the gradient of KL(ref | pi)",
        lambda gradient, problem: _gradient_of(problem, reverse=True),
    )
    controls = "what a penalty optimises if it is differentiated on fixed draws"
    unexplained = "estimators that are part of the reward instead of the loss"

    def predict(self, problem: TabularPolicy) -> Array:
        return _gradient_of(problem, reverse=False)

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        return _mean_gradient(problem, lambda logs: 0.5 * logs**2)

    def condition(self, problem: TabularPolicy) -> Array:
        return _rounded_sums(problem)


class UnbiasedEstimatesHaveOtherGradients(Claim[TabularPolicy]):
    """Let pi be a tabular policy, ref a reference, and rho = ref/pi. Differentiate the two estimators -log rho and rho
    - 1 - log rho through log pi, with the draws from pi held fixed. The mean gradients are as follows:

        -log rho has the gradient 0,   and   rho - 1 - log rho has the gradient of KL(ref | pi).

    Both estimators have the mean KL(pi | ref), but neither has the gradient of KL(pi | ref).
    """

    title = "The mean gradients of unbiased estimators of KL(pi | ref) differ from the gradient of KL(pi | ref)"
    source = Source("schulman2020", note="the source states the estimators; the gradients are derived here")
    stated = Kind.OWN
    population = TabularPolicies()
    relation = Equal(block=_WHOLE)
    control = Control(
        "both mean gradients equal the gradient of KL(pi | ref)",
        lambda gradients, problem: jnp.broadcast_to(_gradient_of(problem, reverse=False), gradients.shape),
    )
    controls = "what a penalty optimises if it is differentiated on fixed draws"
    unexplained = "estimators that are part of the reward instead of the loss, with the score function gradient"

    def predict(self, problem: TabularPolicy) -> Array:
        gradient = _gradient_of(problem, reverse=True)
        return jnp.stack([jnp.zeros_like(gradient), gradient])

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        estimates = (lambda logs: -logs, lambda logs: jnp.expm1(logs) - logs)
        return jnp.stack([_mean_gradient(problem, estimate) for estimate in estimates])

    def condition(self, problem: TabularPolicy) -> Array:
        return _rounded_sums(problem)
