"""Two players near an equilibrium, and the steps that move away from the equilibrium, around it, or towards it.

This theory computes the factor of each step for bilinear games, and the rate at which a generator and a penalised
critic converge near their goal. It does not explain games of networks far from an equilibrium.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.variables import dimension

ABOUT = {"tool": "dynamical systems", "architecture": "any", "object": "training"}

_SETTLED = 200  # steps after which the faster of two modes is below rounding
_EDGE = 1 / np.sqrt(3.0)
_FINE, _ACCURACY = 200, 1e-8

Pair = tuple[Array, Array]


class BilinearGame(eqx.Module):
    """The game min over x, max over y of x'By, where B is a matrix divided by its norm, with a start, a step h, and
    the number of steps.
    """

    matrix: Float[Array, "n n"]
    x: Float[Array, " n"]
    y: Float[Array, " n"]
    step: Float[Array, ""]
    steps: int = eqx.field(static=True)

    @property
    def payoff(self) -> Float[Array, "n n"]:
        """The matrix B, which has norm 1."""
        return self.matrix / jnp.linalg.norm(self.matrix, 2)

    def slopes(self, x: Float[Array, " n"], y: Float[Array, " n"]) -> Pair:
        """Return the gradients of x'By in x and y."""
        return jax.grad(lambda x, y: x @ self.payoff @ y, argnums=(0, 1))(x, y)

    def after(self, move: Callable[[Array, Array], Pair]) -> Pair:
        """Return the point (x, y) after all steps, each of which is a call of `move`."""
        return jax.lax.fori_loop(0, self.steps, lambda _, at: move(*at), (self.x, self.y))

    def energy(self, at: Pair, coupling: Float[Array, ""] | float = 0.0) -> Float[Array, ""]:
        """Return |x|² + |y|² - coupling x'By."""
        x, y = at
        return x @ x + y @ y - coupling * (x @ self.payoff @ y)


def _games(most: float) -> Drawn:
    return Drawn(
        BilinearGame,
        positive("step"),
        matrix=normal("n", "n"),
        x=normal("n"),
        y=normal("n"),
        step=uniform(0.05, most),
        n=dimension(4, 1, 12),
        steps=Integer(50, 10, 100, "steps"),
    )


class SimultaneousAndExtragradientSteps(Claim[BilinearGame]):
    """Player x minimises x'By by gradient descent, and player y maximises it by gradient ascent, with step size h. Let
    the largest singular value |B| be 1, let z = (x, y), and let z_0 be the start. Let s_i be the singular values of B,
    and let c_i² be the share of |z_0|² in the two singular vectors of s_i. After T steps, |z_T|²/|z_0|² is

        sum_i c_i² (1 + h² s_i²)^T                  for simultaneous steps,
        sum_i c_i² (1 - h² s_i² + h⁴ s_i⁴)^T        for extragradient steps,

    and 1 for the gradient flow after the time T h. So simultaneous steps of every size move away from the equilibrium
    0, but extragradient steps with h < 1 converge if B is invertible.

    Derivation: on a pair of singular vectors, a step multiplies the complex number x_i + i y_i by 1 + i h s_i, and an
    extragradient step by 1 + i h s_i - h² s_i².
    """

    title = (
        "In a bilinear game, simultaneous steps of size h diverge by the factor sqrt(1 + h²); extragradient steps "
        "converge"
    )
    source = Source("emergence2026", "Figure 14.13", note="for discrete steps, with the factor of each step")
    stated = Kind.OWN
    population = _games(0.9)
    relation = Equal()
    control = Control("the factor is 1, as for the flow", lambda ratios, problem: jnp.ones(2))
    controls = "how far two players are from their equilibrium"
    unexplained = "games that are not bilinear"

    def predict(self, problem: BilinearGame) -> Array:
        left, values, right = jnp.linalg.svd(problem.payoff)
        start = (left.T @ problem.x) ** 2 + (right @ problem.y) ** 2
        squares = (problem.step * values) ** 2
        factors = jnp.stack([1 + squares, 1 - squares + squares**2])
        return factors**problem.steps @ start / problem.energy((problem.x, problem.y))

    def measure(self, problem: BilinearGame, key: Key[Array, ""]) -> Array:
        """Take both kinds of steps with automatic gradients.

        Divide the squared length at the end of the steps by the squared length at the end of the flow.
        """
        h, n = problem.step, len(problem.x)

        def simultaneous(x: Array, y: Array, slopes: Pair) -> Pair:
            return x - h * slopes[0], y + h * slopes[1]

        plain = lambda x, y: simultaneous(x, y, problem.slopes(x, y))
        extragradient = lambda x, y: simultaneous(x, y, problem.slopes(*plain(x, y)))
        field = jnp.zeros((2 * n, 2 * n)).at[:n, n:].set(-problem.payoff).at[n:, :n].set(problem.payoff.T)
        time = h * problem.steps
        flow = jax.scipy.linalg.expm(time * field, max_squarings=20) @ jnp.concatenate([problem.x, problem.y])
        ends = [problem.energy(problem.after(move)) for move in (plain, extragradient)]
        return jnp.stack(ends) / (flow @ flow)

    def condition(self, problem: BilinearGame) -> Array:
        """Allow for the rounding of sums of n terms in each step."""
        return jnp.asarray(8.0 * problem.steps * len(problem.x))


