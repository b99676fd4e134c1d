"""Linear models of several sizes, whose loss falls like a power of the size to a floor."""

import jax
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import AbstractModel, Trained, read_model, read_task

_HELD = 400
_ALL = 300  # features that there are
_STEP = 1.4


def narrow(params: dict, x: Array) -> Array:
    """The first features alone, as many as there are weights."""
    return x[:, : len(params["w"])] @ params["w"][:, None]


class SizedModels(Population[Trained]):
    """Least squares on the first p of 300 features, feature j worth j^-(1 + fall) of the target's variance.

    The loss of p features on new rows is the noise and a tail that falls like p^-fall. Sizes grow by a factor 1.4 each;
    the largest is the model.
    """

    def settings(self) -> Space:
        """Rows, sizes, and how fast features lose their worth."""
        return Space(
            n=Integer(3000, 500, 100_000, "training rows", corners=(2500, 4000)),
            first=Integer(4, 2, 50, "parameters of the smallest model", corners=(3, 5)),
            count=Integer(8, 5, 12, "sizes, the model's own among them", corners=(7, 9)),
            fall=Real(0.8, 0.1, 4.0, "exponent at which the loss falls to its floor", corners=(0.6, 1.0)),
            noise=Real(0.3, 0.0, 10.0, "standard deviation of what no feature tells", corners=(0.2, 0.4)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Rows, targets, and a model of each size."""
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
        """What a law over sizes asks for: enough smaller models, and held-out rows."""
        held = 0 if problem.held is None else int(problem.fresh.sum())
        sizes = {len(model.theta) for model in problem.sizes if len(model.theta) < len(problem.model.theta)}
        why = "a law has three constants; sizes() in the program, or sizes="
        return [
            Hypothesis("smaller models of different sizes", float(len(sizes)), ">=", 4.0, why),
            Hypothesis("held-out rows", float(held), ">=", 100.0, "with fewer, no measurement says much"),
            Hypothesis.unchecked("models of all sizes are trained alike, on the same rows and to the end",
                                 "a law over sizes compares nothing else"),
        ]  # fmt: skip
