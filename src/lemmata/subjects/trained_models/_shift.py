"""A test for shift: do deployment rows come from the distribution of the reference rows (held-out or training rows)?

A classifier tries to distinguish the two sets of rows by inputs, their squares and the model's outputs. Each row is
classified by a fit to other rows. The classifier's area under the ROC curve is compared with the areas after random
permutations of the rows. The test is exact if all rows come from one distribution. Then the p-value is at most alpha
with a probability of at most alpha, for any distribution, model and classifier.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy import stats
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logsumexp

from lemmata.answers import inside, share_interval
from lemmata.errors import DataError, ShapeError

from ._fresh_rows import fresh_rows
from ._missing_cells import as_points
from ._once import once
from ._trained import Trained

LEVEL = 0.05
"""A p-value of at most this level counts as a shift."""
FEWEST = 20
"""The smallest accepted number of deployment rows."""
_ENOUGH = 100  # least number of held-out rows for a reference
_MOST = 1000  # largest number of rows of each set that are compared
_DRAWS = 199  # with the unpermuted rows, there are 200 areas, so the level 0.05 is exact
_FOLDS = 5
_RIDGE = 1.0
_COLUMNS = 4096


@dataclasses.dataclass(frozen=True)
class Shift:
    """The result of a classifier that compares reference rows and deployment rows.

    Args:
        area: the area under the classifier's ROC curve, for rows that the classifier was not fitted to. Guessing gives
            1/2.
        nulls: the areas after the rows are assigned to the two sets at random. Without a shift, `area` has the same
            distribution.
        reference: "held-out" or "training", the rows with which the deployment rows are compared.
        rows, used: the numbers of reference rows and of deployment rows.
    """

    area: float
    nulls: Float[np.ndarray, " draws"]
    reference: str
    rows: int
    used: int

    @property
    def p_value(self) -> float:
        """The share of areas, the observed area included, that are at least as large as the observed area."""
        return float(1 + (self.nulls >= self.area).sum()) / (1 + len(self.nulls))

    @property
    def limit(self) -> float:
        """The largest area that does not show a shift. Up to this area, the p-value is above 0.05."""
        return float(np.sort(self.nulls)[-int(LEVEL * (1 + len(self.nulls)))])

    @property
    def seen(self) -> bool:
        """Whether there is a shift, at level 0.05."""
        return self.p_value <= LEVEL


def find_shift(trained: Trained, *, training: bool = False, outputs: bool | None = None) -> Shift:
    """Compare the deployment rows with held-out rows, or with training rows if there are fewer than 100 held-out rows.

    The model's outputs on training rows have another distribution than its outputs on new rows. So by default, outputs
    are compared only if held-out rows are the reference.

    Args:
        trained: a model with deployment rows.
        training: whether to compare with training rows even if there are enough held-out rows.
        outputs: whether the classifier also uses outputs. With None, it uses outputs if held-out rows are the
            reference.

    Raises:
        DataError: if there are no deployment rows.
    """
    if trained.deployed is None:
        raise DataError("deployment rows", found="none", rule="rows on which the model is used",
                        remedy="pass --deploy or deployed=")  # fmt: skip
    name, own = ("training", trained.x) if training else reference_rows(trained)
    rng = np.random.default_rng([trained.seed, 14])
    first, second = (rows[rng.permutation(len(rows))[:_MOST]] for rows in (own, trained.deployed))
    both = np.concatenate([first, second])
    blocks = _inputs(both)
    if outputs or (outputs is None and name == "held-out"):
        blocks.append(_outputs(trained, both))
    area, nulls = two_sample_areas(blocks, np.arange(len(both)) >= len(first), rng)
    return Shift(area, nulls, name, len(first), len(second))


@once
def shift_in_use(trained: Trained) -> Shift:
    """Compare the deployment rows with the held-out rows, or with the training rows if there are few held-out rows.

    Raises:
        DataError: if there are no deployment rows.
    """
    return find_shift(trained)


def reference_rows(trained: Trained) -> tuple[str, np.ndarray]:
    """Return the name and the rows of the reference: held-out rows without duplicates, or training rows.

    Training rows are returned if there are fewer than 100 held-out rows without duplicates.

    Args:
        trained: a model with its rows.
    """
    unseen = None if trained.held is None else trained.held[0][fresh_rows(trained)]
    return ("held-out", unseen) if unseen is not None and len(unseen) >= _ENOUGH else ("training", trained.x)


def _inputs(x: Shaped[np.ndarray, "n *row"]) -> list[Float[np.ndarray, "n d"]]:
    """Return the inputs and the squares of their deviations from the mean."""
    (flat,) = as_points(np.asarray(x, float).reshape(len(x), -1))
    return [flat, (flat - flat.mean(0)) ** 2]


def _outputs(trained: Trained, x: np.ndarray) -> Float[np.ndarray, "n c"]:
    """Return the outputs and, for classes, the logarithm of the largest probability."""
    f = trained.model.outputs(x)
    if not trained.task.is_classification:
        return f
    return np.column_stack([f - f.mean(1, keepdims=True), f.max(1) - logsumexp(f, axis=1)])


def two_sample_areas(
    blocks: list[Float[np.ndarray, "n _"]], second: Bool[np.ndarray, " n"], rng: np.random.Generator
) -> tuple[float, Float[np.ndarray, " draws"]]:
    """Return the ROC area of a ridge regression that predicts the sample of each row, and the areas after permutations.

    The score of a row comes from a fit to other rows. Columns are divided by their standard deviation over all rows,
    and every block of columns has the same weight. So the scales and weights do not depend on the assignment of rows to
    samples. The scores are linear in the labels, so one matrix product gives the scores for all permutations.

    Args:
        blocks: blocks of columns, such as inputs and outputs, each with a line for every row of both samples.
        second: whether each row is in the second sample.
        rng: the random generator of folds and permutations.
    """
    labels = np.asarray(second, float)
    dealt = np.column_stack([labels, *(rng.permutation(labels) for _ in range(_DRAWS))])
    scores = _fitted_elsewhere(_kernel(blocks), rng) @ (dealt - labels.mean())
    places = stats.rankdata(scores, axis=0)
    count, others = labels.sum(), (1 - labels).sum()
    areas = ((places * dealt).sum(0) - count * (count + 1) / 2) / (count * others)
    return float(areas[0]), areas[1:]


def _kernel(blocks: list[Float[np.ndarray, "n _"]]) -> Float[np.ndarray, "n n"]:
    """Return the inner products of rows in the standardised columns of each block, averaged over blocks."""
    n = len(blocks[0])
    total = np.zeros((n, n))
    for block in blocks:
        own, used = np.zeros((n, n)), 0
        for start in range(0, block.shape[1], _COLUMNS):
            columns = block[:, start : start + _COLUMNS]
            spread = columns.std(0)
            moving = spread > 1e-12 * np.maximum(np.abs(columns).max(0), 1e-300)
            columns = (columns[:, moving] - columns[:, moving].mean(0)) / spread[moving]
            own, used = own + columns @ columns.T, used + columns.shape[1]
        total += own / max(used, 1)
    return total / len(blocks)


def _fitted_elsewhere(kernel: Float[np.ndarray, "n n"], rng: np.random.Generator) -> Float[np.ndarray, "n n"]:
    """Return the matrix that maps labels to the scores of rows. Each score is fitted to the rows of the other folds."""
    n = len(kernel)
    operator = np.zeros((n, n))
    for fold in np.array_split(rng.permutation(n), _FOLDS):
        rest = np.setdiff1d(np.arange(n), fold)
        ridged = kernel[np.ix_(rest, rest)] + _RIDGE * np.eye(len(rest))
        operator[np.ix_(fold, rest)] = cho_solve(cho_factor(ridged, lower=True), kernel[np.ix_(rest, fold)]).T
    return operator


def _bytes(x: np.ndarray) -> list[bytes]:
    flat = np.ascontiguousarray(np.asarray(x, float).reshape(len(x), -1)) + 0.0  # -0 is 0
    return [row.tobytes() for row in flat]


def copied(reference: np.ndarray, used: np.ndarray) -> float:
    """Return the share of deployment rows that equal a reference row, beyond what duplicates explain.

    Args:
        reference: the reference rows (n, *row), held-out or training rows.
        used: the deployment rows (m, *row).

    Returns: The share of deployment rows that equal a reference row, minus the share of reference rows that equal
    another reference row.
    """
    own = _bytes(reference)
    counts: dict[bytes, int] = {}
    for row in own:
        counts[row] = counts.get(row, 0) + 1
    among = float(np.mean([row in counts for row in _bytes(used)]))
    return among - float(np.mean([counts[row] > 1 for row in own]))


def check_deployed(x: np.ndarray, deployed: np.ndarray) -> np.ndarray:
    """Return the deployment rows, or raise an error if they are invalid.

    Args:
        x: training rows (n, *row).
        deployed: deployment rows (m, *row).

    Raises:
        ShapeError: if there are fewer than 20 rows.
        DataError: if all deployment rows are training rows.
    """
    if len(deployed) < FEWEST:
        raise ShapeError("deployment rows", found=f"{len(deployed)}", rule=f"at least {FEWEST} rows for the comparison")
    if set(_bytes(deployed)) <= set(_bytes(x)) and copied(x, deployed) > 0.5:
        rule = "rows on which the model is used"
        raise DataError("deployment rows", found="only training rows", rule=rule, remedy="pass another file")
    return deployed


@functools.cache
def labels_needed(half_width: float, level: float = 0.95) -> int:
    """Return the least number of labelled rows for which exact limits are within `half_width` of any error rate.

    Clopper and Pearson's limits are farthest from the error rate if the error rate is near 1/2.

    Args:
        half_width: the largest distance of a limit, below 1/2.
        level: the confidence level.

    Raises:
        SettingError: if the half-width is outside (0, 1/2) or the level outside (0, 1).

    >>> labels_needed(0.05), labels_needed(0.1)
    (404, 106)
    """
    half_width, level = inside("half_width", half_width, 0.0, 0.5), inside("level", level, 0.0, 1.0)
    rows = max(1, int((stats.norm.ppf((1 + level) / 2) / (2 * half_width)) ** 2) - 2)
    while _farther(rows, level, half_width):
        rows += 1
    return rows


def _farther(rows: int, level: float, half_width: float) -> bool:
    """Return whether the upper limit for some count from a third to a half of the rows is too far from the share."""
    counts = range(rows // 2, rows // 3 - 1, -1)
    return any(share_interval(float(k), float(rows - k), level)[1] - k / rows > half_width for k in counts)
