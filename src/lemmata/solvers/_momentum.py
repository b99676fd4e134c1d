"""Training with momentum on squared loss in closed form: heavy ball, Nesterov, and the flow of damped oscillators.

For an eigenvalue a of the Gram matrix, the filter phi(a) maps the component of the targets along the eigenvector to the
coefficient of the fit. Without momentum, phi would be (1 - (1 - rate a)^s) / a after s steps.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from lemmata.errors import SettingError
from lemmata.spectra import Spectrum

from ._modes import Trajectory, along, check_steps, check_training

Number = float | Float[Array, ""]

_SERIES = 26  # terms of the power series in t; the 27th term is below eps if damping t <= 1 and a t² <= 1


def momentum_descent(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    learning_rate: float,
    momentum: float,
    steps: int | Sequence[int] | np.ndarray,
    cross: Float[Array, "t columns"] | None = None,
    *,
    nesterov: bool = False,
) -> Trajectory:
    """Return the predictions after gradient descent with momentum on 1/2 sum |f - y|², from f_0 = f_{-1} = 0.

    Heavy ball (Polyak, 1964): f_{s+1} = f_s - learning_rate K (f_s - y) + momentum (f_s - f_{s-1}). Nesterov's method
    (1983) computes the gradient at an extrapolated point v: v = f_s + momentum (f_s - f_{s-1}), f_{s+1} = v -
    learning_rate K (v - y). Along each eigenvector of K, each method is a linear recursion of order two. The power of
    the recursion is computed by repeated squaring, so 10^9 steps cost 30 products of small matrices. For slow modes, a
    root 1 - delta of the recursion is near 1, and this power would lose digits of delta. So the result is computed from
    delta instead. Let a_1 be the largest eigenvalue of K. The heavy ball converges for learning_rate < 2 (1 + momentum)
    / a_1, and Nesterov's method for learning_rate < 2 (1 + momentum) / ((1 + 2 momentum) a_1). For larger rates, the
    result diverges, as these methods do.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        y: targets, one row for each point.
        learning_rate: the learning rate, above 0.
        momentum: the momentum, in [0, 1).
        steps: the numbers of steps, each a whole number of at least 0.
        cross: K(other points, training points).
        nesterov: whether to use Nesterov's method instead of the heavy ball.

    Raises:
        SettingError: for steps, learning rate or momentum outside their range.
        ShapeError: if the rows of y or the columns of cross do not fit the spectrum.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import momentum_descent
        >>> from lemmata.spectra import spectrum
        >>> momentum_descent(spectrum(jnp.eye(1)), jnp.ones(1), 0.5, 0.5, [1, 2]).train.tolist()
        [[0.5], [1.0]]
    """
    counts = check_training(spectrum, y, steps, cross, "steps")
    check_steps(learning_rate, counts)
    if not 0 <= momentum < 1:
        raise SettingError("momentum", found=momentum, rule="a number that is at least 0 and below 1")
    powers = 2.0 ** np.arange(int(counts.max()).bit_length())
    bits = lambda count: jnp.floor(count / powers) % 2 == 1

    def path_filter(a: Array, count: Array) -> Array:
        early = _momentum_filter(a, bits(count), learning_rate, momentum, nesterov)
        sound, late = _root_filter(a, count, learning_rate, momentum, nesterov)
        return jnp.where(sound, late, early)

    return along(spectrum, y, counts, cross, path_filter)


@functools.partial(jax.jit, static_argnames="nesterov")
def _momentum_filter(
    values: Float[Array, " n"], bits: Array, rate: Number, momentum: Number, nesterov: bool
) -> Float[Array, " n"]:
    """Return the filter phi after s steps from phi_0 = phi_{-1} = 0, by repeated squaring of its affine recursion.

    The squares are combined by the bits of s. Let c = rate a, with momentum m. For the heavy ball, phi_{s+1} = (1 + m -
    c) phi_s - m phi_{s-1} + rate. For Nesterov's method, phi_{s+1} = (1 - c) ((1 + m) phi_s - m phi_{s-1}) + rate.
    """
    one, zero = jnp.ones_like(values), jnp.zeros_like(values)
    shrink = 1 - rate * values
    now = (1 + momentum) * shrink if nesterov else momentum + shrink
    before = -momentum * shrink if nesterov else -momentum * one
    rows = [[now, before, rate * one], [one, zero, zero], [zero, zero, one]]
    power = jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)

    def square(carried, bit):
        state, power = carried
        state = jnp.where(bit, jnp.einsum("nij,nj->ni", power, state), state)
        return (state, power @ power), None

    start = jnp.stack([zero, zero, one], axis=-1)
    return jax.lax.scan(square, (start, power), bits)[0][0][:, 0]


@functools.partial(jax.jit, static_argnames="nesterov")
def _root_filter(
    values: Float[Array, " n"], count: Float[Array, ""], rate: Number, momentum: Number, nesterov: bool
) -> tuple[Bool[Array, " n"], Float[Array, " n"]]:
    """Return for which eigenvalues the formula below is accurate, and the filter phi after s steps by this formula.

    Let c = rate a, with momentum m, and let p be 1 (heavy ball) or 1 + m (Nesterov). The roots of the recursion are 1 -
    d and 1 - D, with |d| <= |D|. Both d and D solve d² - (1 - m + p c) d + c = 0; d and D may be complex. Since phi_0 =
    phi_{-1} = 0 and d D = rate a, the filter is

        phi = rate [(1 - d) (1 - (1 - d)^s) / d - (1 - D) (1 - (1 - D)^s) / D] / (D - d).

    With log1p, a small d keeps all digits, which the power of the recursion would lose. The difference in the bracket
    loses digits by cancellation if s is below 1/|D|, or if d and D are close.
    """
    c = rate * values
    middle = 0.5 * (1 - momentum + (1 + momentum if nesterov else 1) * c)
    gap = middle**2 - c
    fast = middle + jnp.sqrt(jax.lax.complex(gap, jnp.zeros_like(gap)))  # D
    slow = c / fast  # d
    other = momentum * ((1 - c) if nesterov else 1) / (1 - slow)  # 1 - D, from the product of the roots
    null, ended = slow == 0, other == 0
    grown = jnp.where(null, count, -jnp.expm1(count * jnp.log1p(-slow)) / jnp.where(null, 1.0, slow))
    rest = -jnp.expm1(count * jnp.log(jnp.where(ended, 1.0, other)))
    found = rate * jnp.real(((1 - slow) * grown - other * rest / fast) / (fast - slow))
    # Powers of a negative root alternate in sign. The logarithm of such a root is complex, and would need s pi to a
    # small absolute error.
    sound = ((gap > 0) & (jnp.real(other) >= 0)) | (jnp.abs(fast) < 0.5)
    return sound & (jnp.abs(fast - slow) >= 0.5 * jnp.abs(fast)) & (count * jnp.abs(fast) >= 1), found


def momentum_flow(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    damping: float,
    time: float | Sequence[float] | Float[Array, " s"] | np.ndarray,
    cross: Float[Array, "t columns"] | None = None,
) -> Trajectory:
    """Return the predictions of the flow with momentum f'' + damping f' = -K (f - y), from f(0) = f'(0) = 0.

    Along each eigenvector with eigenvalue a, the flow is a damped oscillator, which is over-damped if damping² > 4 a.
    The heavy ball with learning rate h² and momentum 1 - damping h follows the flow to first order in h. As the damping
    grows, the flow tends to gradient flow at the time t / damping. time = inf gives the minimum-norm interpolant.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        y: targets, one row for each point.
        damping: the damping, above 0.
        time: the times t >= 0.
        cross: K(other points, training points).

    Raises:
        SettingError: for a negative time or a damping that is not positive.
        ShapeError: if the rows of y or the columns of cross do not fit the spectrum.
        PrecisionError: if float64 is off.
    """
    times = check_training(spectrum, y, time, cross, "time")
    if not 0 < damping < float("inf"):
        raise SettingError("damping", found=damping, rule="a positive and finite number")
    return along(spectrum, y, times, cross, lambda a, t: _oscillator_filter(a, t, damping))


@jax.jit
def _oscillator_filter(values: Float[Array, " n"], time: Float[Array, ""], damping: Number) -> Float[Array, " n"]:
    """Return the filter phi, the solution of phi'' + damping phi' + a phi = 1 with phi(0) = phi'(0) = 0."""
    ended, middle = jnp.isinf(time), -damping / 2
    moment = jnp.where(ended, 0.0, time)
    gap = middle**2 - values
    early = (damping * moment <= 1) & (values * moment**2 <= 1)
    near = jnp.abs(gap) <= 0.01 * middle**2  # close to critical damping, the two roots are nearly equal
    apart = jnp.where(near, middle**2, gap)
    # With roots r, s = -damping/2 +- sqrt(gap), phi = (E(r) - E(s))/(r - s), E(r) = (exp(r t) - 1)/r.
    root = jnp.sqrt(jnp.abs(apart))
    slow = jnp.where(apart > 0, -values / (damping / 2 + root), -1.0)
    fast = middle - root
    grown = jnp.where(slow == 0, moment, jnp.expm1(slow * moment) / jnp.where(slow == 0, 1.0, slow))
    over = (grown - jnp.expm1(fast * moment) / fast) / (2 * root)
    swinging = jax.lax.complex(jnp.full_like(values, middle), root)
    under = jnp.imag(jnp.expm1(swinging * moment) / swinging) / root
    settled = jnp.where(near, _critical(values, moment, middle), jnp.where(apart > 0, over, under))
    positive = values > 0
    inverse = 1 / jnp.where(positive, values, 1.0)
    found = jnp.where(early, _series(values, moment, damping), settled)
    return jnp.where(ended, jnp.where(positive, inverse, jnp.inf), found)


def _critical(values: Float[Array, " n"], time: Float[Array, ""], middle: Number) -> Float[Array, " n"]:
    """Return phi near critical damping: (1 - c)/a, where c = exp(m t) (cosh(d t) - m sinh(d t)/d).

    Here, m = -damping/2 and d² = m² - a.
    """
    gap = middle**2 - values
    angle = jnp.sqrt(jnp.minimum(jnp.abs(gap), 0.01 * middle**2)) * time
    tiny = angle < 1e-4  # then the next term of the series, angle⁴/120, is below eps
    safe = jnp.where(tiny, 1.0, angle)
    decay, rise = jnp.exp(middle * time), jnp.exp(middle * time + angle)  # d <= |m|/10: neither overflows
    even = jnp.where(gap > 0, rise * (1 + jnp.exp(-2 * angle)) / 2, decay * jnp.cos(angle))
    odd = jnp.where(gap > 0, -rise * jnp.expm1(-2 * safe) / 2, decay * jnp.sin(safe)) / safe
    odd = jnp.where(tiny, decay * (1 + jnp.sign(gap) * angle**2 / 6), odd)
    return (1 - even + middle * time * odd) / jnp.where(values > 0, values, 1.0)


def _series(values: Float[Array, " n"], time: Float[Array, ""], damping: Number) -> Float[Array, " n"]:
    """Return the power series of phi in time: (j + 2)(j + 1) c_{j+2} = -damping (j + 1) c_{j+1} - a c_j, c_2 = 1/2."""
    before, now = jnp.zeros_like(values), 0.5 * time**2 * jnp.ones_like(values)  # terms, with their powers of t
    total = now
    for j in range(1, _SERIES):
        after = -(damping * time * (j + 1) * now + values * time**2 * before) / ((j + 2) * (j + 1))
        before, now, total = now, after, total + after
    return total
