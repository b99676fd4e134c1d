"""Find the parity behind labels: elimination without noise, and Blum, Kalai and Wasserman's algorithm with noise."""

import dataclasses
import math
from typing import Any

import numpy as np
from scipy import stats

from lemmata.answers import Condition, inside, probability, share_interval, whole
from lemmata.core import array_of
from lemmata.core.columns import bits_of, column_names
from lemmata.errors import DataError, SettingError, ShapeError, SolverError, UnknownNameError
from lemmata.printable import preformatted

from ._elimination import LAST, eliminate, noisy_parity, plan_blocks, rank_of

_CLAIMS = (
    "boolean.parities.parity_by_elimination",
    "boolean.parities.piling_up",
    "boolean.parities.noisy_parity_by_blocks",
)
_HELD = 0.25  # share of the rows that verify a parity of noisy labels
_SPREAD = 2.0  # margin for noise, in standard deviations
_CHANCE = 1e-3  # the largest allowed probability that a wrong parity agrees as well with the held-out rows
_ROUNDS = 3
_MOST_ROWS = 10**12


@dataclasses.dataclass(frozen=True)
class Parity:
    """A parity that labels follow.

    Args:
        inputs: the names of the columns whose sum modulo 2 is the label.
        negated: whether the label is that sum plus 1.
        columns: the positions of these columns.
        width: the number of all columns of x.
        signs: whether the columns were given as -1 and 1.
        method: the name of the method that found the parity.
        rank: the rank of the rows over F_2 if the parity was found by elimination, otherwise None.
        held: the number of held-out rows that the method did not use, on which the parity was verified.
        wrong: the number of held-out rows whose label differs from the parity.
        interval: a confidence interval of the probability that the parity is wrong at a new row, from the held-out
            rows.
        chance: the probability that a wrong parity agrees with the held-out rows at least as well as this parity.
        level: the confidence level of the interval.
        conditions: the conditions for the answer.
        claims: names of the claims that state the answer.
    """

    inputs: tuple[str, ...]
    negated: bool
    columns: tuple[int, ...]
    width: int
    signs: bool
    method: str
    rank: int | None
    held: int
    wrong: int
    interval: tuple[float, float]
    chance: float
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def predict(self, x: Any) -> np.ndarray:
        """Return the labels of rows, 0 and 1.

        Args:
            x: rows of the columns of the fit, in the code of the fit. The columns of a data frame are found by their
                names.

        Raises:
            ShapeError, UnknownNameError, DataError: for other columns, or values that are not binary.
        """
        rows, places = _rows(x), list(self.columns)
        if getattr(x, "columns", None) is not None:
            names = column_names(x, rows.shape[1])
            missing = [name for name in self.inputs if name not in names]
            if missing:
                raise UnknownNameError(
                    "x",
                    found=f"no column {missing[0]}",
                    rule="columns with the names of the parity",
                    remedy="pass the columns that the parity was found on",
                )
            places = [names.index(name) for name in self.inputs]
        elif rows.shape[1] != self.width:
            raise ShapeError("x", found=f"{rows.shape[1]} columns", rule=f"the {self.width} columns of the fit")
        return (bits_of(rows, "x", self.signs)[:, places].sum(axis=1) + self.negated) % 2

    def __str__(self) -> str:
        parts = [*self.inputs, *(["1"] if self.negated else [])]
        low, high = self.interval
        share = f"{100 * self.level:g} % interval"
        lines = [
            f"y = {' + '.join(parts) or '0'} modulo 2, by {self.method}",
            f"{self.wrong} of {self.held} held-out labels differ from the parity: the error has the {share} "
            f"{low:.3g} to {high:.3g}",
            f"a wrong parity would agree this well with probability {self.chance:.2g}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)


def solve_parity(
    x: Any, y: Any, noise: Any = 0.0, *, constant: bool = False, level: float | int = 0.95, seed: int = 0
) -> Parity:
    """Find the set S of columns whose sum modulo 2 is y, except for a share `noise` of the labels.

    Without noise, the equations are solved by elimination. The other rows, which the solution does not need, verify the
    solution. If the labels are not a parity, each of these rows agrees with the solution with probability 1/2. If the
    rows contradict every parity, the error names rows that show this.

    With noise, three quarters of the rows are used to find the parity, and the remaining rows verify the parity. For up
    to 20 columns, the fast transform compares all parities. For more columns, rows with equal values in a block of
    columns are added in pairs. This reduction is repeated until 20 columns are left (Blum, Kalai and Wasserman 2003). A
    sum of k labels is wrong with probability (1 - (1 - 2 noise)^k)/2. So each block that is removed makes the sums
    noisier. The number of blocks is chosen so that the remaining sums single out the parity most clearly.

    Args:
        x: rows of d binary columns, 0 and 1, -1 and 1, or booleans. With -1 and 1, -1 is the bit 1.
        y: binary labels, in the codes of x.
        noise: the probability that a label is wrong, at least 0 and below 1/2.
        constant: whether y may be the sum plus 1.
        level: the confidence level of the interval of the error.
        seed: the random seed of the held-out rows, and of the blocks.

    Raises:
        SettingError: for an invalid noise or level.
        ShapeError, DataError: for columns that are not binary; for rows that contradict every parity without noise; for
            rows with which several parities agree; for fewer rows than the noise requires.
        SolverError: if no parity was found that agrees with the held-out rows.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.integers(0, 2, size=(60, 12))
        >>> y = (x[:, 2] + x[:, 5] + x[:, 11]) % 2
        >>> print(solve_parity(x, y))
        y = x2 + x5 + x11 modulo 2, by elimination
        0 of 48 held-out labels differ from the parity: the error has the 95 % interval 0 to 0.074
        a wrong parity would agree this well with probability 3.6e-15
    """
    rows, labels, names, signs = _read(x, y)
    level, noise, seed = inside("level", level, 0.0, 1.0), probability("noise", noise), whole("seed", seed)
    if noise >= 0.5:
        raise SettingError(
            "noise",
            found=f"{noise:g}",
            rule="a share of labels of at least 0 and below 1/2",
            remedy="pass the share of wrong labels, 0 if there are none",
        )
    if noise == 0:
        found = _by_elimination(rows, labels, names, constant, level)
    else:
        found = _with_noise(rows, labels, names, noise, constant, level, np.random.default_rng(seed))
    return dataclasses.replace(found, signs=signs)


def _rows(x: Any) -> np.ndarray:
    rows = array_of("x", x)
    if rows.ndim != 2:
        raise ShapeError("x", found=f"shape {rows.shape}", rule="shape (n, d), one row for each label")
    return rows


def _read(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], bool]:
    """Return rows and labels as bits, the names of the columns, and whether the columns have the values -1 and 1."""
    rows, labels = _rows(x), array_of("y", y)
    if labels.shape != (len(rows),):
        raise ShapeError("y", found=f"shape {labels.shape}", rule=f"one label for each of the {len(rows)} rows")
    bits, answers = bits_of(rows, "x"), bits_of(labels, "y")
    signs = rows.dtype != bool and bool((rows == -1).any())
    if signs and labels.dtype != bool and (labels == 1).all():
        raise DataError(
            "y", found="only the value 1, for columns of -1 and 1",
            rule="at least one other label, which shows whether 1 means bit 0 (beside -1) or bit 1 (beside 0)",
            remedy="pass booleans",
        )  # fmt: skip
    return bits, answers, column_names(x, rows.shape[1]), signs


