"""The error of a learned score: four gaps between the network and the denoiser, and the bound that adds them up.

This theory controls E |F_nn - F*|² for a softmax network trained on noised data: from the network to regression with its
tangent kernel, from noisy labels of F* to those of a function F_H in the kernel's space, from there to F_H, and from F_H
to F*. It assumes inputs and labels in the unit ball; it leaves unexplained why the error is small: the bounds carry the
inverse of the smallest eigenvalue of an analytic kernel.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Rate, Real, Source, Space, Status
from lemmata.networks import SoftmaxNetwork

from .diffusion import Cube, Schedule, sampled_schedule
from .score_matching import loss_weight, score_from_denoiser, training_set

_WIDTH, _SIGMA, _DIMENSION = 64, 1.0, 2
_TEST, _CENTRES, _DELTA = 128, 16, 0.1


class Learned(eqx.Module):
    """A trained network, and what the decomposition of its error compares it with, on test points.

    Args:
        schedule: how data are forgotten.
        times: of the test points.
        places: x(t) of the test points.
        inputs: training inputs (t_i, x(t_i)) divided by the longest of them.
        labels: clean data x(0)_i.
        truth: F* at the training points.
        member: F_H at the training points.
        kernel: H at the initial weights, on training points, in the order output, point.
        cross: the same between test and training points.
        rate: m eta, the learning rate on H.
        steps: tau, the number of steps.
        norm: |F_H|², the squared norm in the space of H.
        f_network: the trained network at the test points.
        f_kernel: kernel regression after as many steps.
        f_pseudo: the same with labels F_H(x_i) + y_i - F*(x_i).
        f_member: F_H at the test points.
        f_truth: F* at the test points.
    """

    schedule: Schedule
    times: Float[Array, " p"]
    places: Float[Array, "p k"]
    inputs: Float[Array, "n d"]
    labels: Float[Array, "n k"]
    truth: Float[Array, "n k"]
    member: Float[Array, "n k"]
    kernel: Float[Array, "kn kn"]
    cross: Float[Array, "kp kn"]
    rate: Float[Array, ""]
    steps: Float[Array, ""]
    norm: Float[Array, ""]
    f_network: Float[Array, "p k"]
    f_kernel: Float[Array, "p k"]
    f_pseudo: Float[Array, "p k"]
    f_member: Float[Array, "p k"]
    f_truth: Float[Array, "p k"]


def gaps(problem: Learned) -> Float[Array, "4"]:
    """Z_1, ..., Z_4 of Claim G.1, mean squares over the test points.

    Coupling (network to kernel regression), label mismatch (to regression on labels made from F_H), early stopping
    (to F_H), approximation (to F*).

    Args:
        problem: a trained network and its comparisons.
    """
    path = [problem.f_network, problem.f_kernel, problem.f_pseudo, problem.f_member, problem.f_truth]
    return jnp.stack([jnp.mean(jnp.sum((a - b) ** 2, axis=1)) for a, b in zip(path[:-1], path[1:], strict=True)])


def approximation_bound(radius: Float[Array, ""], d: int, constant: float = 1.0) -> Float[Array, ""]:
    """A(R) = c_1 Lambda rho^(-2/d) log(rho), rho = sqrt(R) / Lambda, Lambda = sqrt(d): before Theorem 6.5.

    It is negative for R < d and falls only from rho = e^(d/2) on.

    Args:
        radius: R_H.
        d: dimension of the data.
        constant: c_1.
    """
    ratio = jnp.sqrt(radius / d)
    return constant * math.sqrt(d) * ratio ** (-2 / d) * jnp.log(ratio)


def mismatch_bound(
    smallest: Float[Array, ""], approximation: Float[Array, ""], n: int, d: int, delta: float
) -> Float[Array, ""]:
    """Gamma_delta of Theorem 6.5: (2 d² A/lambda log^(3/2)(e (dn)^(3/2) A/lambda) + n^(-1/2))²
    + d² A²/lambda² (log(1/delta) + log log n).

    Undefined where (dn)^(3/2) A < lambda/e, which is where A falls to as R_H grows at a fixed n.

    Args:
        smallest: lambda.
        approximation: A.
        n: training points, at least 3.
        d: dimension of the data.
        delta: failure probability.
    """
    ratio = approximation / smallest
    logarithm = jnp.log(math.e * (d * n) ** 1.5 * ratio)
    first = 2 * d**2 * ratio * logarithm**1.5 + 1 / math.sqrt(n)
    return first**2 + (d * ratio) ** 2 * (math.log(1 / delta) + math.log(math.log(n)))


def _flat(rows: Float[Array, "n k"]) -> Float[Array, " kn"]:
    return rows.T.reshape(-1)


def _rows(flat: Float[Array, " kn"], k: int) -> Float[Array, "n k"]:
    return flat.reshape(k, -1).T


def _matrix(network: SoftmaxNetwork, params: dict, x: Array, other: Array) -> Float[Array, "kn kt"]:
    return network.tangent(params, x, other).reshape(network.outputs * len(x), network.outputs * len(other))


def train_beside_kernel(
    network: SoftmaxNetwork, params: dict, x: Array, labels: Array, others: Array, matrix: Array, rate: Array, steps
) -> tuple[dict, Float[Array, "kn s"]]:
    """Gradient descent of a network, and of kernel regressions with H at its initial weights, for the same steps.

    W <- W - rate/m Delta W(W) and gamma <- gamma - rate (H gamma - vec(Y)), for each column of targets.

    Args:
        network: the network.
        params: its initial parameters.
        x: training inputs.
        labels: targets of the network.
        others: targets of kernel regressions, one a column, each in the order output, point.
        matrix: H on the training inputs.
        rate: m eta.
        steps: number of steps.
    """

    def step(_, state):
        weight, gamma = state
        slope = network.gradient({**params, "weight": weight}, x, labels)
        return weight - rate / network.width * slope, gamma - rate * (matrix @ gamma - others)

    weight, gamma = jax.lax.fori_loop(0, steps, step, (params["weight"], jnp.zeros_like(others)))
    return {**params, "weight": weight}, gamma


def sampled_learned(key: Key[Array, ""], n: int, width: int, horizon: float) -> Learned:
    """A network trained on noised draws from a square, with comparisons.

    F_H is the regularised regression of F* on 16 points of its own, the ridge log-uniform on [1e-4, 1e-1]; the number
    of steps is log-uniform up to `horizon`.

    Args:
        key: randomness.
        n: training points.
        width: of the network.
        horizon: the largest number of steps.
    """
    keys = jax.random.split(key, 7)
    target, schedule, k = Cube(_DIMENSION), sampled_schedule(keys[0]), _DIMENSION
    network = SoftmaxNetwork(width=width, outputs=k, sigma=_SIGMA)
    times, places, labels = training_set(keys[1], target, schedule, n + _TEST + _CENTRES)
    raw = jnp.concatenate([times[:, None], places], axis=1)
    raw = raw / jnp.linalg.norm(raw[:n], axis=1).max()
    x, test, centres = raw[:n], raw[n : n + _TEST], raw[n + _TEST :]
    truth = jax.vmap(lambda t, x: target.denoiser(schedule, t, x))(times, places)
    params, _ = network.init(keys[2], _DIMENSION + 1)

    own = _matrix(network, params, centres, centres)
    ridge = 10 ** jax.random.uniform(keys[3], minval=-4.0, maxval=-1.0)
    coefficients = jnp.linalg.solve(own + ridge * jnp.eye(len(own)), _flat(truth[n + _TEST :]))
    member = _rows(_matrix(network, params, raw[: n + _TEST], centres) @ coefficients, k)

    matrix, cross = _matrix(network, params, x, x), _matrix(network, params, test, x)
    rate = 1 / jnp.linalg.eigvalsh(matrix)[-1]
    steps = jnp.floor(10 ** jax.random.uniform(keys[4], minval=0.0, maxval=math.log10(horizon)))
    pseudo = member[:n] + labels[:n] - truth[:n]
    targets = jnp.stack([_flat(labels[:n]), _flat(pseudo)], axis=1)
    final, gamma = train_beside_kernel(network, params, x, labels[:n], targets, matrix, rate, steps.astype(int))
    return Learned(
        schedule, times[n : n + _TEST], places[n : n + _TEST], x, labels[:n], truth[:n], member[:n], matrix, cross, rate,
        steps, coefficients @ own @ coefficients, network.predict(final, test), _rows(cross @ gamma[:, 0], k),
        _rows(cross @ gamma[:, 1], k), member[n:], truth[n : n + _TEST],
    )  # fmt: skip


class AbstractLearned(Claim[Learned]):
    """A softmax network trained on noised draws from a square, at inputs (t, x(t)) in the unit ball of three dimensions."""

    controls = "the error of a learned denoiser"
    problem = Learned
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Training points, width, steps."""
        return Space(
            n=Integer(16, 8, 32, "training points"),
            width=Integer(_WIDTH, 16, 1024, "hidden units"),
            horizon=Real(200.0, 10.0, 10_000.0, "largest number of steps"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Learned:
        """A trained network."""
        return sampled_learned(key, setting["n"], setting["width"], setting["horizon"])

    def hypotheses(self, problem: Learned) -> list[Hypothesis]:
        """Assumption 6.1 on the training points."""
        return [
            Hypothesis("inputs lie in the unit ball", jnp.linalg.norm(problem.inputs, axis=1).max(), "<=", 1.0),
            Hypothesis("labels lie in the unit ball", jnp.linalg.norm(problem.labels, axis=1).max(), "<=", 1.0),
        ]

    def loss(self, problem: Learned) -> Array:
        """Mean square of F_nn - F* over the test points."""
        return jnp.mean(jnp.sum((problem.f_network - problem.f_truth) ** 2, axis=1))


class LossDecompositionAsPrinted(AbstractLearned):
    """As printed: E |F_nn - F*|² <= Z_1 + Z_2 + Z_3 + Z_4, the mean squares of the four gaps on the way from F_nn to F*.

    The square of a sum is not at most the sum of squares: four equal gaps e give 16 |e|² against 4 |e|². On trained
    networks it fails wherever the gaps point the same way, as they do before training has fitted what it can: after no
    step at all the loss is |F*|², the early stopping gap |F_H|² and the approximation gap |F_H - F*|².
    """

    title = "Four gaps add up in mean square, as printed"
    source = Source("gu2024softmax", "Claim G.1, as printed")
    relation = AtMost()
    unexplained = "the cross terms"
    expected = Status.REFUTED

    def predict(self, problem: Learned) -> Array:
        """The sum."""
        return gaps(problem).sum()

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """The loss."""
        return self.loss(problem)

    def control(self) -> Control:
        """As if the gaps were one."""
        return Control("the loss is at most the largest gap", lambda total, problem: gaps(problem).max())


class LossDecomposition(AbstractLearned):
    """The root mean squares of the four gaps add up,

        E |F_nn - F*|² <= (Z_1^(1/2) + Z_2^(1/2) + Z_3^(1/2) + Z_4^(1/2))² <= 4 (Z_1 + Z_2 + Z_3 + Z_4),

    for every network, number of steps and F_H: Minkowski's inequality, then Cauchy's. The left bound is judged; its
    control is the sum without the factor 4.
    """

    title = "Four gaps add up in root mean square"
    source = Source("gu2024softmax", "Claim G.1, corrected")
    relation = AtMost()
    unexplained = "gaps that cancel: regression on labels F* - F_H undoes a part of the approximation gap"
    corrects = "softmax.score_error.loss_decomposition_as_printed"

    def predict(self, problem: Learned) -> Array:
        """The square of the sum of roots."""
        return jnp.sqrt(gaps(problem)).sum() ** 2

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """The loss."""
        return self.loss(problem)

    def control(self) -> Control:
        """The claim as printed."""
        return Control("the sum of the four gaps is enough", lambda bound, problem: gaps(problem).sum())


class LabelMismatchIsLinear(AbstractLearned):
    """The two kernel regressions differ by the regression on the labels' difference, F*(x_i) - F_H(x_i), whatever the noise:
    after tau steps of gradient descent from 0

        F_ntk(x) - F_pseudo(x) = H(x, X) H^(-1) (I - (I - m eta H)^tau) vec(F*(X) - F_H(X)).
    """

    title = "The label mismatch is a regression"
    source = Source("gu2024softmax", "Claim G.1, definition of the label mismatch")
    relation = Equal()
    label = "identity"
    unexplained = "its size"

    def predict(self, problem: Learned) -> Array:
        """The closed form from the eigensystem of H."""
        values, vectors = jnp.linalg.eigh(problem.kernel)
        safe = jnp.maximum(values, 1e-14 * values[-1])
        decay = -jnp.expm1(problem.steps * jnp.log1p(-jnp.minimum(problem.rate * safe, 1 - 1e-15))) / safe
        fitted = vectors @ (decay * (vectors.T @ _flat(problem.truth - problem.member)))
        return _rows(problem.cross @ fitted, problem.truth.shape[1])

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """The difference of two descents that were run step by step."""
        return problem.f_kernel - problem.f_pseudo

    def condition(self, problem: Learned) -> Array:
        """A rounding a step in coefficients of at most steps times the labels, and a difference of two predictions."""
        size = jnp.abs(problem.f_kernel).max() + jnp.abs(problem.f_pseudo).max()
        return problem.steps * (1 + size / jnp.abs(problem.f_kernel - problem.f_pseudo).max())

    def control(self) -> Control:
        """Training to the end."""
        return Control("it is F* - F_H on the points themselves", lambda gap, problem: problem.f_truth - problem.f_member)
