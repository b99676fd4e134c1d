"""Decision processes whose states are bits, and their best values by exact dynamic programming."""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Float, Int

from lemmata.core import check_numbers, check_whole, whole
from lemmata.errors import DataError, SettingError, ShapeError

_MOST_BITS = 20


@dataclasses.dataclass(frozen=True)
class BitProcess:
    """A deterministic decision process whose states are numbers 0, ..., 2^n - 1, read as n bits.

    Args:
        name: the name of the process.
        following: the state to which each action leads from each state.
        reward: the reward in each state, which does not depend on the action.

    Raises:
        ShapeError: if the number of states is not a power of 2 or differs between the two arrays, or if there is no
            action.
        SettingError: if an action leads to a state that does not exist.
        DataError: for transitions that are not whole numbers, or rewards that are not finite.
    """

    name: str
    following: Int[np.ndarray, "actions states"]
    reward: Float[np.ndarray, " states"]

    def __post_init__(self) -> None:
        check_numbers("reward", self.reward)
        _check_whole_numbers("following", self.following)
        states = len(self.reward) if np.ndim(self.reward) == 1 else 0
        if states & (states - 1) or states == 0 or self.following.shape[1:] != (states,):
            found = f"{states} rewards and transitions of shape {self.following.shape}"
            raise ShapeError(
                "following and reward", found=found, rule="the same number of states in both, which is a power of 2"
            )
        if len(self.following) == 0:
            raise ShapeError("following", found="no actions", rule="at least one action")
        if self.following.min() < 0 or self.following.max() >= states:
            found = int(self.following.min() if self.following.min() < 0 else self.following.max())
            raise SettingError("following", found=found, rule=f"states from 0 to {states - 1}")

    @property
    def bits(self) -> int:
        """The number n of bits of a state."""
        return len(self.reward).bit_length() - 1


def _check_whole_numbers(name: str, array: np.ndarray) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        found = f"entries of type {array.dtype}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
        raise DataError(
            name, found=found, rule="an array of whole numbers", remedy="convert it with np.asarray(..., int)"
        )


def _bits(bits: int, least: int = 1) -> int:
    check_whole("bits", bits, least, "bits")
    if bits > _MOST_BITS:
        rule = f"between {least} and {_MOST_BITS}, because all 2^n states are kept in memory"
        raise SettingError("bits", found=bits, rule=rule)
    return bits


def parity_process(bits: int, goal: int = 0) -> BitProcess:
    """Return the process in which each step flips one pair of bits (i, j) with i < j, or no bit.

    The reward is 1 in one state and 0 in all others.

    Flips of pairs do not change the parity of the number of bits in which the state differs from the goal. So a best
    value is above 0 only if this number is even.

    Args:
        bits: the number n of bits, at least 2.
        goal: the state with the reward.

    Raises:
        SettingError: for fewer than 2 bits or more than 20, or a goal that is not a state.

    Example:
        >>> from lemmata.subjects.decisions import optimal_values, parity_process
        >>> process = parity_process(4)
        >>> [float(optimal_values(process, 5)[0][state]) for state in (0b0000, 0b0001, 0b0011, 0b1111)]
        [5.0, 0.0, 4.0, 3.0]
    """
    states = np.arange(2 ** _bits(bits, 2))
    if not 0 <= whole("goal", goal) < len(states):
        raise SettingError("goal", found=goal, rule=f"a state from 0 to {len(states) - 1}")
    flips = [0] + [1 << i | 1 << j for i, j in itertools.combinations(range(bits), 2)]
    return BitProcess("parity", np.array([states ^ flip for flip in flips]), (states == goal).astype(float))


