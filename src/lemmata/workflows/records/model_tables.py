"""The tables of an examination in model.json: inputs, layers, outputs of a regression, and the posterior."""

import dataclasses

from lemmata.intervals import Interval
from lemmata.stored import Count, NotNegative, Share


@dataclasses.dataclass(frozen=True)
class InputShown:
    """One input of a model: how strongly the output depends on it, and how much the loss grows without it.

    Args:
        name: the name of the column, or its position in a row.
        slope: the mean size over rows of the gradient by this input, times the input's standard deviation. The gradient
            is that of log p of the right class or, for values, of the outputs. None without derivatives.
        growth: the growth of the mean loss if the values of this input are permuted among the rows, with its 95 %
            interval for new rows; None if the input was not permuted.
        null: under the null hypothesis that the input has no information, `growth` lies between minus and plus this
            number with probability 95 %.
        told: whether the growth is significant: this null hypothesis is rejected, at 5 % for all inputs together, and
            the interval of `growth` is above 0. None if the input was not permuted.
    """

    name: str
    slope: float | None
    growth: Interval | None = None
    null: float | None = None
    told: bool | None = None


@dataclasses.dataclass(frozen=True)
class InputTable:
    """The table of the inputs of a model, which shows the inputs that matter.

    Args:
        part: the rows among which inputs were permuted: "held out" or "training".
        rows: the number of these rows.
        permutations: the number of permutations of each input.
        loss: the mean loss of these rows without permutation.
        unit: the kind of loss: "log loss", "share of errors" or "squared distance".
        notes: sentences on inputs that were not permuted, and the reason.
        columns: the inputs, the largest growth of the loss first; empty if no input was permuted.
    """

    part: str
    rows: Count
    permutations: Count
    loss: float
    unit: str
    notes: list[str] = dataclasses.field(default_factory=list)
    columns: list[InputShown] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class OutputScore:
    """The accuracy of predicted values on held-out rows, with 95 % intervals.

    Args:
        name: the name of the output; "all together" for the distance over all outputs.
        rmse: the root of the mean squared error, or of the mean squared distance over all outputs.
        explained: R², the share by which the model reduces the squared error of predicting the mean of the training
            targets. None if all targets equal this mean.
    """

    name: str
    rmse: Interval
    explained: Interval | None


@dataclasses.dataclass(frozen=True)
class LayerShown:
    """A parameter array of a model as a matrix, compared with random matrices of its shape and Frobenius norm.

    Args:
        name: the name of the array. Arrays of one axis are shown together, with their number as name.
        shape: the shape of the array; empty for several arrays.
        unfolded: the rows and columns of the matrix; empty for several arrays.
        norm: the Frobenius norm.
        spectral: the largest singular value; None for arrays of one axis, and if the computation would take too long.
        spectral_null: the largest singular value of a Gaussian matrix of this shape and Frobenius norm: the median and
            the 95 % range.
        beyond: the number of singular values above the upper end of `spectral_null`; None if they were not computed.
        share: the array's share of the trace of the tangent kernel on training rows; None without derivatives of the
            outputs.
        share_null: the same share in models in which each matrix is replaced by a Gaussian matrix of the same shape and
            norm: the median and the 95 % range.
        start_norm, start_spectral, start_share: `norm`, `spectral` and `share` at the parameters with which training
            began; None if these are unknown.
    """

    name: str
    shape: list[Count]
    unfolded: list[Count]
    norm: NotNegative
    spectral: float | None = None
    spectral_null: Interval | None = None
    beyond: Count | None = None
    share: float | None = None
    share_null: Interval | None = None
    start_norm: float | None = None
    start_spectral: float | None = None
    start_share: float | None = None

    @property
    def stable(self) -> float | None:
        """The stable rank: the squared Frobenius norm divided by the squared largest singular value."""
        return None if not self.spectral else _squared(self.norm / self.spectral)

    @property
    def stable_null(self) -> Interval | None:
        """The stable rank of Gaussian matrices of this shape and norm."""
        own = self.spectral_null
        if own is None or not (own.lower and own.value and own.upper):
            return None
        return Interval(*(_squared(self.norm / end) for end in (own.value, own.upper, own.lower)))


@dataclasses.dataclass(frozen=True)
class LayerTable:
    """The table of the parameter arrays of a model.

    Args:
        rows: the number of training rows on which the shares of the tangent kernel were computed; 0 without shares.
        draws: the number of random models for `share_null`; 0 without random models.
        notes: sentences on parts that were left out, and the reason.
        layers: the arrays in the order of the model. Arrays of one axis come last, in one entry.
    """

    rows: Count
    draws: Count
    notes: list[str] = dataclasses.field(default_factory=list)
    layers: list[LayerShown] = dataclasses.field(default_factory=list)


def _squared(ratio: float) -> float:
    """Return the square of a ratio; infinity, where ** would raise an error.

    >>> _squared(3.0), _squared(1e200)
    (9.0, inf)
    """
    return ratio * ratio


def beside_null(value: float | None, null: Interval | None) -> str:
    """Return "above" or "below" if a number lies outside the interval `null` by more than rounding; otherwise "".

    >>> beside_null(3.0, Interval(1.0, 0.5, 2.0)), beside_null(1.0, Interval(1.0, 0.5, 2.0)), beside_null(None, None)
    ('above', '', '')
    """
    if value is None or null is None:
        return ""
    room = 1e-6 * abs(null.value)
    return "above" if value > null.upper + room else "below" if value < null.lower - room else ""


@dataclasses.dataclass(frozen=True)
class PosteriorShown:
    """Laplace's approximation of the posterior, and how its predictions agree with held-out rows.

    Args:
        reason: the reason why there is no posterior; empty if there is one. Without a posterior, the other fields keep
            their defaults.
        whole: whether all parameters are treated as uncertain, and not only those of the last layer.
        dimension: the effective dimension of the parameters.
        rows: the number of held-out rows without duplicates, on which the posterior was tested.
        noise: for values, the standard deviation of the noise of each output, estimated from the model's residuals.
        level: the stated level of the predictive intervals of values.
        covered: the share of targets in these intervals, with its 95 % interval.
        plain: for classes, the mean log loss of the model's own probabilities.
        corrected: the mean log loss of the probabilities averaged over the posterior.
        gain: `plain` minus `corrected`, with its 95 % interval.
    """

    reason: str = ""
    whole: bool | None = None
    dimension: float | None = None
    rows: Count = 0
    noise: list[float] = dataclasses.field(default_factory=list)
    level: Share = 0.9
    covered: Interval | None = None
    plain: float | None = None
    corrected: float | None = None
    gain: Interval | None = None

    @property
    def status(self) -> str:
        """The status: "agrees", "disagrees" or "unscored".

        For values, the status is "agrees" if the interval of `covered` contains `level`. For classes, it is "agrees" if
        averaging over the posterior does not significantly raise the log loss.
        """
        if self.covered is not None:
            return "agrees" if self.covered.lower <= self.level <= self.covered.upper else "disagrees"
        if self.gain is not None:
            return "disagrees" if self.gain.upper < 0 else "agrees"
        return "unscored"
