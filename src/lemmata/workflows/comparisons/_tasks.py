"""Bundled tasks whose winner is known in advance, so that the comparison can be tested."""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

PAIRS, KEY = 16, 8


@dataclasses.dataclass(frozen=True)
class SequenceTask:
    """A bundled task.

    Args:
        name: the name of the task, as given for DATA.
        words: a description of the task.
        draw: a function of a random generator and a number of rows; it returns sequences (n, T, c) and targets.
        rows: the number of rows.
        test: the share of the rows that is held out.
        expected: the expected result of a comparison, in a sentence.
    """

    name: str
    words: str
    draw: Callable[[np.random.Generator, int], tuple[Float[np.ndarray, "n T c"], Float[np.ndarray, " n"]]]
    expected: str
    rows: int = 800
    test: float = 0.5


def lookup(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw 16 pairs (unit key in R^8, value), then one of these keys with value 0. The target is the key's value."""
    keys = rng.standard_normal((rows, PAIRS, KEY))
    keys /= np.linalg.norm(keys, axis=2, keepdims=True)
    values = rng.standard_normal((rows, PAIRS))
    asked = rng.integers(PAIRS, size=rows)
    pairs = np.concatenate([keys, values[:, :, None]], axis=2)
    question = np.concatenate([keys[np.arange(rows), asked], np.zeros((rows, 1))], axis=1)
    return np.concatenate([pairs, question[:, None]], axis=1), values[np.arange(rows), asked]


def filtered(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw T = 256 tokens of white noise u. Target: sum_s exp(-s/60) cos(2 pi s/100) u_(T-s) plus noise of size 0.1."""
    length = 256
    u = rng.standard_normal((rows, length))
    lag = np.arange(length)
    response = np.exp(-lag / 60) * np.cos(2 * np.pi * lag / 100)
    return u[:, :, None], u[:, ::-1] @ response + 0.1 * rng.standard_normal(rows)


def motif(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw 64 tokens of white noise u. Target: mean over t of tanh(u_t u_(t+1) u_(t+2))."""
    u = rng.standard_normal((rows, 64))
    return u[:, :, None], np.tanh(u[:, :-2] * u[:, 1:-1] * u[:, 2:]).mean(axis=1)


def smooth(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two numbers x_1, x_2 in [0, 1] as the last of 8 tokens, after zeros. Target: cos(2 pi (x_1 + x_2))."""
    x = np.zeros((rows, 8, 1))
    x[:, -2:, 0] = rng.uniform(size=(rows, 2))
    return x, np.cos(2 * np.pi * x[:, -2:, 0].sum(axis=1))


def noise(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw white noise of 32 tokens with 2 channels, and a target that is independent of the tokens."""
    return rng.standard_normal((rows, 32, 2)), rng.standard_normal(rows)


def hold(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw 60 tokens (mark, number); the mark is 1 with probability 0.2. Target: the last marked number, or 0."""
    length = 60
    marks, u = rng.uniform(size=(rows, length)) < 0.2, rng.standard_normal((rows, length))
    last = length - 1 - np.argmax(marks[:, ::-1], axis=1)
    target = np.where(marks.any(axis=1), u[np.arange(rows), last], 0.0)
    return np.stack([marks.astype(float), u], axis=2), target


TASKS = {
    task.name: task
    for task in (
        SequenceTask(
            "lookup", "16 pairs of a key and a value, then one key; the target is its value", lookup, "attention wins"
        ),
        SequenceTask(
            "filter", "white noise; the target is a linear filter of it", filtered, "recurrence wins", 800, 650 / 800
        ),
        SequenceTask("motif", "white noise; the target averages products of 3 neighbours", motif, "convolution wins"),
        SequenceTask("smooth", "two numbers; the target is a smooth function of them", smooth, "no winner"),
        SequenceTask("noise", "a target that does not depend on the sequences", noise, "no winner"),
        SequenceTask(
            "hold",
            "numbers, some of them marked; the target is the last marked number",
            hold,
            "no family here can solve this task",
        ),
    )
}
