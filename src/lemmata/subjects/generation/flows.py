"""Flows between normal distributions: the result of flow matching, and the energy of the path.

This theory is about the interpolation X_t = (1 - t) X_0 + t X_1 of two normal vectors. The velocity is v_t(x) =
E[X_1 - X_0 | X_t = x], and the generator is the flow dx/dt = v_t(x). The theory assumes that the velocity is known. It
does not explain flows between other distributions.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Kind, Source
from lemmata.subjects.generation._gaussian_pairs import (
    BY_SOLVER,
    NODES,
    WEIGHTS,
    CoupledPairs,
    GaussianPair,
    IndependentPairs,
)

ABOUT = {"tool": "dynamical systems", "architecture": "diffusion model", "object": "sampler"}

_SOURCE = "emergence2026"


class GaussianFlowMap(Claim[GaussianPair]):
    """Let X_0 ~ N(0, S_0) and X_1 ~ N(0, S_1) be independent, and let v_t(x) = E[X_1 - X_0 | X_t = x] for X_t =
    (1 - t) X_0 + t X_1. The flow dx/dt = v_t(x) from time 0 to time 1 is x -> M x with

        M = (S_1 S_0^-1)^(1/2),

    the square root with positive eigenvalues. The flow is the optimal transport map if and only if M is symmetric, that
    is, if S_0 S_1 = S_1 S_0. So from S_0 = I, the flow is the transport map S_1^(1/2). If the two covariances do not
    commute, the flow reaches the right target but is not optimal.

    Derivation: Choose an orthogonal matrix Q such that P' S_1^-1 P is diagonal for P = S_0^(1/2) Q. Then S_0 = P P',
    and S_1 = P D P' with a diagonal matrix D. In the coordinates P^-1 x the velocity is diagonal, (t D - (1 - t)) / ((1
    - t)² + t² D), and its flow multiplies by D^(1/2): M = P D^(1/2) P^-1. Hertrich, Chambolle and Delon (2025) also
    treat rectified flows of normal distributions.
    """

    title = "The rectified flow from N(0, S_0) to an independent N(0, S_1) is the linear map (S_1 S_0^-1)^(1/2)"
    source = Source(_SOURCE, "Figure 16.14", note="for normal distributions, where the flow is known")
    stated = Kind.OWN
    population = IndependentPairs()
    relation = Equal(block=-1)
    control = Control("the flow is the optimal transport map", lambda flow, problem: problem.transport)
    controls = "where the samples of flow matching end"
    unexplained = "distributions that are not normal"

    def predict(self, problem: GaussianPair) -> Array:
        return problem.middle @ jnp.linalg.inv(problem.base)

    def measure(self, problem: GaussianPair, key: Key[Array, ""]) -> Array:
        """Compute the flow by a solver."""
        return problem.flow()

    def condition(self, problem: GaussianPair) -> Array:
        return jnp.asarray(BY_SOLVER)


class GaussianFlowEnergy(Claim[GaussianPair]):
    """Let X_0 ~ N(0, S_0) and X_1 ~ N(0, S_1) be independent, let X_t = (1 - t) X_0 + t X_1, and let v_t(x) = E[X_1 -
    X_0 | X_t = x] be the velocity. Let S_0 # S_1 = S_0^(1/2) (S_0^(-1/2) S_1 S_0^(-1/2))^(1/2) S_0^(1/2) be the
    geometric mean. For t uniform on [0, 1], the energy of the path and the least loss of conditional flow matching are

        E |v_t(X_t)|² = tr S_0 + tr S_1 - (pi/2) tr(S_0 # S_1),
        E tr Cov(X_1 - X_0 | X_t) = (pi/2) tr(S_0 # S_1).

    If S_0 and S_1 commute, the squared Wasserstein distance W_2² is given by the first formula with 2 in place of pi/2.
    So the energy of the independent path exceeds W_2² by (2 - pi/2) tr(S_0 # S_1), which is 0.43 of this trace.

    Derivation: There is an invertible matrix P with S_0 = P P' and S_1 = P D P', where D is diagonal. In the
    coordinates P^-1 x, everything is diagonal. So Cov(X_1 - X_0 | X_t) = P diag(D / ((1 - t)² + t² D)) P'. For an entry
    s² of D, the integral of s²/((1 - t)² + t² s²) over [0, 1] is s pi/2.
    """

    title = "The independent path from N(0, S_0) to N(0, S_1) has energy tr(S_0 + S_1) - (pi/2) tr(geometric mean)"
    source = Source(_SOURCE, "Figure 16.15", "Figure 16.13", note="for normal distributions, with the constant")
    stated = Kind.OWN
    population = IndependentPairs()
    relation = Equal()
    control = Control(
        "the factor is 2 instead of pi/2, as for the optimal path with commuting covariances",
        lambda values, problem: jnp.stack([values.sum() - 4 / jnp.pi * values[1], 4 / jnp.pi * values[1]]),
    )
    controls = "the kinetic energy of a path, and the loss that is left when the velocity is learned"
    unexplained = "distributions that are not normal, for which both numbers have no closed form"

    def predict(self, problem: GaussianPair) -> Array:
        floor = jnp.pi / 2 * jnp.trace(problem.middle)
        return jnp.stack([jnp.trace(problem.base) + jnp.trace(problem.target) - floor, floor])

    def measure(self, problem: GaussianPair, key: Key[Array, ""]) -> Array:
        """Compute both numbers by quadrature. The least loss comes from the covariance of X_1 - X_0 given X_t."""

        def left(t: Array) -> Array:
            velocity = problem.velocity(t)
            return jnp.trace(problem.step - velocity @ problem.covariance(t) @ velocity.T)

        return jnp.stack([problem.energy, jnp.asarray(WEIGHTS) @ jax.vmap(left)(jnp.asarray(NODES))])

    def condition(self, problem: GaussianPair) -> Array:
        """Allow for inverses of covariances, and for differences of traces."""
        spectra = [jnp.linalg.eigvalsh(m) for m in (problem.base, problem.target)]
        ratio = jnp.maximum(*(s[-1] / s[0] for s in spectra))
        floor = jnp.pi / 2 * jnp.trace(problem.middle)
        total = sum(s.sum() for s in spectra)
        return len(problem.base) * ratio * total / jnp.stack([total - floor, floor])


class PathEnergyAboveTransport(Claim[GaussianPair]):
    """Let (X_0, X_1) be a coupling of two distributions, X_t = (1 - t) X_0 + t X_1, and v_t(x) = E[X_1 - X_0 | X_t =
    x]. Then

        integral_0^1 E |v_t(X_t)|² dt >= W_2²,

    where W_2 is the Wasserstein distance of the two distributions. The optimal coupling attains this bound. The test
    uses normal distributions. In half of the trials, X_1 is the image of X_0 under an optimal transport map. In the
    others, the coupling is arbitrary.
    """

    title = "The energy of a path between two distributions is at least their squared Wasserstein distance"
    source = Source("benamou2000", "Main result", note="for velocities of interpolations of normal distributions")
    stated = Kind.THEOREM
    population = CoupledPairs()
    relation = AtLeast()
    control = Control("the energy is at least 1.02 times the squared distance", lambda least, problem: 1.02 * least)
    controls = "the kinetic energy that a sampler's path needs"
    unexplained = "which couplings come near the least energy"

    def predict(self, problem: GaussianPair) -> Array:
        return problem.squared_distance

    def measure(self, problem: GaussianPair, key: Key[Array, ""]) -> Array:
        return problem.energy

    def condition(self, problem: GaussianPair) -> Array:
        """Allow for inverse roots of S_0, and for a difference of traces."""
        spectrum = jnp.linalg.eigvalsh(problem.base)
        total = jnp.trace(problem.base) + jnp.trace(problem.target)
        return len(spectrum) * spectrum[-1] / spectrum[0] * total / problem.squared_distance

    def trivial(self, problem: GaussianPair) -> Array:
        """Return the squared difference of the root mean square lengths of X_0 and X_1, a lower bound of W_2²."""
        return (jnp.sqrt(jnp.trace(problem.base)) - jnp.sqrt(jnp.trace(problem.target))) ** 2
