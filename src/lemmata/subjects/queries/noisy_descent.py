"""Noisy gradient descent can be simulated by noisy queries, and needs many steps to find one of many possible targets.

This theory compares the distributions of two trajectories whose steps differ in their means and share Gaussian noise.
It bounds the total variation distance of the two trajectories. This bound also gives a number of steps that a
trajectory needs before it can depend on the target. It does not explain descent without noise, which can use digits
that noise would hide.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, EqualInMean, Integer, Kind, Real, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, signs, uniform
from lemmata.engine.problems.variables import dimension
from lemmata.functions import cube, walsh_hadamard

ABOUT = {"tool": "information theory", "architecture": "any", "object": "training"}


class ShiftedGaussians(eqx.Module):
    """N(0, s² I) and N(distance s u, s² I), where u is the unit vector along `way`."""

    way: Float[Array, " d"]
    distance: Float[Array, ""]
    s: Float[Array, ""]


class OverlapOfGaussians(Claim[ShiftedGaussians]):
    """The total variation distance of N(a, s² I) and N(b, s² I) is

        2 Phi(|a - b|/(2 s)) - 1,

    where Phi is the standard normal distribution function. Under every coupling of the two distributions, the two
    variables differ with at least this probability. Under the reflection coupling, they differ with exactly this
    probability: the two variables are either equal, or mirror images at the plane halfway between a and b.
    """

    title = "The total variation distance of two Gaussians with equal covariance depends only on the shift"
    source = Source("emergence2026", "Figure 11.6", note="here with the overlap in closed form")
    population = Drawn(
        ShiftedGaussians,
        positive("s", "the distributions need a density"),
        d=dimension(5),
        way=normal("d"),
        distance=uniform(0.5, 3.0),
        s=log_uniform(0.1, 10.0),
    )
    relation = EqualInMean(resolution=0.02)
    control = Control(
        "the total variation distance is 2 Phi(|a - b|/s) - 1",
        lambda value, problem: jnp.broadcast_to(2 * norm.cdf(problem.distance) - 1, value.shape),
    )
    controls = "how often two noisy steps can be made to agree"
    unexplained = "noise that is not Gaussian"
    trials = 128

    def predict(self, problem: ShiftedGaussians) -> Array:
        return jnp.full(2, 2 * norm.cdf(problem.distance / 2) - 1)

    def measure(self, problem: ShiftedGaussians, key: Key[Array, ""]) -> Array:
        """The share of the coupling's 2048 pairs that differ, and the mean of (1 - ratio of the densities)_+."""
        normal_key, uniform_key = jax.random.split(key)
        way = problem.way / jnp.linalg.norm(problem.way)
        shift = problem.distance * problem.s * way
        x = problem.s * jax.random.normal(normal_key, (2048, len(way)))
        squares = jnp.sum(x**2, axis=1) - jnp.sum((x - shift) ** 2, axis=1)
        ratio = jnp.exp(squares / (2 * problem.s**2))
        kept = jax.random.uniform(uniform_key, (2048,)) <= ratio
        reflected = x - 2 * (x @ way)[:, None] * way + shift
        y = jnp.where(kept[:, None], x, reflected)
        return jnp.stack([jnp.mean(jnp.any(y != x, axis=1)), jnp.mean(jnp.maximum(1 - ratio, 0))])


class ErroneousSteps(eqx.Module):
    """Errors of the means of T steps in p coordinates, as multiples of tau, and tau as a multiple of the noise.

    In half of the problems, all errors have the size tau.
    """

    errors: Float[Array, "steps p"]
    sides: Float[Array, "steps p"]
    half: Float[Array, ""]
    total: Float[Array, ""]

    @property
    def tau(self) -> Float[Array, ""]:
        """The largest error of a coordinate in units of the noise: `total` / sqrt(p T), with p coordinates, T steps."""
        return self.total / jnp.sqrt(self.errors.size)


