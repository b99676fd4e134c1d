"""Shallow networks that hide a parity: their output weights are the parity of the signs of their hidden weights.

This theory describes one network for each set S of r coordinates. It has one unit for each of the 2^r vectors of signs
on S. It assumes that the distribution of the inputs does not change if coordinates change their signs. Gaussian inputs
are an example. Different sets give orthogonal networks, so a correlational query correlates with only a few of these
networks. The theory does not explain learners that use more than correlations with the label.
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, signs
from lemmata.functions import cube
from lemmata.subjects.queries._parity_units import Unit, magnitude, parity_network

ABOUT = {"tool": "Fourier analysis", "architecture": "dense network", "object": "function class"}

_EVEN = Integer(4, 2, 8, "even size of the hidden set", step=2, corners=(2, 6))


class FlippedPoint(eqx.Module):
    """A point in r coordinates, signs that flip the coordinates, and a scale of the hidden weights; r is even."""

    x: Float[Array, " r"]
    z: Float[Array, " r"]
    scale: Float[Array, ""]
    c: Float[Array, " monomials"]

    def each(self, function: Callable[[slice, Unit], Array]) -> Float[Array, " 2"]:
        """Return a function's values for the ReLU on r coordinates and for the sigmoid on r - 1 coordinates."""
        return jnp.stack([function(slice(None), jax.nn.relu), function(slice(1, None), jax.nn.sigmoid)])


_POINTS = Drawn(FlippedPoint, r=_EVEN, x=normal("r"), z=signs("r"), scale=log_uniform(0.3, 3.0), c=normal(256))


class SignFlipsGiveParities(Claim[FlippedPoint]):
    """Let S be a set of r coordinates, and let x_S be these coordinates of x. The parity network g_S of S is the sum
    over w in {-1, 1}^r of

        chi(w) sigma(<w, x_S>/sqrt(r)),

    where sigma is an activation and chi(w) is the product of the entries of w. For signs z, let x o z be the product of
    x and z, entry by entry, and let chi_S(z) be the product of z over S. For every x and z,

        g_S(x o z) = chi_S(z) g_S(x).

    This holds for every activation sigma. The trials use the ReLU with even r and the sigmoid with odd r, for which g_S
    is not zero.
    """

    title = "Flipping signs of inputs multiplies a parity network by the parity of the flips"
    source = Source("emergence2026", "Figure 11.12", "Figure 11.10")
    population = _POINTS
    relation = Equal()
    control = Control("the parity network has the opposite sign", lambda value, problem: -value)
    controls = "how a parity network depends on the signs of its input"
    unexplained = "how a parity network depends on the lengths of the coordinates"

    def predict(self, problem: FlippedPoint) -> Array:
        return problem.each(
            lambda part, unit: jnp.prod(problem.z[part]) * parity_network(problem.x[part], unit, problem.scale)
        )

    def measure(self, problem: FlippedPoint, key: Key[Array, ""]) -> Array:
        flipped = problem.x * problem.z
        return problem.each(lambda part, unit: parity_network(flipped[part], unit, problem.scale))

    def condition(self, problem: FlippedPoint) -> Array:
        """Bound the rounding errors. 2^r terms cancel.

        For the ReLU, the terms cancel completely if one coordinate is larger than the sum of the others.
        """

        def one(part: slice, unit: Unit) -> Array:
            terms = magnitude(problem.x[part], unit, problem.scale)
            return terms / jnp.maximum(jnp.abs(parity_network(problem.x[part], unit, problem.scale)), 1e-15 * terms)

        return problem.each(one)


