"""The weights with X w = y that different optimisers and parameterisations reach on the user's rows."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, positive
from lemmata.core import numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.pictures import BLUE, styled
from lemmata.printable import preformatted

from ._programs import dual_solution, least_largest, least_sum, nonnegative

_CLAIMS = (
    "optimisation.implicit_bias.minimum_norm_interpolant",
    "implicit.diagonal_networks.diagonal_network_limit",
    "implicit.diagonal_networks.slow_to_sparse",
    "implicit.square_flow.square_flow_is_projection",
    "optimisers.geometry.adaptive_steps_miss_the_class",
)
_USED = 1e-3


@dataclasses.dataclass(frozen=True, eq=False)
class Interpolant:
    """One weight vector w with X w = y.

    Args:
        name: the name of the method that reaches w, as in `interpolants`.
        w: the weights, one for each column of X.
        norms: the l_1, l_2 and l_inf norms of w.
        support: the number of weights whose size is above a thousandth of the largest.
        residual: the largest |X w - y|, divided by the largest |y|.
        error: the mean squared error on the held-out rows, or None without held-out rows.
    """

    name: str
    w: Float[np.ndarray, " p"]
    norms: tuple[float, float, float]
    support: int
    residual: float
    error: float | None = None

    def __str__(self) -> str:
        norms = " ".join(f"{value:9.4g}" for value in self.norms)
        return f"{self.name:24} {norms} {self.support:8d}" + ("" if self.error is None else f" {self.error:9.4g}")

    def _repr_html_(self) -> str:
        return preformatted(self)


@dataclasses.dataclass(frozen=True, eq=False)
class Interpolants:
    """The interpolants of one system X w = y.

    Args:
        found: the interpolants, by name.
        eta: the largest |x_j'nu| over columns x_j outside the support of the solution of least l_1 norm. Of all nu with
            x_j'nu = sign(w_j) on the support, the dual solution nu makes this number least. If eta is below 1, this
            (sparse) solution is unique. The l_1 norm that a diagonal network reaches is larger than the least l_1 norm.
            If the support of the sparse solution has as many columns as there are rows, the difference falls like
            alpha^(2 (1 - eta)).
        conditions: the conditions for the interpolants.
        claims: names of the claims that state these results.
    """

    found: dict[str, Interpolant]
    eta: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __getitem__(self, name: str) -> Interpolant:
        return self.found[name]

    def __str__(self) -> str:
        held = any(own.error is not None for own in self.found.values())
        head = f"{'reached by':24} {'l_1':>9} {'l_2':>9} {'l_inf':>9} {'support':>8}" + (f" {'held out':>9}" * held)
        lines = [head, *map(str, self.found.values()), f"largest |x_j'nu| outside the support: {self.eta:.4g}"]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the weights of each interpolant by column."""
        import altair as alt

        rows = [
            {"column": place, "weight": float(weight), "reached by": name}
            for name, own in self.found.items()
            for place, weight in enumerate(own.w)
        ]
        bars = alt.Chart(alt.Data(values=rows)).mark_bar(color=BLUE)
        return styled(
            bars.encode(
                x=alt.X("column:O", axis=alt.Axis(title="column, counted from 0", labelAngle=0, labelOverlap="greedy")),
                y=alt.Y("weight:Q", axis=alt.Axis(title=None, tickCount=3, grid=False)),
                row=alt.Row(
                    "reached by:N",
                    sort=list(self.found),
                    title="weight, reached by",
                    header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=200),
                ),
            ).properties(width=420, height=60)
        )


