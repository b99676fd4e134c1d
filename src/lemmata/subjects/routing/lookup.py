"""Softmax as a lookup: the inverse temperature that is needed to read one of n keys.

A query q scores n keys k_j by <q, k_j>, and attention weighs them by softmax(beta <q, k_j>), where beta is the inverse
temperature. The lead of the right key is its score minus the largest other score. This theory computes the weight of
the right key from its lead. It also computes the inverse temperature that a given weight needs. It assumes that the
query is known exactly. It does not explain which keys training produces.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
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
)  # fmt: skip
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.engine.problems.variables import rows
from lemmata.subjects.routing._lookups import Lookup, Lookups, first_weight

ABOUT = {"tool": "statistics", "architecture": "attention", "object": "estimator"}

_BISECTIONS = 60


class WeightOfTheRightKey(Claim[Lookup]):
    """Let a query q score n keys by <q, k_j>, and let attention weigh them by softmax(beta <q, k_j>). One key is the
    right key. Suppose that its score exceeds all other scores by at least the lead D > 0. Then the weight of the right
    key is at least

        1/(1 + (n - 1) e^(-beta D)),

    with equality if the score of every other key is smaller by exactly D. So for 0 < eps < 1 - 1/n, the inverse
    temperature beta = log((n - 1)(1 - eps)/eps)/D gives the right key a weight of at least 1 - eps. The test also
    computes the weight at this beta.
    """

    title = "To read a key that leads by D among n keys, a softmax needs an inverse temperature of order log(n)/D"
    source = Source("emergence2026", "Figure 15.3", "Figure 15.4", note="with the weight and the temperature")
    population = Lookups()
    relation = AtLeast()
    control = Control(
        "only half as many other keys compete",
        lambda weight, problem: 1 / (1 + (1 / weight - 1) / 2),
    )
    controls = "the weight of the right key"
    unexplained = "the lead that training gives to the right key"

    def predict(self, problem: Lookup) -> Array:
        others = (len(problem.keys) - 1) * jnp.exp(-problem.sharpness * problem.lead)
        return jnp.stack([1 / (1 + others), 1 - problem.missed])

    def measure(self, problem: Lookup, key: Key[Array, ""]) -> Array:
        scores = problem.keys @ problem.query
        odds = (len(problem.keys) - 1) * (1 - problem.missed) / problem.missed
        needed = jnp.log(odds) / problem.lead
        return jnp.stack([first_weight(beta * scores) for beta in (problem.sharpness, needed)])

    def condition(self, problem: Lookup) -> Array:
        """The condition number: beta times the rounding error of the scores."""
        sizes = jnp.linalg.norm(problem.keys, axis=1).max() * jnp.linalg.norm(problem.query)
        most = jnp.maximum(problem.sharpness, jnp.log(len(problem.keys) / problem.missed) / problem.lead)
        return 1 + len(problem.query) * most * sizes

    def trivial(self, problem: Lookup) -> Array:
        """Return 1/n, because the largest of n weights is at least 1/n."""
        return jnp.full(2, 1 / len(problem.keys))


class BoundedLogits(eqx.Module):
    """A vector of n logits between -B and B."""

    logits: Float[Array, " n"]
    bound: Float[Array, ""]


class AllBoundedLogits(Population[BoundedLogits]):
    """Logits: in half of the problems, one is B and all others are -B; in the others, they are uniform in [-B, B]."""

    settings = Space(n=rows(400, 2, 10_000, corners=(100, 1600)), bound=Real(2.0, 0.5, 3.0, "largest B"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> BoundedLogits:
        own, bound_key, kind_key = jax.random.split(key, 3)
        bound = jax.random.uniform(bound_key, minval=setting["bound"] / 2, maxval=setting["bound"])
        apart = jnp.full(setting["n"], -1.0).at[0].set(1.0)
        spread = jax.random.uniform(own, (setting["n"],), minval=-1.0, maxval=1.0)
        return BoundedLogits(bound * jnp.where(jax.random.bernoulli(kind_key), apart, spread), bound)

    def hypotheses(self, problem: BoundedLogits) -> list[Hypothesis]:
        return [Hypothesis("largest absolute logit", jnp.max(jnp.abs(problem.logits)), "<=", problem.bound)]


class BoundedLogitsDisperse(Claim[BoundedLogits]):
    """If n logits are between -B and B, then no softmax weight exceeds

        1/(1 + (n - 1) e^(-2B)).

    The weight of the first logit attains the bound if this logit is B and all others are -B. So attention with bounded
    logits cannot read a single key among many. For n >= 1 + e^(2B), every weight is at most 1/2, and all weights fall
    like 1/n.

    Derivation: the weight of the logit l_i is 1/(1 + sum of e^(l_j - l_i) over the n - 1 other logits l_j). Each
    exponent is at least -2B.
    """

    title = "Attention with bounded logits cannot read a single one of many keys: its n weights all fall like 1/n"
    source = Source("velickovic2024", "Main result", note="the upper bound, with explicit constants")
    stated = Kind.OWN
    population = AllBoundedLogits()
    relation = AtMost()
    control = Control(
        "the exponent is -3B/2 instead of -2B",
        lambda weight, problem: 1 / (1 + (1 / weight - 1) * jnp.exp(problem.bound / 2)),
    )
    controls = "the largest attention weight at any context length"
    unexplained = "logits that grow with the length, such as logits multiplied by log n"
    trivial = 1.0

    def predict(self, problem: BoundedLogits) -> Array:
        return 1 / (1 + (len(problem.logits) - 1) * jnp.exp(-2 * problem.bound))

    def measure(self, problem: BoundedLogits, key: Key[Array, ""]) -> Array:
        return jnp.max(jax.nn.softmax(problem.logits))

    def condition(self, problem: BoundedLogits) -> Array:
        return 1.0 + len(problem.logits) + 2 * problem.bound


class Wanted(eqx.Module):
    """The weight p that the right key should have, and the radius r of the circle on which the keys lie."""

    weight: Float[Array, ""]
    radius: Float[Array, ""]


def sharpness_for(weight: Float[Array, ""], behind: Float[Array, " m"], most: float | int | Array) -> Float[Array, ""]:
    """Return the inverse temperature beta at which the right key has this weight, by bisection.

    Args:
        weight: the weight that the right key should have.
        behind: the score of the right key minus the score of each other key.
        most: an upper bound on beta, at which the weight is too large.
    """

    def halve(_, ends):
        low, high = ends
        middle = (low + high) / 2
        dull = first_weight(-middle * jnp.append(0.0, behind)) < weight
        return jnp.where(dull, middle, low), jnp.where(dull, high, middle)

    return jax.lax.fori_loop(0, _BISECTIONS, halve, (jnp.zeros(()), jnp.asarray(most, float)))[1]


class KeysOnACircle(Claim[Wanted]):
    """Put n keys at equal distances on a circle of radius r, and let the query be equal to one of them. Attention
    weighs the keys by the softmax of beta times their inner products with the query. Let p <= 0.55. As n grows, the
    inverse temperature beta at which the key that equals the query has the weight p is

        beta ~ n² p²/(2 pi r²),

    up to a factor between 1 and 1 + 5 e^(-pi/p²). For p = 1/2 and r = 1, this is n²/(8 pi). If only the two nearest
    wrong keys had weight, beta would be n² log(2p/(1 - p))/(2 pi r)².

    The proof sums e^(-c j²) over all integers j, for a constant c, by Poisson's summation formula.
    """

    title = "A softmax lookup among n keys on a circle needs an inverse temperature of the order n²"
    source = Source("emergence2026", "Figure 15.3", note="the cost of content-dependent access in two dimensions")
    stated = Kind.OWN
    population = Drawn(
        Wanted, positive("radius"), positive("weight"), weight=uniform(0.36, 0.55), radius=log_uniform(0.3, 3.0)
    )
    relation = Limit("n", (8.0, 16.0, 32.0, 64.0), margin=0.02, resolution=0.02)
    control = Control(
        "only the two nearest keys compete",
        lambda limit, problem: limit * jnp.log(2 * problem.weight / (1 - problem.weight)) / problem.weight**2 / jnp.pi,
    )
    controls = "the sharpness that keys in few dimensions need"
    unexplained = "keys that are not at equal distances"
    trials = 32

    def predict(self, problem: Wanted) -> Array:
        return problem.weight**2 / (2 * jnp.pi * problem.radius**2)

    def measure_at(self, problem: Wanted, key: Key[Array, ""], rung: float) -> Array:
        angles = 2 * jnp.pi * jnp.arange(int(rung)) / rung
        keys = problem.radius * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
        behind = (keys @ keys[0])[0] - (keys @ keys[0])[1:]
        return sharpness_for(problem.weight, behind, rung**2 / problem.radius**2) / rung**2


class RandomKeysWanted(eqx.Module):
    """A weight p that the right one of n random keys in d dimensions should have."""

    weight: Float[Array, ""]
    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)

    @property
    def log_odds(self) -> Float[Array, ""]:
        """The number L = log((n - 1) p/(1 - p))."""
        return jnp.log((self.n - 1) * self.weight / (1 - self.weight))


class RandomKeys(Claim[RandomKeysWanted]):
    """Let n keys be independent and uniform on the unit sphere in d dimensions, and let the query be equal to one of
    them. Attention weighs the keys by the softmax of beta times their inner products with the query, their scores. Let
    p be the required weight of the key that equals the query. Let L = log((n - 1) p/(1 - p)), and let d > 2L. The
    inverse temperature that gives this key the weight p is about

        beta = d (1 - sqrt(1 - 2L/d)).

    This beta is about L if d is far larger than L, and 2L at d = 2L. The formula rests on two approximations. It
    replaces the sum of e^(beta s) over the scores s of the other keys by its mean. It also replaces the distribution of
    a score by the normal distribution N(0, 1/d). The formula is tested for n = 10000 to 40000 and 4L < d < 7L.

    Derivation: the mean of e^(beta s) for s from N(0, 1/d) is e^(beta²/(2d)). So the weight is p if beta - beta²/(2d) =
    L, and the formula is the smaller root.
    """

    title = "A softmax lookup among n random keys in d dimensions needs an inverse temperature of order log(n)"
    source = Source("emergence2026", "Figure 15.3", note="the cost of content-dependent access for random keys")
    stated = Kind.OWN
    population = Drawn(
        RandomKeysWanted,
        lambda problem: Hypothesis(
            "d", problem.d, ">", 4 * problem.log_odds, "otherwise a few near keys determine beta"
        ),
        lambda problem: Hypothesis("d", problem.d, "<", 7 * problem.log_odds, "otherwise beta is almost L"),
        weight=uniform(0.35, 0.65),
        n=Integer(12_000, 10_000, 40_000, "keys", step=20, corners=(10_000, 16_000)),
        d=Integer(52, 46, 58, "dimensions", corners=(46, 58)),
    )
    relation = EqualInMean(margin=0.02, resolution=0.02)
    control = Control("beta is L", lambda beta, problem: problem.log_odds)
    controls = "the sharpness that keys in many dimensions need"
    unexplained = "keys with a structure; fewer dimensions, where only the nearest key competes"
    trials = 16

    def predict(self, problem: RandomKeysWanted) -> Array:
        return problem.d * (1 - jnp.sqrt(1 - 2 * problem.log_odds / problem.d))

    def measure(self, problem: RandomKeysWanted, key: Key[Array, ""]) -> Array:
        def scores(own: Key[Array, ""]) -> Array:
            keys = jax.random.normal(own, (problem.n // 20, problem.d))
            return keys[:, 0] / jnp.linalg.norm(keys, axis=1)  # the query is the first axis

        others = jax.lax.map(scores, jax.random.split(key, 20)).ravel()
        return sharpness_for(problem.weight, 1 - others, problem.d)


class UnitKeys(eqx.Module):
    """A set of n unit vectors, each of which is a key and a query, and the inverse temperature."""

    keys: Float[Array, "n d"]
    sharpness: Float[Array, ""]


class AllUnitKeys(Population[UnitKeys]):
    """Keys that form a regular simplex in half of the problems, and random keys in the others."""

    settings = Space(n=rows(8, 3, 64, corners=(4, 16)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> UnitKeys:
        n = setting["n"]
        own, kind_key, sharp_key = jax.random.split(key, 3)
        simplex = jax.random.bernoulli(kind_key)
        keys = jnp.where(simplex, jnp.eye(n) - 1 / n, jax.random.normal(own, (n, n)))
        sharpness = jax.random.uniform(sharp_key, minval=0.5, maxval=2.0) * jnp.log(n)
        return UnitKeys(keys / jnp.linalg.norm(keys, axis=1, keepdims=True), sharpness)

    def hypotheses(self, problem: UnitKeys) -> list[Hypothesis]:
        off = jnp.max(jnp.abs(jnp.linalg.norm(problem.keys, axis=1) - 1))
        return [Hypothesis("largest distance of a length from 1", off, "<", 1e-12)]


class SimplexKeysAreBest(Claim[UnitKeys]):
    """Let n unit vectors be keys. Use each key k_i once as the query, and take its own weight in the softmax of beta
    <k_i, k_j> over all keys k_j. The smallest of these n weights is at most

        1/(1 + (n - 1) e^(-beta n/(n - 1))),

    and a regular simplex attains this bound. So in every dimension and for every arrangement of the keys, all n weights
    are at least p only if beta is at least (1 - 1/n) log((n - 1) p/(1 - p)).

    Derivation: sum_ij <k_i, k_j> = |sum_i k_i|² is at least 0. So some key has a mean score of at least -1/(n - 1) with
    the other keys. The reciprocal of the weight of this key is 1 plus n - 1 terms e^(-beta (1 - s)), one for the score
    s of each other key. By convexity, the sum of these terms is at least n - 1 times the value of the term at the mean
    of s.
    """

    title = "Of all arrangements of unit keys, a regular simplex needs the smallest inverse temperature for a lookup"
    source = Source("emergence2026", "Figure 15.3", note="a bound for every arrangement of keys")
    stated = Kind.OWN
    population = AllUnitKeys()
    relation = AtMost()
    control = Control(
        "orthogonal keys are best", lambda weight, problem: _least_weight(len(problem.keys), problem.sharpness)
    )
    controls = "the sharpness that any keys need"
    unexplained = "keys of different lengths"
    trivial = 1.0

    def predict(self, problem: UnitKeys) -> Array:
        n = len(problem.keys)
        return _least_weight(n, problem.sharpness * n / (n - 1))

    def measure(self, problem: UnitKeys, key: Key[Array, ""]) -> Array:
        weights = jax.nn.softmax(problem.sharpness * problem.keys @ problem.keys.T, axis=1)
        return jnp.min(jnp.diag(weights))

    def condition(self, problem: UnitKeys) -> Array:
        return len(problem.keys) * (1 + problem.sharpness)


def _least_weight(n: int, exponent: Array) -> Array:
    return 1 / (1 + (n - 1) * jnp.exp(-exponent))
