"""Fourth problem: can linear recurrences reach the approximation rate of attention? On impulse responses they can.

This is a partial result on impulse responses, which are functions of one variable. Strictly stable recurrences with n
states, whose cost is linear in the length, reach the squared error n^(-2r) at smoothness r. So the obstacle in the
problem does not exist for impulse responses. The result leaves open functions of several inputs, which no linear
recurrence represents, although a selective recurrence may.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Kind, Order, Rate, Source
from lemmata.engine.problems.impulse_responses import ImpulseResponse, ImpulseResponses, modal_states

ABOUT = {"tool": "Fourier analysis", "architecture": "state-space model", "object": "memory", "problem": 4}

_RUNGS = (16.0, 32.0, 64.0, 128.0)
_RANK = 1e-13  # directions of the states below it are rounding


@functools.cache
def readable_directions(kind: str, n: int, steps: int) -> np.ndarray:
    """Return an orthonormal basis, in columns, of the impulse responses that 2n + 1 real states can produce.

    Args:
        kind: the kind of poles, for a period of 1. "undamped" poles are at 2 pi i k for |k| <= n. "damped" poles are at
            -1/2 + (3/2) pi i k for |k| <= n. "real" poles are at rates from 1/10 to `steps`, evenly on a logarithmic
            scale.
        n: half of the number of states.
        steps: the number of steps of the recurrence in a period.
    """
    k = np.arange(n + 1)
    exponents = {
        "undamped": 2j * np.pi * k,
        "damped": -0.5 + 1.5j * np.pi * k,
        "real": -np.geomspace(0.1, steps, 2 * n + 1) + 0j,
    }[kind]
    states = np.asarray(modal_states(jnp.asarray(np.exp(exponents / steps)), steps))
    turning = [] if kind == "real" else [np.imag(states)[:, 1:]]
    columns = np.concatenate([np.real(states), *turning], axis=1)
    basis, values, _ = np.linalg.svd(columns, full_matrices=False)
    return basis[:, values > _RANK * values[0]]


def squared_error(problem: ImpulseResponse, kind: str, n: int) -> float:
    """Return the least mean square of the response minus a readout of recurrences with poles of this kind."""
    basis, values = readable_directions(kind, n, problem.steps), np.asarray(problem.values)
    return float(np.mean((values - basis @ (basis.T @ values)) ** 2))


class DampedModesRate(Claim[ImpulseResponse]):
    """Consider impulse responses on a period of length 1. Let the responses lie at the edge of the Sobolev space
    H^(2s): their Fourier coefficients at frequency k have size k^(-2s-1/2). Reproduce these responses by strictly
    stable linear recurrences with 2n + 1 states and poles at -1/2 + (3/2) pi i k, |k| <= n. The squared error falls
    like

        n^(-4s),

    and the cost of the recurrence is linear in the length of the sequence. The reason is that the frequencies of the
    modes are denser than the frequencies of the period, and that the modes form a frame.
    """

    title = "Damped modes of a linear recurrence approximate impulse responses at nearly the rate of undamped modes"
    source = Source("foundation2025", "Section 7.4", note="a probe, for impulse responses")
    stated = Kind.OWN
    population = ImpulseResponses(least=1.0, most=1.75)
    # between 16 and 128 modes, the ends of the period still contribute; the slopes are 5 % short of their limit
    relation = Rate("n", _RUNGS, margin=0.2, resolution=0.1)
    control = Control("the squared error falls like n^(1/2 - 4s)", lambda exponent, problem: exponent + 0.5)
    controls = "the squared error with which stable linear recurrences reproduce impulse responses"
    unexplained = "functions of more than one variable; poles that training finds"
    traced = False
    trials = 32

    def predict(self, problem: ImpulseResponse) -> Array:
        return -2 * problem.smoothness

    def measure_at(self, problem: ImpulseResponse, key: Key[Array, ""], n: float) -> Array:
        return jnp.asarray(squared_error(problem, "damped", int(n)))


class PolesInOrder(Claim[ImpulseResponse]):
    """Consider impulse responses on a period of length 1, with smoothness r: their Fourier coefficients at frequency k
    have size k^(-r-1/2). Reproduce these responses by linear recurrences with 129 real states. The geometric mean of
    the squared error over responses is smallest for undamped poles at 2 pi i k, the frequencies of the period. This
    mean is larger for damped poles at -1/2 + (3/2) pi i k, and largest for real poles. In the first two families, |k|
    <= 64. So the rotation of the states matters much, and their damping matters little.
    """

    title = "Linear recurrences fit impulse responses best with undamped poles, then damped poles, then real poles"
    source = Source("foundation2025", "Section 7.4", note="a numerical test of three families of poles")
    stated = Kind.OWN
    population = ImpulseResponses(least=1.0, most=1.75)
    relation = Order("undamped, damped, real poles", (0.0, 1.0, 2.0))
    control = Control("the reverse order", lambda sign, problem: -sign)
    controls = "the squared error with which linear recurrences reproduce impulse responses"
    unexplained = "responses without a period; selective recurrences"
    traced = False
    trials = 32
    predict = 1.0

    def measure_at(self, problem: ImpulseResponse, key: Key[Array, ""], rung: float) -> Array:
        return jnp.log(squared_error(problem, ("undamped", "damped", "real")[int(rung)], 64))
