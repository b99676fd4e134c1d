"""A transformer that executes proximal gradient on the Lasso: what its layers compute, row by row.

This theory controls every row of the tokens of the constructed transformer, layer by layer. It assumes examples and a
query as columns, with features in [0, 1]; it leaves unexplained whether training would find such weights.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.claims import Control, Source, Status
from lemmata.networks import TransformerLayer, transformer, transformer_layers
from lemmata.problems._prompts import Prompt

from ._passes import (
    AbstractDenseClaim,
    attention_alone,
    dense_rounding,
    dense_tokens,
    inexact_update,
    intended_tokens,
    path_of,
)


class WeightsExecuteTheSteps(AbstractDenseClaim):
    """The D x D matrices, D = d + 2n + 7, applied layer by layer to H(0), leave in the tokens

        H(1): the features and lambda;   H(2t): rho_t, and 0 as the prediction;   H(2t+1): rho_t and its prediction,

    for t = 1, ..., T, in every column and with all other rows unchanged. The steps are those of logistic functions at
    this temperature: on one side are matrices, on the other vectors of n + 1 numbers.
    """

    title = "The weights of the transformer execute the intended steps"
    source = Source(
        "li2025incontext",
        "Lemma 4, part i",
        "Lemma 4, part ii",
        "(106)",
        "(107a)",
        "(107b)",
        "(108)",
        "(109a)",
        "(109b)",
        "(110)",
        "(111)",
        "(112)",
    )

    def predict(self, problem: Prompt) -> Array:
        """The intended tokens."""
        return intended_tokens(problem)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The tokens of the dense pass."""
        return dense_tokens(problem)

    def control(self) -> Control:
        """One step back in rho."""

        def late(tokens: Array, problem: Prompt) -> Array:
            rho = problem.model.rows["rho"]
            return tokens.at[2:, rho].set(tokens[:-2, rho])

        return Control("rho is one step late", late)


class AbstractLayerClaim(AbstractDenseClaim):
    """One layer of the matrices, applied to the tokens that the layers before it leave."""

    def condition(self, problem: Prompt) -> Array:
        """Cancellation in one layer."""
        return dense_rounding(problem, 1)


class FeaturesFromTwoRamps(AbstractLayerClaim):
    """The first layer writes phi(tau_ff (<u_i, x_j> - t_i)), i = 1, ..., n, a 1 and lambda into token j, by

        phi(z) = relu(z + 1/2) - relu(z - 1/2),   1 = relu(1) - relu(-1),   lambda = relu(lambda),

    with tau_ff the sharpness of the features.
    """

    title = "A feed-forward layer computes the features of every token"
    source = Source("li2025incontext", "(107a)", "(107b)", "(113)", "(114)", "(115)", "(116)", note="proof of Lemma 4")

    def predict(self, problem: Prompt) -> Array:
        """A ramp that is cut off at 0 and 1."""
        features, points = problem.model.features, jnp.concatenate([problem.x, problem.queries[:1]])
        lengths = jnp.linalg.norm(features.omega, axis=1)
        z = features.sharpness * (points @ features.omega.T / lengths - features.thresholds)
        columns = jnp.ones((len(points), 1))
        ramps = jnp.minimum(jnp.maximum(z + 0.5, 0.0), 1.0)
        return jnp.concatenate([ramps, columns, problem.model.penalty * columns], axis=1).T

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Two blocks of rows of H(1)."""
        rows, tokens = problem.model.rows, dense_tokens(problem, 1)[1]
        return jnp.concatenate([tokens[rows["phi"]], tokens[rows["penalty"]]])

    def condition(self, problem: Prompt) -> Array:
        """Numbers up to 3 tau_ff cancel."""
        return 4 * problem.model.features.sharpness

    def control(self) -> Control:
        """Without the minus in relu(-1)."""

        def zero(found: Array, problem: Prompt) -> Array:
            return found.at[-2].set(0.0)

        return Control("1 = relu(1) - relu(1)", zero)


class FeedForwardIsSoftThreshold(AbstractLayerClaim):
    """The second feed-forward map writes the soft threshold of rho at eta lambda, and 0 as the prediction, by

        ST(z) = z + relu(eta lambda) - relu(z + eta lambda) + relu(z - eta lambda),

    and y^ - relu(y^) + relu(-y^) = 0.
    """

    title = "A feed-forward layer is a soft threshold"
    source = Source("li2025incontext", "(109a)", "(109b)", "(121)", "(122)", note="proof of Lemma 4")

    def predict(self, problem: Prompt) -> Array:
        """sign(z) max(|z| - eta lambda, 0), then a 0."""
        model = problem.model
        before = self._before(problem)[model.rows["rho"]]
        kept = jnp.sign(before) * jnp.maximum(jnp.abs(before) - model.step * model.penalty, 0.0)
        return jnp.concatenate([kept, jnp.zeros((1, kept.shape[1]))])

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The rows of rho and the prediction."""
        layer, rows = transformer_layers(problem.model)[1], problem.model.rows
        after = transformer([TransformerLayer((), layer.inner, layer.outer)], self._before(problem))[1]
        return jnp.concatenate([after[rows["rho"]], after[rows["prediction"]]])

    def _before(self, problem: Prompt) -> Array:
        """Tokens with a prediction, after the gradient step of the second block."""
        return transformer([attention_alone(transformer_layers(problem.model)[3])], dense_tokens(problem, 3)[3])[1]

    def condition(self, problem: Prompt) -> Array:
        """Nothing of the size of the temperature cancels."""
        return jnp.asarray(4.0)

    def control(self) -> Control:
        """A term of the identity is left out."""

        def low(found: Array, problem: Prompt) -> Array:
            return found.at[:-1].add(-problem.model.step * problem.model.penalty)

        return Control("the identity without relu(eta lambda)", low)


