"""A small sparse autoencoder on the hidden layer of a network for digits, as input for tests and the documentation.

python benchmarks/digits_sae.py trains a network of 64 hidden ReLUs on scikit-learn's digits and 256 features on their
activations, with a penalty on the sum of codes. It writes W_enc, b_enc, W_dec and b_dec, as SAELens names them, to
tests/subjects/features/digits_sae.safetensors, and prints the accuracy, the share of the variance that is explained,
and how many features are active on an image. Other machines round differently: the file is written once and kept.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file
from sklearn.datasets import load_digits

HIDDEN, FEATURES, STEPS, PENALTY = 64, 256, 4000, 0.08
FILE = pathlib.Path(__file__).parents[1] / "tests" / "subjects" / "features" / "digits_sae.safetensors"


def trained(loss, params: dict, steps: int, project=lambda params: params) -> dict:
    """Parameters after full-batch steps of Adam, each followed by a projection."""
    method = optax.adam(optax.cosine_decay_schedule(3e-3, steps))

    def step(carry: tuple, _: None) -> tuple:
        params, state = carry
        change, state = method.update(jax.grad(loss)(params), state)
        return (project(optax.apply_updates(params, change)), state), None

    return jax.jit(lambda: jax.lax.scan(step, (params, method.init(params)), None, steps)[0][0])()


def hidden_layer(x: jax.Array, y: jax.Array) -> tuple[jax.Array, float]:
    """The activations of a trained network's hidden layer, with a mean square length of HIDDEN; and its accuracy."""
    keys = jax.random.split(jax.random.key(0), 2)
    params = {
        "inner": jax.random.normal(keys[0], (x.shape[1], HIDDEN)) / 4, "bias": jnp.zeros(HIDDEN),
        "outer": jax.random.normal(keys[1], (HIDDEN, 10)) / 8,
    }  # fmt: skip
    hidden = lambda p: jax.nn.relu(x @ p["inner"] + p["bias"])
    loss = lambda p: optax.softmax_cross_entropy_with_integer_labels(hidden(p) @ p["outer"], y).mean()
    params = trained(loss, params, 300)
    h, accuracy = hidden(params), float(jnp.mean((hidden(params) @ params["outer"]).argmax(axis=1) == y))
    return h / jnp.sqrt(jnp.mean(h**2)), accuracy


def autoencoder(h: jax.Array) -> tuple[dict, jax.Array, jax.Array]:
    """Trained parameters, codes and reconstructions."""
    rows = jax.random.normal(jax.random.key(1), (FEATURES, HIDDEN))
    unit = lambda p: p | {"W_dec": p["W_dec"] / jnp.linalg.norm(p["W_dec"], axis=1, keepdims=True)}
    params = unit({"W_dec": rows, "W_enc": rows.T / 16, "b_enc": jnp.zeros(FEATURES), "b_dec": h.mean(axis=0)})
    codes = lambda p: jax.nn.relu((h - p["b_dec"]) @ p["W_enc"] + p["b_enc"])
    back = lambda p: codes(p) @ p["W_dec"] + p["b_dec"]
    loss = lambda p: jnp.mean(jnp.sum((back(p) - h) ** 2, axis=1)) + PENALTY * HIDDEN**0.5 * jnp.mean(codes(p).sum(1))
    params = trained(loss, params, STEPS, unit)
    return params, codes(params), back(params)


def write() -> None:
    """Train, print and write."""
    images, labels = load_digits(return_X_y=True)
    h, accuracy = hidden_layer(jnp.asarray(images / 16, jnp.float32), jnp.asarray(labels))
    params, codes, back = autoencoder(h)
    explained = 1 - float(jnp.sum((back - h) ** 2) / jnp.sum((h - h.mean(axis=0)) ** 2))
    active, dead = float((codes > 0).sum(axis=1).mean()), int((codes <= 0).all(axis=0).sum())
    print(f"accuracy {accuracy:.3f}; variance explained {explained:.3f}; {active:.1f} active; {dead} dead")
    save_file({name: np.asarray(own, np.float32) for name, own in params.items()}, FILE)
    print(f"{FILE.name}: {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    write()
