"""Lookups with rounded logits: the price of a floating-point format.

In a lookup, a query scores keys by inner products, and attention weighs them by the softmax of beta times the scores.
The lead D of the right key is its score minus the next score. This theory says which lead a lookup needs if its logits
are rounded to p significant bits. It assumes that only the logits are rounded, to the nearest number of the format. It
does not say how matrix products round.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Hypothesis, Integer, Kind, Population, Source, Space
from lemmata.engine.problems.variables import rows
from lemmata.subjects.routing._lookups import first_weight

ABOUT = {"tool": "statistics", "architecture": "attention", "object": "estimator"}

SOURCE = Source("emergence2026", "Figure 15.9", note="the context: which lookups remain possible with finite precision")


class RoundedLookup(eqx.Module):
    """A lookup with n scores between -1 and 1: the first score is 1, and the others are at most 1 - D.

    Args:
        scores: the inner products of unit vectors.
        sharpness: the inverse temperature beta; the logits are beta times the scores.
        bits: the number p of significant bits of the format.
    """

    scores: Float[Array, " n"]
    sharpness: Float[Array, ""]
    bits: int = eqx.field(static=True)

    @property
    def unit(self) -> float:
        """The largest relative rounding error u = 2^-p."""
        return 2.0**-self.bits

    @property
    def lead(self) -> Float[Array, ""]:
        """The lead D: the first score minus the largest of the others."""
        return 1 - jnp.max(self.scores[1:])


def rounded(logits: Float[Array, " n"], bits: int) -> Float[Array, " n"]:
    """Round to the nearest numbers with `bits` significant bits; ties go to even numbers.

    Args:
        logits: any numbers.
        bits: the number of significant bits; 11 for float16, 8 for bfloat16.
    """
    mantissa, exponent = jnp.frexp(logits)
    return jnp.ldexp(jnp.round(mantissa * 2.0**bits) / 2.0**bits, exponent)


_BITS = Integer(6, 3, 11, "significant bits", corners=(4, 8))


class RoundedLookups(Population[RoundedLookup]):
    """Lookups with a lead above 2u/(1 + u), half of them close to the worst case and half of them random.

    In the worst case, rounding lowers the logit of the right key and raises the other logits, each by a relative error
    of almost u.
    """

    settings = Space(n=rows(64, 2, 4096, corners=(16, 128)), bits=_BITS)

    def sample(self, setting: dict, key: Key[Array, ""]) -> RoundedLookup:
        n, bits = setting["n"], setting["bits"]
        unit = 2.0**-bits
        kind_key, number_key, score_key = jax.random.split(key, 3)
        worst = jax.random.bernoulli(kind_key)
        ahead, lead, times = jax.random.uniform(number_key, (3,))
        power = 2.0 ** jnp.round(jnp.log2(2 * jnp.log(n + 1.0)) + ahead)
        high, low = power * (1 + unit) * (1 - 1e-9), power / 2 * (1 + unit) * (1 + 1e-9)
        lead = jnp.where(worst, 1 - low / high, 3 * unit + (1 - 3 * unit) * lead)
        sharpness = jnp.where(worst, high, (0.5 + times) * jnp.log(n + 1.0) / lead)
        below = jnp.where(worst, 0.0, jax.random.uniform(score_key, (n,)) * (2 - lead))
        return RoundedLookup((1 - lead - below).at[0].set(1.0), sharpness, bits)

    def hypotheses(self, problem: RoundedLookup) -> list[Hypothesis]:
        size = jnp.max(jnp.abs(problem.scores))
        return [
            Hypothesis("D is above 2u/(1 + u)", problem.lead, ">", 2 * problem.unit / (1 + problem.unit)),
            Hypothesis("largest score", size, "<=", 1.0, "scores of unit vectors"),
            Hypothesis("right score", problem.scores[0], "==", 1.0, "the query is equal to the right key"),
        ]


class RoundingCostsLead(Claim[RoundedLookup]):
    """Let a query q and n keys k_j be unit vectors, with scores <q, k_j>. The score of the right key is 1, and all
    other scores are at most 1 - D. Round the logits beta <q, k_j> to p significant bits. Let u = 2^(-p), and let D' = D
    - u max(2 - D, D). The right key keeps a weight of at least

        1/(1 + (n - 1) e^(-beta D')).

    So rounding lowers the lead from D to D'. If D > 2u/(1 + u), then D' > 0, and beta = log((n - 1) v/(1 - v))/D' gives
    the right key a weight of at least v, for 1/n < v < 1. For n keys at equal distances on a circle, D is about 2
    pi²/n². The condition D > 2u/(1 + u) is then about n < pi/sqrt(u), which is 142 keys for float16 and 50 keys for
    bfloat16.

    Derivation: rounding changes a logit by at most u times its size. So the logit of the right key is at least beta (1
    - u). The logit of a key with the score s is at most beta (s + u |s|), which is largest at s = 1 - D.
    """

    title = "Rounding logits with unit u lowers the lead D of a softmax lookup's right key by at most u max(2 - D, D)"
    source = SOURCE
    stated = Kind.OWN
    population = RoundedLookups()
    relation = AtLeast()
    control = Control(
        "the lead falls by u alone",
        lambda weight, problem: (
            1 / (1 + (1 / weight - 1) * jnp.exp(-problem.sharpness * problem.unit * jnp.abs(1 - problem.lead)))
        ),
    )
    controls = "the weight of the right key in a floating-point format"
    unexplained = "rounding in the products and sums that give the logits"

    def predict(self, problem: RoundedLookup) -> Array:
        lead = problem.lead - problem.unit * jnp.maximum(2 - problem.lead, problem.lead)
        return 1 / (1 + (len(problem.scores) - 1) * jnp.exp(-problem.sharpness * lead))

    def measure(self, problem: RoundedLookup, key: Key[Array, ""]) -> Array:
        return first_weight(rounded(problem.sharpness * problem.scores, problem.bits))

    def condition(self, problem: RoundedLookup) -> Array:
        return 1 + 4 * problem.sharpness + len(problem.scores)

    def trivial(self, problem: RoundedLookup) -> Array:
        """Return 1/n: rounding keeps the order of logits, so the right key's logit is one of the largest."""
        return jnp.asarray(1 / len(problem.scores))


class TiedLookups(Population[RoundedLookup]):
    """Lookups whose right key leads by less than 2u/(1 + 3u), at a beta for which two rounded logits are equal."""

    settings = Space(n=rows(16, 2, 4096, corners=(4, 64)), bits=_BITS)

    def sample(self, setting: dict, key: Key[Array, ""]) -> RoundedLookup:
        n, unit = setting["n"], 2.0 ** -setting["bits"]
        number_key, score_key = jax.random.split(key)
        share, ahead = jax.random.uniform(number_key, (2,))
        sharpness = 2.0 ** (setting["bits"] + jnp.floor(3 * ahead)) * (1 + 3 * unit) * (1 - 1e-9)
        lead = (0.3 + 0.69 * share) * 2 * unit / (1 + 3 * unit)
        far = (10 + 20 * jax.random.uniform(score_key, (n,))) / sharpness
        others = jnp.maximum(1 - lead - far, -1.0)
        return RoundedLookup(others.at[0].set(1.0).at[1].set(1 - lead), sharpness, setting["bits"])

    def hypotheses(self, problem: RoundedLookup) -> list[Hypothesis]:
        u, power = problem.unit, 2 ** jnp.floor(jnp.log2(problem.sharpness))
        return [
            Hypothesis("D (1 + 3u)/(2u)", problem.lead * (1 + 3 * u) / (2 * u), "<", 1.0),
            Hypothesis("distance of beta/2^m from 1 + 3u", jnp.abs(problem.sharpness / power - 1 - 3 * u), "<", 1e-8),
        ]


class RoundingTies(Claim[RoundedLookup]):
    """Let a query q and keys k_j be unit vectors, with scores <q, k_j>. The score of the right key is 1, and the
    largest other score is 1 - D, so the lead is D. Round the logits beta <q, k_j> to p significant bits, and let u =
    2^(-p). Suppose that D < 2u/(1 + 3u). For each integer m, the two largest logits round to the same number if the
    inverse temperature beta is below 2^m (1 + 3u) and close enough to it. So every interval from b to 2b contains such
    a beta. At such a beta, the right key has a weight of at most

        1/2,

    however large beta is. Without rounding the weight tends to 1 as beta grows. If D > 2u/(1 + u) instead, the weight
    tends to 1 even with rounding (`RoundingCostsLead`). So a lookup in a floating-point format can resolve leads above
    about 2u, but not smaller leads.

    Derivation: between 2^m and 2^(m+1), numbers with p bits are 2u 2^m apart. So every number between 2^m (1 + u) and
    2^m (1 + 3u) is rounded to 2^m (1 + 2u). The first logit is just below the upper end of this interval. The second
    logit, (1 - D) beta, is above the lower end of the interval by the condition on D.
    """

    title = "If a lookup's lead is below two rounding units, rounded logits tie at ever larger inverse temperatures"
    source = SOURCE
    stated = Kind.OWN
    population = TiedLookups()
    relation = AtMost()
    control = Control("0.9 of it", lambda weight, problem: 0.9 * weight)
    controls = "the least lead that a floating-point format resolves"
    unexplained = "an inverse temperature that is chosen between two ties"
    predict = 0.5

    def measure(self, problem: RoundedLookup, key: Key[Array, ""]) -> Array:
        return first_weight(rounded(problem.sharpness * problem.scores, problem.bits))

    def condition(self, problem: RoundedLookup) -> Array:
        return 1 + 4 * problem.sharpness

    def trivial(self, problem: RoundedLookup) -> Array:
        """Return the weight without rounding."""
        return first_weight(problem.sharpness * problem.scores)
