"""Small networks with their gradients, gradients with known laws, and features of asymmetric kernels."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Hypothesis, Integer, Population, Real, Space


class TunedNetwork(eqx.Module):
    """f(x) = a' tanh(W'x) with the derivatives chi_i of a loss in the outputs at the rows.

    Args:
        params: "first" W and "second" a, a column.
        x: rows.
        slopes: chi.
    """

    params: dict[str, Array]
    x: Float[Array, "n d"]
    slopes: Float[Array, " n"]

    def outputs(self, params: dict[str, Array]) -> Float[Array, " n"]:
        """F at the rows."""
        return jax.vmap(lambda point: output(params, point))(self.x)

    def gradients(self) -> tuple[Float[Array, "n d h"], Float[Array, "n h"]]:
        """Of f in W and in a, in closed form: x (a (1 - t²))' and t, with t = tanh(W'x)."""
        t = jnp.tanh(self.x @ self.params["first"])
        return self.x[:, :, None] * (self.params["second"][:, 0] * (1 - t**2))[:, None, :], t


def output(params: dict[str, Array], point: Float[Array, " d"]) -> Float[Array, ""]:
    """A' tanh(W'x)."""
    return (jnp.tanh(point @ params["first"]) @ params["second"])[0]


class TunedNetworks(Population[TunedNetwork]):
    """Normal weights of variance 1/fan-in, normal rows, and derivatives of either sign, of size about 1."""

    free = ("x", "slopes")

    def settings(self) -> Space:
        """Rows, inputs and hidden units."""
        return Space(
            n=Integer(4, 2, 30, "rows", corners=(3, 6)),
            d=Integer(5, 2, 30, "inputs", corners=(3, 8)),
            hidden=Integer(8, 2, 60, "hidden units", corners=(6, 16)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TunedNetwork:
        """Independent draws; derivatives are uniform between 1/2 and 3/2 in size."""
        keys = jax.random.split(key, 5)
        n, d, h = (setting[name] for name in ("n", "d", "hidden"))
        params = {
            "first": jax.random.normal(keys[0], (d, h)) / d**0.5,
            "second": jax.random.normal(keys[1], (h, 1)) / h**0.5,
        }
        sizes = jax.random.uniform(keys[3], (n,), minval=0.5, maxval=1.5)
        slopes = sizes * jax.random.rademacher(keys[4], (n,), jnp.float64)
        return TunedNetwork(params, jax.random.normal(keys[2], (n, d)), slopes)

    def hypotheses(self, problem: TunedNetwork) -> list[Hypothesis]:
        """Something to learn in every row."""
        return [Hypothesis("smallest |chi|", jnp.abs(problem.slopes).min(), ">", 0.0, "else the sign is undefined")]


class GradientRows(eqx.Module):
    """Gradients g_i of outputs, one a row.

    Args:
        gradients: the rows.
        correlation: of their coordinates, where it is one number.
    """

    gradients: Float[Array, "n P"]
    correlation: Float[Array, ""]

    def kernel(self) -> Float[Array, "n n"]:
        """<g_i, g_j>."""
        return self.gradients @ self.gradients.T


class NormalGradients(Population[GradientRows]):
    """Two gradients whose coordinates are independent pairs of normal numbers with one correlation."""

    def settings(self) -> Space:
        """Parameters and the scale of a gradient's coordinates."""
        return Space(
            size=Integer(4096, 256, 10**6, "parameters", corners=(3000, 6000)),
            scale=Real(1.0, 1e-3, 1e3, "standard deviation of a coordinate"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> GradientRows:
        """A correlation between 0.3 and 0.9."""
        first, second = jax.random.split(key)
        correlation = jax.random.uniform(first, minval=0.3, maxval=0.9)
        drawn = jax.random.normal(second, (2, setting["size"]))
        other = correlation * drawn[0] + jnp.sqrt(1 - correlation**2) * drawn[1]
        return GradientRows(setting["scale"] * jnp.stack([drawn[0], other]), correlation)

    def hypotheses(self, problem: GradientRows) -> list[Hypothesis]:
        """The law cannot be seen in two rows."""
        return [Hypothesis.unchecked("coordinates are normal and independent", "a law, of which two rows are seen")]


class UnevenGradients(Population[GradientRows]):
    """Gradients with as many large coordinates as small ones, of which the large ones alone agree between rows.

    Args:
        rows: by default.
        level: all rows get one norm.
    """

    rows: int = 2
    level: bool = True

    def settings(self) -> Space:
        """Rows, parameters, and how much smaller the small coordinates are."""
        return Space(
            n=Integer(self.rows, 2, 100, "rows"),
            size=Integer(300, 20, 10**5, "parameters", corners=(200, 400)),
            ratio=Real(4.0, 1.0, 100.0, "large coordinates over small ones", corners=(3.0, 5.0)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> GradientRows:
        """Large coordinates are correlated by 0.8, small ones are not."""
        keys = jax.random.split(key, 2)
        n, size = setting["n"], setting["size"]
        large = jnp.arange(size) % 2 == 0
        shared, own = jax.random.normal(keys[0], (size,)), jax.random.normal(keys[1], (n, size))
        rows = jnp.where(large, 0.8**0.5 * shared + 0.2**0.5 * own, own / setting["ratio"])
        norms = jnp.linalg.norm(rows, axis=1, keepdims=True)
        return GradientRows(rows / norms if self.level else rows, jnp.asarray(0.8))

    def hypotheses(self, problem: GradientRows) -> list[Hypothesis]:
        """No gradient is 0."""
        least = jnp.linalg.norm(problem.gradients, axis=1).min()
        return [Hypothesis("smallest norm of a gradient", least, ">", 0.0, "a kernel's diagonal is positive")]


class TwoFeatures(eqx.Module):
    """Rows with two sets of features, of which K(x, x') = <phi(x), psi(x')>; the last row is new.

    Args:
        phi, psi: features, the last row that of the new point.
        y: classes of the other rows.
        gamma: the weight of errors.
    """

    phi: Float[Array, "n1 p"]
    psi: Float[Array, "n1 p"]
    y: Float[Array, " n"]
    gamma: Float[Array, ""]

    @property
    def kernel(self) -> Float[Array, "n1 n1"]:
        """K between all rows."""
        return self.phi @ self.psi.T

    @property
    def dual(self) -> Float[Array, "n2 n2"]:
        """[[I/gamma, H], [H', I/gamma]] with H_ij = y_i K_ij y_j."""
        signed = self.y[:, None] * self.kernel[:-1, :-1] * self.y
        eye = jnp.eye(len(self.y)) / self.gamma
        return jnp.block([[eye, signed], [signed.T, eye]])

    @property
    def primal(self) -> Float[Array, "p2 p2"]:
        """[[gamma Phi'Phi, I], [I, gamma Psi'Psi]]."""
        phi, psi, eye = self.phi[:-1], self.psi[:-1], jnp.eye(self.phi.shape[1])
        return jnp.block([[self.gamma * phi.T @ phi, eye], [eye, self.gamma * psi.T @ psi]])


class AsymmetricKernels(Population[TwoFeatures]):
    """Normal gradients as the features phi, and what is a third their own and two thirds their signs as psi."""

    free = ("phi", "psi")

    def settings(self) -> Space:
        """Rows and features."""
        return Space(n=Integer(6, 2, 40, "rows"), p=Integer(10, 2, 60, "features"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoFeatures:
        """Both classes, and a weight of errors between 0.03 and 3."""
        keys = jax.random.split(key, 2)
        n, p = setting["n"], setting["p"]
        phi = jax.random.normal(keys[0], (n + 1, p)) / p**0.5
        psi = phi / 3 + 2 / 3 * jnp.sign(phi) / p**0.5
        y = jnp.where(jnp.arange(n) % 2 == 0, 1.0, -1.0)
        return TwoFeatures(phi, psi, y, 0.03 * 100 ** jax.random.uniform(keys[1]))

    def hypotheses(self, problem: TwoFeatures) -> list[Hypothesis]:
        """The systems have one solution."""
        worst = jnp.maximum(jnp.linalg.cond(problem.dual), jnp.linalg.cond(problem.primal))
        return [
            Hypothesis("weight of errors gamma", problem.gamma, ">", 0.0, "the system divides by it"),
            Hypothesis("condition number of both systems", worst, "<", 1e9, "1/gamma is no singular value of H"),
        ]
