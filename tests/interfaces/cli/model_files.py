"""A small trained model as files: a program, its weights, and rows."""

import numpy as np
import polars as pl
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression

D, C, N, M = 4, 3, 150, 120
PROGRAM = """
import jax.numpy as jnp

decay = 0.02


def build():
    return (lambda own, x: x @ own["w"] + own["b"]), {"w": jnp.zeros((4, 3)), "b": jnp.zeros(3)}
"""


def rows():
    """Three classes that overlap: training rows and held-out ones."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, C, N + M)
    x = 1.5 * rng.normal(size=(C, D))[y] + rng.normal(size=(N + M, D))
    return (x[:N], y[:N]), (x[N:], y[N:])


def table(x, y, path, /, **columns):
    """A CSV file of rows, further columns in the place of its own."""
    own = {f"x{i}": x[:, i] for i in range(x.shape[1])} | {"y": y} | columns
    pl.DataFrame(own).write_csv(path)
    return path


def write(folder):
    """net.py, net.safetensors, train.csv and held.csv."""
    train, held = rows()
    fitted = LogisticRegression(C=1 / (0.02 * N), tol=1e-8, max_iter=5000).fit(*train)
    save_file({"w": np.array(fitted.coef_.T, order="C"), "b": fitted.intercept_}, folder / "net.safetensors")
    (folder / "net.py").write_text(PROGRAM)
    table(*train, folder / "train.csv")
    table(*held, folder / "held.csv")
    return folder
