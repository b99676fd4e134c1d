"""Bayesian readouts: regression on the last hidden layer of a random network, and its limit, a Gaussian process.

This theory is about Bayesian linear regression on the m features of a random network, the values of its last hidden
layer. The readout weights have a standard normal prior. At every m, this regression is Gaussian-process regression with
the kernel of inner products of features. As m grows, it tends to Gaussian-process regression with the NNGP kernel, the
covariance of the outputs at infinite width. The theory assumes normal noise of known variance and a network below the
readout that is not trained. It does not explain the posterior over all weights at finite width.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float, Key

from lemmata.architectures import Dense, Erf, NNGPKernel, Serial
from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Rate, Real, Source, Space
from lemmata.engine.problems.sampled import draws
from lemmata.kernels import gram
from lemmata.solvers import Posterior, Solution, posterior
from lemmata.subjects.tangent._drawn_networks import drawn_parameters

ABOUT = {"tool": "Gaussian processes", "architecture": "dense network", "object": "estimator"}


class NoisyValues(eqx.Module):
    """Noisy values of a function at points, and other points at which the function is evaluated.

    Args:
        x: the points with values.
        y: the noisy values.
        others: the other points, at which the function is predicted.
        noise: the variance of the noise.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    others: Float[Array, "t d"]
    noise: Float[Array, ""]


class NoisyFeatures(eqx.Module):
    """The features of a random network at points with noisy values, and at other points.

    Args:
        known: the features of the points with values, one row for each point.
        asked: the features of the other points, one row for each point.
        y: the noisy values.
        noise: the variance of the noise.
    """

    known: Float[Array, "n m"]
    asked: Float[Array, "t m"]
    y: Float[Array, " n"]
    noise: Float[Array, ""]


def hidden_network(width: int) -> Serial:
    """Return a network of one hidden layer with the error function as activation, without the readout."""
    return Serial([Dense(width, 1.5, 0.5), Erf()])


def features(network: Serial, params: tuple, points: Float[Array, "p d"]) -> Float[Array, "p m"]:
    """Return the outputs of the last hidden layer, divided by sqrt(m)."""
    values = jax.vmap(lambda point: network.apply(params, point))(points)
    return values / values.shape[1] ** 0.5


def _space(n: int) -> Space:
    return Space(
        n=Integer(n, 2, 24, "points"),
        d=Integer(3, 1, 16, "dimension"),
        noise=Real(0.1, 0.01, 10.0, "variance of the noise"),
    )


def _drawn(setting: dict, key: Key[Array, ""]) -> NoisyValues:
    n, d = setting["n"], setting["d"]
    x, y, others = draws(key, (n, d), (n,), (3, d))
    return NoisyValues(x, y, others, jnp.asarray(setting["noise"], float))


def _positive(noise: Float[Array, ""]) -> Hypothesis:
    return Hypothesis("the noise is positive", noise, ">", 0.0, "without noise the posterior may not exist")


class NoisyFunctions(Population[NoisyValues]):
    """Standard normal points with standard normal values, and three other points."""

    settings = _space(6)

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyValues:
        return _drawn(setting, key)

    def hypotheses(self, problem: NoisyValues) -> list[Hypothesis]:
        return [_positive(problem.noise)]


