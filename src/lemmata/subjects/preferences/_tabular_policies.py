"""Random test problems with a list of answers: references, policies and rewards, and answers ranked by reward."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class TabularPolicy(eqx.Module):
    """A reference and a policy on k answers, rewards, and the coefficient of the divergence penalty.

    Args:
        log_ref: log probabilities of the reference.
        log_policy: log probabilities of the policy.
        rewards: the reward of each answer; for a claim about a proxy reward, the error of the proxy.
        beta: the coefficient of the divergence penalty, positive.
        scale: the sub-Gaussian scale of the rewards under the reference, if it is known.
    """

    log_ref: Float[Array, " k"]
    log_policy: Float[Array, " k"]
    rewards: Float[Array, " k"]
    beta: Float[Array, ""]
    scale: Float[Array, ""]


def _probabilities(problem: TabularPolicy) -> list[Hypothesis]:
    sums = [(name, jnp.exp(logs).sum()) for name, logs in (("ref", problem.log_ref), ("policy", problem.log_policy))]
    why = "the list contains all answers"
    return [Hypothesis(f"the probabilities of the {name} add up to 1", total, "==", 1.0, why) for name, total in sums]


class TabularPolicies(Population[TabularPolicy]):
    """A reference with normal logits, and a policy. The policy's logits are the reference's logits plus random numbers
    of size `distance`.

    Args:
        distance: the default size of the change of the logits.
        skewed: whether the changes are exponential instead of normal numbers. Then few answers gain much probability.
    """

    distance: float = eqx.field(static=True, default=1.0)
    skewed: bool = eqx.field(static=True, default=False)

    def settings(self) -> Space:
        most = 2 * self.distance
        distance = Real(
            self.distance, 0.1, 4.0, "size of the change of the logits", corners=(self.distance / 1.3, most / 1.5)
        )
        return Space(answers=Integer(12, 5, 500, "answers", corners=(8, 30)), distance=distance)

    def sample(self, setting: dict, key: Key[Array, ""]) -> TabularPolicy:
        """Draw a reference, a policy, normal rewards, and beta between 0.2 and 2."""
        k, size = setting["answers"], setting["distance"]
        one, two = jax.random.split(key)
        logits, rewards, moved = jax.random.normal(one, (3, k))
        uniform = jax.random.uniform(two, (k + 1,))
        if self.skewed:
            moved = -jnp.log1p(-uniform[:k])
        policy = jax.nn.log_softmax(logits + size * moved)
        return TabularPolicy(jax.nn.log_softmax(logits), policy, rewards, 0.2 * 10 ** uniform[k], jnp.asarray(jnp.nan))

    def hypotheses(self, problem: TabularPolicy) -> list[Hypothesis]:
        price = Hypothesis(
            "beta, the coefficient of the divergence penalty, is positive",
            problem.beta,
            ">",
            0.0,
            "otherwise nothing keeps the policy near the reference",
        )
        return [*_probabilities(problem), price]


class ProxyErrors(Population[TabularPolicy]):
    """Policies with the error of a proxy reward. In half of the problems, the error is policy/ref; otherwise normal."""

    free = ("log_ref", "log_policy", "rewards")
    settings = Space(
        answers=Integer(20, 5, 500, "answers", corners=(10, 40)),
        distance=Real(1.5, 0.5, 4.0, "size of the change of the logits", corners=(1.2, 2.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TabularPolicy:
        """Draw a policy and an error. The error is the ratio policy/ref with probability 1/2, and otherwise normal."""
        k = setting["answers"]
        problem = TabularPolicies().sample({"answers": k, "distance": setting["distance"]}, key)
        ratio = jnp.exp(problem.log_policy - problem.log_ref)
        half = problem.rewards[0] > 0
        return eqx.tree_at(lambda p: p.rewards, problem, jnp.where(half, ratio, problem.rewards))

    def hypotheses(self, problem: TabularPolicy) -> list[Hypothesis]:
        """Return the hypotheses that reference and policy are probability distributions. The error is arbitrary."""
        return _probabilities(problem)


@functools.cache
def _hermite(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    return points, np.log(weights / weights.sum())


class SubGaussianRewards(Population[TabularPolicy]):
    """Rewards on Gauss-Hermite nodes, and policies that tilt the reference by a factor e^(t reward). Half of the
    problems add noise to the logits.

    The reference has the Gauss-Hermite weights. Its even moments are at most those of the standard normal distribution.
    Therefore the rewards, divided by their scale, are 1-sub-Gaussian under the reference. With k nodes, the moments are
    equal up to order 2k - 1. So tilting the reference has the same effect as tilting a normal distribution, up to
    rounding.
    """

    free = ("log_policy",)
    settings = Space(
        nodes=Integer(40, 20, 60, "answers"), tilt=Real(1.5, 0.1, 2.0, "largest tilt", corners=(0.75, 2.0))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TabularPolicy:
        """Draw a tilt, normal noise on the logits in half of the problems, and a scale between 1/2 and 2."""
        k = setting["nodes"]
        points, logs = _hermite(k)
        one, two = jax.random.split(key)
        u, log_ref = jax.random.uniform(one, (3,)), jnp.asarray(logs)
        tilt, scale = setting["tilt"] * (0.1 + 0.9 * u[0]), 0.5 * 4 ** u[1]
        noise = (u[2] < 0.5) * jax.random.normal(two, (k,))
        policy = jax.nn.log_softmax(log_ref + tilt * points + noise)
        return TabularPolicy(log_ref, policy, scale * points, jnp.ones(()), scale)

    def hypotheses(self, problem: TabularPolicy) -> list[Hypothesis]:
        """Return the hypotheses that reference and policy are distributions, and a bound on the moment generating
        function at four points.
        """
        mean = jnp.sum(jnp.exp(problem.log_ref) * problem.rewards)
        at = jnp.array([-3.0, -1.0, 1.0, 3.0])[:, None] / problem.scale
        logs = jax.nn.logsumexp(problem.log_ref + at * (problem.rewards - mean), axis=1)
        name = "rewards are sub-Gaussian (2 log E exp(t (r - E r)) / (t scale)², at four t)"
        largest = (2 * logs / (at[:, 0] * problem.scale) ** 2).max()
        why = "the bound holds only for light tails"
        return [*_probabilities(problem), Hypothesis(name, largest, "<=", 1.0, why, rounding=1e-9)]


class RankedAnswers(eqx.Module):
    """Log probabilities of answers in the order of increasing rewards, and the number n of draws."""

    logp: Float[Array, " k"]
    draws: Float[Array, ""]


class Rankings(Population[RankedAnswers]):
    """Answers with normal logits of a random standard deviation, and a random n, uniform on a logarithmic scale.

    Args:
        answers: the default number of answers.
        fewest, most: the least and the largest number of draws n.
    """

    free = ("logp",)
    answers: int = eqx.field(static=True, default=400)
    fewest: int = eqx.field(static=True, default=4)
    most: int = eqx.field(static=True, default=64)

    def settings(self) -> Space:
        return Space(answers=Integer(self.answers, 2, 10_000, "answers with different rewards"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> RankedAnswers:
        one, two = jax.random.split(key)
        u = jax.random.uniform(one, (2,))
        logits = u[0] * jax.random.normal(two, (setting["answers"],))
        draws = jnp.floor(self.fewest * ((self.most + 1) / self.fewest) ** u[1])
        return RankedAnswers(jax.nn.log_softmax(logits), draws)

    def hypotheses(self, problem: RankedAnswers) -> list[Hypothesis]:
        total = jnp.exp(problem.logp).sum()
        return [
            Hypothesis("the probabilities add up to 1", total, "==", 1.0, "the list contains all answers"),
            Hypothesis("something is drawn", problem.draws, ">=", 1.0, "the best of 0 draws is not defined"),
        ]


class FewAnswers(eqx.Module):
    """Probabilities of a few answers in the order of increasing rewards, and a small number of draws."""

    probabilities: Float[Array, " k"]
    draws: int = eqx.field(static=True)


class ShortRankings(Population[FewAnswers]):
    """Problems with so few answers and draws that all outcomes can be enumerated."""

    settings = Space(answers=Integer(4, 2, 6, "answers"), draws=Integer(4, 2, 5, "draws", corners=(3, 5)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FewAnswers:
        return FewAnswers(jax.nn.softmax(jax.random.normal(key, (setting["answers"],))), setting["draws"])

    def hypotheses(self, problem: FewAnswers) -> list[Hypothesis]:
        total = problem.probabilities.sum()
        return [Hypothesis("the probabilities add up to 1", total, "==", 1.0, "the list contains all answers")]
