"""Regression on 200,000 rows at equal error: two solvers on centres against scikit-learn's Nystroem and RBFSampler.

Ours: the direct solution on 1,500 centres (`subset_of_regressors`) in float64, and EigenPro on 3,000 in float32, which
`centred_regression` chooses where a direct solution's squares may take 256 MiB. The peers make features of the same
kernel for scikit-learn's Ridge, in the same precision. A peer's size is the first of 375, 750, 1500, 3000 whose test
error is within 1 % of ours, found by fits that are not timed against us; where none that fits in 6 GiB is, the largest
stands beside our direct solution on the fewest centres that reach the peer's error. Nystroem with 1,500 components
draws the centres of the direct solution, so that only time differs.

Each fit runs in its own process. `python benchmarks/large_scale.py [points]` prints plans, seconds of fit and
prediction with compilation and without imports, seconds of the processor, error and peak memory.
"""

import functools
import json
import resource
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

POINTS, DIMENSIONS, TEST, LENGTHSCALE, NOISE, RIDGE = 200_000, 10, 10_000, 2.0, 0.3, 0.03
CENTRES, MANY_CENTRES, WORKING_SET, EPOCHS = 1500, 3000, 2**28, 3
SIZES, MEMORY, WITHIN = (375, 750, 1500, 3000), 6 * 2**30, 1.01
OURS = (94, 188, 375, 750, 1500)
# How far rounding may move the direct solution's fit, as a share of the targets: 1 % of the error at most.
TOLERANCE = 1e-4
PEERS = ("Nystroem", "RBFSampler")
TOY = {
    "POINTS": 500, "CENTRES": 20, "MANY_CENTRES": 40, "SIZES": (20,), "OURS": (20,), "WITHIN": 1e9,
    "PEERS": ("Nystroem",),
}  # fmt: skip


class Fit(NamedTuple):
    """A method, its centres or components, and its precision."""

    method: str
    size: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.method} {self.size}, {self.dtype}"


def problem(points: int) -> tuple[np.ndarray, ...]:
    """Training points and noisy values, test points and values without noise; coordinate j has the scale j^-0.5."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(points + TEST, DIMENSIONS)) * np.arange(1, DIMENSIONS + 1) ** -0.5
    f = np.sin(2 * x[:, 0] + x[:, 1]) + np.abs(x[:, 2]) + x[:, 3] * x[:, 4] + np.cos(2 * x[:, 5] - x[:, 6])
    return x[:points], f[:points] + NOISE * rng.normal(size=points), x[points:], f[points:]


def our_predictions(fit: Fit, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predictions of a solver of lemmata; the plan goes to standard error."""
    import jax
    import jax.numpy as jnp
    from sklearn.utils import check_random_state

    from lemmata.kernels import RBF
    from lemmata.solvers import centred_regression, subset_of_regressors

    jax.config.update("jax_enable_x64", True)
    mean, kernel, points = y.mean(), RBF(LENGTHSCALE), jnp.asarray(x)
    values = jnp.asarray(y - mean.astype(y.dtype))
    if fit.method == "direct":
        centres = points[check_random_state(0).permutation(len(x))[: fit.size]]  # those of Nystroem
        found = subset_of_regressors(kernel, points, values, centres, RIDGE, tolerance=TOLERANCE)
        print(found.plan, file=sys.stderr)
    else:
        key = jax.random.key(0)
        found = centred_regression(kernel, points, values, fit.size, key, epochs=EPOCHS, working_set=WORKING_SET)
        print(found.plan, file=sys.stderr)
    return np.asarray(found(jnp.asarray(new))) + mean


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
    *data, truth = (part.astype(fit.dtype) for part in problem(points))
    if fit.method in PEERS:
        import sklearn.kernel_approximation
        import sklearn.linear_model  # noqa: F401
    else:
        import lemmata.solvers  # noqa: F401
    start, used = time.perf_counter(), time.process_time()
    predictions = (peer_predictions if fit.method in PEERS else our_predictions)(fit, *data)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    error = float(np.mean((predictions.astype(float) - truth) ** 2))
    return {"seconds": seconds, "processor seconds": used, "error": error, "bytes": peak}


@functools.cache
def measured(fit: Fit, points: int) -> dict[str, float]:
    """What `contend` finds in a process of its own, printed."""
    command = [sys.executable, __file__, str(points), *map(str, fit)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    seconds, used, error, peak = found.values()
    print(
        f"{fit!s:30}{seconds:8.1f} s, {used:.1f} s of the processor, mean squared error {error:.5f}, "
        f"peak {peak / 2**30:.2f} GiB",
        flush=True,
    )
    return found


def equal(peer: str, dtype: str, error: float, points: int) -> tuple[Fit, bool]:
    """The smallest fit of a peer that comes within 1 % of an error, or the largest that fits; whether it does."""
    fits = [Fit(peer, size, dtype) for size in SIZES if 2 * points * size * np.dtype(dtype).itemsize <= MEMORY]
    for fit in fits:
        if measured(fit, points)["error"] <= WITHIN * error:
            return fit, True
    return fits[-1], False


def ours_at(error: float, dtype: str, points: int) -> Fit:
    """The direct solution on the fewest centres that comes within 1 % of an error."""
    fits = [Fit("direct", size, dtype) for size in OURS]
    return next(fit for fit in fits if measured(fit, points)["error"] <= WITHIN * error)


def main(points: int | None = None) -> list[tuple[str, str, float]]:
    """Rows (what, peer, ratio to the peer) of seconds, of seconds of the processor, and of errors."""
    points = points or POINTS
    print(f"{points} x {DIMENSIONS} points", flush=True)
    rows = []
    for fit in (Fit("direct", CENTRES, "float64"), Fit("EigenPro", MANY_CENTRES, "float32")):
        for name in PEERS:
            peer, reached = equal(name, fit.dtype, measured(fit, points)["error"], points)
            other = measured(peer, points)
            ours = fit if reached else ours_at(other["error"], fit.dtype, points)
            wanted, own = ("seconds", "processor seconds", "error"), measured(ours, points)
            rows += [(f"{ours}, {what}", str(peer), own[what] / other[what]) for what in wanted]
    return rows


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else POINTS
    if len(sys.argv) > 2:
        print(json.dumps(contend(Fit(sys.argv[2], int(sys.argv[3]), sys.argv[4]), number)))
    else:
        for what, against, ratio in main(number):
            print(f"{what:<50}{against:<45}{ratio:>10.3g}")
