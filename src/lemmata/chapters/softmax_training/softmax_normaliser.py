"""The softmax of random hidden units: its denominator and its shares, before and after every unit has moved by R.

This theory controls the sum alpha_i = sum_r exp(<w_r, x_i>) and the shares S_ir = exp(<w_r, x_i>) / alpha_i through the
bound B on logits. It assumes inputs in the unit ball and moves |v_r - w_r| <= R < 0.01. It leaves unexplained the
normalisation: sums are bounded term by term at the largest term, so that each step costs a factor exp(B) where the
mean of an exponential would do; a share changes by less than 2 R S_ir exp(2 R) and <z, S_i> by less than R, whatever B.
The source's probability is 1 - delta/poly(n k), its polynomial unnamed; each part is judged here at 1 - delta.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.claims import Control
from lemmata.problems._softmax_parameters import CONSTANT

from ._units import AbstractPart, RandomUnits, exponential_change, part, share_change


class DenominatorChange(AbstractPart):
    """|alpha_i - alpha~_i| <= m R exp(B + R) for all inputs."""

    title = "Moved units change the softmax's denominator by at most m R exp(B+R)"
    source = part(8)
    controls = "the change of the denominator"

    def predict(self, problem: RandomUnits) -> Array:
        """m R exp(B + R)."""
        return problem.width * problem.radius * jnp.exp(problem.bound + problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change."""
        return jnp.abs(exponential_change(x, weight, change).sum(axis=1)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """The larger of the two, by part 5."""
        return problem.width * jnp.exp(problem.bound + problem.radius)

    def control(self) -> Control:
        """The mean of an exponential in place of exp(B + R)."""
        mean = lambda bound, problem: problem.width * problem.radius * jnp.exp(problem.sigma**2 / 2)
        return Control("at most m R exp(sigma²/2)", mean)


class InverseDenominatorChange(AbstractPart):
    """|1/alpha_i - 1/alpha~_i| <= (R/m) exp(3B + 2R) for all inputs."""

    title = "Moved units change the inverse denominator by at most R exp(3B+2R)/m"
    source = part(9)
    controls = "the change of the inverse of the denominator"

    def predict(self, problem: RandomUnits) -> Array:
        """(R/m) exp(3B + 2R)."""
        return problem.radius / problem.width * jnp.exp(3 * problem.bound + 2 * problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change, from the change of the denominator."""
        before, after = jnp.exp(x @ weight).sum(axis=1), jnp.exp(x @ (weight + change)).sum(axis=1)
        return jnp.abs(exponential_change(x, weight, change).sum(axis=1) / (before * after)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """The larger of the two, by part 5."""
        return jnp.exp(problem.bound + problem.radius) / problem.width

    def control(self) -> Control:
        """The inverse of the mean of an exponential in place of exp(3B + 2R)."""
        mean = lambda bound, problem: problem.radius / problem.width * jnp.exp(-(problem.sigma**2) / 2)
        return Control("at most R exp(-sigma²/2)/m", mean)


class ShareBound(AbstractPart):
    """S_ir <= exp(2B)/m for all inputs and units."""

    title = "Shares of random units are at most exp(2B)/m"
    source = part(10)
    controls = "the largest share"

    def predict(self, problem: RandomUnits) -> Array:
        """exp(2B)/m."""
        return jnp.exp(2 * problem.bound) / problem.width

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest share."""
        values = jnp.exp(x @ weight)
        return (values / values.sum(axis=1, keepdims=True)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """A share is at most 1."""
        return jnp.ones(())

    def control(self) -> Control:
        """C = 1, and a denominator of m."""
        return Control("at most exp(B/10)/m", lambda bound, problem: jnp.exp(problem.bound / CONSTANT) / problem.width)


class MovedShareBound(AbstractPart):
    """S~_ir <= exp(2B + 2R)/m for all inputs and moved units."""

    title = "Shares of moved units are at most exp(2B+2R)/m"
    source = part(11)
    controls = "the largest share after the units have moved"

    def predict(self, problem: RandomUnits) -> Array:
        """exp(2B + 2R)/m."""
        return jnp.exp(2 * problem.bound + 2 * problem.radius) / problem.width

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest share."""
        values = jnp.exp(x @ (weight + change))
        return (values / values.sum(axis=1, keepdims=True)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """A share is at most 1."""
        return jnp.ones(())

    def control(self) -> Control:
        """C = 1, and a denominator of m."""
        weaker = lambda bound, problem: jnp.exp(problem.bound / CONSTANT + problem.radius) / problem.width
        return Control("at most exp(B/10 + R)/m", weaker)


class ShareChange(AbstractPart):
    """|S_ir - S~_ir| <= (R/m) exp(4B + 3R) for all inputs and units."""

    title = "Moved units change a share by at most R exp(4B+3R)/m"
    source = part(12)
    controls = "the change of a share"

    def predict(self, problem: RandomUnits) -> Array:
        """(R/m) exp(4B + 3R)."""
        return problem.radius / problem.width * jnp.exp(4 * problem.bound + 3 * problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change."""
        return jnp.abs(share_change(x, weight, change)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """Shares lie between 0 and 1."""
        return jnp.ones(())

    def control(self) -> Control:
        """The first order of one unit against the others, at equal shares."""
        return Control("at most 2 R/m", lambda bound, problem: jnp.asarray(2 * problem.radius / problem.width))


class AverageChange(AbstractPart):
    """|<z, S_i> - <z, S~_i>| <= R exp(4B + 3R) for all inputs and all z in [-1, 1]^m.

    The largest over z is sum_r |S_ir - S~_ir|, which is at most 2 tanh(R/2) < R: no power of exp(B) is needed.
    """

    title = "Moved units change averages over shares by at most R exp(4B+3R)"
    source = part(13)
    controls = "the change of an average over units"

    def predict(self, problem: RandomUnits) -> Array:
        """R exp(4B + 3R)."""
        return problem.radius * jnp.exp(4 * problem.bound + 3 * problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change, at z = sign(S - S~)."""
        return jnp.abs(share_change(x, weight, change)).sum(axis=1).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """Averages of z lie between -1 and 1."""
        return jnp.asarray(2.0)

    def control(self) -> Control:
        """Below what half of the units each way attains."""
        return Control("at most 0.98 R", lambda bound, problem: jnp.asarray(0.98 * problem.radius))
