"""Measure the gain from learned features: compare the model with ridge regression on its own tangent kernel."""

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.subjects.trained_models import Trained, end_kernel, fresh_rows, held_outputs, held_rows, start_kernel
from lemmata.subjects.trained_models.kernel_machines import ErrorOfTheEndKernel, ErrorOfTheStartKernel
from lemmata.subjects.trained_models.start import RESIDUAL, LinearFromTheStart
from lemmata.workflows.records.examinations import Gauge

from ._gauges import of_claim

_LEVEL = 0.05
_SPOKE = ("agrees", "disagrees")
_LAZY = 0.1  # the relative residual of the linear model at the start above which the check reports rich training
_MACHINES = (
    (ErrorOfTheStartKernel, start_kernel, "the tangent kernel at the start"),
    (ErrorOfTheEndKernel, end_kernel, "the trained tangent kernel"),
)


def beside_its_kernels(trained: Trained, gauges: list[Gauge]) -> list[str]:
    """Return a sentence that compares the errors of the model and its kernel machines; none without such checks.

    A kernel machine is ridge regression with the model's tangent kernel, at the start or at the trained weights. A
    significance test decides whether the errors of model and kernel machine differ (`verb_of`). In theory, a model that
    stayed in the linear regime equals the kernel machine at the start. If the test confirms this for such a model, the
    comparison shows nothing new, and the sentence does not mention this machine.

    Args:
        trained: the model with its rows.
        gauges: the results of the checks.
    """
    found = [(of_claim(kind, gauges), machine, words) for kind, machine, words in _MACHINES]
    judged = [(machine, words) for own, machine, words in found if own is not None and own.status in _SPOKE]
    residual, parts = _residual(of_claim(LinearFromTheStart, gauges)), []
    if not judged:
        return []
    new, y = fresh_rows(trained), held_rows(trained)[1]
    ours = trained.task.errors(held_outputs(trained)[new], y[new])
    for machine, words in judged:
        theirs = trained.task.errors(machine(trained).outputs[new], y[new])
        verb, rich = verb_of(ours, theirs), residual is not None and residual > _LAZY
        if machine is start_kernel and residual is not None and not rich and verb == "equals":
            continue
        numbers = f"{_said(trained, ours)} compared with {_said(trained, theirs)}"
        if machine is start_kernel and rich:
            link = "although" if verb == "equals" else "and"
            numbers += f"), {link} the network left the linear regime (residual {residual:.2g}"
        parts.append(f"{verb} {words} ({numbers})")
    return [f"The network {'; it '.join(parts)}"] if parts else []


def verb_of(ours: Float[np.ndarray, " m"], theirs: Float[np.ndarray, " m"]) -> str:
    """Return a verb for whether the model's errors are smaller, larger or not significantly different on the same rows.

    The errors of the model and of the kernel machine are errors on the same rows. Shares of errors are compared by the
    exact sign test at 5 % on the rows where they differ. Other errors are compared by a paired t test.

    Args:
        ours: the error of the model at each row.
        theirs: the error of the kernel machine at each row.
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
    """Return the relative residual of the linear model at the start, which is a hypothesis of the given check."""
    values = [] if gauge is None else [own.value for own in gauge.hypotheses if own.name == RESIDUAL]
    return values[0] if values else None


def _said(trained: Trained, errors: Float[np.ndarray, " m"]) -> str:
    return f"{100 * errors.mean():.2g} %" if trained.task.is_classification else f"{errors.mean():.3g}"
