"""Goodhart's law with numbers: if a proxy is optimised, the gold reward can keep rising, peak, or lose all of its gain.

The gold reward is the true value of an answer, and a proxy is a reward that stands in for it. This theory gives the
gold reward of policies that follow a proxy. With independent normal errors, the gold reward never falls. If the gold
reward is a quadratic function of the proxy, the gold reward peaks at a known divergence. With heavy-tailed errors, the
whole gain is finally lost. The theory assumes that the distribution of the proxy given the gold reward is known. It
leaves unexplained which of the three cases a learned reward resembles.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Kind,
    Order,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.subjects.preferences import expected_normal_maximum

ABOUT = {"tool": "statistics", "architecture": "any", "object": "sampler"}


class NormalProxy(eqx.Module):
    """Standard deviations of a normal gold reward and of a proxy's independent error, and a tilt. The tilt is by the
    weights e^(tilt proxy).
    """

    gold: Float[Array, ""]
    error: Float[Array, ""]
    tilt: Float[Array, ""]

    @property
    def share(self) -> Float[Array, ""]:
        """The squared correlation rho² of gold and proxy."""
        return self.gold**2 / (self.gold**2 + self.error**2)


class NormalProxies(Population[NormalProxy]):
    """Gold rewards of scale 1/2 to 2, comparable errors, and tilts that move the mean proxy by 1/2 to 1 of its
    standard deviation.
    """

    settings = Space(error=Real(1.0, 0.5, 3.0, "error over gold", corners=(0.7, 1.5)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormalProxy:
        u = jax.random.uniform(key, (3,))
        gold = 0.5 * 4 ** u[0]
        error = gold * setting["error"] * (0.8 + 0.4 * u[1])
        return NormalProxy(gold, error, (0.5 + 0.5 * u[2]) / jnp.sqrt(gold**2 + error**2))

    def hypotheses(self, problem: NormalProxy) -> list[Hypothesis]:
        return [
            Hypothesis("the proxy has an error", problem.error, ">", 0.0, "otherwise the proxy equals the gold reward")
        ]


class CurvedGold(eqx.Module):
    """The proxy s is standard normal under the reference, and the gold reward is s - curvature s² / 2.

    `tilts` are the values of lambda in the tilts by e^(lambda s).
    """

    curvature: Float[Array, ""]
    tilts: Float[Array, " t"]


class HeavyProxy(eqx.Module):
    """A proxy gold + scale * error: standard normal gold, and a Student's t error with `freedom` degrees of freedom."""

    freedom: Float[Array, ""]
    scale: Float[Array, ""]


_HEAVY = Drawn(
    HeavyProxy,
    lambda own: Hypothesis(
        "the error has a finite variance (degrees of freedom above 2)",
        own.freedom,
        ">",
        2.0,
        "otherwise simulated means of maxima vary too much",
    ),
    freedom=Real(3.0, 2.5, 3.5, "degrees of freedom of the error", corners=(2.6, 3.4)),
    scale=Real(1.2, 1.0, 2.0, "scale of the error", corners=(1.0, 1.6)),
)


_DRAWS, _MANY = 2**12, 2**16
_BEST_OF = (4, 16, 64)
_SIZES = (64, 256, 1024, 4096)
_LADDER = tuple(map(float, _SIZES))


def _best_of(proxy: Float[Array, " s"], values: Float[Array, " s"], counts: tuple[int, ...]) -> Array:
    """For each n, return the mean over groups of n draws of the value at the group's largest proxy."""

    def one(n):
        groups = proxy.reshape(-1, n)
        best = jnp.argmax(groups, axis=1, keepdims=True)
        return jnp.mean(jnp.take_along_axis(values.reshape(-1, n), best, axis=1))

    return jnp.stack([one(n) for n in counts])


