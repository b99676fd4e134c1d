"""The majority function: its Fourier coefficients, their limits for many coordinates, and its sensitivity to noise.

This theory computes the spectrum of the sign of x_1 + ... + x_d exactly, and its limit as d grows, where the sum is
nearly Gaussian. It assumes inputs that are uniform on the cube {-1, 1}^d. It does not explain weighted majorities.
"""

import math
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Kind, Limit, Population, Real, Source, Space
from lemmata.engine.problems.variables import dimension
from lemmata.functions import cube
from lemmata.subjects.boolean._cube_functions import log_binomial

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "function class"}

_SIZES = (31.0, 125.0, 501.0)


class SetOfCoordinates(eqx.Module):
    """The majority of an odd number d of coordinates, and a set of an odd number k of the coordinates.

    Args:
        taken: 1 for the coordinates in the set, and 0 for the others.
    """

    taken: Float[Array, " d"]


class OddSets(Population[SetOfCoordinates]):
    """Random sets of a random odd size."""

    settings = Space(half=dimension(5, 1, 6, corners=(3, 6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SetOfCoordinates:
        size_key, order_key = jax.random.split(key)
        d = 2 * setting["half"] + 1
        size = 2 * jax.random.randint(size_key, (), 0, setting["half"] + 1) + 1
        return SetOfCoordinates((jax.random.permutation(order_key, d) < size).astype(float))

    def hypotheses(self, problem: SetOfCoordinates) -> list[Hypothesis]:
        size = problem.taken.sum() % 2
        return [Hypothesis("the size of the set, modulo 2", size, "==", 1.0, "even coefficients are 0 by symmetry")]


class MajorityCoefficients(Claim[SetOfCoordinates]):
    """Let d be odd, and let Maj be the sign of x_1 + ... + x_d on {-1, 1}^d. For a set S of k coordinates, where k is
    odd, the Fourier coefficient of Maj at S is

        (-1)^((k-1)/2) binom((d-1)/2, (k-1)/2) / binom(d-1, k-1) * binom(d-1, (d-1)/2) 2^(1-d).
    """

    title = "The Fourier coefficients of the majority of d bits have a closed form"
    source = Source("odonnell2014", "Section 5.3", note="the coefficients of the majority")
    stated = Kind.THEOREM
    population = OddSets()
    relation = Equal()
    control = Control(
        "the binomial coefficient in the denominator is binom(d, k)",
        lambda value, problem: value * problem.taken.sum() / len(problem.taken),
    )
    controls = "the spectrum of the majority"
    unexplained = "majorities with weights"

    def predict(self, problem: SetOfCoordinates) -> Array:
        d = len(problem.taken)
        half = (d - 1) // 2
        middle = math.comb(d - 1, half) * 2.0 ** (1 - d)
        own = [(-1) ** j * math.comb(half, j) / math.comb(d - 1, 2 * j) * middle for j in range(half + 1)]
        return jnp.asarray(own)[(problem.taken.sum().astype(int) - 1) // 2]

    def measure(self, problem: SetOfCoordinates, key: Key[Array, ""]) -> Array:
        points = cube(len(problem.taken))
        product = jnp.prod(jnp.where(problem.taken == 1, points, 1.0), axis=1)
        return jnp.mean(jnp.sign(points.sum(axis=1)) * product)


class Majority(eqx.Module):
    """A noise rate eta and an odd degree k, for majorities of any number of coordinates."""

    eta: Float[Array, ""]
    degree: Float[Array, ""]


_DEGREES = (1, 3, 5, 7)


class Majorities(Population[Majority]):
    """Noise rates between 0.15 and 0.45, and odd degrees up to 7."""

    settings = Space(most=Real(0.45, 0.3, 0.5, "largest noise rate"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Majority:
        rate_key, degree_key = jax.random.split(key)
        eta = jax.random.uniform(rate_key, minval=0.15, maxval=setting["most"])
        return Majority(eta, jax.random.choice(degree_key, jnp.asarray(_DEGREES, float)))

    def hypotheses(self, problem: Majority) -> list[Hypothesis]:
        return [Hypothesis("the noise rate", problem.eta, "<=", 0.5), Hypothesis("k", problem.degree, ">=", 1.0)]


def _sums(n: int, most: int) -> tuple[Float[Array, "n sums"], Float[Array, "n sums"]]:
    """Return |a| and its probabilities for sums a of j = 0, ..., n signs, of which at most `most` are negative."""
    j, minus = jnp.arange(n + 1)[:, None], jnp.arange(most + 1)
    inside = minus <= j
    chance = jnp.where(inside, jnp.exp(log_binomial(j, jnp.minimum(minus, j)) - j * jnp.log(2.0)), 0.0)
    return jnp.abs(j - 2 * minus).astype(float), chance


class MajorityNoise(Claim[Majority]):
    """Let Maj be the sign of x_1 + ... + x_d for an odd d and a uniform x in {-1, 1}^d. Let each sign of x be flipped
    with probability eta. As d grows, the probability that Maj changes tends to

        arccos(1 - 2 eta) / pi,

    which is about (2/pi) sqrt(eta) for a small eta. The limit is taken at a fixed eta: for eta far below 1/d, the
    probability is linear in eta.
    """

    title = "At the flip rate eta, the noise sensitivity of the majority of many bits tends to arccos(1 - 2 eta)/pi"
    source = Source("emergence2026", "Figure 10.15", note="with the limit for many coordinates")
    stated = Kind.THEOREM
    population = Majorities()
    relation = Limit("d", _SIZES, margin=0.005, resolution=0.005)
    control = Control("the limit is (2/pi) sqrt(eta)", lambda limit, problem: 2 / jnp.pi * jnp.sqrt(problem.eta))
    controls = "how often noise in the votes changes a majority of many"
    unexplained = "noise of a rate below 1/d, for which the limit is not reached"
    trials = 32

    def predict(self, problem: Majority) -> Array:
        return jnp.arccos(1 - 2 * problem.eta) / jnp.pi

    def measure_at(self, problem: Majority, key: Key[Array, ""], rung: float) -> Array:
        """Compute the probability of |B| < |A|, where A sums the flipped coordinates. B sums the coordinates that are
        not flipped.
        """
        d = int(rung)
        sizes, chances = _sums(d, d)
        j = jnp.arange(d + 1)
        flipped = jnp.exp(
            log_binomial(jnp.asarray(d), j) + j * jnp.log(problem.eta) + (d - j) * jnp.log1p(-problem.eta)
        )
        within = jax.vmap(lambda size, chance: jnp.zeros(d + 1).at[size.astype(int)].add(chance))(sizes, chances)
        below = jnp.cumsum(within, axis=1) - within
        return flipped @ jnp.sum(within * below[::-1], axis=1)


class MajorityWeights(Claim[Majority]):
    """The Fourier weight W_k of a function is the sum of the squares of its Fourier coefficients of degree k. For the
    majority of d coordinates and an odd k, as d grows,

        W_k -> (2/pi) binom(k-1, (k-1)/2) / (k 2^(k-1)),

    which is 2/pi at k = 1, 1/(3 pi) at k = 3 and about (2/pi)^(3/2) k^(-3/2) for a large k.
    """

    title = "The Fourier weight of the majority function at each odd degree has a limit in closed form"
    source = Source("odonnell2014", "Section 5.3", note="the weights of the majority")
    stated = Kind.THEOREM
    population = Majorities()
    relation = Limit("d", (63.0, 251.0, 1003.0), margin=0.01, resolution=0.01)
    control = Control("1.05 times the limit", lambda limit, problem: 1.05 * limit)
    controls = "the spectrum of a majority of many"
    unexplained = "degrees that grow with d"
    trials = 32

    def predict(self, problem: Majority) -> Array:
        log_k = jnp.log(problem.degree)
        half = (problem.degree - 1) / 2
        return 2 / jnp.pi * jnp.exp(log_binomial(2 * half, half) - log_k - 2 * half * jnp.log(2.0))

    def measure_at(self, problem: Majority, key: Key[Array, ""], rung: float) -> Array:
        """Compute the weight in exact integers, from the numbers of minus signs inside and outside k coordinates."""
        weights = [float(_weight_of_majority(int(rung), k)) for k in _DEGREES]
        return jnp.asarray(weights)[jnp.searchsorted(jnp.asarray(_DEGREES), problem.degree)]


def _weight_of_majority(d: int, k: int) -> Fraction:
    outside = [math.comb(d - k, b) for b in range(d - k + 1)]
    total = 0
    for a in range(k + 1):
        middle = (d - 1) // 2 - a  # at most this many minus signs outside leave a positive sum
        margin = 2 * sum(outside[: middle + 1]) - 2 ** (d - k)
        total += (-1) ** a * math.comb(k, a) * margin
    return math.comb(d, k) * Fraction(total, 2**d) ** 2
