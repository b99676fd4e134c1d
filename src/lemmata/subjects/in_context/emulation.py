"""A transformer that executes proximal gradient on the Lasso: what its layers compute, row by row.

This theory controls every row of the tokens of the constructed transformer, layer by layer. It assumes examples and a
query as columns, with features in [0, 1]; it leaves unexplained whether training would find such weights.

The transformer (`lemmata.networks.InContextTransformer`) reads N examples (x_i, y_i), i = 1, ..., N, and a query
x_{N+1}. Its first layer writes p = n + 1 features phi_i = phi(x_i) in [0, 1] (n ramps and a constant 1) into token i;
then T blocks of two layers each take a step of proximal gradient on the Lasso of penalty lambda, with step eta:
Attn1 and FF1 move the coefficients rho, and Attn2 writes the prediction y^ of the query. Attention is by logistic
functions sigma at the temperature tau: a product x becomes g(x) = 4 tau (sigma(x/tau) - sigma(0)), near x.
"""

import abc

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Passage, Source, Status
from lemmata.engine.problems.prompts import Prompt
from lemmata.networks import TransformerLayer, transformer, transformer_layers
from lemmata.subjects.in_context._forward_passes import DensePasses

from ._passes import attention_alone, dense_rounding, dense_tokens, inexact_update, intended_tokens, path_of

ABOUT = {"tool": "linear algebra", "architecture": "transformer in context", "object": "construction", "problem": 2}


class AbstractTokens(Claim[Prompt]):
    """Statements about the matrices of the transformer, each trial a class, its transformer and one prompt."""

    population = DensePasses()
    controls = "the tokens of the transformer, row by row"
    unexplained = "whether training finds these weights"
    traced = False


def rho_one_step_late(tokens: Array, problem: Prompt) -> Array:
    """The tokens with the rho of the block before."""
    rho = problem.model.rows["rho"]
    return tokens.at[2:, rho].set(tokens[:-2, rho])


class WeightsExecuteTheSteps(AbstractTokens):
    """The D x D matrices of the constructed transformer, D = d + 2n + 7 for d inputs and n features, applied layer by
    layer to the tokens H(0) of a prompt, leave in them

        H(1): the features and lambda;   H(2t): rho_t, and 0 as the prediction;   H(2t+1): rho_t and its prediction,

    for t = 1, ..., T, in every column and with all other rows unchanged. rho_t are T steps of proximal gradient on the
    Lasso of penalty lambda, with logistic functions at temperature tau for products: on one side are matrices, on the
    other vectors of n + 1 numbers.
    """

    title = "The weights of the transformer execute the intended steps"
    source = Source(
        "li2025incontext", "Lemma 4, part i", "Lemma 4, part ii", "(106)", "(107a)", "(107b)", "(108)", "(109a)",
        "(109b)", "(110)", "(111)", "(112)",
    )  # fmt: skip
    relation = Equal(block=2)  # every H(l) has entries of 1, and `dense_rounding` is an absolute error beside them
    control = Control(
        "rho is one step late", rho_one_step_late, loose="the other rows of the tokens hold what the prompt holds"
    )

    def predict(self, problem: Prompt) -> Array:
        return intended_tokens(problem)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return dense_tokens(problem)

    def condition(self, problem: Prompt) -> Array:
        return dense_rounding(problem, problem.model.iterations)


class FeaturesFromTwoRamps(AbstractTokens):
    """The first layer writes the features phi(tau_ff (<u_i, x_j> - t_i)), i = 1, ..., n, a 1 and lambda into token j,
    for unit vectors u_i, thresholds t_i and a sharpness tau_ff, by

        phi(z) = relu(z + 1/2) - relu(z - 1/2),   1 = relu(1) - relu(-1),   lambda = relu(lambda).
    """

    title = "A feed-forward layer computes the features of every token"
    source = Source("li2025incontext", "(107a)", "(107b)", "(113)", "(114)", "(115)", "(116)", note="proof of Lemma 4")
    relation = Equal(block=2)  # ramps, at most 1, are differences of numbers up to 3 tau_ff
    control = Control(
        "1 = relu(1) - relu(1)", lambda found, problem: found.at[-2].set(0.0), loose="of three identities it breaks one"
    )

    def predict(self, problem: Prompt) -> Array:
        """A ramp that is cut off at 0 and 1."""
        features, points = problem.model.features, jnp.concatenate([problem.x, problem.queries[:1]])
        lengths = jnp.linalg.norm(features.omega, axis=1)
        z = features.sharpness * (points @ features.omega.T / lengths - features.thresholds)
        columns = jnp.ones((len(points), 1))
        ramps = jnp.minimum(jnp.maximum(z + 0.5, 0.0), 1.0)
        return jnp.concatenate([ramps, columns, problem.model.penalty * columns], axis=1).T

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        rows, tokens = problem.model.rows, dense_tokens(problem, 1)[1]
        return jnp.concatenate([tokens[rows["phi"]], tokens[rows["penalty"]]])

    def condition(self, problem: Prompt) -> Array:
        return 4 * problem.model.features.sharpness


