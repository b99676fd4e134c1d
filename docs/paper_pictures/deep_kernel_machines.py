"""Wide processes on their way to a machine's optimum, and digits by machines of any stiffness beside kernel methods."""

import math

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

from lemmata.estimators import DeepKernelMachineClassifier
from lemmata.subjects.machines import deep_kernel_machine, rectify
from lemmata.subjects.machines.wide_processes import TwoRowProcesses, at_width

SPLITS, TRAINED, INDUCING = 4, 400, 32
NU = {"0": 0.0, "0.1": 0.1, "1": 1.0, "10": 10.0, "100": 100.0, "inf": math.inf}
WIDTHS = (8, 16, 32, 64, 128, 256)
TWICE = "labels seen N times, to the machine's optimum"
ONCE = "labels seen once, to the prior's"


def processes() -> list[dict]:
    """Distances of posterior means of Gram matrices, for one draw of two rows."""
    population = TwoRowProcesses()
    problem = population.sample(population.settings().resolve(None), jax.random.key(1))
    best = deep_kernel_machine(problem.gram_0, problem.y, nu=float(problem.nu), noise=float(problem.noise)).grams[0]
    ends = {TWICE: np.asarray(best), ONCE: np.asarray(problem.prior)}
    rows = []
    for n in WIDTHS:
        for name, end in ends.items():
            mean = at_width(problem, n if name == TWICE else 1.0, n).mean
            rows.append({"N": n, "process": name, "distance": np.linalg.norm(mean - end[[0, 0, 1], [0, 1, 1]])})
    return rows


def ridge(x: np.ndarray, classes: np.ndarray, layers: int, noise: float) -> float:
    """Accuracy of kernel ridge regression on all rows, with the kernel of the machine at nu = infinity."""
    x = (x - x[:TRAINED].mean(axis=0)) / np.sqrt(np.mean((x[:TRAINED] - x[:TRAINED].mean(axis=0)) ** 2))
    gram = jnp.asarray(x @ x.T / x.shape[1] + 1)
    for _ in range(layers + 1):
        own = jnp.diagonal(gram)
        gram = rectify(gram, own[:, None], own[None, :])
    known = np.asarray(gram[:TRAINED, :TRAINED]) + noise * np.eye(TRAINED)
    y = (np.eye(10)[classes[:TRAINED]] - 0.1) / 0.3
    found = np.asarray(gram[TRAINED:, :TRAINED]) @ np.linalg.solve(known, y)
    return float(np.mean(found.argmax(axis=1) == classes[TRAINED:]))


def digits() -> list[dict]:
    """Accuracy on rows that are not in training, by nu and split."""
    x, classes = map(np.asarray, load_digits(return_X_y=True))
    rows = []
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(x))
        x_own, own = x[order], classes[order]
        full = 100 * ridge(x_own, own, 1, 0.03)
        for name, nu in NU.items():
            model = DeepKernelMachineClassifier(1, nu, INDUCING, 200, random_state=split)
            model.fit(x_own[:TRAINED], own[:TRAINED])
            score = 100 * model.score(x_own[TRAINED:], own[TRAINED:])
            rows.append({"nu": name, "split": split, "accuracy": score, "all rows": full})
            print(f"split {split} nu {name}: {score:.1f}, all rows {full:.1f}", flush=True)
    return rows


def picture() -> alt.HConcatChart:
    """Two panels."""
    jax.config.update("jax_enable_x64", True)
    left = alt.Chart(alt.Data(values=processes())).mark_line(point=True).encode(
        alt.X("N:Q", scale=alt.Scale(type="log", base=2), title="N, width in units of nu"),
        alt.Y("distance:Q", scale=alt.Scale(type="log"), title="distance of the mean Gram matrix"),
        alt.Color("process:N", title=None, legend=alt.Legend(orient="bottom", direction="vertical", labelLimit=300)),
    )  # fmt: skip
    frame = alt.Chart(alt.Data(values=digits()))
    y = alt.Y("accuracy:Q", scale=alt.Scale(zero=False), title="accuracy on other digits (%)")
    x = alt.X("nu:N", sort=list(NU), title="nu, 32 inducing points")
    dots = frame.mark_point(filled=True, size=50).encode(x, y)
    mean = frame.mark_line().encode(x, alt.Y("mean(accuracy):Q"))
    all_rows = frame.mark_rule(color="#888", strokeDash=[4, 3]).encode(alt.Y("mean(all rows):Q"))
    return alt.hconcat(
        left.properties(width=270, height=220), (all_rows + mean + dots).properties(width=270, height=220)
    )
