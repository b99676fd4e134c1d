"""Test problems with charge radii of nuclei: a base model, its errors on measured radii, and the left-out nuclei."""

import dataclasses
import functools
import importlib.util
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.engine.claims import Choice, Hypothesis, Population, Real, Space
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
        z: the number of protons of each nucleus.
        n: the number of neutrons of each nucleus.
        radius: the measured radius.
        uncertainty: the standard error of the radius, as the table gives it.
    """

    z: Int[np.ndarray, " nuclei"]
    n: Int[np.ndarray, " nuclei"]
    radius: Float[np.ndarray, " nuclei"]
    uncertainty: Float[np.ndarray, " nuclei"]

    @property
    def points(self) -> Float[np.ndarray, "nuclei 2"]:
        """The pairs (Z, N), one in each row, as inputs of kernels."""
        return np.stack([self.z, self.n], axis=1).astype(float)


@functools.cache
def measured_radii(least: int = 8) -> MeasuredRadii:
    """Return the charge radii of Angeli and Marinova (2013) from the installed package nucleardatapy.

    The function does not download anything.

    The package is not imported, because its import would load its plots. Only the file of the table is read. The
    licence is CC BY-NC-ND 4.0, so lemmata does not contain a copy.

    >>> nuclei = measured_radii()
    >>> len(nuclei.radius), float(nuclei.radius[(nuclei.z == 82) & (nuclei.n == 126)][0])
    (885, 5.5012)

    Args:
        least: the least number of protons; nuclei with fewer protons are left out.

    Raises:
        MissingDataError: if the package or its table is missing.
    """
    rows = [line.split(",") for line in _lines(_RADII)]
    known = sorted((int(row[0]), int(row[2]), float(row[4]), float(row[5])) for row in rows if row[4] and row[5])
    kept = [row for row in known if row[0] >= least]
    z, n, radius, uncertainty = (np.array(column) for column in zip(*kept, strict=True))
    return MeasuredRadii(z, n, radius, uncertainty)


def model_radii(model: str, nuclei: MeasuredRadii) -> Float[np.ndarray, " nuclei"]:
    """Return the charge radii of a microscopic model in fm, or NaN for a nucleus that the model's table lacks.

    >>> radii = model_radii("BSkG4", measured_radii())
    >>> int(np.isnan(radii).sum()), bool(np.nanmax(abs(radii - measured_radii().radius)) < 0.2)
    (1, True)

    Args:
        model: "BSkG1", "BSkG2", "BSkG3" or "BSkG4", which are Hartree-Fock-Bogoliubov calculations on a grid.
        nuclei: the nuclei whose radii are returned.

    Raises:
        UnknownNameError: for an unknown model.
        MissingDataError: if the package or its table is missing.
    """
    if model not in _MODELS:
        raise UnknownNameError(f"model {model!r} of charge radii", rule=f"one of {', '.join(_MODELS)}")
    table = _model_table(model)
    return np.array([table.get((int(z), int(n)), np.nan) for z, n in zip(nuclei.z, nuclei.n, strict=True)])


def isospin_radii(nuclei: MeasuredRadii) -> Float[np.ndarray, " nuclei"]:
    """Return the radii R (1 - b (N - Z)/A) A^(1/3), A = N + Z, with R and b fitted to these nuclei by least squares.

    >>> nuclei = measured_radii()
    >>> round(float(np.sqrt(np.mean((nuclei.radius - isospin_radii(nuclei)) ** 2))), 4)
    0.0663

    Args:
        nuclei: the measured nuclei, to which R and b are fitted.
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
            rule="the optional dependency `nuclei`, whose data are read from the installed package",
            remedy="install it with pip install 'lemmata[nuclei]'",
        )
    lines = files[0].read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and (comments or not line.startswith("#"))]


BASES = ("isospin", "BSkG1", "BSkG2", "BSkG3", "BSkG4")


@dataclasses.dataclass(frozen=True, eq=False)
class RadiiTable:
    """Measured radii, and the radii of a base model.

    Args:
        name: the name of the base model.
        points: the pairs (Z, N).
        radius: the measured radii, in fm.
        base: the radii of the base model, in fm.
    """

    name: str
    points: Float[np.ndarray, "n 2"]
    radius: Float[np.ndarray, " n"]
    base: Float[np.ndarray, " n"]

    @property
    def rest(self) -> Float[np.ndarray, " n"]:
        """The measured radii minus the radii of the base model."""
        return self.radius - self.base

    @functools.cached_property
    def place(self) -> dict[tuple[int, int], int]:
        """The row of each nucleus (Z, N)."""
        return {(int(z), int(n)): row for row, (z, n) in enumerate(self.points)}


@functools.cache
def radii_table(base: str) -> RadiiTable:
    """Return the measured nuclei, from oxygen on, for which the base model has a radius. BSkG1 to BSkG4 lack neon-17.

    Args:
        base: one of `BASES`: the isospin formula fitted to all nuclei, or a model of the optional package.
    """
    nuclei = measured_radii()
    radii = isospin_radii(nuclei) if base == "isospin" else model_radii(base, nuclei)
    known = np.isfinite(radii)
    return RadiiTable(base, nuclei.points[known], nuclei.radius[known], radii[known])


