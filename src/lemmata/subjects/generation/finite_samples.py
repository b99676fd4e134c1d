"""Finite samples: few points satisfy limited critics, and a birthday test shows the lack of diversity.

This theory is about critics from a small class, and about generators with few distinct outputs. It assumes independent
draws. It does not explain which critics a network can learn.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float, Key
from scipy.optimize import linprog

from lemmata.engine.claims import AtMost, Claim, Control, EqualInMean, Integer, Kind, Real, Source, Witness
from lemmata.engine.problems.drawn import Drawn, normal, signs
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {
    "tool": "concentration",
    "architecture": "any",
    "object": "generalisation",
    "SparseStrategies": {"object": "construction"},
    "CollisionsOfSamples": {"tool": "statistics", "object": "sampler"},
}

_REPEATS = 64
_DELTA = 0.1
_WITHIN, _GAME_WITHIN = 0.1, 0.25
_TRIES = 8


class SampledLaws(eqx.Module):
    """Two distributions, P and Q, of a random vector m + B e, and a sample size n.

    The vector e has independent entries of mean 0 and variance 1. The mean m and the mixing matrix B differ between P
    and Q. If `equal` is 1, P is Q. Otherwise, the means of P and Q differ by a few standard errors.
    """

    shift: Float[Array, " d"]
    p_mixing: Float[Array, "d d"]
    other: Float[Array, "d d"]
    equal: Float[Array, ""]
    n: int = eqx.field(static=True)

    @property
    def apart(self) -> Float[Array, " d"]:
        """The difference of the means of P and Q."""
        return (1 - self.equal) * self.shift * jnp.sqrt(len(self.shift) / self.n)

    @property
    def q_mixing(self) -> Float[Array, "d d"]:
        """The mixing matrix B of Q."""
        return jnp.where(self.equal > 0, self.p_mixing, self.other)


class LinearCriticsGeneralise(Claim[SampledLaws]):
    """Let the critics be x -> <w, x> with |w| <= 1, and let d_F(P, Q) be the largest difference between the means of a
    critic under P and under Q. Let P and Q have the means mu_P and mu_Q and the covariances S_P and S_Q, and let P_n
    and Q_n be the empirical distributions of n independent draws from each. Then

        E d_F(P_n, Q_n)² = |mu_P - mu_Q|² + (tr S_P + tr S_Q)/n.

    For P = Q, the distance between two samples is therefore of order n^(-1/2). The dimension changes only the constant,
    in contrast to the rate n^(-1/k) of W1 in k dimensions.

    Derivation: the largest difference over |w| <= 1 is the distance of the two sample means. The mean square of this
    distance is |mu_P - mu_Q|² plus the traces of the covariances S_P/n and S_Q/n of the sample means.
    """

    title = "For linear critics the distance (IPM) between two samples of n rows falls like n^(-1/2)"
    source = Source("emergence2026", "Figure 14.11", "Figure 14.2", note="for linear critics, with the constant")
    stated = Kind.OWN
    population = Drawn(
        SampledLaws,
        shift=normal("d"),
        p_mixing=normal("d", "d"),
        other=normal("d", "d"),
        equal=signs(),
        d=dimension(20, 2, 40),
        n=rows(40, 4, 200),
    )
    relation = EqualInMean(resolution=0.02)
    control = Control(
        "the trace of S_Q can be left out",
        lambda value, problem: value - jnp.sum(problem.q_mixing**2) / problem.n,
    )
    controls = "what a limited critic sees of a finite sample"
    unexplained = "critics that are networks, for which the bounds contain covering numbers"
    trials = 128

    def predict(self, problem: SampledLaws) -> Array:
        traces = jnp.sum(problem.p_mixing**2) + jnp.sum(problem.q_mixing**2)
        return jnp.sum(problem.apart**2) + traces / problem.n

    def measure(self, problem: SampledLaws, key: Key[Array, ""]) -> Array:
        """Average over pairs of samples with exponential entries.

        The best linear critic w is parallel to the difference of the means.
        """

        def one(own: Key[Array, ""]) -> Array:
            p, q = jax.random.exponential(own, (2, problem.n, len(problem.apart))) - 1
            apart = (problem.apart + p @ problem.p_mixing.T - q @ problem.q_mixing.T).mean(axis=0)
            critic = apart / jnp.linalg.norm(apart)
            return (critic @ apart) ** 2

        return jnp.mean(jax.lax.map(one, jax.random.split(key, _REPEATS)))


class Critics(eqx.Module):
    """The values of critics at many points, on which a distribution P is uniform. If `kind` is 1, the values are coin
    tosses. Otherwise, the critics are ReLU networks at Gaussian points x, with values clipped to [0, 1].
    """

    coins: Float[Array, "critics points"]
    x: Float[Array, "points 10"]
    first: Float[Array, "10 hidden"]
    last: Float[Array, "critics hidden"]
    kind: Float[Array, ""]

    @property
    def values(self) -> Float[Array, "critics points"]:
        """The values of all critics, in [0, 1]."""
        networks = self.last @ jax.nn.relu(self.x @ self.first).T / jnp.sqrt(self.last.shape[1])
        return jnp.where(self.kind > 0, (1 + self.coins) / 2, jnp.clip(0.5 + networks, 0.0, 1.0))


class FewAtomsSuffice(Claim[Critics]):
    """Let N critics have values in [0, 1]. Draw

        m = ceil(log(2 N/delta)/(2 eps²))

    points from a distribution P independently, and let a generator output each of these points with probability 1/m.
    With probability at least 1 - delta, the means of every critic under P and under the generator differ by at most
    eps. So N critics cannot distinguish P from a generator with m outputs, even if P has many more points. For N = 30,
    eps = 0.1 and delta = 0.1, m is 320.
    """

    title = "N critics accept, within eps, a generator with only log(2N/delta)/(2 eps²) outputs"
    source = Source(
        "emergence2026", "Figure 14.11", note="the concentration over a finite net, with explicit constants"
    )
    population = Drawn(
        Critics,
        coins=signs("critics", "points"),
        x=normal("points", 10),
        first=normal(10, 32),
        last=normal("critics", 32),
        kind=signs(),
        critics=Integer(30, 5, 60, "critics"),
        points=Integer(1000, 500, 2000, "points of P"),
    )
    relation = AtMost(delta=_DELTA)
    control = Control(
        "a quarter of the points is enough, so that m points give eps/2", lambda error, problem: error / 2
    )
    controls = "whether a few critics can notice a lack of diversity"
    unexplained = "the size of a net of critics that stands for all networks of one architecture"
    predict = _WITHIN
    trivial = 1.0  # all values are in [0, 1]

    def measure(self, problem: Critics, key: Key[Array, ""]) -> Array:
        """Return the largest difference between a critic's means under P and under the generator."""
        count, points = problem.values.shape
        atoms = int(np.ceil(np.log(2 * count / _DELTA) / (2 * _WITHIN**2)))
        chosen = problem.values[:, jax.random.randint(key, (atoms,), 0, points)]
        return jnp.max(jnp.abs(chosen.mean(axis=1) - problem.values.mean(axis=1)))


