"""Tables and sequences of the foreign zoo, none of digits. `rows_of` draws them and changes them as a condition says.

A new set is a function of a generator and a seed that returns all of its rows and targets, and an entry in TABLES or
SEQUENCES.
"""

import dataclasses
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets

CONDITIONS = ("clean", "wrong labels", "shifted")
WRONG, SHIFT = 0.2, 1.5
"""Share of labels that are replaced by another class; standard deviations by which a column of held-out rows moves."""
_TRAIN = {"iris": 75, "wine": 89, "diabetes": 180}
_HELD = 400


@dataclasses.dataclass(frozen=True)
class Rows:
    """Training and held-out rows.

    Args:
        x, y: of training, (n, *row) and (n,) or (n, C).
        held_x, held_y: not seen in training.
    """

    x: np.ndarray
    y: np.ndarray
    held_x: np.ndarray
    held_y: np.ndarray

    @property
    def classes(self) -> int:
        """How many classes there are; 0 of values."""
        return 0 if self.y.dtype.kind == "f" else len(np.unique(self.y))


def _classes(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    x, y = datasets.make_classification(
        n,
        8,
        n_informative=5,
        n_redundant=1,
        n_classes=3,
        n_clusters_per_class=1,
        class_sep=1.2,
        flip_y=0,
        random_state=seed,
    )
    return x, y


def _unbalanced(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    x, y = datasets.make_classification(
        n, 6, n_informative=4, n_redundant=0, weights=[0.88], class_sep=1.3, flip_y=0, random_state=seed
    )
    return x, y


def _words(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    x, y = datasets.make_blobs(n, 4, centers=3, cluster_std=3.5, random_state=seed)[:2]
    return x, np.array(["ash", "birch", "cedar"])[y]


def _mixed(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    """Three measured columns, and a fourth that names one of four places, by 0 to 3."""
    x = np.column_stack([rng.normal(size=(n, 3)) * [1, 10, 0.1] + [0, 50, 3], rng.integers(0, 4, n)])
    slope = np.array([-1.5, 0.5, 1.5, 0.0])[x[:, 3].astype(int)]
    return x, (1.5 * x[:, 0] + 0.15 * (x[:, 1] - 50) + slope + 0.7 * rng.logistic(size=n) > 0).astype(int)


def _sine(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    x = rng.uniform(-2, 2, (n, 2))
    return x, np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] + 0.2 * rng.normal(size=n)


def _faint(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    """Values that follow the inputs faintly: R² is 0.17 at best."""
    x = rng.normal(size=(n, 3))
    return x, 0.45 * x[:, 0] + rng.normal(size=n)


def _faint_classes(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    x, values = _faint(rng, seed, n)
    return x, (values > 0).astype(int)


def _three_values(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    x, y = datasets.make_regression(n, 6, n_informative=4, n_targets=3, noise=30.0, random_state=seed)[:2]
    return x, y / 50


def _autoregressive(rng: np.random.Generator, n: int, slope: np.ndarray, length: int) -> np.ndarray:
    """Series s_t = slope s_(t-1) + noise of variance 1, (n, length), begun at their stationary law."""
    series = np.empty((n, length))
    series[:, 0] = rng.normal(size=n) / np.sqrt(1 - slope**2)
    for t in range(1, length):
        series[:, t] = slope * series[:, t - 1] + rng.normal(size=n)
    return series


def _series(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    """Which of three slopes made the series: (n, 20, 1)."""
    y = rng.integers(0, 3, n)
    return _autoregressive(rng, n, np.array([-0.8, 0.0, 0.8])[y], 20)[:, :, None], y


def _forecast(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    """The next value of a series of slope 0.8: (n, 10, 1)."""
    whole = _autoregressive(rng, n, np.full(n, 0.8), 11)
    return whole[:, :-1, None], whole[:, -1]


def _motifs(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    """Noise with one of three shapes of five values somewhere in it: (n, 1, 20)."""
    shapes = np.array([[2, 2, 2, 2, 2], [2, -2, 2, -2, 2], [-2, -2, 2, 2, 2]], float)
    x, y, at = 0.6 * rng.normal(size=(n, 1, 20)), rng.integers(0, 3, n), rng.integers(0, 16, n)
    for row, own, first in zip(x, y, at, strict=True):
        row[0, first : first + 5] += shapes[own]
    return x, y


def _tokens(rng: np.random.Generator, seed: int, n: int) -> tuple[Any, Any]:
    """Ten tokens of six; the class is whether token 0 or token 1 comes more often, or neither does."""
    x = rng.integers(0, 6, (n, 10))
    return x, np.sign((x == 0).sum(1) - (x == 1).sum(1)) + 1


def _bundled(load: Callable[..., Any]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    return lambda rng, seed, n: load(return_X_y=True)


TABLES: dict[str, Callable[[np.random.Generator, int, int], tuple[Any, Any]]] = {
    "iris": _bundled(datasets.load_iris),
    "wine": _bundled(datasets.load_wine),
    "cancer": _bundled(datasets.load_breast_cancer),
    "classes": _classes,
    "moons": lambda rng, seed, n: datasets.make_moons(n, noise=0.25, random_state=seed),
    "unbalanced": _unbalanced,
    "words": _words,
    "mixed": _mixed,
    "diabetes": _bundled(datasets.load_diabetes),
    "linear": lambda rng, seed, n: datasets.make_regression(n, 10, n_informative=4, noise=20.0, random_state=seed)[:2],
    "friedman": lambda rng, seed, n: datasets.make_friedman1(n, 7, noise=1.0, random_state=seed),
    "sine": _sine,
    "three values": _three_values,
    "faint": _faint,
    "faint classes": _faint_classes,
}
SEQUENCES = {"series": _series, "forecast": _forecast, "motifs": _motifs, "tokens": _tokens}


def rows_of(name: str, condition: str, seed: int, scaled: bool = False, salt: str = "", train_rows: int = 200) -> Rows:
    """Rows of a set, drawn by the seed and changed as the condition says.

    Args:
        name: of the set.
        condition: "clean"; "wrong labels", a fifth of all labels are replaced by another class; or "shifted", the
            first column of held-out rows is larger by 1.5 standard deviations.
        seed: of the draw.
        scaled: whether columns, and values, are divided by their spread over the training rows, in single precision;
            tokens stay.
        train_rows: how many rows train, but of the small sets.
        salt: words that change the draw, so that each model has its own rows.
    """
    place = [*TABLES, *SEQUENCES].index(name)
    rng = np.random.default_rng([seed, place, zlib.crc32(salt.encode())])
    number = int(rng.integers(2**31))
    count = _TRAIN.get(name, train_rows)
    x, y = (TABLES | SEQUENCES)[name](rng, number, count + _HELD)
    order = rng.permutation(len(x))
    x, y = x[order][: count + _HELD], y[order][: count + _HELD]
    if condition == "wrong labels":
        y = wrong(rng, y)
    held = x[count:].copy()
    if condition == "shifted":
        first = (slice(None), *(0,) * (x.ndim - 1))
        held[first] += SHIFT * x[(slice(count), *first[1:])].std()
    own = Rows(x[:count], y[:count], held, y[count:])
    return _scaled(own) if scaled else own


def wrong(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Labels of which a fifth is another class than it was."""
    labels, at = np.unique(y, return_inverse=True)
    hit = np.zeros(len(y), bool)
    hit[rng.choice(len(y), round(WRONG * len(y)), replace=False)] = True
    return labels[np.where(hit, (at + rng.integers(1, len(labels), len(y))) % len(labels), at)]


def _scaled(rows: Rows) -> Rows:
    if rows.x.dtype.kind == "i":
        return rows
    middle, spread = rows.x.mean(0), rows.x.std(0)
    x, held = (((own - middle) / spread).astype(np.float32) for own in (rows.x, rows.held_x))
    if rows.classes:
        return Rows(x, rows.y, held, rows.held_y)
    middle, spread = rows.y.mean(0), rows.y.std(0)
    return Rows(x, (rows.y - middle) / spread, held, (rows.held_y - middle) / spread)
