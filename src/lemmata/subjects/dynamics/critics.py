"""Discriminators in the space of a kernel: their training by gradient flow, and their gradients, which their loss does
not determine.

Train a discriminator of infinite width on fixed points. The discriminator moves in the space of its tangent kernel K,
at all points z at once: df(z)/dt = -sum_i K(z, z_i) dL/df(z_i), where L is the loss on the training points z_i. This
theory gives the function after a finite time, its size, and how fast networks of finite width approach it. It assumes f
= 0 at the start and gradient flow. It does not explain discriminators that keep their weights from one step of the
generator to the next.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import Serial, TangentKernel, erf_network
from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Rate, Source
from lemmata.kernels import RBF, gram
from lemmata.subjects.dynamics import critic, discriminator_loss
from lemmata.subjects.dynamics._clouds import Clouds, ShiftedClouds

ABOUT = {"tool": "reproducing kernels", "architecture": "any", "object": "training"}

_PAPER = "franceschi2022neural"
_KERNEL = RBF(1.0)
_NARROW = RBF(0.3)
_STEPS = 400
_STRETCH = 1.5
_DESCENTS = 20
_NETWORKS = 16


@eqx.filter_jit
def integrated(problem: Clouds, at: Float[Array, "p d"]) -> Float[Array, " p"]:
    """Integrate the flow of the discriminator's values at all points together by classical Runge-Kutta steps. Return
    its values at the points `at` when training ends.
    """
    clouds = jnp.concatenate([problem.real, problem.fake])
    cross = gram(_KERNEL, jnp.concatenate([clouds, at]), clouds)
    n, count = len(problem.real), len(clouds)
    slope = jax.grad(lambda values: discriminator_loss(values, n, problem.loss))
    move = lambda values: -cross @ slope(values[:count])
    step = problem.time / _STEPS

    def one(_, values: Array) -> Array:
        a = move(values)
        b = move(values + step / 2 * a)
        c = move(values + step / 2 * b)
        return values + step / 6 * (a + 2 * b + 2 * c + move(values + step * c))

    return jax.lax.fori_loop(0, _STEPS, one, jnp.zeros(len(cross)))[count:]


class TrainedCritic(Claim[Clouds]):
    """Train a discriminator in the reproducing kernel Hilbert space of a kernel K by gradient flow for a time tau, from
    0. The training points are n real points y and m generated points x, which are fixed. Let mean_real and mean_fake be
    the means over the real and the generated points. Let Z be all these points, w the diagonal matrix of their weights,
    and r the vector of their labels. Each real point has the weight 1/n and the label 1. Each generated point has the
    weight 1/m and the label -1. For the losses IPM and LSGAN, the trained discriminator has at every point z the value

        ipm:    tau (mean_real K(z, y) - mean_fake K(z, x)),
        lsgan:  K(z, Z) w^(1/2) (1 - exp(-2 tau S))/S w^(1/2) r,    S = w^(1/2) K(Z, Z) w^(1/2).

    The test uses three points z that are neither real nor generated.
    """

    title = "The trained GAN discriminator of infinite width has a closed form for the losses IPM and LSGAN"
    source = Source(_PAPER, "Abstract, trained discriminator", note="IPM and LSGAN")
    reading = "The losses are E_fake f - E_real f, and E_real (f - 1)² + E_fake (f + 1)², with f = 0 at the start"
    stated = Kind.THEOREM
    population = ShiftedClouds(losses=("ipm", "lsgan"))
    relation = Equal(block=1)
    control = Control(
        "the discriminator is trained for 1.5 times as long", lambda values, problem: _values(problem, _STRETCH)
    )
    controls = "the discriminator that a generator sees"
    unexplained = "discriminators that do not start from 0"

    def predict(self, problem: Clouds) -> Array:
        return _values(problem, 1.0)

    def measure(self, problem: Clouds, key: Key[Array, ""]) -> Array:
        return integrated(problem, problem.other)

    def condition(self, problem: Clouds) -> Array:
        """Allow for the rounding error of every step, and for the Runge-Kutta error: h^5/120 in each step of exp(-h).

        For LSGAN, the eigenvector of S with the eigenvalue a has h = 2 tau a/steps. Later steps shrink its error, and
        the error enters f divided by a.
        """
        clouds = jnp.concatenate([problem.real, problem.fake])
        pulls, largest = gram(_KERNEL, problem.other, clouds) / len(problem.real), jnp.abs(_values(problem, 1.0)).max()
        rounding = _STEPS / 32 * 2 * problem.time * jnp.abs(pulls).sum(axis=1).max() / largest
        if problem.loss == "ipm":
            return 1 + rounding
        modes = jnp.linalg.eigvalsh(gram(_KERNEL, clouds) / len(problem.real))
        rate = 2 * problem.time / _STEPS
        left = _STEPS * rate**5 * modes**4 / 120 * jnp.exp(-rate * (_STEPS - 1) * modes)
        reach = jnp.sqrt(2 * len(problem.real) * jnp.sum(pulls**2, axis=1).max())
        return 1 + rounding + reach * left.max() / largest / (32 * jnp.finfo(float).eps)


def _values(problem: Clouds, stretch: float) -> Array:
    return critic(_KERNEL, problem.real, problem.fake, stretch * problem.time, problem.loss)(problem.other)


class CriticNorm(Claim[Clouds]):
    """Let L be any differentiable loss. Train a discriminator f in the reproducing kernel Hilbert space of a kernel by
    gradient flow for a time tau from f = 0. Then the norm of f in this space satisfies

        |f|² <= tau (L(0) - L(f)).

    Equality holds for the IPM loss. The test uses LSGAN and the vanilla GAN loss after a short training.
    """

    title = "The squared norm of a trained GAN discriminator is at most the training time times the fall of its loss"
    source = Source(_PAPER, "Abstract, trained discriminator", note="norm, for all losses")
    stated = Kind.LEMMA
    population = ShiftedClouds(losses=("lsgan", "vanilla"), time=0.3)
    relation = AtMost()
    control = Control("the norm is at most 0.8 of the bound", lambda bound, problem: 0.8 * bound)
    controls = "the size of a discriminator, and thus its slopes if the kernel is smooth"
    unexplained = "losses that change while the discriminator is trained"
    traced = False

    def predict(self, problem: Clouds) -> Array:
        n, clouds = len(problem.real), jnp.concatenate([problem.real, problem.fake])
        loss = lambda values: discriminator_loss(values, n, problem.loss)
        return problem.time * (loss(jnp.zeros(len(clouds))) - loss(integrated(problem, clouds)))

    def measure(self, problem: Clouds, key: Key[Array, ""]) -> Array:
        return critic(_KERNEL, problem.real, problem.fake, problem.time, problem.loss).squared_norm

    def condition(self, problem: Clouds) -> Array:
        """Allow for the integrator of the vanilla flow, whose local error is 1e-9."""
        return jnp.asarray(1e-7 / (32 * jnp.finfo(float).eps))

    def trivial(self, problem: Clouds) -> Array:
        """Return tau L(0), which bounds |f|² because neither loss is below 0."""
        n = len(problem.real)
        return problem.time * discriminator_loss(jnp.zeros(2 * n), n, problem.loss)


class OptimumLeavesSlopesOpen(Claim[Clouds]):
    """For any vectors g_i, there is a discriminator with the smallest possible LSGAN loss, 0, and with the gradient g_i
    at each generated point x_i. So the loss of a discriminator does not determine its gradients at generated points.
    Therefore an analysis that replaces the discriminator by an optimal discriminator does not determine the gradient
    that the generator follows.

    In the test, the vectors g_i are values of a rapidly oscillating sine at the generated points. The discriminator is
    an interpolant in the space of an RBF kernel. The test checks its gradients and its loss.
    """

    title = "An optimal discriminator can have any gradients at the generated points"
    source = Source(_PAPER, "Abstract, flaw", note="for finitely many points")
    reading = "Earlier analyses assume that the discriminator is optimal for its loss, whatever its architecture"
    stated = Kind.OWN
    population = ShiftedClouds(points=4, losses=("lsgan",))
    relation = Equal(block=-1)
    control = Control("the gradients are half of these", lambda slopes, problem: slopes / 2)
    controls = "whether the loss of the discriminator determines the gradients that a generator follows"
    unexplained = "densities instead of points, for which an optimal discriminator is determined wherever there is mass"
    traced = False

    def predict(self, problem: Clouds) -> Array:
        return jnp.concatenate([_wanted(problem).reshape(-1), jnp.zeros(1)])

    def measure(self, problem: Clouds, key: Key[Array, ""]) -> Array:
        return _reached(problem, _wanted(problem))

    def condition(self, problem: Clouds) -> Array:
        """Allow for neighbouring points at a small distance r, whose kernel derivatives nearly agree.

        The error of the interpolant grows like r^-6.
        """
        clouds = jnp.concatenate([problem.real, problem.fake])
        apart = jnp.sum((clouds[:, None] - clouds) ** 2, axis=2) + 1e9 * jnp.eye(len(clouds))
        return 1e5 / jnp.minimum(apart.min() / _NARROW.lengthscale**2, 1.0) ** 3


@eqx.filter_jit
def _reached(problem: Clouds, wanted: Float[Array, "m d"]) -> Array:
    """Return gradients and loss of the interpolant f(z) = sum a_i K(z, z_i) + sum <b_i, grad_2 K(z, x_i)>. It has the
    labels at all points z_i, and the wanted gradients at the generated points x_i. Here grad_2 is the gradient in the
    second argument.
    """
    clouds, fake = jnp.concatenate([problem.real, problem.fake]), problem.fake
    count, n = len(clouds), len(problem.real)
    labels = jnp.where(jnp.arange(count) < n, 1.0, -1.0)

    def values(coefficients: Array, z: Array) -> Array:
        a, b = coefficients[:count], coefficients[count:].reshape(fake.shape)
        pulls = jax.vmap(lambda point, own: jax.jvp(lambda y: _NARROW(z, y), (point,), (own,))[1])(fake, b)
        return jax.vmap(lambda point: _NARROW(z, point))(clouds) @ a + pulls.sum()

    def conditions(coefficients: Array) -> Array:
        slopes = jax.vmap(jax.grad(values, argnums=1), (None, 0))(coefficients, fake)
        return jnp.concatenate([jax.vmap(values, (None, 0))(coefficients, clouds), slopes.reshape(-1)])

    system = jax.jacobian(conditions)(jnp.zeros(count + fake.size))
    reached = conditions(jnp.linalg.solve(system, jnp.concatenate([labels, wanted.reshape(-1)])))
    return jnp.append(reached[count:], discriminator_loss(reached[:count], n, "lsgan"))


def _wanted(problem: Clouds) -> Array:
    """Return arbitrary fixed vectors g_i of length about 1, one for each generated point."""
    return jnp.sin(1e3 * (problem.fake + 0.1 * jnp.arange(problem.fake.shape[1])))


class FiniteWidthCritic(Claim[Clouds]):
    """Let f = (g_1 - g_2)/sqrt(2) be a network of two equal halves of width N, each with one hidden layer of error
    functions and biases. Train f by gradient flow for a time tau on real points y and generated points x. The loss is
    the IPM loss, which is the mean of f over generated points minus its mean over real points. Let K be the tangent
    kernel at infinite width, and let mean_real and mean_fake be means over the real and the generated points. At every
    point z, the trained network f has the value

        tau (mean_real K(z, y) - mean_fake K(z, x)) + O(N^(-1/2)).

    The test measures the root mean square of the term O(N^(-1/2)) over 16 networks and three points. It checks that
    this number falls like N^(-1/2), and no faster.
    """

    title = "GAN discriminators of finite width N differ from their infinite-width limit by order N^(-1/2)"
    source = Source(_PAPER, "Abstract, infinite width", note="with a rate in the width")
    stated = Kind.LEMMA
    population = ShiftedClouds(loss="ipm", losses=("ipm",), time=1.0)
    relation = Rate("width", (32.0, 128.0, 512.0), margin=0.1, resolution=0.15)
    control = Control("the difference falls like 1/N", lambda exponent, problem: exponent - 0.5)
    controls = "how wide a discriminator must be for its kernel to describe it"
    unexplained = "training so long that the kernel of the network moves"
    trials = 24
    traced = False
    predict = -0.5

    def measure_at(self, problem: Clouds, key: Key[Array, ""], width: float) -> Array:
        """Return the root mean square, over networks and other points, of the distance to the critic of infinite
        width.
        """
        found = _all_trained(_network(int(width)), jax.random.split(key, _NETWORKS), problem)
        return jnp.sqrt(jnp.mean((found - _limit(problem)) ** 2))


def _network(width: int) -> Serial:
    return erf_network(1, width, bias_std=0.5)


@eqx.filter_jit
def _limit(problem: Clouds) -> Float[Array, " p"]:
    """Return the critic of infinite width at the other points. The kernel does not depend on the width."""
    return critic(TangentKernel(_network(1)), problem.real, problem.fake, problem.time)(problem.other)


@eqx.filter_jit
def _all_trained(network: Serial, keys: Key[Array, " k"], problem: Clouds) -> Float[Array, "k p"]:
    """Return, for each key, the values of a trained network at the other points."""
    return jax.vmap(lambda own: _trained(network, own, problem))(keys)


def _trained(network: Serial, key: Key[Array, ""], problem: Clouds) -> Float[Array, " p"]:
    """Return the values at `problem.other` after 20 gradient steps on a network that is the difference of two halves.
    Both halves start with the same weights, so the difference is 0 at the start.
    """
    first, _ = network.init(key, problem.real.shape[1])

    def outputs(halves: tuple, z: Array) -> Array:
        one, two = (jax.vmap(lambda point, own=own: network.apply(own, point)[0])(z) for own in halves)
        return (one - two) / 2**0.5

    def loss(halves: tuple) -> Array:
        return jnp.mean(outputs(halves, problem.fake)) - jnp.mean(outputs(halves, problem.real))

    def step(_, halves: tuple) -> tuple:
        slopes = jax.grad(loss)(halves)
        return jax.tree.map(lambda part, slope: part - problem.time / _DESCENTS * slope, halves, slopes)

    return outputs(jax.lax.fori_loop(0, _DESCENTS, step, (first, first)), problem.other)
