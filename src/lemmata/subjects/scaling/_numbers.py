"""Functionals of a scaling law, from which intervals are computed.

A functional maps the parameters of a law to the logarithm of a number and its derivatives. In the best allocation of a
budget, training a model of size n on d data takes `cost` n d operations, and its use on `served` data takes 2 n
`served` operations.
"""

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

from ._laws import Design
from ._profile import Functional

_STEP = 1e-6
_STEEPEST = 100.0  # log of an exponent; an interval's end may pull a law this far if its amplitude is infinite
_SMALL = 30.0  # e^-30 is lost when added to 1
_NEAR = 5.0  # at few optima, log n is more than e^5 below its largest value


def exponent(place: int) -> Functional:
    """Return the functional for an exponent. The logarithm of the exponent is a parameter itself."""
    return lambda theta: (float(theta[place]), np.eye(len(theta))[place])


def log_floor(design: Design) -> Functional:
    """Return the functional that is the logarithm of the floor E."""
    return lambda theta: (float(theta[0]) + design.unit, np.eye(len(theta))[0])


def amplitude(design: Design, term: int) -> Functional:
    """Return the functional that is the logarithm of A in A n^-alpha.

    The functional computes log A from the value of the term at the centre of the design.
    """
    place = int(design.floor) + 2 * term

    def number(theta):
        steep = np.exp(min(theta[place + 1], _STEEPEST))
        slope = np.zeros(len(theta))
        slope[place], slope[place + 1] = 1.0, steep * design.centre[term]
        return float(theta[place] + design.unit + steep * design.centre[term]), slope

    return number


def loss_at(design: Design, sizes: Float[np.ndarray, "terms"]) -> Functional:
    """Return the functional that is the logarithm of the law's loss at one point."""

    def number(theta):
        value, slope = design.log_loss(theta, sizes[None])
        return float(value[0]), slope[0]

    return number


def best_size(design: Design, budget: float, cost: float, served: float) -> Functional:
    """Return the functional log n, for the n with the least loss under cost n d + 2 n served = budget."""

    def number(theta):
        value = optimum(design, theta, budget, cost, served)[0]
        moved = [optimum(design, theta + _STEP * row, budget, cost, served)[0] for row in np.eye(len(theta))]
        return value, (np.array(moved) - value) / _STEP

    return number


def best_data(design: Design, budget: float, cost: float, served: float) -> Functional:
    """Return the functional log d, for the d with the least loss under cost n d + 2 n served = budget."""

    def number(theta):
        value = optimum(design, theta, budget, cost, served)[1]
        moved = [optimum(design, theta + _STEP * row, budget, cost, served)[1] for row in np.eye(len(theta))]
        return value, (np.array(moved) - value) / _STEP

    return number


def best_loss(design: Design, budget: float, cost: float, served: float) -> Functional:
    """Return the functional that is the least log loss under cost n d + 2 n served = budget.

    The derivatives are those of the law at the optimal n and d. The reason is that a small change of n and d does not
    change the loss at the optimum to first order.
    """

    def number(theta):
        value, slope = design.log_loss(theta, np.array([optimum(design, theta, budget, cost, served)]))
        return float(value[0]), slope[0]

    return number


def optimum(design: Design, theta: np.ndarray, budget: float, cost: float, served: float) -> tuple[float, float]:
    """Return log n and log d at which alpha A n^-alpha = beta B d^-beta (1 + 2 served / (cost d)).

    Without served tokens, the logarithm of this equation is linear in log n. With served tokens, the left side falls in
    n and the right side rises.
    """
    first = int(design.floor)
    # the exponents of the laws that an interval tries can be extreme; beyond the law's own limits, they do not matter
    steep = np.exp(np.clip(theta[first + 1 :: 2], -12.0, 3.0))
    returns = theta[first + 1 :: 2] + theta[first::2] + steep * design.centre
    every = np.log(budget / cost)
    size = (returns[0] - returns[1] + steep[1] * every) / steep.sum()
    if served == 0:
        return float(size), float(every - size)
    share = np.log(2 * served / cost)

    def place(gap: float) -> tuple[float, float]:
        """Return log n and log d, from cost d = budget / n - 2 served; log n is e^gap below its largest value."""
        below = np.exp(gap)
        return every - share - below, share + below + (gap if gap < -_SMALL else np.log(-np.expm1(-below)))

    def surplus(gap: float) -> float:
        at, other = place(gap)
        return returns[0] - steep[0] * at - returns[1] + steep[1] * other - np.logaddexp(0.0, share - other)

    low, high = -_SMALL, _NEAR
    while surplus(low) > 0:  # surplus is -inf at gap = -inf
        low *= 2
    while surplus(high) < 0:  # surplus is inf at gap = inf
        high += _NEAR
    found = place(float(brentq(surplus, low, high, xtol=1e-13)))  # pyright: ignore
    return float(found[0]), float(found[1])
