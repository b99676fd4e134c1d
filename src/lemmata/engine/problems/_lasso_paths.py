"""Paths of proximal gradient that have found the support of the minimum of the Lasso."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.solvers import proximal_gradient

from ._prompts import bounded
from ._sparse_ramps import SparseTargets

_LATE = 1e-5  # the end of a path: the last iterate farther than this, relative to the start, from the minimum


class LassoPath(eqx.Module):
    """Proximal gradient from 0 on mean (y - Phi rho)² + lambda |rho|_1 with the step eta = 1/(2 p), and the minimum.

    Args:
        features: Phi.
        y: targets.
        penalty: lambda.
        path: rho_0, ..., rho_T.
        minimum: rho^.
    """

    features: Float[Array, "N p"]
    y: Float[Array, " N"]
    penalty: Float[Array, ""]
    path: Float[Array, "T1 p"]
    minimum: Float[Array, " p"]

    @property
    def step(self) -> float:
        """The step eta."""
        return 1 / (2 * self.features.shape[1])

    @property
    def curvature(self) -> Float[Array, "p p"]:
        """H = (2/N) Phi^T Phi."""
        return 2 * self.features.T @ self.features / len(self.y)

    @property
    def least(self) -> Float[Array, ""]:
        """The least curvature mu = lambda_min(H_SS) on the support S of the minimum."""
        found = self.minimum != 0
        return jnp.linalg.eigvalsh(_block(self.curvature, found, 2.0 * len(found)))[0]

    @property
    def kappa(self) -> Float[Array, ""]:
        """What lambda is above the largest slope |(2/N) Phi^T (y - Phi rho^)| off the support."""
        slopes = jnp.abs(2 * (self.y - self.features @ self.minimum) @ self.features / len(self.y))
        return self.penalty - jnp.where(self.minimum != 0, 0.0, slopes).max()

    @property
    def distances(self) -> Float[Array, " T1"]:
        """|rho_t - rho^|."""
        return jnp.linalg.norm(self.path - self.minimum, axis=1)

    @property
    def end(self) -> Int[Array, ""]:
        """The last t with |rho_t - rho^| > 1e-5 |rho^|."""
        return _last(self.distances > _LATE * self.distances[0])

    @property
    def halving(self) -> Int[Array, ""]:
        """K, the least with (1 - eta mu)^K <= 1/2; 0 where mu is not positive."""
        steps = jnp.ceil(jnp.log(2.0) / -jnp.log1p(-self.step * jnp.maximum(self.least, 1e-6)))
        return jnp.where(self.least > 0, steps, 0).astype(int)

    @property
    def last_off(self) -> Int[Array, ""]:
        """The last t where rho_t has an entry off the support; 0 if there is none."""
        return _last(((self.path != 0) & (self.minimum == 0)).any(axis=1))

    @property
    def last_signs(self) -> Int[Array, ""]:
        """The last t where rho_t and rho^ differ in a sign; 0 if there is none."""
        return _last((jnp.sign(self.path) != jnp.sign(self.minimum)).any(axis=1))


def _last(true: Array) -> Array:
    """The last index that is true; 0 if there is none."""
    return jnp.where(true.any(), len(true) - 1 - jnp.argmax(true[::-1]), 0)


def _block(matrix: Array, kept: Array, diagonal: float) -> Array:
    """The block of some rows and columns, and a multiple of the identity in the place of the others."""
    return jnp.where(kept[:, None] & kept[None], matrix, diagonal * jnp.eye(len(matrix)))


def minimum_on(features: Array, y: Array, penalty: Array, signs: Float[Array, " p"]) -> Float[Array, " p"]:
    """H_SS rho = (2/N) Phi_S^T y - lambda sign on the support of the signs, 0 off it.

    Args:
        features: Phi.
        y: targets.
        penalty: lambda.
        signs: the signs of the minimum; 0 off its support.
    """
    kept = signs != 0
    block = _block(2 * features.T @ features / len(y), kept, 1.0)
    return jnp.where(kept, jnp.linalg.solve(block, jnp.where(kept, 2 * y @ features / len(y) - penalty * signs, 0)), 0)


class IdentifiedPaths(Population[LassoPath]):
    """Paths of 4000 steps on examples of a function of two of eight ramps, with a halving at their end.

    The minimum comes from the normal equations on the support of the last iterate, and is checked to be the minimum.
    """

    def settings(self) -> Space:
        """Examples, their noise, and the penalty."""
        return Space(
            N=Integer(128, 32, 1024, "examples"),
            sigma=Real(0.05, 0.0, 10.0, "standard deviation of the noise"),
            level=Real(0.1, 0.001, 0.999, "lambda over the largest slope at 0"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LassoPath:
        """Ramps in four dimensions."""
        given = SparseTargets(d=4, s=2)
        sizes = {**given.settings().default, "N": setting["N"], "sigma": setting["sigma"]}
        drawn = given.sample(sizes, key)
        features, y = drawn.features, drawn.y
        penalty = setting["level"] * jnp.abs(2 * y @ features / len(y)).max()
        path = proximal_gradient(features, y, penalty, 1 / (2 * features.shape[1]), 4000)
        return LassoPath(features, y, penalty, path, minimum_on(features, y, penalty, jnp.sign(path[-1])))

    def hypotheses(self, problem: LassoPath) -> list[Hypothesis]:
        """The minimum, its curvature, and a support that is found in time."""
        agree = jnp.all(jnp.sign(problem.minimum) == jnp.sign(problem.path[-1]))
        return [
            bounded(problem.features),
            Hypothesis("rho^ has the signs of the last iterate", agree, "==", 1.0, "rho^ is the minimum"),
            Hypothesis("kappa is positive", problem.kappa, ">", 0.0, "rho^ is the minimum, and no slope is lambda"),
            Hypothesis("H_SS is positive definite", problem.least, ">", 0.0, "the rate is 1 - eta mu"),
            Hypothesis(
                "the support is found a halving before the end", problem.last_off, "<", problem.end - problem.halving
            ),
        ]
