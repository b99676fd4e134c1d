"""The margins of a trained classifier, and the distance of its last layer from the separator of largest margin."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition
from lemmata.core import answer_of, array_of, numbers_of
from lemmata.errors import DataError, MemoryPlanError, SettingError, ShapeError, SolverError
from lemmata.pictures import BLUE, RED, styled
from lemmata.printable import preformatted

from ._last_layer import LastLayer, is_torch, last_layer, outputs_of_torch, weights_of
from ._programs import largest_separator

_CLAIMS = (
    "implicit.margins_of_flows.log_time_margin",
    "implicit.margins_of_flows.margin_gap_in_log_time",
    "implicit.margins_of_flows.smoothed_margin_rises",
    "implicit.margins_by_norm.normalised_descent_margin",
    "implicit.margins_by_norm.coordinate_descent_margin",
    "implicit.margins_by_norm.sign_descent_margin",
    "implicit.margins_by_norm.adam_margin",
)
_MOST = 2e8  # the most numbers in the matrix of score differences for several classes
_NORMS = {
    "sgd": ("l_2", "implicit.margins_by_norm.normalised_descent_margin"),
    "boosting": ("l_1", "implicit.margins_by_norm.coordinate_descent_margin"),
    "sign": ("l_inf", "implicit.margins_by_norm.sign_descent_margin"),
    "adam": ("l_inf", "implicit.margins_by_norm.adam_margin"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Margins:
    """The margins of one classifier on rows.

    Args:
        values: the margin of each row, that is, the score of its class minus the largest other score.
        norms: the spectral norm of each layer.
        normalised: the margins divided by the product of the norms.
        smallest: the smallest of the margins in `values`.
        errors: the share of rows with a margin of at most 0.
        norm: the norm in which the given optimiser maximises the margin of a linear classifier, or None if no optimiser
            is given.
        attained: the l_2 margin of the last layer, divided by the largest possible l_2 margin on the layer's features.
            None if the last layer is not known, its features cannot be separated, or the margin cannot be computed.
        cosine: the cosine of the angle between the last layer and the separator of largest margin on the layer's
            features.
        largest: the largest possible l_2 margin on these features.
        conditions: the conditions for the results.
        claims: names of the claims that state these results.
    """

    values: Float[np.ndarray, " n"]
    norms: tuple[float, ...]
    normalised: Float[np.ndarray, " n"]
    smallest: float
    errors: float
    norm: str | None
    attained: float | None
    cosine: float | None
    largest: float | None
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.normalised, [0.1, 0.5, 0.9])
        lines = [
            f"smallest margin {self.smallest:.4g}, errors {100 * self.errors:.3g} % of {len(self.values)} rows",
            (
                f"margins divided by the product of {len(self.norms)} layer norms: 10 % below {low:.4g}, "
                f"half below {middle:.4g}, 90 % below {high:.4g}"
            ),
        ]
        if self.norm is not None:
            lines.append(f"this optimiser drives a linear classifier to the largest {self.norm} margin")
        if self.attained is not None:
            lines.append(
                f"the last layer has {self.attained:.3f} of the largest l_2 margin {self.largest:.4g} on its features, "
                f"cosine {self.cosine:.3f} with the separator"
            )
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return a histogram of the normalised margins, as an Altair chart.

        Rows with a margin of at most 0 are errors.
        """
        import altair as alt

        rows = [{"margin": float(own), "error": bool(own <= 0)} for own in self.normalised]
        bars = alt.Chart(alt.Data(values=rows)).mark_bar()
        return styled(
            bars.encode(
                x=alt.X(
                    "margin:Q",
                    bin=alt.Bin(maxbins=40),
                    axis=alt.Axis(
                        title="margin over the product of layer norms",
                        labelOverlap="greedy",
                        labelSeparation=6,
                        grid=False,
                    ),
                ),
                y=alt.Y("count()", axis=alt.Axis(title="rows", grid=False)),
                color=alt.Color("error:N", title="error", scale=alt.Scale(domain=[False, True], range=[BLUE, RED])),
            ).properties(width=420, height=180)
        )


