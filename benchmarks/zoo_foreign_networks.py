"""Networks of the foreign zoo, in PyTorch, Flax, Equinox and Keras: perceptrons, recurrent, convolutions, attention.

Each is a function of rows and a seed that trains it, by Adam on all rows, and returns it as its library has it. Most
state no decay, and none is trained to a stationary point.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zoo_foreign_rows import Rows

Network = tuple[str, str, Callable[[Rows, int], Any], tuple[str, ...]]
STEPS, RATE = 250, 5e-3


def _torch(make: Callable[[Any, Rows], Any], decay: float = 1e-3, parallel: bool = False) -> Callable[[Rows, int], Any]:
    """A module of PyTorch, trained with a decay in the optimiser that nobody states."""

    def train(rows: Rows, seed: int) -> Any:
        import torch
        from torch import nn

        torch.manual_seed(seed)
        net = make(nn, rows)
        x, y = torch.as_tensor(rows.x), torch.as_tensor(rows.y)
        loss = nn.functional.cross_entropy if rows.classes else nn.functional.mse_loss
        y = y if rows.classes else y.float().reshape(len(y), -1)
        optimiser = torch.optim.Adam(net.parameters(), lr=RATE, weight_decay=decay)
        net.train()
        for _ in range(STEPS):
            optimiser.zero_grad()
            loss(net(x), y).backward()
            optimiser.step()
        return nn.DataParallel(net.eval()) if parallel else net.eval()

    return train


def _layers(width: int = 12, normed: bool = False) -> Callable[[Any, Rows], Any]:
    """A perceptron of two hidden layers; with batch normalisation and dropout where asked."""

    def make(nn: Any, rows: Rows) -> Any:
        outputs = rows.classes or rows.y.reshape(len(rows.y), -1).shape[1]
        middle = [nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2)] if normed else [nn.ReLU()]
        first, second = nn.Linear(rows.x.shape[1], width), nn.Linear(width, width)
        return nn.Sequential(first, *middle, second, nn.Tanh(), nn.Linear(width, outputs))

    return make


def _recurrent(kind: str) -> Callable[[Any, Rows], Any]:
    """A recurrent layer and a readout of its last state."""

    def make(nn: Any, rows: Rows) -> Any:
        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = getattr(nn, kind)(rows.x.shape[2], 8, batch_first=True)
                self.readout = nn.Linear(8, rows.classes or 1)

            def forward(self, x: Any) -> Any:
                return self.readout(self.layer(x)[0][:, -1])

        return Net()

    return make


def _convolution(nn: Any, rows: Rows) -> Any:
    return nn.Sequential(
        nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(8, rows.classes)
    )


def _attention(nn: Any, rows: Rows) -> Any:
    """An encoder of one layer over embedded tokens, and the mean of its places."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(6, 12)
            self.layer = nn.TransformerEncoderLayer(12, 2, 24, dropout=0.1, batch_first=True)
            self.readout = nn.Linear(12, rows.classes)

        def forward(self, x: Any) -> Any:
            return self.readout(self.layer(self.embedding(x)).mean(1))

    return Net()


def _descended(f: Callable[[Any, Any], Any], params: Any, rows: Rows, decay: float = 1e-3) -> Any:
    """Parameters after Adam on all rows, with the decay in the loss."""
    import optax

    x, y = jnp.asarray(rows.x), jnp.asarray(rows.y)
    y = y if rows.classes else y.reshape(len(y), -1).astype(jnp.float32)

    def loss(own: Any) -> Any:
        out = f(own, x)
        known = optax.softmax_cross_entropy_with_integer_labels if rows.classes else lambda a, b: ((a - b) ** 2).sum(1)
        return known(out, y).mean() + decay / 2 * sum((leaf**2).sum() for leaf in jax.tree.leaves(own))

    optimiser = optax.adam(RATE)

    @jax.jit
    def step(own: Any, state: Any) -> tuple[Any, Any]:
        change, state = optimiser.update(jax.grad(loss)(own), state)
        return optax.apply_updates(own, change), state

    state = optimiser.init(params)
    for _ in range(STEPS):
        params, state = step(params, state)
    return params


def _single(tree: Any) -> Any:
    """Parameters in single precision."""
    single = lambda leaf: leaf.astype(np.float32) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf
    return jax.tree.map(single, tree)


def _linen(state: bool = False, recurrent: bool = False) -> Callable[[Rows, int], Any]:
    """A module of linen with its variables, or as a `TrainState`."""

    def train(rows: Rows, seed: int) -> Any:
        import optax
        from flax import linen as nn
        from flax.training.train_state import TrainState

        if recurrent:

            class Net(nn.Module):
                @nn.compact
                def __call__(self, x: Any) -> Any:
                    states: Any = nn.RNN(nn.GRUCell(8))(x)
                    return nn.Dense(rows.classes)(states[:, -1])

            net: Any = Net()
        else:
            net = nn.Sequential([nn.Dense(12), nn.relu, nn.Dense(12), nn.tanh, nn.Dense(rows.classes)])
        variables = _single(net.init(jax.random.key(seed), jnp.asarray(rows.x[:2])))
        params = _descended(lambda own, x: net.apply({"params": own}, x), variables["params"], rows)
        if state:
            return TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
        return net, {"params": params}

    return train


