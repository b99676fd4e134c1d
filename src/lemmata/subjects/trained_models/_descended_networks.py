"""Small networks trained by gradient descent on all rows without decay, with a known learning rate and start."""

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
    """Return the outputs of a ReLU layer and a readout without biases, homogeneous of degree 2 in the weights."""
    return jax.nn.relu(x @ params["w1"]) @ params["w2"]


def tanh_network(params: dict, x: Any) -> Array:
    """Return the outputs of a tanh layer and a readout without biases."""
    return jnp.tanh(x @ params["w1"]) @ params["w2"]


NETWORKS = {"relu": relu_network, "tanh": tanh_network}


@functools.partial(jax.jit, static_argnums=0)
def descend(activation: str, start: dict, x: Array, y: Array, rate: Array, steps: Array) -> dict:
    """Return the parameters after steps of gradient descent on the mean log loss of all rows.

    Args:
        activation: "relu" or "tanh".
        start: the initial weights, by name.
        x: the rows.
        y: one-hot classes.
        rate: the learning rate.
        steps: the number of steps.
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
    """Draw normal rows around centres. A share `noise` of the rows gets a random class.

    Args:
        rng: the random generator.
        n: the number of rows.
        centres: the mean of each class, one in each row.
        spread: the standard deviation of each feature around the centre.
        noise: the share of rows with a random class.
    """
    labels = rng.integers(0, len(centres), n)
    x = centres[labels] + spread * rng.normal(size=(n, centres.shape[1]))
    return x, np.where(rng.random(n) < noise, rng.integers(0, len(centres), n), labels)


class DescendedNetworks(Population[Trained]):
    """Three normal classes, and networks with one hidden layer and no biases, trained by gradient descent on all rows.

    Args:
        activation: "relu" or "tanh".
        rows: the default number of training rows.
        features: the default number of features of a row.
        hidden: the default number of hidden units.
        rate: the default learning rate.
        steps: the default number of steps.
        spread: the standard deviation of rows around the centre of their class. The centres have lengths of about 3.
        noise: the share of classes drawn at random.
        scale: the size of the initial weights, relative to weights of variance 1/fan-in.
        readout: the size of the initial weights of the last layer (the readout), relative to `scale`.
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
        """Draw centres, rows and a start, and train the network by descent."""
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
        """Require a model with derivatives and finite weights."""
        finite = float(np.isfinite(problem.model.theta).all())
        return [
            Hypothesis("the model has derivatives", float(problem.model.differentiable), ">=", 1.0),
            Hypothesis("the weights are finite", finite, ">=", 1.0, "descent may have diverged"),
        ]


def known_rate(problem: Trained) -> list[Hypothesis]:
    """Require that the user states the learning rate of gradient descent on all rows.

    Args:
        problem: the model with its rows.
    """
    why = "pass --rate, or rate=, for descent on all rows without momentum"
    return [Hypothesis(FACTS["rate"].given, float(problem.rate is not None), ">=", 1.0, why)]


def without_decay(problem: Trained) -> list[Hypothesis]:
    """Require that the user states a decay of 0.

    Without this statement, lemmata may infer a decay from the weights. For a separable task, the inferred decay would
    be wrong.

    Args:
        problem: the model with its rows.
    """
    known = float(problem.decay == 0.0)
    return [Hypothesis(FACTS["decay"].given, known, ">=", 1.0, "pass --decay 0, or decay=0")]