class LowDegreesCancel(Claim[FlippedPoint]):
    """Let S be a set of r coordinates, and let x_S be these coordinates of x. The parity network g_S(x) of S is the sum
    over w in {-1, 1}^r of chi(w) sigma(<w, x_S>/sqrt(r)). Here chi(w) is the product of the entries of w, and sigma is
    an activation. Let p = sum_A c_A x^A be a polynomial. The sum is over sets A of coordinates, and x^A is the product
    of x over A. Let x o z be the product of x and z, entry by entry. For every x, the mean over all signs z is

        E_z[g_S(x o z) p(x o z)] = c_S x^S g_S(x).

    So if x is Gaussian, g_S is orthogonal to all such polynomials of degree below r. A similar statement holds for a
    monomial p that contains powers of coordinates. The mean E_z[g_S(x o z) p(x o z)] can differ from 0 only if the
    coordinates with odd powers in p are exactly the coordinates in S.
    """

    title = "A parity network of r coordinates is orthogonal to all polynomials of degree below r"
    source = Source("emergence2026", "Figure 11.13")
    population = _POINTS
    relation = Equal(block=-1)
    control = Control(
        "the coefficient of the empty set counts as well",
        lambda value, problem: (
            value + problem.c[0] * problem.each(lambda part, unit: parity_network(problem.x[part], unit, problem.scale))
        ),
    )
    controls = "which correlations with polynomials see a parity network"
    unexplained = "polynomials of degree r and more"

    def predict(self, problem: FlippedPoint) -> Array:
        def one(part: slice, unit: Unit) -> Array:
            x = problem.x[part]
            return problem.c[2 ** len(x) - 1] * jnp.prod(x) * parity_network(x, unit, problem.scale)

        return problem.each(one)

    def measure(self, problem: FlippedPoint, key: Key[Array, ""]) -> Array:
        """Return the mean of g_S(x o z) p(x o z) over all 2^r signs z, for a polynomial p with all 2^r monomials."""
        return problem.each(lambda part, unit: self._terms(problem, part, unit).mean())

    def condition(self, problem: FlippedPoint) -> Array:
        """Bound the rounding errors. The terms of the mean cancel in part. Within each of these terms, the network's
        terms also cancel in part.
        """

        def one(part: slice, unit: Unit) -> Array:
            x = problem.x[part]
            largest = jnp.abs(problem.c[: 2 ** len(x)]) @ jnp.where(cube(len(x)) < 0, jnp.abs(x), 1.0).prod(axis=1)
            return largest * magnitude(x, unit, problem.scale)

        return problem.each(one).max() / jnp.abs(self.predict(problem)).max()

    def _terms(self, problem: FlippedPoint, part: slice, unit: Unit) -> Array:
        x = problem.x[part]
        sets = cube(len(x)) < 0
        flipped = x * cube(len(x))
        polynomial = jnp.where(sets, flipped[:, None, :], 1.0).prod(axis=2) @ problem.c[: len(sets)]
        return parity_network(flipped, unit, problem.scale) * polynomial


def _signed_sum(kernel: Callable[[float], Array], r: int) -> Array:
    """2^r sum_j (-1)^j binom(r, j) kernel(1 - 2 j/r)."""
    return 2.0**r * jnp.sum(jnp.stack([(-1) ** j * math.comb(r, j) * kernel(1 - 2 * j / r) for j in range(r + 1)]))


