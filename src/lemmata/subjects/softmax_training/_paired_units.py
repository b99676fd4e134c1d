"""Softmax layers whose units are initialised in pairs and may be moved."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.random_units import DELTA, unit_rows
from lemmata.engine.problems.sampled import draws, paired_signs
from lemmata.engine.problems.softmax_parameters import Number


class PairedUnits(eqx.Module):
    """A softmax layer with units in pairs of equal weights and opposite signs: w_(2r) = w_(2r-1), a_(2r) = -a_(2r-1).

    Args:
        x: the inputs.
        sign: the signs a of the output weights.
        weight: the initial weights W~.
        sigma: the standard deviation of the weights.
        radius: the distance R that a unit may move.
    """

    x: Float[Array, "n d"]
    sign: Float[Array, "k m"]
    weight: Float[Array, "d m"]
    sigma: Float[Array, ""]
    radius: Float[Array, ""]

    @property
    def shares(self) -> Float[Array, "n m"]:
        """The shares S_ir of unit r at input i, which are the softmax of the logits."""
        return jax.nn.softmax(self.x @ self.weight, axis=1)

    @property
    def mass(self) -> Float[Array, "n n"]:
        """The numbers |<x_i, x_j>| m <S_i, S_j>, which bound the entries of the tangent kernel between x_i and x_j."""
        return jnp.abs(self.x @ self.x.T) * self.weight.shape[1] * (self.shares @ self.shares.T)


def least_width(n: int, sigma: Number, delta: float = DELTA) -> Float[Array, ""]:
    """Return the larger of 4 n exp(4 sigma²)/delta and 47 exp(sigma²) log(2n/delta).

    If the width m is at least this number, m <S_i, S_i> is near its mean with probability 1 - delta, where S_i are the
    shares of the units at input i.

    Args:
        n: the number of inputs.
        sigma: the standard deviation of the weights.
        delta: the failure probability.
    """
    chebyshev = 4 * n * jnp.exp(4 * sigma**2) / delta
    return jnp.maximum(chebyshev, 47 * jnp.exp(sigma**2) * jnp.log(2 * n / delta))


class PairedLayers(Population[PairedUnits]):
    """Layers with inputs on the unit sphere and normal weights.

    Args:
        width: the default width m.
        sigma: the default standard deviation of the weights.
        wide: whether all widths are at least `least_width`.
    """

    free = ("x",)
    width: int = 64
    sigma: float = 0.5
    wide: bool = False

    def settings(self) -> Space:
        space = Space(
            n=Integer(4, 2, 32, "inputs"),
            d=Integer(4, 1, 64, "dimension of the inputs"),
            k=Integer(2, 1, 16, "outputs"),
            m=Integer(self.width, 2, 4096, "units", step=2),
            sigma=Real(self.sigma, 0.01, 1.0, "standard deviation of the weights"),
            R=Real(1e-3, 1e-6, 0.00999, "how far a unit may move"),
        )
        if not self.wide:
            return space
        rule = "m is above 4 n exp(4 sigma²)/delta and 47 exp(sigma²) log(2n/delta)"
        return space.where(rule, lambda s: bool(s["m"] >= least_width(s["n"], s["sigma"])))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PairedUnits:
        """Draw uniform inputs, normal weights and random signs."""
        points, units = jax.random.split(key)
        n, d, k, m = (setting[name] for name in ("n", "d", "k", "m"))
        weight, sign = draws(units, (d, m // 2), (k, m // 2))
        weight, radius = setting["sigma"] * jnp.repeat(weight, 2, axis=1), jnp.asarray(setting["R"], float)
        return PairedUnits(
            unit_rows(points, n, d), paired_signs(sign), weight, jnp.asarray(setting["sigma"], float), radius
        )

    def hypotheses(self, problem: PairedUnits) -> list[Hypothesis]:
        """Return the hypotheses: inputs in the unit ball, outputs 0 at initialisation, and the radius in (0, 0.01)."""
        output = jnp.abs(problem.sign @ problem.shares.T).max()
        checked = [
            in_unit_ball(problem.x, why="|<v, x>| is bounded by |v|"),
            Hypothesis("units stand in pairs", output, "<=", 1e-12, "<a, S> = 0 before units move"),
            Hypothesis("R is below 0.01", problem.radius, "<", 0.01, "linear terms dominate"),
            Hypothesis("R is positive", problem.radius, ">", 0.0, "units move"),
        ]
        if not self.wide:
            return checked
        least = least_width(len(problem.x), problem.sigma)
        name = "exponentials average out over this many units"
        return [
            *checked,
            Hypothesis(
                name,
                problem.weight.shape[1],
                ">=",
                least,
                "needed for Chebyshev's inequality and a bound on the lower tail",
            ),
        ]
