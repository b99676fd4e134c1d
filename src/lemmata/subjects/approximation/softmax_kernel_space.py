"""Functions of bounded norm in the space of the softmax kernel, and their distance from a denoiser.

This theory describes the least mean square distance of a target F* from the ball of squared norm R in the space of the
kernel <u, v> exp(sigma² <u, v>). This kernel is the tangent kernel of each output of a wide softmax network. The kernel
is an entire function. So up to a small remainder, a function of norm sqrt(R) is a polynomial of a degree near log R.
Therefore the distance from a target with a kink falls like a power of log R, not of R. The theory assumes inputs in the
unit ball. It does not explain targets that are as smooth as the kernel.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    Claim,
    Control,
    Hypothesis,
    Passage,
    Population,
    Rate,
    Reading,
    Real,
    Source,
    Space,
    Status,
)
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.schedules import Schedule, sampled_schedule
from lemmata.engine.problems.targets import Cube

ABOUT = {"tool": "reproducing kernels", "architecture": "dense network", "object": "function class"}

_TIMES, _PLACES, _REACH = 16, 48, 3.0


class Approximation(eqx.Module):
    """A target F* at the points of a quadrature rule for (t, x(t)), with t uniform on [0, 1] and |x(t)| <= 3.

    Args:
        inputs: the points u = (t, x), scaled into the unit ball.
        weights: the probabilities of the points.
        target: the values of F* at the points.
        sigma: the parameter sigma of the kernel.
        schedule: the noise schedule g of the diffusion x(t).
    """

    inputs: Float[Array, "n 2"]
    weights: Float[Array, " n"]
    target: Float[Array, " n"]
    sigma: Float[Array, ""]
    schedule: Schedule


@jax.jit
def _on_grid(schedule: Schedule) -> tuple[Array, Array, Array]:
    """Return points (t, x), their probabilities and the denoiser E[x(0) | x(t) = x] for data uniform on [-1, 1]."""
    nodes, weights = (jnp.asarray(a) for a in np.polynomial.legendre.leggauss(_TIMES))
    places, place_weights = (jnp.asarray(a) for a in np.polynomial.legendre.leggauss(_PLACES))
    # t = s² with s uniform, because the kink at t = 0 matters.
    times = jnp.repeat(((nodes + 1) / 2) ** 2, _PLACES)
    x = jnp.tile(_REACH * places, _TIMES)[:, None]
    cube = Cube(1)
    density = jnp.exp(jax.vmap(lambda t, x: cube.log_density(schedule, t, x))(times, x))
    mass = jnp.repeat(weights * (nodes + 1), _PLACES) * jnp.tile(place_weights, _TIMES) * density
    target = jax.vmap(lambda t, x: cube.denoiser(schedule, t, x))(times, x)[:, 0]
    return jnp.concatenate([times[:, None], x], axis=1), mass / mass.sum(), target


class DenoisersOnGrids(Population[Approximation]):
    """The denoiser E[x(0) | x(t) = x] of data uniform on [-1, 1], at inputs (t, x) scaled into the unit ball."""

    settings = Space(sigma=Real(1.0, 0.3, 1.0, "standard deviation of the hidden weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Approximation:
        schedule = sampled_schedule(key)
        points, weights, target = _on_grid(schedule)
        scale = 1 / math.sqrt(1 + _REACH**2)
        return Approximation(scale * points, weights, target, jnp.asarray(setting["sigma"], float), schedule)

    def hypotheses(self, problem: Approximation) -> list[Hypothesis]:
        return [
            in_unit_ball(problem.inputs, "inputs", "Assumption 6.1 of the source"),
            Hypothesis(
                "labels lie in [-1, 1]", jnp.abs(problem.target).max(), "<=", 1.0, "Assumption 6.1 of the source"
            ),
            *problem.schedule.hypotheses(),
            Hypothesis(
                "F* is Lipschitz in x at all times", Cube(1).lipschitz, "<=", 2**0.5, "Assumption 6.4 of the source"
            ),
        ]


_DEGREE = 20
_RADII = (1e4, 1e6, 1e8, 1e10, 1e12)


def kernel_features(inputs: Float[np.ndarray, "n 2"], sigma: float, degree: int) -> Float[np.ndarray, "n p"]:
    """Return monomials whose products at u and at v sum to <u, v> exp(sigma² <u, v>) up to `degree`.

    The monomials at u are u_1^(k-j) u_2^j with the factor (binom(k, j) sigma^(2(k-1)) / (k-1)!)^(1/2), for 1 <= k <=
    degree and 0 <= j <= k. A sum of these monomials with coefficients c has the squared norm |c|².
    """
    columns = []
    for k in range(1, degree + 1):
        for j in range(k + 1):
            factor = math.sqrt(math.comb(k, j) / math.factorial(k - 1)) * sigma ** (k - 1)
            columns.append(factor * inputs[:, 0] ** (k - j) * inputs[:, 1] ** j)
    return np.stack(columns, axis=1)


def ball_distances(
    features: Float[np.ndarray, "n p"],
    weights: Float[np.ndarray, " n"],
    target: Float[np.ndarray, " n"],
    radii: tuple[float, ...],
) -> Float[np.ndarray, " r"]:
    """Return the least (sum_i w_i (f(u_i) - target_i)²)^(1/2) over f = features @ c with |c|² <= R, for each R.

    The multiplier of the constraint is found by bisection, using the singular values of the features. A Gram matrix
    would lose the small singular values to rounding, so it is never computed.

    Args:
        features: one row for each point.
        weights: the probabilities of the points.
        target: the values of the function at the points.
        radii: the values of R, the squared radii of the balls.
    """
    root = np.sqrt(weights)
    left, values, _ = np.linalg.svd(features * root[:, None], full_matrices=False)
    modes = left.T @ (root * target)
    outside = max(float(np.sum((root * target) ** 2) - np.sum(modes**2)), 0.0)

    def distance(radius: float) -> float:
        low, high = math.log(1e-36), math.log(1e6)
        for _ in range(80):
            middle = (low + high) / 2
            norm = np.sum((values * modes / (values**2 + np.exp(middle))) ** 2)
            low, high = (low, middle) if norm <= radius else (middle, high)
        return math.sqrt(outside + float(np.sum((np.exp(high) * modes / (values**2 + np.exp(high))) ** 2)))

    return np.asarray([distance(radius) for radius in radii])


def polynomial_distances(
    inputs: Float[np.ndarray, "n 2"], weights: Float[np.ndarray, " n"], target: Float[np.ndarray, " n"], degree: int
) -> Float[np.ndarray, " k"]:
    """Return the distance of the target from polynomials of total degree at most k, for k = 1, ..., degree.

    Products of Legendre polynomials, in the order of their degree, are orthonormalised under the weights. Then each
    orthonormal column removes its share of the target.
    """
    scaled = 2 * (inputs - inputs.min(axis=0)) / np.ptp(inputs, axis=0) - 1
    rows = [np.polynomial.legendre.legvander(scaled[:, a], degree) for a in (0, 1)]
    pairs = [(k - j, j) for k in range(degree + 1) for j in range(k + 1)]
    root = np.sqrt(weights)
    basis = np.linalg.qr(np.stack([root * rows[0][:, a] * rows[1][:, b] for a, b in pairs], axis=1))[0]
    shares = np.cumsum((basis.T @ (root * target)) ** 2)
    last = np.cumsum(np.arange(2, degree + 2))  # index of the last product of degree k = 1, 2, ...
    return np.sqrt(np.maximum(np.sum(weights * target**2) - shares[last], 0.0))


def tail_kernel(
    inputs: Float[np.ndarray, "n 2"], weights: Float[np.ndarray, " n"], sigma: float, degree: int
) -> Float[np.ndarray, " k"]:
    """Return the mean of K_{>k}(u, u) = sum_{j > k} sigma^(2(j-1)) |u|^(2j) / (j-1)! for k = 1, ..., degree."""
    squared, orders = np.sum(inputs**2, axis=1), np.arange(1, degree + 60)
    logs = [2 * (j - 1) * math.log(sigma) - math.lgamma(j) for j in orders]
    terms = np.asarray([math.exp(log) * np.sum(weights * squared**j) for log, j in zip(logs, orders, strict=True)])
    return np.cumsum(terms[::-1])[::-1][1 : degree + 1]


def _arrays(problem: Approximation) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    return np.asarray(problem.inputs), np.asarray(problem.weights), np.asarray(problem.target), float(problem.sigma)


def _features_are_enough(problem: Approximation) -> list[Hypothesis]:
    """Require that functions of the largest norm have almost no part above the degree of the features."""
    inputs, weights, _, sigma = _arrays(problem)
    tail = _RADII[-1] * tail_kernel(inputs, weights, sigma, _DEGREE)[-1]
    return [
        Hypothesis("terms that are left out are small", tail, "<=", 1e-8, "the features have degrees up to 20 only")
    ]


def _distances(problem: Approximation) -> Float[np.ndarray, " r"]:
    """Return the least distance of the target from the ball of squared norm R, for each R."""
    inputs, weights, target, sigma = _arrays(problem)
    return ball_distances(kernel_features(inputs, sigma, _DEGREE), weights, target, _RADII)


class ApproximationAsPrinted(Claim[Approximation]):
    """The source makes the following statement. Let F* be a target with d coordinates that is Lipschitz in its input x.
    Let R_H be larger than some constant. Consider the space of functions that belongs to the tangent kernel of a
    softmax network. In this space, some function F_H with squared norm |F_H|² <= d R_H satisfies E |F_H - F*|² <= d
    A(R_H)². Here, with a scale Lambda and a constant c_1,

        A(R_H) = c_1 Lambda rho^(-2/d) log(rho),   rho = sqrt(R_H) / Lambda.

    At d = 1, with Lambda = 1 and c_1 left free, this means that the least squared distance divided by log(rho)² falls
    at least as R_H^(-2). The source takes this theorem from a work on kernels of ReLU networks, whose functions have
    kinks. But the space of the softmax kernel contains only entire functions. The test takes as F* the denoiser of data
    that are uniform on [-1, 1]. Its measured rate is far slower than R_H^(-2). The measured rate is also slower than
    R_H^(-1/2), which would be the printed rate if d were the number of inputs, 2, and if A stood in place of A².
    """

    title = "As printed, the distance of a Lipschitz target from a softmax kernel ball falls like a power of its radius"
    source = Source("gu2024softmax", "Theorem G.4", note="as printed")
    population = DenoisersOnGrids()
    relation = Rate("R", _RADII, upper=True)
    control = Control("the distance falls as R^(-5/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the distance of the denoiser from functions of bounded norm"
    unexplained = "for which kernels the rate was proved"
    reading = "c_1 is any constant, and Lambda = 1"
    passage = Passage(
        "002_545c803f47cecb7a.txt",
        106722,
        107243,
        "9e65c3b68b6b1364",
        says="the space of the network's tangent kernel has functions of squared norm d R within d A(R)² of the target",
        right_if="the kernel is that of a ReLU network, as in the work that the theorem is taken from",
        formula="(1/T) int_0^T E |F_H(t, x(t)) - F*(t, x(t))|² dt <= d A²(R_H)",
    )
    readings = (
        Reading("d is the number of coordinates of the data, which is 1: A² falls as R^-2", "refuted"),
        Reading("d is the number of inputs t and x, which is 2: A² falls as R^-1", "refuted"),
        Reading(
            "d is the number of inputs, which is 2, and A stands for its own square: A falls as R^(-1/2)", "refuted"
        ),
    )
    expected = Status.REFUTED
    traced = False
    trials = 16

    def predict(self, problem: Approximation) -> Array:
        """Return the exponent -2/d for d = 1."""
        return -2 * jnp.ones(())

    def measure(self, problem: Approximation, key: Key[Array, ""]) -> Array:
        """Return the least squared distance at each R, divided by log(sqrt(R))²."""
        return jnp.asarray(np.asarray(_distances(problem)) ** 2 / np.log(np.sqrt(np.asarray(_RADII))) ** 2)

    def hypotheses(self, problem: Approximation) -> list[Hypothesis]:
        return _features_are_enough(problem)


class ApproximationIsPolynomial(Claim[Approximation]):
    """Let K(u, v) = <u, v> exp(sigma² <u, v>) be the softmax kernel of inputs u and v, and let K_{>k} be its terms of
    degree above k. Let E be the mean over a distribution of inputs u. Let f be a function in the space of K, with
    squared norm at most R in this space. The root mean square distance of f from a target F* is at least

        max_k { dist(F*, polynomials of degree k) - sqrt(R E K_{>k}(u, u)) },

    since the part of f of degree above k is at most sqrt(R K_{>k}(u, u)) at u. The term of K of degree k falls like
    1/k!, so the maximising k grows like log R / log log R. For some targets, such as a clipped linear function, the
    distance from polynomials falls only like a power of their degree. Then the distance of f from the target falls only
    like a power of log R. So no function A(R) that falls as a power of R is an upper bound on this distance. The test
    uses the denoiser of data uniform on [-1, 1], with u = (t, x) scaled into the unit ball and R from 1e4 to 1e12.
    """

    title = "Polynomials give a lower bound on the distance of a denoiser from a ball of the softmax kernel's space"
    source = Source("gu2024softmax", "Theorem G.4", note="corrected")
    population = DenoisersOnGrids()
    relation = AtLeast(resolution=0.25)
    control = Control(
        "four times the bound",
        lambda bound, problem: 4 * bound,
        loose="the larger R is, the farther the least distance lies above the bound: at 1e12 by more than a factor "
        "of 4",
    )
    controls = "the distance of the denoiser from functions of bounded norm"
    unexplained = "the constant, because the least distance is above the bound"
    corrects = ApproximationAsPrinted
    traced = False

    def predict(self, problem: Approximation) -> Array:
        """Return the lower bound on the distance for each R."""
        inputs, weights, target, sigma = _arrays(problem)
        away = polynomial_distances(inputs, weights, target, _DEGREE)
        tails = tail_kernel(inputs, weights, sigma, _DEGREE)
        return jnp.asarray([np.max(away - np.sqrt(radius * tails), initial=0.0) for radius in _RADII])

    def measure(self, problem: Approximation, key: Key[Array, ""]) -> Array:
        """Return the least distance of the target from the ball of squared norm R, for each R."""
        return jnp.asarray(_distances(problem))

    def trivial(self, problem: Approximation) -> Array:
        """Return 0, because distances are not negative."""
        return jnp.zeros(len(_RADII))

    def hypotheses(self, problem: Approximation) -> list[Hypothesis]:
        return _features_are_enough(problem)
