"""Machines on handwritten digits: whether what they learn calls other rows better than the kernel that they start from.

No theory of this chapter controls that. The objective weighs the likelihood of training labels against divergences, and
labels may be fitted by Gram matrices that serve no other row; so tables decide.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Kind, Order, Source
from lemmata.engine.problems._digit_machines import DigitMachine, DigitMachines

_KEY = "yang2023theory"


class LearnedGramsServeOtherRows(Claim[DigitMachine]):
    """On 30 rows of handwritten digits, one learned layer at nu = 1 has a smaller mean squared error on other rows than
    at nu = 10 000, where the machine is the kernel regression of an infinitely wide ReLU network, both with noise 0.1.
    """

    title = "Learned Gram matrices serve other rows, on digits"
    source = Source(_KEY, "Abstract, interpretable", note="squared error on one table")
    stated = Kind.OWN
    population = DigitMachines()
    relation = Order("nu", (1.0, 1e4))
    control = Control("the error falls with nu", lambda sign, problem: -sign, loose="a sign has no neighbour")
    controls = "the squared error on rows that are not in training"
    unexplained = "the share of wrong classes, which was not seen to change, and other tables and noises"
    trials = 36
    traced = False

    def predict(self, problem: DigitMachine) -> Array:
        return jnp.ones(())

    def measure_at(self, problem: DigitMachine, key: Key[Array, ""], nu: float) -> Array:
        return jnp.asarray(problem.errors(nu)[0])
