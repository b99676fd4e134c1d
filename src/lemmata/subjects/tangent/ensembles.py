"""Ensembles: over the initial draws, the outputs of trained wide networks are a known Gaussian process at every time.

This theory gives the mean and the covariance of the outputs of a wide network in the NTK parameterisation during
training on squared loss. Both follow in closed form from the tangent kernel Theta and the NNGP kernel K (the covariance
of the outputs before training) at infinite width. The theory assumes a width well above the number of points, and
gradient flow, which means small steps. It does not give the correction of order 1/width; if this correction matters,
the trials estimate it from two widths.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import NNGPKernel, TangentKernel, relu_network
from lemmata.engine.claims import Claim, Control, EqualInMean, Source
from lemmata.kernels import gram
from lemmata.networks import train
from lemmata.solvers import gradient_flow
from lemmata.spectra import Spectrum
from lemmata.subjects.tangent._drawn_networks import drawn_parameters
from lemmata.subjects.tangent._training_sets import Fit, SphericalFits, trace_step

ABOUT = {"tool": "Gaussian processes", "architecture": "dense network", "object": "training"}

_SOURCE = Source("lee2019", "(14)", "(15)", note="section 2.3.1")
# Steps of size 1/(25 tr Theta): with descent instead of flow, exp(-x) is at most x exp(-x)/50 <= 0.0074 smaller.
_RECORDS = (60, 80, 120)
_SHORT = 25.0
_WIDTH = 64
_PAIRS, _MEMBERS = 4, 32


def flow_operator(theta: Float[Array, "p p"], n: int, times: tuple[float, ...]) -> Float[Array, "s t n"]:
    """Return A(t) = Theta_*X Theta_XX^-1 (I - exp(-Theta_XX t)), the map from targets to outputs at other points.

    X are the points with targets, and * the other points.

    Args:
        theta: the tangent kernel of all points. The points with targets come first.
        n: the number of points with targets.
        times: the times t, in units of 1/tr Theta_XX.
    """
    own = theta[:n, :n]
    scale = jnp.trace(own)
    values, vectors = jnp.linalg.eigh(own / scale)
    floor = 16 * n * jnp.finfo(values.dtype).eps * values[-1]
    modes = Spectrum(jnp.maximum(values[::-1], 0.0), vectors[:, ::-1], floor, values[0])
    return _on_others(gradient_flow(modes, jnp.eye(n), times, theta[n:, :n] / scale).test)


def _on_others(found: Array | None) -> Array:
    assert found is not None
    return found


def ensemble_mean(theta: Float[Array, "p p"], y: Float[Array, " n"], times: tuple[float, ...]) -> Float[Array, "s t"]:
    """Return E f_t(x_*) = A(t) y, the mean over the initial draws of the network.

    Args:
        theta: the tangent kernel of all points. The points with targets come first.
        y: the targets.
        times: the times t, in units of 1/tr Theta_XX.
    """
    return flow_operator(theta, len(y), times) @ y


def ensemble_covariance(
    theta: Float[Array, "p p"], nngp: Float[Array, "p p"], n: int, times: tuple[float, ...]
) -> Float[Array, "s t t"]:
    """Return Cov f_t(x_*) = K_** + A K_XX A' - A K_X* - (A K_X*)', A = A(t), over the initial draws.

    To leading order, f_t = f_0 - A f_0(X) + A y, where f_0 is a Gaussian process with covariance K.

    Args:
        theta: the tangent kernel of all points. The points with targets come first.
        nngp: the NNGP kernel K of the same points.
        n: the number of points with targets.
        times: the times t, in units of 1/tr Theta_XX.
    """
    operator = flow_operator(theta, n, times)
    mixed = operator @ nngp[:n, n:]
    learned = operator @ nngp[:n, :n] @ jnp.swapaxes(operator, 1, 2)
    return nngp[n:, n:] + learned - mixed - jnp.swapaxes(mixed, 1, 2)


def trained_outputs(
    problem: Fit, width: int, members: int, key: Key[Array, ""], *, antithetic: bool = False
) -> Float[Array, "members s t"]:
    """Return the outputs of independent networks at the other points, at several times of gradient descent.

    Args:
        problem: the training points with targets, and the other points.
        width: the width of the networks' hidden layer.
        members: the number of networks.
        key: the key that draws the networks.
        antithetic: whether to add, for each network, a copy whose readout has the opposite sign; this gives 2 *
            members networks.
    """
    network = relu_network(depth=1, width=width)
    (params,) = drawn_parameters([network], problem.x.shape[1], key, members)
    if antithetic:
        hidden, activation, readout = params
        signs = {"weight": jnp.concatenate([readout["weight"], -readout["weight"]])}
        params = (jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf]), hidden), activation, signs)
    rate = trace_step(problem.x) / _SHORT

    def outputs(own: tuple) -> Array:
        run = train(
            network,
            own,
            problem.x,
            problem.y[:, None],
            learning_rate=rate,
            steps=_RECORDS[-1],
            record_at=_RECORDS,
            x_test=problem.others,
        )
        return _on_others(run.test)[:, :, 0]

    return jax.vmap(outputs)(params)


def _kernels(problem: Fit) -> tuple[Array, Array]:
    network, points = relu_network(depth=1), jnp.concatenate([problem.x, problem.others])
    return gram(TangentKernel(network), points), gram(NNGPKernel(network), points)


_TIMES = tuple(step / _SHORT for step in _RECORDS)


def _towards_nearest(problem: Fit, outputs: Float[Array, "s t"]) -> Float[Array, " s"]:
    # the nearest point's target, a fixed direction in which the prediction is large on average
    nearest = jnp.argmax(problem.others @ problem.x.T, axis=1)
    return outputs @ problem.y[nearest]


def _readout_alone(mean: Array, problem: Fit) -> Array:
    # for equal times, because tr K is half of tr Theta
    _, nngp = _kernels(problem)
    return _towards_nearest(problem, ensemble_mean(nngp, problem.y, tuple(time / 2 for time in _TIMES)))


class EnsembleMean(Claim[Fit]):
    """Train a wide ReLU network by gradient flow on n points X with targets y. Let f_t be its output at time t, and let
    Theta be the tangent kernel of the infinitely wide network. At every time t and every point x, the mean of f_t over
    initial draws of the network is

        E f_t(x) = Theta(x, X) Theta(X, X)^-1 (I - exp(-Theta(X, X) t)) y

    up to a correction of order 1/width. The formula is the prediction of kernel regression with Theta under gradient
    flow up to time t. The test estimates the correction of order 1/width from the widths 64 and 128, and removes it.
    The test compares one number at each time: the sum over new points of the output times the target of the nearest
    training point.
    """

    title = "An ensemble of wide networks in gradient flow predicts, on average, like tangent kernel regression"
    source = _SOURCE
    population = SphericalFits()
    # |y| = 1. Descent in place of flow costs 0.0074 on a mode, the correction that is left c/64² with c some tens.
    relation = EqualInMean(margin=0.015, resolution=0.007, relative=False)
    control = Control("the hidden weights are not trained, so the NNGP kernel replaces Theta", _readout_alone)
    controls = "the average prediction of trained networks"
    unexplained = "the correction of order 1/width; networks that learn features"
    trials = 64

    def predict(self, problem: Fit) -> Array:
        theta, _ = _kernels(problem)
        return _towards_nearest(problem, ensemble_mean(theta, problem.y, _TIMES))

    def measure(self, problem: Fit, key: Key[Array, ""]) -> Array:
        """The mean over networks and their sign-flipped copies: twice the mean at width 128 minus the mean at 64."""
        narrow, wide = (
            jnp.mean(trained_outputs(problem, width, _PAIRS, own, antithetic=True), axis=0)
            for own, width in zip(jax.random.split(key), (_WIDTH, 2 * _WIDTH), strict=True)
        )
        return _towards_nearest(problem, 2 * wide - narrow)


def _uncorrelated(variance: Array, problem: Fit) -> Array:
    theta, nngp = _kernels(problem)
    n = len(problem.y)
    mixed = flow_operator(theta, n, _TIMES) @ nngp[:n, n:]
    return variance + 2 * jnp.mean(jnp.diagonal(mixed, axis1=1, axis2=2), axis=1)


class EnsembleVariance(Claim[Fit]):
    """Train a wide ReLU network by gradient flow on points X, and let f_t be its output at time t. Let Theta be the
    tangent kernel of the infinitely wide network, and let K be its NNGP kernel, the covariance of the outputs before
    training. At every time t and every point x, consider the variance of f_t over initial draws of the network. Up to a
    correction of order 1/width, this variance is

        K(x, x) + A K(X, X) A' - 2 A K(X, x),    A = Theta(x, X) Theta(X, X)^-1 (I - exp(-Theta(X, X) t)).

    The test compares the mean of this variance over three new points.
    """

    title = "The variance of an ensemble of wide trained networks follows from the tangent kernel and the NNGP kernel"
    source = _SOURCE
    population = SphericalFits()
    # the correction is a relative c/m, allowed here up to c = 3 at m = 64; using descent instead of flow costs less
    # than 0.01
    relation = EqualInMean(margin=0.05, resolution=0.1)
    control = Control("the initial outputs are independent between points", _uncorrelated)
    controls = "the spread of the predictions of trained networks"
    unexplained = "the correction of order 1/width; networks that learn features"
    trials = 128

    def predict(self, problem: Fit) -> Array:
        theta, nngp = _kernels(problem)
        covariance = ensemble_covariance(theta, nngp, len(problem.y), _TIMES)
        return jnp.mean(jnp.diagonal(covariance, axis1=1, axis2=2), axis=1)

    def measure(self, problem: Fit, key: Key[Array, ""]) -> Array:
        outputs = trained_outputs(problem, _WIDTH, _MEMBERS, key)
        return jnp.mean(jnp.var(outputs, axis=0, ddof=1), axis=1)
