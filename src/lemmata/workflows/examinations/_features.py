"""What features paid: the model beside ridge regression with its own tangent kernel, on the same held-out rows."""

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.subjects.trained_models import Trained, fresh_rows, held_outputs, held_rows

from ._record import Gauge

_LEVEL = 0.05
_SPOKE = ("agrees", "disagrees")
_TANGENT = "linear_from_the_start"
_LAZY = 0.1  # of the residual of the tangent, above which that gauge says that training was rich
_MACHINES = (
    ("error_of_the_start_kernel", "start_kernel", "the tangent kernel of its start"),
    ("error_of_the_end_kernel", "end_kernel", "the tangent kernel at its trained weights"),
)


def beside_its_kernels(trained: Trained, gauges: list[Gauge]) -> list[str]:
    """One sentence of how the model's error compares with those of its kernels that were judged; none without any.

    A test on the rows of which one of the two errs more decides whether they differ. That a model which stayed linear
    equals the kernel of its start is what theory says, and is left out.

    Args:
        trained: the model with its rows.
        gauges: what was found.
    """
    by_name = {own.name.rpartition(".")[2]: own for own in gauges}
    judged = [
        (machine, words) for name, machine, words in _MACHINES if name in by_name and by_name[name].status in _SPOKE
    ]
    residual, parts = _residual(by_name.get(_TANGENT)), []
    if not judged:
        return []
    new, y = fresh_rows(trained), held_rows(trained)[1]
    ours = trained.task.errors(held_outputs(trained)[new], y[new])
    for machine, words in judged:
        theirs = trained.task.errors(getattr(trained, machine).outputs[new], y[new])
        verb, rich = verb_of(ours, theirs), residual is not None and residual > _LAZY
        if machine == "start_kernel" and residual is not None and not rich and verb == "equals":
            continue
        numbers = f"{_said(trained, ours)} against {_said(trained, theirs)}"
        if machine == "start_kernel" and rich:
            link = "although" if verb == "equals" else "and"
            numbers += f"), {link} it left the linear regime (residual {residual:.2g}"
        parts.append(f"{verb} {words} ({numbers})")
    return [f"the net {'; it '.join(parts)}"] if parts else []


def verb_of(ours: Float[np.ndarray, " m"], theirs: Float[np.ndarray, " m"]) -> str:
    """Whether errors of the same rows are smaller, larger, or no further apart than by chance.

    Shares: the exact sign test at 5 % of the rows on which they differ. Other errors: a paired t test.

    Args:
        ours: errors of the model.
        theirs: errors of the kernel machine.
    """
    apart = ours - theirs
    if not apart.any():
        return "equals"
    if np.isin(apart, (-1, 0, 1)).all():
        p = stats.binomtest(int((apart < 0).sum()), int((apart != 0).sum())).pvalue
    else:
        spread = float(apart.std(ddof=1)) / np.sqrt(len(apart))
        p = 2 * float(stats.t.sf(abs(apart.mean()) / max(spread, 1e-300), len(apart) - 1))
    if not p < _LEVEL:
        return "equals"
    return "beats" if apart.mean() < 0 else "is beaten by"


def _residual(gauge: Gauge | None) -> float | None:
    """The residual of the tangent at the start, as that gauge's hypothesis found it."""
    values = [] if gauge is None else [own.value for own in gauge.hypotheses if own.name.startswith("residual of the")]
    return values[0] if values else None


def _said(trained: Trained, errors: Float[np.ndarray, " m"]) -> str:
    return f"{100 * errors.mean():.2g} %" if trained.task.is_classification else f"{errors.mean():.3g}"
