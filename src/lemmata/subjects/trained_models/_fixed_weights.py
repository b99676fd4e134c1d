"""A test of whether training rows alone determine all weights. If they do, rows can be left out without a decay."""

import numpy as np

from ._gauss_newton import gauss_newton_spectrum
from ._leave_one_out import EXACT
from ._linear_layers import linear_parameters
from ._once import once
from ._trained import Trained

_LEAST = 1e-10  # share of the largest eigenvalue of H; S = J H^-1 J' then has a relative error of about 1e-6


@once
def rows_fix_weights(trained: Trained) -> bool:
    """Return whether the training rows alone determine all weights.

    The result is True under three conditions. There are at most 3000 parameters, and at most as many as outputs on all
    rows. The outputs are linear in all parameters. The eigenvalues of the curvature J' Lambda J are above 1e-10 times
    the largest eigenvalue, except for one in C of them if there are C > 2 classes. J is the Jacobian of the outputs,
    and Lambda is the Hessian of the losses with respect to the outputs.

    For least squares without a penalty, leaving a row out is then exact, with the leverages x_i' (X' X)^-1 x_i. The
    exception for C > 2 classes: if all C logits of a row move together, no probability changes. So the rows cannot
    determine this common movement, and the predictions do not depend on it.
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
