"""Logits of random hidden units, and their exponentials, before and after every unit has moved by at most R.

This theory bounds every logit <w_r, x_i> by B = max(C sigma sqrt(log(n k / delta)), 1), C = 10, and every moved logit
by B + R. Here m units have weights w_r ~ N(0, sigma² I), n inputs lie in the unit ball, and k is the number of outputs.
The failure probability is delta, and R < 0.01. The theory does not explain the role of the width m. The largest of n m
logits is near sigma sqrt(2 log(n m)), but B does not depend on m. With C = 10, no network that can be built is wide
enough for logits to reach B. But for sigma = 1, B is 23 with 8 inputs and 3 outputs, so exp(B) is astronomical. The
default sigma is therefore 0.05, for which B = 1.17.

The tests try random moves, and the moves for which each bound is tightest. The claims are the parts of Lemma B.1. The
source states the probability 1 - delta/poly(n k), with a polynomial that it does not name. Here each part is tested at
the probability 1 - delta, which is a weaker statement.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.engine.claims import Control, Kind, Source
from lemmata.engine.problems.random_units import RandomUnits
from lemmata.engine.problems.softmax_parameters import CONSTANT

from ._units import AbstractPart, exponential_change, part

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "inequality"}

_SPARE = "with C = 10, B is 6 times the largest logit, and B is at least 1, so no control is close to the bound"


class LogitBound(AbstractPart):
    """Let m units have independent weights w_r ~ N(0, sigma² I), r = 1, ..., m. Let x_1, ..., x_n be inputs in the
    unit ball, and let k be the number of outputs and delta the failure probability. With probability at least
    1 - delta, every input and every unit satisfy

        |<w_r, x_i>| <= B,   where B = max(10 sigma sqrt(log(n k / delta)), 1).

    The source does not bound the width m here. Such a bound is needed, and it is a hypothesis of this claim. With the
    constant C = 10 in B, a union bound proves the statement if 2 n m <= (n k / delta)^49.
    """

    title = "With probability 1 - delta, logits of random units are at most B = max(10 sigma sqrt(log(n k/delta)), 1)"
    source = part(1)
    control = Control(
        "the logits are at most B/10, with C = 1: |<w_r, x_i>| <= B/10",
        lambda bound, problem: bound / CONSTANT,
        loose=_SPARE,
    )
    controls = "the largest logit"
    of_data = True

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.asarray(problem.bound)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest absolute value of a logit."""
        return jnp.abs(x @ weight).max()


class LogitBoundWithWidth(AbstractPart):
    """Let m units have independent weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let x_1, ..., x_n be inputs in the
    unit ball. Let delta be the failure probability. With probability at least 1 - delta, every input and every unit
    satisfy

        |<w_r, x_i>| <= sigma sqrt(2 log(2 n m / delta)).

    This is the union bound over n m normal variables. The bound depends on the width m but does not restrict m. It does
    not depend on the number of outputs. The source has the bound B = max(10 sigma sqrt(log(n k / delta)), 1) instead,
    for k outputs. Its later lemmas use B only as a bound on logits and on their exponentials. The bound above can
    therefore replace B in these lemmas.
    """

    title = "With probability 1 - delta, logits of m random units on n inputs are at most sigma sqrt(2 log(2nm/delta))"
    source = Source("gu2024softmax", "Definition 4.1", note="with a bound that contains the width")
    stated = Kind.OWN
    control = Control(
        "the logits are at most sigma sqrt(2 log m)",
        lambda bound, problem: jnp.asarray(problem.sigma * math.sqrt(2 * math.log(problem.width))),
    )
    controls = "the largest logit"
    unexplained = "the dependence between the logits of one unit at several inputs"
    reading = ""
    trials = 384  # a few in a hundred fail, where a tenth may

    def predict(self, problem: RandomUnits) -> Array:
        count = 2 * len(problem.x) * problem.width / problem.delta
        return jnp.asarray(problem.sigma * math.sqrt(2 * math.log(count)))

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest absolute value of a logit."""
        return jnp.abs(x @ weight).max()


class MovedLogitBound(AbstractPart):
    """Let m units have weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let them move to v_r with |v_r - w_r| <= R.
    Let x_1, ..., x_n be inputs in the unit ball, and let k be the number of outputs and delta the failure probability.
    With probability at least 1 - delta, every input and every unit satisfy

        |<v_r, x_i>| <= B + R,   where B = max(10 sigma sqrt(log(n k / delta)), 1).
    """

    title = "If each unit's weights move by at most R, logits of at most B become at most B + R"
    source = part(2)
    control = Control(
        "the bound holds with C = 1: B/10 + R",
        lambda bound, problem: (bound - problem.radius) / CONSTANT + problem.radius,
        loose=_SPARE,
    )
    controls = "the largest logit after the units have moved"

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.asarray(problem.bound + problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest absolute value of a logit after the move."""
        return jnp.abs(x @ (weight + change)).max()


