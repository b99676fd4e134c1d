"""The terms of a step that do not make progress.

This theory bounds what a step of descent on a softmax network adds to the loss beside its progress: C_0 from the
normaliser, C_2 from the curvature of the exponential, C_3 from the length of the step. It assumes inputs and targets in
the unit ball and the step eta of the theory; it leaves unexplained the powers of n k exp(B), which the terms do not
have. C_0 is far smaller than the concentration argument says: it falls as m^-2, not as m^(-1/2).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Rate, Real, Source, Space
from lemmata.problems._sampled import draws
from lemmata.problems._softmax_training import (
    DELTA,
    Training,
    coarse_step,
    initialise,
    output_change,
    pose_training,
    small_eigenvalue_cause,
    sphere_points,
)

from .loss_decomposition import exp_curvature, exp_remainder, terms
from .loss_progress import floor, hidden_constant

_WIDTHS = (16.0, 32.0, 64.0, 128.0, 256.0)


class AbstractRemainderClaim(Claim[Training]):
    """What the claims of this section share: networks before, in and after training."""

    controls = "what a step adds to the loss"
    unexplained = "the powers of n k exp(B)"
    relation = AtMost(delta=DELTA)
    problem = Training
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes, the spread of the weights, training time."""
        return Space(
            n=Integer(3, 1, 16, "points"),
            d=Integer(4, 1, 64, "columns"),
            k=Integer(1, 1, 8, "outputs"),
            pairs=Integer(32, 1, 1024, "pairs of units"),
            sigma=Real(0.04, 0.001, 1.0, "standard deviation of the weights"),
            alignment=Real(0.0, 0.0, 100.0, "alignment of the inputs"),
            steps=Integer(8, 0, 1000, "steps of coarse descent that went before"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Unit inputs and targets; the coarse step is drawn, and is 0 in a sixth of the trials."""
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs, time = draws(key, (d + k, setting["pairs"]), (n, d), (n, k), ())
        x = sphere_points(inputs, setting["alignment"])
        first = initialise(weights, x, sphere_points(outputs), setting["sigma"])
        return first.after(coarse_step(first) * jnp.maximum(time + 1, 0.0), setting["steps"])

    def pose(self, problem: object) -> Training | None:
        """Networks only: on a table, the examination would take too long."""
        return problem if isinstance(problem, Training) else None

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """lambda > 0, the unit ball, the gradient property, a loss that has not grown."""
        length = problem.step * jnp.linalg.norm(problem.gradient, axis=0).max()
        residual, most = jnp.linalg.norm(problem.residual), jnp.sqrt(1.0 * problem.size)
        return [
            Hypothesis("the smallest eigenvalue of H* is positive", problem.smallest, ">", floor(problem)),
            Hypothesis("inputs lie in the unit ball", jnp.linalg.norm(problem.x, axis=1).max(), "<=", 1.0),
            Hypothesis("no unit moves by more than 0.01", length, "<=", 0.01, "Fact A.8"),
            Hypothesis("|F - Y| is at most sqrt(n k)", residual, "<=", most, "Lemmas D.3 and C.3; C_2 is cubic in it"),
        ]

    def culprit(self, problem: Training) -> str | None:
        """Rows that make lambda zero."""
        return small_eigenvalue_cause(problem)

    def scale(self, problem: Training) -> Array:
        """|F - Y|²."""
        return jnp.sum(problem.residual**2)


class NormaliserTerm(AbstractRemainderClaim):
    """The part of a step that goes through the softmax's denominator (C_0 of Lemma E.1) is at most

        |C_0| <= m eta lambda |F(tau) - Y|² / 10

    in absolute value. The source asks for m = Omega(lambda^-2 n² k exp(18 B) log²(n k / delta)); here the widths are
    those that can be built, and the first of the hypotheses says which constant Omega would have to hide.
    """

    title = "The normaliser's part of a step is small"
    source = Source("gu2024softmax", "Lemma E.3")

    def pose(self, problem: object) -> Training | None:
        """A network of width 256 on the first rows of a table, after 8 coarse steps."""
        return pose_training(problem, steps=8)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """As above, and how far the width is from what Omega asks for."""
        why = "the constant that Omega would have to hide for the source to promise this"
        name = "width / (lambda^-2 n^2 k exp(18 B) log^2(nk/delta))"
        return [Hypothesis(name, hidden_constant(problem, 18.0), ">", 0.0, why), *super().hypotheses(problem)]

    def predict(self, problem: Training) -> Array:
        """The bound."""
        return 0.1 * problem.width * problem.step * problem.smallest * self.scale(problem)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """|C_0|."""
        return jnp.abs(terms(problem, problem.step).change[0])

    def control(self) -> Control:
        """The rate at which it does fall, with a constant that is too small."""
        return Control("at most m eta lambda |F - Y|² / (10 m²)", lambda bound, problem: bound / problem.width**2)


class NormaliserRate(AbstractRemainderClaim):
    """|C_0| / (m eta lambda |F - Y|²) falls as m^-2 with the width: far faster than the m^(-1/2) which concentration
    over random signs gives.

    C_0 = 2 eta sum_i <F_i - y_i, F_i> <S_i, Delta W' x_i> to first order in eta, where F is of order 1 in training. In
    the inner mean over units, <S_i, Delta W' x_i> = m sum_jl (F - y)_jl sum_r S_ir (a_lr - F_jl / m) S_jr <x_i, x_j>,
    the signs cancel within every pair of units but for the difference of order 1/m that training has made between its
    members, and F / m is of order 1/m: what is left is of order 1/m, beside the m that C_0 is divided by. Judged at the
    time at which the residual has fallen to about half.
    """

    title = "The normaliser's part of a step falls with the square of the width"
    source = Source("gu2024softmax", "Lemma E.3", note="the order in the width")
    # Networks of the ladder's widths are the first units of one long draw. The allowance is for the kernel at width 16,
    # which differs from its limit by a relative m^(-1/2); its mean over draws by 1/m = 6 %, 0.06 / log(16) of slope.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.05, resolution=0.1)
    label = "rate"
    unexplained = "the constant"

    def settings(self) -> Space:
        """As above, with as many units as the longest network has."""
        return Space(
            n=Integer(3, 1, 16, "points"),
            d=Integer(4, 1, 64, "columns"),
            k=Integer(1, 1, 8, "outputs"),
            pairs=Integer(128, 128, 128, "pairs of units of the widest network"),
            sigma=Real(0.3, 0.001, 1.0, "standard deviation of the weights"),
            alignment=Real(0.0, 0.0, 100.0, "alignment of the inputs"),
            steps=Integer(0, 0, 0, "none: training is part of the measurement"),
        )

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """lambda > 0 and the unit ball."""
        return super().hypotheses(problem)[:2]

    def predict(self, problem: Training) -> Array:
        """The exponent."""
        return jnp.asarray(-2.0)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The ratio at each width, after four coarse steps."""

        def ratio(width: int) -> Array:
            start, moved, sign = (a[:, :width] for a in (problem.start, problem.moved, problem.sign))
            first = Training(start, moved, sign, problem.x, problem.y, problem.sigma)
            training = first.after(coarse_step(first), 4)
            eta = 1e-6 / width
            return jnp.abs(terms(training, jnp.asarray(eta)).change[0]) / (width * eta * self.scale(training))

        return jnp.stack([ratio(int(width)) for width in _WIDTHS])

    def control(self) -> Control:
        """The order of the source's proof."""
        return Control("as m^(-1/2), the order of the source's proof", lambda exponent, problem: exponent / 4)


class CurvatureTerm(AbstractRemainderClaim):
    """The part of a step that the curvature of the exponential makes (C_2 of Lemma E.1) is at most

        C_2 <= 2 m eta² n² k² exp(9 B) |F(tau) - Y|²,

    as long as |F(tau) - Y| <= sqrt(n k), which the proof uses: C_2 grows as the cube of the residual. The source's
    failure probability is n exp(-m R); delta stands here. The networks are those that C_2 hurts: their weights are off
    the initialisation by 0.0099 along one input, so that some outputs lie beyond their targets. Judged after division
    by eta².
    """

    title = "The curvature's part of a step is small"
    source = Source("gu2024softmax", "Claim E.6")

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Members of pairs moved apart along the first input, which the targets contradict in sign."""
        first = super().sample({**setting, "steps": 0}, key)
        reach = 0.0099 * first.sign[0] * first.x[0][:, None]
        forward = Training(first.start, reach, first.sign, first.x, first.y, first.sigma)
        targets = -0.4 * jnp.sign(forward.outputs) * jnp.abs(first.y)
        return Training(first.start, reach, first.sign, first.x, targets, first.sigma)

    def predict(self, problem: Training) -> Array:
        """The bound, over eta²."""
        growth = problem.size**2 * jnp.exp(9 * problem.bound)
        return 2 * problem.width * growth * self.scale(problem)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """C_2 / eta², from v_2 / eta² = m sum_r a_lr S_ir theta(u_ir) <Delta w_r, x_i>²."""
        shares, pull = jax.nn.softmax(problem.x @ problem.weight, axis=1), problem.x @ problem.gradient
        curved = shares * exp_curvature(-problem.step * pull) * pull**2
        return 2 * problem.width * jnp.sum(problem.residual * (curved @ problem.sign.T))

    def trivial(self, problem: Training) -> Array:
        """2 |F - Y|_1 m max |exp(u) - 1 - u| / eta², from the largest u that the gradient property allows."""
        largest = exp_remainder(jnp.asarray(0.01)) / problem.step / problem.step
        return 2 * jnp.abs(problem.residual).sum() * problem.width * largest

    def control(self) -> Control:
        """The movement R of the weights in place of powers of n k exp(B)."""

        def moved(bound: Array, problem: Training) -> Array:
            return bound * problem.farthest / (2 * problem.size**2 * jnp.exp(9 * problem.bound))

        return Control("C_2 <= m eta² R |F - Y|² for weights that moved by R", moved)


class ChangeTerm(AbstractRemainderClaim):
    """The squared length of a step in outputs (C_3 of Lemma E.1) is at most

        |F(tau + 1) - F(tau)|² <= eta² m² n² k² exp(16 B) |F(tau) - Y|².

    To first order F(tau + 1) - F(tau) = -m eta H (F - Y), and lambda_max(H) is near n for equal inputs and one output:
    there n² is needed, and exp(16 B) is not. Judged after division by (m eta)², which may be below the smallest
    positive number of double precision.
    """

    title = "One step changes the outputs little"
    source = Source("gu2024softmax", "Claim E.7")

    def settings(self) -> Space:
        """As above, with inputs that are close to each other and larger weights."""
        return Space(
            n=Integer(3, 1, 16, "points"),
            d=Integer(4, 1, 64, "columns"),
            k=Integer(1, 1, 8, "outputs"),
            pairs=Integer(64, 1, 1024, "pairs of units"),
            sigma=Real(0.3, 0.001, 1.0, "standard deviation of the weights"),
            alignment=Real(8.0, 0.0, 100.0, "alignment of the inputs"),
            steps=Integer(2, 0, 1000, "steps of coarse descent that went before"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Close inputs, targets of one sign: residuals along the largest eigenvector."""
        drawn = super().sample({**setting, "steps": 0}, key)
        first = Training(drawn.start, drawn.moved, drawn.sign, drawn.x, jnp.abs(drawn.y), drawn.sigma)
        return first.after(coarse_step(first), setting["steps"])

    def predict(self, problem: Training) -> Array:
        """The bound, over (m eta)²."""
        growth = problem.size**2 * jnp.exp(16 * problem.bound)
        return growth * self.scale(problem)

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        """The change of the outputs by differences of softmaxes, over m eta, squared."""
        shares = jax.nn.softmax(problem.x @ problem.weight, axis=1)
        change = output_change(shares, problem.sign, -problem.step * problem.x @ problem.gradient)
        return jnp.sum((change / (problem.width * problem.step)) ** 2)

    def trivial(self, problem: Training) -> Array:
        """Every output is between -m and m; over (m eta)²."""
        return 4.0 * problem.size / problem.step / problem.step

    def control(self) -> Control:
        """No growth with B, nor with the number of outputs."""

        def small(bound: Array, problem: Training) -> Array:
            return bound / (len(problem.sign) ** 2 * jnp.exp(16 * problem.bound))

        return Control("without k² exp(16 B)", small)
