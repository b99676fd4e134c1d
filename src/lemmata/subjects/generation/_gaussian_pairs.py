"""Couplings of two centred normal distributions. The velocity and the flow of their interpolation are linear maps."""

from collections.abc import Callable

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Space
from lemmata.engine.problems.variables import dimension

_TOLERANCE = 1e-12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
NODES, WEIGHTS = (1 + _NODES) / 2, _WEIGHTS / 2  # Gauss-Legendre quadrature on [0, 1]

# The tolerance for results of a solver, in units of 32 eps: 1e-9 for a solver that keeps local errors below 1e-12.
BY_SOLVER = 1e-9 / (32 * float(np.finfo(float).eps))


def carried(slope: Callable[..., Array], start: Array, first: float = 0.0, last: float | Array = 1.0, times=None):
    """Solve dy/dt = slope(t, y) with y = start at t = first, and return y at `last` or at all `times`."""
    path = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: slope(t, y)), diffrax.Dopri8(), first, last, None, start,
        saveat=diffrax.SaveAt(t1=True) if times is None else diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=_TOLERANCE, atol=_TOLERANCE),
        max_steps=4096, adjoint=diffrax.ForwardMode(),
    )  # fmt: skip
    assert path.ys is not None
    return path.ys[0] if times is None else path.ys


def root(matrix: Float[Array, "d d"], power: float = 0.5) -> Float[Array, "d d"]:
    """Return a power of a symmetric positive definite matrix, by default the square root."""
    values, vectors = jnp.linalg.eigh(matrix)
    return (vectors * values**power) @ vectors.T


class GaussianPair(eqx.Module):
    """Jointly normal X_0 ~ N(0, S_0) and X_1 ~ N(0, S_1) with E X_0 X_1' = C, and X_t = (1 - t) X_0 + t X_1.

    Args:
        base: the covariance S_0.
        target: the covariance S_1.
        cross: the cross-covariance C.
    """

    base: Float[Array, "d d"]
    target: Float[Array, "d d"]
    cross: Float[Array, "d d"]

    def covariance(self, t: Float[Array, ""]) -> Float[Array, "d d"]:
        """Return the covariance of X_t."""
        return (1 - t) ** 2 * self.base + t**2 * self.target + t * (1 - t) * (self.cross + self.cross.T)

    @property
    def step(self) -> Float[Array, "d d"]:
        """The covariance of X_1 - X_0."""
        return self.base + self.target - self.cross - self.cross.T

    def velocity(self, t: Float[Array, ""]) -> Float[Array, "d d"]:
        """Return the matrix V_t of the velocity v_t(x) = E[X_1 - X_0 | X_t = x]."""
        mixed = (1 - t) * (self.cross.T - self.base) + t * (self.target - self.cross)
        return jnp.linalg.solve(self.covariance(t), mixed.T).T

    def flow(self, times: Array | None = None) -> Float[Array, "*t d d"]:
        """Return the matrices of the flow dx/dt = v_t(x) from time 0 to `times`, or to time 1, by a solver."""
        return carried(lambda t, m: self.velocity(t) @ m, jnp.eye(len(self.base)), times=times)

    @property
    def energy(self) -> Float[Array, ""]:
        """The integral of E |v_t(X_t)|² over [0, 1], by quadrature."""
        speed = lambda t: jnp.sum(self.velocity(t) @ self.covariance(t) * self.velocity(t))
        return jnp.asarray(WEIGHTS) @ jax.vmap(speed)(jnp.asarray(NODES))

    @property
    def middle(self) -> Float[Array, "d d"]:
        """The geometric mean S_0 # S_1 of the two covariances."""
        half, back = root(self.base), root(self.base, -0.5)
        return half @ root(back @ self.target @ back) @ half

    @property
    def transport(self) -> Float[Array, "d d"]:
        """The matrix of the optimal transport map from N(0, S_0) to N(0, S_1) for the squared distance."""
        half, back = root(self.base), root(self.base, -0.5)
        return back @ root(half @ self.target @ half) @ back

    @property
    def squared_distance(self) -> Float[Array, ""]:
        """The squared Wasserstein distance W_2² of the two distributions."""
        return jnp.trace(self.base) + jnp.trace(self.target) - 2 * jnp.trace(self.transport @ self.base)


def definite(problem: GaussianPair) -> Hypothesis:
    least = jnp.minimum(*(jnp.linalg.eigvalsh(m)[0] for m in (problem.base, problem.target)))
    return Hypothesis("covariances are positive definite", least, ">", 0.0, "otherwise the velocity may be undefined")


def _covariance(key: Key[Array, ""], d: int) -> Float[Array, "d d"]:
    factor = jax.random.normal(key, (d, d)) / d**0.5
    return factor @ factor.T + 0.1 * jnp.eye(d)


class IndependentPairs(Population[GaussianPair]):
    """Pairs with two random covariances and C = 0."""

    settings = Space(d=dimension(3, 2, 16, corners=(2, 6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> GaussianPair:
        d = setting["d"]
        base, target = jax.vmap(lambda k: _covariance(k, d))(jax.random.split(key))
        return GaussianPair(base, target, jnp.zeros((d, d)))

    def hypotheses(self, problem: GaussianPair) -> list[Hypothesis]:
        return [definite(problem)]


class CoupledPairs(Population[GaussianPair]):
    """Coupled pairs. In half of the problems, X_1 = T X_0 with a symmetric positive definite T without eigenvalues
    near 1. In the other problems, the joint covariance is random.
    """

    settings = Space(d=dimension(3, 1, 16, corners=(2, 6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> GaussianPair:
        d = setting["d"]
        joint_key, turn_key, side_key, size_key, kind_key = jax.random.split(key, 5)
        joint = _covariance(joint_key, 2 * d)
        base = joint[:d, :d]
        turn = jnp.linalg.qr(jax.random.normal(turn_key, (d, d)))[0]
        sizes = jax.random.uniform(size_key, (d,), minval=1.5, maxval=3.0)
        straight = (turn * jnp.where(jax.random.bernoulli(side_key, 0.5, (d,)), sizes, 1 / sizes)) @ turn.T
        moved = GaussianPair(base, straight @ base @ straight, base @ straight)
        coupled = GaussianPair(base, joint[d:, d:], joint[:d, d:])
        kind = jax.random.bernoulli(kind_key)
        return jax.tree.map(lambda a, b: jnp.where(kind, a, b), moved, coupled)

    def hypotheses(self, problem: GaussianPair) -> list[Hypothesis]:
        return [definite(problem)]
