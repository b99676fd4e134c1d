"""Classification by the sign of a kernel's gradient flow on labels +-1, stopped at the right time.

Let the kernel's eigenvalues fall like i^-beta, and let eta be the probability of the label +1. Let f = 2 eta - 1 have
the interpolation smoothness s, which means coefficients with f_i² ~ i^-(s beta + 1). The flow stops at the time nu =
n^(beta/(s beta + 1)). At this time, it has learned n^(1/(s beta + 1)) modes. Its squared error falls like n^(-s beta/(s
beta + 1)). The excess of its 0-1 risk over the least possible risk falls at least like the square root of this power.
For single targets with a clear boundary, the excess falls faster. Over all targets of a Sobolev space, no classifier
does better. This theory describes exponents. It does not give constants, or the stopping time if s is not known.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.architectures import TangentKernel, relu_network
from lemmata.engine.claims import Claim, Control, Rate, Source
from lemmata.subjects.regression._labelled_modes import (
    DECAY,
    Bumps,
    BumpTargets,
    CircleTargets,
    IntervalTargets,
    LabelledModes,
    interval_modes,
    labels_of,
)

ABOUT = {"tool": "spectral theory", "architecture": "kernel method", "object": "generalisation"}

_KEY = "lai2024optimality"
_SIZES = (128.0, 256.0, 512.0, 1024.0)
_CUBES = (64.0, 216.0, 512.0, 1000.0)
_DRAWS = 16
# Eigenvalues of the interval are (pi (i - 1/2))^-2: at this multiple of the time n^(1/(s beta + 1)) modes are learned.
_UNIT = np.pi**2
_MEAN_BUMPS = 600


def stopping_time(n: float, s: float, beta: float = DECAY) -> float:
    """Return the stopping time n^(beta/(s beta + 1)) for n labels. The flow fits modes at the rates of the eigenvalues
    of K/n.
    """
    return n ** (beta / (s * beta + 1))


def flow_fit(y: Float[np.ndarray, "draws n"], time: float) -> Float[np.ndarray, "draws n"]:
    """Return the output of the flow for the kernel min(x, x') at the time nu.

    Its coefficient in eigenvector u_i is (1 - e^(-nu lambda_i)) <u_i, y>, where lambda_i are the eigenvalues.
    """
    values, vectors = interval_modes(y.shape[1])
    return ((y @ vectors) * -np.expm1(-time * values)) @ vectors.T


def excess_risk(f: Float[np.ndarray, " n"], fit: Float[np.ndarray, "draws n"]) -> float:
    """Return the 0-1 risk of the sign of `fit` minus the least risk, for f = 2 eta - 1.

    This is the mean of |f| over points and draws, where points with the right sign count as 0.
    """
    return float(np.mean(np.abs(f) * (f * fit < 0)))


def _generator(key: Key[Array, ""]) -> np.random.Generator:
    return np.random.default_rng(np.asarray(jax.random.key_data(key)))


class FlowSquaredError(Claim[LabelledModes]):
    """Consider the kernel min(x, x'), whose eigenvalues fall like i^-beta with beta = 2. Let eta be the probability of
    the label +1, and let 2 eta - 1 have smoothness s: its squared coefficients in the kernel's eigenvectors fall like
    i^-(s beta + 1). Run the gradient flow of this kernel on n labels +-1, and stop the flow at the time nu = pi²
    n^(beta/(s beta + 1)). The mean squared distance between the output of the flow and 2 eta - 1 falls like

        n^(-s beta/(s beta + 1)).
    """

    title = "The squared error of stopped gradient flow falls as n^(-s beta/(s beta + 1)) for smoothness s, decay beta"
    source = Source(_KEY, "Abstract, upper bound", note="the rate of regression on which the classification rate rests")
    population = IntervalTargets()
    relation = Rate("n", _SIZES)
    traced = False
    control = Control("the error falls like the square root of the rate", lambda exponent, problem: exponent / 2)
    controls = "the squared error at the points"
    unexplained = "constants"
    trials = 32

    def predict(self, problem: LabelledModes) -> np.ndarray:
        return np.asarray(-problem.s * DECAY / (problem.s * DECAY + 1))

    def measure_at(self, problem: LabelledModes, key: Key[Array, ""], n: float) -> np.ndarray:
        f = problem.at_size(int(n))
        fit = flow_fit(labels_of(np.tile(f, (_DRAWS, 1)), _generator(key)), _UNIT * stopping_time(n, problem.s))
        return np.asarray(np.mean((fit - f) ** 2))


class FlowExcessRisk(Claim[LabelledModes]):
    """Consider the kernel min(x, x'), whose eigenvalues fall like i^-beta with beta = 2. Let eta be the probability of
    the label +1, and let 2 eta - 1 have smoothness s: its squared coefficients in the kernel's eigenvectors fall like
    i^-(s beta + 1). Run the gradient flow of this kernel on n labels +-1, and stop the flow at the time nu = pi²
    n^(beta/(s beta + 1)). Classify by the sign of the flow's output. The difference between the 0-1 risk of this
    classifier and the smallest possible risk is

        O(n^(-s beta/(2 s beta + 2))).
    """

    title = "Stopped kernel flow has the excess 0-1 risk O(n^(-s beta/(2 s beta + 2))) for smoothness s and decay beta"
    source = Source(_KEY, "Abstract, upper bound")
    population = IntervalTargets()
    relation = Rate("n", _SIZES, upper=True, resolution=0.15)
    traced = False
    control = Control("the excess is smaller by the factor n^-1/2", lambda exponent, problem: exponent - 0.5)
    controls = "the excess of the 0-1 risk at the points"
    unexplained = "single targets, for which the excess falls faster if 2 eta - 1 crosses 0 steeply"
    trials = 48

    def predict(self, problem: LabelledModes) -> np.ndarray:
        return np.asarray(-problem.s * DECAY / (2 * problem.s * DECAY + 2))

    def measure_at(self, problem: LabelledModes, key: Key[Array, ""], n: float) -> np.ndarray:
        f = problem.at_size(int(n))
        fit = flow_fit(labels_of(np.tile(f, (_DRAWS, 1)), _generator(key)), _UNIT * stopping_time(n, problem.s))
        return np.asarray(excess_risk(f, fit))


class LeastExcessOfBumps(Claim[Bumps]):
    """Learn from n labels +-1, and let eta be the probability of the label +1. Divide [0, 1] into n^(1/(2r+1)) pieces.
    On each piece, let 2 eta - 1 be +h_n or -h_n, with a random sign, where h_n is a bump of height n^(-r/(2r+1)). These
    targets 2 eta - 1 are bounded in the Sobolev space H^r. The best classifier knows h_n. On each piece, it chooses the
    sign that makes the labels in this piece most likely. Its excess 0-1 risk over the smallest possible risk falls like
    the following power of n, and no faster:

        n^(-s beta/(2 s beta + 2)),    s = 1,  beta = 2r.

    So no classifier has a better exponent over all of H^r.
    """

    title = "The least excess 0-1 risk over the Sobolev space H^r falls no faster than n^(-r/(2r+1))"
    source = Source(_KEY, "Abstract, minimax lower bound")
    population = BumpTargets()
    relation = Rate("n", (64.0, 512.0, 4096.0, 32768.0))
    traced = False
    control = Control(
        "the excess falls like n^(-2r/(2r+1)), the rate of squared errors", lambda exponent, problem: 2 * exponent
    )
    controls = (
        "the mean over targets of the least excess risk, which is below the largest excess risk of any classifier"
    )
    unexplained = "constants; whether another family of targets is worse, which the upper bound excludes"
    trials = 32

    def predict(self, problem: Bumps) -> np.ndarray:
        return np.asarray(-2 * problem.r / (4 * problem.r + 2))

    def measure_at(self, problem: Bumps, key: Key[Array, ""], n: float) -> np.ndarray:
        rng, height = _generator(key), problem.height(int(n))
        rows = round(n ** (2 * problem.r / (2 * problem.r + 1)))
        h = height * problem.shape(rng.uniform(size=(_MEAN_BUMPS, rows)))
        votes = np.sum(np.arctanh(np.minimum(h, 1 - 1e-12)) * labels_of(h, rng), axis=1)
        return np.asarray(np.mean(votes < 0) * h.mean())


class FlowOnBumps(Claim[Bumps]):
    """Learn from n labels +-1, and let eta be the probability of the label +1. Divide [0, 1] into n^(1/3) pieces. On
    each piece, let 2 eta - 1 be +h_n or -h_n, with a random sign, where h_n is a hat of height n^(-1/3). These targets
    2 eta - 1 are bounded in the Sobolev space H^1. Run the gradient flow of the kernel min(x, x') on the labels, stop
    it at the time nu = pi² n^(2/3), and classify by the sign of its output. The excess 0-1 risk over the smallest
    possible risk falls like n^(-1/3). No classifier has a better exponent over all of H^1.
    """

    title = "Stopped gradient flow of a kernel attains the minimax exponent of the excess 0-1 risk in H^1"
    source = Source(_KEY, "Abstract, optimality")
    population = BumpTargets()
    relation = Rate("n", _CUBES)
    traced = False
    control = Control("like n^(-2/3)", lambda exponent, problem: 2 * exponent)
    controls = "the excess risk over the targets of the lower bound"
    unexplained = "constants, and Sobolev orders other than 1, which need another kernel"
    trials = 32
    predict = -1 / 3

    def measure_at(self, problem: Bumps, key: Key[Array, ""], n: float) -> np.ndarray:
        rng, size = _generator(key), int(n)
        x = np.arange(1, size + 1) / (size + 0.5)
        pieces = round(n ** (1 / 3))
        hat = 1 - np.abs(2 * (pieces * x % 1) - 1)
        f = n ** (-1 / 3) * rng.choice([-1.0, 1.0], size=(_DRAWS, pieces))[:, (pieces * x).astype(int) % pieces] * hat
        fit = flow_fit(labels_of(f, rng), _UNIT * stopping_time(n, 1.0))
        return np.asarray(np.mean(np.abs(f) * (f * fit < 0)))


@functools.lru_cache(maxsize=64)
def circle_eigenvalues(n: int, depth: int) -> Float[np.ndarray, " n"]:
    """Return the eigenvalues of the tangent kernel at n points of a circle, divided by n, one for each frequency."""
    angle = 2 * np.pi * np.arange(n) / n
    points = jnp.asarray(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    row = TangentKernel(relu_network(depth=depth, bias_std=1.0)).cross(points[:1], points)[0]
    return np.maximum(np.fft.fft(np.asarray(row)).real / n, 0.0)


class TangentDecay(Claim[LabelledModes]):
    """Consider the tangent kernel of a ReLU network with biases and one to three hidden layers, on the circle. Its
    eigenvalues fall like k^-2 in the frequency k. So beta = 2, and the kernel's function space is the Sobolev space of
    order 1.
    """

    title = "Eigenvalues of the tangent kernel of ReLU networks on the circle fall like k^-2"
    source = Source(_KEY, "Abstract, networks", note="the decay of eigenvalues on which the rate rests")
    population = CircleTargets()
    relation = Rate("k", (8.0, 16.0, 32.0, 64.0))
    traced = False
    control = Control("like k^-2.5", lambda exponent, problem: exponent - 0.5)
    controls = "eigenvalues at even frequencies"
    unexplained = "inputs that do not lie on a sphere"
    trials = 16
    predict = -DECAY

    def measure_at(self, problem: LabelledModes, key: Key[Array, ""], k: float) -> np.ndarray:
        return np.asarray(circle_eigenvalues(2048, problem.depth)[int(k)])


class WideNetworkExcess(Claim[LabelledModes]):
    """Let eta be the probability of the label +1 on the circle. Let the squared Fourier coefficients of 2 eta - 1 fall
    like k^-(2 s + 1) in the frequency k. Train an infinitely wide ReLU network with biases by gradient flow on n labels
    +-1. Start from outputs of 0, and stop at the time nu = n^(2/(2 s + 1)), in units of 1/(the tangent kernel's
    eigenvalue of frequency 1). Classify by the sign of the output. The difference between the 0-1 risk of this
    classifier and the smallest possible risk is O(n^(-s/(2 s + 1))).
    """

    title = "A stopped, infinitely wide ReLU network on the circle has the excess 0-1 risk O(n^(-s/(2 s + 1)))"
    source = Source(_KEY, "Abstract, networks")
    population = CircleTargets()
    relation = Rate("n", _SIZES, upper=True, resolution=0.15)
    traced = False
    control = Control("the excess is smaller by the factor n^-1/2", lambda exponent, problem: exponent - 0.5)
    controls = "the excess risk of regression with the tangent kernel"
    unexplained = "networks of finite width, whose kernel changes in training (`tangent.lazy_training`)"
    trials = 48

    def predict(self, problem: LabelledModes) -> np.ndarray:
        return np.asarray(-problem.s * DECAY / (2 * problem.s * DECAY + 2))

    def measure_at(self, problem: LabelledModes, key: Key[Array, ""], n: float) -> np.ndarray:
        rng, size = _generator(key), int(n)
        values = circle_eigenvalues(size, problem.depth)
        f = circle_target(problem, size)
        labels = labels_of(np.tile(f, (_DRAWS, 1)), rng)
        learned = -np.expm1(-stopping_time(n, problem.s) * values / values[1])
        return np.asarray(excess_risk(f, np.fft.ifft(np.fft.fft(labels) * learned).real))


def circle_target(problem: LabelledModes, n: int) -> Float[np.ndarray, " n"]:
    """Return sum_k (sign_2k cos k t + sign_2k+1 sin k t) k^-(s + 1/2), k < 64, at n points t of the circle.

    The sum is scaled so that its largest absolute value on 1024 points is 0.9.
    """
    k = np.arange(1, 64)
    signs, sizes = problem.signs[2:128].reshape(-1, 2), k ** (-problem.s - 0.5)
    series = lambda t: np.cos(t * k) @ (signs[:, 0] * sizes) + np.sin(t * k) @ (signs[:, 1] * sizes)
    largest = np.abs(series(2 * np.pi * np.arange(1024)[:, None] / 1024)).max()
    return 0.9 * series(2 * np.pi * np.arange(n)[:, None] / n) / largest
