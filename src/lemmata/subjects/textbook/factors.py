"""Factor analysis: the maximum likelihood of a model with latent factors in closed form, and the multiplicative step
for nonnegative factors.

The theory says how well a table can be fitted. It does not say what the factors mean or how many there are.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.subjects.textbook._mixture_fits import FactorModel, FactorModels
from lemmata.subjects.textbook._unlabelled_points import FactoredTable, FactoredTables

ABOUT = {"tool": "linear algebra", "architecture": "linear model", "object": "estimator"}

_SOURCE = Source("younes2024introduction", "Abstract, factor analysis")
_STEPS = 60


def log_density(covariance: Float[np.ndarray, "d d"], model: Float[np.ndarray, "d d"]) -> float:
    """Return the mean log density of N(0, model) over rows with the second moments `covariance`. The constant -d/2
    log(2 pi) is left out.
    """
    return float(-(np.linalg.slogdet(model)[1] + np.trace(np.linalg.solve(model, covariance))) / 2)


def em_step(
    covariance: Float[np.ndarray, "d d"], loadings: Float[np.ndarray, "d k"], noise: float
) -> tuple[Float[np.ndarray, "d k"], float]:
    """Return the result of one step of expectation maximisation for x = W z + noise (Tipping and Bishop)."""
    d, k = loadings.shape
    inner = np.linalg.inv(loadings.T @ loadings + noise * np.eye(k))
    seen = covariance @ loadings
    moved = seen @ np.linalg.inv(noise * np.eye(k) + inner @ loadings.T @ seen)
    return moved, float(np.trace(covariance - seen @ inner @ moved.T) / d)


def _isotropic(covariance: Float[np.ndarray, "d d"]) -> float:
    d = len(covariance)
    return float(-(d * np.log(np.trace(covariance) / d) + d) / 2)


class PrincipalComponentsAreTheMaximum(Claim[FactorModel]):
    """Let S be the matrix of second moments of the rows, with eigenvalues l_1 >= ... >= l_d. Consider the model x = W z
    + noise, where z ~ N(0, I) has k components and the noise has variance s in each coordinate. The mean log likelihood
    is largest if two conditions hold. First, W W' + s I has the eigenvectors of S and its k largest eigenvalues l_1,
    ..., l_k. Second, the remaining eigenvalues of W W' + s I all equal s, the mean of the remaining eigenvalues of S.
    The largest mean log likelihood is

        -1/2 (sum over j <= k of log l_j + (d - k) log s + d + d log 2 pi),    where s = sum over j > k of l_j / (d - k)

    (Tipping and Bishop). The test compares this value with the mean log likelihood after sixty steps of expectation
    maximisation (EM), which does not exceed it. From both values, the test subtracts the mean log likelihood of N(0, t
    I), where t = tr S/d.
    """

    title = "Principal components maximise the likelihood of a latent factor model"
    source = _SOURCE
    population = FactorModels()
    relation = AtMost()
    control = Control("the mean log likelihood is at most 0.8 of the bound", lambda value, problem: 0.8 * value)
    controls = "the likelihood of a model with latent factors"
    unexplained = "how many factors there are; noise whose variance differs between coordinates"
    traced = False

    def predict(self, problem: FactorModel) -> Array:
        k, values = problem.loadings.shape[1], np.linalg.eigvalsh(problem.covariance)[::-1]
        d, noise = len(values), values[k:].mean()
        best = -(np.log(values[:k]).sum() + (d - k) * np.log(noise) + d) / 2
        return jnp.asarray(best - _isotropic(problem.covariance))

    def measure(self, problem: FactorModel, key: Key[Array, ""]) -> Array:
        """The likelihood after sixty EM steps from the loadings with which the rows were drawn."""
        covariance, loadings, noise = problem.covariance, problem.loadings, problem.noise
        for _ in range(_STEPS):
            loadings, noise = em_step(covariance, loadings, noise)
        model = loadings @ loadings.T + noise * np.eye(len(loadings))
        return jnp.asarray(log_density(covariance, model) - _isotropic(covariance))

    def trivial(self, problem: FactorModel) -> Array:
        """Return the likelihood with as many factors as coordinates."""
        return jnp.asarray(log_density(problem.covariance, problem.covariance) - _isotropic(problem.covariance))

    def condition(self, problem: FactorModel) -> Array:
        """Return the condition number of a difference of likelihoods."""
        values = np.linalg.eigvalsh(problem.covariance)
        return jnp.asarray(
            len(values) * np.abs(np.log(values)).sum() * 10 / self.predict(problem) + values[-1] / values[0]
        )


class MultiplicativeStepsNeverLose(Claim[FactoredTable]):
    """Let V be a table with nonnegative entries, and let W and H be two factors with nonnegative entries. The entrywise
    step H <- H * (W'V) / (W'W H) does not raise the squared error

        |V - W H|²   (Lee and Seung).
    """

    title = "A multiplicative step never raises the error of a nonnegative factorisation"
    source = _SOURCE
    population = FactoredTables()
    relation = AtMost()
    control = Control("the step lowers the error by a fifth", lambda error, problem: 0.8 * error)
    controls = "the squared error of nonnegative factors"
    unexplained = "whether the steps reach the least error"
    traced = False

    def predict(self, problem: FactoredTable) -> Array:
        return jnp.asarray(np.sum((problem.table - problem.left @ problem.right) ** 2))

    def measure(self, problem: FactoredTable, key: Key[Array, ""]) -> Array:
        """The squared error |V - W H|² after the step."""
        w, h = problem.left, problem.right
        return jnp.asarray(np.sum((problem.table - w @ (h * (w.T @ problem.table) / (w.T @ w @ h))) ** 2))

    def trivial(self, problem: FactoredTable) -> Array:
        """Return the bound |V|² + |W H|², which holds because all entries are nonnegative."""
        return jnp.asarray(np.sum(problem.table**2) + np.sum((problem.left @ problem.right) ** 2))

    def condition(self, problem: FactoredTable) -> Array:
        """Return the condition number of the squared residual."""
        size = np.sum(problem.table**2)
        return jnp.asarray(size / np.sum((problem.table - problem.left @ problem.right) ** 2))
