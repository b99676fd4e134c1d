"""One number that a model's confidence is divided by."""

import numpy as np
from jaxtyping import Float
from scipy import optimize
from scipy.special import logsumexp


def temperature(f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> float:
    """The T of least log loss of softmax(f/T), between e^-4 and e^4: above 1 if the model is too confident.

    Args:
        f: logits.
        y: probabilities of classes, one-hot rows say.

    >>> f = np.array([[2.0, 0.0]] * 4)
    >>> y = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]])
    >>> round(temperature(f, y), 3)  # 2/T is log 3
    1.82
    """

    def loss(slope: float) -> float:
        g = f * np.exp(-slope)
        return float((logsumexp(g, axis=1) - (y * g).sum(1)).mean())

    found = optimize.minimize_scalar(loss, bounds=(-4.0, 4.0), method="bounded")
    return float(np.exp(found.x))  # pyright: ignore[reportAttributeAccessIssue]
