"""Certificates with optimised slopes: 100 images of digits, a trained network of three hidden layers of 256 units.

Prints the seconds and the processor's seconds of `certify`, attacks included, and where auto_LiRPA is at hand the ratio
to its time on the same margins, and the largest differences of the bounds. It runs in an environment of its own. The
last release, 0.3, asks for a PyTorch before 1.13; with three names put back where it looks for them (`_as_before`) it
runs under 2.13:

    python3 -m venv lirpa && lirpa/bin/pip install torch==2.13.0 "numpy<2" appdirs pyyaml tqdm graphviz packaging
    lirpa/bin/pip install --no-deps auto_LiRPA==0.3
    AUTO_LIRPA_PYTHON=lirpa/bin/python python benchmarks/run.py certificates

The peer's time is that of slopes of the margins alone, from bounds of the hidden units by CROWN; `certify` optimises
those of the hidden units, too. On a few images the peer then does the same, as it does where it is not told otherwise.
The two take turns, so that a slow spell hits both. This file is also what the peer's Python runs.
"""

import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

import numpy as np

IMAGES, RADIUS, ROUNDS, FEW = 100, 0.02, 1, 5
WIDTHS = (256, 256, 256)
TOY = {"IMAGES": 2, "FEW": 1, "WIDTHS": (6, 6, 6)}


def trained() -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """(weight, bias) of each layer, and the images that training did not see, pixels from 0 to 1."""
    from sklearn.datasets import load_digits
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    images, labels = load_digits(return_X_y=True)
    images, train = images / 16, len(images) - IMAGES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MLPClassifier(WIDTHS, max_iter=15, random_state=0).fit(images[:train], labels[:train])
    layers = [(weight.T, bias) for weight, bias in zip(model.coefs_, model.intercepts_, strict=True)]
    print(f"held-out accuracy {model.score(images[train:], labels[train:]):.2f}", file=sys.stderr)
    return layers, images[train:]


def ours(layers: list, images: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Seconds, the processor's seconds, and the margins (images, rivals), after a check that bounds are nested."""
    from lemmata.subjects.robustness import certify

    start, used = time.perf_counter(), time.process_time()
    found = [certify(layers, image, RADIUS) for image in images]
    seconds, used = time.perf_counter() - start, time.process_time() - used
    verdicts = [one.verdict for one in found]
    told = ", ".join(f"{verdicts.count(word)} {word}" for word in ("robust", "attacked", "unknown"))
    print(f"lemmata: {seconds:.1f} s, {used:.1f} s of processor time; {told}", file=sys.stderr)
    cheaper = {
        name: [certify(layers, image, RADIUS, method=name) for image in images] for name in ("interval", "crown")
    }
    for bounds in zip(cheaper["interval"], cheaper["crown"], found, strict=True):
        nested = [*(one.margins for one in bounds), bounds[-1].attack]
        assert all((lower <= upper).all() for lower, upper in itertools.pairwise(nested)), "bounds are not nested"
    return seconds, used, np.array([one.margins for one in found])


def _as_before() -> None:
    """Names of PyTorch that auto_LiRPA 0.3 imports, which have moved since."""
    import torch
    import torch.onnx.symbolic_helper
    import torch.onnx.utils
    from torch.onnx._internal.torchscript_exporter import _globals, utils  # pyright: ignore[reportMissingImports]

    def set_version(version: int) -> None:
        _globals.GLOBALS.export_onnx_opset_version = version

    setattr(torch.onnx.utils, "_optimize_graph", utils._optimize_graph)  # noqa: B010
    setattr(torch.onnx.symbolic_helper, "_set_opset_version", set_version)  # noqa: B010
    setattr(torch._C.Node, "__getitem__", lambda node, key: getattr(node, node.kindOf(key))(key))  # noqa: B010


def peer(folder: pathlib.Path) -> None:
    """auto_LiRPA on what `folder` has; writes its bounds, and its seconds and processor's seconds after them."""
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    _as_before()
    from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm  # pyright: ignore[reportMissingImports]

    given = np.load(folder / "network.npz")
    layers = []
    for position in range(len(WIDTHS) + 1):
        weight, bias = (torch.tensor(given[f"{name}{position}"], dtype=torch.float32) for name in ("weight", "bias"))
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.weight.data, linear.bias.data = weight, bias
        layers += [linear, torch.nn.ReLU()]
    network, images = torch.nn.Sequential(*layers[:-1]).eval(), torch.tensor(given["images"], dtype=torch.float32)
    classes = network(images).argmax(dim=1)
    eye = torch.eye(len(bias))
    rivals = torch.stack([eye[c] - eye[torch.arange(len(bias)) != c] for c in classes])
    bounded = BoundedModule(network, torch.zeros_like(images[:1]))

    def lower(count: int, hidden: bool) -> np.ndarray:
        ball = BoundedTensor(images[:count], PerturbationLpNorm(norm=np.inf, eps=RADIUS))
        fixed = None
        if not hidden:
            bounded.compute_bounds(x=(ball,), C=rivals[:count], method="CROWN", bound_upper=False)
            units = [node.inputs[0] for node in bounded.optimizable_activations]
            fixed = {unit.name: [unit.lower.detach(), unit.upper.detach()] for unit in units}
        found, _ = bounded.compute_bounds(
            x=(ball,), C=rivals[:count], method="CROWN-Optimized", bound_upper=False, intermediate_layer_bounds=fixed
        )
        return found.detach().numpy()

    start, used = time.perf_counter(), time.process_time()
    same = lower(len(images), hidden=False)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    np.savez(folder / "peer.npz", same=same, tighter=lower(FEW, hidden=True), seconds=seconds, used=used)


def _apart(margins: np.ndarray, lower: np.ndarray) -> str:
    own = margins[: len(lower)]
    apart = own - lower
    return f"{apart.min():.2g} to {apart.max():.2g}, mean size {np.abs(own).mean():.2g}"


def main() -> list[tuple[str, str, float]]:
    """Our time over the peer's, no row without the peer."""
    layers, images = trained()
    python = os.environ.get("AUTO_LIRPA_PYTHON")
    times, peers = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arrays: Any = {f"weight{k}": weight for k, (weight, _) in enumerate(layers)}
        arrays |= {f"bias{k}": bias for k, (_, bias) in enumerate(layers)}
        np.savez(folder / "network.npz", images=images, **arrays)
        for _ in range(ROUNDS):
            seconds, used, margins = ours(layers, images)
            times.append((seconds, used))
            if python:
                subprocess.run([python, "-W", "ignore", __file__, name], check=True, stderr=subprocess.DEVNULL)
                found = np.load(folder / "peer.npz")
                peers.append((float(found["seconds"]), float(found["used"])))
                told = f"auto_LiRPA: {peers[-1][0]:.1f} s, {peers[-1][1]:.1f} s of processor time"
                print(f"{told}; ours less its bounds: {_apart(margins, found['same'])}", file=sys.stderr)
                print(f"with its tighter bounds of hidden units: {_apart(margins, found['tighter'])}", file=sys.stderr)
    if not peers:
        print("auto_LiRPA: AUTO_LIRPA_PYTHON names no Python that has it", file=sys.stderr)
        return []
    what = f"certify, optimised slopes, {len(images)} digits, 3 x 256"
    wall, used = (min(run[k] for run in times) / min(run[k] for run in peers) for k in (0, 1))
    return [(f"{what}, seconds", "auto_LiRPA 0.3", wall), (f"{what}, processor", "auto_LiRPA 0.3", used)]


if __name__ == "__main__":
    peer(pathlib.Path(sys.argv[1]))
