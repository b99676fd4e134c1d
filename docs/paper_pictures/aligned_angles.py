"""The angle of a turned digit, learned from clean images and told from changed ones, with and without a discrepancy."""

import altair as alt
import jax.numpy as jnp
import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits

from lemmata.subjects.embeddings import Term, aligned_regression

SPLITS, ROWS, STEPS, WEIGHT = 5, 85, 80, 2.0
ARMS: dict[str, Term] = {"source alone": "none", "marginal laws": "marginal", "conditional laws": "conditional"}
SHIFTS = ("a bright band", "noise of 0.15", "noise of 0.3")


def images(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Fours turned by up to 45 degrees, and their angles."""
    rng, (pixels, classes) = np.random.default_rng(seed), load_digits(return_X_y=True)
    fours = np.reshape(pixels[classes == 4] / 16, (-1, 8, 8))
    angles = rng.uniform(-45, 45, 2 * ROWS)
    chosen = rng.permutation(len(fours))[: 2 * ROWS]
    turned = [rotate(fours[i], angle, reshape=False, order=1) for i, angle in zip(chosen, angles, strict=True)]
    return np.reshape(turned, (2 * ROWS, 64)), angles


def changed(x: np.ndarray, shift: str, seed: int) -> np.ndarray:
    """Three brighter rows of pixels, or noise."""
    if shift == "a bright band":
        return x + 0.8 * (np.arange(64) < 24)
    return x + float(shift.split()[-1]) * np.random.default_rng(seed + 100).normal(size=x.shape)


def rows() -> list[dict]:
    """Root mean square errors on the changed images of each split, beside those of a constant."""
    found = []
    for shift in SHIFTS:
        errors = []
        for seed in range(SPLITS):
            x, angles = images(seed)
            moved, y = changed(x[ROWS:], shift, seed), jnp.asarray(angles[:ROWS])
            fits = [
                aligned_regression(
                    jnp.asarray(x[:ROWS]), y, jnp.asarray(moved), term=term, weight=WEIGHT, columns=4, steps=STEPS
                )
                for term in ARMS.values()
            ]
            told = [np.asarray(fit.predict(jnp.asarray(moved))) for fit in fits]
            errors.append([float(np.sqrt(np.mean((own - angles[ROWS:]) ** 2))) for own in told])
            found += [{"shift": shift, "arm": arm, "error": own} for arm, own in zip(ARMS, errors[-1], strict=True)]
        middle = np.median(errors, axis=0)
        print(shift, ", ".join(f"{arm} {own:.1f}" for arm, own in zip(ARMS, middle, strict=True)), flush=True)
    return found


def picture() -> alt.FacetChart:
    """A panel a shift, a row an arm, a tick a split."""
    y = alt.Y("arm:N", sort=list(ARMS), title=None)
    x = alt.X("error:Q", title="error of the angle (degrees); 26 is that of a constant", scale=alt.Scale(type="log"))
    frame = alt.Chart()
    ticks = frame.mark_point(filled=True, size=60, opacity=0.6).encode(x, y, alt.Color("arm:N", legend=None))
    middle = frame.mark_tick(thickness=3, size=22, color="black").encode(alt.X("median(error):Q"), y)
    constant = frame.mark_rule(strokeDash=[4, 3], color="#888").encode(x=alt.datum(26.0))
    layers = alt.layer(constant, ticks, middle, data=alt.Data(values=rows())).properties(width=420, height=80)
    return layers.facet(row=alt.Row("shift:N", sort=list(SHIFTS), title=None))
