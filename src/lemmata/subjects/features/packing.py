"""Packing: bounds on how close to each other the directions of many features must be.

The theory bounds the largest inner product of two of n unit vectors in d dimensions from below. It also shows that
random vectors are nearly orthogonal even if n is exponential in d. It does not explain which features a model puts next
to each other.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn
from lemmata.engine.problems.variables import dimension

ABOUT = {
    "tool": "combinatorics",
    "architecture": "any",
    "object": "construction",
    "ExponentiallyMany": {"tool": "concentration"},
}

_DELTA = 0.1
_STEPS, _SHARP = 60, 12.0


class Directions(eqx.Module):
    """The unit vectors u_i, one in each row."""

    u: Float[Array, "n d"]


def _simplex(d: int) -> np.ndarray:
    """Return d + 1 unit vectors in d dimensions whose inner products are all -1/d."""
    centred = np.eye(d + 1) - 1 / (d + 1)
    return np.linalg.svd(centred)[0][:, :d] * np.sqrt((d + 1) / d)


def _apart(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw random unit vectors and move them apart by descent on the sum of exp(12 <u_i, u_j>)."""
    u = rng.normal(size=(n, d))
    for step in range(_STEPS):
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        near = np.exp(_SHARP * (u @ u.T - 1)) * (1 - np.eye(n))
        u = u - (0.3 / (1 + step / 20)) * near @ u / near.sum(axis=1, keepdims=True)
    return u / np.linalg.norm(u, axis=1, keepdims=True)


class Configurations(Population[Directions]):
    """Sets of unit vectors: rotated simplices, cross-polytopes and pentagons, or random vectors.

    Each kind is half of the problems. The random vectors are moved apart by descent.
    """

    settings = Space(d=dimension(6, 2, 16, corners=(4, 9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Directions:
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        d, kind = int(rng.integers(2, setting["d"] + 1)), int(rng.integers(6))
        if kind == 0:
            d, angles = 2, 2 * np.pi * np.arange(5) / 5
            u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        elif kind == 1:
            u = _simplex(d)
        elif kind == 2:
            u = np.concatenate([np.eye(d), -np.eye(d)])
        else:
            u = _apart(rng, int(rng.integers(d + 1, 3 * d + 1)), d)
        return Directions(jnp.asarray(u @ np.linalg.qr(rng.normal(size=(d, d)))[0]))

    def hypotheses(self, problem: Directions) -> list[Hypothesis]:
        n, d = problem.u.shape
        length = np.abs(np.sum(np.asarray(problem.u) ** 2, axis=1) - 1).max()
        return [
            Hypothesis(
                "the largest difference between |u_i|² and 1", length, "<=", 1e-9, "the vectors must be unit vectors"
            ),
            Hypothesis("n is above d", float(n), ">", float(d), "up to d vectors can be orthogonal"),
            Hypothesis("d is at least 2", float(d), ">=", 2.0, "on a line all vectors are parallel"),
        ]


class Floors(Claim[Directions]):
    """Let u_1, ..., u_n be unit vectors in R^d, where n > d >= 2. The smallest angle between the lines through two of
    these vectors is at most

        arccos sqrt((n - d)/(d (n - 1))).

    The smallest angle between two of the vectors themselves is at most arccos(-1/(n - 1)) if n = d + 1, and at most 90
    degrees if d + 2 <= n <= 2d. For n > 2d, the smallest angle between the vectors is at most arccos(s). Here s > 0 is
    the smaller of (sqrt(d + 3) - 1)/(d + 2) and

        (sqrt(d² (d - 1)² + 4 d (n - d - 1)(n - 2d)) - d (d - 1)) / (2 d (n - d - 1)).

    So if only positive inner products cause interference, 2d features fit without interference, and 2d + 1 features do
    not. The simplex attains both the bound for lines and the bound for vectors. The cross-polytope and the pentagon
    attain the bound for vectors: 72 degrees for five features in a plane.
    """

    title = "The smallest angle between n directions in d dimensions is at most a number that depends only on n and d"
    source = Source("emergence2026", "Figure 18.7", note="with the bounds of Welch, Rankin and Levenshtein")
    population = Configurations()
    relation = AtMost()
    control = Control("both angles are at most 0.95 times as large", lambda angle, problem: 0.95 * angle)
    controls = "the least interference between features"
    unexplained = "configurations that attain the bounds, which exist only for some n and d"
    trivial = (jnp.pi / 2, jnp.pi)  # two lines, and two vectors
    traced = False

    def predict(self, problem: Directions) -> Array:
        n, d = problem.u.shape
        lines = np.sqrt((n - d) / (d * (n - 1)))
        if n <= 2 * d:
            rays = -1 / (n - 1) if n == d + 1 else 0.0
        else:
            square = 2 * d * (n - d - 1)
            root = (np.sqrt(d**2 * (d - 1) ** 2 + 2 * square * (n - 2 * d)) - d * (d - 1)) / square
            rays = min(root, (np.sqrt(d + 3) - 1) / (d + 2))
        return jnp.arccos(jnp.asarray([lines, rays]))

    def measure(self, problem: Directions, key: Key[Array, ""]) -> Array:
        """Return the smallest angles of lines and of vectors, from the lengths of sums and differences of vectors."""
        u = np.asarray(problem.u)
        first, second = np.triu_indices(len(u), 1)
        apart, together = (np.linalg.norm(u[first] + sign * u[second], axis=1) for sign in (-1, 1))
        angles = 2 * np.arctan2(apart, together)
        return jnp.asarray([np.minimum(angles, np.pi - angles).min(), angles.min()])

    def condition(self, problem: Directions) -> Array:
        """The condition number: d rounding errors in inner products, which 1/sin t multiplies at an angle t."""
        return jnp.asarray(4.0 * problem.u.shape[1])


class RandomDirections(eqx.Module):
    """A number n of independent directions in d dimensions, uniform on the sphere."""

    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)


class ExponentiallyMany(Claim[RandomDirections]):
    """Let u_1, ..., u_n be independent and uniform on the unit sphere of R^d. With probability at least 1 - delta,

        |<u_i, u_j>| <= eps = sqrt(2 ln(n²/delta)/d)   for all i != j,   where delta = 1/10.

    So n = sqrt(delta) e^(d eps²/4) features, exponentially many in d, have inner products of at most eps.
    """

    title = "Exponentially many random directions are nearly orthogonal"
    source = Source("emergence2026", "Figure 18.6", note="with a union bound over pairs and the bound e^(-d eps²/2)")
    population = Drawn(
        RandomDirections,
        n=Integer(128, 16, 512, "directions"),
        d=Integer(128, 64, 512, "dimension"),
    )
    relation = AtMost(delta=_DELTA)
    control = Control(
        "as many as e^(d eps²/2) directions fit",
        lambda eps, problem: jnp.sqrt(2 * jnp.log(1.0 * problem.n) / problem.d),
    )
    controls = "how many features can be stored with little interference"
    unexplained = "directions that are chosen better than at random"
    trivial = 1.0  # unit vectors

    def predict(self, problem: RandomDirections) -> Array:
        return jnp.sqrt(2 * jnp.log(problem.n**2 / _DELTA) / problem.d)

    def measure(self, problem: RandomDirections, key: Key[Array, ""]) -> Array:
        u = jax.random.normal(key, (problem.n, problem.d))
        u = u / jnp.linalg.norm(u, axis=1, keepdims=True)
        return jnp.max(jnp.abs(u @ u.T) * (1 - jnp.eye(problem.n)))
