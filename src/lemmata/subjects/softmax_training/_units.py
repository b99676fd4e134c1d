"""Random hidden units before and after a move. All parts of Lemma B.1 of gu2024softmax are about such units.

Units r = 1, ..., m have weights w_r, the columns of W, and move to v_r. At inputs x_i, the shares are
S_i = softmax(W' x_i).
"""

import abc
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Source
from lemmata.engine.problems.random_units import DELTA, RandomLayers, RandomUnits, moves
from lemmata.engine.problems.softmax_parameters import Number

READING = (
    "the constant C > 10 in B is taken as 10; nd is read as n k for k outputs, since the source has as many outputs as "
    "input dimensions"
)


@partial(jax.jit, static_argnums=1)
def drawn_units(
    x: Float[Array, "n d"], width: int, sigma: Number, radius: Number, key: Key[Array, ""]
) -> tuple[Float[Array, "d m"], Float[Array, "6 d m"]]:
    """Draw weights N(0, sigma² I) of `width` units, and six `moves` of the units by at most `radius`."""
    # Most of the compile time is for the random generator, so one draw serves weights and moves.
    first, second = jax.random.normal(key, (2, x.shape[1], width))
    return sigma * first, moves(x, sigma * first, radius, second)


def exponential_change(
    x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]
) -> Float[Array, "n m"]:
    """Return exp(<v_r, x_i>) - exp(<w_r, x_i>), where v_r = w_r + change_r, without cancellation."""
    return jnp.exp(x @ weight) * jnp.expm1(x @ change)


def share_change(
    x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]
) -> Float[Array, "n m"]:
    """Return the change of the shares S if the weights change, computed without cancellation.

    The change is S (e - <S, e>) / (1 + <S, e>), where e = expm1(x @ change).

    Args:
        x: the inputs.
        weight: the hidden weights W, one column for each unit.
        change: the change V - W of the weights.
    """
    shares, growth = jax.nn.softmax(x @ weight, axis=1), jnp.expm1(x @ change)
    mean = jnp.sum(shares * growth, axis=1, keepdims=True)
    return shares * (growth - mean) / (1 + mean)


class AbstractPart(Claim[RandomUnits]):
    """A part of Lemma B.1: a bound on a layer of random units, or on its change if every unit moves by at most R."""

    population = RandomLayers()
    relation = AtMost(delta=DELTA)
    unexplained = (
        "how sums over units concentrate: B bounds the largest logit instead, and its C = 10 is larger than needed"
    )
    reading = READING
    traced = False  # so that the draw is compiled once for all parts
    of_data = False
    trivial = "normal logits and their exponentials are unbounded, so there is no trivial bound"

    @abc.abstractmethod
    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """Return the quantity that the part bounds, at weights W that are moved to W + change."""

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        """Return the largest quantity over random moves and worst-case moves, at random weights."""
        weight, changes = drawn_units(problem.x, problem.width, problem.sigma, problem.radius, key)
        return self.quantities(problem.x, weight, changes).max(axis=0)

    @eqx.filter_jit
    def quantities(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], changes: Float[Array, "c d m"]) -> Array:
        """Return the quantity at each of several changes of the weights W."""
        return jax.vmap(lambda change: self.quantity(x, weight, change))(changes)


def part(number: int) -> Source:
    """Return the reference to a part of Lemma B.1."""
    return Source("gu2024softmax", f"Lemma B.1, part {number}")
