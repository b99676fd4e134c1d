"""Direct preference optimisation: which policy minimises its loss, and what the loss leaves open.

This theory gives the minimiser and the gradient of -log sigma(beta m). Here m is the log odds of the chosen answer
against the rejected answer, minus the log odds of the reference. It assumes policies with a free logit for each
answer, or features that do not move. It leaves unexplained which of the many minimisers a language model finds.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source, Witness
from lemmata.subjects.preferences import tilted
from lemmata.subjects.preferences._preference_pairs import (
    ComparedRewards,
    FeaturePair,
    FeaturePairs,
    FullSupport,
    UnseenAnswer,
    UnseenAnswers,
)

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}

_NEWTON = 12


def _centred(logs: Float[Array, " k"]) -> Array:
    return logs - logs.mean()


class DpoOptimum(Claim[ComparedRewards]):
    """Let k answers have rewards r_1, ..., r_k, let ref be a reference policy, and let beta > 0. Let every pair of
    answers i and j be compared with some frequency w_ij > 0. Let preferences follow the Bradley-Terry model: answer i
    is preferred to j with probability sigma(r_i - r_j), where sigma is the logistic function. For a tabular policy pi,
    let h_i = beta log(pi(i)/ref(i)). The expected loss of pi is

        -sum_ij w_ij [ sigma(r_i - r_j) log sigma(h_i - h_j) + sigma(r_j - r_i) log sigma(h_j - h_i) ].

    The policy that minimises this loss is pi* proportional to ref e^(r/beta). The policy pi* also maximises E_pi r -
    beta KL(pi | ref).
    """

    title = (
        "The loss of direct preference optimisation is smallest at the tilted policy, which is best under a KL penalty"
    )
    source = Source("rafailov2023", "Theorem 1", "Section 4")
    population = FullSupport()
    relation = Equal(block=1)
    control = Control(
        "the minimiser is the tilted policy for beta/2",
        lambda value, problem: _centred(tilted(problem.log_ref, problem.rewards, problem.beta / 2)),
    )
    controls = "the logits, with mean 0, of the policy that minimises the expected loss"
    unexplained = "answers that are not in any pair; preferences that do not follow rewards; finite data"
    condition = 1000.0  # the gradient is rounded; rare pairs make the curvature small

    def predict(self, problem: ComparedRewards) -> Array:
        return _centred(tilted(problem.log_ref, problem.rewards, problem.beta))

    def measure(self, problem: ComparedRewards, key: Key[Array, ""]) -> Array:
        """Minimise the loss by Newton's method on the logits, in units of 1/beta, with automatic derivatives."""
        r, k = problem.rewards, len(problem.rewards)
        chance = jax.nn.sigmoid(r[:, None] - r[None, :])

        def loss(scaled):
            h = problem.beta * (jax.nn.log_softmax(scaled / problem.beta) - problem.log_ref)
            logits = jax.nn.log_sigmoid(h[:, None] - h[None, :])
            return -jnp.sum(problem.frequency * (chance * logits + chance.T * logits.T))

        def step(_, scaled):
            curvature = jax.hessian(loss)(scaled)
            return scaled - jnp.linalg.solve(curvature + jnp.trace(curvature) / k**2, jax.grad(loss)(scaled))

        start = problem.beta * problem.log_ref
        return _centred(jax.lax.fori_loop(0, _NEWTON, step, start) / problem.beta)


def _margin(weights: Float[Array, " d"], problem: FeaturePair) -> Array:
    """Return the margin m of a log-linear policy: its log odds of the chosen answer minus those of the reference."""
    logs = jax.nn.log_softmax(problem.features @ weights)
    ref = jax.nn.log_softmax(problem.features @ problem.reference)
    return (logs[0] - logs[1]) - (ref[0] - ref[1])


def _loss(weights: Float[Array, " d"], problem: FeaturePair) -> Array:
    return -jax.nn.log_sigmoid(problem.beta * _margin(weights, problem))


def _pull(problem: FeaturePair) -> Array:
    """Return beta sigma(-beta m), the weight of a pair with margin m in an update."""
    apart = (problem.features[0] - problem.features[1]) @ (problem.weights - problem.reference)
    return problem.beta * jax.nn.sigmoid(-problem.beta * apart)


