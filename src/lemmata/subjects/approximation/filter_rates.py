"""Linear recurrences approximate impulse responses in H^s at the rate n^(-2s), but cannot approximate some functions of
their inputs.

This theory describes the squared error with which n states of a linear recurrence reproduce a periodic impulse
response. It also says how well a linear readout of the states represents functions of the inputs. It assumes linear
recurrences whose transition does not depend on the inputs. It does not explain nonlinear readouts and selective
recurrences.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Passage, Rate, Reading, Source, Status
from lemmata.engine.problems.impulse_responses import (
    ImpulseResponse,
    ImpulseResponses,
    LinearReadouts,
    RandomReadouts,
    modal_states,
)

ABOUT = {"tool": "Fourier analysis", "architecture": "state-space model", "object": "function class"}

_RUNGS = (8.0, 16.0, 32.0, 64.0)
# sum_(k > n) k^(-2s-1) is nearly (n + 1/2)^(-2s)/(2s), which changes the slope by 0.05 s. The frequencies above half of
# 768 steps are left out. This lowers the last error by 7 % at s = 3/4, and by less at larger s.
_MARGIN = 0.12


def squared_error_of_modes(problem: ImpulseResponse, n: int) -> Float[Array, ""]:
    """Return the squared error of the least-squares fit to the impulse response. The states have undamped poles at the
    frequencies 0, ..., n.
    """
    poles = jnp.exp(2j * jnp.pi * jnp.arange(n + 1) / problem.steps)
    states = modal_states(poles, problem.steps)
    columns = jnp.concatenate([states.real, states.imag[:, 1:]], axis=1)
    # the columns are nearly orthogonal, so normal equations lose no accuracy
    weights = jnp.linalg.solve(columns.T @ columns, columns.T @ problem.values)
    return jnp.mean((problem.values - columns @ weights) ** 2)


class PrintedRecurrentRateIsTight(Claim[ImpulseResponse]):
    """The source says that linear recurrences with n states approximate functions of d variables in the Sobolev space
    H^s at the rate n^(-s/d), and that this rate is essentially tight. For impulse responses, which are functions of one
    variable, this means that the squared error of the best recurrence with n states is of the order n^(-s).

    The true order is n^(-2s). For the L2 error itself, without the square, n^(-s) would be tight.
    """

    title = "As printed, the rate n^(-s/d) at which linear recurrences of n states approximate Sobolev H^s is tight"
    source = Source("foundation2025", "Section 4.3, state-space models", note="as printed")
    population = ImpulseResponses()
    relation = Rate("n", _RUNGS, margin=_MARGIN)
    control = Control("n^(1/2 - s)", lambda exponent, problem: exponent + 0.5)
    controls = "the squared error of recurrences on impulse responses in H^s"
    unexplained = "functions of more than one variable"
    reading = "the functions are impulse responses, d = 1; tight means that the exponent is attained"
    passage = Passage(
        "000_643c1008a95be5dc.txt",
        12014,
        12251,
        "85aaa5e6e339b875",
        says="By a lower bound of (20) for linear recurrences, (12) is essentially tight for state-space models.",
        right_if="(12) were about the error in L2 and not about the squared error",
        formula="inf_theta E |f - f_theta|² = O(n^(-s/d)) for n parameters",
    )
    readings = (
        Reading("of impulse responses, d = 1, and poles on the unit circle: the squared error is n^(-2s)", "refuted"),
        Reading(
            "of impulse responses and strictly stable poles",
            "refuted",
            "open_problems.linear_recurrences.damped_modes_rate",
        ),
        Reading(
            "of functions of d inputs, by the linear models of (4): the error does not fall, and (12) is no bound",
            "refuted",
            "approximation.filter_rates.linear_readouts_miss_cosines",
        ),
    )
    expected = Status.REFUTED
    trials = 32

    def predict(self, problem: ImpulseResponse) -> Array:
        return -problem.smoothness

    def measure_at(self, problem: ImpulseResponse, key: Key[Array, ""], n: float) -> Array:
        return squared_error_of_modes(problem, int(n))


class UndampedModesRate(Claim[ImpulseResponse]):
    """Consider a periodic impulse response at the edge of the Sobolev space H^s: its Fourier coefficient at the
    frequency k has size k^(-s-1/2). A linear recurrence with undamped poles at the frequencies up to n has 2n + 1 real
    states. This recurrence reproduces the impulse response with a squared error that falls like

        n^(-2s).
    """

    title = "With undamped modes up to frequency n, recurrences reproduce impulse responses in H^s at the rate n^(-2s)"
    source = Source("foundation2025", "(12)", "Section 4.3, state-space models", note="corrected")
    population = ImpulseResponses()
    relation = Rate("n", _RUNGS, margin=_MARGIN)
    control = Control("n^(1/2 - 2s)", lambda exponent, problem: exponent + 0.5)
    controls = "the squared error of recurrences on impulse responses in H^s"
    unexplained = "damped poles, and functions of the inputs that no filter computes"
    corrects = PrintedRecurrentRateIsTight
    trials = 32

    def predict(self, problem: ImpulseResponse) -> Array:
        return -2 * problem.smoothness

    def measure_at(self, problem: ImpulseResponse, key: Key[Array, ""], n: float) -> Array:
        return squared_error_of_modes(problem, int(n))


def squared_error_of_readout(problem: LinearReadouts, states: int) -> Float[Array, ""]:
    """Return the least mean square of cos(2 pi q x_j) - c - <w, h_T> over c and w, where h_T is the last state."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    x, weights = jnp.asarray((nodes + 1) / 2), jnp.asarray(weights / 2)
    target = jnp.cos(2 * jnp.pi * problem.frequency * x)
    mean, centred = weights @ target, x - weights @ x
    matrix = problem.final_state(states)
    slope = (weights * target) @ centred * matrix[:, problem.position.astype(int)]
    spread = (weights @ centred**2) * matrix @ matrix.T
    ridge = 1e-12 * jnp.trace(spread) * jnp.eye(states)
    explained = slope @ jnp.linalg.solve(spread + ridge, slope)
    return weights @ target**2 - mean**2 - explained


class LinearReadoutsMissCosines(Claim[LinearReadouts]):
    """Let a linear recurrence have inputs x_1, ..., x_T, independent and uniform on [0, 1], and let q be a whole
    number. Every affine readout of the recurrence's states predicts cos(2 pi q x_j) with a mean squared error of at
    least the variance of this cosine. So the least mean squared error is

        1/2

    at every number of states, since the cosine is uncorrelated with every linear function of the inputs.
    """

    title = "A linear recurrence explains none of the variance of a cosine of one of its inputs"
    source = Source(
        "foundation2025",
        "(12)",
        "Theorem 1, part 2",
        "Section 3.4, linear filters",
        note="functions of the inputs, which filters do not fit",
    )
    stated = Kind.OWN
    population = RandomReadouts()
    relation = Equal()
    control = Control("the states explain 1 % of the variance", lambda value, problem: 0.99 * value)
    controls = "the squared error of linear recurrences on a smooth function of their inputs"
    unexplained = "nonlinear readouts"
    predict = 0.5
    condition = 64.0

    def measure(self, problem: LinearReadouts, key: Key[Array, ""]) -> Array:
        return squared_error_of_readout(problem, problem.states)
