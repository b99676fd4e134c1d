"""The dependence of a model's gradient on the target, and a lower bound on the steps of noisy descent to the target."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import Condition, inside, positive, whole
from lemmata.core import answer_of, check_numbers, numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.pictures import BLUE, WHOLE, styled
from lemmata.printable import preformatted

_CLAIMS = (
    "queries.noisy_descent.steps_to_find_a_target",
    "queries.gradients.gradients_are_queries",
    "queries.gradients.invisible_parities",
)
_BATCH = 16
_RANDOM = 64
_ROUNDING = 16.0  # assumed rounding error of a correlation, in units of eps


@dataclasses.dataclass(frozen=True, eq=False)
class GradientSignal:
    """The variance of a model's gradient over a family of targets, which is called the signal.

    Args:
        signal: the variance of the gradient over the family, summed over all parameters.
        interval: a confidence interval of the signal, if the targets are a sample of a family. None if the targets are
            the whole family.
        random: the signal for targets of random signs, which are scaled to the mean square of (target minus mean
            target).
        parts: for each array of parameters, by its path, the share of the signal that comes from this array.
        distances: for each target, the distance between its gradient and the gradient for the mean target.
        common: the Euclidean length of the gradient for the mean target.
        targets: the number of targets in the family or sample.
        rows: the number of inputs.
        level: the confidence level of the interval.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    signal: float
    interval: tuple[float, float] | None
    random: float
    parts: dict[str, float]
    distances: Float[np.ndarray, " k"]
    common: float
    targets: int
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def steps(self, noise: float | int, advantage: float | int = 0.5) -> float:
        """Return 4 noise² advantage² / signal, a lower bound on the number of noisy gradient steps. Infinite for signal
        0.

        Compare the training paths for a random target of the family and for the mean target. If there are fewer steps
        than the bound, the average total variation distance of these paths is below the advantage. The bound holds if
        the signal is never larger along the training path than at these parameters.

        Args:
            noise: the standard deviation of the noise in each coordinate of the gradient.
            advantage: the total variation distance that is needed to identify the target, inside (0, 1).

        Raises:
            SettingError: if the noise is not positive, or the advantage is outside (0, 1).
        """
        noise, advantage = positive("noise", noise), inside("advantage", advantage, 0.0, 1.0)
        return 4 * noise**2 * advantage**2 / self.signal if self.signal > 0 else float("inf")

    def __str__(self) -> str:
        failed = [f"- {condition}" for condition in self.conditions if condition.holds is False]
        if self.signal == 0:
            first = (
                f"gradient signal 0 over {self.targets} targets: at these parameters, no target changes the gradient"
            )
            return "\n".join([first, f"the gradient that all targets share has length {self.common:.4g}", *failed])
        limits = ""
        if self.interval is not None:
            limits = f", {100 * self.level:g} % interval {self.interval[0]:.3g} to {self.interval[1]:.3g}"
        largest = sorted(self.parts.items(), key=lambda part: -part[1])[:3]
        return "\n".join(
            [
                f"gradient signal {self.signal:.4g} over {self.targets} targets{limits}",
                f"{self._ratio()}; the part that all targets share has length {self.common:.4g}",
                f"noise of 1 hides the target for {self._hidden(1.0)}, noise of 0.1 for {self._hidden(0.1)}",
                "shares: " + ", ".join(f"{name} {share:.0%}" for name, share in largest),
                *failed,
            ]
        )

    def _hidden(self, noise: float) -> str:
        """Return the bound on the number of steps, for this noise, in words. A bound below one step is vacuous."""
        steps = self.steps(noise)
        return f"{steps:.3g} steps" if steps >= 1 else "less than one step (vacuous)"

    def _ratio(self) -> str:
        if self.random > 0:
            return f"{self.signal / self.random:.3g} times that of random signs"
        return "the signal of random signs is 0, so no ratio is given"

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair histogram of the distances between the targets' gradients and the mean target's gradient."""
        import altair as alt

        rows = [{"distance": float(own)} for own in self.distances]
        bars = alt.Chart(alt.Data(values=rows)).mark_bar(color=BLUE)
        return styled(
            bars.encode(
                x=alt.X(
                    "distance:Q",
                    bin=alt.Bin(maxbins=40),
                    axis=alt.Axis(
                        title="distance from the gradient for the mean target",
                        labelOverlap="greedy",
                        labelSeparation=6,
                        grid=False,
                    ),
                ),
                y=alt.Y("count()", axis=alt.Axis(title="targets", grid=False, **WHOLE)),
            ).properties(width=420, height=180)
        )


def gradient_signal(
    outputs: Callable[[Any], Any] | Any,
    params: Any,
    targets: Any,
    *,
    sampled: bool | Any = False,
    level: float | int = 0.9,
    seed: int = 0,
) -> GradientSignal:
    """Compute the variance of the gradient of the mean squared error over a family of targets.

    Consider the gradient of mean (f - y)²/2, where f is the model and y the target. The gradient for a target minus the
    gradient for the mean target is one correlation for each parameter. The signal is the sum of the variances of these
    correlations over the family. If the signal is small, noise of the size of the signal's square root hides the target
    (see `steps`). If the signal is close to the signal of random signs, the gradient depends on the target no more than
    on random labels. Gradients that differ only by rounding count as equal.

    Args:
        outputs: a JAX function of the parameters that returns one output for each of n inputs.
        params: the parameters of `outputs`, a pytree of arrays.
        targets: the family, an array of shape (k, n) with the values of each target at the inputs.
        sampled: whether the targets are a random sample of a larger family. If so, the result has a confidence
            interval.
        level: the confidence level of the interval, which is Student's t interval for the squared distances.
        seed: the random seed of the random signs.

    Raises:
        SettingError: if `outputs` is not a function or fails, `sampled` is not true or false, or the level is outside
            (0, 1).
        ShapeError, DataError: if outputs and targets do not fit each other, parameters are not floating-point arrays,
            or there are fewer than 2 different targets.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.functions import cube
        >>> x = cube(8)
        >>> pairs = jnp.stack([x[:, i] * x[:, j] for i in range(8) for j in range(i)])
        >>> params = jax.random.normal(jax.random.key(0), (8, 16)) / 3
        >>> found = gradient_signal(lambda w: jnp.maximum(x @ w, 0.0).sum(axis=1), params, pairs)
        >>> found.targets, bool(found.signal > 2 * found.random)
        (28, True)
    """
    if not callable(outputs):
        rule = "a function of the parameters"
        raise SettingError("outputs", found=f"a {type(outputs).__name__}", rule=rule, remedy="pass lambda params: ...")
    if not isinstance(sampled, bool | np.bool_):
        raise SettingError(
            "sampled", found=repr(sampled), rule="True or False", remedy="pass True for a sample of a larger family"
        )
    level, seed = inside("level", level, 0.0, 1.0), whole("seed", seed)
    family = numbers_of("targets", targets)
    if family.ndim != 2:
        raise ShapeError("targets", found=f"shape {family.shape}", rule="shape (targets, inputs)")
    if len(family) < 2:
        raise DataError("targets", found=f"{len(family)} targets", rule="at least 2 targets", remedy="add targets")
    _check(params)
    rule = "a function of the parameters in JAX, which returns one number for each input"
    remedy = "call outputs(params) to see the error"
    values, back = answer_of("outputs", jax.vjp, outputs, params, rule=rule, remedy=remedy)
    if getattr(values, "shape", None) != family.shape[1:]:
        found = f"outputs of shape {getattr(values, 'shape', None)}"
        raise ShapeError("outputs", found=found, rule=f"shape ({family.shape[1]},), one number for each target value")
    if np.array_equal(family, np.broadcast_to(family[0], family.shape)):
        raise DataError(
            "targets",
            found=f"{len(family)} equal targets",
            rule="at least 2 different targets",
            remedy="add a target that differs",
        )
    values = np.asarray(values)
    check_numbers("outputs", values)
    if values.dtype.kind != "f":
        raise DataError(
            "outputs",
            found=f"entries of type {values.dtype}",
            rule="floating-point numbers",
            remedy="convert the outputs with astype(float)",
        )
    family, n, k = family.astype(values.dtype), family.shape[1], len(family)
    mean = family.mean(axis=0)
    squares = _squares(back, (family - mean) / n)
    distances = np.sum(list(squares.values()), axis=0)
    if not np.isfinite(distances).all():
        rule = "finite gradients of the squared error"
        raise DataError("targets", found="gradients that are not finite", rule=rule, remedy="scale the targets")
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (_RANDOM, n)) * np.sqrt(np.mean((family - mean) ** 2))
    baseline = np.sum(list(_squares(back, signs.astype(values.dtype) / n).values()), axis=0)
    # n times the baseline of random signs is E |grad f|² times the variance of the targets. Rounding errors are about
    # eps² times this product.
    seen = distances > (_ROUNDING * np.finfo(values.dtype).eps) ** 2 * n * baseline.mean()
    distances, squares = distances * seen, {name: own * seen for name, own in squares.items()}
    correction = k / (k - 1) if sampled else 1.0
    signal = correction * float(distances.mean())
    common = np.sum(list(_squares(back, (values - mean)[None] / n).values()))
    interval = _interval(correction * distances, level) if sampled else None
    total = max(float(distances.sum()), 1e-300)
    return GradientSignal(
        signal, interval, float(baseline.mean()),
        {name: float(own.sum()) / total for name, own in squares.items()}, np.sqrt(distances), float(np.sqrt(common)),
        k, n, level, (*_conditions(family, mean), *_content(signal, interval)),
    )  # fmt: skip


def _interval(squares: np.ndarray, level: float) -> tuple[float, float]:
    """Return Student's t interval of the mean. For two squares, which are always equal, return (0, infinity)."""
    k = len(squares)
    if k < 3:
        return 0.0, float("inf")
    reach = stats.t.ppf((1 + level) / 2, k - 1) * squares.std(ddof=1) / np.sqrt(k)
    return float(max(squares.mean() - reach, 0.0)), float(squares.mean() + reach)


