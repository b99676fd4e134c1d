"""The output of a linear state-space model in continuous time: its memory, its start and its direct path.

This theory gives the output of dh/dt = A h + B u, y = C h + D u as three terms, for every input and every start. It
assumes that the system is linear and does not change with time or input. It does not say which inputs a model
receives, or what later layers do with its outputs.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.state_space._state_space_systems import DrivenSystem, DrivenSystems

from ._integration import exponential, integrated

ABOUT = {"tool": "dynamical systems", "architecture": "state-space model", "object": "construction"}

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_CONDITION = 1e4


def _observed(problem: DrivenSystem, states: Array, driven: Array) -> Array:
    return states @ problem.system.output[0] + problem.system.passed[0, 0] * driven


def _solved(problem: DrivenSystem) -> Array:
    """Return the outputs at the given times by solving the differential equation."""
    states = integrated(problem.system, lambda time, _: problem.u(time), problem.start, problem.times)
    return _observed(problem, states, problem.u(problem.times))


def _convolved(problem: DrivenSystem) -> Array:
    """Return the integral of C exp(A(t - s)) B u(s) over s in [0, t], by Gauss's rule, for each time t."""
    half = problem.times[:, None] / 2
    lags, weights = half * (1 + _NODES), half * _WEIGHTS
    powers = jax.vmap(jax.vmap(lambda lag: exponential(lag * problem.system.matrix.dense())))(lags)
    kernel = jnp.einsum("n,tsnm,m->ts", problem.system.output[0], powers, problem.system.input[:, 0])
    return jnp.sum(weights * kernel * problem.u(problem.times[:, None] - lags), axis=1)


def _steady(problem: DrivenSystem) -> Array:
    """Return D - C A^-1 B, the output under the input 1 after an infinite time, for every time."""
    moved = -jnp.linalg.solve(problem.system.matrix.dense(), problem.system.input)[:, 0]
    ones = jnp.ones_like(problem.times)
    return _observed(problem, ones[:, None] * moved, ones)


class StepResponse(Claim[DrivenSystem]):
    """Let dh/dt = A h + B u, y = C h + D u be a state-space model with an invertible matrix A. From the start h(0) = 0
    and under the constant input u = 1, its output is

        y(t) = C A^-1 (e^{At} - I) B + D.

    So the output at time t depends on how long the input has been present.
    """

    title = "The step response of a state-space model is C A^-1 (e^{At} - I) B + D"
    source = Source("foundation2025", "(4)", note="with the derivative")
    population = DrivenSystems()
    relation = Equal(block=1)
    control = Control(
        "the output is D - C A^-1 B, that of an input that was always present",
        lambda outputs, problem: _steady(problem),
    )
    controls = "the output of a state-space model under a constant input"
    unexplained = "inputs that vary"
    condition = _CONDITION  # the solver's tolerance, relative to outputs that cancel

    def predict(self, problem: DrivenSystem) -> Array:
        """Return the output from exp([[A t, B t], [0, 0]]), whose upper right block is A^-1 (e^{At} - I) B."""
        system, n = problem.system, problem.system.matrix.size
        wide = jnp.zeros((n + 1, n + 1)).at[:n, :n].set(system.matrix.dense()).at[:n, n:].set(system.input)
        moved = jax.vmap(lambda time: exponential(time * wide)[:n, n])(problem.times)
        return _observed(problem, moved, jnp.ones_like(problem.times))

    def measure(self, problem: DrivenSystem, key: Key[Array, ""]) -> Array:
        states = integrated(problem.system, lambda *_: jnp.ones(()), jnp.zeros_like(problem.start), problem.times)
        return _observed(problem, states, jnp.ones_like(problem.times))


class CompleteResponse(Claim[DrivenSystem]):
    """Let dh/dt = A h + B u, y = C h + D u be a state-space model with the start h(0) and any input u. Its output at
    time t is

        y(t) = C e^{At} h(0) + ∫_0^t C e^{A(t-s)} B u(s) ds + D u(t).

    The three terms are the remaining effect of the start, the memory of the input, and the direct path.
    """

    title = "The output of a state-space model is a sum of three terms: initial state, memory of inputs and direct path"
    source = Source("foundation2025", "(9)", note="completed")
    population = DrivenSystems()
    relation = Equal(block=1)
    control = Control(
        "the direct path is left out",
        lambda outputs, problem: outputs - problem.system.passed[0, 0] * problem.u(problem.times),
    )
    controls = "the output of a state-space model for every input and start"
    unexplained = "systems that change with time or with their input"
    condition = _CONDITION  # the solver's tolerance, relative to terms that cancel

    def predict(self, problem: DrivenSystem) -> Array:
        powers = jax.vmap(lambda time: exponential(time * problem.system.matrix.dense()))(problem.times)
        return _convolved(problem) + _observed(problem, powers @ problem.start, problem.u(problem.times))

    def measure(self, problem: DrivenSystem, key: Key[Array, ""]) -> Array:
        return _solved(problem)