def _difference(problem: FeaturePair) -> Array:
    return problem.features[0] - problem.features[1]


class DpoGradient(Claim[FeaturePair]):
    """Let y_w be the chosen and y_l the rejected answer of a comparison. Let pi be a policy, ref a reference, beta > 0,
    and sigma the logistic function. The margin is m = log(pi(y_w)/pi(y_l)) - log(ref(y_w)/ref(y_l)). The loss
    -log sigma(beta m) of direct preference optimisation (DPO) has the gradient

        -beta sigma(-beta m) (grad log pi(y_w) - grad log pi(y_l)).

    So gradient descent raises the log odds of y_w against y_l, relative to the reference. The larger the margin already
    is, the smaller is the step. Let a policy be proportional to exp(<theta, phi(y)>), where theta are the weights and
    phi(y) are the features of answer y. Then the gradient is -beta sigma(-beta m) (phi(y_w) - phi(y_l)).
    """

    title = "A step of DPO raises the log odds of the chosen answer, with a weight that falls as the margin grows"
    source = Source("emergence2026", "Proposition 20.9", "Figure 20.9")
    population = FeaturePairs()
    relation = Equal(block=1)
    control = Control(
        "the weight is beta/2, as for a margin of 0",
        lambda value, problem: -problem.beta / 2 * _difference(problem),
    )
    controls = "the direction and size of the update from one comparison"
    unexplained = "the effect of the update on answers outside the comparison"

    def predict(self, problem: FeaturePair) -> Array:
        return -_pull(problem) * _difference(problem)

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        return jax.grad(_loss)(problem.weights, problem)

    def condition(self, problem: FeaturePair) -> Array:
        """Bound the rounding errors. The automatic gradient contains the probabilities of all answers, which cancel."""
        largest = jnp.abs(problem.features).max() * (1 + jnp.abs(problem.features @ problem.weights).max())
        return 4 * (1 + largest / jnp.abs(_difference(problem)).max()) * len(problem.features)


class ChosenCanFall(Claim[FeaturePair]):
    """Let a policy pi be proportional to exp(<theta, phi(y)>), where theta are the weights and phi(y) are the features
    of answer y. Let y_w be the chosen and y_l the rejected answer of a comparison. Take the log odds of y_w against y_l
    under pi, and subtract these log odds under the reference. The difference is the margin m. Let beta > 0, and follow
    the gradient flow of the DPO loss -log sigma(beta m), where sigma is the logistic function. The log probability of
    the chosen answer changes at the rate

        d log pi(y_w) / dt = beta sigma(-beta m) <phi(y_w) - E_pi phi, phi(y_w) - phi(y_l)>.

    So the chosen answer loses probability if and only if the inner product is negative. The inner product can be
    negative if the two answers have similar features. Even then the margin rises.
    """

    title = "Learning a preference by DPO can make the chosen answer less likely"
    source = Source("razin2025", note="main result, for features that do not move")
    population = FeaturePairs()
    relation = Equal()
    control = Control(
        "the log probability of the chosen answer always rises, at the rate beta sigma(-beta m) |phi(y_w) - phi(y_l)|²",
        lambda value, problem: _pull(problem) * jnp.sum(_difference(problem) ** 2),
    )
    controls = "the likelihood of the chosen answer under gradient descent"
    unexplained = "which answers gain the probability; features that move"

    def predict(self, problem: FeaturePair) -> Array:
        mean = problem.policy @ problem.features
        return _pull(problem) * jnp.dot(problem.features[0] - mean, _difference(problem))

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        """Return the derivative of the log probability along the automatic gradient of the loss."""
        chosen = lambda weights: jax.nn.log_softmax(problem.features @ weights)[0]
        direction = -jax.grad(_loss)(problem.weights, problem)
        return jax.jvp(chosen, (problem.weights,), (direction,))[1]

    def condition(self, problem: FeaturePair) -> Array:
        """Bound the rounding errors. The products of features in the inner product cancel in part."""
        size = jnp.sum(problem.features**2, axis=1).max() * (1 + jnp.abs(problem.features @ problem.weights).max())
        return 4 * (1 + _pull(problem) * size * len(problem.features) / jnp.abs(self.predict(problem)))


