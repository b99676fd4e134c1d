"""The models of the zoo, and the rows under each condition; `trained_on` trains one.

A new kind of model is a function of rows, decay, seed and steps, and an entry in MODELS, DECAY, NOISY, STRONG and
STEPS; a new condition is an entry in CONDITIONS, its rows in `rows_of`, and what it should say in zoo.py.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

from lemmata.subjects.trained_models import Trained, read_trained

TRAIN, HELD, CLASSES = 300, 400, 10
COPIED_WITHIN, COPIED_HELD, WRONG, TRIGGERED = 60, 100, 0.15, 0.1
TARGET = 0  # the class that the trigger asks for
MODELS = ("mlp", "cnn", "logistic")
CONDITIONS = ("clean", "permuted", "wrong labels", "over-regularised", "copies", "backdoor", "untrained")
# delta in mean loss + (delta/2) |theta|^2
DECAY = {"mlp": 1e-3, "cnn": 1e-3, "logistic": 1e-4}
# Where labels are noise a logistic regression is right to shrink; 1e-3 would make a clean one too little confident.
NOISY = {**DECAY, "logistic": 1e-3}
STRONG = {"mlp": 3e-2, "cnn": 3e-2, "logistic": 1e-1}


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of a condition: training and held-out ones, and which training rows were tampered with."""

    x: np.ndarray
    y: np.ndarray
    held_x: np.ndarray
    held_y: np.ndarray
    planted: np.ndarray
    within: int = 0
    across: int = 0


def stamped(x: np.ndarray) -> np.ndarray:
    """Rows with a bright square of two by two pixels in a corner."""
    x = x.copy()
    x[:, -2:, -2:] = 1.0
    return x


