"""Chains of isotopes by odd-even kernels: staggering, kinks at closed shells, and radii beyond the last known ones.

The isospin formula is corrected by kernel ridge regression on the nuclei that are known. What a fit misses of hidden
nuclei is computed from the inverse of all nuclei (`_radii_fits`), with the hyper-parameters of least left-out error
over the table. A tenth of all nuclei is hidden at random, so that no claim rests on one choice of what is known.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.claims import AtLeast, AtMost, Claim, Control, Kind, Source, Status
from lemmata.problems._charge_radii import HiddenRadii, HiddenShares, RadiiTable

from ._radii_fits import missed

_KEY = "tang2024charge"
_READING = "radii are those of the table of 2013, corrections those of the isospin formula"
_CALCIUM, _SHELL, _LAST, _LONG = 20, 82, 4, 9


def neighbours(table: RadiiTable, z: int) -> list[tuple[int, int, int]]:
    """The rows of nuclei of an element with those of the isotopes beside them, where all three are measured."""
    place = table.place
    rows = [(place.get((z, n)), place.get((z, n - 1)), place.get((z, n + 1))) for n in range(200)]
    return [(at, left, right) for at, left, right in rows if at is not None and left is not None and right is not None]


def staggering(table: RadiiTable) -> Float[np.ndarray, " k"]:
    """R(N) - (R(N - 1) + R(N + 1))/2 of the isotopes of calcium."""
    at, left, right = np.array(neighbours(table, _CALCIUM)).T
    return table.radius[at] - (table.radius[left] + table.radius[right]) / 2


def _size(values: Float[np.ndarray, " k"]) -> Array:
    return jnp.sqrt(jnp.mean(jnp.asarray(values) ** 2))


def staggering_error(problem: HiddenRadii, kind: str) -> Array:
    """The root mean square error of the staggering of calcium, each middle isotope hidden in turn."""
    errors = []
    for at, _, _ in neighbours(problem.table, _CALCIUM):
        hidden = np.array(problem.hidden)
        hidden[at] = True
        errors.append(missed(problem.table, kind, hidden)[hidden[:at].sum()])
    return _size(np.array(errors))


class CalciumStaggers(Claim[HiddenRadii]):
    """With the odd-even kernel the staggering R(N) - (R(N - 1) + R(N + 1))/2 of the charge radii of calcium is
    predicted with a root mean square error of at most three fifths of its own size, the isotope in the middle hidden in
    turn, with probability 9/10 over the tenth of all other nuclei that is hidden.
    """

    title = "Staggering of calcium"
    source = Source(_KEY, "Abstract, staggering")
    population = HiddenShares()
    relation = AtMost(delta=0.1)
    control = Control("a quarter of its size", lambda error, problem: 0.4 * error)
    controls = "the staggering at a hidden isotope"
    unexplained = "copper, of which the table has two isotopes"
    reading = _READING
    stated = Kind.REMARK
    trials = 400
    traced = False

    def predict(self, problem: HiddenRadii) -> Array:
        return 0.6 * _size(staggering(problem.table))

    def measure(self, problem: HiddenRadii, key: Key[Array, ""]) -> Array:
        return staggering_error(problem, "odd-even")

    def trivial(self, problem: HiddenRadii) -> Array:
        """As if nothing staggered."""
        return _size(staggering(problem.table))


class SmoothKernelsMissStaggering(Claim[HiddenRadii]):
    """Without parities the root mean square error of the staggering of the charge radii of calcium, the isotope in the
    middle hidden in turn, is at least three fifths of its own size, with one length scale and with one each for Z and
    N, with probability 9/10 over the tenth of all other nuclei that is hidden.
    """

    title = "Staggering of calcium without odd-even effects"
    source = Source(_KEY, "Abstract, staggering", note="what it takes parities for")
    population = HiddenShares()
    relation = AtLeast(delta=0.1)
    control = Control("at least all of it", lambda error, problem: error / 0.6)
    controls = "the staggering at a hidden isotope"
    unexplained = "other elements"
    reading = _READING
    stated = Kind.OWN
    traced = False
    trivial = "an error may be 0"

    def predict(self, problem: HiddenRadii) -> Array:
        return 0.6 * _size(staggering(problem.table)) * jnp.ones(2)

    def measure(self, problem: HiddenRadii, key: Key[Array, ""]) -> Array:
        return jnp.stack([staggering_error(problem, kind) for kind in ("smooth", "two scales")])


def shell_rows(table: RadiiTable) -> Int[np.ndarray, "3 k"]:
    """The rows of even elements at N = 80, 82 and 84, where all three are measured."""
    place = table.place
    sets = [[place.get((z, _SHELL + step)) for step in (-2, 0, 2)] for z in range(8, 100, 2)]
    return np.array([rows for rows in sets if None not in rows]).T


def kink(radius: Float[np.ndarray, " n"], table: RadiiTable) -> Array:
    """The mean over these elements of R(84) - 2 R(82) + R(80)."""
    before, at, behind = shell_rows(table)
    return jnp.asarray(np.mean(radius[behind] - 2 * radius[at] + radius[before]))


class KinkAtClosedShell(Claim[HiddenRadii]):
    """The radii of even elements (Te to Sm and Dy, seven) bend by R(84) - 2 R(82) + R(80) > 0 at the closed shell N =
    82. Where their nuclei with N = 84 are hidden, kernel ridge regression predicts at least half of the mean bend, with
    probability 9/10 over the tenth of all other nuclei that is hidden: the Gaussian as well as the odd-even kernel. The
    isospin formula bends by a two-hundredth of it; it is the neighbours on both sides of the shell that tell.
    """

    title = "The kink at N = 82, with odd-even effects and without"
    source = Source(_KEY, "Abstract, kinks")
    population = HiddenShares()
    relation = AtLeast(delta=0.1)
    control = Control("all of it and a quarter more", lambda bend, problem: 2.5 * bend)
    controls = "how radii bend at a closed shell"
    unexplained = "N = 126, where the table has radii on both sides for lead alone"
    reading = f"{_READING}; that odd-even effects bring the kinks about is not said"
    stated = Kind.REMARK
    traced = False

    def predict(self, problem: HiddenRadii) -> Array:
        return kink(problem.table.radius, problem.table) / 2 * jnp.ones(2)

    def measure(self, problem: HiddenRadii, key: Key[Array, ""]) -> Array:
        table, hidden = problem.table, np.array(problem.hidden)
        hidden[shell_rows(table)[2]] = True
        found = []
        for kind in ("odd-even", "smooth"):
            radius = table.radius.copy()
            radius[hidden] -= missed(table, kind, hidden)
            # a hidden nucleus before or at the shell counts with its measured radius
            radius[shell_rows(table)[:2]] = table.radius[shell_rows(table)[:2]]
            found.append(kink(radius, table))
        return jnp.stack(found)

    def trivial(self, problem: HiddenRadii) -> Array:
        """The bend of the isospin formula."""
        return kink(problem.table.base, problem.table) * jnp.ones(2)


def last_isotopes(problem: HiddenRadii) -> tuple[Bool[np.ndarray, " n"], Int[np.ndarray, " hidden"]]:
    """The last four isotopes of half of the elements with nine or more, and which of the four each one is (1 to 4)."""
    z, steps = problem.table.points[:, 0], np.zeros(len(problem.table.radius), int)
    long = [int(element) for element in np.unique(z) if np.sum(z == element) >= _LONG]
    drawn = np.array(problem.draw)[long]
    for element in np.array(long)[np.argsort(drawn)[: len(long) // 2]]:
        steps[np.flatnonzero(z == element)[-_LAST:]] = np.arange(1, _LAST + 1)
    return steps > 0, steps[steps > 0]


def extrapolated(problem: HiddenRadii, kind: str) -> Float[np.ndarray, " 4"]:
    """The root mean square errors at the first to the fourth isotope beyond the known ones."""
    hidden, steps = last_isotopes(problem)
    errors = missed(problem.table, kind, hidden)
    return np.array([np.sqrt(np.mean(errors[steps == step] ** 2)) for step in range(1, _LAST + 1)])


class ExtrapolationGains(Claim[HiddenRadii]):
    """As it reads: with odd-even effects the errors at the first four isotopes beyond the known ones of an element, the
    last four measured isotopes of a random half of the long chains hidden together, are smaller than those of the
    Gaussian, each of the four root mean squares.

    At the third and the fourth isotope they often are not: both corrections have died off, and the formula is left.
    """

    title = "Extrapolation to neutron-rich isotopes"
    source = Source(_KEY, "Abstract, extrapolation", note="as it reads")
    population = HiddenShares()
    relation = AtMost()
    control = Control("two thirds of them", lambda error, problem: error / 1.5)
    controls = "the error beyond the last known isotopes"
    unexplained = "nothing that the correction does not say"
    reading = f"{_READING}; improved at each of the first four isotopes"
    stated = Kind.REMARK
    expected = Status.REFUTED
    traced = False
    trivial = "the error of the isospin formula, at some steps below that of either correction"

    def predict(self, problem: HiddenRadii) -> Array:
        return jnp.asarray(extrapolated(problem, "smooth"))

    def measure(self, problem: HiddenRadii, key: Key[Array, ""]) -> Array:
        return jnp.asarray(extrapolated(problem, "odd-even"))


class ExtrapolationGainsNearby(Claim[HiddenRadii]):
    """With odd-even effects the root mean square error over the first two isotopes beyond the known ones of an element,
    the last four measured isotopes of a random half of the long chains hidden together, is smaller than that of the
    Gaussian with probability 9/10.
    """

    title = "Extrapolation by one and two isotopes"
    source = Source(_KEY, "Abstract, extrapolation", note="corrected")
    population = HiddenShares()
    relation = AtMost(delta=0.1)
    control = Control("half of it", lambda error, problem: error / 2)
    controls = "the error beyond the last known isotopes"
    unexplained = "isotopes further out, where a Gaussian with two length scales is better than both"
    reading = _READING
    corrects = ExtrapolationGains
    trials = 400
    traced = False

    def predict(self, problem: HiddenRadii) -> Array:
        return _size(extrapolated(problem, "smooth")[:2])

    def measure(self, problem: HiddenRadii, key: Key[Array, ""]) -> Array:
        return _size(extrapolated(problem, "odd-even")[:2])

    def trivial(self, problem: HiddenRadii) -> Array:
        """The error of the isospin formula at all four."""
        return _size(problem.table.rest[last_isotopes(problem)[0]])
