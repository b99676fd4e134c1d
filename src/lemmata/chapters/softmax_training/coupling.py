"""Coupling: how far a trained softmax network is from the regression with its tangent kernel at initialisation.

This theory controls the distance, at every time of the gradient flow, by how far the kernel moves. It assumes a
positive definite kernel that moves by less than half of its smallest eigenvalue, and the symmetric initialisation; it
leaves unexplained how far the kernel moves, and the distance to the kernel of infinite width. All bounds hold on [0, T]
with the largest movements on [0, T], which is how trials with a last record speak about them.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Rate, Real, Source, Space, Status

from ._initialised import RECORDS as RECORDS
from ._initialised import Coupling as Coupling
from ._initialised import Initialised as Initialised
from ._initialised import definite as definite
from ._initialised import differences as differences
from ._initialised import initialised as initialised
from ._initialised import kernel_cause as kernel_cause
from ._initialised import perturbations as perturbations
from ._initialised import posed as posed
from ._initialised import tangent_matrix as tangent_matrix
from ._initialised import trained as trained

_WIDTHS = (64.0, 128.0, 256.0, 512.0)
_INVERSE_ANGLES = (1.0, 2**0.5, 2.0, 2 * 2**0.5)
_SIGMA = Real(0.8, 0.1, 1.0, "standard deviation of the weights")


class AbstractCouplingClaim(Claim[Coupling]):
    """Statements about a network along its gradient flow and the regression with its tangent kernel."""

    relation = AtMost()
    controls = "the distance of a trained network from the regression with its tangent kernel"
    unexplained = "how far the kernel moves; the distance from the kernel of infinite width"
    problem = Coupling
    trials = 122
    batch = 122

    def settings(self) -> Space:
        """Sizes and the standard deviation of the weights."""
        return Space(n=Integer(2, 1, 12, "training rows"), k=Integer(2, 1, 4, "outputs"), sigma=_SIGMA)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Coupling:
        """Unit inputs in 6 dimensions, targets of length 1, a network of width 128, 4 test points."""
        n, k = setting["n"], setting["k"]
        return trained(initialised(jax.random.normal(key, (64 + n + 4, 6 + k)), n, k, 128, setting["sigma"]))

    def pose(self, problem: object) -> Coupling | None:
        """A network for the first rows of a regression, trained."""
        start = posed(problem)
        return trained(start) if start else problem if isinstance(problem, Coupling) else None

    def hypotheses(self, problem: Coupling) -> list[Hypothesis]:
        """A positive definite kernel that moves by less than half of lambda; outputs 0 at the start."""
        start = problem.start
        smallest = jnp.linalg.eigvalsh(start.tangent)[0]
        outputs = jnp.abs(start.network.predict(start.params(), start.x)).max()
        return [
            definite(start.tangent),
            Hypothesis("the kernel moves little (eps_H)", problem.moved, "<=", smallest / 2, "half of lambda remains"),
            Hypothesis("the network is 0 at initialisation", outputs, "<=", 1e-10, "symmetric initialisation"),
        ]

    def culprit(self, problem: Coupling) -> str | None:
        """Equal or zero rows."""
        return kernel_cause(problem.start)


class TrainingPerturbation(AbstractCouplingClaim):
    """On the training points, network and regression with H* differ at all times t >= 0 by at most

        |F_nn(t) - F_ntk(t)|_F <= eps_H |Y|_F / (2 lambda),

    where eps_H = max_t |H(t) - H*|_F <= lambda/2 and lambda is the smallest eigenvalue of H*.

    Their difference obeys e' = -m H* e + m (H* - H)(F_nn - Y) with |F_nn - Y| <= exp(-m lambda t / 2) |Y|, which gives
    (2 eps_H |Y| / lambda)(q - q²) with q = exp(-m lambda t / 2), and q - q² <= 1/4.
    """

    title = "A kernel that moves little moves the fit little"
    source = Source("gu2024softmax", "Theorem F.2", note="on training points, with constants")

    def predict(self, problem: Coupling) -> Array:
        """The bound with the eps_H of this network."""
        return problem.moved * jnp.linalg.norm(problem.start.y) / (2 * jnp.linalg.eigvalsh(problem.start.tangent)[0])

    def measure(self, problem: Coupling, key: Key[Array, ""]) -> Array:
        """The largest difference over the records."""
        return differences(problem)[0].max()

    def trivial(self, problem: Coupling) -> Array:
        """Neither residual grows: each output stays within |Y| of the targets."""
        return 2 * jnp.linalg.norm(problem.start.y)

    def control(self) -> Control:
        """A stronger bound; what is lost is that the kernel moves late, and not along the slowest mode."""
        return Control("a twentieth of the bound is enough", lambda bound, problem: bound / 20)


class PredictionPerturbation(AbstractCouplingClaim):
    """At any other point network and regression differ in output l, at all times t >= 0, by at most

        |F_ntk(t) - F_nn(t)|_l <= (|Y|_F / (lambda - eps_H)) (eps_l,test + |K*_l,te|_F eps_H / lambda),

    which is at most (2 |Y|_F / lambda)(...) where eps_H <= lambda/2; eps_H = max_t |H(t) - H*|_F, eps_l,test =
    max_t |K_l,te(t) - K*_l,te|_F. There is no logarithm, and the second term has the size of
    the cross kernel.

    The difference is m times the integral of (K*_te - K_te)(F_nn - Y) - K*_te (F_nn - F_ntk); the integral of
    |F_nn - Y| is at most |Y| / (m (lambda - eps_H)), and that of |F_nn - F_ntk| at most eps_H / lambda times as much.
    """

    title = "A kernel that moves little moves predictions little"
    source = Source("gu2024softmax", "Theorem F.2", note="corrected, with constants")
    corrects = "softmax_training.coupling.prediction_perturbation_as_printed"

    def predict(self, problem: Coupling) -> Array:
        """The bound with the perturbations of this network."""
        smallest = jnp.linalg.eigvalsh(problem.start.tangent)[0]
        size = jnp.linalg.norm(problem.start.cross, axis=1)
        inner = problem.moved_test + size * problem.moved / smallest
        return jnp.linalg.norm(problem.start.y) / (smallest - problem.moved) * inner

    def measure(self, problem: Coupling, key: Key[Array, ""]) -> Array:
        """The largest difference over the records, at each output and test point."""
        return differences(problem)[1]

    def trivial(self, problem: Coupling) -> Array:
        """Both predictions are integrals of kernel times residual, and differ by no more than their sizes."""
        smallest = jnp.linalg.eigvalsh(problem.start.tangent)[0]
        size, targets = jnp.linalg.norm(problem.start.cross, axis=1), jnp.linalg.norm(problem.start.y)
        return targets * (size / smallest + (size + problem.moved_test) / (smallest - problem.moved))

    def control(self) -> Control:
        """What the printed bound says where its logarithm is 0."""

        def first(bound: Array, problem: Coupling) -> Array:
            smallest = jnp.linalg.eigvalsh(problem.start.tangent)[0]
            return jnp.linalg.norm(problem.start.y) / (smallest - problem.moved) * problem.moved_test

        return Control("the movement of the kernel on test points is enough, without eps_H", first)


class NearbyInputs(eqx.Module):
    """One softmax network, trained apart on two points for several angles between them.

    Args:
        networks: the network along its flows, one an angle.
    """

    networks: tuple[Coupling, ...]


def nearby(start: Initialised, angle: float) -> Initialised:
    """The same network with two unit inputs at this angle, targets 1 and -1, and a short test point along x_1 - x_2.

    At test points c u the entries of K_te / c tend, as c falls, to <u, x_j>(1 - F(x_j)²/m²), which hardly move.

    Args:
        start: the network, with two training points that span a plane.
        angle: in radians.
    """
    first = start.x[0]
    across = start.x[1] - start.x[1] @ first * first
    across = across / jnp.linalg.norm(across)
    x = jnp.stack([math.cos(angle / 2) * first + sign * math.sin(angle / 2) * across for sign in (1, -1)])
    return Initialised(x, jnp.array([[1.0], [-1.0]]), 1e-3 * across[None], start.weight, start.sign)


class PredictionPerturbationAsPrinted(Claim[NearbyInputs]):
    """As printed: for every eps_H <= lambda/2 with |H(t) - H*|_F <= eps_H at all times, the difference of network and
    regression in output l is, up to a constant, at most

        (sqrt(n k) / lambda) eps_l,test + (sqrt(n k) / lambda²) log²(n k/(eps_H m lambda)) eps_H.

    The logarithm is 0 at eps_H = n k / (m lambda), allowed where m >= 2 n k / lambda², and only the movement
    of the kernel at the test point is left. That does not bound the difference: for two inputs at an angle a, and a
    short test point along their difference, difference over bound grows faster than 1/a, past any constant.
    """

    title = "The distance of network and regression, as printed"
    source = Source("gu2024softmax", "Theorem F.2")
    relation = Rate(along="inverse angle", rungs=_INVERSE_ANGLES, upper=True)
    label = "rate"
    controls = "the distance of a trained network from the regression with its tangent kernel"
    unexplained = "the hidden constant; why the bound falls where eps_H, and with it the hypothesis, is made larger"
    problem = NearbyInputs
    expected = Status.REFUTED
    trials = 32
    batch = 32

    def settings(self) -> Space:
        """The standard deviation of the weights."""
        return Space(sigma=Real(0.8, 0.6, 0.9, "standard deviation of the weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NearbyInputs:
        """A network of width 256 in 3 dimensions and a random plane."""
        start = initialised(jax.random.normal(key, (128 + 3, 4)), 2, 1, 256, setting["sigma"])
        return NearbyInputs(tuple(trained(nearby(start, 1 / inverse)) for inverse in _INVERSE_ANGLES))

    def hypotheses(self, problem: NearbyInputs) -> list[Hypothesis]:
        """At every angle, eps_H = n k / (m lambda) is above the movement of the kernel and at most lambda / 2."""
        chosen, smallest, moved = self._eps(problem)
        return [
            Hypothesis("the kernel moves by at most eps_H", (moved / chosen).max(), "<=", 1.0, "over eps_H"),
            Hypothesis("eps_H is at most lambda / 2", (2 * chosen / smallest).max(), "<=", 1.0, "over lambda / 2"),
        ]

    def predict(self, problem: NearbyInputs) -> Array:
        """The exponent 0: a ratio below some constant at every angle."""
        return jnp.zeros(())

    def measure(self, problem: NearbyInputs, key: Key[Array, ""]) -> Array:
        """The largest difference over the records, over the printed bound without its constant."""
        chosen, smallest, _ = self._eps(problem)
        moved = jnp.stack([network.moved_test[0] for network in problem.networks])
        found = jnp.stack([differences(network)[1][0] for network in problem.networks])
        logarithm = jnp.log(2 / (chosen * problem.networks[0].start.network.width * smallest)) ** 2
        return found / (2**0.5 * (moved / smallest + logarithm * chosen / smallest**2))

    def _eps(self, problem: NearbyInputs) -> tuple[Array, Array, Array]:
        smallest = jnp.stack([jnp.linalg.eigvalsh(network.start.tangent)[0] for network in problem.networks])
        moved = jnp.stack([network.moved for network in problem.networks])
        return 2 / (problem.networks[0].start.network.width * smallest), smallest, moved

    def control(self) -> Control:
        """A stronger statement still."""
        return Control("the difference falls faster than the bound", lambda exponent, problem: exponent - 1)


class TrainingCouplingRate(Claim[Initialised]):
    """On the training points network and regression with its tangent kernel differ, at the worst time, by

        max_t |F_nn(t) - F_ntk(t)|_F ~ C m^-2.

    In training weights move by O(1/m), and the two units of a pair, with opposite signs, to first order in opposite
    directions. The first order of H - H* is a mean over units of products with one more sign, in which pairs cancel
    exactly: H - H* = O(m^-2), and so is the difference by Theorem F.2. With independent signs it would be m^(-3/2).
    """

    title = "A softmax network nears the regression with its own kernel as 1/m²"
    source = Source("gu2024softmax", "Theorem F.2", "Definition 3.7", note="the order in the width")
    # Second order movements are means of lognormals: few terms count at small widths, which bends the slope a little.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.05, resolution=0.15)
    label = "rate"
    controls = "the distance of a trained network from the regression with its tangent kernel"
    unexplained = "the constant; the distance from the kernel of infinite width, which falls as m^(-1/2)"
    problem = Initialised
    trials = 48
    batch = 48

    def settings(self) -> Space:
        """Sizes and the standard deviation of the weights."""
        sigma = Real(0.3, 0.1, 0.4, "standard deviation of the weights")
        return Space(n=Integer(2, 1, 8, "training rows"), k=Integer(2, 1, 4, "outputs"), sigma=sigma)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Initialised:
        """Unit inputs in 6 dimensions, targets of length 1, and the units of all networks."""
        n, k = setting["n"], setting["k"]
        normal = jax.random.normal(key, (int(sum(_WIDTHS)) // 2 + n + 1, 6 + k))
        return initialised(normal, n, k, int(sum(_WIDTHS)), setting["sigma"])

    def hypotheses(self, problem: Initialised) -> list[Hypothesis]:
        """A kernel that is positive definite, and small movements of the logits at the smallest width."""
        smallest = jnp.linalg.eigvalsh(problem.tangent)[0]
        # |W(t) - W(0)|_F <= |Y|_F / sqrt(m lambda), spread over m units.
        path = jnp.linalg.norm(problem.y) / (jnp.sqrt(smallest) * _WIDTHS[0])
        return [
            definite(problem.tangent),
            Hypothesis("logits move little at m = 64", path, "<=", 0.1, "|Y|_F / (m sqrt(lambda))"),
        ]

    def predict(self, problem: Initialised) -> Array:
        """The exponent."""
        return jnp.asarray(-2.0)

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """The largest difference over the records, for each width with units of its own."""
        found, first = [], 0
        for width in map(int, _WIDTHS):
            units = slice(first, first + width)
            start = Initialised(problem.x, problem.y, problem.x_test, problem.weight[:, units], problem.sign[:, units])
            found.append(differences(trained(start))[0].max())
            first += width
        return jnp.stack(found)

    def control(self) -> Control:
        """What independent signs would give."""
        return Control("the distance falls as m^(-3/2)", lambda exponent, problem: exponent + 0.5)
