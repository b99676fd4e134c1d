"""Self-supervised learning of a linear model from a small start. It learns the modes of a contrastive matrix one after
another.

Two views x, x' of every point define Gamma, the symmetrised mean of x x'^T. Let a linear embedding f = W x descend on
|W Gamma W' - I|², a Barlow Twins loss without normalisation. Then dW/dt = -4 (W Gamma W' - I) W Gamma. While W is
small, W v grows like exp(4 gamma t) W(0) v for each mode v, an eigenvector of Gamma with eigenvalue gamma. Modes with
gamma < 0 decay, and learned modes do not move. This theory gives the time at which each mode is learned, the loss
between these times, and the end of training. It assumes a small start and plain gradient flow. It does not explain
batches, momentum or normalised losses.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Limit, Rate, Source
from lemmata.subjects.dynamics import StepwisePrediction, embedding_flow
from lemmata.subjects.dynamics._small_starts import SmallStart, SmallStarts

from ._crossings import company, crossings, foreseen, learned, squares

ABOUT = {"tool": "dynamical systems", "architecture": "linear model", "object": "training"}

_PAPER = "simon2023stepwise"
_START = 1e-3
_TOLERANCE = 1e-10
_INVERSE_SCALES = (1e3, 1e4, 1e5, 1e6, 1e7)


def _aligned(problem: SmallStart) -> StepwisePrediction:
    return StepwisePrediction(problem.leading, jnp.full(problem.dimension, _START))


def _visited(steps: StepwisePrediction) -> Float[Array, " t"]:
    """Return six times, from half of the first step time to 1.2 times the last step time."""
    return jnp.linspace(steps.times[0] / 2, 1.2 * steps.times[-1], 6)


class StepwiseModes(Claim[SmallStart]):
    """Let a linear embedding W with d rows follow the flow dW/dt = -4 (W Gamma W' - I) W Gamma. Here Gamma is a
    symmetric matrix with eigenvalues gamma_j, and the columns of V are its d leading eigenvectors. Let the start be
    aligned: W(0) = s U V' for a number s and an orthogonal matrix U. Then W Gamma W' = U diag(lambda) U' at all times,
    with

        lambda_j(t) = 1 / (1 + (1/(s² gamma_j) - 1) exp(-8 gamma_j t)).

    Each lambda_j reaches 1/2 at tau_j = ln(1/(s² gamma_j) - 1)/(8 gamma_j). The test measures the lambda_j at six
    points in time, from half of tau_1 to 1.2 times tau_d.
    """

    title = "From an aligned start, each mode of a linear self-supervised embedding grows as a logistic curve"
    source = Source(_PAPER, "Abstract, small start", note="linear model, |C - I|², aligned start of size 0.001")
    reading = "Barlow Twins without normalisation, where all entries of the cross-correlation have the weight 1"
    stated = Kind.THEOREM
    population = SmallStarts(spectra=("apart", "paired"))
    relation = Equal()
    control = Control(
        "the modes grow half as fast: at the rate of W instead of the rate of its square",
        lambda sizes, problem: _slow(problem),
    )
    controls = "the course of training in each mode"
    unexplained = "starts that are neither aligned nor small"
    traced = False

    def predict(self, problem: SmallStart) -> Array:
        steps = _aligned(problem)
        return steps.sizes(_visited(steps))

    def measure(self, problem: SmallStart, key: Key[Array, ""]) -> Array:
        d = problem.dimension
        outputs = jnp.linalg.qr(jax.random.normal(key, (d, d)))[0]
        start = _START * outputs @ problem.vectors[:, :d].T
        path = embedding_flow(problem.matrix, start, _visited(_aligned(problem)), tolerance=_TOLERANCE)
        return jnp.stack([jnp.diagonal(outputs.T @ w @ problem.matrix @ w.T @ outputs) for w in path])

    def condition(self, problem: SmallStart) -> Array:
        """Allow for the integrator: its tolerance enters once while the odds of the fastest mode grow by a factor e.
        Over the time t, there are 8 gamma_1 t such factors.
        """
        folds = 8 * problem.leading[0] * _visited(_aligned(problem))[:, None]
        return jnp.broadcast_to(1 + folds * _TOLERANCE / (32 * jnp.finfo(float).eps), (6, problem.dimension))


def _slow(problem: SmallStart) -> Array:
    steps = _aligned(problem)
    return jax.nn.sigmoid(4 * problem.leading * (_visited(steps)[:, None] - steps.times))


class AnySmallStart(Claim[SmallStart]):
    """Let gamma_j be the eigenvalues of a symmetric matrix Gamma in descending order, and let v_j be its eigenvectors.
    Let W follow dW/dt = -4 (W Gamma W' - I) W Gamma from a random start of scale s. Let s_j be the length of the part
    of W(0) v_j that is orthogonal to W(0) v_1, ..., W(0) v_{j-1}. The j-th largest eigenvalue of W Gamma W' reaches 1/2
    at the time

        ln(1/(s_j² gamma_j) - 1) / (8 gamma_j)    as s -> 0.

    The test checks that the largest relative distance between a measured time and this formula vanishes as s -> 0.
    """

    title = "A linear self-supervised embedding from a small random start learns its modes at times in closed form"
    source = Source(_PAPER, "Abstract, small start", note="random start, aligned by Gram-Schmidt")
    stated = Kind.THEOREM
    population = SmallStarts()
    relation = Limit(along="1/s", rungs=(1e1, 1e3, 1e5), margin=0.001, resolution=0.001, relative=False)
    control = Control("a relative distance of half a percent remains", lambda limit, problem: limit + 0.005)
    controls = "when each dimension of an embedding is learned"
    unexplained = "starts that are not small compared with 1/sqrt(gamma)"
    trials = 32
    traced = False
    predict = 0.0

    def measure_at(self, problem: SmallStart, key: Key[Array, ""], inverse: float) -> Array:
        steps = np.asarray(foreseen(problem, 1 / inverse).times)
        return jnp.asarray(np.abs(crossings(*learned(problem, 1 / inverse)) / steps - 1).max())


class StepsApart(Claim[SmallStart]):
    """Let Gamma be a symmetric matrix with the leading eigenvalues gamma_1 >= ... >= gamma_d > 0. Let a matrix W of d
    rows follow dW/dt = -4 (W Gamma W' - I) W Gamma from a random start of scale s. At the time when the j-th largest
    eigenvalue of W Gamma W' is 1/2, the next smaller eigenvalue of W Gamma W' is of the order

        s^(2 (1 - gamma_{j+1}/gamma_j)).

    So if the gamma_j are distinct, the times at which modes are learned separate with a power of the scale s. The times
    of two modes with equal gamma_j do not separate.

    The test takes the largest of these next smaller eigenvalues over j < d. As s -> 0, this number falls like the power
    of s for the index j with the largest ratio gamma_{j+1}/gamma_j.
    """

    title = "The learning steps of a linear embedding separate as a power of the scale of the random start"
    source = Source(_PAPER, "Abstract, one at a time", note="with the ratio of the modes as exponent")
    population = SmallStarts(spectra=("apart", "paired"))
    relation = Rate("1/s", (1e5, 1e6, 1e7, 1e8), margin=0.05, resolution=0.1)
    control = Control("the exponent of s is larger by a quarter", lambda exponent, problem: exponent - 0.25)
    controls = "how far apart the steps are"
    unexplained = "the constant, which depends on the start"
    trials = 96
    traced = False

    def predict(self, problem: SmallStart) -> Array:
        closest = jnp.max(problem.leading[1:] / problem.leading[:-1])
        return -2 * (1 - closest)

    def measure_at(self, problem: SmallStart, key: Key[Array, ""], inverse: float) -> Array:
        return jnp.asarray(company(*learned(problem, 1 / inverse)))


class TerminalSolution(Claim[SmallStart]):
    """Let Gamma be a symmetric matrix with eigenvalues gamma_j in descending order, and let the columns of V be its d
    leading eigenvectors. Let a matrix W of d rows follow dW/dt = -4 (W Gamma W' - I) W Gamma from a random start of
    scale s. Training ends at W'W = V diag(1/gamma_1, ..., 1/gamma_d) V'. The error of this formula is of the order s^(1
    - gamma_{d+1}/gamma_d). The reason is that the weights along the eigenvector of gamma_{d+1} grow until the
    eigenvector of gamma_d is learned, and then keep their size.
    """

    title = "The trained linear self-supervised embedding has a closed form, up to a power of the scale of the start"
    source = Source(_PAPER, "Abstract, final representations", note="linear model, with a rate in the scale")
    stated = Kind.THEOREM
    population = SmallStarts()
    relation = Rate("1/s", _INVERSE_SCALES, margin=0.06, resolution=0.06)
    control = Control("the exponent of s is larger by a quarter", lambda exponent, problem: exponent - 0.25)
    controls = "the embedding at the end of training"
    unexplained = "training that is stopped early"
    trials = 32
    traced = False

    def predict(self, problem: SmallStart) -> Array:
        d = problem.dimension
        return problem.eigenvalues[d] / problem.eigenvalues[d - 1] - 1

    def measure_at(self, problem: SmallStart, key: Key[Array, ""], inverse: float) -> Array:
        d, last = problem.dimension, foreseen(problem, 1 / inverse).times[-1]
        (weights,) = embedding_flow(problem.matrix, problem.start / inverse, jnp.stack([3 * last]))
        modes = np.asarray(problem.vectors[:, :d])
        ideal = modes / np.asarray(problem.leading) @ modes.T
        return jnp.asarray(np.linalg.norm(squares(problem, weights) - ideal) / np.linalg.norm(ideal))
