"""The results of a search: a counterexample, a claim that survived the search, or a claim that was not tested."""

import dataclasses
import inspect
import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from lemmata.engine.claims import Claim, Status, check_asked, file_of, find, registry, verify
from lemmata.errors import MissingFileError, SettingError
from lemmata.results import digest, finish, replace_files
from lemmata.stored import Told, plain, refusing

from ._problem import Place, facts
from ._stored import SCHEMA, placed, read_arrays, read_record

_STEM = "counterexample"
LEVEL = 1e-4  # level of the verification that confirms a statistical refutation
_SCRIPT = '''"""A problem on which the statement of a claim fails."""

from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
from lemmata.engine.claims import find
from lemmata.engine.refutations import load_counterexample

(claim,) = find({claim})
print(load_counterexample(Path(__file__).with_suffix(""), claim))
'''


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """A problem that satisfies all hypotheses, and on which the statement fails.

    Args:
        claim: the name by which the claim is found.
        place: the place of the problem.
        predicted, measured: the claim's prediction and the measured true value, in the component that contradicts the
            claim most strongly.
        ratio: measured / predicted in this component, or predicted / measured for a lower bound. For an identity, it is
            the gap in units of the rounding error.
        hypotheses: name and margin of each condition that can be checked.
        confirmed: how the counterexample was confirmed, in words.
        trials: the number of problems that the search tested.
        steps: the number of steps by which the problem was simplified.
        alone: whether one problem contradicts the statement. One problem is not enough for statements with a
            probability, or about means or rates. Such a statement is refuted by a verification (many trials) at the
            setting and seed of `place`. Then `predicted` is the upper end of the verification's band, and `measured` is
            the verification's statistic.
        budget, level: the number of trials and the level of that verification.
        unstored: the reason why the search could no longer be stored; empty if it was stored, or if storing was not
            requested.
    """

    claim: str
    place: Place
    predicted: float
    measured: float
    ratio: float
    hypotheses: tuple[tuple[str, float], ...]
    confirmed: str
    trials: int
    steps: int = 0
    alone: bool = True
    budget: int | None = None
    level: float = LEVEL
    unstored: str = ""

    def __str__(self) -> str:
        setting = ", ".join(f"{name}={value}" for name, value in self.place.setting.items())
        lines = [f"{self.claim} is false" + (f" at {setting}" if setting else "")]
        for name, value in self.place.fields.items():
            shown = np.array2string(np.asarray(value), precision=6, threshold=60, separator=", ")
            lines.append(f"{name} = {shown}")
        if not self.alone:
            return "\n".join([*lines, self.confirmed])
        lines += [f"holds: {name} (margin {margin:.3g})" for name, margin in self.hypotheses]
        lines.append(f"predicted {self.predicted:.10g}, measured {self.measured:.10g}, ratio {self.ratio:.6g}")
        return "\n".join([*lines, self.confirmed])

    def save(self, directory: str | Path) -> Path:
        """Write a record, its arrays and a program that prints them into a directory, and return the program's path.

        The program, `counterexample.py`, runs without changes: `python counterexample.py`.

        Raises:
            DataError: if the directory cannot be written to.
        """
        directory = Path(directory)
        record = dataclasses.asdict(dataclasses.replace(self, unstored=""))
        del record["unstored"]
        arrays = record["place"].pop("fields")
        content = io.BytesIO()
        np.savez(content, **arrays)
        files: dict[str, str | bytes] = {f"{_STEM}.npz": content.getvalue()} if arrays else {}
        record = {"schema": SCHEMA, **plain(record), "arrays": digest(content.getvalue()) if arrays else None}
        files[f"{_STEM}.json"] = json.dumps(record, indent=1, default=float)
        files[f"{_STEM}.py"] = _SCRIPT.format(claim=ascii(self.claim))  # the name of a file may contain quotes
        replace_files(directory, _STEM, files, gone=[] if arrays else [f"{_STEM}.npz"])
        return directory / f"{_STEM}.py"


