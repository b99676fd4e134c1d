"""Plateaus of in-context learning on Markov chains: uniform, unigram and bigram prediction.

This theory assumes a chain over S symbols with random rows. It computes the loss of three predictors, which use
nothing, the symbols' frequencies, or the last symbol. It does not explain when training passes from one of them to the
next.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Limit,
    Population,
    Real,
    Source,
    Space,
)

ABOUT = {"tool": "information theory", "architecture": "any", "object": "estimator"}


class Chain(eqx.Module):
    """A Markov chain, given by the rows of its transition matrix."""

    rows: Float[Array, "S S"]

    def stationary(self) -> Float[Array, " S"]:
        """Return the stationary distribution by solving a linear system."""
        size = len(self.rows)
        system = jnp.concatenate([self.rows.T - jnp.eye(size), jnp.ones((1, size))])
        return jnp.linalg.lstsq(system, jnp.zeros(size + 1).at[-1].set(1.0))[0]

    def path(self, key: Key[Array, ""], steps: int) -> Int[Array, " steps"]:
        """Draw a path that starts at a uniformly drawn symbol."""
        below = jnp.cumsum(self.rows, axis=1)[:, :-1]

        def step(at: Array, part: Array) -> tuple[Array, Array]:
            following = jnp.sum(part > below[at])
            return following, following

        first, rest = jax.random.split(key)
        start = jax.random.randint(first, (), 0, len(self.rows))
        return jax.lax.scan(step, start, jax.random.uniform(rest, (steps,)))[1]


def entropy(p: Float[Array, "*many S"]) -> Float[Array, "*many"]:
    """Return the entropy of p in nats."""
    return -jnp.sum(jax.scipy.special.xlogy(p, p), axis=-1)


class Chains(Population[Chain]):
    """Chains whose rows are drawn from a Dirichlet distribution with equal parameters."""

    settings = Space(
        S=Integer(4, 3, 5, "symbols"), parameter=Real(0.5, 0.3, 1.0, "parameter of the Dirichlet distribution")
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Chain:
        size = setting["S"]
        rows = jax.random.dirichlet(key, jnp.full(size, setting["parameter"]), (size,))
        return Chain((rows + 0.02) / (1 + 0.02 * size))

    def hypotheses(self, problem: Chain) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the smallest transition probability",
                jnp.min(problem.rows),
                ">",
                0.0,
                "the chain forgets its start",
            )
        ]


class PlateauHeights(Claim[Chain]):
    """A Markov chain over S symbols has the transition matrix P > 0 and the stationary distribution pi. Compare three
    best predictors of the next symbol. The first has no knowledge, the second knows the frequencies of the symbols, and
    the third also knows the last symbol and the transitions. Let H be the entropy, and let P_i be row i of P. The mean
    losses of the three predictors per symbol, in nats, are

        log S for no knowledge,    H(pi) with the frequencies,    sum_i pi_i H(P_i) with the last symbol as well.

    These are the heights of the plateaus in the loss of in-context learning. The first two heights agree if P is doubly
    stochastic.
    """

    title = "For in-context learning of Markov chains, the heights of the loss plateaus are entropies"
    source = Source("emergence2026", "Figure 22.9", note="the phases in the caption, with the heights of the plateaus")
    stated = Kind.STEP
    population = Chains()
    relation = EqualInMean(margin=0.02, resolution=0.02)
    control = Control(
        "the frequencies do not lower the loss log S, and the last symbol only lowers it to H(pi)",
        lambda found, problem: jnp.stack([jnp.log(float(len(problem.rows))), found[0]]),
    )
    controls = "the losses at which in-context learning stays for a while"
    unexplained = "how long training stays there"
    trials = 96

    def predict(self, problem: Chain) -> Array:
        law = problem.stationary()
        return jnp.stack([entropy(law), law @ entropy(problem.rows)])

    def measure(self, problem: Chain, key: Key[Array, ""]) -> Array:
        """Measure the losses along one path, with predictors from the counts of another path."""
        first, second = jax.random.split(key)
        size = len(problem.rows)
        seen, new = problem.path(first, 8000), problem.path(second, 8000)
        pairs = jnp.zeros((size, size)).at[seen[:-1], seen[1:]].add(1.0) + 0.5
        unigram, bigram = pairs.sum(axis=0) / pairs.sum(), pairs / pairs.sum(axis=1, keepdims=True)
        return -jnp.stack([jnp.mean(jnp.log(unigram[new])), jnp.mean(jnp.log(bigram[new[:-1], new[1:]]))])


class Alphabet(eqx.Module):
    """An alphabet of S symbols."""

    size: int = eqx.field(static=True)


class Alphabets(Population[Alphabet]):
    """Alphabets with different numbers of symbols."""

    settings = Space(S=Integer(8, 2, 64, "symbols"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Alphabet:
        return Alphabet(setting["S"])

    def hypotheses(self, problem: Alphabet) -> list[Hypothesis]:
        return [Hypothesis("symbols", float(problem.size), ">=", 2.0, "one symbol has no entropy")]


class MeanRowEntropy(Claim[Alphabet]):
    """Let a row of a transition matrix over S symbols be uniform on the simplex. This is the Dirichlet distribution
    with all parameters equal to 1. Let psi be the digamma function. The expected entropy of the row is

        psi(S + 1) - psi(2) = 1/2 + 1/3 + ... + 1/S

    nats.

    Derivation: an entry has the Beta(1, S - 1) distribution, for which E x log x = (psi(2) - psi(S + 1))/S.
    """

    title = "The expected entropy of a uniformly random row of an S x S transition matrix is 1/2 + ... + 1/S nats"
    source = Source("edelman2024", "main result", note="for their chains; the mean is derived here")
    stated = Kind.OWN
    population = Alphabets()
    relation = EqualInMean(margin=0.01, resolution=0.01)
    control = Control("the entropy is 1 + 1/2 + ... + 1/S - 0.4", lambda found, problem: found + 0.6)
    controls = "the height of the bigram plateau on random chains"
    unexplained = "the stationary weights of the rows, which are correlated with their entropies"
    trials = 64

    def predict(self, problem: Alphabet) -> Array:
        return jnp.sum(1 / jnp.arange(2.0, problem.size + 1))

    def measure(self, problem: Alphabet, key: Key[Array, ""]) -> Array:
        """Average over 2000 drawn rows, which are normalised exponential numbers."""
        parts = jax.random.exponential(key, (2000, problem.size))
        return jnp.mean(entropy(parts / parts.sum(axis=1, keepdims=True)))


def code_length(counts: Float[Array, "*many S"]) -> Array:
    """Return the loss of the rule (count + 1/2)/(n + S/2) minus the loss of the best fixed distribution, in nats, for
    given counts of the S symbols. In the rule, n is the number of earlier symbols, and count is how many of them equal
    the next symbol.

    The order of the symbols does not matter, so the product of the probabilities is a ratio of gamma functions.
    """
    size, n = counts.shape[-1], counts.sum(axis=-1)
    gamma = jax.lax.lgamma
    logarithm = jnp.sum(gamma(counts + 0.5) - gamma(jnp.asarray(0.5)), axis=-1) - gamma(n + size / 2) + gamma(size / 2)
    best = jnp.sum(jax.scipy.special.xlogy(counts, counts / jnp.maximum(n, 1.0)[..., None]), axis=-1)
    return best - logarithm


class BigramRegret(Claim[Chain]):
    """A predictor estimates the rows of a Markov chain's transition matrix over S symbols from the symbols so far. It
    estimates each transition probability by (count + 1/2)/(n + S/2), if the transition occurred count times among n
    transitions from the same symbol. In the first T symbols, the predictor's loss exceeds the loss of the best fixed
    rows in hindsight by

        S (S - 1)/2 log T

    nats, up to a bounded amount. So each of the S (S - 1) free probabilities adds (log T)/2 nats to the loss.
    """

    title = "Learning a Markov chain over S symbols from its first T symbols costs S(S - 1)/2 log T nats of excess loss"
    source = Source("krichevsky1981", "main result", note="for each row of a chain, as an increment per log T")
    stated = Kind.STEP
    population = Chains()
    relation = Limit("T", (300.0, 3000.0, 20000.0), margin=0.04, resolution=0.04)
    control = Control("the price is S²/2 log T", lambda found, problem: found + len(problem.rows) / 2)
    controls = "the price of learning a chain from its context"
    unexplained = "transitions that are so rare that the context does not contain them"
    trials = 48

    def predict(self, problem: Chain) -> Array:
        return jnp.asarray(len(problem.rows) * (len(problem.rows) - 1) / 2)

    def measure_at(self, problem: Chain, key: Key[Array, ""], n: float) -> Array:
        """Return the regret at 4T minus the regret at T, divided by log 4, on one path of the chain."""
        size, most = len(problem.rows), 4 * int(n)
        path = problem.path(key, most + 1)

        def regret(length: int) -> Array:
            pairs = jnp.zeros((size, size)).at[path[:length], path[1 : length + 1]].add(1.0)
            return jnp.sum(code_length(pairs))

        return (regret(most) - regret(int(n))) / jnp.log(4.0)
