"""The base class of checks, which are claims on a trained model.

An examination applies a check to a user's trained model, and calls a few more methods than those of a claim.
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
"""The name of the hypothesis without which the error in deployment cannot be measured."""
TO_BE_SCORED = (HELD_OUT, CLASSES_IN_USE)
"""If only these hypotheses fail, a prediction is made, but not scored."""


class AbstractGauge(Claim[Trained]):
    """A check: a claim that an examination tests on a trained model.

    A check has these methods besides those of a claim. All except `passes` are optional; each description ends with
    the default. passes(problem): the expected time, in gradients of all training rows; known results cost 0.
    bytes(problem): the memory that the check needs at once; 0. needed(problem): whether this model gets the check. A
    check that replaces another check returns False if that other check fits; True. rows_factor(problem): for a vacuous
    bound, the factor by which the number of rows would have to grow; unknown. alternative(problem): for a bound, the
    limit from held-out rows alone, which the bound has to beat; none.

    Attributes:
        of_losses: True if, for a language model, which has one output for each document, the check only needs losses
            and their derivatives.
        losses: the kinds of loss for which the formula of the check holds, by the names of `Task.loss_kind`. Empty
            means any kind.
        level: the level of the predicted interval; NaN means the level of the relation.
        ends: the meaning of the ends of the measured interval; empty if the measurement has no interval.
        shared: the questions about the model that other checks ask, too. The first check that asks a question
            computes the answer.
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
        """Return the expected time of the check, in gradients of all training rows."""
