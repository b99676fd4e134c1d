"""Denoisers: the score of noised data by another name, and how smooth it is.

This theory controls E[x(0) | x(t) = x] for data of known law: it is the score up to an affine map (Tweedie's formula),
and its derivative is a posterior covariance: it is Lipschitz uniformly in time for some data and not for others. It
assumes normal noise; it leaves unexplained the denoiser of data of unknown law.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Rate, Source, Space

from .forward_process import (
    DIMENSION,
    STD,
    Cube,
    Diffused,
    GaussianMixture,
    Sphere,
    look,
    pose_rows,
    sampled_mixture,
    sampled_schedule,
)
from .score_matching import score_from_denoiser

_LIPSCHITZ_TIMES = (1e-4, 1e-3, 1e-2)


def _each(problem: Diffused, function) -> Array:
    return jax.vmap(lambda t, x: function(problem.schedule, t, x))(problem.times, problem.points)


class AbstractTweedie(Claim[Diffused]):
    """The score and the denoiser of noised data are the same thing.

    The score is a derivative of the density, the denoiser an expectation under the posterior.
    """

    title = "The score is the denoiser"
    source = Source("gu2024softmax", "(5)", "(6)", "Section 6.1, target F_*")
    relation = Equal()
    label = "identity"
    controls = "the score of noised data"
    unexplained = "either of the two for data of unknown law"
    problem = Diffused
    trials = 128
    batch = 128

    def hypotheses(self, problem: Diffused) -> list[Hypothesis]:
        """Some noise."""
        return [Hypothesis("times are positive", problem.times.min(), ">", 0.0, "p_0 may have no density")]

    def predict(self, problem: Diffused) -> Array:
        """(alpha F* - x) / (1 - alpha²)."""
        denoised = _each(problem, problem.target.denoiser)
        return jax.vmap(lambda t, x, f: score_from_denoiser(problem.schedule, t, x, f))(
            problem.times, problem.points, denoised
        )

    def measure(self, problem: Diffused, key: Key[Array, ""]) -> Array:
        """The gradient of log p_t."""
        return _each(problem, problem.target.score)

    def condition(self, problem: Diffused) -> Array:
        """Exponents of the density, and the difference alpha F - x against the score."""
        v = problem.schedule.variance(problem.times).min()
        return 1 / v

    def control(self) -> Control:
        """The formula for noise that is added to data that are not shrunk."""

        def unshrunk(score, problem):
            v, alpha = problem.schedule.variance(problem.times), problem.schedule.scale(problem.times)
            return score + ((1 - alpha) / v)[:, None] * _each(problem, problem.target.denoiser)

        return Control("the score is (F* - x) / (1 - alpha²)", unshrunk)


class MixtureTweedie(AbstractTweedie):
    """For a mixture of normals, at every time t > 0 and place x,

        grad log p_t(x) = (alpha E[x(0) | x(t) = x] - x) / (1 - alpha²).

    A user's data are taken as they are: the first 32 rows, scaled into the unit ball and blurred by 0.2.
    """

    def settings(self) -> Space:
        """Dimension, spread."""
        return Space(d=DIMENSION, std=STD)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        """A mixture of four components."""
        target_key, schedule_key, look_key = jax.random.split(key, 3)
        return look(look_key, sampled_mixture(target_key, setting["d"], setting["std"]), sampled_schedule(schedule_key))

    def pose(self, problem: object) -> Diffused | None:
        """A user's rows as the law of the data."""
        return pose_rows(problem)


class SphereTweedie(AbstractTweedie):
    """For data on the unit sphere of two or three dimensions, where the posterior mean is a ratio of Bessel functions
    (von Mises-Fisher), at every time t > 0 and place x,

        grad log p_t(x) = (alpha E[x(0) | x(t) = x] - x) / (1 - alpha²).
    """

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=Integer(2, 1, 3, "dimension of the data"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        """A sphere under a random schedule."""
        schedule_key, look_key = jax.random.split(key)
        return look(look_key, Sphere(setting["d"]), sampled_schedule(schedule_key))


class CubeTweedie(AbstractTweedie):
    """For data uniform on a cube

        grad log p_t(x) = (alpha E[x(0) | x(t) = x] - x) / (1 - alpha²)

    at every time t > 0 and place x. The posterior is a truncated normal law.
    """

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=DIMENSION)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        """A cube under a random schedule."""
        schedule_key, look_key = jax.random.split(key)
        return look(look_key, Cube(setting["d"]), sampled_schedule(schedule_key))

    def condition(self, problem: Diffused) -> Array:
        """Beyond the others: a mean of a truncated law is a difference of the place and of a Mills ratio."""
        return 8 * (1 + jnp.abs(problem.points).max()) / problem.schedule.variance(problem.times).min()