class AbstractGradientStep(AbstractLayerClaim):
    """What the heads of Attn1 add to rho, for tokens that hold rho_1 and its prediction."""

    heads = 4

    def condition(self, problem: Prompt) -> Array:
        """Cancellation in one layer, over the size of what is left."""
        return dense_rounding(problem, 1) / jnp.maximum(jnp.abs(self.predict(problem)).max(), 1e-6)

    def predict(self, problem: Prompt) -> Array:
        """The right side of (118)."""
        rho, predictions = path_of(problem)
        return inexact_update(problem, rho[1:2], predictions[1:2])[0]

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The column of rho after the attention of the fourth layer."""
        layer = attention_alone(transformer_layers(problem.model)[3], self.heads)
        after = transformer([layer], dense_tokens(problem, 3)[3])[1]
        return after[problem.model.rows["rho"], 0]

    def control(self) -> Control:
        """The query has no target, and its term must be taken out of the sum."""

        def without(found: Array, problem: Prompt) -> Array:
            rho, predictions = path_of(problem)
            return inexact_update(problem, rho[1:2], 0 * predictions[1:2])[0]

        return Control("the prediction of the query is not put back", without)


class GradientStepOfListedHeads(AbstractGradientStep):
    """As printed: with the three heads whose matrices are listed (of four that are announced), Attn1 computes

        rho + (2/N) sum_{i <= N+1} {g(eta y_i) - g(eta phi_i^T rho) + g(eta (1 - w_i) y^)} phi_i,

    g(x) = 4 tau (sigma(x/tau) - sigma(0)). The signs of the three add up to one sigma(0) too many: what is left over is
    4 tau sum_i phi_i / N.
    """

    title = "The listed heads compute a gradient step"
    source = Source("li2025incontext", "(118)", "proof of Lemma 4, matrices of Attn1", note="proof of Lemma 4")
    expected = Status.REFUTED
    heads = 3


class GradientStepOfFourHeads(AbstractGradientStep):
    """With a fourth head, V_4 = -V_1 and Q_4 = K_4 = 0, Attn1 computes

        rho + (2/N) sum_{i <= N+1} {g(eta y_i) - g(eta phi_i^T rho) + g(eta (1 - w_i) y^)} phi_i,

    with g(x) = 4 tau (sigma(x/tau) - sigma(0)).
    """

    title = "Four heads compute a gradient step"
    source = Source(
        "li2025incontext", "(118)", "proof of Lemma 4, matrices of Attn1", note="proof of Lemma 4, with the fourth head"
    )
    corrects = "in_context.emulation.gradient_step_of_listed_heads"


class AbstractPrediction(AbstractLayerClaim):
    """What Attn2 writes as the prediction, for tokens that hold rho_1."""

    def condition(self, problem: Prompt) -> Array:
        """Cancellation in one layer, over the size of what is left."""
        return dense_rounding(problem, 1) / jnp.maximum(jnp.abs(self.predict(problem)), 1e-6)

    def predict(self, problem: Prompt) -> Array:
        """g(phi^T rho)."""
        value, tau = problem.model.features(problem.queries[:1])[0] @ path_of(problem)[0][1], problem.model.temperature
        return 2 * tau * jnp.tanh(value / (2 * tau))

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The last entry of the column of the query after the attention of the third layer."""
        after = transformer([attention_alone(transformer_layers(problem.model)[2])], dense_tokens(problem, 2)[2])[1]
        return after[-1, -1]

    def control(self) -> Control:
        """N + 1 tokens take part, but attention divides by N."""

        def over_all(found: Array, problem: Prompt) -> Array:
            return found * len(problem.y) / (len(problem.y) + 1)

        return Control("the mean over N + 1 tokens", over_all)


class PredictionAsPrinted(AbstractPrediction):
    """As printed: with 4 tau (u_{d+1} - u_{d+3}) as the last row of V, Attn2 writes

        y^ + 4 tau sum_{i <= N+1} (1 - w_i) {sigma(phi_i^T rho / tau) - sigma(0)}.

    Attention divides by N, and so the prediction is N times too small.
    """

    title = "The attention of the prediction, as printed"
    source = Source("li2025incontext", "(124)", "proof of Lemma 4, matrices of Attn2", note="proof of Lemma 4")
    expected = Status.REFUTED
    as_printed = True


class PredictionWithN(AbstractPrediction):
    """With 4 tau N (u_{d+1} - u_{d+3}) as the last row of V, Attn2 writes

        y^ + 4 tau sum_{i <= N+1} (1 - w_i) {sigma(phi_i^T rho / tau) - sigma(0)},

    where only the query has w_i = 0.
    """

    title = "The attention of the prediction, with the factor N"
    source = Source(
        "li2025incontext", "(124)", "proof of Lemma 4, matrices of Attn2", note="proof of Lemma 4, with N in V"
    )
    corrects = "in_context.emulation.prediction_as_printed"


class PrintedPredictionIsNTimesSmaller(AbstractPrediction):
    """With the printed V of Attn2, the prediction is 1/N of 4 tau {sigma(phi^T rho / tau) - sigma(0)}."""

    title = "The printed attention predicts an N-th of the value"
    source = Source("li2025incontext", "proof of Lemma 4, matrices of Attn2")
    as_printed = True

    def predict(self, problem: Prompt) -> Array:
        """g(phi^T rho) / N."""
        return super().predict(problem) / len(problem.y)
