"""Random test problems with pairs of answers: log-linear policies, noisy labels, and answers without comparisons."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class FeaturePair(eqx.Module):
    """A policy proportional to exp(<weights, features(y)>) on k answers y. Answer 0 was chosen, answer 1 rejected."""

    features: Float[Array, "k d"]
    weights: Float[Array, " d"]
    reference: Float[Array, " d"]
    beta: Float[Array, ""]

    @property
    def policy(self) -> Float[Array, " k"]:
        """The probabilities of the k answers under the policy."""
        return jax.nn.softmax(self.features @ self.weights)


class FeaturePairs(Population[FeaturePair]):
    """Normal features. The features of answer 1 are a mixture of the features of answer 0 and independent features,
    with a coefficient uniform between 0 and 0.95.
    """

    settings = Space(answers=Integer(8, 3, 100, "answers"), features=Integer(6, 2, 100, "features"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FeaturePair:
        """Draw features, the weights of the policy and of the reference, and beta between 0.05 and 1."""
        k, d = setting["answers"], setting["features"]
        one, two = jax.random.split(key)
        normal, (cosine, share) = jax.random.normal(one, (k + 2, d)), jax.random.uniform(two, (2,))
        features, weights, cosine = normal[:k], 0.5 * normal[k:], 0.95 * cosine
        close = cosine * features[0] + jnp.sqrt(1 - cosine**2) * features[1]
        return FeaturePair(features.at[1].set(close), weights[0], weights[1], 0.05 * 20**share)

    def hypotheses(self, problem: FeaturePair) -> list[Hypothesis]:
        apart = jnp.linalg.norm(problem.features[0] - problem.features[1])
        return [
            Hypothesis("the two answers have different features", apart, ">", 0.0, "otherwise the loss is constant"),
            Hypothesis("beta is positive", problem.beta, ">", 0.0, "beta scales margins to logits"),
        ]


class LabelledPair(eqx.Module):
    """A pair of answers. The first answer is preferred with `probability`, and the gradient flow of a preference loss
    runs until `time`.
    """

    probability: Float[Array, ""]
    beta: Float[Array, ""]
    time: Float[Array, ""]


class LabelledPairs(Population[LabelledPair]):
    """Label probabilities from 0.55 to 0.98, beta from 0.05 to 2, and times t with beta² t between 1 and 10^4."""

    settings = Space(most=Real(0.98, 0.6, 0.999, "largest probability of a label", corners=(0.8, 0.99)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledPair:
        """Draw the probability uniformly, and beta and beta² t uniformly on logarithmic scales."""
        one, two, three = jax.random.uniform(key, (3,))
        beta = 0.05 * 40**two
        return LabelledPair(0.55 + (setting["most"] - 0.55) * one, beta, 1e4**three / beta**2)

    def hypotheses(self, problem: LabelledPair) -> list[Hypothesis]:
        q = problem.probability
        return [
            Hypothesis("the label is more often right than not", q, ">", 0.5, "the first answer is the preferred one"),
            Hypothesis("the label is not certain", q, "<", 1.0, "otherwise the margin grows without limit"),
            Hypothesis("beta is positive", problem.beta, ">", 0.0, "beta scales margins to logits"),
        ]


class UnseenAnswer(eqx.Module):
    """Three answers with a reference, a label probability, and rewards. Only the first two answers are compared.

    Args:
        log_ref: log probabilities of the reference.
        probability: the probability that the first answer is preferred to the second.
        left: the total probability that a policy gives to the two compared answers.
        rewards: the rewards of the three answers, at most `bound` in absolute value.
        bound: the bound on the rewards.
        beta: the coefficient of the divergence penalty.
    """

    log_ref: Float[Array, " 3"]
    probability: Float[Array, ""]
    left: Float[Array, ""]
    rewards: Float[Array, " 3"]
    bound: Float[Array, ""]
    beta: Float[Array, ""]


class UnseenAnswers(Population[UnseenAnswer]):
    """A third answer with reference probability e^-6 to e^-12. In half of the problems, its reward is `bound`, and the
    other rewards are -`bound`.
    """

    free = ("rewards",)
    settings = Space(strength=Real(1.5, 0.2, 2.5, "largest bound on the rewards, divided by beta", corners=(1.0, 2.5)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> UnseenAnswer:
        """Draw a reference, a label probability, a total probability `left`, a bound, and rewards within the bound."""
        u = jax.random.uniform(key, (10,))
        rare = jnp.exp(-6 - 6 * u[0])
        ref = jnp.stack([(1 - rare) * (0.1 + 0.8 * u[1]), (1 - rare) * (0.9 - 0.8 * u[1]), rare])
        beta = 0.1 * 10 ** u[2]
        bound = beta * setting["strength"] * (0.2 + 0.8 * u[3])
        extreme = jnp.array([-1.0, -1.0, 1.0])
        drawn = jnp.where(u[6] < 0.5, extreme, 2 * u[7:] - 1)
        return UnseenAnswer(jnp.log(ref), 0.5 + 0.45 * u[4], 0.01 + 0.3 * u[5], bound * drawn, bound, beta)

    def hypotheses(self, problem: UnseenAnswer) -> list[Hypothesis]:
        most = jnp.abs(problem.rewards).max()
        return [
            Hypothesis("the reference adds up to 1", jnp.exp(problem.log_ref).sum(), "==", 1.0, "a probability"),
            Hypothesis(
                "rewards are bounded", most, "<=", problem.bound, "otherwise the third answer could get any probability"
            ),
        ]


class ComparedRewards(eqx.Module):
    """Rewards of k answers, a reference, and the frequency of each pair of answers. All frequencies are positive."""

    rewards: Float[Array, " k"]
    log_ref: Float[Array, " k"]
    frequency: Float[Array, "k k"]
    beta: Float[Array, ""]


class FullSupport(Population[ComparedRewards]):
    """Rewards between -1.5 and 1.5, a reference with normal logits, and different frequencies of the pairs."""

    settings = Space(answers=Integer(6, 2, 12, "answers", corners=(4, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ComparedRewards:
        """Draw rewards, a reference, frequencies that add up to 1, and beta between 0.1 and 1."""
        k = setting["answers"]
        one, two = jax.random.split(key)
        u, normal = jax.random.uniform(one, (k + 1,)), jax.random.normal(two, (k + 1, k))
        weights = jnp.exp(normal[:k]) * (1 - jnp.eye(k))
        return ComparedRewards(
            3 * u[:k] - 1.5, jax.nn.log_softmax(normal[k]), weights / weights.sum(), 0.1 * 10 ** u[k]
        )

    def hypotheses(self, problem: ComparedRewards) -> list[Hypothesis]:
        pairs = problem.frequency + problem.frequency.T + jnp.eye(len(problem.rewards))
        why = "rewards of answers that no pair contains do not enter the loss"
        return [Hypothesis("every pair is compared (least frequency)", pairs.min(), ">", 0.0, why)]