def margins(model: Any, x: Any, y: Any, *, layers: Sequence[Any] | Any = None, optimiser: str | Any = None) -> Margins:
    """Return the normalised margins of a classifier, and the share of the largest margin that its last layer attains.

    Gradient flow on a network that fits all rows keeps raising its normalised margin. For a linear classifier, the gap
    to the largest margin is of order 1/log t after the time t. The result `attained` is the share of the largest
    margin. If `attained` is 1, the last layer is the hard-margin support vector machine on its features. The bias of
    the last layer counts as the weight of a constant feature.

    Args:
        model: a linear classifier or an MLPClassifier of scikit-learn, a torch.nn.Module, or a function of x that
            returns scores, (n,) for two classes or (n, classes). The last layer of a module is known if the module is a
            torch.nn.Sequential that ends in torch.nn.Linear.
        x: inputs, (n, ...).
        y: classes, one for each row. If the model is a function or a module, the classes are whole numbers from 0, or
            -1 and 1 for scores of shape (n,).
        layers: the weight matrices, starting with the first layer, if the model is a function.
        optimiser: how the model was trained: "sgd", "adam", "sign" or "boosting".

    Raises:
        ShapeError, DataError: for rows, classes or scores that do not fit each other, for rows of a single class, or
            for a layer of zeros.
        SettingError: for a model that is not a classifier, cannot be called or fails, missing layers, or an unknown
            optimiser.

    Example:
        >>> import numpy as np
        >>> x, y = np.array([[2.0, 1.0], [1.0, 2.0], [-1.0, -1.0]]), np.array([1, 1, -1])
        >>> print(margins(lambda x: x @ np.array([1.0, 0.0]), x, y, layers=[np.array([[1.0, 0.0]])], optimiser="adam"))
        smallest margin 1, errors 0 % of 3 rows
        margins divided by the product of 1 layer norms: 10 % below 1, half below 1, 90 % below 1.8
        this optimiser drives a linear classifier to the largest l_inf margin
    """
    if optimiser is not None and not (isinstance(optimiser, str) and optimiser in _NORMS):
        raise SettingError(
            "optimiser",
            found=repr(optimiser),
            rule=f"one of {', '.join(_NORMS)}",
            remedy="pass one of these, or leave it out",
        )
    names, trained = getattr(x, "columns", None), getattr(model, "feature_names_in_", None)
    if names is not None and trained is not None and list(names) != list(trained):
        rule = f"the columns of the model in its order: {_few(trained)}"
        raise DataError("x", found=f"columns {_few(names)}", rule=rule, remedy="pass x[list(model.feature_names_in_)]")
    inputs, classes = numbers_of("x", x), array_of("y", y)
    if inputs.ndim == 0:
        raise ShapeError("x", found="one number", rule="one input in each row")
    if classes.shape != inputs.shape[:1]:
        raise ShapeError("y", found=f"shape {classes.shape}", rule=f"shape ({len(inputs)},), one class for each row")
    if len(set(classes.tolist())) < 2:
        raise DataError(
            "y",
            found=f"class {classes.tolist()[0]!r} in every row",
            rule="at least two classes",
            remedy="add rows of another class",
        )
    last = last_layer(model, inputs)
    scores = _scores(model if last is None else last.scores, inputs)
    labels = _numbers(scores, classes, getattr(model, "classes_", None))
    values = _values(scores, labels)
    norms = tuple(float(np.linalg.norm(layer, 2)) for layer in _layers(model, layers))
    if 0.0 in norms:
        raise DataError(
            "layers",
            found="a layer of zeros",
            rule="layers with a norm above 0",
            remedy="pass the weights after training",
        )
    normalised = values / np.prod(norms)
    attained = cosine = largest = separable = computed = None
    if last is not None:
        try:
            attained, cosine, largest = _compared(last, labels)
            separable = largest is not None
            computed = separable or None
        except MemoryPlanError:
            computed = False
        except SolverError:
            separable, computed = True, False
    return Margins(
        values, norms, normalised, float(values.min()), float(np.mean(values <= 0)),
        None if optimiser is None else _NORMS[optimiser][0], attained, cosine, largest, (
            Condition("all rows are fitted (smallest margin)", float(values.min()), bool(values.min() > 0),
                      "the theory of margins assumes that every training row is fitted"),
            Condition("the features of the last layer can be separated", None, separable,
                      "otherwise the weights of this layer do not diverge"),
            *_freedom(last, separable, len(classes)),
            Condition("the largest margin can be computed", None, computed,
                      "pass fewer rows, or columns of similar scales"),
        ),
    )  # fmt: skip


def _freedom(last: LastLayer | None, separable: bool | None, rows: int) -> tuple[Condition, ...]:
    """Check that n rows with p features satisfy n >= 2p.

    Most labellings of n < 2p points in general position in p dimensions can be separated.

    Cover, Geometrical and statistical properties of systems of linear inequalities (1965).
    """
    if last is None or not separable:
        return ()
    free = last.features.shape[1]
    if rows < 2 * free:
        free = max(int(np.linalg.matrix_rank(last.features)), 1)
    return (
        Condition("there are at least twice as many rows as independent features (rows divided by features)",
                  rows / free, rows >= 2 * free, "otherwise most labels can be separated, so the margin shows little"),
    )  # fmt: skip


