"""How far network and kernel regression differ at test points: Theorem F.2 with max(1, log²) in place of log².

The network has the outputs F_l(x) = m <a_l, softmax(W' x)>, with m hidden units and signs a_l. This theory compares the
predictions of the trained network with the predictions of regression with the network's tangent kernel at
initialisation, H*. It bounds the distance of these predictions in terms of how far the kernels move. It assumes a
positive definite kernel that moves by at most half of its smallest eigenvalue lambda. It does not explain how far the
kernel moves. The bound of Theorem F.2 has a factor log²(n k/(eps_H m lambda)), where eps_H bounds the movement of the
kernel, and n k is the number of targets. Read literally, this factor is 0 at eps_H = n k/(m lambda), which the theorem
allows, although the predictions differ there. With max(1, log²) in its place, the bound holds.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
    Status,
)
from lemmata.subjects.softmax_training._initialised_networks import Initialised, initialised, tangent_matrix
from lemmata.subjects.softmax_training._softmax_flows import Flow, Flows, NearbyFlows, NearbyInputs, nearby, trained

from .coupling import differences

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "estimator"}

_ANGLE, _LENGTH = 0.5, 0.9


class ScaledReadouts(Population[NearbyInputs]):
    """Networks of width 256 whose output weights are signs times c, on two inputs in R^3 at an angle of 1/2.

    The test point lies along the inputs' difference and has length 0.9.

    Args:
        scales: the factors c of the output weights.
    """

    scales: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    settings = Space(sigma=Real(0.8, 0.6, 0.9, "standard deviation of the weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NearbyInputs:
        start = nearby(initialised(jax.random.normal(key, (128 + 3, 4)), 2, 1, 256, setting["sigma"]), _ANGLE)
        far = start.x_test / (start.x_test[0] @ start.x_test[0]) ** 0.5 * _LENGTH
        scaled = lambda c: eqx.tree_at(lambda s: (s.sign, s.x_test), start, (c * start.sign, far))
        return NearbyInputs(tuple(trained(scaled(c)) for c in self.scales))

    def hypotheses(self, problem: NearbyInputs) -> list[Hypothesis]:
        """Require that the kernel moves by at most half of its smallest eigenvalue at every scale c."""
        return [
            Hypothesis(
                "the kernel moves by at most half of its smallest eigenvalue",
                (2 * problem.moved / problem.smallest).max(),
                "<=",
                1.0,
                "twice",
            )
        ]


_CONTROLS = "the distance between a trained network's predictions and the regression with its tangent kernel"
_ORDER = NearbyFlows().inverse_angles


def _own_kernel(start: Initialised) -> Array:
    """Return K*_ll(x_te, x_te), the initial kernel of an output with itself, for each output l and test point x_te."""
    return jnp.diagonal(tangent_matrix(start.network, start.params(), start.x_test))


def _first_terms(problem: NearbyInputs) -> Array:
    """Return the first term of the bound, sqrt(n k) eps_l,test / lambda with n k = 2, one value for each network."""
    moved = jnp.stack([network.moved_test[0] for network in problem.networks])
    return 2**0.5 * moved / problem.smallest


def _factor(problem: NearbyInputs) -> Array:
    """Return the factor C = 2 max(1, sqrt(lambda K_tt)), with K_tt = K*_ll(x_te, x_te), one value for each network."""
    own = jnp.stack([_own_kernel(network.start)[0] for network in problem.networks])
    return 2 * jnp.maximum(1.0, jnp.sqrt(problem.smallest * own))


def _found(problem: NearbyInputs) -> Array:
    """Return the largest difference of predictions over the recorded times, one value for each network."""
    return jnp.stack([differences(network)[1][0] for network in problem.networks])


class PredictionPerturbationWithFloor(Claim[NearbyInputs]):
    """Let F_nn(x)_l = m <a_l, softmax(W' x)>, l = 1, ..., k, be the outputs of a softmax network whose m units start in
    pairs with equal weights and opposite signs a_lr = ±1. So F_nn is 0 at time 0. Let F_ntk be the regression with the
    network's tangent kernel H* at time 0. Network and regression both follow the gradient flow of half the squared loss
    on n points with targets of length at most 1. Let lambda be the smallest eigenvalue of H*. Let eps_H <= lambda/2 be
    such that the network's kernel H(t) satisfies |H(t) - H*|_F <= eps_H at all times.

    Let x_te be another point. Let K_l,te be the kernel between output l at x_te and the training points, and let
    K*_l,te be this kernel at time 0. Let eps_l,test = max_t |K_l,te(t) - K*_l,te|_F. Let K*_ll(x_te, x_te) be the
    kernel of output l at x_te with itself, at time 0. At x_te, the two predictions differ in output l by at most

        C [ (sqrt(n k)/lambda) eps_l,test + (sqrt(n k)/lambda²) max(1, log²(n k/(eps_H m lambda))) eps_H ],
        where C = 2 max(1, sqrt(lambda K*_ll(x_te, x_te))).

    Theorem F.2 of the source has log² in place of max(1, log²). The test takes eps_H = n k/(m lambda), for which the
    logarithm is 0. The test uses two inputs, whose angle takes values from 1 to 0.35 radians, and a short test point
    along their difference. There, the bound with this eps_H is far above the measured difference.

    For the proof, start from the bound in the claim
    `softmax_training.prediction_coupling.prediction_perturbation_through_regression`. Insert |Y| <= sqrt(n k), eps_H <=
    lambda/2 and |K*_l,te H*^-1| <= sqrt(K_tt/lambda), where K_tt is K*_ll(x_te, x_te). The last bound holds because the
    initial kernel on the training points and x_te together is a positive semidefinite matrix. Finally,
    sqrt(K_tt/lambda)/lambda = sqrt(K_tt lambda)/lambda².
    """

    title = "A corrected Theorem F.2 bounds the gap of a softmax network and its kernel regression at test points"
    source = Source("gu2024softmax", "Theorem F.2", note="with log² at least 1")
    population = NearbyFlows()
    relation = AtMost()
    control = Control(
        "log² is read literally; it is 0 here, so the bound contains only the movement of the kernel at the test point",
        lambda bound, problem: _factor(problem) * _first_terms(problem),
        loose=(
            "the bound is loose by a factor of 1e5 to 1e7; the control is the literal reading of the printed bound, "
            "which fails"
        ),
    )
    controls = _CONTROLS
    unexplained = (
        "how far the kernel moves, and the size of the second term, which does not depend on how short "
        "the test point is"
    )
    expected = Status.VACUOUS
    reading = "log² is read as at least 1, and the constant in O as 2 max(1, sqrt(lambda K_tt))"

    def predict(self, problem: NearbyInputs) -> Array:
        """The bound at eps_H = n k/(m lambda), where max(1, log²) is 1."""
        second = 2**0.5 * problem.allowed / problem.smallest**2
        return _factor(problem) * (_first_terms(problem) + second)

    def measure(self, problem: NearbyInputs, key: Key[Array, ""]) -> Array:
        return _found(problem)

    def trivial(self, problem: NearbyInputs) -> Array:
        """The sum of a bound on each prediction. Each prediction is an integral of kernel times residual."""
        size = jnp.stack([network.cross_sizes[0] for network in problem.networks])
        moved = jnp.stack([network.moved_test[0] for network in problem.networks])
        return 2**0.5 * (size / problem.smallest + (size + moved) / (problem.smallest - problem.moved))


class LostCrossKernel(Claim[NearbyInputs]):
    """Let F_nn be a softmax network with k outputs that is trained on n points. Its output weights are the signs a,
    multiplied by a number c. Let F_ntk be the regression with the network's tangent kernel at initialisation.
    Let lambda be the smallest eigenvalue of this kernel, and let eps_H be the largest distance by which the network's
    kernel moves in training. Theorem F.2 of the source bounds the difference of the two predictions at a test point.
    The second term of this bound, sqrt(n k) eps_H/lambda², lacks a factor |K*|, the size of the kernel between test and
    training points. As c grows, the kernels and lambda grow as c², and eps_H keeps its size to leading order in the
    width. The difference of network and regression falls as c^-2, but eps_H/lambda² falls as c^-4. Therefore

        |F_ntk - F_nn|_l / (sqrt(n k) eps_H/lambda²) ~ C c²   along c = 1, 2, 4, 8.

    So this ratio exceeds any constant. The test has two inputs at an angle of 1/2 radian and a test point of length 0.9
    along their difference. The theorem itself is about c = 1, where the missing factor is hidden in a constant.
    """

    title = "The second term of Theorem F.2 (softmax networks) lacks a factor, the size of the kernel at test points"
    source = Source("gu2024softmax", "Theorem F.2", note="readouts of another size")
    stated = Kind.OWN
    population = ScaledReadouts()
    relation = Rate(along="c", rungs=ScaledReadouts().scales)
    control = Control("the ratio grows as c^(3/2)", lambda exponent, problem: exponent - 0.5)
    controls = _CONTROLS
    unexplained = "the constant"
    trials = 16

    def predict(self, problem: NearbyInputs) -> Array:
        return 2 * jnp.ones(())

    def measure(self, problem: NearbyInputs, key: Key[Array, ""]) -> Array:
        """The difference of the predictions, divided by the second term of Theorem F.2."""
        return _found(problem) * problem.smallest**2 / (2**0.5 * problem.moved)


class LonelyFlows(Population[Flow]):
    """Networks of width 128 under gradient flow, on unit inputs in R^6, targets of length 1 and 4 test points.

    With one row and one output, the kernel H is a single number. Its only eigenvector is also the slowest mode of
    training, so H moves along this mode.
    """

    settings = Space(
        n=Integer(1, 1, 12, "training rows"),
        k=Integer(1, 1, 4, "outputs"),
        sigma=Real(0.9, 0.1, 1.0, "standard deviation of the weights"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Flow:
        n, k = setting["n"], setting["k"]
        return trained(initialised(jax.random.normal(key, (64 + n + 4, 6 + k)), n, k, 128, setting["sigma"]))

    def pose(self, problem: object) -> Flow | None:
        """Train a network of width 256 on the first rows of a regression."""
        return Flows().pose(problem)

    def hypotheses(self, problem: Flow) -> list[Hypothesis]:
        return Flows().hypotheses(problem)

    def culprit(self, problem: Flow) -> str | None:
        """Return the likely cause of a singular kernel, such as equal or zero rows, or None."""
        return Flows().culprit(problem)


def _through_regression(problem: Flow) -> Array:
    """Return |K*_l,te H*^-1|_2 for each output and test point."""
    return jnp.linalg.norm(jnp.linalg.solve(problem.start.tangent, problem.start.cross.T), axis=0)


class PredictionPerturbationThroughRegression(Claim[Flow]):
    """Let F_nn(x)_l = m <a_l, softmax(W' x)> be the outputs of a softmax network whose m units start in pairs with
    equal weights and opposite signs a_lr = ±1. So F_nn is 0 at time 0. Let F_ntk be the regression with the network's
    tangent kernel H* at time 0. Network and regression both follow the gradient flow of half the squared loss on n
    points with targets Y, of shape (n, k). Let lambda be the smallest eigenvalue of H*. For another point, let K_l,te
    be the kernel between output l at this point and the training points, and let K*_l,te be this kernel at
    initialisation. Let eps_H = max_t |H(t) - H*|_F < lambda and eps_l,test = max_t |K_l,te(t) - K*_l,te|_F. At this
    point, the difference of the two predictions in output l satisfies, at all times t >= 0,

        |F_ntk(t) - F_nn(t)|_l <= (|Y|_F / (lambda - eps_H)) (eps_l,test + eps_H |K*_l,te H*^-1|_2).

    The claim is tested at many times of the flow, also with a single point and a single output (n = k = 1).

    For the proof, let r = F_nn - Y on the training points, and measure time in units of 1/m. By Duhamel's formula,

        F_nn(T) - F_ntk(T) = -int_0^T [(K_te - K*_te)(s) - K*_te H*^-1 (I - exp(-H* (T - s))) (H - H*)(s)] r(s) ds,

    where |I - exp(-H*(T - s))| <= 1 and int |r| ds <= |Y|/(lambda - eps_H).
    """

    title = "The gap of a softmax network and its kernel regression has a sharper bound than that of Theorem F.2"
    source = Source("gu2024softmax", "Theorem F.2", note="sharper than the source")
    stated = Kind.OWN
    population = LonelyFlows()
    relation = AtMost()
    control = Control("the difference is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls, unexplained = _CONTROLS, "how far the kernel moves; the distance from the kernel of infinite width"

    def predict(self, problem: Flow) -> Array:
        inner = problem.moved_test + problem.moved * _through_regression(problem)
        return problem.targets / (problem.smallest - problem.moved) * inner

    def measure(self, problem: Flow, key: Key[Array, ""]) -> Array:
        """The largest difference of the predictions over the recorded times, for each output and test point."""
        return differences(problem)[1]

    def trivial(self, problem: Flow) -> Array:
        """The sum of a bound on each prediction. Each prediction is an integral of kernel times residual."""
        size, left = problem.cross_sizes, problem.smallest - problem.moved
        return problem.targets * (size / problem.smallest + (size + problem.moved_test) / left)
