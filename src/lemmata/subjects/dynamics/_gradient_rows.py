"""Small networks with their gradients, and random gradients with a known distribution."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class TunedNetwork(eqx.Module):
    """A network f(x) = a' tanh(W'x) of an input x, rows x_i, and the derivatives chi_i of a loss at these rows.

    W is the matrix of hidden weights and a the vector of output weights, and ' is the transpose. In `params`, W is
    "first" and a is "second". The number chi_i is the derivative of the loss with respect to the output f(x_i).
    """

    params: dict[str, Array]
    x: Float[Array, "n d"]
    slopes: Float[Array, " n"]

    def outputs(self, params: dict[str, Array]) -> Float[Array, " n"]:
        """Return f at the rows."""
        return jax.vmap(lambda point: output(params, point))(self.x)

    def gradients(self) -> tuple[Float[Array, "n d h"], Float[Array, "n h"]]:
        """Return the gradients of f(x) = a' tanh(W'x) at each row x, with respect to W and with respect to a.

        Let t = tanh(W'x), entry by entry. The gradient with respect to W is x (a (1 - t²))', where a (1 - t²) is a
        product entry by entry. The gradient with respect to a is t. Here ' is the transpose.
        """
        t = jnp.tanh(self.x @ self.params["first"])
        return self.x[:, :, None] * (self.params["second"][:, 0] * (1 - t**2))[:, None, :], t


def output(params: dict[str, Array], point: Float[Array, " d"]) -> Float[Array, ""]:
    """Return a' tanh(W'x) at one point x."""
    return (jnp.tanh(point @ params["first"]) @ params["second"])[0]


class TunedNetworks(Population[TunedNetwork]):
    """Networks with normal weights of variance 1/fan-in, normal rows, and derivatives of random sign and size about 1.

    The number of rows is odd. With an even number, the signs may cancel in every weight of the first layer. Adam's
    steps would then have no second-order effect, because the function is linear in the second layer.
    """

    free = ("x", "slopes")
    settings = Space(
        pairs=Integer(2, 1, 14, "pairs of rows, in addition to a single row", corners=(1, 3)),
        d=Integer(5, 2, 30, "inputs", corners=(3, 8)),
        hidden=Integer(8, 2, 60, "hidden units", corners=(6, 16)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TunedNetwork:
        """Draw all parts independently. The sizes of the derivatives are uniform between 1/2 and 3/2."""
        keys = jax.random.split(key, 5)
        n, d, h = 2 * setting["pairs"] + 1, setting["d"], setting["hidden"]
        params = {
            "first": jax.random.normal(keys[0], (d, h)) / d**0.5,
            "second": jax.random.normal(keys[1], (h, 1)) / h**0.5,
        }
        sizes = jax.random.uniform(keys[3], (n,), minval=0.5, maxval=1.5)
        slopes = sizes * jax.random.rademacher(keys[4], (n,), jnp.float64)
        return TunedNetwork(params, jax.random.normal(keys[2], (n, d)), slopes)

    def hypotheses(self, problem: TunedNetwork) -> list[Hypothesis]:
        return [
            Hypothesis(
                "smallest |chi|", jnp.abs(problem.slopes).min(), ">", 0.0, "the sign of a derivative of 0 is undefined"
            )
        ]


class GradientRows(eqx.Module):
    """The gradients g_i of outputs, one in each row."""

    gradients: Float[Array, "n P"]

    def kernel(self) -> Float[Array, "n n"]:
        """Return the kernel <g_i, g_j>."""
        return self.gradients @ self.gradients.T


class UnevenGradients(Population[GradientRows]):
    """Random gradients of norm 1, each with equal numbers of large and small coordinates.

    Only the large coordinates are correlated between rows.

    Args:
        rows: the default number of rows.
    """

    rows: int = 6

    def settings(self) -> Space:
        return Space(
            n=Integer(self.rows, 2, 100, "rows"),
            size=Integer(300, 20, 10**5, "parameters", corners=(200, 400)),
            ratio=Real(4.0, 1.0, 100.0, "ratio of large to small coordinates", corners=(3.0, 5.0)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> GradientRows:
        """Draw large coordinates that have correlation 0.8 between rows, and small ones that are uncorrelated."""
        keys = jax.random.split(key, 2)
        n, size = setting["n"], setting["size"]
        large = jnp.arange(size) % 2 == 0
        shared, own = jax.random.normal(keys[0], (size,)), jax.random.normal(keys[1], (n, size))
        rows = jnp.where(large, 0.8**0.5 * shared + 0.2**0.5 * own, own / setting["ratio"])
        norms = jnp.linalg.norm(rows, axis=1, keepdims=True)
        return GradientRows(rows / norms)

    def hypotheses(self, problem: GradientRows) -> list[Hypothesis]:
        least = jnp.linalg.norm(problem.gradients, axis=1).min()
        return [
            Hypothesis("smallest norm of a gradient", least, ">", 0.0, "the diagonal of the kernel must be positive")
        ]
