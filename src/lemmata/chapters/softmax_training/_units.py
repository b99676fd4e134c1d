"""Random hidden units, and how they may be moved: the common ground of the sections on softmax layers."""

import abc
import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Hypothesis, Integer, Real, Source, Space
from lemmata.problems import Regression
from lemmata.problems._softmax_parameters import CONSTANT, Number, logit_bound

DELTA = 0.1
ROWS = 32


class RandomUnits(eqx.Module):
    """Inputs of a softmax layer of m units with weights w_r ~ N(0, sigma² I), and how far the weights may be moved.

    Args:
        x: inputs x_i.
        outputs: k; the source's nd, the size of the kernel matrix, is n k.
        width: m.
        sigma: standard deviation of the weights.
        radius: R, the largest |v_r - w_r|.
        delta: the failure probability.
    """

    x: Float[Array, "n d"]
    outputs: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    sigma: float = eqx.field(static=True)
    radius: float = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=DELTA)

    @property
    def bound(self) -> float:
        """B of Definition 4.1."""
        return logit_bound(len(self.x), self.outputs, self.sigma, self.delta)


@partial(jax.jit, static_argnums=(1, 2))
def unit_rows(key: Key[Array, ""], n: int, d: int) -> Float[Array, "n d"]:
    """n points uniform on the unit sphere."""
    x = jax.random.normal(key, (n, d))
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)


def units_of(problem: object, radius: float = 0.009) -> RandomUnits | None:
    """64 units with sigma = 0.05 on the first inputs of a regression, scaled so that the longest has norm 1."""
    if not isinstance(problem, Regression):
        return problem if isinstance(problem, RandomUnits) else None
    x = problem.x[:ROWS]
    longest = jnp.linalg.norm(x, axis=1).max()
    return RandomUnits(x / jnp.where(longest > 0, longest, 1.0), problem.y.shape[1], 64, 0.05, radius)


def unit_settings(radius: float = 0.009, outputs: int = 1) -> Space:
    """Sizes, the scale of the weights and the radius, its default given; at least so many outputs."""
    return Space(
        n=Integer(8, 1, 64, "inputs"),
        d=Integer(4, 1, 64, "dimension of the inputs"),
        k=Integer(3, outputs, 64, "outputs"),
        m=Integer(64, 2, 4096, "units"),
        sigma=Real(0.05, 0.0, 1.0, "standard deviation of the weights"),
        R=Real(radius, 1e-6, 0.00999, "how far a unit may move"),
    )


def sampled_units(setting: dict, key: Key[Array, ""]) -> RandomUnits:
    """Inputs on the unit sphere, where the bounds are tightest."""
    x = unit_rows(key, setting["n"], setting["d"])
    return RandomUnits(x, setting["k"], setting["m"], setting["sigma"], setting["R"])


def unit_hypotheses(problem: RandomUnits) -> list[Hypothesis]:
    """Inputs in the unit ball, a radius in (0, 0.01), a width that is polynomial."""
    longest = jnp.linalg.norm(problem.x, axis=1).max()
    n = len(problem.x)
    # P(some |<w_r, x_i>| > B) <= 2 n m exp(-B²/(2 sigma²)) <= 2 n m (n k/delta)^(-C²/2), asked to be <= delta/(n k).
    most = (CONSTANT**2 / 2 - 1) * math.log(n * problem.outputs / problem.delta)
    width = "the width is polynomial, log(2 n m) against 49 log(n k / delta)"
    return [
        Hypothesis("inputs lie in the unit ball", longest, "<=", 1.0, "|<w, x>| is bounded by |w|"),
        Hypothesis("R is below 0.01", problem.radius, "<", 0.01, "linear terms dominate"),
        Hypothesis("R is positive", problem.radius, ">", 0.0, "units move"),
        Hypothesis(width, math.log(2 * n * problem.width), "<=", most, "B does not grow with the number of units"),
    ]


