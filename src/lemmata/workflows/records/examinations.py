"""The results of an examination: plain frozen records, written to model.json and read from it."""

import dataclasses

from lemmata.intervals import Interval
from lemmata.stored import Count, NotNegative, Share

from ._stored import StoredRecord
from .model_tables import InputTable, LayerTable, OutputScore, PosteriorShown

LEFT_OUT = "leaving_out.held_out_error_from_training_rows"
"""The check of the error on new rows from training rows alone."""
TOO_LATE = "and the time limit leaves less time"
"""The end of a reason for a check without time, which gives its seconds."""
ROWS = "rows.csv"
"""The file of all rows, next to the page."""
SCHEMA = 2
"""Version of model.json; a reader refuses others."""


@dataclasses.dataclass(frozen=True)
class GaugeInterval(Interval):
    """The interval of a check, with its own probability.

    Args:
        level: the declared probability with which it contains the true value; None if unknown.
    """

    level: Share | None = None

    @property
    def at(self) -> str:
        """The level in words: 97 %; empty if unknown."""
        return "" if self.level is None else f"{100 * self.level:.3g} %"


@dataclasses.dataclass(frozen=True)
class Check:
    """A condition that must hold before theory is applied: its result, and whether it is in order.

    Args:
        name: in words.
        found: in words.
        holds: whether it is in order; None if it could not be checked.
        remedy: the advice if it is not in order.
    """

    name: str
    found: str
    holds: bool | None
    remedy: str = ""


@dataclasses.dataclass(frozen=True)
class Condition:
    """A hypothesis on this model: `holds` is None if it cannot be decided."""

    name: str
    value: float | None
    relation: str
    threshold: float | None
    holds: bool | None
    why: str


@dataclasses.dataclass(frozen=True)
class Gauge:
    """One theory applied to this model.

    Args:
        name: the claim, for `lemmata show`.
        title: it in words.
        theory: its section.
        controls: the object that it controls.
        source: where it is stated.
        status: agrees, disagrees, vacuous, inapplicable, unscored, unaffordable, descriptive or failed.
        reason: why, in a sentence.
        hypotheses: its conditions with their values.
        predicted: the number with its interval. It comes from training rows and weights, or from held-out rows that are
            not used for the measurement. None if there is no prediction.
        measured: the number by another route, with its interval.
        route: how it was measured.
        trivial: the number that everybody knows without the theory.
        control: the false neighbour that the same claim refutes when it is verified.
        unexplained: what the theory does not explain.
        label: the kind of statement: "estimate", "upper", "lower" or "equal".
        seconds: that it took.
        price: seconds that it was expected to take.
        rows_factor: for a vacuous bound, the factor by which the number of rows would have to grow. It is None for all
            other checks, and if no number of rows is enough.
        alternative: for a bound on the error, the limit from held-out rows alone, which it has to beat.
        ends: the meaning of the ends of the measured interval; empty if the measurement has no interval.
    """

    name: str
    title: str
    theory: str
    controls: str
    source: str
    status: str
    reason: str
    hypotheses: list[Condition]
    predicted: GaugeInterval | None
    measured: GaugeInterval | None
    route: str
    trivial: float | None
    control: str
    unexplained: str
    label: str
    seconds: NotNegative
    price: float | None = None
    rows_factor: float | None = None
    alternative: float | None = None
    ends: str = ""

    @property
    def ratio(self) -> float | None:
        """Predicted over measured."""
        if self.predicted is None or self.measured is None or self.measured.value == 0:
            return None
        return self.predicted.value / self.measured.value


@dataclasses.dataclass(frozen=True)
class Finding:
    """A sentence for the first screen, and the checks behind it."""

    text: str
    rests_on: list[str]


