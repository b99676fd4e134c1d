"""Fits of a smooth function and one for each class of parities to numbers on a part of the chart of nuclei."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

_ROWS, _COLUMNS = 6, 8  # elements and isotopes of the part


def whole_part() -> Float[Array, "48 2"]:
    """(Z, N) of a block of the chart."""
    z, n = jnp.meshgrid(20.0 + jnp.arange(_ROWS), 24.0 + jnp.arange(_COLUMNS), indexing="ij")
    return jnp.stack([z.ravel(), n.ravel()], axis=1)


class TwoTermFit(eqx.Module):
    """Numbers at nuclei, other nuclei, and two terms with a length scale and a ridge each.

    Args:
        x: nuclei (Z, N), all different.
        y: their numbers.
        new: other nuclei.
        lengthscale, odd_even_lengthscale: of the two Gaussians.
        ridge, odd_even_ridge: of the two terms.
    """

    x: Float[Array, "n 2"]
    y: Float[Array, " n"]
    new: Float[Array, "m 2"]
    lengthscale: Float[Array, ""]
    odd_even_lengthscale: Float[Array, ""]
    ridge: Float[Array, ""]
    odd_even_ridge: Float[Array, ""]


class TwoTermFits(Population[TwoTermFit]):
    """Nuclei of a block of the chart at random, length scales near 1, ridges over a decade, the second one larger."""

    free = ("y",)

    def settings(self) -> Space:
        """How many nuclei are known, and how many new."""
        return Space(n=Integer(20, 3, 40, "known nuclei"), m=Integer(4, 1, 8, "new nuclei", corners=(2, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoTermFit:
        """Normal numbers; the ridge of the second term is 2 to 10 times that of the first."""
        keys = jax.random.split(key, 3)
        n, points = setting["n"], jax.random.permutation(keys[0], whole_part())
        u, y = jax.random.uniform(keys[1], (4,)), jax.random.normal(keys[2], (n,))
        ridge = 0.03 * 10 ** u[2]
        new = points[n : n + setting["m"]]
        return TwoTermFit(points[:n], y, new, 0.6 + u[0], 0.6 + u[1], ridge, ridge * 2 * 5 ** u[3])

    def hypotheses(self, problem: TwoTermFit) -> list[Hypothesis]:
        """Two ridges."""
        return [
            Hypothesis("ridge of the smooth term", problem.ridge, ">", 0.0, "else its coefficients are not unique"),
            Hypothesis("ridge of the second term", problem.odd_even_ridge, ">", 0.0, "its weight is finite"),
        ]


class StaggeredCurve(eqx.Module):
    """A law of numbers on a part of the chart: smooth normal ones, with or without a staggering term, and noise.

    Args:
        x: nuclei (Z, N).
        lengthscale: of the smooth numbers and of the staggering.
        weight: variance of the staggering term; the smooth numbers have the variance 1.
        noise: variance of the noise.
    """

    x: Float[Array, "n 2"]
    lengthscale: Float[Array, ""]
    weight: Float[Array, ""]
    noise: Float[Array, ""]


class StaggeredCurves(Population[StaggeredCurve]):
    """Half of the block, 24 nuclei; length scales 2 to 4."""

    def settings(self) -> Space:
        """Staggering and noise."""
        return Space(
            weight=Real(0.3, 0.05, 1.0, "variance of the staggering term", corners=(0.2, 0.4)),
            noise=Real(0.1, 0.02, 0.5, "variance of the noise", corners=(0.08, 0.15)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StaggeredCurve:
        """Each of the two varies by up to a fifth."""
        u = jax.random.uniform(key, (3,))
        vary = lambda name, at: setting[name] * 1.2 ** (2 * at - 1)
        return StaggeredCurve(whole_part()[:24], 2 + 2 * u[0], vary("weight", u[1]), vary("noise", u[2]))

    def hypotheses(self, problem: StaggeredCurve) -> list[Hypothesis]:
        """Noise."""
        return [Hypothesis("there is noise", problem.noise, ">", 0.0, "it is the ridge of every fit")]


class SmoothFunction(eqx.Module):
    """A function sum_i a_i exp(-|x - x_i|²/(2 l²)) on the chart, and a nucleus.

    Args:
        x: nuclei (Z, N), the centres.
        coefficients: a.
        at: the nucleus between two isotopes.
        lengthscale: l.
    """

    x: Float[Array, "n 2"]
    coefficients: Float[Array, " n"]
    at: Float[Array, " 2"]
    lengthscale: Float[Array, ""]


class SmoothFunctions(Population[SmoothFunction]):
    """Half of them stagger at the nucleus as strongly as their norm allows, the others have random coefficients."""

    free = ("coefficients",)

    def settings(self) -> Space:
        """How many centres."""
        return Space(n=Integer(12, 3, 48, "centres"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmoothFunction:
        """The first three centres are the nucleus and its neighbours."""
        keys = jax.random.split(key, 4)
        three = jnp.array([[22.0, 27.0], [22.0, 26.0], [22.0, 28.0]])
        rest = jax.random.permutation(keys[0], whole_part())[: setting["n"] - 3]
        rest = rest + jnp.array([10.0, 0.0])
        strongest = jnp.concatenate([jnp.array([1.0, -0.5, -0.5]), jnp.zeros(len(rest))])
        random = jax.random.normal(keys[1], strongest.shape)
        size, u = 10 ** jax.random.uniform(keys[2], minval=-1.0), jax.random.uniform(keys[3], (2,))
        coefficients = size * jnp.where(u[0] < 0.5, strongest, random)
        return SmoothFunction(jnp.concatenate([three, rest]), coefficients, three[0], 0.7 * 5 ** u[1])

    def hypotheses(self, problem: SmoothFunction) -> list[Hypothesis]:
        """A length scale."""
        return [Hypothesis("the length scale", problem.lengthscale, ">", 0.0, "else it is no kernel")]