class FeedForwardIsSoftThreshold(AbstractTokens):
    """The second feed-forward map writes the soft threshold ST(rho) of rho at eta lambda, entry by entry,

        ST(z) = sign(z) max(|z| - eta lambda, 0) = z + relu(eta lambda) - relu(z + eta lambda) + relu(z - eta lambda),

    and 0 = y^ - relu(y^) + relu(-y^) as the prediction; eta is the step and lambda the penalty.
    """

    title = "A feed-forward layer is a soft threshold"
    source = Source("li2025incontext", "(109a)", "(109b)", "(121)", "(122)", note="proof of Lemma 4")
    relation = Equal(block=-1)  # terms of the size of the largest coefficient cancel
    control = Control(
        "the identity without relu(eta lambda)",
        lambda found, problem: found.at[:-1].add(-problem.model.step * problem.model.penalty),
    )
    condition = 4.0

    def predict(self, problem: Prompt) -> Array:
        model = problem.model
        before = self._before(problem)[model.rows["rho"]]
        kept = jnp.sign(before) * jnp.maximum(jnp.abs(before) - model.step * model.penalty, 0.0)
        return jnp.concatenate([kept, jnp.zeros((1, kept.shape[1]))])

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        layer, rows = transformer_layers(problem.model)[1], problem.model.rows
        after = transformer([TransformerLayer((), layer.inner, layer.outer)], self._before(problem))[1]
        return jnp.concatenate([after[rows["rho"]], after[rows["prediction"]]])

    def _before(self, problem: Prompt) -> Array:
        """Tokens with a prediction, after the gradient step of the second block."""
        return transformer([attention_alone(transformer_layers(problem.model)[3])], dense_tokens(problem, 3)[3])[1]


def step_intended(problem: Prompt) -> Array:
    """The right side of (118), for tokens that hold rho_1 and its prediction."""
    rho, predictions = path_of(problem)
    return inexact_update(problem, rho[1:2], predictions[1:2])[0]


def without_the_query(found: Array, problem: Prompt) -> Array:
    """(118) without its last term, by which the query, that has no target, is taken out of the sum."""
    rho, predictions = path_of(problem)
    return inexact_update(problem, rho[1:2], 0 * predictions[1:2])[0]


