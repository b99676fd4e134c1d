"""Last features: how training gathers the inputs of the last matrix by class and into few directions.

The theory describes the inputs of the readout. It needs the parameters at the start, which give the null value, and
classes that the model has learned. The spread of the features does not show the error on new rows.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Control, Hypothesis, Kind, Population, Real, Source, Space
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._last_features import last_features, readout_places
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._gauge import AbstractGauge
from ._outputs import training_outputs
from ._polish import objective_of
from .start import at_start, begun

ABOUT = {"tool": "statistics", "architecture": "dense network", "object": "spectrum"}

_GATHERED, _FEWER = 0.9, 0.95
_LEARNED = 0.5
_DECAYED = 0.005
_MOST = 512  # features, each of which costs a product
_FEWEST = 2
_NETWORKS = TrainedNetworks(hidden=16, noise=0.0, decay=0.01, rows=100, widths=(12, 20), unseen=False)


def spread_within(features: Float[np.ndarray, "n h"], y: Float[np.ndarray, "n C"]) -> float:
    """The spread of features within classes, divided by the spread of the class means.

    The numerator is the mean squared distance of features from their class mean. The denominator is the mean squared
    distance of the class means from their own mean.

    Args:
        features: the features of the rows.
        y: the classes of the rows, one-hot.
    """
    known = y[:, y.sum(0) > 0]
    means = (known.T @ features) / known.sum(0)[:, None]
    within = ((features - known @ means) ** 2).sum(1) @ known / known.sum(0)
    between = ((means - means.mean(0)) ** 2).sum(1).mean()
    return float(within.mean() / max(float(between), 1e-300))


def directions(features: Float[np.ndarray, "n h"]) -> float:
    """The participation ratio (sum_j s_j)² / sum_j s_j² of the eigenvalues s of the features' covariance.

    Args:
        features: the features of the rows.
    """
    own = np.linalg.svd(features - features.mean(0), compute_uv=False) ** 2
    return float(own.sum() ** 2 / max(float((own**2).sum()), 1e-300))


@functools.lru_cache(maxsize=2)  # two checks use it, each with its hypotheses, prediction and measurement
def both_features(problem: Trained) -> tuple[Float[np.ndarray, "n h"], Float[np.ndarray, "n h"]] | None:
    """The features of the training rows at the start and now.

    None if no readout is found, or if the readout does not have 2 to 512 features.
    """
    model = problem.model.in_double()
    places = readout_places(model, problem.x)
    if places is None or not _FEWEST <= places.shape[1] <= _MOST:
        return None
    return last_features(at_start(problem), places, problem.x), last_features(model, places, problem.x)


class AbstractLastFeatures(AbstractGauge):
    """A statement about the last features, compared with the last features at the start."""

    stated = Kind.OWN
    population = _NETWORKS
    relation = AtMost(delta=0.1)
    trials = 320  # many, because one network in 25 violates the bound
    unexplained = "the error on new rows; whether features from another start would look the same"
    traced = False

    def passes(self, problem: Trained) -> float:
        width = max((min(layer.shape) for layer in problem.model.layers if len(layer.shape) == 2), default=1)
        return 1.0 * min(max(width, 64), _MOST)


def learned_features(problem: Trained) -> list[Hypothesis]:
    """The conditions under which last features may be compared with the features of the start."""
    found = [Hypothesis("the model predicts classes", float(problem.task.is_classification), ">=", 1.0)]
    found += begun(problem)
    if not all(bool(own.holds) for own in found):
        return found
    error = float(
        problem.task.errors(training_outputs(problem), problem.y).mean() / max(1 - problem.y.mean(0).max(), 1e-300)
    )
    learned = Hypothesis(
        "error on training rows, divided by the error of guessing",
        error,
        "<=",
        _LEARNED,
        "otherwise the classes were not learned",
    )
    seen = both_features(problem)
    name = f"the last matrix of the model acts on 2 to {_MOST} features, and training has changed these features"
    changed = seen is not None and not np.allclose(seen[0], seen[1], rtol=1e-6)
    return [
        *found,
        learned,
        Hypothesis(name, float(changed), ">=", 1.0, "the features of a linear model are its inputs"),
    ]


def _features(problem: Trained) -> tuple[Float[np.ndarray, "n h"], Float[np.ndarray, "n h"]]:
    found = both_features(problem)
    assert found is not None
    return found


class FeaturesGatherByClass(AbstractLastFeatures):
    """The last features of a row are its inputs to the last matrix of the network. Take the mean squared distance of
    the last features of training rows from the mean of their class. Let r be this mean squared distance, divided by the
    mean squared distance of the class means from their own mean. Suppose that training has lowered the training error
    of a network to at most half of the error of always guessing the most frequent class. In at least nine of ten
    models, r is at most nine tenths of its value at the parameters that training began with.
    """

    title = (
        "An upper bound on the spread of a network's last features within classes, relative to the spread "
        "before training"
    )
    source = Source("papyan2020collapse", note="the collapse of features within classes; here compared with the start")
    control = Control("at most three tenths of its value at the start", lambda bound, problem: bound / 3)
    controls = "how much training gathers the last features by class"
    trivial = "the spread at the start is itself the null value"

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return learned_features(problem)

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(_GATHERED * spread_within(_features(problem)[0], problem.y))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Measure the features of the trained weights."""
        return jnp.asarray(spread_within(_features(problem)[1], problem.y))


class DecayedNetworks(Population[Trained]):
    """Networks trained on non-random classes, with a decay at which the last features vary in few directions."""

    def settings(self) -> Space:
        variables = {name: own for name, own in _NETWORKS.settings().variables.items() if name != "noise"}
        return Space(**variables | {"decay": Real(_NETWORKS.decay, _DECAYED, 0.05, "decay of the weights")})

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        return _NETWORKS.sample({**setting, "noise": 0.0}, key)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return _NETWORKS.hypotheses(problem)


class FeaturesFillFewerDirections(AbstractLastFeatures):
    """The last features of a row are its inputs to the last matrix of the network. Let s be the eigenvalues of their
    covariance over training rows. The participation ratio d = (sum_j s_j)² / sum_j s_j² of these eigenvalues measures
    the number of directions in which the features vary. Let a network of one layer of hyperbolic tangents be trained
    with a decay of the weights of at least 0.005. Let none of the training classes be drawn at random. Suppose that
    training has lowered its training error to at most half of the error of always guessing the most frequent class. In
    at least nine of ten models, d is at most 0.95 times its value at the parameters that training began with.
    """

    title = "An upper bound on the number of directions of a trained network's last features"
    population = DecayedNetworks()
    source = Source("papyan2020collapse", note="the class means span few directions; here compared with the start")
    control = Control("at most half of this bound", lambda bound, problem: bound / 2)
    controls = "in how many directions the last features vary"
    trivial = "the number of directions at the start is itself the null value"

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        why = "with less decay, the features of some networks spread into more directions than at the start"
        decayed = Hypothesis("the decay of the weights", objective_of(problem).decay, ">=", _DECAYED, why)
        return [*learned_features(problem), decayed]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(_FEWER * directions(_features(problem)[0]))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Measure the features of the trained weights."""
        return jnp.asarray(directions(_features(problem)[1]))
