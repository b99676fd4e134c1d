"""Denoisers, which are equivalent to the score of noised data, and their smoothness.

This theory is about the denoiser E[x(0) | x(t) = x] for data of known distribution. By Tweedie's formula, the score is
an affine function of the denoiser. The derivative of the denoiser is a multiple of a posterior covariance, so the
denoiser is Lipschitz uniformly in time for some data and not for others. The theory assumes normal noise. It does not
explain the denoiser of data with an unknown distribution. In this section, x(t) given x(0) is normal with mean alpha
x(0) and variance 1 - alpha² in each coordinate. Here alpha = exp(-G(t)/2), and G is the integral of the schedule g.
"""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Rate, Source
from lemmata.engine.problems.schedules import Schedule, score_from_denoiser
from lemmata.engine.problems.targets import GaussianMixture
from lemmata.subjects.diffusion._diffusion import Diffused, NoisedCubes, NoisedMixtures, NoisedSpheres

ABOUT = {"tool": "statistics", "architecture": "diffusion model", "object": "score", "problem": 3}

_LIPSCHITZ_TIMES = (1e-4, 1e-3, 1e-2)


def _each(problem: Diffused, function) -> Array:
    return jax.vmap(lambda t, x: function(problem.schedule, t, x))(problem.times, problem.points)


def _unshrunk(score: Array, problem: Diffused) -> Array:
    """Return the false score (F* - x)/(1 - alpha²), from the formula for noise that is added without shrinking data."""
    v, alpha = problem.schedule.variance(problem.times), problem.schedule.scale(problem.times)
    return score + ((1 - alpha) / v)[:, None] * _each(problem, problem.target.denoiser)


class AbstractTweedie(Claim[Diffused]):
    """Tweedie's formula expresses the score, which is the gradient of the log density, in terms of the denoiser, which
    is a posterior mean.
    """

    title = "The score is an affine function of the denoiser (Tweedie's formula)"
    source = Source("gu2024softmax", "(5)", "(6)", "Section 6.1, target F_*")
    # the coordinates of a score are parts of one vector, and a rotation can make any of them 0
    relation = Equal(block=1)
    control = Control("the score is (F* - x) / (1 - alpha²)", _unshrunk)
    controls = "the score of noised data"
    unexplained = "the score and the denoiser of data with an unknown distribution"

    def predict(self, problem: Diffused) -> Array:
        denoised = _each(problem, problem.target.denoiser)
        tweedie = jax.vmap(lambda t, x, f: score_from_denoiser(problem.schedule, t, x, f))
        return tweedie(problem.times, problem.points, denoised)

    def measure(self, problem: Diffused, key: Key[Array, ""]) -> Array:
        """Return the gradient of log p_t."""
        return _each(problem, problem.target.score)

    def condition(self, problem: Diffused) -> Array:
        """Return 8 (1 + |x|) / (alpha² (1 - alpha²)) at each point x, times the loss of digits in alpha F* - x.

        Here F* is the denoiser. The first factor allows for the exponents of the density and for the ends of truncated
        distributions.
        """
        v, alpha = problem.schedule.variance(problem.times), problem.schedule.scale(problem.times)
        denoised = alpha[:, None] * _each(problem, problem.target.denoiser)
        size = 1 + jnp.linalg.norm(problem.points, axis=1, keepdims=True)
        lost = size / jnp.linalg.norm(denoised - problem.points, axis=1, keepdims=True)
        return 8 * size / (alpha**2 * v)[:, None] * (1 + lost)


class MixtureTweedie(AbstractTweedie):
    """Let x(0) have a mixture of normals as its distribution. Let x(t) given x(0) be normal with mean alpha x(0) and
    variance 1 - alpha² in each coordinate. Here alpha = exp(-G(t)/2), and G is the integral of the noise schedule. Let
    p_t be the density of x(t). At every time t > 0 and every point x,

        grad log p_t(x) = (alpha E[x(0) | x(t) = x] - x) / (1 - alpha²),   alpha = exp(-G(t)/2).

    On your data, x(0) is one of the first 32 rows, scaled into the unit ball, plus normal noise of standard deviation
    0.2.
    """

    title = "For mixtures of normals, Tweedie's formula gives the score of noised data from the denoiser"
    population = NoisedMixtures()


class SphereTweedie(AbstractTweedie):
    """Let x(0) be uniform on the unit sphere in one to three dimensions. Let x(t) given x(0) be normal with mean alpha
    x(0) and variance 1 - alpha² in each coordinate. Here alpha = exp(-G(t)/2), and G is the integral of the noise
    schedule. Let p_t be the density of x(t). At every time t > 0 and every point x,

        grad log p_t(x) = (alpha E[x(0) | x(t) = x] - x) / (1 - alpha²),   alpha = exp(-G(t)/2).

    The posterior distribution of x(0) given x(t) = x is a von Mises-Fisher distribution. Its mean is a ratio of Bessel
    functions times x/|x|.
    """

    title = "For data on a sphere, Tweedie's formula gives the score of noised data from the denoiser"
    population = NoisedSpheres()


