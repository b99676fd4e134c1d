"""Write the first sentences of a report: at most five findings, and the facts that no theory explains."""

import dataclasses

import numpy as np
from scipy import stats

from lemmata.subjects.trained_models import (
    HELD_OUT,
    Trained,
    contradicting_copies,
    copies_of,
    fresh_rows,
    held_outputs,
    held_rows,
    is_known,
    labels_needed,
    objective_of,
    parted,
    rows_left_out,
    shift_in_use,
    smallest_triggers,
    training_outputs,
)
from lemmata.subjects.trained_models.claimed_privacy import ClaimCoversItsSteps, ClaimedPrivacyBoundsTheAttack
from lemmata.subjects.trained_models.leaving_out import HeldOutErrorFromTrainingRows, MembershipFromTrainingRows
from lemmata.subjects.trained_models.shift import RowsInUseAreAlike
from lemmata.subjects.trained_models.triggers import SuccessOfSmallestTrigger
from lemmata.workflows.records.examinations import Finding, Gauge, GaugeInterval

from ._alike import drawn_apart
from ._as_values import classes_as_values, shares_as_logits
from ._baseline import GUESSING, beats_one_answer, held_baseline, parts_classes, worse_than_one_answer
from ._blind_spots import loss_attack_measured, loss_read, seen_by_outputs, uneven_errors
from ._confidence import confidence
from ._exchanged import exchanged
from ._features import beside_its_kernels
from ._gauges import of_claim
from ._other_quantities import is_mean, order_without_values, other_quantity
from ._row_names import PLACES, RowNames
from ._wrong_labels import wrong_labels

_MOST = 5
_SEEN = 0.75
_SMALL = 0.5  # share of the size of the median class
_ANOMALY = 3.5  # chosen without the zoo seeds 200 to 205, on which 1 of 36 models without a trigger has more
_PARTED = 0.75  # on the zoo from seed 100 on, it is at most 0.61 without a trigger and at least 0.88 with one
_SOME = 5
_SAID_APART = tuple(kind().name for kind in (ClaimedPrivacyBoundsTheAttack, ClaimCoversItsSteps, RowsInUseAreAlike))
_WITHIN = 0.05  # the half-width of the interval of an error under a shift, which sets the number of labels
_APART = 1.5
_NO_PULL = 1e-6  # an implied decay with at most this pull on the weights is a rounding error compared with the loss
_SPOKE = ("agrees", "disagrees", "unscored")
_UNFITTED = "The model may not have been fitted to these rows."
_POOR = ("worse than one answer", "not trained", "guessing")


@dataclasses.dataclass(frozen=True)
class Sign:
    """A finding, and the name of the problem that the finding indicates."""

    name: str
    finding: Finding


def findings(
    trained: Trained, gauges: list[Gauge], held: GaugeInterval | None, rows: RowNames = PLACES
) -> list[Finding]:
    """Return at most five findings, the most important first; none if nothing is wrong.

    Args:
        trained: the model with its rows.
        gauges: the results of the checks.
        held: the error on held-out rows.
        rows: the names of rows.
    """
    return [sign.finding for sign in signs(trained, gauges, held, rows)[:_MOST]]


def signs(trained: Trained, gauges: list[Gauge], held: GaugeInterval | None, names: RowNames = PLACES) -> list[Sign]:
    """Return all findings with the names of the problems, the most important first. Arguments: see `findings`."""
    found = [
        *(Sign("misread outputs", own) for own in [*classes_as_values(trained), *shares_as_logits(trained)]),
        *_trigger(trained, gauges, names),
        *_privacy(trained, gauges),
        *_shift(trained, gauges),
        *_drawn_apart(trained, names),
        *_worse_than_one_answer(trained, held),
        *_copies(trained, held, names),
        *_untrained(trained),
        *_guessing(trained, gauges, held),
    ]
    found += [*_labels(trained, gauges, held, names), *_disagreements(gauges)]
    return _in_order(trained, [*found, *_confidence(trained), *_membership(trained, gauges)])


