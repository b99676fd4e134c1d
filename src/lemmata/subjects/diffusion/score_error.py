"""The error of a learned score: four gaps between network and denoiser, and the bound that adds these gaps up.

This theory bounds E |F_nn - F*|² for a softmax network trained on noised data, by four gaps. The first is between the
network and regression with its tangent kernel. The second is between regression on noisy labels of F* and on labels of
a function F_H in the space of the kernel. The third gap is between this regression and F_H, and the fourth is between
F_H and F*. The theory does not explain why the error is small, because its bounds contain the inverse of the smallest
eigenvalue of an analytic kernel.

The decomposition holds for every distribution of the data. The trials use cubes, mixtures of normal distributions in 1
to 8 dimensions, and spheres. The bounds assume data in the unit ball and a denoiser that is Lipschitz at all times. Of
these distributions, only the cube satisfies both assumptions.
"""

import abc
import itertools
import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Hypothesis, Kind, Passage, Source, Status
from lemmata.subjects.diffusion._learned_scores import Learned, TrainedOnSquares, TrainedScores, flat, rows

ABOUT = {"tool": "reproducing kernels", "architecture": "diffusion model", "object": "score", "problem": 3}

DELTA = 0.1


def gaps(problem: Learned) -> Float[Array, "4"]:
    """Return Z_1, ..., Z_4 of Claim G.1, which are mean squares over the test points.

    Claim G.1 is a claim of the source. The gaps are the coupling (from the network to kernel regression), the label
    mismatch (from there to regression on labels made from F_H), early stopping (from there to F_H), and the
    approximation (from F_H to F*).

    Args:
        problem: a trained network and its comparisons.
    """
    path = [problem.f_network, problem.f_kernel, problem.f_pseudo, problem.f_member, problem.f_truth]
    return jnp.stack([jnp.mean(jnp.sum((a - b) ** 2, axis=1)) for a, b in itertools.pairwise(path)])


def approximation_bound(radius: Float[Array, ""], d: int, constant: float = 1.0) -> Float[Array, ""]:
    """Return A(R) = c_1 Lambda rho^(-2/d) log(rho) with rho = sqrt(R) / Lambda and Lambda = sqrt(d).

    The source defines A before its Theorem 6.5, to bound the distance of F* from functions F with |F|² <= d R. A is
    negative for R < d. As R grows, A falls only from rho = e^(d/2) on.

    Args:
        radius: the number R (or R_H), for functions F with |F|² <= d R.
        d: the dimension of the data.
        constant: the constant c_1.
    """
    ratio = jnp.sqrt(radius / d)
    return constant * math.sqrt(d) * ratio ** (-2 / d) * jnp.log(ratio)


def mismatch_bound(
    smallest: Float[Array, ""], approximation: Float[Array, ""], n: int, d: int, delta: float
) -> Float[Array, ""]:
    """Gamma_delta of Theorem 6.5 of the source: (2 d² A/lambda log^(3/2)(e (dn)^(3/2) A/lambda) + n^(-1/2))² + d²
    A²/lambda² (log(1/delta) + log log n).

    Gamma_delta is undefined if (dn)^(3/2) A < lambda/e. This happens for large R_H at a fixed n, because A falls as R_H
    grows.

    Args:
        smallest: the smallest eigenvalue lambda of the kernel matrix.
        approximation: the number A that `approximation_bound` returns.
        n: the number of training points, at least 3.
        d: the dimension of the data.
        delta: the failure probability.
    """
    ratio = approximation / smallest
    logarithm = jnp.log(math.e * (d * n) ** 1.5 * ratio)
    first = 2 * d**2 * ratio * logarithm**1.5 + 1 / math.sqrt(n)
    return first**2 + (d * ratio) ** 2 * (math.log(1 / delta) + math.log(math.log(n)))


def _mean_square(outputs: Float[Array, "p k"]) -> Float[Array, ""]:
    return jnp.mean(jnp.sum(outputs**2, axis=1))


