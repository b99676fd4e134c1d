"""Evidence for a label of a feature. The claim says how well the best of many unrelated features separates a concept.

The AUC of a feature is the probability that the feature is larger at a positive example of the concept than at a
negative one. The theory gives the mean of the largest AUC among features that are unrelated to the concept. It assumes
that the features are independent. It does not explain features that are related to each other.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

_EULER = 0.5772156649015329


class UnrelatedFeatures(eqx.Module):
    """A number m of independent features, and an unrelated concept with positive and negative examples."""

    features: int = eqx.field(static=True)
    positives: int = eqx.field(static=True)
    negatives: int = eqx.field(static=True)

    @property
    def deviation(self) -> float:
        """The standard deviation s of the AUC of one unrelated feature."""
        return ((self.positives + self.negatives + 1) / (12 * self.positives * self.negatives)) ** 0.5


class BestOfMany(Claim[UnrelatedFeatures]):
    """Let m features be independent of each other and of a concept with n_1 positive and n_0 negative examples. The AUC
    of a feature is the probability that it is larger at a positive than at a negative example. Let s² = (n_1 + n_0 +
    1)/(12 n_1 n_0), which is the variance of the AUC of a feature. Let F be the standard normal distribution function,
    and let c = 0.5772... be Euler's constant. The mean of the largest AUC is about

        1/2 + s F^-1(1 - e^(-c)/m).

    The mean AUC of a single unrelated feature is 1/2. So compare a large AUC of the best feature with the mean of the
    largest AUC, and not with 1/2.

    Derivation: the AUC is a Mann-Whitney statistic, which is nearly normal with the mean 1/2 and the variance s². Take
    m times the probability that a new feature's AUC exceeds the largest AUC of the m features. This product has nearly
    a standard exponential distribution, so its logarithm has the mean -c. Solving for the AUC at which the logarithm of
    the product equals its mean -c gives the formula.
    """

    title = "The mean of the largest AUC among m features unrelated to a concept has an approximate closed form"
    source = Source(
        "emergence2026", "Figure 18.14", "Figure 18.15", note="the size of the effect of a search for labels"
    )
    stated = Kind.OWN
    population = Drawn(
        UnrelatedFeatures,
        features=Integer(200, 50, 1000, "features", corners=(100, 400)),
        positives=Integer(40, 30, 300, "positive examples"),
        negatives=Integer(60, 30, 300, "negative examples"),
    )
    relation = EqualInMean(margin=0.01, resolution=0.01, relative=False)
    control = Control(
        "the mean is that for a quarter as many features",
        lambda gain, problem: problem.deviation * jax.scipy.special.ndtri(1 - 4 * jnp.exp(-_EULER) / problem.features),
    )
    controls = "how good the best of many features looks by chance"
    unexplained = "correlated features, which act like fewer independent features"
    trials = 64

    def predict(self, problem: UnrelatedFeatures) -> Array:
        """Return the predicted mean of the largest AUC, minus 1/2."""
        return problem.deviation * jax.scipy.special.ndtri(1 - jnp.exp(-_EULER) / problem.features)

    def measure(self, problem: UnrelatedFeatures, key: Key[Array, ""]) -> Array:
        """Return the largest AUC minus the mean of all AUCs, computed from ranks of independent activations."""
        rows = problem.positives + problem.negatives
        values = jax.random.uniform(key, (problem.features, rows))
        ranks = jnp.argsort(jnp.argsort(values, axis=1), axis=1)[:, : problem.positives]
        above = ranks.sum(axis=1) - problem.positives * (problem.positives - 1) / 2
        auc = above / (problem.positives * problem.negatives)
        return auc.max() - auc.mean()
