"""Couplings: the pairs of base and data points for flow matching, and the gain from better pairs.

This theory is about the pairs (X_0, X_1) that are interpolated by X_t = (1 - t) X_0 + t X_1. A trained flow makes new
pairs (X_0, flow(X_0)), and optimal transport in batches makes pairs of nearby points. The theory assumes exact
velocities. It does not explain how much easier a network learns from better pairs.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Integer, Kind, Limit, Rate, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.subjects.generation._gaussian_pairs import (
    BY_SOLVER,
    NODES,
    WEIGHTS,
    CoupledPairs,
    GaussianPair,
    IndependentPairs,
    root,
)

ABOUT = {"tool": "approximation theory", "architecture": "diffusion model", "object": "sampler"}

_SOURCE = "emergence2026"


class RectificationLowersConvexCosts(Claim[GaussianPair]):
    """Let (X_0, X_1) be a coupling, and let X_t = (1 - t) X_0 + t X_1. Let the flow Z of the velocity E[X_1 - X_0 |
    X_t] start at Z_0 = X_0. Then, for every convex cost function c, the new coupling (X_0, Z_1) costs at most as much
    as the old coupling:

        E c(Z_1 - Z_0) <= E c(X_1 - X_0).

    Let S be the covariance of X_1 - X_0, and let S' be the covariance of Z_1 - Z_0. For jointly normal pairs, the
    inequality holds for every convex c if and only if S - S' is positive semidefinite. So the test checks that the
    largest eigenvalue of S' relative to S is at most 1. In half of the trials, X_1 is the image of X_0 under an optimal
    transport map. Then the flow reproduces the old coupling, and the largest eigenvalue is 1.
    """

    title = "Rectification of a coupling by its flow does not raise any convex transport cost"
    source = Source(
        "liu2023rectified", "Main result", note="on convex costs; for normal pairs, an inequality between matrices"
    )
    stated = Kind.THEOREM
    population = CoupledPairs()
    relation = AtMost()
    control = Control("the eigenvalue is at most 0.95", lambda bound, problem: 0.95 * bound)
    controls = "the transport cost of the pairs on which a second flow is trained"
    unexplained = "how far the new coupling is from the optimal one"
    predict = 1.0

    def measure(self, problem: GaussianPair, key: Key[Array, ""]) -> Array:
        """Return the largest generalised eigenvalue, computed with the flow from a solver."""
        moved = problem.flow() - jnp.eye(len(problem.base))
        back = root(problem.step, -0.5)
        return jnp.linalg.eigvalsh(back @ moved @ problem.base @ moved.T @ back)[-1]

    def condition(self, problem: GaussianPair) -> Array:
        """Allow for the solver's error, which is relative to the matrix of the flow and is divided by the least
        variance of X_1 - X_0.
        """
        spectrum = jnp.linalg.eigvalsh(problem.step)
        return BY_SOLVER * (jnp.trace(problem.base) + jnp.trace(problem.target)) / spectrum[0]

    def trivial(self, problem: GaussianPair) -> Array:
        """Return a bound on the eigenvalue that holds for any new coupling of the two distributions. For every
        coupling, the covariance of X_1 - X_0 is at most 2 (S_0 + S_1).
        """
        back = root(problem.step, -0.5)
        return 2 * jnp.linalg.eigvalsh(back @ (problem.base + problem.target) @ back)[-1]


class RectificationGain(Claim[GaussianPair]):
    """Let (X_0, X_1) be a coupling, let X_t = (1 - t) X_0 + t X_1, and let Z be the flow of the velocity v_t(x) = E[X_1
    - X_0 | X_t = x] with Z_0 = X_0. Rectification replaces (X_0, X_1) by the coupling (Z_0, Z_1). For t uniform on [0,
    1], rectification lowers the mean squared distance of a pair by exactly

        E |X_1 - X_0|² - E |Z_1 - Z_0|² = E tr Cov(X_1 - X_0 | X_t) + E |v_t(Z_t) - (Z_1 - Z_0)|².

    The first term on the right is the smallest possible loss of conditional flow matching. The second term measures how
    far the paths of Z are from straight. So a second rectification gains nothing if and only if both terms are 0. The
    test uses normal pairs.

    Derivation: E |X_1 - X_0|² is the mean of |v_t(X_t)|² plus the first term. The second term follows because Z_t has
    the distribution of X_t, and the mean of v_t(Z_t) over t is Z_1 - Z_0.
    """

    title = "The gain of rectification in transport cost is the conditional variance plus the curvature of the flow"
    source = Source("liu2023rectified", "Main result", note="the two measures of straightness, as an identity")
    stated = Kind.OWN
    population = IndependentPairs()
    relation = Equal()
    control = Control(
        "the gain is the conditional variance alone",
        lambda gain, problem: jnp.trace(problem.step) - problem.energy,
    )
    controls = "how much one rectification lowers the transport cost"
    unexplained = "the gain of the next rectification"

    def predict(self, problem: GaussianPair) -> Array:
        flows = problem.flow(jnp.asarray(NODES))
        ends = problem.flow() - jnp.eye(len(problem.base))

        def at(t: Array, flow: Array) -> Array:
            velocity = problem.velocity(t)
            left = problem.step - velocity @ problem.covariance(t) @ velocity.T
            bend = velocity @ flow - ends
            return jnp.trace(left) + jnp.trace(bend @ problem.base @ bend.T)

        return jnp.asarray(WEIGHTS) @ jax.vmap(at)(jnp.asarray(NODES), flows)

    def measure(self, problem: GaussianPair, key: Key[Array, ""]) -> Array:
        """Measure the gain with the closed form of the flow."""
        moved = problem.middle - problem.base  # M S_0 = S_0 # S_1
        return jnp.trace(problem.step) - jnp.trace(moved @ jnp.linalg.solve(problem.base, moved.T))

    def condition(self, problem: GaussianPair) -> Array:
        return BY_SOLVER * jnp.ones(())


class GaussianFlowsStraightenOnce(Claim[GaussianPair]):
    """Let X_0 ~ N(0, S_0) and X_1 ~ N(0, S_1) be independent. Their rectified flow is the linear map M = (S_1
    S_0^-1)^(1/2). Train a second flow on the pairs (X_0, M X_0). The paths of the second flow are straight, one Euler
    step is exact, and the second flow ends at the same map M:

        one Euler step of the second flow = the second flow = M.

    Each round of rectification trains a flow on the pairs of the previous flow. So if the first pairs are independent
    normal pairs, only the first round changes the coupling. The coupling (X_0, M X_0) is optimal only if S_0 and S_1
    commute.

    Derivation: the interpolation of a new pair, X_t = ((1 - t) I + t M) X_0, is an invertible function of X_0, because
    M has positive eigenvalues. So X_t determines X_0, and the velocity on a path is the constant (M - I) X_0.
    """

    title = "The second rectified flow between normal distributions is straight but not optimal transport"
    source = Source(_SOURCE, "Figure 16.14", note="for normal laws")
    stated = Kind.OWN
    population = IndependentPairs()
    relation = Equal(block=-1)
    control = Control("the second flow is optimal", lambda flow, problem: jnp.stack([problem.transport] * 2))
    controls = "the number of solver steps that a rectified flow needs"
    unexplained = "distributions that are not normal, which may need more rounds"

    def predict(self, problem: GaussianPair) -> Array:
        return jnp.stack([problem.middle @ jnp.linalg.inv(problem.base)] * 2)

    def measure(self, problem: GaussianPair, key: Key[Array, ""]) -> Array:
        """Solve the first flow, and return the map of the second flow by one Euler step and by a solver."""
        first = problem.flow()
        second = GaussianPair(problem.base, first @ problem.base @ first.T, problem.base @ first.T)
        return jnp.stack([jnp.eye(len(first)) + second.velocity(jnp.zeros(())), second.flow()])

    def condition(self, problem: GaussianPair) -> Array:
        """Allow for the second velocity, which divides by covariances that the first flow has computed."""
        spectrum = jnp.linalg.eigvalsh(problem.base)
        return BY_SOLVER * spectrum[-1] / spectrum[0]


class Batches(eqx.Module):
    """Batches of draws of a normal distribution in d dimensions.

    The entries of a draw have the standard deviation `stretch` and the mean `shift`.
    """

    stretch: Float[Array, ""]
    shift: Float[Array, ""]
    d: int = eqx.field(static=True)


def pair_costs(key: Key[Array, ""], size: int, batches: int, draw) -> tuple[float, float]:
    """Return the mean squared distance of pairs in batches of `size`, both by optimal assignment and in the order of
    drawing.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    optimal, drawn = [], []
    for _ in range(batches):
        base, data = draw(rng, size)
        costs = cdist(base, data, "sqeuclidean")
        optimal.append(costs[linear_sum_assignment(costs)].mean())
        drawn.append(np.trace(costs) / size)
    return float(np.mean(optimal)), float(np.mean(drawn))