class Game(eqx.Module):
    """A zero-sum game with payoffs 0 and 1. One player chooses the row and maximises the payoff, and the other player
    chooses the column.
    """

    signs: Float[Array, "n n"]

    def solution(self, *, of_rows: bool) -> tuple[float, np.ndarray]:
        """Return the value of the game and an optimal mixture of one of the players."""
        payoffs = (1 + np.asarray(self.signs)) / 2 * (1 if of_rows else -1)
        payoffs = payoffs if of_rows else payoffs.T
        n = len(payoffs)
        found = linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=np.hstack([-payoffs.T, np.ones((n, 1))]),
            b_ub=np.zeros(n),
            A_eq=np.append(np.ones(n), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * n + [(None, None)],
        )
        mixture = np.clip(found.x[:-1], 0.0, None)
        return float(found.x[-1] if of_rows else -found.x[-1]), mixture / mixture.sum()


class SparseStrategies(Claim[Game]):
    """Let a zero-sum game have n strategies for each player and payoffs in [0, 1], and let v be its value. For every
    eps > 0, the maximising player has k = ceil(log(n)/(2 eps²)) strategies, not necessarily different, whose uniform
    mixture guarantees the payoff v - eps. So against n critics, a mixture of k simple generators is enough. The test
    draws k strategies from an optimal mixture, and keeps the best of eight such draws.
    """

    title = "In a zero-sum game of n strategies, a mixture of log(n)/(2 eps²) of them guarantees the value minus eps"
    source = Source("lipton1994", "Main result", note="with the constant of Hoeffding's inequality")
    stated = Kind.THEOREM
    population = Drawn(Game, n=Integer(30, 5, 60, "strategies"), signs=signs("n", "n"))
    relation = Witness()
    control = Control(
        "a sixteenth of the strategies is enough, so that k strategies lose eps/4",
        lambda payoff, problem: payoff + 0.75 * _GAME_WITHIN,
    )
    controls = "how many generators a mixture needs"
    unexplained = "how training can find the mixture"
    trivial = 0.0  # payoffs are not negative
    traced = False

    def predict(self, problem: Game) -> Array:
        """Compute the bound v - eps, with the value v from the optimal mixture of the other player."""
        return jnp.asarray(problem.solution(of_rows=False)[0] - _GAME_WITHIN)

    def measure(self, problem: Game, key: Key[Array, ""]) -> Array:
        rng, payoffs = generator_of(key), (1 + np.asarray(problem.signs)) / 2
        _, mixture = problem.solution(of_rows=True)
        count = int(np.ceil(np.log(len(payoffs)) / (2 * _GAME_WITHIN**2)))
        tries = rng.choice(len(mixture), (_TRIES, count), p=mixture)
        return jnp.asarray(max(payoffs[own].mean(axis=0).min() for own in tries))


