"""Softmax networks trained on noised data, and kernel regressions, which split the networks' error into parts."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.schedules import Schedule, sampled_schedule
from lemmata.engine.problems.targets import DIMENSION, TARGET, AbstractTarget, sampled_target
from lemmata.networks import SoftmaxNetwork
from lemmata.subjects.diffusion._diffusion import training_set

_SIGMA, _TEST, _CENTRES = 1.0, 128, 16


class Learned(eqx.Module):
    """A trained softmax network at test points, and the functions to which the network is compared.

    Args:
        target: the distribution of the data.
        schedule: the noise schedule.
        times: the times of the test points.
        places: the places x(t) of the test points.
        inputs: training inputs (t_i, x(t_i)), divided by the length of the longest input.
        labels: clean data x(0)_i.
        truth: the denoiser F*(t, x) = E[x(0) | x(t) = x] at the training points.
        member: F_H, a function in the space of the tangent kernel, at the training points.
        values: the eigenvalues of H in increasing order. H is the matrix of the tangent kernel at the initial weights,
            on the training points. Its rows are ordered by output, and then by point.
        vectors: the eigenvectors of H, one in each column.
        cross: the matrix of the tangent kernel between test and training points.
        rate: the learning rate m eta of kernel regression with H, where eta is the learning rate of the network and m
            is the width.
        steps: the number tau of steps.
        norm: |F_H|², the squared norm in the space of the tangent kernel.
        f_network: the trained network at the test points.
        f_kernel: kernel regression at the test points, after the same number of steps.
        f_pseudo: like f_kernel, but with the labels F_H(x_i) + y_i - F*(x_i), where x_i is a training input and y_i its
            label x(0)_i.
        f_member: F_H at the test points.
        f_truth: F* at the test points.
    """

    target: AbstractTarget
    schedule: Schedule
    times: Float[Array, " p"]
    places: Float[Array, "p k"]
    inputs: Float[Array, "n d"]
    labels: Float[Array, "n k"]
    truth: Float[Array, "n k"]
    member: Float[Array, "n k"]
    values: Float[Array, " kn"]
    vectors: Float[Array, "kn kn"]
    cross: Float[Array, "kp kn"]
    rate: Float[Array, ""]
    steps: Float[Array, ""]
    norm: Float[Array, ""]
    f_network: Float[Array, "p k"]
    f_kernel: Float[Array, "p k"]
    f_pseudo: Float[Array, "p k"]
    f_member: Float[Array, "p k"]
    f_truth: Float[Array, "p k"]


def flat(rows: Float[Array, "n k"]) -> Float[Array, " kn"]:
    return rows.T.reshape(-1)


def rows(flat: Float[Array, " kn"], k: int) -> Float[Array, "n k"]:
    return flat.reshape(k, -1).T


def _matrix(network: SoftmaxNetwork, params: dict, x: Array, other: Array) -> Float[Array, "kn kt"]:
    return network.tangent(params, x, other).reshape(network.outputs * len(x), network.outputs * len(other))


def train_beside_kernel(
    network: SoftmaxNetwork, params: dict, x: Array, labels: Array, others: Array, matrix: Array, rate: Array, steps
) -> tuple[dict, Float[Array, "kn s"]]:
    """Train a network, and kernel regressions with H, the network's tangent kernel matrix at the initial weights.

    Network and regressions take the same number of gradient steps. For the network of width m with the hidden weights
    W, a step is W <- W - rate/m Delta W(W), with the gradient Delta W. For each column of targets vec(Y), a step of the
    coefficients gamma is gamma <- gamma - rate (H gamma - vec(Y)).

    Args:
        network: the network.
        params: the initial parameters of the network.
        x: training inputs.
        labels: the targets of the network.
        others: the targets of kernel regressions, one in each column. Each column is ordered by output, and then by
            point.
        matrix: the matrix H on the training inputs.
        rate: the learning rate m eta.
        steps: the number of steps.
    """

    def step(_, state):
        weight, gamma = state
        slope = network.gradient({**params, "weight": weight}, x, labels)
        return weight - rate / network.width * slope, gamma - rate * (matrix @ gamma - others)

    weight, gamma = jax.lax.fori_loop(0, steps, step, (params["weight"], jnp.zeros_like(others)))
    return {**params, "weight": weight}, gamma


def sampled_learned(key: Key[Array, ""], n: int, width: int, horizon: float, law: str = "cube", d: int = 2) -> Learned:
    """Train a network on noised draws. Return the network and the functions to which the network is compared.

    F* is the denoiser. The function F_H is a kernel regression of F* on 16 separate points. This regression stops after
    a number of steps that is log-uniform up to 1000. The number of steps of the network is log-uniform up to `horizon`.

    Args:
        key: the random key.
        n: the number of training points.
        width: the width of the network.
        horizon: the largest number of steps.
        law: the distribution of the data: cube, mixture or sphere.
        d: the dimension of the data.
    """
    keys = jax.random.split(key, 7)
    target, schedule = sampled_target(keys[5], law, d), sampled_schedule(keys[0])
    network = SoftmaxNetwork(width=width, outputs=d, sigma=_SIGMA)
    times, places, labels = training_set(keys[1], target, schedule, n + _TEST + _CENTRES)
    raw = jnp.concatenate([times[:, None], places], axis=1)
    raw = raw / jnp.linalg.norm(raw[:n], axis=1).max()
    x, test, centres = raw[:n], raw[n : n + _TEST], raw[n + _TEST :]
    truth = jax.vmap(lambda t, x: target.denoiser(schedule, t, x))(times, places)
    params, _ = network.init(keys[2], d + 1)

    own = _matrix(network, params, centres, centres)
    passes = (10 ** jax.random.uniform(keys[3], maxval=3.0)).astype(int)
    aim, pace = flat(truth[n + _TEST :]), 1 / jnp.abs(own).sum(axis=1).max()
    fit = lambda _, c: c + pace * (aim - own @ c)
    coefficients = jax.lax.fori_loop(0, passes, fit, jnp.zeros_like(aim))
    member = rows(_matrix(network, params, raw[: n + _TEST], centres) @ coefficients, d)

    matrix, cross = _matrix(network, params, x, x), _matrix(network, params, test, x)
    # A trial has only this eigendecomposition, because several in one compiled program can deadlock.
    values, vectors = jnp.linalg.eigh(matrix)
    rate = 1 / values[-1]
    steps = jnp.floor(10 ** jax.random.uniform(keys[4], minval=0.0, maxval=math.log10(horizon)))
    pseudo = member[:n] + labels[:n] - truth[:n]
    targets = jnp.stack([flat(labels[:n]), flat(pseudo)], axis=1)
    final, gamma = train_beside_kernel(network, params, x, labels[:n], targets, matrix, rate, steps.astype(int))
    return Learned(
        target, schedule, times[n : n + _TEST], places[n : n + _TEST], x, labels[:n], truth[:n], member[:n], values,
        vectors, cross, rate, steps, coefficients @ own @ coefficients,
        network.predict(final, test), rows(cross @ gamma[:, 0], d),
        rows(cross @ gamma[:, 1], d), member[n:], truth[n : n + _TEST],
    )  # fmt: skip


_SIZES = {
    "n": Integer(16, 8, 32, "training points"),
    "width": Integer(64, 16, 1024, "hidden units, where one half mirrors the other", step=2),
    "horizon": Real(200.0, 10.0, 10_000.0, "largest number of steps"),
}


def _of_any_law(problem: Learned) -> list[Hypothesis]:
    """Return the hypotheses that second moments are finite, and the hypotheses on the schedule."""
    second = jnp.mean(jnp.sum(problem.labels**2, axis=1))
    return [
        Hypothesis("labels have a second moment", second, "<", jnp.inf, "all gaps are means of squares"),
        *problem.schedule.hypotheses(),
    ]


class TrainedScores(Population[Learned]):
    """Softmax networks trained on noised draws of data with a known denoiser, at inputs (t, x(t)).

    Args:
        law: the default distribution of the data.
        dimension: the default dimension of the data.
    """

    law: str = "cube"
    dimension: int = 2

    def settings(self) -> Space:
        law, d = dataclasses.replace(TARGET, default=self.law), dataclasses.replace(DIMENSION, default=self.dimension)
        allowed = lambda setting: setting["target"] != "sphere" or setting["d"] <= 3
        return Space(**_SIZES, target=law, d=d).where("a sphere is in dimension 1, 2 or 3", allowed)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Learned:
        return sampled_learned(key, setting["n"], setting["width"], setting["horizon"], setting["target"], setting["d"])

    def hypotheses(self, problem: Learned) -> list[Hypothesis]:
        return _of_any_law(problem)


class TrainedOnSquares(Population[Learned]):
    """Softmax networks trained on noised draws of data that are uniform on a square.

    The squares lie in the unit ball. Draws from mixtures of normal distributions do not. The denoiser of a square has
    one Lipschitz constant for all times. The denoiser of a sphere does not have such a constant.
    """

    settings = Space(**_SIZES)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Learned:
        return sampled_learned(key, setting["n"], setting["width"], setting["horizon"])

    def hypotheses(self, problem: Learned) -> list[Hypothesis]:
        """Return Assumptions 6.1 to 6.4 of the source as hypotheses. Leave out the required width n³ d³ exp(18 B) /
        lambda², which is above 1e20.
        """
        smallest = problem.values[0]
        return [
            *_of_any_law(problem),
            in_unit_ball(problem.inputs, "inputs", "Assumption 6.1"),
            in_unit_ball(problem.labels, "labels", "Assumption 6.1"),
            Hypothesis("H is positive definite (smallest eigenvalue)", smallest, ">", 1e-14, "Assumption 6.2"),
            Hypothesis("F* is Lipschitz in x at all times", problem.target.lipschitz, "<", jnp.inf, "Assumption 6.4"),
        ]
