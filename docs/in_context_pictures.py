"""Draws the pictures of in_context.md: python docs/in_context_pictures.py [name ...] writes docs/pictures/*.svg."""

import functools
import sys

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
from pictures import COLOURS, draw, log_axis
from sklearn.linear_model import Lasso

from lemmata.functions import GaussianBumps, barron_parameter, draw_function, log_pair_cover
from lemmata.interfaces.report import attention_picture, coefficients_picture, errors_picture
from lemmata.networks import InContextTransformer, construct_transformer
from lemmata.subjects.in_context.finite_precision import best_temperature, rounded_product
from lemmata.subjects.in_context.risk_bound import theorem_risk
from lemmata.workflows.studies import load_dataset, run_in_context

SIGMA, PENALTY, PROMPTS, QUERIES = 0.1, 1e-3, 24, 200
DEFAULT = {"N": 256, "n": 64, "L": 2049}
LADDERS = {
    "N, examples": ("N", (8, 16, 32, 64, 128, 256, 512, 1024)),
    "n, features": ("n", (2, 4, 8, 16, 32, 64, 128, 256)),
    "L, layers": ("L", (9, 33, 129, 513, 2049, 8193)),
}
TYPES = {"bfloat16": jnp.bfloat16, "float32": jnp.float32, "float64": jnp.float64}


def prompt(number: int, examples: int) -> tuple:
    """A function of the class, noisy examples in the disc, and queries."""
    keys = jax.random.split(jax.random.key(number), 4)
    functions = GaussianBumps(2)
    total = examples + QUERIES
    x = jax.random.normal(keys[0], (total, 2))
    x = x / jnp.linalg.norm(x, axis=1, keepdims=True) * jax.random.uniform(keys[1], (total, 1)) ** 0.5
    f = draw_function(keys[2], functions)(x)
    return functions, x, f, f[:examples] + SIGMA * jax.random.normal(keys[3], (examples,))


@functools.cache
def risks(examples: int, features: int, layers: int) -> tuple[float, float, float]:
    """The mean squared error of the transformer, with momentum and plain, and of the Lasso, over prompts."""
    found = []
    for number in range(PROMPTS):
        functions, x, f, y = prompt(number, examples)
        build = functools.partial(
            construct_transformer, functions, features, layers, examples=examples, key=jax.random.key(number),
            penalty=PENALTY,
        )  # fmt: skip
        plain: InContextTransformer = build()
        table, queries, wanted = plain.features(x[:examples]), x[examples:], f[examples:]
        lasso = Lasso(PENALTY / 2, fit_intercept=False, tol=1e-6, max_iter=10**5)
        lasso.fit(np.asarray(table), np.asarray(y))
        errors = [model(x[:examples], y, queries) - wanted for model in (build(accelerated=True), plain)]
        errors.append(jnp.asarray(lasso.predict(np.asarray(plain.features(queries)))) - wanted)
        found.append([float(jnp.mean(error**2)) for error in errors])
    return tuple(np.mean(found, axis=0))


def risk() -> alt.HConcatChart:
    """Risk against N, n and L, each beside the theorem's curve, the measured one and that of the Lasso."""
    cost, cover = float(barron_parameter(GaussianBumps(2))), float(log_pair_cover(2, 0.1))
    names = ["Theorem 1, constant 1", "transformer, plain", "transformer, with momentum", "Lasso, same features"]
    key = alt.Legend(title=None, orient="bottom", columns=2, labelLimit=300)
    colour = alt.Color("what:N", sort=names, scale=alt.Scale(domain=names, range=list(COLOURS)), legend=key)
    panels = []
    for title, (along, ladder) in LADDERS.items():
        rows = []
        for value in ladder:
            sizes = DEFAULT | {along: value}
            momentum, plain, lasso = risks(sizes["N"], sizes["n"], sizes["L"])
            bound = theorem_risk(cost, SIGMA, cover, examples=sizes["N"], layers=sizes["L"], number=sizes["n"])
            found = zip(names, (float(bound), plain, momentum, lasso), strict=True)
            rows += [{"size": value, "risk": number, "what": name} for name, number in found]
            print(title, value, [f"{row['risk']:.3g}" for row in rows[-4:]], flush=True)
        frame = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
        across, up = alt.X(**log_axis("size", title)), alt.Y(**log_axis("risk", "risk" if along == "N" else ""))
        panels.append(frame.encode(across, up, colour).properties(width=215, height=250))
    return alt.hconcat(*panels).resolve_scale(y="shared")


def precision() -> alt.HConcatChart:
    """The error of a product of size 1 through logistic functions against tau, in three types."""
    panels = []
    names = ["4 tau (sigma(x/tau) - 1/2)", "x³/(12 tau²) + eps tau", "best tau, derived"]
    for name, dtype in TYPES.items():
        best = float(best_temperature(1.0, dtype))
        x = jnp.linspace(0.5, 1.0, 101)
        eps = float(jnp.finfo(dtype).eps)
        rows = []
        for tau in np.geomspace(best / 300, best * 300, 40):
            error = float(jnp.max(jnp.abs(rounded_product(x, jnp.asarray(tau), dtype) - x)))
            rows.append({"tau": tau, "error": max(error, 1e-17), "what": names[0]})
            rows.append({"tau": tau, "error": 1 / (12 * tau**2) + eps * tau, "what": names[1]})
        key = alt.Legend(title=None, orient="bottom", columns=3)
        colour = alt.Color("what:N", sort=names, legend=key, scale=alt.Scale(domain=names, range=list(COLOURS[:3])))
        across = alt.X(**log_axis("tau", f"tau, {name}"))
        up = log_axis("error", "largest error" if name == "bfloat16" else "")
        up["axis"] = alt.Axis(tickCount=6, grid=False, format=".0e")
        lines = alt.Chart(alt.Data(values=rows)).mark_line(point=True).encode(across, alt.Y(**up), colour)
        rule = alt.Chart(alt.Data(values=[{"tau": best, "what": names[2]}])).mark_rule().encode(across, color=colour)
        panels.append((lines + rule).properties(width=215, height=230))
    return alt.hconcat(*panels)


@functools.cache
def diabetes() -> dict:
    """The record of `lemmata in-context diabetes`."""
    return run_in_context(load_dataset("diabetes"))


PICTURES = {
    "in_context_risk": risk,
    "in_context_precision": precision,
    "in_context_errors": lambda: errors_picture(diabetes()),
    "in_context_coefficients": lambda: coefficients_picture(diabetes(), "with momentum"),
    "in_context_attention": lambda: attention_picture(diabetes(), "with momentum"),
}

if __name__ == "__main__":
    with jax.enable_x64(True):
        draw(PICTURES, sys.argv[1:])
