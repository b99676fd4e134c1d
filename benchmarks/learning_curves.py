"""How well forecasts continue measured learning curves, beside the usual parametric families.

    python benchmarks/learning_curves.py [--lcdb FOLDER] [--tables FILE] [--fit] [--no-rivals]

On the Learning Curve Database (`pip install --no-deps lcdb`, or the folder of its database-*.csv): all anchors up to
1/2, 1/4 and 1/8 of the largest are given, the largest is predicted. The prior was developed on the tables with odd
OpenML numbers; those with even numbers are only reported. "study" is the same with 8 of the splits and every second
anchor within a factor of 25. On real tables: the file that `learning_curve_tables` writes.

Columns: the share of truths in the nominal 90 % interval (the truth is a mean over splits, with an error of its own
that is not allowed for), the shares below and above it, the median upper / lower, the median |ln predicted / true| (of
truths that are not 0), and the same of the rivals on the same curves. The
rivals are fitted for every sixth curve of the database, and for all of the real tables. `--fit` learns the prior anew
and writes it.
"""

import argparse
import json
import pathlib

import numpy as np

import lemmata.subjects.forecasts._forecast as module
from learning_curve_data import find_lcdb, read_lcdb, read_tables
from learning_curve_fit import FACTORS, Example, fit, standard
from learning_curve_rivals import RIVALS

PRIOR = pathlib.Path(module.__file__).with_name("learning_curve_prior.json")
LEAST = 1e-9


def studied(curve, factor: int) -> Example | None:
    """As a study measures: 8 splits, every second anchor of a factor of 25 up to 1 / factor of the largest."""
    kept = np.flatnonzero(curve.sizes <= curve.sizes[-1] / factor * 1.0001)
    if len(kept) < 4:
        return None
    kept = kept[curve.sizes[kept] >= curve.sizes[kept[-1]] / 25][::-1][::2][::-1]
    splits = np.random.default_rng(int(curve.sizes[-1])).permutation(curve.losses.shape[1])[:8]
    sizes, measured, se = curve.measured(kept, splits)
    if len(sizes) < 3:
        return None
    parts = (sizes, measured, se, curve.baseline, curve.sizes[-1:], curve.truth[-1:])
    return Example(curve.table, curve.loss, factor, *parts)


def eight(curve, factor: int) -> Example | None:
    """The first 8 splits up to 1 / factor of the largest size; the truth is the mean over all splits there."""
    kept = np.flatnonzero(curve.sizes <= curve.sizes[-1] / factor * 1.01)
    if len(kept) < 3:
        return None
    sizes, measured, se = curve.measured(kept, np.arange(8))
    if len(sizes) < 3:
        return None
    parts = (sizes, measured, se, curve.baseline, curve.sizes[-1:], curve.truth[-1:])
    return Example(curve.table, curve.loss, factor, *parts)


def row(example: Example, rivals: bool) -> dict[str, float]:
    """Forecast and rivals at the last target of one example."""
    known = None if np.isnan(example.baseline) else example.baseline
    target, truth = float(example.targets[-1]), float(example.truths[-1])
    found = module.forecast(example.sizes, example.measured, example.se, baseline=known).error(target)
    off = lambda value: abs(np.log(max(value, LEAST) / truth)) if truth > 0 else np.nan
    values = {
        "below": truth < found.lower,
        "above": truth > found.upper,
        "width": max(found.upper, LEAST) / max(found.lower, LEAST),
        "forecast": off(found.value),
    }
    if rivals:
        values |= {name: off(rival(example.sizes, example.measured, target)) for name, rival in RIVALS.items()}
    return values


def report(title: str, found: list[Example | None], rivals: bool) -> None:
    """Print one line a loss and factor."""
    examples = [example for example in found if example is not None]
    names = ["forecast", *RIVALS] if rivals else ["forecast"]
    tables = len({example.table for example in examples})
    print(f"\n{title}: {len(examples)} beginnings of curves, {tables} tables")
    print(f"{'loss':14} {'x':>2} {'curves':>6} {'covered':>8} {'below':>6} {'above':>6} {'width':>6}", end=" ")
    print(" ".join(f"{name:>10}" for name in names))
    rows = [row(example, rivals) for example in examples]
    losses = sorted({example.loss for example in examples})
    for loss in [*losses, *(["all"] if len(losses) > 1 else [])]:
        for factor in FACTORS:
            chosen = [
                values
                for values, example in zip(rows, examples, strict=True)
                if example.factor == factor and loss in (example.loss, "all")
            ]
            if not chosen:
                continue
            of = {name: np.array([values[name] for values in chosen], float) for name in chosen[0]}
            below, above = of["below"].mean(), of["above"].mean()
            print(f"{loss:14} {factor:2} {len(chosen):6} {1 - below - above:8.1%} {below:6.1%} {above:6.1%}", end=" ")
            print(f"{np.median(of['width']):6.2f}", " ".join(f"{np.nanmedian(of[name]):10.4f}" for name in names))


def command() -> None:
    """Read the arguments, learn the prior anew where asked, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lcdb", help="folder of database-accuracy.csv and database-logloss.csv")
    parser.add_argument("--tables", help="file written by learning_curve_tables.py")
    parser.add_argument("--fit", action="store_true", help="learn the prior anew from the odd tables")
    parser.add_argument("--no-rivals", action="store_true", help="leave out the parametric families")
    given = parser.parse_args()
    curves = read_lcdb(find_lcdb(given.lcdb))
    odd, even = ([curve for curve in curves if curve.table % 2 == part] for part in (1, 0))
    if given.fit:
        PRIOR.write_text(json.dumps(fit(odd), separators=(",", ":")) + "\n")
        module.prior.cache_clear()
    rivals = not given.no_rivals
    every = lambda how, some: [how(curve, factor) for curve in some for factor in FACTORS]
    report("even tables, reported", every(standard, even), False)
    if rivals:
        report("even tables, every sixth curve, beside the families", every(standard, even[::6]), True)
    report("even tables, as a study measures", every(studied, even), False)
    report("odd tables, developed on", every(standard, odd), False)
    if given.tables:
        report("real tables, 8 splits", every(eight, read_tables(pathlib.Path(given.tables))), rivals)


if __name__ == "__main__":
    command()
