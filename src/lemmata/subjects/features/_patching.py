"""The effects of restoring and ablating sites of a model (named activations), one at a time and in sets."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import Condition, inside
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._numbers import shown
from ._runs import FunctionRuns, TorchRuns

_CLAIMS = ("features.circuits.redundancy",)
_MOST = 10  # largest number of sites for which all sets are run
_APART = 0.1  # a sum of single effects that differs by more than this share of the joint effect counts as different
_ROUNDING, _COMPILED = 1e-5, 1e-2  # relative difference that is allowed between two runs, and for compiled code


@dataclasses.dataclass(frozen=True, eq=False)
class PatchingReport:
    """The effects on a model's output of restoring and of ablating sites.

    The clean run uses an input on which the model shows a behaviour, and the corrupted run one on which it does not. A
    site is a named activation. Restoring puts clean values into the corrupted run. Ablating puts corrupted values into
    the clean run. All effects are in units of the output. An effect is the part of `clean` - `corrupt` that a site
    restores or removes. If there are several rows, all outputs and effects are means over rows.

    Args:
        sites: the names of the sites.
        clean: the output on the clean input.
        corrupt: the output on the corrupted input.
        restore: the effect of restoring each single site: the output of the corrupted run with the site's clean values,
            minus the output of the corrupted run.
        ablate: the effect of ablating each single site: the output of the clean run, minus the output of the clean run
            with the site's corrupted values.
        shapley: the effect of each site's clean values, averaged over all orders in which sites are restored. None if
            the values were not computed.
        restore_all: the effect of restoring all sites.
        ablate_all: the effect of ablating all sites.
        sets: the outputs of the corrupted run with clean values at each set of sites. The index of a set is the sum of
            2^i over its sites i. There is one column for each row of the input. None if the outputs were not computed.
        intervals: confidence intervals for the means over rows, under "restore", "ablate" and "shapley". Empty if there
            is only one row.
        rows: the number of rows of the input.
        level: the confidence level of the intervals.
        conditions: the conditions under which the results hold.
        claims: names of the claims that state the results.
    """

    sites: tuple[str, ...]
    clean: float
    corrupt: float
    restore: Float[np.ndarray, " s"]
    ablate: Float[np.ndarray, " s"]
    shapley: Float[np.ndarray, " s"] | None
    restore_all: float
    ablate_all: float
    sets: Float[np.ndarray, "sets rows"] | None
    intervals: dict[str, Float[np.ndarray, "s 2"]]
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def gaps(self) -> tuple[float, float]:
        """The effect of all sites together minus the sum of single effects, for restoring and for ablating.

        This difference is 0 if the single effects add up to the joint effect.
        """
        return self.restore_all - float(self.restore.sum()), self.ablate_all - float(self.ablate.sum())

    def __str__(self) -> str:
        rows = "" if self.rows == 1 else f", means over {self.rows} rows"
        width = max(4, *(len(site) for site in self.sites))
        columns = {"restored": self.restore, "ablated": self.ablate}
        columns |= {} if self.shapley is None else {"Shapley": self.shapley}
        lines = [f"output {self.clean:.4g} on the clean input, {self.corrupt:.4g} on the corrupted input{rows}"]
        lines.append(f"{'site':<{width}}" + "".join(f"{name:>10}" for name in columns))
        scale = max(abs(self.clean), abs(self.corrupt))
        line = lambda name, values: f"{name:<{width}}" + "".join(_shown(own, scale) for own in values)
        lines += [line(site, [own[place] for own in columns.values()]) for place, site in enumerate(self.sites)]
        joint = (self.restore_all, self.ablate_all, self.restore_all)[: len(columns)]
        lines += [line("sum", [own.sum() for own in columns.values()]), line("all", joint), self.reading]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    @property
    def reading(self) -> str:
        """A sentence that compares the sums of single effects with the joint effects."""
        size = max(abs(self.restore_all), abs(self.ablate_all))
        if size <= _ROUNDING * max(abs(self.clean), abs(self.corrupt)):
            return "the sites together have no effect"
        more, less = (-gap * math.copysign(1.0, self.restore_all + self.ablate_all) / size for gap in self.gaps)
        if max(abs(more), abs(less)) <= _APART:
            return "single effects add up to the joint effect"
        if (more > _APART and less < _APART) or (less < -_APART and more > -_APART):
            return "sites can replace each other, as in an OR: ablating one site understates its effect"
        if (more < -_APART and less > -_APART) or (less > _APART and more < _APART):
            return "sites need each other, as in an AND: restoring one site understates its effect"
        return "single effects do not add up to the joint effect"

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the effects of each site."""
        import altair as alt

        kinds = {"restored alone": self.restore, "ablated alone": self.ablate}
        kinds |= {} if self.shapley is None else {"Shapley value": self.shapley}
        rows = [
            {"site": site, "kind": kind, "effect": float(own[place])}
            for kind, own in kinds.items()
            for place, site in enumerate(self.sites)
        ]
        return (
            alt.Chart(alt.Data(values=rows))
            .mark_bar()
            .encode(
                x=alt.X("effect:Q", title="effect on the output"),
                y=alt.Y("site:N", sort=list(self.sites), title=None),
                yOffset=alt.YOffset("kind:N", sort=list(kinds)),
                color=alt.Color("kind:N", sort=list(kinds), title=None),
            )
            .properties(width=420, height=alt.Step(12))
        )


