"""From continuous to discrete time: the inputs for which each rule is exact, and the effect of a rule on frequencies.

A rule turns a linear system in continuous time into a recurrence for its samples at the times k D. This theory says
when the recurrence equals the continuous system at the samples. The zero-order hold (input constant on each step) and
the first-order hold (input linear on each step) are exact if the input has this form. The bilinear rule has the
frequency response of the continuous system at a warped frequency. Under these three rules, a mode is stable exactly if
it is stable in continuous time. The theory assumes a linear system. It leaves unexplained how much the rule matters to
trained models, which learn their poles after discretisation. For fast modes, the poles of the bilinear rule tend to -1.
These modes are stable, but they oscillate.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Source
from lemmata.subjects.state_space import discretise, impulse_response, run
from lemmata.subjects.state_space._single_modes import (
    ProbedSystem,
    ProbedSystems,
    StableAndGrowingModes,
    SteppedModes,
)
from lemmata.subjects.state_space._state_space_systems import SampledSystem, SampledSystems

from ._integration import integrated

ABOUT = {"tool": "dynamical systems", "architecture": "state-space model", "object": "construction"}

_PLACE = "Section 2.3, discretisation"
_LONG = 1024


def _recurrence(problem: SampledSystem, method: str, u: Array) -> Array:
    return run(discretise(problem.system, problem.step, method), u)[:, 0]


def _between_samples(problem: SampledSystem, u: Array, held: bool) -> Array:
    """Return the outputs at the times k D by solving the differential equation, without discretisation.

    Between these times, the input is constant if `held` is true, and otherwise linear.
    """
    values, step = u[:, 0], problem.step
    slopes = jnp.zeros(len(u) - 1) if held else jnp.diff(values) / step
    inputs = lambda time, k: values[k] + slopes[k] * (time - step * k)
    ends, start = step * jnp.arange(1, len(u)), jnp.zeros(problem.system.matrix.size)
    states = jnp.concatenate([start[None], integrated(problem.system, inputs, start, ends)])
    return states @ problem.system.output[0] + problem.system.passed[0, 0] * values


def _from_zero(problem: SampledSystem) -> Array:
    """Return the inputs, with the first one set to 0."""
    return problem.u.at[0].set(0.0)


class ZeroOrderHold(Claim[SampledSystem]):
    """Let dh/dt = A h + B u, y = C h + d u be a stable state-space model with h(0) = 0. Let D be the time step, and let
    the input have the constant value u_k on each interval [k D, (k+1) D). For every D, the samples y(k D) of the output
    are exactly the outputs y_k of the recurrence

        h_{k+1} = e^{DA} h_k + A^-1 (e^{DA} - I) B u_k,   y_k = C h_k + d u_k.
    """

    title = "Zero-order hold is exact for inputs that are constant within each step"
    source = Source("foundation2025", _PLACE, note="the rule, and where it is exact")
    stated = Kind.OWN
    population = SampledSystems()
    relation = Equal(block=1)
    control = Control(
        "Euler's step, I + D A and D B, is exact", lambda outputs, problem: _recurrence(problem, "euler", problem.u)
    )
    controls = "the samples of the output under an input that is held"
    unexplained = "inputs that change between samples"
    condition = 10000.0  # the tolerance of the solver of differential equations

    def predict(self, problem: SampledSystem) -> Array:
        return _recurrence(problem, "zero_order_hold", problem.u)

    def measure(self, problem: SampledSystem, key: Key[Array, ""]) -> Array:
        return _between_samples(problem, problem.u, held=True)


class FirstOrderHold(Claim[SampledSystem]):
    """Let dh/dt = A h + B u, y = C h + d u be a stable state-space model with h(0) = 0. Let D be the time step. Let the
    input start at u(0) = 0 and be linear between its samples u_k = u(k D). For every D, the samples y(k D) of the
    output are exactly the outputs y_k of the recurrence

        h_{k+1} = e^{DA} h_k + D (f_1 - f_2)(DA) B u_k + D f_2(DA) B u_{k+1},   y_k = C h_k + d u_k,

    where f_1(z) = (e^z - 1)/z and f_2(z) = (e^z - 1 - z)/z².
    """

    title = "First-order hold is exact for inputs that are linear between samples"
    source = Source("foundation2025", _PLACE, note="the rule, and where it is exact")
    stated = Kind.OWN
    population = SampledSystems()
    relation = Equal(block=1)
    # a control that holds the input would be nearer to the claim, but needs a second decomposition, and several in one
    # batch can wait for each other
    control = Control(
        "Euler's step is exact", lambda outputs, problem: _recurrence(problem, "euler", _from_zero(problem))
    )
    controls = "the samples of the output under an input that is linear between samples"
    unexplained = "inputs that bend between samples"
    condition = 10000.0  # the tolerance of the solver of differential equations

    def predict(self, problem: SampledSystem) -> Array:
        return _recurrence(problem, "first_order_hold", _from_zero(problem))

    def measure(self, problem: SampledSystem, key: Key[Array, ""]) -> Array:
        return _between_samples(problem, _from_zero(problem), held=False)


class BilinearWarping(Claim[ProbedSystem]):
    """Let a stable continuous system with the matrices A, B, C, d have the transfer function H(z) = C (z - A)^-1 B + d.
    The bilinear rule with step D turns this system into a recurrence. Let K_0, K_1, ... be the impulse response of this
    recurrence. At the frequency w, the recurrence has exactly the frequency response of the continuous system at a
    warped frequency:

        sum_k K_k e^{-i w D k} = H( i (2/D) tan(w D / 2) ).
    """

    title = "The bilinear rule with step D moves the frequency w of a linear system to (2/D) tan(w D / 2)"
    source = Source("foundation2025", _PLACE, note="what the bilinear rule does to frequencies")
    stated = Kind.OWN
    population = ProbedSystems()
    relation = Equal(block=1)
    control = Control("the frequency stays w", lambda passed, problem: _passed(problem, problem.angle / problem.step))
    controls = "the frequency response of a recurrence"
    unexplained = "inputs between the samples"
    condition = 100000.0  # a thousand terms, which cancel

    def predict(self, problem: ProbedSystem) -> Array:
        return _passed(problem, 2 / problem.step * jnp.tan(problem.angle / 2))

    def measure(self, problem: ProbedSystem, key: Key[Array, ""]) -> Array:
        kernel = impulse_response(discretise(problem.system, problem.step, "bilinear"), _LONG)[:, 0, 0]
        waves = problem.angle * jnp.arange(_LONG)
        return jnp.stack([kernel @ jnp.cos(waves), -kernel @ jnp.sin(waves)])


def _passed(problem: ProbedSystem, frequency: Array) -> Array:
    value = problem.system.response(1j * frequency)[0, 0]
    return jnp.stack([value.real, value.imag])


def _surviving(problem: SteppedModes, method: str) -> Array:
    """Return the number of modes that are smaller after 500 steps of the recurrence than at the start."""
    matrix = discretise(problem.system, problem.step, method).matrix
    return jnp.sum(jnp.abs(matrix.powers(problem.system.input, 501)[-1, :, 0]) < 1)


def _within_euler(problem: SteppedModes) -> Array:
    return jnp.sum(jnp.abs(1 + problem.poles * problem.step) < 1)


class StableAtAnyStep(Claim[SteppedModes]):
    """Let dh/dt = l h be a mode with the complex pole l, and let D be the time step. Under zero-order hold and under
    the bilinear rule, the mode dies out if and only if Re l < 0, for every step D. The reason is that |e^{Dl}| < 1 and
    |(1 + Dl/2)/(1 - Dl/2)| < 1 hold if and only if Re l < 0. The test draws many modes and counts how many of them die
    out.
    """

    title = "Zero-order hold and the bilinear rule keep the stability of a linear system at any step"
    source = Source("foundation2025", _PLACE, note="which rules keep stability")
    stated = Kind.OWN
    population = StableAndGrowingModes()
    relation = Equal()
    control = Control(
        "both rules need |1 + D l| < 1, as Euler's rule does",
        lambda alive, problem: jnp.broadcast_to(_within_euler(problem), alive.shape),
    )
    controls = "whether a recurrence is stable"
    unexplained = "the slow, ringing decay under the bilinear rule, whose poles tend to -1 as D |l| grows"

    def predict(self, problem: SteppedModes) -> Array:
        return jnp.broadcast_to(jnp.sum(problem.poles.real < 0), (2,))

    def measure(self, problem: SteppedModes, key: Key[Array, ""]) -> Array:
        return jnp.stack([_surviving(problem, "zero_order_hold"), _surviving(problem, "bilinear")])


class EulerStability(Claim[SteppedModes]):
    """Let dh/dt = l h be a mode with the complex pole l, and let D be the time step. Under Euler's rule h_{k+1} = (1 +
    D l) h_k, the mode dies out if and only if |1 + D l| < 1. So a stable mode needs a step below -2 Re l / |l|². The
    test draws many modes and counts how many of them die out.
    """

    title = "Euler's rule keeps a stable mode with pole l stable only if the step is below -2 Re l / |l|²"
    source = Source("foundation2025", _PLACE, note="which rules keep stability")
    stated = Kind.OWN
    population = StableAndGrowingModes()
    relation = Equal()
    control = Control("it is enough that Re l < 0", lambda alive, problem: jnp.sum(problem.poles.real < 0))
    controls = "whether a recurrence is stable"
    unexplained = "accuracy, which needs even shorter steps"

    def predict(self, problem: SteppedModes) -> Array:
        return _within_euler(problem)

    def measure(self, problem: SteppedModes, key: Key[Array, ""]) -> Array:
        return _surviving(problem, "euler")
