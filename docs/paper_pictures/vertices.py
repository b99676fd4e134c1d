"""Four-point vertices: by depth for four activations, and by the factor of residual connections; drawn and foreseen."""

import altair as alt
import numpy as np

from lemmata.architectures import Gelu, LeakyRelu, Relu, tanh
from lemmata.subjects.field_theory import critical_initialisation, representation_flow
from lemmata.subjects.field_theory._smooth_units import SmoothNetwork
from lemmata.subjects.field_theory.vertices import TwoLineNetwork, vertex_with_skip

WIDTH, NETWORKS, DEPTHS, LAYERS = 512, 2500, (2, 4, 6, 8, 10, 12), 8
COLOURS = {"ReLU": "#c2508c", "GELU": "#b8962e", "identity": "#4c78c8", "tanh": "#2f9e77"}
SMOOTH = {"tanh": ("tanh", tanh()), "GELU": ("normal", Gelu())}
SLOPES = {"ReLU": 0.0, "identity": 1.0}


def by_depth() -> list[dict]:
    """N Var G/K² of drawn networks beside V/K²."""
    rng, rows = np.random.default_rng(0), []
    for name in COLOURS:
        layer = SMOOTH[name][1] if name in SMOOTH else LeakyRelu(1.0) if name == "identity" else Relu()
        point = critical_initialisation(layer)
        flow = representation_flow(
            layer, 1.0, max(DEPTHS), weight_variance=point.weight_variance, bias_variance=point.bias_variance
        )
        for depth in DEPTHS:
            kernel = float(flow.kernel[depth - 1])
            if name in SMOOTH:
                made = SmoothNetwork(1.0, point.weight_variance, point.bias_variance, SMOOTH[name][0], WIDTH, depth)
                drawn = made.drawn(NETWORKS, rng)[0]
            else:
                drawn = TwoLineNetwork(SLOPES[name], 0.0, 0.0, WIDTH, depth).scales(WIDTH, depth - 1, NETWORKS, rng)
            found = WIDTH * float(np.var(drawn)) / kernel**2
            rows.append(
                {"unit": name, "at": depth, "found": found, "foreseen": float(flow.vertex[depth - 1]) / kernel**2}
            )
        print(name, [(row["at"], round(row["found"], 2), round(row["foreseen"], 2)) for row in rows[-2:]])
    return rows


def by_skip() -> list[dict]:
    """V over the number of layers, with residual connections."""
    rng, rows = np.random.default_rng(1), []
    for name, slope in SLOPES.items():
        for skip in (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 0.97):
            made = TwoLineNetwork(slope, skip, 0.0, WIDTH, LAYERS + 1)
            lengths = np.mean(made.preactivations(NETWORKS, rng) ** 2, axis=1)
            found = (WIDTH * float(np.var(lengths)) - 2.0) / LAYERS
            rows.append(
                {"unit": name, "at": skip, "found": found, "foreseen": float(sum(vertex_with_skip(made))) / LAYERS}
            )
        print(name, [(row["at"], round(row["found"], 2), round(row["foreseen"], 2)) for row in rows[-8:]])
    return rows


def panel(rows: list[dict], across: str, up: str) -> alt.LayerChart:
    """Lines as foreseen, dots as drawn."""
    colour = alt.Color("unit:N", sort=list(COLOURS), title=None,
                       scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())))  # fmt: skip
    base = alt.Chart(alt.Data(values=rows)).encode(alt.X("at:Q", title=across, axis=alt.Axis(grid=False)), color=colour)
    axis = {"title": up, "axis": alt.Axis(grid=False)}
    line = base.mark_line(strokeWidth=1.5).encode(alt.Y("foreseen:Q", **axis))
    dots = base.mark_point(filled=True, size=40, opacity=1).encode(alt.Y("found:Q", **axis))
    return (line + dots).properties(width=270, height=230)


def picture() -> alt.HConcatChart:
    """Left by depth, right by the skip."""
    left = panel(by_depth(), "layer", "n Var G / K²")
    right = panel(by_skip(), "factor of residual connections", f"n Var G / K² a layer, after {LAYERS}")
    return alt.hconcat(left, right)