def _together(one: Float[Array, "p k"], other: Float[Array, "p k"]) -> Float[Array, ""]:
    """Return the square of the sum of the two root mean squares, which bounds the mean square of the difference."""
    return (jnp.sqrt(_mean_square(one)) + jnp.sqrt(_mean_square(other))) ** 2


class LossDecompositionAsPrinted(Claim[Learned]):
    """Let F_nn be a softmax network trained on noised data, and let F*(t, x) = E[x(0) | x(t) = x] be the denoiser. The
    source prints

        E |F_nn - F*|² <= Z_1 + Z_2 + Z_3 + Z_4,

    where Z_1 to Z_4 are the mean squares of four gaps that lead from F_nn to F*. The first gap is between F_nn and
    regression with the tangent kernel of the network. The second gap is between this regression and the same regression
    on labels made from a function F_H in the space of the kernel. The third gap is between the regression on labels
    from F_H and F_H itself. The fourth gap is between F_H and F*.

    The inequality is false, because the square of a sum can exceed the sum of the squares. For four equal gaps e, the
    left side is 16 |e|² and the right side is 4 |e|². For trained networks, the inequality fails if the gaps point in
    the same direction, as they do early in training. Before the first step, the network and both regressions are 0.
    Then the left side is E |F*|², Z_1 and Z_2 are 0, Z_3 is E |F_H|², and Z_4 is E |F_H - F*|².

    The theorem of the source that uses this inequality states its bound as O(.), which can absorb the missing factor 4.
    By default, the data of the test are uniform on a circle.
    """

    title = "As printed, a learned denoiser's squared error is at most the sum of the mean squares of four gaps"
    source = Source("gu2024softmax", "Claim G.1", note="as printed")
    population = TrainedScores(law="sphere")
    relation = AtMost()
    control = Control("the error is at most the largest gap", lambda total, problem: gaps(problem).max())
    controls = "the error of a learned denoiser"
    unexplained = "the cross terms between the gaps"
    passage = Passage(
        "002_545c803f47cecb7a.txt",
        102118,
        102291,
        "db3e597f424ddae0",
        says="the mean squared error is at most the sum of the mean squares of four gaps",
        right_if="the sum has the factor 4, which O(.) in Theorem 6.5 hides, or roots stand for the squares",
        formula="(1/T) int_0^T E |F_nn - F*|² dt <= Z_1 + Z_2 + Z_3 + Z_4",
    )
    expected = Status.REFUTED

    def predict(self, problem: Learned) -> Array:
        return gaps(problem).sum()

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        return _mean_square(problem.f_network - problem.f_truth)

    def trivial(self, problem: Learned) -> Array:
        """Use the triangle inequality directly, with the sizes of F_nn and F*."""
        return _together(problem.f_network, problem.f_truth)


class ScoreLossDecomposition(Claim[Learned]):
    """Let F_nn be a softmax network trained on noised data, and let F*(t, x) = E[x(0) | x(t) = x] be the denoiser. Let
    Z_1, ..., Z_4 be the mean squares of four gaps that lead from F_nn to F*. The first gap is between F_nn and
    regression with the tangent kernel of the network. The second gap is between this regression and the same regression
    on labels made from a function F_H in the space of the kernel. The third gap is between the regression on labels
    from F_H and F_H itself. The fourth gap is between F_H and F*. Then

        E |F_nn - F*|² <= (Z_1^(1/2) + Z_2^(1/2) + Z_3^(1/2) + Z_4^(1/2))² <= 4 (Z_1 + Z_2 + Z_3 + Z_4),

    for every network, number of steps, F_H and distribution of the data, by the inequalities of Minkowski and Cauchy.
    The test checks the first bound. Its control, a false bound, is the sum Z_1 + Z_2 + Z_3 + Z_4 without the factor 4.
    By default, the data of the test are uniform on a circle.
    """

    title = "A learned denoiser's root mean square error is at most the sum of the root mean squares of four gaps"
    source = Source("gu2024softmax", "Claim G.1", note="corrected")
    population = TrainedScores(law="sphere")
    relation = AtMost()
    control = Control("the sum of the four gaps is enough", lambda bound, problem: gaps(problem).sum())
    controls = "the error of a learned denoiser"
    unexplained = "gaps that cancel: regression on the labels F* - F_H undoes a part of the approximation gap"
    corrects = LossDecompositionAsPrinted

    def predict(self, problem: Learned) -> Array:
        return jnp.sqrt(gaps(problem)).sum() ** 2

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        return _mean_square(problem.f_network - problem.f_truth)

    def trivial(self, problem: Learned) -> Array:
        """Use the triangle inequality directly, with the sizes of F_nn and F*."""
        return _together(problem.f_network, problem.f_truth)


