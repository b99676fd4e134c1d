"""Two-layer erf networks with a cubic teacher: the distribution of one unit in the mean field of the other units, and
the transition at which units align with the teacher's direction.
"""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import brentq, minimize_scalar

from lemmata.core import check_real
from lemmata.errors import SolverError

_GRID = np.linspace(0.0, 0.5, 2001)[1:-1]
_MOST, _LEAST = 1e8, 1e-100


class Transition(eqx.Module):
    """The transition, at which units with and without the teacher's direction v are equally likely as d grows.

    The docstring of `CubicTeacher` defines the symbols.

    Args:
        interaction: the value u_c of the interaction u at the transition.
        share: the number y = q²/(1 + 2|w|²) for units with the direction; y is 0 for the other units.
        overlap: the absolute value of q = w'v for units with the direction.
        beside: the number |w|² - q² for units with the direction. For the other units, it is weight_variance.
        linear: the coefficient b of the linear component that is not learned.
        barrier: the largest value of `CubicTeacher.gain` between the two states; in both states, it is 0.
    """

    interaction: float
    share: float
    overlap: float
    beside: float
    linear: float
    barrier: float


class MixedPhase(eqx.Module):
    """A network in which some units may have the teacher's direction. `CubicTeacher` defines the symbols.

    Args:
        linear: the coefficient b of the linear component that is not learned.
        cubic: the coefficient c of the cubic component that is not learned. Before the transition, c is epsilon.
        share: the number y = q²/(1 + 2|w|²) of units with the direction, or 0 without such units.
        droplets: d times the fraction of units that have the direction, to leading order in d; 0 before the
            transition.
    """

    linear: float
    cubic: float
    share: float
    droplets: float