class GradientStepOfFourHeads(AbstractTokens):
    """With a fourth head, V_4 = -V_1 and Q_4 = K_4 = 0, Attn1 computes from coefficients rho and a prediction y^ of the
    query

        rho + (2/N) sum_{i <= N+1} {g(eta y_i) - g(eta phi_i^T rho) + g(eta (1 - w_i) y^)} phi_i,

    with g(x) = 4 tau (sigma(x/tau) - sigma(0)) for products, step eta, N examples of targets y_i and features phi_i,
    w_i = 1, and the query as token N + 1 with y = w = 0. Judged for tokens that hold rho_1 and its prediction. Without
    the fourth head one sigma(0) too many is left over, 4 tau sum_i phi_i / N.
    """

    title = "Four heads compute a gradient step"
    source = Source(
        "li2025incontext", "(118)", "proof of Lemma 4, matrices of Attn1", note="proof of Lemma 4, with the fourth head"
    )
    stated = Kind.REPAIR
    relation = Equal(block=1)  # each entry of rho is what is left of sums of the size of tau
    control = Control("the prediction of the query is not put back", without_the_query)

    def predict(self, problem: Prompt) -> Array:
        return step_intended(problem)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The column of rho after the attention of the fourth layer."""
        layer = attention_alone(transformer_layers(problem.model)[3])
        return transformer([layer], dense_tokens(problem, 3)[3])[1][problem.model.rows["rho"], 0]

    def condition(self, problem: Prompt) -> Array:
        """Cancellation in one layer, over the size of what is left."""
        return dense_rounding(problem, 1) / jnp.maximum(jnp.abs(self.predict(problem)).max(), 1e-6)


class AbstractPrediction(AbstractTokens):
    """What Attn2 writes as the prediction of the query, for tokens that hold rho_1."""

    relation = Equal()
    control = Control(
        "the mean over N + 1 tokens", lambda found, problem: found * len(problem.y) / (len(problem.y) + 1)
    )

    @abc.abstractmethod
    def predict(self, problem: Prompt) -> Array:
        """A multiple of g(phi^T rho_1)."""

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The last entry of the column of the query after the attention of the third layer."""
        after = transformer([attention_alone(transformer_layers(problem.model)[2])], dense_tokens(problem, 2)[2])[1]
        return after[-1, -1]

    def condition(self, problem: Prompt) -> Array:
        """Cancellation in one layer, over the size of what is left."""
        return dense_rounding(problem, 1) / jnp.maximum(jnp.abs(self.predict(problem)), 1e-6)


def product_with_rho(problem: Prompt) -> Array:
    """g(phi^T rho_1) of the query."""
    value, tau = problem.model.features(problem.queries[:1])[0] @ path_of(problem)[0][1], problem.model.temperature
    return 2 * tau * jnp.tanh(value / (2 * tau))


class PredictionAsPrinted(AbstractPrediction):
    """As printed: with 4 tau (u_{d+1} - u_{d+3}) as the last row of V (u_j are unit vectors), Attn2 writes the
    prediction

        y^ + 4 tau sum_{i <= N+1} (1 - w_i) {sigma(phi_i^T rho / tau) - sigma(0)},

    for N examples with w_i = 1 and the query with w = 0, features phi_i, coefficients rho, and a logistic function
    sigma at temperature tau. Attention divides by N, and so the prediction is N times too small.
    """

    title = "The attention of the prediction, as printed"
    source = Source("li2025incontext", "(124)", "proof of Lemma 4, matrices of Attn2", note="proof of Lemma 4")
    population = DensePasses(as_printed=True)
    passage = Passage(
        "004_53e1e75f8b75373c.txt",
        136665,
        137195,
        "ea58dd34b82f55e4",
        says="two heads whose V has 4 tau (u_(d+1) - u_(d+3)) as its last row carry out (124)",
        right_if="the row is N times as large, or attention does not divide by N as in (11)",
        formula="V_(D,:) = 4 tau (u_(d+1) - u_(d+3))'",
    )
    expected = Status.REFUTED

    def predict(self, problem: Prompt) -> Array:
        return product_with_rho(problem)


class PredictionWithN(AbstractPrediction):
    """With 4 tau N (u_{d+1} - u_{d+3}) as the last row of V (u_j are unit vectors), Attn2 writes the prediction

        y^ + 4 tau sum_{i <= N+1} (1 - w_i) {sigma(phi_i^T rho / tau) - sigma(0)},

    for N examples with w_i = 1 and the query with w = 0, features phi_i, coefficients rho, and a logistic function
    sigma at temperature tau.
    """

    title = "The attention of the prediction, with the factor N"
    source = Source(
        "li2025incontext", "(124)", "proof of Lemma 4, matrices of Attn2", note="proof of Lemma 4, with N in V"
    )
    corrects = PredictionAsPrinted

    def predict(self, problem: Prompt) -> Array:
        return product_with_rho(problem)


class PrintedPredictionIsNTimesSmaller(AbstractPrediction):
    """With the printed V of Attn2, the prediction of the query is 1/N of 4 tau {sigma(phi^T rho / tau) - sigma(0)}, for
    N examples, its features phi, coefficients rho, and a logistic function sigma at temperature tau.
    """

    title = "The printed attention predicts an N-th of the value"
    source = Source("li2025incontext", "proof of Lemma 4, matrices of Attn2")
    population = DensePasses(as_printed=True)
    stated = Kind.OWN

    def predict(self, problem: Prompt) -> Array:
        return product_with_rho(problem) / len(problem.y)
