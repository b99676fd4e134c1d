"""The transform on the cube, the Fourier expansion of a model and the kinks of a network, beside naive twins."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.neural_network import MLPClassifier

from kernels import alternating
from lemmata.functions import cube, walsh_hadamard
from lemmata.subjects.approximation import kinks
from lemmata.subjects.boolean import boolean_fourier

INPUTS, MODEL_INPUTS, TABLE, SHORTER, WIDTH = 20, 16, 12, 20_000, 512
TOY = {"INPUTS": 6, "MODEL_INPUTS": 4, "TABLE": 4, "SHORTER": 100, "WIDTH": 8}


def butterflies(values: np.ndarray) -> np.ndarray:
    """The transform in ordinary NumPy, one coordinate after the other."""
    n = len(values)
    for place in range(n.bit_length() - 1):
        pairs = values.reshape(-1, 2, 2**place)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(n)
    return values / n


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of peer)."""
    with jax.enable_x64(True):
        values = jax.random.normal(jax.random.key(0), (2**INPUTS,))
        plain, short = np.asarray(values), values[: 2**TABLE]
        points = np.asarray(cube(TABLE)) < 0
        signs = jnp.asarray(1.0 - 2.0 * (points.astype(int) @ points.T.astype(int) % 2))
        seconds = alternating({
            "transform": lambda: walsh_hadamard(values), "butterflies": lambda: butterflies(plain),
            "short": lambda: walsh_hadamard(short), "matrix": lambda: signs @ short / 2**TABLE,
        })  # fmt: skip
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], (1000, MODEL_INPUTS))
    model = MLPClassifier((64,), max_iter=50, random_state=0).fit(x, x[:, 0] * x[:, 1] > 0)
    everywhere = np.asarray(cube(MODEL_INPUTS))
    network = eqx.nn.MLP(8, 1, WIDTH, 3, activation=jax.nn.relu, key=jax.random.key(1))
    a, b = rng.normal(size=(2, 8))
    line = jnp.asarray(a + np.linspace(0, 1, SHORTER)[:, None] * (b - a), jnp.float32)
    outputs = jax.jit(jax.vmap(network))
    seconds |= alternating(
        {
            "expansion": lambda: boolean_fourier(model.predict, MODEL_INPUTS),
            "evaluation": lambda: model.predict(everywhere),
            "kinks": lambda: kinks(network, a, b),
            "grid": lambda: np.abs(np.diff(np.asarray(outputs(line))[:, 0], 2)) > 1e-6,
        },
        repeats=3,
    )
    print(f"seconds: 2^{INPUTS} values {seconds['transform']:.3f}, {MODEL_INPUTS} inputs {seconds['expansion']:.2f}, "
          f"3 x {WIDTH} units {seconds['kinks']:.2f}")  # fmt: skip
    ratio = lambda what, peer: seconds[what] / seconds[peer]
    outputs = f"Fourier expansion of a network on {MODEL_INPUTS} inputs"
    return [
        (f"transform of 2^{INPUTS} values", "NumPy, a loop over coordinates", ratio("transform", "butterflies")),
        (f"transform of 2^{TABLE} values", "product with the matrix of signs", ratio("short", "matrix")),
        (outputs, "its outputs alone", ratio("expansion", "evaluation")),
        (f"exact kinks of a network of 3 x {WIDTH} units", f"differences on {SHORTER} points", ratio("kinks", "grid")),
    ]
