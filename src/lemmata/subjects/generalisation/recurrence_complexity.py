"""The Rademacher complexity of stable linear recurrences, and its growth with the memory.

This theory is about bounded linear readouts of a fixed recurrence with white inputs. The complexity of the readouts is
the mean length of a signed sum of states. The mean square of such a sum follows from the stationary state. The theory
assumes poles that do not depend on the sample. It does not explain recurrences that are trained.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Kind, Rate, Source
from lemmata.subjects.generalisation._sequence_classes import Recurrence, StableRecurrences

ABOUT = {"tool": "empirical processes", "architecture": "state-space model", "object": "generalisation"}

_MEMORIES = (4.0, 8.0, 16.0)
_DRAWS = 384


class RecurrenceMemory(Claim[Recurrence]):
    """Consider a fixed linear recurrence x_k(t) = a_k x_k(t-1) + b_k u(t) with white inputs u, and its readouts Re <c,
    x(T)> at the last time T, with |c| <= B. The memory of the recurrence is 1/(1 - |a|), where |a| is the largest
    |a_k|. Shrink all the numbers 1 - |a_k| by the same factor. Then the Rademacher complexity of the readouts grows
    like the square root of the memory, whatever the number of states. The reason is that the mean square of the state
    is sum_k |b_k|²/(1 - |a_k|²).
    """

    title = "The Rademacher complexity of a linear recurrence grows as the square root of its memory"
    source = Source("foundation2025", "(17)", note="the dependence of the constant on the poles")
    stated = Kind.OWN
    population = StableRecurrences()
    # 1 - |a|² is (1 - |a|)(1 + |a|): with 1 + |a| between 1.5 and 2 the slope from 4 to 16 is 0.05 off
    relation = Rate("memory", _MEMORIES, margin=0.07)
    control = Control("the complexity does not grow with the memory", lambda exponent, problem: exponent - 0.5)
    controls = "the Rademacher complexity of a linear recurrence"
    unexplained = "recurrences that are trained, and inputs that are not white"
    trials = 48
    predict = 0.5

    def measure(self, problem: Recurrence, key: Key[Array, ""]) -> Array:
        """Run the recurrence, and return the mean over signs and inputs of the supremum."""
        return problem.suprema(key, tuple(map(int, _MEMORIES)), 64).mean(axis=1)


def _from_power(problem: Recurrence) -> Float[Array, ""]:
    """Return B sqrt(tr P / n), where P is the stationary covariance of the state."""
    power = jnp.sum(problem.inputs**2 / (1 - jnp.abs(problem.poles(problem.memory)) ** 2))
    return problem.radius * jnp.sqrt(power / problem.n)


class RecurrenceComplexityAbove(Claim[Recurrence]):
    """Consider the stable recurrence x_k(t) = a_k x_k(t-1) + b_k u(t), where the inputs u are white with variance 1,
    and its readouts Re <c, x(T)> at the last time T, with |c| <= B. The Rademacher complexity of the readouts on n
    input sequences is at most

        B sqrt( tr P / n ),   tr P = sum_k |b_k|² / (1 - |a_k|²),

    where tr P is the mean square of the stationary state.
    """

    title = "An upper bound on the Rademacher complexity of the readouts of a linear recurrence"
    source = Source("foundation2025", "(17)", note="with its norm and its poles")
    stated = Kind.OWN
    population = StableRecurrences()
    relation = AtMost()
    control = Control("half of the trace is enough", lambda bound, problem: bound / jnp.sqrt(2.0))
    controls = "the Rademacher complexity of a linear recurrence"
    unexplained = "recurrences that are trained"

    def predict(self, problem: Recurrence) -> Array:
        return _from_power(problem)

    def measure(self, problem: Recurrence, key: Key[Array, ""]) -> Array:
        """Return the mean of the supremum over signs and inputs, minus four standard errors of this mean."""
        suprema = problem.suprema(key, (problem.memory,), _DRAWS)[0]
        return suprema.mean() - 4 * suprema.std(ddof=1) / jnp.sqrt(_DRAWS)

    def trivial(self, problem: Recurrence) -> Array:
        """Return the value of the bound for n = 1 sequence, which the complexity does not exceed."""
        return _from_power(problem) * jnp.sqrt(problem.n)


class RecurrenceComplexityBelow(Claim[Recurrence]):
    """Consider the stable recurrence x_k(t) = a_k x_k(t-1) + b_k u(t), where the inputs u are normal and white with
    variance 1, and its readouts Re <c, x(T)> at the last time T, with |c| <= B. The Rademacher complexity of the
    readouts on n input sequences is at least

        sqrt(2/pi) B sqrt( tr P / n ),   tr P = sum_k |b_k|² / (1 - |a_k|²),

    with equality for one real state. The reason is that the signed sum of states is a normal vector. For a given trace
    of the covariance, the mean length of a normal vector is smallest if the covariance has rank one. So the growth with
    sqrt(tr P) cannot be avoided.
    """

    title = "A lower bound on the Rademacher complexity of the readouts of a linear recurrence"
    source = Source("foundation2025", "(17)", note="with its norm and its poles")
    stated = Kind.OWN
    population = StableRecurrences()
    relation = AtLeast()
    control = Control(
        "the bound holds without the factor sqrt(2/pi)", lambda bound, problem: bound * jnp.sqrt(jnp.pi / 2)
    )
    controls = "the Rademacher complexity of a linear recurrence"
    unexplained = "inputs with heavy tails, for which the constant is smaller"
    trivial = "a complexity is at least 0"

    def predict(self, problem: Recurrence) -> Array:
        return jnp.sqrt(2 / jnp.pi) * _from_power(problem)

    def measure(self, problem: Recurrence, key: Key[Array, ""]) -> Array:
        """Return the mean of the supremum over signs and inputs, plus four standard errors of this mean."""
        suprema = problem.suprema(key, (problem.memory,), _DRAWS)[0]
        return suprema.mean() + 4 * suprema.std(ddof=1) / jnp.sqrt(_DRAWS)