class DenoiserJacobian(Claim[Diffused]):
    """The derivative of the denoiser in x is alpha / (1 - alpha²) Cov(x(0) | x(t) = x): it is symmetric and positive
    semidefinite, and the Lipschitz constant of Assumption 6.4 of the source is a bound on posterior covariances.

    A user's data are taken as they are: the first 32 rows, scaled into the unit ball and blurred by 0.2.
    """

    title = "The derivative of the denoiser is the posterior covariance"
    source = Source("gu2024softmax", "Assumption 6.4", note="what its constant is")
    relation = Equal()
    label = "identity"
    controls = "the Lipschitz constant of the denoiser"
    unexplained = "posterior covariances of data of unknown law"
    problem = Diffused
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Dimension, spread."""
        return Space(d=DIMENSION, std=STD)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        """A mixture of four components."""
        target_key, schedule_key, look_key = jax.random.split(key, 3)
        return look(look_key, sampled_mixture(target_key, setting["d"], setting["std"]), sampled_schedule(schedule_key))

    def pose(self, problem: object) -> Diffused | None:
        """A user's rows as the law of the data, or a mixture of normals."""
        posed = pose_rows(problem)
        return posed if posed is not None and isinstance(posed.target, GaussianMixture) else None

    def hypotheses(self, problem: Diffused) -> list[Hypothesis]:
        """Some noise."""
        return [Hypothesis("times are positive", problem.times.min(), ">", 0.0, "the derivative exists")]

    def predict(self, problem: Diffused) -> Array:
        """alpha / (1 - alpha²) times the covariance."""
        assert isinstance(problem.target, GaussianMixture)
        factor = problem.schedule.scale(problem.times) / problem.schedule.variance(problem.times)
        return factor[:, None, None] * _each(problem, problem.target.covariance)

    def measure(self, problem: Diffused, key: Key[Array, ""]) -> Array:
        """Automatic differentiation of the denoiser."""
        return _each(problem, jax.jacfwd(problem.target.denoiser, argnums=2))

    def condition(self, problem: Diffused) -> Array:
        """Exponents of the posterior, and the division by 1 - alpha²."""
        v = problem.schedule.variance(problem.times).min()
        return 1 / v

    def control(self) -> Control:
        """The second derivative of log p_t, which has one term more."""

        def hessian(jacobian, problem):
            return jacobian - jnp.eye(jacobian.shape[-1]) / problem.schedule.scale(problem.times)[:, None, None]

        return Control("the derivative of the denoiser is that of the score, rescaled", hessian)


