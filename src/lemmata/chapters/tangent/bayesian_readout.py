"""Bayesian readouts: regression on the last hidden layer of a random network, and the Gaussian process it tends to.

This theory controls Bayesian linear regression on the m features of a random network, the weights of its readout having
a standard normal prior: at every m it is Gaussian-process regression with the features' own kernel, and as m grows it
tends to that with the NNGP kernel. It assumes normal noise of known variance and a network below the readout that is
not trained; it leaves unexplained the posterior over all weights at finite width.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float, Key

from lemmata.architectures import Dense, Erf, NNGPKernel, Serial
from lemmata.claims import Claim, Control, Equal, Hypothesis, Integer, Rate, Real, Source, Space
from lemmata.kernels import gram
from lemmata.problems._sampled import draws
from lemmata.solvers import Posterior, Solution, posterior

from lemmata.problems._drawn_networks import drawn_parameters

_WIDTHS = (32.0, 128.0, 512.0, 2048.0)
_WIDTH = 16


class NoisyValues(eqx.Module):
    """Noisy values of a function at points, and other points where it is asked for.

    Args:
        x: the points.
        y: the values.
        others: the other points.
        noise: variance of the noise.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    others: Float[Array, "t d"]
    noise: Float[Array, ""]


class NoisyFeatures(eqx.Module):
    """The features of a random network at points with noisy values, and at other points.

    Args:
        known: at the points.
        asked: at the other points.
        y: the values.
        noise: variance of the noise.
    """

    known: Float[Array, "n m"]
    asked: Float[Array, "t m"]
    y: Float[Array, " n"]
    noise: Float[Array, ""]


def hidden_network(width: int) -> Serial:
    """One hidden layer of error functions without its readout."""
    return Serial([Dense(width, 1.5, 0.5), Erf()])


def features(network: Serial, params: tuple, points: Float[Array, "p d"]) -> Float[Array, "p m"]:
    """The outputs of the last hidden layer over sqrt(m), as the readout sees them."""
    values = jax.vmap(lambda point: network.apply(params, point))(points)
    return values / values.shape[1] ** 0.5


def readout_posterior(
    known: Float[Array, "n m"], asked: Float[Array, "t m"], y: Float[Array, " n"], noise: Float[Array, ""]
) -> Posterior:
    """Bayesian linear regression in the space of the m weights, which have a standard normal prior.

    With Phi = `known` and S = (I + Phi'Phi/noise)^-1 the weights are N(S Phi'y/noise, S) given y.

    Args:
        known: features of the points, one row a point.
        asked: features of the other points.
        y: values.
        noise: variance of the noise.
    """
    factor = jnp.linalg.cholesky(jnp.eye(known.shape[1]) + known.T @ known / noise)
    mean = cho_solve((factor, True), known.T @ y) / noise
    half = solve_triangular(factor, asked.T, lower=True)
    return Posterior(asked @ mean, half.T @ half)


def process_posterior(matrix: Float[Array, "p p"], y: Float[Array, " n"], noise: Float[Array, ""]) -> Posterior:
    """The posterior at the other points from the kernel matrix of all: the n points with values first.

    Args:
        matrix: the kernel of points and other points.
        y: values.
        noise: variance of the noise.
    """
    n = len(y)
    factor = jnp.linalg.cholesky(matrix[:n, :n] + noise * jnp.eye(n))
    zero = jnp.zeros(())
    solved = Solution(cho_solve((factor, True), y), noise, zero, zero, factor)
    return posterior(solved, matrix[n:, :n], matrix[n:, n:])


def _flat(found: Posterior) -> Array:
    return jnp.concatenate([found.mean.reshape(-1), found.covariance.reshape(-1)])


def _settings(n: int) -> Space:
    return Space(
        n=Integer(n, 2, 24, "points"),
        d=Integer(3, 1, 16, "dimension"),
        noise=Real(0.1, 0.01, 10.0, "variance of the noise"),
    )


def _draw(setting: dict, key: Key[Array, ""]) -> NoisyValues:
    n, d = setting["n"], setting["d"]
    x, y, others = draws(key, (n, d), (n,), (3, d))
    return NoisyValues(x, y, others, jnp.asarray(setting["noise"], float))


def _positive(noise: Float[Array, ""]) -> Hypothesis:
    return Hypothesis("the noise is positive", noise, ">", 0.0, "without noise the posterior need not exist")