class AlternatingSteps(Claim[BilinearGame]):
    """Player x minimises x'By by gradient descent, and player y maximises it by gradient ascent, with step size h. Let
    the largest singular value |B| be 1, and let player y use the new x. Every step keeps the value of the quadratic
    form

        |x|² + |y|² - h x'By,

    and this form is positive definite for h < 2. So the distance from the equilibrium 0 stays between fixed multiples
    of the initial distance. Alternating steps therefore neither converge nor diverge.

    Derivation: insert x - h By for x and y + h B'x for y, where the second x is the new x.
    """

    title = "Alternating gradient steps on a bilinear game neither converge nor diverge, but stay on an ellipse"
    source = Source("emergence2026", "Figure 14.13", note="for alternating steps")
    stated = Kind.OWN
    population = _games(1.9)
    relation = Equal()
    control = Control(
        "the distance from the equilibrium does not change",
        lambda energy, problem: problem.energy((problem.x, problem.y)),
    )
    controls = "how far two players are from their equilibrium"
    unexplained = "games that are not bilinear"

    def predict(self, problem: BilinearGame) -> Array:
        return problem.energy((problem.x, problem.y), problem.step)

    def measure(self, problem: BilinearGame, key: Key[Array, ""]) -> Array:
        def move(x: Array, y: Array) -> Pair:
            x = x - problem.step * problem.slopes(x, y)[0]
            return x, y + problem.step * problem.slopes(x, y)[1]

        return problem.energy(problem.after(move), problem.step)

    def condition(self, problem: BilinearGame) -> Array:
        """Allow for rounding in each step. The conserved form is at least (1 - h/2) times the squared distance."""
        return 8.0 * problem.steps * len(problem.x) / (1 - problem.step / 2) ** 2


class ScalarGame(eqx.Module):
    """The game min over x, max over y of c x y, a start, and steps of length h/c, where c is `strength`. The distance
    of h from 1/2 is at least 0.02.
    """

    strength: Float[Array, ""]
    start: Float[Array, " 2"]
    place: Float[Array, ""]

    @property
    def step(self) -> Float[Array, ""]:
        """The step h."""
        return self.place + jnp.where(self.place > 0.5, 0.02, -0.02)


class OptimisticSteps(Claim[ScalarGame]):
    """Player x minimises c x y and player y maximises it. Both take optimistic gradient steps of size h/c. A step
    follows twice the present gradient minus the previous gradient. After many steps, each step multiplies the distance
    from the equilibrium 0 by a factor r, given by

        r² = (1 + sqrt(1 - 4 h²))/2 for h < 1/2,    r² = 2 h (h + sqrt(h² - 1/4)) for h > 1/2.

    So optimistic steps converge exactly for 0 < h < 1/sqrt(3), and fastest near h = 1/2, where r² is 1/2. The test
    measures r at a random h, and at h = 1/sqrt(3), where r is 1.

    Derivation: z = x + i y follows z_(t+1) = (1 + 2 i h) z_t - i h z_(t-1). The characteristic equation of this
    recursion has two roots, and r is the larger of their moduli.
    """

    title = "Optimistic steps on a bilinear game converge if and only if the step size is below 1/sqrt(3)"
    source = Source("emergence2026", "Figure 14.13", note="for optimistic steps, with the largest step")
    stated = Kind.OWN
    population = Drawn(
        ScalarGame,
        positive("step"),
        positive("strength"),
        strength=log_uniform(0.1, 10.0),
        start=normal(2),
        place=uniform(0.1, 0.9),
    )
    relation = Equal()
    control = Control(
        "r is the factor of extragradient steps at both values of h",
        lambda factor, problem: jnp.sqrt(1 - (s := jnp.stack([problem.step, jnp.asarray(_EDGE)])) ** 2 + s**4),
    )
    controls = "which steps of two players converge"
    unexplained = "games that are not bilinear"

    def predict(self, problem: ScalarGame) -> Array:
        h = problem.step
        slow = (1 + jnp.sqrt(jnp.maximum(1 - 4 * h**2, 0.0))) / 2
        fast = 2 * h * (h + jnp.sqrt(jnp.maximum(h**2 - 0.25, 0.0)))
        return jnp.stack([jnp.sqrt(jnp.where(h < 0.5, slow, fast)), jnp.asarray(1.0)])

    def measure(self, problem: ScalarGame, key: Key[Array, ""]) -> Array:
        """Return the mean factor by which a step multiplies the distance, over 200 steps.

        Another 200 steps before these steps do not count.
        """
        slopes = jax.grad(lambda z: problem.strength * z[0] * z[1])
        ascent = jnp.asarray([-1.0, 1.0])

        def factor(h: Array) -> Array:
            def move(_, carry: Pair) -> Pair:
                at, before = carry
                now = ascent * slopes(at)
                return at + h / problem.strength * (2 * now - before), now

            begun = jax.lax.fori_loop(0, _SETTLED, move, (problem.start, ascent * slopes(problem.start)))
            ended = jax.lax.fori_loop(0, _SETTLED, move, begun)
            return (jnp.linalg.norm(ended[0]) / jnp.linalg.norm(begun[0])) ** (1 / _SETTLED)

        return jnp.stack([factor(problem.step), factor(jnp.asarray(_EDGE))])

    def condition(self, problem: ScalarGame) -> Array:
        """Allow for rounding in a recursion whose roots differ by 2 sqrt(|h² - 1/4|)."""
        return 32 / jnp.sqrt(jnp.abs(problem.step**2 - 0.25))


