"""Linear models that are released with noise: the privacy of their training is known, and an attack reaches it."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import Trained, read_model, read_task


def margins(params: dict, x: Array) -> Array:
    """Logits -x'w/2 and x'w/2 of two classes."""
    return (x @ params["w"])[:, None] * jnp.array([-0.5, 0.5])


def noisy_sum(
    rng: np.random.Generator, x: Float[np.ndarray, "n d"], y: np.ndarray, eps: float
) -> dict[str, Float[np.ndarray, " d"]]:
    """The sum of the rows, each with the sign of its class, plus Laplace noise of scale 1/eps a coordinate.

    Rows of 1-norm at most 1 move the sum by at most 1 in that norm, so that it is eps-private for a row more or less.
    """
    return {"w": (2 * y - 1) @ x + rng.laplace(scale=1 / eps, size=x.shape[1])}


class ReleasedMemberships(Population[Trained]):
    """n training rows and as many held-out ones, each a unit vector of its own, in two classes by chance.

    The model is one step of descent from 0 on the mean of -(2y - 1) x'w, with Laplace noise: it claims the privacy that
    it has, and a row's margin is its membership plus noise, so that no attack by the loss could do better.
    """

    def settings(self) -> Space:
        """Rows, and the privacy."""
        return Space(
            n=Integer(300, 50, 2000, "training rows, and held-out ones", corners=(200, 400)),
            eps=Real(1.5, 0.01, 20.0, "privacy of the release", corners=(1.0, 2.0)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Classes and noise."""
        rng, n = np.random.default_rng(np.asarray(jax.random.key_data(key))), setting["n"]
        x, y = np.eye(2 * n), rng.integers(0, 2, 2 * n)
        y[:2] = 0, 1  # both classes are seen
        model = read_model((margins, noisy_sum(rng, x[:n], y[:n], setting["eps"])))
        task = read_task(model, x[:n], y[:n])
        held = x[n:], task.encode(y[n:])
        return Trained(model, task, x[:n], task.encode(y[:n]), held, claimed=(setting["eps"], 1e-6))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """What an attack asks for: a claim that it may refute, and rows on both sides."""
        held = 0 if problem.held is None else int(problem.fresh.sum())
        own = float((~problem.copies.within).sum())
        return [
            Hypothesis("a privacy of the training is claimed", float(problem.claimed is not None), ">=", 1.0,
                       "--epsilon and --delta, or claimed="),
            Hypothesis("held-out rows", float(held), ">=", 100.0, "with fewer, no measurement says much"),
            Hypothesis("training rows without a copy", own, ">=", 20.0, "a row that is there twice may tell twice"),
            Hypothesis.unchecked("chance alone parted training rows and held-out ones",
                                 "else the attack sees the difference between their laws"),
        ]  # fmt: skip
