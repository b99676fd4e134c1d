"""Linear state-space layers: convolutions along a sequence, with sums of exponentials as filters.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Key

from lemmata.core import check_real
from lemmata.errors import SettingError, ShapeError

from ._fields import at_filled, field_shape, filled, with_own_variances
from ._layer import AbstractLayer, Shape
from ._moments import check_finite
from ._state import State


class StateSpace(AbstractLayer):
    r"""A diagonal linear state-space model (S4D: Gu, Goel, Gupta and Ré, 2022) in every channel of a sequence.

    Channel j has N states with poles l_n and a time step D. Discretise the model dh_n/dt = l_n h_n + b_n u, with u
    constant during each step. The result is h_n(t) = a_n h_n(t-1) + g_n b_n u(t) with a_n = exp(D l_n) and g_n = (a_n -
    1) / l_n. With w = `weight_std`, the output is

        y(t) = w sqrt(2/N) Re sum_n c_n h_n(t) + `skip_std` d u(t) = sum_{s <= t} k(s) u(t - s), where k(s) = w
        sqrt(2/N) Re sum_n c_n b_n g_n a_n^s (+ `skip_std` d at s = 0).

    Every channel has its own b_n, c_n and d. The b_n and c_n are complex, with real and imaginary parts of variance
    1/2, and d is standard normal. So k is independent of u and of the other channels, and

        R(s, s') = E[k(s) k(s')] = w² Re mean_n |g_n|² a_n^s conj(a_n)^s' (+ `skip_std`² at s = s' = 0).

    As the number of channels grows at fixed N,

        nngp'(t, t') = sum_{s, s'} R(s, s') nngp(t - s, t' - s'),    ntk' = the same sum of ntk + 2 nngp,

    except that the term of d counts only once in 2 nngp, because k is linear in d but bilinear in b and c. The trained
    parameters are b, c and d. With `train_poles`, the real and imaginary parts of each channel's poles are also
    trained. Training of the poles adds another term to ntk': the sum of 2 nngp with w² Re mean_n q_n(s) conj(q_n(s'))
    in place of R. Here, q_n(s) is the derivative of g_n a_n^s with respect to l_n.

    Both sums are recurrences in t and in t', so they cost N operations for each pair of positions.

    Outputs have mean 0 but are not a Gaussian process, because a product of k and u is not Gaussian. Put a Dense
    layer, which mixes the channels, before the next activation. At the inputs of a network, the number of channels is
    fixed, so averages over them do not converge. So also put a Dense layer before this layer.

    Args:
        poles: the number N of poles, for l_n = -1/2 + i pi n with n = 0 ... N - 1; or the poles themselves.
        steps: the time steps D. The channels use them in turn, so R is then also a mean over the time steps.
        weight_std: the factor w of the output.
        skip_std: standard deviation of the factor `skip_std` d of the direct path from u(t) to y(t). With 0, there is
            no direct path.
        train_poles: whether the poles are trained.

    Raises:
        SettingError: for poles whose real part is not negative, steps that are not positive, or a negative standard
            deviation. `push` also raises this error at the inputs of a network.
        ShapeError: if the points are not sequences (length, channels).

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Dense, Flatten, Gelu, NNGPKernel, Serial, StateSpace
        >>> network = Serial([Dense(64), StateSpace(4), Dense(64), Gelu(), Flatten(), Dense(1)])
        >>> NNGPKernel(network).cross(jnp.ones((3, 10, 2)), jnp.ones((5, 10, 2))).shape
        (3, 5)
    """

    poles: tuple[complex, ...] = eqx.field(static=True)
    steps: tuple[float, ...] = eqx.field(static=True)
    weight_std: float
    skip_std: float
    train_poles: bool = eqx.field(static=True)
    whole = True

    def __init__(
        self,
        poles: int | Sequence[complex | float] = 4,
        steps: float | Sequence[float] = 0.1,
        weight_std: float = 1.0,
        skip_std: float = 0.0,
        *,
        train_poles: bool = False,
    ):
        values = [complex(-0.5, math.pi * n) for n in range(poles)] if isinstance(poles, int) else poles
        self.poles = tuple(complex(pole) for pole in values)
        self.steps = tuple(float(step) for step in np.atleast_1d(steps))
        self.weight_std, self.skip_std, self.train_poles = weight_std, skip_std, train_poles

    def __check_init__(self):
        check_finite("poles and steps", *(part for p in self.poles for part in (p.real, p.imag)), *self.steps)
        if not self.poles or max(pole.real for pole in self.poles) >= 0:
            rule = (
                "at least one pole, and each with a negative real part, because otherwise the state grows without bound"
            )
            raise SettingError("poles of StateSpace", found=self.poles, rule=rule)
        if not self.steps or min(self.steps) <= 0:
            raise SettingError(
                "steps of StateSpace", found=self.steps, rule="at least one step, and every step positive"
            )
        for name, value in (("weight_std", self.weight_std), ("skip_std", self.skip_std)):
            check_real(name, value, "a standard deviation that is finite and not negative", lambda number: number >= 0)

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[dict[str, Array], Shape]:
        """Draw {"input", "output"} of shape (2, channels, N), with real parts before imaginary parts.

        If `skip_std` > 0, also draw "skip" of shape (channels,). If `train_poles`, also draw "poles" of shape (2,
        channels, N).
        """
        _, c = self._sequence(fan_in)
        shape, keys = (2, c, len(self.poles)), jax.random.split(key, 3)
        params = {"input": jax.random.normal(keys[0], shape, dtype), "output": jax.random.normal(keys[1], shape, dtype)}
        if self.skip_std > 0:
            params["skip"] = jax.random.normal(keys[2], (c,), dtype)
        if self.train_poles:
            parts = np.array([np.real(self.poles), np.imag(self.poles)])
            params["poles"] = jnp.broadcast_to(jnp.asarray(parts, dtype)[:, None], shape)
        return params, fan_in

    def apply(self, params: dict[str, Array], x: Float[Array, "t c"]) -> Float[Array, "t c"]:
        """Return the outputs of the channels at every time. The state before the first time is 0."""
        _, c = self._sequence(x.shape)
        step = jnp.asarray(np.resize(self.steps, c), x.dtype)[:, None]
        poles = _complex(params["poles"]) if self.train_poles else jnp.asarray(self.poles, _complex_dtype(x))
        decay, gain = jnp.exp(step * poles), jnp.expm1(step * poles) / poles
        # The factor 0.5 gives the real and imaginary parts of both complex normal numbers variance 1/2.
        read = 0.5 * _complex(params["input"]) * _complex(params["output"]) * gain

        def advance(state: Array, u: Array) -> tuple[Array, Array]:
            state = decay * state + u[:, None]
            return state, jnp.sum((read * state).real, axis=1)

        _, y = jax.lax.scan(advance, jnp.zeros_like(read), x)
        y = self.weight_std * math.sqrt(2.0 / len(self.poles)) * y
        return y + self.skip_std * params["skip"] * x if self.skip_std > 0 else y

    def apply_masked(
        self, params: Any, x: Float[Array, "t c"], mask: Bool[Array, " t"]
    ) -> tuple[Float[Array, "t c"], Bool[Array, " t"]]:
        """Return the outputs, with zeros at empty positions of the input."""
        return self.apply(params, filled(x, mask)), mask

    def push(self, state: State) -> State:
        """Return the double sums of the class, by recurrences over both positions."""
        if len(state.grid.sites) != 1:
            self._sequence((*state.grid.sites, state.fan_in) if state.grid.sites else state.fan_in)
        if not state.law.wide:
            raise SettingError(
                "input of StateSpace",
                found="the network's own inputs",
                rule="each channel has its own random kernel, so the layer before must have infinite width",
                remedy="put a Dense layer before StateSpace",
            )
        state = at_filled(state)
        if state.grid.left is None or state.grid.right is None:
            rule = "sequences, with moments for all pairs of positions"
            raise SettingError(
                "input of StateSpace", found="moments only for pairs with x and y at the same position", rule=rule
            )
        left, right = self._moments(state.grid.left), self._moments(state.grid.right)
        pushed = with_own_variances(self._moments(state), state, left, right).replace(means=None)
        left, right = (with_own_variances(side, side, side, side) for side in (left, right))
        return pushed.with_grid(left=left, right=right).with_law(state.law.drawn().perturbed())

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed. The variance of a sum over positions needs all pairs."""
        return True

    def _sequence(self, shape: Shape) -> tuple[int, int]:
        shape = field_shape("StateSpace", shape)
        if len(shape) != 2:
            raise ShapeError(
                "input of StateSpace",
                found=f"fields of shape {shape}",
                rule="sequences of shape (length, channels)",
                remedy="reshape (height, width, channels) to (height * width, channels)",
            )
        return shape[0], shape[1]

    def _moments(self, part: State) -> State:
        """Return the new covariances and tangent kernels at all pairs of positions."""
        w2, d2 = self.weight_std**2, self.skip_std**2
        decay, gain, *slope = self._modes(part.nngp)
        summed = lambda values, first, second: w2 * _response(values, decay, first, second)
        nngp = summed(part.nngp, gain, None) + d2 * part.nngp
        ntk = summed(part.ntk + 2.0 * part.nngp, gain, None) + d2 * (part.ntk + part.nngp)
        if self.train_poles:
            ntk = ntk + 2.0 * summed(part.nngp, *slope)
        return part.replace(nngp=nngp, ntk=ntk, means=None)

    def _modes(self, values: Array) -> list[Complex[Array, " modes"]]:
        """Return, for all poles l and steps D, a = exp(D l), g = (a - 1) / l, and the derivative of g a^s in l.

        The derivative is returned as its coefficients of a^s and s a^s.
        """
        poles, step = (part.reshape(-1) for part in np.meshgrid(np.array(self.poles), np.array(self.steps)))
        decay, grown = np.exp(step * poles), np.expm1(step * poles)
        gain = grown / poles
        # d(g a^s)/dl = (dg/dl + D s g) a^s, and dg/dl = (D a - g) / l, without cancellation for short steps
        change = (step * grown - (gain - step)) / poles
        return [jnp.asarray(part, _complex_dtype(values)) for part in (decay, gain, change, step * gain)]


