"""Choose the usual models that suit a table."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from lemmata.errors import SettingError

WIDE = 0.5
"""If there are at least this many columns per row, a lasso (for classes) or an elastic net (for numbers) is added."""


def suited(x: Float[np.ndarray, "N d"], task: str, targets: Float[np.ndarray, "rows k"] | None) -> list[str]:
    """Return the names of the models that are compared if the user names none.

    The list depends on the targets and columns. The list includes Poisson regression for counts (whole numbers, none
    below 0) and gamma regression for other amounts (all above 0, with a mean that exceeds the median by more than a
    tenth of the standard deviation). If there are at least half as many columns as rows, the list includes an elastic
    net for numbers and a lasso for classes. For numbers, it always includes a lasso.
    """
    if task == "classification":
        wide = targets is not None and x.shape[1] >= WIDE * len(targets)
        return ["boosting", "forest", "logistic", "neighbours", "svm", *(["lasso"] if wide else [])]
    found = ["boosting", "forest", "lasso", "neighbours", "svm"]
    if targets is None:
        return found
    found += ["elastic-net"] if x.shape[1] >= WIDE * len(targets) else []
    if (targets >= 0).all() and (targets == np.round(targets)).all():
        found.append("poisson")
    elif (targets > 0).all() and (targets.mean(axis=0) - np.median(targets, axis=0) > 0.1 * targets.std(axis=0)).all():
        found.append("gamma")
    return found


def check_amounts(names: Sequence[str], targets: Float[np.ndarray, "rows k"] | None) -> None:
    """Check that the targets suit the models of counts or amounts, if such models are among `names`.

    Raises:
        SettingError: if a target is below 0, or is 0 for gamma regression.
    """
    least = math.inf if targets is None else float(targets.min())
    for name, fits, rule in (("poisson", least >= 0, "at least 0"), ("gamma", least > 0, "above 0")):
        if name in names and not fits:
            raise SettingError(f"--models {name} does not suit this target", found=f"a target of {least:g}",
                               rule=f"all targets are {rule}", remedy=f"leave {name} out")  # fmt: skip
