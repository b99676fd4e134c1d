"""Models that the user's own program trains again, on different rows or different targets."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lemmata.errors import LemmataError, SettingError

from ._contract import AbstractModel
from ._fresh_rows import fresh_rows
from ._once import once
from ._outputs import held_rows
from ._read import read_model
from ._trained import Trained

_ASSUMED = 600.0  # assumed cost of a training, in gradients of all rows, before a training has been timed
_RULE = "fit must return a trained model with as many outputs as the model that build() returns"
_LOOSE = 1e-4
_FEW = 8


class Refits:
    """A trainer that calls fit(x, y, seed), and stores every model and the cost of one training.

    If fit fails, or returns a model with another number of outputs than the examined model, the trainer raises a
    SettingError of one line.

    Args:
        fit: the user's function of rows, of targets as the user has them, and of a seed.
        model: the examined model. All other models get its number of outputs and its link.
        x: the training rows.
        targets: the targets of the rows, as the user has them.
    """

    def __init__(self, fit: Callable[..., Any], model: AbstractModel, x: np.ndarray, targets: Any):
        self.fit, self._model, self._x, self._targets = fit, model, x, np.asarray(targets)
        self._known: dict[tuple[bytes, bytes, int], AbstractModel] = {}
        self._seconds = 0.0
        self._second = 0.0

    def __call__(self, rows: np.ndarray, seed: int, targets: Any = None) -> AbstractModel:
        """Return the model trained on some of the rows.

        Args:
            rows: the indices, among the training rows, of the rows to train on.
            seed: the seed that is passed to the user's `fit`.
            targets: other targets for these rows. With None, the rows have their own targets.

        Raises:
            SettingError: if fit fails, or returns a model with another number of outputs than the examined model.
        """
        y = self._targets[rows] if targets is None else np.asarray(targets)
        key = (rows.tobytes(), y.tobytes(), seed)
        if key not in self._known:
            begun = time.monotonic()
            found = self._trained(self._x[rows], y, seed)
            self._seconds = max(self._seconds, time.monotonic() - begun)
            self._known[key] = found
        return self._known[key]

    @property
    def passes(self) -> float:
        """The cost of one training, in gradients of all rows.

        The cost is a fixed guess before the first training, and for models without derivatives.
        """
        if not self._known or not self._model.differentiable:
            return _ASSUMED
        if not self._second:
            slope = np.zeros((len(self._x), self._model.outputs(self._x[:1]).shape[1]))
            self._model.vjp(slope[:_FEW], self._x[:_FEW])
            begun = time.monotonic()
            self._model.vjp(slope, self._x)
            self._second = max(time.monotonic() - begun, 1e-6)
        return self._seconds / self._second

    def _trained(self, x: np.ndarray, y: np.ndarray, seed: int) -> AbstractModel:
        name = "fit(x, y, seed)"
        try:
            model = read_model(self.fit(x, y, seed))
            model = dataclasses.replace(model, link=self._model.link)
            few = x[:_FEW]
            once, again, own = model.outputs(few), model.outputs(few), self._model.outputs(few)
        except (Exception, SystemExit) as error:  # the user's program may raise anything
            words = (str(error).splitlines() or [""])[0][:200]
            found = words if isinstance(error, LemmataError) else f"{type(error).__name__}: {words}"
            raise SettingError(name, found=found, rule=_RULE) from error
        if once.shape != own.shape:
            raise SettingError(
                name, found=f"{once.shape[1]} outputs", rule=f"{own.shape[1]} outputs, as many as the model has"
            )
        if not np.isfinite(once).all():
            raise SettingError(name, found="a model whose outputs are not finite", rule=_RULE)
        if np.abs(once - again).max() > _LOOSE * max(float(np.abs(once).max()), 1e-300):
            remedy = "return module.eval(), or eqx.nn.inference_mode(module)"
            raise SettingError(name, found="a model with random outputs", rule=_RULE, remedy=remedy)
        return model


@once
def refits_of(trained: Trained) -> Refits:
    """Return a trainer that uses the user's program to train models on different rows or targets.

    Raises:
        SettingError: if there is no `fit`.
    """
    if trained.fit is None:
        remedy = "define fit(x, y, seed, start=None) in the program, or pass fit=..."
        raise SettingError("fit", found="none", rule="a function that trains the model again", remedy=remedy)
    return Refits(trained.fit, trained.model, trained.x, trained.targets)


@once
def wider_refits(trained: Trained) -> Refits:
    """Return a trainer like `refits_of`, for training rows followed by the held-out rows that do not duplicate them.

    Raises:
        SettingError: if there is no `fit`, or if there are no held-out rows.
    """
    x, y = (part[fresh_rows(trained)] for part in held_rows(trained))
    own = np.asarray(trained.targets)
    others = y if own.ndim > 1 or not trained.task.labels else np.asarray(trained.task.labels)[y.argmax(1)]
    shaped = others.reshape(len(y), *own.shape[1:]).astype(own.dtype)
    both = np.concatenate([trained.x, x]), np.concatenate([own, shaped])
    return Refits(refits_of(trained).fit, trained.model, *both)


@once
def by_chance(trained: Trained) -> Trained:
    """Return the model trained again on targets that are drawn from the training targets, independently of the inputs.

    Held-out targets are drawn in the same way. Each target is drawn independently of all others. A permutation of the
    targets would not do: the targets of all other rows would determine the target of the last row, so the rows would
    not be independent.

    Raises:
        SettingError: if there is no `fit`, or if `fit` fails.
    """
    rng, n = np.random.default_rng([trained.seed, 12]), len(trained.x)
    order = rng.integers(0, n, n)
    targets = np.asarray(trained.targets)[order]
    model = refits_of(trained)(np.arange(n), trained.seed, targets)
    held = None if trained.held is None else (trained.held[0], trained.y[rng.integers(0, n, len(trained.held[0]))])
    return dataclasses.replace(
        trained, model=model, y=trained.y[order], targets=targets, held=held, start=None, fit=None
    )
