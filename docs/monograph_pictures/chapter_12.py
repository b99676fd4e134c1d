"""The figure of chapter 12: how far below an attack the error of every classifier must stay."""

import sys
from pathlib import Path

import altair as alt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.neural_network import MLPClassifier

from lemmata.subjects.robustness import certify, robust_floor

sys.path.insert(0, str(Path(__file__).parents[1]))
from foundations_pictures import lines, plain

RADII = np.linspace(0.0, 0.4, 9)


def picture() -> alt.Chart:
    """A network's robust error on 200 rows is between an attack and a certificate; no classifier is below the floor."""
    x, y = make_moons(200, noise=0.25, random_state=0)
    model = MLPClassifier((16,), max_iter=3000, alpha=1e-2, random_state=0).fit(x, y)
    layers = list(zip([own.T for own in model.coefs_], model.intercepts_, strict=True))
    names = ["not certified (intervals)", "attacked", "least of any classifier"]
    floors = robust_floor(x, y, RADII).floors
    rows = [{"radius": r, "error": f, "what": names[2]} for r, f in zip(RADII.tolist(), floors.tolist(), strict=True)]
    for radius in RADII.tolist():
        found = [
            certify(layers, own, max(radius, 1e-9), method="interval", label=int(kind))
            for own, kind in zip(x, y, strict=True)
        ]
        shares = np.mean([(f.bound <= 0, f.attack.min() <= 0) for f in found], axis=0).tolist()
        rows += [{"radius": radius, "error": e, "what": name} for name, e in zip(names, shares, strict=False)]
    return lines(rows, plain("radius", "radius (largest coordinate)"), plain("error", "robust error"), names)