class NormalErrorsNeverHurt(Claim[NormalProxy]):
    """Let gold be the gold reward of an answer, and let proxy = gold + error be its proxy reward. Let gold and error be
    independent and normal with mean 0 and the standard deviations s_g and s_e. Let s² = s_g² + s_e², let rho² =
    s_g²/s², and let z_1, ..., z_n be independent standard normal numbers. Choose answers in one of two ways: the best
    of n draws by proxy, or a draw from the reference tilted by e^(lambda proxy). In both cases, the expected gold
    reward is the fixed fraction rho² of the expected proxy:

        E gold = rho² E proxy,    E proxy = s E max(z_1, ..., z_n) or lambda s².

    The first value of E proxy holds for the best of n, and the second value holds for the tilt. So the gold reward
    rises with n and lambda without a peak. The test compares the gold rewards for n = 4, 16, 64 and for the tilt.
    """

    title = "With normal errors, the gold reward of the best of n or of a tilt is a fixed fraction of the proxy reward"
    source = Source("gao2023goodhart", note="the regressional effect, derived here")
    stated = Kind.OWN
    population = NormalProxies()
    # if weights are divided so that they sum to one, they have a bias of the order of one over the number of draws
    relation = EqualInMean(margin=0.005, resolution=0.02)
    control = Control("the gold reward is rho times the proxy", lambda gold, problem: gold / jnp.sqrt(problem.share))
    controls = "the gold reward of policies that follow a noisy proxy"
    unexplained = "errors with heavy tails; errors that depend on the gold reward"
    trials = 256

    def predict(self, problem: NormalProxy) -> Array:
        spread = jnp.sqrt(problem.gold**2 + problem.error**2)
        maxima = jnp.stack([expected_normal_maximum(n) for n in _BEST_OF])
        return problem.share * jnp.append(spread * maxima, problem.tilt * spread**2)

    def measure(self, problem: NormalProxy, key: Key[Array, ""]) -> Array:
        """Average gold over the best of n draws, and over all draws with the weights of the tilt."""
        gold, error = jax.random.normal(key, (2, _DRAWS)) * jnp.stack([problem.gold, problem.error])[:, None]
        proxy = gold + error
        return jnp.append(_best_of(proxy, gold, _BEST_OF), jax.nn.softmax(problem.tilt * proxy) @ gold)


class CurvedGoldPeaks(Claim[CurvedGold]):
    """Let the proxy reward s be standard normal under the reference, and let the gold reward be s - (c/2) s² with c >
    0. For example, s may be the length of an answer, which helps only up to a point. Tilting the reference by e^(lambda
    s) gives the divergence KL = lambda²/2. Let d = sqrt(KL). The tilt raises the gold reward by

        d (sqrt(2) - c d).

    Curves of the same form, d (alpha - beta d), are fitted to learned rewards in practice. As lambda grows, the gain
    peaks at lambda = 1/c and is 0 again at lambda = 2/c, while the proxy keeps growing.

    The test checks the predicted gains at four values of lambda. It also checks the predicted lambda of the peak.
    """

    title = "Under tilting by a proxy, the gain in a quadratic gold reward is a parabola in sqrt(KL divergence)"
    source = Source("emergence2026", "Figure 20.14", "Example 20.12", note="with a quadratic gold reward")
    population = Drawn(
        CurvedGold,
        positive("curvature", "otherwise there is no peak"),
        curvature=log_uniform(0.5**0.5, 2**0.5, times=Real(0.8, 0.3, 2.0, "geometric mean of the curvatures")),
        tilts=uniform(0.2, 3.0, 4),
    )
    relation = Equal(block=1)
    control = Control("the peak is at twice the tilt", lambda gains, problem: _gains(problem, 0.5))
    controls = "the gain in gold reward of a tilted policy, and where it is largest"
    unexplained = "why a learned reward should have this form"
    # Nodes and weights are exact to about 1e-13; bisection of a rounded derivative ends within this error of 1/c.
    condition = 1000.0

    def predict(self, problem: CurvedGold) -> Array:
        return _gains(problem, 1.0)

    def measure(self, problem: CurvedGold, key: Key[Array, ""]) -> Array:
        """Compute means under the tilted distribution by Gauss-Hermite quadrature.

        Find the peak by bisection of the gain's derivative.
        """
        points, weights = map(jnp.asarray, np.polynomial.hermite_e.hermegauss(60))
        gold = points - problem.curvature * points**2 / 2

        def mean(tilt):
            return jax.nn.softmax(jnp.log(weights) + tilt * points) @ gold

        def halve(_, ends):
            low, high = ends
            middle = (low + high) / 2
            rising = jax.grad(mean)(middle) > 0
            return jnp.where(rising, middle, low), jnp.where(rising, high, middle)

        peak = jax.lax.fori_loop(0, 50, halve, (jnp.zeros(()), jnp.full((), 5.0)))[0]
        return jnp.append(jax.vmap(mean)(problem.tilts) - mean(0.0), peak)


