"""The error of a learned score: four gaps between the network and the denoiser, and the bound that adds them up.

This theory controls E |F_nn - F*|² for a softmax network trained on noised data: from the network to regression with
its tangent kernel, from noisy labels of F* to those of a function F_H in the kernel's space, from there to F_H, and
from F_H to F*. It leaves unexplained why the error is small: the bounds carry the inverse of the smallest eigenvalue of
an analytic kernel. The decomposition holds for every law of the data and is tried on cubes, on mixtures of normal laws
in 1 to 8 dimensions and on spheres; the bounds assume data in the unit ball and a denoiser that is Lipschitz at all
times, and of these laws the cube alone has both.
"""

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space, Status

from ._learned_scores import Learned, flat, rows, sampled_learned
from .forward_process import DIMENSION, TARGET
from .score_matching import loss_weight, score_from_denoiser

DELTA = 0.1
_PLANE = 2


def gaps(problem: Learned) -> Float[Array, "4"]:
    """Z_1, ..., Z_4 of Claim G.1, mean squares over the test points.

    Coupling (network to kernel regression), label mismatch (to regression on labels made from F_H), early stopping
    (to F_H), approximation (to F*).

    Args:
        problem: a trained network and its comparisons.
    """
    path = [problem.f_network, problem.f_kernel, problem.f_pseudo, problem.f_member, problem.f_truth]
    return jnp.stack([jnp.mean(jnp.sum((a - b) ** 2, axis=1)) for a, b in itertools.pairwise(path)])


def approximation_bound(radius: Float[Array, ""], d: int, constant: float = 1.0) -> Float[Array, ""]:
    """A(R) = c_1 Lambda rho^(-2/d) log(rho), rho = sqrt(R) / Lambda, Lambda = sqrt(d): before Theorem 6.5.

    It is negative for R < d and falls only from rho = e^(d/2) on.

    Args:
        radius: R_H.
        d: dimension of the data.
        constant: c_1.
    """
    ratio = jnp.sqrt(radius / d)
    return constant * math.sqrt(d) * ratio ** (-2 / d) * jnp.log(ratio)


def mismatch_bound(
    smallest: Float[Array, ""], approximation: Float[Array, ""], n: int, d: int, delta: float
) -> Float[Array, ""]:
    """Gamma_delta of Theorem 6.5: (2 d² A/lambda log^(3/2)(e (dn)^(3/2) A/lambda) + n^(-1/2))²
    + d² A²/lambda² (log(1/delta) + log log n).

    Undefined where (dn)^(3/2) A < lambda/e, which is where A falls to as R_H grows at a fixed n.

    Args:
        smallest: lambda.
        approximation: A.
        n: training points, at least 3.
        d: dimension of the data.
        delta: failure probability.
    """
    ratio = approximation / smallest
    logarithm = jnp.log(math.e * (d * n) ** 1.5 * ratio)
    first = 2 * d**2 * ratio * logarithm**1.5 + 1 / math.sqrt(n)
    return first**2 + (d * ratio) ** 2 * (math.log(1 / delta) + math.log(math.log(n)))