class SphereLipschitz(Claim[Diffused]):
    """Data in the unit ball do not make the denoiser Lipschitz uniformly in time. On the unit sphere of d dimensions
    its derivative at x = 0 is alpha / (d (1 - alpha²)), which grows as

        C / t   as t -> 0

    so that Assumption 6.4 of the source excludes data on a sphere, images of constant contrast say, however it
    is normalised (Assumption 6.1).
    """

    title = "A denoiser that is not Lipschitz uniformly in time"
    source = Source("gu2024softmax", "Assumption 6.4", note="a target that violates it")
    # 1/t is multiplied by 1 + O(g t), at t = 0.01 at most 0.02 off, which tilts the slope over two decades by 0.002.
    relation = Rate("t", _LIPSCHITZ_TIMES, margin=0.01)
    label = "rate"
    controls = "the Lipschitz constant of the denoiser at small times"
    unexplained = "what a learner does about it"
    problem = Diffused
    trials = 64
    batch = 64

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=Integer(2, 1, 3, "dimension of the data"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        """The sphere at the rungs' times, at the origin."""
        times = jnp.asarray(_LIPSCHITZ_TIMES)
        return Diffused(Sphere(setting["d"]), sampled_schedule(key), times, jnp.zeros((len(times), setting["d"])))

    def hypotheses(self, problem: Diffused) -> list[Hypothesis]:
        """Data that are bounded."""
        return [Hypothesis("times are positive", problem.times.min(), ">", 0.0, "the denoiser exists")]

    def predict(self, problem: Diffused) -> Array:
        """The exponent."""
        return -jnp.ones(())

    def measure(self, problem: Diffused, key: Key[Array, ""]) -> Array:
        """Difference quotients of the denoiser across the origin, a hundredth of 1 - alpha² wide."""

        def quotient(t):
            step = problem.schedule.variance(t) / 100 * jnp.zeros(problem.points.shape[1]).at[0].set(1.0)
            at = lambda x: problem.target.denoiser(problem.schedule, t, x)
            return jnp.linalg.norm(at(step) - at(-step)) / (2 * jnp.linalg.norm(step))

        return jax.vmap(quotient)(problem.times)

    def control(self) -> Control:
        """The rate at which a kink is resolved."""
        return Control("it grows as t^(-1/2)", lambda exponent, problem: exponent / 2)


class CubeLipschitz(Claim[Diffused]):
    """For data uniform on a cube in the unit ball, of half side h = 1/sqrt(d), the denoiser E[x(0) | x(t) = x] is
    Lipschitz in x uniformly in time: the largest entry of its Jacobian, which is diagonal, is at most

        min(1/alpha, alpha h² / (1 - alpha²)) <= sqrt(1 + h²) <= sqrt(2)

    so that beta_x = sqrt(2) serves in Assumption 6.4 of the source. The Jacobian is alpha / (1 - alpha²) times the
    posterior covariance, which is at most (1 - alpha²)/alpha² (Brascamp-Lieb: the law of the data is log-concave) and
    at most h² (it lives on [-h, h]).
    """

    title = "A denoiser that is Lipschitz at all times"
    source = Source("gu2024softmax", "Assumption 6.4", note="a target that satisfies it")
    relation = AtMost()
    label = "tight"
    controls = "the Lipschitz constant of the denoiser"
    unexplained = "targets that are not log-concave"
    problem = Diffused
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=DIMENSION)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        """Times log-uniform on [1e-4, 1]; places uniform in a box twice as large as the cube."""
        schedule_key, time_key, place_key = jax.random.split(key, 3)
        cube = Cube(setting["d"])
        times = 10 ** jax.random.uniform(time_key, (64,), minval=-4.0, maxval=0.0)
        places = 2 * cube.half * jax.random.uniform(place_key, (64, setting["d"]), minval=-1.0)
        return Diffused(cube, sampled_schedule(schedule_key), times, places)

    def hypotheses(self, problem: Diffused) -> list[Hypothesis]:
        """Data that are uniform on the cube."""
        return [Hypothesis("times are positive", problem.times.min(), ">", 0.0, "at t = 0 the denoiser is a clip")]

    def predict(self, problem: Diffused) -> Array:
        """The bound at each time."""
        alpha = problem.schedule.scale(problem.times)
        h = problem.points.shape[1] ** -0.5
        return jnp.minimum(1 / alpha, alpha * h**2 / problem.schedule.variance(problem.times))

    def measure(self, problem: Diffused, key: Key[Array, ""]) -> Array:
        """Symmetric difference quotients of step 1e-4 of the spread, the largest over coordinates, at each time."""
        alpha, v = problem.schedule.scale(problem.times), problem.schedule.variance(problem.times)
        step = 1e-4 * jnp.sqrt(v) / alpha
        at = jax.vmap(lambda t, x: problem.target.denoiser(problem.schedule, t, x))
        rise = at(problem.times, problem.points + step[:, None]) - at(problem.times, problem.points - step[:, None])
        return jnp.max(rise / (2 * step[:, None]), axis=1)

    def condition(self, problem: Diffused) -> Array:
        """Cancellation in the difference quotient: the place over the step, and over the spread once more."""
        v = problem.schedule.variance(problem.times)
        return 1e4 * (1 + jnp.max(jnp.abs(problem.points).max(axis=1) / jnp.sqrt(v)))

    def trivial(self, problem: Diffused) -> Array:
        """The bound from |x(0)| <= 1 alone, alpha/(1 - alpha²), which grows without end as t -> 0."""
        return problem.schedule.scale(problem.times) / problem.schedule.variance(problem.times)

    def control(self) -> Control:
        """A contraction."""

        def smaller(bound, problem):
            return bound * problem.schedule.scale(problem.times)

        return Control("at most alpha times as much", smaller)
