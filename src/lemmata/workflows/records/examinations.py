"""The results of an examination: frozen dataclasses, which are written to model.json and read from this file."""

import dataclasses

from lemmata.intervals import Interval
from lemmata.stored import Count, NotNegative, Share

from ._stored import StoredRecord
from .model_tables import InputTable, LayerTable, OutputScore, PosteriorShown

LEFT_OUT = "leaving_out.held_out_error_from_training_rows"
"""The check that predicts the error on new rows from training rows alone."""
CHECKS_SHARE, TOO_LATE = 0.75, "but checks only get the first 75 % of the time limit"
"""The share of the time limit after which no check starts, and the end of the reason for a check that did not start."""
ROWS = "rows.csv"
"""The name of the file of all rows, which lies next to the page."""
SCHEMA = 2
"""The version of the format of model.json. Reading a file of another version raises an error."""


@dataclasses.dataclass(frozen=True)
class GaugeInterval(Interval):
    """The interval of a check, with its level.

    Args:
        level: the declared probability with which the interval contains the true value; None if unknown.
    """

    level: Share | None = None

    @property
    def at(self) -> str:
        """The level as text, such as "97 %"; empty if unknown."""
        return "" if self.level is None else f"{100 * self.level:.3g} %"


@dataclasses.dataclass(frozen=True)
class Check:
    """A condition that must hold before theory is applied to the model, with its result.

    Args:
        name: the condition in words.
        found: the result in words.
        holds: whether the condition holds; None if it could not be checked.
        remedy: the advice if the condition does not hold.
    """

    name: str
    found: str
    holds: bool | None
    remedy: str = ""


@dataclasses.dataclass(frozen=True)
class Condition:
    """A hypothesis of a claim about this model. `holds` is None if the hypothesis cannot be decided."""

    name: str
    value: float | None
    relation: str
    threshold: float | None
    holds: bool | None
    why: str


@dataclasses.dataclass(frozen=True)
class Gauge:
    """A check ("gauge" in the code): one claim of theory, applied to this model.

    Args:
        name: the name of the claim, for `lemmata show`.
        title: the claim in words.
        theory: the name of the theory to which the claim belongs.
        controls: the quantity that the claim predicts or bounds.
        source: the publication that states the claim.
        status: agrees, disagrees, vacuous, inapplicable, unscored, unaffordable, descriptive or failed.
        reason: the reason for the status, in a sentence.
        hypotheses: the conditions of the claim with their values.
        predicted: the predicted number with its interval. The prediction comes from training rows and weights, or from
            held-out rows that are not used for the measurement. None if there is no prediction.
        measured: the same number measured by another method, with its interval; None if it was not measured.
        route: the method of the measurement, in words.
        trivial: the value of the same number that is known without the theory.
        control: a changed, false version of the claim. Verifying the claim must refute this version.
        unexplained: what the theory does not explain.
        label: the kind of statement: "estimate", "upper", "lower" or "equal".
        seconds: the seconds that the check took.
        price: the seconds that the check was expected to take before it began.
        rows_factor: for a vacuous bound, the factor by which the number of rows would have to grow until the bound is
            no longer vacuous. The factor is None for all other checks, and if no number of rows is enough.
        alternative: for a bound on the error, the limit from held-out rows alone, which the bound has to beat.
        ends: the meaning of the ends of the interval of `measured`; empty if `measured` has no interval.
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
        """The predicted number divided by the measured number; None if one is missing or the measured number is 0."""
        if self.predicted is None or self.measured is None or self.measured.value == 0:
            return None
        return self.predicted.value / self.measured.value


@dataclasses.dataclass(frozen=True)
class Finding:
    """A sentence for the top of the page, and the names of the checks on which the sentence rests."""

    text: str
    rests_on: list[str]


@dataclasses.dataclass(frozen=True)
class Model:
    """The examined model.

    Args:
        kind: the library or format of the model.
        name: the name of the file or class.
        parameters: the number of parameters, each counted once.
        layers: the parameter arrays with their shapes.
        dtype: the data type of the parameters.
        digest: a digest of the parameters.
        outputs: how the outputs are read: as logits, probabilities or values.
        task: classification, regression or language.
        decay: the decay in mean loss + (decay/2) |theta|²; None if unknown. `decay_from` is the origin of this number.
        loss: the loss function of the training, and how it is known, in words; empty in older records.
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
    """The rows: the numbers of training and held-out rows, the shape of a row, and the classes."""

    name: str
    train: Count
    held: Count
    row: list[Count]
    classes: list[str]


@dataclasses.dataclass(frozen=True)
class Score:
    """The predictions with a measurement: their number, how many agree, and the median of predicted / measured."""

    tested: Count
    covered: Count
    median_ratio: float | None


@dataclasses.dataclass(frozen=True)
class ClassScore:
    """The results of one class among held-out rows.

    Args:
        label: the name of the class.
        rows: the number of rows of the class.
        recall: the share of these rows that the model assigns to the class.
        precision: the share of rows of this class among the rows that the model assigns to the class; None without
            such rows.
    """

    label: str
    rows: Count
    recall: Share
    precision: Share | None


