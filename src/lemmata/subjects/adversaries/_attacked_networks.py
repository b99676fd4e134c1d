"""Train networks of one hidden layer, and their linearisations, on rows that gradient ascent attacks."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

_CLIMB = 2  # steps of an attack
_SPREAD = 1.5  # standard deviation of the first layer's weights
# learning rate in units of 1 / (trace of the tangent kernel); below 1, because attacks raise the largest eigenvalue
_RATE = 0.5

Params = tuple[Float[Array, "m d"], Float[Array, " m"]]


def output(params: Params, x: Float[Array, " d"]) -> Float[Array, ""]:
    """Return f(x) = a' erf(W x / sqrt(d)) / sqrt(m) for d coordinates of x and m hidden units.

    Args:
        params: the weights W and a.
        x: one input.
    """
    hidden, readout = params
    return readout @ jax.scipy.special.erf(hidden @ x / len(x) ** 0.5) / len(readout) ** 0.5


def linear_output(params: Params, change: Params, x: Float[Array, " d"]) -> Float[Array, ""]:
    """Return f(x) plus the directional derivative of f(x) along a change of the parameters.

    Args:
        params: the parameters at which f is linearised.
        change: the present parameters minus `params`.
        x: one input.
    """
    value, slope = jax.jvp(lambda p: output(p, x), (params,), (change,))
    return value + slope


class AttackedNetwork(eqx.Module):
    """Rows on a sphere that networks of any width learn under attack.

    Args:
        x, y: the inputs and targets of the training rows.
        others: other inputs, at which outputs are compared.
        strength: the time of the attack, during which x moves uphill on (f(x) - y)²/2.
        steps: the number of descent steps, with learning rate 1/2 divided by the trace of the tangent kernel.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    others: Float[Array, "k d"]
    strength: Float[Array, ""]
    steps: int = eqx.field(static=True)

    @property
    def points(self) -> Float[Array, "p d"]:
        """The training rows, followed by the other inputs."""
        return jnp.concatenate([self.x, self.others])

    def drawn(self, key: Key[Array, ""], width: int) -> Params:
        """Draw the initial parameters of a network."""
        keys = jax.random.split(key)
        hidden = _SPREAD * jax.random.normal(keys[0], (width, self.x.shape[1]))
        return hidden, jax.random.normal(keys[1], (width,))

    def jacobian(self, params: Params) -> Float[Array, "p parameters"]:
        """The Jacobian of the outputs at all points with respect to the parameters."""
        slopes = jax.vmap(lambda q: jax.grad(output)(params, q))(self.points)
        return jnp.concatenate([leaf.reshape(len(self.points), -1) for leaf in slopes], axis=1)

    def trained(self, params: Params, linear: bool) -> Float[Array, " p"]:
        """The outputs at all points after gradient descent of the network, or of its linearisation if `linear` is true.
        Each step uses the loss gradient at attacked rows.
        """
        rate = _RATE / jnp.sum(self.jacobian(params)[: len(self.x)] ** 2)
        f = (lambda change, q: linear_output(params, change, q)) if linear else (
            lambda change, q: output(jax.tree.map(jnp.add, params, change), q)
        )  # fmt: skip
        uphill = jax.vmap(jax.grad(lambda q, target, change: (f(change, q) - target) ** 2 / 2), (0, 0, None))
        loss = lambda change, q: jnp.sum((jax.vmap(f, (None, 0))(change, q) - self.y) ** 2) / 2

        def one(_, change):
            climb = lambda _, q: q + self.strength / _CLIMB * uphill(q, self.y, change)
            attacked = jax.lax.fori_loop(0, _CLIMB, climb, self.x)
            return jax.tree.map(lambda c, g: c - rate * g, change, jax.grad(loss)(change, attacked))

        change = jax.lax.fori_loop(0, self.steps, one, jax.tree.map(jnp.zeros_like, params))
        return jax.vmap(f, (None, 0))(change, self.points)

    def frozen(self, params: Params, attacked: bool) -> Float[Array, " p"]:
        """The outputs after descent with the tangent kernel and the input gradients df/dx at the initial parameters.

        The weight of the residual f(x_i) - y_i is exp(strength |df/dx_i|²). Without attack this weight is 1, and the
        descent is plain training of the linearised network.
        """
        n, rows = len(self.x), self.jacobian(params)
        kernel = rows @ rows[:n].T
        rate = _RATE / jnp.trace(kernel[:n])
        start = jax.vmap(lambda q: output(params, q))(self.points)
        slopes = jax.vmap(jax.grad(output, argnums=1), (None, 0))(params, self.x)
        factor = jnp.exp(attacked * self.strength * jnp.sum(slopes**2, axis=1))
        one = lambda _, f: f - rate * kernel @ (factor * (f[:n] - self.y))
        return jax.lax.fori_loop(0, self.steps, one, start)


class AttackedNetworks(Population[AttackedNetwork]):
    """A few rows with random signs as labels, so that networks of every tested width can fit them."""

    settings = Space(
        n=Integer(5, 2, 20, "training rows", corners=(3, 7)),
        d=Integer(3, 2, 20, "inputs", corners=(3, 5)),
        steps=Integer(50, 5, 400, "steps of training", corners=(25, 75)),
        strength=Real(0.05, 0.01, 0.2, "time of the attack", corners=(0.02, 0.06)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttackedNetwork:
        """Draw inputs of norm sqrt(d), and two other points."""
        keys = jax.random.split(key)
        n, d = setting["n"], setting["d"]
        points = jax.random.normal(keys[0], (n + 2, d))
        points = d**0.5 * points / jnp.linalg.norm(points, axis=1, keepdims=True)
        y = jax.random.rademacher(keys[1], (n,), jnp.float64)
        return AttackedNetwork(points[:n], y, points[n:], jnp.asarray(setting["strength"]), setting["steps"])

    def hypotheses(self, problem: AttackedNetwork) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the time of the attack is above 0",
                problem.strength,
                ">",
                0.0,
                "a negative time would make the attack go downhill",
            )
        ]
