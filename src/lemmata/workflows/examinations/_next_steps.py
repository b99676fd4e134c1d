"""Find actions to do next: check labels, or change the decay or the temperature.

Each action is tried on a copy of the model.

The copy is trained further from the current weights by gradient descent, on the objective as the action changes it. The
rows that measure the effect of an action were not used to choose the action. Labels and decay are chosen by leaving
training rows out, and a temperature is chosen on one half of the held-out rows. Effects are means of differences row by
row on held-out rows.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from lemmata.errors import LemmataError
from lemmata.subjects.trained_models import (
    DESCENT_STEPS,
    AbstractModel,
    Trained,
    changed_by_polishing,
    fresh_rows,
    held_outputs,
    held_rows,
    leave_one_out,
    objective_of,
    polish,
    polished_copy,
    rows_left_out,
    step_passes,
    temperature,
)
from lemmata.workflows.records.examinations import Action, Effect, Gauge, GaugeInterval

from ._confidence import excludes, first_half
from ._exchanged import exchanged
from ._row_names import PLACES, RowNames
from ._row_table import SPOKE
from ._wrong_labels import counted, of_training_rows, stands, suspicion

LEVEL = 0.95
MOST = 3
_FACTOR = 4.0  # the factor between one tried decay and the next
_TRIED = 4
# The steps of the descent to another decay. It starts at the copy for the last decay. More steps are not needed: 600
# steps gave the same result.
_TRYING = 150
_SURE = 2.5  # the left-out losses must fall by this number of standard errors
_SAME = 0.02  # the share of predictions that the copy may change before any action is tried
_FEWEST = 50  # the least number of held-out rows to measure an effect
_ERRORS = 5  # the least number of errors in the first half of the held-out rows to show that confidence is too low
_NOTHING = 1e-12
_WORTH = 0.02  # the least gain of an action, as a share of the error or loss


def next_steps(
    trained: Trained, left_out: Gauge | None, names: RowNames = PLACES, second: float = 0.0,
    deadline: float | None = None, seconds: float = 15.0,
) -> tuple[list[Action], list[str]]:  # fmt: skip
    """Return at most three actions, and sentences on the other actions that were tried or not tried.

    The check of labels comes first, and then the most effective action.

    Args:
        trained: the model with its rows.
        left_out: the check of the error from training rows alone. Without its result, no row is left out, and no decay
            is tried.
        names: the names of rows.
        second: the time of a gradient over all training rows, in seconds.
        deadline: the `time.monotonic()` after which no further action is tried.
        seconds: the longest expected time of a descent that is tried. After this time, no further decay is tried.
    """
    late = lambda: deadline is not None and time.monotonic() > deadline
    found, tried = list(_temperature(trained, left_out)), []
    speaks = left_out is not None and left_out.status in SPOKE and not trained.task.is_language
    if speaks and objective_of(trained).decay > 0 and changed_by_polishing(trained) <= _SAME:
        price = lambda steps: steps * step_passes(trained) * second
        if price(_TRYING) > seconds:
            tried.append(
                "lemmata did not try to leave out suspicious rows or to change the weight decay: each try takes "
                f"about {price(_TRYING):,.0f} s"
            )
        else:
            if price(DESCENT_STEPS) > seconds:
                tried.append(
                    f"lemmata did not try to leave out suspicious rows: this takes about {price(DESCENT_STEPS):,.0f} s"
                )
            elif not late():
                found += _labels(trained, left_out, names)
            ends = time.monotonic() + seconds
            own, words = ([], "") if late() else _decay(trained, lambda: late() or time.monotonic() > ends)
            found += own
            tried += [words] * bool(words)
    order = sorted(found, key=lambda own: (own.name != "labels", -_worth(own.effects)))
    return order[:MOST], tried


def _worth(effects: list[Effect]) -> float:
    """Return the relative decrease of the quantity of an action's last effect; 0 if it is not significant."""
    if not effects or not effects[-1].gain.lower > 0:
        return 0.0
    return effects[-1].gain.value / effects[-1].before


