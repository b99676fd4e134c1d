"""Many skills that are each learned suddenly, and connected components of learned facts.

This theory assumes that a network learns skills or facts one by one and independently. It computes the loss of the
whole, and the size of the largest connected component. It does not explain why a skill is learned suddenly.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, positive, uniform

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

_LISTED = 200_000  # the number of skills that are summed one by one; of the rarer skills, the total is known


class Skills(eqx.Module):
    """Skills whose frequencies p_k are proportional to k^-(1 + a)."""

    a: Float[Array, ""]

    def frequencies(self) -> tuple[Float[Array, " k"], Float[Array, ""]]:
        """Return the frequencies of the most frequent skills, and the sum of all other frequencies."""
        total = jax.scipy.special.zeta(1 + self.a, 1.0)
        rest = jax.scipy.special.zeta(1 + self.a, _LISTED + 1.0)
        return jnp.arange(1.0, _LISTED + 1.0) ** -(1 + self.a) / total, rest / total


SKILLS = Drawn(Skills, positive("a", "otherwise the frequencies have no finite sum"), a=uniform(0.5, 1.0))


class LossInSkills(Claim[Skills]):
    """The k-th most frequent of infinitely many skills is needed with a probability proportional to k^-(1 + a), where a
    > 0. The loss is the probability that the needed skill has not been learned. If the n most frequent skills are
    learned, the loss falls like

        n^-a.
    """

    title = "If skill frequencies follow a power law, the loss is a power law in the number of learned skills"
    source = Source("emergence2026", "Figure 22.5", note="with exponents")
    population = SKILLS
    relation = Rate("n", (100.0, 1000.0, 10000.0), margin=0.02, resolution=0.02)
    control = Control("the loss falls like n^-(a + 0.2)", lambda exponent, problem: exponent - 0.2)
    controls = "the loss of a model that has learned n skills"
    unexplained = "skills that help each other"
    trials = 24

    def predict(self, problem: Skills) -> Array:
        return -problem.a

    def measure_at(self, problem: Skills, key: Key[Array, ""], n: float) -> Array:
        """Return the sum of the frequencies of all skills except the n most frequent ones."""
        listed, rest = problem.frequencies()
        return jnp.sum(listed[int(n) :]) + rest


class LossInSamples(Claim[Skills]):
    """The k-th most frequent of infinitely many skills is needed with a probability p_k proportional to k^-(1 + a),
    where a > 0. A skill is learned once it has been needed in one of D independent samples. Then the expected loss,
    sum_k p_k (1 - p_k)^D, falls like

        D^(-a/(1 + a)),

    although each single skill is learned suddenly. In contrast, for m skills of equal frequency, the loss falls
    exponentially, like (1 - 1/m)^D.
    """

    title = "If skill frequencies follow a power law, the expected loss is a power law in the number of samples"
    source = Source("michaud2023", "main result", note="for skills that are learned from one sample")
    stated = Kind.STEP
    population = SKILLS
    relation = Rate("D", (1e3, 1e4, 1e5), margin=0.02, resolution=0.02)
    control = Control("the loss falls like D^-a", lambda exponent, problem: -problem.a)
    controls = "the loss of a model that learns skills from D samples"
    unexplained = "skills that need many samples"
    trials = 24

    def predict(self, problem: Skills) -> Array:
        return -problem.a / (1 + problem.a)

    def measure_at(self, problem: Skills, key: Key[Array, ""], n: float) -> Array:
        """Return the sum over the skills. The rarest skills are counted as not learned, because they are hardly ever
        needed.
        """
        listed, rest = problem.frequencies()
        return jnp.sum(listed * jnp.exp(n * jnp.log1p(-listed))) + rest


class RandomGraph(eqx.Module):
    """A bipartite random graph of n entities and m properties. Without properties, it is a random graph of n vertices.

    Args:
        degree: the mean degree c of a vertex; with properties, c = q sqrt(n m) for edges of probability q.
        n: the number of vertices or entities.
        m: the number of properties, or 0.
    """

    degree: Float[Array, ""]
    n: int = eqx.field(static=True)
    m: int = eqx.field(static=True)

    def limit(self, threshold: float = 1.0) -> Array:
        """Return the shares of the vertices of each kind in the giant component of large graphs, by iteration."""
        degree = float(self.degree) / threshold
        ratio = np.sqrt(self.m / self.n) if self.m else 1.0
        entities = properties = 1.0
        for _ in range(1000):  # the distance from the largest solution falls geometrically, since c is not near 1
            entities, properties = -np.expm1(-degree * ratio * properties), -np.expm1(-degree / ratio * entities)
        return jnp.asarray([entities, properties][: 2 if self.m else 1])

    def largest(self, key: Key[Array, ""]) -> Array:
        """Draw a graph, and return the shares of the vertices of each kind in its largest component."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, others = self.n, self.m or self.n
        pairs = n * others if self.m else n * (n - 1) // 2
        chance = float(self.degree) / (np.sqrt(n * others) if self.m else n - 1)
        edges = rng.binomial(pairs, chance)
        ends = rng.integers(n, size=edges), rng.integers(others, size=edges) + (n if self.m else 0)
        graph = coo_array((np.ones(edges), ends), shape=(n + self.m, n + self.m))
        labels = connected_components(graph, directed=False)[1]
        inside = labels == np.argmax(np.bincount(labels))
        return jnp.asarray([inside[:n].mean(), inside[n:].mean()] if self.m else [inside.mean()])