class CubicTeacher(eqx.Module):
    """A network sum a_i erf(w_i'x) of N units learns H_1(v'x) + epsilon H_3(v'x), x ~ N(0, I_d), |v| = 1.

    The polynomials are H_1(t) = t and H_3(t) = t³ - 3t. The network is in equilibrium: its parameters have the
    posterior distribution. The priors are w ~ N(0, weight_variance/d I) and a ~ N(0, s/N). There are n labels with
    noise of variance sigma². Consider one unit in the mean field of all other units, with expectations in place of sums
    over data. The weights w of the unit have the density exp(-d A(w)), up to a factor, with the action

        A(w) = |w|²/(2 weight_variance) - (u/2) (b h_1 + sqrt 6 c h_3)²,    u = n² s/(sigma⁴ d N).

    In this formula, h_1 and h_3 are the `hermite_overlaps`, and b H_1 + c H_3 is the part of the teacher that is not
    learned. The number u is the interaction. With the matrix Q of second moments of (h_1, h_3) over the units, (b, sqrt
    6 c) = (I + Q s n/sigma²)^-1 (1, sqrt 6 epsilon). If only sigma² changes, three numbers are fixed: epsilon,
    weight_variance and ratio = d/(N s). Then sigma² d/(n s) = sqrt(ratio/u).

    Args:
        epsilon: the cubic component epsilon of the teacher, below 0. Because h_1 h_3 < 0, the cubic component of the
            features also has a negative sign relative to their linear component. Therefore the transition is of first
            order.
        weight_variance: the prior variance of w, times d.
        ratio: the number d/(N s).

    Raises:
        SettingError: for an epsilon that is not finite and negative, and for other numbers that are not finite and
            positive.
    """

    epsilon: float = eqx.field(static=True)
    weight_variance: float = eqx.field(static=True)
    ratio: float = eqx.field(static=True)

    def __check_init__(self):
        check_real("epsilon", self.epsilon, "finite, below 0", lambda found: found < 0)
        for name in ("weight_variance", "ratio"):
            check_real(name, getattr(self, name), "finite, above 0", lambda found: found > 0)

    def action(
        self, w: Float[Array, " d"], interaction: float, linear: float | Array, cubic: float | Array
    ) -> Float[Array, ""]:
        """Return the action A(w), with the first coordinate axis as the teacher's direction v.

        The function -d A is a log density for `lemmata.subjects.samplers`.

        Raises:
            SettingError: for an interaction that is negative, and numbers that are not finite.
        """
        check_real("w", w, "finite", np.isfinite, several=True)
        _check_field(interaction, linear, cubic)
        size = jnp.sum(w**2)
        share = w[0] ** 2 / (1 + 2 * size)
        return size / (2 * self.weight_variance) - _field(share, interaction, linear, cubic)

    def gain(self, share: Float[np.ndarray, "*s"] | float, interaction: float, linear: float, cubic: float):
        """Return -log p(y)/d for large d, up to a constant: y/(2 g (1 - 2y)) - log(1 - 2y)/2 - field(y).

        In this formula, p(y) is the density of the share y = q²/(1 + 2|w|²), g is weight_variance, and field(y) is the
        last term of A. At a share y, the most likely value of r = |w|² - q² is g (1 - 2y). To derive this value, note
        that A(w) minus the log volume contains (q² + r)/(2g) - log(r)/2. With q² = y(1 + 2r)/(1 - 2y), the derivative
        in r is 1/(2g(1 - 2y)) - 1/(2r).

        Raises:
            SettingError: for a share outside [0, 1/2), a negative interaction, and numbers that are not finite.
        """
        _check_share(share)
        _check_field(interaction, linear, cubic)
        rest = 1 - 2 * share
        return share / (2 * self.weight_variance * rest) - np.log(rest) / 2 - _field(share, interaction, linear, cubic)

    def gain_at_held_norm(
        self, share: Float[np.ndarray, "*s"] | float, interaction: float, linear: float, cubic: float
    ):
        """Return `gain` with |w|² - q² fixed at weight_variance, which is the formula in `rubin2024grokking`.

        For y > 0, the result is larger than `gain`.

        Raises:
            SettingError: for the same reasons as `gain`.
        """
        _check_share(share)
        _check_field(interaction, linear, cubic)
        size = (1 + 2 * self.weight_variance) / (2 * self.weight_variance)
        return size * share / (1 - 2 * share) - _field(share, interaction, linear, cubic)

    def linear_part(self, interaction: float) -> float:
        """Return the coefficient b of a network in which no unit has the teacher's direction v.

        The symbols are those of `CubicTeacher`: b and c are the coefficients of the part of the teacher that is not
        learned, ratio = d/(N s), and epsilon is the cubic coefficient of the teacher. Let g be the weight variance and
        k = 4/(pi (1 + 2g)). Then b is the solution of the equation 1/b = 1 + k/(sqrt(ratio/u) (1/g - k u b²)). To
        leading order in 1/d, the component of a unit's weights along v is then normal with variance 1/(d (1/g - k u
        b²)), and c is epsilon.

        Args:
            interaction: the interaction u.
        """
        rule = f"above 0 and below {_MOST:g}"
        check_real("interaction", interaction, rule, lambda found: (found > 0) & (found < _MOST))
        top = min(1.0, 1 / np.sqrt(self._slope * interaction * self.weight_variance)) * (1 - 1e-13)
        excess = lambda b: b * self._stiffness(b, interaction) - 1
        return _root(excess, 0.0, top) if excess(top) > 0 else float(top)  # otherwise b equals top up to rounding

    @property
    def _slope(self) -> float:
        return 4 / (np.pi * (1 + 2 * self.weight_variance))

    def _stiffness(self, linear, interaction: float):
        curvature = 1 / self.weight_variance - self._slope * interaction * linear**2
        return 1 + self._slope / (np.sqrt(self.ratio / interaction) * curvature)


def _check_share(share: Float[np.ndarray, "*s"] | float) -> None:
    check_real("share", share, "at least 0 and below 1/2", lambda found: (found >= 0) & (found < 0.5), several=True)


def _check_field(interaction: float | Array, linear: float | Array, cubic: float | Array) -> None:
    check_real("interaction", interaction, "finite, at least 0", lambda found: found >= 0, several=True)
    for name, given in (("linear", linear), ("cubic", cubic)):
        check_real(name, given, "finite", np.isfinite, several=True)


