"""The base class of checks: claims (statements of theory that lemmata can test) about a trained model.

An examination, such as `lemmata model`, applies checks to a user's trained model. A check has a few more methods than a
claim.
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
"""If only hypotheses with these names fail, a prediction is made, but not scored."""


class AbstractGauge(Claim[Trained]):
    """A check: a claim that an examination tests on a trained model.

    A check has the following methods besides those of a claim. All except `passes` are optional. `passes` returns the
    expected time of the check. The unit is the time of one gradient of the loss on all training rows, and stored
    results cost 0. `bytes` returns the memory in bytes that the check needs at once, by default 0. `needed` returns
    whether the check is applied to this model, by default True. A check that replaces another check returns False if
    the other check can be applied. `rows_factor` belongs to a bound. If the bound is vacuous (no better than the
    trivial value), the method returns the factor by which the number of rows would have to grow. `alternative` also
    belongs to a bound, and returns the upper limit of the error from held-out rows alone, which the bound has to beat.

    Attributes:
        of_losses: True if the check needs only losses of documents and their derivatives when the model is a language
            model. A language model has one output for each document, its loss.
        losses: the kinds of loss for which the formula of the check holds, by the names of `Task.loss_kind`. Empty
            means any kind.
        level: the probability with which the predicted interval should contain the measured value. NaN means that the
            claim's `relation` gives this level.
        ends: the meaning of the ends of the measured interval. Empty if the measurement has no interval.
        shared: the functions of the model (see `once`) that other checks call, too. The first check that calls a
            function computes its result.
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
