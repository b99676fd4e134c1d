"""Test whether the model's output at a row depends on this row alone, because all theory about the model needs this."""

from collections.abc import Callable

import numpy as np
import scipy.optimize
from jaxtyping import Float

from lemmata.errors import ShapeError, line_of
from lemmata.subjects.trained_models import (
    AbstractModel,
    Trained,
    as_given,
    held_outputs,
    held_rows,
    linked,
    training_outputs,
)
from lemmata.workflows.records.examinations import Check

_ROWS = 32
_LOOSE = {"bfloat16": 1e-2, "float32": 1e-4, "float64": 1e-9}
_SLOPE = 1e-3
_ASIDE = 1e-3
_STEPS = (1e-7, 1e-8, 1e-9)
_LARGE = 2**24  # the number of parameters above which a copy in float64 would be too large
_FEW, _LOOSE_SLOPE, _LONG_STEPS = 8, 0.05, (1e-3,)
_FEWEST = 20
# a step relative to the parameters, and a relative rounding error of the outputs that float64 does not exceed
_TINY, _FINE = 3e-8, 1e-9
_COARSE_STEPS, _COARSE_SLOPE = (1e-3, 1e-2, 1e-1), 0.1
_EVAL_MODE = (
    "use module.eval(), eqx.nn.inference_mode(module) or train=False. If forward calls F.dropout, pass "
    "training=self.training to it"
)


def preflight(trained: Trained, user: Callable[[np.ndarray], np.ndarray] | None = None) -> list[Check]:
    """Run the tests in order, and return them with their results. A later test is run only if the earlier ones hold.

    Args:
        trained: the model with its rows.
        user: the user's own function of rows, which calls the model; None if there is none.
    """
    x = _few(trained)
    once = trained.model.outputs(x)
    if not np.isfinite(once).all():
        return [_finite(once)]
    loose = max(_LOOSE.get(str(trained.model.theta.dtype), 1e-9), _LOOSE[_precision(once)])
    apart = lambda other: float(np.abs(other - once).max() / max(float(np.abs(once).max()), 1e-300))
    again, beside = apart(trained.model.outputs(x)), apart(_in_pairs(trained, x))
    remedy = f"the outputs are random, for example because of dropout: {_EVAL_MODE}"
    checks = [Check("the same rows give the same outputs", _relative(again), again <= loose, remedy)]
    if again <= loose:
        remedy = f"batch normalisation or dropout is in training mode: {_EVAL_MODE}"
        name = "the output for a row does not depend on the other rows of its batch"
        checks.append(Check(name, _relative(beside), beside <= loose, remedy))
    if all(check.holds for check in checks):
        f = training_outputs(trained)
        checks.insert(0, _finite(f if trained.held is None else np.concatenate([f, held_outputs(trained)])))
    if user is not None and checks[-1].holds:
        checks.append(
            _own_call(
                trained,
                np.asarray(user(as_given(trained.model, np.array(x))), float).reshape(len(x), -1),
                once,
                max(loose, 1e-6),
            )
        )
    if all(check.holds for check in checks):
        checks += [_derivative(trained), *_order(trained), *_ahead(trained, loose)]
    return checks


def _precision(outputs: np.ndarray) -> str:
    """Return the coarsest precision that represents the outputs exactly.

    A model may compute in this precision even if its weights have another precision.
    """
    with np.errstate(over="ignore"):
        single = outputs.astype(np.float32)
    if not (single == outputs).all():
        return "float64"
    return "float32" if (single.view(np.uint32) & 0xFFFF).any() else "bfloat16"


def _few(trained: Trained) -> np.ndarray:
    """Return the rows that these tests use: 32 rows, or 8 rows for a large model."""
    return trained.x[: _FEW if len(trained.model.theta) > _LARGE else _ROWS]


def _in_pairs(trained: Trained, x: np.ndarray) -> np.ndarray:
    pair = 2 if trained.model.batch > 2 else 1
    return np.concatenate([trained.model.outputs(x[i : i + pair]) for i in range(0, len(x), pair)])


def _own_call(
    trained: Trained, own: Float[np.ndarray, "n _"], once: Float[np.ndarray, "n C"], loose: float
) -> Check:  # fmt: skip
    """Compare the outputs of the model with the results of the user's own function on the same rows.

    The function may return the outputs, or the probabilities, the single logit or the counts that outputs represent.
    """
    link = "log" if trained.task.is_counted else trained.model.link
    known = [tried for tried in (own, linked(own, link)) if tried.shape == once.shape]
    if not known:
        rule = f"shape {once.shape}, the shape of the model's outputs"
        raise ShapeError("outputs of your own call", found=f"shape {own.shape}", rule=rule)
    found = min(float(np.abs(tried - once).max()) for tried in known) / max(float(np.abs(once).max()), 1e-300)
    remedy = (
        "check the weights and the mode (training or evaluation): the examined model differs from the model that you "
        "call"
    )
    return Check("outputs equal the outputs of your own call", _relative(found), found <= loose, remedy)


def _relative(value: float) -> str:
    return "no difference" if value == 0 else f"a difference of {value:.1g} times the largest output"


def _finite(outputs: np.ndarray) -> Check:
    bad = int((~np.isfinite(outputs)).any(1).sum())
    return Check("outputs are finite", f"{bad} of {len(outputs)} rows are not finite" if bad else "all", bad == 0,
                 "check the weights, and scale the rows as in training")  # fmt: skip