def majority_process(bits: int, goal: int | None = None) -> BitProcess:
    """Return a process with a counter over n bits. One action sets the bit at the counter, and the other action moves
    the counter to the next bit.

    The lowest n bits of a state are x, and the bits above them are the counter c. To set a bit means to replace it by
    the same bit of the goal. A counter that has reached n stays there. The reward is 1 if c = n and x is the goal. Let
    z be the number of bits in which x differs from the goal. From c = 0, a best policy takes n + z steps to this
    reward. For a horizon of H >= 2n states, the best value is H - n - z. So the best value is above H - n - m, for a
    fixed m, exactly if fewer than m bits differ from the goal.

    Args:
        bits: the number n of bits.
        goal: the value of x that has the reward; None means that all bits are 1.

    Raises:
        SettingError: for fewer than 1 bit; for more than 20 bits including those of the counter; for a goal that does
            not have n bits.

    Example:
        >>> from lemmata.subjects.decisions import majority_process, optimal_values
        >>> values = optimal_values(majority_process(3), 9)[0]
        >>> [float(values[x]) for x in (0b111, 0b101, 0b100, 0b000)]  # the counter is 0
        [6.0, 5.0, 4.0, 3.0]
    """
    size, control = 2 ** _bits(bits), int(bits).bit_length()
    _bits(bits + control)
    wanted = size - 1 if goal is None else whole("goal", goal)
    if not 0 <= wanted < size:
        raise SettingError("goal", found=goal, rule=f"a state of n bits, from 0 to {size - 1}")
    states = np.arange(size << control)
    x, counter = states % size, states >> bits
    at = np.where(counter < bits, 1 << np.minimum(counter, bits - 1), 0)
    put = (x & ~at) | (wanted & at)
    moved = np.minimum(counter + 1, bits)
    following = np.array([moved << bits | x, counter << bits | put])
    return BitProcess("majority", following, ((counter == bits) & (x == wanted)).astype(float))


def scrambled_process(bits: int, masks: Int[np.ndarray, " bits"]) -> BitProcess:
    """Return a process with hard transitions and easy values: next bits are parities, and the reward is one bit.

    Action a is 0 or 1. Action a leads from s to the state with a as bit 0 and, for k > 0, the parity of s & masks[k] as
    bit k. The reward is bit 0. Let V_h and Q_h be the best sums of rewards over h states. Then V_h(s) = s_0 + h - 1,
    and Q_h(s, a) = s_0 + a + h - 2 for h > 1. So the best action is 1.

    Args:
        bits: the number n of bits, at least 2.
        masks: the bits that are added up for each bit of the next state; the mask of bit 0 is not used.

    Raises:
        SettingError: for fewer than 2 bits or more than 20.
        ShapeError: if there are not n masks.
        DataError: for masks that are not whole numbers.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.decisions import optimal_values, scrambled_process
        >>> optimal_values(scrambled_process(3, np.array([0, 7, 6])), 4)[0].tolist()
        [3.0, 4.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0]
    """
    states = np.arange(2 ** _bits(bits, 2))
    if np.shape(masks) != (bits,):
        raise ShapeError("masks", found=f"shape {np.shape(masks)}", rule=f"one mask for each of the {bits} bits")
    _check_whole_numbers("masks", np.asarray(masks))
    scrambled = sum((np.bitwise_count(states & masks[k]) % 2).astype(int) << k for k in range(1, bits))
    return BitProcess("scrambled", np.array([scrambled, scrambled | 1]), (states % 2).astype(float))


def optimal_values(
    process: BitProcess, horizon: int
) -> tuple[Float[np.ndarray, " states"], Float[np.ndarray, "actions states"]]:
    """Return the largest sums V and Q of rewards over the first `horizon` states, including the present state.

        V_0 = 0,   Q_h(s, a) = r(s) + V_{h-1}(f(s, a)),   V_h(s) = max over a of Q_h(s, a).

    Args:
        process: a process with deterministic transitions f and rewards r.
        horizon: the number h of states, at least 1.

    Returns:
        V_h of each state and Q_h of each action and state.

    Raises:
        SettingError: for a horizon below 1.
    """
    check_whole("horizon", horizon, 1, "states")
    values = np.zeros(len(process.reward))
    quality = values[process.following]
    for _ in range(horizon):
        quality = process.reward + values[process.following]
        values = quality.max(axis=0)
    return values, quality