@dataclasses.dataclass(frozen=True)
class Model:
    """What was examined.

    Args:
        kind: what wrote it.
        name: of the file or class.
        parameters: each counted once.
        layers: parameter arrays with their shapes.
        dtype: of the parameters.
        digest: of the parameters.
        outputs: how they are read: logits, probabilities, values.
        task: classification, regression or language.
        decay: in mean loss + (decay/2) |theta|²; stated, inferred from the weights, or unknown.
        loss: the loss of the training, and how it is known, in words; empty in older records.
    """

    kind: str
    name: str
    parameters: Count
    layers: list[str]
    dtype: str
    digest: str
    outputs: str
    task: str
    decay: float | None
    decay_from: str
    loss: str = ""


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows: numbers of them, classes, and held-out ones."""

    name: str
    train: Count
    held: Count
    row: list[Count]
    classes: list[str]


@dataclasses.dataclass(frozen=True)
class Score:
    """Of all predictions with a measurement: how many intervals contained it, and the median ratio."""

    tested: Count
    covered: Count
    median_ratio: float | None


@dataclasses.dataclass(frozen=True)
class ClassScore:
    """The results of one class among held-out rows.

    Args:
        label: of the class.
        rows: that are of it.
        recall: the share of them that the model names so.
        precision: the share of rows of this class among the rows that the model assigns to it; None if it assigns none.
    """

    label: str
    rows: Count
    recall: Share
    precision: Share | None


@dataclasses.dataclass(frozen=True)
class Baseline:
    """One answer for all rows, compared with the model, on the held-out rows.

    Args:
        words: the answer: "always answering 3", "the mean of the training targets", "the frequencies of tokens".
        error: of the answer, in the unit of `held_error`.
        gain: by how much the model's error is smaller, from the differences in each row.
        explained: R², the share by which the model lowers the squared error of the answer. None except for values.
        balanced: the mean over classes of the share of errors; None if classes are about as frequent as each other.
        classes: if they are not: each class, the rarest first.
    """

    words: str
    error: float
    gain: GaugeInterval
    explained: GaugeInterval | None = None
    balanced: float | None = None
    classes: list[ClassScore] = dataclasses.field(default_factory=list)

    @property
    def beaten(self) -> bool | None:
        """Whether the model is surely better. False if it is surely worse, and None if the rows do not decide."""
        return True if self.gain.lower > 0 else False if self.gain.upper < 0 else None


@dataclasses.dataclass(frozen=True)
class PredictionSets:
    """Sets of classes, or intervals, that hold the target of a new row with a stated probability.

    Args:
        level: that probability.
        calibrated: held-out rows that set the limit.
        measured: others, on which it was measured.
        covered: the share of them whose target is in its set.
        size: the mean number of classes in a set, or the mean width of an interval.
        trivial: the same without a model.
        single: the share of sets of one class; None for values.
    """

    level: Share
    calibrated: Count
    measured: Count
    covered: GaugeInterval
    size: float
    trivial: float
    single: float | None = None


@dataclasses.dataclass(frozen=True)
class ReliabilityBin:
    """Held-out rows of which the model is about as sure.

    Args:
        rows: how many.
        sure: the mean probability of the class that it names.
        right: the share of these rows for which that class is right.
    """

    rows: Count
    sure: Share
    right: GaugeInterval


@dataclasses.dataclass(frozen=True)
class Effect:
    """The effect of an action on one quantity on held-out rows.

    Args:
        quantity: error, log loss or mean squared distance.
        before, after: its mean over the rows.
        gain: by how much it is lower, from the differences in each row.
    """

    quantity: str
    before: float
    after: float
    gain: GaugeInterval


@dataclasses.dataclass(frozen=True)
class Action:
    """Something to do next, and what it does to a copy of the model.

    Args:
        name: labels, decay or temperature.
        text: the action, in sentences.
        then: the beginning of the sentence on its effect: "Without these rows", "Then".
        effects: the measured effects; empty without enough held-out rows.
        factor: the number by which a decay is multiplied, or logits are divided; 1 for other actions.
    """

    name: str
    text: str
    then: str
    effects: list[Effect]
    factor: float = 1.0


@dataclasses.dataclass(frozen=True)
class RowShown:
    """A row on the page.

    Args:
        part: "training" or "held out".
        row: its name.
        target: its class or value.
        predicted: the model's output; for training rows, if known, the output of a model that has not seen the row.
        loss: of that.
        probability: of the row's own class; None for values.
        wrong: the probability that its label is wrong; None if unknown.
        effect: the growth of the mean held-out loss if the row is left out; None if unknown.
    """

    part: str
    row: str
    target: str
    predicted: str
    loss: float
    probability: float | None = None
    wrong: float | None = None
    effect: float | None = None


@dataclasses.dataclass(frozen=True)
class ExaminationRecord(StoredRecord):
    """All that an examination found.

    Args:
        schema, lemmata: versions of this file and of the program.
        command: that repeats it; empty from Python.
        created: date and time. model, rows: the examined model and rows. train_error, held_error: for classes, the
            share of wrong classes with an exact interval. For values, the mean squared distance with a normal interval.
            For documents, the mean number of nats per token with a normal interval.
        preflight: conditions that must hold before theory is applied. If one of them fails, nothing else is run.
        gauges: every theory posed the model.
        findings: at most five, the most important first.
        score: predictions against measurements.
        silent: theories without a result here, each with its reason.
        open: what no theory here explains.
        plan: the planned checks with their cost in seconds.
        notes: remarks that the reader needs.
        seconds: that the examination took.
        interrupted: some gauges are missing.
        baseline: one answer for all held-out rows, compared with the model; None with fewer than two such rows.
        confusion: held-out rows by their class (rows) and by the class that the model predicts (columns), in the order
            of `rows.classes`; None for values and more than 30 classes.
        reliability: held-out rows by how sure the model is of them, the least sure first.
        sets: sets that contain the target of a new row with a stated probability; None if there are too few held-out
            rows.
        worst: the twenty rows that a model which has not seen them errs most in.
        actions: at most three things to do next, the one that helps most first.
        tried: in words, the other actions that were tried without success, or not tried.
        inputs: which inputs matter; None of documents, of fewer than 20 rows, and if no time was left.
        outputs: for values, the accuracy of each output on held-out rows; for several, the last entry is for all
            together.
        posterior: Laplace's approximation on held-out rows; None if it does not apply.
        layers: the parameter arrays compared with random ones; None without parameters, and if no time was left.
    """

    version, file, command_line, about = SCHEMA, "model.json", "lemmata model", "a model"

    schema: int
    lemmata: str
    command: str
    created: str
    model: Model
    rows: Rows
    train_error: GaugeInterval
    held_error: GaugeInterval | None
    preflight: list[Check]
    gauges: list[Gauge]
    findings: list[Finding]
    score: Score
    silent: list[str]
    open: list[str]
    plan: list[str]
    notes: list[str]
    seconds: NotNegative
    interrupted: bool = False
    baseline: Baseline | None = None
    confusion: list[list[Count]] | None = None
    reliability: list[ReliabilityBin] = dataclasses.field(default_factory=list)
    sets: PredictionSets | None = None
    worst: list[RowShown] = dataclasses.field(default_factory=list)
    actions: list[Action] = dataclasses.field(default_factory=list)
    tried: list[str] = dataclasses.field(default_factory=list)
    inputs: InputTable | None = None
    layers: LayerTable | None = None
    outputs: list[OutputScore] = dataclasses.field(default_factory=list)
    posterior: PosteriorShown | None = None

    @property
    def left_out(self) -> Gauge | None:
        """The held-out error as predicted from training rows alone, which the page shows next to the held-out error."""
        return self.gauge(LEFT_OUT)

    def gauge(self, name: str) -> Gauge | None:
        """The check of this claim, by its full name or the end of its name; None if there is none."""
        return next((own for own in self.gauges if own.name == name or own.name.endswith("." + name)), None)
