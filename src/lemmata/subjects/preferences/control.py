"""The policy with the best trade-off between reward and divergence from a reference, and mirror ascent towards it.

This theory is about J(pi) = E_pi r - beta KL(pi | ref) over all policies pi on a list of answers. It assumes that the
rewards r are known and that the policy can be any distribution. It leaves unexplained which policy a network with
shared weights reaches.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.preferences import divergence, tilted
from lemmata.subjects.preferences._tabular_policies import TabularPolicies, TabularPolicy

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "sampler"}

_STEPS = 12
_RATE = 0.3  # the step of mirror descent times beta


def _below_the_best(problem: TabularPolicy, beta: Float[Array, ""]) -> Array:
    """Return b log Z - b KL(policy | the policy tilted with `beta`), where b is the problem's own beta. Z is the
    normalising constant of the tilted policy.
    """
    log_z = jax.nn.logsumexp(problem.log_ref + problem.rewards / problem.beta)
    best = tilted(problem.log_ref, problem.rewards, beta)
    return problem.beta * (log_z - divergence(problem.log_policy, best))


def _centred(logs: Float[Array, " k"]) -> Array:
    return logs - logs.mean()


class GibbsIdentity(Claim[TabularPolicy]):
    """Let ref be a reference distribution on a list of answers y, and let r(y) be the rewards of the answers. Let beta
    > 0 be the coefficient of the divergence penalty. The tilted policy is pi*(y) = ref(y) e^(r(y)/beta) / Z, where Z =
    sum_y ref(y) e^(r(y)/beta). Every policy pi satisfies

        E_pi r - beta KL(pi | ref) = beta log Z - beta KL(pi | pi*).

    So the tilted policy pi* is the only policy that maximises the left side. For any other policy pi, the left side is
    below the maximum by beta KL(pi | pi*).
    """

    title = "Every policy falls short of the KL-penalised optimum by beta times its divergence from the tilted policy"
    source = Source("donsker1975", note="main result, the variational formula")
    population = TabularPolicies()
    relation = Equal()
    control = Control(
        "the best policy has the temperature 2 beta", lambda value, problem: _below_the_best(problem, 2 * problem.beta)
    )
    controls = "the expected reward minus beta times the divergence from the reference"
    unexplained = "policies whose answers cannot be listed; rewards that are themselves estimates"

    def predict(self, problem: TabularPolicy) -> Array:
        return _below_the_best(problem, problem.beta)

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        """Compute the left side, E_pi r - beta KL(pi | ref), by its two sums."""
        policy = jnp.exp(problem.log_policy)
        return jnp.sum(policy * (problem.rewards - problem.beta * (problem.log_policy - problem.log_ref)))

    def condition(self, problem: TabularPolicy) -> Array:
        """Return the size of the terms of the sums, relative to the difference of the two sums."""
        policy, beta = jnp.exp(problem.log_policy), problem.beta
        logs = jnp.abs(problem.log_policy) + jnp.abs(problem.log_ref) + jnp.abs(problem.rewards) / beta
        size = beta * (jnp.sum(policy * logs) + jnp.abs(problem.rewards).max() / beta)
        return 8 * (1 + size / jnp.abs(_below_the_best(problem, beta)))


def _after_steps(problem: TabularPolicy, contraction: float) -> Array:
    best = tilted(problem.log_ref, problem.rewards, problem.beta)
    return _centred(best) + contraction**_STEPS * _centred(problem.log_policy - best)


class MirrorDescentToGibbs(Claim[TabularPolicy]):
    """Let ref be a reference distribution on a list of answers, and let r be the rewards of the answers. Let beta > 0
    be the coefficient of the divergence penalty. For a policy pi, let J(pi) = E_pi r - beta KL(pi | ref). Mirror ascent
    with step size eta starts from a policy pi_0 and takes pi_(t+1) proportional to pi_t exp(eta grad J(pi_t)). For a
    tabular softmax policy this is the natural policy gradient. The maximum of J is at the policy pi* that is
    proportional to ref e^(r/beta). In log probabilities, the policy moves along a straight line through pi*:

        log pi_t = log pi* + (1 - eta beta)^t (log pi_0 - log pi*) + a constant.

    The rate of convergence does not depend on the rewards or on the reference. For eta beta > 1 the steps overshoot
    pi*.
    """

    title = "A mirror ascent step of size eta with KL penalty beta scales the distance to the optimum by 1 - eta beta"
    source = Source("emergence2026", "Figure 20.7", note="the path of the policy, with the natural gradient")
    population = TabularPolicies()
    relation = Equal(block=1)
    control = Control(
        "each step multiplies the distance by 1 - eta beta / 2",
        lambda value, problem: _after_steps(problem, 1 - _RATE / 2),
    )
    controls = "the policy at every step of mirror ascent on the reward minus beta times the divergence"
    unexplained = "ascent on the logits themselves; clipped ratios; gradients that are estimated from samples"

    def predict(self, problem: TabularPolicy) -> Array:
        return _after_steps(problem, 1 - _RATE)

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        """Return the log probabilities, minus their mean, after steps of mirror ascent with an automatic gradient."""

        def value(policy):
            return jnp.sum(policy * (problem.rewards - problem.beta * (jnp.log(policy) - problem.log_ref)))

        def step(_, logs):
            return jax.nn.log_softmax(logs + _RATE / problem.beta * jax.grad(value)(jnp.exp(logs)))

        return _centred(jax.lax.fori_loop(0, _STEPS, step, problem.log_policy))

    def condition(self, problem: TabularPolicy) -> Array:
        """Bound the rounding errors. Each step rounds logits of the size of log pi and r/beta; later steps shrink this
        rounding error.
        """
        size = jnp.abs(problem.log_policy).max() + jnp.abs(problem.log_ref).max()
        size += jnp.abs(problem.rewards).max() / problem.beta
        return 8 / _RATE * (1 + size / jnp.abs(_after_steps(problem, 1 - _RATE)).max())
