"""The action of a unit against its overlap before, at and after the transition, with chains of one unit."""

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.subjects.phases import CubicTeacher, mixed_phase, transition
from lemmata.subjects.samplers import mala

TEACHER = CubicTeacher(epsilon=-0.6, weight_variance=0.5, ratio=4.0)
DIMENSION, CHAINS, STEPS, BURN = 60, 96, 3000, 500
EDGES = np.linspace(0.0, 1.2, 25)
FACTORS = {0.8: "u = 0.8 u_c", 1.0: "u = u_c", 1.5: "u = 1.5 u_c, mixed phase"}


def least(q: np.ndarray, u: float, b: float, c: float, held: bool) -> np.ndarray:
    """The least action at an overlap less the one at 0, over r = |w|² - q², or with r held at g."""
    g = TEACHER.weight_variance
    r = g if held else np.linspace(0.02, 1.2, 3000)[None, :] * g
    q = q[:, None]
    y = q**2 / (1 + 2 * (q**2 + r))
    volume = (r / g - 1 - np.log(r / g)) / 2
    return (q**2 / (2 * g) + volume - 2 * u / np.pi * y * (b - 2 * c * y) ** 2).min(axis=1)


def overlaps(u: float, b: float, c: float, start: float, key: jax.Array) -> np.ndarray:
    """|q| along chains, half of which start with the direction."""
    keys = jax.random.split(key)
    w = jax.random.normal(keys[0], (CHAINS, DIMENSION)) * (TEACHER.weight_variance / DIMENSION) ** 0.5
    w = w.at[: CHAINS // 2, 0].set(start)
    step = 0.12 * TEACHER.weight_variance / DIMENSION
    chains = mala(lambda w: -DIMENSION * TEACHER.action(w, u, b, c), w, step, STEPS, keys[1], every=5)
    return np.abs(np.asarray(chains.points[BURN // 5 :, :, 0])).ravel()


def rows() -> list[dict]:
    """Curves, and histograms where a bin has at least 20 points."""
    found, critical, q = [], transition(TEACHER), np.linspace(0, 1.2, 121)
    for number, (factor, name) in enumerate(FACTORS.items()):
        u = factor * critical.interaction
        phase = mixed_phase(TEACHER, u)
        b, c = phase.linear, phase.cubic
        for held, kind in ((False, "norm free"), (True, "norm held")):
            for x, s in zip(q, least(q, u, b, c, held), strict=True):
                if s < 0.22:
                    found.append({"u": name, "kind": kind, "q": x, "S": s})
        drawn = overlaps(u, b, c, critical.overlap, jax.random.key(number))
        counts = np.histogram(drawn, EDGES)[0]
        for x, n in zip((EDGES[1:] + EDGES[:-1]) / 2, counts, strict=True):
            if n >= 20:
                height = -np.log(n / counts[0]) / DIMENSION
                found.append({"u": name, "kind": "chains, d = 60", "q": x, "S": height})
        print(name, f"b {b:.3f}, c {c:.3f}; share of chains beyond half the overlap", f"{(drawn > 0.45).mean():.3f}")
    return found


def picture() -> alt.Chart:
    """A panel an interaction."""
    jax.config.update("jax_enable_x64", True)
    jnp.zeros(1)
    kinds = ["norm free", "norm held", "chains, d = 60"]
    colour = alt.Color("kind:N", sort=kinds, title=None, scale=alt.Scale(range=["#4c78c8", "#b8962e", "#333333"]))
    x = alt.X("q:Q", title="overlap |w·w*|")
    y = alt.Y("S:Q", title="action / d, less that at 0")
    frame = alt.Chart()
    is_chain = alt.datum.kind == kinds[2]
    lines = frame.mark_line().encode(x, y, colour).transform_filter(~is_chain)
    dots = frame.mark_point(filled=True, size=30, opacity=1).encode(x, y, colour).transform_filter(is_chain)
    zero = frame.mark_rule(color="#888", strokeDash=[4, 3]).encode(y=alt.datum(0))
    layers = alt.layer(zero, lines, dots, data=alt.Data(values=rows())).properties(width=210, height=210)
    return layers.facet(column=alt.Column("u:N", sort=list(FACTORS.values()), title=None))
