"""Random test problems with comparisons: tournaments, contests, annotators of several kinds, and answers to prompts."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Space

_GRAPHS = 4
Graph = Literal["complete", "path"]


class ComparisonGraphs(eqx.Module):
    """Several small tournaments. wins[g, i, j] is the number of times that item i beat item j in tournament g."""

    wins: Int[Array, "g k k"]


class SparseTournaments(Population[ComparisonGraphs]):
    """Tournaments with few comparisons of random pairs. Winners follow the Bradley-Terry model with normal rewards."""

    def settings(self) -> Space:
        """Return settings with so few comparisons that rewards cannot be fitted to about half of the tournaments."""
        items = Integer(5, 3, 8, "items")
        return Space(items=items, comparisons=Integer(12, 3, 40, "comparisons of a tournament", corners=(9, 16)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ComparisonGraphs:
        items, count = setting["items"], setting["comparisons"]
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
        rng, wins = np.random.default_rng(seed), np.zeros((_GRAPHS, items, items), int)
        for won in wins:
            rewards = rng.normal(size=items)
            for _ in range(count):
                i, j = rng.choice(items, 2, replace=False)
                first = rng.uniform() < 1 / (1 + np.exp(rewards[j] - rewards[i]))
                won[(i, j) if first else (j, i)] += 1
        return ComparisonGraphs(jnp.asarray(wins))

    def hypotheses(self, problem: ComparisonGraphs) -> list[Hypothesis]:
        own = jnp.trace(problem.wins, axis1=1, axis2=2).sum()
        return [
            Hypothesis(
                "no item is compared with itself", own, "==", 0, "such a comparison does not say which item is better"
            )
        ]


class Contest(eqx.Module):
    """Rewards of items, with mean 0, a graph of the compared pairs, and the number of comparisons of each pair."""

    rewards: Float[Array, " k"]
    graph: Graph = eqx.field(static=True)
    comparisons: int = eqx.field(static=True)

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The first items and the second items of all pairs that are compared."""
        k = len(self.rewards)
        return np.triu_indices(k, 1) if self.graph == "complete" else (np.arange(k - 1), np.arange(1, k))

    def laplacian(self, weights: Float[Array, " p"]) -> Float[Array, "k k"]:
        """Return the Laplacian matrix of the graph of compared pairs, with these edge weights."""
        first, second = self.pairs
        signs = jnp.asarray(np.eye(len(self.rewards))[first] - np.eye(len(self.rewards))[second])
        return signs.T @ (weights[:, None] * signs)

    @property
    def gaps(self) -> Float[Array, " p"]:
        """The reward of the first item minus the reward of the second item, for each compared pair."""
        first, second = self.pairs
        return self.rewards[first] - self.rewards[second]


class Contests(Population[Contest]):
    """Items with uniform rewards between -1.5 and 1.5. The compared pairs form a complete graph or a path."""

    def settings(self) -> Space:
        comparisons = Integer(400, 100, 2000, "comparisons of each pair", corners=(400, 800))
        graph = Choice("complete", ("complete", "path"), "which pairs are compared")
        return Space(items=Integer(8, 3, 12, "items", corners=(5, 12)), comparisons=comparisons, graph=graph)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Contest:
        """Draw the rewards, and subtract their mean. The setting `graph` determines the pairs."""
        rewards = jax.random.uniform(key, (setting["items"],), minval=-1.5, maxval=1.5)
        return Contest(rewards - rewards.mean(), setting["graph"], setting["comparisons"])

    def hypotheses(self, problem: Contest) -> list[Hypothesis]:
        """Return the hypothesis that the rarest outcome of a pair is expected at least 5 times. Then limits for many
        comparisons apply.
        """
        chance = jax.nn.sigmoid(-jnp.abs(problem.gaps)).min()
        rarest = problem.comparisons * chance
        why = "the Fisher information gives the error only if the better item sometimes loses"
        return [Hypothesis("the rarest outcome of a pair is expected at least 5 times", rarest, ">=", 5.0, why)]


class Opinions(eqx.Module):
    """Utilities of k answers for l kinds of annotators, and the share of each kind among annotators."""

    utilities: Float[Array, "l k"]
    shares: Float[Array, " l"]

    @property
    def preferred(self) -> Float[Array, "k k"]:
        """The probability that a random annotator prefers answer i to answer j. The diagonal is 1/2."""
        return jnp.einsum(
            "l,lij->ij", self.shares, jax.nn.sigmoid(self.utilities[:, :, None] - self.utilities[:, None, :])
        )


class MixedOpinions(Population[Opinions]):
    """Two kinds of annotators who nearly agree. A smaller third kind has the opposite opinion, with utilities that are
    four times as large as those of the first two kinds.
    """

    settings = Space(answers=Integer(6, 3, 20, "answers"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Opinions:
        """Draw utilities 2 s u + noise with normal u, and shares near 0.4, 0.35 and 0.25. s is 1, 1 and -4 for the
        three kinds.
        """
        k = setting["answers"]
        normal = jax.random.normal(key, (4 * k + 3,))
        utilities = jnp.array([1.0, 1.0, -4.0])[:, None] * (2 * normal[:k])
        shares = jnp.array([0.4, 0.35, 0.25]) * jnp.exp(0.1 * normal[4 * k :])
        return Opinions(utilities + normal[k : 4 * k].reshape(3, k), shares / shares.sum())

    def hypotheses(self, problem: Opinions) -> list[Hypothesis]:
        rare = problem.preferred.min()
        return [
            Hypothesis("the shares add up to 1", problem.shares.sum(), "==", 1.0, "they are probabilities"),
            Hypothesis("every answer is sometimes preferred", rare, ">", 0.0, "otherwise no fit exists"),
        ]


class PromptRewards(eqx.Module):
    """Rewards of k answers to each of x prompts, a reward shift for each prompt, and compared pairs (winner, loser)."""

    rewards: Float[Array, "x k"]
    shifts: Float[Array, " x"]
    winners: Int[Array, "x c"]
    losers: Int[Array, "x c"]


class ShiftedPrompts(Population[PromptRewards]):
    """Normal rewards of answers, prompt shifts that are ten times as large, and random pairs of different answers."""

    def settings(self) -> Space:
        prompts = Integer(4, 1, 50, "prompts")
        return Space(prompts=prompts, answers=Integer(5, 2, 50, "answers to each"), comparisons=Integer(6, 1, 100))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PromptRewards:
        one, two = jax.random.split(key)
        x, k, c = setting["prompts"], setting["answers"], setting["comparisons"]
        normal, u = jax.random.normal(one, (x, k + 1)), jax.random.uniform(two, (2, x, c))
        winners = jnp.floor(k * u[0]).astype(int)
        losers = (winners + 1 + jnp.floor((k - 1) * u[1]).astype(int)) % k
        return PromptRewards(normal[:, :k], 10 * normal[:, k], winners, losers)

    def hypotheses(self, problem: PromptRewards) -> list[Hypothesis]:
        same = jnp.sum(problem.winners == problem.losers)
        return [
            Hypothesis(
                "no answer is compared with itself",
                same,
                "==",
                0,
                "an answer would win against itself with probability 1/2 for all rewards",
            )
        ]
