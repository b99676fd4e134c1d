"""Three kinds of attention: outputs at the start by length, and small transformers on digits, pixel by pixel."""

import functools

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

from lemmata.subjects.attention import sigmoid_attention, softmax_attention
from lemmata.subjects.attention.sigmoids import StartedHead

KINDS = {
    "softmax": softmax_attention,
    "sigmoid, bias 0": functools.partial(sigmoid_attention, bias=0.0),
    "sigmoid, bias -log n": sigmoid_attention,
}
LENGTHS, WIDTH, HEADS, LAYERS, SEEDS = (16, 32, 64, 128, 256, 512, 1024), 32, 2, 2, 3
STEPS, EVERY, BATCH, RATE = 160, 20, 32, 3e-3


def at_start() -> list[dict]:
    """Root mean square outputs of heads with standard normal logits, means over 8 draws."""
    rows = []
    head = StartedHead(1.0, 64, 16)
    for n in LENGTHS:
        found = {kind: [] for kind in KINDS}
        for seed in range(8):
            logits, values = head.draw(jax.random.key(seed), n)
            mass = np.exp(logits)
            weights = (mass / mass.sum(axis=1, keepdims=True), mass / (1 + mass), mass / (n + mass))
            for kind, weight in zip(KINDS, weights, strict=True):
                found[kind].append(np.sqrt(np.mean((weight @ values) ** 2)))
        rows += [{"kind": kind, "n": n, "size": float(np.mean(sizes))} for kind, sizes in found.items()]
    return rows


def start(key: jax.Array) -> dict:
    """Weights of variance 1 / inputs."""
    shapes = {"place": (64, WIDTH), "pixel": (1, WIDTH), "out": (WIDTH, 10)}
    for layer in range(LAYERS):
        shapes |= {f"{name}{layer}": (WIDTH, WIDTH) for name in "qkvo"}
        shapes |= {f"up{layer}": (WIDTH, 2 * WIDTH), f"down{layer}": (2 * WIDTH, WIDTH)}
    keys = jax.random.split(key, len(shapes))
    each = zip(keys, shapes.items(), strict=True)
    return {name: jax.random.normal(own, shape, jnp.float32) / shape[0] ** 0.5 for own, (name, shape) in each}


def scores(params: dict, pixels: jax.Array, attend) -> jax.Array:
    """Scores of ten classes for one image: normalised tokens into heads and a hidden layer, each added, and a mean."""
    normal = lambda x: (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-5)
    x = pixels[:, None] @ params["pixel"] + 8 * params["place"]
    split = lambda y: y.reshape(64, HEADS, -1).swapaxes(0, 1)
    for layer in range(LAYERS):
        y = normal(x)
        heads = jax.vmap(attend)(*(split(y @ params[f"{name}{layer}"]) for name in "qkv"))
        x = x + heads.swapaxes(0, 1).reshape(64, WIDTH) @ params[f"o{layer}"]
        x = x + jax.nn.silu(normal(x) @ params[f"up{layer}"]) @ params[f"down{layer}"]
    return normal(x).mean(0) @ params["out"]


def curves(kind: str) -> list[dict]:
    """Loss on 400 images while the others are learned, for each seed."""
    table = load_digits()
    x, y = jnp.asarray(table.data / 8 - 1, jnp.float32), jnp.asarray(table.target)
    rule, attend = optax.adam(RATE), KINDS[kind]

    def losses(params: dict, rows: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = jax.vmap(lambda pixels: scores(params, pixels, attend))(x[rows])
        loss = optax.softmax_cross_entropy_with_integer_labels(found, y[rows]).mean()
        return loss, jnp.mean(found.argmax(1) == y[rows])

    def step(state: tuple, key: jax.Array) -> tuple:
        params, memory = state
        rows = jax.random.randint(key, (BATCH,), 400, len(x))
        update, memory = rule.update(jax.grad(lambda own: losses(own, rows)[0])(params), memory)
        return (optax.apply_updates(params, update), memory), None

    @jax.jit
    def train(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        params = start(key)

        def some(state: tuple, keys: jax.Array) -> tuple:
            return jax.lax.scan(step, state, keys)[0], losses(state[0], jnp.arange(400))

        keys = jax.random.split(key, STEPS // EVERY * EVERY).reshape(-1, EVERY)
        state, seen = jax.lax.scan(some, (params, rule.init(params)), keys)
        return tuple(
            jnp.append(before, last) for before, last in zip(seen, losses(state[0], jnp.arange(400)), strict=True)
        )

    rows = []
    for seed in range(SEEDS):
        loss, right = train(jax.random.key(seed))
        print(f"{kind:22} seed {seed}: loss {loss[0]:.2f} -> {loss[-1]:.3f}, right {right[-1]:.3f}")
        rows += [
            {"kind": kind, "run": f"{kind} {seed}", "step": at * EVERY, "loss": float(value)}
            for at, value in enumerate(loss)
        ]
    return rows


def picture() -> alt.HConcatChart:
    """Outputs at the start, and losses."""
    colour = alt.Color("kind:N", sort=list(KINDS), title=None, legend=alt.Legend(orient="top"))
    left = (
        alt.Chart(alt.Data(values=at_start()))
        .mark_line(point=True)
        .encode(
            alt.X("n:Q", title="tokens n", scale=alt.Scale(type="log", base=2)),
            alt.Y("size:Q", title="root mean square output at the start", scale=alt.Scale(type="log")),
            colour,
        )
    )
    rows = [row for kind in KINDS for row in curves(kind)]
    right = (
        alt.Chart(alt.Data(values=rows))
        .mark_line()
        .encode(
            alt.X("step:Q", title="steps of Adam"),
            alt.Y("loss:Q", title="loss on 400 digits not seen", scale=alt.Scale(type="log")),
            colour,
            alt.Detail("run:N"),
        )
    )
    return left.properties(width=300, height=240) | right.properties(width=300, height=240)
