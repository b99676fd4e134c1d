"""A transformer of more than 1e8 parameters, with random weights, examined under a limit of time: seconds and memory.

    python benchmarks/large_model.py {torch,jax} {language,classes} [--limit 600] [--documents 32] [--layers 12] ...

Each combination is a process of its own, so that its peak of resident memory is its own. What it prints is what the
record says: which gauges spoke, and which were unaffordable at which price.
"""

import argparse
import math
import resource
import time
from typing import Any

import numpy as np


def torch_transformer(sizes: argparse.Namespace) -> Any:
    """`torch.nn.TransformerEncoder` with a causal mask; logits of tokens, or of classes from the mean over tokens."""
    import torch

    class Transformer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            width, outputs = sizes.width, sizes.vocabulary if sizes.kind == "language" else sizes.classes
            self.embedding = torch.nn.Embedding(sizes.vocabulary, width)
            self.place = torch.nn.Parameter(torch.randn(sizes.tokens, width) / 10)
            layer = torch.nn.TransformerEncoderLayer(
                width, sizes.heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.blocks = torch.nn.TransformerEncoder(layer, sizes.layers, enable_nested_tensor=False)
            self.readout = torch.nn.Linear(width, outputs)

        def forward(self, tokens: Any) -> Any:
            length = tokens.shape[1]
            mask = torch.nn.Transformer.generate_square_subsequent_mask(length, dtype=self.place.dtype)
            hidden = self.blocks(self.embedding(tokens) + self.place[:length], mask=mask)
            return self.readout(hidden if sizes.kind == "language" else hidden.mean(1))

    torch.manual_seed(0)
    return Transformer().eval()


def jax_transformer(sizes: argparse.Namespace) -> Any:
    """The same in JAX: (f, params), its layers stacked and scanned."""
    import jax
    import jax.numpy as jnp

    rng, width, layers = np.random.default_rng(0), sizes.width, sizes.layers
    outputs = sizes.vocabulary if sizes.kind == "language" else sizes.classes
    draw = lambda *shape: (rng.standard_normal(shape, np.float32) / np.float32(math.sqrt(shape[-2]))).astype(np.float32)
    params = {
        "embedding": draw(1, sizes.vocabulary, width)[0] * np.float32(math.sqrt(sizes.vocabulary)),
        "place": 0.1 * draw(1, sizes.tokens, width)[0],
        "blocks": {
            "attention": draw(layers, width, 3 * width), "out": draw(layers, width, width),
            "up": draw(layers, width, 4 * width), "down": draw(layers, 4 * width, width),
        },
        "readout": draw(1, width, outputs)[0],
    }  # fmt: skip

    def norm(h: Any) -> Any:
        return (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)

    def block(h: Any, own: Any) -> tuple[Any, None]:
        n, length, _ = h.shape
        heads = (norm(h) @ own["attention"]).reshape(n, length, 3, sizes.heads, -1)
        query, key, value = (heads[:, :, i] for i in range(3))
        scores = jnp.einsum("nqhd,nkhd->nhqk", query, key) / math.sqrt(width / sizes.heads)
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
        mixed = jnp.einsum("nhqk,nkhd->nqhd", jax.nn.softmax(scores), value).reshape(n, length, width)
        h = h + mixed @ own["out"]
        return h + jax.nn.gelu(norm(h) @ own["up"]) @ own["down"], None

    def f(own: Any, tokens: Any) -> Any:
        hidden = own["embedding"][tokens] + own["place"][: tokens.shape[1]]
        hidden = norm(jax.lax.scan(block, hidden, own["blocks"])[0])
        return (hidden if sizes.kind == "language" else hidden.mean(1)) @ own["readout"]

    return f, params


def main() -> None:
    """Build, examine, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("face", choices=("torch", "jax"))
    parser.add_argument("kind", choices=("language", "classes"))
    for name, value in (("layers", 12), ("width", 768), ("heads", 12), ("vocabulary", 32_000), ("tokens", 64),
                        ("documents", 32), ("held", 100), ("classes", 10)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--limit", type=float, default=600.0)
    sizes = parser.parse_args()
    import jax

    jax.config.update("jax_enable_x64", True)
    from lemmata.subjects.trained_models import read_trained
    from lemmata.workflows.examinations import run_examination

    begun = time.monotonic()
    rng = np.random.default_rng(1)
    x, held = (rng.integers(0, sizes.vocabulary, (n, sizes.tokens)) for n in (sizes.documents, sizes.held))
    y, y_held = (None if sizes.kind == "language" else rng.integers(0, sizes.classes, len(own)) for own in (x, held))
    model = (torch_transformer if sizes.face == "torch" else jax_transformer)(sizes)
    ready = time.monotonic()
    trained = read_trained(model, x, y, held=(held, y_held), labels=None if y is None else tuple(range(sizes.classes)))
    told = lambda stage, done, total: print(
        f"  at {time.monotonic() - ready:4.0f} s ({time.process_time():.0f} s of processor) {stage}", flush=True
    )
    record = run_examination(trained, time_limit=sizes.limit, progress=told, started=ready)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = f"{sizes.documents} + {sizes.held} rows of {sizes.tokens} tokens, {trained.model.batch} at once"
    print(f"{sizes.face} {sizes.kind}: {record.model.parameters:,} parameters, {rows}")
    seconds = f"built in {ready - begun:.0f} s, examined in {record.seconds:.0f} s"
    print(f"{seconds}, {time.process_time():.0f} s of processor in all, peak {peak:.2f} GiB")
    for check in record.preflight:
        print(f"  {check.name}: {check.found}" + ("" if check.holds else " (FAILS)"))
    for own in record.gauges:
        price = "" if own.price is None else f", priced {own.price:,.0f} s"
        print(f"  {own.status:12} {own.title}: {own.reason} [{own.seconds:.0f} s{price}]")
    print(f"  held out: {record.held_error}")


if __name__ == "__main__":
    main()