def _labels(trained: Trained, left_out: Gauge | None, names: RowNames) -> list[Action]:
    """Return the action to look at the rows whose labels are more likely wrong than right.

    The effect is measured with all these rows left out.

    The text does not give the number of wrong labels, because the estimate also counts wrong labels that a table
    already had. On other tables with planted wrong labels, the interval of this estimate contained the number of
    planted labels in only 29 of 38 lists. The effect is reported only in errors, because the log loss may rise although
    the model improves. The log loss rises if held-out labels are wrong, too: a better model is more certain of the
    right class, so it has a larger log loss at each wrong label.
    """
    doubts = of_training_rows(trained, left_out)
    if doubts is None or not (stands(doubts) and counted(trained)) or not (doubts.wrong > 0.5).any():
        return []
    order = np.argsort(-suspicion(trained, left_out)[0], kind="stable")
    accused = order[doubts.wrong[order] > 0.5]
    rows = "this training row" if len(accused) == 1 else f"these {len(accused)} training rows"
    text = f"Look at {rows}: {names.training.told(accused)}. Other rows contradict the label of each row named here."
    keep = np.ones(len(trained.x), bool)
    keep[accused] = False
    effects = _effects(trained, without_rows(trained, keep))[:1] if _measurable(trained) else []
    return [Action("labels", text, "Without these rows", effects)]


def without_rows(trained: Trained, keep: Bool[np.ndarray, " n"]) -> AbstractModel:
    """Return a copy of the model after descent on some of its rows. The decay times the number of rows is unchanged."""
    own = dataclasses.replace(objective_of(trained), model=_from(trained, polished_copy(trained).model))
    decay = own.decay * len(keep) / int(keep.sum())
    return polish(dataclasses.replace(own, x=own.x[keep], y=own.y[keep], decay=decay)).model


def with_decay(trained: Trained, factor: float, start: AbstractModel | None = None) -> AbstractModel:
    """Return a copy of the model after descent with a multiple of its decay.

    Args:
        trained: the model with its rows.
        factor: the new decay, divided by the model's own decay.
        start: the copy at which descent starts; None for the stationary point with the model's own decay.
    """
    start = polished_copy(trained).model if start is None else start
    own = dataclasses.replace(objective_of(trained), model=_from(trained, start))
    return polish(dataclasses.replace(own, decay=own.decay * factor), _TRYING).model


def _from(trained: Trained, copy: AbstractModel) -> AbstractModel:
    """Return the user's model, in its own precision, at the parameters of a copy, as the start of a descent."""
    return trained.model.at(copy.theta)


def _decay(trained: Trained, late: Callable[[], bool]) -> tuple[list[Action], str]:
    """Return the action to use another decay, if it significantly lowers the loss of left-out rows and is effective.

    The other result is a sentence on the decays that were tried without success.
    """
    losses = lambda f: _losses(trained, f, trained.y)
    known = losses(rows_left_out(trained).outputs)
    best, factor, at, tried = known, 1.0, polished_copy(trained).model, []
    for step in (_FACTOR, 1 / _FACTOR):
        for place in range(1, _TRIED + 1):
            own = step**place
            if late() or (step < 1 and factor > 1):
                break
            tried.append(own)
            try:
                copy = with_decay(trained, own, at)
                unseen = losses(
                    leave_one_out(copy, trained.x, trained.y, trained.task, objective_of(trained).decay * own).outputs
                )
            except LemmataError:  # this decay has no result if a leverage is 1 or memory is too small
                break
            if not unseen.mean() < best.mean():
                break
            best, factor, at = unseen, own, copy
    gain = known - best
    sure = factor != 1 and gain.mean() > _SURE * gain.std(ddof=1) / len(gain) ** 0.5
    if sure and _measurable(trained):
        text = f"Train with {_times(factor)} the decay: {_in_words(trained, factor)}."
        effects = _effects(trained, at)
        if _worth(effects) >= _WORTH:
            return [Action("decay", text, "Then", effects, factor)], ""
    told = ", ".join(_times(own) for own in sorted(tried))
    return [], f"lemmata tried other decays ({told} the decay), but none is significantly better" if told else ""


