"""The Matérn function M_nu of any order nu > 0, from modified Bessel functions of the second kind K_nu.

    M_nu(s) = 2^(1 - nu) / Gamma(nu) s^nu K_nu(s),    M_nu(0) = 1.

Write nu = mu + n with |mu| <= 1/2. Below s = 2, K_mu and K_(mu+1) are computed by Temme's series (1975). Above s = 2,
they are sqrt(pi / (2 s)) exp(-s) times Chebyshev series in 4/s - 1. M of higher orders follows from a recursion that
uses only M of positive order,

    M_(a+1)(s) = M_a(s) + s² / (4 a (a - 1)) M_(a-1)(s).

All terms of the recursion are positive, so no digits cancel, and no term overflows. From nu = 32 on, Debye's uniform
expansion is used (DLMF 10.41.4). The cost of this expansion does not depend on nu. The order nu is a Python number, so
numbers that depend only on nu are computed once, by NumPy and SciPy.
"""

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_DEBYE = 32.0  # the order from which the expansion of eleven terms is exact to rounding
_SPLIT = 2.0  # the argument below which the power series are short
_POWERS, _TERMS, _DEBYE_TERMS = 14, 36, 11
_SINGLE_POWERS = 8  # terms of the power series in float32: the next term is below 1 / (9!)² = 8e-12
_FAR = 1e6  # larger t are replaced by this t, where s = 1000, and exp(-1000) is 0 in every precision


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def matern_function(nu: float, t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The Matérn function M_nu(s) as a function of t = s², for a number nu > 0. For nu = 0, it is K_0(s).

    M_nu(s) is exp(-s), (1 + s) exp(-s) and (1 + s + s²/3) exp(-s) for nu = 1/2, 3/2 and 5/2. The derivative of M_nu
    with respect to t is -M_(nu-1) / (4 (nu - 1)) for nu > 1, -K_0 / 2 for nu = 1, and for nu < 1

        -4^(-nu) Gamma(1 - nu) / Gamma(nu) t^(nu-1) M_(1-nu).

    For nu <= 1 this derivative is infinite at t = 0, and is defined as 0 there. If t is a squared distance of points,
    the derivative with respect to the points is therefore 0 at equal points. For nu > 1/2, this is the gradient, and
    for nu <= 1/2, it is a subgradient at the kink.

    Args:
        nu: the order, at least 0.
        t: squares, at least 0.
    """
    return _value(nu, t)


@matern_function.defjvp
def _matern_function_jvp(nu, primals, tangents):
    (t,), (dt,) = primals, tangents
    value = matern_function(nu, t)
    if nu > 1:
        return value, -matern_function(nu - 1, t) / (4 * (nu - 1)) * dt
    apart = jnp.where(t > 0, t, 1.0)
    if nu == 0.5:
        slope = -value / (2 * jnp.sqrt(apart))
    elif nu == 1:
        slope = -matern_function(0.0, apart) / 2
    elif nu == 0:
        slope = -matern_function(1.0, apart) / (2 * apart)
    else:
        factor = 4**-nu * math.gamma(1 - nu) * nu / math.gamma(1 + nu)
        slope = -factor * apart ** (nu - 1) * matern_function(1 - nu, apart)
    return value, jnp.where(t > 0, slope, 0.0) * dt


@functools.partial(jax.jit, static_argnums=0)
def _value(nu: float, t: Array) -> Array:
    if nu >= _DEBYE:
        return _debye(nu, t)
    t = jnp.minimum(t, _FAR)
    s = jnp.sqrt(t)
    if nu % 1 == 0.5:
        return _half_integer(nu, t, s)
    whole = round(nu)
    near = s <= _SPLIT
    # Both formulas are evaluated for all arguments. For each formula, arguments outside its range, and 0, are replaced
    # by an argument at which the formula is finite.
    series = _near(nu - whole, whole, jnp.where(near & (t > 0), s, 1.0))
    value = jnp.where(near, series, _far(nu - whole, whole, jnp.where(near, _SPLIT, s)))
    return jnp.where(t == 0, 1.0, value)


def _half_integer(nu: float, t: Array, s: Array) -> Array:
    """M_nu(s) of a half-integer order nu, which is a polynomial in s times exp(-s)."""
    if nu <= 2.5:
        return {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + t / 3}[nu] * jnp.exp(-s)
    # exp(-s/2) is multiplied now and again at the end, so that large powers of s neither overflow nor underflow
    half = jnp.exp(-s / 2)
    return _upwards(1.5, round(nu - 1.5), t / 4, half, (1.0 + s) * half) * half


def _near(mu: float, whole: int, s: Array) -> Array:
    """M of the order mu + whole below 32 by Temme's series, for 0 < s <= 2."""
    # In Temme's notation, K_mu = sum of c_k f_k and K_(mu+1) = (2/s) sum of c_k (p_k - k f_k). All sequences are
    # multiplied by (s/2)^mu, so that they neither overflow nor underflow.
    first, second = _temme_constants(mu)
    logarithm = jnp.log(_SPLIT / s)
    power = jnp.exp(-2 * mu * logarithm)
    sine = -jnp.expm1(-2 * mu * logarithm) / (2 * mu) if mu else logarithm
    p, q = math.gamma(1 + mu) / 2, math.gamma(1 - mu) / 2 * power
    f = (first * (1 + power) / 2 + second * sine) / float(np.sinc(mu))
    square, c = s**2 / 4, jnp.ones_like(s)
    own, above = f, jnp.zeros_like(s)
    for k in range(1, (_POWERS if s.dtype == jnp.float64 else _SINGLE_POWERS) + 1):
        # The code multiplies by reciprocals, which are numbers, because a division takes several times as long.
        f = (k * f + p + q) * (1 / (k**2 - mu**2))
        p, q, c = p * (1 / (k - mu)), q * (1 / (k + mu)), c * (square * (1 / k))
        own = own + c * f
        above = above + c * (p - k * f)
    if whole == 0:
        # `own` is (s/2)^mu K_mu. Its product with 2 / Gamma(mu), which is 2 mu / Gamma(1 + mu), is M. For mu = 0, `own`
        # is K_0.
        return own * (2 * mu / math.gamma(1 + mu)) if mu else own
    scale = 2 / math.gamma(1 + mu)
    value = 1 + scale * above
    return _from_two(mu, whole, square, value, value + scale / (1 + mu) * square * own)


def _far(mu: float, whole: int, s: Array) -> Array:
    """M of the order mu + whole below 32 by Chebyshev series, for s >= 2."""
    # exp(-s/2) is multiplied now and again at the end, so that large orders do not underflow in between
    half = jnp.exp(-s / 2)
    at = 2 * _SPLIT / s - 1
    own = _clenshaw(_chebyshev(mu), at) * half
    scale = math.sqrt(math.pi) / math.gamma(1 + mu)
    if whole == 0:
        return (scale * mu * _power(s / 2, mu - 0.5) if mu else jnp.sqrt(math.pi / (2 * s))) * own * half
    above = _clenshaw(_chebyshev(mu + 1), at) * half
    power = scale * _power(s / 2, mu + 0.5)
    value = power * above
    return _from_two(mu, whole, s**2 / 4, value, value + power / (1 + mu) * (s / 2) * own) * half


def _power(base: Array, exponent: float) -> Array:
    """A positive base raised to an exponent in [-1, 1], with a few rounding errors if log(base) is of order 1."""
    return jnp.exp(exponent * jnp.log(base))  # on a processor, this takes a quarter of the time of the general power


def _from_two(mu: float, whole: int, square: Array, first: Array, second: Array) -> Array:
    """M_(mu+whole) from `first` = M_(mu+1) and `second` = M_(mu+2), with square = s²/4."""
    return first if whole == 1 else _upwards(mu + 2, whole - 2, square, first, second)


def _upwards(a: float, count: int, square: Array, before: Array, value: Array) -> Array:
    """M_(a+count) from `before` = M_(a-1) and `value` = M_a, with square = s²/4."""
    for step in range(count):
        before, value = value, value + square * (before / ((a + step) * (a + step - 1)))
    return value


def _debye(nu: float, t: Array) -> Array:
    """M of an order nu of at least 32 by Debye's uniform expansion, normalised to be 1 at t = 0."""
    square = jnp.minimum(t / nu / nu, _FAR)
    root = jnp.sqrt(1 + square)
    excess = square / (1 + root)  # root - 1, without cancellation
    p = 1 / root
    series = jnp.zeros_like(t)
    for coefficients in reversed(_debye_terms(nu)):
        series = series + jnp.polyval(jnp.asarray(coefficients, t.dtype), p)
    return jnp.sqrt(p) * series * jnp.exp(-nu * (excess - jnp.log1p(excess / 2)))


def _clenshaw(coefficients: tuple[float, ...], at: Array) -> Array:
    ahead, value = jnp.zeros_like(at), jnp.zeros_like(at)
    # The sum of the dropped coefficients is below eps / 16 times the first coefficient.
    dropped = np.cumsum(np.abs(coefficients[::-1]))[::-1] < float(jnp.finfo(at.dtype).eps) / 16 * abs(coefficients[0])
    for coefficient in reversed(coefficients[1 : len(coefficients) - int(np.count_nonzero(dropped))]):
        ahead, value = value, 2 * at * value - ahead + coefficient
    return at * value - ahead + coefficients[0]


@functools.cache
def _chebyshev(order: float) -> tuple[float, ...]:
    """Chebyshev coefficients of sqrt(2 s / pi) exp(s) K_order(s) in 4/s - 1 on [-1, 1], for s from 2 to infinity."""
    from scipy.special import kve  # slow to import

    angles = math.pi * (np.arange(4 * _TERMS) + 0.5) / (4 * _TERMS)
    s = 2 * _SPLIT / (1 + np.cos(angles))
    values = np.sqrt(2 * s / math.pi) * kve(order, s)
    found = [2 * float(np.mean(values * np.cos(k * angles))) for k in range(_TERMS)]
    return (found[0] / 2, *found[1:])


@functools.cache
def _temme_constants(mu: float) -> tuple[float, float]:
    """(1/Gamma(1 - mu) - 1/Gamma(1 + mu)) / (2 mu), without cancellation, and half the sum of the two reciprocals."""
    from scipy.special import zeta

    # 1/Gamma(1 + x) = sum of d_k x^k. Its logarithmic derivative is -psi(1 + x), that is, Euler's constant minus the
    # sum over j >= 2 of (-1)^j zeta(j) x^(j-1).
    d = [1.0]
    for k in range(1, 30):
        tail = sum((-1) ** j * float(zeta(j)) * d[k - j] for j in range(2, k + 1))
        d.append((np.euler_gamma * d[k - 1] - tail) / k)
    odd = -sum(d[k] * mu ** (k - 1) for k in range(1, 30, 2))
    return float(odd), float(sum(d[k] * mu**k for k in range(0, 30, 2)))


@functools.cache
def _debye_polynomials() -> tuple[tuple[Fraction, ...], ...]:
    """The polynomials u_k(p) of the expansion, lowest power first (DLMF 10.41.9)."""
    u: tuple[Fraction, ...] = (Fraction(1),)
    found: list[tuple[Fraction, ...]] = [u]
    for _ in range(1, _DEBYE_TERMS):
        following = [Fraction(0)] * (len(u) + 3)
        for power, c in enumerate(u):
            following[power + 1] += c * (Fraction(power, 2) + Fraction(1, 8 * (power + 1)))
            following[power + 3] -= c * (Fraction(power, 2) + Fraction(5, 8 * (power + 3)))
        u = tuple(following)
        found.append(u)
    return tuple(found)


@functools.cache
def _debye_terms(nu: float) -> tuple[tuple[float, ...], ...]:
    """Coefficients of the sum of (-1)^k u_k(p) / nu^k, divided by its value at p = 1, highest power first."""
    polynomials = _debye_polynomials()
    signed = [[(-1) ** k * c / Fraction(nu) ** k for c in u] for k, u in enumerate(polynomials)]
    whole = sum(c for u in signed for c in u)
    return tuple(tuple(float(c / whole) for c in reversed(u)) for u in signed)
