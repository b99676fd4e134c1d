"""The grammar of a claim: what a result of the theory must say to be executed."""

import abc
import dataclasses
import enum
import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Key

from ._hypothesis import Hypothesis
from ._relations import Relation
from ._settings import Space
from ._source import Source

P = TypeVar("P")
LABELS = ("tight", "upper", "lower", "rate", "identity")


class Status(enum.StrEnum):
    """What a verification can end with."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    INAPPLICABLE = "inapplicable"
    FAILED = "failed"

    @property
    def remedy(self) -> str:
        """What to do next."""
        return {
            "supported": "Nothing to do. Supported is not proved: it speaks of the problems that were sampled.",
            "refuted": "Replay the worst trial by its seed and number; suspect the statement, then the code.",
            "inconclusive": "Raise the budget to the number of trials named in the reason.",
            "inapplicable": "Change the setting, or the problem, until the named hypothesis holds.",
            "failed": "A solver or the arithmetic failed; look at the reason. This says nothing about the statement.",
        }[self.value]


@dataclasses.dataclass(frozen=True)
class Control:
    """A neighbouring false statement, which the same trials must refute.

    Args:
        statement: the false statement in words.
        predict: its prediction, from the claim's own prediction and the problem.
    """

    statement: str
    predict: Callable[[Array, Any], Array]


class Claim(eqx.Module, Generic[P]):
    """A result of the theory that can be executed.

    A claim is a final class. Its docstring is the statement; class attributes say where it stands and how it is
    judged; methods say how problems are sampled, what is predicted and what is measured. `predict` and `measure` share
    nothing but the problem.

    Attributes:
        title: a short name in words.
        source: the place in the literature.
        relation: how prediction and measurement must compare.
        label: tight, upper, lower, rate or identity.
        controls: the object that the result controls.
        unexplained: what it leaves open.
        problem: the type of problem it speaks about.
        trials: the default budget, in trials.
        batch: trials in one compiled call.
        traced: True where sample, hypotheses, predict and measure are JAX functions, so that trials run as
            jit(vmap) over keys; False where they are ordinary Python.
        expected: the status that verification must end with; refuted for a source's misprint entered as printed.
        corrects: name of the claim, entered as printed, that this one corrects.
    """

    title: ClassVar[str] = ""
    source: ClassVar[Source]
    relation: ClassVar[Relation]
    label: ClassVar[str] = "upper"
    controls: ClassVar[str] = ""
    unexplained: ClassVar[str] = ""
    problem: ClassVar[type] = object
    trials: ClassVar[int] = 256
    batch: ClassVar[int] = 64
    traced: ClassVar[bool] = True
    expected: ClassVar[Status] = Status.SUPPORTED
    corrects: ClassVar[str | None] = None

    @property
    def name(self) -> str:
        """The public name: the path of the section, then the class in snake case."""
        section = type(self).__module__.removeprefix("lemmata.chapters.")
        return f"{section}.{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', type(self).__name__).lower()}"

    @property
    def statement(self) -> str:
        """The statement in words: the docstring of the class."""
        return inspect.cleandoc(type(self).__doc__ or "")

    def settings(self) -> Space:
        """The named settings of a sampled problem."""
        return Space()

    @abc.abstractmethod
    def sample(self, setting: dict, key: Key[Array, ""]) -> P:
        """A random problem that the claim speaks about."""

    def pose(self, problem: Any) -> P | None:
        """The claim's own problem that a user's problem poses; None where the claim does not speak about it."""
        return problem if isinstance(problem, self.problem) else None

    @abc.abstractmethod
    def hypotheses(self, problem: P) -> list[Hypothesis]:
        """The conditions of the theorem, evaluated."""

    @abc.abstractmethod
    def predict(self, problem: P) -> Array:
        """What the theorem says."""

    @abc.abstractmethod
    def measure(self, problem: P, key: Key[Array, ""]) -> Array:
        """What is the case, by a route that shares no code with `predict`."""

    def trivial(self, problem: P) -> Array | None:
        """The value every reader already knows; a bound beyond it is vacuous."""
        return None

    def condition(self, problem: P) -> Array:
        """Condition number of the computation: rounding of a few eps times this is not held against the claim."""
        return jnp.ones(())

    def culprit(self, problem: P) -> str | None:
        """The likeliest cause in this problem when a hypothesis fails (duplicate rows, say), if it can be named."""
        return None

    @abc.abstractmethod
    def control(self) -> Control:
        """A neighbouring false statement that the same trials must refute."""