class RadiiHalf(eqx.Module):
    """A table of radii whose nuclei are divided into two parts.

    Args:
        choose: the nuclei whose errors choose the hyper-parameters. Only the errors at the other nuclei are reported.
        table: the table of radii.
    """

    choose: Bool[Array, " n"]
    table: RadiiTable = eqx.field(static=True)


class RadiiHalves(Population[RadiiHalf]):
    """Random divisions of the measured nuclei into two parts, by default halves, and a base model.

    Args:
        bases: the base models that the claim is about.
    """

    bases: tuple[str, ...] = eqx.field(default=BASES, static=True)

    def settings(self) -> Space:
        """Return the base model, and the share of nuclei whose errors are used to choose the hyper-parameters."""
        others = tuple(name for name in ("isospin", "BSkG4") if name in self.bases)
        return Space(
            base=Choice("isospin", self.bases, "base model", corners=others),
            share=Real(0.5, 0.1, 0.9, "share of nuclei that choose the hyper-parameters", corners=(0.4, 0.6)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RadiiHalf:
        """Draw the nuclei for the choice of hyper-parameters, each with probability `share`."""
        table = radii_table(setting["base"])
        return RadiiHalf(jax.random.bernoulli(key, setting["share"], table.radius.shape), table)

    def hypotheses(self, problem: RadiiHalf) -> list[Hypothesis]:
        both = min(int(problem.choose.sum()), int((~problem.choose).sum()))
        return [
            Hypothesis("number of nuclei in the smaller part", both, ">=", 10, "otherwise the mean error is too noisy")
        ]


class HiddenRadii(eqx.Module):
    """A table of radii, some of which are hidden from the fit at random. A claim can hide further radii."""

    hidden: Bool[Array, " n"]
    table: RadiiTable = eqx.field(static=True)


class HiddenShares(Population[HiddenRadii]):
    """The measured nuclei, with the isospin formula as base model. By default, about a tenth of them are hidden."""

    settings = Space(share=Real(0.1, 0.0, 0.5, "share of nuclei that are hidden", corners=(0.05, 0.15)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> HiddenRadii:
        """Draw the hidden nuclei, each with probability `share`."""
        table = radii_table("isospin")
        return HiddenRadii(jax.random.bernoulli(key, setting["share"], table.radius.shape), table)

    def hypotheses(self, problem: HiddenRadii) -> list[Hypothesis]:
        return [
            Hypothesis(
                "share of nuclei that are hidden", problem.hidden.mean(), "<", 0.6, "otherwise too few nuclei are known"
            )
        ]


LAST = 4
_LONG = 9  # the least number of isotopes of an element whose last four may be hidden


class HiddenEnds(eqx.Module):
    """A table of radii in which the last four isotopes of some elements are hidden.

    Args:
        step: 0 for a known isotope, and 1 to 4 for a hidden isotope, counted from the last known isotope of the
            element.
        table: the table of radii.
    """

    step: Int[Array, " n"]
    table: RadiiTable = eqx.field(static=True)


class HiddenEndsOfChains(Population[HiddenEnds]):
    """Measured nuclei with the isospin formula. The last four isotopes of some elements are hidden, by default half of
    the elements with nine or more isotopes.
    """

    settings = Space(share=Real(0.5, 0.2, 1.0, "share of long chains that are cut", corners=(0.45, 0.6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> HiddenEnds:
        """Draw a share `share` of the elements with at least nine isotopes. Hide the last four isotopes of each."""
        table = radii_table("isospin")
        chain, steps, count = _ends(table)
        rank = jax.random.permutation(key, count)
        cut = rank < jnp.round(setting["share"] * count)
        return HiddenEnds(jnp.where(cut[chain], jnp.asarray(steps), 0), table)

    def hypotheses(self, problem: HiddenEnds) -> list[Hypothesis]:
        return [
            Hypothesis("hidden nuclei", jnp.sum(problem.step > 0), ">=", 20, "otherwise the mean error is too noisy")
        ]


def _ends(table: RadiiTable) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], int]:
    """Return the number of each nucleus's chain, its step, and the number of chains.

    A chain is an element with at least nine isotopes. The step is 1 to 4 for the last four isotopes of a chain, and
    otherwise 0. Nuclei outside all chains have the chain 0 and the step 0.
    """
    z = table.points[:, 0].astype(int)
    long = [element for element in np.unique(z) if np.sum(z == element) >= _LONG]
    chain, steps = np.zeros(len(z), int), np.zeros(len(z), int)
    for number, element in enumerate(long):
        rows = np.flatnonzero(z == element)
        chain[rows] = number
        steps[rows[-LAST:]] = np.arange(1, LAST + 1)
    return chain, steps, len(long)
