"""With --time: whether older rows still help, measured on the same later stretches at every size."""

import math

import numpy as np
from scipy import stats

from lemmata.workflows.records import rows

from ._metrics import tell
from ._outlook import Candidate
from ._question import Question

LEVEL = 0.05


def drift(best: Candidate, question: Question) -> list[str]:
    """A sentence where the best model is worse with all earlier rows than with fewer, recent ones.

    Every size is tested on the same later stretches, and its rows are those directly before them, so that more rows
    are older rows. The size with the least mean loss is compared with the largest by a paired t-test over stretches.
    """
    losses = best.losses
    # A size at which the model could not be fitted before every stretch is compared with none.
    number = max((len(own) for own in losses.paired), default=0)
    kept = [i for i, own in enumerate(losses.paired) if len(own) == number]
    if len(kept) < 2:
        return []
    table, sizes = np.array([losses.paired[i] for i in kept]), losses.sizes[kept]
    least, last = int(table.mean(axis=1).argmin()), len(table) - 1
    apart = table[last] - table[least]
    if least == last or len(apart) < 3 or not apart.std():
        return []
    # The least of several sizes was chosen, so that each of them gets its share of the level.
    ratio = float(apart.mean() / (apart.std(ddof=1) / math.sqrt(len(apart))))
    value = float(stats.t.sf(ratio, len(apart) - 1)) * (len(table) - 1)
    if not (math.isfinite(value) and value <= LEVEL):
        return []
    told = [tell(question.unit, float(table[i].mean()), question.spread) for i in (least, last)]
    size = [rows(sizes[i]) for i in (least, last)]
    return [
        f"The target drifts: with the last {size[0]} rows {best.title} was measured to have {question.unit.name} "
        f"{told[0]} on later rows, with the last {size[1]} {told[1]}. Older rows no longer help."
    ]
