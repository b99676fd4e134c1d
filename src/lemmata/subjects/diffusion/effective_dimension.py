"""Bounds on the error of a score by the effective dimension of kernel regression, without the smallest eigenvalue.

This theory bounds the error of a score that is learned by regression with the softmax kernel on noised data, in
expectation over the labels. The bound has a bias and a variance, which are sums over the eigenvalues of the kernel
matrix. The theory assumes neither a Lipschitz denoiser nor a wide network. It does not explain how the effective
dimension grows with the number of points, or how far a network is from the regression (`softmax_training.coupling`).
"""

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Choice,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.schedules import Schedule, loss_weight, sampled_schedule, score_from_denoiser
from lemmata.engine.problems.targets import AbstractTarget, sampled_target
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.subjects.diffusion._diffusion import training_set

ABOUT = {"tool": "spectral theory", "architecture": "diffusion model", "object": "score", "problem": 3}


class NoisedRegression(eqx.Module):
    """Pairs of noised and clean data, given by their kernel and by the distribution of the labels.

    Args:
        target: the distribution of the data.
        schedule: the noise schedule.
        times: the times t_i.
        places: the noised data x(t_i).
        inputs: the inputs (t_i, x(t_i)), divided by the length of the longest input.
        matrix: the softmax kernel matrix K on the inputs.
        truth: the denoiser F* at the inputs, which is the mean of the label x(0)_i.
        variances: the variance E |x(0)_i - F*|² of the label given the input.
        score: the score grad log p_t at the places, where p_t is the density of noised data at time t.
        ridge: the ridge nu, which the regression adds to the diagonal of K.
    """

    target: AbstractTarget
    schedule: Schedule
    times: Float[Array, " n"]
    places: Float[Array, "n d"]
    inputs: Float[Array, "n e"]
    matrix: Float[Array, "n n"]
    truth: Float[Array, "n d"]
    variances: Float[Array, " n"]
    score: Float[Array, "n d"]
    ridge: Float[Array, ""]


@functools.partial(jax.jit, static_argnums=(3, 4, 5))
def _noised_regression(key: Array, sigma: Array, ridge: Array, n: int, d: int, law: str) -> NoisedRegression:
    schedule_key, target_key, data_key = jax.random.split(key, 3)
    schedule, target = sampled_schedule(schedule_key), sampled_target(target_key, law, d)
    times, places, _ = training_set(data_key, target, schedule, n)
    raw = jnp.concatenate([times[:, None], places], axis=1)
    inputs = raw / jnp.linalg.norm(raw, axis=1).max()
    at = lambda function: jax.vmap(lambda t, x: function(schedule, t, x))(times, places)
    # Cov(x(0) | x(t)) is (1 - alpha²)/alpha times the derivative of the denoiser: diffusion.denoisers.
    slopes = jnp.trace(at(jax.jacfwd(target.denoiser, argnums=2)), axis1=1, axis2=2)
    variances = schedule.variance(times) / schedule.scale(times) * slopes
    matrix = gram(SoftmaxTangent(sigma), inputs)
    return NoisedRegression(
        target, schedule, times, places, inputs, matrix, at(target.denoiser), variances, at(target.score), ridge
    )


