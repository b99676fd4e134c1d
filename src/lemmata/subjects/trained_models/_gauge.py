"""The parts that make a claim a check.

An examination applies it to a user's trained model, and calls a few more methods.
"""

import abc
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx

from lemmata.engine.claims import Claim, Question

from ._fresh_rows import HELD_OUT
from ._trained import Trained

CLASSES_IN_USE = "deployment rows whose classes are known"
"""The hypothesis that an error in deployment can be measured."""
TO_BE_SCORED = (HELD_OUT, CLASSES_IN_USE)
"""Hypotheses whose failure does not prevent a prediction; the prediction is then not scored."""


class AbstractGauge(Claim[Trained]):
    """A claim that an examination tests on a trained model.

    Methods of a check, besides those of a claim. All methods but the first are optional, and the default is given last.
    passes(problem): the expected time in gradients of all training rows, where known results cost 0. bytes(problem):
    the memory that it needs at once; 0. needed(problem): whether this model gets the check. A check that is made in
    place of another one, if that one does not fit, returns False if the other one fits; True. rows_factor(problem): for
    a bound that is vacuous, by which factor the number of rows would have to grow; unknown. alternative(problem): for a
    bound, the limit from held-out rows alone, which it has to beat; none.

    Attributes:
        of_losses: True if, for a language model, which has one output for each document, the check only needs losses
            and their derivatives.
        losses: the kinds of loss for which its formula holds, with the names of `Task.loss_kind`. Empty means any kind.
        level: of the predicted interval; NaN means the level of the relation.
        ends: the meaning of the ends of the measured interval; empty if the measurement has no interval.
        shared: questions about the model that other checks ask, too. The first check that asks a question computes the
            answer.
    """

    of_losses: ClassVar[bool] = False
    losses: ClassVar[tuple[str, ...]] = ()
    level: ClassVar[float] = math.nan
    ends: ClassVar[str] = ""
    shared: ClassVar[tuple[Callable[[Trained], Any], ...]] = ()

    if TYPE_CHECKING:  # as in `Claim`, questions are not class variables here
        bytes: Question[[Trained], int] | None = eqx.field(init=False)
        needed: Question[[Trained], bool] | None = eqx.field(init=False)
        rows_factor: Question[[Trained], float] | None = eqx.field(init=False)
        alternative: Question[[Trained], float] | None = eqx.field(init=False)
    else:
        bytes: ClassVar[Any] = None
        needed: ClassVar[Any] = None
        rows_factor: ClassVar[Any] = None
        alternative: ClassVar[Any] = None

    @abc.abstractmethod
    def passes(self, problem: Trained) -> float:
        """Gradients of all training rows that it is expected to take as long as."""