class CubeTweedie(AbstractTweedie):
    """Let x(0) be uniform on a cube. Let x(t) given x(0) be normal with mean alpha x(0) and variance 1 - alpha² in each
    coordinate. Here alpha = exp(-G(t)/2), and G is the integral of the noise schedule. Let p_t be the density of x(t).
    At every time t > 0 and every point x,

        grad log p_t(x) = (alpha E[x(0) | x(t) = x] - x) / (1 - alpha²),   alpha = exp(-G(t)/2).

    The posterior distribution of x(0) given x(t) is a truncated normal distribution.
    """

    title = "For data on a cube, Tweedie's formula gives the score of noised data from the denoiser"
    population = NoisedCubes()


def _without_alpha(jacobian: Array, problem: Diffused) -> Array:
    """Return the Jacobian with the factor 1/(1 - alpha²), as for noise that does not shrink data."""
    return jacobian / problem.schedule.scale(problem.times)[:, None, None]


def _posterior_covariance(target: GaussianMixture, schedule: Schedule, t: Array, x: Array) -> Float[Array, "d d"]:
    """Compute Cov(x(0) | x(t) = x) by Bayes' rule.

    Within a component, the precisions (inverse covariances) of data and noise are added. The covariance between
    components is the sum of P(c) P(k) (m_c - m_k)(m_c - m_k)'/2 over all pairs (c, k) of components. Here P(c) is the
    posterior probability of component c, and m_c is its posterior mean.
    """
    alpha, v = schedule.scale(t), schedule.variance(t)
    inside = 1 / (1 / target.std**2 + alpha**2 / v)
    means = inside * (target.means / target.std**2 + alpha * x / v)
    # without the terms that all components share, twice -log of N(mu, std² I) and of N(alpha x(0), v I) at the
    # posterior mean
    gaps = jnp.sum((means - target.means) ** 2, axis=1) / target.std**2 + jnp.sum((x - alpha * means) ** 2, axis=1) / v
    odds = target.weights * jnp.exp((gaps.min() - gaps) / 2)
    apart = means[:, None] - means
    pairs = odds[:, None] * odds / odds.sum() ** 2
    return inside * jnp.eye(len(x)) + jnp.einsum("ck,cki,ckj->ij", pairs, apart, apart) / 2


class DenoiserJacobian(Claim[Diffused]):
    """Let x(0) come from a mixture of normals with one common variance. Let x(t) given x(0) be normal with mean alpha
    x(0) and variance 1 - alpha² in each coordinate, where alpha = exp(-G(t)/2) and G is the integral of the schedule.
    Let F*(t, x) = E[x(0) | x(t) = x] be the denoiser. The derivative of F* with respect to x is

        dF*/dx = alpha / (1 - alpha²) Cov(x(0) | x(t) = x).

    This derivative is symmetric and positive semidefinite. So the Lipschitz constant of the denoiser in Assumption 6.4
    of the source is a bound on posterior covariances. On your data, x(0) is one of the first 32 rows, scaled into the
    unit ball, plus normal noise of standard deviation 0.2.
    """

    title = "The derivative of the denoiser is a multiple of the posterior covariance"
    source = Source("gu2024softmax", "Assumption 6.4", note="the value of its constant")
    population = NoisedMixtures()
    # entries off the diagonal are sums that cancel, because components lie on both sides of a place
    relation = Equal(block=2)
    control = Control("the factor is 1 / (1 - alpha²)", _without_alpha)
    controls = "the Lipschitz constant of the denoiser"
    unexplained = "posterior covariances of data with an unknown distribution"

    def predict(self, problem: Diffused) -> Array:
        assert isinstance(problem.target, GaussianMixture)
        factor = problem.schedule.scale(problem.times) / problem.schedule.variance(problem.times)
        covariance = functools.partial(_posterior_covariance, problem.target)
        return factor[:, None, None] * _each(problem, covariance)

    def measure(self, problem: Diffused, key: Key[Array, ""]) -> Array:
        """Differentiate the denoiser automatically."""
        return _each(problem, jax.jacfwd(problem.target.denoiser, argnums=2))

    def condition(self, problem: Diffused) -> Array:
        """Rounding errors come from exponents of the posterior, and from the division by 1 - alpha²."""
        return 1 / problem.schedule.variance(problem.times).min()