_PAIRS = 1024  # in each measurement


class MinibatchPairsOfOneLaw(Claim[Batches]):
    """Let X_1, ..., X_B and Y_1, ..., Y_B be independent draws of N(m, s² I) in d >= 5 dimensions, and pair them by
    optimal transport for the squared distance. Divide the mean squared distance of a pair by the mean squared distance
    of pairs in random order. As the size B of the batch grows, this ratio falls like

        B^(-2/d).

    So even for two equal distributions, whose distance is 0, the cost of a pair falls slowly with the size of the
    batch. In 6 dimensions, the batch must be eight times as large to halve the cost.

    Derivation: around a point, the nearest of B points is at a distance of the order B^(-1/d), so a pair costs at least
    the order B^(-2/d). For d >= 5, a coupling that matches the two batches cell by cell, on one scale after the other,
    attains this order. On scale r, there are about r^(-d) cells. In each cell, the counts of the two batches differ by
    the fraction (r^d B)^(-1/2), which adds r² (r^d B)^(-1/2) to the cost. The sum of these terms over scales r >
    B^(-1/d) is dominated by the smallest scale.
    """

    title = "The cost of minibatch optimal transport between equal distributions in R^d falls like B^(-2/d)"
    source = Source("tong2024", "Main result", note="the rate of empirical transport, for its minibatch pairs")
    stated = Kind.OWN
    population = Drawn(
        Batches,
        positive("stretch", "the distribution has a density"),
        stretch=log_uniform(0.1, 10.0),
        shift=uniform(-1.0, 1.0),
        d=Integer(6, 5, 8, "dimension"),
    )
    relation = Rate("B", (8.0, 16.0, 32.0, 64.0, 128.0), margin=0.05, resolution=0.05)
    control = Control("the cost falls like B^(-1/2)", lambda exponent, problem: jnp.asarray(-0.5))
    controls = "the cost of the pairs on which flow matching is trained"
    unexplained = "distributions that are not normal, and data near a surface of fewer dimensions"
    traced = False
    trials = 16

    def predict(self, problem: Batches) -> Array:
        return jnp.asarray(-2 / problem.d)

    def measure_at(self, problem: Batches, key: Key[Array, ""], rung: float) -> Array:
        size, scale, shift = int(rung), float(problem.stretch), float(problem.shift)
        draw = lambda rng, n: shift + scale * rng.normal(size=(2, n, problem.d))
        optimal, drawn = pair_costs(key, size, _PAIRS // size, draw)
        return jnp.asarray(optimal / drawn)


class MinibatchPairsApproachTransport(Claim[Batches]):
    """Let X be standard normal in d dimensions, and let Y be N(m, s² I). Pair B draws of each by optimal transport for
    the squared distance. As B grows, the mean squared distance of a pair tends to

        W_2² = |m|² + d (s - 1)².

    For pairs in random order, the mean squared distance is |m|² + d (s² + 1). The test divides the mean squared
    distance of the optimal pairs by the mean squared distance of random pairs of the same draws.
    """

    title = "The cost of minibatch transport tends to the cost of the optimal coupling as the batch grows"
    source = Source(_SOURCE, "Figure 16.15", note="with the limit")
    population = Drawn(
        Batches,
        positive("stretch", "the distribution has a density"),
        stretch=uniform(0.3, 3.0),
        shift=uniform(0.0, 1.0),
        d=Integer(2, 1, 2, "dimension"),
    )
    relation = Limit("B", (4.0, 16.0, 64.0, 256.0), margin=0.03, resolution=0.03, relative=False)
    control = Control("a tenth of the cost of random pairs remains", lambda limit, problem: limit + 0.1)
    controls = "the cost of the pairs on which flow matching is trained"
    unexplained = "the size of batch that many dimensions need"
    traced = False
    trials = 16

    def predict(self, problem: Batches) -> Array:
        moved = problem.d * problem.shift**2
        return (moved + problem.d * (problem.stretch - 1) ** 2) / (moved + problem.d * (problem.stretch**2 + 1))

    def measure_at(self, problem: Batches, key: Key[Array, ""], rung: float) -> Array:
        size, scale, shift = int(rung), float(problem.stretch), float(problem.shift)
        draw = lambda rng, n: (rng.normal(size=(n, problem.d)), shift + scale * rng.normal(size=(n, problem.d)))
        optimal, drawn = pair_costs(key, size, _PAIRS // size, draw)
        return jnp.asarray(optimal / drawn)
