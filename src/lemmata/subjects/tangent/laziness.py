"""What makes training lazy: the scale of the model, and a condition under which the kernel stays positive definite.

Training is lazy if it hardly changes the tangent kernel. This theory gives the movement of the tangent kernel of a
network of fixed width whose outputs are multiplied by a large factor alpha, the scale. It also bounds the path of the
parameters under gradient flow, from the Jacobian at the start. It assumes the square loss and smooth activations. It
does not cover networks at their usual scale, for which the hypothesis of the bound mostly fails.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Choice,
    Claim,
    Control,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.sampled import draws
from lemmata.engine.problems.variables import dimension
from lemmata.subjects.tangent._two_layers import Units, moved

ABOUT = {
    "tool": "dynamical systems",
    "architecture": "dense network",
    "object": "kernel",
    "LazyBootstrap": {"object": "training"},
}

_SCALES = (32.0, 128.0, 512.0, 2048.0)
_STEPS = 40
_CURVATURE = 4 / 3**1.5  # the largest |tanh''|


class ScaledNetwork(eqx.Module):
    """Points, targets, and the units of a network whose outputs are scaled."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    weights: Float[Array, "m d"]
    readout: Float[Array, " m"]
    activation: str = eqx.field(static=True)

    def movements(self, targets: float, paired: bool) -> np.ndarray:
        """Return the relative movement of the kernel at each scale alpha.

        Args:
            targets: the exponent p; the targets are multiplied by alpha^p.
            paired: whether every unit has a copy with the opposite output weight; otherwise the outputs at the start
                are subtracted.
        """
        x, y = np.asarray(self.x), np.asarray(self.y)
        weights, readout = np.asarray(self.weights)[None], np.asarray(self.readout)[None]
        if paired:
            weights, readout = np.concatenate([weights] * 2, axis=1), np.concatenate([readout, -readout], axis=1)
        units = Units(self.activation, weights, readout)
        start, before = np.zeros((1, len(y))) if paired else units.outputs(x), units.tangent_gram(x)
        after = [units.descended(x, y * alpha**targets, start, _STEPS, alpha) for alpha in _SCALES]
        return np.array([moved(before, own.tangent_gram(x)) for own in after])


def _networks(*names: str) -> Drawn:
    return Drawn(
        ScaledNetwork,
        n=Integer(6, 2, 16, "points"),
        d=dimension(4, 2, 16),
        m=Integer(32, 8, 200, "units"),
        activation=Choice(names[0], names, "activation"),
        x=normal("n", "d"),
        y=normal("n"),
        weights=normal("m", "d"),
        readout=normal("m"),
    )


class ScalingIsLaziness(Claim[ScaledNetwork]):
    """Let f be a network of fixed width with a smooth activation, and let f_0 be the network at the start. Train the
    model alpha (f - f_0) by descent on the square loss divided by alpha², for a fixed number of steps. The relative
    change of the tangent kernel is of the order

        1/alpha

    for large alpha, while the outputs of the trained model tend to a limit that does not depend on alpha. If the
    targets are also multiplied by alpha, the kernel moves by the same amount for all alpha. So laziness depends on the
    scale of the model relative to the targets. The test divides the movement with fixed targets by the movement with
    multiplied targets. It uses one hidden layer with 8 to 200 units.
    """

    title = "If a model is multiplied by alpha, its tangent kernel moves by 1/alpha in training"
    source = Source("chizat2019", "Theorem 2.2", note="for the kernel, with the targets scaled as a comparison")
    stated = Kind.STEP
    population = _networks("gelu", "tanh", "softplus")
    relation = Rate(along="alpha", rungs=_SCALES, margin=0.05, resolution=0.1)
    control = Control("the movement is alpha^(-3/2)", lambda exponent, problem: 1.5 * exponent)
    controls = "how far a trained network of fixed width is from kernel regression"
    unexplained = "models that are not scaled; the constant"
    traced = False
    trials = 24
    predict = -1.0

    def measure(self, problem: ScaledNetwork, key: Key[Array, ""]) -> Array:
        return jnp.asarray(problem.movements(0.0, paired=False) / problem.movements(1.0, paired=False))


