"""Policies of a finite Markov decision process: how their values differ, their gradient, and greedy policies.

This theory gives exact identities between the values of two policies, and the gradient of the value. It also bounds the
loss of a policy that is greedy for approximate values. It assumes a discount below 1 and known transition
probabilities. It does not explain how many samples an agent needs to learn the probabilities.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.subjects.interaction._decision_processes import (
    DecisionProcess,
    PolicyPair,
    PolicyPairs,
    ValueGuess,
    ValueGuesses,
    summed_powers,
)

ABOUT = {"tool": "dynamical systems", "architecture": "any", "object": "training"}


def _occupancy(process: DecisionProcess, policy: Float[Array, "s a"]) -> Float[Array, " s"]:
    """Return the occupancy (1 - gamma) sum_t gamma^t P(s_t = s)."""
    discounted = process.discount * process.followed(policy)[0]
    return (1 - process.discount) * process.start @ summed_powers(discounted)


def _action_values(process: DecisionProcess, policy: Float[Array, "s a"]) -> Float[Array, "s a"]:
    transition, reward = process.followed(policy)
    return process.rewards + process.discount * process.moves @ (summed_powers(process.discount * transition) @ reward)


def _gained(problem: PolicyPair, visits: Float[Array, " s"]) -> Array:
    """Return the mean advantage of the second policy's actions over the first policy, divided by 1 - gamma. The mean is
    over states with the probabilities `visits`.
    """
    policy, other = problem.policies
    values = _action_values(problem.process, policy)
    advantages = values - jnp.sum(policy * values, axis=1, keepdims=True)
    return visits @ jnp.sum(other * advantages, axis=1) / (1 - problem.process.discount)


class PerformanceDifference(Claim[PolicyPair]):
    """Take a finite Markov decision process with discount gamma < 1 and a distribution of the first state. For a policy
    pi, let J(pi) be the expected discounted sum of rewards, and let Q(s, a) be the action values. The advantages of pi
    are A(s, a) = Q(s, a) - sum_b pi(b|s) Q(s, b). For another policy pi', let d'(s) = (1 - gamma) sum_t gamma^t P(s_t =
    s) be the discounted occupancy of the states under pi'. Then

        J(pi') - J(pi) = (1 - gamma)^-1 sum_s d'(s) sum_a pi'(a | s) A(s, a).
    """

    title = "The difference in value of two policies is a mean advantage over the states that the new policy visits"
    source = Source("kakade2002", "Lemma 6.1")
    population = PolicyPairs()
    relation = Equal()
    control = Control(
        "the states are those that the old policy visits",
        lambda gain, problem: _gained(problem, _occupancy(problem.process, problem.policies[0])),
    )
    controls = "how much a new policy gains"
    unexplained = "advantages that are estimated, and visits of the new policy that are unknown before it is tried"

    def predict(self, problem: PolicyPair) -> Array:
        return _gained(problem, _occupancy(problem.process, problem.policies[1]))

    def measure(self, problem: PolicyPair, key: Key[Array, ""]) -> Array:
        """Return the difference of the values of both policies, by linear solves."""
        policy, other = problem.policies
        return problem.process.start @ (problem.process.solved(other) - problem.process.solved(policy))

    def condition(self, problem: PolicyPair) -> Array:
        """Bound the cancellation of two values, each from a system with the condition number 2 / (1 - gamma)."""
        left = 1 - problem.process.discount
        size = jnp.abs(problem.process.rewards).max() / left
        return len(problem.logits) / left * (1 + size / jnp.abs(self.predict(problem)))


def _stationary(transition: Float[Array, "s s"]) -> Float[Array, " s"]:
    s = len(transition)
    return jnp.linalg.solve(jnp.eye(s) - transition.T + jnp.ones((s, s)), jnp.ones(s))


def _gradient(problem: PolicyPair, visits: Float[Array, " s"]) -> Float[Array, "s a"]:
    """Return the gradient with respect to the logits. For a softmax policy, the derivative of pi(.|s) turns action
    values into advantages.
    """
    policy = problem.policies[0]
    values = _action_values(problem.process, policy)
    advantages = values - jnp.sum(policy * values, axis=1, keepdims=True)
    return visits[:, None] * policy * advantages / (1 - problem.process.discount)


class PolicyGradient(Claim[PolicyPair]):
    """Take a finite Markov decision process with discount gamma < 1 and a distribution of the first state. Let pi be a
    policy with parameters theta. Let J be the expected discounted sum of rewards under pi, and let Q be the action
    values of pi. Let d(s) = (1 - gamma) sum_t gamma^t P(s_t = s) be the discounted occupancy of pi. Then

        dJ/d theta = (1 - gamma)^-1 sum_s d(s) sum_a (d pi(a | s)/d theta) Q(s, a).

    The derivative of the occupancy is not needed, although the policy changes which states are visited. The test uses
    one logit for each state and action.
    """

    title = "The policy gradient does not contain the derivative of the state frequencies"
    source = Source("sutton2000", "Theorem 1")
    population = PolicyPairs()
    relation = Equal(block=-1)
    control = Control(
        "the states have the stationary distribution of the policy",
        lambda slope, problem: _gradient(problem, _stationary(problem.process.followed(problem.policies[0])[0])),
    )
    controls = "the gradient that a policy follows in training"
    unexplained = "the noise of gradients that are estimated from episodes"

    def predict(self, problem: PolicyPair) -> Array:
        return _gradient(problem, _occupancy(problem.process, problem.policies[0]))

    def measure(self, problem: PolicyPair, key: Key[Array, ""]) -> Array:
        """Return dJ/dtheta by automatic differentiation of the linear system for the values."""
        process = problem.process
        return jax.grad(lambda logits: process.start @ process.solved(jax.nn.softmax(logits, axis=1)))(problem.logits)

    def condition(self, problem: PolicyPair) -> Array:
        """Bound the rounding errors of two linear systems and of the differences between their values."""
        left = 1 - problem.process.discount
        size = jnp.abs(problem.process.rewards).max() / left**2
        return len(problem.logits) / left * (1 + size / jnp.abs(self.predict(problem)).max())


class GreedyLoss(Claim[ValueGuess]):
    """Let V* be the optimal values of a finite Markov decision process with discount gamma < 1, and let a guess V
    satisfy |V(s) - V*(s)| <= eps for all states. Let pi be greedy for V. That is, pi takes the action for which the
    mean reward plus gamma times the mean of V at the next state is largest. Then the values of pi are below V* by at
    most 2 gamma eps / (1 - gamma) in every state. The following example attains the bound. In a state, a policy can
    either stay and receive the reward -2 gamma eps, or leave and receive the reward 0. The guess V is too large by eps
    in this state, and too small by eps in the state to which the policy leaves.
    """

    title = "A policy that is greedy for values with errors up to eps loses at most 2 gamma eps/(1 - gamma)"
    source = Source("singh1994", note="main result on the loss in every state")
    population = ValueGuesses()
    relation = AtMost()
    control = Control("half of the bound is enough", lambda loss, problem: loss / 2)
    controls = "the loss of a policy that is greedy for approximate values"
    unexplained = "guesses whose errors are similar in all states, which cost far less"

    def predict(self, problem: ValueGuess) -> Array:
        return 2 * problem.process.discount * problem.error / (1 - problem.process.discount)

    def measure(self, problem: ValueGuess, key: Key[Array, ""]) -> Array:
        """Compute the optimal values by policy iteration, and the values of the greedy policy by a linear solve."""
        process, actions = problem.process, problem.process.rewards.shape[1]

        def greedy(values: Array) -> Array:
            look = process.rewards + process.discount * process.moves @ values
            return process.solved(jax.nn.one_hot(look.argmax(axis=1), actions))

        own = greedy(problem.guess)
        best = jax.lax.fori_loop(0, 30, lambda _, values: greedy(values), own)
        return jnp.max(best - own)

    def trivial(self, problem: ValueGuess) -> Array:
        """Return the largest possible difference of two discounted sums of rewards."""
        return (problem.process.rewards.max() - problem.process.rewards.min()) / (1 - problem.process.discount)

    def condition(self, problem: ValueGuess) -> Array:
        """Bound the rounding errors of differences of values, relative to the bound."""
        left = 1 - problem.process.discount
        return len(problem.guess) / left * (1 + jnp.abs(problem.process.rewards).max() / problem.error)
