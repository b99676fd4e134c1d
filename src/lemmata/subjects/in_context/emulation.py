"""A transformer that executes proximal gradient on the Lasso, and what each of its layers writes, row by row.

The theory covers every row of the tokens of the transformer that the source (li2025incontext) constructs, layer by
layer. Tokens are columns, one for each example and one for the query. The theory assumes features in [0, 1]. It leaves
open whether training would find such weights.

The transformer (`lemmata.networks.InContextTransformer`) reads N examples (x_i, y_i), i = 1, ..., N, and a query
x_{N+1}. Its first layer writes p = n + 1 features phi_i = phi(x_i) in [0, 1] (n ramps and a constant 1) into token i.
Then T blocks of two layers each take a step of proximal gradient on the Lasso of penalty lambda, with step size eta.
The first layer of a block has attention Attn1 and feed-forward map FF1, which move the coefficients rho. In the second
layer, attention Attn2 writes the prediction y^ of the query. Attention uses logistic functions sigma at the temperature
tau. In place of a product x, attention computes g(x) = 4 tau (sigma(x/tau) - sigma(0)), which is near x. The number w_i
is 1 in the tokens of examples and 0 in the query.
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
    """Base of claims about the matrices of the transformer; a trial has a class, its transformer and a prompt."""

    population = DensePasses()
    controls = "the tokens of the transformer, row by row"
    unexplained = "whether training finds these weights"
    traced = False


def rho_one_step_late(tokens: Array, problem: Prompt) -> Array:
    """Return false tokens, for a control: every block holds the rho of the block before."""
    rho = problem.model.rows["rho"]
    return tokens.at[2:, rho].set(tokens[:-2, rho])


class WeightsExecuteTheSteps(AbstractTokens):
    """A transformer for d inputs and n features is built to take T steps of proximal gradient on the Lasso of penalty
    lambda, with two layers for each step. Logistic functions at temperature tau replace products. Let rho_t be the
    result of step t. The matrices of this transformer are D x D, where D = d + 2n + 7. Apply these matrices layer by
    layer to the tokens H(0) of a prompt. For t = 1, ..., T, the tokens H(l) after layer l hold

        H(1): the features and lambda;   H(2t): rho_t, and 0 as the prediction;   H(2t+1): rho_t and its prediction.

    Every column holds these values, and all other rows are unchanged. The test compares two computations, one with the
    matrices and one with vectors of n + 1 numbers.
    """

    title = "The matrices of a transformer built for the Lasso execute proximal gradient steps"
    source = Source(
        "li2025incontext", "Lemma 4, part i", "Lemma 4, part ii", "(106)", "(107a)", "(107b)", "(108)", "(109a)",
        "(109b)", "(110)", "(111)", "(112)",
    )  # fmt: skip
    # every H(l) has entries of 1, and `dense_rounding` is an absolute error relative to these
    relation = Equal(block=2)
    control = Control(
        "the coefficients are one step late", rho_one_step_late, loose="all other rows of the tokens stay correct"
    )

    def predict(self, problem: Prompt) -> Array:
        return intended_tokens(problem)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return dense_tokens(problem)

    def condition(self, problem: Prompt) -> Array:
        return dense_rounding(problem, problem.model.iterations)


class FeaturesFromTwoRamps(AbstractTokens):
    """Let u_i be unit vectors and t_i thresholds, for i = 1, ..., n. Let tau_ff be the slope of the ramps, x_j the
    input of token j, and lambda the penalty. Let relu(z) be z if z is positive, and 0 otherwise. The first layer uses a
    ramp phi and two identities,

        phi(z) = relu(z + 1/2) - relu(z - 1/2),   1 = relu(1) - relu(-1),   lambda = relu(lambda).

    With them, the layer writes the features phi(tau_ff (<u_i, x_j> - t_i)), the number 1 and lambda into token j.
    """

    title = "In a transformer built for the Lasso, the first feed-forward layer computes the features of every token"
    source = Source("li2025incontext", "(107a)", "(107b)", "(113)", "(114)", "(115)", "(116)", note="proof of Lemma 4")
    relation = Equal(block=2)  # ramps, at most 1, are differences of numbers up to 3 tau_ff
    control = Control(
        "1 is written as relu(1) - relu(1)",
        lambda found, problem: found.at[-2].set(0.0),
        loose="the change breaks only one of the three identities",
    )

    def predict(self, problem: Prompt) -> Array:
        """Return the ramps, cut off at 0 and 1."""
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
    """In a transformer that takes proximal gradient steps on the Lasso, let rho be the coefficients and y^ the
    prediction in a token. Let eta be the step and lambda the penalty. The second feed-forward map applies the soft
    threshold ST at eta lambda to each entry of rho,

        ST(z) = sign(z) max(|z| - eta lambda, 0) = z + relu(eta lambda) - relu(z + eta lambda) + relu(z - eta lambda),

    and replaces the prediction by 0 = y^ - relu(y^) + relu(-y^).
    """

    title = "In a transformer built for the Lasso, the second feed-forward map soft-thresholds the coefficients"
    source = Source("li2025incontext", "(109a)", "(109b)", "(121)", "(122)", note="proof of Lemma 4")
    relation = Equal(block=-1)  # terms of the size of the largest coefficient cancel
    control = Control(
        "the identity holds without the term relu(eta lambda)",
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
        """Return the tokens after the gradient step of the second block; they also hold a prediction."""
        return transformer([attention_alone(transformer_layers(problem.model)[3])], dense_tokens(problem, 3)[3])[1]


def step_intended(problem: Prompt) -> Array:
    """Return the coefficients after the transformer's gradient step (equation 118), from rho_1 and its prediction."""
    rho, predictions = path_of(problem)
    return inexact_update(problem, rho[1:2], predictions[1:2])[0]


