"""Errors of a flow: how errors of the velocity and of the solver's steps change the samples.

This theory bounds the error at the end of a flow whose velocity is wrong, and gives the error of Euler's method. The
bound assumes a bounded error of the velocity along the model's own path. The error of Euler's method assumes the exact
velocity. It does not explain errors that cancel.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Kind, Limit, Population, Rate, Real, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.engine.problems.variables import dimension
from lemmata.subjects.generation._gaussian_pairs import BY_SOLVER, carried

ABOUT = {"tool": "dynamical systems", "architecture": "diffusion model", "object": "sampler"}


class WrongField(eqx.Module):
    """A velocity v(x) = A x + b sin(<k, x>) k/|k|², its model v + e cos(f <k, x>) u with |u| = 1, and a start.

    Args:
        matrix: A.
        wave: k.
        height: b >= 0.
        frequency: f.
        error: e.
        direction: u.
        start: x_0.
    """

    matrix: Float[Array, "d d"]
    wave: Float[Array, " d"]
    height: Float[Array, ""]
    frequency: Float[Array, ""]
    error: Float[Array, ""]
    direction: Float[Array, " d"]
    start: Float[Array, " d"]

    @property
    def growth(self) -> Float[Array, ""]:
        """The constant L, which is the largest eigenvalue of (A + A')/2, plus b. The derivative of the sine term, b
        cos(<k, x>) k k'/|k|², has no eigenvalue above b.
        """
        return jnp.linalg.eigvalsh((self.matrix + self.matrix.T) / 2)[-1] + self.height

    def true(self, x: Array) -> Array:
        waves = self.wave / (self.wave @ self.wave)
        return self.matrix @ x + self.height * jnp.sin(self.wave @ x) * waves

    def model(self, x: Array) -> Array:
        return self.true(x) + self.error * jnp.cos(self.frequency * self.wave @ x) * self.direction


class WrongFields(Population[WrongField]):
    """Wrong velocities. In half of the problems, the velocity is v(x) = L x and its error is constant. In the others, A
    is random, v has the sine term, and the error varies with x.
    """

    settings = Space(d=dimension(3, 1, 8), most=Real(2.0, 0.5, 3.0, "largest |L| in the problems with A = L I"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> WrongField:
        d = setting["d"]
        size_key, matrix_key, row_key, number_key, kind_key = jax.random.split(key, 5)
        growth = jax.random.uniform(size_key, minval=-setting["most"], maxval=setting["most"])
        general = jax.random.bernoulli(kind_key).astype(float)
        matrix = jax.random.normal(matrix_key, (d, d)) / d**0.5
        wave, direction, start = jax.random.normal(row_key, (3, d))
        height, frequency, error = jax.random.uniform(number_key, (3,), minval=0.1)
        return WrongField(
            general * matrix + (1 - general) * growth * jnp.eye(d),
            wave,
            general * height,
            general * frequency,
            error,
            direction / jnp.linalg.norm(direction),
            start,
        )

    def hypotheses(self, problem: WrongField) -> list[Hypothesis]:
        off = jnp.abs(jnp.linalg.norm(problem.direction) - 1)
        return [
            Hypothesis("the direction of the error has norm 1", off, "<", 1e-12, "e is a bound on the error"),
            Hypothesis("the wave has a direction", jnp.linalg.norm(problem.wave), ">", 0.0),
        ]


def _after(problem: WrongField, growth: Array) -> Array:
    small = jnp.abs(growth) < 1e-8
    return problem.error * jnp.where(small, 1.0, jnp.expm1(growth) / jnp.where(small, 1.0, growth))


class FlowStability(Claim[WrongField]):
    """Let dx/dt = v(x) and dy/dt = u(y) start from the same point. Let e bound the error of u along the path y: |u - v|
    <= e. Let L be a number, possibly negative, such that <v(x) - v(y), x - y> <= L |x - y|² for all x and y. At time 1,

        |y - x| <= e (exp(L) - 1)/L.

    The velocity v(x) = L x with a constant error attains this bound. A Lipschitz constant K of v can replace L, but the
    bound can then be much larger. For v(x) = -K x, the bound with K is larger than the bound with L = -K by exactly the
    factor exp(K). The flow of v(x) = -K x is contracting, so it forgets its errors. Only the bound with L shows this.

    Derivation: Half the derivative of |y - x|² is <u(y) - v(y), y - x> + <v(y) - v(x), y - x>. Then use Groenwall's
    inequality.
    """

    title = "A velocity error e moves flow samples by at most e (exp(L) - 1)/L for the one-sided Lipschitz constant L"
    source = Source("emergence2026", "Section 16.6.2", note="with a one-sided constant")
    stated = Kind.OWN
    population = WrongFields()
    relation = AtMost()
    control = Control("the distance is at most e, the error of the velocity", lambda bound, problem: problem.error)
    controls = "how far an error of a learned velocity moves a sample"
    unexplained = "errors in directions that the flow contracts, for which the bound is too large"
    trivial = "without a one-sided constant, an error of the velocity gives no bound on the distance"

    def predict(self, problem: WrongField) -> Array:
        return _after(problem, problem.growth)

    def measure(self, problem: WrongField, key: Key[Array, ""]) -> Array:
        """Compute both paths with a solver."""
        both = jnp.stack([problem.start, problem.start])
        ends = carried(lambda t, x: jnp.stack([problem.true(x[0]), problem.model(x[1])]), both)
        return jnp.linalg.norm(ends[1] - ends[0])

    def condition(self, problem: WrongField) -> Array:
        """Allow for the solver's error, which is relative to the paths."""
        size = (1 + jnp.linalg.norm(problem.start)) * jnp.exp(jnp.linalg.norm(problem.matrix, ord=2) + problem.height)
        return BY_SOLVER * size / _after(problem, problem.growth)


class Wall(eqx.Module):
    """Uniform starts on [0, 1/2], the velocity 1, and a model that is 0 on a wall.

    The wall is an interval that begins at `place`.
    """

    place: Float[Array, ""]


class WallStopsSamples(Claim[Wall]):
    """Let X_0 be uniform on [0, 1/2], and let the velocity be v = 1. Let a model have the velocity u = 0 on a wall [c,
    c + 1/n] with 1/2 < c < 3/4, and u = 1 elsewhere. The mean squared error of u along the true paths falls like 1/n.
    But all paths of the model end at the wall, and their mean distance from the true ends is

        5/4 - c   for every n.

    So the training loss of a velocity alone does not bound the error of the samples. Such a bound also needs a
    Lipschitz constant of the model or a uniform bound on the error of its velocity. The test divides the mean distance
    by the root of the mean squared error. This ratio grows like n^(1/2).

    Derivation: every true path x + t passes c, as x < c < x + 1. The model's path stops at c, at the distance x + 1 - c
    from the true end, and x has the mean 1/4. A true path is inside the wall for the time 1/n, and there the velocity
    of the model errs by 1.
    """

    title = "A small flow matching loss of the velocity does not bound the error of the samples"
    source = Source("emergence2026", "Section 16.6.2", note="why a Lipschitz constant is needed")
    stated = Kind.OWN
    population = Drawn(Wall, place=uniform(0.55, 0.75))
    relation = Rate("n", (16.0, 32.0, 64.0, 128.0), margin=0.02, resolution=0.05)
    control = Control(
        "the mean distance is at most of the order of the root of the loss", lambda exponent, problem: exponent - 0.5
    )
    controls = "what a small training loss says about samples"
    unexplained = "models with a Lipschitz constant"
    trials = 32
    predict = 0.5

    def measure_at(self, problem: Wall, key: Key[Array, ""], rung: float) -> Array:
        """Follow 64 starts by Euler steps whose length at velocity 1 is a sixteenth of the width 1/n of the wall."""
        steps = 16 * int(rung)
        start = (jnp.arange(64) + 0.5) / 128
        inside = lambda x: ((x >= problem.place) & (x <= problem.place + 1 / rung)).astype(float)

        def step(_, carry):
            true, model, loss = carry
            return true + 1 / steps, model + (1 - inside(model)) / steps, loss + inside(true) / steps

        true, model, loss = jax.lax.fori_loop(0, steps, step, (start, start, jnp.zeros(64)))
        return jnp.mean(jnp.abs(true - model)) / jnp.sqrt(jnp.mean(loss))


class NormalTarget(eqx.Module):
    """The base N(0, 1) and the target N(0, s²)."""

    spread: Float[Array, ""]

    def slopes(self, t: Array) -> Array:
        """Return r(t), where the velocity at x and time t for independent pairs is r(t) x."""
        return (t * self.spread**2 - (1 - t)) / ((1 - t) ** 2 + t**2 * self.spread**2)

    def straight(self, t: Array) -> Array:
        """Return r(t) for the path of optimal transport, which has the standard deviation 1 - t + t s."""
        return (self.spread - 1) / (1 - t + t * self.spread)


class EulerErrorConstant(Claim[NormalTarget]):
    """Let X_0 ~ N(0, 1) and X_1 ~ N(0, s²) be independent, and follow the velocity of X_t = (1 - t) X_0 + t X_1 by N
    Euler steps. The standard deviation of the samples is too small by the relative error e_N, and

        N e_N -> 1/2 + (pi/8)(s + 1/s)   as N grows.

    So a target that is ten times narrower or wider than the starting distribution needs 3.5 times as many steps as a
    target of equal width. On the path of optimal transport, with the standard deviation 1 - t + t s, Euler's method is
    exact for every N. The test subtracts the error of Euler's method on the path of optimal transport.

    Derivation: Let sd(t) be the standard deviation of X_t, let r = sd'/sd, and write int for the integral over t in [0,
    1]. With steps h, log prod(1 + h r) - log s = -(h/2)(r(1) - r(0) + int r²) + O(h²). Here r(0) = -1 and r(1) = 1. Let
    tan(phi) = t s/(1 - t). The integrals of sd^-2 and s² sd^-4 over [0, 1] are pi/(2 s) and 1 + (pi/4)(s + 1/s). Since
    r² = (1 + s²)/sd² - s²/sd^4, int r² = (pi/4)(s + 1/s) - 1.
    """

    title = "N Euler steps along the independent path from N(0, 1) to N(0, s²) err by about (1/2 + (pi/8)(s + 1/s))/N"
    source = Source("emergence2026", "Figure 16.9", "Figure 16.11", note="for normal distributions, with the constant")
    stated = Kind.OWN
    population = Drawn(NormalTarget, positive("spread", "the target has a density"), spread=log_uniform(0.1, 3.0))
    relation = Limit("N", (64.0, 256.0, 1024.0), margin=0.03, resolution=0.03)
    control = Control("the limit lacks the term 1/2", lambda limit, problem: limit - 0.5)
    controls = "how many solver steps a sample needs"
    unexplained = "distributions that are not normal"

    def predict(self, problem: NormalTarget) -> Array:
        return 0.5 + jnp.pi / 8 * (problem.spread + 1 / problem.spread)

    def measure_at(self, problem: NormalTarget, key: Key[Array, ""], rung: float) -> Array:
        """Return N times the error on the independent path, minus N times the (zero) error on the optimal path."""
        t = jnp.arange(int(rung)) / rung
        error = lambda slopes: 1 - jnp.prod(1 + slopes(t) / rung) / problem.spread
        return rung * (error(problem.slopes) - error(problem.straight))


class HeunErrorConstant(Claim[NormalTarget]):
    """Let X_0 ~ N(0, 1) and X_1 ~ N(0, s²) be independent, and follow the velocity of X_t = (1 - t) X_0 + t X_1 by N
    steps of Heun's method. Let e_N be 1 minus the standard deviation of the samples divided by s. As N grows,

        N² e_N -> (s² - s^-2)/8.

    So the samples of a narrow target are too wide, and the samples of a wide target are too narrow. For s = 1 the error
    is of a higher order, because the errors of both halves of the path cancel. The test uses s < 1.

    Derivation: Let sd(t) be the standard deviation of X_t, let r = sd'/sd, let h be the step, and write int for the
    integral over t in [0, 1]. One step has the relative error h³ (r''/12 - r³/6) + O(h^4). Moreover r' = s²/sd^4 - r²,
    so r'(1) - r'(0) = s^-2 - s². Since r s²/sd^4 is the derivative of -s²/(4 sd^4), int r³ = (s² - s^-2)/4.
    """

    title = (
        "N steps of Heun's method along the independent path from N(0, 1) to N(0, s²) err by about (s² - s^-2)/(8 N²)"
    )
    source = Source("karras2022", "Main result", note="Heun's method as a sampler; the constant is derived here")
    stated = Kind.OWN
    population = Drawn(NormalTarget, positive("spread", "the target has a density"), spread=log_uniform(0.1, 0.7))
    relation = Limit("N", (64.0, 256.0, 1024.0), margin=0.03, resolution=0.03)
    control = Control("the factor is 1/6 instead of 1/8", lambda limit, problem: 4 / 3 * limit)
    controls = "how many solver steps a sample needs"
    unexplained = "distributions that are not normal"

    def predict(self, problem: NormalTarget) -> Array:
        return (problem.spread**2 - problem.spread**-2) / 8

    def measure_at(self, problem: NormalTarget, key: Key[Array, ""], rung: float) -> Array:
        """Return N² times the error on the independent path, minus N² times the (zero) error on the optimal path."""
        h, t = 1 / rung, jnp.arange(int(rung)) / rung

        def error(slopes) -> Array:
            first, second = slopes(t), slopes(t + h)
            return 1 - jnp.prod(1 + h / 2 * (first + second * (1 + h * first))) / problem.spread

        return rung**2 * (error(problem.slopes) - error(problem.straight))
