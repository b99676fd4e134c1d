"""How long it takes to examine a network of digits, without refits, and to find the sharpness of a million parameters.

    python benchmarks/examine_digits.py [300 600 1500] [sharpness] [--limit SECONDS]

Each network is trained by Adam in PyTorch and examined as `lemmata model` would; seconds of the processor stand beside
those of the clock, and the dearest gauges below. The sharpness to one per cent stands beside that to a millionth.
"""

import argparse
import time

HIDDEN = {300: (128, 64), 600: (192, 192), 1500: (256, 312)}
DECAY = 1e-3
STEPS = 600


def network(rows: int):
    """Rows of digits, the others, and a network of 17,226, 51,466 or 99,954 parameters trained on the first."""
    import numpy as np
    import torch
    from sklearn.datasets import load_digits

    digits, classes = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    x, y = (digits / 16).astype(np.float32)[order], classes[order]
    torch.manual_seed(0)
    first, second = HIDDEN[rows]
    model = torch.nn.Sequential(
        torch.nn.Linear(64, first), torch.nn.ReLU(), torch.nn.Linear(first, second), torch.nn.ReLU(),
        torch.nn.Linear(second, 10),
    )  # fmt: skip
    descent = torch.optim.Adam(model.parameters(), 3e-3)
    shrinking = torch.optim.lr_scheduler.CosineAnnealingLR(descent, STEPS)
    images, labels = torch.tensor(x[:rows]), torch.tensor(y[:rows])
    for _ in range(STEPS):
        descent.zero_grad()
        square = sum((own**2).sum() for own in model.parameters())
        (torch.nn.functional.cross_entropy(model(images), labels) + DECAY / 2 * square).backward()
        descent.step()
        shrinking.step()
    return model, (x[:rows], y[:rows]), (x[rows:], y[rows:])


def examine(rows: int, limit: float | None) -> None:
    """Train, examine, print."""
    from lemmata.subjects.trained_models import read_trained
    from lemmata.workflows.examinations import run_examination

    model, train, held = network(rows)
    clock, processor = time.perf_counter(), time.process_time()
    trained = read_trained(model, *train, held=held, decay=DECAY)
    record = run_examination(trained, time_limit=limit)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    sizes = f"{record.model.parameters:,} parameters, {rows} rows"
    print(f"{sizes}: {clock:.1f} s by the clock, {processor:.1f} s of the processor")
    for own in sorted(record.gauges, key=lambda own: -own.seconds)[:8]:
        print(f"  {own.seconds:6.1f} s, priced {own.price or 0:6.1f} s, {own.status:12} {own.title}")
    for own in record.gauges:
        if own.status in ("unaffordable", "failed"):
            print(f"  {own.status}: {own.title}: {own.reason}")


def sharpness() -> None:
    """The largest eigenvalue of the Hessian of a million parameters on 1024 rows, to one per cent."""
    import numpy as np
    import torch

    from lemmata.subjects.trained_models import largest_eigenvalue, read_model

    torch.manual_seed(0)
    layers = [torch.nn.Linear(a, b) for a, b in ((144, 768), (768, 768), (768, 384), (384, 10))]
    model = torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.Tanh())][:-1])
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1024, 144)).astype(np.float32), np.eye(10)[rng.integers(0, 10, 1024)]
    own = read_model(model)
    for name, used, tolerance in (("to 1 %", own, 1e-2), ("to 1e-6", own.in_double(), 1e-6)):
        clock, processor = time.perf_counter(), time.process_time()
        start = rng.normal(size=len(own.theta)).astype(used.theta.dtype)
        value, products = largest_eigenvalue(lambda v, used=used: used.hvp(v, x, y, "softmax") / 1024, start, tolerance)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        print(f"sharpness of {len(own.theta):,} parameters {name}: {value:.7g} with {products} products, "
              f"{clock:.1f} s by the clock, {processor:.1f} s of the processor")  # fmt: skip


def main() -> None:
    """What is named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["300", "600", "1500", "sharpness"])
    parser.add_argument("--limit", type=float, default=None)
    told = parser.parse_args()
    import jax

    jax.config.update("jax_enable_x64", True)
    for what in told.what:
        sharpness() if what == "sharpness" else examine(int(what), told.limit)


if __name__ == "__main__":
    main()
