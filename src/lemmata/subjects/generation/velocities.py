"""Velocities: the function that flow matching learns by regression, and its relation to the score.

This theory is about X_t = a X_0 + b X_1 for a normal base X_0 and any target X_1. The velocity is the conditional mean
of the derivative of X_t. The theory assumes exact means. It does not explain how well a network learns these means.
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
    Integer,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.variables import dimension
from lemmata.subjects.generation._mixed_targets import MixedTarget, sampled_mixed_target, spread_out

ABOUT = {"tool": "statistics", "architecture": "diffusion model", "object": "score"}

_COMPONENTS = Integer(3, 1, 8, "components of the mixture", corners=(2, 4))


class TwoFields(eqx.Module):
    """A target, and two models of its velocity. Each model has the form x A + b + t c."""

    target: MixedTarget
    matrices: Float[Array, "2 d d"]
    shifts: Float[Array, "2 d"]
    drifts: Float[Array, "2 d"]


class PairsOfFields(Population[TwoFields]):
    """Random mixtures, and two random models. The parameters of the first model are smaller on average than the
    parameters of the second.
    """

    settings = Space(d=dimension(2, 1, 2), components=_COMPONENTS)

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoFields:
        target_key, matrix_key, shift_key = jax.random.split(key, 3)
        d, sizes = setting["d"], jnp.asarray([0.25, 1.0])
        shifts = jax.random.normal(shift_key, (2, 2, d))
        return TwoFields(
            sampled_mixed_target(target_key, setting["components"], d),
            sizes[:, None, None] * jax.random.normal(matrix_key, (2, d, d)),
            sizes[:, None] * shifts[0],
            sizes[:, None] * shifts[1],
        )

    def hypotheses(self, problem: TwoFields) -> list[Hypothesis]:
        return [spread_out(problem.target)]


_DRAWS = 4096
_TIMES, _SHARES = np.polynomial.legendre.leggauss(24)
_PLACES, _MASSES = np.polynomial.hermite_e.hermegauss(24)


def mean_floor(target: MixedTarget) -> Float[Array, ""]:
    """Return E tr Cov(X_1 - X_0 | X_t) over t uniform on [0, 1], by quadrature in time and around each component."""
    d = target.means.shape[1]
    nodes = jnp.stack(jnp.meshgrid(*(_PLACES,) * d, indexing="ij"), axis=-1).reshape(-1, d)
    masses = jnp.prod(jnp.stack(jnp.meshgrid(*(_MASSES,) * d, indexing="ij")), axis=0).reshape(-1)

    def at(t: Array) -> Array:
        spreads = jnp.sqrt(target.variances(1 - t, t))
        places = t * target.means[:, None, :] + spreads[:, None, None] * nodes
        left = jax.vmap(jax.vmap(lambda x: target.floor(t, x)))(places)
        return target.weights @ left @ masses / masses.sum()

    return _SHARES @ jax.lax.map(at, (1 + _TIMES) / 2) / 2


class ConditionalLossFloor(Claim[TwoFields]):
    """Let X_0 and X_1 be independent, t uniform on [0, 1], X_t = (1 - t) X_0 + t X_1, and v_t(x) = E[X_1 - X_0 | X_t =
    x]. The loss of conditional flow matching exceeds the loss of flow matching by the same number for every model u:

        E |u_t(X_t) - (X_1 - X_0)|² - E |u_t(X_t) - v_t(X_t)|² = E tr Cov(X_1 - X_0 | X_t).

    So both losses have the same gradient, and the right side is the smallest possible loss of conditional flow
    matching. The right side is 0 only if X_t determines X_1 - X_0. In the test, X_0 is N(0, I), X_1 is a mixture of
    normals, and u is one of two models.
    """

    title = "The loss of conditional flow matching is the loss of flow matching plus a constant"
    source = Source(
        "lipman2023",
        "Theorem 2",
        note="with the constant, which the theorem does not give",
    )
    population = PairsOfFields()
    relation = EqualInMean(margin=0.0, resolution=0.02)
    control = Control(
        "the number is d, the trace of the covariance of X_0",
        lambda floor, problem: jnp.full(2, problem.shifts.shape[1]),
    )
    controls = "what the training objective of flow matching measures"
    unexplained = "the minimiser over a training set"
    trials = 64

    def predict(self, problem: TwoFields) -> Array:
        return jnp.full(2, mean_floor(problem.target))

    def measure(self, problem: TwoFields, key: Key[Array, ""]) -> Array:
        """Return the difference of the two losses for both models, on draws at stratified times."""
        time_key, base_key, data_key = jax.random.split(key, 3)
        t = (jnp.arange(_DRAWS) + jax.random.uniform(time_key, (_DRAWS,))) / _DRAWS
        base = jax.random.normal(base_key, (_DRAWS, problem.shifts.shape[1]))
        data = problem.target.draw(data_key, _DRAWS)
        places = (1 - t[:, None]) * base + t[:, None] * data
        exact = jax.vmap(problem.target.velocity)(t, places)
        models = jnp.einsum("aij,nj->ani", problem.matrices, places)
        models = models + problem.shifts[:, None, :] + t[:, None] * problem.drifts[:, None, :]
        loss = lambda aim: jnp.mean(jnp.sum((models - aim) ** 2, axis=2), axis=1)
        return loss(data - base) - loss(exact)


class InterpolatedPlaces(eqx.Module):
    """A target, coefficients a > 0 and b > 0 of X_t = a X_0 + b X_1 with their derivatives, and points x_i."""

    target: MixedTarget
    a: Float[Array, ""]
    b: Float[Array, ""]
    a_slope: Float[Array, ""]
    b_slope: Float[Array, ""]
    points: Float[Array, "n d"]


class Interpolants(Population[InterpolatedPlaces]):
    """Random mixtures and coefficients, at 8 draws of X_t."""

    settings = Space(d=dimension(2, 1, 16), components=_COMPONENTS)

    def sample(self, setting: dict, key: Key[Array, ""]) -> InterpolatedPlaces:
        target_key, size_key, slope_key, base_key, data_key = jax.random.split(key, 5)
        target = sampled_mixed_target(target_key, setting["components"], setting["d"])
        a, b = jax.random.uniform(size_key, (2,), minval=0.2, maxval=1.5)
        slopes = jax.random.uniform(slope_key, (2,), minval=0.5, maxval=2.0)
        points = a * jax.random.normal(base_key, (8, setting["d"])) + b * target.draw(data_key, 8)
        return InterpolatedPlaces(target, a, b, -slopes[0], slopes[1], points)

    def hypotheses(self, problem: InterpolatedPlaces) -> list[Hypothesis]:
        least = jnp.minimum(problem.a, problem.b)
        return [
            Hypothesis("the smaller of a and b", least, ">", 0.0, "otherwise X_t does not depend on X_0 or on X_1"),
            spread_out(problem.target),
        ]


def _from_score(problem: InterpolatedPlaces, a_slope: Array, b_slope: Array) -> Array:
    a, b = problem.a, problem.b
    scores = jax.vmap(jax.grad(lambda x: problem.target.log_density(a, b, x)))(problem.points)
    return b_slope / b * problem.points + a * (a * b_slope / b - a_slope) * scores


class VelocityFromScore(Claim[InterpolatedPlaces]):
    """Let X_0 ~ N(0, I) and X_1 be independent, and X_t = a X_0 + b X_1, where a and b > 0 depend on t and have the
    derivatives a' and b'. Let p_t be the density of X_t. The velocity v_t(x) = E[a' X_0 + b' X_1 | X_t = x] is affine
    in the score grad log p_t:

        v_t(x) = (b'/b) x + a (a b'/b - a') grad log p_t(x).

    For a = 1 - t and b = t this gives grad log p_t(x) = (t v_t(x) - x)/(1 - t). So one network is enough for the flow
    and for samplers with noise.
    """

    title = "The velocity of a Gaussian interpolation is an affine function of the score"
    source = Source("emergence2026", "Figure 16.16", note="with the coefficients")
    population = Interpolants()
    relation = Equal(block=-1)
    control = Control(
        "a' and b' are exchanged, with their signs",
        lambda velocity, problem: _from_score(problem, -problem.b_slope, -problem.a_slope),
    )
    controls = "the velocity of flows and the drift of samplers with noise"
    unexplained = "bases that are not normal"

    def predict(self, problem: InterpolatedPlaces) -> Array:
        """Compute the velocity by differentiating the log density."""
        return _from_score(problem, problem.a_slope, problem.b_slope)

    def measure(self, problem: InterpolatedPlaces, key: Key[Array, ""]) -> Array:
        """Compute the velocity from the posterior of X_0 and X_1."""

        def at(x: Array) -> Array:
            shares, zero, one = problem.target.posterior(problem.a, problem.b, x)
            return shares @ (problem.a_slope * zero + problem.b_slope * one)

        return jax.vmap(at)(problem.points)

    def condition(self, problem: InterpolatedPlaces) -> Array:
        """Allow for the rounding of the exponents and of the posterior shares of the components. For a component of
        mean m, whose part of X_t has the variance v, exponents are up to |x - b m|²/(2 v).
        """
        v = problem.target.variances(problem.a, problem.b)
        gaps = jnp.sum((problem.points[:, None, :] - problem.b * problem.target.means) ** 2, axis=2)
        largest = jnp.max(gaps / v)
        return (1 + largest) * (1 + 1 / problem.b)
