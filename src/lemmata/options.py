"""What a study may be told: one definition for the command line, for Python, and for the record."""

import dataclasses
import math
import shlex
from typing import Annotated, Any

from lemmata.errors import SettingError

SHORTEST = 10.0
"""The shortest time limit in seconds: below that not even one model is measured."""


@dataclasses.dataclass(frozen=True)
class StudyOptions:
    """The options of a study. Each is an option of `lemmata study` and an argument of `lemmata.study` by the same name.

    Raises:
        SettingError: a number is out of its bounds.

    >>> StudyOptions(target="yield", error="rmse 2.5").command("field.csv")
    "lemmata study field.csv --target yield --error 'rmse 2.5'"
    """

    target: Annotated[str | None, "The column to predict; bundled sets know theirs."] = None
    error: Annotated[
        str | None,
        'The value to reach: "accuracy 0.95", "log-loss 0.3", "auc 0.9"; "rmse 2.5" (in the units of the target),'
        ' "r2 0.8".'
        " A bare number is the share of wrong classes, or of variance that is not predicted.",
    ] = None
    cost: Annotated[float | None, "The price of a row: more data are then priced."] = None
    models: Annotated[
        str | None,
        "Models to compare, separated by commas. Kernels, which predict a row from similar ones: linear, rbf, laplace,"
        " matern-3/2, matern-5/2, softmax, polynomial-DEGREE, and as very wide networks relu-DEPTH, erf-DEPTH,"
        " gelu-DEPTH. Beside them: boosting, forest, logistic.",
    ] = None
    model: Annotated[str | None, "Your own beside them: FILE.py:function that returns a scikit-learn estimator."] = None
    group: Annotated[str | None, "A column; rows where it is equal are never split."] = None
    time: Annotated[str | None, "A column of dates or numbers: earlier rows train, later rows test."] = None
    task: Annotated[str | None, "classification or regression; default: by the target."] = None
    drop_column: Annotated[tuple[str, ...], "Leave a column out; repeatable."] = ()
    keep: Annotated[tuple[str, ...], "Keep a column that looks like an identifier; repeatable."] = ()
    drop_missing: Annotated[bool, "Drop rows with missing cells instead of filling them in."] = False
    max_rows: Annotated[int | None, "Use at most this many rows; default 2500."] = None
    quick: Annotated[bool, "Curves and answer alone: five sizes up to 400 rows, few splits, no theory beside."] = False
    claims: Annotated[
        bool, "Also: which theorems apply to these data, and trained networks beside the kernels that they turn into."
    ] = False
    time_limit: Annotated[float | None, "Seconds after which the study ends with what it has."] = None
    seed: Annotated[int, "Seed of all randomness."] = 0

    def __post_init__(self) -> None:
        """Refuse numbers that no study can be told."""
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
        words = ["lemmata", "study", data]
        for field in dataclasses.fields(self):
            value: Any = getattr(self, field.name)
            flag = "--" + field.name.replace("_", "-")
            if value is True:
                words.append(flag)
            elif isinstance(value, tuple):
                words += [word for item in value for word in (flag, item)]
            elif value not in (None, False) and value != field.default:
                words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join(words)
