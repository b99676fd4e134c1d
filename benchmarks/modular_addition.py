"""Trains a network of quadratic units on addition modulo 31 with three weight decays, and writes its training log.

    python benchmarks/modular_addition.py tests/subjects/grokking/modular_addition.csv

The network sees half of all pairs in full batches. AdamW decouples the weight decay from the gradient. The log has the
training and the validation accuracy at about 40 steps a decade.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

PRIME, WIDTH, STEPS, RATE, SCALE, SHARE = 31, 128, 20_000, 1e-3, 1.0, 0.5
DECAYS = (0.5, 1.0, 2.0)


def log_of(decay: float, seed: int = 0) -> list[tuple[float, int, float, float]]:
    """Weight decay, step, training accuracy and validation accuracy at each logged step."""
    a, b = np.divmod(np.arange(PRIME**2), PRIME)
    order = np.random.default_rng(seed).permutation(PRIME**2)
    parts = np.split(order, [int(SHARE * PRIME**2)])
    first, second, last = jax.random.split(jax.random.key(seed), 3)
    draw = lambda key, shape: SCALE * jax.random.normal(key, shape) / jnp.sqrt(shape[0])
    params = (draw(first, (PRIME, WIDTH)), draw(second, (PRIME, WIDTH)), draw(last, (WIDTH, PRIME)))
    outputs = lambda own, rows: (own[0][a[rows]] + own[1][b[rows]]) ** 2 @ own[2]
    right = (a + b) % PRIME
    loss = lambda own: optax.softmax_cross_entropy_with_integer_labels(outputs(own, parts[0]), right[parts[0]]).mean()
    descent = optax.adamw(RATE, b2=0.98, weight_decay=decay)

    @jax.jit
    def advance(own, state):
        updates, state = descent.update(jax.grad(loss)(own), state, own)
        return optax.apply_updates(own, updates), state

    accuracy = jax.jit(lambda own: [jnp.mean(outputs(own, rows).argmax(axis=1) == right[rows]) for rows in parts])
    logged = set(np.unique(np.geomspace(1, STEPS, 170).astype(int)).tolist())
    state, rows = descent.init(params), []
    for step in range(1, STEPS + 1):
        params, state = advance(params, state)
        if step in logged:
            rows.append((decay, step, *map(float, accuracy(params))))
    return rows


if __name__ == "__main__":
    lines = [f"{decay:g},{step},{train:.4f},{test:.4f}" for own in DECAYS for decay, step, train, test in log_of(own)]
    Path(sys.argv[1]).write_text("weight_decay,step,train_accuracy,validation_accuracy\n" + "\n".join(lines) + "\n")
