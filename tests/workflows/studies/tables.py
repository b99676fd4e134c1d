"""Small tables for the tests of the study."""

import numpy as np

from lemmata.workflows.studies import load_dataset


def waves(rows=80, columns=3, noise=0.1, seed=0, **options):
    """A smooth function of one of the columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    return load_dataset((x, np.sin(x[:, 0]) + noise * rng.normal(size=rows)), **options)


def linear(rows=60, columns=3, scale=1.0, seed=0):
    """A target that is exactly linear in columns of very different units."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    return load_dataset((x * scale ** np.arange(columns) + 7.0, x @ np.arange(1.0, columns + 1.0) + 100.0))


def classes(rows=90, seed=0, apart=2.0):
    """Three classes of normal clouds."""
    rng = np.random.default_rng(seed)
    label = np.arange(rows) % 3
    x = rng.normal(size=(rows, 2)) + apart * np.stack([np.cos(2.1 * label), np.sin(2.1 * label)], axis=1)
    return load_dataset((x, np.array(["red", "green", "blue"])[label]))


def noise(rows=60, kind="number", seed=0):
    """A target that has nothing to do with the columns."""
    rng = np.random.default_rng([seed, 77])
    x = rng.normal(size=(rows, 4))
    y = rng.exponential(size=rows) if kind == "number" else rng.choice(["a", "b", "c"], rows)
    return load_dataset((x, y))