class NoisedRegressions(Population[NoisedRegression]):
    """Noised draws from a sphere or a cube, with the tangent kernel of an infinitely wide softmax network.

    Args:
        rows: the default number of training points.
    """

    rows: int = 128

    def settings(self) -> Space:
        return Space(
            n=Integer(self.rows, 8, 512, "training points", corners=(3 * self.rows // 4, self.rows)),
            d=Integer(2, 1, 3, "dimension of the data", corners=(1, 2)),
            sigma=Real(0.5, 0.3, 1.0, "standard deviation of the hidden weights", corners=(0.4, 0.6)),
            ridge=Real(2.0, 0.1, 10.0, "ridge nu", corners=(1.0, 3.0)),
            target=Choice("sphere", ("cube", "sphere"), "distribution of the data"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisedRegression:
        sigma, ridge = (jnp.asarray(setting[name], float) for name in ("sigma", "ridge"))
        return _noised_regression(key, sigma, ridge, setting["n"], setting["d"], setting["target"])

    def hypotheses(self, problem: NoisedRegression) -> list[Hypothesis]:
        return [
            in_unit_ball(problem.inputs, "inputs", "Assumption 6.1"),
            Hypothesis(
                "variances of the labels are not negative (least variance)",
                problem.variances.min(),
                ">=",
                0.0,
                "a variance is not negative",
            ),
            Hypothesis("the ridge is positive", problem.ridge, ">", 0.0, "without a ridge, K can be singular"),
        ]


_FLOW = 1.69  # the largest value of ((1 - exp(-u)) (1 + u) / u)², at u = 1.79


class _Regression(NamedTuple):
    """The problem as NumPy arrays. Trials are not compiled, since n decompositions are too many for one program."""

    matrix: Float[np.ndarray, "n n"]
    truth: Float[np.ndarray, "n d"]
    variances: Float[np.ndarray, " n"]
    ridge: float

    @property
    def hat(self) -> Float[np.ndarray, "n n"]:
        """The matrix S = K (K + nu)^-1."""
        return np.linalg.solve(self.matrix + self.ridge * np.eye(len(self.matrix)), self.matrix)

    @property
    def refits(self) -> Float[np.ndarray, "n n"]:
        """The matrix that maps labels to the predictions f^(-i)(x_i).

        Here f^(-i) is the regression without the i-th point.
        """
        weights = np.zeros_like(self.matrix)
        for i in range(len(weights)):
            kept = np.arange(len(weights)) != i
            system = self.matrix[np.ix_(kept, kept)] + self.ridge * np.eye(len(weights) - 1)
            weights[i, kept] = np.linalg.solve(system, self.matrix[kept, i])
        return weights


def _regression(problem: NoisedRegression) -> _Regression:
    matrix, truth, variances = (np.asarray(a) for a in (problem.matrix, problem.truth, problem.variances))
    return _Regression(matrix, truth, variances, float(problem.ridge))


def _best_constant(problem: NoisedRegression) -> Array:
    return jnp.mean(jnp.sum((problem.truth - problem.truth.mean(axis=0)) ** 2, axis=1))


def _with_own_noise(error: Array, problem: NoisedRegression) -> Array:
    known = _regression(problem)
    own = np.diag(known.hat)
    return error + np.mean((own / (1 - own)) ** 2 * known.variances)


class LeaveOneOutDenoiser(Claim[NoisedRegression]):
    """Let x_i and y_i be n pairs of noised and clean data. Let K be the n x n matrix of a kernel on the noised data,
    and let F* = E[y | x] be the denoiser. Let f^(-i) be the ridge regression on all pairs except the i-th, which
    minimises sum_j |y_j - f(x_j)|² + nu |f|² with the norm |f| of the kernel's space. Let S = K (K + nu)^-1, and let
    var_j = E[|y_j - F*(x_j)|² | x_j] be the variance of a label. Given the inputs, in expectation over the labels,

        (1/n) sum_i E |f^(-i)(x_i) - F*(x_i)|²
            = (1/n) sum_i [ |((I - S) F*)_i|² + sum_(j != i) S_ij² var_j ] / (1 - S_ii)².

    Proof: the prediction without the i-th pair is f^(-i)(x_i) = ((S y)_i - S_ii y_i)/(1 - S_ii). Subtract F*(x_i) and
    take expectations over independent errors. The average of the left side over the inputs is the error at a new point
    after training on n - 1 points.
    """

    title = "A formula for the expected leave-one-out error of a denoiser learned by kernel ridge regression"
    source = Source("gu2024softmax", "Theorem 6.5", note="this statement is not in the source")
    stated = Kind.OWN
    population = NoisedRegressions(rows=32)
    relation = Equal()
    control = Control("the variance of the point's own label is added", _with_own_noise)
    controls = "the error of a learned denoiser"
    unexplained = "how the error falls with the number of points"
    traced = False

    def predict(self, problem: NoisedRegression) -> Array:
        known = _regression(problem)
        smoother, own = known.hat, np.diag(known.hat)
        noise = smoother**2 @ known.variances - own**2 * known.variances
        bias = np.sum((known.truth - smoother @ known.truth) ** 2, axis=1)
        return jnp.asarray(np.mean((bias + noise) / (1 - own) ** 2))

    def measure(self, problem: NoisedRegression, key: Key[Array, ""]) -> Array:
        """Compute the error by n regressions, each without one point."""
        known, refits = _regression(problem), _regression(problem).refits
        bias = np.sum((refits @ known.truth - known.truth) ** 2, axis=1)
        return jnp.asarray(np.mean(bias + refits**2 @ known.variances))

    def condition(self, problem: NoisedRegression) -> Array:
        """Return a bound on the condition number of K + nu, which is at most (tr K + nu)/nu."""
        return 1 + jnp.trace(problem.matrix) / problem.ridge


class ScoreErrorThroughEffectiveDimension(Claim[NoisedRegression]):
    """Let x_j and y_j be n pairs of noised and clean data. The noised data at time t are alpha times the clean data
    plus noise of variance 1 - alpha². Here alpha = exp(-G(t)/2), and G is the integral of the noise schedule. Let p_t
    be the density of the noised data. Let F* = E[y | x] be the denoiser, and let v be the largest variance of a label
    about F*.

    Let K be the n x n matrix of the softmax kernel on the noised data and their times. This kernel is the tangent
    kernel of an infinitely wide softmax network. Let f^(-i) be the ridge regression on all pairs except the i-th, which
    minimises sum_j |y_j - f(x_j)|² + nu |f|² with the norm |f| of the kernel's space. Let s = (alpha f^(-i) - x)/(1 -
    alpha²) be the score that f^(-i) implies, and let lambda(t) = (1 - alpha²)²/alpha². Let S = K (K + nu)^-1 and q =
    max_i S_ii, and let N(nu) = tr S be the effective dimension. Given the inputs, in expectation over the labels,

        (1/n) sum_i lambda(t_i) E |s(x_i) - grad log p_t(x_i)|²
            <= (1 - q)^-2 (1/n) [ nu tr F*'(K + nu)^-1 F* + v N(nu) ].

    Unlike the bound of Theorem 6.5 of the source, this bound does not contain a smallest eigenvalue, a width or a
    Lipschitz constant. In the test, the bound is below the error of the best constant denoiser.

    Proof: the claim `leave_one_out_denoiser` gives the left side in terms of S. Then use tr S² <= tr S and |(I - S)
    F*|² <= F*'(I - S) F*. The right side of the last inequality is the smallest value that sum |F* - f|² + nu |f|²
    takes over all f.
    """

    title = "The effective dimension bounds the error of a score learned by kernel ridge regression"
    source = Source("gu2024softmax", "Theorem 6.5", note="this statement is not in the source")
    stated = Kind.OWN
    population = NoisedRegressions()
    relation = AtMost()
    control = Control("a third of the bound is enough", lambda bound, problem: bound / 3)
    controls = "the error of a learned score"
    unexplained = "how the effective dimension grows with n, and the distance between a network and the regression"
    traced = False

    def predict(self, problem: NoisedRegression) -> Array:
        known = _regression(problem)
        smoother = known.hat
        fit = np.sum(known.truth * (known.truth - smoother @ known.truth))
        noise = known.variances.max() * np.trace(smoother)
        return jnp.asarray((fit + noise) / len(smoother) / (1 - np.diag(smoother).max()) ** 2)

    def measure(self, problem: NoisedRegression, key: Key[Array, ""]) -> Array:
        """Compute the error from n regressions, and the score of the data from the density of the data."""
        refits = jnp.asarray(_regression(problem).refits)
        score = jax.vmap(lambda t, x, f: score_from_denoiser(problem.schedule, t, x, f))
        mean = score(problem.times, problem.places, refits @ problem.truth)
        bias = jnp.sum((mean - problem.score) ** 2, axis=1)
        return jnp.mean(loss_weight(problem.schedule, problem.times) * bias + refits**2 @ problem.variances)

    def trivial(self, problem: NoisedRegression) -> Array:
        return _best_constant(problem)


class FlowThroughEffectiveDimension(Claim[NoisedRegression]):
    """Let y be n labels at the inputs x, and let their means F* = E[y | x] be the values of the denoiser. Let v be the
    largest variance of a label about F*. Let K be the n x n matrix of the softmax kernel on these inputs. Let N(nu) =
    tr K (K + nu)^-1 be the effective dimension at the ridge nu. Gradient flow from 0 on the labels, stopped at the time
    tau, gives F_tau = (I - exp(-tau K)) y on the training points. Given the inputs, in expectation over the labels,

        (1/n) E |F_tau - F*|² <= (1/n) [ |(I + tau K)^-1 F*|² + 1.69 v N(1/tau) ].

    Theorem 6.5 of the source assumes that training stops early in this way. The proof uses exp(-u) <= 1/(1 + u) and (1
    - exp(-u))² <= 1.69 (u/(1 + u))² <= 1.69 u/(1 + u). The test uses tau = 1/nu for a given ridge nu.
    """

    title = "The effective dimension bounds the error of kernel regression with early stopping"
    source = Source("gu2024softmax", "Theorem 6.5", "Assumption G.3", note="this statement is not in the source")
    stated = Kind.OWN
    population = NoisedRegressions()
    relation = AtMost()
    control = Control("a third of the bound is enough", lambda bound, problem: bound / 3)
    controls = "the error of a learned denoiser on its training points"
    unexplained = "the error at new points, and the distance between a network and the regression"
    traced = False

    def predict(self, problem: NoisedRegression) -> Array:
        known = _regression(problem)
        smoother = known.hat
        bias = np.sum((known.truth - smoother @ known.truth) ** 2)
        return jnp.asarray((bias + _FLOW * known.variances.max() * np.trace(smoother)) / len(smoother))

    def measure(self, problem: NoisedRegression, key: Key[Array, ""]) -> Array:
        """Compute the error of F_tau from the matrix exponential exp(-tau K)."""
        known = _regression(problem)
        left = scipy.linalg.expm(-known.matrix / known.ridge)
        fitted = np.eye(len(left)) - left
        return jnp.asarray((np.sum((left @ known.truth) ** 2) + np.sum(fitted**2 @ known.variances)) / len(left))

    def trivial(self, problem: NoisedRegression) -> Array:
        return _best_constant(problem)
