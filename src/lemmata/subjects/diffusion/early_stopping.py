"""Early stopping: how close kernel regression on noisy labels comes to a function in the kernel's space, and when.

This theory bounds E |F_pseudo - F_H|², where F_H is a function in the kernel's space, and F_pseudo is the kernel
regression by gradient flow on labels F_H(x_i) + e_i. The source assumes that this error is small (Assumption G.3). The
theory assumes a function F_H of bounded norm and noise e_i of mean zero. It does not explain how to find the best time
of the flow without knowledge of F_H.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Order, Population, Rate, Real, Source, Space
from lemmata.engine.problems.schedules import Schedule, sampled_schedule
from lemmata.engine.problems.targets import Cube
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.subjects.diffusion._diffusion import training_set

ABOUT = {"tool": "spectral theory", "architecture": "kernel method", "object": "estimator"}

ROWS, TEST = 256, 256
_CENTRES, _REACH = 16, 3.0


class NoisyLabels(eqx.Module):
    """Labels made from a function F_H of the kernel's space.

    Args:
        cross: the kernel K between all points (training points first) and the training points.
        member: the values of F_H at all points.
        labels: F_H(x_i) + y_i - F*(x_i) at the training points, where y_i is the clean point and F*(x_i) its mean
            given x_i.
        norm: the squared norm |F_H|².
    """

    cross: Float[Array, "m n"]
    member: Float[Array, "m k"]
    labels: Float[Array, "n k"]
    norm: Float[Array, ""]


@jax.jit
def _noisy_labels(key: Key[Array, ""], schedule: Schedule, sigma: Float[Array, ""]) -> NoisyLabels:
    target, kernel, n = Cube(2), SoftmaxTangent(sigma), ROWS
    times, places, clean = training_set(key, target, schedule, n + TEST + _CENTRES)
    inputs = jnp.concatenate([times[:, None], places], axis=1) / math.sqrt(1 + _REACH**2)
    truth = jax.vmap(lambda t, x: target.denoiser(schedule, t, x))(times, places)
    centres = inputs[n + TEST :]
    own = gram(kernel, centres)
    coefficients = jnp.linalg.solve(own + 1e-2 * jnp.eye(_CENTRES), truth[n + TEST :])
    member = gram(kernel, inputs[: n + TEST], centres) @ coefficients
    labels = member[:n] + clean[:n] - truth[:n]
    norm = jnp.sum(coefficients * (own @ coefficients))
    return NoisyLabels(gram(kernel, inputs[: n + TEST], inputs[:n]), member, labels, norm)


class NoisyMembers(Population[NoisyLabels]):
    """Noised draws from a square. F_H is a ridge regression of the denoiser F* on 16 separate points."""

    settings = Space(sigma=Real(1.0, 0.3, 2.0, "standard deviation of the hidden weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyLabels:
        schedule_key, key = jax.random.split(key)
        return _noisy_labels(key, sampled_schedule(schedule_key), jnp.asarray(setting["sigma"], float))

    def hypotheses(self, problem: NoisyLabels) -> list[Hypothesis]:
        return [
            Hypothesis("F_H has bounded norm", problem.norm, "<", jnp.inf, "F_H is a finite sum of kernels"),
            Hypothesis.unchecked("noise has mean zero", "y - E[y | t, x(t)] has mean zero by construction"),
        ]


_ROWS = (32.0, 64.0, 128.0, 256.0)
_LATE = (10.0, 1e3, 1e5)


def gap_along_flow(
    matrix: Float[np.ndarray, "n n"],
    cross: Float[np.ndarray, "t n"],
    labels: Float[np.ndarray, "n k"],
    truth: Float[np.ndarray, "t k"],
    times: Float[np.ndarray, " s"],
) -> Float[np.ndarray, " s"]:
    """Return the mean over test points of |K(x, X) K^-1 (I - exp(-K tau)) labels - truth|² at each time tau.

    Args:
        matrix: the kernel matrix K of the training points.
        cross: the kernel matrix between test and training points.
        labels: the noisy labels.
        truth: the noiseless function at the test points.
        times: the times tau.
    """
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, np.finfo(float).eps * values[-1])
    modes, seen = vectors.T @ labels, cross @ vectors
    predictions = (seen @ ((-np.expm1(-tau * values) / values)[:, None] * modes) for tau in times)
    return np.asarray([np.mean(np.sum((f - truth) ** 2, axis=1)) for f in predictions])


def _gaps(problem: NoisyLabels, n: int, times: Float[np.ndarray, " s"]) -> Float[np.ndarray, " s"]:
    """Return the mean of |F_pseudo - F_H|² over test points, the gap, at given times.

    The regression uses the first n training points.
    """
    cross, member, labels = (np.asarray(a) for a in (problem.cross, problem.member, problem.labels))
    return gap_along_flow(cross[:n, :n], cross[-TEST:, :n], labels[:n], member[-TEST:], times)


class EarlyStoppingRate(Claim[NoisyLabels]):
    """Let F_H be a function of bounded norm in the space of the softmax kernel. Let n inputs x_i have the labels
    F_H(x_i) + e_i, where the noise e_i has mean zero. Let F_pseudo be the kernel regression on these labels, by
    gradient flow from 0 up to the time tau. At the best time, the mean squared distance of F_pseudo from F_H satisfies

        min over tau of E |F_pseudo - F_H|² <= C n^(-1/2),

    where C does not depend on n. So Assumption G.3 of the source holds if training stops at the best time. The rate
    n^(-1/2) holds for every kernel and every F_H of bounded norm.
    """

    title = "Kernel regression stopped at the best time has a squared error of at most order n^(-1/2)"
    source = Source("gu2024softmax", "Assumption G.3")
    population = NoisyMembers()
    relation = Rate("n", _ROWS, upper=True)
    control = Control("the error falls as n^(-1)", lambda exponent, problem: 2 * exponent)
    controls = "the distance between regression on noisy labels and the function behind the labels"
    unexplained = "how to find the best time without the truth"
    traced = False
    trials = 64
    predict = -0.5

    def measure_at(self, problem: NoisyLabels, key: Key[Array, ""], rung: float) -> Array:
        """Return the least gap over 40 times from 0.01 to 1000."""
        return jnp.asarray(_gaps(problem, int(rung), np.logspace(-2, 3, 40)).min())


class LateTraining(Claim[NoisyLabels]):
    """Let F_H be a function in the space of the softmax kernel. Let 64 inputs x_i have the labels F_H(x_i) + e_i, where
    e_i is noise. Let F_pseudo be the kernel regression on these labels, by gradient flow from 0 up to the time tau.
    After the best time, the error grows:

        E |F_pseudo - F_H|² rises from tau = 10 to 1000 to 100 000,

    because the flow fits noise along eigenfunctions of the kernel with smaller and smaller eigenvalues. Assumption G.3
    of the source therefore restricts the number of steps. Theorem 4.2 of the source takes another number of steps, with
    which training fits the noisy labels to any accuracy.
    """

    title = "Kernel regression that is trained beyond the best time fits the noise"
    source = Source("gu2024softmax", "Assumption G.3", note="why the number of steps depends on n")
    population = NoisyMembers()
    relation = Order("tau", _LATE)
    control = Control("the error falls", lambda sign, problem: -sign)
    controls = "the distance between regression on noisy labels and the function behind the labels"
    unexplained = "how far the error rises"
    traced = False
    trials = 64
    predict = 1.0

    def measure(self, problem: NoisyLabels, key: Key[Array, ""]) -> Array:
        """Return the logarithm of the gap at the three times."""
        return jnp.asarray(np.log(_gaps(problem, 64, np.asarray(_LATE))))
