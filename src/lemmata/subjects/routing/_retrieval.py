"""The inverse temperature that is needed to read one of n keys in d dimensions, and the number formats that suffice."""

import dataclasses
import math
from typing import Any

import numpy as np
from scipy import special

from lemmata.answers import Condition, inside, whole
from lemmata.errors import SettingError
from lemmata.intervals import Interval
from lemmata.printable import preformatted

from ._random_keys import Draws, draws_of, gap_of, needed

_CLAIMS = (
    "routing.lookup.weight_of_the_right_key",
    "routing.lookup.random_keys",
    "routing.lookup.keys_on_a_circle",
    "routing.lookup.simplex_keys_are_best",
    "routing.precision.rounding_costs_lead",
    "routing.precision.rounding_ties",
)
_FORMATS = {
    "float32": (24, 3.4028234663852886e38),
    "float16": (11, 65504.0),
    "bfloat16": (8, 3.3895313892515355e38),
    "float8_e4m3": (4, 448.0),
    "float8_e5m2": (3, 57344.0),
}
_RANGE = (0.05, 0.95)
_MOST_KEYS, _MOST_DIMENSIONS = 10**15, 10**5
_ALL_KEYS = 10**5
_DRAWS, _FEW = 1000, 150
_ROUNDING = 1e-12


@dataclasses.dataclass(frozen=True)
class LogitFormat:
    """The effect of a number format of the logits on a lookup.

    Args:
        name: the name of the format.
        bits: the number p of significant bits of the format.
        resolves: the number 2u/(1 + u), where u = 2^-p. If the lead of the right key is larger, this key keeps the
            largest logit after rounding, at every inverse temperature.
        sharpness: the inverse temperature that guarantees the weight after rounding, in 95 % of draws of keys; infinite
            if there is none.
        holds: whether `sharpness` is finite and the format can represent the logits.
    """

    name: str
    bits: int
    resolves: float
    sharpness: float
    holds: bool


