"""How sharp the logits must be to read one of n keys in d dimensions, and which number formats can hold them."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, special

from lemmata.answers import Condition, inside, whole
from lemmata.errors import SettingError
from lemmata.intervals import Interval
from lemmata.printable import preformatted

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
_DROP = 45.0  # logarithms by which an integrand must have fallen where it is cut off
_NODES = np.polynomial.legendre.leggauss(80)


@dataclasses.dataclass(frozen=True)
class LogitFormat:
    """What a number format leaves of a lookup.

    Args:
        name: of the format.
        bits: its significant bits, p.
        resolves: 2u/(1 + u), u = 2^-p: leads above it survive rounding at every inverse temperature.
        sharpness: the inverse temperature that keeps the weight after rounding; infinite where none is sure to.
        holds: whether there is one, and the format can hold its logits.
    """

    name: str
    bits: int
    resolves: float
    sharpness: float
    holds: bool


@dataclasses.dataclass(frozen=True)
class Retrieval:
    """A softmax lookup among n unit keys in d dimensions, where the query is one of the keys.

    Args:
        n, d: keys and dimensions.
        weight: that the right key should have.
        gap: by how much its logit must be above the others if these are equal.
        sharpness: the inverse temperature for keys that are uniform on the sphere, and the range of 90 % of draws.
        lead: the lead of the right key over the nearest one, 1 minus their inner product: median, 5 % and 95 %.
        spread: the inverse temperature for the best arrangement; None where the best arrangement is not known.
        least: no arrangement of keys needs less.
        dimension: from here on, random keys need an inverse temperature of the order of `gap`. Below, the nearest key
            decides.
        formats: number formats of the logits.
        conditions: what the numbers rest on.
        claims: which state them.
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
        spread = "" if self.spread is None else f", {self.spread:.4g} for the best arrangement"
        lines = [
            f"{self.n} keys in d = {self.d}, weight {self.weight:g}: inverse temperature {own.value:.4g} for random "
            f"keys (90 % of draws: {own.lower:.4g} to {own.upper:.4g}){spread}",
            f"no arrangement needs less than {self.least:.4g}; random keys need about {self.gap:.4g} from "
            f"d = {self.dimension} on",
        ]
        for each in self.formats:
            word = f"holds at {each.sharpness:.4g}" if each.holds else "cannot be sure to hold it"
            lines.append(f"{each.name}: {word} (leads above {each.resolves:.2g} survive; the nearest key has "
                         f"{self.lead.value:.2g})")  # fmt: skip
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """An Altair chart: the inverse temperature against the dimension, for random keys and the least."""
        import altair as alt

        most = max(4 * self.dimension, 2 * self.d, 8)
        dims = sorted({round(d) for d in np.geomspace(2, most, 25)} | {self.d})
        values = [{"d": d, "beta": _sharpness(self.n, d, self.weight, 0.5), "keys": "random keys"} for d in dims]
        values += [{"d": d, "beta": self.least, "keys": "no keys need less"} for d in dims]
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
    """What a softmax lookup among n unit keys in d dimensions needs, and whether a number format can hold its logits.

    The query is one of the keys, and the logits are the inverse temperature times the inner products. With p
    significant bits each logit is rounded by a relative error of at most u = 2^-p. The worst case of rounding lowers
    the lead D of the right key to D - u(2 - D), so a format is sure to keep a lookup if D is above 2u/(1 + u).

    Args:
        n: keys.
        d: dimensions of queries and keys.
        bits: significant bits of the logits (11 for float16), the name of a format, or None for all formats.
        weight: that the right key should have.

    Raises:
        SettingError: for invalid numbers, or a weight of at most 1/n.

    Example:
        >>> print(retrieval(1000, 64, "bfloat16"))
        1000 keys in d = 64, weight 0.5: inverse temperature 7.324 for random keys (90 % of draws: 7.237 to 7.411)
        no arrangement needs less than 6.9; random keys need about 6.907 from d = 28 on
        bfloat16: holds at 7.38 (leads above 0.0078 survive; the nearest key has 0.61)
    """
    n, d = _at_most("n", n, _MOST_KEYS), _at_most("d", d, _MOST_DIMENSIONS)
    weight = inside("weight", weight, 0.0, 1.0)
    if weight <= 1 / n:
        raise SettingError("weight", found=f"{weight:g}", rule=f"above 1/n = {1 / n:.3g}",
                           remedy="pass a larger weight, because equal logits already give 1/n")  # fmt: skip
    formats = _formats(bits)
    gap = _gap(n, weight)
    leads = [_lead(n, d, q) for q in (0.5, *_RANGE)]
    sharpness = _with_range(n, d, weight)
    least, dimension = gap * (n - 1) / n, max(2, math.ceil(4 * gap))
    conditions = (
        Condition("keys are independent and uniform on the sphere", None, None, "for the first number and the formats"),
        Condition("only the logits are rounded, to the nearest number", None, None, "sums and products round as well"),
    )
    return Retrieval(
        n=n, d=d, weight=weight, gap=gap, sharpness=sharpness,
        lead=Interval(leads[0], min(leads), max(leads)), spread=_spread(n, d, weight), least=least,
        dimension=dimension, formats=tuple(_format(each, n, d, weight, sharpness.upper) for each in formats),
        conditions=conditions,
    )  # fmt: skip


