"""Short vectors of lattices: how short the vectors are that fast reduction finds, and how reduction learns a neuron
that gradient descent cannot learn.

This theory bounds the shortest vector of a lattice, and the vector that lattice reduction returns. Hardness results for
networks assume that better approximations of the shortest vector are hard to compute. Without noise, reduction also
recovers a periodic neuron from a few examples. The theory does not explain how reduction performs on typical lattices,
where it is far better than its bound.
"""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Population,
    Real,
    Source,
    Space,
    Witness,
)
from lemmata.engine.problems.drawn import Drawn, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.hardness._lattices import reduced, shortest

ABOUT = {
    "tool": "complexity",
    "architecture": "any",
    "object": "inequality",
    "OneCosineNeuron": {"architecture": "dense network", "object": "construction"},
    "CosinesAreUncorrelated": {"tool": "Fourier analysis", "architecture": "dense network", "object": "training"},
}


class Lattice(eqx.Module):
    """A lattice of integer vectors, given by the rows of a basis."""

    basis: Int[Array, "d d"]


class Lattices(Population[Lattice]):
    """Random bases, checkerboard lattices, and bases that reduction leaves unchanged despite a short vector."""

    settings = Space(d=Integer(7, 2, 8, "dimension", corners=(5, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Lattice:
        """Draw a basis. Half of the bases are already reduced: their Gram-Schmidt coefficients are mu = 1/2, and their
        Gram-Schmidt vectors b*_i satisfy |b*_{i+1}|² = 0.505 |b*_i|², up to rounding to integers.
        """
        rng, d = generator_of(key), setting["d"]
        kind = rng.integers(4)
        if kind == 0:
            basis = rng.integers(-9, 10, (d, d))
            while np.linalg.matrix_rank(basis) < d:
                basis = rng.integers(-9, 10, (d, d))
            return Lattice(jnp.asarray(basis))
        if kind == 1:  # integer vectors of even sum, a dense packing
            basis = np.eye(d, dtype=int) - np.eye(d, k=1, dtype=int)
            basis[-1, -2] = 1
            return Lattice(jnp.asarray(int(rng.integers(1, 50)) * basis))
        sizes = rng.uniform(5_000, 50_000) * 0.505 ** (np.arange(d) / 2)
        turned = (np.tri(d, k=-1) / 2 + np.eye(d)) * sizes * rng.choice([-1, 1], d)
        return Lattice(jnp.asarray(np.rint(turned[:, rng.permutation(d)]).astype(int)))

    def hypotheses(self, problem: Lattice) -> list[Hypothesis]:
        volume = jnp.abs(jnp.linalg.det(problem.basis.astype(float)))
        return [
            Hypothesis("the volume of a cell of the lattice", volume, ">", 0.5, "the basis vectors must be independent")
        ]


class LatticeReduction(Claim[Lattice]):
    """Let a lattice in d >= 2 dimensions have the determinant D, and let lambda be the length of its shortest vector
    that is not 0. Let V_d be the volume of the unit ball. Reduce a basis with the algorithm of Lenstra, Lenstra and
    Lovász and the constant 3/4. The first vector b of the reduced basis satisfies

        |b| <= 2^(d/2) lambda / sqrt(3),    and    lambda <= 2 (D / V_d)^(1/d).

    The factor 2^(d/2)/sqrt(3) is sqrt(2/3) times the usual factor 2^((d-1)/2), and for planted bases |b| comes near the
    first bound. The algorithm takes polynomial time, but its factor grows exponentially with d. Proofs that learning is
    hard assume that no efficient algorithm achieves a polynomial factor.

    Proof of the factor: let b*_k be the Gram-Schmidt vectors of the reduced basis. Write a shortest vector v in the
    reduced basis, and let k be the index of its last coefficient other than 0. Let mu be the Gram-Schmidt coefficient
    of the k-th basis vector along b*_{k-1}. If the last coefficient of v is 1 or -1, then |v|² >= |b*_k|² + mu²
    |b*_{k-1}|² >= 3/4 |b*_{k-1}|², and |b*_{k-1}|² >= 2^(2-k) |b|². Otherwise |v|² >= 4 |b*_k|².
    """

    title = "Lattice reduction finds a vector within an exponential factor of the shortest vector"
    source = Source(
        "emergence2026", "Definition 9.17", "Figure 9.16", note="the vectors that are easy to find, with a sharp factor"
    )
    population = Lattices()
    relation = AtMost()
    control = Control(
        "0.9 of the first bound and 0.75 of the second bound are enough",
        lambda bounds, problem: bounds * jnp.asarray([0.9, 0.75]),
    )
    controls = "the length of the vectors that an efficient algorithm finds"
    unexplained = "typical lattices of small dimension, in which reduction nearly always finds a shortest vector"
    trivial = "no vector of a given basis bounds the shortest vector from below"
    traced = False

    def predict(self, problem: Lattice) -> Float[Array, "2"]:
        basis, d = np.asarray(problem.basis), len(problem.basis)
        cells = abs(np.linalg.det(basis)) * math.gamma(d / 2 + 1) / math.pi ** (d / 2)
        return jnp.asarray([(2**d * shortest(basis.tolist()) / 3) ** 0.5, 2 * cells ** (1 / d)])

    def measure(self, problem: Lattice, key: Key[Array, ""]) -> Float[Array, "2"]:
        """Return |b| and lambda, from reduction in exact integers and a shortest vector by enumeration."""
        basis = np.asarray(problem.basis).tolist()
        return jnp.asarray([sum(value**2 for value in reduced(basis)[0]) ** 0.5, shortest(basis) ** 0.5])


class CosineNeuron(eqx.Module):
    """A unit vector w, a frequency, and points x at which cos(2 pi frequency <w, x>) is given."""

    direction: Float[Array, " d"]
    points: Float[Array, "n d"]
    frequency: Float[Array, ""]


class CosineNeurons(Population[CosineNeuron]):
    """Random directions and d + 1 standard normal points."""

    settings = Space(
        d=Integer(4, 2, 5, "dimension", corners=(2, 5)), frequency=Real(2.0, 0.5, 4.0, "frequency", corners=(1.0, 3.0))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CosineNeuron:
        rng, d = generator_of(key), setting["d"]
        drawn = rng.normal(size=(d + 2, d))
        return CosineNeuron(
            jnp.asarray(drawn[0] / np.linalg.norm(drawn[0])), jnp.asarray(drawn[1:]), jnp.asarray(setting["frequency"])
        )

    def hypotheses(self, problem: CosineNeuron) -> list[Hypothesis]:
        sines = jnp.sin(2 * jnp.pi * problem.frequency * (problem.points @ problem.direction))
        why = "near the ends of the cosine, its inverse loses digits that reduction needs"
        return [Hypothesis("the smallest |sin(2 pi g <w, x>)|", jnp.abs(sines).min(), ">", 0.003, why)]


_DIGITS = 9.0
_SCALE = 2.0**50
_NOISE = 1e-3


def recovered(
    points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"], frequency: float
) -> Float[np.ndarray, " d"]:
    """Return the direction w of a cosine neuron, from its values y_i at d + 1 points x_i in d dimensions.

    There are signs e_i and integers k_i with frequency <w, x_i> = e_i z_i + k_i, where z_i = arccos(y_i)/(2 pi). For
    weights c_i with sum_i c_i x_i = 0, the signs and integers satisfy the short relation sum_i e_i (c_i z_i) + k_i c_i
    = 0.
    """
    angles = np.arccos(np.clip(values, -1.0, 1.0)) / (2 * np.pi)
    weights = np.linalg.svd(points.T)[2][-1]
    weights = weights / np.abs(weights).max()
    numbers = [round(_SCALE * value) for value in (*(weights * angles), *weights)]
    size = len(numbers)
    first = reduced([[*(int(i == j) for j in range(size)), numbers[i]] for i in range(size)])[0]
    signs, whole = np.asarray(first[: len(values)]), np.asarray(first[len(values) : size], float)
    return np.linalg.lstsq(frequency * points, signs * angles + whole, rcond=None)[0]


class OneCosineNeuron(Claim[CosineNeuron]):
    """Let w be a unit vector in d dimensions, and let y = cos(2 pi g <w, x>) be given without noise at d + 1 normal
    points x, for a known frequency g. Lattice reduction recovers w up to its sign, to nine digits or more. Add normal
    noise of standard deviation 1/1000 to y, or exchange the values y between the points. Then reduction recovers at
    least nine digits fewer. So such a neuron is hard to learn only with noise, or for other kinds of algorithm.
    """

    title = "Lattice reduction recovers a cosine neuron from d + 1 examples without noise"
    source = Source("song2021periodic", note="recovery without noise by lattice reduction")
    population = CosineNeurons()
    relation = Witness()
    control = Control("the reduction recovers twice as many digits", lambda digits, problem: 2 * digits)
    controls = "the functions that an algorithm can learn without following gradients"
    unexplained = "many dimensions, which need more digits than a float has"
    trivial = "no digit of the direction is known in advance"
    traced = False
    predict = (_DIGITS, _DIGITS, _DIGITS)

    def measure(self, problem: CosineNeuron, key: Key[Array, ""]) -> Float[Array, "3"]:
        """Return how many digits of w are right without noise. Also return how many fewer are right with noise or with
        exchanged values.
        """
        points, direction = np.asarray(problem.points), np.asarray(problem.direction)
        frequency = float(problem.frequency)
        values = np.cos(2 * np.pi * frequency * (points @ direction))

        def digits(given: Float[np.ndarray, " n"]) -> float:
            found = recovered(points, given, frequency)
            wrong = min(np.linalg.norm(found - direction), np.linalg.norm(found + direction))
            return max(0.0, -math.log10(wrong + 1e-16))

        noisy = values + _NOISE * generator_of(key).normal(size=len(values))
        own = digits(values)
        return jnp.asarray([own, own - digits(noisy), own - digits(np.roll(values, 1))])


class TwoCosines(eqx.Module):
    """The cosine of the angle between the unit vectors of two cosine neurons, and their common frequency."""

    cosine: Float[Array, ""]
    frequency: Float[Array, ""]


class CosinesAreUncorrelated(Claim[TwoCosines]):
    """Let v and w be unit vectors with <v, w> = c, let x be standard normal, and let g > 0. Then

        E cos(2 pi g <v, x>) cos(2 pi g <w, x>) = (exp(-4 pi² g² (1 - c)) + exp(-4 pi² g² (1 + c))) / 2.

    So the squared loss between two cosine neurons is flat in c, except near c = ±1. Gradient descent sees a signal of
    order exp(-4 pi² g² (1 - |c|)), which noise hides if g is large.
    """

    title = "Under normal inputs, the correlation of two cosine neurons is exponentially small in the squared frequency"
    source = Source("song2021periodic", note="why gradients carry no signal, with the exact correlation")
    population = Drawn(
        TwoCosines,
        positive("frequency", "at frequency 0 the functions are constant"),
        cosine=uniform(-0.9, 0.9),
        frequency=uniform(0.1, 1.0, times=Real(0.4, 0.1, 0.8, "largest frequency")),
    )
    relation = Equal()
    control = Control(
        "a single exponential is enough",
        lambda value, problem: jnp.exp(-4 * jnp.pi**2 * problem.frequency**2 * (1 - problem.cosine)) / 2,
    )
    controls = "how much the gradient shows of a cosine neuron"
    unexplained = "other distributions of the inputs"

    def predict(self, problem: TwoCosines) -> Array:
        rate = 4 * jnp.pi**2 * problem.frequency**2
        return (jnp.exp(-rate * (1 - problem.cosine)) + jnp.exp(-rate * (1 + problem.cosine))) / 2

    def measure(self, problem: TwoCosines, key: Key[Array, ""]) -> Array:
        """Return the expected product, by Gauss-Hermite quadrature in the plane of v and w."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        weights = weights / weights.sum()
        across = problem.cosine * nodes[:, None] + jnp.sqrt(1 - problem.cosine**2) * nodes
        turn = 2 * jnp.pi * problem.frequency
        return weights @ (jnp.cos(turn * nodes)[:, None] * jnp.cos(turn * across)) @ weights

    def condition(self, problem: TwoCosines) -> Array:
        """Return 1/correlation, because values of order 1 cancel and leave the correlation."""
        return 1 / self.predict(problem)
