"""Return facts that you must know before you rely on a study: about the metric, the models and the answers."""

from collections.abc import Sequence

from lemmata.workflows.records.studies import Finding, TheoryPoint

from ._columns import listing
from ._data import Dataset
from ._imbalance import imbalance
from ._losses import say_left_out
from ._models import MOST_EXACT
from ._outlook import Candidate
from ._plan import left_out
from ._question import Question
from ._signal import Signal
from ._unfound import copied
from ._units import say_unit


def about_answers(found: Signal, asked: Question, dataset: Dataset, in_time: Sequence[str]) -> list[Finding]:
    """Return the findings that are also among the answers, and the findings about the metric.

    Args:
        found: the test for signal.
        asked: the question of the study.
        dataset: the table.
        in_time: the sentences that exist only if rows are ordered in time, such as a sentence about drift.
    """
    told = [("copies", copied(found)), ("rare class", asked.rare), *(("drift", text) for text in in_time)]
    told.append(("unit", say_unit(asked.unit, dataset)))
    findings = [Finding(kind, (), text) for kind, text in told if text]
    return [*findings, *imbalance(dataset, asked.unit)]


def about_models(
    candidates: Sequence[Candidate], dataset: Dataset, few: Dataset, theory: dict[str, list[TheoryPoint]], quick: bool
) -> list[Finding]:
    """Return findings about approximate fits, rows used for the theory, a theory left out, and fits that broke down.

    Args:
        candidates: the measured models with their forecasts.
        dataset: the table.
        few: the rows on which the theory is computed.
        theory: the results of the theory by the name of the model.
        quick: whether the study is quick and therefore has no theory.
    """
    findings = []
    kernels = [item.measured for item in candidates if item.measured.model.kernels]
    dear = [item for item in kernels if item.model.name != "linear" and item.reach > MOST_EXACT]
    if dear and not left_out(dataset):
        text = (
            f"Kernels are fitted exactly to at most {MOST_EXACT:,} training rows. With more rows, the fit is an "
            f"approximation that uses {MOST_EXACT:,} of them as centres, which can cost accuracy."
        )
        findings.append(Finding("approximation", (), text))
    if few is not dataset and any(theory.values()):
        text = f"The theory is computed on {len(few.targets):,} rows, drawn at random."
        findings.append(Finding("theory", (), text))
    if dataset.texts and not quick:
        text = (
            f"The theory is left out: {listing([repr(name) for name in dataset.texts])} "
            f"{'enters' if len(dataset.texts) == 1 else 'enter'} the models as mean targets of the categories, but "
            "the theory needs inputs that do not depend on targets."
        )
        findings.append(Finding("theory", dataset.texts, text))
    wild = {item.measured.model.title: item.measured.wild for item in candidates if item.measured.wild}
    return [*findings, *(Finding("broken fits", (), text) for text in say_left_out(wild))]