def without_the_query(found: Array, problem: Prompt) -> Array:
    """Return the gradient step without the term g(eta (1 - w_i) y^), which cancels the query's term, for a control."""
    rho, predictions = path_of(problem)
    return inexact_update(problem, rho[1:2], 0 * predictions[1:2])[0]


class GradientStepOfFourHeads(AbstractTokens):
    """A transformer is built to take proximal gradient steps on the Lasso. Let a prompt have N examples with targets
    y_i, features phi_i and w_i = 1. Let the query be token N + 1, with y = w = 0 and a prediction y^. Let rho be the
    coefficients and eta the step size. Let sigma be the logistic function at temperature tau. The function g(x) = 4 tau
    (sigma(x/tau) - sigma(0)) approximates x, and attention uses it to compute products x.

    To the three heads of the source's first attention Attn1, add a fourth head with the matrices V_4 = -V_1 and Q_4 =
    K_4 = 0. Then Attn1 computes

        rho + (2/N) sum_{i <= N+1} {g(eta y_i) - g(eta phi_i^T rho) + g(eta (1 - w_i) y^)} phi_i.

    Without the fourth head, one term sigma(0) of each token does not cancel, and these terms change the step by 4 tau
    sum_i phi_i / N. The statement is tested for tokens that hold rho_1, the coefficients after the first step, and the
    prediction with rho_1.
    """

    title = "With a fourth head, a Lasso transformer's first attention computes a gradient step of the Lasso"
    source = Source(
        "li2025incontext", "(118)", "proof of Lemma 4, matrices of Attn1", note="proof of Lemma 4, with the fourth head"
    )
    stated = Kind.REPAIR
    relation = Equal(block=1)  # each entry of rho is what is left of sums of the size of tau
    control = Control("the prediction of the query is not added back", without_the_query)

    def predict(self, problem: Prompt) -> Array:
        return step_intended(problem)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return the coefficients rho in the first token, after the attention of the fourth layer."""
        layer = attention_alone(transformer_layers(problem.model)[3])
        return transformer([layer], dense_tokens(problem, 3)[3])[1][problem.model.rows["rho"], 0]

    def condition(self, problem: Prompt) -> Array:
        """Bound the cancellation in one layer, relative to the size of the result."""
        return dense_rounding(problem, 1) / jnp.maximum(jnp.abs(self.predict(problem)).max(), 1e-6)


class AbstractPrediction(AbstractTokens):
    """Base of claims on the prediction that the second attention Attn2 writes for the query, from tokens with rho_1."""

    relation = Equal()
    control = Control(
        "attention takes the mean over N + 1 tokens",
        lambda found, problem: found * len(problem.y) / (len(problem.y) + 1),
    )

    @abc.abstractmethod
    def predict(self, problem: Prompt) -> Array:
        """Return a multiple of g(phi^T rho_1)."""

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return the last entry of the query's column after the attention of the third layer."""
        after = transformer([attention_alone(transformer_layers(problem.model)[2])], dense_tokens(problem, 2)[2])[1]
        return after[-1, -1]

    def condition(self, problem: Prompt) -> Array:
        """Bound the cancellation in one layer, relative to the size of the result."""
        return dense_rounding(problem, 1) / jnp.maximum(jnp.abs(self.predict(problem)), 1e-6)


