"""Problems about noise in optimisation: Hessians, moving averages of gradients, noise at a minimum, tuning trials."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class ProbedHessian(eqx.Module):
    """The quadratic loss 1/2 x' hessian x."""

    hessian: Float[Array, "d d"]


class ProbedHessians(Population[ProbedHessian]):
    """Hessians with diagonal entries from 0.7 to 1.5. Other entries have sizes from 0.5 to 1 and random signs."""

    settings = Space(d=Integer(4, 2, 6, "coordinates", corners=(3, 5)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ProbedHessian:
        keys = jax.random.split(key, 3)
        d = setting["d"]
        upper = jax.random.uniform(keys[0], (d, d), minval=0.5) * jax.random.rademacher(keys[1], (d, d), jnp.float64)
        upper = jnp.triu(upper, 1)
        return ProbedHessian(upper + upper.T + jnp.diag(jax.random.uniform(keys[2], (d,), minval=0.7, maxval=1.5)))

    def hypotheses(self, problem: ProbedHessian) -> list[Hypothesis]:
        gap = jnp.abs(problem.hessian - problem.hessian.T).max()
        return [Hypothesis("the Hessian is symmetric", gap, "<=", 0.0, "a Hessian is a matrix of second derivatives")]


class MixedMemory(eqx.Module):
    """The decay rates of a fast and a slow moving average of gradients, the weight alpha of the slow average, and the
    number of steps.
    """

    fast: Float[Array, ""]
    slow: Float[Array, ""]
    alpha: Float[Array, ""]
    steps: int = eqx.field(static=True)


class MixedMemories(Population[MixedMemory]):
    """A fast moving average over 3 to 20 steps, and a slow moving average over 100 to 10,000 steps. The weight of the
    slow average is between 1 and 10.
    """

    settings = Space(steps=Integer(60, 5, 2000, "steps after the impulse"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> MixedMemory:
        u = jax.random.uniform(key, (3,))
        return MixedMemory(1 - 0.05 * 6 ** u[0], 1 - 1e-4 * 100 ** u[1], 10 ** u[2], setting["steps"])

    def hypotheses(self, problem: MixedMemory) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the slow memory is longer",
                problem.slow,
                ">",
                problem.fast,
                "otherwise the slow memory is the shorter one",
            )
        ]


class NoisyMinimum(eqx.Module):
    """Gradient descent with momentum on curvature x²/2, with noise of the given variance in the gradients."""

    curvature: Float[Array, ""]
    variance: Float[Array, ""]
    step: Float[Array, ""]
    momentum: Float[Array, ""]


class NoisyMinima(Population[NoisyMinimum]):
    """Step sizes between 0.35 and 0.7 times the largest stable step size, which is 2 (1 + momentum)/curvature."""

    settings = Space(most=Real(0.9, 0.0, 0.9, "largest momentum", corners=(0.5, 0.9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyMinimum:
        """Draw curvature and variance over two orders of magnitude."""
        u = jax.random.uniform(key, (4,))
        curvature, momentum = 10 ** (2 * u[0] - 1), setting["most"] * u[1]
        step = (0.35 + 0.35 * u[2]) * 2 * (1 + momentum) / curvature
        return NoisyMinimum(curvature, 10 ** (2 * u[3] - 1), step, momentum)

    def hypotheses(self, problem: NoisyMinimum) -> list[Hypothesis]:
        limit = 2 * (1 + problem.momentum) / problem.curvature
        return [
            Hypothesis("the step is stable", problem.step, "<", limit, "otherwise there is no stationary distribution")
        ]


class UnequalTuning(eqx.Module):
    """Two identical optimisers that are tuned with different numbers of trials. The logarithms of losses are normal."""

    tail: Float[Array, ""]
    more: int = eqx.field(static=True)
    fewer: int = eqx.field(static=True)


class TwoFeatures(eqx.Module):
    """Two features. `often` is how frequently a feature's gradient is nonzero, and `moment` is the second moment of its
    nonzero gradients.
    """

    often: Float[Array, " 2"]
    moment: Float[Array, " 2"]


class RareFeatures(Population[TwoFeatures]):
    """A frequent feature and a rare feature. The mean squared gradient of the rare feature is smaller by a factor from
    2 to `most`.
    """

    settings = Space(most=Real(12.0, 4.0, 15.0, "largest ratio of the sums of squares", corners=(6.0, 12.0)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoFeatures:
        """Draw moments over two orders of magnitude. The ratio of both features' products often * moment is between 2
        and the setting `most`.
        """
        u = jax.random.uniform(key, (3,))
        ratio, moment = 2 * (setting["most"] / 2) ** u[0], 10 ** (2 * u[1] - 1)
        often, share = 0.5 + 0.5 * u[2], ratio ** -jnp.array([0.0, 0.7])
        return TwoFeatures(often * share, moment * ratio ** -jnp.array([0.0, 0.3]))

    def hypotheses(self, problem: TwoFeatures) -> list[Hypothesis]:
        return [
            Hypothesis("both features occur", problem.often.min(), ">", 0.0, "otherwise one feature has no gradient")
        ]


class StoredMatrix(eqx.Module):
    """A matrix of weights of the given shape."""

    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)


class StoredMatrices(Population[StoredMatrix]):
    """Matrices whose numbers of rows and columns are uniform on a logarithmic scale."""

    settings = Space(most=Integer(64, 4, 512, "largest number of rows and columns", corners=(16, 128)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> StoredMatrix:
        u = jax.random.uniform(key, (2,))
        rows, columns = (int(2 * (setting["most"] / 2) ** float(share)) for share in u)
        return StoredMatrix(rows, columns)

    def hypotheses(self, problem: StoredMatrix) -> list[Hypothesis]:
        least = min(problem.rows, problem.columns)
        return [
            Hypothesis(
                "rows and columns are at least two", least, ">=", 2, "second moments of vectors are not factored"
            )
        ]