@dataclasses.dataclass(frozen=True)
class Retrieval:
    """The requirements of a softmax lookup among n unit keys in d dimensions, where the query is one of the keys.

    Args:
        n, d: the number of keys and the dimension of the keys.
        weight: the weight that the right key should have.
        gap: the lead that the right logit needs if all other logits are equal.
        sharpness: the inverse temperature for random keys, uniform on the sphere: the median, and the 5 % and 95 %
            quantiles.
        lead: the lead of the right key over the nearest wrong key, which is 1 minus the inner product of the two keys:
            the median, and the 5 % and 95 % quantiles.
        spread: the inverse temperature for the best arrangement of keys. None if the best arrangement is unknown or too
            large to compute.
        least: a lower bound on the inverse temperature for every arrangement of keys.
        dimension: the smallest dimension in which random keys need an inverse temperature of about `gap`. In fewer
            dimensions, the nearest wrong key determines the inverse temperature.
        formats: the results for number formats of the logits.
        conditions: the conditions under which the results hold.
        claims: names of the claims that state the results.
    """

    n: int
    d: int
    weight: float
    gap: float
    sharpness: Interval
    lead: Interval
    spread: float | None
    least: float
    dimension: int
    formats: tuple[LogitFormat, ...]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        own = self.sharpness
        spread = "" if self.spread is None else f", and the best arrangement needs {self.spread:.4g}"
        lines = [
            f"weight {self.weight:g} on one of {self.n} random keys in d = {self.d} takes inverse "
            f"temperature {own.value:.4g} (90 % of draws: {own.lower:.4g} to {own.upper:.4g}){spread}",
            f"no arrangement needs less than {self.least:.4g}; random keys need about {self.gap:.4g} from "
            f"d = {self.dimension} on",
        ]
        for each in self.formats:
            word = f"reaches this weight at {each.sharpness:.4g}" if each.holds else "may never reach this weight"
            lines.append(f"{each.name}: {word} (rounding keeps leads above {each.resolves:.2g}; the lead here is "
                         f"{self.lead.value:.2g})")  # fmt: skip
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the inverse temperature for random keys and its lower bound, by dimension."""
        import altair as alt

        most = max(4 * self.dimension, 2 * self.d, 8)
        dims = sorted({round(d) for d in np.geomspace(2, most, 25)} | {self.d})
        usual = lambda d: _share_of(needed(draws_of(self.n, d, _FEW), self.n, self.weight), 0.5)
        values = [{"d": d, "beta": usual(d), "keys": "random keys"} for d in dims]
        values += [{"d": d, "beta": self.least, "keys": "lower bound for all keys"} for d in dims]
        scale = alt.Scale(type="log")
        return (
            alt.Chart(alt.Data(values=values))
            .mark_line(point=True)
            .encode(
                alt.X("d:Q", scale=scale, axis=alt.Axis(title="dimensions", grid=False)),
                alt.Y("beta:Q", scale=scale, axis=alt.Axis(title="inverse temperature", grid=False)),
                alt.Color("keys:N", title=None),
            )
            .properties(width=260, height=200)
        )


def retrieval(n: int | float, d: int | float, bits: int | str | None = None, *, weight: float | int = 0.5) -> Retrieval:
    """Return the inverse temperature that a softmax lookup among n unit keys needs, and which number formats suffice.

    The query is one of the keys, and the logits are the inverse temperature times the inner products. With p
    significant bits, rounding changes each logit by a relative error of at most u = 2^-p. Let D be the lead of the
    right key over the nearest wrong key. In the worst case, rounding lowers the lead to D - u(2 - D). So the right key
    always keeps the largest logit if D is above 2u/(1 + u).

    Args:
        n: the number of keys.
        d: the dimension of queries and keys.
        bits: the number of significant bits of the logits (11 for float16), the name of a format, or None for all
            formats.
        weight: the weight that the right key should have.

    Raises:
        SettingError: if a number is invalid, or the weight is at most 1/n.

    Example:
        >>> print(retrieval(1000, 64, "bfloat16"))
        weight 0.5 on one of 1000 random keys in d = 64 takes inverse temperature 7.323 (90 % of draws: 7.259 to 7.39)
        no arrangement needs less than 6.9; random keys need about 6.907 from d = 28 on
        bfloat16: reaches this weight at 7.428 (rounding keeps leads above 0.0078; the lead here is 0.61)
    """
    n, d = _at_most("n", n, _MOST_KEYS), _at_most("d", d, _MOST_DIMENSIONS)
    weight = inside("weight", weight, 0.0, 1.0)
    if n * weight - 1 < _ROUNDING:
        raise SettingError("weight", found=f"{weight:g}", rule=f"above 1/n = {1 / n:.3g}",
                           remedy="pass a larger weight, because equal logits already give 1/n")  # fmt: skip
    formats = _formats(bits)
    gap, draws = gap_of(n, weight), draws_of(n, d, _DRAWS)
    leads = [_lead(n, d, q) for q in (0.5, *_RANGE)]
    value, low, high = (_share_of(needed(draws, n, weight), q) for q in (0.5, *_RANGE))
    sharpness = Interval(value, low, high)
    least, dimension = gap * (n - 1) / n, max(2, math.ceil(4 * gap))
    conditions = (
        Condition(
            "keys are independent and uniform on the sphere",
            None,
            None,
            "the inverse temperature and the formats assume this",
        ),
        Condition(
            "only the logits are rounded, to the nearest number",
            None,
            None,
            "in practice, sums and products are rounded as well",
        ),
    )
    return Retrieval(
        n=n, d=d, weight=weight, gap=gap, sharpness=sharpness,
        lead=Interval(leads[0], min(leads), max(leads)), spread=_spread(n, d, weight), least=least,
        dimension=dimension, formats=tuple(_format(each, draws, n, weight) for each in formats),
        conditions=conditions,
    )  # fmt: skip


def _at_most(name: str, value: Any, most: int) -> int:
    """Return the value as a whole number. Raise SettingError if the number is not between 2 and `most`."""
    if isinstance(value, int) and value > most:  # such a number may be too large for a float
        raise SettingError(name, found=f"a number of {len(str(value))} digits", rule=f"at most {most:g}")
    number = whole(name, value, 2)
    if number > most:
        raise SettingError(name, found=f"{number:g}", rule=f"at most {most:g}")
    return number


def _formats(bits: int | str | None) -> list[tuple[str, int, float]]:
    if bits is None:
        return [(name, p, top) for name, (p, top) in _FORMATS.items()]
    if isinstance(bits, str):
        if bits not in _FORMATS:
            raise SettingError("bits", found=repr(bits), rule=f"a number of bits, or one of {', '.join(_FORMATS)}")
        return [(bits, *_FORMATS[bits])]
    p = whole("bits", bits, 1)
    if p > 53:
        raise SettingError("bits", found=p, rule="at most 53, the significant bits of float64")
    return [(f"{p} significant bits", p, math.inf)]


def _format(given: tuple[str, int, float], draws: Draws, n: int, weight: float) -> LogitFormat:
    name, p, top = given
    unit = 2.0**-p
    # a quantile that is enough for 95 % of draws
    sharpness = _share_of(needed(draws, n, weight, unit), _RANGE[1])
    return LogitFormat(name, p, 2 * unit / (1 + unit), sharpness, sharpness <= top and math.isfinite(sharpness))


def _half_lead(n: int, d: int, quantile: float) -> float:
    """Return sin²(t/2), where t is a quantile of the angle from a query to the nearest of n - 1 random keys."""
    tail = -math.expm1(math.log1p(-quantile) / (n - 1))
    return float(special.betaincinv((d - 1) / 2, (d - 1) / 2, tail))


def _lead(n: int, d: int, quantile: float) -> float:
    return 2 * _half_lead(n, d, quantile)


def _share_of(values: np.ndarray, share: float) -> float:
    """Return the smallest value that at least a share `share` of the values does not exceed."""
    return float(np.quantile(values, share, method="inverted_cdf"))


def _spread(n: int, d: int, weight: float) -> float | None:
    """Return the inverse temperature for the best arrangement of keys, or None if it is unknown or too large.

    The best arrangement is a regular simplex if d >= n - 1, and equally spaced keys on a circle if d = 2.
    """
    if d >= n - 1:
        return gap_of(n, weight) * (n - 1) / n
    if d > 2:
        return None
    if n > 2 * _ALL_KEYS and weight < 1e-3:
        return None
    near = np.arange(1, min((n - 1) // 2, _ALL_KEYS) + 1)  # keys on each side of the query; farther keys have no weight
    times = np.full(len(near), 2.0)
    if n % 2 == 0 and n <= 2 * _ALL_KEYS:
        near, times = np.append(near, n // 2), np.append(times, 1.0)
    circle = Draws(np.sin(np.pi * near / n)[None] ** 2, times[None], len(near), np.zeros(1))
    return float(needed(circle, n, weight)[0])
