"""Certify that no input near a given input has another class. An attack gives upper bounds on margins."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from lemmata.answers import Condition, positive
from lemmata.errors import DataError, SettingError, ShapeError, SolverError
from lemmata.printable import preformatted

from ._attack import attack
from ._inputs import as_point, as_radius
from ._network import ReluNetwork
from ._open_units import open_network, tightened_bounds
from ._programs import exact, triangle
from ._reading import read_network
from ._relaxation import NORMS, Ball, crown, interval, optimised, pre_activation_bounds
from ._rounding import rounding
from ._whole_space import least_anywhere

METHODS = ("interval", "crown", "alpha", "lp", "exact")
"""The methods, from the cheapest to the tightest. Each method is at least as tight as the methods before it."""
_STEPS = 40  # steps of ascent in the slopes
_FAR, _NEAR = 1e6, 1e12  # largest factors of doubling and halving before a search over the exponent
_LARGEST = 1e300  # the largest radius that is tried
_SMALLEST = 1e-305  # the smallest radius that is tried; rounding errors of smaller numbers would be subnormal
_PROGRAMMES = 2e-7  # the assumed error of a bound by HiGHS: twice the tolerance of its constraints

_CLAIMS = {
    "interval": "robustness.intervals.intervals_exact_where_monotone",
    "crown": "robustness.relaxations.alpha_beats_intervals",
    "alpha": "robustness.relaxations.alpha_is_the_triangle",
    "lp": "robustness.relaxations.order_of_relaxations",
    "exact": "robustness.relaxations.order_of_relaxations",
}


@dataclasses.dataclass(frozen=True)
class Certificate:
    """Bounds on a network's margins (differences of outputs) in a ball around one input.

    Args:
        label: the class whose margins are bounded. For a network with one output, the class is 1 if the output is
            positive, and otherwise 0.
        rivals: the other classes.
        margins: lower bounds on output[label] - output[rival] on the ball, one for each rival, rounded down.
        attack: the smallest margins that an attack found, one for each rival. These margins are upper bounds on the
            least margins on the ball.
        adversary: an input of another class if the attack found one, and otherwise the input with the smallest margin.
        verdict: "attacked" if an input of another class was found. "robust" if the bounds exclude such an input: every
            lower bound is above 0, or is 0 and the label wins the tie. Otherwise "unknown". If outputs are equal, the
            first of the tied classes wins. If a single output is 0, the class is 0.
        radius: the argument of `certify`. The radius is an array in the shape of the input if each coordinate has its
            own radius.
        norm, method: the norm of the ball and the method of the bounds, as passed to `certify`.
        conditions: the conditions for the results.
        claims: names of the claims that state the bound.
    """

    label: int
    rivals: tuple[int, ...]
    margins: np.ndarray
    attack: np.ndarray
    adversary: np.ndarray
    verdict: str
    radius: float | np.ndarray
    norm: str
    method: str
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...]

    @property
    def bound(self) -> float:
        """The smallest of the lower bounds `margins`."""
        return float(self.margins.min())

    @property
    def gap(self) -> float:
        """The smallest margin that the attack found, minus `bound`. The gap is 0 if both numbers are exact."""
        return float(self.attack.min() - self.bound)

    def __str__(self) -> str:
        ends = np.unique([np.min(self.radius), np.max(self.radius)])
        told = f"{self.verdict} within {' to '.join(f'{end:g}' for end in ends)} in {self.norm} ({self.method})"
        first = f"{told}: the margin is at least {self.bound:.4g}, and an attack lowers it to {self.attack.min():.4g}"
        return "\n".join([first, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)


def certify(
    network: Any,
    x: ArrayLike,
    radius: float | ArrayLike,
    norm: str = "linf",
    method: str = "alpha",
    *,
    params: Any = None,
    label: Any = None,
    seconds: float = 60.0,
) -> Certificate:
    """Bound every margin of a ReLU network over all inputs within `radius` of x.

    A margin is the output of the class minus the output of another class. The methods are intervals ("interval"), CROWN
    ("crown"), optimised slopes ("alpha"), the triangle linear programme ("lp"), and the mixed-integer programme
    ("exact"). The bounds of each method are at least as tight as the bounds of the methods before it. The method
    "exact" is exact if it ends within the time limit.

    All methods start from bounds on the inputs of the hidden units. For "interval" and "crown", these bounds are
    computed by CROWN. For "alpha", "lp" and "exact", the bounds are tighter: slopes are optimised separately for each
    hidden unit that may be active or inactive. If the matrices between these units are more than four times as large as
    the network, the bounds by CROWN are kept. The bounds on margins are lowered by the possible rounding error of
    float64. The bounds of "lp" and "exact" are also lowered by 2e-7 (1 + |bound|), twice the tolerance of the solver
    HiGHS.

    Args:
        network: a list of (weight, bias) of dense layers with ReLU between them; a `Serial` with its params; a
            `torch.nn.Sequential`; an Equinox `Sequential` or `MLP`; a module of Flax that takes a batch (linen with its
            variables as params, or nnx). Layers may be affine (dense, convolution, average pooling) or ReLU.
        x: one input, with the shape that the network takes.
        radius: the radius of the ball, above 0. For "linf", the radius may also be an array of the shape of x, with a
            number of at least 0 for each coordinate. Coordinates of radius 0 do not change.
        norm: "linf" or "l2"; the methods "lp" and "exact" only allow "linf".
        method: "interval", "crown", "alpha", "lp" or "exact".
        params: the parameters of a `Serial`, or the variables of a linen module.
        label: the class whose margins are bounded, a whole number; by default, the network's class at x.
        seconds: the time limit of "exact".

    Raises:
        SettingError: if a layer cannot be bounded, the radius is not positive, or the method or norm is unknown.
        ShapeError, DataError: if the input does not fit the network or is not finite, the radius does not fit the
            input, or an output at x overflows.
        SolverError: if HiGHS cannot solve a linear programme, for example because of numbers above 1e15.

    Example:
        >>> import numpy as np
        >>> layers = [(np.array([[1.0, 1.0], [1.0, -1.0]]), np.zeros(2)), (np.eye(2), np.zeros(2))]
        >>> print(certify(layers, [1.0, 1.0], 0.25, method="exact"))
        robust within 0.25 in linf (exact): the margin is at least 1.5, and an attack lowers it to 1.5
        >>> print(certify(layers, [1.0, 1.0], [0.0, 0.5], method="exact"))
        robust within 0 to 0.5 in linf (exact): the margin is at least 1, and an attack lowers it to 1
    """
    point = as_point(x)
    read = read_network(network, params, point.shape)
    ball = _ball(read, point, radius, norm, method)
    chosen, rows, rivals = _margins(read, ball, label)
    with np.errstate(over="ignore", invalid="ignore"):  # a bound that overflows is not a bound
        bounds = pre_activation_bounds(read, ball)
        tight = bounds if method in ("interval", "crown") else tightened_bounds(read, ball, bounds)
        margins, starts, ended = _lower(read, ball, bounds, tight, rows, method, positive("seconds", seconds))
        _, points = attack(open_network(read, tight) or read, ball, rows, starts)
        outputs = read(points)
        found = (outputs * rows).sum(axis=1)
        found = np.where(np.isnan(found), np.inf, found)
        margins = np.minimum(margins - rounding(read, ball, bounds, rows), found)
        margins = np.where(np.isnan(margins), -np.inf, margins)
    fooled = np.isfinite(outputs).all(axis=1) & np.array([_class(one) != chosen for one in outputs])
    verdict = "attacked" if fooled.any() else "robust" if _kept(margins, chosen, rivals).all() else "unknown"
    free = sum(int(((low < 0) & (high > 0)).sum()) for low, high in bounds)
    conditions = (
        Condition(
            "units that may be active or inactive in the ball",
            float(free),
            None,
            "if no unit is undecided, all methods agree",
        ),
    )
    if method == "exact":
        why = "otherwise the margins are only lower bounds"
        conditions += (Condition("searches that ended in time", float(ended), ended == len(rows), why),)
    adversary = points[np.where(fooled, found, np.inf).argmin() if fooled.any() else found.argmin()]
    asked = ball.radius.reshape(point.shape) if isinstance(ball.radius, np.ndarray) else ball.radius
    return Certificate(
        chosen, rivals, margins, found, adversary, verdict, asked, norm, method, conditions, (_CLAIMS[method],)
    )


def _ball(network: ReluNetwork, point: np.ndarray, radius: object, norm: str, method: str) -> Ball:
    if method not in METHODS:
        raise SettingError("method", found=repr(method), rule=f"one of {', '.join(METHODS)}")
    if norm not in NORMS:
        raise SettingError("norm", found=repr(norm), rule=f"one of {', '.join(NORMS)}")
    if norm != "linf" and method in ("lp", "exact"):
        remedy = "method='alpha'"
        raise SettingError(
            "norm",
            found=repr(norm),
            rule=f"the norm 'linf', because {method} is a linear programme over a box",
            remedy=f"use {remedy}",
        )
    if network.inputs != point.size:
        raise ShapeError(
            "x", found=f"{point.size} coordinates", rule=f"{network.inputs} coordinates, the input of the network"
        )
    return Ball(point.ravel(), as_radius("radius", radius, point, norm), norm)


def _class(outputs: Float[np.ndarray, " k"]) -> int:
    return int(outputs[0] > 0) if len(outputs) == 1 else int(outputs.argmax())


def _margins(network: ReluNetwork, ball: Ball, label: Any):
    """Return the class, the combinations of outputs that are its margins, one in each row, and the other classes."""
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = network(ball.center[None])[0]
    if not np.isfinite(outputs).all():
        largest = max(float(np.abs(each).max()) for each in (*network.weights, *network.biases))
        raise DataError(
            "outputs at x",
            found=f"an output that overflows, with weights and biases of sizes up to {largest:.3g}",
            rule="finite outputs",
            remedy="divide the weights and biases of the last layer by one number, which does not change the class",
        )
    classes = max(len(outputs), 2)
    if label is not None and (np.ndim(label) or isinstance(label, bool | np.bool_) or label not in range(classes)):
        raise SettingError("label", found=repr(label), rule=f"a class from 0 to {classes - 1}")
    chosen = _class(outputs) if label is None else int(label)
    if len(outputs) == 1:
        return chosen, np.array([[1.0 if chosen else -1.0]]), (1 - chosen,)
    rivals = tuple(other for other in range(classes) if other != chosen)
    return chosen, np.eye(classes)[chosen] - np.eye(classes)[list(rivals)], rivals


def _lower(
    network: ReluNetwork, ball: Ball, bounds, tight, rows: Float[np.ndarray, "r k"], method: str, seconds: float
):
    """Return a lower bound on <row, outputs> and a candidate for the worst input, for each row.

    Also return the number of mixed-integer searches that ended in time.

    Intervals and CROWN start from the bounds `bounds` of the hidden units. The other methods start from the tighter
    bounds `tight`.
    """
    found = interval(network, ball, bounds, rows)
    starts, ended = np.tile(ball.center, (len(rows), 1)), 0
    if method == "interval":
        return found, starts, ended
    found = np.maximum(found, crown(network, ball, bounds, rows))
    if method == "crown":
        return found, starts, ended
    net = open_network(network, tight)
    if net is None:
        own, starts = optimised(network, ball, tight, rows)
    else:
        own, starts = net.optimised(ball, rows @ net.last, _STEPS)
    found = np.maximum(found, own)
    if method in ("lp", "exact"):
        found = np.maximum(found, _below(triangle(network, ball, tight, rows)))
    if method == "exact":
        best, starts = exact(network, ball, tight, rows, seconds)
        reached = (network(starts) * rows).sum(axis=1)
        ended = int((reached - best <= 1e-6 * (1 + np.abs(reached))).sum())
        found = np.maximum(found, _below(best))
    return found, starts, ended


def _below(bound: np.ndarray) -> np.ndarray:
    """Return a lower bound that HiGHS computed, minus the assumed error of HiGHS."""
    return bound - _PROGRAMMES * (1 + np.where(np.isfinite(bound), np.abs(bound), 0.0))


def largest_radius(
    network: Any,
    x: ArrayLike,
    norm: str = "linf",
    method: str = "alpha",
    *,
    params: Any = None,
    label: Any = None,
    tolerance: float = 1e-3,
    scales: float | ArrayLike = 1.0,
) -> float:
    """Find by bisection the largest radius with the verdict "robust" of `certify`. Return 0 if the class at x is not
    `label`.

    The result is infinite only if interval arithmetic over all inputs shows that no change of the input can change the
    class. Otherwise, the search does not change any coordinate by more than 1e300. The search does not try radii that
    are below 1e-305 or change every coordinate by less than 1e-305. If no other radius is robust, the result is 0.

    Args:
        network: as for `certify`.
        x: one input.
        norm: "linf" or "l2".
        method: as for `certify`.
        params: as for `certify`.
        label: the class whose margins are bounded, a whole number; by default, the network's class at x.
        tolerance: the bisection stops if the relative error of the radius is at most this number.
        scales: a positive number, or for "linf", an array of the shape of x. Each coordinate may change by this
            multiple of the radius.

    Raises:
        SettingError, ShapeError, DataError, SolverError: for the same reasons as `certify`.

    Example:
        >>> import numpy as np
        >>> round(largest_radius([(np.eye(2), np.zeros(2))], [1.0, 0.0], method="crown"), 2)
        0.5
    """
    tolerance = positive("tolerance", tolerance)
    point = as_point(x)
    unit = as_radius("scales", scales, point, norm)
    each = unit.reshape(point.shape) if isinstance(unit, np.ndarray) else unit
    certified = lambda radius: certify(network, x, radius * each, norm, method, params=params, label=label)
    most = float(np.max(unit))
    size = float(np.abs(point).max()) / most or 1.0

    def robust(radius: float) -> bool:
        try:
            return certified(radius).verdict == "robust"
        except SolverError:
            if radius > size:  # HiGHS treats numbers above 1e20 as infinity
                return False
            raise

    def always() -> bool:
        read = read_network(network, params, point.shape)
        chosen, rows, rivals = _margins(read, _ball(read, point, each, norm, method), label)
        moves = np.broadcast_to(np.asarray(unit) > 0, point.size)
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(_kept(least_anywhere(read, point.ravel(), moves, rows), chosen, rivals).all())

    tiny, huge = max(_SMALLEST / most, _SMALLEST), min(_LARGEST / most, _LARGEST)
    low, high = _bracket(robust, always, size, tiny, huge)
    while low and high - low > tolerance * low:
        middle = (low + high) / 2
        low, high = (middle, high) if robust(middle) else (low, middle)
    return low


def _bracket(
    robust: Callable[[float], bool], always: Callable[[], bool], size: float, tiny: float, huge: float
) -> tuple[float, float]:
    """Return a robust radius, or 0 if there is none, and a larger radius that is not robust. Their ratio is at most 2.

    The search starts at `size`, and doubles or halves the radius. If the network is robust for all inputs (`always`),
    both numbers are infinite. If the radius `huge` is robust, both are `huge`.
    """
    low, high = 0.0, min(size, huge)
    while robust(high):
        low, high = high, 2 * high
        if high > min(_FAR * size, huge):
            if always():
                return math.inf, math.inf
            return (huge, huge) if robust(huge) else _narrowed(robust, low, huge)
    if low:
        return low, high
    while high > max(size / _NEAR, tiny):
        if robust(high / 2):
            return high / 2, high
        high = high / 2
    return _narrowed(robust, tiny, high) if high > tiny and robust(tiny) else (0.0, high)


def _narrowed(robust: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return two radii with a ratio of at most 2, by bisection of the exponent. Only the lower radius is robust."""
    while high > 2 * low:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if robust(middle) else (low, middle)
    return low, high


def _kept(margins: np.ndarray, chosen: int, rivals: tuple[int, ...]) -> np.ndarray:
    """Return, for each rival, whether it cannot win. If outputs are equal, the first of the tied classes wins."""
    return (margins > 0) | ((margins >= 0) & np.array([chosen < rival for rival in rivals]))