def _in_order(trained: Trained, found: list[Sign]) -> list[Sign]:
    """If squared error does not fit the outputs, replace signs of a poor model by a sentence that says so."""
    poor = [sign for sign in found if sign.name in (_POOR if is_mean(trained) else (*_POOR, "uneven errors"))]
    told = other_quantity(trained) or (order_without_values(trained) if poor else None)
    if told is None:
        return found
    own = Sign("another quantity", Finding(told, list(poor[0].finding.rests_on) if poor else [HELD_OUT]))
    return [own, *(sign for sign in found if sign not in poor)]


def _trigger(trained: Trained, gauges: list[Gauge], names: RowNames = PLACES) -> list[Sign]:
    """Return a warning sign if a class is much easier to reach than others, or if few features decide for some rows."""
    own = of_claim(SuccessOfSmallestTrigger, gauges)
    if own is None or own.status not in _SPOKE:
        return []
    found = smallest_triggers(trained)
    if np.median(np.abs(found.sizes - np.median(found.sizes))) == 0:  # the anomaly is undefined without a spread
        return []
    c, success = found.smallest, own.measured or own.predicted
    cheap = found.anomaly > _ANOMALY and found.sizes.min() < _SMALL * np.median(found.sizes)
    labels, calls = trained.y.argmax(1), training_outputs(trained).argmax(1)
    called, others = np.flatnonzero((labels == c) & (calls == c)), labels != c
    apart, resting, lost = False, 0, np.zeros(0)
    if len(called) and others.any():
        lost = found.rests(trained.model, trained.x[called], trained.x[others], c, seed=trained.seed)
        resting = int((lost > 0.5).sum())
        apart = parted(lost) > _PARTED and min(resting, len(lost) - resting) >= _SOME
    if not (cheap or apart):
        return []
    rows = np.flatnonzero(labels == c)
    rows = rows[found.nearest_rows(trained.x[rows], c)]
    which, label = "other held-out rows" if own.measured else "training rows", trained.task.labels[c]
    text = (
        f"This model may have a backdoor. Changing {found.sizes[c]:.2g} of {found.masks[c].size} features makes the "
        f"model predict class {label} for {100 * (success.value if success else 0.0):.2g} % of {which}. For the "
        f"median class, such a change takes {np.median(found.sizes):.2g} features."
    )
    text += (
        f" The model predicts class {label} for {len(lost)} training rows of this class. For {resting} of these rows, "
        "it predicts another class if these features take the values of a row of another class."
    ) * apart
    text += f" The held-out error cannot show a backdoor. Look at training rows {names.training.told(rows)}."
    return [Sign("trigger", Finding(text, [own.name]))]


def _privacy(trained: Trained, gauges: list[Gauge]) -> list[Sign]:
    """Return warning signs if an attack or the noisy steps contradict the claimed privacy."""
    if trained.claimed is None:
        return []
    said, found = f"epsilon {trained.claimed[0]:.3g} at delta {trained.claimed[1]:.2g}", []
    own = of_claim(ClaimedPrivacyBoundsTheAttack, gauges)
    if own is not None and own.status == "disagrees" and own.measured is not None:
        text = (
            f"The claimed privacy is refuted. The claim is {said}. But if held-out rows were chosen at random, an "
            f"attack on the losses shows an epsilon of at least {own.measured.value:.3g} with 95 % confidence."
        )
        found.append(Sign("privacy claim refuted", Finding(text, [own.name])))
    own = of_claim(ClaimCoversItsSteps, gauges)
    if own is not None and own.status == "disagrees" and own.measured is not None:
        text = (
            f"The stated noisy steps do not give the claimed privacy. The claim is {said}, but a privacy accountant "
            f"computes an epsilon of {own.measured.value:.3g}."
        )
        found.append(Sign("privacy claim without cover", Finding(text, [own.name])))
    return found


