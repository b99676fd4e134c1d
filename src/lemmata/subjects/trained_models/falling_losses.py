"""Falling losses: whether the loss at the last checkpoint is on the power law of the earlier checkpoints.

The theory predicts the loss at the next checkpoint, if the loss falls to a limit like a power of time. It needs equally
spaced checkpoints. It leaves open the exponent, and it does not cover sudden falls.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Control, Estimate, Hypothesis, Integer, Kind, Population, Real, Source, Space
from lemmata.facts import FACTS
from lemmata.subjects.scaling import extrapolation_interval
from lemmata.subjects.trained_models import AbstractModel, Trained, read_model, read_task

from ._fresh_rows import enough_held_out, fresh_rows
from ._gauge import AbstractGauge
from ._outputs import held_rows
from .leaving_out import mean_limits

ABOUT = {"tool": "statistics", "architecture": "any", "object": "training"}

_HELD = 300
_NOISE = 0.3


def linear(params: dict, x: Array) -> Array:
    """Return the outputs x'w of a linear model with weights w, as one column."""
    return x @ params["w"][:, None]


class FallingLosses(Population[Trained]):
    """Least squares by descent from 0 with equally spaced checkpoints, where feature j has the variance j^-fall."""

    settings = Space(
        n=Integer(300, 100, 5000, "training rows", corners=(250, 400)),
        d=Integer(80, 2, 1000, "features", corners=(60, 100)),
        fall=Real(1.2, 0.1, 4.0, "exponent at which variances of features fall", corners=(0.9, 1.5)),
        checkpoints=Integer(8, 5, 100, "checkpoints, including the last model", corners=(6, 10)),
        steps=Integer(20, 1, 1000, "steps between checkpoints", corners=(10, 40)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, d = setting["n"], setting["d"]
        x = rng.normal(size=(n + _HELD, d)) * np.arange(1, d + 1) ** (-setting["fall"] / 2)
        y = x @ rng.normal(size=d) + _NOISE * rng.normal(size=len(x))
        moment, mean = x[:n].T @ x[:n] / n, x[:n].T @ y[:n] / n
        rate, w, way = 1 / float(np.linalg.eigvalsh(moment)[-1]), np.zeros(d), []
        for _ in range(setting["checkpoints"]):
            for _ in range(setting["steps"]):
                w = w - rate * (moment @ w - mean)
            way.append(read_model((linear, {"w": jnp.asarray(w)})))
        task = read_task(way[-1], x[:n], y[:n])
        held = x[n:], task.encode(y[n:])
        return Trained(way[-1], task, x[:n], task.encode(y[:n]), held, 0.0, rate=rate, checkpoints=tuple(way[:-1]))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        held = 0 if problem.held is None else int(fresh_rows(problem).sum())
        earlier = float(len(problem.checkpoints))
        return [
            Hypothesis(FACTS["checkpoints"].given, earlier, ">=", 4.0, "the power law has three constants to fit"),
            enough_held_out(held),
            Hypothesis.unchecked("checkpoint k was written after k times as many steps as the first checkpoint",
                                 "a power law in time needs the time of each checkpoint"),
        ]  # fmt: skip


# The number of checkpoints to which the power law is fitted. With more checkpoints, the error of the prediction is
# larger than the residuals of the fit show, because no loss of descent is a power law throughout.
_WINDOW = 5
_LEVEL = 0.95
_ROUNDING = 1e-6


def _losses(problem: Trained, model: AbstractModel) -> Float[np.ndarray, " m"]:
    x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
    return problem.task.losses(model.outputs(x), y)


def earlier_losses(problem: Trained) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Times and held-out losses of the last five checkpoints before the model. The very first checkpoint has time 1."""
    count = len(problem.checkpoints)
    times = np.arange(1.0, count + 1)[-_WINDOW:]
    return times, np.array([_losses(problem, model).mean() for model in problem.checkpoints[-_WINDOW:]])


class LossOnTheLawOfCheckpoints(AbstractGauge):
    """Write checkpoints of a training run at equal intervals, and take the mean loss on held-out rows at the k-th
    checkpoint. Over a few checkpoints this loss is close to the power law E + A k^-alpha, where E, A and alpha are
    constants. Fit this law to the five checkpoints before the last model, or to four checkpoints if there are only
    four. The residuals of the fit give limits of level 0.95 for the loss of the last model on the same rows. In at
    least nine of ten training runs, these limits contain this loss.
    """

    title = "Held-out loss of the last model of a training run, predicted from earlier checkpoints"
    source = Source("hoffmann2022", note="the form of the power law; here in the time of one training")
    stated = Kind.OWN
    population = FallingLosses()
    relation = Estimate()
    control = Control("half of this loss", lambda interval, problem: interval / 2)
    controls = "the held-out loss at the next checkpoint of a training run"
    unexplained = "the exponent; sudden falls of the loss; losses that begin to rise"
    traced = False

    def passes(self, problem: Trained) -> float:
        return 2.0 * _WINDOW

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        if problem.held is None or not fresh_rows(problem).any():
            return []
        times, losses = earlier_losses(problem)
        positive = Hypothesis(
            "least loss of the checkpoints",
            float(losses.min()),
            ">",
            0.0,
            "the power law is fitted to logarithms of losses",
        )
        if losses.min() <= 0:
            return [positive]
        slope = float(np.polyfit(np.log(times), np.log(losses), 1)[0])
        return [
            positive,
            Hypothesis(
                "slope of log loss against log time",
                slope,
                "<",
                -_ROUNDING,
                "the power law must fall",
            ),
        ]

    def predict(self, problem: Trained) -> Array:
        times, losses = earlier_losses(problem)
        at = len(problem.checkpoints) + 1.0
        low, high = extrapolation_interval(times, losses, at, level=_LEVEL)
        return jnp.asarray([low, np.clip(np.sqrt(low * high), low, high), high])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The loss of the model on held-out rows that are not duplicates of training rows."""
        losses = _losses(problem, problem.model)
        return jnp.asarray(mean_limits(losses, 1 / len(losses)))

    def trivial(self, problem: Trained) -> Array:
        """The loss at the previous checkpoint."""
        return jnp.asarray(_losses(problem, problem.checkpoints[-1]).mean())