def _times(factor: float) -> str:
    """Return a factor in words.

    >>> _times(4), _times(0.25)
    ('4 times', '1/4 of')
    """
    return f"{factor:g} times" if factor > 1 else f"1/{1 / factor:g} of"


def _in_words(trained: Trained, factor: float) -> str:
    """Return the new decay in words, for scikit-learn as a multiple of its own setting."""
    decay = objective_of(trained).decay * factor
    kind = trained.model.kind
    if kind.startswith("scikit-learn"):
        name = "C" if "Logistic" in kind else "alpha"
        own = _times(1 / factor if name == "C" else factor)
        return (
            f"{own} the {name}. This is decay = {decay:.3g} in mean loss + (decay/2) |theta|², where theta holds the "
            "parameters"
        )
    return f"{decay:.3g} in mean loss + (decay/2) |theta|²"


def _temperature(trained: Trained, left_out: Gauge | None) -> Iterator[Action]:
    """Yield the action to divide the logits by a temperature, if it is effective.

    A temperature below 1 raises the log loss of every wrongly predicted row. If the model makes hardly any errors on
    the first half of the held-out rows, this half does not show this cost, so no temperature below 1 is used. No
    temperature is tried if the model may have been fitted to the held-out rows, unless wrong training labels explain
    its training error.
    """
    if not trained.task.probable or trained.task.is_language or not _measurable(trained):
        return
    doubts = of_training_rows(trained, left_out)
    mislabelled = doubts is not None and stands(doubts) and bool((doubts.wrong > 0.5).any())
    if not mislabelled and exchanged(trained) is not None:
        return
    f, y = _held(trained)
    shares = trained.task.outputs == "probabilities"  # shares of neighbours or trees may be 0, without finite logits
    if excludes(f, y) or (shares and float(f.min()) <= np.log(_NOTHING)):
        return
    first = first_half(trained, len(f))
    t = temperature(f[first], y[first])
    if t < 1 and trained.task.errors(f[first], y[first]).sum() < _ERRORS:
        return
    losses = trained.task.losses(f[~first], y[~first]), trained.task.losses(f[~first] / t, y[~first])
    effect = _effect("log loss", *losses)
    if _worth([effect]) >= _WORTH:
        yield Action("temperature", f"Divide the logits by {t:.3g}.", "Then", [effect], t)


def _measurable(trained: Trained) -> bool:
    return trained.held is not None and int(fresh_rows(trained).sum()) >= _FEWEST


def _held(trained: Trained) -> tuple[Float[np.ndarray, "m C"], Float[np.ndarray, "m C"]]:
    """Return outputs and targets of held-out rows that are not duplicates of training rows."""
    new = fresh_rows(trained)
    return held_outputs(trained)[new], held_rows(trained)[1][new]


def _losses(trained: Trained, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, " n"]:
    """Return the loss of each row: the log loss for classes with probabilities, and otherwise the error."""
    own = trained.task.losses if trained.task.is_classification and trained.task.probable else trained.task.errors
    return own(f, y)


def _effects(trained: Trained, copy: AbstractModel) -> list[Effect]:
    """Return how a copy changes the error on held-out rows and then, for probabilities, the log loss."""
    (f, y), new = _held(trained), fresh_rows(trained)
    g = copy.outputs(held_rows(trained)[0][new])
    classes = trained.task.is_classification
    found = [
        _effect("error" if classes else "mean squared distance", trained.task.errors(f, y), trained.task.errors(g, y))
    ]
    if classes and trained.task.probable:
        found.append(_effect("log loss", trained.task.losses(f, y), trained.task.losses(g, y)))
    return found


def _effect(what: str, before: Float[np.ndarray, " m"], after: Float[np.ndarray, " m"]) -> Effect:
    """Return the two means, and how much lower the second mean is, with Student's interval of the differences."""
    gain, m = before - after, len(before)
    width = float(stats.t.ppf((1 + LEVEL) / 2, m - 1)) * float(gain.std(ddof=1)) / m**0.5
    value = float(gain.mean())
    ends = GaugeInterval(value, value - width, value + width, LEVEL)
    return Effect(what, float(before.mean()), float(after.mean()), ends)
