"""Upper and lower bounds for approximation in the space of the softmax kernel on the sphere.

Consider functions on the unit sphere of R^d with squared norm at most R in the space of K(x, y) = <x, y> exp(sigma² <x,
y>). This theory describes dist(R), their least L2 distance from a given function f. The eigenvalues kappa_q of K, for
harmonics of degree q, fall like exp(-q log q). So a function in the ball can match f up to the degree k(R) = (1 +
o(1)) log R / log log R. If the part of f beyond k has the norm c k^(-a), dist(R) is near c (log R / log log R)^(-a).
This is slower than any power of R. The theory assumes uniform inputs. It does not explain other distributions of
inputs.

Let tail_k² = sum_(q > k) |f_q|² for the parts f_q of f. The projection on degrees up to k has the squared norm sum_(q
<= k) |f_q|²/kappa_q and the distance tail_k from f. Any g of squared norm R has |g_(>k)|² <= R max_(q > k) kappa_q,
where g_(>k) is the part of g of degree above k.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.sphere_kernels import log_coefficients

ABOUT = {"tool": "spectral theory", "architecture": "dense network", "object": "function class"}

_DEGREES = 1024  # beyond them lies a thousandth of the squared tail at degree 128


class KinkedFunction(eqx.Module):
    """A function on the unit circle, given by its parts, and a ball of the kernel <x, y> exp(sigma² <x, y>). The part
    of degree q has the frequency q.

    Args:
        power: the squared L2 norms |f_q|² of the parts of degree q = 0, 1, ..., which sum to 1.
        log_kappa: the logarithms of the kernel's eigenvalues.
        log_radius: log R, the logarithm of the squared radius of the ball.
    """

    power: Float[Array, " q"]
    log_kappa: Float[Array, " q"]
    log_radius: Float[Array, ""]


class KinkedFunctions(Population[KinkedFunction]):
    """Random sums of |cos(theta - phi_j)|, and balls of squared radius R = |f|²/kappa_k for one degree k.

    Args:
        kinks: the number of terms |cos(theta - phi_j)| of a sum.
        least: the smallest allowed setting of sigma.
    """

    kinks: int = 3
    least: float = 0.3

    def settings(self) -> Space:
        return Space(
            k=Integer(16, 8, 128, "degree k that defines the radius of the ball", step=2),
            sigma=Real(0.6, self.least, 1.0, "largest standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KinkedFunction:
        """Draw uniform phases, normal weights, and a sigma between 1/2 and 1 times the setting."""
        drawn = jax.random.uniform(key, (2 * self.kinks + 1,))
        q = np.arange(_DEGREES + 1.0)
        kink = np.zeros(len(q))
        kink[::2] = 2 * (2 / np.pi) ** 2 / (q[::2] ** 2 - 1) ** 2
        kink[0] /= 2
        phases, weights = 2 * jnp.pi * drawn[: self.kinks], jax.scipy.stats.norm.ppf(drawn[self.kinks : -1])
        power = kink * jnp.abs(jnp.exp(1j * q[:, None] * phases) @ weights) ** 2
        log_kappa = log_coefficients(setting["sigma"] * (1 + drawn[-1]) / 2, 2, _DEGREES)
        return KinkedFunction(power / power.sum(), log_kappa, -log_kappa[setting["k"]])

    def hypotheses(self, problem: KinkedFunction) -> list[Hypothesis]:
        rise = jnp.diff(problem.log_kappa)[2:].max()
        return [
            Hypothesis("eigenvalues fall with the degree", rise, "<", 0.0, "the next degrees then determine the error")
        ]


_SOURCE = Source("gu2024softmax", "Theorem G.4", note="a two-sided bound on the circle, which is not in the source")
_CONTROLS = "the distance of a function from a ball of the softmax kernel's space"
_OPEN = "inputs of another distribution, and denoisers that are as smooth as the kernel"
_STEPS = 70
_LOWEST, _HIGHEST = -2e4, 50.0  # of the logarithm of the multiplier


def tails(problem: KinkedFunction) -> Float[Array, " q"]:
    """Return tail_(k-1) for k = 0, 1, ..., which is the norm of the parts of degree k and above.

    Args:
        problem: a function, given by the norms of its parts.
    """
    return jnp.sqrt(jnp.cumsum(problem.power[::-1])[::-1])


def distance_of_ball(problem: KinkedFunction, log_radius: Float[Array, ""]) -> Float[Array, ""]:
    """Return min |f - g| over |g|_H² <= R. The minimiser has g_q = kappa_q f_q / (kappa_q + rho), and bisection finds
    rho.

    Args:
        problem: a function and the kernel's eigenvalues.
        log_radius: the logarithm of R.
    """
    log_power = jnp.log(problem.power)

    def halve(_, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        filter_ = problem.log_kappa - 2 * jnp.logaddexp(problem.log_kappa, middle)
        inside = jax.scipy.special.logsumexp(log_power + filter_) <= log_radius
        return jnp.where(inside, ends[0], middle), jnp.where(inside, middle, ends[1])

    _, rho = jax.lax.fori_loop(0, _STEPS, halve, (jnp.asarray(_LOWEST), jnp.asarray(_HIGHEST)))
    residual = log_power + 2 * (rho - jnp.logaddexp(problem.log_kappa, rho))
    return jnp.exp(jax.scipy.special.logsumexp(residual) / 2)


class DistanceFromAbove(Claim[KinkedFunction]):
    """Let f be a function on the unit sphere, and let f_q be its part of degree q, the projection of f on the spherical
    harmonics of degree q. Let kappa_q > 0 be the eigenvalue of the softmax kernel K(x, y) = <x, y> exp(sigma² <x, y>)
    for these harmonics. Some g of squared norm at most R in the space of K has

        |f - g| <= min over k with sum_(q <= k) |f_q|²/kappa_q <= R of (sum_(q > k) |f_q|²)^(1/2)

    in L2. This g is the projection of f on degrees up to k, for the minimising k.

    The test uses random functions f = sum_j a_j |cos(theta - phi_j)| with three terms on the circle. The angles phi_j
    are uniform, the weights a_j are normal, and f is scaled to the norm 1. The largest squared norm is R = |f|²/kappa_m
    for one even degree m. (The setting `k` of the test is this m.)
    """

    title = "An upper bound on the distance of a function from a ball of the softmax kernel's space"
    source = _SOURCE
    stated = Kind.OWN
    population = KinkedFunctions()
    relation = AtMost()
    control = Control("three quarters of the bound", lambda bound, problem: 0.75 * bound)
    controls = _CONTROLS
    unexplained = _OPEN
    trivial = 1.0  # |f|, at g = 0

    def predict(self, problem: KinkedFunction) -> Array:
        # |f_q|²/kappa_q over R; exponents are cut if the sum is far above 1 already
        spent = jnp.log(problem.power) - problem.log_kappa - problem.log_radius
        needed = jnp.cumsum(jnp.exp(jnp.minimum(spent, 50.0)))
        left = jnp.append(tails(problem)[1:], 0.0)
        return jnp.where(needed <= 1.0, left, 1.0).min()

    def measure(self, problem: KinkedFunction, key: Key[Array, ""]) -> Array:
        """Return min |f - g| over all g of squared norm at most R."""
        return distance_of_ball(problem, problem.log_radius)


class DistanceFromBelow(Claim[KinkedFunction]):
    """Let f be a function on the unit sphere, and let f_q be its part of degree q, the projection of f on the spherical
    harmonics of degree q. Let kappa_q > 0 be the eigenvalue of the softmax kernel K(x, y) = <x, y> exp(sigma² <x, y>)
    for these harmonics. Every g of squared norm at most R in the space of K has

        |f - g| >= max over k of (sum_(q > k) |f_q|²)^(1/2) - (R max_(q > k) kappa_q)^(1/2)

    in L2, because the parts of g of degree above k are small.

    The test uses random functions f = sum_j a_j |cos(theta - phi_j)| with three terms on the circle. The angles phi_j
    are uniform, the weights a_j are normal, and f is scaled to the norm 1. The largest squared norm is R = |f|²/kappa_m
    for one even degree m. (The setting `k` of the test is this m.)
    """

    title = "A lower bound on the distance of a function from a ball of the softmax kernel's space"
    source = _SOURCE
    stated = Kind.OWN
    population = KinkedFunctions()
    relation = AtLeast()
    control = Control("four thirds of the bound", lambda bound, problem: bound / 0.75)
    controls = _CONTROLS
    unexplained = _OPEN
    trivial = 0.0  # a distance is not negative

    def predict(self, problem: KinkedFunction) -> Array:
        largest = jax.lax.cummax(problem.log_kappa, reverse=True)
        held = jnp.exp(jnp.minimum((problem.log_radius + largest) / 2, 50.0))
        return jnp.maximum(tails(problem) - held, 0.0).max()

    def measure(self, problem: KinkedFunction, key: Key[Array, ""]) -> Array:
        """Return min |f - g| over all g of squared norm at most R."""
        return distance_of_ball(problem, problem.log_radius)


class DistanceByDegree(Claim[KinkedFunction]):
    """Let f = |cos(theta - phi)| on the circle, for a fixed angle phi. Let kappa_k be the eigenvalue of the softmax
    kernel <x, y> exp(sigma² <x, y>) at an even degree k. Consider the functions in the space of this kernel with
    squared norm at most R = |f|²/kappa_k. The smallest L2 distance of f from these functions falls like

        (k + 3)^(-3/2),     k = (1 + o(1)) log R / log log R.

    So the distance of a Lipschitz function from the functions of squared norm at most R can fall as slowly as a power
    of log R. Theorem G.4 of the source states a power of R. The test uses sigma >= 0.3 and k from 8 on. For sigma below
    0.3, the rate holds only from about k = 2/sigma² on.
    """

    title = "The distance of a function with a kink from a softmax kernel ball of radius R falls like a power of log R"
    source = _SOURCE
    stated = Kind.OWN
    population = KinkedFunctions(kinks=1, least=0.6)
    # The tail beyond k is 2/(pi sqrt(3)) (k + 1)^(-3/2). If f has no part of degree k + 1, the ball reaches half of the
    # way to the next degree. Then k + 3 is right to about 1 % from k = 8 on.
    relation = Rate("k + 3", (11.0, 19.0, 35.0, 67.0, 131.0), margin=0.03, resolution=0.05)
    control = Control("the distance falls like 1/(k + 3)", lambda exponent, problem: exponent + 0.5)
    controls = _CONTROLS
    unexplained = _OPEN
    trials = 32
    predict = -1.5

    def measure_at(self, problem: KinkedFunction, key: Key[Array, ""], rung: float) -> Array:
        return distance_of_ball(problem, -problem.log_kappa[int(rung) - 3])
