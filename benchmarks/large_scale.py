"""Regression on 200,000 rows at equal error: our solver on centres against scikit-learn's Nystroem and RBFSampler.

Ours is the direct solution (`subset_of_regressors`) on 375, 750 and 1,500 centres in float64. Nystroem makes features
of the same kernel from the same centres, for scikit-learn's Ridge with the same ridge: only time and memory differ.
RBFSampler has the most random features of these numbers that fit in 6 GiB; it stands beside our solution on the fewest
centres that reach its error.

Each fit runs in its own process, and the two sides take turns: `TURNS` of each, of which medians count.
`python benchmarks/large_scale.py [points]` prints plans, seconds of fit and prediction with compilation and without
imports, seconds of the processor, error and peak memory.
"""

import functools
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

POINTS, DIMENSIONS, TEST, LENGTHSCALE, NOISE, RIDGE = 200_000, 10, 10_000, 2.0, 0.3, 0.03
CENTRES, SAMPLES, OURS, TURNS = (375, 750, 1500), (375, 750, 1500, 3000), (94, 188, 375, 750, 1500), 3
MEMORY, WITHIN = 6 * 2**30, 1.01
# How far rounding may move the direct solution's fit, as a share of the targets: 1 % of the error at most.
TOLERANCE = 1e-4
SAMPLER = "RBFSampler"
TOY = {"POINTS": 500, "CENTRES": (20,), "SAMPLES": (20,), "OURS": (20,), "WITHIN": 1e9, "TURNS": 1, "SAMPLER": None}


class Fit(NamedTuple):
    """A method, and its centres or components."""

    method: str
    size: int

    def __str__(self) -> str:
        return f"{self.method} {self.size}"


def problem(points: int) -> tuple[np.ndarray, ...]:
    """Training points and noisy values, test points and values without noise; coordinate j has the scale j^-0.5."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(points + TEST, DIMENSIONS)) * np.arange(1, DIMENSIONS + 1) ** -0.5
    f = np.sin(2 * x[:, 0] + x[:, 1]) + np.abs(x[:, 2]) + x[:, 3] * x[:, 4] + np.cos(2 * x[:, 5] - x[:, 6])
    return x[:points], f[:points] + NOISE * rng.normal(size=points), x[points:], f[points:]


def our_predictions(fit: Fit, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predictions of the direct solution, whose plan goes to standard error."""
    import jax
    from sklearn.utils import check_random_state

    from lemmata.kernels import RBF
    from lemmata.solvers import subset_of_regressors

    jax.config.update("jax_enable_x64", True)
    centres = x[check_random_state(0).permutation(len(x))[: fit.size]]  # those of Nystroem
    found = subset_of_regressors(RBF(LENGTHSCALE), x, y - y.mean(), centres, RIDGE, tolerance=TOLERANCE)
    print(found.plan, file=sys.stderr)
    return np.asarray(found(new)) + y.mean()


def peer_predictions(fit: Fit, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predictions of a peer."""
    import sklearn.kernel_approximation
    from sklearn.linear_model import Ridge

    method = getattr(sklearn.kernel_approximation, fit.method)
    features = method(gamma=1 / (2 * LENGTHSCALE**2), n_components=fit.size, random_state=0).fit(x)
    ridge = Ridge(RIDGE, copy_X=False).fit(features.transform(x), y)
    return ridge.predict(features.transform(new))


def contend(fit: Fit, points: int) -> dict[str, float]:
    """Seconds, seconds of the processor, error on the test points, and peak memory of this process."""
    import sklearn.kernel_approximation
    import sklearn.linear_model  # noqa: F401

    *data, truth = problem(points)
    if fit.method == "direct":
        import lemmata.solvers  # noqa: F401
    start, used = time.perf_counter(), time.process_time()
    predictions = (our_predictions if fit.method == "direct" else peer_predictions)(fit, *data)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    error = float(np.mean((predictions - truth) ** 2))
    return {"seconds": seconds, "processor seconds": used, "error": error, "bytes": peak}


def once(fit: Fit, points: int) -> dict[str, float]:
    """What `contend` finds in a process of its own, printed."""
    command = [sys.executable, __file__, str(points), *map(str, fit)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    seconds, used, error, peak = found.values()
    print(
        f"{fit!s:20}{seconds:8.2f} s, {used:.2f} s of the processor, mean squared error {error:.5f}, "
        f"peak {peak / 2**30:.2f} GiB",
        flush=True,
    )
    return found


measured = functools.cache(once)


def compared(ours: Fit, peer: Fit, points: int) -> list[tuple[str, str, float]]:
    """Rows (what, peer, ratio to the peer) of the medians of all that is measured."""
    turns = [(once(ours, points), once(peer, points)) for _ in range(TURNS)]
    median = lambda side, what: statistics.median(turn[side][what] for turn in turns)
    return [(f"{ours}, {what}", str(peer), median(0, what) / median(1, what)) for what in turns[0][0]]


def sampled(points: int) -> tuple[Fit, Fit]:
    """Our solution on the fewest centres that come within 1 % of RBFSampler's error, and RBFSampler."""
    peer = Fit(SAMPLER, max(size for size in SAMPLES if 16 * points * size <= MEMORY))
    error = measured(peer, points)["error"]
    ours = (Fit("direct", size) for size in OURS)
    return next(fit for fit in ours if measured(fit, points)["error"] <= WITHIN * error), peer


def main(points: int | None = None) -> list[tuple[str, str, float]]:
    """Rows (what, peer, ratio to the peer) of seconds, of seconds of the processor, of errors and of peak memory."""
    points = points or POINTS
    print(f"{points} x {DIMENSIONS} points", flush=True)
    pairs = [(Fit("direct", size), Fit("Nystroem", size)) for size in CENTRES]
    rows = [row for pair in pairs for row in compared(*pair, points)]
    return rows + (compared(*sampled(points), points) if SAMPLER else [])


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else POINTS
    if len(sys.argv) > 2:
        print(json.dumps(contend(Fit(sys.argv[2], int(sys.argv[3])), number)))
    else:
        for what, against, ratio in main(number):
            print(f"{what:<50}{against:<45}{ratio:>10.3g}")