def _at_most(name: str, value: Any, most: int) -> int:
    """A whole number from 2 to the largest."""
    if isinstance(value, int) and value > most:  # which may be too large for a float
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


def _format(given: tuple[str, int, float], n: int, d: int, weight: float, upper: float) -> LogitFormat:
    name, p, top = given
    unit = 2.0**-p
    resolves = 2 * unit / (1 + unit)
    sharpness = math.inf
    if _lead(n, d, _RANGE[0]) > resolves:
        # at the unlucky twentieth of draws, so that a format that holds does so in most
        price = _sharpness(n, d, weight, _RANGE[0], unit) / _sharpness(n, d, weight, _RANGE[0])
        sharpness = upper * price
    return LogitFormat(name, p, resolves, sharpness, sharpness <= top and math.isfinite(sharpness))


def _gap(n: int, weight: float) -> float:
    return math.log(n - 1) + math.log(weight) - math.log1p(-weight)


def _half_lead(n: int, d: int, quantile: float) -> float:
    """sin²(t/2) for the angle t of the nearest of n - 1 keys, at a quantile of t."""
    tail = -math.expm1(math.log1p(-quantile) / (n - 1))
    return float(special.betaincinv((d - 1) / 2, (d - 1) / 2, tail))


def _lead(n: int, d: int, quantile: float) -> float:
    return 2 * _half_lead(n, d, quantile)


def _sharpness(n: int, d: int, weight: float, quantile: float, unit: float = 0.0) -> float:
    """The beta at which the mean weight of the farther keys and the weight of the nearest leave this to the right one.

    Args:
        n: keys.
        d: dimensions.
        weight: of the right key.
        quantile: of the distance of the nearest key.
        unit: relative rounding error of all logits, in the worst case.
    """
    nearest = _half_lead(n, d, quantile)
    aim = math.log1p(-weight) - math.log(weight)
    excess = lambda log_beta: _log_others(math.exp(log_beta), n, d, nearest, unit) - aim
    low, high = math.log(max(_gap(n, weight), 1e-300)) - 3.0, math.log(max(_gap(n, weight), 1.0))
    while excess(low) < 0:
        low -= 5.0
    while excess(high) > 0:
        high += 2.0
    return math.exp(optimize.root_scalar(excess, bracket=(low, high), xtol=1e-10).root)


def _with_range(n: int, d: int, weight: float) -> Interval:
    """The sharpness at the median, and where 90 % of draws are: the nearest key and the sum of the others vary."""
    value, *ends = (math.log(_sharpness(n, d, weight, q)) for q in (0.5, *_RANGE))
    sums = 0.0
    if n > 2:
        beta, nearest = math.exp(value), _half_lead(n, d, 0.5)
        first = 2 * math.asin(math.sqrt(min(nearest, 1.0)))
        mean, square = _log_mean(beta, d, first, 0.0), _log_mean(2 * beta, d, first, 0.0)
        varies = (n - 2) * max(math.exp(square) - math.exp(2 * mean), 0.0)
        total = _log_others(beta, n, d, nearest, 0.0)
        slope = (_log_others(beta * 1.001, n, d, nearest, 0.0) - total) / math.log(1.001)
        sums = 1.645 * math.sqrt(varies) * math.exp(-total) / abs(slope)
    low, high = math.hypot(value - min(ends), sums), math.hypot(max(ends) - value, sums)
    return Interval(math.exp(value), math.exp(value - low), math.exp(value + high))


