"""Check whether a fitted law holds at all sizes, by the runs of equal signs in its residuals."""

import numpy as np

from ._fit import Fit

_DRAWS = 4000
_ROUNDING = 1e-9  # smaller relative misfits are rounding errors


def runs_test(fit: Fit) -> tuple[int, float]:
    """Count runs of residuals of equal sign along the fitted loss. Return the probability of so few runs under the law.

    If the law does not hold at all sizes, residuals have long runs of equal signs. If the signs were independent, the
    number of runs would have a classical distribution. But the residuals of a fit are not independent, because they are
    orthogonal to the p derivatives of the law. If these p derivatives form a Chebyshev system, the residuals change
    their sign at least p times, whatever the noise is. So the probability is estimated from draws of normal noise with
    a fixed seed. The draws are also projected orthogonally to these derivatives.
    """
    predicted, slopes = fit.design.log_loss(fit.theta, fit.design.sizes)
    if np.abs(fit.residuals).max() < _ROUNDING:
        return len(predicted), 1.0
    order = np.argsort(predicted, kind="stable")
    frame, strength, _ = np.linalg.svd(slopes[order], full_matrices=False)
    frame = frame[:, strength > 1e-10 * strength[0]]
    noise = np.random.default_rng(0).normal(size=(len(order), _DRAWS))
    usual = _runs(noise - frame @ (frame.T @ noise))
    seen = int(_runs(fit.residuals[order][:, None])[0])
    return seen, float((1 + (usual <= seen).sum()) / (1 + _DRAWS))


def _runs(columns: np.ndarray) -> np.ndarray:
    return 1 + (np.diff(columns > 0, axis=0) != 0).sum(axis=0)
