"""Linear attention on linear regression: its layers are steps of gradient descent with a known least risk.

The theory covers transformers without activation on prompts of a linear function. A layer is a step of (preconditioned)
gradient descent from 0, and the best preconditioner and the risk of one layer are known. It assumes normal inputs and
weights for statements about the risk. It leaves open which weights training finds. Linear attention is the baseline for
the transformer of this subpackage, because linear attention is limited to linear functions of the inputs as given.

Let inputs have covariance S. Let y = <w, x> + z, where w ~ N(0, I) and the noise z has variance sigma². Suppose that a
predictor estimates w by w_hat. The mean squared error of its prediction of <w, x>, over x ~ N(0, S), is then
|S^(1/2) (w - w_hat)|². This is the risk.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.sampled import draws

ABOUT = {"tool": "convex optimisation", "architecture": "transformer in context", "object": "estimator", "problem": 2}


class LinearPrompt(eqx.Module):
    """Examples of a linear function.

    Args:
        x: inputs, normal with the variances `covariance`, one row per example.
        weights: the weights w of the linear function.
        noise: the noise z of each example.
        query: a further input, at which to predict.
        covariance: the eigenvalues of S, whose eigenvectors are the axes.
        variance: the variance sigma² of the noise.
    """

    x: Float[Array, "N d"]
    weights: Float[Array, " d"]
    noise: Float[Array, " N"]
    query: Float[Array, " d"]
    covariance: Float[Array, " d"]
    variance: Float[Array, ""]

    @property
    def y(self) -> Float[Array, " N"]:
        """The targets X w + z."""
        return self.x @ self.weights + self.noise

    def risk(self, found: Float[Array, " d"]) -> Float[Array, ""]:
        """Return |S^(1/2) (w - found)|², the risk of the weights `found`."""
        return jnp.sum(self.covariance * (self.weights - found) ** 2)


class LinearPrompts(Population[LinearPrompt]):
    """Normal inputs with the variances 1, 1/2, ..., 1/d, normal weights of variance 1, and normal noise."""

    settings = Space(
        N=Integer(16, 4, 256, "examples"),
        d=Integer(4, 1, 32, "columns"),
        noise=Real(0.5, 0.0, 4.0, "standard deviation of the noise"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearPrompt:
        count, d = setting["N"], setting["d"]
        covariance = 1 / jnp.arange(1.0, d + 1)
        x, weights, noise = draws(key, (count + 1, d), (d,), (count,))
        x = x * jnp.sqrt(covariance)
        variance = jnp.asarray(setting["noise"] ** 2, float)
        return LinearPrompt(x[:-1], weights, setting["noise"] * noise, x[-1], covariance, variance)

    def hypotheses(self, problem: LinearPrompt) -> list[Hypothesis]:
        return [Hypothesis("N >= 2", len(problem.x), ">=", 2)]


PREDICTION, TRAINING = "the prediction of linear attention", "what training finds"


def linear_attention(
    tokens: Float[Array, "e T"], value: Float[Array, "e e"], product: Float[Array, "e e"]
) -> Float[Array, "e T"]:
    """Return H + V H_N (H_N^T (Q^T K) H) / N, attention without activation over the tokens H_N of N examples.

    Args:
        tokens: the tokens H of the examples, and then of the query.
        value: the value matrix V, which maps tokens to what is added to them.
        product: the product Q^T K of query and key matrices.
    """
    examples = tokens[:, :-1]
    return tokens + value @ examples @ (examples.T @ product @ tokens) / examples.shape[1]


def regression_tokens(x: Float[Array, "N d"], y: Float[Array, " N"], query: Float[Array, " d"]) -> Float[Array, "e T"]:
    """Return the columns (x_i, y_i) and (query, 0); after the layers the last entry is minus the prediction.

    Args:
        x: inputs of the examples.
        y: their targets.
        query: the input at which to predict.
    """
    return jnp.concatenate([jnp.concatenate([x, query[None]]).T, jnp.append(y, 0.0)[None]])


def descent_layers(
    x: Float[Array, "N d"], y: Float[Array, " N"], query: Float[Array, " d"], gain: Float[Array, "d d"], layers: int
) -> Float[Array, ""]:
    """Return the prediction of linear attention with `layers` layers.

    The weights have Q^T K = gain on the entries x of a token and V = -1 on the entry y, and are 0 elsewhere.

    Args:
        x: inputs of the examples.
        y: the targets of the examples.
        query: the input at which to predict.
        gain: the preconditioner; a multiple of the identity is plain descent.
        layers: the number of layers of linear attention.
    """
    tokens, d = regression_tokens(x, y, query), x.shape[1]
    value = jnp.zeros((d + 1, d + 1), x.dtype).at[d, d].set(-1.0)
    product = jnp.zeros((d + 1, d + 1), x.dtype).at[:d, :d].set(gain)
    for _ in range(layers):
        tokens = linear_attention(tokens, value, product)
    return -tokens[-1, -1]


def best_gain(covariance: Float[Array, " d"], examples: int, noise: float | Array) -> Float[Array, " d"]:
    """Return the eigenvalues 1 / (s (1 + 1/N) + (tr S + sigma²)/N) of the best preconditioner, one for each s of S.

    It is the preconditioner for which one layer of linear attention has the least risk.

    This follows from E H² = S² (1 + 1/N) + S tr S / N, where H is the sample covariance of N normal inputs.

    Args:
        covariance: the eigenvalues of S.
        examples: the number of examples N.
        noise: the variance sigma² of the noise.
    """
    return 1 / (covariance * (1 + 1 / examples) + (covariance.sum() + noise) / examples)


def inverse_covariance(found: Array, problem: LinearPrompt) -> Array:
    """Return two false values for a control, with G = S^-1, the best G for infinite N, in place of the best G.

    They are the risk at G, and the mean of the risks at 0.9 G and 1.1 G, minus the risk at G.
    """
    s, count = problem.covariance, len(problem.x)
    second = s * (1 + 1 / count) + (s.sum() + problem.variance) / count  # of X^T y / N, over s
    return jnp.stack([jnp.sum(s - 2 * s + second), 0.01 * jnp.sum(second)])


class LayersAreDescent(Claim[LinearPrompt]):
    """Let X (N x d) be the inputs x_i and y the targets y_i of N examples. Let the tokens be (x_i, y_i), i = 1, ..., N,
    and (query, 0). Let a layer of linear attention be H <- H + V H_N (H_N^T (Q^T K) H) / N, where H_N are the tokens of
    the examples. Let Q^T K be eta I on the entries x of a token and 0 elsewhere, and let V be -1 on the entry y and 0
    elsewhere. Then T such layers predict <w_T, query>, where w_T is the result of T steps of gradient descent

        w <- w + (eta/N) X^T (y - X w)

    from 0 on the squared loss. The first layer alone predicts (eta/N) sum_i y_i <x_i, query>. The statement is tested
    for eta = 1/2 with T = 1 and 5.
    """

    title = "For in-context learning, a layer of linear attention can take a gradient step on a linear regression"
    source = Source("vonoswald2023", "Proposition 1")
    population = LinearPrompts()
    relation = Equal()
    control = Control("the prediction is half as large", lambda found, problem: found / 2)
    controls = PREDICTION
    unexplained = TRAINING

    def predict(self, problem: LinearPrompt) -> Array:
        weights, found = jnp.zeros_like(problem.weights), []
        for _ in range(5):
            weights = weights + 0.5 / len(problem.x) * problem.x.T @ (problem.y - problem.x @ weights)
            found.append(weights @ problem.query)
        return jnp.stack([found[0], found[-1]])

    def measure(self, problem: LinearPrompt, key: Key[Array, ""]) -> Array:
        gain = 0.5 * jnp.eye(len(problem.weights))
        return jnp.stack([descent_layers(problem.x, problem.y, problem.query, gain, layers) for layers in (1, 5)])

    def condition(self, problem: LinearPrompt) -> Array:
        """The condition number: sums of N products may cancel, and a step multiplies residuals by up to |I - eta H|."""
        growth = jnp.maximum(1.0, 0.5 * jnp.sum(problem.x**2) / len(problem.x)) ** jnp.asarray([1.0, 5.0])
        size = jnp.abs(problem.y).sum() * jnp.linalg.norm(problem.x, axis=1).max() * jnp.linalg.norm(problem.query)
        return growth * size / jnp.maximum(jnp.abs(self.predict(problem)), 1e-12 * size)


class BestPreconditioner(Claim[LinearPrompt]):
    """Let N normal inputs X have covariance S with eigenvalues s. Let the targets be y = X w + z, where w ~ N(0, I) and
    the noise z has variance sigma². One layer of linear attention with Q^T K = G predicts <G X^T y / N, query>. For
    each s, let

        g_s = 1 / (s (1 + 1/N) + (tr S + sigma²)/N).

    The smallest risk of this layer over all G is

        sum_s s (1 - s g_s).

    The matrix G with the eigenvalues g_s and the eigenvectors of S attains this smallest risk. This G is smaller than
    S^(-1), because the number of examples is finite and the targets are noisy. The test measures two numbers. The first
    is the risk at G. The second is the mean of the risks at 0.9 G and 1.1 G, minus the risk at G. The second number is
    predicted to be 0.01 sum_s s² g_s.
    """

    title = "Linear attention's best preconditioner for in-context linear regression is a damped inverse covariance"
    source = Source("ahn2023", "Theorem 1")
    population = LinearPrompts()
    relation = EqualInMean(resolution=0.14, over="problems")  # the risk is a mean over prompts
    control = Control("the best preconditioner is G = S^-1", inverse_covariance)
    controls = PREDICTION
    unexplained = TRAINING
    trials = 4000

    def predict(self, problem: LinearPrompt) -> Array:
        s = problem.covariance
        gain = best_gain(s, len(problem.x), problem.variance)
        return jnp.stack([jnp.sum(s * (1 - s * gain)), 0.01 * jnp.sum(s**2 * gain)])

    def measure(self, problem: LinearPrompt, key: Key[Array, ""]) -> Array:
        gain = best_gain(problem.covariance, len(problem.x), problem.variance)
        moment = problem.x.T @ problem.y / len(problem.x)
        low, middle, high = (problem.risk(factor * gain * moment) for factor in (0.9, 1.0, 1.1))
        return jnp.stack([middle, (low + high) / 2 - middle])


def risk_at_the_covariance(found: Array, problem: LinearPrompt) -> Array:
    """Return the posterior variance with X^T X replaced by its mean N S, for a control.

    By Jensen's inequality it is below the mean posterior variance, because the inverse is convex.
    """
    s = problem.covariance
    return jnp.sum(problem.variance * s / (len(problem.x) * s + problem.variance))


class RidgeIsBayes(Claim[LinearPrompt]):
    """Let a prompt have N examples with inputs X of covariance S and targets y = X w + z. Here w ~ N(0, I), and the
    normal noise z has variance sigma². The risk is the mean squared error of predictions of <w, x> for new inputs x.
    The smallest risk of any predictor from these examples is that of ridge regression with the ridge sigma²,

        sigma² E tr S (X^T X + sigma² I)^(-1),

    because ridge regression gives the posterior mean of w. So no transformer has a smaller risk, however many layers it
    has.
    """

    title = "No transformer predicts linear functions in context better than ridge regression"
    source = Source("ahn2023", "Section 2", note="the Bayes-optimal predictor")
    population = LinearPrompts()
    relation = EqualInMean(resolution=0.1, over="problems")  # the risk is a mean over prompts
    control = Control("X^T X is replaced by N S", risk_at_the_covariance)
    controls = PREDICTION
    unexplained = TRAINING
    trials = 2000

    def predict(self, problem: LinearPrompt) -> Array:
        """Return the posterior variance of a prediction at x ~ N(0, S), given the inputs of the examples."""
        precision = problem.x.T @ problem.x + problem.variance * jnp.eye(problem.x.shape[1])
        return problem.variance * jnp.sum(problem.covariance * jnp.diag(_inverse(precision)))

    def measure(self, problem: LinearPrompt, key: Key[Array, ""]) -> Array:
        """Return the risk of ridge regression, whose weights are computed by conjugate gradients."""
        return problem.risk(ridge_by_descent(problem))


def ridge_by_descent(problem: LinearPrompt, steps: int = 60) -> Float[Array, " d"]:
    """Return ridge regression weights w by conjugate gradients, in the Krylov space of X^T y.

    Args:
        problem: the prompt.
        steps: the number of iterations.
    """
    target = problem.x.T @ problem.y
    apply = lambda w: problem.x.T @ (problem.x @ w) + problem.variance * w
    weights, residual, direction = jnp.zeros_like(target), target, target
    for _ in range(min(steps, 2 * len(target))):
        moved = apply(direction)
        square = residual @ residual
        rate = square / jnp.maximum(direction @ moved, jnp.finfo(target.dtype).tiny)
        weights, residual = weights + rate * direction, residual - rate * moved
        direction = residual + residual @ residual / jnp.maximum(square, jnp.finfo(target.dtype).tiny) * direction
    return weights


def _inverse(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Invert a small positive definite matrix by Gauss-Jordan elimination, which avoids LAPACK under vmap."""
    d = len(matrix)
    both = jnp.concatenate([matrix, jnp.eye(d, dtype=matrix.dtype)], axis=1)
    for j in range(d):
        row = both[j] / both[j, j]
        both = (both - both[:, j : j + 1] * row).at[j].set(row)
    return both[:, d:]