def _derivative(trained: Trained) -> Check:
    """Compare the derivative along a random direction to a central difference, in float64 unless the model is large.

    If a step crosses the kink of a unit such as a ReLU, the difference is wrong but the derivative is right. A shorter
    step is then taken. A row can lie exactly on a kink if training has ended there, or if training has not begun and an
    input and a bias are zero. So the parameters are moved a little first.
    """
    name = "derivatives match finite differences of the outputs"
    if not trained.model.differentiable:
        return Check(name, "the model has no derivatives; checks that need derivatives are skipped", None)
    large = len(trained.model.theta) > _LARGE and trained.model.theta.dtype == np.float32
    model, x = (trained.model, trained.x[:2]) if large else (trained.model.in_double(), trained.x[:_ROWS])
    steps, loose = (_LONG_STEPS, _LOOSE_SLOPE) if large else (_STEPS, _SLOPE)
    v = np.random.default_rng([trained.seed, 1]).standard_normal(len(model.theta), dtype=model.theta.dtype)
    v *= max(float(np.linalg.norm(model.theta)), 1e-3) / np.linalg.norm(v)
    try:
        model = model.at(model.theta + _ASIDE * v[::-1])
        exact = model.jvp(v, x)
        back = model.vjp(exact, x)
    except (Exception, SystemExit) as error:  # the user's own function may raise anything
        said = line_of(error, 200)
        remedy = "find the part of the model that has no derivative, or that depends on more than the parameters"
        return Check(name, said, False, remedy)
    size, apart = max(float(np.linalg.norm(exact)), 1e-300), np.inf
    coarse = not large and _rounded(model, v, exact, x)
    if coarse:
        steps, loose = _COARSE_STEPS, _COARSE_SLOPE
    for step in steps:
        ends = [model.at(model.theta + sign * step * v).outputs(x) for sign in (1, -1)]
        apart = min(apart, float(np.linalg.norm((ends[0] - ends[1]) / (2 * step) - exact)) / size)
        if apart <= loose:
            break
    remedy = "find the part of the model that rounds, samples or stops gradients"
    if not exact.any():
        return Check(name, "all are 0", False, remedy)
    apart = max(apart, abs(float(back @ v) / size**2 - 1))  # <J' J v, v> = |J v|²
    still = [name for name, own in model.split(back).items() if not own.any()]
    if apart > loose and still:
        remedy = (
            "if the function applies stop_gradient to an array, keep this array in the function and not among the "
            "parameters"
        )
        return Check(
            name,
            f"a derivative of 0 for {', '.join(still[:3])}, although these parameters change the outputs",
            False,
            remedy,
        )
    found = f"a relative difference of {apart:.1g}"
    if coarse:
        found += "; the model rounds to float32 or coarser inside, so predictions are no more exact than this precision"
    return Check(name, found, apart <= loose, remedy)


def _rounded(model: AbstractModel, v: np.ndarray, exact: np.ndarray, x: np.ndarray) -> bool:
    """Whether the model rounds inside: after a tiny step, outputs leave the tangent by more than curvature explains."""
    once, moved = model.outputs(x), model.at(model.theta + _TINY * v).outputs(x)
    return bool(np.abs(moved - once - _TINY * exact).max() > _FINE * np.abs(once).max())


def _ahead(trained: Trained, loose: float) -> list[Check]:
    """Check that a language model does not use the tokens that it has to predict.

    The loss on the first half of each document must not change if the tokens of the second half are reversed. The model
    gets the second half, but the loss of the tokens in this half does not count.
    """
    x = _few(trained)
    if not trained.task.is_language or x.shape[1] < 4:
        return []
    middle = x.shape[1] // 2
    hidden = np.where(x[:, middle:] < 0, x[:, middle:], -1 - x[:, middle:])
    once, other = (
        trained.model.outputs(np.concatenate([x[:, :middle], part], axis=1)) for part in (hidden, hidden[:, ::-1])
    )
    apart = float(np.abs(once - other).max() / max(float(np.abs(once).max()), 1e-300))
    remedy = "mask the later tokens; otherwise every loss of this model is too small"
    return [Check("each token is predicted only from earlier tokens", _relative(apart), apart <= loose, remedy)]


def _order(trained: Trained) -> list[Check]:
    """Check the order of the classes. The check fails if another order halves the errors, by at least 20 errors."""
    if not trained.task.is_classification or trained.task.labels == ():
        return []
    f, y = training_outputs(trained), trained.y
    if trained.held is not None:
        f, y = np.concatenate([f, held_outputs(trained)]), np.concatenate([y, held_rows(trained)[1]])
    if len(y) < _FEWEST:
        return []
    width = y.shape[1]
    counts = np.zeros((width, width))
    np.add.at(counts, (f.argmax(1), y.argmax(1)), 1)
    rows, columns = scipy.optimize.linear_sum_assignment(-counts)
    now, best = 1 - np.trace(counts) / len(y), 1 - counts[rows, columns].sum() / len(y)
    name = "classes are in the order of the outputs"
    if not (best < now / 2 and (now - best) * len(y) >= _FEWEST):
        return [Check(name, f"error {now:.3g}", True)]
    labels = [trained.task.labels[k] for k in columns]
    order = ", ".join(map(str, labels))
    remedy = f"set labels=({', '.join(map(repr, labels))}) in the program, or pass it in Python"
    return [
        Check(
            name,
            f"the error is {now:.3g}, but it would be {best:.3g} with the classes in the order {order}",
            False,
            remedy,
        )
    ]
