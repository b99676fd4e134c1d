"""Train small networks of all families with one budget, and compare their ranking with that of the kernels."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from lemmata.options import ComparisonOptions
from lemmata.workflows.records.comparisons import FiniteResult

from ._measure import guessing
from ._mixers import BY_NAME
from ._networks import SETTINGS, network, points
from ._sequences import Sequences
from ._splits import Splits

PARAMETERS, STEPS, BATCH, CHECKS = 6_000, 600, 32, 40
RATES = (3e-3, 3e-2)
"""Two learning rates of Adam are tried. The rate with the smaller error on the rows for early stopping is used."""
STOPPING = 0.2


def train_families(
    data: Sequences,
    of: Splits,
    names: list[str],
    kernels: dict[str, float],
    options: ComparisonOptions,
    progress: Callable[[str, float, float], None],
    late: Callable[[], bool],
) -> list[FiniteResult]:
    """Train one network of each family on the training rows of the first split.

    Each network has the largest of the tried widths that gives at most 6,000 parameters. Steps, batches and learning
    rates are the same for all networks. The weights are fitted to four fifths of the training rows. The other fifth
    chooses the learning rate and the step at which training stops.

    Args:
        data: the sequences.
        of: the splits of the rows.
        names: the names of the families.
        kernels: the error of each family's kernel on the first split.
        options: how the networks are read out, and the seed.
        progress: a function that is called with the stage, the number of finished networks and the number of networks.
        late: a function that returns whether it is too late to begin another network.
    """
    found = []
    for place, name in enumerate(names):
        if late():
            break
        progress(f"Training a network: {BY_NAME[name].title}", place, len(names))
        found.append(_train(data, of, name, kernels[name], options))
    return found


def _sized(data: Sequences, name: str, options: ComparisonOptions) -> tuple[Any, Any, int]:
    """Return the network, its initial parameters and their number."""
    setting = SETTINGS[name][1][1]
    x = points(data)
    for width in (96, 64, 48, 40, 32, 24, 16, 8):
        own = network(name, setting, data, mean=options.read == "mean", width=width, wide=False,
                      outputs=data.y.shape[1])  # fmt: skip
        params, _ = own.init(jax.random.key(options.seed), x.shape[1:])
        count = sum(leaf.size for leaf in jax.tree.leaves(params))
        if count <= PARAMETERS or width == 8:
            return own, params, count
    raise AssertionError("the last width must be in use")


def _train(data: Sequences, of: Splits, name: str, kernel: float, options: ComparisonOptions) -> FiniteResult:
    begun = time.monotonic()
    own, start, count = _sized(data, name, options)
    # Train in single precision, as is usual for networks.
    x, y = jnp.asarray(points(data), jnp.float32), jnp.asarray(data.y, jnp.float32)
    start = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), start)
    rows, test = of.orders[0], of.tests[0]
    kept = max(int(STOPPING * len(rows)), 4)
    stopping, training = rows[:kept], rows[kept:]
    mean, scale = y[training].mean(axis=0), jnp.sqrt(jnp.mean(jnp.sum(y**2, axis=1)))

    def loss(params: Any, x: Any, y: Any) -> Any:
        outputs = mean + scale * jax.vmap(lambda row: own.apply(params, row))(x)
        return jnp.mean(jnp.sum((outputs - y) ** 2, axis=1))

    best, ended = np.inf, start
    for rate in RATES:
        steps = optax.adam(optax.cosine_decay_schedule(rate, STEPS))
        advance = _advance(steps, loss, x, y, jnp.asarray(training))
        params, state = start, steps.init(start)
        keys = jax.random.split(jax.random.key(options.seed + 1), CHECKS)
        judged = jax.jit(loss)
        for key in keys:
            params, state = advance(params, state, key)
            now = float(judged(params, x[stopping], y[stopping]))
            if now < best:
                best, ended = now, params
    error = float(loss(ended, x[test], y[test])) / float(guessing(data.y, of)[0].mean())
    return FiniteResult(name, error, kernel, int(count), STEPS * len(RATES), time.monotonic() - begun)


def _advance(steps: Any, loss: Any, x: Any, y: Any, training: Any) -> Any:
    """Return a compiled function that trains for STEPS / CHECKS steps on random batches of the training rows."""
    batch = min(BATCH, len(training))

    def one(carry: Any, key: Any) -> Any:
        params, state = carry
        rows = jax.random.choice(key, training, (batch,), replace=False)
        change, state = steps.update(jax.grad(loss)(params, x[rows], y[rows]), state, params)
        return (optax.apply_updates(params, change), state), None

    @jax.jit
    def stretch(params: Any, state: Any, key: Any) -> Any:
        return jax.lax.scan(one, (params, state), jax.random.split(key, STEPS // CHECKS))[0]

    return stretch