def _with_mass_on_the_unseen(problem: UnseenAnswer) -> Float[Array, " 3"]:
    """Return log probabilities that have the optimal margin for the labels and give the third answer 1 - `left`."""
    q = problem.probability
    log_odds = jnp.log(q / (1 - q)) / problem.beta + problem.log_ref[0] - problem.log_ref[1]
    compared = jnp.log(problem.left) + jnp.stack([jax.nn.log_sigmoid(log_odds), jax.nn.log_sigmoid(-log_odds)])
    return jnp.append(compared, jnp.log1p(-problem.left))


class UnseenAnswersTakeTheMass(Claim[UnseenAnswer]):
    """Let policies pi choose among three answers y_1, y_2, y_3. The comparisons contain only y_1 and y_2, and y_1 is
    preferred to y_2 with probability q. Consider the expected loss of direct preference optimisation (DPO). For each
    eta in (0, 1), some policy with pi(y_3) = 1 - eta attains the smallest expected loss of all policies. This smallest
    loss is the entropy of the label, -q log q - (1 - q) log(1 - q). So an answer that no comparison contains can take
    any probability.

    The test checks that the loss of a constructed policy equals this entropy up to rounding.
    """

    title = "Answers outside the data can take any probability although the DPO loss is at its minimum"
    source = Source("xu2024", note="main result, as a construction")
    population = UnseenAnswers()
    relation = Witness()
    control = Control("the third answer takes the probability 1 - eta/2", lambda mass, problem: (1 + mass) / 2)
    controls = "the probability of an answer that is not in any comparison"
    unexplained = "which of the minimisers gradient descent finds from the reference"

    def predict(self, problem: UnseenAnswer) -> Array:
        return 1 - problem.left

    def measure(self, problem: UnseenAnswer, key: Key[Array, ""]) -> Array:
        """Return the probability of the third answer if the loss equals the entropy, and otherwise 0."""
        logs, q = _with_mass_on_the_unseen(problem), problem.probability
        logit = problem.beta * ((logs[0] - logs[1]) - (problem.log_ref[0] - problem.log_ref[1]))
        loss = -q * jax.nn.log_sigmoid(logit) - (1 - q) * jax.nn.log_sigmoid(-logit)
        entropy = -q * jnp.log(q) - (1 - q) * jnp.log1p(-q)
        return jnp.where(loss <= entropy * (1 + 1e-12), jnp.exp(logs[2]) / jnp.exp(logs).sum(), 0.0)


class RegularisedUnseenMass(Claim[UnseenAnswer]):
    """Let ref be a reference policy, and let beta > 0 be the coefficient of the divergence penalty. Let the rewards r
    of all answers satisfy |r| <= R. Let pi be the policy that maximises E_pi r - beta KL(pi | ref). For every answer y,
    whether or not the data contain it,

        pi(y) <= ref(y) e^(2 R / beta).

    If y has the reward R and all other answers have the reward -R, the bound is attained in the limit ref(y) -> 0.
    """

    title = "Bounded rewards with a KL penalty bound the probability of every answer"
    source = Source("rafailov2023", "Section 4", note="a consequence of the tilted policy")
    population = UnseenAnswers()
    relation = AtMost()
    control = Control(
        "the factor e^(R/beta) is enough", lambda bound, problem: bound * jnp.exp(-problem.bound / problem.beta)
    )
    controls = "the probability of an answer that no comparison contains, under an explicit KL penalty"
    unexplained = "learned rewards that are not bounded"
    trivial = 1.0  # a probability is at most 1

    def predict(self, problem: UnseenAnswer) -> Array:
        return jnp.exp(problem.log_ref[2] + 2 * problem.bound / problem.beta)

    def measure(self, problem: UnseenAnswer, key: Key[Array, ""]) -> Array:
        """Return the third answer's probability under the policy to which mirror ascent converges."""

        def value(policy):
            return jnp.sum(policy * (problem.rewards - problem.beta * (jnp.log(policy) - problem.log_ref)))

        step = lambda _, logs: jax.nn.log_softmax(logs + 0.5 / problem.beta * jax.grad(value)(jnp.exp(logs)))
        return jnp.exp(jax.lax.fori_loop(0, 60, step, problem.log_ref)[2])
