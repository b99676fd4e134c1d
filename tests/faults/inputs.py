"""Small inputs of every command."""

import pathlib

import numpy as np

NET = """
import jax.numpy as jnp

decay = 0.02


def build():
    return (lambda own, x: x @ own["w"] + own["b"]), {"w": jnp.array([[1.0], [2.0]]), "b": jnp.zeros(1)}
"""
CLAIMS = '''
import jax
import numpy as np

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Source, Space


class Numbers(Population):
    """Numbers between 0 and 1."""

    def settings(self):
        return Space(n=Integer(4, 2, 9))

    def sample(self, setting, key):
        draw = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        return float(draw.uniform(size=setting["n"]).mean())

    def hypotheses(self, problem):
        return [Hypothesis("at most 1", problem, "<=", 1.0)]


class AbstractPower(Claim):
    title = "Squares"
    source = Source("euclid", "Lemma <1>", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Numbers()
    relation = AtMost()
    control = Control("a third of it", lambda value, problem: value / 3)
    trivial = "a number has no bound"
    controls = "a square"
    unexplained = "nothing"
    traced = False

    def predict(self, problem):
        return problem

    def measure(self, problem, key):
        return problem**2


class Square(AbstractPower):
    """The square of a number between 0 and 1 is at most the number."""


class Cube(AbstractPower):
    """The third root of a number between 0 and 1 is at most the number."""

    def measure(self, problem, key):
        return problem ** (1 / 3)
'''


def write_inputs(folder: pathlib.Path) -> None:
    """Tables, sequences, a model and claims; each has a few lines."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = x @ [1.0, 2.0] + 0.1 * rng.normal(size=40)
    _table(folder / "table.csv", a=x[:, 0], b=x[:, 1], y=y)
    np.savez(folder / "sequences.npz", x=rng.normal(size=(40, 4, 1)), y=y)
    sizes = np.array([1e6, 3e6, 1e7, 3e7, 1e8, 3e8])
    _table(folder / "scaling.csv", n=sizes, loss=2 + 400 * sizes**-0.35)
    scales = 10.0 ** np.arange(2, 9)
    _table(folder / "emergence.csv", scale=scales, accuracy=np.exp(-80 * scales**-0.3), items=np.full(7, 500))
    steps = np.arange(0, 2000, 50)
    late = 1 / (1 + np.exp(-(steps - 1200) / 100))
    _table(folder / "log.csv", step=steps, train_accuracy=np.minimum(1, steps / 200), validation_accuracy=late)
    (folder / "net.py").write_text(NET)
    (folder / "claim.py").write_text(CLAIMS)
    (folder / "kept").mkdir()


def _table(path: pathlib.Path, **columns: np.ndarray) -> None:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(f"{value:.6g}" for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