def _root(function: Callable[[float], float], low: float, high: float, xtol: float = 1e-13) -> float:
    return float(brentq(function, low, high, xtol=xtol))  # pyright: ignore


def _field(share, interaction, linear, cubic):
    """Return the field (u/2) (b h_1 + sqrt 6 c h_3)² = (2u/pi) y (b - 2cy)² at the share y."""
    return 2 * interaction / np.pi * share * (linear - 2 * cubic * share) ** 2


def held_norm_interaction(teacher: CubicTeacher, linear: float) -> tuple[float, float]:
    """Return the transition at fixed norm for a given b: the interaction u with equally deep minima, and the overlap.

    The minima are at overlaps 0, q and -q. Let e = -epsilon and let g be the weight variance.
    `CubicTeacher.gain_at_held_norm` divided by y/(1 - 2y) is a constant minus (2u/pi) (1 - 2y)(b + 2ey)². The product
    (1 - 2y)(b + 2ey)² is a cubic with the largest value 4 (b + e)³/(27 e), at y = (2e - b)/(6e). Hence

        u = 27 pi e (1 + 2g) / (16 g (b + e)³),    q² = (1 + 2g) (2e - b)/(2 (b + e)).

    Args:
        teacher: the model; the function uses its epsilon and weight variance.
        linear: the value of b, below 2e.

    Raises:
        SettingError: if b is not between 0 and 2e. For larger b, the minimum at 0 changes continuously.

    Example:
        >>> from lemmata.subjects.phases import CubicTeacher, held_norm_interaction
        >>> u, q = held_norm_interaction(CubicTeacher(-0.3, 0.5, 18.75), 0.3)
        >>> round(u, 3), round(q, 3)  # 225 pi/24, 1/sqrt 2
        (29.452, 0.707)
    """
    e, g = -teacher.epsilon, teacher.weight_variance
    rule = f"above 0 and below -2 epsilon = {2 * e:g}"
    check_real("linear", linear, rule, lambda found: (found > 0) & (found < 2 * e))
    u = 27 * np.pi * e * (1 + 2 * g) / (16 * g * (linear + e) ** 3)
    return float(u), float(np.sqrt((1 + 2 * g) * (2 * e - linear) / (2 * (linear + e))))


def transition(teacher: CubicTeacher, *, held_norm: bool = False) -> Transition:
    """Return the first interaction u at which units with the teacher's direction are as likely as units without.

    The symbols b, c, epsilon and u are those of `CubicTeacher`. Before the transition, every unit is without the
    direction, c is epsilon, and b is `CubicTeacher.linear_part`.

    Args:
        teacher: the teacher and the network that learns it.
        held_norm: whether to use `CubicTeacher.gain_at_held_norm` instead of `CubicTeacher.gain`.

    Raises:
        SolverError: if the transition is above an interaction of 1e8 or below an interaction of 1e-100.

    Example:
        >>> from lemmata.subjects.phases import CubicTeacher, transition
        >>> paper = CubicTeacher(epsilon=-0.3, weight_variance=0.5, ratio=150 / 8)
        >>> round(transition(paper, held_norm=True).interaction, 1), round(transition(paper).interaction, 1)
        (30.7, 20.8)
    """
    gain = teacher.gain_at_held_norm if held_norm else teacher.gain

    def least(u: float) -> tuple[float, float]:
        """Return the share y at which gain/y is least, and the least value. At the transition, this value is 0."""
        height = partial(_per_share, gain, u, teacher.linear_part(u), teacher.epsilon)
        at = int(np.argmin(height(_GRID)))
        ends = (_GRID[max(at - 1, 0)], _GRID[min(at + 1, len(_GRID) - 1)])
        found = minimize_scalar(height, bounds=ends, method="bounded", options={"xatol": 1e-10})
        return float(found.x), float(found.fun)  # pyright: ignore

    top = 1.0
    while least(top)[1] > 0:
        top *= 2
        if top > _MOST:
            raise SolverError(
                "transition between the phases",
                found=f"no transition below u = {_MOST:g}",
                rule="a value of u at which the two minima are equally deep",
            )
    low = top / 4 if top > 1 else 1e-6
    while not least(low)[1] > 0:
        low /= 2
        if low < _LEAST:
            raise SolverError(
                "transition between the phases",
                found=f"no transition above u = {_LEAST:g}",
                rule="a value of u at which the two minima are equally deep",
            )
    u = _root(lambda u: least(u)[1], low, top, min(1e-13, 1e-7 * low))
    y, linear, g = least(u)[0], teacher.linear_part(u), teacher.weight_variance
    beside = g if held_norm else g * (1 - 2 * y)
    between = gain(np.linspace(0, y, 401), u, linear, teacher.epsilon)
    return Transition(u, y, _overlap(y, beside), beside, linear, float(np.max(between)))


