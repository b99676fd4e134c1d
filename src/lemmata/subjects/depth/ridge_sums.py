"""How much of the mean square of a radial function a sum of ridge functions captures.

This theory computes the share of a radial polynomial that the best sum of m ridge functions captures, with any profile
along each direction. It assumes normal inputs. It does not cover radial functions of many degrees at once, or networks
with a second hidden layer, which represent radial functions easily.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Kind, Population, Rate, Source, Space
from lemmata.engine.problems.variables import dimension

ABOUT = {"tool": "approximation theory", "architecture": "dense network", "object": "function class"}


class RadialTarget(eqx.Module):
    """The target f(x) = L_k^(d/2 - 1)(|x|²/2) for normal x in R^d, and unit directions w_1, ..., w_m as rows. L is a
    generalised Laguerre polynomial.
    """

    directions: Float[Array, "m d"]
    k: int = eqx.field(static=True)


def laguerre(k: int, order: float, t: Array) -> Array:
    """Return the generalised Laguerre polynomial of degree k."""
    before, now = jnp.zeros_like(t), jnp.ones_like(t)
    for n in range(k):
        before, now = now, ((2 * n + 1 + order - t) * now - (n + order) * before) / (n + 1)
    return now


def hermite(degree: int, t: Array) -> Array:
    """Return Hermite polynomials of degrees 0 to `degree`, of mean square 1 for normal x, along a new last axis."""
    known = [jnp.ones_like(t), t]
    for n in range(1, degree):
        known.append((t * known[n] - math.sqrt(n) * known[n - 1]) / math.sqrt(n + 1))
    return jnp.stack(known[: degree + 1], axis=-1)


def _normal_rule(points: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    return nodes, weights / weights.sum()


def _chi_square_rule(points: int, freedom: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for a chi-squared variable, from the recurrence of the Laguerre polynomials."""
    n = np.arange(points)
    beside = np.sqrt(n[1:] * (n[1:] + freedom / 2 - 1))
    nodes, vectors = np.linalg.eigh(np.diag(2 * n + freedom / 2) + np.diag(beside, 1) + np.diag(beside, -1))
    return 2 * nodes, vectors[0] ** 2


def coefficients(k: int, d: int, radial: bool = True) -> Array:
    """Return E f(x) He_j(<w, x>) for j = 0, ..., 2k + 1, and E f², by exact quadrature. Here E He_j² = 1.

    With `radial=False`, f(x) = He_2k(<w, x>). The nodes are <w, x> and the squared length of x without its part along
    w.
    """
    (along, size), (rest, share) = _normal_rule(2 * k + 2), _chi_square_rule(2 * k + 1, d - 1)
    features = hermite(2 * k + 1, jnp.asarray(along))
    ridge = features[:, 2 * k, None] * jnp.ones(len(rest))
    values = laguerre(k, d / 2 - 1, jnp.asarray(along[:, None] ** 2 + rest) / 2) if radial else ridge
    moments = jnp.einsum("a,r,ar,aj->j", size, share, values, features)
    return jnp.append(moments, jnp.einsum("a,r,ar->", size, share, values**2))


def of_one(problem: RadialTarget) -> float:
    """Return (2k)!/(4^k k!²)/C(k + d/2 - 1, k), which is the share that one direction captures."""
    k, half = problem.k, problem.directions.shape[1] / 2
    return math.comb(2 * k, k) / 4**k / math.prod((half + j) / (j + 1) for j in range(k))


