"""Three theorems of the textbook: boosting below its bound, belief propagation on loops, a chain that forgets."""

import altair as alt
import numpy as np
from sklearn.datasets import load_breast_cancer

from lemmata.subjects.textbook._finite_chains import FiniteChain
from lemmata.subjects.textbook._ising_models import IsingModel, belief_propagation
from lemmata.subjects.textbook._textbook_rows import adaptive_boosting
from lemmata.subjects.textbook.graphical_models import loop_eigenvalues, marginals
from lemmata.subjects.textbook.markov_chains import distances, second_modulus

ROUNDS, STEPS, SPINS = 40, 20, (4, 6, 10)
COLOURS = ("#2f9e77", "#4c78c8", "#b8962e", "#c2508c")


def boosted() -> list[dict]:
    """Training error and its bound, stumps on 300 rows of the breast cancer table."""
    x, classes = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(classes))[:300]
    run = adaptive_boosting(x[order], 2.0 * classes[order] - 1, ROUNDS)
    bound = np.cumprod(2 * np.sqrt(run.errors * (1 - run.errors)))
    error = (run.margins <= 0).mean(axis=1)
    print("training error is 0 from round", int(np.flatnonzero(error > 0).max()) + 2, "bound", bound[-1])
    values = {"bound": bound, "training error": error}
    return [
        {"round": t + 1, "value": float(v), "what": name} for name, part in values.items() for t, v in enumerate(part)
    ]


def looped() -> list[dict]:
    """The largest error of a belief on a loop of equal couplings, fields of 0.2 of either sign, before and after."""
    rows = []
    for n in SPINS:
        fields = 0.2 * np.random.default_rng(3).choice([-1.0, 1.0], n)
        ring = np.roll(np.eye(n), 1, axis=1)
        for strength in np.linspace(0.05, 1.5, 30):
            couplings = strength * (ring + ring.T)
            model = IsingModel(couplings, fields, belief_propagation(couplings, fields, 3000))
            truth, (r, q) = marginals(model), loop_eigenvalues(model)
            error = np.abs(model.beliefs - truth).max()
            fixed = np.abs((r * model.beliefs + q * (1 - model.beliefs)) / (r + q) - truth).max()
            rows.append({"coupling": strength, "error": float(error), "loop": f"{n} spins"})
            print(n, round(float(strength), 2), f"{error:.3f} corrected {fixed:.1e}") if strength > 0.95 else None
    return rows


def forgotten() -> list[dict]:
    """The distance from the stationary law of a walk on two groups of four states, and three bounds."""
    half = np.arange(8) < 4
    weights = np.random.default_rng(0).uniform(0.5, 1.0, (8, 8)) * np.where(half[:, None] == half, 1.0, 0.2)
    weights = weights + weights.T
    chain = FiniteChain(weights / weights.sum(1, keepdims=True), weights.sum(1) / weights.sum(), STEPS)
    steps, rate = np.arange(1, STEPS + 1), second_modulus(chain)
    values = {
        "shared rows": (1 - chain.transition.min(0).sum()) ** steps,
        "eigenvalue, above": np.sqrt(1 / chain.law.min() - 1) / 2 * rate**steps,
        "distance": distances(chain),
        "eigenvalue, below": rate**steps / 2,
    }
    print("second eigenvalue", rate, "shared", chain.transition.min(0).sum())
    return [
        {"step": int(t), "value": float(v), "what": name}
        for name, part in values.items()
        for t, v in zip(steps, part, strict=True)
    ]


def picture() -> alt.Chart:
    """A panel a theorem."""
    colour = lambda name: alt.Color(
        f"{name}:N",
        title=None,
        sort=None,
        scale=alt.Scale(range=list(COLOURS)),
        legend=alt.Legend(orient="bottom", columns=2),
    )
    log = lambda title: alt.Y("value:Q", title=title, scale=alt.Scale(type="log"), axis=alt.Axis(tickCount=5))
    size = {"width": 210, "height": 200}
    boosting = (
        alt.Chart(alt.Data(values=boosted()), title="boosting")
        .mark_line(interpolate="step-after")
        .encode(alt.X("round:Q"), alt.Y("value:Q", title="share of training rows"), colour("what"))
    )
    loops = (
        alt.Chart(alt.Data(values=looped()), title="belief propagation on a loop")
        .mark_line()
        .encode(alt.X("coupling:Q"), alt.Y("error:Q", title="largest error of a probability"), colour("loop"))
    )
    steps = alt.Chart(alt.Data(values=forgotten()), title="a chain of eight states").encode(
        alt.X("step:Q"), log("total variation"), colour("what")
    )
    measured = alt.datum.what == "distance"
    chain = steps.transform_filter(~measured).mark_line() + steps.transform_filter(measured).mark_point(filled=True)
    return alt.hconcat(*(part.properties(**size) for part in (boosting, loops, chain))).resolve_scale(
        color="independent"
    )
