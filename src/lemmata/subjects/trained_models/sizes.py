"""Sizes: whether the loss of the model is on the power law of smaller models that were trained in the same way.

The theory predicts the loss one size ahead, if it falls to a limit like a power of the number of parameters. It needs
at least four smaller models. It leaves open the exponent, and up to which size more parameters help.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Control, Estimate, Hypothesis, Integer, Kind, Population, Real, Source, Space
from lemmata.subjects.scaling import extrapolation_interval
from lemmata.subjects.trained_models import AbstractModel, Trained, read_model, read_task

from ._fresh_rows import enough_held_out, fresh_rows
from ._gauge import AbstractGauge
from ._outputs import held_rows
from .leaving_out import LIMITS, mean_limits

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}

_HELD = 400
_ALL = 300  # features that there are
_STEP = 1.4


def narrow(params: dict, x: Array) -> Array:
    """Predict by a linear function of the first features. The number of these features is the number of weights."""
    return x[:, : len(params["w"])] @ params["w"][:, None]


class SizedModels(Population[Trained]):
    """Least squares on the first p of 300 features, where feature j adds j^-(1 + fall) to the target's variance.

    The loss of a fit to p features on new rows is the noise plus a tail that falls like p^-fall. Each size is 1.4 times
    the previous size. The largest fit is the examined model.
    """

    settings = Space(
        n=Integer(3000, 500, 100_000, "training rows", corners=(2500, 4000)),
        first=Integer(4, 2, 50, "parameters of the smallest model", corners=(3, 5)),
        count=Integer(8, 5, 12, "number of sizes, including the model's own", corners=(7, 9)),
        fall=Real(0.8, 0.1, 4.0, "exponent at which the loss falls to its limit", corners=(0.6, 1.0)),
        noise=Real(0.3, 0.0, 10.0, "standard deviation of the noise", corners=(0.2, 0.4)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw rows and targets, and fit a model of each size."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n = setting["n"]
        x = rng.normal(size=(n + _HELD, _ALL))
        worth = np.arange(1, _ALL + 1) ** (-(1 + setting["fall"]) / 2) * rng.choice([-1.0, 1.0], _ALL)
        y = x @ worth + setting["noise"] * rng.normal(size=len(x))
        wide = [round(setting["first"] * _STEP**k) for k in range(setting["count"])]
        moment, mean = x[:n, : wide[-1]].T @ x[:n, : wide[-1]], x[:n, : wide[-1]].T @ y[:n]
        models: list[AbstractModel] = [read_model((narrow, {"w": np.linalg.solve(moment[:p, :p], mean[:p])}))
                                       for p in wide]  # fmt: skip
        task = read_task(models[-1], x[:n], y[:n])
        held = x[n:], task.encode(y[n:])
        return Trained(models[-1], task, x[:n], task.encode(y[:n]), held, 0.0, sizes=tuple(models[:-1]))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        held = 0 if problem.held is None else int(fresh_rows(problem).sum())
        sizes = {len(model.theta) for model in problem.sizes if len(model.theta) < len(problem.model.theta)}
        why = "the power law has three constants to fit; pass sizes=, or define sizes() in the program"
        return [
            Hypothesis("smaller models of different sizes", float(len(sizes)), ">=", 4.0, why),
            enough_held_out(held),
            Hypothesis.unchecked("models of all sizes are trained alike, on the same rows and to convergence",
                                 "a power law over sizes holds only for models that are trained alike"),
        ]  # fmt: skip


# At level 0.95, the interval missed 12 of 160 families: the residuals at few sizes show too little of the error.
_LEVEL = 0.99
_ROUNDING = 1e-6


def _losses(problem: Trained, model: AbstractModel) -> Float[np.ndarray, " m"]:
    x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
    return problem.task.losses(model.outputs(x), y)


def smaller_losses(problem: Trained) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Numbers of parameters and mean held-out losses of the smaller models, in increasing size."""
    own = sorted((len(model.theta), place) for place, model in enumerate(problem.sizes))
    below = [(size, place) for size, place in own if size < len(problem.model.theta)]
    losses = [_losses(problem, problem.sizes[place]).mean() for _, place in below]
    return np.array([float(size) for size, _ in below]), np.array(losses)


class LossOnTheLawOfSizes(AbstractGauge):
    """Train models of different sizes in the same way on the same rows, and let P be the number of parameters. The mean
    loss on held-out rows is close to the power law E + A P^-alpha, where E, A and alpha are constants. Fit this law to
    all models that are smaller than the examined model; at least four are needed. The residuals of the fit give limits
    of level 0.99. In at least nine of ten such sets of models, these limits contain the loss of the examined model on
    the same rows.
    """

    title = "Loss of a model, predicted from smaller models by a scaling law"
    source = Source("hoffmann2022", note="the form of the power law; here over the sizes of models")
    stated = Kind.OWN
    population = SizedModels()
    relation = Estimate()
    level = _LEVEL
    ends = LIMITS
    control = Control("half of this loss", lambda interval, problem: interval / 2)
    controls = "how much the next size would lower the loss, before it is trained"
    unexplained = "the exponent; sizes beyond which more parameters no longer help; models that are not trained alike"
    of_losses = True
    traced = False
    trials = 160

    def passes(self, problem: Trained) -> float:
        return 1.0 + len(problem.sizes)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        if problem.held is None or not fresh_rows(problem).any():
            return []
        sizes, losses = smaller_losses(problem)
        positive = Hypothesis(
            "least loss of the smaller models",
            float(losses.min()),
            ">",
            0.0,
            "the power law is fitted to logarithms of losses",
        )
        if losses.min() <= 0:
            return [positive]
        slope = float(np.polyfit(np.log(sizes), np.log(losses), 1)[0])
        why = "the power law must fall, but the loss does not fall with more parameters"
        return [
            positive,
            Hypothesis(
                "slope of log loss against the logarithm of the number of parameters",
                slope,
                "<",
                -_ROUNDING,
                why,
            ),
        ]

    def predict(self, problem: Trained) -> Array:
        sizes, losses = smaller_losses(problem)
        low, high = extrapolation_interval(sizes, losses, float(len(problem.model.theta)), level=_LEVEL)
        return jnp.asarray([low, np.clip(np.sqrt(low * high), low, high), high])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The loss of the model on held-out rows that are not duplicates of training rows."""
        losses = _losses(problem, problem.model)
        return jnp.asarray(mean_limits(losses, 1 / len(losses)))

    def trivial(self, problem: Trained) -> Array:
        """The loss of the largest of the smaller models."""
        return jnp.asarray(smaller_losses(problem)[1][-1])