class PenalisedCritic(eqx.Module):
    """A generator a, a critic x -> b x, a loss f, a penalty gamma = 2 r h, and the angle of the start (a, b).

    The loss is f(t) = -log(1 + exp(-c t)) with h = f'(0) = c/2. The number r differs from 1 by at least 0.1, because
    the two rates of decay near the equilibrium are equal at r = 1.
    """

    slope: Float[Array, ""]
    place: Float[Array, ""]
    angle: Float[Array, ""]

    @property
    def h(self) -> Float[Array, ""]:
        """The derivative h = f'(0)."""
        return self.slope / 2

    @property
    def ratio(self) -> Float[Array, ""]:
        """The number r = gamma/(2 h)."""
        return self.place + jnp.where(self.place > 1, 0.1, -0.1)


class PenaltyRate(Claim[PenalisedCritic]):
    """Let the data be the point 0, let a generator produce the point a, and let a critic be x -> b x. For a function f,
    the generator descends and the critic ascends on V = f(a b) + f(0), with the penalty (gamma/2) b² on the critic's
    slope at the data. Let h = |f'(0)|. Under gradient flow near the equilibrium 0, the distance from 0 eventually
    decays like exp(-rho t), where rho is given by

        rho = gamma/2 for gamma < 2 h,    rho = gamma/2 - sqrt(gamma²/4 - h²) for gamma > 2 h.

    So gamma = 2 h is the best penalty, and a larger penalty makes convergence slower. Without a penalty, rho = 0.

    Derivation: -gamma/2 ± sqrt(gamma²/4 - h²) are the eigenvalues of the linear flow a' = -h b, b' = h a - gamma b.
    """

    title = "In a Dirac GAN, a gradient penalty gamma up to its best value gives the convergence rate gamma/2"
    source = Source("mescheder2018", "Abstract", note="zero-centred gradient penalties, with the rate for point masses")
    stated = Kind.OWN
    population = Drawn(
        PenalisedCritic,
        positive("ratio", "without a penalty the flow does not converge"),
        slope=log_uniform(0.2, 5.0),
        place=uniform(0.2, 2.4),
        angle=uniform(0.0, 6.283),
    )
    relation = Equal()
    control = Control("the rate is gamma", lambda rate, problem: 2 * problem.ratio * problem.h)
    controls = "how fast a generator and a penalised critic converge"
    unexplained = "starts far from the equilibrium"

    def predict(self, problem: PenalisedCritic) -> Array:
        half = problem.ratio * problem.h
        return half - jnp.sqrt(jnp.maximum(half**2 - problem.h**2, 0.0))

    def measure(self, problem: PenalisedCritic, key: Key[Array, ""]) -> Array:
        """Fit a linear recursion of order 2 to states of the flow at equal intervals, and take the rate of decay of its
        slower root. Return this rate minus the rate without a penalty.
        """
        interval = 1 / problem.h

        def rate(gamma: Array | float) -> Array:
            def value(z: Array) -> Array:
                critic = lambda x: z[1] * x
                return -jax.nn.softplus(-problem.slope * critic(z[0])) - gamma / 2 * jax.grad(critic)(0.0) ** 2

            move, step = lambda z: jnp.asarray([-1.0, 1.0]) * jax.grad(value)(z), interval / _FINE

            def one(z: Array, _) -> tuple[Array, Array]:
                k1 = move(z)
                k2 = move(z + step / 2 * k1)
                k3 = move(z + step / 2 * k2)
                z = z + step / 6 * (k1 + 2 * k2 + 2 * k3 + move(z + step * k3))
                return z, z

            start = 1e-8 * jnp.stack([jnp.cos(problem.angle), jnp.sin(problem.angle)])
            path = jax.lax.scan(one, start, None, length=2 * _FINE)[1]
            states = jnp.concatenate([start[None], path[_FINE - 1 :: _FINE]])
            a, b = jnp.linalg.solve(states[:2].T, states[2])  # z_2 = a z_0 + b z_1, in both coordinates
            root = jnp.sqrt(b**2 / 4 + a + 0j)
            return -jnp.log(jnp.maximum(jnp.abs(b / 2 + root), jnp.abs(b / 2 - root))) / interval

        return rate(2 * problem.ratio * problem.h) - rate(0.0)

    def condition(self, problem: PenalisedCritic) -> Array:
        """Allow for the Runge-Kutta steps, which are accurate to 1e-8: return 1e-8/(32 eps)."""
        return jnp.asarray(_ACCURACY / (32 * np.finfo(float).eps))