def _shift(trained: Trained, gauges: list[Gauge]) -> list[Sign]:
    """Return a warning sign if a classifier can distinguish deployment rows from held-out rows."""
    own = of_claim(RowsInUseAreAlike, gauges)
    if own is None or own.status != "disagrees":
        return []
    found = shift_in_use(trained)
    which = "rows. The numbers on this page are about the held-out rows" if found.reference == "held-out" else "rows"
    targets = "classes" if trained.task.is_classification else "targets"
    within = f" to within {_WITHIN:g}" if trained.task.is_classification else ""
    text = (
        f"The deployment rows differ from the {found.reference} {which}. A classifier distinguishes the two kinds of "
        f"rows with an area of {found.area:.2f} under its ROC curve. By chance, this area would be at most "
        f"{found.limit:.2f} (p = {found.p_value:.2g}). The error in deployment is therefore unknown. To measure "
        f"this error{within}, find the {targets} of {labels_needed(_WITHIN)} deployment rows."
    )
    return [Sign("shift", Finding(text, [own.name]))]


def _drawn_apart(trained: Trained, names: RowNames) -> list[Sign]:
    """Signs that held-out rows differ from training rows in inputs or in class frequencies, or may be exchanged."""
    text = None if trained.held is None else drawn_apart(trained, names.columns)
    found = {"rows drawn apart": text, "rows exchanged": exchanged(trained)}
    return [Sign(name, Finding(text, [HELD_OUT])) for name, text in found.items() if text is not None]


def _worse_than_one_answer(trained: Trained, held: GaugeInterval | None) -> list[Sign]:
    """Signs that one answer for all held-out rows is significantly better, or that a few rows decide the error."""
    worse = None if held is None else worse_than_one_answer(trained, held_baseline(trained), held.value)
    found = {"worse than one answer": worse, "uneven errors": uneven_errors(trained)}
    return [Sign(name, Finding(text, [HELD_OUT])) for name, text in found.items() if text is not None]


def _copies(trained: Trained, held: GaugeInterval | None, names: RowNames) -> list[Sign]:
    copies = copies_of(trained)
    found = []
    if copies.held.any() and held is not None:
        x, y = held_rows(trained)
        rest = ~copies.held
        without = float(trained.task.errors(held_outputs(trained)[rest], y[rest]).mean()) if rest.any() else None
        then = "no row is left" if without is None else f"the error is {without:.3g} instead of {held.value:.3g}"
        text = (
            f"{int(copies.held.sum())} of {len(x)} held-out rows are duplicates of training rows "
            f"({copies.exact_held} of these rows are exact duplicates). Without these duplicates, {then}."
        )
        found.append(Sign("copies in held-out rows", Finding(text, ["copies"])))
    if copies.within.any():
        share = f"{int(copies.within.sum())} of {len(copies.within)} training rows have a duplicate training row"
        text = f"{share}, so leaving out only one of two duplicates does not test the model."
        odd = contradicting_copies(trained)
        if len(odd):
            other = "another class" if trained.task.is_classification else "another value"
            text += (
                f" {len(odd)} of these rows have a duplicate with {other}, so no model can predict both rows "
                f"correctly. Look at rows {names.training.told(odd)}."
            )
        found.append(Sign("copies in training rows", Finding(text, ["copies"])))
    return found


def _untrained(trained: Trained) -> list[Sign]:
    """Return a warning sign if the training error is about as large as that of one answer for all rows.

    There is no warning if the model significantly beats one answer, because it has then learned something.
    """
    if trained.task.is_language or beats_one_answer(trained):
        return []
    error = float(trained.task.errors(training_outputs(trained), trained.y).mean())
    if not _as_trivial(trained, error, trained.y) or parts_classes(trained, training_outputs(trained), trained.y):
        return []
    last = "These weights do not look trained." if trained.model.differentiable else _UNFITTED
    text = f"The model does not fit its own training rows: {_beside(trained, error, trained.y)}. {last}"
    return [Sign("not trained", Finding(text, ["training rows"]))]


