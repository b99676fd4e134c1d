"""Depth as computation: how accurately L layers of attention can solve a linear regression.

Each layer is a Newton iteration for the inverse of the matrix S of a linear system, or a step of gradient descent with
its own step size. This theory gives the speed at which the error falls with the number of layers. It assumes exact
arithmetic. It does not say which algorithm a trained model follows.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import linprog

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Kind, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform
from lemmata.engine.problems.variables import dimension

ABOUT = {"tool": "convex optimisation", "architecture": "transformer in context", "object": "estimator"}

_ACCURACY = 1e-7


class InverseStart(eqx.Module):
    """A symmetric positive definite S, by its eigenvectors and eigenvalues, and a start alpha I for its inverse."""

    frame: Float[Array, "d d"]
    eigenvalues: Float[Array, " d"]
    alpha: Float[Array, ""]

    @property
    def matrix(self) -> Float[Array, "d d"]:
        """The matrix S."""
        return self.frame * self.eigenvalues @ self.frame.T

    @property
    def first(self) -> Float[Array, ""]:
        """The spectral norm of I - alpha S."""
        return jnp.max(jnp.abs(1 - self.alpha * self.eigenvalues))


class InverseStarts(Population[InverseStart]):
    """Random S and alpha. For half of them, |1 - alpha s| peaks at the least eigenvalue s of S, else at the largest."""

    settings = Space(d=dimension(6, 2, 32, corners=(4, 12)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> InverseStart:
        d = setting["d"]
        frame_key, value_key, norm_key, side_key, size_key = jax.random.split(key, 5)
        frame = jnp.linalg.qr(jax.random.normal(frame_key, (d, d)))[0]
        first = jax.random.uniform(norm_key, minval=0.75, maxval=0.95)
        side = jnp.where(jax.random.bernoulli(side_key), first, -first)
        left = jax.random.uniform(value_key, (d,), minval=-0.7, maxval=0.7).at[0].set(side)
        alpha = 0.1 * 100 ** jax.random.uniform(size_key)
        return InverseStart(frame, (1 - left) / alpha, alpha)

    def hypotheses(self, problem: InverseStart) -> list[Hypothesis]:
        largest = jnp.max(problem.eigenvalues)
        return [
            Hypothesis("least eigenvalue", jnp.min(problem.eigenvalues), ">", 0.0),
            Hypothesis("alpha |S|", problem.alpha * largest, "<", 2.0, "I - alpha S contracts"),
        ]


class NewtonLayersSquare(Claim[InverseStart]):
    """Let S be symmetric and positive definite, and let |.| be the spectral norm. Start from M_0 = alpha I with 0 <
    alpha < 2/|S|, and let each layer compute M <- 2M - M S M. After k layers

        |I - M_k S| = |I - alpha S|^(2^k).

    So about log2 log(1/eps) + log2(|S| |S^(-1)|) layers are needed for an error of eps. With k layers of gradient
    descent instead, the error is |I - alpha S|^(k + 1), which is far larger. The statement is tested for k = 2, 3 and
    4.

    Derivation: I - (2M - M S M) S = (I - M S)², and I - alpha S is symmetric, so the norm of its power is the power of
    its norm.
    """

    title = "Each Newton layer squares the residual of an approximate inverse"
    source = Source("emergence2026", "Figure 15.11", note="with Newton's iteration for the inverse instead of descent")
    stated = Kind.OWN
    population = InverseStarts()
    relation = Equal()
    control = Control(
        "the exponent is k + 1, as for k more steps of descent",
        lambda norms, problem: problem.first ** jnp.asarray([3.0, 4.0, 5.0]),
    )
    controls = "the residual after a number of layers"
    unexplained = "whether training finds this iteration"

    def predict(self, problem: InverseStart) -> Array:
        return problem.first ** jnp.asarray([4.0, 8.0, 16.0])

    def measure(self, problem: InverseStart, key: Key[Array, ""]) -> Array:
        s, norms = problem.matrix, []
        inverse = problem.alpha * jnp.eye(len(s))
        for _ in range(4):
            inverse = 2 * inverse - inverse @ s @ inverse
            norms.append(jnp.linalg.norm(jnp.eye(len(s)) - inverse @ s, ord=2))
        return jnp.stack(norms[1:])

    def condition(self, problem: InverseStart) -> Array:
        """The condition number: the rounding error |M| |S| of a product of d terms in I - M S, over the result."""
        largest, least = jnp.max(problem.eigenvalues), jnp.min(problem.eigenvalues)
        return len(problem.eigenvalues) * largest / least / problem.first ** jnp.asarray([4.0, 8.0, 16.0])


class Spectrum(eqx.Module):
    """The least eigenvalue mu and the condition number of a matrix, and a number L of layers."""

    least: Float[Array, ""]
    kappa: Float[Array, ""]
    layers: int = eqx.field(static=True)


def _extremes(problem: Spectrum) -> tuple[float, float]:
    return float(problem.least), float(problem.least * problem.kappa)


def best_residual(low: float, high: float, degree: int) -> float:
    """Minimise the largest |r| on [low, high] over polynomials r of this degree with r(0) = 1, by a linear programme.

    Args:
        low: the lower end of the spectrum.
        high: the upper end of the spectrum.
        degree: the degree of r.
    """
    angles = np.pi * np.arange(120 * degree + 1) / (120 * degree)
    scaled = np.polynomial.chebyshev.chebvander(np.cos(angles), degree)
    at_zero = np.polynomial.chebyshev.chebvander(-(high + low) / (high - low), degree)[0]
    size = np.abs(at_zero).max()
    bound = -np.ones((len(angles), 1))
    both = np.vstack([np.hstack([scaled, bound]), np.hstack([-scaled, bound])])
    cost = np.append(np.zeros(degree + 1), 1.0)
    # in units of 1/size, r is of order 1 on the spectrum
    found = linprog(
        cost, both, np.zeros(len(both)), np.append(at_zero / size, 0.0)[None], [1.0], bounds=(None, None),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    return float(found.fun) / size


class LayersAreAPolynomial(Claim[Spectrum]):
    """Let layer l of linear attention be a step w <- w - eta_l (H w - b) of gradient descent on a linear regression,
    with its own step size eta_l. Let the eigenvalues of H be in [mu, M]. After L layers the error of w is r(H) times
    the initial error, where r is a polynomial of degree L with r(0) = 1. Let T_L be Chebyshev's polynomial of degree L.
    Over all step sizes, the smallest value of the maximum of |r| on [mu, M] is

        1/T_L((M + mu)/(M - mu)).

    The steps 1/x_l attain this value, where x_l are the L zeros of T_L, moved from [-1, 1] to [mu, M]. With the best
    constant step, this maximum is ((M - mu)/(M + mu))^L. The trials compare the formula with a linear program over all
    polynomials, and with the layers themselves.

    Derivation: a layer multiplies the error by I - eta_l H, so r is the product of 1 - eta_l x. Move Chebyshev's
    polynomial to [mu, M], and scale it to 1 at 0. It takes its largest absolute value with alternating signs at L + 1
    points of [mu, M]. Suppose that a polynomial r has a smaller maximum. The difference between r and Chebyshev's
    polynomial has degree at most L. But it has L zeros between these points and one more zero at 0, which is
    impossible.
    """

    title = "The best step sizes for L layers of gradient descent are one over the zeros of a Chebyshev polynomial"
    source = Source("young1953", "Main result", note="Chebyshev steps, here as layers")
    stated = Kind.OWN
    population = Drawn(
        Spectrum,
        lambda problem: Hypothesis("M/mu", problem.kappa, ">", 1.0, "otherwise one step solves the problem exactly"),
        least=log_uniform(0.1, 10.0),
        kappa=log_uniform(8.0, 100.0),
        layers=Integer(3, 2, 4, "layers", corners=(2, 4)),
    )
    relation = Equal()
    control = Control(
        "the error is that of the best constant step in as many layers",
        lambda left, problem: jnp.full(2, ((problem.kappa - 1) / (problem.kappa + 1)) ** problem.layers),
    )
    controls = "the error that L layers of descent leave in the worst case"
    unexplained = "spectra with gaps, and prompts that are better than the worst case"
    traced = False

    def predict(self, problem: Spectrum) -> Array:
        centre = (problem.kappa + 1) / (problem.kappa - 1)
        return jnp.full(2, 1 / jnp.cosh(problem.layers * jnp.arccosh(centre)))

    def measure(self, problem: Spectrum, key: Key[Array, ""]) -> Array:
        """Return the optimum of the linear programme, and the largest error left by the layers at 400 eigenvalues."""
        low, high = _extremes(problem)
        zeros = np.cos(np.pi * (np.arange(problem.layers) + 0.5) / problem.layers)
        spectrum = (high + low + (high - low) * np.cos(np.pi * np.arange(421) / 420)) / 2
        error = np.ones(len(spectrum))
        for zero in zeros:
            error = error - error * spectrum / ((high + low + (high - low) * zero) / 2)
        return jnp.asarray([best_residual(low, high, problem.layers), float(np.abs(error).max())])

    def condition(self, problem: Spectrum) -> Array:
        """The condition numbers of the two measured values, where errors are counted in units of 32 eps.

        The linear programme has the relative accuracy `_ACCURACY`, and the layers are accurate to rounding.
        """
        exact = problem.layers * problem.kappa**2
        return jnp.stack([jnp.asarray(_ACCURACY / (32 * np.finfo(float).eps)), exact])
