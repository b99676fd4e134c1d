"""Mixers: four ways of turning a sequence into a vector, by functions without trained parameters.

A mixer maps one sequence of tokens of shape (T, c) to a vector. The sequence is right-aligned, and a mask marks its
filled positions. All mixers are fixed functions with a single setting. Only the head after the mixer is learned
(`_head`).
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float

WINDOW, FEATURES, MODES = 3, 300, 16
ROWS_AT_ONCE = 64
"""The number of sequences that a mixer processes at the same time. The memory does not grow with the rows."""

Mixer = Callable[[Float[Array, "T c"], Bool[Array, " T"]], Float[Array, " q"]]


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of mixers with one setting.

    Args:
        name: the name that `--families` uses.
        title: the name that sentences use.
        words: a description of the mixer.
        setting: the name of the setting.
        values: three values of the setting.
        averaged: a description of the mixer if its result is averaged over positions; empty if `words` describes it.
    """

    name: str
    title: str
    words: str
    setting: str
    values: tuple[float, ...]
    averaged: str = ""

    def described(self, mean: bool) -> str:
        """Return a description of the mixer.

        Args:
            mean: whether the result is averaged over positions instead of read at the last position.
        """
        return (mean and self.averaged) or self.words


FAMILIES = (
    Family("mlp", "flattened", "all tokens, concatenated into one vector",
           "width of the head", (0.5, 1.0, 2.0)),
    Family("conv", "convolution", "the mean over positions of 300 cosine features of windows of 3 tokens",
           "width of the features", (0.5, 1.0, 2.0)),
    Family("recurrent", "recurrence", "the last states of 16 linear modes with poles -1/2 + i pi k",
           "step, times the length of the sequence", (1.0, 4.0, 16.0),
           "the mean over positions of the states of 16 linear modes with poles -1/2 + i pi k"),
    Family("attention", "attention", "softmax attention of the last token to earlier tokens, and the last token itself",
           "inverse temperature", (1.0, 4.0, 16.0),
           "the mean over tokens of softmax attention to earlier tokens, and the mean token"),
)  # fmt: skip
BY_NAME = {family.name: family for family in FAMILIES}


def flattened(x: Float[Array, "T c"], mask: Bool[Array, " T"]) -> Float[Array, " q"]:
    """Put all tokens side by side. Missing tokens are 0, which is the mean of each channel."""
    return jnp.where(mask[:, None], x, 0.0).reshape(-1)


def convolution(
    x: Float[Array, "T c"], mask: Bool[Array, " T"], weights: Float[Array, "q k"], phases: Float[Array, " k"]
) -> Float[Array, " k"]:
    """Return the mean over positions of sqrt(2) cos(W w + b), with the window w of 3 tokens that ends at the position.

    W are the weights, and b are the phases. Windows that begin before the first token are left out. If the sequence is
    shorter than a window, its only window ends at the last token, with 0 for missing tokens.
    """
    length = len(x)
    padded = jnp.pad(jnp.where(mask[:, None], x, 0.0), ((WINDOW - 1, 0), (0, 0)))
    windows = jnp.concatenate([padded[i : i + length] for i in range(WINDOW)], axis=1)
    whole = jnp.cumsum(mask) >= jnp.minimum(WINDOW, jnp.sum(mask))
    features = np.sqrt(2) * jnp.cos(windows @ weights + phases)
    return jnp.sum(jnp.where((whole & mask)[:, None], features, 0.0), axis=0) / jnp.maximum(jnp.sum(whole & mask), 1)


def recurrence(
    x: Float[Array, "T c"], mask: Bool[Array, " T"], step: float | Float[Array, ""], mean: bool = False
) -> Float[Array, " q"]:
    """Return the state h_t = a h_(t-1) + x_t of N = 16 diagonal modes at the last position, in O(T N) operations.

    Mode k = 0, ..., 15 has a = exp(step (-1/2 + i pi k)). The state is 0 before the first token. The result consists of
    the real and imaginary parts. With `mean`, the state is averaged over positions.
    """
    decay = jnp.exp(step * (-0.5 + 1j * np.pi * jnp.arange(MODES)))[:, None]
    tokens = jnp.where(mask[:, None], x, 0.0)

    zero = jnp.zeros((MODES, x.shape[1]), complex)
    (last, total), _ = jax.lax.scan(functools.partial(one_step, decay), (zero, zero), (tokens, mask))
    read = total / jnp.maximum(jnp.sum(mask), 1) if mean else last
    return jnp.concatenate([read.real.reshape(-1), read.imag.reshape(-1)])


