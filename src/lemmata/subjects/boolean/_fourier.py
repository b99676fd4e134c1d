"""The Fourier expansion of a user's function of binary inputs. The user passes a model, or a table of the values of the
function.
"""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, inside, whole
from lemmata.core import numbers_of
from lemmata.core.columns import named
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.functions import cube, walsh_hadamard

from ._expansion import BooleanSpectrum
from ._outputs import Codes, Function, as_signs
from ._search import Search, large_sets, sampled_changes, sampled_coefficients

_ENUMERATED = 20
_EVALUATIONS = 1e9  # the largest number of evaluations of f; the fastest functions take an hour for them
_LARGEST, _SMALLEST = 1e100, 1e-100  # values in this range have squares that neither overflow nor underflow
_RATES = np.array([0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
_EVEN = Condition(
    "inputs are independent, and equally often -1 and 1", None, None, "for other inputs, the numbers differ"
)


def boolean_fourier(
    f_or_values: Any,
    names: Any = None,
    *,
    codes: Any = (-1, 1),
    largest: int | float = 10,
    threshold: float | int | None = None,
    level: float | int = 0.95,
    seed: int = 0,
) -> BooleanSpectrum:
    """Compute Fourier coefficients, influences and noise sensitivity of a function f of d binary inputs.

    Every f on {-1, 1}^d is a sum of f^(S) chi_S over the sets S of inputs. Here chi_S is the product of the inputs in
    S, and f^(S) = E f(x) chi_S(x) for uniform and independent inputs. The weight of degree k is the sum of f^(S)² over
    |S| = k. The influence of input i is the sum of f^(S)² over the S that contain i. If x' is x with each input
    flipped with probability eta, E (f(x) - f(x'))² / 4 is

        sum of (1 - (1 - 2 eta)^|S|) f^(S)² / 2.

    If f has the values -1 and 1, the influence of i is the probability that f changes when input i is flipped. E (f(x)
    - f(x'))² / 4 is then the probability that f(x) and f(x') differ. Outputs 0 and 1, and booleans, are converted to -1
    and 1.

    With up to 20 inputs, all 2^d values are computed, and the fast transform gives exact results. With more inputs, set
    `threshold`. Goldreich and Levin's search then finds the sets whose coefficients are at least the threshold in
    absolute value. Coefficients, influences and the noise curve are estimated on random points, with intervals.

    Args:
        f_or_values: a function of a batch of points (n, d) that returns n numbers, an object with a method predict, or
            a table of the 2^d values in the order of `lemmata.functions.cube`.
        names: the names of the inputs, or their number; a table does not need names.
        codes: the two values that f receives as an input in place of -1 and 1. For example, pass (0, 1) for a model of
            columns of 0 and 1.
        largest: the number of coefficients to list.
        threshold: None computes all coefficients; a number in (0, 1) searches for coefficients of at least this size.
        level: the confidence level of each interval from sampling; for the coefficients, the joint level of all
            intervals.
        seed: the random seed for the sampled points.

    Raises:
        SettingError, ShapeError: for invalid arguments, or for more than 20 inputs without a threshold. In the second
            case, the message gives the number of evaluations that sampling would need.
        DataError: for outputs that are not numbers or are out of range. Sampling also raises the error for outputs with
            more than two values.

    Example:
        >>> majority = lambda x: x.sum(axis=1) > 0
        >>> print(boolean_fourier(majority, ["a", "b", "c"]))
        3 inputs, all 8 points
        weight by degree: 0: 0, 1: 0.75, 2: 0, 3: 0.25
        largest coefficients: a: 0.5, b: 0.5, c: 0.5, a b c: -0.5
        influences: a: 0.5, b: 0.5, c: 0.5
        flipping each input with probability 0.1 changes f with probability 0.136
        to learn f with expected squared error 0.1 takes degree 3 and 70 rows (vacuous: f has 8 points)
    """
    level, largest, seed = inside("level", level, 0.0, 1.0), whole("largest", largest, 1), whole("seed", seed)
    if callable(f_or_values) or hasattr(f_or_values, "predict"):
        inputs = named(names)
        f = Function(f_or_values, Codes.of(codes))
        if threshold is not None:
            search = Search(len(inputs), inside("threshold", threshold, 0.0, 1.0), len(_RATES) - 1)
            if search.evaluations > _EVALUATIONS:
                raise SettingError(
                    "threshold",
                    found=f"{search.threshold:g}, for which f is evaluated {search.evaluations:.2g} times",
                    rule=f"at most {_EVALUATIONS:.0g} evaluations",
                    remedy="choose a larger threshold",
                )
            return _sampled(f, inputs, search, largest, level, seed)
        if len(inputs) > _ENUMERATED:
            raise _too_many(len(inputs))
        return _exact(f(np.asarray(cube(len(inputs)), np.int8)), inputs, largest, f.codes.words)
    values = _table(f_or_values)
    if threshold is not None:
        raise SettingError(
            "threshold",
            found=threshold,
            rule="None for a table, because all its values are known",
            remedy="leave out threshold",
        )
    d = len(values).bit_length() - 1
    return _exact(values, named(d if names is None else names, d), largest, "-1 and 1")


def _too_many(d: int) -> SettingError:
    cost = Search(d, 0.1, len(_RATES) - 1).evaluations
    return SettingError(
        "names",
        found=f"{d} inputs",
        rule=f"at most {_ENUMERATED} inputs, because all 2^d values are computed",
        remedy=f"set threshold=0.1 to search for coefficients of at least 0.1, which evaluates f {cost:.2g} times",
    )


def _table(given: Any) -> np.ndarray:
    values = numbers_of("f_or_values", given)
    if values.ndim != 1 or len(values) & (len(values) - 1) or len(values) < 2:
        found = f"{len(values)} values" if values.ndim == 1 else f"shape {values.shape}"
        raise ShapeError(
            "f_or_values",
            found=found,
            rule="a table of 2, 4, 8, ... values, one for each point of the cube",
            remedy="for a function that is not a table, pass the function and its number of inputs",
        )
    if len(values) > 2**_ENUMERATED:
        raise ShapeError("f_or_values", found=f"{len(values)} values", rule=f"a table of at most 2^{_ENUMERATED}")
    return values.astype(float)


def _exact(values: np.ndarray, names: tuple[str, ...], largest: int, codes: str) -> BooleanSpectrum:
    size = float(np.abs(values).max())
    if size > _LARGEST or 0 < size < _SMALLEST:
        raise DataError(
            "values of f",
            found=f"{size:.3g} as the largest absolute value",
            rule=f"0, or between {_SMALLEST:g} and {_LARGEST:g}, because weights are squares",
            remedy="divide the values by the largest one",
        )
    values, two = as_signs(values)
    d = len(names)
    with jax.enable_x64(True):
        table = np.asarray(walsh_hadamard(jnp.asarray(values, float)))
    squares = table**2
    degrees = np.bitwise_count(np.arange(2**d))
    weights = np.bincount(degrees, squares, d + 1)
    influences = np.array([squares.reshape(-1, 2, 2**place)[:, 1].sum() for place in range(d)])
    curve = ((1 - (1 - 2 * _RATES[:, None]) ** np.arange(d + 1)) * weights).sum(axis=1) / 2
    floor = 64 * np.finfo(float).eps * max(np.abs(values).max(), 1e-300)
    order = np.lexsort((np.arange(2**d), degrees, -np.round(np.abs(table) / floor)))[: largest + 1]
    chosen = [number for number in order[:largest] if abs(table[number]) > floor]
    sets = tuple(tuple(names[place] for place in range(d) if number >> place & 1) for number in chosen)
    rest = float(abs(table[order[len(chosen)]])) if len(chosen) < len(order) else 0.0
    found = table[chosen]
    return BooleanSpectrum(
        names=names, exact=True, two_valued=two, sets=sets, coefficients=found, intervals=_twice(found),
        rest=rest if rest > floor else 0.0, power=float(squares.sum()), weights=weights,
        influences=influences, influence_intervals=_twice(influences), rates=_RATES, sensitivity=curve,
        sensitivity_intervals=_twice(curve), evaluations=2**d, level=1.0, table=table,
        conditions=(
            _EVEN, Condition(f"f reads its inputs as {codes}"), *_values_condition(two), _varies(influences),
        ),
    )  # fmt: skip


def _sampled(
    f: Function, names: tuple[str, ...], search: Search, largest: int, level: float, seed: int
) -> BooleanSpectrum:
    generator, d = np.random.default_rng(seed), len(names)
    sets, complete = large_sets(f, search, generator)
    found, limits = sampled_coefficients(f, sets, search.sample, level, generator)
    single, noisy = sampled_changes(f, d, _RATES[1:], level, generator)
    curve = np.vstack([np.zeros(3), noisy])
    kept = np.flatnonzero(np.abs(found) >= search.threshold / 2)
    order = kept[np.argsort(-np.abs(found[kept]), kind="stable")]
    weights = np.bincount(sets[order].sum(axis=1), found[order] ** 2, d + 1)
    nearest = np.where((limits[:, 0] <= 0) & (limits[:, 1] >= 0), 0.0, np.abs(limits).min(axis=1))
    least = np.minimum((nearest[order] ** 2).sum(), 1.0)
    listed = order[:largest]
    unlisted = np.abs(limits[order[largest:]]).max(initial=0.0)
    return BooleanSpectrum(
        names=names, exact=False, two_valued=True,
        sets=tuple(tuple(itertools.compress(names, row)) for row in sets[listed]), coefficients=found[listed],
        intervals=limits[listed], rest=max(math.sqrt(1 - least), float(unlisted)), power=1.0, weights=weights,
        influences=single[:, 0], influence_intervals=single[:, 1:], rates=_RATES, sensitivity=curve[:, 0],
        sensitivity_intervals=curve[:, 1:], evaluations=f.evaluations, level=level, table=None,
        conditions=(
            _EVEN,
            Condition(f"f reads its inputs as {f.codes.words}"),
            Condition("no group of sets was dropped to save memory", None, complete, "otherwise raise threshold"),
            Condition("the coefficients found have part of the weight of f (their weight)", float(weights.sum()),
                      bool(least > 0),
                      "weights by degree count only these coefficients; if there are none, lower the threshold"),
            _varies(single[:, 0]),
        ),
    )  # fmt: skip


def _varies(influences: np.ndarray) -> Condition:
    most = float(influences.max())
    return Condition("flipping an input changes f (largest influence)", most, most > 0,
                     "otherwise f is constant, or changes too rarely to be seen at these points")  # fmt: skip


def _twice(values: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k 2"]:
    return np.stack([values, values], axis=1)


def _values_condition(two: bool) -> tuple[Condition, ...]:
    if two:
        return ()
    why = "otherwise influences and the noise curve are mean squared changes divided by 4, not probabilities"
    return (Condition("f has the values -1 and 1", None, False, why),)
