"""The two-layer softmax network, with its outputs, gradient and tangent kernel.

This theory describes how the outputs F_l(x) = m <a_l, S(x)> change to first order in the trained weights W. Here m is
the number of hidden units, a_l is the fixed sign vector of output l, and S(x) is the softmax of
(<w_1, x>, ..., <w_m, x>). The theory gives the gradient of the squared loss. It also gives the tangent kernel H, the
matrix of inner products of gradients divided by m, which decides how fast descent moves every output. The theory holds
at every W, trained or not. It does not explain how H moves in training.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.sampled import draws, paired_signs, points_in_ball
from lemmata.networks import SoftmaxNetwork

ABOUT = {"tool": "linear algebra", "architecture": "dense network", "object": "kernel"}


class MovedNetwork(eqx.Module):
    """A softmax network at some weights, trained or not, with data.

    Args:
        weight: the weights W, one column per unit.
        sign: the signs, with the row a_l for output l.
        x: the inputs, one per row.
        y: the targets, one row per input.
    """

    weight: Float[Array, "d m"]
    sign: Float[Array, "k m"]
    x: Float[Array, "n d"]
    y: Float[Array, "n k"]

    @property
    def network(self) -> SoftmaxNetwork:
        """The `SoftmaxNetwork` with this width and number of outputs, without its parameters."""
        return SoftmaxNetwork(self.weight.shape[1], len(self.sign))

    @property
    def params(self) -> dict[str, Array]:
        """The weights and signs in the form that `network` takes."""
        return {"weight": self.weight, "sign": self.sign}

    @property
    def shares(self) -> Float[Array, "n m"]:
        """The shares S, the softmax of the logits W' x, with one row per input."""
        return self.network.shares(self.params, self.x)

    @property
    def rounding(self) -> Float[Array, ""]:
        """The relative error of a share in units of eps: |l| from a logit l, and sqrt(m) from sums of m terms."""
        logits = jnp.abs(self.x @ self.weight).max()
        return (1 + logits) * jnp.sqrt(1.0 * self.weight.shape[1])