@dataclasses.dataclass(frozen=True)
class Survived:
    """The result of a search that found no counterexample. This result is evidence, but never a proof.

    Args:
        claim: the name of the claim.
        settings: the number of settings that were searched.
        trials: the number of problems that were tested.
        climbed: the number of problems from which the search tried to raise the pressure (see `_pressure`).
        ratio: the largest ratio of measured to predicted that the search found, or of predicted to measured for a lower
            bound. None if ratios have no meaning.
        place: where this ratio was found; None if no problem could be judged.
        failed: the number of problems that raised an error or gave no number.
        seconds: the time of the search in seconds.
        unconfirmed: the number of problems that contradicted the claim at first, but not after a new measurement or
            with other rounding errors.
        interrupted: whether Ctrl-C ended the search. The interrupted setting does not count.
        unstored: as in `Counterexample`.
    """

    claim: str
    settings: int
    trials: int
    climbed: int
    ratio: float | None
    place: Place | None
    failed: int
    seconds: float
    unconfirmed: int = 0
    interrupted: bool = False
    unstored: str = ""

    @property
    def tightness(self) -> float | None:
        """The share of the bound's constant that the search showed to be needed. If it is 1, the bound is attained."""
        return self.ratio

    def __str__(self) -> str:
        where = "" if self.place is None else ", ".join(f"{k}={v}" for k, v in self.place.setting.items())
        lines = [
            f"{self.claim} survived: {self.trials} problem{'s' * (self.trials != 1)} at {self.settings} "
            f"setting{'s' * (self.settings != 1)}, {self.climbed} of them also changed step by step towards a "
            "contradiction"
        ]
        if self.ratio is not None:
            loose = (
                f"; on all tested problems, {self.ratio:.2g} times the constant of the bound is enough"
                if self.ratio < 0.1
                else ""
            )
            lines.append(f"largest ratio {self.ratio:.6g}" + (f" at {where}" if where else "") + loose)
        if self.unconfirmed:
            lines.append(
                f"{self.unconfirmed} contradictions were not confirmed, because rounding errors or other random "
                "draws explain them"
            )
        if self.failed:
            lines.append(f"{self.failed} problems could not be judged")
        if self.interrupted:
            lines.append("The search was interrupted. These numbers cover only the finished part.")
        return "\n".join([*lines, "A search without a counterexample is evidence, not proof."])


@dataclasses.dataclass(frozen=True)
class Untested:
    """A search that judged no problem, so it gives no information about the statement.

    Args:
        claim: the name of the claim.
        settings, trials, failed: as in `Survived`.
        status: failed if problems raised an error or gave no number. The status is inapplicable if no problem was
            inside the hypotheses, or if the data of an optional package are not installed. The status is inconclusive
            if Ctrl-C was pressed while a contradiction was being confirmed.
        reason: the reason in words.
        seconds: the time of the search in seconds.
        interrupted, unstored: as in `Survived`.
    """

    claim: str
    settings: int
    trials: int
    failed: int
    status: Status
    reason: str
    seconds: float
    interrupted: bool = False
    unstored: str = ""

    def __str__(self) -> str:
        return f"{self.claim} was not tested ({self.status}): {self.reason}"


Searched = Counterexample | Survived | Untested
"""The possible results of a search."""


def address(claim: Claim) -> str:
    """The name by which `find` returns a claim: the claim's name if it is registered, otherwise its file and class."""
    if claim.name in registry():
        return claim.name
    measures = filter(None, (getattr(type(claim), name) for name in ("measure", "measure_at")))
    file = file_of(claim) or inspect.getsourcefile(next(measures, type(claim)))
    return f"{file}:{type(claim).__name__}"


