"""Margins: how clearly a model separates its training rows, relative to the size of its weights.

The theory gives the direction in which descent moves the weights after the model predicts every training row correctly.
It needs a homogeneous model, or a program that trains afresh. It does not give the error on new rows.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, Control, Hypothesis, Integer, Kind, Population, Real, Source, Space
from lemmata.subjects.trained_models import Trained, margins, product_of_norms
from lemmata.subjects.trained_models._descended_networks import DescendedNetworks, without_decay
from lemmata.subjects.trained_models._separated_networks import SeparatedNetworks

from ._gauge import AbstractGauge
from ._losses import LOG
from ._margins import margin_direction
from ._outputs import training_outputs
from ._refit import by_chance, refits_of
from .refits import trainable

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}

_QUANTILE = 0.1
_ABOVE = 1.5
_ROWS = 4.0
_COSINE = 0.8
_ROUNDING = 1e-4
_PAIRS = 200


def normalised_margin(problem: Trained) -> float:
    """The 10 % quantile of margins on training rows, divided by the product of the norms of the weight arrays."""
    return float(np.quantile(margins(training_outputs(problem), problem.y), _QUANTILE)) / product_of_norms(
        problem.model
    )


class MarginAboveChance(AbstractGauge):
    """Let the margin of a training row be a model's output for its class minus the largest of the other outputs. The
    normalised margin is the margin divided by the product of the largest singular values of the model's weight arrays.
    Let the model be right on at least nine tenths of its training rows, and let there be at least four training rows
    per input column. Suppose that the inputs tell the classes apart. Train the same model afresh on classes drawn
    independently of the inputs. In at least nine of ten models, the 10 % quantile of the model's normalised margins is
    at least 1.5 times the same quantile on the random classes. If the ratio is smaller, the inputs seem to carry no
    information about the classes. If the 10 % quantile on the random classes is below 0, because the model does not fit
    them, the bound is 0.
    """

    title = "A lower bound on the normalised margin of a model, relative to training on classes drawn at random"
    source = Source(
        "bartlett2017spectral",
        note="Figure 1 compares margins on true and on random labels; the number in this claim is lemmata's own",
    )
    stated = Kind.OWN
    population = SeparatedNetworks()
    relation = AtLeast(delta=0.1)
    control = Control("four times this bound", lambda bound, problem: 4 * bound)
    controls = "whether a model needs smaller weights to fit its rows than to fit randomly drawn classes"
    unexplained = (
        "the error on new rows, which a margin does not give; networks of other shapes, whose margins cannot be "
        "compared"
    )
    traced = False
    trivial = 0.0  # the margin of a row that is just right

    def passes(self, problem: Trained) -> float:
        return 1.0 + (0.0 if problem.fit is None else refits_of(problem).passes)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = trainable(problem)
        if not all(bool(own.holds) for own in found):
            return found
        error = float(problem.task.errors(training_outputs(problem), problem.y).mean())
        rows = len(problem.x) / np.prod(problem.x.shape[1:])
        return [
            *found,
            Hypothesis("error on training rows", error, "<=", _QUANTILE, "otherwise the quantile is below 0"),
            Hypothesis(
                "training rows per feature",
                float(rows),
                ">=",
                _ROWS,
                "with fewer rows, a model can separate random classes as well",
            ),
        ]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(_ABOVE * max(normalised_margin(by_chance(problem)), 0.0))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The margin of the model on its training rows, divided by the product of the norms of its weight arrays."""
        return jnp.asarray(normalised_margin(problem))


def degree(problem: Trained) -> tuple[float, float]:
    """Return L in f(c theta) = c^L f(theta), and the relative distance of J theta from L f; J is the Jacobian of f."""
    double = problem.model.in_double()
    f, along = double.outputs(problem.x), double.jvp(double.theta, problem.x)
    found = float((f * along).sum() / max(float((f * f).sum()), 1e-300))
    return found, float(np.linalg.norm(along - found * f) / max(float(np.linalg.norm(along)), 1e-300))


_RUNS = DescendedNetworks(rows=40, hidden=12, steps=4000)


class RunsToSmallLoss(Population[Trained]):
    """Descent on classes that enough features separate, with a rate that is large enough to reach a loss of 1/n."""

    def settings(self) -> Space:
        wide = {"d": Integer(6, 5, 100, "features"), "rate": Real(0.5, 0.4, 4.0, "rate of descent")}
        return Space(**_RUNS.settings().variables | wide)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        return _RUNS.sample(setting, key)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return _RUNS.hypotheses(problem)


class WeightsAlongMaximalMargin(AbstractGauge):
    """Let a model be homogeneous: its outputs f satisfy f(c theta) = c^L f(theta) for parameters theta, numbers c > 0
    and a degree L > 0. Suppose that gradient descent without weight decay has brought its log loss on n rows below 1/n.
    Let a margin be f_y - f_j, where y is the class of a row and j is any other class. With further descent, theta keeps
    growing, along a direction that satisfies the Karush-Kuhn-Tucker conditions for the largest margin at a given length
    of theta. So theta becomes a combination, with coefficients at least 0, of the gradients of the margins. Take the
    best such combination for the 200 smallest margins, and the cosine of its angle with theta. In at least nine of ten
    models with up to 32 units a layer, this cosine is at least 0.8. The test also permutes the entries of the weights
    within each array, as a null value. The cosine of the permuted weights is much smaller.
    """

    title = "A lower bound on the cosine of trained weights with the direction of largest margin"
    source = Source("lyu2020margin", note="main result for gradient descent; here at a loss of 1/n")
    stated = Kind.OWN
    population = RunsToSmallLoss()
    relation = AtLeast(delta=0.1)
    control = Control("a third of this angle", lambda bound, problem: jnp.cos(jnp.arccos(bound) / 3))
    controls = "which weights gradient descent reaches, among all weights that fit the rows"
    unexplained = "how fast descent reaches this direction; weights at a saddle; whether the margin helps on new rows"
    traced = False
    losses = (LOG,)
    predict = _COSINE

    def passes(self, problem: Trained) -> float:
        return 2.0 * _PAIRS / 10

    def bytes(self, problem: Trained) -> int:
        return 8 * 3 * _PAIRS * len(problem.model.theta)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        classes = Hypothesis("the model predicts classes", float(problem.task.is_classification), ">=", 1.0)
        found = [classes, *without_decay(problem)]
        if not all(bool(own.holds) for own in found):
            return found
        n, losses = len(problem.x), problem.task.losses(training_outputs(problem), problem.y)
        own, apart = degree(problem)
        return [
            *found,
            Hypothesis(
                "relative distance of J theta from a multiple of the outputs",
                apart,
                "<=",
                _ROUNDING,
                "otherwise the model is not homogeneous",
            ),
            Hypothesis("degree of homogeneity", own, ">", 0.0),
            Hypothesis("log loss times the number of rows", float(losses.sum()), "<", 1.0, f"mean below 1/{n}"),
        ]

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Fit theta by least squares as a sum of gradients of margins with coefficients of at least 0."""
        return jnp.asarray(margin_direction(problem).cosine)

    def trivial(self, problem: Trained) -> Array:
        """The cosine for weights whose entries are permuted within each array."""
        return jnp.asarray(margin_direction(problem).shuffled)