class SphereLipschitz(Claim[Diffused]):
    """Let x(0) be uniform on the unit sphere in d dimensions. Let x(t) be alpha x(0) plus normal noise of variance 1 -
    alpha², and let F*(t, x) = E[x(0) | x(t) = x] be the denoiser. The derivative of F* at x = 0 is alpha / (d (1 -
    alpha²)). This derivative grows, with a constant C, like

        C / t   as t -> 0.

    So even data in the unit ball can have a denoiser that is not Lipschitz uniformly in time. Assumption 6.4 of the
    source therefore excludes data on a sphere, for example images of constant contrast. The normalisation of the data
    in Assumption 6.1 does not change this.
    """

    title = "The denoiser of data on a sphere is not Lipschitz uniformly in time"
    source = Source("gu2024softmax", "Assumption 6.4", note="a target that violates the assumption")
    population = NoisedSpheres()
    # 1/t is multiplied by 1 + O(g t), at t = 0.01 at most 0.02 off, which tilts the slope over two decades by 0.002.
    relation = Rate("t", _LIPSCHITZ_TIMES, margin=0.01)
    control = Control("the derivative grows as t^(-1/2)", lambda exponent, problem: exponent / 2)
    controls = "the Lipschitz constant of the denoiser at small times"
    unexplained = "how a learner copes with the growth"
    trials = 64
    predict = -1.0

    def measure_at(self, problem: Diffused, key: Key[Array, ""], rung: float) -> Array:
        """Return a difference quotient of the denoiser across the origin, with a width of 0.01 (1 - alpha²)."""
        t = jnp.asarray(rung)
        step = problem.schedule.variance(t) / 100 * jnp.zeros(problem.points.shape[1]).at[0].set(1.0)
        at = lambda x: problem.target.denoiser(problem.schedule, t, x)
        return jnp.linalg.norm(at(step) - at(-step)) / (2 * jnp.linalg.norm(step))


class CubeLipschitz(Claim[Diffused]):
    """Let x(0) be uniform on the cube with half side h = 1/sqrt(d) in d dimensions, which lies in the unit ball. Let
    x(t) given x(0) be normal with mean alpha x(0) and variance 1 - alpha². Here alpha = exp(-G(t)/2), and G is the
    integral of the noise schedule. The denoiser E[x(0) | x(t) = x] has a diagonal Jacobian, whose largest entry is at
    most

        min(1/alpha, alpha h² / (1 - alpha²)) <= sqrt(1 + h²) <= sqrt(2),   alpha = exp(-G(t)/2),

    at every time. So the constant beta_x = sqrt(2) satisfies Assumption 6.4 of the source. The Jacobian is alpha / (1 -
    alpha²) times the posterior covariance. This covariance is at most (1 - alpha²)/alpha² by the inequality of Brascamp
    and Lieb, because the distribution of the data is log-concave. The covariance is also at most h², because the data
    lie in [-h, h].
    """

    title = "The denoiser of data on a cube is Lipschitz uniformly in time"
    source = Source("gu2024softmax", "Assumption 6.4", note="a target that satisfies the assumption")
    population = NoisedCubes(everywhere=True)
    relation = AtMost()
    control = Control("the bound times alpha is enough", lambda b, problem: b * problem.schedule.scale(problem.times))
    controls = "the Lipschitz constant of the denoiser"
    unexplained = "targets that are not log-concave"

    def predict(self, problem: Diffused) -> Array:
        alpha = problem.schedule.scale(problem.times)
        h = problem.points.shape[1] ** -0.5
        return jnp.minimum(1 / alpha, alpha * h**2 / problem.schedule.variance(problem.times))

    def measure(self, problem: Diffused, key: Key[Array, ""]) -> Array:
        """Return the denoiser's largest difference quotient over coordinates at each time. The steps are 1e-4 times the
        spread of the noised data.
        """
        alpha, v = problem.schedule.scale(problem.times), problem.schedule.variance(problem.times)
        step = 1e-4 * jnp.sqrt(v) / alpha
        at = jax.vmap(lambda t, x: problem.target.denoiser(problem.schedule, t, x))
        rise = at(problem.times, problem.points + step[:, None]) - at(problem.times, problem.points - step[:, None])
        return jnp.max(rise / (2 * step[:, None]), axis=1)

    def condition(self, problem: Diffused) -> Array:
        """Allow for cancellation in the difference quotient, and for places that are large in units of the spread."""
        v = problem.schedule.variance(problem.times)
        return 1e4 * (1 + jnp.max(jnp.abs(problem.points).max(axis=1) / jnp.sqrt(v)))

    def trivial(self, problem: Diffused) -> Array:
        """Return alpha/(1 - alpha²), the bound that only uses |x(0)| <= 1. The bound diverges as t -> 0."""
        return problem.schedule.scale(problem.times) / problem.schedule.variance(problem.times)