def _content(signal: float, interval: tuple[float, float] | None) -> tuple[Condition, ...]:
    """Return the conditions that the gradient depends on the target, and that a sample excludes a signal of 0."""
    visible = Condition(
        "some target changes the gradient (signal)",
        signal,
        signal > 0,
        "otherwise no gradient step depends on the target",
    )
    if interval is None:
        return (visible,)
    return (
        visible,
        Condition("the sample excludes a signal of 0 (lower end of the interval)", interval[0], interval[0] > 0,
                  "otherwise pass more targets"),
    )  # fmt: skip


def _check(params: Any) -> None:
    leaves = jax.tree.leaves(params)
    kinds = [getattr(leaf, "dtype", np.asarray(leaf).dtype if isinstance(leaf, float) else None) for leaf in leaves]
    wrong = [leaf for leaf, kind in zip(leaves, kinds, strict=True)
             if not isinstance(kind, np.dtype) or not jnp.issubdtype(kind, jnp.floating)]  # fmt: skip
    if not leaves or wrong:
        kind = getattr(wrong[0], "dtype", None) if wrong else None
        found = (
            f"an array of type {kind}"
            if kind is not None
            else f"a leaf of type {type(wrong[0]).__name__}"
            if wrong
            else "no parameters"
        )
        raise DataError("params", found=found, rule="a tree of floating-point arrays",
                        remedy="convert the arrays with astype(float), and pass only arrays")  # fmt: skip