class PairedInitialisation(Claim[ScaledNetwork]):
    """Let f be a network with one hidden layer and a smooth activation. Give every hidden unit a partner with the same
    weights and the opposite readout, so that f is 0 at the start. Train alpha f by descent on the square loss divided
    by alpha², for a fixed number of steps. Then the relative change of the tangent kernel is of the order

        1/alpha²

    for large alpha. To first order, the weights of partners move in opposite directions, and their readouts move in the
    same direction. So, to first order, the changes of the kernel from the two partners cancel. If, instead, the output
    f_0 at the start is subtracted from a network without partners, the change of the kernel is of the order 1/alpha.
    """

    title = "If a model of paired units is multiplied by alpha, its tangent kernel moves by 1/alpha² in training"
    source = Source("chizat2019", "Theorem 2.2", note="with paired units, for which the first order cancels")
    stated = Kind.OWN
    population = _networks("gelu", "tanh", "softplus")
    relation = Rate(along="alpha", rungs=_SCALES, margin=0.05, resolution=0.1)
    control = Control("the movement is alpha^(-3/2)", lambda exponent, problem: 0.75 * exponent)
    controls = "how far a trained network of fixed width is from kernel regression"
    unexplained = "the constant"
    traced = False
    trials = 24
    predict = -2.0

    def measure(self, problem: ScaledNetwork, key: Key[Array, ""]) -> Array:
        return jnp.asarray(problem.movements(0.0, paired=True))


class LazyFlow(eqx.Module):
    """A network f(x) = m^(-1/2) sum_r a_r tanh(<w_r, x>) with fixed signs a_r, targets, and a time of the flow.

    Args:
        x: the points.
        weights: the weights w_r at the start.
        signs: the signs a_r.
        away: the residual at the start, y - f_0.
        time: the time of the flow, in units of 1/s², where s is the least singular value of the Jacobian at the start.
    """

    x: Float[Array, "n d"]
    weights: Float[Array, "m d"]
    signs: Float[Array, " m"]
    away: Float[Array, " n"]
    time: Float[Array, ""]

    def outputs(self, weights: Float[Array, "m d"]) -> Float[Array, " n"]:
        """Return the outputs f(x_i)."""
        return jnp.tanh(self.x @ weights.T) @ self.signs / jnp.sqrt(len(self.signs))


def _jacobian(problem: LazyFlow) -> Array:
    slopes = problem.signs / jnp.cosh(problem.x @ problem.weights.T) ** 2 / jnp.sqrt(len(problem.signs))
    return (slopes[:, :, None] * problem.x[:, None, :]).reshape(len(problem.x), -1)


def _lipschitz(problem: LazyFlow) -> Array:
    longest = jnp.linalg.norm(problem.x, axis=1).max()
    return _CURVATURE * longest * jnp.linalg.norm(problem.x, 2) / jnp.sqrt(len(problem.signs))


