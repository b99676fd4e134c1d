"""Scores of sixty cells before training beside their accuracies after adversarial training, on digits."""

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

from lemmata.subjects.adversaries import cell_grid, rank_correlation, run_cells

RADIUS, ROWS, NEW, STEPS = 0.1, 96, 300, 40
COLOURS = ("#4c78c8", "#c2508c")
NAMES = {
    "clean": "K", "robust": "K of attacked rows", "clean_mixed": "mixed", "robust_mixed": "mixed, attacked rows",
}  # fmt: skip


def tables(seeds=(0, 1), beta=0.5):
    """Means over draws of the weights: accuracies, energies, smallest eigenvalues, parameters."""
    jax.config.update("jax_enable_x64", True)
    table = load_digits()
    order = np.random.default_rng(0).permutation(len(table.target))
    x, y = jnp.asarray(table.data[order] / 16 - 0.5), jnp.asarray(table.target[order])
    rows = (x[:ROWS], y[:ROWS], x[ROWS : ROWS + NEW], y[ROWS : ROWS + NEW])
    settings = {"radius": RADIUS, "beta": beta, "steps": STEPS, "attack_steps": 3, "scored": 48}
    runs = [run_cells(cell_grid(), *rows, jax.random.key(seed), **settings) for seed in seeds]
    return jax.tree.map(lambda *leaves: np.mean(leaves, axis=0), *runs)


def scores(found) -> dict[str, np.ndarray]:
    """Every score, larger where more is promised."""
    energy = {f"energy, {NAMES[name]}": -np.minimum(values, 1e6) for name, values in found.energy.items()}
    smallest = {f"eigenvalue, {NAMES[name]}": values for name, values in found.smallest.items()}
    return energy | smallest | {"parameters": found.parameters}


def picture() -> alt.Chart:
    """Rank correlations with their intervals."""
    found, standard = tables(), tables(seeds=(0,), beta=0.0)
    print("singular:", {name: int(np.isinf(values).sum()) for name, values in found.energy.items()})
    results = {"clean accuracy": found.clean_accuracy, "robust accuracy": found.robust_accuracy}
    rows = []
    for name, score in scores(found).items():
        for result, values in results.items():
            own = rank_correlation(score, values)
            rows.append({"score": name, "result": result, "value": own.value, "low": own.low, "high": own.high})
            print(f"{name:36s} {result:16s} {own.value:6.2f} [{own.low:5.2f}, {own.high:5.2f}]")
    robust = found.robust_accuracy
    for other in ("energy, K", "parameters"):
        for name in scores(found):
            if name != other:
                gain = rank_correlation(scores(found)[name], robust, scores(found)[other])
                print(f"{name:36s} beyond {other:12s} {gain.value:6.2f} [{gain.low:5.2f}, {gain.high:5.2f}]")
    print("clean", np.quantile(found.clean_accuracy, [0, 0.5, 1]), "robust", np.quantile(robust, [0, 0.5, 1]))
    for pair in ("clean_accuracy", "robust_accuracy"):
        print("standard against adversarial,", pair, rank_correlation(getattr(standard, pair), getattr(found, pair)))
    print("clean with robust", rank_correlation(found.clean_accuracy, robust))
    base = alt.Chart(alt.Data(values=rows)).encode(
        alt.Y("score:N", sort=list(scores(found)), title="score before training (negative energy)"),
        alt.Color("result:N", title="after training", scale=alt.Scale(range=list(COLOURS))),
        alt.YOffset("result:N"),
    )
    across = alt.X("low:Q", title="rank correlation over 60 cells, 95 % interval", scale=alt.Scale(domain=[-1, 1]))
    bars = base.mark_rule(strokeWidth=2).encode(across, alt.X2("high:Q"))
    dots = base.mark_point(filled=True, size=50).encode(alt.X("value:Q"))
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color="#888", strokeDash=[4, 3]).encode(x="zero:Q")
    return (zero + bars + dots).properties(width=420, height=330)