def interpolants(
    x: Any,
    y: Any,
    alphas: Sequence[float | int] | Any = (1.0, 0.1, 0.01, 0.001),
    *,
    held: tuple[Any, Any] | Any = None,
) -> Interpolants:
    """Return the solution of X w = y that each method reaches, if there are fewer rows than columns.

    - `descent`: gradient descent from 0, which gives the solution of least l_2 norm.
    - `diagonal ALPHA`: gradient flow on w = u² - v² from u = v = alpha. A large alpha gives the least l_2 norm, a
        small alpha the least l_1 norm.
    - `square ALPHA`: gradient flow on w = u² from u = alpha, if a positive solution exists.
    - `adam`: Adam, AdaGrad and sign descent from 0, if X sign(X'y) = c y with c > 0. Then w stays on one ray.
    - `least l_1` and `least l_inf`: by linear programs.

    Args:
        x: inputs, (n, p), with linearly independent rows and n < p.
        y: targets, (n,).
        alphas: values alpha of the weights at the start. In the diagonal network w = u² - v², the weights are u and v.
            In the square network w = u², the weights are u.
        held: the inputs and targets of held-out rows, for the error.

    Raises:
        ShapeError, DataError: for rows of different shapes, for dependent rows, for targets that are all 0, or if there
            are not fewer rows than columns. SettingError: for an alpha that is not positive.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x, truth = rng.normal(size=(15, 30)), np.zeros(30)
        >>> truth[:2] = 1.0
        >>> found = interpolants(x, x @ truth, alphas=[1, 0.001])
        >>> {name: round(own.norms[0], 3) for name, own in found.found.items() if "square" not in name}
        {'descent': 3.598, 'diagonal 1': 3.595, 'diagonal 0.001': 2.006, 'least l_1': 2.0, 'least l_inf': 6.003}
    """
    given = rows, targets = _checked(x, y)
    new = None if held is None else _held(held, rows)
    starts = [positive("alphas", alpha) for alpha in _listed(alphas)]
    rows, targets, unit = _scaled(rows, targets)
    inner = [alpha / unit**0.5 for alpha in starts]  # w in units of `unit` starts at alpha² / unit
    sparse, eta = least_sum(rows, targets)
    candidates = {"descent": np.linalg.lstsq(rows, targets, rcond=None)[0]}
    candidates |= {
        f"diagonal {alpha:g}": _diagonal(rows, targets, own) for alpha, own in zip(starts, inner, strict=True)
    }
    positive_solution = nonnegative(rows, targets)
    if positive_solution:
        candidates |= {
            f"square {alpha:g}": _square(rows, targets, own) for alpha, own in zip(starts, inner, strict=True)
        }
    ray, share = _ray(*given)
    if ray is not None:
        candidates["adam"] = ray / unit
    candidates |= {"least l_1": sparse, "least l_inf": least_largest(rows, targets)}
    found = {name: _interpolant(name, w, rows, targets, unit, new) for name, w in candidates.items() if w is not None}
    lost = len(candidates) - len(found)
    return Interpolants(found, eta, (
        *_learned(found, given[1], new),
        Condition("a solution w >= 0 exists", None, positive_solution, "the square network needs such a solution"),
        Condition("X sign(X'y) is a multiple of y (largest deviation)", share, ray is not None,
                  "the solution for Adam is known only under this condition"),
        Condition("the sparse solution is unique (largest |x_j'nu| over columns outside its support)", eta,
                  eta < 1 - 1e-9, "otherwise small starts select one of several solutions"),
        Condition("the limit of every method was found (number of missing limits)", float(lost), lost == 0,
                  "otherwise some convex problems could not be solved"),
    ))  # fmt: skip


def _learned(found: Any, targets: np.ndarray, new: tuple[np.ndarray, np.ndarray] | None) -> tuple[Condition, ...]:
    """Check whether some method has a smaller error on held-out rows than the constants 0 and the mean target."""
    if new is None:
        return ()
    trivial = min(float(np.mean(new[1] ** 2)), float(np.mean((new[1] - targets.mean()) ** 2)))
    ratio = min(own.error for own in found.values()) / trivial if trivial > 0 else np.inf
    return (
        Condition("some method has a smaller held-out error than the better constant, 0 or the mean target (ratio)",
                  ratio, ratio < 1, "otherwise every interpolant predicts new rows no better than a constant"),
    )  # fmt: skip


def _listed(alphas: Any) -> list:
    if not np.iterable(alphas) or isinstance(alphas, str | bytes):
        raise SettingError("alphas", found=repr(alphas), rule="a list of positive numbers", remedy="pass alphas=[0.1]")
    return list(alphas)


