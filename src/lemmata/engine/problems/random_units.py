"""Random hidden units of a softmax layer (two-layer softmax network), and allowed changes of their weights."""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.softmax_parameters import CONSTANT, Number, logit_bound

DELTA = 0.1
ROWS = 32


class RandomUnits(eqx.Module):
    """Inputs of a softmax layer of m units with weights w_r ~ N(0, sigma² I), and the distance that weights may move.

    Args:
        x: the inputs x_i.
        outputs: the number k of outputs. The size of the kernel matrix is n k (nd in the source, gu2024softmax).
        width: the number m of units.
        sigma: standard deviation of the weights.
        radius: R, the largest distance |v_r - w_r| between moved weights v_r and w_r.
        delta: the failure probability of the statements about random weights.
    """

    x: Float[Array, "n d"]
    outputs: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    sigma: float = eqx.field(static=True)
    radius: float = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=DELTA)

    @property
    def bound(self) -> float:
        """The bound B on the logits (gu2024softmax, Definition 4.1)."""
        return logit_bound(len(self.x), self.outputs, self.sigma, self.delta)


@partial(jax.jit, static_argnums=(1, 2))
def unit_rows(key: Key[Array, ""], n: int, d: int) -> Float[Array, "n d"]:
    """Draw points uniformly on the unit sphere of R^d.

    Args:
        key: the random key.
        n: the number of points.
        d: the dimension of the points.
    """
    x = jax.random.normal(key, (n, d))
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)


class RandomLayers(Population[RandomUnits]):
    """Inputs on the unit sphere, where the bounds are tightest, and random units.

    Args:
        radius: the default R.
        outputs: the smallest number of outputs.
        sigma: the default standard deviation of the weights.
    """

    radius: float = 0.009
    outputs: int = 1
    sigma: float = 0.05

    def settings(self) -> Space:
        return Space(
            n=Integer(8, 1, 64, "inputs"),
            d=Integer(4, 1, 64, "dimension of the inputs"),
            k=Integer(3, self.outputs, 64, "outputs"),
            m=Integer(64, 2, 4096, "units"),
            sigma=Real(self.sigma, 0.0, 1.0, "standard deviation of the weights"),
            R=Real(self.radius, 1e-6, 0.00999, "how far the weights of a unit may move"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RandomUnits:
        x = unit_rows(key, setting["n"], setting["d"])
        return RandomUnits(x, setting["k"], setting["m"], setting["sigma"], setting["R"])

    def pose(self, problem: object) -> RandomUnits | None:
        """Convert a regression to 64 units with sigma = 0.05, on its first 32 inputs, scaled to a largest norm of 1."""
        if not isinstance(problem, Regression):
            return None
        x = problem.x[:ROWS]
        longest = jnp.linalg.norm(x, axis=1).max()
        return RandomUnits(x / jnp.where(longest > 0, longest, 1.0), problem.y.shape[1], 64, 0.05, self.radius)

    def hypotheses(self, problem: RandomUnits) -> list[Hypothesis]:
        n = len(problem.x)
        # P(some |<w_r, x_i>| > B) <= 2 n m exp(-B²/(2 sigma²)) <= 2 n m (n k/delta)^(-C²/2), which must be <= delta/(n
        # k).
        most = (CONSTANT**2 / 2 - 1) * math.log(n * problem.outputs / problem.delta)
        width = "the width is polynomial: log(2 n m) is at most 49 log(n k / delta)"
        return [
            in_unit_ball(problem.x, why="|<w, x>| is bounded by |w|"),
            Hypothesis("R is below 0.01", problem.radius, "<", 0.01, "linear terms dominate"),
            Hypothesis("R is positive", problem.radius, ">", 0.0, "the units move"),
            Hypothesis(width, math.log(2 * n * problem.width), "<=", most, "B does not grow with the number of units"),
        ]


def moves(
    x: Float[Array, "n d"], weight: Float[Array, "d m"], radius: Number, drawn: Float[Array, "d m"]
) -> Float[Array, "6 d m"]:
    """Six changes of the weights in which no w_r moves farther than R: random directions, and five worst cases.

    The worst cases are as follows. All units move along the input at which the exponentials have the largest sum. All
    units move against the input at which this sum is smallest. Each unit moves along the line of the input at which its
    logit is largest in modulus, so that this modulus grows. The unit with the largest softmax share at any input moves
    along this input, and the other units move against it. Half of the units move along the first input, and the other
    half against it.

    Args:
        x: the inputs x_i, one in each row.
        weight: the weights W.
        radius: the radius R.
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
