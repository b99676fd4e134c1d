"""The distance of a learned flow from straight paths and from optimal transport, and the solver steps that it needs."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import stats
from scipy.spatial.distance import cdist

from lemmata.answers import Condition, inside, positive, whole
from lemmata.errors import DataError, SettingError
from lemmata.printable import preformatted

from ._rows import answered, in_unit, rows_of, squarable
from ._transport import assigned

_CLAIMS = (
    "generation.flows.path_energy_above_transport",
    "generation.couplings.rectification_gain",
    "generation.field_errors.euler_error_constant",
    "generation.field_errors.heun_error_constant",
)
_LADDER, _TRANSPORTED, _MOST_STEPS = (4, 8, 16, 32, 64), 2000, 4096
_GROWN = 1e140  # squares of larger numbers overflow
_ORDERS = {"euler": 1, "heun": 2}

Field = Callable[[np.ndarray, float], np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Straightness:
    """The energy of a flow, compared with the squared Wasserstein distance W2 between its rows at time 0 and time 1.

    Args:
        energy: the integral over time of the mean squared speed.
        energy_interval: a confidence interval of the energy over new rows.
        moved: the mean squared distance between a row at time 0 and its end, the row at time 1. This number is at most
            the energy. For straight paths of constant speed, it equals the energy.
        transport: W2 squared between the rows at time 0 and the ends. This number is at most `moved`. If the flow is
            the optimal transport of the rows, it equals `moved`.
        bent: the share of the energy that straight paths between the same pairs of ends would save.
        detour: the share of the energy that the optimal transport to the same set of ends would save in addition.
        steps: a number of solver steps for which the error of the ends is at most the requested error, or None if no
            number up to 4,096 was found.
        reached: the measured error if the solver takes `steps` steps, or NaN if `steps` is None.
        error: the requested error, a root mean square distance from the exact ends.
        method: the method of the solver.
        ladder: the numbers of steps of `errors`: 4, 8, 16, 32 and 64.
        errors: the measured error with each of these numbers of steps.
        order: the exponent p of the fall from 32 to 64 steps, where the error is proportional to 1/steps^p, or NaN if
            one of these errors is 0.
        ends: the rows at time 1.
        rows: the number of rows.
        level: the confidence level of the interval.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    energy: float
    energy_interval: tuple[float, float]
    moved: float
    transport: float
    bent: float
    detour: float
    steps: int | None
    reached: float
    error: float
    method: str
    ladder: Int[np.ndarray, " s"]
    errors: Float[np.ndarray, " s"]
    order: float
    ends: Float[np.ndarray, "n d"]
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        low, high = self.energy_interval
        count = f"more than {_MOST_STEPS}" if self.steps is None else f"{self.steps}"
        measured = "" if self.steps is None else f" (measured {self.reached:.3g})"
        lines = [
            f"energy {self.energy:.4g} ({100 * self.level:g} % interval {low:.4g} to {high:.4g}), "
            f"squared Wasserstein distance {self.transport:.4g}",
            f"{100 * self.bent:.3g} % of the energy is due to bent paths, {100 * self.detour:.3g} % to a pairing "
            "that is not optimal",
            f"an error of {self.error:.4g} takes {count} {self.method} step{'' if self.steps == 1 else 's'}{measured}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the error against the number of steps as an Altair chart, without errors of 0."""
        import altair as alt

        pairs = zip(self.ladder.tolist(), self.errors.tolist(), strict=True)
        rows = [{"steps": steps, "error": error} for steps, error in pairs if error > 0]
        log = alt.Scale(type="log")
        curve = alt.Chart(alt.Data(values=rows)).mark_line(point=True).encode(
            x=alt.X("steps:Q", title="steps", scale=log),
            y=alt.Y("error:Q", title="error at the end of the paths", scale=log)
        )  # fmt: skip
        mark = alt.Chart(alt.Data(values=[{"error": self.error}])).mark_rule(strokeDash=[4, 4]).encode(y="error:Q")
        return (curve + mark).properties(width=360, height=220)


def straightness(
    velocity: Any, x0: Any, *, error: Any = None, method: str = "euler", steps: int | float = 256,
    level: float | int = 0.95, seed: int = 0,
) -> Straightness:  # fmt: skip
    """Measure the bending of a flow's paths, the distance of the flow from optimal transport, and the solver steps that
    the flow needs.

    The flow moves rows from time 0 to time 1. The energy is the integral of the mean squared speed. By the
    Benamou-Brenier formula, the energy is at least the squared Wasserstein distance W2 between the rows at time 0 and
    at time 1. The difference of these two numbers has two parts. One part comes from bent paths, the other part from a
    pairing of the ends that is not optimal. Straight paths of constant speed need one step of the solver.

    Args:
        velocity: a function of rows (n, d) and a time in [0, 1] that returns the velocity of each row.
        x0: rows at time 0. W2 is computed from at most 2,000 of these rows.
        error: the allowed root mean square distance from the exact ends. With None, the allowed distance is a hundredth
            of the root mean square distance between rows and their ends.
        method: "euler" or "heun" (two evaluations of the velocity in each step).
        steps: the number of fourth-order Runge-Kutta steps of the reference solution, which is taken as exact.
        level: the confidence level of the interval.
        seed: the random seed of the rows for W2.

    Raises:
        SettingError: if the velocity is not a function or fails, or if a setting is invalid.
        ShapeError, DataError: if rows or velocities are invalid.

    Example:
        >>> import numpy as np
        >>> x0 = np.random.default_rng(0).normal(size=(500, 2))
        >>> turning = lambda x, t: np.pi / 2 * np.stack([-x[:, 1], x[:, 0]], axis=1)
        >>> found = straightness(turning, x0)
        >>> round(found.energy / found.moved, 3), found.transport < 0.1, found.steps
        (1.234, True, 89)
    """
    level, seed, count = inside("level", level, 0.0, 1.0), whole("seed", seed), whole("steps", steps, 16)
    if not isinstance(method, str) or method not in _ORDERS:
        raise SettingError("method", found=" ".join(repr(method).split())[:60], rule='"euler" or "heun"')
    start = rows_of("x0", x0)
    field = lambda x, t: answered("velocity", velocity, (x, t), start.shape)
    unit = float(max(np.abs(start).max(), np.abs(field(start, 0.0)).max())) or 1.0
    squarable("x0 and velocity", unit)
    ends, energies = _followed(field, start, count)
    halved, _ = _followed(field, start, max(count // 2, 1))
    with np.errstate(over="ignore", invalid="ignore"):
        displaced = np.sum((ends - start) ** 2, axis=1)
    energy, moved = float(energies.mean()), float(displaced.mean())
    grown = float((energies / unit**2).max())
    if not (np.isfinite(energy) and grown <= _GROWN and np.abs(ends).max() <= _GROWN):
        raise DataError("velocity", found="paths that diverge", rule="finite ends", remedy="change the unit")
    transport, share = _transport(start, ends, seed)
    asked = (math.sqrt(moved) / 100 or 1e-6) if error is None else positive("error", error)
    errors = np.array([_distance(_solved(field, start, steps, method), ends) for steps in _LADDER])
    own = _distance(halved, ends) / 15  # a method of order 4 has a sixteenth of the error with twice the steps
    needed, reached = _steps(field, start, ends, method, asked, errors)
    half = stats.t.ppf((1 + level) / 2, len(start) - 1) * unit**2 * (energies / unit**2).std(ddof=1)
    half = half / math.sqrt(len(start))
    of = lambda part: part / energy if energy > 0 else 0.0
    slope = math.log2(errors[-2] / errors[-1]) if errors[-1] > 0 and errors[-2] > 0 else math.nan
    return Straightness(
        energy, (max(energy - float(half), 0.0), energy + float(half)), moved, share * moved,
        max(of(energy - moved), 0.0), max(of(moved - share * moved), 0.0), needed, reached, asked, method,
        np.array(_LADDER), errors, slope, ends, len(start), level, _conditions(own, asked, transport, energy),
    )  # fmt: skip


def _followed(field: Field, start: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of all rows, from Runge-Kutta steps, and the integrals of their squared speeds, from Simpson's
    rule.
    """
    x, h, energy = start.copy(), 1 / steps, np.zeros(len(start))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(steps):
            t = step * h
            a = field(x, t)
            b = field(x + h / 2 * a, t + h / 2)
            c = field(x + h / 2 * b, t + h / 2)
            d = field(x + h * c, min(t + h, 1.0))
            squares = [np.sum(own**2, axis=1) for own in (a, (b + c) / 2, d)]
            energy += h / 6 * (squares[0] + 4 * squares[1] + squares[2])
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
    return x, energy


def _solved(field: Field, start: np.ndarray, steps: int, method: str) -> np.ndarray:
    x, h = start.copy(), 1 / steps
    for step in range(steps):
        slope = field(x, step * h)
        if method == "heun":
            slope = (slope + field(x + h * slope, min((step + 1) * h, 1.0))) / 2
        x = x + h * slope
    return x


def _distance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum((x - y) ** 2, axis=1))))


def _transport(start: np.ndarray, ends: np.ndarray, seed: int) -> tuple[int, float]:
    """Return the number of rows used, and a ratio of two squared displacements of these rows.

    The ratio is the squared displacement under the optimal pairing, divided by the actual squared displacement.
    """
    rows = np.random.default_rng(seed).permutation(len(start))[:_TRANSPORTED]
    (first, second), _, _ = in_unit(start[rows], ends[rows])
    squares = cdist(first, second, "sqeuclidean")
    own = float(np.trace(squares))
    best = float(squares[np.arange(len(rows)), assigned(squares)].sum())
    return len(rows), (best / own if own > 0 else 1.0)


def _steps(
    field: Field, start: np.ndarray, ends: np.ndarray, method: str, asked: float, errors: np.ndarray
) -> tuple[int | None, float]:
    """Return a number of steps with at most the requested error, and the error with this number. The search starts from
    the known errors with 4 to 64 steps and extrapolates with the order of the method.
    """
    for steps in (1, 2):
        own = _distance(_solved(field, start, steps, method), ends)
        if own <= asked:
            return steps, own
    below = [place for place, own in enumerate(errors) if own <= asked]
    place = max(below[0] - 1, 0) if below else len(errors) - 1
    guess, reached = _LADDER[place], float(errors[place])
    for _ in range(8):
        if reached <= asked:
            return guess, reached
        guess = max(guess + 1, math.ceil(guess * (reached / asked) ** (1 / _ORDERS[method])))
        if guess > _MOST_STEPS:
            break
        reached = _distance(_solved(field, start, guess, method), ends)
    return (guess, reached) if reached <= asked and guess <= _MOST_STEPS else (None, math.nan)


def _conditions(own: float, asked: float, transported: int, energy: float) -> tuple[Condition, ...]:
    return (
        Condition("rows are independent draws of the start"),
        Condition(("the reference solution is exact enough (its error divided by the error that you asked "
                  "for)"), own / asked,
                  own <= 0.1 * asked, "pass more steps"),
        Condition("number of rows in the optimal pairing", float(transported), transported >= 200,
                  "with few rows, better pairings can be missed"),
        Condition("the rows move (energy)", energy, energy > 0, "if a flow stands still, its shares have no meaning"),
    )  # fmt: skip
