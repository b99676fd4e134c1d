"""The last layer: the error that is predicted if rows are left out of the readout (the last layer) alone.

Leaving rows out of the readout does not predict the error on new rows, because the features have seen the row that is
left out. The claims show this failure, and how leaving rows out of all layers avoids it. They need outputs that are
linear in the parameters of the readout. They leave open how much each layer has learned from the rows.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained, leave_one_out, part_of
from lemmata.subjects.trained_models._memorising_networks import MemorisingNetworks
from lemmata.subjects.trained_models._trained_networks import stationary

from ._leave_one_out import rows_left_out
from ._linear_layers import linear_parameters
from ._outputs import held_outputs, held_rows
from ._polish import objective_of, polished_copy
from .kernel_machines import from_left_out
from .leaving_out import HeldOutErrorFromTrainingRows

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}


def from_the_last_layer(problem: Trained) -> Array:
    """Predict the error on new rows by leaving rows out of the readout alone."""
    readout = part_of(polished_copy(problem).model, linear_parameters(problem))
    found = leave_one_out(readout, problem.x, problem.y, problem.task, objective_of(problem).decay)
    return jnp.asarray(from_left_out(problem, found.outputs))


def _rests_on(problem: Trained) -> list[Hypothesis]:
    share = float(linear_parameters(problem).mean())
    readout = Hypothesis(
        "share of parameters in which the outputs are linear (the readout)",
        share,
        ">",
        0.0,
        "the model needs a readout in which its outputs are linear",
    )
    below = Hypothesis(
        "share of parameters in the readout", share, "<", 1.0, "a network has features below the readout"
    )
    found = [readout, below]
    return [*found, *stationary(problem)] if all(bool(own.holds) for own in found) else found


class LastLayerKnowsItsRows(Claim[Trained]):
    """Let a network be trained on classes drawn at random, and keep its features (the inputs to the last layer) as they
    are. Training the last layer alone is then a convex problem. Leave each row out of this problem by one Newton step.
    The error on left-out rows is far smaller than the error on rows that the network has not seen. In at least nine of
    ten models, the share of wrong left-out rows is at most a tenth of the share of wrong new rows.
    """

    title = "Leaving rows out of a network's last layer alone gives far too small an error"
    source = Source("rad2020alo", note="the step for a linear model, taken on the features of a network")
    stated = Kind.OWN
    population = MemorisingNetworks()
    relation = AtMost(delta=0.1)
    control = Control("at most a fortieth of this share", lambda share, problem: share / 4)
    controls = "how far leaving rows out of the readout alone underestimates the error of a network"
    unexplained = "what the features have learned apart from the training rows"
    of_data = False
    traced = False
    trivial = 1.0  # a share is at most 1

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return _rests_on(problem)

    def predict(self, problem: Trained) -> Array:
        """Return the bound, which is a tenth of the network's error on held-out rows."""
        wrong = problem.task.errors(held_outputs(problem), held_rows(problem)[1])
        return jnp.asarray(wrong.mean() / 10)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The share of training rows that are predicted wrongly when they are left out of the readout."""
        return from_the_last_layer(problem)[1]


class LeavingOutOfAllLayers(Claim[Trained]):
    """Let a network be trained on classes drawn at random, so that it can only know the classes of its training rows.
    Leave each row out by one Newton step in the parameters of all layers. Unlike a Newton step in the last layer alone,
    this step predicts the error on rows that the network has not seen. Take the share of rows that are wrong when they
    are left out. This share implies a beta-binomial distribution for the number of wrong new rows, computed as if the
    share came from half as many independent rows. In at least nine of ten models, the central 97 % of this distribution
    contain the number of wrong new rows.
    """

    title = "Held-out error of a network, predicted by leaving rows out of all layers"
    source = Source("rad2020alo", note="the step for a linear model, taken in all parameters of a network")
    stated = Kind.OWN
    population = MemorisingNetworks()
    relation = Estimate()
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the error of a network on new rows, features included"
    unexplained = "what training from another start would find"
    of_data = False
    traced = False

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return _rests_on(problem)

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_left_out(problem, rows_left_out(problem).outputs))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the network on held-out rows."""
        return HeldOutErrorFromTrainingRows().measure(problem, key)

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class."""
        return HeldOutErrorFromTrainingRows().trivial(problem)
