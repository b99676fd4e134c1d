"""Linear models on the way of descent, whose loss falls like a power of time for a while."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import Trained, read_model, read_task

_HELD = 300
_NOISE = 0.3


def linear(params: dict, x: Array) -> Array:
    """X'w."""
    return x @ params["w"][:, None]


class FallingLosses(Population[Trained]):
    """Least squares by descent from 0, features of variances j^-fall, and equally spaced checkpoints."""

    def settings(self) -> Space:
        """Rows, features, their variances, and how many checkpoints there are how far apart."""
        return Space(
            n=Integer(300, 100, 5000, "training rows", corners=(250, 400)),
            d=Integer(80, 2, 1000, "features", corners=(60, 100)),
            fall=Real(1.2, 0.1, 4.0, "exponent at which variances of features fall", corners=(0.9, 1.5)),
            checkpoints=Integer(8, 5, 100, "checkpoints, the last model among them", corners=(6, 10)),
            steps=Integer(20, 1, 1000, "steps between them", corners=(10, 40)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Rows, and descent."""
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
        """What a law of the loss asks for: enough checkpoints, and held-out rows."""
        held = 0 if problem.held is None else int(problem.fresh.sum())
        return [
            Hypothesis("checkpoints", float(len(problem.checkpoints)), ">=", 4.0, "a law has three constants"),
            Hypothesis("held-out rows", float(held), ">=", 100.0, "with fewer, no measurement says much"),
            Hypothesis.unchecked("checkpoint k was written after k times as many steps as the first",
                                 "a power law in time asks for times"),
        ]  # fmt: skip
