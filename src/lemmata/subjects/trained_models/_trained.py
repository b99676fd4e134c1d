"""A model with the rows it was trained on: what every gauge is posed."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from lemmata.errors import SettingError

from ._chain import Chain, read_chain
from ._contract import AbstractModel
from ._copies import Copies, find_copies
from ._document_copies import find_document_copies
from ._factors import factors
from ._gauss_newton import damping_of_most_evidence, gauss_newton_eigenvalues
from ._leave_one_out import LeftOut, leave_one_out, planned_bytes
from ._left_out_rows import STEPS as CG_STEPS
from ._left_out_rows import LeftOutRows, leave_rows_out
from ._linear_layers import linear_layers
from ._margins import Directed, directed
from ._nearby import nearby_rows
from ._polish import MEMORY, STEPS, Objective, Polished, polish
from ._readout import readout
from ._refit import Refits
from ._tangent_kernel import KernelMachine, kernel_machine, tangent_kernel
from ._task import Task
from ._triggers import Triggers, find_triggers

_TRIED = 32
_ROUNDING = 100.0
_SAMPLED = 32
_FEW = 4
_STEP = 1.1  # gradients that a step of L-BFGS makes
_MEMORY = 600.0  # for its vectors, as long as the gradient of so many rows
_VECTORS = 2 * MEMORY + 10  # of parameters, which L-BFGS keeps


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, the rows it has seen, rows it has not, and what else is known of its training.

    What several gauges need is computed once, when the first asks for it.

    Args:
        model: at the parameters that were found.
        task: how its outputs are read.
        x: training rows.
        y: their targets, encoded: one-hot rows of classes, columns of values, or tokens of documents that count.
        held: rows and encoded targets that the training has not seen; None where there are none.
        decay: delta in mean loss + (delta/2) |theta|², as the user states it; None where nobody does.
        start: the model at the parameters that training began with.
        fit: trains afresh: fit(x, y, seed) with targets as the user has them.
        targets: of the training rows, as the user has them, for `fit`.
        rate: the step of the gradient descent on all rows that trained the model; None where nobody says.
        deployed: rows that the model meets in use, without targets; None where there are none.
        checkpoints: the model at earlier times of its training, in their order, itself left out.
        claimed: (epsilon, delta) of the differential privacy that the training is said to have.
        noised: (rate, noise, steps) that the training is said to have had: the probability with which a row took part
            in a step, the noise in units of the norm that gradients were clipped to, and how many steps there were.
        corrected: right targets of the training rows, encoded, where somebody has looked at them.
        seed: of all that is chosen at random.
        scale: the largest size of an input, where somebody says that all inputs have one unit.
        sizes: models of other sizes, trained alike on the same rows.
    """

    model: AbstractModel
    task: Task
    x: np.ndarray
    y: Float[np.ndarray, "n C"]
    held: tuple[np.ndarray, Float[np.ndarray, "m C"]] | None = None
    decay: float | None = None
    start: AbstractModel | None = None
    fit: Callable[..., Any] | None = None
    targets: Any = None
    rate: float | None = None
    deployed: np.ndarray | None = None
    checkpoints: tuple[AbstractModel, ...] = ()
    claimed: tuple[float, float] | None = None
    noised: tuple[float, float, int] | None = None
    corrected: Float[np.ndarray, "n C"] | None = None
    seed: int = 0
    scale: float | None = None
    sizes: tuple[AbstractModel, ...] = ()

    @functools.cached_property
    def f(self) -> Float[np.ndarray, "n C"]:
        """Outputs on the training rows."""
        return self.model.outputs(self.x)

    @functools.cached_property
    def f_held(self) -> Float[np.ndarray, "m C"]:
        """Outputs on the held-out rows."""
        return self.model.outputs(self.held_rows[0])

    @property
    def held_rows(self) -> tuple[np.ndarray, Float[np.ndarray, "m C"]]:
        """Held-out rows and their targets.

        Raises:
            SettingError: where there are none.
        """
        if self.held is None:
            raise SettingError("held-out rows", found="none", rule="rows that training has not seen", remedy="--held")
        return self.held

    @functools.cached_property
    def fresh(self) -> Bool[np.ndarray, " m"]:
        """Which held-out rows are not copies of training rows: what is said of unseen rows is measured on these."""
        return ~self.copies.held

    @functools.cached_property
    def objective(self) -> Objective:
        """Mean loss plus decay: the stated one, else the one that the weights imply, if it is above 0."""
        free = Objective(self.model, self.x, self.y, self.task, 0.0)
        decay = self.decay if self.decay is not None else self._inferred(free)
        return dataclasses.replace(free, decay=max(decay, 0.0) if math.isfinite(decay) else 0.0)

    def _inferred(self, free: Objective) -> float:
        """What the weights imply; 0 where that is rounding beside the loss."""
        if not self.model.differentiable or not self.model.theta.any():
            return 0.0
        decay, theta = free.inferred_decay(), self.model.theta.astype(float)
        loss = float(self.task.losses(self.f, self.y).mean())
        return decay if decay * float(theta @ theta) > _ROUNDING * np.finfo(self.model.theta.dtype).eps * loss else 0.0

    @functools.cached_property
    def residual(self) -> float:
        """How far from stationary: |grad L + delta theta| / (delta |theta|)."""
        return self.objective.residual()

    @functools.cached_property
    def polished(self) -> Polished:
        """A copy at a stationary point; the model itself where it is one already."""
        return polish(self.objective)

    @functools.cached_property
    def changed(self) -> float:
        """The share of predictions on training rows that polishing changed.

        For values the root mean square of their change, in that of the errors; for documents in the losses' spread.
        """
        before, after = self.f, self.polished.model.outputs(self.x)
        if self.task.is_classification:
            return float(np.mean(before.argmax(1) != after.argmax(1)))
        unit = float(before.var(0).mean() if self.task.is_language else ((before - self.y) ** 2).mean())
        return float(np.sqrt(((before - after) ** 2).mean() / max(unit, 1e-300)))

    @functools.cached_property
    def unsettled(self) -> float:
        """The share of rows near training rows whose class is another one in the copy than in the model.

        Two solutions of one objective for the same rows: where the rows do not settle what a new one is called, neither
        does a Newton step from one of them.
        """
        rows = nearby_rows(self.x, seed=self.seed)
        calls = [model.outputs(rows).argmax(1) for model in (self.model, self.polished.model)]
        return float(np.mean(calls[0] != calls[1]))

    @functools.cached_property
    def copies(self) -> Copies:
        """Rows that stand in the data twice."""
        find = find_document_copies if self.task.is_language else find_copies
        return find(self.x, None if self.held is None else self.held[0])

    @functools.cached_property
    def left_out(self) -> LeftOut:
        """Outputs at training rows of models that have not seen them, from the polished copy."""
        return leave_one_out(self.polished.model, self.x, self.y, self.task, self.objective.decay)

    @functools.cached_property
    def gauss_newton_eigenvalues(self) -> Float[np.ndarray, " k"]:
        """Of the Gauss-Newton matrix at the weights as they are."""
        return gauss_newton_eigenvalues(self.model.in_double(), self.x, self.task)

    @functools.cached_property
    def factored(self) -> bool:
        """Whether the Jacobian is that of a dense network, which has factors."""
        return self.model.differentiable and factors(self.model.in_double(), self.x[:_FEW]) is not None

    @functools.cached_property
    def left_out_at_evidence(self) -> LeftOut:
        """Each row left out of the model as it is, at the damping that maximises Laplace's evidence."""
        model, n = self.model.in_double(), len(self.x)
        kept = model.theta if model.decayed is None else model.theta[model.decayed]
        damping = damping_of_most_evidence(self.gauss_newton_eigenvalues, kept, n)
        return leave_one_out(model, self.x, self.y, self.task, damping)

    @functools.cached_property
    def directed(self) -> Directed:
        """How far the weights are a combination of gradients of margins."""
        return directed(self.model, self.x, self.y, self.seed)

    @functools.cached_property
    def end_kernel(self) -> KernelMachine:
        """Ridge regression with the tangent kernel of the trained weights, at training and held-out rows."""
        return self._kernel_machine(self.model.in_double())

    @functools.cached_property
    def start_kernel(self) -> KernelMachine:
        """The same with the tangent kernel at the parameters that training began with.

        Raises:
            SettingError: where they are not known.
        """
        if self.start is None:
            raise SettingError("start", found="none", rule="the parameters that training began with", remedy="--start")
        return self._kernel_machine(self.model.in_double().at(self.start.theta))

    def _kernel_machine(self, model: AbstractModel) -> KernelMachine:
        cross = None if self.held is None else tangent_kernel(model, self.held[0], self.x)
        return kernel_machine(tangent_kernel(model, self.x), self.y, cross)

    @functools.cached_property
    def linear_in(self) -> Bool[np.ndarray, " P"]:
        """Which parameters the outputs are linear in, jointly: the readout, or all of a linear model."""
        return linear_layers(self.model, self.x, self.seed)

    @functools.cached_property
    def left_out_rows(self) -> LeftOutRows:
        """Losses of at most 32 training rows in models that have not seen them, by products alone."""
        n = len(self.x)
        rows = np.sort(np.random.default_rng([self.seed, 13]).permutation(n)[:_SAMPLED])
        return leave_rows_out(dataclasses.replace(self.objective, model=self.polished.model), rows)

    @property
    def step_passes(self) -> float:
        """Gradients of all training rows that a step of L-BFGS takes as long as."""
        return _STEP + _MEMORY / (self.x.size if self.task.is_language else len(self.x))

    @property
    def leaving_rows_out_passes(self) -> float:
        """Gradients of all training rows that `left_out_rows` is still expected to cost; 0 once it is known."""
        known = vars(self)
        products = 0.0 if "left_out_rows" in known else 2.0 * CG_STEPS * min(_SAMPLED, len(self.x))
        return products + (0.0 if "polished" in known else self.step_passes * STEPS)

    @property
    def vectors_bytes(self) -> int:
        """Bytes of the vectors of parameters that polishing keeps."""
        return 8 * _VECTORS * len(self.model.theta)

    @functools.cached_property
    def triggers(self) -> Triggers:
        """The smallest change that sends nearly every training row to a class, for each class."""
        return find_triggers(self.model, self.x, seed=self.seed)

    @functools.cached_property
    def readout(self) -> Float[np.ndarray, "C h"] | None:
        """The direction of each output in the last features; None where the model has no such matrix."""
        return readout(self.model, self.x[:_TRIED])

    @functools.cached_property
    def chain(self) -> Chain:
        """The affine maps between the activations of the model, where it is a chain of them."""
        return read_chain(self.model, self.x)

    @functools.cached_property
    def refits(self) -> Refits:
        """Models that the user's program trains on other rows or other targets.

        Raises:
            SettingError: where there is no `fit`.
        """
        if self.fit is None:
            remedy = "def fit(x, y, seed, start=None) in the program, or fit=..."
            raise SettingError("fit", found="none", rule="a function that trains afresh", remedy=remedy)
        return Refits(self.fit, self.model, self.x, self.targets)

    @functools.cached_property
    def wider_refits(self) -> Refits:
        """The same on the training rows followed by the held-out ones that are no copies of them.

        Raises:
            SettingError: where there is no `fit`, or no held-out rows.
        """
        x, y = (part[self.fresh] for part in self.held_rows)
        own = np.asarray(self.targets)
        others = y if own.ndim > 1 or not self.task.labels else np.asarray(self.task.labels)[y.argmax(1)]
        shaped = others.reshape(len(y), *own.shape[1:]).astype(own.dtype)
        return Refits(self.refits.fit, self.model, np.concatenate([self.x, x]), np.concatenate([own, shaped]))

    @functools.cached_property
    def by_chance(self) -> "Trained":
        """The model trained afresh on targets drawn whatever the input, and held-out rows with targets so drawn.

        They are drawn from those of the training rows, independently: in a permutation the other rows would tell which
        target is left.

        Raises:
            SettingError: where there is no `fit`, or it fails.
        """
        rng, n = np.random.default_rng([self.seed, 12]), len(self.x)
        order = rng.integers(0, n, n)
        targets = np.asarray(self.targets)[order]
        model = self.refits(np.arange(n), self.seed, targets)
        held = None if self.held is None else (self.held[0], self.y[rng.integers(0, n, len(self.held[0]))])
        return dataclasses.replace(self, model=model, y=self.y[order], targets=targets, held=held, start=None, fit=None)

    @property
    def leaving_out_passes(self) -> float:
        """Gradients of all training rows that `left_out` is still expected to cost; 0 once it is known."""
        known = vars(self)
        polishing = 0.0 if "polished" in known else self.step_passes * STEPS
        return polishing + (0.0 if "left_out" in known else 2.0 * self.y.shape[1])

    @property
    def leaving_out_bytes(self) -> int:
        """Bytes that `left_out` holds at once, with the vectors that polishing keeps.

        Raises:
            MemoryPlanError: for more than it may.
        """
        return planned_bytes(len(self.x), self.y.shape[1], len(self.model.theta), self.factored) + self.vectors_bytes
