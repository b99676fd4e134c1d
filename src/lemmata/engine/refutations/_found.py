"""What a search ends with: a counterexample, or what survived it."""

import dataclasses
import inspect
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from lemmata.engine.claims import Claim, Status, file_of, find, registry, verify
from lemmata.errors import DataError, file_error
from lemmata.files import read_bytes
from lemmata.results import digest, finish, replace_files

from ._problem import Place, facts

_SCHEMA = 1
_STEM = "counterexample"
LEVEL = 1e-4  # of the verification that confirms a statistical refutation
_SCRIPT = '''"""{claim}: a problem on which the statement fails."""

from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
from lemmata.engine.refutations import load_counterexample

found = load_counterexample(Path(__file__).with_suffix(""))
print(found)
'''


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """A problem inside the hypotheses on which a statement fails.

    Args:
        claim: by which name it is found.
        place: where the problem is.
        predicted, measured: what the claim says and what is the case, at the component that misses most.
        ratio: measured over predicted there, or the other way about for a lower bound; for an identity, the gap in
            units of what rounding explains.
        hypotheses: name and margin of each condition that can be checked.
        confirmed: how it was confirmed, in words.
        trials: how many problems the search looked at.
        steps: how often it was made simpler.
        alone: whether one problem contradicts the statement; False of statements with a probability, about means or
            rates, which a verification at that setting and seed refutes: `predicted` and `measured` are then the end of
            its band and its statistic.
        budget, level: of that verification.
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

        The program, `counterexample.py`, runs as it stands: `python counterexample.py`.

        Raises:
            DataError: if the directory cannot be written to.
        """
        directory = Path(directory)
        record = dataclasses.asdict(self)
        arrays = record["place"].pop("fields")
        content = io.BytesIO()
        np.savez(content, **arrays)
        files: dict[str, str | bytes] = {f"{_STEM}.npz": content.getvalue()} if arrays else {}
        record |= {"schema": _SCHEMA, "arrays": digest(content.getvalue()) if arrays else None}
        files |= {f"{_STEM}.json": json.dumps(record, indent=1, default=float)}
        files |= {f"{_STEM}.py": _SCRIPT.format(claim=self.claim)}
        replace_files(directory, _STEM, files, gone=[] if arrays else [f"{_STEM}.npz"])
        return directory / f"{_STEM}.py"


@dataclasses.dataclass(frozen=True)
class Survived:
    """What a search tried without finding a counterexample: evidence, never proof.

    Args:
        claim: its name.
        settings: how many settings were searched.
        trials: how many problems were looked at.
        climbed: from how many of them the pressure was raised.
        ratio: the largest measured over predicted that was met, or predicted over measured for a lower bound; None
            where ratios say nothing.
        place: where that was; None where nothing could be judged.
        failed: how many problems raised an error or gave no number.
        seconds: of the search.
        unconfirmed: how many problems contradicted it until they were measured again, or rounded otherwise.
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

    @property
    def tightness(self) -> float | None:
        """The share of the constant that the search could not break: at 1 a bound is attained."""
        return self.ratio

    def __str__(self) -> str:
        where = "" if self.place is None else ", ".join(f"{k}={v}" for k, v in self.place.setting.items())
        lines = [
            f"{self.claim} survived: {self.trials} problems at {self.settings} settings, {self.climbed} of them climbed"
        ]
        if self.ratio is not None:
            loose = (
                f"; it holds with {self.ratio:.2g} of the constant on all that was tried" if self.ratio < 0.1 else ""
            )
            lines.append(f"largest ratio {self.ratio:.6g}" + (f" at {where}" if where else "") + loose)
        if self.unconfirmed:
            lines.append(f"{self.unconfirmed} contradictions were not confirmed: rounding or other draws explain them")
        if self.failed:
            lines.append(f"{self.failed} problems could not be judged")
        return "\n".join([*lines, "A search that finds nothing is evidence, not proof."])


def address(claim: Claim) -> str:
    """By which name `find` returns a claim: its own where it is registered, else its file and class."""
    if claim.name in registry():
        return claim.name
    measures = filter(None, (getattr(type(claim), name) for name in ("measure", "measure_at")))
    file = file_of(claim) or inspect.getsourcefile(next(measures, type(claim)))
    return f"{file}:{type(claim).__name__}"


def load_counterexample(stem: str | Path, claim: Claim | None = None) -> Counterexample:
    """Read a stored counterexample, and evaluate it afresh.

    Args:
        stem: the path without its ending, as the program has it.
        claim: the claim, where its name does not find it.

    Raises:
        MissingFileError: if there is no such file.
        DataError: if the record cannot be read, or has another version.
    """
    path = Path(stem).with_suffix(".json")
    finish(path.parent, path.stem)
    try:
        record = json.loads(read_bytes(path))
        arrays = path.with_suffix(".npz")
        content = read_bytes(arrays) if arrays.exists() else b""
        fields = dict(np.load(io.BytesIO(content), allow_pickle=False)) if content else {}
    except (OSError, ValueError) as error:
        rule = "a record of a counterexample that lemmata wrote"
        raise file_error(error)(f"counterexample {path}", found=str(error)[:120], rule=rule) from error
    if not isinstance(record, dict) or record.pop("schema", None) != _SCHEMA:
        raise DataError(
            f"counterexample {path}",
            found="a different schema",
            rule=f"schema {_SCHEMA}, which this version of lemmata reads",
            remedy="run `lemmata refute` again",
        )
    if (told := record.pop("arrays", None)) is not None and told != digest(content):
        raise DataError(
            f"counterexample {path}",
            found=f"{arrays.name} is missing, or of another search",
            rule="a record and its arrays, which one search wrote",
            remedy="run `lemmata refute` again",
        )
    place = Place(**record.pop("place"), fields=fields)
    own = claim or find(record["claim"])[0]
    hypotheses = tuple((str(name), float(margin)) for name, margin in record.pop("hypotheses"))
    found = Counterexample(place=place, hypotheses=hypotheses, **record)
    return evaluated(own, found)


def evaluated(claim: Claim, found: Counterexample) -> Counterexample:
    """The counterexample with hypotheses, prediction and measurement computed anew."""
    if not found.alone:
        return dataclasses.replace(found, **judged(claim, found.place, found.budget, found.level))
    problem, key = found.place.problem(claim), found.place.keys(claim)[1]
    return dataclasses.replace(found, **told(claim, facts(claim, problem, key)))


def judged(claim: Claim, place: Place, budget: int | None = None, level: float = LEVEL) -> dict[str, Any]:
    """What a record says of a verification at a place; the reason is empty where it does not refute."""
    verdict = verify(claim, place.setting, budget=budget, seed=place.seed, corners=0, level=level, progress=False)
    refuted = verdict.status is Status.REFUTED
    band, statistic = verdict.band or (math.nan, math.nan), math.nan if verdict.estimate is None else verdict.estimate
    return {
        "predicted": band[1], "measured": statistic,
        "ratio": statistic / band[1] if band[1] else math.inf, "hypotheses": (),
        "confirmed": f"refuted by a second verification at level {level:g}: {verdict.reason}" if refuted else "",
    }  # fmt: skip


def told(claim: Claim, own: Any) -> dict[str, Any]:
    """What a record says of a trial: the component nearest to a contradiction, and the margins."""
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
