"""Parametric families and other plain ways to continue a learning curve, fitted by least squares.

The families that did best in the comparison of the Learning Curve Database: the power law with a floor (pow3), MMF and
the four-parameter Weibull curve (wbl4). `scipy.optimize.curve_fit` from several starts; the best fit counts, and where
none converges the last value does. Standard errors are not used: for most curves that served the families no better.
"""

import warnings

import numpy as np
from scipy import optimize


def pow3(n, a, b, c):
    return a * n**-b + c


def mmf(n, a, b, c, d):
    return (a * b + c * n**d) / (b + n**d)


def wbl4(n, a, b, c, d):
    return c - b * np.exp(-a * n**d)


def _starts(family, n, y):
    top, end = y.max(), y[-1]
    drop = max(top - end, 1e-3 * max(top, 1e-12))
    for rate in (0.2, 0.5, 1.0):
        scale = n[0] ** rate
        if family is pow3:
            yield (drop * scale, rate, 0.9 * end)
        elif family is mmf:
            yield (top, scale, 0.9 * end, rate)
        else:
            yield (1 / scale, -drop, 0.9 * end, rate)


def continued(family, sizes, measured, target: float) -> float:
    """The family's loss at `target` rows, fitted to the measured curve; the last value where no fit converges."""
    best, found = np.inf, float(measured[-1])
    if len(sizes) < 4:
        return found
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for start in _starts(family, sizes, measured):
            try:
                fitted, _ = optimize.curve_fit(family, sizes, measured, start, maxfev=600)
            except (RuntimeError, ValueError, TypeError):
                continue
            squares = float(((family(sizes, *fitted) - measured) ** 2).sum())
            value = float(family(target, *fitted))
            if squares < best and np.isfinite(value):
                best, found = squares, value
    return found


def last_value(sizes, measured, target: float) -> float:
    return float(measured[-1])


RIVALS = {
    "last value": last_value,
    "pow3": lambda *given: continued(pow3, *given),
    "MMF": lambda *given: continued(mmf, *given),
    "WBL4": lambda *given: continued(wbl4, *given),
}
