"""The temperature: the number by which logits are divided so that the predicted probabilities fit the labels best."""

import numpy as np
from jaxtyping import Float
from scipy import optimize
from scipy.special import logsumexp


def temperature(f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> float:
    """Return the T in [e^-4, e^4] that minimises the log loss of softmax(f/T).

    T is above 1 if the model is too confident.

    Args:
        f: the logits.
        y: the probabilities of classes, for example one-hot rows.

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
