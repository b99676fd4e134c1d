"""Writes neural_tangents_functions.json: expansions and training of a small network by Neural Tangents 0.6.5.

    pip install jax==0.5.3 jaxlib==0.5.3 neural-tangents==0.6.5 tensorflow-cpu
    python tests/oracles/neural_tangents_functions_numbers.py

The library itself never needs that environment: the numbers are committed.
"""

import json
import pathlib

import jax
import jax.numpy as jnp
import neural_tangents as nt  # pyright: ignore[reportMissingImports]
import numpy as np
import scipy.linalg

RATE, MOMENTUM, TIMES = 0.02, 0.9, [5.0, 60.0]


def numbers(first: int, *shape: int) -> np.ndarray:
    """Numbers that need no generator."""
    return np.sin(np.arange(first, first + np.prod(shape), dtype=float) ** 2).reshape(shape)


def network(params, x):
    """Two outputs of each point, a row a point."""
    return jnp.tanh(x @ params["in"] + params["bias"]) @ params["out"]


def smooth(f, y):
    """Convex, and not quadratic."""
    return jnp.sum(jnp.sqrt(1 + (f - y) ** 2))


def cross_entropy(f, y):
    """Of indicators y."""
    return -jnp.sum(jax.nn.log_softmax(f) * y)


LOSSES = {"smooth": smooth, "cross_entropy": cross_entropy}


def main() -> None:
    """Writes the file beside this one."""
    jax.config.update("jax_enable_x64", True)
    # SciPy 1.14 dropped the name of the argument with which that library asks for the largest eigenvalue.
    eigenvalues = scipy.linalg.eigvalsh
    scipy.linalg.eigvalsh = lambda a, eigvals=None, **options: eigenvalues(a, subset_by_index=eigvals, **options)
    params = {"in": numbers(1, 3, 4), "bias": numbers(13, 4), "out": numbers(17, 4, 2)}
    moved = {name: part + 0.3 * numbers(40, *part.shape) for name, part in params.items()}
    x, new = numbers(60, 5, 3), numbers(80, 3, 3)
    targets = {"smooth": numbers(100, 5, 2), "cross_entropy": np.eye(2)[[0, 1, 1, 0, 1]]}
    kernel = nt.empirical_kernel_fn(network, trace_axes=(), vmap_axes=None)
    theta, cross = kernel(x, None, "ntk", params), kernel(new, x, "ntk", params)
    start = network(params, x), network(params, new)
    found = {
        "params": params, "moved": moved, "x": x, "new": new, "targets": targets,
        "value": network(moved, x), "linear": nt.linearize(network, params)(moved, x),
        "taylor": {order: nt.taylor_expand(network, params, order)(moved, x) for order in (1, 2, 3)},
        "theta": theta, "times": TIMES, "rate": RATE, "momentum": MOMENTUM, "trained": {}, "largest_rate": {},
    }  # fmt: skip
    for name, loss in LOSSES.items():
        for kind, momentum in (("flow", None), ("momentum", MOMENTUM)):
            predict = nt.predict.gradient_descent(loss, theta, targets[name], RATE, momentum, trace_axes=())
            found["trained"][f"{name}_{kind}"] = [predict(t, *start, cross) for t in TIMES]
    for momentum in (0.0, MOMENTUM):
        rate = nt.predict.max_learning_rate(theta, momentum=momentum)
        found["largest_rate"][str(momentum)] = rate
    plain = jax.tree.map(lambda part: np.asarray(part).tolist(), found)
    pathlib.Path(__file__).with_name("neural_tangents_functions.json").write_text(json.dumps(plain) + "\n")


if __name__ == "__main__":
    main()
