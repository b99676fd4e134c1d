"""Networks with layers of bounded norm. Their complexity grows with the root of the depth and not with the width.

This theory bounds how well networks can fit random signs, by the product of the Frobenius norms of their layers. It
does not explain networks with a large product of norms, such as trained networks.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Source, Space

ABOUT = {"tool": "empirical processes", "architecture": "dense network", "object": "function class"}


class NormBall(eqx.Module):
    """Networks W_L relu(... relu(W_1 x)) with one output and no intercepts, where |W_l|_F is at most norms[l], on
    points x.
    """

    x: Float[Array, "n d"]
    norms: Float[Array, " L"]


class NormBalls(Population[NormBall]):
    """Networks with norms between 1.5 and 2.5. Points are normal in half of the problems, and on one line in the
    others.
    """

    free = ("x", "norms")
    settings = Space(
        n=Integer(64, 20, 400, "points", corners=(40, 100)),
        d=Integer(4, 1, 50, "dimension", corners=(2, 8)),
        layers=Integer(3, 2, 8, "layers", corners=(2, 4)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormBall:
        x_key, kind_key, norm_key = jax.random.split(key, 3)
        x = jax.random.normal(x_key, (setting["n"], setting["d"]))
        line = jnp.abs(x[:, :1]) * jnp.eye(1, setting["d"])
        x = jnp.where(jax.random.bernoulli(kind_key), x, line)
        return NormBall(x, jax.random.uniform(norm_key, (setting["layers"],), minval=1.5, maxval=2.5))

    def hypotheses(self, problem: NormBall) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the norms are positive", problem.norms.min(), ">", 0.0, "each layer lies in a ball of this radius"
            )
        ]


_SIGNS, _STARTS, _MOVES = 128, 3, 6


def attained_by_one_path(x: Float[Array, "n d"], signs: Float[Array, "m n"], key: Key[Array, ""]) -> Float[Array, " m"]:
    """Search for the largest sum_i s_i relu(<v, x_i>) over unit vectors v, for each row of signs s.

    The sum is linear in v as long as the same points have positive products. In each step, v moves to the direction of
    the gradient. The search has several starts, and its result is the best value that it meets.
    """
    starts = jax.random.normal(key, (_STARTS, x.shape[1]))
    starts = jnp.concatenate([starts, jnp.sign(starts[:1]) * x[:1], -x[:1]])

    def from_one(own: Array, start: Array) -> Array:
        def move(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
            v, best = state
            active = jnp.where(x @ v > 0, own, 0.0)
            best = jnp.maximum(best, active @ (x @ v))
            gradient = active @ x
            size = jnp.linalg.norm(gradient)
            return (jnp.where(size > 0, gradient / jnp.where(size > 0, size, 1.0), v), best), None

        first = start / jnp.linalg.norm(start)
        return jax.lax.scan(move, (first, jnp.zeros(())), None, length=_MOVES)[0][1]

    return jax.vmap(lambda own: jax.vmap(lambda start: from_one(own, start))(starts).max())(signs)


class NormBasedDepth(Claim[NormBall]):
    """Consider networks W_L relu(W_(L-1) ... relu(W_1 x)) with L layers of any widths and one output, where the
    Frobenius norms satisfy |W_l| <= B_l. The Rademacher complexity of these networks on n points x_i is at most

        (sqrt(2 L ln 2) + 1) prod_l B_l sqrt( sum_i |x_i|² ) / n.

    The test measures a lower bound of the complexity. It searches among networks with one unit in every hidden layer,
    by gradient ascent from five starts.
    """

    title = "The Frobenius norms of the layers bound the Rademacher complexity of deep ReLU networks"
    source = Source("golowich2018", "Theorem 1")
    population = NormBalls()
    relation = AtMost()
    control = Control(
        "the bound holds without the norms of the layers",
        lambda value, problem: value / jnp.prod(problem.norms),
        loose=(
            "the theorem's constant makes the bound 2.7 to 4 times what these networks attain, so no similar "
            "statement fails"
        ),
    )
    controls = "how well networks of any width agree with random signs"
    unexplained = "by how much the factor of the depth can be improved, as networks with more units may attain more"

    def predict(self, problem: NormBall) -> Array:
        layers, n = len(problem.norms), len(problem.x)
        constant = jnp.sqrt(2 * layers * jnp.log(2.0)) + 1
        return constant * jnp.prod(problem.norms) * jnp.linalg.norm(problem.x) / n

    def measure(self, problem: NormBall, key: Key[Array, ""]) -> Array:
        """Return the mean, over random signs, of the largest value that was found, minus four standard errors."""
        sign_key, start_key = jax.random.split(key)
        signs = jax.random.rademacher(sign_key, (_SIGNS, len(problem.x)), float)
        found = attained_by_one_path(problem.x, signs, start_key)
        # the last weight has either sign
        found = jnp.maximum(found, attained_by_one_path(problem.x, -signs, start_key))
        mean = found.mean() - 4 * found.std(ddof=1) / jnp.sqrt(_SIGNS)
        return jnp.prod(problem.norms) * mean / len(problem.x)

    def trivial(self, problem: NormBall) -> Array:
        """Return prod_l B_l times the mean |x_i|, because |f(x)| <= prod_l B_l |x|."""
        return jnp.prod(problem.norms) * jnp.linalg.norm(problem.x, axis=1).mean()