def _sigmoid_kernel(correlation: float, scale: Float[Array, ""]) -> Array:
    """Return E sigmoid(scale u) sigmoid(scale v) for normal u and v with this correlation, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    other = correlation * nodes[:, None] + math.sqrt(max(1 - correlation**2, 0.0)) * nodes
    weights = weights / weights.sum()
    return (weights * jax.nn.sigmoid(scale * nodes)) @ jax.nn.sigmoid(scale * other) @ weights


class NormOfParityNetworks(Claim[FlippedPoint]):
    """Let x be Gaussian, let S be a set of r coordinates, and let x_S be these coordinates of x. Let s > 0 be a scale
    and sigma an activation. The parity network g_S(x) is the sum over w in {-1, 1}^r of chi(w) sigma(s <w,
    x_S>/sqrt(r)), where chi(w) is the product of the entries of w. The dual kernel of sigma is K(c) = E sigma(s u)
    sigma(s v) for normal u and v with correlation c. Then

        E g_S(x)² = 2^r sum_j (-1)^j binom(r, j) K(1 - 2 j/r).

    For the ReLU, K(c) = s² (sin t + (pi - t) cos t)/(2 pi) with t = arccos c. The trials use the ReLU with even r and
    the sigmoid with odd r; for these, the norm is positive.
    """

    title = "The squared norm of a parity network is an alternating sum of values of its activation's dual kernel"
    source = Source("emergence2026", "Figure 11.11", note="the norm of the networks")
    stated = Kind.OWN
    population = Drawn(
        FlippedPoint, r=Integer(4, 2, 6, "even size of the hidden set", step=2), x=normal("r"), z=signs("r"),
        scale=log_uniform(0.5, 2.0), c=normal(256),
    )  # fmt: skip
    relation = EqualInMean()
    control = Control("the kernel does not have its factor 1/2", lambda value, problem: 2 * value)
    controls = "how large the functions of the lower bound are"
    unexplained = "the norm under other distributions of the inputs"
    trials = 64

    def predict(self, problem: FlippedPoint) -> Array:
        r, s = len(problem.x), problem.scale
        angle = lambda c: math.acos(max(-1.0, min(1.0, c)))
        arc = lambda c: s**2 * (math.sin(angle(c)) + (math.pi - angle(c)) * c) / (2 * math.pi)
        return jnp.stack([_signed_sum(arc, r), _signed_sum(lambda c: _sigmoid_kernel(c, s), r - 1)])

    def measure(self, problem: FlippedPoint, key: Key[Array, ""]) -> Array:
        """Return the mean of g_S(x)² over 4096 normal points."""
        x = jax.random.normal(key, (4096, len(problem.x)))
        return problem.each(lambda part, unit: jnp.mean(parity_network(x[:, part], unit, problem.scale) ** 2))


class ParityNetworksVanish(Claim[FlippedPoint]):
    """Let S be a set of r coordinates, and let x_S be these coordinates of x. Let s > 0 be a scale and sigma an
    activation. The parity network g_S(x) is the sum over w in {-1, 1}^r of chi(w) sigma(s <w, x_S>/sqrt(r)), where
    chi(w) is the product of the entries of w. Let sigma be the ReLU and r >= 3 odd, or let sigma be the sigmoid and r
    even. Then g_S(x) = 0 for every x. That is, the units with chi(w) = 1 and the units with chi(w) = -1 have the same
    sum. The reason is that the ReLU is an even function plus a linear function, and the sigmoid is an odd function plus
    a constant.
    """

    title = "A parity network of r coordinates is zero for the ReLU with odd r > 1 and for the sigmoid with even r"
    source = Source("emergence2026", "Figure 11.11", note="which sizes r must be left out")
    stated = Kind.OWN
    population = Drawn(
        FlippedPoint, r=Integer(4, 4, 8, "even size of the hidden set", step=2, corners=(4, 6)), x=normal("r"),
        z=signs("r"), scale=log_uniform(0.3, 3.0), c=normal(256),
    )  # fmt: skip
    relation = Equal()
    control = Control(
        "the sums differ as much as they do for the other parity of r",
        lambda value, problem: (
            value + problem.each(lambda part, unit: jnp.abs(parity_network(problem.x[part], unit, problem.scale)))
        ),
    )
    controls = "for which sizes of the hidden set all networks are zero"
    unexplained = "other activations"

    def predict(self, problem: FlippedPoint) -> Array:
        return self._sums(problem, 1.0)

    def measure(self, problem: FlippedPoint, key: Key[Array, ""]) -> Array:
        return self._sums(problem, -1.0)

    def _sums(self, problem: FlippedPoint, sign: float) -> Array:
        """Sum the units with chi(w) = sign: ReLUs of r - 1 coordinates, and sigmoids of r coordinates."""

        def one(x: Array, unit: Unit) -> Array:
            w = cube(len(x))
            values = unit(problem.scale * x @ w.T / jnp.sqrt(len(x)))
            return jnp.sum(jnp.where(jnp.prod(w, axis=1) == sign, values, 0.0))

        return jnp.stack([one(problem.x[1:], jax.nn.relu), one(problem.x, jax.nn.sigmoid)])
