"""The picture of chapter 15: distances of a predictor to known algorithms, by the length of its prompt."""

import altair as alt
import numpy as np
from foundations_pictures import SIZE
from pictures import log_axis
from scipy.special import logsumexp
from tools_pictures import coloured

from lemmata.subjects.routing import which_algorithm

_NOISE, _TASKS, _COLUMNS, _LENGTHS = 0.5, 16, 4, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
_SHOWN = ["memorised tasks", "ridge", "least squares", "descent, 4 steps"]
_NEW = 0.05  # the prior probability of a task that is not memorised


def _mixture(x: np.ndarray, y: np.ndarray, query: np.ndarray, tasks: np.ndarray) -> float:
    """The posterior mean if w is one of the tasks or, with probability _NEW, a standard normal vector."""
    d = x.shape[1]
    moment = x.T @ x + _NOISE**2 * np.eye(d)
    fitted = np.linalg.solve(moment, x.T @ y)
    fresh = -(y @ (y - x @ fitted) / _NOISE**2 + np.linalg.slogdet(moment / _NOISE**2)[1]) / 2
    old = -np.sum((y[:, None] - x @ tasks.T) ** 2, axis=0) / (2 * _NOISE**2)
    logs = np.append(old + np.log((1 - _NEW) / len(tasks)), fresh + np.log(_NEW))
    return float(np.exp(logs - logsumexp(logs)) @ np.append(tasks @ query, fitted @ query))


def picture() -> alt.Chart:
    """With more examples of a new task, a predictor that mostly expects 16 known tasks passes from memory to ridge."""
    rng = np.random.default_rng(0)
    tasks = rng.normal(size=(_TASKS, _COLUMNS))
    x, w = rng.normal(size=(300, max(_LENGTHS), _COLUMNS)), rng.normal(size=(300, _COLUMNS))
    y = np.einsum("mnd,md->mn", x, w) + _NOISE * rng.normal(size=x.shape[:2])
    queries = rng.normal(size=(300, _COLUMNS))
    found = which_algorithm(
        lambda *prompt: _mixture(*prompt, tasks), (x, y, queries), tasks=tasks, lengths=list(_LENGTHS)
    )
    rows = [
        {"n": n, "what": name, "share": float(found.distances[k, found.names.index(name)] / found.size[k])}
        for k, n in enumerate(found.lengths)
        for name in _SHOWN
    ]
    base = alt.Chart(alt.Data(values=rows)).mark_line(point=True, clip=True)
    return base.encode(
        alt.X(**log_axis("n", "examples in the prompt")),
        alt.Y("share:Q", title="squared distance / mean square",
              scale=alt.Scale(type="log", domain=[1e-4, 10], nice=False), axis=alt.Axis(grid=False, tickCount=5)),
        coloured("what", _SHOWN),
    ).properties(**SIZE)  # fmt: skip
