"""Reward against distance from a reference: the policy that is best for both, and how descent comes to it.

This theory controls J(pi) = E_pi r - beta KL(pi | ref) over all policies on a list of answers. It assumes rewards that
are known and policies that can be any; it leaves unexplained which of them a network with shared weights reaches.
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
    """Beta log Z less beta times the divergence from the tilted policy, at the problem's own price outside."""
    log_z = jax.nn.logsumexp(problem.log_ref + problem.rewards / problem.beta)
    best = tilted(problem.log_ref, problem.rewards, beta)
    return problem.beta * (log_z - divergence(problem.log_policy, best))


def _centred(logs: Float[Array, " k"]) -> Array:
    return logs - logs.mean()


class GibbsIdentity(Claim[TabularPolicy]):
    """For every policy pi on a list of answers, every reference, rewards r and price beta > 0

        E_pi r - beta KL(pi | ref) = beta log Z - beta KL(pi | pi*),    pi*(y) = ref(y) e^(r(y)/beta) / Z,

    with Z = sum_y ref(y) e^(r(y)/beta): so the tilted policy pi* is the only best one, and what any other lacks is beta
    times its divergence from it.
    """

    title = "What a policy lacks is its divergence from the tilted one"
    source = Source("donsker1975", note="main result, the variational formula")
    population = TabularPolicies()
    relation = Equal()
    control = Control(
        "the best policy has the temperature 2 beta", lambda value, problem: _below_the_best(problem, 2 * problem.beta)
    )
    controls = "the expected reward less the price of the divergence"
    unexplained = "policies whose answers cannot be listed; rewards that are themselves estimates"

    def predict(self, problem: TabularPolicy) -> Array:
        return _below_the_best(problem, problem.beta)

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        """The two sums of the left side."""
        policy = jnp.exp(problem.log_policy)
        return jnp.sum(policy * (problem.rewards - problem.beta * (problem.log_policy - problem.log_ref)))

    def condition(self, problem: TabularPolicy) -> Array:
        """The terms of the sums against their difference."""
        policy, beta = jnp.exp(problem.log_policy), problem.beta
        logs = jnp.abs(problem.log_policy) + jnp.abs(problem.log_ref) + jnp.abs(problem.rewards) / beta
        size = beta * (jnp.sum(policy * logs) + jnp.abs(problem.rewards).max() / beta)
        return 8 * (1 + size / jnp.abs(_below_the_best(problem, beta)))


def _after_steps(problem: TabularPolicy, contraction: float) -> Array:
    best = tilted(problem.log_ref, problem.rewards, problem.beta)
    return _centred(best) + contraction**_STEPS * _centred(problem.log_policy - best)


class MirrorDescentToGibbs(Claim[TabularPolicy]):
    """Mirror ascent on J(pi) = E_pi r - beta KL(pi | ref), pi_(t+1) proportional to pi_t exp(eta grad J(pi_t)), which
    is the natural policy gradient of a tabular softmax policy, goes straight to pi* proportional to ref e^(r/beta):

        log pi_t = log pi* + (1 - eta beta)^t (log pi_0 - log pi*) + a constant,

    at a rate that depends neither on the rewards nor on the reference, and past it for eta beta > 1.
    """

    title = "Mirror ascent reaches the tilted policy at a rate of its own"
    source = Source("emergence2026", "Figure 20.7", note="the path of the policy, with the natural gradient")
    population = TabularPolicies()
    relation = Equal(block=1)
    control = Control("a step leaves 1 - eta beta / 2", lambda value, problem: _after_steps(problem, 1 - _RATE / 2))
    controls = "the policy at every step of ascent on reward less divergence"
    unexplained = "ascent on the logits themselves; clipped ratios; gradients from samples"

    def predict(self, problem: TabularPolicy) -> Array:
        return _after_steps(problem, 1 - _RATE)

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        """Steps with an automatic gradient."""

        def value(policy):
            return jnp.sum(policy * (problem.rewards - problem.beta * (jnp.log(policy) - problem.log_ref)))

        def step(_, logs):
            return jax.nn.log_softmax(logs + _RATE / problem.beta * jax.grad(value)(jnp.exp(logs)))

        return _centred(jax.lax.fori_loop(0, _STEPS, step, problem.log_policy))

    def condition(self, problem: TabularPolicy) -> Array:
        """Each step rounds logits of the size of log pi and r/beta; later steps shrink what was rounded."""
        size = jnp.abs(problem.log_policy).max() + jnp.abs(problem.log_ref).max()
        size += jnp.abs(problem.rewards).max() / problem.beta
        return 8 / _RATE * (1 + size / jnp.abs(_after_steps(problem, 1 - _RATE)).max())