class MovedNetworks(Population[MovedNetwork]):
    """Networks whose weights moved at random from a symmetric initialisation; points and targets in unit balls.

    At the symmetric initialisation, units come in pairs with equal weights and opposite signs.

    Args:
        n, d, k, pairs, moved: the defaults of the settings: points, dimension, outputs, pairs of units, and the
            standard deviation of the movement.
        farthest: the largest standard deviation of the movement that a user may set.
    """

    free = ("weight",)
    n: int = 5
    d: int = 3
    k: int = 2
    pairs: int = 8
    moved: float = 0.5
    farthest: float = 2.0

    def settings(self) -> Space:
        """The sizes, the spread of the weights, and how far the weights moved from the symmetric initialisation."""
        return Space(
            n=Integer(self.n, 1, 64, "points"),
            d=Integer(self.d, 1, 64, "columns"),
            k=Integer(self.k, 1, 16, "outputs"),
            pairs=Integer(self.pairs, 1, 512, "pairs of units"),
            sigma=Real(0.7, 0.01, 2.0, "standard deviation of the weights"),
            moved=Real(self.moved, 0.0, self.farthest, "standard deviation of the movement from the initialisation"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MovedNetwork:
        """Draw a moved symmetric initialisation, points in the unit ball and targets of norm at most 1."""
        n, d, k, pairs = (setting[name] for name in ("n", "d", "k", "pairs"))
        half, signs, move, points, targets = draws(key, (d, pairs), (k, pairs), (d, 2 * pairs), (n, d + 1), (n, k + 1))
        weight = jnp.repeat(setting["sigma"] * half, 2, axis=1) + setting["moved"] * move
        return MovedNetwork(weight, paired_signs(signs), points_in_ball(points), points_in_ball(targets))

    def hypotheses(self, problem: MovedNetwork) -> list[Hypothesis]:
        return [Hypothesis("the weights are finite", jnp.abs(problem.weight).max(), "<", jnp.inf)]


_CONTROLS = "descent on a two-layer softmax network, to first order"
_UNEXPLAINED = "how these quantities change in training"


def naive_outputs(
    weight: Float[Array, "d m"], sign: Float[Array, "k m"], x: Float[Array, "n d"]
) -> Float[Array, "n k"]:
    """Return F = m <a_l, exp(W' x)> / <exp(W' x), 1> as in equation (1); exp of a large logit overflows."""
    mass = jnp.exp(x @ weight)
    return weight.shape[1] * (mass @ sign.T) / mass.sum(axis=1, keepdims=True)


def _without_normalisation(predicted: Array, problem: MovedNetwork) -> Array:
    return problem.weight.shape[1] * jnp.einsum("km,nm,nd->nkdm", problem.sign, problem.shares, problem.x)


class OutputGradient(Claim[MovedNetwork]):
    """Let F_l(x) = m <a_l, S>, l = 1, ..., k, be the outputs of a softmax network. Here S = softmax(W' x) are the
    shares of its m units, the columns w_r of W are their weights, and the a_l in R^m are vectors of signs. Let o be the
    entrywise product, and let e_r be the unit vectors of R^m. The derivative of output l at x with respect to the
    weights of unit r is

        dF_l / dw_r = m (<a_l o e_r, S> - <a_l, S> <S, e_r>) x.
    """

    title = "The derivative of a softmax network's outputs has a closed form in the softmax shares"
    source = Source("gu2024softmax", "(2)")
    population = MovedNetworks()
    relation = Equal()
    control = Control("the normalisation has no derivative, so that the second term is missing", _without_normalisation)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: MovedNetwork) -> Array:
        shares, sign = problem.shares, problem.sign
        centred = sign[None] * shares[:, None] - (shares @ sign.T)[:, :, None] * shares[:, None]
        return problem.weight.shape[1] * jnp.einsum("nkm,nd->nkdm", centred, problem.x)

    def measure(self, problem: MovedNetwork, key: Key[Array, ""]) -> Array:
        """The derivative of equation (1) by automatic differentiation."""
        return jax.jacobian(lambda weight: naive_outputs(weight, problem.sign, problem.x))(problem.weight)

    def condition(self, problem: MovedNetwork) -> Array:
        """The condition number: a_lr - <a_l, S> cancels if one unit has a share near 1."""
        left = jnp.abs(problem.sign[None] - (problem.shares @ problem.sign.T)[:, :, None])
        return problem.rounding * jnp.broadcast_to(2 / left[:, :, None, :], self.predict(problem).shape)


def _uncentred(predicted: Array, problem: MovedNetwork) -> Array:
    residual = problem.network.predict(problem.params, problem.x) - problem.y
    return problem.weight.shape[1] * problem.x.T @ (problem.shares * (residual @ problem.sign))


class LossGradient(Claim[MovedNetwork]):
    """Let F_l(x) = m <a_l, S>, l = 1, ..., k, be the outputs of a softmax network. Here S = softmax(W' x) are the
    shares of its m units w_r, and the a_l in R^m are vectors of signs. Let S_i = softmax(W' x_i) be the shares at input
    x_i, and let 1 be the vector of ones. For inputs x_i with targets y_il, the gradient of 1/2 sum_il (F_l(x_i) -
    y_il)² with respect to w_r is

        Delta w_r = m sum_il (F_l(x_i) - y_il) <a_lr 1 - a_l, S_i> S_ir x_i.

    The shares S_i sum to 1. The factor <a_lr 1 - a_l, S_i> S_ir can therefore also be written as <a_l o e_r, S_i> -
    <a_l, S_i> <S_i, e_r>, where o is the entrywise product and e_r is a unit vector.
    """

    title = "The gradient of a softmax network's loss has a closed form in its residuals and softmax shares"
    source = Source("gu2024softmax", "Claim 3.4", "Claim A.1", "Definition 3.3")
    population = MovedNetworks()
    relation = Equal()
    control = Control("a_lr stands in place of <a_lr 1 - a_l, S_i>", _uncentred)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: MovedNetwork) -> Array:
        """The gradient in closed form, which the training code uses."""
        return problem.network.gradient(problem.params, problem.x, problem.y)

    def measure(self, problem: MovedNetwork, key: Key[Array, ""]) -> Array:
        """The gradient of the loss of equation (1) by automatic differentiation."""
        residual = lambda weight: naive_outputs(weight, problem.sign, problem.x) - problem.y
        return jax.grad(lambda weight: 0.5 * jnp.sum(residual(weight) ** 2))(problem.weight)

    def condition(self, problem: MovedNetwork) -> Array:
        """The condition number of a sum that cancels: the size 2 m |F - y| S |x| of its terms over the sum's size."""
        residual = jnp.abs(problem.network.predict(problem.params, problem.x)) + jnp.abs(problem.y)
        terms = jnp.abs(problem.x).T @ (problem.shares * residual.sum(axis=1, keepdims=True))
        return problem.rounding * 2 * problem.weight.shape[1] * terms / jnp.abs(self.predict(problem))


