"""Convolutional deep kernel machines on digits: accuracy by the weight of the divergence and by inducing points."""

import math

import altair as alt
import numpy as np
from sklearn.datasets import load_digits

from lemmata.estimators import ConvolutionalDeepKernelMachineClassifier

SPLITS, TRAINED, TESTED, STEPS = 3, 200, 500, 60
STIFF = (0.0, 1.0, 10.0, 100.0, math.inf)
COUNTS = ((8, 16), (16, 32), (32, 64))
LEFT, RIGHT = "weight nu of the divergence", "inducing patches, inducing points of the block"


def accuracy(split: int, stiffness: float, inducing: tuple[int, int]) -> tuple[float, float]:
    """On rows that were trained on, and on others, in percent."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(split).permutation(len(x))
    seen, new = order[:TRAINED], order[TRAINED : TRAINED + TESTED]
    model = ConvolutionalDeepKernelMachineClassifier(
        inducing=inducing, stiffness=stiffness, steps=STEPS, random_state=split
    ).fit(x[seen], y[seen])
    return 100 * model.score(x[seen], y[seen]), 100 * model.score(x[new], y[new])


def rows() -> list[dict]:
    """Means over splits, and the least and largest."""
    arms = [(LEFT, "∞" if math.isinf(nu) else f"{nu:g}", nu, (16, 32)) for nu in STIFF]
    arms += [(RIGHT, f"{p}, {q}", nu, (p, q)) for p, q in COUNTS for nu in (1.0, math.inf)]
    found, known = [], {}
    for panel, at, nu, inducing in arms:
        for split in range(SPLITS):
            if (split, nu, inducing) not in known:
                known[split, nu, inducing] = accuracy(split, nu, inducing)
        values = np.array([known[split, nu, inducing] for split in range(SPLITS)])
        line = "nu = ∞" if math.isinf(nu) and panel == RIGHT else "nu = 1" if panel == RIGHT else "other rows"
        lines = {line: values[:, 1]} | ({"rows trained on": values[:, 0]} if panel == LEFT else {})
        for name, own in lines.items():
            found.append(
                {"panel": panel, "at": at, "rows": name, "accuracy": own.mean(), "low": own.min(), "high": own.max()}
            )
            print(f"{panel:48} {at:8} {name:16} {own.mean():.1f} ({own.min():.1f} to {own.max():.1f})", flush=True)
    return found


def picture() -> alt.Chart:
    """Two panels; a bar from the least to the largest of the splits."""
    found, panels = rows(), []
    for panel in (LEFT, RIGHT):
        own = [row for row in found if row["panel"] == panel]
        x = alt.X("at:N", sort=[row["at"] for row in own], title=panel, axis=alt.Axis(labelAngle=0))
        y = alt.Y("accuracy:Q", title="accuracy (%)", scale=alt.Scale(zero=False))
        colour = alt.Color("rows:N", title=None, legend=alt.Legend(orient="bottom"))
        frame = alt.Chart(alt.Data(values=own))
        bars = frame.mark_rule().encode(x, alt.Y("low:Q", title="accuracy (%)"), alt.Y2("high:Q"), colour)
        panels.append((frame.mark_line(point=True).encode(x, y, colour) + bars).properties(width=330, height=220))
    return alt.hconcat(*panels).resolve_scale(color="independent", y="shared")