class LazyFlows(Population[LazyFlow]):
    """Flows with a residual of length (s²/L)/16 along the least singular vector, and flows with random residuals.

    Here s is the least singular value of the Jacobian at the start, and L its Lipschitz constant. Each kind is half of
    the problems. On the first kind, the bounds are nearly attained.
    """

    settings = Space(
        n=Integer(4, 2, 8, "points"), d=Integer(12, 8, 32, "dimension"), m=Integer(48, 16, 256, "units")
    ).where("d is at least 2 n", lambda s: s["d"] >= 2 * s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> LazyFlow:
        n, d, m = setting["n"], setting["d"], setting["m"]
        one, two = jax.random.split(key)
        x, weights, signs, away = draws(one, (n, d), (m, d), (m,), (n,))
        kind, share, time = jax.random.uniform(two, (3,))
        drawn = LazyFlow(x / jnp.sqrt(d), weights, jnp.sign(signs), away, 1 + 2 * time)
        vectors, values, _ = jnp.linalg.svd(_jacobian(drawn), full_matrices=False)
        tight = kind < 0.5
        direction = jnp.where(tight, jnp.sign(away[0]) * vectors[:, -1], away / jnp.linalg.norm(away))
        length = jnp.where(tight, 1 / 16, 0.1 + 0.35 * share) * values[-1] ** 2 / _lipschitz(drawn)
        return LazyFlow(drawn.x, weights, drawn.signs, length * direction, drawn.time)

    def hypotheses(self, problem: LazyFlow) -> list[Hypothesis]:
        least = jnp.linalg.svd(_jacobian(problem), compute_uv=False)[-1]
        needed = 2 * _lipschitz(problem) * jnp.linalg.norm(problem.away)
        return [
            Hypothesis("2 L |r_0| is at most s²", needed, "<=", least**2, "otherwise the kernel may become singular")
        ]


class LazyBootstrap(Claim[LazyFlow]):
    """Let J be the Jacobian of the outputs at the training points in the parameters w, and let J be L-Lipschitz. Let s
    be the smallest singular value of J at the start w_0. Let r_t = f_t - y be the residuals of the outputs f_t at time
    t for targets y. Suppose that rho = L |r_0|/s² is at most 1/2. Under gradient flow on |r|²/2, for all times t,

        |r_t| <= exp(-(1 - 2 rho) s² t) |r_0|,    |w_t - w_0| <= (1 - sqrt(1 - 2 rho)) s/L.

    If rho <= 1/4, the second bound is at most 1.18 |r_0|/s.

    For the proof, let p be the length of the path of w up to time t. Along this path, the smallest singular value of J
    is at least s - L p. So |r_0| - |r_t| >= s p - L p²/2. This inequality keeps p below the second bound. It also keeps
    the smallest singular value above s sqrt(1 - 2 rho), which gives the first bound.

    Consider m tanh units with a readout of fixed signs divided by sqrt(m). Then L is at most 0.77 max |x_i| |X|_op /
    sqrt(m), where X is the matrix of the points x_i. The test checks the first bound at a time from 1/s² to 3/s², and
    the second bound at the time 6/s².
    """

    title = "A small residual keeps gradient flow close to its start, and the tangent kernel positive definite"
    source = Source("emergence2026", "Figure 4.14", note="with explicit constants, by the length of the path")
    stated = Kind.OWN
    population = LazyFlows()
    relation = AtMost()
    control = Control(
        "the residual falls as with a fixed kernel, like exp(-s² t), and the distance is at most 0.9 of the bound",
        lambda bound, problem: jnp.stack([_residual(problem, 0.0), 0.9 * bound[1]]),
    )
    controls = "the residual and the path of a trained network"
    unexplained = "residuals of the usual size, which require wide networks; steps that are not small"

    def predict(self, problem: LazyFlow) -> Array:
        least = jnp.linalg.svd(_jacobian(problem), compute_uv=False)[-1]
        slope = _lipschitz(problem)
        rho = slope * jnp.linalg.norm(problem.away) / least**2
        return jnp.stack([_residual(problem, rho), (1 - jnp.sqrt(jnp.maximum(1 - 2 * rho, 0.0))) * least / slope])

    def measure(self, problem: LazyFlow, key: Key[Array, ""]) -> Array:
        """Return the residual at time t and the distance at 6/s², by 200 + 200 steps of Runge-Kutta of order 4."""
        least = jnp.linalg.svd(_jacobian(problem), compute_uv=False)[-1]
        targets = problem.outputs(problem.weights) + problem.away
        pull = lambda weights: -jax.grad(lambda own: jnp.sum((problem.outputs(own) - targets) ** 2) / 2)(weights)

        def flow(weights: Array, time: Array) -> Array:
            def step(_: Array, now: Array) -> Array:
                one = pull(now)
                two = pull(now + time / 400 * one)
                three = pull(now + time / 400 * two)
                four = pull(now + time / 200 * three)
                return now + time / 1200 * (one + 2 * two + 2 * three + four)

            return jax.lax.fori_loop(0, 200, step, weights)

        early = flow(problem.weights, problem.time / least**2)
        late = flow(early, (6 - problem.time) / least**2)
        residual = jnp.linalg.norm(problem.outputs(early) - targets)
        return jnp.stack([residual, jnp.linalg.norm(late - problem.weights)])

    def condition(self, problem: LazyFlow) -> Array:
        """The condition number: outputs may far exceed the residual; the integrator errs by under 1e-7 of the path."""
        residual = jnp.linalg.norm(problem.away)
        return jnp.stack([1e7 + jnp.linalg.norm(problem.outputs(problem.weights)) / residual, jnp.asarray(1e7)])

    def trivial(self, problem: LazyFlow) -> Array:
        """The bounds for any flow whose loss falls: |r_0| on the residual, |r_0| sqrt(t/2) on the path up to t."""
        least = jnp.linalg.svd(_jacobian(problem), compute_uv=False)[-1]
        start = jnp.linalg.norm(problem.away)
        return jnp.stack([start, start * jnp.sqrt(3.0) / least])


def _residual(problem: LazyFlow, rho: Float[Array, ""] | float) -> Array:
    return jnp.exp(-(1 - 2 * rho) * problem.time) * jnp.linalg.norm(problem.away)
