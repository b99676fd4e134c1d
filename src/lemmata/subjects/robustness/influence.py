"""Influence functions: the effect of leaving one training row out, to first order.

This theory describes the change of a prediction if one training row of a regularised regression is left out. It assumes
a smooth, strongly convex loss. It does not explain networks, whose minima are neither unique nor isolated. It does not
explain the removal of many rows at once, whose effects do not add up.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Population, Rate, Real, Source, Space

ABOUT = {"tool": "statistics", "architecture": "linear model", "object": "training"}


class LogisticRows(eqx.Module):
    """Normal inputs x whose classes are drawn at the odds exp(<truth, x>).

    Args:
        truth: the weights of the true odds.
        point: another input, at which outputs are compared.
        penalty: lambda/n, where lambda |w|²/2 is added to the sum of the losses of n rows.
    """

    truth: Float[Array, " d"]
    point: Float[Array, " d"]
    penalty: float = eqx.field(static=True)


class LogisticSamples(Population[LogisticRows]):
    """Samples whose true weights have the length 1.5 and a random direction. The other input is normal."""

    def settings(self) -> Space:
        d = Integer(5, 2, 12, "coordinates", corners=(3, 7))
        return Space(d=d, penalty=Real(1e-3, 1e-4, 0.1, "penalty over the number of rows"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LogisticRows:
        truth_key, point_key = jax.random.split(key)
        truth = jax.random.normal(truth_key, (setting["d"],))
        point = jax.random.normal(point_key, (setting["d"],))
        return LogisticRows(1.5 * truth / jnp.linalg.norm(truth), point, setting["penalty"])

    def hypotheses(self, problem: LogisticRows) -> list[Hypothesis]:
        return [Hypothesis("the penalty", problem.penalty, ">", 0.0, "the loss is strongly convex")]


_LEFT_OUT = 30
_NEWTON = 50


def _fit(
    rows: Float[np.ndarray, "n d"], signs: Float[np.ndarray, " n"], penalty: float, start: Float[np.ndarray, " d"]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimiser of sum_i log(1 + exp(-s_i <w, x_i>)) + penalty |w|²/2, and the Hessian there.

    The minimiser is found by Newton steps. The signs s_i are the classes.
    """
    eye = penalty * np.eye(rows.shape[1])
    loss = lambda w: np.logaddexp(0.0, -signs * (rows @ w)).sum() + penalty * w @ w / 2
    weights = start
    for _ in range(_NEWTON):
        wrong = 1 / (1 + np.exp(signs * (rows @ weights)))
        hessian = (rows.T * (wrong * (1 - wrong))) @ rows + eye
        step = np.linalg.solve(hessian, rows.T @ (signs * wrong) - penalty * weights)
        size = 1.0
        while size > 1e-6 and loss(weights + size * step) > loss(weights) + 1e-9:
            size /= 2
        weights = weights + size * step
        if np.abs(step).max() < 1e-12:
            break
    return weights, hessian  # pyright: ignore[reportPossiblyUnboundVariable]  # _NEWTON > 0


class InfluenceErrsToSecondOrder(Claim[LogisticRows]):
    """Fit logistic regression to n rows. Let lambda |w|²/2 be the penalty on the weights w, where lambda is
    proportional to n. If row i is removed, the influence function estimates that the weights change by

        H^-1 g_i,

    where H is the Hessian of the penalised loss and g_i is the gradient of the loss of row i, both at the fit to all
    rows. At any input, compare the output after this estimated change with the output of the fit without row i. The
    root mean square difference of these two outputs, over removed rows i, falls like n^(-2). By contrast, the change of
    the output itself when a row is removed falls only like n^(-1).
    """

    title = "The error of influence functions falls like n^(-2) with the number of rows n"
    source = Source("emergence2026", "Figure 13.18", note="with the order of the error")
    population = LogisticSamples()
    relation = Rate("n", (150.0, 600.0, 2400.0), margin=0.15, resolution=0.15)
    control = Control("the error falls like n^(-3/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the effect of one training row on a prediction"
    unexplained = "several rows at once; losses with many minima"
    traced = False  # Newton's steps are NumPy's
    trials = 48
    predict = -2.0

    def measure_at(self, problem: LogisticRows, key: Key[Array, ""], n: float) -> Array:
        """Leave out a few rows, one at a time. Return the root mean square difference of the outputs of each fit and of
        its estimate.
        """
        generator = np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
        truth, point, count = np.asarray(problem.truth), np.asarray(problem.point), int(n)
        rows = generator.standard_normal((count, len(truth)))
        signs = np.where(generator.random(count) < 1 / (1 + np.exp(-(rows @ truth))), 1.0, -1.0)
        penalty = problem.penalty * count
        weights, hessian = _fit(rows, signs, penalty, np.zeros_like(truth))
        errors = []
        for left in range(_LEFT_OUT):
            gradient = -signs[left] * rows[left] / (1 + np.exp(signs[left] * (rows[left] @ weights)))
            estimate = np.linalg.solve(hessian, gradient)
            others = np.arange(count) != left
            refitted, _ = _fit(rows[others], signs[others], penalty, weights + estimate)
            errors.append(point @ (refitted - weights - estimate))
        return jnp.asarray(np.sqrt(np.mean(np.square(errors))))
