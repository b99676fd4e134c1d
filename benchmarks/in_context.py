"""Transformers in context: the structured pass, the dense pass, plain proximal gradient and a Lasso solver."""

import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from kernels import alternating
from lemmata.functions import GaussianBumps, draw_function
from lemmata.networks import InContextTransformer, construct_transformer, forward_steps, transformer, transformer_layers
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, proximal_gradient

FEATURES, EXAMPLES, ITERATIONS, PENALTY = 500, 500, 100, 1e-2
TOY = {"FEATURES": 6, "EXAMPLES": 12, "ITERATIONS": 2, "PENALTY": 0.1}


def problem(**more) -> tuple[InContextTransformer, jax.Array, jax.Array, jax.Array]:
    keys = jax.random.split(jax.random.key(0), 4)
    functions = GaussianBumps(2)
    x = jax.random.normal(keys[0], (EXAMPLES + 1, 2))
    x = x / jnp.linalg.norm(x, axis=1, keepdims=True) * jax.random.uniform(keys[1], (EXAMPLES + 1, 1)) ** 0.5
    y = draw_function(keys[2], functions)(x)[:-1] + 0.1 * jax.random.normal(keys[3], (EXAMPLES,))
    model = construct_transformer(
        functions, FEATURES, 2 * ITERATIONS + 1, examples=EXAMPLES, key=keys[0], penalty=PENALTY, **more
    )
    return model, x[:-1], y, x[-1:]


def passes() -> list[tuple[str, str, float]]:
    model, x, y, query = problem()
    features, asked = model.features(x), model.features(query)
    name, plain = f"structured pass, n=N={FEATURES}, {ITERATIONS} steps", "proximal gradient in JAX"
    runs = {
        name: lambda: forward_steps(model, features, y, asked, record=False),
        plain: lambda: proximal_gradient(features, y, model.penalty, model.step, ITERATIONS),
    }
    seconds = alternating(runs)
    rows = [(name, plain, seconds[name] / seconds[plain])]
    layers, tokens = transformer_layers(model), model.tokens(x, y, query[0])
    jax.block_until_ready(transformer(layers[:3], tokens))
    started = time.perf_counter()
    dense = jax.block_until_ready(transformer(layers, tokens)[-1])
    once = time.perf_counter() - started
    gap = float(jnp.abs(dense[-1, -1] - model(x, y, query)[0]))
    assert gap < 1e-5, gap  # rounding of size eps tau in the dense pass
    return [*rows, (name, f"dense pass, D={dense.shape[-1]}, equal to {gap:.0e}", seconds[name] / once)]


def lasso() -> list[tuple[str, str, float]]:
    model, x, y, _ = problem()
    features = model.features(x)
    table = np.asfortranarray(features)
    target = np.asarray(y)

    def solve() -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return Lasso(PENALTY / 2, fit_intercept=False, tol=1e-12, max_iter=10**5).fit(table, target).coef_

    best = float(lasso_objective(features, y, PENALTY, jnp.asarray(solve())))
    rows = []
    for name, solver in (("proximal gradient", proximal_gradient), ("FISTA", accelerated_proximal_gradient)):
        needed, count = None, 64
        while needed is None and count <= 2**18:
            found = lasso_objective(features, y, PENALTY, solver(features, y, PENALTY, model.step, count))
            reached = np.flatnonzero(np.asarray(found) - best <= 1e-6)
            needed, count = (int(reached[0]) if reached.size else None), 2 * count
        assert needed is not None, name
        kind = construct(model, needed, name == "FISTA")
        run = lambda kind=kind: forward_steps(kind, features, y, features[:1], record=False)
        what, peer = f"{name}, {2 * needed + 1} layers, to 1e-6", "scikit-learn's Lasso, tol 1e-12"
        seconds = alternating({what: run, peer: solve})
        rows.append((what, peer, seconds[what] / seconds[peer]))
    return rows


def construct(model: InContextTransformer, iterations: int, accelerated: bool) -> InContextTransformer:
    return InContextTransformer(
        model.features, model.penalty, model.step, model.temperature, 2 * iterations + 1, model.examples, accelerated
    )


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of peer), in float64."""
    with jax.enable_x64(True):
        return [*passes(), *lasso()]
