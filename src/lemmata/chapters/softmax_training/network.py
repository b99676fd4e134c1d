"""The two-layer softmax network: its outputs, gradient and tangent kernel.

This theory controls the first-order behaviour of F(x)_l = m <a_l, S(x)>, S(x) the softmax of (<w_1, x>, ..., <w_m, x>),
in its trained weights W: the gradient of squared loss, and the matrix H of inner products of gradients, which decides
how fast descent moves every output. It holds at every W, trained or not; it leaves unexplained how H moves in training.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtLeast, Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space
from lemmata.networks import SoftmaxNetwork
from lemmata.problems._sampled import draws, paired_signs, points_in_ball


class TrainingProblem(eqx.Module):
    """A softmax network somewhere on its way, with data.

    Args:
        weight: W.
        sign: the rows a_l.
        x: inputs.
        y: targets.
    """

    weight: Float[Array, "d m"]
    sign: Float[Array, "k m"]
    x: Float[Array, "n d"]
    y: Float[Array, "n k"]

    @property
    def network(self) -> SoftmaxNetwork:
        """The network that these weights belong to."""
        return SoftmaxNetwork(self.weight.shape[1], len(self.sign))

    @property
    def params(self) -> dict[str, Array]:
        """The weights as the network takes them."""
        return {"weight": self.weight, "sign": self.sign}


def naive_outputs(
    weight: Float[Array, "d m"], sign: Float[Array, "k m"], x: Float[Array, "n d"]
) -> Float[Array, "n k"]:
    """F = m <a_l, exp(W' x)> / <exp(W' x), 1>, as equation (1) spells it: for logits that do not overflow."""
    mass = jnp.exp(x @ weight)
    return weight.shape[1] * (mass @ sign.T) / mass.sum(axis=1, keepdims=True)


class AbstractNetworkClaim(Claim[TrainingProblem]):
    """What the claims of this section share: networks off their initialisation, on points of the unit ball."""

    controls = "descent of a two-layer softmax network, to first order"
    unexplained = "how the quantities move in training"
    label = "identity"
    relation = Equal()
    problem = TrainingProblem
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes, the spread of the weights, and how far they are from the symmetric initialisation."""
        return Space(
            n=Integer(5, 1, 64, "points"),
            d=Integer(3, 1, 64, "columns"),
            k=Integer(2, 1, 16, "outputs"),
            pairs=Integer(8, 1, 512, "pairs of units"),
            sigma=Real(0.7, 0.01, 2.0, "standard deviation of the weights"),
            moved=Real(0.5, 0.0, 2.0, "standard deviation of the movement away from the initialisation"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TrainingProblem:
        """A symmetric initialisation, moved; points in the unit ball; targets of norm at most 1."""
        n, d, k, pairs = (setting[name] for name in ("n", "d", "k", "pairs"))
        half, signs, move, points, targets = draws(key, (d, pairs), (k, pairs), (d, 2 * pairs), (n, d + 1), (n, k + 1))
        weight = jnp.repeat(setting["sigma"] * half, 2, axis=1) + setting["moved"] * move
        return TrainingProblem(weight, paired_signs(signs), points_in_ball(points), points_in_ball(targets))

    def hypotheses(self, problem: TrainingProblem) -> list[Hypothesis]:
        """Finite weights are all that is needed."""
        return [Hypothesis("the weights are finite", jnp.abs(problem.weight).max(), "<", jnp.inf)]

    def condition(self, problem: TrainingProblem) -> Array:
        """A relative change eps of a logit l changes its share by eps |l|, and sums of m terms lose sqrt(m) eps."""
        logits = jnp.abs(problem.x @ problem.weight).max()
        return (1 + logits) * jnp.sqrt(1.0 * problem.weight.shape[1])


class OutputGradient(AbstractNetworkClaim):
    """The derivative of output l at x by the weights of unit r is

        dF_l / dw_r = m (<a_l o e_r, S> - <a_l, S> <S, e_r>) x

    with S = softmax(W' x).
    """

    title = "The derivative of a softmax network"
    source = Source("gu2024softmax", "(2)")

    def predict(self, problem: TrainingProblem) -> Array:
        """The formula, (n, k, d, m)."""
        shares, sign = problem.network.shares(problem.params, problem.x), problem.sign
        centred = sign[None] * shares[:, None] - (shares @ sign.T)[:, :, None] * shares[:, None]
        return problem.weight.shape[1] * jnp.einsum("nkm,nd->nkdm", centred, problem.x)

    def measure(self, problem: TrainingProblem, key: Key[Array, ""]) -> Array:
        """Automatic differentiation of equation (1)."""
        return jax.jacobian(lambda weight: naive_outputs(weight, problem.sign, problem.x))(problem.weight)

    def control(self) -> Control:
        """The derivative of an unnormalised network."""

        def uncentred(predicted: Array, problem: TrainingProblem) -> Array:
            shares = problem.network.shares(problem.params, problem.x)
            return problem.weight.shape[1] * jnp.einsum("km,nm,nd->nkdm", problem.sign, shares, problem.x)

        return Control("the normalisation has no derivative: the second term is missing", uncentred)


class LossGradient(AbstractNetworkClaim):
    """The gradient of 1/2 sum_il (F_l(x_i) - y_il)² by the weights of unit r is

        Delta w_r = m sum_il (F_l(x_i) - y_il) <a_lr 1 - a_l, S_i> S_ir x_i.

    Because the shares S_i sum to 1, this is also the form with <a_l o e_r, S_i> - <a_l, S_i> <S_i, e_r>.
    """

    title = "The gradient of a softmax network's loss"
    source = Source("gu2024softmax", "Claim 3.4", "Claim A.1", "Definition 3.3")

    def predict(self, problem: TrainingProblem) -> Array:
        """The closed form, by which networks are trained."""
        return problem.network.gradient(problem.params, problem.x, problem.y)

    def measure(self, problem: TrainingProblem, key: Key[Array, ""]) -> Array:
        """Automatic differentiation of the loss of equation (1)."""
        residual = lambda weight: naive_outputs(weight, problem.sign, problem.x) - problem.y
        return jax.grad(lambda weight: 0.5 * jnp.sum(residual(weight) ** 2))(problem.weight)

    def condition(self, problem: TrainingProblem) -> Array:
        """Sums over points and outputs cancel: the terms' size, at most 2 m |F - y| max S each, against the sum's."""
        residual = jnp.abs(problem.network.predict(problem.params, problem.x) - problem.y).sum(axis=1)
        shares = problem.network.shares(problem.params, problem.x).max(axis=1)
        gradient = jnp.abs(problem.network.gradient(problem.params, problem.x, problem.y)).max()
        return super().condition(problem) * 2 * problem.weight.shape[1] * jnp.sum(residual * shares) / gradient

    def control(self) -> Control:
        """The gradient of an unnormalised network."""

        def uncentred(predicted: Array, problem: TrainingProblem) -> Array:
            shares = problem.network.shares(problem.params, problem.x)
            residual = problem.network.predict(problem.params, problem.x) - problem.y
            return problem.weight.shape[1] * problem.x.T @ (shares * (residual @ problem.sign))

        return Control("a_lr stands in place of <a_lr 1 - a_l, S_i>", uncentred)


class TangentKernelGram(AbstractNetworkClaim):
    """The Gram matrix of all gradients dF_l(x_i)/dW is m H with

        H[l, i, l', j] = (1/m) <x_i, x_j> sum_r <v_lr, S_i> m S_ir <v_l'r, S_j> m S_jr

    and v_lr = a_lr 1 - a_l.
    """

    title = "The tangent kernel of a softmax network"
    source = Source("gu2024softmax", "Definition 3.6")

    def predict(self, problem: TrainingProblem) -> Array:
        """m H."""
        return problem.weight.shape[1] * problem.network.tangent(problem.params, problem.x)

    def measure(self, problem: TrainingProblem, key: Key[Array, ""]) -> Array:
        """Products of Jacobians by automatic differentiation."""
        jacobian = jax.jacobian(lambda weight: naive_outputs(weight, problem.sign, problem.x))(problem.weight)
        return jnp.einsum("nkdm,tcdm->kntc", jacobian, jacobian).swapaxes(2, 3)

    def control(self) -> Control:
        """The matrix H itself."""
        return Control("the Gram matrix is H, without the factor m", lambda m_h, problem: m_h / problem.weight.shape[1])


class TangentKernelSemidefinite(AbstractNetworkClaim):
    """H is positive semidefinite at every W: its smallest eigenvalue is at least 0, to rounding of its largest.

    Judged as 1 + lambda_min / lambda_max >= 1. Where n k exceeds the number of weights, H is singular.
    """

    title = "The tangent kernel is positive semidefinite"
    source = Source("gu2024softmax", "Section 3.1, remark below Definition 3.6")
    relation = AtLeast()
    label = "lower"

    def settings(self) -> Space:
        """As above, with fewer weights than rows of H."""
        return Space(
            n=Integer(8, 1, 16, "points"),
            d=Integer(2, 1, 8, "columns"),
            k=Integer(2, 1, 4, "outputs"),
            pairs=Integer(3, 1, 64, "pairs of units"),
            sigma=Real(0.7, 0.01, 2.0, "standard deviation of the weights"),
            moved=Real(0.5, 0.0, 2.0, "standard deviation of the movement away from the initialisation"),
        )

    def hypotheses(self, problem: TrainingProblem) -> list[Hypothesis]:
        """A matrix that is not 0."""
        return [Hypothesis("some input is not 0", jnp.abs(problem.x).max(), ">", 0.0, "H scales with |x_i| |x_j|")]

    def predict(self, problem: TrainingProblem) -> Array:
        """1."""
        return jnp.ones(())

    def measure(self, problem: TrainingProblem, key: Key[Array, ""]) -> Array:
        """1 + lambda_min / lambda_max of H."""
        size = problem.sign.shape[0] * len(problem.x)
        values = jnp.linalg.eigvalsh(problem.network.tangent(problem.params, problem.x).reshape(size, size))
        return 1 + values[0] / values[-1]

    def condition(self, problem: TrainingProblem) -> Array:
        """Eigenvalues are computed to n k eps of the largest."""
        return jnp.asarray(1.0 * problem.sign.shape[0] * len(problem.x))

    def control(self) -> Control:
        """What fails where there are fewer weights than rows of H."""
        return Control("lambda_min is at least lambda_max / 10^6", lambda one, problem: one + 1e-6)


class SymmetricInitialisation(AbstractNetworkClaim):
    """With w_{2r-1} = w_{2r} and a_{2r} = -a_{2r-1}, the network is 0 at every input, whatever the w.

    Judged as 1 + F / m = 1, since F is a sum of terms a_lr S_ir m of which the positive ones add up to at most m.
    """

    title = "The symmetric initialisation is the zero function"
    source = Source("gu2024softmax", "Definition 3.1", "Definition 3.7")

    def sample(self, setting: dict, key: Key[Array, ""]) -> TrainingProblem:
        """The initialisation itself."""
        return super().sample({**setting, "moved": 0.0}, key)

    def predict(self, problem: TrainingProblem) -> Array:
        """1."""
        return jnp.ones((len(problem.x), len(problem.sign)))

    def measure(self, problem: TrainingProblem, key: Key[Array, ""]) -> Array:
        """1 + F / m by equation (1)."""
        return 1 + naive_outputs(problem.weight, problem.sign, problem.x) / problem.weight.shape[1]

    def control(self) -> Control:
        """One pair whose signs do not cancel."""
        return Control("one unit of the m has no partner", lambda one, problem: one + 1 / problem.weight.shape[1])