def _gains(problem: CurvedGold, bend: float) -> Array:
    root = problem.tilts / jnp.sqrt(2.0)
    curvature = bend * problem.curvature
    return jnp.append(root * (jnp.sqrt(2.0) - curvature * root), 1 / curvature)


def _heavy_draws(problem: HeavyProxy, key: Key[Array, ""]) -> tuple[Array, Array]:
    """Draw gold and proxy of many answers; errors come from Bailey's polar method for Student's t (1994)."""
    one, two = jax.random.split(key)
    gold = jax.random.normal(one, (_MANY,))
    u, angle = jax.random.uniform(two, (2, _MANY), minval=1e-300)
    radius = jnp.sqrt(problem.freedom * jnp.expm1(-2 / problem.freedom * jnp.log(u)))
    return gold, gold + problem.scale * radius * jnp.cos(2 * jnp.pi * angle)


class HeavyTailsTakeGold(Claim[HeavyProxy]):
    """Let the gold reward be standard normal. Let the proxy reward be the gold reward plus an independent error with a
    scale of the order of 1. The error follows Student's distribution with nu degrees of freedom, where nu = 3 by
    default. Take the best of n draws by proxy. Its expected gold reward falls from n = 64 on:

        E gold(best of 64) > E gold(best of 256) > E gold(best of 1024) > E gold(best of 4096).

    The expected gold reward falls towards 0, which is its value under the reference, while the proxy grows like
    n^(1/nu). The reason is that the answers with the largest proxies have the largest errors, and not the largest gold
    rewards.
    """

    title = "With heavy-tailed errors of the proxy, the best of n draws loses gold reward from n = 64 on"
    source = Source("kwa2024", note="main result, for the best of n")
    population = _HEAVY
    relation = Order("n", _LADDER, over="problems")
    control = Control("the gold reward keeps rising", lambda sign, problem: -sign)
    controls = "the gold reward of the best of n by a heavy-tailed proxy"
    unexplained = "the n at the peak, which depends on the scale of the error"
    trials = 160
    predict = -1.0

    def measure(self, problem: HeavyProxy, key: Key[Array, ""]) -> Array:
        gold, proxy = _heavy_draws(problem, key)
        return _best_of(proxy, gold, _SIZES)


class HeavyTailedProxyGrows(Claim[HeavyProxy]):
    """Let a proxy reward be a standard normal gold reward plus an independent error that follows Student's distribution
    with nu degrees of freedom. The expected proxy of the best of n draws grows like n^(1/nu), without limit. The
    divergence of the best of n from the reference grows only like log n.
    """

    title = "With heavy-tailed errors (Student, nu degrees), the proxy reward of the best of n grows like n^(1/nu)"
    source = Source("kwa2024", note="main result, the rate from extreme values")
    population = _HEAVY
    relation = Rate("n", _LADDER, margin=0.03, resolution=0.04)
    control = Control("the proxy grows like n^(1/(nu + 1))", lambda rate, problem: rate / (1 + rate))
    controls = "the proxy reward of the best of n"
    unexplained = "the gold reward"
    trials = 128

    def predict(self, problem: HeavyProxy) -> Array:
        return 1 / problem.freedom

    def measure(self, problem: HeavyProxy, key: Key[Array, ""]) -> Array:
        _, proxy = _heavy_draws(problem, key)
        return _best_of(proxy, proxy, _SIZES)
