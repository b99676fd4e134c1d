"""The start: whether a model is still linear in its parameters around the point where its training began.

The theory gives the outputs of the model's linearisation at the start. It needs the parameters that training began
with. It does not cover models that have left the linear regime, and it leaves open why a model that leaves this regime
should predict better.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import stats

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.facts import FACTS
from lemmata.subjects.trained_models import AbstractModel, Trained
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._gauge import AbstractGauge
from ._outputs import held_rows

ABOUT = {"tool": "reproducing kernels", "architecture": "any", "object": "training"}

RESIDUAL = "relative residual of the linear model at the start, on training rows"
"""The name of the hypothesis which says that training stayed in the linear regime."""
LAZY = 0.1
_LEVEL = 0.95
_FACTOR = 1.3
_STEP = 1e-4
_ROUNDING = 1e-6


def begun(problem: Trained) -> list[Hypothesis]:
    """The conditions that the start is known, that its weights have changed, and that nothing else has changed."""
    if problem.start is None:
        return [Hypothesis(FACTS["start"].given, 0.0, ">=", 1.0, "pass --start or start=")]
    if not problem.model.differentiable:
        return []
    before, after = at_start(problem), problem.model.in_double()
    moved = float(np.linalg.norm(after.theta - before.theta) / max(float(np.linalg.norm(before.theta)), 1e-300))
    few = problem.x[:32]
    own, other = problem.start.in_double().outputs(few), before.outputs(few)
    apart = float(np.abs(own - other).max() / max(float(np.abs(own).max()), 1e-300))
    return [
        Hypothesis("distance of the weights from the start, relative to the length of the start", moved, ">", 0.0,
            "otherwise nothing was trained"),
        Hypothesis("difference in outputs between the start and the model with the start's parameters", apart, "<=",
                   _ROUNDING, "values that are not parameters, such as running means, must not change in training"),
    ]  # fmt: skip


def at_start(problem: Trained) -> AbstractModel:
    """The model's own function, in float64, at the parameters that training began with."""
    assert problem.start is not None
    return problem.model.in_double().at(problem.start.theta.astype(float))