def _by_elimination(
    x: np.ndarray, y: np.ndarray, names: tuple[str, ...], constant: bool, level: float
) -> Parity:  # fmt: skip
    n, d = x.shape
    augmented = np.column_stack([x, np.ones(n, bool)]) if constant else x
    solved = eliminate(augmented, y)
    if solved.solution is None:
        shown = ", ".join(str(row) for row in solved.clash[:8]) + (", ..." if len(solved.clash) > 8 else "")
        raise DataError(
            "rows contradict every parity, so some labels are wrong",
            found=(
                f"{len(solved.clash)} row{('s' if len(solved.clash) > 1 else '')} ({shown}, counted from "
                "0) whose inputs add up to 0 modulo 2, although their labels add up to 1"
            ),
            rule="labels that are a parity of the columns" + (" or its negation" if constant else ""),
            remedy="set noise to the share of wrong labels, for example noise=0.05"
            + ("" if constant else ", or constant=True if y may be negated"),
        )
    unknown = augmented.shape[1]
    _check_rank(n, solved.rank, unknown)
    bits = solved.solution
    chance = 0.5**solved.spare
    return _parity_of(
        bits[:d], bool(constant and bits[-1]), names, "elimination", solved.rank, solved.spare, 0, chance, level,
        Condition("number of rows that check the solution", float(solved.spare), chance <= _CHANCE,
                  "at least 10 such rows are needed to rule out labels that are not a parity"),
    )  # fmt: skip


def _check_rank(n: int, rank: int, unknown: int) -> None:
    if rank < unknown:
        raise DataError(
            "rows do not determine the parity",
            found=f"{n} row{('s' if n > 1 else '')} of rank {rank}, so 2^{unknown - rank} parities agree with them",
            rule=f"rank {unknown}, the number of unknowns",
            remedy="add rows, or remove columns that are constant or sums of others",
        )