class LabelMismatchIsLinear(Claim[Learned]):
    """Let F_ntk and F_pseudo be regressions with the tangent kernel of a softmax network at its initial weights. F_ntk
    is trained on noisy labels of the denoiser F*, and F_pseudo on labels of a function F_H with the same noise. Each
    regression takes tau steps of gradient descent from 0 with learning rate eta. Let X be the n training points. Let
    H(x, X) be the tangent kernel divided by the width m of the network, and H without arguments its matrix on X. The
    difference of the two regressions is the regression on the difference of the labels, F*(x_i) - F_H(x_i), whatever
    the noise:

        F_ntk(x) - F_pseudo(x) = H(x, X) H^(-1) (I - (I - m eta H)^tau) vec(F*(X) - F_H(X)).
    """

    title = "In kernel regression, the effect of a label mismatch is the kernel regression on the mismatch"
    source = Source("gu2024softmax", "Claim G.1", note="definition of the label mismatch")
    population = TrainedScores()
    relation = Equal(block=-1)  # each prediction is a sum over the same coefficients, which cancel in some places
    control = Control("the difference is F* - F_H itself", lambda gap, problem: problem.f_truth - problem.f_member)
    controls = "the error of a learned denoiser"
    unexplained = "how large the difference is"

    def predict(self, problem: Learned) -> Array:
        """Compute the closed form from the eigensystem of H."""
        values, vectors = problem.values, problem.vectors
        safe = jnp.maximum(values, 1e-14 * values[-1])
        decay = -jnp.expm1(problem.steps * jnp.log1p(-jnp.minimum(problem.rate * safe, 1 - 1e-15))) / safe
        fitted = vectors @ (decay * (vectors.T @ flat(problem.truth - problem.member)))
        return rows(problem.cross @ fitted, problem.truth.shape[1])

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """Return the difference of two gradient descents that are run step by step."""
        return problem.f_kernel - problem.f_pseudo

    def condition(self, problem: Learned) -> Array:
        """Allow for the rounding of coefficients in each step, and for the subtraction of two predictions.

        The coefficients are at most the number of steps times the labels.
        """
        size = jnp.abs(problem.f_kernel).max() + jnp.abs(problem.f_pseudo).max()
        return problem.steps * (1 + size / jnp.abs(problem.f_kernel - problem.f_pseudo).max())


def _approximation(problem: Learned) -> Array:
    """Return A at the least R_H that Theorem G.4 of the source allows for F_H: max(|F_H|²/d, d e^d). From R_H = d e^d
    on, A falls as R_H grows.
    """
    d = problem.truth.shape[1]
    return approximation_bound(jnp.maximum(problem.norm / d, d * math.exp(d)), d)


def _mismatch(problem: Learned) -> Array:
    """Return the bound d A + sqrt(d A Gamma_delta) + Gamma_delta on the label mismatch.

    Here lambda is the smallest eigenvalue of the tangent kernel matrix H at the initial weights.
    """
    (n, d), bound = problem.truth.shape, _approximation(problem)
    gamma = mismatch_bound(problem.values[0], bound, n, d, DELTA)
    return d * bound + jnp.sqrt(d * bound * gamma) + gamma


