"""Transitions: how the width of a jump scales with the size of the system, and jumps in time from small starts.

This theory assumes models that can be solved exactly: magnets in which all signs interact, two states, and one mode of
a deep linear network. It computes the width of their transitions. It does not explain which of these models a given
network resembles.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Rate, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.subjects.emergence._crossing import crossing

ABOUT = {"tool": "dynamical systems", "architecture": "any", "object": "training"}

_SPINS = (64.0, 256.0, 1024.0, 4096.0)
_WIDTH = "whether a transition is continuous or a jump, from its width at several sizes"
_SPACE = "signs that interact only with neighbours in space, whose exponents depend on the dimension"


class Magnet(eqx.Module):
    """The Curie-Weiss model: N signs (+1 or -1) that all interact with the strength J/N, at temperatures near J.

    Args:
        coupling: the strength J, which is also the critical temperature.
        low: the lower of the two levels of the Binder cumulant (see `binder`) between which the width is measured.
        cold: a temperature below the critical temperature, in units of J.
    """

    coupling: Float[Array, ""]
    low: Float[Array, ""]
    cold: Float[Array, ""]

    def law(self, n: int, temperature: Array, field: Array | float = 0.0) -> tuple[Array, Array]:
        """Return the possible magnetisations m of N signs, and their exact probabilities."""
        up = jnp.arange(n + 1.0)
        m = 2 * up / n - 1
        ways = jax.lax.lgamma(n + 1.0) - jax.lax.lgamma(up + 1) - jax.lax.lgamma(n - up + 1)
        return m, jax.nn.softmax(ways + n * (self.coupling * m**2 / 2 + field * m) / temperature)

    def binder(self, n: int, temperature: Array) -> Array:
        """Return the Binder cumulant 1 - E m^4/(3 (E m²)²) of the magnetisation m."""
        m, p = self.law(n, temperature)
        return 1 - (p @ m**4) / (3 * (p @ m**2) ** 2)


MAGNETS = Drawn(
    Magnet,
    positive("coupling", "the signs attract each other"),
    coupling=log_uniform(0.5, 2.0),
    low=uniform(0.15, 0.3),
    cold=uniform(0.4, 0.65),
)


class CriticalMagnetisation(Claim[Magnet]):
    """Let m be the mean of N signs (+1 or -1) that all interact with the strength J/N. At the critical temperature J,

        E |m| ~ N^(-1/4).

    If the signs are independent, or if the temperature is above J, then E |m| ~ N^(-1/2).
    """

    title = "At the critical point of the Curie-Weiss model, the mean of N coupled signs is of the order N^(-1/4)"
    source = Source("ellis1985", "Chapter V", note="the Curie-Weiss model at its critical temperature")
    stated = Kind.STEP
    population = MAGNETS
    relation = Rate("N", _SPINS, margin=0.04, resolution=0.04)
    control = Control("E |m| falls like N^(-1/2)", lambda exponent, problem: exponent - 0.25)
    controls = "how large the fluctuations of a system at its transition are"
    unexplained = _SPACE
    trials = 8
    predict = -0.25

    def measure_at(self, problem: Magnet, key: Key[Array, ""], n: float) -> Array:
        """Compute the mean by exact sums over the magnetisations."""
        m, p = problem.law(int(n), problem.coupling)
        return p @ jnp.abs(m)


class CriticalWidth(Claim[Magnet]):
    """N signs (+1 or -1) that all interact with the strength J/N have a continuous transition at the temperature J. Fix
    two levels, and take the two temperatures at which the Binder cumulant 1 - E m^4/(3 (E m²)²) of the mean m reaches
    these levels. The width of the transition is the distance between the logarithms of these two temperatures. As N
    grows, the width falls like

        N^(-1/2).

    Derivation: the mean m has a density proportional to exp(-N (b m²/2 + m^4/12)) near m = 0, where b is 1 - J/T up to
    a factor, and T is the temperature. With m = N^(-1/4) x, the density of x and the cumulant depend on N and T only
    through sqrt(N) b.
    """

    title = "The continuous phase transition of N coupled signs (Curie-Weiss) has a width of the order N^(-1/2)"
    source = Source("ellis1985", "Chapter V", note="the Curie-Weiss model; the width is derived here")
    stated = Kind.OWN
    population = MAGNETS
    relation = Rate("N", _SPINS, margin=0.04, resolution=0.04)
    control = Control("the width falls like N^-1", lambda exponent, problem: exponent - 0.5)
    controls = _WIDTH
    unexplained = _SPACE
    trials = 8
    predict = -0.5

    def measure_at(self, problem: Magnet, key: Key[Array, ""], n: float) -> Array:
        """Find the width by bisection on exact sums over the magnetisations."""
        cooling = lambda cold: problem.binder(int(n), problem.coupling * jnp.exp(-cold))
        return crossing(cooling, problem.low + 0.2, -3.0, 3.0) - crossing(cooling, problem.low, -3.0, 3.0)


class FieldJump(Claim[Magnet]):
    """Let N signs (+1 or -1) that all interact with the strength J/N be at a temperature below J, in an external field
    h. Their mean m jumps as h passes 0. Fix two levels, and take the two fields at which E m reaches these levels. The
    width of the jump is the distance between these two fields. As N grows, the width falls like

        1/N.
    """

    title = "Below the critical temperature, the jump of N coupled signs in a field has a width of the order 1/N"
    source = Source("emergence2026", "Figure 22.8", note="for coupled signs in a field")
    population = MAGNETS
    relation = Rate("N", _SPINS, margin=0.02, resolution=0.02)
    control = Control("the width falls like N^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = _WIDTH
    unexplained = _SPACE
    trials = 8
    predict = -1.0

    def measure_at(self, problem: Magnet, key: Key[Array, ""], n: float) -> Array:
        """Find the width by bisection on exact sums over the magnetisations."""

        def mean(logarithm: Array) -> Array:
            m, p = problem.law(int(n), problem.cold * problem.coupling, jnp.exp(logarithm))
            return p @ m

        return jnp.exp(crossing(mean, 0.3, -20.0, 2.0)) - jnp.exp(crossing(mean, 0.15, -20.0, 2.0))


class TwoStates(eqx.Module):
    """A system of size N with two states, whose free energies differ by N a (x - x_0) for a control parameter x."""

    slope: Float[Array, ""]
    place: Float[Array, ""]


class TwoStatesWidth(Claim[TwoStates]):
    """A system of size N has two states whose free energies differ by N a (x - x_0), where x is a control parameter.
    The second state has the probability 1/(1 + exp(-N a (x - x_0))). So this probability rises from 10 % to 90 % while
    x grows by

        2 log(9)/(a N).

    This width of the rise is proportional to 1/N. The centre x_0 of the rise does not depend on N.
    """

    title = "A switch between two states of a system of size N has a width proportional to 1/N"
    source = Source("emergence2026", "Figure 22.8", note="for two states, with explicit constants")
    population = Drawn(TwoStates, positive("slope"), slope=log_uniform(0.3, 3.0), place=uniform(-1.0, 1.0))
    relation = Rate("N", (16.0, 64.0, 256.0), margin=0.02, resolution=0.02)
    control = Control("the width falls like N^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the width of a switch between two mechanisms"
    unexplained = "systems that stay in one state for a long time although the other is better"
    trials = 8
    predict = -1.0

    def measure_at(self, problem: TwoStates, key: Key[Array, ""], n: float) -> Array:
        """Find the width by bisection on the weights of the two states."""

        def share(x: Array) -> Array:
            energies = jnp.stack([jnp.zeros(()), -n * problem.slope * (x - problem.place)])
            return jax.nn.softmax(-energies)[1]

        return crossing(share, 0.9, -10.0, 10.0) - crossing(share, 0.1, -10.0, 10.0)


class Mode(eqx.Module):
    """A mode of strength s in a linear network of two layers, whose two weights have the product u_0 at the start."""

    strength: Float[Array, ""]
    start: Float[Array, ""]


def flow_times(velocity: Callable[[Array], Array], state: Array, levels: Array, end: Array) -> Array:
    """Return when the product of a state's entries first passes each level, by fourth-order Runge-Kutta steps."""
    steps = 4000
    h = end / steps

    def step(y: Array, size: Array) -> Array:
        a = velocity(y)
        b = velocity(y + size / 2 * a)
        c = velocity(y + size / 2 * b)
        return y + size / 6 * (a + 2 * b + 2 * c + velocity(y + size * c))

    _, states = jax.lax.scan(lambda y, _: (step(y, h), y), state, length=steps)
    products = jnp.prod(states, axis=1)

    def passes(level: Array) -> Array:
        last = jnp.sum(products < level) - 1
        part = crossing(lambda size: jnp.prod(step(states[last], size)), level, 0.0, h)
        return last * h + part

    return jax.vmap(passes)(levels)