def _checked(x: Any, y: Any, names: tuple[str, str] = ("x", "y")) -> tuple[np.ndarray, np.ndarray]:
    rows, targets = numbers_of(names[0], x), numbers_of(names[1], y)
    for name, values, axes in ((names[0], rows, 2), (names[1], targets, 1)):
        if values.ndim != axes:
            rule = "a table of rows and columns" if axes == 2 else "one number for each row"
            raise ShapeError(name, found=f"shape {values.shape}", rule=rule)
    if len(rows) != len(targets):
        raise ShapeError(" and ".join(names), found=f"{len(rows)} and {len(targets)} rows", rule="equally many rows")
    if names[0] != "x":
        return rows.astype(float), targets.astype(float)
    n, p = rows.shape
    if n >= p:
        raise DataError("x", found=f"{n} rows and {p} columns", rule="fewer rows than columns",
                        remedy="pass fewer rows or more features: otherwise there is one solution at most")  # fmt: skip
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all() or np.linalg.matrix_rank(rows / largest) < n:
        raise DataError("x", found="rows that depend linearly on other rows", rule="independent rows",
                        remedy="drop duplicate rows")  # fmt: skip
    if not targets.any():
        raise DataError(
            "y", found="only zeros", rule="a target other than 0", remedy="pass another target: w = 0 fits this one"
        )
    return rows.astype(float), targets.astype(float)


def _held(held: Any, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(held, tuple | list) or len(held) != 2:
        raise ShapeError("held", found=f"a {type(held).__name__}", rule="a pair (x, y) of held-out rows")
    new_x, new_y = _checked(*held, names=("held x", "held y"))
    if new_x.shape[1] != rows.shape[1]:
        raise ShapeError("held x", found=f"{new_x.shape[1]} columns", rule=f"{rows.shape[1]} columns, like x")
    return new_x, new_y


def _interpolant(
    name: str, w: np.ndarray, rows: np.ndarray, targets: np.ndarray, unit: float, new: tuple[np.ndarray, ...] | None
) -> Interpolant:
    size = np.abs(w)
    norms = unit * float(size.sum()), unit * float(np.linalg.norm(w)), unit * float(size.max())
    residual = float(np.abs(rows @ w - targets).max() / np.abs(targets).max())
    error = None if new is None else float(np.mean((new[0] @ (unit * w) - new[1]) ** 2))
    return Interpolant(name, unit * w, norms, int((size > _USED * size.max()).sum()), residual, error)


def _scaled(rows: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Scale the equations to entries of at most 1, because linear programs have absolute tolerances."""
    largest = np.abs(rows).max(axis=1)
    targets = targets / largest
    unit = float(np.abs(targets).max())
    return rows / largest[:, None], targets / unit, unit


def _diagonal(rows: np.ndarray, targets: np.ndarray, alpha: float) -> np.ndarray | None:
    """Return the limit 2 alpha² sinh(X'nu) of the diagonal network, where nu solves the dual problem.

    The dual problem is solved first for a large alpha, and then for smaller numbers down to the given alpha.
    """
    nu, least = np.zeros(len(rows)), np.linalg.lstsq(rows, targets, rcond=None)[0]
    first = max(np.sqrt(np.abs(least).max()), alpha)
    for start in np.geomspace(first, alpha, 1 + int(np.ceil(4 * np.log10(first / alpha)))):
        scale = 2 * start**2
        found = dual_solution(
            rows, targets, nu, lambda s, scale=scale: (scale * np.cosh(s), scale * np.sinh(s), scale * np.cosh(s))
        )
        if found is None:
            return None
        nu = found
    return 2 * alpha**2 * np.sinh(rows.T @ nu)


def _square(rows: np.ndarray, targets: np.ndarray, alpha: float) -> np.ndarray | None:
    """Return the limit alpha² exp(X'nu) of the square network, where nu solves the dual problem."""
    grown = lambda s: (alpha**2 * np.exp(s),) * 3
    nu = dual_solution(rows, targets, np.zeros(len(rows)), grown)
    return None if nu is None else alpha**2 * np.exp(rows.T @ nu)


def _ray(rows: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray | None, float]:
    """Return the solution along sign(X'y) or None, and the relative distance of X sign(X'y) from the multiples of y."""
    wide, high = np.abs(rows).max(), np.abs(targets).max()
    rows, targets, unit = rows / wide, targets / high, high / wide
    signs = np.sign(rows.T @ targets)
    moved = rows @ signs
    factor = moved @ targets / (targets @ targets)
    apart = float(np.abs(moved - factor * targets).max() / np.abs(moved).max()) if moved.any() else np.inf
    return (unit * signs / factor, apart) if apart <= 1e-9 and factor > 0 else (None, apart)
