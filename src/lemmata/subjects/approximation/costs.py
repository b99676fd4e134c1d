"""How the cost of layers on sequences grows with the length of the sequence and with the number of parameters.

This theory describes the number of floating-point operations and the working memory of the compiled program. The
compiler counts the operations before it optimises the program. The theory does not explain running times, which depend
on caches and threads, or the cost of training.
"""

import functools
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Kind, Population, Rate, Source, Space

ABOUT = {"tool": "complexity", "architecture": "any", "object": "cost"}


class SequenceLayer(eqx.Module):
    """A layer on sequences, with `width` channels and `length` positions."""

    width: int = eqx.field(static=True)
    length: int = eqx.field(static=True)


class SequenceLayers(Population[SequenceLayer]):
    """Layers with either the largest number of channels or half of it, chosen at random. Trials are not compiled."""

    def settings(self) -> Space:
        width = Integer(64, 16, 128, "the largest number of channels", step=16, corners=(32, 64))
        return Space(width=width, length=Integer(32, 8, 64, "positions", step=8, corners=(16, 32)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SequenceLayer:
        half = bool(jax.random.bernoulli(key))
        return SequenceLayer(setting["width"] // (2 if half else 1), setting["length"])

    def hypotheses(self, problem: SequenceLayer) -> list[Hypothesis]:
        return [
            Hypothesis("channels", problem.width, ">=", 1, "the layer is not empty"),
            Hypothesis("positions", problem.length, ">=", 1, "the layer is not empty"),
        ]


_LENGTHS = (512.0, 1024.0, 2048.0, 4096.0)
_BLOCK = 64
_COST = Source("foundation2025", "Section 4.1, cost", note="in the length of the sequence")


def attention(x: Float[Array, "t p"]) -> Float[Array, "t p"]:
    """Return softmax attention of a sequence to itself, with all t x t attention weights in memory at once."""
    return jax.nn.softmax(x @ x.T / math.sqrt(x.shape[1])) @ x


def blocked_attention(x: Float[Array, "t p"]) -> Float[Array, "t p"]:
    """Return softmax attention from blocks of queries and keys with running maxima, without a matrix of size t x t."""
    blocks = x.reshape(-1, _BLOCK, x.shape[1])

    def one(queries):
        def step(state, keys):
            largest, total, output = state
            logits = queries @ keys.T / math.sqrt(x.shape[1])
            new = jnp.maximum(largest, logits.max(axis=1))
            weights, old = jnp.exp(logits - new[:, None]), jnp.exp(largest - new)
            return (new, old * total + weights.sum(axis=1), old[:, None] * output + weights @ keys), None

        start = (jnp.full(_BLOCK, -jnp.inf), jnp.zeros(_BLOCK), jnp.zeros_like(queries))
        (_, total, output), _ = jax.lax.scan(step, start, blocks)
        return output / total[:, None]

    return jax.lax.map(one, blocks).reshape(x.shape)


def recurrence(x: Float[Array, "t p"]) -> Float[Array, "t p"]:
    """Compute h_t = 0.9 h_(t-1) + x_t by an associative scan."""
    combine = lambda left, right: (left[0] * right[0], right[0] * left[1] + right[1])
    return jax.lax.associative_scan(combine, (jnp.full_like(x, 0.9), x))[1]


def convolution(x: Float[Array, "t p"]) -> Float[Array, "t p"]:
    """Compute the recurrence as a convolution with 0.9^t by fast Fourier transforms of twice the length."""
    t = len(x)
    response = 0.9 ** jnp.arange(t)[:, None]
    spectra = [jnp.fft.rfft(signal, 2 * t, axis=0) for signal in (x, response)]
    return jnp.fft.irfft(spectra[0] * spectra[1], 2 * t, axis=0)[:t]


@functools.cache
def operations(mixer: Callable, length: int, width: int) -> float:
    """Count the floating-point operations of a mixer on a sequence, before the compiler optimises them. A mixer is a
    layer on sequences, such as `attention`.
    """
    lowered = jax.jit(mixer).lower(jax.ShapeDtypeStruct((length, width), float))
    return (lowered.cost_analysis() or {})["flops"]


@functools.cache
def working_memory(mixer: Callable, length: int, width: int) -> float:
    """Return the bytes that the compiled program of a mixer holds in addition to its input and output."""
    memory = jax.jit(mixer).lower(jax.ShapeDtypeStruct((length, width), float)).compile().memory_analysis()
    return float(memory.temp_size_in_bytes) if memory else math.nan


class AttentionOperationsInLength(Claim[SequenceLayer]):
    """Let a sequence have T positions and 8 to 128 channels, with T from 512 on. The number of operations of softmax
    attention grows like T². This number includes the scores, the softmax and the weighted means, but not the
    projections.
    """

    title = "The number of operations of softmax attention grows like the square of the length of the sequence"
    source = _COST
    population = SequenceLayers()
    relation = Rate("T", _LENGTHS)
    control = Control("T^(3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "floating-point operations"
    unexplained = "running times"
    traced = False
    trials = 8
    predict = 2.0

    def measure_at(self, problem: SequenceLayer, key: Key[Array, ""], length: float) -> Array:
        return jnp.asarray(operations(attention, int(length), problem.width))


class RecurrenceOperationsInLength(Claim[SequenceLayer]):
    """Compute a diagonal linear recurrence on T positions by an associative scan. The number of operations grows like
    T.
    """

    title = "The number of operations of a diagonal linear recurrence grows like the length of the sequence"
    source = _COST
    population = SequenceLayers()
    relation = Rate("T", _LENGTHS)
    control = Control("T^(3/2)", lambda exponent, problem: exponent + 0.5)
    controls = "floating-point operations"
    unexplained = "running times; recurrences whose states are mixed by a full matrix"
    traced = False
    trials = 8
    predict = 1.0

    def measure_at(self, problem: SequenceLayer, key: Key[Array, ""], length: float) -> Array:
        return jnp.asarray(operations(recurrence, int(length), problem.width))


class ConvolutionOperationsInLength(Claim[SequenceLayer]):
    """Compute a long convolution on T positions by fast Fourier transforms of length 2T. The number of operations grows
    like T log(2T). Between T = 512 and 4096, the slope of this growth on logarithmic scales is 1 + log(13/10)/log(8) =
    1.126.
    """

    title = "The number of operations of a long convolution grows like T log T in the length T of the sequence"
    source = _COST
    population = SequenceLayers()
    relation = Rate("T", _LENGTHS, margin=0.02, resolution=0.03)
    control = Control("T, without the logarithm", lambda exponent, problem: exponent - math.log(1.3) / math.log(8))
    controls = "floating-point operations"
    unexplained = "running times"
    traced = False
    trials = 8

    def predict(self, problem: SequenceLayer) -> Array:
        return jnp.asarray(1 + math.log(1.3) / math.log(8))

    def measure_at(self, problem: SequenceLayer, key: Key[Array, ""], length: float) -> Array:
        return jnp.asarray(operations(convolution, int(length), problem.width))


class BlockedAttentionMemory(Claim[SequenceLayer]):
    """Compute softmax attention from blocks of queries and keys, and keep the largest logit so far of each query. The
    outputs are exactly the same as without blocks. Apart from its input and output, the computation needs memory that
    does not grow with the number T of positions. So attention needs a number of operations that is quadratic in T, but
    not a memory that is quadratic in T.
    """

    title = "The working memory of blocked attention does not grow with the length of the sequence"
    source = Source("dao2022", "main result", note="the order of the working memory")
    population = SequenceLayers()
    relation = Rate("T", (512.0, 1024.0, 2048.0))
    control = Control("T^(1/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the bytes of memory in addition to input and output"
    unexplained = "the gradient, which computes the attention weights again"
    traced = False
    trials = 4
    predict = 0.0

    def measure_at(self, problem: SequenceLayer, key: Key[Array, ""], length: float) -> Array:
        return jnp.asarray(working_memory(blocked_attention, int(length), problem.width))


def transformer_layer(parameters: dict[str, Array], x: Float[Array, "t p"]) -> Float[Array, "t p"]:
    """Apply attention with four square matrices, and two dense maps through four times the width: 12 p² parameters."""
    queries, keys, values = (x @ parameters[name] for name in ("query", "key", "value"))
    x = x + jax.nn.softmax(queries @ keys.T / math.sqrt(x.shape[1])) @ values @ parameters["out"]
    return x + jax.nn.relu(x @ parameters["up"]) @ parameters["down"]


@functools.cache
def layer_operations(parameters: int, length: int) -> float:
    """Count the operations of a transformer layer whose number of parameters is 12 times a square."""
    p = math.isqrt(parameters // 12)
    shapes = {"query": (p, p), "key": (p, p), "value": (p, p), "out": (p, p), "up": (p, 4 * p), "down": (4 * p, p)}
    arrays = {name: jax.ShapeDtypeStruct(shape, float) for name, shape in shapes.items()}
    lowered = jax.jit(transformer_layer).lower(arrays, jax.ShapeDtypeStruct((length, p), float))
    return (lowered.cost_analysis() or {})["flops"]


_PARAMETERS = tuple(12.0 * width**2 for width in (64, 128, 256, 512))


class OperationsLinearInParameters(Claim[SequenceLayer]):
    """Let a transformer layer with n parameters act on a fixed number of positions. The number of operations grows like
    n. The reason is that each parameter is multiplied once at every position. The share of operations that compute
    attention scores falls as the width grows.
    """

    title = "The number of operations of a transformer layer grows like the number of its parameters"
    source = Source("foundation2025", "Theorem 1, part 1", "Abstract, rates", note="the order in n, which is below n²")
    stated = Kind.OWN
    population = SequenceLayers()
    # scores take T/(6 p) of the projections' operations: at most 1/6 at the first size, a slope of 0.04
    relation = Rate("n", _PARAMETERS)
    control = Control("n^(3/2)", lambda exponent, problem: exponent + 0.5)
    controls = "floating-point operations of a transformer layer at a fixed length"
    unexplained = "running times"
    traced = False
    trials = 4
    predict = 1.0

    def measure_at(self, problem: SequenceLayer, key: Key[Array, ""], parameters: float) -> Array:
        return jnp.asarray(layer_operations(int(parameters), problem.length))