def squares(
    problem: Trained, x: np.ndarray, pushed: Float[np.ndarray, "n C"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return |f - f0 - pushed|² and |f - f0|² for each row.

    Here f and f0 are the outputs now and at the start, and `pushed` is J0 (theta - theta0), as in `pushed_forward`.
    """
    moved = problem.model.in_double().outputs(x) - at_start(problem).outputs(x)
    return ((moved - pushed) ** 2).sum(1), (moved**2).sum(1)


def pushed_forward(problem: Trained, x: np.ndarray) -> Float[np.ndarray, "n C"]:
    """Compute J0 (theta - theta0) by one product; J0 is the Jacobian of the outputs at the start theta0."""
    before = at_start(problem)
    return before.jvp(problem.model.theta.astype(float) - before.theta, x)


def pushed_by_differences(problem: Trained, x: np.ndarray) -> Float[np.ndarray, "n C"]:
    """Compute J0 (theta - theta0), as in `pushed_forward`, by a central difference of outputs at the start."""
    before = at_start(problem)
    way = _STEP * (problem.model.theta.astype(float) - before.theta)
    return (before.at(before.theta + way).outputs(x) - before.at(before.theta - way).outputs(x)) / (2 * _STEP)


def root_ratio(above: Float[np.ndarray, " n"], below: Float[np.ndarray, " n"], new: int) -> tuple[float, float]:
    """Return r = (mean above / mean below)^1/2, and the standard deviation of the change in log r on `new` rows."""
    a, b = float(above.mean()), float(below.mean())
    if a <= _ROUNDING**2 * b:
        return float(np.sqrt(a / b)), 0.0
    spread = (above / a - below / b).std(ddof=1) / 2
    return float(np.sqrt(a / b)), float(spread * np.sqrt(1 / len(above) + 1 / new))


class LinearFromTheStart(AbstractGauge):
    """Let theta0 be the parameters that the training of a model began with. Let f0 be the outputs of the model at
    theta0, and let J0 be their Jacobian with respect to the parameters. Let f be the outputs at the trained parameters
    theta. The distance of the model from linear training is the relative residual

        |f - f0 - J0 (theta - theta0)| / |f - f0|,

    where norms are over rows. Suppose that this residual is at most 1/10 on the training rows, which means that
    training was lazy. Then the residual is nearly the same on rows that the model has not seen. Let s be the standard
    deviation of the logarithm of the quotient of the two residuals. It allows for chance, since a residual is the
    square root of a ratio of two means over rows. In at least nine of ten models, the residual on unseen rows is within
    a factor 1.3 exp(1.96 s) of the residual on training rows. A residual below 1e-6 is rounding error.
    """

    title = "Distance of a network from linear training on new rows, predicted from the training rows"
    source = Source("chizat2019", note="the relative change of the tangent; here tested on new rows")
    stated = Kind.OWN
    population = TrainedNetworks(hidden=48, widths=(32, 96), steps=5)
    relation = Estimate()
    ends = f"{100 * _LEVEL:g} % limits"
    control = Control("a third of this residual", lambda interval, problem: interval / 3)
    controls = "how far the outputs on new rows are from those of the linear model around the start"
    unexplained = "models that have left the linear regime, and what they gain by it"
    traced = False
    trivial = 1.0  # the residual of outputs that do not move from their start

    def passes(self, problem: Trained) -> float:
        return 4.0

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = begun(problem)
        if len(found) < 2 or not all(bool(own.holds) for own in found):
            return found
        value, _ = root_ratio(*squares(problem, problem.x, pushed_forward(problem, problem.x)), len(problem.x))
        return [*found, Hypothesis(RESIDUAL, value, "<=", LAZY,
                                   "above this limit, training has changed the features")]  # fmt: skip

    def predict(self, problem: Trained) -> Array:
        new = len(problem.x) if problem.held is None else len(problem.held[0])
        value, spread = root_ratio(*squares(problem, problem.x, pushed_forward(problem, problem.x)), new)
        reach = _FACTOR * np.exp(stats.norm.ppf((1 + _LEVEL) / 2) * spread)
        low = value / reach if value > _ROUNDING else 0.0
        return jnp.asarray([low, value, max(value * reach, _ROUNDING)])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Compare outputs on held-out rows with a central difference of outputs at the start."""
        x, _ = held_rows(problem)
        above, below = squares(problem, x, pushed_by_differences(problem, x))
        value, spread = root_ratio(above, below, len(x))
        reach = np.exp(stats.norm.ppf((1 + _LEVEL) / 2) * spread / np.sqrt(2))
        return jnp.asarray([value / reach, value, value * reach])


def kernel_errors(kernel: Float[np.ndarray, "n n"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "2"]:
    """Compute the exact leave-one-out errors of ridge regression: squared error and share of wrong classes.

    Targets are centred. Of 29 values of the ridge, the value with the least squared error is used. If row i is left out
    of ridge regression with hat matrix H, the residual at this row is the residual of the fit to all rows, divided by 1
    - H_ii.

    Args:
        kernel: the matrix of the tangent kernel between the rows.
        y: one-hot classes.
    """
    values, vectors = np.linalg.eigh(kernel)
    values, centred = np.maximum(values, 0), y - y.mean(0)
    found = []
    for ridge in values.mean() * np.geomspace(1e-4, 1e3, 29):
        kept = values / (values + ridge)
        residual = (centred - (vectors * kept) @ (vectors.T @ centred)) / (1 - vectors**2 @ kept)[:, None]
        found.append(((residual**2).sum(1).mean(), (y - residual).argmax(1) != y.argmax(1)))
    square, wrong = min(found, key=lambda own: own[0])
    return np.array([square, wrong.mean()])
