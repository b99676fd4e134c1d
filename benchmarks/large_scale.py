"""Two solvers on 5,000 centres of 100,000 points against scikit-learn's Nystroem and Ridge: time, error, memory.

The direct solution (`subset_of_regressors`) and EigenPro take the same centres; the peer draws its own.
Each contender runs in its own process, one after the other, so that its peak memory is its own. Times are of fit and
prediction, compilation included, without imports. `python benchmarks/large_scale.py [points] [centres]`.
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np

POINTS, DIMENSIONS, CENTRES, TEST, LENGTHSCALE, NOISE, EPOCHS, RIDGE = 100_000, 50, 5_000, 10_000, 1.5, 0.3, 16, 0.03
PEER = "scikit-learn Nystroem + Ridge"
CONTENDERS = ("direct, float64", "direct, float32", "EigenPro, float64", "EigenPro, float32", PEER)


def problem(points: int) -> tuple[np.ndarray, ...]:
    """Training points and noisy values, test points and values without noise; coordinate j has the scale j^-0.75."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(points + TEST, DIMENSIONS)) * np.arange(1, DIMENSIONS + 1) ** -0.75
    f = np.sin(3 * x[:, 0]) + 2 * x[:, 1] * x[:, 2] + np.cos(3 * x[:, 3] + x[:, 0])
    return x[:points], f[:points] + NOISE * rng.normal(size=points), x[points:], f[points:]


def eigenpro_predictions(x: np.ndarray, y: np.ndarray, new: np.ndarray, centres: int, dtype: str) -> np.ndarray:
    """Predictions of EigenPro."""
    import jax
    import jax.numpy as jnp

    from lemmata.kernels import RBF
    from lemmata.solvers import eigenpro

    jax.config.update("jax_enable_x64", True)
    points, values = jnp.asarray(x, dtype), jnp.asarray(y, dtype)
    found = eigenpro(RBF(LENGTHSCALE), points, values, centres, jax.random.key(0), epochs=EPOCHS)
    return np.asarray(found(jnp.asarray(new, dtype)))


def direct_predictions(x: np.ndarray, y: np.ndarray, new: np.ndarray, centres: int, dtype: str) -> np.ndarray:
    """Predictions of the direct solution, with the peer's ridge."""
    import jax
    import jax.numpy as jnp

    from lemmata.kernels import RBF
    from lemmata.solvers import centred_regression

    jax.config.update("jax_enable_x64", True)
    points, values = jnp.asarray(x, dtype), jnp.asarray(y, dtype)
    found = centred_regression(RBF(LENGTHSCALE), points, values, centres, jax.random.key(0), ridge=RIDGE)
    return np.asarray(found(jnp.asarray(new, dtype)))


def peer_predictions(x: np.ndarray, y: np.ndarray, new: np.ndarray, centres: int) -> np.ndarray:
    """Predictions of the peer."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    features = Nystroem(gamma=1 / (2 * LENGTHSCALE**2), n_components=centres, random_state=0)
    return make_pipeline(features, Ridge(RIDGE)).fit(x, y).predict(new)


def contend(name: str, points: int, centres: int) -> dict[str, float]:
    """Seconds, error on the test points, and peak memory of this process."""
    x, y, new, truth = problem(points)
    if name == PEER:
        import sklearn.kernel_approximation
        import sklearn.linear_model  # noqa: F401
    else:
        import lemmata.solvers  # noqa: F401
    start = time.perf_counter()
    if name == PEER:
        predictions = peer_predictions(x, y, new, centres)
    else:
        solver = direct_predictions if name.startswith("direct") else eigenpro_predictions
        predictions = solver(x, y, new, centres, name.split()[-1])
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "error": float(np.mean((predictions - truth) ** 2)), "bytes": peak}


def main(points: int = POINTS, centres: int = CENTRES) -> list[tuple[str, str, float]]:
    """Rows (what, peer, ratio to the peer) of seconds, error and peak memory; the figures themselves are printed."""
    print(f"{points} x {DIMENSIONS} points, {centres} centres", flush=True)
    found = {}
    for name in CONTENDERS:
        command = [sys.executable, __file__, str(points), str(centres), name]
        found[name] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds, error, peak = found[name].values()
        print(f"{name:30}{seconds:8.1f} s, mean squared error {error:.5f}, peak {peak / 2**30:.2f} GiB", flush=True)
    peer = found.pop(PEER)
    return [(f"{name}, {what}", PEER, row[what] / peer[what]) for name, row in found.items() for what in row]


if __name__ == "__main__":
    sizes = [int(argument) for argument in sys.argv[1:3]]
    if len(sys.argv) > 3:
        print(json.dumps(contend(sys.argv[3], *sizes)))
    else:
        for what, against, ratio in main(*sizes):
            print(f"{what:<50}{against:<35}{ratio:>10.3g}")