class RandomGraphs(Population[RandomGraph]):
    """Random graphs. In a third of the problems, the mean degree c is between 0.3 and 0.6, below the threshold 1 of a
    giant component. In the others, c is between 1.3 and 3.
    """

    properties: int = 0
    settings = Space(n=Integer(5000, 3000, 20000, "vertices or entities", corners=(4000, 8000)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> RandomGraph:
        below_key, degree_key = jax.random.split(key)
        part = jax.random.uniform(degree_key)
        degree = jnp.where(jax.random.bernoulli(below_key, 1 / 3), 0.3 + 0.3 * part, 1.3 + 1.7 * part)
        return RandomGraph(degree, setting["n"], self.properties * setting["n"])

    def hypotheses(self, problem: RandomGraph) -> list[Hypothesis]:
        return [Hypothesis("the mean degree", problem.degree, ">", 0.0, "otherwise the graph has no edges")]


class AbstractGiantComponent(Claim[RandomGraph]):
    """This class holds the shared parts of the claims that compare the largest connected component of a random graph
    with its limit.
    """

    relation = EqualInMean(margin=0.015, resolution=0.015, relative=False)
    control = Control(
        "the threshold is the mean degree 1.15 instead of 1",
        lambda found, problem: problem.limit(1.15),
    )
    trials = 48
    traced = False

    def predict(self, problem: RandomGraph) -> Array:
        return problem.limit()

    def measure(self, problem: RandomGraph, key: Key[Array, ""]) -> Array:
        """Find the components of a drawn graph by search."""
        return problem.largest(key)


class GiantComponent(AbstractGiantComponent):
    """Take a random graph of n vertices with mean degree c. The share of the vertices in its largest connected
    component is the largest solution S in [0, 1] of

        S = 1 - exp(-c S),

    up to a difference that tends to 0 as n grows. For c <= 1, S = 0: there is no giant component.
    """

    title = "A giant component appears in a random graph at mean degree 1"
    source = Source("erdos1960", "main result", note="the size of the giant component")
    stated = Kind.STEP
    population = RandomGraphs()
    controls = "when isolated facts join into one connected body"
    unexplained = "which edges a network learns"


class ConceptPercolation(AbstractGiantComponent):
    """In a random bipartite graph, each of n entities has each of m properties with probability q. The largest
    connected component holds the shares S_E of the entities and S_P of the properties. These shares are the largest
    solutions of

        S_E = 1 - exp(-q m S_P),    S_P = 1 - exp(-q n S_E),

    up to differences that tend to 0 as n and m grow. A giant component, with a positive share of the vertices, exists
    exactly for q sqrt(n m) > 1.
    """

    title = "A giant component among n entities and m properties appears at the edge probability 1/sqrt(n m)"
    source = Source("emergence2026", "Figure 22.6", note="the model of Lubana et al. (2024), with sizes")
    stated = Kind.STEP
    population = RandomGraphs(properties=4)
    controls = "when a model can transfer properties between entities that it never saw together"
    unexplained = "which pairs a network learns"


class CriticalWindow(eqx.Module):
    """Random graphs of n vertices with mean degree 1 + x n^(-1/3), for a fixed x."""

    x: Float[Array, ""]


class CriticalComponent(Claim[CriticalWindow]):
    """Let a random graph of n vertices have the mean degree 1 + x n^(-1/3), where x is fixed. The number of vertices in
    the largest connected component is of the order

        n^(2/3).
    """

    title = "At mean degree 1, the largest component of a random graph has of the order n^(2/3) vertices"
    source = Source("erdos1960", "main result", note="at the threshold")
    stated = Kind.STEP
    population = Drawn(CriticalWindow, x=uniform(-1.0, 1.0))
    relation = Rate("n", (1000.0, 8000.0, 64000.0), margin=0.04, resolution=0.04)
    control = Control("the size is of the order n^(1/2)", lambda exponent, problem: exponent - 1 / 6)
    controls = "how large the components are at the threshold"
    unexplained = "mean degrees further from 1, for which the size is n or log n"
    trials = 48
    traced = False
    predict = 2 / 3

    def measure_at(self, problem: CriticalWindow, key: Key[Array, ""], n: float) -> Array:
        """Average over eight drawn graphs."""
        graph = RandomGraph(1 + problem.x * n ** (-1 / 3), int(n), 0)
        return n * jnp.mean(jnp.stack([graph.largest(each)[0] for each in jax.random.split(key, 8)]))
