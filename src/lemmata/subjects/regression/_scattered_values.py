"""Test problems with noisy values at scattered points, and other points at which fits are evaluated."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


def squared_gaps(x: Float[np.ndarray, "n d"], z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """Return |x_i - z_j|² for all pairs of points, computed from the differences x_i - z_j."""
    return np.sum((x[:, None] - z[None]) ** 2, axis=2)


def logarithmic(x: Float[np.ndarray, "n d"], z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """Return r² ln r for all pairs of points, where r is the distance."""
    squares = squared_gaps(x, z)
    return squares * np.log(np.where(squares > 0, squares, 1.0)) / 2


def power(x: Float[np.ndarray, "n d"], z: Float[np.ndarray, "m d"], exponent: float) -> Float[np.ndarray, "n m"]:
    """Return -r^e for e below 2 and r^e otherwise, for all pairs of points at the distance r and e = `exponent`.

    For e below 4, both are conditionally positive definite: they are positive definite on weights w_i with sum w_i = 0
    and sum w_i x_i = 0, which annihilate affine functions.
    """
    return (-1.0 if exponent < 2 else 1.0) * squared_gaps(x, z) ** (exponent / 2)


def affine_columns(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
    """Return a column of ones and the columns of the coordinates."""
    return np.concatenate([np.ones((len(x), 1)), x], axis=1)


def complement(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
    """Return orthonormal columns, which span the weights w with sum w_i = 0 and sum w_i x_i = 0. These weights
    annihilate affine functions of the points x_i.
    """
    return np.linalg.qr(affine_columns(x), mode="complete")[0][:, x.shape[1] + 1 :]


class ScatteredValues(eqx.Module):
    """Values y_i at points x_i with noise of variance v_i, other points z, a rotation, a magnification and a shift.

    Args:
        x: the points x_i.
        y: the values y_i.
        noise: the noise variances v_i.
        z: the other points.
        turn: the orthogonal matrix of the rotation.
        shift: the shift of the points.
        magnification: the factor s by which points are magnified.
        exponent: the exponent e of a covariance r^e, in (0.5, 1.5) or (2.5, 3.5).
    """

    x: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]
    noise: Float[np.ndarray, " n"]
    z: Float[np.ndarray, "t d"]
    turn: Float[np.ndarray, "d d"]
    shift: Float[np.ndarray, " d"]
    magnification: float
    exponent: float

    def moved(self, points: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """Return points after the rotation, the magnification and the shift of the problem."""
        return self.magnification * points @ self.turn.T + self.shift

    def conditioning(self, K: Float[np.ndarray, "n n"]) -> float:
        """Return the product of two condition numbers. The first is that of K + diag(noise) on the span of
        `complement`.

        The second is that of the Gram matrix of `affine_columns`.
        """
        basis = complement(self.x)
        values = np.abs(np.linalg.eigvalsh(basis.T @ (K + np.diag(self.noise)) @ basis))
        return float(values.max() / values.min() * np.linalg.cond(affine_columns(self.x)) ** 2)


class ScatteredSamples(Population[ScatteredValues]):
    """Points in the unit ball, normal values, and noise variances that range over a factor of 100."""

    settings = Space(
        n=Integer(20, 12, 60, "points"),
        d=Integer(3, 1, 6, "dimension"),
        noise=Real(0.03, 0.003, 0.3, "least variance of the noise"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ScatteredValues:
        """Draw points, values and noise, a magnification from 1/3 to 3, and a standard normal shift."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, d = setting["n"], setting["d"]
        points = rng.normal(size=(n + 5, d))
        points *= (rng.uniform(size=(n + 5, 1)) ** (1 / d)) / np.linalg.norm(points, axis=1, keepdims=True)
        noise = setting["noise"] * 100 ** rng.uniform(size=n)
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        magnification, exponent = 3 ** rng.uniform(-1, 1), rng.choice([0.5, 2.5]) + rng.uniform()
        values, shift = rng.normal(size=n), rng.normal(size=d)
        return ScatteredValues(points[:n], values, noise, points[n:], turn, shift, magnification, float(exponent))

    def hypotheses(self, problem: ScatteredValues) -> list[Hypothesis]:
        spread = np.linalg.svd(problem.x - problem.x.mean(axis=0), compute_uv=False)[-1]
        return [
            Hypothesis(
                "the noise variance is positive at every point (least)",
                problem.noise.min(),
                ">",
                0.0,
                "without noise, the points must be distinct",
            ),
            Hypothesis(
                "the points span the space (spread)", spread, ">", 1e-3, "otherwise the slopes are not determined"
            ),
        ]


class DiscPoints(eqx.Module):
    """Points in a disc of radius R in the plane, and the parameter b of a covariance r² (ln r - b) + c."""

    x: Float[np.ndarray, "n 2"]
    radius: float
    slope: float


class FilledDiscs(Population[DiscPoints]):
    """The centre of a disc, and rings of twelve points around it, slightly perturbed. Rings are closer together near
    the edge.
    """

    settings = Space(rings=Integer(6, 3, 12, "rings of points"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> DiscPoints:
        """Draw R from 1/3 to 3, and b - ln R from 1 to 3. Turn each ring at random, and shrink it by up to 3 %."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        rings = setting["rings"]
        radius = 3 ** rng.uniform(-1, 1)
        size = np.sin(np.pi / 2 * np.arange(1, rings + 1) / rings) * rng.uniform(0.97, 1.0, rings)
        angle = 2 * np.pi * (rng.uniform(size=(rings, 1)) + np.arange(12) / 12)
        ring = size[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=2)
        x = radius * np.concatenate([np.zeros((1, 2)), ring.reshape(-1, 2)])
        return DiscPoints(x, radius, float(rng.uniform(1, 3) + np.log(radius)))

    def hypotheses(self, problem: DiscPoints) -> list[Hypothesis]:
        farthest = np.linalg.norm(problem.x, axis=1).max() / problem.radius
        relative = problem.slope - np.log(problem.radius)
        return [
            Hypothesis(
                "points are in the disc (largest radius over R)", farthest, "<=", 1.0, "R is the radius of the disc"
            ),
            Hypothesis(
                "b - ln R is at least 1",
                relative,
                ">=",
                1.0,
                "otherwise no c makes the covariance positive definite on the disc",
            ),
        ]
