"""The share of time that a policy spends in each state: with a discount, and in the long run."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from lemmata.answers import Condition
from lemmata.errors import DataError
from lemmata.printable import preformatted

from ._answers import by_state

_SHOWN = 5
_EPS = float(np.finfo(float).eps)


@dataclasses.dataclass(frozen=True, eq=False)
class Occupancy:
    """The discounted share of time that a policy spends in each state.

    NumPy converts this object to the array `shares`.

    Args:
        shares: the share of each state. The shares sum to 1.
        error: an upper bound on the sum of the absolute errors of the shares, computed from the residual of the linear
            equation for the shares.
        conditions: the conditions for the results.
        claims: names of the claims in which these shares are the weights of states.
    """

    shares: Float[np.ndarray, " s"]
    error: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = ("interaction.policies.performance_difference", "interaction.policies.policy_gradient")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.shares, dtype=dtype, copy=copy)

    def __str__(self) -> str:
        order = np.argsort(-self.shares, kind="stable")[:_SHOWN]
        parts = [f"{100 * self.shares[state]:.3g} % in state {state}" for state in order.tolist()]
        left = len(self.shares) - _SHOWN
        rest = f", {100 * (1 - self.shares[order].sum()):.3g} % in {left} more" if left > 0 else ""
        line = f"share of discounted time: {', '.join(parts)}{rest}"
        return "\n".join([line, *(f"- {own}" for own in self.conditions if own.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the share of each state."""
        return by_state(self.shares, "share")


def occupied(moves: Float[np.ndarray, "s s"], start: Float[np.ndarray, " s"], discount: float) -> Occupancy:
    """Return the occupancy (1 - discount) sum_t discount^t P(s_t = s) of a chain, from a linear system.

    The occupancy d is the solution of d = (1 - discount) start + discount moves' d. Let r be the residual of the
    computed vector in this equation. Then the error of the vector is (1 - discount moves')^-1 r. Because the rows of
    `moves` sum to 1, the absolute entries of this error sum to at most |r|_1 / (1 - discount).

    Args:
        moves: the probability of each next state.
        start: the distribution of the first state.
        discount: the discount, below 1.
    """
    solved = np.linalg.solve(np.eye(len(moves)) - discount * moves.T, (1 - discount) * start)
    shares = np.maximum(solved, 0.0)
    shares = shares / shares.sum()
    residual = np.abs((1 - discount) * start + discount * shares @ moves - shares).sum() + 4 * _EPS * len(moves)
    error = float(residual / (1 - discount))
    never = int((shares == 0).sum())
    conditions = (
        Condition("the shares are exact (sum of their errors)", error, error <= 1e-6,
                  "for exact shares, use a discount nearer to 0"),
        Condition("the policy influences the shares (discount)", discount, discount > 0,
                  "with the discount 0, the shares are the distribution of the first state under every policy"),
        Condition("the policy visits every state (number of states never visited)", float(never), never == 0,
                  "rewards in states that are never visited do not change the expected value"),
    )  # fmt: skip
    return Occupancy(shares, error, conditions)


def stationary(moves: Float[np.ndarray, "s s"]) -> Float[np.ndarray, " s"]:
    """Return the stationary distribution, which is 0 on states that the chain leaves for ever.

    Args:
        moves: the probability of each next state.

    Raises:
        DataError: if several sets of states are never left, so that the stationary distribution is not unique.
    """
    count, group = connected_components(sparse.csr_array(moves > 0), connection="strong")
    closed = [k for k in range(count) if not (moves[np.ix_(group == k, group != k)] > 0).any()]
    if len(closed) > 1:
        raise DataError("policy", found=f"{len(closed)} sets of states that the policy never leaves",
                        rule="only one such set, so that the long run does not depend on the first state",
                        remedy="give every action some probability, or let last states lead to the first")  # fmt: skip
    own = np.flatnonzero(group == closed[0])
    part = moves[np.ix_(own, own)]
    law = np.zeros(len(moves))
    law[own] = np.linalg.solve(np.eye(len(own)) - part.T + 1.0, np.ones(len(own)))
    law = np.maximum(law, 0.0)
    return law / law.sum()