class TrajectoriesOverlap(Claim[ErroneousSteps]):
    """Two noisy descents with p parameters add N(0, s² I) to the parameters at each of T steps. The means of their
    steps differ by at most tau in each coordinate. The total variation distance of the two trajectories is at most

        T (2 Phi(tau sqrt(p)/(2 s)) - 1)   and   tau sqrt(p T)/(2 s),

    where Phi is the standard normal distribution function. The first bound is the sum of the total variation distances
    of the T steps. The second bound follows from the sum of the Kullback-Leibler divergences of the steps. It is
    smaller than the first bound for many steps. If the differences of the mean steps do not depend on the parameters,
    the distance of the trajectories is the distance of two Gaussians in p T dimensions. The trials use such
    differences.
    """

    title = "The total variation distance of two noisy descents with similar mean steps grows at most like sqrt(steps)"
    source = Source("emergence2026", "Figure 11.7", "Figure 11.5", note="with explicit constants, and sharper in T")
    population = Drawn(
        ErroneousSteps,
        positive("total", "trajectories whose steps have equal means are equal"),
        steps=Integer(2, 1, 64, "steps", corners=(1, 4)),
        p=dimension(6),
        errors=uniform(-1.0, 1.0, "steps", "p"),
        sides=signs("steps", "p"),
        half=signs(),
        total=log_uniform(0.05, 1.0),
    )
    relation = AtMost()
    control = Control("two thirds of each bound are enough", lambda bound, problem: bound / 1.5)
    controls = "how well queries with errors simulate noisy descent"
    unexplained = "errors that cancel over the steps, for which the trajectories are closer together"
    trivial = (1.0, 1.0)

    def predict(self, problem: ErroneousSteps) -> Array:
        steps, p = problem.errors.shape
        once = 2 * norm.cdf(problem.tau * jnp.sqrt(p) / 2) - 1
        return jnp.stack([steps * once, problem.tau * jnp.sqrt(p * steps) / 2])

    def measure(self, problem: ErroneousSteps, key: Key[Array, ""]) -> Array:
        """Return the total variation distance: half the integral of the absolute difference along the shift."""
        shifts = problem.tau * jnp.where(problem.half > 0, problem.sides, problem.errors)
        length = jnp.sqrt(jnp.sum(shifts**2))
        grid = jnp.linspace(-10.0, 12.0, 20001)
        apart = jnp.abs(norm.pdf(grid) - norm.pdf(grid - length))
        return jnp.full(2, jnp.trapezoid(apart, grid) / 2)

    def condition(self, problem: ErroneousSteps) -> Array:
        """Bound the rounding errors. At the kink of the difference, the trapezoidal rule has an error of about the
        square of its spacing.
        """
        return jnp.asarray(1e-6 / 32 / jnp.finfo(float).eps)


class FrozenFeatures(eqx.Module):
    """Features tanh(scale <weights_j, x> + bias_j) on the cube; descent with noise s trains a combination of them."""

    weights: Float[Array, "p d"]
    bias: Float[Array, " p"]
    scale: Float[Array, ""]
    s: Float[Array, ""]
    steps: float = eqx.field(static=True)
    d: int = eqx.field(static=True)

    def values(self) -> Float[Array, "points p"]:
        """The features at all points of the cube."""
        return jnp.tanh(self.scale * cube(self.d) @ self.weights.T + self.bias)


class StepsToFindATarget(Claim[FrozenFeatures]):
    """Noisy descent on the population loss E (f(x; theta) - y)²/2 adds N(0, s² I) to every gradient. The target y is
    drawn from a family. Sum the variance of the gradient over the family over the coordinates, and let V be the largest
    value of this sum over the parameters theta. Let Q be the trajectory for the mean target of the family. After T
    steps, the total variation distance between the trajectory for the drawn target and Q is on average at most

        sqrt(T V)/(2 s).

    So in fewer than 4 s² delta²/V steps, a test of the trajectory cannot find the target with an advantage of delta
    over guessing. If the family is all 2^d parities of d signs, V is E |grad f|² / 2^d minus the squared length of the
    mean of E[y grad f] over the family. So to find a parity, either T or 1/s has to be exponential in d. The trials use
    this family and networks f that are linear in theta.
    """

    title = "To find a target, noisy descent needs steps in proportion to noise variance / gradient variance"
    source = Source(
        "emergence2026", "Corollary 11.6", note="for the average target of any family, with explicit constants"
    )
    stated = Kind.OWN
    population = Drawn(
        FrozenFeatures,
        positive("s", "without noise, every digit of the gradient can be used"),
        d=Integer(6, 3, 9, "dimension of the cube", corners=(5, 7)),
        p=Integer(5, 1, 64, "features"),
        weights=normal("p", "d"),
        bias=normal("p"),
        scale=log_uniform(0.3, 30.0),
        s=log_uniform(0.7, 10.0),
        steps=Real(30.0, 1.0, 1000.0, "steps"),
    )
    relation = AtMost()
    control = Control("half of the bound is enough", lambda bound, problem: bound / 2)
    controls = "how much a trajectory depends on the target, on average over a family"
    unexplained = "single targets of the family, which may be easy to find, and methods that use single samples"
    trivial = 1.0

    def predict(self, problem: FrozenFeatures) -> Array:
        """Use the variance over the family. Parities are orthonormal, and the mean target is the point mass at 1."""
        values = problem.values()
        variance = jnp.mean(values**2, axis=0) / len(values) - (values[0] / len(values)) ** 2
        return jnp.sqrt(problem.steps * jnp.sum(variance)) / (2 * problem.s)

    def measure(self, problem: FrozenFeatures, key: Key[Array, ""]) -> Array:
        """Each target shifts all steps by the same vector. So its trajectory and the trajectory Q for the mean target
        are two Gaussians.
        """
        correlations = walsh_hadamard(problem.values().T)
        shifts = jnp.linalg.norm(correlations - correlations.mean(axis=1, keepdims=True), axis=0)
        return jnp.mean(2 * norm.cdf(jnp.sqrt(problem.steps) * shifts / (2 * problem.s)) - 1)
