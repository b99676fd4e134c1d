"""Rules that choose rows to label, against rows at random: areas under curves of accuracy on three bundled tables."""

import altair as alt
import jax
import numpy as np

from lemmata.subjects.selection.labelled_pools import TABLES, RowPools

SPLITS, RESAMPLES = 40, 4000
ARMS = {
    "coding rate": ("coding rate", 0.0),
    "coding rate, entropy 0.3": ("coding rate", 0.3),
    "k-centre": ("k-centre", 0.0),
    "gradients": ("gradients", 0.0),
    "entropy": ("entropy", 0.0),
}
WORDS = {"digits": "digits, 10 classes", "cancer": "breast cancer, 2 classes", "wine": "wine, 3 classes"}


def rows() -> list[dict]:
    """Mean differences of areas on the same splits, in points of accuracy, with paired bootstrap intervals of 95 %."""
    found = []
    for table in TABLES:
        population = RowPools(table)
        setting = population.settings().resolve(None)
        gains = []
        for number in range(SPLITS):
            pool = population.sample(setting, jax.random.key(number))
            base = pool.curve(pool.chosen("random", seed=number)).mean()
            chosen = [pool.chosen(rule, entropy_weight=weight, seed=number) for rule, weight in ARMS.values()]
            gains.append([100 * (pool.curve(order).mean() - base) for order in chosen])
        gains, draw = np.array(gains), np.random.default_rng(0)
        means = gains[draw.integers(0, SPLITS, (RESAMPLES, SPLITS))].mean(axis=1)
        for arm, mean, ends in zip(ARMS, gains.mean(0), np.quantile(means, [0.025, 0.975], axis=0).T, strict=True):
            found.append({"table": WORDS[table], "rule": arm, "gain": mean, "low": ends[0], "high": ends[1]})
            print(f"{table:8} {arm:26} {mean:+.1f} ({ends[0]:+.1f} to {ends[1]:+.1f})")
    return found


def picture() -> alt.Chart:
    """A panel a table, a row a rule."""
    y = alt.Y("rule:N", sort=list(ARMS), title=None)
    colour = alt.Color("rule:N", sort=list(ARMS), legend=None)
    across = "area under the curve of accuracy, less that of rows at random (points)"
    frame = alt.Chart()
    zero = frame.mark_rule(color="#888", strokeDash=[4, 3]).encode(x=alt.datum(0))
    bars = frame.mark_rule(strokeWidth=2).encode(alt.X("low:Q", title=across), alt.X2("high:Q"), y, colour)
    dots = frame.mark_point(filled=True, size=70, opacity=1).encode(alt.X("gain:Q"), y, colour)
    layers = alt.layer(zero, bars, dots, data=alt.Data(values=rows())).properties(width=420, height=100)
    return layers.facet(row=alt.Row("table:N", sort=list(WORDS.values()), title=None))