def moves(
    x: Float[Array, "n d"], weight: Float[Array, "d m"], radius: Number, drawn: Float[Array, "d m"]
) -> Float[Array, "6 d m"]:
    """Changes of the weights with |change of w_r| <= R: random directions, then the worst for one part or another.

    All units along the input where the exponentials sum to most, or against the one where they sum to least; each unit
    along the input where its logit is largest in size; the unit with the largest share one way along that input and the
    others back; half of the units each way along the first input.

    Args:
        x: inputs.
        weight: W.
        radius: R.
        drawn: standard normal columns, for the random directions.
    """
    lengths = jnp.linalg.norm(x, axis=1, keepdims=True)
    toward = x / jnp.where(lengths > 0, lengths, 1.0)
    logits, m = x @ weight, weight.shape[1]
    sums = jax.scipy.special.logsumexp(logits, axis=1)
    along = lambda i, signs: toward[i][:, None] * signs
    own = jnp.argmax(jnp.abs(logits), axis=0)
    largest = jnp.argmax(logits - sums[:, None])
    one = 2 * jax.nn.one_hot(largest % m, m) - 1
    return radius * jnp.stack(
        [
            drawn / jnp.linalg.norm(drawn, axis=0),
            along(jnp.argmax(sums), jnp.ones(m)),
            along(jnp.argmin(sums), -jnp.ones(m)),
            toward[own].T * jnp.sign(logits[own, jnp.arange(m)]),
            along(largest // m, one),
            along(0, 1 - 2.0 * (jnp.arange(m) % 2)),
        ]
    )


@partial(jax.jit, static_argnums=1)
def drawn_units(
    x: Float[Array, "n d"], width: int, sigma: Number, radius: Number, key: Key[Array, ""]
) -> tuple[Float[Array, "d m"], Float[Array, "6 d m"]]:
    """Weights N(0, sigma² I) of `width` units, and their `moves`."""
    # Drawing is most of what there is to compile: one draw serves both.
    first, second = jax.random.normal(key, (2, x.shape[1], width))
    return sigma * first, moves(x, sigma * first, radius, second)


def exponential_change(
    x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]
) -> Float[Array, "n m"]:
    """exp(<v_r, x_i>) - exp(<w_r, x_i>) with v_r = w_r + change_r, without cancellation."""
    return jnp.exp(x @ weight) * jnp.expm1(x @ change)


def share_change(
    x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]
) -> Float[Array, "n m"]:
    """S_ir at the moved weights minus S_ir, without cancellation: S (e - <S, e>) / (1 + <S, e>), e = expm1(x @ change).

    Args:
        x: inputs.
        weight: W.
        change: V - W.
    """
    shares, growth = jax.nn.softmax(x @ weight, axis=1), jnp.expm1(x @ change)
    mean = jnp.sum(shares * growth, axis=1, keepdims=True)
    return shares * (growth - mean) / (1 + mean)


class AbstractPart(Claim[RandomUnits]):
    """A part of Lemma B.1: a bound on a layer of random units and on the same layer with every unit moved by R."""

    relation = AtMost(delta=DELTA)
    problem = RandomUnits
    trials = 128
    traced = False  # so that the draw is compiled once for all parts
    unexplained = "sums over units, which concentrate: B bounds the largest logit with C = 10 to spare"

    def settings(self) -> Space:
        """Sizes, the scale of the weights and the radius."""
        return unit_settings()

    def sample(self, setting: dict, key: Key[Array, ""]) -> RandomUnits:
        """Inputs on the unit sphere."""
        return sampled_units(setting, key)

    def hypotheses(self, problem: RandomUnits) -> list[Hypothesis]:
        """Those of Lemma B.1."""
        return unit_hypotheses(problem)

    @abc.abstractmethod
    def quantity(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], change: Float[Array, "d m"]) -> Array:
        """What the part bounds, at weights W that are moved to W + change."""

    def measure(self, problem: RandomUnits, key: Key[Array, ""]) -> Array:
        """The quantity at random weights, largest over random and adversarial moves."""
        weight, changes = drawn_units(problem.x, problem.width, problem.sigma, problem.radius, key)
        return self.quantities(problem.x, weight, changes).max(axis=0)

    @eqx.filter_jit
    def quantities(self, x: Float[Array, "n d"], weight: Float[Array, "d m"], changes: Float[Array, "c d m"]) -> Array:
        """The quantity at each of several moves."""
        return jax.vmap(lambda change: self.quantity(x, weight, change))(changes)


def part(number: int) -> Source:
    """The place of a part of Lemma B.1."""
    return Source("gu2024softmax", f"Lemma B.1, part {number}")
