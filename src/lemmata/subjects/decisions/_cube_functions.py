"""Measures of the complexity of a function of n bits: Walsh coefficients, total influence and prime implicants."""

import numpy as np
from jaxtyping import Bool, Float, Int

from lemmata.core import check_numbers
from lemmata.errors import DataError, SettingError, ShapeError

_MOST_BITS = 12


def _cube(values: np.ndarray) -> int:
    """Check that the number of values is a power of 2, and return the number n of bits."""
    size = len(values) if values.ndim == 1 else 0
    if size == 0 or size & (size - 1):
        raise ShapeError(
            "function of bits", found=f"values of shape {values.shape}", rule="2^n values, one for each state"
        )
    return size.bit_length() - 1


def _truth(values: np.ndarray) -> Bool[np.ndarray, " states"]:
    """Check that all values are 0 or 1, and return them as truth values."""
    check_numbers("a function of bits", values)
    values = np.asarray(values)
    _cube(values)
    other = values[(values != 0) & (values != 1)]
    if len(other):
        rule, remedy = "0 or 1 in each state", "a comparison, such as values > 0"
        raise DataError("function of bits", found=f"the value {other[0]}", rule=rule, remedy=f"use {remedy}")
    return values.astype(bool)


def walsh_coefficients(values: Float[np.ndarray, " states"]) -> Float[np.ndarray, " states"]:
    """Return the coefficients c_S of f(s) = sum over S of c_S (-1)^(number of bits of s in S).

    Args:
        values: f at the states 0, ..., 2^n - 1.

    Returns:
        c_S, in the order of the sets S read as numbers; the mean of f comes first.

    Raises:
        ShapeError: if the number of values is not a power of 2.
        DataError: for entries that are not finite, and for complex numbers.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.decisions import walsh_coefficients
        >>> walsh_coefficients(np.array([1.0, -1.0, -1.0, 1.0])).tolist()  # the parity of two bits
        [0.0, 0.0, 0.0, 1.0]
    """
    check_numbers("values", values)
    found = np.asarray(values, float)
    bits = _cube(found)
    for axis in range(bits):
        found = found.reshape(-1, 2, 2**axis)
        found = np.stack([found[:, 0] + found[:, 1], found[:, 0] - found[:, 1]], axis=1) / 2
    return found.reshape(-1)


def weight_by_degree(values: Float[np.ndarray, " states"]) -> Float[np.ndarray, " degrees"]:
    """Return the sum of the squared Walsh coefficients of each degree 0, ..., n; the total is the mean of f².

    Args:
        values: f at the states 0, ..., 2^n - 1.

    Raises:
        ShapeError: if the number of values is not a power of 2.
        DataError: for entries that are not finite, and for complex numbers.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.decisions import weight_by_degree
        >>> weight_by_degree(np.array([0.0, 0.0, 0.0, 1.0])).tolist()  # both bits are 1
        [0.0625, 0.125, 0.0625]
    """
    squares = walsh_coefficients(values) ** 2
    bits = _cube(squares)
    return np.bincount(np.bitwise_count(np.arange(len(squares))), squares, bits + 1)


def total_influence(truth: Bool[np.ndarray, " states"]) -> float:
    """Return the mean, over all states, of the number of bits whose flip changes f, where f has the values 0 and 1.

    Args:
        truth: f at the states 0, ..., 2^n - 1.

    Raises:
        ShapeError: if the number of values is not a power of 2.
        DataError: for a value that is not 0 or 1.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.decisions import total_influence
        >>> total_influence(np.array([False, True, True, False]))
        2.0
    """
    truth = _truth(truth)
    states = np.arange(len(truth))
    return float(sum((truth != truth[states ^ (1 << bit)]).mean() for bit in range(_cube(truth))))


def prime_implicants(truth: Bool[np.ndarray, " states"]) -> Int[np.ndarray, "terms 2"]:
    """Return the prime implicants (Quine and McCluskey).

    A prime implicant is a conjunction of literals that implies f, but no longer implies f if a literal is left out.

    Args:
        truth: f at the states 0, ..., 2^n - 1, with n at most 12.

    Returns:
        One row for each term. The first number encodes the bits that the term leaves free. The second number encodes
        the values of the remaining bits.

    Raises:
        SettingError: for more than 12 bits.
        ShapeError: if the number of values is not a power of 2.
        DataError: for a value that is not 0 or 1.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.decisions import prime_implicants
        >>> prime_implicants(np.array([False, True, True, True])).tolist()  # bit 1, and bit 0
        [[1, 2], [2, 1]]
    """
    truth = _truth(truth)
    bits = _cube(truth)
    if bits > _MOST_BITS:
        raise SettingError("prime implicants", found=f"{bits} bits", rule=f"at most {_MOST_BITS} bits")
    # implied[free][s] is true if f is true in all states that agree with s outside `free`
    implied = {0: truth}
    states, found = np.arange(len(truth)), []
    for free in sorted(range(len(truth)), key=int.bit_count):
        if free:
            low = free & -free
            implied[free] = implied[free ^ low] & implied[free ^ low][states ^ low]
        longer = np.zeros(len(truth), bool)
        for bit in range(bits):
            if not free >> bit & 1:
                longer |= implied[free] & implied[free][states ^ (1 << bit)]
        found += [(free, int(s)) for s in np.flatnonzero(implied[free] & ~longer & (states & free == 0))]
    return np.array(found, int).reshape(-1, 2)


def essential_terms(truth: Bool[np.ndarray, " states"]) -> int:
    """Count the prime implicants that hold in some state in which no other prime implicant holds.

    Every disjunction of conjunctions that equals f has at least this many terms.

    If these prime implicants cover f, the count is the smallest number of terms. This condition holds for monotone
    functions and for parities.

    Args:
        truth: f at the states 0, ..., 2^n - 1, n at most 12.

    Raises:
        SettingError: for more than 12 bits.
        ShapeError: if the number of values is not a power of 2.
        DataError: for a value that is not 0 or 1.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.decisions import essential_terms
        >>> essential_terms(np.array([False, True, True, False]))
        2
    """
    terms, states = prime_implicants(truth), np.arange(len(truth))
    covers = [(states & ~free) == value for free, value in terms]
    if not covers:
        return 0
    times = np.sum(covers, axis=0)
    return sum(bool((cover & (times == 1)).any()) for cover in covers)
