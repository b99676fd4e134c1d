"""Draws the pictures of tools.md that train models: python docs/chapter_pictures.py [name ...]."""

import sys
from typing import Any

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
import optax
from pictures import draw, log_axis
from scipy import optimize
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier
from tools_pictures import BAND, coloured

from lemmata.subjects.bounds import pac_bayes_bound, random_label_test
from lemmata.subjects.optimisers import OptimiserComparison, compare_optimisers, shampoo
from lemmata.subjects.privacy import privacy_audit, privacy_spent
from lemmata.subjects.robustness import certify
from lemmata.subjects.stability import bias_variance
from lemmata.subjects.trained_models import read_trained
from lemmata.subjects.trained_models.norms import SpectralMarginBound

SIZE = {"width": 260, "height": 240}
WIDTHS = (2, 4, 8, 16, 32, 48, 64, 80, 100, 128, 192, 256, 512)


def digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Digits with pixels in [0, 1], in an order drawn once."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:n]
    return x[order] / 16, y[order]


def capacity(width: int, inputs: int, outputs: int) -> float:
    """The Vapnik-Chervonenkis dimension of networks with one layer of rectified units is at most this.

    Theorem 7 of Bartlett, Harvey, Liaw and Mehrabian (2019), for one output at a time: with W weights in two layers and
    k units, 2 + 2 W log2(8 e k log2(4 e k)).
    """
    weights = (inputs + 1) * width + width + 1
    units = width + 1
    return outputs * (2 + 2 * weights * np.log2(8 * np.e * units * np.log2(4 * np.e * units)))


def rows_for(dimension: float, error: float, delta: float = 0.05) -> float:
    """The rows from which sqrt(8 (d ln(2 e n / d) + ln(4 / delta)) / n) is at most an error."""
    wide = lambda n: np.sqrt(8 * (dimension * np.log(2 * np.e * n / dimension) + np.log(4 / delta)) / n) - error
    return float(optimize.brentq(wide, dimension, 1e6 * dimension))


def growing() -> tuple[list[dict], list[dict]]:
    """Errors and bounds of wider and wider networks on digits; the rows that other bounds would ask for."""
    x, y = digits(1797)
    held, errors, asked = (x[800:], y[800:]), [], []
    x, y = x[:800], y[:800]
    for width in (2, 4, 8, 16, 32, 64, 128):
        model = MLPClassifier((width,), max_iter=1500, random_state=0)
        bound = pac_bayes_bound(model, x, y, held=held)
        chance = random_label_test(model, x, y, repeats=1)
        fitted = model.fit(x, y)
        told = {"held-out error": 1 - fitted.score(*held), "PAC-Bayes bound": min(bound.bound, 1.0),
                "training error on random labels": 1 - chance.random_accuracy}  # fmt: skip
        errors += [{"width": width, "error": float(value), "what": name} for name, value in told.items()]
        trained = read_trained(fitted, x, y, held=held)
        margin = SpectralMarginBound().rows_factor(trained)
        rows = {"margins and norms": margin * len(x), "VC dimension": rows_for(capacity(width, 64, 10), 0.9)}
        asked += [
            {"width": width, "rows": float(value), "what": name} for name, value in rows.items() if np.isfinite(value)
        ]
    return errors, asked


def capacities() -> alt.HConcatChart:
    """What is measured and bounded on digits as networks grow, and how many rows classical bounds would ask for."""
    errors, asked = growing()
    across = log_axis("width", "hidden units")
    across["axis"] = alt.Axis(values=[2, 4, 8, 16, 32, 64, 128], grid=False)
    left = (
        alt.Chart(alt.Data(values=errors))
        .mark_line(point=True)
        .encode(
            alt.X(**across), alt.Y("error:Q", title="share of wrong classes", axis=alt.Axis(format="%", grid=False)),
            coloured("what", ["held-out error", "PAC-Bayes bound", "training error on random labels"]),
        )
        .properties(**SIZE)
    )  # fmt: skip
    up = log_axis("rows", "rows before the bound is below 90 %")
    up["axis"] = alt.Axis(values=[10.0**k for k in range(3, 16)], format=".0e", grid=False)
    base = alt.Chart(alt.Data(values=[*asked, *({"width": w, "rows": 800.0, "what": "there are"} for w in (2, 128))]))
    names = ["margins and norms", "VC dimension", "there are"]
    right = base.mark_line(point=True).encode(alt.X(**across), alt.Y(**up), coloured("what", names)).properties(**SIZE)
    return alt.hconcat(left, right).resolve_scale(color="independent")


def certified() -> alt.LayerChart:
    """The share of 40 digits that no change of a size can move, by each method, and that an attack leaves."""
    x, y = digits(1040)
    net = MLPClassifier((32, 32), alpha=0.1, max_iter=600, random_state=0).fit(x[:1000], y[:1000])
    layers = [(w.T, b) for w, b in zip(net.coefs_, net.intercepts_, strict=True)]
    names, rows = ["interval", "crown", "lp", "attack leaves it"], []
    for radius in (0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.055, 0.07, 0.09):
        for method in names[:3]:
            found = [certify(layers, one, radius, method=method) for one in x[1000:]]
            rows.append(
                {"radius": radius, "share": float(np.mean([f.verdict == "robust" for f in found])), "by": method}
            )
        left = float(np.mean([f.verdict != "attacked" for f in found]))
        rows.append({"radius": radius, "share": left, "by": names[3]})
    axis = alt.Axis(format="%", tickCount=5, grid=False)
    return (
        alt.layer(alt.Chart(alt.Data(values=rows)).mark_line(point=True))
        .encode(
            alt.X("radius:Q", title="change of a pixel, of its range", axis=alt.Axis(tickCount=5, grid=False)),
            alt.Y("share:Q", title="share of 40 digits", axis=axis),
            coloured("by", names),
        )
        .properties(**SIZE)
    )


