"""False statements that hold with a probability, stated too large."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Choice, Hypothesis, Integer, Population, Real, Space, Status

from ._textbook import HALVED, AbstractTextbook, Case, book


class Coins(eqx.Module):
    """n draws of each of several coins that show heads with probability p."""

    p: Float[Array, ""]
    n: int = eqx.field(static=True)
    coins: int = eqx.field(static=True, default=1)

    def excess(self, key: Key[Array, ""]) -> Float[Array, " coins"]:
        """By how much the share of heads of each coin exceeds p."""
        heads = jax.random.uniform(key, (self.coins, self.n)) < self.p
        return heads.mean(axis=1) - self.p


class FewCoins(Population[Coins]):
    """One coin or several."""

    most: int = 1

    def settings(self) -> Space:
        coins = Integer(min(2, self.most), 1, self.most)
        return Space(n=Integer(60, 1, 300, "draws"), p=Real(0.5, 0.01, 0.99), coins=coins)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Coins:
        return Coins(jnp.asarray(setting["p"]), setting["n"], setting["coins"])

    def hypotheses(self, problem: Coins) -> list[Hypothesis]:
        unsure = jnp.minimum(problem.p, 1 - problem.p)
        return [Hypothesis("p is a probability, neither 0 nor 1", unsure, ">", 0.0)]


class AbstractShareOfHeads(AbstractTextbook[Coins]):
    """The share of heads, above p."""

    population = FewCoins()
    relation = AtMost(delta=0.01)
    control = HALVED
    trials = 4000

    def measure(self, problem: Coins, key: Key[Array, ""]) -> Array:
        return problem.excess(key)[0]


class HoeffdingRadiusTooShort(AbstractShareOfHeads):
    """The share of heads in n throws of a coin exceeds its expectation by at most sqrt(log(1/delta) / (4 n)) with
    probability at least 1 - delta, delta = 1/100.
    """

    title = "Hoeffding's confidence limit with 4 n"
    source = book("boucheron2013", "Hoeffding's inequality, with a wrong constant")
    expected = Status.REFUTED

    def predict(self, problem: Coins) -> Array:
        return jnp.sqrt(jnp.log(100.0) / (4 * problem.n))


class HoeffdingRadius(AbstractShareOfHeads):
    """The share of heads in n throws of a coin exceeds its expectation by at most sqrt(log(1/delta) / (2 n)) with
    probability at least 1 - delta, delta = 1/100.
    """

    title = "Hoeffding's confidence limit"
    source = book("boucheron2013", "Hoeffding's inequality")

    def predict(self, problem: Coins) -> Array:
        return jnp.sqrt(jnp.log(100.0) / (2 * problem.n))


class AbstractWorstCoin(AbstractTextbook[Coins]):
    """The share of heads that is farthest from p."""

    population = FewCoins(most=100)
    relation = AtMost(delta=0.1)
    control = HALVED
    trials = 2000

    def measure(self, problem: Coins, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.excess(key)).max()


class AllCoinsWithoutAUnion(AbstractWorstCoin):
    """The shares of heads of N coins, each thrown n times, are all within sqrt(log(2/delta) / (2 n)) of their
    expectation with probability at least 1 - delta, delta = 1/10.
    """

    title = "Many means at once without a union bound"
    source = book("shalev2014", "uniform convergence of finite classes, without the size of the class")
    expected = Status.REFUTED

    def predict(self, problem: Coins) -> Array:
        return jnp.sqrt(jnp.log(20.0) / (2 * problem.n))


class AllCoinsWithAUnion(AbstractWorstCoin):
    """The shares of heads of N coins, each thrown n times, are all within sqrt(log(2 N/delta) / (2 n)) of their
    expectation with probability at least 1 - delta, delta = 1/10.
    """

    title = "Many means at once with a union bound"
    source = book("shalev2014", "uniform convergence of finite classes")

    def predict(self, problem: Coins) -> Array:
        return jnp.sqrt(jnp.log(20.0 * problem.coins) / (2 * problem.n))


class WeightedSigns(eqx.Module):
    """Weights of a sum of n random signs."""

    n: int = eqx.field(static=True)
    weights: str = eqx.field(static=True)

    @property
    def values(self) -> Float[Array, " n"]:
        """The weights, of Euclidean norm 1."""
        places = jnp.arange(self.n)
        forms = {"equal": jnp.ones(self.n), "geometric": 2.0**-places, "one": (places == 0).astype(float)}
        return forms[self.weights] / jnp.linalg.norm(forms[self.weights])


class SumsOfSigns(Population[WeightedSigns]):
    """Three forms of weights."""

    def settings(self) -> Space:
        return Space(n=Integer(20, 1, 200), weights=Choice("one", ("equal", "geometric", "one")))

    def sample(self, setting: dict, key: Key[Array, ""]) -> WeightedSigns:
        return WeightedSigns(setting["n"], setting["weights"])

    def hypotheses(self, problem: WeightedSigns) -> list[Hypothesis]:
        return [Hypothesis("the weights have norm 1", jnp.sum(problem.values**2), "==", 1.0)]


class AbstractSumOfSigns(AbstractTextbook[WeightedSigns]):
    """The sum of weights with random signs."""

    population = SumsOfSigns()
    relation = AtMost(delta=0.05)
    control = HALVED
    trials = 2000

    def measure(self, problem: WeightedSigns, key: Key[Array, ""]) -> Array:
        return problem.values @ jax.random.rademacher(key, (problem.n,), float)


class McDiarmidByHalfTheRange(AbstractSumOfSigns):
    """A sum of independent random signs with weights w exceeds its mean by at most sqrt(sum_i w_i² log(1/delta) / 2)
    with probability at least 1 - delta, delta = 1/20.
    """

    title = "McDiarmid's inequality with half the ranges"
    source = book("boucheron2013", "the bounded differences inequality, with a wrong range")
    expected = Status.REFUTED

    def predict(self, problem: WeightedSigns) -> Array:
        return jnp.sqrt(jnp.log(20.0) / 2)


class McDiarmidByTheRange(AbstractSumOfSigns):
    """A sum of independent random signs with weights w exceeds its mean by at most
    sqrt(sum_i (2 w_i)² log(1/delta) / 2) with probability at least 1 - delta, delta = 1/20.
    """

    title = "McDiarmid's inequality"
    source = book("boucheron2013", "the bounded differences inequality")

    def predict(self, problem: WeightedSigns) -> Array:
        return jnp.sqrt(2 * jnp.log(20.0))


class Uniforms(eqx.Module):
    """n uniform numbers."""

    n: int = eqx.field(static=True)


class UniformSamples(Population[Uniforms]):
    """Sizes."""

    def settings(self) -> Space:
        return Space(n=Integer(30, 1, 500))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Uniforms:
        return Uniforms(setting["n"])

    def hypotheses(self, problem: Uniforms) -> list[Hypothesis]:
        return [Hypothesis("there is a draw", problem.n, ">=", 1)]


class AbstractDistributionFunction(AbstractTextbook[Uniforms]):
    """The largest distance of the empirical from the true distribution function."""

    population = UniformSamples()
    relation = AtMost(delta=0.1)
    control = HALVED
    trials = 2000

    def measure(self, problem: Uniforms, key: Key[Array, ""]) -> Array:
        draws, steps = jnp.sort(jax.random.uniform(key, (problem.n,))), jnp.arange(problem.n + 1) / problem.n
        return jnp.maximum((steps[1:] - draws).max(), (draws - steps[:-1]).max())


class DistributionFunctionOneSided(AbstractDistributionFunction):
    """The empirical distribution function of n draws is within sqrt(log(1/delta) / (2 n)) of the true one everywhere
    with probability at least 1 - delta, delta = 1/10.
    """

    title = "The inequality of Dvoretzky, Kiefer and Wolfowitz without the factor 2"
    source = book("boucheron2013", "the inequality of Dvoretzky, Kiefer and Wolfowitz, one side for two")
    expected = Status.REFUTED

    def predict(self, problem: Uniforms) -> Array:
        return jnp.sqrt(jnp.log(10.0) / (2 * problem.n))


class DistributionFunctionTwoSided(AbstractDistributionFunction):
    """The empirical distribution function of n draws is within sqrt(log(2/delta) / (2 n)) of the true one everywhere
    with probability at least 1 - delta, delta = 1/10.
    """

    title = "The inequality of Dvoretzky, Kiefer and Wolfowitz"
    source = book("boucheron2013", "the inequality of Dvoretzky, Kiefer and Wolfowitz, after Massart")

    def predict(self, problem: Uniforms) -> Array:
        return jnp.sqrt(jnp.log(20.0) / (2 * problem.n))


class RandomProjection(eqx.Module):
    """points orthonormal vectors, projected to k normal coordinates."""

    points: int = eqx.field(static=True)
    k: int = eqx.field(static=True)


class RandomProjections(Population[RandomProjection]):
    """Numbers of points and coordinates."""

    def settings(self) -> Space:
        return Space(points=Integer(10, 1, 100), k=Integer(50, 1, 200, "coordinates"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> RandomProjection:
        return RandomProjection(setting["points"], setting["k"])

    def hypotheses(self, problem: RandomProjection) -> list[Hypothesis]:
        return [Hypothesis("there is a coordinate", problem.k, ">=", 1)]


class AbstractDistortion(AbstractTextbook[RandomProjection]):
    """The largest relative change of a squared length."""

    population = RandomProjections()
    relation = AtMost(delta=0.1)
    control = HALVED
    trials = 2000

    def measure(self, problem: RandomProjection, key: Key[Array, ""]) -> Array:
        images = jax.random.normal(key, (problem.points, problem.k))
        return jnp.abs(jnp.mean(images**2, axis=1) - 1).max()


class LindenstraussHalved(AbstractDistortion):
    """Normal coordinates, k of them, change the squared lengths of N vectors by at most sqrt(x / k) + x / k relatively,
    x = log(2 N / delta), with probability at least 1 - delta, delta = 1/10.
    """

    title = "The lemma of Johnson and Lindenstrauss with half the distortion"
    source = book("vershynin2018", "the lemma of Johnson and Lindenstrauss, with half the constant")
    expected = Status.REFUTED

    def predict(self, problem: RandomProjection) -> Array:
        size = jnp.log(20.0 * problem.points) / problem.k
        return jnp.sqrt(size) + size


class Lindenstrauss(AbstractDistortion):
    """Normal coordinates, k of them, change the squared lengths of N vectors by at most 2 sqrt(x / k) + 2 x / k
    relatively, x = log(2 N / delta), with probability at least 1 - delta, delta = 1/10.
    """

    title = "The lemma of Johnson and Lindenstrauss"
    source = book("vershynin2018", "the lemma of Johnson and Lindenstrauss, with the constants of Laurent and Massart")

    def predict(self, problem: RandomProjection) -> Array:
        size = jnp.log(20.0 * problem.points) / problem.k
        return 2 * jnp.sqrt(size) + 2 * size


class Coupons(eqx.Module):
    """Coupons of d kinds."""

    d: int = eqx.field(static=True)


class CouponAlbums(Population[Coupons]):
    """Numbers of kinds."""

    def settings(self) -> Space:
        return Space(d=Integer(3, 1, 300, "kinds"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Coupons:
        return Coupons(setting["d"])

    def hypotheses(self, problem: Coupons) -> list[Hypothesis]:
        return [Hypothesis("there is a kind", problem.d, ">=", 1)]


class AbstractCollection(AbstractTextbook[Coupons]):
    """Draws until the last kind: the wait for the i-th new one is geometric with success probability 1 - (i - 1)/d."""

    population = CouponAlbums()
    relation = AtMost(delta=0.1)
    control = HALVED
    trials = 2000

    def measure(self, problem: Coupons, key: Key[Array, ""]) -> Array:
        new = 1 - jnp.arange(problem.d) / problem.d
        uniform = 1 - jax.random.uniform(key, (problem.d,))
        waits = jnp.where(new < 1, jnp.ceil(jnp.log(uniform) / jnp.log1p(-jnp.where(new < 1, new, 0.5))), 1.0)
        return jnp.maximum(waits, 1.0).sum()


class CouponsTooSoon(AbstractCollection):
    """With probability at least 1 - delta, delta = 1/10, all of d kinds of coupons are found in d log(d / delta) - d/2
    draws, rounded up.
    """

    title = "The coupon collector, half a round too soon"
    source = book("mitzenmacher2005", "the coupon collector's union bound, with a term too many")
    expected = Status.REFUTED

    def predict(self, problem: Coupons) -> Array:
        return jnp.ceil(problem.d * (jnp.log(10.0 * problem.d) - 0.5))


class CouponsInTime(AbstractCollection):
    """With probability at least 1 - delta, delta = 1/10, all of d kinds of coupons are found in d log(d / delta) draws,
    rounded up.
    """

    title = "The coupon collector"
    source = book("mitzenmacher2005", "the coupon collector's union bound")

    def predict(self, problem: Coupons) -> Array:
        return jnp.ceil(problem.d * jnp.log(10.0 * problem.d))


CASES = (
    Case(
        HoeffdingRadiusTooShort(),
        HoeffdingRadius(),
        "for p near 1/2 and most n; violated in 1.6 % for large n, at most 3.1 % (n = 5), where 1 % is allowed",
        {"n": 5, "p": 0.5},
        1 / 32,
    ),
    Case(
        AllCoinsWithoutAUnion(),
        AllCoinsWithAUnion(),
        "for four coins and more",
        {"n": 6, "p": 0.5, "coins": 20},
        1 - (1 - 2 / 64) ** 20,
    ),
    Case(
        McDiarmidByHalfTheRange(),
        McDiarmidByTheRange(),
        "for equal weights and n >= 2, not where one weight is all; 11 % for large n, where 5 % are allowed",
        {"n": 2, "weights": "equal"},
        0.25,
    ),
    Case(
        DistributionFunctionOneSided(),
        DistributionFunctionTwoSided(),
        "for n >= 2; violated in up to 20 %, where 10 % are allowed; the factor of the radius is 0.88",
        {"n": 500},
        0.19350,
    ),
    Case(
        LindenstraussHalved(),
        Lindenstrauss(),
        "for one vector from some 30 coordinates on, for 10 vectors from 10, for 100 from 2",
        {"points": 1, "k": 50},
        0.122621,
    ),
    Case(
        CouponsTooSoon(),
        CouponsInTime(),
        "for d >= 6; 1 - exp(-exp(1/2)/10) = 15 % for many kinds, where 10 % are allowed",
        {"d": 300},
        0.150530,
    ),
)