class ReadoutIsProcess(Claim[NoisyFeatures]):
    """Bayesian linear regression on the m features phi of a random network, the weights of the readout standard normal
    before the data, has the mean and the covariance of the Gaussian process with kernel <phi(x), phi(y)>, at every m.
    """

    title = "A Bayesian readout is a Gaussian process at every width"
    source = Source("rasmussen2006", "(2.11)", "(2.12)")
    relation = Equal()
    label = "identity"
    controls = "the predictions of a Bayesian readout, and their covariance"
    unexplained = "layers below the readout that learn"
    problem = NoisyFeatures
    trials = 128

    def settings(self) -> Space:
        """Points, dimension and noise."""
        return _settings(8)

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyFeatures:
        """A random network at standard normal points, with standard normal values."""
        value_key, network_key = jax.random.split(key)
        drawn, network = _draw(setting, value_key), hidden_network(_WIDTH)
        (params,) = drawn_parameters([network], setting["d"], network_key)
        known, asked = (features(network, params, points) for points in (drawn.x, drawn.others))
        return NoisyFeatures(known, asked, drawn.y, drawn.noise)

    def hypotheses(self, problem: NoisyFeatures) -> list[Hypothesis]:
        """Noise."""
        return [_positive(problem.noise)]

    def predict(self, problem: NoisyFeatures) -> Array:
        """Mean and covariance of the process, from the matrix of products."""
        both = jnp.concatenate([problem.known, problem.asked])
        return _flat(process_posterior(both @ both.T, problem.y, problem.noise))

    def measure(self, problem: NoisyFeatures, key: Key[Array, ""]) -> Array:
        """Mean and covariance of the regression, in the space of weights."""
        return _flat(readout_posterior(problem.known, problem.asked, problem.y, problem.noise))

    def condition(self, problem: NoisyFeatures) -> Array:
        """1 + tr(K)/noise bounds that of both systems, K + noise I and I + Phi'Phi/noise."""
        return 1 + jnp.sum(problem.known**2) / problem.noise

    def control(self) -> Control:
        """The covariance of noisy values in place of the function's."""
        noisy = lambda flat, problem: flat.at[len(problem.asked)].add(problem.noise)
        return Control("noise is part of the covariance", noisy)


class ReadoutTendsToNNGP(Claim[NoisyValues]):
    """The posterior mean and covariance of Bayesian linear regression on the m features of a random network differ from
    those of the Gaussian process with the NNGP kernel, root mean square over the points, by

        C m^(-1/2).
    """

    title = "The Bayesian readout tends to the NNGP posterior"
    source = Source("lee2018", "Section 2.1", "Section 2.3", note="a mean of m independent terms has the rate m^(-1/2)")
    # The kernel's error is exactly C²/m in mean square; the posterior is smooth in it, with noise as the scale: the
    # next order is a relative c/m. From m = 32 to 2048 it turns the slope by log(1 + c/32)/(2 log 64), 0.03 at c = 9.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.03, resolution=0.1)
    label = "rate"
    controls = "the predictions of a Bayesian readout, and their covariance"
    unexplained = "the constant, and layers below the readout that learn"
    problem = NoisyValues
    trials = 128

    def settings(self) -> Space:
        """Points, dimension and noise."""
        return _settings(6)

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyValues:
        """Standard normal points and values."""
        return _draw(setting, key)

    def hypotheses(self, problem: NoisyValues) -> list[Hypothesis]:
        """Noise."""
        return [_positive(problem.noise)]

    def predict(self, problem: NoisyValues) -> Array:
        """The exponent."""
        return jnp.asarray(-0.5)

    def measure(self, problem: NoisyValues, key: Key[Array, ""]) -> Array:
        """The distance of both moments, over the size of the limit's, with new features at every width."""
        points = jnp.concatenate([problem.x, problem.others])
        networks = [hidden_network(int(width)) for width in _WIDTHS]
        params = drawn_parameters(networks, points.shape[1], key)
        drawn = [features(network, own, points) for network, own in zip(networks, params, strict=True)]
        # the readout's prior variance 1 is that of the NTK parameterisation
        limit = gram(NNGPKernel(Serial([*hidden_network(1).layers, Dense(1)])), points)
        matrices = jnp.stack([limit, *(values @ values.T for values in drawn)])
        moments = jax.vmap(lambda matrix: _flat(process_posterior(matrix, problem.y, problem.noise)))(matrices)
        return jnp.linalg.norm(moments[1:] - moments[0], axis=1) / jnp.linalg.norm(moments[0])

    def control(self) -> Control:
        """The rate of a bias."""
        return Control("the posterior converges as 1/m", lambda exponent, problem: 2 * exponent)