def _per_share(gain: Callable, interaction: float, linear: float, cubic: float, share):
    return gain(share, interaction, linear, cubic) / share


def _overlap(share: float, beside: float) -> float:
    return float(np.sqrt(share * (1 + 2 * beside) / (1 - 2 * share)))


def mixed_phase(teacher: CubicTeacher, interaction: float) -> MixedPhase:
    """Return the network in equilibrium at an interaction, to leading order in d.

    Beyond the transition, a fraction of the units has the teacher's direction. In equilibrium, a unit is equally likely
    with and without the direction. If units with the direction were more likely, more units would align with it. Then
    the network would learn more of the teacher, which weakens the field. The conditions gain = 0 and gain' = 0, with
    `CubicTeacher.gain`, determine b and c at a share y. The equation for c determines the droplets, and the equation
    for b determines y.

    Args:
        teacher: the teacher and the network that learns it.
        interaction: the interaction u.

    Raises:
        SolverError: if no mixture balances the two phases.

    Example:
        >>> from lemmata.subjects.phases import CubicTeacher, mixed_phase
        >>> paper = CubicTeacher(epsilon=-0.3, weight_variance=0.5, ratio=150 / 8)
        >>> [round(mixed_phase(paper, u).cubic, 2) for u in (10.0, 20.0, 25.0, 40.0)]
        [-0.3, -0.3, -0.29, -0.27]
    """
    linear = teacher.linear_part(interaction)
    if np.all(teacher.gain(_GRID, interaction, linear, teacher.epsilon) >= 0):
        return MixedPhase(linear, teacher.epsilon, 0.0, 0.0)
    balance = partial(_balance, teacher, interaction)
    with np.errstate(invalid="ignore"):
        lacks = balance(_GRID)[0]
        places = np.flatnonzero(lacks[:-1] * lacks[1:] <= 0)
    shares = [_root(lambda y: float(balance(y)[0]), _GRID[i], _GRID[i + 1]) for i in places]
    found = [MixedPhase(*map(float, balance(y)[1:])) for y in shares]
    found = [phase for phase in found if phase.droplets >= 0 and phase.linear > 0]
    if len(found) != 1:
        raise SolverError(
            "mixed phase", found=f"{len(found)} mixtures", rule="one mixture that balances the two phases"
        )
    return found[0]


def _balance(teacher: CubicTeacher, interaction: float, y):
    """Return the residual of the equation for b, and b, c, y and the droplets, if the minima at 0 and y are equal."""
    rest, g = 1 - 2 * y, teacher.weight_variance
    prior, slope = y / (2 * g * rest) - np.log(rest) / 2, 1 / (2 * g * rest**2) + 1 / rest
    seen = np.sqrt(2 * prior / interaction)  # b h_1 + sqrt 6 c h_3
    first, third = 2 * np.sqrt(y / np.pi), -4 * np.sqrt(y**3 / (6 * np.pi))
    inner = seen / first  # b - 2cy
    cubic = (inner**2 - np.pi * slope / (2 * interaction)) / (4 * y * inner)
    linear = inner + 2 * cubic * y
    weight = np.sqrt(6) * (teacher.epsilon - cubic) / (third * seen)
    stable = 1 / g > teacher._slope * interaction * linear**2
    lack = linear * teacher._stiffness(linear, interaction) - 1 + weight * first * seen
    return np.where(stable, lack, np.nan), linear, cubic, y, weight * np.sqrt(teacher.ratio / interaction)
