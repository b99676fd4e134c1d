"""The last layer: what goes wrong when rows are left out of the readout alone.

This theory controls nothing about new rows, which is the point: the features have seen the row that is left out. It
asks for a readout in which the outputs are linear; it leaves unexplained how much each layer has taken from the rows.
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
    """What leaving rows out of the readout alone says of new rows."""
    readout = part_of(polished_copy(problem).model, linear_parameters(problem))
    found = leave_one_out(readout, problem.x, problem.y, problem.task, objective_of(problem).decay)
    return jnp.asarray(from_left_out(problem, found.outputs))


def _rests_on(problem: Trained) -> list[Hypothesis]:
    share = float(linear_parameters(problem).mean())
    readout = Hypothesis(
        "share of parameters in which the outputs are linear", share, ">", 0.0, "these parameters are the readout"
    )
    below = Hypothesis(
        "the same share, which is below 1 in a network", share, "<", 1.0, "there are features below the readout"
    )
    found = [readout, below]
    return [*found, *stationary(problem)] if all(bool(own.holds) for own in found) else found


class LastLayerKnowsItsRows(Claim[Trained]):
    """With the features of a trained network taken as given, one Newton step of leaving a row out of the last layer, a
    convex problem, says far too little of the error on rows that the network has not seen: of networks trained on
    classes drawn at random it calls at most a tenth as many rows wrong as the network does of new ones, in at least
    nine of ten models.
    """

    title = "The last layer knows the rows that are left out of it"
    source = Source("rad2020alo", note="the step for a linear model, taken on the features of a network")
    stated = Kind.OWN
    population = MemorisingNetworks()
    relation = AtMost(delta=0.1)
    control = Control("at most a fortieth as many", lambda share, problem: share / 4)
    controls = "the difference between leaving rows out of the readout alone and the error of a network"
    unexplained = "features that are worth more than their rows"
    of_data = False
    traced = False
    trivial = 1.0  # a share is at most 1

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return _rests_on(problem)

    def predict(self, problem: Trained) -> Array:
        """From the network on held-out rows."""
        wrong = problem.task.errors(held_outputs(problem), held_rows(problem)[1])
        return jnp.asarray(wrong.mean() / 10)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The share of training rows that is called wrong when it is left out of the readout."""
        return from_the_last_layer(problem)[1]


class LeavingOutOfAllLayers(Claim[Trained]):
    """The same step in the parameters of all layers predicts the error on rows that a network has not seen where that
    in the last layer alone does not: of networks that know nothing but their rows, trained on classes drawn at random,
    the central 97 % of the beta-binomial law that half of the rows imply hold the number of wrong new rows in at least
    nine of ten models.
    """

    title = "Leaving rows out of all layers"
    source = Source("rad2020alo", note="the step for a linear model, taken in all parameters of a network")
    stated = Kind.OWN
    population = MemorisingNetworks()
    relation = Estimate()
    control = Control("half of that error", lambda interval, problem: interval / 2)
    controls = "the error of a network on new rows, features included"
    unexplained = "what training from another start would find"
    of_data = False
    traced = False

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return _rests_on(problem)

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_left_out(problem, rows_left_out(problem).outputs))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The network on held-out rows."""
        return HeldOutErrorFromTrainingRows().measure(problem, key)

    def trivial(self, problem: Trained) -> Array:
        """The share that always guessing the most frequent class gets wrong."""
        return HeldOutErrorFromTrainingRows().trivial(problem)
