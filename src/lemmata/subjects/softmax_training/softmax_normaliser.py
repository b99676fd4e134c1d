"""The softmax of random hidden units: its denominator and its shares, before and after every unit has moved by R.

This theory bounds the sum alpha_i = sum_r exp(<w_r, x_i>) and the shares S_ir = exp(<w_r, x_i>) / alpha_i through the
bound B on logits. Here w_r are the weights of m units and x_i the inputs. The theory assumes inputs in the unit ball
and moves |v_r - w_r| <= R < 0.01, where v_r are the weights after the move. It does not explain the normalisation. It
bounds each sum by m times its largest term, so each step costs a factor exp(B), although the mean of an exponential
would be enough. In truth, for every B, a share changes by less than 2 R S_ir exp(2 R), and <z, S_i> by less than R if z
is in [-1, 1]^m. The claims are parts of Lemma B.1 of gu2024softmax. The source's probability is 1 - delta/poly(n k),
with a polynomial that it does not name. Here, each part is tested with probability 1 - delta.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.engine.claims import Control
from lemmata.engine.problems.random_units import RandomUnits
from lemmata.engine.problems.softmax_parameters import CONSTANT

from ._units import AbstractPart, exponential_change, part, share_change

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "inequality"}


class DenominatorChange(AbstractPart):
    """Let m units have weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let them move to v_r with |v_r - w_r| <= R.
    Let x_1, ..., x_n be inputs in the unit ball, and let k be the number of outputs and delta the failure probability.
    Let B = max(10 sigma sqrt(log(n k / delta)), 1). Let alpha_i = sum_r exp(<w_r, x_i>) and
    alpha~_i = sum_r exp(<v_r, x_i>) be the denominators of the softmax. With probability at least 1 - delta, every
    input satisfies

        |alpha_i - alpha~_i| <= m R exp(B + R).
    """

    title = "If each unit's weights move by at most R, the softmax's denominator changes by at most m R exp(B+R)"
    source = part(8)
    control = Control(
        "the change is at most m R exp(sigma²/2), with the mean of exp(<w_r, x_i>) in place of its bound",
        lambda bound, problem: problem.width * problem.radius * jnp.exp(problem.sigma**2 / 2),
    )
    controls = "the change of the denominator"

    def predict(self, problem: RandomUnits) -> Array:
        return problem.width * problem.radius * jnp.exp(problem.bound + problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change of a denominator."""
        return jnp.abs(exponential_change(x, weight, change).sum(axis=1)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """The bound m exp(B + R) on the larger of the two denominators, by part 5 of the lemma."""
        return problem.width * jnp.exp(problem.bound + problem.radius)


class InverseDenominatorChange(AbstractPart):
    """Let m units have weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let them move to v_r with |v_r - w_r| <= R.
    Let x_1, ..., x_n be inputs in the unit ball, and let k be the number of outputs and delta the failure probability.
    Let B = max(10 sigma sqrt(log(n k / delta)), 1). Let alpha_i = sum_r exp(<w_r, x_i>) and
    alpha~_i = sum_r exp(<v_r, x_i>) be the denominators of the softmax. With probability at least 1 - delta, every
    input satisfies

        |1/alpha_i - 1/alpha~_i| <= (R/m) exp(3B + 2R).
    """

    title = "If weights move by at most R per unit, the softmax's inverse denominator changes by at most R exp(3B+2R)/m"
    source = part(9)
    control = Control(
        "the change is at most R exp(-sigma²/2)/m, with the inverse mean of exp(<w_r, x_i>) in place of exp(3B + 2R)",
        lambda bound, problem: problem.radius / problem.width * jnp.exp(-(problem.sigma**2) / 2),
        loose=(
            "the bound has the factor exp(3B), at least 20, but means of exponentials are near 1, so no control is "
            "close to the bound"
        ),
    )
    controls = "the change of the inverse of the denominator"

    def predict(self, problem: RandomUnits) -> Array:
        return problem.radius / problem.width * jnp.exp(3 * problem.bound + 2 * problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change of the inverse, computed from the change of the denominator."""
        before, after = jnp.exp(x @ weight).sum(axis=1), jnp.exp(x @ (weight + change)).sum(axis=1)
        return jnp.abs(exponential_change(x, weight, change).sum(axis=1) / (before * after)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """The bound exp(B + R)/m on the larger of the two inverses, by part 5 of the lemma."""
        return jnp.exp(problem.bound + problem.radius) / problem.width


class ShareBound(AbstractPart):
    """Let m units have independent weights w_r ~ N(0, sigma² I), r = 1, ..., m. Let x_1, ..., x_n be inputs in the
    unit ball, and let k be the number of outputs and delta the failure probability. With probability at least
    1 - delta, for every input and every unit the share S_ir = exp(<w_r, x_i>) / sum_s exp(<w_s, x_i>) satisfies

        S_ir <= exp(2B)/m,   where B = max(10 sigma sqrt(log(n k / delta)), 1).
    """

    title = "The softmax shares of m random units with logits up to B are at most exp(2B)/m"
    source = part(10)
    control = Control(
        "a share is at most exp(B/10)/m, with C = 1 and a denominator of m",
        lambda bound, problem: jnp.exp(problem.bound / CONSTANT) / problem.width,
        loose="exp(2B) is at least 7.4, but m times the largest share is 1.2, so no control is close to the bound",
    )
    controls = "the largest share"
    trivial = 1.0  # a share is at most 1

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.exp(2 * problem.bound) / problem.width

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest share."""
        values = jnp.exp(x @ weight)
        return (values / values.sum(axis=1, keepdims=True)).max()


class MovedShareBound(AbstractPart):
    """Let m units have weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let them move to v_r with |v_r - w_r| <= R.
    Let x_1, ..., x_n be inputs in the unit ball, and let k be the number of outputs and delta the failure probability.
    With probability at least 1 - delta, for every input and every unit the share after the move,
    S~_ir = exp(<v_r, x_i>) / sum_s exp(<v_s, x_i>), satisfies

        S~_ir <= exp(2B + 2R)/m,   where B = max(10 sigma sqrt(log(n k / delta)), 1).
    """

    title = "If each unit's weights move by at most R, the softmax shares of m units are at most exp(2B+2R)/m"
    source = part(11)
    control = Control(
        "a share is at most exp(B/10 + R)/m, with C = 1 and a denominator of m",
        lambda bound, problem: jnp.exp(problem.bound / CONSTANT + problem.radius) / problem.width,
        loose="exp(2B) is at least 7.4, but m times the largest share is 1.2, so no control is close to the bound",
    )
    controls = "the largest share after the units have moved"
    trivial = 1.0  # a share is at most 1

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.exp(2 * problem.bound + 2 * problem.radius) / problem.width

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest share."""
        values = jnp.exp(x @ (weight + change))
        return (values / values.sum(axis=1, keepdims=True)).max()


class ShareChange(AbstractPart):
    """Let m units have weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let them move to v_r with |v_r - w_r| <= R.
    Let x_1, ..., x_n be inputs in the unit ball, and let k be the number of outputs and delta the failure probability.
    Let B = max(10 sigma sqrt(log(n k / delta)), 1). Let S_ir = exp(<w_r, x_i>) / sum_s exp(<w_s, x_i>) be the shares,
    and let S~_ir be the shares with v_r in place of w_r. With probability at least 1 - delta, every input and every
    unit satisfy

        |S_ir - S~_ir| <= (R/m) exp(4B + 3R).
    """

    title = "If each unit's weights move by at most R, a softmax share changes by at most R exp(4B+3R)/m"
    source = part(12)
    control = Control(
        "the change is at most 2 R/m, the first order of one unit against the others at equal shares",
        lambda bound, problem: jnp.asarray(2 * problem.radius / problem.width),
        loose="exp(4B) is at least 54, but a factor 2 is enough, so no control is close to the bound",
    )
    controls = "the change of a share"
    trivial = 1.0  # shares lie between 0 and 1

    def predict(self, problem: RandomUnits) -> Array:
        return problem.radius / problem.width * jnp.exp(4 * problem.bound + 3 * problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change of a share."""
        return jnp.abs(share_change(x, weight, change)).max()


class AverageChange(AbstractPart):
    """Let m units have weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let them move to v_r with |v_r - w_r| <= R.
    Let x_1, ..., x_n be inputs in the unit ball, and let k be the number of outputs and delta the failure probability.
    Let B = max(10 sigma sqrt(log(n k / delta)), 1). Let S_ir = exp(<w_r, x_i>) / sum_s exp(<w_s, x_i>) be the shares,
    and let S~_ir be the shares with v_r in place of w_r. With probability at least 1 - delta, all inputs and all z in
    [-1, 1]^m satisfy

        |<z, S_i> - <z, S~_i>| <= R exp(4B + 3R).

    The largest value over z is sum_r |S_ir - S~_ir|, which is at most 2 tanh(R/2) < R. No power of exp(B) is therefore
    needed.
    """

    title = "If each unit's weights move by at most R, softmax-weighted averages change by at most R exp(4B+3R)"
    source = part(13)
    control = Control(
        "the change is at most 0.98 R, which is less than the change if half of the units move each way",
        lambda bound, problem: jnp.asarray(0.98 * problem.radius),
        loose="exp(4B) is at least 54, but a factor 1 is enough, so no control is close to the bound",
    )
    controls = "the change of an average over units"
    trivial = 2.0  # averages of z lie between -1 and 1

    def predict(self, problem: RandomUnits) -> Array:
        return problem.radius * jnp.exp(4 * problem.bound + 3 * problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change over z, which is attained at z = sign(S - S~)."""
        return jnp.abs(share_change(x, weight, change)).sum(axis=1).max()