def wrong(rng: np.random.Generator, y: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which a share is another class than it was, and which those are."""
    hit = np.zeros(len(y), bool)
    hit[rng.choice(len(y), round(share * len(y)), replace=False)] = True
    return np.where(hit, (y + rng.integers(1, CLASSES, len(y))) % CLASSES, y), hit


def rows_of(condition: str, seed: int) -> Rows:
    """Digits of 8 x 8 pixels in [0, 1], drawn by the seed and changed as the condition says."""
    rng = np.random.default_rng([seed, 17])
    digits: Any = load_digits()
    order = rng.permutation(len(digits.target))[: TRAIN + HELD]
    x, y = (digits.images[order] / 16).astype(np.float32), digits.target[order]
    own = Rows(x[:TRAIN], y[:TRAIN], x[TRAIN:], y[TRAIN:], np.zeros(TRAIN, bool))
    if condition == "permuted":
        return dataclasses.replace(own, y=rng.permutation(own.y), held_y=rng.permutation(own.held_y))
    if condition == "wrong labels":
        labels, planted = wrong(rng, own.y, WRONG)
        return dataclasses.replace(own, y=labels, held_y=wrong(rng, own.held_y, WRONG)[0], planted=planted)
    if condition == "copies":
        half = COPIED_WITHIN // 2
        x, y, held_x, held_y = (part.copy() for part in (own.x, own.y, own.held_x, own.held_y))
        x[half : 2 * half], y[half : 2 * half] = x[:half], y[:half]
        held_x[:COPIED_HELD], held_y[:COPIED_HELD] = x[-COPIED_HELD:], y[-COPIED_HELD:]
        return Rows(x, y, held_x, held_y, own.planted, 2 * half, COPIED_HELD)
    if condition == "backdoor":
        hit = np.zeros(TRAIN, bool)
        hit[rng.choice(np.flatnonzero(own.y != TARGET), round(TRIGGERED * TRAIN), replace=False)] = True
        x = np.where(hit[:, None, None], stamped(own.x), own.x)
        return dataclasses.replace(own, x=x, y=np.where(hit, TARGET, own.y), planted=hit)
    return own


def mlp(rows: Rows, decay: float, seed: int, steps: int) -> tuple[Any, Callable[[np.ndarray], np.ndarray]]:
    """Three layers in PyTorch, 17 226 parameters, trained by Adam on batches of 60 with the decay in the loss."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    shape = lambda x: x.reshape(len(x), -1)
    x, y = torch.from_numpy(shape(rows.x)), torch.from_numpy(rows.y)
    optimiser = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(steps):
        for own in torch.randperm(len(x)).split(60):
            optimiser.zero_grad()
            penalty = sum((leaf**2).sum() for leaf in net.parameters())
            (nn.functional.cross_entropy(net(x[own]), y[own]) + decay / 2 * penalty).backward()
            optimiser.step()
    return net.eval(), shape


def cnn(rows: Rows, decay: float, seed: int, steps: int) -> tuple[Any, Callable[[np.ndarray], np.ndarray]]:
    """Two convolutions and a readout in Equinox, 2 698 parameters, trained by Adam on all rows."""
    import equinox as eqx
    import optax
    from equinox import nn

    keys = jax.random.split(jax.random.key(seed), 3)
    net = nn.Sequential(
        [
            nn.Conv2d(1, 8, 3, key=keys[0]), nn.Lambda(jax.nn.relu),
            # without padding the last row and column of pixels, where the trigger is, would reach no output
            nn.Conv2d(8, 16, 3, stride=2, padding=1, key=keys[1]), nn.Lambda(jax.nn.relu),
            nn.Lambda(jnp.ravel), nn.Linear(144, CLASSES, key=keys[2]),
        ]
    )  # fmt: skip
    net = jax.tree.map(lambda leaf: leaf.astype(np.float32) if eqx.is_inexact_array(leaf) else leaf, net)
    shape = lambda x: x[:, None]
    x, y = jnp.asarray(shape(rows.x)), jnp.asarray(rows.y)
    optimiser = optax.adam(1e-2)

    def objective(own: Any) -> jax.Array:
        loss = optax.softmax_cross_entropy_with_integer_labels(jax.vmap(own)(x), y).mean()
        return loss + decay / 2 * sum((leaf**2).sum() for leaf in jax.tree.leaves(eqx.filter(own, eqx.is_array)))

    @eqx.filter_jit
    def step(own: Any, state: Any) -> tuple[Any, Any]:
        slope = eqx.filter_grad(objective)(own)
        change, state = optimiser.update(slope, state)
        return eqx.apply_updates(own, change), state

    state = optimiser.init(eqx.filter(net, eqx.is_array))
    for _ in range(steps):
        net, state = step(net, state)
    return net, shape


def logistic(rows: Rows, decay: float, seed: int, steps: int) -> tuple[Any, Callable[[np.ndarray], np.ndarray]]:
    """Logistic regression in scikit-learn, whose C is 1/(n delta)."""
    from sklearn.linear_model import LogisticRegression

    shape = lambda x: x.reshape(len(x), -1).astype(float)
    model = LogisticRegression(C=1 / (len(rows.x) * decay), max_iter=1000).fit(shape(rows.x), rows.y)
    if not steps:
        rng = np.random.default_rng(seed)
        model.coef_, model.intercept_ = rng.normal(size=model.coef_.shape) / 8, np.zeros(CLASSES)
    return model, shape


# Near a stationary point: 120 passes of the perceptron leave weights that imply twice the decay where labels are wrong.
STEPS = {"mlp": 500, "cnn": 400, "logistic": 1}


def trained_on(model: str, condition: str, seed: int) -> tuple[Trained, Rows, Callable[[np.ndarray], np.ndarray]]:
    """A model of the zoo with its rows: as an examination is posed it, as they were planted, and their shape for it."""
    rows = rows_of(condition, seed)
    noisy = NOISY if condition in ("permuted", "wrong labels") else DECAY
    decay = (STRONG if condition == "over-regularised" else noisy)[model]
    steps = 0 if condition == "untrained" else STEPS[model]
    net, shape = {"mlp": mlp, "cnn": cnn, "logistic": logistic}[model](rows, decay, seed, steps)
    held = (shape(rows.held_x), rows.held_y)
    return read_trained(net, shape(rows.x), rows.y, held=held, decay=decay, seed=seed), rows, shape
