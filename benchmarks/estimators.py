"""Kernel estimators beside scikit-learn's on the same rows, and beyond the rows that an exact solution takes.

Up to 10,000 rows of 20 columns, `KernelRegressor` with a ridge and with a chosen one, `TangentKernelRegressor` and
`NNGPRegressor` stand beside scikit-learn's `KernelRidge` (one ridge). Each fit runs in a process of its own, the peers
in turns, ours before and after theirs; seconds of the processor are those of `fit`, with compilation and without
imports, so that other work on the machine counts less. Beyond, `KernelRegressor` and `TangentKernelRegressor` solve on
centres, and there is no peer: seconds and memory are printed.

`python benchmarks/estimators.py [rows ...]` prints the table for these numbers of rows.
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np

COLUMNS, TEST, NOISE, TURNS = 20, 2000, 0.3, 3
SIZES, LARGE = (5_000, 10_000), (20_000, 200_000)
OURS = ("KernelRegressor", "KernelRegressor, ridge=None", "TangentKernelRegressor", "NNGPRegressor")
BEYOND = ("KernelRegressor", "KernelRegressor, ridge=None", "TangentKernelRegressor", "NNGPRegressor")
PEER = "KernelRidge"
TOY = {"SIZES": (40,), "TURNS": 1, "OURS": ("KernelRegressor",)}


def problem(rows: int) -> tuple[np.ndarray, ...]:
    """Training points and noisy values, test points and values without noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows + TEST, COLUMNS))
    f = np.sin(x[:, 0] + x[:, 1]) + np.abs(x[:, 2])
    return x[:rows], f[:rows] + NOISE * rng.normal(size=rows), x[rows:], f[rows:]


def estimator(name: str):
    """The estimator of a name; imports are not timed."""
    if name == PEER:
        from sklearn.kernel_ridge import KernelRidge

        return KernelRidge(alpha=1e-3, kernel="rbf", gamma=1 / COLUMNS)
    from lemmata import estimators

    kind, _, ridge = name.partition(", ")
    return getattr(estimators, kind)(**({"ridge": None} if ridge else {}))


def contend(name: str, rows: int) -> dict[str, float]:
    """Seconds of the processor and of the clock of a fit, error on test points, peak memory beyond that before it."""
    x, y, new, truth = problem(rows)
    model, before = estimator(name), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, used = time.perf_counter(), time.process_time()
    model.fit(x, y)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = float(np.mean((model.predict(new) - truth) ** 2))
    low, high = getattr(model, "price_", (0.0, 0.0))
    return {"processor": used, "seconds": seconds, "error": error, "low": low, "high": high,
            "peak": 1024 * peak, "beside": 1024 * (peak - before)}  # fmt: skip


def measured(name: str, rows: int) -> dict[str, float]:
    """What `contend` finds in a process of its own, printed."""
    command = [sys.executable, "-W", "ignore", __file__, "--fit", name, str(rows)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    print(
        f"{rows:>9} rows, {name:<30}{found['processor']:8.1f} s of the processor, {found['seconds']:7.1f} s, error "
        f"{found['error']:.4f} (price {found['low']:.1%} to {found['high']:.1%}), peak "
        f"{found['peak'] / 2**30:.2f} GiB, of the fit {found['beside'] / (8 * rows**2):.2f} matrices",
        flush=True,
    )
    return found


def main(sizes: tuple[int, ...] | None = None) -> list[tuple[str, str, float]]:
    """Rows (what, peer, ratio to the peer) of the median seconds of the processor, and of memory of the fit."""
    found = []
    for rows in SIZES if sizes is None else sizes:
        times = {name: [] for name in (*OURS, PEER)}
        for _ in range(TURNS):
            for name in (*OURS, PEER):
                times[name].append(measured(name, rows))
        median = lambda name, what, times=times: float(np.median([turn[what] for turn in times[name]]))
        for what in ("processor", "beside"):
            if not median(PEER, what):  # so few rows that a fit takes no memory of its own
                continue
            found += [(f"{name}, {rows} rows, {what}", PEER, median(name, what) / median(PEER, what)) for name in OURS]
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        print(json.dumps(contend(sys.argv[2], int(sys.argv[3]))))
    else:
        given = tuple(int(word) for word in sys.argv[1:])
        for number in given or LARGE:
            if number > max(SIZES):
                for which in BEYOND:
                    measured(which, number)
        for what, against, ratio in main(tuple(number for number in given or SIZES if number <= max(SIZES))):
            print(f"{what:<66}{against:<50}{ratio:>10.3g}")