@jax.jit
def _response(
    values: Float[Array, "t t *batch"],
    decay: Complex[Array, " modes"],
    first: Complex[Array, " modes"],
    second: Complex[Array, " modes"] | None,
) -> Float[Array, "t t *batch"]:
    """Return Re mean_n sum_{s, s'} r_n(s) conj(r_n(s')) values(t - s, t' - s').

    Here, r_n(s) = (first_n + second_n s) decay_n^s.
    """

    def add(total: Array, mode: Any) -> tuple[Array, None]:
        once = _filtered(values, *mode)
        twice = _filtered(jnp.swapaxes(once, 0, 1), *jax.tree.map(jnp.conj, mode))
        return total + twice.real, None

    total, _ = jax.lax.scan(add, jnp.zeros_like(values), (decay, first, second))
    return jnp.swapaxes(total, 0, 1) / len(decay)


def _filtered(values: Array, decay: Array, first: Array, second: Array | None) -> Array:
    """Return sum_s (first + second s) decay^s values(t - s), by its recurrence in t along the leading axis."""
    zero = jnp.zeros_like(values[0], decay.dtype)

    def advance(sums: tuple[Array, Array | None], value: Array) -> tuple[tuple[Array, Array | None], Array]:
        power, ramp = sums
        new = decay * power + value
        if ramp is None or second is None:
            return (new, None), first * new
        ramp = decay * (ramp + power)
        return (new, ramp), first * new + second * ramp

    return jax.lax.scan(advance, (zero, None if second is None else zero), values)[1]


def _complex(parts: Float[Array, "2 *shape"]) -> Complex[Array, "*shape"]:
    return jax.lax.complex(parts[0], parts[1])


def _complex_dtype(values: Array) -> Any:
    return jnp.result_type(values.dtype, jnp.complex64)
