"""Small networks trained by gradient descent on all rows, at a known rate, from a known start, without decay."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.facts import FACTS
from lemmata.subjects.trained_models import Trained, read_model, read_task

CLASSES = 3


def relu_network(params: dict, x: Any) -> Array:
    """A layer of rectified units and a readout, without constants. It is homogeneous of degree 2 in its weights."""
    return jax.nn.relu(x @ params["w1"]) @ params["w2"]


def tanh_network(params: dict, x: Any) -> Array:
    """A layer of hyperbolic tangents and a readout."""
    return jnp.tanh(x @ params["w1"]) @ params["w2"]


NETWORKS = {"relu": relu_network, "tanh": tanh_network}


@functools.partial(jax.jit, static_argnums=0)
def descend(activation: str, start: dict, x: Array, y: Array, rate: Array, steps: Array) -> dict:
    """Parameters after steps of descent on the mean log loss of all rows.

    Args:
        activation: "relu" or "tanh".
        start: parameters.
        x: rows.
        y: one-hot classes.
        rate: of descent.
        steps: how many.
    """

    def loss(params: dict) -> Array:
        f = NETWORKS[activation](params, x)
        return jnp.mean(jax.nn.logsumexp(f, axis=1) - jnp.sum(y * f, axis=1))

    slope = jax.grad(loss)
    moved = lambda _, params: jax.tree.map(lambda own, push: own - rate * push, params, slope(params))
    return jax.lax.fori_loop(0, steps, moved, start)


def draw_classes(
    rng: np.random.Generator, n: int, centres: Float[np.ndarray, "C d"], spread: float, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows around centres. The share `noise` of them gets a random class.

    Args:
        rng: of the draw.
        n: rows.
        centres: of the classes.
        spread: standard deviation around them.
        noise: the share of classes at random.
    """
    labels = rng.integers(0, len(centres), n)
    x = centres[labels] + spread * rng.normal(size=(n, centres.shape[1]))
    return x, np.where(rng.random(n) < noise, rng.integers(0, len(centres), n), labels)


class DescendedNetworks(Population[Trained]):
    """Three normal classes, and networks with a layer of units without constants and a readout, trained by descent on
    all rows.

    Args:
        activation: "relu" or "tanh".
        rows: training rows by default.
        features: of a row by default.
        hidden: units by default.
        rate: of descent by default.
        steps: of descent by default.
        spread: standard deviation of rows around the centre of their class, whose length is about 3.
        noise: the share of classes drawn at random.
        scale: of the initial weights of the training, relative to variance 1/fan-in.
        readout: of the readout's weights, relative to `scale`.
    """

    activation: str = "relu"
    rows: int = 40
    features: int = 6
    hidden: int = 16
    rate: float = 0.5
    steps: int = 1000
    spread: float = 0.7
    noise: float = 0.0
    scale: float = 0.5
    readout: float = 1.0

    def settings(self) -> Space:
        return Space(
            n=Integer(self.rows, 10, 1000, "training rows"),
            d=Integer(self.features, 2, 100, "features"),
            hidden=Integer(self.hidden, 2, 200, "hidden units"),
            rate=Real(self.rate, 1e-4, 100.0, "rate of descent"),
            steps=Integer(self.steps, 1, 100_000, "steps of descent"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Centres, rows, a start, and the network that descent makes of it."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        d, hidden, rate = setting["d"], setting["hidden"], setting["rate"]
        centres = 3 * np.sqrt(2) * rng.normal(size=(CLASSES, d)) / np.sqrt(d)
        x, labels = draw_classes(rng, setting["n"], centres, self.spread, self.noise)
        first = self.scale * rng.normal(size=(d, hidden)) / np.sqrt(d)
        last = self.scale * self.readout * rng.normal(size=(hidden, CLASSES)) / np.sqrt(hidden)
        start = {"w1": jnp.asarray(first), "w2": jnp.asarray(last)}
        found = descend(self.activation, start, jnp.asarray(x), jnp.eye(CLASSES)[labels], rate, setting["steps"])
        function = NETWORKS[self.activation]
        model = read_model((function, found))
        task = read_task(model, x, labels)
        return Trained(
            model, task, x, task.encode(labels), decay=0.0, start=read_model((function, start)), rate=rate,
            targets=labels,
        )  # fmt: skip

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """A model with derivatives, and finite weights."""
        finite = float(np.isfinite(problem.model.theta).all())
        return [
            Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0),
            Hypothesis("the weights are finite", finite, ">=", 1.0, "descent may have diverged"),
        ]


def known_rate(problem: Trained) -> list[Hypothesis]:
    """That the rate of a descent on all rows is stated.

    Args:
        problem: the model with its rows.
    """
    why = "--rate, or rate=; for descent on all rows, without momentum"
    return [Hypothesis(FACTS["rate"].given, float(problem.rate is not None), ">=", 1.0, why)]


def without_decay(problem: Trained) -> list[Hypothesis]:
    """A statement that training is without decay.

    The weights of a separable task would imply a decay that does not exist.

    Args:
        problem: the model with its rows.
    """
    known = float(problem.decay == 0.0)
    return [Hypothesis(FACTS["decay"].given, known, ">=", 1.0, "--decay 0, or decay=0")]