@dataclasses.dataclass(frozen=True)
class Baseline:
    """The best constant answer, the same for all rows, compared with the model on the held-out rows.

    Args:
        words: the answer: "always answering 3", "the mean of the training targets", "the frequencies of tokens".
        error: the error of the answer, in the unit of `held_error`.
        gain: the error of the answer minus the model's error, with an interval from the differences in each row.
        explained: R², the share by which the model lowers the squared error of the answer. None except for values.
        balanced: the model's share of errors, averaged over classes; None if classes are about equally frequent.
        classes: the results of each class, the rarest first, if classes are not about equally frequent.
    """

    words: str
    error: float
    gain: GaugeInterval
    explained: GaugeInterval | None = None
    balanced: float | None = None
    classes: list[ClassScore] = dataclasses.field(default_factory=list)

    @property
    def beaten(self) -> bool | None:
        """True if the model is significantly better, False if significantly worse, None if the rows do not decide."""
        return True if self.gain.lower > 0 else False if self.gain.upper < 0 else None


@dataclasses.dataclass(frozen=True)
class PredictionSets:
    """Sets of classes, or intervals, that contain the target of a new row with a stated probability.

    Args:
        level: the stated probability.
        calibrated: the number of held-out rows from which the size of the sets was determined.
        measured: the number of the other held-out rows, on which the coverage was measured.
        covered: the share of these other rows whose set contains the target.
        size: the mean number of classes in a set or, for values, the mean width of an interval.
        trivial: the mean size of such sets without a model.
        single: the share of sets that contain a single class; None for values.
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
    """A bin of held-out rows for which the predicted class has about the same probability.

    Args:
        rows: the number of rows.
        sure: the mean probability of the predicted class.
        right: the share of rows in this bin for which the predicted class is right.
    """

    rows: Count
    sure: Share
    right: GaugeInterval


@dataclasses.dataclass(frozen=True)
class Effect:
    """The effect of an action on one quantity on held-out rows.

    Args:
        quantity: "error", "log loss" or "mean squared distance".
        before, after: the mean of the quantity over the held-out rows, before and after the action.
        gain: how much lower the mean is after the action, with an interval from the differences in each row.
    """

    quantity: str
    before: float
    after: float
    gain: GaugeInterval


@dataclasses.dataclass(frozen=True)
class Action:
    """A recommended action, and its effect on a copy of the model.

    Args:
        name: "labels", "decay" or "temperature".
        text: the action, in sentences.
        then: the beginning of the sentence on the effect: "Without these rows" or "Then".
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
    """A row that the page lists, with the model's prediction.

    Args:
        part: "training" or "held out".
        row: the name of the row.
        target: the class or value of the row.
        predicted: the prediction of the model; for training rows, of a model that was fitted without the row.
        loss: the loss of this prediction.
        probability: the predicted probability of the row's own class; None for values.
        wrong: the probability that the row's label is wrong; None if unknown.
        effect: the growth of the mean held-out loss if the row is left out of training; None if unknown.
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
    """The whole content of model.json.

    Args:
        schema, lemmata: the versions of this file and of the program.
        command: the command that repeats the examination; empty if it was run from Python.
        created: date and time of the run.
        model, rows: the examined model and rows.
        train_error, held_error: for classes, the share of wrong classes with an exact interval. For values, the mean
            squared distance with a normal interval. For documents, the mean number of nats per token with a normal
            interval.
        preflight: the conditions that must hold before theory is applied. If one of them fails, no check is run.
        gauges: the checks, one for every claim that was considered for the model.
        findings: at most five findings, the most important first.
        score: a summary of how the predictions compare with the measurements.
        silent: the theories that give no result for this model, with the reasons.
        open: the facts that none of the theories explains.
        plan: the planned checks with their cost in seconds.
        notes: remarks on missing parts and approximations.
        seconds: the seconds that the examination took.
        interrupted: whether some checks are missing.
        baseline: one answer for all held-out rows, compared with the model; None with fewer than two held-out rows.
        confusion: a matrix of the numbers of held-out rows by their class (its rows) and by the class that the model
            predicts (its columns), in the order of `rows.classes`; None for values and more than 30 classes.
        reliability: bins of held-out rows by the probability of the predicted class, the smallest probability first.
        sets: sets that contain the target of a new row with a stated probability; None if there are too few held-out
            rows.
        worst: the twenty rows with the largest loss in a model that was fitted without the row.
        actions: at most three recommended actions: the check of labels, and then the most effective action.
        tried: in words, the other actions that were tried without success, or not tried.
        inputs: the table of inputs; None for documents, for fewer than 20 rows, and if no time was left.
        outputs: for values, the accuracy of each output on held-out rows, and then of several outputs together.
        posterior: Laplace's approximation on held-out rows; None if it does not apply.
        layers: the parameter arrays compared with random arrays; None without derivatives, and if no time was left.
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
        """The check of the error from training rows alone, which the page shows next to the held-out error."""
        return self.gauge(LEFT_OUT)

    def gauge(self, name: str) -> Gauge | None:
        """Return the check of a claim, by the full name of the claim or its end; None if there is no such check."""
        return next((own for own in self.gauges if own.name == name or own.name.endswith("." + name)), None)
