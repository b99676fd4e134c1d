"""The options of studies, comparisons and examinations, as the command line, Python and the records use them."""

import dataclasses
import math
import shlex
from typing import Annotated, Any

from lemmata.errors import SettingError
from lemmata.facts import FACTS
from lemmata.signatures import shows_public as _shows_public

SHORTEST = 10.0
"""The shortest allowed time limit in seconds. With a shorter limit, not even one model would be measured."""
DELTA = 1e-5
"""The delta of an (epsilon, delta) differential privacy if the user gives only epsilon."""
EXAMINATION = 60.0
"""The default time limit of an examination, in seconds. After this time, no further check starts."""


def check_limit(seconds: Any, name: str) -> None:
    """Check a time limit: it must be a number of at least `SHORTEST` seconds, or inf.

    Args:
        seconds: the limit.
        name: the name of the option that the error message shows.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= SHORTEST:
        rule = f"a number of seconds, at least {SHORTEST:g}, or inf for no limit"
        raise SettingError(f"{name} is out of bounds", found=seconds, rule=rule)


@dataclasses.dataclass(frozen=True)
class StudyOptions:
    """The options of a study. Each field is an option of `lemmata study` and an argument of `lemmata.study`.

    Raises:
        SettingError: if a number is out of its bounds.

    >>> StudyOptions(target="yield", error="rmse 2.5").command("field.csv")
    "lemmata study field.csv --target yield --error 'rmse 2.5'"
    """

    target: Annotated[str | None, "The column to predict. Bundled data sets have a default."] = None
    error: Annotated[
        str | None,
        'The value to reach, such as "accuracy 0.95", "log-loss 0.3", "auc 0.9", "r2 0.8" or "rmse 2.5" (in the units'
        " of the target). A number without a name is a value of --metric. Without --metric, the number is an error"
        " rate, or the fraction of the target's variance that is not explained.",
    ] = None
    metric: Annotated[
        Any,
        "The metric of all results. For regression: rmse, r2, mae, median_absolute_error. For classification: accuracy,"
        " balanced_accuracy, f1, average_precision, auc, log-loss, brier_score. You can also name a scikit-learn"
        " scorer. The default is rmse or accuracy. In Python you can also pass a function score(y_true, y_pred) or a"
        " scorer object.",
    ] = None
    cost: Annotated[
        float | None, "The price of one row. If you give it, the study also reports what more data would cost."
    ] = None
    models: Annotated[
        str | None,
        "Models to compare, separated by commas. Kernels: linear, rbf, laplace, matern-3/2, matern-5/2, softmax,"
        " polynomial-DEGREE. Kernels of very wide networks: relu-DEPTH, erf-DEPTH, gelu-DEPTH. Other models: boosting, "
        "forest, logistic, lasso, elastic-net, poisson, gamma,"
        " neighbours, svm.",
    ] = None
    model: Annotated[
        Any,
        "Also compare your own model: FILE.py:function, where the function returns a scikit-learn estimator. The"
        " estimator gets your columns unchanged, in a data frame. In Python, pass the estimator itself.",
    ] = None
    group: Annotated[
        str | None, "Group column. Rows with the same value stay together: all in training or all held out."
    ] = None
    time: Annotated[
        str | None, "Time column, with dates or numbers. Models are trained on earlier rows and tested on later ones."
    ] = None
    task: Annotated[str | None, "classification or regression. Default: chosen from the target."] = None
    drop_column: Annotated[tuple[str, ...], "Leave this column out. Repeatable."] = ()
    keep: Annotated[tuple[str, ...], "Keep this column although it looks like an identifier. Repeatable."] = ()
    drop_missing: Annotated[bool, "Drop rows with missing cells instead of filling them in."] = False
    na: Annotated[
        tuple[str, ...], "A text that marks a missing cell. Repeatable. With --na '', only empty cells are missing."
    ] = ()
    decimal: Annotated[str | None, "The decimal mark, '.' or ','. Default: detected from the cells."] = None
    max_rows: Annotated[int | None, "Use at most this many rows, drawn at random. Default: all."] = None
    quick: Annotated[bool, "Measure fewer sizes and splits, and skip the theory."] = False
    claims: Annotated[
        bool, "Also check which theorems apply to these data, and compare trained networks with their tangent kernels."
    ] = False
    time_limit: Annotated[float | None, "Stop after this many seconds and report what is finished."] = None
    seed: Annotated[int, "Seed of all randomness."] = 0

    def __post_init__(self) -> None:
        """Check the numbers. Raise SettingError for a number that is out of its bounds."""
        if self.cost is not None and not (math.isfinite(self.cost) and self.cost > 0):
            raise SettingError("--cost is out of bounds", found=self.cost, rule="a finite number above 0")
        if self.time_limit is not None and not (math.isfinite(self.time_limit) and self.time_limit >= SHORTEST):
            rule = f"a finite number, at least {SHORTEST:g}"
            raise SettingError("--time-limit is out of bounds", found=self.time_limit, rule=rule)
        if not 0 <= self.seed < 2**32:
            raise SettingError("--seed is out of bounds", found=self.seed, rule="a whole number from 0 to 4294967295")

    @property
    def model_names(self) -> list[str] | None:
        """The names in `models`; None for the default."""
        return None if self.models is None else [name.strip() for name in self.models.split(",") if name.strip()]

    def command(self, data: str) -> str:
        """The command that repeats the study, quoted for a shell; options at their defaults are left out."""
        return _command("study", data, self)


FAMILY_NAMES = ("mlp", "conv", "recurrent", "attention")
MOST_LENGTH = 2**16


@dataclasses.dataclass(frozen=True)
class ComparisonOptions:
    """The options of a comparison. Each field is an option of `lemmata compare` and an argument of `lemmata.compare`.

    Raises:
        SettingError: if a number is out of its bounds, if a name is unknown, or if `time` is given without `id`.

    >>> ComparisonOptions(sequence_length=8, families="mlp,conv").command("digits")
    'lemmata compare digits --sequence-length 8 --families mlp,conv'
    """

    sequence_length: Annotated[
        int | None,
        "Number T of tokens in a sequence. Each row of the table is one sequence. Its columns are read in order, as T"
        " tokens with columns/T numbers each. Bundled tasks have a fixed T.",
    ] = None
    target: Annotated[str | None, "The column to predict. Bundled data sets have a default."] = None
    id: Annotated[
        str | None, "The column that names the sequence of each token, for a table with one line for each token."
    ] = None
    time: Annotated[
        str | None, "The column that orders the tokens of a sequence, for a table with one line for each token."
    ] = None
    families: Annotated[
        str,
        "Families to compare, separated by commas: mlp (which reads all tokens side by side), conv, recurrent, "
        "attention. Add score to test denoising kernels as well. They are not part of the comparison.",
    ] = ",".join(FAMILY_NAMES)
    kernels: Annotated[
        str,
        "fixed: each family mixes tokens without learned parameters, and all families get the same kind of output "
        "layer."
        " wide: each family is the kernel of an infinitely wide network.",
    ] = "fixed"
    finite: Annotated[bool, "Also train one small network of each family, all with the same budget."] = False
    read: Annotated[str, "last: predict from the last token. mean: predict from the mean over positions."] = "last"
    test: Annotated[
        float | None, "Fraction of the sequences to hold out. Default: 0.5, or the fraction of the bundled task."
    ] = None
    repeats: Annotated[int, "Number of random splits."] = 5
    lengths: Annotated[
        str, "Sequence lengths at which the cost is measured, separated by commas. With none, the cost is not measured."
    ] = "64,256,1024"
    task: Annotated[str | None, "classification or regression. Default: chosen from the target."] = None
    drop_column: Annotated[tuple[str, ...], "Leave this column out. Repeatable."] = ()
    max_rows: Annotated[int | None, "Use at most this many rows. Default: 2500."] = None
    time_limit: Annotated[float | None, "Stop after this many seconds and report what is finished."] = None
    seed: Annotated[int, "Seed of all randomness."] = 0

    def __post_init__(self) -> None:
        """Check every option; raise SettingError for an invalid value or combination."""
        StudyOptions(time_limit=self.time_limit, seed=self.seed)
        if self.test is not None and not 0 < self.test < 1:
            raise SettingError("--test is out of bounds", found=self.test, rule="a share above 0 and below 1")
        if not 1 <= self.repeats <= 100:
            raise SettingError("--repeats is out of bounds", found=self.repeats, rule="a whole number from 1 to 100")
        for name, value, known in (("kernels", self.kernels, ("fixed", "wide")), ("read", self.read, ("last", "mean"))):
            if value not in known:
                raise SettingError(f"--{name} is unknown", found=repr(value), rule=" or ".join(known))
        unknown = [name for name in self.family_names if name not in (*FAMILY_NAMES, "score")]
        if unknown or not self.family_names:
            rule = f"some of {', '.join(FAMILY_NAMES)}, score, separated by commas"
            raise SettingError("--families has an unknown name", found=repr(", ".join(unknown)), rule=rule)
        if self.time is not None and self.id is None:
            raise SettingError(
                "--time is given without --id",
                found=self.time,
                rule="a table with one line for each token needs both options",
                remedy="with --id, name the column that tells to which row a token belongs",
            )
        if self.max_rows is not None and self.max_rows < 40:
            raise SettingError("--max-rows is too small", found=self.max_rows, rule="at least 40")
        _ = self.ladder

    @property
    def family_names(self) -> tuple[str, ...]:
        """The names in `families`, each once."""
        return tuple(dict.fromkeys(name.strip() for name in self.families.split(",") if name.strip()))

    @property
    def ladder(self) -> tuple[int, ...]:
        """The numbers in `lengths`, in increasing order; empty if `lengths` is "none"."""
        words = [word.strip() for word in self.lengths.split(",") if word.strip()]
        if words == ["none"]:
            return ()
        if not words or not all(word.isdecimal() and 2 <= int(word) <= MOST_LENGTH for word in words):
            rule = f"whole numbers from 2 to {MOST_LENGTH}, separated by commas, or none"
            raise SettingError("--lengths is not a list of lengths", found=repr(self.lengths), rule=rule)
        return tuple(sorted({int(word) for word in words}))

    def command(self, data: str) -> str:
        """The command that repeats the comparison, quoted for a shell; options at their defaults are left out."""
        return _command("compare", data, self)


def _what(fact: str) -> str:
    """Return the beginning of the help of an option that states a fact about a trained model."""
    return FACTS[fact].sentence


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """The options of an examination of a trained model. Each field is an option of `lemmata model`.

    Raises:
        SettingError: if a number is out of its bounds, if both `held` and `split` are given, or if `delta` is given
            without `epsilon`.

    >>> ModelOptions(weights="net.safetensors", held="new.csv").command("net.py", "old.csv")
    'lemmata model net.py old.csv --weights net.safetensors --held new.csv'
    """

    weights: Annotated[
        str | None,
        "A safetensors file with the parameters by name. lemmata loads them into the model that build() returns.",
    ] = None
    held: Annotated[str | None, f"{_what('held')}: a file like DATA."] = None
    split: Annotated[
        str | None, "Use this instead of --held: a column of DATA that contains held or test in the held-out rows."
    ] = None
    target: Annotated[str | None, "The column to predict. Default: the column y, target or label."] = None
    decay: Annotated[
        float | None, f"{_what('decay')}. Default: decay in the program, or a value inferred from the weights."
    ] = None
    loss: Annotated[str | None, f"{_what('loss')}: {FACTS['loss'].note.partition('; or a mapping')[0]}."] = None
    start: Annotated[str | None, f"{_what('start')}: a safetensors file."] = None
    rate: Annotated[float | None, f"{_what('rate')}."] = None
    deploy: Annotated[str | None, f"{_what('deployed')}: a file like DATA. Targets in the file are ignored."] = None
    checkpoint: Annotated[tuple[str, ...], f"{_what('checkpoints')}: a safetensors file for each. Repeatable."] = ()
    size: Annotated[
        tuple[str, ...],
        f"{_what('sizes')}: a safetensors file for each model that sizes() in the program returns. Repeatable.",
    ] = ()
    corrected: Annotated[
        str | None, f"{_what('corrected')}: a column of DATA, or a file with the same rows in the same order."
    ] = None
    epsilon: Annotated[float | None, f"{_what('claimed')}: its epsilon."] = None
    delta: Annotated[float | None, f"The delta of the claimed privacy; use it with --epsilon. Default: {DELTA:g}."] = (
        None
    )
    require: Annotated[
        tuple[str, ...], 'A condition such as "held.error<0.1". If it does not hold, the exit code is 1. Repeatable.'
    ] = ()
    time_limit: Annotated[
        float, "Start no check after this many seconds. The smallest limit is 10; inf means no limit."
    ] = EXAMINATION
    seed: Annotated[int, f"{_what('seed')}."] = 0

    def __post_init__(self) -> None:
        """Check every option; raise SettingError for an invalid value or combination."""
        StudyOptions(seed=self.seed)
        check_limit(self.time_limit, "--time-limit")
        if self.held is not None and self.split is not None:
            raise SettingError(
                "--held with --split",
                rule="at most one of the two, because each option says which rows the model was not trained on",
                remedy="leave one of them out",
            )
        if self.decay is not None and not (math.isfinite(self.decay) and self.decay >= 0):
            raise SettingError("--decay is out of bounds", found=self.decay, rule="a finite number, at least 0")
        if self.rate is not None and not (math.isfinite(self.rate) and self.rate > 0):
            raise SettingError("--rate is out of bounds", found=self.rate, rule="a finite number above 0")
        if self.epsilon is not None and not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise SettingError("--epsilon is out of bounds", found=self.epsilon, rule="a finite number above 0")
        if self.delta is not None and self.epsilon is None:
            raise SettingError(
                "--delta without --epsilon",
                found=self.delta,
                rule="a claim of differential privacy consists of epsilon and delta",
                remedy="add --epsilon, or leave --delta out",
            )
        if self.delta is not None and not 0 <= self.delta < 1:
            raise SettingError(
                "--delta is out of bounds", found=self.delta, rule="a number that is at least 0 and below 1"
            )

    @property
    def claimed(self) -> tuple[float, float] | None:
        """The claimed privacy, as epsilon and delta; None if no privacy is claimed."""
        return None if self.epsilon is None else (self.epsilon, DELTA if self.delta is None else self.delta)

    def command(self, program: str, data: str) -> str:
        """The command that repeats the examination, quoted for a shell; options at their defaults are left out."""
        return _command("model", program, self, data)


def _command(verb: str, data: str, options: Any, *others: str) -> str:
    words = ["lemmata", verb, data, *others]
    for field in dataclasses.fields(options):
        value: Any = getattr(options, field.name)
        flag = "--" + field.name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, tuple):
            words += [word for item in value for word in (flag, item)]
        elif isinstance(value, str | int | float) and value is not False and value != field.default:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)


_shows_public(__name__)