class AbstractLearned(Claim[Learned]):
    """A softmax network trained on noised draws of data with a known denoiser, at inputs (t, x(t))."""

    controls = "the error of a learned denoiser"
    problem = Learned
    trials = 122
    batch = 122
    law = "cube"
    dimension = 2

    def settings(self) -> Space:
        """Training points, width, steps, and the law of the data."""
        return Space(
            n=Integer(16, 8, 32, "training points"),
            width=Integer(64, 16, 1024, "hidden units"),
            horizon=Real(200.0, 10.0, 10_000.0, "largest number of steps"),
            target=dataclasses.replace(TARGET, default=self.law),
            d=dataclasses.replace(DIMENSION, default=self.dimension),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Learned:
        """A trained network."""
        return sampled_learned(key, setting["n"], setting["width"], setting["horizon"], setting["target"], setting["d"])

    def hypotheses(self, problem: Learned) -> list[Hypothesis]:
        """Second moments, and a schedule that the data can be noised with."""
        second = jnp.mean(jnp.sum(problem.labels**2, axis=1))
        return [
            Hypothesis("labels have a second moment", second, "<", jnp.inf, "all gaps are mean squares"),
            *problem.schedule.hypotheses(),
        ]

    def loss(self, problem: Learned) -> Array:
        """Mean square of F_nn - F* over the test points."""
        return jnp.mean(jnp.sum((problem.f_network - problem.f_truth) ** 2, axis=1))


class LossDecompositionAsPrinted(AbstractLearned):
    """As printed: E |F_nn - F*|² <= Z_1 + Z_2 + Z_3 + Z_4, mean squares of the four gaps on the way from F_nn to F*.

    The square of a sum is not at most the sum of squares: four equal gaps e give 16 |e|² against 4 |e|². On trained
    networks it fails wherever the gaps point the same way, as they do before training has fitted what it can: after no
    step at all the loss is |F*|², the early stopping gap |F_H|² and the approximation gap |F_H - F*|².
    By default the data are uniform on a circle.
    """

    title = "Four gaps add up in mean square, as printed"
    source = Source("gu2024softmax", "Claim G.1", note="as printed")
    relation = AtMost()
    unexplained = "the cross terms"
    expected = Status.REFUTED
    law = "sphere"

    def predict(self, problem: Learned) -> Array:
        """The sum."""
        return gaps(problem).sum()

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """The loss."""
        return self.loss(problem)

    def control(self) -> Control:
        """As if the gaps were one."""
        return Control("the loss is at most the largest gap", lambda total, problem: gaps(problem).max())


class LossDecomposition(AbstractLearned):
    """The root mean squares of the four gaps add up,

        E |F_nn - F*|² <= (Z_1^(1/2) + Z_2^(1/2) + Z_3^(1/2) + Z_4^(1/2))² <= 4 (Z_1 + Z_2 + Z_3 + Z_4),

    for every network, number of steps, F_H and law of the data: Minkowski's inequality, then Cauchy's. The left bound
    is judged; its control is the sum without the factor 4. By default the data are a mixture of four normal laws in
    four dimensions.
    """

    title = "Four gaps add up in root mean square"
    source = Source("gu2024softmax", "Claim G.1", note="corrected")
    relation = AtMost()
    unexplained = "gaps that cancel: regression on labels F* - F_H undoes a part of the approximation gap"
    corrects = "diffusion.score_error.loss_decomposition_as_printed"
    law = "mixture"
    dimension = 4

    def predict(self, problem: Learned) -> Array:
        """The square of the sum of roots."""
        return jnp.sqrt(gaps(problem)).sum() ** 2

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """The loss."""
        return self.loss(problem)

    def control(self) -> Control:
        """The claim as printed."""
        return Control("the sum of the four gaps is enough", lambda bound, problem: gaps(problem).sum())


class LabelMismatchIsLinear(AbstractLearned):
    """The two kernel regressions differ by the regression on the labels' difference, F*(x_i) - F_H(x_i), whatever the
    noise: after tau steps of gradient descent from 0

        F_ntk(x) - F_pseudo(x) = H(x, X) H^(-1) (I - (I - m eta H)^tau) vec(F*(X) - F_H(X)).
    """

    title = "The label mismatch is a regression"
    source = Source("gu2024softmax", "Claim G.1", note="definition of the label mismatch")
    relation = Equal()
    label = "identity"
    unexplained = "its size"

    def predict(self, problem: Learned) -> Array:
        """The closed form from the eigensystem of H."""
        values, vectors = problem.values, problem.vectors
        safe = jnp.maximum(values, 1e-14 * values[-1])
        decay = -jnp.expm1(problem.steps * jnp.log1p(-jnp.minimum(problem.rate * safe, 1 - 1e-15))) / safe
        fitted = vectors @ (decay * (vectors.T @ flat(problem.truth - problem.member)))
        return rows(problem.cross @ fitted, problem.truth.shape[1])

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """The difference of two descents that were run step by step."""
        return problem.f_kernel - problem.f_pseudo

    def condition(self, problem: Learned) -> Array:
        """A rounding a step in coefficients of at most steps times the labels, and a difference of two predictions."""
        size = jnp.abs(problem.f_kernel).max() + jnp.abs(problem.f_pseudo).max()
        return problem.steps * (1 + size / jnp.abs(problem.f_kernel - problem.f_pseudo).max())

    def control(self) -> Control:
        """Training to the end."""
        return Control("it is F* - F_H itself", lambda gap, problem: problem.f_truth - problem.f_member)


class AbstractBound(AbstractLearned):
    """Bounds in which R_H is the least that the theorem on approximation, with c_1 = 1 and Lambda = sqrt(d), allows.

    The data are uniform on a square: they lie in the unit ball, which mixtures of normal laws do not, and their
    denoiser is Lipschitz uniformly in time, which that of a sphere is not.
    """

    def settings(self) -> Space:
        """Training points, width, steps."""
        every = super().settings().variables
        return Space(**{name: every[name] for name in ("n", "width", "horizon")})

    def sample(self, setting: dict, key: Key[Array, ""]) -> Learned:
        """A network trained on noised draws from a square."""
        return sampled_learned(key, setting["n"], setting["width"], setting["horizon"], "cube", _PLANE)

    def radius(self, problem: Learned) -> Array:
        """R_H: at least |F_H|²/d, and at least d e^d, where A is largest and from where on it falls."""
        d = problem.truth.shape[1]
        return jnp.maximum(problem.norm / d, d * math.exp(d))

    def approximation(self, problem: Learned) -> Array:
        """A(R_H)."""
        return approximation_bound(self.radius(problem), problem.truth.shape[1])

    def mismatch(self, problem: Learned) -> Array:
        """d A + C_0 (sqrt(d A Gamma_delta) + Gamma_delta), C_0 = 1."""
        n, d = problem.truth.shape
        bound = self.approximation(problem)
        gamma = mismatch_bound(self.smallest(problem), bound, n, d, DELTA)
        return d * bound + jnp.sqrt(d * bound * gamma) + gamma

    def smallest(self, problem: Learned) -> Array:
        """Lambda, the smallest eigenvalue of H at the initial weights."""
        return problem.values[0]

    def hypotheses(self, problem: Learned) -> list[Hypothesis]:
        """Assumptions 6.1 to 6.4, what the approximation theorem promises of F_H, and that Gamma is defined."""
        (n, d), smallest, bound = problem.truth.shape, self.smallest(problem), self.approximation(problem)
        argument = math.e * (d * n) ** 1.5 * bound / smallest
        inputs, labels = (jnp.linalg.norm(rows, axis=1).max() for rows in (problem.inputs, problem.labels))
        return [
            *super().hypotheses(problem),
            Hypothesis("inputs lie in the unit ball", inputs, "<=", 1.0, "Assumption 6.1"),
            Hypothesis("labels lie in the unit ball", labels, "<=", 1.0, "Assumption 6.1"),
            Hypothesis("H is positive definite (smallest eigenvalue)", smallest, ">", 1e-14, "Assumption 6.2"),
            Hypothesis("F* is Lipschitz in x at all times", problem.target.lipschitz, "<", jnp.inf, "Assumption 6.4"),
            Hypothesis("F_H is near F*", gaps(problem)[3], "<=", d * bound**2, "Theorem G.4 gives this F_H"),
            Hypothesis("the logarithm in Gamma is not negative", argument, ">=", 1.0, "it is raised to the power 3/2"),
            Hypothesis.unchecked(
                "the width is of the order n³ d³ exp(18 B) / lambda²", "above 1e20 here; the bound is tried at less"
            ),
        ]


class LabelMismatch(AbstractBound):
    """With probability at least 1 - delta, for every number of steps,

        E |F_ntk - F_pseudo|² <= d A + C_0 (sqrt(d A Gamma_delta) + Gamma_delta),

    A and Gamma_delta as in Theorem 6.5, with C_0 = c_1 = 1, Lambda = sqrt(d), delta = 0.1, for an F_H with the
    approximation error d A² that Theorem G.4 gives. (As printed F_H is not named; for F_H = 0 the gap is E |F_ntk|²
    while A may be made as small as one likes.) For large R_H at a fixed n Gamma is undefined, a negative logarithm to
    the power 3/2. Data are uniform on a square, where the assumptions of Theorem G.4 hold.
    """

    title = "The bound on the label mismatch"
    source = Source("gu2024softmax", "Theorem G.5")
    relation = AtMost(delta=DELTA)
    unexplained = "the size of the mismatch: the bound is beyond the trivial one by many orders"

    def predict(self, problem: Learned) -> Array:
        """The bound."""
        return self.mismatch(problem)

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """Z_2."""
        return gaps(problem)[1]

    def trivial(self, problem: Learned) -> Array:
        """2 (E |F_ntk|² + E |F_pseudo|²), whatever the labels."""
        return 2 * jnp.mean(jnp.sum(problem.f_kernel**2 + problem.f_pseudo**2, axis=1))

    def control(self) -> Control:
        """A hundredth of the mismatch of the labels."""

        def small(bound, problem):
            return jnp.mean(jnp.sum((problem.truth - problem.member) ** 2, axis=1)) / 100

        return Control("regression shrinks the mean squared mismatch of the labels a hundredfold", small)


class ScoreError(AbstractBound):
    """With probability at least 1 - delta the score s = (alpha F_nn - x) / (1 - alpha²) of the network has

        mean over t of lambda(t) E |s - grad log p_t|²
            <= 1/(lambda sqrt(n)) + eps + d A² + d A + sqrt(d A Gamma_delta) + Gamma_delta,

    lambda(t) = (1 - alpha²)² / alpha², lambda the smallest eigenvalue of H, eps the early stopping gap that Assumption
    G.3 grants, hidden constants 1, delta = 0.1. The function 0 has E |F*|² <= 1.

    The proof has 1/(lambda sqrt(n)) for the root of the coupling gap and adds it unsquared, which is the lesser of the
    two where lambda sqrt(n) < 1, as here; it drops log²(2 n² d² / (m lambda²)), which is not bounded; and it adds up
    the mean squares of the four gaps, which costs a factor 4 only. None of this shows beside Gamma_delta. Data are
    uniform on a square, where Assumptions 6.1 and 6.4 hold; normal mixtures break the first and spheres the second.
    """

    title = "The bound on the error of the score"
    source = Source("gu2024softmax", "Theorem 6.5")
    relation = AtMost(delta=DELTA)
    unexplained = "the error: the bound is beyond the trivial one by many orders"

    def predict(self, problem: Learned) -> Array:
        """The bound."""
        n, d = problem.truth.shape
        coupling, approximation = 1 / (self.smallest(problem) * math.sqrt(n)), d * self.approximation(problem) ** 2
        return coupling + gaps(problem)[2] + approximation + self.mismatch(problem)

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """The weighted squared distance of the scores, that of the data from their density."""
        score = jax.vmap(lambda t, x, f: score_from_denoiser(problem.schedule, t, x, f))
        exact = jax.vmap(lambda t, x: problem.target.score(problem.schedule, t, x))(problem.times, problem.places)
        gap = score(problem.times, problem.places, problem.f_network) - exact
        return jnp.mean(loss_weight(problem.schedule, problem.times) * jnp.sum(gap**2, axis=1))

    def trivial(self, problem: Learned) -> Array:
        """The loss of the function 0, at most 1."""
        return jnp.ones(())

    def control(self) -> Control:
        """The rate of a parametric model, with constant 1/2."""
        return Control("it is at most 1/(2n)", lambda bound, problem: 0 * bound + 0.5 / len(problem.inputs))