def product_with_rho(problem: Prompt) -> Array:
    """Return g(phi^T rho_1) for the features phi of the query."""
    value, tau = problem.model.features(problem.queries[:1])[0] @ path_of(problem)[0][1], problem.model.temperature
    return 2 * tau * jnp.tanh(value / (2 * tau))


class PredictionAsPrinted(AbstractPrediction):
    """Let Attn2 be the attention that writes the prediction in a transformer built for the Lasso, for inputs in d
    dimensions. Let a prompt have N examples and a query. Token i has features phi_i and a flag w_i, which is 1 for
    examples and 0 for the query. Let rho be the coefficients, let y^ be the previous prediction, and let sigma be a
    logistic function at temperature tau. As printed, the last row of the value matrix V is 4 tau (u_{d+1} - u_{d+3}),
    where u_j are unit vectors. Then Attn2 writes the prediction

        y^ + 4 tau sum_{i <= N+1} (1 - w_i) {sigma(phi_i^T rho / tau) - sigma(0)}.

    This statement is false. Attention divides by N, so the prediction is N times too small.
    """

    title = "As printed, the second attention layer of a transformer built for the Lasso writes the query's prediction"
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
    """Let Attn2 be the attention that writes the prediction in a transformer built for the Lasso, for inputs in d
    dimensions. Let a prompt have N examples and a query. Token i has features phi_i and a flag w_i, which is 1 for
    examples and 0 for the query. Let rho be the coefficients, let y^ be the previous prediction, and let sigma be a
    logistic function at temperature tau. Take 4 tau N (u_{d+1} - u_{d+3}) as the last row of the value matrix V, where
    u_j are unit vectors. Then Attn2 writes the prediction

        y^ + 4 tau sum_{i <= N+1} (1 - w_i) {sigma(phi_i^T rho / tau) - sigma(0)}.
    """

    title = "With a factor N for N examples in V, the Lasso transformer's second attention writes the prediction"
    source = Source(
        "li2025incontext", "(124)", "proof of Lemma 4, matrices of Attn2", note="proof of Lemma 4, with N in V"
    )
    corrects = PredictionAsPrinted

    def predict(self, problem: Prompt) -> Array:
        return product_with_rho(problem)


class PrintedPredictionIsNTimesSmaller(AbstractPrediction):
    """Let Attn2 be the attention that writes the prediction in a transformer built for the Lasso. Let a prompt have N
    examples and a query with features phi. Let rho be the coefficients, and let sigma be a logistic function at
    temperature tau. With the value matrix V of Attn2 that the source prints, the prediction of the query is 1/N times
    the intended value 4 tau {sigma(phi^T rho / tau) - sigma(0)}.
    """

    title = "With the printed second attention layer, the Lasso transformer predicts N times too little on N examples"
    source = Source("li2025incontext", "proof of Lemma 4, matrices of Attn2")
    population = DensePasses(as_printed=True)
    stated = Kind.OWN

    def predict(self, problem: Prompt) -> Array:
        return product_with_rho(problem) / len(problem.y)