class SaddleToSaddle(Claim[Mode]):
    """A linear network of two layers with weights a and b learns a mode of strength s by gradient flow on (s - b a)²/2.
    The start is balanced: a = b = sqrt(u_0), where 0 < u_0 < s/10. The product u = b a is s/2 at the time

        log(s/u_0 - 1)/(2 s),

    and it rises from s/10 to 9s/10 within log(81)/(2 s), whatever the start. So for a smaller start, the jump comes
    later but has the same width. As u_0 goes to 0, the width divided by the waiting time tends to 0. A single layer
    does not have such a waiting time: it reaches s/2 at the time log(2 (1 - u_0/s)), which is bounded.
    """

    title = "A small start delays the learning of a mode of a two-layer linear network, but does not widen its rise"
    source = Source("saxe2014", "main result", note="the solution for one mode from a balanced start")
    stated = Kind.STEP
    population = Drawn(
        Mode,
        positive("start"),
        strength=log_uniform(0.5, 3.0),
        start=log_uniform(1e-6, 3e-2),
    )
    relation = Equal()
    control = Control(
        "the product is s/2 at log(s/u_0)/(2 s), the width grows like log(s/u_0), and one layer "
        "takes the time log(2.1 (1 - u_0/s))",
        lambda found, problem: jnp.stack(
            [
                jnp.log(problem.strength / problem.start) / (2 * problem.strength),
                found[1] * jnp.log(problem.strength / problem.start) / 8,
                jnp.log(2.1 * (1 - problem.start / problem.strength)),
            ]
        ),
    )
    controls = "when a deep network learns a feature, and how suddenly"
    unexplained = "starts that are not balanced, and nonlinear networks"

    def predict(self, problem: Mode) -> Array:
        s, ratio = problem.strength, problem.start / problem.strength
        return jnp.stack([jnp.log(1 / ratio - 1) / (2 * s), jnp.log(81.0) / (2 * s), jnp.log(2 * (1 - ratio))])

    def measure(self, problem: Mode, key: Key[Array, ""]) -> Array:
        """Integrate the flow of the two layers and the flow of one layer in small steps."""
        s, u = problem.strength, problem.start
        deep = lambda y: y[::-1] * (s - y[0] * y[1])
        end = (jnp.log(s / u) + 6) / (2 * s)
        half, low, high = flow_times(deep, jnp.sqrt(u) * jnp.ones(2), s * jnp.asarray([0.5, 0.1, 0.9]), end)
        single = flow_times(lambda y: s - y, u[None], s * jnp.asarray([0.5]), jnp.asarray(3.0))
        return jnp.stack([half, high - low, single[0]])

    def condition(self, problem: Mode) -> Array:
        """Allow for the steps: each of length h has an error of (s h)^4, where s h is below 0.004."""
        return jnp.full(3, 1e3)