def _shown(value: float, scale: float) -> str:
    """Return the value as text with three significant digits, or 0 if it is a rounding error compared with `scale`."""
    text = f"{0.0 if abs(value) < _ROUNDING**2 * scale else float(value):.3g}"
    return f" {text:>9}"


def patching_report(
    model: Any,
    clean: Any,
    corrupt: Any,
    sites: Any,
    *,
    metric: Callable[[Any], Any] | Any = None,
    shapley: bool | Any = True,
    level: float | int = 0.95,
) -> PatchingReport:
    """Patch activations at named sites, and return single effects, joint effects, and Shapley values.

    A site is a named activation of the model. Restoring a site puts its value of the clean run into the corrupted run.
    Ablating a site puts its value of the corrupted run into the clean run. If several sites can replace each other,
    ablating only one of them has no effect. If several sites are all needed, restoring only one of them has no effect.
    The Shapley value of a site accounts for both cases. The Shapley value is the effect of restoring the site, averaged
    over all orders in which the sites are restored. For s sites, the Shapley values need 2^s runs.

    A PyTorch module runs in evaluation mode, with hooks that replace the outputs of its submodules. Afterwards the
    hooks are removed and the earlier mode is restored. A model in JAX or NumPy is a function model(x, site). In this
    function, call h = site("name", h) for each value h that can be replaced, and continue with the returned value.

    Args:
        model: a torch.nn.Module, or a function model(x, site).
        clean: an input on which the model shows the behaviour that you want to explain. For a module, a tuple contains
            positional arguments, and a dictionary contains keyword arguments.
        corrupt: another input of the same shape, on which the model does not show this behaviour.
        sites: names of submodules, or the names that the function passes to `site`. At most 10 for Shapley values.
        metric: a function of the model's output that returns a number, or one number for each row of the input. None if
            the model itself returns these numbers.
        shapley: whether to run the model for all sets of sites and compute Shapley values.
        level: the confidence level of the intervals for means over several rows.

    Raises:
        UnknownNameError: if a site does not exist.
        SettingError: if the model, the metric or another setting is of the wrong kind, or if the model fails.
        ShapeError, DataError: if the inputs differ in shape, an output is not finite, or two runs on the same input
            have different outputs.

    Example:
        >>> model = lambda x, site: max(site("one", x[0]), site("other", x[1]))
        >>> print(patching_report(model, (1.0, 1.0), (0.0, 0.0), ["one", "other"]))
        output 1 on the clean input, 0 on the corrupted input
        site   restored   ablated   Shapley
        one           1         0       0.5
        other         1         0       0.5
        sum           2         0         1
        all           1         1         1
        sites can replace each other, as in an OR: ablating one site understates its effect
    """
    level, names = inside("level", level, 0.0, 1.0), _names(sites)
    if not isinstance(shapley, bool | np.bool_):
        raise SettingError("shapley", found=shown(shapley), rule="True or False")
    if shapley and len(names) > _MOST:
        raise SettingError("sites", found=f"{len(names)} sites", rule=f"at most {_MOST} for Shapley values",
                           remedy="pass fewer sites, or shapley=False")  # fmt: skip
    if metric is not None and not callable(metric):
        raise SettingError("metric", found=shown(metric), rule="a function of the model's output, or None")
    if isinstance(model, type) or not callable(model):
        found = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
        raise SettingError("model", found=found, rule="a torch.nn.Module, or a function model(x, site)")
    kind = TorchRuns if hasattr(model, "register_forward_hook") else FunctionRuns
    with kind(model, names, metric) as runs:
        own, other = runs.record(clean), runs.record(corrupt)
        nowhere, everywhere = (False,) * len(names), (True,) * len(names)
        one = lambda place: (*nowhere[:place], True, *nowhere[place + 1 :])
        best = runs.run(clean, other, nowhere)
        corrupted = lambda chosen: _fitting(runs.run(corrupt, own, chosen), best)
        cleaned = lambda chosen: _fitting(runs.run(clean, other, chosen), best)
        ablated = [cleaned(one(place)) for place in range(len(names))]
        destroyed = cleaned(everywhere)
        if shapley:
            chosen = [
                tuple(bool(index >> place & 1) for place in range(len(names))) for index in range(1 << len(names))
            ]
            sets = np.stack([corrupted(each) for each in chosen])
            worst, restored, whole = sets[0], [sets[1 << place] for place in range(len(names))], sets[-1]
        else:
            sets, worst, whole = None, corrupted(nowhere), corrupted(everywhere)
            restored = [corrupted(one(place)) for place in range(len(names))]
        _check_equal(best, cleaned(nowhere), worst, _ROUNDING)
        if runs.first is not None and runs.first.shape == best.shape:  # a compiled run repeats Python's random numbers
            _check_equal(runs.first, best, worst, _COMPILED)
    return _report(names, best, worst, np.stack(restored) - worst, best - np.stack(ablated), whole - worst,
                   best - destroyed, sets, level)  # fmt: skip


