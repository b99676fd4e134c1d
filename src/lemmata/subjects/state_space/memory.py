"""How long linear states remember: single states fall exponentially, and sums of states can follow power laws.

This theory bounds how slowly the response of a state-space model falls with the lag, by its slowest pole. A power law
falls more slowly than any exponential. The theory also gives the number of poles whose sum of exponentials can follow a
power law. This number grows like the logarithm of the range of lags times the logarithm of the accuracy. So power laws
do not need many states (no curse of memory). The theory assumes poles that are chosen, not trained. It does not say
whether gradient descent finds such poles, or what happens to rates that are trained near the border of stability.
"""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.state_space._pole_sums import MixedModes, SlowModes

ABOUT = {"tool": "approximation theory", "architecture": "state-space model", "object": "memory", "problem": 4}


class PowerLaw(eqx.Module):
    """A sum of exponentials exp(-r_k t) that approximates t^-p, with the rates log r_k = (k + shift) h.

    Args:
        power: the exponent p of the power law.
        spacing: the spacing h of the logarithms of the rates.
        shift: the shift of these logarithms, as a share of h.
    """

    power: Float[Array, ""]
    spacing: Float[Array, ""]
    shift: Float[Array, ""]


class PowerLaws(Population[PowerLaw]):
    """Powers p around 1, approximated by exponentials with rates whose successive ratios are about e."""

    settings = Space(
        power=Real(1.0, 0.3, 2.0, "p, about"),
        spacing=Real(1.0, 0.6, 1.5, "approximate logarithm of the ratio of successive rates"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> PowerLaw:
        """Draw a power and a spacing near the settings, and a shift between -1/2 and 1/2."""
        (normal,) = draws(key, (3,))
        power, spacing = setting["power"] * jnp.exp(0.1 * normal[0]), setting["spacing"] * jnp.exp(0.03 * normal[1])
        return PowerLaw(power, spacing, 0.5 * jnp.tanh(normal[2]))

    def hypotheses(self, problem: PowerLaw) -> list[Hypothesis]:
        """Require that the first harmonic of the error, a periodic function of log t, is far above the others."""
        second = math.pi**2 / problem.spacing
        return [Hypothesis("pi²/h", second, ">", 5.0, "later harmonics are smaller by about exp(-pi²/h)")]


_SUMS = Source("beylkin2005", "Section 2", note="exponential sums for power functions, by the trapezoidal rule")
_TIMES = 400


def _harmonic(power: float, spacing: float, number: int = 1) -> float:
    """Return 2 |Gamma(p + 2 pi i k / h)| / Gamma(p), the amplitude of harmonic k of the relative error."""
    from scipy.special import gamma

    return float(2 * abs(gamma(power + 2j * np.pi * number / spacing)) / gamma(power))


def _relative_error(power: float, rates: np.ndarray, spacing: float, times: np.ndarray) -> np.ndarray:
    """Return the relative error t^p sum_k h r_k^p / Gamma(p) exp(-r_k t) - 1, for the spacing h and the rates r_k."""
    from scipy.special import gamma

    terms = np.exp(power * np.log(np.outer(times, rates)) - np.outer(times, rates))
    return spacing / gamma(power) * terms.sum(axis=1) - 1


def _largest_error(problem: PowerLaw) -> float:
    """Return the largest relative error over four periods in log t, with all rates that matter there."""
    power, spacing, shift = (float(x) for x in (problem.power, problem.spacing, problem.shift))
    reach = 45 / min(power, 1.0)  # terms fall like exp(-p |x|) on one side, and faster than exponentially on the other
    places = spacing * (shift + np.arange(-int(reach / spacing), int(8 / spacing) + 1))
    times = np.exp(spacing * np.linspace(0, 4, _TIMES + 1))
    return float(np.abs(_relative_error(power, np.exp(places), spacing, times)).max())


class PowerLawByExponentials(Claim[PowerLaw]):
    """Let p > 0 be a power, let h > 0 be a spacing, and let the number a be a shift. The sum of exponentials

        sum_k h e^{p x_k} / Gamma(p) exp(-e^{x_k} t),   x_k = (k + a) h over all integers k,

    approximates t^-p. The relative error is the same on every scale: it is periodic in log t with the period h. Its
    largest value equals the amplitude of its first harmonic, 2 |Gamma(p + 2 pi i / h)| / Gamma(p), up to the size of
    its second harmonic. The second harmonic is smaller than the first by a factor of about exp(-pi²/h).
    """

    title = "A sum of exponentials approximates t^-p with the same relative error on every scale"
    source = _SUMS
    stated = Kind.OWN
    population = PowerLaws()
    relation = EqualInMean(margin=0.01, resolution=0.01, over="problems")
    control = Control("the largest error is half of the first harmonic", lambda error, problem: error / 2)
    controls = "how well states with geometric rates represent a power law"
    unexplained = "rates that training chooses"
    trials = 64
    traced = False  # JAX has no gamma function of a complex number

    def predict(self, problem: PowerLaw) -> Array:
        return jnp.asarray(_harmonic(float(problem.power), float(problem.spacing)))

    def measure(self, problem: PowerLaw, key: Key[Array, ""]) -> Array:
        return jnp.asarray(_largest_error(problem))


class HarmonicBound(Claim[PowerLaw]):
    """Let p > 0 be a power, let h > 0 be a spacing, and let the number a be a shift. The sum of exponentials

        sum_k h e^{p x_k} / Gamma(p) exp(-e^{x_k} t),   x_k = (k + a) h over all integers k,

    approximates t^-p. The relative error is a periodic function of log t. At every t, it is at most the sum of the
    amplitudes of the harmonics of this function,

        2 sum_{k >= 1} |Gamma(p + 2 pi i k / h)| / Gamma(p).
    """

    title = (
        "If a sum of exponentials approximates a power law, the relative error is at most the sum of its "
        "harmonics' amplitudes"
    )
    source = _SUMS
    stated = Kind.OWN
    population = PowerLaws()
    relation = AtMost()
    control = Control("the error is at most 9/10 of the sum", lambda bound, problem: 0.9 * bound)
    controls = "how well states with geometric rates represent a power law"
    unexplained = "rates that training chooses"
    traced = False  # JAX has no gamma function of a complex number
    trivial = 1.0  # no exponentials at all

    def predict(self, problem: PowerLaw) -> Array:
        power, spacing = float(problem.power), float(problem.spacing)
        return jnp.asarray(sum(_harmonic(power, spacing, number) for number in range(1, 8)))

    def measure(self, problem: PowerLaw, key: Key[Array, ""]) -> Array:
        return jnp.asarray(_largest_error(problem))

    def condition(self, problem: PowerLaw) -> float:
        """The condition number: the error is a difference of numbers of size 1."""
        return 100 / _harmonic(float(problem.power), float(problem.spacing))


class StatesForPowerLaw(Claim[PowerLaw]):
    """Let p > 0 be a power, and let h be a spacing. Let state k have the response h e^{pkh} / Gamma(p) exp(-e^{kh} t).
    The sum of these responses over all integers k approximates t^-p. Now use only finitely many states, with
    consecutive k. Take the smallest number of states whose relative error for t^-p on [1, T] is at most four times the
    relative error with all k. This number grows at most in proportion to L = log T, the logarithm of the range. In
    this sense, power laws have no curse of memory.
    """

    title = "The number of decaying states that a power-law memory needs grows at most like the logarithm of its range"
    source = _SUMS
    stated = Kind.OWN
    population = PowerLaws()
    relation = Rate("log T", (40.0, 80.0, 160.0, 320.0), upper=True)
    control = Control("the number of states grows like the root of L", lambda exponent, problem: exponent - 0.5)
    controls = "the number of states for a long memory"
    unexplained = "whether training finds these states"
    trials = 16
    traced = False  # JAX has no gamma function of a complex number
    predict = 1.0

    def measure_at(self, problem: PowerLaw, key: Key[Array, ""], rung: float) -> Array:
        power, spacing = float(problem.power), float(problem.spacing)
        allowed = 4 * _harmonic(power, spacing)
        # At each end, errors have one sign. Slow rates are missing at t = T, and fast rates at t = 1.
        slow = lambda count: _relative_error(
            power, np.exp(spacing * np.arange(-count, 40)), spacing, np.exp(rung * np.ones(1))
        )
        fast = lambda count: _relative_error(power, np.exp(spacing * np.arange(-400, count)), spacing, np.ones(1))
        below = next(count for count in range(2000) if abs(slow(count)[0]) <= allowed)
        above = next(count for count in range(-50, 200) if abs(fast(count)[0]) <= allowed)
        return jnp.asarray(float(below + above))


class ResponseDecay(Claim[MixedModes]):
    """Let a recurrence have the matrix A = V diag(a) V^-1 with the poles a, the input vector B and the output vector C.
    Its response K_s = C A^s B satisfies

        |K_s| <= |C| |B| cond(V) max |a|^s,   cond(V) = |V| |V^-1|,

    where |V| is the spectral norm. So, for a ratio r, the response after T steps can be as large as r |C| |B| cond(V)
    only if some pole has log|a| >= log(r)/T. A zero-order hold with the time step D turns each pole l of a continuous
    system into the pole e^{Dl}. For such a recurrence, the condition is D Re l >= log(r)/T.
    """

    title = "The response of a linear recurrence falls at least as fast as the powers of its slowest pole"
    source = Source("foundation2025", "Section 3.4, linear filters", note="how much of the past a stable system keeps")
    stated = Kind.OWN
    population = SlowModes()
    relation = AtMost()
    control = Control(
        "the bound falls with the squared rate",
        lambda bound, problem: bound * jnp.abs(problem.poles).max() ** jnp.arange(1, problem.length + 1),
    )
    controls = "how long a linear state remembers"
    unexplained = "the large constants of bases that are far from orthonormal, such as that of LegS"
    trivial = "without the poles, no bound on a power of A is known"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU

    def predict(self, problem: MixedModes) -> Array:
        values = np.linalg.svd(np.asarray(problem.basis), compute_uv=False)
        size = np.linalg.norm(problem.output) * np.linalg.norm(problem.input) * values[0] / values[-1]
        return jnp.asarray(size * float(abs(problem.poles).max()) ** np.arange(1, problem.length + 1))

    def measure(self, problem: MixedModes, key: Key[Array, ""]) -> Array:
        """The sizes |K_s| of the response, by steps with the dense matrix A."""
        basis = np.asarray(problem.basis)
        step = np.linalg.solve(basis.T, (basis * np.asarray(problem.poles)).T).T
        state, found = np.asarray(problem.input), []
        for _ in range(problem.length):
            state = step @ state
            found.append(abs((np.asarray(problem.output) @ state)[0, 0]))
        return jnp.asarray(np.array(found))
