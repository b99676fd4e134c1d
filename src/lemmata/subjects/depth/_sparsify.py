"""Approximate a wide network or kernel expansion by few greedily chosen units, with a bound on the error."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from lemmata.answers import Condition, positive, whole
from lemmata.core import answer_of, array_of, numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.pictures import lines, styled
from lemmata.printable import preformatted

_CLAIMS = (
    "depth.sparsification.greedy_atoms",
    "depth.sparsification.greedy_beats_sampling",
    "depth.sparsification.maurey_sampling",
)
_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "logistic": lambda z: 0.5 * (1 + np.tanh(z / 2)),
    "identity": lambda z: z,
}
Units = Callable[[Any], Any]
_SQUARES = 1e100  # largest terms whose squares do not overflow


@dataclasses.dataclass(frozen=True, eq=False)
class Sparsified:
    """A few units of a network with new weights, and the distance of their output from the network's output.

    All errors are root mean squares over the rows. The squares are summed over the outputs of the network.

    Args:
        units: the chosen units, by their numbers in the network, in the order of choice.
        weights: the new weights of the chosen units, of shape (k, outputs).
        intercept: the intercept of the network.
        error: the distance between the few units and the network.
        bound: the proved bound sqrt((R² - |X|²)/k) on the error, with R = `mass` and |X| = `size`.
        size: the root mean square |X| of the network's output without the intercept.
        mass: the sum R, over all units, of |weight| times the root mean square of the unit's output.
        path: the error with the first 1, 2, ..., k chosen units.
        rows: the number of rows.
        network_units: the number of units of the network.
        hidden: the function that returns the outputs of all units of the network.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    units: Int[np.ndarray, " k"]
    weights: Float[np.ndarray, "k outputs"]
    intercept: Float[np.ndarray, " outputs"]
    error: float
    bound: float
    size: float
    mass: float
    path: Float[np.ndarray, " k"]
    rows: int
    network_units: int
    hidden: Units
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def vacuous(self) -> bool:
        """True if the bound is at least `size`, the error without any units."""
        return self.bound >= self.size

    def __call__(self, x: ArrayLike) -> Float[np.ndarray, "n outputs"]:
        """Return the outputs of the few units on rows.

        Args:
            x: rows, in the form of the network's input.

        Raises:
            ShapeError, DataError: if x has no rows, or if the outputs of the hidden units are not valid.
        """
        outputs = _outputs(self.hidden, _rows(x), self.network_units)
        return outputs[:, self.units] @ self.weights + self.intercept

    def enough(self, tolerance: float) -> int:
        """Return the number of units for which the bound proves an error of at most the tolerance. Fewer units than
        this number may be enough.

        The result is at most the number of units of the network, because all units together have no error.

        Args:
            tolerance: the allowed root mean square distance from the network.

        Raises:
            SettingError: for a tolerance that is not positive, or a tolerance for which the number of units overflows.
        """
        tolerance = positive("tolerance", tolerance)
        root = math.sqrt(max(self.mass**2 - self.size**2, 0.0)) / tolerance
        if not root < _SQUARES:
            rule = f"above {math.sqrt(self.mass**2 - self.size**2) / _SQUARES:.3g}"
            raise SettingError("tolerance", found=f"{tolerance:g}", rule=rule, remedy="pass a larger tolerance")
        return min(max(1, math.ceil(root**2 * (1 - 1e-12))), self.network_units)

    def plot(self) -> Any:
        """Return an Altair chart of the error with 1, 2, ..., k units, and of the bound, on logarithmic axes."""
        k = np.arange(1, len(self.path) + 1)
        series = {"measured": (k, self.path), "bound": (k, np.sqrt(max(self.mass**2 - self.size**2, 0.0) / k))}
        return styled(lines(series, ("units", "root mean square distance from the network"), logarithmic="xy"))

    def __str__(self) -> str:
        share = f"{100 * self.error / self.size:.2g} % of " if self.size > 0 else ""
        word = "vacuous, because the network's output is not larger" if self.vacuous else "proved"
        lines = [
            f"{len(self.units)} of {self.network_units} units leave the error {self.error:.4g}, {share}the network's "
            f"output {self.size:.4g}, on {self.rows} row{'s' if self.rows > 1 else ''}",
            f"{word}: at most {self.bound:.4g}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)


def sparsify(network: Any, x: Any, units: int) -> Sparsified:
    """Choose few units of a wide network with one hidden layer, or few terms of a kernel expansion, with new weights.

    The output without the intercept is a point X of the convex hull of atoms. The atom of a unit is the unit's output
    times the sign of its weight, scaled to the norm R of `Sparsified.mass`. The greedy choice takes k atoms. The mean
    g_k of these atoms satisfies |g_k - X|² <= (R² - |X|²)/k. Then least squares on the chosen units determines new
    weights. This fit cannot increase the error on these rows.

    Args:
        network: a fitted `MLPRegressor` with one hidden layer, or a tuple (hidden, weights) or (hidden, weights,
            intercept). The function hidden(x) returns the outputs of the m units, of shape (n, m). The weights have the
            shape (m,) or (m, outputs). For a kernel expansion, hidden is x -> k(x, centres).
        x: the rows on which the distance is measured.
        units: the number of different units to keep.

    Raises:
        SettingError: for another kind of network, or a number of units below 1 or above the number of units whose
            output and weight are not 0 on these rows.
        ShapeError, DataError: for rows, outputs or weights that do not fit each other or are not finite. Also if all
            products of outputs and weights are 0, or if the largest product is above 1e100 or below 1e-100.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> inner = rng.normal(size=(2, 500))
        >>> network = (lambda x: np.maximum(x @ inner, 0), np.ones(500) / 500)
        >>> few = sparsify(network, rng.normal(size=(200, 2)), units=10)
        >>> few.error < few.bound, len(few.units)
        (True, 10)
    """
    hidden, weights, intercept = _read(network)
    rows = _rows(x)
    outputs = _outputs(hidden, rows, len(weights))
    with np.errstate(over="ignore", under="ignore"):
        # Atoms are vectors of unit outputs (all rows) times weights (all outputs). Squared norms are mean squares.
        atoms = (outputs.T[:, :, None] * weights[:, None, :]).reshape(len(weights), -1) / math.sqrt(len(rows))
    largest = float(np.abs(atoms).max())
    if largest > _SQUARES or 0 < largest < 1 / _SQUARES:
        found, rule = f"products of up to {largest:.3g}", f"0, or between {1 / _SQUARES:g} and {_SQUARES:g}"
        raise DataError("outputs and weights of the hidden units", found=found, rule=rule, remedy="change the unit")
    sizes = np.linalg.norm(atoms, axis=1)
    alive = np.flatnonzero(sizes > 0)
    count = whole("units", units, least=1)
    if not len(alive):
        rule, remedy = "units whose output and weight are not 0", "pass other rows or another network"
        raise DataError("network", found="output 0 of all units on these rows", rule=rule, remedy=remedy)
    if count > len(alive):
        rule = f"at most the {len(alive)} units whose output and weight are not 0 on these rows"
        raise SettingError("units", found=count, rule=rule, remedy="pass a smaller number of units")
    atoms = atoms[alive]
    target, mass = atoms.sum(axis=0), float(sizes.sum())
    order = _chosen(atoms * (mass / sizes[alive])[:, None], target, count)
    path, factors = _refitted(outputs[:, alive[order]], outputs @ weights)
    size = float(np.linalg.norm(target))
    return Sparsified(
        units=alive[order],
        weights=factors,
        intercept=intercept,
        error=float(path[-1]),
        bound=math.sqrt(max(mass**2 - size**2, 0.0) / count),
        size=size,
        mass=mass,
        path=path,
        rows=len(rows),
        network_units=len(weights),
        hidden=hidden,
        conditions=(
            Condition(
                "the error is measured on these rows", why="rows of another distribution may have a larger error"
            ),
            *_content(rows, outputs @ weights, float(path[-1]), count, len(alive)),
        ),
    )


def _content(rows: np.ndarray, target: np.ndarray, error: float, count: int, alive: int) -> tuple[Condition, ...]:
    """Return three conditions: enough different rows, an error below the error of the best constant, and some units
    left out.
    """
    different = len(rows) if rows.dtype.kind == "O" else len(np.unique(rows, axis=0))
    spread = math.sqrt(((target - target.mean(axis=0)) ** 2).sum(axis=1).mean())
    ratio = error / spread if spread > 0 else math.inf
    return (
        Condition("different rows for each unit", different / count, different >= 5 * count,
                  "with few rows, the new weights overfit"),
        Condition("the error is below that of the best constant (their ratio)", ratio, ratio < 1,
                  "otherwise the chosen units do not follow the network from row to row"),
        Condition("some units are left out (share of the units that are not 0)", 1 - count / alive, count < alive,
                  "otherwise nothing was chosen: all units together are the network"),
    )  # fmt: skip


def _rows(x: Any) -> np.ndarray:
    rows = array_of("x", x)
    if rows.ndim < 1 or len(rows) < 1:
        raise ShapeError("x", found=f"shape {rows.shape}", rule="at least one row", remedy="pass a table of rows")
    return rows


def _outputs(hidden: Units, rows: np.ndarray, units: int) -> np.ndarray:
    rule, remedy = f"a function of rows of shape {rows.shape}", "call hidden(x) to see the error"
    name = "outputs of the hidden units"
    found = array_of(name, answer_of("hidden", hidden, rows, rule=rule, remedy=remedy))
    if found.shape != (len(rows), units):
        rule = f"shape {(len(rows), units)}, one row for each row of x and one column for each weight"
        raise ShapeError(name, found=f"shape {found.shape}", rule=rule)
    return numbers_of(name, found).astype(float)


def _read(network: Any) -> tuple[Units, np.ndarray, np.ndarray]:
    """Return the hidden units, their weights of shape (m, outputs) and the intercept."""
    if hasattr(network, "coefs_") and hasattr(network, "intercepts_"):
        if len(network.coefs_) != 2 or network.activation not in _ACTIVATIONS:
            found = f"{len(network.coefs_) - 1} hidden layers with activation {network.activation!r}"
            raise SettingError(
                "network",
                found=found,
                rule="one hidden layer, with an activation of scikit-learn",
                remedy="pass (hidden, weights) for another network",
            )
        if getattr(network, "out_activation_", "identity") != "identity":
            found = f"a {type(network).__name__} with {network.out_activation_!r} of the outputs"
            rule = "outputs that are sums of units"
            remedy = "pass a tuple (hidden, weights, intercept), which gives the output before this function"
            raise SettingError("network", found=found, rule=rule, remedy=remedy)
        inner, shift, act = network.coefs_[0], network.intercepts_[0], _ACTIVATIONS[network.activation]

        def hidden(x: Any) -> np.ndarray:
            rows = numbers_of("x", x)
            if rows.ndim != 2 or rows.shape[1] != len(inner):
                rule = f"shape (n, {len(inner)}), the columns of the network"
                raise ShapeError("x", found=f"shape {rows.shape}", rule=rule)
            return act(rows.astype(float) @ inner + shift)

        return hidden, *_arrays(network.coefs_[1], network.intercepts_[1])
    if isinstance(network, tuple) and len(network) in (2, 3) and callable(network[0]):
        return network[0], *_arrays(network[1], network[2] if len(network) == 3 else 0.0)
    rule = "a fitted MLPRegressor with one hidden layer, or a tuple (hidden, weights) or (hidden, weights, intercept)"
    remedy = "pass (lambda x: ..., weights), where the function gives the outputs of all hidden units"
    raise SettingError("network", found=type(network).__name__, rule=rule, remedy=remedy)


def _arrays(weights: Any, intercept: Any) -> tuple[np.ndarray, np.ndarray]:
    found = array_of("weights", weights)
    if found.ndim not in (1, 2) or found.size == 0:
        raise ShapeError("weights", found=f"shape {found.shape}", rule="shape (units,) or (units, outputs)")
    found = numbers_of("weights", found)
    found = found.reshape(len(found), -1).astype(float)
    shift = np.atleast_1d(numbers_of("intercept", intercept).astype(float))
    if shift.shape not in ((1,), (found.shape[1],)):
        raise ShapeError(
            "intercept", found=f"shape {shift.shape}", rule=f"one number for each of {found.shape[1]} outputs"
        )
    return found, np.broadcast_to(shift, (found.shape[1],))


def _chosen(atoms: np.ndarray, target: np.ndarray, count: int) -> np.ndarray:
    """Return the first `count` different atoms of the greedy iteration. If the iteration finds fewer than `count`
    different atoms, further atoms with the best scores are added.
    """
    order: list[int] = []
    squares, along, products = (atoms**2).sum(axis=1), atoms @ target, np.zeros(len(atoms))
    at, scores = np.zeros_like(target), squares
    for i in range(1, 20 * count + 1):
        # |(i-1)/i at + v/i - target|², without the terms that are equal for all atoms v.
        scores = squares / i**2 + 2 * (i - 1) / i**2 * products - 2 * along / i
        best = int(scores.argmin())
        if best not in order:
            order.append(best)
        if len(order) == count:
            return np.asarray(order)
        at = (i - 1) / i * at + atoms[best] / i
        products = atoms @ at
    scores[order] = np.inf
    return np.asarray(order + scores.argsort()[: count - len(order)].tolist())


def _refitted(chosen: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return root mean square errors of least squares on 1, 2, ... columns, and the weights of all columns."""
    path, factors = [], np.zeros((0, target.shape[1]))
    # scale the columns to one size, because lstsq drops directions that are small
    size = np.abs(chosen).max(axis=0)
    chosen = chosen / size
    for k in range(1, chosen.shape[1] + 1):
        factors = np.linalg.lstsq(chosen[:, :k], target, rcond=None)[0]
        path.append(math.sqrt(((chosen[:, :k] @ factors - target) ** 2).sum(axis=1).mean()))
    return np.asarray(path), factors / size[:, None]