def _few(names: Any) -> str:
    return ", ".join(map(repr, list(names)[:4])) + (", ..." if len(names) > 4 else "")


def _scores(model: Any, inputs: np.ndarray) -> np.ndarray:
    if not (callable(model) or isinstance(model, np.ndarray)):
        rule = "a fitted linear classifier or MLPClassifier, a torch.nn.Module, or a function of x that returns scores"
        remedy = "fit a model of this kind, or pass a function of x and layers=[...]"
        raise SettingError("model", found=f"a {type(model).__name__}", rule=rule, remedy=remedy)
    if is_torch(model):
        model = outputs_of_torch(model, inputs)
    rule = f"a function of a NumPy array of shape {inputs.shape}, which returns scores"
    given = answer_of("model", model, inputs, rule=rule) if callable(model) else model
    found = numbers_of("scores of model", given)
    if found.ndim not in (1, 2) or len(found) != len(inputs):
        rule = f"shape ({len(inputs)},) or ({len(inputs)}, classes)"
        raise ShapeError("scores of model", found=f"shape {found.shape}", rule=rule)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def _numbers(scores: np.ndarray, classes: np.ndarray, known: Any) -> np.ndarray:
    """Return for each row the column of scores that belongs to its class. For scores with one column, return 0 or 1."""
    count = 2 if scores.ndim == 1 else scores.shape[1]
    if known is not None:
        places = {label: place for place, label in enumerate(np.asarray(known).tolist())}
        missing = [label for label in classes.tolist() if label not in places]
        if missing:
            raise DataError(
                "y",
                found=f"class {missing[0]!r}",
                rule=f"classes of the model: {', '.join(map(repr, places))}",
                remedy="leave out rows of other classes, or fit the model with them",
            )
        return np.array([places[label] for label in classes.tolist()])
    if scores.ndim == 1 and set(classes.tolist()) <= {-1, 1}:
        return (classes > 0).astype(int)
    present = set(classes.tolist())
    if not all(isinstance(label, bool | int | float) and label in range(count) for label in present):
        rule = f"whole numbers from 0 to {count - 1}" + (", or -1 and 1" if scores.ndim == 1 else "")
        shown = ", ".join(repr(label) for label in sorted(present, key=str)[:5])
        raise DataError(
            "y", found=f"classes {shown}", rule=rule, remedy="number the classes in the order of the columns of scores"
        )
    return classes.astype(int)


def _values(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    if scores.ndim == 1:
        return scores * (2.0 * labels - 1)
    own = np.arange(len(labels)), labels
    others = scores.astype(float).copy()
    others[own] = -np.inf
    return scores[own] - others.max(axis=1)


def _layers(model: Any, layers: Any) -> list[np.ndarray]:
    found = weights_of(model) if layers is None else _listed(layers)
    if not found:
        raise SettingError("layers", found="no weights in this model", rule="the weight matrices of the model",
                           remedy="pass layers=[first, ..., last]")  # fmt: skip
    for layer in found:
        if layer.ndim != 2:
            raise ShapeError(
                "layers", found=f"a layer of shape {layer.shape}", rule="matrices, for example layer.reshape(m, -1)"
            )
    return found


def _listed(layers: Any) -> list[np.ndarray]:
    if not np.iterable(layers) or isinstance(layers, str | bytes | Mapping):
        raise SettingError(
            "layers",
            found=f"a {type(layers).__name__}",
            rule="a list of weight matrices",
            remedy="pass layers=[first, ..., last]",
        )
    return [numbers_of("layers", layer).astype(float) for layer in layers]


def _compared(last: LastLayer, labels: np.ndarray) -> tuple[float | None, float | None, float | None]:
    """Return `attained`, `cosine` and `largest` of `Margins`, computed from differences of scores."""
    features, weights = last.features, last.weights
    if len(weights) == 1:
        rows, flat = features * (2.0 * labels[:, None] - 1), weights[0]
    else:
        count = len(weights)
        if len(labels) * (count - 1) * weights.size > _MOST:
            raise MemoryPlanError(
                "the differences of scores", rule=f"at most {_MOST:.0e} numbers", remedy="pass fewer rows"
            )
        eye = np.eye(count)
        differences = [(eye[label] - eye[other], row) for row, label in zip(features, labels, strict=True)
                       for other in range(count) if other != label]  # fmt: skip
        rows, flat = np.array([np.outer(change, row).ravel() for change, row in differences]), weights.ravel()
    scale = float(np.abs(rows).max())
    best = largest_separator(rows / scale)
    if best is None:
        return None, None, None
    largest, size = scale / float(np.linalg.norm(best)), float(np.linalg.norm(flat))
    attained, cosine = float((rows @ flat).min()) / size / largest, float(best @ flat) / size * largest / scale
    return attained, cosine, float(largest)
