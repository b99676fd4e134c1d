"""Trainings by noisy steps that claim a privacy, as a looser accountant gives it."""

import importlib.util
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import Trained, read_model, read_task

from ._released_memberships import margins

_ROWS, _FEATURES = 40, 4


def concentrated_budget(noise: float, steps: int, delta: float) -> float:
    """Rho + 2 (rho log 1/delta)^1/2 with rho = steps/(2 noise²): the eps of zero-concentrated privacy."""
    rho = steps / (2 * noise**2)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


class NoisedTrainings(Population[Trained]):
    """Descent on all rows with clipped gradients and normal noise, which claims what concentrated privacy gives it."""

    def settings(self) -> Space:
        """Noise, steps and delta."""
        return Space(
            noise=Real(4.0, 0.1, 1000.0, "noise in units of the clipping norm", corners=(2.0, 8.0)),
            steps=Integer(20, 1, 10_000, "steps", corners=(10, 40)),
            delta=Real(1e-5, 1e-12, 0.1, "delta of the privacy", corners=(5e-6, 2e-5)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Rows, and noisy steps on them; each setting is varied by up to a factor of 2."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        noise, steps, delta = setting["noise"] * 2 ** rng.uniform(-1, 1), setting["steps"], setting["delta"]
        x, y = rng.normal(size=(_ROWS, _FEATURES)), rng.permutation(np.arange(_ROWS) % 2)
        x, w = x / np.linalg.norm(x, axis=1, keepdims=True), np.zeros(_FEATURES)
        for _ in range(steps):
            slope = (1 / (1 + np.exp(-x @ w)) - y) @ x  # each row's gradient is at most 1 long: clipped at 1
            w = w - (slope + noise * rng.normal(size=_FEATURES)) / _ROWS
        model = read_model((margins, {"w": jnp.asarray(w)}))
        task = read_task(model, x, y)
        claimed = concentrated_budget(noise, steps, delta), delta
        return Trained(model, task, x, task.encode(y), claimed=claimed, noised=(1.0, noise, steps))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """What an accountant asks for."""
        known = problem.noised is not None
        found = [
            Hypothesis("the program states its noisy steps", float(known), ">=", 1.0,
                       'privacy = {"sampling": q, "noise": sigma, "steps": T}, or noised='),
            Hypothesis("a privacy of the training is claimed", float(problem.claimed is not None), ">=", 1.0,
                       "--epsilon and --delta, or claimed="),
        ]  # fmt: skip
        if problem.claimed is not None:
            found.append(Hypothesis("delta of the claim", problem.claimed[1], ">", 0.0, "normal noise has no other"))
        if known and problem.noised is not None and problem.noised[0] < 1:
            there = float(importlib.util.find_spec("dp_accounting") is not None)
            remedy = "pip install 'lemmata[privacy]'"
            found.append(Hypothesis(f"dp-accounting is installed ({remedy})", there, ">=", 1.0, "rows are sampled"))
        return [
            *found,
            Hypothesis.unchecked("each row took part by a coin of its own, and its gradient was clipped",
                                 "batches of a fixed size, or shuffled ones, have other budgets"),
        ]  # fmt: skip