class RadialTargets(Population[RadialTarget]):
    """Targets with random directions, the second of which has a cosine of 0.7 with the first."""

    settings = Space(
        d=dimension(8, 3),
        k=Integer(2, 1, 4, "half of the degree, k; f has degree 2k"),
        m=Integer(4, 2, 8, "directions"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RadialTarget:
        drawn = jax.random.normal(key, (setting["m"], setting["d"]))
        unit = drawn / jnp.linalg.norm(drawn, axis=1, keepdims=True)
        across = unit[1] - (unit[1] @ unit[0]) * unit[0]
        near = 0.7 * unit[0] + math.sqrt(0.51) * across / jnp.linalg.norm(across)
        return RadialTarget(unit.at[1].set(near), setting["k"])

    def hypotheses(self, problem: RadialTarget) -> list[Hypothesis]:
        gram = (problem.directions @ problem.directions.T) ** (2 * problem.k)
        least = jnp.linalg.eigvalsh(gram)[0]
        return [Hypothesis("smallest eigenvalue of G", least, ">", 1e-8, "G is inverted")]


class RidgeCapture(Claim[RadialTarget]):
    """Let x be normal in d dimensions, and let f(x) = L_k^(d/2 - 1)(|x|²/2), where L_k^(d/2 - 1) is a generalised
    Laguerre polynomial. Fix unit vectors w_1, ..., w_m, and let G be the matrix with the entries G_ij = <w_i,
    w_j>^(2k). A ridge function along w_i is any function of <w_i, x>. Let C be the binomial coefficient, and let 1 be
    the vector of ones. Of the mean square E f², the best sum of m ridge functions along the w_i captures the share

        (2k)!/(4^k k!²) 1' G^-1 1 / C(k + d/2 - 1, k).

    The reason is that the Hermite expansion of f has only terms of degree 2k. So the best ridge function along w_i is a
    multiple of the Hermite polynomial of degree 2k in <w_i, x>. These m Hermite polynomials all have the same inner
    product with f.
    """

    title = "The share of a radial polynomial's mean square that a sum of ridge functions captures has a closed form"
    source = Source("eldan2016", "Theorem 1", note="a related result for radial polynomials that is computable")
    stated = Kind.OWN
    population = RadialTargets()
    relation = Equal()
    control = Control(
        "m times the share of one direction", lambda share, problem: len(problem.directions) * of_one(problem)
    )
    controls = "the part of a radial function that one hidden layer with given directions captures"
    unexplained = "the best directions"

    def predict(self, problem: RadialTarget) -> Array:
        gram = (problem.directions @ problem.directions.T) ** (2 * problem.k)
        return of_one(problem) * jnp.linalg.solve(gram, jnp.ones(len(gram))).sum()

    def measure(self, problem: RadialTarget, key: Key[Array, ""]) -> Array:
        """Fit all Hermite features of degrees up to 2k + 1 by least squares, with inner products from quadrature."""
        m, d = problem.directions.shape
        found = coefficients(problem.k, d)
        nodes, weights = _normal_rule(2 * problem.k + 2)
        cosine = jnp.clip(problem.directions @ problem.directions.T, -1.0, 1.0)[..., None, None]
        other = cosine * nodes[:, None] + jnp.sqrt(1 - cosine**2) * nodes
        first, second = hermite(2 * problem.k + 1, jnp.asarray(nodes)), hermite(2 * problem.k + 1, other)
        gram = jnp.einsum("a,b,ai,mnabj->minj", weights, weights, first[:, 1:], second[..., 1:])
        moments = jnp.tile(found[1:-1], m)
        # If m > d, degree 1 is one function of x for all directions. So least squares must determine a rank.
        values, vectors = jnp.linalg.eigh(gram.reshape(len(moments), -1))
        inverse = jnp.where(values > 1e-9, 1 / jnp.where(values > 1e-9, values, 1.0), 0.0)
        return (found[0] ** 2 + jnp.sum(inverse * (vectors.T @ moments) ** 2)) / found[-1]

    def condition(self, problem: RadialTarget) -> Array:
        """Allow for moments of high degree, which are sums of large terms, and for the inversion of G."""
        gram = (problem.directions @ problem.directions.T) ** (2 * problem.k)
        return 1e3 * len(gram) / jnp.linalg.eigvalsh(gram)[0]


class DegreeAndShape(eqx.Module):
    """The number k, and whether a target of degree 2k is radial (1) or a ridge function (0)."""

    k: Float[Array, ""]
    radial: Float[Array, ""]


class DegreesAndShapes(Population[DegreeAndShape]):
    """Targets with k from 1 to `most`; a third of the targets are ridge functions."""

    settings = Space(most=Integer(3, 1, 4, "largest k"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> DegreeAndShape:
        k, radial = jax.random.split(key)
        drawn = jax.random.randint(k, (), 1, setting["most"] + 1)
        return DegreeAndShape(drawn.astype(float), jax.random.bernoulli(radial, 2 / 3).astype(float))

    def hypotheses(self, problem: DegreeAndShape) -> list[Hypothesis]:
        return [Hypothesis("k", problem.k, ">=", 1.0, "a constant is a ridge function")]


class RidgeCaptureFalls(Claim[DegreeAndShape]):
    """Let x be normal in d dimensions, and let the target be L_k^(d/2 - 1)(|x|²/2), where L_k^(d/2 - 1) is a
    generalised Laguerre polynomial. This radial target has degree 2k in x. A ridge function is any function of <w, x>
    for one direction w. The best ridge function captures a share of order d^(-k) of the mean square of the target. So m
    ridge functions along orthogonal directions capture a share of order m d^(-k). If the target is itself a ridge
    function of degree 2k, one ridge function captures the whole target for every d. In this case the exponent of d is
    0.
    """

    title = "One ridge function captures a share of order d^(-k) of a radial polynomial of degree 2k in d dimensions"
    source = RidgeCapture.source
    stated = Kind.OWN
    population = DegreesAndShapes()
    relation = Rate("d", (64.0, 128.0, 256.0, 512.0))
    control = Control("the exponent is larger by 1/2", lambda exponent, problem: exponent + 0.5)
    controls = "how the share of one unit depends on the dimension"
    unexplained = "directions that are not orthogonal, and several hidden layers"
    trials = 24
    traced = False

    def predict(self, problem: DegreeAndShape) -> Array:
        return -problem.k * problem.radial

    def measure_at(self, problem: DegreeAndShape, key: Key[Array, ""], d: float) -> Array:
        """Compute the share from the coefficient of the Hermite polynomial of degree 2k along the direction."""
        k = int(problem.k)
        found = coefficients(k, int(d), bool(problem.radial))
        return found[2 * k] ** 2 / found[-1]