class RandomReadouts(Population[NoisyFeatures]):
    """Features of a random network at standard normal points with standard normal values, and at other points."""

    settings = Space(**_space(8).variables, m=Integer(6, 1, 64, "units", corners=(2, 32)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyFeatures:
        """Draw points and values, and the features that a random network has at these points."""
        value_key, network_key = jax.random.split(key)
        drawn, network = _drawn(setting, value_key), hidden_network(setting["m"])
        (params,) = drawn_parameters([network], setting["d"], network_key)
        known, asked = (features(network, params, points) for points in (drawn.x, drawn.others))
        return NoisyFeatures(known, asked, drawn.y, drawn.noise)

    def hypotheses(self, problem: NoisyFeatures) -> list[Hypothesis]:
        return [_positive(problem.noise)]


def readout_posterior(
    known: Float[Array, "n m"], asked: Float[Array, "t m"], y: Float[Array, " n"], noise: Float[Array, ""]
) -> Posterior:
    """Return the posterior of Bayesian linear regression, computed in the space of the m weights.

    Let Phi = `known` and S = (I + Phi'Phi/noise)^-1. The weights have a standard normal prior. Given y, they are N(S
    Phi'y/noise, S).

    Args:
        known: the features of the points with values, one row for each point.
        asked: the features of the other points, one row for each point.
        y: the noisy values.
        noise: the variance of the noise.
    """
    factor = jnp.linalg.cholesky(jnp.eye(known.shape[1]) + known.T @ known / noise)
    mean = cho_solve((factor, True), known.T @ y) / noise
    half = solve_triangular(factor, asked.T, lower=True)
    return Posterior(asked @ mean, half.T @ half)


def process_posterior(matrix: Float[Array, "p p"], y: Float[Array, " n"], noise: Float[Array, ""]) -> Posterior:
    """Return the posterior at the other points from the kernel matrix of all points, those with values first.

    Args:
        matrix: the kernel matrix of all points.
        y: the noisy values.
        noise: the variance of the noise.
    """
    n = len(y)
    factor = jnp.linalg.cholesky(matrix[:n, :n] + noise * jnp.eye(n))
    zero = jnp.zeros(())
    solved = Solution(cho_solve((factor, True), y), noise, zero, zero, factor)
    return posterior(solved, matrix[n:, :n], matrix[n:, n:])


def _flat(found: Posterior) -> Array:
    return jnp.concatenate([found.mean.reshape(-1), found.covariance.reshape(-1)])


def _of_process(problem: NoisyFeatures, noise: Float[Array, ""]) -> Array:
    both = jnp.concatenate([problem.known, problem.asked])
    return _flat(process_posterior(both @ both.T, problem.y, noise))


class ReadoutIsProcess(Claim[NoisyFeatures]):
    """Let phi(x) be the m features of a random network at an input x, that is, the values of its last hidden layer.
    Given n function values with normal noise of known variance, consider Bayesian linear regression on these features.
    The prior of the m readout weights is standard normal. Compare this regression with Gaussian process regression on
    the same values, whose kernel is the inner product <phi(x), phi(x')> of two inputs x and x'. For every m, the
    posterior means of the function are equal, and so are the posterior covariances.
    """

    title = "Bayesian regression on a random network's last hidden layer is Gaussian process regression at every width"
    source = Source("rasmussen2006", "(2.11)", "(2.12)")
    population = RandomReadouts()
    # entries of mean and covariance are sums that cancel; the condition number is that of the largest of them
    relation = Equal(block=1)
    control = Control("the noise variance is doubled", lambda moments, problem: _of_process(problem, 2 * problem.noise))
    controls = "the predictions of a Bayesian readout, and their covariance"
    unexplained = "what training the layers below the readout changes"

    def predict(self, problem: NoisyFeatures) -> Array:
        return _of_process(problem, problem.noise)

    def measure(self, problem: NoisyFeatures, key: Key[Array, ""]) -> Array:
        return _flat(readout_posterior(problem.known, problem.asked, problem.y, problem.noise))

    def condition(self, problem: NoisyFeatures) -> Array:
        """The bound 1 + tr(K)/noise on the condition numbers of K + noise I and I + Phi'Phi/noise."""
        return 1 + jnp.sum(problem.known**2) / problem.noise


class ReadoutTendsToNNGP(Claim[NoisyValues]):
    """Let the m features of a random network at an input be the values of its last hidden layer, divided by sqrt(m).
    Consider Bayesian linear regression on these features, with a standard normal prior for the readout weights. As m
    grows, the inner products of the features tend to the NNGP kernel, the covariance of the network's outputs at
    infinite width. Compare the posterior of this regression with the posterior of Gaussian process regression with the
    NNGP kernel. The root mean square difference between the two posteriors, over their means and covariances at new
    points, is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The Bayesian readout of m random features tends to the NNGP posterior at rate m^(-1/2)"
    source = Source("lee2018", "Section 2.1", "Section 2.3", note="a mean of m independent terms has the rate m^(-1/2)")
    population = NoisyFunctions()
    # The kernel's error is exactly C²/m in mean square. The posterior is smooth in it, on the scale of the noise, so
    # the next order is a relative c/m. From m = 32 to 2048 it turns the slope by log(1 + c/32)/(2 log 64), 0.03 at c =
    # 9.
    relation = Rate(along="m", rungs=(32.0, 128.0, 512.0, 2048.0), margin=0.03, resolution=0.1)
    control = Control("the posterior converges as 1/m", lambda exponent, problem: 2 * exponent)
    controls = "the predictions of a Bayesian readout, and their covariance"
    unexplained = "the constant, and what training the layers below the readout changes"
    trials = 128
    predict = -0.5

    def measure(self, problem: NoisyValues, key: Key[Array, ""]) -> Array:
        """The distance of posterior mean and covariance from their limits, relative to the limits, at each width.

        Each width has new features.
        """
        points = jnp.concatenate([problem.x, problem.others])
        networks = [hidden_network(int(width)) for width in self.relation.rungs]
        params = drawn_parameters(networks, points.shape[1], key)
        drawn = [features(network, own, points) for network, own in zip(networks, params, strict=True)]
        # the readout's prior variance 1 is that of the NTK parameterisation
        limit = gram(NNGPKernel(Serial([*hidden_network(1).layers, Dense(1)])), points)
        matrices = jnp.stack([limit, *(values @ values.T for values in drawn)])
        moments = jax.vmap(lambda matrix: _flat(process_posterior(matrix, problem.y, problem.noise)))(matrices)
        return jnp.linalg.norm(moments[1:] - moments[0], axis=1) / jnp.linalg.norm(moments[0])
