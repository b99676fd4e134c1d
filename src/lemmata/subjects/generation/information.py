"""Information from denoising. The errors of a denoiser at all noise levels add up to a code length.

This theory turns the error of a denoiser, as a function of the signal-to-noise ratio, into bits. It assumes Gaussian
noise. It does not explain which errors a network makes.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Population, Source, Space
from lemmata.engine.problems.variables import dimension

ABOUT = {"tool": "information theory", "architecture": "diffusion model", "object": "score"}

_LEVELS, _DRAWS = 160, 64


class WeightedPoints(eqx.Module):
    """Points x_i with probabilities p_i, and other probabilities q_i that a denoiser assumes.

    Args:
        points: the points x_i, one in each row.
        weights: the probabilities p_i.
        believed: the probabilities q_i that the denoiser assumes.
    """

    points: Float[Array, "n d"]
    weights: Float[Array, " n"]
    believed: Float[Array, " n"]

    @property
    def squares(self) -> Float[Array, "n n"]:
        """The squared distances between the points."""
        return jnp.sum((self.points[:, None, :] - self.points) ** 2, axis=2)


class SeparatedPoints(Population[WeightedPoints]):
    """Points whose distances are at least 1, with probabilities proportional to numbers from 1 to 10."""

    settings = Space(n=Integer(5, 2, 8, "points"), d=dimension(2, 1, 4))

    def sample(self, setting: dict, key: Key[Array, ""]) -> WeightedPoints:
        """Draw points in a box, and move them apart along the first coordinate."""
        point_key, weight_key = jax.random.split(key)
        points = jax.random.uniform(point_key, (setting["n"], setting["d"]))
        points = points.at[:, 0].add(2.0 * jnp.arange(setting["n"]))
        weights = 10 ** jax.random.uniform(weight_key, (2, setting["n"]))
        return WeightedPoints(points, *(weights / weights.sum(axis=1, keepdims=True)))

    def hypotheses(self, problem: WeightedPoints) -> list[Hypothesis]:
        nearest = jnp.min(jnp.where(jnp.eye(len(problem.points), dtype=bool), jnp.inf, problem.squares))
        return [
            Hypothesis(
                "points differ (smallest squared distance)", nearest, ">", 0.0, "equal points would count as one point"
            )
        ]


class CodeLengthFromDenoising(Claim[WeightedPoints]):
    """Let x have the values x_i with the probabilities p_i, and let z be standard normal. Let mse(snr) be the mean
    squared error of a denoiser that estimates x from sqrt(snr) x + z. For the best denoiser,

        (1/2) integral_0^inf mse(snr) d snr = - sum_i p_i log p_i,

    which is log n for n equally likely points. Now take the denoiser that would be best if the probabilities were q_i.
    For this denoiser, the left side is larger by the divergence sum_i p_i log(p_i/q_i). So half the area under the
    error curve of this denoiser is the mean length, in nats, of a code for x that is built for the q_i. The test
    measures the entropy and this divergence.
    """

    title = "The entropy of the data is half the area under the curve of the best denoiser's error"
    source = Source(
        "guo2005",
        "Theorem 1",
        note="integrated, for a discrete distribution; the excess for wrong probabilities is by Verdu (2010)",
    )
    population = SeparatedPoints()
    relation = EqualInMean(margin=0.0, resolution=0.03)
    control = Control("the factor 1/2 can be left out", lambda lengths, problem: 2 * lengths)
    controls = "how many bits a denoiser needs for the data"
    unexplained = "data with a density, for which the area is infinite"
    trials = 64

    def predict(self, problem: WeightedPoints) -> Array:
        p, q = problem.weights, problem.believed
        return jnp.stack([-jnp.sum(p * jnp.log(p)), jnp.sum(p * jnp.log(p / q))])

    def measure(self, problem: WeightedPoints, key: Key[Array, ""]) -> Array:
        """Integrate by the trapezoidal rule in log snr. All levels use the same draws of z, and x is averaged exactly
        for each draw.
        """
        squares = problem.squares
        noise = jax.random.normal(key, (_DRAWS, problem.points.shape[1]))
        noise = jnp.concatenate([noise, -noise])
        nearest = jnp.min(squares + 1e9 * jnp.eye(len(squares)))
        along = jnp.linspace(jnp.log(1e-4 / squares.max()), jnp.log(150.0 / nearest), _LEVELS)

        def errors(snr: Array) -> Array:
            """Return the errors of both denoisers."""

            def one(i: Array, z: Array) -> Array:
                gaps = jnp.sum((jnp.sqrt(snr) * (problem.points[i] - problem.points) + z) ** 2, axis=1)
                beliefs = jnp.log(jnp.stack([problem.weights, problem.believed])) - gaps / 2
                shares = jax.nn.softmax(beliefs, axis=1)
                guesses = shares @ problem.points
                return jnp.sum((guesses[:, None, :] - problem.points) ** 2, axis=2) @ shares[0]

            each = jax.vmap(lambda i: jax.vmap(lambda z: one(i, z))(noise).mean(axis=0))
            return problem.weights @ each(jnp.arange(len(problem.points)))

        levels = jnp.exp(along)
        found = jax.lax.map(errors, levels)
        areas = jnp.trapezoid(levels[:, None] * found, along, axis=0) + levels[0] * found[0]
        return jnp.stack([areas[0], areas[1] - areas[0]]) / 2