class SkewedLaw(eqx.Module):
    """Probabilities proportional to i^(-exponent) for i = 1, ..., atoms, and a sample size."""

    exponent: Float[Array, ""]
    atoms: int = eqx.field(static=True)
    n: int = eqx.field(static=True)

    @property
    def masses(self) -> Float[Array, " atoms"]:
        """The probabilities of the points."""
        return jax.nn.softmax(-self.exponent * jnp.log(jnp.arange(1.0, self.atoms + 1)))

    @property
    def pairs(self) -> float:
        """The number of pairs of draws."""
        return self.n * (self.n - 1) / 2


class CollisionsOfSamples(Claim[SkewedLaw]):
    """Draw n times from a distribution with the probabilities p_1, ..., p_N. The number of pairs of equal draws has the
    mean

        n (n - 1)/2 sum_i p_i².

    So a birthday test, which counts equal pairs, estimates the size of the support as 1/sum_i p_i². This number is N
    for the uniform distribution, and smaller for all other distributions. The test also draws from the uniform
    distribution, with the same random numbers. It measures how many more equal pairs the draws from the given
    distribution contain.

    Derivation: each of the n (n - 1)/2 pairs is equal with probability sum_i p_i². By Cauchy and Schwarz's inequality,
    this sum is at least 1/N, with equality for equal p_i.
    """

    title = (
        "A birthday test, which counts equal draws, estimates 1/sum p_i² for the probabilities p_i, not the number "
        "of points"
    )
    source = Source("arora2018support", "Abstract", note="the mean of the test for each distribution")
    stated = Kind.OWN
    population = Drawn(
        SkewedLaw,
        exponent=Real(0.5, 0.4, 1.0, "exponent of the probabilities"),
        atoms=Integer(1000, 100, 4000, "atoms"),
        n=rows(100, 20, 400),
    )
    relation = EqualInMean(resolution=0.03)
    control = Control(
        "the support is the exponential of the entropy, not 1/sum p²",
        lambda excess, problem: problem.pairs * (jnp.exp(-jnp.sum(entr(problem.masses))) - 1 / problem.atoms),
    )
    controls = "what the birthday test shows about a generator's diversity"
    unexplained = "samples that are similar but not equal"
    trials = 256

    def predict(self, problem: SkewedLaw) -> Array:
        return problem.pairs * (jnp.sum(problem.masses**2) - 1 / problem.atoms)

    def measure(self, problem: SkewedLaw, key: Key[Array, ""]) -> Array:
        """Return the mean number of equal pairs in 64 samples, minus the mean number in uniform samples."""
        ends = jnp.cumsum(problem.masses)
        uniforms = jax.random.uniform(key, (_REPEATS, problem.n))

        def pairs(drawn: Array) -> Array:
            counts = jnp.zeros(problem.atoms).at[jnp.minimum(drawn, problem.atoms - 1)].add(1.0)
            return jnp.sum(counts * (counts - 1)) / 2

        excess = lambda u: pairs(jnp.searchsorted(ends, u)) - pairs((u * problem.atoms).astype(int))
        return jnp.mean(jax.lax.map(excess, uniforms))
