"""Label noise: the minimum to which noisy gradient descent drifts.

This theory is about descent on a product u v with fresh label noise in every step. It shows that descent drifts along
the minima to the flattest minimum, and how long this takes. It assumes small steps. It does not explain networks whose
minima have many directions.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Limit, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}

_INVERSE_STEPS = (12.5, 25.0, 50.0, 100.0)


class Product(eqx.Module):
    """The start of two weights u and v whose product is fitted to 1.

    Args:
        u, v: the weights at the start.
        noise: the standard deviation of the label noise.
    """

    u: Float[Array, ""]
    v: Float[Array, ""]
    noise: Float[Array, ""]


class LabelNoiseFlattens(Claim[Product]):
    """Fit u v to labels 1 + noise by gradient steps of size s on squared errors. The noise is independent in every
    step, and has the standard deviation sigma. Let D = u² - v². Without noise, all points with u v = 1 are minima, and
    the minimum with D = 0 is the flattest. Let D_0 be D at the start, and let R be D/D_0 after T = 1/(s sigma)² steps.
    Let R_0 be the same ratio after T steps without noise. As s -> 0,

        R / R_0 -> 1/e   and   R_0 -> 1.

    The reason is that every step multiplies D by 1 - s² r², where r is the residual. Once u v is near 1, the mean of r²
    is sigma² up to O(s). Gradient flow conserves D. So label noise flattens the minimum, and discrete steps alone do
    not.
    """

    title = "In a product of two weights, label noise drives gradient descent to the flattest minimum"
    source = Source("blanc2020", note="the drift of a product of two weights, with its rate")
    population = Drawn(
        Product,
        positive("u", "then the start is near the minima with u > 0"),
        u=log_uniform(0.6, 1.6),
        v=log_uniform(0.6, 1.6),
        noise=log_uniform(0.5, 1.0),
    )
    relation = Limit("1/s", _INVERSE_STEPS, margin=0.03, resolution=0.03)
    control = Control("twice as fast", lambda ratio, problem: ratio**2)
    controls = "the flatness of the minimum that noisy descent reaches"
    unexplained = "noise that does not come from the labels"
    trials = 64

    def predict(self, problem: Product) -> Array:
        return jnp.exp(-jnp.ones(()))

    def measure_at(self, problem: Product, key: Key[Array, ""], inverse: float) -> Array:
        steps = (inverse / problem.noise) ** 2
        draws = jax.random.normal(key, (4 * int(inverse**2),))

        def one(number, state):
            pair, noisy = state[0], state[1] * draws[number] * problem.noise
            off = pair[0] * pair[1] - 1 - noisy
            moved = pair - off * pair[::-1] / inverse
            return jnp.where(number < steps, moved, pair), state[1]

        start = jnp.stack([problem.u, problem.v])
        ends = jax.vmap(lambda on: jax.lax.fori_loop(0, len(draws), one, (start, on))[0])(jnp.array([1.0, 0.0]))
        apart = ends[:, 0] ** 2 - ends[:, 1] ** 2
        return apart[0] / apart[1]