def _where_gamma_is_defined(problem: Learned) -> list[Hypothesis]:
    """Return hypotheses on the distance of F_H from F*, and on the logarithm in Gamma_delta.

    The distance is that of Theorem G.4 of the source, and the logarithm must not be negative.
    """
    (n, d), bound = problem.truth.shape, _approximation(problem)
    argument = math.e * (d * n) ** 1.5 * bound / problem.values[0]
    return [
        Hypothesis("F_H is near F*", gaps(problem)[3], "<=", d * bound**2, "Theorem G.4 gives an F_H at this distance"),
        Hypothesis(
            "the logarithm in Gamma is not negative", argument, ">=", 1.0, "the logarithm is raised to the power 3/2"
        ),
    ]


class AbstractSaysNothing(Claim[Learned]):
    """Claims that a printed bound exceeds a trivial bound by a factor that grows exponentially with n.

    Here n is the number of training points.
    """

    stated = Kind.OWN
    population = TrainedOnSquares()
    relation = AtLeast()
    control = Control("the bound is larger by more than 10^(5 n / 4)", lambda digits, problem: 2.5 * digits)
    controls = "what a bound says about the error of a learned denoiser"
    trivial = "a bound can be as small as the quantity that it bounds"

    def hypotheses(self, problem: Learned) -> list[Hypothesis]:
        return _where_gamma_is_defined(problem)

    def predict(self, problem: Learned) -> Array:
        """Return n/2, the decimal logarithm of the factor 10^(n/2)."""
        return jnp.asarray(len(problem.inputs) / 2)

    def measure(self, problem: Learned, key: Key[Array, ""]) -> Array:
        """Return the decimal logarithm of the bound divided by the trivial bound."""
        return jnp.log10(self._bound(problem) / self._known(problem))

    @abc.abstractmethod
    def _bound(self, problem: Learned) -> Array:
        """Return the printed bound with all hidden constants set to 1."""

    @abc.abstractmethod
    def _known(self, problem: Learned) -> Array:
        """Return the trivial bound, which is known without the theorem."""


class LabelMismatch(AbstractSaysNothing):
    """Let F_ntk and F_pseudo be regressions with the tangent kernel of a softmax network, after the same number of
    steps of gradient descent. F_ntk is trained on n noisy labels of the denoiser F* in d dimensions, and F_pseudo on
    noisy labels of a function F_H with |F_H|² <= d R_H. Let lambda be the smallest eigenvalue of the kernel matrix, and
    let C_0, c_1 and Lambda be constants. Theorem G.5 of the source states, with probability at least 1 - delta, for
    wide networks and every number of steps,

        E |F_ntk - F_pseudo|² <= d A + C_0 (sqrt(d A Gamma_delta) + Gamma_delta),
        A = c_1 Lambda rho^(-2/d) log(rho),   rho = sqrt(R_H)/Lambda,
        Gamma_delta = (2 d² A/lambda log^(3/2)(e (dn)^(3/2) A/lambda) + n^(-1/2))²
                      + d² A²/lambda² (log(1/delta) + log log n).

    By Theorem G.4 of the source, the mean squared distance of F_H from F* is at most d A². A trivial bound on the left
    side holds for any labels: the square of the sum of the root mean squares of F_ntk and F_pseudo. For data that are
    uniform on a square, with Lambda = sqrt(d) and the other constants 1, the right side is more than 10^(n/2) times the
    trivial bound. The reason is that lambda falls exponentially with n.

    The printed theorem does not say which function F_H is. For F_H = 0 the left side is E |F_ntk|², while A can be
    arbitrarily small. For large R_H at a fixed n, Gamma_delta is undefined, because it contains a negative logarithm to
    the power 3/2.
    """

    title = "A published bound on the effect of a label mismatch grows exponentially with the number of points"
    source = Source("gu2024softmax", "Theorem G.5", note="how large the bound is")
    unexplained = "the size of the mismatch itself"
    reading = (
        "The trials take C_0 = c_1 = 1, Lambda = sqrt(d), delta = 0.1, and the least R_H that Theorem G.4 allows. "
        "A first version tested whether the mismatch is within the bound, but at widths for which the theorem "
        "states nothing, so no result could contradict it. The exponent n/2 was chosen after a look at 8, 16 and "
        "32 points"
    )

    def _bound(self, problem: Learned) -> Array:
        return _mismatch(problem)

    def _known(self, problem: Learned) -> Array:
        return _together(problem.f_kernel, problem.f_pseudo)


