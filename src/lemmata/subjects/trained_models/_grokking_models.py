"""Linear classifiers whose weights start far from 0.

Such classifiers fit their training rows early, and learn the true rule late.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import expit

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.facts import FACTS
from lemmata.subjects.trained_models import Trained, read_model, read_task

from ._fresh_rows import enough_held_out, fresh_rows

_STRONG = 3
_WEAK = 0.4
_HELD = 300
_RATE = 1.5
_TIMES = (0.02, 0.06, 0.2, 1.0)


def two_classes(params: dict, x: Array) -> Array:
    """Return the logits 0 and x'w of two classes."""
    return jnp.stack([jnp.zeros(len(x)), x @ params["w"]], axis=1)


def _descend(
    w: Float[np.ndarray, " d"], x: Float[np.ndarray, "n d"], y: np.ndarray, decay: float, steps: int
) -> Float[np.ndarray, " d"]:
    for _ in range(steps):
        w = w - _RATE * ((expit(x @ w) - y) @ x / len(x) + decay * w)
    return w


class GrokkingModels(Population[Trained]):
    """Two classes, given by the sign of the sum of three strong features. Many weak features have no information.

    By default, there are fewer rows than features. Descent on the mean log loss plus decay begins at normal weights of
    a given size. The training rows do not constrain a part of the weights. If the initial size is large, this part
    causes wrong predictions on held-out rows until it has decayed. The part decays long after all training rows are
    fitted. With random classes (`noise` = 1), predictions on held-out rows stay wrong.
    """

    settings = Space(
        n=Integer(80, 20, 500, "training rows", corners=(60, 100)),
        d=Integer(200, 20, 1000, "features", corners=(180, 240)),
        start=Real(4.0, 0.0, 100.0, "size of the weights at the start of training", corners=(3.0, 6.0)),
        decay=Real(0.004, 1e-4, 1.0, "decay of the weights", corners=(0.003, 0.006)),
        noise=Real(0.0, 0.0, 1.0, "share of classes drawn at random", corners=(0.0, 1.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw rows, and compute the weights along the path of gradient descent."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, d, decay = setting["n"], setting["d"], setting["decay"]
        size = np.where(np.arange(d) < _STRONG, 1.0, _WEAK)
        x = size * rng.normal(size=(n + _HELD, d))
        y = (x[:, :_STRONG].sum(1) > 0).astype(int)
        y = np.where(rng.random(len(y)) < setting["noise"], rng.integers(0, 2, len(y)), y)
        y[:2] = 0, 1
        w, done, way = setting["start"] * rng.normal(size=d), 0, []
        whole = 8 / (_RATE * decay)
        for time in _TIMES:
            steps = round(time * whole)
            w, done = _descend(w, x[:n], y[:n], decay, steps - done), steps
            way.append(read_model((two_classes, {"w": w})))
        task = read_task(way[-1], x[:n], y[:n])
        held = x[n:], task.encode(y[n:])
        return Trained(way[-1], task, x[:n], task.encode(y[:n]), held, decay, checkpoints=tuple(way[:-1]))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        held = 0 if problem.held is None else int(fresh_rows(problem).sum())
        earlier = float(len(problem.checkpoints))
        return [
            Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0),
            Hypothesis("the model predicts classes", float(problem.task.is_classification), ">=", 1.0),
            Hypothesis(FACTS["checkpoints"].given, earlier, ">=", 2.0, "pass --checkpoint or checkpoints="),
            enough_held_out(held),
        ]
