"""The facts that a user may know about a trained model and its training. Only this module puts these facts into words.

The command line, the Python interface, the HTML page and the documentation take the words from this module. All facts
are optional.
"""

import dataclasses
import difflib
import inspect
import textwrap
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypedDict, TypeVar

from lemmata.errors import SettingError
from lemmata.signatures import shows_public as _shows_public

F = TypeVar("F", bound=Callable[..., Any])
DOCUMENTS = "the rows are documents of a language model"
"""The hypothesis, in words, of each check that needs a language model."""


@dataclasses.dataclass(frozen=True)
class Fact:
    """A fact that may be known about a trained model.

    Args:
        what: the fact in words.
        note: a remark for Python users.
        command: how to pass the fact on the command line.
        given: the words with which a check that needs this fact requires it; empty if no check needs the fact.
        default: the value that is used if the user does not give the fact.
    """

    what: str
    note: str = ""
    command: str = ""
    given: str = ""
    default: Any = None

    @property
    def sentence(self) -> str:
        """The fact in words with a capital first letter, as the beginning of a longer text."""
        return self.what[0].upper() + self.what[1:]


class Facts(TypedDict, total=False):
    """The known facts about a trained model, by their keywords in Python. `FACTS` describes each fact in words."""

    held: Annotated[
        Any,
        Fact(
            "held-out rows with their targets, or held-out documents",
            "without them, no prediction is compared with a measurement",
            "--held FILE",
        ),
    ]
    labels: Annotated[
        tuple[Any, ...] | None,
        Fact(
            "the class of each output, if the outputs are not the sorted classes or whole numbers from 0",
            "",
            "labels in the program",
        ),
    ]
    decay: Annotated[
        float | None,
        Fact(
            "weight decay: delta in mean loss + (delta/2) |theta|²",
            "without it, lemmata infers the decay from the weights",
            "--decay NUMBER (0, if there was none)",
            "the decay of the weights is stated as 0",
        ),
    ]
    loss: Annotated[
        Any,
        Fact(
            "the training loss",
            (
                "without it, lemmata infers the loss from outputs, targets and the estimator. State "
                '"log" (to which you can append ", smoothed by SHARE" and ", weights CLASS=WEIGHT ..." or '
                '", weights balanced"), "squared", "huber WIDTH", "poisson", "quantile SHARE" or "other"; or a mapping '
                "of classes to weights"
            ),
            "--loss TEXT, or loss in the program",
        ),
    ]
    start: Annotated[
        Any,
        Fact(
            "the model with its initial parameters, before training",
            "",
            "--start FILE",
            "the initial parameters are given",
        ),
    ]
    fit: Annotated[
        Callable[..., Any] | None,
        Fact(
            "a function that trains the model again",
            "fit(x, y, seed) or fit(x, y, seed, start=None), which returns a model",
            "def fit(x, y, seed) in the program",
            "a function that trains the model again is given",
        ),
    ]
    rate: Annotated[
        float | None,
        Fact(
            "the learning rate, if full-batch gradient descent trained the model",
            "",
            "--rate NUMBER",
            "the learning rate of full-batch descent is given",
        ),
    ]
    deployed: Annotated[
        Any,
        Fact(
            "deployment rows (rows on which the model is used), without targets",
            "",
            "--deploy FILE",
            "deployment rows are given",
        ),
    ]
    checkpoints: Annotated[
        tuple[Any, ...],
        Fact(
            "earlier checkpoints of the training, in order",
            "",
            "--checkpoint FILE, repeated",
            "checkpoints",
            (),
        ),
    ]
    claimed: Annotated[
        tuple[float, float] | None,
        Fact(
            "the differential privacy that is claimed for the training",
            "(epsilon, delta)",
            "--epsilon NUMBER",
            "a differential privacy of the training is claimed",
        ),
    ]
    noised: Annotated[
        Any,
        Fact(
            "the noisy training steps that the claimed privacy is based on",
            '{"sampling": probability with which a row took part in a step, "noise": standard deviation of the noise '
            'in units of the clipping norm, "steps": how many}',
            "privacy in the program",
            "the program states its noisy steps",
        ),
    ]
    corrected: Annotated[
        Any,
        Fact(
            "corrected targets of the training rows",
            "",
            "--corrected COLUMN or FILE",
            "corrected labels are given",
        ),
    ]
    padding: Annotated[
        int | None,
        Fact("the token that pads documents", "-1 is always padding", "padding in the program"),
    ]
    scale: Annotated[
        float | None,
        Fact(
            "the largest absolute value of an input, if all inputs have the same unit",
            "255 for pixels, say",
            "scale in the program",
        ),
    ]
    sizes: Annotated[
        tuple[Any, ...],
        Fact(
            "models of other sizes, trained in the same way on the same rows",
            "in any order",
            "sizes() in the program, and --size FILE, repeated, for their weights",
            default=(),
        ),
    ]
    seed: Annotated[int, Fact("the random seed", "", "--seed NUMBER", default=0)]


def _read() -> dict[str, tuple[Any, Fact]]:
    hints = typing.get_type_hints(Facts, include_extras=True)
    return {name: typing.get_args(hint)[:2] for name, hint in hints.items()}


FACTS: dict[str, Fact] = {name: fact for name, (_, fact) in _read().items()}
"""The facts by their keywords."""


def with_defaults(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all facts by keyword. A fact that is not given has its default.

    Raises:
        SettingError: if a keyword does not name a fact.
    """
    for name in facts:
        if name not in FACTS:
            near = difflib.get_close_matches(name, FACTS, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else None
            raise SettingError(f"fact {name!r} is unknown", rule=f"one of {', '.join(FACTS)}", remedy=remedy)
    return {name: fact.default for name, fact in FACTS.items()} | dict(facts)


def states_facts(function: F) -> F:
    """Name each fact in the signature and the docstring of a function that takes **facts."""
    own = inspect.signature(function)
    plain = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=fact.default, annotation=kind)
        for name, (kind, fact) in _read().items()
    ]
    function.__signature__ = own.replace(parameters=[*plain, *named])  # pyright: ignore[reportFunctionMemberAccess]
    words = [f"{name}: {fact.what}{f'; {fact.note}' if fact.note else ''}." for name, fact in FACTS.items()]
    lines = [textwrap.fill(line, 120, initial_indent=8 * " ", subsequent_indent=12 * " ") for line in words]
    first, mark, rest = (function.__doc__ or "").partition("        **facts: ")
    if mark:
        function.__doc__ = first + "\n".join(lines) + "\n" + rest.partition("\n")[2]
    return function


_shows_public(__name__)
