"""Early stopping: how near kernel regression on noisy labels comes to a function of the kernel's space, and when.

This theory controls E |F_pseudo - F_H|² along gradient flow on labels F_H(x_i) + e_i, the error that the source assumes
to be small (Assumption G.3). It assumes a function of bounded norm and noise of mean zero; it leaves unexplained how to
find the best time without the truth.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Order, Rate, Source
from lemmata.engine.problems._noisy_labels import TEST, NoisyLabels, NoisyMembers

_ROWS = (32.0, 64.0, 128.0, 256.0)
_LATE = (10.0, 1e3, 1e5)


def gap_along_flow(
    matrix: Float[np.ndarray, "n n"],
    cross: Float[np.ndarray, "t n"],
    labels: Float[np.ndarray, "n k"],
    truth: Float[np.ndarray, "t k"],
    times: Float[np.ndarray, " s"],
) -> Float[np.ndarray, " s"]:
    """The mean over test points of |K(x, X) K^-1 (I - exp(-K tau)) labels - truth|² at each time tau.

    Args:
        matrix: K of the training points.
        cross: K of test and training points.
        labels: targets.
        truth: what they are noisy values of, at the test points.
        times: the tau.
    """
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, np.finfo(float).eps * values[-1])
    modes, seen = vectors.T @ labels, cross @ vectors
    predictions = (seen @ ((-np.expm1(-tau * values) / values)[:, None] * modes) for tau in times)
    return np.asarray([np.mean(np.sum((f - truth) ** 2, axis=1)) for f in predictions])


def _gaps(problem: NoisyLabels, n: int, times: Float[np.ndarray, " s"]) -> Float[np.ndarray, " s"]:
    """The gap at the given times with the first n training points."""
    cross, member, labels = (np.asarray(a) for a in (problem.cross, problem.member, problem.labels))
    return gap_along_flow(cross[:n, :n], cross[-TEST:, :n], labels[:n], member[-TEST:], times)


class EarlyStoppingRate(Claim[NoisyLabels]):
    """F_pseudo is regression with the softmax kernel on n labels F_H(x_i) + e_i, by gradient flow from 0 up to the time
    tau; F_H is a function of bounded norm in the kernel's space and the e_i have mean zero. Stopped at the best time it
    comes as near to F_H as

        min over tau of E |F_pseudo - F_H|² <= C n^(-1/2),

    so that Assumption G.3 holds for such a choice of the number of steps: n^(-1/2) is the rate for every kernel and
    every F_H of bounded norm.
    """

    title = "Regression stopped in time nears the truth"
    source = Source("gu2024softmax", "Assumption G.3")
    population = NoisyMembers()
    relation = Rate("n", _ROWS, upper=True)
    control = Control("it falls as n^(-1)", lambda exponent, problem: 2 * exponent)
    controls = "the distance of regression on noisy labels from what they were made of"
    unexplained = "the best time, which takes the truth to find"
    traced = False
    trials = 64

    def predict(self, problem: NoisyLabels) -> Array:
        return jnp.asarray(-0.5)

    def measure_at(self, problem: NoisyLabels, key: Key[Array, ""], rung: float) -> Array:
        """The least gap over 40 times from 0.01 to 1000."""
        return jnp.asarray(_gaps(problem, int(rung), np.logspace(-2, 3, 40)).min())


class LateTraining(Claim[NoisyLabels]):
    """F_pseudo is regression with the softmax kernel on 64 labels F_H(x_i) + e_i, by gradient flow from 0 up to the
    time tau; F_H is a function of the kernel's space and the e_i are noise. Past the best time the gap grows:

        E |F_pseudo - F_H|² rises from tau = 10 to 1000 to 100 000,

    as noise is fitted along ever smaller eigenvalues of the kernel. Assumption G.3 is therefore a choice of the number
    of steps, which Theorem 4.2 of the source, fitting the noisy labels to any accuracy, makes otherwise.
    """

    title = "Regression trained on fits the noise"
    source = Source("gu2024softmax", "Assumption G.3", note="why the number of steps depends on n")
    population = NoisyMembers()
    relation = Order("tau", _LATE)
    control = Control("it falls", lambda sign, problem: -sign)
    controls = "the distance of regression on noisy labels from what they were made of"
    unexplained = "how high it rises"
    traced = False
    trials = 64

    def predict(self, problem: NoisyLabels) -> Array:
        return jnp.ones(())

    def measure(self, problem: NoisyLabels, key: Key[Array, ""]) -> Array:
        """The logarithm of the gap at the three times."""
        return jnp.asarray(np.log(_gaps(problem, 64, np.asarray(_LATE))))
