"""Block attention against dense causal attention of the same rows, forward and with derivatives, on this processor."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from kernels import alternating
from lemmata.subjects.attention import attended_pairs, block_attention

LENGTH, DIMENSION, COUNT, REPEATS = 4096, 64, 4, 3
BLOCKS = (128, 64, 32)
TOY = {"LENGTH": 16, "DIMENSION": 4, "COUNT": 2, "REPEATS": 1, "BLOCKS": (4,)}


def dense(q: Array, k: Array, v: Array) -> Array:
    """Causal softmax attention over all pairs."""
    scores = jnp.where(jnp.tri(len(q), dtype=bool), q @ k.T / q.shape[1] ** 0.5, -jnp.inf)
    return jax.nn.softmax(scores, axis=1) @ v


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of peer); the share of pairs stands in the words."""
    q, k, v = jax.random.normal(jax.random.key(0), (3, LENGTH, DIMENSION), jnp.float32)
    backward = lambda f: jax.grad(lambda *rows: jnp.sum(f(*rows) ** 2), argnums=(0, 1, 2))
    rows = []
    for kind, wrap in (("forward", lambda f: f), ("gradient", backward)):
        peer = f"dense causal, {kind}, n={LENGTH}, d={DIMENSION}"
        whole = jax.jit(wrap(dense))
        contenders = {peer: lambda run=whole: run(q, k, v)}
        for block in BLOCKS:
            share = attended_pairs(LENGTH, block, COUNT) / (LENGTH * (LENGTH + 1) / 2)
            compiled = jax.jit(wrap(lambda *rows, block=block: block_attention(*rows, block=block, count=COUNT)))
            name = f"{COUNT} blocks of {block}, {kind}, {share:.1%} of the pairs"
            contenders[name] = lambda run=compiled: run(q, k, v)
        seconds = alternating(contenders, REPEATS)
        rows += [(name, peer, seconds[name] / seconds[peer]) for name in contenders if name != peer]
    return rows
