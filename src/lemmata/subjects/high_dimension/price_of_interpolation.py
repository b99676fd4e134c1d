"""The price of interpolating noise: consequences of the inputs' spectrum for ridgeless regression.

This theory gives the risk of the least squares fit of smallest norm for normal rows of any covariance. For noise alone,
the squared error on new rows divided by the variance of the noise is the price of interpolation. The price is 1 if
fitting the noise does no harm. The price depends only on how fast the spectrum decays. The theory assumes that the rows
are normal. It does not explain which spectra real features have.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import hyp2f1

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import rows
from lemmata.subjects.high_dimension._normal_designs import falling_root, least_norm, noise_fits

ABOUT = {"tool": "random matrices", "architecture": "kernel method", "object": "generalisation"}

_NOISES = 32
_WIDE = 50  # columns per row of a spectrum without an end


class AnySpectrum(eqx.Module):
    """The variances of the columns, and the coefficients. There are more columns than rows."""

    variances: Float[Array, " p"]
    coefficients: Float[Array, " p"]
    n: int = eqx.field(static=True)


def learned(variances: Float[np.ndarray, " p"], n: int) -> tuple[float, Float[np.ndarray, " p"]]:
    """Return the kappa with sum_i v_i/(v_i + kappa) = n < p, and the terms v_i/(v_i + kappa) of the sum."""
    shares = lambda log: variances / (variances + np.exp(log))
    ends = np.log(variances.min() * (len(variances) / n - 1)) - 1, np.log(variances.max() * len(variances) / n) + 1
    found = falling_root(lambda log: float(shares(log).sum()) - n, *ends)
    return float(np.exp(found)), shares(found)


class AnisotropicRisk(Claim[AnySpectrum]):
    """Let n normal rows have p > n independent columns with variances v_i. Let beta be the vector of coefficients, and
    let sigma² be the variance of the noise. Let kappa solve sum_i v_i/(v_i + kappa) = n, and let D = sum_i (v_i/(v_i +
    kappa))². If n is large, the variance and the bias of the least squares fit of smallest norm are, in this order and
    within a few percent,

        sigma² D/(n - D),    kappa² (1 - D/n)^-1 sum_i v_i beta_i²/(v_i + kappa)².
    """

    title = "For any input covariance, one effective ridge gives the variance and the bias of ridgeless regression"
    source = Source(
        "cheng2024dimension", note="the deterministic equivalent without a ridge; also in Hastie et al. (2022)"
    )
    population = Drawn(
        AnySpectrum,
        positive("variances", "a column without variance does not count"),
        lambda own: Hypothesis(
            "columns per row", len(own.variances) / own.n, ">", 1.2, "with one column per row the risk is infinite"
        ),
        n=rows(60, 40, 200, corners=(40, 80)),
        p=Integer(150, 100, 1000, "columns", corners=(120, 300)),
        variances=log_uniform(0.02, 2.0, "p"),
        coefficients=normal("p", times=0.1),
        rules={"at least 1.4 columns per row": lambda setting: setting["p"] >= 1.4 * setting["n"]},
    )
    relation = EqualInMean(margin=0.05, resolution=0.03)
    control = Control(
        "the errors are not amplified: the variance is sigma² D/n, and the bias is not divided by 1 - D/n",
        lambda risk, problem: (
            risk * (1 - np.sum(learned(np.asarray(problem.variances), problem.n)[1] ** 2) / problem.n)
        ),
    )
    controls = "the bias and the variance of an interpolating linear fit on a known spectrum"
    unexplained = "rows that are not normal; the error of one draw of the rows"
    traced = False
    trials = 96

    def predict(self, problem: AnySpectrum) -> Float[Array, "2"]:
        kappa, shares = learned(np.asarray(problem.variances), problem.n)
        spent = jnp.sum(shares**2) / problem.n
        lost = jnp.sum(kappa**2 * problem.variances * problem.coefficients**2 / (problem.variances + kappa) ** 2)
        return jnp.stack([spent / (1 - spent), lost / (1 - spent)])

    def measure(self, problem: AnySpectrum, key: Key[Array, ""]) -> Float[Array, "2"]:
        """Return variance and bias, from fits to the noise alone and to the target alone on four draws of the rows."""
        rng, values, beta = generator_of(key), np.asarray(problem.variances), np.asarray(problem.coefficients)
        found = np.empty((4, 2))
        for own in found:
            x = rng.normal(size=(problem.n, len(values))) * np.sqrt(values)
            fits = least_norm(x, np.c_[x @ beta, rng.normal(size=(problem.n, _NOISES))])
            own[:] = np.mean(values @ fits[:, 1:] ** 2), values @ (fits[:, 0] - beta) ** 2
        return jnp.asarray(found.mean(axis=0))


class PowerDecay(eqx.Module):
    """The exponent a of a spectrum i^-a, and the number of rows."""

    decay: Float[Array, ""]
    n: int = eqx.field(static=True)


class TemperedInterpolation(Claim[PowerDecay]):
    """Let n normal rows have independent columns with variances i^-a, where i = 1, 2, ... and a > 1. Let y be pure
    noise of variance sigma². Take the interpolating fit of smallest norm. As n grows, the squared error of this fit on
    new noisy rows, divided by sigma², tends to

        a.

    Call this ratio the price of interpolation. For a power law, the price is the decay exponent of the spectrum, which
    is neither 1 nor infinite. In contrast, for 3 n columns of equal variances, the price is 1 + n/(2 n - 1).

    The test measures the price of the power law and the price of equal variances. For the power law, it uses only the
    first 50 n columns, which changes the price by about 1 % at a = 2.
    """

    title = "With covariance eigenvalues i^-a, the test error of interpolated pure noise tends to a * (noise variance)"
    source = Source("mallinar2022", note="power laws are tempered; the limit for normal features without a ridge")
    population = Drawn(
        PowerDecay,
        lambda own: Hypothesis(
            "the decay exponent a",
            own.decay,
            ">=",
            2.0,
            "otherwise cutting the power law at 50 n columns changes the price",
        ),
        decay=uniform(2.0, 3.0),
        n=rows(60, 40, 150, corners=(40, 90)),
    )
    relation = EqualInMean(margin=0.03, resolution=0.03)
    control = Control(
        "noise is not amplified: the price is 1 + D/n, which is 2 - 1/a for a power law",
        lambda price, problem: jnp.stack([2 - 1 / problem.decay, jnp.asarray(4 / 3)]),
    )
    controls = "how much noise costs a kernel method that interpolates its data"
    unexplained = "exponents from 1 to 2, which need more columns; kernels whose features are not normal"
    traced = False
    trials = 32

    def predict(self, problem: PowerDecay) -> Float[Array, "2"]:
        return jnp.stack([problem.decay, jnp.asarray(1 + problem.n / (2 * problem.n - 1))])

    def measure(self, problem: PowerDecay, key: Key[Array, ""]) -> Float[Array, "2"]:
        """Return the price for both spectra, from interpolating fits to noise and the noise of new rows."""
        rng, n = generator_of(key), problem.n
        power = np.arange(1.0, _WIDE * n + 1.0) ** -float(problem.decay)
        prices = [1 + noise_fits(values, n, 3, _NOISES, rng).mean() for values in (power, np.ones(3 * n))]
        return jnp.asarray(prices)


class SpikesAndTail(eqx.Module):
    """The numbers of rows, of columns with a large variance, and of columns with a small variance."""

    n: int = eqx.field(static=True)
    spikes: int = eqx.field(static=True)
    tail: int = eqx.field(static=True)


class BenignTail(Claim[SpikesAndTail]):
    """Let n normal rows have k columns of large variance, and p columns of one small variance t, such that p t is far
    below n. Let s = k/n and q = (1 - s)² n/p. If y is pure noise of variance sigma², the interpolating fit of smallest
    norm has the excess risk

        sigma² (s + q)/(1 - s - q)

    up to a few percent. To first order, this risk is sigma² (k/n + n/p). So interpolation is harmless if few directions
    have a large variance and many directions have a small variance. Least squares on the k large columns alone would
    have the risk sigma² s/(1 - s).
    """

    title = "Benign overfitting: interpolation is harmless if few covariance directions are large and many are small"
    source = Source("bartlett2020benign", "Theorem 1", note="the two terms of the variance, with explicit constants")
    population = Drawn(
        SpikesAndTail,
        n=rows(80, 50, 200, corners=(60, 100)),
        spikes=Integer(8, 5, 12, "large columns", corners=(6, 10)),
        tail=Integer(800, 300, 2000, "small columns", corners=(400, 1600)),
        rules={"at least four small columns per row": lambda setting: setting["tail"] >= 4 * setting["n"]},
    )
    relation = EqualInMean(margin=0.05, resolution=0.03)
    control = Control(
        "the small columns cost nothing", lambda risk, problem: (s := problem.spikes / problem.n) / (1 - s) + 0 * risk
    )
    controls = "whether interpolating noise is harmless"
    unexplained = "spectra without a gap between large and small variances"
    traced = False
    trials = 32

    def predict(self, problem: SpikesAndTail) -> Array:
        s = problem.spikes / problem.n
        q = (1 - s) ** 2 * problem.n / problem.tail
        return jnp.asarray((s + q) / (1 - s - q))

    def measure(self, problem: SpikesAndTail, key: Key[Array, ""]) -> Array:
        """Return the excess risk of fits to noise; the total variance of the small columns is n/100."""
        small = 0.01 * problem.n / problem.tail
        values = np.r_[np.ones(problem.spikes), np.full(problem.tail, small)]
        return jnp.asarray(noise_fits(values, problem.n, 4, _NOISES, generator_of(key)).mean())


class BrokenPower(eqx.Module):
    """A spectrum with the variances (i/m)^-first up to i = m and (i/m)^-second beyond m."""

    first: Float[Array, ""]
    second: Float[Array, ""]
    m: int = eqx.field(static=True)


_SHARES = (0.5, 1.0, 2.0)  # rows in units of m


def _before_and_after(problem: BrokenPower, ratio: float) -> tuple[float, float, float]:
    """Return the numbers of learned directions before and after the break, and the learned share at the break.

    The numbers are divided by m. There are ratio * m rows.
    """
    a, b = float(problem.first), float(problem.second)
    before = lambda k: hyp2f1(1, 1 / a, 1 + 1 / a, -k)
    after = lambda k: hyp2f1(1, 1 - 1 / b, 2 - 1 / b, -1 / k) / (k * (b - 1))
    kappa = np.exp(falling_root(lambda log: before(np.exp(log)) + after(np.exp(log)) - ratio, -12.0, 12.0))
    return before(kappa), after(kappa), 1 / (1 + kappa)


def _harmonic(problem: BrokenPower, boundary: float) -> Float[Array, "3"]:
    prices = []
    for ratio in _SHARES:
        before, after, at = _before_and_after(problem, ratio)
        share = (before - boundary * at) / (before + after)
        prices.append(1 / (share / problem.first + (1 - share) / problem.second))
    return jnp.stack(prices)


class BrokenPowerLaw(Claim[BrokenPower]):
    """Let n normal rows have independent columns with variances v_i = (i/m)^-a for i <= m and (i/m)^-b for i > m, where
    b > 1. Let y be pure noise. Let kappa solve sum_i s_i = n, where s_i = v_i/(v_i + kappa) is the learned share of
    direction i. The price of interpolation is the squared error on new rows divided by the variance of the noise. For
    large m, this price is the harmonic mean

        1/(w/a + (1 - w)/b),    w = (sum_{i <= m} s_i - m/(1 + kappa))/n.

    For any smooth spectrum with local exponents a_i, the price is the harmonic mean of these exponents with the weights
    i (s_i - s_{i+1})/n. These weights are large for directions at the edge of what n rows can learn, where s_i is
    neither near 1 nor near 0. The weights are not large for the directions of largest variance. The test uses n = m/2,
    m and 2 m rows, and 50 columns for each row.
    """

    title = "If noise is interpolated, test error / noise variance is a harmonic mean of a broken power law's exponents"
    source = Source("mallinar2022", note="beyond single power laws (not in the source)")
    stated = Kind.OWN
    population = Drawn(
        BrokenPower,
        lambda own: Hypothesis(
            "the second exponent", own.second, ">=", 2.0, "otherwise cutting the power law changes the price"
        ),
        positive("first", "both exponents of the harmonic mean must be positive"),
        first=uniform(0.5, 1.2),
        second=uniform(2.0, 3.0),
        m=Integer(50, 40, 80, "columns before the break", corners=(40, 60)),
    )
    relation = EqualInMean(margin=0.03, resolution=0.03)
    control = Control(
        "the weight is the share of the learned directions up to the break",
        lambda price, problem: _harmonic(problem, 0.0),
    )
    controls = "how much noise costs an interpolating fit if the decay exponent of the spectrum changes at a break"
    unexplained = "breaks that are not sharp, and features that are not normal"
    traced = False
    trials = 32

    def predict(self, problem: BrokenPower) -> Float[Array, "3"]:
        """Return the price for each n, with sums replaced by integrals, which are hypergeometric functions."""
        return _harmonic(problem, 1.0)

    def measure(self, problem: BrokenPower, key: Key[Array, ""]) -> Float[Array, "3"]:
        """Return the price for each number of rows, from interpolating fits to noise."""
        rng, place = generator_of(key), np.arange(1.0, _WIDE * 2 * problem.m + 1.0) / problem.m
        values = np.where(place <= 1, place ** -float(problem.first), place ** -float(problem.second))
        sizes = [round(ratio * problem.m) for ratio in _SHARES]
        return jnp.asarray([1 + noise_fits(values[: _WIDE * n], n, 3, _NOISES, rng).mean() for n in sizes])