class TangentKernelGram(Claim[MovedNetwork]):
    """Let F_l(x) = m <a_l, S>, l = 1, ..., k, be the outputs of a softmax network. Here S = softmax(W' x) are the
    shares of its m units, and the a_l in R^m are vectors of signs. Let S_i be the shares at input x_i, and let v_lr =
    a_lr 1 - a_l, where 1 is the vector of ones. The Gram matrix of all gradients dF_l(x_i)/dW is m H with

        H[l, i, l', j] = (1/m) <x_i, x_j> sum_r <v_lr, S_i> m S_ir <v_l'r, S_j> m S_jr.
    """

    title = "The tangent kernel of a softmax network is the Gram matrix of its gradients"
    source = Source("gu2024softmax", "Definition 3.6")
    population = MovedNetworks()
    relation = Equal(block=-1)  # <x_i, x_j> and the sums over units cancel
    control = Control("the Gram matrix is larger by a thousandth", lambda m_h, problem: 1.001 * m_h)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: MovedNetwork) -> Array:
        return problem.weight.shape[1] * problem.network.tangent(problem.params, problem.x)

    def measure(self, problem: MovedNetwork, key: Key[Array, ""]) -> Array:
        """Products of the Jacobians from automatic differentiation."""
        jacobian = jax.jacobian(lambda weight: naive_outputs(weight, problem.sign, problem.x))(problem.weight)
        return jnp.einsum("nkdm,tcdm->kntc", jacobian, jacobian).swapaxes(2, 3)

    def condition(self, problem: MovedNetwork) -> Array:
        return problem.rounding


class TangentKernelSemidefinite(Claim[MovedNetwork]):
    """Let F_l(x) = m <a_l, S>, l = 1, ..., k, be the outputs of a softmax network. Here S = softmax(W' x) are the
    shares of its m units, and the a_l in R^m are vectors of signs. Let S_i be the shares at input x_i, and let v_lr =
    a_lr 1 - a_l, where 1 is the vector of ones. The tangent kernel

        H[l, i, l', j] = (1/m) <x_i, x_j> sum_r <v_lr, S_i> m S_ir <v_l'r, S_j> m S_jr

    has the quadratic form u' H u = |grad_W sum_il u_il F_l(x_i)|² / m. The kernel is therefore positive semidefinite at
    every W.
    """

    title = "The tangent kernel of a softmax network is positive semidefinite"
    source = Source("gu2024softmax", "Section 3.1, remark below Definition 3.6")
    population = MovedNetworks(n=8, d=2, pairs=3)  # fewer weights than rows of H
    relation = Equal()
    control = Control("the quadratic form is larger by a thousandth", lambda form, problem: 1.001 * form)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def hypotheses(self, problem: MovedNetwork) -> list[Hypothesis]:
        return [Hypothesis("some input is not 0", jnp.abs(problem.x).max(), ">", 0.0, "H scales with |x_i| |x_j|")]

    def predict(self, problem: MovedNetwork) -> Array:
        """The quadratic form at u, where the problem's targets serve as u."""
        tangent = problem.network.tangent(problem.params, problem.x)
        return jnp.einsum("il,litj,jt->", problem.y, tangent, problem.y)

    def measure(self, problem: MovedNetwork, key: Key[Array, ""]) -> Array:
        """The quadratic form from the gradients of equation (1), by automatic differentiation."""
        along = lambda weight: jnp.sum(problem.y * naive_outputs(weight, problem.sign, problem.x))
        return jnp.sum(jax.grad(along)(problem.weight) ** 2) / problem.weight.shape[1]

    def condition(self, problem: MovedNetwork) -> Array:
        """The condition number: gradients have norms up to 2 m |S_i| |x_i|, and sums over points and outputs cancel."""
        lengths = jnp.linalg.norm(problem.shares, axis=1) * jnp.linalg.norm(problem.x, axis=1)
        longest = 4 * problem.weight.shape[1] * (lengths @ jnp.abs(problem.y).sum(axis=1)) ** 2
        return problem.rounding * longest / self.predict(problem)


class SymmetricInitialisation(Claim[MovedNetwork]):
    """Let F_l(x) = m <a_l, softmax(W' x)> be a softmax network whose m units w_r are equal in pairs,
    w_{2r-1} = w_{2r}, with signs a_{l,2r} = -a_{l,2r-1}. Then F is 0 at every input, for all weights w.

    The claim is tested as 1 + F / m = 1. F is m times a sum of terms ±S_r, where S_r are the shares, and the positive
    terms add up to at most 1.
    """

    title = "A softmax network is the zero function at the symmetric initialisation"
    source = Source("gu2024softmax", "Definition 3.1", "Definition 3.7")
    population = MovedNetworks(moved=0.0, farthest=0.0)
    relation = Equal()
    control = Control("one of the m units has no partner", lambda one, problem: one + 1 / problem.weight.shape[1])
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: MovedNetwork) -> Array:
        return jnp.ones((len(problem.x), len(problem.sign)))

    def measure(self, problem: MovedNetwork, key: Key[Array, ""]) -> Array:
        """Compute 1 + F/m from equation (1), F_l(x) = m <a_l, exp(W' x)> / <exp(W' x), 1>."""
        return 1 + naive_outputs(problem.weight, problem.sign, problem.x) / problem.weight.shape[1]

    def condition(self, problem: MovedNetwork) -> Array:
        return problem.rounding
