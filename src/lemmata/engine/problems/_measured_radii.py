"""Measured charge radii of nuclei and the radii of models, read from the optional package nucleardatapy."""

import dataclasses
import functools
import importlib.util
import pathlib

import numpy as np
from jaxtyping import Float, Int

from lemmata.errors import MissingDataError, UnknownNameError

_RADII = "nuclei/radch/2013-Angeli.csv"
_MODELS = {
    "BSkG1": "nuclei/masses/Theory/2021-BSkG1.txt",
    "BSkG2": "nuclei/masses/Theory/2022-BSkG2.txt",
    "BSkG3": "nuclei/masses/Theory/2023-BSkG3.txt",
    "BSkG4": "nuclei/masses/Theory/2025-BSkG4.txt",
}


@dataclasses.dataclass(frozen=True)
class MeasuredRadii:
    """Root mean square charge radii of nuclei, in fm, in the order of Z and N.

    Args:
        z: protons.
        n: neutrons.
        radius: the measured radius.
        uncertainty: its standard error as the table has it.
    """

    z: Int[np.ndarray, " nuclei"]
    n: Int[np.ndarray, " nuclei"]
    radius: Float[np.ndarray, " nuclei"]
    uncertainty: Float[np.ndarray, " nuclei"]

    @property
    def points(self) -> Float[np.ndarray, "nuclei 2"]:
        """(Z, N) as rows of numbers, for kernels."""
        return np.stack([self.z, self.n], axis=1).astype(float)


@functools.cache
def measured_radii(least: int = 8) -> MeasuredRadii:
    """The table of Angeli and Marinova (2013), as the installed package nucleardatapy has it; nothing is fetched.

    The package is not imported, since that draws in its plots: its table is read where it lies. Its licence is
    CC BY-NC-ND 4.0, so that lemmata holds no copy.

    >>> nuclei = measured_radii()
    >>> len(nuclei.radius), float(nuclei.radius[(nuclei.z == 82) & (nuclei.n == 126)][0])
    (885, 5.5012)

    Args:
        least: nuclei with fewer protons are left out.

    Raises:
        MissingDataError: where the package or its table is missing.
    """
    rows = [line.split(",") for line in _lines(_RADII)]
    known = sorted((int(row[0]), int(row[2]), float(row[4]), float(row[5])) for row in rows if row[4] and row[5])
    kept = [row for row in known if row[0] >= least]
    z, n, radius, uncertainty = (np.array(column) for column in zip(*kept, strict=True))
    return MeasuredRadii(z, n, radius, uncertainty)


def model_radii(model: str, nuclei: MeasuredRadii) -> Float[np.ndarray, " nuclei"]:
    """Charge radii of a microscopic model in fm, NaN where its table has none.

    >>> radii = model_radii("BSkG4", measured_radii())
    >>> int(np.isnan(radii).sum()), bool(np.nanmax(abs(radii - measured_radii().radius)) < 0.2)
    (1, True)

    Args:
        model: "BSkG1", "BSkG2", "BSkG3" or "BSkG4", which are Hartree-Fock-Bogoliubov calculations on a grid.
        nuclei: which nuclei.

    Raises:
        UnknownNameError: for another model.
        MissingDataError: where the package or its table is missing.
    """
    if model not in _MODELS:
        raise UnknownNameError(f"model {model!r} of charge radii", rule=f"one of {', '.join(_MODELS)}")
    table = _model_table(model)
    return np.array([table.get((int(z), int(n)), np.nan) for z, n in zip(nuclei.z, nuclei.n, strict=True)])


def isospin_radii(nuclei: MeasuredRadii) -> Float[np.ndarray, " nuclei"]:
    """R (1 - b (N - Z)/A) A^(1/3) with A = N + Z, and r and b by least squares on these nuclei.

    >>> nuclei = measured_radii()
    >>> round(float(np.sqrt(np.mean((nuclei.radius - isospin_radii(nuclei)) ** 2))), 4)
    0.0663

    Args:
        nuclei: measured nuclei.
    """
    mass = (nuclei.z + nuclei.n).astype(float)
    columns = np.stack([mass ** (1 / 3), -(nuclei.n - nuclei.z) * mass ** (-2 / 3)], axis=1)
    return columns @ np.linalg.lstsq(columns, nuclei.radius)[0]


@functools.cache
def _model_table(model: str) -> dict[tuple[int, int], float]:
    lines = _lines(_MODELS[model], comments=True)
    place = next(line for line in lines if line.startswith("#")).lstrip("#").split().index("rc[fm]")
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {(int(row[0]), int(row[1])): float(row[place]) for row in rows if len(row) > place}


def _lines(name: str, comments: bool = False) -> list[str]:
    found = importlib.util.find_spec("nucleardatapy")
    folders = [] if found is None else [pathlib.Path(place) for place in found.submodule_search_locations or ()]
    files = [file for folder in folders if (file := folder / "data" / name).is_file()]
    if not files:
        raise MissingDataError(
            "charge radii of nuclei",
            found="no package nucleardatapy" if not folders else f"no {name} in {folders[0]}",
            rule="the extra `nuclei`, whose data are read where they are installed",
            remedy="pip install 'lemmata[nuclei]'",
        )
    lines = files[0].read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and (comments or not line.startswith("#"))]