def _squares(back: Callable, errors: Float[np.ndarray, "k n"]) -> dict[str, Float[np.ndarray, " k"]]:
    """Return, for each array of parameters, by its path, the squared length of the gradient for each row of errors."""
    one = lambda error: [jnp.sum(leaf**2) for leaf in jax.tree.leaves(back(error)[0])]
    paths = jax.tree_util.tree_flatten_with_path(back(jnp.asarray(errors[0]))[0])[0]
    found = jax.lax.map(one, jnp.asarray(errors), batch_size=_BATCH)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") or "parameters" for path, _ in paths]
    return {name: np.asarray(own, float) for name, own in zip(names, found, strict=True)}


def _conditions(family: np.ndarray, mean: np.ndarray) -> tuple[Condition, ...]:
    centred = family - mean
    lengths = np.sqrt(np.mean(centred**2, axis=1))
    apart = float(lengths.max() / lengths.min()) if lengths.min() > 0 else float("inf")
    return (
        Condition(
            "along the training path, the signal is never larger than at these parameters",
            None,
            None,
            "the number of steps assumes this",
        ),
        Condition(
            "the inputs are the whole distribution, not a sample",
            None,
            None,
            "a sample adds about the signal of random signs",
        ),
        Condition(
            "targets have equal lengths (largest ratio)",
            apart,
            apart <= 3,
            "otherwise the signal comes mostly from the longest targets",
        ),
    )