def one_step(
    decay: Complex[Array, "N 1"], carry: tuple[Complex[Array, "N c"], Complex[Array, "N c"]], token: tuple[Any, Any]
) -> tuple[tuple[Complex[Array, "N c"], Complex[Array, "N c"]], None]:
    """Return the states after one more token, and the sum of the states at all tokens so far that are not absent."""
    state = decay * carry[0] + token[0]
    return (state, carry[1] + jnp.where(token[1], state, 0.0)), None


def attention(
    x: Float[Array, "T c"], mask: Bool[Array, " T"], beta: float | Float[Array, ""], mean: bool = False
) -> Float[Array, " q"]:
    """Return the vector (sum_(s < t) softmax_s(beta <x_t, x_s> / c) x_s, x_t) at the last position t.

    The softmax is over the earlier positions s. For tokens of variance 1 in each of c channels, <x_t, x_t> / c is near
    1, so beta is the scale of the logits. If there is no earlier token, the sum is 0. With `mean`, the result is the
    mean over all positions t. This mean takes T² operations.
    """
    tokens = jnp.where(mask[:, None], x, 0.0)
    length, channels = x.shape
    questions = tokens if mean else tokens[-1:]
    logits = beta * questions @ tokens.T / channels
    here = jnp.arange(length)[None] < (jnp.arange(length) if mean else jnp.array([length - 1]))[:, None]
    seen = here & mask
    weights = jnp.where(seen, jnp.exp(logits - jnp.max(jnp.where(seen, logits, -jnp.inf), axis=1, keepdims=True,
                                                       initial=-1e300)), 0.0)  # fmt: skip
    weights = weights / jnp.maximum(jnp.sum(weights, axis=1, keepdims=True), 1e-300)
    found = jnp.concatenate([weights @ tokens, questions], axis=1)
    if not mean:
        return found[0]
    return jnp.sum(jnp.where(mask[:, None], found, 0.0), axis=0) / jnp.maximum(jnp.sum(mask), 1)


def mixer(family: str, setting: float, length: int, channels: int, *, mean: bool = False, seed: int = 0) -> Mixer:
    """Return the mixer of a family at a setting, for sequences of this length.

    Args:
        family: the name of one of `FAMILIES`.
        setting: one of the values of the family's setting.
        length: T, the length of the sequences; the step of the recurrence is `setting` / T.
        channels: c, the number of channels.
        mean: whether recurrence and attention are read as the mean over positions instead of at the last position.
        seed: the seed of the random features of the convolution.
    """
    if family == "mlp":
        return flattened
    if family == "conv":
        rng = np.random.default_rng([seed, 3])
        weights = rng.standard_normal((WINDOW * channels, FEATURES)) / (setting * np.sqrt(WINDOW * channels))
        phases = rng.uniform(0, 2 * np.pi, FEATURES)
        return functools.partial(convolution, weights=jnp.asarray(weights), phases=jnp.asarray(phases))
    if family == "recurrent":
        return functools.partial(recurrence, step=setting / length, mean=mean)
    return functools.partial(attention, beta=setting, mean=mean)


def mixed(of: Mixer, x: Float[np.ndarray, "n T c"], mask: Bool[np.ndarray, "n T"]) -> Float[np.ndarray, "n q"]:
    """Return the vector that the mixer computes for each row. A few rows are processed at a time."""
    each = jax.jit(lambda x, mask: jax.lax.map(lambda row: of(*row), (x, mask), batch_size=ROWS_AT_ONCE))
    return np.asarray(each(x, mask))