def _nnx(rows: Rows, seed: int) -> Any:
    """A module of nnx with one hidden layer."""
    from flax import nnx

    outputs = rows.classes or 1

    class Net(nnx.Module):
        def __init__(self) -> None:
            keys = nnx.Rngs(seed)
            self.first = nnx.Linear(rows.x.shape[1], 16, rngs=keys)
            self.second = nnx.Linear(16, outputs, rngs=keys)

        def __call__(self, x: Any) -> Any:
            return self.second(nnx.gelu(self.first(x)))

    graph, params = nnx.split(Net())
    return nnx.merge(graph, _descended(lambda own, x: nnx.merge(graph, own)(x), _single(params), rows))


def _equinox(make: Callable[[Any, Rows, Any], Any]) -> Callable[[Rows, int], Any]:
    """A module of Equinox, called with one row."""

    def train(rows: Rows, seed: int) -> Any:
        import equinox as eqx

        params, rest = eqx.partition(make(eqx.nn, rows, jax.random.key(seed)), eqx.is_inexact_array)
        f = lambda own, x: jax.vmap(eqx.combine(own, rest))(x)
        return eqx.combine(_descended(f, _single(params), rows), rest)

    return train


def _eqx_perceptron(nn: Any, rows: Rows, key: Any) -> Any:
    outputs = rows.classes or rows.y.reshape(len(rows.y), -1).shape[1]
    return nn.MLP(rows.x.shape[1], outputs, 12, 2, activation=jnp.tanh, key=key)


def _eqx_convolution(nn: Any, rows: Rows, key: Any) -> Any:
    first, second = jax.random.split(key)
    top = nn.Lambda(lambda z: jax.nn.relu(z).max(axis=1))
    return nn.Sequential([nn.Conv1d(1, 8, 5, key=first), top, nn.Linear(8, rows.classes, key=second)])


def _keras(recurrent: bool = False, weights: bool = False) -> Callable[[Rows, int], Any]:
    """A model of Keras as a function of a batch, or as the function of its weights that lemmata's refusal names."""

    def train(rows: Rows, seed: int) -> Any:
        import keras

        keras.utils.set_random_seed(seed)
        layers = keras.layers
        body = [layers.GRU(8)] if recurrent else [layers.Dense(12, "relu"), layers.Dense(12, "tanh")]
        model: Any = keras.Sequential([keras.Input(rows.x.shape[1:]), *body, layers.Dense(rows.classes or 1)])
        losses = keras.losses
        loss = losses.SparseCategoricalCrossentropy(from_logits=True) if rows.classes else losses.MeanSquaredError()
        model.compile(keras.optimizers.Adam(RATE), loss)
        model.fit(rows.x, rows.y, batch_size=50, epochs=STEPS // 4, verbose=0)
        if not weights:
            return lambda x: model.predict(x, batch_size=512, verbose=0)
        own = [v.value for v in model.trainable_variables]
        rest = [v.value for v in model.non_trainable_variables]
        return lambda own, x: model.stateless_call(own, rest, x)[0], own

    return train


NETWORKS: dict[str, Network] = {
    "torch perceptron": ("PyTorch", "cancer", _torch(_layers()), ("wrong labels",)),
    "torch dropout": ("PyTorch", "classes", _torch(_layers(normed=True)), ()),
    "torch in DataParallel": ("PyTorch", "wine", _torch(_layers(), parallel=True), ()),
    "torch LSTM": ("PyTorch", "series", _torch(_recurrent("LSTM")), ()),
    "torch GRU": ("PyTorch", "series", _torch(_recurrent("GRU")), ()),
    "torch forecast": ("PyTorch", "forecast", _torch(_recurrent("LSTM")), ()),
    "torch convolution": ("PyTorch", "motifs", _torch(_convolution), ()),
    "torch attention": ("PyTorch", "tokens", _torch(_attention), ()),
    "torch values": ("PyTorch", "friedman", _torch(_layers()), ()),
    "torch three values": ("PyTorch", "three values", _torch(_layers()), ()),
    "linen perceptron": ("Flax", "moons", _linen(), ("wrong labels",)),
    "linen TrainState": ("Flax", "classes", _linen(state=True), ()),
    "linen GRU": ("Flax", "series", _linen(recurrent=True), ()),
    "nnx perceptron": ("Flax", "wine", _nnx, ()),
    "nnx values": ("Flax", "diabetes", _nnx, ()),
    "equinox perceptron": ("Equinox", "classes", _equinox(_eqx_perceptron), ()),
    "equinox values": ("Equinox", "sine", _equinox(_eqx_perceptron), ()),
    "equinox convolution": ("Equinox", "motifs", _equinox(_eqx_convolution), ()),
    "keras classes": ("Keras", "classes", _keras(), ("wrong labels",)),
    "keras values": ("Keras", "friedman", _keras(), ()),
    "keras GRU": ("Keras", "series", _keras(recurrent=True), ()),
    "keras weights": ("Keras", "moons", _keras(weights=True), ()),
}
