"""The values of a policy from linear systems, for one process or for several processes at once."""

import numpy as np
from jaxtyping import Float

from lemmata.errors import DataError


def solved(
    transitions: Float[np.ndarray, "... s a t"], rewards: Float[np.ndarray, "s a"], policy: Float[np.ndarray, "s a"],
    discount: float,
) -> tuple[Float[np.ndarray, "... s"], Float[np.ndarray, "... s a"]]:  # fmt: skip
    """Return the values of a policy, and the gain of each action over the policy.

    A constant in all rewards and the value of state 0 are computed separately. For a discount near 1, these two numbers
    would make all values large. Because of the separation, rounding errors do not hide the differences between actions.

    Args:
        transitions: the probability of each next state, of one process or of several processes.
        rewards: the mean rewards of all processes.
        policy: the probability of each action.
        discount: the discount, below 1.

    Raises:
        DataError: for values that are too large for double precision.
    """
    middle = float(rewards.max() / 2 + rewards.min() / 2)
    size = float(np.abs(rewards - middle).max()) or 1.0
    scaled = (rewards - middle) / size
    matrix = np.eye(len(rewards)) - discount * np.einsum("sa,...sat->...st", policy, transitions)
    # the unknowns are (1 - discount) times the value of state 0, and the other values minus the value of state 0; the
    # first column is then the sum of all columns, divided by 1 - discount, which is 1
    matrix[..., 0] = 1.0
    wanted = np.broadcast_to(np.sum(policy * scaled, axis=1)[:, None], (*matrix.shape[:-1], 1))
    above = np.linalg.solve(matrix, wanted)[..., 0]
    level = above[..., :1].copy()
    above[..., 0] = 0.0
    values = above + level / (1 - discount)
    largest = max(float(np.abs(values).max()), abs(middle) / size / (1 - discount))
    if largest > 1e300 / size:
        raise DataError("rewards", found=f"values of states of up to {largest:.3g} times {size:.3g}",
                        rule="values below 1e300", remedy="divide the rewards by a constant")  # fmt: skip
    later = np.einsum("...sat,...t->...sa", transitions, above)
    gains = scaled + discount * later - above[..., None] - level[..., None]
    return values * size + middle / (1 - discount), gains * size
