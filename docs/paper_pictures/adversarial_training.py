"""Robust accuracy through three trainings of a linear model, and of kernels and networks at their end."""

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
import optax

from lemmata.architectures import TangentKernel, relu_network
from lemmata.kernels import gram
from lemmata.solvers import row_time_coefficients
from lemmata.subjects.adversaries import learn_row_times, projected_gradient
from lemmata.subjects.adversaries._spurious_rows import spurious_rows

RADIUS, SEEDS = 0.3, 8
COLOURS = ("#4c78c8", "#b8962e", "#c2508c")
TRAININGS = ("no attack", "ascent, fades with the residual", "signed, always of the radius")
METHODS = ("kernel, plain", "kernel, one time", "kernel, times of rows", "network, width 256")


def law(seed: int, n: int, d: int):
    """Rows and labels."""
    return spurious_rows(jax.random.key(seed), n, d, 0.95, 2.0, 0.1)


def paths(seed: int, checkpoints: np.ndarray) -> list[dict]:
    """Robust accuracy of w'x, exactly, after so many steps of a tenth of 1 / (largest eigenvalue)."""
    x, y, x_new, y_new = map(np.asarray, (*law(seed, 100, 60), *law(1000 + seed, 2000, 60)))
    rate, found = 0.1 / np.linalg.norm(x, 2) ** 2, []
    for name in TRAININGS:
        w = np.zeros(61)
        for step in range(checkpoints[-1] + 1):
            if step in checkpoints:
                margins = y_new * (x_new @ w) - RADIUS * np.abs(w).sum()
                found.append({"training": name, "time": step / 10, "accuracy": float(np.mean(margins > 0))})
            residual, size = x @ w - y, w @ w
            if name == TRAININGS[0]:
                moved = x
            elif name == TRAININGS[1]:  # dx/ds = w (w'x - y) up to s = 3
                moved = x + residual[:, None] * w * (np.expm1(3 * size) / size if size > 0 else 3.0)
            else:
                moved = x + RADIUS * np.sign(residual)[:, None] * np.sign(w)
            w = w - rate * moved.T @ (moved @ w - y) * (0.3 if name == TRAININGS[2] else 1.0)
    return found


def network_outputs(params, x):
    """One hidden layer of 256 in the NTK parameterisation, minus itself at the start."""
    f = lambda p: jnp.maximum(x @ p["w"].T / x.shape[1] ** 0.5, 0.0) @ p["a"] * (2 / 256) ** 0.5
    return f(params["now"]) - f(params["first"])


@jax.jit
def trained_network(key, x, y):
    """Adversarial training with projected gradients and momentum, 200 steps."""
    keys = jax.random.split(key)
    first = {"w": jax.random.normal(keys[0], (256, x.shape[1])), "a": jax.random.normal(keys[1], (256,))}
    rule = optax.sgd(0.005, 0.9)
    f = lambda now, z: network_outputs({"now": now, "first": first}, z)

    def step(_, carry):
        now, state = carry
        attacked = projected_gradient(lambda z: (f(now, z) - y) ** 2, x, RADIUS, 5)
        updates, state = rule.update(jax.grad(lambda p: jnp.sum((f(p, attacked) - y) ** 2) / 2)(now), state)
        return optax.apply_updates(now, updates), state

    return jax.lax.fori_loop(0, 200, step, (first, rule.init(first)))[0], first


@jax.jit
def accuracies(key, x, y, x_new, y_new):
    """Robust accuracy of the four methods: 60 rows for those without validation, 40 and 20 for the others."""
    kernel = TangentKernel(relu_network(1))
    fit = learn_row_times(kernel, x[:40], y[:40], x[40:], y[40:], RADIUS, steps=30, attack_steps=5)
    early = row_time_coefficients(gram(kernel, x[:40]), jnp.full(40, fit.common_time), y[:40])
    now, first = trained_network(key, x, y)
    plain = jnp.linalg.solve(gram(kernel, x), y)
    predictors = (
        lambda z: kernel.cross(z, x) @ plain,
        lambda z: kernel.cross(z, x[:40]) @ early,
        lambda z: kernel.cross(z, x[:40]) @ fit.coefficients,
        lambda z: network_outputs({"now": now, "first": first}, z),
    )
    attacked = lambda f: projected_gradient(lambda z: -y_new * f(z), x_new, RADIUS)
    return jnp.stack([jnp.mean(y_new * f(attacked(f)) > 0) for f in predictors])


def picture() -> alt.HConcatChart:
    """Two panels: through training, and methods."""
    jax.config.update("jax_enable_x64", True)
    steps = np.unique(np.round(np.geomspace(1, 3000, 16)).astype(int))
    rows = [row for seed in range(SEEDS) for row in paths(seed, steps)]
    means = {}
    for row in rows:
        means.setdefault((row["training"], row["time"]), []).append(row["accuracy"])
    mean = [{"training": name, "time": t, "accuracy": float(np.mean(v))} for (name, t), v in means.items()]
    colour = alt.Color(
        "training:N", sort=list(TRAININGS), title="attack in training",
        scale=alt.Scale(domain=list(TRAININGS), range=list(COLOURS)), legend=alt.Legend(orient="bottom", columns=1),
    )  # fmt: skip
    left = alt.Chart(alt.Data(values=mean)).mark_line(point=True).encode(
        alt.X(
            "time:Q", title="training time, in 1 / largest eigenvalue", scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(values=[0.1, 1, 10, 100], grid=False),
        ),
        alt.Y("accuracy:Q", title="robust accuracy, attacks of 0.3", scale=alt.Scale(domain=[0, 1])), colour,
    ).properties(width=300, height=260, title="a linear model on 100 rows")  # fmt: skip
    keys = jax.random.split(jax.random.key(9), SEEDS)
    each = [np.asarray(accuracies(k, *law(50 + s, 60, 40), *law(70 + s, 300, 40))) for s, k in enumerate(keys)]
    print("mean robust accuracy:", dict(zip(METHODS, np.mean(each, axis=0).round(3), strict=True)))
    print("standard errors:", (np.std(each, axis=0, ddof=1) / SEEDS**0.5).round(3))
    dots = [{"method": name, "accuracy": float(v)} for row in each for name, v in zip(METHODS, row, strict=True)]
    base = alt.Chart(alt.Data(values=dots)).encode(alt.Y("method:N", sort=list(METHODS), title=None))
    across = alt.X("accuracy:Q", title="robust accuracy, attacks of 0.3", scale=alt.Scale(domain=[0, 1]))
    points = base.mark_point(filled=True, size=35, opacity=0.45, color=COLOURS[0]).encode(across)
    middle = base.mark_tick(thickness=3, size=24, color="#555").encode(x="mean(accuracy):Q")
    right = (points + middle).properties(width=260, height=200, title="60 rows, 8 draws and their mean")
    return left | right
