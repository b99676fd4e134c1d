"""Modular addition by waves: how many frequencies and how many units are needed to compute a + b mod p.

This theory is about outputs that are sums of cosines of a + b - c, and about a network of quadratic units with random
frequencies and phases. It assumes a prime modulus. It does not explain how training finds such waves.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Choice,
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive

ABOUT = {"tool": "Fourier analysis", "architecture": "dense network", "object": "construction"}

_DELTA = 0.1
_NETWORKS = 32  # over which a measurement averages


def least_margin(powers: Float[np.ndarray, " modes"], p: int, firsts: int = 4) -> float:
    """Return the smallest difference between the right output and any other output, divided by the sum of the powers.

    The outputs are sum_k powers_k cos(2 pi k (a + b - c)/p). These outputs are computed from products of the waves e^(2
    pi i k a/p) and e^(2 pi i k b/p).

    Args:
        powers: the powers of the frequencies 1, 2, ...
        p: the modulus of the addition.
        firsts: how many values of a are tried, each with every b. With p values all pairs are tried, but a few values
            are enough, because only a + b - c matters.
    """
    modes = np.flatnonzero(powers) + 1
    waves = np.exp(2j * np.pi * np.outer(np.arange(p), modes) / p)
    readout, least = (waves * powers[modes - 1]).conj().T, np.inf
    for a in range(0, p, max(p // firsts, 1)):
        outputs = ((waves[a] * waves) @ readout).real  # rows b, columns c
        right = (a + np.arange(p)) % p
        own = outputs[np.arange(p), right]
        outputs[np.arange(p), right] = -np.inf
        least = min(least, float((own - outputs.max(axis=1)).min()))
    return least / float(powers.sum())


class ModePowers(eqx.Module):
    """The powers of the frequencies 1, ..., (p - 1)/2.

    Args:
        powers: one power for each frequency, none of them negative.
        count: how many powers are not 0.
        p: the prime modulus of the addition.
    """

    powers: Float[Array, " modes"]
    count: Int[Array, ""]
    p: int = eqx.field(static=True)


class RandomModes(Population[ModePowers]):
    """Random frequencies, each of power 1.

    If `equal` is false, the powers and the number of frequencies are random, and half of the problems have a single
    frequency.

    Args:
        equal: whether all powers are 1. If they are, the setting `modes` is the number of frequencies.
    """

    equal: bool = True

    def settings(self) -> Space:
        if not self.equal:
            return Space(p=Choice("31", ("5", "11", "31", "61"), "the modulus"))
        primes = Choice("251", ("163", "251", "331"), "the modulus")
        return Space(p=primes, modes=Integer(32, 20, 40, "frequencies"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ModePowers:
        p = int(setting["p"])
        order_key, power_key, count_key, one_key = jax.random.split(key, 4)
        order = jax.random.permutation(order_key, (p - 1) // 2)
        if self.equal:
            return ModePowers((order < setting["modes"]).astype(float), jnp.asarray(setting["modes"]), p)
        many = jax.random.randint(count_key, (), 1, len(order) + 1)
        count = jnp.where(jax.random.bernoulli(one_key), 1, many)
        return ModePowers(jnp.where(order < count, jnp.exp(jax.random.normal(power_key, order.shape)), 0.0), count, p)

    def hypotheses(self, problem: ModePowers) -> list[Hypothesis]:
        prime = all(problem.p % factor for factor in range(2, problem.p))
        why = "otherwise a wave may have the same value at several residues"
        return [
            Hypothesis("p is prime", jnp.asarray(float(prime)), "==", 1.0, why),
            Hypothesis("the sum of the powers", problem.powers.sum(), ">", 0.0, "otherwise all outputs are 0"),
        ]


class AbstractMargin(Claim[ModePowers]):
    """Statements about the smallest difference, over all pairs, between the right output and any other output."""

    controls = "by how much the output of the right sum exceeds every other output"
    unexplained = "how training finds the frequencies"
    traced = False

    def condition(self, problem: ModePowers) -> Array:
        """Return p²: outputs of size 1 are subtracted, and the difference may be as small as (pi/p)²."""
        return jnp.asarray(float(problem.p) ** 2)


class AnyFrequenciesAdd(AbstractMargin):
    """Let p be prime, and let s_k >= 0 be powers of the frequencies k = 1, ..., (p-1)/2 with the sum s > 0. For
    residues a, b and c let

        output_c(a, b) = sum_k s_k cos(2 pi k (a + b - c)/p).

    For every pair (a, b), the output of c = a + b mod p is larger than the outputs of all other c, by at least

        (1 - cos(2 pi/p)) s.

    A single frequency attains this bound. So a network that multiplies waves of a and waves of b can add modulo p,
    whatever the frequencies are.
    """

    title = "Waves of any frequencies modulo a prime p give every sum a + b mod p the largest output"
    source = Source("emergence2026", "Proposition 19.8", "Figure 19.12", "Figure 19.5", note="with the least margin")
    population = RandomModes(equal=False)
    relation = AtLeast()
    control = Control("the least margin is 1.05 times as large", lambda margin, problem: 1.05 * margin)
    trivial = "without products of waves of a and b, no positive margin is known"

    def predict(self, problem: ModePowers) -> Array:
        return 2 * jnp.sin(jnp.pi / problem.p) ** 2 * problem.powers.sum()

    def measure(self, problem: ModePowers, key: Key[Array, ""]) -> Array:
        return problem.powers.sum() * least_margin(np.asarray(problem.powers), problem.p)


class FewFrequenciesSuffice(AbstractMargin):
    """Let p be prime, and draw a set K of m different frequencies from 1, ..., (p-1)/2 at random. Let the output of c
    at the pair (a, b) be the sum over k in K of cos(2 pi k (a + b - c)/p). For c = a + b mod p, the output is m. Let
    delta = 1/10. With probability at least 1 - delta, the outputs of all other c are at most

        sqrt(2 m log((p-1)/(2 delta)))

    for all pairs (a, b). So a number of frequencies of the order log p is enough for a margin that is a constant share
    of the largest output.

    Derivation: the output depends on a + b - c up to its sign, so there are (p-1)/2 other outputs. Each is a sum of m
    numbers in [-1, 1] that are drawn without replacement and have a negative mean. Hoeffding's inequality bounds the
    probability of a sum above t by e^(-t²/(2m)).
    """

    title = "Logarithmically many random frequencies give modular addition a large margin"
    source = Source("nanda2023", note="the outputs of its trained network, with a bound")
    stated = Kind.OWN
    population = RandomModes()
    relation = AtMost(delta=_DELTA)
    control = Control("an eighth of the frequencies suffices", lambda most, problem: most / jnp.sqrt(8.0))

    def predict(self, problem: ModePowers) -> Array:
        return jnp.sqrt(2 * problem.count * jnp.log((problem.p - 1) / (2 * _DELTA)))

    def measure(self, problem: ModePowers, key: Key[Array, ""]) -> Array:
        return problem.count * (1 - least_margin(np.asarray(problem.powers), problem.p))

    def trivial(self, problem: ModePowers) -> Array:
        """Return the bound m cos(2 pi/p), which holds for all choices of m frequencies."""
        return problem.count * jnp.cos(2 * jnp.pi / problem.p)


class RandomUnits(eqx.Module):
    """A network with N quadratic units.

    Args:
        gain: the factor of the network's readout.
        half: (p - 1)/2 for the modulus p.
        width: N, the number of units.
    """

    gain: Float[Array, ""]
    half: int = eqx.field(static=True)
    width: int = eqx.field(static=True)


class QuadraticUnitsAdd(Claim[RandomUnits]):
    """Let p >= 3 be odd. For i = 1, ..., N draw a frequency s_i from 1, ..., p-1 and two phases u_i and v_i, uniform
    and independent. Let the unit i be

        h_i(a, b) = (cos(2 pi s_i a/p + u_i) + cos(2 pi s_i b/p + v_i))²,

    and let the output of c be g (2/N) sum_i h_i(a, b) cos(2 pi s_i c/p + u_i + v_i), for a number g > 0. Over the draw,
    the output of c = a + b mod p has the mean g and the variance 4.25 g²/N. For every other c, the mean is -g/(p-1). On
    average over these c, the variance is (4.5 - 0.75/(p-1) - 1/(p-1)²) g²/N. With independent phases in the readout,
    all means would be 0. With the phases above, a width of about 4.5 r² puts the mean output of c = a + b mod p above
    the other means by r standard deviations.

    Derivation: let S be the sum and D the difference of the two angles of a unit. They are independent and uniform, and
    h = (1 + cos S)(1 + cos D). The readout is cos(S + f), where f = 2 pi s (c - a - b)/p. So E h cos(S + f) = cos(f)/2,
    and E h² cos²(S + f) = (3/4 + cos(2f)/8)(3/2). The mean of cos(f) over s is -1/(p-1) for c other than a + b.
    """

    title = "A network of random quadratic units adds modulo p, with an error of variance 4.5/N"
    source = Source("gromov2023", note="the weights of the analytic solution, with their variances")
    stated = Kind.OWN
    population = Drawn(
        RandomUnits,
        positive("gain"),
        gain=log_uniform(0.5, 2.0),
        half=Integer(3, 2, 8, "(p - 1)/2 for the modulus p"),
        width=Integer(60, 20, 400, "quadratic units"),
    )
    relation = EqualInMean(resolution=0.05)
    control = Control("the mean and the variances are half as large", lambda told, problem: told / 2)
    controls = "the outputs of a network for modular addition that is not trained"
    unexplained = "trained weights, which have fewer frequencies"
    trials = 32

    def predict(self, problem: RandomUnits) -> Array:
        """Return the mean of the right output, and N times the variances of right and other outputs, at gain 1."""
        rest = 2 * problem.half
        return jnp.asarray([1.0, 4.25, 4.5 - 0.75 / rest - 1 / rest**2])

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        """Average over pairs, classes and networks. The first number is the mean difference between the right output
        and the output with independent readout phases.
        """
        p, N = 2 * problem.half + 1, problem.width
        right = (jnp.arange(p)[:, None] + jnp.arange(p))[:, :, None] % p == jnp.arange(p)
        mean = lambda values, where: jnp.sum(jnp.where(where, values, 0.0)) / jnp.sum(where)

        def one(own: Key[Array, ""]) -> Array:
            frequency_key, phase_key = jax.random.split(own)
            turn = 2 * jnp.pi * jnp.outer(jnp.arange(p), jax.random.randint(frequency_key, (N,), 1, p)) / p
            u, v, other = jax.random.uniform(phase_key, (3, N), maxval=2 * jnp.pi)
            units = (jnp.cos(turn + u)[:, None] + jnp.cos(turn + v)[None, :]) ** 2  # a, b, unit
            found, null = (problem.gain * 2 / N * units @ jnp.cos(turn + phase).T for phase in (u + v, other))
            found, null = found / problem.gain, null / problem.gain
            rest = mean((found + 1 / (p - 1)) ** 2, ~right)
            return jnp.stack([mean(found - null, right), N * mean((found - 1) ** 2, right), N * rest])

        return jax.lax.map(one, jax.random.split(key, _NETWORKS)).mean(axis=0)