class PairLogitChange(AbstractPart):
    """Let m units w_r, r = 1, ..., m, move to v_r with |v_r - w_r| <= R. Let x_1, ..., x_n be inputs in the unit ball.
    All pairs of inputs and all units satisfy

        |<w_r - v_r, x_i + x_j>| <= 2 R.

    The bound is attained for i = j, |x_i| = 1 and a unit that moves along x_i.
    """

    title = "If each unit's weights move by at most R, sums of two logits change by at most 2R"
    source = part(3)
    control = Control("the change is at most 1.98 R", lambda bound, problem: 0.99 * bound)
    controls = "the change of a sum of two logits"
    unexplained = "nothing: the bound is attained"
    reading = ""
    trivial = "the bound is the Cauchy-Schwarz inequality itself, and it is attained"

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.asarray(2 * problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change over all pairs of inputs and all units."""
        moved = x @ change
        return jnp.abs(moved[:, None] + moved).max()


class ExponentialBounds(AbstractPart):
    """Let m units have independent weights w_r ~ N(0, sigma² I), r = 1, ..., m. Let x_1, ..., x_n be inputs in the
    unit ball, and let k be the number of outputs and delta the failure probability. With probability at least
    1 - delta, every input and every unit satisfy

        exp(-B) <= exp(<w_r, x_i>) <= exp(B),   where B = max(10 sigma sqrt(log(n k / delta)), 1).

    lemmata measures the largest exponential and the inverse of the smallest. Both are at most exp(B).
    """

    title = "If logits lie between -B and B, their exponentials lie between exp(-B) and exp(B)"
    source = part(4)
    control = Control("the bound holds with C = 1: exp(B/10)", lambda bound, problem: bound ** (1 / CONSTANT))
    controls = "the largest and the smallest exponential"

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.exp(problem.bound) * jnp.ones(2)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest exponential, and the inverse of the smallest."""
        values = jnp.exp(x @ weight)
        return jnp.stack([values.max(), 1 / values.min()])


class MovedExponentialBounds(AbstractPart):
    """Let m units have weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let them move to v_r with |v_r - w_r| <= R.
    Let x_1, ..., x_n be inputs in the unit ball, and let k be the number of outputs and delta the failure probability.
    Let B = max(10 sigma sqrt(log(n k / delta)), 1). With probability at least 1 - delta, every input and every unit
    satisfy

        exp(-B - R) <= exp(<v_r, x_i>) <= exp(B + R).

    lemmata measures the largest exponential and the inverse of the smallest.
    """

    title = "If each unit's weights move by at most R, exponentials of logits lie between exp(-B-R) and exp(B+R)"
    source = part(5)
    control = Control(
        "the bound holds with C = 1: exp(B/10 + R)",
        lambda bound, problem: jnp.exp(problem.bound / CONSTANT + problem.radius) * jnp.ones(2),
    )
    controls = "the largest and the smallest exponential after the units have moved"

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.exp(problem.bound + problem.radius) * jnp.ones(2)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest exponential, and the inverse of the smallest."""
        values = jnp.exp(x @ (weight + change))
        return jnp.stack([values.max(), 1 / values.min()])


class PairExponentialChange(AbstractPart):
    """Let m units w_r, r = 1, ..., m, move to v_r with |v_r - w_r| <= R < 0.01. Let x_1, ..., x_n be inputs in the
    unit ball. All pairs of inputs and all units satisfy

        |exp(<w_r - v_r, x_i + x_j>) - 1| <= 4 R.

    The best constant in front of R is (exp(2R) - 1)/R = 2 + 2R + ..., which is at most 2.0202.
    """

    title = "If weights move by at most R per unit, products of two exponentials change by a factor within 4R of 1"
    source = part(6)
    control = Control("the change is at most 2 R", lambda bound, problem: bound / 2)
    controls = "the factor by which a product of two exponentials changes"
    unexplained = "the factor 2 by which Fact A.6 is not tight"
    reading = ""
    trivial = "the bound is the exponential of the Cauchy-Schwarz inequality"

    def predict(self, problem: RandomUnits) -> Array:
        return jnp.asarray(4 * problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest difference from 1 over all pairs of inputs and all units, for the move and for its negative."""
        moved = x @ change
        return jnp.expm1(jnp.abs(moved[:, None] + moved)).max()


class ExponentialChange(AbstractPart):
    """Let m units have weights w_r ~ N(0, sigma² I), r = 1, ..., m, and let them move to v_r with |v_r - w_r| <= R.
    Let x_1, ..., x_n be inputs in the unit ball, and let k be the number of outputs and delta the failure probability.
    With probability at least 1 - delta, every input and every unit satisfy

        |exp(<w_r, x_i>) - exp(<v_r, x_i>)| <= R exp(B + R),   where B = max(10 sigma sqrt(log(n k / delta)), 1).
    """

    title = "If each unit's weights move by at most R, exponentials of logits change by at most R exp(B+R)"
    source = part(7)
    control = Control(
        "the bound holds with C = 1: R exp(B/10 + R)",
        lambda bound, problem: problem.radius * jnp.exp(problem.bound / CONSTANT + problem.radius),
    )
    controls = "the change of an exponential"

    def predict(self, problem: RandomUnits) -> Array:
        return problem.radius * jnp.exp(problem.bound + problem.radius)

    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """The largest change of an exponential."""
        return jnp.abs(exponential_change(x, weight, change)).max()

    def trivial(self, problem: RandomUnits) -> Array:
        """The bound exp(B + R) on the larger of the two exponentials, by parts 4 and 5 of the lemma."""
        return jnp.exp(problem.bound + problem.radius)