def _names(sites: Any) -> tuple[str, ...]:
    names = (sites,) if isinstance(sites, str) else tuple(sites) if np.iterable(sites) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise SettingError("sites", found=shown(sites), rule="a list of names")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SettingError("sites", found=f"'{twice}' twice", rule="each site once")
    return tuple(str(name) for name in names)


def _fitting(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    if values.shape != others.shape:
        found = f"{len(others)} numbers on the clean input and {len(values)} on the corrupted one"
        raise ShapeError("output", found=found, rule="equally many", remedy="pass inputs with equally many rows")
    return values


def _check_equal(best: np.ndarray, again: np.ndarray, worst: np.ndarray, error: float) -> None:
    scale = np.maximum(np.abs(best), np.abs(worst)).max()
    if np.abs(best - again).max() > error * scale:
        raise DataError(
            "outputs of the model", found=f"{best[0]:.6g} and {again[0]:.6g} in two runs on the clean input",
            rule="equal outputs in two runs on the same input", remedy="fix the seed inside the model, or switch "
                "off its randomness",
        )  # fmt: skip


def shapley_values(sets: Float[np.ndarray, "sets rows"]) -> Float[np.ndarray, "s rows"]:
    """Return the Shapley values of s players (here sites) from the value of each set of players.

    Args:
        sets: the value of each set of players, with one column for each row of the input. The index of a set is the sum
            of 2^i over its players i.
    """
    count = len(sets).bit_length() - 1
    index = np.arange(len(sets))
    sizes = np.array([int(own).bit_count() for own in index])
    factorial = math.factorial
    weights = np.array([factorial(size) * factorial(count - size - 1) for size in range(count)]) / factorial(count)
    found = []
    for player in range(count):
        without = index[index >> player & 1 == 0]
        found.append(weights[sizes[without]] @ (sets[without | 1 << player] - sets[without]))
    return np.stack(found)


def _report(
    names: tuple[str, ...], best: np.ndarray, worst: np.ndarray, restore: np.ndarray, ablate: np.ndarray,
    whole: np.ndarray, destroyed: np.ndarray, sets: np.ndarray | None, level: float,
) -> PatchingReport:  # fmt: skip
    effects = {"restore": restore, "ablate": ablate} | ({} if sets is None else {"shapley": shapley_values(sets)})
    rows = len(best)
    means = {name: own.mean(axis=1) for name, own in effects.items()}
    intervals = {}
    if rows > 1:
        for name, own in effects.items():
            unit = float(np.abs(own).max()) or 1.0  # divided by this unit, effects have finite squares
            reach = stats.t.ppf((1 + level) / 2, rows - 1) * unit * (own / unit).std(axis=1, ddof=1) / np.sqrt(rows)
            intervals[name] = np.stack([means[name] - reach, means[name] + reach], axis=1)
    apart, scale = float((best - worst).mean()), float(np.maximum(np.abs(best), np.abs(worst)).max())
    differ = abs(apart) > _ROUNDING * scale
    carried = [float(own.mean()) / apart if differ else None for own in (whole, destroyed)]
    conditions = [
        Condition("outputs on the clean and corrupted input differ", apart, differ,
                  "otherwise there is no difference to explain"),
        *(
            Condition(f"the sites carry the whole difference ({word} at all sites)", share,
                      None if share is None else abs(share - 1) <= _APART,
                      "the rest of the difference goes through other parts of the model")
            for word, share in zip(("clean values", "corrupted values"), carried, strict=True)
        ),
    ]  # fmt: skip
    if rows > 1:
        conditions.append(Condition("rows are independent draws", None, None, "the intervals assume independent rows"))
    return PatchingReport(
        names, float(best.mean()), float(worst.mean()), means["restore"], means["ablate"], means.get("shapley"),
        float(whole.mean()), float(destroyed.mean()), sets, intervals, rows, level, tuple(conditions),
    )  # fmt: skip