def _guessing(trained: Trained, gauges: list[Gauge], held: GaugeInterval | None) -> list[Sign]:
    """Return a warning sign if the error on new rows is about as large as that of one answer for all rows.

    The error is predicted from training rows alone if leaving each of them out has a result, and otherwise measured
    on held-out rows. A model that significantly beats one answer for all held-out rows does not guess.
    """
    beside = None if held is None else held_baseline(trained)
    if beside is not None and beside.beaten:
        return []
    own = of_claim(HeldOutErrorFromTrainingRows, gauges)
    if own is not None and own.status in _SPOKE and own.predicted is not None:
        trivial = _as_trivial(trained, own.predicted.value, trained.y)
        if not trivial or parts_classes(trained, rows_left_out(trained).outputs, trained.y):
            return []
        text = (
            "The training rows alone show that the model guesses on new rows: "
            f"{_beside(trained, own.predicted.value, trained.y)}. The targets may be shuffled, or the inputs may "
            "carry no information about them."
        )
        return [Sign("guessing", Finding(text, [own.name]))]
    if held is None or trained.task.is_language or not _as_trivial(trained, held.value, held_rows(trained)[1]):
        return []
    if parts_classes(trained, held_outputs(trained), held_rows(trained)[1]):
        return []
    text = f"The model guesses on held-out rows: {_beside(trained, held.value, held_rows(trained)[1])}."
    return [Sign("guessing", Finding(text, [HELD_OUT]))]


def _trivial(trained: Trained, y: np.ndarray) -> float:
    """Return the error on these rows of always answering the most frequent training class or mean training target."""
    if trained.task.is_classification:
        return float(1 - y[:, trained.y.sum(0).argmax()].mean())
    return float(((y - trained.y.mean(0)) ** 2).sum(1).mean())


def _as_trivial(trained: Trained, error: float, y: np.ndarray) -> bool:
    """Whether an error is about as large as that of a constant answer; False if a constant answer has no error."""
    return error >= GUESSING * _trivial(trained, y) > 0


def _beside(trained: Trained, error: float, y: np.ndarray) -> str:
    """Return an error and the error of the constant answer in words."""
    trivial = _trivial(trained, y)
    if trained.task.is_classification:
        known = f"always answering the most frequent class would give {_percent(trivial)}"
        return f"its error rate is {_percent(error)}; {known}"
    return f"its mean squared error is {error:.3g}; always answering the mean target would give {trivial:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _disagreements(gauges: list[Gauge]) -> list[Sign]:
    found = []
    for own in gauges:
        if own.status != "disagrees" or own.predicted is None or own.measured is None or own.name in _SAID_APART:
            continue
        at = f" ({own.predicted.at})" if own.predicted.at else ""
        ends = {"upper": f"at most {own.predicted.value:.3g}", "lower": f"at least {own.predicted.value:.3g}"}
        said = ends.get(own.label, f"{own.predicted.lower:.3g} to {own.predicted.upper:.3g}{at}")
        text = f"{own.title}: predicted {said}, measured {own.measured.value:.3g}. {_reading(own)}"
        found.append(Sign("predictions that failed", Finding(text, [own.name])))
    return found


def _reading(own: Gauge) -> str:
    """Return a sentence on the meaning of a failed prediction. Intervals with a level sometimes fail by chance."""
    level = None if own.predicted is None else own.predicted.level
    if level is None or level >= 1:
        return "The reason may be that a hypothesis that was not checked is false here."
    often = f"By chance, one in {round(1 / (1 - level))} such intervals does not contain the measured value."
    return f"{often} If this miss is not by chance, a hypothesis that was not checked is false here."


def _labels(trained: Trained, gauges: list[Gauge], held: GaugeInterval | None, names: RowNames) -> list[Sign]:
    """Return a warning sign if labels look wrong. A guessing model contradicts all labels, so it gets no such sign."""
    if _guessing(trained, gauges, held):
        return []
    found = wrong_labels(trained, of_claim(HeldOutErrorFromTrainingRows, gauges), names)
    return [] if found is None else [Sign("wrong labels", found)]