def _with_noise(
    x: np.ndarray, y: np.ndarray, names: tuple[str, ...], noise: float, constant: bool, level: float,
    generator: np.random.Generator,
) -> Parity:  # fmt: skip
    n, d = x.shape
    order = generator.permutation(n)
    held, used = order[: max(int(_HELD * n), 1)], order[max(int(_HELD * n), 1) :]
    blocks = plan_blocks(len(used), d, noise)
    _check_rows(n, d, noise, blocks.evidence)
    augmented = np.column_stack([x, np.ones(n, bool)]) if constant else x
    _check_rank(n, rank_of(augmented), augmented.shape[1])
    transform = "the transform of all 2^{d} parities"
    method = transform.format(d=d) if d <= LAST else (
        f"adding rows over {blocks.stages} {'block' if blocks.stages == 1 else 'blocks'} of {blocks.bits} columns"
    )  # fmt: skip
    bits, negated, wrong, chance = np.zeros(d, bool), False, len(held), 1.0
    rounds = _rounds(d)
    for _ in range(rounds):
        bits = noisy_parity(x[used], y[used], noise, constant, generator)
        sums = (x[:, bits].sum(axis=1) & 1).astype(bool)
        negated = bool(constant and (sums[used] ^ y[used]).mean() > 0.5)
        wrong = int(((sums ^ y)[held] ^ negated).sum())
        chance = rounds * float(stats.binom.cdf(wrong, len(held), 0.5))
        if chance <= _CHANCE:
            break
    else:
        raise SolverError(
            "no parity agrees with the held-out rows",
            found=f"{wrong} of {len(held)} held-out labels that differ from the best parity found",
            rule=f"so few that chance explains the agreement with probability at most {_CHANCE:g}",
            remedy="check that the labels are a parity of these columns and that the noise is right, or add rows",
        )
    low, high = stats.binom.interval(0.99, len(held), noise)
    near = _nearest_parity(augmented, (x[:, bits].sum(axis=1) & 1).astype(bool) ^ y ^ negated)
    return _parity_of(
        bits, negated, names, method, None, len(held), wrong, chance, level,
        Condition("share of held-out labels that differ, compared with the given noise", wrong / len(held),
                  bool(low <= wrong <= high), "otherwise the noise differs from the given noise"),
        Condition(("parities that differ in one or two columns agree clearly less (largest probability that "
                  "chance explains such a gap)"), near, near <= _CHANCE,
                  "otherwise a column is nearly constant, or nearly equal to another column"),
    )  # fmt: skip


def _nearest_parity(x: np.ndarray, wrong: np.ndarray) -> float:
    """Return the largest chance that the parity beats, by luck alone, a parity that differs in 1 or 2 columns.

    On the rows where the sum of these columns is 1, the parity predicts e of n labels wrongly. The other parity
    predicts n - e of these labels wrongly.
    """
    columns = np.column_stack([np.zeros(len(x)), x]).astype(float)
    pairs = np.triu_indices(columns.shape[1], 1)

    def differing(rows: np.ndarray) -> np.ndarray:
        """Count the rows in which two columns differ, for all pairs."""
        ones = rows.sum(axis=0)
        return np.round(ones[:, None] + ones - 2 * rows.T @ rows)[pairs]

    return float(stats.binom.cdf(differing(columns[wrong]), differing(columns), 0.5).max())


def _rounds(d: int) -> int:
    """Return the number of random draws of blocks, which is 1 if all parities are compared at once."""
    return 1 if d <= LAST else _ROUNDS


def _verifies(held: int, d: int, noise: float) -> bool:
    """Return whether the held-out rows distinguish the right parity from chance, except for rare draws of noise."""
    wrong = math.ceil(noise * held + _SPREAD * math.sqrt(noise * (1 - noise) * held))
    return held > 0 and _rounds(d) * float(stats.binom.cdf(wrong, held, 0.5)) <= _CHANCE


def _check_rows(n: int, d: int, noise: float, evidence: float) -> None:
    """Raise an error for too few rows to single out one of 2^b parities in the last block, or to verify this parity."""
    # The largest of 2^b sums of independent signs is about sqrt(2 log 2^b) standard deviations.
    wanted = (math.sqrt(2 * min(d, LAST) * math.log(2)) + _SPREAD) ** 2
    if evidence >= wanted and _verifies(int(_HELD * n), d, noise):
        return
    rows = max(n, 8)
    while rows < _MOST_ROWS and not (
        plan_blocks(rows - int(_HELD * rows), d, noise).evidence >= wanted and _verifies(int(_HELD * rows), d, noise)
    ):
        digits = max(len(str(rows)) - 2, 0)
        rows = math.ceil(rows * 1.05 / 10**digits) * 10**digits
    raise DataError(
        "rows", found=f"{n} rows of {d} columns at noise {noise:.7g}",
        rule=f"at least about {rows} rows" if rows < _MOST_ROWS else f"more than {_MOST_ROWS:.0e} rows",
        remedy="add rows, or remove columns that the parity cannot contain",
    )  # fmt: skip


def _parity_of(
    bits: np.ndarray, negated: bool, names: tuple[str, ...], method: str, rank: int | None, held: int, wrong: int,
    chance: float, level: float, *conditions: Condition,
) -> Parity:  # fmt: skip
    columns = tuple(int(place) for place in np.flatnonzero(bits))
    interval = share_interval(float(wrong), float(held - wrong), level) if held else (0.0, 1.0)
    return Parity(
        inputs=tuple(names[place] for place in columns), negated=negated, columns=columns, width=len(bits),
        signs=False, method=method, rank=rank,
        held=held, wrong=wrong, interval=interval, chance=min(chance, 1.0), level=level,
        conditions=(
            Condition("rows are independent draws of one distribution"), *conditions,
            Condition("the labels depend on a column (columns of the parity)", float(len(columns)), len(columns) > 0,
                      "otherwise the parity is a constant"),
        ),
    )  # fmt: skip
