"""The tangent kernel of attention, compared with the covariance of its outputs, and the path of outputs in training.

For wide networks with one attention layer, this theory compares the tangent kernel with the kernel E f(x) f(x') of the
outputs at initialisation. It assumes that the width and the number of heads go to infinity. It does not explain
training outside the tangent regime.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import NNGPKernel, TangentKernel, tangent_gram
from lemmata.engine.claims import (
    AtLeast,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Source,
    Space,
    Witness,
)
from lemmata.kernels import gram
from lemmata.subjects.optimisation._attention_tokens import AttentionSequences, AttentionTokens

ABOUT = {"tool": "Gaussian processes", "architecture": "attention", "object": "kernel"}


class SmallNetwork(eqx.Module):
    """f(x) = sum_j a_j tanh(w_j x + b_j) with parameters a, then w, then b, on training rows x with targets y."""

    parameters: Float[Array, " p"]
    x: Float[Array, " n"]
    y: Float[Array, " n"]

    def outputs(self, parameters: Float[Array, " p"]) -> Float[Array, " n"]:
        """Return f on the training inputs."""
        readout, slope, shift = parameters.reshape(3, -1)
        return jnp.tanh(self.x[:, None] * slope + shift) @ readout

    def loss(self, parameters: Float[Array, " p"]) -> Float[Array, ""]:
        """Return the loss 1/2 sum_i (f(x_i) - y_i)²."""
        return jnp.sum((self.outputs(parameters) - self.y) ** 2) / 2

    def speed(self) -> Float[Array, " n"]:
        """Return the time derivative of the outputs under gradient flow."""
        way = -jax.grad(self.loss)(self.parameters)
        return jax.jvp(self.outputs, (self.parameters,), (way,))[1]


class SmallNetworks(Population[SmallNetwork]):
    """Normal parameters, inputs and targets; three parameters for each unit, and as many rows as parameters."""

    settings = Space(units=Integer(4, 1, 64, "hidden units", corners=(4, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmallNetwork:
        return SmallNetwork(*jax.random.normal(key, (3, 3 * setting["units"])))

    def hypotheses(self, problem: SmallNetwork) -> list[Hypothesis]:
        return [Hypothesis("targets", len(problem.y), "==", len(problem.x), "every input needs a target")]


_WIDTH, _DRAWS = 64, 2


def _upper(matrix: Float[Array, "n n"]) -> Float[Array, " k"]:
    return matrix[jnp.triu_indices(len(matrix))]


def _finite_kernel(problem: AttentionTokens, key: Key[Array, ""]) -> Float[Array, " k"]:
    """Return the mean tangent kernel of a few networks of finite width, computed from their gradients."""
    network = problem.network(_WIDTH)

    def one(own):
        parameters, _ = network.init(own, problem.x.shape[1:])
        return tangent_gram(network, parameters, problem.x).reshape(len(problem.x), len(problem.x))

    return _upper(jax.lax.map(one, jax.random.split(key, _DRAWS)).mean(axis=0))


class AttentionTangentFactor(Claim[AttentionTokens]):
    """Let f be the output of a wide network. The network consists of a dense layer on every token, attention, and a
    linear readout of the mean over positions. The logits of attention are scaled by 1/d, where d is the width of a
    head. All layers are trained. With E the mean over the initial weights, the tangent kernel K is

        K(x, x') = 4 E f(x) f(x').

    Each of the four linear maps on the path of the values (input, value, output and readout) contributes the covariance
    E f(x) f(x') once. Queries and keys contribute nothing, since with this scaling the logits do not change in
    training. The test measures networks of width 64.
    """

    title = "The tangent kernel of wide attention is four times the covariance of its outputs"
    source = Source("foundation2025", "(14)", note="with the factor, for logits scaled by 1/d")
    stated = Kind.OWN
    population = AttentionSequences()
    # the remaining error at width 64 is about 2/64
    relation = EqualInMean(margin=0.03, resolution=0.1)
    control = Control("the tangent kernel is three times the covariance", lambda kernel, problem: 0.75 * kernel)
    controls = "the tangent kernel of a network with one attention layer"
    unexplained = "logits scaled by 1/sqrt(d); several layers"
    trials = 64

    def predict(self, problem: AttentionTokens) -> Array:
        return 4 * _upper(gram(NNGPKernel(problem.network()), problem.x))

    def measure(self, problem: AttentionTokens, key: Key[Array, ""]) -> Array:
        return _finite_kernel(problem, key)


class LinearAttentionTangentFactor(Claim[AttentionTokens]):
    """Let f be the output of a wide network. The network consists of a dense layer on every token, attention without
    softmax, and a linear readout of the mean over positions. The attention weights are the inner products of queries
    and keys, divided by sqrt(d), where d is the width of a head. With E the mean over the initial weights, the tangent
    kernel K of the network is

        K(x, x') = 8 E f(x) f(x').

    A layer contributes k times the covariance E f(x) f(x') if the outputs have degree k in the weights of this layer.
    The degree is one for each of queries, keys, values, output and readout. The degree is three for the first layer,
    because queries, keys and values are linear in its output.
    """

    title = "The tangent kernel of linear attention is eight times the covariance of its outputs"
    source = Source("foundation2025", "(14)", note="for logits scaled by 1/sqrt(d), without softmax")
    stated = Kind.OWN
    population = AttentionSequences(mechanism="identity", scaling="1/sqrt(d)")
    relation = Equal(block=2)
    control = Control(
        "the tangent kernel is six times the covariance, with the first layer counted once",
        lambda kernel, problem: 0.75 * kernel,
    )
    controls = "the tangent kernel of a network with one layer of linear attention"
    unexplained = "softmax; finite width"
    condition = 100.0

    def predict(self, problem: AttentionTokens) -> Array:
        return 8 * gram(NNGPKernel(problem.network()), problem.x)

    def measure(self, problem: AttentionTokens, key: Key[Array, ""]) -> Array:
        return gram(TangentKernel(problem.network()), problem.x)


class TangentDominatesCovariance(Claim[AttentionTokens]):
    """Consider a wide network that consists of a dense layer on every token, attention, and a linear readout of the
    mean over positions. All layers are trained. The attention weights are the ReLU of the logits. The logits are the
    inner products of queries and keys, divided by sqrt(d), where d is the width of a head. Take the Gram matrices of
    two kernels on any inputs: let K be that of the tangent kernel of the network, and let S be that of the covariance
    of its outputs. Then

        K >= 4 S   in the order of semidefinite matrices.

    Each of the four linear maps on the path of the values contributes S. Queries, keys and the inputs of the logits
    together contribute a positive semidefinite matrix.
    """

    title = "The tangent kernel of ReLU attention is at least four times the output covariance"
    source = Source("foundation2025", "(14)", note="a bound for logits scaled by 1/sqrt(d)")
    stated = Kind.OWN
    population = AttentionSequences(sequences=5, mechanism="relu", scaling="1/sqrt(d)")
    relation = AtLeast()
    control = Control("the tangent kernel is at least eight times the covariance", lambda least, problem: 2 * least)
    controls = "the least generalised eigenvalue of the tangent kernel and the output covariance"
    unexplained = "how much queries and keys contribute"
    trivial = 1.0  # the contribution of the readout alone
    predict = 4.0

    def measure(self, problem: AttentionTokens, key: Key[Array, ""]) -> Array:
        """Return the least eigenvalue of S^(-1/2) K S^(-1/2)."""
        values, vectors = jnp.linalg.eigh(gram(NNGPKernel(problem.network()), problem.x))
        whitened = vectors / jnp.sqrt(jnp.maximum(values, 1e-10 * values[-1]))
        return jnp.linalg.eigvalsh(whitened.T @ gram(TangentKernel(problem.network()), problem.x) @ whitened)[0]


class TangentIsNoMultiple(Claim[AttentionTokens]):
    """Consider a wide network with an attention layer whose attention weights are the ReLU of the logits. The logits
    are the inner products of queries and keys, divided by sqrt(d), where d is the width of a head. The tangent kernel
    of the network is not a multiple of the covariance of its outputs. Draw five random sequences, and take the multiple
    of the covariance that is closest to the tangent kernel in the Frobenius norm. In at least 95 of 100 draws, the
    distance between this multiple and the tangent kernel is more than

        1/100

    of the norm of the tangent kernel.
    """

    title = (
        "If logits are divided by sqrt(d), the tangent kernel of ReLU attention is not a multiple of the "
        "output covariance"
    )
    source = Source("foundation2025", "(14)", note="its shape for logits scaled by 1/sqrt(d)")
    stated = Kind.OWN
    population = AttentionSequences(sequences=5, mechanism="relu", scaling="1/sqrt(d)")
    relation = Witness(0.95)
    control = Control("more than 4/100", lambda share, problem: 4 * share)
    controls = "the distance of the tangent kernel from the multiples of the covariance"
    unexplained = "how much this difference matters for training"
    trials = 128
    predict = 0.01

    def measure(self, problem: AttentionTokens, key: Key[Array, ""]) -> Array:
        covariance = gram(NNGPKernel(problem.network()), problem.x)
        tangent = gram(TangentKernel(problem.network()), problem.x)
        scale = jnp.sum(tangent * covariance) / jnp.sum(covariance**2)
        return jnp.linalg.norm(tangent - scale * covariance) / jnp.linalg.norm(tangent)


class FlowOfOutputs(Claim[SmallNetwork]):
    """Consider the network f(x) = sum_j a_j h_j(x) with hidden units h_j(x) = tanh(w_j x + b_j). Train its parameters
    by gradient flow on the loss L = 1/2 sum_i (f(x_i) - y_i)², where x_i are the training inputs and y_i their targets.
    At every time, the outputs on the training inputs follow

        df/dt = -K (f - y),   where K_ij = <grad f(x_i), grad f(x_j)>,

    whether or not the kernel K changes during training. For this network the kernel is

        K(x, x') = sum_j [ h_j(x) h_j(x') + a_j² (1 - h_j(x)²)(1 - h_j(x')²)(1 + x x') ].
    """

    title = "Under gradient flow, outputs change at the rate of the tangent kernel times the residual"
    source = Source("foundation2025", "(13)", note="with the kernel on the right-hand side of the equation")
    stated = Kind.OWN
    population = SmallNetworks()
    relation = Equal(block=1)
    control = Control("the outputs move at half of this speed", lambda speed, problem: speed / 2)
    controls = "the speed of a network's outputs under gradient flow"
    unexplained = "how the kernel changes"

    def predict(self, problem: SmallNetwork) -> Array:
        """Compute the speed from the closed form of the kernel."""
        readout, slope, shift = problem.parameters.reshape(3, -1)
        hidden = jnp.tanh(problem.x[:, None] * slope + shift)
        bent = readout * (1 - hidden**2)
        kernel = hidden @ hidden.T + (bent @ bent.T) * (1 + problem.x[:, None] * problem.x)
        return -kernel @ (problem.outputs(problem.parameters) - problem.y)

    def measure(self, problem: SmallNetwork, key: Key[Array, ""]) -> Array:
        return problem.speed()

    def condition(self, problem: SmallNetwork) -> Array:
        return jnp.asarray(100.0 * len(problem.x))