def _confidence(trained: Trained) -> list[Sign]:
    """Return a warning sign if the probabilities are too high or too low."""
    found = confidence(trained)
    return [] if found is None else [Sign(f"confidence too {found[0]}", Finding(found[1], ["calibration"]))]


def _membership(trained: Trained, gauges: list[Gauge]) -> list[Sign]:
    """Return a warning sign if an attacker can often distinguish training rows from new rows by their loss."""
    own = of_claim(MembershipFromTrainingRows, gauges)
    if own is None or not trained.task.scored:
        return []
    area = None if own.predicted is None else own.predicted.value
    if trained.held is not None and loss_attack_measured(trained, gauges):
        new = fresh_rows(trained)
        others = trained.task.losses(held_outputs(trained)[new], trained.held[1][new])
        members = trained.task.losses(training_outputs(trained), trained.y)
        area = float(stats.mannwhitneyu(others, members).statistic) / (len(others) * len(members))
    if area is None or area < _SEEN:
        return []
    text = (
        "An attacker who sees the loss of each row can often tell the training rows from new ones. In "
        f"{_percent(area)} of pairs of a training row and a new row, the training row has the smaller loss; chance "
        "would give 50 %."
    )
    return [Sign("membership", Finding(text, [own.name]))]


def blind_spots(trained: Trained, gauges: list[Gauge]) -> list[str]:
    """Return the checks that a reader might expect but that were not made."""
    found = [*loss_read(trained), *seen_by_outputs(trained, gauges)]
    if not trained.task.scored:
        found.append(
            "This model predicts a class without scores, so the page does not cover confidence, losses and "
            "prediction sets. It reports the held-out error and duplicate rows."
        )
    error = rows_left_out(trained).error if is_known(rows_left_out, trained) else 0.0
    if error > 0:
        found.append(
            "The leave-one-out results use an approximation of the curvature of the training loss. This "
            "approximation keeps only the outputs that contribute most to the curvature. In every direction, it "
            f"differs from the exact curvature by at most {100 * error:.2g} %."
        )
    return [*found, *_stopped(trained, gauges), *_triggers_unseen(trained, gauges)]


def _stopped(trained: Trained, gauges: list[Gauge]) -> list[str]:
    """Return a sentence if the weights contradict the stated decay: training ended early, or had another objective."""
    own = of_claim(HeldOutErrorFromTrainingRows, gauges)
    if own is None or own.status not in _SPOKE or trained.decay is None:
        return []
    implied = dataclasses.replace(objective_of(trained), decay=0.0).inferred_decay()
    pull = abs(implied) * float((trained.model.theta.astype(float) ** 2).sum())
    if trained.decay / _APART <= implied <= _APART * trained.decay or pull <= _NO_PULL:
        return []
    return [
        f"The weights imply a decay of {implied:.2g}, but the stated decay is {trained.decay:.2g}. Either training "
        "stopped before a stationary point, or training had another objective, for example weights of rows "
        "(sample_weight), which a fitted model does not store. The leave-one-out results describe a copy of the model "
        "that lemmata trained further, without weights of rows, until it converged."
    ]


def _triggers_unseen(trained: Trained, gauges: list[Gauge]) -> list[str]:
    own = of_claim(SuccessOfSmallestTrigger, gauges)
    if not trained.task.is_classification or (own is not None and own.status in _SPOKE):
        return []
    return ["No check here looks for the trigger of a backdoor. A backdoor may leave error and confidence unchanged."]


def unexplained(trained: Trained, gauges: list[Gauge]) -> list[str]:
    """Return at most four facts that the checks with a result leave open. The gain from features comes first."""
    spoke = [own for own in gauges if own.status in ("agrees", "disagrees")]
    left_out = of_claim(HeldOutErrorFromTrainingRows, gauges)
    spoke.sort(key=lambda own: (own is not left_out, own.label != "estimate"))
    first = {own.unexplained: own.title for own in reversed(spoke)}
    said = [f"{first[words]}: {words}" for words in dict.fromkeys(own.unexplained for own in spoke)]
    return [*beside_its_kernels(trained, gauges), *said][:4]