def load_counterexample(stem: str | Path, claim: Claim | None = None) -> Counterexample:
    """Read a stored counterexample, and evaluate it again.

    A record is only data. If the record names a Python file with the claim, this file is not run.

    Args:
        stem: the path without its extension, as in the stored program.
        claim: the claim; None for a claim of the catalogue, which the function finds by its name.

    Raises:
        MissingFileError: if there is no such file.
        DataError: if the record cannot be read, has another version, or does not fit the claim.
        SettingError: if the record names a Python file and `claim` is None.
    """
    if not isinstance(stem, str | os.PathLike):
        found, rule = f"a {type(stem).__name__}", "the path of a stored counterexample without its extension"
        raise SettingError("counterexample", found=found, rule=rule)
    if not Path(stem).name:
        raise MissingFileError(
            f"counterexample '{stem}'", found="no name of a file",
            rule="the path of a stored counterexample without its extension",
            remedy="give the path as in the stored program, such as out/CLAIM/counterexample",
        )  # fmt: skip
    if claim is not None:
        check_asked(claim, None, 0, None)
    path = Path(stem).with_suffix(".json")
    finish(path.parent, path.stem)
    record, told_by = read_record(path)
    arrays = read_arrays(path.with_suffix(".npz"), record["arrays"])
    own = claim or _of_catalogue(record["claim"], path, told_by)
    with refusing(told_by, "values for which the claim can be evaluated"):
        place = placed(own, record, told_by, arrays)
        apart = ("schema", "place", "hypotheses", "arrays")
        rest = {name: value for name, value in record.items() if name not in apart}
        found = Counterexample(place=place, hypotheses=tuple(record["hypotheses"]), **rest)  # pyright: ignore
        return evaluated(own, found)


def _of_catalogue(name: str, path: Path, told_by: Told) -> Claim:
    """The claim that a record names. Raise an error if the claim is in a Python file."""
    if ".py" in name:
        raise SettingError(
            f"counterexample {path}",
            found=f"a claim of the file {name}",
            rule="lemmata does not run a Python file only because a record names the file",
            remedy=f"read the file. If you trust it, call load_counterexample(stem, find({name!r})[0])",
        )
    known = find(name)
    if len(known) != 1:
        told_by.refuse(f"{len(known)} claims of the name {name}", "the name of one claim", (None, "claim"))
    return known[0]


def evaluated(claim: Claim, found: Counterexample) -> Counterexample:
    """The counterexample with newly computed hypotheses, prediction and measurement."""
    if not found.alone:
        return dataclasses.replace(found, **judged(claim, found.place, found.budget, found.level))
    problem, key = found.place.problem(claim), found.place.keys(claim)[1]
    return dataclasses.replace(found, **told(claim, facts(claim, problem, key)))


def judged(claim: Claim, place: Place, budget: int | None = None, level: float = LEVEL) -> dict[str, Any]:
    """The record of a verification at a place. `confirmed` is empty if the verification does not refute the claim."""
    verdict = verify(claim, place.setting, budget=budget, seed=place.seed, corners=0, level=level, progress=False)
    refuted = verdict.status is Status.REFUTED
    band, statistic = verdict.band or (math.nan, math.nan), math.nan if verdict.estimate is None else verdict.estimate
    return {
        "predicted": band[1], "measured": statistic,
        "ratio": statistic / band[1] if band[1] else math.inf, "hypotheses": (),
        "confirmed": f"refuted by a second verification at level {level:g}: {verdict.reason}" if refuted else "",
    }  # fmt: skip


def told(claim: Claim, own: Any) -> dict[str, Any]:
    """The record of a trial: its component nearest to a contradiction, and the margins of the hypotheses."""
    import jax.numpy as jnp

    from lemmata.engine.claims import Sample

    from ._pressure import pressure

    predicted, measured = claim.relation.shown(Sample(own.predicted[None], own.measured[None], own.condition[None]))
    value = pressure(claim, *(jnp.asarray(part) for part in (own.predicted, own.measured, own.condition)))
    margins = tuple((h.name, float(np.min(h.margin))) for h in own.hypotheses if h.checkable)
    return {
        "predicted": float(predicted), "measured": float(measured), "ratio": float(np.exp(value)),
        "hypotheses": margins,
    }  # fmt: skip
