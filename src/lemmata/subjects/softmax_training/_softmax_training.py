"""A softmax network at some time of its training, and one more step of descent, computed without cancellation.

The network is F_l(x) = m <a_l, softmax(W' x)>, with m hidden units and with signs a_l. W(tau) are the hidden weights
after tau steps. The steps of the theory are very short: the step size eta times m is about 1e-9. So W(tau + 1) - W(tau)
would be lost in the rounding of W. Therefore the displacement of W from the initialisation is stored, and closed forms
in expm1 give the changes of outputs. Let S be the shares softmax(W'x) of an input x, and let S' be the shares after a
step from weights w to w'. Let u = <w', x> - <w, x> for every unit and e = <S, expm1(u)>. Then
S' - S = S (expm1(u) - e) / (1 + e).

H is the tangent kernel: the Gram matrix of the gradients of the outputs, divided by m. Its size is n k, for n inputs
and k outputs. Definitions, lemmas and theorems are those of gu2024softmax.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.engine.claims import Hypothesis
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import paired_signs
from lemmata.engine.problems.singular import singular_cause
from lemmata.engine.problems.softmax_parameters import displacement, logit_bound, radius, step_size
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork

DELTA = 0.1  # the failure probability in B and in the relations
_ROWS, _OUTPUTS, _WIDTH = 16, 4, 256


class Training(eqx.Module):
    """A softmax network after some training, with its data.

    Args:
        start: the weights W(0) of a symmetric initialisation.
        moved: the displacement W(tau) - W(0).
        sign: the output weights, one row a_l for each output.
        x: the inputs.
        y: the targets.
        sigma: the standard deviation of the entries of W(0).
        delta: the failure probability in the bound B on logits.
    """

    start: Float[Array, "d m"]
    moved: Float[Array, "d m"]
    sign: Float[Array, "k m"]
    x: Float[Array, "n d"]
    y: Float[Array, "n k"]
    sigma: float = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=DELTA)

    @property
    def width(self) -> int:
        """The width m."""
        return self.start.shape[1]

    @property
    def network(self) -> SoftmaxNetwork:
        """The network to which these weights belong."""
        return SoftmaxNetwork(self.width, len(self.sign), self.sigma)

    @property
    def size(self) -> int:
        """The size n k of H (the source's n d)."""
        return len(self.x) * len(self.sign)

    @property
    def bound(self) -> float:
        """The bound B = max(10 sigma sqrt(log(n k / delta)), 1) of Definition 4.1 on logits."""
        return logit_bound(len(self.x), len(self.sign), self.sigma, self.delta)

    @property
    def weight(self) -> Float[Array, "d m"]:
        """The weights W(tau)."""
        return self.start + self.moved

    @property
    def tangent(self) -> Float[Array, "r r"]:
        """The tangent kernel H(tau), of size r = n k."""
        return _matrix(self.network, self.weight, self.sign, self.x)

    @property
    def first_tangent(self) -> Float[Array, "r r"]:
        """The first tangent kernel H* = H(0)."""
        return _matrix(self.network, self.start, self.sign, self.x)

    @property
    def smallest(self) -> Float[Array, ""]:
        """The smallest eigenvalue lambda of H*; values below 0, from rounding, are set to 0."""
        return jnp.maximum(jnp.linalg.eigvalsh(self.first_tangent)[0], 0.0)

    @property
    def step(self) -> Float[Array, ""]:
        """The step size eta = lambda / (10 m n² k² exp(16 B)) of Theorem 4.2."""
        return jnp.asarray(step_size(self.smallest, self.width, len(self.x), len(self.sign), self.bound))

    @property
    def radius(self) -> Float[Array, ""]:
        """The radius R = lambda / (2 n k exp(10 B)) of Lemma E.2, within which H keeps half of lambda."""
        return jnp.asarray(radius(self.smallest, len(self.x), len(self.sign), self.bound))

    @property
    def displacement(self) -> Float[Array, ""]:
        """The bound D = 4 exp(3 B) sqrt(n k) |Y| / (m lambda) of Definition A.2 on the movement of units; F(0) = 0."""
        residual = jnp.linalg.norm(self.y)
        return jnp.asarray(displacement(self.smallest, self.width, len(self.x), len(self.sign), self.bound, residual))

    @property
    def outputs(self) -> Float[Array, "n k"]:
        """The outputs F(tau), computed as changes from F(0) = 0 to avoid cancellation."""
        shares = jax.nn.softmax(self.x @ self.start, axis=1)
        return output_change(shares, self.sign, self.x @ self.moved)

    @property
    def residual(self) -> Float[Array, "n k"]:
        """The residual F(tau) - Y."""
        return self.outputs - self.y

    @property
    def gradient(self) -> Float[Array, "d m"]:
        """The gradient Delta W of |F - Y|²/2 with respect to W (Claim 3.4), computed from `outputs`."""
        shares, outputs = jax.nn.softmax(self.x @ self.weight, axis=1), self.outputs
        residual = outputs - self.y
        centre = jnp.sum(residual * outputs, axis=1, keepdims=True) / self.width
        return self.width * self.x.T @ (shares * (residual @ self.sign - centre))

    @property
    def farthest(self) -> Float[Array, ""]:
        """The largest distance |w_r(tau) - w_r(0)| of a unit from its initialisation."""
        return jnp.linalg.norm(self.moved, axis=0).max()

    def after(self, step: Float[Array, ""], steps: int = 1) -> "Training":
        """Return the network after some steps of full-batch descent."""

        def one(_: int | Array, moved: Array) -> Array:
            return moved - step * eqx.tree_at(lambda t: t.moved, self, moved).gradient

        return eqx.tree_at(lambda t: t.moved, self, jax.lax.fori_loop(0, steps, one, self.moved))


def _matrix(network: SoftmaxNetwork, weight: Array, sign: Array, x: Array) -> Float[Array, "r r"]:
    size = len(sign) * len(x)
    return network.tangent({"weight": weight, "sign": sign}, x).reshape(size, size)


def vec(outputs: Float[Array, "n k"]) -> Float[Array, " r"]:
    """Return the outputs as a vector in the order of H: sorted by output, then by point."""
    return outputs.T.reshape(-1)


def output_change(
    shares: Float[Array, "n m"], sign: Float[Array, "k m"], change: Float[Array, "n m"]
) -> Float[Array, "n k"]:
    """Return the change F' - F = m <a_l, S' - S> of the outputs for logits that change by u, without cancellation.

    Args:
        shares: the shares S before the change.
        sign: the output weights, one row a_l for each output.
        change: the change u of the logits, one row for each point.
    """
    grown = jnp.expm1(change)
    mean = jnp.sum(shares * grown, axis=1, keepdims=True)
    return sign.shape[1] * (shares * (grown - mean) / (1 + mean)) @ sign.T


def loss_decrease(training: Training, step: Float[Array, ""]) -> Float[Array, ""]:
    """Return the relative decrease of the loss in one step, 1 - |F(tau + 1) - Y|² / |F(tau) - Y|².

    To avoid cancellation, it is computed as -<G, G + 2 (F - Y)> / |F - Y|², where G is the change of the outputs F.

    Args:
        training: the network at tau.
        step: the step size eta.
    """
    shares = jax.nn.softmax(training.x @ training.weight, axis=1)
    change = output_change(shares, training.sign, -step * training.x @ training.gradient)
    return -jnp.sum(change * (change + 2 * training.residual)) / jnp.sum(training.residual**2)


def initialise(
    drawn: Float[Array, "_ pairs"], x: Float[Array, "n d"], y: Float[Array, "n k"], sigma: float
) -> Training:
    """Return a network with `pairs` pairs of units, at the symmetric initialisation (Definition 3.7), and its data.

    Args:
        drawn: d + k rows of standard normal numbers. The first d rows, times sigma, are the weights. The signs of the
            other rows are the output weights a.
        x: the inputs.
        y: the targets.
        sigma: the standard deviation of the weights.
    """
    start = jnp.repeat(sigma * drawn[: x.shape[1]], 2, axis=1)
    return Training(start, jnp.zeros_like(start), paired_signs(drawn[x.shape[1] :]), x, y, sigma)


def sphere_points(drawn: Float[Array, "n d"], alignment: float = 0.0) -> Float[Array, "n d"]:
    """Return points on the unit sphere that are uniform or lie around one common direction.

    The points are drawn + alignment sqrt(d) times the common direction, scaled to unit vectors.

    Args:
        drawn: standard normal numbers, one row for each point.
        alignment: 0 for uniform points. The larger the alignment, the closer together the points are.
    """
    d = drawn.shape[1]
    points = drawn + alignment * math.sqrt(d) * jnp.eye(1, d)
    return points / jnp.linalg.norm(points, axis=1, keepdims=True)


def balanced_rows(problem: Regression, rows: int = _ROWS) -> tuple[Array, Array]:
    """Return the first rows of a user's table, scaled as the theory requires: inputs and targets in the unit ball.

    Args:
        problem: the user's table.
        rows: the number of rows to keep. Only the first four outputs are kept.
    """
    x, y = problem.x[:rows], problem.y[:rows, :_OUTPUTS]
    longest = lambda a: jnp.maximum(jnp.linalg.norm(a, axis=1).max(), jnp.finfo(a.dtype).tiny)
    return x / longest(x), y / longest(y)


def pose_training(problem: object, sigma: float = 0.05, steps: int = 0) -> Training | None:
    """Return a network of width 256 on the first rows of a user's table, or None for anything else.

    Args:
        problem: a user's table, or any other object.
        sigma: the standard deviation of the weights.
        steps: the number of coarse descent steps for which the network has been trained.
    """
    if isinstance(problem, Training):
        return problem
    if not isinstance(problem, Regression):
        return None
    x, y = balanced_rows(problem)
    drawn = jax.random.normal(jax.random.key(0), (x.shape[1] + y.shape[1], _WIDTH // 2), x.dtype)
    first = initialise(drawn, x, y, sigma)
    return first.after(coarse_step(first), steps)


def coarse_step(training: Training) -> Float[Array, ""]:
    """Return 1 / (2 m trace(H*)), a step at which descent is stable."""
    trace = jnp.maximum(jnp.trace(training.first_tangent), jnp.finfo(training.x.dtype).tiny)
    return 0.5 / (training.width * trace)


def positive_eigenvalue(training: Training, why: str = "") -> Hypothesis:
    """Return the condition lambda > 0.

    The smallest eigenvalue of H* must be above its rounding error, which is 16 n k eps times the trace of H*.

    Args:
        training: the network and its data.
        why: the reason for the condition.
    """
    return Hypothesis("the smallest eigenvalue of H* is positive", training.smallest, ">", floor(training), why)


def short_step(training: Training) -> Hypothesis:
    """Return the condition that the next step, of the theory's size, does not move any unit by more than 0.01.

    Args:
        training: the network before the step.
    """
    length = training.step * jnp.linalg.norm(training.gradient, axis=0).max()
    return Hypothesis("no unit moves by more than 0.01", length, "<=", 0.01, "Fact A.8")


def floor(training: Training) -> Array:
    """Return the rounding error of the eigenvalues of H*: 16 n k eps times the trace of H*."""
    return 16 * training.size * jnp.finfo(training.x.dtype).eps * jnp.trace(training.first_tangent)


def small_eigenvalue_cause(training: Training) -> str | None:
    """Return why the smallest eigenvalue lambda is 0: rows that are zero or repeated, if there are any; else None.

    Args:
        training: the network and its data.
    """
    zero = np.flatnonzero(~np.asarray(training.x).any(axis=1))
    if len(zero):
        return f"row {zero[0]} of the inputs (counted from 0) is zero, so its row and column of H are zero, too"
    # Use the limit of H for one output. In this limit, a repeated row makes one eigenvalue 0; in H itself, a repeated
    # row makes one eigenvalue 0 for each output.
    return singular_cause(gram(SoftmaxTangent(sigma=training.sigma), training.x), training.x)
