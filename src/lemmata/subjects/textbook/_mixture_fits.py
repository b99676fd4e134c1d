"""Random points from mixtures of normal distributions with a fit during EM, and models with latent factors."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.generators import generator_of


class MixtureFit(eqx.Module):
    """Points on a line, and a mixture of normal distributions of variance 1 during its fit to these points by EM.

    Args:
        points: the n points.
        means, weights: the current means and weights of the mixture.
        centres: the means of the components from which the points were drawn.
    """

    points: Float[np.ndarray, " n"]
    means: Float[np.ndarray, " k"]
    weights: Float[np.ndarray, " k"]
    centres: Float[np.ndarray, " k"]

    def log_joint(self, means: Float[np.ndarray, " k"], weights: Float[np.ndarray, " k"]) -> Float[np.ndarray, "n k"]:
        """Return the log of weight times density, for each point and component."""
        return np.log(weights) - (self.points[:, None] - means) ** 2 / 2 - np.log(2 * np.pi) / 2

    def log_likelihood(self, means: Float[np.ndarray, " k"], weights: Float[np.ndarray, " k"]) -> float:
        """Return the sum over the points of the log density of the mixture."""
        return float(np.logaddexp.reduce(self.log_joint(means, weights), axis=1).sum())

    def posterior(self, means: Float[np.ndarray, " k"], weights: Float[np.ndarray, " k"]) -> Float[np.ndarray, "n k"]:
        """Return the probability of each component given each point."""
        return np.exp(self.log_posterior(means, weights))

    def log_posterior(
        self, means: Float[np.ndarray, " k"], weights: Float[np.ndarray, " k"]
    ) -> Float[np.ndarray, "n k"]:
        """Return the logarithm of the posterior probabilities, which does not underflow."""
        logs = self.log_joint(means, weights)
        return logs - np.logaddexp.reduce(logs, axis=1)[:, None]

    def step(
        self, means: Float[np.ndarray, " k"], weights: Float[np.ndarray, " k"]
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Return means and weights after one step of expectation maximisation (EM)."""
        shares = self.posterior(means, weights)
        return shares.T @ self.points / shares.sum(0), shares.mean(0)


class MixtureFits(Population[MixtureFit]):
    """Points from equally spaced normal components of equal weight, and a fit that starts at distinct random points.

    Args:
        apart: the default distance between neighbouring components.
        steps: the largest number of EM steps from the start. The actual number is drawn at random.
    """

    apart: float = eqx.field(default=2.0, static=True)
    steps: int = eqx.field(default=0, static=True)

    def settings(self) -> Space:
        return Space(
            points=Integer(60, 20, 400, "points"),
            components=Integer(3, 2, 6, "components", corners=(3, 4)),
            apart=Real(
                self.apart,
                0.5,
                30.0,
                "distance of neighbouring components",
                corners=(0.9 * self.apart, 1.2 * self.apart),
            ),
        ).where("there are at least four points per component", lambda s: s["points"] >= 4 * s["components"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> MixtureFit:
        """Draw points from the components in turn, and compute the fit after a random number of EM steps."""
        rng, k = generator_of(key), setting["components"]
        centres = setting["apart"] * np.arange(k)
        points = centres[np.arange(setting["points"]) % k] + rng.standard_normal(setting["points"])
        fit = MixtureFit(points, rng.choice(points, k, replace=False), np.full(k, 1 / k), centres)
        for _ in range(rng.integers(self.steps + 1)):
            fit = MixtureFit(points, *fit.step(fit.means, fit.weights), centres)
        return fit

    def hypotheses(self, problem: MixtureFit) -> list[Hypothesis]:
        return [Hypothesis("least weight", problem.weights.min(), ">", 0.0, "an empty component has no mean")]


class FactorModel(eqx.Module):
    """The normal distribution of x = W z + noise with latent factors z ~ N(0, I), and rows to which it is fitted.

    Args:
        loadings: the matrix W of loadings.
        noise: the variance of the noise.
        rows: the n rows x to which the model is fitted.
    """

    loadings: Float[np.ndarray, "d k"]
    noise: float = eqx.field(static=True)
    rows: Float[np.ndarray, "n d"]

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """The matrix of second moments of the rows."""
        return self.rows.T @ self.rows / len(self.rows)


class FactorModels(Population[FactorModel]):
    """Random loadings whose columns are not orthogonal, and rows drawn from the model."""

    settings = Space(
        d=Integer(5, 3, 20, "dimension", corners=(5, 8)),
        factors=Integer(2, 1, 10, "factors", corners=(2, 3)),
        n=Integer(30, 10, 200, "rows", corners=(20, 60)),
    ).where(
        "there are at least two more dimensions than factors, and fewer dimensions than rows",
        lambda s: s["factors"] < s["d"] - 1 and s["d"] < s["n"],
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FactorModel:
        rng = generator_of(key)
        n, d, k = setting["n"], setting["d"], setting["factors"]
        loadings, noise = rng.standard_normal((d, k)), float(rng.uniform(0.3, 1.0))
        rows = rng.standard_normal((n, k)) @ loadings.T + np.sqrt(noise) * rng.standard_normal((n, d))
        return FactorModel(loadings, noise, rows)

    def hypotheses(self, problem: FactorModel) -> list[Hypothesis]:
        least = np.linalg.eigvalsh(problem.covariance)[0]
        return [
            Hypothesis("variance of the noise", problem.noise, ">", 0.0, "the distribution has a density"),
            Hypothesis("smallest variance of the rows in any direction", least, ">", 0.0, "likelihoods are bounded"),
        ]
