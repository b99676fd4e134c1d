"""The effective dimension of attention as a kernel, and how it grows with the number of tokens and with beta.

Let K be the Gram matrix of exp(beta <x, y>) on n tokens. This theory describes the effective dimension d_eff(lambda) =
tr K (K + n lambda)^-1, and its limit under the uniform distribution on a sphere, for which the Funk-Hecke formula
gives the spectrum. It assumes tied queries and keys, for which the kernel of attention is positive semidefinite. It
does not explain what tokens look like after training. The rates say how many directions the kernel offers, not how
many of them a task uses.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, positive, uniform
from lemmata.engine.problems.variables import dimension
from lemmata.spectra import SphereSpectrum, exponential_sphere_spectrum

ABOUT = {"tool": "spectral theory", "architecture": "attention", "object": "spectrum"}


class SphereTokens(eqx.Module):
    """The kernel exp(beta <x, y>) on the unit sphere of R^p, of which n tokens are drawn uniformly."""

    beta: Float[Array, ""]
    p: int = eqx.field(static=True)
    n: int = eqx.field(static=True)


def uniform_tokens(key: Key[Array, ""], n: int, p: int) -> Float[Array, "n p"]:
    """Draw independent uniform points on the unit sphere, one in each row.

    Args:
        key: the random key.
        n: the number of points.
        p: the dimension.
    """
    rows = jax.random.normal(key, (n, p))
    return rows / jnp.linalg.norm(rows, axis=1, keepdims=True)


def _sphere_tokens(p: int = 3, n: int = 400, beta: float = 1.5, dimensions: tuple[int, int] = (3, 4)) -> Drawn:
    """Return a generator of `SphereTokens` whose beta is uniform between 1/2 and 1 times a setting.

    Args:
        p: the default dimension.
        n: the default number of tokens.
        beta: the default largest inverse temperature beta.
        dimensions: the range of dimensions of the extra settings on which a claim is also tested.
    """
    return Drawn(
        SphereTokens,
        positive("beta", "at beta = 0, the kernel is constant"),
        p=dimension(p, 3, corners=dimensions),
        n=Integer(n, 2, 5000, "tokens", corners=(max(2, n // 2), n)),
        beta=uniform(0.5, 1.0, times=Real(beta, 0.1, 8.0, "largest inverse temperature", corners=(beta / 3, beta))),
    )


class NormalisedTokens(Population[SphereTokens]):
    """Tokens of length sqrt(p), as after layer normalisation, with logits <x, y> / sqrt(p), so that beta = sqrt(p)."""

    settings = Space(p=Integer(64, 16, 1024, "dimension"), n=Integer(256, 256, 4096, "tokens", corners=(256, 320)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SphereTokens:
        """Return the kernel, which is not random. Only the tokens are random, and the measurement draws them."""
        return SphereTokens(jnp.asarray(setting["p"] ** 0.5), setting["p"], setting["n"])

    def hypotheses(self, problem: SphereTokens) -> list[Hypothesis]:
        why = "the softmax divides inner products of tokens of length sqrt(p) by sqrt(p)"
        return [Hypothesis("beta = sqrt(p)", problem.beta, "==", problem.p**0.5, why)]


_CONTROLS = "the effective dimension of an exponential kernel on tokens of a sphere"
_UNIFORM = "tokens that are not uniform on a sphere, and untied queries and keys, whose kernel need not be semidefinite"


def degrees_of_freedom(matrix: Float[Array, "n n"], ridge: float | Float[Array, ""]) -> Float[Array, ""]:
    """Return tr K (K + r)^-1 for a positive semidefinite K, from a Cholesky factor and not from eigenvalues.

    >>> round(float(degrees_of_freedom(jnp.diag(jnp.array([1.0, 3.0])), 1.0)), 12)
    1.25

    Args:
        matrix: the positive semidefinite matrix K.
        ridge: the ridge r, which is positive.
    """
    n = len(matrix)
    factor = jnp.linalg.cholesky(matrix / ridge + jnp.eye(n))
    return n - jnp.sum(jax.scipy.linalg.solve_triangular(factor, jnp.eye(n), lower=True) ** 2)


def _gram(problem: SphereTokens, key: Key[Array, ""]) -> Float[Array, "n n"]:
    """Draw tokens from the sphere and return the Gram matrix of exp(beta <x, y>) at these tokens."""
    tokens = uniform_tokens(key, problem.n, problem.p)
    return jnp.exp(problem.beta * tokens @ tokens.T)


def _one_dimension_lower(value: Array, problem: SphereTokens) -> Array:
    degrees = 40
    spectrum = exponential_sphere_spectrum(problem.beta, problem.p, degrees)
    lower = exponential_sphere_spectrum(problem.beta, problem.p - 1, degrees).log_multiplicities
    return SphereSpectrum(spectrum.log_eigenvalues, lower).effective_dimension(-math.log(problem.n))


class SphereEffectiveDimension(Claim[SphereTokens]):
    """Let n tokens be uniform on the unit sphere of R^p, with the kernel exp(beta <x, y>) and its Gram matrix K. Let
    lambda_k be the eigenvalues of the kernel under the uniform distribution, and let N_k be their multiplicities:

        lambda_k = Gamma(p/2) (2/beta)^(p/2-1) I_(k+p/2-1)(beta),
        N_k = C(k+p-1, p-1) - C(k+p-3, p-1),

    with a modified Bessel function I_(k+p/2-1) and binomial coefficients C. At the ridge 1/n, the effective dimension
    of the tokens is tr K (K + I)^-1, and the effective dimension of the population is

        sum_k N_k lambda_k / (lambda_k + 1/n).

    If the effective dimension of the population is below n/12, the mean effective dimension of the tokens equals the
    effective dimension of the population to within 3 %.
    """

    title = "The effective dimension of the exponential kernel on a sphere follows from its Funk-Hecke eigenvalues"
    source = Source(
        "foundation2025", "Section 4.1, effective dimension", note="at the ridge 1/n, with explicit constants"
    )
    stated = Kind.OWN
    population = _sphere_tokens(n=300, beta=1.2, dimensions=(3, 4))
    # The trace estimated from n tokens is too small on average, because it is a concave function of the covariance. The
    # error is 1.8 % if d_eff is n/16 (p = 3, beta 1 to 2).
    relation = EqualInMean(margin=0.03, resolution=0.02)
    control = Control("the multiplicities for one dimension less", _one_dimension_lower)
    controls, unexplained = _CONTROLS, _UNIFORM
    trials = 32

    def hypotheses(self, problem: SphereTokens) -> list[Hypothesis]:
        share = self.predict(problem) / problem.n
        return [
            Hypothesis(
                "the effective dimension is a small share of n",
                share,
                "<",
                1 / 12,
                "otherwise the estimate from n tokens is biased",
            )
        ]

    def predict(self, problem: SphereTokens) -> Array:
        spectrum = exponential_sphere_spectrum(problem.beta, problem.p, 40)
        return spectrum.effective_dimension(-math.log(problem.n))

    def measure(self, problem: SphereTokens, key: Key[Array, ""]) -> Array:
        return degrees_of_freedom(_gram(problem, key), 1.0)


class EffectiveDimensionIsPowerOfLog(Claim[SphereTokens]):
    """Consider the kernel exp(beta <x, y>) with fixed beta on the unit sphere of R^p, p >= 3. Its effective dimension
    at the ridge 1/n is the sum of lambda / (lambda + 1/n) over the eigenvalues lambda of the kernel under the uniform
    distribution. This effective dimension is at most of the order of

        (log n)^(p-1).

    Let lambda_k be the eigenvalue of the kernel for spherical harmonics of degree k. If lambda_k > 1/n, each harmonic
    of degree k raises the effective dimension by about 1. This holds for about log n / log log n degrees k, and the
    number of harmonics of degree k is of the order of k^(p-2). The test goes up to log n = 10^5, where the factor log
    log n is too small to hide the exponent. At usual n, the effective dimension grows more slowly than (log n)^(p-1)
    and faster than log n.
    """

    title = "At ridge 1/n, the effective dimension of attention on a sphere in R^p grows at most like (log n)^(p-1)"
    source = Source(
        "foundation2025", "Section 4.1, effective dimension", note="at the ridge 1/n, at a fixed temperature"
    )
    stated = Kind.OWN
    population = _sphere_tokens(p=3, beta=1.0)
    relation = Rate("log n", tuple(10.0**digits for digits in (3, 3.5, 4, 4.5, 5)), upper=True)
    control = Control("the power of log n is p - 3/2", lambda exponent, problem: exponent - 0.5)
    controls, unexplained = _CONTROLS, _UNIFORM
    trials = 16

    def predict(self, problem: SphereTokens) -> Array:
        return jnp.asarray(problem.p - 1.0)

    def measure(self, problem: SphereTokens, key: Key[Array, ""]) -> Array:
        spectrum = exponential_sphere_spectrum(problem.beta, problem.p, 20_000)
        return jnp.stack([spectrum.effective_dimension(-rung) for rung in self.relation.rungs])


class NormalisedTokensFillTheirDimension(Claim[SphereTokens]):
    """Let n tokens be uniform on the sphere |x| = sqrt(p) of R^p, p >= 16. Layer normalisation also gives this length.
    Let the logits be <x, y> / sqrt(p), and let K be the Gram matrix of exponentials of these logits. Up to n = 256, the
    effective dimension tr K (K + I)^-1 grows in proportion to n. It equals n up to a few per cent.

    The reason is that the diagonal entries exp(sqrt(p)) of K are far above all other entries. The effective dimension
    grows like a power of log n only if n exceeds the number of spherical harmonics in p dimensions whose eigenvalues
    are not negligible. For usual p, no sequence is that long.
    """

    title = "Up to n = 256 layer-normalised tokens, the effective dimension of attention is about the number of tokens"
    source = Source("foundation2025", "Section 4.1, effective dimension", note="at the ridge 1/n, at usual sizes")
    stated = Kind.OWN
    population = NormalisedTokens()
    relation = Rate("n", (32.0, 64.0, 128.0, 256.0))
    control = Control("growth like the square root of n", lambda exponent, problem: exponent - 0.5)
    controls, unexplained = _CONTROLS, "tokens that are nearly equal, as after trained layers"
    trials = 8
    predict = 1.0

    def measure(self, problem: SphereTokens, key: Key[Array, ""]) -> Array:
        """Return the effective dimension of the first n tokens of one draw, for each n.

        Rows and columns of the other tokens are set to 0 and add nothing.
        """
        first = (jnp.arange(problem.n) < jnp.asarray(self.relation.rungs)[:, None]).astype(float)
        grams = _gram(problem, key) * first[:, :, None] * first[:, None, :]
        return jax.vmap(degrees_of_freedom, (0, None))(grams, 1.0)


class SharperLogitsNeedMoreDimensions(Claim[SphereTokens]):
    """Consider the kernel exp(beta <x, y>) on the unit sphere of R^p, p >= 3, where beta is the inverse temperature.
    Take the ridge r = exp(beta) / n, which is 1/n times the kernel of a point with itself. The effective dimension is
    the sum of lambda / (lambda + r) over the eigenvalues lambda of the kernel. It grows with beta at most like

        beta^((p-1)/2).

    The reason is that the kernel is exp(beta) times a bump exp(-beta |x - y|²/2) of width beta^(-1/2). The sphere has
    room for about beta^((p-1)/2) such bumps. The test uses n = 10^30, which is large enough to show the exponent. At
    usual n, the growth ends early, because the effective dimension cannot exceed n.
    """

    title = "The effective dimension of attention in R^p at inverse temperature beta grows at most like beta^((p-1)/2)"
    source = Source(
        "foundation2025",
        "Section 4.1, effective dimension",
        note="the growth with the temperature, which a fixed temperature leaves out",
    )
    stated = Kind.OWN
    population = _sphere_tokens(beta=1.0)
    relation = Rate("beta", (64.0, 128.0, 256.0, 512.0, 1024.0), upper=True)
    control = Control("the exponent is smaller by 1/2", lambda exponent, problem: exponent - 0.5)
    controls, unexplained = _CONTROLS, _UNIFORM
    trials = 16

    def predict(self, problem: SphereTokens) -> Array:
        return jnp.asarray((problem.p - 1) / 2)

    def measure_at(self, problem: SphereTokens, key: Key[Array, ""], rung: float) -> Array:
        beta = rung * problem.beta
        spectrum = exponential_sphere_spectrum(beta, problem.p, 1500)
        return spectrum.effective_dimension(beta - 30 * math.log(10))