class ScoreError(AbstractSaysNothing):
    """Train a softmax network F_nn with m hidden units on n noised data x(t) = alpha x(0) + (1 - alpha²)^(1/2) z in d
    dimensions, where z is normal. Let s = (alpha F_nn - x) / (1 - alpha²) be the score that F_nn implies. Let p_t be
    the density of x(t), and let lambda(t) = (1 - alpha²)² / alpha². In the bound below, lambda without an argument is
    the smallest eigenvalue of the tangent kernel matrix H, and eps bounds the error that remains after early stopping
    (Assumption G.3 of the source). The number A bounds how far the denoiser F* is from functions of bounded norm in the
    kernel's space, and Gamma_delta contains A²/lambda² times logarithms. The claim `label_mismatch` gives their
    formulas, with a constant Lambda. Theorem 6.5 of the source states, with probability at least 1 - delta, for wide
    networks,

        mean over t of lambda(t) E |s - grad log p_t|²
            <= 1/(lambda sqrt(n)) + eps + d A² + d A + sqrt(d A Gamma_delta) + Gamma_delta.

    A trivial bound is the error of the best constant, which is the mean square of the denoiser F* about its mean. For
    data that are uniform on a square, with Lambda = sqrt(d) and all other constants 1, the right side is more than
    10^(n/2) times this error. The right side is so large because lambda falls exponentially with n.

    The proof in the source departs from a correct proof in three places. It bounds the root mean square of the gap
    between the network and regression with its tangent kernel by 1/(lambda sqrt(n)), but puts 1/(lambda sqrt(n)) into
    the bound instead of its square. If lambda sqrt(n) < 1, as here, this number is smaller than its square. The proof
    also drops log²(2 n² d² / (m lambda²)), which is not bounded. Finally, the proof bounds the mean square of a sum of
    four gaps by the sum of their mean squares, whereas the correct bound is 4 times this sum. All these differences are
    negligible compared with Gamma_delta. On a square, Assumptions 6.1 and 6.4 hold. Normal mixtures violate Assumption
    6.1, and spheres violate Assumption 6.4.
    """

    title = "A published bound on the error of a learned score grows exponentially with the number of points"
    source = Source("gu2024softmax", "Theorem 6.5", note="how large the bound is")
    unexplained = "the error itself"
    reading = (
        "The trials take hidden constants 1, delta = 0.1, Lambda = sqrt(d), and the least R_H that Theorem G.4 "
        "allows. A first version tested whether the error is within the bound, but at widths for which the theorem "
        "states nothing, so no result could contradict it. The exponent n/2 was chosen after a look at 8, 16 and "
        "32 points"
    )

    def _bound(self, problem: Learned) -> Array:
        n, d = problem.truth.shape
        coupling = 1 / (problem.values[0] * math.sqrt(n))
        return coupling + gaps(problem)[2] + d * _approximation(problem) ** 2 + _mismatch(problem)

    def _known(self, problem: Learned) -> Array:
        return _mean_square(problem.f_truth - problem.f_truth.mean(axis=0))
