"""A test of whether training rows alone determine all weights, so that rows can be left out without a decay."""

import numpy as np

from ._gauss_newton import gauss_newton_spectrum
from ._leave_one_out import EXACT
from ._linear_layers import linear_parameters
from ._once import once
from ._trained import Trained

_LEAST = 1e-10  # share of the largest curvature; S = J H^-1 J' is then known to 1e-6


@once
def rows_fix_weights(trained: Trained) -> bool:
    """Return whether the training rows alone determine all weights.

    This is so if there are at most 3000 parameters, the outputs are linear in all of them, and each eigenvalue of the
    curvature J' Lambda J is above 1e-10 times the largest eigenvalue. J is the Jacobian of the outputs, and Lambda is
    the Hessian of the losses with respect to the outputs.

    Leaving a row out of least squares without a penalty is then exact, with the leverages x_i' (X' X)^-1 x_i. For more
    than two classes, all logits may move together without changing a probability, so this one direction of the C
    outputs may be free.
    """
    parameters = len(trained.model.theta)
    if not trained.model.differentiable or trained.task.is_language or parameters > min(EXACT, trained.y.size):
        return False
    if not bool(linear_parameters(trained).all()):
        return False
    eigenvalues = gauss_newton_spectrum(trained)
    classes = trained.y.shape[1]
    free = parameters // classes if trained.task.is_classification and classes > 2 else 0
    fixed = int((eigenvalues > _LEAST * np.max(eigenvalues)).sum())
    return len(eigenvalues) == parameters and fixed == parameters - free
