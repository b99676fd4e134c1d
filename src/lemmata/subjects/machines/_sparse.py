"""The sparse machine: its layers are learned at inducing points, and any number of rows passes through them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from lemmata.core import check_numbers, require_float64
from lemmata.errors import ShapeError

from ._checks import check_array, check_number, count
from ._layers import GramMap, Grams, check_kernel, factor_divergence, learned, mapped, triangular


class SparseMachine(eqx.Module):
    """A deep kernel machine on p inducing points. A training step on n rows takes time n p².

    Rows x of d columns have inner products G_0 = <x, x'>/d + 1. In each layer, the Gram matrix of the inducing points i
    is L A A' L' for a factor A. Here K(G) = L L' is the prior, where G is the Gram matrix of the layer before. Other
    rows t follow from their conditional distribution given the inducing points (Yang et al., 2023): G_ti = K_ti K_ii^-1
    G_ii. The last layer is a sparse Gaussian process with the same inducing points.

    Attributes:
        points: the inducing points, in the space of the inputs.
        raw: the free numbers of the factors A. If all of them are 0, A is the identity, and the machine is at the
            prior.
        log_noise: the logarithm of the variance s of the labels' noise.
        kernel: the map K of Gram matrices, "relu" or "linear".
        jitter: the number that is added to the diagonal of K_ii, relative to the mean of this diagonal.
    """

    points: Float[Array, "p d"]
    raw: Float[Array, "layers p p"]
    log_noise: Float[Array, ""]
    kernel: GramMap = eqx.field(static=True, default="relu")
    jitter: float = eqx.field(static=True, default=1e-6)

    def covariances(self, x: Float[Array, "n d"]) -> Grams:
        """Return K(G_L), the prior covariances of the outputs, for the inducing points and the rows x.

        Args:
            x: the rows, in the space of the inputs.

        Raises:
            ShapeError: if x has other columns than the inducing points.
            DataError: for entries that are not finite, and for values that are not arrays.
        """
        self._check(x)
        z, d = self.points, x.shape[1]
        grams = Grams(z @ z.T / d + 1, z @ x.T / d + 1, jnp.sum(x * x, axis=1) / d + 1)
        for raw in self.raw:
            grams = learned(self._prior(grams), triangular(raw))
        return self._prior(grams)

    def _check(self, x: Array, y: Array | None = None) -> None:
        columns = self.points.shape[-1]
        check_array("rows x", x)
        if x.ndim != 2 or x.shape[1] != columns:
            rule = f"shape (n, {columns}), with the columns of the inducing points"
            raise ShapeError("rows x", found=f"shape {x.shape}", rule=rule)
        if len(x) or y is not None:
            check_numbers("rows x", x)
        if y is None:
            return
        check_array("labels", y)
        if y.ndim != 2 or len(y) != len(x):
            raise ShapeError("labels", found=f"shape {y.shape}", rule=f"shape ({len(x)}, C), one row for each row of x")
        check_numbers("labels", y)

    def _prior(self, grams: Grams) -> Grams:
        prior = mapped(grams, self.kernel)
        extra = self.jitter * jnp.mean(jnp.diagonal(prior.inducing))
        return prior._replace(inducing=prior.inducing + extra * jnp.eye(len(prior.inducing)))

    def likelihood(self, x: Float[Array, "n d"], y: Float[Array, "n C"]) -> Float[Array, ""]:
        """Return the bound on log p(Y | X) of the last layer's sparse Gaussian process, in nats.

        The bound is for the best posterior of this process. Let B = L^-1 K_it with K_ii = L L'. The bound is sum_c log
        N(y_c; 0, B'B + s I) - C/(2s) sum_t (k_t - |B_t|²) (Titsias, 2009). If the inducing points are all rows, the
        bound is log p itself.

        Args:
            x: rows.
            y: labels.

        Raises:
            ShapeError: if x has other columns than the inducing points, or another number of rows than y.
            DataError: for entries that are not finite, and for values that are not arrays.
        """
        self._check(x, y)
        last, noise = self.covariances(x), jnp.exp(self.log_noise)
        _, half, root = self._halves(last)
        seen = solve_triangular(root, half @ y, lower=True) / noise
        log_det = len(y) * jnp.log(2 * jnp.pi * noise) + 2 * jnp.sum(jnp.log(jnp.diagonal(root)))
        missed = jnp.sum(last.own) - jnp.sum(half**2)
        return -0.5 * (y.shape[1] * (log_det + missed / noise) + jnp.sum(y**2) / noise - jnp.sum(seen**2))

    def _halves(self, last: Grams) -> tuple[Array, Array, Array]:
        """Return the Cholesky factor L of K_ii, the matrix B = L^-1 K_it, and the factor of I + B B'/s.

        Here s is the variance of the noise, and the last factor is a Cholesky factor, too.
        """
        base = jnp.linalg.cholesky(last.inducing)
        half = solve_triangular(base, last.cross, lower=True)
        inner = jnp.eye(len(base)) + half @ half.T / jnp.exp(self.log_noise)
        return base, half, jnp.linalg.cholesky(inner)

    def divergences(self) -> Float[Array, " layers"]:
        """Return the divergence D(G_l | K(G_{l-1})) of each layer at the inducing points, in nats."""
        return jax.vmap(factor_divergence)(self.raw)

    def objective(
        self, x: Float[Array, "n d"], y: Float[Array, "n C"], nu: float | Float[Array, ""]
    ) -> Float[Array, ""]:
        """Return the result of `likelihood` minus nu times the sum of the layers' divergences, in nats.

        Args:
            x: rows.
            y: labels.
            nu: the weight of every layer's divergence, at least 0.

        Raises:
            ShapeError, DataError: for the same reasons as `likelihood`.
            SettingError: for a nu out of its range.
        """
        check_number("nu", nu)
        return self.likelihood(x, y) - nu * jnp.sum(self.divergences())

    def weights(self, x: Float[Array, "n d"], y: Float[Array, "n C"]) -> Float[Array, "p C"]:
        """Return the weights that `predict` multiplies by covariances with the inducing points, from training rows.

        Args:
            x: rows.
            y: labels.

        Raises:
            ShapeError, DataError: for the same reasons as `likelihood`.
        """
        self._check(x, y)
        return _weights(self, x, y)

    def predict(self, x: Float[Array, "m d"], weights: Float[Array, "p C"]) -> Float[Array, "m C"]:
        """Return the mean outputs at rows.

        Args:
            x: rows.
            weights: the result of the method `weights`.

        Raises:
            ShapeError: if x has other columns than the inducing points, or `weights` does not have one row for each
                inducing point.
            DataError: for entries that are not finite, and for values that are not arrays.
        """
        self._check(x)
        check_array("weights", weights)
        if weights.ndim != 2 or len(weights) != len(self.points):
            rule = f"shape ({len(self.points)}, C), one row for each inducing point"
            raise ShapeError("weights", found=f"shape {weights.shape}", rule=rule)
        check_numbers("weights", weights)
        return _outputs(self, x, weights)


@eqx.filter_jit
def _weights(machine: SparseMachine, x: Array, y: Array) -> Array:
    base, half, root = machine._halves(machine.covariances(x))
    inner = solve_triangular(root, half @ y / jnp.exp(machine.log_noise), lower=True)
    return solve_triangular(base.T, solve_triangular(root.T, inner))


@eqx.filter_jit
def _outputs(machine: SparseMachine, x: Array, weights: Array) -> Array:
    return machine.covariances(x).cross.T @ weights


def train_sparse_machine(
    machine: SparseMachine,
    x: Float[Array, "n d"],
    y: Float[Array, "n C"],
    *,
    nu: float,
    steps: int = 300,
    learning_rate: float = 0.02,
) -> tuple[SparseMachine, Float[Array, " steps"]]:
    """Train factors, inducing points and noise together by Adam, with all rows at each step.

    Args:
        machine: the machine at the start.
        x: rows.
        y: labels, one column per output.
        nu: the weight of the layers' divergences, at least 0. If nu is infinite, the free numbers of the factors do not
            change. If these numbers are 0, the machine is the sparse Gaussian process of the infinitely wide network.
        steps: the number of steps of Adam, 0 or more.
        learning_rate: the learning rate of Adam, above 0.

    Returns:
        The trained machine, and the objective before each step, in nats per row.

    Raises:
        PrecisionError: if float64 is off.
        ShapeError: if x has other columns than the inducing points, or another number of rows than y.
        DataError: for entries that are not finite, and for values that are not arrays.
        SettingError: for a nu, steps or a rate out of range.
        UnknownNameError: if the machine's kernel is unknown.
    """
    require_float64("a sparse machine")
    check_kernel(machine.kernel)
    machine._check(x, y)
    check_number("nu", nu, infinite=True)
    check_number("learning_rate", learning_rate, zero=False)
    steps = count("steps", steps, 0)
    stiff = bool(nu == jnp.inf)
    return _train(machine, x, y, jnp.asarray(0.0 if stiff else nu), learning_rate, steps, stiff)


@eqx.filter_jit
def _train(machine, x, y, nu, rate, steps, stiff):
    rule = optax.adam(rate)
    free = lambda own: eqx.tree_at(lambda m: m.raw, own, jax.lax.stop_gradient(own.raw)) if stiff else own
    loss = lambda own: -free(own).objective(x, y, nu) / len(y)

    def step(state, _):
        own, moments = state
        value, slope = jax.value_and_grad(loss)(own)
        updates, moments = rule.update(slope, moments)
        moved: Any = optax.apply_updates(own, updates)
        return (moved, moments), -value

    (machine, _), values = jax.lax.scan(step, (machine, rule.init(machine)), length=steps)
    return machine, values
