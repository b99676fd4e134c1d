"""Minima: whether the weights are at a minimum, as Laplace's approximation needs, and how to leave rows out there.

The theory describes the curvature where training ends. It needs a decay, and a copy of the model at a stationary point.
It leaves open which of the minima training found, and what the curvature says about new rows.
"""

import dataclasses
import functools

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import SmallestCurvature, Trained, leave_one_out, smallest_curvature
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, stationary

from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_passes
from ._polish import objective_of, polished_copy, vectors_bytes
from .kernel_machines import from_left_out
from .leaving_out import HeldOutErrorFromTrainingRows

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "spectrum"}

_NEAR = 0.001  # share of the decay that gives the accuracy of the smallest curvature
_KNOWN = 0.1
_AT_REST = 1e-4
_PRODUCTS = 100.0
_VECTORS = 6


@functools.lru_cache(maxsize=1)  # hypotheses and measurement ask for the same
def lowest(problem: Trained) -> SmallestCurvature:
    """The smallest eigenvalue of the Hessian of the objective at the copy that was trained to a stationary point."""
    objective = dataclasses.replace(objective_of(problem), model=polished_copy(problem).model)
    return smallest_curvature(objective, _NEAR * objective.decay, seed=problem.seed)


class DecayOutweighsNegativeCurvature(AbstractGauge):
    """Start L-BFGS from the weights of a trained model, on the mean loss plus (delta/2) |theta|², where theta are the
    parameters and delta is the decay. At the point where L-BFGS ends, all eigenvalues of the Hessian of this objective
    are at least 0. So the loss alone may have negative curvature, but not below -delta. Laplace's approximation and the
    use of the Gauss-Newton curvature both require this. Let lambda be the smallest eigenvalue of the Hessian of the
    loss. In at least nine of ten models, -lambda/delta is at most 1.
    """

    title = "At a minimum, the negative curvature of the loss is at most the weight decay"
    source = Source(
        "mackay1992evidence", note="the minimum at which Laplace's approximation is made; here for a converged copy"
    )
    stated = Kind.OWN
    population = TrainedNetworks(unseen=False, widths=(4, 12))
    relation = AtMost(delta=0.1)
    control = Control("at most half of the decay", lambda share, problem: share / 2)
    controls = "whether the converged copy of the model is at a minimum and not at a saddle, and by which margin"
    unexplained = "weights of a training that stopped early, which are not at a minimum; other minima"
    trivial = "the curvature of a loss may be anything"
    traced = False
    predict = 1.0

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem) + 3.0 * _PRODUCTS

    def bytes(self, problem: Trained) -> int:
        return vectors_bytes(problem) + _VECTORS * 8 * len(problem.model.theta)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        decay = objective_of(problem).decay
        found = [
            Hypothesis(
                "the decay of the weights", decay, ">", 0.0, "without decay nothing outweighs negative curvature"
            )
        ]
        if bool(found[-1].holds):
            residual = polished_copy(problem).residual
            why = "a stationary point is needed; descent may end before it reaches one if activations have kinks"
            found.append(Hypothesis("residual of the converged copy", residual, "<=", _AT_REST, why))
        if bool(found[-1].holds):
            residual = lowest(problem).residual / decay
            why = "otherwise the smallest eigenvalue is not computed accurately enough"
            found.append(Hypothesis("residual of the eigenvector, relative to the decay", residual, "<=", _KNOWN, why))
        return found

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Apply Lanczos' method to products with the Hessian, at the copy that was trained to a stationary point."""
        return jnp.asarray(1 - lowest(problem).value / objective_of(problem).decay)


class AbstractCurvatureOfLeavingOut(Claim[Trained]):
    """A statement about leaving rows out of networks with a small decay by Newton steps with one kind of curvature."""

    stated = Kind.OWN
    population = TrainedNetworks(hidden=12, decay=0.001, noise=0.3, rows=80, widths=(8, 16))
    relation = Estimate()
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the error of a network with a small decay on rows that it has not seen"
    of_data = False
    traced = False

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return stationary(problem)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the model on held-out rows that are not duplicates of training rows."""
        return HeldOutErrorFromTrainingRows().measure(problem, key)

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class."""
        return HeldOutErrorFromTrainingRows().trivial(problem)


class LeavingOutByGaussNewton(AbstractCurvatureOfLeavingOut):
    """Let a network be trained with a small decay delta on n rows. For row i, let f_i be the outputs, and let J_i be
    their Jacobian with respect to the parameters. Let p_i be the predicted probabilities, and let y_i be the target.
    Let Lambda_i be the Hessian of the loss with respect to the outputs, and let H = sum_i J_i' Lambda_i J_i + n delta
    be the Gauss-Newton curvature. With S_i = J_i H^-1 J_i', leaving row i out changes its outputs to f_i + S_i (1 -
    Lambda_i S_i)^-1 (p_i - y_i). The share of rows whose class is then wrong predicts the share of wrong classes among
    new rows. This share also implies a beta-binomial distribution for the number of wrong new rows, computed as if it
    came from half as many independent rows. In at least nine of ten models, the central 97 % of this distribution
    contain the number of wrong new rows.
    """

    title = "Held-out error with a small decay, predicted with the Gauss-Newton curvature"
    source = Source("rad2020alo", note="the step with the curvature of Gauss and Newton")
    unexplained = "what the full Hessian, which includes the curvature of the outputs, would predict instead"

    def predict(self, problem: Trained) -> Array:
        found = leave_one_out(
            polished_copy(problem).model, problem.x, problem.y, problem.task, objective_of(problem).decay
        )
        return jnp.asarray(from_left_out(problem, found.outputs))
