"""Does a fitted scaling law continue learning curves better than the forecast of `lemmata study`, and where?

    python benchmarks/learning_curve_scaling.py [--lcdb FOLDER] [--every K] [--seed S]

Both are given the beginning of a curve up to a quarter of its largest size and asked for the error at the largest, with
a nominal 90 % interval. The curves are error rates and log-losses of the Learning Curve Database with even OpenML
numbers, one of so many, with all splits ("database") and as a study measures ("study"), and fresh power laws of 8 to 14
sizes, one or the sum of two ("laws"). `fit_scaling_law` sees sizes and means, the forecast their standard errors, too.

Cells are what a user knows beforehand: how many sizes, the residual noise of the law's fit, whether the runs of its
residuals speak against one law, whether its exponent is told, and whether its interval is the narrower one. Columns, of
the law and of the forecast: the median |ln(predicted/true)|, the share of truths in the interval, its median width, the
mean interval score (width plus 20 times the distance of a missed truth, in logarithms: the smaller the better). The
last says on which share of tables the law has the smaller mean score. Cells are to be chosen on the half "looked", the
tables that 4 divides, and believed on the other.
"""

import argparse

import numpy as np

import lemmata.subjects.forecasts._forecast as module
from learning_curve_data import MeasuredCurve, find_lcdb, read_lcdb
from learning_curve_fit import Example, standard
from learning_curves import studied
from lemmata.errors import LemmataError
from lemmata.subjects.scaling import fit_scaling_law

FACTOR, LEVEL, LEAST = 4, 0.9, 1e-9
CELLS = {
    "all": lambda row: True,
    "law not refuted": lambda row: row["broken"] >= 0.05,
    "and exponent told": lambda row: row["broken"] >= 0.05 and row["told"],
    "and 8 sizes or more": lambda row: row["broken"] >= 0.05 and row["told"] and row["sizes"] >= 8,
    **{
        f"and noise < {100 * most:g} %": lambda row, most=most: (
            row["broken"] >= 0.05 and row["told"] and row["sizes"] >= 8 and row["noise"] < most
        )
        for most in (0.02, 0.01, 0.005)
    },
    "narrower": lambda row: row["broken"] >= 0.05 and row["narrower"],
    "narrower and told": lambda row: row["broken"] >= 0.05 and row["narrower"] and row["told"],
}


def laws(count: int, seed: int) -> list[Example]:
    """Power laws with a floor, half of them with a second power law that is a tenth of the first at the last size."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        sizes = 50 * np.exp(np.linspace(0, random.uniform(3.4, 6.9), random.integers(8, 15)))
        alpha, floor = random.uniform(0.2, 0.8), random.uniform(0.0, 0.7)
        second = 0.1 * (number % 2)
        law = lambda n, a=alpha, f=floor, b=second, last=sizes[-1]: (
            f + (1 - f) * ((1 - b) * (n / last) ** -a + b * (n / last) ** (-a / 3))
        )
        noise = np.exp(random.uniform(np.log(1e-3), np.log(2e-2)))
        measured = law(sizes) * (1 + noise * random.normal(size=len(sizes)))
        target = FACTOR * sizes[-1:]
        parts = (sizes, measured, noise * law(sizes), np.nan, target, law(target))
        found.append(Example(4 * (number // 2) + 2 * (number // 2 % 2), f"law {number % 2 + 1}", FACTOR, *parts))
    return found


def row(example: Example) -> dict[str, float] | None:
    """What both say at the last target, in logarithms; None where the law's fit refuses."""
    target, truth = float(example.targets[-1]), float(example.truths[-1])
    if truth <= 0:
        return None
    try:
        law = fit_scaling_law(example.sizes, example.measured, level=LEVEL)
        said = law.extrapolate(target)
    except LemmataError:
        return None
    known = None if np.isnan(example.baseline) else example.baseline
    curve = module.forecast(example.sizes, example.measured, example.se, baseline=known).error(target, LEVEL)
    found = {
        "table": example.table, "sizes": len(example.sizes), "noise": law.noise, "broken": law.broken,
        "told": law.told["alpha"],
    }  # fmt: skip
    ends = {"law": (said.value, *said.interval), "study": (curve.value, curve.lower, curve.upper)}
    for name, triple in ends.items():
        middle, low, high = (np.log(np.clip(value, LEAST, 1 / LEAST)) - np.log(truth) for value in triple)
        missed = max(low, 0.0) + max(-high, 0.0)
        found |= {f"{name} off": abs(middle), f"{name} held": missed == 0.0, f"{name} width": high - low,
                  f"{name} score": high - low + 2 / (1 - LEVEL) * missed}  # fmt: skip
    return found | {"narrower": found["law width"] < found["study width"]}


def report(title: str, examples: list[Example]) -> None:
    """Print one line a cell and half of the tables."""
    rows = [found for found in map(row, examples) if found is not None]
    print(f"\n{title}: {len(examples)} beginnings, a law fitted to {len(rows)}")
    told(rows)


def told(rows: list[dict[str, float]]) -> None:
    """The lines of a report."""
    titles = "".join(f"{name:>17}" for name in ("off", "held", "width", "score", "law better"))
    print(f"{'cell':20} {'half':>6} {'curves':>6}{titles}")
    columns = {
        "off": (np.median, ".4f"),
        "held": (np.mean, ".1%"),
        "width": (np.median, ".3f"),
        "score": (np.mean, ".3f"),
    }
    for name, inside in CELLS.items():
        for half, rest in (("looked", 0), ("kept", 2)):
            chosen = [one for one in rows if inside(one) and int(one["table"]) % 4 == rest]
            if len(chosen) < 10:
                print(f"{name:20} {half:>6} {len(chosen):6}")
                continue
            of = {key: np.array([one[key] for one in chosen], float) for key in chosen[0]}
            gain = of["study score"] - of["law score"]
            better = np.mean([gain[of["table"] == table].mean() > 0 for table in np.unique(of["table"])])
            cells = ""
            for key, (how, form) in columns.items():
                pair = " / ".join(format(how(of[f"{who} {key}"]), form) for who in ("law", "study"))
                cells += f"{pair:>17}"
            print(f"{name:20} {half:>6} {len(chosen):6}{cells}{better:17.0%}")


def database(curves: list[MeasuredCurve], every: int) -> dict[str, list[Example]]:
    """Beginnings of every so many curves, with all splits and as a study measures."""
    some = curves[::every]
    ways = {"database": standard, "study": studied}
    made = {name: [how(curve, FACTOR) for curve in some] for name, how in ways.items()}
    return {name: [one for one in examples if one is not None] for name, examples in made.items()}


def command() -> None:
    """Read the arguments, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lcdb", help="folder of database-accuracy.csv and database-logloss.csv")
    parser.add_argument("--every", type=int, default=8, help="one curve of so many")
    parser.add_argument("--seed", type=int, default=0, help="of the power laws")
    given = parser.parse_args()
    report("laws", laws(200, given.seed))
    known = [curve for curve in read_lcdb(find_lcdb(given.lcdb)) if curve.loss != "1 - auc"]
    even = [curve for curve in known if int(curve.table) % 2 == 0]
    for name, examples in database(even, given.every).items():
        report(name, examples)


if __name__ == "__main__":
    command()
