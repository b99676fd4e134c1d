"""How often a router by block means finds what is relevant, against the size of blocks: simulated and predicted."""

import altair as alt
import numpy as np
from scipy.special import ndtr
from scipy.stats import binom

from lemmata.subjects.attention import hit_rate, router_signal_to_noise
from lemmata.subjects.attention._routed_keys import sphere_products
from lemmata.subjects.attention.block_routing import recall

LENGTH, DIMENSION, ATTENDED, RUN, DRAWS = 1024, 64, 128, 8, 3000
BLOCKS = (64, 32, 16, 8, 4, 2)
EXCESS, RUN_EXCESS = 0.5, 0.1
ARMS = {
    "one relevant key, 128 keys attended": (1, EXCESS, False),
    "one relevant key, 2 blocks attended": (1, EXCESS, True),
    "a run of 8 relevant keys, 128 keys attended": (RUN, RUN_EXCESS, False),
}


def predicted(run: int, excess: float, block: int, count: int) -> float:
    """The hit rate of a block that holds as much of a run as it can; other blocks of the run are rivals, too."""
    blocks, inside = LENGTH // block, min(run, block)
    snr = router_signal_to_noise(excess, DIMENSION, block, relevant=inside, others=excess)
    rivals = run // inside - 1
    if not rivals:
        return float(hit_rate(snr, blocks, count))
    z = np.linspace(-9, 9, 1025)
    above = binom.pmf(np.arange(rivals + 1), rivals, ndtr(-z)[:, None])
    noise = ndtr(-z - np.sqrt(2) * snr)[:, None]
    fewer = binom.cdf(count - 1 - np.arange(rivals + 1), blocks - 1 - rivals, noise)
    return float(np.sum(np.exp(-(z**2) / 2) * (above * fewer).sum(axis=1)) * (z[1] - z[0]) / np.sqrt(2 * np.pi))


def rows() -> list[dict]:
    """Each arm on contexts of its own, the same for all sizes of blocks."""
    found, generator = [], np.random.default_rng(0)
    for arm, (run, excess, fixed) in ARMS.items():
        start = generator.integers(LENGTH // run, size=(DRAWS, 1))
        relevant = (np.arange(LENGTH) // run == start).astype(float)
        products = sphere_products(generator, (DRAWS, LENGTH), DIMENSION) + excess * relevant
        for block in BLOCKS:
            count = ATTENDED // BLOCKS[0] if fixed else ATTENDED // block
            hit, theory = recall(products, relevant, block, count), predicted(run, excess, block, count)
            found.append({"what": arm, "block": block, "simulated": hit, "predicted": theory})
            print(f"{arm:46} B={block:3} simulated {hit:.3f} predicted {theory:.3f}")
    return found


def picture() -> alt.Chart:
    """Lines are predicted, dots simulated."""
    x = alt.X("block:Q", title="keys of a block", scale=alt.Scale(type="log", base=2), axis=alt.Axis(values=BLOCKS))
    title = "share of relevant keys attended"
    legend = alt.Legend(orient="top", columns=1, labelLimit=320)
    colour = alt.Color("what:N", sort=list(ARMS), title=None, legend=legend)
    y = alt.Y("predicted:Q", title=title, scale=alt.Scale(domain=[0, 1]))
    chart = alt.Chart(alt.Data(values=rows()))
    lines = chart.mark_line().encode(x, y, colour)
    dots = chart.mark_point(filled=True, size=60, opacity=1).encode(x, alt.Y("simulated:Q"), colour)
    return alt.layer(lines, dots).properties(width=420, height=240)