def _log_others(beta: float, n: int, d: int, nearest: float, unit: float) -> float:
    """The logarithm of the sum of e^(logit - right logit) over the other keys."""
    behind = lambda half: 2 * half - 2 * unit * (1 - half) if half <= 0.5 else (2 * half) * (1 - unit)
    near = -beta * behind(nearest)
    if n == 2:
        return near
    first = 2 * math.asin(math.sqrt(min(nearest, 1.0)))
    farther = _log_mean(beta, d, first, unit)
    return float(np.logaddexp(near, math.log(n - 2) + farther))


def _log_mean(beta: float, d: int, first: float, unit: float) -> float:
    """log E e^(-beta lead) over angles above the first, by quadrature around the largest value of the integrand."""

    def log_density(angle: Any) -> Any:
        half = np.sin(angle / 2) ** 2
        behind = np.where(half <= 0.5, 2 * half - 2 * unit * (1 - half), 2 * half * (1 - unit))
        return -beta * behind + (d - 2) * np.log(np.maximum(np.sin(angle), 1e-300))

    sharp = beta * (1 + unit)
    cosine = 2 * sharp / ((d - 2) + math.hypot(d - 2, 2 * sharp))  # of the angle at which the integrand is largest
    peak = max(first, math.acos(cosine))
    ends = [_where_fallen(log_density, peak, edge) for edge in (first, math.pi)]
    total = -math.inf
    for low, high in ((ends[0], peak), (peak, ends[1])):
        for a, b in zip(*(lambda cuts: (cuts[:-1], cuts[1:]))(np.linspace(low, high, 4)), strict=True):
            if b > a:
                at = (a + b) / 2 + (b - a) / 2 * _NODES[0]
                total = np.logaddexp(total, special.logsumexp(log_density(at), b=(b - a) / 2 * _NODES[1]))
    inside = special.betaincc((d - 1) / 2, (d - 1) / 2, math.sin(first / 2) ** 2)
    return float(total) - float(special.betaln(0.5, (d - 1) / 2)) - math.log(max(float(inside), 1e-300))


def _where_fallen(log_density: Callable[[Any], Any], peak: float, edge: float) -> float:
    """The place between the peak and the edge beyond which the integrand is negligible."""
    enough = float(log_density(peak)) - _DROP
    if float(log_density(edge)) >= enough:
        return edge
    near, far = peak, edge
    for _ in range(80):
        middle = (near + far) / 2
        near, far = (middle, far) if float(log_density(middle)) >= enough else (near, middle)
    return far


def _spread(n: int, d: int, weight: float) -> float | None:
    """For a regular simplex, or for keys at equal distances on a circle."""
    if d >= n - 1:
        return _gap(n, weight) * (n - 1) / n
    if d > 2:
        return None
    if n > 2 * _ALL_KEYS and weight < 1e-3:
        return None
    near = np.arange(1, min((n - 1) // 2, _ALL_KEYS) + 1)  # on either side; farther keys have no weight
    times = np.full(len(near), 2.0)
    if n % 2 == 0 and n <= 2 * _ALL_KEYS:
        near, times = np.append(near, n // 2), np.append(times, 1.0)
    halves = np.sin(np.pi * near / n) ** 2
    aim = math.log1p(-weight) - math.log(weight)
    excess = lambda log_beta: float(special.logsumexp(-2 * math.exp(log_beta) * halves, b=times)) - aim
    low, high = -5.0, math.log(_gap(n, weight) / (2 * halves[0]))
    return math.exp(optimize.root_scalar(excess, bracket=(low, high + 1.0), xtol=1e-12).root)
