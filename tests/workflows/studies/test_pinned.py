"""Whole studies of small tables of every kind, by one cheap model, as they were: sentences, figures, final programs."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

import lemmata
from lemmata.interfaces.python import Study
from tests import pinned

NEAR = 2e-3
"""Of a number: other versions of NumPy and SciPy round otherwise, and some of the numbers are ends of searches."""
UNSTEADY = ("seconds", "created", "peak_gib", "lemmata", "command")


def drawn(rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=rows), rng.normal(size=rows)


def numbers():
    rng, a, b = drawn(60)
    return {"a": a, "b": b, "kind": rng.choice(["u", "v", "w"], 60), "y": a + np.abs(b) + 0.1 * rng.normal(size=60)}


def classes():
    rng, a, b = drawn(90, 1)
    kind = np.array(["left", "middle", "right"])[np.digitize(a + 0.3 * rng.normal(size=90), [-0.5, 0.5])]
    gaps = [None if number % 9 == 0 else value for number, value in enumerate(b.tolist())]
    return {"a": a, "gaps": gaps, "on": (b > 0).tolist(), "y": kind}


def grouped():
    rng, a, b = drawn(96, 2)
    person = np.repeat(np.arange(24), 4)
    return {"a": a, "b": b, "person": [f"p{each}" for each in person], "y": a + rng.normal(size=24)[person]}


def dated():
    rng, a, b = drawn(120, 3)
    days = np.arange("2024-01-01", "2024-04-30", dtype="datetime64[D]")
    season = np.sin(2 * np.pi * np.arange(120) / 7)
    return {"day": pl.Series(days), "a": a, "y": season + 0.1 * np.cumsum(b) + 0.1 * rng.normal(size=120)}


def rare():
    rng, a, b = drawn(150, 4)
    return {"a": a, "b": b, "y": np.where(a + 0.5 * rng.normal(size=150) > 1.3, "yes", "no")}


def noise():
    rng, a, b = drawn(60, 5)
    return {"a": a, "b": b, "y": rng.normal(size=60)}


def unlabelled():
    rng, a, b = drawn(60, 6)
    return {"a": a, "b": b, "y": rng.choice(["u", "v"], 60)}


def odd():
    """Columns that a study warns of: identifiers, codes, copies, constants, spellings, marks for missing, outliers."""
    rng, a, b = drawn(80, 7)
    a[3] = -999.0
    a[50:58] = -999.0
    y = b + 0.2 * rng.normal(size=80)
    y[5] = 60.0
    return {
        "id": np.arange(80), "name": [f"row {number}" for number in range(80)], "a": a, "b": b, "copy": b * 2 + 1,
        "zip_code": rng.integers(100, 130, 80), "same": ["x"] * 80, "long": [f"{value:.1f} km" for value in b],
        "spelt": rng.choice(["Yes", "yes", "no"], 80), "mark": [None] * 70 + [1.0] * 10,
        "month": rng.integers(1, 13, 80),
        "nearly": y + 1e-3 * rng.normal(size=80), "y": y,
    }  # fmt: skip


def repeated():
    rng, a, b = drawn(40, 8)
    y = a - b + 0.3 * rng.normal(size=40)
    return {"a": [*a, *a[:15]], "b": [*b, *b[:15]], "y": [*y, *y[:15]]}


def several():
    rng, a, b = drawn(60, 9)
    return np.stack([a, b], axis=1), np.stack([a + 0.1 * rng.normal(size=60), 10 * b + a * a], axis=1)


def counts():
    rng, a, b = drawn(80, 10)
    return {"a": a, "b": b, "y": rng.poisson(np.exp(0.5 + 0.7 * a))}


TABLES = {
    "numbers": (numbers, {"error": "rmse 0.5", "cost": 2.5}), "classes": (classes, {"error": "accuracy 0.95"}),
    "grouped": (grouped, {"group": "person"}), "dated": (dated, {"time": "day"}),
    "rare": (rare, {"metric": "f1"}), "log loss": (rare, {"metric": "neg_log_loss", "seed": 3}),
    "noise": (noise, {}), "unlabelled": (unlabelled, {}), "odd": (odd, {}), "repeated": (repeated, {}),
    "several": (several, {"metric": "mae"}),
    "counts": (counts, {"models": "poisson", "metric": "r2", "task": "regression"}),
    "dropped": (odd, {"drop_column": ("nearly", "copy"), "keep": ("id",), "drop_missing": False, "max_rows": 60}),
    "few": (lambda: {name: part[:22] for name, part in numbers().items()}, {}),
    "neighbours": (classes, {"models": "neighbours", "drop_missing": True}),
    "lasso": (numbers, {"models": "lasso", "metric": "median_absolute_error"}),
}  # fmt: skip


def studied(name):
    table, options = TABLES[name]
    made = table()
    given = pl.DataFrame(made, strict=False) if isinstance(made, dict) else made
    target = () if isinstance(made, tuple) else ("y",)
    return lemmata.study(given, *target, **{"models": "linear", "quick": True, **options})


def plain(value):
    """A record's values, numbers to five digits, without what another machine says otherwise."""
    if isinstance(value, dict) and {"alignment", "condition", "eigenvalues"} <= {*value}:
        rank = sum(own > 1e-9 * value["eigenvalues"][0] for own in value["eigenvalues"])
        # eigenvectors of the eigenvalue 0 are any basis of their space
        singular = {"condition": None} if rank < len(value["eigenvalues"]) else {}
        value = value | {own: value[own][:rank] for own in ("alignment", "eigenvalues")} | singular
    if isinstance(value, dict):
        return {name: plain(own) for name, own in value.items() if name not in UNSTEADY}
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    return float(f"{value:.5g}") if isinstance(value, float) and abs(value) > 1e-9 else value


@pytest.mark.parametrize("name", TABLES)
def test_a_study_is_as_it_was(name):
    found = studied(name)
    assert isinstance(found, Study)
    record = plain(dataclasses.asdict(found.record))
    text = json.dumps(record, ensure_ascii=False, sort_keys=True).replace("}, ", "},\n").replace('], "', '],\n"')
    pinned.check(__file__, name, f"{found}\n{text}", NEAR)
