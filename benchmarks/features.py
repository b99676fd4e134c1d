"""Coherence and readable features of a large dictionary beside a matrix of all pairs; patching of a small transformer.

Prints seconds and the peak memory of `readable` on 16,384 directions in 768 dimensions, of a naive twin that holds all
inner products, and the seconds of `patching_report` with 10 sites, which is all 1,024 sets of sites.
"""

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

DIRECTIONS, DIMENSIONS, ACTIVE, SITES = 16_384, 768, 8, 10
TOY = {"DIRECTIONS": 64, "DIMENSIONS": 32, "ACTIVE": 2, "SITES": 2}


def decoder() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(DIRECTIONS, DIMENSIONS)).astype(np.float32)


def ours(rows: np.ndarray, active: int) -> str:
    """The tool: coherence in blocks, readouts tried and predicted, and the largest readable numbers."""
    from lemmata.subjects.features import readable

    found = readable(rows, active)
    return f"coherence {found.coherence:.4f}, readable {found.linear.most} and {found.sparse.most}"


def naive(rows: np.ndarray, active: int) -> str:
    """The coherence alone, from the matrix of all pairs."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    products = np.abs(unit @ unit.T)
    np.fill_diagonal(products, 0.0)
    return f"coherence {products.max():.4f}"


def _measured(task: Callable[[np.ndarray, int], str], sender: Any, rows: np.ndarray, active: int) -> None:
    start = time.perf_counter()
    found = task(rows, active)
    sender.send((found, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20))


def measured(task: Callable[[np.ndarray, int], str]) -> tuple[str, float, float]:
    """The answer, seconds and GiB of a task, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measured, args=(task, sender, decoder(), ACTIVE))
    process.start()
    found = receiver.recv()
    process.join()
    return found


def patched() -> tuple[float, float]:
    """Seconds of the report on a transformer of two layers, and of as many plain runs as there are sets of sites."""
    import torch

    from lemmata.subjects.features import patching_report

    torch.manual_seed(0)
    layer = lambda: torch.nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True, norm_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(100, 64), layer(), layer(), torch.nn.Linear(64, 100)).eval()
    sites = ["0", *(f"{i}.{name}" for i in (1, 2) for name in ("norm1", "self_attn", "norm2", "linear2")), "3"][:SITES]
    clean, corrupt = (torch.randint(0, 100, (4, 16)) for _ in range(2))
    start = time.perf_counter()
    patching_report(model, clean, corrupt, sites, metric=lambda out: out[:, -1, 3] - out[:, -1, 5])
    seconds = time.perf_counter() - start
    model.requires_grad_(False)
    start = time.perf_counter()
    for _ in range(1 << SITES):
        model(clean)
    return seconds, time.perf_counter() - start


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time or memory of what / that of peer)."""
    tool, twin, (seconds, runs) = measured(ours), measured(naive), patched()
    for name, (answer, took, memory) in (("readable", tool), ("naive", twin)):
        print(f"{name}: {answer}; {took:.1f} s, {memory:.2f} GiB at its peak")
    print(f"patching_report: {SITES} sites, {seconds:.1f} s")
    what, peer = f"readable, {DIRECTIONS} x {DIMENSIONS}", "coherence alone, from all pairs"
    return [
        (f"{what}: time", peer, tool[1] / twin[1]),
        (f"{what}: memory", peer, tool[2] / twin[2]),
        (f"patching_report, {SITES} sites", f"{1 << SITES} runs without hooks", seconds / runs),
    ]
