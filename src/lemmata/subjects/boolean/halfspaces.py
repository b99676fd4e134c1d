"""Halfspaces: the Fourier coefficients of the majority, Peres' bound on the sensitivity to noise, and Gaussian inputs.

This theory bounds how often noise of rate eta changes the side of a halfspace on which an input is, by a constant times
sqrt(eta) for all weights and thresholds. It assumes inputs that are uniform on the cube {-1, 1}^d, or Gaussian. It does
not explain the best constant, which is not known.
"""

import math
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Kind,
    Limit,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.variables import dimension
from lemmata.functions import cube
from lemmata.subjects.boolean._cube_functions import (
    NoisyFunction,
    changed_by_flips,
    noise_rate,
    random_halfspace,
    two_values,
)

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "function class"}

_SIZES = (31.0, 125.0, 501.0)


class SetOfCoordinates(eqx.Module):
    """A majority of d coordinates, where d is odd, and a set of k of the coordinates, where k is odd.

    Args:
        taken: 1 for the coordinates in the set, otherwise 0.
    """

    taken: Float[Array, " d"]


class OddSets(Population[SetOfCoordinates]):
    """Random sets of a random odd size."""

    settings = Space(half=dimension(5, 1, 7, corners=(3, 6)))

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
    odd, the Fourier coefficient of Maj is

        (-1)^((k-1)/2) binom((d-1)/2, (k-1)/2) / binom(d-1, k-1) * binom(d-1, (d-1)/2) 2^(1-d).
    """

    title = "A formula for the Fourier coefficients of the majority"
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
    """A noise rate and an odd degree, for majorities of any number of coordinates."""

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


def _log_binomial(n: Array, k: Array) -> Array:
    lgamma = jax.scipy.special.gammaln
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)


def _sums(n: int, most: int) -> tuple[Float[Array, "n sums"], Float[Array, "n sums"]]:
    """The possible |a| <= most for sums a of j signs, j = 0, ..., n, and their probabilities, by binomials."""
    j, minus = jnp.arange(n + 1)[:, None], jnp.arange(most + 1)
    inside = minus <= j
    chance = jnp.where(inside, jnp.exp(_log_binomial(j, jnp.minimum(minus, j)) - j * jnp.log(2.0)), 0.0)
    return jnp.abs(j - 2 * minus).astype(float), chance


class MajorityNoise(Claim[Majority]):
    """Let Maj be the sign of x_1 + ... + x_d for an odd d and a uniform x in {-1, 1}^d. If each sign of x is flipped
    with probability eta, then as d grows Maj changes with probability

        arccos(1 - 2 eta) / pi,

    which is about (2/pi) sqrt(eta) for a small eta. The limit is taken at a fixed eta: for eta far below 1/d, the
    probability is linear in eta.
    """

    title = "The limit of the noise sensitivity of the majority"
    source = Source("emergence2026", "Figure 10.15", note="with the limit for many coordinates")
    stated = Kind.THEOREM
    population = Majorities()
    relation = Limit("d", _SIZES, margin=0.005, resolution=0.005)
    control = Control("it is (2/pi) sqrt(eta)", lambda limit, problem: 2 / jnp.pi * jnp.sqrt(problem.eta))
    controls = "how often noise in the votes changes a majority of many"
    unexplained = "noise of a rate below 1/d, for which the limit is not reached"
    trials = 32

    def predict(self, problem: Majority) -> Array:
        return jnp.arccos(1 - 2 * problem.eta) / jnp.pi

    def measure_at(self, problem: Majority, key: Key[Array, ""], rung: float) -> Array:
        """The sum A of the flipped coordinates must exceed the sum B of the others: |B| < |A|."""
        d = int(rung)
        sizes, chances = _sums(d, d)
        j = jnp.arange(d + 1)
        flipped = jnp.exp(
            _log_binomial(jnp.asarray(d), j) + j * jnp.log(problem.eta) + (d - j) * jnp.log1p(-problem.eta)
        )
        within = jax.vmap(lambda size, chance: jnp.zeros(d + 1).at[size.astype(int)].add(chance))(sizes, chances)
        below = jnp.cumsum(within, axis=1) - within
        return flipped @ jnp.sum(within * below[::-1], axis=1)


class MajorityWeights(Claim[Majority]):
    """Let W_k be the sum of the squares of the Fourier coefficients of degree k of the majority of d coordinates. For
    an odd k, as d grows,

        W_k -> (2/pi) binom(k-1, (k-1)/2) / (k 2^(k-1)),

    which is 2/pi at k = 1, 1/(3 pi) at k = 3 and about (2/pi)^(3/2) k^(-3/2) for a large k.
    """

    title = "The limits of the weights of the majority at each degree"
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
        return 2 / jnp.pi * jnp.exp(_log_binomial(2 * half, half) - log_k - 2 * half * jnp.log(2.0))

    def measure_at(self, problem: Majority, key: Key[Array, ""], rung: float) -> Array:
        """In exact integers, from the number of minus signs inside and outside a set of k coordinates."""
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


class CubeHalfspaces(Population[NoisyFunction]):
    """Weights from normal to geometric; noise rates from 0.15 to 0.5 in some problems, and below 0.05 in the others.

    Args:
        strong: the share of problems with a noise rate above 0.15.
    """

    strong: float = eqx.field(static=True, default=0.35)

    settings = Space(d=dimension(11, 2, 13, corners=(8, 12)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyFunction:
        own, kind_key, rate_key = jax.random.split(key, 3)
        strong, share = jax.random.bernoulli(kind_key, self.strong), jax.random.uniform(rate_key)
        eta = jnp.where(strong, 0.15 + 0.35 * share, 1e-3 * 50**share)
        return NoisyFunction(random_halfspace(own, setting["d"]), eta)

    def hypotheses(self, problem: NoisyFunction) -> list[Hypothesis]:
        why = "the sampler takes the sign of <w, x> - t, and a table does not show w"
        return [two_values(problem), noise_rate(problem), Hypothesis.unchecked("f is a halfspace", why)]


class PeresBound(Claim[NoisyFunction]):
    """Let h be the sign of <w, x> - t on {-1, 1}^d, for any weights w and any threshold t. If each sign of a uniform x
    is flipped with probability eta <= 1/2, then h changes with probability at most

        2 sqrt(eta).

    The bound does not depend on the number of coordinates.
    """

    title = "Peres' bound on the noise sensitivity of halfspaces"
    source = Source("emergence2026", "Theorem 10.16", "Figure 10.14", note="with the constant 2 of Peres (2004)")
    population = CubeHalfspaces()
    relation = AtMost()
    control = Control("the constant 0.6 is enough", lambda bound, problem: 0.3 * bound)
    controls = "how often noise in the input changes the side of a halfspace"
    unexplained = "the best constant, which is between 1/sqrt(2) and sqrt(3)/2"
    trivial = 0.5  # a label changes at most this often for eta <= 1/2

    def predict(self, problem: NoisyFunction) -> Array:
        return 2 * jnp.sqrt(problem.eta)

    def measure(self, problem: NoisyFunction, key: Key[Array, ""]) -> Array:
        return changed_by_flips(problem.values, problem.eta)


def _middle(m: Array) -> Array:
    """binom(m, m/2) / 2^m: the mean of |x_1 + ... + x_m| / m for m signs, m even."""
    return jnp.exp(_log_binomial(m, m / 2) - m * jnp.log(2.0))


class HalfspaceNoiseConstant(Claim[NoisyFunction]):
    """Let h be a halfspace on {-1, 1}^d, and let NS(eta) be the probability that h changes if each sign of a uniform x
    is flipped with probability eta <= 1/2. Let b(m) = binom(m, m/2) 2^-m, and let m be the even number with 1/m <= eta
    < 1/(m-2). Then NS(eta) is at most b(m-2), and for m >= 4 at most

        (1 - (1 - 2 b(m))^beta) / 2,   beta = log(1 - 2 eta) / log(1 - 2/m).

    The smaller of the two is at most 0.81 sqrt(eta) for all eta, and sqrt(2 eta/pi) in the limit of a small eta. Proof:
    put each coordinate into one of m blocks at random. To flip one block is noise of rate 1/m. Given the blocks, h is a
    halfspace of m signs, whose total influence is at most m b(m). So NS(1/m) <= b(m). NS rises with eta, which gives
    the first bound. Take means over the degrees k with the weights of h. The mean of (1 - 2/m)^(k beta) is at least the
    power beta of the mean of (1 - 2/m)^k, which gives the second bound.
    """

    title = "The noise sensitivity of a halfspace is at most 0.81 sqrt(eta)"
    source = Source("emergence2026", "Theorem 10.16", note="with a constant near the limit sqrt(2/pi) for small eta")
    stated = Kind.OWN
    population = CubeHalfspaces(strong=0.8)
    relation = AtMost()
    control = Control("0.85 of it is enough", lambda bound, problem: 0.85 * bound)
    controls = "how often noise in the input changes the side of a halfspace, with a good constant"
    unexplained = (
        "whether arccos(1 - 2 eta)/pi, the limit of the majority and at most sqrt(eta/2), is the largest value: "
        "no halfspace that was tried exceeded it"
    )
    trivial = 0.5  # a label changes at most this often for eta <= 1/2

    def predict(self, problem: NoisyFunction) -> Array:
        m = 2 * jnp.ceil(0.5 / problem.eta - 1e-12)
        kept = 1 - 2 * _middle(m)
        beta = jnp.log1p(-2 * problem.eta) / jnp.log1p(-2 / jnp.maximum(m, 4.0))
        return jnp.where(m < 4, 0.5, jnp.minimum(_middle(m - 2), (1 - kept**beta) / 2))

    def measure(self, problem: NoisyFunction, key: Key[Array, ""]) -> Array:
        return changed_by_flips(problem.values, problem.eta)

    def condition(self, problem: NoisyFunction) -> Array:
        """Logarithms of factorials of m round by their size."""
        return 1 + 2 / problem.eta * jnp.log(2 / problem.eta)


class HalfspacePair(eqx.Module):
    """Two halfspaces <x, u_j> >= t_j in Gaussian space.

    Args:
        normals: u_j, orthonormal columns.
        thresholds: t_j.
    """

    normals: Float[Array, "d 2"]
    thresholds: Float[Array, " 2"]


class HalfspacePairs(Population[HalfspacePair]):
    """The first threshold is between 0.3 and 1, and the second one between -1 and -0.3."""

    settings = Space(d=dimension(6, 3, 20, corners=(4, 9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> HalfspacePair:
        normal_key, threshold_key = jax.random.split(key)
        normals = jnp.linalg.qr(jax.random.normal(normal_key, (setting["d"], 2)))[0]
        return HalfspacePair(normals, jax.random.uniform(threshold_key, (2,), minval=0.3) * jnp.array([1.0, -1.0]))

    def hypotheses(self, problem: HalfspacePair) -> list[Hypothesis]:
        gap = jnp.abs(problem.normals.T @ problem.normals - jnp.eye(2)).max()
        return [Hypothesis("distance from orthonormal normals", gap, "<=", 1e-10, "other normals do not decouple")]


def _covariance_inside(problem: HalfspacePair, key: Key[Array, ""], n: int) -> Float[Array, "d d"]:
    """Of those of n Gaussian points that are in both halfspaces."""
    x = jax.random.normal(key, (n, len(problem.normals)))
    inside = jnp.all(x @ problem.normals >= problem.thresholds, axis=1).astype(x.dtype)
    centred = (x - inside @ x / inside.sum()) * inside[:, None]
    return centred.T @ centred / (inside.sum() - 1)


class GaussianIntersection(Claim[HalfspacePair]):
    """Let x be a standard Gaussian vector, and let u_1, ..., u_k be orthonormal. Given that <x, u_j> >= t_j for all j,
    the variance of <x, u_j> is

        1 - l (l - t_j),   l = phi(t_j)/Q(t_j),

    where phi is the normal density and Q(t) is the probability of a normal number above t. This is below 1 for every
    threshold, and the variance in directions orthogonal to all u_j stays 1.
    """

    title = "The variance of Gaussian inputs along the normal of a halfspace, given the label"
    source = Source("emergence2026", "Figure 10.16", note="with the variance, for orthogonal halfspaces")
    stated = Kind.THEOREM
    population = HalfspacePairs()
    relation = EqualInMean(margin=0.01, resolution=0.02)
    control = Control("1 - 2/pi, its value at t = 0", lambda value, problem: jnp.full(2, 1 - 2 / jnp.pi))
    controls = "what positive examples of an intersection of halfspaces show about its normals"
    unexplained = "normals that are not orthogonal, and inputs that are not Gaussian"
    trials = 96

    def predict(self, problem: HalfspacePair) -> Float[Array, "2"]:
        t = problem.thresholds
        ratio = jnp.exp(jax.scipy.stats.norm.logpdf(t) - jax.scipy.stats.norm.logsf(t))
        return 1 - ratio * (ratio - t)

    def measure(self, problem: HalfspacePair, key: Key[Array, ""]) -> Float[Array, "2"]:
        covariance = _covariance_inside(problem, key, 20_000)
        return jnp.einsum("dj,de,ej->j", problem.normals, covariance, problem.normals)


class NormalsFromCovariance(Claim[HalfspacePair]):
    """Draw n standard Gaussian points, and keep the points in k halfspaces <x, u_j> >= t_j with orthonormal u_j. The k
    eigenvectors of the covariance of these points with the least eigenvalues span the normals, with an error of order

        n^(-1/2),

    where the error is the sine of the largest angle between the two spans.
    """

    title = "The least eigenvectors of positive examples span the normals of the halfspaces"
    source = Source("vempala2010", "Main result", note="for halfspaces with orthogonal normals, with the rate in n")
    stated = Kind.OWN
    population = HalfspacePairs()
    relation = Rate("n", (1000.0, 8000.0, 64000.0), margin=0.05, resolution=0.1)
    control = Control("like n^-1", lambda exponent, problem: exponent - 0.5)
    controls = "how well the span of the normals is found from positive examples"
    unexplained = "intersections with a small probability, whose examples are rare"
    trials = 32
    predict = -0.5

    def measure_at(self, problem: HalfspacePair, key: Key[Array, ""], n: float) -> Array:
        least = jnp.linalg.eigh(_covariance_inside(problem, key, int(n)))[1][:, :2]
        outside = least - problem.normals @ (problem.normals.T @ least)
        return jnp.linalg.norm(outside, ord=2)
