"""Early stopping and ridge regression: two nearly equivalent ways to regularise least squares.

This theory compares gradient flow from 0 with ridge regression, at every time and as the ridge vanishes. It assumes a
linear model with independent noise. It does not explain how to choose the time, or what random steps change.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Choice, Claim, Control, Hypothesis, Integer, Population, Rate, Source, Space
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {
    "tool": "linear algebra",
    "architecture": "linear model",
    "object": "generalisation",
    "VanishingRidge": {"object": "training"},
}

_FACTOR = 1.6862
_RIDGES = (1e-2, 1e-3, 1e-4, 1e-5)


class StoppedRegression(eqx.Module):
    """A linear model y = X beta + noise, and a time at which gradient flow stops.

    Args:
        x: the rows, which are fixed.
        beta: the true weights of the linear model.
        noise: the standard deviation of the noise.
        time: the time t at which the flow of the loss |X w - y|²/(2 n) stops.
    """

    x: Float[Array, "n d"]
    beta: Float[Array, " d"]
    noise: Float[Array, ""]
    time: Float[Array, ""]

    @property
    def covariance(self) -> Float[Array, "d d"]:
        """The matrix X'X/n of the n rows."""
        return self.x.T @ self.x / len(self.x)


class StoppedRegressions(Population[StoppedRegression]):
    """In half of the draws, the bound of `early_stopping_is_ridge` is nearly attained: columns are orthogonal, targets
    are mostly noise, and the time is near 1.79/eigenvalue.
    """

    settings = Space(
        n=Integer(20, 8, 200, "rows", corners=(16, 40)),
        d=Integer(5, 1, 8, "coordinates", corners=(3, 8)),
        family=Choice("both", ("both", "tight", "generic"), "which problems"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StoppedRegression:
        keys = jax.random.split(key, 6)
        x = jax.random.normal(keys[0], (setting["n"], setting["d"]))
        even = jnp.linalg.qr(x)[0] * jnp.sqrt(1.0 * setting["n"])
        drawn = jax.random.bernoulli(keys[1])
        tight = {"both": drawn, "tight": True, "generic": False}[setting["family"]]
        noise = jnp.where(tight, 100.0, 4 ** jax.random.uniform(keys[2], minval=-1.0))
        time = jnp.where(tight, jax.random.uniform(keys[3], minval=1.6, maxval=2.0),
                         100 ** jax.random.uniform(keys[4], minval=-0.5, maxval=0.5))  # fmt: skip
        return StoppedRegression(jnp.where(tight, even, x), jax.random.normal(keys[5], (setting["d"],)), noise, time)

    def hypotheses(self, problem: StoppedRegression) -> list[Hypothesis]:
        values = jnp.linalg.eigvalsh(problem.covariance)
        return [
            Hypothesis("the time is positive", problem.time, ">", 0.0, "its inverse is the ridge"),
            Hypothesis(
                "the columns are independent",
                values[0] / values[-1],
                ">",
                1e-6,
                "only then are all weights determined by the rows",
            ),
        ]


def _risks(problem: StoppedRegression, shrink: Float[Array, "d d"], weights: Float[Array, "d n"]) -> Float[Array, " 2"]:
    """Return the expected |X (w - beta)|²/n and |w - beta|² for w = weights y.

    The product weights X is the identity minus `shrink`.
    """
    bias = shrink @ problem.beta
    spread = problem.noise**2 * weights @ weights.T
    return jnp.stack([
        bias @ problem.covariance @ bias + jnp.trace(problem.covariance @ spread), bias @ bias + jnp.trace(spread)
    ])  # fmt: skip


class EarlyStoppingIsRidge(Claim[StoppedRegression]):
    """Let y = X beta + noise, where X has n rows and the noise is independent with equal variances. Run gradient flow
    of |X w - y|²/(2 n) from 0 up to time t, and let ridge regression minimise |X w - y|²/n + |w|²/t. The risk is either
    the risk E |X (w - beta)|²/n in the sample, or the risk E |w - beta|² of the weights. For both of these risks,

        risk of gradient flow <= 1.6862 (risk of ridge regression).

    The maximum of ((1 - e^-s)(1 + s)/s)² over s > 0 is 1.6859, at s = 1.79. The ratio of the risk of gradient flow to
    the risk of ridge regression is 1.6859 if beta is 0 and all eigenvalues of X'X/n are 1.79/t.
    """

    title = "Early stopping of gradient flow has at most 1.69 times the risk of ridge regression in least squares"
    source = Source("ali2019", note="main result, in the sample and for the weights")
    population = StoppedRegressions()
    relation = AtMost()
    control = Control("the factor 1.6 is enough", lambda bound, problem: bound * 1.6 / _FACTOR)
    controls = "the risk of a fit that is stopped early, at every time"
    unexplained = "when to stop"

    def predict(self, problem: StoppedRegression) -> Array:
        d = len(problem.beta)
        ridged = problem.covariance + jnp.eye(d) / problem.time
        weights = jnp.linalg.solve(ridged, problem.x.T) / len(problem.x)
        return _FACTOR * _risks(problem, jnp.eye(d) - weights @ problem.x, weights)

    def measure(self, problem: StoppedRegression, key: Key[Array, ""]) -> Array:
        """Compute w = W y, where dW/dt = X'/n - C W and C = X'X/n. W is a block of one matrix exponential, and W X = 1
        - exp(-t C).
        """
        n, d = problem.x.shape
        block = jnp.zeros((d + n, d + n)).at[:d, :d].set(-problem.covariance).at[:d, d:].set(problem.x.T / n)
        grown = jax.scipy.linalg.expm(problem.time * block, max_squarings=48)
        return _risks(problem, grown[:d, :d], grown[:d, d:])

    def trivial(self, problem: StoppedRegression) -> Array:
        """Return the risks of least squares, which is the limit of the flow."""
        return problem.noise**2 / len(problem.x) * jnp.stack(
            [jnp.asarray(1.0 * len(problem.beta)), jnp.trace(jnp.linalg.inv(problem.covariance))]
        )  # fmt: skip


class Interpolation(eqx.Module):
    """A system A w = b with more unknowns than equations."""

    a: Float[Array, "n p"]
    b: Float[Array, " n"]


class VanishingRidge(Claim[Interpolation]):
    """Let A have independent rows. Let w(r) minimise |A w - b|² + r |w|², and let w* be the least-norm solution of A w
    = b, for the l_2 norm. Gradient flow of |A w - b|² from 0 also ends at w*. As r -> 0, with a constant C,

        |w(r) - w*| ~ C r.
    """

    title = "As the ridge r vanishes, ridge regression approaches the interpolant of least norm in proportion to r"
    source = Source("emergence2026", "Figure 6.4", note="with the rate")
    population = Drawn(
        Interpolation, n=rows(3, 1, 8, corners=(2, 4)), p=dimension(16, 16), a=normal("n", "p"), b=normal("n")
    )
    relation = Rate("r", _RIDGES)
    control = Control("the distance falls like sqrt(r)", lambda exponent, problem: exponent - 0.5)
    controls = "how far a ridge moves the interpolant"
    unexplained = "which ridge predicts best"
    trials = 64
    predict = 1.0

    def measure_at(self, problem: Interpolation, key: Key[Array, ""], r: float) -> Array:
        """Return the distance between the ridge solution and the interpolant of least norm."""
        a = problem.a
        ridged = jnp.linalg.solve(a.T @ a + r * jnp.eye(a.shape[1]), a.T @ problem.b)
        return jnp.linalg.norm(ridged - jnp.linalg.lstsq(a, problem.b)[0])
