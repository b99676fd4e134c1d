"""How fast the errors of discretised state-space models fall with the time step, on smooth inputs.

A mode dh/dt = l h + u is driven by an input u, and a recurrence computes its samples at the times k D, where D is the
time step. This theory gives the root mean square error of these samples as a power of D, the order of the rule. It
assumes a linear system and a smooth input. It leaves unexplained how much the order matters to trained models. These
models learn their poles after discretisation, and their inputs are not samples of a continuous signal.
"""

import abc

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Kind, Rate, Source
from lemmata.subjects.state_space import DiagonalMatrix, DiscreteSystem, discretise, run
from lemmata.subjects.state_space._single_modes import DrivenMode, DrivenModes

ABOUT = {"tool": "dynamical systems", "architecture": "state-space model", "object": "construction"}

_PLACE = "Section 2.3, discretisation"


def _closed_form(problem: DrivenMode, times: Array) -> Array:
    """Return the exact output Re ∫_0^t e^{l(t - s)} sin(w s) ds, in closed form from the exponentials of the sine."""
    pole, turn = problem.pole, 1j * problem.frequency
    part = lambda sign: (jnp.exp(sign * turn * times) - jnp.exp(pole * times)) / (sign * turn - pole)
    return ((part(1) - part(-1)) / 2j).real


class AbstractStepOrder(Claim[DrivenMode]):
    """Base of claims on the order of the root mean square error, over all samples, of a recurrence for one mode."""

    stated = Kind.OWN
    population = DrivenModes()
    controls = "the error of a sampled mode under a smooth input"
    trials = 64

    def predict(self, problem: DrivenMode) -> Array:
        return jnp.asarray(self.order())

    @abc.abstractmethod
    def order(self) -> float:
        """The exponent with which the error depends on the number of steps; it is negative."""

    @abc.abstractmethod
    def outputs(self, problem: DrivenMode, step: Array, times: Array) -> Array:
        """Return the outputs of the recurrence at the times k D."""

    def measure_at(self, problem: DrivenMode, key: Key[Array, ""], rung: float) -> Array:
        step = problem.horizon / rung
        times = step * jnp.arange(int(rung) + 1)
        error = self.outputs(problem, step, times) - _closed_form(problem, times)
        return jnp.sqrt(jnp.mean(error**2))


_RUNGS = Rate("steps", (64.0, 128.0, 256.0, 512.0), margin=0.1)
_FIRST = Control("the error falls like steps^-1.5", lambda exponent, problem: exponent - 0.5)
_SECOND = Control("the error falls like steps^-1.5", lambda exponent, problem: exponent + 0.5)


def _wave(problem: DrivenMode, times: Array) -> Array:
    return jnp.sin(problem.frequency * times)[:, None]


class HeldInputOrder(AbstractStepOrder):
    """Let dh/dt = l h + u be a mode with the complex pole l and a smooth input u, and let D be the time step.
    Zero-order hold of the samples of u is the recurrence h_{k+1} = e^{Dl} h_k + (e^{Dl} - 1)/l u(kD). The root mean
    square error of h over all samples is of order 1 in D.
    """

    title = "Zero-order hold of a smooth input's samples has an error of order 1 in the time step"
    source = Source("foundation2025", _PLACE, note="the order of the error")
    relation = _RUNGS
    control = _FIRST
    unexplained = "inputs that really are constant between samples, for which there is no error"

    def order(self) -> float:
        return -1.0

    def outputs(self, problem: DrivenMode, step: Array, times: Array) -> Array:
        return run(discretise(problem.system, step, "zero_order_hold"), _wave(problem, times))[:, 0]


class MidpointHoldOrder(AbstractStepOrder):
    """Let dh/dt = l h + u be a mode with the complex pole l and a smooth input u, and let D be the time step.
    Zero-order hold of u at the middle of each step is the recurrence h_{k+1} = e^{Dl} h_k + (e^{Dl} - 1)/l u(kD + D/2).
    The root mean square error of h over all samples is of order 2 in D. So the order of a hold depends on the point of
    the step at which the input is read.
    """

    title = "Zero-order hold of a smooth input's midpoints has an error of order 2 in the time step"
    source = Source("foundation2025", _PLACE, note="the order of the error")
    relation = _RUNGS
    control = _SECOND
    unexplained = "data that exist only at the samples"

    def order(self) -> float:
        return -2.0

    def outputs(self, problem: DrivenMode, step: Array, times: Array) -> Array:
        return run(discretise(problem.system, step, "zero_order_hold"), _wave(problem, times + step / 2))[:, 0]


class FirstOrderHoldOrder(AbstractStepOrder):
    """Let dh/dt = l h + u be a mode with the complex pole l and a smooth input u that starts at 0, and let D be the
    time step. First-order hold is the recurrence that is exact for inputs that are linear between samples. On the
    smooth input u, the root mean square error of h over all samples is of order 2 in D.
    """

    title = "First-order hold of a smooth input has an error of order 2 in the time step"
    source = Source("foundation2025", _PLACE, note="the order of the error")
    relation = _RUNGS
    control = _SECOND
    unexplained = "the constant"

    def order(self) -> float:
        return -2.0

    def outputs(self, problem: DrivenMode, step: Array, times: Array) -> Array:
        return run(discretise(problem.system, step, "first_order_hold"), _wave(problem, times))[:, 0]


class TrapezoidalOrder(AbstractStepOrder):
    """Let dh/dt = l h + u be a mode with the complex pole l and a smooth input u that starts at 0, and let D be the
    time step. The trapezoidal rule is h_{k+1} = h_k + D/2 (l h_k + u_k + l h_{k+1} + u_{k+1}). It is the bilinear rule
    that uses the inputs at both ends of a step. The root mean square error of h over all samples is of order 2 in D.
    """

    title = "The bilinear (trapezoidal) rule with two inputs per step has an error of order 2 in the time step"
    source = Source("foundation2025", _PLACE, note="the order of the error")
    relation = _RUNGS
    control = _SECOND
    unexplained = "the constant"

    def order(self) -> float:
        return -2.0

    def outputs(self, problem: DrivenMode, step: Array, times: Array) -> Array:
        return run(discretise(problem.system, step, "bilinear"), _wave(problem, times))[:, 0]


class OneInputBilinearOrder(AbstractStepOrder):
    """Let dh/dt = l h + u be a mode with the complex pole l and a smooth input u, and let D be the time step. Deep
    state-space models run the recurrence h_k = a h_{k-1} + b u_k, where the bilinear rule gives a = (1 + Dl/2)/(1 -
    Dl/2) and b = D/(1 - Dl/2). This recurrence uses only one input per step, whereas the trapezoidal rule, the bilinear
    rule with inputs at both ends of a step, uses two. So the root mean square error of the recurrence over all samples
    is only of order 1 in D.
    """

    title = "The bilinear rule with one input per step has an error of order 1 in the time step"
    source = Source("foundation2025", _PLACE, note="as state-space layers use it")
    relation = _RUNGS
    control = _FIRST
    unexplained = "how training compensates for this error, since b and c are learned"

    def order(self) -> float:
        return -1.0

    def outputs(self, problem: DrivenMode, step: Array, times: Array) -> Array:
        z = problem.pole * step
        after, gain = (1 + z / 2) / (1 - z / 2), step / (1 - z / 2)
        # counted from the state after the input: C' = C a, D' = C b
        system = DiscreteSystem(DiagonalMatrix(after[None]), gain[None, None], after[None, None], gain.real[None, None])
        return run(system, _wave(problem, times))[:, 0]