def parts_of_error() -> alt.LayerChart:
    """Error, variance and the rest of ridgeless random features on the diabetes data, over their number."""
    x, y = load_diabetes(return_X_y=True, scaled=True)
    x, y = x / x.std(0), (y - y.mean()) / y.std()
    layer = np.random.default_rng(1).normal(size=(x.shape[1], max(WIDTHS))) / np.sqrt(x.shape[1])

    def features(width: int) -> Any:
        """A fit of random features with next to no ridge."""
        made = lambda x: np.maximum(x @ layer[:, :width], 0) / np.sqrt(width)

        def fit(x: np.ndarray, y: np.ndarray) -> Any:
            model = Ridge(1e-3).fit(made(x), y)
            return lambda x: model.predict(made(x))

        return fit

    found = bias_variance({width: features(width) for width in WIDTHS}, x, y, draws=40, rows=100)
    names, rows = ["error", "variance", "bias² + noise"], []
    parts = zip(names, (found.error, found.variance, found.rest), (found.error_interval, found.variance_interval,
                found.rest_interval), strict=True)  # fmt: skip
    for name, values, ends in parts:
        for width, value, (low, high) in zip(WIDTHS, values, ends, strict=True):
            rows.append(
                {"width": width, "value": float(value), "low": max(float(low), 0.02), "high": float(high), "part": name}
            )
    rows = [row for row in rows if row["value"] > 0.02]
    across, up = log_axis("width", "random features"), log_axis("value", "squared error")
    across["axis"] = alt.Axis(values=[2, 8, 32, 100, 512], grid=False)
    up["axis"] = alt.Axis(values=[0.03, 0.1, 0.3, 1, 3, 10, 30], grid=False)
    base = alt.Chart(alt.Data(values=rows)).encode(alt.X(**across), color=coloured("part", names))
    band = base.mark_area(**BAND).encode(alt.Y(**(up | {"shorthand": "low:Q"})), alt.Y2("high:Q"))
    return alt.layer(band, base.mark_line(point=True).encode(alt.Y(**up))).properties(**SIZE)


def spent() -> alt.LayerChart:
    """What a mean with noise in every step spends, step by step, and what audits of 2,000 trainings can show of it."""
    noise, delta, names = 4.0, 1e-5, ["accountant", "shown by an audit"]
    rng = np.random.default_rng(0)
    x = np.zeros((20, 1))

    def train(steps: int) -> Any:
        """Sums of clipped rows, with noise, `steps` of them; the score is how much of the canary is in them."""

        def run(x: np.ndarray, y: Any, seed: int) -> float:
            rows = np.clip(x, -1, 1).sum() + noise * np.random.default_rng(seed).normal(size=steps)
            return float(rows.mean())

        return run

    rows: list[dict] = []
    for steps in (1, 4, 9, 16, 25, 36, 49, 64):
        rows.append({"steps": steps, "eps": privacy_spent(noise, 1.0, steps, delta).eps, "what": names[0]})
        if int(np.sqrt(steps)) % 2 == 0:
            found = privacy_audit(
                train(steps), x, canaries=(np.ones((1, 1)), None), score=lambda model, row, target: model,
                trainings=2000, noise=noise, steps=steps, delta=delta, seed=int(rng.integers(1000)),
            )  # fmt: skip
            rows.append({"steps": steps, "eps": found.lower, "what": names[1]})
    axis = alt.Axis(tickCount=5, grid=False)
    base = alt.Chart(alt.Data(values=rows)).encode(
        alt.X("steps:Q", title="steps", axis=axis), alt.Y("eps:Q", title="epsilon", axis=axis),
        coloured("what", names),
    )  # fmt: skip
    return alt.layer(base.mark_line(point=True)).properties(**SIZE)


def tuned() -> Any:
    """The expected best of k trials of four optimisers with equal budgets."""
    target = jnp.sin(jnp.arange(12.0)).reshape(3, 4)
    loss = lambda w: jnp.sum(jnp.geomspace(1.0, 100.0, 3)[:, None] * (w - target) ** 2)
    rates = {"learning_rate": (1e-3, 1.0)}
    makes = {"sgd": optax.sgd, "adam": optax.adam, "lion": optax.lion, "shampoo": shampoo}
    found: OptimiserComparison = compare_optimisers(
        loss, jnp.zeros((3, 4)), {name: (make, rates) for name, make in makes.items()}, trials=12
    )
    return found.figure().properties(**SIZE)


PICTURES = {
    "generalisation": capacities,
    "robustness": certified,
    "stability": lambda: alt.hconcat(parts_of_error(), spent()).resolve_scale(color="independent"),
    "optimisers": tuned,
}


if __name__ == "__main__":
    with jax.enable_x64(True):
        draw(PICTURES, sys.argv[1:])
