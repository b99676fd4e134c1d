"""Classifiers of the plane with known probabilities under normal noise: half-planes, discs and checkerboards."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space
from lemmata.engine.problems.gauss_legendre import pieces

_WAVES = 12


class PlanarRule(eqx.Module):
    """A classifier that answers 1 on a part of the plane, an input, and normal noise on the input.

    Args:
        kind: 0 for the half-plane <normal, u> <= size, 1 for the disc |u| <= size, and 2 for a checkerboard: the
            squares of side `size` whose two indices are both even or both odd.
        size: the size of the part, as defined under `kind`.
        place: the input.
        normal: the unit vector `normal` of the half-plane.
        sigma: the standard deviation of the noise.
    """

    kind: Int[Array, ""]
    size: Float[Array, ""]
    place: Float[Array, "2"]
    normal: Float[Array, "2"]
    sigma: Float[Array, ""]

    def probability(self, points: Float[Array, "*s 2"]) -> Float[Array, "*s"]:
        """Return the probability of the answer 1 under noise on each point."""
        half_plane = norm.cdf((self.size - points @ self.normal) / self.sigma)
        waves = self._wave(points[..., 0]) * self._wave(points[..., 1])
        return jnp.select([self.kind == 0, self.kind == 1], [half_plane, self._disc(points)], (1 + waves) / 2)

    def _disc(self, points: Float[Array, "*s 2"]) -> Float[Array, "*s"]:
        """Return the probability that a point with noise lies in the disc. Let R = `size` be the radius of the disc.

        The probability is an integral over two coordinates. The integral over one coordinate, R sin t, is computed by a
        quadrature over t. The integral over the other coordinate has a closed form.
        """
        angles, weights = pieces(jnp.array([-jnp.pi / 2, jnp.pi / 2]), panels=12)
        across, along = self.size * jnp.cos(angles), self.size * jnp.sin(angles)
        offset = (along - jnp.linalg.norm(points, axis=-1)[..., None]) / self.sigma
        inside = 2 * norm.cdf(across / self.sigma) - 1
        return (norm.pdf(offset) * inside * across / self.sigma) @ weights

    def _wave(self, t: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """Return the mean, under noise on t, of a function of one coordinate.

        The function is alternately 1 and -1 on intervals of length `size`.

        The mean is computed by a Fourier series.
        """
        odd = 2 * jnp.arange(_WAVES) + 1
        rate = odd * jnp.pi / self.size
        sizes = 4 / (jnp.pi * odd) * jnp.exp(-((rate * self.sigma) ** 2) / 2)
        return jnp.sin(t[..., None] * rate) @ sizes


class PlanarRules(Population[PlanarRule]):
    """Planar rules: half-planes in half of the trials, discs in a quarter, and checkerboards in a quarter."""

    settings = Space(sigma=Real(0.5, 0.05, 5.0, "standard deviation of the noise"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PlanarRule:
        """Draw the kind of the rule, its size, and an input at which the rule answers 1.

        The size of the rule is 0.3 to 6 times the standard deviation of the noise, in a part of this range that depends
        on the kind.
        """
        kind_key, size_key, place_key, turn_key = jax.random.split(key, 4)
        sigma, share = jnp.asarray(setting["sigma"]), jax.random.uniform(size_key)
        kind = jnp.maximum(jax.random.randint(kind_key, (), 0, 4) - 1, 0)
        size = sigma * jnp.stack([0.3 + 1.7 * share, 1.6 + 2.4 * share, 2.5 + 3.5 * share])[kind]
        angle = 2 * jnp.pi * jax.random.uniform(turn_key)
        turned = jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        inside = jax.random.uniform(place_key, (2,), minval=0.05, maxval=0.95)
        place = jnp.select([kind == 0, kind == 1], [jnp.zeros(2), 0.7 * inside[0] * size * turned], inside * size)
        return PlanarRule(kind, size, place, turned, sigma)

    def hypotheses(self, problem: PlanarRule) -> list[Hypothesis]:
        """Return the hypothesis that the noise is large enough for the Fourier series of the checkerboard."""
        what = "the size of the rule, divided by the noise"
        return [
            Hypothesis("the noise", problem.sigma, ">", 0.0, "without noise nothing is smoothed"),
            Hypothesis(
                what, problem.size / problem.sigma, "<=", 8.0, "the omitted terms of the series are below rounding"
            ),
        ]
