"""Read a stored counterexample: check its record against a schema, and its arrays against the claim's problem."""

import io
import zipfile
import zlib
from pathlib import Path
from typing import Annotated, TypedDict

import numpy as np
from numpy.lib import format as npy

from lemmata.engine.claims import Claim
from lemmata.errors import DataError, LemmataError, words_of
from lemmata.results import digest
from lemmata.stored import MOST_BYTES, Count, Numbers, Told, built, parsed, read_bytes

from ._problem import Place, free_fields

SCHEMA = 1
_WROTE = "a counterexample that lemmata wrote"
_REMEDY = "run `lemmata refute` again"
_Seed = Annotated[int, Numbers(low=0.0, high=2.0**32 - 1.0)]
_Trials = Annotated[int, Numbers(low=1.0, high=1e7)]


class _StoredPlace(TypedDict):
    setting: dict[str, int | float | str]
    seed: _Seed
    number: _Seed


class StoredCounterexample(TypedDict):
    """The fields of counterexample.json: those of `Counterexample`, and the digest of the file with its arrays."""

    schema: int
    claim: str
    place: _StoredPlace
    predicted: float
    measured: float
    ratio: float
    hypotheses: list[tuple[str, float]]
    confirmed: str
    trials: Count
    steps: Count
    alone: bool
    budget: _Trials | None
    level: Annotated[float, Numbers(low=1e-12, high=0.499)]
    arrays: str | None


def read_record(path: Path) -> tuple[StoredCounterexample, Told]:
    """Read the record in a file and check every field. Also return the texts of error messages about the file.

    Args:
        path: the path of the JSON file.

    Raises:
        MissingFileError: if there is no such file.
        DataError: if the file is not a record of a counterexample, or was written by another version of lemmata.
    """
    told = Told(f"counterexample {path}", "a record of a counterexample", _REMEDY)
    values = parsed(read_bytes(path, f"counterexample {path}", _WROTE), told, literals=True)
    if not isinstance(values, dict):
        told.refuse("no object", "an object with fields")
    if "schema" not in values:
        told.refuse("no schema", f"schema {SCHEMA}", (None, "schema"))
    found = built(int, values["schema"], told, (None, "schema"))
    if found != SCHEMA:
        raise DataError(
            f"counterexample {path} was written by another version of lemmata",
            found=f"schema {found}", rule=f"schema {SCHEMA}", remedy=_REMEDY,
        )  # fmt: skip
    return built(StoredCounterexample, values, told), told


def read_arrays(path: Path, told: str | None) -> dict[str, np.ndarray]:
    """The arrays of a record; empty if the record has no arrays. Headers are read first, to refuse too large arrays.

    Args:
        path: the path of the NPZ file.
        told: the digest of the arrays in the record; None if the record has no arrays.

    Raises:
        DataError: if the file is missing, is damaged, belongs to another search, or holds Python objects.
    """
    if told is None:
        return {}
    content = read_bytes(path, f"arrays {path}", _WROTE) if path.exists() else b""
    if digest(content) != told:
        raise DataError(
            f"arrays {path}", found="no file, or a file with other content", remedy=_REMEDY,
            rule="the array file that was written together with the record",
        )  # fmt: skip
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(item.file_size for item in archive.infolist()) > MOST_BYTES:
                raise ValueError(f"arrays of more than {MOST_BYTES:,} bytes")
            for item in archive.infolist():
                with archive.open(item) as file:
                    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
                    shape, _, kind = read(file)
                if min(shape, default=0) < 0 or np.prod(shape, dtype=float) * kind.itemsize > item.file_size:
                    raise ValueError(f"{item.filename} has too few bytes for its shape {shape}")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (
        ValueError,
        KeyError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
        SyntaxError,
    ) as error:
        found = words_of(error, 120)
        raise DataError(f"arrays {path} cannot be read", found=found, rule=_WROTE, remedy=_REMEDY) from error


def placed(claim: Claim, record: StoredCounterexample, told: Told, arrays: dict[str, np.ndarray]) -> Place:
    """The place that a record names: a setting of the claim's population, and values of free fields.

    Args:
        claim: the claim.
        record: the content of the file.
        told: the texts of error messages about the file.
        arrays: values of free fields.

    Raises:
        DataError: if the claim's population does not have this setting, or if its problem does not have these fields.
    """
    own = record["place"]
    try:
        setting = claim.population.settings().resolve(own["setting"])
    except LemmataError as error:
        found = error.what if error.found is None else f"{error.what} {error.found}"
        told.refuse(found, error.rule or "a setting of the claim's population", ((None, "place"), "setting"))
    place = Place(setting, own["seed"], own["number"])
    if not arrays:
        return place
    problem = place.problem(claim)
    known = {name: np.shape(getattr(problem, name)) for name in free_fields(claim, problem)}
    rule = f"arrays of the free fields {', '.join(known) or '(none)'} of the claim's problem"
    for name, value in arrays.items():
        if name not in known:
            told.refuse(f"an array {name!a} beside it", rule)
        if value.dtype.kind != "f" or value.shape != known[name]:
            wanted = f"an array of floating-point numbers with shape {known[name]}"
            told.refuse(f"array {name} of {value.dtype} with shape {value.shape}", wanted)
        if np.isnan(value).any():
            told.refuse(f"NaN in array {name}", "numbers")
    return Place(setting, own["seed"], own["number"], arrays)
